"""The search in cells against all distances."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from leaven.graph import _cells
from leaven.graph._cells import CellSearch


def rows_of(kind, n, d, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "clusters":
        return 6.0 * rng.normal(size=(7, d))[rng.integers(7, size=n)] + rng.normal(size=(n, d))
    return rng.normal(size=(n, d))


def recall_of(distance, X_new, X, k):
    exact = np.sort(cdist(X_new, X), axis=1)[:, :k]
    return np.mean(distance <= exact[:, -1:] * (1 + 1e-4) + 1e-6)


@pytest.mark.parametrize("kind", ["ball", "clusters"])
@pytest.mark.parametrize("recall", [0.6, 0.95, 1.0])
def test_the_recall_is_reached(kind, recall):
    X = rows_of(kind, 3_000, 6)
    search = CellSearch(X, recall=recall)
    distance, index = search.search(None, 9)
    # The number of cells was chosen on other rows; 0.1 is far beyond the error of 256 of them.
    assert recall_of(distance, X, X, 9) >= recall - 0.1
    assert_allclose(distance, np.linalg.norm(X[:, None] - X[index], axis=2), atol=0.05)
    assert (np.diff(distance, axis=1) >= 0).all()
    assert_array_equal(index[:, 0], np.arange(3_000))
    assert (np.diff(np.sort(index, axis=1), axis=1) > 0).all()
    new = rows_of(kind, 200, 6, seed=1)
    distance, index = search.search(new, 5)
    assert recall_of(distance, new, X, 5) >= recall - 0.1
    assert_allclose(distance, np.linalg.norm(new[:, None] - X[index], axis=2), atol=0.05)


def test_less_recall_searches_fewer_cells():
    X = rows_of("ball", 4_000, 8)
    few, many = CellSearch(X, recall=0.5), CellSearch(X, recall=0.98)
    for search in (few, many):
        search.search(X[:10], 8)
    assert few._searched[8] < many._searched[8] <= len(many._centers)


@given(
    st.integers(1, 60),
    st.integers(1, 4),
    st.integers(1, 12),
    st.sampled_from([2, 5, 128]),
    st.integers(0, 2**31 - 1),
)
@settings(max_examples=60, deadline=None)
def test_full_recall_is_exact_whatever_the_cells(n, d, k, size, seed):
    # Whole numbers have many ties and duplicates; distances must be right all the same.
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, d)).astype(float)
    k = min(k, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cells, "_CELL", size)
        patch.setattr(_cells, "_CHUNK", 16)
        patch.setattr(_cells, "_COLLECTED", 20)
        search = CellSearch(X, recall=1.0)
        search._searched[k] = len(search._centers)
        new = rng.integers(-4, 5, size=(9, d)).astype(float)
        for queries, given in ((X, None), (new, new)):
            distance, index = search.search(given, k)
            expected = np.sort(cdist(queries, X), axis=1)[:, :k]
            assert_allclose(distance, expected, atol=5e-3)
            assert_allclose(
                np.linalg.norm(queries[:, None] - X[index], axis=2), distance, atol=5e-3
            )
            assert (np.diff(np.sort(index, axis=1), axis=1) > 0).all()


def test_more_neighbors_than_the_cells_around_hold(monkeypatch):
    monkeypatch.setattr(_cells, "_CELL", 2)
    X = rows_of("ball", 300, 3)
    search = CellSearch(X, recall=0.1)
    distance, index = search.search(None, 120)
    assert search._around.shape[1] * np.diff(search._start).max() < 300
    assert (np.diff(np.sort(index, axis=1), axis=1) > 0).all()
    assert_allclose(distance, np.linalg.norm(X[:, None] - X[index], axis=2), atol=0.05)
    assert recall_of(distance, X, X, 120) > 0.3


def test_cells_hold_every_row_once_and_none_is_huge():
    X = np.vstack([rows_of("clusters", 1_500, 3), np.zeros((2_000, 3))])
    search = CellSearch(X, recall=0.9)
    assert_array_equal(np.sort(search._order), np.arange(3_500))
    sizes = np.diff(search._start)
    assert sizes.sum() == 3_500
    assert sizes.min() >= 1
    assert sizes.max() <= _cells._SPLIT * _cells._CELL
    for cell in (0, len(sizes) // 2, len(sizes) - 1):
        inside = search._rows[search._start[cell] : search._start[cell + 1]]
        assert_allclose(search._centers[cell], inside.mean(axis=0), atol=1e-5)
    distance, index = search.search(None, 4)
    assert_allclose(distance[1_500:], 0.0, atol=1e-3)
    assert (index[1_500:] >= 1_500).all()


def test_far_from_the_origin_and_at_any_scale():
    X = rows_of("ball", 800, 4)
    plain = CellSearch(X, recall=0.99).search(None, 6)[1]
    for scale, shift in ((1e-30, 0.0), (1e30, 0.0), (1.0, 1e4)):
        moved = CellSearch(X * scale + shift, recall=0.99).search(None, 6)[1]
        assert np.mean(moved == plain) > 0.99


def test_repeats_and_comes_back_from_a_pickle():
    X = rows_of("ball", 1_200, 5)
    first, second = CellSearch(X, recall=0.9), CellSearch(X, recall=0.9)
    expected = first.search(None, 7)
    for other in (second, pickle.loads(pickle.dumps(first))):
        for a, b in zip(expected, other.search(None, 7), strict=True):
            assert_array_equal(a, b)
    with pytest.raises(ValueError, match=r"recall must lie in \(0, 1\], got 0"):
        CellSearch(X, recall=0)


@given(st.integers(1, 30), st.integers(1, 40), st.integers(0, 2**31 - 1))
@settings(max_examples=60, deadline=None)
def test_smallest_entries_of_rows(n, width, seed):
    rng = np.random.default_rng(seed)
    D = rng.integers(0, 6, size=(n, width)).astype(np.float32)
    k = int(rng.integers(1, width + 1))
    columns = _cells._smallest(D, k)
    assert_array_equal(np.take_along_axis(D, columns, axis=1), np.sort(D, axis=1)[:, :k])
    assert (np.diff(np.sort(columns, axis=1), axis=1) > 0).all()
