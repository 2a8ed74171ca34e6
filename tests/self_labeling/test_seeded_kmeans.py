"""Seeded k-means against scikit-learn's k-means, brute force and its constraints."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.self_labeling import SeededKMeansClassifier
from leaven.self_labeling._seeded_kmeans import assign_groups, link_groups


def problem(seed=0, n=60):
    X, truth = make_blobs(n, centers=3, cluster_std=2.0, random_state=seed)
    return X, np.where(np.arange(n) < 9, truth, -1), truth


@pytest.mark.parametrize("seed", range(4))
def test_seeded_is_k_means_started_at_the_class_means(seed):
    X, y, _ = problem(seed)
    start = np.array([X[y == k].mean(axis=0) for k in np.unique(y[y >= 0])])
    expected = KMeans(len(start), init=start, n_init=1, tol=0, algorithm="lloyd").fit(X)
    model = SeededKMeansClassifier(constrained=False).fit(X, y)
    assert_allclose(model.cluster_centers_, expected.cluster_centers_)
    assert_array_equal(model.transduction_, model.classes_[expected.labels_])
    assert_allclose(model.objective_trace_[-1], expected.inertia_)


@given(st.integers(0, 500))
def test_constrained_keeps_the_seeds_and_never_raises_the_objective(seed):
    X, _, truth = problem(seed, 30)
    y = np.where(np.arange(30) < 9, np.roll(truth, seed), -1)  # labels may be wrong
    if len(np.unique(y)) < 3:
        return
    model = SeededKMeansClassifier().fit(X, y)
    assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
    assert np.diff(model.objective_trace_).max(initial=-1) <= 1e-9


@given(st.integers(0, 300))
@example(85)  # the clearest first leaves a row without a cluster
def test_links_hold(seed):
    X, y, truth = problem(seed, 24)
    rng = np.random.RandomState(seed)
    pairs = rng.randint(0, 24, (6, 2))
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    must = pairs[same]
    apart = pairs[~same]
    model = SeededKMeansClassifier().fit(X, y, must_link=must, cannot_link=apart)
    found = model.transduction_
    assert_array_equal(found[must[:, 0]], found[must[:, 1]])
    assert (found[apart[:, 0]] != found[apart[:, 1]]).all()


def test_groups_are_the_transitive_closure():
    group, apart = link_groups(6, np.array([[0, 3], [3, 5], [1, 2]]), np.array([[5, 2]]))
    assert group[0] == group[3] == group[5] != group[1] == group[2] != group[4]
    assert apart == {group[0]: {group[1]}, group[1]: {group[0]}}


def test_assignment_is_the_cheapest_that_is_allowed():
    # Two groups apart, the first fixed: the second takes its second choice.
    costs = np.array([[9.0, 2.0, 5.0], [7.0, 1.0, 3.0], [4.0, 8.0, 6.0]])
    found = assign_groups(costs, np.array([1, -1, -1]), {0: {1}, 1: {0}})
    allowed = [c for c in itertools.product(range(3), repeat=3) if c[0] == 1 and c[1] != 1]
    best = min(allowed, key=lambda c: costs[np.arange(3), list(c)].sum())
    assert tuple(found) == best == (1, 2, 0)


def test_contradictions_are_named():
    X, y = [[0.0], [1.0], [5.0], [6.0]], [0, -1, 1, -1]
    with pytest.raises(ValueError, match="Rows 1 and 3 stand in cannot_link"):
        SeededKMeansClassifier().fit(X, y, must_link=[(1, 3)], cannot_link=[(1, 3)])
    with pytest.raises(ValueError, match="must_link joins row 2"):
        SeededKMeansClassifier().fit(X, y, must_link=[(0, 2)])
    with pytest.raises(ValueError, match="leaves a row without a cluster"):
        SeededKMeansClassifier().fit(X, y, cannot_link=[(0, 1), (2, 1)])
    with pytest.raises(ValueError, match=r"pair \(0, 4\), but rows go from 0 to 3"):
        SeededKMeansClassifier().fit(X, y, must_link=[(0, 4)])


@parametrize_with_checks(
    [SeededKMeansClassifier()],
    expected_failed_checks=lambda _: {
        "check_classifiers_classes": "-1 marks an unlabeled row, not a class"
    },
)
def test_sklearn_contract(estimator, check):
    check(estimator)


def test_new_rows_where_every_row_is_a_center():
    X = np.full((6, 2), 1e6)
    model = SeededKMeansClassifier().fit(X, [0, 1, -1, -1, 0, 1])
    assert_allclose(
        model.predict_proba([[1e6, 1e6], [0.0, 0.0], [3e6, -1e8]]), np.full((3, 2), 0.5)
    )
    apart = SeededKMeansClassifier().fit([[0.0], [1.0], [0.0]], [0, 1, -1])
    assert_allclose(apart.predict_proba([[-3.0], [0.4], [0.6]]), [[1, 0], [1, 0], [0, 1]])
