"""What a trial of each kind costs: ``python -m studies.measure [DATA SET...]``.

Prints the rows of ``studies/seconds.csv``, by which :mod:`studies.costs` gives each data set its
number of trials. One trial of each kind on one core, most of the time for letter and sleep.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from leaven.evaluation import CurveProtocol
from studies.costs import COLUMNS
from studies.curves import NaiveBayesCurve, fitted_together
from studies.data import prepare
from studies.naive_bayes import CURVE, FOLDS, SLOPES, SSNB, WEIGHTS, weights_around
from studies.registry import TABLES

BEST = 0.5
"""The weight around which the second stage of the search goes on here."""


def one_trial(
    X: Any, codes: Any, protocol: CurveProtocol, methods: Sequence[NaiveBayesCurve]
) -> None:
    """Fit methods on the first split of a data set."""
    split = protocol.split(codes, 0, continuous=not isinstance(X, pd.DataFrame))
    n_classes = int(codes.max()) + 1
    with fitted_together(methods if len(methods) > 1 else ()):
        for method in methods:
            plan = method.curve_plan(X)
            plan.predict(codes, n_classes, split.order, split.sizes, split.test)


def seconds_of(work: Callable[[], None]) -> float:
    """Processor seconds of a piece of work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(name: str) -> dict[str, float]:
    """Processor seconds of each kind of trial on a data set; NaN where no table has it."""
    X, y = prepare(name)
    codes = np.unique(y, return_inverse=True)[1]
    trial = partial(one_trial, X, codes)
    by_weight = [[NaiveBayesCurve(weight=w) for w in ws] for ws in (WEIGHTS, weights_around(BEST))]
    by_slope = [NaiveBayesCurve(slope=slope, mean="beta") for slope in SLOPES]
    weight = NaiveBayesCurve(chosen="weight", values=WEIGHTS, refined=True)
    slope = NaiveBayesCurve(chosen="slope", values=SLOPES, mean="beta")
    work: dict[str, list[Callable[[], None]]] = {
        "fits": [partial(trial, CURVE, [NaiveBayesCurve()]), partial(trial, CURVE, [SSNB])],
        "questions": [partial(trial, CURVE, [NaiveBayesCurve(active=True)])],
        "weights": [partial(trial, CURVE, methods) for methods in by_weight],
        "weight folds": [partial(trial, FOLDS, [weight])],
        "slopes": [partial(trial, CURVE, by_slope)],
        "slope folds": [partial(trial, FOLDS, [slope])],
    }
    if name not in TABLES["S1-5.4"].datasets:
        work["slopes"] = work["slope folds"] = []
    trial(CURVE, [NaiveBayesCurve()])  # what is made once is no part of a trial
    return {kind: sum(map(seconds_of, parts)) if parts else np.nan for kind, parts in work.items()}


def main(names: Sequence[str]) -> None:
    """Print a row for each data set."""
    print(",".join(["dataset", *COLUMNS]))  # noqa: T201
    every = [name for number in ("3.3", "3.4") for name in TABLES[f"S1-{number}"].here()]
    for name in names or every:
        found = measure(name)
        cells = ["" if np.isnan(found[kind]) else f"{found[kind]:.3g}" for kind in COLUMNS]
        print(",".join([name, *cells]), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
