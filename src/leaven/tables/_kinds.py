"""What the columns of a table hold: numbers, categories, dates, texts, or nothing of use."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from datetime import datetime, time, timezone
from typing import Any

import numpy as np
import pandas as pd

from leaven._suggest import did_you_mean
from leaven.tables._errors import TableError
from leaven.tables._vectors import looks_like_vectors, vector_length

NUMBER, CATEGORY, DATE, TEXT, DROPPED = "number", "category", "date", "text", "dropped"
VECTOR = "vector"

MISSING_WORDS = frozenset(
    ["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "?", "-", "<NA>"]
)
"""Cells that stand for a missing number or date."""

_DAYS = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d", "%d %b %Y", "%d-%m-%Y", "%d-%b-%Y")
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f")
DATE_FORMATS = (
    "ISO8601",
    *(day + time_of_day for time_of_day in _TIMES for day in _DAYS),
    "%a, %d %b %Y %H:%M:%S %z",  # as e-mails and web servers write it
)

IMAGE_PATHS = "paths of images: extract features from the images first, one column each"
"""Why a column of such paths is dropped."""

IGNORED = "to be ignored"
"""Why a column is dropped that the user named."""

_IMAGE = re.compile(r"\.(?:png|jpe?g|gif|bmp|tiff?|webp|heic|svg|dcm)$", re.IGNORECASE)
_SAMPLE = 1000
"""Cells that are looked at to tell the kind of a column of strings."""

_FEW_NUMBERS = 3
"""Distinct values of a number that is a code or a yes/no: as a category it did better on the
tables where it is a code (Monk's problems, solar flares), and not worse on the others."""

_PARSED_SHARE = 0.95
"""Share of the cells that must be numbers or dates: one typing error in twenty is forgiven."""

_TELLING_CELLS = 20
"""Cells of a text file from which on their kind is no accident: below, one error in twenty that
would be forgiven is more than all that may be wrong."""

_TEXT_WORDS = 2.5
"""Words per cell, on average, from which a column is a text: names of things have one or two."""

_NAME_WORDS = 1.5
"""Words per cell, on average, below which distinct cells are names or ids and not a text."""

_MANY_CATEGORIES = 200
"""Distinct values beyond which a column is no category: most of them would be rare."""

MAX_COLUMNS = 20_000
"""Columns of a table: each is looked at by itself, which takes milliseconds, so that this many
take a minute."""

_ID_NAME = re.compile(
    r"(?:^|[_\W])(?:id|ids|uuid|guid|key|rowid|index)$|[a-z]I[dD]$", re.IGNORECASE
)


@dataclass(frozen=True)
class ColumnKind:
    """What one column holds and how it is read.

    Parameters
    ----------
    name : str
    kind : {"number", "category", "date", "text", "vector", "dropped"}
    reason : str
        Why a column is dropped; empty for the others.
    date_format : str, optional
        The format of dates that are written as text.
    """

    name: str
    kind: str
    reason: str = ""
    date_format: str | None = None


def column_kinds(
    table: pd.DataFrame, *, text: Collection[Hashable] = (), ignore: Collection[Hashable] = ()
) -> list[ColumnKind]:
    """Tell what each column of a table holds.

    Parameters
    ----------
    table : DataFrame
    text : collection of column names, default=()
        Columns that are texts whatever they look like.
    ignore : collection of column names, default=()
        Columns to drop.

    Returns
    -------
    kinds : list of ColumnKind

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.tables._kinds import column_kinds
    >>> table = pd.DataFrame({"id": range(4), "size": ["1.5", "2", "2.5", "?"], "same": "x"})
    >>> for column in column_kinds(table):
    ...     print(column.name, column.kind, column.reason)
    id dropped an id: every value is distinct
    size number
    same dropped constant
    """
    if table.shape[1] > MAX_COLUMNS:
        raise TableError(
            f"The table has {table.shape[1]:,} columns, and at most {MAX_COLUMNS:,} can be learned "
            "from, since each is looked at by itself. Keep the columns that matter, or give the "
            "numbers as one array of vectors."
        )
    kinds = [
        ColumnKind(str(name), DROPPED, IGNORED)
        if name in ignore
        else _kind_of(table[name], forced=name in text)
        for name in table.columns
    ]
    return [
        kind if kind.kind != CATEGORY or _has_two_groups(table[name]) else _without_groups(kind)
        for name, kind in zip(table.columns, kinds, strict=True)
    ]


def rarest_category(n_rows: int) -> int:
    """How often a category must occur to be one of its own."""
    return min(max(2, n_rows // 1000), 20)


def category_cells(values: pd.Series) -> pd.Series:
    """Names of the categories of a column, without white space around them."""
    return as_cells(values).str.strip()


def _has_two_groups(values: pd.Series) -> bool:
    """Whether more remains of the categories than one group of rare ones."""
    counts = category_cells(values).value_counts()
    frequent = int((counts >= rarest_category(len(values))).sum())
    return frequent + (frequent < len(counts)) > 1


def _without_groups(kind: ColumnKind) -> ColumnKind:
    return ColumnKind(kind.name, DROPPED, "no value is frequent")


def as_numbers(values: pd.Series, kind: ColumnKind) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Numbers of a column of kind "number" or "date", NaN where there is none."""
    if kind.kind == DATE:
        return _seconds(values, kind.date_format)
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    if pd.api.types.is_timedelta64_dtype(values.dtype):
        return np.array(values.dt.total_seconds(), dtype=np.float64)
    if pd.api.types.infer_dtype(values, skipna=True) == "time":
        return np.array([_seconds_of_day(value) for value in values], dtype=np.float64)
    if not pd.api.types.is_numeric_dtype(values.dtype):
        values = pd.to_numeric(values, errors="coerce")
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
    numbers[np.isinf(numbers)] = np.nan
    return numbers


def as_cells(values: pd.Series) -> pd.Series:
    """Strings of a column of kind "category" or "text", with ``""`` where there is none."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    missing = values.isna()
    cells = values if isinstance(values.dtype, pd.StringDtype) else _strings(values)
    return cells.mask(missing, "") if missing.any() else cells


def _strings(values: pd.Series) -> pd.Series:
    if values.dtype.kind == "f" or isinstance(values.dtype, pd.Float64Dtype):
        # 1.0 in a column of floats is the category "1" of a column of integers with gaps.
        return values.map("{:g}".format, na_action="ignore").astype(object)
    return values.astype(str)


def _kind_of(values: pd.Series, *, forced: bool) -> ColumnKind:
    name = str(values.name)
    if looks_like_vectors(values):
        if vector_length(values) is None:
            return ColumnKind(name, DROPPED, "its vectors have different lengths")
        return ColumnKind(name, VECTOR)
    inferred = pd.api.types.infer_dtype(values, skipna=True)
    if inferred in ("mixed", "bytes", "complex", "unknown-array") and not _is_textual(values):
        return ColumnKind(name, DROPPED, "its cells are objects, not numbers or text")
    if inferred == "mixed-integer":
        values = values.astype(str).where(values.notna())
    present = _present(values)
    if not len(present):
        return ColumnKind(name, DROPPED, "all cells are missing")
    if forced:
        return ColumnKind(name, TEXT)
    n_distinct = int(present.nunique())
    if n_distinct == 1 and len(present) == len(values):
        return ColumnKind(name, DROPPED, "constant")
    if inferred in ("datetime64", "datetime", "date", "period"):
        return ColumnKind(name, DATE)
    if inferred == "time":
        return ColumnKind(name, NUMBER)
    if inferred == "boolean" or n_distinct == 1:
        return ColumnKind(name, CATEGORY)
    if not _is_textual(values):
        return _kind_of_numbers(name, values, present)
    numbers = _numbers_among(present)
    if numbers is not None:
        return _kind_of_numbers(name, values, numbers)
    if _some(present).str.strip().str.contains(_IMAGE).mean() >= _PARSED_SHARE:
        return ColumnKind(name, DROPPED, IMAGE_PATHS)
    date_format = _date_format(present)
    if date_format is not None:
        return ColumnKind(name, DATE, date_format=date_format)
    return _kind_of_strings(name, values, present, n_distinct)


def _kind_of_numbers(name: str, values: pd.Series, present: pd.Series) -> ColumnKind:
    if pd.api.types.is_timedelta64_dtype(present.dtype):
        return ColumnKind(name, NUMBER)
    if isinstance(present.dtype, pd.CategoricalDtype):
        return ColumnKind(name, CATEGORY)
    numbers = present.to_numpy(dtype=np.float64)
    numbers = numbers[np.isfinite(numbers)]
    distinct = np.unique(numbers)
    if len(distinct) == 0:
        return ColumnKind(name, DROPPED, "all cells are missing or infinite")
    if len(distinct) == 1 and len(numbers) == len(values):
        return ColumnKind(name, DROPPED, "constant")
    if len(distinct) <= _FEW_NUMBERS and len(numbers) >= 3 * len(distinct):
        return ColumnKind(name, CATEGORY)
    if not (distinct == np.floor(distinct)).all():
        return ColumnKind(name, NUMBER)
    named_id = _ID_NAME.search(name) is not None
    if len(distinct) == len(values):
        # Row numbers say nothing, though close rows of a sorted file would be neighbors.
        if named_id or not name.strip() or distinct[-1] - distinct[0] == len(distinct) - 1:
            return ColumnKind(name, DROPPED, "an id: every value is distinct")
    elif named_id:
        return ColumnKind(name, CATEGORY)
    return ColumnKind(name, NUMBER)


def _kind_of_strings(
    name: str, values: pd.Series, present: pd.Series, n_distinct: int
) -> ColumnKind:
    mostly_distinct = n_distinct > 0.5 * len(present)
    if isinstance(values.dtype, pd.CategoricalDtype) and not mostly_distinct:
        return ColumnKind(name, CATEGORY)
    words = float(_some(present).str.count(r"\S+").mean())
    if words >= _TEXT_WORDS and (mostly_distinct or n_distinct > _MANY_CATEGORIES):
        return ColumnKind(name, TEXT)
    if not mostly_distinct:
        return ColumnKind(name, CATEGORY)
    if words >= _NAME_WORDS or _has_no_spaces_between_words(present):
        return ColumnKind(name, TEXT)
    if n_distinct == len(present):
        return ColumnKind(name, DROPPED, "an id: every value is distinct")
    if n_distinct > _MANY_CATEGORIES:
        share = n_distinct / len(present)
        return ColumnKind(name, DROPPED, f"like an id: {share:.0%} of its values are distinct")
    return ColumnKind(name, CATEGORY)


def _is_textual(values: pd.Series) -> bool:
    if isinstance(values.dtype, pd.CategoricalDtype):
        return _is_textual(pd.Series(values.cat.categories))
    if isinstance(values.dtype, pd.StringDtype):
        return True
    return values.dtype == object and pd.api.types.infer_dtype(values, skipna=True) in (
        "string",
        "empty",
    )


def _present(values: pd.Series) -> pd.Series:
    """Cells that are neither missing nor blank."""
    present = values.dropna()
    if _is_textual(values):
        if isinstance(values.dtype, pd.CategoricalDtype):
            present = present.astype(object)
        present = present[present.str.strip() != ""]
    return present


def what_cells_hold(values: pd.Series) -> str | None:
    """Tell what the cells of a text file hold: "numbers", "dates", "text", "empty".

    None where that is open: few cells, or numbers beside words.
    """
    present = _present(values)
    present = present[~present.isin(MISSING_WORDS)]
    if not len(present):
        return "empty"
    if len(present) < _TELLING_CELLS:
        return None
    numbers = float(pd.to_numeric(present, errors="coerce").notna().mean())
    if 0.0 < numbers < _PARSED_SHARE:
        return None
    if numbers:
        return "numbers"
    return "text" if _date_format(present) is None else "dates"


def _some(values: pd.Series) -> pd.Series:
    """Some of the values, from all over the column."""
    return values.iloc[:: -(-len(values) // _SAMPLE)]


def _numbers_among(present: pd.Series) -> pd.Series | None:
    """The numbers, if nearly all cells that are not a word for "missing" are numbers."""
    numbers = None
    for cells in (_some(present), present):
        cells = cells[~cells.isin(MISSING_WORDS)]
        if not len(cells):
            return None
        found = pd.to_numeric(cells, errors="coerce")
        numbers = found.dropna()
        if len(numbers) / len(found) < _PARSED_SHARE:
            return None
    return numbers


def _date_format(present: pd.Series) -> str | None:
    """Return the format in which nearly all cells are dates, or None.

    A few formats that mean one thing each are tried: a parser that guesses would take
    "10-4" or "May" for dates.
    """
    sample = _some(present)
    sample = sample[~sample.isin(MISSING_WORDS)]
    # Without a digit in most of the cells the slower parsing is not tried.
    if not len(sample) or sample.str.contains(r"\d{2}", regex=True).mean() < _PARSED_SHARE:
        return None
    for date_format in DATE_FORMATS:
        parsed = _times(sample.str.strip(), date_format)
        if (~np.isnat(parsed)).mean() >= _PARSED_SHARE:
            return date_format
    return None


def _times(cells: pd.Series, date_format: str | None) -> np.ndarray[Any, np.dtype[Any]]:
    """Parse dates as microseconds, with NaT for what is none.

    Microseconds reach from the year -290307 to 294246; nanoseconds end in 2262, and 9999-12-31
    stands for "for ever" in many tables.
    """
    parsed = pd.to_datetime(cells, format=date_format, errors="coerce", utc=True)
    times = parsed.dt.tz_localize(None).to_numpy().astype("datetime64[us]")
    lost = np.isnat(times) & cells.notna().to_numpy()
    if date_format is not None and lost.any() and _ends_in_2262():
        far = cells[lost]
        found = {cell: _far_time(cell, date_format) for cell in far.unique()}
        times[lost] = [found[cell] for cell in far]
    return times


@functools.cache
def _ends_in_2262() -> bool:
    """Whether this pandas parses to nanoseconds only, as 2.2 does."""
    return bool(pd.isna(pd.to_datetime(["9999-12-31"], errors="coerce", utc=True)[0]))


def _far_time(cell: Any, date_format: str) -> np.datetime64:
    try:
        iso = date_format == "ISO8601"
        found = datetime.fromisoformat(cell) if iso else datetime.strptime(cell, date_format)
    except (TypeError, ValueError):
        return np.datetime64("NaT", "us")
    if found.tzinfo is not None:
        found = found.astimezone(timezone.utc).replace(tzinfo=None)
    return np.datetime64(found, "us")


def _seconds(values: pd.Series, date_format: str | None) -> np.ndarray[Any, np.dtype[np.float64]]:
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    if isinstance(values.dtype, pd.PeriodDtype):
        values = values.dt.to_timestamp()
    if date_format is not None and _is_textual(values):
        values = values.str.strip()
    micro = _times(values, date_format)
    return np.where(np.isnat(micro), np.nan, micro.astype(np.int64) / 1e6)


def _seconds_of_day(value: Any) -> float:
    if not isinstance(value, time):
        return np.nan
    return value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6


def _has_no_spaces_between_words(present: pd.Series) -> bool:
    """Whether the cells are running text of a script without spaces (Chinese, Thai, ...)."""
    sample = _some(present)
    return bool(sample.str.contains(UNSPACED, regex=True).mean() > 0.5)


UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{4}"
"""A run of characters of a script that puts no spaces between words."""


def check_text_columns(
    text: Collection[Hashable], columns: Collection[Hashable], *, what: str = "text column"
) -> None:
    """Raise if a column that should be text, or is named for another reason, is not there."""
    for name in text:
        if name not in columns:
            raise TableError(f"There is no {what} {name!r}.{suggest(name, columns)}")


def suggest(name: Hashable, columns: Collection[Hashable]) -> str:
    """Return a sentence with the column names that are most like ``name``.

    Examples
    --------
    >>> from leaven.tables._kinds import suggest
    >>> suggest("Topc", ["id", "topic", "text"])
    " Did you mean 'topic'?"
    """
    close = did_you_mean(name, columns)
    if close:
        return close
    names = [repr(str(column)) for column in list(columns)[:12]]
    return f" The columns are {', '.join(names)}{', ...' if len(columns) > 12 else '.'}"
