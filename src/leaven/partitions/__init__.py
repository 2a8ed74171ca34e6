"""Rows in partitions: partial results per partition, merged by a tree, solved on one machine.

``map`` and ``reduce`` over the partitions of a list, of any iterable, or of a Dask collection;
what is to be computed is a function of one partition, and knows nothing of Dask.
"""

from leaven.partitions._collections import (
    Block,
    LocalPartitions,
    Partitions,
    as_partitions,
    is_partitioned,
    stack_rows,
)
from leaven.partitions._jobs import JobPartitions
from leaven.partitions._labels import classes_in, codes_of, merge_classes
from leaven.partitions._on_dask import DaskPartitions
from leaven.partitions._survey import Survey, answers, survey

__all__ = [
    "Block",
    "DaskPartitions",
    "JobPartitions",
    "LocalPartitions",
    "Partitions",
    "Survey",
    "answers",
    "as_partitions",
    "classes_in",
    "codes_of",
    "is_partitioned",
    "merge_classes",
    "stack_rows",
    "survey",
]
