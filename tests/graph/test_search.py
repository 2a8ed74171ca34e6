"""Neighbor search against sorted matrices of all distances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

from leaven.graph import EpsilonGraph, NeighborIndex, _cells, _neighbors
from leaven.graph import _sparse_cosine as sparse_cosine

METRICS = ["euclidean", "l2", "manhattan", "chebyshev", "cosine"]
NAMES = {"l2": "euclidean", "manhattan": "cityblock"}


def rows_of(n=40, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) + 0.3


def all_distances(A, B, metric):
    return cdist(A, B, NAMES.get(metric, metric))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [1, 5, 39])
def test_rows_among_themselves_equal_a_sort(metric, k):
    X = rows_of()
    distance, index = NeighborIndex(X, metric=metric).within(k)
    D = all_distances(X, X, metric)
    np.fill_diagonal(D, np.inf)
    assert_allclose(distance, np.sort(D, axis=1)[:, :k], atol=1e-12)
    assert_allclose(np.take_along_axis(D, index, axis=1), distance, atol=1e-12)
    assert (index != np.arange(40)[:, None]).all()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_new_rows_equal_a_sort(metric, form):
    if metric == "chebyshev" and form is not np.asarray:
        pytest.skip("scikit-learn has no sparse Chebyshev distance")
    X, new = rows_of(), rows_of(7, seed=1)
    distance, index = NeighborIndex(form(X), metric=metric).of(form(new), 6)
    D = all_distances(new, X, metric)
    assert_allclose(distance, np.sort(D, axis=1)[:, :6], atol=1e-7)
    assert_allclose(np.take_along_axis(D, index, axis=1), distance, atol=1e-7)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "precomputed"])
def test_an_index_of_some_rows_numbers_them_from_zero(metric):
    X = rows_of(30)
    D = cdist(X, X, "cosine" if metric == "cosine" else "euclidean")
    index = NeighborIndex(D if metric == "precomputed" else X, metric=metric)
    some, asking = np.array([3, 8, 21, 29]), np.array([0, 8, 14])
    distance, nearest = index.restricted_to(some).of(index.rows(asking, some), 2)
    expected = D[np.ix_(asking, some)]
    assert_array_equal(nearest, np.argsort(expected, axis=1)[:, :2])
    assert_allclose(distance, np.sort(expected, axis=1)[:, :2], atol=1e-12)


def test_minkowski_takes_its_parameter():
    X = rows_of(20)
    index = NeighborIndex(X, metric="minkowski", metric_params={"p": 3})
    D = cdist(X, X, "minkowski", p=3)
    np.fill_diagonal(D, np.inf)
    assert_allclose(index.within(4)[0], np.sort(D, axis=1)[:, :4])
    ball = EpsilonGraph(1.0, metric="minkowski", metric_params={"p": 3}).build(X)
    assert_array_equal(ball.adjacency.toarray(), D <= 1.0)


def test_a_metric_of_blocks_takes_parameters_and_any_block_size(monkeypatch):
    def metric(A, B, power):
        return cdist(A, B, "cityblock") ** power

    metric.accepts_matrices = True
    X = rows_of(23)
    for block in (8, 8 * 23 * 4, 1 << 26):
        monkeypatch.setattr(_neighbors, "_CHUNK_BYTES", block)
        index = NeighborIndex(X, metric=metric, metric_params={"power": 2})
        D = cdist(X, X, "cityblock") ** 2
        assert_allclose(index.of(X[:5], 3)[0], np.sort(D[:5], axis=1)[:, :3], atol=1e-12)
        np.fill_diagonal(D, np.inf)
        assert_allclose(index.within(3)[0], np.sort(D, axis=1)[:, :3])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_duplicates_are_neighbors_at_distance_zero(form, metric):
    X = np.repeat(rows_of(6), 3, axis=0)
    distance, index = NeighborIndex(form(X), metric=metric).within(2)
    assert_allclose(distance, 0.0, atol=1e-7)
    assert_array_equal(index // 3, np.repeat(np.arange(6), 3)[:, None] * np.ones((1, 2)))
    assert (index != np.arange(18)[:, None]).all()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_single_precision_stays_single(metric):
    X = rows_of().astype(np.float32)
    index = NeighborIndex(X, metric=metric)
    assert index.of(X[:3], 2)[0].dtype == np.float32
    D = all_distances(X.astype(float), X.astype(float), metric)
    np.fill_diagonal(D, np.inf)
    assert_allclose(index.within(3)[0], np.sort(D, axis=1)[:, :3], atol=1e-5)


def test_zero_rows_under_the_cosine_are_at_distance_one():
    X = rows_of(12)
    index = NeighborIndex(X, metric="cosine")
    new = np.vstack([np.zeros(4), X[3], np.zeros(4)])
    distance, nearest = index.of(new, 2)
    assert_allclose(distance[[0, 2]], 1.0)
    assert_allclose(distance[1, 0], 0.0, atol=1e-12)
    assert nearest[1, 0] == 3
    X[5] = 0.0  # an empty row in the index itself
    distance, _ = NeighborIndex(X, metric="cosine").within(3)
    assert_allclose(distance[5], 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "nearly"}, "metric='nearly' is not known. Use a callable or one of"),
        ({"algorithm": "fast"}, "algorithm must be one of .*, got 'fast'"),
        ({"algorithm": "approximate", "metric": "manhattan"}, "got dense X and metric='manhattan'"),
        ({"algorithm": "approximate", "recall": 0.0}, r"recall must lie in \(0, 1\], got 0.0"),
        ({"algorithm": "approximate", "recall": 1.5}, r"recall must lie in \(0, 1\], got 1.5"),
    ],
)
def test_what_is_not_known_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        NeighborIndex(rows_of(), **arguments)


def test_sparse_rows_have_no_approximate_euclidean_search():
    with pytest.raises(ValueError, match=r"got sparse X and metric='euclidean'.*TruncatedSVD"):
        NeighborIndex(sparse.csr_array(rows_of()), algorithm="approximate")


@pytest.mark.parametrize(
    ("n", "metric", "form", "expected"),
    [
        (30, "euclidean", np.asarray, True),
        (29, "euclidean", np.asarray, False),
        (30, "l2", np.asarray, True),
        (30, "cosine", sparse.csr_array, True),
        (30, "euclidean", sparse.csr_array, False),
        (30, "manhattan", np.asarray, False),
        (30, cdist, np.asarray, False),
    ],
)
def test_auto_is_approximate_from_many_rows_up_where_it_can_be(
    n, metric, form, expected, monkeypatch
):
    monkeypatch.setattr(_neighbors, "APPROXIMATE_FROM", 30)
    X = form(rows_of(n))
    assert _neighbors.use_approximate("auto", X, metric) is expected
    assert _neighbors.use_approximate("exact", X, metric) is False


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([0.0, 0.0], 1.0),
        ([3.0, -5.0], 1.0),
        ([1e-149, 0.0], 1.0),
        ([2.0**600, 1.0], 2.0**600),
        ([-3.0 * 2.0**-700, 0.0], 2.0**-699),
    ],
)
def test_huge_and_tiny_rows_are_measured_in_powers_of_two(values, unit):
    assert _neighbors._unit_of(np.array([values])) == unit
    assert _neighbors._unit_of(sparse.csr_array([values])) == unit


def test_the_range_of_single_precision_is_narrower():
    assert _neighbors._unit_of(np.full((1, 1), 1e18, dtype=np.float32)) == 1.0
    assert _neighbors._unit_of(np.full((1, 1), 1e20, dtype=np.float32)) == 2.0**66
    assert _neighbors._unit_of(np.empty((0, 3))) == 1.0


def test_a_row_is_taken_out_of_its_own_neighbors():
    distance = np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
    index = np.array([[0, 2, 1], [2, 1, 0], [0, 1, 3]])  # copies crowd row 2 out of its own list
    left, others = _neighbors._drop_self(distance, index)
    assert_array_equal(others, [[2, 1], [2, 0], [0, 1]])
    assert_array_equal(left, [[1.0, 2.0], [0.0, 3.0], [0.0, 0.0]])


@pytest.mark.parametrize("chunk", [1, 7, 1 << 15])
def test_distances_are_recomputed_in_chunks_of_any_size(chunk, monkeypatch):
    monkeypatch.setattr(_neighbors, "_PAIR_CHUNK", chunk)
    X = rows_of(20) + 1e6  # |a|² - 2ab + |b|² would lose nine digits here
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    assert_allclose(NeighborIndex(X).within(4)[0], np.sort(D, axis=1)[:, :4], rtol=1e-12)


@given(st.integers(2, 12), st.integers(0, 1_000), st.booleans())
@settings(max_examples=40)
def test_precomputed_distances_with_ties_go_by_number(n, seed, stored):
    rng = np.random.default_rng(seed)
    D = rng.integers(1, 4, size=(n, n)).astype(float)
    D = np.triu(D, 1) + np.triu(D, 1).T
    k = int(rng.integers(1, n))
    index = NeighborIndex(sparse.csr_array(D) if stored else D, metric="precomputed")
    distance, nearest = index.within(k)
    for i in range(n):
        others = sorted((D[i, j], j) for j in range(n) if j != i)[:k]
        assert_array_equal(distance[i], [d for d, _ in others])
        if stored or k == n - 1:  # a partition of a dense row may take another of equal distance
            assert_array_equal(nearest[i], [j for _, j in others])
        else:
            assert_array_equal(D[i, nearest[i]], distance[i])


def test_too_few_stored_distances_are_named():
    D = sparse.csr_array(np.array([[0, 2.0, 3.0], [2.0, 0, 0], [3.0, 0, 0]]))
    index = NeighborIndex(D, metric="precomputed")
    assert_array_equal(index.within(1)[1].ravel(), [1, 0, 0])
    with pytest.raises(ValueError, match="Row 1 of the sparse matrix of distances has 1 stored"):
        index.within(2)


# Cells


@given(st.integers(1, 60), st.integers(1, 5), st.integers(0, 1_000))
@settings(max_examples=30)
def test_the_nearest_center_in_blocks(n, n_centers, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3)).astype(np.float32)
    centers = rng.normal(size=(n_centers, 3)).astype(np.float32)
    D = cdist(rows, centers)
    found = _cells._nearest(rows, centers)
    assert_allclose(D[np.arange(n), found], D.min(axis=1), atol=1e-5)
    assert_allclose(_cells._squared(rows, centers), D**2, atol=1e-4)


def test_the_centers_around_each_begin_with_itself():
    centers = rows_of(17).astype(np.float32)
    around = _cells._nearest_of_each(centers, 6)
    D = cdist(centers, centers)
    assert_array_equal(around[:, 0], np.arange(17))
    assert_allclose(np.take_along_axis(D, around, axis=1), np.sort(D, axis=1)[:, :6], atol=1e-6)


def test_k_means_moves_centers_to_the_means_of_their_rows():
    rng = np.random.default_rng(0)
    places = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 70.0]])
    rows = (places[np.arange(90) % 3] + rng.normal(size=(90, 2))).astype(np.float32)
    found = _cells._k_means(rows, 3, np.random.default_rng(1))
    label = _cells._nearest(rows, found)
    for c in np.unique(label):
        assert_allclose(found[c], rows[label == c].mean(axis=0), rtol=1e-4)
    assert_allclose(_cells._k_means(rows, 1, rng), rows.mean(axis=0)[None], rtol=1e-3, atol=9.0)


@pytest.mark.parametrize("sizes", [[5], [600, 3], [100, 900, 513, 512]])
def test_large_cells_are_cut_into_pieces_and_small_ones_stay(sizes):
    label = np.repeat(np.arange(len(sizes)), sizes)
    cut = _cells._cut_large(np.random.default_rng(0).permutation(label))
    counts = np.bincount(cut)
    assert counts.sum() == sum(sizes)
    assert counts.max() <= _cells._SPLIT * _cells._CELL
    kept = [size for size in sizes if size <= _cells._SPLIT * _cells._CELL]
    assert set(kept) <= set(counts.tolist())


def test_merging_keeps_the_best_of_old_and_new():
    best = np.array([[1.0, 5.0], [2.0, 3.0]], dtype=np.float32)
    index = np.array([[10, 11], [12, 13]])
    found = [
        (np.array([0, 1]), np.array([20, 21]), np.array([4.0, 9.0], dtype=np.float32)),
        (np.array([0]), np.array([22]), np.array([0.5], dtype=np.float32)),
    ]
    distance, chosen = _cells._merge(best, index, found)
    assert_array_equal(distance, [[0.5, 1.0], [2.0, 3.0]])
    assert_array_equal(chosen, [[22, 10], [12, 13]])


def test_collecting_in_small_portions_finds_the_same(monkeypatch):
    monkeypatch.setattr(_cells, "_CELL", 16)
    X = rows_of(400, d=3)
    plain = _cells.CellSearch(X, recall=1.0).search(None, 6)
    monkeypatch.setattr(_cells, "_COLLECTED", 5)
    monkeypatch.setattr(_cells, "_CHUNK", 37)
    often = _cells.CellSearch(X, recall=1.0).search(None, 6)
    assert_allclose(often[0], plain[0], rtol=1e-5, atol=1e-6)
    D = np.sort(cdist(X, X), axis=1)[:, :6]
    assert_allclose(plain[0], D, atol=1e-3)


@pytest.mark.parametrize("X", [np.zeros((50, 3)), np.full((50, 1), 7.0), np.eye(50)])
def test_cells_of_equal_rows_and_of_corners(X):
    distance, index = _cells.CellSearch(X, recall=0.9).search(None, 4)
    D = np.sort(cdist(X, X), axis=1)[:, :4]
    assert_allclose(distance, D, atol=1e-3)
    assert index.shape == (50, 4)


def test_more_neighbors_than_a_cell_has_rows(monkeypatch):
    monkeypatch.setattr(_cells, "_CELL", 4)
    X = rows_of(60, d=2)
    for k in (1, 30, 60):
        distance, _ = _cells.CellSearch(X, recall=1.0).search(X[:9], k)
        assert_allclose(distance, np.sort(cdist(X[:9], X), axis=1)[:, :k], atol=1e-3)


# Sparse cosine


@given(st.integers(1, 25), st.integers(1, 6), st.integers(0, 500))
@settings(max_examples=40)
def test_the_largest_entries_of_sparse_rows(n, k, seed):
    rng = np.random.default_rng(seed)
    M = np.round(rng.random((n, 30)) * (rng.random((n, 30)) < 0.4), 2)
    q, column, value = sparse_cosine._largest(sparse.csr_array(M), None, 0, k)
    assert_allclose(M[q, column], value)
    for i in range(n):
        best = np.sort(M[i][M[i] > 0])[::-1][:k]
        mine = np.sort(value[q == i])[::-1]
        assert_allclose(mine[: len(best)], best)


def test_the_own_row_counts_as_the_most_similar():
    M = sparse.csr_array([[0.2, 0.9, 0.0], [0.0, 0.4, 0.8]])
    q, column, value = sparse_cosine._largest(M, np.array([5, 6, 0, 2]), 2, 2)
    rows = {(int(i), int(j)): float(v) for i, j, v in zip(q, column, value, strict=True)}
    assert rows[0, 0] == rows[1, 2] == 2.0
    assert rows[0, 1] == pytest.approx(0.9)
    assert rows[1, 1] == pytest.approx(0.4)


def test_the_largest_values_of_each_owner_and_who_has_too_few():
    owner = np.array([0, 0, 2, 2, 2])
    value = np.array([0.3, 0.7, 0.1, 0.9, 0.5])
    chosen, poor = sparse_cosine._first_of_each(owner, value, 3, 2)
    assert_array_equal(chosen[0], [1, 0])
    assert_array_equal(chosen[2], [3, 4])
    assert_array_equal(poor, [1])
    nothing, poor = sparse_cosine._first_of_each(owner[:0], value[:0], 2, 3)
    assert nothing.shape == (2, 3)
    assert_array_equal(poor, [0, 1])


@pytest.mark.parametrize("entries", [1, 64, 1 << 22])
def test_products_of_pairs_in_blocks(entries, monkeypatch):
    monkeypatch.setattr(sparse_cosine, "_BLOCK_ENTRIES", entries)
    rng = np.random.default_rng(2)
    A, B = (rng.random((9, 12)) * (rng.random((9, 12)) < 0.5) for _ in range(2))
    index = rng.integers(9, size=(9, 4))
    found = sparse_cosine._pair_products(sparse.csr_array(A), sparse.csr_array(B), index)
    assert_allclose(found, np.take_along_axis(A @ B.T, index, axis=1))


def test_rows_that_share_no_word_follow_in_the_order_of_their_numbers():
    X = sparse.csr_array(np.eye(5)[[0, 1, 2, 3, 0]])
    distance, index = sparse_cosine.SparseCosine(X).search(None, 4)
    assert_array_equal(index[0], [0, 4, 1, 2])
    assert_array_equal(distance[0], [0.0, 0.0, 1.0, 1.0])
    assert_array_equal(index[2], [2, 0, 1, 3])
