"""Vectors that come with the rows of a table: embeddings of a text, an image, a user, ..."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from leaven._optional import import_optional
from leaven.tables._errors import TableError

VECTORS = "vectors"
"""Name of the column that vectors from a file or an array get."""

SUFFIXES = (".npy", ".npz", ".parquet", ".pq")


def read_vectors(path: str | Path) -> NDArray[np.float32]:
    """Read vectors from a file: one line per row of the table.

    Parameters
    ----------
    path : str or Path
        ``.npy`` with an array of two dimensions; ``.npz`` with one array, or one named
        ``vectors`` or ``embeddings``; ``.parquet`` with one column of lists, or with columns of
        numbers alone. No pickle in a file is executed.

    Returns
    -------
    vectors : float32 array of shape (n_rows, n_dimensions)

    Raises
    ------
    TableError
        If there is no such file, or it holds something else.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from leaven.tables import read_vectors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "v.npy"
    ...     np.save(file, np.array([[0.5, 2.0], [1.5, 3.0]]))
    ...     read_vectors(file).tolist()
    [[0.5, 2.0], [1.5, 3.0]]
    """
    name, suffix = str(path), Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise TableError(
            f"{name}: vectors are read from {', '.join(SUFFIXES)}, not from {suffix or '(none)'!r}."
        )
    if not Path(path).is_file():
        raise TableError(f"No such file: {name}")
    if suffix in (".npy", ".npz"):
        found = _from_numpy(path, name)
    else:
        found = _from_parquet(path, name)
    return _checked(found, name)


def check_vectors(vectors: Any, n_rows: int) -> NDArray[np.float32]:
    """Return vectors as an array with one line per row of a table, or raise.

    Parameters
    ----------
    vectors : array-like of shape (n_rows, n_dimensions), or path
    n_rows : int

    Returns
    -------
    vectors : float32 array

    Examples
    --------
    >>> from leaven.tables._vectors import check_vectors
    >>> check_vectors([[1, 2], [3, 5]], 2).dtype
    dtype('float32')
    """
    if isinstance(vectors, (str, Path)):
        found = read_vectors(vectors)
    elif sparse.issparse(vectors):
        raise TableError("vectors is sparse, but a dense array is needed: pass vectors.toarray().")
    else:
        found = _checked(vectors, "vectors")
    if len(found) != n_rows:
        raise TableError(
            f"The table has {n_rows:,} rows, but there are {len(found):,} vectors. Each row needs "
            "its own, in the same order."
        )
    return found


def join_vectors(table: pd.DataFrame, vectors: Any) -> pd.DataFrame:
    """Return a table with the vectors as its last column, one in each cell."""
    if VECTORS in table.columns:
        raise TableError(
            f"The table has a column {VECTORS!r}, the name that the given vectors get. Rename the "
            "column."
        )
    return table.assign(**{VECTORS: as_cells_of_vectors(check_vectors(vectors, len(table)))})


def as_cells_of_vectors(vectors: NDArray[np.float32]) -> NDArray[Any]:
    """Return an array of objects, each a line of ``vectors``, which are not copied."""
    cells = np.empty(len(vectors), dtype=object)
    cells[:] = list(vectors)
    return cells


def looks_like_vectors(values: pd.Series) -> bool:
    """Whether the first cell that is not missing is a list or an array of numbers."""
    if values.dtype != object:
        return False
    first = next((cell for cell in values if not _is_missing(cell)), None)
    if not isinstance(first, (list, tuple, np.ndarray)) or not len(first):
        return False
    return bool(np.asarray(first).dtype.kind in "fiub")


def vector_length(values: pd.Series) -> int | None:
    """Length that all vectors of a column have, or None if they differ or are no vectors."""
    if not looks_like_vectors(values):
        return None
    lengths = {
        len(cell) if isinstance(cell, (list, tuple, np.ndarray)) else None
        for cell in values
        if not _is_missing(cell)
    }
    return next(iter(lengths)) if len(lengths) == 1 else None


def stack_vectors(values: pd.Series, length: int) -> NDArray[np.float32]:
    """Put the vectors of a column into one array; a missing one is zero.

    Parameters
    ----------
    values : Series of lists or arrays
    length : int

    Raises
    ------
    TableError
        If a vector has another length, or holds what is not a finite number.
    """
    found = np.zeros((len(values), length), dtype=np.float32)
    for i, cell in enumerate(values):
        if _is_missing(cell):
            continue
        if not isinstance(cell, (list, tuple, np.ndarray)) or len(cell) != length:
            what = f"{len(cell):,} numbers" if hasattr(cell, "__len__") else repr(cell)
            raise TableError(
                f"Column {values.name!r}: the vector of row {i + 1:,} has {what}, where vectors of "
                f"{length:,} are expected."
            )
        try:
            found[i] = cell
        except (TypeError, ValueError):
            raise TableError(
                f"Column {values.name!r}: the vector of row {i + 1:,} holds what is no number."
            ) from None
    _refuse_not_finite(found, f"Column {values.name!r}")
    return found


def is_missing_vector(values: pd.Series) -> NDArray[np.bool_]:
    """Which rows of a column have no vector.

    pandas would look into the vectors of a cell, and asks each of their numbers.
    """
    return np.fromiter((_is_missing(cell) for cell in values), dtype=bool, count=len(values))


def cells_as_text(values: Iterable[Any]) -> list[Any]:
    """Write vectors as ``[0.5, 2.0]``: NumPy's own form leaves the middle of a long one out."""
    return [str(cell.tolist()) if isinstance(cell, np.ndarray) else cell for cell in values]


def _is_missing(cell: Any) -> bool:
    return cell is None or cell is pd.NA or (isinstance(cell, float) and np.isnan(cell))


def _checked(vectors: Any, name: str) -> NDArray[np.float32]:
    try:
        found = np.asarray(vectors)
        if found.dtype == object:
            found = np.stack([np.asarray(line, dtype=np.float64) for line in found])
    except (TypeError, ValueError):
        raise TableError(f"{name}: these are not vectors of numbers of one length.") from None
    if found.ndim != 2 or not found.shape[1]:
        raise TableError(
            f"{name}: vectors are an array of shape (n_rows, n_dimensions), got {found.shape}."
        )
    if found.dtype.kind not in "fiub":
        raise TableError(f"{name}: vectors hold numbers, got {found.dtype}.")
    found = found.astype(np.float32, copy=False)
    _refuse_not_finite(found, name)
    return found


def _refuse_not_finite(found: NDArray[np.float32], name: str) -> None:
    bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if len(bad):
        raise TableError(
            f"{name}: the vector of row {bad[0] + 1:,} holds NaN or infinite numbers"
            f"{f', and so do {len(bad) - 1:,} others' if len(bad) > 1 else ''}. Compute them anew, "
            "or leave these rows out."
        )


def _from_numpy(path: str | Path, name: str) -> Any:
    try:
        # np.load leaves a broken archive open that it opened itself.
        with open(path, "rb") as stream:
            found = np.load(stream, allow_pickle=False)
            if isinstance(found, np.ndarray):
                return found
            names = found.files
            named = [key for key in (VECTORS, "embeddings") if key in names]
            if len(names) == 1 or named:
                return found[(named or names)[0]]
        raise TableError(
            f"{name} holds {len(names)} arrays ({', '.join(names[:5])}); name one of them "
            f"{VECTORS!r}."
        )
    except TableError:
        raise
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, KeyError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        if "pickle" in reason:  # numpy advises to load it all the same
            reason = "it is no file of numpy, or holds Python objects, which are not loaded"
        raise TableError(f"{name} holds no array of numbers: {reason}.") from error


def _from_parquet(path: str | Path, name: str) -> Any:
    pa = import_optional("pyarrow", extra="parquet", needed_by=f"Reading {name}")
    pq = import_optional("pyarrow.parquet", extra="parquet", needed_by=f"Reading {name}")
    try:
        table = pq.read_table(path).to_pandas()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise TableError(f"{name} is not a readable Parquet file: {reason}.") from error
    lists = [column for column in table.columns if looks_like_vectors(table[column])]
    if len(lists) == 1:
        return table[lists[0]].to_numpy()
    if lists:
        raise TableError(f"{name} has several columns of lists: {', '.join(map(str, lists[:5]))}.")
    if not all(pd.api.types.is_numeric_dtype(dtype) for dtype in table.dtypes):
        raise TableError(
            f"{name} has neither a column of lists nor columns of numbers alone: no vectors."
        )
    return table.to_numpy(dtype=np.float64)
