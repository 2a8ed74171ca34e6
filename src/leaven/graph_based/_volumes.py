"""Labels under bounds on the class sizes: an assignment problem with few, large agents."""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST_SWEEPS = 50  # each halves the violation or better; a dozen were the most ever needed
_PATHS_PER_ROW = 1e-3  # below this share of misplaced rows the exact repair is the faster part


def assign_volumes(
    scores: NDArray[Any],
    low: NDArray[Any],
    high: NDArray[Any],
    *,
    prices: NDArray[Any] | None = None,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    r"""Give each row a class such that the scores sum highest and the sizes are in bounds.

    .. math:: \max_{\ell} \sum_i s_{i \ell_i} \quad\text{subject to}\quad
              a_c \le |\{i : \ell_i = c\}| \le b_c .

    The solution is exact, ties aside unique, and has the form
    ``labels = argmax_c(scores - prices)``: a price is positive only where the upper bound
    binds, and negative only where the lower one does.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
    low, high : integer ndarrays of shape (n_classes,)
        The bounds a and b of the class sizes; ``low.sum() <= n_rows <= high.sum()``.
    prices : ndarray of shape (n_classes,), optional
        A start near the solution saves time and does not change it.

    Returns
    -------
    labels : ndarray of shape (n_rows,)
    prices : ndarray of shape (n_classes,)
        The prices of the solution. Many are valid where rows are few, and these are the middle of
        them, whatever the start and the order of the classes.

    Notes
    -----
    Prices are moved one class at a time, as in an auction, until few rows are misplaced.
    These are moved along shortest paths between the classes (successive shortest paths of a
    minimum-cost flow on ``n_classes + 1`` nodes), which is what makes the result exact.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._volumes import assign_volumes
    >>> scores = np.array([[0.9, 0.1], [0.8, 0.3], [0.7, 0.1], [0.6, 0.5]])
    >>> two = np.array([2, 2])
    >>> assign_volumes(scores, two, two)[0]
    array([0, 1, 0, 1])
    """
    n, k = scores.shape
    low, high = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
    if (low > high).any() or low.sum() > n or high.sum() < n or (high < 0).any():
        raise ValueError(
            f"No labeling of {n} rows has class sizes between {low.tolist()} and {high.tolist()}."
        )
    u = np.asarray(scores, dtype=np.float64)
    p = np.zeros(k) if prices is None else np.array(prices, dtype=np.float64)
    p = _auction(u, low, high, p)
    labels = _repair(u, low, high, p)
    return labels, _middle_prices(u, labels, low, high)


def _auction(
    u: NDArray[np.float64], low: NDArray[Any], high: NDArray[Any], p: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Move one price after another to where its class is in bounds, the others fixed."""
    n, k = u.shape
    for _ in range(_MOST_SWEEPS if k > 1 else 0):
        for c in range(k):
            others = np.delete(u - p, c, axis=1).max(axis=1)
            margin = u[:, c] - others  # the row is in class c while the price is below it
            p[c] = _own_price(margin, int(low[c]), int(high[c]))
        size = np.bincount((u - p).argmax(axis=1), minlength=k)
        # Sweeps gain little from here on, and each misplaced row is one short path.
        if np.abs(size - _flow(size, low, high, p)).sum() <= _PATHS_PER_ROW * n:
            break
    return p


def _own_price(margin: NDArray[np.float64], low: int, high: int) -> float:
    """Price nearest to zero at which between ``low`` and ``high`` rows have a larger margin."""
    n = len(margin)
    above = int((margin > 0).sum())
    if low <= above <= high:
        return 0.0
    wanted = high if above > high else low
    # Between the margins of the last row inside and the first one outside.
    if wanted == 0:
        return float(margin.max())
    if wanted == n:
        return float(np.nextafter(margin.min(), -np.inf))
    inside, outside = np.partition(margin, (n - wanted, n - wanted - 1))[
        [n - wanted, n - wanted - 1]
    ]
    middle = float(inside + outside) / 2
    # The bound that binds is the end nearest to zero of this interval, but a price in the
    # middle leaves the other classes room; its sign must stay that of the bound.
    return max(middle, 0.0) if wanted == high and above > high else min(middle, 0.0)


def _flow(
    size: NDArray[Any], low: NDArray[Any], high: NDArray[Any], p: NDArray[Any]
) -> NDArray[np.int64]:
    """Class sizes that complementary slackness allows at these prices."""
    return np.where(p > 0, high, np.where(p < 0, low, np.clip(size, low, high)))


def _repair(
    u: NDArray[np.float64], low: NDArray[Any], high: NDArray[Any], p: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Move misplaced rows along shortest paths; the labels of ``p`` are optimal for their sizes.

    Nodes are the classes and a terminal ``k`` that holds ``flow[c]`` rows of class c. An arc
    between classes costs what the cheapest row loses by the move; one to the terminal is free
    while the bounds leave room.
    """
    n, k = u.shape
    labels: NDArray[np.intp] = (u - p).argmax(axis=1)
    size = np.bincount(labels, minlength=k)
    flow = _flow(size, low, high, p)
    excess = np.append(size - flow, flow.sum() - n)
    n_moves = int(np.abs(excess).sum()) // 2
    if n_moves == 0:
        return labels
    heaps = _cheapest_moves(u, labels, n_moves + 1)
    for _ in range(n_moves):
        cost = np.full((k + 1, k + 1), np.inf)
        for a in range(k):
            for b in range(k):
                heap = heaps[a][b]
                while heap and labels[heap[0][1]] != a:
                    heapq.heappop(heap)
                if heap:
                    cost[a, b] = heap[0][0]
        cost[:k, k] = np.where(flow < high, 0.0, np.inf)
        cost[k, :k] = np.where(flow > low, 0.0, np.inf)
        path = _shortest_path(cost, excess > 0, excess < 0)
        excess[path[0]] -= 1
        excess[path[-1]] += 1
        moved = []
        for a, b in pairwise(path):
            if b == k:
                flow[a] += 1
            elif a == k:
                flow[b] -= 1
            else:
                moved.append((heaps[a][b][0][1], b))
        for row, b in moved:
            labels[row] = b
            for c in range(k):
                if c != b:
                    heapq.heappush(heaps[b][c], (float(u[row, b] - u[row, c]), row))
    return labels


def _cheapest_moves(
    u: NDArray[np.float64], labels: NDArray[np.intp], count: int
) -> list[list[list[tuple[float, int]]]]:
    """For each pair of classes a heap of the rows that lose least by the move.

    No more than ``count`` rows ever leave a class, so that more are never looked at.
    """
    k = u.shape[1]
    heaps: list[list[list[tuple[float, int]]]] = []
    for a in range(k):
        rows = np.flatnonzero(labels == a)
        heaps.append([])
        for b in range(k):
            loss = u[rows, a] - u[rows, b]
            if b == a:
                chosen = np.empty(0, np.intp)
            elif len(rows) > count:
                chosen = np.argpartition(loss, count)[:count]
            else:
                chosen = np.arange(len(rows))
            heap = [(float(loss[i]), int(rows[i])) for i in chosen]
            heapq.heapify(heap)
            heaps[a].append(heap)
    return heaps


def _shortest_path(
    cost: NDArray[np.float64], start: NDArray[np.bool_], end: NDArray[np.bool_]
) -> list[int]:
    """Bellman and Ford's shortest path from any start to any end; no cycle is negative."""
    m = len(cost)
    length = np.where(start, 0.0, np.inf)
    before = np.full(m, -1)
    # Rounding makes cycles of no cost slightly negative; they must not be followed.
    slack = 1e-12 * np.abs(cost[np.isfinite(cost)]).max(initial=0.0)
    for _ in range(m):
        via = length[:, None] + cost
        nearest = via.argmin(axis=0)
        better = via[nearest, np.arange(m)] < length - slack
        if not better.any():
            break
        length = np.where(better, via[nearest, np.arange(m)], length)
        before = np.where(better, nearest, before)
    node = int(np.where(end, length, np.inf).argmin())
    path = [node]
    while before[node] >= 0:
        node = int(before[node])
        path.append(node)
    return path[::-1]


def _middle_prices(
    u: NDArray[np.float64], labels: NDArray[np.intp], low: NDArray[Any], high: NDArray[Any]
) -> NDArray[np.float64]:
    """Prices in the middle of all that are valid for optimal labels.

    Prices are valid where ``p[a] - p[b]`` is at most what the cheapest row of class a loses by a
    move to class b; class k is the terminal of :func:`_repair`, whose price is zero. With the price
    of one class fixed, the shortest paths to and from it are the largest and the least prices of
    the others, and their mean is valid, too. Its mean over all choices of that class treats the
    classes alike.
    """
    n, k = u.shape
    if n == 0:
        return np.zeros(k)
    size = np.bincount(labels, minlength=k)
    limit = np.full((k + 1, k + 1), np.inf)
    for a in np.flatnonzero(size):
        rows = u[labels == a]
        limit[a, :k] = (rows[:, [a]] - rows).min(axis=0)
    limit[:k, k] = np.where(size < high, 0.0, np.inf)
    limit[k, :k] = np.where(size > low, 0.0, np.inf)
    np.fill_diagonal(limit, 0.0)
    for via in range(k + 1):
        limit = np.minimum(limit, limit[:, [via]] + limit[via])

    # A class without rows, and the terminal where no class has room, lack one end or both.
    within = np.isfinite(limit[labels[0]]) & np.isfinite(limit[:, labels[0]])
    inner = limit[np.ix_(within, within)]
    p = np.zeros(k + 1)
    p[within] = (inner - inner.T).mean(axis=1) / 2
    least = (p[within, None] - limit[within]).max(axis=0)
    largest = (p[within] + limit[:, within]).min(axis=1)
    end = np.where(np.isfinite(least), least, np.where(np.isfinite(largest), largest, 0.0))
    p = np.where(within, p, end)
    return np.asarray(p[:k] - p[k], dtype=np.float64)
