"""What is labeled and what is not: the only module that knows the marks.

Everything above works with integer codes: ``0 .. n_classes - 1`` for the classes and
:data:`UNLABELED` for rows without a label. The user's marks (``-1`` in integers; ``None``,
``NaN`` and ``pandas.NA`` elsewhere) and the user's dtype stay in here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

# The code of a row without a label, and the mark of one in an integer array.
UNLABELED = -1

_HOW_TO_MARK = "Mark unlabeled rows with None, NaN or pandas.NA"


@dataclass(frozen=True, eq=False)
class EncodedLabels:
    """Labels that are encoded already, which every ``fit`` of leaven takes in place of ``y``.

    For callers inside leaven, who have checked and encoded the labels once: such a ``fit``
    neither does it again nor checks its parameters. As an array it is its codes.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The sorted class names.
    codes : ndarray of shape (n_samples,)
        0 .. n_classes - 1, and :data:`UNLABELED`. Every class has a row.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven._labels import EncodedLabels, encode_labels
    >>> encode_labels(EncodedLabels(np.array(["a", "b"]), np.array([1, -1, 0])))
    (array(['a', 'b'], dtype='<U1'), array([ 1, -1,  0]))
    """

    classes: NDArray[Any]
    codes: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.codes)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        codes = np.asarray(self.codes, dtype=dtype)
        return codes.copy() if copy else codes


def encode_labels(y: Any, *, min_classes: int = 1) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Encode labels as ``0 .. n_classes - 1``, with :data:`UNLABELED` for missing ones.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Integers with -1, or anything else with None, NaN or pandas.NA, where a row is
        unlabeled. Class names may be strings, integers or booleans.
    min_classes : int, default=1
        Fewer distinct labels than this are an error.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        The sorted class names, in the dtype of ``y``.
    codes : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from leaven._labels import encode_labels
    >>> encode_labels(["spam", None, "ham", None])
    (array(['ham', 'spam'], dtype=object), array([ 1, -1,  0, -1]))
    >>> encode_labels([7, -1, 3])
    (array([3, 7]), array([ 1, -1,  0]))
    """
    if isinstance(y, EncodedLabels):
        return y.classes, y.codes
    values, missing = _values_and_missing(y)
    if missing.all():
        raise ValueError(_no_label_message(values, len(missing)))
    given = values[~missing]
    # scikit-learn's own check of the targets warns when half of the labels are distinct,
    # which is just what few labels look like; so only its refusal of real numbers is here.
    if given.dtype.kind == "f" and (given != np.round(given)).any():
        example = given[given != np.round(given)][0]
        raise ValueError(
            f"Unknown label type: continuous. y holds numbers such as {example:g}, which is a "
            "regression target; classes are strings, integers or booleans."
        )
    classes, inverse = np.unique(given, return_inverse=True)
    if len(classes) < min_classes:
        raise ValueError(
            f"y holds {len(classes)} class only ({classes[0]!r}), but at least "
            f"{min_classes} classes are needed. Label at least one row of every class."
        )
    codes = np.full(len(missing), UNLABELED, dtype=np.intp)
    codes[~missing] = inverse
    return classes, codes


def labeled_mask(y: Any) -> NDArray[np.bool_]:
    """Tell which rows of ``y`` carry a label.

    Unlike :func:`encode_labels` this accepts a ``y`` without any label, for which it is
    all False; the marks and the errors about them are the same.

    Examples
    --------
    >>> from leaven._labels import labeled_mask
    >>> labeled_mask([0, -1, 1])
    array([ True, False,  True])
    """
    if isinstance(y, EncodedLabels):
        return np.asarray(y.codes != UNLABELED)
    return ~_values_and_missing(y)[1]


def mask_labels(y: Any, hide: NDArray[np.bool_]) -> NDArray[Any]:
    """Return a copy of ``y`` in which the rows where ``hide`` is True are unlabeled.

    The copy keeps the marks of its kind: -1 in integers, None elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven._labels import mask_labels
    >>> mask_labels(["a", "b", "a"], np.array([False, True, False]))
    array(['a', None, 'a'], dtype=object)
    """
    values, missing = _values_and_missing(y)
    hidden = missing | np.asarray(hide, dtype=bool)
    # An unsigned integer cannot hold the mark: it becomes a signed one.
    if values.dtype.kind in "iu":
        masked = values.astype(np.result_type(values.dtype, np.int8), copy=True)
        masked[hidden] = UNLABELED
        return masked
    masked = values.astype(object)
    masked[hidden] = None
    return masked


def one_hot(codes: NDArray[np.intp], n_classes: int, dtype: Any = np.float64) -> NDArray[Any]:
    """Return the indicator matrix of ``codes``; a row without a label is all zero.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven._labels import one_hot
    >>> one_hot(np.array([1, -1, 0]), 2)
    array([[0., 1.],
           [0., 0.],
           [1., 0.]])
    """
    Y = np.zeros((len(codes), n_classes), dtype=dtype)
    rows = np.flatnonzero(codes != UNLABELED)
    Y[rows, codes[rows]] = 1
    return Y


def class_prior(
    prior: Any, codes: NDArray[np.intp], classes: NDArray[Any], *, smoothing: float = 1.0
) -> NDArray[np.float64]:
    """Turn a ``prior`` parameter into class proportions that sum to one.

    Parameters
    ----------
    prior : {"labeled", "uniform"}, dict or array-like of shape (n_classes,)
        ``"labeled"`` is the frequency among the labeled rows, with ``smoothing`` added to
        each count: the "add one" estimate of Zhu, Ghahramani and Lafferty (2003).
    codes : ndarray of shape (n_samples,)
    classes : ndarray of shape (n_classes,)
    smoothing : float, default=1.0

    Returns
    -------
    proportions : ndarray of shape (n_classes,)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven._labels import class_prior
    >>> class_prior("labeled", np.array([0, 0, 1, -1]), np.array([0, 1]))
    array([0.6, 0.4])
    """
    n_classes = len(classes)
    if isinstance(prior, str):
        if prior == "uniform":
            return np.full(n_classes, 1.0 / n_classes)
        if prior == "labeled":
            counts = np.bincount(codes[codes != UNLABELED], minlength=n_classes) + smoothing
            return np.asarray(counts / counts.sum(), dtype=np.float64)
        raise ValueError(
            f"prior={prior!r} is not known. Use 'labeled', 'uniform', a dict from class to "
            f"proportion, or an array of {n_classes} proportions."
        )
    if isinstance(prior, dict):
        unknown = [name for name in prior if name not in set(classes.tolist())]
        absent = [name for name in classes.tolist() if name not in prior]
        if unknown or absent:
            raise ValueError(
                f"prior must name every class once; unknown: {unknown}, missing: {absent}."
            )
        prior = [prior[name] for name in classes.tolist()]
    proportions = np.asarray(prior, dtype=np.float64)
    if proportions.shape != (n_classes,):
        raise ValueError(
            f"prior has shape {proportions.shape}, but there are {n_classes} classes: give "
            f"one proportion for each of {classes.tolist()}, in this order."
        )
    if not np.isfinite(proportions).all() or (proportions < 0).any():
        raise ValueError(f"prior holds a negative or non-finite number: {proportions.tolist()}.")
    if not np.isclose(proportions.sum(), 1.0, atol=1e-3):
        raise ValueError(
            f"prior sums to {proportions.sum():.6g}, not to 1. Give class proportions."
        )
    return np.asarray(proportions / proportions.sum())


def _values_and_missing(y: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Bring ``y`` into one array of one kind, and tell which entries are missing."""
    if y is None:
        raise ValueError("y is None: give one entry a row, with a label or a mark for 'unlabeled'.")
    values = _as_array(y)
    if values.dtype.kind in "US":
        _refuse_minus_one(values == str(UNLABELED))
        _refuse_empty(values == "")
        return values, np.zeros(len(values), dtype=bool)
    if values.dtype.kind in "iu":
        if values.dtype == np.uint64 and len(values) and values.max() > _LARGEST:
            raise _too_large(values.max())
        return values, values == UNLABELED
    if values.dtype.kind == "f":
        if np.isinf(values).any():
            raise ValueError("y contains infinity, which names no class.")
        _refuse_float_mark(values)
        return values, np.isnan(values)
    if values.dtype.kind == "b":
        return values, np.zeros(len(values), dtype=bool)
    if values.dtype.kind != "O":
        raise ValueError(
            f"y has dtype {values.dtype}, which cannot name classes. Unknown label type: give "
            "strings, integers or booleans."
        )
    return _from_objects(values)


# The largest integer that can name a class: those of numpy end here.
_LARGEST = 2**63 - 1


def _too_large(value: Any) -> ValueError:
    return ValueError(
        f"y holds the integer {value}, which is too large to name a class. Use strings."
    )


def _refuse_float_mark(values: NDArray[Any]) -> None:
    """Refuse -1.0: it would be a class, and every row would count as labeled."""
    if (values == UNLABELED).any():
        raise ValueError(
            "y holds -1.0 among floats, where it would be the name of a class. Mark unlabeled rows "
            "with NaN, or convert y to integers: y.astype(int)."
        )


def _refuse_empty(is_empty: NDArray[np.bool_]) -> None:
    """Refuse the empty string: it means "unlabeled" in a table, and would be a class here."""
    if is_empty.any():
        raise ValueError(
            "y holds empty strings, which name no class. Mark unlabeled rows with None: "
            "[label or None for label in y]."
        )


def _as_array(y: Any) -> NDArray[Any]:
    """One-dimensional array of ``y`` that loses neither missing marks nor the dtype."""
    if isinstance(y, pd.DataFrame):
        y = y.to_numpy()
    if isinstance(y, (pd.Series, pd.Index)):
        # Marks need no objects where the cells are numbers of numpy; a Python object per cell
        # would take longer than an iteration of EM.
        plain = isinstance(y.dtype, np.dtype) and y.dtype.kind in "biuf"
        y = y.to_numpy() if plain else y.array
    if isinstance(y, pd.api.extensions.ExtensionArray):
        # Nullable, categorical and string arrays: as objects, their marks survive.
        return np.asarray(y.astype(object), dtype=object)
    if not isinstance(y, np.ndarray):
        items = list(y) if hasattr(y, "__iter__") else y
        # np.asarray(["a", None]) is fine, but np.asarray(["a", nan]) would make "nan".
        keep = isinstance(items, list) and any(
            pd.api.types.is_scalar(v) and pd.isna(v) for v in items
        )
        y = np.asarray(items, dtype=object) if keep else np.asarray(items)
    return np.asarray(column_or_1d(y, warn=True))


def _from_objects(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Find the one kind of the objects that are not missing."""
    missing = np.asarray(pd.isna(values), dtype=bool)
    given = values[~missing]
    if not len(given):
        return values, missing
    kinds = {_kind(each) for each in set(map(type, given))}
    if kinds == {"str"}:
        _refuse_minus_one(np.asarray(given == str(UNLABELED), dtype=bool))
        _refuse_empty(np.asarray(given == "", dtype=bool))
        return values, missing
    if kinds == {"str", "int"} and all(
        value == UNLABELED for value in given if _kind(type(value)) == "int"
    ):
        _refuse_minus_one(np.array([True]))
    if len(kinds) > 1 and kinds != {"int", "float"}:
        raise ValueError(
            f"y mixes labels of different types: {sorted(kinds)}. Make them all strings, all "
            f"integers or all booleans. {_HOW_TO_MARK}."
        )
    kind = kinds.pop() if len(kinds) == 1 else "float"
    if kind == "other":
        raise ValueError(
            f"Unknown label type: {type(given[0]).__name__}. Labels may be strings, integers or "
            f"booleans. {_HOW_TO_MARK}."
        )
    dtype = {"int": np.int64, "float": np.float64, "bool": np.bool_}[kind]
    if kind == "int" and max(map(abs, given.tolist())) > _LARGEST:
        raise _too_large(max(given.tolist(), key=abs))
    if kind == "float":
        _refuse_float_mark(given.astype(np.float64))
    typed: NDArray[Any] = np.zeros(len(values), dtype=dtype)
    typed[~missing] = given.astype(dtype)
    if kind == "int":
        typed[missing] = UNLABELED
        missing = typed == UNLABELED
    elif kind == "float":
        typed[missing] = np.nan
    return typed, missing


def _kind(of: type) -> str:
    if issubclass(of, str):
        return "str"
    if issubclass(of, (bool, np.bool_)):
        return "bool"
    if issubclass(of, (int, np.integer)):
        return "int"
    if issubclass(of, (float, np.floating)):
        return "float"
    return "other"


def _refuse_minus_one(found: NDArray[np.bool_]) -> None:
    if found.any():
        raise ValueError(
            "y holds -1 among strings. In an array of strings -1 would be a class of that "
            f"name. {_HOW_TO_MARK} instead, for example y = np.where(known, names, None)."
        )


def _no_label_message(values: NDArray[Any], n_samples: int) -> str:
    mark = "-1" if values.dtype.kind in "iu" else "None, NaN or pandas.NA"
    if n_samples == 0:
        return "y is empty: there is no row to learn from."
    return (
        f"y holds no labeled row: all {n_samples} entries are {mark}, the mark of an unlabeled "
        "row. Give at least one label a class."
    )
