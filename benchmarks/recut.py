"""What the new cuts between pairs of classes are worth in Poisson MBO, set by set.

    python benchmarks/recut.py [digits] [mnist] [mnist-all] [text] [tables] [--draws 5]
                               [--labels 1 2 5 10] [--rows 2000] [--cuts]

Fits ``PoissonMBOClassifier`` with ``recut=False`` and with its default on the same graph and
labels, and prints the mean accuracy of both on the unlabeled rows, in how many draws a boundary
was replaced, and the worst and the best change of a draw. ``mnist`` (4,000 images), ``mnist-all``
(all 70,000, 50 principal components) and ``text`` (three pairs of newsgroups) need the directory
``LEAVEN_DATA``; ``tables`` are those that ``leaven.datasets`` finds, prepared as in
benchmarks/safe.py and standardized, at most ``--rows`` rows of each. The last lines are means over
sets, and over the sets with a replaced boundary. ``--cuts`` prints instead, for every pair of
classes with a cut that is at least a twentieth lighter, what the conditions of a new cut look at,
and what it would do to the accuracy among the rows of the pair.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from accuracy import problems
from safe import few_labels, prepare, set_names
from sklearn.preprocessing import StandardScaler

from leaven.graph import GivenGraph, KNNGraph
from leaven.graph_based import PoissonMBOClassifier
from leaven.graph_based._mbo import ANNEALED, released_sizes, whole_sizes
from leaven.graph_based._recut import Conditions, heaviest_pairs, new_cuts

SEEDS = range(3_000, 4_000)
"""Not those on which the conditions of a new cut were looked at."""


def sets(parts, most_rows):
    for name, _, X, truth, metric in problems(parts):
        yield name, X, truth, metric
    for name in set_names() if "tables" in parts else ():
        if name not in ("digits", "mnist"):
            X, truth = prepare(name, most_rows)
            yield name, StandardScaler().fit_transform(X), truth, "euclidean"


def one_draw(graph, truth, per_class, seed):
    y = few_labels(truth, per_class, seed)
    free, rows = y < 0, np.zeros((len(y), 1))
    answers = [
        PoissonMBOClassifier(GivenGraph(graph), recut=recut).fit(rows, y).transduction_
        for recut in (False, True)
    ]
    before, after = ((answer == truth)[free].mean() for answer in answers)
    return before, after, bool((answers[0] != answers[1]).any())


LAX = Conditions(gain=0.95, rows=0.0, valley=0.0, conductance=1.0)


def print_cuts(name, graph, truth, per_class, seed):
    y = few_labels(truth, per_class, seed)
    model = PoissonMBOClassifier(GivenGraph(graph), recut=False).fit(np.zeros((len(y), 1)), y)
    labels, given = model.transduction_, y >= 0
    sizes = whole_sizes(model.prior_, int((~given).sum()))
    low, high = released_sizes(sizes, ANNEALED[-1][2])
    for a, b in heaviest_pairs(graph.adjacency, labels, len(sizes)):
        inside = (labels == a) | (labels == b)
        part, side, held, right = (
            graph.subgraph(inside),
            labels[inside] == b,
            given[inside],
            truth[inside],
        )
        n_free = (~held).sum()
        least, most = max(low[b], n_free - high[a]), min(high[b], n_free - low[a])
        cuts = [c for c in new_cuts(part, side, held, least, most, LAX) if c.gain <= LAX.gain]
        if cuts:
            cut = min(cuts, key=lambda c: c.gain)
            before, after = (
                100 * (np.where(split, b, a) == right)[~held].mean() for split in (side, cut.split)
            )
            print(
                f"{name:34s} {per_class:3d} {a}/{b} of {len(side):6,} rows: weight x "
                f"{cut.gain:.2f}, {cut.rows:6.1f} rows, valley {min(cut.valley, 999.9):5.1f}, "
                f"conductance {cut.conductance:.4f}, accuracy {before:.1f} -> {after:.1f}",
                flush=True,
            )


def summary(name, count, part):
    change = 100 * (part["after"] - part["before"])
    return (
        f"{name:34s} {count!s:>5s} {100 * part['before'].mean():8.1f} "
        f"{100 * part['after'].mean():8.1f} {part['changed'].sum():4d} of {len(part):3d} "
        f"{change.min():+7.1f} {change.max():+7.1f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["digits", "mnist", "text", "tables"])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--labels", type=int, nargs="*", default=[1, 2, 5, 10])
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--cuts", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if not options.cuts:
        print(f"{'set':34s} labels  before    after     changed   worst    best")
    found, columns = [], ["set", "before", "after", "changed"]
    for name, X, truth, metric in sets(options.parts, options.rows):
        graph = KNNGraph(metric=metric).build(X)
        for count in options.labels:
            if options.cuts:
                for seed in SEEDS[: options.draws]:
                    print_cuts(name, graph, truth, count, seed)
                continue
            rows = [(name, *one_draw(graph, truth, count, seed)) for seed in SEEDS[: options.draws]]
            found += rows
            print(summary(name, count, pd.DataFrame(rows, columns=columns)), flush=True)
    if options.cuts:
        raise SystemExit
    frame = pd.DataFrame(found, columns=columns)
    print(summary("all draws", "", frame))
    for title, part in (("all sets", frame), ("changed draws", frame[frame["changed"]])):
        if part.empty:
            continue
        gain = 100 * (part["after"] - part["before"]).groupby(part["set"]).mean()
        print(
            f"{title}: {len(gain)} sets, mean change of a set {gain.mean():+.2f}, "
            f"worst {gain.min():+.2f}, best {gain.max():+.2f}"
        )
