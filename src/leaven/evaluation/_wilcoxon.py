"""Wilcoxon's signed rank test: two methods, over trials or over data sets."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from leaven.evaluation._trial_scores import trial_scores
from leaven.solvers._ranks import check_alpha, drop_rounding_noise

EXACT_LIMIT = 50
"""Up to this many differences that are not zero the Wilcoxon test is exact."""
ZEROS = ("split", "drop")
ALL_DATASETS = "all data sets"


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


def signed_rank_p_value(ranks: NDArray[np.float64], rank_sum: float) -> tuple[float, bool]:
    """Two-sided p-value of a sum of ranks, each of which counts with probability 1/2.

    Exact for up to ``EXACT_LIMIT`` ranks, with ties too: midranks are multiples of one half,
    so that twice the sum is an integer whose distribution is a product of polynomials.
    scipy's choice of method differs between its versions, and the older ones have no exact
    p-value with ties.

    Parameters
    ----------
    ranks : ndarray of shape (n_ranks,)
        Midranks of the differences that are not zero.
    rank_sum : float
        Sum of those that belong to positive differences.

    Returns
    -------
    p_value : float
    exact : bool
    """
    if len(ranks) == 0:
        return 1.0, True
    if len(ranks) > EXACT_LIMIT:
        z = (rank_sum - ranks.sum() / 2.0) / np.sqrt((ranks**2).sum() / 4.0)
        return float(2.0 * stats.norm.sf(abs(z))), False
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
    wilcoxon_table : Every pair of methods on every data set of a study.
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
    >>> from leaven.evaluation import wilcoxon_test
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
    p_value, exact = signed_rank_p_value(ranks[signs != 0], positive)
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


def wilcoxon_table(
    frame: pd.DataFrame,
    *,
    value: str | None = None,
    higher_is_better: bool = False,
    alpha: float = 0.05,
    zeros: str = "split",
) -> pd.DataFrame:
    """Test every pair of methods on every data set over trials, and over the data sets.

    Parameters
    ----------
    frame : DataFrame
        Tidy results: the columns ``method``, ``trial`` and a score, and ``dataset`` if there
        are several. With several ``n_labeled`` a trial the score is the area under its
        learning curve.
    value : str, optional
        Name of the score; see :func:`summary_table`.
    higher_is_better : bool, default=False
    alpha : float, default=0.05
    zeros : {"split", "drop"}, default="split"
        As in :func:`wilcoxon_test`.

    Returns
    -------
    table : DataFrame
        One row a data set and pair, with the columns ``dataset``, ``method_a``, ``method_b``,
        ``mean_a``, ``mean_b``, ``n_pairs``, ``statistic``, ``p_value``, ``direction``,
        ``better``: the names of the method with the better ranks, and of the one that is
        better at the level ``alpha``, or an empty string. With several data sets the rows
        "all data sets" compare the means of every data set. Trials that one of the two methods
        did not finish are left out; a pair without a common trial has no row.

    See Also
    --------
    wilcoxon_test : The test of one pair.
    summary_table : The same verdicts as bold and italic type.

    Notes
    -----
    The p-values are not corrected for the number of pairs. Trials that draw from the same rows
    are not independent, and the test over them is too sure of itself; what it says is about
    this data set and not about others.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.evaluation import wilcoxon_table
    >>> frame = pd.DataFrame({
    ...     "method": ["NB"] * 6 + ["SSNB"] * 6,
    ...     "trial": [*range(6), *range(6)],
    ...     "error": [0.30, 0.28, 0.31, 0.33, 0.27, 0.29, 0.25, 0.26, 0.27, 0.26, 0.24, 0.28],
    ... })
    >>> wilcoxon_table(frame)[["method_a", "method_b", "p_value", "better"]]
      method_a method_b  p_value better
    0       NB     SSNB  0.03125   SSNB
    """
    scores = trial_scores(frame, value)
    options: dict[str, Any] = {"higher_is_better": higher_is_better, "alpha": alpha, "zeros": zeros}
    samples = [(name, group.droplevel("dataset")) for name, group in _by_dataset(scores)]
    if len(samples) > 1:
        means = pd.DataFrame({name: group.mean() for name, group in samples}).T
        samples.append((ALL_DATASETS, means[scores.columns]))
    rows = []
    for dataset, group in samples:
        for a, b in itertools.combinations(scores.columns, 2):
            both = group[[a, b]].dropna()
            if both.empty:
                continue
            result = wilcoxon_test(both[a], both[b], **options)
            names = {"a": a, "b": b, "none": ""}
            rows.append(
                {
                    "dataset": dataset,
                    "method_a": a,
                    "method_b": b,
                    "mean_a": both[a].mean(),
                    "mean_b": both[b].mean(),
                    "n_pairs": result.n_pairs,
                    "statistic": result.statistic,
                    "p_value": result.p_value,
                    "direction": names[result.direction],
                    "better": names[result.verdict],
                }
            )
    if not rows:
        raise ValueError(
            f"frame has nothing to compare: methods {list(scores.columns)} in "
            f"{len(scores)} trials. Give at least two methods with a common trial."
        )
    return pd.DataFrame(rows)


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
                f"{name} must be one score a trial or data set, of shape (n_pairs,), got shape "
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


def _by_dataset(scores: pd.DataFrame) -> list[tuple[Any, pd.DataFrame]]:
    return list(scores.groupby(level="dataset", sort=False))
