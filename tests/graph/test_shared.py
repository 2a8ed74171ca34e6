"""One neighbor search for several classifiers: what is shared, and what is not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from leaven.graph import KNNGraph, share_searches


class Counted(KNNGraph):
    """Counts its searches."""

    def _weights_to(self, X_new):
        self.searches = getattr(self, "searches", 0) + 1
        return super()._weights_to(X_new)


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    return rng.normal(size=(40, 3)), rng.normal(size=(7, 3))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_equal_rows_are_searched_once_inside_and_each_time_outside(rows, form):
    X, new = rows
    builder = Counted(5).fit(form(X))
    expected = KNNGraph(5).fit(form(X)).weights_to(form(new)).toarray()
    with share_searches():
        answers = [builder.weights_to(form(new.copy())) for _ in range(3)]
    assert builder.searches == 1
    for answer in answers:
        np.testing.assert_array_equal(answer.toarray(), expected)
    builder.weights_to(form(new))
    builder.weights_to(form(new))
    assert builder.searches == 3


def test_rows_changed_in_place_are_other_rows(rows):
    X, new = rows
    builder = Counted(5).fit(X)
    with share_searches():
        builder.weights_to(new)
        new += 0.5
        second = builder.weights_to(new)
    assert builder.searches == 2
    np.testing.assert_array_equal(second.toarray(), builder.weights_to(new).toarray())


def test_other_builders_and_dtypes_search_themselves(rows):
    X, new = rows
    few, many = KNNGraph(2).fit(X), KNNGraph(6).fit(X)
    with share_searches():
        assert np.diff(few.weights_to(new).indptr).max() == 2
        assert np.diff(many.weights_to(new).indptr).max() == 6
    single = Counted(2).fit(X.astype(np.float32))
    with share_searches():
        assert single.weights_to(new.astype(np.float32)).dtype == np.float32
        single.weights_to(new.astype(np.float32).astype(np.float64))
    assert single.searches == 2


def test_nothing_is_kept_after_an_error(rows):
    X, new = rows
    builder = Counted(5).fit(X)
    with pytest.raises(ValueError, match="4 features"), share_searches():
        _ = builder.weights_to(new), builder.weights_to(np.ones((2, 4)))
    with share_searches():
        builder.weights_to(new)
    assert builder.searches == 2
