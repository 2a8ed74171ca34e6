"""Expected accuracy, prediction sets and rows for a person, against theory and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from leaven.selection import (
    conformal_threshold,
    expected_accuracy,
    mislabeled_probability,
    missing_classes,
    prediction_sets,
    probability_above_zero,
    rows_above_target,
)
from leaven.statistics import Estimate


@pytest.mark.parametrize("n", [9, 25, 60])
@pytest.mark.parametrize("alpha", [0.1, 0.25])
def test_coverage_of_exchangeable_rows_is_what_conformal_prediction_promises(
    n: int, alpha: float
) -> None:
    # Scores without ties: the chance that a further one lies below the k-th of n is k / (n + 1).
    rng = np.random.default_rng(7)
    k = int(np.floor(alpha * (n + 1)))
    draws = rng.random((4_000, n + 1))
    covered = np.mean([row[-1] >= conformal_threshold(row[:-1], alpha) for row in draws])
    expected = 1 - k / (n + 1)
    assert expected >= 1 - alpha
    assert abs(covered - expected) < 5 * np.sqrt(expected * (1 - expected) / 4_000)


def test_sets_of_calibrated_rows_cover_with_few_labels_too() -> None:
    # No held-out label: probabilities alone, from which the classes are drawn.
    rng = np.random.default_rng(5)
    P = rng.dirichlet([0.6, 0.4, 0.8, 0.5], size=6_000)
    truth = (P.cumsum(axis=1) > rng.random((len(P), 1))).argmax(axis=1)
    sets = prediction_sets(P, np.empty(0), 0.2)
    assert sets[np.arange(len(P)), truth].mean() >= 0.8
    # The smallest such sets: without its least probable class a set holds less than 0.8.
    smallest = np.where(sets, P, np.inf).min(axis=1)
    total = np.where(sets, P, 0).sum(axis=1)
    assert (total >= 0.8 - 1e-12).all()
    assert (total - smallest < 0.8)[sets.sum(axis=1) > 1].all()


@settings(max_examples=40, deadline=None)
@given(
    arrays(float, (6, 3), elements=st.floats(0.01, 1.0)),
    arrays(float, st.integers(0, 30), elements=st.floats(0.0, 1.0)),
)
def test_sets_grow_with_the_confidence_asked_for(P: np.ndarray, scores: np.ndarray) -> None:
    P = P / P.sum(axis=1, keepdims=True)
    narrow, wide = prediction_sets(P, scores, 0.3), prediction_sets(P, scores, 0.1)
    assert narrow[np.arange(6), P.argmax(axis=1)].all()
    if len(scores) >= 9 or len(scores) < 3:  # the same rule for both
        assert (narrow <= wide).all()


def test_expected_accuracy_is_the_mean_weighted_by_precision() -> None:
    right = np.array([1.0] * 12 + [0.5] * 4 + [0.0] * 4)
    a, b, c = 0.002, 0.1, 0.0025
    first, second = a + b / 20, 0.82 * 0.18 / 20 + c
    expected = (0.82 / first + 0.7 / second) / (1 / first + 1 / second)
    found = expected_accuracy(0.82, right, level=0.8)
    assert found.value == pytest.approx(expected)
    assert found.se == pytest.approx((1 / first + 1 / second) ** -0.5)
    # The interval holds 0.8 of a beta density with that mean and variance.
    strength = found.value * (1 - found.value) / found.se**2 - 1
    density = stats.beta(found.value * strength, (1 - found.value) * strength).pdf
    inside, _ = integrate.quad(density, found.low, found.high)
    assert inside == pytest.approx(0.8, abs=1e-6)
    alone = expected_accuracy(0.7, np.empty(0))
    assert alone.value == pytest.approx(0.7)
    assert alone.low < 0.5 < 0.85 < alone.high


@settings(max_examples=40, deadline=None)
@given(st.floats(0.0, 1.0), st.lists(st.integers(0, 1), max_size=60))
def test_expected_accuracy_stays_inside_its_interval(confidence: float, right: list[int]) -> None:
    found = expected_accuracy(confidence, np.array(right, dtype=float))
    assert 0 <= found.low < found.high <= 1
    assert 0.0 < found.value < 1.0


def test_the_probability_of_a_gain_is_a_ratio_of_integrals() -> None:
    found = probability_above_zero(Estimate(0.05, 0.03, 0.0, 0.1), (0.01, 0.04))

    def density(x: float) -> float:
        return float(stats.norm.pdf(0.05, x, 0.03) * stats.norm.pdf(x, 0.01, 0.04))

    above, total = (integrate.quad(density, low, 0.6)[0] for low in (0.0, -0.6))
    assert found == pytest.approx(above / total, rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    arrays(float, st.integers(1, 7), elements=st.sampled_from([0.5, 0.7, 0.8, 0.9, 0.97])),
    st.sampled_from([0.02, 0.08, 0.15, 0.3]),
)
def test_the_fewest_rows_are_flagged(confidence: np.ndarray, target: float) -> None:
    flagged = rows_above_target(confidence, target)
    rest = confidence[~flagged]
    assert not len(rest) or (1 - rest).mean() <= target + 1e-9
    # Brute force over all thresholds: rows of one confidence go together.
    within = [
        np.sum(confidence > low)
        for low in [0.0, *np.unique(confidence)]
        if np.any(confidence > low) and (1 - confidence[confidence > low]).mean() <= target + 1e-9
    ]
    assert len(rest) == max(within, default=0)


def test_bayes_rule_for_labels_that_may_be_wrong() -> None:
    # p = 0.2 for the given class, 10% wrong labels: 0.1 * 0.8 against 0.9 * 0.2.
    found = mislabeled_probability(np.array([0.2, 0.6]), 0.1)
    assert_allclose(found, [0.08 / 0.26, 0.04 / 0.58])


def test_classes_that_nobody_got() -> None:
    P = np.array([[0.6, 0.3, 0.1], [0.5, 0.1, 0.4]])
    missing = missing_classes(P)
    assert_array_equal([each.code for each in missing], [1, 2])
    assert_allclose([each.expected for each in missing], [0.4, 0.5])
    assert missing_classes(np.empty((0, 2))) == ()
