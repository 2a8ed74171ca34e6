"""Branch and bound: the global optimum of the semi-supervised SVM on small data."""

from __future__ import annotations

import heapq
import itertools

import numpy as np
from numpy.typing import NDArray

from leaven.low_density._annealing import solve_annealing
from leaven.low_density._problem import S3VMProblem, S3VMResult, top_labels
from leaven.low_density._refine import refine
from leaven.low_density._rows import Array, GramRows
from leaven.low_density._svm import SVMSolution
from leaven.low_density._switching import solve_switching

NODE_TOLERANCE = 1e-3  # of the machine at a node, which only has to order the branches
# Two labelings whose objectives differ by less than this fraction count as equal.
RELATIVE_GAP = 1e-7


def solve_branch_and_bound(
    problem: S3VMProblem, *, tol: float, max_iter: int, max_nodes: int
) -> S3VMResult:
    """Best-first search over the labelings of the unlabeled rows (Chapelle et al., 2007).

    A node gives labels to some of the unlabeled rows. Its lower bound is the SVM of the labeled
    rows and these: leaving out the losses of the others can only lower the minimum, and the
    dual value of that SVM is a bound even where it was not solved to the last digit. Its upper
    bound labels the rest by score, with the right number of positives, and trains. When all
    positives, or all negatives, are given out, the node is a leaf.

    The branch is on the row whose worse label raises the bound most by a step of one dual
    variable: that child is cut early, and the tree stays thin. The search starts from the
    better of the results of switching and of deterministic annealing, ends when the lowest
    bound reaches the best labeling, and then that is the global optimum; after ``max_nodes``
    nodes it ends with the best labeling found, not proven.
    """
    search = _Search(problem, tol)
    for solve in (solve_switching, solve_annealing):
        other = refine(problem, solve(problem, tol=tol, max_iter=max_iter), tol=tol)
        search.offer(other.labels, other.solution)
    proven = search.run(max_nodes)
    solution = search.best
    return S3VMResult(solution, search.labels, search.n_nodes, True, search.trace, proven=proven)


class _Search:
    """The state of one search: the best labeling so far and the open nodes."""

    def __init__(self, problem: S3VMProblem, tol: float) -> None:
        self.problem = problem
        self.tol = tol
        # Kernel values among all rows are needed to choose the branch; the data are small.
        self.gram = _gram_of(problem)
        self.labels: Array = np.empty(0)
        self.best: SVMSolution
        self.value = np.inf
        self.trace: list[float] = []
        self.n_nodes = 0
        self.tried: set[bytes] = set()

    def offer(self, labels: Array, solution: SVMSolution) -> None:
        """Take a labeling of all rows if it is better than the best so far."""
        value = self.problem.objective(solution)
        if value < self.value:
            self.labels, self.best, self.value = labels, solution, value
            self.trace.append(value)

    def run(self, max_nodes: int) -> bool:
        """Explore the tree; tell whether the best labeling is proven to be the optimum."""
        problem, order = self.problem, itertools.count()
        root = problem.supervised(self.tol)
        nothing: Array = np.zeros(len(problem.unlabeled))
        heap: list[tuple[float, int, Array, SVMSolution]] = [
            (root.dual, next(order), nothing, root)
        ]
        while heap:
            bound, _, labels, solution = heapq.heappop(heap)
            if bound >= self._cut():
                return True
            if self.n_nodes >= max_nodes:
                problem.log("branch-and-bound: stopped at bound %.6g", bound)
                return False
            # Counted when opened: a node that is cut off by its bound has cost nothing.
            self.n_nodes += 1
            self._complete(labels, solution)
            row, bounds = self._branching_row(labels, solution)
            for sign, child_bound in zip((1.0, -1.0), bounds, strict=True):
                child = self._child(labels, row, sign)
                if child is None or child_bound >= self._cut():
                    continue
                trained = problem.solve(
                    child, start=solution, tol=NODE_TOLERANCE, cutoff=self._cut()
                )
                if trained.dual >= self._cut():
                    continue
                if child.all():
                    self._try(child, trained)
                else:
                    heapq.heappush(heap, (trained.dual, next(order), child, trained))
        return True

    def _cut(self) -> float:
        return self.value * (1.0 - RELATIVE_GAP)

    def _child(self, labels: Array, row: int, sign: float) -> Array | None:
        """The labels with one more given; None if the class ratio forbids it."""
        child = labels.copy()
        child[row] = sign
        open_rows = child == 0
        positives_left = self.problem.n_positive - int((child > 0).sum())
        if not 0 <= positives_left <= open_rows.sum():
            return None
        if positives_left == 0:
            child[open_rows] = -1.0
        elif positives_left == open_rows.sum():
            child[open_rows] = 1.0
        return child

    def _complete(self, labels: Array, solution: SVMSolution) -> None:
        """Label the open rows by score and train: an upper bound."""
        problem = self.problem
        open_rows = labels == 0
        positives_left = problem.n_positive - int((labels > 0).sum())
        full = labels.copy()
        full[open_rows] = top_labels(solution.scores[problem.unlabeled][open_rows], positives_left)
        self._try(full, solution)

    def _try(self, labels: Array, start: SVMSolution) -> None:
        """Train with all labels given; go to the full accuracy only where that may pay."""
        key = labels.tobytes()
        if key in self.tried:
            return
        self.tried.add(key)
        solution = start
        for tol in (NODE_TOLERANCE, self.tol):
            solution = self.problem.solve(labels, start=solution, tol=tol, cutoff=self._cut())
            if solution.dual >= self._cut():
                return
        self.offer(labels, solution)

    def _branching_row(self, labels: Array, solution: SVMSolution) -> tuple[int, Array]:
        """The open row to branch on, and lower bounds of its two children.

        Both children should rise: the product of the two gains is the usual score for that.
        """
        problem = self.problem
        candidates = np.flatnonzero(labels == 0)
        bounds = child_bounds(
            self.gram,
            solution,
            self._costs(labels),
            problem.unlabeled[candidates],
            problem.C_unlabeled,
        )
        rises = np.maximum(bounds - solution.dual, 0.0) + 1e-3
        best = int(np.prod(rises, axis=0).argmax())
        return int(candidates[best]), bounds[:, best]

    def _costs(self, labels: Array) -> Array:
        costs = np.where(self.problem.signs != 0, self.problem.C, 0.0)
        costs[self.problem.unlabeled[labels != 0]] = self.problem.C_unlabeled
        return costs


def child_bounds(
    gram: Array,
    solution: SVMSolution,
    costs: Array,
    candidates: NDArray[np.intp],
    cost: float,
) -> Array:
    """Lower bounds of the SVM with one more row, labeled +1, and labeled -1.

    From the dual point of ``solution``, the dual variable of the row moves up by ``t`` and that
    of one free support vector ``j`` gives way, which keeps ``Σ α y = 0``: the dual rises by
    ``t (1 - y (s_i + b_j)) - t²/2 |φ_i - φ_j|²``, with ``t`` within both boxes. Here
    ``s`` are the scores without bias, and ``b_j = y_j - s_j`` puts ``j`` on its margin.

    Returns
    -------
    bounds : ndarray of shape (2, n_candidates)
    """
    beta = solution.duals[0] - solution.duals[1]
    support = np.flatnonzero(beta)
    scores = gram[:, support] @ beta[support]
    value = np.abs(beta).sum() - 0.5 * beta @ scores
    bounds = np.full((2, len(candidates)), value)
    free = np.flatnonzero((np.abs(beta) > 1e-6 * costs) & (np.abs(beta) < (1 - 1e-6) * costs))
    if not len(free):
        return bounds
    kinks = np.sign(beta[free]) - scores[free]
    diagonal = np.diag(gram)
    square = diagonal[candidates][:, None] + diagonal[free] - 2 * gram[np.ix_(candidates, free)]
    square = np.maximum(square, 1e-12)
    for which, sign in enumerate((1.0, -1.0)):
        given = -sign * beta[free]
        room = np.where(given < 0, -given, costs[free] - given)
        slope = np.maximum(0.0, 1.0 - sign * (scores[candidates][:, None] + kinks))
        step = np.minimum(np.minimum(slope / square, cost), room)
        bounds[which] += (step * slope - 0.5 * step**2 * square).max(axis=1)
    return bounds


def _gram_of(problem: S3VMProblem) -> Array:
    rows = problem.rows
    if isinstance(rows, GramRows):
        return rows.gram
    product = rows.X @ rows.X.T  # type: ignore[attr-defined]
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product, dtype=float)
