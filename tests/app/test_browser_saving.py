"""What the page does while labels cannot be saved, and when it is done."""

import pandas as pd
import pytest

from leaven.app._learner import LocalLearner

from .serving import until, wait_for, wait_until_saved

pytest.importorskip("uvicorn", reason="needs the extra app")


@pytest.fixture
def hold():
    """Keep the labels of a page from the server until they are let go."""

    def hold_(page):
        held = []
        page.route("**/api/actions", lambda route: held.append(route))

        def release():
            for route in held:
                route.continue_()
            page.unroute("**/api/actions")

        return release

    return hold_


def test_nothing_is_taken_nor_called_done_while_nothing_can_be_saved(visit, serve, many):
    served = serve(many)
    page = visit(served.address)
    database = served.session.store._db
    database.execute("PRAGMA query_only=ON")
    page.keyboard.press("1")
    until(page, "outbox.state === 'full'")
    assert "1 answer waits in this window" in page.inner_text("#alarm")
    page.locator("nav button", has_text="Done").click()
    until(page, "document.querySelector('#news').textContent.startsWith('Not done: 1 answer')")
    assert not served.windows.done.is_set()
    page.keyboard.press("/")
    page.keyboard.type('"number 12"')
    until(page, "panel.group && panel.group.open.length === 11")
    page.keyboard.press("Enter")
    until(page, "document.activeElement.id === 'panel'")
    page.keyboard.press("2")
    assert page.evaluate("panel.group.open.length") == 11
    page.keyboard.press("Escape")
    for key in "unm":
        page.keyboard.press(key)
        assert not page.evaluate("document.querySelector('#ask').open")
    assert page.evaluate("outbox.waiting.length") == 1
    database.execute("PRAGMA query_only=OFF")
    wait_until_saved(page)
    assert served.session.board.counts()["hand"] == 1
    page.locator("nav button", has_text="Done").click()
    wait_for(served.windows.done.is_set)
    page.locator("#row", has_text="every label is saved").wait_for()
    page.keyboard.press("u")
    assert page.evaluate("outbox.waiting.length") == 0
    assert "start leaven annotate again" in page.inner_text("#news")


def test_done_waits_for_labels_on_their_way(visit, serve, many, hold):
    served = serve(many)
    page = visit(served.address)
    release = hold(page)
    page.keyboard.press("1")
    page.locator("nav button", has_text="Done").click()
    until(page, "outbox.state === 'saving' && outbox.waiting.length === 1")
    assert not served.windows.done.is_set()
    release()
    wait_for(served.windows.done.is_set)
    assert served.session.board.counts()["hand"] == 1


def test_rows_on_their_way_in_bulk_are_not_asked(visit, serve, many, hold):
    served = serve(many)
    page = visit(served.address)
    until(page, "app.ahead.length > 30 && !app.loading")
    release = hold(page)
    page.keyboard.press("/")
    page.keyboard.type('"number 1"')
    until(page, "panel.group && panel.group.open.length === 111")
    page.keyboard.press("Enter")
    until(page, "document.activeElement.id === 'panel'")
    page.keyboard.press("1")
    page.evaluate("app.refill(0)")
    until(page, "!app.loading && app.ahead.length > 20")
    asked = page.evaluate("[app.current, ...app.ahead].map((found) => found.row)")
    assert not [row for row in asked if f"number {row}".startswith("number 1")]
    release()
    wait_until_saved(page)
    assert served.session.board.counts()["bulk"] == 111


def test_the_next_cluster_does_not_open_over_a_search(visit, serve, fruit, hold):
    served = serve(fruit, learner=LocalLearner)
    page = visit(served.address)
    page.keyboard.press("c")
    page.wait_for_selector("#panel h3")
    release = hold(page)
    page.keyboard.press("1")
    page.keyboard.press("/")
    release()
    wait_until_saved(page)
    page.keyboard.type("cider")
    until(page, "panel.kind === 'search' && panel.group !== null")
    assert served.session.board.counts()["bulk"] > 0


def test_clusters_follow_until_all_are_labeled(visit, serve, fruit):
    served = serve(fruit, learner=LocalLearner)
    page = visit(served.address)
    page.keyboard.press("c")
    for _ in range(len(set(served.session.knowledge.ready.cluster.tolist()))):
        until(page, "panel.kind === 'cluster' && outbox.state === 'saved'")
        page.keyboard.press("1")
    until(page, "document.querySelector('#said').textContent === 'Every cluster is labeled.'")
    assert page.evaluate("panel.kind") is None
    assert served.session.board.counts()["bulk"] == len(fruit)


def test_a_screen_reader_hears_that_the_server_is_away(visit, serve, many):
    served = serve(many)
    page = visit(served.address)
    page.route("**/api/**", lambda route: route.abort())
    page.keyboard.press("1")
    until(page, "document.querySelector('#said').textContent.startsWith('The server is away.')")
    page.unroute("**/api/**")
    until(page, "document.querySelector('#said').textContent.includes('The server is back.')")
    wait_until_saved(page)


def test_questions_of_an_older_search_are_not_asked(visit, serve):
    table = pd.DataFrame({"text": [f"{'old' if i % 2 else 'new'} {i}" for i in range(60)]})
    served = serve(table.assign(kind=""))
    page = visit(served.address)
    held = []
    # The first is held, the others go through.
    page.route("**/api/questions*", lambda r: r.continue_() if held else held.append(r))
    page.evaluate("app.query = 'old'; app.setOrder('search')")
    wait_for(lambda: page.evaluate("app.loading") and held)
    page.evaluate("app.query = 'new'; app.setOrder('search')")
    until(page, "app.current !== null && app.ahead.length > 10")
    with page.expect_response("**/api/questions*q=old*"):
        held[0].continue_()
    page.evaluate("new Promise((done) => setTimeout(done, 100))")
    why = page.evaluate("[app.current, ...app.ahead].map((each) => [each.row, each.why])")
    assert [row % 2 for row, each in why if each == "search"] == [0] * sum(
        each == "search" for _, each in why
    )


def test_fast_keys_do_not_wait_for_the_questions_of_a_new_model(visit, serve, many):
    served = serve(many)
    page = visit(served.address)
    until(page, "app.ahead.length > 40 && !app.loading")
    held = []
    page.route("**/api/questions*", lambda route: held.append(route))
    page.evaluate("void app.refill(2)")
    wait_for(lambda: page.evaluate("true") and held)
    rows = []
    for _ in range(8):
        rows.append(page.evaluate("app.current.row"))
        page.keyboard.press("1")
    wait_until_saved(page)
    assert served.session.board.counts()["hand"] == len(set(rows)) == 8
    for route in held:
        route.continue_()
    page.unroute("**/api/questions*")
    until(page, "!app.loading && app.ahead.length > 30")
    ahead = page.evaluate("app.ahead.map((found) => found.row)")
    assert len(set(ahead)) == len(ahead)
    assert not set(ahead) & set(rows)


def test_what_another_window_has_answered_is_not_asked(visit, serve, many):
    served = serve(many)
    one, two = visit(served.address), visit(served.address)
    until(two, "app.ahead.length > 40 && !app.loading")
    rows = []
    for _ in range(6):
        rows.append(one.evaluate("app.current.row"))
        one.keyboard.press("1")
    wait_until_saved(one)
    # The row on the screen stays: a key that is on its way must not meet another one.
    assert two.evaluate("app.current.row") == rows[0]
    asked = "[" + ",".join(map(str, rows)) + "]"
    until(two, f"!app.ahead.some((found) => {asked}.includes(found.row)) && app.ahead.length > 30")
    assert two.evaluate("app.current.row") == rows[0]
    # Own labels are no news: nothing is asked for anew.
    until(one, "!app.loading")
    asked_anew = []
    one.on("request", lambda request: asked_anew.append(request.url))
    one.keyboard.press("1")
    wait_until_saved(one)
    assert [url for url in asked_anew if "/api/questions" in url] == []
