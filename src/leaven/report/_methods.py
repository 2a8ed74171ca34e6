"""The sections on the methods that were tried and on the learning curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from leaven.report._figures import (
    MOST_CURVES,
    curve_legend,
    curves,
    method_legend,
    whiskers,
)
from leaven.report._selection import (
    Trial,
    difference_format,
    is_share,
    not_tried,
    score_format,
    tried,
)
from leaven.report._text import bullets, count, name, percent, points, safe, table
from leaven.selection import COMBINATION
from leaven.tables import LabelingSummary

if TYPE_CHECKING:
    from leaven.model_selection import SafeReport


def methods_section(selection: SafeReport | None, summary: LabelingSummary) -> str:
    """Show how the methods did on labels held out, and why one of them was chosen."""
    opening = '<section id="methods"><h2>Methods that were tried</h2>'
    if selection is None:
        return (
            f"{opening}<p>Only <b>{name(summary.method)}</b> was used; no other method was "
            "compared with it.</p></section>"
        )
    found = tried(selection)
    parts = [opening, f"<p>{_choice(selection, found)}</p>"]
    if found:
        parts += [
            f"<figure>{method_legend()}{whiskers(selection)}"
            f"<figcaption>{_caption(selection)}</figcaption></figure>",
            f"<details><summary>The numbers</summary>{_numbers(selection, found)}</details>",
        ]
    left_out = not_tried(selection)
    if left_out:
        items = [
            safe(reason, 500) if candidate in reason else f"{name(candidate)}: {safe(reason, 500)}"
            for candidate, reason in left_out
        ]
        heading = f"{count(len(left_out), 'method')} left out"
        parts.append(f"<details><summary>{heading}</summary>{bullets(items)}</details>")
    return "".join([*parts, "</section>"])


def _choice(selection: SafeReport, found: list[Trial]) -> str:
    """Say which method labeled the table, and why that one."""
    chosen, best = name(selection.choice), found[0].name if found else ""
    opening = f"{count(len(found), 'method')} were compared on labels that were held out. "
    if len(found) < 2:
        return safe(selection.reason, 2000)
    scores = {trial.name: trial.score for trial in found}
    if selection.choice == COMBINATION:
        return (
            f"{opening}<b>{chosen}</b> labeled the table: the methods decide each row together, "
            "since with few labels a single one that looks best may owe its lead to chance."
        )
    if scores.get(selection.choice) == found[0].score:
        return f"{opening}<b>{chosen}</b> did best and labeled the table."
    return (
        f"{opening}{name(best)} did best, but not by enough to rule out chance; so "
        f"<b>{chosen}</b>, the best that learns from the labeled rows only, labeled the table."
    )


def _caption(selection: SafeReport) -> str:
    score = "Share of right labels" if is_share(selection) else safe(selection.scoring)
    return (
        f"{score} among the {count(selection.n_tested, 'label')} that were held out in turn "
        f"({count(selection.n_splits, 'fold')}, {count(selection.n_repeats, 'repeat')}), with "
        "intervals of about 95 %. Wide intervals come from few labels; the best of several looks "
        "a little better than it is."
    )


def _numbers(selection: SafeReport, found: list[Trial]) -> str:
    show, change = score_format(selection), difference_format(selection)
    rows = []
    for trial in found:
        difference = interval = "–"
        if np.isfinite(trial.difference):
            difference = change(trial.difference)
            interval = f"{change(trial.difference_low)} to {change(trial.difference_high)}"
        rows.append(
            [
                name(trial.name) + (" ★" if trial.name == selection.choice else ""),
                "all rows" if trial.uses_unlabeled else "labeled rows only",
                show(trial.score),
                f"{show(trial.low)} to {show(trial.high)}",
                difference,
                interval,
                f"{trial.seconds:.1f}",
            ]
        )
    header = [
        ("method", False),
        ("learns from", False),
        (safe(selection.scoring), True),
        ("interval", True),
        ("difference", True),
        ("interval", True),
        ("seconds", True),
    ]
    unit = " in points" if is_share(selection) else ""
    caption = (
        f"Methods, best first; differences{unit} are against the best on labeled rows only, for "
        "methods that learn from all rows after correcting for selection bias"
    )
    return table(caption, header, rows)


def curve_section(curve: pd.DataFrame | None) -> str:
    """Show how accuracy grew with the labels, or nothing if there is no curve."""
    if curve is None:
        return ""
    opening = '<section id="curve"><h2>The learning curve so far</h2>'
    curve = curve[np.isfinite(curve["accuracy"].to_numpy(dtype=float))]
    if not len(curve):
        return f"{opening}<p>There are too few labels for a learning curve.</p></section>"
    methods = list(dict.fromkeys(curve["method"].astype(str)))
    curve = curve.assign(method=curve["method"].astype(str))
    shown = methods[:MOST_CURVES]
    rows = []
    for row in curve.sort_values(["method", "n_labeled"]).to_dict("records"):
        error = float(row["standard_error"])
        rows.append(
            [
                name(row["method"]),
                f"{float(row['n_labeled']):,.0f}",
                percent(float(row["accuracy"])),
                points(error, signed=False) if np.isfinite(error) else "–",
            ]
        )
    header = [("method", False), ("labels", True), ("accuracy", True), ("standard error", True)]
    rest = (
        f" {len(methods) - len(shown):,} more methods are in the numbers."
        if methods != shown
        else ""
    )
    return (
        f"{opening}<p>Accuracy on held-out labels, by the number of labels that were used. A curve "
        "that still rises says that more labels will pay.</p>"
        f'<figure>{curve_legend(shown)}<div class="plot">{curves(curve, shown)}</div>'
        "<figcaption>Accuracy against the number of labels; each doubling has the same width. The "
        f"bands are one standard error to each side.{rest}</figcaption></figure>"
        f"<details><summary>The numbers</summary>{table('Learning curve', header, rows)}</details>"
        "</section>"
    )
