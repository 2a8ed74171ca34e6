"""The classifier of tables, and the one that a result gives."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.datasets import load_example
from leaven.model_selection import LabeledKFold
from leaven.tables import TableError, TableLabeler, label_table

KNOWN = {"check_classifiers_classes": "-1 marks an unlabeled sample, not a class"}


@pytest.fixture(scope="module")
def orchard():
    return load_example("orchard")


@pytest.fixture(scope="module")
def result(orchard):
    return label_table(orchard, "variety", method="harmonic", details=False)


def test_the_pipeline_of_a_result_gives_its_labels(orchard, result):
    X = orchard.drop(columns="variety")
    pipeline = result.pipeline_
    assert_array_equal(pipeline.transduction_, result.table["variety_predicted"])
    assert_array_equal(pipeline.predict(X.head(40)), result.model().predict(X.head(40)))
    assert_allclose(pipeline.predict_proba(X), result.model().predict_proba(X))
    assert pipeline.get_params()["method"] == "harmonic"
    assert_array_equal(pipeline.feature_names_in_, X.columns)
    again = pickle.loads(pickle.dumps(pipeline))
    assert_array_equal(again.predict(X), pipeline.predict(X))


def test_a_clone_learns_the_same_anew(orchard, result):
    X, y = orchard.drop(columns="variety"), orchard["variety"]
    again = clone(result.pipeline_).fit(X, y)
    assert_allclose(again.predict_proba(X), result.pipeline_.predict_proba(X), atol=1e-6)
    assert_array_equal(again.transduction_, result.pipeline_.transduction_)


def test_a_combination_is_combined_again(orchard):
    names = ["naive-bayes", "harmonic", "logistic-regression"]
    found = label_table(orchard, "variety", candidates=names, details=False)
    pipeline = found.pipeline_
    if found.summary.method == "combination":
        assert sorted(pipeline.candidates) == sorted(found.chosen.selection.decision.weights)
        assert pipeline.method == "auto"
    else:
        assert pipeline.method == found.summary.method
    assert pipeline.report_ is found.selection


def test_it_works_in_a_pipeline_and_a_search(orchard):
    known = orchard[orchard["variety"].notna()]
    X, y = orchard.drop(columns="variety"), orchard["variety"]
    scores = cross_val_score(
        TableLabeler(method="harmonic"), X, y, cv=LabeledKFold(3, random_state=0)
    )
    assert scores.mean() > 0.6
    search = GridSearchCV(
        make_pipeline(TableLabeler()),
        {"tablelabeler__method": ["naive-bayes", "harmonic"]},
        cv=LabeledKFold(3, random_state=0),
    ).fit(X, y)
    assert search.best_score_ >= scores.mean()
    assert len(search.predict(known.drop(columns="variety"))) == len(known)


def test_all_rows_may_be_labeled():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.concatenate([rng.normal(size=15), rng.normal(8, size=15)])})
    y = np.repeat([3, 8], 15)
    for method in ("logistic-regression", "harmonic", "auto"):
        candidates = ["logistic-regression", "harmonic"] if method == "auto" else None
        found = TableLabeler(method=method, candidates=candidates).fit(X, y)
        assert_array_equal(found.predict(X), y)


def test_mistakes_are_named(orchard):
    X, y = orchard.drop(columns="variety"), orchard["variety"]
    with pytest.raises(TableError, match="method 'harmonc' is not known"):
        TableLabeler(method="harmonc").fit(X, y)
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        TableLabeler().fit(X, None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TableLabeler().fit(X, y.head(9))


def test_given_proportions_are_by_class(orchard):
    X, y = orchard.drop(columns="variety"), orchard["variety"]
    prior = {"Amberley": 0.6, "Briarsweet": 0.3, "Corvane": 0.1}
    some = TableLabeler(method="harmonic", prior=prior).fit(X, y)
    other = TableLabeler(method="harmonic", prior="uniform").fit(X, y)
    shares = [np.mean(each.transduction_ == "Corvane") for each in (some, other)]
    assert shares[0] < shares[1]


@parametrize_with_checks(
    [TableLabeler(method="logistic-regression")], expected_failed_checks=lambda e: KNOWN
)
def test_sklearn_contract(estimator, check):
    check(estimator)
