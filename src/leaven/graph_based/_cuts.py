"""Minimum cuts of a weighted graph between two sets of nodes, with all their freedom.

scipy's maximum flow takes 32-bit integers. Weights are scaled to integers by a power of two,
so that nothing is lost but what lies below one unit. That rest is small; in a further round
every arc that could carry all of it is contracted, and the few arcs that remain are scaled
up again. Two or three rounds give the cut of the floating-point weights themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from leaven._labels import UNLABELED

SIDES = ("source", "sink", "balanced")

# Largest integer capacity. Flow can turn around on an arc, so that twice this must fit.
_LARGEST = 2**30 - 1

# Most maximum flows to find what noise cannot change. Each costs as much as a noisy cut.
_GROWTHS = 6


def neighbors_together(W: sparse.csr_array, codes: NDArray[np.intp]) -> NDArray[Any]:
    """Order the nodes so that neighbors are close in memory, and labeled nodes come last."""
    free = np.flatnonzero(codes == UNLABELED)
    if len(free):
        free = free[csgraph.reverse_cuthill_mckee(W[free][:, free], symmetric_mode=True)]
    return np.concatenate([free, np.flatnonzero(codes != UNLABELED)])


@dataclass(frozen=True)
class MinimumCuts:
    """All minimum cuts of a network, as the residual graph of a maximum flow.

    A set is the source side of a minimum cut exactly if it holds the source, does not hold
    the sink, and no residual arc leaves it (Picard and Queyranne, 1980). The smallest and
    the largest such set do not depend on the flow that was found.

    Parameters
    ----------
    group : ndarray of shape (n_nodes,)
        Nodes of the network that no minimum cut separates may share a group.
    residual : csr_array of shape (n_groups, n_groups)
    source, sink : int
        The groups of the terminals.
    gap : float
        How much the cuts may exceed the minimum, because capacities were rounded.
    """

    group: NDArray[Any]
    residual: sparse.csr_array
    source: int
    sink: int
    gap: float

    def smallest(self) -> NDArray[np.bool_]:
        """Return the smallest source side: what the source still reaches."""
        return np.asarray(_reached(self.residual, self.source)[self.group])

    def largest(self) -> NDArray[np.bool_]:
        """Return the largest source side: all but what still reaches the sink."""
        return np.asarray(~_reached(_transpose(self.residual), self.sink)[self.group])

    def balanced(
        self, nearness: NDArray[Any], size: NDArray[Any], target: float
    ) -> NDArray[np.bool_]:
        """Return a source side whose size comes close to ``target``.

        Parameters
        ----------
        nearness : ndarray of shape (n_nodes,)
            From 0 at the source to 1 at the sink. Nodes join the source side in this
            order, each with all that a minimum cut must take along.
        size : ndarray of shape (n_nodes,)
            How much each node counts; 0 is for the terminals.
        target : float
            The size that is wanted.

        Returns
        -------
        bool ndarray of shape (n_nodes,)

        Notes
        -----
        The size closest to the target is a knapsack problem. Two chains of nested minimum
        cuts are searched instead: all nodes but those that drag along a node farther than
        a threshold, and all nodes up to the threshold with what they drag along. Both are
        needed, for one is the other with the two sides exchanged.
        """
        n_parts, part = _strong_components(self.residual, self.residual.data > 0)
        row = np.repeat(part, np.diff(self.residual.indptr))
        arcs = _matrix(row, part[self.residual.indices], self.residual.data, n_parts)
        low = _reached(arcs, part[self.source])
        between = np.flatnonzero(~low & ~_reached(_transpose(arcs), part[self.sink]))
        part = part[self.group]
        if len(between):
            near = np.bincount(part, weights=nearness * size, minlength=n_parts)
            size = np.bincount(part, weights=size, minlength=n_parts)
            wanted = target - size[low].sum()
            near, size = np.round(near[between] / size[between], 9), size[between]
            arcs = sparse.csr_array(arcs[between][:, between])
            without = _closed_set(arcs, near, size, wanted)
            within = ~_closed_set(_transpose(arcs), -near, size, size.sum() - wanted)
            best = min((without, within), key=lambda chosen: abs(size[chosen].sum() - wanted))
            low[between[best]] = True
        return np.asarray(low[part])


def minimum_cuts(
    capacities: sparse.csr_array, source: int, sink: int, *, max_rounds: int = 8
) -> MinimumCuts:
    """Find the minimum cuts between two nodes of a symmetric network.

    Parameters
    ----------
    capacities : csr_array of shape (n_nodes, n_nodes)
        Symmetric floating-point capacities, without a diagonal.
    source, sink : int
    max_rounds : int, default=8
        Each round adds 30 bits less the logarithm of the number of edges cut; two or three
        are enough for the 53 bits of a number, if the weights are of similar size.

    Returns
    -------
    MinimumCuts

    Examples
    --------
    A chain with two weakest edges has two minimum cuts:

    >>> from leaven.graph import Graph
    >>> from leaven.graph_based._cuts import minimum_cuts
    >>> chain = Graph.from_edges([(0, 1), (1, 2), (2, 3)], [0.3, 0.7, 0.3])
    >>> cuts = minimum_cuts(chain.adjacency, 0, 3)
    >>> cuts.smallest()
    array([ True, False, False, False])
    >>> cuts.largest()
    array([ True,  True,  True, False])
    """
    R = sparse.csr_array(capacities, dtype=np.float64, copy=True)
    group = np.arange(R.shape[0])
    start, end, bound = _from_the_narrow_end(R, source, sink)
    backward = start != source
    usable = R.data > 0
    for _ in range(max_rounds):
        if bound == 0:
            break
        # The flow that is still missing is at most the bound: an arc with room for more
        # cannot be part of a minimum cut, and two ends joined both ways stay together.
        n_groups, merged = _strong_components(R, R.data > bound)
        if n_groups < R.shape[0]:
            row = np.repeat(merged, np.diff(R.indptr))
            R = _matrix(row, merged[R.indices], R.data, n_groups)
            group, start, end = merged[group], int(merged[start]), int(merged[end])
        R, usable, bound = _push(R, start, end, bound)
    residual = _subgraph(R, usable)
    if backward:
        residual, start, end = _transpose(residual), end, start
    return MinimumCuts(group, residual, start, end, bound)


def steady_groups(
    capacities: sparse.csr_array, source: int, sink: int, noise: float
) -> tuple[NDArray[Any], int]:
    """Group the nodes that no minimum cut separates, whatever the noise.

    Parameters
    ----------
    capacities : csr_array of shape (n_nodes, n_nodes)
        Symmetric.
    source, sink : int
    noise : float in [0, 1]
        Each capacity may become ``(1 ± noise)`` times as large.

    Returns
    -------
    group : ndarray of shape (n_nodes,)
    n_groups : int

    Notes
    -----
    What no noisy cut takes from the sink is merged with it, and the like for the source; see
    ``_farthest_side``. All noisy minimum cuts of the network are noisy minimum cuts of the
    merged one, and the other way around.
    """
    group = np.arange(capacities.shape[0])
    noise *= 1 + 1e-9  # against rounding, where the noise is put on the weights
    if noise >= 1:
        return group, len(group)
    W = sparse.csr_array(capacities, dtype=np.float64)
    # The two terminals change their roles: a cut of the one is a cut of the other.
    for _ in range(2):
        side = _farthest_side(W, source, sink, noise)
        W, merged = _merge(W, ~side, sink)
        group, source, sink = merged[group], int(merged[sink]), int(merged[source])
    return group, W.shape[0]


def _farthest_side(W: sparse.csr_array, source: int, sink: int, noise: float) -> NDArray[np.bool_]:
    """Return a set that holds the source side of every noisy minimum cut.

    A set ``A`` with the source does so if all larger sets are dearer under the noise that is
    worst for it: ``u = (1 + noise) w`` on the edges that leave ``A`` and ``l = (1 - noise) w``
    elsewhere. For let ``X`` be the source side of a cut, ``P`` its part in ``A``, ``Q`` the
    rest, not empty, and ``Z`` what is in neither ``A`` nor ``X``. The union of ``A`` and ``Q``
    is dearer than ``A``, so that ``l(Q, Z) > u(Q, A) >= u(Q, P)``. To take ``Q`` away from
    ``X`` saves at least ``l(Q, Z)`` and costs at most ``u(Q, P)``, whatever the noise: ``X``
    is no minimum cut.

    ``A`` starts with the source alone and grows to the largest set that is as cheap, until
    there is none. Little noise takes one to three steps. After too many, all but the sink is
    returned, which is always true.
    """
    group = np.arange(W.shape[0])
    for _ in range(_GROWTHS):
        at_source = W.indices == source
        at_source[W.indptr[source] : W.indptr[source + 1]] = True
        data = W.data * np.where(at_source, 1 + noise, 1 - noise)
        R, gap = sparse.csr_array((data, W.indices, W.indptr), shape=W.shape), 0.0
        start, end, bound = _from_the_narrow_end(R, source, sink)
        if bound > 0:
            R, _, gap = _push(R, start, end, bound)
        # A set costs as much more than the flow as its residual arcs have room. The source
        # has room for the gap, by rounding; an arc with more makes a set that it leaves dearer.
        arcs = _subgraph(R, R.data > gap * (1 + 1e-9))
        side = ~_reached(_transpose(arcs) if start == source else arcs, sink)
        if side.sum() == 1:
            return np.asarray(group == source)
        W, merged = _merge(W, side, source)
        group, source, sink = merged[group], int(merged[source]), int(merged[sink])
    return np.asarray(group != sink)


def _merge(
    W: sparse.csr_array, chosen: NDArray[np.bool_], into: int
) -> tuple[sparse.csr_array, NDArray[Any]]:
    """Merge the chosen nodes, of which ``into`` is one; return also the new numbers."""
    stays = ~chosen
    stays[into] = True
    group = np.cumsum(stays) - 1
    group[chosen] = group[into]
    row = np.repeat(group, np.diff(W.indptr))
    return _matrix(row, group[W.indices], W.data, int(stays.sum())), group


def _push(
    R: sparse.csr_array, source: int, sink: int, bound: float
) -> tuple[sparse.csr_array, NDArray[np.bool_], float]:
    """Send what integers can express of the missing flow through the residual graph.

    Returns the residual capacities, the arcs on which at least one unit is left, and an
    upper bound of the flow that is still missing.
    """
    clipped = np.minimum(R.data, bound)
    # A power of two: capacities and flow change their exponent only, and are exact. The
    # limit keeps it finite for weights near the smallest number there is.
    exponent = min(int(np.floor(np.log2(_LARGEST) - np.log2(clipped.max()))), 1000)
    units = np.floor(np.ldexp(clipped, exponent)).astype(np.int32)
    network = sparse.csr_matrix((units, R.indices, R.indptr), shape=R.shape)
    flow = csgraph.maximum_flow(network, source, sink).flow.data.astype(np.int64)
    R = sparse.csr_array(
        (R.data - np.ldexp(flow.astype(float), -exponent), R.indices, R.indptr), shape=R.shape
    )
    usable = units > flow
    crossing = _crossing(R, _reached(_subgraph(R, usable), source))
    return R, usable, float(R.data[crossing].sum())


def _from_the_narrow_end(R: sparse.csr_array, source: int, sink: int) -> tuple[int, int, float]:
    """Return the terminal with less capacity first, and that capacity.

    In a symmetric network the flow may as well run backward. The solver searches from where
    the flow starts, and is several times faster at the end near the cut.
    """
    leaving, arriving = (
        float(R.data[R.indptr[node] : R.indptr[node + 1]].sum()) for node in (source, sink)
    )
    if leaving <= arriving:
        return source, sink, leaving
    return sink, source, arriving


def _closed_set(
    arcs: sparse.csr_array, order: NDArray[Any], size: NDArray[Any], wanted: float
) -> NDArray[np.bool_]:
    """Find the largest closed set up to ``wanted``, or the next, if that is nearer.

    The sets searched hold all nodes that do not lead to one beyond a threshold of
    ``order``; they grow with the threshold, which is found by bisection.
    """
    n = len(order)
    by_order = np.argsort(-order, kind="stable")
    beyond = np.concatenate([[0], np.flatnonzero(np.diff(order[by_order])) + 1, [n]])
    back = _transpose(arcs)

    def closed(step: int) -> NDArray[np.bool_]:
        start = by_order[: beyond[step]]  # the nodes beyond the threshold
        root = sparse.csr_array(
            (
                np.ones(back.nnz + len(start)),
                np.concatenate([back.indices, start]),
                np.append(back.indptr, back.nnz + len(start)),
            ),
            shape=(n + 1, n + 1),
        )
        return ~_reached(root, n)[:n]

    few, many = len(beyond) - 1, 0  # steps at which the set is empty, and is everything
    while few - many > 1:
        middle = (few + many) // 2
        if size[closed(middle)].sum() <= wanted:
            few = middle
        else:
            many = middle
    return min(
        (closed(few), closed(many)), key=lambda chosen: abs(float(size[chosen].sum()) - wanted)
    )


def _matrix(row: NDArray[Any], col: NDArray[Any], value: NDArray[Any], n: int) -> sparse.csr_array:
    """Return a matrix without a diagonal; values at the same place are added.

    An entry that adds up to zero is kept: both directions of an arc must have a place.
    """
    apart = row != col
    M = sparse.csr_array((value[apart], (row[apart], col[apart])), shape=(n, n), dtype=np.float64)
    M.sum_duplicates()
    return M


def _subgraph(R: sparse.csr_array, chosen: NDArray[np.bool_]) -> sparse.csr_array:
    """Return the unweighted graph of the chosen entries of ``R``."""
    indptr = np.concatenate([[0], np.cumsum(chosen)])[R.indptr].astype(R.indptr.dtype)
    indices = R.indices[chosen]
    return sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=R.shape)


def _transpose(arcs: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array(arcs.T)


def _reached(arcs: sparse.csr_array, start: int) -> NDArray[np.bool_]:
    found = csgraph.breadth_first_order(arcs, start, return_predecessors=False)
    reached = np.zeros(arcs.shape[0], dtype=bool)
    reached[found] = True
    return reached


def _crossing(R: sparse.csr_array, side: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which entries of ``R`` lead out of ``side``."""
    return np.asarray(np.repeat(side, np.diff(R.indptr)) & ~side[R.indices])


def _strong_components(R: sparse.csr_array, chosen: NDArray[np.bool_]) -> tuple[int, NDArray[Any]]:
    if not chosen.any():
        return R.shape[0], np.arange(R.shape[0])
    n, label = csgraph.connected_components(
        _subgraph(R, chosen), directed=True, connection="strong"
    )
    return int(n), label


def label_distances(
    W: sparse.csr_array, codes: NDArray[np.intp], n_classes: int
) -> NDArray[np.float64]:
    """Return the length of the shortest path from each node to a label of each class.

    An edge is as long as the largest weight divided by its own, so that the scale of the
    weights does not matter. Infinity where there is no path.

    Parameters
    ----------
    W : csr_array of shape (n_nodes, n_nodes)
    codes : ndarray of shape (n_nodes,)
    n_classes : int

    Returns
    -------
    ndarray of shape (n_nodes, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph import Graph
    >>> from leaven.graph_based._cuts import label_distances
    >>> chain = Graph.from_edges([(0, 1), (1, 2)], [4.0, 2.0])
    >>> label_distances(chain.adjacency, np.array([0, -1, 1]), 2)
    array([[0., 3.],
           [1., 2.],
           [3., 0.]])
    """
    distances = np.full((len(codes), n_classes), np.inf)
    weights = W.data / W.data.max(initial=np.finfo(W.dtype).tiny)
    # Far below the largest number, so that the length of a path stays finite.
    length = 1.0 / np.maximum(weights.astype(np.float64), 1e-200)
    lengths = sparse.csr_array((length, W.indices, W.indptr), shape=W.shape)
    for c in range(n_classes):
        start = np.flatnonzero(codes == c)
        if len(start):
            distances[:, c] = csgraph.dijkstra(lengths, indices=start, min_only=True)
    return distances


def cut_weight(W: sparse.csr_array, labels: NDArray[Any]) -> float:
    """Return the total weight of the edges whose ends have different labels."""
    differ = np.repeat(labels, np.diff(W.indptr)) != labels[W.indices]
    return float(W.data[differ].sum(dtype=np.float64)) / 2
