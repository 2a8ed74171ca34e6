"""Neighbors among rows of which some are duplicates.

In a table of categories a row may have more duplicates than neighbors are wanted. Counted one by
one they are all its neighbors, at distance zero: the row hangs together with nothing else, and has
no scale for its weights. So the neighbors are those among the distinct rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def edges_of_duplicates(
    distance: NDArray[Any],
    index: NDArray[Any],
    inverse: NDArray[np.intp],
    own_distance: NDArray[Any],
    n_duplicates: int,
) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int32]]:
    """Carry the edges of distinct rows over to all rows.

    Each row is joined to one duplicate of every neighbor, such that the edges are spread evenly
    over the duplicates, and to its own duplicates: in the order of the rows, which is taken as a
    ring, to the ``n_duplicates`` next ones on both sides.

    Parameters
    ----------
    distance, index : ndarray of shape (n_distinct, k)
        Of the nearest other distinct rows.
    inverse : ndarray of shape (n_rows,)
        The number of the distinct row that each row is equal to.
    own_distance : ndarray of shape (n_distinct,)
        The distance of a row to its duplicates.
    n_duplicates : int

    Returns
    -------
    distance, row, col : ndarray of shape (n_edges,)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph._duplicates import edges_of_duplicates
    >>> distance, index = np.array([[3.0], [3.0]]), np.array([[1], [0]])
    >>> _, row, col = edges_of_duplicates(distance, index, np.array([0, 1, 0]), np.zeros(2), 1)
    >>> [(int(i), int(j)) for i, j in zip(row, col)]
    [(0, 1), (1, 0), (2, 1), (0, 2), (2, 0)]
    """
    n = len(inverse)
    counts = np.bincount(inverse, minlength=len(distance))
    # The duplicates of each distinct row, one after the other, and the place of each row there.
    members = np.argsort(inverse, kind="stable")
    starts = np.cumsum(counts) - counts
    place = np.empty(n, dtype=np.intp)
    place[members] = np.arange(n) - starts[inverse[members]]
    values = index[inverse]
    distances = [distance[inverse].ravel()]
    rows = [np.repeat(np.arange(n), index.shape[1])]
    cols = [members[starts[values] + place[:, None] % counts[values]].ravel()]
    size = counts[inverse]
    for step in range(1, min(n_duplicates, int(counts.max()) - 1) + 1):
        ahead = np.flatnonzero(size > step)
        # In a small ring those behind are among those ahead.
        behind = np.flatnonzero(size > step + n_duplicates)
        for row, to in ((ahead, place[ahead] + step), (behind, place[behind] - step)):
            distances.append(own_distance[inverse[row]])
            rows.append(row)
            cols.append(members[starts[inverse[row]] + to % size[row]])
    return (
        np.concatenate(distances).astype(distance.dtype, copy=False),
        np.concatenate(rows).astype(np.int32),
        np.concatenate(cols).astype(np.int32),
    )
