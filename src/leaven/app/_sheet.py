"""The table as the page sees it: cells as text, rows in a random order, searches."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Collection, Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven._labels import UNLABELED
from leaven.app._fingerprints import fingerprints
from leaven.tables import TableError, encode_target

ADDED = ("predicted", "confidence", "source", "review", "by", "at", "note")
"""What the export adds to the name of the target; such columns are not content."""

_SNIPPET = 160  # characters of a row in a list
_LONG = 20_000  # characters of a cell that are sent at once; the page asks for the others
_LOOKED_AT = 200  # cells of a column that tell whether it is a text
_WORDS = 5  # median of a text: names and places have fewer, the shortest titles as many
_WIDE = 60  # columns that are sent of a wide table; the page asks for the others


class Sheet:
    """A table to be labeled.

    Parameters
    ----------
    table : DataFrame
    target : column name
        May be missing: then no row has a label.
    text : collection of str, default=()
        Columns of texts, shown first.
    first : collection of str, default=()
        Columns to show before the others.
    images : str, optional
        The column with paths of images.
    content : collection of str, optional
        The columns that name a row; None stands for all but the target and what the export
        adds.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        target: Hashable,
        *,
        text: Collection[str] = (),
        first: Collection[str] = (),
        images: str | None = None,
        content: Collection[str] | None = None,
    ) -> None:
        if not len(table):
            raise TableError("The table is empty: it has no rows to label.")
        self.table = table
        self.target = target
        own = {str(target), *(f"{target}_{suffix}" for suffix in ADDED)}
        plain = table.copy(deep=False)
        plain.columns = pd.Index([str(name) for name in table.columns])
        if plain.columns.has_duplicates:
            twice = plain.columns[plain.columns.duplicated()][0]
            raise TableError(f"The table has two columns {twice!r}. Rename one of them.")
        for name in (*text, *first, *([images] if images else [])):
            if name not in plain.columns:
                raise TableError(
                    f"There is no column {name!r}. The columns are "
                    f"{', '.join(map(repr, plain.columns[:12]))}."
                )
        self.features = plain[[name for name in plain.columns if name not in own]]
        if not len(self.features.columns):
            raise TableError(f"The table has no column but the target {target!r}: nothing to show.")
        self.texts = tuple(text)
        self.images = images
        self._cells: dict[str, list[str]] = {}
        self._searched: list[str] | None = None
        self.reading = tuple(text) or tuple(
            name for name in self.features.columns if _is_prose(self.features[name])
        )
        self.columns = list(dict.fromkeys([*first, *self.reading, *self.features.columns]))
        self.content = sorted(self.features.columns) if content is None else sorted(content)
        missing = [name for name in self.content if name not in self.features.columns]
        if missing:
            raise TableError(
                f"The table lost the column {missing[0]!r}, by which its rows were recognized when "
                "they were labeled. Bring it back, or name another event file.",
            )
        self.names = fingerprints(self.features, self.content)
        self.row_of = {name: row for row, name in enumerate(self.names)}
        self.classes, self.codes = _given(plain, str(target))

    def __len__(self) -> int:
        return len(self.names)

    def column(self, name: str) -> list[str]:
        """The cells of a column as text, with ``""`` for a missing one."""
        if name not in self._cells:
            self._cells[name] = self._texts(name, slice(None))
        return self._cells[name]

    def _texts(self, name: str, rows: slice) -> list[str]:
        values = self.features[name]
        is_date = pd.api.types.is_datetime64_dtype(values.dtype) and _only_dates(values)
        values = values.iloc[rows]
        missing = values.isna().tolist()
        if is_date:
            values = values.dt.date  # nobody reads 00:00:00
        return [
            "" if gap else str(cell) for cell, gap in zip(values.tolist(), missing, strict=True)
        ]

    def _cell(self, name: str, row: int) -> str:
        """One cell; of a column that is rarely shown, without the others of the column."""
        known = self._cells.get(name)
        return self._texts(name, slice(row, row + 1))[0] if known is None else known[row]

    def cells(self, row: int, *, full: bool = False) -> list[list[Any]]:
        """Name, text and length of the cells of a row, those to show first in front."""
        found = [(name, self.column(name)[row]) for name in self.columns[:_WIDE]]
        if full:
            found += [(name, self._cell(name, row)) for name in self.columns[_WIDE:]]
        return [[name, cell if full else cell[:_LONG], len(cell)] for name, cell in found]

    def snippet(self, row: int) -> str:
        """One line about a row, for lists."""
        # Of a text its words alone: an id or a date after it says nothing in a list.
        shown = self.reading or self.columns[:_WIDE]
        cells = [self.column(name)[row] for name in shown]
        if not any(cells):
            cells = [self.column(name)[row] for name in self.columns[:_WIDE]]
        return " · ".join(" ".join(cell.split()) for cell in cells if cell)[:_SNIPPET]

    def text_of(self, row: int) -> list[str]:
        """The cells of the row that hold words."""
        return [self.column(name)[row] for name in self.reading]

    def draw_order(self, seed: str) -> NDArray[np.intp]:
        """All rows in an order that is random, and the same after sorting or growing.

        Rows are sorted by a hash of the seed and their name: a simple random sample of the
        table is any number of rows at the beginning.
        """
        keys = [
            hashlib.blake2b(f"{seed}{name}".encode(), digest_size=8).digest() for name in self.names
        ]
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.intp)

    def search(self, query: str) -> NDArray[np.intp]:
        """The rows with all words of a query, in the order of the table.

        Case does not matter; words in quotes are one phrase, and a word after ``-`` must not
        be there.
        """
        wanted, unwanted = _terms(query)
        if not wanted and not unwanted:
            return np.empty(0, dtype=np.intp)
        if self._searched is None:
            columns = [self.column(name) for name in self.columns]
            self._searched = ["\n".join(row).casefold() for row in zip(*columns, strict=True)]
        rows: Sequence[int] = range(len(self))
        for term in wanted:
            rows = [row for row in rows if term in self._searched[row]]
        for term in unwanted:
            rows = [row for row in rows if term not in self._searched[row]]
        return np.asarray(rows, dtype=np.intp)


def _is_prose(values: pd.Series) -> bool:
    """Whether the cells of a column are texts to be read, judged by the first of them.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.app._sheet import _is_prose
    >>> _is_prose(pd.Series(["My parcel has not come yet, where is it?"]))
    True
    >>> _is_prose(pd.Series(["New York", "Rio"]))
    False
    """
    cells = values[values.notna()].head(_LOOKED_AT)
    words = [len(cell.split()) for cell in cells if isinstance(cell, str)]
    return len(words) == len(cells) > 0 and float(np.median(words)) >= _WORDS


def _only_dates(values: pd.Series) -> bool:
    present = values.dropna()
    return bool((present == present.dt.normalize()).all())


def _terms(query: str) -> tuple[list[str], list[str]]:
    """Split a query into what must and what must not be there.

    Examples
    --------
    >>> from leaven.app._sheet import _terms
    >>> _terms('refund "my card" -visa')
    (['refund', 'my card'], ['visa'])
    """
    splitter = shlex.shlex(query.casefold(), posix=True, punctuation_chars=False)
    splitter.whitespace_split = True
    splitter.commenters = ""
    splitter.quotes = '"'
    splitter.escape = ""
    try:
        terms = list(splitter)
    except ValueError:  # a quote without its end: the user is still typing
        terms = query.casefold().replace('"', " ").split()
    wanted = [term for term in terms if term and not (term.startswith("-") and len(term) > 1)]
    return wanted, [term[1:] for term in terms if term.startswith("-") and len(term) > 1]


def _given(table: pd.DataFrame, target: str) -> tuple[list[Any], NDArray[np.intp]]:
    """The classes and codes of the labels that the table came with."""
    none = np.full(len(table), UNLABELED, dtype=np.intp)
    if target not in table.columns:
        return [], none
    values = table[target]
    if not (values.notna() & (values.astype(str).str.strip() != "")).any():
        return [], none
    found = encode_target(values, needs_unlabeled=False, fewest_classes=0)
    return found.classes.tolist(), found.codes
