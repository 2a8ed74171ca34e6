"""Scores that leave unlabeled rows out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring, get_scorer_names, log_loss
from sklearn.utils import indexable

from leaven._labels import UNLABELED, encode_labels, labeled_mask
from leaven._suggest import did_you_mean

Scorer = Callable[[Any, Any, Any], float]


def labeled_scorer(metric: str | Scorer = "accuracy") -> LabeledScorer:
    """Make a scorer that looks at the labeled rows of ``y`` only.

    With it any splitter can be used on partly labeled data, even one that puts unlabeled rows
    into a test set. It also brings the labels to one type, so that integers among ``None``
    (an array of objects, which scikit-learn's metrics refuse) are scored as integers.

    Parameters
    ----------
    metric : str or callable, default="accuracy"
        A name that scikit-learn knows, such as "accuracy", "balanced_accuracy", "f1_macro" or
        "neg_log_loss" (see :func:`sklearn.metrics.get_scorer_names`), or a scorer
        ``f(estimator, X, y) -> float``, larger is better. "neg_log_loss" is computed over the
        classes of the estimator, so that a fold need not hold every class.

    Returns
    -------
    scorer : LabeledScorer
        For the parameter ``scoring`` of ``cross_val_score``, ``GridSearchCV`` and others.

    See Also
    --------
    LabeledKFold : Puts labeled rows only into the test sets.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from leaven.model_selection import labeled_scorer
    >>> always_zero = DummyClassifier(strategy="constant", constant=0).fit([[0], [1]], [0, 1])
    >>> labeled_scorer()(always_zero, [[0], [1], [2], [3]], [0, 1, -1, None])
    0.5
    """
    return metric if isinstance(metric, LabeledScorer) else LabeledScorer(metric)


class LabeledScorer:
    """A scorer that ignores unlabeled rows; made by :func:`labeled_scorer`.

    Parameters
    ----------
    metric : str or callable, default="accuracy"
    """

    def __init__(self, metric: str | Scorer = "accuracy") -> None:
        if not isinstance(metric, str) and not callable(metric):
            raise TypeError(
                "metric must be the name of a scorer, such as 'accuracy', or a callable "
                f"f(estimator, X, y), got {metric!r}."
            )
        if isinstance(metric, str) and metric not in get_scorer_names():
            raise ValueError(
                f"metric={metric!r} is not a scorer of scikit-learn."
                f"{did_you_mean(metric, get_scorer_names())} "
                "sklearn.metrics.get_scorer_names() lists them all."
            )
        self.metric: str | Scorer = metric
        self._scorer: Scorer = (
            _neg_log_loss if metric == "neg_log_loss" else check_scoring(None, scoring=metric)
        )

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Score ``estimator`` on the labeled rows of ``X`` and ``y``."""
        labeled = labeled_mask(y)
        if not labeled.any():
            raise ValueError(
                f"The test set of {len(labeled)} rows holds no labeled row, so there is nothing to "
                "score. Use LabeledKFold or AdaptiveKFold, which test on labeled rows only, or "
                "fewer folds."
            )
        classes, codes = encode_labels(y)
        given = classes[codes[codes != UNLABELED]]
        if not labeled.all():
            X = _take_rows(X, np.flatnonzero(labeled))
        return self._scorer(estimator, X, given)

    def score_labeled(self, estimator: Any, X: Any, y: NDArray[Any]) -> float:
        """Score rows that all carry a label, whose names are of one type already."""
        return self._scorer(estimator, X, y)

    def __repr__(self) -> str:
        return f"labeled_scorer({self.metric!r})"


def _take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Rows of an array, a sparse matrix, a data frame or a list, as the same kind of thing."""
    (X,) = indexable(X)  # makes every sparse format one that has rows
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, (list, tuple)):
        return [X[row] for row in rows]
    return X[rows]


def _neg_log_loss(estimator: Any, X: Any, y: NDArray[Any]) -> float:
    """Negative log loss over all classes, be they in the fold, in training, or in both."""
    probabilities = np.asarray(estimator.predict_proba(X))
    known = np.asarray(estimator.classes_)
    unseen = np.setdiff1d(y, known)
    # scikit-learn's scorer reads the classes off the fold, and fails if one is absent.
    labels = np.concatenate([known, unseen])
    padded = np.hstack(
        [probabilities, np.zeros((len(probabilities), len(unseen)), probabilities.dtype)]
    )
    order = np.argsort(labels)
    return -float(log_loss(y, padded[:, order], labels=labels[order]))
