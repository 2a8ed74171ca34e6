"""Thresholds at known class proportions: order statistics, assignment, exact shares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment

from leaven.graph import GivenGraph
from leaven.graph_based import HarmonicClassifier, proportion_thresholds
from leaven.graph_based._threshold import class_sizes


def test_two_classes_are_cut_between_two_order_statistics():
    rng = np.random.default_rng(0)
    f = rng.random(20)
    scores = np.column_stack([1 - f, f])
    b = proportion_thresholds(scores, [0.65, 0.35])
    # f > t for seven rows: t is the middle of the 13th and the 14th.
    ordered = np.sort(f)
    threshold = (1 + b[1] - b[0]) / 2
    assert_allclose(threshold, (ordered[12] + ordered[13]) / 2)
    assert ((scores - b).argmax(axis=1) == 1).sum() == 7


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 40))
def test_shares_are_met_and_the_assignment_is_the_best(seed, k, n):
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.ones(k), n)
    q = rng.dirichlet(np.ones(k))
    labels = (scores - proportion_thresholds(scores, q)).argmax(axis=1)
    sizes = class_sizes(q, n)
    assert_array_equal(np.bincount(labels, minlength=k), sizes)
    column = np.repeat(np.arange(k), sizes)
    rows, places = linear_sum_assignment(-scores[:, column])
    best = scores[rows, column[places]].sum()
    assert_allclose(scores[np.arange(n), labels].sum(), best, rtol=1e-9)


@given(st.integers(0, 10_000), st.integers(0, 200))
def test_sizes_add_up_and_are_within_one(seed, n):
    q = np.random.default_rng(seed).dirichlet(np.ones(4))
    sizes = class_sizes(q, n)
    assert sizes.sum() == n
    assert np.abs(sizes - q * n).max() < 1


def test_a_class_without_rows_never_wins():
    scores = np.array([[0.1, 0.8, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1]])
    assert_array_equal(
        (scores - proportion_thresholds(scores, [0.7, 0.0, 0.3])).argmax(axis=1) == 1, False
    )


def test_harmonic_classifier_meets_the_proportions():
    rng = np.random.default_rng(3)
    W = np.triu(rng.random((60, 60)), 1)
    W += W.T
    y = np.full(60, -1)
    y[:6] = np.arange(6) % 3
    q = [0.5, 0.3, 0.2]
    X = np.zeros((60, 1))
    model = HarmonicClassifier(GivenGraph(W), prior=q, decision="threshold").fit(X, y)
    assert_array_equal(np.bincount(model.transduction_[y < 0]), [27, 16, 11])
    plain = HarmonicClassifier(GivenGraph(W), prior=None).fit(X, y)
    assert_allclose(model.scores_, plain.scores_)
    mass = HarmonicClassifier(GivenGraph(W), prior=q).fit(X, y)
    assert_array_equal(mass.class_thresholds_, 0)
    assert (mass.transduction_ != model.transduction_).any()


@pytest.mark.parametrize("prior", [None, [0.25, 0.75]])
def test_new_rows_use_the_same_thresholds(prior):
    X = np.random.default_rng(1).normal(size=(80, 2))
    y = np.where(np.arange(80) < 8, (X[:, 0] > 0).astype(int), -1)
    model = HarmonicClassifier(prior=prior, decision="threshold").fit(X, y)
    free = y < 0
    assert_array_equal(model.predict(X[free]), model.transduction_[free])


@pytest.mark.parametrize("bad", [[0.5, 0.5, 0.0], [-1.0, 2.0], [0.0, 0.0]])
def test_bad_proportions(bad):
    with pytest.raises(ValueError, match="prior"):
        proportion_thresholds([[0.3, 0.7]], bad)
