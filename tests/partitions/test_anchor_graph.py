"""The anchor graph over partitions gives the answer of one table, but for rounding."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from leaven.exceptions import UnreachedWarning
from leaven.graph_based import AnchorGraphClassifier, _anchor_graph
from leaven.partitions import Block, JobPartitions

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

N = 180
CUTS = {
    "one": [],
    "two": [70],
    "seven": [20, 41, 62, 83, 104, 125],
    "uneven, one empty": [3, 3, 140],
    "a class in one partition": [100, 121],
    "no label in one partition": [40, 100],
}
MODELS = {
    form: AnchorGraphClassifier(40, form=form, random_state=0)
    for form in ("harmonic", "consistency", "poisson", "regularized")
} | {
    "embedding": AnchorGraphClassifier(40, weight="embedding", prior="labeled", random_state=0),
    "every row an anchor": AnchorGraphClassifier(N, prior=None, n_neighbors=4),
    "given shares": AnchorGraphClassifier(prior=[0.5, 0.3, 0.2], random_state=3),
}


def problem(seed=0):
    """Class 2 lives in rows 100 to 120 alone, and rows 40 to 99 have no label."""
    rng = np.random.default_rng(seed)
    y = np.where((np.arange(N) >= 100) & (np.arange(N) < 121), 2, rng.integers(0, 2, N))
    X = rng.normal(size=(N, 4)) + 2.5 * np.eye(4)[y]
    labels = np.where(rng.random(N) < 0.2, y, -1)
    labels[40:100] = -1
    labels[[0, 1, 2, 3]] = y[[0, 1, 2, 3]] = [0, 1, 0, 1]
    labels[[101, 103]] = 2
    return X, labels


def cut(table, at):
    rows = table.iloc if isinstance(table, (pd.DataFrame, pd.Series)) else table
    return [rows[a:b] for a, b in pairwise([0, *at, N])]


def copy_of(model):
    return model.__sklearn_clone__()


def assert_same_fit(found, expected, X, atol=1e-9):
    assert_array_equal(found.classes_, expected.classes_)
    assert_allclose(found.anchors_, expected.anchors_, atol=1e-12)
    assert_allclose(found.anchor_values_, expected.anchor_values_, atol=10 * atol)
    if expected.prior_ is not None:
        assert_allclose(found.prior_, expected.prior_, atol=atol)
    assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=atol)


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("name", MODELS)
def test_a_list_of_partitions_gives_the_answer_of_one_table(name, cuts):
    X, y = problem()
    expected = copy_of(MODELS[name]).fit(X, y)
    found = copy_of(MODELS[name]).fit(cut(X, CUTS[cuts]), cut(y, CUTS[cuts]))
    # The Poisson form divides by the spread of scores that are known up to the solver's residual.
    assert_same_fit(found, expected, X, atol=1e-6)
    assert [len(part) for part in found.transduction_] == [len(p) for p in cut(y, CUTS[cuts])]
    assert_array_equal(np.concatenate(found.transduction_), expected.transduction_)
    together = np.concatenate(found.label_distributions_)
    assert_allclose(together, expected.label_distributions_, atol=1e-6)
    assert_array_equal(together[y == 1], [[0.0, 1.0, 0.0]] * (y == 1).sum())


@pytest.mark.parametrize("cuts", ["one", "seven", "uneven, one empty"])
def test_dask_collections_give_the_answer_of_one_table(cuts):
    X, y = problem()
    model = MODELS["harmonic"]
    expected = copy_of(model).fit(X, y)
    rows = tuple(len(part) for part in cut(y, CUTS[cuts]))
    lazy = da.from_array(X, chunks=(rows, (3, 1)))  # columns are cut too
    found = copy_of(model).fit(lazy, da.from_array(y, chunks=N))
    assert_same_fit(found, expected, X)
    for answer, wanted in [
        (found.label_distributions_, expected.label_distributions_),
        (found.transduction_, expected.transduction_),
    ]:
        assert isinstance(answer, da.Array)
        assert (answer.chunks[0], answer.dtype) == (rows, wanted.dtype)
        assert_allclose(answer.compute(), wanted, atol=1e-9)


def test_dask_dataframes_keep_names_and_words():
    X, y = problem()
    frame = pd.DataFrame(X, columns=list("abcd"))
    names = pd.Series(np.array(["first", "second", "third", None], dtype=object)[y])
    expected = copy_of(MODELS["harmonic"]).fit(frame, names)
    lazy = dd.concat(
        [
            dd.from_pandas(part, npartitions=1)
            for part in cut(frame.assign(target=names), CUTS["a class in one partition"])
        ]
    )
    found = copy_of(MODELS["harmonic"]).fit(lazy.drop(columns="target"), lazy["target"])
    assert_same_fit(found, expected, frame)
    assert_array_equal(found.feature_names_in_, list("abcd"))
    assert_array_equal(found.transduction_.compute(), expected.transduction_)


class Stream:
    def __init__(self, parts):
        self.parts, self.passes = parts, 0

    def __iter__(self):
        self.passes += 1
        return iter(self.parts)


def test_passes_over_the_rows_which_are_not_kept():
    X, y = problem()
    for name, passes in [("harmonic", 4), ("poisson", 5), ("every row an anchor", 3)]:
        expected = copy_of(MODELS[name]).fit(X, y)
        stream = Stream(list(zip(cut(X, [40, 90]), cut(y, [40, 90]), strict=True)))
        found = copy_of(MODELS[name]).fit(stream, None)
        assert stream.passes == passes
        assert_same_fit(found, expected, X, atol=1e-6)
        for _ in range(2):  # computed in each pass
            assert_array_equal(np.concatenate(list(found.transduction_)), expected.transduction_)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_jobs_give_the_answer_of_one_table(n_jobs):
    X, y = problem()
    expected = copy_of(MODELS["harmonic"]).fit(X, y)
    parts = list(zip(cut(X, [3, 3, 140]), cut(y, [3, 3, 140]), strict=True))
    rows = JobPartitions([Block(*part) for part in parts], n_jobs)
    found = copy_of(MODELS["harmonic"]).fit(rows, None)
    assert_same_fit(found, expected, X)
    assert_array_equal(np.concatenate(list(found.transduction_)), expected.transduction_)


def test_the_sample_that_places_the_anchors_does_not_depend_on_the_cuts(monkeypatch):
    monkeypatch.setattr(_anchor_graph, "_CLUSTERED_ROWS", 60)
    X, y = problem()
    model = AnchorGraphClassifier(25, random_state=1)
    expected = copy_of(model).fit(X, y)
    for cuts in CUTS.values():
        assert_same_fit(copy_of(model).fit(cut(X, cuts), cut(y, cuts)), expected, X)
    monkeypatch.undo()
    other = copy_of(model).fit(X, y)
    assert not np.allclose(other.anchors_, expected.anchors_)


def test_float32_stays_unless_one_partition_is_wider():
    X, y = problem()
    narrow = X.astype(np.float32)
    found = copy_of(MODELS["harmonic"]).fit(cut(narrow, [70]), cut(y, [70]))
    assert [part.dtype for part in found.label_distributions_] == [np.float32] * 2
    expected = copy_of(MODELS["harmonic"]).fit(narrow.astype(float), y)
    mixed = [narrow[:70], narrow[70:].astype(float)]
    found = copy_of(MODELS["harmonic"]).fit(mixed, cut(y, [70]))
    assert_same_fit(found, expected, X)


def test_rows_that_no_label_reaches_are_counted_over_partitions():
    X, y = problem()
    X[140:] += 500.0
    y[140:] = -1
    with pytest.warns(UnreachedWarning, match="40 of 180 rows"):
        found = copy_of(MODELS["harmonic"]).fit(cut(X, [70, 150]), cut(y, [70, 150]))
    assert found.n_unreached_ == 40


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: ([X[0], X[1][:, :2]], y), "Partition 1: X has 2 features"),
        (lambda X, y: ([X[0], X[1][:-1]], y), "Partition 1: X has 109 rows, but y has 110"),
        (lambda X, y: ([X[0], X[1] * np.nan], y), "Partition 1: Input X contains NaN"),
        (lambda X, y: (X, [np.full(70, -1), np.full(110, -1)]), "no labeled row: all 180"),
        (lambda X, y: (X, [y[0] * 0, np.full(110, -1)]), "1 class only"),
        (lambda X, y: ([X[0][:0]], [y[0][:0]]), "no row in 1 partitions"),
        (lambda X, y: (X, None), "requires y to be passed"),
    ],
)
def test_bad_partitions(change, message):
    X, y = problem()
    with pytest.raises(ValueError, match=message):
        AnchorGraphClassifier(40).fit(*change(cut(X, [70]), cut(y, [70])))
