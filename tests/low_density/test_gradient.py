import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.metrics.pairwise import rbf_kernel

from leaven.low_density._gradient import gaussian_loss, huberized_hinge, solve_gradient
from leaven.low_density._problem import S3VMProblem
from leaven.low_density._rows import FeatureRows, GramRows
from leaven.low_density._smooth import CentredFeatures
from leaven.low_density._svm import hinge

t = np.linspace(-2.5, 2.5, 41) + 0.0137


def finite_difference(function, t, step=1e-6):
    return (function(t + step)[0] - function(t - step)[0]) / (2 * step)


@pytest.mark.parametrize("loss", [gaussian_loss, huberized_hinge])
def test_derivative_by_finite_differences(loss):
    assert_allclose(loss(t)[1], finite_difference(loss, t), atol=1e-6)


def test_losses_by_hand():
    assert_allclose(gaussian_loss(np.array([0.0, 0.4]))[0], [1.0, np.exp(-0.8)])
    assert_allclose(huberized_hinge(np.array([1.2, 1.0, 0.3]))[0], [0.0, 0.025, 0.7])
    assert (np.abs(huberized_hinge(t)[0] - hinge(t)) <= 0.025 + 1e-12).all()


def problem(kind, fraction=0.3):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(14, 3)) + 0.8
    signs = np.zeros(14)
    signs[:4] = [1, -1, -1, 1]
    rows = {
        "dense": FeatureRows(X),
        "sparse": FeatureRows(sparse.csr_array(X)),
        "gram": GramRows(rbf_kernel(X, gamma=0.3)),
    }[kind]
    return S3VMProblem(rows, signs, 1.0, 1.0, fraction, 3)


@pytest.mark.parametrize("kind", ["dense", "sparse", "gram"])
def test_gradient_by_finite_differences(kind):
    features = CentredFeatures(problem(kind))
    w = np.random.default_rng(2).normal(size=features.X.shape[1])
    value, gradient = features.objective(w, gaussian_loss)
    numeric = approx_fprime(w, lambda v: features.objective(v, gaussian_loss)[0], 1e-7)
    assert_allclose(gradient, numeric, atol=1e-5)
    assert_allclose(value, 0.5 * w @ w + np.exp(-5 * features.scores(w) ** 2).sum())


@pytest.mark.parametrize("kind", ["dense", "sparse", "gram"])
def test_mean_score_of_the_unlabeled_rows_is_fixed(kind):
    p = problem(kind, fraction=0.3)
    features = CentredFeatures(p)
    w = np.random.default_rng(2).normal(size=features.X.shape[1])
    assert_allclose(features.scores(w)[p.unlabeled].mean(), 2 * 0.3 - 1)


def test_square_norms_are_those_of_the_centred_rows():
    p = problem("sparse")
    X = p.rows.X.toarray()
    centred = X - X[p.unlabeled].mean(axis=0)
    assert_allclose(CentredFeatures(p).square_norms(), (centred**2).sum(axis=1))


def test_kernel_features_reproduce_the_kernel():
    p = problem("gram")
    Phi = CentredFeatures(p).X
    assert_allclose(Phi @ Phi.T, p.rows.gram, atol=1e-8)


def test_it_ends_at_the_count_of_the_ratio():
    p = problem("gram")
    result = solve_gradient(p, tol=1e-8, max_iter=200)
    assert (result.labels > 0).sum() == p.n_positive
    assert result.converged
