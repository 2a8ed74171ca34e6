import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from leaven.low_density._rows import FeatureRows, GramRows
from leaven.low_density._svm import hinge, optimal_bias, solve_svm


def one_sided(signs, cost):
    return np.where(signs > 0, cost, 0.0), np.where(signs < 0, cost, 0.0)


@pytest.mark.parametrize("n_samples", [30, 180])  # below and above the size where LIBSVM starts
@pytest.mark.parametrize("C", [0.02, 1.0, 30.0])
@pytest.mark.parametrize("kind", ["features", "sparse", "gram", "rbf"])
def test_equals_libsvm(n_samples, C, kind):
    X, y = make_classification(n_samples, 6, flip_y=0.1, random_state=3)
    signs = 2.0 * y - 1.0
    K = rbf_kernel(X, gamma=0.2) if kind == "rbf" else X @ X.T
    rows = {
        "features": FeatureRows(X),
        "sparse": FeatureRows(sparse.csr_array(X)),
        "gram": GramRows(K),
        "rbf": GramRows(K),
    }[kind]
    solution = solve_svm(rows, *one_sided(signs, C))
    peer = SVC(kernel="precomputed", C=C, tol=1e-7, max_iter=5_000_000).fit(K, y)
    assert solution.converged
    assert_allclose(solution.scores, peer.decision_function(K), atol=1e-4)


def test_more_features_and_rows_than_are_factored(monkeypatch):
    monkeypatch.setattr("leaven.low_density._rows.DIRECT_LIMIT", 5)
    X, y = make_classification(120, 40, random_state=0)
    costs = one_sided(2.0 * y - 1.0, 0.5)
    by_conjugate_gradients = solve_svm(FeatureRows(X), *costs, tol=1e-9)
    assert by_conjugate_gradients.converged
    peer = SVC(kernel="linear", C=0.5, tol=1e-7).fit(X, y)
    assert_allclose(by_conjugate_gradients.scores, peer.decision_function(X), atol=1e-4)


def test_row_with_both_labels():
    # Deterministic annealing gives one row both labels, which LIBSVM knows as two rows.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 3))
    positive, negative = rng.uniform(0.1, 2.0, 25), rng.uniform(0.1, 2.0, 25)
    solution = solve_svm(GramRows(X @ X.T), positive, negative)
    peer = SVC(kernel="linear", C=1.0, tol=1e-7)
    weights = np.concatenate([positive, negative])
    peer.fit(np.vstack([X, X]), np.repeat([1, -1], 25), sample_weight=weights)
    assert_allclose(solution.scores, peer.decision_function(X), atol=1e-4)


@st.composite
def problems(draw):
    n = draw(st.integers(4, 12))
    X = draw(arrays(float, (n, 2), elements=st.floats(-3, 3, width=16)))
    costs = arrays(float, n, elements=st.sampled_from([0.0, 0.03, 0.7, 5.0]))
    positive, negative = draw(costs), draw(costs)
    positive[0], negative[1] = 1.3, 0.4  # both labels occur
    return X, positive, negative


@given(problems())
@settings(max_examples=25, deadline=None)
def test_certificate(problem):
    """Whatever the data: the primal is its formula, the dual is feasible, and they meet."""
    X, positive, negative = problem
    solution = solve_svm(FeatureRows(X), positive, negative)
    w, f = solution.vector[0], solution.scores
    assert_allclose(f, X @ w + solution.bias, atol=1e-8)
    primal = 0.5 * w @ w + positive @ hinge(f) + negative @ hinge(-f)
    assert_allclose(solution.primal, primal, rtol=1e-9)
    for dual, cost in zip(solution.duals, (positive, negative), strict=True):
        assert (dual >= 0).all()
        assert (dual <= cost + 1e-12).all()
    beta = solution.duals[0] - solution.duals[1]
    assert abs(beta.sum()) < 1e-5
    value = np.abs(solution.duals).sum() - 0.5 * np.sum((X.T @ beta) ** 2)
    # Duals that do not quite balance may be too large by what the bias makes of it.
    slack = abs(beta.sum()) * max(1.0, abs(solution.bias))
    assert value - slack <= primal + 1e-6
    assert primal - solution.dual <= 1e-6 * primal


@given(problems())
@settings(max_examples=25, deadline=None)
def test_never_worse_than_its_start(problem):
    X, positive, negative = problem
    rows = FeatureRows(X)
    start = solve_svm(rows, positive, negative, tol=1e-2)
    swapped = solve_svm(rows, negative + 0.1, positive + 0.1, start=start, tol=0.5)
    f = start.scores
    at_start = 0.5 * start.norm2 + (negative + 0.1) @ hinge(f) + (positive + 0.1) @ hinge(-f)
    assert swapped.primal <= at_start * (1 + 1e-12)


@given(problems())
@settings(max_examples=25, deadline=None)
def test_optimal_bias_by_trying_every_kink(problem):
    X, positive, negative = problem
    scores = X[:, 0]

    def loss(bias):
        return positive @ hinge(scores + bias) + negative @ hinge(-scores - bias)

    low, high = optimal_bias(scores, positive, negative)
    least = min(loss(b) for b in np.concatenate([1 - scores, -1 - scores]))
    for bias in (low, 0.5 * (low + high), high):
        assert_allclose(loss(bias), least, rtol=1e-9, atol=1e-9)


def test_bias_is_in_the_middle_as_in_libsvm():
    # No free support vector: any bias between the two is optimal.
    X = np.array([[0.0], [1.0]])
    solution = solve_svm(FeatureRows(X), np.array([0.0, 0.1]), np.array([0.1, 0.0]))
    peer = SVC(kernel="linear", C=0.1).fit(X, [0, 1])
    assert_allclose(solution.bias, peer.intercept_[0], atol=1e-9)


@pytest.mark.parametrize("kind", ["features", "sparse", "gram"])
@pytest.mark.parametrize("n_active", [2, 9])  # fewer, and more, than features
def test_newton_direction_solves_its_system(kind, n_active):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(12, 4))
    weights = np.zeros(12)
    weights[:n_active] = rng.uniform(0.5, 3.0, n_active)
    coefficients, bias_gradient, tau = rng.normal(size=12), 0.7, 0.3
    g = X.T @ coefficients
    H = np.zeros((5, 5))
    H[:4, :4] = np.eye(4) + X.T @ (weights[:, None] * X)
    H[:4, 4] = H[4, :4] = X.T @ weights
    H[4, 4] = weights.sum() + tau
    expected = -np.linalg.solve(H, np.append(g, bias_gradient))
    if kind == "gram":
        rows = GramRows(X @ X.T)
        direction, db = rows.direction(rows.combine(coefficients), bias_gradient, weights, tau)
        w = X.T @ direction[0]
    else:
        rows = FeatureRows(X if kind == "features" else sparse.csr_array(X))
        direction, db = rows.direction(rows.combine(coefficients), bias_gradient, weights, tau)
        w = direction[0]
    assert_allclose(np.append(w, db), expected, rtol=1e-8)
    assert_allclose(direction[1], X @ w, atol=1e-10)
