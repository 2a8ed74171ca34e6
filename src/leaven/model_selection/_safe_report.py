"""What the safe classifier tried, what it chose, and why."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from leaven._html import Bold, html_box, html_lines, html_table
from leaven.selection import (
    TRIED,
    Assessment,
    Difference,
    Outcome,
    Problem,
    Selection,
    assess,
)


@dataclass(frozen=True, eq=False)
class SafeReport:
    """What :class:`SafeClassifier` tried, what it chose, and why.

    Parameters
    ----------
    candidates : DataFrame
        One row for each candidate: ``name``, ``kind`` (supervised or semi-supervised),
        ``status`` (tried, skipped or failed), ``score`` (mean over the held-out rows), ``se``
        (its standard error), ``low`` and ``high`` (an interval of about 95 %), ``seconds``,
        ``params`` (those chosen by the folds) and ``reason`` (of a skipped or failed one).
    differences : DataFrame
        The paired difference of each candidate tried to the best supervised one: ``name``,
        ``kind``, ``difference``, ``se``, ``low``, ``high``. For the semi-supervised ones the
        selection bias of the best supervised one is taken off first (see ``selection_bias``),
        and that of the best of them too if there is no vote.
    choice : str
        Name of the candidate taken.
    kind : {"supervised", "semi-supervised"}
        Its kind.
    unlabeled_helped : {"yes", "no", "hardly", "cannot tell"}
        Of a combination, compared with that of the supervised candidates alone: "hardly" if at
        most 5% of the unlabeled rows got another class, "yes" if ``probability_helped`` is 0.8 or
        more, "no" if it is 0.2 or less, and "cannot tell" otherwise. Where one candidate is
        taken, "yes" if the best semi-supervised one is better than the best supervised one by
        more than ``caution`` standard errors, "no" if it is not better at all, and "cannot tell"
        in between or where there was nothing to compare.
    reason : str
        Why, in a sentence.
    best_supervised : str or None
        Name of the best supervised candidate.
    best_semi_supervised : str or None
        Name of the best semi-supervised candidate.
    scoring : str
        The score.
    caution : float
        As given.
    n_labeled : int
        Rows with a label.
    n_unlabeled : int
        Rows without.
    n_classes : int
        Number of classes.
    n_tested : int
        Labeled rows that were held out: those whose class has another label.
    n_splits : int
        Folds of a repeat; 0 if no estimate was possible.
    n_repeats : int
        Different repeats of the folds.
    seconds : float
        Time that the whole fit took.
    notes : tuple of str
        What else to know, such as classes that could not be tested.
    selection_bias : float
        By how much the score of the best supervised candidate is expected to be too good
        because it is the best of several.
    expected_accuracy : float
        Expected share of the unlabeled rows that get their class.
    expected_accuracy_low, expected_accuracy_high : float
        Its interval of 90%.
    probability_helped : float
        Between 0 and 1, that the unlabeled rows made the answer better than the same
        combination of the supervised candidates; NaN if nothing could be compared.
    verdict : str
        What to expect, in two sentences.
    changed : float
        Share of the unlabeled rows that got another class than by the supervised candidates
        alone, which bounds what was gained or lost; NaN if nothing could be compared.
    suspects : tuple of dict
        Given labels that are probably wrong, the worst first: ``row``, ``given``, ``likely``
        (the class that the other labels speak for) and ``probability``.
    never_predicted : dict
        Classes with labels that no unlabeled row got, with the number of rows of the class
        that are expected among them.
    """

    candidates: pd.DataFrame
    differences: pd.DataFrame
    choice: str
    kind: str
    unlabeled_helped: str
    reason: str
    best_supervised: str | None
    best_semi_supervised: str | None
    scoring: str
    caution: float
    n_labeled: int
    n_unlabeled: int
    n_classes: int
    n_tested: int
    n_splits: int
    n_repeats: int
    seconds: float
    notes: tuple[str, ...] = ()
    selection_bias: float = 0.0
    expected_accuracy: float = np.nan
    expected_accuracy_low: float = np.nan
    expected_accuracy_high: float = np.nan
    probability_helped: float = np.nan
    verdict: str = ""
    changed: float = np.nan
    suspects: tuple[dict[str, Any], ...] = ()
    never_predicted: dict[Any, float] = field(default_factory=dict)

    @classmethod
    def from_selection(
        cls,
        selection: Selection,
        problem: Problem,
        *,
        scoring: str = "accuracy",
        caution: float = 1.0,
        seconds: float | None = None,
        notes: Sequence[str] = (),
        assessment: Assessment | None = None,
    ) -> SafeReport:
        """Report on a selection; ``notes`` come before its own."""
        decision, folds = selection.decision, selection.folds
        found = assess(selection, problem) if assessment is None else assessment
        return cls(
            candidates=candidate_table(selection.outcomes),
            differences=difference_table(decision.differences),
            choice=decision.choice,
            kind=decision.kind,
            unlabeled_helped=decision.unlabeled_helped,
            reason=decision.reason,
            best_supervised=decision.best_supervised,
            best_semi_supervised=decision.best_semi_supervised,
            scoring=scoring,
            caution=float(caution),
            n_labeled=problem.n_rows - problem.n_unlabeled,
            n_unlabeled=problem.n_unlabeled,
            n_classes=problem.n_classes,
            n_tested=0 if folds is None else len(folds.rows),
            n_splits=0 if folds is None else folds.n_splits,
            n_repeats=0 if folds is None else folds.n_repeats,
            seconds=selection.seconds if seconds is None else seconds,
            notes=(*notes, *selection.notes),
            selection_bias=decision.selection_bias,
            expected_accuracy=found.accuracy.value,
            expected_accuracy_low=found.accuracy.low,
            expected_accuracy_high=found.accuracy.high,
            probability_helped=found.probability_helped,
            verdict=found.verdict,
            changed=decision.changed,
            suspects=tuple(
                {
                    "row": each.row,
                    "given": problem.classes[each.code],
                    "likely": problem.classes[each.likely],
                    "probability": each.probability,
                }
                for each in found.suspects
            ),
            never_predicted={
                name: each.expected
                for name, each in zip(
                    problem.classes[[each.code for each in found.never_predicted]].tolist(),
                    found.never_predicted,
                    strict=True,
                )
            }
            if found.never_predicted
            else {},
        )

    @property
    def luck(self) -> float:
        """Former name of ``selection_bias``."""
        warnings.warn(
            "SafeReport.luck is deprecated since 0.1 and will be removed in 0.2: use "
            "selection_bias.",
            FutureWarning,
            stacklevel=2,
        )
        return self.selection_bias

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, dicts, strings and numbers, ready for JSON."""
        plain = {
            name: value
            for name, value in vars(self).items()
            if name not in ("candidates", "differences", "notes", "suspects", "never_predicted")
        }
        plain = {
            name: None if isinstance(value, float) and not np.isfinite(value) else value
            for name, value in plain.items()
        }
        return plain | {
            "suspects": [
                dict(each, given=str(each["given"]), likely=str(each["likely"]))
                for each in self.suspects
            ],
            "never_predicted": {str(name): rows for name, rows in self.never_predicted.items()},
            "candidates": _records(self.candidates),
            "differences": _records(self.differences),
            "notes": list(self.notes),
        }

    def to_string(self) -> str:
        """Return the report as text: verdict, reason, table of candidates, and notes."""
        shown = self.candidates.copy()
        number = "{:.3f}".format
        shown["interval"] = [
            f"{low:.2f} to {high:.2f}" if np.isfinite(low) else ""
            for low, high in zip(shown["low"], shown["high"], strict=True)
        ]
        shown["params"] = [
            ", ".join(f"{key}={value}" for key, value in params.items())
            for params in shown["params"]
        ]
        columns = ["name", "kind", "status", "score", "se", "interval", "seconds", "params"]
        table = shown[columns].to_string(
            index=False,
            na_rep="",
            formatters={"score": number, "se": number, "seconds": "{:.2f}".format},
        )
        why = [f"- {reason}" for reason in shown["reason"] if reason]
        notes = [f"- {note}" for note in self.notes]
        head = [line for line in (self.verdict, self.reason) if line]
        return "\n".join([*head, "", table, *([""] if why or notes else []), *why, *notes])

    def __str__(self) -> str:
        return self.to_string()

    def _repr_html_(self) -> str:
        def share(value: float) -> str:
            return f"{value:.2f}" if np.isfinite(value) else ""

        best = self.candidates.sort_values("score", ascending=False, kind="stable")
        rows = [
            (
                Bold(row["name"]) if row["name"] == self.choice else row["name"],
                row["kind"],
                share(row["score"]),
                f"{row['low']:.2f} to {row['high']:.2f}" if np.isfinite(row["low"]) else "",
            )
            for row in best[best["status"] == TRIED].to_dict("records")
        ]
        header = ("method", "kind", self.scoring, "interval")
        return html_box(
            html_lines(self.verdict, strong=True),
            html_lines(self.reason),
            html_table(rows, header=header) if rows else "",
        )

    def __repr__(self) -> str:
        tried = int((self.candidates["status"] == TRIED).sum())
        return (
            f"SafeReport(choice={self.choice!r}, unlabeled_helped={self.unlabeled_helped!r}, "
            f"{tried} of {len(self.candidates)} candidates tried)"
        )


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dicts in which a missing number is None."""
    return [
        {
            str(key): None if isinstance(value, float) and not np.isfinite(value) else value
            for key, value in row.items()
        }
        for row in table.astype(object).to_dict("records")
    ]


def candidate_table(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """Bring the outcomes into the table of the report."""
    rows = []
    for outcome in outcomes:
        found = outcome.estimate
        rows.append(
            {
                "name": outcome.name,
                "kind": outcome.kind,
                "status": outcome.status,
                "score": found.value,
                "se": found.se,
                "low": found.low,
                "high": found.high,
                "seconds": outcome.seconds,
                "params": outcome.params,
                "reason": outcome.reason,
            }
        )
    return pd.DataFrame(rows)


def difference_table(differences: Sequence[Difference]) -> pd.DataFrame:
    """Bring the paired differences into the table of the report."""
    rows = []
    for each in differences:
        found = asdict(each.estimate)
        rows.append(
            {"name": each.name, "kind": each.kind, "difference": found.pop("value")} | found
        )
    return pd.DataFrame(rows, columns=["name", "kind", "difference", "se", "low", "high"])
