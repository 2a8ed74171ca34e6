"""A labeling session: events in, questions and progress out. It knows nothing of the web."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaven._labels import UNLABELED
from leaven.app._agreement import agreement
from leaven.app._answers import Answers, Request, Test
from leaven.app._events import (
    BULK,
    CLASS,
    HAND,
    LABEL,
    NOTE,
    SKIP,
    UNDO,
    UNSURE,
    Draft,
    Event,
    EventStore,
)
from leaven.app._fingerprints import Comparison, compare_rows
from leaven.app._learner import Learner, News, Nothing, Ready, Twins
from leaven.app._orders import (
    CLUSTER,
    ORDERS,
    SEARCH,
    SUSPICIOUS,
    UNCERTAIN,
    USEFUL,
    cluster_by_cluster,
    interleave,
    typical_first,
)
from leaven.app._sheet import Sheet
from leaven.app._state import Mark, State
from leaven.app._strip import expected_gain, labels_per_minute
from leaven.statistics import wilson_interval
from leaven.tables import TableError

FREE, GIVEN, BY_HAND, IN_BULK = 0, 1, 2, 3
"""Where the label of a row comes from."""

SOURCES = ("", "given", HAND, BULK)
SURE = 0.8
"""Confidence from which a row does not count as uncertain: four answers of five are right."""

_TYPICAL, _ATYPICAL = 5, 3  # rows of a group shown before one key labels it: one screen
_MOST_LISTED = 200  # rows of a search or a group that are shown; all of them can be labeled
_MOST_CLASS_NAME = 200  # characters
_MOST_NOTE = 10_000  # characters


class ConflictError(ValueError):
    """The row was labeled elsewhere since the page saw it."""


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
        self.state = State()
        self.classes: list[Any] = list(sheet.classes)
        self._add_classes(classes)
        n_rows = len(sheet)
        self.codes = sheet.codes.copy()
        self.source = np.where(self.codes != UNLABELED, GIVEN, FREE).astype(np.int8)
        self.mine = np.zeros(n_rows, dtype=bool)  # rows with a mark of this user by hand
        self.aside = np.zeros(n_rows, dtype=bool)  # skipped, or marked unsure
        self.in_bulk = np.full(n_rows, UNLABELED, dtype=np.intp)  # the label given in bulk
        self.ready: Ready | None = None
        self.answers: Answers | None = None
        self.tested: Test | None = None
        self.groups: NDArray[np.int32] | None = None
        self.trouble = ""
        self._closed = False
        self.changes = self._recognize()
        self.curve: list[list[float]] = store.fact("curve") or []
        seed = store.fact("seed")
        if seed is None:
            seed = secrets.token_hex(8)
            store.keep_fact("seed", seed)
        self.seed: str = seed
        self.drawn = sheet.draw_order(seed)
        # Walked through at every question: made a list once, not per key.
        self._in_random_order: list[int] = self.drawn.tolist()
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
                advice=("Pass", "labels", "another event file"),
            )
        if before != now:
            self.store.keep_fact("rows", now)
        if before is None:
            self.store.keep_fact("columns", self.sheet.content)
        return changes

    def sync(self) -> None:
        """Take in the events that this and other processes wrote."""
        with self.lock:
            events = self.store.since(self.state.last)
            for event in events:
                self._apply(event)
            if events and events[-1].user != self.user:
                self._submit()

    def _apply(self, event: Event) -> None:
        touched = self.state.apply(event)
        self._add_classes(self.state.classes)
        for name in touched:
            row = self.sheet.row_of.get(name)
            if row is not None:
                self._refresh(row, name)

    def _refresh(self, row: int, name: str) -> None:
        mark, own = self.state.mark(name), self.state.marks(name).get(self.user)
        bulk = self.state.bulk_value(name)
        self.in_bulk[row] = UNLABELED if bulk is None else self.classes.index(bulk)
        self.mine[row] = own is not None and own.by_hand
        labeled = mark is not None and mark.kind == LABEL
        self.aside[row] = mark is not None and not labeled
        if labeled:
            assert mark is not None
            self.codes[row] = self.classes.index(mark.value)
            self.source[row] = BY_HAND if mark.by_hand else IN_BULK
        else:
            self.codes[row] = self.sheet.codes[row]
            self.source[row] = GIVEN if self.codes[row] != UNLABELED else FREE

    def _add_classes(self, values: Collection[Any]) -> None:
        for value in values:
            if value not in self.classes:
                self.classes.append(value)

    def _submit(self) -> None:
        if self.learner is None:
            return
        request = Request(
            self.state.last, self.codes.copy(), len(self.classes), self.random_sample()
        )
        self.learner.submit(request)

    def hear(self, news: News) -> None:
        """Take in what the learner says; called from its thread."""
        with self.lock:
            if self._closed:
                return
            if isinstance(news, Ready):
                self.ready = news
            elif isinstance(news, Twins):
                self.groups = news.groups
            elif isinstance(news, Answers):
                self.answers = news
            elif isinstance(news, Test):
                self.tested = news
                self._extend_curve(news)
            elif isinstance(news, Nothing):
                self.trouble = news.reason

    def _extend_curve(self, test: Test) -> None:
        if not test.n_tested:
            return
        low, high = wilson_interval(test.n_right, test.n_tested)
        point = [test.n_labels, test.n_right / test.n_tested, low, high]
        self.curve = [each for each in self.curve if each[0] < test.n_labels] + [point]
        self.store.keep_fact("curve", self.curve)

    # Writing

    def record(self, action: dict[str, Any]) -> dict[str, Any]:
        """Write one action of the page to the disk and return what became of it.

        Parameters
        ----------
        action : dict
            ``key`` and ``kind``; of a label ``rows``, ``label`` and ``source``; of a hand label
            ``base``, the event that the page knows of at the row; ``why`` and ``shown``.

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
        key = action.get("key")
        if not isinstance(key, str) or not 8 <= len(key) <= 64:
            raise ValueError("key must be a string of 8 to 64 characters, new for each action.")
        with self.lock:
            with self.store.transaction():
                self.sync()
                event = self.store.by_key(key)
                is_new = event is None
                if event is None:
                    event = self.store.insert(self._draft(key, action), user=self.user)
            if is_new:
                self._apply(event)
                self._submit()
            return self._result(event)

    def _draft(self, key: str, action: dict[str, Any]) -> Draft:
        kind = action.get("kind")
        if kind == UNDO:
            step = self.state.last_step(self.user)
            if step is None:
                raise ValueError("There is nothing to undo.")
            return Draft(key, UNDO, step.rows, undoes=step.id)
        if kind == CLASS:
            return Draft(key, CLASS, value=self._new_class(action.get("label")))
        if kind not in (LABEL, SKIP, UNSURE, NOTE):
            raise ValueError(
                f"kind must be label, skip, unsure, note, class or undo, got {kind!r}."
            )
        rows = self._rows(action.get("rows"))
        if kind == NOTE:
            text = action.get("text")
            if not isinstance(text, str) or len(text) > _MOST_NOTE:
                raise ValueError(f"text must be a string of at most {_MOST_NOTE:,} characters.")
            return Draft(key, NOTE, self._names(rows), text.strip())
        source = action.get("source", HAND)
        if source not in (HAND, BULK) or (source == BULK and kind != LABEL):
            raise ValueError(f"source must be 'hand', or 'bulk' for labels, got {source!r}.")
        value = self._class(action.get("label")) if kind == LABEL else None
        if source == HAND:
            if len(rows) != 1:
                raise ValueError(f"One row at a time, got {len(rows)}; many rows need 'bulk'.")
            self._check_base(rows[0], action.get("base"))
        else:
            # A label that a person gave to this very row stays.
            rows = [row for row in rows if self.source[row] not in (GIVEN, BY_HAND)]
            if not rows:
                raise ValueError("All of these rows have a label given by hand, which stays.")
        why, shown = action.get("why", ""), action.get("shown", {})
        if not isinstance(why, str) or len(why) > 40 or not isinstance(shown, dict):
            raise ValueError("why must be a short string and shown an object.")
        shown = {name: shown[name] for name in ("label", "share") if name in shown}
        return Draft(key, str(kind), self._names(rows), value, source, why, shown)

    def _rows(self, rows: Any) -> list[int]:
        if not isinstance(rows, list) or not rows or len(rows) > len(self.sheet):
            raise ValueError("rows must be a list of row numbers.")
        for row in rows:
            if isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < len(self.sheet):
                raise ValueError(f"rows must hold numbers from 0 to {len(self.sheet) - 1}.")
        return list(dict.fromkeys(rows))

    def _names(self, rows: list[int]) -> tuple[str, ...]:
        return tuple(self.sheet.names[row] for row in rows)

    def _class(self, name: Any) -> Any:
        for value in self.classes:
            if str(value) == name:
                return value
        raise ValueError(f"There is no class {name!r}.")

    def _new_class(self, name: Any) -> Any:
        if not isinstance(name, str) or not name.strip() or len(name) > _MOST_CLASS_NAME:
            raise ValueError(f"label must be a name of 1 to {_MOST_CLASS_NAME} characters.")
        name = name.strip()
        if name in map(str, self.classes):
            raise ValueError(f"There is a class {name!r} already.")
        if self.sheet.classes and not isinstance(self.sheet.classes[0], str):
            kind = type(self.sheet.classes[0])
            try:
                return kind(name)
            except ValueError:
                raise ValueError(
                    f"The classes of this table are of type {kind.__name__}, and {name!r} is none."
                ) from None
        return name

    def _check_base(self, row: int, base: Any) -> None:
        if base is None:
            return
        own = self._own_mark(row)
        if base != (own.event.id if own else 0):
            there = "nothing" if own is None else f"{own.kind} {own.value or ''}".strip()
            raise ConflictError(
                f"Row {row + 1} was changed in another window: {there} stands there."
            )

    def _own_mark(self, row: int) -> Mark | None:
        own = self.state.marks(self.sheet.names[row]).get(self.user)
        return own if own is not None and own.by_hand else None

    def _result(self, event: Event) -> dict[str, Any]:
        undone = self.state.events.get(event.undoes) if event.undoes else None
        shown = undone or event
        rows = [self.sheet.row_of[name] for name in shown.rows if name in self.sheet.row_of]
        return {
            "event": event.id,
            "kind": shown.kind,
            "undone": undone is not None,
            "label": None if shown.value is None else str(shown.value),
            "row": self.row(rows[0]) if len(rows) == 1 else None,
            "n_rows": len(rows),
            "classes": self.class_names(),
            "counts": self.counts(),
        }

    # Reading

    def class_names(self) -> list[str]:
        """The classes, as text, in the order of their keys."""
        return [str(value) for value in self.classes]

    def row(self, row: int, *, full: bool = False) -> dict[str, Any]:
        """All that the page shows of a row."""
        with self.lock:
            name = self.sheet.names[row]
            own = self._own_mark(row)
            code = int(self.codes[row])
            others = {
                user: str(mark.value)
                for user, mark in self.state.marks(name).items()
                if user != self.user and mark.kind == LABEL
            }
            return {
                "row": row,
                "cells": self.sheet.cells(row, full=full),
                "base": own.event.id if own else 0,
                "label": str(self.classes[code]) if code != UNLABELED else None,
                "mark": own.kind if own else None,
                "source": SOURCES[self.source[row]],
                "others": others,
                "notes": [[note.user, note.value] for note in self.state.notes(name)],
                "suggestion": self.suggestion(row),
                "n_twins": len(self._twins(row)),
            }

    def suggestion(self, row: int) -> dict[str, Any] | None:
        """What the model answers for a row, how sure it is, and why."""
        answers = self.answers
        if answers is None:
            return None
        found = [
            [str(self.classes[code]), round(float(share), 3)]
            for code, share in zip(answers.top[row], answers.share[row], strict=True)
            if share > 0
        ]
        if not found:
            return None
        reasons: dict[str, Any] = {"words": [], "columns": []}
        if self.ready is not None:
            reasons = answers.evidence.of_row(
                self.ready.things, row, self.sheet.text_of(row), int(answers.top[row, 0])
            )
        return {"label": found[0][0], "share": found[0][1], "all": found, **reasons}

    def questions(
        self, order: str, n_rows: int, have: Collection[int] = (), query: str = ""
    ) -> list[dict[str, Any]]:
        """The next rows to ask.

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
        questions : list of dict
            As :meth:`row`, with ``why``.
        """
        if order not in ORDERS:
            raise ValueError(f"order must be one of {', '.join(ORDERS)}, got {order!r}.")
        with self.lock:
            held = set(have)
            if order == SUSPICIOUS:
                chosen = [(row, SUSPICIOUS) for row, _, _ in self._suspicious() if row not in held]
            else:
                done = (self.source != FREE) | self.aside

                def wanted(row: int) -> bool:
                    return not done[row] and row not in held

                chosen = interleave(
                    self._in_order(order, query),
                    (
                        row
                        for row in self._in_random_order
                        if self._to_draw(row) and row not in held
                    ),
                    (row for row in self._to_check() if row not in held),
                    name=order,
                    start=int(self.mine.sum()) + len(held),
                    n_rows=n_rows,
                    wanted=wanted,
                )
                chosen = chosen or self._again(held, n_rows)
            return [{**self.row(row), "why": why} for row, why in chosen[:n_rows]]

    def _in_order(self, order: str, query: str) -> Iterator[int]:
        if order == SEARCH:
            yield from self.sheet.search(query).tolist()
            return
        if order == CLUSTER and self.ready is not None:
            yield from cluster_by_cluster(self.ready.cluster, self.ready.distance).tolist()
        elif order in (USEFUL, UNCERTAIN) and self.answers is not None:
            ranked = self.answers.useful if order == USEFUL else self.answers.uncertain
            yield from ranked.tolist()
        elif order == USEFUL and self.ready is not None:
            yield from typical_first(self.ready.cluster, self.ready.distance).tolist()
        yield from self._in_random_order

    def _to_draw(self, row: int) -> bool:
        """Whether a row of the random order is still to be asked of this user."""
        return not self.mine[row] and self.source[row] != GIVEN

    def _to_check(self) -> list[int]:
        """Rows labeled in bulk that nobody has looked at, in random order."""
        if not (self.source == IN_BULK).any():
            return []
        return [row for row in self._in_random_order if self.source[row] == IN_BULK]

    def _again(self, held: set[int], n_rows: int) -> list[tuple[int, str]]:
        """When nothing else is left: what was skipped comes back."""
        rows = [row for row in np.flatnonzero(self.aside).tolist() if row not in held]
        skipped = [row for row in rows if (mark := self._own_mark(row)) and mark.kind == SKIP]
        return [(row, "skipped") for row in skipped[:n_rows]]

    def random_sample(self) -> NDArray[np.intp]:
        """The rows at the beginning of the random order whose label is known.

        Up to the first row without an answer they are a simple random sample of the table,
        whatever other rows were labeled; rows that nobody could label are left out.
        """
        found = []
        for row in self._in_random_order:
            if self.source[row] in (GIVEN, BY_HAND):
                found.append(row)
            elif not self.aside[row]:
                break
        return np.asarray(found, dtype=np.intp)

    def _suspicious(self) -> list[tuple[int, int, float]]:
        """Labels that the model doubts and that nobody has confirmed since."""
        if self.tested is None:
            return []
        found = []
        for row, code, share in self.tested.suspicious:
            own = self._own_mark(row)
            if self.codes[row] == code or (own and own.event.id > self.tested.version):
                continue
            if own and own.event.why == SUSPICIOUS:
                continue  # asked once already, and kept
            found.append((row, code, share))
        return found

    def search(self, query: str) -> dict[str, Any]:
        """The rows that hold all words of a query."""
        with self.lock:
            return self.listing(self.sheet.search(query))

    def listing(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        """Describe a group of rows, which may be labeled with one key."""
        free = rows[~np.isin(self.source[rows], (GIVEN, BY_HAND))]
        return {
            "n_rows": len(rows),
            "open": free.tolist(),
            "rows": [self._line(row) for row in rows[:_MOST_LISTED].tolist()],
            "answers": self._answers_in(free),
        }

    def _line(self, row: int) -> dict[str, Any]:
        code = int(self.codes[row])
        return {
            "row": row,
            "text": self.sheet.snippet(row),
            "label": str(self.classes[code]) if code != UNLABELED else None,
            "source": SOURCES[self.source[row]],
        }

    def _answers_in(self, rows: NDArray[np.intp]) -> list[list[Any]]:
        """What the model answers for a group: class and share of the rows, largest first."""
        if self.answers is None or not len(rows):
            return []
        counts = np.bincount(self.answers.top[rows, 0], minlength=len(self.classes))
        order = np.argsort(-counts, kind="stable")[:3]
        return [
            [str(self.classes[code]), round(float(counts[code] / len(rows)), 3)]
            for code in order
            if counts[code]
        ]

    def near(self, row: int) -> dict[str, Any]:
        """The near-duplicates of a row, itself among them."""
        with self.lock:
            rows = self._twins(row)
            return self.listing(rows if len(rows) else np.array([row]))

    def _twins(self, row: int) -> NDArray[np.intp]:
        if self.groups is None or self.groups[row] < 0:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(self.groups == self.groups[row])

    def cluster(self, number: int | None = None) -> dict[str, Any]:
        """One cluster: its size, what tells it from the others, typical and atypical rows.

        Parameters
        ----------
        number : int, optional
            By default the cluster with most rows that have no label.

        Returns
        -------
        cluster : dict
        """
        with self.lock:
            if self.ready is None:
                raise ValueError("The clusters are not ready yet: try again in a moment.")
            cluster, distance = self.ready.cluster, self.ready.distance
            free = (self.source == FREE) & ~self.aside
            n_open = np.bincount(cluster[free], minlength=int(cluster.max()) + 1)
            if number is None:
                number = int(n_open.argmax())
            if not 0 <= number < len(n_open):
                raise ValueError(f"There are clusters 0 to {len(n_open) - 1}, got {number}.")
            rows = np.flatnonzero(cluster == number)
            rows = rows[np.argsort(distance[rows], kind="stable")]
            found = self.listing(rows)
            n_far = min(_ATYPICAL, max(0, len(rows) - _TYPICAL))
            found["typical"] = [self._line(row) for row in rows[:_TYPICAL].tolist()]
            found["atypical"] = [self._line(row) for row in rows[len(rows) - n_far :].tolist()]
            found["telling"] = self.ready.about_clusters.of_group(self.ready.things, number)
            found["cluster"] = number
            order = np.argsort(-n_open, kind="stable")
            found["next"] = int(order[(int(np.flatnonzero(order == number)[0]) + 1) % len(order)])
            return found

    def history(self, before: int | None = None, n_rows: int = 50) -> list[dict[str, Any]]:
        """The steps of this user that were not undone, the newest first."""
        with self.lock:
            steps = [
                event
                for event in reversed(self.state.steps(self.user))
                if before is None or event.id < before
            ]
            return [self._step(event) for event in steps[:n_rows]]

    def _step(self, event: Event) -> dict[str, Any]:
        rows = [self.sheet.row_of[name] for name in event.rows if name in self.sheet.row_of]
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

    def progress(self) -> dict[str, Any]:
        """The strip: what was done, how good it is, and whether more labels are worth it."""
        with self.lock:
            times = [
                event.time
                for event in self.state.steps(self.user)
                if event.kind == LABEL and event.source == HAND
            ]
            sizes = [int(point[0]) for point in self.curve]
            return {
                "version": self.state.last,
                "model": self.answers.version if self.answers else None,
                "method": self.answers.method if self.answers else None,
                "seconds": round(self.answers.seconds, 2) if self.answers else None,
                "counts": self.counts(),
                "classes": self.class_names(),
                "per_class": self._per_class(),
                "per_minute": labels_per_minute(times),
                "accuracy": self._accuracy(),
                "curve": self.curve,
                "gain": expected_gain(sizes, [point[1] for point in self.curve]),
                "uncertain": self._n_uncertain(),
                "stop": self.answers.stop if self.answers else None,
                "checks": self._checks(),
                "suspicious": len(self._suspicious()),
                "agreement": agreement(self.state.ratings()),
                "disagreements": len(self.state.disagreements()),
                "learner": self.trouble or self._learner_state(),
                "time": time.time(),
            }

    def _learner_state(self) -> str:
        if self.learner is None:
            return "There is no learner: no suggestions."
        if self.ready is None:
            return "The table is being prepared."
        if self.answers is None:
            return "Suggestions start when two classes have a label."
        return ""

    def _per_class(self) -> list[int]:
        known = self.codes[self.codes != UNLABELED]
        return [int(count) for count in np.bincount(known, minlength=len(self.classes))]

    def _accuracy(self) -> dict[str, Any] | None:
        test = self.tested
        if test is None or not test.n_tested:
            return None
        low, high = wilson_interval(test.n_right, test.n_tested)
        share = test.n_right / test.n_tested
        return {"share": share, "low": low, "high": high, "n": test.n_tested}

    def _n_uncertain(self) -> int | None:
        if self.answers is None:
            return None
        return int((self.answers.share[self.source == FREE, 0] < SURE).sum())

    def _checks(self) -> dict[str, int] | None:
        """How spot checks of labels in bulk went: rows labeled in bulk, then by hand."""
        checked = (self.in_bulk != UNLABELED) & (self.source == BY_HAND)
        n_agree = int((self.codes == self.in_bulk)[checked].sum())
        return {"n": int(checked.sum()), "agree": n_agree} if checked.any() else None

    def disagreements(self) -> list[dict[str, Any]]:
        """The rows to which people gave different labels, with who gave which."""
        with self.lock:
            found = []
            for name in self.state.disagreements():
                row = self.sheet.row_of.get(name)
                if row is not None:
                    labels = {
                        user: str(mark.value) for user, mark in self.state.marks(name).items()
                    }
                    found.append({**self._line(row), "labels": labels})
            return found

    def changed_rows(self) -> dict[str, Any]:
        """What the page tells about a table that is not the one of the last time."""
        labeled = set(self.state.rows())
        changed = []
        for row, name in self.changes.changed:
            if name in labeled:
                mark = self.state.mark(name)
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
