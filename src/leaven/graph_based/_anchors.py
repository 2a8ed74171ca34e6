"""Anchor graphs: partial statistics per block of rows, merged, solved, and applied.

Every function here takes arrays of one block of rows, so that a table that does not fit into
memory is worked through block by block (Liu, He and Chang, 2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csgraph
from sklearn.neighbors import NearestNeighbors

from leaven._labels import UNLABELED, one_hot
from leaven.base import normalize_rows
from leaven.graph_based._simplex import project_to_simplex
from leaven.solvers import solve_spd

FORMS = ("harmonic", "consistency", "poisson", "regularized")

_EMBEDDING_STEPS = 50  # accelerated steps of a problem in `n_neighbors` unknowns; 20 suffice
# Relative to the mean diagonal: the reduced Laplacian is singular where anchors outnumber the
# distinct rows, and the answer does not depend on what is added there.
_RIDGE = 1e-10


def kernel_weights(distances: NDArray[Any]) -> NDArray[np.float64]:
    """Gaussian weights of the nearest anchors, with the farthest of them as the unit of length.

    Parameters
    ----------
    distances : ndarray of shape (n_rows, n_neighbors)
        Ascending.

    Returns
    -------
    ndarray of shape (n_rows, n_neighbors)
        Rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._anchors import kernel_weights
    >>> kernel_weights(np.array([[0.0, 2.0], [1.0, 1.0]])).round(3)
    array([[0.982, 0.018],
           [0.5  , 0.5  ]])
    """
    unit = distances[:, -1:]
    # A factor of four takes the weight of the farthest anchor to 2% of that of a row itself.
    ratio = np.where(unit > 0, distances / np.where(unit > 0, unit, 1.0), 0.0)
    weights = np.exp(-4.0 * ratio**2)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)


def embedding_weights(
    X: NDArray[Any], anchors: NDArray[Any], index: NDArray[np.intp]
) -> NDArray[np.float64]:
    r"""Local anchor embedding: the convex combination of the anchors next to the row.

    Minimizes ``|x - Σ_k z_k u_k|²`` over the simplex by accelerated projected gradient steps,
    for all rows at once (equation 9 of the paper).

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    anchors : ndarray of shape (n_anchors, n_features)
    index : ndarray of shape (n_rows, n_neighbors)
        The anchors of each row.

    Returns
    -------
    ndarray of shape (n_rows, n_neighbors)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._anchors import embedding_weights
    >>> anchors = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    >>> embedding_weights(np.array([[1.0, 2.0]]), anchors, np.array([[0, 1, 2]])).round(3)
    array([[0.25, 0.25, 0.5 ]])
    """
    near = np.asarray(anchors, dtype=np.float64)[index] - np.asarray(X, np.float64)[:, None, :]
    # The weights sum to one, so that |x - Σ z u|² = zᵀ G z with the anchors seen from x.
    G = near @ near.transpose(0, 2, 1)
    rate = 1.0 / np.maximum(np.trace(G, axis1=1, axis2=2), np.finfo(float).tiny)[:, None]
    # The middle of the simplex, whose projection is never far.
    z = np.full(index.shape, 1.0 / index.shape[1])
    ahead, t = z, 1.0
    for _ in range(_EMBEDDING_STEPS):
        new = project_to_simplex(ahead - rate * (G @ ahead[:, :, None])[:, :, 0])
        # Nesterov's momentum: plain gradient steps are slow where anchors are nearly collinear.
        t_new = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
        ahead = new + (t - 1.0) / t_new * (new - z)
        z, t = new, t_new
    return z


def anchor_weights(
    X: NDArray[Any], anchors: NDArray[Any], *, n_neighbors: int = 5, weight: str = "kernel"
) -> sparse.csr_array:
    """Z: the weights that tie each row of a block to its nearest anchors.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    anchors : ndarray of shape (n_anchors, n_features)
    n_neighbors : int, default=5
    weight : {"kernel", "embedding"}, default="kernel"

    Returns
    -------
    csr_array of shape (n_rows, n_anchors)
        Rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based import anchor_weights
    >>> anchors = np.array([[0.0], [4.0], [9.0]])
    >>> Z = anchor_weights(np.array([[1.0]]), anchors, n_neighbors=2, weight="embedding")
    >>> Z.toarray().round(3)
    array([[0.75, 0.25, 0.  ]])
    """
    s = min(n_neighbors, len(anchors))
    distance, index = NearestNeighbors(n_neighbors=s).fit(anchors).kneighbors(X)
    if weight == "embedding":
        z = embedding_weights(X, anchors, index)
    else:
        z = kernel_weights(distance)
    pointer = np.arange(0, index.size + 1, s)
    return sparse.csr_array((z.ravel(), index.ravel(), pointer), shape=(len(X), len(anchors)))


@dataclass(frozen=True)
class AnchorStatistics:
    """What a block of rows says about the anchors; blocks add up.

    Parameters
    ----------
    gram : csr_array of shape (n_anchors, n_anchors)
        ``ZᵀZ`` of the unlabeled rows.
    mass : ndarray of shape (n_anchors,)
        ``Zᵀ1`` of the unlabeled rows.
    n_unlabeled : int
    labeled : csr_array of shape (n_labeled, n_anchors)
        Z of the labeled rows, which are few and kept.
    codes : ndarray of shape (n_labeled,)
        Their classes.
    """

    gram: sparse.csr_array
    mass: NDArray[np.float64]
    n_unlabeled: int
    labeled: sparse.csr_array
    codes: NDArray[np.intp]


def anchor_statistics(Z: sparse.csr_array, codes: NDArray[np.intp]) -> AnchorStatistics:
    """Statistics of one block of rows.

    Parameters
    ----------
    Z : csr_array of shape (n_rows, n_anchors)
        As :func:`anchor_weights` gives it.
    codes : ndarray of shape (n_rows,)
        Class of each row, from 0 up, -1 where unknown.

    Returns
    -------
    AnchorStatistics

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from leaven.graph_based import anchor_statistics
    >>> Z = sparse.csr_array([[0.75, 0.25], [0.5, 0.5]])
    >>> block = anchor_statistics(Z, np.array([-1, 1]))
    >>> block.mass, block.codes
    (array([0.75, 0.25]), array([1]))
    """
    free = codes == UNLABELED
    U = Z[free]
    return AnchorStatistics(
        sparse.csr_array(U.T @ U),
        np.asarray(U.sum(axis=0)).ravel(),
        int(free.sum()),
        sparse.csr_array(Z[~free]),
        codes[~free],
    )


def merge_anchor_statistics(first: AnchorStatistics, second: AnchorStatistics) -> AnchorStatistics:
    """Statistics of two blocks together.

    Parameters
    ----------
    first, second : AnchorStatistics

    Returns
    -------
    AnchorStatistics

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from leaven.graph_based import anchor_statistics, merge_anchor_statistics
    >>> Z = sparse.csr_array([[0.75, 0.25], [0.5, 0.5]])
    >>> blocks = [anchor_statistics(Z[[i]], np.array([-1])) for i in range(2)]
    >>> merge_anchor_statistics(*blocks).mass
    array([1.25, 0.75])
    """
    return AnchorStatistics(
        sparse.csr_array(first.gram + second.gram),
        first.mass + second.mass,
        first.n_unlabeled + second.n_unlabeled,
        sparse.csr_array(sparse.vstack([first.labeled, second.labeled])),
        np.concatenate([first.codes, second.codes]),
    )


def reached_anchors(statistics: AnchorStatistics) -> NDArray[np.bool_]:
    """Tell which anchors have a path to a labeled row."""
    links = statistics.gram + statistics.labeled.T @ statistics.labeled
    _, component = csgraph.connected_components(links, directed=False)
    return np.isin(component, component[statistics.labeled.indices])


def restrict_anchors(statistics: AnchorStatistics, chosen: NDArray[np.bool_]) -> AnchorStatistics:
    """Statistics of some of the anchors."""
    return AnchorStatistics(
        sparse.csr_array(statistics.gram[chosen][:, chosen]),
        statistics.mass[chosen],
        statistics.n_unlabeled,
        sparse.csr_array(statistics.labeled[:, chosen]),
        statistics.codes,
    )


def poisson_targets(
    statistics: AnchorStatistics, n_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sources of the Poisson form, and the mean label of the component of each anchor."""
    links = statistics.gram + statistics.labeled.T @ statistics.labeled
    _, component = csgraph.connected_components(links, directed=False)
    Y = one_hot(statistics.codes, n_classes)
    home = component[statistics.labeled.indices[statistics.labeled.indptr[:-1]]]
    totals = np.zeros((component.max() + 1, n_classes))
    np.add.at(totals, home, Y)
    mean = normalize_rows(totals)
    return Y - mean[home], mean[component]


def solve_anchors(
    statistics: AnchorStatistics,
    targets: NDArray[Any],
    *,
    form: str = "harmonic",
    alpha: float = 0.99,
    gamma: float = 0.01,
    tol: float = 1e-8,
) -> NDArray[np.float64]:
    r"""Values of the anchors, of which the values of the rows are ``Z a``.

    The anchor graph joins rows with ``W = Z Λ⁻¹ Zᵀ``, where ``Λ`` holds the column sums of Z;
    its degrees are one. With the labeled rows l, the others u and ``a = Λ⁻¹ Zᵀ f`` the
    equations for all rows become equations for the anchors:

    - harmonic: ``(Λ - Z_uᵀ Z_u) a = Z_lᵀ Y``, the harmonic function of W;
    - consistency: ``(Λ - α Zᵀ Z) a = Z_lᵀ Y``, that of local and global consistency up to a
      factor;
    - poisson: ``(Λ - Zᵀ Z) a = Z_lᵀ Y``, the Poisson equation up to a constant, for columns
      of Y that sum to zero in every component;
    - regularized: ``(Z_lᵀ Z_l + γ (ZᵀZ - ZᵀZ Λ⁻¹ ZᵀZ)) a = Z_lᵀ Y``, the method of the paper,
      which looks for functions of the form ``Z a`` only.

    Parameters
    ----------
    statistics : AnchorStatistics
        Every anchor must be reached, see :func:`reached_anchors`.
    targets : ndarray of shape (n_labeled, n_columns)
        Y.
    form : {"harmonic", "consistency", "poisson", "regularized"}
    alpha, gamma : float
        Of consistency and of the regularized form.
    tol : float
        Relative residual of the solver.

    Returns
    -------
    ndarray of shape (n_anchors, n_columns)

    Examples
    --------
    Two labeled rows and one between them:

    >>> import numpy as np
    >>> from scipy import sparse
    >>> from leaven.graph_based import anchor_statistics, solve_anchors
    >>> Z = sparse.csr_array([[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]])
    >>> block = anchor_statistics(Z, np.array([0, -1, 1]))
    >>> (Z @ solve_anchors(block, np.array([[8.0], [3.0]]))).ravel().round(3)
    array([7.318, 6.409, 3.682])
    """
    Z_l, G_u = statistics.labeled, statistics.gram
    mass = statistics.mass + np.asarray(Z_l.sum(axis=0)).ravel()
    G_l = sparse.csr_array(Z_l.T @ Z_l)
    right = np.asarray(Z_l.T @ targets)
    if form == "regularized":
        G = sparse.csr_array(G_u + G_l)
        middle = sparse.diags_array(1.0 / mass, format="csr")
        A = (G_l + gamma * (G - G @ middle @ G)).toarray()
        A[np.diag_indices_from(A)] += _RIDGE * np.trace(A) / len(A)
        return np.asarray(cho_solve(cho_factor(A, overwrite_a=True), right))
    if form == "consistency":
        inner = alpha * (G_u + G_l)
    elif form == "poisson":
        # Ground one anchor of each component; because sources cancel there, nothing flows.
        links = sparse.csr_array(G_u + G_l)
        _, component = csgraph.connected_components(links, directed=False)
        first = np.unique(component, return_index=True)[1]
        ground = np.zeros(len(mass))
        ground[first] = mass[first]
        inner = links - sparse.diags_array(ground, format="csr")
    else:
        inner = G_u
    system = sparse.csr_array(sparse.diags_array(mass, format="csr") - inner)
    return np.asarray(solve_spd(system, right, tol=tol).x)
