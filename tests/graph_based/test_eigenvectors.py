"""Least squares on Laplacian eigenvectors, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, make_moons
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.graph import GivenGraph
from leaven.graph_based import LaplacianEigenvectorClassifier


def random_graph(seed, n=24):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.3), 1)
    W += np.diag(np.full(n - 1, 0.3), 1)
    return W + W.T


def labels(n_classes, n=24, per_class=4):
    y = np.full(n, -1)
    y[: per_class * n_classes] = np.arange(per_class * n_classes) % n_classes
    return y


def fitted(W, y, **params):
    return LaplacianEigenvectorClassifier(GivenGraph(W), **params).fit(np.zeros((len(y), 1)), y)


@pytest.mark.parametrize("kind", ["combinatorial", "random-walk"])
@pytest.mark.parametrize(("n_classes", "p"), [(2, 3), (3, 5)])
def test_is_the_regression_on_dense_eigenvectors(kind, n_classes, p):
    W, y = random_graph(0), labels(n_classes)
    d = W.sum(axis=1)
    if kind == "combinatorial":
        E = np.linalg.eigh(np.diag(d) - W)[1][:, :p]
    else:
        root = np.sqrt(d)
        E = np.linalg.eigh(np.eye(24) - W / np.outer(root, root))[1][:, :p] / root[:, None]
    rows = y >= 0
    # The constant is the first eigenvector, so that no intercept is needed.
    peer = LinearRegression(fit_intercept=False).fit(E[rows], np.eye(n_classes)[y[rows]])
    model = fitted(W, y, n_eigenvectors=p, laplacian=kind)
    assert model.n_eigenvectors_ == p
    assert_allclose(model.scores_, peer.predict(E), atol=1e-8)


@given(st.integers(0, 10_000), st.integers(1, 8))
def test_residuals_are_orthogonal_and_scores_sum_to_one(seed, p):
    W, y = random_graph(seed), labels(3)
    model = fitted(W, y, n_eigenvectors=p)
    rows = y >= 0
    E = np.linalg.eigh(np.diag(W.sum(axis=1)) - W)[1][:, :p]
    residual = np.eye(3)[y[rows]] - model.scores_[rows]
    assert_allclose(E[rows].T @ residual, 0.0, atol=1e-7)
    assert_allclose(model.scores_.sum(axis=1), 1.0, atol=1e-7)


def test_number_of_eigenvectors():
    W = random_graph(1, 60)
    assert fitted(W, labels(2, 60, 20)).n_eigenvectors_ == 8  # a fifth of 40 labels
    assert fitted(W, labels(3, 60, 1)).n_eigenvectors_ == 6  # two per class
    # Not about as many as labels.
    assert fitted(W, labels(3, 60, 2)).n_eigenvectors_ == 4
    assert fitted(W, labels(2, 60, 2)).n_eigenvectors_ == 3
    assert fitted(W, labels(3, 60, 3)).n_eigenvectors_ == 6
    with pytest.raises(ValueError, match="n_eigenvectors=61, but the graph has 60 nodes"):
        fitted(W, labels(2, 60), n_eigenvectors=61)
    # All of them interpolate the labels.
    y = labels(3, 60)
    everything = fitted(W, y, n_eigenvectors=60)
    assert_allclose(everything.scores_[y >= 0], np.eye(3)[y[y >= 0]], atol=1e-6)


def test_as_many_labels_as_two_eigenvectors_per_class_do_no_harm():
    X, truth = load_digits(return_X_y=True)
    y = np.full(len(truth), -1)
    for c in range(10):
        y[np.random.default_rng(c).choice(np.flatnonzero(truth == c), 2, replace=False)] = c
    right = LaplacianEigenvectorClassifier().fit(X, y).transduction_ == truth
    assert right[y < 0].mean() > 0.7  # 0.9 as a rule, and 0.5 with 20 eigenvectors


def test_one_wrong_label_is_outvoted_on_two_moons():
    X, truth = make_moons(300, noise=0.05, random_state=1)
    y = np.full(300, -1)
    for c in range(2):
        y[np.flatnonzero(truth == c)[:10]] = c
    wrong = np.flatnonzero(y == 0)[3]
    y[wrong] = 1
    model = LaplacianEigenvectorClassifier().fit(X, y)
    free = y < 0
    assert_array_equal(model.transduction_[free], truth[free])
    assert model.scores_[wrong, 0] > 0.5


@parametrize_with_checks(
    [LaplacianEigenvectorClassifier()],
    expected_failed_checks=lambda _: {
        "check_classifiers_classes": "-1 marks an unlabeled row, not a class"
    },
)
def test_sklearn_contract(estimator, check):
    check(estimator)
