"""Belief propagation against brute force, message by message, and the figures of the thesis.

"The thesis" is H. N. Nguyen (2019), whose figures 3.6 and 3.7 are a chain of 10, a grid of
3 × 9 and a circle of 14 nodes.
"""

import itertools
import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.exceptions import ConvergenceWarning, UnreachedWarning
from leaven.graph import (
    AnisotropicGaussian,
    Cosine,
    EpsilonGraph,
    FullGraph,
    Gaussian,
    GivenGraph,
    Graph,
    GridGraph,
    KNNGraph,
    KNNTreeGraph,
    NormalizedCosine,
    SpanningTreeGraph,
    SumGraph,
)
from leaven.graph_based import MinCutClassifier, _belief, _messages
from leaven.graph_based._belief import (
    BeliefPropagationClassifier,
    feature_influence,
    path_influence,
)
from leaven.graph_based._messages import Forest, flood, to_classes, to_columns

KNOWN = {"check_classifiers_classes": "-1 marks an unlabeled row, not a class"}
OSCILLATING = [
    (0, 2),
    (0, 5),
    (0, 6),
    (1, 2),
    (1, 4),
    (1, 5),
    (2, 4),
    (2, 5),
    (3, 5),
    (4, 6),
    (5, 6),
]


@parametrize_with_checks(
    [BeliefPropagationClassifier(), BeliefPropagationClassifier(SpanningTreeGraph())],
    expected_failed_checks=lambda estimator: KNOWN,
)
def test_sklearn_contract(estimator, check):
    check(estimator)


def rows(n):
    return np.zeros((n, 1))


def ends(n):
    y = np.full(n, -1)
    y[[0, -1]] = [0, 1]
    return y


def chain(n, weights=None):
    return Graph.from_edges([(i, i + 1) for i in range(n - 1)], weights)


def all_labelings(W, y, n_classes):
    """Every labeling that keeps the labels, and the weight that it cuts."""
    free = np.flatnonzero(y < 0)
    choices = np.array(list(itertools.product(range(n_classes), repeat=len(free))), dtype=int)
    labelings = np.tile(y, (len(choices), 1))
    labelings[:, free] = choices
    i, j = np.triu_indices(len(y), 1)
    return labelings, (labelings[:, i] != labelings[:, j]) @ W[i, j]


@st.composite
def trees(draw, n=12, n_classes=2, n_labeled=3):
    """Draw a weighted tree or forest, with and without ties, and labels."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = draw(st.sampled_from([[1.0], [1.0, 2.0, 3.0], [0.1, 0.2, 0.3], None]))
    W = np.zeros((n, n))
    shape = draw(st.sampled_from(["any", "deep", "star"]))
    lowest = {"any": np.zeros(n, dtype=int), "deep": np.maximum(np.arange(n) - 2, 0)}
    for child in range(1, n):
        parent = 0 if shape == "star" else rng.integers(lowest[shape][child], child)
        W[child, parent] = rng.uniform(0.1, 2.0) if values is None else rng.choice(values)
    order = rng.permutation(n)
    W = (W + W.T)[order][:, order]
    y = np.full(n, -1)
    y[rng.choice(n, size=n_labeled, replace=False)] = np.arange(n_labeled) % n_classes
    return W, y


def check_tree(W, y, n_classes, influence):
    labelings, cut = all_labelings(W, y, n_classes)
    model = BeliefPropagationClassifier(GivenGraph(W), influence=influence).fit(rows(len(y)), y)
    assert model.is_exact_
    assert model.converged_
    assert model.cut_value_ == pytest.approx(cut.min(), abs=1e-12)
    best = labelings[cut <= cut.min() + 1e-9]
    assert (best == model.transduction_).all(axis=1).any()
    # The belief of a class is how much more must be cut if the row is to have it.
    for node in np.flatnonzero(y < 0):
        more = [cut[labelings[:, node] == c].min() - cut.min() for c in range(n_classes)]
        assert_allclose(-model.beliefs_[node], more, atol=1e-9)
    assert model.n_ties_ == (best != best[0]).any(axis=0).sum()
    if not influence and n_classes == 2:  # ties to the first class: the least labeling
        assert_array_equal(model.transduction_, best.min(axis=0))


@settings(max_examples=40, deadline=None)
@given(trees(), st.booleans())
def test_two_classes_on_trees_equal_brute_force(problem, influence):
    check_tree(*problem, 2, influence)


@settings(max_examples=25, deadline=None)
@given(trees(n=10, n_classes=3, n_labeled=4), st.booleans())
def test_three_classes_on_trees_equal_brute_force(problem, influence):
    check_tree(*problem, 3, influence)


@settings(max_examples=40, deadline=None)
@given(trees(n=20, n_classes=4, n_labeled=6), st.sampled_from([2, 4]), st.floats(0, 0.5))
def test_flooding_equals_the_exact_pass_on_trees(problem, n_classes, damping):
    W, y = problem
    y = np.where(y < 0, -1, y % n_classes)
    free = y < 0
    evidence = W[np.ix_(free, ~free)] @ np.eye(n_classes)[y[~free]]
    inner = sparse.csr_array(W[np.ix_(free, free)])
    exact = Forest(inner, evidence).beliefs
    loopy = flood(inner, evidence, max_iter=2_000, damping=damping, tol=1e-12)
    assert loopy.converged

    def centered(b):
        return b - b.max(axis=1, keepdims=True)

    assert_allclose(centered(loopy.beliefs), centered(exact), atol=1e-8)
    if damping == 0:  # every message is final once it has come from all leaves
        assert len(loopy.trace) <= free.sum() + 2


def slow_flood(W, y, n_classes, n_sweeps, damping):
    """Equation (3.13) with loops over edges and classes; labeled nodes are nodes too."""
    n = len(y)
    neighbors = [np.flatnonzero(W[i]) for i in range(n)]
    allowed = [range(n_classes) if y[i] < 0 else [y[i]] for i in range(n)]
    old = {(i, j): np.zeros(n_classes) for i in range(n) for j in neighbors[i]}
    for i, j in old:
        if y[i] >= 0:  # a label is sent from the start
            old[i, j] = np.where(np.arange(n_classes) == y[i], 0.0, -W[i, j])
    for _ in range(n_sweeps):
        new = {}
        for i, j in old:
            message = np.empty(n_classes)
            for x_j in range(n_classes):
                message[x_j] = max(
                    -W[i, j] * (x_i != x_j) + sum(old[k, i][x_i] for k in neighbors[i] if k != j)
                    for x_i in allowed[i]
                )
            message -= message.max()
            new[i, j] = (1 - damping) * message + damping * old[i, j]
        old = new
    beliefs = np.array([sum(old[k, i] for k in neighbors[i]) for i in range(n)])
    return beliefs - beliefs.max(axis=1, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("damping", [0.0, 0.25])
@pytest.mark.parametrize("n_sweeps", [1, 2, 4])
def test_flooding_message_by_message(n_classes, damping, n_sweeps, monkeypatch):
    monkeypatch.setattr(_messages, "_IN_CACHE", 12)  # several pieces
    rng = np.random.default_rng(n_sweeps)
    W = np.triu(rng.uniform(0.2, 1.7, size=(11, 11)) * (rng.random((11, 11)) < 0.4), 1)
    W[np.arange(10), np.arange(1, 11)] = 0.6
    W += W.T
    y = np.array([0, 1, n_classes - 1] + [-1] * 8)
    with pytest.warns(ConvergenceWarning):
        model = BeliefPropagationClassifier(
            GivenGraph(W), max_iter=n_sweeps, damping=damping, tol=1e-15
        ).fit(rows(11), y)
    expected = slow_flood(W, y, n_classes, n_sweeps, damping)
    assert_allclose(model.beliefs_[y < 0], expected[y < 0], atol=1e-12)
    assert model.n_iter_ == len(model.objective_trace_) == n_sweeps


@pytest.mark.parametrize("n_classes", [2, 4, 7])
def test_flooding_in_float32(n_classes, monkeypatch):
    rng = np.random.default_rng(n_classes)
    W = KNNGraph(6).build(rng.normal(size=(90, 3))).adjacency
    evidence = rng.random((90, n_classes)) * (rng.random((90, 1)) < 0.2)
    options = {"max_iter": 6, "damping": 0.0, "tol": 1e-15}
    expected = flood(W, evidence, **options).beliefs
    monkeypatch.setattr(_messages, "_IN_CACHE", 100)  # several pieces, the last one shorter
    found = flood(W.astype(np.float32), evidence, **options).beliefs
    assert found.dtype == np.float32
    assert_allclose(found, expected, atol=1e-5 * W.data.max())


CHAIN_10 = np.arange(10.0)[:, None]
CHAINS = [
    GivenGraph(edges=[(i, i + 1) for i in range(9)]),
    KNNTreeGraph(2, weight="binary"),
    KNNTreeGraph(2, weight=Gaussian(2.0)),
    SpanningTreeGraph(weight="inverse-distance"),
]


@pytest.mark.parametrize("graph", CHAINS)
def test_figure_3_6_chain(graph):
    model = BeliefPropagationClassifier(graph).fit(CHAIN_10, ends(10))
    assert_array_equal(model.transduction_, [0] * 5 + [1] * 5)
    assert model.is_exact_
    assert model.n_ties_ == 8
    plain = BeliefPropagationClassifier(graph, influence=False).fit(CHAIN_10, ends(10))
    assert_array_equal(plain.transduction_, [0] * 9 + [1])


@pytest.mark.parametrize("graph", [GridGraph((3, 9)), EpsilonGraph(1.1)])
def test_figure_3_6_grid(graph):
    y = np.full((3, 9), -1)
    y[:, 0], y[:, -1] = 0, 1
    X = np.argwhere(y <= 1).astype(float)
    model = BeliefPropagationClassifier(graph).fit(X, y.ravel())
    labels = model.transduction_.reshape(3, 9)
    assert not model.is_exact_
    assert model.converged_
    assert_array_equal(labels[:, :4], 0)
    assert_array_equal(labels[:, 5:], 1)
    assert (labels[:, 4] == labels[0, 4]).all()
    plain = BeliefPropagationClassifier(graph, influence=False).fit(X, y.ravel())
    assert_array_equal(plain.transduction_.reshape(3, 9)[:, :8], 0)


ANGLE = 2 * np.pi * np.arange(14) / 14
CIRCLE_14 = np.column_stack([np.cos(ANGLE), np.sin(ANGLE)])


@pytest.mark.parametrize(
    "graph", [GivenGraph(edges=[(i, (i + 1) % 14) for i in range(14)]), EpsilonGraph(0.5)]
)
@pytest.mark.parametrize("spread", [0, 1])
def test_figure_3_7_circle(graph, spread):
    y = np.full(14, -1)
    y[np.arange(-spread, spread + 1)] = 1
    y[np.arange(7 - spread, 8 + spread)] = 0
    model = BeliefPropagationClassifier(graph).fit(CIRCLE_14, y)
    right = CIRCLE_14[:, 0]
    assert not model.is_exact_
    assert model.converged_
    assert model.cut_value_ == 2.0
    assert_array_equal(model.transduction_[right > 0.3], 1)
    assert_array_equal(model.transduction_[right < -0.3], 0)
    # Without the index everything in between is the default, the negative class.
    plain = BeliefPropagationClassifier(graph, influence=False).fit(CIRCLE_14, y)
    assert_array_equal(plain.transduction_, np.maximum(y, 0))


def test_a_long_chain_is_cut_at_its_weakest_edge():
    weights = np.random.default_rng(0).uniform(0.5, 1.0, size=2_999)
    weights[1_234] = 0.4
    model = BeliefPropagationClassifier(GivenGraph(chain(3_000, weights))).fit(
        rows(3_000), ends(3_000)
    )
    assert_array_equal(model.transduction_, np.arange(3_000) > 1_234)
    assert model.cut_value_ == pytest.approx(0.4)
    assert model.n_iter_ == 2


def test_never_below_the_minimum_cut():
    rng = np.random.default_rng(2)
    for weight in ("gaussian", "binary"):
        for seed in range(5):
            X, y = rng.normal(size=(60, 2)), np.full(60, -1)
            y[:8] = [0, 1] * 4
            graph = KNNGraph(5, weight=weight)
            cut = MinCutClassifier(graph).fit(X, y).cut_value_
            model = BeliefPropagationClassifier(graph, damping=0.3, max_iter=500).fit(X, y)
            assert model.cut_value_ >= cut - 1e-9, seed
            tree = KNNTreeGraph(5, weight=weight)
            exact = BeliefPropagationClassifier(tree).fit(X, y)
            best = MinCutClassifier(tree).fit(X, y).cut_value_
            assert exact.cut_value_ == pytest.approx(best)


def test_messages_that_do_not_rest_are_reported():
    y = np.array([0, 1] + [-1] * 5)
    graph = GivenGraph(edges=OSCILLATING)
    with pytest.warns(ConvergenceWarning, match="did not come to rest in 200 sweeps"):
        model = BeliefPropagationClassifier(graph).fit(rows(7), y)
    assert not model.converged_
    assert model.residual_ >= 1.0
    assert_allclose(model.label_distributions_.sum(axis=1), 1.0)
    damped = BeliefPropagationClassifier(graph, damping=0.3).fit(rows(7), y)
    assert damped.converged_
    assert damped.residual_ <= 1e-5
    assert damped.objective_trace_[-1] <= 1e-5
    assert damped.n_iter_ < 200


def test_at_rest_another_sweep_changes_nothing():
    X, y = np.random.default_rng(1).normal(size=(80, 2)), np.full(80, -1)
    y[:9] = [0, 1, 2] * 3
    one = BeliefPropagationClassifier(KNNGraph(6), tol=1e-12).fit(X, y)
    assert one.converged_
    W = one.graph_.adjacency
    expected = slow_flood(W.toarray(), y, 3, one.n_iter_ + 3, 0.0)
    assert_allclose(one.beliefs_[9:], expected[9:], atol=1e-9)


@pytest.mark.parametrize("graph", [KNNGraph(6), KNNTreeGraph(6)])
def test_permuting_rows_and_classes_permutes_the_answer(graph):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(90, 2)), np.full(90, -1)
    y[:12] = [0, 1, 2] * 4
    model = BeliefPropagationClassifier(graph).fit(X, y)
    order = rng.permutation(90)
    permuted = BeliefPropagationClassifier(graph).fit(X[order], y[order])
    assert_array_equal(permuted.transduction_, model.transduction_[order])
    assert_allclose(permuted.beliefs_, model.beliefs_[order], atol=1e-9)
    renamed = BeliefPropagationClassifier(graph).fit(X, np.where(y < 0, -1, (y + 1) % 3))
    assert_array_equal(renamed.transduction_, (model.transduction_ + 1) % 3)
    assert_allclose(renamed.label_distributions_[:, [1, 2, 0]], model.label_distributions_)


@pytest.mark.parametrize("scale", [1e-20, 7.3, 1e20])
@pytest.mark.parametrize("builder", [KNNGraph(5), KNNGraph(5, weight="binary"), KNNTreeGraph(5)])
def test_scale_of_the_weights_does_not_matter(scale, builder):
    X, y = np.random.default_rng(8).normal(size=(60, 2)), np.full(60, -1)
    y[:6] = [0, 1, 2] * 2
    W = builder.build(X).adjacency
    model = BeliefPropagationClassifier(GivenGraph(W), damping=0.2).fit(X, y)
    scaled = BeliefPropagationClassifier(GivenGraph(W * scale), damping=0.2).fit(X, y)
    assert_array_equal(scaled.transduction_, model.transduction_)
    assert_allclose(scaled.label_distributions_, model.label_distributions_, atol=1e-6)
    assert scaled.n_ties_ == model.n_ties_


def test_ties_are_found_in_spite_of_rounding():
    # 0.1 + 0.2 is not 0.3 in floating point: the middle node is tied all the same.
    edges, weights = [(0, 3), (1, 3), (2, 3)], [0.1, 0.2, 0.3]
    graph = GivenGraph(Graph.from_edges(edges, weights))
    for y in ([0, 0, 1, -1], [1, 1, 0, -1]):
        model = BeliefPropagationClassifier(graph, influence=False).fit(rows(4), y)
        assert model.n_ties_ == 1
        assert model.transduction_[3] == 0


def test_confidence_by_hand():
    # Row 1 is tied to class 0 by 3 and to class 1 by 1; the mean weight is 2.
    model = BeliefPropagationClassifier(GivenGraph(chain(3, [3.0, 1.0]))).fit(rows(3), [0, -1, 1])
    assert_allclose(model.beliefs_[1], [0.0, -2.0])
    expected = np.array([1.0001, np.exp(-1.0)])
    assert_allclose(model.label_distributions_[1], expected / expected.sum())
    assert_allclose(model.label_distributions_[[0, 2]], np.eye(2))


@pytest.mark.parametrize(
    ("builder", "similarity"),
    [
        (FullGraph(weight=Gaussian(1.3)), lambda D, X: np.exp(-(D**2) / (2 * 1.3**2))),
        (KNNGraph(4, weight="binary"), lambda D, X: 1 / (1 + D)),
        (KNNGraph(4, weight="inverse-distance"), lambda D, X: 1 / (1 + D)),
        (EpsilonGraph(2.0, weight="inverse-distance"), lambda D, X: 1 / (1 + D)),
        (
            KNNGraph(4, weight=AnisotropicGaussian([1.0, 3.0])),
            lambda D, X: np.exp(
                -(((X[:, None] - X[None]) / np.array([1.0, 3.0])) ** 2).sum(axis=2)
            ),
        ),
        (
            KNNGraph(4, metric="cosine", weight=Cosine()),
            lambda D, X: np.maximum(1 - pairwise_distances(X, metric="cosine"), 0),
        ),
    ],
)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_influence_is_the_sum_of_similarities(builder, similarity, as_sparse, monkeypatch):
    monkeypatch.setattr(_belief, "_PAIRS", 17)  # several chunks
    X = np.random.default_rng(0).normal(size=(30, 2))
    codes = np.full(30, -1)
    codes[:7] = [0, 1, 2, 0, 1, 0, 0]
    some = np.array([29, 8, 15, 16, 17, 9])
    given_X = sparse.csr_array(X) if as_sparse else X
    fitted = builder.fit(given_X, codes)
    S = similarity(pairwise_distances(X), X)[some][:, :7]
    expected = S @ np.eye(3)[codes[:7]]
    assert_allclose(feature_influence(fitted, given_X, some, codes, 3), expected)


def test_influence_with_local_scaling():
    X = np.random.default_rng(0).normal(size=(30, 2))
    codes = np.full(30, -1)
    codes[:4] = [0, 1, 1, 0]
    fitted = KNNGraph(5, weight=Gaussian("local", factor=0.8)).fit(X)
    D = pairwise_distances(X)
    scale = np.sort(D, axis=1)[:, 5]
    S = np.exp(-(D**2) / (2 * 0.8**2 * np.outer(scale, scale)))
    found = feature_influence(fitted, X, np.arange(4, 30), codes, 2)
    assert_allclose(found, S[4:, :4] @ np.eye(2)[codes[:4]], rtol=1e-6)


def test_influence_of_labels_too_far_for_the_weight():
    X = np.array([[0.0], [1e3], [2e3], [9e3], [1e4]])
    codes = np.array([0, -1, -1, -1, 1])
    fitted = KNNGraph(1, weight=Gaussian(1.0)).fit(X)
    index = feature_influence(fitted, X, np.array([1, 2, 3]), codes, 2)
    assert_array_equal(index.argmax(axis=1), [0, 0, 1])


def test_influence_along_the_edges():
    W = chain(4, [4.0, 2.0, 4.0]).adjacency
    index = path_influence(W, np.array([0, -1, -1, 1]), 3)
    assert_allclose(
        index, 1 / (1 + np.array([[0, 4, np.inf], [1, 3, np.inf], [3, 1, np.inf], [4, 0, np.inf]]))
    )


@pytest.mark.parametrize(
    "graph",
    [
        SumGraph([KNNGraph(2, weight="binary"), GivenGraph(edges=[(0, 1)])]),
        FrozenEstimator(KNNTreeGraph(2, weight="binary").fit(CHAIN_10)),
        KNNGraph(2, metric="cosine", weight=NormalizedCosine()),
    ],
)
def test_any_builder_has_an_influence(graph):
    X = CHAIN_10 if not isinstance(graph, KNNGraph) else CIRCLE_14[:10]
    model = BeliefPropagationClassifier(graph, damping=0.2).fit(X, ends(10))
    assert_array_equal(model.transduction_[:3], 0)
    assert_array_equal(model.transduction_[7:], 1)


def test_rows_without_a_path_get_the_labeled_proportions():
    edges = [(0, 1), (1, 2), (2, 3), (4, 5)]
    y = np.array([0, -1, 0, 1, -1, -1, -1])
    for more in ([], [(4, 6), (5, 6)]):  # a forest, and a cycle that no label reaches
        graph = GivenGraph(Graph.from_edges(edges + more, n_nodes=7))
        with pytest.warns(UnreachedWarning, match="3 of 7 rows"):
            model = BeliefPropagationClassifier(graph).fit(rows(7), y)
        assert model.n_unreached_ == 3
        assert model.is_exact_ == (not more)
        assert_allclose(model.label_distributions_[4:], [[2 / 3, 1 / 3]] * 3)
        assert_array_equal(model.transduction_, [0, 0, 0, 1, 0, 0, 0])
        assert model.cut_value_ == 1.0


@pytest.mark.parametrize("closed", [False, True])
def test_no_unlabeled_rows(closed):
    y = np.array([0, 1, 1, 2])
    W = chain(4, [1.0, 2.0, 4.0]).adjacency.toarray()
    W[0, 3] = W[3, 0] = 8.0 if closed else 0.0
    model = BeliefPropagationClassifier(GivenGraph(W)).fit(rows(4), y)
    assert_array_equal(model.transduction_, y)
    assert model.cut_value_ == (13.0 if closed else 5.0)
    assert model.converged_


def test_a_self_loop_changes_nothing():
    W = chain(5, [3.0, 1.0, 2.0, 4.0]).adjacency.toarray() + 9 * np.eye(5)
    model = BeliefPropagationClassifier(GivenGraph(W)).fit(rows(5), ends(5))
    assert model.is_exact_
    assert_array_equal(model.transduction_, [0, 0, 1, 1, 1])
    W[0, 2] = W[2, 0] = 0.5
    loopy = BeliefPropagationClassifier(GivenGraph(W)).fit(rows(5), ends(5))
    assert_array_equal(loopy.transduction_, [0, 0, 1, 1, 1])


@pytest.mark.parametrize("graph", [KNNGraph(5), KNNTreeGraph(5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_training_rows_are_predicted_as_transduced(graph, dtype):
    X, digit = load_digits(return_X_y=True)
    X, digit = X[:400].astype(dtype), digit[:400]
    y = np.where(np.arange(400) < 60, digit, -1)
    model = BeliefPropagationClassifier(graph).fit(X, y)
    assert model.label_distributions_.dtype == dtype
    assert_array_equal(model.predict(X), model.transduction_)
    assert (model.transduction_ == digit)[60:].mean() > 0.85


def test_columns_and_classes():
    evidence = np.array([[1.0, 4.0], [2.0, 0.5]])
    assert_allclose(to_columns(evidence), [[3.0], [-1.5]])
    assert_allclose(to_classes(to_columns(evidence)), [[0.0, 3.0], [0.0, -1.5]])
    three = np.arange(6.0).reshape(2, 3)
    assert_array_equal(to_classes(to_columns(three)), three)


def test_verbose_logs_each_sweep(caplog):
    graph = GivenGraph(edges=[(0, 1), (1, 2), (2, 3), (1, 3)])
    with caplog.at_level(logging.INFO, logger="leaven"):
        model = BeliefPropagationClassifier(graph, verbose=1).fit(rows(4), ends(4))
    assert len(caplog.records) == model.n_iter_
    assert caplog.messages[0].startswith("sweep 1: largest change of a belief")


@pytest.mark.parametrize("params", [{"damping": 1.0}, {"max_iter": 0}, {"tol": 0.0}])
def test_bad_parameters(params):
    with pytest.raises(ValueError, match=f"'{next(iter(params))}' parameter of BeliefProp"):
        BeliefPropagationClassifier(**params).fit(rows(3), [0, -1, 1])
