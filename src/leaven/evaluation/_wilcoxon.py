"""Wilcoxon's signed rank test of every pair of methods in a study."""

from __future__ import annotations

import itertools
from typing import Any

import pandas as pd

from leaven.evaluation._trial_scores import trial_scores
from leaven.statistics import wilcoxon_test

ALL_DATASETS = "all data sets"


def wilcoxon_table(
    frame: pd.DataFrame,
    *,
    value: str | None = None,
    higher_is_better: bool = False,
    alpha: float = 0.05,
    zeros: str = "split",
) -> pd.DataFrame:
    """Test every pair of methods on every data set over trials, and over the data sets.

    Parameters
    ----------
    frame : DataFrame
        Tidy results: the columns ``method``, ``trial`` and a score, and ``dataset`` if there
        are several. With several ``n_labeled`` per trial the score is the area under its
        learning curve.
    value : str, optional
        Name of the score; see :func:`summary_table`.
    higher_is_better : bool, default=False
    alpha : float, default=0.05
    zeros : {"split", "drop"}, default="split"
        As in :func:`wilcoxon_test`.

    Returns
    -------
    table : DataFrame
        One row per data set and pair, with the columns ``dataset``, ``method_a``, ``method_b``,
        ``mean_a``, ``mean_b``, ``n_pairs``, ``statistic``, ``p_value``, ``direction``,
        ``better``: the names of the method with the better ranks, and of the one that is
        better at the level ``alpha``, or an empty string. With several data sets the rows
        "all data sets" compare the means of every data set. Trials that one of the two methods
        did not finish are left out; a pair without a common trial has no row.

    See Also
    --------
    wilcoxon_test : The test of one pair.
    summary_table : The same verdicts as bold and italic type.

    Notes
    -----
    The p-values are not corrected for the number of pairs. Trials that draw from the same rows
    are not independent, and the test over them is too sure of itself; what it says is about
    this data set and not about others.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.evaluation import wilcoxon_table
    >>> frame = pd.DataFrame({
    ...     "method": ["NB"] * 6 + ["SSNB"] * 6,
    ...     "trial": [*range(6), *range(6)],
    ...     "error": [0.30, 0.28, 0.31, 0.33, 0.27, 0.29, 0.25, 0.26, 0.27, 0.26, 0.24, 0.28],
    ... })
    >>> wilcoxon_table(frame)[["method_a", "method_b", "p_value", "better"]]
      method_a method_b  p_value better
    0       NB     SSNB  0.03125   SSNB
    """
    scores = trial_scores(frame, value)
    options: dict[str, Any] = {"higher_is_better": higher_is_better, "alpha": alpha, "zeros": zeros}
    samples = [(name, group.droplevel("dataset")) for name, group in _by_dataset(scores)]
    if len(samples) > 1:
        means = pd.DataFrame({name: group.mean() for name, group in samples}).T
        samples.append((ALL_DATASETS, means[scores.columns]))
    rows = []
    for dataset, group in samples:
        for a, b in itertools.combinations(scores.columns, 2):
            both = group[[a, b]].dropna()
            if both.empty:
                continue
            result = wilcoxon_test(both[a], both[b], **options)
            names = {"a": a, "b": b, "none": ""}
            rows.append(
                {
                    "dataset": dataset,
                    "method_a": a,
                    "method_b": b,
                    "mean_a": both[a].mean(),
                    "mean_b": both[b].mean(),
                    "n_pairs": result.n_pairs,
                    "statistic": result.statistic,
                    "p_value": result.p_value,
                    "direction": names[result.direction],
                    "better": names[result.verdict],
                }
            )
    if not rows:
        raise ValueError(
            f"frame has nothing to compare: methods {list(scores.columns)} in "
            f"{len(scores)} trials. Give at least two methods with a common trial."
        )
    return pd.DataFrame(rows)


def _by_dataset(scores: pd.DataFrame) -> list[tuple[Any, pd.DataFrame]]:
    return list(scores.groupby(level="dataset", sort=False))
