"""Readings of Saeed (2018) beside each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from studies import TABLES, Run
from studies import naive_bayes_readings as readings
from studies.naive_bayes_readings import OmittingCurve, OtherOmission

# Three features of four rows of class 0 and four of class 1: the first is constant in class 0
# with two labels of each class and no longer with four, the second in both classes, the third
# never.
X = np.array(
    [[5, 1, 1], [5, 1, 2], [6, 1, 3], [7, 2, 4], [1, 3, 5], [2, 3, 6], [3, 3, 7], [4, 4, 8]],
    dtype=float,
)
LABELS = np.array(
    [[0, 0], [0, 0], [-1, 0], [-1, 0], [1, 1], [1, 1], [-1, 1], [-1, 1]], dtype=np.intp
)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("at the start", [[True, True], [True, True], [False, False]]),
        ("in all classes", [[False, False], [True, False], [False, False]]),
    ],
)
def test_omitted_features_by_hand(rule: str, expected: list[list[bool]]) -> None:
    features = OmittingCurve(rule=rule).curve_plan(X).features
    assert isinstance(features, OtherOmission)
    assert features.omitted(LABELS, 2).tolist() == expected
    # Rows of a trial keep the rule.
    assert features.start(np.arange(8)).omitted(LABELS, 2).tolist() == expected


def test_the_rule_of_the_tables() -> None:
    features = readings.NB.curve_plan(X).features
    assert features.omitted(LABELS, 2).tolist() == [[True, False], [True, False], [False, False]]


def test_the_second_file_of_soybean_has_other_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bunch:
        target = pd.Series(["a", "b", "c"] * 200)

    monkeypatch.setattr(readings, "load", lambda name: Bunch)
    monkeypatch.setattr(readings, "prepare", lambda name: (None, None))
    _, own = readings.coded_soybean("one code")
    _, other = readings.coded_soybean("second file coded otherwise")
    assert own.tolist()[:3] == ["00", "01", "02"]
    assert (own[:307] == other[:307]).all()
    assert (own[307:] != other[307:]).any()
    # A permutation: one code for each class in each file.
    pairs = set(zip(own[307:], other[307:], strict=True))
    assert len(pairs) == len({b for _, b in pairs}) == 3


def test_a_draw_of_a_twin_is_a_trial() -> None:
    outcome = readings.twins_run(TABLES["S1-twins"], Run(n_trials=2), ["iris"])
    results = outcome.results.set_index(["method", "trial"])["area"]
    assert len(results) == len(readings.SPREADS) * readings.N_DRAWS
    assert results["NB, variance"].std() > 0  # draws differ
    assert results["NB, variance"].mean() < results["NB, deviation"].mean()
