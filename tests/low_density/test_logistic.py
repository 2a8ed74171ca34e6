import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.datasets import make_blobs

from leaven.exceptions import ConvergenceWarning, LeavenWarning
from leaven.low_density import (
    EntropyRegularizedLogisticRegression,
    ExpectationRegularizedLogisticRegression,
)
from leaven.low_density._entropy import total_entropy
from leaven.low_density._expectation import proportion_divergence
from leaven.low_density._logistic import LogitModel, penalized_loss


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("penalty", ["entropy", "expectation"])
def test_gradient_by_finite_differences(penalty, n_classes, fit_intercept, as_sparse):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(9, 4))
    codes = np.array([0, 1, n_classes - 1, -1, -1, 0, -1, 1, -1])
    model = LogitModel(sparse.csr_array(X) if as_sparse else X, n_classes, fit_intercept)
    theta = rng.normal(size=model.n_parameters)
    shares = np.arange(1.0, n_classes + 1) / np.arange(1, n_classes + 1).sum()
    function = {
        "entropy": total_entropy,
        "expectation": lambda Z: proportion_divergence(Z, shares, 0.7),
    }[penalty]

    def loss(theta):
        return penalized_loss(theta, model, codes, 0.6, 1.7, function)

    assert_allclose(loss(theta)[1], approx_fprime(theta, lambda v: loss(v)[0], 1e-7), atol=2e-5)


def test_penalties_by_hand():
    p = np.array([[0.2, 0.8], [0.5, 0.5]])
    entropy = -(0.2 * np.log(0.2) + 0.8 * np.log(0.8)) + np.log(2)
    assert_allclose(total_entropy(np.log(p))[0], entropy)
    # The predicted proportions are 0.35 and 0.65.
    divergence = 0.3 * np.log(0.3 / 0.35) + 0.7 * np.log(0.7 / 0.65)
    assert_allclose(proportion_divergence(np.log(p), np.array([0.3, 0.7]))[0], divergence)


def test_objective_is_its_formula():
    X, y = make_blobs(40, centers=2, cluster_std=3.0, random_state=2)
    partial = np.where(np.arange(40) < 12, y, -1)
    model = EntropyRegularizedLogisticRegression(C=0.5, entropy_weight=0.2).fit(X, partial)
    p = model.predict_proba(X)
    expected = (
        np.log(p[np.arange(12), y[:12]]).sum()
        - (model.coef_**2).sum() / (2 * 0.5)
        + 0.2 * (p[12:] * np.log(p[12:])).sum()
    )
    assert_allclose(model.objective_, expected)
    assert len(model.objective_trace_) == 12
    assert model.objective_trace_[-1] >= model.objective_trace_[0]
    model = ExpectationRegularizedLogisticRegression(prior={1: 0.3, 0: 0.7}).fit(X, partial)
    p = model.predict_proba(X)
    q = p[12:].mean(axis=0)
    expected = (
        np.log(p[np.arange(12), y[:12]]).sum()
        - (model.coef_**2).sum() / 2
        - 120 * (0.7 * np.log(0.7 / q[0]) + 0.3 * np.log(0.3 / q[1]))
    )
    assert_allclose(model.objective_, expected)


def test_annealing_ends_no_lower_than_a_straight_start():
    X, y = make_blobs(60, centers=3, cluster_std=2.0, random_state=4)
    partial = np.where(np.arange(60) < 9, y, -1)
    straight, annealed = (
        EntropyRegularizedLogisticRegression(entropy_weight=1.0, n_annealing_steps=steps)
        .fit(X, partial)
        .objective_
        for steps in (0, 10)
    )
    assert annealed >= straight - 1e-4


def test_all_rows_in_one_class_warns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.r_[0, 1, np.full(58, -1)]
    with pytest.warns(LeavenWarning, match="All unlabeled rows were given class"):
        EntropyRegularizedLogisticRegression(entropy_weight=5.0).fit(X, y)


def test_single_precision():
    X, y = make_blobs(60, centers=2, cluster_std=3.0, random_state=2)
    partial = np.where(np.arange(60) < 12, y, -1)
    for model in (
        EntropyRegularizedLogisticRegression(),
        ExpectationRegularizedLogisticRegression(),
    ):
        double = model.fit(X, partial).predict_proba(X)
        single = model.fit(X.astype(np.float32), partial).predict_proba(X.astype(np.float32))
        assert_allclose(single, double, atol=1e-2)


def test_too_few_iterations_warn():
    X, y = make_blobs(60, centers=2, cluster_std=3.0, random_state=2)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        EntropyRegularizedLogisticRegression(max_iter=1).fit(X, y)


@pytest.mark.parametrize(
    ("prior", "message"),
    [([1.0, 0.0], "above 0"), ([0.2, 0.3], "sums to 0.5"), ("other", "'prior' parameter")],
)
def test_bad_proportions(prior, message):
    model = ExpectationRegularizedLogisticRegression(prior=prior)
    with pytest.raises(ValueError, match=message):
        model.fit([[0.0], [1.0], [2.0]], [0, 1, -1])
