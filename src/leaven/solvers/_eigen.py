"""The smallest eigenvalues of graph Laplacians, and their eigenvectors.

The small end of a Laplacian's spectrum is dense, and plain Lanczos iteration spends its time
on keeping hundreds of long vectors orthogonal. Here a block Krylov method works on a function
of the matrix that spreads that end: a Chebyshev polynomial, which costs products with the
matrix only, or the inverse, where a factorization is cheap (trees).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

METHODS = ("auto", "dense", "chebyshev", "inverse")

# Up to this many nodes LAPACK is fastest, and its answer is exact.
_DENSE_BELOW = 500

# With at most this many entries a row (a tree has three) a factorization does not fill in.
_TREE_LIKE = 4.0

# Columns multiplied at once; eigenvalues of a higher multiplicity need more iterations.
_BLOCK = 8

# Degree of the polynomial times the root of the wanted share of the spectrum: enough for
# about one pass through the basis on neighbor graphs of images; 1.2 and 3.2 are slower.
_STEEPNESS = 2.0

# Steps from a fresh random block after which no better vector is expected to turn up.
_CONFIRM = 4

# Smallest share of the spectrum that the polynomial is asked to tell from zero. With _STEEPNESS
# it bounds the degree, to 633.
_UNRESOLVED = 1e-5

# About a hundred units of rounding of float32 (6e-8), which is what sums over rows leave.
_SINGLE_TOL = 1e-5

# Rows that are copied to double precision at a time, instead of the whole block of vectors.
_CHUNK = 8192

logger = logging.getLogger("leaven")

Block = NDArray[Any]


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenvalues and eigenvectors, and how they were found.

    Parameters
    ----------
    values : ndarray of shape (k,)
        In ascending order.
    vectors : ndarray of shape (n, k)
        Orthonormal columns; the entry of largest magnitude is positive.
    residual : float
        The largest ``|L v - λ v|`` of a column.
    method : str
        ``"dense"``, ``"chebyshev"`` or ``"inverse"``.
    n_products : int
        How many vectors were multiplied by the matrix (or its inverse).
    converged : bool
    """

    values: NDArray[Any]
    vectors: NDArray[Any]
    residual: float
    method: str
    n_products: int
    converged: bool


def smallest_eigenpairs(
    laplacian: sparse.csr_array,
    k: int,
    *,
    kernel: NDArray[Any] | None = None,
    components: NDArray[Any] | None = None,
    method: str = "auto",
    tol: float = 1e-6,
    max_restarts: int = 100,
    seed: int = 0,
) -> Eigenpairs:
    """Find the ``k`` smallest *positive* eigenvalues of a Laplacian and their eigenvectors.

    The eigenvalue zero is left out: its eigenvectors are known, one a component.

    Parameters
    ----------
    laplacian : csr_array of shape (n, n)
        Symmetric and positive semidefinite, with one eigenvalue zero a component.
    k : int
        At most n minus the number of components.
    kernel : ndarray of shape (n,), optional
        A positive vector with ``L kernel = 0``: the ones (default) for ``D - W``, the
        square roots of the degrees for ``I - D^{-1/2} W D^{-1/2}``.
    components : int ndarray of shape (n,), optional
        The component of each node, numbered from 0; default one component.
    method : {"auto", "dense", "chebyshev", "inverse"}, default="auto"
        - ``"dense"``: LAPACK on the dense matrix;
        - ``"chebyshev"``: block Krylov iteration on a polynomial of the matrix;
        - ``"inverse"``: the same on its (pseudo-)inverse, from a sparse factorization;
        - ``"auto"``: dense up to 500 nodes (or when ``k`` is a large part of n), inverse
          for matrices as sparse as those of trees, otherwise chebyshev.
    tol : float, default=1e-6
        Largest relative residual of an eigenvector of the function of the matrix. The
        residual ``|L v - λ v|`` is then about ``tol`` times the norm of L or less, and an
        eigenvalue is wrong by its square over the distance to the rest of the spectrum.
        A matrix in single precision is good for 1e-5, which is then the smallest used.
    max_restarts : int, default=100
    seed : int, default=0
        Of the random start; the same seed gives the same vectors.

    Returns
    -------
    Eigenpairs

    Notes
    -----
    The polynomial is the Chebyshev polynomial that is at most 1 on ``[a, b]`` and grows
    steeply below, where b bounds the spectrum and about ``1.3 k`` eigenvalues are below a.
    Both are read off a few steps of Lanczos iteration from random starts (Lin, Saad and
    Yang, "Approximating spectral densities of large matrices", SIAM Review 2016). Values
    above 1 at the end prove that nothing from within ``[a, b]`` has slipped in; otherwise a
    was too small and is raised. See Zhou and Saad, "A Chebyshev-Davidson algorithm for
    large symmetric eigenproblems", SIAM J. Matrix Anal. Appl. 2007.

    Examples
    --------
    A path of four nodes has the eigenvalues ``2 - 2 cos(π j / 4)``:

    >>> import numpy as np
    >>> from scipy import sparse
    >>> from leaven.solvers import smallest_eigenpairs
    >>> L = sparse.csr_array([[1, -1, 0, 0], [-1, 2, -1, 0], [0, -1, 2, -1], [0, 0, -1, 1]])
    >>> smallest_eigenpairs(L, 2).values.round(6)
    array([0.585786, 2.      ])
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}.")
    dtype = np.float32 if laplacian.dtype == np.float32 else np.float64
    L = sparse.csr_array(laplacian, dtype=dtype)
    tol = max(tol, _SINGLE_TOL) if dtype == np.float32 else tol
    n = L.shape[0]
    null = _NullSpace(
        np.ones(n) if kernel is None else kernel,
        np.zeros(n, dtype=np.intp) if components is None else components,
        dtype,
    )
    most = n - null.n_components
    if not 0 <= k <= most:
        raise ValueError(
            f"{k} eigenvectors were asked for, but a graph of {n} nodes in {null.n_components} "
            f"components has {most} with a positive eigenvalue."
        )
    if method == "auto":
        method = _choose(L, k)
    if k == 0:
        return Eigenpairs(np.zeros(0), np.zeros((n, 0), dtype=dtype), 0.0, method, 0, True)
    if method == "dense":
        return _dense(L, k, null)
    # Neighbors in the graph become neighbors in memory: the products run a third faster.
    order = reverse_cuthill_mckee(L, symmetric_mode=True)
    A, null = sparse.csr_array(L[order][:, order]), null.permuted(order)
    rng = np.random.default_rng(seed)
    if method == "inverse":
        vectors, products, converged = _inverse(A, k, null, tol, max_restarts, rng)
    else:
        vectors, products, converged = _chebyshev(A, k, null, tol, max_restarts, rng)
    values, vectors, residual = _rayleigh_ritz(A, vectors)
    back = np.empty_like(vectors)
    back[order] = vectors
    return Eigenpairs(values, _fix_signs(back), residual, method, products, converged)


def _choose(L: sparse.csr_array, k: int) -> str:
    n = L.shape[0]
    # The basis of the iteration has more than 2 k vectors, which must be few among n.
    if n <= max(_DENSE_BELOW, 4 * (k + 2 * _BLOCK)):
        return "dense"
    return "inverse" if L.nnz <= _TREE_LIKE * n else "chebyshev"


class _NullSpace:
    """The known eigenvectors of the eigenvalue zero: the kernel, cut into components."""

    def __init__(self, kernel: NDArray[Any], components: NDArray[Any], dtype: Any) -> None:
        kernel = np.asarray(kernel, dtype=np.float64)
        self.components = np.asarray(components)
        self.n_components = int(self.components.max(initial=-1)) + 1
        size = np.sqrt(np.bincount(self.components, weights=kernel**2))
        self.unit = (kernel / size[self.components]).astype(dtype)
        rows = np.arange(len(kernel))
        shape = (len(kernel), self.n_components)
        self._columns = sparse.csr_array((self.unit, (rows, self.components)), shape=shape)
        self._rows = sparse.csr_array(self._columns.T)

    def permuted(self, order: NDArray[Any]) -> _NullSpace:
        return _NullSpace(self.unit[order], self.components[order], self.unit.dtype)

    def remove_from(self, X: Block) -> Block:
        """Make the columns of ``X`` orthogonal to the null space, in place."""
        if self.n_components == 1:
            X -= self.unit[:, None] * (self.unit @ X)
        else:
            X -= self._columns @ (self._rows @ X)
        return X

    def first_nodes(self) -> NDArray[Any]:
        return np.unique(self.components, return_index=True)[1]


def _dense(L: sparse.csr_array, k: int, null: _NullSpace) -> Eigenpairs:
    first = null.n_components
    A = L.toarray().astype(np.float64)
    # Lifted to the top of the spectrum, the null space cannot mix with small eigenvalues.
    top = 2.0 * np.abs(A).sum(axis=1).max() + 1.0
    for component in range(first):
        nodes = np.flatnonzero(null.components == component)
        unit = null.unit[nodes].astype(np.float64)
        A[np.ix_(nodes, nodes)] += top * np.outer(unit, unit)
    values, vectors = linalg.eigh(A, subset_by_index=[0, k - 1])
    # Rounding may leave -1e-17 where the matrix is positive semidefinite.
    values = np.maximum(values, 0.0)
    residual = float(np.linalg.norm(A @ vectors - vectors * values, axis=0).max())
    vectors = _fix_signs(vectors.astype(L.dtype, copy=False))
    return Eigenpairs(values, vectors, residual, "dense", L.shape[0], True)


def _inverse(
    A: sparse.csr_array,
    k: int,
    null: _NullSpace,
    tol: float,
    max_restarts: int,
    rng: np.random.Generator,
) -> tuple[Block, int, bool]:
    # L is singular, but some weight on one node of each component makes it definite. A right
    # side orthogonal to the null space leaves that node at zero: the solution is exact.
    ground = np.zeros(A.shape[0])
    first = null.first_nodes()
    ground[first] = A.diagonal()[first]
    # As much as the node has, so that the matrix stays as well scaled as it was; a node without
    # edges has nothing, and gets one.
    ground[ground < 0] = 0.0
    ground[first] += ground[first] == 0
    grounded = sparse.csc_array(A.astype(np.float64) + sparse.diags_array(ground))
    lu = splu(grounded, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})

    def apply(X: Block) -> Block:
        return null.remove_from(lu.solve(X))

    _, V, products, converged = _block_krylov(
        apply, k, null, tol, max_restarts, rng, dtype=np.dtype(np.float64)
    )
    return V, products, converged


def _chebyshev(
    A: sparse.csr_array,
    k: int,
    null: _NullSpace,
    tol: float,
    max_restarts: int,
    rng: np.random.Generator,
) -> tuple[Block, int, bool]:
    n = A.shape[0]
    nodes, counts, upper = _spectral_counts(A, null, rng)
    products = 0
    # A third more than asked for: the estimate of the counts is rough, and a cut that is too low
    # costs another run while one that is too high costs a few more products.
    wanted = min(1.3 * k + 4, n - null.n_components - 1)
    while True:
        enough = (counts >= wanted) & (nodes >= _UNRESOLVED * upper)
        lower = min(float(nodes[enough].min(initial=upper)), 0.9 * upper)
        degree = max(4, int(np.ceil(_STEEPNESS / np.sqrt(lower / upper))))
        logger.info("eigenvectors: Chebyshev filter of degree %d up to %.3g", degree, lower)
        apply = _filter(A, degree, lower, upper, null)
        # A value of at most 1 may belong to any eigenvalue above the cut.
        least = 1.0 if lower < 0.9 * upper else -np.inf
        theta, V, count, converged = _block_krylov(
            apply, k, null, tol, max_restarts, rng, dtype=A.dtype, least=least
        )
        products += count * degree
        if theta.min() > least:
            return V, products, converged
        # Some values did not rise above the cut: it was below the k-th eigenvalue. Start again
        # higher.
        wanted *= 1.5


def _filter(
    A: sparse.csr_array, degree: int, lower: float, upper: float, null: _NullSpace
) -> Callable[[Block], Block]:
    """Return ``X -> ± T_degree((2 A - (upper + lower) I) / (upper - lower)) X``."""
    center, half = (upper + lower) / 2.0, (upper - lower) / 2.0
    shift = sparse.diags_array(np.full(A.shape[0], center, dtype=A.dtype), format="csr")
    twice = sparse.csr_array((A - shift) * A.dtype.type(2.0 / half))
    # Below the interval an odd polynomial is negative; turned over, large values are wanted ones.
    sign = -1.0 if degree % 2 else 1.0

    def apply(X: Block) -> Block:
        # The recurrence T_{j+1} = 2 t T_j - T_{j-1}, with the 2 in the matrix once and for all.
        before, Y = X, twice @ X
        Y *= 0.5
        for _ in range(degree - 1):
            after = twice @ Y
            after -= before
            before, Y = Y, after
        if sign < 0:
            np.negative(Y, out=Y)
        return null.remove_from(Y)

    return apply


def _spectral_counts(
    A: sparse.csr_array,
    null: _NullSpace,
    rng: np.random.Generator,
    *,
    n_starts: int = 3,
    n_steps: int = 30,
) -> tuple[NDArray[Any], NDArray[Any], float]:
    """Estimate how many eigenvalues lie below each of some nodes, and bound the largest.

    Each of ``n_starts`` Lanczos recurrences from a random vector is a quadrature rule for
    the spectral density; they run side by side, without reorthogonalization.
    """
    n = A.shape[0]
    Q = null.remove_from(rng.standard_normal((n, n_starts)).astype(A.dtype))
    Q /= np.linalg.norm(Q, axis=0)
    before, beta = np.zeros_like(Q), np.zeros(n_starts, dtype=A.dtype)
    diagonal, off = [], []
    for _ in range(min(n_steps, n - null.n_components)):
        Z = null.remove_from(A @ Q)
        Z -= before * beta
        alpha = np.einsum("ij,ij->j", Q, Z)
        Z -= Q * alpha
        beta = np.linalg.norm(Z, axis=0).astype(A.dtype)
        diagonal.append(alpha)
        off.append(beta)
        if (beta < 1e-6 * np.abs(alpha)).any():
            break  # an invariant space: the rule is exact
        before, Q = Q, Z / beta
    d, e = np.array(diagonal, dtype=np.float64), np.array(off, dtype=np.float64)
    nodes, weights, upper = [], [], 0.0
    for start in range(n_starts):
        theta, U = linalg.eigh_tridiagonal(d[:, start], e[:-1, start])
        nodes.append(theta)
        weights.append(U[0] ** 2)
        upper = max(upper, theta[-1] + e[-1, start] * abs(U[-1, -1]))
    theta, share = np.concatenate(nodes), np.concatenate(weights) / n_starts
    order = np.argsort(theta)
    limit = float(abs(A).sum(axis=1).max())
    # An eigenvalue above the bound would be blown up by the filter: leave some room.
    return theta[order], np.cumsum(share[order]) * n, min(1.01 * upper, 1.0001 * limit)


def _block_krylov(
    apply: Callable[[Block], Block],
    k: int,
    null: _NullSpace,
    tol: float,
    max_restarts: int,
    rng: np.random.Generator,
    *,
    dtype: np.dtype[Any],
    least: float = -np.inf,
) -> tuple[NDArray[Any], Block, int, bool]:
    """Find the ``k`` largest eigenpairs of a symmetric operator by block Krylov iteration.

    The basis is fully orthogonal. When it is full, it is replaced by its best vectors
    (thick restart) and grows again, unless some of the best are not above ``least``.

    A Krylov space from a block of 8 sees only 8 vectors of an eigenspace of larger dimension,
    and nearly separate clusters make such spaces. So after convergence a fresh random block
    has to confirm that nothing was missed; it is twice as wide each time that something was.
    """
    n = len(null.unit)
    room = n - null.n_components
    # Twice the vectors asked for, so that a restart keeps k and has as many to grow into.
    size = min(2 * k + 10 * _BLOCK, room)
    width = min(_BLOCK, room)
    Q = np.empty((n, size), dtype=dtype, order="F")
    H = np.zeros((size, size))
    done = dim = products = restarts = steps = 0
    new, clean = _random_block(width, null, rng, dtype), False
    found: NDArray[Any] | None = None
    while True:
        if not clean:
            new -= Q[:, :dim] @ (Q[:, :dim].T @ new)
            new = _orthonormal(null.remove_from(new))[0]
        done, dim = dim, dim + new.shape[1]
        Q[:, done:dim] = new
        W = apply(np.ascontiguousarray(Q[:, done:dim])).astype(dtype, copy=False)
        products, steps = products + dim - done, steps + 1
        # Twice is enough (Kahan; Parlett, 1998): once leaves what cancellation hid.
        for _ in range(2):
            C = Q[:, :dim].T @ W
            W -= Q[:, :dim] @ C
            H[:dim, done:dim] += C
        H[done:dim, :dim] = H[:dim, done:dim].T
        before = np.linalg.norm(H[:dim, done:dim], axis=0)
        new, R = _orthonormal(W)
        # In an invariant space W is rounding error: it must be made orthogonal again.
        clean = bool((np.abs(np.diag(R)) > 1e-3 * before).all())
        theta, U = np.linalg.eigh(H[:dim, :dim])
        best = slice(max(dim - k, 0), dim)
        error = np.linalg.norm(R @ U[done:dim, best], axis=0)
        converged = dim >= k and bool((error <= tol * np.abs(theta[best])).all())
        full = dim + new.shape[1] > size
        given_up = full and (restarts == max_restarts or theta[best][0] <= least)
        # Of two equal sets of values the one from a fresh block adds nothing. All are compared:
        # new copies of a large value push out small ones that have copies of their own.
        rise = np.inf if found is None else (theta[best] - found) / np.abs(found)
        confirmed = converged and bool(np.max(rise) <= 10.0 * tol)
        if (confirmed and steps >= _CONFIRM) or dim == room or given_up:
            return theta[best], Q[:, :dim] @ U[:, best].astype(dtype), products, converged
        fresh = converged and not confirmed
        if fresh:
            width = min(width if found is None else 2 * width, max((size - k) // 2, 1))
            new, clean = _random_block(width, null, rng, dtype), False
            found, steps = theta[best], 0
        if fresh or full:
            # Only what has converged can do without its residual, which ``new`` replaces.
            keep = k if fresh else min(k + (size - k) // 3, size - new.shape[1])
            Q[:, :keep] = Q[:, :dim] @ U[:, -keep:].astype(dtype)
            H[:] = 0.0
            H[:keep, :keep] = np.diag(theta[-keep:])
            dim, restarts = keep, restarts + 1


def _random_block(width: int, null: _NullSpace, rng: np.random.Generator, dtype: Any) -> Block:
    return null.remove_from(rng.standard_normal((len(null.unit), width)).astype(dtype))


def _orthonormal(X: Block) -> tuple[Block, NDArray[Any]]:
    """Return Q and R of ``X = Q R``, as a QR factorization does, but by a few products.

    Cholesky factorization of ``XᵀX`` loses half of the digits; a second one on the result
    brings them back. Columns that are nearly dependent are left to Householder's method.
    """
    Q, R = X, np.eye(X.shape[1])
    for _ in range(2):
        gram = (Q.T @ Q).astype(np.float64)
        size = np.sqrt(np.diag(gram))
        if not (size > 0).all():
            return np.linalg.qr(X)
        gram /= np.outer(size, size)
        if np.linalg.eigvalsh(gram)[0] < 1e3 * np.finfo(X.dtype).eps:
            return np.linalg.qr(X)
        upper = np.linalg.cholesky(gram).T * size
        Q = Q @ np.linalg.inv(upper).astype(X.dtype)
        R = upper @ R
    return Q, R


def _rayleigh_ritz(A: sparse.csr_array, V: Block) -> tuple[NDArray[Any], Block, float]:
    """Make orthonormal ``V`` the best approximate eigenvectors within its span."""
    V = _orthonormal(V)[0].astype(A.dtype, copy=False)
    AV = A @ V
    H = np.zeros((V.shape[1], V.shape[1]))
    for rows in range(0, len(V), _CHUNK):  # sums in double precision, whatever V is in
        part = slice(rows, rows + _CHUNK)
        H += V[part].T.astype(np.float64) @ AV[part].astype(np.float64)
    values, U = np.linalg.eigh((H + H.T) / 2.0)
    U = U.astype(V.dtype)
    V, AV = V @ U, AV @ U
    AV -= V * values.astype(V.dtype)
    return values, V, float(np.sqrt(np.einsum("ij,ij->j", AV, AV)).max())


def _fix_signs(V: Block) -> Block:
    largest = np.abs(V).argmax(axis=0)
    return np.asarray(
        V * np.where(V[largest, np.arange(V.shape[1])] < 0, -1.0, 1.0).astype(V.dtype)
    )
