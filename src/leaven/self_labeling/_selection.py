"""Which rows a round labels: quotas, the most confident rows, distances to labeled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from leaven._labels import UNLABELED

_DISTANCES_PER_BLOCK = 2**21  # 16 MB of distances at a time


def class_quotas(counts: NDArray[np.intp], per_round: int | None) -> NDArray[np.intp]:
    """How many rows of each class a round may add, in proportion to ``counts``.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
        Labeled rows of each class, at least one each.
    per_round : int or None
        The total, or None to give one row to the smallest class. Every class has at least
        one row, so that a total below the number of classes stands for one row each.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._selection import class_quotas
    >>> class_quotas(np.array([10, 31, 10]), None)
    array([1, 3, 1])
    >>> class_quotas(np.array([10, 31, 10]), 10)
    array([2, 6, 2])
    """
    if per_round is None:
        return np.asarray(np.maximum(1, np.rint(counts / counts.min())).astype(np.intp))
    share = per_round * counts / counts.sum()
    quotas = np.maximum(1, np.floor(share)).astype(np.intp)
    # The rest goes, one by one, to the class that is furthest below its share.
    for _ in range(per_round - int(quotas.sum())):
        quotas[np.argmax(share - quotas)] += 1
    return np.asarray(quotas)


def top_per_class(
    confidence: NDArray[Any], predicted: NDArray[np.intp], quotas: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the most confident rows of each predicted class, most confident first.

    Among equally confident rows the first comes first.
    """
    order = np.argsort(-confidence, kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    for code in range(len(quotas)):
        members = order[predicted[order] == code]
        rank[members] = np.arange(len(members))
    return order[rank[order] < quotas[predicted[order]]]


def select_confident(
    confidence: NDArray[Any],
    predicted: NDArray[np.intp],
    n_classes: int,
    *,
    threshold: float | None,
    k_best: int | None,
    per_class: bool,
) -> NDArray[np.intp]:
    """Choose the rows that a round labels, the most confident first.

    Parameters
    ----------
    confidence : ndarray of shape (n_rows,)
        At most one.
    predicted : ndarray of shape (n_rows,)
        Codes of the predicted classes; used with ``per_class`` only.
    n_classes : int
    threshold : float or None
        Rows above it qualify, and at ``threshold=1`` the rows that reach it.
    k_best : int or None
        Of those that qualify, so many are chosen: overall, or of each predicted class.
    per_class : bool

    Returns
    -------
    chosen : ndarray
        Row numbers. Among equally confident rows the first comes first.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._selection import select_confident
    >>> confidence, predicted = np.array([0.6, 0.9, 0.8, 0.7]), np.array([0, 1, 1, 1])
    >>> select_confident(confidence, predicted, 2, threshold=0.65, k_best=2, per_class=False)
    array([1, 2])
    >>> select_confident(confidence, predicted, 2, threshold=None, k_best=1, per_class=True)
    array([1, 0])
    """
    if k_best is None:
        order = np.argsort(-confidence, kind="stable")
    elif per_class:
        order = top_per_class(confidence, predicted, np.full(n_classes, k_best))
    else:
        order = np.argsort(-confidence, kind="stable")[:k_best]
    if threshold is None:
        return order
    return order[(confidence[order] > threshold) | (confidence[order] >= 1.0)]


def select_for_every_class(
    proba: NDArray[Any], *, threshold: float | None, k_best: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Choose for every class the rows to which it gives the highest probability.

    This is the rule of Lefakis, section 2.4.1: class c labels the rows with the largest
    P(c|x), also where another class is more probable. A row that two classes want goes to
    the one with the higher probability, and the other takes its next row.

    Returns
    -------
    chosen, codes : ndarrays
        Row numbers and the class that each is given, the most probable first.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._selection import select_for_every_class
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]])
    >>> select_for_every_class(proba, threshold=None, k_best=1)
    (array([0, 2]), array([0, 1]))
    """
    n_rows, n_classes = proba.shape
    # The other classes take at most k_best (n_classes - 1) rows: that deep a class may look.
    depth = min(n_rows, k_best * n_classes)
    rows = np.argsort(-proba, axis=0, kind="stable")[:depth].ravel()
    codes = np.tile(np.arange(n_classes), depth)
    taken: dict[int, int] = {}
    room = np.full(n_classes, k_best)
    for i in np.argsort(-proba[rows, codes], kind="stable"):
        row, code = int(rows[i]), int(codes[i])
        value = proba[row, code]
        if threshold is not None and not (value > threshold or value >= 1.0):
            break
        if room[code] and row not in taken:
            taken[row] = code
            room[code] -= 1
    chosen = np.fromiter(taken, dtype=np.intp, count=len(taken))
    return chosen, np.fromiter(taken.values(), dtype=np.intp, count=len(taken))


def nearest_distances(
    X: Any, reference: Any, metric: Any = "euclidean", metric_params: dict[str, Any] | None = None
) -> NDArray[np.float64]:
    """Return the distance from each row of ``X`` to the nearest row of ``reference``.

    Computed in blocks of rows of ``X``; neither a copy of ``X`` nor all distances are held.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._selection import nearest_distances
    >>> nearest_distances(np.array([[0.0], [5.0]]), np.array([[1.0], [8.0]]))
    array([1., 3.])
    """
    params = metric_params or {}
    # cdist takes differences; scikit-learn expands the square, which loses close distances.
    exact = metric == "euclidean" and not (sparse.issparse(X) or params)
    size = max(1, _DISTANCES_PER_BLOCK // max(reference.shape[0], 1))
    nearest = np.empty(X.shape[0])
    for start in range(0, X.shape[0], size):
        block = X[start : start + size]
        if exact:
            distances = cdist(block, reference)
        else:
            distances = pairwise_distances(block, reference, metric=metric, **params)
        nearest[start : start + size] = distances.min(axis=1)
    return nearest


def as_array(X: Any) -> Any:
    """Return the numbers of ``X``: a data frame becomes an array, all else stays.

    Raises
    ------
    ValueError
        If a column of the data frame is not numeric.
    """
    if not isinstance(X, pd.DataFrame):
        return X
    try:
        return X.to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "Distances between rows are needed, but X has columns that are not numeric. "
            "Encode them before this classifier instead of inside its estimator."
        ) from error


class NearestLabeled:
    """Distance from each row to the nearest labeled one, kept up as rows are labeled."""

    def __init__(
        self,
        X: Any,
        labels: NDArray[np.intp],
        metric: Any,
        metric_params: dict[str, Any] | None,
    ) -> None:
        self._X = as_array(X)
        self._metric, self._params = metric, metric_params
        self.nearest = np.full(len(labels), np.inf)
        self.add(np.flatnonzero(labels != UNLABELED))

    def add(self, rows: NDArray[np.intp]) -> None:
        """Take note that ``rows`` are labeled now."""
        if len(rows):
            found = nearest_distances(self._X, self._X[rows], self._metric, self._params)
            np.minimum(self.nearest, found, out=self.nearest)
