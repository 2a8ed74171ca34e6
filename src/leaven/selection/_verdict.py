"""What a selection lets a user expect, in numbers and in two plain sentences."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from leaven._labels import UNLABELED
from leaven.selection._assess import (
    MissingClass,
    expected_accuracy,
    likely_scores,
    mislabeled_probability,
    missing_classes,
    weighted_quantiles,
)
from leaven.selection._decide import HARDLY, Decision
from leaven.selection._folds import row_correctness
from leaven.selection._problem import Problem
from leaven.selection._select import Selection
from leaven.statistics import Estimate

# Probability of being wrong from which a given label is listed.
SUSPECT = 0.5


@dataclass(frozen=True)
class Suspect:
    """A given label that the held-out predictions contradict.

    Parameters
    ----------
    row : int
    code : int
        The class that was given.
    likely : int
        The most probable class without this label.
    probability : float
        That the given label is wrong.
    """

    row: int
    code: int
    likely: int
    probability: float


@dataclass(frozen=True, eq=False)
class Assessment:
    """What to expect of the answer, made by :func:`assess`.

    Parameters
    ----------
    accuracy : Estimate
        Expected accuracy on the unlabeled rows, with an interval of 90%.
    probability_helped : float
        That the unlabeled rows made the answer better; NaN if nothing could be compared.
    verdict : str
        Both in two sentences.
    scores : ndarray of shape (n_tested,)
        Held-out probabilities of the true class, in ascending order, for
        :func:`prediction_sets`; where classes are more frequent among the unlabeled rows than
        among the labels, those of as many rows as the labels are worth.
    suspects : tuple of Suspect
        Given labels that are probably wrong, the worst first.
    never_predicted : tuple of MissingClass
        Classes with labels that no unlabeled row got.
    likely : ndarray of shape (n_levels,)
        Distribution of the probabilities of the unlabeled rows, for :func:`prediction_sets`.
    """

    accuracy: Estimate
    probability_helped: float
    verdict: str
    scores: NDArray[np.float64]
    suspects: tuple[Suspect, ...]
    never_predicted: tuple[MissingClass, ...]
    likely: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))


def assess(
    selection: Selection, problem: Problem, probabilities: NDArray[np.float64] | None = None
) -> Assessment:
    """Say what to expect of a selection.

    Parameters
    ----------
    selection : Selection
    problem : Problem
        Its problem.
    probabilities : ndarray of shape (n_rows, n_classes), default=None
        Of all unlabeled rows, if there are more than the selection learned from.

    Returns
    -------
    Assessment

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.datasets import make_two_moons
    >>> from leaven.selection import assess, make_candidates, select, standard_problem
    >>> X, truth = make_two_moons(200, random_state=0)
    >>> codes = np.full(200, -1)
    >>> for code in (0, 1):
    ...     codes[np.flatnonzero(truth == code)[:10]] = code
    >>> problem = standard_problem(X, codes, np.array([0, 1]))
    >>> names = ["logistic-regression", "naive-bayes", "harmonic"]
    >>> found = assess(select(problem, make_candidates(names, problem), random_state=0), problem)
    >>> 0.5 < found.accuracy.low < found.accuracy.value < found.accuracy.high < 1
    True
    """
    free = problem.codes == UNLABELED
    found = selection.probabilities[free] if probabilities is None else probabilities
    held_out, folds = selection.held_out, selection.folds
    right, scores, weight = np.empty(0), np.empty(0), np.empty(0)
    suspects: tuple[Suspect, ...] = ()
    if held_out is not None and folds is not None:
        truth = problem.codes[folds.rows]
        suspects = _suspects(held_out.mean(axis=0), truth, folds.rows)
        pool = selection.decision.pool
        held_out = pool.shifted(held_out)
        weight = np.exp(pool.shift)[truth] if pool.shift else np.ones(len(truth))
        right = row_correctness(held_out, problem.codes, folds)
        scores = held_out.mean(axis=0)[np.arange(len(truth)), truth]
    confidence = float(found.max(axis=1).mean()) if len(found) else np.nan
    if np.isnan(confidence):
        confidence = float(right.mean()) if len(right) else 1.0 / problem.n_classes
    accuracy = expected_accuracy(confidence, right, weight)
    probability = selection.decision.probability_helped
    return Assessment(
        accuracy,
        probability,
        f"{_expect(accuracy)} {_helped(selection.decision)}",
        weighted_quantiles(scores, weight),
        suspects,
        missing_classes(found),
        likely_scores(found),
    )


def _suspects(
    mean: NDArray[np.float64], truth: NDArray[np.intp], rows: NDArray[np.intp]
) -> tuple[Suspect, ...]:
    wrong = mislabeled_probability(mean[np.arange(len(truth)), truth])
    likely = mean.argmax(axis=1)
    listed = [i for i in np.argsort(-wrong, kind="stable") if wrong[i] >= SUSPECT]
    return tuple(
        Suspect(int(rows[i]), int(truth[i]), int(likely[i]), float(wrong[i]))
        for i in listed
        if likely[i] != truth[i]
    )


def _expect(accuracy: Estimate) -> str:
    return (
        f"Expect about {accuracy.value:.0%} of the new labels to be right "
        f"({100 * accuracy.low:.0f}-{100 * accuracy.high:.0f}%)."
    )


def _helped(decision: Decision) -> str:
    """What the unlabeled rows did, in a sentence."""
    probability, word = decision.probability_helped, decision.unlabeled_helped
    # Nothing is certain: never 10 in 10.
    if word == "yes":
        return f"Using the unlabeled rows probably helped ({_tenths(probability)} in 10)."
    if word == "no":
        return f"Using the unlabeled rows probably did not help ({_tenths(1 - probability)} in 10)."
    if word == HARDLY:
        share = f"{decision.changed:.0%}" if decision.changed >= 0.005 else "hardly any"
        return f"Using the unlabeled rows changed {share} of the labels: little difference."
    if np.isnan(decision.changed):
        return "Whether using the unlabeled rows helped cannot be told."
    return (
        f"Using the unlabeled rows changed {decision.changed:.0%} of the labels; whether for the "
        "better cannot be told."
    )


def _tenths(probability: float) -> int:
    return int(np.clip(round(10 * probability), 1, 9))
