"""S3VM solvers and regularized logistic regression against exact answers."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import approx_fprime
from scipy.stats import norm
from sklearn.datasets import make_blobs, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from leaven.low_density import (
    EntropyRegularizedLogisticRegression,
    ExpectationRegularizedLogisticRegression,
    TransductiveSVC,
)
from leaven.low_density._annealing import annealed_probabilities
from leaven.low_density._continuation import smoothed_hat, smoothed_hinge
from leaven.low_density._entropy import total_entropy
from leaven.low_density._expectation import proportion_divergence
from leaven.low_density._gradient import gaussian_loss, huberized_hinge

SOLVERS = ["switching", "annealing", "gradient", "continuation", "branch-and-bound"]
HEURISTICS = SOLVERS[:-1]


def small_problem(seed, n_unlabeled=8):
    rng = np.random.default_rng(seed)
    truth = np.arange(n_unlabeled + 4) % 2
    X = rng.normal(size=(len(truth), 2)) + 1.2 * truth[:, None]
    return X, np.where(np.arange(len(truth)) < 4, truth, -1), truth


def svm_objective(X, y, cost, **kernel):
    machine = SVC(C=1.0, tol=1e-8, **kernel).fit(X, y, sample_weight=cost)
    f = machine.decision_function(X)
    if machine.kernel == "linear":
        size = float((machine.coef_**2).sum())
    else:
        v = machine.support_vectors_
        size = float(
            (machine.dual_coef_ @ rbf_kernel(v, v, gamma=machine.gamma) @ machine.dual_coef_.T)[
                0, 0
            ]
        )
    return size / 2 + float(cost @ np.maximum(0, 1 - y * f))


@pytest.mark.parametrize("kernel", [{"kernel": "linear"}, {"kernel": "rbf", "gamma": 0.7}])
@pytest.mark.parametrize("seed", range(3))
def test_branch_and_bound_equals_brute_force(kernel, seed):
    X, y, _ = small_problem(seed)
    free = np.flatnonzero(y < 0)
    given = np.where(y == 1, 1.0, -1.0)
    cost = np.where(y < 0, 0.5, 1.0)
    best = np.inf
    for chosen in itertools.combinations(free, len(free) // 2):
        signs = given.copy()
        signs[free] = -1.0
        signs[list(chosen)] = 1.0
        best = min(best, svm_objective(X, signs, cost, **kernel))
    exact = TransductiveSVC(solver="branch-and-bound", C_unlabeled=0.5, **kernel).fit(X, y)
    assert exact.is_proven_optimal_
    assert_allclose(exact.objective_, best, rtol=1e-4)
    for solver in HEURISTICS:
        model = TransductiveSVC(solver=solver, C_unlabeled=0.5, **kernel).fit(X, y)
        assert model.objective_ >= best * (1 - 1e-4)
        assert (model.transduction_[free] == 1).sum() == len(free) // 2


def test_a_search_that_is_cut_short_says_so():
    X, y, _ = small_problem(0, n_unlabeled=20)
    with pytest.warns(UserWarning, match="max_nodes"):
        model = TransductiveSVC(solver="branch-and-bound", max_nodes=2).fit(X, y)
    assert not model.is_proven_optimal_


@pytest.mark.parametrize("solver", HEURISTICS)
def test_close_to_the_optimum_on_separated_clusters(solver):
    X, truth = make_blobs(26, centers=[[0, 0], [4, 4]], cluster_std=0.8, random_state=1)
    y = np.full(26, -1)
    y[[np.flatnonzero(truth == 0)[0], np.flatnonzero(truth == 1)[0]]] = [0, 1]
    exact = TransductiveSVC(solver="branch-and-bound").fit(X, y)
    model = TransductiveSVC(solver=solver).fit(X, y)
    assert exact.objective_ * (1 - 1e-6) <= model.objective_ <= 1.05 * exact.objective_
    assert_array_equal(model.transduction_, truth)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", [{"kernel": "linear"}, {"kernel": "rbf", "gamma": 0.7}])
def test_without_unlabeled_rows_it_is_svc(solver, kernel):
    X, _, truth = small_problem(3, n_unlabeled=26)
    peer = SVC(C=2.0, tol=1e-8, **kernel).fit(X, truth)
    model = TransductiveSVC(C=2.0, solver=solver, **kernel).fit(X, truth)
    assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-4)


def test_two_moons_with_one_label_a_class():
    X, truth = make_moons(200, noise=0.06, random_state=0)
    y = np.full(200, -1)
    y[[np.argmin(X[:, 0]), np.argmax(X[:, 0])]] = [0, 1]
    alone = SVC(gamma=5.0, C=10).fit(X[y >= 0], y[y >= 0]).score(X, truth)
    assert alone < 0.9
    right = [
        (
            TransductiveSVC(kernel="rbf", gamma=5.0, C=10, C_unlabeled=10, solver=solver)
            .fit(X, y)
            .transduction_
            == truth
        ).mean()
        for solver in ("annealing", "gradient")
    ]
    assert min(right) >= 0.98


def test_sparse_rows_many_classes_and_given_ratios():
    X, truth = make_blobs(90, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    y = np.full(90, -1)
    for c in range(3):
        y[np.flatnonzero(truth == c)[:3]] = c
    dense = TransductiveSVC().fit(X, y)
    assert (dense.transduction_ == truth).mean() > 0.95
    assert_allclose(dense.predict_proba(X).sum(axis=1), 1.0)
    assert dense.objective_.shape == (3,)
    thin = TransductiveSVC().fit(sparse.csr_array(X), y)
    assert_allclose(
        thin.decision_function(sparse.csr_array(X)), dense.decision_function(X), atol=1e-3
    )
    two = np.where(y == 2, 1, y)
    model = TransductiveSVC(positive_fraction=0.25).fit(X, two)
    free = two < 0
    assert abs((model.transduction_[free] == 1).sum() - 0.25 * free.sum()) <= 1


def test_the_ratio_of_the_soft_labels_is_exact():
    costs = np.random.default_rng(0).normal(size=50)
    for temperature in (10.0, 0.1, 1e-3):
        p = annealed_probabilities(costs, 0.3, temperature)
        assert_allclose(p.mean(), 0.3, atol=1e-6)


def test_smoothed_losses_against_quadrature():
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    points, deviation = np.linspace(-2.5, 2.5, 11), np.full(11, 0.7)
    for smoothed, plain in (
        (smoothed_hinge, lambda t: np.maximum(0, 1 - t)),
        (smoothed_hat, lambda t: np.maximum(0, 1 - np.abs(t))),
    ):
        expected = plain(points[:, None] + 0.7 * nodes) @ weights
        assert_allclose(smoothed(points, deviation)[0], expected, atol=5e-3)
    assert_allclose(smoothed_hinge(np.array([1.0]), np.array([1.0]))[0], norm.pdf(0))


@pytest.mark.parametrize("loss", [gaussian_loss, huberized_hinge])
def test_slopes_of_the_smooth_losses(loss):
    points = np.linspace(-2, 2, 9) + 0.013
    slope = (loss(points + 1e-6)[0] - loss(points - 1e-6)[0]) / 2e-6
    assert_allclose(loss(points)[1], slope, atol=1e-5)


def test_gradients_of_the_penalties():
    Z = np.random.default_rng(0).normal(size=(4, 3))
    numeric = approx_fprime(Z.ravel(), lambda z: total_entropy(z.reshape(4, 3))[0], 1e-7)
    assert_allclose(total_entropy(Z)[1].ravel(), numeric, atol=1e-5)
    q = np.array([0.2, 0.3, 0.5])

    def divergence(z):
        return proportion_divergence(z.reshape(4, 3), q, 1.0)

    numeric = approx_fprime(Z.ravel(), lambda z: divergence(z)[0], 1e-7)
    assert_allclose(divergence(Z.ravel())[1].ravel(), numeric, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_their_penalty_they_are_logistic_regression(n_classes):
    X, truth = make_blobs(60, centers=n_classes, cluster_std=3.0, random_state=0)
    y = np.where(np.arange(60) < 30, truth, -1)
    peer = LogisticRegression(C=0.7, tol=1e-10, max_iter=10_000).fit(X[:30], truth[:30])
    for model in (
        EntropyRegularizedLogisticRegression(C=0.7, entropy_weight=0.0, tol=1e-9),
        ExpectationRegularizedLogisticRegression(C=0.7, expectation_weight=0.0, tol=1e-9),
    ):
        assert_allclose(model.fit(X, y).predict_proba(X), peer.predict_proba(X), atol=1e-4)
        thin = model.fit(sparse.csr_array(X), y).predict_proba(sparse.csr_array(X))
        assert_allclose(thin, peer.predict_proba(X), atol=1e-4)


def test_proportions_are_met_as_the_weight_grows():
    X, truth = make_blobs(200, centers=2, cluster_std=3.0, random_state=1)
    y = np.where(np.arange(200) < 10, truth, -1)
    gaps = []
    for weight in (0.0, 10.0, 10_000.0):
        model = ExpectationRegularizedLogisticRegression(
            expectation_weight=weight, prior=[0.8, 0.2], max_iter=5_000
        ).fit(X, y)
        gaps.append(abs(model.predict_proba(X[10:])[:, 0].mean() - 0.8))
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-2


def test_entropy_falls_as_its_weight_grows():
    X, truth = make_blobs(200, centers=2, cluster_std=2.0, random_state=1)
    y = np.where(np.arange(200) < 10, truth, -1)
    found = []
    for weight in (0.0, 0.3):
        p = (
            EntropyRegularizedLogisticRegression(entropy_weight=weight)
            .fit(X, y)
            .predict_proba(X[10:])
        )
        found.append(-(p * np.log(np.maximum(p, 1e-300))).sum())
    assert found[1] < found[0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"positive_fraction": 1.5}, "positive_fraction"),
        ({"solver": "other"}, "solver"),
        ({"kernel": "precomputed"}, "square"),
        ({"C": -1.0}, "C"),
    ],
)
def test_bad_input(params, message):
    X, y, _ = small_problem(0)
    with pytest.raises(ValueError, match=message):
        TransductiveSVC(**params).fit(X, y)
    with pytest.raises(ValueError, match="1 class only"):
        TransductiveSVC().fit(X, np.where(y == 1, -1, y))
