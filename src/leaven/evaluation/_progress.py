"""A bar with the time left, and tasks whose results come back as they end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from joblib import Parallel, effective_n_jobs


@contextmanager
def progress_bar(what: str, total: int, *, show: bool) -> Iterator[Callable[[], None]]:
    """Give a function to call after each step; with ``show`` it moves a bar on stderr."""
    if not show:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def run_unordered(tasks: Iterable[Any], *, n_jobs: int | None) -> Iterator[Any]:
    """Run ``joblib.delayed`` tasks on joblib's backend and give results as they end.

    Some backends (multiprocessing, and Ray's, which is built on it) cannot give results one
    by one; on those a round of a few tasks a worker is waited for.
    """
    tasks = iter(tasks)
    try:
        results = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)
    except ValueError as error:
        if "return_as" not in str(error):
            raise
        n_workers = effective_n_jobs(n_jobs)
        while batch := list(islice(tasks, 4 * n_workers)):
            yield from Parallel(n_jobs=n_jobs)(batch)
        return
    yield from results
