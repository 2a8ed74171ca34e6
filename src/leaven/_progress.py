"""What is happening, on one line of the terminal: phases, and a bar for long loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class Move(Protocol):
    """Moves a bar: ``move()`` is one step more, ``move(done)`` says how many are done."""

    def __call__(self, done: int | None = None, *, name: str | None = None) -> None: ...


# The terminal has one line for all: a loop inside a phase draws on the line of the phase.
_line: ContextVar[_Line | None] = ContextVar("leaven_progress_line", default=None)


@contextmanager
def progress_bar(name: str, total: int | None, *, show: bool, keep: bool = False) -> Iterator[Move]:
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
        yield _no_move
        return
    outer = _line.get()
    if outer is not None:
        outer.begin(name, total)
        yield outer.move
        outer.begin(name, None)
        return
    with _new_bar(keep) as bar:
        line = _Line(bar, bar.add_task(name, total=total))
        token = _line.set(line)
        try:
            yield line.move
        finally:
            _line.reset(token)


def phase(name: str) -> None:
    """Say on the line of the bar that is shown, if there is one, what begins now.

    Parameters
    ----------
    name : str
    """
    line = _line.get()
    if line is not None:
        line.begin(name, None)


def _no_move(done: int | None = None, *, name: str | None = None) -> None:
    """Do nothing: there is no bar."""


class _Line:
    """A task of a bar of rich, which is renamed from phase to phase."""

    def __init__(self, bar: Any, task: Any) -> None:
        self.bar = bar
        self.task = task

    def begin(self, name: str, total: int | None) -> None:
        # A new task: rich cannot take back a total.
        self.bar.remove_task(self.task)
        self.task = self.bar.add_task(name, total=total)

    def move(self, done: int | None = None, *, name: str | None = None) -> None:
        if name is not None:
            self.bar.update(self.task, description=name)
        if done is None:
            self.bar.advance(self.task)
        else:
            self.bar.update(self.task, completed=done)


def _new_bar(keep: bool) -> Any:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class WhereTotalIsKnown(ProgressColumn):
        """A column that is empty in a phase whose length is not known."""

        def __init__(self, render_known: Callable[[Task], Text]) -> None:
            super().__init__()
            self.render_known = render_known

        def render(self, task: Task) -> Text:
            return Text("") if task.total is None else self.render_known(task)

    remaining = TimeRemainingColumn()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        WhereTotalIsKnown(lambda task: Text(f"{task.completed:.0f}/{task.total:.0f}")),
        TimeElapsedColumn(),
        WhereTotalIsKnown(lambda task: Text("left ") + remaining.render(task)),
    )
    return Progress(*columns, console=Console(stderr=True), transient=not keep)
