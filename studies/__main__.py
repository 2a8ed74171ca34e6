"""``python -m studies``: published tables, made again."""

from __future__ import annotations

import io
import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pandas as pd

from leaven.plotting import plot_learning_curves
from studies import TABLES, Run, join_pages, listing, reproduce, rewrite_pages, write_pages
from studies.agreement import agreement_lines, update_agreement
from studies.registry import check_datasets, find_tables, is_installed


@click.command()
@click.argument("tables", nargs=-1, metavar="TABLE...")
@click.option("--trials", type=click.IntRange(min=1), help="Trials of each method.")
@click.option("--jobs", type=int, default=1, show_default=True, help="Parallel jobs.")
@click.option("--quick", is_flag=True, help="A few trials (3 without --trials) on small data sets.")
@click.option("--data-sets", "names", help="Only these, separated by commas.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reproduction"),
    show_default=True,
    help="Folder of the pages, one per source.",
)
@click.option(
    "--store",
    type=click.Path(dir_okay=False, path_type=Path),
    help="SQLite file to keep results in and resume from [default: OUT/results.sqlite].",
)
@click.option("--html/--no-html", "as_html", default=True, help="Write HTML pages too.")
@click.option(
    "--page",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help='With "agreement": the Markdown page to put its table into.',
)
def main(
    tables: tuple[str, ...],
    trials: int | None,
    jobs: int,
    quick: bool,
    names: str | None,
    out: Path,
    store: Path | None,
    as_html: bool,
    page: Path | None,
) -> None:
    """Run published experiments again and put our numbers beside the printed ones.

    TABLE is an id such as S1-3.3, a source such as S1, or "all"; "list", or nothing, lists all;
    "agreement" counts how many numbers of the tables in OUT agree with the published ones, and
    "pages" writes the Markdown pages in OUT again from the numbers beside them. "join PART" puts
    the numbers in PART, the OUT of a run of other data sets, into those of OUT.
    A run that was stopped resumes where it stopped. Tables that are on the page already stay
    there.
    """
    if not tables or tables == ("list",):
        click.echo("\n".join(listing(list(TABLES.values()))))
        return
    if tables == ("agreement",):
        if page is None:
            click.echo("\n".join(agreement_lines(out)))
        else:
            update_agreement(page, out)
        return
    if tables == ("pages",):
        click.echo(f"Written to {' and '.join(map(str, rewrite_pages(out)))}")
        return
    if tables[0] == "join":
        if len(tables) != 2 or not (Path(tables[1]) / "numbers").is_dir():
            raise click.UsageError("Give one folder that a run wrote: studies join PART --out OUT.")
        click.echo(f"Written to {' and '.join(map(str, join_pages(Path(tables[1]), out)))}")
        return
    if jobs == 0:
        raise click.UsageError("--jobs must not be 0. Use 1, or -1 for all cores.")
    datasets = None
    if names is not None:
        known = {name for table in TABLES.values() for name in table.datasets}
        datasets = split_names(names, known)
    run = Run(
        n_trials=trials,
        n_jobs=jobs,
        quick=quick,
        datasets=datasets,
        store=store or out / "results.sqlite",
        progress=sys.stderr.isatty(),
    )
    try:
        found = find_tables(tables)
        if datasets is not None:
            check_datasets(datasets, found)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    paths: list[Path] = []
    # The pages of a source are written before the next one is run, which may take an hour.
    for source in dict.fromkeys(table.source for table in found):
        ids = [table.id for table in found if table.source == source]
        paths += reproduce_source(ids, run, out, as_html=as_html)
    if not paths:
        raise click.ClickException("no data to reproduce these tables with; set LEAVEN_DATA.")
    click.echo(f"Written to {' and '.join(map(str, paths))}")


def split_names(text: str, known: Collection[str]) -> tuple[str, ...]:
    """Names between commas, which some of them have in them: the longest that is known is taken.

    Examples
    --------
    >>> from studies.__main__ import split_names
    >>> split_names("wine, iris, 10 labels, iris", {"iris", "iris, 10 labels", "wine"})
    ('wine', 'iris, 10 labels', 'iris')
    """
    whole = {",".join(part.strip() for part in name.split(",")): name for name in known}
    parts = [part.strip() for part in text.split(",") if part.strip()]
    names = []
    while parts:
        ends = range(len(parts), 0, -1)
        end = next((end for end in ends if ",".join(parts[:end]) in whole), 1)
        name = ",".join(parts[:end])
        names.append(whole.get(name, name))
        parts = parts[end:]
    return tuple(names)


def reproduce_source(ids: list[str], run: Run, out: Path, *, as_html: bool) -> list[Path]:
    """Run tables of one source, write them into its pages, and print what they say."""
    if run.datasets is not None:
        known = {name for each in ids for name in TABLES[each].datasets}
        run = replace(run, datasets=tuple(name for name in run.datasets if name in known))
        if not run.datasets:
            return []
    try:
        reports = reproduce(ids, run)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    done = {report.table.id for report in reports}
    for each in ids:
        if each not in done:
            click.echo(f"{each}: none of its data sets is here, see leaven datasets.", err=True)
    paths = write_pages(reports, out, as_html=as_html, draw=draw_curves)
    for report in reports:
        click.echo(f"{report.table.id}: {report.table.title}")
        for line in report.summary():
            click.echo(f"  {line}")
    return paths


def draw_curves(results: pd.DataFrame) -> str:
    """Learning curves of all data sets as one SVG; a line that says how without matplotlib."""
    if not is_installed("matplotlib"):
        return "<figcaption>Install leaven[plot] for learning curves.</figcaption>"
    from matplotlib import pyplot as plt

    axes: Any = plot_learning_curves(results)
    figure = axes.flat[0].figure if hasattr(axes, "flat") else axes.figure
    buffer = io.StringIO()
    # Without a date and random ids the same figure gives the same text.
    with plt.rc_context({"svg.hashsalt": "leaven", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]


if __name__ == "__main__":
    main(prog_name="python -m studies")
