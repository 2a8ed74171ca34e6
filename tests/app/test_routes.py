"""Every address of the page, without a socket."""

import json
import os
import random
import string
from urllib.parse import quote

import pytest

from leaven.app._routes import _FILES, MOST_BYTES, ROUTES, Access, Content, Site
from leaven.app._server import Windows

from .conftest import HOST, TOKEN

CLASSES = ["apple", "cherry"]
REQUESTS = int(os.environ.get("LEAVEN_REQUESTS", "1500"))  # `make annotate-stress` sends 10,000


def actions(*found):
    return json.dumps({"actions": list(found)}).encode()


def label(number, row, name="apple", **more):
    return {"key": f"key-{number:06d}", "kind": "label", "rows": [row], "label": name, **more}


def test_the_page_and_its_files(ask, open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    status, page = ask(session, "GET", f"/?token={TOKEN}", headers={"x-leaven-token": None})
    assert (status, page.media_type) == (200, "text/html; charset=utf-8")
    text = page.data.decode()
    assert "{{" not in text
    for name in _FILES.keys() - {"page.html"}:
        assert f"/static/{name}?token={TOKEN}" in text
        assert ask(session, "GET", f"/static/{name}")[0] == 200
    # Nothing is loaded from elsewhere, and no script or style stands in the page itself.
    assert "http" not in text.replace("http-equiv", "")
    assert "style=" not in text
    assert "onclick" not in text


@pytest.mark.parametrize("name", ["../_routes.py", "..%2f_routes.py", "", "a.js", "/etc/passwd"])
def test_no_other_file_is_read(ask, open_session, fruit, name):
    assert ask(open_session(fruit), "GET", f"/static/{name}")[0] == 404


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({}, "/api/start", 200),
        ({"x-leaven-token": None}, "/api/start", 403),
        ({"x-leaven-token": None}, "/", 403),
        ({"x-leaven-token": None}, "/static/app.js", 403),
        ({"x-leaven-token": "wrong"}, "/api/start", 403),
        ({"x-leaven-token": "wröng"}, "/api/start", 403),
        ({"host": "evil.example:8710"}, "/api/start", 403),
        ({"host": "127.0.0.1:9999"}, "/api/start", 403),
        ({"host": None}, "/api/start", 403),
        ({"sec-fetch-site": "cross-site"}, "/api/start", 403),
        ({"sec-fetch-site": "same-site"}, "/api/start", 403),
        ({"sec-fetch-site": "same-origin"}, "/api/start", 200),
        ({"sec-fetch-site": "cross-site"}, "/", 200),
        ({"origin": "http://evil.example"}, "/api/start", 403),
        ({"origin": "null"}, "/api/start", 403),
        ({"origin": f"http://{HOST}"}, "/api/start", 200),
    ],
)
def test_who_is_let_in(ask, open_session, fruit, headers, path, status):
    answer = ask(open_session(fruit, classes=CLASSES), "GET", path, headers=headers)
    assert answer[0] == status
    if status == 403:
        assert set(answer[1]) == {"ok", "error"}


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (HOST, 200),
        ("192.0.2.7:8710", 200),
        ("[2001:db8::7]:8710", 200),
        ("192.0.2.7:80", 403),
        ("192.0.2.7", 403),
        ("evil.example:8710", 403),
        ("192.0.2.7.evil.example:8710", 403),
    ],
)
def test_a_server_for_every_network_answers_to_addresses_not_to_names(
    ask, open_session, fruit, host, status
):
    access = Access(TOKEN, frozenset({HOST}), any_address=8710)
    site = Site(open_session(fruit, classes=CLASSES), access, "t.csv")
    headers = {"host": host, "origin": f"http://{host}"}
    assert ask(site, "POST", "/api/actions", actions(label(1, 1)), headers)[0] == status
    closed = Site(site.session, Access(TOKEN, frozenset({HOST})), "t.csv")
    if host != HOST:
        assert ask(closed, "GET", "/api/progress", headers={"host": host})[0] == 403


def test_a_write_from_another_site_changes_nothing(ask, open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "http://evil.example"}):
        assert ask(session, "POST", "/api/actions", actions(label(1, 0)), headers)[0] == 403
    assert session.store.since(0) == []


def test_large_requests_are_refused(ask, open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    assert ask(session, "POST", "/api/actions", b" " * (MOST_BYTES + 1))[0] == 413


def test_actions_have_answers_of_their_own(ask, open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    body = actions(
        label(1, 0, base=0), label(2, 0, "cherry", base=0), label(3, 1, "pear"), label(4, 2)
    )
    status, found = ask(session, "POST", "/api/actions", body)
    assert status == 200
    assert [(each["ok"], each.get("status")) for each in found["results"]] == [
        *[(True, None), (False, 409), (False, 400), (True, None)]
    ]
    assert found["progress"]["counts"]["hand"] == 2


def test_a_full_disk_is_507(ask, open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    pages = session.store._db.execute("PRAGMA page_count").fetchone()[0]
    session.store._db.execute(f"PRAGMA max_page_count={pages}")
    status, found = 200, {}
    for number in range(200):
        note = {"key": f"note-{number:05d}", "kind": "note", "rows": [1], "text": "x" * 9000}
        status, found = ask(session, "POST", "/api/actions", actions(note))
        if status != 200:
            break
    assert status == 507
    assert "full" in found["error"]
    saved = session.store.since(0)
    assert session.board.state.last == len(saved)
    session.store._db.execute("PRAGMA max_page_count=100000")
    assert ask(session, "POST", "/api/actions", actions(label(9, 1)))[0] == 200


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/api/row?row=40", "row must be a number from 0 to 39, got '40'."),
        ("/api/row", "row must be a number from 0 to 39, got ''."),
        ("/api/questions?n=51", "n must be a number from 1 to 50, got '51'."),
        ("/api/questions?order=best", "order must be one of useful, uncertain"),
        ("/api/cluster?cluster=0", "The clusters are not ready yet"),
        ("/api/image?row=0", "This table has no column of images."),
    ],
)
def test_bad_questions_are_400_with_a_reason(ask, open_session, fruit, path, message):
    status, found = ask(open_session(fruit, classes=CLASSES), "GET", path)
    assert status == 400
    assert found["error"].startswith(message)


def test_one_question(ask, open_session, fruit):
    status, found = ask(open_session(fruit, classes=CLASSES), "GET", "/api/questions?n=1")
    assert (status, len(found["questions"])) == (200, 1)


def test_images_come_from_the_folder_only(ask, open_session, fruit, tmp_path):
    pictures = tmp_path / "pictures"
    (pictures / "a").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(b"secret")
    (pictures / "a" / "one.png").write_bytes(b"\x89PNG one")
    (pictures / "link.png").symlink_to(tmp_path / "secret.png")
    (pictures / "two.svg").write_bytes(b"<svg onload='alert(1)'/>")
    cells = ["a/one.png", "../secret.png", str(tmp_path / "secret.png"), "link.png", "two.svg", ""]
    table = fruit.head(len(cells)).assign(picture=cells)
    session = open_session(table, classes=CLASSES)
    session.sheet.images = "picture"
    answers = [
        ask(session, "GET", f"/api/image?row={row}", images=pictures) for row in range(len(cells))
    ]
    assert [status for status, _ in answers] == [200, 400, 400, 400, 400, 400]
    assert answers[0][1] == Content(b"\x89PNG one", "image/png")


def test_the_download(ask, open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    ask(session, "POST", "/api/actions", actions(label(1, 0, "cherry")))
    status, found = ask(session, "GET", "/api/export")
    assert (status, found.file_name) == (200, "t.labeled.csv")
    assert found.data.decode().splitlines()[1].endswith("Z") or "cherry" in found.data.decode()


def test_windows_that_close_and_come_back():
    windows = Windows()
    assert not windows.all_closed()
    windows.saw("one", True)
    windows.saw("two", True)
    windows.saw("one", False)
    windows._left["one"] -= 10
    assert not windows.all_closed()
    windows.saw("two", False)
    assert not windows.all_closed()  # it may be a reload
    windows._left["two"] -= 10
    assert windows.all_closed()
    windows.saw("two", True)
    assert not windows.all_closed()


def test_a_poll_that_was_under_way_does_not_bring_a_closed_window_back():
    windows = Windows()
    windows.saw("one", True)
    windows.saw("one", False)
    windows.saw("one", True)  # sent before the window closed
    windows._left["one"] -= 10
    assert windows.all_closed()
    windows.saw("one", False)
    windows.loads()
    windows.saw("one", True)  # a reload
    assert not windows.all_closed()


def test_a_reload_on_a_slow_computer_is_no_end(ask, open_session, fruit):
    windows = Windows()
    session = open_session(fruit, classes=CLASSES)
    access = Access(TOKEN, frozenset({HOST}))
    site = Site(session, access, "t.csv", on_load=windows.loads, on_seen=windows.saw)
    ask(site, "GET", "/")
    assert ask(site, "GET", "/api/start?window=one")[0] == 200
    ask(site, "POST", "/api/leave", b'{"window": "one"}')
    windows._left["one"] -= 10
    assert windows.all_closed()
    # The page is on its way again, but has not spoken yet.
    ask(site, "GET", "/")
    assert not windows.all_closed()
    windows._loading -= 100
    assert windows.all_closed()  # it never did
    ask(site, "GET", "/")
    ask(site, "GET", "/api/start?window=one")
    assert not windows.all_closed()
    ask(site, "POST", "/api/leave", b'{"window": "one"}')
    windows._left["one"] -= 10
    assert windows.all_closed()


def rubbish(random_):
    """Draw a value of JSON that makes no sense, or nearly some."""
    return random_.choice(
        [
            *(None, True, -1, 0, 3, 39, 40, 2**70, 1.5, "", "apple", "x" * 300, "\0", "é\ud800"),
            *([], [0], [0, 1], [[0]], ["0"], {}, {"a": 1}, {"label": "apple", "share": 2}),
        ]
    )


def random_request(random_, number):
    method = random_.choice(["GET", "GET", "POST", "POST", "PUT", "DELETE", "HEAD", "PATCH"])
    routes = [path for _, path in ROUTES if path != "/api/done"]
    path = random_.choice(
        [*routes, "/api/", "/static/app.js", "/static/../x", "//", "/%00", "/a[b"]
    )
    if method == "POST" and random_.random() < 0.7:
        path = "/api/actions"
    names = ["row", "n", "have", "order", "q", "cluster", "before", "window", "token", "x[", "%"]
    texts = [
        "",
        "0",
        "-1",
        "1e9",
        "١",
        "useful",
        "search",
        '"',
        "-",
        "0,1",
        ",",
        "a" * 50,
        "\0",
        "☃",
    ]
    query = "&".join(
        f"{random_.choice(names)}={quote(random_.choice(texts))}"
        for _ in range(random_.randrange(4))
    )
    body = b""
    if method == "POST":
        keys = ["key", "kind", "rows", "label", "base", "why", "shown", "source", "text", "window"]
        kinds = ["label", "skip", "unsure", "note", "class", "undo", "bulk", 7]
        action = {name: rubbish(random_) for name in random_.sample(keys, random_.randrange(3))}
        if random_.random() < 0.8:
            action["kind"] = random_.choice(kinds)
            action["key"] = random_.choice([*[f"fuzz-{number:08d}"] * 6, "fuzz-00000001", "short"])
        if random_.random() < 0.6:
            action["label"] = random_.choice(["apple", "cherry", "pear"])
            action["rows"] = [random_.randrange(45) for _ in range(random_.choice([1, 1, 1, 2, 0]))]
        body = json.dumps(
            {"actions": random_.choice([[action], [action], [action, 3], action])}
        ).encode()
        if random_.random() < 0.2:
            body = bytes(random_.randrange(256) for _ in range(random_.randrange(40)))
        elif random_.random() < 0.1:
            body = random_.choice([b"[" * 5000, b"nul", b"{}", b'{"actions": 1e999}'])
    headers = {}
    if random_.random() < 0.1:
        noise = "".join(random_.choice(string.printable) for _ in range(8))
        headers = {random_.choice(["host", "origin", "x-leaven-token", "sec-fetch-site"]): noise}
    return method, f"{path}?{query}", headers, body


def test_random_requests(ask, open_session, fruit):
    """Whatever comes in, the answer has the one shape and the session goes on."""
    session = open_session(fruit, classes=CLASSES)
    # The disk is not what is tested here: thousands of fsyncs would take minutes.
    session.store._db.execute("PRAGMA synchronous=OFF")
    site = Site(session, Access(TOKEN, frozenset({HOST})), "t.csv")
    random_ = random.Random(20)
    seen = set()
    for number in range(REQUESTS):
        method, path, headers, body = random_request(random_, number)
        status, found = ask(site, method, path, body, headers)
        seen.add(status)
        assert status in (200, 400, 403, 404, 409), (method, path, body)
        if isinstance(found, dict):
            json.dumps(found, allow_nan=False)
            assert found["ok"] is (status == 200)
            if status != 200:
                assert isinstance(found["error"], str)
    assert seen >= {200, 400, 403, 404}
    events = session.store.since(0)
    assert len({event.key for event in events}) == len(events) > REQUESTS // 200
    again = open_session(fruit, classes=CLASSES)
    assert again.board.codes.tolist() == session.board.codes.tolist()
