"""Tables: reading, preparing, labeling and writing them."""

from __future__ import annotations

from leaven.tables._errors import TableError
from leaven.tables._format import TableFormat
from leaven.tables._kinds import ColumnKind
from leaven.tables._label import (
    ClassCount,
    LabelingResult,
    LabelingSummary,
    label,
    label_table,
)
from leaven.tables._prepare import TablePreparer
from leaven.tables._read import read_table
from leaven.tables._write import write_table

__all__ = [
    "ClassCount",
    "ColumnKind",
    "LabelingResult",
    "LabelingSummary",
    "TableError",
    "TableFormat",
    "TablePreparer",
    "label",
    "label_table",
    "read_table",
    "write_table",
]
