"""EM over partitions gives the answer of one machine: same model, but for rounding."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from leaven.generative import (
    ClassPrior,
    LogOdds,
    RankSigmoid,
    SemiSupervisedBernoulliNB,
    SemiSupervisedCategoricalNB,
    SemiSupervisedGaussianMixture,
    SemiSupervisedGaussianNB,
    SemiSupervisedMixedNB,
    SemiSupervisedMultinomialNB,
)

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

N = 150
# Class 2 lives in rows 100 to 120 alone, and rows 40 to 99 have no label.
CUTS = {
    "one": [],
    "two": [70],
    "seven": [20, 41, 62, 83, 104, 125],
    "uneven, one empty": [3, 3, 140],
    "a class in one partition": [100, 121],
    "no label in one partition": [40, 100],
}


def problem(kind, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where((np.arange(N) >= 100) & (np.arange(N) < 121), 2, rng.integers(0, 2, N))
    labels = np.where(rng.random(N) < 0.4, y, -1)
    labels[40:100] = -1
    labels[[0, 1, 2, 3, 4, 5]] = y[[0, 1, 2, 3, 4, 5]] = [0, 1, 0, 1, 0, 1]
    labels[[101, 103, 105]] = 2
    numbers = rng.normal(size=(N, 3)) * [0.7, 3.0, 1.4] + 1.3 * y[:, None] + [50.0, 0.0, -2.0]
    counts = rng.poisson(1.0 + 2.5 * (np.arange(5) == y[:, None]))
    if kind == "numbers":
        return numbers, labels
    if kind == "counts":
        return counts.astype(float), labels
    if kind == "sparse":
        return sparse.csr_array(counts.astype(float)), labels
    codes = np.minimum(counts, 4)[:, :3]
    if kind == "codes":
        return codes, labels
    words = np.array(["red", "blue", "green", "gray", "pink"], dtype=object)[codes]
    words[rng.random(codes.shape) < 0.05] = None
    frame = pd.DataFrame(words, columns=["a", "b", "c"])
    if kind == "words":
        return frame, labels
    return frame.assign(x=numbers[:, 0], z=numbers[:, 2]), labels  # mixed


MODELS = {
    "multinomial": (SemiSupervisedMultinomialNB(alpha=0.7), "counts"),
    "multinomial, sparse": (SemiSupervisedMultinomialNB(), "sparse"),
    "bernoulli": (SemiSupervisedBernoulliNB(binarize=1.0), "counts"),
    "categorical, codes": (SemiSupervisedCategoricalNB(), "codes"),
    "categorical, words": (SemiSupervisedCategoricalNB(missing="category"), "words"),
    "gaussian": (SemiSupervisedGaussianNB(), "numbers"),
    "mixed": (SemiSupervisedMixedNB(), "mixed"),
    "full": (SemiSupervisedGaussianMixture(), "numbers"),
    "tied": (SemiSupervisedGaussianMixture(covariance_type="tied"), "numbers"),
    "normalized": (
        SemiSupervisedGaussianNB(weighting="normalized", unlabeled_weight=0.4),
        "numbers",
    ),
    "convex, smoothed": (
        SemiSupervisedCategoricalNB(
            weighting="convex", unlabeled_weight=0.3, prior=ClassPrior(smoothing=1.0)
        ),
        "codes",
    ),
    "fixed prior": (SemiSupervisedMultinomialNB(prior="labeled"), "counts"),
    "k-means components": (
        SemiSupervisedGaussianNB(n_components=2, init="kmeans", random_state=3),
        "numbers",
    ),
    "random components": (
        SemiSupervisedMixedNB(n_components=2, random_state=5),
        "mixed",
    ),
    "searched components": (
        SemiSupervisedMultinomialNB(n_components=[1, 2], init="tree", random_state=0),
        "counts",
    ),
    "learned classes": (SemiSupervisedGaussianNB(component_classes="learned"), "numbers"),
    "hard": (SemiSupervisedGaussianNB(hard=True), "numbers"),
    "ranks": (SemiSupervisedGaussianNB(recalibration=RankSigmoid(4.0), max_iter=8), "numbers"),
    "log-odds": (
        SemiSupervisedMultinomialNB(recalibration=LogOdds(mean="labeled"), max_iter=8),
        "counts",
    ),
}


def cut(table, at):
    edges = [0, *at, N]
    frame = isinstance(table, (pd.DataFrame, pd.Series))
    rows = table.iloc if frame else table
    return [rows[a:b] for a, b in pairwise(edges)]


def fit(model, X, y, **more):
    with warnings.catch_warnings():
        # Recalibrations need not converge; compared is where the iterations lead.
        warnings.filterwarnings("ignore", message=".*did not converge")
        return model.fit(X, y, **more)


def assert_same_fit(found, expected, X):
    assert found.n_iter_ == expected.n_iter_
    assert_array_equal(found.classes_, expected.classes_)
    assert_allclose(found.objective_trace_, expected.objective_trace_, rtol=1e-9)
    assert_allclose(found.class_log_prior_, expected.class_log_prior_, atol=1e-9)
    assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-8)
    if hasattr(expected, "component_scores_"):
        assert found.component_scores_ == expected.component_scores_


def copy_of(model):
    return model.__sklearn_clone__()


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("name", MODELS)
def test_a_list_of_partitions_gives_the_answer_of_one_table(name, cuts):
    model, kind = MODELS[name]
    X, y = problem(kind)
    expected = fit(copy_of(model), X, y)
    found = fit(copy_of(model), cut(X, CUTS[cuts]), cut(y, CUTS[cuts]))
    assert_same_fit(found, expected, X)
    assert [len(part) for part in found.transduction_] == [len(p) for p in cut(y, CUTS[cuts])]
    assert_array_equal(np.concatenate(found.transduction_), expected.transduction_)
    together = np.concatenate(found.label_distributions_)
    assert_allclose(together, expected.label_distributions_, atol=1e-8)
    assert_array_equal(together[y == 1], [[0.0, 1.0, 0.0]] * (y == 1).sum())


@pytest.mark.parametrize("cuts", ["one", "seven", "uneven, one empty"])
@pytest.mark.parametrize(
    "name", ["multinomial", "bernoulli", "categorical, codes", "gaussian", "full", "tied", "ranks"]
)
def test_dask_arrays_give_the_answer_of_one_table(name, cuts):
    model, kind = MODELS[name]
    X, y = problem(kind)
    expected = fit(copy_of(model), X, y)
    rows = tuple(len(part) for part in cut(y, CUTS[cuts]))
    lazy = da.from_array(X, chunks=(rows, (2, X.shape[1] - 2)))  # columns are cut too
    found = fit(copy_of(model), lazy, da.from_array(y, chunks=N))
    assert_same_fit(found, expected, X)
    for lazy_answer, answer in [
        (found.label_distributions_, expected.label_distributions_),
        (found.transduction_, expected.transduction_),
    ]:
        assert isinstance(lazy_answer, da.Array)
        assert lazy_answer.chunks[0] == rows
        assert lazy_answer.dtype == answer.dtype
        assert_allclose(lazy_answer.compute(), answer, atol=1e-8)


@pytest.mark.parametrize("name", ["categorical, words", "mixed", "random components", "gaussian"])
def test_dask_dataframes_give_the_answer_of_one_table(name):
    model, kind = MODELS[name]
    X, y = problem(kind)
    X = pd.DataFrame(X, columns=["p", "q", "r"]) if kind == "numbers" else X
    names = pd.Series(np.array(["first", "second", "third", None], dtype=object)[y])
    expected = copy_of(model).fit(X, names)
    parts = [
        dd.from_pandas(part, npartitions=1) if len(part) else part
        for part in cut(X.assign(target=names), CUTS["a class in one partition"])
    ]
    frame = dd.concat(parts)
    found = copy_of(model).fit(frame.drop(columns="target"), frame["target"])
    assert_same_fit(found, expected, X)
    assert_array_equal(found.feature_names_in_, expected.feature_names_in_)
    assert_array_equal(found.transduction_.compute(), expected.transduction_)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # in Dask's reader of Parquet
def test_parquet_files_are_not_cut_otherwise_for_labels_than_for_rows(tmp_path):
    # Dask reads several files as one partition where few of their columns are asked for.
    X, y = problem("numbers")
    wide = pd.DataFrame(np.hstack([X, np.zeros((N, 9))])).rename(columns=str).assign(t=y)
    for number, part in enumerate(cut(wide, [30, 60, 100])):
        part.to_parquet(tmp_path / f"part{number}.parquet", index=False)
    lazy = dd.read_parquet(str(tmp_path / "*.parquet"))
    assert len(lazy["t"].to_delayed()) < lazy.npartitions
    expected = SemiSupervisedGaussianNB().fit(wide[["0", "1", "2"]], y)
    rows = lazy[["0", "1", "2"]]
    for labels in (lazy["t"], y):
        found = SemiSupervisedGaussianNB().fit(rows, labels)
        assert_same_fit(found, expected, wide[["0", "1", "2"]])
        assert found.transduction_.numblocks == (4,)
        assert_array_equal(found.transduction_.compute(), expected.transduction_)
    assert_array_equal(expected.predict(rows).compute(), expected.predict(wide[["0", "1", "2"]]))


class Stream:
    """One partition at a time; how many are alive is counted by whoever looks."""

    def __init__(self, parts):
        self.parts, self.passes = parts, 0

    def __iter__(self):
        self.passes += 1
        return iter(self.parts)


def test_any_iterable_of_partitions_will_do():
    X, y = problem("numbers")
    expected = SemiSupervisedGaussianNB().fit(X, y)
    parts = list(zip(cut(X, [40, 90]), cut(y, [40, 90]), strict=True))
    stream = Stream(parts)
    found = SemiSupervisedGaussianNB().fit(stream, None)
    assert_same_fit(found, expected, X)
    # Classes, counts, summary, start, one E-step per iteration and one at the start.
    assert stream.passes == expected.n_iter_ + 5
    for _ in range(2):  # computed in each pass, not kept
        assert_array_equal(np.concatenate(list(found.transduction_)), expected.transduction_)
    together = np.concatenate(list(found.label_distributions_))
    assert_allclose(together, expected.label_distributions_, atol=1e-8)
    assert_same_fit(SemiSupervisedGaussianNB().fit(iter(parts), None), expected, X)


@pytest.mark.parametrize(
    ("name", "per_iteration", "more"), [("k-means components", 1, 6), ("ranks", 2, 6)]
)
def test_passes_over_the_rows(name, per_iteration, more):
    model, kind = MODELS[name]
    X, y = problem(kind)
    stream = Stream(list(zip(cut(X, [40, 90]), cut(y, [40, 90]), strict=True)))
    found = fit(copy_of(model), stream, None)
    assert stream.passes == per_iteration * found.n_iter_ + more


def test_weights_in_partitions():
    X, y = problem("numbers")
    weights = np.random.default_rng(1).integers(0, 4, N)
    weights[[0, 1, 2, 3, 101, 103]] = 1
    expected = SemiSupervisedGaussianNB().fit(np.repeat(X, weights, 0), np.repeat(y, weights))
    at = CUTS["uneven, one empty"]
    parts = cut(X, at), cut(y, at), cut(weights, at)
    found = SemiSupervisedGaussianNB().fit(*parts[:2], sample_weight=parts[2])
    assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-8)


def test_labels_may_differ_in_dtype():
    X, y = problem("numbers")
    expected = SemiSupervisedGaussianNB().fit(X, y)
    parts = cut(y, [40, 100])
    mixed = [parts[0], pd.Series([None] * 60), pd.array(parts[2], dtype="Int64")]
    found = SemiSupervisedGaussianNB().fit(cut(X, [40, 100]), mixed)
    assert_same_fit(found, expected, X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: ([X[0], X[1][:, :2]], y), "Partition 1: X has 2 features"),
        (lambda X, y: ([X[0], X[1][:-1]], y), "Partition 1: X has 79 rows, but y has 80"),
        (lambda X, y: ([X[0], X[1] * np.nan], y), "Partition 1: Input X contains NaN"),
        (lambda X, y: (X, [np.full(70, -1), np.full(80, -1)]), "no labeled row: all 150"),
        (lambda X, y: (X, [y[0] * 0, np.full(80, -1)]), "1 class only"),
        (lambda X, y: (X, [y[0], np.array(["a"] * 80)]), "mixes labels"),
        (lambda X, y: ([X[0][:0]], [y[0][:0]]), "no row in 1 partitions"),
        (lambda X, y: (X, None), "requires y to be passed"),
    ],
)
def test_bad_partitions(change, message):
    X, y = problem("numbers")
    with pytest.raises(ValueError, match=message):
        SemiSupervisedGaussianNB().fit(*change(cut(X, [70]), cut(y, [70])))


def test_columns_that_differ_are_named():
    X, y = problem("mixed")
    other = [X[:70], X[70:].rename(columns={"x": "u"})]
    with pytest.raises(ValueError, match=r"(?s)Partition 1: The feature names .* u"):
        SemiSupervisedMixedNB().fit(other, cut(y, [70]))
