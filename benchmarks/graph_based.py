"""Speed of every graph method on one ready graph of 70,000 nodes.

    python benchmarks/graph_based.py [methods] [mincut] [sweep] [spectral]

``methods``: k = 10, 10 classes, ten labels a class (MNIST from ``LEAVEN_DATA`` or made-up
rows): each method's time beside the time of building the exact graph. ``mincut``: two
classes, a million nodes. ``sweep``: one sweep of loopy belief propagation beside one copy of
as many bytes as it must touch. ``spectral``: 80 eigenvectors beside ``eigsh(which="SM")``.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np
from scipy.sparse.linalg import eigsh
from sklearn.datasets import make_blobs
from sklearn.frozen import FrozenEstimator

import leaven.graph_based as gb
from graph import few_labels, mnist_or_made, timed
from leaven.graph import KNNGraph

warnings.simplefilter("ignore")
# Without a graph that is given: kernels of all rows, and anchors.
KERNEL_METHODS = ("LaplacianRLSClassifier", "LaplacianSVC", "AnchorGraphClassifier")


def classifiers():
    for name in gb.__all__:
        cls = getattr(gb, name)
        if isinstance(cls, type) and hasattr(cls, "predict") and name not in KERNEL_METHODS:
            yield name, cls


def methods():
    name, X, truth = mnist_or_made()
    builder, build = timed(lambda: KNNGraph(10, algorithm="exact", n_jobs=-1).fit(X))
    print(f"# {name}: {builder.graph_}; exact graph built in {build:.1f} s")
    frozen, y = FrozenEstimator(builder), few_labels(truth, 10)
    for name, cls in classifiers():
        model, seconds = timed(lambda cls=cls: cls(graph=frozen).fit(X, y))
        accuracy = (model.transduction_ == truth)[y < 0].mean()
        verdict = "" if seconds < build else "   SLOWER THAN BUILDING"
        print(
            f"{name:32s} {seconds:7.2f} s, {seconds / build:5.2f} of building, "
            f"accuracy {accuracy:.3f}{verdict}",
            flush=True,
        )


def mincut(n):
    X, truth = make_blobs(n, 16, centers=400, cluster_std=3.0, random_state=0)
    X, truth = X.astype(np.float32), truth % 2
    graph = FrozenEstimator(KNNGraph(10, algorithm="approximate").fit(X))
    y = few_labels(truth, 5_000)
    model, seconds = timed(lambda: gb.MinCutClassifier(graph).fit(X, y))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    accuracy = (model.transduction_ == truth)[y < 0].mean()
    print(
        f"min-cut, {n:,} nodes: {seconds:.1f} s (goal 60), peak {peak:.2f} GB (goal 8), "
        f"accuracy {accuracy:.3f}"
    )


def sweep():
    _name, X, truth = mnist_or_made()
    graph = FrozenEstimator(KNNGraph(10, algorithm="approximate").fit(X))
    y = few_labels(truth, 10)
    few, short = timed(lambda: gb.BeliefPropagationClassifier(graph, max_iter=2).fit(X, y))
    many, long = timed(lambda: gb.BeliefPropagationClassifier(graph, max_iter=22).fit(X, y))
    one = (long - short) / max(many.n_iter_ - few.n_iter_, 1)
    # Each directed edge reads the belief of its tail and the message against it, writes its own,
    # and adds it to the belief of its head: four rows of 10 classes, two read and two written.
    dtype = graph.graph_.adjacency.dtype
    messages = np.zeros((graph.graph_.adjacency.nnz, 20), dtype=dtype)
    copy = min(timed(messages.copy)[1] for _ in range(5))
    print(f"loopy sweep {one:.3f} s, bytes-bound {copy:.3f} s, ratio {one / copy:.1f} (goal 4)")


def spectral(n_eigenvectors=80):
    _name, X, _ = mnist_or_made()
    graph = KNNGraph(10, algorithm="approximate").fit(X).graph_
    y = np.full(graph.n_nodes, -1)
    y[:20] = np.arange(20) % 2
    from leaven.graph import GivenGraph

    model = gb.SpectralTransducer(GivenGraph(graph), n_eigenvectors=n_eigenvectors)
    _, ours = timed(lambda: model.fit(X, y))
    start = time.perf_counter()
    L = graph.laplacian("symmetric").astype(float)
    try:
        eigsh(L, k=n_eigenvectors + 1, which="SM", maxiter=2_000, tol=1e-4)
        note = ""
    except Exception as error:
        note = f" (stopped: {type(error).__name__})"
    peer = time.perf_counter() - start
    print(f"80 eigenvectors: {ours:.1f} s, eigsh SM {peer:.1f} s{note}, ratio {peer / ours:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["methods", "mincut", "sweep", "spectral"])
    parser.add_argument("--largest", type=int, default=1_000_000)
    options = parser.parse_args()
    if "methods" in options.parts:
        methods()
    if "mincut" in options.parts:
        mincut(options.largest)
    if "sweep" in options.parts:
        sweep()
    if "spectral" in options.parts:
        spectral()
