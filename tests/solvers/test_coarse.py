"""Aggregates and deflation against brute force and dense algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.linalg import null_space

from leaven.graph import Graph, KNNGraph
from leaven.solvers import _coarse, _linear, solve_spd
from leaven.solvers._block_cg import block_conjugate_gradients
from leaven.solvers._coarse import CoarseSpace, aggregate, aggregate_in_order, locality_order


def grounded(n, seed, n_features=3):
    """Draw a Laplacian with a little added to the diagonal, connected or not."""
    X = np.random.default_rng(seed).normal(size=(n, n_features))
    L = KNNGraph(4).build(X).laplacian()
    return sparse.csr_array(L + sparse.diags_array(np.full(n, 0.01)))


def strongest_by_hand(A):
    """Join every node to its strongest neighbor, one by one; return the sets that result."""
    dense = np.abs(A.toarray())
    mass = np.diag(dense).copy()
    np.fill_diagonal(dense, 0.0)
    strength = dense / np.sqrt(np.outer(mass, mass))
    part = np.arange(len(dense))
    for i in range(len(dense)):
        if strength[i].any():
            part[part == part[strength[i].argmax()]] = part[i]
    return part


def same_sets(a, b):
    return ((a[:, None] == a) == (b[:, None] == b)).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_round_joins_every_node_to_its_strongest_neighbor(seed):
    A = grounded(120, seed)
    by_hand = strongest_by_hand(A)
    n_parts = len(np.unique(by_hand))
    rounds = aggregate(A, n_parts)
    assert len(rounds) == 1
    assert same_sets(rounds[0], by_hand)


@given(st.integers(2, 150), st.integers(1, 60), st.integers(0, 1_000))
@settings(max_examples=40)
def test_aggregates_are_as_many_as_wanted_connected_and_nested(n, n_wanted, seed):
    A = grounded(n, seed)
    rounds = aggregate(A, n_wanted)
    n_pieces, piece = sparse.csgraph.connected_components(A)
    if n <= n_wanted:
        assert rounds == []
        return
    before = np.arange(n)
    for part in rounds:
        assert_array_equal(np.unique(part), np.arange(part.max() + 1))
        # Every part of the round before lies in one part.
        assert len(np.unique(np.column_stack([before, part]), axis=0)) == before.max() + 1
        for c in range(part.max() + 1):
            inside = np.flatnonzero(part == c)
            assert len(np.unique(piece[inside])) == 1
            assert sparse.csgraph.connected_components(A[inside][:, inside])[0] == 1
        before = part
    if rounds:
        assert rounds[-1].max() + 1 >= max(n_wanted, n_pieces)
        if n_pieces <= n_wanted:
            assert rounds[-1].max() + 1 == n_wanted


def test_nothing_to_contract():
    assert aggregate(sparse.csr_array(np.diag([1.0, 2.0, 3.0])), 1) == []


def test_weak_edges_hold_clusters_apart_at_any_scale():
    # Three cliques of different size and weight, tied by weights of a thousandth.
    edges, weights, start = [], [], 0
    for size, weight in ((5, 7.0), (8, 2.0), (6, 0.4)):
        inside = [(start + i, start + j) for i in range(size) for j in range(i)]
        edges += inside
        weights += [weight] * len(inside)
        start += size
    edges += [(0, 5), (5, 13)]
    weights += [1e-3, 2e-3]
    A = Graph.from_edges(edges, weights).laplacian()
    truth = np.repeat([0, 1, 2], [5, 8, 6])
    for scale in (1e-280, 1.0, 1e280):
        A_scaled = sparse.csr_array(A * scale)
        assert same_sets(aggregate(A_scaled, 3)[-1], truth)


def test_rows_of_an_aggregate_are_neighbors_in_the_order():
    rounds = aggregate(grounded(200, 1), 7)
    assert len(rounds) > 1
    order = locality_order(rounds)
    assert_array_equal(np.sort(order), np.arange(200))
    for part in rounds:
        changes = np.count_nonzero(np.diff(part[order]))
        assert changes == part.max()


@pytest.mark.parametrize("seed", range(3))
def test_the_order_goes_on_where_the_aggregates_end(seed):
    A = grounded(400, seed)
    part, order = aggregate_in_order(A, 60)
    assert_array_equal(part, aggregate(A, 60)[-1])
    assert_array_equal(np.sort(order), np.arange(400))
    assert np.count_nonzero(np.diff(part[order])) == part.max()
    # Among the aggregates those with the strongest tie are next to each other too: what the rounds
    # of the graph of aggregates, made by dense algebra, put together.
    Z = np.eye(part.max() + 1)[part]
    coarse = Z.T @ np.abs(A.toarray() - np.diag(A.diagonal())) @ Z
    np.fill_diagonal(coarse, 0.0)
    L = np.diag(Z.T @ A.diagonal()) - coarse
    further = aggregate(sparse.csr_array(L), 1)
    assert len(further) > 1
    for joined in further:
        assert np.count_nonzero(np.diff(joined[part][order])) == joined.max()


def test_without_edges_there_are_no_aggregates():
    part, order = aggregate_in_order(sparse.csr_array(np.diag([1.0, 2.0, 3.0])), 1)
    assert part is None
    assert_array_equal(order, [0, 1, 2])


@pytest.mark.parametrize("seed", range(3))
def test_deflation_is_the_schur_complement_of_dense_algebra(seed):
    A = grounded(80, seed)
    root, S = _linear._unit_diagonal(A)
    part = aggregate(A, 6)[-1]
    space = CoarseSpace(S, 1.0 / root, part)
    Z = np.zeros((80, part.max() + 1))
    Z[np.arange(80), part] = 1.0 / root
    dense = S.toarray()
    SZ = dense @ Z
    expected = dense - SZ @ np.linalg.solve(Z.T @ SZ, SZ.T)
    product = np.full((80, 80), 7.0, dtype=np.float32)
    space.deflated(np.eye(80, dtype=np.float32), product)
    assert_allclose(product, expected, atol=1e-5)
    # The correction solves the system on the space, and only there.
    rng = np.random.default_rng(seed)
    x, B = rng.normal(size=(2, 80, 3))
    R = B - dense @ x
    corrected, left = x.copy(), R.copy()
    space.correct(corrected, left)
    assert_allclose(left, B - dense @ corrected, atol=1e-10)
    assert_allclose(Z.T @ left, 0.0, atol=1e-9)
    assert_allclose(null_space(Z.T).T @ (corrected - x), 0.0, atol=1e-9)


def test_only_the_largest_aggregates_are_kept(monkeypatch):
    monkeypatch.setattr(_coarse, "_MOST_AGGREGATES", 2)
    part = np.array([0, 1, 1, 2, 2, 2, 3])
    S = sparse.csr_array(np.eye(7) - 0.1 * np.ones((7, 7)) + 0.1 * np.eye(7))
    space = CoarseSpace(S, np.ones(7), part)
    x, R = np.zeros((7, 1)), np.ones((7, 1))
    space.correct(x, R)
    assert_array_equal(np.flatnonzero(x), [1, 2, 3, 4, 5])


def test_a_matrix_that_is_singular_on_the_space_has_none():
    L = Graph.from_edges([(0, 1), (1, 2), (3, 4)], [1.0, 2.0, 3.0]).laplacian()
    root, S = _linear._unit_diagonal(sparse.csr_array(L - 1e-3 * sparse.eye_array(5)))
    assert _linear._coarse_space(S, 1.0 / root, np.array([0, 0, 0, 1, 1])) is None


@pytest.mark.parametrize("n_columns", [1, 3, 20])
def test_a_coarse_space_changes_the_steps_and_not_the_solution(n_columns):
    # Twelve tight clusters: as many slow directions, which all lie in the coarse space.
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.5, (120, 3)) for c in 4 * rng.normal(size=(12, 3))])
    L = KNNGraph(6).build(X).laplacian()
    A = sparse.csr_array(L + sparse.diags_array(np.eye(1, len(X))[0] + 1e-6))
    B = rng.normal(size=(len(X), n_columns))
    root, S = _linear._unit_diagonal(A)
    C = root[:, None] * B
    rounds = aggregate(A, 40)
    space = CoarseSpace(S, 1.0 / root, rounds[-1])
    plain, helped = np.zeros_like(C), np.zeros_like(C)
    many, _ = block_conjugate_gradients(S, C, plain, 1e-10, 5_000, give_up=False)
    few, _ = block_conjugate_gradients(S, C, helped, 1e-10, 5_000, give_up=False, coarse=space)
    assert few < (0.7 * many if n_columns < 20 else many)
    exact = np.linalg.solve(S.toarray(), C)
    # The smallest eigenvalue is about 1e-6: so much of the residual may be left in the solution.
    assert_allclose(S @ helped, C, atol=1e-8 * np.abs(C).max())
    assert_allclose(helped, exact, rtol=1e-4, atol=1e-4 * np.abs(exact).max())


def test_large_systems_with_many_pieces_and_a_start(monkeypatch):
    # 60 pieces, each with a labeled node next to it, and fewer aggregates than pieces.
    monkeypatch.setattr(_linear, "_COARSE_ABOVE", 100)
    monkeypatch.setattr(_linear, "_DIRECT_BELOW", 100)
    monkeypatch.setattr(_linear, "_ALWAYS_DIRECT", 0)
    rng = np.random.default_rng(2)
    L = sparse.block_diag([KNNGraph(5).build(rng.normal(size=(25, 4))).laplacian()] * 60)
    held = np.zeros(1_500)
    held[::25] = 0.3
    A = sparse.csr_array(L + sparse.diags_array(held))
    B = rng.normal(size=(1_500, 4))
    exact = np.linalg.solve(A.toarray(), B)
    for x0 in (None, exact + 1e-3 * rng.normal(size=exact.shape)):
        solution = solve_spd(A, B, method="cg", tol=1e-10, x0=x0)
        assert solution.converged
        assert_allclose(solution.x, exact, rtol=1e-5, atol=1e-5)
    again = solve_spd(A, B, method="cg", tol=1e-8, x0=exact)
    assert again.n_iter == 0
