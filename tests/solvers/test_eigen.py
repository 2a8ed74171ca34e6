"""Eigenvectors of Laplacians against LAPACK."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from leaven.graph import Graph, KNNGraph, SpanningTreeGraph
from leaven.solvers._eigen import smallest_eigenpairs

RNG = np.random.default_rng(0)


def check(L, pairs, k, atol=1e-6):
    exact = np.linalg.eigvalsh(L.toarray())
    assert_allclose(pairs.values, exact[1 : k + 1], atol=atol)
    V = pairs.vectors
    assert_allclose(V.T @ V, np.eye(k), atol=1e-6)
    assert np.abs(L @ V - V * pairs.values).max() < 1e-4


@pytest.mark.parametrize("method", ["auto", "dense", "chebyshev"])
@pytest.mark.parametrize("kind", ["combinatorial", "symmetric"])
def test_smallest_eigenpairs(method, kind):
    graph = KNNGraph(8).build(RNG.normal(size=(700, 4)))
    L = graph.laplacian(kind)
    kernel = np.sqrt(graph.degree) if kind == "symmetric" else None
    pairs = smallest_eigenpairs(L, 12, kernel=kernel, method=method)
    assert pairs.converged
    check(L, pairs, 12)


def test_trees_by_the_inverse():
    graph = SpanningTreeGraph(5).build(RNG.normal(size=(600, 3)))
    L = graph.laplacian("symmetric")
    pairs = smallest_eigenpairs(L, 6, kernel=np.sqrt(graph.degree), method="inverse")
    check(L, pairs, 6)


def test_components_leave_their_constants_out():
    rows = RNG.normal(size=(300, 3))
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
