"""Selection bias: the best of several was chosen by the scores that are reported for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Variance of mean scores that is rounding: the square of 1e-12, scores being of the size of 1.
_NO_SPREAD = 1e-24


def shrinkage_share(results: NDArray[np.float64], n_splits: int | None = None) -> float:
    r"""Share of what sets methods apart that chance explains.

    If all methods were equally good, the variance of their mean scores would be that of
    chance, :math:`v`, which their rows tell; it is :math:`s^2`. Then
    :math:`\lambda = \min(1, v / s^2)`, which is 1 / F of the analysis of variance with rows as
    blocks [1]_.

    Parameters
    ----------
    results : ndarray of shape (n_methods, n_rows)
        Or one number per fold.
    n_splits : int, optional
        Folds of one repeat, if the results are those of folds, which share training rows: the
        variance of a mean is then that of Nadeau and Bengio (2003).

    Returns
    -------
    float
        0 where nothing sets them apart, or with a single row: there is nothing to take off.

    References
    ----------
    .. [1] B. Efron and C. Morris, "Data analysis using Stein's estimator and its
       generalizations", Journal of the American Statistical Association 70, 1975.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.statistics import shrinkage_share
    >>> apart = np.array([[1, 1, 1, 0, 1, 1, 1, 1], [0, 0, 0, 1, 0, 0, 0, 0.0]])
    >>> round(shrinkage_share(apart), 4)
    0.1111
    """
    n_methods, n = results.shape
    apart = results - results.mean(axis=0)
    spread = float(apart.mean(axis=1).var(ddof=1)) if n_methods > 1 else 0.0
    if n == 1 or spread <= _NO_SPREAD:
        return 0.0
    per_mean = 1 / n if n_splits is None else 1 / n + 1 / (n_splits - 1)
    chance = float(apart.var(axis=1, ddof=1).sum()) / (n_methods - 1) * per_mean
    return float(min(1.0, chance / spread))


def shrink_best(
    results: NDArray[np.float64], best: int, n_splits: int | None = None
) -> NDArray[np.float64]:
    r"""Results of the best method, drawn towards the mean of all to remove selection bias.

    The score of the best of several is too good: the rows that favored it made it the best. Of
    what sets it apart from the mean of all, the share :math:`\lambda` that chance explains
    (:func:`shrinkage_share`) is taken off:

    .. math:: (1 - \lambda) \, a_{\text{best}} + \lambda \, \bar a .

    Parameters
    ----------
    results : ndarray of shape (n_methods, n_rows)
        Or one number per fold.
    best : int
        Place of the best method.
    n_splits : int, optional
        Folds of one repeat, if the results are those of folds.

    Returns
    -------
    ndarray of shape (n_rows,)

    Examples
    --------
    Two methods that guess: chance explains all of the lead of the first.

    >>> import numpy as np
    >>> from leaven.statistics import shrink_best
    >>> guesses = np.array([[1, 1, 1, 0, 1, 0, 1, 1], [0, 1, 0, 1, 0, 1, 1, 0.0]])
    >>> guesses.mean(axis=1), float(shrink_best(guesses, 0).mean())
    (array([0.75, 0.5 ]), 0.625)
    """
    share = shrinkage_share(results, n_splits)
    if share == 0.0:
        return np.asarray(results[best])
    return np.asarray(share * results.mean(axis=0) + (1.0 - share) * results[best])
