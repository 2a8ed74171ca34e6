"""The rows of a labeled table as the report shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaven.report._text import name, safe, table
from leaven.tables import LabelingResult

# Columns of the user's table that are shown next to a row.
SHOWN_COLUMNS = 4


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
        self._table = result.table
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
        values = [self._table.iat[row, place] for place in self._shown]
        return list(zip(self.column_names, values, strict=True))

    def hardest(self, n_rows: int) -> NDArray[np.intp]:
        """Return the inferred rows with the lowest confidence, the lowest first."""
        rows = self.inferred
        return rows[np.argsort(self.confidence[rows], kind="stable")[:n_rows]]


def _is_ours(column: str, target: str) -> bool:
    added = ("predicted", "confidence", "source", "review")
    return column == target or column in {f"{target}_{suffix}" for suffix in added}


def row_table(rows: Rows, positions: Iterable[int], caption: str, *, more: int = 0) -> str:
    """Show rows with their label, confidence and first cells."""
    header = [("row", True), ("label", False), ("confidence", True)]
    header += [(name(column), False) for column in rows.column_names]
    lines = [
        [
            f"{row + 1:,}",
            safe(rows.label(row)),
            f"{rows.confidence[row]:.2f}",
            *(safe(cell) for _, cell in rows.cells(row)),
        ]
        for row in positions
    ]
    return table(caption, header, lines, more=more, cards=True)
