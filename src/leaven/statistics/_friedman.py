"""Whether methods differ over data sets: Friedman with Iman-Davenport, Nemenyi."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from leaven.statistics._ranks import (
    check_alpha,
    critical_difference,
    groups_within,
    rank_rows,
    rank_standard_error,
)

# Share of untied ranks below which there are none: a hundred thousand times the rounding.
_NOTHING_LEFT = 1e-12

# Distance of chi2 from its largest value n (k - 1), per data set and method, that is rounding:
# any other set of ranks is at least 1 / (n k) away.
_AGREED = 1e-9


@dataclass(frozen=True)
class FriedmanResult:
    """What :func:`friedman_test` found.

    Parameters
    ----------
    chi2 : float
        Friedman's statistic.
    f : float
        The statistic of Iman and Davenport.
    p_value : float
        Of ``f``.
    p_value_chi2 : float
        Of ``chi2``.
    mean_ranks : ndarray or Series of shape (n_methods,)
        1 is the best; a Series with the names of the methods if they have names.
    n_datasets, n_methods : int
    """

    chi2: float
    f: float
    p_value: float
    p_value_chi2: float
    mean_ranks: Any
    n_datasets: int
    n_methods: int


@dataclass(frozen=True)
class NemenyiResult:
    """What :func:`nemenyi_test` found.

    Parameters
    ----------
    critical_difference : float
        Two methods differ if their mean ranks differ by this much or more.
    groups : list of tuple
        The maximal groups of methods that do not differ, best first: names, or column
        numbers if the methods have no names. One that differs from all others is alone.
    mean_ranks : ndarray or Series of shape (n_methods,)
    p_values : ndarray or DataFrame of shape (n_methods, n_methods)
    alpha : float
    n_datasets : int
    """

    critical_difference: float
    groups: list[tuple[Any, ...]]
    mean_ranks: Any
    p_values: Any
    alpha: float
    n_datasets: int


def friedman_test(
    scores: Any, higher_is_better: bool = False, *, tie_correction: bool = False
) -> FriedmanResult:
    """Friedman's test of whether some method differs from the others, over data sets.

    With the mean ranks ``R_j`` of k methods over n data sets,

    ``chi2 = 12 n / (k (k + 1)) (sum_j R_j^2 - k (k + 1)^2 / 4)``

    has about the chi-squared distribution with k - 1 degrees of freedom, and the less
    conservative statistic of Iman and Davenport

    ``F = (n - 1) chi2 / (n (k - 1) - chi2)``

    about the F distribution with k - 1 and (k - 1)(n - 1) [1]_ [2]_.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One score for each data set and method, such as the mean over trials. The columns of a
        DataFrame name the methods.
    higher_is_better : bool, default=False
        False for errors, True for accuracies.
    tie_correction : bool, default=False
        Ties have their average rank. False takes the formula above, as Demšar [1]_ does, which
        is conservative with ties; True divides chi2 by ``1 - sum(t^3 - t) / (n (k^3 - k))``
        over the ties of t methods, as :func:`scipy.stats.friedmanchisquare` does. Without
        ties both are the same.

    Returns
    -------
    result : FriedmanResult

    See Also
    --------
    nemenyi_test : Which methods differ.

    Notes
    -----
    If all data sets rank the methods alike F is infinite. The p-value is then the probability
    of such an agreement, ``(1 / k!)^(n - 1)`` without ties [3]_.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7,
       2006, section 3.2.2.
    .. [2] R. L. Iman and J. M. Davenport, "Approximations of the critical region of the
       Friedman statistic", Communications in Statistics A9, 1980.
    .. [3] W. J. Conover, "Practical Nonparametric Statistics", 3rd edition, 1999, section 5.8.
    .. [4] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 2.7.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.statistics import friedman_test
    >>> errors = pd.DataFrame(
    ...     {"NB": [0.3, 0.2, 0.4, 0.1], "EM": [0.2, 0.1, 0.5, 0.05], "SVM": [0.1, 0.15, 0.2, 0.02]}
    ... )
    >>> result = friedman_test(errors)
    >>> result.chi2, round(result.f, 3), round(result.p_value, 3)
    (4.5, 3.857, 0.084)
    >>> result.mean_ranks.to_dict()
    {'NB': 2.75, 'EM': 2.0, 'SVM': 1.25}
    """
    values, names = check_scores(scores)
    n, k = values.shape
    ranks = rank_rows(values, higher_is_better)
    mean_ranks = ranks.mean(axis=0)
    # sum (R - mean)^2 is the bracket of the formula, without its loss of digits.
    chi2 = 12.0 * n / (k * (k + 1)) * float(((mean_ranks - (k + 1) / 2.0) ** 2).sum())
    ties = [np.unique(row, return_counts=True)[1] for row in ranks]
    if tie_correction:
        tied = sum(float((t.astype(float) ** 3 - t).sum()) for t in ties)
        left = 1.0 - tied / (n * (k**3 - k))
        # All methods tied on every data set leave nothing but rounding.
        chi2 = chi2 / left if left > _NOTHING_LEFT else 0.0
    room = n * (k - 1) - chi2
    if room > _AGREED * n * k:
        f = (n - 1) * chi2 / room
        p_value = float(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))
    else:
        f = float("inf")
        arrangements = factorial(k)
        for count in ties[0]:
            arrangements //= factorial(int(count))
        p_value = float(arrangements) ** (1 - n)
    return FriedmanResult(
        chi2=chi2,
        f=f,
        p_value=p_value,
        p_value_chi2=float(stats.chi2.sf(chi2, k - 1)),
        mean_ranks=mean_ranks if names is None else pd.Series(mean_ranks, index=names),
        n_datasets=n,
        n_methods=k,
    )


def nemenyi_test(scores: Any, higher_is_better: bool = False, alpha: float = 0.05) -> NemenyiResult:
    """Nemenyi's test of which methods differ, over data sets.

    Two methods differ if their mean ranks differ by at least

    ``CD = q_alpha sqrt(k (k + 1) / (6 n))``,

    where ``q_alpha`` is the quantile of the studentized range of k values with infinite
    degrees of freedom, divided by sqrt(2) [1]_. It is computed and not looked up, for any
    number of methods and any level. Run it after :func:`friedman_test` has found a difference.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One score for each data set and method. The columns of a DataFrame name the methods.
    higher_is_better : bool, default=False
        False for errors, True for accuracies.
    alpha : float, default=0.05
        Probability that any of the pairs is found to differ if none does.

    Returns
    -------
    result : NemenyiResult

    See Also
    --------
    friedman_test : Whether some method differs.
    leaven.plotting.plot_critical_difference : The result as a figure.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7,
       2006, section 3.2.2.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.statistics import nemenyi_test
    >>> n = range(20)
    >>> errors = pd.DataFrame(
    ...     {"NB": [0.3 + i % 3 for i in n], "EM": [0.2 + i % 3 for i in n], "SVM": [1.25] * 20}
    ... )
    >>> result = nemenyi_test(errors)
    >>> round(result.critical_difference, 3)
    0.741
    >>> result.groups
    [('EM',), ('SVM', 'NB')]
    """
    check_alpha(alpha)
    values, names = check_scores(scores)
    n, k = values.shape
    mean_ranks = rank_rows(values, higher_is_better).mean(axis=0)
    difference = critical_difference(n, k, alpha)
    apart = np.abs(mean_ranks[:, None] - mean_ranks) / rank_standard_error(n, k)
    p_values = np.asarray(stats.studentized_range.sf(apart * np.sqrt(2.0), k, np.inf))
    p_values = np.clip(p_values, 0.0, 1.0)  # the tail comes from a numerical integral
    groups: list[tuple[Any, ...]] = list(groups_within(mean_ranks, difference))
    if names is None:
        return NemenyiResult(difference, groups, mean_ranks, p_values, alpha, n)
    return NemenyiResult(
        difference,
        [tuple(names[method] for method in group) for group in groups],
        pd.Series(mean_ranks, index=names),
        pd.DataFrame(p_values, index=names, columns=names),
        alpha,
        n,
    )


def check_scores(scores: Any) -> tuple[NDArray[np.float64], list[Any] | None]:
    """Return data sets × methods as floats, and the names of the methods if they have names."""
    names = list(scores.columns) if isinstance(scores, pd.DataFrame) else None
    try:
        values = np.asarray(scores, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "scores must be numbers of shape (n_datasets, n_methods). Give a tidy frame to "
            "summary_table first and take its means."
        ) from error
    if values.ndim != 2:
        raise ValueError(
            f"scores must have shape (n_datasets, n_methods), got shape {values.shape}."
        )
    n, k = values.shape
    if n < 2 or k < 2:
        raise ValueError(
            f"scores has {n} data sets (rows) and {k} methods (columns); the test needs at least "
            "two of each. Compare two methods on one data set by wilcoxon_test over trials."
        )
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        where = f"row {row}, column {int(column) if names is None else names[column]!r}"
        raise ValueError(
            f"scores holds {values[row, column]} at {where}. Leave data sets out that a method "
            "did not finish, or leave the method out."
        )
    return values, names
