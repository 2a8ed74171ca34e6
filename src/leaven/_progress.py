"""A bar for long loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    name: str, total: int | None, *, show: bool, keep: bool = False
) -> Iterator[Callable[..., None]]:
    """Give a function to be called after each step, which moves a bar on standard error.

    Parameters
    ----------
    name : str
    total : int or None
        Steps in all; None if that is not known.
    show : bool
        Whether there is a bar. If not, the function does nothing.
    keep : bool, default=False
        Whether the bar stays on the screen when all is done.

    Yields
    ------
    move : callable
        ``move()`` is one step more, ``move(done)`` says how many are done, and
        ``move(name="...")`` also renames the bar.
    """
    if not show:
        yield lambda done=None, *, name=None: None
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
    with Progress(*columns, console=Console(stderr=True), transient=not keep) as bar:
        task = bar.add_task(name, total=total)

        def move(done: int | None = None, *, name: str | None = None) -> None:
            if name is not None:
                bar.update(task, description=name)
            if done is None:
                bar.advance(task)
            else:
                bar.update(task, completed=done)

        yield move
