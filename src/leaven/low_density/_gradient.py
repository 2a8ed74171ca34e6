"""∇S3VM: gradient descent on a smooth loss of the unlabeled rows, with a growing cost."""

from __future__ import annotations

import numpy as np

from leaven.low_density._problem import S3VMProblem, S3VMResult
from leaven.low_density._rows import Array
from leaven.low_density._smooth import CentredFeatures, finish

SHARPNESS = 5.0  # the factor in exp(-5 f²), the loss of an unlabeled row
N_STAGES = 11  # in which C* grows to the wanted value
HUBER_WIDTH = 0.1  # of the hinge's rounded corner, in units of the margin


def gaussian_loss(f: Array) -> tuple[Array, Array]:
    """``exp(-5 f²)`` in place of ``hinge(|f|)``, and its derivative."""
    value = np.exp(-SHARPNESS * f**2)
    return value, -2.0 * SHARPNESS * f * value


def huberized_hinge(margin: Array, width: float = HUBER_WIDTH) -> tuple[Array, Array]:
    """The hinge with its kink rounded off over ``1 ± width``, and its derivative.

    ``(1 + width - m)² / (4 width)`` in between; never more than ``width / 4`` above the hinge.
    """
    excess = np.clip(1.0 + width - margin, 0.0, 2.0 * width)
    linear = np.maximum(1.0 - width - margin, 0.0)
    return excess**2 / (4.0 * width) + linear, -excess / (2.0 * width)


def solve_gradient(problem: S3VMProblem, *, tol: float, max_iter: int) -> S3VMResult:
    """Minimize with ``C*/1024, C*/512, ..., C*``, each from the last (Chapelle and Zien, 2005).

    The unlabeled rows are centred and the bias is fixed, which holds the relaxed class ratio;
    see :class:`~leaven.low_density._smooth.CentredFeatures`.
    """
    features = CentredFeatures(problem)
    unlabeled, signs, C = problem.unlabeled, problem.signs, problem.C
    w = np.zeros(features.X.shape[1])
    trace: list[float] = []
    n_iter, converged = 0, True
    for C_star in problem.C_unlabeled * 2.0 ** np.arange(1 - N_STAGES, 1):

        def loss(f: Array, C_star: float = C_star) -> tuple[Array, Array]:
            # A margin of zero for the unlabeled rows: their sign is 0, and so is the factor.
            value, slope = huberized_hinge(signs * f)
            value, slope = C * np.abs(signs) * value, C * signs * slope
            smooth, derivative = gaussian_loss(f[unlabeled])
            value[unlabeled] = C_star * smooth
            slope[unlabeled] = C_star * derivative
            return value, slope

        w, steps, done = features.minimize(w, loss, max_iter)
        n_iter += steps
        converged = converged and done
        trace.append(features.objective(w, loss)[0])
        problem.log("gradient: C*=%.3g, smooth objective %.6g", C_star, trace[-1])
    return finish(problem, features.scores(w), trace, n_iter, converged, tol)
