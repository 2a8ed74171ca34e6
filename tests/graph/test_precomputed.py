"""Builders on a matrix of distances give the graphs that they build from the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import kneighbors_graph

from leaven.graph import (
    AnisotropicGaussian,
    Cosine,
    EpsilonGraph,
    FullGraph,
    Gaussian,
    KNNGraph,
    KNNTreeGraph,
    SpanningTreeGraph,
    _connect,
    _tree,
)

RNG = np.random.default_rng(11)
X = RNG.normal(size=(45, 3))
NEW = RNG.normal(size=(6, 3))
D = cdist(X, X)
D_NEW = cdist(NEW, X)
BUILDERS = [
    KNNGraph(4),
    KNNGraph(4, weight=Gaussian("median"), symmetrize="mutual"),
    KNNTreeGraph(4),
    SpanningTreeGraph(4),
    EpsilonGraph(1.3, weight=Gaussian()),
    FullGraph(),
]


@pytest.mark.parametrize("builder", BUILDERS, ids=repr)
def test_equals_the_builder_on_rows(builder):
    of_rows = clone(builder).fit(X)
    of_distances = clone(builder).set_params(metric="precomputed").fit(D)
    assert_allclose(
        of_distances.graph_.adjacency.toarray(), of_rows.graph_.adjacency.toarray(), atol=1e-10
    )
    assert_allclose(
        of_distances.weights_to(D_NEW).toarray(), of_rows.weights_to(NEW).toarray(), atol=1e-10
    )
    # A training row is at distance zero from itself, and gets its own answer.
    assert_array_equal(of_distances.weights_to(D[:5]).toarray() > 0, np.eye(45, dtype=bool)[:5])


def test_sparse_distances_of_the_neighbors_suffice():
    neighbors = sparse.csr_array(kneighbors_graph(X, 9, mode="distance"))
    graph = KNNGraph(5, metric="precomputed").build(neighbors)
    assert_allclose(graph.adjacency.toarray(), KNNGraph(5).build(X).adjacency.toarray())
    with pytest.raises(ValueError, match="has 9 stored neighbors, but 10 are needed"):
        KNNGraph(10, metric="precomputed").build(neighbors)
    # An explicit zero is a distance of zero: a duplicate.
    near = sparse.csr_array(([0.0, 2.0, 0.0, 3.0, 2.0, 3.0], [1, 2, 0, 2, 0, 1], [0, 2, 4, 6]))
    W = KNNGraph(2, metric="precomputed", weight="inverse-distance").build(near).adjacency
    assert_allclose(W.toarray(), [[0, 1, 1 / 3], [1, 0, 1 / 4], [1 / 3, 1 / 4, 0]])


def test_labels_and_far_clusters(monkeypatch):
    rows = np.vstack([X, X + 70.0, X[:5] - 40.0])
    far = cdist(rows, rows)
    y = np.where(np.arange(len(rows)) < 2, np.arange(len(rows)), -1)
    of_rows = KNNGraph(4, include_labeled=True).build(rows, y)
    of_distances = KNNGraph(4, include_labeled=True, metric="precomputed").build(far, y)
    assert_allclose(of_distances.adjacency.toarray(), of_rows.adjacency.toarray(), atol=1e-12)
    expected = SpanningTreeGraph(weight="inverse-distance").build(rows).adjacency.toarray()
    monkeypatch.setattr(_tree, "_DENSE_BELOW", 10)
    for size in (1_000, 10):
        monkeypatch.setattr(_connect, "_SMALL_COMPONENT", size)
        builder = SpanningTreeGraph(weight="inverse-distance", metric="precomputed")
        assert_allclose(builder.build(far).adjacency.toarray(), expected, atol=1e-12)


@pytest.mark.parametrize("builder", [KNNGraph(3), EpsilonGraph(), FullGraph()], ids=repr)
def test_what_cannot_be_distances_is_refused(builder):
    builder = clone(builder).set_params(metric="precomputed")
    with pytest.raises(ValueError, match=r"square matrix .* got shape \(45, 44\)"):
        builder.fit(D[:, :44])
    with pytest.raises(ValueError, match=r"must not be negative, but X holds -2"):
        builder.fit(D - 2.0)
    with pytest.raises(ValueError, match="must not be negative"):
        builder.fit(D).weights_to(-D_NEW)
    assert builder.__sklearn_tags__().input_tags.pairwise
    assert not KNNGraph().__sklearn_tags__().input_tags.pairwise


def test_weights_that_need_the_rows_say_so():
    with pytest.raises(ValueError, match="need a graph builder"):
        KNNGraph(3, metric="precomputed", weight=AnisotropicGaussian([1.0, 2.0, 3.0])).build(D)
    # Cosine weights take the distances for cosine distances.
    C = np.maximum(cdist(X, X, "cosine"), 0)
    given = KNNGraph(3, metric="precomputed", weight=Cosine()).build(C)
    made = KNNGraph(3, metric="cosine", weight=Cosine()).build(X)
    assert_allclose(given.adjacency.toarray(), made.adjacency.toarray(), atol=1e-12)
