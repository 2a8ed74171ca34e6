"""What the learner has told so far: clusters, near-duplicates, answers, tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaven.app._answers import Answers, HeldOut
from leaven.app._board import FREE, Board
from leaven.app._evidence import Things
from leaven.app._learner import News, Nothing, Ready, Twins
from leaven.app._orders import cluster_by_cluster, typical_first
from leaven.app._sheet import Sheet
from leaven.statistics import wilson_interval

_MOST_KEPT = 2_000  # rows whose words are remembered: more than any page has ahead

SURE = 0.8
"""Confidence from which a row does not count as uncertain: four answers of five are right."""


class Knowledge:
    """The newest news of each kind; empty until the learner speaks.

    Attributes
    ----------
    ready : Ready or None
    groups : int array of shape (n_rows,) or None
        Of near-duplicates, -1 for a row that has none.
    answers : Answers or None
    tested : HeldOut or None
    typical, by_cluster : int array of shape (n_rows,)
        All rows in the order of :func:`~leaven.app._orders.typical_first` and of
        :func:`~leaven.app._orders.cluster_by_cluster`; empty until ``ready``.
    trouble : str
        Why there are no suggestions, or no new ones.
    """

    def __init__(self) -> None:
        self.ready: Ready | None = None
        self.groups: NDArray[np.int32] | None = None
        self.answers: Answers | None = None
        self.tested: HeldOut | None = None
        self.trouble = ""
        self.typical: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self.by_cluster: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._n_twins: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._words: dict[int, list[int]] = {}

    def take(self, news: News) -> None:
        """Take in what the learner says."""
        if isinstance(news, Ready):
            self.ready = news
            # Sorted once: to sort 100,000 rows takes longer than all the rest of a question.
            self.typical = typical_first(news.cluster, news.distance)
            self.by_cluster = cluster_by_cluster(news.cluster, news.distance)
        elif isinstance(news, Twins):
            self.groups = news.groups
            # Counted once: every row that is sent to the page says how many it has.
            sizes = np.bincount(news.groups[news.groups >= 0], minlength=1)
            self._n_twins = np.where(news.groups >= 0, sizes[news.groups], 0)
        elif isinstance(news, Answers):
            self.answers = news
        elif isinstance(news, HeldOut):
            self.tested = news
        elif isinstance(news, Nothing):
            self.trouble = news.reason

    def n_twins(self, row: int) -> int:
        """How many near-duplicates a row has, itself among them."""
        return int(self._n_twins[row]) if len(self._n_twins) else 0

    def twins(self, row: int) -> NDArray[np.intp]:
        """The near-duplicates of a row, itself among them; itself alone if there are none."""
        if self.groups is None or self.groups[row] < 0:
            return np.array([row], dtype=np.intp)
        return np.flatnonzero(self.groups == self.groups[row])

    def suggestion(self, row: int, sheet: Sheet, classes: list[str]) -> dict[str, Any] | None:
        """What the model answers for a row, with which probability, and why."""
        answers = self.answers
        if answers is None:
            return None
        found = [
            [classes[code], round(float(share), 3)]
            for code, share in zip(answers.top[row], answers.share[row], strict=True)
            if share > 0
        ]
        if not found:
            return None
        reasons: dict[str, Any] = {"words": [], "columns": []}
        if self.ready is not None:
            best = int(answers.top[row, 0])
            words = self._words_of(row, sheet, self.ready.things)
            reasons = answers.evidence.of_row(self.ready.things, row, words, best)
        return {"label": found[0][0], "share": found[0][1], "all": found, **reasons}

    def _words_of(self, row: int, sheet: Sheet, things: Things) -> list[int]:
        """The words of a row, by number; kept, as each new model is asked about the same rows."""
        found = self._words.get(row)
        if found is None:
            found = things.words_in(sheet.text_of(row))
            if len(self._words) >= _MOST_KEPT:
                self._words = {}
            self._words[row] = found
        return found

    def answers_in(self, rows: NDArray[np.intp], classes: list[str]) -> list[list[Any]]:
        """What the model answers for a group: class and share of the rows, largest first."""
        if self.answers is None or not len(rows):
            return []
        counts = np.bincount(self.answers.top[rows, 0], minlength=len(classes))
        order = np.argsort(-counts, kind="stable")[:3]
        return [
            [classes[code], round(float(counts[code] / len(rows)), 3)]
            for code in order
            if counts[code]
        ]

    def accuracy(self) -> dict[str, Any] | None:
        """Accuracy on held-out labels of rows drawn at random, with its 95% interval."""
        test = self.tested
        if test is None or not test.n_tested:
            return None
        low, high = wilson_interval(test.n_right, test.n_tested)
        share = test.n_right / test.n_tested
        return {"share": share, "low": low, "high": high, "n": test.n_tested}

    def n_uncertain(self, board: Board) -> int | None:
        """How many rows without a label have a suggestion below :data:`SURE`."""
        if self.answers is None:
            return None
        return int((self.answers.share[board.source == FREE, 0] < SURE).sum())
