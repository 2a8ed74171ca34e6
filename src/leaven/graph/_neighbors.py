"""Nearest neighbors: exact through scikit-learn, approximate by cells and by rare words.

All sit behind :class:`NeighborIndex`, so that builders do not know which one is at work.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import VALID_METRICS, NearestNeighbors
from sklearn.preprocessing import normalize

from leaven.graph._cells import CellSearch
from leaven.graph._sparse_cosine import SparseCosine

ALGORITHMS = ("auto", "exact", "approximate")
# From this many rows up, algorithm="auto" is approximate. At this size the exact search
# takes a second or two; see benchmarks/graph.py.
APPROXIMATE_FROM = 20_000

# The labels need it: on MNIST with ten labels per class harmonic functions are right on 95.4%
# of the rows at recall 0.90, 95.9% at 0.95 and 96.2% at 0.99, where the search takes twice the
# time of 0.90. The neighbors that are missed are not random, they lie where cells meet.
DEFAULT_RECALL = 0.99

# Pairs of rows whose differences are computed at once: 50 columns take 13 MB.
_PAIR_CHUNK = 1 << 15

# Size of one block of a distance matrix: 64 MB.
_CHUNK_BYTES = 1 << 26

# Beyond these, squares of float64 overflow or vanish; rows are scaled to unit size first.
_LARGE, _SMALL = 1e150, 1e-150


def check_metric(metric: Any) -> None:
    """Raise for a metric that scikit-learn does not know.

    Raises
    ------
    ValueError
        Lists the metrics that are known.
    """
    if callable(metric):
        return
    known = sorted(VALID_METRICS["brute"])
    if metric not in known:
        raise ValueError(f"metric={metric!r} is not known. Use a callable or one of {known}.")


def plain_search(
    metric: Any, metric_params: dict[str, Any] | None, n_jobs: int | None, radius: float = 1.0
) -> NearestNeighbors:
    """Make scikit-learn's search; the power of Minkowski's metric is a parameter of its own."""
    others = dict(metric_params or {})
    return NearestNeighbors(
        radius=radius,
        metric=metric,
        p=others.pop("p", 2),
        metric_params=others or None,
        n_jobs=n_jobs,
    )


def use_approximate(algorithm: str, X: Any, metric: Any) -> bool:
    """Decide between the exact and the approximate search.

    Parameters
    ----------
    algorithm : {"auto", "exact", "approximate"}
    X : matrix of shape (n_samples, n_features)
    metric : str or callable

    Returns
    -------
    bool
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {ALGORITHMS}, got {algorithm!r}.")
    known = metric if isinstance(metric, str) else ""
    fits = known == "cosine" or (known in ("euclidean", "l2") and not sparse.issparse(X))
    if algorithm == "approximate":
        if not fits:
            raise ValueError(
                "algorithm='approximate' needs metric 'cosine', or a dense X and metric "
                f"'euclidean', got {'sparse' if sparse.issparse(X) else 'dense'} X and "
                f"metric={metric!r}. Use algorithm='exact', or reduce X to a few hundred dense "
                "columns with TruncatedSVD first."
            )
        return True
    return algorithm == "auto" and fits and int(X.shape[0]) >= APPROXIMATE_FROM


class NeighborIndex:
    """Searches for the nearest rows of ``X``.

    Parameters
    ----------
    X : dense or CSR matrix of shape (n_samples, n_features)
    metric : str or callable
    metric_params : dict, optional
    algorithm : {"auto", "exact", "approximate"}
    recall : float
        The share of true neighbors that the approximate search must find on a sample of
        rows; it looks further until it does.
    n_jobs : int, optional

    Attributes
    ----------
    is_approximate : bool

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph import NeighborIndex
    >>> distance, row = NeighborIndex(np.array([[0.0], [1.0], [5.0]])).within(1)
    >>> distance.ravel(), row.ravel()
    (array([1., 1., 4.]), array([1, 0, 1]))
    """

    def __init__(
        self,
        X: Any,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        algorithm: str = "auto",
        recall: float = DEFAULT_RECALL,
        n_jobs: int | None = None,
    ) -> None:
        check_metric(metric)
        self.metric = metric
        self.n_rows = int(X.shape[0])
        self.is_approximate = use_approximate(algorithm, X, metric)
        self._params = metric_params
        self._recall = recall
        self._n_jobs = n_jobs
        self._cosine = metric == "cosine"
        self._is_precomputed = isinstance(metric, str) and metric == "precomputed"
        self._euclidean = isinstance(metric, str) and metric in ("euclidean", "l2")
        self._unit = _unit_of(X) if self._euclidean else 1.0
        # On the unit sphere cosine distance is half the squared Euclidean one. That search
        # is several times faster, but an all-zero row has no place on the sphere.
        self._on_sphere = self._cosine and not sparse.issparse(X) and bool(squared_norms(X).all())
        self._X = X
        self._search: Any
        if self._cosine and sparse.issparse(X):
            self._search = SparseCosine(X, recall=recall if self.is_approximate else None)
        elif self.is_approximate:
            self._search = CellSearch(self._prepare(X), recall=recall)
        elif self._is_precomputed:
            self._search = _Precomputed(X)
        elif getattr(metric, "accepts_matrices", False) and not sparse.issparse(X):
            self._search = _Matrices(X, metric, metric_params)
        else:
            self._search = plain_search(
                "euclidean" if self._on_sphere else metric, metric_params, n_jobs
            ).fit(self._prepare(X))

    def rows(self, rows: NDArray[Any], among: NDArray[Any] | None = None) -> Any:
        """Return rows of ``X`` in the form that ``of`` takes.

        Parameters
        ----------
        rows : ndarray of int
        among : ndarray of int, optional
            The rows that the index is restricted to, if it is.

        Returns
        -------
        matrix
        """
        part = self._X[rows]
        return part[:, among] if among is not None and self._is_precomputed else part

    def restricted_to(self, rows: NDArray[Any]) -> NeighborIndex:
        """Return an exact index of some rows only; ``rows`` are numbered from 0 in it."""
        part = self._X[rows]
        return NeighborIndex(
            part[:, rows] if self._is_precomputed else part,
            metric=self.metric,
            metric_params=self._params,
            algorithm="exact",
            n_jobs=self._n_jobs,
        )

    def _prepare(self, X: Any) -> Any:
        if self._cosine and sparse.issparse(X):
            return X  # the search scales the rows itself
        if self._on_sphere or (self._cosine and self.is_approximate):
            return normalize(X)
        return X if self._unit == 1.0 else X * X.dtype.type(1.0 / self._unit)

    def within(self, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return distances and numbers of the ``k`` nearest other rows of every row."""
        if isinstance(self._search, NearestNeighbors):
            distance, index = self._search.kneighbors(n_neighbors=k)
        elif isinstance(self._search, _Precomputed):
            distance, index = self._search.search(None, k)
        else:
            distance, index = _drop_self(*self._search.search(None, k + 1))
        return self._exact(self._X, distance, index)

    def of(self, X_new: Any, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return distances and numbers of the ``k`` rows nearest to each row of ``X_new``."""
        if isinstance(self._search, NearestNeighbors):
            if self._on_sphere and not squared_norms(X_new).all():
                return self._of_zero_rows(X_new, k)
            distance, index = self._search.kneighbors(self._prepare(X_new), n_neighbors=k)
        else:
            distance, index = self._search.search(self._prepare(X_new), k)
        return self._exact(X_new, distance, index)

    def _of_zero_rows(self, X_new: Any, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """An all-zero new row is as far from everything; scikit-learn's search says so."""
        plain = NearestNeighbors(metric="cosine", algorithm="brute").fit(self._X)
        distance, index = plain.kneighbors(X_new, n_neighbors=k)
        return distance, index

    def _exact(
        self, A: Any, distance: NDArray[Any], index: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Compute the distances found once more, from the differences of the rows.

        The fast searches use ``|a|² - 2ab + |b|²``, which loses most digits for rows that
        are close; equal rows then seem to be apart.
        """
        if sparse.issparse(A) or not (self._euclidean or self._on_sphere or self.is_approximate):
            return distance * distance.dtype.type(self._unit), index
        distance = np.empty(index.shape, dtype=A.dtype)
        left_rows, right_rows = self._prepare(A), self._prepare(self._X)
        step = max(1, _PAIR_CHUNK // index.shape[1])
        for start in range(0, len(index), step):
            rows = slice(start, start + step)
            # From the differences, pair by pair: cancellation hurts only where nothing is left
            # anyway.
            difference = left_rows[rows, None, :] - right_rows[index[rows]]
            distance[rows] = np.einsum("ijk,ijk->ij", difference, difference)
        if self._cosine:
            distance /= 2
            # A row of zeros has no place on the sphere: its similarity to any row is zero.
            distance[squared_norms(A) == 0] = 1.0
            distance[(squared_norms(self._X) == 0)[index]] = 1.0
        else:
            distance = np.sqrt(distance) * A.dtype.type(self._unit)
        order = np.argsort(distance, axis=1, kind="stable")
        return np.take_along_axis(distance, order, axis=1), np.take_along_axis(index, order, axis=1)


def _unit_of(X: Any) -> float:
    """Power of two that brings the rows into the range where squares can be computed."""
    values = X.data if sparse.issparse(X) else X
    if not values.size:
        return 1.0
    largest = float(max(abs(float(values.min())), abs(float(values.max()))))
    shrink = 1.0 if values.dtype == np.float64 else 0.125  # exponent of float32 against float64
    if largest == 0.0 or _SMALL**shrink <= largest <= _LARGE**shrink:
        return 1.0
    # A power of two, so that scaling there and back changes no digit.
    return float(2.0 ** np.floor(np.log2(largest)))


def squared_norms(X: Any) -> NDArray[Any]:
    """Return the squared length of each row."""
    if sparse.issparse(X):
        # The sum of a sparse matrix, unlike that of a sparse array, is a column.
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def _drop_self(distance: NDArray[Any], index: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Take each row out of its own neighbors; if duplicates crowd it out, the farthest goes."""
    n, k = index.shape
    own = index == np.arange(n)[:, None]
    # Each row loses exactly one entry, or the rest would not be a rectangle.
    own[~own.any(axis=1), -1] = True
    keep = ~own
    return distance[keep].reshape(n, k - 1), index[keep].reshape(n, k - 1)


class _Precomputed:
    """The smallest entries of the rows of a matrix of distances.

    Of a sparse matrix only the stored entries are distances; a zero that is not stored is not.
    """

    def __init__(self, D: Any) -> None:
        self._D = D

    def search(self, D_new: Any, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        D = self._D if D_new is None else D_new
        if sparse.issparse(D):
            return self._of_sparse(sparse.csr_array(D), k, drop_self=D_new is None)
        if D_new is None:
            D = D.copy()
            np.fill_diagonal(D, np.inf)
        best = np.argpartition(D, k - 1, axis=1)[:, :k]
        value = np.take_along_axis(D, best, axis=1)
        order = np.lexsort((best, value), axis=1)
        return np.take_along_axis(value, order, axis=1), np.take_along_axis(best, order, axis=1)

    @staticmethod
    def _of_sparse(
        D: sparse.csr_array, k: int, *, drop_self: bool
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        entries = D.tocoo()
        row, col, value = entries.row, entries.col, entries.data
        if drop_self:
            off = row != col
            row, col, value = row[off], col[off], value[off]
        order = np.lexsort((col, value, row))
        row, col, value = row[order], col[order], value[order]
        start = np.searchsorted(row, np.arange(D.shape[0] + 1))
        if (np.diff(start) < k).any():
            poor = int(np.diff(start).argmin())
            raise ValueError(
                f"Row {poor} of the sparse matrix of distances has {np.diff(start)[poor]} stored "
                f"neighbors, but {k} are needed. Store more of them, or use a dense matrix."
            )
        chosen = start[:-1, None] + np.arange(k)
        return value[chosen], col[chosen]


class _Matrices:
    """Exact neighbors by a metric of blocks of rows, ``metric(A, B)`` of shape (n_a, n_b).

    A callable says by the attribute ``accepts_matrices`` that it is one; scikit-learn would
    call it for one pair of rows after the other.
    """

    def __init__(self, X: Any, metric: Any, metric_params: dict[str, Any] | None) -> None:
        self._X = X
        self._metric = metric
        self._params = metric_params or {}

    def search(self, X_new: Any, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        rows = self._X if X_new is None else X_new
        n = len(self._X)
        distance = np.empty((len(rows), k), dtype=rows.dtype)
        index = np.empty((len(rows), k), dtype=np.intp)
        step = max(1, _CHUNK_BYTES // (8 * n))
        for start in range(0, len(rows), step):
            part = slice(start, min(start + step, len(rows)))
            found = np.asarray(self._metric(rows[part], self._X, **self._params))
            if X_new is None:  # a row comes first among its own neighbors, before its copies
                own = np.arange(part.start, part.stop)
                found[np.arange(len(own)), own] = -1.0
            best = np.argpartition(found, k - 1, axis=1)[:, :k]
            value = np.take_along_axis(found, best, axis=1)
            order = np.lexsort((best, value), axis=1)
            index[part] = np.take_along_axis(best, order, axis=1)
            distance[part] = np.take_along_axis(value, order, axis=1)
        return np.maximum(distance, 0), index
