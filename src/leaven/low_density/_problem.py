"""The semi-supervised SVM problem that all five solvers share, and what they give back."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from leaven.low_density._rows import Array, Rows
from leaven.low_density._svm import MAX_STEPS, SVMSolution, hinge, solve_svm

logger = logging.getLogger("leaven")

# After so many trainings that did not converge, the later ones of the same problem are cut to so
# many Newton steps: each starts from the one before, and the loops above make hundreds.
STALLED_TRAININGS = 3
STEPS_WHEN_STALLED = 20

# Scores of the supervised machine that differ by less, beside their size, are the same.
EQUAL = 1e-6


@dataclass(frozen=True)
class S3VMProblem:
    """A two-class problem: rows, signs (0 where unlabeled), costs, and the class ratio.

    Attributes
    ----------
    rows : Rows
    signs : ndarray of shape (n_rows,)
        +1 or -1 for a labeled row, 0 for an unlabeled one.
    C, C_unlabeled : float
        Costs of a labeled and of an unlabeled row: ``C`` and ``C*`` of the source.
    fraction : float
        The fraction ``r`` of the unlabeled rows that is positive.
    n_positive : int
        The same in whole rows, for the solvers that give every row one label.
    log_level : int
        Level of the lines about progress.
    """

    rows: Rows
    signs: Array
    C: float
    C_unlabeled: float
    fraction: float
    n_positive: int
    log_level: int = logging.DEBUG
    unlabeled: NDArray[np.intp] = field(init=False)
    _stalled: list[float] = field(init=False, default_factory=list, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "unlabeled", np.flatnonzero(self.signs == 0))

    def costs(self, probabilities: Array, C_unlabeled: float) -> tuple[Array, Array]:
        """Costs of the two hinges of every row, for given ``P(y=+1)`` of the unlabeled rows."""
        positive = np.where(self.signs > 0, self.C, 0.0)
        negative = np.where(self.signs < 0, self.C, 0.0)
        positive[self.unlabeled] = C_unlabeled * probabilities
        negative[self.unlabeled] = C_unlabeled * (1.0 - probabilities)
        return positive, negative

    def solve(
        self,
        labels: Array,
        *,
        C_unlabeled: float | None = None,
        start: SVMSolution | None = None,
        tol: float,
        cutoff: float = np.inf,
    ) -> SVMSolution:
        """The SVM with the unlabeled rows given ``labels`` (+1 or -1; 0 leaves a row out)."""
        C_star = self.C_unlabeled if C_unlabeled is None else C_unlabeled
        positive, negative = self.costs((labels > 0).astype(np.float64), C_star)
        # ``costs`` gave rows without a label to the negative class; here they are to have no loss.
        if (labels == 0).any():
            negative[self.unlabeled[labels == 0]] = 0.0
        return self.train(self.rows, positive, negative, start=start, tol=tol, cutoff=cutoff)

    @property
    def stalled(self) -> bool:
        """Whether rounding has kept several trainings from converging."""
        return len(self._stalled) >= STALLED_TRAININGS

    def train(
        self,
        rows: Rows,
        positive: Array,
        negative: Array,
        *,
        start: SVMSolution | None = None,
        tol: float,
        cutoff: float = np.inf,
    ) -> SVMSolution:
        """:func:`solve_svm` with less effort where several trainings did not converge."""
        stalled = self.stalled
        solution = solve_svm(
            rows,
            positive,
            negative,
            start=start,
            tol=tol,
            max_steps=STEPS_WHEN_STALLED if stalled else MAX_STEPS,
            cutoff=cutoff,
        )
        if not (solution.converged or stalled):
            self._stalled.append(solution.primal)
        return solution

    def supervised(self, tol: float, *, balanced: bool = False) -> SVMSolution:
        """The SVM of the labeled rows alone; its scores cover all rows.

        With ``balanced`` the rows of a class cost half of the whole together.
        """
        labeled = np.flatnonzero(self.signs)
        signs = self.signs[labeled]
        costs = tuple(np.where(signs == sign, self.C, 0.0) for sign in (1.0, -1.0))
        if balanced:
            costs = tuple(0.5 * cost * len(signs) / max((cost > 0).sum(), 1) for cost in costs)
        part = self.train(self.rows.subset(labeled), *costs, tol=tol)
        duals = (np.zeros(self.rows.n_rows), np.zeros(self.rows.n_rows))
        duals[0][labeled], duals[1][labeled] = part.duals
        return replace(part, vector=self.rows.extend(part.vector, labeled), duals=duals)

    def ranking(self, supervised: SVMSolution, tol: float) -> Array:
        """Scores of the unlabeled rows that say which of them are positive first.

        A machine may give up a small class: w = 0, and all scores are the same. Then the order of
        the rows or of the classes would decide, and the machine with balanced classes, which
        cannot do that, does instead.
        """
        scores = supervised.scores[self.unlabeled]
        if np.ptp(scores) <= EQUAL * max(1.0, float(np.abs(scores).max())):
            scores = self.supervised(tol, balanced=True).scores[self.unlabeled]
        return np.asarray(scores)

    def rescaled(self, start: SVMSolution, factor: float) -> SVMSolution:
        """A start for a problem whose unlabeled rows cost ``factor`` times as much.

        Most of their dual variables are at the bound and grow with it.
        """
        duals = (start.duals[0].copy(), start.duals[1].copy())
        for dual in duals:
            dual[self.unlabeled] *= factor
        return replace(start, duals=duals)

    def objective(self, solution: SVMSolution) -> float:
        """``½|w|² + C Σ hinge(y f) + C* Σ hinge(y f)``, the second over the unlabeled rows.

        Their ``y`` are the best labels with the right number of positives, which are those of
        the largest ``f``. Where the signs of ``f`` have that number, this is the
        ``hinge(|f|)`` of the source.
        """
        f = solution.scores[self.unlabeled]
        labels = top_labels(f, self.n_positive)
        return self._labeled_part(solution) + self.C_unlabeled * float(hinge(labels * f).sum())

    def sign_objective(self, solution: SVMSolution) -> float:
        """``½|w|² + C Σ hinge(y f) + C* Σ hinge(|f|)``, whatever the ratio of the signs."""
        f = solution.scores[self.unlabeled]
        return self._labeled_part(solution) + self.C_unlabeled * float(hinge(np.abs(f)).sum())

    def log(self, message: str, *values: object) -> None:
        """Report progress to the logger ``leaven``."""
        logger.log(self.log_level, message, *values)

    def _labeled_part(self, solution: SVMSolution) -> float:
        margins = (self.signs * solution.scores)[self.signs != 0]
        return 0.5 * solution.norm2 + self.C * float(hinge(margins).sum())


@dataclass
class S3VMResult:
    """What a solver gives back.

    ``labels`` are those of the unlabeled rows, ``probabilities`` their ``P(y=+1)`` where the
    solver has them, ``trace`` the objective after each stage.
    """

    solution: SVMSolution
    labels: Array
    n_iter: int
    converged: bool
    trace: list[float]
    probabilities: Array | None = None
    proven: bool = False


def top_labels(scores: Array, n_positive: int) -> Array:
    """+1 for the ``n_positive`` largest scores, -1 for the others.

    For fixed scores these labels have the least loss ``Σ hinge(y f)`` of all with that many
    positives: the saving ``hinge(-f) - hinge(f)`` of a positive label grows with ``f``.
    """
    labels = np.full(len(scores), -1.0)
    if n_positive >= len(scores):
        labels[:] = 1.0
    elif n_positive > 0:
        labels[np.argpartition(-scores, n_positive - 1)[:n_positive]] = 1.0
    return labels


def stage_tolerance(tol: float) -> float:
    """Tolerance of the solves that only lead to the next: the square root of the last one's."""
    return float(np.sqrt(tol))
