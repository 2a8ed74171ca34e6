"""Draw the tables of docs/accuracy.md as learning curves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

DOCS = Path(__file__).parents[1]
IMAGE = DOCS / "images" / "learning_curves.svg"
SHOWN = {  # row of the tables: color and line; ours are solid
    "PoissonMBO": ("#3b6fb6", "-"),
    "Harmonic": ("#2a9d8f", "-"),
    "graphlearning Poisson MBO, equal sizes": ("#d9822b", "--"),
    "graphlearning Laplace": ("#b3541e", "--"),
    "scikit-learn LabelSpreading, knn": ("#7d8590", ":"),
}


def tables(text: str) -> dict[str, pd.DataFrame]:
    """Mean accuracy of every section, methods by labels per class."""
    found = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        lines = [line for line in section.splitlines() if line.startswith("| ")]
        if not lines:
            continue
        head, *rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]
        found[section.splitlines()[0]] = pd.DataFrame(
            [[float(cell.split(" ")[0]) for cell in row[1:]] for row in rows],
            index=[row[0] for row in rows],
            columns=[int(cell) for cell in head[1:]],
        )
    return found


def draw() -> None:
    found = tables((DOCS / "accuracy.md").read_text(encoding="utf-8"))
    figure, axes = plt.subplots(1, len(found), figsize=(2.7 * len(found), 3), layout="constrained")
    for ax, (title, table) in zip(axes, found.items(), strict=True):
        for name, (color, line) in SHOWN.items():
            ax.plot(table.columns, table.loc[name], line, marker="o", ms=3, color=color, label=name)
        ax.set_title(title, fontsize=10)
        ax.set_xscale("log")
        ax.set_xticks(table.columns, [str(size) for size in table.columns])
        ax.minorticks_off()
        ax.set_xlabel("labels per class")
    axes[0].set_ylabel("accuracy (%)")
    save_panels(figure, axes, IMAGE, n_columns=3)


def save_panels(figure: Figure, axes: Sequence[Axes], path: Path, n_columns: int) -> None:
    """Write panels with one legend below them as SVG: the same figure gives the same file."""
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=n_columns)
    with mpl.rc_context({"svg.hashsalt": "leaven", "svg.fonttype": "none"}):
        figure.savefig(path, format="svg", metadata={"Date": None})
    path.write_text(re.sub(r"[ \t]+$", "", path.read_text(), flags=re.MULTILINE))


if __name__ == "__main__":
    draw()
