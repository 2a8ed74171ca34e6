"""Are the given labels that leaven suspects the wrong ones? Beside cleanlab, on the same labels.

    python benchmarks/suspects.py [--sets NAME ...] [--labels 20] [--flipped 0.05] [--draws 2]
                                  [--rows 500]

The tables and draws of ``benchmarks/safe.py``, of which a share of the given labels is replaced by
another class at random. Compared are

- leaven: the suspects of ``leaven.selection.assess``, from the held-out probabilities of the
  combination that a fit makes anyway;
- cleanlab: ``find_label_issues`` on five-fold probabilities of logistic regression, which is how
  its tutorials start, and on the held-out probabilities of leaven.

Printed, mean over sets: precision and recall of what is listed, labels listed per table, and the
area under the curve of the ranking. Needs cleanlab (``pip install cleanlab``).
"""

from __future__ import annotations

import argparse
import os
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from safe import few_labels, prepare, set_names
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leaven.selection import assess, make_candidates, select, standard_problem


def flip(codes, share, seed):
    """Give a share of the labels, at least one, another class; return codes and rows."""
    rng = np.random.default_rng(seed)
    labeled = np.flatnonzero(codes >= 0)
    rows = rng.choice(labeled, max(1, round(share * len(labeled))), replace=False)
    n_classes = codes.max() + 1
    codes = codes.copy()
    codes[rows] = (codes[rows] + rng.integers(1, n_classes, len(rows))) % n_classes
    return codes, rows


def measure(listed, quality, wrong):
    """Precision, recall, number listed, and the area under the curve of low quality first."""
    hits = np.isin(listed, np.flatnonzero(wrong)).sum()
    return {
        "precision": hits / len(listed) if len(listed) else np.nan,
        "recall": hits / wrong.sum(),
        "listed": len(listed),
        "AUC": roc_auc_score(wrong, -quality),
    }


def run(name, per_class, share, draw, most_rows):
    X, truth = prepare(name, most_rows)
    codes, flipped = flip(few_labels(truth, per_class, draw), share, draw)
    problem = standard_problem(X, codes, np.unique(truth), seed=draw)
    selection = select(problem, make_candidates(None, problem), random_state=draw)
    found = assess(selection, problem)
    rows = selection.folds.rows
    wrong = np.isin(rows, flipped)
    if not wrong.any():
        return []
    held_out, given = selection.held_out.mean(axis=0), codes[rows]
    suspects = np.flatnonzero(np.isin(rows, [suspect.row for suspect in found.suspects]))
    logistic = cross_val_predict(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
        X[rows],
        given,
        cv=5,
        method="predict_proba",
    )
    results = [{"method": "leaven", **measure(suspects, found.scores, wrong)}]
    peers = {"logistic regression": logistic, "leaven's probabilities": held_out}
    for peer, P in peers.items():
        issues = find_label_issues(given, P, return_indices_ranked_by="self_confidence")
        quality = get_label_quality_scores(given, P)
        results.append({"method": f"cleanlab, {peer}", **measure(issues, quality, wrong)})
    return [{"set": name, "draw": draw, **each} for each in results]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="*", default=None)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--flipped", type=float, default=0.05)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--rows", type=int, default=500)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = []
    for name in options.sets or set_names():
        for draw in range(options.draws):
            results += run(name, options.labels, options.flipped, draw, options.rows)
    table = pd.DataFrame(results)
    print(
        f"{table['set'].nunique()} sets, {options.draws} draws, {options.labels} labels per class"
    )
    columns = ["precision", "recall", "listed", "AUC"]
    print(table.groupby(["method", "set"])[columns].mean().groupby("method").mean().round(3))


if __name__ == "__main__":
    main()
