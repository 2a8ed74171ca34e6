"""The self-organizing map: the update by hand, by a loop, and what training must achieve."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.exceptions import ConvergenceWarning
from leaven.representation import SelfOrganizingMap
from leaven.representation._som import (
    batch_update,
    find_winners,
    initial_units,
    lattice_coordinates,
    neighborhood,
)


@parametrize_with_checks([SelfOrganizingMap((2, 3)), SelfOrganizingMap((2, 2), init="sample")])
def test_sklearn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


def test_update_by_hand() -> None:
    # Winners 0, 0, 2 of three units in a row; kernel 1, 1/2, 1/4 by distance.
    X = np.array([[0.0, 3.0], [2.0, 1.0], [10.0, -4.0]])
    kernel = np.array([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]])
    units = batch_update(X, np.array([0, 0, 2]), np.full((3, 2), 99.0), kernel)
    expected = [
        [(0 + 2 + 10 / 4) / 2.25, (3 + 1 - 4 / 4) / 2.25],
        [(0 + 2 + 10) / 3, (3 + 1 - 4) / 3],
        [(0.25 * 2 + 10) / 1.5, (0.25 * 4 - 4) / 1.5],
    ]
    assert_allclose(units, expected)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 100))
@settings(max_examples=25, deadline=None)
def test_one_pass_against_a_loop(height: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, units = rng.normal(size=(30, 3)), rng.normal(size=(height * width, 3))
    place = [(row, column) for row in range(height) for column in range(width)]
    radius = 0.3 + rng.random()
    winners = [min(range(len(units)), key=lambda u: np.sum((x - units[u]) ** 2)) for x in X]
    expected = []
    for u in range(len(units)):
        above, below = np.zeros(3), 0.0
        for x, c in zip(X, winners, strict=True):
            squared = (place[u][0] - place[c][0]) ** 2 + (place[u][1] - place[c][1]) ** 2
            h = np.exp(-squared / (2 * radius**2))
            above, below = above + h * x, below + h
        expected.append(above / below)
    found, distances = find_winners(X, units)
    assert_array_equal(found, winners)
    assert_allclose(distances, np.linalg.norm(X - units[winners], axis=1))
    kernel = neighborhood(lattice_coordinates((height, width)), radius)
    assert_allclose(batch_update(X, found, units, kernel), expected)


def test_far_units_stay_when_the_kernel_underflows() -> None:
    kernel = neighborhood(lattice_coordinates((1, 60)), 0.5)
    units = np.arange(60.0)[:, None]
    moved = batch_update(np.array([[7.0]]), np.array([0]), units, kernel)
    assert moved[0] == 7.0
    assert_array_equal(moved[50:], units[50:])


@given(arrays(np.float64, (6, 2), elements=st.floats(-9, 9)), st.integers(1, 500))
@settings(max_examples=25, deadline=None)
def test_equal_rows_have_one_winner(units: Any, n: int) -> None:
    row = np.array([[0.1, 0.7]])
    tied = np.concatenate([units, units + 1e-16, units[::-1]])
    winners, _ = find_winners(np.repeat(row, n, axis=0), tied)
    assert len(set(winners.tolist())) == 1
    assert winners[0] < 6


@pytest.mark.parametrize("init", ["pca", "sample"])
@pytest.mark.parametrize("seed", range(3))
def test_quantization_error_falls(init: str, seed: int) -> None:
    X = np.random.default_rng(seed).random((400, 3))
    som = SelfOrganizingMap((5, 6), init=init, max_iter=100, random_state=seed).fit(X)
    trace = np.array(som.objective_trace_)
    assert som.converged_
    assert len(trace) == som.n_iter_ + 1
    # The first pass, with the largest radius, draws all units together; then they spread.
    assert np.diff(trace[1:]).max() < 1e-3
    assert trace[-1] < 0.5 * trace[1]
    distances = np.linalg.norm(X[:, None] - som.units_[None], axis=2)
    assert_allclose(som.quantization_error_, distances.min(axis=1).mean())
    assert_array_equal(som.predict(X), distances.argmin(axis=1))


def test_neighbors_on_the_lattice_are_neighbors_in_space() -> None:
    X = np.random.default_rng(0).random((1000, 2))
    som = SelfOrganizingMap((6, 6), max_iter=100).fit(X)
    apart = np.linalg.norm(som.units_[:, None] - som.units_[None], axis=2)
    steps = np.abs(som.coordinates_[:, None] - som.coordinates_[None]).sum(axis=2)
    assert apart[steps == 1].max() < apart[steps >= 3].min()


def test_small_radius_is_k_means() -> None:
    # Without neighbors the update is Lloyd's: from the same start, the same centers.
    X, _ = make_blobs(150, centers=4, random_state=2)
    som = SelfOrganizingMap((2, 2), radius=1e-2, final_radius=1e-2, tol=0, max_iter=200).fit(X)
    start = initial_units(X, (2, 2), "pca", np.random.RandomState(0))
    lloyd = KMeans(4, init=start, n_init=1, tol=0, algorithm="lloyd").fit(X)
    assert_allclose(som.units_, lloyd.cluster_centers_, atol=1e-8)


def test_seed_and_types() -> None:
    X = np.random.default_rng(0).random((200, 4))
    one = SelfOrganizingMap((3, 3), init="sample", random_state=1, max_iter=200).fit(X)
    same = SelfOrganizingMap((3, 3), init="sample", random_state=1, max_iter=200).fit(X)
    other = SelfOrganizingMap((3, 3), init="sample", random_state=2, max_iter=200).fit(X)
    assert_array_equal(one.units_, same.units_)
    assert not np.array_equal(one.units_, other.units_)
    single = SelfOrganizingMap((3, 3), init="sample", random_state=1, max_iter=200)
    single.fit(X.astype(np.float32))
    assert_allclose(single.units_, one.units_, atol=1e-3)
    assert_array_equal(one.transform(X), one.coordinates_[one.predict(X)])
    assert_array_equal(one.coordinates_[5], [1, 2])
    names = one.get_feature_names_out().tolist()
    assert names == ["selforganizingmap0", "selforganizingmap1"]


def test_constant_rows() -> None:
    som = SelfOrganizingMap((3, 3)).fit(np.full((20, 4), 0.3))
    assert_allclose(som.units_, 0.3)
    assert som.quantization_error_ < 1e-12
    assert set(som.predict(np.full((7, 4), 0.3)).tolist()) == {0}


def test_messages(caplog: pytest.LogCaptureFixture) -> None:
    X = np.random.default_rng(0).random((50, 2))
    with pytest.warns(ConvergenceWarning, match="still changes after 1 passes"):
        som = SelfOrganizingMap((3, 3), max_iter=1).fit(X)
    assert not som.converged_
    with caplog.at_level(logging.INFO, logger="leaven"):
        quiet = SelfOrganizingMap((2, 2), max_iter=100).fit(X)
        assert not caplog.records
        SelfOrganizingMap((2, 2), max_iter=100, verbose=1).fit(X)
    assert len(caplog.records) == quiet.n_iter_
    for lattice in [(3,), (0, 2), (2, 2.5)]:
        with pytest.raises(ValueError, match=r"lattice must be two positive integers"):
            SelfOrganizingMap(lattice).fit(X)
    with pytest.raises(ValueError, match="'init' parameter"):
        SelfOrganizingMap(init="plane").fit(X)
