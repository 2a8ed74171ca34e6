"""What the events add up to: who gave which label to which row."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from leaven.app._agreement import Pattern
from leaven.app._events import BULK, CLASS, LABEL, NOTE, SKIP, UNDO, UNSURE, Event


@dataclass(frozen=True)
class Mark:
    """What stands at a row: a label, a skip or "unsure", and the event that put it there."""

    kind: str
    value: Any
    event: Event

    @property
    def by_hand(self) -> bool:
        """Whether a person looked at this very row."""
        return self.event.source != BULK


class State:
    """The events replayed.

    ``patterns`` counts the rows by who gave them which label, for the agreement of several
    people, and ``n_disagreements`` those with different labels.

    Of the events of one user at one row the last that was not undone counts, and one by hand
    before one in bulk. Of several users the majority counts, on a tie the latest; again those
    by hand first.

    Examples
    --------
    >>> from leaven.app._events import Event
    >>> from leaven.app._state import State
    >>> state = State()
    >>> state.apply(Event("a", "label", ("r1",), "spam", id=1, user="ann"))
    {'r1'}
    >>> state.apply(Event("b", "undo", undoes=1, id=2, user="ann"))
    {'r1'}
    >>> state.mark("r1") is None
    True
    """

    def __init__(self) -> None:
        self.last = 0
        self.classes: list[Any] = []
        self.undone: set[int] = set()
        self.events: dict[int, Event] = {}
        self._at_row: dict[str, list[Event]] = {}
        self._steps: dict[str, list[int]] = {}
        self._raters: dict[str, set[str]] = {}
        self._shared: dict[str, dict[str, Any]] = {}
        self.patterns: Counter[Pattern] = Counter()
        self.n_disagreements = 0

    def apply(self, event: Event) -> set[str]:
        """Take in the next event; return the rows at which something may have changed."""
        self.last = max(self.last, event.id)
        self.events[event.id] = event
        if event.kind == UNDO:
            return self._undo(event)
        self._steps.setdefault(event.user, []).append(event.id)
        if event.kind == CLASS:
            self._add_class(event.value)
            return set()
        if event.kind == LABEL:
            self._add_class(event.value)
        for row in event.rows:
            self._at_row.setdefault(row, []).append(event)
            if event.source != BULK:
                self._raters.setdefault(row, set()).add(event.user)
                self._count(row)
        return set(event.rows)

    def _count(self, row: str) -> None:
        """Keep the labels by hand of a row of several people: counting all of them takes long."""
        if len(self._raters.get(row, ())) < 2:
            return
        before, now = self._shared.get(row, {}), self._hand_labels(row)
        for labels, step in ((before, -1), (now, 1)):
            if len(labels) > 1:
                self.patterns[frozenset(labels.items())] += step
                self.n_disagreements += step * (len(set(labels.values())) > 1)
        self.patterns = +self.patterns  # without those that no row has any more
        self._shared[row] = now

    def _add_class(self, value: Any) -> None:
        if value not in self.classes:
            self.classes.append(value)

    def _undo(self, event: Event) -> set[str]:
        undone = self.events.get(event.undoes or 0)
        if undone is None or undone.id in self.undone:
            return set()
        self.undone.add(undone.id)
        self._steps[undone.user].remove(undone.id)
        for row in undone.rows:
            self._at_row[row].remove(undone)
            self._count(row)
        return set(undone.rows)

    def last_step(self, user: str) -> Event | None:
        """The event that an undo of this user takes back."""
        steps = self._steps.get(user)
        return self.events[steps[-1]] if steps else None

    def steps(self, user: str | None = None) -> list[Event]:
        """The events that were not undone, of one user or of all, in order."""
        if user is not None:
            return [self.events[number] for number in self._steps.get(user, [])]
        numbers = sorted(number for steps in self._steps.values() for number in steps)
        return [self.events[number] for number in numbers]

    def last_steps(self, user: str, most: int, before: int | None = None) -> list[Event]:
        """The newest events of a user that were not undone, the newest first.

        Parameters
        ----------
        user : str
        most : int
        before : int, optional
            Only events with a smaller number.
        """
        numbers = self._steps.get(user, [])
        end = len(numbers) if before is None else bisect_left(numbers, before)
        return [self.events[number] for number in reversed(numbers[max(0, end - most) : end])]

    def marks(self, row: str) -> dict[str, Mark]:
        """What each user put at a row."""
        found: dict[str, Mark] = {}
        for event in self._at_row.get(row, ()):
            if event.kind not in (LABEL, SKIP, UNSURE):
                continue
            before = found.get(event.user)
            if before is None or event.source != BULK or not before.by_hand:
                found[event.user] = Mark(event.kind, event.value, event)
        return found

    def mark(self, row: str) -> Mark | None:
        """What counts at a row, whoever put it there."""
        marks = self.marks(row).values()
        for by_hand in (True, False):
            labels = [each for each in marks if each.kind == LABEL and each.by_hand == by_hand]
            if labels:
                return _majority(labels)
        return max(marks, key=lambda each: each.event.id, default=None)

    def notes(self, row: str) -> list[Event]:
        """The notes at a row; an empty note takes back those of its user."""
        found: list[Event] = []
        for event in self._at_row.get(row, ()):
            if event.kind == NOTE:
                found = [each for each in found if each.user != event.user]
                if event.value:
                    found.append(event)
        return found

    def rows(self) -> Iterable[str]:
        """The rows that an event speaks of."""
        return self._at_row.keys()

    def bulk_value(self, row: str) -> Any:
        """The label that a row was last given in bulk, or None."""
        events = self._at_row.get(row, ())
        return next((each.value for each in reversed(events) if each.source == BULK), None)

    def ratings(self) -> dict[str, dict[str, Any]]:
        """The labels by hand of the rows that at least two people labeled, by user."""
        return {row: labels for row, labels in sorted(self._shared.items()) if len(labels) > 1}

    def disagreements(self) -> list[str]:
        """The rows to which people gave different labels by hand."""
        return [row for row, labels in self.ratings().items() if len(set(labels.values())) > 1]

    def _hand_labels(self, row: str) -> dict[str, Any]:
        return {
            user: mark.value
            for user, mark in self.marks(row).items()
            if mark.kind == LABEL and mark.by_hand
        }


def _majority(labels: list[Mark]) -> Mark:
    counts = Counter(each.value for each in labels)
    most = max(counts.values())
    winners = {value for value, count in counts.items() if count == most}
    return max((each for each in labels if each.value in winners), key=lambda each: each.event.id)
