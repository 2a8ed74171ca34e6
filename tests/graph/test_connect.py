"""Joining the components of a neighbor graph, against brute force."""

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

from leaven.graph import KNNGraph, KNNTreeGraph, SpanningTreeGraph, _connect, _tree
from leaven.graph._connect import _spread


def clusters(seed, sizes=(9, 4, 13, 6, 5)):
    """Clusters far apart; no two distances between them are equal."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(scale=100.0, size=(len(sizes), 3))
    return np.vstack([rng.normal(c, 1.0, (n, 3)) for c, n in zip(centers, sizes, strict=True)])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weight", ["gaussian", "binary"])
def test_the_new_edges_are_the_shortest_spanning_tree_of_the_components(seed, weight):
    X = clusters(seed)
    apart = KNNGraph(2, weight=weight).build(X)
    found = KNNGraph(2, weight=weight, connect=True).build(X).adjacency.toarray()
    before = apart.adjacency.toarray()
    component = apart.components()
    assert component.max() >= 4
    # Brute force: the shortest pair of every two components, and networkx's spanning tree.
    D = cdist(X, X)
    between = nx.Graph()
    for a in range(component.max() + 1):
        for b in range(a):
            rows, cols = np.flatnonzero(component == a), np.flatnonzero(component == b)
            part = D[np.ix_(rows, cols)]
            i, j = np.unravel_index(part.argmin(), part.shape)
            between.add_edge(a, b, weight=part.min(), ends=frozenset((rows[i], cols[j])))
    tree = nx.minimum_spanning_edges(between, data=True)
    expected = {data["ends"] for _, _, data in tree}
    new = {frozenset(pair) for pair in np.argwhere((found > 0) & (before == 0)).tolist()}
    assert new == expected
    assert_allclose(found[before > 0], before[before > 0])
    assert_array_equal(found, found.T)


def test_a_forest_becomes_a_tree():
    X = clusters(0)
    assert KNNTreeGraph(2).build(X).n_components > 1
    tree = KNNTreeGraph(2, connect=True).build(X)
    assert (tree.n_components, tree.adjacency.nnz) == (1, 2 * (len(X) - 1))


def test_documents_without_a_common_word_stay_apart():
    # Document 3 has a word of each of two groups; the third has its words for itself.
    documents = np.array(
        [
            [3.0, 0.0, 0.0, 0.0, 0.0],
            [5.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 4.0, 0.0, 0.0],
            [1.0, 0.0, 7.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 2.0, 5.0],
            [0.0, 0.0, 0.0, 3.0, 5.0],
        ]
    )
    graph = KNNGraph(1, metric="cosine", connect=True).build(sparse.csr_array(documents))
    component = graph.components()
    assert len(set(component[:4])) == 1
    assert component[4] == component[5] != component[0]


def test_large_components_ask_a_sample_of_their_rows():
    component = np.array([0, 1, 1, 0, 1, 1, 1, 0, 1, 1])
    asking = _spread(component, np.bincount(component), 3)
    # Seven rows in steps of three, three rows in steps of one.
    assert_array_equal(np.flatnonzero(asking), [0, 1, 3, 5, 7, 9])


def test_a_large_spanning_tree_is_the_same_with_connect(monkeypatch):
    monkeypatch.setattr(_tree, "_DENSE_BELOW", 10)
    monkeypatch.setattr(_connect, "_MOST_ROWS", 1)
    X = clusters(1)
    expected = SpanningTreeGraph(2).build(X).adjacency.toarray()
    assert_array_equal(SpanningTreeGraph(2, connect=True).build(X).adjacency.toarray(), expected)
