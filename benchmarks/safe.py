"""Does SafeClassifier keep its promise? Accuracy over the data sets, against each candidate.

    python benchmarks/safe.py [--sets NAME ...] [--labels 2 5 10 20] [--draws 10] [--jobs 1]
                              [--out safe.jsonl] [--caution 1.0]

Every table and image set that ``leaven.datasets`` finds (``LEAVEN_DATA`` names the directory)
is used; texts are left out. Discrete columns become one-hot columns, missing numbers the
median; sets with more than 2,000 rows are cut to 2,000 of them, drawn once with a fixed seed.
Classes with fewer rows than the labels asked for give all rows but one, and classes with a
single row are dropped. Accuracy is that on the unlabeled rows; every candidate has the same
labels. Each result is written to ``--out`` at once, one JSON object a line; results that are
there already are not computed again. At the end the goals are printed:

- never worse than its best supervised candidate by more than one point on average over sets,
- better by at least two points at 2 and 5 labels a class,
- a better mean rank than every single candidate (Nemenyi).

"Its best supervised candidate" is the one that its own cross-validation ranks first, which is
what it would use without unlabeled rows. Printed too are the one that is best on the unlabeled
rows, which nobody can know, and the vote, taken always and without a guard.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path

# One thread each: the jobs are processes.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from leaven.datasets import list_available, load
from leaven.model_selection import SafeClassifier
from leaven.selection import count_votes

MOST_ROWS = 2_000
LABELS = (2, 5, 10, 20)
KEY = ["set", "labels", "draw"]


def set_names():
    table = list_available()
    table = table[table["available"] & table["kind"].ne("text")]
    return table["name"].tolist()


def prepare(name):
    """Numbers and class codes of a data set."""
    bunch = load(name)
    X = pd.DataFrame(bunch.data)
    numbers = X.select_dtypes("number")
    names = X.drop(columns=numbers.columns)
    parts = []
    if bunch.kind == "discrete":
        names, numbers = X, X.iloc[:, :0]
    if numbers.shape[1]:
        parts.append(numbers.fillna(numbers.median()).fillna(0).to_numpy(float))
    if names.shape[1]:
        text = names.astype(object).where(names.notna(), "?").astype(str)
        parts.append(pd.get_dummies(text).to_numpy(float))
    X = np.hstack(parts)
    truth = pd.factorize(np.asarray(bunch.target), sort=True)[0]
    if len(X) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(X), MOST_ROWS, replace=False))
        X, truth = X[rows], truth[rows]
    keep = (truth >= 0) & (np.bincount(truth[truth >= 0])[truth] >= 2)
    return X[keep], pd.factorize(truth[keep], sort=True)[0]


def few_labels(truth, per_class, seed):
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for c in np.unique(truth):
        rows = np.flatnonzero(truth == c)
        y[rng.choice(rows, min(per_class, len(rows) - 1), replace=False)] = c
    return y


def run(name, per_class, draw, caution):
    warnings.simplefilter("ignore")
    X, truth = prepare(name)
    y = few_labels(truth, per_class, draw)
    free = y == -1
    started = time.perf_counter()
    model = SafeClassifier(random_state=draw, caution=caution).fit(X, y)
    seconds = time.perf_counter() - started
    # Each candidate by itself, with the parameters that its folds chose.
    alone = SafeClassifier(random_state=draw)
    candidates, data, _ = alone._set_up(X, y)
    tried = {c["name"]: c for c in model.report_.to_dict()["candidates"] if c["status"] == "tried"}
    accuracy, votes = {}, []
    for candidate in candidates:
        if candidate.name in tried:
            alone._fit_chosen(candidate, tried[candidate.name]["params"], data)
            accuracy[candidate.name] = float((alone.transduction_ == truth)[free].mean())
            if candidate.name in model._voters:
                votes.append(alone.label_distributions_[free])
    return {
        "set": name,
        "labels": per_class,
        "draw": draw,
        "rows": len(truth),
        "seconds": seconds,
        "safe": float((model.transduction_ == truth)[free].mean()),
        "accuracy": accuracy,
        "vote": float((count_votes(votes).argmax(axis=1) == truth[free]).mean()),
        "report": model.report_.to_dict(),
    }


def summarize(results):
    """Print the goals and the mean ranks."""
    rows = []
    for r in results:
        supervised = [c["name"] for c in r["report"]["candidates"] if c["kind"] == "supervised"]
        known = r["accuracy"]
        rows.append(
            {key: r[key] for key in KEY}
            | {
                "safe": r["safe"],
                "vote": r["vote"],
                "supervised": known[r["report"]["best_supervised"]],
                "oracle supervised": max(known[s] for s in supervised if s in known),
                "oracle": max(known.values()),
                "semi": r["report"]["kind"] == "semi-supervised",
                "seconds": r["seconds"],
            }
        )
    table = pd.DataFrame(rows)
    by_set = table.groupby(["set", "labels"], as_index=False).mean(numeric_only=True)
    shown = by_set.drop(columns=["set", "draw"]).groupby("labels").mean()
    columns = ["safe", "vote", "supervised", "oracle supervised", "oracle"]
    shown[columns] *= 100
    shown["gain"] = shown["safe"] - shown["supervised"]
    shown["gain on oracle"] = shown["safe"] - shown["oracle supervised"]
    worst = by_set.assign(gain=100 * (by_set["safe"] - by_set["supervised"]))
    # Over sets, whose gains differ far more than those of the draws of one set.
    shown["gain se"] = worst.groupby("labels")["gain"].sem()
    print(f"{by_set['set'].nunique()} sets, {table['draw'].nunique()} draws")
    print(shown.round(2).to_string())
    print("\nworst sets (points):")
    print(worst.nsmallest(5, "gain")[["set", "labels", "gain"]].round(2).to_string(index=False))
    used = table[table["semi"]]
    share = (used["safe"] > used["supervised"]).groupby(used["labels"]).mean()
    share = ", ".join(f"{100 * value:.0f}% at {labels}" for labels, value in share.items())
    print(f"\nunlabeled rows, where they were used, made it better in {share} labels")
    few = shown.loc[shown.index.isin([2, 5]), "gain"]
    print(f"\nnever worse by more than one point on average: {bool((shown['gain'] >= -1).all())}")
    print(f"better by two points at 2 and at 5 labels: {bool((few >= 2).all())}, on their")
    print(f"average, {few.mean():.2f}: {bool(few.mean() >= 2)}")
    print_ranks(results)


def print_ranks(results):
    """Mean ranks over sets and numbers of labels; a candidate that was skipped comes last."""
    scores = pd.DataFrame(
        [
            {key: r[key] for key in KEY} | {"SafeClassifier": r["safe"]} | r["accuracy"]
            for r in results
        ]
    )
    means = scores.groupby(["set", "labels"]).mean(numeric_only=True).drop(columns="draw")
    means = means.fillna(0.0)
    ranks = means.rank(axis=1, ascending=False).mean().sort_values()
    print("\nmean ranks:")
    print(ranks.round(2).to_string())
    print(f"SafeClassifier has the best mean rank: {ranks.index[0] == 'SafeClassifier'}")
    try:
        from leaven.evaluation import nemenyi_test
    except ImportError:
        print("(the Nemenyi test needs leaven.evaluation)")
        return
    if len(means) < 2:
        return
    found = nemenyi_test(means, higher_is_better=True)
    print(f"Nemenyi: critical difference {found.critical_difference:.3f}, groups {found.groups}")


def read(path):
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="*", default=None)
    parser.add_argument("--labels", nargs="*", type=int, default=list(LABELS))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--caution", type=float, default=1.0)
    parser.add_argument("--out", type=Path, default=Path("safe.jsonl"))
    options = parser.parse_args()
    done = {tuple(r[key] for key in KEY) for r in read(options.out)}
    todo = [
        (name, per_class, draw)
        for draw in range(options.draws)  # outermost: a run that is stopped has whole draws
        for per_class in options.labels
        for name in options.sets or set_names()
        if (name, per_class, draw) not in done
    ]
    jobs = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
        delayed(run)(*job, options.caution) for job in todo
    )
    with options.out.open("a", encoding="utf-8") as file:
        for result in jobs:
            file.write(json.dumps(result) + "\n")
            file.flush()
            print(
                f"{result['set']} {result['labels']} labels, draw {result['draw']}: "
                f"{result['safe']:.3f} by {result['report']['choice']}, {result['seconds']:.1f} s",
                flush=True,
            )
    results = read(options.out)
    if options.sets:
        results = [r for r in results if r["set"] in options.sets]
    summarize([r for r in results if r["labels"] in options.labels])


if __name__ == "__main__":
    main()
