"""The support vector machine with the squared hinge loss, by Newton's method in the primal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve


def squared_hinge_svm(
    K: NDArray[Any],
    t: NDArray[Any],
    ridge: float,
    weight: NDArray[Any] | None = None,
    *,
    max_iter: int = 100,
) -> tuple[NDArray[Any], float, int, bool]:
    """Minimize ``Σ w_i max(0, 1 - t_i f_i)² + ridge βᵀ K β`` with ``f = K β + b``.

    Newton's method in the primal (Chapelle, 2007; Melacci and Belkin, 2011): for the rows
    within the margin it is a linear system, and it ends when these rows stay the same. Without
    ``weight`` every row counts once; weights are positive.

    Returns
    -------
    beta : ndarray
    intercept : float
    n_iter : int
    converged : bool

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._squared_hinge import squared_hinge_svm
    >>> beta, b, _, _ = squared_hinge_svm(np.diag([1.0, 1.0]), np.array([1.0, -1.0]), 1.0)
    >>> beta, abs(b) < 1e-12
    (array([ 0.5, -0.5]), True)
    """
    n = len(t)
    w: NDArray[Any] = np.ones(n) if weight is None else weight
    # Primal Newton (Chapelle, 2007): on the rows inside the margin the loss is a least-squares one.
    inside: NDArray[np.bool_] = np.ones(n, dtype=bool)
    beta: NDArray[Any] = np.zeros(n)
    intercept = 0.0

    def objective(values: NDArray[Any], coefficients: NDArray[Any]) -> float:
        loss = w * np.maximum(0.0, 1.0 - t * values) ** 2
        return float(loss.sum() + ridge * coefficients @ (K @ coefficients))

    best = np.inf
    for iteration in range(1, max_iter + 1):
        rows = np.flatnonzero(inside)
        system = np.zeros((len(rows) + 1, len(rows) + 1))
        system[:-1, :-1] = K[np.ix_(rows, rows)] + np.diag(ridge / w[rows])
        system[:-1, -1] = system[-1, :-1] = 1.0
        solution = solve(system, np.append(t[rows], 0.0), assume_a="sym")
        target = np.zeros(n)
        target[rows], goal = solution[:-1], float(solution[-1])
        # Halve the step until the objective falls: a full Newton step may overshoot.
        for power in range(30):
            step = 0.5**power
            trial, shift = beta + step * (target - beta), intercept + step * (goal - intercept)
            values = K @ trial + shift
            value = objective(values, trial)
            if value <= best * (1 + 1e-14) or best == np.inf:
                break
        settled = best - value <= 1e-14 * abs(value) if np.isfinite(best) else False
        beta, intercept, best = trial, shift, value
        now = t * values < 1.0
        if (np.array_equal(now, inside) and power == 0) or settled or not now.any():
            return beta, intercept, iteration, True
        inside = now
    return beta, intercept, max_iter, False
