"""From an action of the page to the draft of an event, or the reason why it makes no sense."""

from __future__ import annotations

from typing import Any

from leaven.app._board import Board
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
)

_KEY = (8, 64)  # fewest and most characters; the page draws 32
_MOST_CLASS_NAME = 200  # characters
_MOST_NOTE = 10_000  # characters
_MOST_WHY = 40  # characters; the longest reason of the page has ten


class ConflictError(ValueError):
    """The row was labeled elsewhere since the page saw it."""


def key_of(action: dict[str, Any]) -> str:
    """Return the key of an action, which is new for each press of a key."""
    key = action.get("key")
    if not isinstance(key, str) or not _KEY[0] <= len(key) <= _KEY[1]:
        raise ValueError("key must be a string of 8 to 64 characters, new for each action.")
    return key


def make_draft(action: dict[str, Any], board: Board) -> Draft:
    """Check an action against what stands on the board.

    Parameters
    ----------
    action : dict
        ``key`` and ``kind``; of a label ``rows``, ``label`` and ``source``; of a hand label
        ``base``, the event that the page knows of at the row; ``why`` and ``shown``.
    board : Board

    Returns
    -------
    Draft

    Raises
    ------
    ValueError
        If the action makes no sense.
    ConflictError
        If the row was labeled in another window since.
    """
    key, kind = key_of(action), action.get("kind")
    if kind == UNDO:
        step = board.state.last_step(board.user)
        if step is None:
            raise ValueError("There is nothing to undo.")
        return Draft(key, UNDO, step.rows, undoes=step.id)
    if kind == CLASS:
        return Draft(key, CLASS, value=_new_class(action.get("label"), board))
    if kind not in (LABEL, SKIP, UNSURE, NOTE):
        raise ValueError(f"kind must be label, skip, unsure, note, class or undo, got {kind!r}.")
    rows = _rows(action.get("rows"), len(board.sheet))
    if kind == NOTE:
        text = action.get("text")
        if not isinstance(text, str) or len(text) > _MOST_NOTE:
            raise ValueError(f"text must be a string of at most {_MOST_NOTE:,} characters.")
        return Draft(key, NOTE, board.names_of(rows), text.strip())
    return _mark(key, str(kind), rows, action, board)


def _mark(key: str, kind: str, rows: list[int], action: dict[str, Any], board: Board) -> Draft:
    """The draft of a label, a skip or "unsure"."""
    source = action.get("source", HAND)
    if source not in (HAND, BULK) or (source == BULK and kind != LABEL):
        raise ValueError(f"source must be 'hand', or 'bulk' for labels, got {source!r}.")
    value = _class(action.get("label"), board) if kind == LABEL else None
    if source == HAND:
        if len(rows) != 1:
            raise ValueError(f"One row at a time, got {len(rows)}; many rows need 'bulk'.")
        _check_base(rows[0], action.get("base"), board)
    else:
        # A label that a person gave to this very row stays.
        rows = [row for row, stays in zip(rows, board.by_person(rows), strict=True) if not stays]
        if not rows:
            raise ValueError("All of these rows have a label given by hand, which stays.")
    why, shown = action.get("why", ""), action.get("shown", {})
    if not isinstance(why, str) or len(why) > _MOST_WHY or not isinstance(shown, dict):
        raise ValueError("why must be a short string and shown an object.")
    shown = {name: shown[name] for name in ("label", "share") if name in shown}
    return Draft(key, kind, board.names_of(rows), value, source, why, shown)


def _rows(rows: Any, n_rows: int) -> list[int]:
    if not isinstance(rows, list) or not rows or len(rows) > n_rows:
        raise ValueError("rows must be a list of row numbers.")
    for row in rows:
        if isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < n_rows:
            raise ValueError(f"rows must hold numbers from 0 to {n_rows - 1}.")
    return list(dict.fromkeys(rows))


def _class(name: Any, board: Board) -> Any:
    for value in board.classes:
        if str(value) == name:
            return value
    raise ValueError(f"There is no class {name!r}.")


def _new_class(name: Any, board: Board) -> Any:
    if not isinstance(name, str) or not name.strip() or len(name) > _MOST_CLASS_NAME:
        raise ValueError(f"label must be a name of 1 to {_MOST_CLASS_NAME} characters.")
    name = name.strip()
    if name in board.class_names():
        raise ValueError(f"There is a class {name!r} already.")
    given = board.sheet.classes
    if given and not isinstance(given[0], str):
        kind = type(given[0])
        try:
            return kind(name)
        except ValueError:
            raise ValueError(
                f"The classes of this table are of type {kind.__name__}, and {name!r} is none."
            ) from None
    return name


def _check_base(row: int, base: Any, board: Board) -> None:
    """Refuse a label of a window that does not know what stands at the row."""
    if base is None:
        return
    own = board.own_mark(row)
    if base != (own.event.id if own else 0):
        there = "nothing" if own is None else f"{own.kind} {own.value or ''}".strip()
        raise ConflictError(f"Row {row + 1} was changed in another window: {there} stands there.")
