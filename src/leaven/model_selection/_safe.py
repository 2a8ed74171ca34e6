"""A weighted combination of methods, with probabilities and a verdict to rely on."""

from __future__ import annotations

import logging
import time
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from leaven._compat import Interval, StrOptions, num_samples
from leaven._labels import class_prior
from leaven._progress import progress_bar
from leaven._threads import one_thread_if_small
from leaven.base import TransductionMixin, class_probabilities
from leaven.model_selection._safe_report import SafeReport
from leaven.model_selection._scoring import labeled_scorer
from leaven.selection import (
    TRIED,
    Problem,
    Selection,
    Step,
    assess,
    make_candidates,
    prediction_sets,
    select,
    standard_problem,
)

_logger = logging.getLogger("leaven")

_CHECKS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


class SafeClassifier(TransductionMixin, BaseEstimator):
    r"""Combine several methods by what they do on labels that are held out.

    Every candidate is estimated from the few labels by cross-validation: held-out labeled rows
    become unlabeled rows, every unlabeled row stays in training, and all candidates see the
    same folds. The prediction is a combination of them, weighted by the likelihood of the
    held-out labels and calibrated by one temperature. The verdict is apart from it: how many
    labels are expected to be right, and whether the unlabeled rows helped, which is judged
    against the same combination without the candidates that learn from them. ``report_`` has
    both.

    Parameters
    ----------
    candidates : list or dict, default=None
        What to choose from. A list holds names of the defaults and pairs (name, estimator) of
        your own; a dict goes from name to estimator. An estimator is semi-supervised if it is
        a classifier of leaven or of ``sklearn.semi_supervised`` (a pipeline is what its last
        step is, and a search what its ``estimator`` is; see
        :func:`leaven.base.learns_from_unlabeled`); any other is supervised and is fitted on the
        labeled rows only. Own estimators get ``X`` as it is.
        The defaults, which None stands for, are in the notes.
    combine : bool, default=True
        Whether three candidates or more are combined. Otherwise one of them is taken: the best,
        or the best supervised one unless the gain by unlabeled rows exceeds its error.
    caution : float, default=1.0
        How many standard errors that gain must exceed, where one candidate is taken. With 0 any
        gain is enough.
    n_repeats : int or "auto", default="auto"
        How often to repeat the cross-validation with other folds. "auto" draws them twice for
        at most 50 labeled rows, and once for more. Equal repeats are left out.
    time_limit : float, default=None
        Seconds after which no other candidate is started, and within which the folds of one
        must be expected to end. The cheap ones come first; the first is always tried. The
        final fits come on top.
    scoring : str or callable, default="accuracy"
        What to compare by, as in :func:`labeled_scorer`; larger is better. The scorer sees the
        predictions of the held-out rows only.
    prior : {"labeled", "uniform"}, dict or array of shape (n_classes,), default="labeled"
        Class proportions for class mass normalization in the default candidates "harmonic"
        and "consistency", and in "spectral-transducer" if they are given as numbers. The
        combination is shifted to given or equal proportions as well, and with "labeled" to an
        estimate of those of the unlabeled rows, if ``scoring`` is the accuracy
        (:func:`~leaven.selection.class_shift`). None switches both off.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of the default candidates; own candidates keep their own.
    n_jobs : int, default=None
        Number of parallel jobs, over the folds of a candidate.
    progress : bool, default=False
        Whether to show a progress bar.
    verbose : int, default=0
        1 logs a line per candidate to the logger ``leaven``.

    Attributes
    ----------
    report_ : SafeReport
        The expected accuracy, the verdict, the table of candidates and their paired
        differences.
    best_estimator_ : estimator
        The combination, or the chosen candidate, fitted on all rows; a pipeline with the scaler
        where there is one. The graph methods among the defaults are fitted with one row for
        all unlabeled duplicates; ``transduction_`` below has all rows.
    unlabeled_helped_ : {"yes", "no", "hardly", "cannot tell"}
        See :class:`SafeReport`.
    classes_ : ndarray of shape (n_classes,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Class probabilities of the rows given to ``fit``. Those of the combination are
        calibrated; those of a single candidate are its own.
    held_out_scores_ : ndarray of shape (n_tested,)
        Held-out probability of the true class of each tested label, for ``predict_set``.
    likely_scores_ : ndarray of shape (n_levels,)
        Quantiles of the same for the unlabeled rows, if the probabilities hold.
    transduction_ : ndarray of shape (n_samples,)
    n_features_in_ : int

    See Also
    --------
    tune : Chooses a parameter of one method.
    sklearn.model_selection.GridSearchCV : Chooses by the mean alone; takes ``AdaptiveKFold``.

    Notes
    -----
    The default candidates are, supervised, "logistic-regression", "naive-bayes", "linear-svm",
    "rbf-svm", "extra-trees" and "random-forest"; semi-supervised, "harmonic" (with class mass
    normalization), "consistency", "spectral-transducer", "naive-bayes-em" (with the weight of
    unlabeled rows chosen among 0.01, 0.1 and 1), "self-training" of logistic regression and
    "self-trained-trees" (both with the most confident two fifths of the rows),
    "transductive-svm" and "cluster-then-label". Naive Bayes is of the kind that fits the data:
    Bernoulli for zeros and ones, multinomial for counts and nonnegative sparse rows, Gaussian
    otherwise. "transductive-svm" is skipped with more than 5,000 rows or three classes, trees
    and "rbf-svm" with sparse rows; give one as an estimator of your own to try it nevertheless.

    The combination is a log-linear pool: with the class probabilities :math:`p_m` of candidate
    m after a temperature of its own,
    :math:`p \propto \exp(\tau \sum_m w_m \log p_m)`. The weights are a posterior over the
    candidates, with a prior from other tables and a likelihood of the held-out labels whose
    learning rate is :math:`n^{-1/2}` [4]_ (:func:`leaven.selection.likelihood_weights`); the
    temperature :math:`\tau` is fitted to the same labels with a prior
    (:func:`leaven.selection.fit_temperature`). For the estimate of the combination itself, both
    are learned without the fold that is tested.

    All rows, labeled or not, take part in scaling the columns, for every candidate alike: a
    gain is then not due to better scaling.

    Each graph is built once, for all candidates and folds, unless its builder looks at the
    labels.

    The standard error of an accuracy or of a difference is one over labeled rows: for each row
    the outcomes are averaged over the repeats first, so that repeating does not make the error
    smaller than the number of labels allows; half a row in each cell of the table of matched
    pairs [1]_ keeps it from being zero with four rows. Other scores than the accuracy are no
    means over rows, and the corrected resampled variance over folds [2]_ is used.

    Where one candidate is taken, the score of the best supervised one is drawn towards the mean
    of all supervised ones by as much of its lead as chance explains [3]_: without this,
    unlabeled rows are measured by a score that is too good.

    With one label in every class nothing can be held out: the candidates are combined with the
    weights from other tables. The estimate is of one draw of labels, and right on average only.

    References
    ----------
    .. [1] A. Agresti and Y. Min, "Simple improved confidence intervals for comparing matched
       proportions", Statistics in Medicine 24, 2005.
    .. [2] C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning
       52, 2003.
    .. [3] B. Efron and C. Morris, "Data analysis using Stein's estimator and its
       generalizations", Journal of the American Statistical Association 70, 1975.
    .. [4] P. Grünwald, "The safe Bayesian: learning the learning rate via the mixability gap",
       ALT 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.datasets import make_two_moons
    >>> from leaven.model_selection import SafeClassifier
    >>> X, truth = make_two_moons(200, random_state=0)
    >>> y = np.full(200, -1)
    >>> for label in (0, 1):
    ...     y[np.flatnonzero(truth == label)[:10]] = label
    >>> model = SafeClassifier(["logistic-regression", "harmonic"], random_state=0).fit(X, y)
    >>> model.report_.choice, model.unlabeled_helped_
    ('harmonic', 'yes')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "candidates": [list, tuple, dict, None],
        "caution": [Interval(Real, 0, None, closed="left")],
        "combine": ["boolean"],
        "n_repeats": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "scoring": [str, callable],
        "prior": [StrOptions({"labeled", "uniform"}), "array-like", dict, None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "progress": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        candidates: Any = None,
        *,
        combine: bool = True,
        caution: float = 1.0,
        n_repeats: int | str = "auto",
        time_limit: float | None = None,
        scoring: Any = "accuracy",
        prior: Any = "labeled",
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool = False,
        verbose: int = 0,
    ) -> None:
        self.candidates = candidates
        self.caution = caution
        self.combine = combine
        self.n_repeats = n_repeats
        self.time_limit = time_limit
        self.scoring = scoring
        self.prior = prior
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> SafeClassifier:
        """Estimate the candidates, choose one, and fit it on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Unlabeled rows are -1 in integers, None, NaN or pandas.NA elsewhere.

        Returns
        -------
        self
        """
        with one_thread_if_small(num_samples(X)):
            return self._fit(X, y)

    def _fit(self, X: Any, y: Any) -> SafeClassifier:
        started = time.perf_counter()
        X, codes = self._validate_fit(X, y, **_CHECKS)
        rng = check_random_state(self.random_state)
        problem = standard_problem(
            X,
            codes,
            self.classes_,
            prior=self._prior(codes),
            seed=int(rng.randint(np.iinfo(np.int32).max)),
        )
        candidates = make_candidates(self.candidates, problem)
        with progress_bar("SafeClassifier", len(candidates), show=self.progress) as move:

            def follow(step: Step) -> None:
                move(step.done, name=step.name)
                if self.verbose:
                    _log(step)

            selection = select(
                problem,
                candidates,
                caution=self.caution,
                combine=self.combine,
                n_repeats=self.n_repeats,
                score=self._score(problem),
                time_limit=self.time_limit,
                random_state=rng,
                n_jobs=self.n_jobs,
                progress=follow,
            )
        self._store(selection, problem, time.perf_counter() - started)
        return self

    def _prior(self, codes: NDArray[np.intp]) -> Any:
        """The prior in the order of the codes; "labeled" is left to each fold."""
        if self.prior is None or isinstance(self.prior, str):
            return self.prior
        return class_prior(self.prior, codes, self.classes_)

    def _score(self, problem: Problem) -> Any:
        """The score of held-out rows from their class probabilities; None for the accuracy."""
        if isinstance(self.scoring, str) and self.scoring == "accuracy":
            return None
        scorer = labeled_scorer(self.scoring)
        classes = problem.classes

        def score(probabilities: NDArray[Any], rows: NDArray[np.intp]) -> float:
            answers = _Answers(classes, probabilities)
            found = scorer.score_labeled(answers, problem.X[rows], classes[problem.codes[rows]])
            if not np.isfinite(found):
                raise ValueError(f"scoring={self.scoring!r} gave a score that is not finite.")
            return found

        return score

    def _store(self, selection: Selection, problem: Problem, seconds: float) -> None:
        self.best_estimator_ = selection.fitted.best_estimator
        self._store_transduction(selection.probabilities, problem.codes)
        self.unlabeled_helped_ = selection.decision.unlabeled_helped
        assessment = assess(selection, problem)
        self.held_out_scores_ = assessment.scores
        self.likely_scores_ = assessment.likely
        self.report_ = SafeReport.from_selection(
            selection,
            problem,
            scoring=self.scoring if isinstance(self.scoring, str) else repr(self.scoring),
            caution=self.caution,
            seconds=seconds,
            notes=_lone_classes(problem) if selection.folds is not None else (),
            assessment=assessment,
        )
        if self.verbose:
            _logger.info("SafeClassifier: %s", selection.decision.reason)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Class probabilities of new rows by the chosen candidate.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **_CHECKS)
        return class_probabilities(self.best_estimator_, X)

    def predict_set(self, X: Any, alpha: float = 0.1) -> NDArray[np.bool_]:
        """Prediction sets: the classes among which the true one is, for most rows.

        Cross-conformal prediction with the probabilities of the held-out labels: where these
        are drawn like the rows of ``X``, the set holds the true class for a share of about
        ``1 - alpha`` of them. With few held-out labels the threshold leans on the calibrated
        probabilities instead (:func:`~leaven.selection.set_threshold`), without guarantee.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        alpha : float, default=0.1
            Share of the rows, between 0 and 1, whose class may be missing in their set.

        Returns
        -------
        bool array of shape (n_samples, n_classes)
            In the order of ``classes_``. The predicted class always belongs to the set.
        """
        if not 0.0 < alpha < 1.0:
            raise ValueError(f"alpha must be between 0 and 1, got {alpha!r}.")
        return prediction_sets(
            self.predict_proba(X), self.held_out_scores_, alpha, self.likely_scores_
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _Answers(ClassifierMixin, BaseEstimator):
    """Gives a scorer the probabilities that are known already."""

    def __init__(self, classes: NDArray[Any], probabilities: NDArray[Any]) -> None:
        self.classes_ = classes
        self._probabilities = probabilities

    def predict_proba(self, X: Any) -> NDArray[Any]:
        return self._probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[self._probabilities.argmax(axis=1)])

    def decision_function(self, X: Any) -> NDArray[Any]:
        p = self._probabilities
        return np.asarray(p[:, 1]) if p.shape[1] == 2 else p

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _lone_classes(problem: Problem) -> tuple[str, ...]:
    """A note on the classes with one label, which cannot be held out."""
    counts = np.bincount(problem.codes[problem.labeled], minlength=problem.n_classes)
    lone = problem.classes[counts == 1].tolist()
    if not lone:
        return ()
    names = ", ".join(repr(name) for name in lone)
    return (f"One label only of class {names}: it stays in training and is not tested.",)


def _log(step: Step) -> None:
    """Log what became of the candidate before."""
    outcome = step.last
    if outcome is None:
        return
    if outcome.status != TRIED:
        _logger.info("SafeClassifier: %s", outcome.reason)
        return
    _logger.info(
        "SafeClassifier: %s %.3f ± %.3f in %.2f s",
        outcome.name,
        outcome.estimate.value,
        outcome.estimate.se,
        outcome.seconds,
    )
