"""Partitions of rows: in memory, from an iterable, or in a Dask collection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from scipy import sparse

from leaven._dask import is_dask
from leaven._optional import import_optional
from leaven.partitions._jobs import JobPartitions
from leaven.partitions._merge import call, merge_in_order
from leaven.partitions._on_dask import DaskPartitions

T = TypeVar("T")
_NOTHING = object()


class Block(NamedTuple):
    """Rows of one partition, with their labels and weights.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), default=None
    sample_weight : array-like of shape (n_samples,), default=None

    Examples
    --------
    >>> from leaven.partitions import Block
    >>> Block([[0.5], [0.7]], [1, -1]).y
    [1, -1]
    """

    X: Any
    y: Any = None
    sample_weight: Any = None


class LocalPartitions:
    """Partitions in this process, one after the other.

    A function of one partition is applied to all of them by ``prepare`` (which gives partitions
    again), ``map`` (a list of results) and ``reduce`` (merged results). It gets the partition
    first, then the ``shared`` arguments, which are the same for all, and then its own entry of
    ``each``; a ValueError or TypeError names the partition.

    Parameters
    ----------
    blocks : iterable
        A list stays in memory, and so does what is prepared from it. Any other iterable is
        passed through again for every map, so that one partition is in memory at a time.
    named : bool, default=True
        Whether errors say which partition they are about.

    Examples
    --------
    >>> from operator import add
    >>> from leaven.partitions import LocalPartitions
    >>> LocalPartitions([[1, 2], [], [3]]).reduce(sum, add)
    6
    """

    def __init__(self, blocks: Iterable[Any], *, named: bool = True) -> None:
        # An iterator would be empty in the second pass.
        self.blocks = list(blocks) if isinstance(blocks, Iterator) else blocks
        self.named = named

    @property
    def n_partitions(self) -> int | None:
        """Number of partitions; None for an iterable that is not in memory."""
        return len(self.blocks) if isinstance(self.blocks, Sequence) else None

    def prepare(
        self, function: Callable[..., Any], *shared: Any, each: Any = None
    ) -> LocalPartitions:
        """Apply now to partitions in memory, and in each pass to others."""
        prepared: Any = _Prepared(self, function, shared, each)
        if isinstance(self.blocks, Sequence):
            prepared = list(prepared)
        return LocalPartitions(prepared, named=self.named)

    def map(self, function: Callable[..., T], *shared: Any, each: Any = None) -> list[T]:
        """Return one result per partition."""
        return list(_Prepared(self, function, shared, each))

    def reduce(self, function: Callable[..., T], merge: Callable[[T, T], T], *shared: Any) -> T:
        """Return the merged results; ``merge(a, b)`` may change ``a``."""
        results: Iterator[T] = iter(_Prepared(self, function, shared, None))
        return merge_in_order(results, merge)


class _Prepared:
    """A function of each partition, as an iterable."""

    def __init__(
        self, source: LocalPartitions, function: Callable[..., Any], shared: Any, each: Any
    ) -> None:
        self.source, self.function, self.shared, self.each = source, function, shared, each

    def __iter__(self) -> Iterator[Any]:
        for number, block in enumerate(self.source.blocks):
            own = () if self.each is None else (self.each[number],)
            if self.source.named:
                yield call(self.function, number, block, *self.shared, *own)
            else:
                yield self.function(block, *self.shared, *own)


Partitions = LocalPartitions | JobPartitions | DaskPartitions
"""Any kind of partitions: all have ``prepare``, ``map`` and ``reduce``."""


def is_partitioned(X: Any) -> bool:
    """Whether ``X`` is a collection of partitions, and not a table or an array-like of rows.

    Partitions are a Dask collection, a :class:`Partitions`, a list or tuple whose first entry
    is a table (or a tuple of a table and its labels), an iterator, and an object that can be
    iterated but neither indexed nor read as an array.

    Parameters
    ----------
    X : object

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.partitions import is_partitioned
    >>> is_partitioned([np.eye(2), np.eye(2)]), is_partitioned([[1.0, 0.0], [0.0, 1.0]])
    (True, False)
    """
    if is_dask(X) or isinstance(X, Partitions):
        return True
    if isinstance(X, (list, tuple)):
        first = X[0] if len(X) else None
        return _is_table(first[0] if isinstance(first, tuple) and first else first)
    array_like = ("__array__", "__dataframe__", "__getitem__", "__array_interface__", "shape")
    return isinstance(X, Iterable) and not any(hasattr(X, name) for name in array_like)


def _is_table(value: Any) -> bool:
    return getattr(value, "ndim", 0) == 2 or isinstance(value, pd.DataFrame)


def as_partitions(X: Any, y: Any = None, sample_weight: Any = None) -> Partitions:
    """Bring rows, labels and weights together, partition by partition.

    Parameters
    ----------
    X : Dask array or DataFrame, iterable of tables, or Partitions
        An iterable may also give tuples ``(X, y)`` or ``(X, y, sample_weight)``, for ``y=None``.
    y, sample_weight : of the same kind and with the same partitions, or None
        With a Dask collection also an array with one entry per row.

    Returns
    -------
    Partitions
        Of :class:`Block`.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.partitions import as_partitions
    >>> tables, labels = [np.eye(2), np.ones((1, 2))], [[0, -1], [1]]
    >>> as_partitions(tables, labels).map(lambda block: len(block.X))
    [2, 1]
    """
    if isinstance(X, Partitions):
        if y is not None or sample_weight is not None:
            raise ValueError("Partitions hold their labels: give y=None and sample_weight=None.")
        return X
    if is_dask(X):
        return _dask_partitions(X, y, sample_weight)
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if is_dask(values):
            raise TypeError(
                f"{name} is a Dask collection, but X is not: give both as Dask collections."
            )
    if y is None and sample_weight is None:
        return LocalPartitions(X).prepare(_block)
    together: Any = _Together(X, y, sample_weight)
    return LocalPartitions(list(together) if isinstance(X, (Sequence, Iterator)) else together)


class _Together:
    """Blocks from an iterable of tables and iterables of their labels and weights."""

    def __init__(self, X: Iterable[Any], y: Any, sample_weight: Any) -> None:
        self.parts = [X, y, sample_weight]

    def __iter__(self) -> Iterator[Block]:
        given = [part for part in self.parts if part is not None]
        for number, items in enumerate(zip_longest(*given, fillvalue=_NOTHING)):
            if any(item is _NOTHING for item in items):
                raise ValueError(
                    f"X, y and sample_weight have different numbers of partitions: one of them "
                    f"ends after {number}. Give one array of labels per table."
                )
            rest = iter(items)
            yield Block(*(None if part is None else next(rest) for part in self.parts))


def _block(item: Any) -> Block:
    return Block(*item) if isinstance(item, tuple) else Block(item)


def _dask_partitions(X: Any, y: Any, sample_weight: Any) -> DaskPartitions:
    dask = import_optional("dask", extra="dask", needed_by="A Dask collection")
    if getattr(X, "ndim", 0) != 2 or not hasattr(X, "to_delayed"):
        raise TypeError(
            f"X is a Dask collection of type {type(X).__name__}, but rows come in a Dask "
            "DataFrame or in a Dask array of two dimensions."
        )
    if hasattr(X, "numblocks") and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    tables = _tasks_of(X)
    columns = [
        _dask_column(values, X, tables, name)
        for name, values in (("y", y), ("sample_weight", sample_weight))
    ]
    make = dask.delayed(Block, pure=False)
    return DaskPartitions([make(*parts) for parts in zip(tables, *columns, strict=True)])


def _tasks_of(collection: Any) -> list[Any]:
    """One task per partition, as the collection is cut.

    Dask optimizes a DataFrame by itself, and then reads several Parquet files as one partition
    where few columns are asked for: labels would be cut otherwise than rows. As they stand, the
    tasks of rows and labels also share the reading of a file.
    """
    more = {} if hasattr(collection, "chunks") else {"optimize_graph": False}
    return list(np.asarray(collection.to_delayed(**more), dtype=object).ravel())


def _dask_column(values: Any, X: Any, tables: list[Any], name: str) -> list[Any]:
    """Labels or weights of each partition of X, as tasks or as arrays."""
    n_partitions = len(tables)
    if values is None:
        return [None] * n_partitions
    if is_dask(values):
        known = hasattr(X, "chunks") and not np.isnan(X.chunks[0]).any()
        if known and hasattr(values, "chunks") and not np.isnan(values.chunks[0]).any():
            if sum(values.chunks[0]) != sum(X.chunks[0]):
                raise ValueError(
                    f"X has {sum(X.chunks[0])} rows, but {name} has {sum(values.chunks[0])}."
                )
            values = values.rechunk({0: X.chunks[0]})
        parts = _tasks_of(values)
        if len(parts) != n_partitions:
            raise ValueError(
                f"X has {n_partitions} partitions, but {name} has {len(parts)}: cut both in the "
                "same way, for example by taking them from one Dask DataFrame."
            )
        return parts
    if hasattr(X, "map_partitions"):
        dask = import_optional("dask", extra="dask", needed_by="A Dask collection")
        lengths = np.asarray(dask.compute(*(dask.delayed(len)(table) for table in tables)))
    else:
        lengths = np.asarray(X.chunks[0], dtype=float)
        if np.isnan(lengths).any():
            raise ValueError(
                f"{name} is an array in memory, but the partitions of X have unknown lengths. Call "
                f"X.compute_chunk_sizes() first, or give {name} as a Dask array."
            )
    total = int(lengths.sum())
    if len(values) != total:
        raise ValueError(f"X has {total} rows, but {name} has {len(values)}.")
    stops = np.cumsum(lengths).astype(int)
    taken = values.iloc if isinstance(values, (pd.Series, pd.DataFrame)) else values
    return [taken[stop - int(n) : stop] for stop, n in zip(stops, lengths, strict=True)]


def stack_rows(parts: Sequence[Any]) -> Any:
    """Stack arrays, sparse matrices, or tuples of those.

    Parameters
    ----------
    parts : sequence of arrays, sparse matrices or tuples of those

    Returns
    -------
    rows : array, CSR matrix or tuple

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.partitions import stack_rows
    >>> stack_rows([np.ones((1, 2)), np.zeros((2, 2))]).shape
    (3, 2)
    """
    if isinstance(parts[0], tuple):
        return tuple(stack_rows(members) for members in zip(*parts, strict=True))
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
