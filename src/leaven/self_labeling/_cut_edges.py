"""The cut edge weight statistic, and the neighborhood graphs it is taken on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.stats import norm
from sklearn.metrics import pairwise_distances

# With more neighbors than this the exact test enumerates too much, and the normal is close.
_EXACT_NEIGHBORS = 30

_PROBES = 8  # nearest rows that are tried first: they rule out most edges
_DISTANCES_PER_BLOCK = 2**21  # 16 MB of distances at a time


def cut_edge_tail(
    weights: NDArray[Any], cut: NDArray[np.bool_], same_class: float, *, exact: bool = False
) -> float:
    """Return the probability of as little cut edge weight as observed, or less.

    The statistic of a vertex i is ``J_i = sum_j w_ij I_ij`` over its neighbors j, where
    ``I_ij`` is one if the edge is cut: if the labels of i and j differ. Under the null
    hypothesis the labels of the vertices are drawn from the class proportions, so that the
    ``I_ij`` are independent Bernoulli variables with parameter ``1 - P(y_i)``, and ``J_i``
    has mean ``(1 - P(y_i)) sum_j w_ij`` and variance ``P(y_i) (1 - P(y_i)) sum_j w_ij²``
    (Muhlenbach, Lallich and Zighed 2004; Li and Zhou 2005). A small
    probability says that i agrees with its neighbors better than chance.

    Parameters
    ----------
    weights : ndarray of shape (n_neighbors,)
        Positive weights of the edges of one vertex.
    cut : bool ndarray of shape (n_neighbors,)
        Which edges lead to another class.
    same_class : float
        The proportion P(y_i) of the vertex's class, in (0, 1).
    exact : bool, default=False
        Sum over all outcomes of the Bernoulli variables instead of the normal
        approximation. With more than 30 neighbors the approximation is used all the same.

    Returns
    -------
    tail : float

    Examples
    --------
    Four neighbors, one of another class; J is binomial when all weights are one.

    >>> import numpy as np
    >>> from leaven.self_labeling._cut_edges import cut_edge_tail
    >>> cut = np.array([True, False, False, False])
    >>> cut_edge_tail(np.ones(4), cut, 0.5, exact=True)
    0.3125
    >>> round(cut_edge_tail(np.ones(4), cut, 0.5), 4)
    0.1587
    """
    observed = float(weights[cut].sum())
    p_cut = 1.0 - same_class
    if exact and len(weights) <= _EXACT_NEIGHBORS:
        return _exact_tail(weights, p_cut, observed)
    mean = p_cut * weights.sum()
    deviation = np.sqrt(p_cut * same_class * np.sum(weights**2))
    return float(norm.cdf((observed - mean) / deviation))


def _exact_tail(weights: NDArray[Any], p_cut: float, observed: float) -> float:
    """P(sum of w_j B_j <= observed), with the neighbors enumerated in two halves."""
    half = len(weights) // 2
    left, left_p = _outcomes(weights[:half], p_cut)
    right, right_p = _outcomes(weights[half:], p_cut)
    order = np.argsort(right)
    below = np.concatenate([[0.0], np.cumsum(right_p[order])])
    # The same sum in another order may differ in its last digit.
    slack = 1e-9 * (1.0 + weights.sum())
    count = np.searchsorted(right[order], observed + slack - left, side="right")
    return float(min(1.0, left_p @ below[count]))


def _outcomes(weights: NDArray[Any], p_cut: float) -> tuple[NDArray[Any], NDArray[Any]]:
    sums: NDArray[Any] = np.zeros(1)
    probabilities: NDArray[Any] = np.ones(1)
    for weight in weights:
        sums = np.concatenate([sums, sums + weight])
        probabilities = np.concatenate([probabilities * (1 - p_cut), probabilities * p_cut])
    return sums, probabilities


def knn_neighbors(row: int, nearest: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the neighbors of one row in the symmetric k-nearest-neighbor graph.

    ``nearest`` holds the k nearest rows of every row; two rows are neighbors if either is
    among the other's nearest.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._cut_edges import knn_neighbors
    >>> knn_neighbors(1, np.array([[1], [0], [1]]))
    array([0, 2])
    """
    towards = np.flatnonzero((nearest == row).any(axis=1))
    return np.union1d(nearest[row], towards)


def relative_neighbors(X: Any, row: int, metric: Any = "euclidean") -> NDArray[np.intp]:
    """Return the neighbors of one row in the relative neighborhood graph of all rows.

    Rows i and j are neighbors when no third row is closer to both than they are to each
    other: ``d_ij <= max(d_ik, d_jk)`` for every k. The answer is exact. The rows nearest to
    i rule out most candidates; those that remain are compared with all rows, in blocks, so
    that no n × n distances are held.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
    row : int
    metric : str or callable, default="euclidean"

    Returns
    -------
    neighbors : ndarray
        In increasing order.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._cut_edges import relative_neighbors
    >>> relative_neighbors(np.array([[0.0], [1.0], [3.0], [7.0]]), 1)
    array([0, 2])
    """
    gap = distances(X[[row]], X, metric).ravel()
    others = np.flatnonzero(np.arange(len(gap)) != row)
    probes = others[np.argsort(gap[others], kind="stable")[:_PROBES]]
    candidates = others[~_between(X, probes, others, gap, metric)]
    size = max(1, _DISTANCES_PER_BLOCK // len(gap))
    keep = [
        ~_between(X, others, candidates[i : i + size], gap, metric)
        for i in range(0, len(candidates), size)
    ]
    return candidates[np.concatenate(keep)] if keep else candidates


def _between(
    X: Any, third: NDArray[np.intp], rows: NDArray[np.intp], gap: NDArray[Any], metric: Any
) -> NDArray[np.bool_]:
    """Tell for each of ``rows`` if a ``third`` row is nearer to it and to the row of ``gap``."""
    nearer = gap[third] < gap[rows][:, None]
    return np.asarray(
        np.any(nearer & (distances(X[rows], X[third], metric) < gap[rows][:, None]), axis=1)
    )


def distances(A: Any, B: Any, metric: Any) -> NDArray[Any]:
    """Return the distances between the rows of ``A`` and ``B``, exact for close rows."""
    if metric == "euclidean" and not sparse.issparse(A):
        return np.asarray(cdist(A, B))
    return np.asarray(pairwise_distances(A, B, metric=metric))
