"""Cut pairs of classes anew: a way out of labelings that no diffusion improves.

Diffusion moves the boundary between two classes by small steps. Where labels lie badly it ends
across two clusters, half of each on either side, or leaves a piece of one cluster with a class to
which hardly an edge leads. The slowest eigenvectors of the two classes together know the cut that
is missing. Every graph has slow eigenvectors, also one without clusters, and there a lighter cut
is no better labeling; so a cut must look like one between clusters to be taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaven.graph import Graph
from leaven.graph_based._cuts import cut_weight
from leaven.graph_based._mbo import annealed_mbo
from leaven.solvers import smallest_eigenpairs

# Directions that are tried for each pair; on MNIST the right one for 4 and 9 is the second.
_DIRECTIONS = 3
# What makes a rough cut by a threshold one that can be compared.
_POLISH = ((20, 3, 0.0), (5, 3, 0.0))
# Passes over the pairs; a second one sees what the first one moved.
_PASSES = 2
# Three digits of a direction are more than a threshold needs.
_TOLERANCE = 1e-3
_TINY = float(np.finfo(np.float64).tiny)  # in place of a zero that would be divided by


@dataclass(frozen=True)
class Conditions:
    """What a new cut must fulfill; ``benchmarks/recut.py --cuts`` prints the figures of cuts.

    Parameters
    ----------
    gain : float, default=2/3
        Largest weight of the new cut over that of the present one.
    rows : float, default=5
        Least difference of the two weights, in mean degrees.
    valley : float, default=1.5
        On both sides of the cut there is a threshold of the same direction whose cut is heavier
        by this factor. In a graph without clusters the heaviest cut is in the middle.
    conductance : float, default=0.03
        Largest share of the edges of either side that the cut may hold.
    agreement : float, default=0.75
        Least share of the labels of either class on their own side.
    fewest : int, default=100
        Nodes of the pair; the eigenvectors of smaller ones are those of a few rows.
    """

    # The right cuts of MNIST, for 4 and 9 and for a piece of the ones, have 0.55 and 0.1, 83 and
    # 24 rows, valleys of 1.9 and 69, conductances of 0.015 and less. Wrong cuts of tables without
    # clusters had 0.57 to 0.8, valleys of 1.0 to 1.5, conductances of 0.04 to 0.2; clusters of
    # tables that are not the classes gained less than 3 rows.
    gain: float = 2 / 3
    rows: float = 5.0
    valley: float = 1.5
    conductance: float = 0.03
    agreement: float = 0.75
    fewest: int = 100


USUAL = Conditions()


def recut_pairs(
    graph: Graph,
    labels: NDArray[np.intp],
    fixed: NDArray[np.bool_],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    conditions: Conditions = USUAL,
) -> tuple[NDArray[np.intp], int]:
    """Replace the boundary between two classes where the graph has a much lighter cut.

    Candidates are thresholds of the slowest eigenvectors of the random walk on the rows of the
    two classes, with the sides given by the fixed labels, and a few rounds of diffusion.

    Parameters
    ----------
    graph : Graph
    labels : ndarray of shape (n_nodes,)
    fixed : bool ndarray of shape (n_nodes,)
        Nodes that keep their label.
    low, high : integer ndarrays of shape (n_classes,)
        Bounds of the number of nodes of each class that are not fixed.
    conditions : Conditions, optional

    Returns
    -------
    labels : ndarray of shape (n_nodes,)
    n_moves : int
        How many boundaries were replaced.
    """
    labels, n_moves = labels.copy(), 0
    for _ in range(_PASSES):
        moved = False
        for a, b in heaviest_pairs(graph.adjacency, labels, len(low)):
            inside = (labels == a) | (labels == b)
            held = fixed[inside]
            n_free = int((~held).sum())
            least, most = max(low[b], n_free - high[a]), min(high[b], n_free - low[a])
            part = graph.subgraph(inside)
            now = labels[inside] == b
            split = lighter_split(part, now, held, int(least), int(most), conditions)
            if split is not None:
                labels[inside] = np.where(split, b, a)
                n_moves, moved = n_moves + 1, True
        if not moved:
            break
    return labels, n_moves


def heaviest_pairs(
    adjacency: sparse.csr_array, labels: NDArray[np.intp], n_classes: int
) -> list[tuple[int, int]]:
    """Pairs of classes by the weight between them, the heaviest first, as many as classes.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph import Graph
    >>> from leaven.graph_based._recut import heaviest_pairs
    >>> path = Graph.from_edges([(0, 1), (1, 2), (2, 3)], [3.0, 5.0, 2.0])
    >>> heaviest_pairs(path.adjacency, np.array([0, 1, 2, 2]), 3)
    [(1, 2), (0, 1)]
    """
    entries = adjacency.tocoo()
    between = np.bincount(
        labels[entries.row] * n_classes + labels[entries.col],
        weights=entries.data,
        minlength=n_classes * n_classes,
    ).reshape(n_classes, n_classes)
    pairs = [pair for pair in combinations(range(n_classes), 2) if between[pair] > 0]
    return sorted(pairs, key=lambda pair: -between[pair])[:n_classes]


def lighter_split(
    graph: Graph,
    side: NDArray[np.bool_],
    fixed: NDArray[np.bool_],
    least: int,
    most: int,
    conditions: Conditions = USUAL,
) -> NDArray[np.bool_] | None:
    """Split a graph in two by a much lighter cut between clusters, or return None.

    Parameters
    ----------
    graph : Graph
    side : bool ndarray of shape (n_nodes,)
        The present split.
    fixed : bool ndarray of shape (n_nodes,)
        Nodes that keep their side; there must be some on both.
    least, most : int
        Bounds of the number of nodes with ``side`` true that are not fixed.
    conditions : Conditions, optional

    Returns
    -------
    bool ndarray of shape (n_nodes,) or None

    Examples
    --------
    Two squares joined by a thin edge, cut the wrong way:

    >>> import numpy as np
    >>> from leaven.graph import Graph
    >>> from leaven.graph_based._recut import Conditions, lighter_split
    >>> square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> edges = square + [(i + 4, j + 4) for i, j in square] + [(0, 4)]
    >>> graph = Graph.from_edges(edges, [1.0] * 8 + [0.1])
    >>> fixed = np.isin(np.arange(8), [1, 6])
    >>> wrong = np.isin(np.arange(8), [2, 3, 6, 7])
    >>> lighter_split(graph, wrong, fixed, 3, 3, Conditions(rows=1, fewest=4)).astype(int)
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    cuts = [
        cut
        for cut in new_cuts(graph, side, fixed, least, most, conditions)
        if cut.gain <= conditions.gain
        and cut.rows >= conditions.rows
        and cut.conductance <= conditions.conductance
    ]
    return min(cuts, key=lambda cut: cut.gain).split if cuts else None


@dataclass(frozen=True)
class Cut:
    """A split of a graph in two, and the figures that :class:`Conditions` speaks of."""

    split: NDArray[np.bool_]
    gain: float
    rows: float
    valley: float
    conductance: float


def new_cuts(
    graph: Graph,
    side: NDArray[np.bool_],
    fixed: NDArray[np.bool_],
    least: int,
    most: int,
    conditions: Conditions = USUAL,
) -> list[Cut]:
    """Cuts along the slowest directions of a graph, each after a few rounds of diffusion.

    Parameters
    ----------
    graph, side, fixed, least, most
        As in :func:`lighter_split`.
    conditions : Conditions, optional
        Directions of too small graphs, without a valley or against the labels are left out.

    Returns
    -------
    list of Cut
    """
    component = graph.components()
    # Small pieces keep their side: they have no edge to the others that could be cut.
    main = component == np.bincount(component).argmax()
    part = graph if main.all() else graph.subgraph(main)
    now, held = side[main], fixed[main]
    if part.n_nodes < conditions.fewest or not (now & held).any() or not (~now & held).any():
        return []
    elsewhere = int((side & ~fixed & ~main).sum())
    degree = part.degree.astype(np.float64)
    weight_now = float(cut_weight(part.adjacency, now.astype(np.intp)))
    if weight_now <= conditions.rows * degree.mean():
        return []  # even without any weight the gain would be too small
    cuts = []
    nothing, nobody = np.zeros((part.n_nodes, 2)), np.zeros(part.n_nodes, dtype=bool)
    for rough, valley in _valleys(part, ~held, least - elsewhere, most - elsewhere, conditions):
        start = rough.astype(np.intp)
        sizes = np.bincount(start, minlength=2)
        # The graph decides where to cut, and the labels which side is which: held fixed, labels
        # next to the boundary would agree with any side.
        found = annealed_mbo(part, nothing, start, sizes, nobody, _POLISH).labels
        right = found == now
        if min(right[held & now].mean(), right[held & ~now].mean()) < conditions.agreement:
            continue
        start = np.where(held, now, found).astype(np.intp)
        size = int(np.clip((start[~held] == 1).sum(), least - elsewhere, most - elsewhere))
        sizes = np.array([int((~held).sum()) - size, size])
        found = annealed_mbo(part, nothing, start, sizes, held, _POLISH[-1:]).labels
        weight = float(cut_weight(part.adjacency, found))
        split = side.copy()
        split[main] = found == 1
        smaller = min(degree[found == 1].sum(), degree[found == 0].sum())
        gained = (weight_now - weight) / degree.mean()
        cuts.append(Cut(split, weight / weight_now, gained, valley, weight / smaller))
    return cuts


def _valleys(
    graph: Graph,
    counted: NDArray[np.bool_],
    least: int,
    most: int,
    conditions: Conditions,
) -> list[tuple[NDArray[np.bool_], float]]:
    """Splits of a connected graph by its slowest directions, and how deep the valley is."""
    root = np.sqrt(graph.degree.astype(np.float64))
    n_directions = min(_DIRECTIONS, graph.n_nodes - 1)
    L = graph.laplacian("symmetric")
    pairs = smallest_eigenpairs(L, n_directions, kernel=root, tol=_TOLERANCE)
    splits = []
    for vector in pairs.vectors.T:
        for direction in (vector / root, -vector / root):
            order = np.argsort(direction, kind="stable")
            above = int(counted.sum()) - np.cumsum(counted[order])[:-1]
            allowed = (above >= least) & (above <= most)
            if not allowed.any():
                continue
            profile = sweep_cuts(graph.adjacency, order)
            place = int(np.flatnonzero(allowed)[profile[allowed].argmin()])
            ridge = float(min(profile[: place + 1].max(), profile[place:].max()))
            if ridge >= conditions.valley * profile[place]:
                rough = np.zeros(len(order), dtype=bool)
                rough[order[place + 1 :]] = True
                splits.append((rough, ridge / max(float(profile[place]), _TINY)))
    return splits


def sweep_cuts(adjacency: sparse.csr_array, order: NDArray[np.intp]) -> NDArray[np.float64]:
    """Weight of the cut after each place of an order but the last.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph import Graph
    >>> from leaven.graph_based._recut import sweep_cuts
    >>> path = Graph.from_edges([(0, 1), (1, 2), (2, 3)], [3.0, 5.0, 2.0])
    >>> sweep_cuts(path.adjacency, np.array([0, 2, 1, 3]))
    array([ 3., 10.,  2.])
    """
    n = len(order)
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    entries = adjacency.tocoo()
    rows, columns = place[entries.row], place[entries.col]
    up = rows < columns  # every edge once: it is cut from its first end to its last
    weights = entries.data[up].astype(np.float64)
    opened = np.bincount(rows[up], weights=weights, minlength=n)
    closed = np.bincount(columns[up], weights=weights, minlength=n)
    return np.asarray(np.cumsum(opened - closed)[:-1])
