"""Democratic co-learning: different learners outvote each other (Zhou and Goldman, 2004)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from leaven._labels import UNLABELED, one_hot
from leaven.base import seeded_clone
from leaven.self_labeling._committee import COMMON_CONSTRAINTS, CommitteeMixin
from leaven.statistics import wilson_interval

# Of the intervals for the accuracy of a learner, the value of the source.
_CONFIDENCE = 0.95

# Folds of the cross-validation, the number of the source; few labels allow fewer.
_MOST_FOLDS = 10


def information(n_rows: int, n_wrong: float) -> float:
    """Return ``|L| (1 - 2e / |L|)²``, what rows with noise are worth (Angluin and Laird, 1988).

    Examples
    --------
    >>> from leaven.self_labeling._democratic import information
    >>> round(information(10, 1.0), 6), information(10, 5.0)
    (6.4, 0.0)
    """
    return n_rows * max(0.0, 1.0 - 2.0 * n_wrong / n_rows) ** 2


def weighted_majority(
    votes: NDArray[np.intp], weights: NDArray[np.float64], n_classes: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the label with the largest sum of weights, and whether a majority voted for it.

    Both the sum of the weights and, as the source asks, the number of learners must be larger
    than those of every other label.

    Parameters
    ----------
    votes : ndarray of shape (n_learners, n_rows)
    weights : ndarray of shape (n_learners,)
    n_classes : int

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._democratic import weighted_majority
    >>> votes = np.array([[0, 0], [0, 1], [1, 2]])
    >>> label, decided = weighted_majority(votes, np.array([0.6, 0.7, 0.9]), 3)
    >>> int(label[0]), decided
    (0, array([ True, False]))
    """
    ballots = one_hot(votes.ravel(), n_classes).reshape(*votes.shape, n_classes)
    counts = ballots.sum(axis=0)
    sums = (ballots * weights[:, None, None]).sum(axis=0)
    label = sums.argmax(axis=1)
    rows = np.arange(len(label))
    others = counts.copy()
    others[rows, label] = -1.0
    return label, counts[rows, label] > others.max(axis=1)


class DemocraticCoLearningClassifier(CommitteeMixin, BaseEstimator):
    """Several different learners, of which the majority teaches those that disagree.

    The learners differ in their inductive bias and need no views. An unlabeled row on which the
    weighted majority agrees becomes a training row of each learner that disagrees, if what the
    learner gains by the new rows outweighs their estimated errors [1]_. Weights are means of
    95% confidence intervals of the accuracy, by cross-validation on each learner's own training
    rows. It ends when no learner is taught.

    Parameters
    ----------
    estimators : list of classifiers, default=None
        At least three; None stands for naive Bayes, a decision tree and three nearest
        neighbors, the learners of [1]_.
    max_iter : int, default=20
        Rounds at most.
    random_state : int, RandomState or None, default=None
        Draws the folds, and seeds estimators without a seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list of classifiers
    weights_ : ndarray of shape (n_estimators,)
        The middle of each learner's confidence interval.
    n_taught_ : ndarray of shape (n_estimators,)
        Unlabeled rows in each learner's training set.
    transduction_ : ndarray of shape (n_samples,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        The votes, weighted as [1]_ says: ``(|G| + 0.5) / (|G| + 1)`` times the mean weight of
        the group ``G`` that votes for a class, over learners with a weight above one half.
    n_iter_ : int
    converged_ : bool
    objective_trace_ : ndarray of shape (n_iter_,)
        Rows added in each round; the last is 0 where it converged.

    See Also
    --------
    TriTrainingClassifier : Three learners of one kind.
    CoTrainingClassifier : Two views.

    References
    ----------
    .. [1] Y. Zhou and S. Goldman, "Democratic co-learning", ICTAI 2004.

    Examples
    --------
    >>> from leaven.self_labeling import DemocraticCoLearningClassifier
    >>> X = [[0.0], [0.2], [0.4], [0.6], [0.8], [5.0], [5.2], [5.4], [5.6], [5.8]]
    >>> y = [0, 0, 0, -1, -1, 1, 1, 1, -1, -1]
    >>> DemocraticCoLearningClassifier(random_state=0).fit(X, y).transduction_
    array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimators": [list, tuple, None],
        **COMMON_CONSTRAINTS,
    }

    def __init__(
        self, estimators: Any = None, *, max_iter: int = 20, random_state: Any = None
    ) -> None:
        self.estimators = estimators
        self.max_iter = max_iter
        self.random_state = random_state

    def _teach(
        self, X: Any, codes: NDArray[np.intp], rng: np.random.RandomState
    ) -> Sequence[float]:
        n_labeled = int((codes != UNLABELED).sum())
        self.estimators_ = [seeded_clone(each, rng) for each in self._learners(n_labeled)]
        n_learners, n_classes = len(self.estimators_), len(self.classes_)
        known = [codes.copy() for _ in self.estimators_]
        noise = np.zeros(n_learners)
        seed = int(rng.randint(np.iinfo(np.int32).max))
        self._fit_all(X, known)
        bounds = np.array([self._bounds(i, X, known[i], seed) for i in range(n_learners)])
        unlabeled = np.flatnonzero(codes == UNLABELED)
        trace: list[int] = []
        self.n_iter_, self.converged_ = 0, len(unlabeled) == 0
        while not self.converged_ and self.n_iter_ < self.max_iter:
            self.n_iter_ += 1
            votes = np.array([each.predict(X[unlabeled]) for each in self.estimators_])
            label, decided = weighted_majority(votes, bounds.mean(axis=1), n_classes)
            added = 0
            for i in range(n_learners):
                new = decided & (votes[i] != label) & (known[i][unlabeled] == UNLABELED)
                if not new.any():
                    continue
                teachers = np.delete(bounds[:, 0], i)
                wrong = (1.0 - teachers.mean()) * int(new.sum())
                n_old = int((known[i] != UNLABELED).sum())
                worth = information(n_old + int(new.sum()), noise[i] + wrong)
                if worth > information(n_old, noise[i]):
                    known[i][unlabeled[new]] = label[new]
                    noise[i] += wrong
                    added += int(new.sum())
            trace.append(added)
            self.converged_ = added == 0
            if added:
                self._fit_all(X, known)
                bounds = np.array([self._bounds(i, X, known[i], seed) for i in range(n_learners)])
        self.weights_ = bounds.mean(axis=1)
        self.n_taught_ = np.array([(each != UNLABELED).sum() - n_labeled for each in known])
        return trace

    def _learners(self, n_labeled: int) -> list[Any]:
        if self.estimators is None:
            neighbors = KNeighborsClassifier(n_neighbors=min(3, n_labeled))
            return [GaussianNB(), DecisionTreeClassifier(), neighbors]
        if len(self.estimators) < 3:
            raise ValueError(
                f"estimators holds {len(self.estimators)} classifiers: there is no majority of "
                "fewer than three. Give three that differ, or None."
            )
        return list(self.estimators)

    def _fit_all(self, X: Any, known: list[NDArray[np.intp]]) -> None:
        for estimator, codes in zip(self.estimators_, known, strict=True):
            rows = np.flatnonzero(codes != UNLABELED)
            estimator.fit(X[rows], codes[rows])

    def _bounds(self, i: int, X: Any, codes: NDArray[np.intp], seed: int) -> tuple[float, float]:
        """Confidence interval of a learner's accuracy, by cross-validation on its own rows."""
        rows = np.flatnonzero(codes != UNLABELED)
        n_folds = min(_MOST_FOLDS, int(np.bincount(codes[rows]).min()))
        if n_folds < 2:  # a class with one label: nothing can be held out
            return 0.0, 1.0
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        predicted = cross_val_predict(self.estimators_[i], X[rows], codes[rows], cv=folds)
        n_right = int((predicted == codes[rows]).sum())
        low, high = wilson_interval(n_right, len(rows), confidence=_CONFIDENCE)
        return float(low), float(high)

    def _votes(self, X: Any) -> NDArray[np.float64]:
        n_classes = len(self.classes_)
        trusted = np.flatnonzero(self.weights_ > 0.5)
        if not len(trusted):
            trusted = np.arange(len(self.weights_))
        votes = np.array([self.estimators_[i].predict(X) for i in trusted])
        ballots = one_hot(votes.ravel(), n_classes).reshape(*votes.shape, n_classes)
        size = ballots.sum(axis=0)
        weight = (ballots * self.weights_[trusted][:, None, None]).sum(axis=0)
        confidence = (size + 0.5) / (size + 1.0) * weight / np.maximum(size, 1.0)
        return np.asarray(confidence / confidence.sum(axis=1, keepdims=True))
