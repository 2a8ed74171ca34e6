"""Expansion moves: each by brute force, the result beside the best labeling and one-versus-rest."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from leaven.graph import GivenGraph
from leaven.graph_based import MinCutClassifier
from leaven.graph_based._expansion import alpha_expansion, expand, potts_energy


def energy(W, labels, costs):
    """Without the code under test."""
    i, j = np.triu_indices(len(W), 1)
    pairs = (W[i, j] * (labels[i] != labels[j])).sum()
    return pairs + costs[np.arange(len(labels)), labels].sum()


def random_problem(seed, n=8, k=3):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.6), 1)
    labels = rng.integers(0, k, n)
    labels[:k] = np.arange(k)
    costs = rng.random((n, k)) * rng.choice([0.0, 0.3, 2.0])
    return W + W.T, labels, np.arange(n) >= k, costs


# Edges between two other classes decide in these; they do in three of a hundred.
@example(16, 0)
@example(25, 1)
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 2))
def test_a_move_is_the_best_of_all_subsets(seed, alpha):
    W, labels, free, costs = random_problem(seed)
    found = expand(sparse.csr_array(W), labels, free, alpha, costs)
    assert_array_equal(found[~free], labels[~free])
    assert set(found[found != labels]) <= {alpha}
    best = np.inf
    for subset in itertools.product([False, True], repeat=int(free.sum())):
        trial = labels.copy()
        trial[np.flatnonzero(free)[list(subset)]] = alpha
        best = min(best, energy(W, trial, costs))
    assert_allclose(energy(W, found, costs), best, atol=1e-12)
    assert_allclose(potts_energy(sparse.csr_array(W), found, costs), best, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_two_classes_are_solved_exactly(seed):
    W, labels, free, costs = random_problem(seed, n=9, k=2)
    labels[free] = 0
    found, _ = alpha_expansion(sparse.csr_array(W), labels, free, 2, costs)
    best = np.inf
    for choice in itertools.product(range(2), repeat=int(free.sum())):
        trial = labels.copy()
        trial[free] = choice
        best = min(best, energy(W, trial, costs))
    assert_allclose(energy(W, found, costs), best, atol=1e-12)


def graph_with_labels(seed, n=10, k=3):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1)
    W += np.diag(np.full(n - 1, 0.2), 1)
    y = np.full(n, -1)
    y[rng.choice(n, k, replace=False)] = np.arange(k)
    return W + W.T, y


def least_cut(W, y, k=3):
    free = np.flatnonzero(y < 0)
    choices = np.array(list(itertools.product(range(k), repeat=len(free))))
    labelings = np.tile(y, (len(choices), 1))
    labelings[:, free] = choices
    i, j = np.triu_indices(len(y), 1)
    return float(((labelings[:, i] != labelings[:, j]) @ W[i, j]).min())


def cut_value(W, y, **params):
    model = MinCutClassifier(GivenGraph(W), **params).fit(np.zeros((len(y), 1)), y)
    labels = model.transduction_
    assert_allclose(model.cut_value_, W[labels[:, None] != labels].sum() / 2)
    return model.cut_value_


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["source", "sink", "balanced"]))
def test_never_worse_than_one_versus_rest_and_within_twice_the_best(seed, side):
    W, y = graph_with_labels(seed)
    best = least_cut(W, y)
    apart = cut_value(W, y, side=side, multiclass="one-versus-rest")
    together = cut_value(W, y, side=side)
    assert best * (1 - 1e-9) <= together <= min(apart * (1 + 1e-9), 2 * best)


def test_most_small_graphs_are_solved_and_one_versus_rest_is_not():
    # On these 40 graphs of 10 nodes brute force says what is best.
    found = np.array(
        [
            [least_cut(W, y), cut_value(W, y), cut_value(W, y, multiclass="one-versus-rest")]
            for W, y in map(graph_with_labels, range(40))
        ]
    )
    excess = found[:, 1:] / found[:, :1] - 1
    solved = (excess < 1e-9).sum(axis=0)
    assert solved[0] > solved[1] + 5
    assert solved[0] >= 30
    assert excess[:, 0].mean() < 0.02 < 0.05 < excess[:, 1].mean()


def test_claimed_rows_stay_and_moves_are_counted():
    W, y = graph_with_labels(1)
    model = MinCutClassifier(GivenGraph(W), multiclass="one-versus-rest")
    apart = model.fit(np.zeros((10, 1)), y)
    assert apart.n_moves_ == 0
    together = MinCutClassifier(GivenGraph(W)).fit(np.zeros((10, 1)), y)
    assert together.lower_bound_ == apart.lower_bound_ <= together.cut_value_
    sure = (apart.scores_ == 1).any(axis=1)
    assert_array_equal(together.transduction_[sure], apart.transduction_[sure])


@pytest.mark.parametrize("k", [3, 5])
def test_exchanging_classes_exchanges_the_answer(k):
    W, y = graph_with_labels(7, n=30, k=k)
    model = MinCutClassifier(GivenGraph(W)).fit(np.zeros((30, 1)), y)
    turned = np.where(y < 0, -1, k - 1 - y)
    other = MinCutClassifier(GivenGraph(W)).fit(np.zeros((30, 1)), turned)
    assert_array_equal(k - 1 - other.transduction_, model.transduction_)
