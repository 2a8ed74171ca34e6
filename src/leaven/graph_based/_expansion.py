"""Cuts between more than two classes by expansion moves (Boykov, Veksler and Zabih, 2001)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaven.graph_based._cuts import cut_weight, minimum_cuts

_LEAST_GAIN = 1e-12  # relative; a smaller change of the weight is rounding


def potts_energy(
    W: sparse.csr_array, labels: NDArray[np.intp], costs: NDArray[Any] | None = None
) -> float:
    """Return the weight of the edges between different labels, plus what the labels cost.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph import Graph
    >>> from leaven.graph_based._expansion import potts_energy
    >>> W = Graph.from_edges([(0, 1), (1, 2)], [0.3, 0.4]).adjacency
    >>> potts_energy(W, np.array([0, 1, 1]), np.array([[0.0, 9.0], [9.0, 0.5], [9.0, 0.0]]))
    0.8
    """
    total = cut_weight(W, labels)
    if costs is not None:
        total += float(costs[np.arange(len(labels)), labels].sum())
    return total


def expand(
    W: sparse.csr_array,
    labels: NDArray[np.intp],
    free: NDArray[np.bool_],
    alpha: int,
    costs: NDArray[Any] | None = None,
) -> NDArray[np.intp]:
    r"""Let class α take whichever free nodes it likes; exact.

    Among all labelings in which a free node either keeps its label or gets α, it finds the one
    of the least energy

    .. math:: \sum_{(i,j) \in E} w_{ij} [\ell_i \ne \ell_j] + \sum_i c_{i \ell_i} ,

    by one minimum cut, in which the fewest nodes change. With ``x_i = 1`` for nodes that change,
    an edge between two nodes of one class costs ``w |x_i - x_j|``; between two classes, neither
    of them α, ``w (1 - x_i x_j) = w + w/2 |x_i - x_j| - w/2 (x_i + x_j)``.

    Parameters
    ----------
    W : csr_array of shape (n_nodes, n_nodes)
    labels : ndarray of shape (n_nodes,)
    free : bool ndarray of shape (n_nodes,)
        Nodes that may change.
    alpha : int
    costs : ndarray of shape (n_nodes, n_classes), optional
        Not negative.

    Returns
    -------
    ndarray of shape (n_nodes,)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph import Graph
    >>> from leaven.graph_based._expansion import expand
    >>> W = Graph.from_edges([(0, 1), (1, 2), (2, 3)], [0.9, 0.2, 0.8]).adjacency
    >>> free = np.array([False, True, True, False])
    >>> expand(W, np.array([0, 1, 2, 2]), free, 0)
    array([0, 0, 2, 2])
    """
    move = np.flatnonzero(free & (labels != alpha))
    if not len(move):
        return labels
    place = np.full(len(labels), -1)
    place[move] = np.arange(len(move))
    rows = sparse.csr_array(W[move])
    tail = np.repeat(np.arange(len(move)), np.diff(rows.indptr))
    head, weight = rows.indices, rows.data.astype(np.float64)
    same = labels[head] == labels[move[tail]]
    inside = place[head] >= 0
    n = len(move)
    # To stay is to be cut off from α, and to change from the old label.
    stay = _sum(tail, weight * (labels[head] == alpha), n)
    stay += _sum(tail, weight / 2 * (inside & ~same), n)
    change = _sum(tail, weight * (~inside & same), n)
    if costs is not None:
        change += costs[move, alpha]
        stay += costs[move, labels[move]]
    # What both choices cost decides nothing, and makes rounding coarser.
    common = np.minimum(stay, change)
    stay, change = stay - common, change - common
    pair = inside & (tail != place[head])
    source, sink = n, n + 1
    nodes = np.arange(n)
    ones = np.ones(n, dtype=np.int64)
    row = np.concatenate([tail[pair], source * ones, nodes, sink * ones, nodes])
    col = np.concatenate([place[head[pair]], nodes, source * ones, nodes, sink * ones])
    value = np.concatenate([np.where(same, weight, weight / 2)[pair], stay, stay, change, change])
    keep = value > 0
    capacities = sparse.csr_array(
        (value[keep], (row[keep].astype(np.int32), col[keep].astype(np.int32))),
        shape=(n + 2, n + 2),
    )
    capacities.sum_duplicates()
    changed = minimum_cuts(capacities, source, sink).smallest()[:n]
    new = labels.copy()
    new[move[changed]] = alpha
    return new


def _sum(place: NDArray[Any], value: NDArray[Any], n: int) -> NDArray[np.float64]:
    # An empty count would be of integers.
    return np.bincount(place, weights=value, minlength=n).astype(np.float64)


def alpha_expansion(
    W: sparse.csr_array,
    labels: NDArray[np.intp],
    free: NDArray[np.bool_],
    n_classes: int,
    costs: NDArray[Any] | None = None,
    *,
    max_sweeps: int = 100,
) -> tuple[NDArray[np.intp], int]:
    """Let the classes expand in turn, the heaviest first, until none gains anything.

    The energy never rises above that of the start. At the end no expansion of any class is
    better, which bounds it by twice the least energy (Boykov, Veksler and Zabih, 2001, theorem
    6.1); two classes are solved exactly from a start in which all free nodes have one label.

    Parameters
    ----------
    W : csr_array of shape (n_nodes, n_nodes)
    labels : ndarray of shape (n_nodes,)
        The start.
    free : bool ndarray of shape (n_nodes,)
        Nodes that may change.
    n_classes : int
    costs : ndarray of shape (n_nodes, n_classes), optional
        What each label costs each node; not negative.
    max_sweeps : int, default=100
        Turns of all classes; a dozen were the most ever needed.

    Returns
    -------
    labels : ndarray of shape (n_nodes,)
    n_moves : int

    Examples
    --------
    A star with three labeled ends: the middle joins the heaviest edge.

    >>> import numpy as np
    >>> from leaven.graph import Graph
    >>> from leaven.graph_based._expansion import alpha_expansion
    >>> W = Graph.from_edges([(0, 3), (1, 3), (2, 3)], [0.2, 0.5, 0.4]).adjacency
    >>> labels, n_moves = alpha_expansion(W, np.array([0, 1, 2, 0]), np.arange(4) == 3, 3)
    >>> labels, n_moves
    (array([0, 1, 2, 1]), 1)
    """
    labels = labels.copy()
    energy = potts_energy(W, labels, costs)
    slack = _LEAST_GAIN * (float(W.data.sum(dtype=np.float64)) + energy)
    degree = np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
    n_moves = 0
    still = np.zeros(n_classes, dtype=bool)  # classes that gain nothing as things are
    for _ in range(max_sweeps):
        # The order depends on the weights and not on the names of the classes.
        volume = np.bincount(labels, weights=degree, minlength=n_classes)
        for alpha in np.argsort(-volume, kind="stable"):
            if still[alpha]:
                continue
            trial = expand(W, labels, free, int(alpha), costs)
            found = potts_energy(W, trial, costs)
            if found < energy - slack:
                energy, labels = found, trial
                still[:] = False
                n_moves += 1
            # What an expansion has taken, a second one leaves as it is.
            still[alpha] = True
        if still.all():
            break
    return labels, n_moves
