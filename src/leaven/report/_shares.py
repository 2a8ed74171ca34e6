"""The classes: how many rows came with the label and how many were inferred."""

from __future__ import annotations

from leaven.report._figures import share_bars
from leaven.report._text import count, name, percent, table
from leaven.tables import LabelingSummary

# Rows of the table: the largest classes, which cover nearly all rows of real tables.
MOST_CLASSES = 50


def share_table(summary: LabelingSummary) -> str:
    """Show the share of each class among the given and among the inferred labels."""
    n_given, n_inferred = max(summary.n_given, 1), max(summary.n_inferred, 1)
    counts = sorted(summary.classes, key=lambda each: -(each.given + each.inferred))
    shares = [(each, each.given / n_given, each.inferred / n_inferred) for each in counts]
    most = max((max(given, inferred) for _, given, inferred in shares), default=1.0)
    rows = [
        [
            name(each.name),
            f"{each.given:,} <small>{percent(given)}</small>",
            f"{each.inferred:,} <small>{percent(inferred)}</small>",
            share_bars(given, inferred, most),
        ]
        for each, given, inferred in shares[:MOST_CLASSES]
    ]
    header = [("class", False), ("given", True), ("inferred", True), ("share of each", False)]
    caption = (
        f"{count(len(counts), 'class', 'classes')}, the most frequent first. Upper bar, outlined: "
        "among the given labels. Lower bar, full: among the inferred ones."
    )
    return table(caption, header, rows, more=max(len(counts) - MOST_CLASSES, 0))
