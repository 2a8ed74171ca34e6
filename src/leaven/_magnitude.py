"""Values that are too large to be squared."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

# The square of 1e150, summed over a hundred million rows, is still a floating point number.
MAX_MAGNITUDE = 1e150


def check_magnitude(caller: Any, X: Any, largest: float = MAX_MAGNITUDE) -> None:
    """Refuse values whose squares would overflow on the way, and name the column.

    Parameters
    ----------
    caller : estimator or str
        What the message speaks of.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    largest : float, default=1e150

    Examples
    --------
    >>> import numpy as np
    >>> from leaven._magnitude import check_magnitude
    >>> from leaven.graph_based import HarmonicClassifier
    >>> check_magnitude(HarmonicClassifier(), np.array([[1.0, 2.0]]))
    >>> check_magnitude(HarmonicClassifier(), np.array([[1.0, -2e200]]))
    Traceback (most recent call last):
    ...
    ValueError: HarmonicClassifier computes with squares of the values of X, and those of column 1
    are too large for that, up to 2e+200. Scale the columns first, for example by
    sklearn.preprocessing.StandardScaler.
    """
    if not X.shape[0] or not X.shape[1]:
        return
    ends = X.max(axis=0), X.min(axis=0)
    if sparse.issparse(X):
        ends = ends[0].toarray(), ends[1].toarray()
    sizes = np.maximum(np.abs(np.ravel(ends[0])), np.abs(np.ravel(ends[1])))
    column = int(sizes.argmax())
    if float(sizes[column]) > largest:
        name = caller if isinstance(caller, str) else type(caller).__name__
        raise ValueError(
            f"{name} computes with squares of the values of X, and those of "
            f"column {column} are too large for that, up to {sizes[column]:.3g}. Scale the columns "
            "first, for example by sklearn.preprocessing.StandardScaler."
        )
