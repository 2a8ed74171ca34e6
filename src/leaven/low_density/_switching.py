"""Label switching (S3VM-light) with a growing cost of the unlabeled rows."""

from __future__ import annotations

import numpy as np

from leaven.low_density._problem import (
    S3VMProblem,
    S3VMResult,
    stage_tolerance,
    top_labels,
)
from leaven.low_density._rows import Array
from leaven.low_density._svm import SVMSolution

# The start is that of Joachims (1999), whose algorithm doubles C* at each stage.
START = 1e-5  # share of the final C*
GROWTH = 1.5  # a gentler growth leaves each stage closer to the last machine
# A stage before the last ends when at most this fraction of the unlabeled rows is exchanged.
FEW_PAIRS = 1e-3


def exchange_pairs(labels: Array, scores: Array) -> tuple[Array, int]:
    """Exchange the labels of every pair of rows that gains by it, in one sorted batch.

    A pair ``y_i = +1``, ``y_j = -1`` is interchangeable when
    ``hinge(f_i) + hinge(-f_j) > hinge(-f_i) + hinge(f_j)``. Since ``hinge(-f) - hinge(f)`` grows
    strictly with ``f``, that is ``f_i < f_j``. The lowest positive is paired with the highest
    negative, the second lowest with the second highest, and so on while the pair gains; after
    that no interchangeable pair is left at these scores.

    Returns
    -------
    labels : ndarray
        A new array; the number of positives is unchanged.
    n_pairs : int
    """
    positive = np.flatnonzero(labels > 0)
    negative = np.flatnonzero(labels < 0)
    positive = positive[np.argsort(scores[positive])]
    negative = negative[np.argsort(-scores[negative])]
    n = min(len(positive), len(negative))
    # Rows with equal scores up to rounding gain nothing: to swap them could go on for ever.
    slack = 1e-10 * max(1.0, float(np.abs(scores).max(initial=0.0)))
    gains = scores[positive[:n]] + slack < scores[negative[:n]]
    n_pairs = int(n if gains.all() else gains.argmin())
    new = labels.copy()
    new[positive[:n_pairs]] = -1.0
    new[negative[:n_pairs]] = 1.0
    return new, n_pairs


def descend(
    problem: S3VMProblem,
    labels: Array,
    start: SVMSolution | None,
    *,
    tol: float,
    C_unlabeled: float | None = None,
    few: int = 0,
    final: bool = True,
    max_iter: int = 1000,
) -> tuple[SVMSolution, Array, int, bool]:
    """Train and exchange in turn until at most ``few`` pairs are interchangeable.

    Why a whole batch may be exchanged at once: with ``(w, b)`` fixed the objective is a sum
    over rows, so disjoint pairs add up, and each of them lowers it. Training starts from that
    ``(w, b)`` and never returns a worse point. So the objective falls strictly from one round
    to the next, no labeling comes back, and the loop ends, as when one pair is exchanged at a
    time; only the number of trainings is smaller. Where it does not fall, rounding is larger
    than what a pair gains, and the loop ends as well.

    With ``final`` the last training has the full accuracy ``tol``, the others its square root.

    Returns
    -------
    solution, labels, n_rounds, converged
    """
    loose = stage_tolerance(tol)
    accuracy, solution, last = loose, start, np.inf
    for rounds in range(1, max_iter + 1):
        solution = problem.solve(labels, C_unlabeled=C_unlabeled, start=solution, tol=accuracy)
        new, n_pairs = exchange_pairs(labels, solution.scores[problem.unlabeled])
        if n_pairs == 0 and final and accuracy == loose:
            accuracy = tol  # and look once more for pairs, at the exact scores
        elif n_pairs <= few:
            return solution, new, rounds, solution.converged
        elif solution.primal >= last:
            return solution, labels, rounds, solution.converged
        labels, last = new, solution.primal
    solution = problem.solve(labels, C_unlabeled=C_unlabeled, start=solution, tol=tol)
    return solution, labels, max_iter, False


def solve_switching(problem: S3VMProblem, *, tol: float, max_iter: int) -> S3VMResult:
    """Alternate SVM training and exchange of labels while ``C*`` grows (Joachims, 1999).

    The labels start at those of the supervised SVM that hold the class ratio. For each cost
    ``1e-5 C*, 1.5e-5 C*, ..., C*``: train, exchange, until no pair is interchangeable (before
    the last cost: until hardly any is, which differs with a thousand unlabeled rows or more).
    """
    solution = problem.supervised(stage_tolerance(tol))
    unlabeled = problem.unlabeled
    few = int(FEW_PAIRS * len(unlabeled))
    labels = top_labels(problem.ranking(solution, stage_tolerance(tol)), problem.n_positive)
    trace = [problem.objective(solution)]
    C_star, n_iter, converged = START * problem.C_unlabeled, 0, True
    while True:
        last = C_star >= problem.C_unlabeled
        solution, labels, rounds, settled = descend(
            problem,
            labels,
            solution,
            tol=tol,
            C_unlabeled=C_star,
            few=0 if last else few,
            final=last,
            max_iter=max_iter,
        )
        n_iter, converged = n_iter + rounds, converged and settled
        trace.append(problem.objective(solution))
        problem.log("switching: C*=%.3g, objective %.6g", C_star, trace[-1])
        if last:
            return S3VMResult(solution, labels, n_iter, converged, trace)
        grown = min(GROWTH * C_star, problem.C_unlabeled)
        solution = problem.rescaled(solution, grown / C_star)
        C_star = grown
