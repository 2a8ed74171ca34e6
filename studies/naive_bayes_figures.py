"""Figures of Saeed (2018) that have an experiment of their own, beside those of the tables.

Numbers are not printed in them, so that the description of each printed figure stands beside ours.
Where a figure tells less than is needed to run it, the protocol says what we took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from leaven.evaluation import CurveProtocol, label_schedule
from leaven.plotting import plot_learning_curves
from studies.curve_em import log_joint
from studies.curves import CurvePlan, CurveTrial, NaiveBayesCurve, Parameters
from studies.data import TWIN, prepare
from studies.estimators import UNLABELED, encode, first_of_each, random_order
from studies.naive_bayes import CURVE, NB, SPLIT, SSNB, original, sources
from studies.published import published_areas
from studies.registry import Outcome, Run, Table, no_numbers, register

N_STARTS = 20
"""Starts of two rows per class among which the best and the worst are the good and the bad one."""

ALNB = NaiveBayesCurve(active=True)
PRINTED_SLOPE = 2.0**-10
"""Of mushroom in table 5.4."""


def rows_of(what: str, sizes: Iterable[int]) -> tuple[str, ...]:
    """Names of rows, which the figures read the number of labels from."""
    return tuple(f"{what}, {size} labels" for size in sizes)


def tidy(
    what: str, trial: int, method: str, sizes: Iterable[int], values: Any, value: str
) -> list[dict[str, Any]]:
    """Rows of results, one for each number of labels."""
    return [
        {"dataset": row, "method": method, "trial": trial, "n_labeled": size, value: float(each),
         "seconds": 0.0, "status": "ok", "message": ""}
        for row, size, each in zip(rows_of(what, sizes), sizes, values, strict=True)
    ]  # fmt: skip


def only(frame: pd.DataFrame, datasets: list[str]) -> Outcome:
    """Results of the rows that are asked for."""
    return Outcome(frame[frame["dataset"].isin(datasets)].reset_index(drop=True))


def errors(
    method: NaiveBayesCurve,
    X: Any,
    codes: NDArray[np.intp],
    order: NDArray[np.intp],
    sizes: tuple[int, ...],
    test: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Error on test rows at each number of labels."""
    found = method.curve_plan(X).predict(codes, int(codes.max()) + 1, order, sizes, test)
    return np.asarray((found != codes[test]).mean(axis=1))


# Figures 1.8 and 1.9

STARTS = (4, 5, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 256, 400)


def starts_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """Curves from a good and from a bad start, and from a random one."""
    rows: list[dict[str, Any]] = []
    for trial in range(run.trials or 100):
        rng = np.random.default_rng([18, trial])
        codes = np.repeat([0, 1], 2200)
        X = rng.standard_normal((4400, 2)) + 2.0 * codes[:, None] - 1.0
        mixed = rng.permutation(4400)
        train, test = mixed[:400], mixed[400:]
        orders = []
        for _ in range(N_STARTS):
            order, _ = first_of_each(rng.permutation(train), codes, 2)
            orders.append(order)
        first = [errors(NB, X, codes, order, (4,), train)[0] for order in orders]
        good, bad = orders[int(np.argmin(first))], orders[int(np.argmax(first))]
        for method, curve, order in (
            ("passive", NB, orders[0]),
            ("active, good start", ALNB, good),
            ("active, bad start", ALNB, bad),
            ("random, bad start", NB, bad),
            ("semi-supervised, bad start", SSNB, bad),
        ):
            values = errors(curve, X, codes, order, STARTS, test)
            rows += tidy("two normal distributions", trial, method, STARTS, values, "error")
    return only(pd.DataFrame(rows), datasets)


# Figure 3.2


def line_data() -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """One feature, normal around -1 and +1."""
    y = np.repeat(["1", "2"], 33792)
    X = np.random.default_rng(32).standard_normal(len(y)) + np.where(y == "1", -1.0, 1.0)
    return X[:, None], y


ON_LINE = CurveProtocol("figure-3.2", test_size=65536 / 67584)


def curves_run(
    table: Table, run: Run, datasets: list[str], *, data: Any = sources, protocol: Any = CURVE
) -> Outcome:
    """NB and SSNB on some data sets, drawn as curves."""
    results = run.compare({"NB": NB, "SSNB": SSNB}, data(datasets), protocol)
    return Outcome(results, draw=partial(draw_curves, results))


def draw_curves(results: pd.DataFrame, path: Path) -> None:
    """One panel per data set."""
    from matplotlib import pyplot as plt

    names = list(pd.unique(results["dataset"]))
    columns = min(2, len(names))
    rows = -(-len(names) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(4.8 * columns, 3.4 * rows), squeeze=False, layout="constrained"
    )
    for name, ax in zip(names, axes.flat, strict=False):
        plot_learning_curves(results[results["dataset"] == name], ax=ax)
        ax.set_title(name)
    metadata: Any = {"Software": None}
    figure.savefig(path, dpi=80, bbox_inches="tight", metadata=metadata)
    plt.close(figure)


# Figures 5.1, 5.2 and 5.4a

SHARES = tuple(2**i for i in range(13))


def mean_probabilities(
    plan: CurvePlan, codes: NDArray[np.intp], order: NDArray[np.intp], sizes: tuple[int, ...]
) -> dict[str, NDArray[np.float64]]:
    """Means over the unlabeled rows of what a model says of the second class.

    The mean probability is that of figure 5.1 and, with a recalibrated model, of 5.4; the sigmoid
    of the mean log-odds is that of 5.2.
    """
    trial = CurveTrial(plan, codes, 2, order)
    labels = trial.labels(sizes)
    n = labels.shape[1]
    slope = plan.method.slope
    given = Parameters(np.full(n, np.nan), None if slope is None else np.full(n, slope))
    joint = log_joint(trial.features, trial.fit(labels, given))
    odds = joint[:, 1] - joint[:, 0]
    unlabeled = labels == UNLABELED
    count = unlabeled.sum(axis=0)
    return {
        "probability": (expit(odds) * unlabeled).sum(axis=0) / count,
        "log-odds": expit((odds * unlabeled).sum(axis=0) / count),
    }


def shares_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """Mean probability of a class of mushroom, before and after the recalibration."""
    X, y = prepare("mushroom")
    _, codes = encode(y.to_numpy())
    rows: list[dict[str, Any]] = []
    put = partial(tidy, "mushroom", sizes=SHARES, value="share")
    plain = SSNB.curve_plan(X)
    mapped = NaiveBayesCurve(slope=PRINTED_SLOPE, mean="true").curve_plan(X)
    for trial in range(run.trials or 25):
        order = CURVE.split(codes, trial).order
        found = mean_probabilities(plain, codes, order, SHARES)
        recalibrated = mean_probabilities(mapped, codes, order, SHARES)["probability"]
        true = np.full(len(SHARES), float((codes == 1).mean()))
        for method, values in (
            ("true share", true),
            ("mean probability (5.1)", found["probability"]),
            ("sigmoid of the mean log-odds (5.2)", found["log-odds"]),
            ("mean probability, recalibrated (5.4)", recalibrated),
        ):
            rows += put(trial=trial, method=method, values=values)
    return only(pd.DataFrame(rows), datasets)


# Figure 6.2

PER_QUERY, N_START, N_TEST = 5, 10, 100
QUERIES = {"diabetes": 768, "iris": 150}


def query_sizes(name: str) -> tuple[int, ...]:
    """Ten labels and then five more at a time."""
    return tuple(range(N_START, QUERIES[name] - N_TEST + 1, PER_QUERY))


def stratified(codes: NDArray[np.intp], n: int, order: NDArray[np.intp]) -> NDArray[np.intp]:
    """``n`` of the rows in ``order``, with the class proportions of all of them."""
    counts = np.bincount(codes[order])
    wanted = np.floor(n * counts / counts.sum()).astype(int)
    rest = np.argsort(-(n * counts / counts.sum() - wanted), kind="stable")
    wanted[rest[: n - wanted.sum()]] += 1
    return np.concatenate([order[codes[order] == c][:k] for c, k in enumerate(wanted)])


SHOWN = (10, 20, 40, 80, 160, 320, 640)


def queries_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """Accuracy of ALNB with five questions at a time (Antonucci et al.)."""
    rows: list[dict[str, Any]] = []
    for name in QUERIES:
        if not any(row.startswith(f"{name},") for row in datasets):
            continue
        X, y = prepare(name)
        _, codes = encode(y.to_numpy())
        sizes = query_sizes(name)
        at = [sizes.index(n) for n in SHOWN if n in sizes]
        shown = [sizes[i] for i in at]
        for trial in range(run.trials or 50):
            order = random_order(len(codes), 62, trial)
            test = stratified(codes, N_TEST, order)
            pool = order[~np.isin(order, test)]
            start = stratified(codes, N_START, pool)
            train = np.concatenate([start, pool[~np.isin(pool, start)]])
            for method, curve in (("ALNB", ALNB), ("NB", NB)):
                values = 1.0 - errors(curve, X, codes, train, sizes, test)
                rows += tidy(name, trial, method, shown, values[at], "accuracy")
    return only(pd.DataFrame(rows), datasets)


# Figures 6.11 to 6.13

N_REMOVED = 7
LIVER = tuple(label_schedule(4, 259, include_n=True))


def last_rows(X: Any, codes: NDArray[np.intp], trials: Iterable[int], n: int) -> NDArray[np.intp]:
    """The rows that active learning leaves to the end most often, of the trials they train in."""
    left, seen = np.zeros(len(codes)), np.zeros(len(codes))
    plan = ALNB.curve_plan(X)
    for trial in trials:
        split = CURVE.split(codes, trial, continuous=True)
        run = CurveTrial(plan, codes, int(codes.max()) + 1, split.order)
        run.asked(split.sizes, run.features)
        left[split.order[run.last_asked[-n:]]] += 1
        seen[split.order] += 1
    return np.argsort(-left / np.maximum(seen, 1), kind="stable")[:n]


def outliers_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """NB and ALNB on liver-disorders, with all rows and without the seven left to the end."""
    X, y = prepare("liver-disorders")
    _, codes = encode(y.to_numpy())
    n_trials = run.trials or 1000
    removed = last_rows(X, codes, range(n_trials), N_REMOVED)
    kept = np.setdiff1d(np.arange(len(codes)), removed)
    rows: list[dict[str, Any]] = []
    for suffix, part in (("", np.arange(len(codes))), (", seven removed", kept)):
        for trial in range(n_trials):
            split = CURVE.split(codes[part], trial, continuous=True)
            sizes = (*(n for n in LIVER if n < len(split.order)), len(split.order))
            for method, curve in ((f"NB{suffix}", NB), (f"ALNB{suffix}", ALNB)):
                values = errors(curve, X[part], codes[part], split.order, sizes, split.test)
                named = [n if n < len(split.order) else LIVER[-1] for n in sizes]
                rows += tidy("liver-disorders", trial, method, named, values, "error")
    return only(pd.DataFrame(rows), datasets)


# The list


def add(
    number: str,
    title: str,
    datasets: tuple[str, ...],
    methods: tuple[str, ...],
    protocol: str,
    run: Callable[[Table, Run, list[str]], Outcome],
    **options: Any,
) -> None:
    """Register a figure."""
    published = options.pop("published", no_numbers())
    register(Table("S1", number, title, datasets, methods, protocol, published, run, **options))


def areas_of_pairs(names: tuple[str, ...]) -> pd.DataFrame:
    """Published areas of NB and SSNB on data sets and on their twins."""
    plain = pd.concat([published_areas("3.3"), published_areas("3.4")])
    twins = pd.concat([published_areas("3.5"), published_areas("3.6")])
    twins = twins.rename(index=lambda name: f"{name}{TWIN}", level="dataset")
    every = pd.concat([plain, twins])
    return every[every.index.get_level_values("dataset").isin(names)]


def on_line(datasets: list[str]) -> dict[str, Any]:
    """Data of figure 3.2 under its one name."""
    return dict.fromkeys(datasets, line_data)


def add_all() -> None:
    """Register the figures of the source that have a target of their own."""
    nothing: dict[str, Any] = {"needs": lambda name: "iris"}  # comes with scikit-learn
    what = rows_of("two normal distributions", STARTS)
    add(
        "figures-1.8-1.9",
        "Active learning from a good and from a bad start",
        what,
        ("passive", "active, good start", "active, bad start", "random, bad start",
         "semi-supervised, bad start"),
        "Two spherical normal distributions in the plane, means (-1, -1) and (1, 1), variance 1 "
        "(the source does not say which); 2,200 rows of each, 400 of them to train and 4,000 to "
        "test, in 100 trials. The source picks two good and two bad rows of each class by eye; "
        f"here they are the best and the worst of {N_STARTS} random starts by the error of the "
        "first model on the training rows.",
        starts_run,
        score="error on the test rows",
        quick=what,
        printed_figure="the text says that active learning from a good start is much lower than "
        "from a bad one (1.8), and that semi-supervised learning from the bad start may find the "
        "best solution at once (1.9).",
        **nothing,
    )  # fmt: skip
    add(
        "figure-3.2",
        "NB and SSNB on one normal feature",
        ("one feature",),
        ("NB", "SSNB"),
        "Two normal distributions on a line, means -1 and 1, variance 1; 2,048 rows to train and "
        "65,536 to test, in 100 trials (10,000 in the source), from two labels of each class on.",
        partial(curves_run, data=on_line, protocol=ON_LINE),
        quick=("one feature",),
        printed_figure="the text says that SSNB is better, above all with very few labels, and "
        "converges rapidly in the number of labels.",
        **nothing,
    )
    pairs = ("splice", "new-thyroid", "audiology")
    names = tuple(f"{name}{end}" for name in pairs for end in ("", TWIN))
    add(
        "figures-3.3-3.5",
        "Curves of NB and SSNB on data sets and on their synthetic twins",
        names,
        ("NB", "SSNB"),
        f"{SPLIT} Nursery and waveform, which figure 3.4 has, are not at hand.",
        curves_run,
        published=areas_of_pairs(names),
        needs=original,
        quick=("new-thyroid", f"new-thyroid{TWIN}"),
        printed_figure="by its text SSNB is better than NB on splice, new-thyroid and their twins "
        "(3.3), and not on audiology and its twin (3.5).",
    )
    what = rows_of("mushroom", SHARES)
    add(
        "figures-5.1-5.4",
        "Mean probability of a class of mushroom",
        what,
        ("true share", "mean probability (5.1)", "sigmoid of the mean log-odds (5.2)",
         "mean probability, recalibrated (5.4)"),
        f"{SPLIT} SSNB, means over the unlabeled rows; the recalibration of 5.4 is to the true "
        "share, with the printed α of table 5.4, and the probabilities are those of the model "
        "fitted to it (the recalibrated ones have the true share by construction). The histograms "
        "of figure 5.3 are not drawn: that the mean log-odds are at 0 or 1 is what they show.",
        shares_run,
        score="mean over the unlabeled rows",
        value="share",
        needs=lambda name: "mushroom",
        quick=what[::4],
        printed_figure="by its text the mean is off the true share, unstable to about 30 labels "
        "and at a stable distance after (5.1), and pushed to 0 or 1 by the mean log-odds (5.2).",
    )  # fmt: skip
    what = tuple(
        row
        for name in QUERIES
        for row in rows_of(name, [n for n in SHOWN if n in query_sizes(name)])
    )
    add(
        "figure-6.2",
        "Active learning with five questions at a time",
        what,
        ("NB", "ALNB"),
        "50 trials; 100 rows to test and 10 labels to start with, both stratified, five more "
        "labels at a time until all rows are labeled.",
        queries_run,
        score="accuracy on the test rows",
        value="accuracy",
        higher_is_better=True,
        needs=lambda row: row.split(",")[0],
        quick=tuple(row for row in what if row.startswith("iris")),
        printed_figure="the text only says that the curves of ALNB are those of Antonucci et al.; "
        "NB with random labels is ours.",
    )
    what = rows_of("liver-disorders", LIVER)
    add(
        "figures-6.11-6.13",
        "The last rows that active learning asks for",
        what,
        ("NB", "ALNB", "NB, seven removed", "ALNB, seven removed"),
        "75 % of the rows to train, 1,000 trials. Removed are the seven rows that are most often "
        "among the last seven questions of the trials in which they train; the source marks its "
        "seven in a figure (6.12).",
        outliers_run,
        score="error on the test rows",
        needs=lambda name: "liver-disorders",
        quick=what,
        printed_figure="by its text the error of ALNB rises again sharply at the end (6.11), and "
        "the end differs hugely without the seven rows, which improves passive learning (6.13).",
    )


add_all()
