"""Merriman-Bence-Osher learning against graphlearning, literal steps and invariants."""

import contextlib
import io

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from leaven.exceptions import UnreachedWarning
from leaven.graph import GivenGraph, Graph, KNNGraph
from leaven.graph_based import PoissonClassifier, PoissonMBOClassifier, _poisson_mbo
from leaven.graph_based._cuts import cut_weight
from leaven.graph_based._mbo import (
    ANNEALED,
    Labeling,
    annealed_mbo,
    chebyshev_sum,
    labeled_cut,
    published_mbo,
    walk_coefficients,
)
from leaven.graph_based._poisson import poisson_sources, solve_poisson

DIGITS, TRUTH = load_digits(return_X_y=True)


def few_labels(truth, per_class, seed):
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for c in np.unique(truth):
        y[rng.choice(np.flatnonzero(truth == c), per_class, replace=False)] = c
    return y


@pytest.fixture(scope="module")
def digits():
    """The largest component of the graph of 600 digits."""
    graph = KNNGraph().build(DIGITS[:600])
    component = graph.components()
    largest = component == np.bincount(component).argmax()
    return graph.subgraph(largest), TRUTH[:600][largest]


@pytest.mark.parametrize("n_steps", [1, 2, 7, 60])
def test_chebyshev_sums_are_the_literal_steps(n_steps, digits):
    graph, _ = digits
    walk = sparse.csr_array(sparse.diags_array(1 / graph.degree) @ graph.adjacency)
    rng = np.random.default_rng(n_steps)
    start, source = rng.random((graph.n_nodes, 3)), rng.normal(size=(graph.n_nodes, 3))
    power, geometric = walk_coefficients(n_steps)
    fast = chebyshev_sum(walk, power, start) + chebyshev_sum(walk, geometric, source)
    u = start
    for _ in range(n_steps):
        u = (u + walk @ u) / 2 + source
    assert_allclose(fast, u, atol=1e-5 * np.abs(u).max())


def test_one_round_by_hand():
    # Weights 3 and 1 on a path: half a step to the neighbors, then the best two of three.
    graph = Graph.from_edges([(0, 1), (1, 2)], [3.0, 1.0])
    sources = np.array([[0.2, -0.2], [0.0, 0.0], [-0.2, 0.2]])
    result = annealed_mbo(
        graph, sources, np.array([0, 1, 1]), np.array([2, 1]), np.zeros(3, bool), [(1, 1, 0.0)]
    )
    # Node 1 keeps half of class 1 and gets 3/8 of class 0 and 1/8 of class 1.
    u = np.array([[0.5 + 0.2, 0.5 - 0.2], [0.375, 0.625], [0.0 - 0.2, 1.0 + 0.2]])
    assert_array_equal(result.labels, [0, 0, 1])
    assert result.trace == [1.0]
    assert_allclose(np.diff(result.scores - u, axis=0), 0.0, atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_published_method_is_that_of_graphlearning(seed, digits):
    gl = pytest.importorskip("graphlearning", reason="graphlearning is not installed")
    graph, truth = digits
    y = few_labels(truth, 2, seed)
    labeled = np.flatnonzero(y >= 0)
    share = np.bincount(truth) / len(truth)
    with contextlib.redirect_stdout(io.StringIO()):
        model = gl.ssl.poisson_mbo(sparse.csr_matrix(graph.adjacency), share, tol=1e-10)
        peer = model.fit_predict(labeled, y[labeled])
    sources, _ = poisson_sources(graph, y, 10)
    start = solve_poisson(graph, sources, tol=1e-10)[0].argmax(axis=1)
    ours = published_mbo(graph, sources, start, share)
    # The same steps in another order of summation: rounding may move single rows.
    assert (ours.labels == peer).mean() > 0.99
    model = PoissonMBOClassifier(
        GivenGraph(graph.adjacency), method="published", prior=share, tol=1e-10
    ).fit(np.zeros((len(y), 1)), y)
    free = y < 0
    assert (model.transduction_ == peer)[free].mean() > 0.99


def test_a_round_of_the_published_method_by_single_nodes():
    edges = {(0, 1): 2.0, (1, 2): 0.5, (2, 3): 3.0, (3, 4): 1.5, (0, 2): 0.7}
    graph = Graph.from_edges(list(edges), list(edges.values()))
    sources = np.array([[0.6, -0.6], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [-0.6, 0.6]])
    start = np.array([0, 0, 1, 1, 1])
    largest = 3.0 + 1.5  # the degree of node 3
    u = np.eye(2)[start]
    for _ in range(3):
        flow = sources.copy()
        for (i, j), weight in edges.items():
            flow[i] -= weight * (u[i] - u[j])
            flow[j] -= weight * (u[j] - u[i])
        u = u + flow / largest
    u = (u - u.min()) / (u.max() - u.min())
    found = published_mbo(graph, sources, start, np.array([0.4, 0.6]), ((3, 1, 0.0),))
    # The first factor is one, and the second the same in all rows.
    assert_allclose(found.scores[:, 0], u[:, 0], atol=1e-12)
    assert_allclose(found.scores[:, 1], u[:, 1] * found.scores[3, 1] / u[3, 1], atol=1e-12)


def test_published_volumes_are_within_the_tolerance_of_the_projection(digits):
    graph, truth = digits
    y = few_labels(truth, 2, 0)
    share = np.linspace(1, 2, 10) / 15
    sources, _ = poisson_sources(graph, y, 10)
    labels = published_mbo(graph, sources, truth, share).labels
    assert np.abs(np.bincount(labels, minlength=10) / len(y) - share).max() < 0.01


def test_sizes_are_exact_without_release(digits):
    graph, truth = digits
    y = few_labels(truth, 1, 3)
    share = np.linspace(1, 3, 10) / 20
    model = PoissonMBOClassifier(
        GivenGraph(graph.adjacency), prior=share, schedule=[(20, 4, 0.0)]
    ).fit(np.zeros((len(y), 1)), y)
    free = y < 0
    counts = np.bincount(model.transduction_[free], minlength=10)
    assert (np.abs(counts - share * free.sum()) < 1).all()
    assert_array_equal(model.transduction_[~free], y[~free])
    assert model.objective_trace_[-1] == pytest.approx(
        cut_weight(graph.adjacency, model.transduction_)
    )


def test_release_stays_within_its_bounds_and_lowers_the_cut(digits):
    graph, truth = digits
    y = few_labels(truth, 2, 1)
    share, free = np.linspace(1, 2, 10) / 15, y < 0
    stages = [(20, 6, 0.0), (20, 6, 0.5)]
    exact, released = (
        PoissonMBOClassifier(GivenGraph(graph.adjacency), prior=share, schedule=stages[:n]).fit(
            np.zeros((len(y), 1)), y
        )
        for n in (1, 2)
    )
    counts = np.bincount(released.transduction_[free], minlength=10) / free.sum()
    assert (counts > 0.5 * share - 0.01).all()
    assert (counts < 1.5 * share + 0.01).all()
    assert released.objective_trace_[-1] < exact.objective_trace_[-1]


def test_it_beats_poisson_learning_on_digits():
    gains = []
    for seed in range(4):
        y = few_labels(TRUTH, 2, seed)
        free = y < 0
        ours = PoissonMBOClassifier(prior="uniform").fit(DIGITS, y).transduction_
        plain = PoissonClassifier(prior="uniform").fit(DIGITS, y).transduction_
        gains.append((ours == TRUTH)[free].mean() - (plain == TRUTH)[free].mean())
    assert np.mean(gains) > 0.005  # 0.02 to 0.03 on average


def test_probabilities_are_graded_and_new_rows_follow_their_neighbors():
    y = few_labels(TRUTH, 3, 0)
    model = PoissonMBOClassifier().fit(DIGITS[:1500], y[:1500])
    p = model.label_distributions_
    free = y[:1500] < 0
    assert_allclose(p.sum(axis=1), 1.0)
    right = model.transduction_ == TRUTH[:1500]
    confidence = p.max(axis=1)
    assert 0.8 < confidence[free].mean() < 0.995  # accuracy 0.97
    assert roc_auc_score(right[free], confidence[free]) > 0.75  # about 0.9
    assert (model.predict(DIGITS[1500:]) == TRUTH[1500:]).mean() > 0.8
    assert_array_equal(model.predict(DIGITS[:1500])[free], model.transduction_[free])


def test_components_without_a_label_or_with_one_class():
    rng = np.random.default_rng(0)
    blobs = [rng.normal(size=(30, 2)) + center for center in (0, 4, 1000, 2000)]
    X = np.vstack(blobs)
    y = np.full(120, -1)
    y[[0, 30, 60]] = [0, 1, 1]
    with pytest.warns(UnreachedWarning, match="30 of 120 rows"):
        model = PoissonMBOClassifier(KNNGraph(5)).fit(X, y)
    assert (model.transduction_[60:90] == 1).all()
    assert_allclose(model.label_distributions_[90:], [[1 / 3, 2 / 3]] * 30)
    assert_allclose(model.predict_proba(X[95:97]), [[1 / 3, 2 / 3]] * 2)
    assert model.n_unreached_ == 30


def test_bad_schedule_is_named():
    with pytest.raises(ValueError, match=r"schedule must hold stages .* got \(5, 0, 0\)"):
        PoissonMBOClassifier(schedule=[(5, 0, 0)]).fit(DIGITS[:30], TRUTH[:30])


@pytest.mark.parametrize("seed", range(6))
def test_names_do_not_decide_who_gets_the_odd_row(seed):
    # Equal shares of an odd number of rows: one class gets a row more, and it was the first.
    X = np.random.default_rng(seed).normal(size=(9, 3))
    codes = np.array([0, 0, 1, 1, -1, -1, -1, -1, -1])
    turned = np.where(codes < 0, -1, 1 - codes)
    P = PoissonMBOClassifier(prior="uniform").fit(X, codes).label_distributions_
    Q = PoissonMBOClassifier(prior="uniform").fit(X, turned).label_distributions_
    assert_allclose(Q[:, ::-1], P, atol=1e-4)


def test_the_cut_with_labels_by_hand():
    graph = Graph.from_edges([(0, 1), (1, 2), (0, 2), (1, 3)], [3.0, 1.5, 0.5, 0.5])
    labels, given = np.array([0, 0, 1, 1]), np.array([False, True, True, False])
    # Cut are 1.5, 0.5 and 0.5: of node 1 that is 2 of 5, of node 2 all of its 2.
    assert graph.degree.tolist() == [3.5, 5.0, 2.0, 0.5]
    expected = 2.5 / 2.75 + 7.0 * (2.0 / 5.0 + 1.0)
    assert_allclose(labeled_cut(graph.adjacency, labels, given, 7.0), expected)
    nobody = np.zeros(4, dtype=bool)
    plain = cut_weight(graph.adjacency, labels) / graph.degree.mean()
    assert_allclose(labeled_cut(graph.adjacency, labels, nobody, 7.0), plain)


@pytest.mark.parametrize("classes", [(1, 8), (1, 7, 8)])
def test_of_two_runs_the_one_with_the_lighter_cut_is_kept(classes):
    rows = np.isin(TRUTH, classes)
    truth = np.searchsorted(classes, TRUTH[rows])
    graph = KNNGraph(connect=True).build(DIGITS[rows])
    nothing = np.zeros((len(truth), 1))

    def cost(model, y, weight):
        return labeled_cut(graph.adjacency, model.fit(nothing, y).transduction_, y >= 0, weight)

    # The second run, by the parameters that make it the only one.
    other = {"source_weight": 0.3} if len(classes) == 2 else {"schedule": ANNEALED[1:]}
    for seed in range(4):
        y, builder = few_labels(truth, 1, seed), GivenGraph(graph)
        twice, once, again = (
            cost(PoissonMBOClassifier(builder, prior="uniform", recut=False, **more), y, 3.0)
            for more in ({}, {"second_run": False}, other)
        )
        assert twice == min(once, again)


def test_a_worse_first_run_is_not_kept(monkeypatch, digits):
    graph, truth = digits
    y = few_labels(truth, 1, 0)
    schedules = []

    def poor_at_first(graph, sources, start, sizes, fixed, schedule):
        schedules.append(tuple(schedule))
        if len(schedules) == 1:
            labels = np.where(fixed, start, (np.arange(len(start)) * 7) % len(sizes))
            return Labeling(labels, np.eye(len(sizes), dtype=np.float32)[labels], [1e9], False)
        return annealed_mbo(graph, sources, start, sizes, fixed, schedule)

    monkeypatch.setattr(_poisson_mbo, "annealed_mbo", poor_at_first)
    nothing = np.zeros((len(truth), 1))
    model = PoissonMBOClassifier(GivenGraph(graph), prior="uniform", recut=False).fit(nothing, y)
    assert schedules == [ANNEALED, ANNEALED[1:]]
    assert model.objective_trace_[0] < 1e9
    assert (model.transduction_ == truth).mean() > 0.6


def test_a_schedule_or_weight_of_ones_own_runs_once(monkeypatch, digits):
    graph, truth = digits
    y, nothing, runs = few_labels(truth, 2, 1), np.zeros((len(truth), 1)), []

    def counted(*args):
        runs.append(args)
        return annealed_mbo(*args)

    monkeypatch.setattr(_poisson_mbo, "annealed_mbo", counted)
    for own in ({"schedule": ANNEALED}, {"source_weight": 2.0}, {"second_run": False}):
        runs.clear()
        PoissonMBOClassifier(GivenGraph(graph), recut=False, **own).fit(nothing, y)
        assert len(runs) == 1
