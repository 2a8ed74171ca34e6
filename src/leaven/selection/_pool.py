"""Weighted combination of candidates: a log-linear pool with likelihood weights.

The class probabilities of the candidates are averaged on the log scale, with weights that grow
with the likelihood of the held-out labels, and one temperature makes the result mean what it
says. Pure functions of arrays; :class:`Pool` holds the numbers that were learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from leaven.base import class_probabilities
from leaven.graph import share_searches
from leaven.selection._folds import Folds
from leaven.selection._member import Member, estimate_faintness, members_at

COMBINATION = "combination"

# With two candidates there is little to average, and the guard of :func:`decide` is clearer.
MIN_COMBINED = 3

# Added to every probability before the logarithm. Without it one candidate that gives a class
# zero, as naive Bayes and forests do, would rule it out against all others. Values from 0.005 to
# 0.05 were alike on 51 tables.
FLOOR = 0.02

# A candidate with less than this share changes no label that matters, and is not fitted.
MIN_WEIGHT = 0.01

# Center of the prior of the log temperature, between the best values for tables with 2 and with 20
# labels per class; from -0.2 to 0 they are alike.
LOG_TEMPERATURE = -0.1

# Scale of the prior of the log temperature: one half, as over 51 tables, so that ten held-out rows
# outweigh it and four do not.
TEMPERATURE_SCALE = 0.5

# What a held-out row counts for in the temperature of a candidate. All of it fits tables with five
# labels per class too closely, nothing leaves linear classifiers of texts without weight
# (`python benchmarks/members.py rates DIRECTORY`).
MEMBER_RATE = 0.25

# The log temperature is searched this far on both sides of the center, first on a grid: with the
# heavy tails of the prior there may be two maxima. The range is wide because linear classifiers of
# texts in twenty classes give the true one hardly more than the others.
_LOG_RANGE, _LOG_STEPS = 4.5, 37


def tempered_log(
    probabilities: NDArray[Any], temperature: float = 1.0, floor: float = FLOOR
) -> NDArray[np.float64]:
    r"""Log probabilities after a floor and a power.

    .. math:: \ell_c = \log \frac{(p_c + \epsilon)^T}{\sum_k (p_k + \epsilon)^T}

    Parameters
    ----------
    probabilities : ndarray of shape (..., n_classes)
    temperature : float, default=1.0
        The power T: below 1 for a candidate that is overconfident.
    floor : float, default=0.02

    Returns
    -------
    ndarray of shape (..., n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import tempered_log
    >>> np.exp(tempered_log(np.array([0.8, 0.2]), 0.5, floor=0.0)).round(3)
    array([0.667, 0.333])
    """
    p = np.asarray(probabilities, dtype=np.float64)
    return np.asarray(log_softmax(temperature * np.log(p + floor), axis=-1))


def likelihood_weights(
    scores: NDArray[np.float64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Weights of candidates from the log probabilities that they gave to held-out labels.

    .. math:: w_m \propto \pi_m \exp\Big(\eta \sum_i \ell_{im}\Big),
              \qquad \eta = n^{-1/2},

    a posterior over candidates with prior :math:`\pi` whose likelihood has the learning rate
    :math:`\eta` [1]_: with rate 1 a few rows would put all weight on one candidate, which on
    51 tables lost about one point of accuracy, and with rate 0 the labels would not count.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_candidates)
        Log probability of the true class of each held-out row.
    prior : ndarray of shape (n_candidates,)
        Positive; need not sum to one.

    Returns
    -------
    ndarray of shape (n_candidates,)
        They sum to one. Without rows they are the prior.

    References
    ----------
    .. [1] P. Grünwald, "The safe Bayesian", ALT 2012; P. G. Bissiri, C. C. Holmes and S. G.
       Walker, "A general framework for updating belief distributions", JRSS B 78, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import likelihood_weights
    >>> scores = np.log([[0.9, 0.6], [0.8, 0.6], [0.7, 0.6], [0.9, 0.6]])
    >>> likelihood_weights(scores, np.ones(2)).round(3)
    array([0.652, 0.348])
    """
    n = len(scores)
    logs = np.log(prior) + (scores.sum(axis=0) / np.sqrt(n) if n else 0.0)
    return np.asarray(softmax(logs))


def fit_temperature(
    scores: NDArray[np.float64],
    codes: NDArray[np.intp],
    weight: NDArray[np.float64] | float = 1.0,
    *,
    center: float = LOG_TEMPERATURE,
    scale: float = TEMPERATURE_SCALE,
) -> float:
    r"""The power that makes pooled scores probabilities, by held-out labels and a prior.

    Maximizes :math:`\sum_i v_i \log \mathrm{softmax}(\tau s_i)_{y_i} -
    \log\big(1 + (\log \tau - \mu)^2 / \sigma^2\big)`: temperature scaling [1]_ with a Cauchy
    prior of :math:`\log \tau`. Few labels cannot spoil it; and where candidates are far less
    confident than on tables, as they are on texts, some twenty labels are enough to say so, which
    they are not against a normal prior of the same scale.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
    codes : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,) or float, default=1.0
        How many observations a row counts for: a row that is held out in two repeats counts
        half in each.
    center, scale : float
        :math:`\mu` and :math:`\sigma`.

    Returns
    -------
    float
        :math:`\tau`.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On calibration of modern neural
       networks", ICML 2017.

    Examples
    --------
    Half of the rows are wrong where the scores claim nine in ten right:

    >>> import numpy as np
    >>> from leaven.selection import fit_temperature
    >>> scores = np.log(np.tile([0.9, 0.1], (100, 1)))
    >>> tau = fit_temperature(scores, np.arange(100) % 2)
    >>> bool(tau < 0.3)
    True
    """
    if not len(scores):
        return float(np.exp(center))
    below = scores - scores.max(axis=1, keepdims=True)
    of_truth = below[np.arange(len(codes)), codes]

    def loss(log_tau: float) -> float:
        tau = np.exp(log_tau)
        logs = tau * of_truth - np.log(np.exp(tau * below).sum(axis=1))
        return float(-np.sum(weight * logs) + np.log1p(((log_tau - center) / scale) ** 2))

    grid = center + np.linspace(-_LOG_RANGE, _LOG_RANGE, _LOG_STEPS)
    best = grid[np.argmin([loss(log_tau) for log_tau in grid])]
    step = grid[1] - grid[0]
    found = minimize_scalar(loss, bounds=(best - step, best + step), method="bounded")
    return float(np.exp(found.x))


def member_temperature(
    probabilities: NDArray[Any], truth: NDArray[np.intp], temperature: float
) -> float:
    r"""The power that makes a candidate's probabilities right on a table, by its held-out labels.

    :func:`fit_temperature` of the logarithms that :func:`tempered_log` takes the power of, with
    the temperature on other tables as the center of the prior, and rows that count a quarter.
    Without it an underconfident candidate that is mostly right would have a lower likelihood than
    a well-calibrated one that is often wrong, as linear classifiers of texts have beside graphs.

    Parameters
    ----------
    probabilities : ndarray of shape (n_repeats, n_rows, n_classes)
        Of held-out rows; a row counts once, however often it was held out.
    truth : ndarray of shape (n_rows,)
        Their classes.
    temperature : float
        Before labels are seen.

    Returns
    -------
    float

    Examples
    --------
    A candidate that is right in nine of ten rows and gives the class 0.55:

    >>> import numpy as np
    >>> from leaven.selection import member_temperature, tempered_log
    >>> truth = np.arange(100) % 10 // 9
    >>> P = np.tile([0.55, 0.45], (1, 100, 1))
    >>> power = member_temperature(P, truth, 1.0)
    >>> np.exp(tempered_log(P[0, 0], power)).round(2)
    array([0.88, 0.12])
    """
    n_repeats, _, n_classes = probabilities.shape
    scores = np.log(probabilities + FLOOR).reshape(-1, n_classes)
    return fit_temperature(
        scores,
        np.tile(truth, n_repeats),
        MEMBER_RATE / n_repeats,
        center=float(np.log(temperature)),
    )


@dataclass(frozen=True)
class Pool:
    """How candidates are combined.

    Parameters
    ----------
    weights : dict of str to float
        Share of each candidate, sum 1.
    temperatures : dict of str to float
        The power of each candidate's probabilities, see :func:`tempered_log`.
    temperature : float
        That of the combination.
    shift : tuple of float
        Added to the log probability of each class, as far as it is more frequent among the
        unlabeled rows than among the labels (:func:`class_shift`); empty for nothing.
    """

    weights: dict[str, float]
    temperatures: dict[str, float]
    temperature: float = 1.0
    shift: tuple[float, ...] = ()

    def combine(self, probabilities: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Class probabilities of the combination.

        A single candidate keeps its probabilities, but for the temperature.

        Parameters
        ----------
        probabilities : dict of str to ndarray of shape (..., n_classes)
            Of each candidate in ``weights``.

        Returns
        -------
        ndarray of shape (..., n_classes)

        Examples
        --------
        >>> import numpy as np
        >>> from leaven.selection import Pool
        >>> pool = Pool({"a": 0.5, "b": 0.5}, {"a": 1.0, "b": 1.0})
        >>> pool.combine({"a": np.array([0.9, 0.1]), "b": np.array([0.5, 0.5])}).round(2)
        array([0.73, 0.27])
        """
        if len(self.weights) == 1 and self.temperature == 1.0 and not self.shift:
            (name,) = self.weights
            return np.asarray(probabilities[name])
        total: Any = 0.0
        for name, weight in self.weights.items():
            total = total + weight * tempered_log(probabilities[name], self.temperatures[name])
        return self.shifted(softmax(self.temperature * total, axis=-1))

    def shifted(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shift class probabilities of a combination without one, such as held-out ones.

        Parameters
        ----------
        probabilities : ndarray of shape (..., n_classes)

        Returns
        -------
        ndarray of shape (..., n_classes)
        """
        if not self.shift:
            return probabilities
        moved = probabilities * np.exp(self.shift)
        return np.asarray(moved / moved.sum(axis=-1, keepdims=True))


def single_pool(name: str) -> Pool:
    """The pool of one candidate, whose probabilities stay as they are."""
    return Pool({name: 1.0}, {name: 1.0})


def prior_pool(members: Mapping[str, Member]) -> Pool:
    """The pool where no label of the table can be held out.

    Whether its columns say much about the classes is not known then.

    Parameters
    ----------
    members : dict of str to Member

    Returns
    -------
    Pool

    Examples
    --------
    >>> from leaven.selection import Member, prior_pool
    >>> prior_pool({"a": Member(3.0), "b": Member(1.0)}).weights
    {'a': 0.75, 'b': 0.25}
    """
    known = list(members.values())
    nothing = np.empty((len(known), 1, 0, 1))
    faintness = estimate_faintness(nothing, np.empty(0, dtype=np.intp), known)
    weights, temperatures = members_at(known, faintness)
    return Pool(
        dict(zip(members, weights.tolist(), strict=True)),
        dict(zip(members, temperatures.tolist(), strict=True)),
        float(np.exp(LOG_TEMPERATURE)),
    )


@dataclass(frozen=True, eq=False)
class Combined:
    """A pool, and what it says of the held-out rows without having seen their labels.

    Parameters
    ----------
    pool : Pool
    held_out : ndarray of shape (n_repeats, n_tested, n_classes)
        Class probabilities; weights and temperature are those of the other folds.
    """

    pool: Pool
    held_out: NDArray[np.float64]


def combine_held_out(
    names: Sequence[str],
    probabilities: Sequence[NDArray[np.float64]],
    codes: NDArray[np.intp],
    folds: Folds,
    members: Mapping[str, Member],
) -> Combined:
    """Learn a pool from held-out probabilities, and hold it out in turn.

    The held-out labels tell how much the columns say about the classes
    (:func:`estimate_faintness`), and with it what to expect of each candidate. Then each gets the
    temperature that its held-out labels tell, all get weights, and the combination a temperature of
    its own. For the rows of a fold all of this is learned on the
    other folds of all repeats, as far as they hold other rows: the estimate of the combination
    then has no part in what it was learned from.

    Parameters
    ----------
    names : sequence of str
    probabilities : sequence of ndarrays of shape (n_repeats, n_tested, n_classes)
        Of each candidate.
    codes : ndarray of shape (n_samples,)
    folds : Folds
    members : mapping of str to Member
        What is known of each candidate before labels are seen.

    Returns
    -------
    Combined
        With ``pool`` and ``held_out``.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import Folds, Member, combine_held_out
    >>> folds = Folds(np.arange(4), np.array([[0, 0, 1, 1]]))
    >>> good = np.array([[[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.1, 0.9]]])
    >>> even = np.full((1, 4, 2), 0.5)
    >>> same = {"good": Member(), "even": Member()}
    >>> found = combine_held_out(
    ...     ["good", "even"], [good, even], np.array([0, 1, 0, 1]), folds, same
    ... )
    >>> found.pool.weights["good"] > 0.6, found.held_out.shape
    (True, (1, 4, 2))
    """
    known = [members[name] for name in names]
    found = np.stack(list(probabilities))
    truth = codes[folds.rows]
    everywhere = np.ones(len(truth), dtype=bool)
    learned = _learn(found, truth, everywhere, known)
    held_out = np.empty(found.shape[1:])
    for repeat, test in folds.tests():
        others = _learn(found, truth, ~test, known)
        held_out[repeat, test] = softmax(others.pooled(found[:, repeat, test]), axis=-1)
    # After the estimate: leaving them out changes hardly anything, and saves their last fit.
    kept = [i for i, weight in enumerate(learned.weights) if weight >= MIN_WEIGHT]
    kept_weights = learned.weights[kept] / learned.weights[kept].sum()
    used = [names[i] for i in kept]
    pool = Pool(
        dict(zip(used, kept_weights.tolist(), strict=True)),
        {names[i]: learned.temperatures[i] for i in kept},
        learned.temperature,
    )
    return Combined(pool, held_out)


@dataclass(frozen=True, eq=False)
class _Learned:
    """Temperatures and weights of all candidates, in their order, and that of the combination."""

    temperatures: list[float]
    weights: NDArray[np.float64]
    temperature: float = 1.0

    def logs(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log probabilities of each candidate after its power."""
        pairs = zip(probabilities, self.temperatures, strict=True)
        return np.stack([tempered_log(each, power) for each, power in pairs])

    def pooled(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of the combination."""
        return self.temperature * np.tensordot(self.weights, self.logs(probabilities), axes=1)


def _learn(
    probabilities: NDArray[np.float64],
    truth: NDArray[np.intp],
    used: NDArray[np.bool_],
    members: Sequence[Member],
) -> _Learned:
    """Temperatures and weights from some of the rows."""
    P, y = probabilities[:, :, used], truth[used]
    prior, centers = members_at(members, estimate_faintness(np.log(P + FLOOR), y, members))
    pairs = zip(P, centers.tolist(), strict=True)
    powers = [member_temperature(each, y, center) for each, center in pairs]
    logs = _Learned(powers, prior).logs(P)
    # A row counts once, however often it was held out.
    of_truth = logs[:, :, np.arange(len(y)), y].mean(axis=1).T
    found = _Learned(powers, likelihood_weights(of_truth, prior))
    n_repeats = P.shape[1]
    pooled = found.pooled(P).reshape(-1, P.shape[-1])
    temperature = fit_temperature(pooled, np.tile(y, n_repeats), 1.0 / n_repeats)
    return _Learned(powers, found.weights, temperature)


class WeightedCandidates(ClassifierMixin, BaseEstimator):
    """Fitted candidates that say the class of new rows together; made by :func:`fit`.

    Parameters
    ----------
    estimators : list of (str, fitted estimator)
    pool : Pool
        How they are combined.
    classes : ndarray of shape (n_classes,)
    """

    def __init__(
        self, estimators: list[tuple[str, Any]], pool: Pool, classes: NDArray[Any]
    ) -> None:
        self.estimators = estimators
        self.pool = pool
        self.classes = classes

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the columns of ``predict_proba``."""
        return self.classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities of new rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        # Several candidates are on one graph, and the search of neighbors is most of their work.
        with share_searches():
            found = {name: class_probabilities(each, X) for name, each in self.estimators}
        return self.pool.combine(found)

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.asarray(self.classes[self.predict_proba(X).argmax(axis=1)])
