"""A study of the candidates on the labels of one table, part of which are hidden."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from leaven._labels import UNLABELED
from leaven.base import TransductionMixin, class_probabilities
from leaven.evaluation import (
    DrawProtocol,
    Split,
    compare,
    escape_markdown,
    nemenyi_test,
    random_order,
    summary_table,
)
from leaven.tables._errors import TableError
from leaven.tables._frames import split_target
from leaven.tables._options import LabelingOptions, make_options, refuse_options
from leaven.tables._prepared_table import prepare_table
from leaven.tables._select import (
    PreparedRows,
    select_for_table,
    table_candidates,
    table_problem,
)

_ALPHA = 0.05
"""Level of the tests, the usual one."""

_NOT_COMPARED = ("method", "time_limit", "ask")
"""Options that a comparison has no use for."""


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
        if not 0.0 < self.hidden < 1.0:
            raise ValueError(f"hidden must be a share between 0 and 1, got {self.hidden!r}.")

    def split(self, codes: NDArray[np.intp], trial: int, *, continuous: bool = False) -> Split:
        """Rows of a trial, from the class codes of all rows."""
        none: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        rows = random_order(len(codes), self.seed, trial, 0)
        kept = np.zeros(len(codes), dtype=bool)
        for code in np.unique(codes):
            own = np.flatnonzero(codes[rows] == code)
            n_hidden = min(max(1, math.floor(self.hidden * len(own))), len(own) - 1)
            kept[own[n_hidden:]] = True
        return Split(np.concatenate([rows[kept], rows[~kept]]), (int(kept.sum()),), none, none)


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
                "this table, overstate how clearly, and say nothing of other tables.",
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


def accuracy_text(row: Mapping[Any, Any]) -> str:
    """Write a mean accuracy and its standard error as percentages.

    Parameters
    ----------
    row : mapping
        Of ``TableComparison.table``, with ``accuracy`` and ``standard_error``.

    Returns
    -------
    str

    Examples
    --------
    >>> from leaven.tables import accuracy_text
    >>> accuracy_text({"accuracy": 0.875, "standard_error": 0.0213})
    '87.5 ± 2.1'
    """
    error = row["standard_error"]
    text = f"{100 * row['accuracy']:.1f}"
    return text if not np.isfinite(error) else f"{text} ± {100 * error:.1f}"


def compare_table(
    table: Any,
    target: Any,
    options: LabelingOptions | None = None,
    *,
    n_trials: int = 20,
    hide: float = 0.5,
    vectors: Any = None,
    **changes: Any,
) -> TableComparison:
    """Compare the candidates on the labels of a table, part of which is hidden again and again.

    Parameters
    ----------
    table : DataFrame of pandas or polars, or Table of pyarrow
    target : column name, or array-like of shape (n_rows,)
        All rows may have a label here.
    options : LabelingOptions, optional
        Those of :func:`label_table`; ``method``, ``time_limit`` and ``ask`` have no meaning
        here.
    n_trials : int, default=20
        Draws of the labels to hide.
    hide : float, default=0.5
        Share of the labels of each class that is hidden.
    vectors : array-like of shape (n_rows, n_dimensions) or path, optional
        A vector for each row, to learn from beside the columns.
    **changes
        Any of the fields of :class:`LabelingOptions` by name, such as ``candidates``.

    Returns
    -------
    TableComparison

    See Also
    --------
    label_table : Labels the table.
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
    options = make_options(options, changes, needed_by="compare_table")
    refuse_options(options, _NOT_COMPARED, needed_by="compare_table")
    if isinstance(n_trials, bool) or not isinstance(n_trials, int) or n_trials < 1:
        raise TableError(f"The number of trials must be 1 or more, got {n_trials!r}.")
    if not 0.0 < hide < 1.0:
        raise TableError(f"The share of labels to hide must be between 0 and 1, got {hide!r}.")
    table, target = split_target(table, target)
    prepared = prepare_table(table, target, options, needs_unlabeled=False, vectors=vectors)
    labels, rows = prepared.labels, prepared.rows
    if np.bincount(labels.codes[labels.given]).max() < 2:
        raise TableError(
            f"No class of {str(target)!r} has two labels: there is none to hide. Label more rows."
        )
    problem, _ = table_problem(
        rows, _one_hidden(labels.codes), len(labels.classes), options, prepared.prior
    )
    candidates = table_candidates(problem, options.candidates)
    kinds = {each.name: each.kind for each in candidates if each.skipped is None}
    left_out = {each.name: each.skipped for each in candidates if each.skipped is not None}
    if not kinds:
        raise TableError(f"No candidate fits the table. {' '.join(left_out.values())}")
    others = rows.Z[np.flatnonzero(~labels.given)]
    protocol = HideProtocol("hide", seed=options.random_state, hidden=hide, n_trials=n_trials)
    shared = replace(rows, Z=None)
    results = compare(
        {
            name: TableMethod(
                name,
                rows=shared,
                more_rows=others if others.shape[0] else None,
                prior=prepared.prior,
                random_state=options.random_state,
            )
            for name in kinds
        },
        {str(target): (rows.Z[np.flatnonzero(labels.given)], labels.codes[labels.given])},
        protocol=protocol,
        n_jobs=options.n_jobs,
        progress=options.progress,
    )
    failed = results[results["status"] != "ok"]
    for name, message in zip(failed["method"], failed["message"], strict=True):
        left_out.setdefault(name, f"{name} failed: {str(message).splitlines()[0]}")
    results = results[~results["method"].isin(failed["method"])]
    if not len(results):
        raise TableError(f"No candidate could be fitted. {' '.join(left_out.values())}")
    return _summarized(results, kinds, left_out, labels, protocol)


class TableMethod(TransductionMixin, BaseEstimator):
    """One method on prepared rows, as an estimator for :func:`leaven.evaluation.compare`.

    Parameters
    ----------
    method : str
    rows : PreparedRows
        What is known of the rows; those themselves come with ``fit``.
    more_rows : matrix of shape (n_more, n_features), optional
        Further unlabeled rows to learn from.
    prior : {"labeled", "uniform"}, array of shape (n_classes,) or None, default="labeled"
    random_state : int, default=0
    """

    def __init__(
        self,
        method: str,
        *,
        rows: PreparedRows,
        more_rows: Any = None,
        prior: Any = "labeled",
        random_state: Any = 0,
    ) -> None:
        self.method = method
        self.rows = rows
        self.more_rows = more_rows
        self.prior = prior
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> TableMethod:
        """Fit the method on all rows, and keep the answer for those of ``X``."""
        X, codes = self._validate_fit(X, y, accept_sparse="csr", dtype=np.float32, order="C")
        Z, known = X, codes
        if self.more_rows is not None:
            stack = sparse.vstack if sparse.issparse(X) else np.vstack
            Z = stack([X, self.more_rows])
            known = np.full(Z.shape[0], UNLABELED, dtype=np.intp)
            known[: len(codes)] = codes
        if sparse.issparse(Z):
            Z = Z.tocsr()
        options = LabelingOptions(method=self.method, random_state=self.random_state)
        found = select_for_table(
            replace(self.rows, Z=Z), known, len(self.classes_), options, self.prior
        )
        self.estimator_ = found.selection.fitted.estimator
        self._store_transduction(found.probabilities[: len(codes)], codes)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities of new rows."""
        return class_probabilities(self.estimator_, X)


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
