"""Our numbers beside the published ones, as Markdown and HTML: a page per source.

A page is made of sections between comments, one for each table. A later run replaces the
sections of its own tables and leaves all others, and the notes at the top, as they are.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leaven.evaluation import trial_scores
from leaven.statistics import wilcoxon_test
from studies.costs import WHOLE, expected_seconds
from studies.figures import can_draw
from studies.registry import SOURCES, TABLES, Outcome, Table

LEVEL = 0.05
CLEAR = 1.96
"""A published difference is clear if it is larger than so many standard errors."""

COLUMNS = [
    "dataset", "method", "mean", "se", "published", "published_se", "z", "sign",
    "published_sign", "published_difference", "same_direction", "choice",
]  # fmt: skip

VERDICTS = {-1: "better", 0: "no difference", 1: "worse"}

FEWEST_PAIRS = 6
"""With five pairs of trials the smallest p of Wilcoxon's test is 1/16: there is no verdict."""

RANKS = "ranks"
"""Name of the section of mean ranks, which stands after the tables."""

Draw = Callable[[pd.DataFrame], str]
"""Draws learning curves of a table as an SVG."""

NO_NOTES = (
    "Nothing has been written here yet. Text between these comments is kept when the page is "
    "made anew."
)
INTRODUCTION = (
    "Each number is a mean ± standard error over trials, ours beside the published one. z is "
    "the difference of the two means over the root of the sum of their squared standard errors. "
    "The last columns compare a method with the first one on the same trials: ours by Wilcoxon's "
    "signed rank test at the level 0.05 (empty with fewer than six trials, which it needs), the "
    "published one from the printed means and standard "
    "errors, where a difference of more than 1.96 standard errors is taken as real (the fonts "
    "that mark significance in the sources are lost in the text at hand)."
)


@dataclass(frozen=True, eq=False)
class Report:
    """A table with our numbers.

    Parameters
    ----------
    table : Table
    cells : DataFrame
        One row for each data set and method: ``dataset``, ``method``, ``mean``, ``se``,
        ``published``, ``published_se``, ``z``, ``sign``, ``published_sign`` (-1 better than the
        first method, 1 worse, 0 no difference), ``same_direction`` and ``choice``.
    missing : list of str
        Data sets of the table that are not there.
    n_trials : int
    failed : list of str
        What failed, one line a data set and method.
    results : DataFrame
        Tidy results of all trials.
    draw : callable, default=None
        Draws the figure of the table, where it has one of its own.
    seconds : float, default=nan
        Processor time of all runs of this table with the store.
    """

    table: Table
    cells: pd.DataFrame
    missing: list[str]
    n_trials: int
    failed: list[str]
    results: pd.DataFrame
    draw: Callable[[Path], Any] | None = None
    seconds: float = np.nan

    def trials(self) -> str:
        """Number of trials, and the data sets that have fewer."""
        counts = self.results.groupby("dataset", sort=False)["trial"].nunique()
        fewer: dict[int, list[str]] = {}
        for name, n in counts[counts < self.n_trials].items():
            fewer.setdefault(int(n), []).append(str(name))
        parts = [f"{n} on {', '.join(names)}" for n, names in sorted(fewer.items(), reverse=True)]
        return f"{self.n_trials}{' (' + '; '.join(parts) + ')' if parts else ''}"

    def summary(self) -> list[str]:
        """What to know before reading the table, a line each."""
        first, cells = self.table.methods[0], self.cells
        lines = []
        for method in self.table.methods:
            z = cells.loc[cells["method"] == method, "z"].dropna().abs()
            if len(z):
                within = [f"{int((z <= k).sum())} within {k}" for k in (2, 3)]
                lines.append(
                    f"Of {len(z)} numbers of {method}, {' and '.join(within)} standard errors of "
                    f"the published mean ({(z <= 3).mean():.0%} within 3)."
                )
        for method in self.table.methods[1:]:
            of_method = cells[(cells["method"] == method)]
            clear = of_method[of_method["published_sign"].abs() == 1]
            if len(clear):
                same = int(clear["same_direction"].sum())
                tested = clear[clear["sign"].notna()]
                agree = int((tested["sign"] == tested["published_sign"]).sum())
                lines.append(
                    f"{method} against {first}: of {len(clear)} clear published differences ours "
                    f"has the same sign in {same} ({same / len(clear):.0%})"
                    + (f", and our test gives the same verdict in {agree}." if len(tested) else ".")
                )
        lines += self._without_errors()
        lines.append(f"Trials: {self.trials()}. Data sets: {cells['dataset'].nunique()}.")
        if np.isfinite(self.seconds):
            lines.append(
                f"Processor time: {self.seconds:,.0f} seconds, without what other tables had left "
                "in the store."
            )
        if self.table.reading:
            lines.append(f"Chosen by looking at the published numbers: {self.table.reading}.")
        if self.missing:
            lines.append(f"Not at hand, and left out: {', '.join(self.missing)}.")
        ran = {*self.results["dataset"], *self.missing}
        skipped = [name for name in self.table.datasets if name not in ran]
        if skipped:
            lines.append(f"Not run this time: {', '.join(skipped)}.")
        lines += [f"Failed: {each}" for each in self.failed]
        return lines

    def _without_errors(self) -> list[str]:
        """How far we are from printed numbers that come without a standard error."""
        cells = self.cells[self.cells["published"].notna() & self.cells["published_se"].isna()]
        if cells.empty:
            return []
        away = (cells["mean"] - cells["published"]).abs()
        lines = [
            f"{len(cells)} published numbers have no standard error; ours differ from them by "
            f"{away.mean():.3f} on average and {away.max():.3f} at most."
        ]
        if not self.table.number[0].isdigit():
            return lines  # readings beside each other: the first one is no base for the others
        for method in self.table.methods[1:]:
            of_method = cells[(cells["method"] == method)]
            differ = of_method[of_method["published_difference"].abs() > 0]
            if len(differ):
                lines.append(
                    f"{method} against {self.table.methods[0]}: of {len(differ)} published "
                    f"differences ours has the same sign in {int(differ['same_direction'].sum())}."
                )
        return lines


def make_report(
    table: Table, outcome: Outcome, missing: list[str], seconds: float = np.nan
) -> Report:
    """Put our numbers beside the published ones."""
    results = outcome.results
    good = results[results["status"] == "ok"]
    first = table.methods[0]
    rows = []
    for dataset in pd.unique(good["dataset"]):
        of_set = trial_scores(good[good["dataset"] == dataset], table.value)
        for method in table.methods:
            values = of_set[method].dropna() if method in of_set else pd.Series(dtype=float)
            if not len(values):
                continue
            row: dict[str, Any] = {
                "dataset": dataset,
                "method": method,
                "mean": float(values.mean()),
            }
            own = float(values.std(ddof=1) / np.sqrt(len(values)))
            row["se"] = outcome.errors.get((str(dataset), method), own)
            row |= _published(table, dataset, method, first)
            row["z"] = _z(row)
            row |= _against(of_set, method, first, table, row["published_difference"])
            row["choice"] = outcome.choices.get((str(dataset), method), "")
            rows.append(row)
    failed = results[results["status"] != "ok"].groupby(["dataset", "method"])["message"]
    lines = [
        f"{dataset}, {method}: {len(texts)} trials, {str(texts.iloc[0]).splitlines()[0]}"
        for (dataset, method), texts in failed
    ]
    n_trials = int(results["trial"].nunique())
    cells = pd.DataFrame(rows, columns=COLUMNS)
    return Report(table, cells, missing, n_trials, lines, results, outcome.draw, seconds)


def _z(row: Mapping[Any, Any]) -> float:
    """Difference of two means over its standard error.

    A printed number without a standard error has none: ours alone would say what is near.
    """
    spread = np.hypot(row["se"], row["published_se"])
    return float((row["mean"] - row["published"]) / spread) if spread > 0 else np.nan


def report_of_numbers(table: Table, numbers: pd.DataFrame) -> Report:
    """A report made from the numbers beside a page, without the trials behind them.

    Parameters
    ----------
    table : Table
    numbers : DataFrame
        As :func:`studies.agreement.read_numbers` gives them.

    Returns
    -------
    Report
        Without failed trials, of which the numbers know nothing.
    """
    rows = []
    for row in numbers.to_dict("records"):
        row["z"] = _z(row)
        row["sign"] = row["sign"] if row["trials"] >= FEWEST_PAIRS else np.nan
        known = np.isfinite(row["published_se"])
        row["published_sign"] = row["published_sign"] if known else np.nan
        row["choice"] = row["choice"] if isinstance(row["choice"], str) else ""
        rows.append(row)
    counts = numbers.groupby("dataset", sort=False)["trials"].max()
    trials = [(name, trial) for name, n in counts.items() for trial in range(int(n))]
    # What has numbers was at hand when they were made, whatever is here now.
    here = {*table.here(), *numbers["dataset"]}
    missing = [name for name in table.datasets if name not in here]
    return Report(
        table,
        pd.DataFrame(rows, columns=COLUMNS),
        missing,
        int(counts.max()),
        [],
        pd.DataFrame(trials, columns=["dataset", "trial"]),
        seconds=float(numbers["seconds"].iloc[0]),
    )


def _published(table: Table, dataset: str, method: str, first: str) -> dict[str, float]:
    def numbers(which: str) -> tuple[float, float]:
        if (dataset, which) not in table.published.index:
            return np.nan, np.nan
        entry: Any = table.published.loc[(dataset, which)]
        return float(entry["mean"]), float(entry["se"])

    (mean, se), (base, base_se) = numbers(method), numbers(first)
    difference = (mean - base) * (-1 if table.higher_is_better else 1)
    spread = np.hypot(se, base_se)
    sign = np.sign(difference) if abs(difference) > CLEAR * spread else 0.0
    if method == first or not np.isfinite(difference) or not np.isfinite(spread):
        sign = np.nan
    return {
        "published": mean,
        "published_se": se,
        "published_sign": float(sign),
        "published_difference": float(difference),
    }


def _against(
    scores: pd.DataFrame, method: str, first: str, table: Table, published: float
) -> dict[str, object]:
    """Verdict of our paired test: -1 better than the first method, 1 worse, 0 neither."""
    nothing: dict[str, object] = {"sign": np.nan, "same_direction": False}
    if method == first or first not in scores:
        return nothing
    pairs = scores[[method, first]].dropna()
    if not len(pairs):
        return nothing
    a, b = pairs[method].to_numpy(), pairs[first].to_numpy()
    difference = float((a - b).mean()) * (-1 if table.higher_is_better else 1)
    sign = np.nan
    if len(pairs) >= FEWEST_PAIRS:
        found = wilcoxon_test(a, b, alpha=LEVEL, higher_is_better=table.higher_is_better)
        sign = {"a": -1.0, "b": 1.0, "none": 0.0}[found.verdict]
    return {"sign": sign, "same_direction": bool(np.sign(difference) == np.sign(published))}


def table_cells(report: Report) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a report, as text; columns that would be empty are left out."""
    methods = [m for m in report.table.methods if (report.cells["method"] == m).any()]
    columns = []
    for method in methods:
        columns += [(f"{method}, ours", method, "mean"), ("published", method, "published")]
        columns += [("z", method, "z"), ("chosen", method, "choice")]
    for method in methods[1:]:
        columns += [(f"{method}: ours", method, "sign"), ("published", method, "published_sign")]
    texts: dict[tuple[str, str], dict[str, str]] = {}
    for cell in report.cells.to_dict("records"):
        for key, text in _texts(cell).items():
            texts.setdefault((str(cell["method"]), key), {})[str(cell["dataset"])] = text
    shown = [column for column in columns if any(texts[column[1:]].values())]
    header = ["data set", *(title for title, _, _ in shown)]
    rows = [
        [dataset, *(texts[method, key].get(dataset, "") for _, method, key in shown)]
        for dataset in map(str, pd.unique(report.cells["dataset"]))
    ]
    return header, rows


def _texts(cell: dict[Any, Any]) -> dict[str, str]:
    """What a cell says, by the name of its column."""
    return {
        "mean": _number(cell["mean"], cell["se"]),
        "published": _number(cell["published"], cell["published_se"]),
        "z": "" if np.isnan(cell["z"]) else f"{cell['z']:+.1f}",
        "choice": str(cell["choice"]),
        "sign": "" if np.isnan(cell["sign"]) else VERDICTS[int(cell["sign"])],
        "published_sign": (
            "" if np.isnan(cell["published_sign"]) else VERDICTS[int(cell["published_sign"])]
        ),
    }


def escape_markdown(text: str) -> str:
    """Text that Markdown leaves as it is, also in a cell of a table."""
    return re.sub(r"([\\|`*_<>\[\]])", r"\\\1", text)


def _number(mean: float, se: float) -> str:
    if np.isnan(mean):
        return ""
    return f"{mean:.3f}" if np.isnan(se) else f"{mean:.3f} ± {se:.3f}"


def head_lines(report: Report) -> list[str]:
    """Where a table is from and how the numbers were made."""
    table = report.table
    return [
        f"Table {table.number} of {SOURCES[table.source].cite()} ({table.source}). "
        f"Numbers: {table.score}.",
        f"{table.protocol} Made with leaven {version('leaven')}.",
    ]


def markdown_section(report: Report, *, has_image: bool | None = None) -> str:
    """One table as Markdown; whether there is an image is for the report to tell, by default."""
    if has_image is None:
        has_image = report.draw is not None or can_draw(report.cells)
    header, rows = table_cells(report)
    lines = [f"## {report.table.id}: {report.table.title}", ""]
    for text in head_lines(report):
        lines += [escape_markdown(text), ""]
    lines += [f"- {escape_markdown(text)}" for text in report.summary()]
    if has_image:
        lines += ["", f"![{escape_markdown(report.table.title)}](images/{report.table.id}.png)"]
        if report.table.printed_figure:
            lines += ["", escape_markdown(f"In the source: {report.table.printed_figure}")]
    lines += ["", "| " + " | ".join(map(escape_markdown, header)) + " |"]
    lines += ["|" + "|".join([" --- "] + [" ---: "] * (len(header) - 1)) + "|"]
    lines += ["| " + " | ".join(map(escape_markdown, row)) + " |" for row in rows]
    return "\n".join(lines)


def html_section(report: Report, draw: Draw | None = None) -> str:
    """One table as HTML, with its learning curves, or with the figure of its numbers."""
    header, rows = table_cells(report)
    lines = [f"<h2>{html.escape(f'{report.table.id}: {report.table.title}')}</h2>"]
    lines += [f"<p>{html.escape(text)}</p>" for text in head_lines(report)]
    lines += ["<ul>", *(f"<li>{html.escape(text)}</li>" for text in report.summary()), "</ul>"]
    lines += ["<div class='wide'><table>"]
    lines += ["<tr>" + "".join(f"<th>{html.escape(text)}</th>" for text in header) + "</tr>"]
    for row in rows:
        lines.append("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>")
    lines.append("</table></div>")
    good = report.results[report.results["status"] == "ok"]
    if draw is not None and has_curves(good):
        lines.append(f"<figure>{draw(good)}</figure>")
    elif report.draw is not None or can_draw(report.cells):
        title = html.escape(report.table.title)
        lines.append(f"<figure><img src='images/{report.table.id}.png' alt='{title}'></figure>")
        if report.table.printed_figure:
            lines.append(f"<p>{html.escape(f'In the source: {report.table.printed_figure}')}</p>")
    return "\n".join(lines)


def has_curves(results: pd.DataFrame) -> bool:
    """Whether trials have an error at several numbers of labels, which makes a learning curve."""
    if results.empty or "error" not in results:
        return False
    of_set = results.groupby("dataset")["n_labeled"]
    return bool((of_set.min() < of_set.max()).any())


HTML_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Reproduction of published experiments</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85em; }
th, td { padding: 0.2em 0.6em; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1em 0; } figure svg { max-width: 100%; height: auto; }
</style></head><body>
"""


def _marked(name: str, body: str) -> str:
    return f"<!-- {name} -->\n{body}\n<!-- end of {name} -->"


def _section(page: str, name: str) -> str | None:
    found = re.search(
        rf"<!-- {re.escape(name)} -->\n(.*?)\n<!-- end of {re.escape(name)} -->", page, re.DOTALL
    )
    return found.group(1) if found else None


def update_page(page: str, sections: dict[str, str], *, source: str, as_html: bool) -> str:
    """The page of a source with new sections in place of the old ones of the same tables.

    Parameters
    ----------
    page : str
        The page as it is; empty if there is none.
    sections : dict
        Ids of tables and their text.
    source : str
    as_html : bool

    Returns
    -------
    str
        With the notes and the other tables of the old page, tables in the order of the
        registry.
    """
    all_sections = {}
    ids = [each for each, table in TABLES.items() if table.source == source]
    for known in [*ids, RANKS]:
        text = sections.get(known) or _section(page, f"table {known}")
        if text is not None:
            all_sections[known] = text
    notes = _section(page, "notes")
    title, cited = f"Reproduction of {source}", SOURCES[source].cite()
    parts: list[str]
    if as_html:
        notes = f"<p>{html.escape(NO_NOTES)}</p>" if notes is None else notes
        parts = [
            f"{HTML_HEAD}<h1>{title}</h1>\n<p>{html.escape(cited)}</p>\n"
            f"<p>{html.escape(INTRODUCTION)}</p>",
            "<h2>Where we differ</h2>",
        ]
    else:
        notes = NO_NOTES if notes is None else notes
        parts = [
            f"# {title}",
            f"{escape_markdown(cited)}.",
            f"Every section is written by `python -m studies` with its name. {INTRODUCTION}",
            "## Where we differ",
        ]
    parts.append(_marked("notes", notes))
    parts += [_marked(f"table {known}", text) for known, text in all_sections.items()]
    text = "\n\n".join(parts)
    return f"{text}\n</body></html>\n" if as_html else f"{text}\n"


def in_minutes(seconds: float) -> str:
    """Seconds as whole minutes, in words.

    Examples
    --------
    >>> from studies.report import in_minutes
    >>> in_minutes(20), in_minutes(50), in_minutes(150)
    ('less than a minute', 'about 1 minute', 'about 2 minutes')
    """
    minutes = round(seconds / 60)
    if minutes == 0:
        return "less than a minute"
    return f"about {minutes} minute{'' if minutes == 1 else 's'}"


def listing(tables: Sequence[Table]) -> list[str]:
    """All tables with their titles and data, a line each, after the sources they are of."""
    lines = []
    every = 0.0
    for source in dict.fromkeys(table.source for table in tables):
        lines.append(f"{source}: {SOURCES[source].cite()}")
        total = 0.0
        for table in (each for each in tables if each.source == source):
            here = table.here()
            counted = f"({len(here)} of {len(table.datasets)} data sets here)"
            line = f"  {table.id:8} {table.title} {counted}"
            if table.trials or table.id in WHOLE:
                seconds = WHOLE.get(table.id) or expected_seconds(table.number, here)
                line, total = f"{line}, {in_minutes(seconds)}", total + seconds
            lines.append(line)
        if total:
            lines.append(f"  The tables with a time take {total / 3600:.1f} hours of one core.")
        every += total
    lines.append(f"All sources: {every / 3600:.1f} hours of one core.")
    return lines
