"""Ranks of methods over data sets, and the critical difference of their means."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

# Values that agree to this many digits are tied: 0.768 - 0.763 must equal 0.931 - 0.926.
SIGNIFICANT_DIGITS = 12


def check_alpha(alpha: float) -> None:
    """Refuse a level of significance that is no probability.

    Parameters
    ----------
    alpha : float

    Examples
    --------
    >>> from leaven.statistics import check_alpha
    >>> check_alpha(5)
    Traceback (most recent call last):
        ...
    ValueError: alpha must be a probability between 0 and 1, such as 0.05, got 5.
    """
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must be a probability between 0 and 1, such as 0.05, got {alpha}.")


def drop_rounding_noise(
    values: NDArray[np.float64], scale: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Round ``values`` to ``SIGNIFICANT_DIGITS`` digits of ``scale``.

    Parameters
    ----------
    values : ndarray
    scale : ndarray that broadcasts against ``values``, or float
        Size of the numbers that ``values`` were computed from; 0 stands for 1.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.statistics import drop_rounding_noise
    >>> difference = np.array([0.3 - 0.2, 0.1])
    >>> bool(difference[0] == difference[1])
    False
    >>> clean = drop_rounding_noise(difference, 1.0)
    >>> bool(clean[0] == clean[1])
    True
    """
    size = np.where(np.asarray(scale) > 0, scale, 1.0)
    # A power of two divides without an error of its own.
    unit = 2.0 ** np.ceil(np.log2(size))
    return np.round(values / unit, SIGNIFICANT_DIGITS) * unit


def rank_rows(scores: NDArray[np.float64], higher_is_better: bool) -> NDArray[np.float64]:
    """Rank the entries of every row, 1 for the best, ties by their average rank.

    Parameters
    ----------
    scores : ndarray of shape (n_datasets, n_methods)
    higher_is_better : bool

    Returns
    -------
    ranks : ndarray of shape (n_datasets, n_methods)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.statistics import rank_rows
    >>> rank_rows(np.array([[0.3, 0.1, 0.3]]), higher_is_better=False)
    array([[2.5, 1. , 2.5]])
    """
    clean = drop_rounding_noise(scores, np.abs(scores).max(axis=1, keepdims=True))
    return np.asarray(stats.rankdata(-clean if higher_is_better else clean, axis=1))


def rank_standard_error(n_datasets: int, n_methods: int) -> float:
    """Standard error of a difference of two mean ranks, ``sqrt(k (k + 1) / (6 n))``.

    Parameters
    ----------
    n_datasets, n_methods : int

    Returns
    -------
    float

    Examples
    --------
    >>> from leaven.statistics import rank_standard_error
    >>> round(rank_standard_error(14, 4), 4)
    0.488
    """
    return float(np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_datasets)))


def critical_difference(n_datasets: int, n_methods: int, alpha: float) -> float:
    """Smallest difference of mean ranks that the test of Nemenyi calls significant.

    ``CD = q_alpha sqrt(k (k + 1) / (6 n))``, where ``q_alpha`` is the quantile of the
    studentized range with infinite degrees of freedom, divided by ``sqrt(2)``.

    Parameters
    ----------
    n_datasets, n_methods : int
    alpha : float

    Returns
    -------
    float

    Examples
    --------
    >>> from leaven.statistics import critical_difference
    >>> round(critical_difference(14, 4, 0.05), 2)
    1.25
    """
    quantile = stats.studentized_range.ppf(1.0 - alpha, n_methods, np.inf)
    return float(quantile / np.sqrt(2.0)) * rank_standard_error(n_datasets, n_methods)


def groups_within(mean_ranks: ArrayLike, difference: float) -> list[tuple[int, ...]]:
    """List the maximal groups in which no two mean ranks differ by ``difference`` or more.

    Mean ranks lie on a line, so that a maximal group is a stretch of the sorted methods. A
    method that differs from all others is a group of its own.

    Parameters
    ----------
    mean_ranks : array-like of shape (n_methods,)
    difference : float

    Returns
    -------
    groups : list of tuple of int
        Columns, best first within a group and over the groups.

    Examples
    --------
    >>> from leaven.statistics import groups_within
    >>> groups_within([1.0, 4.0, 2.0, 1.5], difference=0.8)
    [(0, 3), (3, 2), (1,)]
    """
    ranks = np.asarray(mean_ranks, dtype=float)
    order = np.argsort(ranks, kind="stable")
    values = ranks[order]
    found: list[tuple[int, ...]] = []
    covered = 0
    for start in range(len(values)):
        end = start + int(np.sum(values[start:] - values[start] < difference))
        if end > covered:  # a stretch that ends where the last one did is a part of it
            found.append(tuple(int(method) for method in order[start:end]))
            covered = end
    return found
