"""Eigenvectors of Laplacians against LAPACK."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from leaven.graph import Graph, GridGraph, KNNGraph, SpanningTreeGraph
from leaven.solvers import smallest_eigenpairs


def check(L, pairs, k, atol=1e-6):
    exact = np.linalg.eigvalsh(L.toarray())
    assert_allclose(pairs.values, exact[1 : k + 1], atol=atol)
    V = pairs.vectors
    assert_allclose(V.T @ V, np.eye(k), atol=1e-6)
    assert np.abs(L @ V - V * pairs.values).max() < 1e-4


@pytest.mark.parametrize("method", ["auto", "dense", "chebyshev"])
@pytest.mark.parametrize("kind", ["combinatorial", "symmetric"])
def test_smallest_eigenpairs(method, kind):
    rng = np.random.default_rng(1)
    graph = KNNGraph(8).build(rng.normal(size=(700, 4)))
    L = graph.laplacian(kind)
    kernel = np.sqrt(graph.degree) if kind == "symmetric" else None
    pairs = smallest_eigenpairs(L, 12, kernel=kernel, method=method)
    assert pairs.converged
    check(L, pairs, 12)


def test_trees_by_the_inverse():
    rng = np.random.default_rng(1)
    graph = SpanningTreeGraph(5).build(rng.normal(size=(600, 3)))
    L = graph.laplacian("symmetric")
    pairs = smallest_eigenpairs(L, 6, kernel=np.sqrt(graph.degree), method="inverse")
    check(L, pairs, 6)


@pytest.mark.parametrize("weight", [1e-6, 1e6])
def test_weights_of_any_size(weight):
    path = sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(6, 6))
    L = Graph(weight * path.tocsr()).laplacian("combinatorial")
    pairs = smallest_eigenpairs(L, 3, method="dense")
    expected = 2 - 2 * np.cos(np.pi * np.arange(1, 4) / 6)
    assert_allclose(pairs.values / weight, expected, rtol=1e-6)


def test_components_leave_their_constants_out():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(300, 3))
    graph = KNNGraph(8).build(np.vstack([rows, rows + 100]))
    L = graph.laplacian()
    pairs = smallest_eigenpairs(L, 6, components=graph.components(), method="chebyshev")
    exact = np.linalg.eigvalsh(L.toarray())
    assert_allclose(pairs.values, exact[2:8], atol=1e-6)
    for number in range(2):
        inside = pairs.vectors[graph.components() == number]
        assert_allclose(inside.sum(axis=0), 0, atol=1e-6)


def test_path_has_known_eigenvalues():
    path = Graph.from_edges([(i, i + 1) for i in range(9)])
    values = smallest_eigenpairs(path.laplacian(), 4).values
    assert_allclose(values, 2 - 2 * np.cos(np.pi * np.arange(1, 5) / 10))


def test_a_square_grid_has_pairs_of_equal_eigenvalues():
    side = 2 - 2 * np.cos(np.pi * np.arange(40) / 40)
    exact = np.sort((side[:, None] + side).ravel())[1:41]
    L = GridGraph((40, 40)).build(np.zeros((1600, 1))).laplacian()
    pairs = smallest_eigenpairs(L, 40, method="chebyshev")
    assert_allclose(pairs.values, exact, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n_clusters", "size", "k"), [(40, 25, 30), (60, 20, 80), (100, 12, 60)])
def test_eigenspaces_wider_than_the_block_are_found_whole(seed, n_clusters, size, k):
    # Equal clusters in a ring with hardly any link: every eigenvalue of one is there as often
    # as there are clusters, many times more often than a block has columns.
    cluster = KNNGraph(7).build(np.random.default_rng(seed).normal(size=(size, 3))).adjacency
    first = size * np.arange(n_clusters)
    ends = (first, np.roll(first, -1) + 3)
    ring = sparse.coo_array((np.full(n_clusters, 1e-9), ends), shape=(n_clusters * size,) * 2)
    W = sparse.block_diag([cluster] * n_clusters) + ring + ring.T
    L = Graph(sparse.csr_array(W)).laplacian()
    pairs = smallest_eigenpairs(L, k, method="chebyshev")
    assert pairs.converged
    assert_allclose(pairs.values, np.linalg.eigvalsh(L.toarray())[1 : k + 1], atol=1e-8)


@pytest.mark.parametrize("method", ["dense", "chebyshev", "inverse"])
@pytest.mark.parametrize("k", [1, 7, 8, 20, 23, 24])
def test_nearly_all_eigenvectors_of_a_small_graph(method, k):
    rng = np.random.default_rng(1)
    L = KNNGraph(4).build(rng.normal(size=(25, 2))).laplacian()
    pairs = smallest_eigenpairs(L, k, method=method)
    check(L, pairs, k)


def test_single_precision_repeats_and_stays_single():
    rng = np.random.default_rng(1)
    graph = KNNGraph(8).build(rng.normal(size=(700, 4)))
    L = graph.laplacian().astype(np.float32)
    pairs = smallest_eigenpairs(L, 12, method="chebyshev")
    assert pairs.vectors.dtype == np.float32
    check(L.astype(float), pairs, 12, atol=1e-5)
    again = smallest_eigenpairs(L, 12, method="chebyshev")
    assert (again.vectors == pairs.vectors).all()


def test_few_or_too_many_eigenvectors():
    L = Graph.from_edges([(0, 1), (1, 2)]).laplacian()
    assert smallest_eigenpairs(L, 0).vectors.shape == (3, 0)
    with pytest.raises(ValueError, match="3 eigenvectors were asked for, but a graph of 3 nodes"):
        smallest_eigenpairs(L, 3)
    with pytest.raises(ValueError, match="method must be one of"):
        smallest_eigenpairs(L, 1, method="other")
