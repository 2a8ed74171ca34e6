"""What ``leaven label`` prints when it is done."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from leaven.cli._common import console

if TYPE_CHECKING:
    from leaven.tables import LabelingResult, LabelingSummary

STANDARD_STREAM = "-"
# What fits on a usual screen of 80 columns and some 40 lines.
_MOST_CLASSES = 20  # one line each, half of the screen
_MOST_COLUMNS = 12  # names in one sentence, about two lines
_ASKED_COLUMNS = 4  # enough to recognize a row
_MOST_SUSPECTS = 10  # row numbers on one line; the file marks all of them


def print_summary(
    result: LabelingResult,
    file: str,
    out: str,
    notes: list[str],
    *,
    report: str | None,
    save: str | None = None,
    explain: bool,
    as_json: bool,
) -> None:
    """Print what was done: a few lines, or everything as JSON."""
    # Data on standard output must stay data.
    to_stderr = out == STANDARD_STREAM
    summary = result.summary
    if as_json:
        values = {
            "input": file,
            "output": out,
            "report": report,
            "model": save,
            **summary.to_dict(),
        }
        values["notes"] = _all_notes(result, notes)
        values["selection"] = None if result.selection is None else result.selection.to_dict()
        values["ask"] = None if result.ask is None else [int(row) + 1 for row in result.ask]
        click.echo(json.dumps(values, indent=2, ensure_ascii=False, default=str), err=to_stderr)
        return
    screen = console(err=to_stderr)
    screen.print(
        f"{summary.n_inferred:,} of {summary.n_rows:,} rows labeled by {summary.method} from "
        f"{summary.n_given:,} labels, mean confidence {summary.mean_confidence:.2f} "
        f"({summary.seconds:.1f} s)",
        soft_wrap=True,
    )
    screen.print(_class_table(summary))
    since = [summary.since] if summary.since else []
    lines = since + _choice(result, explain) + _remarks(summary) + [_review(summary)]
    for line in [*lines, *(f"Note: {note}" for note in _all_notes(result, notes))]:
        screen.print(line, soft_wrap=True)
    _print_asked(screen, result)
    if not to_stderr:
        screen.print(f"Written to {out}", soft_wrap=True)
    if report is not None:
        screen.print(f"Report in {report}", soft_wrap=True)
    if save is not None:
        screen.print(f"Model in {save}", soft_wrap=True)


def _class_table(summary: LabelingSummary) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, show_edge=False)
    table.add_column(summary.target, overflow="fold")
    for name in ("given", "inferred", "share"):
        table.add_column(name, justify="right")
    counts = sorted(summary.classes, key=lambda count: -(count.given + count.inferred))
    for count in counts[:_MOST_CLASSES]:
        share = (count.given + count.inferred) / summary.n_rows
        table.add_row(
            Text(str(count.name)), f"{count.given:,}", f"{count.inferred:,}", f"{share:.1%}"
        )
    if len(counts) > _MOST_CLASSES:
        rest = counts[_MOST_CLASSES:]
        table.add_row(
            f"... {len(rest)} more",
            f"{sum(count.given for count in rest):,}",
            f"{sum(count.inferred for count in rest):,}",
            f"{sum(count.given + count.inferred for count in rest) / summary.n_rows:.1%}",
        )
    return table


def _all_notes(result: LabelingResult, notes: list[str]) -> list[str]:
    """All notes, each once: what was warned of may be in the summary too."""
    chosen = () if result.selection is None else result.selection.notes
    return list(dict.fromkeys([*result.summary.notes, *chosen, *notes]))


def _choice(result: LabelingResult, explain: bool) -> list[str]:
    """Say how the method came to be chosen, on request with every candidate."""
    selection = result.selection
    if selection is None:
        return ["No other method was tried: this one was named."] if explain else []
    if explain:
        return [*selection.to_string().splitlines(), ""]
    lines = [line for line in (selection.verdict, selection.reason) if line]
    names = selection.candidates.loc[selection.candidates["status"] != "tried", "name"].tolist()
    if names and selection.n_tested:
        lines.append(f"Not tried: {', '.join(names)} (--explain says why)")
    return lines + _doubts(result)


def _doubts(result: LabelingResult) -> list[str]:
    """Name given labels that look wrong, and classes that no row got."""
    lines = []
    column = f"{result.summary.target}_suspect"
    if column in result.table.columns:
        rows = [str(row + 1) for row in result.table[column].to_numpy().nonzero()[0]]
        shown = ", ".join(rows[:_MOST_SUSPECTS]) + (", ..." if len(rows) > _MOST_SUSPECTS else "")
        lines.append(f"Given labels that look wrong: {len(rows)}, in row {shown} ({column})")
    selection = result.selection
    if selection is not None:
        classes = [str(name) for name in result.probabilities.columns]
        for code, expected in selection.never_predicted.items():
            lines.append(
                f"No row was labeled {classes[int(code)]!r}, where about {expected:.0f} are "
                "expected: look for them among the rows to review."
            )
    return lines


def _review(summary: LabelingSummary) -> str:
    rows = "row is" if summary.n_review == 1 else "rows are"
    return f"To review: {summary.n_review:,} {rows} hard to classify ({summary.review_rule})"


def _print_asked(screen: Any, result: LabelingResult) -> None:
    if result.ask is None:
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    target = result.summary.target
    names = {str(column) for column in result.table.columns}
    # Vectors and pixels are learned from, but are no columns of the table.
    wanted = [result.image_column, *result.summary.columns]
    columns = [each for each in wanted if each is not None and each in names][:_ASKED_COLUMNS]
    lines = [
        [
            f"{int(row) + 1:,}",
            *(
                result.passage(int(row), column, screen.width)
                for column in [f"{target}_predicted", *columns]
            ),
        ]
        for row in result.ask
    ]
    header = ["row", f"{target}_predicted", *columns]
    widths = _column_widths([header, *lines], screen.width)
    shown = Table(
        box=box.SIMPLE, show_edge=False, title="Label these rows next", title_justify="left"
    )
    for place, (name, width) in enumerate(zip(header, widths, strict=True)):
        shown.add_column(
            Text(name),
            justify="left" if place else "right",
            width=width,
            no_wrap=True,
            overflow="ellipsis",
        )
    for line, row in zip(lines, result.ask, strict=True):
        # As wide as its column is now: a passage is chosen for the room that there is.
        cells = [
            result.passage(int(row), column, width)
            for column, width in zip(header[1:], widths[1:], strict=True)
        ]
        shown.add_row(line[0], *(Text(cell) for cell in cells))
    screen.print(shown)


def _column_widths(lines: list[list[str]], room: int) -> list[int]:
    """Widths of columns that fit: the row number in full, the others as far as there is room.

    Rich takes from all columns alike, down to none, if a table is too wide and no cell may wrap.

    Examples
    --------
    >>> from leaven.cli._label_summary import _column_widths
    >>> _column_widths([["row", "kind", "text"], ["1,204", "bug", 90 * "x"]], 40)
    [5, 4, 23]
    """
    wanted = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    left = room - 3 * len(wanted) + 1  # a space on both sides, and one between two columns
    widths = [wanted[0], *([0] * (len(wanted) - 1))]
    left -= wanted[0]
    # The narrow ones first: what they leave goes to the wide ones.
    order = sorted(range(1, len(wanted)), key=lambda place: wanted[place])
    for done, place in enumerate(order):
        widths[place] = max(min(wanted[place], left // (len(order) - done)), 1)
        left -= widths[place]
    return widths


def _remarks(summary: LabelingSummary) -> list[str]:
    used = [f"{name} ({kind})" for name, kind in summary.columns.items()]
    dropped = [f"{name} ({reason})" for name, reason in summary.dropped.items()]
    lines = [f"Learned from: {_shortened(used)}"]
    if dropped:
        lines.append(f"Not used: {_shortened(dropped)}")
    return lines


def _shortened(items: list[str]) -> str:
    more = f" and {len(items) - _MOST_COLUMNS:,} more" if len(items) > _MOST_COLUMNS else ""
    return ", ".join(items[:_MOST_COLUMNS]) + more
