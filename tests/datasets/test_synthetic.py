from __future__ import annotations

import inspect
from collections.abc import Callable
from math import erf, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from leaven.datasets import (
    make_chain,
    make_circle,
    make_grid,
    make_three_bands,
    make_two_gaussians,
    make_two_grids,
    make_two_moons,
    make_two_spirals,
)

RANDOM = [make_two_moons, make_three_bands, make_two_spirals, make_two_gaussians]
ALL = [*RANDOM, make_chain, make_grid, make_circle, make_two_grids]
Maker = Callable[..., Any]


def seeded(make: Maker, seed: int = 0, **settings: Any) -> Any:
    if "random_state" in inspect.signature(make).parameters:
        settings["random_state"] = seed
    return make(**settings)


@pytest.mark.parametrize("make", ALL)
def test_partial_labels_are_true_labels(make: Maker) -> None:
    X, y, y_partial = seeded(make, return_labeled=True)
    assert X.shape == (len(y), X.shape[1])
    assert X.dtype == np.float64
    assert y.dtype == y_partial.dtype == np.int64
    given_rows = y_partial >= 0
    assert_array_equal(y[given_rows], y_partial[given_rows])
    assert set(y_partial[~given_rows]) == {-1}
    assert set(y[given_rows]) == set(y) == set(range(y.max() + 1))
    assert len(seeded(make)) == 2
    assert_array_equal(seeded(make)[0], X)


@pytest.mark.parametrize("make", RANDOM)
def test_same_seed_same_data(make: Maker) -> None:
    assert_array_equal(make(random_state=3)[0], make(random_state=3)[0])
    assert np.abs(make(random_state=3)[0] - make(random_state=4)[0]).max() > 0.01


@pytest.mark.parametrize(
    ("make", "labeled", "unlabeled"),
    [
        (make_two_moons, 2, 198),
        (make_chain, 2, 8),
        (make_grid, 6, 21),
        (make_circle, 2, 12),
        (make_three_bands, 3, 178),
        (make_two_spirals, 2, 184),
        (make_two_grids, 2, 66),
        (make_two_gaussians, 14, 136),
    ],
)
def test_the_counts_of_the_figures(make: Maker, labeled: int, unlabeled: int) -> None:
    y_partial = seeded(make, return_labeled=True)[2]
    assert (int((y_partial >= 0).sum()), int((y_partial < 0).sum())) == (labeled, unlabeled)


@settings(max_examples=25, deadline=None)
@given(st.integers(6, 60), st.integers(0, 10**6))
def test_any_size(n: int, seed: int) -> None:
    for make in RANDOM:
        few = {"n_labeled": 1} if "n_labeled" in inspect.signature(make).parameters else {}
        X, y = make(n, random_state=seed, **few)
        assert len(X) == len(y) == n
        counts = np.bincount(y)
        assert counts.max() - counts.min() <= 1


def harmonic_labels(X: np.ndarray, y: np.ndarray, scale: float) -> np.ndarray:
    """Classes of the harmonic function on the full graph, by a dense solve."""
    W = np.exp(-(cdist(X, X) ** 2) / scale**2)
    np.fill_diagonal(W, 0)
    L = np.diag(W.sum(axis=1)) - W
    free = y < 0
    Y = np.eye(y.max() + 1)[y[~free]]
    labels = y.copy()
    labels[free] = np.linalg.solve(L[np.ix_(free, free)], W[np.ix_(free, ~free)] @ Y).argmax(axis=1)
    return labels


@pytest.mark.parametrize(("make", "scale"), [(make_three_bands, 0.22), (make_two_spirals, 0.43)])
@pytest.mark.parametrize("seed", range(5))
def test_figure_2_of_zhu(make: Maker, scale: float, seed: int) -> None:
    X, y, y_partial = make(return_labeled=True, random_state=seed)
    assert_array_equal(harmonic_labels(X, y_partial, scale), y)
    given_rows = np.flatnonzero(y_partial >= 0)
    nearest = given_rows[cdist(X, X[given_rows]).argmin(axis=1)]
    assert np.mean(y[nearest] == y) < 0.7


def test_chain_and_grid() -> None:
    X, y, y_partial = make_chain(return_labeled=True)
    assert_allclose(cdist(X[:-1], X[1:]).diagonal(), 1)
    assert_array_equal(np.sign(y), [0] * 5 + [1] * 5)
    assert_array_equal(np.flatnonzero(y_partial >= 0), [0, 9])
    X, y, y_partial = make_grid(return_labeled=True)
    assert_array_equal(np.flatnonzero(y_partial >= 0), [0, 8, 9, 17, 18, 26])
    assert int((np.abs(cdist(X, X) - 1) < 1e-12).sum()) == 2 * (3 * 8 + 2 * 9)
    assert_array_equal(y.reshape(3, 9), [[0] * 5 + [1] * 4] * 3)
    assert_array_equal(make_grid(2, 4)[1].reshape(2, 4), [[0, 0, 1, 1]] * 2)


def test_circle() -> None:
    X, y, y_partial = make_circle(return_labeled=True)
    steps = np.linalg.norm(X - np.roll(X, 1, axis=0), axis=1)
    assert_allclose(steps, 1)
    first, second = np.flatnonzero(y_partial >= 0)
    assert_allclose(X[first], -X[second], atol=1e-12)
    assert_array_equal(y, (X[:, 0] > 0).astype(int))
    assert_array_equal(make_circle(8)[1], [1, 1, 0, 0, 0, 0, 0, 1])


def test_gaussians_have_the_bayes_error_of_the_table() -> None:
    # Centers (0, 0) and (1, 1): the best accuracy is Φ(√2 / 2 / std). Table 3.1 of Nguyen
    # (2019) has 0.88 and 0.89 at std 0.6.
    for std in (0.6, 0.8):
        X, y = make_two_gaussians(40_000, std=std, random_state=0)
        best = 0.5 * (1 + erf(sqrt(2) / 2 / std / sqrt(2)))
        assert np.mean((X.sum(axis=1) > 1) == y) == pytest.approx(best, abs=0.01)
        assert_allclose([X[y == 1].mean(), X[y == 0].mean()], [1, 0], atol=0.03)
        assert_allclose(X[y == 0].std(axis=0), std, rtol=0.03)


def test_gaussians_of_saeed() -> None:
    X, y = make_two_gaussians(4400, means=[[-1, 1], [1, 3]], std=1, n_labeled=2, random_state=0)
    assert_array_equal(np.bincount(y), [2200, 2200])
    assert_allclose(X[y == 0].mean(axis=0), [-1, 1], atol=0.1)
    assert_allclose(X[y == 1].mean(axis=0), [1, 3], atol=0.1)
    X, y = make_two_gaussians(5000, means=(-1, 1), std=1, n_features=1, random_state=0)
    assert X.shape == (5000, 1)
    assert_allclose(X[y == 1].mean(), 1, atol=0.1)


def test_moons_lie_on_half_circles() -> None:
    X, y = make_two_moons(300, noise=0, random_state=0)
    centers = np.array([[0, 0], [1, 0.5]])[y]
    assert_allclose(np.linalg.norm(X - centers, axis=1), 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_circle(7), "n_vertices must be even"),
        (lambda: make_chain(1), "n_vertices must be an integer of at least 2, got 1"),
        (lambda: make_grid(0), "n_rows must be an integer of at least 1, got 0"),
        (lambda: make_two_moons(10.5), "n_samples must be an integer of at least 2, got 10.5"),
        (lambda: make_two_moons(noise=-1), "noise must be a number that is not negative, got -1"),
        (lambda: make_two_gaussians(std=0), "std must be a positive number, got 0"),
        (
            lambda: make_two_gaussians(10, return_labeled=True),
            "n_labeled=7 is more than the 5 rows",
        ),
        (lambda: make_two_gaussians(means=[[1, 2, 3], [1, 2, 3]]), r"means has shape \(2, 3\)"),
    ],
)
def test_messages(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("n", [4, 7, 186])
def test_spirals_end_where_they_are_labeled(n):
    X, y, partial = make_two_spirals(n, noise=0.0, return_labeled=True, random_state=0)
    radius = np.linalg.norm(X, axis=1)
    # 0.4 times the angle, which goes from 1.8 to 8.5.
    for code in (0, 1):
        assert radius[y == code].min() == pytest.approx(0.72)
        assert radius[y == code].max() == pytest.approx(3.4)
        assert radius[partial == code] == pytest.approx([3.4])
