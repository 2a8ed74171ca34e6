"""Which rows to ask when there is no model yet: typical rows of different clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.metrics import pairwise_distances_argmin_min

from leaven.active._batch import _n_distinct

_MIN_CLUSTERS = 8  # typical rows of fewer clusters would all come from the largest classes
_LARGE = 10_000  # rows beyond which k-means in batches is much faster and as good a start


def start_rows(
    points: Any, known: NDArray[np.bool_], n_rows: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Choose rows that are typical of their surroundings and differ from each other.

    The rows are clustered by k-means into as many clusters as there are known and wanted
    rows, at least eight. Clusters without a known row come first, large ones before small
    ones, and each gives the row nearest to its center. This is the rule of Hacohen, Dekel
    and Weinshall, "Active learning on a budget: opposite strategies suit high and low
    budgets", ICML 2022, with nearness to the center as typicality.

    Parameters
    ----------
    points : array or sparse array of shape (n_samples, n_features)
    known : ndarray of bool of shape (n_samples,)
        Rows that have a label.
    n_rows : int
        At most the number of rows that are not known.
    rng : RandomState

    Returns
    -------
    rows : ndarray of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.active._start import start_rows
    >>> points = np.repeat([[0.0], [10.0]], [40, 60], axis=0)
    >>> points += np.random.RandomState(0).randn(100, 1)
    >>> rows = start_rows(points, np.zeros(100, dtype=bool), 4, np.random.RandomState(0))
    >>> len(set(rows.tolist())), sorted({int(value > 5) for value in points[rows, 0]})
    (4, [0, 1])
    """
    n_samples = points.shape[0]
    n_clusters = max(_MIN_CLUSTERS, int(known.sum()) + n_rows)
    n_clusters = _n_distinct(points, min(n_clusters, n_samples))
    kind = KMeans if n_samples <= _LARGE else MiniBatchKMeans
    model = kind(n_clusters, n_init=1, random_state=int(rng.randint(2**31 - 1))).fit(points)
    cluster, distance = pairwise_distances_argmin_min(points, model.cluster_centers_)
    ties = rng.random_sample(n_samples)
    covered = np.bincount(cluster[known], minlength=n_clusters)
    size = np.bincount(cluster, minlength=n_clusters)
    free = np.flatnonzero(~known)
    # The place of a row within its cluster: 0 for the most typical, ties at random.
    order = free[np.lexsort((ties[free], distance[free], cluster[free]))]
    first = np.searchsorted(cluster[order], cluster[order])
    turn = np.arange(len(order)) - first + covered[cluster[order]]
    return order[np.lexsort((-size[cluster[order]], turn))][:n_rows]
