"""Graphs of rows with duplicates: neighbors are counted by distinct rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from leaven.graph import Cosine, KNNGraph, KNNTreeGraph, SpanningTreeGraph
from leaven.graph._duplicates import edges_of_duplicates
from leaven.graph_based import HarmonicClassifier, PoissonClassifier


def categories(n, seed, n_categories=3, n_columns=4):
    """Draw rows of categories, most of which are there several times."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, n_categories, size=(n, n_columns)) * np.array([1.0, 1.3, 1.7, 2.9])


def by_hand(X, k):
    """Return, for each row, the distinct rows, their distances, and which is its own."""
    distinct, own = np.unique(X, axis=0, return_inverse=True)
    D = np.sqrt(((X[:, None] - distinct) ** 2).sum(axis=2))
    return distinct, own.ravel(), D


@given(st.integers(3, 60), st.integers(1, 6), st.integers(0, 1_000))
@settings(max_examples=40)
def test_every_row_has_a_duplicate_of_each_of_its_nearest_distinct_rows(n, k, seed):
    X = categories(n, seed)
    distinct, own, D = by_hand(X, k)
    builder = KNNGraph(k, weight="binary").fit(X)
    edges = builder._edges(X)
    wanted = min(k, len(distinct) - 1)
    for i in range(n):
        mine = edges.col[edges.row == i]
        assert len(np.unique(mine)) == len(mine)
        other = mine[own[mine] != own[i]]
        # One of each neighbor, and no distinct row that is nearer is left out.
        assert len(other) == len(np.unique(own[other])) == wanted
        lengths = np.delete(D[i], own[i])
        assert_allclose(np.sort(D[i, own[other]]), np.sort(lengths)[:wanted])
        n_copies = (own == own[i]).sum() - 1
        assert (own[mine] == own[i]).sum() == min(n_copies, 2 * k)
    assert_allclose(edges.distance, D[edges.row, own[edges.col]], atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_have_the_scale_of_distinct_rows(dtype):
    X, k = categories(80, 0).astype(dtype), 3
    _, own, D = by_hand(X, k)
    radius = np.sort(D, axis=1)[:, k]  # column 0 is the row itself
    builder = KNNGraph(k).fit(X)
    W = builder.graph_.adjacency
    assert W.dtype == dtype
    i, j = W.nonzero()
    expected = np.exp(-4 * D[i, own[j]] ** 2 / (radius[i] * radius[j]))
    assert_allclose(np.asarray(W[i, j]).ravel(), expected, rtol=2e-4)
    # No weight is next to nothing, as with a scale of zero.
    assert W.data.min() > 1e-6


@pytest.mark.parametrize("symmetrize", ["union", "mutual", "mean"])
def test_more_duplicates_than_neighbors_do_not_cut_a_row_off(symmetrize):
    X = np.repeat([[0.0], [1.0], [2.5], [4.0]], [40, 30, 1, 50], axis=0)
    graph = KNNGraph(3, symmetrize=symmetrize).build(X)
    assert_array_equal(graph.components(), np.zeros(len(X)))
    y = np.full(len(X), -1)
    y[[0, 120]] = 0, 1
    expected = np.repeat([0, 0, 1], [40, 30, 51])
    expected[70] = -1  # at the same distance of both
    for model in (HarmonicClassifier(KNNGraph(1)), PoissonClassifier(KNNGraph(1))):
        answer = model.fit(X, y)
        assert answer.n_unreached_ == 0
        assert_array_equal(answer.transduction_[expected >= 0], expected[expected >= 0])


def test_edges_are_spread_over_the_duplicates():
    X = np.repeat([[0.0], [1.0]], [60, 12], axis=0)
    row, col = KNNGraph(1).fit(X)._edges(X).row, KNNGraph(1).fit(X)._edges(X).col
    across = (row < 60) & (col >= 60)
    assert_array_equal(np.bincount(col[across])[60:], np.full(12, 5))


@pytest.mark.parametrize("n", [2, 3, 9, 30])
def test_rows_that_are_all_alike(n):
    graph = KNNGraph(4).build(np.ones((n, 2)))
    assert_array_equal(graph.components(), np.zeros(n))
    assert_array_equal(graph.adjacency.data, 1.0)
    assert np.diff(graph.adjacency.indptr).max() <= 8


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_documents_without_words_stay_without_neighbors(form):
    X = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0], [3.0, 4.0], [4.0, 3.0]])
    for weight in (Cosine(), "gaussian"):
        W = KNNGraph(2, metric="cosine", weight=weight).build(form(X)).adjacency.toarray()
        assert_array_equal(W[[0, 2]], 0.0)
        assert_allclose(W[1, 3], 1.0)
        assert (W[4, [1, 3]] > 0).all()


def test_a_row_without_labeled_neighbors_is_joined_to_the_nearest_labeled_one():
    X = np.repeat([[0.0], [1.0], [5.0]], [6, 6, 6], axis=0)
    y = np.full(18, -1)
    y[17] = 0
    W = KNNGraph(1, include_labeled=True).fit(X, y).graph_.adjacency.toarray()
    assert (W[:12, 17] > 0).all()


def test_trees_of_duplicates():
    X = categories(60, 1)
    tree, forest = SpanningTreeGraph(3).build(X), KNNTreeGraph(3).build(X)
    assert_array_equal(tree.components(), np.zeros(60))
    assert sparse.triu(tree.adjacency).nnz == 59
    # As connected as the graph whose edges it keeps, without a cycle.
    assert_array_equal(forest.components(), KNNGraph(3).build(X).components())
    assert sparse.triu(forest.adjacency).nnz == 60 - forest.components().max() - 1


def test_new_rows_among_duplicates():
    X = np.repeat([[0.0], [1.0], [3.0]], [20, 20, 20], axis=0)
    builder = KNNGraph(3).fit(X)
    W = builder.weights_to(np.array([[1.0], [2.9]])).toarray()
    assert_array_equal(np.flatnonzero(W[0]) // 20, np.ones(3))
    assert_array_equal(np.flatnonzero(W[1]) // 20, np.full(3, 2))


def test_a_ring_has_no_edge_twice():
    for size in range(1, 12):
        for n_duplicates in range(1, 6):
            none = np.zeros((1, 0))
            _, row, col = edges_of_duplicates(
                none, none.astype(int), np.zeros(size, dtype=int), np.zeros(1), n_duplicates
            )
            assert len(np.unique(row * size + col)) == len(row)
            per_row = np.bincount(row, minlength=size) if len(row) else np.zeros(size)
            assert_array_equal(per_row, min(size - 1, 2 * n_duplicates))
            assert (row != col).all()


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_arrays_and_matrices_have_the_graph_of_dense_rows(kind):
    rng = np.random.default_rng(3)
    X = rng.random((12, 5)) * (rng.random((12, 5)) < 0.6) + np.eye(12, 5)
    X = np.concatenate([X, X[:4], X[:2], np.zeros((2, 5))])
    dense = KNNGraph(3, metric="cosine").build(X).adjacency.toarray()
    found = KNNGraph(3, metric="cosine").build(kind(X)).adjacency.toarray()
    assert_allclose(found, dense, atol=1e-12)
