"""Rows of dense arrays, sparse matrices and tuples of those, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def take_rows(X: Any, rows: slice | NDArray[np.intp]) -> Any:
    """Rows of a dense array, of a CSR matrix, or of each member of a tuple.

    A slice is a view, without a copy of the data, for CSR too.
    """
    if isinstance(X, tuple):
        return tuple(take_rows(part, rows) for part in X)
    if not (sparse.issparse(X) and isinstance(rows, slice)):
        return X[rows]
    start, stop, _ = rows.indices(X.shape[0])
    first, last = X.indptr[start], X.indptr[stop]
    return csr_around(
        X.data[first:last],
        X.indices[first:last],
        X.indptr[start : stop + 1] - first,
        (stop - start, X.shape[1]),
    )


def csr_around(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> Any:
    """CSR matrix around the given memory; SciPy's constructor copies short views."""
    result: Any = sparse.csr_array(shape, dtype=data.dtype)
    result.data, result.indices, result.indptr = data, indices, indptr
    return result


def chunks(rows: NDArray[np.intp], size: int) -> Iterator[tuple[slice | NDArray[np.intp], slice]]:
    """Cut ``rows`` (ascending) into pieces, as slices where the rows are neighbors.

    Yields the rows, and their place in ``rows``.
    """
    for start in range(0, len(rows), size):
        where = slice(start, min(start + size, len(rows)))
        piece = rows[where]
        if piece[-1] - piece[0] == len(piece) - 1:
            yield slice(int(piece[0]), int(piece[-1]) + 1), where
        else:
            yield piece, where
