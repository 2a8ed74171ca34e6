"""Estimating the candidates on labels that are held out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
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
from leaven.selection._pool import Member
from leaven.selection._problem import GraphPool, Problem, TrainingRows, give_graph
from leaven.statistics import Estimate, estimate_from_folds, estimate_share

TRIED, SKIPPED, FAILED = "tried", "skipped", "failed"

# The estimate of a candidate that was not tried.
_NOTHING = Estimate(np.nan, np.nan, np.nan, np.nan)


class OutOfTimeError(Exception):
    """The rest of a candidate's folds would not end within the time limit."""


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
        last = _try(candidate, problem, folds, score, begun, left, time_limit, n_jobs)
        found[candidate.name] = last
    return [found[candidate.name] for candidate in candidates]


def _try(
    candidate: Candidate,
    problem: Problem,
    folds: Folds,
    score: Score | None,
    begun: float,
    seconds_left: float | None,
    time_limit: float | None,
    n_jobs: int | None,
) -> Outcome:
    name, kind = candidate.name, candidate.kind
    if candidate.skipped is not None:
        return Outcome(name, kind, SKIPPED, candidate.skipped)
    if seconds_left is not None and seconds_left <= 0:
        reason = f"{name} was skipped: the time limit of {time_limit:g} s was over."
        return Outcome(name, kind, SKIPPED, reason)
    try:
        found = cross_validate(candidate, problem, folds, n_jobs=n_jobs, seconds_left=seconds_left)
        best, chosen = 0, found[0]
        if len(candidate.grid) > 1:
            scores = np.stack([score_folds(each, problem.codes, folds, score) for each in found])
            chosen, best = choose_within_folds(found, scores, folds)
        results, estimated = judge(chosen, problem.codes, folds, score)
    except OutOfTimeError as error:
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
) -> NDArray[np.float64]:
    """Class probabilities of the held-out rows.

    Returns
    -------
    probabilities : ndarray of shape (n_parameters, n_repeats, n_tested, n_classes)

    Raises
    ------
    OutOfTimeError
        After the first fold, if at its pace the others would not end in time.
    """
    rows = problem.rows(scaled=candidate.scaled, merged=candidate.merges_duplicates)
    estimator = clone(candidate.estimator)
    check_parameters(estimator)
    # A graph without labels is the same for all folds, and goes to the workers with them.
    give_graph(estimator, rows, rows.codes, problem.graphs, only_without_labels=True)
    work = _FoldWork(estimator, rows, candidate.kind, problem.n_classes, problem.graphs)
    places = [
        (number, repeat, test)
        for number in range(len(candidate.grid))
        for repeat, test in folds.tests()
    ]
    jobs = [(candidate.grid[number], rows.node[folds.rows[test]]) for number, _, test in places]
    started = time.perf_counter()
    answers = work.fit(jobs[:1])
    first = time.perf_counter() - started
    workers = min(effective_n_jobs(n_jobs), max(1, len(jobs) - 1))
    expected = first * len(jobs) / workers
    if seconds_left is not None and expected > seconds_left:
        raise OutOfTimeError(
            f"{candidate.name} was skipped: its {len(jobs)} fits would take about {expected:.2g} "
            f"seconds, with {max(seconds_left, 0.0):.2g} left of the time limit."
        )
    # Each worker takes a stretch of the folds, so that it is sent the rows and the graph once.
    parts = Parallel(n_jobs=workers)(
        delayed(work.fit)(jobs[1:][start::workers]) for start in range(workers)
    )
    rest: list[Any] = [None] * (len(jobs) - 1)
    for start, part in enumerate(parts):
        rest[start::workers] = part
    shape = (len(candidate.grid), folds.n_repeats, len(folds.rows), problem.n_classes)
    found = np.empty(shape)
    for (number, repeat, test), answer in zip(places, answers + rest, strict=True):
        found[number, repeat, test] = answer
    return found


@dataclass(frozen=True)
class _FoldWork:
    """What the fits of a candidate's folds have in common; sent to a worker once."""

    estimator: Any
    rows: TrainingRows
    kind: str
    n_classes: int
    graphs: GraphPool

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
    # The rows were checked when the problem was made.
    with config_context(assume_finite=True):
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
