"""Cosine neighbors of sparse rows against the dense matrix of all similarities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

from leaven.graph import _sparse_cosine
from leaven.graph._sparse_cosine import SparseCosine


def texts(n, n_words, seed=0, per_text=12):
    """Draw texts whose words are as frequent as Zipf's law has it."""
    rng = np.random.default_rng(seed)
    p = 1.0 / np.arange(1, n_words + 1)
    X = np.zeros((n, n_words))
    for row in X:
        words = rng.choice(n_words, size=per_text, p=p / p.sum(), replace=False)
        row[words] = rng.random(per_text) * np.log(2 + words)
    return X


def exact(A, B):
    return 1.0 - np.nan_to_num(1.0 - cdist(A, B, "cosine"))


@given(st.integers(2, 40), st.integers(1, 8), st.integers(0, 2**31 - 1), st.sampled_from([1, 64]))
@settings(max_examples=60, deadline=None)
def test_the_exact_search_is_exact(n, k, seed, segment):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, 6)) < 0.3, rng.random((n, 6)), 0.0)  # with rows of zeros
    new = np.where(rng.random((5, 6)) < 0.4, rng.random((5, 6)), 0.0)
    k = min(k, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_sparse_cosine, "_SEGMENT", segment)
        patch.setattr(_sparse_cosine, "_BLOCK_ENTRIES", 50)
        search = SparseCosine(sparse.csr_array(X))
        distance, index = search.search(sparse.csr_array(new), k)
        with np.errstate(invalid="ignore"):
            D = exact(new, X)
        assert_allclose(distance, np.sort(D, axis=1)[:, :k], atol=1e-9)
        assert_allclose(np.take_along_axis(D, index, axis=1), distance, atol=1e-9)
        own_distance, own = search.search(None, k)
    assert_array_equal(own[:, 0], np.arange(n))
    assert_array_equal(own_distance[:, 0], 0.0)
    D = exact(X, X)
    np.fill_diagonal(D, -1.0)
    expected = np.sort(D, axis=1)[:, 1:k]
    assert_allclose(own_distance[:, 1:], np.maximum(expected, 0.0), atol=1e-9)
    assert (np.diff(np.sort(own, axis=1), axis=1) > 0).all()


@pytest.mark.parametrize("recall", [0.7, 0.9, 1.0])
def test_rare_words_reach_the_recall(recall, monkeypatch):
    monkeypatch.setattr(_sparse_cosine, "_RARE", 8)
    X = texts(900, 400)
    search = SparseCosine(sparse.csr_array(X), recall=recall)
    distance, index = search.search(None, 6)
    D = exact(X, X)
    np.fill_diagonal(D, 0.0)
    last = np.sort(D, axis=1)[:, 5:6]
    # The limit was chosen on 128 of the rows; 0.1 is far beyond the error of such a sample.
    assert np.mean(distance <= last + 1e-6) >= recall - 0.1
    assert_allclose(np.take_along_axis(D, index, axis=1), distance, atol=1e-6)
    assert_array_equal(index[:, 0], np.arange(900))
    new = texts(50, 400, seed=1)
    distance, index = search.search(sparse.csr_array(new), 6)
    assert_allclose(np.take_along_axis(exact(new, X), index, axis=1), distance, atol=1e-6)


def test_more_recall_takes_more_frequent_words(monkeypatch):
    monkeypatch.setattr(_sparse_cosine, "_RARE", 4)
    monkeypatch.setattr(_sparse_cosine, "_SHORT_LIST", 1)
    X = sparse.csr_array(texts(900, 400))
    few, many = SparseCosine(X, recall=0.3), SparseCosine(X, recall=0.95)
    assert few._rare_limit(6) < many._rare_limit(6)


def test_rows_without_a_rare_word_are_compared_with_all(monkeypatch):
    monkeypatch.setattr(_sparse_cosine, "_RARE", 3)
    X = texts(200, 60)
    X[7] = 0.0
    X[7, 0] = 2.5  # the most frequent word only
    X[11] = 0.0
    search = SparseCosine(sparse.csr_array(X), recall=0.05)
    distance, _ = search.search(None, 4)
    D = exact(X, X)
    assert_allclose(distance[7], np.sort(D[7])[:4], atol=1e-9)
    assert_array_equal(distance[11], [0.0, 1.0, 1.0, 1.0])


def test_single_precision_and_bad_recall():
    X = sparse.csr_array(texts(80, 50).astype(np.float32))
    assert SparseCosine(X, recall=0.9).search(None, 3)[0].dtype == np.float32
    with pytest.raises(ValueError, match=r"recall must lie in \(0, 1\], got 1.5"):
        SparseCosine(X, recall=1.5)
