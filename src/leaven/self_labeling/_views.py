"""Two views of the same rows: columns, transformers, or columns split at random."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from leaven.base import normalize_rows
from leaven.exceptions import LeavenWarning


def column_indices(
    columns: Any, n_features: int, names: NDArray[Any] | None = None, X: Any = None
) -> NDArray[np.intp]:
    """Return the positions of the ``columns`` of a view.

    Parameters
    ----------
    columns : str, int, slice, list of str, list of int, bool mask or callable
        A slice may be of positions or, both ends included, of names. A callable is given
        ``X`` and returns one of the others, as those of
        :func:`sklearn.compose.make_column_selector` do.
    n_features : int
    names : ndarray of shape (n_features,), default=None
        Column names, if there are any.
    X : object, default=None
        Handed to a callable.

    Returns
    -------
    indices : ndarray
        In the order given.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._views import column_indices
    >>> column_indices(["c", "a"], 3, np.array(["a", "b", "c"]))
    array([2, 0])
    >>> column_indices([True, False, True], 3)
    array([0, 2])
    >>> column_indices(slice(-2, None), 3)
    array([1, 2])
    """
    if callable(columns):
        columns = columns(X)
    if isinstance(columns, slice):
        if isinstance(columns.start, str) or isinstance(columns.stop, str):
            return _name_slice(columns, n_features, names)
        return np.arange(n_features)[columns]
    if isinstance(columns, str) or np.ndim(columns) == 0:
        columns = [columns]
    values = np.asarray(columns)
    if values.ndim != 1:
        raise ValueError(f"A view must list columns in one dimension; it has shape {values.shape}.")
    if not len(values):
        return np.empty(0, dtype=np.intp)
    if values.dtype.kind == "b":
        if len(values) != n_features:
            raise ValueError(
                f"A view is a mask of {len(values)} columns, but X has {n_features} features."
            )
        return np.flatnonzero(values)
    if values.dtype.kind in "iu":
        indices = values.astype(np.intp)
        outside = (indices < -n_features) | (indices >= n_features)
        if outside.any():
            raise ValueError(
                f"A view asks for the columns {indices[outside].tolist()}, but X has "
                f"{n_features} features, numbered from 0 to {n_features - 1}."
            )
        return np.where(indices < 0, indices + n_features, indices)
    return _name_indices(list(columns), names)


def _name_indices(columns: list[Any], names: NDArray[Any] | None) -> NDArray[np.intp]:
    if names is None:
        raise ValueError(
            f"A view names the columns {columns}, but X has no column names. Pass a DataFrame "
            "whose column names are strings, or give the positions of the columns."
        )
    indices = pd.Index(names).get_indexer(pd.Index(columns))
    if (indices < 0).any():
        absent = [name for name, i in zip(columns, indices, strict=True) if i < 0]
        raise ValueError(f"A view names columns that X does not have: {absent}.")
    return np.asarray(indices, dtype=np.intp)


def _name_slice(columns: slice, n_features: int, names: NDArray[Any] | None) -> NDArray[np.intp]:
    ends = [name for name in (columns.start, columns.stop) if name is not None]
    found = _name_indices(ends, names).tolist()
    start = found[0] if columns.start is not None else 0
    stop = found[-1] if columns.stop is not None else n_features - 1
    return np.arange(start, stop + 1)[:: columns.step]


def fit_views(
    views: Any, X: Any, names: NDArray[Any] | None, rng: np.random.RandomState
) -> tuple[Any, Any]:
    """Turn the parameter ``views`` into two fitted views, for :func:`take_view`.

    Parameters
    ----------
    views : pair of columns or transformers, or None
        Transformers are cloned and fitted on all rows of ``X``, without labels. None splits
        the columns at random into two halves.
    X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
    names : ndarray of shape (n_features,) or None
    rng : RandomState

    Returns
    -------
    first, second
        Each an array of column positions or a fitted transformer.
    """
    n_features = X.shape[1]
    if views is None:
        if n_features < 2:
            raise ValueError(
                f"views=None splits the columns of X into two views, but X has {n_features} "
                "feature(s). Two views need at least 2; give views= as two transformers, or use "
                "SelfTrainingClassifier."
            )
        order = rng.permutation(n_features)
        half = (n_features + 1) // 2
        return np.sort(order[:half]), np.sort(order[half:])
    try:
        first, second = views
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"views must be a pair of column lists or of transformers, or None; got {views!r}."
        ) from error
    fitted = []
    for number, view in enumerate((first, second)):
        if hasattr(view, "transform"):
            fitted.append(clone(view).fit(X))
            continue
        indices = column_indices(view, n_features, names, X)
        if not len(indices):
            raise ValueError(
                f"views[{number}] has no columns: {view!r}. Each view needs at least one column "
                f"of the {n_features} of X."
            )
        fitted.append(indices)
    if all(isinstance(view, np.ndarray) for view in fitted):
        _warn_of_overlap(fitted[0], fitted[1], names)
    return fitted[0], fitted[1]


def _warn_of_overlap(
    first: NDArray[np.intp], second: NDArray[np.intp], names: NDArray[Any] | None
) -> None:
    both = np.intersect1d(first, second)
    if len(both):
        shown = (both if names is None else names[both]).tolist()[:5]
        more = ", ..." if len(both) > 5 else ""
        warnings.warn(
            f"The two views share {len(both)} columns: {', '.join(map(str, shown))}{more}. What "
            "one view can teach the other shrinks with what they share.",
            LeavenWarning,
            stacklevel=4,
        )


def take_view(X: Any, view: Any) -> Any:
    """Return the rows of ``X`` in one of the views of :func:`fit_views`."""
    if hasattr(view, "transform"):
        return view.transform(X)
    return X.iloc[:, view] if isinstance(X, pd.DataFrame) else X[:, view]


def pair_of_estimators(estimator: Any) -> tuple[Any, Any]:
    """Return the estimators of the two views: a pair, or one estimator for both."""
    if isinstance(estimator, (tuple, list)):
        if len(estimator) != 2:
            raise ValueError(
                f"estimator must be one classifier or a pair of them, one for each view; got "
                f"{len(estimator)}."
            )
        first, second = estimator
    else:
        first = second = estimator
    for each in (first, second):
        if not (hasattr(each, "fit") and hasattr(each, "predict")):
            raise TypeError(
                f"estimator must be a classifier or a pair of classifiers; got {each!r}, which "
                "has no fit and predict."
            )
    return first, second


def multiply_views(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Combine two views by ``P(c|x) ∝ P(c|x1) P(c|x2)``.

    A row to which the views give no common class gets the mean of the two.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._views import multiply_views
    >>> multiply_views(np.array([[0.75, 0.25], [1.0, 0.0]]), np.array([[0.5, 0.5], [0.0, 1.0]]))
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    product = first * second
    nothing = product.sum(axis=1) == 0
    product[nothing] = (first[nothing] + second[nothing]) / 2
    return normalize_rows(product)
