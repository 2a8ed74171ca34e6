"""Writing tables, all or nothing."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pandas as pd

from leaven._files import atomic_output, output_problem
from leaven._optional import import_optional
from leaven.tables._errors import TableError
from leaven.tables._excel import write_excel
from leaven.tables._format import STANDARD_STREAM, TableFormat, format_of_path
from leaven.tables._vectors import cells_as_text, looks_like_vectors


def write_table(
    table: pd.DataFrame, path: str | Path, *, file_format: TableFormat | None = None
) -> None:
    """Write a table to a CSV, TSV, JSON lines, Parquet or Excel file, all or nothing.

    The file is written under another name in the same directory and renamed when it is
    complete and on the disk: a failure or an interrupt leaves what was there before.

    Parameters
    ----------
    table : DataFrame
        An index with a name becomes the first column of a text file; Parquet keeps any index
        that is not 0, 1, 2, ...
    path : str or Path
        The suffix tells the format; ``"-"`` is standard output, as CSV.
    file_format : TableFormat, optional
        Delimiter, encoding and line ends, if not those of the suffix.

    See Also
    --------
    read_table : The way back.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.tables import write_table
    >>> write_table(pd.DataFrame({"a": ["x", "y"], "b": [1.5, None]}), "-")
    a,b
    x,1.5
    y,
    """
    TableOutput.at(path).like(file_format).write(table)


@dataclass(frozen=True)
class TableOutput:
    """Where a table is to be written, and how; made and checked before the work is done.

    Parameters
    ----------
    path : str or Path
        ``"-"`` is standard output.
    file_format : TableFormat

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.tables import TableOutput
    >>> TableOutput.at("-").write(pd.DataFrame({"a": [1, 2]}))
    a
    1
    2
    """

    path: str | Path
    file_format: TableFormat

    @classmethod
    def at(cls, path: str | Path) -> TableOutput:
        """Check that a table can be written to ``path``, in the format of its suffix."""
        file_format = format_of_path(path)
        problem = None if str(path) == STANDARD_STREAM else output_problem(path)
        if problem is not None:
            raise TableError(problem)
        return cls(path, file_format)

    def like(self, file_format: TableFormat | None) -> TableOutput:
        """The same place with another format, unless that is None."""
        return self if file_format is None else replace(self, file_format=file_format)

    def like_input(self, source: TableFormat, found: TableFormat) -> TableOutput:
        """Write as the input was written, as far as the name of the output allows.

        ``source`` is the format by the name of the input, ``found`` that of the file itself.
        """
        output = self.file_format
        if (found.kind, output.kind) != ("csv", "csv"):
            return self
        if source.delimiter == output.delimiter:
            output = replace(output, delimiter=found.delimiter)
        if str(self.path) != STANDARD_STREAM:
            output = replace(output, encoding=found.encoding, newline=found.newline)
        return self.like(output)

    def write(self, table: pd.DataFrame) -> None:
        """Write all of the table, or nothing."""
        if self.file_format.kind != "parquet":
            table = _with_index(table)
        if str(self.path) == STANDARD_STREAM:
            _write_standard_output(table, self.file_format)
            return
        with atomic_output(self.path) as stream:
            _write(table, stream, self.file_format, str(self.path))


def _with_index(table: pd.DataFrame) -> pd.DataFrame:
    """Make a named index a column: text has no other place for it."""
    names = [name for name in table.index.names if name is not None]
    if not names or set(map(str, names)) & set(map(str, table.columns)):
        return table
    return table.reset_index()


def _write_standard_output(table: pd.DataFrame, file_format: TableFormat) -> None:
    if file_format.kind != "csv":
        raise TableError("Only CSV can be written to standard output. Name a file instead.")
    if sys.stdout is None:
        raise TableError("Standard output is closed. Name a file instead.")
    # pandas would write "\r\n" as "\r\r\n" on Windows through the text stream itself.
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(table.to_csv(index=False, lineterminator="\n"))
        return
    sys.stdout.flush()
    _write_delimited(table, buffer, file_format)
    buffer.flush()


def _write(table: pd.DataFrame, stream: BinaryIO, file_format: TableFormat, name: str) -> None:
    if file_format.kind == "parquet":
        _write_parquet(table, stream, name)
        return
    if file_format.kind == "excel":
        write_excel(table, stream, name)
        return
    write = _write_json_lines if file_format.kind == "jsonl" else _write_delimited
    if not file_format.gzip:
        write(table, stream, file_format)
        return
    # Without the time of day the same table gives the same file.
    with gzip.GzipFile(filename="", fileobj=stream, mode="wb", compresslevel=6, mtime=0) as zipped:
        write(table, cast(BinaryIO, zipped), file_format)


def _write_delimited(table: pd.DataFrame, stream: BinaryIO, file_format: TableFormat) -> None:
    text = io.TextIOWrapper(stream, encoding=file_format.encoding, newline="")
    lists = [name for name in table.columns if looks_like_vectors(table[name])]
    if lists:
        table = table.copy(deep=False)
        for name in lists:
            table[name] = cells_as_text(table[name])
    try:
        table.to_csv(
            text,
            sep=file_format.delimiter,
            index=False,
            lineterminator=file_format.newline,
            quoting=_quoting(table, file_format),
        )
        text.flush()
    finally:
        text.detach()


def _quoting(table: pd.DataFrame, file_format: TableFormat) -> Any:
    """Quote cells where needed; all of them if a cell holds a stray line end.

    Before Python 3.13 the csv module does not quote a carriage return unless it is part of
    the line end, and readers would then split the row there.
    """
    stray = {"\r", "\n"} - set(file_format.newline)
    for column in table.select_dtypes(include=["object", "string", "category"]):
        values = table[column]
        if isinstance(values.dtype, pd.CategoricalDtype):
            values = pd.Series(values.cat.categories)
        if pd.api.types.infer_dtype(values, skipna=True) != "string":
            continue
        if any(values.str.contains(end, regex=False, na=False).any() for end in stray):
            return csv.QUOTE_ALL
    return csv.QUOTE_MINIMAL


def _write_json_lines(table: pd.DataFrame, stream: BinaryIO, file_format: TableFormat) -> None:
    names = [str(column) for column in table.columns]
    columns = [_json_values(table[column]) for column in table.columns]
    encoding, newline = file_format.encoding, file_format.newline
    for row in zip(*columns, strict=True):
        line = json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False, default=_json)
        stream.write((line + newline).encode(encoding))


def _json_values(column: pd.Series) -> list[Any]:
    """Python values of a column with None for missing ones, as JSON has no NaN."""
    values = column.astype(object).to_numpy(dtype=object)
    missing = np.asarray(column.isna())
    if missing.any():
        values = values.copy()
        values[missing] = None
    return values.tolist()


def _json(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return str(value)


def _write_parquet(table: pd.DataFrame, stream: BinaryIO, name: str) -> None:
    pa = import_optional("pyarrow", extra="parquet", needed_by=f"Writing {name}")
    try:
        table.to_parquet(stream, engine="pyarrow")
    except pa.ArrowException as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise TableError(f"{name}: Parquet cannot hold this table: {reason}.") from error
