"""Cosine neighbors of sparse rows, such as texts.

Two texts are compared by the words they share. Nearly all of that work goes into frequent
words, which hardly matter: their weights are small. The approximate search therefore lets the
rare words choose a short list for each row, and ranks that list by all words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

# Similarities held at once, in single precision 16 MB.
_BLOCK_ENTRIES = 1 << 22

# Entries of which the largest stands for all when the k-th largest of a row is bounded.
_SEGMENT = 64

# Segments of a row as a multiple of k, at least: two of the k largest then seldom share one.
_SEGMENTS = 4

# Length of the short list as a multiple of the neighbors asked for. Of 18,828 newsgroup texts
# and words in at most 500 of them, lists of 4 find 98.5% of the neighbors, lists of 8 99.2%.
_SHORT_LIST = 8

# A word in at most this many rows is rare; doubled until the recall is reached.
_RARE = 128

# Rows whose true neighbors are computed to see whether the recall is reached.
_SAMPLE = 128

# Distances below this are rounding errors of duplicates.
_COPY = 1e-12


class SparseCosine:
    """Searches for the rows of a sparse matrix with the largest cosine similarity.

    Parameters
    ----------
    X : CSR matrix of shape (n_samples, n_features)
    recall : float, optional
        The share of true neighbors that must be found on a sample of rows; None for an exact
        search.
    """

    def __init__(self, X: Any, *, recall: float | None = None) -> None:
        if recall is not None and not 0 < recall <= 1:
            raise ValueError(f"recall must lie in (0, 1], got {recall!r}.")
        self.recall = recall
        self._unit = sparse.csr_array(normalize(X))
        self._transposed = sparse.csr_array(self._unit.T)
        self._n_rows_of = np.bincount(self._unit.indices, minlength=self._unit.shape[1])
        self._limit: dict[int, int] = {}

    def search(self, X_new: Any, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return distances and numbers of the ``k`` nearest rows, in the order of ``X_new``.

        None stands for the rows of ``X``, each of which comes first among its own neighbors.
        """
        unit = self._unit if X_new is None else sparse.csr_array(normalize(X_new))
        own = np.arange(unit.shape[0]) if X_new is None else None
        if self.recall is None:
            index, lacking = self._exact(unit, own, k)
        else:
            index, lacking = self._by_rare_words(unit, own, k, self._rare_limit(k))
        if len(lacking):
            part = None if own is None else own[lacking]
            index[lacking] = self._compare_all(unit[lacking], part, k)
        similarity = _pair_products(unit, self._unit, index)
        if own is not None:
            similarity[index == own[:, None]] = 2.0
        order = np.lexsort((index, -similarity), axis=1)
        index = np.take_along_axis(index, order, axis=1)
        distance = 1.0 - np.minimum(np.take_along_axis(similarity, order, axis=1), 1.0)
        return np.where(distance < _COPY, 0.0, distance).astype(unit.dtype), index

    def _rare_limit(self, k: int) -> int:
        """Find in how many rows a word may be so that the recall is reached on a sample."""
        if k not in self._limit:
            assert self.recall is not None
            n = self._unit.shape[0]
            rows = np.random.default_rng(0).choice(n, size=min(n, _SAMPLE), replace=False)
            sample = self._unit[np.sort(rows)]
            truth, poor = self._exact(sample, None, k)
            last = _pair_products(sample, self._unit, truth).min(axis=1, keepdims=True)
            full = np.setdiff1d(np.arange(len(rows)), poor)
            limit = _RARE
            while limit < n and len(full):
                found, lacking = self._by_rare_words(sample, None, k, limit)
                alike = _pair_products(sample, self._unit, found)
                # Too few rare words in common: those rows are compared with all later, and not
                # counted here.
                alike[lacking] = 0.0
                # Compared by similarity, not by number: duplicates are as good as the original.
                if np.mean((alike >= last - 1e-6)[full]) >= self.recall:
                    break
                limit *= 2
            self._limit[k] = limit
        return self._limit[k]

    def _exact(
        self, unit: sparse.csr_array, own: NDArray[Any] | None, k: int
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Neighbors among the rows that share a word; rows that have too few of them."""
        index = np.zeros((unit.shape[0], k), dtype=np.intp)
        lacking = [np.empty(0, dtype=np.intp)]
        for rows in _blocks(unit.shape[0], self._unit.shape[0]):
            q, column, value = _largest(unit[rows] @ self._transposed, own, rows.start, k)
            chosen, poor = _first_of_each(q, value, rows.stop - rows.start, k)
            index[rows] = column[chosen] if len(column) else 0
            lacking.append(poor + rows.start)
        return index, np.concatenate(lacking)

    def _by_rare_words(
        self, unit: sparse.csr_array, own: NDArray[Any] | None, k: int, limit: int
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """As ``_exact``, among the rows that share the most of words in ``limit`` rows."""
        is_rare = self._n_rows_of <= limit
        rare, frequent = np.flatnonzero(is_rare), np.flatnonzero(~is_rare)
        left, right = _columns(unit, rare), _columns(self._unit, rare)
        others_left, others_right = _columns(unit, frequent), _columns(self._unit, frequent)
        transposed = sparse.csr_array(right.T)
        index = np.zeros((unit.shape[0], k), dtype=np.intp)
        lacking = [np.empty(0, dtype=np.intp)]
        # A row meets at most the rows of its words: the work grows like the number of rows.
        for rows in _blocks(unit.shape[0], min(self._unit.shape[0], 64 * limit)):
            product = left[rows] @ transposed
            q, column, value = _largest(product, own, rows.start, _SHORT_LIST * k)
            value += _row_products(others_left[q + rows.start], others_right[column])
            if own is not None:
                value[column == own[rows][q]] = 2.0
            chosen, poor = _first_of_each(q, value, rows.stop - rows.start, k)
            index[rows] = column[chosen] if len(column) else 0
            lacking.append(poor + rows.start)
        return index, np.concatenate(lacking)

    def _compare_all(
        self, unit: sparse.csr_array, own: NDArray[Any] | None, k: int
    ) -> NDArray[np.intp]:
        """Neighbors among all rows, also those that share no word."""
        index = np.empty((unit.shape[0], k), dtype=np.intp)
        for rows in _blocks(unit.shape[0], self._unit.shape[0]):
            similarity = (unit[rows] @ self._transposed).toarray()
            if own is not None:
                similarity[np.arange(len(similarity)), own[rows]] = 2.0
            # Stable: rows with nothing in common are taken in the order of their numbers.
            index[rows] = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
        return index


def _blocks(n: int, width: int) -> list[slice]:
    step = max(1, _BLOCK_ENTRIES // max(width, 1))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _columns(X: sparse.csr_array, columns: NDArray[Any]) -> sparse.csr_array:
    return sparse.csr_array(X[:, columns], dtype=np.float32)


def _largest(
    product: Any, own: NDArray[Any] | None, first: int, k: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any]]:
    """List the entries of each row of a sparse product that are among its ``k`` largest.

    There may be somewhat more than ``k``: the largest entry of every segment of a row is looked
    at, and the k-th of these bounds the k-th largest entry from below. The own row counts as
    the most similar.
    """
    product = sparse.csr_array(product)
    counts = np.diff(product.indptr)
    widest = int(counts.max(initial=0))
    length = min(_SEGMENT, widest // (_SEGMENTS * k) + 1)
    n_segments = max(-(-widest // length), k)
    padded = np.zeros((len(counts), n_segments * length), dtype=product.dtype)
    padded[np.arange(padded.shape[1]) < counts[:, None]] = product.data
    # Every n_segments-th entry is in one segment, so that a short row fills segments too.
    top = padded.reshape(len(counts), length, n_segments).max(axis=1)
    last = np.partition(top, n_segments - k, axis=1)[:, n_segments - k, None]
    flat = np.flatnonzero((padded >= last) & (padded > 0.0))
    q, position = np.divmod(flat, padded.shape[1])
    column = product.indices[product.indptr[q] + position].astype(np.intp)
    value = padded.ravel()[flat]
    if own is None:
        return q, column, value
    other = column != own[first + q]
    rows = np.arange(len(counts))
    return (
        np.concatenate([q[other], rows]),
        np.concatenate([column[other], own[first + rows]]),
        np.concatenate([value[other], np.full(len(rows), 2.0, dtype=value.dtype)]),
    )


def _first_of_each(
    owner: NDArray[np.intp], value: NDArray[Any], n: int, k: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where the ``k`` largest values of each owner are, and the owners with fewer."""
    by = np.lexsort((-value, owner))
    start = np.searchsorted(owner[by], np.arange(n + 1))
    poor = np.flatnonzero(np.diff(start) < k)
    chosen = np.minimum(start[:-1, None] + np.arange(k), max(len(by) - 1, 0))
    return (by[chosen] if len(by) else np.zeros((n, k), dtype=np.intp)), poor


def _pair_products(A: Any, B: Any, index: NDArray[Any]) -> NDArray[Any]:
    """Return ``a_i · b_j`` for row i of ``A`` and each j in row i of ``index``."""
    result = np.empty(index.shape, dtype=A.dtype)
    for rows in _blocks(len(index), 64 * index.shape[1]):  # texts have some hundred words
        part = index[rows]
        q = np.repeat(np.arange(rows.start, rows.stop), part.shape[1])
        result[rows] = _row_products(A[q], B[part.ravel()]).reshape(part.shape)
    return result


def _row_products(A: Any, B: Any) -> NDArray[Any]:
    return np.asarray(A.multiply(B).sum(axis=1)).ravel()
