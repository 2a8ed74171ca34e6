"""The numbers that the sources print, as facts in small tables beside this file."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd


@cache
def read_published(name: str) -> pd.DataFrame:
    """A table of this folder, all columns as text but the numbers."""
    path = Path(__file__).with_name(f"{name}.csv")
    frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
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
