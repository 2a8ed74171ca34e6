"""Tables with categorical and numeric columns in one model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from leaven.generative import (
    SemiSupervisedCategoricalNB,
    SemiSupervisedGaussianNB,
    SemiSupervisedMixedNB,
)

from .problems import codes, hide, numbers


def problem(seed=0):
    rng = np.random.default_rng(seed)
    C, y = codes(rng)
    X, _ = numbers(rng)
    return C, X, y, hide(rng, y)


def test_all_rows_labeled_is_the_product_of_two_models_of_scikit_learn():
    C, X, y, _ = problem()
    table = np.column_stack([C[:, :3], X, C[:, 3:]])
    places = [0, 1, 2, 7, 8, 9, 10]
    model = SemiSupervisedMixedNB(categorical_features=places).fit(table, y)
    categorical, gaussian = CategoricalNB().fit(C, y), GaussianNB().fit(X, y)
    joint = categorical.predict_joint_log_proba(C) + gaussian.predict_joint_log_proba(X)
    joint -= categorical.class_log_prior_
    expected = np.exp(joint - joint.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(table), expected, atol=1e-9)
    assert_allclose(model.theta_, gaussian.theta_, rtol=1e-12)
    assert_allclose(model.feature_log_prob_[4], categorical.feature_log_prob_[4], rtol=1e-12)


def test_one_kind_of_column_only_is_the_plain_model():
    C, X, _, labels = problem(1)
    every = np.ones(C.shape[1], dtype=bool)
    mixed = SemiSupervisedMixedNB(categorical_features=every).fit(C, labels)
    plain = SemiSupervisedCategoricalNB().fit(C, labels)
    assert_allclose(mixed.objective_trace_, plain.objective_trace_, rtol=1e-12)
    assert mixed.theta_.shape == (3, 0)
    mixed = SemiSupervisedMixedNB().fit(X, labels)
    plain = SemiSupervisedGaussianNB().fit(X, labels)
    assert_allclose(mixed.objective_trace_, plain.objective_trace_, rtol=1e-12)
    assert mixed.feature_log_prob_ == []


def frame(C, X):
    return pd.DataFrame(
        {
            "text": np.array(["p", "q", "r", "s", "t"])[C[:, 0]],
            "flag": C[:, 1] > 1,
            "height": X[:, 0],
            "kind": pd.Categorical(C[:, 2]),
            "count": C[:, 3],
            "mass": X[:, 1].astype(np.float32),
        }
    )


def test_columns_are_told_apart_by_dtype():
    C, X, _, labels = problem(2)
    table = frame(C, X)
    model = SemiSupervisedMixedNB(max_iter=500).fit(table, labels)
    assert_array_equal(model.categorical_features_, [True, True, False, True, False, False])
    for same in (["text", "flag", "kind"], [0, 1, 3], [True, True, False, True, False, False]):
        other = SemiSupervisedMixedNB(categorical_features=same, max_iter=500).fit(table, labels)
        assert_allclose(other.predict_proba(table), model.predict_proba(table))
    # An array of objects tells as much.
    objects = table.astype(object).to_numpy()
    by_array = SemiSupervisedMixedNB(categorical_features=[0, 1, 3], max_iter=500)
    assert_allclose(
        by_array.fit(objects, labels).predict_proba(objects), model.predict_proba(table), atol=1e-5
    )
    assert_array_equal(
        SemiSupervisedMixedNB().fit(objects, labels).categorical_features_,
        [True, False, False, False, False, False],
    )


@pytest.mark.parametrize("init", ["tree", "kmeans"])
def test_components_start_from_both_kinds_of_columns(init):
    C, X, _, labels = problem(3)
    table = frame(C, X)
    model = SemiSupervisedMixedNB(n_components=2, init=init, random_state=0, max_iter=500)
    model.fit(table, labels)
    assert model.theta_.shape == (6, 3)
    assert np.isfinite(model.objective_trace_).all()
    trace = model.objective_trace_
    assert (np.diff(trace) >= -1e-9 * np.abs(trace[1:])).all()


def test_new_categories_and_missing_ones():
    C, X, _, labels = problem(4)
    table = frame(C, X)
    table.loc[5, "text"] = None
    for missing in ("category", "ignore"):
        model = SemiSupervisedMixedNB(missing=missing, max_iter=500).fit(table, labels)
        new = table.iloc[:4].copy()
        new["text"] = ["p", "never", None, "q"]
        assert_allclose(model.predict_proba(new).sum(axis=1), 1.0)
    new.loc[1, "height"] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.predict(new)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (["size"], r"'size', which is not a feature.*'text'"),
        ([17], "17, which is not a feature"),
        ([True, False], "mask of shape"),
    ],
)
def test_what_is_no_column(features, message):
    C, X, _, labels = problem(5)
    with pytest.raises(ValueError, match=message):
        SemiSupervisedMixedNB(categorical_features=features).fit(frame(C, X), labels)


def test_constant_numbers_are_left_out():
    C, X, _, labels = problem(6)
    table = frame(C, X)
    table["nothing"] = 3.0
    model = SemiSupervisedMixedNB(max_iter=500).fit(table, labels)
    assert_array_equal(np.flatnonzero(model.omitted_features_), [6])
    assert_allclose(
        model.predict_proba(table),
        SemiSupervisedMixedNB(max_iter=500)
        .fit(table.drop(columns="nothing"), labels)
        .predict_proba(table.drop(columns="nothing")),
        atol=1e-9,
    )
