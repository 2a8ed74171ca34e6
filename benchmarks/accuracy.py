"""Accuracy of every graph method with its defaults, and of peers, on the same labels.

    python benchmarks/accuracy.py [digits] [mnist] [mnist-all] [text] [--draws 10] [--jobs 2]
                                  [--seed 1000] [--counts 1 2 ...] [--methods NAME ...]
                                  [--out FILE.md]

Digits are scikit-learn's 1,797 images; ``mnist`` (4,000 images, 400 per class), ``mnist-all``
(70,000 images, 50 principal components; only if named, and best with few methods) and ``text``
(three pairs of newsgroups, all words, tf-idf) need the directory ``LEAVEN_DATA``. Peers are
scikit-learn, and graphlearning, ModSSC and scikit-network where graphlearning is installed, whose
graph all three get. ``--methods`` restricts both to those with
these names, as the table has them, ``--counts`` to these numbers of labels per class. Prints
mean ± standard deviation of the accuracy on the unlabeled rows as Markdown, and for every column
whether one of our defaults is ahead of all peers by more than a standard error of the paired
difference, and whether it is ahead of its own variants, such as "PoissonMBO, one run".
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

import leaven.graph_based as gb
from leaven._optional import is_installed
from leaven.graph import KNNGraph

# Not one of the draws on which the default graph was chosen.
SEED = 1_000
COUNTS = {
    "digits": (1, 2, 5, 10),
    "mnist": (1, 2, 5, 10, 15),
    "mnist-all": (1, 2, 5, 10),
    "text": (1, 2, 5, 10, 25),
}
PAIRS = {
    "pc / mac": ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    "windows / mac": ("comp.os.ms-windows.misc", "comp.sys.mac.hardware"),
    "baseball / hockey": ("rec.sport.baseball", "rec.sport.hockey"),
}
KERNEL_METHODS = ("LaplacianRLSClassifier", "LaplacianSVC")
RANDOM = ("RandomizedMinCutClassifier",)


def few_labels(truth, per_class, seed):
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for c in np.unique(truth):
        y[rng.choice(np.flatnonzero(truth == c), per_class, replace=False)] = c
    return y


def our_methods(graph, dense):
    methods = {}
    for name in gb.__all__:
        cls = getattr(gb, name)
        if not (isinstance(cls, type) and hasattr(cls, "predict")):
            continue
        if name == "AnchorGraphClassifier":
            continue  # it has its own graph; see below
        kwargs = {"random_state": 0} if name in RANDOM else {}
        methods[name.removesuffix("Classifier")] = cls(graph=graph, **kwargs)
    methods["Harmonic, no prior"] = gb.HarmonicClassifier(graph, prior=None)
    methods["PoissonMBO, no new cuts"] = gb.PoissonMBOClassifier(graph, recut=False)
    methods["PoissonMBO, one run"] = gb.PoissonMBOClassifier(graph, second_run=False)
    methods["PoissonMBO, one graph"] = gb.PoissonMBOClassifier(graph, refine=0)
    methods["Consistency, prior"] = gb.ConsistencyClassifier(graph, prior="auto")
    if dense:
        methods["AnchorGraph"] = gb.AnchorGraphClassifier(random_state=0)
    return methods


def peers(X, metric, truth):
    found = {
        "scikit-learn LabelSpreading": lambda y: spread(LabelSpreading(), X, y),
        "scikit-learn LabelSpreading, knn": lambda y: spread(
            LabelSpreading(kernel="knn", max_iter=1_000), X, y
        ),
        "scikit-learn LabelPropagation": lambda y: spread(LabelPropagation(), X, y),
        "scikit-learn LabelPropagation, knn": lambda y: spread(
            LabelPropagation(kernel="knn", max_iter=1_000), X, y
        ),
    }
    try:
        import graphlearning as gl
    except ImportError:
        return found
    # Its own defaults (ten neighbors, Gaussian weights) on exact neighbors of unit rows, if
    # the metric is cosine; its own search needs a further package.
    dense = X.toarray() if hasattr(X, "toarray") else X
    unit = normalize(dense) if metric == "cosine" else dense
    distance, index = NearestNeighbors(n_neighbors=11).fit(unit).kneighbors(unit)
    W = gl.weightmatrix.knn(unit, 10, knn_data=(index, distance))

    def fit(model):
        def run(y):
            given = np.flatnonzero(y >= 0)
            with contextlib.redirect_stdout(io.StringIO()):
                return model(W).fit_predict(given, y[given])

        return run

    found["graphlearning Laplace"] = fit(gl.ssl.laplace)
    found["graphlearning Poisson"] = fit(gl.ssl.poisson)
    sizes = np.bincount(truth) / len(truth)
    equal = np.full(len(sizes), 1 / len(sizes))
    found["graphlearning Poisson MBO, told the class sizes"] = fit(
        lambda W: gl.ssl.poisson_mbo(W, sizes)
    )
    found["graphlearning Poisson MBO, equal sizes"] = fit(lambda W: gl.ssl.poisson_mbo(W, equal))
    if is_installed("modssc"):
        found |= modssc_methods(W, sizes)
    if is_installed("sknetwork"):
        found |= scikit_network_methods(W)
    return found


def modssc_methods(W, sizes):
    from modssc.transductive.methods.pde.poisson_learning import (
        PoissonLearningSpec,
        poisson_learning,
    )
    from modssc.transductive.methods.pde.poisson_mbo import PoissonMBOSpec, poisson_mbo

    edges = W.tocoo()

    def fit(method, spec):
        def run(y):
            result = method(
                n_nodes=len(y),
                edge_index=np.vstack([edges.row, edges.col]),
                edge_weight=edges.data.astype(np.float32),
                y=y,
                labeled_mask=y >= 0,
                spec=spec,
            )
            return result.F.argmax(axis=1)

        return run

    return {
        "ModSSC Poisson": fit(poisson_learning, PoissonLearningSpec()),
        "ModSSC Poisson MBO, told the class sizes": fit(poisson_mbo, PoissonMBOSpec(b=sizes)),
        "ModSSC Poisson MBO, sizes of the labels": fit(
            poisson_mbo, PoissonMBOSpec(b_strategy="labeled")
        ),
    }


def scikit_network_methods(W):
    from sknetwork import classification

    W = csr_matrix(W)

    def fit(name):
        # By default it goes on until no label changes, and two texts can change for ever.
        params = {"n_iter": 100} if name == "Propagation" else {}

        def run(y):
            given = {int(row): int(y[row]) for row in np.flatnonzero(y >= 0)}
            answer = getattr(classification, name)(**params).fit_predict(W, given)
            # What it does not reach it marks by -1.
            return np.where(answer < 0, 0, answer)

        return run

    names = ("DiffusionClassifier", "PageRankClassifier", "Propagation")
    return {f"scikit-network {name}": fit(name) for name in names}


def spread(model, X, y):
    return model.fit(X, y).transduction_


def problems(parts):
    data = Path(os.environ.get("LEAVEN_DATA", ""))
    if "digits" in parts:
        X, y = load_digits(return_X_y=True)
        yield "digits", "digits", X, y, "euclidean"
    mnist = data / "digits" / "mnist.npz"
    if "mnist" in parts and mnist.is_file():
        X, y = images(mnist, ("train",))
        rng = np.random.default_rng(0)
        rows = [rng.choice(np.flatnonzero(y == c), 400, replace=False) for c in range(10)]
        rows = np.concatenate(rows)
        yield "MNIST, 4,000", "mnist", X[rows], y[rows], "euclidean"
    if "mnist-all" in parts and mnist.is_file():
        X, y = images(mnist, ("train", "test"))
        X = PCA(50, random_state=0).fit_transform(X)
        yield "MNIST, 70,000, 50 components", "mnist-all", X, y, "euclidean"
    if "text" in parts and (data / "text" / "20news-18828.parquet").is_file():
        news = pd.read_parquet(data / "text" / "20news-18828.parquet")
        for name, pair in PAIRS.items():
            some = news[news["group"].isin(pair)]
            X = TfidfVectorizer().fit_transform(some["text"])
            yield name, "text", X, (some["group"] == pair[1]).to_numpy(int), "cosine"


def images(path, halves):
    """Rows from 0 to 1 and digits of the named halves."""
    with np.load(path) as arrays:
        X = np.concatenate([arrays[f"x_{half}"] for half in halves])
        y = np.concatenate([arrays[f"y_{half}"] for half in halves])
    return X.reshape(-1, 784).astype(np.float32) / 255, y.astype(int)


def one_draw(X, truth, graph, rivals, per_class, seed, wanted):
    warnings.simplefilter("ignore")
    y = few_labels(truth, per_class, seed)
    free = y < 0
    answers = {
        name: model.fit(X, y)
        for name, model in our_methods(graph, not hasattr(X, "toarray")).items()
        if not wanted or name in wanted
    }
    answers = {name: model.transduction_ for name, model in answers.items()}
    answers |= {name: run(y) for name, run in rivals.items()}
    rows = []
    for name, answer in answers.items():
        share = np.bincount(answer[free]).max() / free.sum()
        rows.append((name, (answer == truth)[free].mean(), share))
    return [(per_class, seed, *row) for row in rows]


def is_peer(name):
    return name.startswith(("scikit-learn", "scikit-network", "graphlearning", "ModSSC"))


def report(frame):
    table = frame.groupby(["method", "labels"])["accuracy"].agg(["mean", "std"])
    cells = table.apply(lambda r: f"{100 * r['mean']:.1f} ± {100 * r['std']:.1f}", axis=1)
    lines = [markdown(cells.reset_index(name="cell"))]
    for count, part in frame.groupby("labels"):
        wide = part.pivot_table(index="seed", columns="method", values="accuracy")
        # The defaults only: what other settings add is in the table.
        ours = wide[[m for m in wide if not is_peer(m) and "," not in m]]
        # Who is told the class sizes is compared too, but by itself.
        told = wide[[m for m in wide if is_peer(m) and "told" in m]]
        theirs = wide[[m for m in wide if is_peer(m) and "told" not in m]]
        if ours.empty:
            continue
        best = ours.mean().idxmax()
        gaps = [
            lead(ours[best], rivals[rivals.mean().idxmax()])
            for rivals in (theirs, told)
            if not rivals.empty
        ]
        if gaps:
            lines.append(f"- {count} per class: {best} is " + ", ".join(gaps))
        for name in ours:
            variants = [m for m in wide if m.startswith(f"{name}, ")]
            gaps = [lead(ours[name], wide[variant]) for variant in variants]
            lines += [f"- {count} per class: {name} is {gap}" for gap in gaps]
    stuck = frame[(frame["share"] > 0.999) & ~frame["method"].map(is_peer)]
    lines.append(f"- degenerate (all one class) answers of ours: {len(stuck)}")
    if len(stuck):
        counts = stuck.groupby(["method", "labels"]).size()
        lines.append(f"\n```text\n{counts.to_string()}\n```")
    return "\n".join(lines)


def lead(ours, theirs):
    gap = ours - theirs
    error = gap.std(ddof=1) / np.sqrt(len(gap))
    ahead = "ahead" if gap.mean() > error else "NOT ahead"
    return f"{ahead} of {theirs.name} by {100 * gap.mean():.1f} ± {100 * error:.1f} points"


def markdown(cells):
    wide = cells.pivot_table(index="method", columns="labels", values="cell", aggfunc="first")
    lines = ["| labels per class | " + " | ".join(map(str, wide.columns)) + " |"]
    lines.append("|---" * (len(wide.columns) + 1) + "|")
    lines += [
        f"| {name} | " + " | ".join(row) + " |"
        for name, row in zip(wide.index, wide.values, strict=True)
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["digits", "mnist", "text"])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--counts", type=int, nargs="*", default=[])
    parser.add_argument("--methods", nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sections = []
    for title, kind, X, truth, metric in problems(options.parts):
        seeds = range(options.seed, options.seed + options.draws)
        tasks = [(count, seed) for count in options.counts or COUNTS[kind] for seed in seeds]
        graph = FrozenEstimator(KNNGraph(metric=metric).fit(X))
        # The peers' own graph takes as long as all their answers.
        wanted, rivals = set(options.methods), {}
        if not wanted or any(map(is_peer, wanted)):
            rivals = peers(X, metric, truth)
            rivals = {name: run for name, run in rivals.items() if not wanted or name in wanted}
        rows = Parallel(options.jobs)(
            delayed(one_draw)(X, truth, graph, rivals, count, seed, wanted) for count, seed in tasks
        )
        columns = ["labels", "seed", "method", "accuracy", "share"]
        frame = pd.DataFrame([row for part in rows for row in part], columns=columns)
        sections.append(f"## {title}\n\n{report(frame)}")
        print(sections[-1], flush=True)
    if options.out:
        options.out.write_text("\n\n".join(sections) + "\n")
