"""``leaven reproduce``: published tables, made again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leaven.cli._common import BadInput, Failed, console, errors_as_one_line

if TYPE_CHECKING:
    import pandas as pd


@click.command()
@click.argument("tables", nargs=-1, metavar="TABLE...")
@click.option("--trials", type=click.IntRange(min=1), help="Trials of each method [default: 100].")
@click.option("--jobs", type=int, default=1, show_default=True, help="Trials at the same time.")
@click.option("--quick", is_flag=True, help="A few trials (3 without --trials) on small data sets.")
@click.option("--data-sets", "names", help="Only these, with commas between them.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reproduction"),
    show_default=True,
    help="Directory of reproduction.md and reproduction.html.",
)
@click.option(
    "--store",
    type=click.Path(dir_okay=False, path_type=Path),
    help="SQLite file to keep results in and go on from [default: OUT/results.sqlite].",
)
@click.option("--html/--no-html", "as_html", default=True, help="Write the HTML page too.")
def reproduce(
    tables: tuple[str, ...],
    trials: int | None,
    jobs: int,
    quick: bool,
    names: str | None,
    out: Path,
    store: Path | None,
    as_html: bool,
) -> None:
    """Make published tables again, our numbers beside the printed ones.

    TABLE is an id such as S1-3.3; "list", or nothing, lists all. A run that was stopped goes on
    where it stopped. Tables that are on the page already stay there.
    """
    from leaven.evaluation.reproduce import TABLES, Run, listing, write_pages
    from leaven.evaluation.reproduce import reproduce as run_tables

    if not tables or tables == ("list",):
        click.echo("\n".join(listing(list(TABLES.values()))))
        return
    if jobs == 0:
        raise BadInput("--jobs must not be 0. Use 1, or -1 for all cores.")
    datasets = None
    if names is not None:
        datasets = tuple(name.strip() for name in names.split(",") if name.strip())
    run = Run(
        n_trials=trials,
        n_jobs=jobs,
        quick=quick,
        datasets=datasets,
        store=store or out / "results.sqlite",
        progress=console(err=True).is_terminal,
    )
    with errors_as_one_line():
        try:
            reports = run_tables(tables, run)
        except ValueError as error:
            raise BadInput(str(error)) from error
        done = {report.table.id.upper() for report in reports}
        for each in tables:
            if each.upper() not in done:
                click.echo(f"{each}: none of its data sets is here, see leaven datasets.", err=True)
        if not reports:
            raise Failed("there are no data to reproduce these tables with; set LEAVEN_DATA.")
        paths = write_pages(reports, out, as_html=as_html, draw=_draw)
    for report in reports:
        click.echo(f"{report.table.id}: {report.table.title}")
        for line in report.summary():
            click.echo(f"  {line}")
    click.echo(f"Written to {' and '.join(map(str, paths))}")


def _draw(results: pd.DataFrame) -> str:
    """Learning curves of all data sets as one SVG; a line that says how without matplotlib."""
    from leaven import _optional
    from leaven.plotting import plot_learning_curves
    from leaven.plotting._svg import as_svg

    if not _optional.is_installed("matplotlib"):
        return "<figcaption>Install leaven[plot] for learning curves.</figcaption>"
    return as_svg(plot_learning_curves(results))
