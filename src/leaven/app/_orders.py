"""In which order rows are asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

USEFUL, UNCERTAIN, RANDOM = "useful", "uncertain", "random"
SEARCH, SUSPICIOUS, CLUSTER, CHECK = "search", "suspicious", "cluster", "check"
ORDERS = {
    USEFUL: "Most useful next",
    UNCERTAIN: "Least certain",
    RANDOM: "Random",
    SEARCH: "Search result",
    SUSPICIOUS: "Suspicious labels first",
    CLUSTER: "One cluster at a time",
}
"""The orders that a user can choose, in words."""

RANDOM_EVERY = 10
"""One question in so many is drawn at random, for the estimate of accuracy."""

CHECK_EVERY = 20
"""One question in so many checks a label that was given in bulk."""


def typical_first(cluster: NDArray[np.intp], distance: NDArray[np.float32]) -> NDArray[np.intp]:
    """Rows to begin with: the most typical row of each cluster, large clusters first.

    Then the second of each cluster, and so on (Hacohen, Dekel and Weinshall, 2022).

    Parameters
    ----------
    cluster : int array of shape (n_rows,)
    distance : array of shape (n_rows,)
        From the center of the cluster.

    Returns
    -------
    rows : int array of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.app._orders import typical_first
    >>> typical_first(np.array([0, 1, 1, 1]), np.array([0.5, 0.3, 0.1, 0.2], dtype=np.float32))
    array([2, 0, 3, 1])
    """
    order = np.lexsort((distance, cluster))
    first = np.searchsorted(cluster[order], cluster[order])
    turn = np.arange(len(order)) - first
    size = np.bincount(cluster)[cluster[order]]
    return np.asarray(order[np.lexsort((-size, turn))], dtype=np.intp)


def cluster_by_cluster(
    cluster: NDArray[np.intp], distance: NDArray[np.float32]
) -> NDArray[np.intp]:
    """All rows of the largest cluster, typical ones first, then the next cluster."""
    size = np.bincount(cluster)[cluster]
    return np.asarray(np.lexsort((distance, cluster, -size)), dtype=np.intp)


def take_turns(
    rows: NDArray[np.intp], scores: NDArray[Any], cluster: NDArray[np.intp], most: int
) -> NDArray[np.intp]:
    """Take the best rows so that neighbors in the result are of different clusters.

    Of the best ``2 * most`` rows the best of each cluster come first, by score, then the second
    of each cluster, and so on.

    Parameters
    ----------
    rows : int array
    scores : array of the same length
    cluster : int array of shape (n_rows,)
    most : int

    Returns
    -------
    chosen : int array of at most ``most`` rows

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.app._orders import take_turns
    >>> take_turns(np.arange(4), np.array([9, 8, 7, 6]), np.array([0, 0, 0, 1]), 4)
    array([0, 3, 1, 2])
    """
    best = np.argsort(-np.asarray(scores), kind="stable")[: 2 * most]
    own = cluster[rows[best]]
    by_cluster = np.argsort(own, kind="stable")
    first = np.searchsorted(own[by_cluster], own[by_cluster])
    turn = np.empty(len(best), dtype=np.intp)
    turn[by_cluster] = np.arange(len(best)) - first
    return np.asarray(rows[best[np.lexsort((np.arange(len(best)), turn))]][:most], dtype=np.intp)


def interleave(
    main: Iterable[int],
    drawn: Iterable[int],
    checks: Iterable[int],
    *,
    name: str,
    start: int,
    n_rows: int,
) -> list[tuple[int, str]]:
    """Mix random questions and spot checks into an order.

    Parameters
    ----------
    main, drawn, checks : iterable of int
        Rows of the chosen order, in random order also those that others have labeled, and those
        to check.
    name : str
        Of the chosen order.
    start : int
        How many questions were asked before: fixes whose turn it is.
    n_rows : int
        How many to return.

    Returns
    -------
    questions : list of tuple of (int, str)
        Row, and why it is asked.

    Examples
    --------
    >>> from leaven.app._orders import interleave
    >>> interleave([1, 2], [3], [], name="useful", start=8, n_rows=3)
    [(1, 'useful'), (3, 'random'), (2, 'useful')]
    """
    own = iter(main)
    # Also beside an order that is random itself: it leaves out what others have labeled, and only
    # rows that several people label show whether they agree.
    others: dict[str, Iterator[int]] = {RANDOM: iter(drawn), CHECK: iter(checks)}
    chosen: dict[int, str] = {}
    turn = start
    while len(chosen) < n_rows:
        kind = _whose_turn(turn)
        turn += 1
        row = None if kind is None else _next_new(others[kind], chosen)
        if row is None:
            kind, row = name, _next_new(own, chosen)
        if row is None or kind is None:
            break
        chosen[row] = kind
    return list(chosen.items())


def _whose_turn(turn: int) -> str | None:
    """The kind of question whose turn it is; None for the chosen order."""
    if turn % RANDOM_EVERY == RANDOM_EVERY - 1:
        return RANDOM
    if turn % CHECK_EVERY == CHECK_EVERY // 2:
        return CHECK
    return None


def _next_new(rows: Iterator[int], chosen: dict[int, str]) -> int | None:
    return next((row for row in rows if row not in chosen), None)
