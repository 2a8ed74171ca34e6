from __future__ import annotations

import collections
import contextlib
import copy
import datetime as dt
import decimal
import errno
import functools
import os
import re
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from leaven.evaluation import compare, read_store
from leaven.evaluation._fingerprint import describe, describe_estimator, digest_of
from leaven.evaluation._store import COLUMNS, FAILED, SCORES, Store, TrialResult
from leaven.exceptions import LeavenWarning
from leaven.graph import KNNGraph
from leaven.graph_based import HarmonicClassifier


def result(trial: int, method: str = "m", error: float = 0.25, sizes: Any = (2, 9)) -> TrialResult:
    rows = [{"n_labeled": n, **dict.fromkeys(SCORES, error)} for n in sizes]
    return TrialResult("d", method, trial, rows=rows)


def settings_of(**method: str) -> dict[str, Any]:
    return {"protocol": {"": {"seed": "0"}}, "method": {"m": method}, "data set": {"d": {"X": "1"}}}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add(result(1), version="1")
        store.add(TrialResult("d", "m", 0, FAILED, "ValueError: no"), version="1")
    frame = read_store(path)
    assert list(frame.columns) == list(COLUMNS)
    assert frame["trial"].tolist() == [0, 1, 1]
    assert frame["n_labeled"].isna().tolist() == [True, False, False]
    assert frame["n_labeled"][1:].tolist() == [2, 9]
    assert frame["status"].tolist() == ["failed", "ok", "ok"]
    assert frame["message"].tolist() == ["ValueError: no", "", ""]
    assert frame["error"][1:].tolist() == [0.25, 0.25]


def test_a_trial_replaces_an_earlier_one_of_its_key() -> None:
    with Store(None) as store:
        store.add(TrialResult("d", "m", 0, FAILED, "x"), version="1")
        assert store.done() == {("d", "m", 0)}
        assert store.done(failed_too=False) == set()
        store.add(result(0, sizes=(2, 9, 30)), version="1")
        store.add(result(0, error=0.5), version="1")
        assert store.done(failed_too=False) == {("d", "m", 0)}
        frame = store.frame()
    assert frame["n_labeled"].tolist() == [2, 9]
    assert frame["error"].tolist() == [0.5, 0.5]


def test_rows_come_in_the_order_of_the_keys() -> None:
    with Store(None) as store:
        for method in "abc":
            for trial in (1, 0):
                store.add(result(trial, method), version="1")
        keys = [("d", method, trial) for method in "ca" for trial in (0, 1)]
        frame = store.frame(keys)
    assert frame["method"].tolist() == ["c"] * 4 + ["a"] * 4
    assert frame["trial"].tolist() == [0, 0, 1, 1] * 2


@pytest.mark.parametrize("most", [900, 1])
def test_only_the_methods_that_are_asked_for_are_read(
    tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leaven.evaluation._store.MOST_PARAMETERS", most)
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        for method in "abc":
            store.add(result(0, method), version="1")
        whole = store.frame()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE scores SET error = 0.5 WHERE method = 'b' AND n_labeled = 9")
    with Store(path) as store:
        for method in "ac" if most > 1 else "":
            expected = whole[whole["method"] == method].reset_index(drop=True)
            pd.testing.assert_frame_equal(store.frame([("d", method, 0)]), expected)
        for methods in ("b", "ab", "ac" if most == 1 else "cb"):
            with pytest.raises(ValueError, match="trial 0 of 'b' on 'd' is not what was written"):
                store.frame([("d", method, 0) for method in methods])


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.settle(settings_of(alpha="1.0", kind="'nb'"))
        store.settle(settings_of(alpha="1.0", kind="'nb'"))
        more = settings_of(alpha="1.0", kind="'nb'")
        more["method"]["other"] = {"alpha": "7.0"}
        store.settle(more)
        with pytest.raises(ValueError) as caught:
            store.settle(settings_of(alpha="2.0", kind="'nb'"))
        assert "alpha of method 'm' was 1.0 and is 2.0" in str(caught.value)
        assert "kind" not in str(caught.value)
        assert "'other'" not in str(caught.value)
        changed = settings_of(alpha="1.0", kind="'nb'")
        changed["protocol"][""]["seed"] = "3"
        changed["data set"]["d"]["X"] = "2"
        with pytest.raises(ValueError, match="seed of protocol was 0 and is 3; X of data set 'd'"):
            store.settle(changed)
        # A parameter that an estimator has gained since.
        with pytest.raises(ValueError, match="beta of method 'm' was not set and is 0"):
            store.settle(settings_of(alpha="1.0", kind="'nb'", beta="0"))


def test_a_full_disk_keeps_what_is_written(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "s.sqlite"
    connect = sqlite3.connect

    def small(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection = connect(*args, **kwargs)
        connection.execute("PRAGMA max_page_count = 16")  # SQLite's own "disk is full"
        return connection

    monkeypatch.setattr(sqlite3, "connect", small)
    with Store(path) as store:
        written = 0
        with pytest.raises(OSError, match="Every trial written before is kept") as caught:  # noqa: PT012
            for trial in range(1000):
                store.add(result(trial, sizes=range(1, 40)), version="1")
                written += 1
    assert caught.value.errno == errno.ENOSPC
    assert 0 < written < 1000
    monkeypatch.undo()
    frame = read_store(path)
    assert frame.groupby("trial").size().tolist() == [39] * written
    with Store(path) as store:  # there is room again
        store.add(result(written), version="1")
        assert len(store.done()) == written + 1


def test_files_that_are_no_store(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database at all, " * 100)
    with pytest.raises(ValueError, match=r"notes\.txt is not a store of leaven"):
        Store(text)
    with pytest.raises(FileNotFoundError, match="There is no store at"):
        read_store(tmp_path / "absent.sqlite")
    assert not (tmp_path / "absent.sqlite").exists()
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        Store(tmp_path / "absent" / "s.sqlite")


def square(X: Any) -> Any:
    return X**2


def test_descriptions_tell_estimators_apart() -> None:
    first = HarmonicClassifier(KNNGraph(n_neighbors=5))
    assert describe(first) == describe(HarmonicClassifier(KNNGraph(n_neighbors=5)))
    assert describe(first) != describe(HarmonicClassifier(KNNGraph(n_neighbors=6)))
    pipe = make_pipeline(FunctionTransformer(square), StandardScaler(), LogisticRegression(C=2))
    other = make_pipeline(FunctionTransformer(np.sqrt), StandardScaler(), LogisticRegression(C=2))
    assert describe(pipe) != describe(other)
    assert "0x" not in describe(pipe)
    assert describe(lambda x: x + 1) != describe(lambda x: x * 2)
    assert describe([1, (2.5, "a")]) == "[1, [2.5, 'a']]"
    assert describe({"b": 1, "a": np.int64(3)}) == "{'a': 3, 'b': 1}"
    told = describe_estimator(LogisticRegression(class_weight={0: 1, 1: 3}))
    assert told["class"].endswith("LogisticRegression")
    assert told["class_weight"] == "{0: 1, 1: 3}"


def test_digests_tell_data_apart() -> None:
    X = np.arange(12.0).reshape(3, 4)
    assert digest_of(X) == digest_of(np.asfortranarray(X))
    assert digest_of(X) != digest_of(X.T.reshape(3, 4))
    assert digest_of(X) != digest_of(X.reshape(4, 3))
    assert digest_of(X) != digest_of(X.astype(np.float32))
    matrix = sparse.csr_array(X)
    assert digest_of(matrix) == digest_of(sparse.csc_array(X))
    assert digest_of(matrix) != digest_of(sparse.csr_array(X + 1))
    frame = pd.DataFrame({"a": ["x", None], "b": [1, 2]})
    assert digest_of(frame) == digest_of(frame.copy())
    assert digest_of(frame) != digest_of(frame.rename(columns={"a": "c"}))
    assert digest_of(frame) != digest_of(frame.fillna("None"))
    assert digest_of(np.array(["a", "b"])) == digest_of(np.array(["a", "b"], dtype=object))


def scaled(factor: float) -> Any:
    return lambda X: X * factor


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a: Any) -> None:
        self.a = a


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (slice(0, 2), slice(0, 3)),
        (range(2), range(3)),
        (lambda X: X * 2, lambda X: X * 3),
        (lambda X, k=2: X * k, lambda X, k=3: X * k),
        (lambda X: X.sum(), lambda X: X.min()),
        (scaled(2.0), scaled(3.0)),
        (functools.partial(np.add, 2), functools.partial(np.add, 3)),
        (functools.partial(round, ndigits=2), functools.partial(round, ndigits=3)),
        (np.random.RandomState(0), np.random.RandomState(1)),
        (np.random.default_rng(0), np.random.default_rng(1)),
        (Path("a/b"), Path("a/c")),
        (re.compile("a+"), re.compile("a*")),
        (re.compile("a"), re.compile("a", re.IGNORECASE)),
        ("abc".startswith, "abd".startswith),
        (Slotted(2), Slotted(3)),
        (collections.deque([2]), collections.deque([3])),
        (collections.OrderedDict(a=2), collections.OrderedDict(a=3)),
        (dt.timedelta(days=2), dt.timedelta(days=3)),
        (decimal.Decimal("0.10"), decimal.Decimal("0.11")),
        (np.sqrt, np.square),
        (np.array([{"a": 2}], dtype=object), np.array([{"a": 3}], dtype=object)),
        (
            FrozenEstimator(LogisticRegression().fit([[0.0], [1.0]], [0, 1])),
            FrozenEstimator(LogisticRegression().fit([[0.0], [2.0]], [0, 1])),
        ),
        ({"a"}, {"b"}),
        (re.IGNORECASE, re.MULTILINE),
        (LogisticRegression, StandardScaler),
    ],
    # By type: the text of a function holds an address, which differs between workers.
    ids=lambda value: type(value).__name__,
)
def test_what_differs_is_told_apart(one: Any, other: Any) -> None:
    # compare(store=) gave back the results of another method where these looked equal.
    assert describe(one) != describe(other)
    assert describe(one) == describe(copy.deepcopy(one))
    assert "0x" not in describe(one)


def test_a_function_of_a_script_is_told_by_the_values_it_uses() -> None:
    def make(factor: int) -> Any:
        space: dict[str, Any] = {"__name__": "__main__", "FACTOR": factor}
        exec("def f(X):\n    return X * FACTOR if X else f(X)", space)
        return space["f"]

    assert describe(make(3)) == describe(make(3))
    assert describe(make(3)) != describe(make(4))


def test_a_class_of_a_script_is_told_by_its_code() -> None:
    def make(body: str) -> Any:
        space: dict[str, Any] = {"__name__": "__main__"}
        exec(f"class Step:\n    def transform(self, X):\n        return {body}", space)
        return space["Step"]

    assert describe(make("X * 2")()) == describe(make("X * 2")())
    assert describe(make("X * 2")()) != describe(make("X * 3")())


def test_the_same_in_another_process(tmp_path: Path) -> None:
    script = tmp_path / "tell.py"
    script.write_text(
        "import functools, re, numpy as np\n"
        "from pathlib import Path\n"
        "from leaven.evaluation._fingerprint import describe\n"
        "chosen = {'a', 'bc', 'def'}\n"
        "def use(X, k=3):\n    return X in {'p', 'q', 'r'} and X in chosen and k\n"
        "print(describe([use, functools.partial(use, k=2), re.compile('x'), {'u', 'v', 'w'},\n"
        "                np.random.RandomState(3), Path('a'), slice(2), lambda x: use(x)]))\n"
    )
    told = [
        subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1]
    assert len(told[0]) > 200


def test_what_cannot_be_looked_into_is_refused_or_named(tmp_path: Path) -> None:
    class Named:
        def __init__(self, name: str) -> None:
            self.lock, self.__fingerprint__ = threading.Lock(), name

    lock = threading.Lock()
    with pytest.raises(ValueError, match=r"_thread\.lock among the parameters cannot be looked"):
        describe([lock])
    models = {"odd": make_pipeline(FunctionTransformer(kw_args={"lock": lock}), GaussianNB())}
    with pytest.raises(ValueError, match=r"The method 'odd': a _thread\.lock"):
        compare(models, {"iris": "iris"}, protocol="5-per-class", store=tmp_path / "s.sqlite")
    assert describe(Named("one")) == describe(Named("one")) != describe(Named("two"))


def test_a_foreign_file_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "theirs.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE TABLE people (name TEXT)")
        theirs.execute("INSERT INTO people VALUES ('Ada')")
        theirs.commit()
    before = path.read_bytes()
    for use in (read_store, Store):
        with pytest.raises(ValueError, match=r"not a store of leaven: its tables are \['people'\]"):
            use(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["theirs.sqlite"]


def test_an_empty_file_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    path.touch()
    with pytest.raises(ValueError, match="is an empty file and not a store"):
        read_store(path)
    assert path.stat().st_size == 0
    with pytest.warns(LeavenWarning, match="is an empty file: if it held results, they are lost"):
        Store(path).close()


def test_an_older_format_is_named(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as old:
        for table in ("settings", "trials", "scores"):
            old.execute(f"CREATE TABLE {table} (x)")
    with pytest.raises(ValueError, match="was written in an older format"):
        read_store(path)


def stored(path: Path) -> pd.DataFrame:
    with Store(path) as store:
        store.settle(settings_of(alpha="1.0"))
        for trial in range(40):
            scores = {name: 0.01 * trial + 0.001 * i for i, name in enumerate(SCORES)}
            rows = [{"n_labeled": n, **scores} for n in (2, 9)]
            store.add(TrialResult("d", "m", trial, rows=rows), version="1")
        store.add(TrialResult("d", "m", 99, FAILED, "ValueError: no"), version="1")
        # Without a log beside it the one file holds everything.
        store._connection.execute("PRAGMA journal_mode=DELETE")
    return read_store(path)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE scores SET error = 0.5 WHERE trial = 3 AND n_labeled = 9",
        "UPDATE scores SET n_labeled = 3 WHERE trial = 3 AND n_labeled = 2",
        "DELETE FROM scores WHERE trial = 3 AND n_labeled = 9",
        "UPDATE trials SET message = 'x' WHERE trial = 99",
        "UPDATE trials SET status = 'ok' WHERE trial = 99",
        "DELETE FROM trials WHERE trial = 3",
    ],
)
def test_a_trial_that_is_not_what_was_written_is_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "s.sqlite"
    stored(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(change)
        connection.commit()
    with pytest.raises(ValueError, match=r"s\.sqlite is damaged: .*Restore the file"):
        read_store(path)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE trials SET checksum = CAST(x'39ff' AS TEXT)",
        "ALTER TABLE trials RENAME COLUMN checksum TO checksun",
    ],
)
def test_a_damaged_text_or_name_is_told_as_damage(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "s.sqlite"
    stored(path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(damage)
    with pytest.raises(ValueError, match="is damaged"):
        read_store(path)


def test_flipped_bits_are_errors_or_make_no_difference(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    expected = stored(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = []
    for _ in range(150):
        spoiled = bytearray(whole)
        for place in rng.integers(len(whole), size=3):
            spoiled[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(spoiled)
        try:
            found = read_store(path)
        except (ValueError, OSError) as error:  # and no error of sqlite3 or pandas
            refused.append(str(error))
        else:
            pd.testing.assert_frame_equal(found, expected)
    assert len(refused) > 30
    assert [message for message in refused if "\n" in message] == []


def test_another_case_of_a_columns_name_makes_no_difference(tmp_path: Path) -> None:
    # One flipped bit in the description of a table.
    path = tmp_path / "s.sqlite"
    expected = stored(path)
    whole = path.read_bytes()
    assert b"seconds" in whole
    path.write_bytes(whole.replace(b"seconds", b"Seconds"))
    pd.testing.assert_frame_equal(read_store(path), expected)


def test_half_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    stored(path)
    whole = path.read_bytes()
    for share in (0.3, 0.6, 0.9):
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(ValueError, match="is damaged"):
            read_store(path)


@pytest.mark.skipif(sys.platform == "win32", reason="modes of folders are POSIX's")
def test_a_store_in_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add(result(1), version="1")
    tmp_path.chmod(0o500)
    try:
        assert len(read_store(path)) == 2
    finally:
        tmp_path.chmod(0o700)
