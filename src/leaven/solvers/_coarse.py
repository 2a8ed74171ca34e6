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

# One aggregate for so many rows, and the most of them: the inverse is dense, and reading it costs
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
    mass = A.diagonal()
    entries = A.tocoo()
    off = entries.row != entries.col
    row, col, value = entries.row[off], entries.col[off], np.abs(entries.data[off])
    current, rounds = np.arange(A.shape[0]), []
    while len(mass) > n_wanted and len(row):
        first, second, strength = _strongest_edges(row, col, value, mass)
        n_left = len(mass) - len(first)
        if n_left > _LEAST_CONTRACTION * len(mass):
            break
        if n_left < n_wanted:
            chosen = np.argsort(-strength, kind="stable")[: len(mass) - n_wanted]
            first, second = first[chosen], second[chosen]
        joined = sparse.csr_array(
            (np.ones(len(first), dtype=np.int8), (first, second)), shape=(len(mass), len(mass))
        )
        n_parts, part = connected_components(joined, directed=False)
        current = part.astype(np.intp)[current]
        rounds.append(current)
        mass = np.bincount(part, weights=mass, minlength=n_parts)
        # Edges between the same parts are added up, those inside of one are gone.
        row, col = part[row], part[col]
        off = row != col
        summed = sparse.csr_array((value[off], (row[off], col[off])), shape=(n_parts, n_parts))
        entries = summed.tocoo()
        row, col, value = entries.row, entries.col, entries.data
    return rounds


def _strongest_edges(
    row: NDArray[Any], col: NDArray[Any], value: NDArray[Any], mass: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return ends and strength of the strongest edge of each node, every edge once.

    The entries are in the order of their rows. Ties go to the smallest edge by number, so that
    these edges form no cycle.
    """
    n = len(mass)
    strength = value / np.sqrt(mass[row]) / np.sqrt(mass[col])
    low, high = np.minimum(row, col).astype(np.int64), np.maximum(row, col).astype(np.int64)
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    largest = np.repeat(np.maximum.reduceat(strength, starts), np.diff(np.append(starts, len(row))))
    number = np.where(strength >= largest, low * n + high, np.iinfo(np.int64).max)
    edge, where = np.unique(np.minimum.reduceat(number, starts), return_index=True)
    return edge // n, edge % n, np.maximum.reduceat(strength, starts)[where]


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
    >>> space.deflated(P).round(3)
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
        self._single = S.astype(np.float32)
        self._SZ_single = self._SZ.astype(np.float32)
        self._Zt_single = self._Zt.astype(np.float32)

    def correct(self, x: NDArray[Any], R: NDArray[Any]) -> None:
        """Add the solution within the space to ``x`` and update the residual ``R``, in place."""
        z = self._inverse @ (self._Zt @ R)
        x += self._Z @ z
        R -= self._SZ @ z

    def deflated(self, P: NDArray[Any]) -> NDArray[Any]:
        """Return ``(S - S Z E⁻¹ Zᵀ S) P`` in single precision."""
        SP = self._single @ P
        z = self._inverse @ (self._Zt_single @ SP).astype(np.float64)
        SP -= self._SZ_single @ z.astype(np.float32)
        return np.asarray(SP)


def n_aggregates(n: int) -> int:
    """How many aggregates suit a system of ``n`` rows."""
    return min(n // _ROWS_PER_AGGREGATE, _MOST_AGGREGATES)
