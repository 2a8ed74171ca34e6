"""The findings of Zhu, Ghahramani and Lafferty (2003), section 7.2, on their two grids.

Dense linear algebra of this file's own: equations (1), (5) and (11) with P̃ = ε U + (1 - ε) P.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import minimize_scalar
from sklearn.utils import check_random_state

from leaven.datasets import make_two_grids

X, Y, PARTIAL = make_two_grids(return_labeled=True)
FREE = PARTIAL < 0


def entropy(f: np.ndarray) -> float:
    f = np.clip(f, 1e-300, 1 - 1e-16)
    return float(np.mean(-f * np.log2(f) - (1 - f) * np.log2(1 - f)))


def smoothed(scale_x: float, scale_y: float, epsilon: float = 0.01) -> np.ndarray:
    """f on the unlabeled points."""
    square = ((X[:, None] - X[None]) / [scale_x, scale_y]) ** 2
    D = square.sum(axis=2)
    np.fill_diagonal(D, np.inf)
    P = np.exp(D.min(axis=1, keepdims=True) - D)
    P = epsilon / len(X) + (1 - epsilon) * P / P.sum(axis=1, keepdims=True)
    Puu, Pul = P[np.ix_(FREE, FREE)], P[np.ix_(FREE, ~FREE)]
    return np.linalg.solve(np.eye(len(Puu)) - Puu, Pul @ PARTIAL[~FREE])


def unsmoothed(scale: float) -> np.ndarray:
    """f on all points, by eliminating one unlabeled point after the other.

    Only sums, products and quotients of positive numbers occur, so that the result is exact
    to rounding even where weights differ by a hundred orders of magnitude.
    """
    W = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / scale**2)
    np.fill_diagonal(W, 0)
    rest = list(range(len(X)))
    steps = []
    for point in np.flatnonzero(FREE):
        rest.remove(int(point))
        p = W[point, rest] / W[point, rest].sum()
        steps.append((point, list(rest), p))
        W[np.ix_(rest, rest)] += np.outer(W[point, rest], p)
        W[rest, rest] = 0
    f = np.where(FREE, np.nan, PARTIAL).astype(float)
    for point, others, p in reversed(steps):
        f[point] = p @ f[others]
    return f


def test_elimination_agrees_with_the_solve() -> None:
    np.testing.assert_allclose(unsmoothed(0.8)[FREE], smoothed(0.8, 0.8, 0.0), rtol=1e-9)


def test_the_upper_grid_is_tighter() -> None:
    lower, upper = X[:44].reshape(4, 11, 2), X[46:].reshape(2, 11, 2)
    gaps = {}
    for name, grid in (("lower", lower), ("upper", upper)):
        gaps[name] = np.r_[np.diff(grid[..., 0]).ravel(), np.abs(np.diff(grid[..., 1], axis=0))[0]]
    assert 0.9 < gaps["upper"].mean() / gaps["lower"].mean() < 1
    assert_array_equal(Y, [0] * 45 + [1] * 23)


def test_tied_scale_has_an_inner_minimum() -> None:
    scales = np.geomspace(0.03, 3, 60)
    H = np.array([entropy(smoothed(s, s)) for s in scales])
    best = minimize_scalar(lambda s: entropy(smoothed(s, s)), bounds=(0.5, 0.9), method="bounded")
    assert best.fun == pytest.approx(0.898, abs=0.02)  # published
    assert best.x == pytest.approx(0.67, abs=0.02)  # published
    assert H.min() > best.fun - 1e-4  # it is the smallest everywhere
    inner = (H[1:-1] < H[:-2]) & (H[1:-1] < H[2:])
    assert inner[scales[1:-1] > 0.3].sum() == 1
    assert H[0] > best.fun + 0.05
    assert H[-1] > best.fun + 0.05
    assert_array_equal(smoothed(best.x, best.x) > 0.5, Y[FREE] == 1)


def test_without_smoothing_the_tighter_grid_invades_the_other() -> None:
    H = [entropy(unsmoothed(s)[FREE]) for s in (0.3, 0.15, 0.1, 0.07, 0.05, 0.04)]
    assert (np.diff(H) < 0).all()
    assert H[-1] < 0.001
    invaded = unsmoothed(0.04)[:44].reshape(4, 11) > 0.5
    assert_array_equal(invaded, np.repeat([[True], [True], [True], [False]], 11, axis=1))


def test_separate_scales_drop_the_first_feature() -> None:
    log_scale = np.log([0.674, 0.674])
    H = [entropy(smoothed(*np.exp(log_scale)))]
    step = 1e-5
    for _ in range(400):  # plain descent, as in the paper
        gradient = [
            (entropy(smoothed(*np.exp(log_scale + e))) - entropy(smoothed(*np.exp(log_scale - e))))
            / (2 * step)
            for e in np.eye(2) * step
        ]
        log_scale -= 0.7 * np.array(gradient)
        H.append(entropy(smoothed(*np.exp(log_scale))))
    assert max(np.diff(H)) < 1e-6
    scale_x, scale_y = np.exp(log_scale)
    assert scale_x > 25
    assert scale_y == pytest.approx(0.65, abs=0.02)  # published
    limit = minimize_scalar(
        lambda s: entropy(smoothed(1e16, s)), bounds=(0.4, 0.9), method="bounded"
    )
    assert limit.x == pytest.approx(0.65, abs=0.02)
    assert limit.fun == pytest.approx(0.619, abs=0.005)  # published
    assert_array_equal(smoothed(1e16, limit.x) > 0.5, Y[FREE] == 1)


def test_noise() -> None:
    moved, y = make_two_grids(noise=0.01, random_state=0)
    expected = 0.01 * check_random_state(0).standard_normal(X.shape)
    np.testing.assert_allclose(moved - X, expected, atol=1e-12)
    assert_array_equal(y, Y)
