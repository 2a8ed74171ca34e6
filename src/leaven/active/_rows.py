"""What the query strategies share: the rows they are given, and their random numbers."""

from __future__ import annotations

import zlib
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state, indexable
from sklearn.utils.validation import check_consistent_length

from leaven._compat import num_samples
from leaven._labels import UNLABELED, encode_labels, mask_labels
from leaven.base import take_rows


def as_rows(X: Any) -> Any:
    """Return ``X`` as something with rows to take: arrays, frames and CSR matrices stay."""
    (X,) = indexable(X)
    return X if sparse.issparse(X) or isinstance(X, pd.DataFrame) else np.asarray(X)


def check_pool(X_pool: Any) -> Any:
    """Return the pool with rows that can be taken; refuse an empty one."""
    if X_pool is None:
        raise ValueError("X_pool is None: give the rows that may be asked about.")
    X_pool = as_rows(X_pool)
    if num_samples(X_pool) == 0:
        raise ValueError("X_pool is empty: there is no row left to ask about.")
    return X_pool


def check_training(caller: Any, X: Any, y: Any) -> tuple[Any, NDArray[Any], NDArray[np.intp]]:
    """Return the training rows, the classes and the codes of their labels."""
    if X is None or y is None:
        raise ValueError(
            f"{type(caller).__name__} fits the estimator again and needs the training rows: call "
            "scores(estimator, X_pool, X, y)."
        )
    X = as_rows(X)
    classes, codes = encode_labels(y)
    check_consistent_length(X, codes)
    return X, classes, codes


def require_same_kind(X: Any, X_pool: Any) -> None:
    """Refuse training rows and a pool of which one is sparse, or a data frame, and one is not."""
    kinds = [
        "a sparse matrix"
        if sparse.issparse(rows)
        else "a data frame"
        if isinstance(rows, pd.DataFrame)
        else "an array"
        for rows in (X, X_pool)
    ]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"X is {kinds[0]}, but X_pool is {kinds[1]}. Give both in the same form, since rows of "
            "the pool join the training rows."
        )
    if np.ndim(X) != np.ndim(X_pool) or (np.ndim(X) == 2 and X.shape[1] != X_pool.shape[1]):
        raise ValueError(
            f"X has the shape {X.shape}, but X_pool has the shape {X_pool.shape}: the columns must "
            "be the same."
        )


def labels_of(classes: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[Any]:
    """Turn codes back into labels, with the mark of an unlabeled row where one is needed."""
    hidden = codes == UNLABELED
    labels = classes[np.where(hidden, 0, codes)]
    return mask_labels(labels, hidden) if hidden.any() else labels


def add_row(X: Any, row: Any) -> Any:
    """Put one row (a slice of one row of the same kind) below the rows of ``X``."""
    if sparse.issparse(X):
        return sparse.vstack([X, row], format="csr")
    if isinstance(X, pd.DataFrame):
        return pd.concat([X, row], ignore_index=True)
    return np.concatenate([X, row])


def locate(X: Any, codes: NDArray[np.intp], X_pool: Any) -> NDArray[np.intp] | None:
    """Find the rows of the pool among the unlabeled rows of ``X``.

    A pool of as many rows as there are unlabeled ones, in the same order, is found without a
    search even where rows repeat. Returns None if a row of the pool is not in ``X``.
    """
    free = np.flatnonzero(codes == UNLABELED)
    if len(free) < num_samples(X_pool):
        return None
    known_rows = take_rows(X, free)
    if not isinstance(X, pd.DataFrame) and X.dtype != X_pool.dtype:
        dtype = np.result_type(X.dtype, X_pool.dtype)
        X_pool, known_rows = X_pool.astype(dtype), known_rows.astype(dtype)
    wanted, known = row_keys(X_pool), row_keys(known_rows)
    if wanted == known:
        return free
    places: defaultdict[bytes, list[int]] = defaultdict(list)
    for place in range(len(free) - 1, -1, -1):
        places[known[place]].append(place)
    found = [places[key].pop() if places[key] else -1 for key in wanted]
    return None if min(found) < 0 else free[found]


def row_keys(X: Any) -> list[bytes]:
    """Return one key per row, equal where the rows are."""
    if isinstance(X, pd.DataFrame):
        hashed = pd.util.hash_pandas_object(X, index=False).to_numpy()
        return [key.tobytes() for key in hashed]
    if sparse.issparse(X):
        X = sparse.csr_array(X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        X.indices = X.indices.astype(np.int64)
        return [
            X.indices[a:b].tobytes() + b"|" + X.data[a:b].tobytes()
            for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
        ]
    if X.ndim == 1 or X.dtype.kind == "O":  # texts, mixed columns
        return [repr(row).encode() for row in X.tolist()]
    return [row.tobytes() for row in np.ascontiguousarray(X)]


def query_rng(random_state: Any, X_pool: Any, y: Any = None) -> np.random.RandomState:
    """Random numbers for one query.

    With an integer the numbers follow from it *and* from the pool: the same query gives the
    same numbers, but the next one, whose pool is shorter, others. Otherwise a learner that
    asks for the row at one random position would go through the pool in its order.
    """
    if not isinstance(random_state, (int, np.integer)):
        rng: np.random.RandomState = check_random_state(random_state)
        return rng
    n_pool = num_samples(X_pool)
    ends = b"".join(row_keys(take_rows(X_pool, np.array([0, n_pool - 1]))))
    n_known = 0 if y is None else num_samples(y)
    check_random_state(random_state)  # its message for a negative seed
    return np.random.RandomState([int(random_state), n_pool, n_known, zlib.crc32(ends)])
