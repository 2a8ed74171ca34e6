"""What the estimated class proportions are worth, on balanced and unbalanced rows.

    python benchmarks/shares.py [digits] [mnist] [text] [tables] [--draws 4] [--jobs 2]
                                [--seed 1000]

Every problem is used as it is and with some classes cut, to 1:10 or so (MNIST to 1:100 too); labels
are as many for each class (stratified), or drawn as they come with at least one per class
(proportional). There are no lines where the smallest class has no row left without a label.
Prints mean accuracy on the unlabeled rows of harmonic functions with no prior, with the
proportions of the labels, with equal ones and with the estimate, and of Poisson MBO with equal
and with estimated proportions, and without its second run; last, how far the estimate is behind
the best fixed choice, by problem and on average, the lines where that is more than a point, and how
many answers have all unlabeled rows in one class. All but ``digits`` and three tables need the
directory ``LEAVEN_DATA``.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from accuracy import images
from joblib import Parallel, delayed
from safe import prepare
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

from leaven.datasets import list_available
from leaven.graph import GivenGraph, KNNGraph
from leaven.graph_based import HarmonicClassifier, PoissonMBOClassifier

COUNTS = (1, 2, 5, 10)
PAIRS = {
    "pc / mac": ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    "baseball / hockey": ("rec.sport.baseball", "rec.sport.hockey"),
}
TABLES = ("diabetes", "house-votes", "magic04", "pendigits", "splice", "vowel", "waveform-noise")
FIXED = ("none", "labeled", "uniform")


def problems(parts):
    """Yield name, rows, classes, metric, and the classes and numbers of rows to cut to."""
    if "digits" in parts:
        X, y = load_digits(return_X_y=True)
        yield "digits", X, y, "euclidean", (range(1, 10, 2), (None, 80, 25))
    mnist = Path(os.environ.get("LEAVEN_DATA", "")) / "digits" / "mnist.npz"
    if "mnist" in parts and mnist.is_file():
        X, y = images(mnist, ("train",))
        rng = np.random.default_rng(0)
        rows = [rng.choice(np.flatnonzero(y == c), 400, replace=False) for c in range(10)]
        rows = np.concatenate(rows)
        yield "MNIST, 4,000", X[rows], y[rows], "euclidean", (range(1, 10, 2), (None, 40, 4))
    if "tables" in parts:
        for load in (load_breast_cancer, load_iris, load_wine):
            X, y = load(return_X_y=True)
            name = load.__name__.removeprefix("load_")
            yield name, StandardScaler().fit_transform(X), y, "euclidean", ([0], (None, 20))
        available = list_available().query("available")["name"].tolist()
        for name in TABLES:
            if name in available:
                X, y = prepare(name, 2_000)
                yield name, StandardScaler().fit_transform(X), y, "euclidean", ([0], (None, 20))
    news = Path(os.environ.get("LEAVEN_DATA", "")) / "text" / "20news-18828.parquet"
    if "text" in parts and news.is_file():
        table = pd.read_parquet(news)
        for name, pair in PAIRS.items():
            some = table[table["group"].isin(pair)]
            X = TfidfVectorizer().fit_transform(some["text"])
            yield name, X, (some["group"] == pair[1]).to_numpy(int), "cosine", ([0], (None, 190))


def cut(truth, classes, size, rng):
    """Keep ``size`` rows of some classes and all of the others."""
    kept = [
        rng.permutation(np.flatnonzero(truth == c))[: size if c in classes else None]
        for c in np.unique(truth)
    ]
    return np.sort(np.concatenate(kept))


def labels(truth, per_class, proportional, rng):
    y = np.full(len(truth), -1)
    for c in np.unique(truth):
        y[rng.choice(np.flatnonzero(truth == c), 1 if proportional else per_class, False)] = c
    if proportional:
        k = len(np.unique(truth))
        more = rng.choice(np.flatnonzero(y < 0), (per_class - 1) * k, False)
        y[more] = truth[more]
    return y


def one_draw(name, X, truth, metric, classes, size, seed):
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    rows = np.arange(len(truth)) if size is None else cut(truth, classes, size, rng)
    X, truth = X[rows], truth[rows]
    graph = GivenGraph(KNNGraph(metric=metric).build(X))
    nothing = np.zeros((len(truth), 1))
    found = []
    for per_class in COUNTS:
        if per_class >= np.bincount(truth).min():
            continue
        for proportional in (False, True):
            if proportional and per_class == 1:
                continue
            y = labels(truth, per_class, proportional, rng)
            models = {
                "none": HarmonicClassifier(graph, prior=None),
                "labeled": HarmonicClassifier(graph, prior="labeled"),
                "uniform": HarmonicClassifier(graph, prior="uniform"),
                "auto": HarmonicClassifier(graph, prior="auto"),
                "MBO, uniform": PoissonMBOClassifier(graph, prior="uniform"),
                "MBO, one run": PoissonMBOClassifier(graph, second_run=False),
                "MBO, auto": PoissonMBOClassifier(graph),
            }
            drawn = "proportional" if proportional else "stratified"
            for method, model in models.items():
                answer = model.fit(nothing, y).transduction_
                accuracy = (answer == truth)[y < 0].mean()
                one_class = len(np.unique(answer[y < 0])) == 1
                found.append((name, size or "all", drawn, per_class, method, accuracy, one_class))
    return found


def report(frame):
    lines = ["problem", "cut to", "labels", "per class"]
    table = frame.pivot_table(index=lines, columns="method", values="accuracy", sort=False)
    print((100 * table).round(1).to_string())
    print("\nmean\n" + (100 * table.mean()).round(1).to_string())
    fixed = table[list(FIXED)]
    behind, mean = fixed.max(axis=1) - table["auto"], fixed.mean().max() - table["auto"].mean()
    print(f"\nbest of {FIXED} less auto: chosen for each line {100 * behind.mean():.1f} points,")
    print(f"one choice for all lines {100 * mean:.1f} points")
    best = table.groupby("problem", sort=False).mean()
    best["behind"] = best[list(FIXED)].max(axis=1) - best["auto"]
    print("\nby problem\n" + (100 * best).round(1).to_string())
    print("\nlines more than a point behind the best for the line")
    print((100 * behind[behind > 0.01]).round(1).to_string())
    stuck = frame.groupby("method", sort=False)["one class"].agg(["sum", "size"])
    print("\nanswers with all unlabeled rows in one class\n" + stuck.to_string())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["digits", "mnist", "text", "tables"])
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2)
    # Not the draws on which the constants of the estimate were chosen.
    parser.add_argument("--seed", type=int, default=1_000)
    options = parser.parse_args()
    found = Parallel(options.jobs)(
        delayed(one_draw)(name, X, truth, metric, classes, size, seed)
        for name, X, truth, metric, (classes, sizes) in problems(options.parts)
        for size in sizes
        for seed in range(options.seed, options.seed + options.draws)
    )
    columns = ["problem", "cut to", "labels", "per class", "method", "accuracy", "one class"]
    report(pd.DataFrame([row for part in found for row in part], columns=columns))
