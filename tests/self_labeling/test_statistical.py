"""Statistical co-learning: intervals and lessons by hand, promises on data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.self_labeling import CalibratedTreeClassifier, StatisticalCoLearningClassifier
from leaven.self_labeling._statistical import group_bounds, lesson


@given(st.integers(0, 10_000))
def test_lessons_by_trying_them(seed):
    rng = np.random.default_rng(seed)
    groups, lower = rng.integers(0, 4, 30), rng.uniform(0.2, 0.95, 4)
    open_rows = rng.random(30) < 0.7
    n_known, noise = int(rng.integers(5, 40)), float(rng.uniform(0, 2))
    pupil = float(rng.uniform(0.3, 0.9))  # below one half noise alone would decide
    taught, after = lesson(groups, lower, open_rows, pupil, n_known, noise)
    assert not (taught & ~open_rows).any()
    expected, n, e = np.zeros(30, dtype=bool), n_known, noise
    for g in sorted(range(4), key=lambda g: -lower[g]):
        new = open_rows & (groups == g)
        wrong = e + (1 - lower[g]) * new.sum()
        now = n * max(0, 1 - 2 * e / n) ** 2
        then = (n + new.sum()) * max(0, 1 - 2 * wrong / (n + new.sum())) ** 2
        if lower[g] > pupil and new.any() and then > now:
            expected, n, e = expected | new, n + new.sum(), wrong
    assert_array_equal(taught, expected)
    assert_allclose(after, e)


def rings(n=200, seed=0):
    rng = np.random.RandomState(seed)
    truth = np.arange(n) % 2
    radius = np.where(truth, 4.0, 1.0) + rng.normal(0, 0.2, n)
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), truth


def test_the_learner_that_can_see_it_teaches_the_other():
    X, truth = rings(300)
    y = np.where(np.arange(300) % 5 < 1, truth, -1)
    model = StatisticalCoLearningClassifier(
        [GaussianNB(), LogisticRegression()], random_state=0
    ).fit(X, y)
    # The linear learner is at chance and teaches nothing; it is taught.
    assert model.n_taught_[0] == 0 < 100 < model.n_taught_[1]
    assert model.bounds_[0, 0] > model.bounds_[1, 1]
    assert np.mean(model.transduction_ == truth) > 0.95
    assert model.converged_
    assert model.objective_trace_[-1] == 0


def test_few_labels_teach_nothing():
    X, truth = rings(60)
    y = np.where(np.arange(60) < 4, truth, -1)
    model = StatisticalCoLearningClassifier(random_state=0).fit(X, y)
    assert_array_equal(model.n_taught_, 0)
    one = np.where(np.arange(60) < 2, truth, -1)
    model = StatisticalCoLearningClassifier(random_state=0).fit(X, one)
    assert_array_equal(model.bounds_, [[0, 1], [0, 1]])


def test_leaves_are_the_equivalence_classes_of_a_tree():
    X, truth = rings(300)
    y = np.where(np.arange(300) % 3 == 0, truth, -1)
    for tree in (DecisionTreeClassifier(max_depth=3), CalibratedTreeClassifier(min_samples_leaf=9)):
        model = StatisticalCoLearningClassifier([tree, GaussianNB()], random_state=0).fit(X, y)
        fitted = getattr(model.estimators_[0], "estimator_", model.estimators_[0])
        assert len(model._group_names[0]) == fitted.get_n_leaves() > 2
        assert len(model._group_names[1]) == 2


def test_bounds_by_hand_and_bad_pairs():
    bounds = group_bounds(np.array([1] * 9 + [0]), np.array([True] * 7 + [False] * 3), 2)
    assert_allclose(bounds[1], [0.4526, 0.9368], atol=1e-4)  # Wilson's interval of 7 of 9
    with pytest.raises(ValueError, match="must be a pair of classifiers, got 3"):
        StatisticalCoLearningClassifier([GaussianNB()] * 3).fit([[0.0], [1.0]], [0, 1])


@parametrize_with_checks(
    [StatisticalCoLearningClassifier()],
    expected_failed_checks=lambda _: {
        "check_classifiers_classes": "-1 marks an unlabeled row, not a class"
    },
)
def test_sklearn_contract(estimator, check):
    check(estimator)
