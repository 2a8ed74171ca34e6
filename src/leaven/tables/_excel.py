"""Excel workbooks: the first sheet is the table."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from leaven._optional import import_optional
from leaven.tables._errors import TableError

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
"""What a sheet can hold, by Excel's specification."""

MOST_LETTERS = 32_767
"""What a cell can hold, by the same."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""Characters that XML 1.0 has no place for."""


def read_excel(
    stream: BinaryIO, name: str, typed: Callable[[list[Any]], pd.Series]
) -> pd.DataFrame:
    """Read the first sheet of a workbook; its first row holds the column names.

    Cells keep their types, and formulas are read as the values that were last computed.

    Parameters
    ----------
    stream : binary file
    name : str
        For messages.
    typed : callable
        Makes a column of the values of one.
    """
    openpyxl = import_optional("openpyxl", extra="excel", needed_by=f"Reading {name}")
    try:
        book = openpyxl.load_workbook(
            io.BytesIO(stream.read()), read_only=True, data_only=True, keep_links=False
        )
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        raise TableError(f"{name} is not a readable Excel workbook: {error}.") from error
    with_rows = [sheet for sheet in book.worksheets if sheet.max_row is None or sheet.max_row > 0]
    if not with_rows:
        raise TableError(f"{name} is empty: it has no sheet of cells.")
    rows = [list(row) for row in with_rows[0].iter_rows(values_only=True)]
    book.close()
    while rows and all(cell is None for cell in rows[-1]):  # formatted, but never filled in
        rows.pop()
    if not rows:
        raise TableError(f"{name} is empty: its first sheet has no cells.")
    width = max(len(row) for row in rows)
    rows = [row + [None] * (width - len(row)) for row in rows]
    while width and all(row[width - 1] is None for row in rows):
        width -= 1
    header = ["" if cell is None else str(cell) for cell in rows[0][:width]]
    columns = zip(*(row[:width] for row in rows[1:]), strict=True) if rows[1:] else [()] * width
    found = [typed(_with_one_type(list(cells))) for cells in columns]
    if not found:
        return pd.DataFrame(columns=header)
    table = pd.concat(found, axis=1, ignore_index=True)
    return table.set_axis(header, axis=1)


def _with_one_type(cells: list[Any]) -> list[Any]:
    """Let whole numbers be floats where others have a fraction; Excel knows one kind only."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    if kinds == {int, float}:
        return [None if cell is None else float(cell) for cell in cells]
    return cells


def write_excel(table: pd.DataFrame, stream: BinaryIO, name: str) -> None:
    """Write a table as the only sheet of a workbook.

    Text that begins with ``=`` stays text: written as it is, Excel would compute it.
    """
    openpyxl = import_optional("openpyxl", extra="excel", needed_by=f"Writing {name}")
    cells = import_optional("openpyxl.cell", extra="excel", needed_by=f"Writing {name}")
    if len(table) >= MOST_ROWS or len(table.columns) > MOST_COLUMNS:
        raise TableError(
            f"{name}: an Excel sheet holds {MOST_ROWS - 1:,} rows and {MOST_COLUMNS:,} columns, "
            f"the table has {len(table):,} and {len(table.columns):,}. Write CSV or Parquet."
        )
    columns = [_excel_values(table[column], name) for column in table.columns]
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("labeled")

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        made = cells.WriteOnlyCell(sheet, value=value)
        made.data_type = "s"
        return made

    sheet.append([cell(str(column)) for column in table.columns])
    for row in zip(*columns, strict=True):
        sheet.append([cell(value) for value in row])
    book.save(stream)


def _excel_values(column: pd.Series, name: str) -> list[Any]:
    """Return values that a cell can hold: numbers, booleans, dates without a zone, or text."""
    values = column.astype(object).to_numpy(dtype=object)
    missing = np.asarray(column.isna())
    return [
        None if is_missing else _excel_value(value, name)
        for value, is_missing in zip(values, missing, strict=True)
    ]


def _excel_value(value: Any, name: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.isoformat()
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    if isinstance(value, (bool, int, float, datetime, date, time, timedelta)):
        return value
    text = str(value.tolist() if isinstance(value, np.ndarray) else value)
    if len(text) > MOST_LETTERS:
        raise TableError(
            f"{name}: an Excel cell holds {MOST_LETTERS:,} letters, and a text has {len(text):,}. "
            "Write CSV or Parquet."
        )
    if _CONTROL.search(text):
        raise TableError(
            f"{name}: Excel cannot hold the control characters of a cell. Write CSV or Parquet."
        )
    return text
