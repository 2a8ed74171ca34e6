"""The six measures by hand, by SciPy and by scikit-learn; the criteria; which rows count."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import chi2_contingency
from sklearn.feature_selection import chi2
from sklearn.metrics import mutual_info_score
from sklearn.pipeline import make_pipeline

from leaven.text import StemmedCountVectorizer, TermSelector
from leaven.text._term_selection import MEASURES, combine_scores, term_scores

# Ten documents, six of class c: the term is in 3 of them, and in 1 of the 4 others.
#            c   not c
#   t        3     1
#   not t    3     3
TABLE = np.array([[3.0, 1.0]])
SIZES = np.array([6.0, 4.0])
BY_HAND = {
    "information-gain": (
        0.3 * math.log(0.3 / (0.4 * 0.6))
        + 0.1 * math.log(0.1 / (0.4 * 0.4))
        + 0.3 * math.log(0.3 / (0.6 * 0.6))
        + 0.3 * math.log(0.3 / (0.6 * 0.4))
    ),
    "mutual-information": math.log(0.3 / (0.4 * 0.6)),
    "chi2": 10 * (0.3 * 0.3 - 0.1 * 0.3) ** 2 / (0.4 * 0.6 * 0.6 * 0.4),
    "odds-ratio": (3 / 6) * (1 - 1 / 4) / ((1 - 3 / 6) * (1 / 4)),
    "gss": (3 / 6) * (3 / 4) - (1 / 4) * (3 / 6),
    "ngl": math.sqrt(10) * (0.3 * 0.3 - 0.1 * 0.3) / math.sqrt(0.4 * 0.6 * 0.6 * 0.4),
}
OTHER_CLASS = {
    "information-gain": BY_HAND["information-gain"],
    "mutual-information": math.log(0.1 / (0.4 * 0.4)),
    "chi2": BY_HAND["chi2"],
    "odds-ratio": 1 / BY_HAND["odds-ratio"],
    "gss": -BY_HAND["gss"],
    "ngl": -BY_HAND["ngl"],
}


@pytest.mark.parametrize("measure", MEASURES)
def test_measure_by_hand(measure: str) -> None:
    expected = [[BY_HAND[measure], OTHER_CLASS[measure]]]
    assert_allclose(term_scores(TABLE, SIZES, measure), expected, rtol=1e-12)


def test_zeros() -> None:
    # The term is in no document; in all of them; in class 0 alone; in all of class 0 and
    # in one of the others.
    present = np.array([[0.0, 0.0], [2.0, 3.0], [1.0, 0.0], [2.0, 1.0]])
    sizes = np.array([2.0, 3.0])
    inf = np.inf
    expected = {
        "mutual-information": [
            [-inf, -inf],
            [0.0, 0.0],
            [math.log(5 / 2), -inf],
            [math.log(2 * 5 / (3 * 2)), math.log(5 / 9)],
        ],
        "odds-ratio": [[1.0, 1.0], [1.0, 1.0], [inf, 0.0], [inf, 0.0]],
        "gss": [[0.0, 0.0], [0.0, 0.0], [0.5, -0.5], [2 / 3, -2 / 3]],
    }
    for measure, scores in expected.items():
        assert_allclose(term_scores(present, sizes, measure), scores, rtol=1e-12, atol=1e-15)
    for measure in ("information-gain", "chi2", "ngl"):
        scores = term_scores(present, sizes, measure)
        assert_allclose(scores[:2], 0.0, atol=1e-15)
        assert (np.abs(scores[2:]) > 0.1).all()
    smooth = term_scores(present, sizes, "mutual-information", smoothing=0.5)
    assert np.isfinite(smooth).all()
    assert_allclose(smooth[2, 1], math.log(0.5 * 7 / (2.0 * 4.0)))


@st.composite
def problems(draw: Any) -> tuple[Any, Any]:
    n = draw(st.integers(4, 15))
    n_classes = draw(st.integers(2, 4))
    X = draw(arrays(np.int64, (n, 5), elements=st.integers(0, 2)))
    rest = draw(arrays(np.int64, n - n_classes, elements=st.integers(0, n_classes - 1)))
    return X, np.concatenate([np.arange(n_classes), rest])


@given(problems())
@settings(max_examples=25, deadline=None)
def test_scores_of_each_class_against_other_libraries(problem: tuple[Any, Any]) -> None:
    X, y = problem
    found = {m: TermSelector(m, n_terms=1).fit(X, y).class_scores_ for m in MEASURES}
    for term in range(X.shape[1]):
        has = X[:, term] > 0
        for c in range(y.max() + 1):
            table = np.array(
                [[np.sum((has == h) & ((y == c) == k)) for k in (1, 0)] for h in (1, 0)]
            )
            assert_allclose(
                found["information-gain"][term, c], mutual_info_score(has, y == c), atol=1e-12
            )
            expected = 0.0
            if has.any() and not has.all():
                expected = chi2_contingency(table, correction=False).statistic
            assert_allclose(found["chi2"][term, c], expected, atol=1e-9)
            assert_allclose(found["ngl"][term, c] ** 2, expected, atol=1e-9)
            difference = has[y == c].mean() - has[y != c].mean()
            assert_allclose(found["gss"][term, c], difference, atol=1e-12)
            assert np.sign(found["ngl"][term, c]) == np.sign(np.round(difference, 12))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_chi2_is_scikit_learns_up_to_its_scale(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((60, 20)) < rng.random(20)).astype(float)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 60 - n_classes)])
    # scikit-learn's sum has only the cells with the term in them: that is the whole statistic
    # times the share of documents without the term. In K classes the statistic of the K × 2
    # table is the sum over the classes, each weighted by the share outside of it.
    scores = TermSelector("chi2", n_terms=1).fit(X, y).class_scores_
    outside = 1 - np.bincount(y) / len(y)
    assert_allclose(scores @ outside * (1 - X.mean(axis=0)), chi2(X, y)[0], rtol=1e-10)


def test_criteria_by_hand() -> None:
    scores = np.array([[1.0, 4.0, -2.0], [3.0, 2.0, 7.0]])
    sizes = np.array([5.0, 2.0, 3.0])
    assert_allclose(combine_scores(scores, sizes, "max"), [4.0, 7.0])
    assert_allclose(combine_scores(scores, sizes, "sum"), [3.0, 12.0])
    assert_allclose(combine_scores(scores, sizes, "weighted-sum"), [0.7, 4.0])


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("criterion", ["max", "sum", "weighted-sum"])
def test_unlabeled_rows_do_not_count(measure: str, criterion: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.poisson(0.7, (40, 12))
    y = rng.integers(0, 3, 40)
    y[::3] = -1
    full = TermSelector(measure, criterion, 4).fit(X, y)
    alone = TermSelector(measure, criterion, 4).fit(X[y >= 0], y[y >= 0])
    assert_array_equal(full.scores_, alone.scores_)
    assert full.get_support().sum() == 4
    names = np.where(y >= 0, np.array(["a", "b", "c"])[y], None)
    for same_X, same_y in [
        (sparse.csr_matrix(X), y),
        (sparse.csc_array(X * 0.25), y),
        (X, names),
        (pd.DataFrame(X), pd.Series(y, dtype="Int64").replace(-1, pd.NA)),
    ]:
        same = TermSelector(measure, criterion, 4).fit(same_X, same_y)
        assert_allclose(same.scores_, full.scores_)
        assert_array_equal(same.get_support(), full.get_support())


def test_explicit_zeros_are_absent() -> None:
    X = sparse.csr_array(np.array([[1, 1], [1, 1], [1, 2], [1, 3]]))
    X.data[5] = 0  # the third document has an entry for the second term, which is 0
    selector = TermSelector("gss", n_terms=1).fit(X, [0, 0, 1, 1])
    assert_allclose(selector.scores_, [0.0, 0.5])


def test_ties_go_to_the_frequent_term() -> None:
    # All but the last have mutual information log 2 with class 0; the second is in 2 documents.
    X = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 1], [1, 0, 0, 0]]
    y = [0, 0, 1, 1, None, None]
    selector = TermSelector("mutual-information", n_terms=2).fit(X, y)
    assert_allclose(selector.scores_, math.log(2))
    assert selector.get_support(indices=True).tolist() == [1, 3]
    assert selector.document_frequency_.tolist() == [1, 2, 1, 2]


def test_signed_measures_sum_to_exactly_zero_in_two_classes() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.poisson(0.4, (31, 50)), np.arange(31) % 3 // 2
    assert (TermSelector("ngl", "sum", 5).fit(X, y).scores_ == 0).all()


def test_in_a_pipeline() -> None:
    texts = ["crypt key the", "crypt lock", "windows key", "window lock", "crypt unseen"]
    pipeline = make_pipeline(StemmedCountVectorizer(), TermSelector(n_terms=2))
    counts = pipeline.fit_transform(texts, ["sci", "sci", "comp", "comp", None])
    assert counts.toarray().tolist() == [[1, 0], [1, 0], [0, 1], [0, 1], [1, 0]]
    assert pipeline.get_feature_names_out().tolist() == ["crypt", "window"]


def test_n_terms() -> None:
    X, y = np.eye(4, 10), [0, 0, 1, 1]
    assert TermSelector(n_terms=0.35).fit(X, y).get_support().sum() == 3
    assert TermSelector(n_terms=1.0).fit(X, y).get_support().all()
    assert TermSelector(n_terms=10).fit(X, y).get_support().all()
    with pytest.raises(ValueError, match=r"n_terms=11 is more than there are: X has 10 terms"):
        TermSelector(n_terms=11).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "X", "y", "message"),
    [
        ({"measure": "chi"}, [[1], [0]], [0, 1], "'measure' parameter"),
        ({"criterion": "mean"}, [[1], [0]], [0, 1], "'criterion' parameter"),
        ({"n_terms": 0}, [[1], [0]], [0, 1], "'n_terms' parameter"),
        ({"n_terms": 1.5}, [[1], [0]], [0, 1], "'n_terms' parameter"),
        ({}, [[1], [-1]], [0, 1], "Negative values"),
        ({}, [[1], [0]], [0, 0], "1 class only"),
        ({}, [[1], [0]], [-1, -1], "no labeled row"),
        ({}, [[1], [0]], None, "TfidfSumSelector, which needs no labels"),
        ({}, [[1], [0]], [0, 1, 1], "inconsistent numbers of samples"),
    ],
)
def test_bad_input(parameters: dict[str, Any], X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TermSelector(**parameters).fit(X, y)
