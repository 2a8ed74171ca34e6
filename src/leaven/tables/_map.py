"""A map of a table in two dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.utils import check_random_state

MOST_POINTS = 2_000
"""Rows on the map; labeled ones come first."""


def map_points(
    Z: Any, given: NDArray[np.bool_], random_state: Any = 0, *, n_points: int = MOST_POINTS
) -> pd.DataFrame:
    """Place the rows of a prepared table on a map, by their principal components.

    Parameters
    ----------
    Z : {array, CSR matrix} of shape (n_samples, n_features)
        Weighted; sparse rows are not centered.
    given : bool array of shape (n_samples,)
        Rows with a label: all of them are on the map, and as many others as there is room for.
    random_state : int, RandomState instance or None, default=0
    n_points : int, default=2000

    Returns
    -------
    points : DataFrame
        ``row`` (position), ``x`` and ``y``.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.tables._map import map_points
    >>> map_points(np.eye(3, dtype=np.float32), np.zeros(3, dtype=bool)).columns.tolist()
    ['row', 'x', 'y']
    """
    rng = check_random_state(random_state)
    rows, others = np.flatnonzero(given), np.flatnonzero(~given)
    room = max(n_points - len(rows), 0)
    if len(others) > room:
        others = rng.choice(others, room, replace=False)
    rows = np.sort(np.concatenate([rows, others]))
    X = Z[rows]
    xy = np.zeros((len(rows), 2))
    n_components = min(2, X.shape[1] - sparse.issparse(X), len(rows) - 1)
    if n_components > 0:
        seed = int(rng.randint(np.iinfo(np.int32).max))
        if sparse.issparse(X):
            model: Any = TruncatedSVD(n_components, random_state=seed)
        else:
            model = PCA(n_components, random_state=seed)
        xy[:, :n_components] = model.fit_transform(X)
    return pd.DataFrame({"row": rows, "x": xy[:, 0], "y": xy[:, 1]})
