"""Weights of the labeled rows in manifold regularization."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from leaven.graph import KNNGraph
from leaven.graph_based import LaplacianRLSClassifier, LaplacianSVC
from leaven.graph_based._squared_hinge import squared_hinge_svm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
TRUTH = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
Y = np.where(np.arange(50) < 14, TRUTH, -1)
SIGNS = np.where(Y[:14] == 1, 1.0, -1.0)
WEIGHT = RNG.uniform(0.3, 4.0, size=50)
MODELS = [
    LaplacianRLSClassifier(gamma=0.4, gamma_a=0.01, gamma_i=30.0, prior=None),
    LaplacianSVC(gamma=0.4, gamma_a=0.01, gamma_i=30.0, prior=None, tol=1e-9),
    LaplacianSVC(gamma=0.4, gamma_a=0.01, gamma_i=30.0, prior=None, loss="squared_hinge"),
]


def fitted(model, X, y, **fit):
    return type(model)(**model.get_params()).fit(X, y, **fit)


def test_formula_of_the_paper_with_weights():
    gamma_a, gamma_i, n, total = 0.02, 30.0, 50, WEIGHT[:14].sum()
    graph = KNNGraph(5)
    L = graph.build(X).laplacian().toarray()
    K = rbf_kernel(X, gamma=0.4)
    W = np.diag(np.where(Y >= 0, WEIGHT, 0.0))
    target = W @ np.concatenate([SIGNS, np.zeros(36)])
    A = W @ K + gamma_a * total * np.eye(n) + gamma_i * total / n**2 * L @ K
    alpha = np.linalg.solve(A, target)
    model = LaplacianRLSClassifier(
        gamma_a=gamma_a, gamma_i=gamma_i, gamma=0.4, graph=graph, prior=None
    ).fit(X, Y, sample_weight=WEIGHT)
    assert_allclose(model.decision_function(X), K @ alpha, atol=1e-7)


def test_without_the_graph_they_are_the_weights_of_kernel_ridge_and_svc():
    weight, total = WEIGHT[:14], WEIGHT[:14].sum()
    ridge = KernelRidge(alpha=0.01 * total, kernel="rbf", gamma=0.4)
    ridge.fit(X[:14], SIGNS, sample_weight=weight)
    model = LaplacianRLSClassifier(gamma=0.4, gamma_a=0.01, gamma_i=0.0, prior=None)
    model.fit(X, Y, sample_weight=WEIGHT)
    assert_allclose(model.decision_function(X), ridge.predict(X), atol=1e-8)
    machine = SVC(gamma=0.4, C=1 / (2 * 0.01 * total), tol=1e-9)
    machine.fit(X[:14], SIGNS, sample_weight=weight)
    model = LaplacianSVC(gamma=0.4, gamma_a=0.01, gamma_i=0.0, prior=None, tol=1e-9)
    model.fit(X, Y, sample_weight=WEIGHT)
    assert_allclose(model.decision_function(X), machine.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_integer_weights_are_repeated_labels(model):
    """Without the graph, whose nodes the repeated rows would be."""
    weight = np.random.default_rng(2).integers(1, 4, size=50)
    model = type(model)(**{**model.get_params(), "gamma_i": 0.0})
    rows = np.concatenate([np.repeat(np.arange(14), weight[:14]), np.arange(14, 50)])
    weighted = fitted(model, X, Y, sample_weight=weight)
    repeated = fitted(model, X[rows], Y[rows])
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-5)
    difference = weighted.decision_function(X) - fitted(model, X, Y).decision_function(X)
    assert np.abs(difference).max() > 0.01


@pytest.mark.parametrize("model", MODELS)
def test_a_weight_of_zero_is_an_unlabeled_row(model):
    weight = WEIGHT.copy()
    weight[[3, 7]] = 0.0
    unlabeled = Y.copy()
    unlabeled[[3, 7]] = -1
    for prior in (None, "auto", "labeled"):
        model.set_params(prior=prior)
        zero = fitted(model, X, Y, sample_weight=weight)
        without = fitted(model, X, unlabeled, sample_weight=WEIGHT)
        assert_allclose(zero.decision_function(X), without.decision_function(X), atol=1e-10)
        assert_array_equal(zero.transduction_[:14], Y[:14])
    model.set_params(prior=None)


@pytest.mark.parametrize("model", MODELS)
def test_equal_weights_change_nothing(model):
    """The loss is a mean; nor do weights of unlabeled rows count."""
    plain = fitted(model, X, Y).decision_function(X)
    equal = fitted(model, X, Y, sample_weight=np.where(Y >= 0, 2.5, WEIGHT))
    assert_allclose(equal.decision_function(X), plain, atol=1e-6)


def test_squared_hinge_with_weights_against_a_general_optimizer():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(20, 20))
    K, t = A @ A.T, np.where(rng.random(20) < 0.5, 1.0, -1.0)
    w = rng.uniform(0.2, 5.0, size=20)

    def objective(v):
        f = K @ v[:-1] + v[-1]
        return (w * np.maximum(0, 1 - t * f) ** 2).sum() + 5.0 * v[:-1] @ K @ v[:-1]

    beta, intercept, _, converged = squared_hinge_svm(K, t, 5.0, w)
    found = minimize(objective, np.zeros(21), method="BFGS", options={"maxiter": 5_000})
    assert converged
    assert objective(np.append(beta, intercept)) <= found.fun * (1 + 1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_weights_that_do_not_fit_are_refused(model):
    for weight, message in [
        (np.ones(49), r"sample_weight.shape == \(49,\)"),
        (np.full(50, -1.5), "Negative values in sample_weight: -1.5"),
        (np.where(Y == 1, 0.0, 1.0), "zero for every labeled row of class"),
        (np.full(50, np.nan), "NaN"),
    ]:
        with pytest.raises(ValueError, match=message):
            fitted(model, X, Y, sample_weight=weight)
