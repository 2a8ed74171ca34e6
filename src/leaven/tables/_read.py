"""Reading tables, every cell as it stands in the file."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import pandas as pd

from leaven._optional import import_optional
from leaven.tables._errors import TableError
from leaven.tables._excel import read_excel
from leaven.tables._format import (
    GZIP_MAGIC,
    PARQUET_MAGIC,
    STANDARD_STREAM,
    TableFormat,
    format_of_path,
    not_in_encoding,
    sniff_text,
)
from leaven.tables._frames import arrow_to_pandas


def read_table(
    path: str | Path, *, delimiter: str | None = None, encoding: str = "utf-8"
) -> pd.DataFrame:
    r"""Read a CSV, TSV, JSON lines, Parquet or Excel file.

    The cells of delimited text stay strings, as they stand in the file, with ``""`` for an
    empty cell: ``"007"``, ``"NA"`` and ``"1e3"`` come back as they are when the table is
    written again. :class:`~leaven.tables.TablePreparer` finds out by itself which columns of
    strings are numbers or dates. JSON lines, Parquet and Excel have types, and keep them;
    of an Excel workbook the first sheet is read.

    Parameters
    ----------
    path : str or Path
        ``"-"`` is standard input. The suffix tells the format (``.csv``, ``.tsv``,
        ``.jsonl``, ``.ndjson``, ``.parquet``, ``.xlsx``; text also with ``.gz``); of standard
        input the first bytes do.
    delimiter : str, optional
        Between the cells of delimited text. By default a comma in ``.csv`` and a tab in
        ``.tsv``; a file that is plainly separated by something else is an error.
    encoding : str, default="utf-8"
        Of text. A byte order mark is understood.

    Returns
    -------
    table : DataFrame

    Raises
    ------
    TableError
        If there is no such file, it is empty, has a header only, duplicate column names, or
        cannot be read as what its name says.

    See Also
    --------
    write_table : The way back.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from leaven.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "t.csv"
    ...     _ = file.write_text("code,n\n007,1\nNA,\n")
    ...     read_table(file).to_numpy().tolist()
    [['007', '1'], ['NA', '']]
    """
    return read_with_format(path, delimiter=delimiter, encoding=encoding)[0]


def read_with_format(
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    file_format: TableFormat | None = None,
    allow_empty: bool = False,
) -> tuple[pd.DataFrame, TableFormat]:
    r"""Read a table as :func:`read_table` does, and tell how it was written.

    Parameters
    ----------
    path : str or Path
    delimiter : str, optional
    encoding : str, default="utf-8"
    file_format : TableFormat, optional
        What :func:`format_of_path` says of the path, if that is known already.
    allow_empty : bool, default=False
        Whether a table may have no rows, as a partition may.

    Returns
    -------
    table : DataFrame
    file_format : TableFormat
        With the delimiter, the encoding and the line ends of the file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from leaven.tables import read_with_format
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "t.csv"
    ...     _ = file.write_bytes(b"a;b\r\n1;2\r\n")
    ...     read_with_format(file, delimiter=";")[1].newline
    '\r\n'
    """
    is_stream = str(path) == STANDARD_STREAM
    name = "standard input" if is_stream else str(path)
    if file_format is None and not is_stream:
        # An unsupported suffix is told before an absent file.
        file_format = format_of_path(path)
    with _opened(path, name) as stream:
        if file_format is None or is_stream:
            file_format = _format_of_bytes(stream)
        file_format = replace(file_format, encoding=_known_encoding(encoding))
        try:
            if file_format.kind == "parquet":
                table = _read_parquet(stream, name)
            elif file_format.kind == "excel":
                table = read_excel(stream, name, _typed)
                refuse_duplicates(table.columns, name)
            elif file_format.kind == "jsonl":
                table = _read_json_lines(stream, name, file_format.encoding)
            else:
                table, file_format = _read_delimited(stream, name, file_format, delimiter)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise TableError(f"{name} is damaged: it cannot be unzipped ({error}).") from error
        except UnicodeError:
            raise not_in_encoding(stream, name, file_format.encoding) from None
    if not len(table.columns):
        raise TableError(f"{name} has no columns.")
    if not len(table) and not allow_empty:
        raise TableError(f"{name} has a header but no rows.")
    return table, file_format


def refuse_duplicates(columns: Iterable[Any], name: str) -> None:
    """Raise if a column name occurs twice."""
    twice = [str(column) for column, count in Counter(columns).items() if count > 1]
    if twice:
        raise TableError(
            f"{name} has duplicate column names: {', '.join(map(repr, twice[:5]))}"
            f"{' and more' if len(twice) > 5 else ''}. Rename them."
        )


@contextlib.contextmanager
def _opened(path: str | Path, name: str) -> Iterator[BinaryIO]:
    """Open a file or standard input for reading bytes, unzipped, with ``seek``."""
    if str(path) == STANDARD_STREAM:
        raw: BinaryIO = io.BytesIO(sys.stdin.buffer.read())
    else:
        try:
            raw = open(path, "rb")  # noqa: SIM115 (closed below)
            if not raw.seekable():  # a pipe, such as <(command) of a shell
                with raw:
                    raw = io.BytesIO(raw.read())
        except FileNotFoundError:
            raise TableError(f"No such file: {name}") from None
        except IsADirectoryError:
            raise TableError(f"{name} is a directory, not a file.") from None
        except OSError as error:
            raise TableError(f"{name} cannot be read: {error.strerror}.") from error
    with raw:
        zipped = raw.read(2) == GZIP_MAGIC
        raw.seek(0)
        if zipped:
            with gzip.GzipFile(fileobj=raw) as unzipped:
                yield cast(BinaryIO, unzipped)
        else:
            yield raw


def _format_of_bytes(stream: BinaryIO) -> TableFormat:
    """Tell the format of standard input by its first bytes."""
    start = stream.read(512)
    stream.seek(0)
    if start.startswith(PARQUET_MAGIC):
        return TableFormat("parquet")
    if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return TableFormat("jsonl")
    return TableFormat("csv")


def _known_encoding(encoding: str) -> str:
    try:
        "".encode(encoding)
    except LookupError:
        raise TableError(
            f"The encoding {encoding!r} is not known. Examples: utf-8, cp1252, latin-1, utf-16."
        ) from None
    return encoding


def _read_delimited(
    stream: BinaryIO, name: str, expected: TableFormat, delimiter: str | None
) -> tuple[pd.DataFrame, TableFormat]:
    if delimiter is not None and (len(delimiter) != 1 or delimiter in "\r\n\"'"):
        raise TableError(f"The delimiter must be one character, such as ';'; got {delimiter!r}.")
    if not expected.encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32")):
        start = stream.read(4)
        stream.seek(0)
        if len(start) == 4 and (start[1] == start[3] == 0 or start[0] == start[2] == 0):
            wide = "utf-16-le" if start[1] == 0 else "utf-16-be"
            raise TableError(
                f"{name} looks like {wide}: every second byte is zero.",
                advice=("Pass", "encoding", wide),
            )
    found, header = sniff_text(stream, name, expected, delimiter=delimiter)
    refuse_duplicates(header, name)
    try:
        with warnings.catch_warnings():
            # pandas only warns when it drops the cells that are too many.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(
                stream,
                sep=found.delimiter,
                encoding=found.encoding,
                header=0,
                names=header,
                index_col=False,
                dtype=str,
                keep_default_na=False,
                na_filter=False,
            )
    except pd.errors.ParserWarning:
        raise TableError(
            f"{name}: the rows have more cells than the header has columns ({len(header)})."
        ) from None
    except pd.errors.ParserError as error:
        reason = str(error).replace("Error tokenizing data. C error: ", "")
        raise TableError(f"{name} cannot be read as a table: {reason}.") from error
    return table, found


def _read_json_lines(stream: BinaryIO, name: str, encoding: str) -> pd.DataFrame:
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    text = io.TextIOWrapper(stream, encoding="utf-8-sig" if encoding == "utf-8" else encoding)
    try:
        for number, line in enumerate(text, start=1):
            if not line.strip():
                continue
            record = _record(line, name, number)
            if not isinstance(record, dict):
                raise TableError(f"{name}: line {number} is not a JSON object with columns.")
            for key, value in record.items():
                # A column that starts late was missing so far.
                column = columns.setdefault(key, [])
                column.extend([None] * (n_rows - len(column)))
                column.append(value)
            n_rows += 1
    finally:
        text.detach()
    if not n_rows:
        raise TableError(f"{name} is empty: it has no rows.")
    for column in columns.values():
        column.extend([None] * (n_rows - len(column)))
    return pd.DataFrame(
        {key: _typed(values) for key, values in columns.items()}, index=range(n_rows)
    )


def _record(line: str, name: str, number: int) -> Any:
    """Parse a line of JSON."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise TableError(f"{name}: line {number} is not JSON ({error.msg}).") from error
    except ValueError as error:  # an integer of thousands of digits
        raise TableError(f"{name}: line {number} holds a number that is too long.") from error
    except RecursionError as error:
        raise TableError(f"{name}: line {number} is nested too deeply.") from error
    if "\\ud" in line.lower():
        try:
            json.dumps(record, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            raise TableError(
                f"{name}: line {number} holds half of a character (a lone surrogate, \\uD800 to "
                "\\uDFFF), which cannot be written again. Correct that line."
            ) from error
    return record


def _typed(values: list[Any]) -> pd.Series:
    """Make a column of JSON values without turning integers with gaps into floats."""
    kinds = {type(value) for value in values} - {type(None)}
    gaps = any(value is None for value in values)
    if kinds == {int} and all(abs(value) < 2**63 for value in values if value is not None):
        return pd.Series(values, dtype="Int64" if gaps else "int64")
    if kinds == {bool}:
        return pd.Series(values, dtype="boolean" if gaps else "bool")
    if kinds == {str}:
        return pd.Series(values, dtype="str" if not gaps else None)
    if kinds == {float}:
        return pd.Series(values, dtype="float64")
    return pd.Series(values, dtype=object)


def _read_parquet(stream: BinaryIO, name: str) -> pd.DataFrame:
    pa = import_optional("pyarrow", extra="parquet", needed_by=f"Reading {name}")
    pq = import_optional("pyarrow.parquet", extra="parquet", needed_by=f"Reading {name}")
    try:
        file = pq.ParquetFile(stream)
        refuse_duplicates(file.schema_arrow.names, name)
        return arrow_to_pandas(file.read())
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise TableError(f"{name} is not a readable Parquet file: {reason}.") from error
