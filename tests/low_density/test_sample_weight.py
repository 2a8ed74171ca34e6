"""Weights of rows in the regularized logistic regressions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression

from leaven.low_density import (
    EntropyRegularizedLogisticRegression,
    ExpectationRegularizedLogisticRegression,
)
from leaven.low_density._entropy import total_entropy
from leaven.low_density._expectation import proportion_divergence
from leaven.low_density._logistic import LogitModel, penalized_loss

MODELS = [EntropyRegularizedLogisticRegression, ExpectationRegularizedLogisticRegression]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) + np.repeat([[0.0, 0, 0], [1.7, 0.4, 0]], 20, axis=0)
    y = np.repeat([3, 8], 20)
    y[np.arange(40) % 20 > 6] = -1
    return X, y, rng.integers(0, 4, size=40)


@pytest.mark.parametrize("cls", MODELS)
def test_a_weight_of_two_is_two_rows(cls, rows):
    X, y, weight = rows
    twice = np.repeat(np.arange(40), weight)
    model = cls(tol=1e-9).fit(X, y, sample_weight=weight)
    repeated = cls(tol=1e-9).fit(X[twice], y[twice])
    assert_allclose(model.coef_, repeated.coef_, rtol=1e-4, atol=1e-6)
    assert_allclose(model.intercept_, repeated.intercept_, rtol=1e-4, atol=1e-6)
    assert_allclose(model.objective_, repeated.objective_, rtol=1e-7)
    assert np.abs(cls(tol=1e-9).fit(X, y).coef_ - model.coef_).max() > 0.01


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_a_penalty_it_is_weighted_logistic_regression(n_classes):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 2)), rng.integers(n_classes, size=60)
    weight = rng.uniform(0.2, 3.0, size=60)
    peer = LogisticRegression(C=0.7, tol=1e-9, max_iter=2000).fit(X, y, sample_weight=weight)
    model = EntropyRegularizedLogisticRegression(C=0.7, tol=1e-9, entropy_weight=0.0)
    model.fit(X, y, sample_weight=weight)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("kind", ["entropy", "divergence"])
def test_gradient_of_weighted_losses(kind):
    rng = np.random.default_rng(2)
    X, codes = rng.normal(size=(9, 2)), np.array([0, 1, 2, -1, -1, -1, -1, 1, 0])
    weight = rng.uniform(0.3, 2.5, size=9)
    free = weight[codes < 0]
    penalty = {
        "entropy": lambda Z: total_entropy(Z, free),
        "divergence": lambda Z: proportion_divergence(Z, np.array([0.2, 0.3, 0.5]), 1.3, free),
    }[kind]
    model = LogitModel(X, 3, True)
    theta = rng.normal(size=model.n_parameters)

    def loss(theta):
        return penalized_loss(theta, model, codes, 0.6, 1.7, penalty, weight)

    numeric = approx_fprime(theta, lambda theta: loss(theta)[0], 1e-7)
    assert_allclose(loss(theta)[1], numeric, atol=1e-5)


@pytest.mark.parametrize("cls", MODELS)
def test_equal_weights_change_the_ridge_only(cls, rows):
    X, y, _ = rows
    heavy = cls(C=0.5, tol=1e-9).fit(X, y, sample_weight=np.full(40, 2.5))
    plain = cls(C=1.25, tol=1e-9).fit(X, y)
    assert_allclose(heavy.coef_, plain.coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("cls", MODELS)
def test_weights_that_do_not_fit_are_refused(cls, rows):
    X, y, _ = rows
    with pytest.raises(ValueError, match="zero for every labeled row"):
        cls().fit(X, y, sample_weight=(y == -1).astype(float))
    with pytest.raises(ValueError, match="Negative values"):
        cls().fit(X, y, sample_weight=np.full(40, -1.5))
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(39,\)"):
        cls().fit(X, y, sample_weight=np.ones(39))
