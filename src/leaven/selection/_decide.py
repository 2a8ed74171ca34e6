"""Deciding between the candidates, from what they did on labels that were held out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaven.selection._candidates import SEMI_SUPERVISED, SUPERVISED, Candidate
from leaven.selection._estimate import SKIPPED, TRIED, Outcome, judge
from leaven.selection._folds import ROUNDING, Folds, Score
from leaven.selection._vote import MIN_VOTERS, VOTE, count_votes
from leaven.statistics import (
    Estimate,
    estimate_difference,
    estimate_from_folds,
    shrink_best,
)

LEAD = 2.0
"""Standard errors by which a single candidate must lead the vote, or be behind the best to lose
its vote. There are many of them, and the best of many has a selection bias: with one standard
error accuracy fell."""

_VISIBLE_BIAS = 0.005
"""Below this the selection bias is rounded away in a sentence, and not mentioned."""

_CANNOT_HOLD_OUT = "no class has two labels, so that none could be held out"


@dataclass(frozen=True)
class Difference:
    """The paired difference of a candidate to the best supervised one.

    Parameters
    ----------
    name : str
    kind : {"supervised", "semi-supervised"}
    estimate : Estimate
    """

    name: str
    kind: str
    estimate: Estimate


@dataclass(frozen=True, eq=False)
class Decision:
    """Which candidates to use, with what weights, and why.

    Parameters
    ----------
    choice : str
        The name of the candidate, or "vote".
    weights : dict of str to float
        Of the candidates in use, sum 1: a single one has weight 1, those that vote have equal
        weights.
    params : dict of str to dict
        The parameters of these candidates, chosen on the folds.
    kind : {"supervised", "semi-supervised"}
        Of the choice.
    unlabeled_helped : {"yes", "no", "cannot tell"}
    reason : str
        Why, in a sentence.
    best_supervised, best_semi_supervised : str or None
    differences : tuple of Difference
        Of the candidates tried to the best supervised one.
    selection_bias : float
        By how much the score of the best supervised candidate is expected to be too good because
        it is the best of several.
    combined : Outcome or None
        Of the vote, if there was one.
    """

    choice: str
    weights: dict[str, float]
    params: dict[str, dict[str, Any]]
    kind: str
    unlabeled_helped: str = "cannot tell"
    reason: str = ""
    best_supervised: str | None = None
    best_semi_supervised: str | None = None
    differences: tuple[Difference, ...] = ()
    selection_bias: float = 0.0
    combined: Outcome | None = field(default=None, repr=False)


def decide(
    outcomes: Sequence[Outcome],
    codes: NDArray[np.intp],
    folds: Folds,
    *,
    caution: float = 1.0,
    vote: bool = True,
    score: Score | None = None,
) -> Decision:
    """Take the best candidate, or the best supervised one if the gain is within its error.

    The vote, where there is one, stands for all that use unlabeled rows, unless one of them
    leads it by more than two standard errors. The gain is that over the best supervised
    candidate without the selection bias of having been best.

    Parameters
    ----------
    outcomes : sequence of Outcome
        In order of preference, which settles equal scores; those that were not tried do not
        count.
    codes : ndarray of shape (n_samples,)
    folds : Folds
        Those of the outcomes.
    caution : float, default=1.0
        Standard errors that the gain by unlabeled rows must exceed.
    vote : bool, default=True
        Whether three or more candidates also vote.
    score : callable, default=None
        That of the outcomes; None is the accuracy.

    Returns
    -------
    Decision

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import decide, draw_folds, estimate, make_candidates
    >>> from leaven.selection import standard_problem
    >>> X = np.array([[0.0], [0.2], [0.1], [5.0], [5.2], [5.1]])
    >>> problem = standard_problem(X, np.array([0, 0, -1, 1, 1, -1]), np.array([0, 1]))
    >>> candidates = make_candidates(["naive-bayes", "harmonic"], problem)
    >>> folds = draw_folds(problem.codes, random_state=0)
    >>> decision = decide(estimate(problem, candidates, folds), problem.codes, folds)
    >>> decision.weights, decision.unlabeled_helped
    ({'naive-bayes': 1.0}, 'no')
    """
    tried = [outcome for outcome in outcomes if outcome.status == TRIED]
    if not tried:
        reasons = " ".join(outcome.reason for outcome in outcomes)
        raise ValueError(f"No candidate could be estimated. {reasons}")
    pairs = _Pairs(folds.n_splits, by_row=score is None)
    voters = voters_among(tried, pairs) if vote else []
    combined = _hold_vote(voters, codes, folds, score)
    if combined is not None:
        tried.append(combined)
    decision = _compare_best(tried, combined, pairs, caution)
    used = voters if decision.choice == VOTE else [_named(tried, decision.choice)]
    return replace(
        decision,
        weights={outcome.name: 1.0 / len(used) for outcome in used},
        params={outcome.name: outcome.params for outcome in used},
        combined=combined,
    )


def decide_without_folds(
    candidates: Sequence[Candidate], fallback: str | None = None
) -> tuple[list[Outcome], Decision]:
    """Decide where no label can be held out: the first supervised candidate, or else the first.

    ``fallback`` names a candidate that is taken instead, if it is there.
    """
    usable = [candidate for candidate in candidates if candidate.skipped is None]
    if not usable:
        reasons = " ".join(str(candidate.skipped) for candidate in candidates)
        raise ValueError(f"No candidate fits the data. {reasons}")
    outcomes = [
        Outcome(
            each.name,
            each.kind,
            SKIPPED,
            each.skipped or f"{each.name} was not estimated: {_CANNOT_HOLD_OUT}.",
        )
        for each in candidates
    ]
    preferred = [candidate for candidate in usable if candidate.kind == SUPERVISED]
    chosen = (preferred or usable)[0]
    why = f"the first {chosen.kind} candidate"
    for candidate in usable:
        if candidate.name == fallback:
            chosen, why = candidate, "the best on average with one label per class"
    reason = (
        f"Whether the unlabeled rows helped cannot be told: {_CANNOT_HOLD_OUT}. By default "
        f"{chosen.name} is used, {why}. Label a second row of a class."
    )
    first = {
        kind: next((each.name for each in usable if each.kind == kind), None)
        for kind in (SUPERVISED, SEMI_SUPERVISED)
    }
    return outcomes, replace(
        take_one(chosen),
        reason=reason,
        best_supervised=first[SUPERVISED],
        best_semi_supervised=first[SEMI_SUPERVISED],
    )


def take_one(candidate: Candidate, params: dict[str, Any] | None = None) -> Decision:
    """Return the decision for one candidate, whatever the others do.

    Parameters
    ----------
    candidate : Candidate
    params : dict, default=None
        Of its grid; None is the first.

    Returns
    -------
    Decision

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leaven.selection import Candidate, take_one
    >>> take_one(Candidate("bayes", GaussianNB(), "supervised")).weights
    {'bayes': 1.0}
    """
    params = candidate.grid[0] if params is None else params
    return Decision(candidate.name, {candidate.name: 1.0}, {candidate.name: params}, candidate.kind)


@dataclass(frozen=True)
class _Pairs:
    """How paired differences are estimated: over rows, or over folds."""

    n_splits: int
    by_row: bool

    def compare(self, first: Outcome, second: Outcome) -> Estimate:
        difference = first.results - second.results
        if self.by_row:
            return estimate_difference(difference)
        return estimate_from_folds(difference, self.n_splits)

    def unbiased(self, best: Outcome, tried: Sequence[Outcome]) -> Outcome:
        """The best of its kind, with results without the selection bias of having been best."""
        rivals = [outcome for outcome in tried if outcome.kind == best.kind]
        results = np.stack([outcome.results for outcome in rivals])
        place = next(i for i, outcome in enumerate(rivals) if outcome is best)
        n_splits = None if self.by_row else self.n_splits
        return replace(best, results=shrink_best(results, place, n_splits))


def voters_among(tried: Sequence[Outcome], pairs: _Pairs) -> list[Outcome]:
    """Candidates that are not clearly worse than the best; none if too few were tried."""
    kinds = {outcome.kind for outcome in tried}
    if len(tried) < MIN_VOTERS or SEMI_SUPERVISED not in kinds:
        return []
    best = max(tried, key=lambda outcome: outcome.estimate.value)
    voters = []
    for outcome in tried:
        behind = pairs.compare(best, outcome)
        if behind.value <= LEAD * behind.se:
            voters.append(outcome)
    return voters


def _hold_vote(
    voters: Sequence[Outcome], codes: NDArray[np.intp], folds: Folds, score: Score | None
) -> Outcome | None:
    """Estimate the vote; None if there are no voters."""
    if not voters:
        return None
    begun = time.perf_counter()
    votes = count_votes([each.probabilities for each in voters if each.probabilities is not None])
    results, estimated = judge(votes, codes, folds, score)
    took = time.perf_counter() - begun
    return Outcome(VOTE, SEMI_SUPERVISED, TRIED, "", results, estimated, {}, took, votes)


def _compare_best(
    tried: Sequence[Outcome], vote: Outcome | None, pairs: _Pairs, caution: float
) -> Decision:
    supervised = _best(tried, SUPERVISED)
    semi = _best(tried, SEMI_SUPERVISED)
    if vote is not None and semi is not None:
        lead = pairs.compare(semi, vote)
        semi = semi if lead.value > LEAD * lead.se else vote
    names = (
        None if supervised is None else supervised.name,
        None if semi is None else semi.name,
    )
    if supervised is None or semi is None:
        chosen = semi if supervised is None else supervised
        assert chosen is not None
        other = SUPERVISED if supervised is None else SEMI_SUPERVISED
        reason = (
            f"Whether the unlabeled rows helped cannot be told: no {other} candidate was tried. "
            f"Of the others, {chosen.name} is best with {chosen.estimate.value:.2f}."
        )
        return Decision(chosen.name, {}, {}, chosen.kind, "cannot tell", reason, *names)
    baseline = pairs.unbiased(supervised, tried)
    # The vote was not selected, and whoever leads it does so by more than the bias.
    rival = semi if vote is not None else pairs.unbiased(semi, tried)
    differences = tuple(
        Difference(outcome.name, outcome.kind, pairs.compare(rival, baseline))
        if outcome is semi
        else Difference(
            outcome.name,
            outcome.kind,
            pairs.compare(outcome, baseline if outcome.kind == SEMI_SUPERVISED else supervised),
        )
        for outcome in tried
        if outcome is not supervised
    )
    gain = pairs.compare(rival, baseline)
    numbers = (
        f"{semi.name} {semi.estimate.value:.2f}{_told(semi, rival)} against "
        f"{supervised.estimate.value:.2f} of {supervised.name}{_told(supervised, baseline)}"
    )
    helped, reason = _verdict(gain, caution, numbers, supervised.name)
    chosen = semi if helped == "yes" else supervised
    bias = _bias(supervised, baseline)
    return Decision(chosen.name, {}, {}, chosen.kind, helped, reason, *names, differences, bias)


def _verdict(gain: Estimate, caution: float, numbers: str, supervised: str) -> tuple[str, str]:
    """Say whether the unlabeled rows helped, in a word and in a sentence."""
    size = f"{gain.value:.2f} ± {gain.se:.2f}"
    if gain.value > 0 and gain.value > caution * gain.se:
        return "yes", f"The unlabeled rows helped: {numbers}, a gain of {size}."
    if gain.value > 0:
        return "cannot tell", (
            f"Whether the unlabeled rows helped cannot be told: {numbers}, a gain of {size}, is "
            f"within {caution:g} standard errors. So {supervised} is used, which does without them."
        )
    return "no", (
        f"The unlabeled rows did not help: {numbers}, a difference of {size}. So {supervised} is "
        "used."
    )


def _bias(best: Outcome, unbiased: Outcome) -> float:
    return best.estimate.value - float(unbiased.results.mean())


def _told(best: Outcome, unbiased: Outcome) -> str:
    """What a sentence says of the selection bias, or nothing if it is too small to see."""
    if _bias(best, unbiased) < _VISIBLE_BIAS:
        return ""
    return f" ({unbiased.results.mean():.2f} without selection bias)"


def _best(outcomes: Sequence[Outcome], kind: str) -> Outcome | None:
    best: Outcome | None = None
    for outcome in outcomes:
        if outcome.kind != kind:
            continue
        if best is None or outcome.estimate.value > best.estimate.value + ROUNDING:
            best = outcome
    return best


def _named(outcomes: Sequence[Outcome], name: str) -> Outcome:
    return next(outcome for outcome in outcomes if outcome.name == name)
