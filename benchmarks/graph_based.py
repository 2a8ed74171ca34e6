"""Speed of every graph method on one ready graph of 70,000 nodes.

    python benchmarks/graph_based.py [methods] [mincut] [sweep] [spectral] [solves] [pipeline]

``methods``: k = 10, 10 classes, ten labels a class (MNIST from ``LEAVEN_DATA`` or made-up
rows): each method's time beside the time of building the exact graph. ``mincut``: two
classes, a million nodes. ``sweep``: one sweep of loopy belief propagation beside one copy of
as many bytes as it must touch. ``spectral``: 80 eigenvectors beside ``eigsh(which="SM")``.
``solves``: up to ``--largest`` rows x 16 columns, ten classes and one label in a hundred rows:
harmonic functions and Poisson learning on a ready graph, Poisson's time over harmonic's, and an
iteration's time over that of a copy of as many bytes as it must move, by SciPy and by numba if it
is installed; on a quarter of the rows also without the coarse space. ``pipeline``: graph and
solve of as many rows beside graphlearning's own (its 10 neighbors by annoy, which it needs, its
Poisson learning), if installed. Both in processor time on one thread (``OMP_NUM_THREADS=1``).
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
from graph import few_labels, mnist_or_made, processor_seconds, timed
from leaven._optional import is_installed
from leaven.graph import KNNGraph
from leaven.graph_based._harmonic import harmonic_function
from leaven.graph_based._poisson import poisson_sources, solve_poisson
from leaven.solvers import _kernels, _linear

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


def blobs(n):
    X, truth = make_blobs(n, 16, centers=400, cluster_std=3.0, random_state=0)
    return X.astype(np.float32), truth % 10


def copied_bytes_per_second():
    source = np.ones(1 << 26, dtype=np.float32)
    target = np.empty_like(source)
    return (
        2
        * source.nbytes
        / min(processor_seconds(lambda: np.copyto(target, source))[1] for _ in range(5))
    )


def bytes_of_iteration(n, n_entries, k):
    """What a step of block conjugate gradients moves at least, in single precision.

    The matrix once; x, residual and directions read and written once, twice for the latter two
    (the products decide what comes next); the product written once and read twice.
    """
    return 8 * n_entries + 4 * n + 4 * n * k * (2 + 4 + 4 + 3)


def solves(largest):
    speed = copied_bytes_per_second()
    print(f"# a copy moves {speed / 1e9:.1f} GB/s")
    for n in (largest // 4, largest):
        X, truth = blobs(n)
        graph = KNNGraph(algorithm="approximate").build(X)
        bound = bytes_of_iteration(n, graph.adjacency.nnz + n, 10) / speed
        for per_class in (10, n // 1_000):
            y = few_labels(truth, per_class)
            sources, _ = poisson_sources(graph, y, 10)
            print(f"{n:9,} rows, {per_class:5d} labels per class")
            both_solves(graph, y, sources, bound, "SciPy", largest + 1)
            if is_installed("numba"):
                both_solves(graph, y, sources, bound, "numba", 0)
            if n < largest:
                without_coarse_space(graph, y, sources)


def fastest(run):
    """Result and processor time of the fastest of three runs: the others waited for a neighbor."""
    return min((processor_seconds(run) for _ in range(3)), key=lambda pair: pair[1])


def both_solves(graph, y, sources, bound, way, compiled_from):
    usual, _kernels.COMPILED_FROM = _kernels.COMPILED_FROM, compiled_from
    if compiled_from == 0:
        # Compiled once on a machine for each number of columns, and kept in files.
        harmonic_function(graph, y, 10)
        solve_poisson(graph, sources)
    (_, _, harmonic), first = fastest(lambda: harmonic_function(graph, y, 10))
    (_, poisson), second = fastest(lambda: solve_poisson(graph, sources))
    # As many steps more take the difference: the set-up is not in it.
    _, short = fastest(lambda: solve_poisson(graph, sources, max_iter=2))
    _kernels.COMPILED_FROM = usual
    step = (second - short) / (poisson.n_iter - 2)
    print(
        f"    {way}: harmonic {first:6.1f} s ({harmonic.method}, {harmonic.n_iter} steps), Poisson "
        f"{second:6.1f} s ({poisson.n_iter} steps), ratio {second / first:.2f} (goal 1.5); a step "
        f"{1e3 * step:.0f} ms, bytes-bound {1e3 * bound:.0f} ms, ratio {step / bound:.1f} (goal 4)",
        flush=True,
    )


def without_coarse_space(graph, y, sources):
    usual, _linear._COARSE_ABOVE = _linear._COARSE_ABOVE, graph.n_nodes
    (_, _, harmonic), first = processor_seconds(lambda: harmonic_function(graph, y, 10))
    (_, poisson), second = processor_seconds(lambda: solve_poisson(graph, sources))
    _linear._COARSE_ABOVE = usual
    print(
        f"    without a coarse space: harmonic {first:6.1f} s ({harmonic.method}, "
        f"{harmonic.n_iter} steps), Poisson {second:6.1f} s ({poisson.method}, {poisson.n_iter} "
        "steps)",
        flush=True,
    )


def pipeline(n):
    X, truth = blobs(n)
    y = few_labels(truth, n // 1_000)
    for cls in (gb.HarmonicClassifier, gb.PoissonClassifier):
        model, ours = processor_seconds(
            lambda cls=cls: cls(KNNGraph(10, algorithm="approximate")).fit(X, y)
        )
        accuracy = (model.transduction_ == truth)[y < 0].mean()
        print(f"{cls.__name__:20s} {n:,} rows: {ours:7.1f} s, accuracy {accuracy:.3f}", flush=True)
    if not is_installed("graphlearning"):
        print("graphlearning is not installed")
        return
    import graphlearning

    def peer():
        W = graphlearning.weightmatrix.knn(X, 10)
        labeled = np.flatnonzero(y >= 0)
        return graphlearning.ssl.poisson(W).fit_predict(labeled, y[labeled])

    answer, seconds = processor_seconds(peer)
    accuracy = (answer == truth)[y < 0].mean()
    print(
        f"graphlearning's Poisson {n:,} rows: {seconds:7.1f} s, accuracy {accuracy:.3f}; "
        f"ratio to PoissonClassifier {seconds / ours:.1f}"
    )


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
    if "solves" in options.parts:
        solves(options.largest)
    if "pipeline" in options.parts:
        pipeline(options.largest)
