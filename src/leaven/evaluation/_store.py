"""Results in a SQLite file, one transaction a trial."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import pandas as pd

FORMAT = "1"
SCORES = ("error", "accuracy", "f1", "precision", "recall", "seconds")
COLUMNS = ("dataset", "method", "trial", "n_labeled", *SCORES, "status", "message")
OK, FAILED = "ok", "failed"

_TABLES = f"""
CREATE TABLE IF NOT EXISTS settings (kind TEXT, name TEXT, value TEXT, PRIMARY KEY (kind, name));
CREATE TABLE IF NOT EXISTS trials (
    dataset TEXT, method TEXT, trial INTEGER, status TEXT, message TEXT, version TEXT,
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

    Each trial is one transaction, so that a run which is killed leaves whole trials only. The
    write-ahead log of SQLite needs a local disk.
    """

    def __init__(self, path: str | os.PathLike[str] | None, *, must_exist: bool = False) -> None:
        self.path = None if path is None else Path(path)
        if self.path is not None and must_exist and not self.path.is_file():
            raise FileNotFoundError(f"There is no store at {self.path}.")
        if self.path is not None and not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"store={str(path)!r}: there is no directory {self.path.parent}. Make it first."
            )
        self._connection = sqlite3.connect(
            ":memory:" if self.path is None else self.path, timeout=60.0
        )
        try:
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.executescript(_TABLES)
        except sqlite3.DatabaseError as error:
            self.close()
            raise _readable(error, self.path) from error

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
                "INSERT OR REPLACE INTO trials VALUES (?, ?, ?, ?, ?, ?)",
                (*result.key, result.status, result.message, version),
            )
            self._connection.executemany(f"INSERT INTO scores VALUES ({marks})", rows)

    def frame(self, keys: Iterable[Key] | None = None) -> pd.DataFrame:
        """All results, or those of some trials in their order, as one tidy table."""
        select = ", ".join(
            f"trials.{name}" if name in {"dataset", "method", "trial"} else name for name in COLUMNS
        )
        frame = pd.read_sql_query(
            f"SELECT {select} FROM trials LEFT JOIN scores USING (dataset, method, trial) "
            "ORDER BY trials.dataset, trials.method, trials.trial, n_labeled",
            self._connection,
        )
        kinds = {"trial": "int64", "n_labeled": "Int64", **dict.fromkeys(SCORES, "float64")}
        frame = frame.astype(kinds)
        if keys is None:
            return frame
        place = {key: i for i, key in enumerate(keys)}
        rows = zip(frame["dataset"], frame["method"], frame["trial"], strict=True)
        places = pd.Series([place.get(key, -1) for key in rows], index=frame.index, dtype="int64")
        kept = places[places >= 0].sort_values(kind="stable").index
        return frame.loc[kept].reset_index(drop=True)

    def _writing(self) -> _Transaction:
        return _Transaction(self)


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
    text = str(error)
    if "full" in text or "disk I/O" in text:
        return OSError(
            errno.ENOSPC if "full" in text else errno.EIO,
            f"The store could not be written ({text}), and the run has stopped. Every trial "
            "written before is kept: make room and run again with the same store to go on",
            str(path),
        )
    if "not a database" in text:
        return ValueError(f"{path} is not a store of leaven: {text}. Use another file.")
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
        The SQLite file. A run may be writing to it at the same time.

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
    with Store(path, must_exist=True) as store:
        return store.frame()
