"""One self-contained HTML page about a labeled table: nothing is loaded from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from leaven.report._figures import histogram
from leaven.report._lead import lead
from leaven.report._map import draw_map, map_legend, marks_of
from leaven.report._methods import curve_section, methods_section
from leaven.report._rows import Rows, row_table
from leaven.report._selection import verdict
from leaven.report._shares import share_table
from leaven.report._snippet import python_snippet
from leaven.report._style import POLICY, SCRIPT, STYLE
from leaven.report._text import bullets, count, name, percent, safe, table
from leaven.tables import LabelingResult, LabelingSummary

# Sections for those who want to know how the answer came about; the others are about the rows.
_FOLDED = ("methods", "curve", "confidence", "columns", "python")

# Rows of a table on the page: what a reader looks through, and what keeps the page small.
_HARDEST = 10  # one screen, without scrolling
_MOST_ASKED = 100  # an afternoon of labeling; the output file marks all of them
_MOST_COLUMNS = 100  # a line each, used or not
_MOST_NOTES = 50  # more are nearly always one note repeated per column


def render_report(
    result: LabelingResult,
    *,
    title: str = "Labeled table",
    reading: Mapping[str, Any] | None = None,
) -> str:
    """Render what was done to a table as one HTML page.

    Parameters
    ----------
    result : LabelingResult
        As returned by :func:`leaven.tables.label_table`. What it does not hold (a comparison
        of methods, a learning curve, a map, rows to label next) is left out or said to be
        missing.
    title : str, default="Labeled table"
        Usually the name of the file, which the lines of Python on the page then read.
    reading : mapping, optional
        Further arguments of the function of pandas that reads the file in these lines, such as
        ``{"sep": ";"}``.

    Returns
    -------
    str
        A page that needs nothing else: no style sheet, no image and no script from outside,
        and no network, which a content security policy in the page forbids.

    Examples
    --------
    >>> from leaven.datasets import load_example
    >>> from leaven.report import render_report
    >>> from leaven.tables import label_table
    >>> page = render_report(label_table(load_example("orchard"), "variety"), title="orchard")
    >>> page.startswith("<!doctype html>"), "orchard" in page
    (True, True)
    """
    rows = Rows(result)
    sections = [
        _headline(result, title),
        methods_section(result.selection, result.summary),
        curve_section(result.curve),
        _confidence(result, rows),
        _section("shares", "Classes", share_table(result.summary)),
        _map(result, rows),
        _ask(result, rows),
        _hardest(rows),
        _columns(result.summary),
        _notes(result),
        _python(result, title, reading),
    ]
    body = "\n".join(_folding(section) for section in sections if section)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{safe(POLICY, len(POLICY))}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{safe(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def _folding(section: str) -> str:
    """Let a section fold away below its heading; how the answer came about begins folded."""
    opening, heading, rest = section.partition("<h2>")
    if not heading:
        return section  # the head of the page
    title, _, content = rest.removesuffix("</section>").partition("</h2>")
    is_open = "" if any(f'id="{each}"' in opening for each in _FOLDED) else " open"
    return (
        f'{opening}<details class="fold"{is_open}><summary><h2>{title}</h2></summary>{content}'
        "</details></section>"
    )


def _section(id_: str, heading: str, content: str) -> str:
    return f'<section id="{id_}"><h2>{heading}</h2>{content}</section>'


def _headline(result: LabelingResult, title: str) -> str:
    summary = result.summary
    tiles = [
        ("rows", f"{summary.n_rows:,}"),
        ("labels given", f"{summary.n_given:,}"),
        ("labels inferred", f"{summary.n_inferred:,}"),
        ("classes", f"{len(summary.classes):,}"),
        ("mean confidence", f"{summary.mean_confidence:.2f}"),
    ]
    listed = "".join(f"<div><dt>{text}</dt><dd>{number}</dd></div>" for text, number in tiles)
    return (
        f'<header id="headline"><h1>{name(title)}</h1>'
        f'<p class="verdict" id="lead">{lead(result)}</p>'
        f"<p>{summary.n_inferred:,} of {count(summary.n_rows, 'row')} were labeled in "
        f"<b>{name(summary.target)}</b> from {count(summary.n_given, 'given label')} of "
        f"{count(len(summary.classes), 'class', 'classes')}, by the method "
        f"<b>{name(summary.method)}</b> in {summary.seconds:.1f} seconds.</p>"
        f'<dl class="tiles">{listed}</dl>'
        f"<p>{safe(verdict(result.selection, summary.method), 2000)}</p></header>"
    )


def _confidence(result: LabelingResult, rows: Rows) -> str:
    confidence = rows.confidence[rows.inferred]
    sure, doubtful = float(np.mean(confidence >= 0.9)), float(np.mean(confidence < 0.6))
    checked = _checked_accuracy(result)
    text = (
        f"<p>{percent(sure)} of the inferred labels have a confidence of 0.9 or more, "
        f"{percent(doubtful)} have less than 0.6.</p>"
        '<p class="soft">Confidence is the probability that the method itself gives to the label. '
        f"{checked}</p>"
    )
    figure = (
        f"<figure>{histogram(confidence)}<figcaption>Inferred labels by confidence, 0 to 1; the "
        "number of rows stands above each bar.</figcaption></figure>"
    )
    return _section("confidence", "Confidence of the inferred labels", text + figure)


def _checked_accuracy(result: LabelingResult) -> str:
    selection = result.selection
    unchecked = "It was not checked against labels that were held out."
    if selection is None or selection.scoring != "accuracy":
        return unchecked
    found = selection.candidates
    found = found[found["name"] == selection.choice]
    if not np.isfinite(found["score"].to_numpy(dtype=float)).any():
        return unchecked
    return (
        f"On average it is {result.summary.mean_confidence:.2f}; of the labels that were held "
        f"out, the method got {percent(float(found['score'].iloc[0]))} right."
    )


def _map(result: LabelingResult, rows: Rows) -> str:
    if result.points is None:
        return ""
    counts = [(each.name, each.given + each.inferred) for each in result.summary.classes]
    marks = marks_of(counts)
    drawn, n_drawn = draw_map(result.points, rows, marks)
    if not n_drawn:
        return _section("map-section", "Map of the rows", "<p>No row could be placed.</p>")
    n_rows = result.summary.n_rows
    which = f"All {n_rows:,} rows" if n_drawn == n_rows else f"{n_drawn:,} of {n_rows:,} rows"
    text = (
        "<p>Rows that are near each other are alike in the columns that were used. Large marks "
        "with an outline came with their label, small ones were inferred; a mark that is "
        "larger still stands for several rows on one spot. Point at a mark, or tap it, to see "
        "the row.</p>"
    )
    caption = (
        f"{which}. The two directions are a projection and have no unit; rows that are far apart "
        "in the table may come to lie together."
    )
    return _section(
        "map-section",
        "Map of the rows",
        f"{text}<figure>{drawn}{map_legend(marks)}<figcaption>{caption}</figcaption></figure>",
    )


def _ask(result: LabelingResult, rows: Rows) -> str:
    if result.ask is None:
        return ""
    asked = [int(row) for row in result.ask]
    if not asked:
        return _section("ask", "Rows to label next", "<p>There is no row left to ask for.</p>")
    text = (
        "<p>A label for these rows would teach the method most, the first one most of all. Fill in "
        "the cells and run it again.</p>"
    )
    caption = (
        "Rows to label next, with the label inferred so far; row 1 is the first below the header"
    )
    shown = row_table(rows, asked[:_MOST_ASKED], caption, more=max(len(asked) - _MOST_ASKED, 0))
    return _section("ask", "Rows to label next", text + shown)


def _hardest(rows: Rows) -> str:
    caption = "Inferred labels with the lowest confidence; row 1 is the first below the header"
    text = "<p>The labels that are least certain: worth a look.</p>"
    hardest, counts = rows.hardest(_HARDEST)
    shown = row_table(rows, hardest.tolist(), caption, counts=counts)
    return _section("hardest", "Hardest to classify", text + shown)


def _columns(summary: LabelingSummary) -> str:
    used = [
        [
            name(column),
            safe(kind),
            f"{summary.weights[column]:.2f}" if column in summary.weights else "",
        ]
        for column, kind in summary.columns.items()
    ]
    header = [("column", False), ("kind", False), ("weight", True)]
    text = table(
        "Columns that were used, and how much each counted in the likeness of two rows",
        header,
        used[:_MOST_COLUMNS],
        more=max(len(used) - _MOST_COLUMNS, 0),
    )
    if summary.dropped:
        dropped = [
            f"<b>{name(column)}</b>: {safe(reason)}" for column, reason in summary.dropped.items()
        ]
        rest = len(dropped) - _MOST_COLUMNS
        more = [f"and {rest:,} more"] if rest > 0 else []
        text += f"<p>Not used:</p>{bullets([*dropped[:_MOST_COLUMNS], *more])}"
    return _section("columns", "Columns", text)


def _notes(result: LabelingResult) -> str:
    notes = [*result.summary.notes, *(result.selection.notes if result.selection else ())]
    if not notes:
        return ""
    more = [f"and {len(notes) - _MOST_NOTES:,} more"] if len(notes) > _MOST_NOTES else []
    shown = [safe(note, 1000) for note in notes[:_MOST_NOTES]]
    return _section("notes", "Notes", bullets([*shown, *more]))


def _python(result: LabelingResult, title: str, reading: Mapping[str, Any] | None) -> str:
    code = python_snippet(result, title, reading)
    return _section(
        "python",
        "The same in Python",
        f'<pre tabindex="0"><code>{safe(code, len(code))}</code></pre>',
    )
