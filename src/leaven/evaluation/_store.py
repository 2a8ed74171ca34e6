"""Results in a SQLite file, one transaction per trial."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import sqlite3
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

import pandas as pd

from leaven.exceptions import LeavenWarning

FORMAT = "2"
"""Number of the file format; 2 has a checksum per trial."""

# The "application id" of SQLite files of leaven, "lven": tells them from those of others.
_APPLICATION = 0x6C76656E

# How long to wait for another process that writes to the same file.
_BUSY_SECONDS = 60.0

SCORES = ("error", "accuracy", "f1", "precision", "recall", "seconds")
COLUMNS = ("dataset", "method", "trial", "n_labeled", *SCORES, "status", "message")
OK, FAILED = "ok", "failed"

_TABLES = f"""
CREATE TABLE IF NOT EXISTS settings (kind TEXT, name TEXT, value TEXT, PRIMARY KEY (kind, name));
CREATE TABLE IF NOT EXISTS trials (
    dataset TEXT, method TEXT, trial INTEGER, status TEXT, message TEXT, version TEXT,
    checksum TEXT,
    PRIMARY KEY (dataset, method, trial));
CREATE TABLE IF NOT EXISTS scores (
    dataset TEXT, method TEXT, trial INTEGER, n_labeled INTEGER,
    {", ".join(f"{name} REAL" for name in SCORES)},
    PRIMARY KEY (dataset, method, trial, n_labeled));
"""

Key = tuple[str, str, int]


@dataclass(frozen=True)
class TrialResult:
    """What a trial gave: a row of scores for each number of labels, or a message."""

    dataset: str
    method: str
    trial: int
    status: str = OK
    message: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def key(self) -> Key:
        """What tells it from other trials."""
        return self.dataset, self.method, self.trial


class Store:
    """Results of a comparison in a SQLite file, or in memory if there is no path.

    Each trial is one transaction, so that a run which is killed leaves whole trials only, and
    has a checksum, so that a damaged file is no result. The write-ahead log of SQLite needs a
    local disk. A file that is no store is not touched.

    Parameters
    ----------
    path : path or None
    read_only : bool, default=False
        Nothing is written, not even to a file that could be a store.
    """

    def __init__(self, path: str | os.PathLike[str] | None, *, read_only: bool = False) -> None:
        self.path = None if path is None else Path(path)
        if self.path is None:
            self._connection = sqlite3.connect(":memory:")
            self._connection.executescript(_TABLES)
            return
        if read_only and not self.path.is_file():
            raise FileNotFoundError(f"There is no store at {self.path}.")
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"store={str(path)!r}: there is no directory {self.path.parent}. Make it first."
            )
        is_new = self._is_new(read_only)
        self._connection = self._connect("ro" if read_only else "rwc")
        try:
            if not is_new:
                self._check()
            if not read_only:
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=NORMAL")
                self._connection.execute(f"PRAGMA application_id={_APPLICATION}")
                self._connection.executescript(_TABLES)
        except sqlite3.DatabaseError as error:
            self.close()
            raise _readable(error, self.path) from error
        except ValueError:
            self.close()
            raise

    def _is_new(self, read_only: bool) -> bool:
        """Whether there is nothing in the file, which only a new run may find."""
        assert self.path is not None
        if not self.path.exists():
            return True
        if self.path.stat().st_size:
            return False
        if read_only:
            raise ValueError(
                f"{self.path} is an empty file and not a store of leaven: no trial was ever "
                "written to it, or it lost its content."
            )
        # A run that was killed at once leaves one, so that it cannot be an error.
        warnings.warn(
            f"{self.path} is an empty file: if it held results, they are lost. The run starts "
            "from the first trial.",
            LeavenWarning,
            stacklevel=4,
        )
        return True

    def _connect(self, mode: str) -> sqlite3.Connection:
        assert self.path is not None
        address = f"file:{quote(str(self.path.absolute()))}?mode={mode}"
        connection = sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS)
        if mode == "ro" and not self._log().exists():
            try:
                connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            except sqlite3.OperationalError:
                # In a folder that cannot be written to the log of SQLite has no place; without
                # an open log the file can be read as it is.
                connection.close()
                connection = sqlite3.connect(f"{address}&immutable=1", uri=True)
            except sqlite3.DatabaseError as error:
                connection.close()
                raise _readable(error, self.path) from error
        return connection

    def _log(self) -> Path:
        assert self.path is not None
        return self.path.with_name(self.path.name + "-wal")

    def _check(self) -> None:
        """Refuse a file that is not ours, or that is damaged."""
        ask = self._connection.execute
        tables = {name for (name,) in ask("SELECT name FROM sqlite_master WHERE type = 'table'")}
        ours = ask("PRAGMA application_id").fetchone()[0] == _APPLICATION
        if not ours and not {"settings", "trials", "scores"} <= tables:
            raise ValueError(
                f"{self.path} is a SQLite file, but not a store of leaven: its tables are "
                f"{sorted(tables)}. Use another file."
            )
        if not ours:
            raise ValueError(
                f"{self.path} was written in an older format, but this version of leaven reads "
                f"format {FORMAT}. Use another file."
            )
        problem = ask("PRAGMA integrity_check(1)").fetchone()[0]
        if problem != "ok":
            reason = " ".join(str(problem).split())  # SQLite tells it in several lines
            raise ValueError(f"{self.path} is damaged: {reason}. {_RESTORE}")

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def settle(self, settings: dict[str, dict[str, dict[str, str]]]) -> None:
        """Compare settings with those of earlier runs, and add those that are new.

        ``settings`` maps a kind ("protocol", "method", "data set") to names, each with its
        settings. A name that the store has with other settings is refused.
        """
        with _reading(self.path):
            known = {
                (kind, name): json.loads(value)
                for kind, name, value in self._connection.execute("SELECT * FROM settings")
            }
        if known.get(("store", "format"), FORMAT) != FORMAT:
            raise ValueError(
                f"{self.path} was written in format {known[('store', 'format')]}, but this "
                f"version of leaven reads format {FORMAT}. Use another file."
            )
        found = [
            difference
            for kind, names in settings.items()
            for name, now in names.items()
            for difference in differences(kind, name, known.get((kind, name), now), now)
        ]
        if found:
            raise ValueError(
                f"{self.path} holds results of other settings: {'; '.join(found)}. Use another "
                "file, another name, or the settings of that run."
            )
        rows = [("store", "format", json.dumps(FORMAT))]
        for kind, names in settings.items():
            rows += [(kind, name, json.dumps(now)) for name, now in names.items()]
        with self._writing():
            self._connection.executemany("INSERT OR IGNORE INTO settings VALUES (?, ?, ?)", rows)

    def done(self, *, failed_too: bool = True) -> set[Key]:
        """Trials that need not be run again; failed ones among them if ``failed_too``."""
        wanted = (OK, FAILED) if failed_too else (OK, OK)
        with _reading(self.path):
            return {
                (dataset, method, trial)
                for dataset, method, trial in self._connection.execute(
                    "SELECT dataset, method, trial FROM trials WHERE status IN (?, ?)", wanted
                )
            }

    def add(self, result: TrialResult, *, version: str) -> None:
        """Write one trial, in place of an earlier one of the same key."""
        rows = [
            (*result.key, row["n_labeled"], *(row[name] for name in SCORES)) for row in result.rows
        ]
        where = "WHERE dataset = ? AND method = ? AND trial = ?"
        marks = ", ".join("?" * (4 + len(SCORES)))
        with self._writing():
            self._connection.execute(f"DELETE FROM scores {where}", result.key)
            self._connection.execute(
                "INSERT OR REPLACE INTO trials VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*result.key, result.status, result.message, version, _checksum(result, version)),
            )
            self._connection.executemany(f"INSERT INTO scores VALUES ({marks})", rows)

    def frame(self, keys: Iterable[Key] | None = None) -> pd.DataFrame:
        """All results, or those of some trials in their order, as one tidy table.

        Of a store with other methods, only those that are asked for are read and checked.
        """
        place = None if keys is None else {key: i for i, key in enumerate(keys)}
        of_methods, methods = self._where_method(place)
        # With "AS": SQLite finds columns in any case of letters, and gives the names of the file.
        select = ", ".join(
            f"{'trials.' * (name in {'dataset', 'method', 'trial'})}{name} AS {name}"
            for name in COLUMNS
        )
        with _reading(self.path):
            self._compare_checksums(of_methods, methods)
            frame = pd.read_sql_query(
                f"SELECT {select} FROM trials LEFT JOIN scores USING (dataset, method, trial) "
                f"{of_methods} ORDER BY trials.dataset, trials.method, trials.trial, n_labeled",
                self._connection,
                params=methods,
            )
        kinds = {"trial": "int64", "n_labeled": "Int64", **dict.fromkeys(SCORES, "float64")}
        frame = frame.astype(kinds)
        if place is None:
            return frame
        rows = zip(frame["dataset"], frame["method"], frame["trial"], strict=True)
        places = pd.Series([place.get(key, -1) for key in rows], index=frame.index, dtype="int64")
        kept = places[places >= 0].sort_values(kind="stable").index
        return frame.loc[kept].reset_index(drop=True)

    @staticmethod
    def _where_method(keys: Iterable[Key] | None) -> tuple[str, tuple[str, ...]]:
        """A condition that a trial is of the methods of some keys, and its parameters."""
        methods = tuple({} if keys is None else dict.fromkeys(method for _, method, _ in keys))
        if not methods or len(methods) > MOST_PARAMETERS:
            return "", ()
        return f"WHERE method IN ({', '.join('?' * len(methods))})", methods

    def _compare_checksums(self, of_methods: str, methods: tuple[str, ...]) -> None:
        """Refuse a file in which a trial is not what was written."""
        scores: dict[Key, list[dict[str, Any]]] = {}
        columns = ("n_labeled", *SCORES)
        ask = f"SELECT dataset, method, trial, {', '.join(columns)} FROM scores {of_methods} "
        for dataset, method, trial, *row in self._connection.execute(
            f"{ask} ORDER BY n_labeled", methods
        ):
            entry = dict(zip(columns, row, strict=True))
            scores.setdefault((dataset, method, trial), []).append(entry)
        ask = "SELECT dataset, method, trial, status, message, version, checksum FROM trials "
        for dataset, method, trial, status, message, version, written in self._connection.execute(
            ask + of_methods, methods
        ):
            rows = scores.pop((dataset, method, trial), [])
            found = TrialResult(dataset, method, trial, status, message, rows)
            if _checksum(found, version) != written:
                raise ValueError(
                    f"{self.path} is damaged: trial {trial} of {method!r} on {dataset!r} is not "
                    f"what was written. {_RESTORE}"
                )
        if scores:
            raise ValueError(f"{self.path} is damaged: there are scores of no trial. {_RESTORE}")

    def _writing(self) -> _Transaction:
        return _Transaction(self)


MOST_PARAMETERS = 900  # SQLite takes 999 in builds of before 2020

_RESTORE = "Restore the file, or remove it and run again."


def _checksum(result: TrialResult, version: str) -> str:
    """Digest of all that is stored of a trial."""
    rows = sorted(
        (int(row["n_labeled"]), *(_exact(row[name]) for name in SCORES)) for row in result.rows
    )
    record = [*result.key, result.status, result.message, version, rows]
    return hashlib.sha256(json.dumps(record).encode()).hexdigest()


def _exact(score: float | None) -> str:
    """A float as text without rounding; SQLite keeps NaN as NULL."""
    return "nan" if score is None else float(score).hex()


@contextlib.contextmanager
def _reading(path: Path | None) -> Iterator[None]:
    """Turn errors of SQLite, and of what it gives from a damaged file, into one line."""
    try:
        yield
    except sqlite3.Error as error:
        raise _readable(error, path) from error
    except (pd.errors.DatabaseError, json.JSONDecodeError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path} is damaged: {reason}. {_RESTORE}") from error


class _Transaction:
    """A transaction whose errors say what is kept; a full disk is an ``OSError``."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def __enter__(self) -> None:
        self.store._connection.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.store._connection.__exit__(kind, error, trace)
        except sqlite3.Error as failure:
            error = failure
        if isinstance(error, sqlite3.Error):
            raise _readable(error, self.store.path) from error


def _readable(error: sqlite3.Error, path: Path | None) -> Exception:
    text = " ".join(str(error).split())  # a damaged schema is told in several lines
    if "full" in text or "disk I/O" in text:
        return OSError(
            errno.ENOSPC if "full" in text else errno.EIO,
            f"The store could not be written ({text}), and the run has stopped. Every trial "
            "written before is kept: make room and run again with the same store to go on",
            str(path),
        )
    if "not a database" in text:
        return ValueError(f"{path} is not a store of leaven: {text}. Use another file.")
    # A bit in a name of a column or in a text shows as the last two.
    if any(word in text for word in ("malformed", "corrupt", "no such column", "decode to UTF-8")):
        return ValueError(f"{path} is damaged: {text}. {_RESTORE}")
    return OSError(errno.EIO, f"The store could not be read or written ({text})", str(path))


def differences(kind: str, name: str, before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Say in words how the settings of a name differ."""
    found = []
    for key in sorted({*before, *now}):
        old, new = before.get(key), now.get(key)
        if old != new:
            what = f"{kind} {name!r}" if name else kind
            found.append(f"{key} of {what} was {_short(old)} and is {_short(new)}")
    return found


def _short(value: Any) -> str:
    text = "not set" if value is None else str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def read_store(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read all results in a store of :func:`compare`.

    Parameters
    ----------
    path : path
        The SQLite file. A run may be writing to it at the same time. It is only read: a file
        that is no store, or is damaged, is an error and stays as it is.

    Returns
    -------
    results : DataFrame
        As :func:`compare` gives them, in the order of names, trials and numbers of labels.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leaven.evaluation import compare, read_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "results.sqlite"
    ...     results = compare(
    ...         {"NB": GaussianNB()},
    ...         {"iris": load_iris(return_X_y=True)},
    ...         protocol="5-per-class",
    ...         store=path,
    ...     )
    ...     read_store(path).equals(results)
    True
    """
    with Store(path, read_only=True) as store:
        return store.frame()
