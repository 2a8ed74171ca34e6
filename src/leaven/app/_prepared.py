"""A table made ready once: its rows as numbers, its clusters, its neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from leaven.app._evidence import Evidence, Things, count_things, weigh_evidence
from leaven.graph import KNNGraph
from leaven.tables import TableError, TablePreparer

_COMPONENTS = 100  # dimensions in which texts are clustered and searched for neighbors
_NEIGHBORS = 10  # as the harmonic candidate of SafeClassifier
_ROWS_PER_CLUSTER = 25  # small enough to be of one class, large enough to be worth a key
_CLUSTERS = (4, 200)  # fewest and most
_TWIN = 0.9  # cosine from which two texts are near-duplicates: see docs/guide/annotate.md
_TWIN_DISTANCE = 0.05  # squared, of standardized columns, of which each differs by 2 on average
_GRAPH_ROWS = 200_000  # beyond this the search for neighbors takes many minutes
_EDGES_AT_ONCE = 1 << 18  # bounds the memory of the similarities


@dataclass(frozen=True, eq=False)
class Prepared:
    """What does not change while labels come in.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n_rows, n_features)
        To learn from.
    near : array or CSR matrix of shape (n_rows, n_other_features)
        To compare rows by: the texts alone, where there are texts.
    points : array of shape (n_rows, n_dimensions)
        ``near`` in few dimensions, for clusters and neighbors.
    cosine : bool
        Whether rows are compared by the cosine of their angle.
    cluster : int array of shape (n_rows,)
    distance : array of shape (n_rows,)
        From the center of the cluster: the typical rows are near.
    things : Things
    about_clusters : Evidence
        What tells each cluster from the others.
    """

    rows: Any
    near: Any
    points: NDArray[Any]
    cosine: bool
    cluster: NDArray[np.intp]
    distance: NDArray[np.float32]
    things: Things
    about_clusters: Evidence


def prepare(table: pd.DataFrame, texts: Sequence[str], seed: int = 0) -> Prepared | None:
    """Make a table ready, or return None where no column can be learned from.

    Parameters
    ----------
    table : DataFrame
        Without the target.
    texts : sequence of str
        Columns that are texts whatever they look like.
    seed : int, default=0

    Returns
    -------
    Prepared or None
    """
    preparer = TablePreparer(text=list(texts), random_state=seed)
    try:
        rows = preparer.fit_transform(table)
    except (TableError, ValueError):
        return None  # one row, or ids and paths of images only: there is nothing to learn from
    kinds = {kind.name: kind.kind for kind in preparer.kinds_ if kind.name not in preparer.dropped_}
    words = [name for name, kind in kinds.items() if kind == "text"]
    near, cosine = rows, preparer.metric_ == "cosine"
    if words and len(words) < len(kinds):
        # What makes texts alike is what they say, not the day on which they came.
        near, cosine = (
            TablePreparer(text=words, random_state=seed).fit_transform(table[words]),
            True,
        )
    points = _in_few_dimensions(near, cosine, seed)
    cluster, distance = _clusters(points, seed)
    things = count_things(table, kinds)
    members = np.zeros((len(cluster), int(cluster.max()) + 1))
    members[np.arange(len(cluster)), cluster] = 1.0
    about = weigh_evidence(things, members)
    return Prepared(rows, near, points, cosine, cluster, distance, things, about)


def _in_few_dimensions(rows: Any, cosine: bool, seed: int) -> NDArray[np.float32]:
    points = rows
    if sparse.issparse(rows):
        n_components = min(_COMPONENTS, min(rows.shape) - 1)
        if n_components < 1:  # one word in all texts
            points = rows.toarray()
        else:
            points = TruncatedSVD(n_components, random_state=seed).fit_transform(rows)
    points = normalize(points) if cosine else np.asarray(points)
    return np.ascontiguousarray(points, dtype=np.float32)


def _clusters(points: NDArray[Any], seed: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    n_rows = len(points)
    n_distinct = len(np.unique(points[: 10 * _CLUSTERS[1]], axis=0))
    k = min(max(_CLUSTERS[0], n_rows // _ROWS_PER_CLUSTER), _CLUSTERS[1], n_distinct)
    model = MiniBatchKMeans(k, n_init=3, random_state=seed, batch_size=2048).fit(points)
    found = np.asarray(model.labels_, dtype=np.intp)
    gaps = np.linalg.norm(points - model.cluster_centers_[found], axis=1)
    # Numbered without gaps: a center may have lost all its rows.
    return np.unique(found, return_inverse=True)[1], gaps.astype(np.float32)


def neighbors(prepared: Prepared) -> sparse.csr_array | None:
    """Build the similarity graph of the rows, or return None where there are too many."""
    n_rows = len(prepared.points)
    if not 3 <= n_rows <= _GRAPH_ROWS:
        return None
    # On the unit sphere the Euclidean neighbors are those by cosine, and can be searched fast.
    builder = KNNGraph(min(_NEIGHBORS, n_rows - 1), recall=0.9)
    return sparse.csr_array(builder.fit(prepared.points).graph_.adjacency)


def twins(prepared: Prepared, graph: sparse.csr_array) -> NDArray[np.int32]:
    """Number the groups of near-duplicates; -1 for a row that has none.

    Edges of the graph between rows that are nearly equal are kept, and what hangs together is
    a group.

    Parameters
    ----------
    prepared : Prepared
    graph : csr_array of shape (n_rows, n_rows)

    Returns
    -------
    groups : int array of shape (n_rows,)
    """
    edges = sparse.coo_array(sparse.triu(graph, 1))
    row, col = edges.row, edges.col
    near = np.zeros(len(row), dtype=bool)
    for start in range(0, len(row), _EDGES_AT_ONCE):
        part = slice(start, start + _EDGES_AT_ONCE)
        near[part] = _nearly_equal(prepared, row[part], col[part])
    kept = sparse.coo_array((np.ones(int(near.sum())), (row[near], col[near])), shape=graph.shape)
    groups = connected_components(kept, directed=False)[1]
    alone = np.bincount(groups)[groups] == 1
    return np.where(alone, -1, groups).astype(np.int32)


def _nearly_equal(prepared: Prepared, row: Any, col: Any) -> NDArray[np.bool_]:
    A, B = prepared.near[row], prepared.near[col]
    if sparse.issparse(A):
        inner = np.asarray(A.multiply(B).sum(axis=1)).ravel()
        square = (
            np.asarray(A.multiply(A).sum(axis=1)).ravel(),
            np.asarray(B.multiply(B).sum(axis=1)).ravel(),
        )
    else:
        inner = np.einsum("ij,ij->i", A, B)
        square = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
    if prepared.cosine:
        length = np.sqrt(square[0] * square[1])
        return np.asarray((length > 0) & (inner >= _TWIN * length))
    return np.asarray(square[0] + square[1] - 2 * inner <= _TWIN_DISTANCE)
