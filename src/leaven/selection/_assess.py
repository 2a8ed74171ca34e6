"""What to expect of an answer: its accuracy, prediction sets, and rows that need a person.

Pure functions of held-out and final class probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from leaven.statistics import Estimate

# The mean confidence counts as so many held-out labels: it has learned from them already, and
# with fewer than a hundred the accuracy is nearer to it alone (51 tables; labels drawn from each
# class, or 50 and 200 from all rows).
CONFIDENCE_LABELS = 200

# Variance of the accuracy, divided by that of a coin, at n held-out labels: 1 / (n + 6) as if they
# and six more were tested, and 3 / (n + 200) for what labels and unlabeled rows differ in.
TESTED_BEFORE = 6
SHIFT = 3.0

# Mean and standard deviation, over the same tables, of the gain in accuracy by members that
# learn from unlabeled rows, where nothing is known of the answers; see also `gain_prior`.
GAIN_PRIOR = (0.012, 0.05)

# Held-out labels at which a prediction set trusts them and the calibrated probabilities alike. On
# 51 tables the 90% sets then hold the true class in 92, 92 and 93% of the rows with 2, 5 and 20
# labels per class; with labels alone in 98, 93 and 94%, and their coverage varies more.
TRUST_OF_MODEL = 40.0

# Held-out labels per class with which half of a target error is aimed at. Confidences estimated
# from few labels are too high where they are highest, and the more so the more classes there are.
HALF_OF_TARGET = 4.0

# Levels at which the distribution of probabilities is kept: steps of half a percent.
_N_LEVELS = 201

# Below this a probability counts as zero in a geometric mean.
_TINY = 1e-6

# Share of given labels that are expected to be wrong, before anything is known of them.
NOISE_RATE = 0.05


def conformal_threshold(scores: NDArray[np.float64], alpha: float) -> float:
    r"""Smallest probability with which a class belongs to the prediction set.

    With n held-out probabilities of the true class in ascending order, it is the one of rank
    :math:`\alpha (n + 1)`: a further exchangeable row has a lower one with a chance of
    :math:`\alpha` (Vovk, Gammerman and Shafer, 2005). Between two ranks it is interpolated,
    and rank zero is zero.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Held-out probability of the true class.
    alpha : float

    Returns
    -------
    float
        Zero, so that every class belongs to the set, without rows.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import conformal_threshold
    >>> scores = np.array([0.9, 0.3, 0.8, 0.6, 0.7, 0.5, 0.95, 0.85, 0.4])
    >>> conformal_threshold(scores, 0.1), conformal_threshold(scores, 0.2)
    (0.3, 0.4)
    >>> conformal_threshold(scores, 0.05)
    0.15
    """
    n = len(scores)
    if not n:
        return 0.0
    ordered = np.concatenate([[0.0], np.sort(scores), [1.0]])
    return float(np.interp(alpha * (n + 1), np.arange(n + 2), ordered))


def likely_scores(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles of the probability of the true class, if the probabilities hold.

    A row whose class c has probability p has the true-class probability p with chance p: the
    quantiles are those of all probabilities of all rows, each weighted by itself.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)

    Returns
    -------
    ndarray of shape (201,)
        The quantiles at 0, 0.005, ..., 1; empty without rows.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import likely_scores
    >>> likely_scores(np.array([[0.8, 0.2]]))[[0, 20, 100, 200]]
    array([0.2, 0.2, 0.8, 0.8])
    """
    ordered = np.sort(np.ravel(probabilities))
    if not len(ordered):
        return np.empty(0)
    mass = np.cumsum(ordered)
    levels = np.linspace(0.0, 1.0, _N_LEVELS) * mass[-1]
    return np.asarray(ordered[np.minimum(np.searchsorted(mass, levels), len(ordered) - 1)])


def set_threshold(scores: NDArray[np.float64], likely: NDArray[np.float64], alpha: float) -> float:
    r"""Probability from which a class belongs to the prediction set, from labels and model.

    The conformal threshold c is right whatever the model is, but with ten labels it is the
    smallest of ten numbers; the threshold m that the calibrated probabilities imply
    (:func:`likely_scores`) is steady, and as right as they are. Their geometric mean
    :math:`c^s m^{1-s}` has the share :math:`s = n / (n + 40)` for n held-out labels: with many
    labels it is conformal prediction.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Held-out probability of the true class.
    likely : ndarray of shape (n_levels,)
        As :func:`likely_scores` gives; may be empty.
    alpha : float

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import likely_scores, set_threshold
    >>> likely = likely_scores(np.array([[0.9, 0.1], [0.6, 0.4]]))
    >>> round(set_threshold(np.full(40, 0.1), likely, 0.2), 3)
    0.2
    >>> set_threshold(np.full(40, 0.1), np.empty(0), 0.2)
    0.1
    """
    n = len(scores)
    conformal = conformal_threshold(scores, alpha)
    if not len(likely):
        return conformal
    implied = float(np.interp(alpha, np.linspace(0.0, 1.0, len(likely)), likely))
    share = n / (n + TRUST_OF_MODEL)
    logs = np.log(np.maximum([conformal, implied], _TINY))
    return float(np.exp(share * logs[0] + (1.0 - share) * logs[1])) if n else implied


def effective_number(weight: NDArray[np.float64]) -> float:
    """How many rows of equal weight rows of these weights are worth (Kish, 1965).

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection._assess import effective_number
    >>> effective_number(np.array([1.0, 1.0, 2.0, 0.0]))
    2.6666666666666665
    """
    return float(weight.sum() ** 2 / (weight**2).sum()) if len(weight) else 0.0


def weighted_quantiles(
    values: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """As many quantiles of weighted values as these are worth; with equal weights, the values.

    Parameters
    ----------
    values, weight : ndarray of shape (n_rows,)

    Returns
    -------
    ndarray of shape (n_quantiles,)
        In ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import weighted_quantiles
    >>> weighted_quantiles(np.array([0.9, 0.1, 0.5]), np.ones(3))
    array([0.1, 0.5, 0.9])
    >>> weighted_quantiles(np.array([0.9, 0.1, 0.5]), np.array([4.0, 1.0, 1.0]))
    array([0.5, 0.9])
    """
    if not len(values):
        return values
    order = np.argsort(values, kind="stable")
    values, weight = values[order], weight[order]
    middle = (np.cumsum(weight) - 0.5 * weight) / weight.sum()
    n = max(round(effective_number(weight)), 1)
    return np.asarray(np.interp((np.arange(n) + 0.5) / n, middle, values))


def prediction_sets(
    probabilities: NDArray[np.float64],
    scores: NDArray[np.float64],
    alpha: float,
    likely: NDArray[np.float64] | None = None,
) -> NDArray[np.bool_]:
    """Sets of classes that hold the true one for a share of about ``1 - alpha`` of the rows.

    A class belongs to the set if its probability reaches :func:`set_threshold`; the most
    probable one always does.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
    scores : ndarray of shape (n_tested,)
        Held-out probabilities of the true class.
    alpha : float
    likely : ndarray of shape (n_levels,), default=None
        As :func:`likely_scores` gives, for the rows that the model was made for; None is that
        of ``probabilities``.

    Returns
    -------
    bool array of shape (n_rows, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import prediction_sets
    >>> P = np.array([[0.7, 0.25, 0.05], [0.96, 0.03, 0.01]])
    >>> prediction_sets(P, np.empty(0), 0.1)
    array([[ True,  True, False],
           [ True, False, False]])
    """
    if likely is None:
        likely = likely_scores(probabilities)
    sets = probabilities >= set_threshold(scores, likely, alpha)
    sets[np.arange(len(sets)), probabilities.argmax(axis=1)] = True
    return np.asarray(sets)


def expected_accuracy(
    confidence: float,
    right: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
    *,
    level: float = 0.9,
) -> Estimate:
    r"""Expected accuracy on the unlabeled rows, from two estimates of it.

    The mean calibrated confidence m of the rows counts as 200 held-out labels beside the n that
    there are, of which a share h got their class,

    .. math:: p = \frac{200 m + n h}{200 + n}, \qquad
        \mathrm{var} = p (1 - p) \left(\frac{1}{n + 6} + \frac{3}{n + 200}\right),

    with numbers measured over tables. The interval is that of a beta distribution with this mean
    and variance.

    Parameters
    ----------
    confidence : float
        Mean probability of the predicted class over the unlabeled rows.
    right : ndarray of shape (n_tested,)
        Share of the repeats in which each held-out row got its class; may be empty.
    weight : ndarray of shape (n_tested,), default=None
        Of each held-out row; n is then what they are worth. None is one for all.
    level : float, default=0.9
        Of the interval.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import expected_accuracy
    >>> found = expected_accuracy(0.8, np.array([1.0] * 15 + [0.0] * 5))
    >>> round(found.value, 3), round(found.low, 2), round(found.high, 2)
    (0.795, 0.63, 0.93)
    """
    weight = np.ones(len(right)) if weight is None else weight
    n = effective_number(weight)
    value = float(np.clip(confidence, 0.01, 0.99))
    if n:
        held = float(np.clip(weight @ right / weight.sum(), 0.01, 0.99))
        value = (CONFIDENCE_LABELS * value + n * held) / (CONFIDENCE_LABELS + n)
    share = 1.0 / (n + TESTED_BEFORE) + SHIFT / (n + CONFIDENCE_LABELS)
    strength = 1.0 / share - 1.0
    beta = stats.beta(value * strength, (1.0 - value) * strength)
    low, high = beta.ppf([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Estimate(value, float(np.sqrt(value * (1.0 - value) * share)), float(low), float(high))


def probability_above_zero(difference: Estimate, prior: tuple[float, float] = GAIN_PRIOR) -> float:
    r"""Probability that a gain is positive, from its estimate and a normal prior.

    With the estimate :math:`d \pm s` and the prior :math:`N(\mu, \sigma^2)` the posterior is
    normal with precision :math:`1 / s^2 + 1 / \sigma^2` and mean
    :math:`(d / s^2 + \mu / \sigma^2)` divided by it.

    Parameters
    ----------
    difference : Estimate
    prior : tuple of two floats
        :math:`\mu` and :math:`\sigma`; by default what was usual on 51 tables.

    Returns
    -------
    float

    Examples
    --------
    >>> from leaven.selection import probability_above_zero
    >>> from leaven.statistics import Estimate
    >>> round(probability_above_zero(Estimate(0.1, 0.04, 0.02, 0.18)), 3)
    0.982
    """
    mean, deviation = prior
    # Folds that all score the same have no error, whatever the score.
    variance = max(difference.se, _TINY) ** 2
    precision = 1.0 / variance + 1.0 / deviation**2
    center = (difference.value / variance + mean / deviation**2) / precision
    return float(stats.norm.cdf(center * np.sqrt(precision)))


def rows_above_target(
    confidence: NDArray[np.float64],
    target_error: float,
    n_tested: float | None = None,
    n_classes: int = 2,
) -> NDArray[np.bool_]:
    r"""Flag the fewest rows such that among the others the expected error is the target at most.

    The expected error of rows is the mean of one minus their confidence. The least confident
    rows are flagged, equally confident ones together. Confidences that were calibrated by n
    held-out labels of K classes are uncertain themselves, and the rows that are left are those for
    which they are highest: then :math:`n / (n + 4 K)` of the target is aimed at.

    Parameters
    ----------
    confidence : ndarray of shape (n_rows,)
        Calibrated probability of the predicted class.
    target_error : float
    n_tested : float, default=None
        Number of labels that the confidences were calibrated by; fewer than one counts as one. None
        takes the confidences as they are.
    n_classes : int, default=2
        Number of classes K that these labels are of.

    Returns
    -------
    bool array of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import rows_above_target
    >>> rows_above_target(np.array([0.99, 0.6, 0.95, 0.9]), 0.06)
    array([False,  True, False, False])
    >>> rows_above_target(np.array([0.99, 0.6, 0.95, 0.9]), 0.06, n_tested=8)
    array([False,  True, False,  True])
    """
    if n_tested is not None:
        n = max(n_tested, 1.0)
        target_error *= n / (n + HALF_OF_TARGET * n_classes)
    order = np.argsort(-confidence, kind="stable")
    expected = np.cumsum(1.0 - confidence[order]) / np.arange(1, len(order) + 1)
    within = np.flatnonzero(expected <= target_error + 1e-12)
    if not len(within):
        return np.ones(len(confidence), dtype=bool)
    last = within[-1]
    if last + 1 == len(order):
        return np.zeros(len(confidence), dtype=bool)
    # Rows as confident as the first flagged one are flagged too.
    return np.asarray(confidence <= confidence[order[last + 1]])


def mislabeled_probability(
    scores: NDArray[np.float64], noise_rate: float = NOISE_RATE
) -> NDArray[np.float64]:
    r"""Probability that a given label is wrong, from its held-out probability p.

    .. math:: \frac{\eta (1 - p)}{\eta (1 - p) + (1 - \eta) p}

    with the share :math:`\eta` of wrong labels. It falls with p: the order is that of
    self-confidence (Northcutt, Jiang and Chuang, 2021).

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        p of each row.
    noise_rate : float, default=0.05

    Returns
    -------
    ndarray of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import mislabeled_probability
    >>> mislabeled_probability(np.array([0.9, 0.05, 0.01])).round(3)
    array([0.006, 0.5  , 0.839])
    """
    wrong = noise_rate * (1.0 - scores)
    return np.asarray(wrong / (wrong + (1.0 - noise_rate) * scores))


@dataclass(frozen=True)
class MissingClass:
    """A class that has labels and is never predicted.

    Parameters
    ----------
    code : int
    expected : float
        Rows of the class that are expected among the unlabeled ones: the sum of its
        probabilities.
    """

    code: int
    expected: float


def missing_classes(probabilities: NDArray[np.float64]) -> tuple[MissingClass, ...]:
    """Classes that are predicted for none of these rows, with their expected number of rows.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)

    Returns
    -------
    tuple of MissingClass

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import missing_classes
    >>> missing_classes(np.array([[0.7, 0.3], [0.8, 0.2]]))
    (MissingClass(code=1, expected=0.5),)
    """
    if not len(probabilities):
        return ()
    seen = np.bincount(probabilities.argmax(axis=1), minlength=probabilities.shape[1])
    expected = probabilities.sum(axis=0)
    return tuple(MissingClass(int(c), float(expected[c])) for c in np.flatnonzero(seen == 0))
