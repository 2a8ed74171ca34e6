"""Approximate Euclidean neighbors: rows in cells, and products of blocks of rows.

The rows are put into cells of about 128 by k-means on two levels. A search looks into the
cells whose centers are nearest to the query. Distances are computed for whole blocks, one cell
against all queries that look into it, so that the work is one matrix product after the other;
an inverted file that goes query by query computes the same distances several times slower.
The cells have the same size whatever the number of rows, and each query ranks the cells around
its own only: the work grows like n, but for the sorting. How many cells must be searched depends
on the rows. In clusters a few suffice; where no cell is far from the others it would be a good part
of all, and there the neighbors found in a few cells are improved by their own neighbors
(``_descent.py``), the work of which does not depend on the cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaven.graph._descent import NeighborLists, improve_neighbors
from leaven.graph._sorting import first_of_each

Floats = NDArray[np.float32]
Ints = NDArray[np.intp]

# Rows in a cell. Smaller cells are nearer to the query, larger ones make better products; 64
# to 256 take about the same time on 64,000 rows, see benchmarks/graph.py.
_CELL = 128

# Cells searched with a full sort, whose k-th distance then filters what the others offer.
_FIRST = 4

# Cells around the own one that are ranked for each query, as a multiple of those searched.
_RANKED = 4

# Rows whose true neighbors are computed to see how many cells the recall takes.
_SAMPLE = 256

# Queries that are searched together: one cell against those that ask for it is 4 MB.
_CHUNK = 8_192

# Neighbors that are collected before the best of them are chosen: few enough for the cache.
_COLLECTED = 1 << 18

# Rows per center from which k-means learns the centers; all rows are assigned afterwards.
_TRAINING = 32

# Of k-means. More make the cells no better for the search.
_ITERATIONS = 5

# From so many cells on, rows of ``X`` itself are searched for in a sixth of them alone, and these
# neighbors improved: at 256,000 rows x 20 this takes 105 us a row, and 410 cells 118. A sixth finds
# seven in ten neighbors, from which two or three rounds reach 0.99 at any number of rows.
_REFINE_ABOVE, _COARSE_SHARE = 350, 1 / 6

# Neighbors in the lists that are improved, beyond those that are wanted, for a recall up to 0.99
# and above: with 12 the recall gets stuck at 0.97 in 20 dimensions.
_MORE_NEIGHBORS = (20, 40)

# Rounds of improvement. The fourth hardly finds anything.
_ROUNDS = 4

# A cell of more than this many times the wanted size (duplicates) is cut into pieces.
_SPLIT = 4


class CellSearch:
    """Searches for the nearest rows of ``X`` in the cells around a query.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    recall : float
        The share of true neighbors that must be found, in (0, 1], on a sample of rows.

    Notes
    -----
    The same data give the same neighbors: the seeds are fixed, and no threads race.
    """

    def __init__(self, X: NDArray[Any], *, recall: float) -> None:
        if not 0 < recall <= 1:
            raise ValueError(f"recall must lie in (0, 1], got {recall!r}.")
        self.recall = recall
        # Around the mean, ``|a|² - 2ab + |b|²`` loses the fewest digits in single precision.
        self._mean = X.mean(axis=0)
        self._size = float(np.abs(X - self._mean).max(initial=0.0)) or 1.0
        rows = self._scaled(X)
        rng = np.random.default_rng(0)
        centers, cell = _two_level_cells(rows, rng)
        self._order = np.argsort(cell, kind="stable")
        self._start = np.searchsorted(cell[self._order], np.arange(len(centers) + 1))
        self._rows = rows[self._order]
        self._squares = np.einsum("ij,ij->i", self._rows, self._rows)
        ones = np.ones_like(self._squares)
        self._right = np.ascontiguousarray(
            np.vstack([-2.0 * self._rows.T, self._squares, ones]), dtype=np.float32
        )
        self._centers = centers
        self._around = np.empty((len(centers), 0), dtype=np.intp)
        self._searched: dict[int, int] = {}
        self._sampled: dict[int, tuple[Ints, Ints]] = {}

    def _scaled(self, X: NDArray[Any]) -> Floats:
        return np.ascontiguousarray((X - self._mean) / self._size, dtype=np.float32)

    def search(self, X_new: NDArray[Any] | None, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return distances and numbers of the ``k`` nearest rows, in the order of ``X_new``.

        None stands for the rows of ``X``, which find themselves too.
        """
        n_searched = self._cells_to_search(k)
        if X_new is None:
            squared, index = self._search_own(k, n_searched)
            order = self._order
        else:
            given = self._scaled(X_new)
            cell = _nearest(given, self._centers)
            order = np.argsort(cell, kind="stable")
            squared, index = self._search_sorted(given[order], cell[order], k, n_searched)
        distance, numbers = np.empty_like(squared), np.empty_like(index)
        distance[order] = np.sqrt(squared) * np.float32(self._size)
        numbers[order] = self._order[index]
        return distance, numbers

    def _search_own(self, k: int, n_searched: int) -> tuple[Floats, Ints]:
        cell = np.repeat(np.arange(len(self._centers)), np.diff(self._start))
        if n_searched > _REFINE_ABOVE and self.recall < 1 and k > 1:
            refined = self._refine(cell, k, max(_FIRST, round(_COARSE_SHARE * n_searched)))
            if refined is not None:
                return refined
        return self._search_sorted(self._rows, cell, k, n_searched)

    def _refine(self, cell: Ints, k: int, n_searched: int) -> tuple[Floats, Ints] | None:
        """Search few cells, and improve what was found until the recall is reached."""
        n = len(self._rows)
        width = min(k + _MORE_NEIGHBORS[self.recall > 0.99], n)
        squared, index = self._search_sorted(self._rows, cell, width, n_searched)
        lists = NeighborLists.without_self(squared, index)
        sample, true = self._true_neighbors(k)
        difference = self._rows[sample, None] - self._rows[true[:, k - 2 : k - 1]]
        # A little farther, for the rounding of the products.
        limit = np.einsum("ijk,ijk->ij", difference, difference) * np.float32(1 + 1e-4)
        # What is farther than half of the list would serve further rounds only: it takes a third of
        # the time, and is worth 0.003 of recall.
        half = (k + width) // 2 - 2
        for _ in range(_ROUNDS):
            improve_neighbors(self._rows, lists, lists.distance[:, half].copy())
            if np.mean(lists.distance[sample, : k - 1] <= limit) >= self.recall:
                index = np.column_stack([np.arange(n), lists.index[:, : k - 1]])
                squared = np.column_stack([np.zeros(n, np.float32), lists.distance[:, : k - 1]])
                return squared, index.astype(np.intp)
        return None

    def _search_sorted(
        self, queries: Floats, cell: Ints, k: int, n_searched: int
    ) -> tuple[Floats, Ints]:
        """Search for rows in the order of their cells, in chunks; squared distances."""
        n_ranked = min(_RANKED * n_searched, len(self._centers))
        if self._around.shape[1] < n_ranked:
            self._around = _nearest_of_each(self._centers, n_ranked)
        squared = np.empty((len(queries), k), dtype=np.float32)
        index = np.empty((len(queries), k), dtype=np.intp)
        for start in range(0, len(queries), _CHUNK):
            part = slice(start, start + _CHUNK)
            squared[part], index[part] = self._search_chunk(
                queries[part], cell[part], k, n_searched
            )
        return squared, index

    def _cells_to_search(self, k: int) -> int:
        """Find the number of cells that reaches the recall on a sample."""
        if k not in self._searched:
            ranks, around = self._ranks_of_neighbors(k)
            n_cells = len(self._centers)
            n_searched = min(_FIRST, n_cells)
            while n_searched < n_cells and ranks.size:
                seen = (ranks < n_searched) & (around < _RANKED * n_searched)
                if np.mean(seen | (around < _FIRST)) >= self.recall:
                    break
                # By an eighth: the number found exceeds the least that would do by no more.
                n_searched += max(1, n_searched // 8)
            self._searched[k] = min(n_searched, n_cells)
        return self._searched[k]

    def _true_neighbors(self, k: int) -> tuple[Ints, Ints]:
        """Draw rows, and find their nearest other rows by all distances."""
        if k in self._sampled:
            return self._sampled[k]
        rng = np.random.default_rng(1)
        n = len(self._rows)
        sample = rng.choice(n, size=min(n, _SAMPLE), replace=False)
        queries = self._rows[sample]
        found = np.empty((len(sample), min(k, n - 1)), dtype=np.intp)
        step = max(1, (1 << 22) // n)  # blocks of four million distances: 16 MB
        for start in range(0, len(sample), step):
            D = _squared(queries[start : start + step], self._rows)
            # A row always finds itself, which must not count.
            D[np.arange(len(D)), sample[start : start + step]] = np.inf
            found[start : start + step] = _smallest(D, found.shape[1])
        self._sampled[k] = sample, found
        return sample, found

    def _ranks_of_neighbors(self, k: int) -> tuple[Ints, Ints]:
        """Rank the cells of true neighbors by their distance to the query and to its cell."""
        sample, found = self._true_neighbors(k)
        queries = self._rows[sample]
        cell_of = np.repeat(np.arange(len(self._centers)), np.diff(self._start))
        own = self._centers[cell_of[sample]]
        by_query, by_cell = (
            np.take_along_axis(_ranks(_squared(left, self._centers)), cell_of[found], axis=1)
            for left in (queries, own)
        )
        return by_query, by_cell

    def _search_chunk(
        self, queries: Floats, cell: Ints, k: int, n_searched: int
    ) -> tuple[Floats, Ints]:
        squares = np.einsum("ij,ij->i", queries, queries)
        best, index, n_first = self._search_first(queries, cell, k)
        limit = best[:, -1]
        # (q, 1, |q|² - limit) · (-2b, |b|², 1) is the squared distance less the limit: the
        # product does all of the arithmetic, and the sign of its entries tells who is nearer.
        left = np.column_stack([queries, np.ones_like(limit), squares - limit])
        found: list[tuple[Ints, Ints, Floats]] = []
        n_found = 0
        for base, asking in self._visits(queries, cell, n_searched, n_first):
            rows = slice(self._start[base], self._start[base + 1])
            D = left[asking] @ self._right[:, rows]
            flat = np.flatnonzero(D < 0.0)
            q, b = np.divmod(flat, D.shape[1])
            q = asking[q]
            found.append((q, b + rows.start, D.ravel()[flat] + limit[q]))
            n_found += len(flat)
            if n_found > _COLLECTED:  # keep the best, and be stricter from here on
                best, index = _merge(best, index, found)
                limit = best[:, -1]
                left[:, -1] = squares - limit
                found, n_found = [], 0
        if found:
            best, index = _merge(best, index, found)
        return np.maximum(best, 0.0), index

    def _search_first(
        self, queries: Floats, cell: Ints, k: int
    ) -> tuple[Floats, Ints, NDArray[np.intp]]:
        """Search the cells next to the own one; return how many of them, for each cell."""
        best = np.empty((len(queries), k), dtype=np.float32)
        index = np.empty((len(queries), k), dtype=np.intp)
        n_first = np.zeros(len(self._centers), dtype=np.intp)
        starts = np.flatnonzero(np.diff(cell, prepend=-1))
        for start, stop in zip(starts, [*starts[1:], len(cell)], strict=True):
            own = cell[start]
            sizes = np.cumsum(np.diff(self._start)[self._around[own]])
            enough = max(int(np.searchsorted(sizes, k)) + 1, _FIRST)
            if sizes[-1] < k:  # tiny cells and many neighbors
                cells = np.arange(len(self._centers))
            else:
                cells = self._around[own, :enough]
            n_first[own] = len(cells)
            rows = np.concatenate([np.arange(self._start[c], self._start[c + 1]) for c in cells])
            D = _squared(queries[start:stop], self._rows[rows])
            near = _smallest(D, k)
            best[start:stop] = np.take_along_axis(D, near, axis=1)
            index[start:stop] = rows[near]
        return best, index, n_first

    def _visits(
        self, queries: Floats, cell: Ints, n_searched: int, n_first: Ints
    ) -> Iterator[tuple[int, Ints]]:
        """Yield each cell that is asked for, with the queries that ask, beyond the first ones."""
        n_ranked = min(_RANKED * n_searched, len(self._centers))
        pairs_query, pairs_cell = [], []
        starts = np.flatnonzero(np.diff(cell, prepend=-1))
        for start, stop in zip(starts, [*starts[1:], len(cell)], strict=True):
            own = cell[start]
            around = self._around[own, :n_ranked]
            D = _squared(queries[start:stop], self._centers[around])
            last = np.partition(D, n_searched - 1, axis=1)[:, n_searched - 1 : n_searched]
            asked = last >= D
            asked[:, : n_first[own]] = False  # searched already
            flat = np.flatnonzero(asked)
            q, column = np.divmod(flat, D.shape[1])
            pairs_query.append(q + start)
            pairs_cell.append(around[column])
        query, base = np.concatenate(pairs_query), np.concatenate(pairs_cell)
        # Queries are in order: from the rows of a sparse matrix to its columns is a sort that takes
        # as long as reading, a tenth of argsort.
        indptr = np.searchsorted(query, np.arange(len(queries) + 1))
        by_cell = sparse.csr_array(
            (np.ones(len(base), dtype=np.int8), base, indptr),
            shape=(len(queries), len(self._centers)),
        ).tocsc()
        for wanted in np.flatnonzero(np.diff(by_cell.indptr)):
            yield int(wanted), by_cell.indices[by_cell.indptr[wanted] : by_cell.indptr[wanted + 1]]


def _two_level_cells(rows: Floats, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Put rows into cells of about ``_CELL``: k-means, and k-means again within its clusters.

    Cells of one cluster have consecutive numbers: what is near is near in memory too.
    """
    n = len(rows)
    # As many clusters as cells per cluster: both levels of k-means then cost n^1.5.
    n_clusters = max(1, round(np.sqrt(n / _CELL)))
    cluster = _nearest(rows, _k_means(rows, n_clusters, rng))
    order = np.argsort(cluster, kind="stable")
    cuts = np.searchsorted(cluster[order], np.arange(n_clusters + 1))
    cell = np.empty(n, dtype=np.intp)
    n_cells = 0
    for start, stop in pairwise(cuts):
        members = order[start:stop]
        if not len(members):
            continue
        part = rows[members]
        label = _nearest(part, _k_means(part, max(1, round(len(members) / _CELL)), rng))
        label = _cut_large(label)
        cell[members] = n_cells + label
        n_cells += int(label.max()) + 1
    used, cell = np.unique(cell, return_inverse=True)
    counts = np.bincount(cell, minlength=len(used))
    order = np.argsort(cell, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    centers = np.add.reduceat(rows[order], starts, axis=0) / counts[:, None]
    return centers.astype(np.float32), cell


def _cut_large(label: Ints) -> Ints:
    """Cut cells that are much too large into pieces of the wanted size."""
    counts = np.bincount(label)
    next_label = len(counts)
    label = label.copy()
    for large in np.flatnonzero(counts > _SPLIT * _CELL):
        members = np.flatnonzero(label == large)
        piece = np.arange(len(members)) // _CELL
        label[members[piece > 0]] = next_label + piece[piece > 0] - 1
        next_label += int(piece.max())
    return label


def _k_means(rows: Floats, n_clusters: int, rng: np.random.Generator) -> Floats:
    """Lloyd's iteration from random rows, on a sample; empty clusters keep their center."""
    n_training = min(len(rows), _TRAINING * n_clusters)
    sample = rows[rng.choice(len(rows), size=n_training, replace=False)]
    # The sample is in random order: its first rows are a random start.
    centers = sample[:n_clusters].copy()
    if n_clusters == 1:
        return np.asarray(sample.mean(axis=0, keepdims=True))
    for _ in range(_ITERATIONS):
        label = _nearest(sample, centers)
        order = np.argsort(label, kind="stable")
        counts = np.bincount(label, minlength=n_clusters)
        filled = counts > 0
        starts = (np.cumsum(counts) - counts)[filled]
        centers[filled] = np.add.reduceat(sample[order], starts, axis=0) / counts[filled, None]
    return centers


def _nearest(rows: Floats, centers: Floats) -> Ints:
    """Return the number of the nearest center of each row."""
    half = 0.5 * np.einsum("ij,ij->i", centers, centers)
    nearest = np.empty(len(rows), dtype=np.intp)
    step = max(1, (1 << 20) // len(centers))  # blocks of a million products: 4 MB
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        nearest[part] = (rows[part] @ centers.T - half).argmax(axis=1)
    return nearest


def _nearest_of_each(centers: Floats, k: int) -> Ints:
    """Return the ``k`` centers nearest to each, itself first, in order."""
    around = np.empty((len(centers), k), dtype=np.intp)
    step = max(1, (1 << 22) // len(centers))  # blocks of four million distances: 16 MB
    for start in range(0, len(centers), step):
        part = slice(start, min(start + step, len(centers)))
        D = _squared(centers[part], centers)
        # Itself first, also among centers that coincide.
        D[np.arange(part.stop - start), np.arange(start, part.stop)] = -1.0
        around[part] = _smallest(D, k)
    return around


def _squared(A: Floats, B: Floats) -> Floats:
    """Squared distances of the rows of ``A`` and ``B``, not negative."""
    D = A @ B.T
    D *= -2.0
    D += np.einsum("ij,ij->i", B, B)
    D += np.einsum("ij,ij->i", A, A)[:, None]
    return np.asarray(np.maximum(D, 0.0, out=D))


def _smallest(D: Floats, k: int) -> Ints:
    """Return the columns of the ``k`` smallest entries of each row, in ascending order."""
    if k == D.shape[1]:
        return np.argsort(D, axis=1, kind="stable")
    # A partition of the values and a comparison are five times faster than argpartition.
    last = np.partition(D, k - 1, axis=1)[:, k - 1 : k]
    flat = np.flatnonzero(last >= D)
    row, column = np.divmod(flat, D.shape[1])
    return column[first_of_each(row, D.ravel()[flat], len(D), k)]


def _merge(
    best: Floats, index: Ints, found: list[tuple[Ints, Ints, Floats]]
) -> tuple[Floats, Ints]:
    """Choose the best for each query among those it had and those that were found."""
    n, k = best.shape
    q, b, d = (np.concatenate(parts) for parts in zip(*found, strict=True))
    q = np.concatenate([np.repeat(np.arange(n), k), q])
    b, d = np.concatenate([index.ravel(), b]), np.concatenate([best.ravel(), d])
    chosen = first_of_each(q, d, n, k)
    return d[chosen], b[chosen]


def _ranks(D: Floats) -> Ints:
    """Return the rank of each entry within its row, from 0."""
    return np.argsort(np.argsort(D, axis=1, kind="stable"), axis=1)
