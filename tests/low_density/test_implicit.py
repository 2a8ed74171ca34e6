"""Implicitly constrained least squares against brute force and its own theorem."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import optimize
from sklearn.linear_model import Ridge

from leaven.low_density import ImplicitlyConstrainedLeastSquares
from leaven.low_density._implicit import constrained_targets, least_squares_map


def problem(seed, n_labeled=4, n_unlabeled=6, n_columns=2):
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.normal(size=(n_labeled + n_unlabeled, n_columns)), np.ones(10)])
    targets = np.r_[0.0, 1.0, rng.randint(0, 2, n_labeled - 2)]
    return X[:n_labeled], targets, X[n_labeled:]


def test_weights_are_those_of_ridge_regression():
    X, t, _ = problem(0, 10, 0)
    expected = Ridge(alpha=0.7).fit(X[:, :-1], t)
    w = least_squares_map(X, 0.7) @ X.T @ t
    assert_allclose(w[:-1], expected.coef_, rtol=1e-8)
    assert_allclose(w[-1], expected.intercept_, rtol=1e-8)


@given(st.integers(0, 10_000))
def test_no_targets_in_the_box_suit_the_labels_better(seed):
    X_l, t, X_u = problem(seed)
    found = constrained_targets(X_l, t, X_u, 0.1)
    assert ((found.targets >= 0) & (found.targets <= 1)).all()
    # The weights are the ridge fit to all rows with these targets.
    X, y = np.vstack([X_l, X_u]), np.r_[t, found.targets]
    assert_allclose(found.weights, least_squares_map(X, 0.1) @ X.T @ y, atol=1e-8)
    assert_allclose(found.losses[1], ((X_l @ found.weights - t) ** 2).sum(), atol=1e-10)
    # An independent solver of the same bounded least squares problem.
    A = X_l @ least_squares_map(X, 0.1)
    best = optimize.lsq_linear(A @ X_u.T, t - A @ X_l.T @ t, bounds=(0, 1), tol=1e-14)
    # Both stop where progress is small: a percent is far above what either leaves.
    assert found.losses[1] <= 2.02 * best.cost + 1e-3
    assert found.losses[1] <= found.losses[0] + 1e-12


@given(st.integers(0, 10_000))
def test_theorem_of_one_column(seed):
    # Krijthe and Loog, theorem 1: one column, no constant. The squared loss on all rows,
    # labeled and unlabeled, is at most that of the supervised fit, whatever the true labels.
    rng = np.random.RandomState(seed)
    x, y = rng.normal(size=(9, 1)), rng.randint(0, 2, 9).astype(float)
    X_l, t, X_u = x[:3], y[:3], x[3:]
    supervised = float((X_l.T @ t)[0] / (X_l.T @ X_l)[0, 0])
    q = optimize.lsq_linear(
        X_l @ X_u.T / (x**2).sum(), t - X_l[:, 0] * (X_l.T @ t) / (x**2).sum(), bounds=(0, 1)
    ).x
    implicit = float((X_l.T @ t + X_u.T @ q)[0] / (x**2).sum())
    assert ((x[:, 0] * implicit - y) ** 2).sum() <= ((x[:, 0] * supervised - y) ** 2).sum() + 1e-7


def test_without_unlabeled_rows_it_is_ridge_classification():
    rng = np.random.RandomState(1)
    X = rng.normal(size=(40, 3)) * [1.0, 20.0, 0.3] + 5.0
    y = (X[:, 0] + rng.normal(size=40) > 5).astype(int)
    model = ImplicitlyConstrainedLeastSquares(alpha=0.0).fit(X, y)
    expected = np.linalg.lstsq(np.column_stack([X, np.ones(40)]), y, rcond=None)[0]
    assert_allclose(model.coef_[1], expected[:-1], rtol=1e-6)
    assert_allclose(model.intercept_[1], expected[-1], rtol=1e-6)
    assert_allclose(model.coef_[0], -model.coef_[1])


def test_columns_of_any_size():
    rng = np.random.RandomState(2)
    X = rng.normal(size=(30, 2))
    y = np.where(np.arange(30) % 3 == 0, (X[:, 0] > 0).astype(int), -1)
    plain = ImplicitlyConstrainedLeastSquares().fit(X, y)
    large = ImplicitlyConstrainedLeastSquares().fit(X * [1e200, 1e-200], y)
    assert_allclose(large.label_distributions_, plain.label_distributions_, atol=1e-6)


def test_three_classes():
    rng = np.random.RandomState(3)
    truth = np.repeat([0, 1, 2], 30)
    X = rng.normal(size=(90, 2)) + 6.0 * np.array([[0, 0], [1, 0], [0, 1]])[truth]
    y = np.where(np.arange(90) % 6 == 0, truth, -1)
    model = ImplicitlyConstrainedLeastSquares().fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.9
    assert model.objective_trace_[1] <= model.objective_trace_[0]
