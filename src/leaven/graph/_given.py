"""Graphs that are not computed from features: given ones, grids, and sums of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone

from leaven._compat import num_samples
from leaven.graph._base import GraphBuilder
from leaven.graph._graph import Graph, as_adjacency, symmetrize


class GivenGraph(GraphBuilder):
    """A graph that the user has: ``X`` only has to have as many rows as there are nodes.

    Parameters
    ----------
    adjacency : matrix, Graph or networkx.Graph, optional
        A symmetric matrix of weights, dense or sparse, with one row a row of ``X``. The
        nodes of a networkx graph are taken in the order of ``graph.nodes``.
    edges : array-like of shape (n_edges, 2) or (n_edges, 3), optional
        Instead of ``adjacency``: pairs of row numbers, with the weight as third column.
        An edge may be given in either direction.
    symmetrize : {"union", "mutual", "mean"}, optional
        What to do with a matrix that is not symmetric; None refuses it.

    Attributes
    ----------
    graph_ : Graph

    Examples
    --------
    >>> from leaven.graph import GivenGraph
    >>> GivenGraph([[0, 2], [2, 0]]).build([[0], [0]])
    Graph(2 nodes, 1 edge, 1 component)
    >>> GivenGraph(edges=[(0, 1), (1, 2)]).build([[0], [0], [0]]).degree
    array([1., 2., 1.])
    """

    uses_features = False

    def __init__(
        self,
        adjacency: Any = None,
        *,
        edges: ArrayLike | None = None,
        symmetrize: str | None = None,
    ) -> None:
        self.adjacency = adjacency
        self.edges = edges
        self.symmetrize = symmetrize

    def _fit_graph(self, X: Any, labeled: NDArray[np.bool_] | None) -> None:
        if (self.adjacency is None) == (self.edges is None):
            raise ValueError("GivenGraph takes either adjacency or edges.")
        n = num_samples(X)
        graph = self._from_edges(n) if self.adjacency is None else self._from_adjacency()
        if graph.n_nodes != n:
            raise ValueError(
                f"The given graph has {graph.n_nodes} nodes, but X has {n} rows: one node a row "
                "is needed."
            )
        self.graph_ = graph

    def _from_adjacency(self) -> Graph:
        given = self.adjacency
        if isinstance(given, Graph):
            return given
        if hasattr(given, "is_directed") and hasattr(given, "nodes"):
            return Graph.from_networkx(given)
        if self.symmetrize is not None:
            return Graph._trusted(symmetrize(as_adjacency(given), self.symmetrize))
        return Graph(given)

    def _from_edges(self, n: int) -> Graph:
        table = np.asarray(self.edges, dtype=float)
        if table.size == 0:
            table = table.reshape(0, 2)
        if table.ndim != 2 or table.shape[1] not in (2, 3):
            raise ValueError(
                f"edges must have 2 columns, or 3 with the weight, got shape {table.shape}."
            )
        weights = table[:, 2] if table.shape[1] == 3 else None
        return Graph.from_edges(table[:, :2], weights, n_nodes=n)


class GridGraph(GraphBuilder):
    """Join each cell of a fixed grid to its neighbors with weight 1: images and volumes.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns of the grid, or more dimensions. ``X`` has one row a cell, the
        last dimension running fastest (the order of ``image.ravel()``).
    diagonal : bool, default=False
        Join diagonal neighbors too: eight instead of four in two dimensions.

    Attributes
    ----------
    graph_ : Graph

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph import GridGraph
    >>> GridGraph((3, 4)).build(np.zeros((12, 1)))
    Graph(12 nodes, 17 edges, 1 component)
    """

    uses_features = False

    def __init__(self, shape: tuple[int, ...], *, diagonal: bool = False) -> None:
        self.shape = shape
        self.diagonal = diagonal

    def _fit_graph(self, X: Any, labeled: NDArray[np.bool_] | None) -> None:
        shape = tuple(int(side) for side in np.atleast_1d(self.shape))
        if any(side < 1 for side in shape):
            raise ValueError(f"shape must hold positive integers, got {self.shape!r}.")
        cells = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        if cells.size != num_samples(X):
            raise ValueError(
                f"A grid of shape {shape} has {cells.size} cells, but X has {num_samples(X)} rows."
            )
        pairs = [_shifted_pairs(cells, step) for step in self._steps(len(shape))]
        self.graph_ = Graph.from_edges(np.concatenate(pairs), n_nodes=cells.size)

    def _steps(self, n_dimensions: int) -> list[tuple[int, ...]]:
        """Half of the steps to a neighbor: the other half are the same edges backwards."""
        steps = np.array(np.meshgrid(*[[-1, 0, 1]] * n_dimensions, indexing="ij"))
        steps = steps.reshape(n_dimensions, -1).T
        forward = [s for s in map(tuple, steps.tolist()) if s > (0,) * n_dimensions]
        return forward if self.diagonal else [s for s in forward if np.abs(s).sum() == 1]


def _shifted_pairs(cells: NDArray[Any], step: tuple[int, ...]) -> NDArray[Any]:
    """All pairs (cell, cell + step) that lie within the grid."""
    start = tuple(slice(max(0, -s), min(n, n - s)) for s, n in zip(step, cells.shape, strict=True))
    end = tuple(slice(max(0, s), min(n, n + s)) for s, n in zip(step, cells.shape, strict=True))
    return np.column_stack([cells[start].ravel(), cells[end].ravel()])


class SumGraph(GraphBuilder):
    """The weighted sum of several graphs of the same rows.

    Use it to put prior knowledge together: frames of a video that follow each other, that
    have similar colors, and that show similar faces.

    Parameters
    ----------
    graphs : list of graph builders
    coefficients : list of float, optional
        One for each graph; default 1.
    columns : list, optional
        The columns of ``X`` that each builder sees (a list of column numbers or a slice);
        None, for all or for one of them, means every column.

    Attributes
    ----------
    graph_ : Graph
    graphs_ : list of fitted graph builders

    Examples
    --------
    >>> from leaven.graph import GivenGraph, KNNGraph, SumGraph
    >>> time = GivenGraph(edges=[(0, 1), (1, 2)])
    >>> color = KNNGraph(1, weight="binary")
    >>> SumGraph([time, color], coefficients=[1.0, 0.5]).build([[5.0], [5.1], [0.0]]).degree
    array([2. , 2.5, 1.5])
    """

    def __init__(
        self,
        graphs: Sequence[Any],
        *,
        coefficients: Sequence[float] | None = None,
        columns: Sequence[Any] | None = None,
    ) -> None:
        self.graphs = graphs
        self.coefficients = coefficients
        self.columns = columns

    @property
    def uses_features(self) -> bool:  # type: ignore[override]
        """Whether any of the graphs looks at the features."""
        return any(builder.uses_features for builder in self.graphs)

    def uses_labels(self) -> bool:
        """Whether any of the graphs depends on the labels.

        Returns
        -------
        bool
        """
        return any(builder.uses_labels() for builder in self.graphs)

    def _fit_graph(self, X: Any, labeled: NDArray[np.bool_] | None) -> None:
        if not len(self.graphs):
            raise ValueError("SumGraph needs at least one graph.")
        for name in ("coefficients", "columns"):
            value = getattr(self, name)
            if value is not None and len(value) != len(self.graphs):
                raise ValueError(f"{name} has {len(value)} entries for {len(self.graphs)} graphs.")
        if min(self._coefficients()) < 0:
            raise ValueError(f"coefficients must not be negative, got {self.coefficients}.")
        y = None if labeled is None else labeled.astype(int) - 1  # the mark of "unlabeled" is -1
        self.graphs_ = [
            clone(builder).fit(_columns_of(X, columns), y)
            for builder, columns in zip(self.graphs, self._columns(), strict=True)
        ]
        total = _weighted_sum([b.graph_.adjacency for b in self.graphs_], self._coefficients())
        self.graph_ = Graph._trusted(total)

    def _coefficients(self) -> list[float]:
        return [1.0] * len(self.graphs) if self.coefficients is None else list(self.coefficients)

    def _columns(self) -> list[Any]:
        return [None] * len(self.graphs) if self.columns is None else list(self.columns)

    def _weights_to(self, X_new: Any) -> sparse.csr_array:
        weights = [
            builder.weights_to(_columns_of(X_new, columns))
            for builder, columns in zip(self.graphs_, self._columns(), strict=True)
        ]
        return _weighted_sum(weights, self._coefficients())


def _columns_of(X: Any, columns: Any) -> Any:
    return X if columns is None else X[:, columns]


def _weighted_sum(matrices: list[Any], coefficients: list[float]) -> sparse.csr_array:
    total = sum(c * M for c, M in zip(coefficients, matrices, strict=True))
    total = sparse.csr_array(total)
    total.eliminate_zeros()
    total.sort_indices()
    return total
