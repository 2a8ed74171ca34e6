"""Agreement with the sources, counted from the numbers that the pages are made of.

Every run writes the numbers of its tables to ``numbers/ID.csv`` beside the pages. The table of
agreement and the diagrams of critical differences need nothing else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.published import published_areas
from studies.registry import SOURCES, TABLES, is_installed
from studies.report import Report

OTHER_FORM = ("breast-cancer", "breast-cancer-wisconsin", "soybean-large")
"""Data sets that S1 seems to have had in another form: runs S1-versions and S1-soybean."""

MARK = re.compile(r"(?<=<!-- agreement -->\n).*?(?=<!-- end of agreement -->)", re.DOTALL)


def write_numbers(report: Report, folder: Path) -> Path:
    """Write the cells of a report, with its trials and seconds, as CSV."""
    path = folder / "numbers" / f"{report.table.id}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    counts = report.results.groupby("dataset")["trial"].nunique()
    trials = report.cells["dataset"].map(counts)
    frame = report.cells.assign(trials=trials, seconds=report.seconds)
    frame.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
    return path


def read_numbers(folder: Path, table: str) -> pd.DataFrame | None:
    """The numbers of a table, or None if it was never run."""
    path = folder / "numbers" / f"{table}.csv"
    return pd.read_csv(path, keep_default_na=True) if path.is_file() else None


def join_numbers(part: Path, folder: Path) -> list[str]:
    """Put the numbers of another run into those of ``folder``; return the tables.

    A run of some data sets, in a folder of its own, adds them to a table, or has them in place of
    those that are there. The processor time of both counts, unless none of the old numbers is left.
    """
    joined = []
    for table in TABLES.values():
        new, old = read_numbers(part, table.id), read_numbers(folder, table.id)
        if new is None or new.empty:
            continue
        seconds = new["seconds"].iloc[0]
        if old is not None and not old.empty:
            others = old[~old["dataset"].isin(new["dataset"])]
            seconds += old["seconds"].iloc[0] if len(others) else 0.0
            new = pd.concat([others, new])
        place = {name: i for i, name in enumerate(table.datasets)}
        order = new["dataset"].map(place).argsort(kind="stable")
        path = folder / "numbers" / f"{table.id}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        frame = new.iloc[order].assign(seconds=seconds)
        frame.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
        joined.append(table.id)
    return joined


@dataclass(frozen=True)
class Agreement:
    """How many published numbers and signs ours agree with."""

    numbers: int = 0
    within_2: int = 0
    within_3: int = 0
    clear: int = 0
    same_sign: int = 0

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(*(a + b for a, b in zip(self.counts(), other.counts(), strict=True)))

    def __sub__(self, other: Agreement) -> Agreement:
        return Agreement(*(a - b for a, b in zip(self.counts(), other.counts(), strict=True)))

    def counts(self) -> tuple[int, ...]:
        """All counts, in the order of the fields."""
        return (self.numbers, self.within_2, self.within_3, self.clear, self.same_sign)

    def cells(self) -> list[str]:
        """Cells of the table."""
        signs = f"{self.same_sign} of {self.clear}" if self.clear else ""
        share = self.within_3 / self.numbers
        return [str(self.numbers), str(self.within_2), f"{self.within_3} ({share:.0%})", signs]


def count_agreement(cells: pd.DataFrame) -> Agreement:
    """Count numbers within 2 and 3 standard errors, and signs of clear differences.

    Only published numbers with a standard error count: beside one without, ours alone would
    decide what is near.
    """
    known = cells[cells["published_se"].notna() & cells["z"].notna()]
    z = known["z"].abs()
    clear = known[known["published_sign"].abs() == 1]
    same = clear["same_direction"].astype(str) == "True"
    return Agreement(len(z), int((z <= 2).sum()), int((z <= 3).sum()), len(clear), int(same.sum()))


def distance_cells(cells: pd.DataFrame) -> list[str]:
    """Cells of a table whose published numbers have no standard error.

    How far ours are from them on average, and how many differences of two methods have the
    published sign.
    """
    known = cells[cells["published"].notna()]
    if known.empty:
        return ["none printed", "", "", ""]
    apart = (known["mean"] - known["published"]).abs().mean()
    differ = known[known["published_difference"].abs() > 0]
    same = int((differ["same_direction"].astype(str) == "True").sum())
    signs = f"{same} of {len(differ)}" if len(differ) else ""
    return [f"{len(known)}, without errors", f"{apart:.3g} apart", "", signs]


def agreement_lines(folder: Path) -> list[str]:
    """A Markdown table of all tables that were run, with the sum of each source."""
    header = [
        "table", "trials", "data sets", "numbers", "within 2", "within 3", "clear signs",
        "processor seconds", "chosen by looking at published numbers",
    ]  # fmt: skip
    lines = ["| " + " | ".join(header) + " |", "| --- |" + " ---: |" * 7 + " --- |"]
    for source in SOURCES:
        total, redrawn, other, seconds, n_run = Agreement(), Agreement(), Agreement(), 0.0, 0
        for table in (each for each in TABLES.values() if each.source == source):
            cells = read_numbers(folder, table.id)
            if cells is None or cells.empty:
                continue
            found = count_agreement(cells)
            spent = float(cells["seconds"].iloc[0])
            few, many = int(cells["trials"].min()), int(cells["trials"].max())
            row = [table.id, f"{few} to {many}" if few < many else str(many)]
            counted = found.cells() if found.numbers else distance_cells(cells)
            row += [str(cells["dataset"].nunique()), *counted]
            row += ["" if np.isnan(spent) else f"{spent:,.0f}", table.reading]
            lines.append("| " + " | ".join(row) + " |")
            # Readings beside each other are no tables of the source.
            if table.number[0].isdigit():
                total, redrawn = total + found, redrawn + (found if table.redrawn else Agreement())
                if source == "S1" and not table.redrawn:
                    other = other + count_agreement(cells[cells["dataset"].isin(OTHER_FORM)])
            seconds, n_run = seconds + np.nan_to_num(spent), n_run + 1
        if n_run:
            counted = total.cells() if total.numbers else [""] * 4
            row = [f"**{source}, tables of the source**", "", "", *counted]
            lines.append("| " + " | ".join([*row, f"{seconds:,.0f}", ""]) + " |")
        if redrawn.numbers:
            row = [f"**{source}, on data of the source**", "", "", *(total - redrawn).cells()]
            lines.append("| " + " | ".join([*row, "", "without data drawn anew"]) + " |")
        rest = total - redrawn - other
        if other.numbers and rest.numbers:
            row = [f"**{source}, of which not in another form**", "", "", *rest.cells()]
            left_out = f"without {', '.join(OTHER_FORM[:-1])} and {OTHER_FORM[-1]}, left out after"
            lines.append(f"| {' | '.join([*row, '', f'{left_out} a look at their numbers'])} |")
    not_run = [each for each in TABLES if read_numbers(folder, each) is None]
    if not_run:
        lines += ["", f"Not run with the present studies: {', '.join(not_run)}."]
    return lines


def update_agreement(page: Path, folder: Path) -> None:
    """Put the table of agreement between its comments in a page."""
    text = page.read_text(encoding="utf-8")
    if not MARK.search(text):
        raise ValueError(
            f"{page} has no place for the table: add the lines <!-- agreement --> and "
            "<!-- end of agreement -->."
        )
    table = "\n".join(agreement_lines(folder))
    page.write_text(MARK.sub(lambda _: f"{table}\n", text), encoding="utf-8")


# Diagrams of critical differences

DIAGRAMS: dict[str, tuple[str, ...]] = {
    "4.1": ("4.1",), "4.2": ("4.2",), "4.4": ("4.3",), "4.5": ("4.4",), "4.8": ("4.5",),
    "4.9": ("4.6",), "5.5": ("5.3",), "5.6": ("5.4",), "5.7": ("5.5",), "5.8": ("5.6",),
    "5.9": ("5.4", "5.3", "5.5", "5.6"), "6.14": ("3.3", "6.1", "6.3"),
    "6.18": ("3.4", "6.2", "6.4"), "6.22": ("3.5", "6.5"), "6.23": ("3.6", "6.6"),
}  # fmt: skip
"""Figures of S1 with mean ranks, and the tables that their areas are in.

Areas of ALNB on synthetic data, which 6.22 and 6.23 have too, are printed nowhere.
"""

RANKS_HEAD = """## Mean ranks and critical differences

Made from the numbers of the tables above, on the data sets at hand. A smaller rank is better; mean
ranks that differ by less than the critical difference (Nemenyi, level 0.05) are joined by a bar."""

FEWEST = 5
"""Mean ranks over fewer data sets than this say nothing."""


def areas_of(folder: Path, tables: tuple[str, ...]) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """Our and the published areas, by data set and method, on the sets that all tables have."""
    ours, printed = [], []
    for number in tables:
        cells = read_numbers(folder, f"S1-{number}")
        if cells is None or cells.empty:
            return None
        ours.append(cells.pivot_table("mean", "dataset", "method"))
        printed.append(cells.pivot_table("published", "dataset", "method"))
    mine, theirs = (pd.concat(each, axis=1, join="inner") for each in (ours, printed))
    # NB is in every table: once is enough.
    mine, theirs = (each.loc[:, ~each.columns.duplicated()].dropna() for each in (mine, theirs))
    common = mine.index.intersection(theirs.index)
    return mine.loc[common], theirs.loc[common]


def published_ranks(tables: tuple[str, ...]) -> pd.Series[float]:
    """Mean ranks of the published areas over all data sets of the source."""
    wide = [published_areas(number).pivot_table("mean", "dataset", "method") for number in tables]
    areas = pd.concat(wide, axis=1, join="inner")
    areas = areas.loc[:, ~areas.columns.duplicated()].dropna()
    return areas.rank(axis=1).mean()


def rank_lines(folder: Path) -> list[str]:
    """Mean ranks of every diagram, ours beside the published ones, and the figures."""
    from leaven.statistics import nemenyi_test

    lines = [
        "| figure | tables | data sets | mean ranks, ours | published areas, same sets | published "
        "areas, all sets | critical difference |",
        "| --- | --- | ---: | --- | --- | --- | ---: |",
    ]
    images = []
    for figure, tables in DIAGRAMS.items():
        found = areas_of(folder, tables)
        if found is None or len(found[0]) < FEWEST:
            continue
        mine, theirs = found
        difference = nemenyi_test(mine.to_numpy()).critical_difference
        ranks = [mine.rank(axis=1).mean(), theirs.rank(axis=1).mean(), published_ranks(tables)]
        texts = [", ".join(f"{m} {r:.2f}" for m, r in each.sort_values().items()) for each in ranks]
        row = [figure, ", ".join(tables), str(len(mine)), *texts, f"{difference:.2f}"]
        lines.append("| " + " | ".join(row) + " |")
        image = draw_ranks(figure, mine, theirs, folder)
        if image is not None:
            images += ["", f"![Figure {figure}](images/{image.name})"]
    return [*lines, *images] if len(lines) > 2 else []


def draw_ranks(
    figure: str, ours: pd.DataFrame, published: pd.DataFrame, folder: Path
) -> Path | None:
    """Two diagrams above each other: our areas and the published ones."""
    if not is_installed("matplotlib"):
        return None
    from matplotlib import pyplot as plt

    from leaven.plotting import plot_critical_difference

    drawn, axes = plt.subplots(2, 1, figsize=(6.5, 4.6), layout="constrained")
    for ax, areas, title in zip(axes, (ours, published), ("ours", "published"), strict=True):
        plot_critical_difference(areas.to_numpy(), list(areas.columns), ax=ax)
        ax.set_title(f"figure {figure}, {len(areas)} data sets, {title}", fontsize=9)
    path = folder / "images" / f"S1-figure-{figure}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata: Any = {"Software": None}
    drawn.savefig(path, dpi=80, bbox_inches="tight", metadata=metadata)
    plt.close(drawn)
    return path
