"""From the tidy frame of a study to one number for each trial and method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leaven.evaluation._schedule import aulc


def trial_scores(frame: pd.DataFrame, value: str | None = None) -> pd.DataFrame:
    """Give one score for each trial of each data set, one column a method.

    Parameters
    ----------
    frame : DataFrame
        Tidy results with the columns ``method``, ``trial`` and the score; ``dataset`` and
        ``n_labeled`` if there are several.
    value : str, optional
        The column to take; None is ``"aulc"`` if there is such a column and ``"error"``
        otherwise. Where a trial has several ``n_labeled``, its score is the area under the
        values on a log2 axis.

    Returns
    -------
    scores : DataFrame
        Index ``dataset`` and ``trial``, columns the methods, all in order of appearance; NaN
        where a method has no complete result.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.evaluation import trial_scores
    >>> frame = pd.DataFrame({"method": "NB", "trial": [0, 0, 0, 1, 1, 1],
    ...                       "n_labeled": [1, 2, 4] * 2, "error": [5, 3, 1, 5, 4, 2]})
    >>> trial_scores(frame)["NB"].tolist()
    [6.0, 7.5]
    """
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(
            f"frame must be a pandas DataFrame of tidy results, got {type(frame).__name__}."
        )
    if value is None:
        value = "aulc" if "aulc" in frame.columns else "error"
    missing = [name for name in ("method", "trial", value) if name not in frame.columns]
    if missing:
        raise ValueError(
            f"frame has no column {missing[0]!r}; its columns are {list(frame.columns)}. It "
            "needs method, trial and the score that value names."
        )
    if frame.empty:
        raise ValueError("frame has no rows, so there is nothing to compare.")
    table = frame if "dataset" in frame.columns else frame.assign(dataset="")
    keys = ["dataset", "trial", "method"]
    if table[keys].isna().to_numpy().any():
        raise ValueError("frame has empty entries in dataset, trial or method.")
    if table.duplicated(keys).any() and "n_labeled" in table.columns:
        series = _areas(table, keys, value)
    elif table.duplicated(keys).any():
        twice = table.loc[table.duplicated(keys), keys].iloc[0].tolist()
        raise ValueError(
            f"frame has several rows for dataset, trial, method = {twice}, and no column "
            "n_labeled to tell them apart."
        )
    else:
        series = table.set_index(keys)[value].astype(float)
    scores = series.unstack("method")  # noqa: PD010 (every entry is there once)
    order = pd.MultiIndex.from_frame(table[["dataset", "trial"]].drop_duplicates())
    return scores.reindex(index=order, columns=pd.unique(table["method"]))


def _areas(table: pd.DataFrame, keys: list[str], value: str) -> pd.Series:
    """Area under every learning curve; NaN for one that lacks a size others of its trial have."""
    if table.duplicated([*keys, "n_labeled"]).any():
        twice = table.loc[table.duplicated([*keys, "n_labeled"]), [*keys, "n_labeled"]]
        raise ValueError(
            "frame has several rows for dataset, trial, method, n_labeled = "
            f"{twice.iloc[0].tolist()}."
        )
    n_sizes = table.groupby(keys[:2], sort=False)["n_labeled"].nunique().to_dict()
    areas: dict[Any, float] = {}
    for key, curve in table.sort_values("n_labeled").groupby(keys, sort=False):
        complete = len(curve) == n_sizes[key[:2]]
        values = curve[value].to_numpy(dtype=float)
        areas[key] = values[0] if len(curve) == 1 else aulc(curve["n_labeled"], values)
        areas[key] = areas[key] if complete else np.nan
    return pd.Series(areas).rename_axis(keys)
