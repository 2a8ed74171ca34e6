"""Draw docs/data/candidates.csv: what scoring a part of the pool does to expected error reduction.

The curves are those of ``python benchmarks/active.py candidates --out docs/data/candidates.csv``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from learning_curves import save_panels

DOCS = Path(__file__).parents[1]
CURVES = DOCS / "data" / "candidates.csv"
IMAGE = DOCS / "images" / "candidates.svg"
SHOWN = {  # strategy: color and line
    "all rows": ("#3b6fb6", "-"),
    "100 rows": ("#2a9d8f", "-"),
    "a fifth": ("#d9822b", "--"),
    "random fifth": ("#b3541e", ":"),
    "random questions": ("#7d8590", ":"),
}


def draw() -> None:
    curves = pd.read_csv(CURVES)
    names = curves["dataset"].unique()
    figure, axes = plt.subplots(1, len(names), figsize=(2.7 * len(names), 3), layout="constrained")
    for ax, name in zip(axes, names, strict=True):
        of_set = curves[curves["dataset"] == name]
        for strategy, (color, line) in SHOWN.items():
            part = of_set[of_set["strategy"] == strategy]
            ax.errorbar(
                part["n_labeled"],
                100 * part["mean"],
                100 * part["sem"],
                fmt=line,
                color=color,
                label=strategy,
                capsize=2,
                lw=1.2,
            )
        ax.set_title(name.replace("_", " "), fontsize=10)
        ax.set_xlabel("labels")
        ax.set_ylim(bottom=0)
    axes[0].set_ylabel("error (%)")
    save_panels(figure, axes, IMAGE, n_columns=5)


if __name__ == "__main__":
    draw()
