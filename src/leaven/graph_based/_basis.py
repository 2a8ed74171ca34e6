"""The smooth functions on a graph: its first eigenvectors, kept for the next fit."""

from __future__ import annotations

import hashlib
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaven.graph import Graph
from leaven.solvers import smallest_eigenpairs

LAPLACIANS = ("random-walk", "combinatorial")


# Root of the smallest degree, beside the mean one, that eigenvectors are divided by.
_THINNEST = 1e-6


@dataclass(frozen=True, eq=False)
class SpectralBasis:
    """Eigenvectors of a graph's Laplacian, from the second smallest eigenvalue up.

    Parameters
    ----------
    values : ndarray of shape (d,)
        Ascending; zero for what the components of the graph add to the constants.
    vectors : ndarray of shape (n_nodes, d)
        V with ``Vᵀ B V = I`` and ``Vᵀ B 1 = 0``. For the combinatorial Laplacian B is the
        identity; for the random walk it is the diagonal of the degrees, divided by their
        mean.
    residual : float
        Largest ``|L v - λ v|`` of the symmetric problem.
    method : str
        See :func:`leaven.solvers.smallest_eigenpairs`.
    converged : bool
    """

    values: NDArray[Any]
    vectors: NDArray[Any]
    residual: float
    method: str
    converged: bool


# Graphs are values: two fits on the same rows build equal graphs, so what is known of one
# holds for the other. An entry lives as long as a graph it was made for, or as long as an
# estimator that uses it.
_known: weakref.WeakValueDictionary[Any, SpectralBasis] = weakref.WeakValueDictionary()
_kept_for: dict[int, list[SpectralBasis]] = {}


def spectral_basis(
    graph: Graph, n_vectors: int, *, laplacian: str = "random-walk", tol: float = 1e-6
) -> SpectralBasis:
    """Compute the eigenvectors 2 to ``n_vectors + 1`` of the Laplacian, or recall them.

    Parameters
    ----------
    graph : Graph
    n_vectors : int
        At most ``graph.n_nodes - 1``. A graph of p components has p - 1 eigenvectors with
        eigenvalue zero beside the constant one; all of them are returned, even when that
        makes more than ``n_vectors``.
    laplacian : {"random-walk", "combinatorial"}, default="random-walk"
        ``D^{-1} (D - W)`` or ``D - W``.
    tol : float, default=1e-6
        See :func:`leaven.solvers.smallest_eigenpairs`.

    Returns
    -------
    SpectralBasis
        The same object for an equal graph and equal parameters, as long as one is in use.

    Examples
    --------
    >>> from leaven.graph import Graph
    >>> from leaven.graph_based._basis import spectral_basis
    >>> path = Graph.from_edges([(0, 1), (1, 2), (2, 3)])
    >>> spectral_basis(path, 2).values.round(6)
    array([0.5, 1.5])
    >>> spectral_basis(path, 2) is spectral_basis(path, 2)
    True
    """
    key = (_digest(graph), n_vectors, laplacian, tol)
    basis = _known.get(key)
    if basis is None:
        basis = _compute(graph, n_vectors, laplacian, tol)
        _known[key] = basis
    _keep(graph, basis)
    return basis


def _digest(graph: Graph) -> bytes:
    W = graph.adjacency
    digest = hashlib.blake2b(str((W.shape, W.dtype)).encode(), digest_size=16)
    for part in (W.indptr, W.indices, W.data):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.digest()


def _keep(graph: Graph, basis: SpectralBasis) -> None:
    key = id(graph)
    if key not in _kept_for:
        _kept_for[key] = []
        weakref.finalize(graph, _kept_for.pop, key, None)
    if not any(known is basis for known in _kept_for[key]):
        _kept_for[key].append(basis)


def _compute(graph: Graph, n_vectors: int, laplacian: str, tol: float) -> SpectralBasis:
    n, p = graph.n_nodes, graph.n_components
    if laplacian == "combinatorial":
        root: NDArray[Any] = np.ones(n)
        L = graph.laplacian()
    else:
        # D^{-1} (D - W) has the eigenvalues of the symmetric Laplacian, and its
        # eigenvectors divided by the root of the degree. A node without an edge is a
        # component of its own; it weighs as much as the mean node.
        degree = graph.degree.astype(np.float64)
        mean = degree.mean() or 1.0
        root = np.sqrt(np.where(degree > 0, degree, mean) / mean)
        L = graph.laplacian("symmetric")
    pairs = smallest_eigenpairs(
        L, max(n_vectors - (p - 1), 0), kernel=root, components=graph.components(), tol=tol
    )
    flat = _piecewise_constants(root**2, graph.components(), p)
    # The values at a node that hangs by a thread are bounded, so that they can be squared.
    by = np.maximum(root, _THINNEST)
    vectors = np.hstack([flat, pairs.vectors / by[:, None]]).astype(L.dtype, copy=False)
    vectors.flags.writeable = False
    values = np.concatenate([np.zeros(p - 1), pairs.values])
    return SpectralBasis(values, vectors, pairs.residual, pairs.method, pairs.converged)


def _piecewise_constants(
    mass: NDArray[Any], component: NDArray[Any], n_components: int
) -> NDArray[Any]:
    """Functions constant on components, orthonormal under ``mass`` and to the constant.

    The columns of a Householder reflection that sends the first unit vector to the root of
    the components' masses.
    """
    total = np.bincount(component, weights=mass, minlength=n_components)
    unit = np.sqrt(total / total.sum())
    mirror = unit.copy()
    mirror[0] += 1.0
    reflection = np.eye(n_components) - np.outer(mirror, mirror) / mirror[0]
    return np.asarray((reflection / np.sqrt(total)[:, None])[component, 1:])
