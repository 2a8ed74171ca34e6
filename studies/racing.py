"""Searches whose losers stop early: racing (Maron and Moore, 1994).

Saeed (2018) runs every weight and every slope in all trials, and takes the one with the smallest
mean area. Most are behind in every trial. Here a method that is behind beyond chance after a few
trials gets no more of them; those that are left have all trials, and the best of them is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from leaven.evaluation import trial_scores
from studies.curves import NaiveBayesCurve, fitted_together
from studies.registry import Protocol, Run

LOOKS = (5, 10, 20, 40)
"""Numbers of trials after which methods may leave."""

CHANCE = 1e-4
"""Level of the one-sided paired t-test against the best so far."""

LEAST_ROWS = 4_000
"""Rows from which a race is worth its looks: on fewer, trials differ too much for any to leave."""


def race(
    run: Run,
    methods: Mapping[str, NaiveBayesCurve],
    data: Mapping[str, Any],
    protocol: Protocol,
    rivals: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Results in all trials of those methods that may be the best on a data set.

    Parameters
    ----------
    run : Run
    methods : dict
        By name, alike but for the weight or the slope.
    data : dict
        One data set by its name, as :func:`leaven.evaluation.compare` takes it.
    protocol : Protocol
    rivals : DataFrame, default=None
        Results of methods that have all of their trials, to be behind of.

    Returns
    -------
    results : DataFrame
        As :func:`leaven.evaluation.compare` gives them.
    """
    total = run.trials or protocol.n_trials
    ((_, given),) = data.items()
    _, y = given() if callable(given) else given
    looks = [look for look in LOOKS if look < total and len(y) >= LEAST_ROWS]
    if looks and run.store is None:  # each look goes on from the trials of the one before
        with TemporaryDirectory() as folder:
            stored = replace(run, store=Path(folder) / "race.sqlite")
            return race(stored, methods, data, protocol, rivals)
    left = dict(methods)
    for n in [*looks, total]:
        with fitted_together(left.values()):
            found = replace(run, n_trials=n).compare(left, data, protocol)
        if n == total:
            break
        known = found if rivals is None else pd.concat([found, rivals[rivals["trial"] < n]])
        gone = clearly_behind(areas_of_trials(known))
        left = {name: method for name, method in left.items() if name not in gone}
        if not left:  # the best of the rivals is far ahead of all
            break
    return found[found["method"].isin(left)].reset_index(drop=True)


def areas_of_trials(results: pd.DataFrame) -> pd.DataFrame:
    """Area of each method (columns) in each trial of a data set, without those that failed."""
    good = results[results["status"] == "ok"]
    return trial_scores(good) if len(good) else pd.DataFrame()


def clearly_behind(areas: pd.DataFrame) -> set[str]:
    """Methods whose areas are larger than those of the best one, beyond chance.

    Examples
    --------
    >>> import pandas as pd
    >>> from studies.racing import clearly_behind
    >>> best = pd.Series([2.0, 2.1, 2.0, 2.2, 2.1])
    >>> other = best + [0.01, -0.02, 0.02, 0.0, -0.01]
    >>> clearly_behind(pd.DataFrame({"a": best, "b": other + 0.5, "c": other}))
    {'b'}
    """
    if areas.empty:
        return set()
    more = areas.sub(areas[areas.mean().idxmin()], axis=0)
    n = more.count()
    error: pd.Series[float] = more.std(ddof=1) / np.sqrt(n)
    limit = student.ppf(1.0 - CHANCE, (n - 1).clip(lower=1)) * error
    return {*more.columns[(more.mean() > limit).to_numpy()]}
