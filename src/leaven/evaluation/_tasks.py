"""Tasks whose results come back as they end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from joblib import Parallel, effective_n_jobs


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
