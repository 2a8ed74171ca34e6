import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

from leaven.low_density._continuation import (
    convex_smoothing,
    smoothed_hat,
    smoothed_hinge,
    solve_continuation,
)
from leaven.low_density._problem import S3VMProblem
from leaven.low_density._rows import FeatureRows
from leaven.low_density._smooth import CentredFeatures


@pytest.mark.parametrize("deviation", [0.05, 0.7, 4.0])
@pytest.mark.parametrize(
    ("smoothed", "loss", "kinks"),
    [
        (smoothed_hinge, lambda t: max(0.0, 1.0 - t), [1.0]),
        (smoothed_hat, lambda t: max(0.0, 1.0 - abs(t)), [-1.0, 0.0, 1.0]),
    ],
)
def test_smoothed_loss_by_quadrature(smoothed, loss, kinks, deviation):
    for t in (-2.3, -0.9, -0.1, 0.0, 0.4, 1.0, 1.7):

        def integrand(s, t=t):
            return loss(s) * norm.pdf(s, t, deviation)

        reach = 10 * deviation
        points = sorted([t - reach, t + reach, *[k for k in kinks if abs(k - t) < reach]])
        pieces = itertools.pairwise(points)
        expected = sum(quad(integrand, a, b, epsabs=1e-12)[0] for a, b in pieces)
        value = smoothed(np.array([t]), np.array([deviation]))[0][0]
        assert_allclose(value, expected, atol=1e-9)


@pytest.mark.parametrize("smoothed", [smoothed_hinge, smoothed_hat])
def test_derivative_by_finite_differences(smoothed):
    t, deviation, step = np.linspace(-3, 3, 61), np.full(61, 0.4), 1e-6
    numeric = (smoothed(t + step, deviation)[0] - smoothed(t - step, deviation)[0]) / (2 * step)
    assert_allclose(smoothed(t, deviation)[1], numeric, atol=1e-7)


def test_it_starts_convex():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    signs = np.zeros(30)
    signs[:2] = [1, -1]
    problem = S3VMProblem(FeatureRows(X), signs, 1.0, 2.0, 0.5, 14)
    features = CentredFeatures(problem)
    norms = np.sqrt(features.square_norms())
    centred = (X - X[2:].mean(axis=0))[2:]

    def least_curvature(gamma, w):
        """Smallest eigenvalue of the Hessian of the regularizer and the smoothed hats."""
        deviation = np.sqrt(gamma / 2) * norms[2:]
        f, step = features.scores(w)[2:], 1e-4
        slopes = [smoothed_hat(f + s, deviation)[1] for s in (step, -step)]
        curvature = 2.0 * (slopes[0] - slopes[1]) / (2 * step)
        return np.linalg.eigvalsh(np.eye(3) + (centred.T * curvature) @ centred)[0]

    gamma = convex_smoothing(features, norms, problem)
    points = [np.zeros(3), *rng.normal(scale=0.5, size=(20, 3))]
    assert min(least_curvature(gamma, w) for w in points) > 0
    assert min(least_curvature(gamma / 20, w) for w in points) < 0  # and not by far too much


def test_it_ends_at_the_count_of_the_ratio():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(-1, 1, (12, 2)), rng.normal(1, 1, (12, 2)), np.zeros((1, 2))])
    signs = np.zeros(25)
    signs[[0, 23]] = [-1, 1]
    problem = S3VMProblem(FeatureRows(X), signs, 1.0, 1.0, 0.4, 9)
    result = solve_continuation(problem, tol=1e-8, max_iter=500)
    assert (result.labels > 0).sum() == 9
    assert result.converged
