"""Which rows are asked next, and which of those answered are a random sample."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from leaven.app._board import BY_HAND, FREE, GIVEN, IN_BULK, Board
from leaven.app._events import SKIP
from leaven.app._knowledge import Knowledge
from leaven.app._orders import (
    CLUSTER,
    ORDERS,
    SEARCH,
    SUSPICIOUS,
    UNCERTAIN,
    USEFUL,
    interleave,
)


class Questions:
    """The rows to ask, from what stands on the board and what the learner knows.

    Parameters
    ----------
    board : Board
    knowledge : Knowledge
    drawn : int array of shape (n_rows,)
        All rows in one random order, see :meth:`~leaven.app._sheet.Sheet.draw_order`.
    """

    def __init__(self, board: Board, knowledge: Knowledge, drawn: NDArray[np.intp]) -> None:
        self.board, self.knowledge, self.drawn = board, knowledge, drawn

    def next(
        self, order: str, n_rows: int, have: Collection[int] = (), query: str = ""
    ) -> list[tuple[int, str]]:
        """Choose the next rows, and say why each is asked.

        Parameters
        ----------
        order : str
            One of :data:`~leaven.app._orders.ORDERS`.
        n_rows : int
        have : collection of int
            Rows that the page has already.
        query : str
            Of the order "search".

        Returns
        -------
        questions : list of tuple of (int, str)
        """
        if order not in ORDERS:
            raise ValueError(f"order must be one of {', '.join(ORDERS)}, got {order!r}.")
        held = np.zeros(len(self.drawn), dtype=bool)
        held[list(have)] = True
        if order == SUSPICIOUS:
            found = [(row, SUSPICIOUS) for row, _, _ in self.suspicious() if not held[row]]
            return found[:n_rows]
        board = self.board
        free = (board.source == FREE) & ~board.aside & ~held
        # Masks over whole arrays, and only the first rows as a list: a loop over 100,000 rows
        # per key would take as long as all the rest.
        chosen = interleave(
            self._in_order(order, query, free, n_rows),
            self._first(self.drawn, ~board.mine & (board.source != GIVEN) & ~held, n_rows),
            self._first(self.drawn, (board.source == IN_BULK) & ~held, n_rows),
            name=order,
            start=int(board.mine.sum()) + len(have),
            n_rows=n_rows,
        )
        return chosen or self._again(held, n_rows)

    @staticmethod
    def _first(rows: NDArray[np.intp], wanted: NDArray[np.bool_], n_rows: int) -> list[int]:
        # Of three sources each can at most take away n_rows of another.
        found: list[int] = rows[wanted[rows]][: 3 * n_rows].tolist()
        return found

    def _in_order(
        self, order: str, query: str, free: NDArray[np.bool_], n_rows: int
    ) -> Iterator[int]:
        ready, answers = self.knowledge.ready, self.knowledge.answers
        if order == SEARCH:
            yield from self._first(self.board.sheet.search(query), free, n_rows)
            return
        ranked: NDArray[np.intp] | None = None
        if order == CLUSTER and ready is not None:
            ranked = self.knowledge.by_cluster
        elif order in (USEFUL, UNCERTAIN) and answers is not None:
            ranked = answers.useful if order == USEFUL else answers.uncertain
        elif order == USEFUL and ready is not None:
            ranked = self.knowledge.typical
        if ranked is not None:
            yield from self._first(ranked, free, n_rows)
        yield from self._first(self.drawn, free, n_rows)

    def _again(self, held: NDArray[np.bool_], n_rows: int) -> list[tuple[int, str]]:
        """When nothing else is left: what was skipped comes back."""
        rows = np.flatnonzero(self.board.aside & ~held).tolist()
        marks = ((row, self.board.own_mark(row)) for row in rows)
        return [(row, "skipped") for row, mark in marks if mark and mark.kind == SKIP][:n_rows]

    def random_sample(self) -> NDArray[np.intp]:
        """The rows at the beginning of the random order whose label is known.

        Up to the first row without an answer they are a simple random sample of the table,
        whatever other rows were labeled; rows that nobody could label are left out.
        """
        source = self.board.source[self.drawn]
        known = (source == GIVEN) | (source == BY_HAND)
        open_ = np.flatnonzero(~known & ~self.board.aside[self.drawn])
        end = int(open_[0]) if len(open_) else len(known)
        return np.asarray(self.drawn[:end][known[:end]], dtype=np.intp)

    def suspicious(self) -> list[tuple[int, int, float]]:
        """Labels that the model doubts and that nobody has confirmed since."""
        test, board = self.knowledge.tested, self.board
        found = []
        for row, code, share in () if test is None else test.suspicious:
            own = board.own_mark(row)
            if board.codes[row] == code or (own and test and own.event.id > test.version):
                continue
            if own and own.event.why == SUSPICIOUS:
                continue  # asked once already, and kept
            found.append((row, code, share))
        return found
