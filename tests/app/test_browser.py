"""The page in a real browser: fast keys, undo, bulk labels, a server that goes away."""

import os
import sqlite3

import pandas as pd
import pytest

from leaven.app._learner import LocalLearner

from .conftest import CLASSES
from .serving import Forked, until, wait_for, wait_until_saved

pytest.importorskip("uvicorn", reason="needs the extra app")


def events(path):
    store = sqlite3.connect(path)
    found = store.execute("SELECT kind, rows, value, undoes FROM events ORDER BY id").fetchall()
    store.close()
    return found


def test_two_hundred_rows_at_twenty_keys_a_second(visit, serve, many, tmp_path):
    served = serve(many)
    page = visit(served.address)
    until(page, "app.ahead.length > 30")
    # The page itself notes which row each key met; keys come every 50 milliseconds.
    asked = page.evaluate(
        """() => new Promise((done) => {
            const met = [];
            const timer = setInterval(() => {
                if (!app.current) return;  // a starved machine: no row, and so no key
                const key = met.length % 3 ? "1" : "2";
                met.push([app.current.row, key]);
                const options = { key, bubbles: true, cancelable: true };
                document.body.dispatchEvent(new KeyboardEvent("keydown", options));
                if (met.length === 200) { clearInterval(timer); done(met); }
            }, 50);
        })"""
    )
    wait_until_saved(page)
    written = events(tmp_path / "l.db")
    assert len(written) == 200
    assert len({row for row, _ in asked}) == 200
    expected = [(served.session.sheet.names[row], CLASSES[int(key) - 1]) for row, key in asked]
    assert [(rows[2:-2], value.strip('"')) for _, rows, value, _ in written] == expected
    assert page.said == []


def test_real_keys_label_skip_doubt_undo_and_walk_back(visit, serve, many):
    served = serve(many)
    session = served.session
    page = visit(served.address)
    rows = []
    for key in ["1", "2", " ", "x", "1"]:
        rows.append(page.evaluate("app.current.row"))
        page.keyboard.press(key)
    wait_until_saved(page)
    assert [session.row(row)["label"] for row in rows] == ["apple", "cherry", None, None, "apple"]
    assert session.row(rows[3])["mark"] == "unsure"
    page.keyboard.press("u")
    until(page, f"app.current.row === {rows[4]}")
    wait_until_saved(page)
    assert session.row(rows[4])["label"] is None
    page.keyboard.press("2")
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    assert page.evaluate("app.current.row") == rows[1]
    assert "history: labeled cherry" in page.inner_text("#why")
    page.keyboard.press("1")
    wait_until_saved(page)
    assert [session.row(row)["label"] for row in (rows[1], rows[4])] == ["apple", "cherry"]
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("app.place") is None


def test_undo_goes_on_after_a_restart(visit, start_forked, tmp_path):
    first = start_forked()
    page = visit(first.address)
    rows = []
    for _ in range(3):
        rows.append(page.evaluate("app.current.row"))
        page.keyboard.press("1")
    wait_until_saved(page)
    page.close()
    first.kill()
    page = visit(start_forked().address)
    for row in reversed(rows):
        page.keyboard.press("u")
        until(page, f"app.current && app.current.row === {row}")
    wait_until_saved(page)
    page.keyboard.press("u")
    until(page, "document.querySelector('#said').textContent.includes('nothing to undo')")
    assert [kind for kind, *_ in events(tmp_path / "l.db")] == ["label"] * 3 + ["undo"] * 3


@pytest.fixture
def start_forked(many, tmp_path):
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    running = []

    def start(port=0):
        running.append(Forked(many, tmp_path / "l.db", classes=CLASSES, text=("text",), port=port))
        return running[-1]

    yield start
    for served in running:
        served.kill()


def test_answers_wait_while_the_server_is_away(visit, start_forked, tmp_path):
    served = start_forked(port=18750)
    page = visit(served.address)
    until(page, "app.ahead.length > 20")
    page.keyboard.press("1")
    wait_until_saved(page)
    served.kill()
    for key in "12212":
        page.keyboard.press(key)
    until(page, "document.querySelector('#saved').textContent.includes('5 answers wait here')")
    assert len(events(tmp_path / "l.db")) == 1
    # A reload without a server shows nothing, but what waits is not lost.
    kept = page.evaluate("JSON.stringify(Object.values(localStorage))")
    assert kept.count("label") >= 5
    start_forked(port=served.port)
    wait_until_saved(page)
    values = [value.strip('"') for _, _, value, _ in events(tmp_path / "l.db")]
    assert values == ["apple", "apple", "cherry", "cherry", "apple", "cherry"]


def test_search_and_label_all_with_one_key(visit, serve, fruit):
    served = serve(fruit)
    session = served.session
    page = visit(served.address)
    wanted = [row for row, text in enumerate(fruit["text"]) if "cider" in text]
    page.keyboard.press("/")
    page.keyboard.type("cider")
    page.wait_for_selector("#bulk-count")
    until(page, f"panel.group && panel.group.open.length === {len(wanted)}")
    page.keyboard.press("Enter")
    until(page, "document.activeElement.id === 'panel'")
    page.locator("#results input[type=checkbox]").first.uncheck()
    page.keyboard.press("1")
    wait_until_saved(page)
    assert [row for row in range(40) if session.row(row)["label"] == "apple"] == wanted[1:]
    assert session.board.counts()["bulk"] == len(wanted) - 1
    page.keyboard.press("u")
    wait_for(lambda: session.board.counts()["bulk"] == 0)


def test_a_cluster_with_one_key(visit, serve, fruit):
    served = serve(fruit, learner=LocalLearner)
    page = visit(served.address)
    page.keyboard.press("c")
    page.wait_for_selector("#panel h3")
    assert page.locator("#panel ul.lines").nth(0).locator("li").count() == 5
    assert page.locator("#panel ul.lines").nth(1).locator("li").count() == 3
    open_rows = page.evaluate("panel.group.open")
    page.keyboard.press("2")
    wait_for(lambda: served.session.board.counts()["bulk"] == len(open_rows))
    assert page.said == []


def test_two_windows_do_not_overwrite_each_other(visit, serve, many):
    served = serve(many)
    one, two = visit(served.address), visit(served.address)
    row = one.evaluate("app.current.row")
    assert two.evaluate("app.current.row") == row
    one.keyboard.press("1")
    wait_until_saved(one)
    two.keyboard.press("2")
    until(two, "document.querySelector('#news').textContent.includes('another window')")
    assert served.session.row(row)["label"] == "apple"
    # The other window shows what stands there, and can change it now.
    until(two, f"app.current.row === {row} && app.current.label === 'apple'")
    two.keyboard.press("2")
    wait_for(lambda: served.session.row(row)["label"] == "cherry")


def test_suggestion_and_reasons_are_shown_and_accepted(visit, serve, fruit):
    served = serve(fruit, learner=LocalLearner)
    for row in range(8):
        action = {"key": f"key-{row:06d}", "kind": "label", "rows": [row]}
        served.session.record({**action, "label": CLASSES[1 - row % 2]})
    page = visit(served.address)
    page.wait_for_selector("#suggestion b")
    row, suggested = page.evaluate("[app.current.row, app.current.suggestion.label]")
    assert page.inner_text("#suggestion b") == suggested
    said = page.inner_text("#said")
    assert f"Row {row + 1}" in said
    assert f"Suggestion: {suggested}" in said
    page.keyboard.press("Enter")
    wait_for(lambda: served.session.row(row)["label"] == suggested)
    assert page.locator("mark").count() > 0


def test_keys_typed_into_a_box_label_nothing(visit, serve, many):
    served = serve(many)
    page = visit(served.address)
    page.keyboard.press("n")
    page.keyboard.type("12 xu")
    page.keyboard.press("Enter")
    until(page, "app.classes.length === 3")
    wait_until_saved(page)
    page.keyboard.press("m")
    page.keyboard.type("1 note")
    page.keyboard.press("Enter")
    wait_for(lambda: len(served.session.board.state.steps()) == 2)
    assert served.session.board.class_names() == [*CLASSES, "12 xu"]
    assert served.session.board.counts()["hand"] == 0
    page.wait_for_selector("#row .note")
    # A key held down is one answer.
    page.keyboard.down("1")
    page.keyboard.down("1")
    page.keyboard.down("1")
    page.keyboard.up("1")
    wait_for(lambda: served.session.board.counts()["hand"] == 1)


def test_a_table_full_of_scripts_is_harmless(visit, serve):
    bad = "<script>document.title = 'run'</script><img src=x onerror=\"document.title = 'run'\">"
    table = pd.DataFrame({"text": [f"{bad} {i}" for i in range(30)], bad: bad, "kind": ""})
    served = serve(table, classes=(bad, "b"), guide=f"# {bad}\n- {bad}")
    page = visit(served.address)
    for key in ["1", "2", "/"]:
        page.keyboard.press(key)
    page.keyboard.type("script")
    page.wait_for_selector("#bulk-count")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.wait_for_selector("#panel ol li")
    assert page.title() != "run"
    assert page.locator("#row img, #panel img, #classes img").count() == 0
    assert page.locator("#row script, #panel script, #classes script").count() == 0
    assert page.said == []


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1280, "dark")])
def test_fits_the_screen(visit, serve, fruit, width, scheme):
    long = fruit.assign(text=["word " * 2000 + "x" * 500, *fruit["text"][1:]])
    served = serve(
        long, classes=tuple(f"class number {i}" for i in range(40)), guide="# Guide\ntext"
    )
    page = visit(served.address, viewport={"width": width, "height": 800}, color_scheme=scheme)
    for key in [None, "?", "g", "h", "/"]:
        if key:
            page.keyboard.press(key)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.keyboard.press("Escape")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(245, 246, 248)" if scheme == "light" else "rgb(18, 21, 26)")
    page.keyboard.press("f")
    page.keyboard.type("number 37")
    row = page.evaluate("app.current.row")
    page.keyboard.press("Enter")
    wait_for(lambda: served.session.row(row)["label"] == "class number 37")


def test_a_disk_that_is_full_stops_the_questions(visit, serve, many):
    served = serve(many)
    page = visit(served.address)
    database = served.session.store._db
    pages = database.execute("PRAGMA page_count").fetchone()[0]
    database.execute(f"PRAGMA max_page_count={pages}")
    # What fits into the free pages is saved; then one is not.
    for _ in range(60):
        page.keyboard.press("1")
    page.wait_for_selector("#alarm:not([hidden])")
    assert "cannot be saved" in page.inner_text("#alarm")
    before = page.evaluate("app.current.row")
    page.keyboard.press("1")
    assert page.evaluate("app.current.row") == before
    database.execute("PRAGMA max_page_count=100000")
    wait_until_saved(page)
    hand = served.session.board.counts()["hand"]
    assert hand == page.evaluate("app.past.length")


def test_touch_and_mouse_label_too(visit, serve, many):
    served = serve(many)
    page = visit(served.address, viewport={"width": 400, "height": 800}, has_touch=True)
    row = page.evaluate("app.current.row")
    page.locator("#classes button").nth(1).tap()
    wait_for(lambda: served.session.row(row)["label"] == "cherry")
    page.locator("#actions button", has_text="undo").click()
    wait_for(lambda: served.session.row(row)["label"] is None)
