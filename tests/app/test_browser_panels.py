"""What is beside the row, in a real browser: guidelines, groups, and keys that find nothing."""

import pandas as pd
import pytest

from leaven.app._learner import LocalLearner

from .serving import until, wait_until_saved

pytest.importorskip("uvicorn", reason="needs the extra app")

GUIDE = """# Topics #

What a post is *mostly* about, whoever
wrote it; see [the list](https://example.org/list), and a_b_c * 2 * 3.

1. First the subject,
   which is a line.
2. Then the **text**.

- a
  - inside `x`
- b

> In doubt
> ask.

| key | topic |
|-----|-------|
| s   | space |

```
a  *b*
```
"""


def test_guidelines_are_shown_as_markdown(visit, serve, many):
    page = visit(serve(many, guide=GUIDE).address)
    page.keyboard.press("g")
    shown = page.locator("#panel-body > *")
    found = [(each.evaluate("e => e.tagName"), each.inner_html()) for each in shown.all()]
    link = '<a href="https://example.org/list" target="_blank" rel="noopener noreferrer">the list'
    assert found == [
        ("H3", "Topics"),
        (
            "P",
            "What a post is <em>mostly</em> about, whoever wrote it; "
            f"see {link}</a>, and a_b_c * 2 * 3.",
        ),
        (
            "OL",
            '<li class="">First the subject, which is a line.</li>'
            '<li class="">Then the <b>text</b>.</li>',
        ),
        (
            "UL",
            '<li class="">a</li><li class="deep">inside <code>x</code></li><li class="">b</li>',
        ),
        ("BLOCKQUOTE", "In doubt ask. "),
        ("TABLE", "<tr><td>key</td><td>topic</td></tr><tr><td>s</td><td>space</td></tr>"),
        ("PRE", "a  *b*\n"),
    ]
    assert page.said == []


def test_keys_scroll_a_long_text(visit, serve, many):
    long = many.assign(text=[f"{text}\n" + "line\n" * 300 for text in many["text"]])
    page = visit(serve(long).address)
    height = page.evaluate("$('row').clientHeight")
    places = []
    for key in ["PageDown", "ArrowDown", "ArrowUp", "End", "PageUp", "Home"]:
        page.keyboard.press(key)
        places.append(page.evaluate("$('row').scrollTop"))
    end = page.evaluate("$('row').scrollHeight") - height
    expected = [0.9 * height, 0.9 * height + 60, 0.9 * height, end, end - 0.9 * height, 0]
    assert places == pytest.approx(expected, abs=2)
    # The next row begins at its beginning.
    page.keyboard.press("End")
    page.keyboard.press("1")
    assert page.evaluate("$('row').scrollTop") == 0


def test_space_at_a_cluster_shows_the_next_one(visit, serve, fruit):
    served = serve(fruit, learner=LocalLearner)
    page = visit(served.address)
    row = page.evaluate("app.current.row")
    page.keyboard.press("c")
    page.wait_for_selector("#panel h3")
    first, following = page.evaluate("[panel.group.open, panel.next]")
    page.keyboard.press(" ")
    until(page, f"panel.group && !panel.group.open.includes({first[0]})")
    members = served.session.cluster(following)["open"]
    assert page.evaluate("panel.group.open") == members
    # "unsure" and Enter are answers to one row, which is not meant here.
    for key in ["x", "Enter"]:
        page.keyboard.press(key)
        assert "Press the key of a class" in page.inner_text("#news")
        page.evaluate("$('news').textContent = ''")
    assert page.evaluate("[app.current.row, outbox.waiting.length]") == [row, 0]
    assert served.session.board.state.last == 0


def test_keys_that_find_nothing_say_so_on_the_screen(visit, serve, many):
    page = visit(serve(many).address)
    keys = {
        "Enter": "There is no learner: no suggestions.",
        "d": "Near-duplicates are not known yet",
        "ArrowLeft": "This is the oldest row.",
        "u": "There is nothing to undo.",
    }
    for key, words in keys.items():
        page.keyboard.press(key)
        until(page, f"!$('news').hidden && $('news').textContent.includes({words!r})")
        until(page, f"$('said').textContent.includes({words!r})")


def test_a_row_alone_has_no_near_duplicates_and_one_of_three_has_two(visit, serve):
    texts = ["a fox ran off", "owls call at night", "elk are large deer", "cats sleep all day"]
    table = pd.DataFrame({"text": [*texts, *["one more parcel is lost"] * 3], "kind": ""})
    page = visit(serve(table, learner=LocalLearner).address)
    page.evaluate("app.visit(4)")
    until(page, "app.current.row === 4")
    assert page.inner_text("#near-button").endswith("2 near-duplicates")
    page.keyboard.press("d")
    until(page, "panel.kind === 'near'")
    assert page.inner_text("#panel-title") == "2 near-duplicates of row 5"
    assert page.evaluate("panel.group.open") == [4, 5, 6]
    page.keyboard.press("Escape")
    page.evaluate("app.visit(0)")
    until(page, "app.current.row === 0")
    page.keyboard.press("d")
    until(page, "$('news').textContent === 'Row 1 has no near-duplicates.'")
    assert page.evaluate("panel.kind") is None


def test_a_class_named_like_a_key_has_that_key(visit, serve, many):
    served = serve(many, classes=("none", "0", "1", "A"))
    page = visit(served.address)
    shown = page.locator("#classes button kbd").all_inner_texts()
    assert shown == ["2", "0", "1", "a"]
    labels = {}
    for key, name in zip(shown, ["none", "0", "1", "A"], strict=True):
        labels[page.evaluate("app.current.row")] = name
        page.keyboard.press(key)
    wait_until_saved(page)
    assert {row: served.session.row(row)["label"] for row in labels} == labels
    # A class that comes later takes no key from another.
    for name in ["2", "3"]:
        page.keyboard.press("n")
        page.keyboard.type(name)
        page.keyboard.press("Enter")
    wait_until_saved(page)
    shown = page.locator("#classes button kbd").all_inner_texts()
    assert shown == ["2", "0", "1", "a", "3", "4"]
    page.keyboard.press("9")
    assert page.inner_text("#news") == "No class has the key 9."


def test_twenty_classes_are_all_seen_at_once(visit, serve, many):
    names = tuple(f"talk.politics.{number}" for number in range(20))
    page = visit(serve(many, classes=names).address, viewport={"width": 1280, "height": 800})
    box = page.locator("#classes")
    assert box.evaluate("e => e.scrollHeight - e.clientHeight") <= 0
    assert page.locator("#card").bounding_box()["height"] > 300
