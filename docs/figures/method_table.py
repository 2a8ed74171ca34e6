"""Fill the table of all methods in docs/guide/choose.md, and draw the critical differences.

``python docs/figures/method_table.py`` reads docs/data/methods.csv, which benchmarks/methods.py
writes, and the docstrings. The first eight columns of the table are written by hand; source,
accuracy and rank are filled in here. Ranks are means over the data sets, 1 the best, ties averaged;
a classifier that does not apply to some sets is ranked on the others.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpydoc.docscrape import NumpyDocString

DOCS = Path(__file__).parents[1]
sys.path.insert(0, str(DOCS))

from public_names import public_names, public_packages  # noqa: E402

from leaven.base import TransductionMixin  # noqa: E402

PAGE = DOCS / "guide" / "choose.md"
SCORES = DOCS / "data" / "methods.csv"
IMAGE = DOCS / "images" / "critical_differences.svg"
SECONDS = "(median seconds)"
WRITTEN = 8  # columns by hand
COMPARED = 12  # lines of the diagram that readers still tell apart
ELSEWHERE = {
    "CalibratedTreeClassifier": "inside others only",
    "LeNet5Classifier": "images only",
    "SemiSupervisedHMM": "sequences only",
    "TableLabeler": "as SafeClassifier",
}
"""As in benchmarks/methods.py; the table says so in place of a number."""
SOURCES = {
    "ClusterThenLabel": "Lefakis",
    "EntropyRegularizedLogisticRegression": "Grandvalet and Bengio (2004)",
    "SafeClassifier": "{doc}`safe`",
    "SemiSupervisedGaussianMixture": "Lefakis",
    "SemiSupervisedHMM": "Rabiner (1989)",
    "TableLabeler": "{doc}`tables`",
}
"""Where the first reference of the docstring has no year, or is not the origin."""


def public_classifiers() -> dict[str, Any]:
    """Every public semi-supervised classifier by name."""
    return {
        name: thing
        for package in public_packages()
        for name in public_names(package)
        for thing in [getattr(package, name)]
        if inspect.isclass(thing)
        and (issubclass(thing, TransductionMixin) or name in ELSEWHERE)
        and thing is not TransductionMixin
    }


def read_scores() -> pd.DataFrame:
    """Mean accuracy, data sets by methods."""
    return pd.read_csv(SCORES, index_col=0).drop(index=SECONDS)


def mean_ranks(scores: pd.DataFrame) -> pd.Series:
    return scores.round(6).rank(axis=1, ascending=False).mean()


def source(cls: Any) -> str:
    """Surnames and year of the first reference in a docstring."""
    if cls.__name__ in SOURCES:
        return SOURCES[cls.__name__]
    references = " ".join(NumpyDocString(inspect.getdoc(cls) or "")["References"])
    first = re.split(r"\.\. \[2\]", references)[0]
    first = re.sub(r"^\s*\.\. \[1\]\s*", "", first)
    year = re.findall(r"\b(?:19|20)\d\d\b", first)
    authors = re.split(r",? [\"“*]", first, maxsplit=1)[0]
    parts = [part for part in re.split(r", | and ", authors) if part.strip()]
    names = [re.sub(r"^(?:[A-Z]\w{0,1}\.[ -]?)+", "", part.strip()) for part in parts]
    names = [name for name in names if name and not name.startswith("et al")]
    if not names or not year:
        return ""
    who = names[0] if len(names) == 1 else " and ".join(names)
    return f"{who if len(names) <= 2 else names[0] + ' et al.'} ({year[-1]})"


def filled(text: str) -> str:
    """Return the page with the last three columns of its table filled in."""
    scores, known = read_scores(), public_classifiers()
    ranks, accuracy = mean_ranks(scores), scores.mean()
    best, lines, seen = scores.shape[1], [], set()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        name = re.match(r"\| {class}`~leaven\.\w+\.(\w+)`", line)
        if line.startswith("| method |"):
            cells = [*cells[:WRITTEN], "source", "accuracy", f"rank of {best}"]
        elif line.startswith("|---") and lines and "rank of" in lines[-1]:
            lines.append("|---" * (WRITTEN + 3) + "|")
            continue
        elif name:
            seen.add(name[1])
            cells = [*cells[:WRITTEN], *measured(name[1], known[name[1]], accuracy, ranks, scores)]
        else:
            lines.append(line)
            continue
        lines.append("| " + " | ".join(cells) + " |")
    if set(known) - seen:
        raise SystemExit(f"{PAGE} has no row for {sorted(set(known) - seen)}")
    return "\n".join(lines) + "\n"


def measured(
    name: str, cls: Any, accuracy: pd.Series, ranks: pd.Series, scores: pd.DataFrame
) -> list[str]:
    """Source, accuracy and rank of one classifier, as they stand in the table."""
    if name in ELSEWHERE:
        return [source(cls), ELSEWHERE[name], "-"]
    if name not in scores:
        raise SystemExit(f"{SCORES} has no scores of {name}: run benchmarks/methods.py")
    count = int(scores[name].notna().sum())
    where = "" if count == len(scores) else f" ({count} sets)"
    return [source(cls), f"{100 * accuracy[name]:.1f}{where}", f"{ranks[name]:.1f}"]


def baselines_table() -> str:
    scores = read_scores()
    ranks, accuracy = mean_ranks(scores), scores.mean()
    known = public_classifiers()
    rows = [name for name in scores if name not in known]
    return "\n".join(
        f"| {name} | {100 * accuracy[name]:.1f} | {ranks[name]:.1f} |" for name in rows
    )


def draw() -> None:
    """Draw the best methods by rank, and what one would use instead."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    from leaven.plotting import plot_critical_difference

    mpl.rcParams["svg.hashsalt"] = "leaven"
    mpl.rcParams["svg.fonttype"] = "none"
    scores = read_scores().dropna(axis=1)
    known = public_classifiers()
    ours = mean_ranks(scores)[[name for name in scores if name in known]].nsmallest(COMPARED)
    shown = scores[[*ours.index, *(name for name in scores if name not in known)]]
    short = [re.sub(r"Classifier$|^SemiSupervised", "", name) for name in shown]
    ax = plot_critical_difference(shown.to_numpy(), labels=short, higher_is_better=True)
    ax.figure.savefig(IMAGE, format="svg", bbox_inches="tight", metadata={"Date": None})
    IMAGE.write_text(re.sub(r"[ \t]+$", "", IMAGE.read_text(), flags=re.MULTILINE))
    plt.close(ax.figure)


if __name__ == "__main__":
    text = filled(PAGE.read_text(encoding="utf-8"))
    start, end = "<!-- baselines -->\n", "<!-- end of baselines -->"
    if start in text:
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        head = "| supervised, or of scikit-learn | accuracy | rank |\n|---|---|---|\n"
        text = f"{before}{start}\n{head}{baselines_table()}\n\n{end}{after}"
    PAGE.write_text(text, encoding="utf-8")
    draw()
    print(f"{np.size(read_scores(), 0)} sets in {PAGE.name}, {IMAGE.name} drawn")
