"""Rows of any kind of table, and clones with seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state


def take_rows(X: Any, rows: Any) -> Any:
    """Return some rows of an array, a sparse matrix, a data frame, a series or a list.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, ...)
    rows : array-like of int or bool, or slice
        Places or a mask; of a data frame places too, whatever its index.

    Returns
    -------
    X : of the kind of ``X``
        Sparse rows come as CSR. A slice of an array is a view, everything else a copy.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.base import take_rows
    >>> take_rows(pd.DataFrame({"a": [5, 6, 7]}, index=[2, 1, 0]), [2, 0])
       a
    0  7
    2  5
    >>> take_rows(["one", "two", "three"], [2, 0])
    ['three', 'one']
    """
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sparse.issparse(X):
        as_csr: Any = sparse.csr_array if isinstance(X, sparse.sparray) else sparse.csr_matrix
        return as_csr(X)[rows]
    if isinstance(X, (list, tuple)):
        places = np.arange(len(X))[rows if isinstance(rows, slice) else np.asarray(rows)]
        return [X[place] for place in places]
    return X[rows]


def seeded_clone(estimator: Any, seed: int | np.random.RandomState) -> Any:
    """Clone an estimator, and set every ``random_state`` in it that is None.

    Parameters
    ----------
    estimator : estimator
        Not changed. Nested parameters, such as those of the steps of a pipeline, are set too;
        a ``random_state`` that is given stays.
    seed : int or RandomState
        The same integer gives the same clone; a RandomState moves on.

    Returns
    -------
    estimator

    Examples
    --------
    >>> from sklearn.linear_model import Perceptron
    >>> from leaven.base import seeded_clone
    >>> seeded_clone(Perceptron(), 7).random_state == seeded_clone(Perceptron(), 7).random_state
    True
    >>> seeded_clone(Perceptron(random_state=3), 7).random_state
    3
    """
    rng = check_random_state(seed)
    copy = clone(estimator)
    free = {
        name: int(rng.randint(np.iinfo(np.int32).max))
        for name, value in sorted(copy.get_params(deep=True).items())
        if value is None and name.rpartition("__")[2] == "random_state"
    }
    return copy.set_params(**free) if free else copy
