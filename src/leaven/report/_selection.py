"""What the report says of the comparison of methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from leaven.report._text import percent, plain, points

if TYPE_CHECKING:
    from leaven.model_selection import SafeReport

# The kind of candidate that learns from the labeled rows only.
WITHOUT = "supervised"


@dataclass(frozen=True)
class Trial:
    """A candidate that was tried on labels held out.

    Parameters
    ----------
    name : str
    uses_unlabeled : bool
    score, low, high : float
        The mean and its interval.
    seconds : float
    difference, difference_low, difference_high : float
        Of the score to that of the best supervised one, for those that use unlabeled rows
        after correcting for selection bias; NaN where there is none to compare.
    """

    name: str
    uses_unlabeled: bool
    score: float
    low: float
    high: float
    seconds: float
    difference: float
    difference_low: float
    difference_high: float


def tried(selection: SafeReport) -> list[Trial]:
    """Return the candidates that have a score, best first."""
    pairs = {row["name"]: row for row in selection.differences.to_dict("records")}
    nothing = {"difference": np.nan, "low": np.nan, "high": np.nan}
    found = []
    for row in selection.candidates.to_dict("records"):
        if np.isfinite(row["score"]):
            pair = pairs.get(row["name"], nothing)
            numbers = [row[key] for key in ("score", "low", "high", "seconds")]
            numbers += [pair[key] for key in ("difference", "low", "high")]
            found.append(Trial(str(row["name"]), row["kind"] != WITHOUT, *map(float, numbers)))
    return sorted(found, key=lambda trial: -trial.score)


def not_tried(selection: SafeReport) -> list[tuple[str, str]]:
    """Return names and reasons of the candidates without a score."""
    found = selection.candidates
    found = found[~np.isfinite(found["score"].to_numpy(dtype=float))]
    return list(zip(found["name"], found["reason"], strict=True))


def is_share(selection: SafeReport) -> bool:
    """Whether the score is a share of rows, which reads best as a percentage."""
    return selection.scoring.endswith("accuracy")


def score_format(selection: SafeReport) -> Callable[[float], str]:
    """Return how to write a score."""
    return percent if is_share(selection) else "{:.3f}".format


def difference_format(selection: SafeReport) -> Callable[[float], str]:
    """Return how to write a difference of two scores, with its sign."""
    return points if is_share(selection) else "{:+.3f}".format


def verdict(selection: SafeReport | None, method: str) -> str:
    """Say in one sentence of plain text whether the unlabeled rows helped.

    Parameters
    ----------
    selection : SafeReport or None
    method : str
        That labeled the table.
    """
    if selection is None:
        return (
            "Whether the unlabeled rows helped was not checked: the method "
            f"{plain(method)} was used without a comparison on labels held out."
        )
    if selection.verdict:
        return plain(selection.verdict)
    found = {trial.name: trial for trial in tried(selection)}
    best = found.get(selection.best_semi_supervised or "")
    base = found.get(selection.best_supervised or "")
    if best is None or base is None:
        return selection.reason
    opening = {
        "yes": "The unlabeled rows helped",
        "no": "The unlabeled rows did not help",
    }.get(selection.unlabeled_helped, "It cannot be told whether the unlabeled rows helped")
    show, change = score_format(selection), difference_format(selection)
    what = "of the labels held out right" if is_share(selection) else f"in {selection.scoring}"
    unit = " points" if is_share(selection) else ""
    without = show(base.score)
    if show(base.score - selection.selection_bias) != without:
        without += f" ({show(base.score - selection.selection_bias)} without selection bias)"
    return (
        f"{opening}: the best method that learns from them ({plain(best.name)}) got "
        f"{show(best.score)} {what}, the best that does not ({plain(base.name)}) "
        f"{without}, a difference of {change(best.difference)}{unit} (plausibly between "
        f"{change(best.difference_low)} and {change(best.difference_high)})."
    )
