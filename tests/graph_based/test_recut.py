"""New cuts between pairs of classes against brute force, planted clusters and noise."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from leaven.graph import GivenGraph, Graph, KNNGraph
from leaven.graph_based import PoissonMBOClassifier, _poisson_mbo
from leaven.graph_based._cuts import cut_weight
from leaven.graph_based._mbo import Labeling, annealed_mbo
from leaven.graph_based._recut import (
    USUAL,
    Conditions,
    heaviest_pairs,
    lighter_split,
    new_cuts,
    recut_pairs,
    sweep_cuts,
)
from leaven.solvers import Solution

TINY_GRAPH = Conditions(gain=1.0, rows=0.0, valley=0.0, conductance=1.0, fewest=4)


def clusters(sizes, seed=0):
    """Build neighbor graphs of separate clouds, joined by thin edges; return rows, graph, cloud."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(truth), 3))
    W = sparse.block_diag([KNNGraph(8).build(X[truth == c]).adjacency for c in range(len(sizes))])
    ends = [
        rng.choice(np.flatnonzero(truth == c), 10)
        for pair in combinations(range(len(sizes)), 2)
        for c in pair
    ]
    first, second = np.concatenate(ends[::2]), np.concatenate(ends[1::2])
    return X, Graph(joined(W, first, second, 0.05)), truth


def joined(W, first, second, weight):
    """Add edges of a weight between two arrays of nodes."""
    ties = sparse.coo_array((np.full(len(first), weight), (first, second)), shape=W.shape)
    return sparse.csr_array(W + ties + ties.T)


def crossed(X, truth, a, b):
    """Cut two clouds across, by their first column."""
    labels = truth.copy()
    for cluster, other in ((a, b), (b, a)):
        rows = np.flatnonzero(truth == cluster)
        labels[rows[np.argsort(X[rows, 0])[: len(rows) // 2]]] = other
    return labels


def one_label_each(labels, truth):
    """Fix one node of every class where the labels are right."""
    fixed = np.zeros(len(truth), dtype=bool)
    for c in np.unique(truth):
        fixed[np.flatnonzero((truth == c) & (labels == c))[-1]] = True
    return fixed


def bounds(labels, fixed, release):
    sizes = np.bincount(labels[~fixed])
    return np.floor(sizes * (1 - release)).astype(int), np.ceil(sizes * (1 + release)).astype(int)


def test_sweep_is_the_weight_of_every_prefix():
    rng = np.random.default_rng(2)
    W = np.triu(rng.uniform(0.1, 1.0, (12, 12)) * (rng.random((12, 12)) < 0.6), 1)
    W += W.T
    order = rng.permutation(12)
    expected = [W[np.ix_(order[: i + 1], order[i + 1 :])].sum() for i in range(11)]
    assert_allclose(sweep_cuts(sparse.csr_array(W), order), expected, rtol=1e-12)


def test_no_split_is_lighter_than_the_lightest():
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(20):
        W = np.triu(rng.uniform(0.1, 1.0, (8, 8)) * (rng.random((8, 8)) < 0.7), 1)
        W[np.arange(7), np.arange(1, 8)] += 0.2  # connected
        graph = Graph(sparse.csr_array(W + W.T))
        fixed = np.isin(np.arange(8), [0, 7])
        # All splits with 2 to 4 further nodes beside node 7, and without node 0, by brute force.
        some = [s for size in (2, 3, 4) for s in combinations(range(1, 7), size)]
        splits = [np.isin(np.arange(8), [*s, 7]) for s in some]
        weights = [cut_weight(graph.adjacency, s.astype(int)) for s in splits]
        best, worst = splits[np.argmin(weights)], splits[np.argmax(weights)]
        better = lighter_split(graph, best, fixed, 2, 4, TINY_GRAPH)
        assert better is None or (better == best).all()
        for cut in new_cuts(graph, worst, fixed, 2, 4, TINY_GRAPH):
            weight = cut_weight(graph.adjacency, cut.split.astype(int))
            assert any((cut.split == s).all() for s in splits)
            assert weight >= min(weights) - 1e-12
            # The figures by their definitions.
            assert cut.gain == pytest.approx(weight / max(weights))
            mean = graph.degree.mean()
            assert cut.rows == pytest.approx((max(weights) - weight) / mean)
            sides = graph.degree[cut.split].sum(), graph.degree[~cut.split].sum()
            assert cut.conductance == pytest.approx(weight / min(sides))
            found += weight < 0.8 * max(weights)
    assert found >= 10


def test_depth_of_a_valley_by_hand():
    # The slowest direction of a path is monotone, so its cuts are the weights themselves.
    graph = Graph.from_edges([(i, i + 1) for i in range(6)], [2.0, 3.0, 2.5, 0.5, 6.0, 1.5])
    fixed = np.isin(np.arange(7), [0, 6])
    cuts = new_cuts(graph, np.arange(7) > 1, fixed, 1, 4, TINY_GRAPH)
    # Between 3.0 and 6.0; the lower one counts.
    assert cuts[0].valley == pytest.approx(3.0 / 0.5)
    assert_array_equal(cuts[0].split, np.arange(7) > 3)


@pytest.mark.parametrize("seed", range(3))
def test_two_clusters_cut_across_are_cut_between(seed):
    X, graph, truth = clusters((180, 180, 160), seed)
    labels = crossed(X, truth, 0, 1)
    fixed = one_label_each(labels, truth)
    low, high = bounds(labels, fixed, 0.0)
    before = labels.copy()
    new, n_moves = recut_pairs(graph, labels, fixed, low, high)
    assert_array_equal(labels, before)  # the input is not written to
    assert n_moves >= 1
    assert (new == truth).mean() > 0.95 > 0.8 > (labels == truth).mean()
    assert_array_equal(np.bincount(new), np.bincount(labels))
    assert_array_equal(new[fixed], truth[fixed])
    assert cut_weight(graph.adjacency, new) < USUAL.gain * cut_weight(graph.adjacency, labels)
    # What is right already stays.
    assert recut_pairs(graph, truth, fixed, *bounds(truth, fixed, 0.25))[1] == 0


def piece_elsewhere():
    """Two clouds, and a piece of the first that is with the class of the second."""
    _X, graph, cloud = clusters((240, 200, 40), seed=4)
    rng = np.random.default_rng(5)
    own, piece = np.flatnonzero(cloud == 0), np.flatnonzero(cloud == 2)
    # The piece hangs on its own cloud by many edges, and by ten on the other one.
    W = joined(graph.adjacency, rng.choice(own, 150), rng.choice(piece, 150), 0.05)
    return Graph(W), np.where(cloud == 0, 0, 1), np.where(cloud == 1, 1, 0)


def test_a_piece_goes_back_to_its_cluster_where_the_sizes_are_free():
    graph, labels, truth = piece_elsewhere()
    fixed = one_label_each(labels, truth)
    new, n_moves = recut_pairs(graph, labels, fixed, *bounds(labels, fixed, 0.25))
    assert n_moves == 1
    assert (new == truth).mean() > 0.98 > (labels == truth).mean()
    # With the sizes held it cannot.
    held, _ = recut_pairs(graph, labels, fixed, *bounds(labels, fixed, 0.0))
    assert_array_equal(np.bincount(held), np.bincount(labels))


@pytest.mark.parametrize("name", ["gain", "rows", "valley", "conductance", "agreement", "fewest"])
def test_every_condition_can_refuse(name):
    X, graph, truth = clusters((180, 180, 160), seed=0)
    labels = crossed(X, truth, 0, 1)
    fixed = one_label_each(labels, truth)
    never = {"gain": 0.0, "rows": 1e3, "valley": 1e9, "conductance": 0.0, "agreement": 1.1}
    conditions = Conditions(**{name: never.get(name, 1_000)})
    new, n_moves = recut_pairs(graph, labels, fixed, *bounds(labels, fixed, 0.0), conditions)
    assert n_moves == 0
    assert_array_equal(new, labels)


@pytest.mark.parametrize(
    ("kind", "n_columns"),
    [("random", 0), *((kind, n) for kind in ("normal", "uniform", "lattice") for n in (2, 4))],
)
def test_noise_has_no_cut_that_is_taken(kind, n_columns):
    rng = np.random.default_rng(7)
    if kind == "random":
        W = sparse.random_array((800, 800), density=0.01, random_state=rng, format="csr")
        graph = Graph(sparse.csr_array(W + W.T))
        truth = rng.integers(0, 3, 800)
    else:
        X = {"normal": rng.normal, "uniform": rng.uniform}.get(kind, rng.normal)(
            size=(800, n_columns)
        )
        if kind == "lattice":
            X = rng.integers(0, {2: 30, 4: 6}[n_columns], (800, n_columns)) + 1e-3 * X
        graph = KNNGraph().build(X)
        truth = np.digitize(X[:, 0] + X[:, 1], np.quantile(X[:, 0] + X[:, 1], [0.3, 0.6]))
    lighter = 0
    for seed in range(3):
        y = np.full(800, -1)
        for c in range(3):
            rows = np.flatnonzero(truth == c)
            y[np.random.default_rng(seed).choice(rows, 2, replace=False)] = c
        rows = np.zeros((800, 1))
        off, on = (
            PoissonMBOClassifier(GivenGraph(graph), prior="uniform", recut=r).fit(rows, y)
            for r in (False, True)
        )
        assert_array_equal(on.transduction_, off.transduction_)
        assert_array_equal(on.objective_trace_, off.objective_trace_)
        fixed, labels = y >= 0, off.transduction_
        lax = Conditions(gain=1.0, rows=0.0, valley=0.0, conductance=1.0)
        lighter += recut_pairs(graph, labels, fixed, *bounds(labels, fixed, 0.25), lax)[1]
    assert lighter >= 1  # there are lighter cuts, and they are refused


def test_labels_must_tell_the_sides_apart():
    X, graph, truth = clusters((180, 180, 160), seed=0)
    labels = crossed(X, truth, 0, 1)
    inside = truth < 2
    part, side = graph.subgraph(inside), labels[inside] == 1
    # Both labels in the same cluster: no direction between the clusters can be oriented.
    fixed = np.zeros(360, dtype=bool)
    fixed[[np.flatnonzero(~side[:180])[0], np.flatnonzero(side[:180])[0]]] = True
    split = lighter_split(part, side, fixed, 0, 358)
    assert split is None or (split == (truth[inside] == 1)).mean() < 0.9
    # A side without any label.
    assert lighter_split(part, side, np.arange(360) == np.flatnonzero(side)[0], 0, 359) is None


def test_small_pieces_keep_their_side():
    X, graph, truth = clusters((180, 180, 160), seed=0)
    labels = crossed(X, truth, 0, 1)
    inside = truth < 2
    W = sparse.block_diag(
        [graph.subgraph(inside).adjacency, sparse.csr_array([[0.0, 2.0], [2.0, 0.0]])]
    )
    side = np.append(labels[inside] == 1, [True, False])
    fixed = np.append(one_label_each(labels, truth)[inside], [False, False])
    size = int((side & ~fixed).sum())
    split = lighter_split(Graph(sparse.csr_array(W)), side, fixed, size, size)
    assert_array_equal(split[-2:], [True, False])
    assert split.sum() == side.sum()
    assert (split[:-2] == (truth[inside] == 1)).mean() > 0.9


def test_pairs_are_in_the_order_of_the_weight_between_them():
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], [3.0, 1.0, 2.0, 5.0, 4.0])
    # 0-2: 5 + 4, 0-1: 3, 1-2: 1.
    pairs = heaviest_pairs(graph.adjacency, np.array([0, 1, 2, 2]), 3)
    assert pairs == [(0, 2), (0, 1), (1, 2)]


def test_the_classifier_leaves_a_bad_end_of_the_diffusion(monkeypatch):
    X, graph, truth = clusters((150, 150, 150), seed=0)
    bad = crossed(X, truth, 0, 1)
    fixed = one_label_each(bad, truth)
    y = np.where(fixed, truth, -1)
    stages, last = [], []

    def stuck(graph, sources, start, sizes, fixed, schedule):
        stages.append(schedule)
        if len(stages) > 1:
            last.append(annealed_mbo(graph, sources, start, sizes, fixed, schedule))
            return last[0]
        return Labeling(bad, np.eye(3, dtype=np.float32)[bad], [7.0], True)

    def misled(graph, sources, *, tol, max_iter):
        return 40.0 * np.eye(3)[bad], Solution(np.zeros((450, 3)), "direct", 1, 0.0, True)

    monkeypatch.setattr(_poisson_mbo, "solve_poisson", misled)
    monkeypatch.setattr(_poisson_mbo, "annealed_mbo", stuck)
    model = PoissonMBOClassifier(GivenGraph(graph), second_run=False).fit(X, y)
    assert (model.transduction_ == truth).mean() > 0.95
    assert len(stages) == 2
    assert len(stages[1]) == 1  # the last stage, once more
    assert model.objective_trace_[0] == 7.0
    assert len(model.objective_trace_) == model.n_iter_ > 1
    # The Poisson equation was sure of another class, and has no part in the scores of these rows.
    assert_array_equal(model.label_distributions_.argmax(axis=1), model.transduction_)
    moved = model.transduction_ != bad
    expected = last[0].scores / _poisson_mbo._TEMPERATURE
    assert_allclose(model.scores_[moved], expected[moved], rtol=1e-6)
    stages.clear()
    left = PoissonMBOClassifier(GivenGraph(graph), second_run=False, recut=False).fit(X, y)
    assert_array_equal(left.transduction_, bad)
