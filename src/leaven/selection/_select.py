"""The whole of it: estimate, decide, fit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaven._labels import class_prior
from leaven.selection._candidates import Candidate
from leaven.selection._decide import Decision, decide, decide_without_folds, take_one
from leaven.selection._estimate import FAILED, Outcome, Progress, Step, estimate
from leaven.selection._fit import Fitted, fit, put_together
from leaven.selection._folds import Folds, Score, draw_folds
from leaven.selection._gain import judge_change
from leaven.selection._pool import COMBINATION
from leaven.selection._problem import Problem
from leaven.selection._shift import class_shift, known_shift

# Held-out rows below which a note says that the estimates are rough: with fewer, an accuracy of
# one half has a standard error of more than 0.15.
_ROUGH_BELOW = 10

# Rows from which a candidate is stopped that the first folds leave next to no weight: a fit may
# then take seconds (`python benchmarks/tables.py --texts 9000`). On smaller tables all run to the
# end.
STOPS_FROM = 2_000


@dataclass(frozen=True, eq=False)
class Selection:
    """What was tried, what was decided, and what was fitted.

    Parameters
    ----------
    outcomes : tuple of Outcome
        One for each candidate, and one for the combination if there is one; empty where one
        candidate was named and had nothing to choose.
    decision : Decision
    fitted : Fitted
        The candidates in use, on all labels; probabilities of all rows, rows that no label
        reaches, and the scales of the features.
    folds : Folds or None
        None if no label could be held out, or nothing was estimated.
    seconds : float
    notes : tuple of str
        What else to know.
    """

    outcomes: tuple[Outcome, ...]
    decision: Decision
    fitted: Fitted
    folds: Folds | None
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Class probabilities of the rows of the problem; labeled rows keep their label."""
        return self.fitted.probabilities

    @property
    def held_out(self) -> NDArray[np.float64] | None:
        """Class probabilities of the held-out rows by the choice, shape as in ``Outcome``."""
        for outcome in self.outcomes:
            if outcome.name == self.decision.choice:
                return outcome.probabilities
        return None


def select(
    problem: Problem,
    candidates: Sequence[Candidate],
    *,
    caution: float = 1.0,
    combine: bool = True,
    n_repeats: int | str = "auto",
    score: Score | None = None,
    time_limit: float | None = None,
    fallback: str | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    stop_early: bool | None = None,
) -> Selection:
    """Estimate the candidates on labels that are held out, decide, and fit on all labels.

    Parameters
    ----------
    problem : Problem
    candidates : sequence of Candidate
        In order of preference, as :func:`make_candidates` gives.
    caution : float, default=1.0
        As in :func:`decide`.
    combine : bool, default=True
        As in :func:`decide`.
    n_repeats : int or "auto", default="auto"
        As in :func:`draw_folds`.
    score : callable, default=None
        As in :func:`estimate`; None is the accuracy.
    time_limit : float, default=None
        As in :func:`estimate`.
    fallback : str, default=None
        The candidate to take if no label can be held out; None is the first supervised one.
    random_state : int, RandomState instance or None, default=None
        Of the folds.
    n_jobs : int, default=None
        As in :func:`estimate`.
    progress : callable, default=None
        Called with a :class:`Step` before each candidate and before the last fit.
    stop_early : bool, default=None
        As in :func:`estimate`, where three candidates or more are to be combined; None stands for
        tables of 2,000 rows and more.

    Returns
    -------
    Selection

    See Also
    --------
    leaven.model_selection.SafeClassifier : The same as an estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.datasets import make_two_moons
    >>> from leaven.selection import make_candidates, select, standard_problem
    >>> X, truth = make_two_moons(200, random_state=0)
    >>> codes = np.full(200, -1)
    >>> for code in (0, 1):
    ...     codes[np.flatnonzero(truth == code)[:10]] = code
    >>> problem = standard_problem(X, codes, np.array([0, 1]))
    >>> candidates = make_candidates(["logistic-regression", "harmonic"], problem)
    >>> found = select(problem, candidates, random_state=0)
    >>> found.decision.weights, found.decision.unlabeled_helped
    ({'harmonic': 1.0}, 'yes')
    """
    started = time.perf_counter()
    folds = draw_folds(problem.codes, n_repeats, random_state)
    if stop_early is None:
        stop_early = combine and problem.n_rows >= STOPS_FROM
    if folds is None:
        outcomes, decision = decide_without_folds(candidates, fallback, combine=combine)
    else:
        outcomes = estimate(
            problem,
            candidates,
            folds,
            score=score,
            time_limit=time_limit,
            n_jobs=n_jobs,
            progress=progress,
            stop_early=stop_early,
        )
        decision = decide(
            outcomes, problem.codes, folds, caution=caution, combine=combine, score=score
        )
        if decision.combined is not None:
            outcomes.append(decision.combined)
    if progress is not None:
        last = outcomes[-1] if outcomes else None
        progress(Step(decision.choice, len(candidates), len(candidates), last))
    fitted = fit(problem, candidates, decision)
    # Another score than accuracy may have its own view of how much a frequent class counts.
    if score is None:
        decision, fitted = _shift_classes(decision, fitted, problem, candidates, folds)
    decision = judge_change(decision, fitted, problem)
    notes = []
    if folds is not None and len(folds.rows) < _ROUGH_BELOW:
        notes.append(f"All estimates are from {len(folds.rows)} labeled rows, and rough.")
    took = time.perf_counter() - started
    return Selection(tuple(outcomes), decision, fitted, folds, took, tuple(notes))


def _shift_classes(
    decision: Decision,
    fitted: Fitted,
    problem: Problem,
    candidates: Sequence[Candidate],
    folds: Folds | None,
) -> tuple[Decision, Fitted]:
    """Make up for classes that are more frequent among the unlabeled rows than in the labels."""
    free = ~problem.labeled
    if decision.choice != COMBINATION or problem.prior is None or not free.any():
        return decision, fitted
    counts = np.bincount(problem.codes[problem.labeled], minlength=problem.n_classes)
    if not (isinstance(problem.prior, str) and problem.prior == "labeled"):
        proportions = class_prior(problem.prior, problem.codes, problem.classes)
        aware = [
            each.name
            for each in candidates
            if each.estimator.get_params(deep=False).get("prior") is not None
        ]
        power = 1.0 - sum(decision.weights.get(name, 0.0) for name in aware)
        shift = known_shift(proportions, counts, power)
        if decision.without is not None:
            # Without unlabeled rows they are known too: what they change is no gain of these rows.
            alone = tuple(known_shift(proportions, counts, 1.0).tolist())
            decision = replace(decision, without=replace(decision.without, shift=alone))
    elif folds is not None and decision.combined is not None:
        held_out, truth = decision.combined.probabilities, problem.codes[folds.rows]
        assert held_out is not None
        shift = class_shift(held_out, truth, counts, fitted.probabilities[free])
    else:
        return decision, fitted
    pool = replace(decision.pool, shift=tuple(shift.tolist()))
    return replace(decision, pool=pool), put_together(problem, fitted.candidates, pool)


def fit_named(
    problem: Problem,
    candidate: Candidate,
    *,
    n_repeats: int | str = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Selection:
    """Fit one candidate, whatever others might do; its parameters are chosen on the folds.

    Parameters
    ----------
    problem : Problem
    candidate : Candidate
    n_repeats : int or "auto", default="auto"
        Of the folds, which are drawn only if there are parameters to choose.
    random_state : int, RandomState instance or None, default=None
        Of the folds.
    n_jobs : int, default=None

    Returns
    -------
    Selection

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import fit_named, make_candidates, standard_problem
    >>> X = np.array([[0.0], [0.2], [5.0], [5.2]])
    >>> problem = standard_problem(X, np.array([0, -1, 1, -1]), np.array([0, 1]))
    >>> (harmonic,) = make_candidates(["harmonic"], problem)
    >>> fit_named(problem, harmonic).probabilities.argmax(axis=1)
    array([0, 0, 1, 1])
    """
    started = time.perf_counter()
    if candidate.skipped is not None:
        raise ValueError(f"{candidate.skipped} Name another method.")
    outcomes: list[Outcome] = []
    folds = None
    params = candidate.grid[0]
    if len(candidate.grid) > 1:
        folds = draw_folds(problem.codes, n_repeats, random_state)
    if folds is not None:
        outcomes = estimate(problem, [candidate], folds, n_jobs=n_jobs)
        if outcomes[0].status == FAILED:
            raise ValueError(outcomes[0].reason)
        params = outcomes[0].params
    decision = take_one(candidate, params)
    fitted = fit(problem, [candidate], decision)
    return Selection(tuple(outcomes), decision, fitted, folds, time.perf_counter() - started)
