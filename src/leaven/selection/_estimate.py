"""Estimating the candidates on labels that are held out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone

from leaven._compat import validate_params_of
from leaven._labels import UNLABELED, EncodedLabels
from leaven.base import TransductionMixin, class_probabilities, training_probabilities
from leaven.selection._candidates import SUPERVISED, Candidate
from leaven.selection._folds import (
    Folds,
    Score,
    choose_within_folds,
    row_correctness,
    score_folds,
)
from leaven.selection._member import Member
from leaven.selection._pool import MIN_COMBINED
from leaven.selection._problem import GraphPool, Problem, TrainingRows, give_graph
from leaven.selection._stop import CHECKED_FOLDS, Rival
from leaven.statistics import Estimate, estimate_from_folds, estimate_share

TRIED, SKIPPED, FAILED = "tried", "skipped", "failed"

# The estimate of a candidate that was not tried.
_NOTHING = Estimate(np.nan, np.nan, np.nan, np.nan)


class StoppedError(Exception):
    """The rest of a candidate's folds would not end in time, or would change nothing."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of one candidate.

    Parameters
    ----------
    name : str
    kind : {"supervised", "semi-supervised"}
    status : {"tried", "skipped", "failed"}
    reason : str, default=""
        Why it was skipped or failed.
    results : ndarray of shape (n_tested,) or (n_folds,)
        For each held-out row the share of the repeats in which it got its class; or the scores
        of the folds, where the score is not the accuracy.
    estimate : Estimate
        Their mean, its standard error, and an interval.
    params : dict, default={}
        Those chosen on the folds.
    seconds : float, default=0.0
    probabilities : ndarray of shape (n_repeats, n_tested, n_classes) or None
        Of the held-out rows.
    member : Member
        Of the candidate.
    """

    name: str
    kind: str
    status: str
    reason: str = ""
    results: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    estimate: Estimate = _NOTHING
    params: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    probabilities: NDArray[np.float64] | None = None
    member: Member = field(default_factory=Member)


@dataclass(frozen=True)
class Step:
    """How far a selection is.

    Parameters
    ----------
    name : str
        The candidate that is running now.
    done, total : int
        Candidates that are done, and that there are.
    last : Outcome or None
        Of the candidate that ran before.
    """

    name: str
    done: int
    total: int
    last: Outcome | None = None


Progress = Callable[[Step], None]


def estimate(
    problem: Problem,
    candidates: Sequence[Candidate],
    folds: Folds,
    *,
    score: Score | None = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    stop_early: bool = False,
) -> list[Outcome]:
    """Estimate candidates by cross-validation; held-out rows become unlabeled rows.

    The cheap ones come first, and all see the same folds. What goes wrong inside a candidate is
    recorded in its outcome, and is no reason to do without the others.

    Parameters
    ----------
    problem : Problem
    candidates : sequence of Candidate
    folds : Folds
        As :func:`draw_folds` gives.
    score : callable, default=None
        ``score(probabilities, rows) -> float``, larger is better; None is the accuracy.
    time_limit : float, default=None
        Seconds after which no other candidate is started; the first is always tried.
    n_jobs : int, default=None
        Parallel jobs, over the folds of a candidate.
    progress : callable, default=None
        Called with a :class:`Step` before each candidate.
    stop_early : bool, default=False
        Whether a candidate is skipped whose first two folds tell that it would get next to no
        weight in the combination (:func:`bound_log_odds`). A supervised one is compared with the
        supervised ones only, which are also combined without the others; and the cheapest of each
        kind is never skipped.

    Returns
    -------
    outcomes : list of Outcome
        In the order of ``candidates``.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import draw_folds, estimate, make_candidates, standard_problem
    >>> X = np.array([[0.0], [0.2], [0.1], [5.0], [5.2], [5.1]])
    >>> problem = standard_problem(X, np.array([0, 0, -1, 1, 1, -1]), np.array([0, 1]))
    >>> candidates = make_candidates(["harmonic", "linear-svm"], problem)
    >>> folds = draw_folds(problem.codes, random_state=0)
    >>> [(each.name, each.estimate.value) for each in estimate(problem, candidates, folds)]
    [('harmonic', 1.0), ('linear-svm', 1.0)]
    """
    started = time.perf_counter()
    found: dict[str, Outcome] = {}
    last = None
    # Under a time limit the cheap ones are better than none.
    for candidate in sorted(candidates, key=lambda each: each.cost):
        if progress is not None:
            progress(Step(candidate.name, len(found), len(candidates), last))
        begun = time.perf_counter()
        left = None
        if time_limit is not None and any(each.status == TRIED for each in found.values()):
            left = time_limit - (begun - started)
        rival = _find_rival(candidate, found.values(), problem, folds) if stop_early else None
        last = _try(candidate, problem, folds, score, begun, left, time_limit, n_jobs, rival)
        found[candidate.name] = last
    return [found[candidate.name] for candidate in candidates]


def _find_rival(
    candidate: Candidate, found: Collection[Outcome], problem: Problem, folds: Folds
) -> Rival | None:
    """The candidate that has the largest weight so far; None if nothing may be stopped yet."""
    tried = [each for each in found if each.status == TRIED]
    same_kind = [each for each in tried if each.kind == candidate.kind]
    # Stopping must not leave a single candidate where a combination was asked for, nor one kind
    # where both are to be compared.
    if len(tried) < MIN_COMBINED or not same_kind:
        return None
    rivals = [
        Rival(each.name, each.member, each.probabilities, problem.codes[folds.rows])
        for each in (same_kind if candidate.kind == SUPERVISED else tried)
        if each.probabilities is not None
    ]
    return max(rivals, key=lambda each: each.log_weight)


def _try(
    candidate: Candidate,
    problem: Problem,
    folds: Folds,
    score: Score | None,
    begun: float,
    seconds_left: float | None,
    time_limit: float | None,
    n_jobs: int | None,
    rival: Rival | None,
) -> Outcome:
    name, kind = candidate.name, candidate.kind
    if candidate.skipped is not None:
        return Outcome(name, kind, SKIPPED, candidate.skipped)
    if seconds_left is not None and seconds_left <= 0:
        reason = f"{name} was skipped: the time limit of {time_limit:g} s was over."
        return Outcome(name, kind, SKIPPED, reason)
    try:
        found = cross_validate(
            candidate, problem, folds, n_jobs=n_jobs, seconds_left=seconds_left, rival=rival
        )
        best, chosen = 0, found[0]
        if len(candidate.grid) > 1:
            scores = np.stack([score_folds(each, problem.codes, folds, score) for each in found])
            chosen, best = choose_within_folds(found, scores, folds)
        results, estimated = judge(chosen, problem.codes, folds, score)
    except StoppedError as error:
        return Outcome(name, kind, SKIPPED, str(error), seconds=time.perf_counter() - begun)
    except Exception as error:
        reason = f"{name} failed: {type(error).__name__}: {error}"
        return Outcome(name, kind, FAILED, reason, seconds=time.perf_counter() - begun)
    params, took = candidate.grid[best], time.perf_counter() - begun
    return Outcome(
        name, kind, TRIED, "", results, estimated, params, took, chosen, candidate.member
    )


def judge(
    probabilities: NDArray[np.float64],
    codes: NDArray[np.intp],
    folds: Folds,
    score: Score | None,
) -> tuple[NDArray[np.float64], Estimate]:
    """Give the result of each row, or of each fold if there is a score, and their estimate."""
    if score is None:
        right = row_correctness(probabilities, codes, folds)
        return right, estimate_share(right)
    results = score_folds(probabilities, codes, folds, score).ravel()
    return results, estimate_from_folds(results, folds.n_splits)


def cross_validate(
    candidate: Candidate,
    problem: Problem,
    folds: Folds,
    *,
    n_jobs: int | None = None,
    seconds_left: float | None = None,
    rival: Rival | None = None,
) -> NDArray[np.float64]:
    """Class probabilities of the held-out rows.

    Returns
    -------
    probabilities : ndarray of shape (n_parameters, n_repeats, n_tested, n_classes)

    Raises
    ------
    StoppedError
        After the first fold, if at its pace the others would not end in time; after the first or
        second, if the candidate cannot come near to ``rival``.
    """
    rows = problem.rows(scaled=candidate.scaled, merged=candidate.merges_duplicates)
    estimator = clone(candidate.estimator)
    check_parameters(estimator)
    # A graph without labels is the same for all folds, and goes to the workers with them.
    give_graph(estimator, rows, rows.codes, problem.graphs, only_without_labels=True)
    work = _FoldWork(estimator, rows, candidate.kind, problem.n_classes, problem.graphs)
    tests = list(folds.tests())
    n_jobs = effective_n_jobs(n_jobs)
    shape = (len(candidate.grid), folds.n_repeats, len(folds.rows), problem.n_classes)
    found = np.empty(shape)

    def run(part: Sequence[tuple[int, NDArray[np.bool_]]]) -> None:
        places = [(number, *test) for test in part for number in range(len(candidate.grid))]
        jobs = [(candidate.grid[number], rows.node[folds.rows[test]]) for number, _, test in places]
        for (number, repeat, test), answer in zip(places, work.share(jobs, n_jobs), strict=True):
            found[number, repeat, test] = answer

    started = time.perf_counter()
    run(tests[:1])
    workers = min(n_jobs, max(1, (len(tests) - 1) * len(candidate.grid)))
    expected = (time.perf_counter() - started) * len(tests) / workers
    if seconds_left is not None and expected > seconds_left:
        raise StoppedError(
            f"{candidate.name} was skipped: its {len(tests) * len(candidate.grid)} fits would take "
            f"about {expected:.2g} seconds, with {max(seconds_left, 0.0):.2g} left of the time "
            "limit."
        )
    done = 1
    if rival is not None:
        # By the number of folds, never by the time: the same table has the same answer on every
        # machine, whatever the number of workers.
        while done < len(tests):
            _check_rival(candidate, rival, found, tests[:done], len(tests))
            if done >= CHECKED_FOLDS:
                break
            run(tests[done : done + 1])
            done += 1
    run(tests[done:])
    return found


def _check_rival(
    candidate: Candidate,
    rival: Rival,
    found: NDArray[np.float64],
    tests: Sequence[tuple[int, NDArray[np.bool_]]],
    n_folds: int,
) -> None:
    """Raise StoppedError if the folds so far leave the candidate next to no weight."""
    repeat = tests[-1][0]
    seen = np.any([test for of, test in tests if of == repeat], axis=0)
    if rival.is_out_of_reach(candidate.member, found[:, repeat, seen], repeat, seen):
        raise StoppedError(
            f"{candidate.name} was stopped after {len(tests)} of {n_folds} folds: it gave the "
            f"true classes of {seen.sum():,} held-out rows so much less probability than "
            f"{rival.name} did that it would get next to no weight."
        )


@dataclass(frozen=True)
class _FoldWork:
    """What the fits of a candidate's folds have in common; sent to a worker once."""

    estimator: Any
    rows: TrainingRows
    kind: str
    n_classes: int
    graphs: GraphPool

    def share(
        self, jobs: Sequence[tuple[dict[str, Any], NDArray[np.intp]]], n_workers: int
    ) -> list[NDArray[Any]]:
        """Fit by several workers, each of which is sent the rows and the graph once."""
        workers = min(n_workers, max(1, len(jobs)))
        if workers == 1:
            return self.fit(jobs)
        parts = Parallel(n_jobs=workers)(
            delayed(self.fit)(jobs[start::workers]) for start in range(workers)
        )
        answers: list[Any] = [None] * len(jobs)
        for start, part in enumerate(parts):
            answers[start::workers] = part
        return answers

    def fit(self, jobs: Sequence[tuple[dict[str, Any], NDArray[np.intp]]]) -> list[NDArray[Any]]:
        """Fit for each pair of parameters and rows to hold out; give their probabilities."""
        answers = []
        X, classes = self.rows.X, np.arange(self.n_classes)
        fitted = None
        with warnings.catch_warnings():
            # A fold has fewer labels than the last fit, whose warnings are the user's to see.
            warnings.simplefilter("ignore")
            for params, test in jobs:
                codes = self.rows.codes.copy()
                codes[test] = UNLABELED
                estimator = clone(self.estimator).set_params(**params)
                give_graph(estimator, self.rows, codes, self.graphs)
                # The one before is alive until the next is fitted: what it shares by its graph,
                # such as eigenvectors, is not computed again.
                fitted = fit_rows(estimator, X, codes, self.kind, classes)
                if self.kind == SUPERVISED:
                    answers.append(class_probabilities(fitted, X[test], classes=classes))
                else:
                    answers.append(training_probabilities(fitted, X, test, classes=classes))
        return answers


def fit_rows(
    estimator: Any, X: Any, codes: NDArray[np.intp], kind: str, classes: NDArray[Any]
) -> Any:
    """Fit on the labeled rows only if supervised, on all otherwise.

    The labels are the names of ``classes``; leaven's own classifiers take them encoded.
    """
    labeled = codes != UNLABELED
    with warnings.catch_warnings(), config_context(assume_finite=True):
        # The rows were checked when the problem was made, and the labels are classes: with one
        # label of each scikit-learn takes them for numbers, and says so for every tree.
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        if kind == SUPERVISED:
            rows = np.flatnonzero(labeled)
            return estimator.fit(X[rows], classes[codes[rows]])
        if isinstance(estimator, TransductionMixin):
            return estimator.fit(X, EncodedLabels(classes, codes))
        names = classes[codes]
        if names.dtype.kind not in "iu":
            names = names.astype(object)
        names[~labeled] = UNLABELED if names.dtype.kind in "iu" else None
        return estimator.fit(X, names)


def check_parameters(estimator: Any) -> None:
    """Check the parameters of leaven's own classifiers, once for all fits of a candidate."""
    if isinstance(estimator, TransductionMixin) and hasattr(estimator, "_parameter_constraints"):
        validate_params_of(estimator)
