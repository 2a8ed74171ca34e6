from __future__ import annotations

import errno
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from leaven.evaluation import read_store
from leaven.evaluation._fingerprint import describe, describe_estimator, digest_of
from leaven.evaluation._store import COLUMNS, FAILED, SCORES, Store, TrialResult
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
