from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs, make_classification
from sklearn.linear_model import Perceptron
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from leaven.self_labeling import TriTrainingClassifier
from leaven.self_labeling._tri_training import (
    additions_allowed,
    bootstrap_rows,
    first_count,
    joint_error,
)


@given(
    st.integers(0, 40),
    st.integers(1, 40),
    st.integers(0, 40),
    st.integers(1, 60),
    st.integers(0, 99),
)
@settings(max_examples=300, deadline=None)
def test_additions_obey_the_bound(wrong, n, last_wrong, last_count, n_agreed):
    # Rational errors, so that the bound can be checked in whole numbers.
    error, last_error = wrong / n, last_wrong / n
    size = additions_allowed(error, n_agreed, last_error, last_count)

    def allowed(s):
        # Zhou and Li (2005), equation 9: e s < e' l', l' < s and e < e'.
        return wrong < last_wrong and s > last_count and wrong * s < last_wrong * last_count

    largest = max((s for s in range(n_agreed + 1) if allowed(s)), default=0)
    assert size == largest


def test_first_count_is_the_least_that_admits_a_lesson():
    for wrong in range(10):
        error = wrong / 20
        least = first_count(error, 0.5)
        assert additions_allowed(error, 10_000, 0.5, least) > 0
        if least > 1:
            assert additions_allowed(error, 10_000, 0.5, least - 1) == 0


def test_joint_error_by_hand():
    first = np.array([0, 1, 2, 1, 0, 2])
    second = np.array([0, 1, 1, 1, 2, 2])
    truth = np.array([0, 2, 2, 1, 0, 0])
    # They agree on rows 0, 1, 3 and 5, and are wrong on 1 and 5.
    assert joint_error(first, second, truth) == 0.5
    assert joint_error(first, second, np.array([0, 1, 0, 1, 0, 0])) == 0.25
    assert joint_error(np.array([0]), np.array([1]), np.array([0])) == 0.5


def test_bootstrap_has_every_class():
    codes = np.array([0] * 30 + [1, 2])
    rng = np.random.RandomState(0)
    for _ in range(50):
        rows = bootstrap_rows(codes, 3, rng)
        assert set(codes[rows]) == {0, 1, 2}
        assert 32 <= len(rows) <= 34
    sizes = [len(np.unique(bootstrap_rows(codes, 3, rng))) for _ in range(50)]
    assert 15 < np.mean(sizes) < 26  # 1 - 1/e of the rows, not all


def plain_tri_training(X, y, seed, make):
    """The pseudo-code of Zhou and Li (2005), table 1, as it stands."""
    rng = np.random.RandomState(seed)
    L, U = np.flatnonzero(y != -1), np.flatnonzero(y == -1)
    h = []
    for _ in range(3):
        rows = L[bootstrap_rows(y[L], y.max() + 1, rng)]
        h.append(make().fit(X[rows], y[rows]))
    e_last, l_last = [Fraction(1, 2)] * 3, [0] * 3
    changed = True
    while changed:
        changed = False
        updates = []
        for i in range(3):
            j, k = (m for m in range(3) if m != i)
            same = h[j].predict(X[L]) == h[k].predict(X[L])
            wrong = h[j].predict(X[L])[same] != y[L][same]
            e = Fraction(int(wrong.sum()), len(wrong)) if same.any() else Fraction(1, 2)
            if e < e_last[i]:
                agreed = U[h[j].predict(X[U]) == h[k].predict(X[U])]
                if l_last[i] == 0:
                    l_last[i] = math.floor(e / (e_last[i] - e) + 1)
                if l_last[i] < len(agreed):
                    if e * len(agreed) >= e_last[i] * l_last[i]:
                        if l_last[i] <= e / (e_last[i] - e):
                            continue
                        size = math.ceil(e_last[i] * l_last[i] / e - 1)
                        agreed = np.sort(rng.choice(agreed, size, replace=False))
                    updates.append((i, e, agreed, h[j].predict(X[agreed])))
        for i, e, agreed, labels in updates:
            rows = np.concatenate([L, agreed])
            known = np.concatenate([y[L], labels])
            order = np.argsort(rows)
            h[i] = make().fit(X[rows[order]], known[order])
            e_last[i], l_last[i] = e, len(agreed)
            changed = True
    return h, e_last


@pytest.mark.parametrize("seed", range(6))
def test_equals_the_pseudo_code(seed):
    X, truth = make_blobs(110, centers=3, cluster_std=4.5, random_state=seed)
    y = np.where(np.arange(110) < 24, truth, -1)

    def make():
        return KNeighborsClassifier(5)

    model = TriTrainingClassifier(make(), random_state=seed).fit(X, y)
    expected, errors = plain_tri_training(X, y, seed, make)
    for ours, theirs in zip(model.estimators_, expected, strict=True):
        assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(model.errors_, np.array(errors, dtype=float))
    assert model.converged_
    assert (np.diff(model.objective_trace_) <= 0).all()


class Column(ClassifierMixin, BaseEstimator):
    """Predicts the value of one column of X."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return X[:, self.column].astype(int)


class SureColumn(Column):
    """The same, the surer the higher the column."""

    def predict_proba(self, X):
        sure = 0.5 + 0.1 * self.column
        return (
            np.full((len(X), 3), (1 - sure) / 2) + np.eye(3)[self.predict(X)] * (3 * sure - 1) / 2
        )


@pytest.mark.parametrize(
    ("each", "tie"),
    [
        (Column, [1, 1, 1]),
        # Votes 2, 0, 1 with probability 0.5, 0.6, 0.7, and 0.25, 0.2, 0.15 for the others.
        (SureColumn, [0.25 + 0.6 + 0.15, 0.25 + 0.2 + 0.7, 0.5 + 0.2 + 0.15]),
    ],
)
def test_majority_and_ties_by_hand(each, tie):
    X = np.array([[0, 0, 1], [2, 1, 2], [1, 1, 1], [2, 0, 1]])
    model = TriTrainingClassifier(each())
    model.classes_ = np.arange(3)
    model.estimators_ = [each(column).fit(X, [0, 1, 2, 0]) for column in range(3)]
    shares = model._shares(X)
    assert_allclose(shares[:3], np.array([[2, 1, 0], [0, 1, 2], [0, 3, 0]]) / 3)
    assert_allclose(shares[3], np.array(tie) / 3)


def test_helps_a_tree():
    gain = []
    for seed in range(12):
        X, truth = make_classification(
            400, 6, n_informative=4, n_redundant=2, class_sep=1.5, random_state=seed
        )
        y = np.where(np.arange(400) < 30, truth, -1)
        hidden = y == -1
        base = DecisionTreeClassifier(random_state=seed)
        alone = base.fit(X[~hidden], y[~hidden]).score(X[hidden], truth[hidden])
        model = TriTrainingClassifier(DecisionTreeClassifier(), random_state=seed).fit(X, y)
        gain.append(model.score(X[hidden], truth[hidden]) - alone)
    assert np.mean(gain) > 0


def test_needs_predictions_only():
    X, truth = make_blobs(80, centers=2, random_state=0)
    y = np.where(np.arange(80) < 10, truth, -1)
    model = TriTrainingClassifier(Perceptron(random_state=None), random_state=0).fit(X, y)
    assert model.score(X, truth) > 0.8
    assert set(np.unique(model.predict_proba(X) * 3).round(6)) <= {0, 1, 2, 3}
    # Seeds without one are drawn, and are not the same for all three.
    assert len({e.random_state for e in model.estimators_}) == 3


def test_limit_and_bad_options():
    X, truth = make_blobs(110, centers=3, cluster_std=4.5, random_state=0)
    y = np.where(np.arange(110) < 24, truth, -1)
    model = TriTrainingClassifier(KNeighborsClassifier(5), max_iter=1, random_state=0).fit(X, y)
    assert model.n_iter_ == 1
    assert not model.converged_
    assert (model.n_taught_ > 0).any()
    with pytest.raises(ValueError, match="'max_iter' parameter"):
        TriTrainingClassifier(KNeighborsClassifier(5), max_iter=0).fit(X, y)
    with pytest.raises(ValueError, match="'estimator' parameter"):
        TriTrainingClassifier("tree").fit(X, y)
