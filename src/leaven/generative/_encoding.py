"""Tables of categories: from strings, objects, booleans or integers to column slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven.exceptions import MemoryBoundError

# Bounds the table of one column at 80 MB per class; integer codes are often identifiers.
MAX_CATEGORIES = 10_000_000

# The slot of a missing value that is ignored; it is the same for all columns.
IGNORED = 0


@dataclass(frozen=True)
class CategoryColumn:
    """What one column may hold.

    ``index`` holds the values of categories, or None where the column holds integer codes. The
    categories have the codes ``0 .. n_categories - 1``, and an unknown one ``n_categories``.
    ``missing_code`` is that of a missing value, None where a missing value is unknown.
    """

    name: Any
    index: pd.Index | None
    n_categories: int
    missing_code: int | None

    def encode(self, column: Any) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the code of each entry, and where the entry is missing."""
        entries, missing = _split_missing(column, self.name, as_codes=self.index is None)
        if self.index is None:
            codes = np.asarray(entries, dtype=np.intp)
            n_codes = self.n_categories - (self.missing_code is not None)
            codes = np.where((codes >= n_codes) | (codes < 0), self.n_categories, codes)
        else:
            codes = np.asarray(self.index.get_indexer(pd.Index(entries, dtype=object)))
            codes = np.where(codes < 0, self.n_categories, codes)
        unknown = self.n_categories if self.missing_code is None else self.missing_code
        return np.where(missing, unknown, codes), missing


@dataclass(frozen=True)
class CategoryTable:
    """Lays the categories of all columns side by side in slots.

    Slot 0 is for ignored values; then come, for each column, its categories and one slot for
    an unknown category.
    """

    columns: tuple[CategoryColumn, ...]
    ignore_missing: bool

    @property
    def n_categories(self) -> NDArray[np.intp]:
        """Number of categories of each column."""
        return np.array([column.n_categories for column in self.columns], dtype=np.intp)

    @property
    def offsets(self) -> NDArray[np.intp]:
        """First slot of each column, and the number of all slots at the end."""
        return np.concatenate([[1], 1 + np.cumsum(self.n_categories + 1)])

    def encode(self, X: Any) -> NDArray[np.int32]:
        """Return the slot of each entry of X, of shape (n_rows, n_columns)."""
        # Half the memory of the default integers; the bound on categories keeps slots below 2³¹.
        slots = np.empty((len(X), len(self.columns)), dtype=np.int32)
        for j, (column, offset) in enumerate(zip(self.columns, self.offsets[:-1], strict=True)):
            codes, missing = column.encode(column_of(X, j))
            slots[:, j] = codes + offset
            if self.ignore_missing:
                slots[missing, j] = IGNORED
        return slots


def column_of(X: Any, j: int) -> Any:
    """Column j of a DataFrame or an array."""
    return X.iloc[:, j] if isinstance(X, pd.DataFrame) else X[:, j]


@dataclass
class DistinctValues:
    """The values of each column, in the order in which they appear, missing ones included."""

    columns: list[Any]

    def __iadd__(self, other: DistinctValues) -> DistinctValues:
        self.columns = [
            _distinct(_joined(one, more))
            for one, more in zip(self.columns, other.columns, strict=True)
        ]
        return self


def distinct_values(X: Any, takes_part: NDArray[np.bool_]) -> DistinctValues:
    """Return the values in the rows that take part.

    Parameters
    ----------
    X : DataFrame or array of shape (n_rows, n_columns)
    takes_part : bool array of shape (n_rows,)
    """
    whole = bool(takes_part.all())
    columns = [column_of(X, j) for j in range(X.shape[1])]
    return DistinctValues([_distinct(c if whole else c[takes_part]) for c in columns])


def _distinct(column: Any) -> Any:
    if isinstance(column, pd.Series):
        return column.drop_duplicates()
    return pd.unique(column)


def _joined(one: Any, more: Any) -> Any:
    if isinstance(one, pd.Series) and isinstance(more, pd.Series):
        if one.dtype == more.dtype:
            return pd.concat([one, more], ignore_index=True)
        # Other categories or another kind of strings: the values decide.
        one, more = one.to_numpy(dtype=object), more.to_numpy(dtype=object)
    one, more = np.asarray(one), np.asarray(more)
    numbers = one.dtype.kind in "biuf" and more.dtype.kind in "biuf"
    if not numbers and one.dtype.kind != more.dtype.kind:
        one, more = one.astype(object), more.astype(object)
    return np.concatenate([one, more])


def learn_table(
    values: DistinctValues,
    *,
    missing: str,
    min_categories: Any = None,
    names: Any = None,
) -> CategoryTable:
    """Learn the categories of each column from the values that occur.

    Parameters
    ----------
    values : DistinctValues
    missing : {"category", "ignore"}
        Whether None, NaN and pandas.NA are a category of their own or are passed over.
    min_categories : int or array-like of shape (n_columns,), default=None
        Least number of categories of a column.
    names : sequence, default=None
        Of the columns, for messages; None: their numbers.
    """
    n_columns = len(values.columns)
    least = np.zeros(n_columns, dtype=np.intp)
    if min_categories is not None:
        given = np.asarray(min_categories)
        if given.dtype.kind not in "iu" or given.shape not in ((), (n_columns,)):
            raise ValueError(
                f"min_categories={min_categories!r} must be an integer, or one for each of the "
                f"{n_columns} features."
            )
        least = np.broadcast_to(given, n_columns)
    named = [j if names is None else names[j] for j in range(n_columns)]
    # All columns before any other complaint: this is the mistake that names the cure.
    for column, name in zip(values.columns, named, strict=True):
        if isinstance(column, np.ndarray) and column.dtype.kind in "if":
            _refuse_negative(column, name)
    columns = [
        _learn_column(column, name, missing_is_category=missing == "category", least=int(least[j]))
        for j, (column, name) in enumerate(zip(values.columns, named, strict=True))
    ]
    return CategoryTable(tuple(columns), ignore_missing=missing == "ignore")


def _learn_column(
    column: Any, name: Any, *, missing_is_category: bool, least: int
) -> CategoryColumn:
    as_codes = holds_numbers(column)
    values = None
    if isinstance(getattr(column, "dtype", None), pd.CategoricalDtype):
        # The categories that are declared are the possible ones, seen or not.
        absent = np.asarray(pd.isna(column), dtype=bool)
        values = pd.Index(column.cat.categories, dtype=object)
        n_categories = len(values)
    else:
        entries, absent = _split_missing(column, name, as_codes=as_codes, learning=True)
        given = entries[~absent]
        if as_codes:
            n_categories = int(given.max()) + 1 if len(given) else 0
        else:
            values = pd.Index(pd.unique(given), dtype=object)
            n_categories = len(values)
    n_categories = max(n_categories, least)
    missing_code = None
    if missing_is_category and absent.any():
        missing_code = n_categories
        n_categories += 1
    if n_categories > MAX_CATEGORIES:
        raise MemoryBoundError(
            f"Feature {name!r} has codes up to {n_categories - 1}, and each code below the "
            f"largest is a category; the bound is {MAX_CATEGORIES}. Number the categories from "
            "0 on, for example with sklearn.preprocessing.OrdinalEncoder."
        )
    return CategoryColumn(name, values, max(1, n_categories), missing_code)


def holds_numbers(column: Any) -> bool:
    """Whether the entries of a column are numbers or booleans, missing ones aside."""
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, pd.CategoricalDtype):
        return False
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return True
    if isinstance(column, pd.Series) and pd.api.types.is_numeric_dtype(column):
        return True
    kind = pd.api.types.infer_dtype(np.asarray(column, dtype=object), skipna=True)
    return kind in {"integer", "floating", "mixed-integer-float", "boolean", "decimal"}


def _split_missing(
    column: Any, name: Any, *, as_codes: bool, learning: bool = False
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Entries as an array of integers (0 where missing) or of objects, and what is missing."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "biu" and as_codes:
        if learning:
            _refuse_negative(column, name)
        return column, np.zeros(len(column), dtype=bool)
    missing = np.asarray(pd.isna(column), dtype=bool)
    if not as_codes:
        return np.asarray(column, dtype=object), missing
    try:
        if missing.any():
            numbers: NDArray[np.float64] = np.zeros(len(missing), dtype=np.float64)
            numbers[~missing] = np.asarray(column[~missing], dtype=np.float64)
        else:
            numbers = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Feature {name!r} held integer codes in fit, and now holds something else: {error}."
        ) from error
    if learning:
        _refuse_negative(numbers, name)
    if not (np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()):
        raise ValueError(
            f"Feature {name!r} holds infinity or fractions, which are not categories. Round or "
            "bin it, or use SemiSupervisedGaussianNB or SemiSupervisedMixedNB for numbers."
        )
    return numbers.astype(np.int64), missing


def _refuse_negative(codes: NDArray[Any], name: Any) -> None:
    negative = codes < 0
    if negative.any():
        raise ValueError(
            f"Negative values in data: feature {name!r} holds {codes[negative][0]}, but integer "
            "categories are codes from 0 on. Mark missing values by None, NaN or pandas.NA, and "
            "number the categories from 0."
        )
