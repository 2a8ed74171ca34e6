"""Self-training: a classifier that learns from its own most confident answers."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from leaven._compat import HasMethods, Interval, StrOptions
from leaven._labels import UNLABELED, one_hot
from leaven.self_labeling._meta import (
    MetaClassifierMixin,
    RowStore,
    class_probabilities,
    fit_classifier,
    history_frame,
    predict_in_blocks,
    require_predict_proba,
    require_sample_weight,
)
from leaven.self_labeling._selection import (
    NearestLabeled,
    select_confident,
    select_for_every_class,
)

# As in scikit-learn's SelfTrainingClassifier, so that the two can be exchanged.
DEFAULT_THRESHOLD = 0.75


class SelfTrainingClassifier(MetaClassifierMixin, BaseEstimator):
    """Train a classifier, let it label what it is sure of, and train it again.

    In each round the estimator is fitted on the labeled rows, labels the unlabeled ones,
    and the most confident of them join the labeled set with that label; until none is
    left, none is confident enough, or ``max_iter`` rounds have passed ([1]_, algorithm 1).

    The assumption is that confident answers are right. A mistake that enters is never
    taken back, and the rounds after it build on it: :class:`SetredClassifier` filters
    the additions.

    Parameters
    ----------
    estimator : classifier
        Cloned, and fitted on the labeled rows in every round.
    threshold : float in (0, 1], default=None
        A row joins when its confidence is above this (at 1: equal to it).
    k_best : int, default=None
        Number of rows that join in a round. With ``threshold`` too, the ``k_best`` of those above
        it. With neither, ``threshold=0.75``, or ``k_best=1`` for distance confidence, as in
        figure 2.6 of [1]_.
    per_class : bool or "always", default=False
        Whether ``k_best`` counts for each predicted class, instead of all classes together.
        With ``"always"`` every class takes the rows with its own highest probability, also
        where another class is more probable, which keeps the classes balanced ([2]_, 2.4.1).
    weighted : bool, default=False
        Whether a row that joins has its confidence as ``sample_weight`` [3]_. Rows that were
        given a label weigh one.
    confidence : {"probability", "distance"}, default="probability"
        The probability of the predicted class, or the nearness ``1 / (1 + d)`` where ``d``
        is the distance to the nearest row that is labeled by now: nearest-neighbor
        self-training [4]_. Distances are taken between the rows of ``X`` as given; scale the
        columns before this classifier, not inside its estimator.
    metric : str or callable, default=None
        For distance confidence: a metric of
        :func:`sklearn.metrics.pairwise_distances`. None takes the metric of a
        nearest-neighbor estimator, and the Euclidean one otherwise.
    max_iter : int, default=None
        Rounds at most; None is no limit.
    verbose : int, default=0
        1 logs a line for each round to the logger ``leaven``.
    progress : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimator_ : classifier
        Fitted on all rows that are labeled at the end.
    labeled_iter_ : ndarray of shape (n_samples,)
        The round in which a row joined: 0 for rows given with a label, -1 for rows that
        never joined.
    transduction_ : ndarray of shape (n_samples,)
        The label with which a row joined; for rows that never joined, the prediction of
        ``estimator_`` (where scikit-learn leaves -1).
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Class probabilities in the round in which a row joined; of ``estimator_`` for rows
        that never joined.
    history_ : DataFrame
        A line for each row that joined: ``iteration``, ``row``, ``label``, ``confidence``,
        in the order of joining.
    n_iter_ : int
        Rounds in which unlabeled rows were looked at.
    termination_condition_ : {"all_labeled", "no_change", "max_iter"}
    converged_ : bool
        False when ``max_iter`` ended the rounds.
    objective_trace_ : ndarray of shape (n_iter_,)
        Rows without a label after each round, which is what the rounds bring down.

    See Also
    --------
    SetredClassifier : Tests each addition on a neighborhood graph.
    sklearn.semi_supervised.SelfTrainingClassifier : The same, with threshold or k best.

    Notes
    -----
    The results are those of scikit-learn's class of this name where the options overlap.
    Memory: no round copies ``X``. Labeled rows are gathered into one buffer that all rounds
    share, unlabeled rows are predicted in blocks of 4 MB. Sparse rows and data frames are
    gathered in each round (labeled rows) and block (unlabeled rows), and released.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 2.2.1.
    .. [2] L. Lefakis, "Transductive learning for document classification and handwritten
       character recognition", Utrecht University, section 2.4.1.
    .. [3] "Advanced method for decision: semi-supervised learning", course OS14, Université
       de technologie de Troyes, 2013: self-training, variation 2.
    .. [4] I. Triguero, J. A. Sáez, J. Luengo, S. García and F. Herrera, "On the
       characterization of noise filters for self-training semi-supervised in nearest
       neighbor classification", Neurocomputing 132, 2014.
    .. [5] D. Yarowsky, "Unsupervised word sense disambiguation rivaling supervised methods",
       ACL 1995.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from leaven.self_labeling import SelfTrainingClassifier
    >>> X = [[0.0], [1.0], [2.5], [6.0], [7.0], [9.0]]
    >>> y = [0, -1, -1, -1, -1, 1]
    >>> nearest = KNeighborsClassifier(n_neighbors=1)
    >>> model = SelfTrainingClassifier(nearest, confidence="distance").fit(X, y)
    >>> model.transduction_
    array([0, 0, 0, 1, 1, 1])
    >>> model.history_.round(2)
       iteration  row  label  confidence
    0          1    1      0        0.50
    1          2    2      0        0.40
    2          3    4      1        0.33
    3          4    3      1        0.50
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "threshold": [None, Interval(Real, 0, 1, closed="right")],
        "k_best": [None, Interval(Integral, 1, None, closed="left")],
        "per_class": ["boolean", StrOptions({"always"})],
        "weighted": ["boolean"],
        "confidence": [StrOptions({"probability", "distance"})],
        "metric": [None, str, callable],
        "max_iter": [None, Interval(Integral, 0, None, closed="left")],
        "verbose": ["verbose"],
        "progress": ["boolean"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        threshold: float | None = None,
        k_best: int | None = None,
        per_class: bool | str = False,
        weighted: bool = False,
        confidence: str = "probability",
        metric: Any = None,
        max_iter: int | None = None,
        verbose: int = 0,
        progress: bool = False,
    ) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.k_best = k_best
        self.per_class = per_class
        self.weighted = weighted
        self.confidence = confidence
        self.metric = metric
        self.max_iter = max_iter
        self.verbose = verbose
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SelfTrainingClassifier:
        """Fit on rows ``X``, of which some have a label in ``y``.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Unlabeled rows are -1 among integers, and None, NaN or pandas.NA elsewhere.
        sample_weight : array-like of shape (n_samples,), optional
            Given to the estimator, for rows with a label and those that joined; with
            ``weighted=True`` times the confidence of the latter.

        Returns
        -------
        self
        """
        X, codes = self._validate_rows_fit(X, y)
        threshold, k_best = self._criteria()
        if self.weighted:
            require_sample_weight(self, self.estimator, "Use weighted=False.")
        labels = codes.copy()
        weights = np.ones(len(codes)) if self.weighted else None
        if sample_weight is not None:
            require_sample_weight(self, self.estimator, "Fit without sample_weight.")
            weights = np.array(sample_weight, dtype=np.float64)
            if weights.shape != (len(codes),) or not (weights >= 0).all():
                raise ValueError(
                    f"sample_weight must be {len(codes)} numbers of 0 or more, got an array of "
                    f"shape {weights.shape}."
                )
        self.labeled_iter_ = np.where(codes == UNLABELED, -1, 0)
        distributions = np.zeros((len(codes), len(self.classes_)))
        self.estimator_ = clone(self.estimator)
        store = RowStore(X)
        gaps = NearestLabeled(X, labels, *self._metric()) if self.confidence == "distance" else None
        history: list[dict[str, Any]] = []
        left: list[int] = []
        self.n_iter_ = 0
        self.termination_condition_ = "max_iter"
        unlabeled = np.flatnonzero(labels == UNLABELED)
        total = len(unlabeled)
        with self._reporter(total) as report:
            while len(unlabeled) and (self.max_iter is None or self.n_iter_ < self.max_iter):
                self.n_iter_ += 1
                self._fit_labeled(store, labels, weights)
                chosen, new, confidence, given = self._label(X, unlabeled, gaps, threshold, k_best)
                rows = unlabeled[chosen]
                labels[rows] = new
                distributions[rows] = given
                self.labeled_iter_[rows] = self.n_iter_
                if weights is not None and self.weighted:
                    weights[rows] *= confidence
                if gaps is not None:
                    gaps.add(rows)
                names = self.classes_[new]
                history.append(
                    {
                        "iteration": self.n_iter_,
                        "row": rows,
                        "label": names,
                        "confidence": confidence,
                    }
                )
                unlabeled = np.flatnonzero(labels == UNLABELED)
                left.append(len(unlabeled))
                report(
                    total - len(unlabeled),
                    "round %d labeled %d rows, %d are left",
                    self.n_iter_,
                    len(rows),
                    len(unlabeled),
                )
                if not len(rows):
                    if self.n_iter_ != self.max_iter:
                        self.termination_condition_ = "no_change"
                    break
        if not len(unlabeled):
            self.termination_condition_ = "all_labeled"
        self._fit_labeled(store, labels, weights)
        self.converged_ = self.termination_condition_ != "max_iter"
        self.objective_trace_ = np.asarray(left, dtype=np.intp)
        self.history_: pd.DataFrame = history_frame(history)
        if len(unlabeled):
            distributions[unlabeled] = self._distributions(X, unlabeled)
        self._store_transduction(distributions, codes)
        return self

    def _criteria(self) -> tuple[float | None, int | None]:
        """The threshold and ``k_best`` to use, after a check that the options agree."""
        threshold, k_best = self.threshold, self.k_best
        if self.per_class and k_best is None:
            raise ValueError(
                f"per_class={self.per_class!r} says how k_best counts, but k_best is None. Set "
                "k_best, for example k_best=1."
            )
        if self.confidence == "probability":
            if self.metric is not None:
                raise ValueError(
                    f"metric={self.metric!r} is for confidence='distance', but confidence is "
                    "'probability'."
                )
            if threshold is None and k_best is None:
                threshold = DEFAULT_THRESHOLD
        else:
            if self.per_class == "always":
                raise ValueError(
                    "per_class='always' ranks the rows by class probability, which "
                    "confidence='distance' does not use. Set per_class=True."
                )
            if threshold is None and k_best is None:
                k_best = 1
        return threshold, k_best

    def _metric(self) -> tuple[Any, dict[str, Any] | None]:
        if self.metric is not None:
            return self.metric, None
        # A nearest-neighbor classifier decides by its own metric: confidence goes with it.
        metric = getattr(self.estimator, "metric", "euclidean")
        params = dict(getattr(self.estimator, "metric_params", None) or {})
        if metric == "minkowski":
            p = params.pop("p", getattr(self.estimator, "p", 2))
            if p == 2 and not params:
                return "euclidean", None
            params["p"] = p
        return metric, params or None

    def _fit_labeled(
        self, store: RowStore, labels: NDArray[np.intp], weights: NDArray[Any] | None
    ) -> None:
        rows = np.flatnonzero(labels != UNLABELED)
        fit_classifier(
            self.estimator_,
            store.take(rows),
            self.classes_[labels[rows]],
            None if weights is None else weights[rows],
        )
        if self.confidence == "probability":
            require_predict_proba(
                self,
                self.estimator_,
                "Set confidence='distance', which any classifier can use, or wrap the estimator "
                "in sklearn.calibration.CalibratedClassifierCV.",
            )

    def _label(
        self,
        X: Any,
        unlabeled: NDArray[np.intp],
        gaps: NearestLabeled | None,
        threshold: float | None,
        k_best: int | None,
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any], NDArray[Any]]:
        """Choose rows: their places in ``unlabeled``, codes, confidences, distributions."""
        n_classes = len(self.classes_)
        if gaps is not None:
            confidence = 1.0 / (1.0 + gaps.nearest[unlabeled])
            if not self.per_class:
                # The distances do not ask the estimator: it labels the chosen rows only.
                nobody = np.empty(0, dtype=np.intp)
                chosen = select_confident(
                    confidence,
                    nobody,
                    n_classes,
                    threshold=threshold,
                    k_best=k_best,
                    per_class=False,
                )
                given = self._distributions(X, unlabeled[chosen])
                return chosen, given.argmax(axis=1), confidence[chosen], given
        proba = self._distributions(X, unlabeled)
        if self.per_class == "always":
            assert k_best is not None
            chosen, codes = select_for_every_class(proba, threshold=threshold, k_best=k_best)
            given, confidence = proba[chosen], proba[chosen, codes]
            # The label counts, also where another class was more probable.
            other = given.argmax(axis=1) != codes
            given[other] = one_hot(codes[other], n_classes)
            return chosen, codes, confidence, given
        predicted = proba.argmax(axis=1)
        if gaps is None:
            confidence = proba.max(axis=1)
        chosen = select_confident(
            confidence,
            predicted,
            n_classes,
            threshold=threshold,
            k_best=k_best,
            per_class=bool(self.per_class),
        )
        return chosen, predicted[chosen], confidence[chosen], proba[chosen]

    def _distributions(self, X: Any, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        return predict_in_blocks(
            lambda block: class_probabilities(self.estimator_, self.classes_, block), X, rows
        )

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row with ``estimator_``.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        X = self._validate_rows(X)
        return np.asarray(self.estimator_.predict(X))

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Predict class probabilities with ``estimator_``.

        An estimator without probabilities gives one to the class that it predicts.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
        """
        X = self._validate_rows(X)
        return class_probabilities(self.estimator_, self.classes_, X)
