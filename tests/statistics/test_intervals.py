"""Intervals against scipy, tables by hand and enumeration."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from leaven.statistics import (
    estimate_difference,
    estimate_from_folds,
    estimate_share,
    wilson_interval,
)

# The 97.5 % point of the normal distribution, from a printed table.
Z = 1.959964


@pytest.mark.parametrize(("successes", "n"), [(0, 7), (3, 7), (7, 7), (15, 20), (1, 400)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_wilson_agrees_with_scipy(successes: int, n: int, confidence: float) -> None:
    peer = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    assert_allclose(
        wilson_interval(successes, n, confidence=confidence), (peer.low, peer.high), atol=1e-12
    )


@given(st.floats(0, 1), st.floats(0.5, 1e4), st.floats(0.5, 0.99))
def test_wilson_ends_solve_the_score_equation(share: float, n: float, confidence: float) -> None:
    # The ends are where |share - p| is z standard errors under p, which is how it is defined.
    z = stats.norm.ppf((1 + confidence) / 2)
    for p in wilson_interval(share * n, n, confidence=confidence):
        assert 0.0 <= p <= 1.0
        assert_allclose((share - p) ** 2, z**2 * p * (1 - p) / n, atol=1e-9)


def test_wilson_covers_where_the_normal_interval_does_not() -> None:
    # By enumeration of all outcomes of ten trials with p = 0.9.
    n, p = 10, 0.9
    covered = naive = 0.0
    for k in range(n + 1):
        weight = comb(n, k) * p**k * (1 - p) ** (n - k)
        low, high = wilson_interval(k, n)
        covered += weight * (low <= p <= high)
        half = Z * np.sqrt(k / n * (1 - k / n) / n)
        naive += weight * (k / n - half <= p <= k / n + half)
    assert naive < 0.7
    assert 0.9 < covered < 0.99


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 0), "n must be positive, got 0"),
        ((-1, 5), "successes must lie between 0 and n = 5, got -1"),
        ((6, 5), "successes must lie between 0 and n = 5, got 6"),
    ],
)
def test_wilson_errors(arguments: tuple[float, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wilson_interval(*arguments)
    with pytest.raises(ValueError, match=r"confidence must be a probability .* got 95"):
        wilson_interval(1, 2, confidence=95)


def test_share_by_hand() -> None:
    # 7 right of 9, with one right and one wrong added: 8 of 11.
    right = np.array([1, 1, 1, 1, 1, 1, 1, 0, 0.0])
    found = estimate_share(right)
    se = np.sqrt(8 / 11 * 3 / 11 / 11)
    assert_allclose([found.value, found.se], [7 / 9, se])
    assert_allclose([found.low, found.high], [8 / 11 - Z * se, 8 / 11 + Z * se], atol=1e-6)


def test_share_of_fractions_is_less_spread() -> None:
    halves = estimate_share(np.array([0.5, 0.75, 0.25, 0.5]))
    squares = 0.25 + 0.5625 + 0.0625 + 0.25 + 1
    assert_allclose(halves.se, np.sqrt(squares - 3.0**2 / 6) / 6)
    assert halves.value == 0.5


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=30))
def test_share_is_symmetric_and_within_bounds(values: list[float]) -> None:
    right = np.array(values)
    one, other = estimate_share(right), estimate_share(1 - right)
    assert_allclose(one.se, other.se)
    assert_allclose([one.low, one.high], [1 - other.high, 1 - other.low], atol=1e-12)
    assert 0 <= one.low < one.high <= 1


def test_difference_is_that_of_agresti_and_min() -> None:
    # Matched pairs: 11 both right, 6 only the first, 2 only the second, 3 none.
    counts = {0.0: 11 + 3, 1.0: 6, -1.0: 2}
    difference = np.repeat(list(counts), list(counts.values()))
    found = estimate_difference(difference)
    n, b, c = 22 + 2, 6 + 0.5, 2 + 0.5  # half a row in each of four cells
    se = np.sqrt((b + c) - (b - c) ** 2 / n) / n
    assert_allclose(found.value, 4 / 22)
    assert_allclose(found.se, se)
    assert_allclose(
        [found.low, found.high], [(b - c) / n - Z * se, (b - c) / n + Z * se], atol=1e-6
    )
    turned = estimate_difference(-difference)
    assert_allclose([turned.low, turned.high], [-found.high, -found.low])


def test_folds_by_hand() -> None:
    scores = np.array([0.5, 0.8, 0.7, 0.6, 0.9, 0.7])
    found = estimate_from_folds(scores, n_splits=3)
    se = np.sqrt((1 / 6 + 1 / 2) * np.var(scores, ddof=1))
    assert_allclose([found.value, found.se], [0.7, se])
    # Student's t with 5 degrees of freedom: 2.5706 in the printed tables.
    assert_allclose(found.high - found.value, 2.5706 * se, rtol=1e-4)
    assert_allclose(found.value - found.low, 2.5706 * se, rtol=1e-4)
    narrow = estimate_from_folds(scores, n_splits=3, confidence=0.5)
    assert found.low < narrow.low < narrow.high < found.high
