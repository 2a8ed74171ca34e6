"""``leaven datasets``: what can be loaded."""

from __future__ import annotations

import click


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def datasets(names: tuple[str, ...], as_json: bool) -> None:
    """List the known data sets, and whether they are available.

    With names: where each comes from, its licence, and which file is expected.
    """
    from leaven.datasets import list_available

    if names:
        _describe(names, as_json)
        return
    known = list_available()
    if as_json:
        click.echo(known.to_json(orient="records", indent=2, force_ascii=False))
        return
    known = known.drop(columns=["licence", "file", "sha256"])
    # Plain lines, one per data set, whatever the width: they are there to be searched.
    cells = known.astype(object).where(known.notna(), "")
    cells["available"] = known["available"].map({True: "yes", False: "no"})
    rows = [list(known.columns), *cells.astype(str).to_numpy().tolist()]
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(map(str.ljust, row, widths)).rstrip())


def _describe(names: tuple[str, ...], as_json: bool) -> None:
    import json

    from leaven.datasets import describe

    try:
        found = [describe(name) for name in names]
    except (ValueError, NotADirectoryError) as error:
        raise click.UsageError(str(error)) from error
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False, default=_plain))
        return
    for number, entry in enumerate(found):
        if number:
            click.echo()
        for key, value in entry.items():
            shown = "yes" if value is True else "no" if value is False else value
            if shown is not None:
                click.echo(f"{key:<10} {shown}")


def _plain(value: object) -> object:
    """NumPy's numbers as Python's, for JSON."""
    return value.item() if hasattr(value, "item") else str(value)
