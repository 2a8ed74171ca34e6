"""A classifier that uses unlabeled rows only where the labels say that they help."""

from __future__ import annotations

import logging
import time
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from leaven._base import TransductionMixin
from leaven._compat import Interval, StrOptions, num_samples
from leaven._labels import UNLABELED, class_prior
from leaven._progress import progress_bar
from leaven._threads import one_thread_if_small
from leaven.model_selection._safe_candidates import (
    SEMI_SUPERVISED,
    SUPERVISED,
    Candidate,
    Facts,
    collect_candidates,
    is_of_sklearn,
    kind_of_values,
    last_step,
)
from leaven.model_selection._safe_folds import (
    Data,
    Folds,
    OutOfTimeError,
    choose_within_folds,
    class_probabilities,
    cross_validate,
    draw_folds,
    fit_candidate,
    row_correctness,
    score_folds,
    training_probabilities,
)
from leaven.model_selection._safe_report import (
    FAILED,
    SKIPPED,
    TRIED,
    Decision,
    Outcome,
    SafeReport,
    candidate_table,
    decide,
    estimate_from_folds,
    estimate_share,
    pair_table,
    voters_among,
)
from leaven.model_selection._safe_vote import (
    FEWEST_VOTERS,
    VOTE,
    VotingCandidates,
    count_votes,
)
from leaven.model_selection._scoring import labeled_scorer

_logger = logging.getLogger("leaven")

_CHECKS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


class SafeClassifier(TransductionMixin, BaseEstimator):
    """Take the best of several methods, and unlabeled rows only if they help.

    Every candidate is estimated from the few labels by repeated cross-validation with as
    many folds as they allow, up to five (:class:`AdaptiveKFold`). Held-out labeled rows
    become unlabeled rows, every unlabeled row stays in training, and all candidates see the
    same folds. The best semi-supervised candidate is used if it is better than the best
    supervised one by more than ``caution`` standard errors of their paired difference; if
    not, the best supervised candidate is used. The best of several is lucky, and its score too
    good: what luck adds is estimated and taken off before the two are compared. ``report_``
    tells what was tried, what was chosen, and why.

    Parameters
    ----------
    candidates : list or dict, default=None
        What to choose from. A list holds names of the defaults and pairs (name, estimator) of
        your own; a dict goes from name to estimator. An estimator is semi-supervised if it is
        a classifier of leaven or of ``sklearn.semi_supervised`` (a pipeline is what its last
        step is, and a wrapper such as a grid search what its ``estimator`` is); any other is
        supervised and is fitted on the labeled rows only. Own estimators get ``X`` as it is.
        The defaults, which None stands for, are in the notes.
    caution : float, default=1.0
        How many standard errors the gain by unlabeled rows must exceed. With 0 any gain is
        enough; larger values stay with the supervised one more often.
    vote : bool, default=True
        Whether the candidates also vote, if there are three or more. Those that are behind the
        best by more than two standard errors have no vote. The vote then stands for all that
        use unlabeled rows, unless a single one leads it by two standard errors: the best of
        many is often the luckiest.
    n_repeats : int or "auto", default="auto"
        How often to repeat the cross-validation with other folds. "auto" makes about ten fits
        of each candidate. Equal repeats are left out: few labels can be split in few ways.
    time_limit : float, default=None
        Seconds after which no other candidate is started, and within which the folds of one
        must be expected to end. The cheap ones come first; the first is always tried. The
        final fit of the chosen candidate comes on top.
    scoring : str or callable, default="accuracy"
        What to compare by, as in :func:`labeled_scorer`; larger is better. The scorer sees the
        predictions of the held-out rows only.
    prior : {"labeled", "uniform"}, dict or array of shape (n_classes,), default="labeled"
        Class proportions for class mass normalization in the default candidates "harmonic"
        and "consistency", and in "spectral-transducer" if they are given as numbers. None
        switches it off.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of the default candidates; own candidates keep their own.
    n_jobs : int, default=None
        Number of parallel jobs, over the folds of a candidate.
    progress : bool, default=False
        Whether to show a progress bar.
    verbose : int, default=0
        1 logs a line a candidate to the logger ``leaven``.

    Attributes
    ----------
    report_ : SafeReport
        The table of candidates, the paired differences, the choice and the reason.
    best_estimator_ : estimator
        The chosen candidate, fitted on all rows; a pipeline with the scaler where there is
        one. The graph methods among the defaults are fitted with one row for all unlabeled
        rows that are equal; ``transduction_`` below has all rows.
    unlabeled_helped_ : {"yes", "no", "cannot tell"}
        See :class:`SafeReport`.
    classes_ : ndarray of shape (n_classes,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Class probabilities of the rows given to ``fit``. Those of "linear-svm" are a softmax
        of its decision function, which is not calibrated.
    transduction_ : ndarray of shape (n_samples,)
    n_features_in_ : int

    See Also
    --------
    tune : Chooses a parameter of one method.
    sklearn.model_selection.GridSearchCV : Chooses by the mean alone; takes ``AdaptiveKFold``.

    Notes
    -----
    The default candidates are, supervised, "logistic-regression", "naive-bayes" and
    "linear-svm"; semi-supervised, "harmonic" (with class mass normalization), "consistency",
    "spectral-transducer", "naive-bayes-em" (with the weight of unlabeled rows chosen among
    0.01, 0.1 and 1), "self-training" (of logistic regression, with the surest two fifths of
    the rows), "transductive-svm" and "cluster-then-label". Of equal scores the first in
    this order is taken. Naive Bayes is of the kind that fits the data: Bernoulli for zeros and
    ones, multinomial for counts and nonnegative sparse rows, Gaussian otherwise.
    "transductive-svm" is skipped with more than 5,000 rows or three classes; give it as
    an estimator of your own to try it nevertheless.
    All rows, labeled or not, take part in scaling the columns, for every candidate alike: a
    gain is then not due to better scaling.

    Each graph is built once, for all candidates and folds, unless its builder looks at the
    labels.

    The standard error of an accuracy or of a difference is one over labeled rows: for each row
    the outcomes are averaged over the repeats first, so that repeating does not make the error
    smaller than the number of labels allows; half a row in each cell of the table of matched
    pairs [1]_ keeps it from being zero with four rows. Other scores than the accuracy are no
    means over rows, and the corrected resampled variance over folds [2]_ is used.

    The score of the best supervised candidate is drawn towards the mean of all supervised ones
    by as much of its lead as chance explains [3]_: without this the luckiest of three is what
    unlabeled rows are measured by. The vote is not chosen and needs no such correction.

    With one label in every class nothing can be held out: the first supervised candidate is
    used. The estimate is of one draw of labels; the method guards on average, not always.

    References
    ----------
    .. [1] A. Agresti and Y. Min, "Simple improved confidence intervals for comparing matched
       proportions", Statistics in Medicine 24, 2005.
    .. [2] C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning
       52, 2003.
    .. [3] B. Efron and C. Morris, "Data analysis using Stein's estimator and its
       generalizations", Journal of the American Statistical Association 70, 1975.

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
        "vote": ["boolean"],
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
        caution: float = 1.0,
        vote: bool = True,
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
        self.vote = vote
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
        candidates, data, rng = self._set_up(X, y)
        codes = data.codes
        folds = draw_folds(codes, self.n_repeats, rng)
        if folds is None:
            outcomes, decision = self._without_estimate(candidates)
        else:
            outcomes = self._try_candidates(candidates, data, folds, started)
            outcomes += self._hold_vote(outcomes, data, folds)
            if not any(outcome.status == TRIED for outcome in outcomes):
                reasons = " ".join(outcome.reason for outcome in outcomes)
                raise ValueError(f"No candidate could be estimated. {reasons}")
            decision = decide(outcomes, folds.n_splits, self.caution, self._by_row())
        by_name = {candidate.name: candidate for candidate in candidates}
        params = {outcome.name: outcome.params or {} for outcome in outcomes}
        kind = SEMI_SUPERVISED
        if decision.choice == VOTE:
            self._fit_vote([each for each in candidates if each.name in self._voters], params, data)
        else:
            kind = by_name[decision.choice].kind
            self._fit_chosen(by_name[decision.choice], params[decision.choice], data)
        self.unlabeled_helped_ = decision.unlabeled_helped
        self.report_ = SafeReport(
            candidates=candidate_table(outcomes),
            differences=decision.differences,
            choice=decision.choice,
            kind=kind,
            unlabeled_helped=decision.unlabeled_helped,
            reason=decision.reason,
            best_supervised=decision.best_supervised,
            best_semi_supervised=decision.best_semi_supervised,
            scoring=self.scoring if isinstance(self.scoring, str) else repr(self.scoring),
            caution=float(self.caution),
            n_labeled=int((codes != UNLABELED).sum()),
            n_unlabeled=int((codes == UNLABELED).sum()),
            n_classes=len(self.classes_),
            n_tested=0 if folds is None else len(folds.rows),
            n_splits=0 if folds is None else folds.n_splits,
            n_repeats=0 if folds is None else len(folds.fold),
            seconds=time.perf_counter() - started,
            notes=self._notes(codes, folds),
            luck=decision.luck,
        )
        if self.verbose:
            _logger.info("SafeClassifier: %s", decision.reason)
        return self

    def _set_up(self, X: Any, y: Any) -> tuple[list[Candidate], Data, np.random.RandomState]:
        """Check the data, and make the candidates that fit them."""
        X, codes = self._validate_fit(X, y, **_CHECKS)
        rng = check_random_state(self.random_state)
        values = kind_of_values(X)
        facts = Facts(
            n_rows=X.shape[0],
            n_classes=len(self.classes_),
            n_unlabeled=int((codes == UNLABELED).sum()),
            is_sparse=sparse.issparse(X),
            values=values,
            prior=self._prior(codes),
            seed=int(rng.randint(np.iinfo(np.int32).max)),
        )
        return collect_candidates(self.candidates, facts), Data(X, codes, values), rng

    def _prior(self, codes: NDArray[np.intp]) -> Any:
        """The prior in the order of the codes; "labeled" is left to each fold."""
        if self.prior is None or isinstance(self.prior, str):
            return self.prior
        return class_prior(self.prior, codes, self.classes_)

    def _by_row(self) -> bool:
        return isinstance(self.scoring, str) and self.scoring == "accuracy"

    def _try_candidates(
        self, candidates: list[Candidate], data: Data, folds: Folds, started: float
    ) -> list[Outcome]:
        """Estimate the candidates, the cheap ones first; give them in order of preference."""
        found: dict[str, Outcome] = {}
        order = sorted(candidates, key=lambda candidate: candidate.cost)
        with progress_bar("SafeClassifier", len(order), show=self.progress) as move:
            for candidate in order:
                found[candidate.name] = self._try(candidate, data, folds, started, found)
                move(name=candidate.name)
                if self.verbose:
                    _log(found[candidate.name])
        return [found[candidate.name] for candidate in candidates]

    def _try(
        self,
        candidate: Candidate,
        data: Data,
        folds: Folds,
        started: float,
        found: dict[str, Outcome],
    ) -> Outcome:
        name, kind = candidate.name, candidate.kind
        if candidate.skipped is not None:
            return Outcome(name, kind, SKIPPED, candidate.skipped)
        begun = time.perf_counter()
        left = None
        if self.time_limit is not None and any(o.status == TRIED for o in found.values()):
            left = self.time_limit - (begun - started)
            if left <= 0:
                reason = f"{name} was skipped: the time limit of {self.time_limit:g} s was over."
                return Outcome(name, kind, SKIPPED, reason)
        try:
            results, estimate, params, proba = self._estimate(candidate, data, folds, left)
        except OutOfTimeError as error:
            took = time.perf_counter() - begun
            return Outcome(name, kind, SKIPPED, str(error), seconds=took)
        except Exception as error:
            # Whatever goes wrong inside a candidate is no reason to do without the others.
            took = time.perf_counter() - begun
            reason = f"{name} failed: {type(error).__name__}: {error}"
            return Outcome(name, kind, FAILED, reason, seconds=took)
        took = time.perf_counter() - begun
        return Outcome(name, kind, TRIED, "", results, estimate, params, took, proba)

    def _estimate(
        self, candidate: Candidate, data: Data, folds: Folds, seconds_left: float | None
    ) -> tuple[NDArray[np.float64], Any, dict[str, Any], NDArray[Any]]:
        """Give the results, their estimate, the parameters chosen, and the probabilities."""
        probabilities = cross_validate(
            candidate,
            data,
            folds,
            len(self.classes_),
            n_jobs=self.n_jobs,
            seconds_left=seconds_left,
        )
        best = 0
        chosen = probabilities[0]
        if len(candidate.grid) > 1:
            scores = np.stack([self._fold_scores(each, data, folds) for each in probabilities])
            chosen, best = choose_within_folds(probabilities, scores, folds)
        return *self._results(chosen, data, folds), candidate.grid[best], chosen

    def _fold_scores(
        self, probabilities: NDArray[Any], data: Data, folds: Folds
    ) -> NDArray[np.float64]:
        scorer = labeled_scorer(self.scoring)
        return score_folds(probabilities, folds, data.X, data.codes, self.classes_, scorer)

    def _results(
        self, probabilities: NDArray[Any], data: Data, folds: Folds
    ) -> tuple[NDArray[np.float64], Any]:
        """Give the result of each row, or of each fold if not by row, and the estimate."""
        if self._by_row():
            right = row_correctness(probabilities, data.codes, folds)
            return right, estimate_share(right)
        results = self._fold_scores(probabilities, data, folds).ravel()
        if not np.isfinite(results).all():
            raise ValueError(f"scoring={self.scoring!r} gave a score that is not finite.")
        return results, estimate_from_folds(results, folds.n_splits)

    def _hold_vote(self, outcomes: list[Outcome], data: Data, folds: Folds) -> list[Outcome]:
        """Estimate the vote of what was tried; no outcome if it is not wanted or too few vote."""
        tried = [outcome for outcome in outcomes if outcome.status == TRIED]
        kinds = {outcome.kind for outcome in tried}
        if not self.vote or len(tried) < FEWEST_VOTERS or SEMI_SUPERVISED not in kinds:
            return []
        begun = time.perf_counter()
        self._voters = voters_among(tried, folds.n_splits, self._by_row())
        votes = count_votes(
            [
                outcome.probabilities
                for outcome in tried
                if outcome.name in self._voters and outcome.probabilities is not None
            ]
        )
        results, estimate = self._results(votes, data, folds)
        took = time.perf_counter() - begun
        return [Outcome(VOTE, SEMI_SUPERVISED, TRIED, "", results, estimate, {}, took, votes)]

    def _without_estimate(self, candidates: list[Candidate]) -> tuple[list[Outcome], Decision]:
        """With one label a class: the first supervised candidate, or else the first."""
        usable = [candidate for candidate in candidates if candidate.skipped is None]
        if not usable:
            reasons = " ".join(str(candidate.skipped) for candidate in candidates)
            raise ValueError(f"No candidate fits the data. {reasons}")
        preferred = [candidate for candidate in usable if candidate.kind == SUPERVISED]
        chosen = (preferred or usable)[0]
        cannot = "no class has two labels, so that none could be held out"
        outcomes = [
            Outcome(
                candidate.name,
                candidate.kind,
                SKIPPED,
                candidate.skipped or f"{candidate.name} was not estimated: {cannot}.",
            )
            for candidate in candidates
        ]
        reason = (
            f"Whether the unlabeled rows helped cannot be told: {cannot}. By default "
            f"{chosen.name} is used, the first {chosen.kind} candidate. Label a second row of a "
            "class."
        )
        supervised, semi = (
            next((c.name for c in usable if c.kind == kind), None)
            for kind in (SUPERVISED, SEMI_SUPERVISED)
        )
        nothing = pair_table([], 0, by_row=True)
        return outcomes, Decision(chosen.name, "cannot tell", reason, supervised, semi, nothing)

    def _fit_chosen(self, chosen: Candidate, params: dict[str, Any], data: Data) -> None:
        X, codes, node = data.rows_for(chosen)
        estimator, builder = data.share_graph(chosen, X)
        estimator.set_params(**params)
        n_classes = len(self.classes_)
        # scikit-learn's semi-supervised classifiers know unlabeled rows among integers only.
        by_code = is_of_sklearn(last_step(estimator)) and self.classes_.dtype.kind not in "iu"
        fit_candidate(estimator, X, codes, chosen.kind, None if by_code else self.classes_)
        if chosen.kind == SUPERVISED:
            distributions = class_probabilities(estimator, X, n_classes)
        else:
            distributions = training_probabilities(estimator, X, np.arange(len(codes)), n_classes)
        if "graph" in estimator.get_params(deep=False) and hasattr(estimator, "graph_builder_"):
            # The parameter as it was: a clone of the estimator builds its own graph.
            estimator.set_params(graph=None if builder is None else clone(builder))
        scaler = data.scaler_for(chosen)
        self.best_estimator_ = (
            estimator if scaler is None else Pipeline([("scale", scaler), (chosen.name, estimator)])
        )
        self._store_transduction(distributions[node], data.codes)

    def _fit_vote(
        self, candidates: list[Candidate], params: dict[str, dict[str, Any]], data: Data
    ) -> None:
        voters, distributions = [], []
        for candidate in candidates:
            self._fit_chosen(candidate, params[candidate.name], data)
            voters.append((candidate.name, self.best_estimator_))
            distributions.append(self.label_distributions_)
        self.best_estimator_ = VotingCandidates(voters)._adopt(self.classes_)
        self._store_transduction(count_votes(distributions), data.codes)

    def _notes(self, codes: NDArray[np.intp], folds: Folds | None) -> tuple[str, ...]:
        counts = np.bincount(codes[codes != UNLABELED])
        lone = self.classes_[counts == 1].tolist()
        notes = []
        if lone and folds is not None:
            names = ", ".join(repr(name) for name in lone)
            notes.append(
                f"One label only of class {names}: it stays in training and is not tested."
            )
        if folds is not None and len(folds.rows) < 10:
            notes.append(f"All estimates are from {len(folds.rows)} labeled rows, and rough.")
        return tuple(notes)

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
        return class_probabilities(self.best_estimator_, X, len(self.classes_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _log(outcome: Outcome) -> None:
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
