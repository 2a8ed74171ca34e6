"""Neighbors of neighbors against loops over all pairs, and the search that uses them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

from leaven.graph import NeighborIndex, _cells, _descent, _sorting
from leaven.graph._cells import CellSearch
from leaven.graph._descent import NeighborLists, improve_neighbors


def random_lists(n, k, d, seed, whole=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, d)) if whole else rng.normal(size=(n, d))
    X = X.astype(np.float32)
    index = np.array([rng.choice(np.delete(np.arange(n), i), k, replace=False) for i in range(n)])
    distance = ((X[:, None] - X[index]) ** 2).sum(axis=2)
    by = np.argsort(distance, axis=1, kind="stable")
    index, distance = (np.take_along_axis(a, by, axis=1) for a in (index, distance))
    return X, NeighborLists(index.astype(np.int32), distance, np.ones((n, k), dtype=bool))


def copy_of(lists):
    return NeighborLists(lists.index.copy(), lists.distance.copy(), lists.is_new.copy())


def neighborhoods(index):
    """Members of a row's neighborhood, by loops: listed, listing, and itself."""
    around = [{i, *row} for i, row in enumerate(index.tolist())]
    for i, row in enumerate(index.tolist()):
        for j in row:
            around[j].add(i)
    return around


def one_round(X, index, k, limit):
    """The distances of each row's list after a round, by loops over all pairs."""
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    candidates = [set(row) for row in index.tolist()]
    for members in neighborhoods(index):
        for u in members:
            candidates[u] |= {v for v in members if v != u and D[u, v] < limit[u]}
    return np.array([np.sort(D[u, sorted(c)])[:k] for u, c in enumerate(candidates)])


@given(st.integers(3, 40), st.integers(1, 6), st.booleans(), st.integers(0, 2**31 - 1))
@settings(max_examples=60, deadline=None)
def test_one_round_is_that_of_loops_over_all_pairs(n, k, whole, seed):
    k = min(k, n - 1)
    X, lists = random_lists(n, k, 3, seed, whole)
    before = copy_of(lists)
    rng = np.random.default_rng(seed)
    limit = lists.distance[:, -1] if seed % 2 else lists.distance[:, rng.integers(k)].copy()
    expected = one_round(X, lists.index, k, limit)
    n_replaced = improve_neighbors(X, lists, limit)
    assert_allclose(lists.distance, expected, atol=1e-4)
    assert_allclose(lists.distance, ((X[:, None] - X[lists.index]) ** 2).sum(axis=2), atol=1e-4)
    assert (np.diff(np.sort(lists.index, axis=1), axis=1) > 0).all()
    assert (lists.index != np.arange(n)[:, None]).all()
    came = (lists.index[:, :, None] != before.index[:, None, :]).all(axis=2)
    assert_array_equal(lists.is_new, came)
    assert n_replaced == came.sum()


@pytest.mark.parametrize("seed", range(5))
def test_a_second_round_needs_only_pairs_with_something_new(seed):
    X, lists = random_lists(200, 6, 5, seed)
    improve_neighbors(X, lists)
    assert lists.is_new.any()
    assert not lists.is_new.all()
    every = copy_of(lists)
    every.is_new[:] = True
    for one in (lists, every):
        improve_neighbors(X, one)
    assert_array_equal(lists.index, every.index)
    # Nothing new leaves nothing to do.
    lists.is_new[:] = False
    assert improve_neighbors(X, lists) == 0


def test_rounds_end_at_the_true_neighbors():
    X, lists = random_lists(400, 12, 4, 3)
    while improve_neighbors(X, lists):
        pass
    exact = np.sort(cdist(X, X), axis=1)[:, 1:13]
    assert np.mean(np.sqrt(lists.distance) <= exact[:, -1:] + 1e-4) > 0.99


def test_what_is_listed_already_is_not_listed_twice():
    X, lists = random_lists(60, 6, 3, 2)
    while improve_neighbors(X, lists):
        pass
    before = copy_of(lists)
    lists.is_new[:] = True
    # Few rows have more within their limit than is usual.
    limit = lists.distance[:, 0].copy()
    limit[::10] = lists.distance[::10, -1]
    assert improve_neighbors(X, lists, limit) == 0
    assert_array_equal(lists.index, before.index)


def test_blocks_of_any_size_find_the_same(monkeypatch):
    X, lists = random_lists(300, 7, 4, 8)
    small = copy_of(lists)
    improve_neighbors(X, lists)
    monkeypatch.setattr(_descent, "_BLOCK", 300)
    monkeypatch.setattr(_descent, "_MERGED", 32)
    monkeypatch.setattr(_descent, "_PAIRS", 50)
    monkeypatch.setattr(_descent, "_PAD", 3)
    improve_neighbors(X, small)
    assert_array_equal(small.index, lists.index)
    assert_array_equal(small.is_new, lists.is_new)


@pytest.mark.parametrize("block", [1 << 19, 7])
def test_hubs_keep_the_nearest(monkeypatch, block):
    monkeypatch.setattr(_descent, "_BLOCK", block)
    X = np.random.default_rng(5).normal(size=(30, 3)).astype(np.float32)
    links = np.zeros((30, 30), dtype=np.int8)
    links[4, 10:27] = links[9, 12:29] = links[20, :3] = 1
    both = sparse.csr_array(links)
    kept = _descent._without_excess(X, both, 5)
    owner = np.repeat(np.arange(30), np.diff(both.indptr))
    for hub, members in ((4, np.arange(10, 27)), (9, np.arange(12, 29))):
        nearest = members[np.argsort(((X[members] - X[hub]) ** 2).sum(axis=1))[:5]]
        assert_array_equal(both.indices[kept & (owner == hub)], np.sort(nearest))
    assert kept[owner == 20].all()


def test_each_pair_is_kept_once_in_order():
    rng = np.random.default_rng(2)
    u, v = rng.integers(0, 12, size=(2, 300)).astype(np.int32)
    u[:280], v[:280] = 3, 5  # so often that a sum of 8 bits is over
    expected = np.unique(np.column_stack([u, v]), axis=0)
    assert_array_equal(np.column_stack(_descent._unique_pairs(u, v, 12)), expected)


def test_both_ways_to_sort_by_owner_and_value_agree(monkeypatch):
    rng = np.random.default_rng(2)
    owner = np.repeat(np.arange(40), 12)[rng.permutation(480)]
    value = rng.random(480).astype(np.float32)
    packed = _sorting.first_of_each(owner, value, 40, 5)
    monkeypatch.setattr(_sorting, "_OWNER_BITS", 2)
    assert_array_equal(_sorting.first_of_each(owner, value, 40, 5), packed)
    for i in (0, 17, 39):
        assert_allclose(value[packed[i]], np.sort(value[owner == i])[:5])


def test_rows_leave_their_own_lists():
    index = np.array([[0, 2, 1], [2, 1, 0], [0, 1, 0]])
    distance = np.array([[0.0, 3.0, 5.0], [0.0, 1.0, 2.0], [0.0, 0.0, 4.0]], dtype=np.float32)
    lists = NeighborLists.without_self(distance, index)
    assert_array_equal(lists.index, [[2, 1], [2, 0], [0, 1]])
    assert_array_equal(lists.distance, [[3.0, 5.0], [0.0, 2.0], [0.0, 0.0]])
    assert lists.is_new.all()


def few_cells(monkeypatch):
    monkeypatch.setattr(_cells, "_CELL", 16)
    monkeypatch.setattr(_cells, "_REFINE_ABOVE", 2)


@pytest.mark.parametrize("recall", [0.8, 0.97, 0.995])
def test_the_search_reaches_the_recall_from_few_cells(monkeypatch, recall):
    few_cells(monkeypatch)
    X = np.random.default_rng(0).normal(size=(3_000, 8))
    search = CellSearch(X, recall=recall)
    # A search of as many cells as the recall needs would hide a refinement that fails.
    most = search._cells_to_search(9)
    monkeypatch.setattr(search, "_search_sorted", only_coarse(search._search_sorted, most))
    distance, index = search.search(None, 9)
    exact = np.sort(cdist(X, X), axis=1)[:, :9]
    assert np.mean(distance <= exact[:, -1:] * (1 + 1e-4)) >= recall - 0.03
    assert_allclose(distance, np.linalg.norm(X[:, None] - X[index], axis=2), atol=0.05)
    assert (np.diff(distance, axis=1) >= 0).all()
    assert_array_equal(index[:, 0], np.arange(3_000))
    assert (np.diff(np.sort(index, axis=1), axis=1) > 0).all()
    again = CellSearch(X, recall=recall).search(None, 9)
    assert_array_equal(again[1], index)


def only_coarse(search, most):
    def checked(queries, cell, k, n_searched):
        assert n_searched == max(4, round(most / 6)) < most
        return search(queries, cell, k, n_searched)

    return checked


def test_without_success_more_cells_are_searched(monkeypatch):
    few_cells(monkeypatch)
    monkeypatch.setattr(_cells, "_ROUNDS", 0)
    X = np.random.default_rng(0).normal(size=(1_500, 6))
    found = CellSearch(X, recall=0.95).search(None, 6)
    monkeypatch.setattr(_cells, "_REFINE_ABOVE", 10**9)
    for a, b in zip(found, CellSearch(X, recall=0.95).search(None, 6), strict=True):
        assert_array_equal(a, b)


def test_duplicates_and_one_neighbor(monkeypatch):
    few_cells(monkeypatch)
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(900, 6)), np.repeat(rng.normal(size=(30, 6)), 20, axis=0)])
    distance, index = NeighborIndex(X, algorithm="approximate", recall=0.95).within(5)
    assert_allclose(distance[900:], 0.0, atol=1e-6)
    assert_array_equal((index[900:] - 900) // 20, np.repeat(np.arange(30), 20)[:, None] + [0] * 5)
    assert (index != np.arange(1_500)[:, None]).all()
    assert_array_equal(CellSearch(X[:900], recall=0.9).search(None, 1)[1].ravel(), np.arange(900))
