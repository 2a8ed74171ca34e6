"""Learning the length scales of a Gaussian graph by minimizing label entropy."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import lu_factor, lu_solve
from scipy.optimize import minimize
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_array, check_consistent_length

from leaven._labels import UNLABELED, class_prior, encode_labels, one_hot
from leaven.graph import AnisotropicGaussian, Edges, KNNGraph
from leaven.solvers import solve_spd

_DENSE_BELOW = 3_000  # rows; all pairs of them are 72 MB, and a step has a few such arrays
_LN2 = float(np.log(2.0))  # entropies are in bits, as in the source
_TINY = 1e-300  # keeps logarithms and quotients of underflowed weights finite
_BOX = 0.25  # largest change of a log scale per step, see learn_length_scales
# Log scales relative to the start: a feature beyond the upper bound has dropped out.
_LOWEST, _HIGHEST = float(np.log(1e-2)), float(np.log(1e8))

logger = logging.getLogger("leaven")


@dataclass(frozen=True)
class LengthScales:
    """What :func:`learn_length_scales` found.

    Parameters
    ----------
    length_scales : ndarray of shape (n_features,)
    entropy : float
        Mean label entropy of the unlabeled rows at these scales, in bits.
    entropy_trace : ndarray
        The entropy at the start and after each step.
    weight : AnisotropicGaussian
        Ready for a graph builder: ``FullGraph(weight=result.weight)``.
    n_iter : int
    converged : bool
    """

    length_scales: NDArray[np.float64]
    entropy: float
    entropy_trace: NDArray[np.float64]
    weight: AnisotropicGaussian
    n_iter: int
    converged: bool


class _DenseField:
    """All pairs of rows: for the few thousand rows of the paper's problems."""

    def __init__(self, X: NDArray[Any], *, self_loops: bool = False) -> None:
        self.X = X
        self.self_loops = self_loops

    def walk(self, scales: NDArray[Any]) -> Any:
        """The transition matrix P."""
        # The largest weight of a row is divided out beforehand, so that no row underflows,
        # however small the scales are.
        D = euclidean_distances(self.X / scales, squared=True)
        np.fill_diagonal(D, 0.0 if self.self_loops else np.inf)
        P = np.exp(D.min(axis=1, keepdims=True) - D)
        return P / P.sum(axis=1, keepdims=True)

    def solvers(self, P: Any, free: NDArray[Any], keep: float, jump: float) -> tuple[Any, Any]:
        """Functions that solve with ``I - P̃_uu`` and with its transpose."""
        lu = lu_factor(np.eye(len(free)) - keep * P[np.ix_(free, free)] - jump)
        return (lambda B: lu_solve(lu, B)), (lambda B: lu_solve(lu, B, trans=1))

    def products_at_edges(self, P: Any, left: NDArray[Any], right: NDArray[Any]) -> Any:
        return left @ right.T

    def weighted(self, P: Any, values: Any) -> Any:
        return P * values


class _SparseField:
    """A fixed set of neighbors, found at the initial scales: for many rows."""

    def __init__(
        self, X: NDArray[Any], scales: NDArray[Any], n_neighbors: int, *, self_loops: bool = False
    ) -> None:
        self.X = X
        pattern = KNNGraph(n_neighbors, weight="binary").build(X / scales).adjacency
        if self_loops:
            pattern = sparse.csr_array(pattern + sparse.eye_array(X.shape[0], format="csr"))
        self.pattern = sparse.csr_array(pattern, dtype=np.float64, copy=True)
        row = np.repeat(np.arange(X.shape[0]), np.diff(pattern.indptr))
        self.edges = Edges(np.empty(pattern.nnz), row, pattern.indices, X, X)

    def walk(self, scales: NDArray[Any]) -> Any:
        """The transition matrix P; its degrees are kept for the solvers."""
        W = self.pattern.copy()
        W.data = np.maximum(AnisotropicGaussian(scales)(self.edges), _TINY)
        self.degree = np.asarray(W.sum(axis=1)).ravel()
        return sparse.csr_array(sparse.diags_array(1.0 / self.degree, format="csr") @ W)

    def solvers(self, P: Any, free: NDArray[Any], keep: float, jump: float) -> tuple[Any, Any]:
        """Functions that solve with ``I - P̃_uu`` and with its transpose.

        Multiplied by the degrees, ``I - (1 - ε) P_uu`` becomes symmetric and positive
        definite; the uniform jumps are a term of rank one (Sherman-Morrison).
        """
        d = self.degree[free]
        D = sparse.diags_array(d, format="csr")
        A = sparse.csr_array(D - keep * (D @ P[free][:, free]))
        to_degree, to_one = solve_spd(A, np.column_stack([d, np.ones(len(d))]), tol=1e-10).x.T

        def forward(B: NDArray[Any]) -> NDArray[Any]:
            x = solve_spd(A, d[:, None] * B, tol=1e-10).x
            return x + np.outer(to_degree, jump * x.sum(axis=0) / (1.0 - jump * to_degree.sum()))

        def transposed(B: NDArray[Any]) -> NDArray[Any]:
            x = solve_spd(A, B, tol=1e-10).x
            x = x + np.outer(to_one, jump * (d @ x) / (1.0 - jump * (d @ to_one)))
            return np.asarray(d[:, None] * x)

        return forward, transposed

    def products_at_edges(self, P: Any, left: NDArray[Any], right: NDArray[Any]) -> Any:
        rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
        return np.einsum("ij,ij->i", left[rows], right[P.indices])

    def weighted(self, P: Any, values: Any) -> Any:
        return sparse.csr_array((P.data * values, P.indices, P.indptr), shape=P.shape)


def label_entropy(
    field: Any,
    codes: NDArray[np.intp],
    n_classes: int,
    scales: NDArray[Any],
    *,
    smoothing: float = 0.01,
    prior: NDArray[Any] | None = None,
) -> tuple[float, NDArray[Any]]:
    """Mean label entropy in bits and its gradient in the length scales.

    With the smoothed walk ``P̃ = ε U + (1 - ε) P``, where all entries of U are 1/n, the
    harmonic function is ``f_u = (I - P̃_uu)^{-1} P̃_ul Y``. The gradient is that of
    equations (12)-(14) of Zhu, Ghahramani and Lafferty (2003), multiplied out from the
    left: one solve with the transposed matrix serves all features.
    """
    n = len(codes)
    free, given = np.flatnonzero(codes == UNLABELED), np.flatnonzero(codes != UNLABELED)
    jump, keep = smoothing / n, 1.0 - smoothing
    P = field.walk(scales)
    solve, solve_transposed = field.solvers(P, free, keep, jump)
    P = P[free]
    Y = one_hot(codes[given], n_classes)
    f = np.clip(solve(keep * (P[:, given] @ Y) + jump * Y.sum(axis=0)), _TINY, 1.0)
    entropy, slope = _entropy_and_slope(f, prior)
    F = np.empty((n, n_classes))
    F[free], F[given] = f, Y
    # M_ij = dH / dp_ij, and p is a softmax of the negative scaled square distances.
    M = field.products_at_edges(P, keep * solve_transposed(slope), F)
    mean = np.asarray(field.weighted(P, M).sum(axis=1)).ravel()
    V = field.weighted(P, M - _by_row(P, mean))
    # Σ_ij v_ij (x_id - x_jd)² without a list of all differences.
    X, Xu = field.X, field.X[free]
    out = np.asarray(V.sum(axis=1)).ravel() @ Xu**2
    into = np.asarray(V.sum(axis=0)).ravel() @ X**2
    squares = out + into - 2.0 * np.einsum("ij,ij->j", V @ X, Xu)
    return entropy, 2.0 * squares / scales**3


def _by_row(W: Any, values: NDArray[Any]) -> NDArray[Any]:
    if sparse.issparse(W):
        return np.repeat(values, np.diff(W.indptr))
    return values[:, None]


def _entropy_and_slope(f: NDArray[Any], prior: NDArray[Any] | None) -> tuple[float, NDArray[Any]]:
    """Mean entropy of the rows in bits, and its derivative with respect to ``f``.

    With a prior the rows are class mass normalized first (equation 15).
    """
    if prior is None:
        g = f
    else:
        mass = f.sum(axis=0)
        factor = prior / mass
        total = (f * factor).sum(axis=1, keepdims=True)
        g = np.clip(f * factor / total, _TINY, 1.0)
    u = len(f)
    entropy = float(-(g * np.log(g)).sum() / (u * _LN2))
    slope = -(np.log(g) + 1.0) / (u * _LN2)
    if prior is None:
        return entropy, slope
    # g = a / Σ a with a_ic = f_ic q_c / m_c, and m_c = Σ_i f_ic.
    by_a = (slope - (slope * g).sum(axis=1, keepdims=True)) / total
    by_mass = (by_a * f).sum(axis=0) * (-factor / mass)
    return entropy, by_a * factor + by_mass


def learn_length_scales(
    X: ArrayLike,
    y: ArrayLike,
    *,
    tied: bool = False,
    smoothing: float = 0.01,
    prior: Any = None,
    initial: float | ArrayLike | None = None,
    n_neighbors: int | None = None,
    self_loops: bool = False,
    max_iter: int = 100,
    tol: float = 1e-6,
    verbose: int = 0,
) -> LengthScales:
    r"""Learn the length scale of each feature by minimizing the entropy of the labels.

    The harmonic function on the graph with weights
    ``w_ij = exp(-Σ_d (x_id - x_jd)² / σ_d²)`` gives every unlabeled row class
    probabilities; scales that make these confident, given the labels, are taken to be
    good [1]_:

    .. math:: H(\sigma) = \frac1u \sum_{i \in U} H_i(f_i) .

    A feature that does not matter gets a large scale, and so drops out.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Partly labeled.
    tied : bool, default=False
        Learn one scale for all features.
    smoothing : float in [0, 1), default=0.01
        ε: the share of uniform jumps in the walk. Without it the entropy tends to zero as
        the scales do, which means nothing.
    prior : {"labeled", "uniform"}, dict or array, default=None
        Minimize the entropy after class mass normalization (equation 15).
    initial : float or array of shape (n_features,), default=None
        Where to start; None takes the median distance to the third nearest row.
    n_neighbors : int, default=None
        Use a fixed set of neighbors instead of all pairs of rows. None does so from 3,000
        rows up, with 20 neighbors.
    self_loops : bool, default=False
        Whether a row is its own neighbor with weight 1, as equation (1) of [1]_ says for
        ``i = j``. Loops leave the harmonic function as it is and make the uniform jumps of the
        smoothing count for more: a walk that stays where it is may jump again.
    max_iter : int, default=100
    tol : float, default=1e-6
        Relative change of the entropy at which to stop.
    verbose : int, default=0

    Returns
    -------
    LengthScales

    References
    ----------
    .. [1] X. Zhu, Z. Ghahramani and J. Lafferty, "Semi-supervised learning using Gaussian
       fields and harmonic functions", ICML 2003, sections 6 and 7.2.

    Examples
    --------
    Six lines of points, three of each class: only the second feature tells them apart.

    >>> import numpy as np
    >>> from leaven.graph_based import learn_length_scales
    >>> X = np.array([[x, y] for y in (0, 1, 2, 4, 5, 6) for x in range(10)], dtype=float)
    >>> y = np.full(60, -1)
    >>> y[[12, 47]] = [0, 1]
    >>> learned = learn_length_scales(X, y)
    >>> bool(learned.length_scales[0] > 5 * learned.length_scales[1])
    True
    """
    rows = check_array(X, dtype=np.float64, ensure_min_samples=3)
    classes, codes = encode_labels(y, min_classes=2)
    check_consistent_length(rows, codes)
    if not (codes == UNLABELED).any():
        raise ValueError("All rows are labeled: there is no entropy to minimize.")
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing must lie in [0, 1), got {smoothing!r}.")
    start = _start(rows, initial)
    if n_neighbors is None and len(rows) > _DENSE_BELOW:
        n_neighbors = 20
    field: Any
    if n_neighbors is None:
        field = _DenseField(rows, self_loops=self_loops)
    else:
        field = _SparseField(rows, start, n_neighbors, self_loops=self_loops)
    proportions = None if prior is None else class_prior(prior, codes, classes)

    def objective(theta: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        scales = start * np.exp(theta if not tied else np.full(len(start), theta[0]))
        entropy, gradient = label_entropy(
            field, codes, len(classes), scales, smoothing=smoothing, prior=proportions
        )
        by_log = gradient * scales
        return entropy, np.array([by_log.sum()]) if tied else by_log

    n_parameters = 1 if tied else len(start)
    theta = np.zeros(n_parameters)
    trace = [objective(theta)[0]]
    converged = False
    while not converged and len(trace) <= max_iter:
        # A free line search may leap over the minimum onto the plateau of tiny scales, where
        # rows see nobody; so each step stays within a box around the last one. Logarithms
        # keep the scales positive.
        found = minimize(
            objective,
            theta,
            jac=True,
            method="L-BFGS-B",
            bounds=[(max(value - _BOX, _LOWEST), min(value + _BOX, _HIGHEST)) for value in theta],
            options={"maxiter": 5},
        )
        theta = found.x
        trace.append(min(float(found.fun), trace[-1]))
        converged = trace[-2] - trace[-1] <= tol * abs(trace[-1])
        if verbose:
            logger.info("length scales step %d: entropy %.6f bits", len(trace) - 1, trace[-1])
    scales = start * np.exp(theta)
    return LengthScales(
        length_scales=scales,
        entropy=trace[-1],
        entropy_trace=np.array(trace),
        weight=AnisotropicGaussian(length_scales=scales),
        n_iter=len(trace) - 1,
        converged=converged,
    )


def _start(X: NDArray[Any], initial: Any) -> NDArray[np.float64]:
    if initial is None:
        k = min(3, len(X) - 1)
        graph = KNNGraph(k, weight="binary").fit(X)
        distance = graph._index.within(k)[0][:, -1]
        positive = distance[distance > 0]
        initial = float(np.median(positive)) if len(positive) else 1.0
    start = np.broadcast_to(np.asarray(initial, dtype=np.float64), (X.shape[1],)).copy()
    if not (np.isfinite(start).all() and (start > 0).all()):
        raise ValueError(f"initial must hold positive numbers, got {initial!r}.")
    return start
