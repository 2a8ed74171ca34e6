"""The steps of block conjugate gradients, one by one, against dense algebra."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse.linalg import cg

from leaven.solvers import SingularSystemError, _block_cg, _linear, solve_spd
from leaven.solvers._products import multiply


def spd(n, seed, condition=50.0):
    """Draw a dense positive definite matrix with a known condition, as a sparse array."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return sparse.csr_array((Q * np.geomspace(1.0, condition, n)) @ Q.T)


@pytest.mark.parametrize("seed", range(3))
def test_scaling_to_a_unit_diagonal(seed):
    A = spd(12, seed)
    root, S = _linear._unit_diagonal(A)
    dense = A.toarray()
    assert_allclose(root, 1 / np.sqrt(np.diag(dense)))
    assert_allclose(S.toarray(), dense * np.outer(root, root))
    assert_allclose(S.diagonal(), 1.0)


@pytest.mark.parametrize(("entry", "text"), [(0.0, "0"), (-2.5, "-2.5"), (np.nan, "nan")])
@pytest.mark.parametrize("method", ["direct", "cg", "auto"])
def test_a_diagonal_that_is_not_positive_is_named(entry, text, method):
    A = sparse.csr_array(np.diag([0.3, 2.0, entry, 5.0]))
    with pytest.raises(ValueError, match=rf"entry 2 of its diagonal is {text}\."):
        solve_spd(A, np.ones((4, 1)), method=method)


def test_residuals_are_relative_to_each_column_and_absolute_for_zero_columns():
    A = spd(6, 0)
    rng = np.random.default_rng(1)
    x, B = rng.normal(size=(6, 3)), rng.normal(size=(6, 3))
    B[:, 1] = 0.0
    parts = np.linalg.norm(B - A.toarray() @ x, axis=0)
    parts[[0, 2]] /= np.linalg.norm(B[:, [0, 2]], axis=0)
    assert_allclose(_linear._residual(A, x, B), parts.max())


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 6), st.integers(1, 9))
@settings(max_examples=40)
def test_chunks_of_rows_give_the_products_of_whole_arrays(n, n_directions, n_columns, rows):
    rng = np.random.default_rng(n + 41 * n_directions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_block_cg, "_ROWS", rows)
        work = _block_cg._Workspace(n, n_directions, n_columns, np.float64)
    P, Q, AP = rng.normal(size=(3, n, n_directions))
    x = rng.normal(size=(n, n_columns))
    step, S = rng.normal(size=(2, n_directions, n_directions))
    S = np.triu(S) + 4 * np.eye(n_directions)
    weights = rng.normal(size=(n_directions, n_columns))
    assert_allclose(work.products(P, Q), P.T @ Q, atol=1e-12)
    expected_x, expected_r = x + P @ weights, Q - AP @ step
    gram = work.advance(x, Q, P, AP, step, weights)
    assert_allclose(x, expected_x, atol=1e-12)
    assert_allclose(Q, expected_r, atol=1e-12)
    assert_allclose(gram, expected_r.T @ expected_r, atol=1e-10)
    turned = Q @ np.linalg.inv(S)
    directions = turned + P @ S.T
    work.turn(Q, P, S)
    assert_allclose(Q, turned, atol=1e-10)
    assert_allclose(P, directions, atol=1e-10)


def test_a_block_as_wide_as_the_space_solves_in_one_step():
    A = spd(5, 2)
    unit = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    x, n_iter, too_slow = _block_cg._one_block(
        partial(multiply, A), unit, np.full(5, 1e-9), 1e9, 20, False, np.float64
    )
    assert (n_iter, too_slow) == (1, False)
    assert_allclose(x, np.linalg.solve(A.toarray(), unit), atol=1e-8)


def test_a_block_of_nothing_takes_no_step():
    A = spd(5, 2)
    x, n_iter, too_slow = _block_cg._one_block(
        partial(multiply, A), np.zeros((5, 2)), np.full(2, 0.1), 10.0, 20, False
    )
    assert (n_iter, too_slow) == (0, False)
    assert_array_equal(x, 0.0)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_block_step_minimizes_over_the_space_spanned_so_far(k):
    # After k steps from zero the error is the smallest in the norm of A over the Krylov space.
    A = spd(40, 3, condition=200.0)
    dense = A.toarray()
    unit = np.linalg.qr(np.random.default_rng(1).normal(size=(40, 3)))[0]
    x, n_iter, _ = _block_cg._one_block(
        partial(multiply, A), unit, np.zeros(3), 1e9, k, False, np.float64
    )
    assert n_iter == k
    space = np.hstack([np.linalg.matrix_power(dense, i) @ unit for i in range(k)])
    basis = np.linalg.qr(space)[0]
    best = basis @ np.linalg.solve(basis.T @ dense @ basis, basis.T @ unit)
    assert_allclose(x, best, atol=1e-7)


def test_slow_convergence_is_given_up_only_when_asked_for(monkeypatch):
    monkeypatch.setattr(_block_cg, "_PATIENCE", 10)
    n = 3_000
    # A path held at one end: information moves one node per step.
    path = sparse.diags_array(
        [-np.ones(n - 1), np.full(n, 2.0), -np.ones(n - 1)], offsets=[-1, 0, 1], format="csr"
    )
    S = sparse.csr_array(path / 2.0)
    unit = np.random.default_rng(0).normal(size=(n, 1))
    unit /= np.linalg.norm(unit)
    for give_up in (True, False):
        _, n_iter, too_slow = _block_cg._one_block(
            partial(multiply, S), unit, np.full(1, 1e-6), 1e6, 30, give_up, np.float64
        )
        assert (n_iter, too_slow) == ((10, True) if give_up else (30, False))


def test_conjugate_gradients_follow_those_of_scipy():
    A = spd(30, 5, condition=30.0)
    rng = np.random.default_rng(2)
    B = rng.normal(size=(30, 4))
    for n_iter in (1, 3, 7):
        x = np.zeros_like(B)
        assert _linear._conjugate_gradients(A, B, x, 1e-14, n_iter) == n_iter
        for j in range(4):
            peer, _ = cg(A, B[:, j], rtol=0.0, atol=0.0, maxiter=n_iter)
            assert_allclose(x[:, j], peer, atol=1e-10)


def test_conjugate_gradients_leave_columns_that_have_converged_alone():
    A = spd(25, 6)
    rng = np.random.default_rng(3)
    B = rng.normal(size=(25, 3))
    x = np.zeros_like(B)
    x[:, 1] = np.linalg.solve(A.toarray(), B[:, 1])
    solved = x[:, 1].copy()
    n_iter = _linear._conjugate_gradients(A, B, x, 1e-11, 200)
    assert 0 < n_iter < 60
    assert_array_equal(x[:, 1], solved)
    assert_allclose(x, np.linalg.solve(A.toarray(), B), atol=1e-9)
    assert _linear._conjugate_gradients(A, B, x, 1e-9, 200) == 0


@pytest.mark.parametrize("shrinkage", [1.0, 1e-3])
def test_a_good_preconditioner_needs_few_steps(shrinkage):
    A = spd(40, 7, condition=1e4)
    dense = A.toarray()
    near = np.linalg.inv(dense + shrinkage * np.diag(np.diag(dense)))
    B = np.random.default_rng(4).normal(size=(40, 2))
    plain, helped = np.zeros_like(B), np.zeros_like(B)
    many = _linear._conjugate_gradients(A, B, plain, 1e-9, 500)
    few = _linear._conjugate_gradients(A, B, helped, 1e-9, 500, precondition=lambda R: near @ R)
    assert few < many
    assert_allclose(helped, np.linalg.solve(dense, B), atol=1e-6)


def test_multigrid_is_symmetric_and_positive():
    pytest.importorskip("pyamg")
    # Conjugate gradients need both, or their directions are not conjugate.
    side = 30
    path = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(side, side))
    eye = sparse.eye_array(side)
    A = sparse.csr_array(sparse.kron(path, eye) + sparse.kron(eye, path))
    _, S = _linear._unit_diagonal(A)
    cycle = _linear.multigrid(S, np.sqrt(A.diagonal()))
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(2, side * side, 3))
    assert_allclose(X.T @ cycle(Y), (Y.T @ cycle(X)).T, rtol=1e-8)
    assert (np.einsum("ij,ij->j", X, cycle(X)) > 0).all()
    # One cycle brings a smooth error down by a factor that does not depend on the size.
    exact = np.sqrt(A.diagonal())[:, None] * np.ones((side * side, 1))
    B = S @ exact
    x = cycle(B)
    assert np.linalg.norm(B - S @ x) < 0.5 * np.linalg.norm(B)
    # Columns do not see each other.
    assert_allclose(cycle(Y)[:, [1]], cycle(Y[:, [1]]), atol=1e-10)


@given(st.integers(1, 30), st.integers(1, 20), st.integers(0, 10_000))
@settings(max_examples=40)
def test_any_size_and_number_of_columns(n, n_columns, seed):
    A = spd(n, seed, condition=20.0)
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n, n_columns)) * rng.choice([0.0, 1e-3, 1.0, 1e3], size=n_columns)
    exact = np.linalg.solve(A.toarray(), B)
    for method in ("direct", "cg"):
        solution = solve_spd(A, B, method=method, tol=1e-10)
        assert solution.converged
        assert_allclose(solution.x, exact, atol=1e-7 * max(1.0, np.abs(exact).max()))


@pytest.mark.parametrize("form", [sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
@pytest.mark.parametrize("method", ["direct", "cg", "propagation"])
def test_other_formats_and_single_precision_come_in(form, method):
    A = sparse.csr_array(spd(20, 8, condition=3.0) + 5 * sparse.eye_array(20))
    B = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    solution = solve_spd(form(A), B, method=method, tol=1e-10)
    assert solution.x.dtype == np.float64
    assert_allclose(solution.x, np.linalg.solve(A.toarray(), B), atol=1e-8)


def test_inputs_are_not_changed():
    A = spd(20, 9)
    B = np.random.default_rng(0).normal(size=(20, 3))
    data, indices, before = A.data.copy(), A.indices.copy(), B.copy()
    for method in ("auto", "direct", "cg", "propagation"):
        solve_spd(A, B, method=method, max_iter=30)
    assert_array_equal(A.data, data)
    assert_array_equal(A.indices, indices)
    assert_array_equal(B, before)


def test_no_columns_and_one_unknown():
    A = sparse.csr_array([[4.0]])
    empty = solve_spd(A, np.zeros((1, 0)))
    assert empty.x.shape == (1, 0)
    assert (empty.n_iter, empty.residual, empty.converged) == (0, 0.0, True)
    for method in ("auto", "direct", "cg", "propagation"):
        assert_allclose(solve_spd(A, np.array([[6.0]]), method=method).x, [[1.5]])


def test_propagation_is_jacobi_iteration():
    # X ← X + D^{-1} (B - A X) by hand, three times, from a start that is not zero.
    A = sparse.csr_array(spd(8, 10, condition=2.0) + 3 * sparse.eye_array(8))
    rng = np.random.default_rng(1)
    B, x0 = rng.normal(size=(2, 8, 2))
    solution = solve_spd(A, B, method="propagation", tol=0.0, max_iter=3, x0=x0)
    x = x0.copy()
    for _ in range(3):
        x = x + (B - A.toarray() @ x) / np.diag(A.toarray())[:, None]
    assert_allclose(solution.x, x)
    assert (solution.n_iter, solution.converged) == (3, False)
    assert_allclose(
        solution.residual, (np.linalg.norm(B - A @ x, axis=0) / np.linalg.norm(B, axis=0)).max()
    )


def test_a_dependent_column_beyond_single_precision_is_solved_all_the_same():
    # The second column differs from the first by 1e-6: below what one block can tell apart.
    A = spd(60, 11, condition=100.0)
    rng = np.random.default_rng(2)
    first, small = rng.normal(size=(2, 60, 1))
    B = np.hstack([first, first + 1e-6 * small])
    solution = solve_spd(A, B, method="cg", tol=1e-12)
    exact = np.linalg.solve(A.toarray(), B)
    difference = solution.x[:, 1] - solution.x[:, 0]
    assert solution.converged
    assert_allclose(difference, exact[:, 1] - exact[:, 0], atol=1e-9)


def test_auto_tries_conjugate_gradients_and_falls_back_to_a_factorization(monkeypatch):
    A = sparse.csr_array(spd(90, 12, condition=1e6))
    B = np.random.default_rng(3).normal(size=(90, 2))
    exact = np.linalg.solve(A.toarray(), B)
    assert solve_spd(A, B).method == "direct"
    monkeypatch.setattr(_linear, "_ALWAYS_DIRECT", 10)
    monkeypatch.setattr(_linear, "_DENSE_BELOW", 0)  # or it would be factored at once
    slow = solve_spd(A, B, tol=1e-9)
    assert slow.method == "direct"
    assert_allclose(slow.x, exact, rtol=1e-6, atol=1e-8)
    easy = sparse.csr_array(A + 1e7 * sparse.eye_array(90))
    assert solve_spd(easy, B).method == "cg"
    # A tree is factored at any size.
    monkeypatch.setattr(_linear, "_DIRECT_BELOW", 5)
    tree = sparse.diags_array([-1.0, 3.0, -1.0], offsets=[-1, 0, 1], shape=(90, 90), format="csr")
    assert solve_spd(sparse.csr_array(tree), B).method == "direct"


def test_a_full_graph_is_factored_as_a_dense_matrix(monkeypatch):
    def never(*args, **kwargs):
        raise AssertionError("neither conjugate gradients nor sparse LU are needed")

    monkeypatch.setattr(_linear, "_ALWAYS_DIRECT", 10)
    rng = np.random.default_rng(4)
    weights = rng.random((80, 80))
    weights += weights.T
    # Nodes on scales that are far apart, down to where a product of two would underflow.
    scale = 10.0 ** rng.uniform(-150, 0, 80)
    laplacian = np.diag(weights.sum(axis=1) + 1.0) - weights
    A, B = sparse.csr_array(scale[:, None] * laplacian * scale), rng.normal(size=(80, 3))
    exact = np.linalg.solve(laplacian, B / scale[:, None]) / scale[:, None]
    with monkeypatch.context() as patch:
        patch.setattr(_linear, "splu", never)
        patch.setattr(_linear, "block_conjugate_gradients", never)
        found = solve_spd(A, B)
    assert found.method == "direct"
    assert found.residual < 1e-9
    assert_allclose(found.x, exact, rtol=1e-8)
    # With fewer than half of the entries, or more rows, everything is as it was.
    with monkeypatch.context() as patch:
        patch.setattr(_linear, "cho_factor", never)
        patch.setattr(_linear, "_DENSE_BELOW", 79)
        assert_allclose(solve_spd(A, B, method="direct").x, exact, rtol=1e-8)
        assert solve_spd(sparse.eye_array(80, format="csr"), B).method == "direct"


@pytest.mark.parametrize("n", [3, 30, 80])
@pytest.mark.parametrize("rows", [10_000, 0])
def test_a_system_without_a_solution_is_an_error(n, rows, monkeypatch):
    # Rounding may leave a last pivot that is not 0, and a solution of 1e15 that solves nothing.
    monkeypatch.setattr(_linear, "_DENSE_BELOW", rows)
    weights = np.ones((n, n))
    laplacian = np.diag(weights.sum(axis=1)) - weights
    with pytest.raises(SingularSystemError, match="singular"):
        solve_spd(sparse.csr_array(laplacian), np.ones((n, 1)))
