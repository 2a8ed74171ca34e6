"""The real server: sockets, headers, ends, and kills."""

import http.client
import os
import random
import socket
import sqlite3
import sys
import threading
import time
from multiprocessing import Pipe

import numpy as np
import pandas as pd
import pytest

from leaven.app import AnnotateOptions, annotate, open_page
from leaven.app._answers import Request
from leaven.app._learner import ProcessLearner, Subject, _run
from leaven.app._server import free_socket
from leaven.tables import TableError, read_table

from .serving import Command, Forked, urllib, wait_for

pytest.importorskip("uvicorn", reason="needs the extra app")
pytest.importorskip("starlette", reason="needs the extra app")
CLASSES = ("apple", "cherry")
KILLS = int(os.environ.get("LEAVEN_KILLS", "8"))  # `make annotate-stress` kills 100 times


@pytest.fixture
def start(fruit, tmp_path):
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    running = []

    def start_(**options):
        running.append(Forked(fruit, tmp_path / "l.db", **{"classes": CLASSES, **options}))
        return running[-1]

    yield start_
    for page in running:
        page.kill()


def label(number, row, name="apple"):
    return {"key": f"key-{number:08d}", "kind": "label", "rows": [row], "label": name}


def get(command, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", command.port, timeout=30)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


def test_the_command_serves_suggests_and_ends_cleanly(fruit, tmp_path):
    file, out = tmp_path / "fruit.csv", tmp_path / "out.csv"
    fruit.to_csv(file, index=False)
    command = Command(file, "--classes", ",".join(CLASSES), "--out", str(out))
    assert command.address == f"http://127.0.0.1:{command.port}/?token={command.token}"
    assert len(command.token) >= 32
    answer = get(command, f"/?token={command.token}")
    assert answer.status == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert get(command, "/").status == 403
    assert get(command, f"/?token={command.token}", Host="evil.example").status == 403
    for row in range(6):
        action = label(row, row, CLASSES[1 - row % 2])
        assert command.ask("/api/actions", {"actions": [action]})["results"][0]["ok"]
    # The learner, in its own process, has seen all six.
    wait_for(lambda: command.ask("/api/progress")["progress"]["model"] == 6, 240)
    right = [
        command.ask(f"/api/row?row={row}")["found"]["suggestion"]["label"] == CLASSES[1 - row % 2]
        for row in range(6, 40)
    ]
    assert np.mean(right) > 0.7
    code, said = command.end()
    assert code == 0
    assert "fruit.csv.labels.db" in said
    assert read_table(out)["kind"].tolist()[:2] == ["cherry", "apple"]


def test_done_ends_the_command_and_says_where_the_labels_are(fruit, tmp_path):
    file = tmp_path / "fruit.csv"
    fruit.to_csv(file, index=False)
    command = Command(file, "--classes", ",".join(CLASSES))
    for row in range(3):
        command.ask("/api/actions", {"actions": [label(row, row, CLASSES[0])]})
    command.ask("/api/done", {})
    said = command.process.communicate(timeout=60)[1]
    assert command.process.returncode == 0
    assert said == f"3 of 40 rows have a label; all labels are in {file}.labels.db.\n"


def test_a_second_server_takes_the_next_port_and_both_share_the_file(start):
    one = start(user="ann", port=18710)
    two = start(user="bob", port=one.port)
    assert two.port > one.port
    one.ask("/api/actions", {"actions": [label(1, 3)]})
    found = two.ask("/api/row?row=3")["found"]
    assert (found["label"], found["others"]) == ("apple", {"ann": "apple"})


def test_the_token_stays_after_a_restart(start):
    one = start()
    one.kill()
    assert start().token == one.token


def test_too_large_a_request_is_refused(start):
    command = start()
    with pytest.raises(urllib.error.HTTPError) as refused:
        command.ask("/api/actions", {"actions": ["x" * 5_000_000]})
    assert refused.value.code == 413
    refused.value.close()
    assert command.ask("/api/progress")["ok"]


def test_kills_lose_nothing_that_was_acknowledged(start, tmp_path, capsys):
    """SIGKILL at random moments while labels come in as fast as they are answered."""
    random_ = random.Random(4)
    acknowledged = {}
    number = 0
    for _ in range(KILLS):
        page = start()
        # After so many answers, and then at some moment of the next request.
        wanted = random_.randrange(6)
        killer = None
        try:
            while True:
                if wanted == 0:
                    killer = threading.Timer(random_.uniform(0.0, 0.05), page.kill)
                    killer.start()
                wanted -= 1
                number += 1
                name = CLASSES[random_.randrange(2)]
                action = label(number, random_.randrange(40), name)
                result = page.ask("/api/actions", {"actions": [action]})["results"][0]
                acknowledged[action["key"]] = (result["event"], name)
        except (OSError, http.client.HTTPException):
            pass  # the server is gone: this one was not acknowledged
        killer.join()
    store = sqlite3.connect(tmp_path / "l.db")
    found = store.execute("SELECT key, id, value FROM events").fetchall()
    assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()
    saved = {key: (number, value) for key, number, value in found}
    assert len(acknowledged) > KILLS
    for key, (event, name) in acknowledged.items():
        assert saved[key] == (event, f'"{name}"')
    with capsys.disabled():
        if KILLS >= 100:
            sys.stdout.write(f"{KILLS} kills, {len(acknowledged)} labels acknowledged, none lost\n")


def test_a_disk_that_fills_up_loses_nothing_that_was_acknowledged(start, tmp_path):
    """The system itself refuses to write more, in the middle of an event."""
    page = start(room=200_000)
    acknowledged = []

    def fill_up():
        for number in range(400):
            page.ask("/api/actions", {"actions": [label(number, number % 40)]})
            acknowledged.append(f"key-{number:08d}")

    with pytest.raises(urllib.error.HTTPError) as refused:
        fill_up()
    assert refused.value.code == 507
    assert b"cannot be written" in refused.value.read()
    refused.value.close()
    assert len(acknowledged) > 2
    assert page.ask("/api/progress")["progress"]["version"] == len(acknowledged)
    page.kill()
    again = start()
    assert again.ask("/api/actions", {"actions": [label(999, 0)]})["results"][0]["ok"]
    store = sqlite3.connect(tmp_path / "l.db")
    keys = [key for (key,) in store.execute("SELECT key FROM events ORDER BY id")]
    assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()
    assert keys == [*acknowledged, "key-00000999"]


def test_annotate_returns_when_the_page_is_closed(fruit, tmp_path, capsys):
    found = {}

    def visit():
        address = wait_for(lambda: capsys.readouterr().out.strip())
        port = int(address.split(":")[2].partition("/")[0])
        token = address.partition("token=")[2]

        def send(method, path, body=None):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request(method, path, body=body, headers={"X-Leaven-Token": token})
            found[path] = connection.getresponse().status
            connection.close()

        send("GET", "/api/progress?window=one")
        send(
            "POST",
            "/api/actions",
            '{"actions": [{"key": "key-000001", "kind": "label", "rows": [2], "label": "cherry"}]}',
        )
        send("POST", "/api/leave", '{"window": "one"}')

    visitor = threading.Thread(target=visit)
    visitor.start()
    labels = tmp_path / "labels.db"
    result = annotate(
        fruit, "kind", text="text", classes=CLASSES, labels=labels, port=0, browser=False
    )
    visitor.join()
    assert set(found.values()) == {200}
    assert result["kind"].tolist()[2] == "cherry"
    assert "kind_source" not in fruit


def test_an_estimator_of_the_users_own_learns(fruit, tmp_path):
    from sklearn.naive_bayes import GaussianNB

    from leaven.active import HighestEntropy

    options = AnnotateOptions(
        classes=CLASSES, port=0, method=GaussianNB(), strategy=HighestEntropy()
    )
    table = fruit[["grams", "kind"]]
    with open_page(table, "kind", tmp_path / "l.db", options) as page:
        for row in range(6):
            page.session.record(label(row, row, CLASSES[1 - row % 2]))
        known = page.session.knowledge
        answers = wait_for(lambda: (now := known.answers) and now.version == 6 and now, 240)
        assert answers.method == "GaussianNB"
        assert page.result()["kind_predicted"].tolist() == [
            CLASSES[1 - row % 2] for row in range(40)
        ]


class Broken:
    """An estimator of this module that another process cannot even import."""

    def fit(self, X, y):
        raise RuntimeError("no")

    def predict(self, X):
        return X


def test_labels_are_saved_when_the_learner_fails(fruit, tmp_path):
    Broken.__module__ = "__main__"  # as if it were defined in a notebook
    options = AnnotateOptions(classes=CLASSES, port=0, method=Broken())
    with open_page(fruit, "kind", tmp_path / "l.db", options) as page:
        for row in range(4):
            page.session.record(label(row, row, CLASSES[row % 2]))
        reason = wait_for(lambda: page.session.knowledge.trouble, 240)
        assert "The learner stopped" in reason
        page.session.record(label(9, 9))
        assert page.session.board.counts()["hand"] == 5


@pytest.mark.parametrize(
    ("column", "reason"),
    [(np.arange(40) % 9 + 0.5, "The learner stopped"), (["x"] * 40, "No column of this table")],
)
def test_labels_after_the_end_of_the_learner_do_not_hide_its_reason(column, reason):
    subject = Subject(pd.DataFrame({"grams": column}), estimator=Broken())
    ours, theirs = Pipe()
    # The thread alone holds the other end: when it is through, this one hears of an end.
    thread = threading.Thread(target=_run, args=[theirs, subject], daemon=True)
    thread.start()
    del theirs
    heard = []
    for version in range(3):
        ours.send(Request(version, np.array([0, 1] + 38 * [-1]), 2, np.arange(0)))
        while not any(reason in getattr(news, "reason", "") for news in heard):
            assert ours.poll(60)
            heard.append(ours.recv())
    while ours.poll(0.3):
        heard.append(ours.recv())  # the graph may be ready later; an end is an error
    ours.close()
    thread.join(60)
    assert not thread.is_alive()


def test_a_port_in_use_and_an_address_of_another_computer():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with free_socket("127.0.0.1", port) as found:
            assert found.getsockname()[1] > port
    with pytest.raises(TableError, match=r"no address '203\.0\.113\.7'"):
        free_socket("203.0.113.7", 0)


def test_a_learner_can_be_closed_at_any_moment(fruit):
    learner = ProcessLearner(Subject(fruit[["text"]], texts=("text",)))
    heard = []
    learner.start(heard.append)
    learner.close()
    time.sleep(0.1)
    learner.close()
    assert not [news for news in heard if type(news).__name__ == "Answers"]


def test_unknown_methods_are_named(fruit, tmp_path):
    with pytest.raises(TableError, match=r"method 'best' is not known\. Known methods: auto"):
        annotate(fruit, "kind", labels=tmp_path / "l.db", method="best")
    with pytest.raises(TypeError, match="with fit and predict"):
        annotate(fruit, "kind", labels=tmp_path / "l.db", method=3)
    with pytest.raises(TypeError, match="DataFrame"):
        annotate([1], "kind")
