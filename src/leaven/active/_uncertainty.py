"""Uncertainty sampling: ask about the rows whose class is least certain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from leaven.active._rows import check_pool
from leaven.base import class_probabilities


def least_confidence(P: ArrayLike) -> NDArray[np.float64]:
    """Return ``1 - P(ŷ|x)`` of each row, the probability that the best guess is wrong.

    Parameters
    ----------
    P : array-like of shape (n_samples, n_classes)
        Class probabilities.

    Returns
    -------
    ndarray of shape (n_samples,)
        Between 0 (certain) and ``1 - 1 / n_classes``.

    Examples
    --------
    >>> from leaven.active import least_confidence
    >>> least_confidence([[0.5, 0.25, 0.25], [0.75, 0.25, 0.0]])
    array([0.5 , 0.25])
    """
    return np.asarray(1.0 - _distributions(P).max(axis=1))


def margin(P: ArrayLike) -> NDArray[np.float64]:
    """Return ``P(ŷ₁|x) - P(ŷ₂|x)`` of each row: how far the best class leads the second.

    Parameters
    ----------
    P : array-like of shape (n_samples, n_classes)
        Class probabilities.

    Returns
    -------
    ndarray of shape (n_samples,)
        Between 0 (undecided) and 1 (certain): *small* values are uncertain.

    Examples
    --------
    >>> from leaven.active import margin
    >>> margin([[0.5, 0.25, 0.25], [0.75, 0.25, 0.0]])
    array([0.25, 0.5 ])
    """
    P = _distributions(P)
    if P.shape[1] == 1:
        return P[:, 0].copy()
    best = np.partition(P, P.shape[1] - 2, axis=1)
    return best[:, -1] - best[:, -2]


def entropy(P: ArrayLike) -> NDArray[np.float64]:
    """Return ``-Σ_c P(c|x) log P(c|x)`` of each row, in nats.

    Parameters
    ----------
    P : array-like of shape (n_samples, n_classes)
        Class probabilities.

    Returns
    -------
    ndarray of shape (n_samples,)
        Between 0 (certain) and ``log n_classes``.

    Examples
    --------
    >>> from leaven.active import entropy
    >>> entropy([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]]).round(4)
    array([1.0397, 0.    ])
    """
    return np.asarray(entr(_distributions(P)).sum(axis=1), dtype=np.float64)


def probabilities(estimator: Any, X: Any) -> NDArray[np.float64]:
    """Return class probabilities of the rows of ``X`` by a fitted classifier.

    ``predict_proba`` is used where there is one. Otherwise the ``decision_function`` becomes
    probabilities by the logistic function (two classes) or by the softmax (more). These are
    not calibrated, but of two classes they put the rows in the order of their distance to the
    boundary, which is all that uncertainty sampling asks for.

    Parameters
    ----------
    estimator : fitted classifier
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

    Returns
    -------
    P : ndarray of shape (n_samples, n_classes)
        Columns in the order of ``estimator.classes_``.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> from leaven.active import probabilities
    >>> svc = LinearSVC().fit([[-1.0], [1.0]], [0, 1])
    >>> probabilities(svc, [[0.0], [2.0]]).round(2)
    array([[0.5 , 0.5 ],
           [0.17, 0.83]])
    """
    check_is_fitted(estimator)
    if not (hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")):
        raise TypeError(
            f"{type(estimator).__name__} has neither predict_proba nor decision_function, so "
            "nothing tells how certain it is. Wrap it in "
            "sklearn.calibration.CalibratedClassifierCV, or use "
            "QueryByCommittee(disagreement='vote-entropy') or RandomSampling, which need "
            "predictions at most."
        )
    P = class_probabilities(estimator, X, sources=("predict_proba", "decision_function"))
    return np.asarray(P, dtype=np.float64)


def _distributions(P: ArrayLike) -> NDArray[np.float64]:
    P = np.asarray(P, dtype=np.float64)
    if P.ndim != 2 or P.shape[1] == 0:
        raise ValueError(
            "P must hold one row per sample and one column per class, got an array of shape "
            f"{P.shape}."
        )
    return P


class UncertaintySampling(BaseEstimator):
    """Base of the strategies that look at the class probabilities of the row alone."""

    def scores(self, estimator: Any, X_pool: Any, X: Any = None, y: Any = None) -> NDArray[Any]:
        """Score the rows of the pool; the largest score is asked first.

        Parameters
        ----------
        estimator : fitted classifier
        X_pool : {array-like, sparse matrix, data frame} of shape (n_pool, n_features)
        X, y : ignored

        Returns
        -------
        scores : ndarray of shape (n_pool,)
        """
        return self._measure(probabilities(estimator, check_pool(X_pool)))

    def _measure(self, P: NDArray[np.float64]) -> NDArray[np.float64]:
        """Uncertainty of rows with these class probabilities; each strategy has its own."""
        raise AssertionError(f"{type(self).__name__} must define _measure")


class LeastConfident(UncertaintySampling):
    r"""Ask about the row whose most probable class is least probable.

    .. math:: \arg\max_x \; 1 - P(\hat y \mid x)

    With two classes this, :class:`SmallestMargin` and :class:`HighestEntropy` ask about the
    same row, the one with a probability nearest to one half [1]_.

    See Also
    --------
    SmallestMargin : Looks at the second best class too.
    HighestEntropy : Looks at all classes.

    References
    ----------
    .. [1] D. D. Lewis and W. A. Gale, "A sequential algorithm for training text classifiers",
       SIGIR 1994.
    .. [2] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, equation 2.65.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leaven.active import LeastConfident
    >>> model = GaussianNB().fit([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    >>> LeastConfident().scores(model, [[1.0], [2.5], [4.5]]).round(3)
    array([0. , 0.5, 0. ])
    """

    def _measure(self, P: NDArray[np.float64]) -> NDArray[np.float64]:
        return least_confidence(P)


class SmallestMargin(UncertaintySampling):
    r"""Ask about the row where the two most probable classes are closest.

    .. math:: \arg\min_x \; P(\hat y_1 \mid x) - P(\hat y_2 \mid x)

    The score is one minus this margin, which is never negative.

    See Also
    --------
    LeastConfident : Looks at the best class alone.
    HighestEntropy : Looks at all classes.

    References
    ----------
    .. [1] T. Scheffer, C. Decomain and S. Wrobel, "Active hidden Markov models for information
       extraction", IDA 2001.
    .. [2] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, equation 2.66.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leaven.active import SmallestMargin
    >>> model = GaussianNB().fit([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    >>> SmallestMargin().scores(model, [[1.0], [2.5], [4.5]]).round(3)
    array([0., 1., 0.])
    """

    def _measure(self, P: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1.0 - margin(P)


class HighestEntropy(UncertaintySampling):
    r"""Ask about the row whose class probabilities have the largest entropy.

    .. math:: \arg\max_x \; -\sum_c P(c \mid x) \log P(c \mid x)

    See Also
    --------
    LeastConfident : Looks at the best class alone.
    SmallestMargin : Looks at the two best classes.

    References
    ----------
    .. [1] B. Settles, "Active learning literature survey", University of Wisconsin, 2009,
       section 3.1.
    .. [2] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, equation 2.67.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leaven.active import HighestEntropy
    >>> model = GaussianNB().fit([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    >>> HighestEntropy().scores(model, [[1.0], [2.5], [4.5]]).round(3)
    array([0.   , 0.693, 0.   ])
    """

    def _measure(self, P: NDArray[np.float64]) -> NDArray[np.float64]:
        return entropy(P)
