"""Groups of rows that one key can label: search results, near-duplicates, clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaven.app._board import FREE, SOURCES, Board
from leaven.app._knowledge import Knowledge

_TYPICAL, _ATYPICAL = 5, 3  # rows of a cluster: enough to judge it, few enough to read
_MOST_LISTED = 200  # rows of a group that are shown; all of them can be labeled


def line(row: int, board: Board) -> dict[str, Any]:
    """One row in a list."""
    return {
        "row": row,
        "text": board.sheet.snippet(row),
        "label": board.label(row),
        "source": SOURCES[board.source[row]],
    }


def listing(rows: NDArray[np.intp], board: Board, knowledge: Knowledge) -> dict[str, Any]:
    """Describe a group of rows, which may be labeled with one key.

    Parameters
    ----------
    rows : int array
    board : Board
    knowledge : Knowledge

    Returns
    -------
    group : dict
        ``n_rows``; ``open``, the rows that a key would label; ``rows``, the first of them in
        short; ``answers``, what the model says of the open ones.
    """
    free = rows[~board.by_person(rows)]
    return {
        "n_rows": len(rows),
        "open": free.tolist(),
        "rows": [line(row, board) for row in rows[:_MOST_LISTED].tolist()],
        "answers": knowledge.answers_in(free, board.class_names()),
    }


def cluster(number: int | None, board: Board, knowledge: Knowledge) -> dict[str, Any]:
    """One cluster: its size, what tells it from the others, typical and atypical rows.

    Parameters
    ----------
    number : int or None
        None takes the cluster with most rows that have no label.
    board : Board
    knowledge : Knowledge

    Returns
    -------
    cluster : dict
        As :func:`listing`, with ``typical``, ``atypical``, ``telling``, ``cluster``, ``n_free``,
        its rows without a label, and ``next``, the cluster with next fewer of them.
    """
    ready = knowledge.ready
    if ready is None:
        raise ValueError("The clusters are not ready yet: try again in a moment.")
    free = (board.source == FREE) & ~board.aside
    n_open = np.bincount(ready.cluster[free], minlength=int(ready.cluster.max()) + 1)
    number = int(n_open.argmax()) if number is None else number
    if not 0 <= number < len(n_open):
        raise ValueError(f"There are clusters 0 to {len(n_open) - 1}, got {number}.")
    rows = np.flatnonzero(ready.cluster == number)
    rows = rows[np.argsort(ready.distance[rows], kind="stable")]
    n_far = min(_ATYPICAL, max(0, len(rows) - _TYPICAL))
    order = np.argsort(-n_open, kind="stable").tolist()
    return {
        **listing(rows, board, knowledge),
        "typical": [line(row, board) for row in rows[:_TYPICAL].tolist()],
        "atypical": [line(row, board) for row in rows[len(rows) - n_far :].tolist()],
        "telling": ready.about_clusters.of_group(ready.things, number),
        "cluster": number,
        "n_free": int(n_open[number]),
        "next": order[(order.index(number) + 1) % len(order)],
    }
