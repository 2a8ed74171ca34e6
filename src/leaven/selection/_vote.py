"""Weighted votes of several candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from leaven.base import class_probabilities

VOTE = "vote"

MIN_VOTERS = 3
"""With two candidates the more confident one would always decide."""

_TIE = 1e-3
"""Weight of the mean probabilities beside the votes: enough to decide ties, and no more."""


def count_votes(
    probabilities: Sequence[NDArray[Any]], weights: Sequence[float] | None = None
) -> NDArray[np.float64]:
    """Shares of the votes for each class; the mean probabilities decide ties.

    Votes and not probabilities are averaged, since those of naive Bayes are overconfident and
    would outvote all others. A single candidate keeps its probabilities.

    Parameters
    ----------
    probabilities : sequence of ndarrays of shape (..., n_classes)
        One for each candidate.
    weights : sequence of float, default=None
        Of the candidates; None weighs them equally.

    Returns
    -------
    ndarray of shape (..., n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import count_votes
    >>> count_votes([np.array([0.9, 0.1]), np.array([0.4, 0.6]), np.array([0.4, 0.6])]).round(2)
    array([0.33, 0.67])
    """
    if len(probabilities) == 1:
        return np.asarray(probabilities[0])
    share = np.ones(len(probabilities)) if weights is None else np.asarray(weights, dtype=float)
    n_classes = probabilities[0].shape[-1]
    total = np.zeros(probabilities[0].shape)
    for weight, each in zip(share, probabilities, strict=True):
        total += weight * (np.eye(n_classes)[each.argmax(axis=-1)] + _TIE * each)
    return np.asarray(total / (share.sum() * (1.0 + _TIE)))


class WeightedCandidates(ClassifierMixin, BaseEstimator):
    """Fitted candidates that say the class of new rows together; made by :func:`fit`.

    Several of them vote; a single one decides, with class probabilities also where its
    estimator has no ``predict_proba``.

    Parameters
    ----------
    estimators : list of (str, fitted estimator)
    weights : dict of str to float
        Of each name.
    classes : ndarray of shape (n_classes,)
    """

    def __init__(
        self,
        estimators: list[tuple[str, Any]],
        weights: Mapping[str, float],
        classes: NDArray[Any],
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.classes = classes

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the columns of ``predict_proba``."""
        return self.classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities: shares of the votes, or those of a single candidate.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return count_votes(
            [class_probabilities(each, X) for _, each in self.estimators],
            [self.weights[name] for name, _ in self.estimators],
        )

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
