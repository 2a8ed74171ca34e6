"""Who works on many files: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import joblib

from leaven._optional import import_optional
from leaven._progress import progress_bar
from leaven.partitions import DaskPartitions, JobPartitions, Partitions
from leaven.tables._errors import TableError

CONNECT_SECONDS = 10
"""To wait for a scheduler: Dask's own limit is 30 s, long for a typo in an address."""

WORKER_SECONDS = 60
"""To wait for the first worker of a cluster: that of a queue may still be starting."""


class LocalWorkers:
    """Processes of this machine."""

    def __init__(self, n_jobs: int | None) -> None:
        self.n_jobs = n_jobs

    def run(
        self,
        function: Callable[..., Any],
        tasks: Sequence[tuple[Any, ...]],
        *shared: Any,
        name: str,
        show: bool,
        keep: Callable[[list[Any]], None] | None = None,
    ) -> list[Any]:
        """``function(*task, *shared)`` for each task, in order."""
        calls = (
            joblib.delayed(_numbered)(number, function, *task, *shared)
            for number, task in enumerate(tasks)
        )
        done = joblib.Parallel(self.n_jobs, return_as="generator_unordered")(calls)
        return _in_order(done, len(tasks), name, show, keep)

    def partitions(self, paths: list[str]) -> Partitions:
        """Paths to be prepared, in passes over them."""
        return JobPartitions(paths, self.n_jobs)


class ClusterWorkers:
    """Workers of a Dask cluster. Tasks of a worker that is lost run again on another."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def run(
        self,
        function: Callable[..., Any],
        tasks: Sequence[tuple[Any, ...]],
        *shared: Any,
        name: str,
        show: bool,
        keep: Callable[[list[Any]], None] | None = None,
    ) -> list[Any]:
        """``function(*task, *shared)`` for each task, in order."""
        dask = import_optional("dask", extra="dask", needed_by="scheduler")
        distributed = import_optional("distributed", extra="dask", needed_by="scheduler")
        call = dask.delayed(_numbered, pure=False)
        # What is shared goes into the graph once, and stays with the scheduler: data that was
        # scattered to workers would be lost with them.
        held = [dask.delayed(each, pure=False, traverse=False) for each in shared]
        calls = [call(number, function, *task, *held) for number, task in enumerate(tasks)]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            futures = self.client.compute(calls)
        finished = distributed.as_completed(futures, with_results=True)
        results = (result for _, result in finished)
        return _in_order(results, len(tasks), name, show, keep)

    def partitions(self, paths: list[str]) -> Partitions:
        """Paths to be prepared, in passes over them."""
        dask = import_optional("dask", extra="dask", needed_by="scheduler")
        return DaskPartitions([dask.delayed(path, pure=False) for path in paths])


@contextlib.contextmanager
def open_workers(
    scheduler: str | None, n_jobs: int | None
) -> Iterator[LocalWorkers | ClusterWorkers]:
    """Processes of this machine, or those of a cluster."""
    if scheduler is None:
        yield LocalWorkers(n_jobs)
        return
    distributed = import_optional("distributed", extra="dask", needed_by="scheduler")
    try:
        client = distributed.Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TypeError) as error:
        raise TableError(
            f"The scheduler at {scheduler!r} cannot be reached: {error or type(error).__name__}."
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except (TimeoutError, asyncio.TimeoutError):  # two classes in Python 3.10
            raise TableError(
                f"The scheduler at {scheduler!r} has no worker: start some with 'dask worker'."
            ) from None
        try:
            yield ClusterWorkers(client)
        except distributed.KilledWorker as error:
            raise TableError(
                f"A file brought down several workers of {scheduler!r} one after the other: give "
                "them more memory, or cut the files into smaller ones."
            ) from error


def _numbered(number: int, function: Callable[..., Any], *arguments: Any) -> tuple[int, Any]:
    return number, function(*arguments)


def _in_order(
    done: Iterable[tuple[int, Any]],
    n: int,
    name: str,
    show: bool,
    keep: Callable[[list[Any]], None] | None,
) -> list[Any]:
    """Results by their numbers; ``keep`` may drop parts of them as they come."""
    found: list[Any] = [None] * n
    with progress_bar(name, n, show=show) as move:
        for number, result in done:
            found[number] = result
            if keep is not None:
                keep(found)
            move()
    return found
