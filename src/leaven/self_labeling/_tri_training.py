"""Tri-training: where two of three classifiers agree, they teach the third."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from leaven._compat import HasMethods, Interval
from leaven._labels import UNLABELED, one_hot
from leaven.base import seeded_clone, take_rows
from leaven.self_labeling._meta import (
    MetaClassifierMixin,
    class_probabilities,
    fit_classifier,
    predict_in_blocks,
)


def bootstrap_rows(
    codes: NDArray[np.intp], n_classes: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Draw as many rows as there are, with replacement, and add a row of each class missed.

    Few labels make it likely that a draw misses a class, and a classifier of one class less
    could never agree on it.
    """
    rows = rng.randint(len(codes), size=len(codes))
    seen = np.bincount(codes[rows], minlength=n_classes) > 0
    missed = [rng.choice(np.flatnonzero(codes == code)) for code in np.flatnonzero(~seen)]
    return np.concatenate([rows, np.asarray(missed, dtype=np.intp)])


def joint_error(
    first: NDArray[np.intp], second: NDArray[np.intp], truth: NDArray[np.intp]
) -> float:
    """Return the share of wrong labels among the rows on which two classifiers agree.

    Without agreement anywhere it is 0.5, the start value of the bound, which stops them
    from teaching.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._tri_training import joint_error
    >>> joint_error(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]), np.array([0, 0, 1, 0]))
    0.3333333333333333
    """
    agree = first == second
    return float(np.mean(first[agree] != truth[agree])) if agree.any() else 0.5


def additions_allowed(error: float, n_agreed: int, last_error: float, last_count: int) -> int:
    """Return how many of the agreed rows may train the third classifier, 0 for none.

    The bound on the noise that Zhou and Li (2005) derive from Angluin and Laird (1988): a
    round may teach only if ``e_t |L_t| < e_{t-1} |L_{t-1}|`` and ``|L_t| > |L_{t-1}|``,
    with ``e_t < e_{t-1}`` (their equation 9). Where too many rows are agreed on,
    ``ceil(e_{t-1} |L_{t-1}| / e_t - 1)`` of them meet the bound (equation 10), if that is
    still more than |L_{t-1}|, or ``|L_{t-1}| > e_t / (e_{t-1} - e_t)`` (equation 11).

    Parameters
    ----------
    error : float
        e_t, the error of the two teachers.
    n_agreed : int
        Unlabeled rows on which they agree.
    last_error, last_count : float and int
        e_{t-1} and |L_{t-1}|; see :func:`first_count` for the first round.

    Examples
    --------
    >>> from leaven.self_labeling._tri_training import additions_allowed
    >>> additions_allowed(0.1, 30, 0.5, 1)
    4
    >>> additions_allowed(0.1, 30, 0.2, 20)
    30
    >>> additions_allowed(0.2, 30, 0.1, 20)
    0
    """
    if error >= last_error or n_agreed <= last_count:
        return 0
    # The bounds are strict; rounding must not carry an equality over them.
    bound = last_error * last_count
    if error * n_agreed < bound * (1 - 1e-12):
        return n_agreed
    size = int(np.ceil(bound / error - 1 - 1e-9))
    return size if size > last_count else 0


def first_count(error: float, last_error: float) -> int:
    """Return the |L_{t-1}| with which the first lesson is measured.

    The smallest that equation 11 of Zhou and Li (2005) allows.

    Examples
    --------
    >>> from leaven.self_labeling._tri_training import first_count
    >>> first_count(0.4, 0.5)
    5
    """
    return int(np.floor(error / (last_error - error) + 1 + 1e-9))


class TriTrainingClassifier(MetaClassifierMixin, BaseEstimator):
    """Three classifiers, of which two that agree teach the third.

    The three start from bootstrap samples of the labeled rows. In each round an unlabeled
    row on which two of them agree is a training row for the third, provided that the
    estimated error of the two is small enough for the number of rows; if they agree on too
    many, a random part of them is used. It ends when none of the three may learn more. The
    majority of the three decides [1]_.

    No views and no probabilities are needed. The three must differ to be of use to each
    other: with one label a class the bootstrap samples are all the same, and only an
    unstable or randomized estimator, such as a tree on random features, gives three
    opinions.

    Parameters
    ----------
    estimator : classifier
    max_iter : int, default=None
        Rounds at most. None is no limit; it ends by itself, since the error bound of a
        classifier falls each time that it learns.
    random_state : int, RandomState or None, default=None
        Draws the bootstrap and the subsamples, and seeds an estimator without a seed.
    verbose : int, default=0
        1 logs a line for each round to the logger ``leaven``.
    progress : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list of three classifiers
    transduction_ : ndarray of shape (n_samples,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Shares of the three votes.
    errors_ : ndarray of shape (3,)
        The estimated error of the two teachers of each classifier at its last lesson; 0.5
        for one that was never taught.
    n_taught_ : ndarray of shape (3,)
        Unlabeled rows that each classifier was last taught with.
    n_iter_ : int
    converged_ : bool
        Whether the rounds ended by themselves.
    objective_trace_ : ndarray of shape (n_iter_,)
        The sum of ``errors_`` after each round. It never rises.

    See Also
    --------
    CoTrainingClassifier : Two classifiers on two views.

    References
    ----------
    .. [1] Z.-H. Zhou and M. Li, "Tri-training: exploiting unlabeled data using three
       classifiers", IEEE Transactions on Knowledge and Data Engineering 17, 2005.
    .. [2] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 2.2.4.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from leaven.self_labeling import TriTrainingClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> X = y[:, None] * 3.0 + rng.normal(size=(100, 4))
    >>> few = np.where(np.arange(100) % 10 == 0, y, -1)
    >>> model = TriTrainingClassifier(DecisionTreeClassifier(), random_state=0).fit(X, few)
    >>> model.converged_, bool(model.score(X, y) > 0.9)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "max_iter": [None, Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "progress": ["boolean"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        max_iter: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        progress: bool = False,
    ) -> None:
        self.estimator = estimator
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.progress = progress

    def fit(self, X: Any, y: Any) -> TriTrainingClassifier:
        """Fit on rows ``X``, of which some have a label in ``y``.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Unlabeled rows are -1 among integers, and None, NaN or pandas.NA elsewhere.

        Returns
        -------
        self
        """
        X, codes = self._validate_rows_fit(X, y)
        rng = check_random_state(self.random_state)
        labeled = np.flatnonzero(codes != UNLABELED)
        unlabeled = np.flatnonzero(codes == UNLABELED)
        self.estimators_ = [seeded_clone(self.estimator, rng) for _ in range(3)]
        for estimator in self.estimators_:
            rows = labeled[bootstrap_rows(codes[labeled], len(self.classes_), rng)]
            fit_classifier(estimator, take_rows(X, rows), self.classes_[codes[rows]])
        # The predictions for all rows; refreshed when a classifier has learned.
        votes = [self._votes(estimator, X) for estimator in self.estimators_]
        self.errors_ = np.full(3, 0.5)
        self.n_taught_ = np.zeros(3, dtype=np.intp)
        counts = [0, 0, 0]
        trace: list[float] = []
        self.n_iter_ = 0
        self.converged_ = False
        with self._reporter(self.max_iter) as report:
            while not self.converged_ and (self.max_iter is None or self.n_iter_ < self.max_iter):
                self.n_iter_ += 1
                lessons: dict[int, tuple[NDArray[np.intp], float]] = {}
                for i in range(3):
                    first, second = (votes[j] for j in range(3) if j != i)
                    error = joint_error(first[labeled], second[labeled], codes[labeled])
                    last_error = float(self.errors_[i])
                    if counts[i] == 0 and error < last_error:
                        counts[i] = first_count(error, last_error)
                    agreed = unlabeled[first[unlabeled] == second[unlabeled]]
                    size = additions_allowed(error, len(agreed), last_error, counts[i])
                    if size:
                        if size < len(agreed):
                            agreed = np.sort(rng.choice(agreed, size, replace=False))
                        lessons[i] = agreed, error
                # All three lessons are drawn up before any is taught, as in the paper.
                teachers = list(votes)
                for i, (agreed, error) in lessons.items():
                    known = codes.copy()
                    known[agreed] = teachers[(i + 1) % 3][agreed]
                    rows = np.flatnonzero(known != UNLABELED)
                    estimator = self.estimators_[i]
                    fit_classifier(estimator, take_rows(X, rows), self.classes_[known[rows]])
                    votes[i] = self._votes(estimator, X)
                    self.errors_[i], self.n_taught_[i] = error, len(agreed)
                    counts[i] = len(agreed)
                self.converged_ = not lessons
                trace.append(float(self.errors_.sum()))
                report(
                    self.n_iter_,
                    "round %d taught %d of 3 classifiers",
                    self.n_iter_,
                    len(lessons),
                )
        self.objective_trace_ = np.asarray(trace)
        self._store_transduction(predict_in_blocks(self._shares, X, np.arange(len(codes))), codes)
        return self

    def _votes(self, estimator: Any, X: Any) -> NDArray[np.intp]:
        return predict_in_blocks(
            lambda block: np.searchsorted(self.classes_, estimator.predict(block)),
            X,
            np.arange(X.shape[0]),
        )

    def _shares(self, X: Any) -> NDArray[np.float64]:
        """The shares of the votes; where all three differ, the mean probabilities."""
        n_classes = len(self.classes_)
        shares = np.zeros((X.shape[0], n_classes))
        for estimator in self.estimators_:
            shares += one_hot(np.searchsorted(self.classes_, estimator.predict(X)), n_classes)
        shares /= 3
        undecided = np.flatnonzero(shares.max(axis=1) < 0.5)
        if len(undecided):
            rest = take_rows(X, undecided)
            shares[undecided] = sum(
                class_probabilities(estimator, self.classes_, rest) / 3
                for estimator in self.estimators_
            )
        return shares

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the shares of the three votes.

        Where all three differ, the mean of their class probabilities takes the place of
        the shares, so that :meth:`predict` has a winner.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
        """
        return self._shares(self._validate_rows(X))
