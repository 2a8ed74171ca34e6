"""Kernel matrices of the transductive SVM, within a stated bound of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from leaven.exceptions import MemoryBoundError
from leaven.low_density._rows import Array

# Largest kernel matrix, in bytes of float64: about 23,000 rows.
MAX_GRAM_BYTES = 4 * 2**30

# Largest value of X: scores are sums of squares of such values, and are squared once more.
MAX_MAGNITUDE = 1e70


def resolve_gamma(gamma: float | str, X: Any) -> float:
    """``"scale"`` and ``"auto"`` as numbers, as in :class:`sklearn.svm.SVC`."""
    if gamma == "auto":
        return 1.0 / int(X.shape[1])
    if gamma != "scale":
        return float(gamma)
    if sparse.issparse(X):
        variance = float(X.multiply(X).mean() - X.mean() ** 2)
    else:
        variance = float(np.var(X, dtype=np.float64))
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def check_gram_size(n_rows: int) -> None:
    """Refuse a kernel matrix beyond :data:`MAX_GRAM_BYTES`, with the estimate."""
    need = 8 * n_rows**2
    if need > MAX_GRAM_BYTES:
        raise MemoryBoundError(
            f"The kernel matrix of {n_rows} rows needs {need / 2**30:.1f} GiB, more than the "
            f"bound of {MAX_GRAM_BYTES / 2**30:.0f} GiB. Use kernel='linear', which needs no "
            "kernel matrix, on features from sklearn.kernel_approximation.Nystroem, or give "
            "fewer unlabeled rows."
        )


def kernel_matrix(
    X: Any,
    Y: Any,
    kernel: str | Callable[[Any, Any], Any],
    *,
    gamma: float,
    degree: float,
    coef0: float,
) -> Array:
    """The values ``k(x, y)`` for all rows of ``X`` and ``Y``."""
    if callable(kernel):
        K = np.asarray(kernel(X, Y), dtype=np.float64)
        if K.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"The kernel function gave shape {K.shape} for {X.shape[0]} and {Y.shape[0]} "
                f"rows; it must give ({X.shape[0]}, {Y.shape[0]})."
            )
        if not np.isfinite(K).all():
            raise ValueError("The kernel function gave NaN or infinity.")
        return K
    options = {
        "linear": {},
        "rbf": {"gamma": gamma},
        "poly": {"gamma": gamma, "degree": degree, "coef0": coef0},
    }[kernel]
    with np.errstate(over="ignore"):
        K = np.asarray(pairwise_kernels(X, Y, metric=kernel, **options), dtype=np.float64)
    if not np.isfinite(K).all():
        raise ValueError(
            f"Values of the {kernel!r} kernel are too large for floating point numbers. Scale the "
            "columns of X first, for example by sklearn.preprocessing.StandardScaler, or set gamma."
        )
    return K


def check_precomputed(X: Any) -> None:
    """Refuse a precomputed kernel of the training rows that is not square or symmetric."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"With kernel='precomputed', X must be the square matrix of kernel values among "
            f"the training rows, but it has shape {X.shape}. Precomputed matrix must be a "
            "square matrix: give K[i, j] = k(x_i, x_j), unlabeled rows included."
        )
    if not np.allclose(X, X.T, rtol=1e-5, atol=1e-8 * float(np.abs(X).max(initial=1.0))):
        raise ValueError(
            "With kernel='precomputed', X must be symmetric: K[i, j] = k(x_i, x_j). "
            "This matrix is not a kernel."
        )


def nearest_kernel(K: Array) -> tuple[Array, Array | None]:
    """The nearest positive semi-definite matrix, and the projection that leads to it.

    An SVM on an indefinite matrix has no minimum. Where ``K`` is one, its negative eigenvalues
    are set to zero: ``K+ = P K`` with the projection ``P`` on the eigenvectors that stay.
    Coefficients ``z`` of ``K+`` act on the kernel values of new rows as ``P z``. For a proper
    kernel the projection is None.
    """
    # A proper kernel in single precision has eigenvalues down to minus this; not worth a
    # projection.
    ridge = 1e-8 * max(float(np.abs(K).max(initial=0.0)), 1e-300)
    try:
        np.linalg.cholesky(K + len(K) * ridge * np.eye(len(K)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(K)
        vectors = vectors[:, values > 0]
        return (vectors * values[values > 0]) @ vectors.T, vectors @ vectors.T
    return K, None
