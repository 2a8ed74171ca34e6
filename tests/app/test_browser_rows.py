"""Rows in a real browser: images, quotes, many classes, people, history, a screen reader."""

import struct
import zlib

import pandas as pd
import pytest

from leaven.app._learner import LocalLearner

from .conftest import press
from .serving import until, wait_for, wait_until_saved

pytest.importorskip("uvicorn", reason="needs the extra app")


def png(width, height, color):
    """The bytes of an image of one color."""

    def chunk(kind, data):
        content = kind + data
        return struct.pack(">I", len(data)) + content + struct.pack(">I", zlib.crc32(content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    lines = b"".join(b"\0" + bytes(color) * width for _ in range(height))
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i in range(5):
        (folder / f"p{i}.png").write_bytes(png(60 + i, 40, (40 * i, 90, 160)))
    names = [f"p{i}.png" for i in range(5)] + ["missing.png"]
    return pd.DataFrame({"picture": names, "kind": ""}), folder


def test_images_thumbnails_and_zoom(visit, serve, pictures):
    table, folder = pictures
    served = serve(table, images="picture", image_folder=str(folder))
    page = visit(served.address, viewport={"width": 900, "height": 700})
    width = "document.querySelector('#row img').getBoundingClientRect().width"
    for _ in range(6):
        row = page.evaluate("app.current.row")
        if row == 5:
            page.wait_for_selector("#row .note")
            assert "cannot be shown: missing.png" in page.inner_text("#row .note")
        else:
            until(page, f"document.querySelector('#row img').naturalWidth === {60 + row}")
            small = page.evaluate(width)
            page.keyboard.press("z")
            assert page.evaluate(width) >= 2 * small
            page.keyboard.press("z")
            assert page.evaluate(width) == small
        page.keyboard.press("1")
    wait_until_saved(page)
    assert served.session.board.counts()["hand"] == 6
    page.keyboard.press("/")
    page.keyboard.type("p")
    page.wait_for_selector("#results .tiles .thumb")
    until(page, "document.querySelectorAll('#results .thumb').length === 6")
    until(page, "document.querySelector('#results .thumb').naturalWidth === 60")


def test_quotes_are_folded_and_can_be_opened(visit, serve):
    text = "Dear all,\n> first line\n> second line\n> third line\nthank you\n> one line"
    served = serve(pd.DataFrame({"text": [text, "b"], "kind": ""}))
    page = visit(served.address)
    if page.evaluate("app.current.row") != 0:
        page.keyboard.press(" ")
    quote = page.locator("#row details.quote")
    quote.wait_for()
    assert quote.count() == 1
    assert quote.locator("summary").inner_text() == "3 quoted lines"
    assert not page.locator("#row details.quote p").is_visible()
    assert page.get_by_text("> one line", exact=True).is_visible()
    quote.locator("summary").click()
    assert "second line" in quote.locator("p").inner_text()
    assert quote.locator("p").is_visible()


def test_a_long_text_comes_in_parts(visit, serve):
    text = "word " * 8000 + "the end"
    served = serve(pd.DataFrame({"text": [text], "kind": ""}))
    page = visit(served.address)
    assert "the end" not in page.inner_text("#row")
    page.get_by_text("Show all 40,007 characters").click()
    until(page, "document.querySelector('#row').textContent.includes('the end')")


def test_a_class_of_many_is_found_by_typing(visit, serve, many):
    classes = tuple(f"{kind} {i:03d}" for i in range(50) for kind in ("oak", "elm", "fir"))
    served = serve(many, classes=classes)
    page = visit(served.address)
    row = page.evaluate("app.current.row")
    page.keyboard.press("f")
    page.keyboard.type("elm 01")
    assert page.locator("#ask-list li").count() == 8
    assert page.inner_text("#ask-hint").startswith("10 matches. Enter takes elm 010")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    assert page.inner_text("#ask-list [aria-selected=true]") == "elm 011"
    page.keyboard.press("Enter")
    wait_for(lambda: served.session.row(row)["label"] == "elm 011")
    page.keyboard.press("f")
    page.keyboard.type("birch")
    assert "No class" in page.inner_text("#ask-hint")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert served.session.board.counts()["hand"] == 1
    # The mouse takes any of them.
    row = page.evaluate("app.current.row")
    page.keyboard.press("f")
    page.keyboard.type("fir 04")
    page.locator("#ask-list li").nth(2).click()
    wait_for(lambda: served.session.row(row)["label"] == "fir 042")


def test_two_people_disagree_and_settle_it(visit, serve, many):
    ann, bob = serve(many, user="ann"), serve(many, user="bob")
    for row, (first, second) in enumerate([(0, 0), (0, 1), (1, 1), (1, 1), (0, 0)]):
        press(ann.session, "label", row, ("apple", "cherry")[first])
        press(bob.session, "label", row, ("apple", "cherry")[second])
    page = visit(bob.address)
    # p_o = 4/5; p_e = 3/5 * 2/5 + 2/5 * 3/5 = 12/25; kappa = (20/25 - 12/25) / (13/25)
    strip = page.inner_text("#strip")
    assert "Cohen's kappa" in strip
    assert "0.62" in strip
    assert "1 disagreement" in strip
    page.get_by_role("button", name="People").click()
    page.wait_for_selector("#panel .tag")
    assert "ann: apple" in page.inner_text("#panel")
    assert "bob: cherry" in page.inner_text("#panel")
    page.locator("#panel .open").click()
    until(page, "app.current.row === 1")
    assert "ann says apple" in page.inner_text("#why")
    page.keyboard.press("1")
    wait_for(lambda: bob.session.progress()["disagreements"] == 0)
    until(page, "document.querySelector('#strip').textContent.includes('1.00')")


def test_a_screen_reader_hears_row_suggestion_and_result(visit, serve, fruit):
    served = serve(fruit, learner=LocalLearner)
    for row in range(8):
        press(served.session, "label", row, "apple" if row % 2 else "cherry")
    page = visit(served.address)
    assert page.get_attribute("#said", "aria-live") == "polite"
    assert page.get_attribute("#alarm", "role") == "alert"
    page.evaluate(
        """() => { window.heard = [];
            const region = document.querySelector("#said");
            const note = () => heard.push(region.textContent);
            new MutationObserver(note).observe(region, { childList: true });
        }"""
    )

    def last():
        return page.evaluate("heard[heard.length - 1] || ''")

    first, suggested = page.evaluate("[app.current.row, app.current.suggestion.label]")
    page.keyboard.press("Enter")
    second = page.evaluate("app.current.row")
    assert f"Row {first + 1} labeled {suggested}. Row {second + 1}: note" in last()
    assert "Suggestion: " in last()
    page.keyboard.press(" ")
    assert f"Row {second + 1} skipped." in last()
    third = page.evaluate("app.current.row")
    page.keyboard.press("x")
    assert f"Row {third + 1} marked unsure." in last()
    page.keyboard.press("u")
    wait_for(lambda: f"Undone: unsure of row {third + 1}" in last())
    page.keyboard.press("/")
    page.keyboard.type("cider")
    wait_for(lambda: "rows found" in last())
    page.keyboard.press("Escape")
    # What can be pressed has a name, and the label that stands there is marked as pressed.
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#classes [aria-pressed=true]").inner_text().split()[1] == suggested
    unnamed = """[...document.querySelectorAll("button, select, input, textarea")]
        .filter((each) => each.offsetParent && !each.innerText.trim() && !each.labels?.length
            && !each.getAttribute("aria-label") && !each.title).length"""
    assert page.evaluate(unnamed) == 0


def test_arrows_walk_the_whole_history_and_change_a_label(visit, serve, many):
    served = serve(many)
    for row in range(70):
        press(served.session, "label", row, "apple")
    page = visit(served.address)
    now = page.evaluate("app.current.row")
    for back in range(65):  # more than one page of the history
        page.keyboard.press("ArrowLeft")
        until(page, f"app.place !== null && app.current.row === {69 - back}")
    assert "history: labeled apple" in page.inner_text("#why")
    page.keyboard.press("2")
    wait_until_saved(page)
    assert served.session.row(5)["label"] == "cherry"
    assert page.evaluate("app.current.row") == 6
    for _ in range(64):
        page.keyboard.press("ArrowRight")
    until(page, "app.place === null")
    assert page.evaluate("app.current.row") == now
    assert served.session.board.counts()["hand"] == 70


def test_the_oldest_row_is_said(visit, serve, many):
    served = serve(many)
    press(served.session, "label", 3, "apple")
    page = visit(served.address)
    page.keyboard.press("ArrowLeft")
    until(page, "app.current.row === 3")
    page.keyboard.press("ArrowLeft")
    until(page, "document.querySelector('#said').textContent === 'This is the oldest row.'")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_row_and_all_its_answers_at_once(visit, serve, fruit, scheme):
    served = serve(fruit, learner=LocalLearner, guide="# Guide\nRead `this`.")
    for row in range(8):
        press(served.session, "label", row, "apple" if row % 2 else "cherry")
    page = visit(
        served.address,
        viewport={"width": 400, "height": 800},
        color_scheme=scheme,
        has_touch=True,
        is_mobile=True,
    )
    for part in ("#title", "#row", "#suggestion", "#strip"):
        box = page.locator(part).bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 800.5
    for button in page.locator("#classes button").all():
        assert button.bounding_box()["height"] >= 40  # a finger is about as wide
    row = page.evaluate("app.current.row")
    page.locator("#actions button", has_text="accept").tap()
    wait_for(lambda: served.session.row(row)["label"] is not None)
    page.locator("nav button", has_text="Cluster").tap()
    page.wait_for_selector("#panel h3")
    open_rows = page.evaluate("panel.checkedRows().length")
    assert f"One key labels {open_rows} row" in page.inner_text("#bulk-line")
    page.locator("#classes button").first.tap()
    wait_for(lambda: served.session.board.counts()["bulk"] == open_rows)
    assert page.said == []


def test_the_mouse_alone_is_enough(visit, serve, fruit):
    table = pd.concat([fruit, fruit.iloc[[3, 3]]], ignore_index=True)
    served = serve(table, learner=LocalLearner)
    page = visit(served.address)
    page.locator("nav button", has_text="Search").click()
    page.locator("#panel input[type=search]").fill('"note 3:"')
    page.wait_for_selector("#results .open")
    until(page, "panel.group && panel.group.open.length === 3")
    page.locator("#results .open").first.click()
    until(page, "app.current.row === 3")
    page.locator("#near-button").click()
    page.wait_for_selector("#bulk-count")
    until(page, "panel.kind === 'near'")
    n_rows = page.evaluate("panel.group.open.length") - 1
    page.locator("#panel input[type=checkbox]").last.click()
    assert f"One key labels {n_rows} rows" in page.inner_text("#bulk-line")
    page.locator("#classes button").first.click()
    wait_for(lambda: served.session.board.counts()["bulk"] == n_rows)
    page.locator("#actions button", has_text="undo").click()
    wait_for(lambda: served.session.board.counts()["bulk"] == 0)
    page.locator("#order").select_option("cluster")
    until(page, "app.current && app.order === 'cluster'")
    page.locator("nav button", has_text="History").click()
    page.wait_for_selector("#panel h2")
    page.locator("nav button", has_text="Done").click()
    wait_for(lambda: served.windows.done.is_set())
    page.locator("#row", has_text="You can close this window").wait_for()
