from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.stats import binom, norm
from sklearn.datasets import make_blobs
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from leaven.self_labeling import SelfTrainingClassifier, SetredClassifier
from leaven.self_labeling._cut_edges import (
    cut_edge_tail,
    knn_neighbors,
    relative_neighbors,
)

# Ten rows on a line. Row 4 is the candidate; its relative neighbors are rows 3 (at 1) and
# 5 (at 3), with weights 1/2 and 1/4.
LINE = np.array([0.0, 2.0, 5.0, 6.0, 7.0, 10.0, 11.0, 15.0, 17.0, 18.0])[:, None]
LABELS = np.array([0, 0, 1, 0, -1, 1, 1, 1, 1, 1])


@pytest.mark.parametrize(
    ("prior", "test", "expected"),
    [
        ("graph", "normal", 0.2326),
        ("graph", "exact", 0.4),
        ("labeled", "normal", 0.1714),
        ("labeled", "exact", 1 / 3),
    ],
)
def test_ten_points_by_hand(prior, test, expected):
    """With the candidate in class 0: 4 of 10 rows are of its class, and row 5 is cut.

    J = 1/4. Under the null hypothesis it has mean 0.6 (1/2 + 1/4) = 0.45 and variance
    0.4 0.6 (1/4 + 1/16) = 0.075, so z = -0.7303 and the normal tail is 0.2326. Exactly,
    J <= 1/4 when edge 3 is not cut: 0.4. Of the labeled rows alone 3 of 9 are of its class:
    mean 1/2, variance 2/9 5/16 = 5/72, z = -0.9487, and 1/3 exactly.
    """
    base = KNeighborsClassifier(1)
    model = SetredClassifier(base, prior=prior, test=test).fit(LINE, LABELS)
    line = model.history_.iloc[0]
    assert (line["row"], line["label"], line["confidence"]) == (4, 0, 1)
    assert_allclose(line["p_value"], expected, atol=1e-4)
    assert not line["accepted"]
    assert model.n_rejected_ == 1
    assert model.labeled_iter_[4] == -1
    assert model.termination_condition_ == "all_tried"
    # Rejected, it is not trained on; the label in the transduction is the estimator's.
    assert model.estimator_.n_samples_fit_ == 9
    assert model.transduction_[4] == 0
    lax = SetredClassifier(base, prior=prior, test=test, significance=expected + 1e-4)
    lax.fit(LINE, LABELS)
    assert lax.labeled_iter_[4] == 1
    assert lax.termination_condition_ == "all_labeled"


@st.composite
def neighborhoods(draw):
    m = draw(st.integers(1, 9))
    # Equal weights make ties between different outcomes.
    weights = draw(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.77]), min_size=m, max_size=m))
    cut = draw(st.lists(st.booleans(), min_size=m, max_size=m))
    return np.array(weights), np.array(cut), draw(st.floats(0.05, 0.95))


@given(neighborhoods())
@settings(max_examples=50, deadline=None)
def test_exact_tail_by_enumeration_of_bernoulli_draws(case):
    weights, cut, same = case
    observed = weights[cut].sum()
    total = 0.0
    for outcome in itertools.product([False, True], repeat=len(weights)):
        outcome = np.array(outcome)
        if weights[outcome].sum() <= observed + 1e-12:
            total += (1 - same) ** outcome.sum() * same ** (~outcome).sum()
    assert_allclose(cut_edge_tail(weights, cut, same, exact=True), total, atol=1e-12)


def test_exact_tail_by_enumeration_of_labelings():
    # The null hypothesis itself: every neighbor draws one of three classes.
    proportions = np.array([0.2, 0.5, 0.3])
    weights = np.array([0.9, 0.35, 0.6, 0.15])
    cut = np.array([False, True, False, True])
    own = 1
    total = sum(
        proportions[list(labels)].prod()
        for labels in itertools.product(range(3), repeat=4)
        if weights[np.array(labels) != own].sum() <= weights[cut].sum() + 1e-12
    )
    assert_allclose(cut_edge_tail(weights, cut, proportions[own], exact=True), total)


def test_equal_weights_are_binomial_and_approach_the_normal():
    for m, k in [(7, 2), (16, 5), (30, 11)]:
        cut = np.arange(m) < k
        tail = cut_edge_tail(np.full(m, 0.4), cut, 0.35, exact=True)
        assert_allclose(tail, binom.cdf(k, m, 0.65))
    cut = np.arange(200) < 120
    normal = norm.cdf((120 - 130) / np.sqrt(200 * 0.35 * 0.65))
    assert_allclose(cut_edge_tail(np.ones(200), cut, 0.35), normal)
    # Beyond 30 neighbors the exact test is the normal one, which is then near.
    assert cut_edge_tail(np.ones(200), cut, 0.35, exact=True) == pytest.approx(normal)
    assert normal == pytest.approx(binom.cdf(120, 200, 0.65), abs=0.02)


@given(st.integers(0, 2**16), st.integers(2, 40), st.integers(1, 4), st.booleans())
@settings(max_examples=40, deadline=None)
def test_relative_neighbors_by_brute_force(seed, n, d, on_a_grid):
    rng = np.random.default_rng(seed)
    # A grid has duplicates and many equal distances.
    X = rng.integers(3, size=(n, d)).astype(float) if on_a_grid else rng.normal(size=(n, d))
    D = cdist(X, X)
    row = int(rng.integers(n))
    expected = [
        j
        for j in range(n)
        if j != row
        and not any(max(D[row, k], D[j, k]) < D[row, j] for k in range(n) if k not in (row, j))
    ]
    assert relative_neighbors(X, row).tolist() == expected
    if not on_a_grid:
        assert relative_neighbors(sparse.csr_array(X), row).tolist() == expected


def test_relative_neighbors_in_blocks(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 8))
    whole = [relative_neighbors(X, i).tolist() for i in range(60)]
    monkeypatch.setattr("leaven.self_labeling._cut_edges._DISTANCES_PER_BLOCK", 100)
    assert [relative_neighbors(X, i).tolist() for i in range(60)] == whole
    # The relation is symmetric.
    assert all(i in whole[j] for i in range(60) for j in whole[i])
    # Another metric, another graph.
    assert relative_neighbors(X, 0, "cosine").tolist() != whole[0]


def test_knn_neighbors_are_mutual_or_not():
    nearest = np.array([[1, 2], [0, 2], [1, 0], [0, 4], [3, 0]])
    assert knn_neighbors(3, nearest).tolist() == [0, 4]
    assert knn_neighbors(0, nearest).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("test", ["normal", "exact"])
@pytest.mark.parametrize(("graph", "prior"), [("relative", "labeled"), ("knn", "graph")])
def test_first_round_by_brute_force(graph, prior, test):
    X, truth = make_blobs(80, centers=3, cluster_std=3, random_state=4)
    y = np.where(np.arange(80) < 30, truth, -1)
    model = SetredClassifier(
        GaussianNB(), graph=graph, n_neighbors=4, test=test, prior=prior, per_round=9, max_iter=1
    ).fit(X, y)
    first = model.history_
    rows = np.concatenate([np.arange(30), first["row"]])
    codes = np.concatenate([y[:30], first["label"]])
    D = cdist(X[rows], X[rows])
    m = len(rows)
    near = np.argsort(D + np.diag(np.full(m, np.inf)), axis=1)[:, :4]
    for i, tail in enumerate(first["p_value"], start=30):
        if graph == "relative":
            N = [j for j in range(m) if j != i and not (np.maximum(D[i], D[j]) < D[i, j]).any()]
        else:
            N = [j for j in range(m) if j in near[i] or i in near[j]]
        w = 1 / (1 + D[i, N])
        p = np.mean((codes[:30] if prior == "labeled" else codes) == codes[i])
        J = w[codes[N] != codes[i]].sum()
        if test == "normal":
            z = (J - (1 - p) * w.sum()) / np.sqrt(p * (1 - p) * (w**2).sum())
            assert_allclose(tail, norm.cdf(z))
        else:
            draws = np.random.default_rng(0).random((40_000, len(N))) < 1 - p
            assert_allclose(tail, np.mean(draws @ w <= J + 1e-9), atol=0.01)
    assert_array_equal(first["accepted"], first["p_value"] <= 0.1)


def test_rejected_labels_are_more_often_wrong():
    wrong = {True: [], False: []}
    gain = []
    for seed in range(10):
        X, truth = make_blobs(300, centers=2, cluster_std=3.5, random_state=seed)
        y = np.where(np.arange(300) < 20, truth, -1)
        base = KNeighborsClassifier(3)
        model = SetredClassifier(base, per_round=20, max_iter=10).fit(X, y)
        history = model.history_
        for accepted in (True, False):
            part = history[history["accepted"] == accepted]
            wrong[accepted] += (part["label"].to_numpy() != truth[part["row"]]).tolist()
        plain = SelfTrainingClassifier(base, k_best=20, max_iter=10).fit(X, y)
        joined = plain.history_
        gain.append(np.mean(joined["label"].to_numpy() != truth[joined["row"]]))
    assert np.mean(wrong[True]) < np.mean(wrong[False])
    assert np.mean(wrong[True]) < np.mean(gain)


def test_candidates_follow_the_classes_and_the_pool():
    X, truth = make_blobs(200, centers=2, random_state=0)
    y = np.full(200, -1)
    y[np.flatnonzero(truth == 0)[:3]] = 0
    y[np.flatnonzero(truth == 1)[:6]] = 1
    model = SetredClassifier(GaussianNB(), max_iter=4).fit(X, y)
    counts = model.history_.groupby("iteration")["label"].value_counts().unstack()
    assert_array_equal(counts[[0, 1]], [[1, 2]] * 4)
    pool = SetredClassifier(GaussianNB(), pool_size=10, max_iter=1, per_round=50, random_state=0)
    assert len(pool.fit(X, y).history_) == 10
    assert pool.termination_condition_ == "max_iter"
    assert not pool.converged_
    other = SetredClassifier(GaussianNB(), pool_size=10, max_iter=1, per_round=50, random_state=1)
    assert set(other.fit(X, y).history_["row"]) != set(pool.history_["row"])


def test_every_row_is_tried_once():
    X, truth = make_blobs(90, centers=3, cluster_std=4, random_state=1)
    y = np.where(np.arange(90) < 12, truth, -1)
    model = SetredClassifier(GaussianNB(), max_iter=None, pool_size=20, random_state=0).fit(X, y)
    assert sorted(model.history_["row"]) == list(range(12, 90))
    assert 0 < model.n_rejected_ < 78
    assert_array_equal(
        np.flatnonzero(model.labeled_iter_ > 0),
        np.sort(model.history_.query("accepted")["row"]),
    )
    assert model.objective_trace_[-1] == 0


def test_distance_confidence_needs_no_probabilities():
    X, truth = make_blobs(60, centers=2, random_state=0)
    y = np.where(np.arange(60) < 10, truth, -1)
    with pytest.raises(ValueError, match="Perceptron has none"):
        SetredClassifier(Perceptron()).fit(X, y)
    model = SetredClassifier(Perceptron(), confidence="distance", random_state=0).fit(X, y)
    near = cdist(X[10:], X[:10]).min(axis=1)
    first = model.history_.query("iteration == 1")
    assert_allclose(first["confidence"], 1 / (1 + near[first["row"] - 10]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"significance": 1.0}, "'significance' parameter"),
        ({"graph": "gabriel"}, "'graph' parameter"),
        ({"test": "permutation"}, "'test' parameter"),
        ({"prior": "uniform"}, "'prior' parameter"),
        ({"n_neighbors": 0}, "'n_neighbors' parameter"),
        ({"per_round": 0}, "'per_round' parameter"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        SetredClassifier(GaussianNB(), **options).fit(LINE, LABELS)
