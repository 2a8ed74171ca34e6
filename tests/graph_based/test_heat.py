"""Heat kernels: the matrix exponential, sklearn's kernel machines, and laws of heat."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.linalg import expm
from sklearn.datasets import make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.exceptions import UnreachedWarning
from leaven.graph import GivenGraph, Graph
from leaven.graph_based import HeatKernelClassifier
from leaven.graph_based._heat import TIMES, heat_flow, kernel_weights, left_out_scores


def random_graph(seed, n=14):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.4), 1)
    W += np.diag(np.full(n - 1, 0.3), 1)  # the path keeps it connected
    return W + W.T


def laplacian(W, kind):
    d = W.sum(axis=1)
    return (
        np.diag(d) - W if kind == "combinatorial" else np.eye(len(W)) - W / np.sqrt(d * d[:, None])
    )


@pytest.mark.parametrize("time", [0.01, 0.7, 30.0, 800.0])
@pytest.mark.parametrize("kind", ["symmetric", "combinatorial"])
def test_flow_is_the_matrix_exponential(time, kind):
    W = random_graph(3)
    L = laplacian(W, kind)
    bound = 2.0 if kind == "symmetric" else 2 * W.sum(axis=1).max()
    B = np.random.default_rng(0).normal(size=(14, 3))
    flowed = heat_flow(sparse.csr_array(L), B, time, largest=bound)
    assert_allclose(flowed, expm(-time * L) @ B, atol=1e-12)


@given(st.integers(0, 10_000), st.floats(0.01, 20), st.floats(0.01, 20))
def test_heat_is_kept_and_flows_on(seed, first, second):
    W = random_graph(seed, 9)
    L = Graph(W).laplacian()
    bound = 2 * W.sum(axis=1).max()
    K = heat_flow(L, np.eye(9), first, largest=bound)
    assert_allclose(K.sum(axis=0), 1.0, atol=1e-11)
    assert K.min() > -1e-12
    assert_allclose(K, K.T, atol=1e-12)
    both = heat_flow(L, K, second, largest=bound)
    assert_allclose(both, heat_flow(L, np.eye(9), first + second, largest=bound), atol=1e-11)


def problem(seed=0, n_classes=3):
    W = random_graph(seed, 20)
    y = np.full(20, -1)
    y[: 3 * n_classes] = np.arange(3 * n_classes) % n_classes
    return W, y


def fitted(W, y, **params):
    return HeatKernelClassifier(GivenGraph(W), prior=None, **params).fit(np.zeros((len(y), 1)), y)


@pytest.mark.parametrize("kind", ["symmetric", "combinatorial"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_ridge_is_kernel_ridge_regression(kind, n_classes):
    W, y = problem(1, n_classes)
    unit = 1.0 if kind == "symmetric" else 1.0 / W.sum(axis=1).mean()
    K = expm(-2.5 * unit * laplacian(W, kind))
    rows = np.flatnonzero(y >= 0)
    alpha = 0.3 * K[rows, rows].mean()
    peer = KernelRidge(alpha=alpha, kernel="precomputed")
    peer.fit(K[np.ix_(rows, rows)], np.eye(n_classes)[y[rows]])
    model = fitted(W, y, time=2.5, ridge=0.3, laplacian=kind)
    assert_allclose(model.scores_, peer.predict(K[:, rows]), atol=1e-9)


def test_support_vectors_are_those_of_the_precomputed_kernel():
    W, y = problem(2, 3)
    K = expm(-4.0 * laplacian(W, "symmetric"))
    rows = np.flatnonzero(y >= 0)
    unit = K[rows, rows].mean()
    model = fitted(W, y, time=4.0, machine="svm", C=2.0)
    for c in range(3):
        peer = SVC(kernel="precomputed", C=2.0).fit(K[np.ix_(rows, rows)] / unit, y[rows] == c)
        # Heat has no constant: the machine is used without its intercept.
        expected = peer.decision_function(K[:, rows] / unit) - peer.intercept_[0]
        assert_allclose(model.scores_[:, c], expected, atol=1e-7)


def test_sources_are_the_heat_of_the_labels():
    W, y = problem(4, 2)
    K = expm(-0.8 * laplacian(W, "symmetric"))
    model = fitted(W, y, time=0.8, machine="sources")
    heat = np.column_stack([K[:, y == c].sum(axis=1) for c in range(2)])
    assert_allclose(model.scores_, heat, atol=1e-11)
    free = y < 0
    share = heat / heat.sum(axis=1, keepdims=True)
    assert_allclose(model.label_distributions_[free], share[free], atol=1e-9)


@pytest.mark.parametrize("machine", ["ridge", "sources"])
def test_left_out_scores_by_leaving_out(machine):
    rng = np.random.default_rng(5)
    A = rng.normal(size=(9, 12))
    K, Y = A @ A.T / 12, np.eye(3)[np.arange(9) % 3]
    found = left_out_scores(K, Y, machine, ridge=0.2)
    for i in range(9):
        rest = np.delete(np.arange(9), i)
        if machine == "ridge":
            G = K[np.ix_(rest, rest)] + 0.2 * np.diagonal(K).mean() * np.eye(8)
            expected = K[i, rest] @ np.linalg.solve(G, Y[rest])
        else:
            expected = K[i, rest] @ kernel_weights(K, Y[rest], "sources", ridge=0, C=1)
        assert_allclose(found[i], expected)


def test_time_is_chosen_by_labels_left_out():
    # A ring of clusters of two classes in turn: late heat has mixed them.
    rng = np.random.default_rng(0)
    n = 60
    block = np.arange(n) // 10
    W = np.where(block[:, None] == block, 1.0, 0.0) * (rng.random((n, n)) < 0.6)
    W = np.triu(W, 1)
    for b in range(6):
        W[10 * b, (10 * b + 10) % n] += 0.5
    W = W + W.T
    truth = block % 2
    y = np.where(np.arange(n) % 10 < 2, truth, -1)
    model = fitted(W, y)
    assert set(model.left_out_errors_) == set(TIMES)
    assert model.left_out_errors_[model.time_] == min(model.left_out_errors_.values())
    assert model.left_out_errors_[300.0] > model.left_out_errors_[model.time_]
    assert_array_equal(model.transduction_, truth)
    alone = fitted(W, np.where(np.isin(np.arange(n), [1, 11]), truth, -1))
    assert alone.left_out_errors_ == {}


@pytest.mark.parametrize("machine", ["ridge", "svm", "sources"])
def test_two_moons(machine):
    X, truth = make_moons(200, noise=0.05, random_state=0)
    y = np.full(200, -1)
    for c in range(2):
        y[np.flatnonzero(truth == c)[:3]] = c
    model = HeatKernelClassifier(machine=machine).fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.97


def test_rows_that_are_cold_or_apart():
    chain = Graph.from_edges([(i, i + 1) for i in range(39)]).adjacency
    y = np.full(40, -1)
    y[[0, 1, 2]] = [0, 1, 1]
    model = fitted(chain, y, time=0.01)
    assert model.n_cold_ > 20
    assert_allclose(model.label_distributions_[-1], [1 / 3, 2 / 3], rtol=1e-5)
    apart = sparse.block_diag([chain, np.array([[0.0, 1.0], [1.0, 0.0]])])
    with pytest.warns(UnreachedWarning, match="2 of 42 rows"):
        model = fitted(apart, np.append(y, [-1, -1]), time=1.0)
    assert_allclose(model.label_distributions_[-1], [1 / 3, 2 / 3])


@parametrize_with_checks(
    [HeatKernelClassifier()],
    expected_failed_checks=lambda _: {
        "check_classifiers_classes": "-1 marks an unlabeled row, not a class"
    },
)
def test_sklearn_contract(estimator, check):
    check(estimator)
