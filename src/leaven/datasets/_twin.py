"""A copy of a data set in which the features are independent given the class."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from leaven._labels import UNLABELED, encode_labels

_KINDS = ("categorical", "gaussian")


def make_independent_twin(
    X: Any,
    y: Any,
    *,
    kind: Any = "auto",
    n_samples: int | None = None,
    smoothing: float = 0.0,
    random_state: Any = None,
) -> tuple[Any, Any]:
    """Sample a data set like the given one, but with features independent given the class.

    A naive Bayes model is fitted to ``X`` and ``y``, and rows are drawn from it: the class
    first, then each feature from its distribution in that class. On the twin the model's
    assumption holds, so that comparing results on both tells what its violation costs
    (Saeed 2018, section 3.1.3 [1]_).

    Parameters
    ----------
    X : DataFrame or array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        The class of every row.
    kind : {"auto", "categorical", "gaussian"} or list of these, default="auto"
        How a column is modeled: by the frequencies of its values, among which a missing
        one counts as a value of its own, or by a mean and a variance. "auto" takes numbers
        as Gaussian and all else as categorical: say "categorical" if categories are coded
        by numbers. A list names the kind of each column.
    n_samples : int, default=None
        How many rows to draw, with the class proportions of ``y``; None draws as many rows
        of each class as ``y`` has.
    smoothing : float, default=0.0
        Added to the count of each value of a categorical column in each class. Zero keeps
        the frequencies of the data; one is the Laplace correction.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X_twin : DataFrame or ndarray of shape (n_samples, n_features)
        With the columns and dtypes of ``X``. Numbers are rounded in integer columns; in a
        Gaussian column as many values are missing, on average, as in that class of ``X``.
    y_twin : Series or ndarray of shape (n_samples,)
        In the dtype of ``y``. The rows are in random order.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia 2018, section 3.1.3.

    Examples
    --------
    The second column repeats the first; in the twin it no longer does.

    >>> import numpy as np
    >>> from leaven.datasets import make_independent_twin
    >>> x = np.random.default_rng(0).standard_normal(1000)
    >>> X_twin, y_twin = make_independent_twin(np.c_[x, x], np.zeros(1000, int), random_state=0)
    >>> bool(abs(np.corrcoef(X_twin.T)[0, 1]) < 0.1)
    True
    """
    frame = _as_frame(X)
    classes, codes = encode_labels(y)
    check_consistent_length(frame, codes)
    if (codes == UNLABELED).any():
        raise ValueError(
            f"{int((codes == UNLABELED).sum())} rows of y have no label. A twin is made from "
            "the class of every row: pass the true classes, or the labeled rows only."
        )
    if not (np.isfinite(smoothing) and smoothing >= 0):
        raise ValueError(f"smoothing must be a number that is not negative, got {smoothing!r}.")
    kinds = _column_kinds(frame, kind)
    rng = check_random_state(random_state)
    drawn = rng.permutation(np.repeat(np.arange(len(classes)), _class_counts(codes, n_samples)))
    columns = []
    for position, how in enumerate(kinds):
        column = frame.iloc[:, position]
        if how == "gaussian":
            columns.append(_like(column, sample_gaussian(_numbers(column), codes, drawn, rng)))
            continue
        values, first = _value_codes(column)
        sampled = sample_categorical(values, codes, drawn, rng, smoothing)
        # Rows that hold the value are copied, so that its type, or what marks a missing
        # one, is kept as it is.
        columns.append(column.iloc[first[sampled]].reset_index(drop=True))
    # The row of y that stands for a class keeps the dtype of y.
    first_row = np.array([np.flatnonzero(codes == c)[0] for c in range(len(classes))])
    rows = first_row[drawn]
    y_twin = y.iloc[rows].reset_index(drop=True) if isinstance(y, pd.Series) else classes[drawn]
    if isinstance(X, pd.DataFrame):
        twin = pd.concat(columns, axis=1) if columns else frame.iloc[rows].reset_index(drop=True)
        twin.columns = X.columns
        return twin, y_twin
    values = np.empty((len(drawn), frame.shape[1]), dtype=np.asarray(X).dtype)
    for position, column in enumerate(columns):
        values[:, position] = column.to_numpy()
    return values, y_twin


def sample_categorical(
    values: NDArray[np.intp],
    codes: NDArray[np.intp],
    drawn: NDArray[np.intp],
    rng: np.random.RandomState,
    smoothing: float = 0.0,
) -> NDArray[np.intp]:
    """Draw a value for each entry of ``drawn`` from the frequencies in its class.

    The probability of value s in class c is ``(n_sc + smoothing) / Σ_m (n_mc + smoothing)``,
    where ``n_sc`` counts the rows of class c with value s.
    """
    n_values = int(values.max()) + 1
    sampled = np.empty(len(drawn), dtype=np.intp)
    for c in np.unique(drawn):
        weight = np.bincount(values[codes == c], minlength=n_values) + smoothing
        rows = np.flatnonzero(drawn == c)
        sampled[rows] = rng.choice(n_values, size=len(rows), p=weight / weight.sum())
    return sampled


def sample_gaussian(
    values: NDArray[np.float64],
    codes: NDArray[np.intp],
    drawn: NDArray[np.intp],
    rng: np.random.RandomState,
) -> NDArray[np.float64]:
    """Draw a number for each entry of ``drawn`` from the normal distribution of its class.

    Mean and variance are those of the numbers that are not missing (the variance by the
    maximum of the likelihood); the share of missing ones in a class is kept.
    """
    sampled = np.empty(len(drawn))
    for c in np.unique(drawn):
        rows = np.flatnonzero(drawn == c)
        own = values[codes == c]
        given = own[~np.isnan(own)]
        if not len(given):
            sampled[rows] = np.nan
            continue
        sampled[rows] = given.mean() + given.std() * rng.standard_normal(len(rows))
        if len(given) < len(own):
            sampled[rows[rng.uniform(size=len(rows)) >= len(given) / len(own)]] = np.nan
    return sampled


def _as_frame(X: Any) -> pd.DataFrame:
    if sparse.issparse(X):
        raise TypeError("X is sparse, but a twin is dense. Pass X.toarray() if it is small enough.")
    if isinstance(X, pd.DataFrame):
        return X
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {array.ndim}.")
    return pd.DataFrame(array).infer_objects()


def _column_kinds(frame: pd.DataFrame, kind: Any) -> list[str]:
    asked = [kind] * frame.shape[1] if isinstance(kind, str) else list(kind)
    if len(asked) != frame.shape[1]:
        raise ValueError(
            f"kind names {len(asked)} columns, but X has {frame.shape[1]}: give one kind for all, "
            "or one for each column."
        )
    kinds = []
    for position, how in enumerate(asked):
        if how not in {"auto", *_KINDS}:
            raise ValueError(f"kind must be 'auto', 'categorical' or 'gaussian', got {how!r}.")
        dtype = frame.dtypes.iloc[position]
        numeric = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
        if how == "gaussian" and not numeric:
            raise ValueError(
                f"Column {frame.columns[position]!r} has dtype {dtype}, which has no mean. Use "
                "kind='auto' or kind='categorical'."
            )
        kinds.append(("gaussian" if numeric else "categorical") if how == "auto" else how)
    return kinds


def _class_counts(codes: NDArray[np.intp], n_samples: int | None) -> NDArray[np.intp]:
    """How many rows to draw of each class."""
    counts = np.bincount(codes)
    if n_samples is None:
        return counts
    if isinstance(n_samples, bool) or not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples must be a positive integer or None, got {n_samples!r}.")
    # Largest remainders: the counts add up to n_samples.
    exact = counts * (int(n_samples) / counts.sum())
    chosen = np.floor(exact).astype(np.intp)
    missing = int(n_samples) - int(chosen.sum())
    chosen[np.argsort(chosen - exact, kind="stable")[:missing]] += 1
    return chosen


def _numbers(column: pd.Series[Any]) -> NDArray[np.float64]:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _like(column: pd.Series[Any], values: NDArray[np.float64]) -> pd.Series[Any]:
    """Bring numbers into the dtype of ``column``."""
    if pd.api.types.is_integer_dtype(column.dtype):
        info = np.iinfo(
            column.dtype.numpy_dtype if hasattr(column.dtype, "numpy_dtype") else column.dtype
        )
        values = np.clip(np.rint(values), info.min, info.max)
    return pd.Series(values, name=column.name).astype(column.dtype)


def _value_codes(column: pd.Series[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number the distinct values of a column, and find the first row of each."""
    values = np.asarray(pd.factorize(column, use_na_sentinel=False)[0], dtype=np.intp)
    return values, np.unique(values, return_index=True)[1]
