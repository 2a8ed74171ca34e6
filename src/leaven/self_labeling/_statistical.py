"""Statistical co-learning: two different learners, no views (Goldman and Zhou, 2000)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from leaven._labels import UNLABELED, one_hot
from leaven.base import seeded_clone
from leaven.self_labeling._calibrated_tree import CalibratedTreeClassifier
from leaven.self_labeling._committee import COMMON_CONSTRAINTS, CommitteeMixin
from leaven.self_labeling._democratic import information
from leaven.statistics import wilson_interval

_CONFIDENCE = 0.95  # of the intervals, the value of the source
_MOST_FOLDS = 10  # the number of the source; few labels allow fewer


def group_bounds(
    groups: NDArray[np.intp], right: NDArray[np.bool_], n_groups: int
) -> NDArray[np.float64]:
    """Return a confidence interval of the accuracy within each group of rows.

    Parameters
    ----------
    groups : ndarray of shape (n_rows,)
        The equivalence class of each row.
    right : bool ndarray of shape (n_rows,)
        Whether the held-out answer was right.
    n_groups : int

    Returns
    -------
    ndarray of shape (n_groups, 2)
        (0, 1) for a group without rows.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._statistical import group_bounds
    >>> groups, right = np.array([0, 0, 0, 0, 2]), np.array([1, 1, 1, 0, 1], dtype=bool)
    >>> group_bounds(groups, right, 3).round(2)
    array([[0.3 , 0.95],
           [0.  , 1.  ],
           [0.21, 1.  ]])
    """
    total = np.bincount(groups, minlength=n_groups)
    wins = np.bincount(groups, weights=right, minlength=n_groups)
    bounds = np.tile([0.0, 1.0], (n_groups, 1))
    for g in np.flatnonzero(total):
        bounds[g] = wilson_interval(int(wins[g]), int(total[g]), confidence=_CONFIDENCE)
    return bounds


def lesson(
    groups: NDArray[np.intp],
    lower: NDArray[np.float64],
    open_rows: NDArray[np.bool_],
    pupil_lower: float,
    n_known: int,
    noise: float,
) -> tuple[NDArray[np.bool_], float]:
    """Choose the equivalence classes that a learner teaches, the surest first.

    A class z is taught if the teacher's accuracy there is surely better than the pupil's as a
    whole, and if the new rows are worth more than the noise that they bring,

    ``|L'| (1 - 2 e' / |L'|)²`` against ``|L| (1 - 2 e / |L|)²``, with ``1 - lower`` errors per
    row expected at most.

    Parameters
    ----------
    groups : ndarray of shape (n_unlabeled,)
        The teacher's class of each unlabeled row.
    lower : ndarray of shape (n_groups,)
        The lower confidence bound of the teacher's accuracy in each class.
    open_rows : bool ndarray of shape (n_unlabeled,)
        Rows that the pupil has no label for.
    pupil_lower : float
        The lower confidence bound of the pupil's accuracy.
    n_known : int
        Training rows of the pupil.
    noise : float
        Errors expected among them.

    Returns
    -------
    taught : bool ndarray of shape (n_unlabeled,)
    noise : float
        Errors expected afterwards.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._statistical import lesson
    >>> groups = np.array([0, 0, 0, 1, 1, 2])
    >>> taught, noise = lesson(groups, np.array([0.9, 0.6, 0.3]), groups >= 0, 0.5, 10, 0.0)
    >>> taught, round(noise, 6)
    (array([ True,  True,  True, False, False, False]), 0.3)
    """
    taught = np.zeros(len(groups), dtype=bool)
    for g in np.argsort(-lower, kind="stable"):
        if lower[g] <= pupil_lower:
            break
        new = open_rows & (groups == g)
        n_new = int(new.sum())
        after = noise + (1.0 - float(lower[g])) * n_new
        if n_new and information(n_known + n_new, after) > information(n_known, noise):
            taught |= new
            n_known, noise = n_known + n_new, after
    return taught, noise


class StatisticalCoLearningClassifier(CommitteeMixin, BaseEstimator):
    """Statistical co-learning of two different learners (Goldman and Zhou, 2000).

    Each hypothesis divides the rows into equivalence classes: the leaves of a tree, or the rows
    of one predicted label. Cross-validation gives the accuracy of a learner within each of its
    classes a confidence interval. The unlabeled rows of a class become training rows of the
    other learner if the class is surely more accurate than that learner as a whole, and if what
    they are worth outweighs their expected errors [1]_ [2]_. No views are needed, as the
    learners differ in what they can express.

    Parameters
    ----------
    estimators : pair of classifiers, default=None
        None stands for a decision tree with at least three rows per leaf and naive Bayes.
    max_iter : int, default=20
        Rounds at most; it ends when nothing is taught.
    random_state : int, RandomState or None, default=None
        Draws the folds, and seeds estimators without a seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list of two classifiers
    bounds_ : ndarray of shape (2, 2)
        The confidence interval of each learner's accuracy.
    n_taught_ : ndarray of shape (2,)
        Unlabeled rows in each learner's training set.
    transduction_ : ndarray of shape (n_samples,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Each learner votes with the middle of the interval of the row's equivalence class, so
        that the surer of the two decides.
    n_iter_ : int
    converged_ : bool
    objective_trace_ : ndarray of shape (n_iter_,)
        Rows taught in each round; the last is 0 where it converged.

    See Also
    --------
    DemocraticCoLearningClassifier : Three learners and more, by the same authors.
    CoTrainingClassifier : Two views.

    Notes
    -----
    The intervals are Wilson's, on the given labels alone; rows that were taught are in every
    training fold. With a few labels per class no interval is narrow, and nothing is taught: it
    needs dozens of labels. Learners other than trees have one equivalence class per label.

    References
    ----------
    .. [1] S. Goldman and Y. Zhou, "Enhancing supervised learning with unlabeled data", ICML
       2000.
    .. [2] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 2.2.4.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling import StatisticalCoLearningClassifier
    >>> X = np.arange(60.0)[:, None]
    >>> truth = (X[:, 0] >= 30).astype(int)
    >>> y = np.where(np.arange(60) % 2 == 0, truth, -1)
    >>> model = StatisticalCoLearningClassifier(random_state=0).fit(X, y)
    >>> bool((model.transduction_ == truth).mean() > 0.95)
    True
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
        self.estimators_ = [seeded_clone(each, rng) for each in self._pair()]
        seed = int(rng.randint(np.iinfo(np.int32).max))
        given = np.flatnonzero(codes != UNLABELED)
        free = np.flatnonzero(codes == UNLABELED)
        known = [codes.copy(), codes.copy()]
        noise = [0.0, 0.0]
        trace: list[int] = []
        self.n_iter_, self.converged_ = 0, len(free) == 0
        self._measure(X, known, codes, given, seed)
        while not self.converged_ and self.n_iter_ < self.max_iter:
            self.n_iter_ += 1
            before = [each.copy() for each in known]
            for teacher, pupil in ((0, 1), (1, 0)):
                taught, noise[pupil] = lesson(
                    self._groups_of(teacher, X[free]),
                    self._group_bounds[teacher][:, 0],
                    before[pupil][free] == UNLABELED,
                    float(self.bounds_[pupil, 0]),
                    int((before[pupil] != UNLABELED).sum()),
                    noise[pupil],
                )
                rows = free[taught]
                if len(rows):
                    known[pupil][rows] = self.estimators_[teacher].predict(X[rows])
            n_new = sum(int((new != old).sum()) for new, old in zip(known, before, strict=True))
            trace.append(n_new)
            self.converged_ = n_new == 0
            if n_new:
                self._measure(X, known, codes, given, seed)
        self.n_taught_ = np.array([(each[free] != UNLABELED).sum() for each in known])
        return trace

    def _pair(self) -> list[Any]:
        if self.estimators is None:
            return [DecisionTreeClassifier(min_samples_leaf=3), GaussianNB()]
        if len(self.estimators) != 2:
            raise ValueError(
                f"estimators must be a pair of classifiers, got {len(self.estimators)}. For more "
                "than two use DemocraticCoLearningClassifier."
            )
        return list(self.estimators)

    def _measure(
        self,
        X: Any,
        known: list[NDArray[np.intp]],
        codes: NDArray[np.intp],
        given: NDArray[np.intp],
        seed: int,
    ) -> None:
        """Fit both learners, and bound their accuracy as a whole and in each class."""
        truth = codes[given]
        n_folds = min(_MOST_FOLDS, int(np.bincount(truth).min()))
        self._group_bounds: list[NDArray[np.float64]] = []
        self._group_names: list[NDArray[Any]] = []
        whole = []
        for i, labels in enumerate(known):
            rows = np.flatnonzero(labels != UNLABELED)
            self.estimators_[i].fit(X[rows], labels[rows])
            self._group_names.append(np.unique(_equivalence(self.estimators_[i], X)))
            n_groups = len(self._group_names[i])
            if n_folds < 2:  # a class with one label: nothing can be held out
                whole.append((0.0, 1.0))
                self._group_bounds.append(np.tile([0.0, 1.0], (n_groups, 1)))
                continue
            right = np.zeros(len(given), dtype=bool)
            folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
            for _, held_out in folds.split(given[:, None], truth):
                train = np.setdiff1d(rows, given[held_out], assume_unique=True)
                fitted = clone(self.estimators_[i]).fit(X[train], labels[train])
                right[held_out] = fitted.predict(X[given[held_out]]) == truth[held_out]
            whole.append(wilson_interval(int(right.sum()), len(right), confidence=_CONFIDENCE))
            self._group_bounds.append(group_bounds(self._groups_of(i, X[given]), right, n_groups))
        self.bounds_ = np.asarray(whole, dtype=np.float64)

    def _groups_of(self, i: int, X: Any) -> NDArray[np.intp]:
        """Number of the equivalence class of each row; the nearest one for a leaf not seen."""
        found = np.searchsorted(self._group_names[i], _equivalence(self.estimators_[i], X))
        return np.minimum(found, len(self._group_names[i]) - 1)

    def _votes(self, X: Any) -> NDArray[np.float64]:
        n_classes = len(self.classes_)
        # A little for every class: no confidence interval ends at one.
        total = np.full((X.shape[0], n_classes), 1e-3)
        for i, estimator in enumerate(self.estimators_):
            middle = self._group_bounds[i].mean(axis=1)[self._groups_of(i, X)]
            predicted = np.asarray(estimator.predict(X), dtype=np.intp)
            total += middle[:, None] * one_hot(predicted, n_classes)
        return np.asarray(total / total.sum(axis=1, keepdims=True))


def _equivalence(estimator: Any, X: Any) -> NDArray[Any]:
    """Leaves of a tree, and predicted labels of any other classifier."""
    if isinstance(estimator, CalibratedTreeClassifier):
        estimator = estimator.estimator_
    if isinstance(estimator, DecisionTreeClassifier):
        return np.asarray(estimator.apply(X))
    return np.asarray(estimator.predict(X))
