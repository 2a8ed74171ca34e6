"""The recalibration by ranks of many fits at once, for two classes.

:class:`leaven.generative.RankSigmoid` does the same for one fit. Here rows that are alike come
as one row with a weight, and the shifts of all fits are found side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from studies.curve_kernels import compiled

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
        self, log_odds: NDArray[np.float64], weights: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Recalibrated probabilities of the second class.

        Parameters
        ----------
        log_odds : array of shape (T, n_rows)
            Of the second class against the first; one fit after the other in memory, where a
            sort of neighbors is five times as fast.
        weights : array of shape (T, n_rows)
            How many unlabeled rows are like this one.

        Returns
        -------
        q : ndarray of shape (T, n_rows)
        """
        total = weights.sum(axis=1, keepdims=True, dtype=np.float64)
        if self.share is None:
            share = sigmoid_sums(log_odds, weights) / total
        else:
            share = np.full(total.shape, self.share)
        slope = self.slope[:, None]
        slopes = weighted_ranks(log_odds, weights)
        slopes *= slope / total
        if self.mean_is_position:
            slopes -= slope * share
        else:
            slopes += shifts(slopes, weights / total, np.clip(share, 1e-12, 1 - 1e-12))
        return sigmoid(slopes)


def sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``1 / (1 + exp(-x))`` to within 1e-16, which is all that sums of them need.

    By NumPy it is three times as fast as :func:`scipy.special.expit`, which is as good relative
    to the smallest values.
    """
    fast = compiled()
    if fast is not None:
        result = x.copy()
        fast.sigmoid(result)
        return result
    result = np.tanh(0.5 * x)
    result += 1.0
    result *= 0.5
    return result


def sigmoid_sums(x: NDArray[np.float64], weights: NDArray[Any]) -> NDArray[np.float64]:
    """``Σ_j w_ij sigmoid(x_ij)``, as a column."""
    fast = compiled()
    if fast is not None:
        sums = np.empty(len(x))
        fast.sigmoid_sums(x, weights, sums)
        return sums[:, None]
    return np.asarray(np.einsum("ij,ij->i", weights, sigmoid(x)))[:, None]


def weighted_ranks(values: NDArray[np.float64], weights: NDArray[Any]) -> NDArray[np.float64]:
    """Rank in each row, ties at their mean rank, where a value counts ``weights`` times.

    Examples
    --------
    >>> import numpy as np
    >>> from studies.curve_ranks import weighted_ranks
    >>> values, weights = np.array([[5.0, 3.0, 5.0]]), np.array([[1.0, 2.0, 1.0]])
    >>> weighted_ranks(values, weights)  # of 3, 3, 5, 5
    array([[3.5, 1.5, 3.5]])
    """
    n_fits, n = values.shape
    bits, fast = max(n - 1, 1).bit_length(), compiled()
    if fast is not None and _fits_beside_place(values, bits):
        keys, ranks = np.empty(values.shape, dtype=np.int64), np.empty(values.shape)
        fast.sort_keys(values, 10.0**DIGITS, bits, keys)
        keys.sort(axis=1)
        fast.ranks_of_sorted(keys, bits, weights, ranks)
        return ranks
    order, first = sorted_with_ties(values)
    flat = order + n * np.arange(n_fits)[:, None]
    weight = np.take(weights.ravel(), flat)
    upto = weight.cumsum(axis=1).ravel()
    before = upto - weight.ravel()
    # Values that are equal have the mean of the ranks from the first of them to the last.
    if first.all():
        mean = before + upto
    else:
        starts = np.flatnonzero(first)
        lengths = np.diff(starts, append=first.size)
        mean = np.repeat(before[starts] + upto[starts + lengths - 1], lengths)
    mean += 1.0
    mean *= 0.5
    ranks = np.empty(values.shape)
    ranks.ravel()[flat.ravel()] = mean
    return ranks


def sorted_with_ties(values: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Order of each row, and where a value is the first of its equals in that order.

    Values are equal if they agree to ``DIGITS`` decimals. Value and place are one integer, where
    they fit into it: a sort of integers takes a third of the time of an ``argsort``.
    """
    n = values.shape[1]
    bits = max(n - 1, 1).bit_length()
    first = np.ones(values.shape, dtype=bool)
    if _fits_beside_place(values, bits):
        scaled = values * 10.0**DIGITS
        keys = np.rint(scaled, out=scaled).astype(np.int64)
        keys <<= bits
        keys |= np.arange(n)
        keys.sort(axis=1)
        order = keys & ((1 << bits) - 1)
        keys >>= bits
        first[:, 1:] = keys[:, 1:] != keys[:, :-1]
        return order, first
    rounded = values.round(DIGITS)
    order = np.argsort(rounded, axis=1)
    ordered = np.take_along_axis(rounded, order, axis=1)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return order, first


def _fits_beside_place(values: NDArray[np.float64], bits: int) -> bool:
    """Whether rounded values leave so many bits of an integer for a place."""
    return bool(max(values.max(), -values.min()) * 10.0**DIGITS < 2.0 ** (62 - bits))


def shifts(
    slopes: NDArray[np.float64], weights: NDArray[np.float64], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The t of each row with ``sum_i w_i sigmoid(slopes_i + t) = share``, as a column.

    Newton's steps, and the middle of what is left where a step would leave it; the weights of
    a row sum to one.
    """
    # Every sigmoid is below the share at the one end and above it at the other.
    target = logit(share)
    low = target - slopes.max(axis=1, keepdims=True)
    high = target - slopes.min(axis=1, keepdims=True)
    t = target - np.einsum("ij,ij->i", weights, slopes)[:, None]
    fast = compiled()
    if fast is not None:
        ends = low[:, 0], high[:, 0]
        fast.shifts(slopes, weights, share[:, 0], t[:, 0], *ends, NEWTON_STEPS)
        return np.asarray(t)
    for _ in range(NEWTON_STEPS):
        q = sigmoid(slopes + t)
        excess = np.einsum("ij,ij->i", weights, q)[:, None] - share
        if np.abs(excess).max() <= 1e-13:
            break
        low, high = np.where(excess < 0, t, low), np.where(excess < 0, high, t)
        q *= 1.0 - q
        slope = np.einsum("ij,ij->i", weights, q)[:, None]
        new = t - excess / np.maximum(slope, 1e-300)
        t = np.where((new > low) & (new < high), new, (low + high) / 2.0)
    return np.asarray(t)
