"""Partitions that are read anew in each pass, by processes of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import joblib

from leaven.partitions._merge import call, merge_in_order

T = TypeVar("T")


class _Step(NamedTuple):
    function: Callable[..., Any]
    shared: tuple[Any, ...]
    each: Any


class JobPartitions:
    """Partitions that are made from small sources, such as paths, ``n_jobs`` at a time.

    The methods are those of :class:`LocalPartitions`, but ``prepare`` only takes down what is to
    be done: source and functions go to a process of joblib, and what comes back is the result of
    one partition. Memory is bounded by ``n_jobs`` partitions, in the processes. Functions must
    be importable by name.

    Parameters
    ----------
    sources : sequence
        One entry per partition, which the first function that is prepared turns into rows.
    n_jobs : int, default=None
        As in joblib: None is one process, unless there is a ``joblib.parallel_config``.

    Examples
    --------
    >>> from operator import add
    >>> from leaven.partitions import JobPartitions
    >>> words = JobPartitions(["ash", "birch"]).prepare(str.upper)
    >>> words.map(len), words.reduce(str.lower, add)
    ([3, 5], 'ashbirch')
    """

    def __init__(self, sources: Sequence[Any], n_jobs: int | None = None) -> None:
        self.sources, self.n_jobs = sources, n_jobs
        self._steps: tuple[_Step, ...] = ()

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""
        return len(self.sources)

    def __iter__(self) -> Iterator[Any]:
        """Make the partitions, in order."""
        calls = (
            joblib.delayed(_run)(self._steps_of(number), number, source)
            for number, source in enumerate(self.sources)
        )
        yield from joblib.Parallel(self.n_jobs, return_as="generator")(calls)

    def _steps_of(self, number: int) -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
        """Functions of one partition, with their arguments."""
        return [
            (function, shared if each is None else (*shared, each[number]))
            for function, shared, each in self._steps
        ]

    def prepare(
        self, function: Callable[..., Any], *shared: Any, each: Any = None
    ) -> JobPartitions:
        """Take down what is to be done in each pass."""
        prepared = JobPartitions(self.sources, self.n_jobs)
        prepared._steps = (*self._steps, _Step(function, shared, each))
        return prepared

    def map(self, function: Callable[..., T], *shared: Any, each: Any = None) -> list[T]:
        """Return one result per partition."""
        return list(self.prepare(function, *shared, each=each))

    def reduce(self, function: Callable[..., T], merge: Callable[[T, T], T], *shared: Any) -> T:
        """Return the merged results; ``merge(a, b)`` may change ``a``."""
        results: Iterator[T] = iter(self.prepare(function, *shared))
        return merge_in_order(results, merge)


def _run(steps: list[tuple[Callable[..., Any], tuple[Any, ...]]], number: int, source: Any) -> Any:
    block = source
    for function, more in steps:
        block = call(function, number, block, *more)
    return block
