"""Co-EM: two views pass class probabilities to each other until they settle."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from leaven._compat import Interval, StrOptions
from leaven._labels import UNLABELED, one_hot
from leaven.base import seeded_clone, take_rows
from leaven.exceptions import ConvergenceWarning, LeavenWarning
from leaven.self_labeling._meta import (
    MetaClassifierMixin,
    class_probabilities,
    fit_classifier,
    predict_in_blocks,
    require_predict_proba,
    require_sample_weight,
)
from leaven.self_labeling._views import (
    fit_views,
    multiply_views,
    pair_of_estimators,
    take_view,
)

_FOLDS = 5  # of the few labels; two suffice to notice a fall to chance
_SMALLEST_SHARE = 0.1  # of its share of the labels; labels are seldom drawn more unequally
_SMALLEST_WEIGHT = 1e-8  # a row that counts less moves no estimate, and is left out


def soft_training_set(
    distributions: NDArray[Any],
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any]]:
    """Turn class probabilities into a weighted training set: each row once per class.

    Weights below 1e-8 are left out: they would cost a copy of the row each.

    Parameters
    ----------
    distributions : ndarray of shape (n_rows, n_classes)

    Returns
    -------
    rows, codes, weights : ndarrays of the same length

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._co_em import soft_training_set
    >>> rows, codes, weights = soft_training_set(np.array([[1.0, 0.0], [0.25, 0.75]]))
    >>> rows.tolist(), codes.tolist(), weights.tolist()
    ([0, 1, 1], [0, 0, 1], [1.0, 0.25, 0.75])
    """
    rows, codes = np.nonzero(distributions > _SMALLEST_WEIGHT)
    return rows, codes, distributions[rows, codes]


def collapse_reason(
    accuracy: float,
    supervised: float | None,
    shares: NDArray[np.float64],
    expected: NDArray[np.float64],
) -> str | None:
    """Say why the end of co-EM is worse than its start, or return None.

    Parameters
    ----------
    accuracy : float
        Of the classifiers at the end, on labeled rows that they have seen.
    supervised : float or None
        Of supervised classifiers on labeled rows that they have not seen.
    shares, expected : ndarray of shape (n_classes,)
        Of the classes among the unlabeled rows, and among the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._co_em import collapse_reason
    >>> collapse_reason(0.5, 0.75, np.array([0.4, 0.6]), np.array([0.5, 0.5]))
    'it gets 50% of the labeled rows right, held-out supervised classifiers get 75%'
    >>> collapse_reason(0.8, 0.75, np.array([0.99, 0.01]), np.array([0.5, 0.5]))
    'a class with 50% of the labels is left with 1% of the unlabeled rows'
    """
    if supervised is not None and accuracy < supervised:
        return (
            f"it gets {accuracy:.0%} of the labeled rows right, held-out supervised classifiers "
            f"get {supervised:.0%}"
        )
    worst = int(np.argmin(shares / expected))
    if shares[worst] < _SMALLEST_SHARE * expected[worst]:
        return (
            f"a class with {expected[worst]:.0%} of the labels is left with {shares[worst]:.0%} "
            "of the unlabeled rows"
        )
    return None


class CoEMClassifier(MetaClassifierMixin, BaseEstimator):
    """Expectation-maximization across two views.

    The first view's classifier is fitted on the labeled rows and gives every unlabeled row
    class probabilities. The second view's classifier is fitted on the labeled rows and on
    the unlabeled ones, each once per class with the probability as its weight, and gives new
    probabilities, which train the first, and so on until they no longer change [1]_. The
    two are multiplied at the end: ``P(c|x) ∝ P(c|x1) P(c|x2)``.

    Where co-training labels a few rows for good, co-EM labels all rows in every round and
    may change its mind.

    Parameters
    ----------
    estimator : classifier, or pair of classifiers
        With ``predict_proba``, and ``sample_weight`` in ``fit`` (for a pipeline: of its last
        step). A pair has one classifier for each view.
    views : pair or None, default=None
        Two views, as in :class:`CoTrainingClassifier`; None splits the columns at random.
    max_iter : int, default=100
        Rounds at most.
    collapse : {"warn", "stop", "ignore"}, default="warn"
        What to do when the views have led each other astray, see Notes: warn and keep the
        answer, or warn and go back to the classifiers of the labeled rows alone.
    tol : float, default=1e-3
        The rounds end when, averaged over the unlabeled rows and both views, no more
        probability than this moves from one class to another.
    random_state : int, RandomState or None, default=None
        Splits the columns, and seeds estimators without a seed.
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
    transduction_ : ndarray of shape (n_samples,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    n_iter_ : int
        Rounds; in each both views are fitted once.
    converged_ : bool
    collapsed_ : bool
        Whether the end is worse than the start by the labels, see Notes.
    objective_trace_ : ndarray of shape (n_iter_,)
        The probability on which the views disagree after each round, averaged over the
        unlabeled rows: half the absolute difference. It falls in general; that it never
        rises is not guaranteed, as co-EM maximizes no joint likelihood.

    See Also
    --------
    CoTrainingClassifier : Passes labels of few, confident rows.

    Notes
    -----
    A fit holds each unlabeled row once for every class to which it gives probability: at
    most ``n_classes`` copies of a view, and about one when the classifiers are as sure as
    naive Bayes is on text.

    Views that are too weak teach each other nonsense, and all unlabeled rows may end in one
    class. That is detected by the labels: the two classifiers at the end, which have seen them,
    get fewer of them right than classifiers of the other labels alone, by cross-validation of
    the supervised fit; or a class is left with less than a tenth of its share of the labels.

    References
    ----------
    .. [1] K. Nigam and R. Ghani, "Analyzing the effectiveness and applicability of
       co-training", CIKM 2000.
    .. [2] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, sections 2.2.4 and 2.5.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leaven.self_labeling import CoEMClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> X = y[:, None] * 3.0 + rng.normal(size=(100, 4))
    >>> few = np.where(np.arange(100) % 25 == 0, y, -1)
    >>> model = CoEMClassifier(GaussianNB(), views=([0, 1], [2, 3])).fit(X, few)
    >>> model.converged_, bool(model.score(X, y) > 0.95)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "collapse": [StrOptions({"warn", "stop", "ignore"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "progress": ["boolean"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        views: Any = None,
        max_iter: int = 100,
        collapse: str = "warn",
        tol: float = 1e-3,
        random_state: Any = None,
        verbose: int = 0,
        progress: bool = False,
    ) -> None:
        self.estimator = estimator
        self.views = views
        self.max_iter = max_iter
        self.collapse = collapse
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.progress = progress

    def fit(self, X: Any, y: Any) -> CoEMClassifier:
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
        for each in pair:
            require_sample_weight(self, each, "Use CoTrainingClassifier, which needs no weights.")
        rng = check_random_state(self.random_state)
        names = getattr(self, "feature_names_in_", None)
        self.views_ = fit_views(self.views, X, names, rng)
        parts = [take_view(X, view) for view in self.views_]
        self.estimators_ = [seeded_clone(each, rng) for each in pair]
        seed = int(rng.randint(np.iinfo(np.int32).max))
        unlabeled = np.flatnonzero(codes == UNLABELED)
        # Rows without a label are all zero here, so the first fit sees the labeled rows only.
        teacher = one_hot(codes, len(self.classes_))
        soft = [np.zeros_like(teacher), np.zeros_like(teacher)]
        trace: list[float] = []
        self.n_iter_ = 0
        self.converged_ = False
        with self._reporter(self.max_iter) as report:
            while not self.converged_ and self.n_iter_ < self.max_iter:
                self.n_iter_ += 1
                moved = 0.0
                for view in range(2):
                    self._fit_soft(view, parts[view], teacher)
                    fresh = self._distributions(view, parts[view], unlabeled)
                    moved += _mean_shift(fresh, soft[view][unlabeled]) / 2
                    soft[view][unlabeled] = fresh
                    teacher[unlabeled] = fresh
                trace.append(_mean_shift(soft[0][unlabeled], soft[1][unlabeled]))
                # With nothing to pass on, the first round is the supervised fit.
                self.converged_ = not len(unlabeled) or moved <= self.tol
                report(self.n_iter_, "round %d, views disagree on %.3g", self.n_iter_, trace[-1])
        if not self.converged_:
            warnings.warn(
                f"CoEMClassifier did not settle in max_iter={self.max_iter} rounds: {moved:.2g} of "
                f"the probability still moves, tol is {self.tol:g}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.objective_trace_ = np.asarray(trace)
        self.collapsed_ = False
        if self.collapse != "ignore" and len(unlabeled):
            soft = self._check_collapse(parts, codes, soft, seed)
        self._store_transduction(multiply_views(soft[0], soft[1]), codes)
        return self

    def _check_collapse(
        self,
        parts: list[Any],
        codes: NDArray[np.intp],
        soft: list[NDArray[Any]],
        seed: int,
    ) -> list[NDArray[Any]]:
        """Set ``collapsed_``, warn, and return the probabilities to keep."""
        given, free = np.flatnonzero(codes != UNLABELED), np.flatnonzero(codes == UNLABELED)
        truth = codes[given]
        end = multiply_views(*(self._distributions(v, parts[v], given) for v in range(2)))
        share = np.bincount(truth) / len(truth)
        answer = multiply_views(soft[0][free], soft[1][free]).argmax(axis=1)
        reason = collapse_reason(
            float((end.argmax(axis=1) == truth).mean()),
            self._held_out_accuracy(parts, codes, given, seed),
            np.bincount(answer, minlength=len(share)) / len(free),
            share,
        )
        self.collapsed_ = reason is not None
        if reason is None:
            return soft
        backwards = self.collapse == "stop"
        warnings.warn(
            f"CoEMClassifier collapsed: {reason}. "
            + (
                "The classifiers of the labeled rows alone are kept."
                if backwards
                else "The views are too weak for each other: give better views=, use "
                "CoTrainingClassifier, or set collapse='stop' to fall back to the labeled rows."
            ),
            LeavenWarning,
            stacklevel=3,
        )
        if not backwards:
            return soft
        alone = one_hot(codes, len(self.classes_))
        for view in range(2):
            self._fit_soft(view, parts[view], alone)
            soft[view][free] = self._distributions(view, parts[view], free)
        return soft

    def _held_out_accuracy(
        self, parts: list[Any], codes: NDArray[np.intp], given: NDArray[np.intp], seed: int
    ) -> float | None:
        """Accuracy of the two supervised classifiers by cross-validation, if there are folds."""
        truth = codes[given]
        n_folds = min(_FOLDS, int(np.bincount(truth).min()))
        if n_folds < 2:
            return None
        right = 0
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        for train, test in folds.split(given[:, None], truth):
            found = []
            for view, part in enumerate(parts):
                fitted = clone(self.estimators_[view])
                fit_classifier(fitted, take_rows(part, given[train]), self.classes_[truth[train]])
                rows = take_rows(part, given[test])
                found.append(class_probabilities(fitted, self.classes_, rows))
            right += int((multiply_views(*found).argmax(axis=1) == truth[test]).sum())
        return right / len(given)

    def _wrapped(self) -> list[Any]:
        return list(pair_of_estimators(self.estimator))

    def _fit_soft(self, view: int, part: Any, teacher: NDArray[Any]) -> None:
        rows, codes, weights = soft_training_set(teacher)
        estimator = self.estimators_[view]
        fit_classifier(estimator, take_rows(part, rows), self.classes_[codes], weights)
        require_predict_proba(
            self, estimator, "Wrap it in sklearn.calibration.CalibratedClassifierCV."
        )

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


def _mean_shift(new: NDArray[Any], old: NDArray[Any]) -> float:
    """Half the absolute difference of two sets of distributions, averaged over the rows."""
    return float(np.abs(new - old).sum(axis=1).mean() / 2) if len(new) else 0.0
