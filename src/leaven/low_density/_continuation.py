"""The continuation method: the objective smoothed by a Gaussian that narrows to nothing."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from leaven.low_density._problem import S3VMProblem, S3VMResult
from leaven.low_density._rows import Array
from leaven.low_density._smooth import CentredFeatures, finish

SHRINKAGE = 0.5  # of the deviation, from one stage to the next
# The smoothing ends when scores are blurred by less than this, in units of the margin.
LAST_DEVIATION = 0.02


def smoothed_ramp(t: Array, deviation: Array) -> tuple[Array, Array]:
    """``E max(0, t + σ ε)`` for normal ``ε``, and its derivative in ``t``.

    It is ``t Φ(t/σ) + σ φ(t/σ)``, with derivative ``Φ(t/σ)``.
    """
    z = t / deviation
    below = ndtr(z)
    density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    return t * below + deviation * density, below


def smoothed_hinge(margin: Array, deviation: Array) -> tuple[Array, Array]:
    """``max(0, 1 - m)`` convolved with a normal density, and its derivative."""
    value, slope = smoothed_ramp(1.0 - margin, deviation)
    return value, -slope


def smoothed_hat(f: Array, deviation: Array) -> tuple[Array, Array]:
    """``max(0, 1 - |f|)`` convolved with a normal density, and its derivative.

    The hat is ``(f + 1)_+ - 2 (f)_+ + (f - 1)_+``, a sum of ramps.
    """
    left, left_slope = smoothed_ramp(f + 1.0, deviation)
    middle, middle_slope = smoothed_ramp(f, deviation)
    right, right_slope = smoothed_ramp(f - 1.0, deviation)
    return left - 2.0 * middle + right, left_slope - 2.0 * middle_slope + right_slope


def convex_smoothing(features: CentredFeatures, norms: Array, problem: S3VMProblem) -> float:
    """A smoothing ``γ`` at which the objective is convex, so that its minimum is global.

    The second derivative of the smoothed hat is at least ``-φ(0)/σ³``. With ``σ² = γ|x|²/2``
    the Hessian is positive when ``C* φ(0) (2/γ)^{3/2} λ < 1``, where ``λ`` is the largest
    eigenvalue of ``Σ x x'/|x|³`` over the unlabeled rows.
    """
    weights = np.zeros(len(norms))
    weights[problem.unlabeled] = norms[problem.unlabeled] ** -3.0
    # Power iteration from a fixed start; 20% more covers what is left of its error.
    w = features.pull_back(weights * norms * np.cos(np.arange(len(norms))))
    eigenvalue = 0.0
    for _ in range(50):
        length = float(np.linalg.norm(w))
        if length == 0.0:
            break
        w = w / length
        w = features.pull_back(weights * (features.scores(w) - features.bias))
        eigenvalue = float(np.linalg.norm(w))
    density = 1.0 / np.sqrt(2.0 * np.pi)
    return float(2.0 * (1.2 * problem.C_unlabeled * density * eigenvalue) ** (2.0 / 3.0))


def solve_continuation(problem: S3VMProblem, *, tol: float, max_iter: int) -> S3VMResult:
    """Follow the minimum while the smoothing goes to zero (Chapelle, Chi and Zien, 2006).

    The objective is convolved with ``exp(-|t|²/γ)`` over ``w``. A row sees that as a normal
    blur of its score with deviation ``σ_i = sqrt(γ/2) |x_i|``, for which the hinge and the hat
    have closed forms. ``γ`` starts where the whole is convex and halves at each stage.
    """
    features = CentredFeatures(problem)
    norms = np.sqrt(features.square_norms())
    # A row at the centre is not blurred at all; a little is needed for the formulas.
    norms = np.maximum(norms, 1e-3 * max(float(norms.max()), 1e-12))
    unlabeled, labeled = problem.unlabeled, np.flatnonzero(problem.signs)
    signs, C, C_star = problem.signs[labeled], problem.C, problem.C_unlabeled
    typical = float(np.median(norms[unlabeled]))
    last = 2.0 * (LAST_DEVIATION / typical) ** 2
    gamma = max(convex_smoothing(features, norms, problem), last)
    w = np.zeros(features.X.shape[1])
    trace: list[float] = []
    n_iter, converged = 0, True
    while True:
        deviations = np.sqrt(0.5 * gamma) * norms

        def loss(f: Array, deviations: Array = deviations) -> tuple[Array, Array]:
            value, slope = np.empty_like(f), np.empty_like(f)
            hinges, slopes = smoothed_hinge(signs * f[labeled], deviations[labeled])
            value[labeled], slope[labeled] = C * hinges, C * signs * slopes
            hats, slopes = smoothed_hat(f[unlabeled], deviations[unlabeled])
            value[unlabeled], slope[unlabeled] = C_star * hats, C_star * slopes
            return value, slope

        w, steps, done = features.minimize(w, loss, max_iter)
        n_iter += steps
        converged = converged and done
        trace.append(features.objective(w, loss)[0])
        problem.log("continuation: gamma=%.3g, smoothed objective %.6g", gamma, trace[-1])
        if gamma <= last:
            break
        gamma *= SHRINKAGE
    return finish(problem, features.scores(w), trace, n_iter, converged, tol)
