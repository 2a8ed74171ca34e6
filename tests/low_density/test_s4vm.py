"""S4VM: the gain by counting, the choice by brute force, and the promise in the worst case."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from leaven.low_density import S4VM
from leaven.low_density._s4vm import gains, safe_labels


def draw(seed, n_separators=3, n=7):
    rng = np.random.RandomState(seed)
    return rng.choice([-1.0, 1.0], (n_separators, n)), rng.choice([-1.0, 1.0], n), rng


@given(st.integers(0, 10_000), st.floats(0.5, 5.0))
def test_gain_is_earn_minus_risk_times_lose(seed, risk):
    separators, baseline, rng = draw(seed)
    labels = rng.choice([-1.0, 1.0], 7)
    for found, truth in zip(gains(labels, separators, baseline, risk), separators, strict=True):
        earn = np.sum((labels == truth) & (truth != baseline))
        lose = np.sum((labels != truth) & (truth == baseline))
        assert found == pytest.approx(earn - risk * lose)


@given(st.integers(0, 10_000))
def test_choice_never_loses(seed):
    separators, baseline, _ = draw(seed)
    labels = safe_labels(separators, baseline, risk=3.0)
    assert gains(labels, separators, baseline, 3.0).min() >= -1e-9


def test_choice_is_the_best_of_all_labelings_where_separators_agree_on_a_gain():
    # All separators differ from the supervised labels in rows 0 and 1, and each in one other.
    baseline = np.array([1.0, 1.0, -1.0, -1.0, 1.0])
    separators = np.tile(baseline * [-1, -1, 1, 1, 1], (3, 1))
    for number in range(3):
        separators[number, 2 + number] *= -1
    labels = safe_labels(separators, baseline, 3.0)
    worst = gains(labels, separators, baseline, 3.0).min()
    every = np.array(list(itertools.product([-1.0, 1.0], repeat=5)))
    assert worst == max(gains(each, separators, baseline, 3.0).min() for each in every) == 2.0


def test_one_separator_is_taken_over_where_it_differs():
    separators, baseline, _ = draw(1, n_separators=1)
    assert (safe_labels(separators, baseline, 3.0) == separators[0]).all()


def test_separators_that_contradict_each_other_change_nothing():
    baseline = np.array([1.0, 1.0, -1.0, -1.0])
    separators = np.array([[1.0, -1.0, -1.0, -1.0], [1.0, 1.0, -1.0, 1.0]])
    assert (safe_labels(separators, baseline, 3.0) == baseline).all()


def test_clusters_are_followed_where_the_supervised_machine_errs(clusters):
    X, truth, y = clusters(120, 1, seed=3, std=0.7)
    X = X @ np.array([[1.0, 0.0], [0.0, 0.2]])
    supervised = SVC(kernel="linear").fit(X[y >= 0], y[y >= 0])
    model = S4VM(random_state=0, C_unlabeled=1.0).fit(X, y)
    hidden = y < 0
    before = np.mean(supervised.predict(X[hidden]) == truth[hidden])
    after = np.mean(model.transduction_[hidden] == truth[hidden])
    assert after >= before
    assert model.worst_gain_ >= 0


def test_transduction_is_the_choice_and_new_rows_get_labels(moons):
    X, _, y = moons(60, 4)
    model = S4VM(kernel="rbf", n_starts=5, random_state=0).fit(X, y)
    assert (model.transduction_[y >= 0] == y[y >= 0]).all()
    assert model.separators_.shape[1] == (y < 0).sum()
    assert set(model.predict(X + 0.01)) <= {0, 1}


def test_three_classes_are_refused():
    with pytest.raises(ValueError, match="3 classes"):
        S4VM().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 2, -1])
