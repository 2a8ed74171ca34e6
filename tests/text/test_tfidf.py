"""Weights by hand; the sums that cut the vocabulary."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from leaven.text import RelativeTfidf, TfidfSumSelector

COUNTS = np.array([[3, 1, 0, 0], [2, 0, 6, 0], [5, 0, 1, 0], [0, 0, 0, 0]])


def test_weights_by_hand() -> None:
    # |D| = 4; the terms are in 3, 1, 2 and 0 documents.
    a, b, c = math.log(4 / 3), math.log(4), math.log(2)
    expected = [
        [3 / 4 * a, 1 / 4 * b, 0, 0],
        [2 / 8 * a, 0, 6 / 8 * c, 0],
        [5 / 6 * a, 0, 1 / 6 * c, 0],
        [0, 0, 0, 0],
    ]
    model = RelativeTfidf().fit(COUNTS)
    assert_allclose(model.idf_, [a, b, c, 0])
    assert_allclose(model.transform(COUNTS), expected)
    weights = model.transform(sparse.csr_matrix(COUNTS))
    assert sparse.issparse(weights)
    assert_allclose(weights.toarray(), expected)
    # A new document: its own length, the idf of fit; a term that fit never saw weighs nothing.
    assert_allclose(model.transform([[1, 0, 1, 8]]), [[a / 10, 0, c / 10, 0]])


def test_direction_of_rows_is_that_of_scikit_learn() -> None:
    # Without smoothing scikit-learn's idf is this one plus 1, and its rows have length one.
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (30, 8)) + np.eye(30, 8, dtype=int)
    theirs = TfidfTransformer(smooth_idf=False, norm=None).fit(X)
    ours = RelativeTfidf().fit(X)
    assert_allclose(ours.idf_, theirs.idf_ - 1, atol=1e-12)
    assert_allclose(
        normalize(ours.transform(X)), normalize(theirs.transform(X).toarray() - X), atol=1e-12
    )


def test_input_and_type_are_kept() -> None:
    X = sparse.csr_matrix(COUNTS.astype(np.float32))
    before = X.copy()
    weights = RelativeTfidf().fit_transform(X)
    assert weights.dtype == np.float32
    assert (before != X).nnz == 0
    with pytest.raises(ValueError, match="Negative values"):
        RelativeTfidf().fit(-COUNTS)
    assert RelativeTfidf().fit(COUNTS).get_feature_names_out(list("abcd")).tolist() == list("abcd")


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_cut_by_hand(kind: type) -> None:
    a, b, c = math.log(4 / 3), math.log(4), math.log(2)
    sums = [(3 / 4 + 2 / 8 + 5 / 6) * a, b / 4, (6 / 8 + 1 / 6) * c, 0]
    X = kind(COUNTS)
    cut = TfidfSumSelector(2).fit(X)
    assert_allclose(cut.scores_, sums)
    assert cut.get_support(indices=True).tolist() == [0, 2]
    kept = cut.transform(X)  # counts stay counts
    kept = kept.toarray() if sparse.issparse(kept) else kept
    assert_array_equal(kept, COUNTS[:, [0, 2]])


def test_cut_of_weights() -> None:
    theirs = TfidfTransformer()
    weights = theirs.fit_transform(COUNTS)
    plain = TfidfSumSelector(1, weighting="passthrough").fit(weights)
    assert_allclose(plain.scores_, weights.toarray().sum(axis=0))
    assert plain.weighting_ is None
    inside = TfidfSumSelector(1, weighting=TfidfTransformer()).fit(COUNTS)
    assert_allclose(inside.scores_, plain.scores_)
    given = TfidfTransformer()
    TfidfSumSelector(1, weighting=given).fit(COUNTS)
    assert not hasattr(given, "idf_")


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"n_terms=600 is more than there are: X has 4 terms"):
        TfidfSumSelector(600).fit(COUNTS)
    with pytest.raises(ValueError, match="'weighting' parameter"):
        TfidfSumSelector(weighting="none").fit(COUNTS)
