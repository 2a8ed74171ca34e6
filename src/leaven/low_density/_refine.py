"""The last step on small data: exchange of pairs, each judged by a training of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leaven.low_density._problem import S3VMProblem, S3VMResult
from leaven.low_density._rows import Array
from leaven.low_density._svm import SVMSolution
from leaven.low_density._switching import descend

# With more unlabeled rows one pair hardly changes the objective, and a training costs more.
MAX_ROWS = 100
# How many of the least certain rows of each label are tried.
REACH = 8
# Length of a chain of exchanges, and the pairs tried at each link: 24 trainings at most.
CHAIN, CHOICES = 6, 4
TRIAL_TOLERANCE = 1e-3  # of a training that only decides whether a pair is worth a full one


def refine(problem: S3VMProblem, result: S3VMResult, *, tol: float) -> S3VMResult:
    """Exchange pairs of labels as long as the objective after training falls.

    The solvers end where no exchange gains at the ``(w, b)`` they have. On few rows ``(w, b)``
    itself follows the labels, and such ends are many. Here the pairs of the eight least certain
    rows of each label are tried by training; a pair is given up as soon as the dual value shows
    that it does not gain. Where no pair gains, a chain of up to six exchanges, each the best of
    four, may pass through worse labelings (Kernighan and Lin, 1970). The objective falls at
    every step that is kept. Where rounding has kept the trainings from converging, objectives
    cannot be compared, and nothing is tried.
    """
    if len(problem.unlabeled) > MAX_ROWS or problem.stalled:
        return result
    search = _LocalSearch(problem, result, tol)
    while not problem.stalled and (search.try_pairs() or search.try_chain()):
        pass
    if search.labels is result.labels:
        return result
    p = result.probabilities
    if p is not None:
        p = _in_order(p, search.solution.scores[problem.unlabeled])
    return replace(
        result,
        solution=search.solution,
        labels=search.labels,
        n_iter=result.n_iter + search.n_rounds,
        trace=[*result.trace, search.value],
        probabilities=p,
    )


class _LocalSearch:
    """The best labeling so far, and the two ways to a better one."""

    def __init__(self, problem: S3VMProblem, result: S3VMResult, tol: float) -> None:
        self.problem = problem
        self.tol = tol
        self.solution, self.labels = result.solution, result.labels
        self.value = problem.objective(result.solution)
        self.square_norms = problem.rows.square_norms()[problem.unlabeled]
        self.n_rounds = 0

    def try_pairs(self) -> bool:
        """Exchange the first pair that gains."""
        for pair in self._pairs(self.labels, self.solution):
            swapped = _exchanged(self.labels, pair)
            trial = self.problem.solve(
                swapped, start=self.solution, tol=TRIAL_TOLERANCE, cutoff=self._cut()
            )
            if trial.dual < self._cut() and self._keep(swapped, trial):
                return True
        return False

    def try_chain(self) -> bool:
        """Exchange up to six pairs in a row, no row twice, until they gain together."""
        labels, solution = self.labels, self.solution
        moved: set[int] = set()
        for _ in range(CHAIN):
            pairs = [p for p in self._pairs(labels, solution) if moved.isdisjoint(p)][:CHOICES]
            if not pairs:
                return False
            trials = [
                self.problem.solve(_exchanged(labels, pair), start=solution, tol=TRIAL_TOLERANCE)
                for pair in pairs
            ]
            best = int(np.argmin([trial.primal for trial in trials]))
            labels, solution = _exchanged(labels, pairs[best]), trials[best]
            moved.update(pairs[best])
            if solution.dual < self._cut() and self._keep(labels, solution):
                return True
        return False

    def _cut(self) -> float:
        return self.value * (1.0 - 1e-6)

    def _keep(self, labels: Array, start: SVMSolution) -> bool:
        """Descend from a labeling and keep the end of it if it is better."""
        solution, labels, rounds, _ = descend(self.problem, labels, start, tol=self.tol)
        self.n_rounds += rounds
        value = self.problem.objective(solution)
        if value >= self._cut():
            return False
        self.solution, self.labels, self.value = solution, labels, value
        return True

    def _pairs(self, labels: Array, solution: SVMSolution) -> list[list[int]]:
        """Pairs of a positive and a negative row, the least certain first.

        A row is certain by its score without its own share ``α_i y_i |φ_i|²``: with a narrow
        kernel every support vector has the score that its label asks for. A pair without a
        support vector is left out: the dual point stays feasible, so the exchange cannot gain.
        """
        unlabeled = self.problem.unlabeled
        beta = (solution.duals[0] - solution.duals[1])[unlabeled]
        scores = solution.scores[unlabeled] - beta * self.square_norms
        positive, negative = np.flatnonzero(labels > 0), np.flatnonzero(labels < 0)
        positive = positive[np.argsort(scores[positive], kind="stable")][:REACH]
        negative = negative[np.argsort(-scores[negative], kind="stable")][:REACH]
        pairs = [[int(i), int(j)] for i in positive for j in negative if beta[i] or beta[j]]
        return sorted(pairs, key=lambda pair: scores[pair[0]] - scores[pair[1]])


def _exchanged(labels: Array, pair: list[int]) -> Array:
    swapped = labels.copy()
    swapped[pair] *= -1.0
    return swapped


def _in_order(p: Array, scores: Array) -> Array:
    """The same probabilities, given to the rows in the order of their new scores."""
    ordered = np.empty_like(p)
    ordered[np.argsort(scores, kind="stable")] = np.sort(p)
    return ordered
