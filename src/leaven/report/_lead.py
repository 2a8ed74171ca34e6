"""The sentence at the top of the page, for readers who read no further."""

from __future__ import annotations

from leaven.report._text import count, name, safe
from leaven.tables import LabelingResult


def lead(result: LabelingResult) -> str:
    """Say what was labeled, how right it is expected to be, what helped and what to do next.

    Parameters
    ----------
    result : LabelingResult

    Returns
    -------
    str
        HTML of two or three short sentences.
    """
    summary = result.summary
    was = "was" if summary.n_inferred == 1 else "were"
    parts = [
        f"{count(summary.n_inferred, 'cell')} of <b>{name(summary.target)}</b> {was} filled in; "
        f"{_expected(result)}{_helped(result)}."
    ]
    if summary.since:
        parts.append(safe(summary.since, 1000))
    return " ".join([*parts, _next_step(result)])


def _expected(result: LabelingResult) -> str:
    found = result.estimated_accuracy
    if found is None:
        return "how many of them are right could not be estimated"
    low, middle, high = (100 * value for value in found)
    return f"expect about {middle:.0f}% of them to be right ({low:.0f}\u2013{high:.0f}%)"


def _helped(result: LabelingResult) -> str:
    if result.selection is None:
        return ""
    return {
        "yes": ", and the unlabeled rows probably helped",
        "no": ", and the unlabeled rows probably did not help",
        "hardly": ", and the unlabeled rows made little difference",
    }.get(
        result.selection.unlabeled_helped,
        ", and it cannot be told whether the unlabeled rows helped",
    )


def _next_step(result: LabelingResult) -> str:
    summary = result.summary
    if summary.n_review:
        rows = "the row that is" if summary.n_review == 1 else f"the {summary.n_review:,} rows"
        marked = "" if summary.n_review == 1 else " that are"
        return f"Next: check {rows}{marked} marked in {name(f'{summary.target}_review')}."
    if result.estimated_accuracy is None:
        return "Next: label a few more rows of each class, so that some can be held out as a test."
    return "Next: nothing needs a check; more labels are the way to be surer."
