"""The steps of the eigenvalue solver, one by one, against dense algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import chebyshev
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from leaven.graph import Graph, GridGraph, KNNGraph
from leaven.solvers import _eigen, smallest_eigenpairs


def laplacian(n=60, seed=0, k=6):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return KNNGraph(k).build(X)


def null_of(n, components=None, dtype=np.float64):
    parts = np.zeros(n, dtype=np.intp) if components is None else components
    return _eigen._NullSpace(np.ones(n), parts, dtype)


@pytest.mark.parametrize("n_components", [1, 3])
def test_the_null_space_is_taken_out_component_by_component(n_components):
    rng = np.random.default_rng(1)
    components = np.sort(rng.integers(n_components, size=12))
    components[:n_components] = np.arange(n_components)
    kernel = rng.random(12) + 0.5
    null = _eigen._NullSpace(kernel, components, np.float64)
    assert null.n_components == n_components
    basis = np.stack([kernel * (components == c) for c in range(n_components)], axis=1)
    Q = np.linalg.qr(basis)[0]
    X = rng.normal(size=(12, 4))
    expected = X - Q @ (Q.T @ X)
    assert_allclose(null.remove_from(X), expected, atol=1e-12)
    assert null.remove_from(X) is X  # in place
    order = rng.permutation(12)
    assert_allclose(null.permuted(order).unit, null.unit[order])
    assert_array_equal(components[null.first_nodes()], np.arange(n_components))


@pytest.mark.parametrize("degree", [4, 5, 9])
def test_the_filter_is_a_chebyshev_polynomial_of_the_matrix(degree):
    graph = laplacian(20)
    L = graph.laplacian()
    lower, upper = 0.4, float(np.linalg.eigvalsh(L.toarray())[-1] * 1.01)
    X = null_of(20).remove_from(np.random.default_rng(2).normal(size=(20, 3)))
    apply = _eigen._filter(L, degree, lower, upper, null_of(20))
    values, V = np.linalg.eigh(L.toarray())
    t = (2 * values - (upper + lower)) / (upper - lower)
    p = chebyshev.chebval(t, np.eye(degree + 1)[degree]) * (-1.0) ** degree
    expected = V @ (p[:, None] * (V.T @ X))
    assert_allclose(apply(X.copy()), expected, atol=1e-8 * np.abs(p).max())
    # It is at most 1 within the bounds, and grows below: that is what spreads the small end.
    inside = (values >= lower) & (values <= upper)
    assert np.abs(p[inside]).max() <= 1 + 1e-9
    assert (np.diff(p[~inside]) < 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_counts_of_eigenvalues_are_about_right_and_the_bound_holds(seed):
    graph = laplacian(400, seed)
    L = graph.laplacian("symmetric")
    null = _eigen._NullSpace(np.sqrt(graph.degree), np.zeros(400, dtype=np.intp), np.float64)
    nodes, counts, upper = _eigen._spectral_counts(L, null, np.random.default_rng(100 + seed))
    values = np.linalg.eigvalsh(L.toarray())
    assert upper >= values[-1]
    assert upper <= 1.2 * values[-1]
    assert (np.diff(nodes) >= 0).all()
    for share in (0.3, 0.6, 0.9):
        at = int(np.searchsorted(counts, share * 400))
        true = int((values <= nodes[min(at, len(nodes) - 1)]).sum())
        assert abs(true - share * 400) < 120
    assert_allclose(counts[-1], 400, rtol=1e-6)


def test_an_invariant_space_ends_the_estimate_early():
    # A complete graph has one positive eigenvalue: one step finds it.
    L = Graph(np.ones((7, 7)) - np.eye(7)).laplacian()
    nodes, counts, upper = _eigen._spectral_counts(L, null_of(7), np.random.default_rng(0))
    assert_allclose(nodes, 7.0)
    assert_allclose(counts[-1], 7.0)
    assert upper >= 7.0


@given(st.integers(2, 15), st.integers(1, 6), st.integers(0, 1_000))
@settings(max_examples=40)
def test_products_orthogonalize_as_householder_does(n, k, seed):
    rng = np.random.default_rng(seed)
    k = min(k, n)
    X = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-6, 6, size=k)
    Q, R = _eigen._orthonormal(X.copy())
    assert_allclose(Q.T @ Q, np.eye(k), atol=1e-9)
    assert_allclose(Q @ R, X, rtol=1e-8, atol=1e-10 * np.abs(X).max())
    assert_allclose(np.tril(R, -1), 0.0, atol=1e-9 * np.abs(R).max())


@pytest.mark.parametrize("spoil", ["zero", "copy", "nearly"])
def test_dependent_columns_are_left_to_householder(spoil):
    X = np.random.default_rng(3).normal(size=(9, 3))
    X[:, 2] = {"zero": 0.0 * X[:, 0], "copy": X[:, 0], "nearly": X[:, 0] + 1e-14 * X[:, 1]}[spoil]
    Q, R = _eigen._orthonormal(X.copy())
    assert_allclose(Q.T @ Q, np.eye(3), atol=1e-9)
    assert_allclose(Q @ R, X, atol=1e-9)


@pytest.mark.parametrize("chunk", [3, 17, 8192])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ritz_vectors_are_the_best_within_their_span(chunk, dtype, monkeypatch):
    monkeypatch.setattr(_eigen, "_CHUNK", chunk)
    L = sparse.csr_array(laplacian(40).laplacian(), dtype=dtype)
    V = np.random.default_rng(4).normal(size=(40, 5)).astype(dtype)
    values, ritz, residual = _eigen._rayleigh_ritz(L, V.copy())
    Q = np.linalg.qr(V.astype(float))[0]
    expected = np.linalg.eigvalsh(Q.T @ L.toarray().astype(float) @ Q)
    atol = 1e-4 if dtype == np.float32 else 1e-10
    assert_allclose(values, expected, atol=atol)
    assert_allclose(ritz.T @ ritz, np.eye(5), atol=atol)
    errors = np.linalg.norm(L @ ritz - ritz * values.astype(dtype), axis=0)
    assert_allclose(residual, errors.max(), rtol=1e-3)


def test_signs_make_the_largest_entry_positive():
    V = np.array([[0.1, -0.9], [-0.8, 0.2], [0.3, 0.3]])
    fixed = _eigen._fix_signs(V)
    assert_allclose(fixed, [[-0.1, 0.9], [0.8, -0.2], [-0.3, -0.3]])


@pytest.mark.parametrize(
    ("n", "nnz_per_row", "k", "method"),
    [
        (500, 10, 3, "dense"),
        (501, 10, 3, "chebyshev"),
        (501, 3, 3, "inverse"),
        (800, 10, 190, "dense"),  # the basis would be most of the space
    ],
)
def test_the_method_by_size_and_sparsity(n, nnz_per_row, k, method):
    L = sparse.random_array((n, n), density=nnz_per_row / n, random_state=np.random.default_rng(0))
    assert _eigen._choose(sparse.csr_array(L), k) == method


@pytest.mark.parametrize("method", ["dense", "chebyshev", "inverse"])
def test_components_of_different_size_and_weight(method):
    parts = [laplacian(n, seed).adjacency for seed, n in enumerate((30, 45, 18))]
    W = sparse.block_diag([parts[0], 3.0 * parts[1], 0.1 * parts[2]], format="csr")
    graph = Graph(W)
    if graph.n_components != 3:
        pytest.skip("a neighbor graph fell apart")
    pairs = smallest_eigenpairs(
        graph.laplacian(), 10, components=graph.components(), method=method, tol=1e-9
    )
    exact = np.linalg.eigvalsh(graph.laplacian().toarray())[3:13]
    assert_allclose(pairs.values, exact, atol=1e-7)
    assert pairs.method == method
    for c in range(3):
        assert_allclose(pairs.vectors[graph.components() == c].sum(axis=0), 0.0, atol=1e-6)


@pytest.mark.parametrize("method", ["dense", "chebyshev", "inverse"])
def test_too_few_components_are_the_callers_claim(method):
    L = laplacian(30).laplacian()
    with pytest.raises(ValueError, match="graph of 30 nodes in 1 components has 29"):
        smallest_eigenpairs(L, 30, method=method)
    with pytest.raises(ValueError, match="-1 eigenvectors were asked for"):
        smallest_eigenpairs(L, -1, method=method)
    assert smallest_eigenpairs(L, 29, method=method).values.shape == (29,)


@pytest.mark.parametrize("method", ["chebyshev", "inverse"])
def test_seeds_repeat_and_others_agree_on_the_values(method):
    L = laplacian(200).laplacian()
    first = smallest_eigenpairs(L, 6, method=method, seed=1)
    again = smallest_eigenpairs(L, 6, method=method, seed=1)
    other = smallest_eigenpairs(L, 6, method=method, seed=2)
    assert_array_equal(first.vectors, again.vectors)
    assert_allclose(other.values, first.values, atol=1e-9)
    assert first.n_products > 0


def test_scaling_the_weights_scales_the_values():
    L = laplacian(80).laplacian()
    plain = smallest_eigenpairs(L, 5, method="chebyshev")
    for unit in (1e-6, 1e6):
        scaled = smallest_eigenpairs(sparse.csr_array(L * unit), 5, method="chebyshev")
        assert_allclose(scaled.values, unit * plain.values, rtol=1e-6)
        assert_allclose(np.abs(scaled.vectors), np.abs(plain.vectors), atol=1e-4)


def test_a_restart_that_runs_out_says_so():
    L = GridGraph((30, 30)).build(np.zeros((900, 1))).laplacian()
    pairs = smallest_eigenpairs(L, 40, method="inverse", max_restarts=0, tol=1e-14)
    assert pairs.vectors.shape == (900, 40)
    assert not pairs.converged


def test_integer_matrices_are_taken_as_floats():
    L = sparse.csr_array(np.array([[1, -1, 0], [-1, 2, -1], [0, -1, 1]]))
    assert_allclose(smallest_eigenpairs(L, 2).values, [1.0, 3.0])
