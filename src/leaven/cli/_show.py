"""``leaven show``: what a saved model is."""

from __future__ import annotations

import json
from typing import Any

import click

from leaven.cli._common import console, errors_as_one_line


@click.command()
@click.argument("model", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def show(model: str, as_json: bool) -> None:
    """Describe a saved model.

    Prints rows, labels, classes, method, estimated accuracy, date, versions and columns. The
    model itself is not loaded.
    """
    with errors_as_one_line():
        from dataclasses import asdict

        from leaven.tables import describe_model

        header = describe_model(model)
    if as_json:
        click.echo(json.dumps(asdict(header), indent=1))
        return
    from rich.table import Table

    about = header.about
    rows = {
        "target": about["target"],
        "learned from": f"{about['n_rows']:,} rows, {about['n_labeled']:,} of them labeled",
        "classes": ", ".join(
            f"{name} ({count})"
            for name, count in zip(about["classes"], about["labels_per_class"], strict=True)
        ),
        "method": about["method"],
        "estimated accuracy": accuracy_range(about["estimated_accuracy"]),
        "columns": ", ".join(f"{name} ({kind})" for name, kind in about["columns"].items()),
        "not used": ", ".join(f"{name} ({why})" for name, why in about["dropped"].items()) or "-",
        "saved": f"{header.created} by leaven {header.versions['leaven']}, scikit-learn "
        f"{header.versions['scikit-learn']}, Python {header.versions['python']}",
        "fingerprint": header.fingerprint[:16],
    }
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in rows.items():
        table.add_row(name, str(value))
    console(err=False).print(table)


def accuracy_range(found: list[Any] | None) -> str:
    """Write an estimate with its interval.

    Examples
    --------
    >>> from leaven.cli._show import accuracy_range
    >>> accuracy_range([0.68, 0.764, 0.84]), accuracy_range(None)
    ('76% (68-84%)', 'not estimated: no labels could be held out')
    """
    if found is None:
        return "not estimated: no labels could be held out"
    low, middle, high = found
    return f"{middle:.0%} ({100 * low:.0f}-{100 * high:.0f}%)"
