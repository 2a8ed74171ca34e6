"""Does a graph learned from the answer of Poisson MBO give a better answer in a second round?

    python benchmarks/learned_graph.py [digits] [mnist] [tables] [--draws 10] [--seed 9000]
                                       [--counts 1 2 5 10]

``PoissonMBOClassifier(refine=0)`` labels all rows on the default graph. These labels, wrong ones
included, choose a metric in which the graph is built again. In the first three lines a second fit
starts from the given labels on that graph, and the metric is Euclidean in

- the shrunken linear discriminants of these labels,
- the columns with the discriminants beside them, both with the same mean square,
- the columns with scores of logistic regression beside them; the scores of a row are from a fit to
  the labels of the other four fifths of the rows, so that a wrong label does not confirm itself.

"refine=1" and so on are what the package does: scores of least squares on kernels, without the
label of the row itself, beside the columns, and only the last stages again, from the first answer
on; the last two lines have half and twice the share of the scores.

Prints the mean accuracy on the unlabeled rows, and the gain over the first round with the standard
error of the paired difference. ``mnist`` (4,000 images) and ``tables`` (those of ``safe.py`` with
at most 800 rows, scaled; the standard error is over tables) need the directory ``LEAVEN_DATA``.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from accuracy import few_labels, problems
from safe import few_labels as at_most
from safe import prepare, set_names
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leaven.graph import KNNGraph
from leaven.graph_based import PoissonMBOClassifier, _learned_rows
from leaven.graph_based._learned_rows import SHARE

MOST_ROWS, MOST_COLUMNS = 800, 1_500  # of a table


def discriminants(X, labels):
    return LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X, labels).transform(X)


def out_of_fold_scores(X, labels):
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500))
    return cross_val_predict(model, X, labels, cv=5, method="decision_function")


def side_by_side(X, scores):
    parts = [part - part.mean(axis=0) for part in (X, scores.reshape(len(X), -1))]
    return np.hstack([part / np.sqrt((part**2).sum(axis=1).mean()) for part in parts])


METRICS = {
    "discriminants": discriminants,
    "columns and discriminants": lambda X, y: side_by_side(X, discriminants(X, y)),
    "columns and logistic regression": lambda X, y: side_by_side(X, out_of_fold_scores(X, y)),
}
SHIPPED = {
    "refine=1": (1, SHARE),
    "refine=2": (2, SHARE),
    "refine=3": (3, SHARE),
    "refine=2, half the share": (2, SHARE / 2),
    "refine=2, twice the share": (2, 2 * SHARE),
}


def one_draw(X, truth, y, graph, metrics):
    free = y < 0
    first = PoissonMBOClassifier(graph, refine=0).fit(X, y).transduction_
    answers = {"first round": first}
    for name, metric in metrics.items():
        Z = metric(X, first)
        answers[name] = PoissonMBOClassifier(KNNGraph(), refine=0).fit(Z, y).transduction_
    for name, (refine, share) in SHIPPED.items():
        _learned_rows.SHARE = share
        answers[name] = PoissonMBOClassifier(graph, refine=refine).fit(X, y).transduction_
    return {name: (answer == truth)[free].mean() for name, answer in answers.items()}


def show(title, draws):
    first = np.array([draw["first round"] for draw in draws])
    print(f"{title}: first round {100 * first.mean():.1f}", flush=True)
    for name in draws[0]:
        if name != "first round":
            gain = 100 * (np.array([draw[name] for draw in draws]) - first)
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            print(f"  {name} {gain.mean():+.1f} ± {error:.1f}", flush=True)


def without_constants(X):
    """A column that is the same in all rows has no variance to divide by."""
    return X[:, np.ptp(X, axis=0) > 0]


def tables(counts, seeds):
    """Means over draws of each table, at each number of labels."""
    found = {count: [] for count in counts}
    for name in set_names():
        X, truth = prepare(name, MOST_ROWS)
        if X.shape[1] > MOST_COLUMNS or name in ("digits", "mnist"):
            continue
        X = without_constants(StandardScaler().fit_transform(X))
        graph = FrozenEstimator(KNNGraph().fit(X))
        for count in counts:
            draws = [one_draw(X, truth, at_most(truth, count, seed), graph, {}) for seed in seeds]
            found[count].append({way: np.mean([d[way] for d in draws]) for way in draws[0]})
    for count, means in found.items():
        show(f"{len(means)} tables, {count} per class", means)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["digits", "mnist", "tables"])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--seed", type=int, default=9_000)
    parser.add_argument("--counts", type=int, nargs="*", default=[1, 2, 5, 10])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(options.seed, options.seed + options.draws)
    for title, _, X, truth, _ in problems(options.parts):
        X = without_constants(np.asarray(X, dtype=float))
        graph = FrozenEstimator(KNNGraph().fit(X))
        for count in options.counts:
            draws = [
                one_draw(X, truth, few_labels(truth, count, seed), graph, METRICS) for seed in seeds
            ]
            show(f"{title}, {count} per class", draws)
    if "tables" in options.parts:
        tables(options.counts, seeds)
