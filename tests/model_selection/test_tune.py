from __future__ import annotations

import dataclasses
import logging

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs
from sklearn.model_selection import (
    GridSearchCV,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from leaven._labels import encode_labels
from leaven.exceptions import LeavenWarning
from leaven.model_selection import AdaptiveKFold, LabeledKFold, TuneResult, labeled_scorer, tune
from leaven.model_selection._grid import Grid, pick_best, refine


class Inner(BaseEstimator):
    def __init__(self, alpha=1.0):
        self.alpha = alpha


class Concave(ClassifierMixin, BaseEstimator):
    """A classifier whose quality is a known function of its parameters, not of the data."""

    def __init__(self, weight=1.0, peak=0.5, inner=None):
        self.weight = weight
        self.peak = peak
        self.inner = inner

    def fit(self, X, y):
        self.classes_, codes = encode_labels(y)
        self.rows_ = np.asarray(X)[:, 0].astype(int)
        self.n_unlabeled_ = int((codes < 0).sum())
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def quality(estimator, X, y):
    return -((estimator.weight - estimator.peak) ** 2)


def slope_quality(estimator, X, y):
    return -abs(np.log2(estimator.inner.alpha) - estimator.peak)


Y = ["a", None, "a", "b", None, "b", "a", "b", None, "b"]
X = np.arange(10.0)[:, None]


def steps(low, high):
    """The hundredths from low to high, without the tenths, which are seen already."""
    return [k / 100 for k in range(low, high + 1) if k % 10]


@pytest.mark.parametrize(
    ("peak", "second_stage", "best"),
    [
        # [0, 1) in tenths, then a tenth to each side of the best in hundredths.
        (0.34, steps(20, 40), 0.34),
        (0.36, steps(30, 50), 0.36),
        (0.1, steps(0, 20), 0.1),
        # Best 0: between 0 and 0.1 (section 4.3 of the source).
        (-3.0, steps(0, 10), 0.0),
        (0.03, steps(0, 10), 0.03),
        # Best 0.9: up to 0.99, which the source reports for madelon, and not 1.
        (7.0, steps(80, 99), 0.99),
        (0.88, steps(80, 99), 0.88),
    ],
)
def test_two_stages_by_hand(peak, second_stage, best):
    found = tune(Concave(peak=peak), X, Y, "weight", scoring=quality, random_state=0)
    first, second = (found.table[found.table["stage"] == s]["value"].tolist() for s in (1, 2))
    assert first == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert second == second_stage
    assert found.best_value == best
    assert found.best_score == pytest.approx(-((best - peak) ** 2))


@settings(max_examples=15, deadline=None)
@given(st.floats(-0.5, 1.5))
def test_two_stages_find_the_best_hundredth(peak):
    found = tune(Concave(peak=peak), X, Y, "weight", scoring=quality, cv=2)
    every = np.arange(100) / 100
    assert found.best_score == pytest.approx(-((every - peak) ** 2).min(), abs=1e-12)
    assert abs(found.best_value - min(max(peak, 0.0), 0.99)) <= 0.005 + 1e-9
    assert found.table["value"].is_unique


def test_third_stage_and_own_values():
    found = tune(Concave(peak=0.4321), X, Y, "weight", stages=3, scoring=quality)
    assert found.best_value == 0.432
    assert found.table["stage"].value_counts().to_dict() == {1: 10, 2: 18, 3: 18}
    # Own values: no search beyond the ends, and each gap in ten.
    found = tune(
        Concave(peak=9.0), X, Y, "weight", np.array([1.0, 2.0, 4.0]), stages=2, scoring=quality
    )
    assert found.table["value"].tolist() == [
        *[1.0, 2.0, 4.0],
        *[2.2, 2.4, 2.6, 2.8, 3.0, 3.2, 3.4, 3.6, 3.8],
    ]
    assert found.best_value == 4.0


def test_integers_stay_integers():
    found = tune(Concave(peak=12.3), X, Y, "weight", [1, 5, 25], stages=3, scoring=quality)
    values = found.table["value"].tolist()
    # Tenths of the gaps 1..5 and 5..25 around 5, then of the gaps around 13 (or 11).
    assert values == [1, 5, 25, 2, 3, 4, 7, 9, 11, 13, 15, 17, 19, 21, 23, 12, 14]
    assert found.best_value == 12
    assert isinstance(found.best_value, int)


def test_slope_of_a_nested_object():
    model = Concave(inner=Inner(), peak=-4.3)
    found = tune(model, X, Y, "inner__alpha", "slope", scoring=slope_quality)
    assert found.table["value"].tolist() == [2.0**k for k in range(-10, 6)]
    assert found.best_value == 2.0**-4
    assert found.best_estimator_.inner.alpha == 2.0**-4
    assert model.inner.alpha == 1.0  # the user's objects stay as they were
    found = tune(model, X, Y, "inner__alpha", "slope", stages=2, scoring=slope_quality)
    assert found.best_value == pytest.approx(2.0**-4.3)
    assert len(found.table) == 16 + 18


def test_ties():
    def flat(estimator, X, y):
        return 0.75

    # A flat score: the smallest tenth is 0, whose hundredths tie again.
    assert tune(Concave(), X, Y, "weight", scoring=flat).best_value == 0.0
    assert tune(Concave(), X, Y, "weight", scoring=flat, ties="largest").best_value == 0.99
    unordered = [0.3, 0.1, 0.2]
    assert tune(Concave(), X, Y, "weight", unordered, scoring=flat).best_value == 0.1
    assert tune(Concave(), X, Y, "weight", unordered, ties="largest").best_value == 0.3
    names = ["z", "a", None]
    assert tune(Concave(), X, Y, "peak", names, scoring=flat).best_value == "z"
    assert tune(Concave(), X, Y, "peak", names, scoring=flat, ties="largest").best_value is None


def test_pick_best_takes_rounding_for_a_tie():
    scores = np.array([0.1 + 0.2, 0.3, np.nan, 0.3 - 1e-6])
    assert scores[0] > scores[1]
    assert pick_best([0.7, 0.4, 0.1, 0.2], scores, "smallest") == 1
    assert pick_best([0.7, 0.4, 0.1, 0.2], scores, "largest") == 0


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(-50, 50), min_size=2, max_size=8, unique=True),
    st.integers(0, 7),
    st.booleans(),
)
def test_refine_stays_between_the_neighbors(values, position, log):
    numbers = [2.0 ** (v / 5) for v in values] if log else [v / 3 for v in values]
    best = numbers[position % len(numbers)]
    new = refine(numbers, best, Grid(tuple(numbers), scale="log" if log else "linear"))
    lower = [v for v in numbers if v < best]
    upper = [v for v in numbers if v > best]
    assert len(new) == 9 * (bool(lower) + bool(upper))
    assert min(new) > (max(lower) if lower else best)
    assert max(new) < (min(upper) if upper else best)
    assert len({*new, *numbers}) == len(new) + len(numbers)


def test_folds_of_every_cv():
    # 3 "a", 4 "b", 3 unlabeled.
    labeled = {0, 2, 3, 5, 6, 7, 9}

    def run(cv, **options):
        seen = []

        def note(estimator, X, y):
            seen.append((sorted(X[:, 0].astype(int).tolist()), estimator.n_unlabeled_))
            return 0.5

        found = tune(Concave(), X, Y, "weight", [0.5], cv=cv, scoring=note, **options)
        assert found.n_splits == len(seen)
        return seen

    for cv, n in (("adaptive", 3), (None, 3), ("leave-one-out", 7), (2, 2), (LabeledKFold(3), 3)):
        seen = run(cv)
        assert len(seen) == n
        assert sorted(row for rows, _ in seen for row in rows) == sorted(labeled)
        assert {unlabeled for _, unlabeled in seen} == {3}
    # A quarter of 7 is 2: floors are 0 of 3 and 1 of 4, and 0.75 is the largest remainder.
    [(rows, unlabeled)] = run("validation", random_state=1)
    assert sorted(Y[i] for i in rows) == ["a", "b"]
    assert unlabeled == 3
    [(rows, _)] = run("validation", validation_size=0.6, random_state=1)
    assert sorted(Y[i] for i in rows) == ["a", "a", "b", "b"]
    # Other splitters hold out unlabeled rows too; these are not scored.
    for cv in (StratifiedKFold(2), ShuffleSplit(3, test_size=0.5, random_state=0)):
        for rows, unlabeled in run(cv):
            assert set(rows) <= labeled
            assert unlabeled < 3
    assert run([(np.arange(9), [9])]) == [([9], 3)]


def test_all_stages_see_the_same_folds():
    seen = {}

    def note(estimator, X, y):
        seen.setdefault(estimator.weight, []).append(tuple(sorted(X[:, 0])))
        return quality(estimator, X, y)

    tune(Concave(), X, Y, "weight", scoring=note, cv=3)  # no seed
    assert len(seen) == 10 + 18
    assert len({tuple(folds) for folds in seen.values()}) == 1


def test_given_validation_data():
    X_val, y_val = np.array([[100.0], [101.0], [102.0]]), ["a", None, "b"]
    seen = []

    def note(estimator, X, y):
        seen.append((len(estimator.rows_), X[:, 0].tolist(), y.tolist()))
        return quality(estimator, X, y)

    found = tune(
        Concave(),
        X,
        Y,
        "weight",
        [0.3, 0.5],
        cv="validation",
        validation_data=(X_val, y_val),
        scoring=note,
    )
    # Trained on all ten rows, scored on the labeled rows of the validation data.
    assert seen == [(10, [100.0, 102.0], ["a", "b"])] * 2
    assert (found.best_value, found.n_splits) == (0.5, 1)


def test_table_and_refit():
    def by_fold(estimator, X, y):
        return float(X.min()) * estimator.weight

    cv = LabeledKFold(2, shuffle=False)
    found = tune(Concave(), X, Y, "weight", [1.0, 3.0], cv=cv, scoring=by_fold)
    # Folds in order: rows 0 2 3 5 and 6 7 9.
    expected = pd.DataFrame(
        {
            "value": [1.0, 3.0],
            "stage": [1, 1],
            "mean_score": [3.0, 9.0],
            "std_score": [3.0, 9.0],
            "split0_score": [0.0, 0.0],
            "split1_score": [6.0, 18.0],
        }
    )
    pd.testing.assert_frame_equal(found.table, expected)
    assert isinstance(found, TuneResult)
    assert (found.param, found.best_value, found.best_score, found.n_splits) == (
        *("weight", 3.0),
        *(9.0, 2),
    )
    assert found.best_estimator_.weight == 3.0
    assert found.best_estimator_.rows_.tolist() == list(range(10))  # fitted on all rows
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.best_value = 1.0


@pytest.fixture
def blobs():
    X, truth = make_blobs(80, centers=3, cluster_std=2.5, random_state=3)
    y = truth.copy()
    y[np.random.default_rng(1).choice(80, 50, replace=False)] = -1
    return X, y


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_agrees_with_grid_search(blobs, n_jobs):
    X, y = blobs
    model = make_pipeline(StandardScaler(), SelfTrainingClassifier(KNeighborsClassifier()))
    param = "selftrainingclassifier__estimator__n_neighbors"
    values = [1, 3, 5, 7]
    cv = AdaptiveKFold(random_state=6)
    search = GridSearchCV(model, {param: values}, cv=cv).fit(X, y)
    found = tune(model, X, y, param, values, random_state=6, n_jobs=n_jobs)
    assert_allclose(found.table["mean_score"], search.cv_results_["mean_test_score"])
    assert found.best_value == search.best_params_[param]
    assert_array_equal(found.best_estimator_.predict(X), search.best_estimator_.predict(X))
    assert found.n_splits == search.n_splits_


def test_leave_one_out_against_scikit_learn(blobs):
    # On the labeled rows alone, for a method that does not use the others.
    X, y = blobs
    given = y >= 0

    class OnlyLabeled(KNeighborsClassifier):
        def fit(self, X, y):
            return super().fit(X[y >= 0], y[y >= 0])

    found = tune(OnlyLabeled(), X, y, "n_neighbors", [1, 4, 9], cv="leave-one-out")
    expected = [
        cross_val_score(KNeighborsClassifier(k), X[given], y[given], cv=LeaveOneOut()).mean()
        for k in (1, 4, 9)
    ]
    assert_allclose(found.table["mean_score"], expected)


def test_values_that_are_not_numbers(blobs):
    X, y = blobs
    found = tune(LabelSpreading(gamma=0.1), X, y, "kernel", ["knn", "rbf"], random_state=0)
    assert found.best_value in {"knn", "rbf"}
    assert found.best_estimator_.kernel == found.best_value
    estimators = [KNeighborsClassifier(1), KNeighborsClassifier(5)]
    model = SelfTrainingClassifier(KNeighborsClassifier())
    found = tune(model, X, y, "estimator", estimators, random_state=0)
    assert found.best_value in estimators
    assert not hasattr(estimators[0], "classes_")  # cloned, not fitted


def test_repeatable_and_inputs_untouched(blobs):
    X, y = blobs
    names = pd.Series(np.where(y < 0, None, np.array(list("abc"), dtype=object)[y]))
    before = X.copy(), names.copy()
    model = Concave()
    runs = [tune(model, X, names, "weight", scoring=labeled_scorer(), random_state=5) for _ in "ab"]
    pd.testing.assert_frame_equal(runs[0].table, runs[1].table)
    assert_array_equal(X, before[0])
    pd.testing.assert_series_equal(names, before[1])
    assert model.get_params() == Concave().get_params()
    assert not hasattr(model, "classes_")


def test_single_row_of_a_class():
    y = ["a", "a", None, "b", "b", "c"]
    for cv, n in (("adaptive", 2), ("leave-one-out", 4), ("validation", 1)):
        with pytest.warns(LeavenWarning, match="One labeled row only of class 'c'"):
            found = tune(Concave(), X[:6], y, "weight", [0.1, 0.2], cv=cv)
        assert found.n_splits == n


def test_verbose_logs(caplog):
    with caplog.at_level(logging.INFO, logger="leaven"):
        tune(Concave(), X, Y, "weight", scoring=quality, verbose=1)
        tune(Concave(), X, Y, "weight", [0.1], scoring=quality)
    assert [r.getMessage() for r in caplog.records] == [
        "tune weight: stage 1, 10 values, best 0",
        "tune weight: stage 2, 18 values, best -0.0001",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"param": "wait"}, r"no parameter 'wait'. Its parameters are \['inner', 'peak', 'weight'"),
        ({"param": "inner__alpha"}, "inner is None: give it an object that has the parameter 'al"),
        ({"values": []}, "values is empty"),
        ({"values": "step"}, r"values must be an array or one of \('weight', 'slope'\), got 's"),
        ({"values": ["a", "b"], "stages": 2}, "stages=2 looks between the values"),
        ({"values": [0.0, 1.0], "stages": 2, "scale": "log"}, "needs values above 0, got 0.0"),
        ({"values": [0.5, 1.0], "scale": "log"}, "a single stage does not"),
        ({"stages": 0}, "stages must be an integer of at least 1, or None, got 0"),
        ({"scale": "ln"}, r"scale must be one of \('linear', 'log'\), or None, got 'ln'"),
        ({"ties": "first"}, r"ties must be one of \('smallest', 'largest'\), got 'first'"),
        ({"cv": "loo"}, r"cv must be one of \('adaptive', 'leave-one-out', 'validation'\), an"),
        ({"cv": 4}, r"but y has fewer of class 'a' \(3 labeled rows\). Use AdaptiveKFold"),
        ({"cv": []}, "gave no split"),
        ({"validation_size": 0.2}, "validation_size is for cv='validation', but cv='adaptive'"),
        ({"validation_data": (X, Y)}, "validation_data is for cv='validation'"),
        ({"cv": "validation", "validation_size": 2}, "between 0 and 1, got 2"),
        (
            {"cv": "validation", "validation_size": 0.5, "validation_data": (X, Y)},
            "exclude each other",
        ),
        ({"cv": "validation", "validation_data": X}, r"must be a pair \(X, y\)"),
        ({"cv": "validation", "validation_data": (X, Y, X)}, r"must be a pair \(X, y\)"),
        ({"cv": "validation", "validation_data": (X, [None] * 10)}, "holds no labeled row"),
        ({"y": [None] * 10}, "y holds no labeled row"),
        ({"y": Y[:9]}, "inconsistent numbers of samples"),
    ],
)
def test_errors(options, message):
    arguments = {"X": X, "y": Y, "param": "weight"} | options
    with pytest.raises(ValueError, match=message):
        tune(Concave(), **arguments)


def test_no_score_at_all():
    with (
        pytest.warns(UserWarning, match="test scores are non-finite"),
        pytest.raises(ValueError, match="gave NaN for every value of 'weight'"),
    ):
        tune(Concave(), X, Y, "weight", scoring=lambda *_: np.nan)
