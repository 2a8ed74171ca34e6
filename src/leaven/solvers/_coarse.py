"""A coarse space for conjugate gradients: functions that are constant on parts of a graph.

The slowest directions of a Laplacian are nearly constant on clusters of nodes. Aggregation of
the strongest edges finds such clusters, and the system restricted to them is small and dense: it
is inverted once, and the iterations run in what is left. On 250,000 rows in 400 clusters this takes
the iterations from 120 to 380 down to 28 to 37 (benchmarks/graph_based.py solves).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from leaven.solvers._products import add_product

# Rows per aggregate, and the most aggregates: the inverse is dense, and reading it costs
# 8 MB a step. Fewer than there are clusters (165 for 400) hardly save steps.
_ROWS_PER_AGGREGATE, _MOST_AGGREGATES = 100, 1_000

# A round that leaves more than this share of the nodes has met a graph of stars; stop there.
_LEAST_CONTRACTION = 0.95


def aggregate(A: sparse.csr_array, n_wanted: int) -> list[NDArray[np.intp]]:
    """Contract the strongest edges of a symmetric matrix until few nodes are left.

    In a round every node joins the neighbor to which ``|a_ij| / sqrt(m_i m_j)`` is largest, where
    the masses m are the diagonal of A, summed over what was contracted before. The last round
    contracts the strongest of these edges only, so that the wanted number remains.

    Parameters
    ----------
    A : csr_array of shape (n, n)
        Symmetric, with a positive diagonal.
    n_wanted : int

    Returns
    -------
    list of integer ndarray of shape (n,)
        The number of each row's aggregate after each round; those of a round lie within those of
        the next. Empty if there is nothing to contract. More than ``n_wanted`` remain where the
        matrix falls into more pieces.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from leaven.solvers._coarse import aggregate
    >>> edges = np.diag([2.0, 1.0, 2.0], 1)
    >>> aggregate(sparse.csr_array(np.diag([3.0, 4.0, 4.0, 3.0]) - edges - edges.T), 2)
    [array([0, 0, 1, 1])]
    """
    return _contract(_without_diagonal(A), A.diagonal(), n_wanted)[0]


def _contract(
    W: sparse.csr_array, mass: NDArray[Any], n_wanted: int
) -> tuple[list[NDArray[np.intp]], sparse.csr_array, NDArray[Any]]:
    """Return the rounds, and the edges and masses that are left after the last."""
    current, rounds = np.arange(len(mass)), []
    while len(mass) > n_wanted and W.nnz:
        first, second, strength = _strongest_edges(W, mass)
        n_left = len(mass) - len(first)
        if n_left > _LEAST_CONTRACTION * len(mass):
            break
        if n_left < n_wanted:
            chosen = np.argsort(-strength, kind="stable")[: len(mass) - n_wanted]
            first, second = first[chosen], second[chosen]
        joined = sparse.csr_array(
            (np.ones(len(first), dtype=np.int8), (first, second)), shape=W.shape
        )
        n_parts, part = connected_components(joined, directed=False)
        current = part.astype(np.intp)[current]
        rounds.append(current)
        mass = np.bincount(part, weights=mass, minlength=n_parts)
        # Edges between the same parts are added up, those inside of one are gone.
        row, col = np.repeat(part, np.diff(W.indptr)), part[W.indices]
        off = row != col
        W = sparse.csr_array((W.data[off], (row[off], col[off])), shape=(n_parts, n_parts))
    return rounds, W, mass


def aggregate_in_order(
    A: sparse.csr_array, n_wanted: int
) -> tuple[NDArray[np.intp] | None, NDArray[np.intp]]:
    """Return the aggregate of each row, None if there are none, and an order of the rows.

    Neighbors in the graph are near each other in the order: contraction goes on from the
    aggregates until one is left, and the parts of every aggregate are next to each other. At
    500,000 rows in 400 clusters a product takes 33 ms instead of 45 in the order of the 1,000
    aggregates, and 163 in no order.

    Parameters
    ----------
    A : csr_array of shape (n, n)
        Symmetric, with a positive diagonal.
    n_wanted : int

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from leaven.solvers._coarse import aggregate_in_order
    >>> W = np.zeros((4, 4))
    >>> W[0, 2] = W[1, 3] = 2.0
    >>> W[2, 3] = 1.0
    >>> W += W.T
    >>> aggregate_in_order(sparse.csr_array(np.diag(W.sum(axis=0) + 0.1) - W), 2)
    (array([0, 1, 0, 1]), array([0, 2, 1, 3]))
    """
    rounds, W, mass = _contract(_without_diagonal(A), A.diagonal(), n_wanted)
    if not rounds:
        return None, np.arange(A.shape[0])
    further = _contract(W, mass, 1)[0]
    part = rounds[-1]
    return part, locality_order([*rounds, *(each[part] for each in further)])


def _without_diagonal(A: sparse.csr_array) -> sparse.csr_array:
    """Return the absolute values of A off its diagonal."""
    row = np.repeat(np.arange(A.shape[0], dtype=A.indices.dtype), np.diff(A.indptr))
    off = row != A.indices
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row[off], minlength=A.shape[0]))])
    return sparse.csr_array((np.abs(A.data[off]), A.indices[off], indptr), shape=A.shape)


def _strongest_edges(
    W: sparse.csr_array, mass: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return ends and strength of the strongest edge of each node, every edge once.

    Ties go to the smallest edge by number, so that these edges form no cycle.
    """
    n = len(mass)
    counts, root = np.diff(W.indptr), np.sqrt(mass)
    nodes = np.flatnonzero(counts)
    # Divided one by one: the product of two masses may leave the range of numbers.
    strength = W.data / np.repeat(root, counts)
    strength /= root[W.indices]
    largest = np.maximum.reduceat(strength, W.indptr[nodes])
    tied = np.flatnonzero(strength >= np.repeat(largest, counts[nodes]))
    # The node of an entry is the last one that starts at or before it.
    node = np.searchsorted(W.indptr[nodes], tied, side="right") - 1
    row, col = nodes[node], W.indices[tied].astype(np.int64)
    number = np.minimum(row, col) * n + np.maximum(row, col)
    smallest = np.minimum.reduceat(number, np.searchsorted(node, np.arange(len(nodes))))
    edge, where = np.unique(smallest, return_index=True)
    return edge // n, edge % n, largest[where]


def locality_order(rounds: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    """Order the rows such that those of an aggregate of any round are next to each other."""
    return np.lexsort(rounds)


class CoarseSpace:
    r"""What conjugate gradients leave to a small dense system.

    With an orthonormal basis Z of the coarse space and ``E = ZᵀSZ``, the error within it is
    removed by ``Z E⁻¹ Zᵀ`` applied to the residual, and the iterations run on

    .. math:: S - S Z E^{-1} Z^T S ,

    which is zero on the coarse space and no worse conditioned than S on the rest (deflation:
    Nicolaides, 1987).

    Parameters
    ----------
    S : csr_array of shape (n, n)
        Symmetric positive definite with a unit diagonal.
    smooth : ndarray of shape (n,)
        The vector whose parts span the space: the slowest direction of S, about.
    part : integer ndarray of shape (n,)
        The aggregate of each row.

    Raises
    ------
    numpy.linalg.LinAlgError
        If S is not positive definite on the coarse space, to working precision.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from leaven.solvers._coarse import CoarseSpace
    >>> S = sparse.csr_array([[1.0, -0.5], [-0.5, 1.0]])
    >>> space = CoarseSpace(S, np.ones(2), np.zeros(2, dtype=int))
    >>> P = np.array([[3.0, 1.0], [1.0, -1.0]], dtype=np.float32)
    >>> out = np.empty_like(P)
    >>> space.deflated(P, out)
    >>> out.round(3)
    array([[ 1.5,  1.5],
           [-1.5, -1.5]], dtype=float32)
    """

    def __init__(self, S: sparse.csr_array, smooth: NDArray[Any], part: NDArray[np.intp]) -> None:
        n = S.shape[0]
        sizes = np.bincount(part)
        # Where the graph falls into too many pieces the largest ones are worth most.
        kept = np.sort(np.argsort(-sizes, kind="stable")[:_MOST_AGGREGATES])
        column = np.full(len(sizes), -1)
        column[kept] = np.arange(len(kept))
        column = column[part]
        inside = np.flatnonzero(column >= 0)
        # Scaled first, since squares of what is tiny or huge leave the range of numbers.
        values = smooth[inside] / np.abs(smooth[inside]).max()
        length = np.sqrt(np.bincount(column[inside], weights=values**2, minlength=len(kept)))
        values = values / length[column[inside]]
        self._Z = sparse.csr_array((values, (inside, column[inside])), shape=(n, len(kept)))
        self._SZ = sparse.csr_array(S @ self._Z)
        self._Zt = sparse.csr_array(self._Z.T)
        E = (self._Zt @ self._SZ).toarray()
        # Also tells whether E is positive definite, which an inverse does not.
        half = np.linalg.inv(np.linalg.cholesky((E + E.T) / 2))
        self._inverse = half.T @ half
        # The iterations are in single precision, but for the inverse: near a singular system its
        # largest entries would leave no digits of the others.
        off = S - sparse.diags_array(S.diagonal(), format="csr")
        self._off_diagonal = sparse.csr_array(off, dtype=np.float32)
        self._off_diagonal.eliminate_zeros()
        self._SZ_single = self._SZ.astype(np.float32)
        self._Zt_single = self._Zt.astype(np.float32)

    def correct(self, x: NDArray[Any], R: NDArray[Any]) -> None:
        """Add the solution within the space to ``x`` and update the residual ``R``, in place."""
        z = self._inverse @ (self._Zt @ R)
        x += self._Z @ z
        R -= self._SZ @ z

    def deflated(self, P: NDArray[Any], out: NDArray[Any]) -> None:
        """Write ``(S - S Z E⁻¹ Zᵀ S) P`` into ``out``, in single precision."""
        # The diagonal is one: copying P is cheaper than multiplying by it.
        np.copyto(out, P)
        add_product(self._off_diagonal, P, out)
        z = self._inverse @ (self._Zt_single @ out).astype(np.float64)
        add_product(self._SZ_single, np.negative(z).astype(np.float32), out)


def n_aggregates(n: int) -> int:
    """How many aggregates suit a system of ``n`` rows."""
    return min(n // _ROWS_PER_AGGREGATE, _MOST_AGGREGATES)
