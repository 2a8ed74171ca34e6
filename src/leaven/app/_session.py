"""A labeling session: events in, questions and progress out. It knows nothing of the web."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Collection
from typing import Any

from leaven.app._actions import key_of, make_draft
from leaven.app._agreement import agreement
from leaven.app._answers import Request
from leaven.app._board import SOURCES, Board
from leaven.app._events import HAND, LABEL, CannotSaveError, Event, EventStore
from leaven.app._fingerprints import Comparison, compare_rows
from leaven.app._groups import cluster, line, listing
from leaven.app._knowledge import Knowledge
from leaven.app._learner import Learner, News
from leaven.app._questions import Questions
from leaven.app._sheet import Sheet
from leaven.app._strip import FEWEST_TESTED, RECENT, expected_gain, labels_per_minute
from leaven.tables import TableError


class Session:
    """One user at one table.

    Parameters
    ----------
    sheet : Sheet
    store : EventStore
    user : str
    learner : Learner, optional
        Without one there are no suggestions.
    classes : collection of str, default=()
        Offered from the start, beside those that have a label.
    guide : str, default=""
        Guidelines, shown as text.

    Attributes
    ----------
    board : Board
        What stands at each row.
    knowledge : Knowledge
        What the learner has told.
    asking : Questions
    """

    def __init__(
        self,
        sheet: Sheet,
        store: EventStore,
        user: str,
        *,
        learner: Learner | None = None,
        classes: Collection[str] = (),
        guide: str = "",
    ) -> None:
        self.sheet, self.store, self.user, self.guide = sheet, store, user, guide
        self.learner = learner
        self.lock = threading.RLock()
        self.board = Board(sheet, user, classes)
        self.knowledge = Knowledge()
        self._closed = False
        self.changes = self._recognize()
        self.curve: list[list[float]] = store.fact("curve") or []
        seed = store.fact("seed")
        if seed is None:
            seed = secrets.token_hex(8)
            store.keep_fact("seed", seed)
        self.seed: str = seed
        self.asking = Questions(self.board, self.knowledge, sheet.draw_order(seed))
        self.sync()
        if learner is not None:
            learner.start(self.hear)
            self._submit()

    # What changed on the disk and in the learner

    def _recognize(self) -> Comparison:
        """Compare the rows with those of the last time, and keep them for the next time."""
        before = self.store.fact("rows")
        now = self.sheet.names
        changes = compare_rows(before or now, now)
        labeled = {row for event in self.store.since(0) for row in event.rows}
        if labeled and not labeled & set(now):
            raise TableError(
                f"{self.store.path} belongs to another table: none of its {len(labeled):,} labeled "
                "rows is in this one.",
                advice=("Pass", "labels", "other.labels.db"),
            )
        if before != now:
            self.store.keep_fact("rows", now)
        if before is None:
            self.store.keep_fact("columns", self.sheet.content)
        return changes

    def sync(self) -> None:
        """Take in the events that this and other processes wrote."""
        with self.lock:
            events = self.store.since(self.board.state.last)
            for event in events:
                self.board.apply(event)
            if events and events[-1].user != self.user:
                self._submit()

    def _submit(self) -> None:
        if self.learner is not None:
            board, sample = self.board, self.asking.random_sample()
            self.learner.submit(
                Request(board.state.last, board.codes.copy(), len(board.classes), sample)
            )

    def hear(self, news: News) -> None:
        """Take in what the learner says; called from its thread."""
        with self.lock:
            if not self._closed:
                before = self.knowledge.tested
                self.knowledge.take(news)
                if self.knowledge.tested is not before:
                    self._extend_curve()

    def _extend_curve(self) -> None:
        test, accuracy = self.knowledge.tested, self.knowledge.accuracy()
        if test is None or accuracy is None or accuracy["n"] < FEWEST_TESTED:
            return
        point = [test.n_labels, accuracy["share"], accuracy["low"], accuracy["high"]]
        self.curve = [each for each in self.curve if each[0] < test.n_labels] + [point]
        # A full disk is reported where it matters: at the next label.
        with contextlib.suppress(CannotSaveError):
            self.store.keep_fact("curve", self.curve, at_once=False)

    # Writing

    def record(self, action: dict[str, Any]) -> dict[str, Any]:
        """Write one action of the page to the disk and return what became of it.

        Parameters
        ----------
        action : dict
            See :func:`~leaven.app._actions.make_draft`.

        Returns
        -------
        result : dict

        Raises
        ------
        ValueError
            If the action makes no sense.
        ConflictError
            If the row was labeled in another window since.
        CannotSaveError
            If it could not be written.
        """
        key = key_of(action)
        with self.lock:
            with self.store.transaction():
                self.sync()
                event = self.store.by_key(key)
                is_new = event is None
                if event is None:
                    event = self.store.insert(make_draft(action, self.board), user=self.user)
            if is_new:
                self.board.apply(event)
                self._submit()
            return self._result(event)

    def _result(self, event: Event) -> dict[str, Any]:
        undone = self.board.state.events.get(event.undoes) if event.undoes else None
        shown = undone or event
        rows = self.board.rows_of(shown.rows)
        return {
            "event": event.id,
            "kind": shown.kind,
            "undone": undone is not None,
            "label": None if shown.value is None else str(shown.value),
            "row": self.row(rows[0]) if len(rows) == 1 else None,
            "n_rows": len(rows),
            "classes": self.board.class_names(),
            "counts": self.board.counts(),
        }

    # Reading

    def row(self, row: int, *, full: bool = False) -> dict[str, Any]:
        """All that the page shows of a row."""
        with self.lock:
            board = self.board
            name = self.sheet.names[row]
            own = board.own_mark(row)
            others = {
                user: str(mark.value)
                for user, mark in board.state.marks(name).items()
                if user != self.user and mark.kind == LABEL
            }
            found = {
                "row": row,
                "base": own.event.id if own else 0,
                "label": board.label(row),
                "mark": own.kind if own else None,
                "source": SOURCES[board.source[row]],
                "others": others,
                "notes": [[note.user, note.value] for note in board.state.notes(name)],
                "n_twins": self.knowledge.n_twins(row),
            }
        # Without the lock: to find the words of long texts takes a while, and a key must not wait.
        cells = self.sheet.cells(row, full=full)
        return {**found, "cells": cells, "suggestion": self.suggestion(row)}

    def suggestion(self, row: int) -> dict[str, Any] | None:
        """What the model answers for a row, with which probability, and why."""
        return self.knowledge.suggestion(row, self.sheet, self.board.class_names())

    def questions(
        self, order: str, n_rows: int, have: Collection[int] = (), query: str = ""
    ) -> list[dict[str, Any]]:
        """The next rows to ask, as :meth:`row`, with ``why``; see :meth:`Questions.next`."""
        with self.lock:
            chosen = self.asking.next(order, n_rows, have, query)
        return [{**self.row(row), "why": why} for row, why in chosen]

    def search(self, query: str) -> dict[str, Any]:
        """The rows that hold all words of a query."""
        found = self.sheet.search(query)
        with self.lock:
            return listing(found, self.board, self.knowledge)

    def near(self, row: int) -> dict[str, Any]:
        """The near-duplicates of a row, itself among them."""
        with self.lock:
            found = listing(self.knowledge.twins(row), self.board, self.knowledge)
            return {**found, "known": self.knowledge.groups is not None}

    def cluster(self, number: int | None = None) -> dict[str, Any]:
        """One cluster, by default that with most rows that have no label."""
        with self.lock:
            return cluster(number, self.board, self.knowledge)

    def history(self, before: int | None = None, n_rows: int = 50) -> list[dict[str, Any]]:
        """The steps of this user that were not undone, the newest first."""
        with self.lock:
            steps = self.board.state.last_steps(self.user, n_rows, before)
            return [self._step(event) for event in steps]

    def _step(self, event: Event) -> dict[str, Any]:
        rows = self.board.rows_of(event.rows)
        return {
            "event": event.id,
            "kind": event.kind,
            "label": None if event.value is None else str(event.value),
            "source": event.source,
            "time": event.time,
            "row": rows[0] if len(rows) == 1 else None,
            "n_rows": len(event.rows),
            "text": self.sheet.snippet(rows[0]) if rows else "",
        }

    def progress(self) -> dict[str, Any]:
        """The strip: what was done, how good it is, and whether more labels are worth it."""
        with self.lock:
            board, knowledge, answers = self.board, self.knowledge, self.knowledge.answers
            # Bulk steps and notes lie between the labels: twice as many steps are enough.
            recent = board.state.last_steps(self.user, 2 * RECENT)
            times = [e.time for e in reversed(recent) if e.kind == LABEL and e.source == HAND]
            sizes = [int(point[0]) for point in self.curve]
            return {
                "version": board.state.last,
                "model": answers.version if answers else None,
                "method": answers.method if answers else None,
                "seconds": round(answers.seconds, 2) if answers else None,
                "counts": board.counts(),
                "classes": board.class_names(),
                "per_class": board.per_class(),
                "per_minute": labels_per_minute(times),
                "accuracy": knowledge.accuracy(),
                "curve": self.curve,
                "gain": expected_gain(sizes, [point[1] for point in self.curve]),
                "uncertain": knowledge.n_uncertain(board),
                "stop": answers.stop if answers else None,
                "checks": board.checks(),
                "suspicious": len(self.asking.suspicious()),
                "agreement": agreement(board.state.patterns),
                "disagreements": board.state.n_disagreements,
                "learner": knowledge.trouble or self._learner_state(),
                "time": time.time(),
            }

    def _learner_state(self) -> str:
        if self.learner is None:
            return "There is no learner: no suggestions."
        if self.knowledge.ready is None:
            return "The table is being prepared."
        if self.knowledge.answers is None:
            return "Suggestions start when two classes have a label."
        return ""

    def disagreements(self) -> list[dict[str, Any]]:
        """The rows to which people gave different labels, with who gave which."""
        with self.lock:
            state = self.board.state
            there = [name for name in state.disagreements() if name in self.sheet.row_of]
            return [
                {
                    **line(self.sheet.row_of[name], self.board),
                    "labels": {user: str(mark.value) for user, mark in state.marks(name).items()},
                }
                for name in there
            ]

    def changed_rows(self) -> dict[str, Any]:
        """What the page tells about a table that is not the one of the last time."""
        state = self.board.state
        labeled = set(state.rows())
        changed = []
        for row, name in self.changes.changed:
            if name in labeled:
                mark = state.mark(name)
                changed.append([row, str(mark.value) if mark and mark.value is not None else None])
        gone = [name for name in self.changes.gone if name in labeled]
        return {
            "n_new": self.changes.n_new,
            "moved": self.changes.moved,
            "changed": changed,
            "n_gone": len(gone),
        }

    def close(self) -> None:
        """End the learner and close the event file."""
        with self.lock:
            self._closed = True
        if self.learner is not None:
            self.learner.close()
        self.store.close()
