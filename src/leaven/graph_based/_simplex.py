"""The nearest probabilities to scores that were meant to be ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def project_to_simplex(scores: NDArray[Any]) -> NDArray[Any]:
    """Replace each row by the nearest vector that is non-negative and sums to one.

    One number is taken off a whole row and what falls below zero is set to zero, so the
    order within a row is kept, and its largest entry stays the largest.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    References
    ----------
    J. Duchi, S. Shalev-Shwartz, Y. Singer and T. Chandra, "Efficient projections onto the
    l1-ball for learning in high dimensions", ICML 2008, figure 1.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._simplex import project_to_simplex
    >>> project_to_simplex(np.array([[0.2, 0.8], [1.5, -0.5], [0.25, 0.5]]))
    array([[0.2  , 0.8  ],
           [1.   , 0.   ],
           [0.375, 0.625]])
    """
    # A constant changes nothing, and next to 1e16 the one that is taken away would be lost.
    scores = scores - scores.max(axis=1, keepdims=True)
    falling = -np.sort(-scores, axis=1)
    excess = np.cumsum(falling, axis=1) - 1.0
    count = np.arange(1, scores.shape[1] + 1)
    # The entries that stay positive are the largest ones, and this holds for exactly those.
    support = (falling * count > excess).sum(axis=1)
    shift = excess[np.arange(len(scores)), support - 1] / support
    return np.asarray(np.maximum(scores - shift[:, None], 0.0).astype(scores.dtype, copy=False))
