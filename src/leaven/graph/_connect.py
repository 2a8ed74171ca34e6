"""Joining the components of a neighbor graph by their shortest edges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from leaven.graph._base import unrelated
from leaven.graph._neighbors import NeighborIndex
from leaven.graph._weights import Edges, EdgeWeight

# Components up to this size look for their nearest outside row in the common index.
_SMALL_COMPONENT = 1_000

# Rows of a component that look for one outside, where the shortest edge need not be exact: it
# bounds the time for rows that fall into many clusters.
_MOST_ROWS = 100


def connect_components(
    W: sparse.csr_array, edges: Edges, index: NeighborIndex, weight: EdgeWeight
) -> sparse.csr_array:
    """Join every component of a graph to its nearest row outside, until it is connected.

    Rows of cosine similarity zero are not joined, so that components without any relation to
    the others stay apart; and of large components only a sample of the rows looks for others.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric weights.
    edges : Edges
        Those of ``W``: the new ones have the same rows, metric and scales.
    index : NeighborIndex
        Of the same rows.
    weight : EdgeWeight
        Fitted.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric.
    """
    while True:
        n_components, component = csgraph.connected_components(W, directed=False)
        if n_components == 1:
            return W
        found = shortest_edges_out(edges, index, component, most_rows=_MOST_ROWS)
        related = ~unrelated(found)
        if not related.any():
            return W
        W = add_edges(W, found.take(related), weight)


def add_edges(W: sparse.csr_array, edges: Edges, weight: EdgeWeight) -> sparse.csr_array:
    """Add edges in both directions, with a weight above zero however long they are."""
    weights = np.maximum(weight(edges), np.finfo(W.dtype).tiny)
    new = sparse.csr_array((weights, (edges.row, edges.col)), shape=W.shape)
    return sparse.csr_array(W.maximum(new.maximum(new.T)))


def shortest_edges_out(
    edges: Edges, index: NeighborIndex, component: NDArray[Any], most_rows: int | None = None
) -> Edges:
    """Find the shortest edge out of every component but the largest.

    An approximate search may miss all rows outside a component, which then has no edge.
    ``most_rows`` rows of a component look for one outside, evenly spread; None is all of them.
    """
    sizes = np.bincount(component)
    asking = _spread(component, sizes, most_rows)
    distance = np.full(len(component), np.inf)
    target = np.zeros(len(component), dtype=np.intp)
    # Among its size + 1 nearest rows (itself one of them) each row of a component finds
    # one outside. The sizes are rounded up to a power of two to search in batches.
    sizes_of = sizes[component]
    asked = 2 ** np.ceil(np.log2(sizes_of + 1)).astype(int)
    small = asking & (sizes_of <= _SMALL_COMPONENT)
    for k in np.unique(asked[small]):
        rows = np.flatnonzero(small & (asked == k))
        d, j = index.of(index.rows(rows), min(int(k), len(component)))
        d = np.where(component[j] == component[rows][:, None], np.inf, d)
        best = d.argmin(axis=1)
        distance[rows] = np.take_along_axis(d, best[:, None], axis=1).ravel()
        target[rows] = np.take_along_axis(j, best[:, None], axis=1).ravel()
    large = np.flatnonzero(sizes > _SMALL_COMPONENT)
    for number in large[large != sizes.argmax()]:
        outside = np.flatnonzero(component != number)
        rows = np.flatnonzero(asking & (component == number))
        d, j = index.restricted_to(outside).of(index.rows(rows, outside), 1)
        distance[rows], target[rows] = d.ravel(), outside[j.ravel()]
    order = np.lexsort((distance, component))
    first = order[np.searchsorted(component[order], np.arange(len(sizes)))]
    first = first[np.isfinite(distance[first])]
    return replace(edges, distance=distance[first], row=first, col=target[first])


def _spread(
    component: NDArray[Any], sizes: NDArray[np.intp], most_rows: int | None
) -> NDArray[np.bool_]:
    """Mark at most ``most_rows`` rows of each component, evenly spread over its rows."""
    if most_rows is None:
        return np.ones(len(component), dtype=bool)
    order = np.argsort(component, kind="stable")
    place = np.empty(len(component), dtype=np.intp)
    starts = np.cumsum(sizes) - sizes
    place[order] = np.arange(len(component)) - starts[component[order]]
    step = -(-sizes // most_rows)
    return np.asarray(place % step[component] == 0)
