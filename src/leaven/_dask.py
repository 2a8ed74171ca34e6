"""Dask collections: recognize them, and apply a function to their rows, partition by partition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from leaven._optional import import_optional


def is_dask(value: Any) -> bool:
    """Whether ``value`` is a Dask collection; does not import Dask.

    Examples
    --------
    >>> from leaven._dask import is_dask
    >>> is_dask([[1.0], [2.0]])
    False
    """
    # The method that Dask's own protocol for collections asks for.
    return hasattr(type(value), "__dask_graph__")


def apply_rows(
    estimator: Any, method: str, X: Any, *, dtype: Any, n_columns: int | None = None
) -> Any:
    """Apply a method of ``estimator`` to each partition of the rows of ``X``, lazily.

    Parameters
    ----------
    estimator : fitted estimator
    method : str
        Gives one entry per row (``n_columns=None``) or a matrix of ``n_columns``. It is not
        called for a partition without rows.
    X : dask.array.Array or dask.dataframe.DataFrame
        An array may be cut into columns too; these are put together first.
    dtype : dtype
        Of the result, in every partition.
    n_columns : int, default=None

    Returns
    -------
    dask.array.Array
        The partitions of rows are those of ``X``.
    """
    dask = import_optional("dask", extra="dask", needed_by="A Dask collection")
    dtype = np.dtype(dtype)
    # The estimator goes into the graph once, not once per partition: it may be large.
    held = dask.delayed(estimator, pure=False, traverse=False)
    meta = np.empty((0,) if n_columns is None else (0, n_columns), dtype=dtype)
    more = {"estimator": held, "method": method, "like": meta, "meta": meta}
    if hasattr(X, "map_partitions"):
        return X.map_partitions(_on_block, **more)
    if not hasattr(X, "map_blocks") or X.ndim != 2:
        raise TypeError(
            f"X is a Dask collection of type {type(X).__name__}, but rows come in a Dask "
            "DataFrame or in a Dask array of two dimensions."
        )
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    if n_columns is None:
        return X.map_blocks(_on_block, **more, dtype=dtype, drop_axis=1)
    return X.map_blocks(_on_block, **more, dtype=dtype, chunks=(X.chunks[0], (n_columns,)))


def _on_block(rows: Any, estimator: Any, method: str, like: NDArray[Any]) -> NDArray[Any]:
    if not rows.shape[0]:
        return like
    return np.asarray(getattr(estimator, method)(rows)).astype(like.dtype, copy=False)


def takes_dask(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Let ``predict`` or ``predict_proba`` of a classifier take Dask arrays and DataFrames.

    The answer is then a lazy Dask array: of classes in the dtype of ``classes_``, or of float64
    probabilities with a column per class.
    """

    @functools.wraps(method)
    def wrapper(self: Any, X: Any) -> Any:
        if not is_dask(X):
            return method(self, X)
        check_is_fitted(self)
        if method.__name__ == "predict":
            return apply_rows(self, "predict", X, dtype=self.classes_.dtype)
        columns = len(self.classes_)
        return apply_rows(self, method.__name__, X, dtype=np.float64, n_columns=columns)

    return wrapper
