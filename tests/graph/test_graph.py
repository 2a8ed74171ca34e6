"""The Graph value: Laplacians, components, and ways in and out."""

import copy
import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse import csgraph

from leaven.graph import Graph


@st.composite
def adjacencies(draw):
    n = draw(st.integers(1, 8))
    W = draw(arrays(float, (n, n), elements=st.sampled_from([0.0, 0.3, 1.0, 7.0])))
    return np.triu(W, 1) + np.triu(W, 1).T


@given(adjacencies())
@settings(max_examples=40, deadline=None)
def test_laplacians_equal_scipys(W):
    graph = Graph(W)
    assert_allclose(graph.laplacian().toarray(), csgraph.laplacian(W), atol=1e-12)
    expected = csgraph.laplacian(W, normed=True)
    assert_allclose(graph.laplacian("symmetric").toarray(), expected, atol=1e-12)
    d = W.sum(axis=0)
    walk = np.diag((d > 0).astype(float)) - W / np.where(d > 0, d, 1)[:, None]
    assert_allclose(graph.laplacian("random-walk").toarray(), walk, atol=1e-12)


def test_laplacian_with_the_diagonal_removed():
    W = np.array([[5.0, 2.0], [2.0, 0.0]])
    assert_allclose(Graph(W).laplacian("random-walk").toarray(), [[2 / 7, -2 / 7], [-1, 1]])
    without = Graph(W).laplacian("random-walk", drop_loops=True).toarray()
    assert_allclose(without, [[1, -1], [-1, 1]])


@given(adjacencies())
@settings(max_examples=40, deadline=None)
def test_components_edges_and_networkx_agree(W):
    graph = Graph(W)
    other = graph.to_networkx()
    assert graph.n_components == nx.number_connected_components(other)
    assert graph.n_edges == other.number_of_edges()
    assert Graph.from_networkx(other) == graph
    i, j, w = graph.edges()
    assert Graph.from_edges(np.column_stack([i, j]), w, n_nodes=graph.n_nodes) == graph


@pytest.mark.parametrize(
    ("edges", "n_nodes"),
    [([(0, 1), (1, 4)], 5), ([(6, 2), (0, 1)], 7), ([(3, 3)], 4), ([(0, 2)], 3), ([], 0)],
)
def test_the_largest_number_in_the_edges_gives_the_number_of_nodes(edges, n_nodes):
    assert Graph.from_edges(edges).n_nodes == n_nodes
    assert Graph.from_edges(edges, n_nodes=n_nodes) == Graph.from_edges(edges)
    assert Graph.from_edges(edges, n_nodes=n_nodes + 2).n_nodes == n_nodes + 2
    if edges:
        with pytest.raises(ValueError, match=f"name node {n_nodes - 1}, but n_nodes={n_nodes - 1}"):
            Graph.from_edges(edges, n_nodes=n_nodes - 1)


def test_edges_given_twice_add_up_and_loops_count_once():
    graph = Graph.from_edges([(0, 1), (1, 0), (2, 2)], [2.0, 3.0, 7.0])
    assert_array_equal(graph.adjacency.toarray(), [[0, 5, 0], [5, 0, 0], [0, 0, 7]])
    assert graph.n_edges == 2
    i, j, w = graph.edges()
    assert_array_equal(np.column_stack([i, j, w]), [[0, 1, 5], [2, 2, 7]])


def test_indices_have_32_bits_whatever_comes():
    wide = sparse.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]]))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for graph in (Graph(wide), Graph.from_edges([(0, 1)], [2.0])):
        assert graph.adjacency.indices.dtype == graph.adjacency.indptr.dtype == np.int32
        assert_array_equal(graph.adjacency.toarray(), [[0, 2], [2, 0]])
        assert graph.subgraph([1]).adjacency.indices.dtype == np.int32


@given(adjacencies())
@settings(max_examples=40, deadline=None)
def test_a_laplacian_is_positive_semidefinite_with_one_zero_per_component(W):
    graph = Graph(W)
    for kind in ("combinatorial", "symmetric"):
        values = np.linalg.eigvalsh(graph.laplacian(kind).toarray())
        assert values.min() > -1e-9
        assert (values < 1e-9).sum() == graph.n_components
        if kind == "symmetric":
            assert values.max() <= 2 + 1e-9
    v = np.arange(len(W)) ** 2.0
    energy = (W * (v[:, None] - v) ** 2).sum() / 2
    assert_allclose(v @ graph.laplacian() @ v, energy, atol=1e-8)


def test_reached_from_and_subgraph():
    graph = Graph.from_edges([(0, 1), (2, 3)], [2.0, 5.0], n_nodes=5)
    assert_array_equal(graph.reached_from([3]), [False, False, True, True, False])
    mask = np.array([True, False, False, False, True])
    assert_array_equal(graph.reached_from(mask), [True, True, False, False, True])
    assert_array_equal(graph.subgraph([2, 3]).adjacency.toarray(), [[0, 5], [5, 0]])


def test_is_immutable_and_cheap_to_copy():
    graph = Graph([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="read-only"):
        graph.adjacency.data[0] = 9.0
    with pytest.raises(ValueError, match="read-only"):
        graph.degree[0] = 9.0
    assert copy.deepcopy(graph) is graph
    assert copy.copy(graph) is graph
    assert pickle.loads(pickle.dumps(graph)) == graph


def test_the_given_matrix_is_left_alone():
    W = sparse.csr_array([[0.0, 1.0], [1.0, 0.0]])
    Graph(W)
    W.data[:] = 3.0


def test_float32_stays_float32():
    assert Graph(np.array([[0, 1], [1, 0]], dtype=np.float32)).adjacency.dtype == np.float32


@pytest.mark.parametrize(
    ("W", "message"),
    [
        ([[0, 1], [2, 0]], "not symmetric"),
        ([[0, -1], [-1, 0]], "must not be negative, but the smallest is -1"),
        ([[0, np.nan], [np.nan, 0]], "finite"),
        ([[0, 1, 2]], "square"),
    ],
)
def test_bad_matrices(W, message):
    with pytest.raises(ValueError, match=message):
        Graph(W)


@pytest.mark.parametrize(
    ("edges", "kwargs", "message"),
    [
        ([(0, 1, 2)], {}, "shape"),
        ([(0, -1)], {}, "integers from 0 up"),
        ([(0, 0.5)], {}, "integers from 0 up"),
        ([(0, 5)], {"n_nodes": 3}, "the last is 2"),
        ([(0, 1)], {"weights": [1.0, 2.0]}, "there are 1 edges"),
    ],
)
def test_bad_edges(edges, kwargs, message):
    with pytest.raises(ValueError, match=message):
        Graph.from_edges(edges, **kwargs)


def test_directed_networkx_graph_is_refused():
    with pytest.raises(ValueError, match="to_undirected"):
        Graph.from_networkx(nx.DiGraph([(0, 1)]))


def test_unknown_laplacian_and_repr():
    graph = Graph(np.ones((3, 3)))
    with pytest.raises(ValueError, match="must be one of"):
        graph.laplacian("other")
    assert repr(graph) == "Graph(3 nodes, 6 edges, 1 component)"
    assert graph != "something else"
    assert Graph.from_edges([], n_nodes=2).n_edges == 0
