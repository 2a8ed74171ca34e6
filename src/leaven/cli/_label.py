"""``leaven label``: fill in the labels of a table."""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from typing import TYPE_CHECKING, Any

import click

from leaven.cli._common import BadInput, console, errors_as_one_line

if TYPE_CHECKING:
    from leaven.tables import LabelingResult, LabelingSummary, TableFormat

STANDARD_STREAM = "-"
_MOST_CLASSES = 20
_MOST_COLUMNS = 12


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--target", required=True, metavar="COLUMN", help="The column with the labels.")
@click.option(
    "--text",
    multiple=True,
    metavar="COLUMN",
    help="A column of texts. Others are found out; may be given several times.",
)
@click.option("--method", default="auto", metavar="auto|NAME", show_default=True)
@click.option(
    "--out",
    type=click.Path(allow_dash=True),
    help="Where to write; '-' is CSV on standard output. [default: FILE with .labeled before "
    "its suffix]",
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False),
    metavar="FILE.html",
    help="Also write a page about the result that a browser shows.",
)
@click.option(
    "--prior",
    default="labeled",
    show_default=True,
    metavar="labeled|uniform|none|A=0.7,B=0.3",
    help="Class proportions to aim at: those of the labeled rows, equal ones, none, or given.",
)
@click.option(
    "--missing",
    multiple=True,
    metavar="CELL",
    help="A cell of the target that means 'no label', such as NA. Empty ones always do.",
)
@click.option("--delimiter", metavar="CHARACTER", help="Between cells, if not that of the suffix.")
@click.option("--encoding", default="utf-8", show_default=True, help="Of a text file.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
@click.option("--force", is_flag=True, help="Allow the output to replace the input.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option("--quiet", is_flag=True, help="Print no summary.")
def label(
    file: str,
    target: str,
    text: tuple[str, ...],
    method: str,
    out: str | None,
    report: str | None,
    prior: str,
    missing: tuple[str, ...],
    delimiter: str | None,
    encoding: str,
    seed: int,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Label every row of the table FILE.

    Rows with an empty cell in the target column get a label, learned from the rows that have
    one. All rows are written in order, with their cells as they were, and three columns more:
    COLUMN_predicted, COLUMN_confidence, and COLUMN_source ('given' or 'inferred').

    FILE is CSV, TSV, JSON lines or Parquet, text also with .gz; '-' is standard input.
    """
    proportions = parse_prior(prior)
    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    with errors_as_one_line():
        from leaven.tables._format import labeled_path
        from leaven.tables._label import label_table
        from leaven.tables._methods import find_method
        from leaven.tables._read import read_with_format
        from leaven.tables._write import check_writable, write_table

        find_method(method)
        out = labeled_path(file) if out is None else out
        # What can be known to fail is told before the work, and before anything is read.
        out_format = _check_output(file, out, force)
        check_writable(out)
        if report is not None:
            check_writable(report)
        status = contextlib.nullcontext() if quiet else console(err=True).status("Labeling ...")
        with status:
            table, in_format = read_with_format(file, delimiter=delimiter, encoding=encoding)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result = label_table(
                    table,
                    target,
                    text=list(text),
                    method=method,
                    prior=proportions,
                    missing=missing,
                    random_state=seed,
                )
            write_table(
                result.table, out, file_format=_like_input(file, in_format, out, out_format)
            )
            if report is not None:
                _write_report(result, file, report)
    notes = [str(each.message) for each in caught if issubclass(each.category, UserWarning)]
    if not quiet:
        _print_summary(result, file, out, notes, report=report, as_json=as_json)


def _write_report(result: LabelingResult, file: str, report: str) -> None:
    from leaven.report import render_report
    from leaven.tables._write import atomic_output

    title = "Labeled table" if file == STANDARD_STREAM else os.path.basename(file)
    with atomic_output(report) as stream:
        stream.write(render_report(result, title=title).encode("utf-8"))


def parse_prior(text: str) -> str | dict[str, float] | None:
    """Understand the value of ``--prior``.

    Examples
    --------
    >>> from leaven.cli._label import parse_prior
    >>> parse_prior("spam=0.3, ham=0.7"), parse_prior("none"), parse_prior("uniform")
    ({'spam': 0.3, 'ham': 0.7}, None, 'uniform')
    """
    if text in ("labeled", "uniform"):
        return text
    if text == "none":
        return None
    try:
        if text.lstrip().startswith("{"):
            return {str(name): float(share) for name, share in json.loads(text).items()}
        pairs = [part.rpartition("=") for part in text.split(",")]
        if not all(name.strip() for name, _, _ in pairs):
            raise ValueError(text)
        return {name.strip(): float(share) for name, _, share in pairs}
    except (ValueError, TypeError, AttributeError):
        raise BadInput(
            f"--prior {text!r} is not understood. Use labeled, uniform, none, or proportions such "
            "as spam=0.3,ham=0.7 (as JSON if a name holds a comma)."
        ) from None


def _check_output(file: str, out: str, force: bool) -> TableFormat:
    from leaven.tables._format import format_of_path

    format_of_path(file)
    out_format = format_of_path(out)
    if STANDARD_STREAM in (file, out):
        return out_format
    # A hard link is the same file under another name.
    same = os.path.realpath(file) == os.path.realpath(out) or (
        os.path.exists(file) and os.path.exists(out) and os.path.samefile(file, out)
    )
    if same and not force:
        raise BadInput(f"The output {out} is the input. Pass --force to replace it.")
    return out_format


def _like_input(
    file: str, in_format: TableFormat, out: str, out_format: TableFormat
) -> TableFormat:
    """Write as the input was written, as far as the name of the output allows."""
    from dataclasses import replace

    from leaven.tables._format import format_of_path

    if (in_format.kind, out_format.kind) != ("csv", "csv"):
        return out_format
    if format_of_path(file).delimiter == out_format.delimiter:
        out_format = replace(out_format, delimiter=in_format.delimiter)
    if out == STANDARD_STREAM:
        return out_format
    return replace(out_format, encoding=in_format.encoding, newline=in_format.newline)


def _print_summary(
    result: LabelingResult,
    file: str,
    out: str,
    notes: list[str],
    *,
    report: str | None,
    as_json: bool,
) -> None:
    # Data on standard output must stay data.
    to_stderr = out == STANDARD_STREAM
    summary = result.summary
    if as_json:
        values = {"input": file, "output": out, "report": report, **summary.to_dict()}
        values["notes"] = [*summary.notes, *notes]
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
    for line in _remarks(summary, notes):
        screen.print(line, soft_wrap=True)
    if not to_stderr:
        screen.print(f"Written to {out}", soft_wrap=True)
    if report is not None:
        screen.print(f"Report in {report}", soft_wrap=True)


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


def _remarks(summary: LabelingSummary, notes: list[str]) -> list[str]:
    used = [f"{name} ({kind})" for name, kind in summary.columns.items()]
    dropped = [f"{name} ({reason})" for name, reason in summary.dropped.items()]
    lines = [f"Learned from: {_shortened(used)}"]
    if dropped:
        lines.append(f"Not used: {_shortened(dropped)}")
    return lines + [f"Note: {note}" for note in [*summary.notes, *notes]]


def _shortened(items: list[str]) -> str:
    more = f" and {len(items) - _MOST_COLUMNS:,} more" if len(items) > _MOST_COLUMNS else ""
    return ", ".join(items[:_MOST_COLUMNS]) + more
