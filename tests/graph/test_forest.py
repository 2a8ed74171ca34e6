"""Spanning forests against networkx, and the growing of a tree, component by component."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist

from leaven.graph import Graph, KNNGraph, KNNTreeGraph, SpanningTreeGraph, _connect, _tree
from leaven.graph._tree import maximum_spanning_forest


@st.composite
def weighted(draw):
    """Draw a symmetric matrix with ties, gaps and weights of very different size."""
    n = draw(st.integers(1, 9))
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    values = rng.choice([0.0, 0.0, 1.0, 2.0, 2.5, 1e-200, 1e200], size=(n, n))
    return np.triu(values, 1) + np.triu(values, 1).T


@given(weighted())
@settings(max_examples=80)
def test_the_forest_is_as_heavy_as_that_of_networkx(W):
    forest = maximum_spanning_forest(sparse.csr_array(W))
    peer = nx.maximum_spanning_edges(nx.from_numpy_array(W), data=True)
    expected = sorted(data["weight"] for _, _, data in peer)
    found = sparse.triu(forest).data
    assert_allclose(np.sort(found), expected)
    # Its edges are edges of the graph, and join what the graph joins.
    dense = forest.toarray()
    assert_array_equal(dense, dense.T)
    assert_array_equal(dense[dense > 0], W[dense > 0])
    parts = csgraph.connected_components(sparse.csr_array(W), directed=False)[0]
    assert csgraph.connected_components(forest, directed=False)[0] == parts


def test_ties_go_to_the_shorter_edge():
    W = sparse.csr_array(np.ones((4, 4)) - np.eye(4))
    D = sparse.csr_array(cdist([[0.0], [1.0], [3.0], [3.5]], [[0.0], [1.0], [3.0], [3.5]]))
    forest = maximum_spanning_forest(W, D).toarray()
    assert_array_equal(np.argwhere(np.triu(forest)), [[0, 1], [1, 2], [2, 3]])


def test_no_edges_and_loops_alone():
    assert maximum_spanning_forest(sparse.csr_array((3, 3))).nnz == 0
    assert maximum_spanning_forest(sparse.csr_array(np.eye(3))).nnz == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_type_of_the_weights_is_kept(dtype):
    W = sparse.csr_array(np.array([[0, 2, 1], [2, 0, 3], [1, 3, 0]], dtype=dtype))
    assert maximum_spanning_forest(W).dtype == dtype


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_the_exact_tree_is_the_minimum_spanning_tree_of_the_distances(seed, metric):
    # Any weight that falls with the distance has the same tree.
    X = np.random.default_rng(seed).normal(size=(30, 3))
    D = cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric))
    tree = csgraph.minimum_spanning_tree(D).tocoo()
    expected = {frozenset(pair) for pair in zip(tree.row.tolist(), tree.col.tolist(), strict=True)}
    for weight in ("inverse-distance", "binary"):
        graph = SpanningTreeGraph(metric=metric, weight=weight).build(X)
        i, j, _ = graph.edges()
        assert {frozenset(pair) for pair in zip(i.tolist(), j.tolist(), strict=True)} == expected


@pytest.mark.parametrize("small", [1, 3, 1_000])
@pytest.mark.parametrize("seed", range(3))
def test_a_grown_tree_is_connected_and_joins_clusters_by_shortest_edges(seed, small, monkeypatch):
    # Three clusters far apart: two of the joining edges must be the shortest between clusters.
    monkeypatch.setattr(_tree, "_DENSE_BELOW", 5)
    monkeypatch.setattr(_connect, "_SMALL_COMPONENT", small)
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(8, 2)) + place for place in ((0, 0), (40, 0), (0, 90))])
    cluster = np.repeat([0, 1, 2], 8)
    graph = SpanningTreeGraph(3, weight="inverse-distance").build(X)
    assert (graph.n_components, graph.n_edges) == (1, 23)
    i, j, _ = graph.edges()
    across = cluster[i] != cluster[j]
    D = cdist(X, X)
    between = [D[np.ix_(cluster == a, cluster == b)].min() for a, b in ((0, 1), (0, 2), (1, 2))]
    assert_allclose(np.sort(D[i[across], j[across]]), np.sort(between)[:2])


def test_a_tree_of_precomputed_distances_is_grown_too(monkeypatch):
    monkeypatch.setattr(_tree, "_DENSE_BELOW", 5)
    X = np.vstack([np.arange(6.0)[:, None], 100 + np.arange(6.0)[:, None]])
    plain = SpanningTreeGraph(2).build(X)
    graph = SpanningTreeGraph(2, metric="precomputed").build(cdist(X, X))
    assert graph.n_components == 1
    assert_allclose(graph.adjacency.toarray(), plain.adjacency.toarray(), atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_forest_of_the_neighbor_graph_has_its_components(k):
    X = np.random.default_rng(k).normal(size=(40, 2))
    forest, graph = KNNTreeGraph(k).build(X), KNNGraph(k).build(X)
    assert_array_equal(forest.components(), graph.components())
    assert forest.n_edges == 40 - graph.n_components
    expected = nx.maximum_spanning_tree(graph.to_networkx()).size(weight="weight")
    assert_allclose(forest.adjacency.sum() / 2, expected)


def test_duplicates_hang_together_in_a_tree():
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    graph = SpanningTreeGraph(2).build(X)
    assert (graph.n_components, graph.n_edges) == (1, 11)
    i, j, _ = graph.edges()
    assert_allclose(np.sort(np.abs(X[i] - X[j]).ravel()), [0.0] * 9 + [1.0, 4.0])


def test_a_search_that_misses_every_row_outside_says_so(monkeypatch):
    monkeypatch.setattr(_tree, "_DENSE_BELOW", 2)
    X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]])
    builder = SpanningTreeGraph(2)

    class Blind:
        """An index that finds nobody but the rows of the own component."""

        is_approximate = True

        def within(self, k):
            index = np.array([[1, 2], [0, 2], [0, 1], [0, 1], [5, 6], [4, 6], [4, 5], [4, 5]])
            return np.full((8, k), 0.1), index

        def rows(self, rows, among=None):
            return rows

        def of(self, rows, k):
            own = np.where(np.asarray(rows)[:, None] < 4, 0, 4) + np.arange(4)
            return np.full((len(rows), 4), 0.1), own

    monkeypatch.setattr(SpanningTreeGraph, "_make_index", lambda self, X: Blind())
    with pytest.raises(ValueError, match=r"cannot be connected. Use algorithm='exact'"):
        builder.build(X)


def test_edges_that_join_far_components_do_not_underflow():
    X = np.array([[0.0], [1.0], [1e8], [1e8 + 1]])
    graph = SpanningTreeGraph(1).build(X)
    assert graph.n_components == 1
    assert (graph.adjacency.data > 0).all()


def test_subgraphs_and_reach_of_a_forest():
    graph = Graph.from_edges([(0, 1), (1, 2), (3, 4)], [2.0, 3.0, 5.0], n_nodes=6)
    assert_array_equal(graph.reached_from([2]), [True, True, True, False, False, False])
    assert_array_equal(graph.reached_from([5, 3]), [False, False, False, True, True, True])
    assert not graph.reached_from(np.zeros(6, dtype=bool)).any()
    part = graph.subgraph([4, 2, 3])
    assert_allclose(part.adjacency.toarray(), [[0, 0, 5], [0, 0, 0], [5, 0, 0]])
