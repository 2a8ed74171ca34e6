"""The result: the table with labels, answers, and who gave them when."""

from __future__ import annotations

import io
from collections.abc import Hashable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leaven._labels import UNLABELED
from leaven.app._board import BY_HAND, FREE, GIVEN, SOURCES, Board
from leaven.app._events import LABEL, UNSURE, EventStore
from leaven.app._knowledge import SURE
from leaven.app._session import Session
from leaven.app._sheet import Sheet
from leaven.tables import TableError

_DIGITS = 6  # of the confidence, as in the output of `leaven label`


def labeled_table(session: Session) -> pd.DataFrame:
    """Return the table with its labels.

    The target holds the labels given so far. ``TARGET_predicted`` has an answer for every row
    (the label where there is one), ``TARGET_confidence`` its probability, ``TARGET_source``
    where it comes from (``given``, ``hand``, ``bulk`` or ``inferred``), ``TARGET_review`` what
    someone should look at (unsure answers, marks "unsure", and disagreements), ``TARGET_by``
    and ``TARGET_at`` who gave the label and when, ``TARGET_note`` the notes, if there are any.

    Parameters
    ----------
    session : Session

    Returns
    -------
    labeled : DataFrame
    """
    with session.lock:
        sheet, board, state = session.sheet, session.board, session.board.state
        n_rows = len(sheet)
        values = board.values()
        predicted, confidence = list(values), np.where(board.codes == UNLABELED, np.nan, 1.0)
        answers = session.knowledge.answers
        free = np.flatnonzero(board.source == FREE)
        if answers is not None:
            for row in free.tolist():
                predicted[row] = board.classes[answers.top[row, 0]]
            confidence[free] = answers.share[free, 0]
        source = [SOURCES[each] or ("inferred" if answers else "") for each in board.source]
        with np.errstate(invalid="ignore"):
            review = (board.source == FREE) & ~(confidence >= SURE)
        by: list[str] = [""] * n_rows
        at: list[str] = [""] * n_rows
        notes: list[str] = [""] * n_rows
        contested = set(state.disagreements())
        for name in state.rows():
            if name not in sheet.row_of:
                continue  # a row that is no longer in the table
            row = sheet.row_of[name]
            mark = state.mark(name)
            if mark is not None and mark.kind == LABEL:
                users = {each for each, own in state.marks(name).items() if own.kind == LABEL}
                by[row] = (
                    " ".join(sorted(users)) if board.source[row] == BY_HAND else mark.event.user
                )
                at[row] = _stamp(mark.event.time)
            elif mark is not None and mark.kind == UNSURE:
                review[row] = True
            review[row] |= name in contested
            notes[row] = " | ".join(f"{note.user}: {note.value}" for note in state.notes(name))
    labeled = sheet.table.copy(deep=False)
    target = sheet.target
    kept = labeled[target] if target in labeled.columns else None
    labeled[target] = _like(kept, values, board)
    labeled[f"{target}_predicted"] = _like(kept, predicted, board)
    labeled[f"{target}_confidence"] = np.round(confidence, _DIGITS)
    labeled[f"{target}_source"] = source
    labeled[f"{target}_review"] = review
    labeled[f"{target}_by"] = by
    labeled[f"{target}_at"] = at
    if any(notes):
        labeled[f"{target}_note"] = notes
    return labeled


def take_over_labels(table: pd.DataFrame, target: Hashable, labels: str | Path) -> pd.DataFrame:
    """Return a table with the labels of an event file in its target.

    Rows are recognized by their content; what was labeled in bulk counts as labeled. The column
    is added if it is missing.

    Parameters
    ----------
    table : DataFrame
    target : column name
    labels : str or Path
        The event file of :func:`leaven.annotate`.

    Returns
    -------
    labeled : DataFrame

    Raises
    ------
    TableError
        If there is no such file, or none of its rows is in the table.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from leaven.app import AnnotateOptions, open_page, take_over_labels
    >>> table = pd.DataFrame({"text": ["ripe", "green"], "kind": ""})
    >>> options = AnnotateOptions(classes=("good", "bad"), port=0)
    >>> action = {"key": "a-key-per-action", "kind": "label", "rows": [1], "label": "bad"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "labels.db"
    ...     with open_page(table, "kind", file, options, learner=None) as page:
    ...         _ = page.session.record(action)
    ...     take_over_labels(table[::-1], "kind", file)["kind"].tolist()
    ['bad', '']
    """
    if not Path(labels).exists():
        raise TableError(f"There is no event file {labels}.")
    store = EventStore(labels)
    try:
        store.claim(str(target))
        sheet = Sheet(table, target, content=store.fact("columns"))
        board = Session(sheet, store, user="").board
        kept = table[target] if target in table.columns else None
        return table.assign(**{str(target): _like(kept, board.values(), board)})
    finally:
        store.close()


def _like(column: pd.Series | None, values: list[Any], board: Board) -> pd.Series:
    """Make a column of the labels; given cells stay the very cells that came."""
    index = board.sheet.table.index
    made = pd.Series(values, index=index, dtype=object)
    if column is None:
        return made
    given = board.source == GIVEN
    made[given] = column[given]
    textual = pd.api.types.infer_dtype(column, skipna=True) in ("string", "empty")
    if textual and not column.isna().any():
        return made.fillna("").astype(column.dtype)  # a CSV file has "" for an empty cell
    try:
        return made.astype(column.dtype)
    except (TypeError, ValueError):  # integers with gaps
        return made.infer_objects()


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")


def as_csv(table: pd.DataFrame) -> bytes:
    """Write a table as the download of the page: CSV in UTF-8."""
    stream = io.StringIO()
    table.to_csv(stream, index=False, lineterminator="\n")
    return stream.getvalue().encode("utf-8")
