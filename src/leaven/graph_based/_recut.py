"""Cut pairs of classes anew: a way out of labelings that no diffusion improves.

Diffusion moves the boundary between two classes by small steps. Where labels lie badly it ends
across both classes, half of each on either side, although another cut of the same sizes is much
lighter. The slowest eigenvectors of the two classes together know that cut.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from leaven.graph import Graph
from leaven.graph_based._cuts import cut_weight
from leaven.graph_based._mbo import annealed_mbo

# Directions that are tried for each pair; on MNIST the right one for 4 and 9 is the second.
_DIRECTIONS = 3
# A new cut must be lighter by this much: smaller gains are those of the diffusion.
_GAIN = 0.98
# The labels must say which side is which: this share of both classes on their own side.
_AGREEMENT = 0.75
# Smaller pairs have no directions to speak of.
_FEWEST = 20
# What makes a rough cut by a threshold one that can be compared.
_POLISH = ((20, 3, 0.0), (5, 3, 0.0))
# Passes over the pairs; a second one sees what the first one moved.
_PASSES = 2


def recut_pairs(
    graph: Graph, labels: NDArray[np.intp], fixed: NDArray[np.bool_], n_classes: int
) -> tuple[NDArray[np.intp], int]:
    """Replace the boundary between two classes where a cut of the same sizes is lighter.

    Candidates are thresholds of the slowest eigenvectors of the random walk on the rows of the
    two classes, with the sides given by the fixed labels, and a few rounds of diffusion.

    Parameters
    ----------
    graph : Graph
    labels : ndarray of shape (n_nodes,)
    fixed : bool ndarray of shape (n_nodes,)
        Nodes that keep their label.
    n_classes : int

    Returns
    -------
    labels : ndarray of shape (n_nodes,)
        The sizes of the classes are those before.
    n_moves : int
        How many boundaries were replaced.
    """
    labels, n_moves = labels.copy(), 0
    for _ in range(_PASSES):
        moved = False
        for a, b in _heaviest_pairs(graph.adjacency, labels, n_classes):
            inside = (labels == a) | (labels == b)
            part = graph.subgraph(inside)
            split = lighter_split(part, labels[inside] == b, fixed[inside])
            if split is not None:
                labels[inside] = np.where(split, b, a)
                n_moves, moved = n_moves + 1, True
        if not moved:
            break
    return labels, n_moves


def _heaviest_pairs(
    adjacency: sparse.csr_array, labels: NDArray[np.intp], n_classes: int
) -> list[tuple[int, int]]:
    """Pairs of classes by the weight between them, the heaviest first, as many as classes."""
    entries = adjacency.tocoo()
    between = np.bincount(
        labels[entries.row] * n_classes + labels[entries.col],
        weights=entries.data,
        minlength=n_classes * n_classes,
    ).reshape(n_classes, n_classes)
    pairs = [pair for pair in combinations(range(n_classes), 2) if between[pair] > 0]
    return sorted(pairs, key=lambda pair: -between[pair])[:n_classes]


def lighter_split(
    graph: Graph, side: NDArray[np.bool_], fixed: NDArray[np.bool_], *, fewest: int = _FEWEST
) -> NDArray[np.bool_] | None:
    """Split a graph in two of the same sizes by a lighter cut, or return None.

    Parameters
    ----------
    graph : Graph
    side : bool ndarray of shape (n_nodes,)
        The present split.
    fixed : bool ndarray of shape (n_nodes,)
        Nodes that keep their side; there must be some on both.
    fewest : int, default=20
        A graph with fewer nodes is left as it is.

    Returns
    -------
    bool ndarray of shape (n_nodes,) or None

    Examples
    --------
    Two squares joined by a thin edge, cut the wrong way:

    >>> import numpy as np
    >>> from leaven.graph import Graph
    >>> from leaven.graph_based._recut import lighter_split
    >>> square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> edges = square + [(i + 4, j + 4) for i, j in square] + [(0, 4)]
    >>> graph = Graph.from_edges(edges, [1.0] * 8 + [0.1])
    >>> fixed = np.isin(np.arange(8), [1, 6])
    >>> wrong = np.isin(np.arange(8), [2, 3, 6, 7])
    >>> lighter_split(graph, wrong, fixed, fewest=4).astype(int)
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    component = graph.components()
    # Small pieces keep their side: they have no edge to the others that could be cut.
    main = component == np.bincount(component).argmax()
    part = graph if main.all() else graph.subgraph(main)
    now, held = side[main], fixed[main]
    if part.n_nodes < fewest or not (now & held).any() or not (~now & held).any():
        return None
    sizes = np.array([(~now & ~held).sum(), (now & ~held).sum()])
    nothing = np.zeros((part.n_nodes, 2))
    best: NDArray[np.bool_] | None = None
    least = _GAIN * float(cut_weight(part.adjacency, now.astype(np.intp)))
    for direction in _slow_directions(part):
        rough = _oriented(direction, now, held)
        if rough is None:
            continue
        start = np.where(held, now, rough).astype(np.intp)
        found = annealed_mbo(part, nothing, start, sizes, held, _POLISH)
        weight = float(cut_weight(part.adjacency, found.labels))
        if weight < least:
            best, least = found.labels == 1, weight
    if best is None:
        return None
    split = side.copy()
    split[main] = best
    return split


def _slow_directions(graph: Graph) -> list[NDArray[Any]]:
    """The slowest eigenvectors of the random walk on a connected graph, but for the constant."""
    root = np.sqrt(graph.degree.astype(np.float64))
    scale = sparse.diags_array(1.0 / root, format="csr")
    walk = scale @ graph.adjacency.astype(np.float64) @ scale
    lazy = sparse.csr_array(walk + sparse.eye_array(graph.n_nodes, format="csr"))
    start = np.random.default_rng(0).normal(size=graph.n_nodes)
    try:
        # Three digits of a direction are more than a threshold needs.
        values, vectors = eigsh(lazy, k=_DIRECTIONS + 1, which="LA", tol=1e-3, v0=start)
    except ArpackNoConvergence:
        return []
    order = np.argsort(-values)[1:]
    return [vectors[:, j] / root for j in order]


def _oriented(
    direction: NDArray[Any], now: NDArray[np.bool_], held: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """The split of the present sizes by a threshold, if the labels tell which side is which."""
    rank = np.argsort(np.argsort(direction, kind="stable"), kind="stable")
    n, n_true = len(now), int(now.sum())
    best: NDArray[np.bool_] | None = None
    most = _AGREEMENT
    for split in (rank >= n - n_true, rank < n_true):
        agreement = min(float(split[held & now].mean()), float((~split)[held & ~now].mean()))
        if agreement >= most:
            best, most = split, agreement
    return best
