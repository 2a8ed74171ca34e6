"""What all kinds of partitions share: errors that name the partition, and merging in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


def call(function: Callable[..., T], number: int, block: Any, *more: Any) -> T:
    """``function(block, *more)``, whose errors name the partition."""
    try:
        return function(block, *more)
    except ValueError as error:
        raise ValueError(f"Partition {number}: {error}") from error
    except TypeError as error:
        raise TypeError(f"Partition {number}: {error}") from error


def merge_in_order(results: Iterable[T], merge: Callable[[T, T], T]) -> T:
    """Merge results as they come; ``merge(a, b)`` may change ``a``.

    Equal numbers of partitions are merged, like the carries of a binary counter: sums of many
    partitions then round as a tree does, with few results in memory.
    """
    pending: list[tuple[int, T]] = []
    for result in results:
        size = 1
        while pending and pending[-1][0] == size:
            result = merge(pending.pop()[1], result)
            size *= 2
        pending.append((size, result))
    if not pending:
        raise ValueError("There is no partition.")
    total = pending.pop()[1]
    while pending:
        total = merge(pending.pop()[1], total)
    return total
