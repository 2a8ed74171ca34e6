"""Thresholds at which the classes get exactly their known proportions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaven.graph_based._volumes import assign_volumes


def class_sizes(prior: NDArray[Any], n_rows: int) -> NDArray[np.int64]:
    """Round ``prior * n_rows`` to whole rows that add up, by largest remainder.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._threshold import class_sizes
    >>> class_sizes(np.array([0.5, 0.3, 0.2]), 9)
    array([4, 3, 2])
    """
    exact = np.asarray(prior, dtype=np.float64) / np.sum(prior) * n_rows
    sizes: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    largest = np.argsort(sizes - exact, kind="stable")[: n_rows - int(sizes.sum())]
    sizes[largest] += 1
    return sizes


def proportion_thresholds(scores: ArrayLike, prior: ArrayLike) -> NDArray[np.float64]:
    r"""Return thresholds b such that the classes of largest ``scores - b`` have given shares.

    Zhu, Ghahramani and Lafferty (2003), section 7, name it beside class mass normalization:
    "we could also have adjusted the decision threshold, so that the class proportion fits the
    prior". For two classes it moves the threshold of f between two rows; for more, b are the
    prices of the assignment

    .. math:: \max_\ell \sum_i f_{i \ell_i} \quad\text{with}\quad
              |\{i : \ell_i = c\}| = q_c n .

    They found it inferior to class mass normalization where q is estimated, because it fits the
    error of the estimate. It is the better rule where q is known.

    Parameters
    ----------
    scores : array-like of shape (n_samples, n_classes)
        Scores f of the unlabeled rows.
    prior : array-like of shape (n_classes,)
        The known proportion q of each class.

    Returns
    -------
    ndarray of shape (n_classes,)
        b, in the middle of what is possible, with mean zero over classes that have rows. Rows
        with the same scores stay together, so that shares may be off where scores tie.

    Examples
    --------
    All rows have the larger score in the first class; half of them should not:

    >>> import numpy as np
    >>> from leaven.graph_based import proportion_thresholds
    >>> f = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> b = proportion_thresholds(f, [0.5, 0.5])
    >>> (f - b).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    F = np.asarray(scores, dtype=np.float64)
    q = np.asarray(prior, dtype=np.float64)
    if F.ndim != 2 or q.shape != (F.shape[1],):
        raise ValueError(f"scores has shape {F.shape}, but prior has shape {q.shape}.")
    if len(F) == 0 or (q < 0).any() or q.sum() == 0:
        raise ValueError("There must be rows in scores, and prior must not be negative or zero.")
    sizes = class_sizes(q, len(F))
    labels, _ = assign_volumes(F, sizes, sizes)
    return _middle_prices(F, labels)


def _middle_prices(F: NDArray[np.float64], labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Prices at which every row likes its label best, far from those at which one does not.

    ``b_a - b_c`` is at most what the row of class a that likes c best loses by the change. Such
    differences are met by shortest paths, and by the middle of the longest and the shortest.
    """
    k = F.shape[1]
    used = np.flatnonzero(np.bincount(labels, minlength=k))
    gap = np.full((len(used), len(used)), np.inf)
    for row, a in enumerate(used):
        rows = F[labels == a]
        gap[row] = (rows[:, [a]] - rows[:, used]).min(axis=0)
    for via in range(len(used)):
        gap = np.minimum(gap, gap[:, [via]] + gap[[via]])
    # Paths to and from each class in turn, so that no class is treated differently.
    b_used = ((gap - gap.T) / 2.0).mean(axis=1)
    b = np.empty(k)
    b[used] = b_used - b_used.mean()
    for c in np.setdiff1d(np.arange(k), used):
        # A class that should have no row: one more than any row would pay.
        best = (F[:, used] - b[used]).max(axis=1)
        b[c] = (F[:, c] - best).max() + 1.0
    return b
