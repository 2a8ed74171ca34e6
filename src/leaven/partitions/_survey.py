"""What must be known of all partitions before one can be worked on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaven._compat import num_samples
from leaven.partitions._collections import Block, LocalPartitions, Partitions
from leaven.partitions._labels import classes_in, merge_classes
from leaven.partitions._on_dask import DaskPartitions


class Survey(NamedTuple):
    """What one pass over labeled partitions tells; made by :func:`survey`.

    Parameters
    ----------
    sizes : list of int
        Rows in each partition.
    classes : ndarray of shape (n_classes,)
    head : table
        The first row of all.
    notes : list
        What ``describe`` gave for each partition that has rows.
    """

    sizes: list[int]
    classes: NDArray[Any]
    head: Any
    notes: list[Any]


def survey(source: Partitions, owner: str, describe: Callable[[Any], Any]) -> Survey:
    """Count the rows, merge the classes, and describe the columns of each partition.

    Parameters
    ----------
    source : Partitions
        Of :class:`Block`.
    owner : str
        Name of the class that asks, for messages.
    describe : callable
        ``describe(X)`` is called where the partition is, and not without rows.

    Returns
    -------
    Survey

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.partitions import as_partitions, survey
    >>> parts = as_partitions([np.eye(2), np.ones((1, 2))], [[0, -1], [1]])
    >>> found = survey(parts, "MyClassifier", np.shape)
    >>> found.sizes, found.classes, found.notes
    ([2, 1], array([0, 1]), [(2, 2), (1, 2)])
    """
    looks = source.map(_look_at, owner, describe)
    sizes = [size for size, *_ in looks]
    full = [look for look in looks if look[0]]
    if not full:
        raise ValueError(f"Found no row in {len(looks)} partitions, but X must have some.")
    classes = merge_classes([found for _, found, *_ in looks], n_rows=sum(sizes), min_classes=2)
    return Survey(sizes, classes, full[0][2], [note for *_, note in full])


def _look_at(
    block: Block, owner: str, describe: Callable[[Any], Any]
) -> tuple[int, NDArray[Any] | None, Any, Any]:
    n_rows = num_samples(block.X)
    if block.y is None:
        raise ValueError(
            f"{owner} requires y to be passed, but the target y is None. Give one entry per row, "
            "with a label or a mark for 'unlabeled'."
        )
    if num_samples(block.y) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {num_samples(block.y)}.")
    if not n_rows:
        return 0, None, None, None
    head = block.X.iloc[:1] if hasattr(block.X, "iloc") else block.X[:1]
    return n_rows, classes_in(block.y), head, describe(block.X)


def answers(
    distributions: Partitions, classes: NDArray[Any], sizes: list[int], dtype: Any = np.float64
) -> tuple[Any, Any]:
    """Class probabilities and most probable classes of partitions, kept or lazy as these are.

    Parameters
    ----------
    distributions : Partitions
        Of class probabilities.
    classes : ndarray of shape (n_classes,)
    sizes : list of int
        Rows in each partition.
    dtype : dtype, default=float64
        Of the probabilities.

    Returns
    -------
    distributions, best : tuple
        Two lists with an array per partition for partitions in memory, two Dask arrays for those
        of Dask, and for all others two iterables that compute the arrays in each pass.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.partitions import LocalPartitions, answers
    >>> parts = LocalPartitions([np.array([[0.7, 0.3]]), np.array([[0.2, 0.8], [0.6, 0.4]])])
    >>> answers(parts, np.array(["no", "yes"]), [1, 2])[1]
    [array(['no'], dtype='<U3'), array(['yes', 'no'], dtype='<U3')]
    """
    best = distributions.prepare(_most_probable, classes)
    if isinstance(distributions, DaskPartitions) and isinstance(best, DaskPartitions):
        lazy = distributions.to_array(sizes, (len(classes),), dtype)
        return lazy, best.to_array(sizes, (), classes.dtype)
    if isinstance(distributions, LocalPartitions) and isinstance(best, LocalPartitions):
        return distributions.blocks, best.blocks
    return distributions, best


def _most_probable(distributions: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(classes[distributions.argmax(axis=1)])
