"""``leaven example``: write a bundled table, to try things on."""

from __future__ import annotations

import os
import sys
from importlib.resources import files
from typing import Any

import click

from leaven._suggest import did_you_mean
from leaven.cli._common import BadInput, errors_as_one_line

STANDARD_STREAM = "-"


@click.command()
@click.argument("name")
@click.option("--out", type=click.Path(allow_dash=True), help="[default: NAME.csv]")
@click.option("--force", is_flag=True, help="Overwrite the file.")
def example(name: str, out: str | None, force: bool) -> None:
    """Write a small example table with few labels.

    For instance: leaven example support_tickets, then leaven label support_tickets.csv
    --target topic --text text.
    """
    known = bundled()
    if name not in known:
        raise BadInput(
            f"There is no example {name!r}.{did_you_mean(name, known)} Known examples: "
            f"{', '.join(known)}."
        )
    data = known[name].read_bytes()
    if out == STANDARD_STREAM:
        if sys.stdout is None:
            raise BadInput("Standard output is closed. Name a file by --out.")
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    out = f"{name}.csv" if out is None else out
    if os.path.exists(out) and not force:
        raise BadInput(f"{out} is already there. Pass --force to overwrite it.")
    with errors_as_one_line():
        from leaven._files import atomic_output, output_problem

        problem = output_problem(out)
        if problem is not None:
            raise BadInput(problem)
        with atomic_output(out) as stream:
            stream.write(data)
    click.echo(f"Written to {out}")


def bundled() -> dict[str, Any]:
    """Return the example tables by name, without importing leaven.datasets."""
    folder = files("leaven") / "datasets" / "data"
    tables = [file for file in folder.iterdir() if file.name.endswith(".csv")]
    return {file.name.removesuffix(".csv"): file for file in sorted(tables, key=lambda f: f.name)}
