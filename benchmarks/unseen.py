"""The answers of ``safe.py`` with numbers that their data sets had no part in.

    python benchmarks/safe.py --draws 10 --out safe.jsonl --store DIRECTORY
    python benchmarks/unseen.py DIRECTORY safe.jsonl [--groups 5] [--jobs 1]

The weights and temperatures that candidates have before labels are seen, how the weight of those
that learn from unlabeled rows falls with the number of labels, and the power in the estimate of the
class proportions were chosen on the data sets of ``safe.py``. Here the data sets are dealt into
groups, versions of one data set into the same; all of these numbers are learned anew on the other
groups, and the stored class probabilities of the candidates are combined with them. What is printed
is the accuracy of that beside the shipped combination, its lead over each alternative of
``safe.py`` in the same runs with the standard error over data sets, the worst data sets against the
supervised candidate that folds rank first, and the expected calibration error. The weights on
tables whose columns say little come from the first tables of ``fresh.py`` in both.

Weights are the most likely ones of 200 unlabeled rows per run; the two powers are those with the
highest accuracy. Both are learned on the first draws, which hold other labels than the rest, but
none of the data sets that they are used on.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from members import (
    FADINGS,
    answers,
    faded,
    family,
    learned_members,
    read_runs,
    shipped_members,
    temperature_losses,
)
from safe import KEY, bins_error, read, reliability

LEARNED_DRAWS = 2  # for weights and temperatures
CHOSEN_DRAWS = 1  # for the two powers
LEARNED_ROWS = 200  # unlabeled rows per run
SHARPNESSES = (1.0, 2.0, 3.0)


def cut(run):
    """A run with some of its unlabeled rows, to learn from."""
    few = {"P": run["P"][:, :LEARNED_ROWS], "truth": run["truth"][:LEARNED_ROWS]}
    return run | few | {"losses": temperature_losses(run | few)}


def learn(others, shipped, kinds):
    """Members, and the two powers, of the largest likelihood and accuracy on other data sets."""
    found = learned_members(
        [run for run in others if run["draw"] < LEARNED_DRAWS], shipped, equal=False
    )
    members = {
        name: replace(shipped[name], weight=each.weight, temperature=each.temperature)
        for name, each in found.items()
    }
    chosen = [run for run in others if run["draw"] < CHOSEN_DRAWS]
    right = {way: [] for way in product(FADINGS, SHARPNESSES)}
    for run, power in product(chosen, FADINGS):
        of_power = answers(run, faded(members, kinds, run["labels"], power), SHARPNESSES)
        for sharpness, P in zip(SHARPNESSES, of_power, strict=True):
            right[power, sharpness].append((P.argmax(axis=1) == run["truth"]).mean())
    power, sharpness = max(right, key=lambda way: np.mean(right[way]))
    return members, power, sharpness


def measure(directory, key, numbers, kinds):
    """Accuracy and reliability of one run with learned numbers."""
    members, power, sharpness = numbers
    (run,) = read_runs(directory, "__".join(map(str, key)))
    (P,) = answers(run, faded(members, kinds, run["labels"], power), (sharpness,))
    right = P.argmax(axis=1) == run["truth"]
    bins = reliability(P.max(axis=1), right)
    row = dict(zip(KEY, key, strict=True))
    return row | {"unseen": right.mean(), "ece": bins_error(bins), "bins": bins}


def deal(families, n_groups):
    """Group of each family, the same every time."""
    names = np.random.default_rng(0).permutation(sorted(set(families)))
    return {name: i % n_groups for i, name in enumerate(names)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--groups", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    keys = sorted(
        (name, int(labels), int(draw))
        for name, labels, draw in (p.stem.split("__") for p in options.directory.glob("*.npz"))
    )
    early = [
        cut(run)
        for draw in range(LEARNED_DRAWS)
        for run in read_runs(options.directory, f"*__{draw}")
    ]
    shipped, kinds = shipped_members(early)
    group_of = deal([family(name) for name, _, _ in keys], options.groups)
    rows = []
    for group in range(options.groups):
        others = [run for run in early if group_of[family(run["set"])] != group]
        numbers = learn(others, shipped, kinds)
        print(
            f"group {group + 1}: weights fall with power {numbers[1]:g}, proportions by power "
            f"{numbers[2]:g}",
            flush=True,
        )
        rows += Parallel(n_jobs=options.jobs)(
            delayed(measure)(options.directory, key, numbers, kinds)
            for key in keys
            if group_of[family(key[0])] == group
        )
    summarize(pd.DataFrame(rows), read(options.results))


def summarize(unseen, results):
    """Print accuracies, leads and calibration, mean over data sets."""
    with_all = pd.DataFrame(
        {key: r[key] for key in KEY}
        | {"shipped": r["safe"], "its best supervised": r["accuracy"][r["best_supervised"]]}
        | {name: value for name, value in r["accuracy"].items() if name.startswith("sklearn")}
        for r in results
    )
    table = unseen.drop(columns="bins").merge(with_all, on=KEY)
    print(f"{table['set'].nunique()} sets, {table['draw'].nunique()} draws, {len(table)} runs")
    by_set = 100 * table.drop(columns="draw").groupby(["set", "labels"]).mean()
    print(f"accuracy (%), and ece:\n{by_set.groupby('labels').mean().T.round(1).to_string()}")
    leads = by_set.drop(columns=["unseen", "ece"]).rsub(by_set["unseen"], axis=0)
    print(f"\nlead in points:\n{leads.groupby('labels').mean().T.round(1).to_string()}")
    error = leads.groupby("labels").sem().T
    print(f"\nits standard error over sets:\n{error.round(1).to_string()}")
    worst = leads["its best supervised"].groupby("set").mean().nsmallest(5)
    print(f"\nworst sets against its best supervised candidate:\n{worst.round(1).to_string()}")
    for labels, runs in unseen.groupby("labels"):
        of_set = [np.mean(each.tolist(), axis=0) for _, each in runs.groupby("set")["bins"]]
        print(
            f"{labels} labels, ece of all sets together {bins_error(np.mean(of_set, axis=0)):.3f}"
        )


if __name__ == "__main__":
    main()
