"""Keyboards of other layouts, the focus, fingers, wide tables and long lists of classes."""

import pandas as pd
import pytest

from .conftest import press
from .serving import until, wait_for, wait_until_saved

pytest.importorskip("uvicorn", reason="needs the extra app")
PHONE = {"viewport": {"width": 400, "height": 800}, "has_touch": True, "is_mobile": True}


def send_key(page, **options):
    """A key as a keyboard of another layout sends it."""
    page.evaluate(
        """(options) => document.body.dispatchEvent(
            new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...options }))""",
        options,
    )


def test_keys_of_other_keyboards(visit, serve, many):
    served = serve(many)
    page = visit(served.address)
    row = page.evaluate("app.current.row")
    send_key(page, key="é", code="Digit2")  # French: the digit needs Shift
    wait_for(lambda: served.session.row(row)["label"] == "cherry")
    send_key(page, key="г", code="KeyU")  # Russian: the letter at the place of u
    wait_for(lambda: served.session.row(row)["label"] is None)
    row = page.evaluate("app.current.row")
    send_key(page, key="X", code="KeyX", modifierCapsLock=True)
    wait_for(lambda: served.session.row(row)["mark"] == "unsure")
    # German: z is at the place of y, and Shift+7 is a slash; both are what is printed on them.
    assert page.evaluate("keyOf(new KeyboardEvent('keydown', {key: 'z', code: 'KeyY'}))") == "z"
    slash = "keyOf(new KeyboardEvent('keydown', {key: '/', code: 'Digit7', shiftKey: true}))"
    assert page.evaluate(slash) == "/"
    n_steps = len(served.session.board.state.steps())
    send_key(page, key="X", code="KeyX", shiftKey=True)
    send_key(page, key="ö", code="Semicolon")
    send_key(page, key="ß", code="KeyS")
    wait_until_saved(page)
    assert len(served.session.board.state.steps()) == n_steps


def test_news_take_neither_the_focus_nor_a_click(visit, serve, many):
    served = serve(many)
    page = visit(served.address)
    page.locator("#classes button").nth(1).focus()
    page.evaluate("app.take(app.progress)")
    assert page.evaluate("document.activeElement.dataset.class") == "1"
    row = page.evaluate("app.current.row")
    page.keyboard.press("Enter")
    wait_for(lambda: served.session.row(row)["label"] == "cherry")
    # The next row has the same buttons: Enter again labels it too.
    assert page.evaluate("document.activeElement.dataset.class") == "1"
    row = page.evaluate("app.current.row")
    box = page.locator("#classes button").first.bounding_box()
    page.mouse.move(box["x"] + 9, box["y"] + 9)
    page.mouse.down()
    page.evaluate("app.take(app.progress)")
    page.mouse.up()
    wait_for(lambda: served.session.row(row)["label"] == "apple")
    # A class that came in another window is there, with its key and its count.
    press(served.session, "class", label="plum")
    press(served.session, "label", 399, "plum")
    until(page, "document.querySelectorAll('#classes button').length === 3")
    until(page, "document.querySelectorAll('#classes button')[2].innerText.includes('1')")
    row = page.evaluate("app.current.row")
    page.keyboard.press("3")
    wait_for(lambda: served.session.row(row)["label"] == "plum")


def test_a_phone_cuts_nothing_off_and_has_room_for_a_finger(visit, serve, many):
    ann, bob = serve(many, user="ann"), serve(many, user="bob", guide="# Guide")
    for session, name in ((ann.session, "apple"), (bob.session, "cherry")):
        press(session, "label", 0, name)
    page = visit(bob.address, **PHONE)
    controls = page.locator("header button:visible, header a:visible, header select")
    assert controls.count() == 9
    for control in controls.all():
        box = control.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 400
        assert box["height"] >= 38
    assert page.locator("#order").bounding_box()["width"] >= 150  # its words can be read
    for button in page.locator("#actions button:visible").all():
        assert button.bounding_box()["height"] >= 38
    page.locator("nav button", has_text="People").tap()
    page.wait_for_selector("#panel .open")
    assert page.locator("#panel .open").first.bounding_box()["height"] >= 34
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_the_strip_stays_where_a_finger_left_it(visit, serve, many):
    page = visit(serve(many).address, **PHONE)
    page.evaluate("document.querySelector('#strip dl').scrollLeft = 60")
    page.evaluate("app.take(app.progress)")
    assert page.evaluate("document.querySelector('#strip dl').scrollLeft") == 60
    page.keyboard.press("1")
    until(page, "document.querySelector('#strip').textContent.includes('1 of 400')")
    assert page.evaluate("document.querySelector('#strip dl').scrollLeft") == 60


def test_all_columns_of_a_wide_table_can_be_shown(visit, serve):
    table = pd.DataFrame([[f"cell {i} {j}" for j in range(75)] for i in range(3)])
    page = visit(serve(table.add_prefix("c").assign(kind="")).address)
    row = page.evaluate("app.current.row")
    assert page.locator("#row dt").count() == 60
    page.get_by_text("Show all 75 columns").click()
    until(page, "document.querySelectorAll('#row dt').length === 75")
    assert f"cell {row} 74" in page.inner_text("#row")
    assert page.get_by_text("Show all").count() == 0


def test_a_long_list_of_classes_is_searched_by_touch(visit, serve, many):
    classes = tuple(f"kind {i:02d}" for i in range(40))
    served = serve(many, classes=classes)
    page = visit(served.address, **PHONE)
    row = page.evaluate("app.current.row")
    page.locator("#find-button").tap()
    assert page.get_attribute("#ask-text", "role") == "combobox"
    page.keyboard.type("31")
    assert page.get_attribute("#ask-text", "aria-activedescendant") == "choice-0"
    assert page.inner_text("#choice-0") == "kind 31"
    page.locator("#choice-0").tap()
    wait_for(lambda: served.session.row(row)["label"] == "kind 31")
    page.keyboard.press("n")
    assert page.get_attribute("#ask-text", "role") is None
    page.keyboard.press("Escape")
    # With few classes nobody needs it.
    page = visit(serve(many).address)
    assert page.locator("#find-button").is_hidden()


def test_the_order_of_a_search_needs_a_search(visit, serve, fruit):
    page = visit(serve(fruit).address)
    page.locator("#order").select_option("search")
    until(page, "panel.kind === 'search'")
    assert page.evaluate("[app.order, document.querySelector('#order').value]") == ["useful"] * 2
    page.keyboard.type("cider")
    until(page, "panel.group !== null")
    page.get_by_text("Ask these rows one by one").click()
    until(page, "app.order === 'search' && app.current !== null && !app.loading")
    wanted = [row for row, text in enumerate(fruit["text"]) if "cider" in text]
    why = page.evaluate("[app.current, ...app.ahead].map((each) => [each.row, each.why])")
    assert {row for row, each in why if each == "search"} <= set(wanted)
    assert {row for row, each in why if each == "search"}


def test_the_same_words_twice_are_said_twice(visit, serve, many):
    page = visit(serve(many).address)
    page.evaluate("app.say('No row is checked.')")
    first = page.inner_text("#said")
    page.evaluate("app.say('No row is checked.')")
    second = page.evaluate("document.querySelector('#said').textContent")
    assert (first.strip(), second.strip()) == ("No row is checked.",) * 2
    assert first != second


def test_the_first_question_is_the_first_row_on_the_screen(visit, serve, many):
    served = serve(many)
    first = [found["row"] for found in served.session.questions("useful", 3)]
    page = visit(served.address)
    until(page, "!app.loading")
    shown = page.evaluate("[app.current.row, ...app.ahead.slice(0, 2).map((found) => found.row)]")
    assert shown == first
