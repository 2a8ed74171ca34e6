"""Readings of Saeed (2018) beside each other, where its text leaves a choice or our numbers differ.

None of these is a table of the source. Each shows what a reading does to published numbers, so that
the pages can name a run for what they say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven.datasets import load, make_independent_twin
from studies.curve_em import GaussianFeatures
from studies.curves import CERTAINTY, CurvePlan, NaiveBayesCurve, QueriedCurve
from studies.data import ORDERS, TWIN, prepare
from studies.naive_bayes import CURVE, FOLDS, NB, QUERIED, SPLIT, SSNB, original, sources
from studies.published import published_areas
from studies.registry import Outcome, Run, Table, register

N_TRIALS = 25
"""Trials of readings beside each other, which are many standard errors apart where they matter."""

# Features without variance

OMISSIONS = ("at each size", "at the start", "in all classes")
"""A feature is left out, at each number of labels, if it is constant in some class (what the tables
have); for the whole curve, if it is so at its start; or only if it is constant in every class."""


@dataclass(frozen=True)
class OtherOmission(GaussianFeatures):
    """Features that are left out by another rule."""

    rule: str = OMISSIONS[0]

    def omitted(self, labels: NDArray[np.intp], n_classes: int) -> NDArray[np.bool_]:
        """Which features are left out of each fit."""
        if self.rule != "in all classes":
            result = super().omitted(labels, n_classes)
            return np.asarray(np.repeat(result[:, :1], result.shape[1], axis=1))
        Z = self.F[:, : len(self.epsilon)]
        result = np.empty((Z.shape[1], labels.shape[1]), dtype=bool)
        for t in range(labels.shape[1]):
            parts = [Z[labels[:, t] == c] for c in range(n_classes)]
            constant = [part.min(axis=0) == part.max(axis=0) for part in parts if len(part)]
            result[:, t] = np.all(constant, axis=0)
        return np.asarray(result | (Z.min(axis=0) == Z.max(axis=0))[:, None])


class OmittingCurve(NaiveBayesCurve):
    """Curves with another rule for features without variance.

    Parameters
    ----------
    weight : float or None, default=0.0
    rule : {"at the start", "in all classes"}
    """

    def __init__(self, *, weight: float | None = 0.0, rule: str = OMISSIONS[1]) -> None:
        super().__init__(weight=weight)
        self.rule = rule

    def curve_plan(self, X: Any) -> CurvePlan:
        """As for any curve, on features of their own."""
        plan = super().curve_plan(X)
        values = {name: getattr(plan.features, name) for name in vars(plan.features)}
        return replace(plan, features=OtherOmission(**values, rule=self.rule))


def omissions_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """NB and SSNB under each rule."""
    methods: dict[str, Any] = {}
    for name, weight in (("NB", 0.0), ("SSNB", None)):
        methods[f"{name}, {OMISSIONS[0]}"] = NaiveBayesCurve(weight=weight)
        for rule in OMISSIONS[1:]:
            methods[f"{name}, {rule}"] = OmittingCurve(weight=weight, rule=rule)
    return Outcome(run.compare(methods, sources(datasets), CURVE))


# Soybean

CODES = ("one code", "second file coded otherwise", "second file with classes of its own")
FIRST_FILE = 307
"""Rows of the first of the two files that soybean-large comes in."""


def coded_soybean(codes: str, seed: int = 0) -> tuple[Any, pd.Series[Any]]:
    """soybean-large with its classes in one code, or with another one in the second file.

    Parameters
    ----------
    codes : {"one code", "second file coded otherwise", "second file with classes of its own"}
    seed : int
        Of the permutation of the codes.
    """
    X, _ = prepare("soybean-large")
    y = load("soybean-large").target.reset_index(drop=True)
    names = sorted(set(y))
    own = y.map({name: f"{i:02d}" for i, name in enumerate(names)})
    if codes == CODES[0]:
        return X, own
    in_first = np.arange(len(y)) < FIRST_FILE
    if codes == CODES[2]:
        return X, own.where(in_first, "second " + own)
    permuted = np.random.default_rng(seed).permutation(len(names))
    other = y.map({name: f"{permuted[i]:02d}" for i, name in enumerate(names)})
    return X, own.where(in_first, other)


def soybean_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """NB and SSNB with consistent and with inconsistent codes of the classes."""
    frames = []
    for dataset in datasets:
        for codes in CODES:
            X, y = coded_soybean(codes)
            if dataset.endswith(TWIN):
                X, y = make_independent_twin(
                    X, y, kind="categorical", smoothing=1.0, random_state=0
                )
            data = {f"{dataset}, {codes}": (X, y)}
            frame = run.compare({"NB": NB, "SSNB": SSNB}, data, CURVE)
            frames.append(frame.assign(dataset=dataset, method=frame["method"] + f", {codes}"))
    return Outcome(pd.concat(frames, ignore_index=True))


# Versions of the data

VERSIONS = {
    "breast-cancer": "without node-caps",
    "breast-cancer-wisconsin": "uniform noise added",
}
"""Data sets that the source seems to have had in another form, and that form."""

PRINTED = {"breast-cancer": (0.11, 0.5), "breast-cancer-wisconsin": (0.2, 16.0)}
"""λ of tables 4.1 and 4.2, and α of table 5.4."""

LATER = ", later start"
"""Curves that start where those of tables 4.5 and 4.6 do."""


def as_in_source(name: str) -> tuple[Any, pd.Series[Any]]:
    """A data set in the form that the source seems to have had.

    breast-cancer has no column node-caps, and breast-cancer-wisconsin a number from [0, 1), drawn
    once, added to each of its integers.
    """
    X, y = prepare(name)
    if name == "breast-cancer":
        return X.drop(columns="node_caps"), y
    return X + np.random.default_rng(0).random(X.shape), y


def versions_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """Methods of several tables on a data set as it is, and as the source seems to have had it."""
    frames = []
    for dataset in datasets:
        version = dataset.removesuffix(LATER)
        name = version.split(", ")[0]
        weight, slope = PRINTED[name]
        data = {version: prepare(name) if version == name else as_in_source(name)}
        methods = {"NB": NB, "SSNB": SSNB}
        if version == dataset:
            methods |= {
                "SSNB-λ": NaiveBayesCurve(weight=weight),
                "SSNB-sigmoid": NaiveBayesCurve(slope=slope, mean="beta"),
                "ALNB": NaiveBayesCurve(active=True),
                QUERIED: QueriedCurve(),
            }
        found = run.compare(methods, data, CURVE if version == dataset else FOLDS)
        frames.append(found.assign(dataset=dataset).replace({"method": {QUERIED: "ALSSNB"}}))
    return Outcome(pd.concat(frames, ignore_index=True))


def printed_versions() -> pd.DataFrame:
    """The published areas of these data sets, beside both of their forms."""
    rows = {}
    for name, version in VERSIONS.items():
        # Tables 3.3, 4.2, 6.1 and so on are of discrete data sets, the next ones of others.
        discrete = name == "breast-cancer"
        numbers = ("3.3", "4.2", "6.1", "6.3") if discrete else ("3.4", "4.1", "6.2", "6.4")
        whole = {
            "NB": (numbers[0], "NB"),
            "SSNB": (numbers[0], "SSNB"),
            "SSNB-λ": (numbers[1], "SSNB-lambda"),
            "SSNB-sigmoid": ("5.4", "SSNB-sigmoid"),
            "ALNB": (numbers[2], "ALNB"),
            "ALSSNB": (numbers[3], "ALSSNB"),
        }
        folds = "4.6" if discrete else "4.5"
        later = {"NB": (folds, "NB"), "SSNB": (folds, "SSNB")}
        for start, columns in (("", whole), (LATER, later)):
            for form in (name, f"{name}, {version}"):
                for method, (number, printed) in columns.items():
                    rows[f"{form}{start}", method] = published_areas(number).loc[(name, printed)]
    index = pd.MultiIndex.from_tuples(list(rows), names=["dataset", "method"])
    return pd.DataFrame(list(rows.values()), index=index)


# Order of the classes


def orders_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """NB with the classes in several orders."""
    frames = []
    for order in ORDERS:
        data = {f"{name}, {order}": prepare(name, order) for name in datasets}
        frame = run.compare({"NB": NB}, data, CURVE)
        frame["dataset"] = frame["dataset"].str.removesuffix(f", {order}")
        frames.append(frame.assign(method=f"NB, {order}"))
    return Outcome(pd.concat(frames, ignore_index=True))


# Who asks

WHO = ("NB asks", "SSNB asks")

WHO_ASKED = (
    "balance-scale", "blogger", "breast-cancer", "breastw", "flare1", "flare2", "house-votes",
    "lung-cancer", "monk1", "monk1-local", "monk3", "monk3-local", "shuttle-landing-control",
    "threeOf9", "xd6", "zoo",
    "blood-transfusion", "breast-cancer-wisconsin", "climate-model-simulation-crashes", "diabetes",
    "glass", "haberman", "iris", "liver-disorders", "musk1", "new-thyroid", "pendigits", "spambase",
    "synthetic", "wine",
)  # fmt: skip
"""Where EM asks, it is fitted once at each size, one after the other: too slow for larger sets."""


def queries_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """EM on the labels that NB asks for, and on those that it asks for itself."""
    methods = {QUERIED: QueriedCurve(), "ALSSNB": NaiveBayesCurve(weight=None, active=True)}
    found = run.compare(methods, sources(datasets), CURVE)
    return Outcome(found.replace({"method": {"ALSSNB": f"ALSSNB, {WHO[1]}"}}))


# The list


def beside(areas: pd.DataFrame, names: tuple[str, ...], method: str = "NB") -> pd.DataFrame:
    """The published numbers of a method beside each of several readings of it."""
    of_method = areas.xs(method, level="method")
    every = pd.concat({f"{method}, {name}": of_method for name in names}, names=["method"])
    return every.swaplevel()


# What active learners ask for

SEVERAL_CLASSES = (
    "audiology", "balance-scale", "flare1", "flare2", "led7", "lung-cancer", "marketing",
    "primary-tumor", "soybean-large", "splice", "dna", "zoo",
    "glass", "iris", "letter", "new-thyroid", "pendigits", "sleep", "vowel", "waveform-noise",
    "wine",
)  # fmt: skip


def certainty_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """Active naive Bayes with three measures of certainty."""
    methods = {f"ALNB, {how}": NaiveBayesCurve(active=True, certainty=how) for how in CERTAINTY}
    return Outcome(run.compare(methods, sources(datasets), CURVE))


def add_all() -> None:
    """Register the readings."""
    areas = published_areas("3.3")
    names = tuple(areas.xs("NB", level="method").index)
    several = ("balance-scale", "zoo", "lung-cancer", "flare1", "flare2", "audiology")
    register(
        Table(
            "S1",
            "orders",
            "The order of the classes",
            names,
            tuple(f"NB, {order}" for order in ORDERS),
            f"{SPLIT} Of equally probable classes the first is taken. The published numbers are "
            "those of NB in table 3.3.",
            beside(areas, ORDERS),
            orders_run,
            quick=several,
            trials=dict.fromkeys(names, N_TRIALS),
        )
    )
    twins = published_areas("3.5").rename(index=lambda name: f"{name}{TWIN}", level="dataset")
    names = ("soybean-large", f"soybean-large{TWIN}")
    soybean = pd.concat([areas, twins])
    soybean = soybean[soybean.index.get_level_values("dataset").isin(names)]
    register(
        Table(
            "S1",
            "soybean",
            "The classes of soybean-large in two files",
            names,
            tuple(f"{method}, {codes}" for method in ("NB", "SSNB") for codes in CODES),
            f"{SPLIT} The data come in two files of 307 and 376 rows. In the second reading the "
            "classes of the second file have other codes than those of the first (a permutation "
            "drawn once), as if each file had been coded by itself; in the third they are classes "
            "apart, as if their names were spelled otherwise. The published numbers are "
            "those of tables 3.3 and 3.5.",
            pd.concat([beside(soybean, CODES, method) for method in ("NB", "SSNB")]),
            soybean_run,
            trials=dict.fromkeys(names, 2 * N_TRIALS),
            quick=("soybean-large",),
            needs=original,
        )
    )
    areas = published_areas("3.4")
    register(
        Table(
            "S1",
            "omitted",
            "Features without variance",
            ("breast-cancer-wisconsin", "glass", "spambase"),
            tuple(f"{method}, {rule}" for method in ("NB", "SSNB") for rule in OMISSIONS),
            f"{SPLIT} A feature is left out at a number of labels if it is constant in the labeled "
            "rows of some class then (at each size), for the whole curve if it is so at its start, "
            "or only if it is constant in all classes. The published numbers are those of table "
            "3.4.",
            pd.concat([beside(areas, OMISSIONS, method) for method in ("NB", "SSNB")]),
            omissions_run,
            quick=("breast-cancer-wisconsin",),
        )
    )
    printed = printed_versions()
    names = tuple(dict.fromkeys(printed.index.get_level_values("dataset")))
    register(
        Table(
            "S1",
            "versions",
            "Two data sets in another form",
            names,
            tuple(dict.fromkeys(printed.index.get_level_values("method"))),
            f"{SPLIT} breast-cancer with and without its column node-caps, and "
            "breast-cancer-wisconsin, whose features are integers from 1 to 10, with and without "
            "a number from [0, 1) added to each, drawn once for all trials. λ and α are the "
            "printed ones. The published numbers are those of tables 3.3, 3.4, 4.1, 4.2, 5.4 and "
            "6.1 to 6.4; with the later start, two labels or four of each class, 4.5 and 4.6.",
            printed,
            versions_run,
            quick=names,
            needs=lambda name: name.split(", ")[0],
            reading="the form of each data set, by NB and SSNB of tables 3.3, 3.4 and 4.5",
        )
    )
    areas = pd.concat([published_areas("6.3"), published_areas("6.4")])
    names = tuple(areas.xs("ALSSNB", level="method").index)
    register(
        Table(
            "S1",
            "queries",
            "Who asks in ALSSNB",
            names,
            tuple(f"ALSSNB, {who}" for who in WHO),
            f"{SPLIT} Rows whose most probable class has the least probability are asked for: by "
            "naive Bayes of the labeled rows, or by the model of EM. The published numbers are "
            "those of tables 6.3 and 6.4.",
            beside(areas, WHO, "ALSSNB"),
            queries_run,
            quick=("breastw", "house-votes", "zoo", "iris", "wine"),
            trials={name: N_TRIALS if name in WHO_ASKED else 0 for name in names},
        )
    )
    areas = pd.concat([published_areas("6.1"), published_areas("6.2")])
    register(
        Table(
            "S1",
            "certainty",
            "How active learners tell what they are least certain of",
            SEVERAL_CLASSES,
            tuple(f"ALNB, {how}" for how in CERTAINTY),
            f"{SPLIT} Naive Bayes asks for the rows whose most probable class has the least "
            "probability, or the smallest lead over the second (margin), or whose classes have the "
            "largest entropy. Data sets of more than two classes, for with two they are alike. The "
            "published numbers are those of ALNB in tables 6.1 and 6.2.",
            beside(areas[areas.index.isin(SEVERAL_CLASSES, "dataset")], tuple(CERTAINTY), "ALNB"),
            certainty_run,
            quick=("zoo", "iris", "wine", "new-thyroid"),
            trials=dict.fromkeys(SEVERAL_CLASSES, N_TRIALS),
        )
    )


add_all()
