from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from leaven.active import SmallestMargin
from leaven.evaluation import (
    Active,
    CurveProtocol,
    DrawProtocol,
    FoldProtocol,
    Tuned,
    compare,
    learning_curve,
    read_store,
)
from leaven.exceptions import FailedTrialsWarning
from leaven.graph import KNNGraph
from leaven.graph_based import HarmonicClassifier

IRIS = load_iris(return_X_y=True)
SMALL = CurveProtocol("small", n_trials=3, sizes=(6, 20, 60))


def iris() -> Any:
    return load_iris(return_X_y=True)


class Fails(ClassifierMixin, BaseEstimator):
    """Fails where the file that it is told of does not exist."""

    def __init__(self, path: str = "") -> None:
        self.path = path

    def fit(self, X: Any, y: Any) -> Fails:
        if not os.path.exists(self.path):
            raise RuntimeError("the moon is full")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.repeat(self.classes_[:1], len(X))


def timeless(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns="seconds")


def test_one_row_for_each_size_in_a_fixed_order() -> None:
    frame = compare(
        {"tree": DecisionTreeClassifier(), "NB": GaussianNB()},
        {"wine": load_wine(return_X_y=True), "iris": iris, "again": "iris"},
        protocol=SMALL,
    )
    keys = [
        (dataset, method, trial, size)
        for dataset in ("wine", "iris", "again")
        for method in ("tree", "NB")
        for trial in range(3)
        for size in (6, 20, 60)
    ]
    columns = ["dataset", "method", "trial", "n_labeled"]
    assert list(frame[columns].itertuples(index=False, name=None)) == keys
    assert (frame["status"] == "ok").all()
    assert_allclose(frame["error"], 1 - frame["accuracy"])
    assert frame[["f1", "precision", "recall"]].map(lambda x: 0 <= x <= 1).all(axis=None)
    assert (frame["seconds"] > 0).all()


def test_the_errors_are_those_of_learning_curve() -> None:
    models = {"tree": DecisionTreeClassifier(), "NB": GaussianNB(), "graph": HarmonicClassifier()}
    frame = compare(models, {"iris": IRIS}, protocol=SMALL, random_state=7)
    for name, model in models.items():
        curve = learning_curve(model, *IRIS, sizes=[6, 20, 60], n_trials=3, random_state=7)
        assert_allclose(frame.loc[frame["method"] == name, "error"], curve["error"])


def test_active_methods_start_where_the_others_do() -> None:
    models = {"NB": GaussianNB(), "ALNB": Active(GaussianNB(), SmallestMargin())}
    frame = compare(models, {"iris": IRIS}, protocol=SMALL, random_state=1)
    curve = learning_curve(
        GaussianNB(),
        *IRIS,
        strategy=SmallestMargin(),
        sizes=[6, 20, 60],
        n_trials=3,
        random_state=1,
    )
    wide = frame.pivot_table(index=["trial", "n_labeled"], columns="method", values="error")
    assert_allclose(wide["ALNB"], curve["error"])
    start = wide.xs(6, level="n_labeled")
    assert_allclose(start["ALNB"], start["NB"])
    with pytest.warns(FailedTrialsWarning, match="1 of 2 trials failed"):
        failed = compare(models, {"iris": IRIS}, protocol="1-per-class", n_trials=1)
    assert failed["message"][1].startswith("ValueError: Active asks for labels between")


def test_transductive_protocols_test_the_unlabeled_rows() -> None:
    X, y = IRIS
    model = HarmonicClassifier(KNNGraph(n_neighbors=7))
    for protocol in (
        DrawProtocol("x", per_class=3, n_trials=2),
        FoldProtocol("x", unlabeled=0.9, train_size=1.0, n_outer=2, n_inner=1),
    ):
        frame = compare({"graph": model}, {"iris": IRIS}, protocol=protocol)
        for trial in range(2):
            split = protocol.split(y, trial)
            given = np.full(150, -1)
            given[: split.sizes[0]] = y[split.order[: split.sizes[0]]]
            model.fit(X[split.order], given)
            wrong = model.transduction_ != y[split.order]
            row = frame[frame["trial"] == trial].iloc[0]
            assert row["n_labeled"] == split.sizes[0]
            assert row["error"] == pytest.approx(wrong.sum() / (150 - split.sizes[0]))


def test_parameters_are_chosen_on_the_validation_rows() -> None:
    X, y = IRIS
    protocol = CurveProtocol("x", test_size=0.2, validation_size=0.2, sizes=(30,), n_trials=4)
    grid: dict[str, list[Any]] = {"n_neighbors": [29, 1, 5]}
    frame = compare({"kNN": Tuned(KNeighborsClassifier(), grid)}, {"iris": IRIS}, protocol=protocol)
    for trial, error in enumerate(frame["error"]):
        split = protocol.split(y, trial)
        rows = split.order[:30]
        models = [KNeighborsClassifier(k).fit(X[rows], y[rows]) for k in (29, 1, 5)]
        best = max(models, key=lambda m: m.score(X[split.validation], y[split.validation]))
        assert error == pytest.approx(1 - best.score(X[split.test], y[split.test]))
    with pytest.warns(FailedTrialsWarning, match="3 of 3 trials failed"):
        failed = compare({"kNN": Tuned(KNeighborsClassifier(), grid)}, {"i": IRIS}, protocol=SMALL)
    assert failed["message"].str.contains("but the protocol has none").all()


@pytest.mark.filterwarnings("ignore::leaven.exceptions.FailedTrialsWarning")
def test_the_same_with_one_and_two_jobs_and_on_another_backend(tmp_path: Path) -> None:
    frame = pd.DataFrame(IRIS[0], columns=list("abcd")).round(0).astype(int).astype(str)
    tree = DecisionTreeClassifier(max_features=1)
    models = {"NB": GaussianNB(), "tree": tree, "no": Fails()}
    datasets = {"iris": IRIS, "loader": iris, "name": "iris", "frame": (frame, IRIS[1])}
    one = compare(models, datasets, protocol=SMALL, n_jobs=1)
    assert (one["status"] == "ok").groupby(one["method"]).all().to_dict() == {
        "NB": True,
        "no": False,
        "tree": True,
    }
    two = compare(models, datasets, protocol=SMALL, n_jobs=2, store=tmp_path / "two.sqlite")
    assert timeless(one).equals(timeless(two))
    with parallel_config("threading", n_jobs=2):
        assert timeless(one).equals(timeless(compare(models, datasets, protocol=SMALL)))
    with parallel_config("multiprocessing", n_jobs=2):  # gives no results one by one
        small = compare({"NB": GaussianNB()}, {"iris": IRIS}, protocol=SMALL)
    wanted = (one["dataset"] == "iris") & (one["method"] == "NB")
    assert timeless(small).equals(timeless(one[wanted].reset_index(drop=True)))


def test_a_failure_is_recorded_and_tried_again_when_told(tmp_path: Path) -> None:
    path, cure = tmp_path / "s.sqlite", tmp_path / "cure"
    models = {"bad": Fails(str(cure)), "NB": GaussianNB()}
    run: Any = lambda **options: compare(  # noqa: E731
        models, {"iris": IRIS}, protocol=SMALL, store=path, **options
    )
    told = r"3 of 6 trials failed \(3 of 'bad'\) .*'bad' on 'iris': RuntimeError: the moon is full"
    with pytest.warns(FailedTrialsWarning, match=told):
        first = run()
    bad = first[first["method"] == "bad"]
    assert bad["status"].tolist() == ["failed"] * 3
    assert bad["n_labeled"].isna().all()
    assert bad["error"].isna().all()
    message = bad["message"].iloc[0]
    assert message.startswith("RuntimeError: the moon is full\n")
    assert "test_study.py:" in message
    assert "in fit" in message
    assert (first[first["method"] == "NB"]["status"] == "ok").all()
    cure.touch()
    with pytest.warns(FailedTrialsWarning, match="3 of 6 trials failed"):
        assert run().equals(first)
    healed = run(retry_failed=True)
    assert (healed["status"] == "ok").all()
    assert len(healed) == 18
    assert read_store(path).groupby(["method", "trial"]).size().eq(3).all()


def test_a_store_grows_and_refuses_other_settings(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    models: dict[str, Any] = {"kNN": KNeighborsClassifier(3)}
    base: dict[str, Any] = {"protocol": SMALL, "store": path}
    first = compare(models, {"iris": IRIS}, n_trials=2, **base)
    more = compare({**models, "NB": GaussianNB()}, {"iris": IRIS, "too": iris}, **base)
    assert len(more) == 2 * 2 * 3 * 3
    kept = more[(more["method"] == "kNN") & (more["dataset"] == "iris") & (more["trial"] < 2)]
    assert kept.reset_index(drop=True).equals(first)  # the very rows, with their seconds
    with pytest.raises(ValueError, match="n_neighbors of method 'kNN' was 3 and is 4"):
        compare({"kNN": KNeighborsClassifier(4)}, {"iris": IRIS}, **base)
    with pytest.raises(ValueError, match="seed of protocol was 0 and is 5"):
        compare(models, {"iris": IRIS}, random_state=5, **base)
    with pytest.raises(ValueError, match=r"X of data set 'iris' was [0-9a-f]+ and is [0-9a-f]+"):
        compare(models, {"iris": (IRIS[0] + 1, IRIS[1])}, **base)
    with pytest.raises(ValueError, match="sizes of protocol was"):
        compare(models, {"iris": IRIS}, protocol=CurveProtocol("small", sizes=(6,)), store=path)
    with pytest.raises(ValueError, match="semi_supervised of method 'kNN' was None and is True"):
        compare(models, {"iris": IRIS}, semi_supervised={"kNN": True}, **base)
    assert len(read_store(path)) == len(more)


def test_a_full_disk_stops_the_run_and_keeps_what_is_done(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "s.sqlite"
    protocol = CurveProtocol("x", n_trials=30)
    full: Any = sqlite3.OperationalError("database or disk is full")

    class Small(sqlite3.Connection):
        left = 4

        def executemany(self, sql: str, *args: Any) -> Any:
            if sql.startswith("INSERT INTO scores"):
                self.left -= 1
                if self.left < 0:
                    raise full
            return super().executemany(sql, *args)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, factory=Small, **k))
    with pytest.raises(OSError, match="make room and run again with the same store"):
        compare({"NB": GaussianNB()}, {"iris": IRIS}, protocol=protocol, store=path)
    monkeypatch.undo()
    kept = read_store(path)
    assert kept["trial"].nunique() == 4
    frame = compare({"NB": GaussianNB()}, {"iris": IRIS}, protocol=protocol, store=path)
    whole = compare({"NB": GaussianNB()}, {"iris": IRIS}, protocol=protocol)
    assert timeless(frame).equals(timeless(whole))
    assert frame[frame["trial"] < 4].equals(kept)


SCRIPT = """
import sys
import time
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier
from leaven.evaluation import CurveProtocol, compare


class Slow(KNeighborsClassifier):
    def fit(self, X, y):
        time.sleep(0.02)
        return super().fit(X, y)


protocol = CurveProtocol("x", n_trials=40, sizes=(10, 30))
frame = compare(
    {"slow": Slow(5)}, {"iris": load_iris(return_X_y=True)}, protocol=protocol, store=sys.argv[1]
)
print(len(frame))
"""


def stored(path: Path) -> int:
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path)) as connection:
        try:
            return int(connection.execute("SELECT COUNT(*) FROM trials").fetchone()[0])
        except sqlite3.OperationalError:
            return 0  # the tables are not there yet


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path, script = tmp_path / "s.sqlite", tmp_path / "run.py"
    script.write_text(SCRIPT)
    run = subprocess.Popen([sys.executable, str(script), str(path)])
    try:
        patience = time.monotonic() + 120
        while stored(path) < 8 and run.poll() is None and time.monotonic() < patience:
            time.sleep(0.02)
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    assert run.returncode == -signal.SIGKILL
    before = read_store(path)
    n_before = before["trial"].nunique()
    assert 8 <= n_before < 40
    assert before.groupby("trial").size().eq(2).all()  # whole trials only
    # One worker: the trials that were done are the first ones, and one was under way.
    assert before["trial"].max() == n_before - 1

    again = subprocess.run(
        [sys.executable, str(script), str(path)], capture_output=True, text=True, check=True
    )
    assert again.stdout.strip() == "80"
    after = read_store(path)
    assert not after.duplicated(["dataset", "method", "trial", "n_labeled"]).any()
    assert after["trial"].nunique() == 40
    assert after[after["trial"] < n_before].equals(before)  # not run again
    fresh = compare(
        {"slow": KNeighborsClassifier(5)},
        {"iris": IRIS},
        protocol=CurveProtocol("x", n_trials=40, sizes=(10, 30)),
    )
    assert timeless(after).equals(timeless(fresh))


def test_progress_and_silence(capsys: pytest.CaptureFixture[str]) -> None:
    compare({"NB": GaussianNB()}, {"iris": IRIS}, protocol=SMALL)
    assert capsys.readouterr() == ("", "")
    compare({"NB": GaussianNB()}, {"iris": IRIS}, protocol=SMALL, progress=True)
    out, err = capsys.readouterr()
    assert not out
    assert "compare" in err
    assert "3/3" in err


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"estimators": {}}, TypeError, "estimators must be a dict from names to classifiers"),
        ({"estimators": [GaussianNB()]}, TypeError, "estimators must be a dict"),
        ({"datasets": {}}, TypeError, "datasets must be a dict from names to data"),
        ({"datasets": {"i": IRIS[0]}}, TypeError, "The data set 'i' must be a pair"),
        ({"datasets": ["no-such-set"]}, ValueError, "no-such-set"),
        ({"datasets": {"i": ([[0.0]] * 3, [0, 1, -1])}}, ValueError, "Data set 'i': y has 1 unl"),
        ({"protocol": "weekly"}, ValueError, "protocol='weekly' is not known"),
        ({"protocol": 3}, TypeError, "protocol must be a name or a protocol, got 3"),
        ({"n_trials": 0}, ValueError, "n_trials must be an integer of at least 1, got 0"),
        ({"semi_supervised": {"x": True}}, ValueError, r"semi_supervised names \['x'\]"),
    ],
)
def test_bad_arguments(change: dict[str, Any], kind: type[Exception], message: str) -> None:
    arguments: dict[str, Any] = {
        "estimators": {"LR": LogisticRegression()},
        "datasets": {"iris": IRIS},
        **change,
    }
    with pytest.raises(kind, match=message):
        compare(**arguments)


class Quiet(ClassifierMixin, BaseEstimator):
    """Semi-supervised, declares nothing, and notes how many rows each fit had."""

    seen: ClassVar[list[int]] = []

    def fit(self, X: Any, y: Any) -> Quiet:
        labels = np.asarray(y)
        known = labels != -1
        self.seen.append(len(labels))
        self.classes_ = np.unique(labels[known])
        self.transduction_ = labels
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])


def test_own_semi_supervised_estimators_see_all_rows() -> None:
    # They saw the labeled rows only, unless named in semi_supervised.
    Quiet.seen.clear()
    compare({"quiet": Quiet()}, {"iris": IRIS}, protocol=SMALL, n_trials=1)
    n_train = max(Quiet.seen)
    assert Quiet.seen.count(n_train) == 3, "one fit with all rows at each size"
    assert len(Quiet.seen) == 4, "and the one that told"
    Quiet.seen.clear()
    options = {"protocol": SMALL, "n_trials": 1, "semi_supervised": {"quiet": False}}
    compare({"quiet": Quiet()}, {"iris": IRIS}, **options)
    assert max(Quiet.seen) < n_train
