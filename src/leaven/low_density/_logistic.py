"""What the two regularized logistic regressions share: logits, losses and L-BFGS."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.utils import check_array

from leaven._compat import Interval
from leaven._labels import UNLABELED
from leaven.exceptions import ConvergenceWarning

Array = NDArray[np.float64]
# Logits of the unlabeled rows to a penalty and its gradient.
Penalty = Callable[[Array], tuple[float, Array]]

# Parameters of both classifiers, checked alike; each adds its own weight of the penalty.
COMMON_CONSTRAINTS: dict[str, list[Any]] = {
    "C": [Interval(Real, 0.0, None, closed="neither")],
    "fit_intercept": ["boolean"],
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "verbose": ["verbose"],
}
# What both accept as X.
CHECKS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


def check_row_weight(sample_weight: Any, codes: NDArray[np.intp]) -> NDArray[np.float64] | None:
    """Check the weights of rows; None if there are none."""
    if sample_weight is None:
        return None
    found = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if found.shape != (len(codes),):
        raise ValueError(f"sample_weight.shape == {found.shape}, expected {(len(codes),)}!")
    if (found < 0).any():
        raise ValueError(f"Negative values in sample_weight: {float(found.min()):g}.")
    if not found[codes != UNLABELED].sum() > 0:
        raise ValueError("sample_weight is zero for every labeled row: nothing to learn from.")
    return np.asarray(found)


class LogitModel:
    """Linear logits of every class, as a function of one flat vector of parameters.

    Two classes have one weight vector, with logits ``0`` and ``<w, x> + b``; more have one
    each, which is the parameterization of :class:`sklearn.linear_model.LogisticRegression`.
    """

    def __init__(self, X: Any, n_classes: int, fit_intercept: bool) -> None:
        self.X = X
        self.n_classes = n_classes
        self.n_vectors = 1 if n_classes == 2 else n_classes
        self.fit_intercept = fit_intercept
        self.n_weights = self.n_vectors * X.shape[1]
        self.n_parameters = self.n_weights + (self.n_vectors if fit_intercept else 0)

    def unpack(self, theta: Array) -> tuple[Array, Array]:
        """Weights of shape (n_vectors, n_features) and intercepts of shape (n_vectors,)."""
        weights = theta[: self.n_weights].reshape(self.n_vectors, -1)
        if not self.fit_intercept:
            return weights, np.zeros(self.n_vectors)
        return weights, theta[self.n_weights :]

    def logits(self, theta: Array) -> Array:
        """Logits of shape (n_samples, n_classes), computed in the precision of ``X``."""
        weights, intercepts = self.unpack(theta)
        Z = linear_scores(self.X, weights, intercepts)
        return np.column_stack([np.zeros(len(Z)), Z]) if self.n_classes == 2 else Z

    def pull_back(self, dZ: Array) -> Array:
        """The gradient in the parameters of a function with gradient ``dZ`` in the logits."""
        if self.n_classes == 2:
            dZ = dZ[:, 1:]
        weights = self.X.T @ dZ.astype(self.X.dtype, copy=False)
        parts = [np.asarray(weights, dtype=np.float64).T.ravel()]
        if self.fit_intercept:
            parts.append(dZ.sum(axis=0))
        return np.concatenate(parts)


def linear_scores(X: Any, weights: Array, intercepts: Array) -> Array:
    """``X W' + b`` without a copy of ``X`` in another precision."""
    product = X @ weights.T.astype(X.dtype, copy=False)
    return np.asarray(product, dtype=np.float64) + intercepts


def log_loss(
    Z: Array, codes: NDArray[np.intp], row_weight: Array | None = None
) -> tuple[float, Array]:
    """``-Σ s_i log p(y_i | x_i)`` and its gradient in the logits; ``s`` is one if not given."""
    log_p = log_softmax(Z, axis=1)
    rows = np.arange(len(Z))
    gradient = np.exp(log_p)
    gradient[rows, codes] -= 1.0
    if row_weight is None:
        return -float(log_p[rows, codes].sum()), gradient
    return -float(row_weight @ log_p[rows, codes]), row_weight[:, None] * gradient


def penalized_loss(
    theta: Array,
    model: LogitModel,
    codes: NDArray[np.intp],
    C: float,
    weight: float,
    penalty: Penalty,
    row_weight: Array | None = None,
) -> tuple[float, Array]:
    """``-Σ s log p(y|x) + |w|²/(2C) + weight · penalty`` and its gradient.

    The losses are over the labeled rows, with weights ``s``, the penalty over the logits of the
    unlabeled ones. Intercepts are not penalized.
    """
    Z = model.logits(theta)
    labeled = codes != UNLABELED
    dZ = np.zeros_like(Z)
    own = None if row_weight is None else row_weight[labeled]
    value, dZ[labeled] = log_loss(Z[labeled], codes[labeled], own)
    if weight and not labeled.all():
        extra, gradient = penalty(Z[~labeled])
        value += weight * extra
        dZ[~labeled] = weight * gradient
    w = theta[: model.n_weights]
    slope = model.pull_back(dZ)
    slope[: model.n_weights] += w / C
    return value + 0.5 * float(w @ w) / C, slope


@dataclass(frozen=True)
class LogisticFit:
    """The outcome of :func:`fit_logistic`."""

    coef: Array
    intercept: Array
    distributions: Array
    trace: list[float]
    n_iter: int
    converged: bool


def fit_logistic(
    X: Any,
    codes: NDArray[np.intp],
    n_classes: int,
    weights: list[float],
    penalty: Penalty,
    *,
    C: float,
    fit_intercept: bool,
    tol: float,
    max_iter: int,
    log: Callable[[float, float], None],
    row_weight: Array | None = None,
) -> LogisticFit:
    """Minimize :func:`penalized_loss` for each weight in turn, from where the last one ended.

    The trace holds minus the loss with the last of the weights, after each of them. A
    ConvergenceWarning tells when L-BFGS ran out of iterations.
    """
    model = LogitModel(X, n_classes, fit_intercept)
    theta = np.zeros(model.n_parameters)
    n_iter, converged, trace = 0, True, []
    # One row counts as one in the loss; the tolerance is for the mean over labeled rows.
    labeled = codes != UNLABELED
    scale = 1.0 / float(labeled.sum() if row_weight is None else row_weight[labeled].sum())
    for weight in weights:

        def loss(theta: Array, weight: float = weight) -> tuple[float, Array]:
            value, slope = penalized_loss(theta, model, codes, C, weight, penalty, row_weight)
            return scale * value, scale * slope

        result = minimize(
            loss,
            theta,
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": max_iter,
                "maxfun": 4 * max_iter,
                "gtol": tol,
                "ftol": 64 * np.finfo(float).eps,
            },
        )
        theta = result.x
        n_iter += int(result.nit)
        # Status 2 is a line search that rounding has stopped: as low as it gets.
        converged = converged and result.status in (0, 2)
        trace.append(-penalized_loss(theta, model, codes, C, weights[-1], penalty, row_weight)[0])
        log(weight, trace[-1])
    if not converged:
        warnings.warn(
            f"L-BFGS did not converge in max_iter={max_iter} iterations. Scale the features, "
            "raise max_iter, or raise tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
    coef, intercept = model.unpack(theta)
    distributions = probabilities(model.logits(theta))
    return LogisticFit(
        coef.copy(), intercept.copy(), distributions, trace, max(n_iter, 1), converged
    )


def probabilities(scores: Array) -> Array:
    """Class probabilities of logits; one column of them is the log-odds of the second class."""
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    return np.asarray(np.exp(log_softmax(scores, axis=1)))
