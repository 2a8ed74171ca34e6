"""Tables 3.3 to 6.6 of Saeed (2018): naive Bayes with few labels.

Every method is a :class:`~studies.curves.NaiveBayesCurve`, and every
number a mean area under the error curve over trials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven.evaluation import CurveProtocol, Split, label_schedule, trial_scores
from leaven.model_selection import transfer_parameter
from studies.costs import trials_of
from studies.curves import NaiveBayesCurve, QueriedCurve
from studies.data import TWIN, prepare
from studies.published import published_areas
from studies.racing import race
from studies.registry import Outcome, Protocol, Run, Table, register

NB, SSNB = NaiveBayesCurve(), NaiveBayesCurve(weight=None)
WEIGHTS = tuple(round(0.1 * i, 1) for i in range(10))
SLOPES = tuple(2.0**i for i in range(-10, 6))
QUICK = (
    "blogger", "house-votes", "monk1", "zoo", "iris", "wine", "new-thyroid", "haberman",
)  # fmt: skip


@dataclass(frozen=True)
class ValidationCurve(CurveProtocol):
    """Curves on the validation rows of a protocol, to choose parameters by."""

    kind: ClassVar[str] = "curve on validation rows"

    def split(self, codes: NDArray[np.intp], trial: int, *, continuous: bool = False) -> Split:
        """The same rows in training, and the others the other way round."""
        split = super().split(codes, trial, continuous=continuous)
        return replace(split, test=split.validation, validation=split.test)


@dataclass(frozen=True)
class FoldCurve(CurveProtocol):
    """Curves that start where cross-validation can: with two labels, or four of each class.

    The source does not say where these curves start; its numbers for naive Bayes do.
    """

    kind: ClassVar[str] = "curve with folds"

    def split(self, codes: NDArray[np.intp], trial: int, *, continuous: bool = False) -> Split:
        """As a curve with more labels at the start."""
        start = 4 if continuous else 0
        split = replace(self, start=start).plain(codes, trial)
        if continuous:
            return split
        return replace(split, sizes=tuple(label_schedule(2, len(split.order), include_n=True)))

    def plain(self, codes: NDArray[np.intp], trial: int) -> Split:
        """The split of a :class:`CurveProtocol`."""
        return super().split(codes, trial)


CURVE = CurveProtocol("curve")
VALIDATED = CurveProtocol("validation", test_size=0.2, validation_size=0.2)
ON_VALIDATION = ValidationCurve("on-validation", test_size=0.2, validation_size=0.2)
FOLDS = FoldCurve("folds")

SPLIT = (
    "75 % of the rows to train and 25 % to test, at random, in each of 100 trials; the labels of "
    "the training rows become known in a random order, from one row on (discrete) or two rows of "
    "each class (continuous)."
)


def sources(names: Sequence[str]) -> dict[str, Any]:
    """Data sets as functions that load them where a trial runs."""
    return {name: partial(prepare, name) for name in names}


def original(name: str) -> str:
    """The data set that a twin is made from."""
    return name.removesuffix(TWIN)


def mean_areas(frame: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Mean area of each data set and method; infinite where every trial failed."""
    pairs = frame[["dataset", "method"]].drop_duplicates().itertuples(index=False, name=None)
    areas: dict[tuple[str, str], float] = dict.fromkeys(pairs, np.inf)
    good = frame[frame["status"] == "ok"]
    if len(good):
        for dataset, of_set in trial_scores(good).groupby("dataset"):
            areas |= {(str(dataset), str(m)): float(x) for m, x in of_set.mean().items()}
    return areas


def renamed(frame: pd.DataFrame, best: Mapping[str, str], name: str) -> pd.DataFrame:
    """Results of the method that is best on each data set, under one name."""
    of_best = frame["method"] == frame["dataset"].map(best)
    return frame[of_best].assign(method=name)


def plain_run(
    table: Table,
    run: Run,
    datasets: list[str],
    *,
    methods: Mapping[str, Any],
    protocol: Protocol = CURVE,
) -> Outcome:
    """Run given methods."""
    return Outcome(run.compare(methods, sources(datasets), protocol))


QUERIED = "ALSSNB, NB asks"
"""Name in the store of EM on the labels that NB asks for."""


def queried_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """NB, and EM on the labels that NB asks for."""
    found = run.compare({"NB": NB, QUERIED: QueriedCurve()}, sources(datasets), CURVE)
    return Outcome(found.replace({"method": {QUERIED: "ALSSNB"}}))


def weight_name(weight: float) -> str:
    """Name of a method in the store."""
    return f"SSNB, weight {weight:.2f}"


def weights_around(best: float) -> list[float]:
    """The second search of section 4.3: steps of 0.01 around the best of the first."""
    found = best + np.arange(-9, 10) / 100
    return [round(float(w), 2) for w in found if 0 < w < 1 and abs(w - best) > 1e-9]


def search_weights(run: Run, name: str, protocol: Protocol) -> tuple[float, pd.DataFrame]:
    """The λ with the smallest mean area on one data set, and results of all that came close."""
    done: dict[float, float] = {}
    results: pd.DataFrame | None = None
    new = list(WEIGHTS)
    for _ in range(2):
        methods = {weight_name(w): NaiveBayesCurve(weight=w) for w in new}
        frame = race(run, methods, sources([name]), protocol, results)
        results = frame if results is None else pd.concat([results, frame], ignore_index=True)
        areas = mean_areas(frame)
        done |= {w: areas[name, weight_name(w)] for w in new if (name, weight_name(w)) in areas}
        best = min(done, key=lambda w: (done[w], w))
        new = weights_around(best)
    assert results is not None
    return best, results


def weight_run(
    table: Table, run: Run, datasets: list[str], *, search: Protocol, protocol: Protocol
) -> Outcome:
    """λ by the smallest mean area of a data set: on test rows (biased) or validation rows."""
    name = table.methods[-1]
    choices, frames = {}, []
    for dataset in datasets:
        best, searched = search_weights(run, dataset, search)
        choices[dataset, name] = f"λ = {best:g}"
        plain = run.compare({"NB": NB, "SSNB": SSNB}, sources([dataset]), protocol)
        if search is not protocol:
            method = {weight_name(best): NaiveBayesCurve(weight=best)}
            searched = run.compare(method, sources([dataset]), protocol)
        frames += [plain, renamed(searched, {dataset: weight_name(best)}, name)]
    return Outcome(pd.concat(frames, ignore_index=True), choices)


def slope_name(slope: float, mean: str) -> str:
    """Name of a method in the store."""
    return f"SSNB, slope {slope:.6g}, mean {mean}"


def search_slopes(
    run: Run, datasets: Sequence[str], mean: str
) -> tuple[dict[str, float], pd.DataFrame]:
    """The α with the smallest mean area on each data set, and results of all that came close."""
    methods = {slope_name(a, mean): NaiveBayesCurve(slope=a, mean=mean) for a in SLOPES}
    of_name = {slope_name(a, mean): a for a in SLOPES}
    best, frames = {}, []
    for dataset in datasets:
        frames.append(race(run, methods, sources([dataset]), CURVE))
        areas = mean_areas(frames[-1])
        best[dataset] = of_name[min(areas, key=lambda key: areas[key])[1]]
    return best, pd.concat(frames, ignore_index=True)


def slope_run(table: Table, run: Run, datasets: list[str], *, mean: str) -> Outcome:
    """α by the smallest mean area on the test rows of a data set, as in the source."""
    name = table.methods[-1]
    best, frame = search_slopes(run, datasets, mean)
    plain = run.compare({"NB": NB, "SSNB": SSNB}, sources(datasets), CURVE)
    named = {dataset: slope_name(slope, mean) for dataset, slope in best.items()}
    results = pd.concat([plain, renamed(frame, named, name)], ignore_index=True)
    return Outcome(results, {(each, name): f"α = {best[each]:g}" for each in datasets})


def transfer_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """α of a data set from the best ones of the other data sets."""
    name = table.methods[-1]
    if len(datasets) < 2:
        raise ValueError(f"Table {table.id} takes α from the other data sets: give at least two.")
    best: dict[str, float] = {}
    runs: dict[str, Run] = {}
    for n, some in run.groups(table, datasets).items():
        runs |= dict.fromkeys(some, replace(run, n_trials=n))
        best |= search_slopes(runs[some[0]], some, "beta")[0]
    medians: Any = transfer_parameter(best)
    chosen = {each: float(medians[each]) for each in best}
    frames = []
    for dataset, own in runs.items():
        slope = chosen[dataset]
        method = {slope_name(slope, "beta"): NaiveBayesCurve(slope=slope, mean="beta")}
        frames.append(own.compare({"NB": NB, "SSNB": SSNB}, sources([dataset]), CURVE))
        frames.append(own.compare(method, sources([dataset]), CURVE).assign(method=name))
    choices = {(each, name): f"α = {chosen[each]:.4g}" for each in best}
    return Outcome(pd.concat(frames, ignore_index=True), choices)


PRINTED_SLOPES = {
    "blogger": -10, "breast-cancer": -1, "breastw": 5, "house-votes": -5, "monk1": -2,
    "shuttle-landing-control": 5, "threeOf9": -2, "xd6": -10, "blood-transfusion": -10,
    "breast-cancer-wisconsin": 4, "climate-model-simulation-crashes": -10,
}  # fmt: skip
"""Base-2 logarithm of α in table 5.4, for the data sets at hand among its first 16."""


def positions_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """Both readings of β in section 5.4.2, with the α of table 5.4."""
    frames = []
    for name in datasets:
        slope = 2.0 ** PRINTED_SLOPES[name]
        methods = {
            f"mean {mean}, {name}": NaiveBayesCurve(slope=slope, mean=mean)
            for mean in ("beta", "kept")
        }
        frame = run.compare(methods, sources([name]), CURVE)
        frame["method"] = frame["method"].str.removesuffix(f", {name}")
        frames.append(frame.replace({"method": {"mean beta": "β is the mean"}}))
    return Outcome(pd.concat(frames, ignore_index=True))


READINGS = (
    (("6.1", "6.2", "6.3", "6.4", "6.5", "6.6"),
     "that the least confident rows are asked for, by the text and by ALNB on 20 data sets"),
    (("6.3", "6.4", "6.5", "6.6"),
     "that NB asks the questions, by the text and by ALSSNB on 12 data sets"),
    (("3.3", "4.2", "4.4", "4.6", "5.3", "5.4", "5.5", "5.6", "6.1", "6.3"),
     "order of the classes in discrete sets, by NB in table 3.3"),
    (("3.6", "6.6"), "variance in place of the standard deviation, by NB in table 3.6"),
    (("3.4", "3.6", "4.1", "4.3", "4.5", "5.3", "5.4", "5.5", "5.6", "6.2", "6.4", "6.6"),
     "n - 1 in the variances, by synthetic data in 3.6 and 6.6 and by wine in 4.1"),
    (("5.4", "5.5", "5.6"), "position β, by SSNB-sigmoid in table 5.4"),
    (("4.5", "4.6", "5.6"), "start of the curves, by NB in these tables"),
    (("4.5", "4.6"),
     "one stage of the search for λ, by the text and by SSNB-λ-mcv on 11 data sets"),
)  # fmt: skip
"""What was chosen by looking at published numbers, and the tables that rest on it."""


def add(
    number: str,
    title: str,
    run: Callable[[Table, Run, list[str]], Outcome],
    protocol: str = SPLIT,
) -> None:
    """Register a table of the source."""
    published = published_areas(number)
    kinds = published.index
    datasets = tuple(dict.fromkeys(kinds.get_level_values("dataset")))
    methods = sorted(
        dict.fromkeys(kinds.get_level_values("method")), key=lambda m: (m != "NB", m != "SSNB")
    )
    if "synthetic data sets" in title:
        published = published.rename(index=lambda name: f"{name}{TWIN}", level="dataset")
        datasets = tuple(f"{name}{TWIN}" for name in datasets)
    quick = tuple(name for name in datasets if original(name) in QUICK)
    readings = [text for numbers, text in READINGS if number in numbers]
    register(
        Table(
            "S1",
            number,
            title,
            datasets,
            tuple(methods),
            protocol,
            published,
            run,
            quick=quick,
            needs=original,
            reading=" and ".join(readings),
            redrawn="synthetic data sets" in title,
            trials=trials_of(number, datasets),
            together=number == "5.5",
        )
    )


def add_all() -> None:
    """Register all tables of the source, in its order."""
    supervised = partial(plain_run, methods={"NB": NB, "SSNB": SSNB})
    asking = partial(plain_run, methods={"NB": NB, "ALNB": NaiveBayesCurve(active=True)})
    twin = (
        f"{SPLIT} The data are drawn from naive Bayes models of the original data sets, once for "
        "all trials; in continuous ones with the variance in place of the standard deviation, a "
        "reading that the printed numbers of NB fit."
    )
    add("3.3", "NB and SSNB on discrete data sets", supervised)
    add("3.4", "NB and SSNB on continuous data sets", supervised)
    add("3.5", "NB and SSNB on discrete synthetic data sets", supervised, twin)
    add("3.6", "NB and SSNB on continuous synthetic data sets", supervised, twin)
    sigmoid = published_areas("5.4").xs("SSNB-sigmoid", level="method")
    readings = ("β is the mean", "mean kept")
    every = pd.concat(dict.fromkeys(readings, sigmoid), names=["method"]).swaplevel()
    every = every[every.index.get_level_values("dataset").isin(PRINTED_SLOPES)]
    register(
        Table(
            "S1",
            "positions",
            "Two readings of the recalibration in section 5.4.2",
            tuple(PRINTED_SLOPES),
            readings,
            f"{SPLIT} α is the printed one of table 5.4. β is the mean of the probabilities "
            "before, or such that their mean is kept. The published numbers are those of "
            "SSNB-sigmoid in table 5.4.",
            every,
            positions_run,
            quick=("house-votes", "climate-model-simulation-crashes"),
        )
    )
    biased = partial(weight_run, search=CURVE, protocol=CURVE)
    how = f"{SPLIT} λ is the one with the smallest mean area on the test rows of a data set."
    add("4.1", "The best weight of unlabeled rows, continuous data sets", biased, how)
    add("4.2", "The best weight of unlabeled rows, discrete data sets", biased, how)
    validated = partial(weight_run, search=ON_VALIDATION, protocol=VALIDATED)
    how = (
        "60 % of the rows to train, 20 % to choose λ by the mean area of a data set, and 20 % to "
        "test; else as in tables 4.1 and 4.2."
    )
    add("4.3", "The weight chosen on validation rows, continuous data sets", validated, how)
    add("4.4", "The weight chosen on validation rows, discrete data sets", validated, how)
    folds = partial(
        plain_run,
        methods={
            "NB": NB,
            "SSNB": SSNB,
            "SSNB-lambda-mcv": NaiveBayesCurve(chosen="weight", values=WEIGHTS),
        },
        protocol=FOLDS,
    )
    start = (
        "The curves start with two labels (discrete) or four of each class (continuous), which "
        "is inferred from the printed numbers of NB."
    )
    how = (
        f"{SPLIT} At each number of labels λ is chosen by cross-validation on the labeled rows, "
        f"in at most ten folds, in steps of 0.1. {start}"
    )
    add("4.5", "The weight chosen by cross-validation, continuous data sets", folds, how)
    add("4.6", "The weight chosen by cross-validation, discrete data sets", folds, how)
    how = f"{SPLIT} α of 2⁻¹⁰ to 2⁵ is the one with the smallest mean area on the test rows."
    known = partial(slope_run, mean="true")
    kept = partial(slope_run, mean="beta")
    add("5.3", "Recalibration by ranks to known class proportions", known, how)
    how_beta = (
        f"{how} β is the mean of the class probabilities before, the one of two readings of "
        "section 5.4.2 that the printed numbers fit."
    )
    add("5.4", "Recalibration by ranks around the mean", kept, how_beta)
    how = f"{SPLIT} α is the median of the best ones (table 5.4) of the other data sets."
    add("5.5", "The slope taken from the other data sets", transfer_run, how)
    folds = partial(
        plain_run,
        methods={
            "NB": NB,
            "SSNB": SSNB,
            "SSNB-sigmoid-cv": NaiveBayesCurve(chosen="slope", values=SLOPES, mean="beta"),
        },
        protocol=FOLDS,
    )
    how = (
        f"{SPLIT} At each number of labels α is chosen by cross-validation on the labeled rows. "
        f"{start}"
    )
    add("5.6", "The slope chosen by cross-validation", folds, how)
    how = (
        f"{SPLIT} Active learners ask for the rows whose most probable class has the least "
        "probability, in batches from one size to the next."
    )
    add("6.1", "Active learning with NB, discrete data sets", asking, how)
    add("6.2", "Active learning with NB, continuous data sets", asking, how)
    how = f"{how} Those of naive Bayes are asked, and EM is fitted to the labels."
    add("6.3", "Active learning with SSNB, discrete data sets", queried_run, how)
    add("6.4", "Active learning with SSNB, continuous data sets", queried_run, how)
    how = f"{how} The data are drawn from naive Bayes models of the original data sets."
    add("6.5", "Active learning with SSNB, discrete synthetic data sets", queried_run, how)
    add("6.6", "Active learning with SSNB, continuous synthetic data sets", queried_run, how)


add_all()
