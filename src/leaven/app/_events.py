"""The event file: every label, skip, note and undo, appended and never changed.

SQLite in WAL mode with ``synchronous=FULL``: when :meth:`EventStore.insert` has committed, the
event is on the disk, and ending the process at any moment loses nothing that was committed.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaven.tables import TableError

LABEL, SKIP, UNSURE, NOTE, CLASS, UNDO = "label", "skip", "unsure", "note", "class", "undo"
KINDS = (LABEL, SKIP, UNSURE, NOTE, CLASS, UNDO)
HAND, BULK = "hand", "bulk"

_APPLICATION = 0x6C76656E  # "lven": SQLite's own place for the kind of a file
_VERSION = 1  # of the schema below; raised when an older reader would misread the file
_PATIENCE = 10.0  # seconds to wait while another process writes; one commit takes milliseconds

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS events (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL UNIQUE,
        time REAL NOT NULL,
        user TEXT NOT NULL,
        kind TEXT NOT NULL,
        rows TEXT NOT NULL,
        value TEXT NOT NULL,
        source TEXT NOT NULL,
        why TEXT NOT NULL,
        shown TEXT NOT NULL,
        undoes INTEGER
    )""",
    """CREATE TRIGGER IF NOT EXISTS events_stay BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'events are never changed'); END""",
    """CREATE TRIGGER IF NOT EXISTS events_are_kept BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END""",
    "CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
)


class CannotSaveError(OSError):
    """The event file cannot be written: the disk is full, or the file became read-only."""


@dataclass(frozen=True)
class Draft:
    """What is to become an event.

    Parameters
    ----------
    key : str
        Chosen by the page, once for each press of a key: a second event with the same key is
        the first one sent again.
    kind : str
        One of ``KINDS``.
    rows : tuple of str
        Names of the rows, see :func:`~leaven.app._fingerprints.fingerprints`.
    value : str, int, float, bool or None
        The label, the text of a note, or the name of a class.
    source : {"hand", "bulk"}
    why : str
        How the row came to be asked: the order of the questions, ``"random"``, ``"check"``.
    shown : dict
        What the page showed: suggestion and confidence.
    undoes : int, optional
        The event that an undo takes back.
    """

    key: str
    kind: str
    rows: tuple[str, ...] = ()
    value: Any = None
    source: str = HAND
    why: str = ""
    shown: dict[str, Any] = field(default_factory=dict)
    undoes: int | None = None


@dataclass(frozen=True)
class Event(Draft):
    """An event that is on the disk: a draft with its number, time and user."""

    id: int = 0
    time: float = 0.0
    user: str = ""


class EventStore:
    """An append-only file of events.

    Parameters
    ----------
    path : str or Path
        Made if it is not there.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from leaven.app._events import Draft, EventStore
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = EventStore(pathlib.Path(folder.name) / "t.labels.db")
    >>> with store.transaction():
    ...     event = store.insert(Draft("k1", "label", ("row",), "spam"), user="ann")
    >>> [(each.id, each.value) for each in store.since(0)]
    [(1, 'spam')]
    >>> store.close(); folder.cleanup()
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        try:
            self._db = sqlite3.connect(
                self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise _not_opened(self.path, error) from error
        try:
            self.is_new = self._open()
            self._identity = _identity(self.path)
        except sqlite3.Error as error:
            self._db.close()
            raise _not_opened(self.path, error) from error
        except TableError:
            self._db.close()
            raise

    def _open(self) -> bool:
        """Make the file ready, and return whether it was empty.

        Two processes may do so at once: who comes second waits, and finds a whole file.
        """
        db = self._db
        # FULL, not NORMAL: a power cut too loses no label that the page called saved.
        db.execute("PRAGMA synchronous=FULL")
        db.execute("BEGIN IMMEDIATE")
        try:
            kind = db.execute("PRAGMA application_id").fetchone()[0]
            is_new = not kind and not db.execute("SELECT 1 FROM sqlite_master").fetchone()
            if not is_new:
                self._check_kind(kind)
            db.execute(f"PRAGMA application_id={_APPLICATION}")
            db.execute(f"PRAGMA user_version={_VERSION}")
            for statement in _SCHEMA:
                db.execute(statement)
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
        db.execute("PRAGMA journal_mode=WAL")
        return is_new

    def _check_kind(self, kind: int) -> None:
        """Raise if the file is not ours, or of a later version."""
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if kind != _APPLICATION:
            raise TableError(f"{self.path} is not an event file of leaven: name another one.")
        if version > _VERSION:
            raise TableError(
                f"{self.path} was written by a later version of leaven: install that one."
            )

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the file for writing: what is read inside cannot be overtaken by another process.

        Raises
        ------
        CannotSaveError
            If nothing could be written; then nothing was.
        """
        with self._lock:
            self._check_in_place()
            try:
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    yield
                except BaseException:
                    self._db.execute("ROLLBACK")
                    raise
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise CannotSaveError(f"{self.path} cannot be written: {error}.") from error

    def _check_in_place(self) -> None:
        """Raise if the file was removed or replaced: SQLite would write on, and nobody find it."""
        if _identity(self.path) != self._identity:
            raise CannotSaveError(
                f"{self.path} was removed or replaced while the page was open. Put it back, or "
                "download the table and start again."
            )

    def insert(self, draft: Draft, *, user: str) -> Event:
        """Append one event inside a :meth:`transaction`."""
        now = time.time()
        cursor = self._db.execute(
            "INSERT INTO events (key, time, user, kind, rows, value, source, why, shown, undoes) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                draft.key,
                now,
                user,
                draft.kind,
                json.dumps(draft.rows),
                json.dumps(draft.value),
                draft.source,
                draft.why,
                json.dumps(draft.shown),
                draft.undoes,
            ),
        )
        number = cursor.lastrowid
        assert number is not None
        return Event(**vars(draft), id=number, time=now, user=user)

    def by_key(self, key: str) -> Event | None:
        """Return the event with this key, if there is one."""
        return next(iter(self._select("key = ?", (key,))), None)

    def since(self, last: int) -> list[Event]:
        """Return the events after number ``last``, in order."""
        return self._select("id > ?", (last,))

    def _select(self, condition: str, values: Sequence[Any]) -> list[Event]:
        with self._lock:
            try:
                found = self._db.execute(
                    "SELECT key, kind, rows, value, source, why, shown, undoes, id, time, user "
                    f"FROM events WHERE {condition} ORDER BY id",
                    values,
                ).fetchall()
            except sqlite3.OperationalError as error:
                raise CannotSaveError(f"{self.path} cannot be read: {error}.") from error
        return [
            Event(
                key=key,
                kind=kind,
                rows=tuple(json.loads(rows)),
                value=json.loads(value),
                source=source,
                why=why,
                shown=json.loads(shown),
                undoes=undoes,
                id=number,
                time=when,
                user=user,
            )
            for key, kind, rows, value, source, why, shown, undoes, number, when, user in found
        ]

    def fact(self, name: str) -> Any:
        """Return what was kept under a name, or None."""
        with self._lock:
            row = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def keep_fact(self, name: str, value: Any, *, at_once: bool = True) -> None:
        """Keep a value of JSON under a name: what the table looked like, the learning curve.

        Parameters
        ----------
        name : str
        value : object
            Anything that JSON can hold.
        at_once : bool, default=True
            False leaves it to the next event to bring it to the disk: a power cut may undo it,
            and no key waits for it.
        """
        with self._lock:
            if not at_once:
                self._db.execute("PRAGMA synchronous=NORMAL")
            try:
                with self.transaction():
                    self._db.execute(
                        "INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value))
                    )
            finally:
                if not at_once:
                    self._db.execute("PRAGMA synchronous=FULL")

    def claim(self, target: str) -> None:
        """Take the file for the labels of a column.

        Raises
        ------
        TableError
            If it holds those of another column, which would be taken for labels of this one.
        """
        own = self.fact("target")
        if own not in (None, target) and self.since(0):
            raise TableError(
                f"{self.path} holds the labels of the column {own!r}, not of {target!r}.",
                advice=("Pass", "labels", f"{target}.labels.db"),
            )
        if own is not None and own != target:
            # Without an event there is nothing by which rows must be recognized.
            for name in ("columns", "rows"):
                self.keep_fact(name, None)
        if own != target:
            self.keep_fact("target", target)

    def discard(self) -> None:
        """Close the file, and remove it if it was made by this store and has no event."""
        with self._lock:
            empty = self.is_new and not self.since(0)
            self._db.close()
            if empty:
                with contextlib.suppress(OSError):
                    self.path.unlink()

    def close(self) -> None:
        """Close the file; what was committed is complete without it."""
        with self._lock:
            self._db.close()


def _not_opened(path: Path, error: sqlite3.Error) -> TableError:
    words = str(error)
    if "not a database" in words:
        return TableError(f"{path} is not an event file of leaven: name another one.")
    return TableError(
        f"The event file {path} cannot be opened: {words}. Is the directory writable?",
        advice=("If not, pass", "labels", f"elsewhere/{path.name}"),
    )


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one of the same name; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
