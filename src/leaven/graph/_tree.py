"""Maximum spanning trees and forests of a similarity graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from leaven.graph._connect import add_edges, shortest_edges_out
from leaven.graph._knn import KNNGraph
from leaven.graph._weights import Edges

# Up to this many rows all pairs are compared, and the tree is exact.
_DENSE_BELOW = 2_000


def maximum_spanning_forest(W: sparse.csr_array, distance: Any = None) -> sparse.csr_array:
    """Keep the edges of a maximum spanning forest of a weighted graph.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric weights.
    distance : csr_array of shape (n, n), optional
        Settles ties: of two edges of equal weight the shorter is taken.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric; one tree for each component of ``W``.

    Examples
    --------
    >>> from scipy import sparse
    >>> from leaven.graph._tree import maximum_spanning_forest
    >>> W = sparse.csr_array([[0.0, 3.0, 1.0], [3.0, 0.0, 2.0], [1.0, 2.0, 0.0]])
    >>> maximum_spanning_forest(W).toarray()
    array([[0., 3., 0.],
           [3., 0., 2.],
           [0., 2., 0.]])
    """
    upper = sparse.triu(W, k=1, format="coo")
    if not upper.nnz:
        return sparse.csr_array(W.shape, dtype=W.dtype)
    ties = upper.data if distance is None else _values_at(distance, upper.row, upper.col)
    # The tree depends on the order of the weights only. Ranks keep weights apart that
    # differ by hundreds of orders of magnitude, and are never zero, which scipy takes for
    # "no edge".
    rank = np.empty(upper.nnz)
    rank[np.lexsort((ties, -upper.data))] = np.arange(1.0, upper.nnz + 1)
    # csgraph of SciPy 1.15 takes no wider indices.
    i, j = upper.row.astype(np.int32), upper.col.astype(np.int32)
    costs = sparse.csr_array((rank, (i, j)), shape=W.shape)
    tree = csgraph.minimum_spanning_tree(costs).tocoo()
    # Ranks are whole numbers, so that an edge of the tree is found again by its rank exactly.
    kept = np.sort(np.searchsorted(np.sort(rank), tree.data))
    by_rank = np.argsort(rank)[kept]
    i, j, w = upper.row[by_rank], upper.col[by_rank], upper.data[by_rank]
    forest = sparse.csr_array(
        (np.concatenate([w, w]), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=W.shape
    )
    forest.sort_indices()
    return forest


def _values_at(M: Any, i: NDArray[Any], j: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(sparse.csr_array(M)[i, j]).ravel()


class KNNTreeGraph(KNNGraph):
    """A maximum spanning forest of the k-nearest-neighbor graph, one tree per component.

    The "kNN-MST" graph of Nguyen (2019), section 3.5. It has fewer edges than nodes, and
    max-sum is exact on it. All parameters are those of :class:`KNNGraph`; with ``connect=True``
    there is one tree.

    Examples
    --------
    >>> from leaven.graph import KNNTreeGraph
    >>> KNNTreeGraph(n_neighbors=2).build([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    Graph(6 nodes, 4 edges, 2 components)
    """

    def _finish(self, W: sparse.csr_array, edges: Edges) -> sparse.csr_array:
        W = super()._finish(W, edges)
        return maximum_spanning_forest(W, _symmetric(edges, edges.distance, W.shape))


class SpanningTreeGraph(KNNGraph):
    """The maximum spanning tree of the similarities of all rows.

    Up to 2,000 rows all pairs are compared and the tree is exact. Beyond, no n × n matrix
    is made: the tree is taken in the k-nearest-neighbor graph, which is first grown until
    it is connected: each of its components is joined to the nearest row outside (Borůvka's
    step). More neighbors make this tree come closer to the exact one. All parameters are
    those of :class:`KNNGraph`; the tree is connected whatever ``connect`` is.

    Examples
    --------
    >>> from leaven.graph import SpanningTreeGraph
    >>> SpanningTreeGraph(weight="binary").build([[0.0], [1.0], [2.0], [10.0]])
    Graph(4 nodes, 3 edges, 1 component)
    """

    def _n_searched(self, k: int, n: int) -> int:
        return n - 1 if n <= _DENSE_BELOW else k

    def _finish(self, W: sparse.csr_array, edges: Edges) -> sparse.csr_array:
        D = _symmetric(edges, edges.distance, W.shape)
        while True:
            n_components, component = csgraph.connected_components(W, directed=False)
            if n_components == 1:
                return maximum_spanning_forest(W, D)
            joining = shortest_edges_out(edges, self._index, component)
            if not len(joining.row):  # an approximate search can miss every row outside
                raise ValueError("The tree cannot be connected. Use algorithm='exact'.")
            W = add_edges(W, joining, self.weight_)
            D = sparse.csr_array(D.maximum(_symmetric(joining, joining.distance, W.shape)))


def _symmetric(edges: Edges, values: NDArray[Any], shape: tuple[int, ...]) -> sparse.csr_array:
    M = sparse.csr_array((values, (edges.row, edges.col)), shape=shape)
    return sparse.csr_array(M.maximum(M.T))
