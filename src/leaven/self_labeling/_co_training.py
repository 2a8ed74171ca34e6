"""Co-training: two classifiers on two views of the data label rows for each other."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from leaven._compat import Interval, StrOptions
from leaven._labels import UNLABELED
from leaven.base import seeded_clone
from leaven.self_labeling._meta import (
    HISTORY_COLUMNS,
    MetaClassifierMixin,
    RowStore,
    class_probabilities,
    fit_classifier,
    history_frame,
    predict_in_blocks,
    require_predict_proba,
)
from leaven.self_labeling._selection import class_quotas, top_per_class
from leaven.self_labeling._views import (
    fit_views,
    multiply_views,
    pair_of_estimators,
    take_view,
)


class CoTrainingClassifier(MetaClassifierMixin, BaseEstimator):
    """Two classifiers, each on its own columns, teach each other.

    In each round both are fitted on what is labeled, each labels the rows of a small pool
    that it is most sure of, in proportion to the classes, and these join the labeled set
    ([1]_, table 1). Probabilities of the two are multiplied:
    ``P(c|x) ∝ P(c|x1) P(c|x2)``.

    The assumptions: each view alone is enough to classify well, and the views are
    independent given the class, so that a row that is easy in one view is as good as drawn
    at random in the other.

    Parameters
    ----------
    estimator : classifier, or pair of classifiers
        With ``predict_proba``. A pair has one classifier for each view.
    views : pair or None, default=None
        Two views. Each is a list of column names or positions, a slice, a mask, a callable
        that is given ``X`` (:func:`sklearn.compose.make_column_selector`), or a transformer
        such as a ``ColumnTransformer``, which is fitted on all rows without labels. Shared
        columns are allowed, with a warning. None splits the columns at random into halves.
    teaching : {"cross", "shared"}, default="cross"
        Whether rows labeled by one view train only the other ([2]_, algorithm 3), or both
        views ([1]_). Where both views choose a row, the more confident label is shared.
    per_round : int or dict, default=None
        Rows that each view labels in a round, shared among the classes in proportion to the
        labeled rows, at least one each; or a dict from class to number (the p and n of
        [1]_). None: one for the smallest class, the others in proportion.
    pool_size : int, default=75
        Size of the pool that is drawn from the unlabeled rows and refilled after each
        round; None is all of them.
    max_iter : int, default=30
        Rounds at most; None is no limit. 75 and 30 are the values of [1]_.
    random_state : int, RandomState or None, default=None
        Splits the columns, draws the pool, and seeds estimators without a seed.
    verbose : int, default=0
        1 logs a line for each round to the logger ``leaven``.
    progress : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list of two classifiers
    views_ : tuple of two
        Column positions, or fitted transformers.
    labeled_iter_ : ndarray of shape (n_samples,)
        The round in which a row joined: 0 for rows given with a label, -1 for rows that
        never joined.
    transduction_ : ndarray of shape (n_samples,)
        The given label, or the prediction of the two final classifiers together.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    history_ : DataFrame
        A line for each label that was passed on: ``iteration``, ``row``, ``label``,
        ``confidence`` and ``view``, the number of the view that gave it.
    n_iter_ : int
    termination_condition_ : {"all_labeled", "max_iter"}
    converged_ : bool
        False when ``max_iter`` ended the rounds.
    objective_trace_ : ndarray of shape (n_iter_,)
        Rows without a label after each round.

    See Also
    --------
    CoEMClassifier : Passes probabilities for all rows instead of labels for some.
    TriTrainingClassifier : Three classifiers, no views needed.

    References
    ----------
    .. [1] A. Blum and T. Mitchell, "Combining labeled and unlabeled data with co-training",
       COLT 1998.
    .. [2] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 2.2.4.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leaven.self_labeling import CoTrainingClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> X = y[:, None] * 3.0 + rng.normal(size=(100, 4))
    >>> few = np.where(np.arange(100) % 25 == 0, y, -1)
    >>> model = CoTrainingClassifier(GaussianNB(), views=([0, 1], [2, 3]), random_state=0)
    >>> bool(model.fit(X, few).score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "teaching": [StrOptions({"cross", "shared"})],
        "per_round": [None, Interval(Integral, 1, None, closed="left"), Mapping],
        "pool_size": [None, Interval(Integral, 1, None, closed="left")],
        "max_iter": [None, Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "progress": ["boolean"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        views: Any = None,
        teaching: str = "cross",
        per_round: Any = None,
        pool_size: int | None = 75,
        max_iter: int | None = 30,
        random_state: Any = None,
        verbose: int = 0,
        progress: bool = False,
    ) -> None:
        self.estimator = estimator
        self.views = views
        self.teaching = teaching
        self.per_round = per_round
        self.pool_size = pool_size
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.progress = progress

    def fit(self, X: Any, y: Any) -> CoTrainingClassifier:
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
        pair = pair_of_estimators(self.estimator)
        X, codes = self._validate_rows_fit(X, y)
        rng = check_random_state(self.random_state)
        names = getattr(self, "feature_names_in_", None)
        self.views_ = fit_views(self.views, X, names, rng)
        parts = [take_view(X, view) for view in self.views_]
        stores = [RowStore(part) for part in parts]
        self.estimators_ = [seeded_clone(each, rng) for each in pair]
        quotas = self._quotas(codes)
        labels = [codes.copy(), codes.copy()]
        self.labeled_iter_ = np.where(codes == UNLABELED, -1, 0)
        # In random order: the pool is its head, which the rows behind it refill.
        untried = rng.permutation(np.flatnonzero(codes == UNLABELED))
        history: list[dict[str, Any]] = []
        left: list[int] = []
        self.n_iter_ = 0
        self._fit_both(stores, labels)
        total = len(untried)
        with self._reporter(total) as report:
            while len(untried) and (self.max_iter is None or self.n_iter_ < self.max_iter):
                self.n_iter_ += 1
                pool = np.sort(untried[: self.pool_size])
                lessons = [self._lesson(v, parts[v], pool, quotas) for v in range(2)]
                if self.teaching == "shared":
                    lessons = _settle(*lessons)
                for view, (rows, given, confidence) in enumerate(lessons):
                    for pupil in (1 - view,) if self.teaching == "cross" else (0, 1):
                        labels[pupil][rows] = given
                    self.labeled_iter_[rows] = self.n_iter_
                    history.append(
                        {
                            "iteration": self.n_iter_,
                            "row": rows,
                            "label": self.classes_[given],
                            "confidence": confidence,
                            "view": view,
                        }
                    )
                untried = untried[self.labeled_iter_[untried] < 0]
                left.append(len(untried))
                self._fit_both(stores, labels)
                report(
                    total - len(untried), "round %d, %d rows are left", self.n_iter_, len(untried)
                )
        self.termination_condition_ = "max_iter" if len(untried) else "all_labeled"
        self.converged_ = not len(untried)
        self.objective_trace_ = np.asarray(left, dtype=np.intp)
        self.history_: pd.DataFrame = history_frame(history, (*HISTORY_COLUMNS, "view"))
        rows = np.arange(len(codes))
        first, second = (self._distributions(v, parts[v], rows) for v in range(2))
        self._store_transduction(multiply_views(first, second), codes)
        return self

    def _wrapped(self) -> list[Any]:
        return list(pair_of_estimators(self.estimator))

    def _quotas(self, codes: NDArray[np.intp]) -> NDArray[np.intp]:
        n_classes = len(self.classes_)
        if not isinstance(self.per_round, Mapping):
            counts = np.bincount(codes[codes != UNLABELED], minlength=n_classes)
            return class_quotas(counts, self.per_round)
        wanted = dict(self.per_round)
        quotas = [wanted.pop(name, None) for name in self.classes_.tolist()]
        if wanted or not all(isinstance(q, Integral) and int(q) >= 1 for q in quotas):
            raise ValueError(
                f"per_round must give every class a number of rows, at least 1; the classes are "
                f"{self.classes_.tolist()}, per_round is {dict(self.per_round)}."
            )
        return np.asarray(quotas, dtype=np.intp)

    def _fit_both(self, stores: list[RowStore], labels: list[NDArray[np.intp]]) -> None:
        for estimator, store, known in zip(self.estimators_, stores, labels, strict=True):
            rows = np.flatnonzero(known != UNLABELED)
            fit_classifier(estimator, store.take(rows), self.classes_[known[rows]])
            require_predict_proba(
                self,
                estimator,
                "Wrap it in sklearn.calibration.CalibratedClassifierCV, or use "
                "TriTrainingClassifier, which needs predictions only.",
            )

    def _lesson(
        self, view: int, part: Any, pool: NDArray[np.intp], quotas: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any]]:
        """What one view passes on: rows, codes and confidences."""
        proba = self._distributions(view, part, pool)
        predicted, confidence = proba.argmax(axis=1), proba.max(axis=1)
        chosen = top_per_class(confidence, predicted, quotas)
        return pool[chosen], predicted[chosen], confidence[chosen]

    def _distributions(self, view: int, part: Any, rows: NDArray[np.intp]) -> NDArray[Any]:
        estimator = self.estimators_[view]
        return predict_in_blocks(
            lambda block: class_probabilities(estimator, self.classes_, block), part, rows
        )

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Multiply the class probabilities of the two views.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
        """
        return multiply_views(*self.predict_proba_by_view(X))

    def predict_proba_by_view(self, X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Predict class probabilities with each view by itself.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        first, second : ndarray of shape (n_samples, n_classes)
        """
        X = self._validate_rows(X)
        first, second = (
            class_probabilities(estimator, self.classes_, take_view(X, view))
            for estimator, view in zip(self.estimators_, self.views_, strict=True)
        )
        return first, second


Lesson = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any]]


def _settle(first: Lesson, second: Lesson) -> list[Lesson]:
    """Leave a row that both views chose to the more confident one (the first, if equal)."""
    _, at_first, at_second = np.intersect1d(first[0], second[0], return_indices=True)
    second_wins = second[2][at_second] > first[2][at_first]
    keep_first = np.ones(len(first[0]), dtype=bool)
    keep_second = np.ones(len(second[0]), dtype=bool)
    keep_first[at_first[second_wins]] = False
    keep_second[at_second[~second_wins]] = False
    return [
        (first[0][keep_first], first[1][keep_first], first[2][keep_first]),
        (second[0][keep_second], second[1][keep_second], second[2][keep_second]),
    ]
