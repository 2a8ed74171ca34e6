from __future__ import annotations

import io
import json
import os
import pickle
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline

from leaven.active import (
    ActiveLearner,
    HighestEntropy,
    RandomSampling,
    StablePredictions,
)
from leaven.active._saving import compatible, fingerprint
from leaven.active._state import LabelState
from leaven.datasets import make_two_gaussians

TEXTS = ["good fun", "bad luck", "fun fun", "luck", "bad", "good luck", "so bad", "so good"]


def session(X=None, **options):
    rows, truth = make_two_gaussians(60, random_state=0)
    X = rows if X is None else X
    learner = ActiveLearner(
        LogisticRegression(), HighestEntropy(), batch_size=3, random_state=0, **options
    )
    y = np.where(np.arange(60) < 2, ["no", "yes"][truth[0]], None)
    learner.fit(X, y)
    for _ in range(3):
        rows = learner.query()
        places = rows if isinstance(rows, np.ndarray) else [int(str(name)[1:]) for name in rows]
        learner.teach(rows, np.where(truth[places] == 1, "yes", "no"))
    learner.teach(learner.pool_[:1], ["perhaps"])
    return learner


def frame_of_rows():
    X, _ = make_two_gaussians(60, random_state=0)
    return pd.DataFrame(X, columns=["a", "b"], index=[f"r{i}" for i in range(60)])


def test_a_new_process_asks_the_same_rows(tmp_path):
    path = tmp_path / "session.leaven"
    learner = session(stopping=StablePredictions(window=2))
    learner.should_stop()
    learner.save(path)
    code = (
        "import sys\nfrom leaven.active import ActiveLearner\n"
        "learner = ActiveLearner.load(sys.argv[1])\n"
        "print(learner.query(5).tolist(), learner.should_stop(), learner.labels_.tolist())\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    expected = (learner.query(5).tolist(), learner.should_stop(), learner.labels_.tolist())
    assert done.stdout.strip() == " ".join(map(str, expected))


@pytest.mark.parametrize("kind", ["array", "float32", "sparse", "frame", "index"])
def test_round_trip(tmp_path, kind):
    X, _ = make_two_gaussians(60, random_state=0)
    made = {
        "array": X,
        "float32": X.astype(np.float32),
        "sparse": sparse.csr_array(np.abs(X)),
        "frame": frame_of_rows(),
        "index": X,
    }[kind]
    learner = session(made, budget=40, diversity="kmeans")
    if kind == "index":
        learner.fit(X, learner.labels_, index=[f"r{i}" for i in range(60)])
        learner.teach(learner.query(2), ["yes", "no"])
    learner.save(tmp_path / "s")
    for again in (
        ActiveLearner.load(tmp_path / "s"),
        ActiveLearner.load(tmp_path / "s", made),
        ActiveLearner.load(
            tmp_path / "s", made, estimator=LogisticRegression(), strategy=HighestEntropy()
        ),
    ):
        assert_array_equal(again.query(4), learner.query(4))
        assert_array_equal(again.labels_, learner.labels_)
        pd.testing.assert_frame_equal(again.history_, learner.history_)
        assert again.get_params()["budget"] == 40
        assert_array_equal(again.undo(), session_undone(learner))
        assert_array_equal(again.query(4), learner.query(4))
        learner.teach(*last_taught(again, learner))


def session_undone(learner):
    learner.taken_back = learner._state.steps[-1]
    return learner.undo()


def last_taught(again, learner):
    step = learner.taken_back
    return learner._named(np.array(step.rows)), step.labels


@pytest.mark.parametrize("values", [[3, 7, 11], [True, False], ["a", "b"], [1.0, 2.0]])
def test_labels_come_back_in_their_dtype(tmp_path, values):
    y = np.full(8, -1, dtype=np.int32) if values[0] == 3 else np.full(8, None, dtype=object)
    learner = ActiveLearner(GaussianNB(), random_state=0).fit(np.arange(8.0)[:, None] ** 2, y)
    learner.teach(range(len(values)), values)
    learner.save(tmp_path / "s")
    again = ActiveLearner.load(tmp_path / "s")
    assert again.labels_.dtype == learner.labels_.dtype
    assert again.classes_.dtype == np.asarray(learner.predict([[1.0]])).dtype
    assert again.classes_.tolist() == sorted(values)
    if values[0] == 3:
        assert again.labels_.dtype == np.int32


def test_texts_with_an_index(tmp_path):
    names = pd.Index([f"t{i}" for i in range(8)], name="id")
    pipeline = make_pipeline(CountVectorizer(), MultinomialNB())
    learner = ActiveLearner(pipeline, random_state=0).fit(pd.Series(TEXTS, index=names))
    learner.teach(["t0", "t1"], ["good", "bad"])
    learner.save(tmp_path / "s")
    again = ActiveLearner.load(tmp_path / "s")
    assert again.query(3).tolist() == learner.query(3).tolist()
    assert set(again.query(3)) <= set(names)


def test_without_rows_they_must_be_given(tmp_path):
    learner = session()
    learner.save(tmp_path / "s", with_rows=False)
    with pytest.raises(ValueError, match=r"saved without the rows\. Give X"):
        ActiveLearner.load(tmp_path / "s")
    X, _ = make_two_gaussians(60, random_state=0)
    assert_array_equal(ActiveLearner.load(tmp_path / "s", X).query(3), learner.query(3))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda X: X[:-1], "shape: .60, 2. there, .59, 2. here"),
        (lambda X: X.astype(np.float32), "dtype: float64 there, float32 here"),
        (lambda X: X[::-1], "content"),
        (lambda X: pd.DataFrame(X), "kind: array there, data frame here"),
    ],
)
def test_another_data_set_is_refused(tmp_path, change, reason):
    session().save(tmp_path / "s")
    X, _ = make_two_gaussians(60, random_state=0)
    with pytest.raises(ValueError, match=f"belongs to another data set: X differs in {reason}"):
        ActiveLearner.load(tmp_path / "s", change(X))


def rewrite(path, **header):
    """Change the header of a saved file, and spoil the pickle to see that it is not opened."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["header.json"] = json.dumps({**json.loads(members["header.json"]), **header}).encode()
    members["objects.json"] = members["objects.pickle"] = b"spoiled"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    path.write_bytes(buffer.getvalue())


@pytest.mark.parametrize("header", [{"leaven": "0.0.3"}, {"leaven": "9.1.0"}, {"format": 99}])
def test_another_version_is_refused_before_anything_is_unpickled(tmp_path, header):
    path = tmp_path / "s"
    session().save(path)
    rewrite(path, **header)
    value = next(iter(header.values()))
    with pytest.raises(ValueError, match=f"was saved by leaven .*{value}.*labels.json"):
        ActiveLearner.load(path)


def test_with_an_estimator_nothing_is_unpickled(tmp_path):
    path = tmp_path / "s"
    learner = session()
    learner.save(path)
    rewrite(path)
    again = ActiveLearner.load(path, estimator=LogisticRegression(), strategy=HighestEntropy())
    assert_array_equal(again.query(3), learner.query(3))
    with pytest.raises(ValueError, match="holds a pickle"):
        ActiveLearner.load(path)
    with pytest.raises(pickle.UnpicklingError):
        ActiveLearner.load(path, allow_pickle=True)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ValueError, match="is no saved ActiveLearner"):
        ActiveLearner.load(tmp_path / "text")
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("header.json", json.dumps({"kind": "photo album"}))
    with pytest.raises(ValueError, match="is no saved ActiveLearner, but holds"):
        ActiveLearner.load(tmp_path / "zip")
    with pytest.raises(FileNotFoundError):
        ActiveLearner.load(tmp_path / "missing")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "s"
    learner = session()
    learner.save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        learner.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["s"]


def test_what_cannot_be_pickled_is_named(tmp_path):
    class Local(LogisticRegression):
        pass

    X, y = make_two_gaussians(20, random_state=0)
    learner = ActiveLearner(Local()).fit(X, y)
    with pytest.raises(ValueError, match=r"Local.*cannot be saved.*allow_pickle=True"):
        learner.save(tmp_path / "s")
    with pytest.raises(ValueError, match=r"cannot be pickled.*Local"):
        learner.save(tmp_path / "s", allow_pickle=True)
    assert os.listdir(tmp_path) == []


class Traced(LogisticRegression):
    """Of this module: neither leaven's nor scikit-learn's."""

    opened = False

    def __setstate__(self, state):
        type(self).opened = True
        super().__setstate__(state)


def test_a_pickle_is_written_and_opened_on_request_only(tmp_path, monkeypatch):
    monkeypatch.setattr(Traced, "opened", False)
    X, y = make_two_gaussians(20, random_state=0)
    learner = ActiveLearner(Traced(), random_state=0).fit(X, np.where(np.arange(20) < 6, y, -1))
    learner.save(tmp_path / "s", allow_pickle=True)
    assert not Traced.opened
    with pytest.raises(ValueError, match=r"holds a pickle.*allow_pickle=True"):
        ActiveLearner.load(tmp_path / "s")
    assert not Traced.opened
    again = ActiveLearner.load(tmp_path / "s", allow_pickle=True)
    assert Traced.opened
    assert_array_equal(again.query(3), learner.query(3))


def test_what_the_safe_format_knows_is_never_pickled(tmp_path):
    for allow_pickle in (False, True):
        session(stopping=StablePredictions()).save(tmp_path / "s", allow_pickle=allow_pickle)
        with zipfile.ZipFile(tmp_path / "s") as archive:
            assert "objects.pickle" not in archive.namelist()


def test_damaged_files_are_named(tmp_path):
    path = tmp_path / "s"
    session().save(path)
    content = path.read_bytes()
    rng = np.random.RandomState(0)
    expected = ActiveLearner.load(path).query(4)
    for place in rng.randint(0, len(content), 60):
        flipped = bytearray(content)
        flipped[place] ^= 1 << rng.randint(8)
        path.write_bytes(flipped if place % 2 else content[:place])
        message = None
        try:
            found = ActiveLearner.load(path).query(4)
        except ValueError as error:
            message = str(error)
        if message is None:  # a bit that carries nothing, such as one of a date
            assert_array_equal(found, expected)
        else:
            assert str(path) in message


def test_a_warm_start_goes_on_after_loading(tmp_path):
    X, y = make_two_gaussians(80, random_state=0)
    estimator = SGDClassifier(loss="log_loss", warm_start=True, max_iter=5, tol=None)
    learner = ActiveLearner(estimator, random_state=0).fit(X, np.where(np.arange(80) < 9, y, -1))
    for _ in range(3):
        rows = learner.query(2)
        learner.teach(rows, y[rows])
    learner.save(tmp_path / "s", allow_pickle=True)
    again = ActiveLearner.load(tmp_path / "s", allow_pickle=True)
    assert_array_equal(again.estimator_.coef_, learner.estimator_.coef_)
    cold = ActiveLearner(estimator, random_state=0).fit(X, learner.labels_)
    assert (cold.estimator_.coef_ != learner.estimator_.coef_).any()


def test_random_strategies_go_on_after_loading(tmp_path):
    X, y = make_two_gaussians(30, random_state=0)
    learner = ActiveLearner(GaussianNB(), RandomSampling()).fit(X, np.where(y == 0, 0, -1))
    learner.teach([int(learner.pool_[0])], [1])
    learner.save(tmp_path / "s")
    assert_array_equal(ActiveLearner.load(tmp_path / "s").query(9), learner.query(9))


def test_fingerprints_tell_rows_apart():
    X = sparse.csr_array(np.eye(3))
    same = sparse.csr_array((np.ones(3), ([2, 0, 1], [2, 0, 1])), shape=(3, 3))
    assert fingerprint(X) == fingerprint(same)
    assert fingerprint(X) != fingerprint(2 * X)
    frame = frame_of_rows()
    assert fingerprint(frame) != fingerprint(frame.reset_index(drop=True))
    assert fingerprint(frame) != fingerprint(frame.rename(columns={"a": "c"}))
    texts = np.array(TEXTS, dtype=object)
    assert fingerprint(texts) != fingerprint(texts[::-1])


def test_versions():
    assert compatible("0.3.1", "0.3.9")
    assert not compatible("0.3.1", "0.4.0")
    assert compatible("1.0.0", "1.5.2")
    assert not compatible("1.0.0", "2.0.0")
    assert not compatible("0.9.0", "1.0.0")


def test_label_state_by_hand():
    state = LabelState(4, ["a", None, None, "b"])
    state.asked.add(1)
    state.teach([1, 0], ["b", "c"])
    assert state.labels.tolist() == ["c", "b", None, "b"]
    frame = state.history(np.arange(4))
    assert frame["asked"].tolist() == [True, False]
    assert frame["replaced"].tolist() == [None, "a"]
    assert frame["new_class"].tolist() == [False, True]
    assert state.n_taught == 2
    assert state.undo().rows == [1, 0]
    assert state.labels.tolist() == ["a", None, None, "b"]
    assert state.history(np.arange(4)).empty


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links are POSIX's")
def test_save_follows_the_umask_and_a_link(tmp_path: Path) -> None:
    # The file had mode 0600 whatever the umask, and replaced a link.
    learner = ActiveLearner(GaussianNB()).fit([[0.0], [1.0], [2.0]], [0, -1, 1])
    target, link = tmp_path / "state.zip", tmp_path / "link.zip"
    before = os.umask(0o027)
    try:
        learner.save(target)
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    link.symlink_to(target)
    learner.teach([1], [0])
    learner.save(link)
    assert link.is_symlink()
    assert ActiveLearner.load(target).labels_.tolist() == [0, 0, 1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.zip", "state.zip"]
