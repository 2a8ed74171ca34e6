"""What a table looks like on disk: kind of file, delimiter, encoding, line ends."""

from __future__ import annotations

import codecs
import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from leaven.tables._errors import TableError

STANDARD_STREAM = "-"
"""The path that stands for standard input or standard output."""

GZIP_MAGIC = b"\x1f\x8b"
PARQUET_MAGIC = b"PAR1"

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}

_SUFFIXES = {
    ".csv": ("csv", ","),
    ".tsv": ("csv", "\t"),
    ".tab": ("csv", "\t"),
    ".jsonl": ("jsonl", ","),
    ".ndjson": ("jsonl", ","),
    ".parquet": ("parquet", ","),
    ".pq": ("parquet", ","),
    ".xlsx": ("excel", ","),
}

_FIRST_SAMPLE = 1 << 16
"""Bytes that are read at first to tell delimiter and line ends: some hundred usual lines."""

_LAST_SAMPLE = 1 << 24
"""Bytes after which a header is looked for no further: 16 MB hold a million column names."""

_SAMPLED_RECORDS = 50
"""Records whose number of cells is compared with that of the header."""


@dataclass(frozen=True)
class TableFormat:
    r"""How a table is, or is to be, written.

    Parameters
    ----------
    kind : {"csv", "jsonl", "parquet", "excel"}
        ``"csv"`` stands for any delimited text.
    delimiter : str, default=","
        Between the cells of delimited text.
    encoding : str, default="utf-8"
        Of text; ``"utf-8-sig"`` is UTF-8 with a byte order mark, as Excel writes it.
    newline : str, default="\\n"
        At the end of each line of text.
    gzip : bool, default=False
        Whether the text is compressed.
    """

    kind: str
    delimiter: str = ","
    encoding: str = "utf-8"
    newline: str = "\n"
    gzip: bool = False


def format_of_path(path: str | Path) -> TableFormat:
    r"""Tell the format by the name of a file; a name without a known suffix is an error.

    Parameters
    ----------
    path : str or Path
        ``"-"``, standard input or output, is CSV.

    Returns
    -------
    TableFormat

    Examples
    --------
    >>> from leaven.tables import format_of_path
    >>> format_of_path("tickets.tsv.gz")
    TableFormat(kind='csv', delimiter='\t', encoding='utf-8', newline='\n', gzip=True)
    """
    if str(path) == STANDARD_STREAM:
        return TableFormat("csv")
    if "\0" in str(path):
        raise TableError(f"{str(path)!r} cannot be the name of a file: it holds a NUL.")
    if not Path(path).name:
        what = "is a directory, not a file" if str(path) else "is empty"
        raise TableError(f"The name of the file, {str(path)!r}, {what}.")
    stem, suffix, zipped = split_suffix(path)
    if suffix.lower() not in _SUFFIXES:
        raise TableError(
            f"{path}: files with the suffix {suffix or '(none)'!r} are not supported. Use "
            f"{', '.join(_SUFFIXES)}, text also with .gz; or pipe text through standard input "
            f"and output as {STANDARD_STREAM!r}."
        )
    kind, delimiter = _SUFFIXES[suffix.lower()]
    if zipped and kind in ("parquet", "excel"):
        raise TableError(
            f"{path}: a file of this kind is compressed inside and takes no .gz. "
            f"Use {Path(stem).name}{suffix}."
        )
    return TableFormat(kind, delimiter, gzip=zipped)


def split_suffix(path: str | Path) -> tuple[str, str, bool]:
    """Split a path into stem, suffix without ``.gz``, and whether ``.gz`` was there.

    Examples
    --------
    >>> from leaven.tables._format import split_suffix
    >>> split_suffix("data/a.b.csv.gz")
    ('data/a.b', '.csv', True)
    """
    path = Path(path)
    zipped = path.suffix.lower() == ".gz"
    if zipped:
        path = path.with_suffix("")
    return str(path.with_suffix("")), path.suffix, zipped


def labeled_path(path: str | Path) -> str:
    """Where the labeled table goes unless the user says otherwise.

    Parameters
    ----------
    path : str or Path
        Of the table.

    Returns
    -------
    str

    Examples
    --------
    >>> from leaven.tables import labeled_path
    >>> labeled_path("tickets.csv.gz"), labeled_path("-")
    ('tickets.labeled.csv.gz', '-')
    """
    if str(path) == STANDARD_STREAM:
        return STANDARD_STREAM
    stem, suffix, _ = split_suffix(path)
    # The suffixes are taken as they stand, so that ".CSV.GZ" stays in capitals.
    return f"{stem}.labeled{suffix}{str(path)[len(stem) + len(suffix) :]}"


def sniff_text(
    stream: BinaryIO, name: str, expected: TableFormat, *, delimiter: str | None = None
) -> tuple[TableFormat, list[str]]:
    """Find line ends, byte order mark and header of delimited text; check the delimiter.

    Parameters
    ----------
    stream : binary file
        At its start, and put back there.
    name : str
        Of the file, for messages.
    expected : TableFormat
        With the delimiter that the file should have by its name.
    delimiter : str, optional
        The delimiter that the user asked for, believed without a check.

    Returns
    -------
    format : TableFormat
    header : list of str
        The column names.
    """
    text, complete = _sample(stream, name, expected.encoding)
    if not text.strip():
        raise TableError(f"{name} is empty: it has no header and no rows.")
    encoding = expected.encoding
    if text.startswith("\ufeff"):
        text = text[1:]
        encoding = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    delimiter = delimiter or checked_delimiter(text, complete, name, expected.delimiter)
    records = _records(text, complete, delimiter)
    if not records:
        raise TableError(f"{name}: the header could not be read. Is this delimited text?")
    found = TableFormat("csv", delimiter, encoding, _newline(text), expected.gzip)
    return found, records[0]


def checked_delimiter(text: str, complete: bool, name: str, expected: str) -> str:
    """Return ``expected``, or raise if the text is plainly separated by something else.

    The lines at the start of the file are split by every usual delimiter. The expected one
    is fine if each line has as many cells as the header, and more than one. If not, but
    another delimiter does that, the file is separated by the other one; guessing silently
    would be wrong now and then, so the user is asked to say it.
    """
    widths = {}
    for candidate in DELIMITERS:
        records = _records(text, complete, candidate)
        width = len(records[0]) if records else 0
        regular = width > 1 and all(len(record) == width for record in records)
        widths[candidate] = width if regular else 0
    if widths[expected]:
        return expected
    best = max(widths, key=lambda candidate: widths[candidate])
    if widths[best]:
        raise TableError(
            f"{name} looks separated by {DELIMITERS[best]}s ({widths[best]} columns), not by "
            f"{DELIMITERS[expected]}s.",
            advice=("If so, pass", "delimiter", best),
        )
    records = _records(text, complete, expected)
    short = [i for i, record in enumerate(records) if len(record) < len(records[0])]
    if records and len(short) > len(records) // 2:
        raise TableError(
            f"{name}: the header has {len(records[0])} columns but record {short[0] + 1} has "
            f"{len(records[short[0]])}. Is {DELIMITERS[expected]} the delimiter?"
        )
    return expected


_MARKS = {
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
}


def not_in_encoding(stream: BinaryIO, name: str, encoding: str) -> TableError:
    """Describe where ``stream`` leaves ``encoding``, and what it may be instead."""
    stream.seek(0)
    start = stream.read(4)
    stream.seek(0)
    if start[:2] == b"PK":
        return TableError(
            f"{name} is a zip archive or an Excel file, not text. Name it .xlsx if it is a "
            "workbook, or export it as CSV."
        )
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return TableError(
            f"{name} is UTF-16 text, not {encoding}.", advice=("Pass", "encoding", "utf-16")
        )
    # Python 3.13 calls a missing mark an error of decoding, earlier ones do not.
    marks = _MARKS.get(codecs.lookup(encoding).name)
    if marks is not None and not start.startswith(marks):
        return TableError(
            f"{name} does not start with the byte order mark of {encoding}.",
            advice=("If its bytes are in order, pass", "encoding", f"{encoding}-le"),
        )
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    for chunk in iter(lambda: stream.read(1 << 20), b""):
        pending = decoder.getstate()[0]
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError as error:
            data = pending + chunk
            line += data[: error.start].count(b"\n")
            guess = _guess_encoding(data[max(0, error.start - 1000) : error.start + 1000])
            return TableError(
                f"{name} is not {encoding} text: byte 0x{data[error.start]:02x} in line {line}"
                f"{'; it looks like ' + guess if guess else ', and it does not look like text'}.",
                advice=("If so, pass", "encoding", guess) if guess else None,
            )
        line += chunk.count(b"\n")
    return TableError(f"{name} is not {encoding} text: it ends in the middle of a character.")


def _guess_encoding(data: bytes) -> str:
    """Name the likely encoding of text that is not UTF-8; empty if it is not text."""
    if data.count(b"\0") or sum(byte < 32 and byte not in b"\t\r\n" for byte in data) > 10:
        return ""
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def _sample(stream: BinaryIO, name: str, encoding: str) -> tuple[str, bool]:
    """Decode the start of ``stream``, long enough for some lines; True if that is all."""
    size = _FIRST_SAMPLE
    while True:
        data = stream.read(size)
        complete = len(data) < size
        stream.seek(0)
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(data, final=complete)
        except UnicodeError:
            raise not_in_encoding(stream, name, encoding) from None
        # A table of many thousand columns has a header longer than the first sample.
        if complete or text.count("\n") + text.count("\r") > 2 or size >= _LAST_SAMPLE:
            return text, complete
        size *= 8


def _records(text: str, complete: bool, delimiter: str) -> list[list[str]]:
    """Split the first lines into cells; a last line that may be cut off is left out."""
    records = []
    try:
        for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if record:
                records.append(record)
            if len(records) > _SAMPLED_RECORDS:
                return records[:-1]
    except csv.Error:
        # A cell beyond the csv module's limit: what was read before it is good.
        return records
    return records if complete or len(records) < 2 else records[:-1]


def _newline(text: str) -> str:
    position = text.find("\n")
    if position < 0:
        return "\r" if "\r" in text else "\n"
    return "\r\n" if text[position - 1 : position] == "\r" else "\n"
