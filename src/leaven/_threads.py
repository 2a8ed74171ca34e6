"""How many threads the numerical libraries may use."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from threadpoolctl import threadpool_limits

# At most this many rows: the matrices of one fit are too small to be shared between threads.
SMALL = 5_000


def one_thread() -> AbstractContextManager[Any]:
    """Hold BLAS and OpenMP to one thread, for loops of small or thin products."""
    limits: AbstractContextManager[Any] = threadpool_limits(limits=1)
    return limits


def one_thread_if_small(n_rows: int) -> AbstractContextManager[Any]:
    """Hold BLAS and OpenMP to one thread for many fits on few rows.

    Threads that wait for each other between tiny products cost more than they bring: choosing
    a method for 600 rows took 79 seconds of two busy cores with two threads, and 8 with one.

    Parameters
    ----------
    n_rows : int

    Returns
    -------
    context manager
    """
    return one_thread() if n_rows <= SMALL else nullcontext()
