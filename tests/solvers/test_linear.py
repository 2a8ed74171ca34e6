"""Positive definite systems and the Dirichlet problem, against dense algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.semi_supervised import LabelPropagation

from leaven.graph import Graph, KNNGraph
from leaven.solvers import _block_cg, _linear, solve_dirichlet, solve_spd


def system(n=400, n_columns=5, seed=0):
    rng = np.random.default_rng(seed)
    L = KNNGraph(6).build(rng.normal(size=(n, 3))).laplacian()
    A = sparse.csr_array(L + sparse.diags_array(rng.random(n) + 0.01))
    return A, rng.normal(size=(n, n_columns))


@pytest.mark.parametrize("method", ["auto", "direct", "cg", "amg", "propagation"])
def test_every_method_solves_the_system(method):
    pytest.importorskip("pyamg")
    A, B = system()
    solution = solve_spd(A, B, method=method, tol=1e-11)
    assert_allclose(solution.x, np.linalg.solve(A.toarray(), B), atol=1e-8)
    assert solution.converged
    assert solution.residual < 1e-10
    assert solution.method == ("direct" if method == "auto" else method)


def test_columns_that_converge_early_and_zero_columns():
    A, B = system()
    B[:, 1] = 0.0
    B[:, 2] = A @ np.ones(400)
    solution = solve_spd(A, B, method="cg", tol=1e-11)
    assert_allclose(solution.x, np.linalg.solve(A.toarray(), B), atol=1e-8)


def test_more_columns_than_a_block_and_dependent_ones():
    A, B = system(n_columns=40)
    B[:, 3] = 2.0 * B[:, 0] - B[:, 5]
    B[:, 7] = 1e-9 * B[:, 7]
    B[:, 20] = B[:, 2]
    B[:, 30:33] = B[:, [30]]
    solution = solve_spd(A, B, method="cg", tol=1e-11)
    exact = np.linalg.solve(A.toarray(), B)
    assert solution.converged
    assert_allclose(
        solution.x / np.abs(exact).max(axis=0), exact / np.abs(exact).max(axis=0), atol=1e-8
    )


def test_columns_of_a_block_help_each_other():
    A, B = system(n=2_000, n_columns=12)
    A = sparse.csr_array(A - 0.9999 * sparse.diags_array(np.ravel(A.sum(axis=1))))
    alone = max(solve_spd(A, B[:, [j]], method="cg").n_iter for j in range(12))
    assert solve_spd(A, B, method="cg").n_iter < 0.8 * alone


def test_a_full_space_ends_a_block():
    # Eight nodes and eight columns: one step solves, and no new direction is left.
    A, B = system(n=8, n_columns=8)
    solution = solve_spd(A, B, method="cg", tol=1e-13)
    assert_allclose(solution.x, np.linalg.solve(A.toarray(), B), atol=1e-10)


@pytest.mark.parametrize(("n_features", "method"), [(2, "direct"), (20, "cg")])
def test_auto_suits_the_solver_to_the_dimension_of_a_middling_graph(n_features, method):
    # LU of a surface stays sparse; of neighbors in many dimensions it fills in.
    rng = np.random.default_rng(0)
    L = KNNGraph(10).build(rng.normal(size=(1_000, n_features))).laplacian()
    A = sparse.csr_array(L + sparse.diags_array(np.eye(1, 1_000)[0] + 1e-4))
    B = rng.normal(size=(1_000, 3))
    solution = solve_spd(A, B)
    assert solution.method == method
    assert solution.converged
    assert_allclose(solution.x, np.linalg.solve(A.toarray(), B), rtol=1e-3, atol=1e-2)


def test_auto_changes_to_multigrid_when_conjugate_gradients_are_slow(monkeypatch):
    pytest.importorskip("pyamg")
    monkeypatch.setattr(_linear, "_DIRECT_BELOW", 10)
    monkeypatch.setattr(_linear, "_TREE_LIKE", 0.0)
    # A long thin strip, held at one end: conjugate gradients need many steps.
    n = 1_000
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    skips = np.column_stack([np.arange(n - 2), np.arange(2, n)])
    L = Graph.from_edges(np.vstack([edges, skips])).laplacian()
    A = sparse.csr_array(L + sparse.diags_array(np.eye(1, n)[0]))
    B = np.random.default_rng(0).normal(size=(n, 2))
    solution = solve_spd(A, B, tol=1e-8)
    assert solution.method == "amg"
    assert solution.converged
    assert solution.n_iter < 400
    assert_allclose(A @ solution.x, B, atol=1e-5)
    plain = solve_spd(A, B, method="cg", tol=1e-8)
    assert plain.n_iter > 2 * solution.n_iter
    monkeypatch.setattr(_linear, "is_installed", lambda name: False)
    assert solve_spd(A, B, tol=1e-8).method == "cg"


@pytest.mark.parametrize("method", ["cg", "amg", "propagation", "auto"])
def test_a_start_near_the_solution_saves_iterations(method):
    if method == "amg":
        pytest.importorskip("pyamg")
    A, B = system(n=900)
    exact = np.linalg.solve(A.toarray(), B)
    near = exact + 1e-5 * np.random.default_rng(1).normal(size=exact.shape)
    before = near.copy()
    cold = solve_spd(A, B, method=method, tol=1e-9)
    warm = solve_spd(A, B, method=method, tol=1e-9, x0=near)
    assert_allclose(warm.x, exact, atol=1e-6)
    assert warm.converged
    assert warm.n_iter < 0.8 * cold.n_iter or cold.method == "direct"
    assert_allclose(near, before)  # the guess is not written to
    with pytest.raises(ValueError, match=r"shape of B, \(900, 5\), got \(900, 4\)"):
        solve_spd(A, B, method=method, x0=near[:, :4])


def test_one_more_label_from_the_last_answer():
    rng = np.random.default_rng(3)
    graph = KNNGraph(8).build(rng.normal(size=(4_000, 5)))
    labeled = rng.choice(4_000, 60, replace=False)
    values = np.eye(3)[rng.integers(3, size=60)]

    def solve(n_labels, **options):
        order = np.argsort(labeled[:n_labels])
        boundary = np.zeros(4_000, dtype=bool)
        boundary[labeled[:n_labels]] = True
        return solve_dirichlet(
            graph.laplacian(), boundary, values[:n_labels][order], method="cg", tol=1e-8, **options
        )

    before, _ = solve(59)
    cold, _ = solve(60)
    warm, _ = solve(60, start=before)
    assert_allclose(warm, cold, atol=1e-6)
    again, solution = solve(60, start=cold)
    assert solution.n_iter == 0
    assert_allclose(again, cold, atol=1e-12)


@pytest.mark.parametrize("rows", [7, 400, 4_096])
def test_chunks_of_any_size_solve_the_same_system(rows, monkeypatch):
    monkeypatch.setattr(_block_cg, "_ROWS", rows)
    A, B = system()
    solution = solve_spd(A, B, method="cg", tol=1e-11)
    assert_allclose(solution.x, np.linalg.solve(A.toarray(), B), atol=1e-8)


def test_too_few_iterations_are_reported():
    A, B = system()
    for method in ("cg", "propagation"):
        solution = solve_spd(A, B, method=method, max_iter=2)
        assert not solution.converged
        assert solution.residual > 1e-6


def test_empty_systems_and_unknown_methods():
    assert solve_spd(sparse.csr_array((0, 0)), np.zeros((0, 3))).x.shape == (0, 3)
    with pytest.raises(ValueError, match="method must be one of"):
        solve_spd(sparse.csr_array(np.eye(2)), np.ones((2, 1)), method="other")


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("method", ["direct", "cg"])
def test_tiny_and_huge_systems(method, scale):
    A, B = system(n=150)
    exact = np.linalg.solve(A.toarray(), B)
    solution = solve_spd(A * scale, B * scale, method=method, tol=1e-11)
    assert_allclose(solution.x, exact, atol=1e-8)
    assert solution.residual < 1e-10


def test_weights_of_very_different_size():
    # The chain of resistors below, with weights that differ by 280 orders of magnitude.
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3)], [6e-200, 3e-200, 2e80])
    ends = np.array([True, False, False, True])
    f, _ = solve_dirichlet(graph.laplacian(), ends, np.array([[9.0], [3.0]]))
    assert_allclose(f.ravel(), [9.0, 7.0, 3.0, 3.0])


@pytest.mark.parametrize("method", ["auto", "direct", "cg"])
def test_singular_systems_are_refused(method):
    L = Graph.from_edges([(0, 1), (1, 2)], [2.0, 3.0], n_nodes=4).laplacian()
    with pytest.raises(ValueError, match="entry 3 of its diagonal is 0"):
        solve_spd(L, np.ones((4, 1)), method=method)


def test_a_component_without_a_boundary_is_refused():
    graph = Graph.from_edges([(0, 1), (2, 3)], [2.0, 4.0])
    boundary = np.array([True, False, False, False])
    with pytest.raises(ValueError, match="tied to no given value"):
        solve_dirichlet(graph.laplacian(), boundary, np.array([[5.0]]))


def test_path_is_a_chain_of_resistors():
    # Weights 6, 3, 2 are resistances 1/6, 1/3, 1/2: the drop of 6 splits as 1, 2, 3.
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3)], [6.0, 3.0, 2.0])
    ends = np.array([True, False, False, True])
    f, _ = solve_dirichlet(graph.laplacian(), ends, np.array([[9.0], [3.0]]))
    assert_allclose(f.ravel(), [9.0, 8.0, 6.0, 3.0])


@st.composite
def problems(draw):
    """Draw a connected weighted graph, a non-empty boundary and values on it."""
    n = draw(st.integers(2, 12))
    W = draw(arrays(float, (n, n), elements=st.sampled_from([0.0, 0.1, 1.0, 7.0])))
    W = np.triu(W, 1) + np.diag(np.full(n - 1, 0.5), 1)  # the path keeps it connected
    boundary = draw(arrays(bool, n).filter(np.any))
    values = draw(arrays(float, (int(boundary.sum()), 2), elements=st.floats(-5, 5)))
    return Graph(W + W.T), boundary, values


@given(problems())
@settings(max_examples=60, deadline=None)
def test_mean_value_and_maximum_principle(problem):
    graph, boundary, values = problem
    f, _ = solve_dirichlet(graph.laplacian(), boundary, values)
    mean = (graph.adjacency @ f) / graph.degree[:, None]
    assert_allclose(f[~boundary], mean[~boundary], atol=1e-9)
    low, high = values.min(axis=0), values.max(axis=0)
    assert ((low - 1e-9 <= f) & (f <= high + 1e-9)).all()


def test_agrees_with_label_propagation():
    W = np.triu(np.random.default_rng(0).random((30, 30)), 1)
    W += W.T
    y = np.array([0, 1, 2, 0, 1, 2] + [-1] * 24)
    peer = LabelPropagation(kernel=lambda A, B: W.copy(), max_iter=10_000, tol=1e-13)
    peer.fit(np.arange(30.0)[:, None], y)
    f, _ = solve_dirichlet(Graph(W).laplacian(), y >= 0, np.eye(3)[y[:6]])
    assert_allclose(f, peer.label_distributions_, atol=1e-8)
