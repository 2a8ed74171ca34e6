"""Deciding how to use the candidates, from what they did on labels that were held out.

The default is their weighted combination; with ``combine=False``, or with two candidates only,
it is one of them, and one that learns from unlabeled rows only if it is clearly better.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaven.selection._assess import probability_above_zero
from leaven.selection._candidates import SEMI_SUPERVISED, SUPERVISED, Candidate
from leaven.selection._estimate import SKIPPED, TRIED, Outcome, judge
from leaven.selection._folds import ROUNDING, Folds, Score
from leaven.selection._pool import (
    COMBINATION,
    MIN_COMBINED,
    Pool,
    combine_held_out,
    prior_pool,
    single_pool,
)
from leaven.statistics import (
    Estimate,
    estimate_difference,
    estimate_from_folds,
    shrink_best,
)

# What is said of the unlabeled rows where it is neither "yes" nor "no".
CANNOT_TELL, HARDLY = "cannot tell", "hardly"

# Probability from which the verdict is "yes", and up to one minus which it is "no". Of the
# "yes" of benchmarks/safe.py 23 of 30 were right from 0.8 on (one draw), and 43 of 49 from 0.9 on
# (three draws).
LIKELY = 0.9

# Below this the selection bias is rounded away in a sentence, and not mentioned.
_VISIBLE_BIAS = 0.005

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
        The name of the candidate, or "combination".
    pool : Pool
        The weights of the candidates in use, and how they are combined.
    params : dict of str to dict
        The parameters of these candidates, chosen on the folds.
    kind : {"supervised", "semi-supervised"}
        Of the choice.
    unlabeled_helped : {"yes", "no", "hardly", "cannot tell"}
        "hardly" if they changed the class of few rows only.
    reason : str
        Why, in a sentence.
    best_supervised, best_semi_supervised : str or None
        The best single candidates.
    differences : tuple of Difference
        Of the candidates tried to the best supervised one.
    selection_bias : float
        By how much the score of the best supervised candidate is expected to be too good because
        it is the best of several.
    combined : Outcome or None
        Of the combination, if there was one.
    probability_helped : float
        That the unlabeled rows made the answer better; NaN if nothing could be compared.
    held_out_gain : Estimate or None
        Accuracy (or score) of the combination less that of its supervised part, on the labels
        that were held out.
    without : Pool or None
        The combination of the supervised candidates alone.
    changed : float
        Share of the unlabeled rows whose class is another than without them; NaN before the
        last fit, or if there is nothing to compare with.
    """

    choice: str
    pool: Pool
    params: dict[str, dict[str, Any]]
    kind: str
    unlabeled_helped: str = CANNOT_TELL
    reason: str = ""
    best_supervised: str | None = None
    best_semi_supervised: str | None = None
    differences: tuple[Difference, ...] = ()
    selection_bias: float = 0.0
    combined: Outcome | None = field(default=None, repr=False)
    probability_helped: float = np.nan
    held_out_gain: Estimate | None = None
    without: Pool | None = field(default=None, repr=False)
    changed: float = np.nan

    @property
    def weights(self) -> dict[str, float]:
        """Weights of the candidates in use, sum 1."""
        return self.pool.weights


def decide(
    outcomes: Sequence[Outcome],
    codes: NDArray[np.intp],
    folds: Folds,
    *,
    caution: float = 1.0,
    combine: bool = True,
    score: Score | None = None,
) -> Decision:
    """Combine the candidates, or take the best one.

    Three candidates or more are combined (:func:`combine_held_out`), and whether the unlabeled
    rows helped is told by the paired difference to the combination of the supervised ones
    alone. Otherwise the best candidate is taken, or the best supervised one if the gain by
    unlabeled rows is within its error.

    Parameters
    ----------
    outcomes : sequence of Outcome
        In order of preference, which settles equal scores; those that were not tried do not
        count.
    codes : ndarray of shape (n_samples,)
    folds : Folds
        Those of the outcomes.
    caution : float, default=1.0
        Standard errors that the gain by unlabeled rows must exceed, if one is taken.
    combine : bool, default=True
        Whether three candidates or more are combined.
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
    >>> candidates = make_candidates(["linear-svm", "harmonic"], problem)
    >>> folds = draw_folds(problem.codes, random_state=0)
    >>> decision = decide(estimate(problem, candidates, folds), problem.codes, folds)
    >>> decision.weights, decision.unlabeled_helped
    ({'linear-svm': 1.0}, 'no')
    """
    tried = [outcome for outcome in outcomes if outcome.status == TRIED]
    if not tried:
        reasons = " ".join(outcome.reason for outcome in outcomes)
        raise ValueError(f"No candidate could be estimated. {reasons}")
    pairs = _Pairs(folds.n_splits, by_row=score is None)
    if combine and len(tried) >= MIN_COMBINED:
        return _combine(tried, codes, folds, score, pairs)
    decision = _compare_best(tried, pairs, caution)
    chosen = _named(tried, decision.choice)
    return replace(decision, params={chosen.name: chosen.params})


def _combine(
    tried: Sequence[Outcome],
    codes: NDArray[np.intp],
    folds: Folds,
    score: Score | None,
    pairs: _Pairs,
) -> Decision:
    """Combine all candidates, and compare with the supervised ones alone."""
    begun = time.perf_counter()
    pool, outcome = _pooled(tried, codes, folds, score, begun)
    alone = [each for each in tried if each.kind == SUPERVISED]
    gain, without, supervised_pool = None, None, None
    if alone and len(alone) < len(tried):
        supervised_pool, without = _pooled(alone, codes, folds, score, begun)
        gain = pairs.compare(outcome, without)
    supervised, semi = _best(tried, SUPERVISED), _best(tried, SEMI_SUPERVISED)
    differences: tuple[Difference, ...] = ()
    bias = 0.0
    if supervised is not None:
        baseline = pairs.unbiased(supervised, tried)
        bias = _bias(supervised, baseline)
        differences = tuple(
            Difference(each.name, each.kind, pairs.compare(each, baseline))
            for each in [*tried, outcome]
            if each is not supervised
        )
    probability = np.nan if gain is None else probability_above_zero(gain)
    return Decision(
        COMBINATION,
        pool,
        {each.name: each.params for each in tried if each.name in pool.weights},
        outcome.kind,
        CANNOT_TELL if gain is None else verdict_of(probability),
        _comparison(outcome, without, len(folds.rows), by_accuracy=score is None),
        None if supervised is None else supervised.name,
        None if semi is None else semi.name,
        differences,
        bias,
        outcome,
        probability,
        gain,
        supervised_pool,
    )


def verdict_of(probability: float) -> str:
    """The word for a probability that the unlabeled rows helped."""
    if probability >= LIKELY:
        return "yes"
    return "no" if probability <= 1.0 - LIKELY else CANNOT_TELL


def _pooled(
    tried: Sequence[Outcome],
    codes: NDArray[np.intp],
    folds: Folds,
    score: Score | None,
    begun: float,
) -> tuple[Pool, Outcome]:
    names = [each.name for each in tried]
    found = combine_held_out(
        names,
        [each.probabilities for each in tried if each.probabilities is not None],
        codes,
        folds,
        {each.name: each.member for each in tried},
    )
    results, estimated = judge(found.held_out, codes, folds, score)
    kinds = {each.kind for each in tried if each.name in found.pool.weights}
    kind = SEMI_SUPERVISED if SEMI_SUPERVISED in kinds else SUPERVISED
    took = time.perf_counter() - begun
    return found.pool, Outcome(
        COMBINATION, kind, TRIED, "", results, estimated, {}, took, found.held_out
    )


def _comparison(
    combined: Outcome, without: Outcome | None, n_rows: int, *, by_accuracy: bool
) -> str:
    """What the held-out labels say of the combination, in a sentence."""
    if by_accuracy:
        found = f"right {combined.estimate.value:.0%} of the time"
        other = "" if without is None else f"{without.estimate.value:.0%}"
    else:
        found = f"given a score of {combined.estimate.value:.2f}"
        other = "" if without is None else f"{without.estimate.value:.2f}"
    sentence = f"On {n_rows:,} labels that were held out, all methods combined were {found}"
    if without is None:
        return f"{sentence}."
    return f"{sentence}, and {other} without those that learn from the unlabeled rows."


def decide_without_folds(
    candidates: Sequence[Candidate], fallback: str | None = None, *, combine: bool = False
) -> tuple[list[Outcome], Decision]:
    """Decide where no label can be held out.

    Three candidates or more are combined with the weights that they have before any label is
    seen, if ``combine``; else it is ``fallback``, the first supervised candidate, or the first.
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
    first = {
        kind: next((each.name for each in usable if each.kind == kind), None)
        for kind in (SUPERVISED, SEMI_SUPERVISED)
    }
    cannot = f"Whether the unlabeled rows helped cannot be told: {_CANNOT_HOLD_OUT}."
    if combine and len(usable) >= MIN_COMBINED:
        kinds = {each.kind for each in usable}
        alone = {each.name: each.member for each in usable if each.kind == SUPERVISED}
        decision = Decision(
            COMBINATION,
            prior_pool({each.name: each.member for each in usable}),
            {each.name: each.grid[0] for each in usable},
            SEMI_SUPERVISED if SEMI_SUPERVISED in kinds else SUPERVISED,
            without=prior_pool(alone) if alone and SEMI_SUPERVISED in kinds else None,
        )
        why = "All methods are combined, with the weights that were best on other tables."
    else:
        preferred = [candidate for candidate in usable if candidate.kind == SUPERVISED]
        chosen = (preferred or usable)[0]
        because = f"the first {chosen.kind} candidate"
        for candidate in usable:
            if candidate.name == fallback:
                chosen, because = candidate, "the best on average with one label per class"
        decision = take_one(chosen)
        why = f"By default {chosen.name} is used, {because}."
    return outcomes, replace(
        decision,
        reason=f"{cannot} {why} Label a second row of a class.",
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
    pool = single_pool(candidate.name)
    return Decision(candidate.name, pool, {candidate.name: params}, candidate.kind)


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


def _compare_best(tried: Sequence[Outcome], pairs: _Pairs, caution: float) -> Decision:
    supervised = _best(tried, SUPERVISED)
    semi = _best(tried, SEMI_SUPERVISED)
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
        pool = single_pool(chosen.name)
        return Decision(chosen.name, pool, {}, chosen.kind, CANNOT_TELL, reason, *names)
    baseline = pairs.unbiased(supervised, tried)
    rival = pairs.unbiased(semi, tried)
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
    return Decision(
        chosen.name,
        single_pool(chosen.name),
        {},
        chosen.kind,
        helped,
        reason,
        *names,
        differences,
        bias,
        probability_helped=probability_above_zero(gain),
    )


def _verdict(gain: Estimate, caution: float, numbers: str, supervised: str) -> tuple[str, str]:
    """Say whether the unlabeled rows helped, in a word and in a sentence."""
    size = f"{gain.value:.2f} ± {gain.se:.2f}"
    if gain.value > 0 and gain.value > caution * gain.se:
        return "yes", f"The unlabeled rows helped: {numbers}, a gain of {size}."
    if gain.value > 0:
        return CANNOT_TELL, (
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
        # Of equals the first, so that the order of the candidates and not rounding decides.
        if best is None or outcome.estimate.value > best.estimate.value + ROUNDING:
            best = outcome
    return best


def _named(outcomes: Sequence[Outcome], name: str) -> Outcome:
    return next(outcome for outcome in outcomes if outcome.name == name)
