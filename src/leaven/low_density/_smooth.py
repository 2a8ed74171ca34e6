"""What the two continuous solvers share: centred features, a fixed bias, L-BFGS, the finish."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from leaven.low_density._problem import S3VMProblem, S3VMResult, top_labels
from leaven.low_density._rows import Array, FeatureRows, GramRows
from leaven.low_density._switching import descend

# Scores of all rows to the loss of each row and its derivative.
Loss = Callable[[Array], tuple[Array, Array]]


class CentredFeatures:
    """Features with the mean of the unlabeled rows at the origin, and a bias of ``2r - 1``.

    Then the mean score of the unlabeled rows is ``2r - 1`` whatever ``w``, which is the relaxed
    class ratio (equation 2.49 of Saeed, 2018), and the problem has no constraint. The centre
    is subtracted from the scores, not from the features: sparse ones stay sparse. A kernel
    matrix becomes features by its eigenvectors, the kernel PCA map of Chapelle and Zien (2005).
    """

    def __init__(self, problem: S3VMProblem) -> None:
        self.X = _features(problem.rows)
        self.center = np.asarray(self.X[problem.unlabeled].mean(axis=0), dtype=np.float64).ravel()
        self.bias = 2.0 * problem.fraction - 1.0

    def scores(self, w: Array) -> Array:
        """``<w, x_i - center> + bias`` of every row."""
        product = np.asarray(self.X @ w.astype(self.X.dtype, copy=False), dtype=np.float64)
        return product - self.center @ w + self.bias

    def pull_back(self, derivatives: Array) -> Array:
        """The gradient in ``w`` of a function with these derivatives in the scores."""
        product = self.X.T @ derivatives.astype(self.X.dtype, copy=False)
        shift: Array = derivatives.sum() * self.center
        return np.asarray(product, dtype=np.float64) - shift

    def square_norms(self) -> Array:
        """``|x_i - center|²`` of every row."""
        own = FeatureRows(self.X).square_norms()
        cross = np.asarray(self.X @ self.center, dtype=np.float64).ravel()
        return np.maximum(own - 2.0 * cross + self.center @ self.center, 0.0)

    def objective(self, w: Array, loss: Loss) -> tuple[float, Array]:
        """``½|w|² + Σ loss`` and its gradient."""
        values, derivatives = loss(self.scores(w))
        return 0.5 * float(w @ w) + float(values.sum()), w + self.pull_back(derivatives)

    def minimize(self, w: Array, loss: Loss, max_iter: int) -> tuple[Array, int, bool]:
        """L-BFGS from ``w``: the point, the number of iterations, whether it converged."""
        result = minimize(
            self.objective,
            w,
            args=(loss,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, "maxfun": 4 * max_iter, "maxcor": 20, "gtol": 1e-5},
        )
        # Status 2 is a line search that rounding has stopped, at a minimum for all purposes.
        return result.x, int(result.nit), result.status in (0, 2)


def finish(
    problem: S3VMProblem,
    scores: Array,
    trace: list[float],
    n_iter: int,
    converged: bool,
    tol: float,
) -> S3VMResult:
    """Go down from a continuous solution to a local minimum of the true objective.

    The continuous solvers minimize a smooth stand-in for the objective, under a relaxed class
    ratio and with a fixed bias. Their answer is the labeling: the rows of the largest scores,
    as many as the ratio says, are positive. The SVM on it is the least of the true objective
    with these labels; while a pair of labels gains by an exchange, it is trained again.
    """
    labels = top_labels(scores[problem.unlabeled], problem.n_positive)
    solution, labels, rounds, settled = descend(problem, labels, None, tol=tol)
    n_iter, converged = n_iter + rounds, converged and settled
    trace.append(problem.objective(solution))
    return S3VMResult(solution, labels, n_iter, converged and solution.converged, trace)


def _features(rows: Any) -> Any:
    if isinstance(rows, FeatureRows):
        return rows.X
    assert isinstance(rows, GramRows)
    values, vectors = np.linalg.eigh(rows.gram)
    # Smaller ones are rounding, and their roots would be features of pure noise.
    keep = values > 1e-10 * values[-1]
    return vectors[:, keep] * np.sqrt(values[keep])
