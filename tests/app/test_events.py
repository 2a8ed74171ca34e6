"""The event file: appended, never changed, complete after a kill."""

import os
import sqlite3
import threading

import pytest

from leaven.app._events import CannotSaveError, Draft, EventStore
from leaven.tables import TableError


def test_events_come_back_as_they_were(tmp_path):
    store = EventStore(tmp_path / "a.db")
    draft = Draft("k-1", "label", ("r1", "r2"), "späm", "bulk", "search", {"share": 0.75})
    with store.transaction():
        written = store.insert(draft, user="ann")
    store.close()
    (read,) = EventStore(tmp_path / "a.db").since(0)
    assert read == written
    assert (read.rows, read.value, read.shown) == (("r1", "r2"), "späm", {"share": 0.75})


@pytest.mark.parametrize("value", ["a", 3, True, 2.5, None])
def test_labels_keep_their_type(tmp_path, value):
    store = EventStore(tmp_path / "a.db")
    with store.transaction():
        store.insert(Draft("k-1", "label", ("r",), value), user="ann")
    assert store.since(0)[0].value is value or store.since(0)[0].value == value
    assert type(store.since(0)[0].value) is type(value)


def test_a_failed_transaction_leaves_nothing(tmp_path):
    store = EventStore(tmp_path / "a.db")

    def fail():
        with store.transaction():
            store.insert(Draft("k-1", "skip", ("r",)), user="ann")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert store.since(0) == []


def test_a_key_is_written_once(tmp_path):
    store = EventStore(tmp_path / "a.db")
    with store.transaction():
        store.insert(Draft("k-1", "skip", ("r",)), user="ann")
    with pytest.raises(CannotSaveError, match="UNIQUE"), store.transaction():
        store.insert(Draft("k-1", "skip", ("other",)), user="ann")
    assert [event.rows for event in store.since(0)] == [("r",)]


def test_nobody_can_change_an_event(tmp_path):
    store = EventStore(tmp_path / "a.db")
    with store.transaction():
        store.insert(Draft("k-1", "skip", ("r",)), user="ann")
    other = sqlite3.connect(tmp_path / "a.db")
    for statement in ("UPDATE events SET user = 'bob'", "DELETE FROM events"):
        with pytest.raises(sqlite3.IntegrityError, match="events are never"):
            other.execute(statement)
    other.close()


def test_every_commit_goes_to_the_disk(tmp_path):
    store = EventStore(tmp_path / "a.db")
    assert store._db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert store._db.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL


def test_another_process_sees_it_at_once(tmp_path):
    one, two = EventStore(tmp_path / "a.db"), EventStore(tmp_path / "a.db")
    with one.transaction():
        one.insert(Draft("k-1", "skip", ("r",)), user="ann")
    with two.transaction():
        two.insert(Draft("k-2", "skip", ("s",)), user="bob")
    assert [event.user for event in one.since(0)] == ["ann", "bob"]


def test_a_full_disk_is_said_and_nothing_is_half_written(tmp_path):
    store = EventStore(tmp_path / "a.db")
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count={pages}")

    def fill():
        with store.transaction():
            for number in range(500):
                store.insert(Draft(f"k-{number}", "note", ("r",), "x" * 500), user="ann")

    with pytest.raises(CannotSaveError, match="full"):
        fill()
    assert store.since(0) == []
    store._db.execute("PRAGMA max_page_count=100000")
    with store.transaction():
        store.insert(Draft("k-1", "skip", ("r",)), user="ann")
    assert len(store.since(0)) == 1


@pytest.mark.parametrize("content", [b"text,topic\na,b\n" * 100, b"SQLite format 3\0" + bytes(84)])
def test_other_files_are_left_alone(tmp_path, content):
    (tmp_path / "a.db").write_bytes(content)
    with pytest.raises(TableError, match=r"a\.db"):
        EventStore(tmp_path / "a.db")
    assert (tmp_path / "a.db").read_bytes() == content


def test_another_sqlite_file_is_refused(tmp_path):
    other = sqlite3.connect(tmp_path / "a.db")
    other.execute("CREATE TABLE events (id)")
    other.commit()
    other.close()
    with pytest.raises(TableError, match="not an event file of leaven"):
        EventStore(tmp_path / "a.db")


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(TableError, match="Is the directory writable"):
        EventStore(tmp_path / "no" / "a.db")


def write(store, key):
    with store.transaction():
        store.insert(Draft(key, "skip", ("r",)), user="ann")


def test_a_file_that_was_removed_or_replaced_is_noticed(tmp_path):
    path, aside = tmp_path / "a.db", tmp_path / "aside.db"
    store = EventStore(path)
    write(store, "k-1")
    os.rename(path, aside)
    with pytest.raises(CannotSaveError, match=r"a\.db was removed or replaced while the page was"):
        write(store, "k-2")
    path.write_text("no database at all")
    with pytest.raises(CannotSaveError, match="removed or replaced"):
        write(store, "k-2")
    os.replace(aside, path)
    write(store, "k-3")
    assert [event.key for event in store.since(0)] == ["k-1", "k-3"]


def test_a_fact_that_can_wait_leaves_events_safe(tmp_path):
    store = EventStore(tmp_path / "a.db")
    store.keep_fact("curve", [1, 2], at_once=False)
    assert store._db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL again
    assert EventStore(tmp_path / "a.db").fact("curve") == [1, 2]
    store._db.execute("PRAGMA query_only=ON")
    with pytest.raises(CannotSaveError):
        store.keep_fact("curve", [3], at_once=False)
    assert store._db.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_file_that_nobody_used_can_be_discarded(tmp_path):
    path = tmp_path / "a.db"
    EventStore(path).discard()
    assert not path.exists()
    store = EventStore(path)
    write(store, "k-1")
    store.discard()
    again = EventStore(path)
    assert [event.key for event in again.since(0)] == ["k-1"]
    again.discard()
    assert path.exists()


def test_a_file_that_cannot_be_read_is_said(tmp_path):
    store = EventStore(tmp_path / "a.db")
    store._db.execute("DROP TABLE events")
    with pytest.raises(CannotSaveError, match="cannot be read: no such table"):
        store.since(0)


def test_only_who_made_a_file_calls_it_new(tmp_path):
    one, two = EventStore(tmp_path / "a.db"), EventStore(tmp_path / "a.db")
    assert (one.is_new, two.is_new) == (True, False)
    two.discard()
    assert (tmp_path / "a.db").exists()
    one.discard()
    assert not (tmp_path / "a.db").exists()


def test_a_file_that_another_process_has_just_begun_is_no_foreign_one(tmp_path):
    other = sqlite3.connect(tmp_path / "a.db")
    other.execute("PRAGMA journal_mode=WAL")  # bytes on the disk, and no mark yet
    assert (tmp_path / "a.db").stat().st_size
    store = EventStore(tmp_path / "a.db")
    assert store.is_new
    assert store.since(0) == []
    store.close()
    other.close()


def test_an_empty_file_of_another_program_is_refused(tmp_path):
    other = sqlite3.connect(tmp_path / "a.db")
    other.execute("PRAGMA application_id=7")
    other.close()
    with pytest.raises(TableError, match="not an event file of leaven"):
        EventStore(tmp_path / "a.db")


@pytest.mark.parametrize("lock", ["BEGIN EXCLUSIVE", "BEGIN"])
def test_a_file_that_another_process_holds_is_waited_for(tmp_path, lock):
    EventStore(tmp_path / "a.db").close()
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None, check_same_thread=False)
    other.execute("PRAGMA journal_mode=DELETE")
    other.execute(lock)
    assert other.execute("SELECT * FROM events").fetchall() == []
    release = threading.Timer(0.3, other.execute, ("ROLLBACK",))
    release.start()
    store = EventStore(tmp_path / "a.db")
    release.join()
    with store.transaction():
        store.insert(Draft("k-1", "skip", ("r",)), user="ann")
    assert len(store.since(0)) == 1
    store.close()
    other.close()
