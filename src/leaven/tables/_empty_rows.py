"""Rows of a table that say nothing: no cell in the columns that are learned from."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven.exceptions import LeavenWarning
from leaven.tables._kinds import VECTOR
from leaven.tables._select import TableSelection
from leaven.tables._vectors import is_missing_vector


def rows_without_cells(table: pd.DataFrame, kinds: dict[str, str]) -> NDArray[np.bool_]:
    """Tell which rows have no cell in the columns of these kinds.

    Parameters
    ----------
    table : DataFrame
    kinds : dict of str to str
        Kinds of the columns in use, by name.

    Returns
    -------
    bool array of shape (n_rows,)

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.tables._empty_rows import rows_without_cells
    >>> table = pd.DataFrame({"a": [1.0, None, None], "b": ["x", " ", "y"]})
    >>> rows_without_cells(table, {"a": "number", "b": "category"})
    array([False,  True, False])
    """
    empty = np.ones(len(table), dtype=bool)
    for name, kind in kinds.items():
        # Only rows that are empty so far are looked at: mostly none after the first column.
        rows = np.flatnonzero(empty)
        if not len(rows):
            break
        cells = table[name].iloc[rows]
        if kind == VECTOR:
            empty[rows] = is_missing_vector(cells)
            continue
        missing = cells.isna()
        if not pd.api.types.is_numeric_dtype(cells.dtype):
            missing |= cells.astype(str).str.strip() == ""
        empty[rows] = missing
    return empty


def guess_empty_rows(
    chosen: TableSelection, empty: NDArray[np.bool_], given: NDArray[np.bool_]
) -> TableSelection:
    """Give unlabeled rows without a cell the class proportions of the others, and warn of them.

    Whatever a method says of them comes from the values that stand in for missing cells.

    Parameters
    ----------
    chosen : TableSelection
    empty, given : bool arrays of shape (n_rows,)
        Rows without a cell; rows that came with a label.

    Returns
    -------
    TableSelection
    """
    rows = empty & ~given
    if not rows.any() or empty.all():
        return chosen
    found = chosen.probabilities.copy()
    found[rows] = found[~empty].mean(axis=0)
    count = int(rows.sum())
    what = "1 row has" if count == 1 else f"{count:,} rows have"
    warnings.warn(
        f"{what} no cell in the columns that were learned from, and got the "
        "class proportions of the others.",
        LeavenWarning,
        stacklevel=3,
    )
    return replace(chosen, probabilities=found)
