"""Sparse symmetric positive definite systems with many right-hand sides.

Graph methods solve ``A X = B`` where ``A`` is a Laplacian with something added to it and
``B`` has one column a class. Block conjugate gradients run on all columns at once: one
product of ``A`` with a block costs little more than one with a vector, and what a column
learns of the slow directions of ``A`` serves all of them. On 70,000 images and ten classes
they needed 80 iterations where columns by themselves took 180.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from leaven._optional import import_optional, is_installed
from leaven._threads import one_thread

METHODS = ("auto", "direct", "cg", "amg", "propagation")

# Sparse LU is fastest up to about this many nodes, whatever the graph.
_ALWAYS_DIRECT = 600

# At most this many nodes: LU is fastest where the graph is like a surface, which is also where
# conjugate gradients are slow. Neighbors in many dimensions make it fill in; then conjugate
# gradients are fast, and they are tried first.
_DIRECT_BELOW = 3_000

# Iterations within which conjugate gradients are faster than that LU.
_QUICK = 60

# With at most this many entries a row (a tree has three) LU does not fill in at any size.
_TREE_LIKE = 4.0

# Iterations of plain conjugate gradients after which the speed of convergence is judged.
_PATIENCE = 50

# More iterations than this expected: setting up a multigrid hierarchy pays.
_TOO_MANY = 300

# Columns that share a block: the work beside the product grows with its square.
_BLOCK = 16

# Rows of a block that are worked on at once: ten columns take 320 kB, less than a cache.
_ROWS = 4_096

# By how much one correction in single precision reduces the residual: 1e-3 and 1e-5 need as
# many steps and take a fifth longer, for the sake of more restarts or of rounding.
_CORRECTION = 1e-4

# Directions of a block whose squared length is below this times the longest are left out:
# single precision cannot tell them from rounding. The next correction takes them up.
_DEPENDENT = 1e-6

logger = logging.getLogger("leaven")


@dataclass(frozen=True)
class Solution:
    """The solution of a system and how it was found.

    Parameters
    ----------
    x : ndarray of shape (n, n_columns)
    method : str
        The solver that did the work: ``"direct"``, ``"cg"``, ``"amg"`` or ``"propagation"``.
    n_iter : int
    residual : float
        The largest relative residual ``|b - A x| / |b|`` of a column, with rows scaled by
        ``D^{-1/2}``, where D is the diagonal of A (but for ``"propagation"``).
    converged : bool
    """

    x: NDArray[Any]
    method: str
    n_iter: int
    residual: float
    converged: bool


def solve_spd(
    A: sparse.csr_array,
    B: NDArray[Any],
    *,
    method: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 10_000,
    x0: NDArray[Any] | None = None,
) -> Solution:
    """Solve ``A X = B`` for a sparse symmetric positive definite matrix.

    Parameters
    ----------
    A : csr_array of shape (n, n)
    B : ndarray of shape (n, n_columns)
    method : {"auto", "direct", "cg", "amg", "propagation"}, default="auto"
        - ``"direct"``: sparse LU factorization;
        - ``"cg"``: block conjugate gradients with the diagonal as preconditioner;
        - ``"amg"``: conjugate gradients with algebraic multigrid (pyamg, extra ``ann``);
        - ``"propagation"``: the iteration ``X ← X + D^{-1} (B - A X)``, which for
          harmonic functions is label propagation. Slow; for comparison;
        - ``"auto"``: LU for small and for tree-like systems, otherwise conjugate gradients;
          when they are too slow LU up to 3,000 rows, and multigrid beyond.
    tol : float, default=1e-6
        Largest relative residual of a column.
    max_iter : int, default=10,000
    x0 : ndarray of shape (n, n_columns), optional
        Where the iterative methods start, for instance the solution before some labels were
        added; default zero. The residual is still measured against ``B``.

    Returns
    -------
    Solution

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from leaven.solvers import solve_spd
    >>> A = sparse.csr_array([[2.0, -1.0], [-1.0, 2.0]])
    >>> solve_spd(A, np.array([[1.0], [1.0]])).x
    array([[1.],
           [1.]])
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}.")
    A = sparse.csr_array(A, dtype=np.float64)
    B = np.ascontiguousarray(B, dtype=np.float64)
    n = A.shape[0]
    if x0 is not None and np.shape(x0) != B.shape:
        raise ValueError(f"x0 must have the shape of B, {B.shape}, got {np.shape(x0)}.")
    if n == 0 or B.shape[1] == 0:
        return Solution(np.zeros(B.shape), "direct", 0, 0.0, True)
    if method == "direct" or (method == "auto" and _suits_direct(A)):
        return _direct(A, B)
    if method == "auto" and n <= _DIRECT_BELOW:
        quick = _krylov(A, B, "cg", tol, min(_QUICK, max_iter), x0)
        return quick if quick.converged else _direct(A, B)
    if method == "propagation":
        return _propagation(A, B, tol, max_iter, x0)
    return _krylov(A, B, method, tol, max_iter, x0)


def _suits_direct(A: sparse.csr_array) -> bool:
    n = A.shape[0]
    return bool(n <= _ALWAYS_DIRECT or A.nnz <= _TREE_LIKE * n)


def _direct(A: sparse.csr_array, B: NDArray[Any]) -> Solution:
    # Scaled to a unit diagonal: weights near the smallest floating point number would
    # underflow in the factors, which then seem singular.
    root, S = _unit_diagonal(A)
    try:
        lu = splu(S.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    except RuntimeError as error:
        raise ValueError(
            "The system is singular to working precision: some part of the graph is tied to no "
            "given value, or only by weights too small for floating point numbers."
        ) from error
    C = root[:, None] * B
    x = lu.solve(C)
    return Solution(root[:, None] * x, "direct", 1, _residual(S, x, C), True)


def _unit_diagonal(A: sparse.csr_array) -> tuple[NDArray[Any], sparse.csr_array]:
    """Return ``D^{-1/2}`` and ``D^{-1/2} A D^{-1/2}``, where D is the diagonal of A.

    Raises
    ------
    ValueError
        If an entry of the diagonal is not positive.
    """
    diagonal = A.diagonal()
    if not (diagonal > 0).all():
        row = int(np.flatnonzero(~(diagonal > 0))[0])
        raise ValueError(
            f"A must be positive definite, but entry {row} of its diagonal is {diagonal[row]:g}. "
            "A node without edges must be left out, or be tied to a value."
        )
    root = 1.0 / np.sqrt(diagonal)
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    # Multiplied one by one, since the product of both factors may overflow.
    data = (A.data * root[rows]) * root[A.indices]
    return root, sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)


def _residual(A: sparse.csr_array, x: NDArray[Any], B: NDArray[Any]) -> float:
    size = np.linalg.norm(B, axis=0)
    return float((np.linalg.norm(B - A @ x, axis=0) / np.where(size == 0, 1.0, size)).max())


def _propagation(
    A: sparse.csr_array, B: NDArray[Any], tol: float, max_iter: int, x0: NDArray[Any] | None
) -> Solution:
    inverse = 1.0 / A.diagonal()[:, None]
    limit = tol * np.linalg.norm(B, axis=0)
    x = np.zeros_like(B) if x0 is None else np.array(x0, dtype=np.float64)
    step = 0
    for step in range(1, max_iter + 1):
        R = B - A @ x
        if (np.linalg.norm(R, axis=0) <= limit).all():
            return Solution(x, "propagation", step - 1, _residual(A, x, B), True)
        x += inverse * R
    return Solution(x, "propagation", step, _residual(A, x, B), False)


def _krylov(
    A: sparse.csr_array,
    B: NDArray[Any],
    method: str,
    tol: float,
    max_iter: int,
    x0: NDArray[Any] | None,
) -> Solution:
    # Neighbors in the graph become neighbors in memory: the products run a third faster.
    order = reverse_cuthill_mckee(A, symmetric_mode=True)
    # Scaled to a unit diagonal, conjugate gradients need no Jacobi preconditioner. The rows are
    # put in order afterwards, so that an error names the row of the caller.
    root, S = _unit_diagonal(A)
    root, S = root[order], sparse.csr_array(S[order][:, order])
    C = root[:, None] * B[order]
    x = np.zeros_like(C) if x0 is None else np.ascontiguousarray(x0[order] / root[:, None])
    n_iter, used = 0, "cg"
    may_switch = method == "auto" and is_installed("pyamg")
    too_slow = method == "amg"
    if not too_slow:
        # Products of ten columns are too thin for two threads, which would wait for each other.
        with one_thread():
            n_iter, too_slow = _block_conjugate_gradients(
                S, C, x, tol, max_iter, give_up=may_switch
            )
    if not too_slow and n_iter < max_iter:
        # Rounding may have left a block a little short, or without independent columns.
        n_iter += _conjugate_gradients(S, C, x, tol, max_iter - n_iter)
    if too_slow:
        logger.info("conjugate gradients after %d iterations: multigrid takes over", n_iter)
        used = "amg"
        n_iter += _conjugate_gradients(
            S, C, x, tol, max(max_iter - n_iter, 1), precondition=multigrid(S, 1.0 / root)
        )
    residual = _residual(S, x, C)
    result = np.empty_like(x)
    result[order] = root[:, None] * x
    return Solution(result, used, n_iter, residual, residual <= tol * 1.01)


def _block_conjugate_gradients(
    A: sparse.csr_array,
    B: NDArray[Any],
    x: NDArray[Any],
    tol: float,
    max_iter: int,
    *,
    give_up: bool,
) -> tuple[int, bool]:
    """Improve ``x`` in place; return the iterations and whether they were given up as too many.

    The blocks follow Dubrulle (2001), "Retooling the method of block conjugate gradients":
    the residual is kept as ``Q C`` with orthonormal ``Q``, so that nearly dependent columns
    do no harm and the columns of ``C`` have the lengths of the residuals. They run in single
    precision, which halves the memory that every step moves, for a correction of ``x``; the
    residual is computed in double precision, and a few corrections reach any tolerance.
    """
    single = A.astype(np.float32)
    most = 0
    for start in range(0, B.shape[1], _BLOCK):
        columns = slice(start, start + _BLOCK)
        n_iter, too_slow = _refine_block(
            A, single, B[:, columns], x[:, columns], tol, max_iter, give_up
        )
        most = max(most, n_iter)
        if too_slow:
            return most, True
    return most, False


def _refine_block(
    A: sparse.csr_array,
    single: sparse.csr_array,
    B: NDArray[Any],
    x: NDArray[Any],
    tol: float,
    max_iter: int,
    give_up: bool,
) -> tuple[int, bool]:
    size = np.linalg.norm(B, axis=0)
    # A column of zeros has the solution zero; its residual is compared with tol itself.
    limit = tol * np.where(size == 0, 1.0, size)
    n_iter, before = 0, np.inf
    while n_iter < max_iter:
        R = B - A @ x
        length = np.linalg.norm(R, axis=0)
        far = float(np.max(length / limit))
        # Corrections that no longer help are left to the caller, who goes on column by column.
        if far <= 1.0 or far > 0.5 * before:
            break
        before = far
        safe = np.where(length == 0, 1.0, length)
        # A little below the limit, for the rounding of the correction.
        correction, steps, too_slow = _one_block(
            single,
            R / safe,
            np.maximum(0.9 * limit / safe, _CORRECTION),
            far,
            max_iter - n_iter,
            give_up and n_iter == 0,
        )
        x += correction * safe
        n_iter += steps
        if too_slow:
            return n_iter, True
    return n_iter, False


def _one_block(
    A: sparse.csr_array,
    unit: NDArray[Any],
    limit: NDArray[Any],
    wanted: float,
    max_iter: int,
    give_up: bool,
) -> tuple[NDArray[Any], int, bool]:
    """Solve for columns of unit length until their residuals are below ``limit``.

    ``wanted`` is the factor by which the residuals must fall in the end, from which the speed
    is judged.
    """
    x = np.zeros(unit.shape, dtype=A.dtype)
    values, vectors = np.linalg.eigh(unit.T @ unit)
    kept = values > _DEPENDENT * values[-1]
    if not kept.any():
        return x, 0, False
    root = np.sqrt(values[kept])
    Q = (unit @ (vectors[:, kept] / root)).astype(A.dtype)
    C = root[:, None] * vectors[:, kept].T
    P = Q.copy()
    noise = 100.0 * np.finfo(A.dtype).eps
    work = _Workspace(len(unit), Q.shape[1], unit.shape[1], A.dtype)
    for iteration in range(1, max_iter + 1):
        AP = A @ P
        # Not an inverse: directions of a block become dependent before the last column converges.
        step = np.linalg.pinv(work.products(P, AP), hermitian=True)
        gram = work.advance(x, Q, P, AP, step, step @ C)
        try:
            S = np.linalg.cholesky(gram).T
        except np.linalg.LinAlgError:
            return x, iteration, False
        # A direction that one step brought down to rounding has no more to give: made orthonormal
        # it is noise, and steps along it diverge. The caller starts a new block from the residual.
        spread = np.linalg.svd(S, compute_uv=False)
        if spread[-1] <= noise * max(float(spread[0]), 1.0):
            return x, iteration, False
        work.turn(Q, P, S)
        C = S @ C
        length = np.linalg.norm(C, axis=0)
        if (length <= limit).all():
            return x, iteration, False
        if give_up and iteration == _PATIENCE:
            # The slowest column decides. A residual that has not fallen at all counts as hardly
            # falling.
            rate = np.log(max(1.0 / float(length.max()), 1.0 + 1e-9)) / iteration
            if np.log(wanted) / rate - iteration > _TOO_MANY:
                return x, iteration, True
    return x, max_iter, False


class _Workspace:
    """The thin products of a block step, on chunks of rows that stay in the cache.

    On whole arrays each product writes a temporary as large as the block, and most of the time
    goes into getting that memory; here every array is read and written once in place.
    """

    def __init__(self, n: int, n_directions: int, n_columns: int, dtype: Any) -> None:
        self._chunks = [slice(start, min(start + _ROWS, n)) for start in range(0, n, _ROWS)]
        self._directions = np.empty((_ROWS, n_directions), dtype=dtype)
        self._columns = np.empty((_ROWS, n_columns), dtype=dtype)

    def products(self, P: NDArray[Any], Q: NDArray[Any]) -> NDArray[Any]:
        """Return ``PᵀQ``, the chunks summed in double precision."""
        total = np.zeros((P.shape[1], Q.shape[1]))
        for rows in self._chunks:
            total += P[rows].T @ Q[rows]
        return total

    def advance(
        self,
        x: NDArray[Any],
        R: NDArray[Any],
        P: NDArray[Any],
        AP: NDArray[Any],
        step: NDArray[Any],
        weights: NDArray[Any],
    ) -> NDArray[Any]:
        """Add ``P weights`` to x, subtract ``AP step`` from R in place, and return ``RᵀR``."""
        gram = np.zeros((R.shape[1], R.shape[1]))
        step, weights = step.astype(R.dtype), weights.astype(R.dtype)
        for rows in self._chunks:
            m = rows.stop - rows.start
            x[rows] += np.matmul(P[rows], weights, out=self._columns[:m])
            part = R[rows]
            part -= np.matmul(AP[rows], step, out=self._directions[:m])
            gram += part.T @ part
        return gram

    def turn(self, R: NDArray[Any], P: NDArray[Any], S: NDArray[Any]) -> None:
        """Make R orthonormal, ``R S⁻¹``, and P the next directions, ``R S⁻¹ + P Sᵀ``."""
        inverse = np.linalg.inv(S).astype(R.dtype)
        transposed = np.ascontiguousarray(S.T, dtype=R.dtype)
        for rows in self._chunks:
            m = rows.stop - rows.start
            R[rows] = np.matmul(R[rows], inverse, out=self._directions[:m])
            np.matmul(P[rows], transposed, out=self._directions[:m])
            np.add(R[rows], self._directions[:m], out=P[rows])


def _conjugate_gradients(
    A: sparse.csr_array,
    B: NDArray[Any],
    x: NDArray[Any],
    tol: float,
    max_iter: int,
    *,
    precondition: Callable[[NDArray[Any]], NDArray[Any]] | None = None,
) -> int:
    """Improve ``x`` in place until every column's residual is small; return the iterations.

    Columns are independent problems that share the product with ``A``; a column that has
    converged is left out of it.
    """
    size = np.linalg.norm(B, axis=0)
    limit = tol * np.where(size == 0, 1.0, size)
    R = B - A @ x
    norm = np.linalg.norm(R, axis=0)
    active = np.flatnonzero(norm > limit)
    if not len(active):
        return 0
    X, R = x[:, active], R[:, active]
    P = R.copy() if precondition is None else precondition(R)
    rz = np.einsum("ij,ij->j", R, P)
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        Q = A @ P
        norm = np.sqrt(_step(X, R, P, Q, rz))
        going = norm > limit[active]
        if not going.any():
            break
        if not going.all():
            x[:, active[~going]] = X[:, ~going]
            X, R, P, rz = (np.ascontiguousarray(V[..., going]) for V in (X, R, P, rz))
            active, norm = active[going], norm[going]
        if precondition is None:
            Z, new = R, norm * norm
        else:
            Z = precondition(R)
            new = np.einsum("ij,ij->j", R, Z)
        # Fletcher and Reeves' ratio, in place: the new direction is conjugate to all before.
        P *= new / rz
        P += Z
        rz = new
    x[:, active] = X
    return n_iter


def _step(
    X: NDArray[Any], R: NDArray[Any], P: NDArray[Any], Q: NDArray[Any], rz: NDArray[Any]
) -> NDArray[Any]:
    """Take one step along ``P`` in place; return the squared norms of the residuals."""
    step = rz / np.einsum("ij,ij->j", P, Q)
    part = P * step
    X += part
    np.multiply(Q, step, out=part)
    R -= part
    return np.asarray(np.einsum("ij,ij->j", R, R))


def multigrid(A: sparse.csr_array, smooth: NDArray[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return a symmetric multigrid cycle that works on all columns of a block at once.

    pyamg makes the hierarchy (smoothed aggregation) for a matrix whose slowest vector is
    about ``smooth``; its own cycles take one column at a time, so the cycle is here: one
    weighted Jacobi step before and after each level.
    """
    pyamg = import_optional("pyamg", extra="ann", needed_by="solver 'amg'")
    hierarchy = pyamg.smoothed_aggregation_solver(
        sparse.csr_matrix(A), B=smooth[:, None], max_coarse=500
    )
    levels = hierarchy.levels
    # Two thirds damp the upper half of a Laplacian's spectrum best, which is what a smoother is
    # for.
    inverse = [(2.0 / 3.0) / level.A.diagonal()[:, None] for level in levels]
    # At most 500 rows, and perhaps singular where the slowest vector is nearly in the null space.
    coarsest = np.linalg.pinv(levels[-1].A.toarray(), hermitian=True)

    def cycle(R: NDArray[Any], depth: int = 0) -> NDArray[Any]:
        if depth == len(levels) - 1:
            return np.asarray(coarsest @ R)
        level = levels[depth]
        x = inverse[depth] * R
        x += level.P @ cycle(level.R @ (R - level.A @ x), depth + 1)
        x += inverse[depth] * (R - level.A @ x)
        return np.asarray(x)

    return cycle
