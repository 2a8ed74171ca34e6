"""The ε-ball graph and the full graph: edges by distance alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances

from leaven.exceptions import MemoryBoundError
from leaven.graph._base import GraphBuilder, check_distances, join_new_rows, weigh
from leaven.graph._graph import Graph, symmetrize
from leaven.graph._neighbors import NeighborIndex, check_metric, plain_search
from leaven.graph._weights import Edges, EdgeWeight, Gaussian, as_weight

# Where rows have no k of their own, local scaling takes the 7th neighbor, as its authors do.
_LOCAL_NEIGHBOR = 7


class EpsilonGraph(GraphBuilder):
    """Join every two rows that are at most ``radius`` apart.

    Parameters
    ----------
    radius : float, default=1.0
        ε. There is no good default for all data: look at ``KNNGraph`` first.
    metric : str or callable, default="euclidean"
        ``"precomputed"`` takes ``X`` as the matrix of distances.
    weight : weight or str, default="binary"
    metric_params : dict, optional
    memory : str or joblib.Memory, optional
    n_jobs : int, optional

    Attributes
    ----------
    graph_ : Graph
    weight_ : the fitted weight

    Examples
    --------
    >>> from leaven.graph import EpsilonGraph
    >>> EpsilonGraph(radius=1.5).build([[0.0], [1.0], [3.0]])
    Graph(3 nodes, 1 edge, 2 components)
    """

    def __init__(
        self,
        radius: float = 1.0,
        *,
        metric: Any = "euclidean",
        weight: Any = "binary",
        metric_params: dict[str, Any] | None = None,
        memory: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.radius = radius
        self.metric = metric
        self.weight = weight
        self.metric_params = metric_params
        self.memory = memory
        self.n_jobs = n_jobs

    def _fit_graph(self, X: Any, labeled: NDArray[np.bool_] | None) -> None:
        check_metric(self.metric)
        if not self.radius > 0:
            raise ValueError(f"radius must be positive, got {self.radius!r}.")
        self._search = plain_search(
            self.metric, self.metric_params, self.n_jobs, radius=self.radius
        ).fit(X)
        ball = self._search.radius_neighbors_graph(mode="distance").astype(X.dtype).tocoo()
        check_distances(ball.data)
        weight = as_weight(self.weight)
        self._scale = local_scale(weight, X, X, self.metric, self.metric_params)
        rows = None if self._is_precomputed() else X
        edges = Edges(
            ball.data, ball.row, ball.col, rows, rows, self._scale, self._scale, self.metric
        )
        self._X = X
        self.weight_ = weight.fit(edges)
        W = sparse.csr_array((weigh(edges, self.weight_), (ball.row, ball.col)), shape=ball.shape)
        # The weight is symmetric but for the last bit, which depends on the direction.
        self.graph_ = Graph._trusted(symmetrize(W, "union"))

    def _weights_to(self, X_new: Any) -> sparse.csr_array:
        X = self._X
        ball = self._search.radius_neighbors_graph(X_new, mode="distance")
        outside = np.flatnonzero(np.diff(ball.indptr) == 0)
        ball = ball.tocoo()
        row, col, distance = ball.row, ball.col, ball.data
        if len(outside):  # a row outside all balls is joined to the nearest row
            d, j = self._search.kneighbors(X_new[outside], n_neighbors=1)
            row = np.concatenate([row, outside])
            col = np.concatenate([col, j.ravel()])
            distance = np.concatenate([distance, d.ravel()])
        scale = local_scale(self.weight_, X_new, X, self.metric, self.metric_params)
        left, right = (None, None) if self._is_precomputed() else (X_new, X)
        edges = Edges(distance, row, col, left, right, scale, self._scale, self.metric)
        return join_new_rows(edges, self.weight_, (X_new.shape[0], X.shape[0]))


class FullGraph(GraphBuilder):
    """Join every row to every other: the graph of Zhu, Ghahramani and Lafferty (2003).

    It has n (n - 1) / 2 edges, so it is for a few thousand rows; ``KNNGraph`` is for more.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        ``"precomputed"`` takes ``X`` as the matrix of distances.
    weight : weight or str, default=None
        None stands for ``Gaussian(bandwidth="median")``.
    metric_params : dict, optional
    max_bytes : float, default=4e9
        A graph that needs more memory than this is refused.
    memory : str or joblib.Memory, optional
    n_jobs : int, optional

    Attributes
    ----------
    graph_ : Graph
    weight_ : the fitted weight

    Examples
    --------
    >>> from leaven.graph import FullGraph, Gaussian
    >>> W = FullGraph(weight=Gaussian(bandwidth=1.0)).build([[0.0], [1.0], [2.0]]).adjacency
    >>> W.toarray().round(3)
    array([[0.   , 0.607, 0.135],
           [0.607, 0.   , 0.607],
           [0.135, 0.607, 0.   ]])
    """

    def __init__(
        self,
        *,
        metric: Any = "euclidean",
        weight: Any = None,
        metric_params: dict[str, Any] | None = None,
        max_bytes: float = 4e9,
        memory: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.weight = weight
        self.metric_params = metric_params
        self.max_bytes = max_bytes
        self.memory = memory
        self.n_jobs = n_jobs

    def _fit_graph(self, X: Any, labeled: NDArray[np.bool_] | None) -> None:
        check_metric(self.metric)
        weight = as_weight(Gaussian(bandwidth="median") if self.weight is None else self.weight)
        self._scale = local_scale(weight, X, X, self.metric, self.metric_params)
        self._X = X
        edges = self._edges(X, self._scale)
        # A row is no neighbor of itself; with a median bandwidth its zeros would shrink the median.
        off = edges.row != edges.col
        edges = replace(edges, distance=edges.distance[off], row=edges.row[off], col=edges.col[off])
        self.weight_ = weight.fit(edges)
        shape = (X.shape[0], X.shape[0])
        W = sparse.csr_array((weigh(edges, self.weight_), (edges.row, edges.col)), shape=shape)
        self.graph_ = Graph._trusted(symmetrize(W, "union"))

    def _edges(self, A: Any, scale: NDArray[Any] | None) -> Edges:
        n_left, n_right = A.shape[0], self._X.shape[0]
        # Distance, weight and CSR value, row, column and CSR column of every pair.
        needed = n_left * n_right * (3 * A.dtype.itemsize + 12)
        if needed > self.max_bytes:
            raise MemoryBoundError(
                f"The full graph of {n_left:,} x {n_right:,} rows needs about "
                f"{needed / 1e9:.1f} GB, more than max_bytes={self.max_bytes / 1e9:g} GB. Use "
                "KNNGraph, which is sparse, or raise max_bytes."
            )
        left, right = A, self._X
        if self._is_precomputed():
            D = A.toarray() if sparse.issparse(A) else A
            left = right = None
        else:
            D = pairwise_distances(
                A, self._X, metric=self.metric, n_jobs=self.n_jobs, **(self.metric_params or {})
            )
        check_distances(D)
        row = np.repeat(np.arange(n_left, dtype=np.int32), n_right)
        col = np.tile(np.arange(n_right, dtype=np.int32), n_left)
        return Edges(D.ravel(), row, col, left, right, scale, self._scale, self.metric)

    def _weights_to(self, X_new: Any) -> sparse.csr_array:
        scale = local_scale(self.weight_, X_new, self._X, self.metric, self.metric_params)
        edges = self._edges(X_new, scale)
        return join_new_rows(edges, self.weight_, (X_new.shape[0], self._X.shape[0]))


def local_scale(
    weight: EdgeWeight, A: Any, X: Any, metric: Any, metric_params: dict[str, Any] | None
) -> NDArray[Any] | None:
    """Distance of each row of ``A`` to its 7th nearest in ``X``, if the weight asks for it."""
    if not (isinstance(weight, Gaussian) and weight.bandwidth == "local"):
        return None
    index = NeighborIndex(X, metric=metric, metric_params=metric_params, algorithm="exact")
    if A is X:
        return index.within(min(_LOCAL_NEIGHBOR, X.shape[0] - 1))[0][:, -1]
    return index.of(A, min(_LOCAL_NEIGHBOR, X.shape[0]))[0][:, -1]
