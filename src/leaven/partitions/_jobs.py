"""Partitions that are read anew in each pass, by processes of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import joblib

from leaven.partitions._merge import merge_in_order
from leaven.partitions._steps import Step, run_steps

T = TypeVar("T")


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
        self._steps: tuple[Step, ...] = ()

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""
        return len(self.sources)

    def __iter__(self) -> Iterator[Any]:
        """Make the partitions, in order."""
        shared = [step.shared_by_all() for step in self._steps]
        calls = (
            joblib.delayed(run_steps)(
                shared, [step.of(number) for step in self._steps], number, source
            )
            for number, source in enumerate(self.sources)
        )
        yield from joblib.Parallel(self.n_jobs, return_as="generator")(calls)

    def prepare(
        self, function: Callable[..., Any], *shared: Any, each: Any = None
    ) -> JobPartitions:
        """Take down what is to be done in each pass."""
        prepared = JobPartitions(self.sources, self.n_jobs)
        prepared._steps = (*self._steps, Step(function, shared, each))
        return prepared

    def map(self, function: Callable[..., T], *shared: Any, each: Any = None) -> list[T]:
        """Return one result per partition."""
        return list(self.prepare(function, *shared, each=each))

    def reduce(self, function: Callable[..., T], merge: Callable[[T, T], T], *shared: Any) -> T:
        """Return the merged results; ``merge(a, b)`` may change ``a``."""
        results: Iterator[T] = iter(self.prepare(function, *shared))
        return merge_in_order(results, merge)
