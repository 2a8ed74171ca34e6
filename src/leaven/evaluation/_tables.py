"""Tables of results as they are printed: mean ± standard error, the best in bold."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven._html import Bold, Italic, html_box, html_lines, html_table
from leaven.evaluation._trial_scores import trial_scores
from leaven.statistics import check_alpha, drop_rounding_noise, rank_rows, wilcoxon_test

MEAN_RANK = "mean rank"
MISSING = "–"
LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "±": r"$\pm$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}
PairTest = Callable[[NDArray[np.float64], NDArray[np.float64]], float]


@dataclass(frozen=True)
class SummaryTable:
    r"""Means of every method on every data set, and how to print them.

    Made by :func:`summary_table`.

    Parameters
    ----------
    means, standard_errors : DataFrame of shape (n_datasets, n_methods)
    n_trials : DataFrame of shape (n_datasets, n_methods)
        Number of finished trials.
    best : DataFrame of bool
        The best mean of each data set; several if they are equal.
    equivalent : DataFrame of bool
        Not the best, and not significantly different from it.
    mean_ranks : Series of shape (n_methods,)
        Over the data sets on which every method has a result; NaN if there is none.
    digits, error_digits : int
        Decimals of the means and of the standard errors.
    """

    means: pd.DataFrame
    standard_errors: pd.DataFrame
    n_trials: pd.DataFrame
    best: pd.DataFrame
    equivalent: pd.DataFrame
    mean_ranks: pd.Series
    digits: int
    error_digits: int

    @property
    def frame(self) -> pd.DataFrame:
        """The entries as text, without bold and italics, and the row of mean ranks."""
        return self._render(lambda text, best, equivalent: text)

    def to_markdown(self) -> str:
        """Render as a Markdown table: ``**best**``, ``*not significantly different*``."""

        def style(text: str, best: bool, equivalent: bool) -> str:
            return f"**{text}**" if best else f"*{text}*" if equivalent else text

        table = self._render(style)
        head = [escape_markdown(str(name)) for name in [table.index.name, *table.columns]]
        rule = ["---"] + ["---:"] * table.shape[1]
        body = [
            [escape_markdown(str(name)), *cells]
            for name, cells in zip(table.index, table.to_numpy().tolist(), strict=True)
        ]
        return "".join("| " + " | ".join(row) + " |\n" for row in [head, rule, *body])

    def to_latex(self, *, caption: str | None = None, label: str | None = None) -> str:
        r"""Render as a LaTeX table: ``\textbf{best}``, ``\textit{not significantly different}``.

        The rules are those of the package booktabs. Names are escaped; the caption is LaTeX
        and is not.

        Parameters
        ----------
        caption, label : str, optional
            With either of them the ``tabular`` stands in a ``table``.

        Returns
        -------
        str
        """

        def style(text: str, best: bool, equivalent: bool) -> str:
            text = escape_latex(text)
            return rf"\textbf{{{text}}}" if best else rf"\textit{{{text}}}" if equivalent else text

        table = self._render(style)
        head = [escape_latex(str(name)) for name in [table.index.name, *table.columns]]
        rows = [
            " & ".join([escape_latex(str(name)), *cells]) + r" \\"
            for name, cells in zip(table.index, table.to_numpy().tolist(), strict=True)
        ]
        if len(rows) > len(self.means):
            rows.insert(len(self.means), r"\midrule")  # the mean ranks stand apart
        lines = [
            rf"\begin{{tabular}}{{l{'r' * table.shape[1]}}}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
        ]
        if caption is not None or label is not None:
            lines = [r"\begin{table}", r"\centering", *lines]
            lines += [rf"\caption{{{caption}}}"] if caption is not None else []
            lines += [rf"\label{{{label}}}"] if label is not None else []
            lines += [r"\end{table}"]
        return "\n".join(lines) + "\n"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        def style(text: str, best: bool, equivalent: bool) -> str:
            return Bold(text) if best else Italic(text) if equivalent else text

        table = self._render(style)
        rows = [
            (name, *cells)
            for name, cells in zip(table.index, table.to_numpy().tolist(), strict=True)
        ]
        note = "bold: the best; italics: not significantly different from it"
        return html_box(
            html_table(rows, header=(table.index.name, *table.columns)), html_lines(note)
        )

    def _render(self, style: Callable[[str, bool, bool], str]) -> pd.DataFrame:
        cells = [
            [
                style(
                    self._cell(dataset, method),
                    bool(self.best.loc[dataset, method]),
                    bool(self.equivalent.loc[dataset, method]),
                )
                for method in self.means.columns
            ]
            for dataset in self.means.index
        ]
        index = list(self.means.index)
        if self.mean_ranks.notna().all() and len(index) > 1:
            ranks = self.mean_ranks
            cells.append([style(f"{rank:.2f}", rank == ranks.min(), False) for rank in ranks])
            index.append(MEAN_RANK)
        return pd.DataFrame(
            cells, index=pd.Index(index, name="dataset"), columns=self.means.columns, dtype=object
        )

    def _cell(self, dataset: Any, method: Any) -> str:
        mean = self.means.loc[dataset, method]
        error = self.standard_errors.loc[dataset, method]
        if pd.isna(mean):
            return MISSING
        text = f"{mean:.{self.digits}f}"
        return text if pd.isna(error) else f"{text} ± {error:.{self.error_digits}f}"


def summary_table(
    frame: pd.DataFrame,
    *,
    value: str | None = None,
    higher_is_better: bool = False,
    test: str | PairTest | None = "wilcoxon",
    alpha: float = 0.05,
    digits: int = 3,
    error_digits: int | None = None,
) -> SummaryTable:
    r"""Summarize a study: mean ± standard error of every method on every data set.

    The best mean of a data set is bold, and what is not significantly different from it
    italic, as in the tables of Saeed [1]_. The last row has the mean ranks.

    Parameters
    ----------
    frame : DataFrame
        Tidy results with the columns ``method``, ``trial`` and a score, and ``dataset`` and
        ``n_labeled`` if there are several; as :func:`leaven.evaluation.compare` gives.
    value : str, optional
        Column of the score; None is ``"aulc"`` if there is such a column and ``"error"``
        otherwise. Where a trial has several ``n_labeled``, its score is the area under the
        values on a log2 axis (AULC). Trials with an empty score, which failed, are left out.
    higher_is_better : bool, default=False
        False for errors, True for accuracies.
    test : {"wilcoxon", None} or callable, default="wilcoxon"
        Compares each method with the best one over the trials that both finished:
        :func:`wilcoxon_test`, nothing, or a function of two arrays that gives a p-value. A
        single common trial is not tested.
    alpha : float, default=0.05
        Level of the test.
    digits : int, default=3
        Decimals of the means.
    error_digits : int, optional
        Decimals of the standard errors; default one more than ``digits``.

    Returns
    -------
    table : SummaryTable
        With ``frame`` (text), ``means``, ``standard_errors``, ``mean_ranks``,
        ``to_markdown()``, ``to_latex()``. ``means`` is what :func:`friedman_test` takes.

    See Also
    --------
    wilcoxon_table : The p-values.
    leaven.plotting.plot_critical_difference : Mean ranks as a picture.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, tables 3.3 to 6.6.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.evaluation import summary_table
    >>> frame = pd.DataFrame({
    ...     "dataset": "iris",
    ...     "method": ["NB"] * 6 + ["SSNB"] * 6,
    ...     "trial": [*range(6), *range(6)],
    ...     "error": [0.30, 0.28, 0.31, 0.33, 0.27, 0.29, 0.25, 0.26, 0.27, 0.26, 0.24, 0.28],
    ... })
    >>> print(summary_table(frame).to_markdown())
    | dataset | NB | SSNB |
    | --- | ---: | ---: |
    | iris | 0.297 ± 0.0088 | **0.260 ± 0.0058** |
    """
    p_value = _pair_test(test, alpha)
    error_digits = digits + 1 if error_digits is None else error_digits
    for name, number in (("digits", digits), ("error_digits", error_digits)):
        if not isinstance(number, (int, np.integer)) or number < 0:
            raise ValueError(f"{name} must be a whole number of decimals, got {number!r}.")
    scores = trial_scores(frame, value)
    groups = scores.groupby(level="dataset", sort=False)
    means, counts = groups.mean(), groups.count()
    equal, equivalent = [], []
    for (_, group), row in zip(groups, means.to_numpy(), strict=True):
        best = _best(row, higher_is_better)
        equal.append(best)
        equivalent.append(
            np.zeros_like(best) if p_value is None else _like(group, best, p_value, alpha)
        )
    complete = means.dropna()
    ranks = np.full(means.shape[1], np.nan)
    if len(complete):
        ranks = rank_rows(complete.to_numpy(), higher_is_better).mean(axis=0)
    return SummaryTable(
        means=means,
        standard_errors=groups.sem(),
        n_trials=counts,
        best=pd.DataFrame(np.array(equal), index=means.index, columns=means.columns),
        equivalent=pd.DataFrame(np.array(equivalent), index=means.index, columns=means.columns),
        mean_ranks=pd.Series(ranks, index=means.columns),
        digits=digits,
        error_digits=error_digits,
    )


def escape_markdown(text: str) -> str:
    r"""Make ``text`` stand for itself in a cell of a Markdown table.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Examples
    --------
    >>> from leaven.evaluation import escape_markdown
    >>> print(escape_markdown("a|b *c*"))
    a\|b \*c\*
    """
    return re.sub(r"([\\`*_\[\]<>|~$#])", r"\\\1", text).replace("\n", " ")


def escape_latex(text: str) -> str:
    r"""Make ``text`` stand for itself in LaTeX.

    Examples
    --------
    >>> from leaven.evaluation._tables import escape_latex
    >>> print(escape_latex("50% of a_b"))
    50\% of a\_b
    """
    return "".join(LATEX_SPECIAL.get(character, character) for character in text)


def _pair_test(test: Any, alpha: float) -> PairTest | None:
    check_alpha(alpha)
    if test is None or callable(test):
        given: PairTest | None = test
        return given
    if test != "wilcoxon":
        raise ValueError(
            f"test must be 'wilcoxon', None or a function of two arrays that gives a p-value, "
            f"got {test!r}."
        )
    return lambda a, b: wilcoxon_test(a, b).p_value


def _best(means: NDArray[np.float64], higher_is_better: bool) -> NDArray[np.bool_]:
    """Mark the best mean, or the equal best ones; NaN is never the best."""
    if np.isnan(means).all():
        return np.zeros(len(means), dtype=bool)
    clean = drop_rounding_noise(means, float(np.nanmax(np.abs(means))))
    best = np.nanmax(clean) if higher_is_better else np.nanmin(clean)
    return np.asarray(clean == best)


def _like(
    group: pd.DataFrame, best: NDArray[np.bool_], p_value: PairTest, alpha: float
) -> NDArray[np.bool_]:
    """Mark what is not significantly different from the first of the best."""
    found = np.zeros_like(best)
    if not best.any():
        return found
    values = group.to_numpy(dtype=float)
    reference = values[:, np.argmax(best)]
    for column in np.flatnonzero(~best):
        both = np.isfinite(reference) & np.isfinite(values[:, column])
        if both.sum() > 1:
            found[column] = p_value(values[both, column], reference[both]) > alpha
    return found
