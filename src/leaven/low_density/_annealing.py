"""Deterministic annealing of the labels of the unlabeled rows."""

from __future__ import annotations

import numpy as np
from scipy.special import entr, expit

from leaven.low_density._problem import (
    S3VMProblem,
    S3VMResult,
    stage_tolerance,
    top_labels,
)
from leaven.low_density._rows import Array
from leaven.low_density._svm import SVMSolution, hinge

# Both as in Sindhwani, Keerthi and Chapelle (2006).
START = 10.0  # temperature in units of C*
COOLING = 1.5  # factor by which it falls
ENTROPY = 1e-6  # mean entropy of the labels, in nats, below which they count as decided
# A temperature is done when the mean change of the probabilities is below this.
CHANGE = 1e-6
# Relative to C*: where rows are tied their entropy stays, however cold it gets.
MIN_TEMPERATURE = 1e-6


def annealed_probabilities(costs: Array, fraction: float, temperature: float) -> Array:
    """Minimize ``Σ p_i a_i - T Σ H(p_i)`` over ``p`` with ``mean(p) = fraction``.

    ``costs`` are ``a_i = C* (hinge(f_i) - hinge(-f_i))``, what the label +1 costs more than -1.
    The minimum is ``p_i = 1 / (1 + exp((a_i - ν) / T))``, where the multiplier ``ν`` of the
    class ratio is found by bisection: the mean of ``p`` grows with ``ν``.
    """
    # One more than 40 T below the least cost all p are below 1e-17, above the greatest all are 1.
    margin = temperature * (40.0 + abs(float(np.log(fraction / (1.0 - fraction)))))
    low, high = float(costs.min()) - margin, float(costs.max()) + margin
    for _ in range(200):
        middle = 0.5 * (low + high)
        # Neighboring floating point numbers: nothing lies between.
        if middle in (low, high):
            break
        if expit((middle - costs) / temperature).mean() < fraction:
            low = middle
        else:
            high = middle
    return np.asarray(expit((0.5 * (low + high) - costs) / temperature))


def entropy(p: Array) -> float:
    """``-Σ p log p + (1 - p) log(1 - p)``."""
    return float((entr(p) + entr(1.0 - p)).sum())


def solve_annealing(problem: S3VMProblem, *, tol: float, max_iter: int) -> S3VMResult:
    """Cool the labels from equal probabilities down (Sindhwani, Keerthi and Chapelle, 2006).

    At each temperature ``T = 10 C*, 10 C*/1.5, ...`` the objective with expected losses minus
    ``T`` times the entropy of the labels is minimized over ``(w, b)``, by an SVM in which each
    unlabeled row has both labels with costs ``C* p`` and ``C* (1 - p)``, and over ``p``, in
    closed form, in turn. It ends when the entropy is below 1e-6, beyond that of the one row
    that the class ratio may split.
    """
    unlabeled, fraction = problem.unlabeled, problem.fraction
    p: Array = np.full(len(unlabeled), fraction)
    solution = problem.supervised(stage_tolerance(tol))
    trace = [problem.objective(solution)]
    split = np.array([(fraction * len(unlabeled)) % 1.0])
    floor = entropy(split) if min(split[0], 1.0 - split[0]) > 1e-9 else 0.0
    temperature, n_iter, converged = START * problem.C_unlabeled, 0, True
    while temperature > MIN_TEMPERATURE * problem.C_unlabeled:
        accuracy = stage_tolerance(tol)
        for _round in range(max_iter):
            solution = _train(problem, p, solution, accuracy)
            f = solution.scores[unlabeled]
            costs = problem.C_unlabeled * (hinge(f) - hinge(-f))
            new = annealed_probabilities(costs, fraction, temperature)
            change = float(np.abs(new - p).mean())
            p = new
            n_iter += 1
            if change <= CHANGE:
                break
        else:
            converged = False
        trace.append(problem.objective(solution))
        problem.log("annealing: T=%.3g, objective %.6g", temperature, trace[-1])
        if entropy(p) <= ENTROPY + floor:
            break
        temperature /= COOLING
    solution = _train(problem, p, solution, tol)
    labels = top_labels(solution.scores[unlabeled], problem.n_positive)
    trace.append(problem.objective(solution))
    return S3VMResult(
        solution, labels, n_iter, converged and solution.converged, trace, probabilities=p
    )


def _train(problem: S3VMProblem, p: Array, start: SVMSolution, tol: float) -> SVMSolution:
    positive, negative = problem.costs(p, problem.C_unlabeled)
    return problem.train(problem.rows, positive, negative, start=start, tol=tol)
