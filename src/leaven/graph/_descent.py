"""Refinement of approximate neighbors: a neighbor of a neighbor is likely to be a neighbor.

This is the nearest neighbor descent of Dong, Moses and Li (2011), with whole blocks of nodes in
one step: the distances among the neighbors of a node are one small matrix product, and those of
some hundred nodes are computed, compared and sorted at once. The work of a round grows like n,
whatever the dimension, where that of a search in cells grows with the cells that must be visited.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaven.graph._sorting import first_of_each

Floats = NDArray[np.float32]
Ints = NDArray[Any]

# Neighbors of one node that are compared with each other. Nodes that are neighbors of very many
# (hubs) keep the nearest of these: their squares would be most of the work. With 64 the recall is
# lower by 0.01 in 20 dimensions.
_MOST_JOINED = 128

# Lists are padded to a multiple of this: nodes with lists of about one length make a block.
_PAD = 8

# Distances that one block computes: 2 MB.
_BLOCK = 1 << 19

# Rows whose lists are merged with what was found for them at once: few enough for the cache.
_MERGED = 8_192

# Pairs of rows whose differences are computed at once: 20 columns take 1.3 MB.
_PAIRS = 1 << 14

# The distance of what fills a list up; twice of it is still a number.
_FAR = np.float32(np.finfo(np.float32).max / 4)


@dataclass
class NeighborLists:
    """The neighbors of each row found so far, nearest first.

    Parameters
    ----------
    index : int32 ndarray of shape (n_rows, n_neighbors)
    distance : float32 ndarray of shape (n_rows, n_neighbors)
        Squared.
    is_new : bool ndarray of shape (n_rows, n_neighbors)
        Entries that have not been compared with the others around them.
    """

    index: NDArray[np.int32]
    distance: Floats
    is_new: NDArray[np.bool_]

    @classmethod
    def without_self(cls, distance: Floats, index: Ints) -> NeighborLists:
        """Take each row out of its list, or the farthest where duplicates crowd it out."""
        n, k = index.shape
        own = index == np.arange(n)[:, None]
        own[~own.any(axis=1), -1] = True
        others = index[~own].reshape(n, k - 1).astype(np.int32)
        return cls(others, distance[~own].reshape(n, k - 1), np.ones(others.shape, dtype=bool))


def improve_neighbors(rows: Floats, lists: NeighborLists, limit: Floats | None = None) -> int:
    """Compare the neighbors of each row with each other, and keep what is nearer; in place.

    Neighbors are those in the list of a row, the rows in whose lists it is, and itself.

    Parameters
    ----------
    rows : float32 ndarray of shape (n_rows, n_features)
        Best in an order in which neighbors are near in memory.
    lists : NeighborLists
    limit : float32 ndarray of shape (n_rows,), optional
        Squared distances; what is farther is not wanted. By default the last of each list. A
        smaller limit is faster, and leaves fewer new entries to a further round.

    Returns
    -------
    int
        How many entries were replaced.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph._descent import NeighborLists, improve_neighbors
    >>> rows = np.array([[0.0], [1.0], [3.0], [6.0]], dtype=np.float32)
    >>> index = np.array([[3], [0], [0], [2]], dtype=np.int32)
    >>> distance = np.array([[36.0], [1.0], [9.0], [9.0]], dtype=np.float32)
    >>> lists = NeighborLists(index, distance, np.ones((4, 1), dtype=bool))
    >>> improve_neighbors(rows, lists)
    2
    >>> lists.index.ravel()
    array([1, 0, 1, 2], dtype=int32)
    """
    last = lists.distance[:, -1] if limit is None else np.minimum(limit, lists.distance[:, -1])
    # What is nearer than the limit and in the list already is among the first: to look there drops
    # most of it. The few pairs that are left, once each, are compared with whole lists.
    n_near = 1 + np.count_nonzero(lists.distance <= last[:, None]) // len(rows)
    near = np.ascontiguousarray(lists.index[:, :n_near])
    last = np.append(last, np.float32(0.0))
    left, right = _factors(rows)
    found = []
    for new, old in _neighborhoods(rows, lists):
        u, v = _compare(left, right, last, new, old)
        missing = _not_in(near, u, v)
        found.append((u[missing], v[missing]))
    lists.is_new[:] = False
    if not found:
        return 0
    u, v = (np.concatenate(parts) for parts in zip(*found, strict=True))
    u, v = _unique_pairs(u, v, len(rows))
    missing = _not_in(lists.index, u, v)
    u, v = u[missing], v[missing]
    return _merge(lists, u, v, _squared_distances(rows, u, v))


def _not_in(index: Ints, u: Ints, v: Ints) -> NDArray[np.bool_]:
    """Whether ``v`` is missing in row ``u`` of ``index``."""
    missing = np.ones(len(u), dtype=bool)
    for start in range(0, len(u), _PAIRS):
        part = slice(start, start + _PAIRS)
        # A third of the time of any(axis=1), which goes row by row.
        there = np.flatnonzero(index[u[part]] == v[part, None]) // index.shape[1]
        missing[part][there] = False
    return missing


def _factors(rows: Floats) -> tuple[Floats, Floats]:
    """Return matrices whose product is all squared distances; the last row is far from all."""
    n, d = rows.shape
    squares = np.einsum("ij,ij->i", rows, rows)
    left, right = np.zeros((2, n + 1, d + 2), dtype=np.float32)
    left[:n, :d], left[:n, d], left[:, d + 1] = -2.0 * rows, squares, 1.0
    right[:n, :d], right[:, d], right[:n, d + 1] = rows, 1.0, squares
    left[n, d] = right[n, d + 1] = _FAR
    return left, right


def _neighborhoods(rows: Floats, lists: NeighborLists) -> Iterator[tuple[Ints, Ints]]:
    """Yield the neighbors of nodes, new and old ones, in blocks of rows that are filled up by n.

    All pairs of which one is new are to be compared. The first of the old ones is the node itself.
    """
    n, k = lists.index.shape
    most = max(_MOST_JOINED, 2 * k)
    indptr = np.arange(0, n * k + 1, k)
    flags = (lists.is_new.ravel() + np.int8(1)).astype(np.int8)  # 0 would mean no neighbor
    listed = sparse.csr_array((flags, lists.index.ravel().copy(), indptr), shape=(n, n))
    listed.sort_indices()
    both = sparse.csr_array(listed.maximum(listed.T.tocsr()))
    kept = _without_excess(rows, both, most)
    owner = np.repeat(np.arange(n, dtype=np.int32), np.diff(both.indptr))[kept]
    member, is_new = both.indices[kept], both.data[kept] > 1
    parts = []
    for chosen in (is_new, ~is_new):
        counts = np.bincount(owner[chosen], minlength=n)
        parts.append((member[chosen], _starts(counts), counts))
    (new, new_start, n_new), (old, old_start, n_old) = parts
    new_width, old_width = (-(-c // _PAD) * _PAD for c in (n_new, n_old))
    kind = new_width * (most + _PAD) + old_width
    order = np.argsort(kind, kind="stable")
    order = order[n_new[order] > 0]
    for start, stop in _runs(kind[order]):
        w, z = int(new_width[order[start]]), int(old_width[order[start]])
        step = max(1, _BLOCK // (w * (w + z + 1)))
        for first in range(start, stop, step):
            nodes = order[first : min(first + step, stop)]
            yield (
                _padded(new, new_start[nodes], n_new[nodes], w, n),
                np.column_stack(
                    [
                        nodes.astype(np.int32),
                        _padded(old, old_start[nodes], n_old[nodes], z, n),
                    ]
                ),
            )


def _without_excess(rows: Floats, both: sparse.csr_array, most: int) -> NDArray[np.bool_]:
    """Mark the entries to keep: of rows with too many, the nearest."""
    counts = np.diff(both.indptr)
    kept = np.ones(both.nnz, dtype=bool)
    hubs = np.flatnonzero(counts > most)
    # Blocks of hubs with about as many entries as one sort takes.
    block = np.cumsum(counts[hubs]) // _BLOCK
    for start, stop in _runs(block):
        some = hubs[start:stop]
        owner = np.repeat(np.arange(len(some)), counts[some])
        inside = np.arange(len(owner)) - np.repeat(_starts(counts[some]), counts[some])
        entries = both.indptr[some][owner] + inside
        distance = _squared_distances(rows, some[owner], both.indices[entries])
        kept[entries] = False
        kept[entries[first_of_each(owner, distance, len(some), most)]] = True
    return kept


def _starts(counts: Ints) -> Ints:
    """Return where each list begins if all are written one after the other."""
    return np.asarray(np.cumsum(counts) - counts)


def _runs(values: Ints) -> Iterator[tuple[int, int]]:
    """Yield begin and end of the runs of equal values."""
    cuts = np.append(np.flatnonzero(np.diff(values, prepend=-1)), len(values))
    yield from pairwise(cuts.tolist())


def _padded(entries: Ints, start: Ints, counts: Ints, width: int, filler: int) -> NDArray[np.int32]:
    """Cut lists out of ``entries`` and fill them up to one width."""
    column = np.arange(width)
    out = np.take(entries, start[:, None] + column, mode="clip") if width else None
    if out is None or not len(entries):
        return np.full((len(start), width), filler, dtype=np.int32)
    out[column >= counts[:, None]] = filler
    return np.asarray(out, dtype=np.int32)


def _compare(left: Floats, right: Floats, last: Floats, new: Ints, old: Ints) -> tuple[Ints, Ints]:
    """Return the pairs (row, neighbor) that are nearer than the last neighbor of the row."""
    w = new.shape[1]
    everyone = np.hstack([new, old])
    D = np.matmul(left[new], right[everyone].swapaxes(1, 2))
    own = np.arange(w)
    D[:, own, own] = _FAR  # a row with itself
    forward = np.flatnonzero(last[new][:, :, None] > D)
    block, place = np.divmod(forward, w * everyone.shape[1])
    i, j = np.divmod(place, everyone.shape[1])
    u, v = new[block, i], everyone[block, j]
    # New ones have been offered to new ones both ways, for their part of D is symmetric.
    back = np.flatnonzero(last[old][:, None, :] > D[:, :, w:])
    block, place = np.divmod(back, w * old.shape[1])
    i, j = np.divmod(place, old.shape[1])
    return np.concatenate([u, old[block, j]]), np.concatenate([v, new[block, i]])


def _unique_pairs(u: Ints, v: Ints, n: int) -> tuple[Ints, Ints]:
    """Return each pair of numbers below n once, in order.

    By way of a sparse matrix, which sorts by counting: several times faster than a sort of pairs.
    """
    pairs = sparse.coo_array((np.ones(len(u), dtype=np.int8), (u, v)), shape=(n, n)).tocsr()
    return np.repeat(np.arange(n, dtype=np.int32), np.diff(pairs.indptr)), pairs.indices


def _squared_distances(rows: Floats, u: Ints, v: Ints) -> Floats:
    distance = np.empty(len(u), dtype=np.float32)
    for start in range(0, len(u), _PAIRS):
        part = slice(start, start + _PAIRS)
        difference = rows[u[part]] - rows[v[part]]
        distance[part] = np.einsum("ij,ij->i", difference, difference)
    return distance


def _merge(lists: NeighborLists, u: Ints, v: Ints, d: Floats) -> int:
    """Put neighbors that are not there yet, in the order of ``u``, into the lists."""
    n, k = lists.index.shape
    n_replaced = 0
    for start in range(0, n, _MERGED):
        rows = slice(start, min(start + _MERGED, n))
        m = rows.stop - start
        a, b = np.searchsorted(u, [start, rows.stop])
        if a == b:
            continue
        owner = np.concatenate([np.repeat(np.arange(m), k), u[a:b] - start])
        distance = np.concatenate([lists.distance[rows].ravel(), d[a:b]])
        index = np.concatenate([lists.index[rows].ravel(), v[a:b]])
        chosen = first_of_each(owner, distance, m, k)
        lists.index[rows], lists.distance[rows] = index[chosen], distance[chosen]
        lists.is_new[rows] = chosen >= m * k
        n_replaced += int(lists.is_new[rows].sum())
    return n_replaced
