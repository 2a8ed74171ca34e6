"""Merriman-Bence-Osher schemes: diffuse the labels, threshold them, and begin again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.stats import binom

from leaven.graph import Graph
from leaven.graph_based._cuts import cut_weight
from leaven.graph_based._volumes import assign_volumes
from leaven.solvers import add_product

# Steps, rounds and release of each stage. From long to short diffusion is worth two points
# with one label per class, the release half a point (benchmarks/accuracy.py).
ANNEALED = ((200, 6, 0.0), (60, 6, 0.0), (20, 6, 0.0), (20, 6, 0.25), (5, 6, 0.25))

# One stage, with the numbers of the paper's experiments.
PUBLISHED = ((40, 20, 0.0),)

# A truncated expansion of x^T leaves out less than exp(-_DEPTH) of its coefficients, which is
# the precision of the single-precision scores.
_DEPTH = 14.0
# The projection of the published method: step, largest error of a share, most steps.
_SCALE_STEP, _SCALE_TOLERANCE, _SCALE_STEPS = 0.1, 1e-3, 10_000


def walk_coefficients(n_steps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Chebyshev coefficients of ``n_steps`` lazy steps, and of the sum of all steps before.

    With ``x = (1 + cos θ) / 2 = cos²(θ/2)``, the eigenvalue of a lazy step for the eigenvalue
    cos θ of the walk,

    .. math:: x^T = 2^{-2T} \Big[ \tbinom{2T}{T}
              + 2 \sum_{j=1}^{T} \tbinom{2T}{T-j} \cos j\theta \Big] ,

    and the coefficients fall as ``exp(-j²/T)``: about ``4 √T`` products with the walk replace
    T of them.

    Parameters
    ----------
    n_steps : int

    Returns
    -------
    power, geometric : ndarray of shape (degree + 1,)
        Coefficients of ``x^T`` and of ``1 + x + ... + x^(T-1)``.

    Examples
    --------
    >>> from leaven.graph_based._mbo import walk_coefficients
    >>> walk_coefficients(1)
    (array([0.5, 0.5]), array([1., 0.]))
    """
    degree = min(n_steps, int(np.ceil(np.sqrt(_DEPTH * n_steps))))
    j = np.arange(degree + 1)
    double = np.where(j == 0, 1.0, 2.0)
    power = double * binom.pmf(n_steps - j, 2 * n_steps, 0.5)
    geometric = np.zeros(degree + 1)
    geometric[0] = 1.0
    for t in range(1, n_steps):
        geometric += double * binom.pmf(t - j, 2 * t, 0.5)
    return power, geometric


def chebyshev_sum(
    walk: sparse.csr_array, coefficients: NDArray[np.float64], values: NDArray[Any]
) -> NDArray[Any]:
    """``Σ_j a_j T_j(walk) values`` by the three-term recurrence.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from leaven.graph_based._mbo import chebyshev_sum
    >>> half = sparse.csr_array(np.diag([0.5, 0.25]))
    >>> chebyshev_sum(half, np.array([1.0, 2.0, 4.0]), np.ones((2, 1))).ravel()
    array([ 0., -2.])
    """
    before, now = values.copy(), np.asarray(walk @ values)
    total = coefficients[0] * before
    part = coefficients[1] * now
    total += part
    twice = 2.0 * walk
    for a in coefficients[2:]:
        # In place, 2 walk now - before: fresh memory costs as much as the arithmetic.
        np.negative(before, out=before)
        add_product(twice, now, before)
        before, now = now, before
        total += np.multiply(a, now, out=part)
    return np.asarray(total, dtype=values.dtype)


@dataclass(frozen=True)
class Labeling:
    """Where a scheme ended.

    Parameters
    ----------
    labels : ndarray of shape (n_nodes,)
    scores : ndarray of shape (n_nodes, n_classes)
        The last diffused values, less the prices: the largest of a row is its label.
    trace : list of float
        Weight of the edges between classes after each round.
    converged : bool
        Whether the last round changed no label.
    """

    labels: NDArray[np.intp]
    scores: NDArray[Any]
    trace: list[float]
    converged: bool


def annealed_mbo(
    graph: Graph,
    sources: NDArray[Any],
    start: NDArray[np.intp],
    sizes: NDArray[np.int64],
    fixed: NDArray[np.bool_],
    schedule: Sequence[tuple[int, int, float]] = ANNEALED,
) -> Labeling:
    r"""Diffuse, assign under volume bounds, and repeat with ever shorter diffusion.

    A round is T lazy random-walk steps from the one-hot labels,
    ``u ← (I + D⁻¹W) u / 2 + sources``, and the assignment of the nodes that are not fixed to
    the classes such that ``Σ u`` is largest and the class sizes are within
    ``(1 ± release) sizes``.

    Parameters
    ----------
    graph : Graph
    sources : ndarray of shape (n_nodes, n_classes)
    start : ndarray of shape (n_nodes,)
        The first labels.
    sizes : integer ndarray of shape (n_classes,)
        How many of the nodes that are not fixed each class should get.
    fixed : bool ndarray of shape (n_nodes,)
        Nodes that keep their start.
    schedule : sequence of (n_steps, n_rounds, release)
        A stage ends early when a round changes nothing.

    Returns
    -------
    Labeling
    """
    k = sources.shape[1]
    # Neighbors in the graph become neighbors in memory: the products run three times as fast.
    order = reverse_cuthill_mckee(sparse.csr_matrix(graph.adjacency), symmetric_mode=True)
    sources, fixed, labels = sources[order], fixed[order], start[order]
    adjacency = sparse.csr_array(graph.adjacency[order][:, order])
    degree = np.where(graph.degree > 0, graph.degree, 1.0)[order]
    walk = sparse.csr_array(sparse.diags_array(1.0 / degree, format="csr") @ adjacency)
    # Half the memory traffic; the scores that are compared differ by far more than 1e-7.
    walk, b = walk.astype(np.float32), sources.astype(np.float32)
    eye, free = np.eye(k, dtype=np.float32), ~fixed
    # Prices are carried from round to round: the assignment then starts next to its end.
    prices, trace, changed = np.zeros(k), [], True
    u = eye[labels]
    for n_steps, n_rounds, release in schedule:
        power, geometric = walk_coefficients(int(n_steps))
        inflow = chebyshev_sum(walk, geometric, b)
        low, high = released_sizes(sizes, release)
        for _ in range(int(n_rounds)):
            u = chebyshev_sum(walk, power, eye[labels]) + inflow
            new = labels.copy()
            new[free], prices = assign_volumes(u[free], low, high, prices=prices)
            changed = bool((new != labels).any())
            labels = new
            trace.append(cut_weight(adjacency, labels))
            if not changed:
                break
    back = np.argsort(order)
    return Labeling(labels[back], u[back] - prices.astype(np.float32), trace, not changed)


def labeled_cut(
    adjacency: sparse.csr_array,
    labels: NDArray[np.intp],
    given: NDArray[np.bool_],
    weight: float,
) -> float:
    """Weight of the cut, and of labels whose neighbors have another class, in mean degrees.

    A label that is an island among another class costs its few edges only, which a class that
    took the wrong cluster pays easily. So the share of its edges that are cut counts besides,
    ``weight`` rows for each label.

    Parameters
    ----------
    adjacency : csr_array of shape (n_nodes, n_nodes)
    labels : ndarray of shape (n_nodes,)
    given : bool ndarray of shape (n_nodes,)
    weight : float

    Examples
    --------
    The edge of weight 3 is cut, which is 3/5 of the edges of the labeled node; the mean degree
    is 14/3:

    >>> import numpy as np
    >>> from leaven.graph import Graph
    >>> from leaven.graph_based._mbo import labeled_cut
    >>> graph = Graph.from_edges([(0, 1), (1, 2), (0, 2)], [3.0, 2.0, 2.0])
    >>> given = np.array([False, True, False])
    >>> round(labeled_cut(graph.adjacency, np.array([0, 1, 1]), given, 2.0), 6)
    2.271429
    """
    cut = np.repeat(labels, np.diff(adjacency.indptr)) != labels[adjacency.indices]
    rows = np.repeat(np.arange(len(labels)), np.diff(adjacency.indptr))
    severed = np.bincount(rows, weights=adjacency.data * cut, minlength=len(labels))
    degree = np.bincount(rows, weights=adjacency.data, minlength=len(labels))
    mean = float(degree.mean()) or 1.0
    islands = severed[given] / np.where(degree[given] > 0, degree[given], 1.0)
    return float(severed.sum()) / 2 / mean + weight * float(islands.sum())


def published_mbo(
    graph: Graph,
    sources: NDArray[Any],
    start: NDArray[np.intp],
    proportions: NDArray[np.float64],
    schedule: Sequence[tuple[int, int, float]] = PUBLISHED,
) -> Labeling:
    """Poisson MBO as published: explicit steps, and factors for the volumes.

    A round is ``n_steps`` times ``u ← u - (L u - b) / max d``. Then factors ``s_c`` are moved
    until the classes of the largest ``s_c u_ic`` have the proportions wanted, where ``u`` is
    brought to the range from 0 to 1 first (algorithm 2 of the paper, with the projection of
    the authors' program).

    Parameters
    ----------
    graph, sources, start
        As in :func:`annealed_mbo`.
    proportions : ndarray of shape (n_classes,)
    schedule : sequence of (n_steps, n_rounds, release)
        The release is not used.

    Returns
    -------
    Labeling
    """
    L = graph.laplacian()
    rate = 1.0 / (L.diagonal().max(initial=0.0) or 1.0)
    step = sparse.csr_array(sparse.eye_array(graph.n_nodes, format="csr") - rate * L)
    inflow, eye = rate * sources, np.eye(sources.shape[1])
    labels, factors, trace, changed = start.copy(), np.ones(sources.shape[1]), [], True
    scores = eye[labels]
    for n_steps, n_rounds, _ in schedule:
        for _ in range(int(n_rounds)):
            u = eye[labels]
            for _ in range(int(n_steps)):
                u = step @ u + inflow
            u = (u - u.min()) / (float(np.ptp(u)) or 1.0)
            factors = _volume_factors(u, proportions, factors)
            scores = u * factors
            new = scores.argmax(axis=1)
            changed = bool((new != labels).any())
            labels = new
            trace.append(cut_weight(graph.adjacency, labels))
    return Labeling(labels, scores, trace, not changed)


def _volume_factors(
    u: NDArray[Any], proportions: NDArray[np.float64], factors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Move the factors against the error of the class sizes, by small steps."""
    s = factors
    for _ in range(_SCALE_STEPS):
        sizes = np.bincount((u * s).argmax(axis=1), minlength=len(s)) / len(u)
        s = s + _SCALE_STEP * (proportions - sizes)
        s = s / s[0]
        if np.abs(sizes - proportions).max() <= _SCALE_TOLERANCE:
            break
    return s


def released_sizes(
    sizes: NDArray[np.int64], release: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bounds of the class sizes, ``(1 ± release) sizes``, rounded outward.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._mbo import released_sizes
    >>> released_sizes(np.array([10, 7]), 0.25)
    (array([7, 5]), array([13,  9]))
    """
    low = np.floor(sizes * (1.0 - release)).astype(np.int64)
    return low, np.ceil(sizes * (1.0 + release)).astype(np.int64)


def whole_sizes(
    proportions: NDArray[np.float64], total: int, preference: NDArray[Any] | None = None
) -> NDArray[np.int64]:
    """Whole numbers that add up to ``total``, by the largest remainders.

    Classes with equal remainders are served by ``preference``, the largest first: the order of
    the classes would make the answer depend on their names.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._mbo import whole_sizes
    >>> whole_sizes(np.array([0.55, 0.3, 0.15]), 7)
    array([4, 2, 1])
    """
    exact = proportions * total
    sizes = np.floor(exact).astype(np.int64)
    remainders = np.round(exact - sizes, 9)
    preference = np.zeros(len(sizes)) if preference is None else preference
    largest = np.lexsort((-preference, -remainders))
    sizes[largest[: total - sizes.sum()]] += 1
    return sizes
