"""Rows that have learned from an answer: a graph of them joins rows of one class more often.

Distances of columns count every column alike, whatever it says about the classes. A smooth function
of the columns that is fitted to an answer knows better, and does not follow the answer where
single rows contradict those around them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.preprocessing import normalize

# Rows whose kernels the function is a sum of: time and memory grow with their square.
MAX_LANDMARKS = 1_000

# Of the squared norm of the function, beside squared errors.
PENALTY = 0.1

# Size of the scores beside the columns, which have the mean square 1
# (`python benchmarks/learned_graph.py` has half and twice as much beside it).
SHARE = 0.5

# Added to the diagonal of the normal equations, relative to its mean: landmarks may be equal, and
# rounding is below a hundredth of it.
_JITTER = 1e-10

# Rows whose kernels are held at a time: with all landmarks 16 MB.
_BLOCK = 2_000


def learned_rows(X: Any, labels: NDArray[np.intp], n_classes: int, *, cosine: bool) -> Any:
    r"""The rows with scores of their classes beside the columns.

    The scores are those of :func:`left_out_scores`; columns and scores are centered and divided
    by the root of their mean square, and the scores are halved. Sparse rows stay sparse and are
    divided only. Under the cosine the columns are divided by the length of each row instead.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
    labels : ndarray of shape (n_samples,)
        An answer: the class of every row.
    n_classes : int
    cosine : bool
        Whether rows are compared by their angle.

    Returns
    -------
    {ndarray, sparse matrix} of shape (n_samples, n_features + n_classes)

    Examples
    --------
    The last row has the class of the other side, and its scores do not follow it:

    >>> import numpy as np
    >>> from leaven.graph_based._learned_rows import learned_rows
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> Z = learned_rows(X, np.array([0, 0, 0, 1, 1, 0]), 2, cosine=False)
    >>> (Z[:, 2] > Z[:, 1]).tolist()
    [False, False, False, True, True, True]
    """
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()  # SciPy would sort the rows in place, and these are not ours
    rows = normalize(X) if cosine else _standardized(_without_extremes(X))
    scores = SHARE * _standardized(left_out_scores(rows, labels, n_classes))
    if sparse.issparse(rows):
        return sparse.hstack([rows, sparse.csr_array(scores)], format="csr", dtype=X.dtype)
    return np.hstack([rows, scores]).astype(X.dtype, copy=False)


def left_out_scores(X: Any, labels: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    r"""Scores of the classes at each row, by the labels of all other rows.

    Least squares of the one-hot labels on Gaussian kernels of landmarks [1]_,

    .. math:: \min_\alpha \lVert K\alpha - Y \rVert^2 + \lambda\, \alpha^\top K_m \alpha ,

    whose prediction for a row without its own label is
    :math:`(\hat y_i - h_i y_i) / (1 - h_i)` with the leverage
    :math:`h_i = k_i^\top (K^\top K + \lambda K_m)^{-1} k_i`.
    The bandwidth is the median distance of two landmarks. Up to 1,000 rows all are landmarks.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
    labels : ndarray of shape (n_samples,)
    n_classes : int

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    References
    ----------
    .. [1] C. K. I. Williams and M. Seeger, "Using the Nyström method to speed up kernel machines",
       NIPS 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._learned_rows import left_out_scores
    >>> X = np.array([[0.0], [0.1], [9.0], [9.1]])
    >>> left_out_scores(X, np.array([0, 0, 1, 1]), 2).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    n = X.shape[0]
    chosen = np.arange(n)
    if n > MAX_LANDMARKS:
        chosen = np.sort(np.random.default_rng(0).choice(n, MAX_LANDMARKS, replace=False))
    landmarks = X[chosen].astype(np.float64)  # seven digits would not hold the sums of squares
    squared = euclidean_distances(landmarks, squared=True)
    typical = float(np.median(squared[~np.eye(len(chosen), dtype=bool)])) if n > 1 else 0.0
    gamma = 1.0 / typical if typical > 0 else 1.0
    blocks = [slice(low, low + _BLOCK) for low in range(0, n, _BLOCK)]
    targets = np.eye(n_classes)[labels] - 1.0 / n_classes
    gram = PENALTY * np.exp(-gamma * squared)
    right = np.zeros((len(chosen), n_classes))
    for block in blocks:
        K = rbf_kernel(X[block].astype(np.float64), landmarks, gamma)
        gram += K.T @ K
        right += K.T @ targets[block]
    gram[np.diag_indices_from(gram)] += _JITTER * np.trace(gram) / len(gram)
    factor = cho_factor(gram, lower=True, overwrite_a=True)
    alpha = cho_solve(factor, right)
    scores = np.empty((n, n_classes))
    for block in blocks:
        K = rbf_kernel(X[block].astype(np.float64), landmarks, gamma)
        half = solve_triangular(factor[0], K.T, lower=True)
        leverage = (half**2).sum(axis=0)[:, None]  # at most 1 / (1 + λ), of a row by itself
        scores[block] = (K @ alpha - leverage * targets[block]) / (1.0 - leverage)
    return scores


def _without_extremes(X: Any) -> Any:
    """Divide by a power of two near the largest value, so that squares are numbers, and not 0."""
    largest = float(abs(X).max()) if X.shape[0] and X.shape[1] else 0.0
    return X * 0.5 ** np.floor(np.log2(largest)) if largest > 0 else X


def _standardized(values: Any) -> Any:
    """Center the columns, and give the rows the mean square 1.

    Sparse rows are divided only: the center is nothing to the distances between them.
    """
    center = np.asarray(values.mean(axis=0)).reshape(1, -1)
    if sparse.issparse(values):
        size = np.sqrt(max(values.multiply(values).sum() / values.shape[0] - (center**2).sum(), 0))
        return values / size if size > 0 else values
    centered = values - center
    size = np.sqrt((centered**2).sum(axis=1).mean())
    return centered / size if size > 0 else centered
