"""Choosing a batch: top scorers, ties at random, and rows that differ from each other."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import pairwise_distances_argmin, pairwise_distances_argmin_min
from sklearn.preprocessing import OneHotEncoder, normalize

DIVERSITIES = ("kmeans", "core-set")

# A diverse batch of n is chosen among the 10 n best rows (Zhdanov 2019, beta = 10).
_CANDIDATES_PER_ROW = 10

# Categories per column that have a coordinate of their own; the rare ones share one, so that a
# column of names does not make a thousand.
_MAX_CATEGORIES = 20


def top_rows(
    scores: NDArray[Any], n_rows: int, rng: np.random.RandomState, *, best: int | None = None
) -> NDArray[np.intp]:
    """Return the places of the ``n_rows`` largest scores, ties in random order.

    Rows that were not evaluated (``-inf``) come last, in random order, so that a strategy
    that looks at a sample of the pool still fills a large batch.

    Parameters
    ----------
    scores : ndarray of shape (n_pool,)
    n_rows : int
    rng : RandomState
        Always asked for one number per row: a larger batch starts with the smaller one.
    best : int, default=None
        Return only the first so many of the evaluated rows beyond ``n_rows``; None is none.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.active._batch import top_rows
    >>> top_rows(np.array([0.2, -np.inf, 0.9, 0.5]), 2, np.random.RandomState(0))
    array([2, 3])
    """
    scores = np.asarray(scores, dtype=np.float64)
    if np.isnan(scores).any():
        raise ValueError(
            f"The strategy gave NaN as the score of {int(np.isnan(scores).sum())} of "
            f"{len(scores)} rows. Scores are numbers; -inf stands for 'not evaluated'."
        )
    # Random numbers settle ties: a pool of equal scores must not be asked in the order of the file.
    order = np.lexsort((rng.random_sample(len(scores)), -scores))
    wanted = n_rows
    if best is not None:
        wanted = max(n_rows, min(best, int(np.sum(scores > -np.inf))))
    return order[:wanted]


def choose_batch(
    scores: NDArray[Any],
    n_rows: int,
    rng: np.random.RandomState,
    *,
    diversity: str | None = None,
    points: Any = None,
    known: Any = None,
) -> NDArray[np.intp]:
    """Choose ``n_rows`` places of the pool by score, and by difference if asked for.

    Parameters
    ----------
    scores : ndarray of shape (n_pool,)
    n_rows : int
    rng : RandomState
    diversity : {None, "kmeans", "core-set"}
    points : array or sparse array of shape (n_pool, n_features)
        Rows of the pool, for the distances; see :func:`as_points`.
    known : array or sparse array of shape (n_known, n_features)
        Rows that have a label already: ``"core-set"`` keeps away from these too.

    Returns
    -------
    chosen : ndarray of shape (n_rows,)
        The first is the best scorer, or for ``"core-set"`` the candidate farthest from the
        known rows.

    Examples
    --------
    The two best scorers are neighbors; a diverse batch takes one of them.

    >>> import numpy as np
    >>> from leaven.active import choose_batch
    >>> points = np.array([[0.0], [0.1], [9.0], [5.0]])
    >>> scores, rng = np.array([0.9, 0.8, 0.7, 0.0]), np.random.RandomState(0)
    >>> choose_batch(scores, 2, rng)
    array([0, 1])
    >>> choose_batch(scores, 2, rng, diversity="core-set", points=points, known=points[3:])
    array([0, 2])
    """
    if diversity is None or n_rows < 2:
        return top_rows(scores, n_rows, rng)
    # Diverse among the good: without this cut a batch would be spread over rows nobody asked for.
    candidates = top_rows(scores, n_rows, rng, best=_CANDIDATES_PER_ROW * n_rows)
    if len(candidates) <= n_rows:
        return candidates
    among = points[candidates]
    if diversity == "kmeans":
        picked = spread_by_kmeans(among, scores[candidates], n_rows, rng)
    else:
        picked = spread_by_core_set(among, n_rows, known)
    return candidates[picked]


def spread_by_kmeans(
    points: Any, scores: NDArray[Any], n_rows: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Take the row nearest to each of ``n_rows`` centers of k-means, weighted by score.

    Zhdanov, "Diverse mini-batch active learning", 2019, algorithm 1. Weights are the scores
    above the lowest one, since scores may be negative.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.active._batch import spread_by_kmeans
    >>> points = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> rows = spread_by_kmeans(points, np.ones(6), 2, np.random.RandomState(0))
    >>> sorted(rows.tolist())
    [1, 4]
    """
    finite = np.where(np.isfinite(scores), scores, scores[np.isfinite(scores)].min(initial=0.0))
    weights = finite - finite.min()
    span = weights.max()
    # The lowest candidate keeps some weight: it may be alone where it is.
    weights = weights / span + 0.01 if span > 0 else np.ones(len(weights))
    # k-means warns where it has fewer distinct points than clusters.
    n_distinct = _n_distinct(points, n_rows)
    model = KMeans(n_distinct, n_init=1, random_state=int(rng.randint(2**31 - 1)))
    model.fit(points, sample_weight=weights)
    nearest = pairwise_distances_argmin(model.cluster_centers_, points)
    # Two centers may share their nearest row; it is taken once.
    picked = list(dict.fromkeys(nearest.tolist()))
    # Best score first; then, should centers share a row, the best of the others.
    picked.sort(key=lambda row: -float(finite[row]))
    taken = set(picked)
    picked += [row for row in range(len(scores)) if row not in taken][: n_rows - len(picked)]
    return np.asarray(picked, dtype=np.intp)


def spread_by_core_set(points: Any, n_rows: int, known: Any = None) -> NDArray[np.intp]:
    """Take, again and again, the row farthest from those taken and from ``known`` ones.

    The greedy k-center rule of Sener and Savarese, "Active learning for convolutional neural
    networks: a core-set approach", ICLR 2018, algorithm 1. With no known row the first of
    ``points`` starts.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.active._batch import spread_by_core_set
    >>> spread_by_core_set(np.array([[0.0], [1.0], [5.0], [9.0]]), 3)
    array([0, 3, 2])
    """
    n_points = points.shape[0]
    chosen: list[int] = []
    if known is not None and known.shape[0]:
        distance = pairwise_distances_argmin_min(points, known)[1]
    else:
        chosen.append(0)
        distance = pairwise_distances_argmin_min(points, points[[0]])[1]
    taken = np.zeros(n_points, dtype=bool)
    taken[chosen] = True
    while len(chosen) < n_rows:
        # Rows equal to a taken one are at distance zero; they come before a taken one again.
        row = int(np.argmax(np.where(taken, -1.0, distance)))
        chosen.append(row)
        taken[row] = True
        distance = np.minimum(distance, pairwise_distances_argmin_min(points, points[[row]])[1])
    return np.asarray(chosen, dtype=np.intp)


def as_points(X: Any) -> Any:
    """Give the rows of ``X`` as numbers between which distances mean something.

    - Columns of numbers are scaled to variance one; NaN becomes the mean.
    - Other columns of a data frame are one-hot encoded, the 20 most frequent values each.
    - Sparse rows are scaled to length one, as is usual for word counts.
    - Texts (one string per row) become tf-idf rows.

    What the estimator does inside a pipeline is not known here; this view serves the start
    and diverse batches only.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or texts

    Returns
    -------
    points : ndarray or sparse array of shape (n_samples, n_coordinates)

    Examples
    --------
    >>> from leaven.active import as_points
    >>> as_points([[1.0, 5.0], [3.0, 5.0]])
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    if sparse.issparse(X):
        return normalize(sparse.csr_array(X).astype(np.float64))
    if isinstance(X, pd.DataFrame):
        numeric = X.select_dtypes(include=["number", "bool"])
        parts = [_standardized(numeric.to_numpy(dtype=np.float64, na_value=np.nan))]
        other = X.drop(columns=numeric.columns)
        if other.shape[1]:
            encoder = OneHotEncoder(max_categories=_MAX_CATEGORIES, sparse_output=False)
            objects: Any = other.astype(object)  # the stubs of pandas 2 know no fill of None
            parts.append(encoder.fit_transform(objects.where(other.notna(), None)))
        return np.hstack(parts)
    X = np.asarray(X)
    if X.ndim == 1:
        try:
            return TfidfVectorizer().fit_transform([str(text) for text in X])
        except ValueError:  # no word in any text
            return np.zeros((len(X), 1))
    if X.dtype.kind in "OUS":
        try:
            X = X.astype(np.float64)
        except ValueError:
            encoder = OneHotEncoder(max_categories=_MAX_CATEGORIES, sparse_output=False)
            return np.asarray(encoder.fit_transform(X.astype(object)))
    return _standardized(X.astype(np.float64))


def _standardized(values: NDArray[np.float64]) -> NDArray[np.float64]:
    missing = np.isnan(values)
    if missing.any():
        counts = np.maximum((~missing).sum(axis=0), 1)
        # Not nanmean, which warns of a column that is empty throughout.
        means = np.where(missing, 0.0, values).sum(axis=0) / counts
        values = np.where(missing, means, values)
    spread = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _n_distinct(points: Any, at_most: int) -> int:
    """Count distinct rows up to ``at_most``: k-means warns if it has more centers."""
    if sparse.issparse(points):
        csr = sparse.csr_array(points)
        csr.sort_indices()
        ends = csr.indptr
        keys = {(csr.indices[a:b].tobytes(), csr.data[a:b].tobytes()) for a, b in pairwise(ends)}
        return min(at_most, len(keys))
    return min(at_most, len(np.unique(points, axis=0)))
