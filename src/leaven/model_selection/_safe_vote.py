"""The vote of all candidates, a candidate itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from leaven.model_selection._safe_folds import class_probabilities

VOTE = "vote"
FEWEST_VOTERS = 3
_TIE = 1e-3
"""Weight of the mean probabilities beside the votes: enough to decide ties, and no more."""


def count_votes(probabilities: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """Shares of the votes for each class; the mean probabilities decide ties.

    Votes and not probabilities are averaged, since those of naive Bayes are far too sure and
    would outvote all others.

    Parameters
    ----------
    probabilities : sequence of ndarrays of shape (..., n_classes)

    Returns
    -------
    ndarray of shape (..., n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.model_selection._safe_vote import count_votes
    >>> count_votes([np.array([0.9, 0.1]), np.array([0.4, 0.6]), np.array([0.4, 0.6])]).round(2)
    array([0.33, 0.67])
    """
    n_classes = probabilities[0].shape[-1]
    total = np.zeros(probabilities[0].shape)
    for each in probabilities:
        total += np.eye(n_classes)[each.argmax(axis=-1)] + _TIE * each
    return total / (len(probabilities) * (1.0 + _TIE))


class VotingCandidates(ClassifierMixin, BaseEstimator):
    """Fitted candidates that vote on new rows.

    Parameters
    ----------
    estimators : list of (str, fitted estimator)
    """

    def __init__(self, estimators: list[tuple[str, Any]]) -> None:
        self.estimators = estimators

    def _adopt(self, classes: NDArray[Any]) -> VotingCandidates:
        self.classes_ = classes
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Shares of the votes for each class."""
        n_classes = len(self.classes_)
        return count_votes([class_probabilities(each, X, n_classes) for _, each in self.estimators])

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with most votes."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
