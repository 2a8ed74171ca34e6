"""Kernels deformed by a graph: the machinery of manifold regularization.

The penalty ``γ_A |f|²_K + γ_I fᵀ L f / n²`` is ``γ_A`` times the squared norm of another
kernel (Sindhwani, Niyogi and Belkin, 2005),

    K̃(x, z) = K(x, z) - k_xᵀ (I + M K)^{-1} M k_z ,   M = γ_I / (γ_A n²) L ,

so that LapRLS is kernel ridge regression and LapSVM a support vector machine with K̃ on the
labeled rows alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, eigh, lu_factor, lu_solve
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_random_state

from leaven.graph import Graph

# More rows than this are represented by landmarks unless the user says otherwise.
EXACT_UP_TO = 5_000

_SAMPLED_EDGES = 20_000  # enough for a median

KERNELS = ("rbf", "linear", "poly", "precomputed")


class BaseKernel:
    """A kernel with its parameters settled: ``kernel(A, B)`` is the matrix of all pairs."""

    def __init__(self, kernel: Any, gamma: float | None, degree: int, coef0: float) -> None:
        self.kernel = kernel
        self.params: dict[str, Any] = {}
        if kernel in ("rbf", "poly"):
            self.params["gamma"] = gamma
        if kernel == "poly":
            self.params |= {"degree": degree, "coef0": coef0}

    def __call__(self, A: Any, B: Any) -> NDArray[np.float64]:
        if self.kernel == "precomputed":
            return np.asarray(A, dtype=np.float64)
        return np.asarray(pairwise_kernels(A, B, metric=self.kernel, **self.params), np.float64)


def scale_gamma(X: Any) -> float:
    """``1 / (n_features · variance of X)``, the rule of :class:`sklearn.svm.SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._deformed_kernel import scale_gamma
    >>> scale_gamma(np.array([[0.0, 2.0], [2.0, 0.0]]))
    0.5
    """
    if sparse.issparse(X):
        mean = X.mean()
        variance = X.multiply(X).mean() - mean**2
    else:
        variance = X.var()
    return float(1.0 / (X.shape[1] * variance)) if variance > 0 else 1.0


def edge_gamma(X: Any, graph: Graph) -> float | None:
    """``1 / (2 w²)`` for a width w of three median edges of the graph.

    A kernel as wide as all of the data cannot follow two moons, one as narrow as an edge does
    not reach the next row: widths of two to four edges classify two moons with one label per
    class and lose nothing on digits, one of eight does. None if the median edge has no length.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph import KNNGraph
    >>> from leaven.graph_based._deformed_kernel import edge_gamma
    >>> X = np.array([[0.0], [2.0], [4.0]])
    >>> 1 / edge_gamma(X, KNNGraph(1).build(X))
    72.0
    """
    W = sparse.coo_array(graph.adjacency)
    # Evenly spaced edges: rows lie in the order of the file, and a first part might be one class.
    some = slice(None, None, W.nnz // _SAMPLED_EDGES + 1)
    difference = X[W.coords[0][some]] - X[W.coords[1][some]]
    squares = difference.multiply(difference) if sparse.issparse(X) else difference**2
    lengths = np.asarray(squares.sum(axis=1)).ravel()
    typical = float(np.median(lengths)) if len(lengths) else 0.0
    # 2 · 3²: the width is three edges, and the typical length is squared already.
    return 1.0 / (18.0 * typical) if typical > 0 else None


class ExactDeformation:
    """K̃ through the kernel matrix of all rows: for up to a few thousand of them."""

    def __init__(
        self, kernel: BaseKernel, X: Any, labeled: NDArray[Any], M: sparse.csr_array | None
    ) -> None:
        self.kernel, self.X = kernel, X
        K = kernel(X, X)
        to_labeled = K[:, labeled]
        # Columns of this expand K̃(·, x_j) in the plain kernel functions of all rows.
        self.expansion = np.zeros(to_labeled.shape)
        self.expansion[labeled, np.arange(len(labeled))] = 1.0
        if M is not None:
            system = M @ K
            system[np.diag_indices_from(system)] += 1.0
            # I + MK is not symmetric, though its eigenvalues are positive: LU, not Cholesky.
            factor = lu_factor(system, overwrite_a=True)
            self.expansion -= lu_solve(factor, M @ to_labeled)
        gram = to_labeled.T @ self.expansion
        self.gram = (gram + gram.T) / 2

    def values(self, X_new: Any, coefficients: NDArray[Any]) -> NDArray[np.float64]:
        """Evaluate a function given by its coefficients; None stands for the rows of fit."""
        return np.asarray(self.kernel(self.X if X_new is None else X_new, self.X) @ coefficients)


class FeatureDeformation:
    """K̃ through explicit features ``K = Φ Φᵀ``: linear kernels, and landmarks (Nyström).

    With m features ``K̃ = Φ S Φᵀ`` where ``S = (I + Φᵀ M Φ)^{-1}`` is m × m.
    """

    def __init__(
        self,
        kernel: BaseKernel,
        X: Any,
        labeled: NDArray[Any],
        M: sparse.csr_array | None,
        landmarks: NDArray[Any] | None,
    ) -> None:
        self.kernel, self.landmarks = kernel, None
        if landmarks is not None:
            self.landmarks = X[landmarks]
            values, vectors = eigh(kernel(self.landmarks, self.landmarks))
            # Landmarks that are nearly duplicates span no direction of their own.
            kept = values > values.max() * 1e-10
            self.whiten = vectors[:, kept] / np.sqrt(values[kept])
        self.features = self._map(X)
        known = _dense(self.features[labeled])
        if M is None:
            self.expansion = known.T
        else:
            inner = _dense(self.features.T @ (M @ self.features))
            inner[np.diag_indices_from(inner)] += 1.0
            self.expansion = cho_solve(cho_factor(inner), known.T)
        gram = known @ self.expansion
        self.gram = (gram + gram.T) / 2

    def _map(self, X: Any) -> Any:
        if self.landmarks is None:
            return X
        return self.kernel(X, self.landmarks) @ self.whiten

    def values(self, X_new: Any, coefficients: NDArray[Any]) -> NDArray[np.float64]:
        """Evaluate a function given by its coefficients; None stands for the rows of fit."""
        features = self.features if X_new is None else self._map(X_new)
        return np.asarray(features @ coefficients)


def _dense(A: Any) -> NDArray[np.float64]:
    return np.asarray(A.toarray() if sparse.issparse(A) else A, dtype=np.float64)


def deform(
    kernel: BaseKernel,
    X: Any,
    labeled: NDArray[Any],
    laplacian: sparse.csr_array,
    strength: float,
    *,
    approximation: str,
    n_landmarks: int,
    random_state: Any,
) -> ExactDeformation | FeatureDeformation:
    """Choose and build the deformation; ``strength`` is ``γ_I / (γ_A n²)``.

    A linear kernel with fewer features than rows works on the features themselves. Other
    kernels use all rows, or landmarks where the rows are many.
    """
    n = X.shape[0]
    M = sparse.csr_array(strength * laplacian.astype(np.float64)) if strength > 0 else None
    if kernel.kernel == "linear" and approximation != "nystroem" and X.shape[1] <= min(n, 5_000):
        return FeatureDeformation(kernel, X, labeled, M, None)
    if approximation == "auto":
        may = kernel.kernel != "precomputed"
        approximation = "nystroem" if may and n > EXACT_UP_TO else "exact"
    if approximation == "exact":
        return ExactDeformation(kernel, X, labeled, M)
    if kernel.kernel == "precomputed":
        raise ValueError(
            "approximation='nystroem' needs the rows, not a precomputed kernel. Use 'exact'."
        )
    rng = check_random_state(random_state)
    others = np.setdiff1d(np.arange(n), labeled)
    some = rng.permutation(others)[: max(n_landmarks - len(labeled), 0)]
    # The labeled rows are landmarks too: there the function must be right.
    landmarks = np.sort(np.concatenate([labeled[:n_landmarks], some]))
    return FeatureDeformation(kernel, X, labeled, M, landmarks)
