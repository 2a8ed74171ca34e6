"""scikit-learn's checks, and what every classifier of the family promises besides."""

from __future__ import annotations

import logging
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_blobs
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.self_labeling import (
    ClusterThenLabel,
    CoEMClassifier,
    CoTrainingClassifier,
    SelfTrainingClassifier,
    SetredClassifier,
    TriTrainingClassifier,
)

META = [
    SelfTrainingClassifier,
    SetredClassifier,
    CoTrainingClassifier,
    CoEMClassifier,
    TriTrainingClassifier,
]


def expected_failures(estimator):
    known = {}
    # scikit-learn exempts its own semi-supervised classes from the -1 case by name, and one
    # of ours has the same name.
    if not isinstance(estimator, SelfTrainingClassifier):
        known["check_classifiers_classes"] = "-1 marks an unlabeled row, not a class"
    if isinstance(estimator, (SelfTrainingClassifier, SetredClassifier, CoTrainingClassifier)):
        known["check_non_transformer_estimators_n_iter"] = (
            "the check has no unlabeled rows, so there are no rounds"
        )
    return known


@parametrize_with_checks(
    [*(each(LogisticRegression()) for each in META), ClusterThenLabel(random_state=0)],
    expected_failed_checks=expected_failures,
)
def test_sklearn_contract(estimator, check):
    check(estimator)


def problem(seed=0, n_classes=3):
    X, y = make_blobs(
        120, n_features=4, centers=n_classes, cluster_std=2.5, center_box=(-6, 6), random_state=seed
    )
    known = np.zeros(len(y), dtype=bool)
    for code in range(n_classes):
        known[np.flatnonzero(y == code)[:5]] = True
    return X, y, np.where(known, y, -1)


def everyone(base=None):
    base = GaussianNB() if base is None else base
    models = [*(each(base) for each in META), ClusterThenLabel()]
    for model in models:
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
    return [pytest.param(model, id=type(model).__name__) for model in models]


@pytest.mark.parametrize("model", everyone())
def test_attributes_and_given_labels(model):
    X, _, y = problem()
    model = clone(model).fit(X, y)
    given = y != -1
    assert_array_equal(model.transduction_[given], y[given])
    assert_allclose(model.label_distributions_.sum(axis=1), 1)
    assert_array_equal(
        model.classes_[model.label_distributions_.argmax(axis=1)], model.transduction_
    )
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("model", everyone())
def test_class_names_and_marks_do_not_matter(model):
    X, _, y = problem()
    names = np.array(["ant", "bee", "cow"], dtype=object)
    plain = clone(model).fit(X, y)
    named = clone(model).fit(X, np.where(y == -1, None, names[y]))
    assert_array_equal(names[plain.transduction_], named.transduction_)
    assert_array_equal(names[plain.predict(X)], named.predict(X))
    series = pd.Series(np.where(y == -1, None, y), dtype="Int64")
    assert_array_equal(clone(model).fit(X, series).transduction_, plain.transduction_)


@pytest.mark.parametrize("model", everyone())
def test_repeatable_clone_pickle_and_untouched_input(model):
    X, _, y = problem()
    X_before, y_before = X.copy(), y.copy()
    first = clone(model).fit(X, y)
    again = clone(model).fit(X, y).fit(X, y)
    assert_array_equal(X, X_before)
    assert_array_equal(y, y_before)
    assert_array_equal(first.label_distributions_, again.label_distributions_)
    thawed = pickle.loads(pickle.dumps(first))
    assert_array_equal(thawed.predict_proba(X), first.predict_proba(X))


@pytest.mark.parametrize("model", everyone(LogisticRegression()))
def test_sparse_equals_dense(model):
    X, _, y = problem()
    X = np.abs(np.where(np.abs(X) < 1, 0, X))
    dense = clone(model).fit(X, y)
    csr = clone(model).fit(sparse.csr_array(X), y)
    assert_array_equal(dense.transduction_, csr.transduction_)
    assert_allclose(dense.predict_proba(X), csr.predict_proba(sparse.csr_array(X)), atol=1e-4)


@pytest.mark.parametrize("model", everyone())
def test_no_unlabeled_rows_is_supervised(model):
    X, truth, _ = problem()
    model = clone(model).fit(X, truth)
    assert_array_equal(model.transduction_, truth)
    if isinstance(model, (SelfTrainingClassifier, SetredClassifier)):
        assert_array_equal(model.predict_proba(X), GaussianNB().fit(X, truth).predict_proba(X))


@pytest.mark.parametrize("model", everyone())
def test_one_class_and_no_label(model):
    X, _, y = problem()
    with pytest.raises(ValueError, match="1 class only"):
        clone(model).fit(X, np.where(y == 1, y, -1))
    with pytest.raises(ValueError, match="no labeled row"):
        clone(model).fit(X, np.full(len(X), -1))


@pytest.mark.parametrize("each", META)
def test_data_frames_reach_the_estimator(each):
    X, truth, y = problem()
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = np.array(["x", "y", "z"])[truth]
    if each in (CoTrainingClassifier, CoEMClassifier):
        one_hot = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
        model = each(
            (make_pipeline(StandardScaler(), GaussianNB()), make_pipeline(one_hot, GaussianNB())),
            views=(["a", "b"], ["kind", "c"]),
        )
        model.set_params(random_state=0)
    elif each is SetredClassifier:  # its graph needs numbers
        frame["kind"] = truth
        model = each(
            make_pipeline(make_column_transformer((StandardScaler(), ["a", "kind"])), GaussianNB())
        )
    else:
        columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
        model = each(make_pipeline(columns, GaussianNB()))
    model.fit(frame, y)
    assert list(model.feature_names_in_) == [*"abcd", "kind"]
    assert model.score(frame, truth) > 0.9
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"kind": "sort"}))


@pytest.mark.parametrize("model", everyone())
def test_an_array_for_a_frame_is_warned_of_once(model):
    X, _, y = problem()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = clone(model).fit(frame, y)
    with pytest.warns(UserWarning, match="feature names") as caught:
        predicted = model.predict(X)
    assert len(caught) == 1
    assert_array_equal(predicted, model.predict(frame))


@pytest.mark.parametrize("each", META)
def test_verbose_logs_and_progress_changes_nothing(each, caplog, capsys):
    X, _, y = problem()
    plain = each(GaussianNB())
    if "random_state" in plain.get_params():
        plain.set_params(random_state=0)
    plain.fit(X, y)
    assert not caplog.records
    with caplog.at_level(logging.INFO, logger="leaven"):
        shown = clone(plain).set_params(verbose=1, progress=True).fit(X, y)
    assert_array_equal(shown.label_distributions_, plain.label_distributions_)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == shown.n_iter_
    assert lines[0].startswith(f"{each.__name__}: round 1")
    assert capsys.readouterr().out == ""


def test_in_a_pipeline_and_a_grid_search():
    X, truth, y = problem()
    model = make_pipeline(StandardScaler(), SelfTrainingClassifier(GaussianNB()))
    search = GridSearchCV(model, {"selftrainingclassifier__threshold": [0.6, 0.9]}, cv=2)
    assert search.fit(X[y >= 0], y[y >= 0]).score(X, truth) > 0.7


def test_float32_stays_float32():
    X, _, y = problem()
    seen = []

    class Spy(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            seen.append(X.dtype)
            return super().fit(X, y, sample_weight)

    for each in META:
        each(Spy()).fit(X.astype(np.float32), y)
    assert set(seen) == {np.dtype(np.float32)}


def test_nan_is_the_estimators_business():
    X, _, y = problem()
    X = np.where(np.arange(480).reshape(120, 4) % 7 == 2, np.nan, X)
    with pytest.raises(ValueError, match="NaN"):
        SelfTrainingClassifier(GaussianNB()).fit(X, y)
    model = SelfTrainingClassifier(HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2))
    assert model.fit(X, y).predict(X).shape == (len(X),)


@pytest.mark.parametrize("each", META)
def test_counts_stay_sparse(each):
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 40)
    rate = np.where(truth[:, None] == (np.arange(20) % 2), 2.0, 0.3)
    X = sparse.csr_array(rng.poisson(rate))
    y = np.where(np.arange(80) % 10 == 0, truth, -1)

    class SparseOnly(MultinomialNB):
        def fit(self, X, y, sample_weight=None):
            assert sparse.issparse(X)
            return super().fit(X, y, sample_weight)

    model = each(SparseOnly()).fit(X, y)
    assert model.score(X, truth) > 0.9
