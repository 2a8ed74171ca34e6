"""Expected error of the harmonic function after one more label, by a rank-one update.

Giving node k the label c moves the harmonic function along one column of the inverse of the
Laplacian of the unlabeled nodes: ``f⁺ = f + (y_k - f_k) G_{·k} / G_kk`` with ``G = L_uu⁻¹``
(Zhu, Lafferty and Ghahramani 2003). One factorization serves all candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import splu
from scipy.special import entr
from sklearn.utils import gen_batches

from leaven._labels import UNLABELED
from leaven.graph import Graph
from leaven.graph_based import HarmonicClassifier
from leaven.solvers import solve_spd

Array = NDArray[np.float64]

# Up to so many unlabeled nodes the Laplacian is factorized as a dense matrix (32 MB).
DENSE_BELOW = 2_000

# Up to so many by sparse LU, whose fill-in is bounded by 8 u² bytes (3.2 GB), but is far less
# on neighbor graphs; beyond, by conjugate gradients.
SPARSE_BELOW = 20_000

# Numbers in one array of a block of candidates (1 MB).
_BLOCK = 2**17


def inverse_columns(A: sparse.csr_array) -> Callable[[NDArray[np.intp]], Array]:
    """Return a function that gives columns of the inverse of a sparse SPD matrix.

    Parameters
    ----------
    A : csr_array of shape (n, n)

    Returns
    -------
    columns : function from indices to an array of shape (n, n_indices)
    """
    n = A.shape[0]
    solve: Callable[[Array], Array]
    if n <= DENSE_BELOW:
        factor = cho_factor(A.toarray())

        def solve(B: Array) -> Array:
            return np.asarray(cho_solve(factor, B))
    elif n <= SPARSE_BELOW:
        solve = splu(A.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve
    else:

        def solve(B: Array) -> Array:
            return np.asarray(solve_spd(A, B, tol=1e-10).x)

    def columns(indices: NDArray[np.intp]) -> Array:
        B = np.zeros((n, len(indices)))
        B[indices, np.arange(len(indices))] = 1.0
        return solve(B)

    return columns


def losses_along(f: Array, f_own: Array, g: Array, loss: str) -> Array:
    """Return the loss of each row after one candidate got a label, for each class it may get.

    Class j goes to ``f_j - f_kj g``, and the class c of the label to ``f_c + (1 - f_kc) g``.

    Parameters
    ----------
    f : ndarray of shape (n_classes, n_rows)
    f_own : ndarray of shape (n_classes, n_candidates)
        The values at the candidates.
    g : ndarray of shape (n_candidates, n_rows)
        ``G_{·k} / G_kk``.
    loss : {"zero-one", "log"}

    Returns
    -------
    ndarray of shape (n_classes, n_candidates, n_rows)
    """
    without = np.clip(f[:, None, :] - f_own[:, :, None] * g, 0.0, 1.0)
    with_label = np.clip(without + g, 0.0, 1.0)
    if loss == "log":
        each = entr(without)
        return np.asarray(each.sum(axis=0) - each + entr(with_label))
    top = np.partition(without, len(f) - 2, axis=0)
    largest_other = np.where(without == top[-1], top[-2], top[-1])
    return np.asarray(1.0 - np.maximum(largest_other, with_label))


def uses_rank_one(estimator: Any, codes: NDArray[np.intp], rows: Any) -> bool:
    """Whether the update applies: harmonic functions with clamped labels and nothing else.

    Class mass normalization and external classifiers depend on all labels at once, and a graph
    that is built with the labels changes with them.
    """
    if type(estimator) is not HarmonicClassifier or rows is None:
        return False
    return (
        estimator.prior is None
        and estimator.external is None
        and estimator.label_noise == 0
        and not estimator.graph_builder_.uses_labels()
        and estimator.graph_.n_nodes == len(codes)
        and bool((codes != UNLABELED).any())
    )


def expected_losses(
    graph: Graph,
    f: Array,
    codes: NDArray[np.intp],
    P: Array,
    rows: NDArray[np.intp],
    candidates: NDArray[np.intp],
    loss: str,
) -> Array:
    """Return the expected mean loss over the other rows of the pool, for each candidate.

    Parameters
    ----------
    graph : Graph
    f : ndarray of shape (n_nodes, n_classes)
        The harmonic function.
    codes : ndarray of shape (n_nodes,)
    P : ndarray of shape (n_candidates, n_classes)
        The present class probabilities of the candidates.
    rows : ndarray of shape (n_pool,)
        The nodes of the pool, none of which has a label.
    candidates : ndarray of shape (n_candidates,)
        Places in the pool.
    loss : {"zero-one", "log"}

    Returns
    -------
    ndarray of shape (n_candidates,)

    Notes
    -----
    Nodes without a path to a label have the class proportions of the labels, which move with
    every label; if one of them is labeled, its component gets that class.
    """
    n_classes = f.shape[1]
    reached = graph.reached_from(codes != UNLABELED)
    inner = np.flatnonzero(reached & (codes == UNLABELED))
    place = np.full(graph.n_nodes, -1)
    place[inner] = np.arange(len(inner))
    in_reach = reached[rows]
    pool = place[rows[in_reach]]  # rows of the pool among the inner nodes
    f_pool = np.ascontiguousarray(f[rows[in_reach]].T)

    # Loss of one row that stays out of reach, when the label is c.
    counts = np.bincount(codes[codes != UNLABELED], minlength=n_classes) + np.eye(n_classes)
    shares = counts / counts.sum(axis=1, keepdims=True)
    lost = entr(shares).sum(axis=1) if loss == "log" else 1.0 - shares.max(axis=1)
    parts = graph.components()[rows]

    total = np.empty((len(candidates), n_classes))
    reachable = in_reach[candidates]
    near = np.flatnonzero(reachable)
    total[near] = (~in_reach).sum() * lost
    if len(near):
        columns = inverse_columns(_laplacian(graph, inner))
        size = max(1, _BLOCK // (n_classes * len(pool)))
        in_pool = np.flatnonzero(in_reach)
        for part in gen_batches(len(near), size):
            asked = candidates[near[part]]
            own = place[rows[asked]]
            G = columns(own)
            g = np.ascontiguousarray((G[pool] / G[own, np.arange(len(own))]).T)
            losses = losses_along(f_pool, np.ascontiguousarray(f[rows[asked]].T), g, loss)
            losses[:, np.arange(len(own)), np.searchsorted(in_pool, asked)] = 0.0
            total[near[part]] += losses.sum(axis=2).T
    if len(near) < len(candidates):
        now = np.clip(f_pool, 0.0, 1.0)
        base = entr(now).sum() if loss == "log" else (1.0 - now.max(axis=0)).sum()
        for i in np.flatnonzero(~reachable):
            elsewhere = (~in_reach & (parts != parts[candidates[i]])).sum()
            total[i] = base + elsewhere * lost
    return np.asarray((P * total).sum(axis=1) / max(len(rows) - 1, 1))


def _laplacian(graph: Graph, inner: NDArray[np.intp]) -> sparse.csr_array:
    return sparse.csr_array(graph.laplacian()[inner][:, inner], dtype=np.float64)
