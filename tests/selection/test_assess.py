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
    likely_scores,
    mislabeled_probability,
    missing_classes,
    prediction_sets,
    probability_above_zero,
    rows_above_target,
    set_threshold,
)
from leaven.statistics import Estimate


@pytest.mark.parametrize("n", [9, 39, 59])
@pytest.mark.parametrize("alpha", [0.1, 0.25])
def test_coverage_of_exchangeable_rows_is_what_conformal_prediction_promises(
    n: int, alpha: float
) -> None:
    # Scores without ties: the chance that a further one lies below the k-th of n is k / (n + 1),
    # and uniform ones make it exact between two ranks too.
    rng = np.random.default_rng(7)
    draws = rng.random((4_000, n + 1))
    covered = np.mean([row[-1] >= conformal_threshold(row[:-1], alpha) for row in draws])
    assert abs(covered - (1 - alpha)) < 5 * np.sqrt(alpha * (1 - alpha) / 4_000)


def drawn_rows(n: int, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities, and classes drawn from them."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet([0.6, 0.4, 0.8, 0.5], size=n)
    return P, (P.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_sets_of_calibrated_rows_cover_without_a_held_out_label(alpha: float) -> None:
    P, truth = drawn_rows(20_000)
    sets = prediction_sets(P, np.empty(0), alpha)
    rows = np.arange(len(P))
    # The predicted class is always in the set, so that coverage can only be larger.
    assert sets[rows, truth].mean() >= 1 - alpha - 0.01
    thin = set_threshold(np.empty(0), likely_scores(P), alpha) <= P
    assert abs(thin[rows, truth].mean() - (1 - alpha)) < 0.015


def test_likely_scores_are_the_quantiles_of_the_probability_of_the_true_class() -> None:
    # Oracle: draw the classes, and take the quantiles of what they were given.
    P, truth = drawn_rows(200_000, seed=11)
    given_probability = P[np.arange(len(P)), truth]
    levels = [10, 40, 100, 160]
    found = likely_scores(P[:20_000])[levels]
    assert_allclose(found, np.quantile(given_probability, np.array(levels) / 200), atol=0.02)
    assert not len(likely_scores(np.empty((0, 3))))


def test_threshold_leans_on_labels_as_they_grow_in_number() -> None:
    P, _ = drawn_rows(2_000)
    likely = likely_scores(P)
    implied = set_threshold(np.empty(0), likely, 0.1)
    found = [set_threshold(np.full(n, 0.6), likely, 0.1) for n in (10, 40, 160, 4_000)]
    assert np.all(np.diff([implied, *found, 0.6]) > 0)
    assert found[1] == pytest.approx(np.sqrt(0.6 * implied))


@settings(max_examples=40, deadline=None)
@given(
    arrays(float, (6, 3), elements=st.floats(0.01, 1.0)),
    arrays(float, st.integers(0, 30), elements=st.floats(0.0, 1.0)),
)
def test_sets_grow_with_the_confidence_asked_for(P: np.ndarray, scores: np.ndarray) -> None:
    P = P / P.sum(axis=1, keepdims=True)
    narrow, wide = prediction_sets(P, scores, 0.3), prediction_sets(P, scores, 0.1)
    assert narrow[np.arange(6), P.argmax(axis=1)].all()
    assert (narrow <= wide).all()


def test_expected_accuracy_counts_the_mean_confidence_as_two_hundred_labels() -> None:
    right = np.array([1.0] * 12 + [0.5] * 4 + [0.0] * 4)
    expected = (200 * 0.82 + 20 * 0.7) / 220
    found = expected_accuracy(0.82, right, level=0.8)
    assert found.value == pytest.approx(expected)
    share = 1 / 26 + 3 / 220
    assert found.se == pytest.approx((expected * (1 - expected) * share) ** 0.5)
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


def test_a_difference_without_error_has_a_sign_or_none() -> None:
    found = [probability_above_zero(Estimate(each, 0.0, 0.0, 0.0)) for each in (-0.1, 0.0, 0.1)]
    assert_allclose(found, [0.0, 0.5, 1.0], atol=1e-3)


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


@pytest.mark.parametrize(
    ("n_tested", "n_classes", "share"),
    [(0, 2, 1 / 9), (1, 2, 1 / 9), (8, 2, 0.5), (72, 2, 0.9), (8, 4, 1 / 3)],
)
def test_few_held_out_labels_aim_below_the_target(
    n_tested: int, n_classes: int, share: float
) -> None:
    confidence = np.random.default_rng(0).random(200) ** 0.05
    flagged = rows_above_target(confidence, 0.03, n_tested, n_classes)
    assert_array_equal(flagged, rows_above_target(confidence, 0.03 * share))
    assert 0 < flagged.sum() < 200
    assert flagged.sum() > rows_above_target(confidence, 0.03).sum()


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
