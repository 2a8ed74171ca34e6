"""The pull towards balanced labels: brute force, the weakest one, defaults that hold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from leaven.graph import GivenGraph
from leaven.graph_based import MinCutClassifier, RandomizedMinCutClassifier
from leaven.graph_based._balanced_cut import balanced_cut, is_balanced, pulled_cut


def random_problem(seed, n=9):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.6), 1)
    free = np.arange(n) >= 2
    f = np.where(free, rng.random(n), np.arange(n))
    guess = np.column_stack([1 - f, f])
    start = np.where(free, guess.argmax(axis=1), np.arange(n))
    return W + W.T, start, free, guess


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.05, 0.3, 2.0]))
def test_pulled_cut_is_the_best_of_all_labelings(seed, strength):
    W, start, free, guess = random_problem(seed)
    unit = W.sum() / len(W)

    def energy(labels):
        cut = W[labels[:, None] != labels].sum() / 2
        lost = guess.max(axis=1) - guess[np.arange(len(W)), labels]
        return cut + strength * unit * lost.sum()

    found = pulled_cut(sparse.csr_array(W), start, free, guess, strength)
    assert_array_equal(found[~free], start[~free])
    best = np.inf
    for choice in itertools.product(range(2), repeat=int(free.sum())):
        labels = start.copy()
        labels[free] = choice
        best = min(best, energy(labels))
    assert_allclose(energy(found), best, atol=1e-12)


def two_clusters(n=30, seed=0):
    """Two dense clusters that are joined by a few edges; both labels hang by thin ones."""
    rng = np.random.default_rng(seed)
    side = np.arange(2 * n) // n
    W = np.triu(rng.random((2 * n, 2 * n)) * (side[:, None] == side), 1)
    W += np.triu((rng.random(W.shape) < 0.1) * (side[:, None] != side), 1)
    W[0, 1:] *= 0.05
    W[: 2 * n - 1, -1] *= 0.05
    y = np.full(2 * n, -1)
    y[[0, -1]] = [0, 1]
    return W + W.T, side, y


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("randomized", [False, True])
def test_default_does_not_collapse_and_none_is_the_minimum_cut(seed, randomized):
    W, truth, y = two_clusters(seed=seed)
    X, free = np.zeros((60, 1)), y < 0
    params = {"random_state": 0} if randomized else {}
    cls = RandomizedMinCutClassifier if randomized else MinCutClassifier
    model = cls(GivenGraph(W), **params).fit(X, y)
    assert model.pull_strength_ > 0
    assert np.bincount(model.transduction_[free], minlength=2).min() >= 14
    assert np.mean(model.transduction_ == truth) > 0.9
    exact = MinCutClassifier(GivenGraph(W), prior=None).fit(X, y)
    # Each label is cut off alone.
    assert np.bincount(exact.transduction_[free], minlength=2).min() == 0
    assert exact.pull_strength_ == 0
    assert exact.label_cut_value_ == exact.cut_value_
    if not randomized:
        assert model.cut_value_ == exact.cut_value_ < model.label_cut_value_


def test_the_weakest_pull_that_is_enough():
    W, truth, y = two_clusters()
    f = np.where(truth == 1, 0.7, 0.3) + 0.2 * np.random.default_rng(1).random(60)
    guess, free = np.column_stack([1 - f, f]), y < 0
    start = np.where(free, guess.argmax(axis=1), y)
    labels, strength = balanced_cut(sparse.csr_array(W), start, free, guess, np.full(2, 29.0))
    assert is_balanced(labels, free, np.full(2, 14.5))
    weaker = pulled_cut(sparse.csr_array(W), start, free, guess, 0.7 * strength)
    assert not is_balanced(weaker, free, np.full(2, 14.5))
    # A guess that is unbalanced itself cannot help.
    labels, strength = balanced_cut(
        sparse.csr_array(W), np.where(free, 0, y), free, guess, np.full(2, 29.0)
    )
    assert strength == np.inf
    assert_array_equal(labels[free], 0)


def test_a_cut_that_is_balanced_stays():
    W, truth, y = two_clusters()
    W = np.where(truth[:, None] == truth, W, 0.1 * W)
    y = np.where(np.arange(60) % 5 == 0, truth, -1)
    model = MinCutClassifier(GivenGraph(W)).fit(np.zeros((60, 1)), y)
    exact = MinCutClassifier(GivenGraph(W), prior=None).fit(np.zeros((60, 1)), y)
    assert model.pull_strength_ == 0
    assert_array_equal(model.transduction_, exact.transduction_)
