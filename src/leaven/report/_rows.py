"""The rows of a labeled table as the report shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven.report._text import LONGEST_CELL, name, safe, table
from leaven.report._thumbnails import Thumbnails
from leaven.tables import LabelingResult

# Columns of the user's table that are shown next to a row.
SHOWN_COLUMNS = 4

_MIX = 0x9E3779B97F4A7C15  # an odd number without pattern (2^64 over the golden ratio)


class Rows:
    """Label, confidence and first cells of every row, by position.

    Parameters
    ----------
    result : LabelingResult

    Attributes
    ----------
    column_names : list of str
        The columns that are shown.
    given : bool array of shape (n_rows,)
        Which rows came with a label.
    confidence : array of shape (n_rows,)
    """

    def __init__(self, result: LabelingResult) -> None:
        target = result.summary.target
        columns = {str(column): place for place, column in enumerate(result.table.columns)}
        own = [place for text, place in columns.items() if not _is_ours(text, target)]
        used = result.summary.columns
        # What the method learned from tells more of a row than an id.
        own.sort(key=lambda place: str(result.table.columns[place]) not in used)
        self._thumbnails = Thumbnails(result)
        pictures = self._thumbnails.column
        own.sort(key=lambda place: str(result.table.columns[place]) != pictures)
        self._result = result
        self._table = result.table
        self._used = [place for text, place in columns.items() if text in used]
        # Vectors and pixels are no columns of the table. Those of a text or an image are known by
        # its cell; rows with vectors of their own are never told to be equal.
        apart = [text.rpartition("_")[0] for text in used if text not in columns]
        self._used += [columns[text] for text in apart if text in columns]
        self._all_differ = any(text not in columns for text in apart)
        self._shown = own[:SHOWN_COLUMNS]
        self.column_names = [str(result.table.columns[place]) for place in self._shown]
        self._labels = result.table.iloc[:, columns[f"{target}_predicted"]].to_numpy(dtype=object)
        source = result.table.iloc[:, columns[f"{target}_source"]].to_numpy()
        self.given: NDArray[np.bool_] = np.asarray(source == "given")
        self.confidence: NDArray[np.float64] = result.table.iloc[
            :, columns[f"{target}_confidence"]
        ].to_numpy(dtype=float)

    @property
    def inferred(self) -> NDArray[np.intp]:
        """Positions of the rows whose label was inferred."""
        return np.flatnonzero(~self.given)

    def label(self, row: int) -> Any:
        """Return the class of a row, given or inferred."""
        return self._labels[row]

    def cells(self, row: int) -> list[tuple[str, Any]]:
        """Return the first few cells of a row with the names of their columns."""
        values = [self._table.iloc[row, place] for place in self._shown]
        return list(zip(self.column_names, values, strict=True))

    def html_cells(self, row: int) -> list[str]:
        """Return the first few cells of a row as HTML; the path of an image with the image."""
        found = []
        for column, cell in self.cells(row):
            shown = self._thumbnails.of(cell) if column == self._thumbnails.column else ""
            # Of a long text the passage that tells its class, where only a part fits.
            is_text = isinstance(cell, str) and len(cell) > LONGEST_CELL
            found.append(
                shown + safe(self._result.passage(row, column, LONGEST_CELL) if is_text else cell)
            )
        return found

    def hardest(self, n_rows: int) -> tuple[NDArray[np.intp], list[int]]:
        """Return the inferred rows with the lowest confidence, the lowest first.

        Rows that are equal in the columns in use, and have the same label, are shown once.

        Parameters
        ----------
        n_rows : int

        Returns
        -------
        rows : ndarray of int
        counts : list of int
            How many rows each of them stands for.
        """
        rows = self.inferred
        rows = rows[np.argsort(self.confidence[rows], kind="stable")]
        group, first = pd.factorize(self._keys(rows))
        counts = np.bincount(group, minlength=len(first))
        heads = np.unique(group, return_index=True)[1]
        shown = np.sort(heads)[:n_rows]
        return rows[shown], [int(counts[group[place]]) for place in shown]

    def _keys(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """A number for each row; equal rows with an equal label have equal ones."""
        if self._all_differ:
            return np.asarray(rows)
        cells = self._table.iloc[rows, self._used]
        keys = np.zeros(len(rows), dtype=np.uint64)
        for column in [*(cells.iloc[:, j] for j in range(cells.shape[1])), self._labels[rows]]:
            # As text: a list or an array in a cell has no hash of its own.
            text = pd.Series(column).astype(str).to_numpy(dtype=object)
            keys = keys * np.uint64(_MIX) + pd.util.hash_array(text)
        return keys


def _is_ours(column: str, target: str) -> bool:
    added = ("predicted", "confidence", "source", "review", "set", "suspect", "ask")
    return (
        column == target
        or column in {f"{target}_{suffix}" for suffix in added}
        or column.startswith(f"{target}_p_")
    )


def row_table(
    rows: Rows,
    positions: Iterable[int],
    caption: str,
    *,
    counts: Iterable[int] | None = None,
    more: int = 0,
) -> str:
    """Show rows with their label, confidence and first cells; ``counts`` with those like them."""
    positions = list(positions)
    like = [1] * len(positions) if counts is None else list(counts)
    header = [("row", True), ("label", False), ("confidence", True)]
    header += [(name(column), False) for column in rows.column_names]
    lines = [
        [
            f"{row + 1:,}" + (f" <small>and {n_like - 1:,} like it</small>" if n_like > 1 else ""),
            safe(rows.label(row)),
            f"{rows.confidence[row]:.2f}",
            *rows.html_cells(row),
        ]
        for row, n_like in zip(positions, like, strict=True)
    ]
    return table(caption, header, lines, more=more, cards=True)
