"""The recalibration by ranks of many fits at once, for two classes.

:class:`leaven.generative.RankSigmoid` does the same for one fit. Here rows that are alike come
as one row with a weight, and the shifts of all fits are found side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

DIGITS = 9
"""Log-odds that agree to so many decimals are ties, whatever rounding makes of them."""

NEWTON_STEPS = 60


@dataclass(frozen=True)
class RankSigmoids:
    """Slope of each of T fits, and the wanted share of the second class; None keeps the mean.

    With ``mean_is_position`` the position β of the sigmoid is the mean itself, and the new mean
    is whatever comes out: the other reading of section 5.4.2.
    """

    slope: NDArray[np.float64]
    share: float | None = None
    mean_is_position: bool = False

    def take(self, which: Any) -> RankSigmoids:
        """Those of some fits."""
        return RankSigmoids(self.slope[which], self.share, self.mean_is_position)

    def transform(
        self, log_odds: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Recalibrated probabilities of the second class.

        Parameters
        ----------
        log_odds : array of shape (n_rows, T)
            Of the second class against the first.
        weights : array of shape (n_rows, T)
            How many unlabeled rows are like this one.

        Returns
        -------
        q : ndarray of shape (n_rows, T)
        """
        total = weights.sum(axis=0)
        share = np.sum(weights * expit(log_odds), axis=0) / total
        if self.share is not None:
            share = np.full(len(total), self.share)
        slopes = self.slope * weighted_ranks(log_odds.round(DIGITS), weights) / total
        if self.mean_is_position:
            return np.asarray(expit(slopes - self.slope * share))
        return np.asarray(
            expit(slopes + shifts(slopes, weights / total, np.clip(share, 1e-12, 1 - 1e-12)))
        )


def weighted_ranks(
    values: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Rank in each column, ties at their mean rank, where a row counts ``weights`` times.

    Examples
    --------
    >>> import numpy as np
    >>> from studies.curve_ranks import weighted_ranks
    >>> values, weights = np.array([[5.0], [3.0], [5.0]]), np.array([[1.0], [2.0], [1.0]])
    >>> weighted_ranks(values, weights).ravel()  # of 3, 3, 5, 5
    array([3.5, 1.5, 3.5])
    """
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    weight = np.take_along_axis(weights, order, axis=0)
    upto = weight.cumsum(axis=0)
    first = np.ones(values.shape, dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    last = np.roll(first, -1, axis=0)
    last[-1] = True
    before = np.maximum.accumulate(np.where(first, upto - weight, 0.0), axis=0)
    after = np.minimum.accumulate(np.where(last, upto, np.inf)[::-1], axis=0)[::-1]
    ranks = np.empty_like(values)
    np.put_along_axis(ranks, order, (before + 1.0 + after) / 2.0, axis=0)
    return ranks


def shifts(
    slopes: NDArray[np.float64], weights: NDArray[np.float64], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The t of each column with ``sum_i w_i sigmoid(slopes_i + t) = share``.

    Newton's steps, and the middle of what is left where a step would leave it; the weights of
    a column sum to one.
    """
    # Every sigmoid is below the share at the one end and above it at the other.
    target = logit(share)
    low, high = target - slopes.max(axis=0), target - slopes.min(axis=0)
    t = target - (weights * slopes).sum(axis=0)
    for _ in range(NEWTON_STEPS):
        q = expit(slopes + t)
        excess = (weights * q).sum(axis=0) - share
        if np.abs(excess).max() <= 1e-13:
            break
        low, high = np.where(excess < 0, t, low), np.where(excess < 0, high, t)
        q *= 1.0 - q
        slope = (weights * q).sum(axis=0)
        new = t - excess / np.maximum(slope, 1e-300)
        t = np.where((new > low) & (new < high), new, (low + high) / 2.0)
    return np.asarray(t)
