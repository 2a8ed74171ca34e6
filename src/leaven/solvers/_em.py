"""Expectation-maximization: the loop that every generative model shares.

The loop knows nothing of rows or classes. A model brings its own E-step
``expectation(parameters) -> (statistics, objective)`` and its own M-step
``maximization(statistics, parameters) -> parameters``. There are two ways in:

- Rows drawn independently from a mixture (naive Bayes models, Gaussian mixtures):
  ``leaven.generative._mixture.MixtureEM`` has both steps ready, with row weights, clamped rows,
  recalibration, hard assignments and chunks; it asks for a ``Density`` with
  ``log_likelihood(X)``, ``collect(X, responsibilities)`` and ``update(statistics)``.
- Anything else writes the two steps itself. The E-step of a hidden Markov model is
  forward-backward over sequences, and its statistics hold expected transitions; its emissions
  may be a ``Density``, with the state posteriors as responsibilities.

The contract of the objective: ``objective`` is the value, *at the parameters given to the
E-step*, of exactly that function which the M-step climbs, penalty (log prior of the
parameters) included. Then it never falls, but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["EMResult", "normalize_log_rows", "run_em"]

P = TypeVar("P")
S = TypeVar("S")


@dataclass(frozen=True)
class EMResult(Generic[P]):
    """What :func:`run_em` found.

    Parameters
    ----------
    parameters
        Those of the last M-step.
    objective_trace : ndarray of shape (n_iter + 1,)
        The objective at the start and after each iteration; the last entry is that of
        ``parameters``.
    stop_reason : {"converged", "max_iter", "not_finite"}
        ``"not_finite"``: the objective became NaN or infinite, which is the last entry of the
        trace.
    """

    parameters: P
    objective_trace: NDArray[np.float64]
    stop_reason: str

    @property
    def n_iter(self) -> int:
        """Number of M-steps."""
        return len(self.objective_trace) - 1

    @property
    def converged(self) -> bool:
        """Whether the objective came to rest."""
        return self.stop_reason == "converged"


def run_em(
    expectation: Callable[[P], tuple[S, float]],
    maximization: Callable[[S, P], P],
    parameters: P,
    *,
    max_iter: int = 100,
    tol: float = 1e-6,
    on_iteration: Callable[[int, float], None] | None = None,
) -> EMResult[P]:
    """Alternate an E-step and an M-step until the objective comes to rest.

    Parameters
    ----------
    expectation : callable
        ``expectation(parameters) -> (statistics, objective)``. The statistics are whatever the
        M-step needs; the objective is that of ``parameters``, before the M-step.
    maximization : callable
        ``maximization(statistics, parameters) -> parameters``. It may reuse the memory of
        ``statistics``, which are not looked at again, and must not change ``parameters``: they
        are given for components that have lost every row and keep what they had.
    parameters
        Where to start.
    max_iter : int, default=100
        Largest number of M-steps, at least 1.
    tol : float, default=1e-6
        Stop when the objective changes by at most ``tol * abs(objective)``. With 0 the loop
        stops only when the objective does not change at all.
    on_iteration : callable, default=None
        Called as ``on_iteration(iteration, objective)`` after each iteration, from 1 on.

    Returns
    -------
    EMResult

    Examples
    --------
    The mean of numbers of which one is missing is that of the others:

    >>> import numpy as np
    >>> from leaven.solvers import run_em
    >>> known = np.array([1.0, 2.0, 6.0])
    >>> def expectation(mean):  # the missing number is expected at the mean
    ...     return known.sum() + mean, -((known - mean) ** 2).sum()
    >>> result = run_em(expectation, lambda total, mean: total / 4, 0.0, tol=1e-12)
    >>> round(float(result.parameters), 4), result.stop_reason
    (3.0, 'converged')
    """
    if max_iter < 1:
        raise ValueError(f"max_iter={max_iter}, but at least one iteration is needed.")
    statistics, objective = expectation(parameters)
    trace = [float(objective)]
    stop_reason = "max_iter" if np.isfinite(objective) else "not_finite"
    while stop_reason == "max_iter" and len(trace) <= max_iter:
        parameters = maximization(statistics, parameters)
        del statistics  # its memory now belongs to the parameters, or is free for the E-step
        statistics, objective = expectation(parameters)
        trace.append(float(objective))
        if on_iteration is not None:
            on_iteration(len(trace) - 1, trace[-1])
        if not np.isfinite(objective):
            stop_reason = "not_finite"
        elif abs(trace[-1] - trace[-2]) <= tol * abs(trace[-1]):
            stop_reason = "converged"
    return EMResult(parameters, np.array(trace), stop_reason)


def normalize_log_rows(log_joint: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn each row of ``log p(x, k)`` into ``p(k | x)``, in place.

    Parameters
    ----------
    log_joint : ndarray of shape (n_rows, n_components)
        Overwritten. A row that is -inf throughout becomes uniform.

    Returns
    -------
    evidence : ndarray of shape (n_rows,)
        ``log p(x)``.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.solvers import normalize_log_rows
    >>> rows = np.array([[-5000.0, -5000.0], [-np.inf, -3.0]])
    >>> normalize_log_rows(rows).round(2).tolist()
    [-4999.31, -3.0]
    >>> rows
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    # Relative to the largest, so that exp neither overflows nor loses every component of a row.
    top = log_joint.max(axis=1)
    lost = np.isneginf(top)
    any_lost = bool(lost.any())
    if any_lost:
        log_joint[lost] = 0.0
        top[lost] = 0.0
    log_joint -= top[:, None]
    np.exp(log_joint, out=log_joint)
    total = log_joint.sum(axis=1)
    log_joint /= total[:, None]
    top += np.log(total)
    if any_lost:
        top[lost] = -np.inf
    return np.asarray(top)
