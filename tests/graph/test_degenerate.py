"""Rows without content, duplicates, and numbers near the ends of floating point."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from leaven.exceptions import UnreachedWarning
from leaven.graph import Cosine, EpsilonGraph, FullGraph, Gaussian, KNNGraph, SpanningTreeGraph
from leaven.graph_based import HarmonicClassifier

RNG = np.random.default_rng(4)
ROWS = RNG.normal(size=(40, 3))
COUNTS = np.where(RNG.random((40, 12)) < 0.5, RNG.random((40, 12)), 0.0) + 0.01
EMPTY = [3, 17, 29]
TEXTS = COUNTS.copy()
TEXTS[EMPTY] = 0.0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("weight", ["gaussian", "binary", "cosine", "exponential-cosine"])
@pytest.mark.parametrize("builder", [KNNGraph, FullGraph])
def test_an_empty_document_has_no_neighbors(form, weight, builder):
    fitted = builder(metric="cosine", weight=weight).fit(form(TEXTS))
    degree = fitted.graph_.degree
    assert_array_equal(degree == 0, np.isin(np.arange(40), EMPTY))
    weights = fitted.weights_to(form(np.vstack([np.zeros(12), TEXTS[0] * 1.5 + 0.01])))
    assert_array_equal(np.diff(weights.indptr) > 0, [False, True])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("weight", ["gaussian", "cosine"])
def test_an_empty_document_gets_the_class_proportions(form, weight):
    y = np.full(40, -1)
    y[[0, 1, 2, 4, 5]] = [0, 1, 1, 1, 0]
    model = HarmonicClassifier(KNNGraph(metric="cosine", weight=weight), prior=None)
    with pytest.warns(UnreachedWarning, match="3 of 40 rows"):
        model.fit(form(TEXTS), y)
    expected = np.tile([0.4, 0.6], (3, 1))
    assert_allclose(model.label_distributions_[EMPTY], expected)
    assert_allclose(model.predict_proba(form(np.zeros((3, 12)))), expected)
    order = RNG.permutation(40)
    with pytest.warns(UnreachedWarning):
        shuffled = HarmonicClassifier(KNNGraph(metric="cosine", weight=weight), prior=None).fit(
            form(TEXTS[order]), y[order]
        )
    new = form(np.vstack([TEXTS[EMPTY], TEXTS[:3]]))
    assert_allclose(shuffled.predict_proba(new), model.predict_proba(new), atol=1e-8)


def test_documents_that_share_no_word_are_not_joined():
    # Two groups of words, and one document with a word of its own.
    texts = np.zeros((9, 7))
    texts[:4, :3] = RNG.random((4, 3)) + 0.1
    texts[4:8, 3:6] = RNG.random((4, 3)) + 0.1
    texts[8, 6] = 1.0
    for form in (np.asarray, sparse.csr_array):
        graph = KNNGraph(5, metric="cosine").build(form(texts))
        assert_array_equal(graph.components(), [0, 0, 0, 0, 1, 1, 1, 1, 2])


def test_a_tree_joins_empty_documents_all_the_same():
    assert SpanningTreeGraph(metric="cosine").build(TEXTS).n_components == 1


def test_cosine_weight_on_a_row_of_zeros_among_euclidean_neighbors():
    fitted = KNNGraph(3, weight=Cosine()).fit(TEXTS)
    assert fitted.weights_to(np.zeros((1, 12))).nnz == 3  # equal to the empty rows of fit
    without = KNNGraph(3, weight=Cosine()).fit(COUNTS)
    assert without.weights_to(np.zeros((1, 12))).nnz == 0


@pytest.mark.parametrize("exponent", [-300, -160, -30, 30, 160, 300])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_scale_of_the_rows_does_not_matter(exponent, form):
    scaled = form(ROWS * 10.0**exponent)
    expected = KNNGraph(4).build(form(ROWS)).adjacency.toarray()
    fitted = KNNGraph(4).fit(scaled)
    assert_allclose(fitted.graph_.adjacency.toarray(), expected, rtol=1e-9)
    new = form((ROWS[:5] + 0.02) * 10.0**exponent)
    assert_allclose(
        fitted.weights_to(new).toarray(),
        KNNGraph(4).fit(form(ROWS)).weights_to(form(ROWS[:5] + 0.02)).toarray(),
        rtol=1e-9,
    )


@pytest.mark.parametrize("exponent", [-30, 30])
def test_the_scale_of_single_precision_rows_does_not_matter(exponent):
    expected = KNNGraph(4).build(ROWS.astype(np.float32)).adjacency.toarray()
    scaled = (ROWS * 10.0**exponent).astype(np.float32)
    W = KNNGraph(4).build(scaled).adjacency
    assert W.dtype == np.float32
    assert_allclose(W.toarray(), expected, rtol=1e-4)


@pytest.mark.parametrize("builder", [KNNGraph(3), EpsilonGraph(1e307), FullGraph()], ids=repr)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_distances_beyond_floating_point_are_refused(builder):
    rows = ROWS.copy()
    rows[5] = 1.7e308
    rows[6] = -1.7e308
    with pytest.raises(ValueError, match=r"Scale the columns first|too large"):
        builder.fit(rows)


@given(st.integers(2, 9), st.integers(1, 6), st.integers(0, 2**31 - 1))
@settings(max_examples=40, deadline=None)
def test_duplicates_never_cut_a_graph_into_non_finite_weights(n_copies, k, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, size=(n_copies, 2)).astype(float)
    rows = np.vstack([rows, rows, rows[:1]])
    W = KNNGraph(k).build(rows).adjacency
    assert np.isfinite(W.data).all()
    assert (W.data > 0).all()
    assert W.diagonal().sum() == 0
    assert abs(W - W.T).max() <= 1e-12


def test_gaussian_of_far_rows_underflows_to_zero_in_silence():
    assert_array_equal(Gaussian(1e-200)(np.array([0.0, 1e200])), [1.0, 0.0])
