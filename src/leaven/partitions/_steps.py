"""What is to be done with each partition, taken down to be run in another process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from leaven.partitions._merge import call

Own = tuple[Any, ...]
"""What only one partition gets: nothing, or its entry of ``each``."""


class Step(NamedTuple):
    """A function of a partition, what is the same for all, and one entry for each."""

    function: Callable[..., Any]
    shared: tuple[Any, ...]
    each: Any

    def of(self, number: int) -> Own:
        """What only this partition gets."""
        return () if self.each is None else (self.each[number],)

    def shared_by_all(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The rest."""
        return self.function, self.shared


def run_steps(
    steps: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]],
    own: Sequence[Own],
    number: int,
    block: Any,
) -> Any:
    """Do all steps with one partition; errors name it."""
    for (function, shared), more in zip(steps, own, strict=True):
        block = call(function, number, block, *shared, *more)
    return block
