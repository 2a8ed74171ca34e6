from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import f1_score

from leaven.active import (
    BudgetSpent,
    F1Change,
    OverallUncertainty,
    Progress,
    StablePredictions,
)
from leaven.active._stopping import f1_change, mean_entropy

LABELINGS = st.lists(st.integers(0, 3), min_size=2, max_size=30)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_f1_change_is_what_f1_lacks_if_the_newer_model_is_right(data):
    before = np.array(data.draw(LABELINGS))
    after = np.array(data.draw(st.permutations(before.tolist())))
    after[0] = data.draw(st.integers(0, 3))
    expected = 1 - f1_score(after, before, average="macro", zero_division=0)
    assert_allclose(f1_change(before, after), expected, atol=1e-12)


def test_f1_change_by_hand():
    # Class 0: a=2, b+c=1, 1 - 4/5. Class 1: a=1, b+c=1, 1 - 2/3. Mean 4/15.
    before, after = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    assert_allclose(f1_change(before, after), 4 / 15)


def test_mean_entropy_by_hand():
    P = np.array([[0.25, 0.75], [0.9, 0.1], [0.0, 1.0]])
    by_hand = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75) + 0.9 * np.log(0.9) + 0.1 * np.log(0.1))
    assert_allclose(mean_entropy(P), by_hand / 3)
    assert mean_entropy(np.empty((0, 2))) == 0.0


def test_budget():
    rule = BudgetSpent(3)
    assert rule.reason(Progress(2, 9)) is None
    assert "3 of 3" in rule.reason(Progress(3, 9))


def test_overall_uncertainty():
    P = np.array([[0.9, 0.1], [0.8, 0.2]])  # mean entropy 0.4127
    assert OverallUncertainty(0.41).reason(Progress(2, 2, (), P)) is None
    assert "0.413" in OverallUncertainty(0.42).reason(Progress(2, 2, (), P))
    assert OverallUncertainty(0.42).reason(Progress(2, 2)) is None


def test_stable_predictions_needs_the_whole_window():
    a = np.array([0, 0, 1, 1])
    b = np.array([0, 1, 1, 1])  # kappa 0.5 with a
    rule = StablePredictions(kappa=0.75, window=2)
    assert rule.reason(Progress(1, 9, [a, a])) is None
    assert "mean kappa of the last 2 steps is 0.75" in rule.reason(Progress(1, 9, [b, a, a]))
    assert rule.reason(Progress(1, 9, [a, a, b, a])) is None
    assert rule.reason(Progress(1, 9, [b, b, a, a, a])) is not None


def test_f1_change_rule():
    a = np.array([0, 0, 0, 1])
    b = np.array([0, 0, 1, 1])  # changes by 4/15 = 0.267
    assert F1Change(0.13, window=2).reason(Progress(1, 9, [b, a, a])) is None
    assert "0.133" in F1Change(0.14, window=2).reason(Progress(1, 9, [b, a, a]))
    assert F1Change(0.14, window=2).reason(Progress(1, 9, [a, a])) is None


@pytest.mark.parametrize(
    "rule",
    [
        BudgetSpent(-1),
        OverallUncertainty(0.0),
        StablePredictions(kappa=1.5),
        StablePredictions(window=0),
        F1Change(threshold=0.0),
        F1Change(window=0),
    ],
)
def test_bad_parameters(rule):
    with pytest.raises(ValueError, match="parameter of"):
        rule.reason(Progress(0, 1))
