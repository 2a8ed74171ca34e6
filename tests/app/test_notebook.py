"""``leaven.annotate`` where an event loop runs already, as in a notebook."""

import asyncio
import http.client
import json
import threading

import pytest

from leaven.app import annotate

from .serving import wait_for, wait_until_saved

pytest.importorskip("uvicorn", reason="needs the extra app")


def send(address, method, path, body=None):
    host = address.split("/")[2]
    connection = http.client.HTTPConnection(host, timeout=30)
    data = None if body is None else json.dumps(body)
    headers = {"X-Leaven-Token": address.partition("token=")[2]}
    connection.request(method, path, body=data, headers=headers)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer


@pytest.mark.parametrize("ending", ["/api/done", "/api/leave"])
def test_a_cell_returns_the_table_when_the_page_is_closed(fruit, tmp_path, capsys, ending):
    answers = []

    def user():
        address = wait_for(lambda: capsys.readouterr().out.strip())[len("Label at ") :]
        send(address, "GET", "/api/progress?window=w1")
        action = {"key": "key-000001", "kind": "label", "rows": [5], "label": "apple"}
        answers.append(send(address, "POST", "/api/actions", {"actions": [action]}))
        answers.append(send(address, "POST", ending, {"window": "w1"}))

    async def cell():
        # As a notebook does: the loop of the kernel is running while the cell is.
        assert asyncio.get_running_loop().is_running()
        return annotate(
            fruit,
            "kind",
            text="text",
            classes=("apple", "cherry"),
            labels=tmp_path / "l.db",
            port=0,
            browser=False,
        )

    visitor = threading.Thread(target=user)
    visitor.start()
    labeled = asyncio.run(cell())
    visitor.join()
    assert [answer["ok"] for answer in answers] == [True, True]
    assert labeled["kind"].tolist()[5] == "apple"
    assert labeled["kind_source"].tolist()[5] == "hand"
    assert fruit["kind"].tolist()[5] == ""


def test_the_browser_is_opened_at_the_address(fruit, tmp_path, capsys, monkeypatch):
    opened = []

    def open_browser(address):
        opened.append(address)
        send(address, "POST", "/api/done", {})
        return True

    monkeypatch.setattr("webbrowser.open", open_browser)
    annotate(fruit, "kind", classes=("a", "b"), labels=tmp_path / "l.db", port=0)
    assert f"Label at {opened[0]}" in capsys.readouterr().out


def test_a_reload_does_not_end_it_and_a_closed_window_does(visit, fruit, tmp_path, capsys):
    found = []
    cell = threading.Thread(
        target=lambda: found.append(
            annotate(
                fruit,
                "kind",
                text="text",
                classes=("apple", "cherry"),
                labels=tmp_path / "l.db",
                port=0,
                browser=False,
                method="logistic-regression",
            )
        )
    )
    cell.start()
    page = visit(wait_for(lambda: capsys.readouterr().out.strip())[len("Label at ") :])
    row = page.evaluate("app.current.row")
    page.keyboard.press("2")
    wait_until_saved(page)
    page.reload()
    page.wait_for_selector("#number:not(:empty)")
    page.wait_for_timeout(4000)  # longer than the three seconds in which a window may come back
    assert cell.is_alive()
    page.close(run_before_unload=True)
    wait_for(lambda: not cell.is_alive())
    assert found[0]["kind"].tolist()[row] == "cherry"
