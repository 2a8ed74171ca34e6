"""A picture of a graph in two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.decomposition import PCA
from sklearn.utils import check_array

from leaven._labels import UNLABELED
from leaven._optional import import_optional
from leaven.graph import Graph
from leaven.plotting._classes import (
    axes_or_new,
    class_colors,
    class_legend,
    encode_classes,
    scatter_classes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Components up to this size have their layout from a dense eigenproblem.
DENSE_LIMIT = 300


def plot_graph(
    graph: Any,
    X: Any = None,
    y: Any = None,
    *,
    inferred: Any = None,
    ax: Axes | None = None,
    node_size: float = 18.0,
    labeled_size: float = 90.0,
    edge_width: float = 1.5,
    edge_color: Any = "0.35",
    cmap: Any = None,
    legend: bool | str = "auto",
) -> Axes:
    """Draw the vertices and edges of a graph.

    Labeled vertices are large and have the color of their class; unlabeled ones are small
    and grey, or have the color of the class that was inferred. The heavier an edge, the
    wider and darker it is. Self-loops are not drawn.

    Parameters
    ----------
    graph : Graph or fitted graph builder
        A builder, or anything else with an attribute ``graph_``, stands for that graph.
    X : {array-like, sparse matrix} of shape (n_nodes, n_features), optional
        Where the vertices lie. Two columns are drawn as they are, more are brought to two
        by principal components. Without ``X`` the graph itself gives the layout: in each
        component the two smoothest eigenvectors of the random-walk Laplacian after the
        constant one, and the components side by side.
    y : array-like of shape (n_nodes,), optional
        Labels, with the marks of an unlabeled row that the classifiers know.
    inferred : array-like of shape (n_nodes,), optional
        A class for every vertex, such as ``transduction_`` of a classifier.
    ax : matplotlib Axes, optional
        Where to draw; default a new figure.
    node_size, labeled_size : float, default=18.0 and 90.0
        Area of an unlabeled and a labeled vertex, in points squared.
    edge_width : float, default=1.5
        Width of the heaviest edge, in points.
    edge_color : matplotlib color, default="0.35"
    cmap : str or matplotlib colormap, optional
        Colors of the classes; default ``"tab10"`` while it has enough.
    legend : {"auto", True, False}, default="auto"
        ``"auto"`` names the classes if there are at most twenty.

    Returns
    -------
    ax : matplotlib Axes

    See Also
    --------
    plot_decision_regions : What a classifier says of the plane.

    Examples
    --------
    >>> from leaven.graph import Graph
    >>> from leaven.plotting import plot_graph
    >>> square = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> ax = plot_graph(square, y=["a", None, "b", None])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b', 'unlabeled']
    """
    graph = _as_graph(graph)
    n = graph.n_nodes
    points = spectral_layout(graph) if X is None else _plane(X, n)
    known = None if inferred is None else encode_classes(inferred, n)[0]
    classes, codes = encode_classes(y, n, known)
    guessed = None if inferred is None else encode_classes(inferred, n, classes)[1]
    colors = class_colors(len(classes), cmap)
    ax = axes_or_new(ax, "plot_graph")
    _draw_edges(ax, graph, points, edge_width, edge_color)
    scatter_classes(
        ax, points, codes, colors, inferred=guessed, size=node_size, labeled_size=labeled_size
    )
    shown = codes if guessed is None else guessed
    class_legend(
        ax, classes, colors, legend=legend, with_unlabeled=bool((shown == UNLABELED).any())
    )
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def _as_graph(graph: Any) -> Graph:
    found = getattr(graph, "graph_", graph)
    if not isinstance(found, Graph):
        raise TypeError(
            f"graph must be a Graph or a fitted graph builder, got {type(graph).__name__}. "
            "Use KNNGraph().build(X) or Graph(adjacency), and fit a builder first."
        )
    return found


def _plane(X: Any, n_nodes: int) -> NDArray[np.float64]:
    """Bring the rows of ``X`` into two dimensions."""
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    if X.shape[0] != n_nodes:
        raise ValueError(f"X has {X.shape[0]} rows, but the graph has {n_nodes} nodes.")
    wide = X.shape[1] > 2 and n_nodes > 2
    if wide:
        solver = "arpack" if sparse.issparse(X) else "auto"
        return np.asarray(PCA(2, svd_solver=solver, random_state=0).fit_transform(X))
    if sparse.issparse(X):
        X = X.toarray()
    points = np.zeros((n_nodes, 2))
    points[:, : X.shape[1]] = X[:, :2]
    return points


def _draw_edges(
    ax: Axes, graph: Graph, points: NDArray[np.float64], width: float, color: Any
) -> None:
    collections = import_optional("matplotlib.collections", extra="plot", needed_by="plot_graph")
    colors = import_optional("matplotlib.colors", extra="plot", needed_by="plot_graph")
    i, j, weights = graph.edges()
    proper = i != j
    i, j, weights = i[proper], j[proper], weights[proper]
    # Weights often span many orders of magnitude; the square root keeps light edges visible.
    relative = np.sqrt(weights / weights.max()) if len(weights) else weights
    shade = np.tile(colors.to_rgba(color), (len(i), 1))
    shade[:, 3] *= 0.25 + 0.6 * relative
    lines = collections.LineCollection(
        list(np.stack([points[i], points[j]], axis=1)),
        colors=shade,
        linewidths=width * (0.4 + 0.6 * relative),
        zorder=1,
    )
    ax.add_collection(lines)
    ax.autoscale_view()


def spectral_layout(graph: Graph) -> NDArray[np.float64]:
    """Place the nodes by the graph alone.

    Each component takes the second and third eigenvector of its random-walk Laplacian
    (Hall, 1970, with degrees), in a square whose area grows with the number of its nodes.
    Eigenvectors of the whole graph would put every node of a component on one point.

    Returns
    -------
    points : ndarray of shape (n_nodes, 2)
    """
    points = np.zeros((graph.n_nodes, 2))
    component = graph.components()
    order = np.argsort(-np.bincount(component, minlength=graph.n_components), kind="stable")
    row_width = np.sqrt(2.0 * graph.n_nodes)
    x = y = height = 0.0
    for number in order:
        nodes = np.flatnonzero(component == number)
        side = np.sqrt(len(nodes))
        if x > 0 and x + side > row_width:  # begin a new row of squares
            x, y, height = 0.0, y - height, 0.0
        points[nodes] = np.array([x, y - side]) + side * _unit_square(graph.subgraph(nodes))
        x += 1.2 * side
        height = max(height, 1.2 * side)
    return points


def _unit_square(graph: Graph) -> NDArray[np.float64]:
    """Lay a connected graph out in the unit square."""
    n = graph.n_nodes
    if n == 1:
        return np.full((1, 2), 0.5)
    if n == 2:
        return np.array([[0.0, 0.5], [1.0, 0.5]])
    L = graph.laplacian("symmetric", drop_loops=True).astype(np.float64)
    vectors = _smoothest(L) / np.sqrt(graph.degree - graph.adjacency.diagonal())[:, None]
    vectors *= np.sign(vectors[np.abs(vectors).argmax(axis=0), [0, 1]])
    low, high = vectors.min(axis=0), vectors.max(axis=0)
    return np.asarray((vectors - low) / np.where(high > low, high - low, 1.0))


def _smoothest(L: sparse.csr_array) -> NDArray[np.float64]:
    """Return the second and third eigenvector of the Laplacian of a connected graph."""
    n = L.shape[0]
    if n <= DENSE_LIMIT:
        return np.asarray(np.linalg.eigh(L.toarray())[1][:, 1:3])
    start = np.random.default_rng(0).standard_normal(n)
    try:
        # The largest of 2I - L instead of the smallest of L: no factorization is needed.
        flipped = 2.0 * sparse.eye_array(n, format="csr") - L
        values, vectors = eigsh(flipped, k=3, v0=start, tol=1e-6, maxiter=300)
        values = -values
    except ArpackNoConvergence:
        # Slow convergence means a long thin graph, such as a tree: its factors stay sparse.
        values, vectors = eigsh(L.tocsc(), k=3, sigma=-1e-3, v0=start)
    return np.asarray(vectors[:, np.argsort(values)][:, 1:])
