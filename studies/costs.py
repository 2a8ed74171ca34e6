"""How many trials a data set of Saeed (2018) gets, by what a trial costs.

The source has 100 trials of everything. Here a data set has 100 trials in a table if they take at
most ten minutes of one core of a slow machine, else 25.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pandas as pd

MOST, FEWER = 100, 25

BUDGET = 240.0
"""Seconds of one core for 100 trials of a data set in a table, by ``seconds.csv``: ten minutes of a
Xeon at 2.1 GHz, which made some of the tables and takes two and a half times as long."""

COLUMNS = ("fits", "questions", "weights", "weight folds", "slopes", "slope folds")
"""Kinds of work in ``seconds.csv``: naive Bayes and EM; active naive Bayes; both stages of the
search for a weight, on test rows and by cross-validation; and the search for a slope, both ways."""

WORK = {
    **dict.fromkeys(("3.3", "3.4", "3.5", "3.6"), ("fits",)),
    **dict.fromkeys(("4.1", "4.2", "4.3", "4.4"), ("fits", "weights")),
    **dict.fromkeys(("4.5", "4.6"), ("fits", "weight folds")),
    **dict.fromkeys(("5.3", "5.4", "5.5"), ("fits", "slopes")),
    "5.6": ("fits", "slope folds"),
    **dict.fromkeys(("6.1", "6.2"), ("questions",)),
    **dict.fromkeys(("6.3", "6.4", "6.5", "6.6"), ("fits", "questions")),
}
"""What a trial of a table does."""

ONE_STAGE = 0.5
"""Part of the seconds of "weight folds" that a trial of a table takes: ``studies.measure`` has two
stages of the search, with about as many fits each, and the tables have the first of them."""

RACED = {"letter": 0.13, "sleep": 0.13}
"""Part of the fits of "weights" that is left where all weights but 0, of which 18 are tried and not
27, leave after five trials of 25 (:mod:`studies.racing`). Other data sets count in full."""

SHARED = {"5.5": "5.4"}
"""A table that needs hardly a fit when another one has been run with the same store."""


@cache
def seconds() -> pd.DataFrame:
    """Processor seconds of one trial of each data set and kind of work, by ``studies.measure``.

    One core of an AMD EPYC of the fifth generation, with the other one at work, too.
    """
    frame = pd.read_csv(Path(__file__).with_name("seconds.csv"), index_col="dataset")
    return frame.fillna(0.0)  # no table of slopes has data sets of more than two classes


def trials_of(number: str, names: Iterable[str]) -> dict[str, int]:
    """Number of trials of each data set of a table.

    Examples
    --------
    >>> from studies.costs import trials_of
    >>> trials_of("4.5", ["iris", "magic04", "sleep"])
    {'iris': 100, 'magic04': 25, 'sleep': 25}
    """
    return {name: MOST if MOST * cost_of(number, name) <= BUDGET else FEWER for name in names}


def cost_of(number: str, name: str) -> float:
    """Processor seconds of a trial of a data set in a table; 0 for those that are not at hand."""
    return sum(cost_of_kind(kind, name) for kind in WORK[number])


def cost_of_kind(kind: str, name: str) -> float:
    """Processor seconds of one kind of work in a trial."""
    original = name.removesuffix("-twin")
    return float(seconds()[kind][original]) if original in seconds().index else 0.0


def expected_seconds(number: str, names: Iterable[str]) -> float:
    """Processor seconds that a table of S1 takes with these data sets; 0 where it is not known."""
    if number in SHARED or number not in WORK:
        return 0.0
    return sum(n * spent_on(number, name) for name, n in trials_of(number, names).items())


def spent_on(number: str, name: str) -> float:
    """Processor seconds of a trial on average: less than its cost where a search ends early."""
    of_kind = {kind: cost_of_kind(kind, name) for kind in WORK[number]}
    shares = {"weights": RACED.get(name, 1.0), "weight folds": ONE_STAGE}
    return sum(shares.get(kind, 1.0) * cost for kind, cost in of_kind.items())


WHOLE = {
    "S0-2.1": 415, "S0-2.2": 425, "S0-2.3": 440, "S0-readings": 60, "S0-3.3": 33, "S0-3.4": 85,
    "S0-3.5": 495, "S0-3.6": 10, "S0-3.7": 10, "S0-3.8": 130, "S1-positions": 30,
    "S1-figure-3.2": 30, "S1-figures-3.3-3.5": 30, "S1-orders": 30, "S1-soybean": 55,
    "S1-omitted": 50, "S1-versions": 25, "S1-queries": 150, "S1-draws": 360, "S1-digits": 10,
    "S1-trials": 70, "S1-stages": 350, "S1-variances": 160, "S1-unbiased": 90, "S1-starts": 30,
    "S1-twins": 225, "S1-certainty": 150, "S2-1": 255, "S2-1-entropy": 30, "S2-figure-3": 90,
    "S2-figure-4": 35,
    "S2-bandwidth": 130, "S2-shapes": 400,
    "S4-documents": 200, "S4-figure-14": 15, "S4-figures-1-7": 15,
    "S4-alpha": 110, "S4-digits": 100, "S4-networks": 540, "S4-lenet": 30,
    "S4-figures-26-29": 295, "S4-figures-39-41": 75, "S4-figure-32": 600,
}  # fmt: skip
"""Processor seconds of other tables with all of their trials: those of S1 on the machine of
``seconds.csv``, those of other sources on machines that take up to three times as long."""
