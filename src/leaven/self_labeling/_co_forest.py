"""Co-forest: every tree of a random forest is taught by all the others (Li and Zhou, 2007)."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier

from leaven._compat import HasMethods, Interval
from leaven._labels import UNLABELED, one_hot
from leaven.base import seeded_clone
from leaven.self_labeling._committee import COMMON_CONSTRAINTS, CommitteeMixin
from leaven.self_labeling._meta import class_probabilities
from leaven.self_labeling._tri_training import bootstrap_rows


def concomitant_errors(
    votes: NDArray[np.intp], out_of_bag: NDArray[np.bool_], truth: NDArray[np.intp], n_classes: int
) -> NDArray[np.float64]:
    """Out-of-bag error of each tree's companions, all trees but itself.

    A labeled row is voted on by those companions that did not train on it. Rows that nobody may
    vote on do not count; where there is no such row at all the error is 0.5, which stops the
    teaching.

    Parameters
    ----------
    votes : ndarray of shape (n_trees, n_labeled)
        The predicted codes.
    out_of_bag : bool array of shape (n_trees, n_labeled)
        Which rows each tree has not seen.
    truth : ndarray of shape (n_labeled,)
    n_classes : int

    Returns
    -------
    errors : ndarray of shape (n_trees,)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._co_forest import concomitant_errors
    >>> votes = np.array([[0, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> free = np.ones((3, 3), dtype=bool)
    >>> concomitant_errors(votes, free, np.array([0, 1, 1]), 2)
    array([0.        , 0.33333333, 0.33333333])
    """
    ballots = one_hot(votes.ravel(), n_classes).reshape(*votes.shape, n_classes)
    ballots = ballots * out_of_bag[:, :, None]
    others = ballots.sum(axis=0) - ballots
    heard = others.sum(axis=2) > 0
    wrong = (others.argmax(axis=2) != truth) & heard
    counted = heard.sum(axis=1)
    return np.where(counted > 0, wrong.sum(axis=1) / np.maximum(counted, 1), 0.5)


class CoForestClassifier(CommitteeMixin, BaseEstimator):
    """Random forest whose trees teach each other with unlabeled rows.

    Each tree starts from a bootstrap sample of the labeled rows. In a round, the companions of a
    tree (all others) label a random part of the unlabeled rows; those on which more than
    ``threshold`` of them agree are added to what the tree is trained on, provided that the
    out-of-bag error of the companions and the number of rows keep the noise below that of the
    round before [1]_: ``e_t W_t < e_{t-1} W_{t-1}``, with ``W`` the sum of the confidences. It
    ends when no tree may learn.

    Parameters
    ----------
    estimator : classifier, default=None
        The tree; None stands for ``DecisionTreeClassifier(max_features="sqrt")``, a tree of a
        random forest.
    n_estimators : int, default=50
        Trees. The source uses 6; more of them make the out-of-bag error less of a guess.
    threshold : float in (0, 1), default=0.75
        Share of the companions that must agree on a row, the value of [1]_.
    max_iter : int, default=20
        Rounds at most.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list of classifiers
    errors_ : ndarray of shape (n_estimators,)
        The companions' error at each tree's last lesson; 0.5 for one that was never taught.
    n_taught_ : ndarray of shape (n_estimators,)
        Unlabeled rows of that lesson.
    transduction_ : ndarray of shape (n_samples,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        The mean of the trees' class probabilities.
    n_iter_ : int
    converged_ : bool
        Whether the rounds ended by themselves.
    objective_trace_ : ndarray of shape (n_iter_,)
        The sum of ``errors_`` after each round; it never rises.

    See Also
    --------
    TriTrainingClassifier : Three classifiers, of which two teach the third.
    sklearn.ensemble.RandomForestClassifier : Without the unlabeled rows.

    References
    ----------
    .. [1] M. Li and Z.-H. Zhou, "Improve computer-aided diagnosis with machine learning
       techniques using undiagnosed samples", IEEE Transactions on Systems, Man, and
       Cybernetics A 37(6), 2007.

    Examples
    --------
    >>> from leaven.self_labeling import CoForestClassifier
    >>> X = [[0.0], [0.2], [0.4], [0.6], [5.0], [5.2], [5.4], [5.6]]
    >>> y = [0, -1, 0, -1, 1, -1, 1, -1]
    >>> CoForestClassifier(n_estimators=9, random_state=0).fit(X, y).transduction_
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [None, HasMethods(["fit", "predict", "predict_proba"])],
        "n_estimators": [Interval(Integral, 3, None, closed="left")],
        "threshold": [Interval(Real, 0, 1, closed="neither")],
        **COMMON_CONSTRAINTS,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        threshold: float = 0.75,
        max_iter: int = 20,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.threshold = threshold
        self.max_iter = max_iter
        self.random_state = random_state

    def _teach(
        self, X: Any, codes: NDArray[np.intp], rng: np.random.RandomState
    ) -> Sequence[float]:
        n_classes, n_trees = len(self.classes_), self.n_estimators
        labeled, unlabeled = np.flatnonzero(codes != UNLABELED), np.flatnonzero(codes == UNLABELED)
        tree = self.estimator
        if tree is None:
            tree = DecisionTreeClassifier(max_features="sqrt")
        self.estimators_ = [seeded_clone(tree, rng) for _ in range(n_trees)]
        bags = [labeled[bootstrap_rows(codes[labeled], n_classes, rng)] for _ in range(n_trees)]
        for each, bag in zip(self.estimators_, bags, strict=True):
            each.fit(X[bag], codes[bag])
        out_of_bag = np.array([~np.isin(labeled, bag) for bag in bags])
        self.errors_ = np.full(n_trees, 0.5)
        self.n_taught_ = np.zeros(n_trees, dtype=np.intp)
        # A tenth of the labels, at most 100, as the weight before the first lesson.
        weights = np.full(n_trees, min(len(labeled) / 10, 100.0))
        trace: list[float] = []
        self.n_iter_, self.converged_ = 0, len(unlabeled) == 0
        while not self.converged_ and self.n_iter_ < self.max_iter:
            self.n_iter_ += 1
            votes = np.array([each.predict(X) for each in self.estimators_], dtype=np.intp)
            errors = concomitant_errors(votes[:, labeled], out_of_bag, codes[labeled], n_classes)
            counts = one_hot(votes.ravel(), n_classes).reshape(n_trees, -1, n_classes)
            total = counts.sum(axis=0)
            lessons = {}
            for i in np.flatnonzero(errors < self.errors_):
                rows, taught, weight = self._lesson(
                    (total - counts[i])[unlabeled] / (n_trees - 1),
                    unlabeled,
                    errors[i],
                    float(self.errors_[i] * weights[i]),
                    rng,
                )
                if len(rows) and errors[i] * weight < self.errors_[i] * weights[i]:
                    lessons[i] = rows, taught
                    weights[i] = weight
            # All lessons are drawn up before any is taught, so that the order does not matter.
            for i, (rows, taught) in lessons.items():
                bag = bags[i]
                self.estimators_[i].fit(np.vstack([X[bag], X[rows]]), np.r_[codes[bag], taught])
                self.errors_[i], self.n_taught_[i] = errors[i], len(rows)
            trace.append(float(self.errors_.sum()))
            self.converged_ = not lessons
        return trace

    def _lesson(
        self,
        shares: NDArray[np.float64],
        unlabeled: NDArray[np.intp],
        error: float,
        budget: float,
        rng: np.random.RandomState,
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], float]:
        """Draw the rows of a lesson: confident ones of a sample that keeps ``e W`` in bounds."""
        confidence, label = shares.max(axis=1), shares.argmax(axis=1)
        order = rng.permutation(len(unlabeled))
        if error > 0:
            # At most e_{t-1} W_{t-1} / e_t rows: their confidences are at most one each.
            order = order[: int(np.ceil(budget / error)) - 1 if budget > error else 0]
        chosen = np.sort(order[confidence[order] > self.threshold])
        return unlabeled[chosen], label[chosen], float(confidence[chosen].sum())

    def _votes(self, X: Any) -> NDArray[np.float64]:
        # Every bag holds a row of every class, so that all trees know all classes.
        codes = np.arange(len(self.classes_))
        found = [class_probabilities(each, codes, X) for each in self.estimators_]
        return np.asarray(np.mean(found, axis=0))
