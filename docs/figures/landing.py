"""Draw the figures of the landing page: ``python docs/figures/landing.py``.

Two moons with one label each, beside what a supervised classifier makes of the two labels; and
a table before and after; each once more for a phone, with less in it and larger letters. The SVG
files are committed, so that README and pages show them without a build.
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression

from leaven.datasets import load_example
from leaven.graph_based import HarmonicClassifier
from leaven.tables import label_table

IMAGES = Path(__file__).parents[1] / "images"
COLORS = ["#3b6fb6", "#d9822b"]  # blue and orange: told apart by readers who see no red or green
UNLABELED = "#b9bec5"


def save(figure: plt.Figure, name: str) -> None:
    """Write an SVG without the date, so that drawing it again changes nothing."""
    path = IMAGES / name
    figure.savefig(
        path, format="svg", bbox_inches="tight", pad_inches=0.03, metadata={"Date": None}
    )
    text = re.sub(r"[ \t]+$", "", path.read_text(), flags=re.MULTILINE)
    # A hundredth of a point is not seen, and half of the file is digits.
    path.write_text(re.sub(r"(?<=\d\.\d\d)\d+", "", text))
    plt.close(figure)


def moons() -> None:
    """Two labels, a supervised answer, and the answer with the unlabeled rows."""
    X, truth = make_moons(300, noise=0.05, random_state=0)
    y = np.full(300, -1)
    y[[np.argmin(X[:, 0]), np.argmax(X[:, 0])]] = truth[[np.argmin(X[:, 0]), np.argmax(X[:, 0])]]
    labeled = y >= 0
    supervised = LogisticRegression().fit(X[labeled], y[labeled]).predict(X)
    harmonic = HarmonicClassifier().fit(X, y).transduction_
    panels = [
        ("300 rows, 2 labels", None),
        (f"the labels alone: {np.mean(supervised == truth):.0%} right", supervised),
        (f"with the unlabeled rows: {np.mean(harmonic == truth):.0%} right", harmonic),
    ]
    short = [
        (f"labels alone: {np.mean(supervised == truth):.0%} right", supervised),
        (f"with unlabeled rows: {np.mean(harmonic == truth):.0%} right", harmonic),
    ]
    for name, shown, size in [
        ("two_moons.svg", panels, (9, 2.6)),
        ("two_moons_narrow.svg", short, (5, 2.2)),
    ]:
        figure, axes = plt.subplots(1, len(shown), figsize=size)
        for axis, (title, answer) in zip(axes, shown, strict=True):
            color = UNLABELED if answer is None else np.array(COLORS)[answer]
            axis.scatter(*X.T, s=7, c=color, linewidths=0)
            for code in (0, 1):
                row = X[y == code]
                axis.scatter(*row.T, s=90, c=COLORS[code], edgecolors="black", linewidths=1.2)
            axis.set_title(title, fontsize=10 if shown is panels else 9)
            axis.set_axis_off()
        save(figure, name)


def table() -> None:
    """Some rows of the bundled support tickets before and after ``leaven label``."""
    tickets = load_example("support_tickets")
    found = label_table(tickets, "topic", details=False).table
    given = found.index[found["topic_source"] == "given"][:2]
    typical = found["topic_confidence"] > found["topic_confidence"].median()
    sure = found.index[(found["topic_source"] == "inferred") & ~found["topic_review"] & typical][:2]
    unsure = found.index[found["topic_review"]][:1]
    places = [*given, *sure, *unsure]
    wide = ["text", "topic (yours)", "topic_predicted", "topic_confidence"]
    draw_table(found, places, wide, 40, (10, 2.2), "table_before_after.svg")
    narrow = ["text", "topic", "predicted", "confidence"]
    draw_table(found, places, narrow, 17, (5.2, 2.2), "table_before_after_narrow.svg")


def draw_table(
    found: pd.DataFrame,
    places: list[int],
    heads: list[str],
    letters: int,
    size: tuple[float, float],
    name: str,
) -> None:
    rows = []
    for place in places:
        row = found.loc[place]
        text = row["text"] if len(row["text"]) <= letters + 2 else row["text"][:letters] + " ..."
        label = row["topic"] if row["topic_source"] == "given" else ""
        flag = "  review" if row["topic_review"] else ""
        rows.append((text, label, row["topic_predicted"], f"{row['topic_confidence']:.0%}{flag}"))
    figure, axis = plt.subplots(figsize=size)
    axis.set_axis_off()
    drawn = axis.table(
        cellText=[list(row) for row in rows],
        colLabels=heads,
        colWidths=[0.46, 0.16, 0.18, 0.2] if letters > 20 else [0.4, 0.17, 0.18, 0.25],
        cellLoc="left",
        loc="center",
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(9)
    drawn.scale(1, 1.45)
    for (row, column), cell in drawn.get_celld().items():
        cell.set_edgecolor("#d5d9de")
        cell.PAD = 0.04
        if row == 0:
            cell.set_text_props(weight="bold")
            cell.set_facecolor("#eef1f4")
        elif column >= 2:
            cell.set_facecolor("#eaf2fb")
    save(figure, name)


if __name__ == "__main__":
    mpl.rcParams["svg.hashsalt"] = "leaven"
    mpl.rcParams["svg.fonttype"] = "none"
    moons()
    table()
