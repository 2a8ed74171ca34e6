"""Minimum cuts against brute force, networkx, and what theory promises."""

import itertools
import logging

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.exceptions import LeavenWarning, UnreachedWarning
from leaven.graph import GivenGraph, Graph, GridGraph, KNNGraph
from leaven.graph_based import MinCutClassifier, RandomizedMinCutClassifier, _cuts
from leaven.graph_based._cut_problem import CutProblem
from leaven.graph_based._cuts import label_distances, minimum_cuts
from leaven.graph_based._network import Network
from leaven.graph_based._randomized_mincut import _edge_numbers

SIDES = ["source", "sink", "balanced"]
KNOWN = {"check_classifiers_classes": "-1 marks an unlabeled row, not a class"}


@parametrize_with_checks(
    [
        MinCutClassifier(),
        MinCutClassifier(KNNGraph(5), side="balanced"),
        RandomizedMinCutClassifier(n_cuts=5),
    ],
    expected_failed_checks=lambda estimator: KNOWN,
)
def test_sklearn_contract(estimator, check):
    check(estimator)


def chain(n, weights=None):
    return Graph.from_edges([(i, i + 1) for i in range(n - 1)], weights)


def ends(n):
    y = np.full(n, -1)
    y[[0, -1]] = [0, 1]
    return y


def rows(n):
    return np.zeros((n, 1))


def all_labelings(W, y, n_classes):
    """Every labeling that keeps the labels, and the weight that it cuts."""
    free = np.flatnonzero(y < 0)
    choices = np.array(list(itertools.product(range(n_classes), repeat=len(free))), dtype=int)
    labelings = np.tile(y, (len(choices), 1))
    labelings[:, free] = choices
    i, j = np.triu_indices(len(y), 1)
    cut = (labelings[:, i] != labelings[:, j]) @ W[i, j]
    return labelings, cut


@st.composite
def problems(draw, n_classes=2, n=12, n_free=10):
    """Draw a connected weighted graph, with ties, tiny and huge weights, and labels."""
    seed = draw(st.integers(0, 2**32 - 1))
    values = draw(
        st.sampled_from(
            [[0.0, 0.1, 0.2, 0.3], [0.0, 0.0, 1.0], [0.0, 1e-11, 3e-11, 0.7, 5.0], [0.3, 2.0, 1e7]]
        )
    )
    rng = np.random.default_rng(seed)
    W = np.triu(rng.choice(values, size=(n, n)), 1)
    if draw(st.booleans()):
        W *= rng.random((n, n))
    path = np.arange(n - 1)
    W[path, path + 1] = np.maximum(W[path, path + 1], max(values) / 7)
    y = np.full(n, -1)
    labeled = rng.choice(n, size=n - n_free, replace=False)
    y[labeled] = np.arange(n - n_free) % n_classes
    return W + W.T, y


@settings(max_examples=40, deadline=None)
@given(problems(n_free=9))
def test_two_classes_equal_brute_force(problem):
    W, y = problem
    labelings, cut = all_labelings(W, y, 2)
    # Exact weights can differ by less than rounding; brute force sums in another order.
    minimal = labelings[cut <= cut.min() + 1e-9 * cut.min() + 1e-14]
    for side in SIDES:
        model = MinCutClassifier(GivenGraph(W), side=side).fit(rows(12), y)
        assert model.cut_value_ == pytest.approx(cut.min(), rel=1e-12)
        assert model.lower_bound_ == pytest.approx(cut.min(), rel=1e-12)
        assert model.rounding_error_ <= 1e-14 * cut.min()
        assert (minimal == model.transduction_).all(axis=1).any()
        assert_array_equal(model.transduction_[y >= 0], y[y >= 0])


@settings(max_examples=40, deadline=None)
@given(problems(n_free=9))
def test_sides_are_the_extreme_cuts(problem):
    W, y = problem
    W = np.round(W * 64)  # integers: ties are exact in any order of summation
    labelings, cut = all_labelings(W, y, 2)
    minimal = labelings[cut == cut.min()]
    fit = {s: MinCutClassifier(GivenGraph(W), side=s).fit(rows(12), y).transduction_ for s in SIDES}
    assert_array_equal(fit["source"], minimal.min(axis=0))  # the cuts are a lattice
    assert_array_equal(fit["sink"], minimal.max(axis=0))
    assert (minimal == fit["balanced"]).all(axis=1).any()
    # Which class is the source makes no difference to how well it is balanced.
    target = (y == 1).sum() + 9 * (y == 1).sum() / (y >= 0).sum()
    swapped = MinCutClassifier(GivenGraph(W), side="balanced").fit(
        rows(12), np.where(y < 0, y, 1 - y)
    )
    off = abs(fit["balanced"].sum() - target)
    assert off == pytest.approx(abs((1 - swapped.transduction_).sum() - target))
    assert off <= abs(fit["source"].sum() - target)
    assert off <= abs(fit["sink"].sum() - target)


def test_cut_value_of_networkx_on_300_nodes():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    y = np.full(300, -1)
    y[:10] = [0, 1] * 5
    model = MinCutClassifier(KNNGraph(7)).fit(X, y)
    peer = model.graph_.to_networkx()
    peer.add_edges_from(("source", int(i)) for i in np.flatnonzero(y == 1))
    peer.add_edges_from(("sink", int(i)) for i in np.flatnonzero(y == 0))
    value = nx.minimum_cut_value(peer, "source", "sink", capacity="weight")
    assert model.cut_value_ == pytest.approx(value, rel=1e-12)
    assert model.rounding_error_ == 0


def test_the_weakest_edge_of_a_chain_is_cut():
    graph = GivenGraph(chain(6, [0.9, 0.4, 0.31, 0.3, 0.7]))
    model = MinCutClassifier(graph).fit(rows(6), ends(6))
    assert_array_equal(model.transduction_, [0, 0, 0, 0, 1, 1])
    assert model.cut_value_ == 0.3
    assert_array_equal(model.label_distributions_, np.eye(2)[[0, 0, 0, 0, 1, 1]])


def test_weights_of_very_different_size():
    # Rounded to 30 bits both thin edges would be nothing, and either cut as good.
    graph = GivenGraph(chain(6, [1.0, 2e-13, 1e5, 1e-13, 1.0]))
    for side in SIDES:
        model = MinCutClassifier(graph, side=side).fit(rows(6), ends(6))
        assert_array_equal(model.transduction_, [0, 0, 0, 0, 1, 1])
        assert model.cut_value_ == 1e-13


@pytest.mark.parametrize("scale", [1e-290, 1e-30, 1e30, 1e290])
def test_scale_of_the_weights_does_not_matter(scale):
    weights = np.array([0.9, 0.4, 0.31, 0.3, 0.7])
    model = MinCutClassifier(GivenGraph(chain(6, weights * scale))).fit(rows(6), ends(6))
    assert_array_equal(model.transduction_, [0, 0, 0, 0, 1, 1])
    assert model.cut_value_ == pytest.approx(0.3 * scale)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), np.full(80, -1)
    y[:6] = [0, 1, 2] * 2
    W = KNNGraph(6).build(X).adjacency
    expected = MinCutClassifier(GivenGraph(W)).fit(X, y)
    scaled = MinCutClassifier(GivenGraph(W * 3.7)).fit(X, y)
    assert_array_equal(scaled.transduction_, expected.transduction_)


def test_a_single_round_says_how_far_off_it_may_be():
    rng = np.random.default_rng(1)
    for _ in range(20):
        W = np.triu(rng.random((9, 9)) ** 30, 1)  # most weights are far below the largest
        W += W.T
        best = all_labelings(W, np.array([0, 1] + [-1] * 7), 2)[1].min()
        rough = minimum_cuts(sparse.csr_array(W), 1, 0, max_rounds=1)
        value = W[np.ix_(rough.smallest(), ~rough.smallest())].sum()
        assert 0 < rough.gap < 1e-5
        assert best * (1 - 1e-12) <= value <= best + rough.gap * (1 + 1e-9)
        assert minimum_cuts(sparse.csr_array(W), 1, 0).gap == 0


def test_sides_on_the_chain_and_the_circle():
    fit = {
        s: MinCutClassifier(GivenGraph(chain(10)), side=s).fit(rows(10), ends(10)) for s in SIDES
    }
    assert_array_equal(fit["source"].transduction_, [0] * 9 + [1])
    assert_array_equal(fit["sink"].transduction_, [0] + [1] * 9)
    assert_array_equal(fit["balanced"].transduction_, [0] * 5 + [1] * 5)
    circle = GivenGraph(edges=[(i, (i + 1) % 14) for i in range(14)])
    y = np.full(14, -1)
    y[[0, 13]], y[[6, 7]] = 0, 1
    model = MinCutClassifier(circle, side="balanced").fit(rows(14), y)
    assert_array_equal(model.transduction_, [0] * 4 + [1] * 6 + [0] * 4)
    assert model.cut_value_ == 2.0


def test_the_balanced_side_follows_the_labeled_proportions():
    # 3 of 4 labels are positive: of the 8 rows between them 6 should be.
    y = np.full(12, -1)
    y[0], y[-3:] = 0, 1
    model = MinCutClassifier(GivenGraph(chain(12)), side="balanced").fit(rows(12), y)
    assert_array_equal(model.transduction_, [0] * 3 + [1] * 9)


def test_balance_on_the_grid_keeps_columns_together():
    y = np.full((3, 9), -1)
    y[:, 0], y[:, -1] = 0, 1
    model = MinCutClassifier(GridGraph((3, 9)), side="balanced").fit(rows(27), y.ravel())
    labels = model.transduction_.reshape(3, 9)
    assert model.cut_value_ == 3.0
    assert (labels == labels[0]).all()
    assert labels[0].sum() in (4, 5)


def test_balance_does_not_depend_on_which_class_is_the_source():
    # Two chains from label to label, joined by a weak edge that the nearness does not heed:
    # one order of joining comes to 4 and 12 rows at best, the order from the other end to 5 and 11.
    first = [1.0, 5.0, 5.0, 1.0, 1.0, 3.0, 4.0, 1.0]
    second = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]
    edges = [*itertools.pairwise(range(8)), (7, 15), (0, 8), *itertools.pairwise(range(8, 16))]
    graph = Graph.from_edges([*edges, (1, 13), (3, 5)], [*first, *second, 0.1, 0.2])
    for y in (ends(16), np.where(ends(16) < 0, -1, 1 - ends(16))):
        model = MinCutClassifier(GivenGraph(graph), side="balanced").fit(rows(16), y)
        assert model.cut_value_ == pytest.approx(2.0)
        assert sorted(np.bincount(model.transduction_)) == [5, 11]


@settings(max_examples=25, deadline=None)
@given(problems(n_classes=3, n=10, n_free=7), st.sampled_from(SIDES))
def test_more_classes_against_brute_force(problem, side):
    W, y = problem
    _, cut = all_labelings(W, y, 3)
    model = MinCutClassifier(GivenGraph(W), side=side).fit(rows(10), y)
    assert model.lower_bound_ <= cut.min() * (1 + 1e-9) + 1e-14
    assert model.cut_value_ >= cut.min() * (1 - 1e-9) - 1e-14
    fitted = model.transduction_
    assert model.cut_value_ == pytest.approx(W[fitted[:, None] != fitted].sum() / 2)
    assert_allclose(model.label_distributions_.sum(axis=1), 1.0)
    # Each class alone against the rest is a minimum cut, and the bound is half their sum.
    single = [all_labelings(W, np.where(y < 0, -1, (y == c) * 1), 2)[1].min() for c in range(3)]
    assert model.lower_bound_ == pytest.approx(sum(single) / 2, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(problems(n_classes=3, n=10, n_free=7))
def test_what_is_claimed_is_part_of_a_best_labeling(problem):
    W, y = problem
    labelings, cut = all_labelings(W, y, 3)
    best = labelings[cut <= cut.min() * (1 + 1e-9) + 1e-14]
    part = CutProblem(sparse.csr_array(W), y, 3, "source")
    claims, _ = part.claims(part.networks(), part.W.data)
    assert claims.sum(axis=1).max() == 1
    node, label = np.nonzero(claims)
    assert (best[:, part.order[node]] == label).all(axis=1).any()


def test_unclaimed_rows_go_to_the_nearest_label():
    # A star with three labeled leaves: to cut off a leaf is cheapest, nobody claims the hub.
    star = Graph.from_edges([(0, 1), (0, 2), (0, 3)], [1.0, 1.25, 1.2])
    y = np.array([-1, 0, 1, 2])
    model = MinCutClassifier(GivenGraph(star)).fit(rows(4), y)
    assert model.n_undecided_ == 1
    assert_array_equal(model.transduction_, [1, 0, 1, 2])
    assert model.cut_value_ == pytest.approx(2.2)
    assert model.lower_bound_ == pytest.approx(3.45 / 2)
    assert_allclose(model.label_distributions_[0], np.array([1.0, 1.25, 1.2]) / 3.45)


def test_rows_claimed_by_several_go_to_the_nearest_of_these():
    # Between the labels of classes 0 and 1 all edges weigh the same, and the largest side
    # of either takes all rows up to the other's label.
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (6, 7)])
    y = np.array([0, -1, -1, -1, -1, 1, 2, -1])
    model = MinCutClassifier(GivenGraph(graph), side="sink").fit(rows(8), y)
    assert model.n_undecided_ == 4
    assert_array_equal(model.transduction_, [0, 0, 0, 1, 1, 1, 2, 2])
    assert_allclose(model.label_distributions_[1], [0.8, 0.2, 0.0])
    assert model.cut_value_ == 1.0
    assert model.lower_bound_ == 1.0


def test_a_near_label_of_a_class_that_does_not_claim_a_row_is_no_rival():
    # 0 ... 10 is a thick chain from the label of class 0, and 11 ... 15 a thin one to that of
    # class 1; both claim 11 ... 14. Class 2 hangs on row 10, nearer than either, but the
    # cheapest way to cut it off is its own edge.
    edges = [(i, i + 1) for i in range(15)] + [(10, 16)]
    graph = GivenGraph(Graph.from_edges(edges, [2.0] * 10 + [1.0] * 5 + [0.9]))
    y = np.full(17, -1)
    y[[0, 15, 16]] = [0, 1, 2]
    model = MinCutClassifier(graph, side="sink").fit(rows(17), y)
    distance = label_distances(model.graph_.adjacency, y, 3)
    assert distance[11].argmin() == 2
    assert_array_equal(model.transduction_, [0] * 11 + [1] * 5 + [2])


def test_flow_can_be_turned_around_on_the_thickest_edge():
    # The first path runs through the middle edge; the second flow must turn it around, and
    # for that the room in the other direction is twice its capacity.
    edges = ["sa", "ab", "bt", "sx", "xy", "yb", "az", "zw", "wt"]
    graph = Graph.from_edges([["abwxyzst".index(end) for end in edge] for edge in edges])
    y = np.array([-1] * 6 + [1, 0])
    model = MinCutClassifier(GivenGraph(graph)).fit(rows(8), y)
    assert model.cut_value_ == 2.0
    assert model.lower_bound_ == 2.0


def test_path_lengths_by_hand():
    graph = Graph.from_edges([(0, 1), (1, 2), (0, 2), (3, 4)], [0.5, 2.0, 0.25, 1.0])
    distances = label_distances(graph.adjacency, np.array([0, -1, 1, -1, 1]), 3)
    inf = np.inf
    expected = [[0, 5, inf], [4, 1, inf], [5, 0, inf], [inf, 2, inf], [inf, 0, inf]]
    assert_allclose(distances, expected)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_permuting_rows_permutes_the_answer(side, n_classes):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(90, 2)), np.full(90, -1)
    y[: 4 * n_classes] = np.arange(4 * n_classes) % n_classes
    for weight in ("gaussian", "binary"):
        model = MinCutClassifier(KNNGraph(6, weight=weight), side=side).fit(X, y)
        order = rng.permutation(90)
        W = model.graph_.adjacency[order][:, order]
        permuted = MinCutClassifier(GivenGraph(W), side=side).fit(X, y[order])
        assert_array_equal(permuted.transduction_, model.transduction_[order])
        assert_allclose(permuted.label_distributions_, model.label_distributions_[order])


def test_permuting_classes_permutes_the_answer():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(90, 2)), np.full(90, -1)
    y[:12] = [0, 1, 2] * 4
    names, renamed = np.array(["a", "b", "c"]), np.array(["z", "x", "y"])
    first, second = np.full(90, None, dtype=object), np.full(90, None, dtype=object)
    first[:12], second[:12] = names[y[:12]], renamed[y[:12]]
    one = MinCutClassifier(KNNGraph(6)).fit(X, first)
    two = MinCutClassifier(KNNGraph(6)).fit(X, second)
    back = dict(zip(renamed, names, strict=True))
    assert_array_equal([back[name] for name in two.transduction_], one.transduction_)
    # Of two classes, the one is the source and the other the sink.
    swapped = np.where(y < 0, -1, 1 - np.minimum(y, 1))
    source = MinCutClassifier(KNNGraph(6, weight="binary")).fit(X, np.minimum(y, 1))
    sink = MinCutClassifier(KNNGraph(6, weight="binary"), side="sink").fit(X, swapped)
    assert_array_equal(source.transduction_, 1 - sink.transduction_)


def test_rows_without_a_path_get_the_labeled_proportions():
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3), (4, 5)], n_nodes=7)
    y = np.array([0, -1, 0, 1, -1, -1, -1])
    for model in (MinCutClassifier, RandomizedMinCutClassifier):
        with pytest.warns(UnreachedWarning, match="3 of 7 rows, in 2 components"):
            fitted = model(GivenGraph(graph)).fit(rows(7), y)
        assert fitted.n_unreached_ == 3
        assert_allclose(fitted.label_distributions_[4:], [[2 / 3, 1 / 3]] * 3)
        assert_array_equal(fitted.transduction_, [0, 0, 0, 1, 0, 0, 0])


def test_no_unlabeled_rows_and_only_labeled_neighbors():
    y = np.array([0, 1, 1, 0])
    model = MinCutClassifier(GivenGraph(chain(4, [1.0, 2.0, 4.0]))).fit(rows(4), y)
    assert_array_equal(model.transduction_, y)
    assert model.cut_value_ == 5.0
    assert model.lower_bound_ == 5.0
    model = RandomizedMinCutClassifier(GivenGraph(chain(4))).fit(rows(4), y)
    assert_array_equal(model.transduction_, y)


def test_a_self_loop_changes_nothing():
    W = chain(5, [3.0, 1.0, 2.0, 4.0]).adjacency.toarray() + 9 * np.eye(5)
    model = MinCutClassifier(GivenGraph(W)).fit(rows(5), ends(5))
    assert_array_equal(model.transduction_, [0, 0, 1, 1, 1])
    assert model.cut_value_ == 1.0


def test_training_rows_are_predicted_as_transduced():
    X, digit = load_digits(return_X_y=True)
    X, digit = X[:500].astype(np.float32), digit[:500]
    y = np.where(np.arange(500) < 60, digit, -1)
    for model in (MinCutClassifier(), RandomizedMinCutClassifier(n_cuts=3, random_state=0)):
        model.fit(X, y)
        assert model.label_distributions_.dtype == np.float32
        assert_array_equal(model.predict(X), model.transduction_)
        assert (model.transduction_ == digit)[60:].mean() > 0.9


def test_noise_zero_is_the_plain_cut():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(70, 2)), np.full(70, -1)
    for n_classes, side in itertools.product([2, 3], SIDES):
        y[: 5 * n_classes] = np.arange(5 * n_classes) % n_classes
        for weight in ("gaussian", "binary"):
            graph = KNNGraph(5, weight=weight)
            plain = MinCutClassifier(graph, side=side).fit(X, y)
            noisy = RandomizedMinCutClassifier(graph, side=side, noise=0, n_cuts=2, balance=0)
            noisy.fit(X, y)
            assert_array_equal(noisy.transduction_, plain.transduction_)
            assert noisy.cut_value_ == plain.cut_value_


def test_votes_on_the_chain_are_balanced():
    # Equal weights with noise: each of the 9 edges is the weakest equally often, so row i
    # is positive in i / 9 of the cuts. Cuts at the very end are dropped: one row of ten is
    # less than 0.3 times one half.
    model = RandomizedMinCutClassifier(
        GivenGraph(chain(10)), n_cuts=540, balance=0.3, random_state=0
    ).fit(rows(10), ends(10))
    assert_array_equal(model.transduction_, [0] * 5 + [1] * 5)
    assert model.n_dropped_ + model.n_kept_ == 540
    assert model.n_dropped_ == pytest.approx(120, abs=30)
    expected = np.clip((np.arange(10) - 1) / 7, 0, 1)
    assert_allclose(model.label_distributions_[:, 1], expected, atol=0.08)


def test_noise_follows_its_size():
    # Edges of 1 and 1.05: noise of 1 % never makes the heavier one the weaker.
    y = np.array([0, -1, 1])
    graph = GivenGraph(chain(3, [1.0, 1.05]))
    calm = RandomizedMinCutClassifier(graph, noise=0.01, balance=0, random_state=0).fit(rows(3), y)
    assert_array_equal(calm.label_distributions_[1], [0.0, 1.0])
    # P(u < 1.5 v) for u and v uniform in [0, 2] is 1 - 1 / (2 * 1.5).
    graph = GivenGraph(chain(3, [1.0, 1.5]))
    wild = RandomizedMinCutClassifier(graph, noise=1.0, n_cuts=600, balance=0, random_state=0)
    wild.fit(rows(3), y)
    assert wild.label_distributions_[1, 1] == pytest.approx(2 / 3, abs=0.06)


@pytest.mark.parametrize("noise", [0.003, 0.03, 0.4, 1.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_merging_what_noise_cannot_change_changes_nothing(noise, n_classes):
    rng = np.random.default_rng(n_classes)
    X, codes = rng.normal(size=(150, 2)), np.full(150, -1)
    codes[: 3 * n_classes] = np.arange(3 * n_classes) % n_classes
    part = CutProblem(KNNGraph(6).build(X).adjacency, codes, n_classes, "source")
    plain, merged = list(part.networks()), list(part.networks(noise))
    if noise < 0.1:
        assert merged[0].n_groups < plain[0].n_groups / 2
    edge = _edge_numbers(part.W)
    for trial in range(10):
        size = edge.max() + 1
        # The worst noise there is separates most.
        u = rng.uniform(-1, 1, size) if trial % 2 else rng.choice([-1, 1], size)
        weights = part.W.data * (1 + noise * u)[edge]
        expected, _ = part.claims(plain, weights)
        found, _ = part.claims(merged, weights)
        assert_array_equal(found, expected)


@settings(max_examples=40, deadline=None)
@given(problems(n_free=9), st.sampled_from([0.0, 0.02, 0.2, 0.7]), st.integers(0, 99))
def test_no_noisy_minimum_cut_separates_what_is_merged(problem, noise, seed):
    W, y = problem
    if noise == 0:
        W = np.round(W * 64)  # ties must be exact
    part = CutProblem(sparse.csr_array(W), y, 2, "source")
    group = next(iter(part.networks(noise))).group
    rng = np.random.default_rng(seed)
    for _ in range(5):
        u = np.triu(rng.choice([-1.0, 1.0], size=W.shape), 1)
        labelings, cut = all_labelings(W * (1 + noise * (u + u.T)), y, 2)
        minimal = labelings[cut <= cut.min() * (1 + 1e-15)][:, part.order]
        first = np.unique(group, return_index=True)[1][group]
        assert_array_equal(minimal, minimal[:, first])


def test_the_worst_noise_is_exactly_enough():
    # At noise 0.1 an edge of 1.2 can become the weakest beside one of 1, and one of 1.3 not.
    # The last chain is always cut in the middle, with a node at either side to be merged.
    for weights, n_groups in [([1.0, 1.2], 3), ([1.0, 1.3], 2), ([2.0, 1.0, 3.0], 2)]:
        n = len(weights) + 1
        for y in (ends(n), ends(n)[::-1]):
            part = CutProblem(chain(n, weights).adjacency, y, 2, "source")
            assert next(iter(part.networks(0.1))).n_groups == n_groups


def test_growing_without_end_merges_nothing(monkeypatch):
    monkeypatch.setattr(_cuts, "_GROWTHS", 1)
    W = chain(12, np.linspace(1.0, 1.1, 11)).adjacency
    part = CutProblem(W, ends(12), 2, "source")
    assert next(iter(part.networks(0.02))).n_groups == 12


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_labels_are_the_best_scores(n_classes):
    rng = np.random.default_rng(n_classes)
    X, codes = rng.normal(size=(80, 2)), np.full(80, -1)
    codes[: 3 * n_classes] = np.arange(3 * n_classes) % n_classes
    part = CutProblem(KNNGraph(6).build(X).adjacency, codes, n_classes, "source")
    for share in (0.0, 0.2, 0.6):
        claims = rng.random((80, len(part.sources))) < share
        claims[~part.free] = part.codes[~part.free][:, None] == part.sources
        assert_array_equal(part.labels(claims), part.scores(claims)[0].argmax(axis=1))


def test_both_directions_of_an_edge_have_the_same_number():
    W = KNNGraph(4).build(np.random.default_rng(0).normal(size=(30, 2))).adjacency
    number = sparse.csr_array((_edge_numbers(W) + 1, W.indices, W.indptr), shape=W.shape).toarray()
    assert_array_equal(number, number.T)
    assert_array_equal(np.unique(number[number > 0]), np.arange(1, W.nnz // 2 + 1))


def test_merged_network_adds_weights():
    W = Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)], [1.0, 2.0, 4.0, 8.0]).adjacency
    y = np.array([-1, -1, 0, 1])
    network = Network.of_labels(W, y == 1, y == 0)
    assert_allclose(
        network.capacities(W.data).toarray(),
        [[0, 1, 0, 4], [1, 0, 0, 2], [0, 0, 0, 0], [4, 2, 0, 0]],
    )
    merged = network.merged(np.array([0, 0, 1, 2]), 3)
    assert_allclose(merged.capacities(W.data).toarray(), [[0, 0, 6], [0, 0, 0], [6, 0, 0]])
    assert_array_equal(merged.group, [0, 0, 2, 1])


def test_all_cuts_unbalanced_is_said():
    # Two cliques of labels far apart would be fine; here one label hangs on a thread.
    W = np.ones((12, 12)) - np.eye(12)
    W[0] = W[:, 0] = 0
    W[0, 1] = W[1, 0] = 0.01
    y = np.full(12, -1)
    y[[0, 5]] = [0, 1]
    model = RandomizedMinCutClassifier(GivenGraph(W), n_cuts=4, balance=0.5, random_state=0)
    with pytest.warns(LeavenWarning, match="All 4 cuts are unbalanced"):
        model.fit(rows(12), y)
    assert (model.n_kept_, model.n_dropped_) == (0, 4)
    plain = MinCutClassifier(GivenGraph(W)).fit(rows(12), y)
    assert_array_equal(model.transduction_, plain.transduction_)


def test_the_seed_decides():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(np.arange(60) < 6, np.arange(60) % 2, -1)
    graph = KNNGraph(4, weight="binary")
    fits = [
        RandomizedMinCutClassifier(graph, noise=0.5, balance=0, random_state=seed).fit(X, y)
        for seed in (0, 0, 1)
    ]
    assert_array_equal(fits[0].scores_, fits[1].scores_)
    assert (fits[0].scores_ != fits[2].scores_).any()


def test_verbose_logs_each_cut(caplog):
    model = RandomizedMinCutClassifier(GivenGraph(chain(4)), n_cuts=3, verbose=1, random_state=0)
    with caplog.at_level(logging.INFO, logger="leaven"):
        model.fit(rows(4), ends(4))
    assert len(caplog.records) == 3
    assert caplog.messages[2].startswith("cut 3 of 3")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"side": "left"}, "'side' parameter of MinCutClassifier must be a str among"),
        ({"graph": 3}, "'graph' parameter of MinCutClassifier"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        MinCutClassifier(**params).fit(rows(3), [0, -1, 1])


@pytest.mark.parametrize("params", [{"noise": 1.5}, {"n_cuts": 0}, {"balance": 1.0}])
def test_bad_parameters_of_the_randomized_cut(params):
    with pytest.raises(ValueError, match=f"'{next(iter(params))}' parameter of Randomized"):
        RandomizedMinCutClassifier(**params).fit(rows(3), [0, -1, 1])


def test_bad_graphs():
    with pytest.raises(ValueError, match="must not be negative"):
        MinCutClassifier(GivenGraph([[0, -1], [-1, 0]])).fit(rows(2), [0, 1])
    with pytest.raises(ValueError, match="NaN"):
        MinCutClassifier(GivenGraph([[0, np.nan], [np.nan, 0]])).fit(rows(2), [0, 1])
    with pytest.raises(ValueError, match="4 nodes, but X has 3 rows"):
        MinCutClassifier(GivenGraph(chain(4))).fit(rows(3), [0, -1, 1])
