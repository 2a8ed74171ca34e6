"""Whether the unlabeled rows helped: the answer beside the one without them.

Where both give a row the same class, nothing was gained or lost. So the share of the rows whose
class changed bounds the gain, whatever the labels say; how much more likely the new classes are
than the old ones tells its sign. Pure functions of class probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leaven._labels import UNLABELED
from leaven.selection._assess import probability_above_zero
from leaven.selection._decide import CANNOT_TELL, HARDLY, Decision, verdict_of
from leaven.selection._fit import Fitted
from leaven.selection._pool import Pool
from leaven.selection._problem import Problem

# Share of changed rows up to which the verdict is that they hardly mattered: accuracy then differs
# by five points at the very most. On the tables of benchmarks/members.py it was within 2.5 points
# in 80 to 93% of such runs.
HARDLY_CHANGED = 0.05

# Mean and standard deviation of the gain: 1.4 times what the probabilities promise less 0.07 times
# the share that changed, give or take 0.38 times this share and half a point. By maximum
# likelihood on 189 runs with 2 to 20 labels per class, before candidates were calibrated one by one
# and classes shifted. With both, 118 runs with 5 to 20 labels give 1.1, -0.02, 0.44 and 0.003, and
# numbers learned on all other tables tell the sign of the gain hardly better than chance, with an
# area under the ROC curve of 0.52 (`python benchmarks/members.py gain DIRECTORY`).
PROMISE, CHANGE, CHANGE_DEVIATION, DEVIATION = 1.4, -0.07, 0.38, 0.005


@dataclass(frozen=True)
class Change:
    """How two answers for the same rows differ.

    Parameters
    ----------
    share : float
        Of the rows that get another class; the accuracies differ by at most as much.
    promised : float
        Gain in accuracy if the probabilities of the new answer hold: the mean over all rows of
        the probability of the new class less that of the old one.
    """

    share: float
    promised: float


def compare_answers(new: NDArray[np.float64], old: NDArray[np.float64]) -> Change:
    """Compare two answers for the same rows.

    Parameters
    ----------
    new, old : ndarray of shape (n_rows, n_classes)
        Class probabilities; there is at least one row.

    Returns
    -------
    Change

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import compare_answers
    >>> old = np.array([[0.6, 0.4], [0.3, 0.7], [0.9, 0.1], [0.8, 0.2]])
    >>> new = np.array([[0.3, 0.7], [0.2, 0.8], [0.8, 0.2], [0.9, 0.1]])
    >>> found = compare_answers(new, old)
    >>> found.share, round(found.promised, 3)
    (0.25, 0.1)
    """
    rows = np.arange(len(new))
    now, before = new.argmax(axis=1), old.argmax(axis=1)
    promised = new[rows, now] - new[rows, before]
    return Change(float(np.mean(now != before)), float(promised.mean()))


def gain_prior(change: Change) -> tuple[float, float]:
    r"""What gain in accuracy to expect of a change, before the held-out labels are asked.

    With the share s of changed rows and the promised gain g, on average over tables

    .. math:: N\big(1.4\, g - 0.07\, s,\; (0.38\, s)^2 + 0.005^2\big).

    Parameters
    ----------
    change : Change

    Returns
    -------
    mean, deviation : float

    Examples
    --------
    >>> from leaven.selection import Change, gain_prior
    >>> [round(value, 3) for value in gain_prior(Change(share=0.2, promised=0.05))]
    [0.056, 0.076]
    """
    mean = PROMISE * change.promised + CHANGE * change.share
    return mean, float(np.hypot(CHANGE_DEVIATION * change.share, DEVIATION))


def judge_change(decision: Decision, fitted: Fitted, problem: Problem) -> Decision:
    """Say whether the unlabeled rows helped, from the answer with and without them.

    Parameters
    ----------
    decision : Decision
    fitted : Fitted
        The candidates that were decided on.
    problem : Problem

    Returns
    -------
    Decision
        With ``changed``, ``probability_helped`` and ``unlabeled_helped``; as it was if it is not
        a combination, or has no supervised part to compare with.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import fit, judge_change, make_candidates, standard_problem
    >>> from leaven.selection import take_one
    >>> X = np.array([[0.0], [0.2], [5.0], [5.2]])
    >>> problem = standard_problem(X, np.array([0, -1, 1, -1]), np.array([0, 1]))
    >>> candidates = make_candidates(["harmonic"], problem)
    >>> one = take_one(candidates[0])
    >>> judge_change(one, fit(problem, candidates, one), problem).unlabeled_helped
    'cannot tell'
    """
    free = problem.codes == UNLABELED
    without = _supervised_part(decision, fitted)
    if without is None or not free.any():
        return decision
    old = without.combine({each.name: each.probabilities[free] for each in fitted.candidates})
    change = compare_answers(fitted.probabilities[free], old)
    if decision.held_out_gain is None:
        # Nothing could be held out: the probabilities are those of other tables.
        return replace(decision, changed=change.share, unlabeled_helped=_word(change, np.nan))
    probability = probability_above_zero(decision.held_out_gain, gain_prior(change))
    return replace(
        decision,
        changed=change.share,
        probability_helped=probability,
        unlabeled_helped=_word(change, probability),
    )


def _word(change: Change, probability: float) -> str:
    if change.share <= HARDLY_CHANGED:
        return HARDLY
    return CANNOT_TELL if np.isnan(probability) else verdict_of(probability)


def _supervised_part(decision: Decision, fitted: Fitted) -> Pool | None:
    """The pool of the supervised candidates alone, as far as they were fitted."""
    if decision.without is None:
        return None
    names = {each.name for each in fitted.candidates}
    kept = {name: w for name, w in decision.without.weights.items() if name in names}
    total = sum(kept.values())
    if not total:
        return None
    return replace(decision.without, weights={name: w / total for name, w in kept.items()})
