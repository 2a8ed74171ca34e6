"""Block conjugate gradients in single precision, with refinement in double precision."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaven.solvers._coarse import CoarseSpace
from leaven.solvers._kernels import compiled
from leaven.solvers._products import multiply

# Writes the product of the matrix with its first argument into the second.
Product = Callable[[NDArray[Any], NDArray[Any]], None]

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


def block_conjugate_gradients(
    A: sparse.csr_array,
    B: NDArray[Any],
    x: NDArray[Any],
    tol: float,
    max_iter: int,
    *,
    give_up: bool,
    coarse: CoarseSpace | None = None,
) -> tuple[int, bool]:
    """Improve ``x`` in place; return the iterations and whether they were given up as too many.

    The blocks follow Dubrulle (2001), "Retooling the method of block conjugate gradients":
    the residual is kept as ``Q C`` with orthonormal ``Q``, so that nearly dependent columns
    do no harm and the columns of ``C`` have the lengths of the residuals. They run in single
    precision, which halves the memory that every step moves, for a correction of ``x``; the
    residual is computed in double precision, and a few corrections reach any tolerance.
    With a coarse space the steps leave to it what lies within.
    """
    product = partial(multiply, A.astype(np.float32)) if coarse is None else coarse.deflated
    most = 0
    for start in range(0, B.shape[1], _BLOCK):
        columns = slice(start, start + _BLOCK)
        n_iter, too_slow = _refine_block(
            A, product, B[:, columns], x[:, columns], tol, max_iter, give_up, coarse
        )
        most = max(most, n_iter)
        if too_slow:
            return most, True
    return most, False


def _refine_block(
    A: sparse.csr_array,
    product: Product,
    B: NDArray[Any],
    x: NDArray[Any],
    tol: float,
    max_iter: int,
    give_up: bool,
    coarse: CoarseSpace | None,
) -> tuple[int, bool]:
    size = _lengths(B)
    # A column of zeros has the solution zero; its residual is compared with tol itself.
    limit = tol * np.where(size == 0, 1.0, size)
    n_iter, before, R = 0, np.inf, np.empty(B.shape)
    while n_iter < max_iter:
        multiply(A, x, R)
        np.subtract(B, R, out=R)
        length = _lengths(R)
        if coarse is not None and (length > limit).any():
            # Also after the last correction: the steps do not see what they leave in the space.
            coarse.correct(x, R)
            length = _lengths(R)
        far = float(np.max(length / limit))
        # Corrections that no longer help are left to the caller, who goes on column by column.
        if far <= 1.0 or far > 0.5 * before:
            break
        before = far
        safe = np.where(length == 0, 1.0, length)
        # A little below the limit, for the rounding of the correction.
        R /= safe
        correction, steps, too_slow = _one_block(
            product,
            R,
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


def _lengths(V: NDArray[Any]) -> NDArray[Any]:
    """Return the lengths of the columns, without the temporary that ``norm`` makes."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", V, V)))


def _one_block(
    product: Product,
    unit: NDArray[Any],
    limit: NDArray[Any],
    wanted: float,
    max_iter: int,
    give_up: bool,
    dtype: Any = np.float32,
) -> tuple[NDArray[Any], int, bool]:
    """Solve for columns of unit length until their residuals are below ``limit``.

    ``wanted`` is the factor by which the residuals must fall in the end, from which the speed
    is judged.
    """
    x = np.zeros(unit.shape, dtype=dtype)
    values, vectors = np.linalg.eigh(unit.T @ unit)
    kept = values > _DEPENDENT * values[-1]
    if not kept.any():
        return x, 0, False
    root = np.sqrt(values[kept])
    Q = (unit @ (vectors[:, kept] / root)).astype(dtype)
    C = root[:, None] * vectors[:, kept].T
    P, AP = Q.copy(), np.empty_like(Q)
    noise = 100.0 * np.finfo(dtype).eps
    work = _Workspace(len(unit), Q.shape[1], unit.shape[1], dtype)
    for iteration in range(1, max_iter + 1):
        product(P, AP)
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
    goes into getting that memory; here every array is read and written once in place. Large
    blocks in single precision are worked on by compiled functions, if numba is installed.
    """

    def __init__(self, n: int, n_directions: int, n_columns: int, dtype: Any) -> None:
        self._kernels = compiled(n, n_columns) if dtype == np.float32 else None
        self._widths = (0,) * n_directions, (0,) * n_columns
        self._part = np.empty((n_directions, n_directions), dtype=np.float32)
        self._chunks = [slice(start, min(start + _ROWS, n)) for start in range(0, n, _ROWS)]
        self._directions = np.empty((_ROWS, n_directions), dtype=dtype)
        self._columns = np.empty((_ROWS, n_columns), dtype=dtype)

    def products(self, P: NDArray[Any], Q: NDArray[Any]) -> NDArray[Any]:
        """Return ``PᵀQ``, the chunks summed in double precision."""
        total = np.zeros((P.shape[1], Q.shape[1]))
        if self._kernels is not None:
            self._kernels.add_outer(self._widths[0], P, Q, self._part, total)
            return total
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
        step, weights = step.astype(R.dtype, order="C"), weights.astype(R.dtype, order="C")
        if self._kernels is not None:
            self._kernels.advance(*self._widths, x, R, P, AP, -step, weights, self._part, gram)
            return gram
        for rows in self._chunks:
            m = rows.stop - rows.start
            x[rows] += np.matmul(P[rows], weights, out=self._columns[:m])
            part = R[rows]
            part -= np.matmul(AP[rows], step, out=self._directions[:m])
            gram += part.T @ part
        return gram

    def turn(self, R: NDArray[Any], P: NDArray[Any], S: NDArray[Any]) -> None:
        """Make R orthonormal, ``R S⁻¹``, and P the next directions, ``R S⁻¹ + P Sᵀ``."""
        inverse = np.linalg.inv(S).astype(R.dtype, order="C")
        transposed = np.ascontiguousarray(S.T, dtype=R.dtype)
        if self._kernels is not None:
            self._kernels.turn(self._widths[0], R, P, inverse, transposed)
            return
        for rows in self._chunks:
            m = rows.stop - rows.start
            R[rows] = np.matmul(R[rows], inverse, out=self._directions[:m])
            np.matmul(P[rows], transposed, out=self._directions[:m])
            np.add(R[rows], self._directions[:m], out=P[rows])
