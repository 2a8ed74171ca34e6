"""The last step on small data: exchange of single pairs, each judged by a training of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leaven.low_density._problem import S3VMProblem, S3VMResult
from leaven.low_density._rows import Array
from leaven.low_density._switching import descend

MAX_ROWS = 100
"""With more unlabeled rows one pair hardly changes the objective, and a training costs more."""
REACH = 12
"""How many of the least certain rows of each label are tried."""


def refine(problem: S3VMProblem, result: S3VMResult, *, tol: float) -> S3VMResult:
    """Exchange pairs of labels as long as the objective after training falls.

    The solvers end where no exchange gains at the ``(w, b)`` they have. On few rows ``(w, b)``
    itself follows the labels, and such ends are many. Here the pairs of the twelve lowest
    positives and the twelve highest negatives are tried by training; a pair is given up as soon
    as the dual value shows that it does not gain. The objective falls at every step.
    """
    if len(problem.unlabeled) > MAX_ROWS:
        return result
    solution, labels = result.solution, result.labels
    value, n_iter, better = problem.objective(solution), result.n_iter, True
    while better:
        better = False
        for pair in _pairs(labels, solution.scores[problem.unlabeled]):
            swapped = labels.copy()
            swapped[pair] *= -1.0
            cutoff = value * (1.0 - 1e-6)
            trial = problem.solve(swapped, start=solution, tol=1e-3, cutoff=cutoff)
            if trial.dual >= cutoff:
                continue
            trial, swapped, rounds, _ = descend(problem, swapped, trial, tol=tol)
            n_iter += rounds
            new = problem.objective(trial)
            if new < cutoff:
                solution, labels, value, better = trial, swapped, new, True
                break
    if labels is result.labels:
        return result
    p = result.probabilities
    if p is not None:
        p = _in_order(p, solution.scores[problem.unlabeled])
    return replace(
        result,
        solution=solution,
        labels=labels,
        n_iter=n_iter,
        trace=[*result.trace, value],
        probabilities=p,
    )


def _pairs(labels: Array, scores: Array) -> list[list[int]]:
    """Pairs of a positive and a negative row, the least certain first."""
    positive, negative = np.flatnonzero(labels > 0), np.flatnonzero(labels < 0)
    positive = positive[np.argsort(scores[positive], kind="stable")][:REACH]
    negative = negative[np.argsort(-scores[negative], kind="stable")][:REACH]
    pairs = [[int(i), int(j)] for i in positive for j in negative]
    return sorted(pairs, key=lambda pair: scores[pair[0]] - scores[pair[1]])


def _in_order(p: Array, scores: Array) -> Array:
    """The same probabilities, given to the rows in the order of their new scores."""
    ordered = np.empty_like(p)
    ordered[np.argsort(scores, kind="stable")] = np.sort(p)
    return ordered
