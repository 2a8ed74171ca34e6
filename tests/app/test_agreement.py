"""Kappa against scikit-learn and the table of Fleiss's example."""

from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from leaven.app._agreement import agreement
from leaven.statistics import cohen_kappa, fleiss_kappa


@pytest.mark.parametrize("seed", range(5))
def test_cohen_agrees_with_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, 60)
    second = np.where(rng.random(60) < 0.6, first, rng.integers(0, 4, 60))
    assert cohen_kappa(first, second) == pytest.approx(cohen_kappa_score(first, second))


def test_fleiss_of_fourteen_raters():
    # A widely printed worked example: 10 subjects, 14 raters, 5 categories.
    counts = [
        *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
        *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
    ]
    assert fleiss_kappa(np.array(counts)) == pytest.approx(0.210, abs=5e-4)


def test_full_agreement_on_one_class_is_one():
    assert cohen_kappa(np.zeros(3), np.zeros(3)) == 1.0
    assert fleiss_kappa(np.array([[3, 0], [3, 0]])) == 1.0


def patterns(rows):
    return Counter(frozenset(labels.items()) for labels in rows.values())


@pytest.mark.parametrize("seed", range(3))
def test_rows_with_the_same_labels_count_as_often_as_they_are(seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, 200)
    second = np.where(rng.random(200) < 0.7, first, rng.integers(0, 3, 200))
    rows = {i: {"ann": f"c{first[i]}", "bob": f"c{second[i]}"} for i in range(200)}
    found = agreement(patterns(rows))
    assert found["kappa"] == pytest.approx(cohen_kappa_score(first, second), abs=1e-4)
    assert (found["n_rows"], found["people"]) == (200, ["ann", "bob"])


def test_more_than_two_people_use_fleiss_on_the_rows_that_all_share():
    rows = {
        "r": {"ann": "a", "bob": "a", "cid": "b"},
        "s": {"ann": "b", "bob": "b", "cid": "b"},
        "t": {"ann": "a", "bob": "b"},
    }
    found = agreement(patterns(rows))
    assert (found["measure"], found["n_rows"]) == ("Fleiss' kappa", 2)
    # p_o = (1/3 + 1) / 2, p_e = (2/6)^2 + (4/6)^2
    assert found["kappa"] == pytest.approx((2 / 3 - 5 / 9) / (4 / 9), abs=1e-3)
    apart = {"t": {"ann": "a", "bob": "b"}, "u": {"bob": "a", "cid": "a"}}
    assert agreement(patterns(apart)) is None
