"""The k-nearest-neighbor graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaven._distinct import distinct_rows
from leaven.graph._base import (
    GraphBuilder,
    check_distances,
    edges_from_neighbors,
    join_new_rows,
    weigh,
)
from leaven.graph._connect import connect_components
from leaven.graph._duplicates import edges_of_duplicates
from leaven.graph._graph import Graph, symmetrize
from leaven.graph._neighbors import DEFAULT_RECALL, NeighborIndex, squared_norms
from leaven.graph._weights import Edges, as_weight


class KNNGraph(GraphBuilder):
    """Join every row to its k nearest neighbors.

    An edge exists when one end is among the k nearest of the other (``"union"``,
    ``max(P, Pᵀ)``) or when both are (``"mutual"``, ``min(P, Pᵀ)``). Duplicates count as one row: a
    row that has more of them than k is not cut off from all others. Each is joined to one
    duplicate of every neighbor, and to its own duplicates, at most 2k of them.

    Parameters
    ----------
    n_neighbors : int, default=7
        At most the number of other rows is used. Few neighbors with weights that adapt to
        the density label best; more help when the graph falls into pieces.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn. ``"cosine"`` is for text. A callable is called for every
        pair of rows, which is slow, unless it has an attribute ``accepts_matrices`` that is
        true: then it is called as ``metric(A, B)`` for blocks of rows. ``"precomputed"``
        takes ``X`` as the matrix of distances. Rows whose cosine similarity is zero get no
        edge: an empty document has no neighbors.
    weight : weight or str, default="gaussian"
        For instance ``Gaussian(bandwidth=2.0)``, ``Binary()`` or ``"binary"``. The default
        adapts to the density around each row.
    symmetrize : {"union", "mutual", "mean"}, default="union"
    include_labeled : bool, default=False
        Join each row also to its nearest labeled row when none is among its neighbors, so
        that no component is without a label (Nguyen, 2019, section 3.5). ``fit`` then
        needs ``y``.
    connect : bool, default=False
        Join every component to the nearest row outside, until the graph is connected: clusters
        without a label then take the class of what is nearest to them. Under the cosine metric
        components that have nothing in common with the others stay apart.
    algorithm : {"auto", "exact", "approximate"}, default="auto"
        Exact search is scikit-learn's and takes time in proportion to n². The approximate one
        grows about like n; it needs metric ``"cosine"``, or ``"euclidean"`` and a dense ``X``.
        ``"auto"`` is approximate from 20,000 rows up where it can be.
    recall : float, default=0.99
        The share of true neighbors that the approximate search must find on a sample. Less is
        faster, and costs accuracy: on MNIST 0.8 points of it at 0.9.
    metric_params : dict, optional
    memory : str or joblib.Memory, optional
        Where to keep built graphs; the same rows and parameters are then built once.
    n_jobs : int, optional

    Attributes
    ----------
    graph_ : Graph
    is_approximate_ : bool
    weight_ : the fitted weight

    See Also
    --------
    KNNTreeGraph : Keeps only a spanning forest of this graph.

    Examples
    --------
    >>> from leaven.graph import KNNGraph
    >>> KNNGraph(n_neighbors=1, weight="binary").build([[0.0], [1.0], [3.0]]).adjacency.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """

    def __init__(
        self,
        n_neighbors: int = 7,
        *,
        metric: Any = "euclidean",
        weight: Any = "gaussian",
        symmetrize: str = "union",
        include_labeled: bool = False,
        connect: bool = False,
        algorithm: str = "auto",
        recall: float = DEFAULT_RECALL,
        metric_params: dict[str, Any] | None = None,
        memory: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.weight = weight
        self.symmetrize = symmetrize
        self.include_labeled = include_labeled
        self.connect = connect
        self.algorithm = algorithm
        self.recall = recall
        self.metric_params = metric_params
        self.memory = memory
        self.n_jobs = n_jobs

    def uses_labels(self) -> bool:
        """Whether ``include_labeled`` is set.

        Returns
        -------
        bool
        """
        return self.include_labeled

    def _fit_graph(self, X: Any, labeled: NDArray[np.bool_] | None) -> None:
        n = X.shape[0]
        self._index = self._make_index(X)
        self.is_approximate_ = self._index.is_approximate
        edges = self._edges(X)
        if self.include_labeled:
            edges = self._with_labeled(edges, labeled)
        self._scale = edges.row_scale
        self.weight_ = as_weight(self.weight).fit(edges)
        W = sparse.csr_array((weigh(edges, self.weight_), (edges.row, edges.col)), shape=(n, n))
        self.graph_ = Graph._trusted(self._finish(symmetrize(W, self.symmetrize), edges))

    def _edges(self, X: Any) -> Edges:
        n = X.shape[0]
        k = self._n_neighbors(n - 1)
        n_searched = self._n_searched(k, n)
        rows = None if self._is_precomputed() else X
        if rows is not None and n_searched == k:
            first, inverse = distinct_rows(X)
            if len(first) < n:
                return self._edges_of_distinct(X, first, inverse)
        distance, index = self._index.within(n_searched)
        check_distances(distance)
        return edges_from_neighbors(
            distance, index, rows, rows, self.metric, scale=distance[:, k - 1]
        )

    def _edges_of_distinct(
        self, X: Any, first: NDArray[np.intp], inverse: NDArray[np.intp]
    ) -> Edges:
        """List the edges where duplicates count as one row."""
        rows = X[first]
        k = self._n_neighbors(len(first) - 1)
        distance = np.zeros((len(first), 0), dtype=X.dtype)
        index = np.zeros((len(first), 0), dtype=np.intp)
        if k:
            distance, index = self._make_index(rows).within(k)
        check_distances(distance)
        own = np.zeros(len(first), dtype=distance.dtype)
        if isinstance(self.metric, str) and self.metric == "cosine":
            # Rows without content have nothing in common, not even with each other.
            own[squared_norms(rows) == 0] = 1.0
        scale = distance[:, -1] if k else own
        lengths, row, col = edges_of_duplicates(
            distance, index, inverse, own, self._n_neighbors(X.shape[0] - 1)
        )
        return Edges(lengths, row, col, X, X, scale[inverse], scale[inverse], metric=self.metric)

    def _n_searched(self, k: int, n: int) -> int:
        """How many neighbors to search for; the spanning tree of a small table wants all."""
        return k

    def _finish(self, W: sparse.csr_array, edges: Edges) -> sparse.csr_array:
        """What becomes of the symmetric weights; the trees keep some of the edges only."""
        if self.connect:
            return connect_components(W, edges, self._index, self.weight_)
        return W

    def _make_index(self, X: Any) -> NeighborIndex:
        return NeighborIndex(
            X,
            metric=self.metric,
            metric_params=self.metric_params,
            algorithm=self.algorithm,
            recall=self.recall,
            n_jobs=self.n_jobs,
        )

    def _n_neighbors(self, most: int) -> int:
        if not isinstance(self.n_neighbors, (int, np.integer)) or self.n_neighbors < 1:
            raise ValueError(f"n_neighbors must be an integer from 1 up, got {self.n_neighbors!r}.")
        return min(int(self.n_neighbors), most)

    def _with_labeled(self, edges: Edges, labeled: NDArray[np.bool_] | None) -> Edges:
        if labeled is None or not labeled.any():
            raise ValueError("include_labeled=True needs y with at least one labeled row in fit.")
        served = labeled.copy()
        served[edges.row[labeled[edges.col]]] = True
        lacking = np.flatnonzero(~served)
        if not len(lacking):
            return edges
        known = np.flatnonzero(labeled)
        distance, nearest = self._index.restricted_to(known).of(self._index.rows(lacking, known), 1)
        return replace(
            edges,
            distance=np.concatenate([edges.distance, distance.ravel()]),
            row=np.concatenate([edges.row, lacking]),
            col=np.concatenate([edges.col, known[nearest.ravel()]]),
        )

    def _weights_to(self, X_new: Any) -> sparse.csr_array:
        X = self._index._X
        k = self._n_neighbors(X.shape[0])
        distance, index = self._index.of(X_new, k)
        check_distances(distance)
        left, right = (None, None) if self._is_precomputed() else (X_new, X)
        edges = edges_from_neighbors(
            distance, index, left, right, self.metric, scale=distance[:, -1], col_scale=self._scale
        )
        return join_new_rows(edges, self.weight_, (X_new.shape[0], X.shape[0]))
