"""Tables: reading, preparing, labeling and writing them."""

from __future__ import annotations

from leaven.tables._errors import TableError
from leaven.tables._format import TableFormat
from leaven.tables._kinds import ColumnKind
from leaven.tables._label import label, label_table
from leaven.tables._prepare import TablePreparer
from leaven.tables._read import read_table
from leaven.tables._result import ClassCount, LabelingResult, LabelingSummary
from leaven.tables._study import TableComparison, compare_table
from leaven.tables._target import encode_target
from leaven.tables._write import write_table

__all__ = [
    "ClassCount",
    "ColumnKind",
    "LabelingResult",
    "LabelingSummary",
    "TableComparison",
    "TableError",
    "TableFormat",
    "TablePreparer",
    "compare_table",
    "encode_target",
    "label",
    "label_table",
    "read_table",
    "write_table",
]
