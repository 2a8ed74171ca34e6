"""Does a graph learned from the answer of Poisson MBO give a better answer in a second round?

    python benchmarks/learned_graph.py [digits] [mnist] [--draws 10] [--seed 9000]
                                       [--counts 1 2 5 10]

``PoissonMBOClassifier`` labels all rows on the default graph. These labels, wrong ones included,
choose a metric in which the graph is built again, and a second fit starts from the given labels on
that graph. The metric is Euclidean in

- the shrunken linear discriminants of these labels,
- the columns with the discriminants beside them, both with the same mean square,
- the columns with scores of logistic regression beside them; the scores of a row are from a fit to
  the labels of the other four fifths of the rows, so that a wrong label does not confirm itself.

Prints the mean accuracy on the unlabeled rows, and the gain over the first round with the standard
error of the paired difference. ``mnist`` (4,000 images) needs the directory ``LEAVEN_DATA``.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from accuracy import few_labels, problems
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leaven.graph import KNNGraph
from leaven.graph_based import PoissonMBOClassifier


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


def one_draw(X, truth, graph, per_class, seed):
    y = few_labels(truth, per_class, seed)
    free = y < 0
    first = PoissonMBOClassifier(graph).fit(X, y).transduction_
    answers = {"first round": first}
    for name, metric in METRICS.items():
        Z = metric(X, first)
        answers[name] = PoissonMBOClassifier(KNNGraph()).fit(Z, y).transduction_
    return {name: (answer == truth)[free].mean() for name, answer in answers.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["digits", "mnist"])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--seed", type=int, default=9_000)
    parser.add_argument("--counts", type=int, nargs="*", default=[1, 2, 5, 10])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for title, _, X, truth, _ in problems(options.parts):
        # A pixel that is the same in all images has no variance to divide by.
        X = np.asarray(X, dtype=float)[:, np.ptp(X, axis=0) > 0]
        graph = FrozenEstimator(KNNGraph().fit(X))
        for count in options.counts:
            seeds = range(options.seed, options.seed + options.draws)
            draws = [one_draw(X, truth, graph, count, seed) for seed in seeds]
            first = np.array([draw["first round"] for draw in draws])
            print(f"{title}, {count} per class: first round {100 * first.mean():.1f}", flush=True)
            for name in METRICS:
                gain = 100 * (np.array([draw[name] for draw in draws]) - first)
                error = gain.std(ddof=1) / np.sqrt(len(gain))
                print(f"  {name} {gain.mean():+.1f} ± {error:.1f}", flush=True)
