"""The graph itself: an immutable value around a sparse symmetric adjacency matrix."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph

from leaven._html import html_box, html_lines, html_table

LAPLACIAN_KINDS = ("combinatorial", "symmetric", "random-walk")


class Graph:
    """An undirected graph with non-negative edge weights.

    The adjacency matrix ``W`` is a CSR array that cannot be written to, so a graph can be
    shared between estimators. An edge of weight zero is no edge. Self-loops are allowed.

    Parameters
    ----------
    adjacency : sparse or dense matrix of shape (n_nodes, n_nodes)
        Symmetric, finite and non-negative. See :class:`~leaven.graph.GivenGraph` for a
        matrix that must be made symmetric first.

    Attributes
    ----------
    adjacency : scipy.sparse.csr_array of shape (n_nodes, n_nodes)
    n_nodes : int
    n_edges : int
        Undirected edges; a self-loop counts once.
    degree : ndarray of shape (n_nodes,)
        Sum of the weights at each node.
    n_components : int

    Examples
    --------
    >>> from leaven.graph import Graph
    >>> graph = Graph([[0, 2, 0], [2, 0, 0], [0, 0, 0]])
    >>> graph
    Graph(3 nodes, 1 edge, 2 components)
    >>> graph.degree
    array([2., 2., 0.])
    >>> graph.laplacian().toarray()
    array([[ 2., -2.,  0.],
           [-2.,  2.,  0.],
           [ 0.,  0.,  0.]])
    """

    def __init__(self, adjacency: Any) -> None:
        W = as_adjacency(adjacency)
        _require_symmetric(W)
        self._set(W)

    @classmethod
    def _trusted(cls, adjacency: sparse.csr_array) -> Graph:
        """Wrap a matrix that a builder made symmetric and clean itself: no second check."""
        graph = cls.__new__(cls)
        graph._set(adjacency)
        return graph

    def _set(self, W: sparse.csr_array) -> None:
        W = with_narrow_indices(W)
        # Shared by estimators and folds: a write by one of them would be seen by all.
        for part in (W.data, W.indices, W.indptr):
            part.flags.writeable = False
        self.adjacency = W

    @classmethod
    def from_edges(
        cls, edges: ArrayLike, weights: ArrayLike | None = None, *, n_nodes: int | None = None
    ) -> Graph:
        """Make a graph from a list of undirected edges.

        Parameters
        ----------
        edges : array-like of shape (n_edges, 2)
            Node numbers. An edge may be given in either direction; one that is given more
            than once has its weights added.
        weights : array-like of shape (n_edges,), optional
            Default 1 for every edge.
        n_nodes : int, optional
            Default the largest node number plus one.

        Returns
        -------
        Graph

        Examples
        --------
        >>> from leaven.graph import Graph
        >>> Graph.from_edges([(0, 1), (1, 2)], [0.5, 2.0]).degree
        array([0.5, 2.5, 2. ])
        """
        pairs = np.asarray(edges)
        if pairs.size == 0:
            pairs = pairs.reshape(0, 2)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(f"edges must have shape (n_edges, 2), got {pairs.shape}.")
        i, j = pairs[:, 0].astype(np.intp), pairs[:, 1].astype(np.intp)
        # A fraction, or a number beyond the integers, does not come back from the cast.
        if (pairs != np.column_stack([i, j])).any() or (len(i) and min(i.min(), j.min()) < 0):
            raise ValueError("edges must hold node numbers: integers from 0 up.")
        w = np.ones(len(i)) if weights is None else np.asarray(weights, dtype=float)
        if w.shape != (len(i),):
            raise ValueError(f"weights has shape {w.shape}, but there are {len(i)} edges.")
        n = (int(max(i.max(), j.max())) + 1 if len(i) else 0) if n_nodes is None else n_nodes
        if len(i) and max(i.max(), j.max()) >= n:
            raise ValueError(
                f"edges name node {max(i.max(), j.max())}, but n_nodes={n}: the last is {n - 1}."
            )
        # A loop stands once on the diagonal; every other edge stands at both of its places.
        loop = i == j
        rows = np.concatenate([i, j[~loop]])
        cols = np.concatenate([j, i[~loop]])
        W = sparse.coo_array((np.concatenate([w, w[~loop]]), (rows, cols)), shape=(n, n))
        return cls(W)

    @classmethod
    def from_networkx(cls, graph: Any, *, weight: str = "weight") -> Graph:
        """Take over an undirected networkx graph; nodes keep the order of ``graph.nodes``.

        Parameters
        ----------
        graph : networkx.Graph
        weight : str, default="weight"
            The edge attribute to read; an edge without it weighs 1.

        Returns
        -------
        Graph
        """
        if graph.is_directed():
            raise ValueError(
                "The networkx graph is directed. Pass graph.to_undirected(), or "
                "GivenGraph(networkx.to_scipy_sparse_array(graph), symmetrize='union')."
            )
        number = {node: position for position, node in enumerate(graph.nodes)}
        edges = [(number[u], number[v]) for u, v in graph.edges()]
        weights = [data.get(weight, 1.0) for _, _, data in graph.edges(data=True)]
        return cls.from_edges(edges, weights, n_nodes=len(number))

    def to_networkx(self) -> Any:
        """Return a :class:`networkx.Graph` with the attribute ``weight`` on every edge."""
        from leaven._optional import import_optional

        networkx = import_optional("networkx", extra="dev", needed_by="Graph.to_networkx")
        graph = networkx.Graph()
        graph.add_nodes_from(range(self.n_nodes))
        i, j, w = self.edges()
        graph.add_weighted_edges_from(zip(i.tolist(), j.tolist(), w.tolist(), strict=True))
        return graph

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.adjacency.shape[0])

    @cached_property
    def n_edges(self) -> int:
        """Number of undirected edges; a self-loop counts once."""
        loops = int(np.count_nonzero(self.adjacency.diagonal()))
        return int((self.adjacency.nnz - loops) // 2 + loops)

    @cached_property
    def degree(self) -> NDArray[Any]:
        """Sum of the weights at each node, ``d_i = Σ_j w_ij``."""
        degree: NDArray[Any] = np.asarray(self.adjacency.sum(axis=1)).ravel()
        degree.flags.writeable = False
        return degree

    def edges(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return each undirected edge once, as arrays ``(i, j, weight)`` with ``i <= j``."""
        upper = sparse.triu(self.adjacency, format="coo")
        return upper.row, upper.col, upper.data

    def laplacian(
        self, kind: str = "combinatorial", *, drop_loops: bool = False
    ) -> sparse.csr_array:
        """Return a Laplacian of the graph.

        With ``D = diag(degree)``:

        - ``"combinatorial"``: ``L = D - W``;
        - ``"symmetric"``: ``I - D^{-1/2} W D^{-1/2}``;
        - ``"random-walk"``: ``I - D^{-1} W``.

        Parameters
        ----------
        kind : {"combinatorial", "symmetric", "random-walk"}, default="combinatorial"
        drop_loops : bool, default=False
            Use ``W'``, which is ``W`` with a zero diagonal, and its degrees (Zhou et al.,
            2004). For the combinatorial kind this makes no difference: loops cancel.

        Returns
        -------
        scipy.sparse.csr_array

        Notes
        -----
        A node without an edge has a zero row in the combinatorial Laplacian. In the other
        two the row is zero as well, the convention of
        :func:`scipy.sparse.csgraph.laplacian`.
        """
        if kind not in LAPLACIAN_KINDS:
            raise ValueError(f"kind must be one of {LAPLACIAN_KINDS}, got {kind!r}.")
        W, degree = self.adjacency, self.degree
        if drop_loops and W.diagonal().any():
            W = _without_diagonal(W)
            degree = np.asarray(W.sum(axis=1)).ravel()
        if kind == "combinatorial":
            return sparse.csr_array(sparse.diags_array(degree, format="csr") - W)
        power = -0.5 if kind == "symmetric" else -1.0
        isolated = degree == 0
        # One in place of zero: the row of a node without edges is zero whatever it is scaled by.
        scale = np.where(isolated, 1.0, degree) ** power
        left = sparse.diags_array(scale, format="csr")
        P = left @ W @ left if kind == "symmetric" else left @ W
        identity = sparse.diags_array((~isolated).astype(P.dtype), format="csr")
        return sparse.csr_array(identity - P)

    @cached_property
    def _components(self) -> tuple[int, NDArray[Any]]:
        n, labels = csgraph.connected_components(self.adjacency, directed=False)
        labels.flags.writeable = False
        return int(n), labels

    @property
    def n_components(self) -> int:
        """Number of connected components."""
        return self._components[0]

    def components(self) -> NDArray[Any]:
        """Return the number of the connected component of each node."""
        return self._components[1]

    def reached_from(self, nodes: ArrayLike) -> NDArray[np.bool_]:
        """Tell which nodes have a path to at least one of ``nodes`` (a mask or indices)."""
        components = self.components()
        has_one = np.zeros(self.n_components, dtype=bool)
        has_one[components[np.asarray(nodes)]] = True
        return np.asarray(has_one[components])

    def subgraph(self, nodes: ArrayLike) -> Graph:
        """Return the graph of ``nodes`` (a mask or indices) and the edges among them."""
        nodes = np.asarray(nodes)
        return Graph._trusted(sparse.csr_array(self.adjacency[nodes][:, nodes]))

    def __repr__(self) -> str:
        def count(number: int, word: str) -> str:
            return f"{number:,} {word}{'' if number == 1 else 's'}"

        return (
            f"Graph({count(self.n_nodes, 'node')}, {count(self.n_edges, 'edge')}, "
            f"{count(self.n_components, 'component')})"
        )

    def _repr_html_(self) -> str:
        degree = self.degree
        rows = [
            ("nodes", f"{self.n_nodes:,}"),
            ("edges", f"{self.n_edges:,}"),
            ("components", f"{self.n_components:,}"),
        ]
        if self.n_nodes:
            rows += [
                ("isolated nodes", f"{int((degree == 0).sum()):,}"),
                ("degree, median (range)", _median_and_range(degree)),
            ]
        return html_box(html_lines("Graph", strong=True), html_table(rows))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        A, B = self.adjacency, other.adjacency
        return (
            A.shape == B.shape
            and np.array_equal(A.indptr, B.indptr)
            and np.array_equal(A.indices, B.indices)
            and np.array_equal(A.data, B.data)
        )

    __hash__ = None  # type: ignore[assignment]  # compared by value, like an array

    def __copy__(self) -> Graph:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        # Immutable, so that cloning an estimator that holds a graph costs nothing.
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"adjacency": self.adjacency}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(state["adjacency"])


def as_adjacency(adjacency: Any) -> sparse.csr_array:
    """Check a square matrix of weights and bring it into canonical CSR form.

    Raises
    ------
    ValueError
        For a matrix that is not square, or holds NaN, infinity or a negative weight.
    """
    matrix = adjacency if sparse.issparse(adjacency) else np.asarray(adjacency)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"An adjacency matrix must be square, got shape {matrix.shape}.")
    dtype = np.float32 if matrix.dtype == np.float32 else np.float64
    W = sparse.csr_array(matrix, dtype=dtype, copy=True)
    W.sum_duplicates()
    if not np.isfinite(W.data).all():
        raise ValueError("Edge weights must be finite, but the adjacency holds NaN or infinity.")
    if (W.data < 0).any():
        raise ValueError(
            f"Edge weights must not be negative, but the smallest is {W.data.min():g}. "
            "Weights are similarities: larger means more alike."
        )
    W.eliminate_zeros()
    W.sort_indices()
    return W


def with_narrow_indices(W: sparse.csr_array) -> sparse.csr_array:
    """Return ``W`` with 32-bit indices where they suffice.

    The graph algorithms of SciPy before 1.15 take no others, and products read less memory.
    """
    if max(W.nnz, *W.shape) > np.iinfo(np.int32).max or W.indices.dtype == W.indptr.dtype == "i4":
        return W
    parts = W.data, W.indices.astype(np.int32), W.indptr.astype(np.int32)
    return sparse.csr_array(parts, shape=W.shape)


def _require_symmetric(W: sparse.csr_array) -> None:
    difference = abs(W - W.T)
    largest = difference.max() if difference.nnz else 0.0
    # Weights that were computed in both directions may differ by some roundings.
    if largest > 1e-10 * (W.data.max() if W.nnz else 1.0) + np.finfo(W.dtype).tiny:
        raise ValueError(
            f"The adjacency matrix is not symmetric (largest difference {largest:g}). Use "
            "GivenGraph(W, symmetrize='union'), 'mutual' or 'mean' to have it made symmetric."
        )


def _without_diagonal(W: sparse.csr_array) -> sparse.csr_array:
    coo = W.tocoo()
    off = coo.row != coo.col
    return sparse.csr_array((coo.data[off], (coo.row[off], coo.col[off])), shape=W.shape)


SYMMETRIZATIONS = ("union", "mutual", "mean")


def symmetrize(W: Any, how: str) -> sparse.csr_array:
    """Make a directed weight matrix symmetric.

    Parameters
    ----------
    W : sparse matrix of shape (n, n)
    how : {"union", "mutual", "mean"}
        ``max(W, Wᵀ)`` keeps an edge that one end wants, ``min(W, Wᵀ)`` one that both
        want, ``(W + Wᵀ) / 2`` weighs it by both.

    Returns
    -------
    scipy.sparse.csr_array

    Examples
    --------
    >>> from scipy import sparse
    >>> from leaven.graph._graph import symmetrize
    >>> W = sparse.csr_array([[0.0, 3.0], [1.0, 0.0]])
    >>> [symmetrize(W, how)[0, 1].item() for how in ("union", "mutual", "mean")]
    [3.0, 1.0, 2.0]
    """
    if how not in SYMMETRIZATIONS:
        raise ValueError(f"symmetrize must be one of {SYMMETRIZATIONS}, got {how!r}.")
    W = sparse.csr_array(W)
    T = sparse.csr_array(W.T)
    if how == "union":
        S = W.maximum(T)
    elif how == "mutual":
        S = W.minimum(T)
    else:
        S = (W + T) * W.dtype.type(0.5)
    S = sparse.csr_array(S)
    S.eliminate_zeros()
    S.sort_indices()
    return S


def _median_and_range(degree: NDArray[Any]) -> str:
    return f"{np.median(degree):.3g} ({degree.min():.3g} to {degree.max():.3g})"
