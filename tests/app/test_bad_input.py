"""Tables, ports and directories that cannot be used, as a user of the command meets them."""

import os
import socket
import threading
import urllib.parse
import urllib.request
from ipaddress import ip_address

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from leaven.app import AnnotateOptions, image_table, open_page, take_over_labels
from leaven.app._images import image_file
from leaven.app._token import keep_port, port_of, token_of
from leaven.cli import main
from leaven.cli._annotate import _offer
from leaven.cli._common import BadInput
from leaven.tables import TableError

from .conftest import press
from .serving import Command

pytest.importorskip("uvicorn", reason="needs the extra app")


@pytest.fixture
def run(monkeypatch):
    """Run the command on what it should refuse; a page that is served all the same ends at once."""
    monkeypatch.setattr("leaven.app._annotate.LabelingPage.wait", lambda page: None)

    def run_(*arguments):
        options = ["--no-browser", "--port", "0", *map(str, arguments)]
        found = CliRunner().invoke(main, ["annotate", *options])
        return found.exit_code, found.stderr.strip()

    return run_


def written(tmp_path, table):
    file = tmp_path / "t.csv"
    table.to_csv(file, index=False)
    return file


@pytest.mark.parametrize(
    ("content", "target", "message"),
    [
        ("text,kind\nripe,\n", "sort", "no column 'sort'; the columns are text, kind. Pass --add"),
        ("text,kind\n", "kind", "no rows"),
        ("", "kind", "t.csv"),
        ("text,text,kind\na,b,\n", "kind", "'text'"),
        ("kind\n\nx\n", "kind", "nothing to show"),
    ],
)
def test_a_table_that_cannot_be_labeled_is_one_line(run, tmp_path, content, target, message):
    (tmp_path / "t.csv").write_text(content)
    code, said = run(tmp_path / "t.csv", "--target", target)
    assert code == 2
    assert message in said
    assert len(said.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".csv"] == []


def test_numbers_are_no_classes(run, tmp_path):
    table = pd.DataFrame({"text": [f"t{i}" for i in range(40)], "price": np.linspace(0.5, 9.7, 40)})
    code, said = run(written(tmp_path, table), "--target", "price")
    assert code == 2
    assert "regression" in said
    assert not (tmp_path / "t.csv.labels.db").exists()


def test_an_output_that_cannot_be_written_is_said_before_the_work(run, tmp_path, fruit):
    file = written(tmp_path, fruit)
    for out, message in [
        (tmp_path / "no" / "out.csv", "does not exist"),
        (tmp_path / "out.docx", "out.docx"),
        (file, "is the table to label"),
    ]:
        code, said = run(file, "--target", "kind", "--out", out)
        assert code == 2
        assert message in said
        assert len(said.splitlines()) == 1
    assert not (tmp_path / "t.csv.labels.db").exists()


def test_a_missing_file_a_missing_guide_and_an_unknown_method(run, tmp_path, fruit):
    assert run(tmp_path / "no.csv", "--target", "kind")[0] == 2
    file = written(tmp_path, fruit)
    assert run(file, "--target", "kind", "--guide", tmp_path / "no.md")[0] == 2
    code, said = run(file, "--target", "kind", "--method", "magic")
    assert (code, "Known methods: auto" in said) == (2, True)
    code, said = run(file, "--target", "kind", "--text", "txt")
    assert "no column 'txt'" in said


def test_a_terminal_is_asked_whether_to_add_the_target(monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    asked = []

    def confirm(text, **options):
        asked.append(text)
        return len(asked) == 1

    monkeypatch.setattr("click.confirm", confirm)
    _offer("sort", ["text", "kind"])
    assert asked == ["There is no column 'sort'; the columns are text, kind. Add it?"]
    with pytest.raises(BadInput, match="Nothing was done"):
        _offer("sort", ["text"])


def test_the_target_is_added_and_written(tmp_path, fruit):
    file, out = written(tmp_path, fruit[["text"]]), tmp_path / "out.csv"
    command = Command(file, "--add-target", "--classes", "good,bad", "--out", str(out))
    action = {"key": "key-000001", "kind": "label", "rows": [2], "label": "bad"}
    assert command.ask("/api/actions", {"actions": [action]})["results"][0]["ok"]
    code, _ = command.end()
    assert code == 0
    labeled = pd.read_csv(out)
    assert labeled["kind"][2] == "bad"
    assert labeled["kind"].isna().sum() == 39


def test_a_port_in_use_takes_the_next_one(tmp_path, fruit):
    file = written(tmp_path, fruit)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = Command(file, "--port", str(port))
        assert command.port > port
        assert command.ask("/api/progress")["ok"]
        assert command.end()[0] == 0


def test_a_table_keeps_its_port(tmp_path, fruit, monkeypatch):
    """A page that waits for its server to come back asks at the port that it knows."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        usual = taken.getsockname()[1]
        monkeypatch.setattr("leaven.app._annotate.PORT", usual)
        options = AnnotateOptions(classes=("a", "b"), port=usual)

        def address():
            with open_page(fruit, "kind", tmp_path / "l.db", options, learner=None) as page:
                return page.address

        first = address()
        assert f":{usual}/" not in first
    assert address() == first
    # A port that the user names is another matter.
    options = AnnotateOptions(classes=("a", "b"), port=int(first.split(":")[2].split("/")[0]) + 1)
    assert address() != first


def test_two_users_of_one_table_keep_a_port_each(tmp_path, fruit, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        usual = free.getsockname()[1]
    monkeypatch.setattr("leaven.app._annotate.PORT", usual)

    def serve(user):
        options = AnnotateOptions(classes=("a", "b"), port=usual, user=user)
        return open_page(fruit, "kind", tmp_path / "l.db", options, learner=None)

    with serve("ann") as page, serve("bob") as other:
        first, second = page.address, other.address
    assert first != second
    # The page of each finds its server again, whoever is the first to start it.
    with serve("ann") as page, serve("bob") as other:
        assert (page.address, other.address) == (first, second)
    with serve("bob") as other, serve("ann") as page:
        assert (page.address, other.address) == (first, second)


def test_a_page_for_every_network_tells_both_addresses(tmp_path, fruit, capsys, monkeypatch):
    options = AnnotateOptions(classes=("a", "b"), host="0.0.0.0", port=0)
    with open_page(fruit, "kind", tmp_path / "l.db", options, learner=None) as page:
        assert page.address.startswith("http://127.0.0.1:")
        other = urllib.parse.urlsplit(page.elsewhere)
        assert str(ip_address(other.hostname)) == other.hostname
        assert page.elsewhere.partition(":")[2].split(":")[1] == page.address.split(":")[2]
        with urllib.request.urlopen(page.elsewhere, timeout=30) as answer:
            assert answer.status == 200
    monkeypatch.setattr("leaven.app._annotate.LabelingPage.wait", lambda page: None)
    file = written(tmp_path, fruit)
    arguments = [str(file), "--target", "kind", "--host", "0.0.0.0", "--port", "0", "--no-browser"]
    found = CliRunner().invoke(main, ["annotate", *arguments])
    assert "From other computers: http://" in found.stderr
    assert found.stdout.startswith("http://127.0.0.1:")


def test_an_address_of_six_is_in_brackets(tmp_path, fruit):
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("needs IPv6")
    options = AnnotateOptions(classes=("a", "b"), host="::1", port=0)
    with open_page(fruit, "kind", tmp_path / "l.db", options, learner=None) as page:
        assert page.address.startswith("http://[::1]:")
        with urllib.request.urlopen(page.address, timeout=30) as answer:
            assert answer.status == 200


def test_without_a_browser_the_address_is_printed(tmp_path, fruit, monkeypatch):
    file = written(tmp_path, fruit)
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    pages = []
    monkeypatch.setattr("leaven.app._annotate.LabelingPage.wait", lambda page: pages.append(page))
    found = CliRunner().invoke(main, ["annotate", str(file), "--target", "kind", "--port", "0"])
    assert found.exit_code == 0, found.output
    assert found.stdout.strip() == pages[0].address
    assert "No browser was found: open the address above." in found.stderr


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is read-only for root"
)
def test_a_read_only_directory_is_said(run, tmp_path, fruit):
    folder = tmp_path / "locked"
    folder.mkdir()
    file = written(folder, fruit)
    folder.chmod(0o500)
    try:
        code, said = run(file, "--target", "kind")
        assert code == 2
        assert "Is the directory writable? If not, pass --labels" in said
        assert run(file, "--target", "kind", "--labels", tmp_path / "no" / "l.db")[0] == 2
    finally:
        folder.chmod(0o700)


def test_a_place_that_cannot_be_written_is_said(run, tmp_path, fruit):
    code, said = run(
        written(tmp_path, fruit), "--target", "kind", "--labels", tmp_path / "no" / "l.db"
    )
    assert code == 2
    assert "Is the directory writable?" in said
    assert "pass --labels 'elsewhere/l.db'." in said


def test_a_file_that_became_read_only_is_507_and_loses_nothing(ask, open_session, fruit):
    session = open_session(fruit, classes=["apple", "cherry"])
    body = b'{"actions": [{"key": "key-00001", "kind": "label", "rows": [1], "label": "apple"}]}'
    session.store._db.execute("PRAGMA query_only=ON")
    status, found = ask(session, "POST", "/api/actions", body)
    assert status == 507
    assert "cannot be written" in found["error"]
    assert session.board.counts()["hand"] == 0
    session.store._db.execute("PRAGMA query_only=OFF")
    assert ask(session, "POST", "/api/actions", body)[0] == 200
    assert session.board.counts()["hand"] == 1


def test_a_folder_of_images_is_a_table(tmp_path):
    folder = tmp_path / "photos"
    (folder / "b").mkdir(parents=True)
    for name in ("z.png", "b/a.JPEG", "b/c.webp", "notes.txt", "d.svg"):
        (folder / name).write_bytes(b"x")
    assert image_table(folder)["image"].tolist() == ["b/a.JPEG", "b/c.webp", "z.png"]
    assert image_file("b/a.JPEG", folder)[1] == "image/jpeg"
    with pytest.raises(TableError, match="no image that a browser shows"):
        image_table(tmp_path / "photos" / ".." / "state")
    command = Command(folder, "--classes", "cat,dog")
    start = command.ask("/api/start")
    assert (start["images"], start["n_rows"]) == ("image", 3)
    assert command.end()[0] == 0
    assert (tmp_path / "photos.labels.db").exists()


def test_images_that_are_too_large_are_not_read(tmp_path, monkeypatch):
    (tmp_path / "a.png").write_bytes(b"12345")
    monkeypatch.setattr("leaven.app._images.MOST_BYTES", 4)
    with pytest.raises(TableError, match="is larger than"):
        image_file("a.png", tmp_path)


def test_tokens_are_kept_for_their_user_alone(tmp_path):
    token = token_of("one", tmp_path)
    assert len(token) >= 32
    assert token_of("one", tmp_path) == token
    assert token_of("two", tmp_path) != token
    file = tmp_path / "annotate-tokens.json"
    if os.name == "posix":
        assert file.stat().st_mode & 0o077 == 0
    file.write_text("{ not json")
    assert token_of("one", tmp_path) != token  # lost, and made anew
    (tmp_path / "file").touch()
    assert token_of("one", tmp_path / "file" / "under") != token  # no place to keep it


def test_ports_are_remembered_and_rubbish_is_not(tmp_path):
    assert port_of("one", tmp_path) is None
    keep_port("one", 8711, tmp_path)
    keep_port("two", 8712, tmp_path)
    assert (port_of("one", tmp_path), port_of("two", tmp_path)) == (8711, 8712)
    for rubbish in ('{"one": 99999}', '{"one": "8711"}', "[8711]", "{"):
        (tmp_path / "annotate-ports.json").write_text(rubbish)
        assert port_of("one", tmp_path) is None


def test_two_servers_that_start_at_once_both_work(tmp_path, fruit):
    file = written(tmp_path, fruit)
    started = []
    threads = [threading.Thread(target=lambda: started.append(Command(file))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers = [command.ask("/api/progress")["ok"] for command in started]
    codes = [command.end()[0] for command in started]
    assert (answers, codes) == ([True, True], [0, 0])


def test_the_labels_of_another_column_are_not_taken_for_those_of_this_one(run, tmp_path, fruit):
    file, labels = tmp_path / "fruit.csv", tmp_path / "fruit.csv.labels.db"
    fruit.drop(columns="kind").to_csv(file, index=False)
    options = AnnotateOptions(classes=("a", "b"), port=0)
    with open_page(fruit[["text", "grams"]], "ripe", labels, options, learner=None) as page:
        press(page.session, "label", 3, "a")
    for column in ("sort", "grams"):  # a new one, and one by which the rows were recognized
        code, said = run(file, "--target", column, "--add-target")
        assert code == 2
        assert f"holds the labels of the column 'ripe', not of {column!r}" in said
        assert f"Pass --labels '{column}.labels.db'." in said
    with pytest.raises(TableError, match="holds the labels of the column 'ripe'"):
        take_over_labels(fruit, "kind", labels)
    assert take_over_labels(fruit, "ripe", labels)["ripe"][3] == "a"


def test_a_file_without_a_label_can_be_taken_for_another_column(tmp_path, fruit):
    options = AnnotateOptions(classes=("a", "b"), port=0)
    for target in ("ripe", "kind"):  # the second one was content while the first one was labeled
        with open_page(fruit, target, tmp_path / "l.db", options, learner=None) as page:
            assert page.session.board.counts()["hand"] == 0
