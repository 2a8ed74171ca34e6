"""Wilcoxon's signed rank test: two methods, over trials or over data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from leaven.statistics._ranks import check_alpha, drop_rounding_noise

# Differences that are not zero, at most, for which the p-value is exact: the limit at which
# scipy goes over to the normal distribution, which is then right to three digits.
EXACT_LIMIT = 50

ZEROS = ("split", "drop")


@dataclass(frozen=True)
class WilcoxonResult:
    """What :func:`wilcoxon_test` found.

    Parameters
    ----------
    statistic : float
        The smaller one of the two rank sums, ``T = min(R+, R-)``.
    p_value : float
        Two-sided.
    direction : {"a", "b", "none"}
        The side with the better ranks, significant or not.
    verdict : {"a", "b", "none"}
        The side that is better at the level ``alpha``.
    positive_rank_sum, negative_rank_sum : float
        ``R+`` and ``R-``: rank sums of the positive and the negative ``a - b``.
    n_pairs, n_zeros : int
        Number of pairs, and of the pairs without a difference.
    alpha : float
    exact : bool
        Whether the p-value is from the exact distribution or from the normal one.
    """

    statistic: float
    p_value: float
    direction: str
    verdict: str
    positive_rank_sum: float
    negative_rank_sum: float
    n_pairs: int
    n_zeros: int
    alpha: float
    exact: bool


def signed_rank_p_value(signed_ranks: NDArray[np.float64]) -> tuple[float, bool]:
    """Two-sided p-value of signed ranks, each of whose signs has probability 1/2.

    With at most ``EXACT_LIMIT`` ranks it is exact: by :func:`scipy.stats.wilcoxon` where the
    ranks are 1 .. n, and otherwise from the distribution of the sum of these very ranks, for
    which scipy has the normal approximation only.

    Parameters
    ----------
    signed_ranks : ndarray of shape (n_ranks,)
        Midranks of the differences that are not zero, with the signs of the differences.

    Returns
    -------
    p_value : float
    exact : bool
    """
    n = len(signed_ranks)
    ranks = np.abs(signed_ranks)
    rank_sum = float(ranks[signed_ranks > 0].sum())
    if n == 0:
        return 1.0, True
    if n > EXACT_LIMIT:
        z = (rank_sum - ranks.sum() / 2.0) / np.sqrt((ranks**2).sum() / 4.0)
        return float(2.0 * stats.norm.sf(abs(z))), False
    if np.array_equal(np.sort(ranks), np.arange(1, n + 1)):
        return float(stats.wilcoxon(signed_ranks, method="exact").pvalue), True
    # Midranks are multiples of one half, so that twice the sum is an integer whose
    # distribution is a product of polynomials.
    doubled = np.round(2.0 * ranks).astype(int)
    probability = np.zeros(doubled.sum() + 1)
    probability[0] = 1.0
    for rank in doubled:
        shifted = np.zeros_like(probability)
        shifted[rank:] = probability[: len(probability) - rank]
        probability = (probability + shifted) / 2.0
    at = round(2.0 * rank_sum)
    tail = min(probability[: at + 1].sum(), probability[at:].sum())
    return min(1.0, float(2.0 * tail)), True


def wilcoxon_test(
    a: Any,
    b: Any,
    *,
    higher_is_better: bool = False,
    alpha: float = 0.05,
    zeros: str = "split",
) -> WilcoxonResult:
    """Wilcoxon's signed rank test of two methods, over trials or over data sets.

    The differences ``d = a - b`` are ranked by their size, ties by the average rank. ``R+`` and
    ``R-`` are the rank sums of the positive and the negative ones, and the smaller one is the
    statistic [1]_ [2]_. Two-sided. The p-value is exact with up to 50 differences that are not
    zero, also with ties, and comes from the normal distribution (with the variance of the
    tied ranks, no continuity correction) beyond.

    Parameters
    ----------
    a, b : array-like of shape (n_pairs,)
        Scores of the two methods on the same trials, or on the same data sets. Two pandas
        Series are paired by their index.
    higher_is_better : bool, default=False
        False for errors, True for accuracies. Decides ``direction`` and ``verdict`` alone.
    alpha : float, default=0.05
        Level of the verdict.
    zeros : {"split", "drop"}, default="split"
        Pairs without a difference are ranked with the others and half of their ranks are
        added to each side, as Demšar [2]_ does, or are left out before ranking, as Wilcoxon
        did. Only the other pairs are random under the null hypothesis. An odd zero is
        split too, where Demšar leaves it out.

    Returns
    -------
    result : WilcoxonResult

    See Also
    --------
    leaven.evaluation.wilcoxon_table : Every pair of methods on every data set of a study.
    friedman_test : More than two methods.

    References
    ----------
    .. [1] F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1,
       1945.
    .. [2] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7,
       2006, section 3.1.3.
    .. [3] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 2.7.

    Examples
    --------
    >>> from leaven.statistics import wilcoxon_test
    >>> result = wilcoxon_test(
    ...     [0.21, 0.30, 0.25, 0.28, 0.22, 0.31, 0.27], [0.18, 0.29, 0.19, 0.24, 0.22, 0.26, 0.25]
    ... )
    >>> result.statistic, result.p_value, result.verdict
    (0.5, 0.03125, 'b')
    """
    check_alpha(alpha)
    if zeros not in ZEROS:
        raise ValueError(f"zeros must be one of {ZEROS}, got {zeros!r}.")
    first, second = _pairs(a, b)
    size = max(np.abs(first).max(), np.abs(second).max())
    difference = drop_rounding_noise(first - second, size)
    nonzero = difference != 0
    ranked = difference[nonzero] if zeros == "drop" else difference
    ranks = np.asarray(stats.rankdata(np.abs(ranked)))
    signs = np.sign(ranked)
    positive = float(ranks[signs > 0].sum())
    negative = float(ranks[signs < 0].sum())
    half = float(ranks[signs == 0].sum()) / 2.0
    p_value, exact = signed_rank_p_value((signs * ranks)[signs != 0])
    direction = "none"
    if positive != negative:
        direction = "a" if (positive > negative) == higher_is_better else "b"
    return WilcoxonResult(
        statistic=min(positive, negative) + half,
        p_value=p_value,
        direction=direction,
        verdict=direction if p_value <= alpha else "none",
        positive_rank_sum=positive + half,
        negative_rank_sum=negative + half,
        n_pairs=len(difference),
        n_zeros=int(np.sum(~nonzero)),
        alpha=alpha,
        exact=exact,
    )


def _pairs(a: Any, b: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Check the two samples of a paired test."""
    if isinstance(a, pd.Series) and isinstance(b, pd.Series) and not a.index.equals(b.index):
        if not (a.index.is_unique and b.index.is_unique and set(a.index) == set(b.index)):
            raise ValueError(
                "a and b are Series with different index, so that their values cannot be "
                "paired. Give both the same trials or data sets, each once."
            )
        b = b.reindex(a.index)
    pair = []
    for name, values in (("a", a), ("b", b)):
        array = np.asarray(values, dtype=float)
        if array.ndim != 1 or array.size == 0:
            raise ValueError(
                f"{name} must be one score per trial or data set, of shape (n_pairs,), got shape "
                f"{array.shape}."
            )
        if not np.isfinite(array).all():
            raise ValueError(
                f"{name} holds NaN or infinity at position {np.argmin(np.isfinite(array))}. "
                "Leave the pair out."
            )
        pair.append(array)
    if len(pair[0]) != len(pair[1]):
        raise ValueError(
            f"a has {len(pair[0])} scores and b has {len(pair[1])}; the test compares pairs."
        )
    return pair[0], pair[1]
