"""New cuts between pairs of classes against brute force and built-in clusters."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from leaven.graph import Graph, KNNGraph
from leaven.graph_based import _recut
from leaven.graph_based._cuts import cut_weight
from leaven.graph_based._recut import lighter_split, recut_pairs


def clusters(sizes, seed=0, apart=3.2):
    """Draw rows around corners of a simplex; return their graph and cluster."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(truth), len(sizes))) + apart * np.eye(len(sizes))[truth]
    # A few rows in between, so that the graph has one component.
    X[:: max(len(X) // 20, 1)] *= 0.5
    return KNNGraph(8).build(X), truth


def crossed(truth, a, b):
    """Exchange half of the rows of two classes."""
    labels = truth.copy()
    first, second = np.flatnonzero(truth == a), np.flatnonzero(truth == b)
    half = min(len(first), len(second)) // 2
    labels[first[:half]], labels[second[:half]] = b, a
    return labels


@pytest.mark.parametrize("seed", range(3))
def test_a_pair_cut_across_is_cut_between_the_clusters(seed):
    graph, truth = clusters((60, 80), seed)
    labels = crossed(truth, 0, 1)
    fixed = np.zeros(140, dtype=bool)
    # One label each, where the crossed labels are right.
    fixed[[59, 139]] = True
    split = lighter_split(graph, labels == 1, fixed)
    assert (split == (truth == 1)).mean() > 0.9
    assert split.sum() == (labels == 1).sum()
    assert_array_equal(split[fixed], (labels == 1)[fixed])
    before = cut_weight(graph.adjacency, labels)
    assert cut_weight(graph.adjacency, split.astype(int)) < _recut._GAIN * before


def test_no_split_is_lighter_than_the_lightest():
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(20):
        W = np.triu(rng.uniform(0.1, 1.0, (8, 8)) * (rng.random((8, 8)) < 0.7), 1)
        W[np.arange(7), np.arange(1, 8)] += 0.2  # connected
        graph = Graph(sparse.csr_array(W + W.T))
        fixed = np.isin(np.arange(8), [0, 7])
        # All splits into halves that keep node 0 out and node 7 in, by brute force.
        splits = [np.isin(np.arange(8), [*three, 7]) for three in combinations(range(1, 7), 3)]
        weights = [cut_weight(graph.adjacency, s.astype(int)) for s in splits]
        best, worst = splits[np.argmin(weights)], splits[np.argmax(weights)]
        assert lighter_split(graph, best, fixed, fewest=4) is None
        better = lighter_split(graph, worst, fixed, fewest=4)
        if better is not None:
            found += 1
            assert any((better == s).all() for s in splits)
            assert cut_weight(graph.adjacency, better.astype(int)) < max(weights)
    assert found >= 10


def test_labels_must_tell_the_sides_apart():
    graph, truth = clusters((60, 80))
    labels = crossed(truth, 0, 1)
    fixed = np.zeros(140, dtype=bool)
    # Both labels in the same cluster: no direction between the clusters can be oriented.
    fixed[[2, 59]] = True
    assert labels[2] != labels[59]
    split = lighter_split(graph, labels == 1, fixed)
    assert split is None or (split == (truth == 1)).mean() < 0.9
    # A side without any label.
    assert lighter_split(graph, labels == 1, np.arange(140) == 59) is None


def test_only_the_wrong_boundary_is_replaced():
    graph, truth = clusters((50, 60, 70, 80), seed=3)
    labels = crossed(truth, 1, 3)
    fixed = np.zeros(len(truth), dtype=bool)
    fixed[np.cumsum((50, 60, 70, 80)) - 1] = True
    before = labels.copy()
    new, n_moves = recut_pairs(graph, labels, fixed, 4)
    assert n_moves >= 1
    assert_array_equal(labels, before)  # the input is not written to
    assert (new == truth).mean() > 0.9 > (labels == truth).mean()
    assert_array_equal(np.bincount(new), np.bincount(labels))
    assert_array_equal(new[fixed], truth[fixed])
    assert cut_weight(graph.adjacency, new) < cut_weight(graph.adjacency, labels)
    # What is right may be smoothed a little, and is not torn apart.
    again, _ = recut_pairs(graph, truth, fixed, 4)
    assert (again == truth).mean() > 0.9
    assert cut_weight(graph.adjacency, again) <= cut_weight(graph.adjacency, truth)


def test_small_pieces_keep_their_side():
    graph, truth = clusters((60, 80))
    W = sparse.block_diag([graph.adjacency, sparse.csr_array([[0.0, 2.0], [2.0, 0.0]])])
    labels = np.append(crossed(truth, 0, 1), [1, 0])
    fixed = np.isin(np.arange(142), [59, 139])
    split = lighter_split(Graph(sparse.csr_array(W)), labels == 1, fixed)
    assert_array_equal(split[-2:], [True, False])
    assert (split[:-2] == (truth == 1)).mean() > 0.9


def test_pairs_are_in_the_order_of_the_weight_between_them():
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], [3.0, 1.0, 2.0, 5.0, 4.0])
    pairs = _recut._heaviest_pairs(graph.adjacency, np.array([0, 1, 2, 2]), 3)
    # 0-2: 5 + 4, 0-1: 3, 1-2: 1.
    assert pairs == [(0, 2), (0, 1), (1, 2)]
