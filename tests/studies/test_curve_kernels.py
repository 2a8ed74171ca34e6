"""Passes over class probabilities, compiled and by NumPy, against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logsumexp, softmax
from scipy.stats import norm, rankdata

from studies import curve_em, curve_kernels, curve_ranks
from studies.curve_em import Fits
from studies.curve_kernels import by_classes, by_log_odds, gaussian_model
from studies.curve_ranks import RankSigmoids, sigmoid_sums, weighted_ranks
from tests.studies.test_curve_em import categories, convex, labels_at, numbers, plain, posterior


@pytest.fixture(params=["numba", "NumPy"])
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to pass over probabilities."""
    if request.param == "NumPy":
        monkeypatch.setattr(curve_kernels, "compiled", lambda: None)
        monkeypatch.setattr(curve_ranks, "compiled", lambda: None)
    else:
        pytest.importorskip("numba")
        assert curve_kernels.compiled() is not None
    return str(request.param)


def counts_of(rng: np.random.Generator, T: int, n: int, distinct: bool) -> np.ndarray:
    return rng.integers(0, 2 if distinct else 5, (T, n)).astype(np.float32)


PRECISE = {np.float64: 1e-12, np.float32: 2e-5}


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_log_odds(by: str, dtype: Any, distinct: bool) -> None:
    rng = np.random.default_rng(0)
    # More rows than are multiplied before a logarithm, and log-odds out of reach of an exponential.
    h = rng.normal(0, 3, (3, 200))
    h[0, :6] = [0.0, 30.0, -30.0, 400.0, -5000.0, 1e-4]
    counts = counts_of(rng, 3, 230, distinct)
    found = h.astype(dtype)
    spread, logs = by_log_odds(found, counts, 30, distinct)
    times, h = counts[:, 30:].astype(float), h.astype(dtype).astype(float)
    tolerance = PRECISE[dtype]
    assert_allclose(found, times * np.tanh(h), rtol=tolerance, atol=tolerance)
    assert_allclose(spread, (times * np.abs(h)).sum(axis=1), rtol=tolerance)
    expected = (times * np.logaddexp(0.0, -2.0 * np.abs(h))).sum(axis=1)
    assert_allclose(logs, expected, rtol=tolerance)


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_classes(by: str, dtype: Any, distinct: bool) -> None:
    rng = np.random.default_rng(1)
    q = rng.normal(0, 6, (4, 3, 150)) - 20.0
    q[:, 1, 5], q[2, 1, 6] = -2.5, -1e6
    counts = counts_of(rng, 3, 170, distinct)
    found = q.astype(dtype)
    logs = by_classes(found, counts, 20, distinct)
    times, q = counts[:, 20:].astype(float), q.astype(dtype).astype(float)
    tolerance = PRECISE[dtype]
    assert_allclose(found, times * softmax(q, axis=0), rtol=tolerance, atol=tolerance)
    assert_allclose(logs, (times * logsumexp(q, axis=0)).sum(axis=1), rtol=tolerance)


@pytest.mark.parametrize("lost", [0.0, 1.0])
def test_model_of_normal_features(by: str, lost: float) -> None:
    rng = np.random.default_rng(2)
    X, weights = rng.normal(2.0, [1.0, 3.0, 0.01], (40, 3)), rng.random((40, 2, 2))
    weights[:, 1, 1] = 0.0
    weights[:, 1, 0] *= 0.5 / weights[:, 1, 0].sum()
    epsilon, omitted = np.array([0.1, 0.2, 0.0]), np.zeros((3, 2), dtype=bool)
    omitted[1, 0] = True
    sums = np.einsum("nk,nct->kct", np.hstack([X, X**2]), weights)
    counts = weights.sum(axis=0)
    center = np.array([0.5, -2.0, 3.0])
    coef, const, noise = gaussian_model(sums, counts, omitted, epsilon, center, 1e-150, lost)
    for c, t in ((0, 0), (1, 0), (0, 1)):
        mean = np.average(X, axis=0, weights=weights[:, c, t])
        squares = weights[:, c, t] @ (X - mean) ** 2
        # Half a row is not worth less than nothing.
        total = counts[c, t]
        var = squares / (total - lost if total > lost else total) + epsilon
        kept = ~omitted[:, t]
        expected = norm.logpdf(X, mean, np.sqrt(var))[:, kept].sum(axis=1)
        assert_allclose(np.hstack([X, X**2]) @ coef[:, c, t] + const[c, t], expected, rtol=1e-8)
        assert noise[c, t] == pytest.approx(-0.5 * (epsilon / var)[kept].sum())
    # Without weight: the mean and the variance of all rows.
    expected = norm.logpdf(X, center).sum(axis=1)
    assert_allclose(np.hstack([X, X**2]) @ coef[:, 1, 1] + const[1, 1], expected, rtol=1e-12)


def test_sigmoids_and_ranks(by: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(0, 4, (3, 100)).round(1)
    x[0, :3] = [0.0, 800.0, -800.0]
    x[1] = rng.permutation(100)  # without ties
    times = rng.integers(1, 4, x.shape)
    assert_allclose(curve_ranks.sigmoid(x), expit(x), atol=1e-15)
    assert_allclose(sigmoid_sums(x, times)[:, 0], (times * expit(x)).sum(axis=1), rtol=1e-13)
    found = weighted_ranks(x, times.astype(np.float32))
    for values, weights, ranks in zip(x, times, found, strict=True):
        assert_allclose(np.repeat(ranks, weights), rankdata(np.repeat(values, weights)))


@pytest.mark.parametrize("slope", [1e-3, 4.0, 500.0])
def test_shifts_bring_the_mean_to_the_share(by: str, slope: float) -> None:
    rng = np.random.default_rng(4)
    slopes = slope * rng.random((3, 50))
    weights = rng.random((3, 50))
    weights /= weights.sum(axis=1, keepdims=True)
    share = np.array([[1e-12], [0.3], [1 - 1e-9]])
    t = curve_ranks.shifts(slopes, weights, share)
    found = (weights * expit(slopes + t)).sum(axis=1, keepdims=True)
    assert_allclose(found, share, atol=1e-12)


@pytest.mark.parametrize("recalibrated", [False, True])
@pytest.mark.parametrize("make", [numbers, categories])
def test_fits_by_numba_are_those_by_numpy(
    make: Any, recalibrated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    X, codes = make(200, 7)
    kind = curve_em.GaussianFeatures if make is numbers else curve_em.CategoricalFeatures
    n_classes = 2 if make is numbers or recalibrated else 3
    codes %= n_classes
    labels = labels_at(codes, [9, 20, 60])
    fits = plain(labels) if recalibrated else convex(labels, [0.5, 0.2, 0.9])
    maps = [RankSigmoids(np.array([0.5, 2.0, 8.0]), 0.4)] if recalibrated else []
    features = kind.make(X)
    found = posterior(features, fits, n_classes, *maps)
    monkeypatch.setattr(curve_kernels, "compiled", lambda: None)
    monkeypatch.setattr(curve_ranks, "compiled", lambda: None)
    assert_allclose(found, posterior(features, fits, n_classes, *maps), atol=1e-8)


def three_groups(scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Two wide classes, and one that has nearly always the value 7 of a feature of digits."""
    rng = np.random.default_rng(4)
    codes = np.concatenate([np.arange(3), np.arange(3), rng.integers(0, 3, 994)])
    X = rng.normal(size=(1000, 3)) + codes[:, None]
    X[:, 2] = np.where(codes == 2, 7.0, rng.integers(0, 10, 1000))
    X[codes == 2, 2] += scale * rng.choice([-1, 0, 1], (codes == 2).sum(), p=[0.01, 0.98, 0.01])
    return X, codes


def precision(features: curve_em.Features, fits: Fits, n_classes: int) -> type:
    """Of the first E-step."""
    block = curve_em._Block(features, fits, n_classes, curve_em.Settings(1.0), None)
    packed = features.pack(block.start.coef, block.start.const)
    [(which, design)] = block._designs(packed)
    assert len(which) == packed.shape[2]
    return design.across.dtype.type


def test_narrow_classes_at_the_origin_are_in_single_precision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, codes = three_groups(1e-3)
    fits = convex(labels_at(codes, [300, 500]), [0.5, 0.9])
    assert curve_em.origins(X)[2] == 7.0
    assert_allclose(curve_em.origins(X)[:2], X[:, :2].mean(axis=0))
    features = curve_em.GaussianFeatures.make(X)
    steps = {"max_iter": 20, "tol": 0.0}
    exact = posterior(features, fits, 3, **steps)
    assert precision(features, fits, 3) == np.float64  # few rows
    monkeypatch.setattr(curve_em, "SINGLE_ROWS", 1)
    assert precision(features, fits, 3) == np.float32
    assert_allclose(posterior(features, fits, 3, **steps), exact, atol=1e-4)
    # From the mean as the origin, (x - mean)² / var would lose all of seven digits.
    monkeypatch.setattr(curve_em, "origins", lambda X: X.mean(axis=0))
    features = curve_em.GaussianFeatures.make(X)
    assert precision(features, fits, 3) == np.float64
    # In double precision too it loses seven, of sixteen, and twenty steps may add to that.
    assert_allclose(posterior(features, fits, 3, **steps), exact, atol=1e-3)


def test_terms_of_a_row_three_deviations_from_a_class() -> None:
    features = curve_em.GaussianFeatures.make(np.random.default_rng(0).normal(size=(9, 2)))
    mean, deviation = np.array([3.0, -0.2]), np.array([0.25, 2.0])
    coef = np.concatenate([mean / deviation**2, -0.5 / deviation**2])
    packed = features.pack(coef[:, None, None], np.zeros((1, 1)))
    far = np.abs(mean) + 3 * deviation
    assert features.near_sizes(packed)[0, 0] == pytest.approx((far**2 / deviation**2).sum() / 2)
    packed[[1, 3]] = 0.0  # left out, it counts as a row that is no further away than that
    expected = (far[0] / deviation[0]) ** 2 / 2 + 4.5
    assert features.near_sizes(packed)[0, 0] == pytest.approx(expected)


def test_rows_far_from_every_class_need_double_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    X, codes = three_groups(0.0)
    X[codes < 2, 2] = 7.0
    X[:, 2] += 1e-3 * np.random.default_rng(0).choice([-1, 0, 1], len(X), p=[0.01, 0.98, 0.01])
    X[-100:, 2] = 0.0
    features = curve_em.GaussianFeatures.make(X)
    fits = convex(labels_at(codes, [300]), [0.5])
    monkeypatch.setattr(curve_em, "SINGLE_ROWS", 1)
    assert precision(features, fits, 3) == np.float64


def test_only_fits_that_allow_it_are_in_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    X, codes = numbers(400, 8)
    features = curve_em.GaussianFeatures.make(X)
    fits = convex(labels_at(codes, [6, 40, 200]), [0.5, 0.5, 0.5])
    steps = {"max_iter": 10, "tol": 0.0}
    exact = posterior(features, fits, 2, **steps)
    one_step = posterior(features, fits, 2, max_iter=1, tol=0.0)
    monkeypatch.setattr(curve_em, "SINGLE_ROWS", 1)
    # The narrowest variances, of three labels per class, have the largest terms.
    sizes = []
    for t in range(3):
        block = curve_em._Block(features, fits.take([t]), 2, curve_em.Settings(1.0), None)
        packed = features.pack(block.start.coef, block.start.const)
        sizes.append(np.einsum("k,kct->ct", block.usual, np.abs(packed)).max())
    assert sizes[0] > 1.5 * max(sizes[1:])
    monkeypatch.setattr(curve_em, "SINGLE_SIZE", 0.5 * (sizes[0] + max(sizes[1:])))
    mixed = posterior(features, fits, 2, max_iter=1, tol=0.0)
    assert_allclose(mixed[..., 0], one_step[..., 0], atol=1e-12)
    assert np.abs(mixed[..., 1:] - one_step[..., 1:]).max(axis=(0, 1)).min() > 1e-10
    assert_allclose(posterior(features, fits, 2, **steps), exact, atol=2e-3)


def test_without_numba_numpy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve_kernels, "is_installed", lambda name: False)
    curve_kernels.compiled.cache_clear()
    assert curve_kernels.compiled() is None
    curve_kernels.compiled.cache_clear()
