"""What stands at each row of the table: the label that counts, and where it comes from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaven._labels import UNLABELED
from leaven.app._events import BULK, HAND, LABEL, Event
from leaven.app._sheet import Sheet
from leaven.app._state import Mark, State

FREE, GIVEN, BY_HAND, IN_BULK = 0, 1, 2, 3
"""Where the label of a row comes from."""

SOURCES = ("", "given", HAND, BULK)
"""The same in words."""


class Board:
    """The events of all users as arrays over the rows, seen by one of them.

    Parameters
    ----------
    sheet : Sheet
    user : str
    classes : collection of str, default=()
        Offered from the start, beside those that have a label.

    Attributes
    ----------
    state : State
        The events replayed.
    classes : list
        In the order of their keys; classes are only ever added.
    codes : int array of shape (n_rows,)
        Number of the class of each row, ``UNLABELED`` where there is none.
    source : int8 array of shape (n_rows,)
        ``FREE``, ``GIVEN``, ``BY_HAND`` or ``IN_BULK``.
    mine : bool array of shape (n_rows,)
        Rows with a mark of this user by hand.
    aside : bool array of shape (n_rows,)
        Rows that were skipped or marked unsure.
    in_bulk : int array of shape (n_rows,)
        The label that was last given in bulk, also where one by hand counts instead.
    """

    def __init__(self, sheet: Sheet, user: str, classes: Collection[str] = ()) -> None:
        self.sheet, self.user = sheet, user
        self.state = State()
        self.classes: list[Any] = list(sheet.classes)
        self._add_classes(classes)
        n_rows = len(sheet)
        self.codes = sheet.codes.copy()
        self.source = np.where(self.codes != UNLABELED, GIVEN, FREE).astype(np.int8)
        self.mine = np.zeros(n_rows, dtype=bool)
        self.aside = np.zeros(n_rows, dtype=bool)
        self.in_bulk = np.full(n_rows, UNLABELED, dtype=np.intp)

    def apply(self, event: Event) -> None:
        """Take in the next event, whoever wrote it."""
        touched = self.state.apply(event)
        self._add_classes(self.state.classes)
        for name in touched:
            row = self.sheet.row_of.get(name)
            if row is not None:  # the row may be gone from the table; its events stay
                self._refresh(row, name)

    def _add_classes(self, values: Collection[Any]) -> None:
        for value in values:
            if value not in self.classes:
                self.classes.append(value)

    def _refresh(self, row: int, name: str) -> None:
        mark, own = self.state.mark(name), self.state.marks(name).get(self.user)
        bulk = self.state.bulk_value(name)
        self.in_bulk[row] = UNLABELED if bulk is None else self.classes.index(bulk)
        self.mine[row] = own is not None and own.by_hand
        if mark is not None and mark.kind == LABEL:
            self.aside[row] = False
            self.codes[row] = self.classes.index(mark.value)
            self.source[row] = BY_HAND if mark.by_hand else IN_BULK
        else:
            self.aside[row] = mark is not None
            self.codes[row] = self.sheet.codes[row]
            self.source[row] = GIVEN if self.codes[row] != UNLABELED else FREE

    def own_mark(self, row: int) -> Mark | None:
        """What this user put at a row by hand."""
        own = self.state.marks(self.sheet.names[row]).get(self.user)
        return own if own is not None and own.by_hand else None

    def names_of(self, rows: Sequence[int]) -> tuple[str, ...]:
        """The names of rows, by which events know them."""
        return tuple(self.sheet.names[row] for row in rows)

    def rows_of(self, names: Sequence[str]) -> list[int]:
        """The positions of the rows with these names that are still in the table."""
        return [self.sheet.row_of[name] for name in names if name in self.sheet.row_of]

    def class_names(self) -> list[str]:
        """The classes, as text, in the order of their keys."""
        return [str(value) for value in self.classes]

    def label(self, row: int) -> str | None:
        """The label that counts at a row, as text."""
        code = int(self.codes[row])
        return None if code == UNLABELED else str(self.classes[code])

    def values(self) -> list[Any]:
        """The label that counts at each row, or None."""
        return [None if code == UNLABELED else self.classes[code] for code in self.codes.tolist()]

    def by_person(self, rows: NDArray[np.intp] | list[int]) -> NDArray[np.bool_]:
        """Which rows have a label that somebody gave to this very row."""
        return np.isin(self.source[rows], (GIVEN, BY_HAND))

    def counts(self) -> dict[str, int]:
        """How many rows have a label, by where it comes from."""
        by_source = np.bincount(self.source, minlength=4)
        return {
            "n_rows": len(self.sheet),
            "given": int(by_source[GIVEN]),
            "hand": int(by_source[BY_HAND]),
            "bulk": int(by_source[IN_BULK]),
            "aside": int(self.aside.sum()),
        }

    def per_class(self) -> list[int]:
        """How many rows have each class."""
        known = self.codes[self.codes != UNLABELED]
        return [int(count) for count in np.bincount(known, minlength=len(self.classes))]

    def checks(self) -> dict[str, int] | None:
        """How spot checks of labels in bulk went: rows labeled in bulk, then by hand."""
        checked = (self.in_bulk != UNLABELED) & (self.source == BY_HAND)
        n_agree = int((self.codes == self.in_bulk)[checked].sum())
        return {"n": int(checked.sum()), "agree": n_agree} if checked.any() else None
