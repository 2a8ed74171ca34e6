"""What may be behind numbers of Saeed (2018) that differ from ours: chance, rounding, the start.

None of these is a table of the source, as those of :mod:`studies.naive_bayes_readings`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven.evaluation import CurveProtocol, Split, label_schedule
from studies.curve_em import GaussianFeatures
from studies.curves import CurvePlan, NaiveBayesCurve, QueriedCurve
from studies.data import TWIN
from studies.naive_bayes import CURVE, FOLDS, NB, SPLIT, SSNB, VALIDATED, original, sources
from studies.naive_bayes_readings import beside
from studies.published import published_areas
from studies.registry import Outcome, Protocol, Run, Table, register

# More trials

MORE = 1_000

PLACES: dict[str, tuple[Protocol, str]] = {
    "zoo": (CURVE, "3.3"),
    "house-votes": (CURVE, "3.3"),
    "wine": (CURVE, "4.1"),
    "wine, validation rows": (VALIDATED, "4.3"),
    "glass, validation rows": (VALIDATED, "4.3"),
    "climate-model-simulation-crashes, later start": (FOLDS, "5.6"),
    "haberman, later start": (FOLDS, "5.6"),
    "blood-transfusion, later start": (FOLDS, "5.6"),
}
"""Data sets on which 100 trials are off, with the protocol and the table of the source."""

WEIGHT = 0.49
"""λ of wine in tables 4.1 and 4.3."""


def set_of(name: str) -> str:
    """The data set of a row of these tables."""
    return name.split(", ")[0]


def trials_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """NB and SSNB, and on wine SSNB with the printed weight."""
    frames = []
    for name in datasets:
        methods = {"NB": NB, "SSNB": SSNB}
        if set_of(name) == "wine":
            methods["SSNB-λ"] = NaiveBayesCurve(weight=WEIGHT)
        found = run.compare(methods, sources([set_of(name)]), PLACES[name][0])
        frames.append(found.assign(dataset=name))
    return Outcome(pd.concat(frames, ignore_index=True))


def printed_places() -> pd.DataFrame:
    """The published areas of these data sets, each from its own table."""
    parts = []
    for name, (_, number) in PLACES.items():
        areas = published_areas(number).loc[[set_of(name)]]
        areas = areas.rename(index={set_of(name): name}, level="dataset")
        weighted = {"SSNB-lambda": "SSNB-λ", "SSNB-lambda-cvs": "SSNB-λ"}
        kept = ["NB", "SSNB", *(weighted if set_of(name) == "wine" else {})]
        areas = areas[areas.index.get_level_values("method").isin(kept)]
        parts.append(areas.rename(index=weighted, level="method"))
    return pd.concat(parts)


# Variances

VARIANCES = ("as they are", "a billionth added")
"""The tables have the variances of the equations. Leaven's classifiers, as scikit-learn, add a
billionth of the largest variance of a feature to those of all."""


class AddedVariance(NaiveBayesCurve):
    """Curves of Gaussian naive Bayes that adds to variances; naive Bayes asks.

    Parameters
    ----------
    weight : float or None, default=0.0
    active : bool, default=False
    """

    asks_with_labeled = True

    def __init__(self, *, weight: float | None = 0.0, active: bool = False) -> None:
        super().__init__(weight=weight, active=active)

    def curve_plan(self, X: Any) -> CurvePlan:
        """As for any curve, on features of their own."""
        return replace(super().curve_plan(X), features=GaussianFeatures.make(np.asarray(X)))


def variances_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """Passive and active learners with both variances; ALNB has no printed area on twins."""
    frames = []
    for name in datasets:
        methods: dict[str, Any] = {}
        for method, weight, active in (
            ("NB", 0.0, False), ("SSNB", None, False), ("ALNB", 0.0, True), ("ALSSNB", None, True),
        ):  # fmt: skip
            if method == "ALNB" and name.endswith(TWIN):
                continue
            plain = NaiveBayesCurve(weight=weight, active=active)
            methods[f"{method}, {VARIANCES[0]}"] = QueriedCurve() if method == "ALSSNB" else plain
            methods[f"{method}, {VARIANCES[1]}"] = AddedVariance(weight=weight, active=active)
        frames.append(run.compare(methods, sources([name]), CURVE))
    return Outcome(pd.concat(frames, ignore_index=True))


def printed_variances() -> pd.DataFrame:
    """The published areas of data sets whose features have variances far apart."""
    names = ("spambase", "wine", "diabetes", "blood-transfusion")
    plain = pd.concat([published_areas(number) for number in ("3.4", "6.2", "6.4")])
    twins = pd.concat([published_areas(number) for number in ("3.6", "6.6")])
    twins = twins.rename(index=lambda name: f"{name}{TWIN}", level="dataset")
    areas = pd.concat([plain, twins])
    areas = areas[~areas.index.duplicated()]  # NB is in several tables
    return areas[
        areas.index.isin([f"{name}{end}" for end in ("", TWIN) for name in names], "dataset")
    ]


# Starts

STARTS = ("four of each class", "two of each class")


@dataclass(frozen=True)
class LaterCurve(CurveProtocol):
    """Curves that begin with two labels of each class, and count from four times the classes on."""

    kind: ClassVar[str] = "curve from a later size"

    def split(self, codes: NDArray[np.intp], trial: int, *, continuous: bool = False) -> Split:
        """The split of any curve, without its first sizes."""
        split = super().split(codes, trial, continuous=continuous)
        first = 4 * len(np.unique(codes))
        return replace(split, sizes=tuple(label_schedule(first, len(split.order), include_n=True)))


LATER = LaterCurve("later")
IN_BOTH = (
    "blood-transfusion", "breast-cancer-wisconsin", "climate-model-simulation-crashes", "haberman",
    "liver-disorders", "musk1", "spambase", "synthetic",
)  # fmt: skip
"""The smaller data sets at hand that tables 4.5 and 5.6 share."""

STARTED = ", table 5.6"
"""Beside the printed numbers of table 5.6, not of 4.5."""


def starts_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """NB and SSNB on curves that begin in two ways."""
    frames = []
    for name in datasets:
        for protocol, start in zip((FOLDS, LATER), STARTS, strict=True):
            found = run.compare({"NB": NB, "SSNB": SSNB}, sources([set_of(name)]), protocol)
            frames.append(found.assign(dataset=name, method=found["method"] + f", {start}"))
    return Outcome(pd.concat(frames, ignore_index=True))


def printed_starts() -> pd.DataFrame:
    """The published areas of these data sets in tables 4.5 and 5.6."""
    folds, ranks = (published_areas(number).loc[list(IN_BOTH)] for number in ("4.5", "5.6"))
    ranks = ranks.rename(index=lambda name: f"{name}{STARTED}", level="dataset")
    return pd.concat([folds, ranks])


def add_all() -> None:
    """Register the checks."""
    register(
        Table(
            "S1",
            "trials",
            "Ten times the trials",
            tuple(PLACES),
            ("NB", "SSNB", "SSNB-λ"),
            f"{SPLIT} With validation rows as in table 4.3 and with the later start, four of each "
            "class, as in table 5.6. λ is the printed one. 1,000 trials. The published "
            "numbers are those of tables 3.3, 4.1, 4.3 and 5.6.",
            printed_places(),
            trials_run,
            quick=("zoo", "wine"),
            needs=set_of,
            trials=dict.fromkeys(PLACES, MORE),
        )
    )
    areas = printed_variances()
    names = tuple(dict.fromkeys(areas.index.get_level_values("dataset")))
    methods = ("NB", "SSNB", "ALNB", "ALSSNB")
    register(
        Table(
            "S1",
            "variances",
            "Variances with and without what is added to them",
            names,
            tuple(f"{method}, {how}" for method in methods for how in VARIANCES),
            f"{SPLIT} Nothing is added to variances, as in the tables, or a billionth of the "
            "largest variance of a feature to those of all: up to 6 % of the smallest one in these "
            "data sets, and many times the smallest one in their twins. Naive Bayes asks for the "
            "least confident rows. The published numbers are those of tables 3.4, 3.6, 6.2, 6.4 "
            "and 6.6.",
            pd.concat([beside(areas, VARIANCES, method) for method in methods]),
            variances_run,
            quick=("wine", f"wine{TWIN}"),
            needs=original,
        )
    )
    areas = printed_starts()
    register(
        Table(
            "S1",
            "starts",
            "Where the curves of tables 4.5 and 5.6 start",
            tuple(dict.fromkeys(areas.index.get_level_values("dataset"))),
            tuple(f"{method}, {start}" for method in ("NB", "SSNB") for start in STARTS),
            "75 % of the rows to train and 25 % to test, at random, in each of 100 trials. The "
            "first labels are those of four rows of each class, or of two rows of each class and "
            "of others at random, up to the same number. The published numbers are those of "
            "tables 4.5 and 5.6.",
            pd.concat([beside(areas, STARTS, method) for method in ("NB", "SSNB")]),
            starts_run,
            quick=("haberman", f"haberman{STARTED}"),
            needs=set_of,
        )
    )


add_all()
