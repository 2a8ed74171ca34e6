"""A study of the candidates on the labels of one table, part of which are hidden."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven._labels import UNLABELED
from leaven.evaluation import DrawProtocol, Split, compare, nemenyi_test, summary_table
from leaven.evaluation._protocol import NO_ROWS, check_share, random_order
from leaven.evaluation._tables import escape_markdown
from leaven.tables._choose import TableClassifier
from leaven.tables._errors import TableError
from leaven.tables._kinds import TEXT
from leaven.tables._label import check_columns, check_prior
from leaven.tables._methods import AUTO, check_methods
from leaven.tables._prepare import TablePreparer
from leaven.tables._target import encode_target

_ALPHA = 0.05


@dataclass(frozen=True)
class HideProtocol(DrawProtocol):
    """Hide a share of the labels of each class, drawn again in each trial, and test on them.

    Parameters
    ----------
    name : str
    seed, n_trials : int
    hidden : float, default=0.5
        Share of the labels of each class that is hidden; at least one stays, and of two or
        more at least one is hidden.
    """

    kind: ClassVar[str] = "hide"
    hidden: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("hidden", self.hidden)

    def split(self, codes: NDArray[np.intp], trial: int, *, continuous: bool = False) -> Split:
        """Rows of a trial, from the class codes of all rows."""
        rows = random_order(len(codes), self.seed, trial, 0)
        kept = np.zeros(len(codes), dtype=bool)
        for code in np.unique(codes):
            own = np.flatnonzero(codes[rows] == code)
            n_hidden = min(max(1, math.floor(self.hidden * len(own))), len(own) - 1)
            kept[own[n_hidden:]] = True
        return Split(
            np.concatenate([rows[kept], rows[~kept]]), (int(kept.sum()),), NO_ROWS, NO_ROWS
        )


@dataclass(frozen=True, eq=False)
class TableComparison:
    """How the candidates did on labels of a table that were hidden from them.

    Parameters
    ----------
    table : DataFrame
        One row for each candidate, the best first: ``method``, ``kind``, ``accuracy`` (mean
        over the draws), ``standard_error``, ``mean_rank``, ``best``, and ``like_best`` (not
        significantly different from the best by Wilcoxon's test over the draws).
    results : DataFrame
        One row for each candidate and draw, as :func:`leaven.evaluation.compare` gives.
    critical_difference : float
        Of the mean ranks, by Nemenyi's test at the level 0.05 with the draws as blocks.
    groups : list of tuple of str
        Candidates that do not differ by that test.
    n_trials, n_labeled, n_kept : int
        Draws, labels of the table, and labels that the candidates saw in a draw.
    n_unlabeled : int
        Rows of the table without a label, which every candidate may learn from.
    left_out : dict of str to str
        Candidates that were not tried or failed, and why.
    notes : list of str
    """

    table: pd.DataFrame
    results: pd.DataFrame
    critical_difference: float
    groups: list[tuple[str, ...]]
    n_trials: int
    n_labeled: int
    n_kept: int
    n_unlabeled: int
    left_out: dict[str, str]
    notes: list[str]

    def explain(self) -> list[str]:
        """Say what the numbers mean, a sentence each."""
        lines = [
            f"Accuracy on the hidden ones of {self.n_labeled:,} labels, mean ± standard error over "
            f"{self.n_trials} draws; {self.n_kept:,} labels were seen in each, and "
            f"{self.n_unlabeled:,} rows without a label."
        ]
        if np.isfinite(self.critical_difference):
            lines += [
                f"Critical difference of the mean ranks (Nemenyi, {_ALPHA:g}, the draws as "
                f"blocks): {self.critical_difference:.2f}.",
                *(f"Not different: {', '.join(group)}." for group in self.groups if group[1:]),
                "The draws share the rows of one table: the tests say which method is better on "
                "this table, are too sure of it, and say nothing of other tables.",
            ]
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        plain = {
            name: value for name, value in vars(self).items() if name not in ("table", "results")
        }
        critical = self.critical_difference
        return plain | {
            "critical_difference": critical if np.isfinite(critical) else None,
            "groups": [list(group) for group in self.groups],
            "table": json.loads(self.table.to_json(orient="records")),
            "results": json.loads(self.results.to_json(orient="records")),
        }

    def to_markdown(self) -> str:
        """Render as a Markdown table with the best in bold and what is like it in italics."""
        lines = ["| method | kind | accuracy | mean rank |", "| --- | --- | ---: | ---: |"]
        for row in self.table.to_dict("records"):
            mark = "**" if row["best"] else "*" if row["like_best"] else ""
            number = f"{mark}{accuracy_text(row)}{mark}"
            name = escape_markdown(str(row["method"]))
            lines.append(f"| {name} | {row['kind']} | {number} | {row['mean_rank']:.2f} |")
        rest = [f"Left out: {name} ({reason})" for name, reason in self.left_out.items()]
        remarks = [f"- {line}" for line in [*self.explain(), *rest, *self.notes]]
        return "\n".join([*lines, "", *remarks]) + "\n"


def accuracy_text(row: dict[Any, Any]) -> str:
    """Write the mean and its error as percentages."""
    error = row["standard_error"]
    text = f"{100 * row['accuracy']:.1f}"
    return text if not np.isfinite(error) else f"{text} ± {100 * error:.1f}"


def compare_table(
    table: pd.DataFrame,
    target: Hashable,
    *,
    text: Hashable | Collection[Hashable] | None = None,
    candidates: Collection[str] | None = None,
    n_trials: int = 20,
    hide: float = 0.5,
    prior: Any = "labeled",
    missing: Collection[str] = (),
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> TableComparison:
    """Compare the candidates on the labels of a table, part of which is hidden again and again.

    Parameters
    ----------
    table : DataFrame
    target : column name
        All rows may have a label here.
    text : column name or collection of them, optional
    candidates : collection of str, optional
        None stands for all that fit the size of the table.
    n_trials : int, default=20
        Draws of the labels to hide.
    hide : float, default=0.5
        Share of the labels of each class that is hidden.
    prior : {"labeled", "uniform"}, dict, array or None, default="labeled"
    missing : collection of str, default=()
    random_state : int, default=0
    n_jobs : int, optional
    progress : bool, default=False

    Returns
    -------
    TableComparison

    See Also
    --------
    label_table : Labels the table; the other parameters are explained there.
    leaven.evaluation.compare : Many data sets.

    Examples
    --------
    >>> from leaven.datasets import load_example
    >>> from leaven.tables import compare_table
    >>> found = compare_table(
    ...     load_example("orchard"), "variety",
    ...     candidates=["logistic-regression", "harmonic"], n_trials=6,
    ... )
    >>> found.table["method"].tolist()
    ['harmonic', 'logistic-regression']
    """
    check_methods(AUTO, candidates)
    if isinstance(n_trials, bool) or not isinstance(n_trials, int) or n_trials < 1:
        raise TableError(f"The number of trials must be 1 or more, got {n_trials!r}.")
    if not 0.0 < hide < 1.0:
        raise TableError(f"The share of labels to hide must be between 0 and 1, got {hide!r}.")
    features, texts = check_columns(table, target, text)
    labels = encode_target(table[target], missing=missing, needs_unlabeled=False)
    counts = np.bincount(labels.codes[labels.given])
    if counts.max() < 2:
        raise TableError(
            f"No class of {str(target)!r} has two labels: there is none to hide. Label more rows."
        )
    preparer = TablePreparer(text=texts, weigh=False, random_state=random_state)
    Z = preparer.fit_transform(features)
    model = TableClassifier(
        preparer.layout_,
        candidates=None if candidates is None else list(candidates),
        metric=preparer.metric_,
        has_text=any(kind.kind == TEXT for kind in preparer.kinds_),
        prior=check_prior(prior, labels),
        random_state=random_state,
    )
    kinds, left_out = model.usable(Z, _one_hidden(labels.codes))
    if not kinds:
        raise TableError(f"No candidate fits the table. {' '.join(left_out.values())}")
    others = Z[np.flatnonzero(~labels.given)]
    model.set_params(candidates=None, more_rows=others if others.shape[0] else None)
    protocol = HideProtocol("hide", seed=random_state, hidden=hide, n_trials=n_trials)
    rows, codes = Z[np.flatnonzero(labels.given)], labels.codes[labels.given]
    results = compare(
        {
            name: TableClassifier(**{**model.get_params(deep=False), "method": name})
            for name in kinds
        },
        {str(target): (rows, codes)},
        protocol=protocol,
        n_jobs=n_jobs,
        progress=progress,
    )
    failed = results[results["status"] != "ok"]
    for name, message in zip(failed["method"], failed["message"], strict=True):
        left_out.setdefault(name, f"{name} failed: {str(message).splitlines()[0]}")
    results = results[~results["method"].isin(failed["method"])]
    if not len(results):
        raise TableError(f"No candidate could be fitted. {' '.join(left_out.values())}")
    return _summarized(results, kinds, left_out, labels, protocol)


def _one_hidden(codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Codes with an unlabeled row, as in each draw, whether the table has one or not."""
    codes = codes.copy()
    counts = np.bincount(codes[codes != UNLABELED])
    codes[np.flatnonzero(codes == counts.argmax())[0]] = UNLABELED
    return codes


def _summarized(
    results: pd.DataFrame,
    kinds: dict[str, str],
    left_out: dict[str, str],
    labels: Any,
    protocol: HideProtocol,
) -> TableComparison:
    found = summary_table(results, value="accuracy", higher_is_better=True)
    scores = results.pivot_table(index="trial", columns="method", values="accuracy")
    critical, groups, ranks = np.nan, [], scores.rank(axis=1, ascending=False).mean()
    if scores.shape[1] > 1 and len(scores) > 1:
        test = nemenyi_test(scores, higher_is_better=True, alpha=_ALPHA)
        critical, groups, ranks = test.critical_difference, list(test.groups), test.mean_ranks
    methods = [name for name in kinds if name in found.means.columns]
    table = pd.DataFrame(
        {
            "method": methods,
            "kind": [kinds[name] for name in methods],
            "accuracy": found.means.iloc[0][methods].to_numpy(),
            "standard_error": found.standard_errors.iloc[0][methods].to_numpy(),
            "mean_rank": ranks[methods].to_numpy(),
            "best": found.best.iloc[0][methods].to_numpy(),
            "like_best": found.equivalent.iloc[0][methods].to_numpy(),
        }
    )
    return TableComparison(
        table=table.sort_values("accuracy", ascending=False, kind="stable", ignore_index=True),
        results=results.reset_index(drop=True),
        critical_difference=float(critical),
        groups=groups,
        n_trials=protocol.n_trials,
        n_labeled=int(labels.given.sum()),
        n_kept=int(results["n_labeled"].iloc[0]),
        n_unlabeled=int((~labels.given).sum()),
        left_out=left_out,
        notes=list(labels.notes),
    )
