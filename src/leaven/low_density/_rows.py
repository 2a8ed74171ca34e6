"""The rows of a linear or a kernel machine: what the SVM solver needs to know of them.

A *vector* is an element ``w`` of the feature space, held as a pair ``(coordinates, scores)``.
For :class:`FeatureRows` the coordinates are ``w`` itself; for :class:`GramRows` they are the
coefficients of ``w = Σ z_i φ(x_i)``. The scores are ``<w, φ(x_i)>`` on every row.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lapack

Array = NDArray[np.float64]
Vector = tuple[Array, Array]

# Largest system that is factored; beyond it conjugate gradients are cheaper.
DIRECT_LIMIT = 800
# The same for more sparse rows than LARGE_ROWS, which are not solved to many digits.
LARGE_ROWS, LARGE_DIRECT_LIMIT = 2000, 100


class Rows(Protocol):
    """What :func:`leaven.low_density._svm.solve_svm` asks of the training rows."""

    n_rows: int

    def subset(self, index: NDArray[np.intp]) -> Rows:
        """Some of the rows."""

    def extend(self, vector: Vector, index: NDArray[np.intp]) -> Vector:
        """A vector of ``subset(index)`` as one of all rows."""

    def square_norms(self) -> Array:
        """``|φ(x_i)|²`` of every row."""

    def zero(self) -> Vector:
        """The zero vector."""

    def combine(self, coefficients: Array) -> Vector:
        """``Σ_i coefficients_i φ(x_i)``; the scores are left empty where nobody needs them."""

    def scores_of(self, vector: Vector) -> Array:
        """The scores of a vector from :meth:`combine`."""

    def inner(self, first: Vector, second: Vector) -> float:
        """The inner product of two vectors."""

    def direction(
        self, gradient: Vector, bias_gradient: float, weights: Array, tau: float
    ) -> tuple[Vector, float]:
        """The Newton direction ``-H^{-1} g`` of the smoothed SVM, bias included.

        ``H = [[I + Φ'WΦ, Φ'W1], [1'WΦ, 1'W1 + τ]]`` with ``W = diag(weights)``.
        """


class GramRows:
    """Rows known by their kernel matrix."""

    def __init__(self, gram: Array) -> None:
        self.gram = gram
        self.n_rows = len(gram)

    def subset(self, index: NDArray[np.intp]) -> GramRows:
        """Some of the rows."""
        return GramRows(self.gram[np.ix_(index, index)])

    def extend(self, vector: Vector, index: NDArray[np.intp]) -> Vector:
        """A vector of ``subset(index)`` as one of all rows."""
        coefficients = np.zeros(self.n_rows)
        coefficients[index] = vector[0]
        return coefficients, self.gram[:, index] @ vector[0]

    def square_norms(self) -> Array:
        """``|φ(x_i)|²`` of every row."""
        return np.diag(self.gram)

    def zero(self) -> Vector:
        """The zero vector."""
        return np.zeros(self.n_rows), np.zeros(self.n_rows)

    def combine(self, coefficients: Array) -> Vector:
        """``Σ_i coefficients_i φ(x_i)``."""
        return coefficients, self.gram @ coefficients

    def scores_of(self, vector: Vector) -> Array:
        """The scores of a vector from :meth:`combine`."""
        return vector[1]

    def inner(self, first: Vector, second: Vector) -> float:
        """The inner product of two vectors."""
        return float(first[0] @ second[1])

    def direction(
        self, gradient: Vector, bias_gradient: float, weights: Array, tau: float
    ) -> tuple[Vector, float]:
        """The Newton direction, by a Cholesky factor of the size of the active rows."""
        active = np.flatnonzero(weights)
        step, db = _dual_direction(
            self.gram[np.ix_(active, active)],
            gradient[1][active],
            bias_gradient,
            weights[active],
            tau,
        )
        # d = -g + Φ'e, so that only the active rows have anything to solve for.
        coefficients = -gradient[0]
        coefficients[active] += step
        return (coefficients, self.gram[:, active] @ step - gradient[1]), db


class FeatureRows:
    """Rows known by their features, dense or sparse; no kernel matrix is formed."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.n_rows, self.n_features = X.shape

    def subset(self, index: NDArray[np.intp]) -> FeatureRows:
        """Some of the rows."""
        return FeatureRows(self.X[index])

    def extend(self, vector: Vector, index: NDArray[np.intp]) -> Vector:
        """A vector of ``subset(index)`` as one of all rows."""
        return vector[0], self.scores_of(vector)

    def square_norms(self) -> Array:
        """``|x_i|²`` of every row."""
        squares = self.X.multiply(self.X) if sparse.issparse(self.X) else self.X * self.X
        return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()

    def zero(self) -> Vector:
        """The zero vector."""
        return np.zeros(self.n_features), np.zeros(self.n_rows)

    def scores_of(self, vector: Vector) -> Array:
        """``X w``, computed in the precision of ``X``: a float32 ``X`` is never copied."""
        w = vector[0].astype(self.X.dtype, copy=False)
        return np.asarray(self.X @ w, dtype=np.float64)

    def combine(self, coefficients: Array) -> Vector:
        """``X' coefficients``; its scores would cost a product that nobody needs."""
        return _transpose_product(self.X, coefficients), np.empty(0)

    def inner(self, first: Vector, second: Vector) -> float:
        """The inner product of two vectors."""
        return float(first[0] @ second[0])

    def direction(
        self, gradient: Vector, bias_gradient: float, weights: Array, tau: float
    ) -> tuple[Vector, float]:
        """The Newton direction: direct where the system is small, else by conjugate gradients."""
        active = np.flatnonzero(weights)
        X, W, g = self.X, weights, gradient[0]
        if 2 * len(active) <= self.n_rows or len(active) <= DIRECT_LIMIT:
            X, W = X[active], W[active]  # a copy of few rows is paid back by the products
        # The kernel matrix of many sparse rows costs more than a few conjugate gradient steps.
        large = sparse.issparse(X) and self.n_rows > LARGE_ROWS
        if len(active) <= min(self.n_features, LARGE_DIRECT_LIMIT if large else DIRECT_LIMIT):
            gram = _dense(X @ X.T)
            scores = np.asarray(X @ g.astype(X.dtype, copy=False), dtype=np.float64)
            step, db = _dual_direction(gram, scores, bias_gradient, W, tau)
            w = _transpose_product(X, step) - g
        else:
            total = W.sum() + tau
            cross = _transpose_product(X, W)
            right = cross * (bias_gradient / total) - g
            if self.n_features <= DIRECT_LIMIT:
                scaled = sparse.diags_array(W) @ X if sparse.issparse(X) else W[:, None] * X
                H = _dense(X.T @ scaled) - np.outer(cross, cross / total)
                H[np.diag_indices(len(H))] += 1.0
                w = _solve_positive(H, right[:, None])[:, 0]
            else:
                w = _conjugate_gradients(X, W, cross, total, right)
            db = -(bias_gradient + cross @ w) / total
        return (w, self.scores_of((w, w))), float(db)


def _dual_direction(
    gram: Array, scores: Array, bias_gradient: float, weights: Array, tau: float
) -> tuple[Array, float]:
    """Newton step by the matrix inversion lemma, in the space of the active rows.

    With ``d = -g + Φ_A' e`` the system becomes ``(K_AA + W^{-1}) e = (Φ g)_A - d_b 1`` and
    ``1'e = g_b + τ d_b``.
    """
    M = np.array(gram, dtype=np.float64)
    M[np.diag_indices(len(M))] += 1.0 / weights
    right = np.ones((len(M), 2))
    right[:, 0] = scores
    solved = _solve_positive(M, right)
    db = (solved[:, 0].sum() - bias_gradient) / (solved[:, 1].sum() + tau)
    return solved[:, 0] - db * solved[:, 1], float(db)


def _solve_positive(M: Array, right: Array) -> Array:
    """Solve a positive definite system; rounding may need a small ridge."""
    scale = float(np.abs(np.diag(M)).max())
    for ridge in (0.0, *(scale * 10.0 ** np.arange(-14, 1))):
        # LAPACK called directly: scipy.linalg.solve costs more than a system of thirty rows.
        _, solution, info = lapack.dposv(M + ridge * np.eye(len(M)) if ridge else M, right)
        if info == 0:
            return np.asarray(solution)
    raise np.linalg.LinAlgError("The kernel matrix is not positive semi-definite.")


def _conjugate_gradients(X: Any, W: Array, cross: Array, total: float, right: Array) -> Array:
    """Solve ``(I + X'WX - cc'/total) w = right`` to a tenth: an inexact Newton step."""
    w = np.zeros_like(right)
    residual = right.copy()
    search = residual.copy()
    square = residual @ residual
    target = 0.01 * square
    for _ in range(100):
        if square <= target:
            break
        product = np.asarray(X @ search.astype(X.dtype, copy=False), dtype=np.float64)
        image = search + _transpose_product(X, W * product) - cross * (cross @ search / total)
        rate = square / (search @ image)
        w += rate * search
        residual -= rate * image
        square, previous = residual @ residual, square
        search = residual + (square / previous) * search
    return w


def _transpose_product(X: Any, v: Array) -> Array:
    return np.asarray(X.T @ v.astype(X.dtype, copy=False), dtype=np.float64)


def _dense(M: Any) -> Array:
    return np.asarray(M.toarray() if sparse.issparse(M) else M, dtype=np.float64)
