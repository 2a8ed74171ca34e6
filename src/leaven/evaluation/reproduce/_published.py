"""The numbers that the sources print, as facts in small tables that come with leaven."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from io import StringIO

import pandas as pd


@cache
def read_published(name: str) -> pd.DataFrame:
    """A table of ``leaven/evaluation/published``, all columns as text but the numbers."""
    text = (files("leaven.evaluation") / "published" / f"{name}.csv").read_text(encoding="utf-8")
    frame = pd.read_csv(StringIO(text), dtype=str, keep_default_na=False)
    numbers = [column for column in ("mean", "se", "value") if column in frame.columns]
    return frame.astype(dict.fromkeys(numbers, float))


def published_areas(number: str) -> pd.DataFrame:
    """Areas under learning curves in one table of S1.

    Returns
    -------
    DataFrame
        Index ``dataset`` and ``method``, columns ``mean`` and ``se``.
    """
    frame = read_published("aulc")
    rows = frame[frame["table"] == number]
    return rows.set_index(["dataset", "method"])[["mean", "se"]]
