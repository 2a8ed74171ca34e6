"""The labeling page: ``leaven annotate`` and :func:`leaven.annotate`."""

from __future__ import annotations

from leaven.app._annotate import AnnotateOptions, LabelingPage, annotate, open_page
from leaven.app._export import take_over_labels
from leaven.tables import image_table

__all__ = [
    "AnnotateOptions",
    "LabelingPage",
    "annotate",
    "image_table",
    "open_page",
    "take_over_labels",
]
