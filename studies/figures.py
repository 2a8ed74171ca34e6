"""One figure per table: accuracy by number of labels, or our numbers against the printed ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.registry import is_installed

LABELS = re.compile(r"^(?:(?P<what>.*), )?(?P<n>\d[\d,]*) (?P<unit>label|term)s?(?: per class)?$")
"""Rows of a figure are named "5 labels per class", "ten digits, 20 labels" or "6,000 terms"."""

COLUMNS = 3
"""Panels beside each other."""


def can_draw(cells: pd.DataFrame) -> bool:
    """Whether there is something to draw, and matplotlib to draw it with."""
    if cells.empty:  # every trial failed
        return False
    by_labels = cells["dataset"].str.match(LABELS).all()
    return is_installed("matplotlib") and bool(by_labels or cells["published"].notna().any())


def draw_cells(cells: pd.DataFrame, path: Path, score: str = "accuracy") -> Path:
    """Draw the cells of a report into a file.

    Parameters
    ----------
    cells : DataFrame
        ``dataset``, ``method``, ``mean``, ``se``, ``published`` and ``published_se``.
    path : Path
        Its suffix is the format.
    score : str, default="accuracy"
        What the numbers are.
    """
    from matplotlib import pyplot as plt

    by_labels = bool(cells["dataset"].str.match(LABELS).all())
    figure = _curves(cells, score) if by_labels else _against_printed(cells)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the version of matplotlib in it the same figure gives the same file.
    figure.savefig(path, dpi=80, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
    return path


def _curves(cells: pd.DataFrame, score: str) -> Any:
    from matplotlib import pyplot as plt

    parts = cells["dataset"].str.extract(LABELS)
    numbers = parts["n"].str.replace(",", "").astype(int)
    cells = cells.assign(what=parts["what"].fillna(""), n=numbers)
    unit = f"{parts['unit'].iloc[0]}s"
    if unit == "terms":  # a panel for each measure, with all ways to use it
        measures = cells["method"].str.split(", ", n=1, expand=True)
        cells = cells.assign(what=measures[0], method=measures[1])
    titles = list(pd.unique(cells["what"]))
    columns = min(len(titles), COLUMNS)
    rows = -(-len(titles) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(5.5 * columns, 4.2 * rows), squeeze=False, layout="constrained"
    )
    for what, ax in zip(titles, axes.flat, strict=False):
        for i, (method, of_method) in enumerate(
            cells[cells["what"] == what].groupby("method", sort=False)
        ):
            curve = of_method.sort_values("n")
            style = ("-", "--", ":")[i // 10 % 3]  # ten colors, then another kind of line
            ax.errorbar(
                curve["n"], curve["mean"], curve["se"], label=method, linestyle=style, capsize=2
            )
        ax.set(xscale="log", xlabel=unit, ylabel=score, title=what)
        ax.set_xticks(sorted(set(cells["n"])), labels=map(str, sorted(set(cells["n"]))))
        ax.minorticks_off()
        if unit == "terms":
            ax.set_ylim(*_limits(cells["mean"]))
            ax.legend(fontsize=8)
    if unit == "labels":
        axes.flat[-1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _limits(values: pd.Series[float]) -> tuple[float, float]:
    """Limits that all panels have, so that they can be compared."""
    margin = 0.05 * float(values.max() - values.min())
    return float(values.min()) - margin, float(values.max()) + margin


def _against_printed(cells: pd.DataFrame) -> Any:
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(5.0, 4.6), layout="constrained")
    known = cells[cells["published"].notna()]
    for method, of_method in known.groupby("method", sort=False):
        ax.errorbar(
            of_method["published"],
            of_method["mean"],
            xerr=of_method["published_se"].fillna(0.0),
            yerr=of_method["se"].fillna(0.0),
            fmt="o",
            markersize=4,
            label=method,
        )
    numbers = known[["mean", "published"]].to_numpy(dtype=float)
    ends = np.array([numbers.min(), numbers.max()])
    ax.plot(ends, ends, color="gray", linewidth=1)
    ax.set(xlabel="printed", ylabel="ours")
    ax.legend(fontsize=8)
    return figure
