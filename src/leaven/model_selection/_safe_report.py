"""What the safe classifier found: estimates from few labels, the choice and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from leaven.model_selection._safe_candidates import SEMI_SUPERVISED, SUPERVISED
from leaven.model_selection._safe_folds import ROUNDING
from leaven.model_selection._safe_vote import VOTE

TRIED, SKIPPED, FAILED = "tried", "skipped", "failed"

LEAD = 2.0
"""Standard errors by which a single candidate must lead the vote, or be behind the best to lose
its vote. There are many of them, and the best of many is lucky: with one, accuracy fell."""

_Z = 1.959963984540054

_VISIBLE_LUCK = 0.005
"""Below this the luck is rounded away in a sentence, and not mentioned."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error and an interval of about 95 %."""

    value: float
    se: float
    low: float
    high: float


def estimate_share(right: NDArray[np.float64]) -> Estimate:
    r"""Estimate an accuracy from the share of repeats in which each row was right.

    With n rows and shares :math:`a_i`, one row that was right and one that was wrong are
    added for the error and the interval (the mean is reported as it is):

    .. math:: s^2 = \frac{1}{(n + 2)^2}
              \Big(\sum_i a_i^2 + 1 - \frac{(\sum_i a_i + 1)^2}{n + 2}\Big)

    Without them four rows, all right, would have an error of zero.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.model_selection._safe_report import estimate_share
    >>> found = estimate_share(np.ones(4))
    >>> found.value, round(found.se, 4), round(found.low, 3), found.high
    (1.0, 0.1521, 0.535, 1.0)
    """
    n, total, squares = len(right), float(right.sum()), float((right**2).sum())
    return _around(
        total / n, (total + 1) / (n + 2), squares + 1 - (total + 1) ** 2 / (n + 2), n + 2, (0, 1)
    )


def estimate_difference(difference: NDArray[np.float64]) -> Estimate:
    r"""Estimate the difference of two accuracies from the paired differences of the rows.

    To the table of rows that both, one, the other or none called right, half a row is added
    in each cell, as Agresti and Min (2005) do for matched pairs; with the differences
    :math:`d_i` of the shares

    .. math:: s^2 = \frac{1}{(n + 2)^2}
              \Big(\sum_i d_i^2 + 1 - \frac{(\sum_i d_i)^2}{n + 2}\Big).

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.model_selection._safe_report import estimate_difference
    >>> found = estimate_difference(np.array([0.5, 0.5, 0.5, 0.5]))
    >>> found.value, round(found.se, 4), round(found.low, 3), round(found.high, 3)
    (0.5, 0.1925, -0.044, 0.711)
    """
    n, total, squares = len(difference), float(difference.sum()), float((difference**2).sum())
    return _around(total / n, total / (n + 2), squares + 1 - total**2 / (n + 2), n + 2, (-1, 1))


def _around(
    value: float, center: float, squares: float, n: int, bounds: tuple[float, float]
) -> Estimate:
    se = float(np.sqrt(max(squares, 0.0)) / n)
    low, high = np.clip([center - _Z * se, center + _Z * se], *bounds)
    return Estimate(value, se, float(low), float(high))


def estimate_from_folds(scores: NDArray[np.float64], n_splits: int) -> Estimate:
    r"""Estimate a mean score, or a mean difference, from the scores of repeated folds.

    For scores that are no mean over rows. The folds share their training rows, which the
    corrected resampled variance of Nadeau and Bengio (2003) accounts for: with J scores of
    variance :math:`S^2` from k folds

    .. math:: s^2 = \Big(\frac{1}{J} + \frac{1}{k - 1}\Big) S^2 .

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.model_selection._safe_report import estimate_from_folds
    >>> found = estimate_from_folds(np.array([0.5, 0.7, 0.6, 0.6]), n_splits=2)
    >>> round(found.value, 3), round(found.se, 4)
    (0.6, 0.0913)
    """
    n = len(scores)
    value = float(scores.mean())
    se = float(np.sqrt((1 / n + 1 / (n_splits - 1)) * scores.var(ddof=1)))
    width = float(stats.t.ppf(0.975, n - 1)) * se
    return Estimate(value, se, value - width, value + width)


def results_without_luck(
    results: NDArray[np.float64], best: int, n_splits: int | None = None
) -> NDArray[np.float64]:
    r"""Results of the best candidate, drawn towards the mean of all as far as luck may reach.

    The score of the best of several candidates is too good: the luck of its rows made it the
    best. If all were equally good, the variance of their mean scores would be that of chance,
    :math:`v`, which their rows tell; it is :math:`s^2`. The share :math:`v / s^2` of what sets
    the best apart from the mean of all is expected to be luck (Efron and Morris, 1975); it is
    1 / F of the analysis of variance with rows as blocks:

    .. math:: \lambda = \min(1, v / s^2), \qquad
              (1 - \lambda) \, a_{\text{best}} + \lambda \, \bar a .

    Parameters
    ----------
    results : ndarray of shape (n_candidates, n_rows)
        Or one number a fold.
    best : int
        Place of the best candidate.
    n_splits : int, optional
        Folds of a repeat, if the results are those of folds, which share training rows.

    Returns
    -------
    ndarray of shape (n_rows,)

    Examples
    --------
    Two candidates that guess: chance explains all of the lead of the first.

    >>> import numpy as np
    >>> from leaven.model_selection._safe_report import results_without_luck
    >>> guesses = np.array([[1, 1, 1, 0, 1, 0, 1, 1], [0, 1, 0, 1, 0, 1, 1, 0.0]])
    >>> guesses.mean(axis=1), float(results_without_luck(guesses, 0).mean())
    (array([0.75, 0.5 ]), 0.625)
    """
    n_candidates, n = results.shape
    mean = results.mean(axis=0)
    apart = results - mean
    spread = float(apart.mean(axis=1).var(ddof=1)) if n_candidates > 1 else 0.0
    if n == 1 or spread <= ROUNDING**2:
        return np.asarray(results[best])
    per_mean = 1 / n if n_splits is None else 1 / n + 1 / (n_splits - 1)
    chance = float(apart.var(axis=1, ddof=1).sum()) / (n_candidates - 1) * per_mean
    share = min(1.0, chance / spread)
    return np.asarray(share * mean + (1.0 - share) * results[best])


@dataclass(frozen=True)
class Outcome:
    """What became of one candidate; ``results`` holds a number a row, or one a fold."""

    name: str
    kind: str
    status: str
    reason: str = ""
    results: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    estimate: Estimate = Estimate(np.nan, np.nan, np.nan, np.nan)
    params: dict[str, Any] | None = None
    seconds: float = 0.0
    probabilities: NDArray[Any] | None = None
    """Of the held-out rows, of shape (n_repeats, n_tested, n_classes)."""


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
        luck of the best supervised one is taken off first (see ``luck``), and that of the best
        of them too if there is no vote.
    choice : str
        Name of the candidate taken.
    kind : {"supervised", "semi-supervised"}
        Its kind.
    unlabeled_helped : {"yes", "no", "cannot tell"}
        "yes" if the best semi-supervised candidate is better than the best supervised one by
        more than ``caution`` standard errors, "no" if it is not better at all, and "cannot
        tell" in between or where there was nothing to compare.
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
    luck : float
        By how much the score of the best supervised candidate is expected to be too good
        because it is the best of several.
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
    luck: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, dicts, strings and numbers, ready for JSON."""
        plain = {
            name: value
            for name, value in vars(self).items()
            if name not in ("candidates", "differences", "notes")
        }
        return plain | {
            "candidates": _records(self.candidates),
            "differences": _records(self.differences),
            "notes": list(self.notes),
        }

    def to_string(self) -> str:
        """Return the report as text: the reason, the table of candidates, and the notes."""
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
        return "\n".join([self.reason, "", table, *([""] if why or notes else []), *why, *notes])

    def __str__(self) -> str:
        return self.to_string()

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


@dataclass(frozen=True)
class Decision:
    """Which candidate to take, and the reason."""

    choice: str
    unlabeled_helped: str
    reason: str
    best_supervised: str | None
    best_semi_supervised: str | None
    differences: pd.DataFrame
    luck: float = 0.0


def decide(outcomes: Sequence[Outcome], n_splits: int, caution: float, by_row: bool) -> Decision:
    """Take the best candidate, or the best supervised one if the gain is within its error.

    ``outcomes`` stand in order of preference, which settles equal scores; those that were not
    tried do not count. The vote, where there is one, stands for all that use unlabeled rows,
    unless one of them leads it by more than two standard errors. The gain is that over the best
    supervised candidate without the luck of having been best.
    """
    tried = [outcome for outcome in outcomes if outcome.status == TRIED]
    supervised = _best(tried, SUPERVISED)
    semi = _best(tried, SEMI_SUPERVISED)
    vote = next((outcome for outcome in tried if outcome.name == VOTE), None)
    if vote is not None and semi is not None:
        lead = compare(semi, vote, n_splits, by_row)
        semi = semi if lead.value > LEAD * lead.se else vote
    first = None if supervised is None else supervised.name
    second = None if semi is None else semi.name
    if supervised is None or semi is None:
        chosen = semi if supervised is None else supervised
        assert chosen is not None
        other = SUPERVISED if supervised is None else SEMI_SUPERVISED
        reason = (
            f"Whether the unlabeled rows helped cannot be told: no {other} candidate was tried. "
            f"Of the others, {chosen.name} is best with {chosen.estimate.value:.2f}."
        )
        return Decision(
            chosen.name, "cannot tell", reason, first, second, pair_table([], 0, by_row)
        )
    baseline = _without_luck(supervised, tried, n_splits, by_row)
    # The vote is not chosen, and whoever leads it does so by more than luck.
    rival = semi if vote is not None else _without_luck(semi, tried, n_splits, by_row)
    differences = pair_table(
        [
            (rival if outcome is semi else outcome, baseline)
            if outcome.kind == SEMI_SUPERVISED
            else (outcome, supervised)
            for outcome in tried
            if outcome is not supervised
        ],
        n_splits,
        by_row,
    )
    gain = compare(rival, baseline, n_splits, by_row)
    numbers = (
        f"{semi.name} {semi.estimate.value:.2f}{_told(semi, rival)} against "
        f"{supervised.estimate.value:.2f} of {supervised.name}{_told(supervised, baseline)}"
    )
    verdict, reason = _judge(gain, caution, numbers, supervised.name)
    choice = semi.name if verdict == "yes" else supervised.name
    luck = _luck(supervised, baseline)
    return Decision(choice, verdict, reason, first, second, differences, luck)


def _judge(gain: Estimate, caution: float, numbers: str, supervised: str) -> tuple[str, str]:
    """Say whether the unlabeled rows helped, in a word and in a sentence."""
    size = f"{gain.value:.2f} ± {gain.se:.2f}"
    if gain.value > 0 and gain.value > caution * gain.se:
        return "yes", f"The unlabeled rows helped: {numbers}, a gain of {size}."
    if gain.value > 0:
        return "cannot tell", (
            f"Whether the unlabeled rows helped cannot be told: {numbers}, a gain of {size}, is "
            f"within {caution:g} standard errors. So {supervised} is used, which does without them."
        )
    return "no", (
        f"The unlabeled rows did not help: {numbers}, a difference of {size}. So {supervised} is "
        "used."
    )


def _without_luck(best: Outcome, tried: Sequence[Outcome], n_splits: int, by_row: bool) -> Outcome:
    """The best of its kind, with results freed of the luck of having been best."""
    rivals = [outcome for outcome in tried if outcome.kind == best.kind]
    results = np.stack([outcome.results for outcome in rivals])
    place = next(i for i, outcome in enumerate(rivals) if outcome is best)
    return replace(best, results=results_without_luck(results, place, None if by_row else n_splits))


def _luck(best: Outcome, without: Outcome) -> float:
    return best.estimate.value - float(without.results.mean())


def _told(best: Outcome, without: Outcome) -> str:
    """What a sentence says of the luck, or nothing if it is too little to see."""
    if _luck(best, without) < _VISIBLE_LUCK:
        return ""
    return f" ({without.results.mean():.2f} without the luck of having been best)"


def compare(first: Outcome, second: Outcome, n_splits: int, by_row: bool) -> Estimate:
    """Estimate the paired difference of two candidates on the same folds."""
    difference = first.results - second.results
    return estimate_difference(difference) if by_row else estimate_from_folds(difference, n_splits)


def voters_among(tried: Sequence[Outcome], n_splits: int, by_row: bool) -> set[str]:
    """Names of the candidates that are not clearly worse than the best."""
    best = max(tried, key=lambda outcome: outcome.estimate.value)
    names = set()
    for outcome in tried:
        behind = compare(best, outcome, n_splits, by_row)
        if behind.value <= LEAD * behind.se:
            names.add(outcome.name)
    return names


def _best(outcomes: Sequence[Outcome], kind: str) -> Outcome | None:
    best: Outcome | None = None
    for outcome in outcomes:
        if outcome.kind != kind:
            continue
        if best is None or outcome.estimate.value > best.estimate.value + ROUNDING:
            best = outcome
    return best


def pair_table(
    pairs: Sequence[tuple[Outcome, Outcome]], n_splits: int, by_row: bool
) -> pd.DataFrame:
    rows = []
    for first, second in pairs:
        found = asdict(compare(first, second, n_splits, by_row))
        rows.append(
            {"name": first.name, "kind": first.kind, "difference": found.pop("value")} | found
        )
    return pd.DataFrame(rows, columns=["name", "kind", "difference", "se", "low", "high"])


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
                "params": outcome.params or {},
                "reason": outcome.reason,
            }
        )
    return pd.DataFrame(rows)
