"""Rows that are copies of each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

# Rows hashed or compared at a time: the temporary arrays stay below a few megabytes.
_CHUNK = 1 << 16


def distinct_rows(Z: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find the distinct rows of a matrix.

    Rows are compared by a 64-bit hash and then, so that a collision does no harm, cell by
    cell with the first row of that hash: linear in the number of rows, where sorting whole
    rows would not be.

    Parameters
    ----------
    Z : float array or CSR matrix of shape (n_samples, n_features)

    Returns
    -------
    first : ndarray of shape (n_distinct,)
        The first row of each kind, in order.
    inverse : ndarray of shape (n_samples,)
        ``Z[first][inverse]`` is ``Z``.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven._distinct import distinct_rows
    >>> distinct_rows(np.array([[1, 2], [3, 4], [1, 2]], dtype=np.float32))
    (array([0, 1]), array([0, 1, 0]))
    """
    n = Z.shape[0]
    codes, hashes = pd.factorize(_row_hashes(Z))
    first = np.full(len(hashes), n, dtype=np.intp)
    np.minimum.at(first, codes, np.arange(n))
    own = first[codes]
    own = np.where(_equal_rows(Z, own), own, np.arange(n))
    kept, inverse = np.unique(own, return_inverse=True)
    return kept, inverse


def _row_hashes(Z: Any) -> NDArray[np.uint64]:
    if sparse.issparse(Z):
        Z = sparse.csr_matrix(Z)
        entries = _mixed(_bits(Z.data)) * _mixed(Z.indices.astype(np.uint64))
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(entries, dtype=np.uint64)])
        return np.asarray(sums[Z.indptr[1:]] - sums[Z.indptr[:-1]], dtype=np.uint64)
    place = _mixed(np.arange(Z.shape[1], dtype=np.uint64))
    hashes = np.empty(Z.shape[0], dtype=np.uint64)
    for start in range(0, len(Z), _CHUNK):
        rows = slice(start, start + _CHUNK)
        hashes[rows] = (_mixed(_bits(Z[rows])) * place).sum(axis=1, dtype=np.uint64)
    return hashes


def _bits(values: NDArray[Any]) -> NDArray[np.uint64]:
    # Adding zero turns -0.0 into 0.0, which is equal but has other bits.
    if values.dtype == np.float64:
        return (np.ascontiguousarray(values) + 0.0).view(np.uint64)
    plain = np.ascontiguousarray(values, dtype=np.float32) + np.float32(0.0)
    return plain.view(np.uint32).astype(np.uint64)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits, as the finalizer of SplitMix64 does (Steele, Lea and Flood, 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31)) | np.uint64(1)


def _equal_rows(Z: Any, other: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether row i is equal to row ``other[i]``."""
    equal = other == np.arange(len(other))
    ask = np.flatnonzero(~equal)
    for start in range(0, len(ask), _CHUNK):
        rows = ask[start : start + _CHUNK]
        if sparse.issparse(Z):
            different = sparse.csr_matrix(Z[rows] != Z[other[rows]])
            equal[rows] = np.diff(different.indptr) == 0
        else:
            equal[rows] = (Z[rows] == Z[other[rows]]).all(axis=1)
    return np.asarray(equal, dtype=bool)
