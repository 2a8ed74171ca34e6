"""Tables: reading, preparing, labeling and writing them."""

from __future__ import annotations

from leaven.tables._compare import TableComparison, accuracy_text, compare_table
from leaven.tables._errors import TableError
from leaven.tables._format import TableFormat, format_of_path, labeled_path
from leaven.tables._frames import as_pandas
from leaven.tables._images import IMAGE_TYPES, image_table, join_labels, labels_of_folders
from leaven.tables._kinds import ColumnKind
from leaven.tables._label import label, label_table
from leaven.tables._labeler import TableLabeler
from leaven.tables._many_files import FilesResult, find_files, label_files
from leaven.tables._model import TableModel
from leaven.tables._model_file import describe_model, load_model
from leaven.tables._options import LabelingOptions
from leaven.tables._prepare import TablePreparer
from leaven.tables._read import read_table, read_with_format
from leaven.tables._result import ClassCount, LabelingResult, LabelingSummary
from leaven.tables._target import encode_target
from leaven.tables._vectors import read_vectors
from leaven.tables._write import TableOutput, write_table

__all__ = [
    "IMAGE_TYPES",
    "ClassCount",
    "ColumnKind",
    "FilesResult",
    "LabelingOptions",
    "LabelingResult",
    "LabelingSummary",
    "TableComparison",
    "TableError",
    "TableFormat",
    "TableLabeler",
    "TableModel",
    "TableOutput",
    "TablePreparer",
    "accuracy_text",
    "as_pandas",
    "compare_table",
    "describe_model",
    "encode_target",
    "find_files",
    "format_of_path",
    "image_table",
    "join_labels",
    "label",
    "label_files",
    "label_table",
    "labeled_path",
    "labels_of_folders",
    "load_model",
    "read_table",
    "read_vectors",
    "read_with_format",
    "write_table",
]
