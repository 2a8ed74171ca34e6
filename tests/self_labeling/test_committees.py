"""Co-forest and democratic co-learning: their formulas by hand, their promises on data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.self_labeling import CoForestClassifier, DemocraticCoLearningClassifier
from leaven.self_labeling._co_forest import concomitant_errors
from leaven.self_labeling._democratic import information, weighted_majority


@given(st.integers(0, 10_000))
def test_companions_error_by_counting(seed):
    rng = np.random.RandomState(seed)
    votes, truth = rng.randint(0, 3, (4, 6)), rng.randint(0, 3, 6)
    free = rng.uniform(size=(4, 6)) < 0.6
    found = concomitant_errors(votes, free, truth, 3)
    for tree in range(4):
        wrong = heard = 0
        for row in range(6):
            ballots = [votes[o, row] for o in range(4) if o != tree and free[o, row]]
            if ballots:
                heard += 1
                wrong += np.bincount(ballots, minlength=3).argmax() != truth[row]
        assert found[tree] == pytest.approx(wrong / heard if heard else 0.5)


def test_without_unlabeled_rows_co_forest_is_bagging():
    X, y = load_iris(return_X_y=True)
    model = CoForestClassifier(n_estimators=30, random_state=0).fit(X[::2], y[::2])
    assert (model.n_taught_ == 0).all()
    peer = BaggingClassifier(DecisionTreeClassifier(max_features="sqrt"), 30, random_state=0)
    difference = model.predict_proba(X[1::2]) - peer.fit(X[::2], y[::2]).predict_proba(X[1::2])
    assert np.abs(difference).mean() < 0.1
    assert model.converged_


def test_co_forest_teaches_within_the_noise_bound():
    X, truth = make_blobs(200, centers=3, cluster_std=1.2, random_state=1)
    y = np.where(np.arange(200) < 30, truth, -1)
    model = CoForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    assert (model.n_taught_ > 0).any()
    taught = model.n_taught_ > 0
    assert (model.errors_[taught] < 0.5).all()
    # e W of a first lesson stays below the start value 0.5 * |L| / 10.
    assert (model.errors_ * model.n_taught_ * 0.75 < 0.5 * 3 + 1e-9)[model.errors_ > 0].all()
    assert np.diff(model.objective_trace_).max(initial=-1) <= 1e-12
    assert np.mean(model.transduction_ == truth) > 0.8


def test_co_forest_repeats_with_a_seed_and_takes_another_tree():
    X, truth = make_blobs(80, centers=2, random_state=2)
    y = np.where(np.arange(80) < 12, truth, -1)
    first = CoForestClassifier(random_state=5).fit(X, y).label_distributions_
    assert_array_equal(first, CoForestClassifier(random_state=5).fit(X, y).label_distributions_)
    stump = DecisionTreeClassifier(max_depth=1)
    other = CoForestClassifier(stump, n_estimators=7, random_state=5).fit(X, y)
    assert max(tree.get_depth() for tree in other.estimators_) == 1


@given(st.integers(0, 10_000))
def test_majority_by_counting(seed):
    rng = np.random.RandomState(seed)
    votes, weights = rng.randint(0, 3, (5, 4)), rng.uniform(0.2, 0.9, 5)
    label, decided = weighted_majority(votes, weights, 3)
    for row in range(4):
        sums = [weights[votes[:, row] == k].sum() for k in range(3)]
        counts = [int((votes[:, row] == k).sum()) for k in range(3)]
        assert label[row] == int(np.argmax(sums))
        others = [counts[k] for k in range(3) if k != label[row]]
        assert decided[row] == (counts[label[row]] > max(others))


def test_information_falls_with_noise_and_grows_with_rows():
    assert_allclose(information(20, 3.0), 20 * 0.7**2)
    assert information(20, 12.0) == 0.0
    assert information(30, 3.0) > information(20, 3.0) > information(20, 4.0)


def test_democracy_teaches_the_learner_that_is_outvoted():
    # A linear learner cannot see the rings; naive Bayes and a tree can, and outvote it.
    rng = np.random.RandomState(0)
    radius = np.r_[np.full(100, 1.0), np.full(100, 4.0)] + rng.normal(0, 0.2, 200)
    angle = rng.uniform(0, 2 * np.pi, 200)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    truth = np.repeat([0, 1], 100)
    y = np.where(np.arange(200) % 5 == 0, truth, -1)
    learners = [GaussianNB(), DecisionTreeClassifier(), LogisticRegression()]
    model = DemocraticCoLearningClassifier(learners, random_state=0).fit(X, y)
    assert model.n_taught_[2] > 20 > model.n_taught_[0]
    assert model.weights_[0] > 0.8 > model.weights_[2]
    assert np.mean(model.transduction_ == truth) > 0.9


def test_one_label_per_class_and_two_learners():
    X, y = [[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1]
    model = DemocraticCoLearningClassifier(random_state=0).fit(X, y)
    assert_allclose(model.label_distributions_.sum(axis=1), 1)
    with pytest.raises(ValueError, match="holds 2 classifiers"):
        DemocraticCoLearningClassifier([GaussianNB(), GaussianNB()]).fit(X, y)


@parametrize_with_checks(
    [CoForestClassifier(n_estimators=5, random_state=0), DemocraticCoLearningClassifier()],
    expected_failed_checks=lambda _: {
        "check_classifiers_classes": "-1 marks an unlabeled row, not a class"
    },
)
def test_sklearn_contract(estimator, check):
    check(estimator)
