"""Kappa against scikit-learn, tables by hand and what chance leaves."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import cohen_kappa_score

from leaven.statistics import cohen_kappa, fleiss_kappa

LABELINGS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30)


@given(LABELINGS)
@settings(max_examples=60)
def test_two_labelings_equal_scikit_learn(pairs):
    first, second = np.array(pairs).T
    if len(set(first) | set(second)) > 1:
        expected = cohen_kappa_score(first, second)
        assert_allclose(cohen_kappa(first, second), expected, atol=1e-12)
        assert_allclose(cohen_kappa(second, first), expected, atol=1e-12)


def test_two_labelings_by_hand():
    # Of 50 rows 35 agree; one says yes to 25 and the other to 30: p_e = 0.3 + 0.2.
    first = np.repeat(["yes", "yes", "no", "no"], [20, 5, 10, 15])
    second = np.repeat(["yes", "no", "yes", "no"], [20, 5, 10, 15])
    assert_allclose(cohen_kappa(first, second), (0.7 - 0.5) / 0.5)


def test_less_agreement_than_chance_is_negative():
    first, second = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0])
    assert_allclose(cohen_kappa(first, second), -1.0)
    counts = np.array([[1, 1], [1, 1], [1, 1]])  # two people who never agree
    assert_allclose(fleiss_kappa(counts), -1.0)


@pytest.mark.parametrize("name", [0.0, "a"])
def test_one_class_everywhere_is_full_agreement(name):
    assert cohen_kappa(np.array([name] * 5), np.array([name] * 5)) == 1.0
    assert fleiss_kappa(np.array([[3, 0], [3, 0]])) == 1.0


def test_one_person_with_one_class_says_nothing_beyond_chance():
    assert_allclose(cohen_kappa(np.zeros(8), np.array([0, 0, 0, 1, 1, 0, 1, 0])), 0.0)


def test_independent_labelings_are_near_zero_and_copies_are_one():
    rng = np.random.default_rng(0)
    first = rng.integers(4, size=20_000)
    assert abs(cohen_kappa(first, rng.permutation(first))) < 0.05
    assert cohen_kappa(first, first) == 1.0


def test_the_table_of_fleiss():
    # The example that encyclopedias print: 14 people, 10 rows, 5 classes, kappa 0.210.
    counts = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    assert fleiss_kappa(np.array(counts)) == pytest.approx(0.210, abs=5e-4)


@given(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=2, max_size=12))
@example([[0, 0, 0, 1], [0, 0, 1, 2], [0, 2, 2, 2]])  # kappa is 0, up to rounding
@settings(max_examples=60)
def test_several_people_by_pairs(ratings):
    # P_i is the share of pairs of people who agree on row i; P_e that of two random labels.
    codes = np.array(ratings)
    counts = np.array([np.bincount(row, minlength=3) for row in codes])
    same = [(row[i] == row[j]) for row in codes for i in range(4) for j in range(i)]
    shares = np.bincount(codes.ravel(), minlength=3) / codes.size
    expected = float((shares**2).sum())
    if expected < 1.0:
        kappa = (np.mean(same) - expected) / (1 - expected)
        assert_allclose(fleiss_kappa(counts), kappa, rtol=1e-9, atol=1e-12)


def test_names_of_classes_and_people_do_not_matter():
    rng = np.random.default_rng(1)
    first, second = rng.integers(3, size=(2, 40))
    names = np.array(["b", "a", "c"])
    assert_allclose(cohen_kappa(names[first], names[second]), cohen_kappa(first, second))
    counts = rng.multinomial(5, [0.2, 0.3, 0.5], size=9)
    assert_allclose(fleiss_kappa(counts[:, ::-1]), fleiss_kappa(counts))
    assert_allclose(fleiss_kappa(counts[::-1]), fleiss_kappa(counts))
