"""Pieces of the graph methods: volumes, shares, shifts, simplex, walks, networks and anchors."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import softmax

from leaven.graph import Graph, KNNGraph
from leaven.graph_based import (
    anchor_statistics,
    anchor_weights,
    class_mass_normalization,
    merge_anchor_statistics,
)
from leaven.graph_based._anchors import (
    embedding_weights,
    kernel_weights,
    reached_anchors,
    restrict_anchors,
)
from leaven.graph_based._class_shift import balancing_shifts, class_shifts
from leaven.graph_based._mbo import chebyshev_sum, walk_coefficients, whole_sizes
from leaven.graph_based._messages import Forest, to_classes, to_columns
from leaven.graph_based._network import Network
from leaven.graph_based._poisson import poisson_sources, solve_poisson
from leaven.graph_based._shares import labels_to_leave_out, left_out_scores
from leaven.graph_based._simplex import project_to_simplex
from leaven.graph_based._volumes import _own_price, _shortest_path, assign_volumes

# Simplex


@given(st.integers(1, 6), st.integers(0, 10_000))
@settings(max_examples=60)
def test_no_probabilities_are_nearer_than_the_projection(k, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(3, k)) * 3
    P = project_to_simplex(scores)
    assert_allclose(P.sum(axis=1), 1.0)
    assert (P >= 0).all()
    distance = np.linalg.norm(P - scores, axis=1)
    for other in rng.dirichlet(np.ones(k), size=20):
        assert (np.linalg.norm(other - scores, axis=1) >= distance - 1e-9).all()
    assert_array_equal(P.argmax(axis=1), scores.argmax(axis=1))
    assert_allclose(project_to_simplex(P), P, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_projection_of_scores_that_swallow_a_one(dtype):
    scores = np.array([[1e20, 3.0, -1e25], [-1e30, -1e30, -1e30], [2e18, 2e18, 0.0]], dtype=dtype)
    expected = [[1, 0, 0], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0]]
    assert_allclose(project_to_simplex(scores), expected, atol=1e-6)


def test_the_projection_keeps_single_precision():
    assert project_to_simplex(np.ones((2, 3), dtype=np.float32)).dtype == np.float32


# Class mass and shifts


@given(st.integers(1, 12), st.integers(2, 4), st.integers(0, 1_000))
@settings(max_examples=40)
def test_masses_are_in_proportion_before_rows_are_normalized(n, k, seed):
    rng = np.random.default_rng(seed)
    F, q = rng.random((n, k)) + 0.01, rng.dirichlet(np.ones(k))
    found = class_mass_normalization(F, q)
    scaled = F * (q / F.sum(axis=0))
    assert_allclose(found, scaled / scaled.sum(axis=1, keepdims=True))
    assert_array_equal(found.argmax(axis=1), scaled.argmax(axis=1))


@pytest.mark.parametrize(
    ("scores", "prior", "message"),
    [
        ([0.5, 0.5], [0.5, 0.5], r"scores has shape \(2,\)"),
        ([[0.5, 0.5]], [1.0], r"prior has shape \(1,\)"),
        ([[0.5, -0.5]], [0.5, 0.5], "must not be negative"),
        ([[0.5, 0.5]], [1.5, -0.5], "must not be negative"),
    ],
)
def test_masses_that_cannot_be(scores, prior, message):
    with pytest.raises(ValueError, match=message):
        class_mass_normalization(scores, prior)


def test_a_class_without_mass_keeps_its_zeros_and_integers_are_taken():
    found = class_mass_normalization([[2, 0], [1, 0]], [0.3, 0.7])
    assert_allclose(found, [[1.0, 0.0], [1.0, 0.0]])


@given(st.integers(3, 40), st.integers(2, 5), st.integers(0, 1_000))
@settings(max_examples=40)
def test_shifted_softmax_has_the_shares_of_the_prior(n, k, seed):
    rng = np.random.default_rng(seed)
    z, q = rng.normal(size=(n, k)) * 2, rng.dirichlet(np.ones(k) * 2)
    b = class_shifts(z, q)
    assert_allclose(softmax(z - b, axis=1).mean(axis=0), q, atol=1e-6)
    # A constant for all classes, or for a whole row, changes nothing.
    other = class_shifts(z + rng.normal(size=(n, 1)), q)
    assert_allclose(softmax(z - other, axis=1).mean(axis=0), q, atol=1e-6)


def test_a_class_that_is_not_expected_is_shifted_away():
    z = np.random.default_rng(0).normal(size=(10, 3))
    b = class_shifts(z, np.array([0.4, 0.0, 0.6]))
    assert np.isinf(b[1])
    assert_allclose(softmax((z - b)[:, [0, 2]], axis=1).mean(axis=0), [0.4, 0.6], atol=1e-6)


def test_shifts_of_scores_go_with_their_unit():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(40, 3)) * [1.0, 2.0, 0.5]
    q = np.array([0.2, 0.5, 0.3])
    b, spread = balancing_shifts(scores, q)
    assert_allclose(softmax((scores - b) / spread, axis=1).mean(axis=0), q, atol=1e-6)
    for unit in (1e-6, 1e6):
        other, wide = balancing_shifts(unit * scores, q)
        assert_allclose((other - other[0]) / unit, b - b[0], rtol=1e-5, atol=1e-6)
        assert_allclose(wide, unit * spread)


# Volumes


def best_of_all(scores, low, high):
    """Try every labeling."""
    n, k = scores.shape
    best = -np.inf
    for labels in itertools.product(range(k), repeat=n):
        size = np.bincount(labels, minlength=k)
        if (size >= low).all() and (size <= high).all():
            best = max(best, scores[np.arange(n), list(labels)].sum())
    return best


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 3))
@settings(max_examples=50)
def test_bounded_sizes_by_trying_every_labeling(seed, n, k):
    rng = np.random.default_rng(seed)
    scores = rng.choice([0.0, 0.5, 1.0, 1.7], size=(n, k)) + 0.01 * rng.random((n, k))
    sizes = np.bincount(rng.integers(k, size=n), minlength=k)
    low, high = (
        np.maximum(sizes - rng.integers(0, 2, size=k), 0),
        sizes + rng.integers(0, 2, size=k),
    )
    labels, _ = assign_volumes(scores, low, high)
    found = np.bincount(labels, minlength=k)
    assert (found >= low).all()
    assert (found <= high).all()
    total = scores[np.arange(n), labels].sum()
    assert_allclose(total, best_of_all(scores, low, high), atol=1e-9)


@pytest.mark.parametrize(
    ("low", "high"), [([3, 3], [2, 4]), ([3, 3], [9, 9]), ([0, 0], [2, 1]), ([0, -2], [5, -1])]
)
def test_sizes_that_no_labeling_has(low, high):
    with pytest.raises(ValueError, match="No labeling of 5 rows has class sizes between"):
        assign_volumes(np.zeros((5, 2)), np.array(low), np.array(high))


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=10, unique=True), st.data())
@settings(max_examples=60)
def test_the_price_nearest_to_zero_that_puts_a_class_in_bounds(margins, data):
    margin = np.array(margins)
    low = data.draw(st.integers(0, len(margin)))
    high = data.draw(st.integers(low, len(margin)))
    price = _own_price(margin, low, high)
    n_above = int((margin > price).sum())
    assert low <= n_above <= high or np.isclose(margin, price, atol=1e-12).any()
    if low <= (margin > 0).sum() <= high:
        assert price == 0.0


def test_shortest_paths_equal_networkx():
    rng = np.random.default_rng(1)
    for _ in range(10):
        cost = rng.random((5, 5)) * 4
        cost[rng.random((5, 5)) < 0.4] = np.inf
        np.fill_diagonal(cost, np.inf)
        graph = nx.DiGraph()
        graph.add_nodes_from(range(5))
        graph.add_weighted_edges_from(
            (a, b, cost[a, b]) for a in range(5) for b in range(5) if np.isfinite(cost[a, b])
        )
        start, end = np.arange(5) == 0, np.arange(5) == 4
        if not nx.has_path(graph, 0, 4):
            continue
        path = _shortest_path(cost, start, end)
        length = sum(cost[a, b] for a, b in itertools.pairwise(path))
        assert path[0] == 0
        assert path[-1] == 4
        assert_allclose(length, nx.shortest_path_length(graph, 0, 4, weight="weight"))


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6), st.integers(0, 60))
@settings(max_examples=60)
def test_whole_sizes_add_up_and_are_within_one(weights, total):
    q = np.array(weights) / np.sum(weights)
    sizes = whole_sizes(q, total)
    assert sizes.sum() == total
    assert (np.abs(sizes - q * total) < 1.0 + 1e-9).all()


# Walks


@pytest.mark.parametrize("n_steps", [1, 2, 7, 30])
def test_coefficients_are_those_of_powers_of_a_lazy_step(n_steps):
    theta = np.linspace(0, np.pi, 9)
    x = (1 + np.cos(theta)) / 2
    power, geometric = walk_coefficients(n_steps)
    waves = np.cos(np.arange(len(power))[:, None] * theta)
    assert_allclose(power @ waves, x**n_steps, atol=1e-5)
    assert_allclose(geometric @ waves, sum(x**t for t in range(n_steps)), atol=1e-4 * n_steps)


def test_a_chebyshev_sum_of_a_matrix_is_that_of_its_eigenvalues():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(6, 6))
    A = (A + A.T) / 12
    values, V = np.linalg.eigh(A)
    a, X = rng.normal(size=7), rng.normal(size=(6, 2))
    p = np.polynomial.chebyshev.chebval(values, a)
    assert_allclose(chebyshev_sum(sparse.csr_array(A), a, X), V @ (p[:, None] * (V.T @ X)))


# Labels left out


@pytest.mark.parametrize("seed", range(3))
def test_scores_without_a_label_are_those_of_a_solve_without_it(seed):
    rng = np.random.default_rng(seed)
    graph = KNNGraph(4).build(rng.normal(size=(14, 2)))
    W, L = graph.adjacency.toarray(), graph.laplacian().toarray()
    labeled = np.array([0, 3, 5, 9])
    classes = np.array([0, 1, 0, 1])
    free = np.setdiff1d(np.arange(14), labeled)
    F = np.zeros((14, 4))
    F[labeled] = np.eye(4)
    F[free] = np.linalg.solve(L[np.ix_(free, free)], W[np.ix_(free, labeled)])
    means = (W[labeled] @ F) / graph.degree[labeled, None]
    found = left_out_scores(means, F[free].sum(axis=0), np.eye(2)[classes])
    for i, node in enumerate(labeled):
        others = np.delete(np.arange(4), i)
        inner = np.sort(np.append(free, node))
        Y = np.eye(2)[classes[others]]
        f = np.linalg.solve(L[np.ix_(inner, inner)], W[np.ix_(inner, labeled[others])] @ Y)
        value = f[inner == node][0]
        assert_allclose(found[i], value / f.sum(axis=0), atol=1e-10)


def test_a_class_with_one_label_is_never_left_out(monkeypatch):
    codes = np.array([0, 1, 1, 2, 2, 2, -1, -1])
    assert_array_equal(labels_to_leave_out(codes, 3), [1, 2, 3, 4, 5])
    monkeypatch.setattr("leaven.graph_based._shares._MOST_LEFT_OUT", 3)
    few = labels_to_leave_out(codes, 3, random_state=4)
    assert len(few) == 3
    assert (np.diff(few) > 0).all()
    assert_array_equal(few, labels_to_leave_out(codes, 3, random_state=4))


# Messages


def test_two_classes_are_one_column_and_back():
    evidence = np.array([[1.0, 4.0], [2.5, 0.5]])
    assert_allclose(to_columns(evidence), [[3.0], [-2.0]])
    assert_allclose(to_classes(to_columns(evidence)), [[0.0, 3.0], [0.0, -2.0]])
    three = np.arange(6.0).reshape(2, 3)
    assert to_columns(three) is three
    assert to_classes(three) is three


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_max_marginals_of_a_forest_by_trying_every_labeling(n_classes, seed):
    rng = np.random.default_rng(seed)
    edges = [(i, int(rng.integers(i))) for i in range(1, 6)]
    edges.pop(int(rng.integers(5)))  # two trees
    weights = rng.random(4) + 0.2
    W = Graph.from_edges(edges, weights, n_nodes=6).adjacency
    evidence = rng.random((6, n_classes)) * 2
    beliefs = Forest(W, evidence).beliefs
    scores = np.full((6, n_classes), -np.inf)
    for labels in itertools.product(range(n_classes), repeat=6):
        score = evidence[np.arange(6), list(labels)].sum()
        score += sum(w for (i, j), w in zip(edges, weights, strict=True) if labels[i] == labels[j])
        for node, label in enumerate(labels):
            scores[node, label] = max(scores[node, label], score)
    assert_allclose(
        beliefs - beliefs[:, :1], scores - scores[:, :1], atol=1e-9
    )  # up to a constant per node


# Networks


def test_labels_are_merged_into_two_terminals():
    W = Graph.from_edges(
        [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (0, 2)], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    ).adjacency
    source = np.array([True, False, False, False, False])
    sink = np.array([False, False, False, False, True])
    network = Network.of_labels(W, source, sink)
    assert network.n_groups == 5
    C = network.capacities(W.data).toarray()
    s, t = network.source, network.sink
    group = network.group
    assert C[s, t] == C[t, s] == 0.0  # no choice of labels changes that edge
    assert C[s, group[1]] == 1.0
    assert C[s, group[2]] == 6.0
    assert C[group[3], t] == 4.0
    assert_allclose(C, C.T)
    doubled = network.capacities(2 * W.data).toarray()
    assert_allclose(doubled, 2 * C)
    # Nodes 1 and 2 become one: the edge between them is gone, the others add up.
    merge = np.arange(network.n_groups)
    merge[group[2]] = merge[group[1]]
    _, merge = np.unique(merge, return_inverse=True)
    smaller = network.merged(merge, 4)
    M = smaller.capacities(W.data).toarray()
    assert M[smaller.source, smaller.group[1]] == 7.0
    assert smaller.group[1] == smaller.group[2]
    assert_allclose(M.sum(), C.sum() - 2 * 2.0)


# Anchors


@given(st.integers(1, 8), st.integers(1, 5), st.integers(0, 1_000))
@settings(max_examples=40)
def test_kernel_weights_sum_to_one_and_fall_with_the_distance(n, k, seed):
    distances = np.sort(np.random.default_rng(seed).random((n, k)), axis=1)
    z = kernel_weights(distances)
    assert_allclose(z.sum(axis=1), 1.0)
    assert (np.diff(z, axis=1) <= 1e-12).all()
    assert_allclose(kernel_weights(100 * distances), z)
    if k > 1:
        ratio = z[:, 0] / z[:, -1]
        assert_allclose(ratio, np.exp(4 - 4 * (distances[:, 0] / distances[:, -1]) ** 2))


def test_rows_on_their_anchors_have_equal_weights():
    assert_allclose(kernel_weights(np.zeros((2, 3))), 1 / 3)


@pytest.mark.parametrize("seed", range(4))
def test_embeddings_are_as_near_as_a_general_optimizer_gets(seed):
    rng = np.random.default_rng(seed)
    anchors, X = rng.normal(size=(6, 3)), rng.normal(size=(5, 3))
    index = np.array([rng.choice(6, 3, replace=False) for _ in range(5)])
    z = embedding_weights(X, anchors, index)
    assert_allclose(z.sum(axis=1), 1.0)
    assert (z >= 0).all()
    for x, near, weights in zip(X, anchors[index], z, strict=True):
        peer = minimize(
            lambda t, x=x, near=near: np.sum((x - softmax(t) @ near) ** 2),
            np.zeros(3),
            method="BFGS",
        )
        assert np.sum((x - weights @ near) ** 2) <= peer.fun + 1e-4


@pytest.mark.parametrize("weight", ["kernel", "embedding"])
def test_few_anchors_are_all_used(weight):
    anchors = np.array([[0.0], [4.0]])
    Z = anchor_weights(np.array([[1.0], [3.0]]), anchors, n_neighbors=5, weight=weight)
    assert Z.shape == (2, 2)
    assert_allclose(Z.sum(axis=1), 1.0)
    assert_allclose(Z.toarray()[0], Z.toarray()[1, ::-1])


def test_blocks_merge_in_any_order_and_anchors_are_restricted():
    rng = np.random.default_rng(5)
    Z = sparse.csr_array(rng.dirichlet(np.ones(4), size=9))
    codes = np.array([0, -1, 1, -1, -1, 0, -1, 1, -1])
    whole = anchor_statistics(Z, codes)
    merged = merge_anchor_statistics(
        anchor_statistics(Z[:4], codes[:4]), anchor_statistics(Z[4:], codes[4:])
    )
    assert_allclose(merged.gram.toarray(), whole.gram.toarray())
    assert_allclose(merged.mass, whole.mass)
    assert merged.n_unlabeled == whole.n_unlabeled == 5
    assert_allclose(merged.labeled.toarray(), whole.labeled.toarray())
    assert_array_equal(merged.codes, whole.codes)
    free = Z.toarray()[codes == -1]
    assert_allclose(whole.gram.toarray(), free.T @ free)
    assert_allclose(whole.mass, free.sum(axis=0))
    some = restrict_anchors(whole, np.array([True, False, True, True]))
    assert_allclose(some.gram.toarray(), (free.T @ free)[np.ix_([0, 2, 3], [0, 2, 3])])
    assert some.labeled.shape == (4, 3)


def test_anchors_without_a_path_to_a_label():
    Z = sparse.csr_array(
        np.array([[0.5, 0.5, 0, 0], [1, 0, 0, 0], [0, 0, 0.3, 0.7], [0, 0, 0, 1.0]])
    )
    statistics = anchor_statistics(Z, np.array([-1, 0, -1, -1]))
    assert_array_equal(reached_anchors(statistics), [True, True, False, False])


@pytest.mark.parametrize("weight", [1e-20, 1e-35, 1e-300])
def test_poisson_on_parts_that_hang_by_a_thread(weight):
    clique = np.ones((4, 4)) - np.eye(4)
    W = np.kron(np.eye(2), clique)
    W[0, 4] = W[4, 0] = weight
    graph = Graph(sparse.csr_array(W))
    sources, _ = poisson_sources(graph, np.array([-1, 0, -1, -1, -1, 1, -1, -1]), 2)
    u, _ = solve_poisson(graph, sources)
    assert np.isfinite(u).all()
    assert_array_equal(u.argmax(axis=1), [0, 0, 0, 0, 1, 1, 1, 1])
