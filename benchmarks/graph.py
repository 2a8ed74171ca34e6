"""Speed of the graph layer and of harmonic functions, as ratios to peers in the same run.

    python benchmarks/graph.py [exact] [search] [scale] [--largest N] [--rows blobs normal]

``exact`` compares on 70,000 rows x 50 columns: the exact neighbor graph with scikit-learn's
``kneighbors_graph``, and the fit on a ready graph with the iterations of scikit-learn's
``LabelPropagation(kernel="knn")``. ``scale`` fits up to a million rows x 16 columns end to
end with approximate neighbors and prints the growth of each step as a power of n. ``search``
is the neighbor search alone, in processor time: its growth up to ``--largest`` rows (in clusters
and normal ones, or those named by ``--rows``), and beside
faiss (if installed: an inverted file as wide as the recall needs, and all distances). With
MNIST in the data directory (``LEAVEN_DATA``), ``exact`` uses it instead of made-up rows.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import kneighbors_graph

from leaven._optional import is_installed
from leaven.graph import KNNGraph, NeighborIndex
from leaven.graph_based import HarmonicClassifier

warnings.simplefilter("ignore")


def timed(function):
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def processor_seconds(function):
    """For what runs on one thread: other programs on the machine do not count."""
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def few_labels(truth, per_class, seed=0):
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for c in np.unique(truth):
        y[rng.choice(np.flatnonzero(truth == c), per_class, replace=False)] = c
    return y


def mnist_or_made(n_features=50):
    path = Path(os.environ.get("LEAVEN_DATA", "")) / "digits" / "mnist.npz"
    if path.is_file():
        with np.load(path) as arrays:
            X = np.concatenate([arrays["x_train"], arrays["x_test"]]).reshape(70_000, -1)
            y = np.concatenate([arrays["y_train"], arrays["y_test"]]).astype(int)
        return "MNIST", PCA(n_features, random_state=0).fit_transform(X.astype(np.float32)), y
    rng = np.random.default_rng(0)
    X, y = make_blobs(70_000, n_features, centers=200, cluster_std=4.0, random_state=0)
    return "made", (X + rng.normal(size=X.shape)).astype(np.float32), y % 10


def sklearn_propagation(X, y, k, n_iterations):
    """The iterations of scikit-learn's LabelPropagation(kernel="knn"), graph excluded."""
    graph = kneighbors_graph(X, k, mode="connectivity", include_self=True, n_jobs=-1)
    P = sparse.csr_matrix(graph / graph.sum(axis=1)[:, None])
    Y = np.zeros((len(y), y.max() + 1))
    given = y >= 0
    Y[given, y[given]] = 1
    start = time.process_time()
    F, before, done = Y.copy(), np.zeros_like(Y), n_iterations
    for step in range(n_iterations):
        if np.abs(F - before).sum() < 1e-3:
            done = step
            break
        before = F
        F = P @ F
        F /= np.maximum(F.sum(axis=1, keepdims=True), 1e-300)
        F[given] = Y[given]
    return F, time.process_time() - start, done


def exact():
    name, X, truth = mnist_or_made()
    print(f"# {name}: {X.shape[0]:,} x {X.shape[1]}, k = 10")
    _, bare = timed(lambda: kneighbors_graph(X, 10, mode="distance", n_jobs=-1))
    builder, ours = timed(lambda: KNNGraph(10, algorithm="exact", n_jobs=-1).fit(X))
    print(f"kneighbors_graph                 {bare:7.2f} s")
    print(f"KNNGraph, exact                  {ours:7.2f} s   ratio {ours / bare:.2f} (goal <= 1.3)")
    _, quick = timed(lambda: KNNGraph(10, algorithm="approximate").fit(X))
    print(f"KNNGraph, approximate            {quick:7.2f} s   ratio {quick / bare:.2f}")
    frozen = FrozenEstimator(builder)
    for per_class in (1, 10):
        y = few_labels(truth, per_class)
        model, seconds = processor_seconds(
            lambda y=y: HarmonicClassifier(frozen, prior=None).fit(X, y)
        )
        _, peer, steps = sklearn_propagation(X, y, 10, 1_000)
        accuracy = (model.transduction_ == truth)[y < 0].mean()
        balanced = HarmonicClassifier(frozen, prior="labeled").fit(X, y)
        with_prior = (balanced.transduction_ == truth)[y < 0].mean()
        print(
            f"HarmonicClassifier, {per_class:2d} per class  {seconds:7.2f} s   {model.solver_}, "
            f"{model.n_iter_} iterations; accuracy {accuracy:.3f}, with prior {with_prior:.3f}"
        )
        print(
            f"LabelPropagation iterations      {peer:7.2f} s   {steps} steps; "
            f"ratio {peer / seconds:.1f} (goal >= 5); solve / build {seconds / ours:.2f} (goal < 1)"
        )


def inverted_file(X, k, recall, n_sample=256):
    """The search of faiss, with as many lists as reach the recall on a sample."""
    import faiss

    faiss.omp_set_num_threads(1)
    n, d = X.shape
    n_lists = 2 ** round(np.log2(2 * np.sqrt(n)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, n_lists)
    index.train(X[np.random.default_rng(0).choice(n, min(n, 64 * n_lists), replace=False)])
    index.add(X)
    sample = X[np.random.default_rng(1).choice(n, n_sample, replace=False)]
    truth, _ = faiss.knn(sample, X, k)
    index.nprobe = 4
    while index.nprobe < n_lists:
        found, _ = index.search(sample, k)
        if np.mean(found <= truth[:, -1:] * (1 + 1e-5)) >= recall:
            break
        index.nprobe *= 2
    index.search(X, k)
    return index.nprobe


def search(largest, kinds, recall=0.99, k=8):
    sizes = [n for n in (16_000, 32_000, 64_000, 128_000, 256_000, 1_000_000) if n <= largest]
    for kind in kinds:
        name = {"blobs": "blobs x 16", "normal": "normal x 20"}[kind]
        if kind == "blobs":
            X, _ = make_blobs(sizes[-1], 16, centers=400, cluster_std=3.0, random_state=0)
        else:
            X = np.random.default_rng(0).normal(size=(sizes[-1], 20))
        X = X.astype(np.float32)
        ours = []
        for n in sizes:
            part = np.ascontiguousarray(X[:n])
            _, seconds = processor_seconds(
                lambda part=part: NeighborIndex(
                    part, algorithm="approximate", recall=recall
                ).within(k - 1)
            )
            ours.append(seconds)
            line = f"{name}, {n:9,} rows: cells {seconds:7.2f} s"
            if is_installed("faiss") and n <= 64_000:
                import faiss

                probes, peer = processor_seconds(lambda part=part: inverted_file(part, k, recall))
                _, brute = processor_seconds(lambda part=part: faiss.knn(part, part, k))
                line += (
                    f"; faiss inverted file ({probes} lists) {peer:.2f} s, ratio "
                    f"{peer / seconds:.1f}; faiss, all distances {brute:.2f} s"
                )
            print(line, flush=True)
        if len(sizes) > 1:
            growth = np.polyfit(np.log(sizes), np.log(ours), 1)[0]
            print(f"{name}: growth n^{growth:.2f} (goal 1.15)", flush=True)


def scale(largest):
    sizes = [largest // 8, largest // 4, largest // 2, largest]
    rows = []
    X_all, truth_all = make_blobs(
        largest, 16, centers=400, cluster_std=3.0, random_state=0, shuffle=True
    )
    X_all = X_all.astype(np.float32)
    truth_all = truth_all % 10
    for n in sizes:
        X, truth = X_all[:n], truth_all[:n]
        y = few_labels(truth, n // 1_000)  # one row in a hundred
        builder, build = timed(lambda X=X: KNNGraph(10, algorithm="approximate").fit(X))
        frozen = FrozenEstimator(builder)
        model, solve = processor_seconds(
            lambda X=X, y=y, frozen=frozen: HarmonicClassifier(frozen, prior="labeled").fit(X, y)
        )
        accuracy = (model.transduction_ == truth)[y < 0].mean()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append((n, build, solve))
        print(
            f"{n:9,} rows: graph {build:7.1f} s, solve {solve:6.1f} s ({model.solver_}, "
            f"{model.n_iter_} iterations), accuracy {accuracy:.3f}, peak {peak:.2f} GB",
            flush=True,
        )
    n, build, solve = np.log(np.array(rows)).T
    for name, seconds in (("graph", build), ("solve", solve)):
        print(f"growth of the {name} step: n^{np.polyfit(n, seconds, 1)[0]:.2f}")
    print("n log n over these sizes is n^1.08; peak memory goal 6 GB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["exact", "scale"])
    parser.add_argument("--largest", type=int, default=1_000_000)
    kinds = ("blobs", "normal")
    parser.add_argument("--rows", nargs="*", default=kinds, choices=kinds)
    options = parser.parse_args()
    if "exact" in options.parts:
        exact()
    if "search" in options.parts:
        search(options.largest, options.rows)
    if "scale" in options.parts:
        scale(options.largest)
    sys.exit(0)
