"""Manifold regularization against kernel ridge, SVC, the paper's formula and the optimum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_digits, make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.exceptions import ConvergenceWarning
from leaven.graph import GivenGraph, KNNGraph
from leaven.graph_based import LaplacianRLSClassifier, LaplacianSVC
from leaven.graph_based import _deformed_kernel as module
from leaven.graph_based._squared_hinge import squared_hinge_svm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
TRUTH = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
Y = np.where(np.arange(50) < 14, TRUTH, -1)
SIGNS = np.where(Y[:14] == 1, 1.0, -1.0)
KERNELS = [
    ("rbf", {"gamma": 0.4}),
    ("linear", {}),
    ("poly", {"gamma": 0.5, "degree": 2, "coef0": 1.0}),
]


def gram(kernel, params, A, B):
    return pairwise_kernels(A, B, metric=kernel, **params)


@pytest.mark.parametrize(("kernel", "params"), KERNELS)
def test_without_the_graph_it_is_kernel_ridge_and_svc(kernel, params):
    ridge = KernelRidge(alpha=0.01 * 14, kernel=kernel, **params).fit(X[:14], SIGNS)
    model = LaplacianRLSClassifier(
        gamma_a=0.01, gamma_i=0.0, kernel=kernel, prior=None, **params
    ).fit(X, Y)
    assert_allclose(model.decision_function(X), ridge.predict(X), atol=1e-8)
    machine = SVC(kernel=kernel, C=1 / (2 * 0.01 * 14), tol=1e-8, **params).fit(X[:14], SIGNS)
    model = LaplacianSVC(
        gamma_a=0.01, gamma_i=0.0, kernel=kernel, prior=None, tol=1e-8, **params
    ).fit(X, Y)
    assert_allclose(model.decision_function(X), machine.decision_function(X), atol=1e-5)


@pytest.mark.parametrize(("kernel", "params"), KERNELS)
@pytest.mark.parametrize("approximation", ["exact", "auto"])
def test_formula_of_the_paper(kernel, params, approximation):
    gamma_a, gamma_i, n, n_labeled = 0.02, 30.0, 50, 14
    graph = KNNGraph(5)
    L = graph.build(X).laplacian().toarray()
    K = gram(kernel, params, X, X)
    J = np.diag((Y >= 0).astype(float))
    target = np.concatenate([SIGNS, np.zeros(36)])
    A = J @ K + gamma_a * n_labeled * np.eye(n) + gamma_i * n_labeled / n**2 * L @ K
    alpha = np.linalg.solve(A, target)
    model = LaplacianRLSClassifier(
        prior=None,
        gamma_a=gamma_a,
        gamma_i=gamma_i,
        kernel=kernel,
        graph=graph,
        approximation=approximation,
        **params,
    ).fit(X, Y)
    assert_allclose(model.decision_function(X), K @ alpha, atol=1e-7)
    new = X[:5] + 0.3
    assert_allclose(model.decision_function(new), gram(kernel, params, new, X) @ alpha, atol=1e-7)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_svc_is_at_the_minimum_of_its_objective(loss):
    rng = np.random.default_rng(1)
    gamma_a, gamma_i, n = 0.02, 30.0, 50
    graph, params = KNNGraph(5), {"gamma": 0.4}
    L = graph.build(X).laplacian().toarray()
    K = gram("rbf", params, X, X)
    penalty = gamma_a * K + gamma_i / n**2 * K @ L @ K

    def objective(v):
        f = K[:14] @ v[:-1] + v[-1]
        margin = np.maximum(0, 1 - SIGNS * f)
        return (margin if loss == "hinge" else margin**2).mean() + v[:-1] @ penalty @ v[:-1]

    model = LaplacianSVC(
        prior=None, gamma_a=gamma_a, gamma_i=gamma_i, loss=loss, graph=graph, tol=1e-8, **params
    ).fit(X, Y)
    alpha = np.linalg.lstsq(K, model.decision_function(X) - model.intercept_[0], rcond=None)[0]
    at_model = objective(np.append(alpha, model.intercept_[0]))
    # No step in any direction, and no other optimizer, finds anything lower.
    for _ in range(200):
        step = rng.normal(size=51) * 10.0 ** rng.uniform(-6, -1)
        assert objective(np.append(alpha, model.intercept_[0]) + step) >= at_model - 1e-9
    if loss == "squared_hinge":
        found = minimize(objective, np.zeros(51), method="BFGS", options={"maxiter": 2_000})
        assert_allclose(at_model, found.fun, rtol=1e-4)
    assert model.converged_


def test_squared_hinge_newton_against_a_general_optimizer():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(20, 20))
    K, t = A @ A.T, np.where(rng.random(20) < 0.5, 1.0, -1.0)

    def objective(v):
        f = K @ v[:-1] + v[-1]
        return (np.maximum(0, 1 - t * f) ** 2).sum() + 5.0 * v[:-1] @ K @ v[:-1]

    beta, intercept, _, converged = squared_hinge_svm(K, t, 5.0)
    found = minimize(objective, np.zeros(21), method="BFGS", options={"maxiter": 5_000})
    assert converged
    assert objective(np.append(beta, intercept)) <= found.fun * (1 + 1e-6)


def test_precomputed_kernel():
    K = gram("rbf", {"gamma": 0.4}, X, X)
    graph = KNNGraph(5).build(X)
    for cls in (LaplacianRLSClassifier, LaplacianSVC):
        direct = cls(gamma=0.4, graph=GivenGraph(graph)).fit(X, Y)
        given = cls(kernel="precomputed", graph=GivenGraph(graph)).fit(K, Y)
        new = gram("rbf", {"gamma": 0.4}, X[:4] + 0.1, X)
        assert_allclose(given.decision_function(new), direct.decision_function(X[:4] + 0.1))
    with pytest.raises(ValueError, match="must be square"):
        LaplacianSVC(kernel="precomputed", graph=GivenGraph(graph)).fit(K[:, :40], Y)
    with pytest.raises(ValueError, match=r"Pass graph=GivenGraph\(W\)"):
        LaplacianSVC(kernel="precomputed").fit(K, Y)
    with pytest.raises(ValueError, match="needs the rows"):
        LaplacianSVC(kernel="precomputed", graph=GivenGraph(graph), approximation="nystroem").fit(
            K, Y
        )


@pytest.mark.parametrize("cls", [LaplacianRLSClassifier, LaplacianSVC])
def test_landmarks_come_close_and_all_rows_are_exact(cls, monkeypatch):
    params = {"gamma": 0.4, "gamma_a": 0.01, "gamma_i": 100.0}
    exact = cls(approximation="exact", **params).fit(X, Y)
    every = cls(approximation="nystroem", n_landmarks=50, **params).fit(X, Y)
    assert_allclose(every.decision_function(X), exact.decision_function(X), atol=1e-4)
    some = cls(approximation="nystroem", n_landmarks=30, **params).fit(X, Y)
    assert (some.transduction_ == exact.transduction_).mean() > 0.9
    monkeypatch.setattr(module, "EXACT_UP_TO", 10)
    auto = cls(n_landmarks=30, **params).fit(X, Y)
    assert_allclose(auto.decision_function(X), some.decision_function(X))


def test_sparse_rows_linear_and_rbf():
    rng = np.random.default_rng(1)
    S = sparse.csr_array(np.where(rng.random((60, 20)) < 0.3, rng.random((60, 20)), 0.0))
    y = np.where(np.arange(60) < 20, np.arange(60) % 3, -1)
    for kernel in ("linear", "rbf"):
        a = LaplacianRLSClassifier(kernel=kernel, graph=KNNGraph(5)).fit(S, y)
        b = LaplacianRLSClassifier(kernel=kernel, graph=KNNGraph(5)).fit(S.toarray(), y)
        assert_allclose(a.predict_proba(S), b.predict_proba(S.toarray()), atol=1e-6)


def test_many_classes_probabilities_and_given_labels():
    y = np.where(np.arange(50) < 15, np.arange(50) % 3, -1)
    for cls in (LaplacianRLSClassifier, LaplacianSVC):
        model = cls(gamma_a=0.01, gamma_i=1.0).fit(X, y)
        assert_array_equal(model.transduction_[:15], y[:15])
        proba = model.predict_proba(X)
        assert_allclose(proba.sum(axis=1), 1.0)
        assert_array_equal(proba.argmax(axis=1), model.decision_function(X).argmax(axis=1))
        renamed = cls(gamma_a=0.01, gamma_i=1.0).fit(X, np.where(y < 0, -1, (y + 1) % 3))
        assert_allclose(renamed.predict_proba(X)[:, [1, 2, 0]], proba, atol=1e-6)


def test_the_graph_helps_on_moons_and_digits():
    rows, truth = make_moons(200, noise=0.05, random_state=0)
    y = np.full(200, -1)
    y[[np.argmin(rows[:, 0]), np.argmax(rows[:, 0])]] = [0, 1]
    for cls in (LaplacianRLSClassifier, LaplacianSVC):
        assert (cls(gamma=5.0).fit(rows, y).transduction_ == truth).mean() > 0.98
        assert (cls(gamma=5.0, gamma_i=0).fit(rows, y).transduction_ == truth).mean() < 0.9
    digits, truth = load_digits(return_X_y=True)
    digits, truth = digits[:800], truth[:800]
    y = np.where(np.arange(800) < 40, truth, -1)
    both = LaplacianRLSClassifier().fit(digits, y).transduction_ == truth
    alone = LaplacianRLSClassifier(gamma_i=0.0).fit(digits, y).transduction_ == truth
    assert both.mean() > alone.mean() + 0.02


def test_what_is_not_converged_is_said():
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        LaplacianSVC(loss="squared_hinge", max_iter=1, gamma_a=1e-4, gamma_i=0.0).fit(X, Y)


@pytest.mark.parametrize("params", [{"gamma_a": 0.0}, {"gamma_i": -1.0}, {"kernel": "other"}])
def test_bad_parameters(params):
    with pytest.raises(ValueError, match=f"The '{next(iter(params))}' parameter"):
        LaplacianSVC(**params).fit(X, Y)
    with pytest.raises(ValueError, match="4 nodes, but X has 50 rows"):
        LaplacianSVC(graph=GivenGraph(np.eye(4))).fit(X, Y)


@parametrize_with_checks(
    [
        LaplacianRLSClassifier(),
        LaplacianSVC(loss="squared_hinge", gamma_a=0.01),
        LaplacianSVC(kernel="linear", gamma_a=0.01),
    ],
    expected_failed_checks=lambda estimator: {
        "check_classifiers_classes": "-1 marks an unlabeled row, not a class",
        "check_sample_weight_equivalence_on_dense_data": "a repeated row is a node more in the "
        "graph, and a row of weight zero still one; the weights are of the loss",
        "check_sample_weight_equivalence_on_sparse_data": "as for dense rows",
    },
)
def test_sklearn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", [LaplacianRLSClassifier, LaplacianSVC])
def test_a_prior_moves_the_intercepts_alone(cls):
    rows, truth = make_moons(200, noise=0.1, random_state=0)
    y = np.full(200, -1)
    y[[np.flatnonzero(truth == c)[0] for c in (0, 1)]] = 0, 1
    plain, halves = cls().fit(rows, y), cls(prior=[0.5, 0.5]).fit(rows, y)
    moved = plain.decision_function(rows) - halves.decision_function(rows)
    assert_allclose(moved, (plain.intercept_ - halves.intercept_)[0], atol=1e-9)
    share = {p: (cls(prior=[1 - p, p]).fit(rows, y).transduction_ == 1).mean() for p in (0.2, 0.8)}
    assert share[0.2] < (halves.transduction_ == 1).mean() < share[0.8]
    with pytest.raises(ValueError, match="proportion 0"):
        cls(prior=[1.0, 0.0]).fit(rows, y)


def test_a_prior_keeps_one_class_of_several_from_taking_all():
    digits, truth = load_digits(n_class=4, return_X_y=True)
    # A function that is nearly flat: one label a class and no weight on the feature space.
    y = np.full(len(truth), -1)
    for c in range(4):
        y[np.flatnonzero(truth == c)[0]] = c
    model = LaplacianRLSClassifier(gamma_a=1e-9, prior="uniform").fit(digits, y)
    assert_array_equal(model.predict(digits)[y < 0], model.transduction_[y < 0])
    assert (np.bincount(model.transduction_) > 100).all()


@pytest.mark.parametrize("cls", [LaplacianRLSClassifier, LaplacianSVC])
def test_defaults_solve_two_moons_with_one_label_per_class(cls):
    accuracy = []
    for seed in range(4):
        rows, truth = make_moons(200, noise=0.07, random_state=seed)
        y = np.full(200, -1)
        y[[np.flatnonzero(truth == c)[seed] for c in (0, 1)]] = [0, 1]
        accuracy.append((cls().fit(rows, y).transduction_ == truth).mean())
    assert np.mean(accuracy) > 0.93  # 0.996; a kernel as wide as the data has 0.94 at best


def test_kernel_width_follows_the_edges_of_the_graph():
    model = LaplacianRLSClassifier(graph=KNNGraph(5)).fit(X, Y)
    W = model.graph_.adjacency.tocoo()
    squares = ((X[W.coords[0]] - X[W.coords[1]]) ** 2).sum(axis=1)
    assert model.gamma_ == pytest.approx(1 / (18 * np.median(squares)))


@pytest.mark.filterwarnings("ignore")  # whether LIBSVM converges in its steps is up to rounding
def test_equal_rows_of_different_classes_end():
    rows = [(1, -1)] * 10 + [(0, 1), (0, 0), (0, -1), (0, 1), (1, 1), (1, 1), (0, 1), (-1, -1)]
    X = np.array([*rows, (0, 1), (1, -1), (-1, -1)]) * [1, 1_000_000]
    y = np.array([3, 2, 3, -1, 3, 1, 2, 3, 0, 2, -1, -1, 0, 2, 1, 1, 1, 1, 3, -1, 3])
    P = LaplacianSVC().fit(X, y).predict_proba(X)
    assert np.isfinite(P).all()
    assert_allclose(P.sum(axis=1), 1.0)
