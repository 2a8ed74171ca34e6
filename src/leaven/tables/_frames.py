"""Tables of other libraries: in through Arrow, and out as they came.

Every table with the Arrow interface (``to_arrow`` or ``__arrow_c_stream__``: polars, pyarrow,
DuckDB, Ibis, ...) is taken. narwhals was the alternative: it would translate expressions on
tables, but all that is needed here is the cells, once, and the new columns, back.
"""

from __future__ import annotations

import importlib
from collections.abc import Hashable
from typing import Any, cast

import numpy as np
import pandas as pd

from leaven._optional import import_optional
from leaven.tables._errors import TableError

LABELS = "label"
"""Name of the target where the labels come as an array, which has none."""

_BITS = (8, 16, 32, 64)  # the widths that Arrow and pandas share


def as_pandas(table: Any) -> pd.DataFrame:
    """Return a table as a pandas DataFrame; one of pandas is returned as it is.

    Parameters
    ----------
    table : DataFrame of pandas or polars, Table of pyarrow, or any with the Arrow interface

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> import pyarrow as pa
    >>> from leaven.tables import as_pandas
    >>> as_pandas(pa.table({"n": [7, None], "m": [2.5, None]})).dtypes.astype(str).tolist()
    ['Int64', 'float64']
    """
    if isinstance(table, pd.DataFrame):
        return table
    if hasattr(table, "collect") and not hasattr(table, "to_arrow"):
        raise TypeError(
            f"table is a {type(table).__name__}, which holds no rows yet: pass table.collect()."
        )
    if not hasattr(table, "to_arrow") and not hasattr(table, "__arrow_c_stream__"):
        raise TypeError(
            f"table must be a DataFrame of pandas or polars or a Table of pyarrow, got "
            f"{type(table).__name__}. Of an array make pandas.DataFrame(X), or pass it to "
            "leaven.model_selection.SafeClassifier."
        )
    return arrow_to_pandas(_as_arrow(table))


def arrow_to_pandas(table: Any) -> pd.DataFrame:
    """Turn an Arrow table into a DataFrame in which integers and booleans stay what they are.

    pandas would make floats and objects of those with gaps, and large integers lose digits.
    """
    pa = importlib.import_module("pyarrow")
    nullable = {
        **{getattr(pa, f"int{bits}")(): getattr(pd, f"Int{bits}Dtype")() for bits in _BITS},
        **{getattr(pa, f"uint{bits}")(): getattr(pd, f"UInt{bits}Dtype")() for bits in _BITS},
        pa.bool_(): pd.BooleanDtype(),
    }
    found = table.to_pandas()
    for field in table.schema:
        if field.type in nullable and field.name in found and found[field.name].dtype.kind in "fO":
            column = table.column(field.name).to_pandas(types_mapper=nullable.get)
            found[field.name] = column.array
    return cast(pd.DataFrame, found)


def without_arrow(table: pd.DataFrame) -> pd.DataFrame:
    """Replace the columns that pandas keeps in Arrow types by its own types.

    Strings in Arrow answer neither to the checks for strings nor to those for numbers.
    """
    arrow = [
        name
        for name, dtype in zip(table.columns, table.dtypes, strict=True)
        if isinstance(dtype, pd.ArrowDtype)
    ]
    if not arrow:
        return table
    plain = table.copy(deep=False)
    for name in arrow:
        plain[name] = own_type(table[name])
    return plain


def own_type(values: pd.Series) -> pd.Series:
    """Return a column in a type of pandas's own if it is kept in one of Arrow.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.tables._frames import own_type
    >>> own_type(pd.Series(["a", None], dtype="string[pyarrow]").convert_dtypes()).isna().tolist()
    [False, True]
    """
    if not isinstance(values.dtype, pd.ArrowDtype):
        return values
    pa = importlib.import_module("pyarrow")
    column = arrow_to_pandas(pa.table({"values": pa.array(values)}))["values"]
    return pd.Series(column.array, index=values.index, name=values.name)


def split_target(table: Any, target: Any) -> tuple[pd.DataFrame, Hashable]:
    """Return the table as a DataFrame and the name of its target column.

    Parameters
    ----------
    table : DataFrame of pandas or polars, or Table of pyarrow
    target : column name, or array-like of shape (n_rows,)
        Labels that are not in the table join it as its last column, under the name that they
        have or ``"label"``.

    Returns
    -------
    table : DataFrame
    target : column name

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.tables._frames import split_target
    >>> split_target(pd.DataFrame({"x": [1.5, 2.5]}), ["a", None])[0]["label"].isna().tolist()
    [False, True]
    """
    frame = as_pandas(table)
    if not _is_labels(target):
        return frame, target
    name = getattr(target, "name", None)
    name = LABELS if name is None or callable(name) else name
    if name in frame.columns:
        raise TableError(
            f"The labels are named {name!r}, and so is a column of the table. Pass the name of "
            "the column, or rename the labels."
        )
    if isinstance(target, pd.Series):
        labels = target
        if not labels.index.equals(frame.index) and len(labels) == len(frame):
            if labels.index.is_unique and labels.index.sort_values().equals(
                frame.index.sort_values()
            ):
                raise TableError(
                    "The labels have the index of the table in another order. Sort one of them: "
                    "target.loc[table.index]."
                )
            labels = labels.set_axis(frame.index)
    else:
        values = target.to_list() if hasattr(target, "to_list") else target
        if hasattr(values, "to_pylist"):
            values = values.to_pylist()
        labels = pd.Series(values)
        if len(labels) == len(frame):
            labels.index = frame.index
    if len(labels) != len(frame):
        raise TableError(f"The table has {len(frame):,} rows, but {len(labels):,} labels came.")
    return frame.assign(**{str(name): labels}), str(name)


def _is_labels(target: Any) -> bool:
    """Whether ``target`` holds labels and is not the name of a column."""
    if isinstance(target, (str, bytes, tuple)):
        return False
    return isinstance(target, (list, np.ndarray, pd.Series, pd.Index)) or (
        hasattr(target, "__len__") and hasattr(target, "__getitem__")
    )


def like_input(found: pd.DataFrame, table: Any) -> Any:
    """Return a labeled table as the kind of table that came.

    Columns that came keep their cells and types; only new ones are translated.

    Parameters
    ----------
    found : DataFrame
        With the rows of ``table``.
    table : DataFrame of pandas or polars, or Table of pyarrow

    Returns
    -------
    labeled : as ``table``, or a Table of pyarrow where that cannot be made

    Examples
    --------
    >>> import pandas as pd, pyarrow as pa
    >>> from leaven.tables._frames import like_input
    >>> came = pa.table({"a": [1, 2]})
    >>> like_input(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), came).column_names
    ['a', 'b']
    """
    if isinstance(table, pd.DataFrame):
        return found
    came = _as_arrow(table)
    kept = [name for name in came.column_names if name in found.columns]
    new = translated(found[[name for name in found.columns if name not in kept]], table)
    if _is_polars(table):
        return table.select(kept).hstack(new)
    labeled = came.select(kept)
    for name in new.column_names:
        labeled = labeled.append_column(name, new.column(name))
    return labeled


def translated(found: pd.DataFrame, table: Any) -> Any:
    """Return a DataFrame as a table of the library that ``table`` is of."""
    pa = importlib.import_module("pyarrow")
    new = pa.Table.from_pandas(found, preserve_index=False).replace_schema_metadata(None)
    return importlib.import_module("polars").from_arrow(new) if _is_polars(table) else new


def _is_polars(table: Any) -> bool:
    return type(table).__module__.partition(".")[0] == "polars"


def _as_arrow(table: Any) -> Any:
    what = f"A {type(table).__name__}"
    pa = import_optional("pyarrow", extra="parquet", needed_by=what)
    if isinstance(table, pa.Table):
        return table
    # polars writes its strings in the older layout, which every version of pyarrow reads.
    return table.to_arrow() if hasattr(table, "to_arrow") else pa.table(table)
