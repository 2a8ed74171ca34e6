"""Class shares by a constant for each class: for scores that are known up to constants."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

# Largest error of a mean probability: far below the sampling error of any class proportion.
_TOLERANCE = 1e-9
# Newton's method takes about ten; most of these are for the damping to find its size where the
# classes hardly overlap and the curvature is next to nothing.
_MOST_STEPS = 500
# Where no row is between two classes the curvature is zero, and this keeps the matrix regular.
_LEAST_DAMPING = 1e-12


# Of an objective, relative to its size.
_ROUNDING = 1e-12


def class_shifts(scores: NDArray[Any], prior: NDArray[Any]) -> NDArray[np.float64]:
    r"""Find constants after whose subtraction the classes have their expected shares.

    The share of a class is the mean of its softmax, and the constants minimize the convex

    .. math:: \frac1n \sum_i \log \sum_c \exp(s_{ic} - b_c) + \sum_c q_c b_c ,

    whose gradient is the difference of the expected and the actual shares. Because shares are
    soft, a gap between two clusters is not filled up to meet them: two tight clusters of 10
    and 90 rows remain two under the prior (1/2, 1/2).

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
        In units in which a difference of one is worth a factor of e.
    prior : ndarray of shape (n_classes,)
        The expected share q of each class.

    Returns
    -------
    ndarray of shape (n_classes,)
        The constants b; infinite for a class whose share is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._class_shift import class_shifts
    >>> b = class_shifts(np.array([[0.0, 3.0], [0.0, 5.0]]), np.array([0.5, 0.5]))
    >>> float(np.round(b[1] - b[0], 6))
    4.0
    """
    wanted = prior > 0
    b = np.full(len(prior), np.inf)
    q = prior[wanted] / prior[wanted].sum()
    z = np.asarray(scores[:, wanted], dtype=np.float64)

    # A few rows may be far away, as a cluster that hangs by a thread is; quantiles do not mind.
    start = np.array([np.quantile(z[:, c], 1.0 - q[c]) for c in range(len(q))])
    b[wanted] = _minimize(z, q, start)
    return b


def _minimize(z: NDArray[Any], q: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Minimize by Newton's method, damped where the objective is nearly a straight line.

    Between tight clusters the shares hardly change, and an undamped step would be far too long.
    """
    value, gradient, shares = _objective(z, q, b)
    damping = 1e-4
    for _ in range(_MOST_STEPS):
        if np.abs(gradient).max() <= _TOLERANCE:
            break
        curvature = np.diag(shares.mean(axis=0)) - shares.T @ shares / len(z)
        # A constant for all classes changes nothing: ones in its direction, where the gradient
        # is zero, make the matrix regular and leave the step as it is.
        curvature += 1.0 / len(q) + damping * np.eye(len(q))
        trial = b - np.linalg.solve(curvature, gradient)
        found = _objective(z, q, trial)
        # Near the end the objective no longer tells, by rounding, and the gradient does; before,
        # going by the gradient may go round in circles.
        lower = found[0] <= value
        level = found[0] <= value + _ROUNDING * (1.0 + abs(value))
        if lower or (level and np.abs(found[1]).max() < np.abs(gradient).max()):
            b, (value, gradient, shares) = trial, found
            damping = max(0.1 * damping, _LEAST_DAMPING)
        else:
            damping *= 10.0
    return np.asarray(b, dtype=np.float64)


def _objective(
    z: NDArray[Any], q: NDArray[Any], b: NDArray[Any]
) -> tuple[float, NDArray[Any], NDArray[Any]]:
    """Value and gradient of the objective, and the shares of each row."""
    logs = log_softmax(z - b, axis=1)
    # log Σ exp(z_c - b_c) of a row is z_c - b_c less the log of its share, for every c.
    value = float((z[:, 0] - b[0] - logs[:, 0]).mean() + q @ b)
    shares = np.exp(logs)
    return value, q - shares.mean(axis=0), shares


def balancing_shifts(
    scores: NDArray[Any], prior: NDArray[Any]
) -> tuple[NDArray[np.float64], float]:
    """Find the constants for scores in any unit; return them and the spread of the scores.

    The unit of :func:`class_shifts` is the mean distance from the median of each column, in
    which the largest 5% count as the largest of the others.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._class_shift import balancing_shifts
    >>> f = np.array([0.5, 0.7, 0.8, 0.9])
    >>> b, spread = balancing_shifts(np.column_stack([-f, f]), np.array([0.5, 0.5]))
    >>> np.column_stack([-f, f] - b[:, None]).argmax(axis=1), round(spread, 4)
    (array([0, 0, 1, 1]), 0.125)
    """
    distance = np.abs(scores - np.median(scores, axis=0))
    spread = float(np.minimum(distance, np.quantile(distance, 0.95)).mean()) or 1.0
    return spread * class_shifts(scores / spread, prior), spread
