"""``leaven compare``: which method is best on the labels of a table."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import click

from leaven.cli._common import (
    BadInput,
    console,
    errors_as_one_line,
    is_terminal,
    needed_target,
    parse_delimiter,
    parse_names,
    reading_options,
)
from leaven.cli._label import parse_prior

if TYPE_CHECKING:
    from leaven.tables import TableComparison


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@reading_options
@click.option(
    "--candidates",
    metavar="NAME,NAME,...",
    help="The methods to compare. [default: all that fit the size of the table]",
)
@click.option("--trials", type=click.IntRange(min=1), default=20, show_default=True, metavar="N")
@click.option(
    "--hide",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.5,
    show_default=True,
    metavar="SHARE",
    help="Share of the labels of each class that is hidden in a trial.",
)
@click.option(
    "--prior",
    default="labeled",
    show_default=True,
    metavar="labeled|uniform|none|A=0.7,B=0.3",
    help="Class proportions to aim at, as in leaven label.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False),
    metavar="FILE.md",
    help="Also write the table as Markdown.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def compare(
    file: str,
    target: str | None,
    text: tuple[str, ...],
    ignore: tuple[str, ...],
    vectors: str | None,
    missing: tuple[str, ...],
    delimiter: str | None,
    encoding: str,
    seed: int,
    jobs: int,
    candidates: str | None,
    trials: int,
    hide: float,
    prior: str,
    out: str | None,
    as_json: bool,
) -> None:
    """Compare methods on the labels of the table FILE.

    In each trial a part of the labels is hidden; every method learns from the others, and from
    all rows, and is tested on the hidden ones. Prints the mean accuracy with its standard
    error, the best method in bold and those that do not differ significantly from it in italics
    (Wilcoxon's test over the trials), and the critical difference of the mean ranks (Nemenyi's
    test with the trials as blocks).
    """
    column = needed_target(target)
    with errors_as_one_line():
        from leaven._files import atomic_output, output_problem
        from leaven.cli._outputs import refuse_same_file
        from leaven.tables import LabelingOptions, compare_table, read_with_format

        refuse_same_file({"the output": out}, {"the input": file}, force=None)
        problem = None if out is None else output_problem(out)
        if problem is not None:
            raise BadInput(problem)
        progress = is_terminal()
        options = LabelingOptions(
            text=text,
            ignore=ignore,
            candidates=parse_names(candidates),
            prior=parse_prior(prior),
            missing=missing,
            random_state=seed,
            n_jobs=jobs,
            progress=progress,
        )
        with contextlib.nullcontext() if progress else console(err=True).status("Comparing ..."):
            table, _ = read_with_format(
                file, delimiter=parse_delimiter(delimiter), encoding=encoding
            )
            found = compare_table(
                table, column, options, n_trials=trials, hide=hide, vectors=vectors
            )
        if out is not None:
            with atomic_output(out) as stream:
                stream.write(found.to_markdown().encode("utf-8"))
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
        return
    _print(found, out)


def _print(found: TableComparison, out: str | None) -> None:
    screen = console(err=False)
    screen.print(_as_table(found))
    left_out = [f"Left out: {reason}" for reason in found.left_out.values()]
    for line in [*found.explain(), *left_out, *(f"Note: {note}" for note in found.notes)]:
        screen.print(line, soft_wrap=True)
    if out is not None:
        screen.print(f"Written to {out}", soft_wrap=True)


def _as_table(found: TableComparison) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from leaven.tables import accuracy_text

    table = Table(box=box.SIMPLE, show_edge=False)
    for name, justify in (("method", "left"), ("kind", "left")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for name in ("accuracy", "mean rank"):
        table.add_column(name, justify="right")
    for row in found.table.to_dict("records"):
        style = "bold" if row["best"] else "italic" if row["like_best"] else ""
        # The mark is for where there is no bold type, such as a file.
        mark = " *" if row["best"] else " ~" if row["like_best"] else "  "
        table.add_row(
            Text(row["method"], style),
            row["kind"],
            Text(accuracy_text(row) + mark, style),
            f"{row['mean_rank']:.2f}",
        )
    table.caption = "* best   ~ not significantly different from it"
    table.caption_justify = "left"
    return table
