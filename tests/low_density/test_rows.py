"""Rows as features and as a kernel matrix: two views of one feature space."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from leaven.exceptions import MemoryBoundError
from leaven.low_density import _kernels, _rows
from leaven.low_density._rows import FeatureRows, GramRows

FORMS = [np.asarray, sparse.csr_array, lambda X: np.asarray(X, dtype=np.float32)]


def features(n=9, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("form", FORMS)
def test_both_views_agree_on_vectors_scores_and_inner_products(form):
    X = features()
    rows, gram = FeatureRows(form(X)), GramRows(X @ X.T)
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 9))
    left, right = rows.combine(first), rows.combine(second)
    kernel_left, kernel_right = gram.combine(first), gram.combine(second)
    assert_allclose(left[0], X.T @ first, rtol=1e-5, atol=1e-5)
    assert_allclose(rows.scores_of(left), gram.scores_of(kernel_left), rtol=1e-4, atol=1e-4)
    assert_allclose(
        rows.inner(left, right), gram.inner(kernel_left, kernel_right), rtol=1e-4, atol=1e-4
    )
    assert_allclose(rows.square_norms(), (X**2).sum(axis=1), rtol=1e-5)
    assert_allclose(gram.square_norms(), (X**2).sum(axis=1))


@pytest.mark.parametrize("form", FORMS[:2])
def test_zero_has_no_length_and_no_scores(form):
    for rows in (FeatureRows(form(features())), GramRows(features() @ features().T)):
        zero = rows.zero()
        assert rows.inner(zero, zero) == 0.0
        assert_array_equal(zero[1], np.zeros(9))


@pytest.mark.parametrize("form", FORMS[:2])
def test_a_vector_of_some_rows_is_extended_to_all(form):
    X = features()
    index = np.array([1, 4, 8])
    z = np.array([0.5, -2.0, 1.5])
    for rows in (FeatureRows(form(X)), GramRows(X @ X.T)):
        part = rows.subset(index)
        assert part.n_rows == 3
        vector = part.combine(z)
        extended = rows.extend(vector, index)
        assert_allclose(extended[1], X @ (X[index].T @ z), atol=1e-12)
        assert_allclose(rows.inner(extended, extended), np.sum((X[index].T @ z) ** 2))


@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(1, 9))
@settings(max_examples=40)
def test_newton_directions_of_both_views_agree_with_the_dense_system(seed, d, n_active):
    # H = [[I + Φ'WΦ, Φ'W1], [1'WΦ, 1'W1 + τ]] as it stands in the docstring.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, d))
    weights = np.zeros(9)
    weights[rng.choice(9, n_active, replace=False)] = rng.random(n_active) + 0.1
    z, bias_gradient, tau = rng.normal(size=9), float(rng.normal()), 0.3
    g = X.T @ z
    H = np.block(
        [
            [np.eye(d) + X.T @ (weights[:, None] * X), (X.T @ weights)[:, None]],
            [(weights @ X)[None], np.array([[weights.sum() + tau]])],
        ]
    )
    expected = -np.linalg.solve(H, np.append(g, bias_gradient))
    (w, scores), db = FeatureRows(X).direction((g, X @ g), bias_gradient, weights, tau)
    assert_allclose(np.append(w, db), expected, atol=1e-8)
    assert_allclose(scores, X @ w, atol=1e-8)
    K = X @ X.T
    (c, kernel_scores), db = GramRows(K).direction((z, K @ z), bias_gradient, weights, tau)
    assert_allclose(X.T @ c, expected[:-1], atol=1e-8)
    assert_allclose(kernel_scores, X @ expected[:-1], atol=1e-8)
    assert_allclose(db, expected[-1], atol=1e-8)


@pytest.mark.parametrize("form", FORMS[:2])
def test_inexact_directions_still_descend(form, monkeypatch):
    # Beyond the limits conjugate gradients solve to a tenth: the residual shows it.
    monkeypatch.setattr(_rows, "DIRECT_LIMIT", 3)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 12))
    weights = rng.random(40) + 0.1
    z = rng.normal(size=40)
    g = X.T @ z
    (w, _), db = FeatureRows(form(X)).direction((g, X @ g), 0.7, weights, 1e-6)
    assert w @ g + db * 0.7 < 0
    exact = -np.linalg.solve(
        np.eye(12)
        + X.T @ (weights[:, None] * X)
        - np.outer(X.T @ weights, X.T @ weights) / (weights.sum() + 1e-6),
        g - (X.T @ weights) * 0.7 / (weights.sum() + 1e-6),
    )
    assert np.linalg.norm(w - exact) < 0.5 * np.linalg.norm(exact)


def test_many_sparse_rows_take_the_other_way_to_the_same_direction(monkeypatch):
    rng = np.random.default_rng(3)
    X = sparse.csr_array(rng.normal(size=(30, 6)))
    weights = np.zeros(30)
    weights[:5] = 0.4
    g = X.T @ rng.normal(size=30)
    (direct, _), db = FeatureRows(X).direction((g, X @ g), 0.2, weights, 1e-3)
    monkeypatch.setattr(_rows, "LARGE_ROWS", 10)
    monkeypatch.setattr(_rows, "LARGE_DIRECT_LIMIT", 2)
    (other, _), other_db = FeatureRows(X).direction((g, X @ g), 0.2, weights, 1e-3)
    assert_allclose(other, direct, atol=1e-9)
    assert_allclose(other_db, db, atol=1e-9)


@pytest.mark.parametrize("shift", [0.0, -1e-13])
def test_systems_that_rounding_made_indefinite_get_a_ridge(shift):
    M = np.ones((4, 4)) + shift * np.eye(4)  # rank one
    x = _rows._solve_positive(M, np.ones((4, 1)))
    assert_allclose(M @ x, 1.0, atol=1e-6)


def test_a_matrix_far_from_positive_is_an_error():
    with pytest.raises(np.linalg.LinAlgError, match="not positive semi-definite"):
        _rows._solve_positive(np.array([[1.0, 5.0], [5.0, 1.0]]), np.ones((2, 1)))


# Kernels


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_kernels_by_name_are_those_of_scikit_learn(form):
    X, Y = features(6), features(4, seed=1)
    options = {"gamma": 0.7, "degree": 3, "coef0": 1.5}
    linear, rbf, poly = (
        _kernels.kernel_matrix(form(X), form(Y), kernel, **options)
        for kernel in ("linear", "rbf", "poly")
    )
    assert_allclose(linear, X @ Y.T)
    assert_allclose(rbf, rbf_kernel(X, Y, gamma=0.7))
    assert_allclose(poly, polynomial_kernel(X, Y, gamma=0.7, degree=3, coef0=1.5))
    assert_allclose(poly, (0.7 * X @ Y.T + 1.5) ** 3)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_gamma_as_a_word(form):
    X = features(8, 3)
    X[X < -0.5] = 0.0
    assert _kernels.resolve_gamma("auto", form(X)) == pytest.approx(1 / 3)
    assert _kernels.resolve_gamma("scale", form(X)) == pytest.approx(1 / (3 * X.var()))
    assert _kernels.resolve_gamma(0.25, form(X)) == 0.25
    assert _kernels.resolve_gamma("scale", form(np.zeros((4, 2)))) == 1.0


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (np.ones((3, 2)), r"gave shape \(3, 2\) for 3 and 4 rows; it must give \(3, 4\)"),
        (np.full((3, 4), np.nan), "gave NaN or infinity"),
        (np.full((3, 4), np.inf), "gave NaN or infinity"),
    ],
)
def test_functions_that_are_no_kernels(result, message):
    with pytest.raises(ValueError, match=message):
        _kernels.kernel_matrix(
            features(3), features(4), lambda X, Y: result, gamma=1, degree=1, coef0=0
        )


def test_a_kernel_matrix_beyond_the_memory_is_refused_with_its_size():
    _kernels.check_gram_size(23_000)
    with pytest.raises(MemoryBoundError, match=r"of 40000 rows needs 11.9 GiB.*bound of 4 GiB"):
        _kernels.check_gram_size(40_000)


@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_kernel_drops_negative_eigenvalues(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(7, 7))
    K = A + A.T
    nearest, P = _kernels.nearest_kernel(K)
    values, vectors = np.linalg.eigh(K)
    assert_allclose(nearest, (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-10)
    assert_allclose(P @ K, nearest, atol=1e-10)
    assert_allclose(P @ P, P, atol=1e-10)
    # No other positive semi-definite matrix is nearer: perturbed ones are farther.
    distance = np.linalg.norm(K - nearest)
    for _ in range(5):
        step = rng.normal(size=(7, 2)) * 0.1
        assert np.linalg.norm(K - (nearest + step @ step.T)) >= distance - 1e-9


def test_a_proper_kernel_is_left_alone():
    K = rbf_kernel(features(6))
    same, projection = _kernels.nearest_kernel(K)
    assert same is K
    assert projection is None
    zero, projection = _kernels.nearest_kernel(np.zeros((3, 3)))
    assert projection is None
    assert_array_equal(zero, np.zeros((3, 3)))


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((2, 3)), r"has shape \(2, 3\)"),
        (np.array([[1.0, 0.5], [0.2, 1.0]]), "must be symmetric"),
    ],
)
def test_precomputed_matrices_that_cannot_be(K, message):
    with pytest.raises(ValueError, match=message):
        _kernels.check_precomputed(K)
