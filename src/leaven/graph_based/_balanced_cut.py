"""Cuts that leave every class its share: a minimum cut with a pull towards balanced labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaven.graph_based._expansion import alpha_expansion

PULLED_SHARE = 0.5
"""Share of its proportion that a pull gives each class at least. 0.1 leaves a tenth: 54% right on
windows / mac at one label per class, with 0.5 75% (benchmarks/accuracy.py text)."""

_STEPS = 7  # bisections: the strength is right to 10%
_WEAKEST, _STRONGEST = 1e-3, 1e1
"""Range of the strength in units of the mean degree: the weakest changes no edge worth
speaking of, the strongest overrules all edges of nearly every node."""


def is_balanced(
    labels: NDArray[np.intp], free: NDArray[np.bool_], fewest: NDArray[np.float64]
) -> bool:
    """Tell whether each class has at least ``fewest`` of the free nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._balanced_cut import is_balanced
    >>> free = np.array([False, True, True, True])
    >>> is_balanced(np.array([1, 0, 0, 0]), free, np.array([0.5, 0.5]))
    False
    """
    size = np.bincount(labels[free], minlength=len(fewest))
    return bool((size >= fewest).all())


def pulled_cut(
    W: sparse.csr_array,
    start: NDArray[np.intp],
    free: NDArray[np.bool_],
    guess: NDArray[np.float64],
    strength: float,
) -> NDArray[np.intp]:
    r"""Minimize the cut plus what labels cost that differ from a guess.

    .. math:: \sum_{(i,j) \in E} w_{ij} [\ell_i \ne \ell_j]
              + \mu \bar d \sum_i (\max_c g_{ic} - g_{i \ell_i})

    with the strength μ, the mean degree and the guess g: a volume term that asks most of the
    nodes about which the guess is most certain.

    Parameters
    ----------
    W : csr_array of shape (n_nodes, n_nodes)
    start : ndarray of shape (n_nodes,)
        The given labels, and the labels of the guess elsewhere.
    free : bool ndarray of shape (n_nodes,)
    guess : ndarray of shape (n_nodes, n_classes)
        Class probabilities g.
    strength : float
        μ.

    Returns
    -------
    labels : ndarray of shape (n_nodes,)

    Examples
    --------
    A chain whose weakest edge cuts off one node; the guess would rather halve it:

    >>> import numpy as np
    >>> from leaven.graph import Graph
    >>> from leaven.graph_based._balanced_cut import pulled_cut
    >>> W = Graph.from_edges([(0, 1), (1, 2), (2, 3)], [0.8, 0.7, 0.6]).adjacency
    >>> f = np.array([0.0, 0.3, 0.7, 1.0])
    >>> g, free = np.column_stack([1 - f, f]), np.array([False, True, True, False])
    >>> [pulled_cut(W, np.array([0, 0, 1, 1]), free, g, mu).tolist() for mu in (0.1, 0.5)]
    [[0, 0, 0, 1], [0, 0, 1, 1]]
    """
    n_classes = guess.shape[1]
    unit = float(W.data.sum(dtype=np.float64)) / len(free)
    costs = strength * unit * (guess.max(axis=1, keepdims=True) - guess)
    if n_classes == 2:
        # From here one move reaches every labeling, so that the answer is exact.
        start = np.where(free, 0, start)
    return alpha_expansion(W, start, free, n_classes, costs)[0]


def balanced_cut(
    W: sparse.csr_array,
    start: NDArray[np.intp],
    free: NDArray[np.bool_],
    guess: NDArray[np.float64],
    sizes: NDArray[np.float64],
) -> tuple[NDArray[np.intp], float]:
    """Return the labels of the weakest pull that gives every class half of its nodes.

    Parameters
    ----------
    W, start, free, guess
        As in :func:`pulled_cut`.
    sizes : ndarray of shape (n_classes,)
        Free nodes that each class should have.

    Returns
    -------
    labels : ndarray of shape (n_nodes,)
    strength : float
        Infinite where no pull is enough; the labels are then those of the guess.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph import Graph
    >>> from leaven.graph_based._balanced_cut import balanced_cut
    >>> W = Graph.from_edges([(0, 1), (1, 2), (2, 3)], [0.8, 0.7, 0.6]).adjacency
    >>> f = np.array([0.0, 0.3, 0.7, 1.0])
    >>> g, free = np.column_stack([1 - f, f]), np.array([False, True, True, False])
    >>> labels, strength = balanced_cut(W, np.array([0, 0, 1, 1]), free, g, np.ones(2))
    >>> labels, 0.2 < strength < 0.3
    (array([0, 0, 1, 1]), True)
    """
    fewest = PULLED_SHARE * sizes
    best, strength = start, np.inf
    low, high = np.log(_WEAKEST), np.log(_STRONGEST)
    for _ in range(_STEPS if is_balanced(start, free, fewest) else 0):
        middle = (low + high) / 2.0
        trial = pulled_cut(W, start, free, guess, float(np.exp(middle)))
        if is_balanced(trial, free, fewest):
            best, strength, high = trial, float(np.exp(middle)), middle
        else:
            low = middle
    return best, strength
