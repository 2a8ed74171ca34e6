"""Categorical tables: encoding, unknown categories, missing values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.naive_bayes import CategoricalNB

from leaven.exceptions import MemoryBoundError
from leaven.generative import SemiSupervisedCategoricalNB
from leaven.generative import _encoding as encoding

from .problems import codes, hide


def problem():
    rng = np.random.default_rng(0)
    X, y = codes(rng)
    return X, y, hide(rng, y)


def named(X):
    """The same table with names in place of codes; each name occurs."""
    return np.array(["zero", "one", "two", "three", "four"], dtype=object)[X]


def test_names_and_codes_are_the_same_table():
    X, _, labels = problem()
    dense = np.column_stack([np.unique(column, return_inverse=True)[1] for column in X.T])
    by_code = SemiSupervisedCategoricalNB().fit(dense, labels)
    tables = {
        "objects": named(X),
        "strings": named(X).astype(str),
        "list": named(X).tolist(),
        "frame": pd.DataFrame(named(X)).rename(columns=str),
        "categories": pd.DataFrame(named(X)).rename(columns=str).astype("category"),
        "string dtype": pd.DataFrame(named(X)).rename(columns=str).astype("string"),
        "floats": dense.astype(float),
        "objects of numbers": dense.astype(object),
        "integer frame": pd.DataFrame(dense).rename(columns=str),
        "nullable": pd.DataFrame(dense).rename(columns=str).astype("Int64"),
    }
    for name, table in tables.items():
        model = SemiSupervisedCategoricalNB().fit(table, labels)
        assert_allclose(model.objective_trace_, by_code.objective_trace_, rtol=1e-9, err_msg=name)
        proba = model.predict_proba(table)
        assert_allclose(proba, by_code.predict_proba(dense), atol=1e-9, err_msg=name)


def test_booleans_are_codes():
    X = np.array([[True, False], [False, False], [True, True], [False, True]])
    y = [0, 1, 0, -1]
    ours = SemiSupervisedCategoricalNB().fit(X, y)
    assert_allclose(
        ours.predict_proba(X), SemiSupervisedCategoricalNB().fit(X.astype(int), y).predict_proba(X)
    )


def test_an_unknown_category_has_the_smoothed_probability():
    X = [["a", "u"], ["a", "v"], ["b", "u"], ["b", "u"], ["a", "u"]]
    y = [0, 0, 1, 1, 1]
    model = SemiSupervisedCategoricalNB(alpha=0.5).fit(X, y)
    # p(new | k) = 0.5 / (N_k + 0.5 * 2) for the first feature, then the counts of "u".
    joint = np.array([2 / 5 * 0.5 / 3 * 1.5 / 3, 3 / 5 * 0.5 / 4 * 3.5 / 4])
    assert_allclose(model.predict_proba([["new", "u"]])[0], joint / joint.sum())
    assert_array_equal(model.n_categories_, [2, 2])
    assert_array_equal(model.categories_[0], ["a", "b"])
    frame = pd.DataFrame(X, columns=["x", "y"]).astype("category")
    model.fit(frame, y)
    new = pd.DataFrame({"x": ["new"], "y": ["u"]})
    assert_allclose(model.predict_proba(new)[0], joint / joint.sum())
    # Integer codes: beyond the largest, or negative.
    coded = SemiSupervisedCategoricalNB(alpha=0.5).fit([[0, 0], [0, 1], [1, 0], [1, 0], [0, 0]], y)
    for code in (2, 99, -1):
        assert_allclose(coded.predict_proba([[code, 0]])[0], joint / joint.sum())


def test_gaps_in_the_codes_are_categories_as_in_scikit_learn():
    X, y = np.array([[0], [7], [7], [3]]), [0, 0, 1, 1]
    for least in (None, 12):
        peer = CategoricalNB(min_categories=least).fit(X, y)
        ours = SemiSupervisedCategoricalNB(min_categories=least).fit(X, y)
        assert_allclose(ours.feature_log_prob_[0], peer.feature_log_prob_[0])
    with pytest.raises(ValueError, match="min_categories"):
        SemiSupervisedCategoricalNB(min_categories=[3, 4]).fit(X, y)


@pytest.mark.parametrize("mark", [None, np.nan, pd.NA])
def test_missing_values_may_be_ignored(mark):
    X = np.array(
        [["a", "u"], ["a", mark], ["b", "v"], ["b", "u"], [mark, "v"], [mark, mark]], dtype=object
    )
    y = [0, 0, 1, 1, -1, -1]
    model = SemiSupervisedCategoricalNB(missing="ignore", unlabeled_weight=0.0).fit(X, y)
    # Each feature is counted over the rows in which it is there.
    assert_allclose(np.exp(model.feature_log_prob_[0]), [[3 / 4, 1 / 4], [1 / 4, 3 / 4]])
    assert_allclose(np.exp(model.feature_log_prob_[1]), [[2 / 3, 1 / 3], [2 / 4, 2 / 4]])
    proba = model.predict_proba(X)
    assert_allclose(proba[5], [0.5, 0.5])
    assert_allclose(proba[4], np.array([1 / 3, 1 / 2]) / (5 / 6))
    # EM too: a row without any value only knows the prior, and the objective climbs.
    trace = SemiSupervisedCategoricalNB(missing="ignore").fit(X, y).objective_trace_
    assert (np.diff(trace) >= -1e-12).all()


@pytest.mark.parametrize("mark", [None, np.nan, pd.NA])
def test_missing_values_may_be_a_category(mark):
    X = np.array([["a"], ["a"], [mark], ["b"], [mark]], dtype=object)
    y = [0, 0, 1, 1, -1]
    model = SemiSupervisedCategoricalNB(unlabeled_weight=0.0).fit(X, y)
    renamed = np.where(pd.isna(X), "?", X)
    other = SemiSupervisedCategoricalNB(unlabeled_weight=0.0).fit(renamed, y)
    assert_allclose(model.predict_proba(X), other.predict_proba(renamed))
    assert model.n_categories_[0] == 3
    # Not missing in fit, missing now: like any unknown category.
    full = SemiSupervisedCategoricalNB().fit([["a"], ["b"]], [0, 1])
    assert_allclose(full.predict_proba([[mark]]), full.predict_proba([["c"]]))


def test_missing_numbers():
    X = np.array([[0.0, 1.0], [np.nan, 0.0], [1.0, 1.0], [1.0, np.nan]])
    y = [0, 0, 1, 1]
    as_category = SemiSupervisedCategoricalNB().fit(X, y)
    coded = np.nan_to_num(X, nan=2.0).astype(int)
    assert_allclose(
        as_category.predict_proba(X), CategoricalNB().fit(coded, y).predict_proba(coded)
    )
    ignored = SemiSupervisedCategoricalNB(missing="ignore").fit(X, y)
    assert_allclose(np.exp(ignored.feature_log_prob_[0]), [[2 / 3, 1 / 3], [1 / 4, 3 / 4]])


def test_rows_of_weight_zero_bring_no_categories():
    X, y = [["a"], ["b"], ["c"]], [0, 1, -1]
    assert SemiSupervisedCategoricalNB(unlabeled_weight=0.0).fit(X, y).n_categories_[0] == 2
    assert SemiSupervisedCategoricalNB().fit(X, y).n_categories_[0] == 3
    declared = pd.DataFrame({"x": pd.Categorical(["a", "b", "a"], categories=["a", "b", "c"])})
    assert SemiSupervisedCategoricalNB().fit(declared, y).n_categories_[0] == 3


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([[0], [-3]], ValueError, "Negative values in data: feature 0 holds -3"),
        ([[0.0], [0.5]], ValueError, "infinity or fractions"),
        ([[0.0], [np.inf]], ValueError, "infinity or fractions"),
        (pd.DataFrame({"size": [0, -1]}), ValueError, "feature 'size' holds -1"),
    ],
)
def test_what_is_no_category(X, error, message):
    with pytest.raises(error, match=message):
        SemiSupervisedCategoricalNB().fit(X, [0, 1])


def test_codes_that_would_need_too_much_memory(monkeypatch):
    monkeypatch.setattr(encoding, "MAX_CATEGORIES", 100)
    with pytest.raises(MemoryBoundError, match="codes up to 5000"):
        SemiSupervisedCategoricalNB().fit([[0], [5000]], [0, 1])


def test_codes_in_fit_and_names_in_predict():
    model = SemiSupervisedCategoricalNB().fit(pd.DataFrame({"size": [0, 1]}), [0, 1])
    with pytest.raises(ValueError, match="Feature 'size' held integer codes in fit"):
        model.predict(pd.DataFrame({"size": ["small", "large"]}))
