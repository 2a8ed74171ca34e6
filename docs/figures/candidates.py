"""Draw docs/data/candidates.csv: what scoring a part of the pool does to expected error reduction.

The curves are those of ``python benchmarks/active.py candidates --out docs/data/candidates.csv``.
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd

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
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    figure.savefig(IMAGE, format="svg", metadata={"Date": None})
    IMAGE.write_text(re.sub(r"[ \t]+$", "", IMAGE.read_text(), flags=re.MULTILINE))


if __name__ == "__main__":
    mpl.rcParams["svg.hashsalt"] = "leaven"
    mpl.rcParams["svg.fonttype"] = "none"
    draw()
