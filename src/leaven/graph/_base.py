"""What every graph builder does: check, build, keep, and join new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, check_memory, validate_data

from leaven._compat import num_samples
from leaven._labels import labeled_mask
from leaven.graph._graph import Graph
from leaven.graph._shared import shared
from leaven.graph._weights import Edges, EdgeWeight


class GraphBuilder(BaseEstimator):
    """Base of the builders: an estimator that makes a graph of the rows of ``X``.

    A builder defines ``_fit_graph(X, labeled)``, which sets ``graph_`` and what
    ``weights_to`` needs.

    Examples
    --------
    >>> from leaven.graph import Graph, GraphBuilder
    >>> class Ring(GraphBuilder):
    ...     def _fit_graph(self, X, labeled):
    ...         n = len(X)
    ...         self.graph_ = Graph.from_edges([(i, (i + 1) % n) for i in range(n)])
    >>> Ring().build([[0.0], [1.0], [2.0], [3.0]])
    Graph(4 nodes, 4 edges, 1 component)
    """

    graph_: Graph
    _fitted_sparse: bool = False
    uses_features = True
    """False for builders that take only the number of rows from ``X``."""

    memory: Any = None

    def fit(self, X: Any, y: Any = None) -> Any:
        """Build the graph of the rows of ``X``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``metric="precomputed"`` the distances of all pairs of rows, or a sparse
            matrix of the distances to some neighbors.
        y : array-like of shape (n_samples,), optional
            Only builders that look at the labels use it.

        Returns
        -------
        self
        """
        if self.uses_features:
            X = validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                order="C",
                ensure_min_samples=2,
            )
            if self._is_precomputed():
                check_precomputed(X, square=True)
            self._fitted_sparse = sparse.issparse(X)
        labeled = labeled_mask(y) if y is not None and self.uses_labels() else None
        if labeled is not None and len(labeled) != num_samples(X):
            raise ValueError(f"X has {num_samples(X)} rows, but y has {len(labeled)}.")
        if self.memory is None:
            self._fit_graph(X, labeled)
        else:
            bare = clone(self).set_params(memory=None)
            learned = check_memory(self.memory).cache(_learn)(bare, X, labeled)
            self.__dict__.update(learned)
        return self

    def _is_precomputed(self) -> bool:
        return isinstance(metric := getattr(self, "metric", None), str) and metric == "precomputed"

    def uses_labels(self) -> bool:
        """Whether the graph depends on which rows carry a label.

        Returns
        -------
        bool
        """
        return False

    def _fit_graph(self, X: Any, labeled: NDArray[np.bool_] | None) -> None:
        raise AssertionError(f"{type(self).__name__} must define _fit_graph")

    def build(self, X: Any, y: Any = None) -> Graph:
        """Build and return the graph of ``X``; the builder itself stays as it is.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional

        Returns
        -------
        Graph
        """
        graph: Graph = clone(self).fit(X, y).graph_
        return graph

    def weights_to(self, X_new: Any) -> sparse.csr_array:
        """Return the weights of the edges from new rows to the rows of ``fit``.

        The bandwidth is the one that was learned in ``fit``. A new row that is equal to
        rows of ``fit`` is joined to these alone, so that predicting a training row gives
        its own label.

        Parameters
        ----------
        X_new : {array-like, sparse matrix} of shape (n_new, n_features)
            With ``metric="precomputed"`` the distances to the rows of ``fit``.

        Returns
        -------
        scipy.sparse.csr_array of shape (n_new, n_samples)
        """
        check_is_fitted(self, "graph_")
        if self.uses_features:
            X_new = validate_data(
                self,
                X_new,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                order="C",
                reset=False,
            )
            if self._is_precomputed():
                check_precomputed(X_new, square=False)
            else:
                X_new = self._as_fitted(X_new)
        return shared(self, X_new, self._weights_to)

    def _as_fitted(self, X_new: Any) -> Any:
        """New rows as a dense or a sparse matrix, whichever the rows of ``fit`` were."""
        if self._fitted_sparse == sparse.issparse(X_new):
            return X_new
        return sparse.csr_array(X_new) if self._fitted_sparse else X_new.toarray()

    def _weights_to(self, X_new: Any) -> sparse.csr_array:
        raise ValueError(
            f"{type(self).__name__} cannot join new rows to its graph: it is not built from "
            "features. Put all rows into fit, the new ones without a label."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed()
        tags.target_tags.required = False
        return tags


def _learn(builder: GraphBuilder, X: Any, labeled: NDArray[np.bool_] | None) -> dict[str, Any]:
    """Fit a builder and return what it learned: the function that is cached."""
    before = set(vars(builder))
    builder._fit_graph(X, labeled)
    return {name: value for name, value in vars(builder).items() if name not in before}


def edges_from_neighbors(
    distance: NDArray[Any],
    index: NDArray[Any],
    X: Any,
    Y: Any,
    metric: Any,
    *,
    scale: NDArray[Any],
    col_scale: NDArray[Any] | None = None,
) -> Edges:
    """List the edges of a neighbor search row by row.

    ``scale`` is the local scale of the rows of ``X`` and ``col_scale`` that of the rows of
    ``Y``; None means that ``X`` is ``Y``.
    """
    n, k = index.shape
    return Edges(
        distance=distance.ravel(),
        row=np.repeat(np.arange(n, dtype=np.int32), k),
        col=index.ravel().astype(np.int32),
        X=X,
        Y=Y,
        row_scale=scale,
        col_scale=scale if col_scale is None else col_scale,
        metric=metric,
    )


def check_precomputed(D: Any, *, square: bool) -> None:
    """Refuse a matrix that cannot hold distances.

    Raises
    ------
    ValueError
        For a negative entry, or where a square matrix is asked for and another one came.
    """
    if square and D.shape[0] != D.shape[1]:
        raise ValueError(
            "metric='precomputed' takes the square matrix of the distances of all pairs of rows, "
            f"got shape {D.shape}."
        )
    values = D.data if sparse.issparse(D) else D
    if values.size and values.min() < 0:
        raise ValueError(
            f"Distances must not be negative, but X holds {values.min():g}. Turn similarities "
            "into distances first, or use GivenGraph."
        )


def check_distances(distance: NDArray[Any]) -> None:
    """Refuse distances that overflowed.

    Raises
    ------
    ValueError
        Says what to do.
    """
    if not np.isfinite(distance).all():
        raise ValueError(
            "Distances between rows of X are too large for floating point numbers, or not "
            "defined. Scale the columns first, for instance with StandardScaler."
        )


def weigh(edges: Edges, weight: EdgeWeight) -> NDArray[Any]:
    """Weigh edges; under the cosine metric rows without anything in common get no edge.

    A row of zeros (an empty document) is at distance 1 from every row, and so is a document
    that shares no word with any other. Which rows are "nearest" to it depends on their order
    alone, and says nothing about its class.
    """
    weights = weight(edges)
    apart = unrelated(edges)
    return np.where(apart, weights.dtype.type(0), weights) if apart.any() else weights


def unrelated(edges: Edges) -> NDArray[np.bool_]:
    """Tell which edges join rows of cosine similarity zero."""
    if not (isinstance(edges.metric, str) and edges.metric == "cosine"):
        return np.zeros(len(edges.distance), dtype=bool)
    # Distances on the unit sphere carry a few roundings.
    return np.asarray(np.abs(edges.distance - 1.0) <= 8 * np.finfo(edges.distance.dtype).eps)


def join_new_rows(edges: Edges, weight: EdgeWeight, shape: tuple[int, int]) -> sparse.csr_array:
    """Weigh the edges of new rows; a row equal to rows of the fit is joined to them alone."""
    weights = weigh(edges, weight)
    apart = unrelated(edges)
    same = _equal_ends(edges) & ~apart
    has_same = np.zeros(shape[0], dtype=bool)
    has_same[edges.row[same]] = True
    weights = np.where(has_same[edges.row], same.astype(weights.dtype), weights)
    W = sparse.csr_array((weights, (edges.row, edges.col)), shape=shape)
    W.eliminate_zeros()
    # All weights of a far row can underflow to zero: it then takes its nearest neighbor.
    lonely = np.flatnonzero(np.diff(W.indptr) == 0)
    related = edges.row[~apart] if weight.zero_means_far else edges.row[:0]
    lonely = lonely[np.isin(lonely, related)]
    if len(lonely):
        order = np.lexsort((edges.distance, edges.row))
        first = order[np.searchsorted(edges.row[order], lonely)]
        extra = sparse.csr_array(
            (np.ones(len(lonely), dtype=W.dtype), (edges.row[first], edges.col[first])), shape=shape
        )
        W = sparse.csr_array(W + extra)
    return W


def _equal_ends(edges: Edges) -> NDArray[np.bool_]:
    """Tell which edges join two equal rows (only where the distance is tiny is it asked)."""
    if edges.X is None:  # precomputed distances: zero is all that is known of equal rows
        return np.asarray(edges.distance == 0)
    same = np.zeros(len(edges.row), dtype=bool)
    largest = edges.distance.max(initial=0.0)
    # Equal rows may seem apart by rounding; which of the near ones are equal is asked below.
    near = np.flatnonzero(edges.distance <= 1e-5 * largest)
    if len(near):
        A, B = edges.X[edges.row[near]], edges.Y[edges.col[near]]
        if sparse.issparse(A):
            same[near] = np.diff(sparse.csr_array(A != B).indptr) == 0
        else:
            same[near] = (A == B).all(axis=1)
    return same
