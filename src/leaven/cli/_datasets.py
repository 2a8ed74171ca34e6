"""``leaven datasets``: what can be loaded."""

from __future__ import annotations

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def datasets(as_json: bool) -> None:
    """List the data sets that leaven.datasets.load() knows, and whether they are here."""
    from leaven.datasets import list_available

    known = list_available()
    if as_json:
        click.echo(known.to_json(orient="records", indent=2, force_ascii=False))
        return
    # Plain lines, one per data set, whatever the width: they are there to be searched.
    cells = known.astype(object).where(known.notna(), "")
    cells["available"] = known["available"].map({True: "yes", False: "no"})
    rows = [list(known.columns), *cells.astype(str).to_numpy().tolist()]
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(map(str.ljust, row, widths)).rstrip())
