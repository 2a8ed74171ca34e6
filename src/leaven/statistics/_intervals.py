"""Intervals for shares and for differences of shares, from few rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error and its confidence interval.

    Parameters
    ----------
    value : float
    se : float
        Standard error.
    low, high : float
        Ends of the interval, which need not be symmetric about ``value``.
    """

    value: float
    se: float
    low: float
    high: float


def wilson_interval(successes: float, n: float, *, confidence: float = 0.95) -> tuple[float, float]:
    r"""Wilson's score interval of a share.

    .. math:: \frac{s + z^2/2}{n + z^2} \pm
              \frac{z}{n + z^2} \sqrt{\frac{s (n - s)}{n} + \frac{z^2}{4}}

    Unlike the interval of the normal distribution it stays within 0 and 1, and has a width
    where all of few trials agree [1]_.

    Parameters
    ----------
    successes : float
        May be a fraction: weights, or means over repeats, count as parts of a trial.
    n : float
        Trials.
    confidence : float, default=0.95

    Returns
    -------
    low, high : float

    References
    ----------
    .. [1] L. D. Brown, T. T. Cai and A. DasGupta, "Interval estimation for a binomial
       proportion", Statistical Science 16, 2001.

    Examples
    --------
    >>> from leaven.statistics import wilson_interval
    >>> [round(end, 3) for end in wilson_interval(15, 20)]
    [0.531, 0.888]
    """
    if not n > 0:
        raise ValueError(f"n must be positive, got {n}: without a trial there is no interval.")
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie between 0 and n = {n}, got {successes}.")
    z = _quantile(confidence)
    center = (successes + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * np.sqrt(successes * (n - successes) / n + z**2 / 4)
    # At the ends the formula gives 0 and 1 but for rounding.
    low = 0.0 if successes == 0 else max(0.0, float(center - half))
    high = 1.0 if successes == n else min(1.0, float(center + half))
    return low, high


def estimate_share(right: NDArray[np.float64], *, confidence: float = 0.95) -> Estimate:
    r"""Estimate an accuracy from the share of repeats in which each row was right.

    With n rows and shares :math:`a_i`, one row that was right and one that was wrong are
    added for the error and the interval (the mean is reported as it is):

    .. math:: s^2 = \frac{1}{(n + 2)^2}
              \Big(\sum_i a_i^2 + 1 - \frac{(\sum_i a_i + 1)^2}{n + 2}\Big)

    Without them four rows, all right, would have an error of zero. For shares of 0 and 1 this
    is the interval of Agresti and Coull (1998) with two rows added.

    Parameters
    ----------
    right : ndarray of shape (n_rows,)
    confidence : float, default=0.95

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.statistics import estimate_share
    >>> found = estimate_share(np.ones(4))
    >>> found.value, round(found.se, 4), round(found.low, 3), found.high
    (1.0, 0.1521, 0.535, 1.0)
    """
    n, total, squares = len(right), float(right.sum()), float((right**2).sum())
    left = squares + 1 - (total + 1) ** 2 / (n + 2)
    return _around(total / n, (total + 1) / (n + 2), left, n + 2, (0, 1), confidence)


def estimate_difference(difference: NDArray[np.float64], *, confidence: float = 0.95) -> Estimate:
    r"""Estimate the difference of two accuracies from the paired differences of the rows.

    To the table of rows that both, one, the other or none classified correctly, half a row is
    added in each cell, as Agresti and Min (2005) do for matched pairs; with the differences
    :math:`d_i` of the shares

    .. math:: s^2 = \frac{1}{(n + 2)^2}
              \Big(\sum_i d_i^2 + 1 - \frac{(\sum_i d_i)^2}{n + 2}\Big).

    Parameters
    ----------
    difference : ndarray of shape (n_rows,)
        Between -1 and 1.
    confidence : float, default=0.95

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.statistics import estimate_difference
    >>> found = estimate_difference(np.array([0.5, 0.5, 0.5, 0.5]))
    >>> found.value, round(found.se, 4), round(found.low, 3), round(found.high, 3)
    (0.5, 0.1925, -0.044, 0.711)
    """
    n, total, squares = len(difference), float(difference.sum()), float((difference**2).sum())
    left = squares + 1 - total**2 / (n + 2)
    return _around(total / n, total / (n + 2), left, n + 2, (-1, 1), confidence)


def estimate_from_folds(
    scores: NDArray[np.float64], n_splits: int, *, confidence: float = 0.95
) -> Estimate:
    r"""Estimate a mean score, or a mean difference, from the scores of repeated folds.

    For scores that are no mean over rows. The folds share their training rows, which the
    corrected resampled variance of Nadeau and Bengio (2003) accounts for: with J scores of
    variance :math:`S^2` from k folds

    .. math:: s^2 = \Big(\frac{1}{J} + \frac{1}{k - 1}\Big) S^2 .

    Parameters
    ----------
    scores : ndarray of shape (n_scores,)
    n_splits : int
        Folds of one repeat.
    confidence : float, default=0.95
        Of Student's t with J - 1 degrees of freedom.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.statistics import estimate_from_folds
    >>> found = estimate_from_folds(np.array([0.5, 0.7, 0.6, 0.6]), n_splits=2)
    >>> round(found.value, 3), round(found.se, 4)
    (0.6, 0.0913)
    """
    n = len(scores)
    value = float(scores.mean())
    se = float(np.sqrt((1 / n + 1 / (n_splits - 1)) * scores.var(ddof=1)))
    width = float(stats.t.ppf((1 + confidence) / 2, n - 1)) * se
    return Estimate(value, se, value - width, value + width)


def _around(
    value: float,
    center: float,
    squares: float,
    n: int,
    bounds: tuple[float, float],
    confidence: float,
) -> Estimate:
    z = _quantile(confidence)
    se = float(np.sqrt(max(squares, 0.0)) / n)
    low, high = np.clip([center - z * se, center + z * se], *bounds)
    return Estimate(value, se, float(low), float(high))


def _quantile(confidence: float) -> float:
    if not 0.0 < confidence < 1.0:
        raise ValueError(
            f"confidence must be a probability between 0 and 1, such as 0.95, got {confidence}."
        )
    return float(stats.norm.ppf((1 + confidence) / 2))
