"""Recalibration of class probabilities between the E-step and the M-step.

A naive Bayes model whose features are not independent is overconfident: its class
probabilities crowd at 0 and 1, and their mean is off the class proportion. Saeed (2018,
chapter 5) puts a monotone map between the E-step and the M-step. After such a map the
objective of EM is no longer sure to grow.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, log_expit, logsumexp, softmax
from sklearn.base import BaseEstimator

from leaven._compat import Interval, StrOptions, validate_params_of

# Keeps the logarithm of a probability that has underflowed finite.
_TINY = 1e-300


def shift_to_mean(
    logits: NDArray[np.float64],
    target: NDArray[np.float64],
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Add one number to each column of ``logits`` so that the softmax has the mean ``target``.

    Finds t with ``mean_i softmax(logits_i + t) = target``: the minimum of the convex function
    ``mean_i logsumexp(logits_i + t) - target · t``, by Newton steps with damping.

    Parameters
    ----------
    logits : array of shape (n_rows, n_classes)
        Finite.
    target : array of shape (n_classes,)
        Non-negative, sums to one. A column with target 0 becomes 0.
    weights : array of shape (n_rows,), default=None
        Of the rows in the mean.

    Returns
    -------
    probabilities : ndarray of shape (n_rows, n_classes)
    """
    wanted = target > 0
    if not wanted.all():
        result = np.zeros_like(logits)
        if wanted.sum() == 1:
            result[:, wanted] = 1.0
        else:
            rest = target[wanted] / target[wanted].sum()
            columns = np.ascontiguousarray(logits[:, wanted])
            result[:, wanted] = shift_to_mean(columns, rest, weights)
        return result
    if logits.shape[1] == 2:
        log_odds = logits[:, 1] - logits[:, 0]
        log_odds += _odds_shift(log_odds, np.log(target[1]) - np.log(target[0]), weights)
        return np.column_stack([expit(-log_odds), expit(log_odds)])
    shift = _newton_shift(logits, target, weights)
    return np.asarray(softmax(logits + shift, axis=1))


def _odds_shift(
    log_odds: NDArray[np.float64], logit: float, weights: NDArray[np.float64] | None
) -> float:
    """Two classes: t such that ``sigmoid(log_odds + t)`` has the mean ``sigmoid(logit)``."""
    # Every sigmoid is below the target at the one end and above it at the other.
    low, high = float(logit - log_odds.max()), float(logit - log_odds.min())

    def excess(t: float) -> float:
        # Of the rarer class, which has all its digits.
        if logit < 0:
            return float(np.average(expit(log_odds + t), weights=weights) - expit(logit))
        return float(expit(-logit) - np.average(expit(-log_odds - t), weights=weights))

    if excess(low) >= 0:
        return low
    if excess(high) <= 0:
        return high
    return float(brentq(excess, low, high, xtol=1e-13, rtol=1e-14))


def _newton_shift(
    logits: NDArray[np.float64],
    target: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    share = np.ones(len(logits)) if weights is None else weights
    share = (share / share.sum())[:, None]

    def value(t: NDArray[np.float64]) -> float:
        return float(share[:, 0] @ logsumexp(logits + t, axis=1) - target @ t)

    # One step of proportional fitting, in logarithms, gives the right order of magnitude.
    log_rows = logits - logsumexp(logits, axis=1, keepdims=True)
    shift = np.log(target) - logsumexp(log_rows, axis=0, b=share)
    current = value(shift)
    damping = 1e-6
    for _ in range(500):
        q = softmax(logits + shift, axis=1)
        mean = (share * q).sum(axis=0)
        gradient = mean - target
        if np.abs(gradient).max() <= 1e-12:
            break
        hessian = np.diag(mean) - (share * q).T @ q
        while damping < 1e12:
            # A shift common to all columns changes nothing: the damping also fixes that.
            step = np.linalg.solve(hessian + damping * np.eye(len(target)), -gradient)
            trial = value(shift + step)
            if trial <= current + 1e-15 * abs(current):
                break
            damping *= 10
        else:
            break
        # Falls faster than it rises, so that Newton's full steps are back after one bad region.
        shift, current, damping = shift + step, trial, max(damping / 30, 1e-13)
    return np.asarray(shift)


def rank_rows(
    q: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Rank each column of ``q`` from 1 (least probable) to n, ties at their mean rank.

    Entries that have rounded to the same number, such as 1.0, are told apart by the sum of the
    other columns, which then still has all its digits. A row of weight w ranks as w equal rows.
    """
    ranks = np.empty(q.shape)
    own = np.ones(len(q)) if weights is None else weights
    for column in range(q.shape[1]):
        key, rest = q[:, column], np.delete(q, column, axis=1).sum(axis=1)
        # The more is left for the others, the less probable: a larger rest ranks lower.
        order = np.lexsort((-rest, key))
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(key[order]) != 0) | (np.diff(rest[order]) != 0)
        group = np.cumsum(new) - 1
        tied = np.add.reduceat(own[order], np.flatnonzero(new))
        below = np.cumsum(tied) - tied
        ranks[order, column] = (below + (tied + 1) / 2.0)[group]
    return ranks


def _target(
    mean: Any, q: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    if isinstance(mean, str):
        if mean == "kept":
            target = np.average(q, axis=0, weights=weights)
            return np.asarray(target / target.sum())
        raise ValueError(
            "mean='labeled' takes the proportions of the labeled rows, which a classifier "
            "knows in fit and transform alone does not. Give mean=array of proportions."
        )
    target = np.asarray(mean, dtype=np.float64)
    if target.shape != (q.shape[1],):
        raise ValueError(
            f"mean has shape {target.shape}, but there are {q.shape[1]} classes: give one "
            "proportion a class, in the order of classes_."
        )
    if not np.isfinite(target).all() or (target < 0).any() or abs(target.sum() - 1) > 1e-3:
        raise ValueError(f"mean={target.tolist()} must be proportions that sum to 1.")
    return np.asarray(target / target.sum())


def _check_responsibilities(responsibilities: Any) -> NDArray[np.float64]:
    q = np.asarray(responsibilities, dtype=np.float64)
    if q.ndim != 2 or q.shape[1] < 2 or not len(q):
        raise ValueError(
            f"responsibilities have shape {q.shape}; a matrix of rows and classes is needed, with "
            "a column for each of at least two classes."
        )
    return q


def _check_weights(sample_weight: Any, q: NDArray[np.float64]) -> NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (len(q),) or not np.isfinite(weights).all() or (weights <= 0).any():
        raise ValueError(
            f"sample_weight has shape {weights.shape}; give one positive finite number for each "
            f"of the {len(q)} rows."
        )
    return weights


class LogOdds(BaseEstimator):
    """Shift the log-odds of the class probabilities: Saeed (2018), algorithm 5.

    ``r = log(q / (1 - q))`` is scaled and shifted, and turned back by the sigmoid
    ``q = 1 / (1 + exp(-(scale r + b)))``. The shift b gives the probabilities the wanted mean.
    For more than two classes ``q_c ∝ exp(scale log q_c + b_c)``, which is the same for two.

    As printed, algorithm 5 divides r by the number of unlabeled rows u for the average that it
    plots, and turns r back without any change ("the error rate is the same as the normal
    classifier, because the log-odds ratio was converted back"): that is ``mean="kept"`` with
    ``scale=1.0``, the defaults here. The aim stated there, probabilities whose mean is the
    class proportion, is ``mean="labeled"`` or given proportions; ``scale=1/u`` is the division.

    Parameters
    ----------
    scale : float, default=1.0
        Below 1 the probabilities move away from 0 and 1.
    mean : {"kept", "labeled"} or array-like of shape (n_classes,), default="kept"
        Mean of the new probabilities: that of the old ones, the proportions of the labeled
        rows (only inside a classifier), or given proportions in the order of ``classes_``.

    See Also
    --------
    RankSigmoid : Spreads out the probabilities by their ranks.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 5.3 and algorithm 5.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.generative import LogOdds
    >>> q = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    >>> LogOdds(mean=[0.5, 0.5]).transform(q).mean(axis=0).round(6)
    array([0.5, 0.5])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "scale": [Interval(Real, 0, None, closed="neither")],
        "mean": [StrOptions({"kept", "labeled"}), "array-like"],
    }

    def __init__(self, *, scale: float = 1.0, mean: Any = "kept") -> None:
        self.scale = scale
        self.mean = mean

    def transform(self, responsibilities: Any, sample_weight: Any = None) -> NDArray[np.float64]:
        """Return the recalibrated class probabilities.

        Parameters
        ----------
        responsibilities : array-like of shape (n_rows, n_classes)
            Class probabilities of the unlabeled rows.
        sample_weight : array-like of shape (n_rows,), default=None
            A row of weight 2 counts as two equal rows.

        Returns
        -------
        q : ndarray of shape (n_rows, n_classes)
            Rows sum to one, and the mean row is the wanted one.
        """
        validate_params_of(self)
        q = _check_responsibilities(responsibilities)
        weights = _check_weights(sample_weight, q)
        if self.scale == 1 and isinstance(self.mean, str) and self.mean == "kept":
            return q.copy()
        logits = self.scale * np.log(np.maximum(q, _TINY))
        return shift_to_mean(logits, _target(self.mean, q, weights), weights)

    def converted_mean(self, responsibilities: Any) -> NDArray[np.float64]:
        """Return the sigmoid of the mean log-odds of each class against the rest.

        This is what Saeed plots against the class proportion (figure 5.2): with overconfident
        probabilities it is near 0 or 1, far from their mean.
        """
        q = _check_responsibilities(responsibilities)
        rest = q.sum(axis=1, keepdims=True) - q
        log_odds = np.log(np.maximum(q, _TINY)) - np.log(np.maximum(rest, _TINY))
        return np.asarray(expit(log_odds.mean(axis=0)))


class RankSigmoid(BaseEstimator):
    """Spread out the class probabilities by their ranks: Saeed (2018), algorithm 6.

    With ``s = rank(q) / u``, where u is the number of rows, the new probability is
    ``1 / (1 + exp(-alpha (s - beta)))``. The slope ``alpha`` says how far from 0 and 1 they
    are spread; ``beta`` gives them the wanted mean.

    Section 5.4.2 can be read in two ways. "We set β such that the average of the q after the
    transformation is still the average before" is ``mean="kept"``; "we want to make β the
    average of the q before they were rescaled" is ``mean="beta"``, with β = mean(q), after
    which the mean is whatever comes out.

    With two classes the order of q is kept and the columns sum to one by themselves. With more,
    each class against the rest has its own ranks and its own beta; the rows are then made to
    sum to one and shifted (as in :class:`LogOdds`) so that the mean is still the wanted one.

    Parameters
    ----------
    alpha : float, default=1.0
        Slope of the sigmoid; Saeed tries powers of two from 2⁻¹⁰ to 2⁵.
    mean : {"kept", "beta", "labeled"} or array-like of shape (n_classes,), default="kept"
        ``"kept"``: the mean stays what it was; ``"beta"``: β itself is the mean of the old
        probabilities, of the second class if there are two (both section 5.4.2);
        ``"labeled"``: the proportions of the labeled rows (only inside a classifier);
        proportions in the order of ``classes_``: known ones (section 5.4.1).

    See Also
    --------
    LogOdds : Shifts the log-odds.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 5.4 and algorithm 6.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.generative import RankSigmoid
    >>> q = np.array([[1.0, 0.0], [0.999, 0.001], [0.01, 0.99]])
    >>> RankSigmoid(alpha=2.0).transform(q).round(3)
    array([[0.806, 0.194],
           [0.681, 0.319],
           [0.522, 0.478]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "mean": [StrOptions({"kept", "beta", "labeled"}), "array-like"],
    }

    def __init__(self, alpha: float = 1.0, mean: Any = "kept") -> None:
        self.alpha = alpha
        self.mean = mean

    def transform(self, responsibilities: Any, sample_weight: Any = None) -> NDArray[np.float64]:
        """Return the recalibrated class probabilities.

        Parameters
        ----------
        responsibilities : array-like of shape (n_rows, n_classes)
            Class probabilities of the unlabeled rows.
        sample_weight : array-like of shape (n_rows,), default=None
            A row of weight 2 counts as two equal rows.

        Returns
        -------
        q : ndarray of shape (n_rows, n_classes)
            Rows sum to one, and the mean row is the wanted one (except for ``mean="beta"``).
        """
        validate_params_of(self)
        q = _check_responsibilities(responsibilities)
        weights = _check_weights(sample_weight, q)
        slope = self.alpha * rank_rows(q, weights) / (len(q) if weights is None else weights.sum())
        if isinstance(self.mean, str) and self.mean == "beta":
            new = expit(slope - self.alpha * np.average(q, axis=0, weights=weights))
            if q.shape[1] == 2:
                # The ranks of the first class mirror those of the second; its own sigmoid
                # would differ from the complement by alpha / n.
                return np.column_stack([1.0 - new[:, 1], new[:, 1]])
            return np.asarray(new / new.sum(axis=1, keepdims=True))
        target = _target(self.mean, q, weights)
        if q.shape[1] == 2:
            # beta is the shift: sigmoid(alpha s - alpha beta).
            return shift_to_mean(np.column_stack([np.zeros(len(q)), slope[:, 1]]), target, weights)
        logits = np.zeros(q.shape)
        for column in np.flatnonzero((target > 0) & (target < 1)):
            logit = np.log(target[column]) - np.log1p(-target[column])
            shift = _odds_shift(slope[:, column], logit, weights)
            logits[:, column] = log_expit(slope[:, column] + shift)
        return shift_to_mean(logits, target, weights)
