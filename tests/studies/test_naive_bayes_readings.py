"""Readings of Saeed (2018) beside each other."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from leaven.exceptions import LeavenWarning
from leaven.generative import ClassPrior, SemiSupervisedGaussianNB
from studies import TABLES, Run, reproduce
from studies import naive_bayes_readings as readings
from studies.curves import QueriedCurve
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
    _, apart = readings.coded_soybean("second file with classes of its own")
    assert (own[:307] == apart[:307]).all()
    assert not set(apart[:307]) & set(apart[307:])
    assert apart.nunique() == 6


def test_noise_fills_the_gaps_between_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    integers = np.tile(np.arange(1.0, 11.0)[:, None], (50, 3))
    monkeypatch.setattr(readings, "prepare", lambda name: (integers, None))
    noisy, _ = readings.as_in_source("breast-cancer-wisconsin")
    assert (np.floor(noisy) == integers).all()
    assert len(np.unique(noisy)) == noisy.size
    again, _ = readings.as_in_source("breast-cancer-wisconsin")
    assert (again == noisy).all()  # drawn once for all trials


def test_both_forms_have_their_published_numbers() -> None:
    table = TABLES["S1-versions"]
    if set(table.here()) != set(table.datasets):
        pytest.skip("breast-cancer and breast-cancer-wisconsin are not here")
    cells = reproduce([table.id], Run(n_trials=2))[0].cells.set_index(["dataset", "method"])
    assert len(cells) == len(table.published) == 32
    assert cells.loc[("breast-cancer, without node-caps", "SSNB"), "published"] == 2.965
    assert cells.loc[("breast-cancer-wisconsin, later start", "NB"), "published"] == 0.31
    for name in ("breast-cancer", "breast-cancer-wisconsin"):
        later = cells.loc[f"{name}{readings.LATER}", "mean"]
        assert (later < cells.loc[name, "mean"][later.index]).all()


def test_em_has_no_part_in_the_questions_of_naive_bayes() -> None:
    """Step by step with leaven's estimators: NB asks, EM predicts."""
    rng = np.random.default_rng(5)
    codes = np.tile([0, 1], 30)
    rows = rng.standard_normal((60, 2)) + 1.6 * codes[:, None]
    order, test, sizes = np.arange(40), np.arange(40, 60), (4, 6, 12, 25, 40)
    found = QueriedCurve(unbiased=False).curve_plan(rows).predict(codes, 2, order, sizes, test)
    given = np.full(40, -1)
    given[:4] = codes[:4]
    for i, size in enumerate(sizes):
        em = SemiSupervisedGaussianNB(prior=ClassPrior(smoothing=1.0), max_iter=200, tol=1e-6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeavenWarning)  # the last fit has no unlabeled row
            assert found[i].tolist() == em.fit(rows[order], given).predict(rows[test]).tolist()
        if size == sizes[-1]:
            break
        known = given >= 0
        nb = GaussianNB(priors=(np.bincount(given[known]) + 1) / (known.sum() + 2))
        shares = nb.fit(rows[order][known], given[known]).predict_proba(rows[order])
        margins = np.where(known, np.inf, np.abs(shares[:, 0] - shares[:, 1]).round(9))
        ask = np.argsort(margins, kind="stable")[: sizes[i + 1] - size]
        given[ask] = codes[ask]
