"""Deciding between candidates: by hand, and what must hold for any results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import norm

from leaven.selection import (
    SEMI_SUPERVISED,
    SUPERVISED,
    TRIED,
    Candidate,
    Decision,
    Folds,
    Member,
    Outcome,
    decide,
    member_temperature,
    take_one,
)
from leaven.selection._decide import decide_without_folds, verdict_of
from leaven.statistics import estimate_share


def outcome(name: str, kind: str, right: Any) -> Outcome:
    """An outcome on rows of class 0 that got it (1) or class 1 (0), in one repeat."""
    right = np.asarray(right, dtype=float)
    probabilities = np.column_stack([right, 1 - right])[None]
    return Outcome(
        name, kind, TRIED, "", right, estimate_share(right), {"a": name}, 0.5, probabilities
    )


def decided(outcomes: list[Outcome], *, combine: bool = False, caution: float = 1.0) -> Decision:
    n = len(outcomes[0].results)
    folds = Folds(np.arange(n), np.arange(n)[None] % 2)
    codes = np.zeros(n, dtype=np.intp)
    return decide(outcomes, codes, folds, caution=caution, combine=combine)


def test_the_decision_by_hand() -> None:
    sup = outcome("sup", SUPERVISED, [1, 0, 1, 0, 1, 0, 0, 0, 1, 1])
    weak = outcome("weak", SUPERVISED, [1, 0, 1, 0, 1, 0, 0, 0, 1, 0])
    semi = outcome("semi", SEMI_SUPERVISED, [1, 1, 1, 1, 1, 1, 0, 0, 1, 1])
    # sup leads weak by its last row alone: chance explains that, and the two share the row.
    # Differences 0 1 0 1 0 1 0 0 0 0.5: gain 0.35, s² = (3.25 + 1 - 3.5² / 12) / 144.
    se = np.sqrt(4.25 - 3.5**2 / 12) / 12
    assert 1.9 * se < 0.35 < 2.4 * se
    bold = decided([weak, sup, semi], caution=1.9)
    assert (bold.choice, bold.kind, bold.unlabeled_helped) == ("semi", SEMI_SUPERVISED, "yes")
    assert bold.weights == {"semi": 1.0}
    assert bold.params == {"semi": {"a": "semi"}}
    assert bold.selection_bias == pytest.approx(0.05)
    assert bold.reason == (
        "The unlabeled rows helped: semi 0.80 against 0.50 of sup (0.45 without selection bias), "
        "a gain of 0.35 ± 0.15."
    )
    alone = decided([sup, semi], caution=1.9)
    assert alone.reason == (
        "The unlabeled rows helped: semi 0.80 against 0.50 of sup, a gain of 0.30 ± 0.15."
    )
    wary = decided([weak, sup, semi], caution=2.4)
    assert (wary.choice, wary.unlabeled_helped) == ("sup", "cannot tell")
    assert wary.weights == {"sup": 1.0}
    assert "within 2.4 standard errors" in wary.reason
    assert (wary.best_supervised, wary.best_semi_supervised) == ("sup", "semi")
    by_name = {each.name: each.estimate for each in wary.differences}
    assert list(by_name) == ["weak", "semi"]
    assert by_name["semi"].value == pytest.approx(0.35)
    assert by_name["semi"].se == pytest.approx(se)
    assert by_name["weak"].value == pytest.approx(-0.1)


def test_where_one_is_taken_the_bias_of_both_sides_is_taken_off() -> None:
    good, poor = [1, 0, 1, 0, 1, 0, 0, 0, 1, 1], [0, 1, 0, 0, 1, 0, 0, 1, 0, 1]
    sups = [outcome("a", SUPERVISED, good), outcome("b", SUPERVISED, poor)]
    semis = [outcome("c", SEMI_SUPERVISED, good), outcome("d", SEMI_SUPERVISED, poor)]
    found = decided([*sups, *semis], caution=0.0)
    # The same results on both sides: neither chance nor unlabeled rows make a difference.
    assert found.unlabeled_helped == "no"
    assert found.combined is None
    by_name = {each.name: each.estimate.value for each in found.differences}
    assert by_name["c"] == pytest.approx(0.0)
    assert found.reason.count("without selection bias") == 2


def test_equal_scores_and_worse_ones_are_no_help() -> None:
    sup = outcome("sup", SUPERVISED, [1, 0, 1, 0])
    for right in ([0, 1, 0, 1], [0, 0, 0, 0]):
        found = decided([sup, outcome("semi", SEMI_SUPERVISED, right)], caution=0.0)
        assert (found.choice, found.unlabeled_helped) == ("sup", "no")
    twin = [outcome("b", SUPERVISED, [1, 0]), outcome("a", SUPERVISED, [0, 1])]
    assert decided(twin).choice == "b"
    alone = decided([outcome("semi", SEMI_SUPERVISED, [1, 0])])
    assert (alone.choice, alone.unlabeled_helped) == ("semi", "cannot tell")
    assert "no supervised candidate was tried" in alone.reason


def test_nothing_tried_is_an_error_with_the_reasons() -> None:
    failed = Outcome("x", SUPERVISED, "failed", "x failed: ValueError: no.")
    with pytest.raises(ValueError, match=r"No candidate could be estimated. x failed: ValueError"):
        decide([failed], np.zeros(2, dtype=np.intp), Folds(np.arange(2), np.array([[0, 1]])))


def test_three_candidates_are_combined_and_the_gain_is_that_of_the_unlabeled_rows() -> None:
    right = np.ones(60)
    fair, poor = right.copy(), right.copy()
    fair[:4], poor[:40] = 0.0, 0.0
    outcomes = [
        outcome("sup", SUPERVISED, poor),
        outcome("good", SEMI_SUPERVISED, right),
        outcome("fair", SEMI_SUPERVISED, fair),
    ]
    found = decided(outcomes, combine=True)
    assert (found.choice, found.kind) == ("combination", SEMI_SUPERVISED)
    # Log odds of right and wrong are T log 1.02 / 0.02, with the temperature T of each.
    powers = np.array(
        [member_temperature(each.probabilities, np.zeros(60, dtype=int), 1.0) for each in outcomes]
    )
    odds = powers * np.log(1.02 / 0.02)
    n_wrong = np.array([40, 0, 4])
    lost = (60 * np.log1p(np.exp(-odds)) + n_wrong * odds) / np.sqrt(60)
    shares = np.exp(-lost) / np.exp(-lost).sum()
    assert shares[0] < 0.01  # left out
    assert found.weights["fair"] == pytest.approx(shares[2] / (shares[1] + shares[2]))
    assert found.combined is not None
    assert (found.best_supervised, found.best_semi_supervised) == ("sup", "good")
    assert_allclose(found.combined.results, right)
    # Alone, the supervised one is wrong on 40 of 60 rows: differences 1 in 40 rows, 0 in 20.
    gain, se = 40 / 60, np.sqrt(40 + 1 - 40**2 / 62) / 62
    mean, deviation = 0.012, 0.05
    precision = 1 / se**2 + 1 / deviation**2
    expected = norm.cdf((gain / se**2 + mean / deviation**2) / np.sqrt(precision))
    assert found.probability_helped == pytest.approx(expected)
    assert found.unlabeled_helped == "yes"
    assert found.reason == (
        "On 60 labels that were held out, all methods combined were right 100% of the time, and "
        "33% without those that learn from the unlabeled rows."
    )


def test_a_verdict_against_the_unlabeled_rows() -> None:
    right = np.ones(60)
    poor = np.zeros(60)
    outcomes = [
        outcome("a", SUPERVISED, right),
        outcome("b", SEMI_SUPERVISED, poor),
        outcome("c", SEMI_SUPERVISED, poor),
    ]
    # So clearly worse that the weights leave them out: no difference, and nothing to tell.
    found = decided(outcomes, combine=True)
    assert found.weights == {"a": 1.0}
    assert (found.kind, found.unlabeled_helped) == (SUPERVISED, "cannot tell")


def test_a_combination_needs_three_and_a_comparison_needs_both_kinds() -> None:
    two = [outcome("a", SUPERVISED, [1, 1, 0]), outcome("b", SEMI_SUPERVISED, [1, 1, 1])]
    assert decided(two, combine=True).combined is None
    three = [outcome(name, SUPERVISED, [1, 1, 0]) for name in "abc"]
    found = decided(three, combine=True)
    assert found.choice == "combination"
    assert np.isnan(found.probability_helped)
    assert found.reason.endswith("all methods combined were right 67% of the time.")


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([SUPERVISED, SEMI_SUPERVISED]),
            st.lists(st.integers(0, 1), min_size=6, max_size=6),
        ),
        min_size=1,
        max_size=6,
    ),
    st.booleans(),
)
def test_weights_are_a_distribution_over_what_was_tried(
    results: list[tuple[str, list[int]]], combine: bool
) -> None:
    outcomes = [outcome(f"c{i}", kind, right) for i, (kind, right) in enumerate(results)]
    found = decided(outcomes, combine=combine)
    assert sum(found.weights.values()) == pytest.approx(1.0)
    assert set(found.weights) == set(found.params) <= {each.name for each in outcomes}
    assert (found.choice == "combination") == (combine and len(outcomes) >= 3)
    if found.unlabeled_helped == "yes":
        assert found.kind == SEMI_SUPERVISED
    assert np.isnan(found.probability_helped) or 0 <= found.probability_helped <= 1


def test_without_folds_the_first_supervised_or_the_fallback() -> None:
    candidates = [
        Candidate("semi", None, SEMI_SUPERVISED, grid=({"w": 0.1}, {"w": 1.0})),
        Candidate("slow", None, SUPERVISED, skipped="slow was skipped: too slow."),
        Candidate("sup", None, SUPERVISED),
    ]
    outcomes, decision = decide_without_folds(candidates)
    assert decision.weights == {"sup": 1.0}
    assert decision.reason.endswith(
        "By default sup is used, the first supervised candidate. Label a second row of a class."
    )
    assert [each.status for each in outcomes] == ["skipped"] * 3
    assert outcomes[1].reason == "slow was skipped: too slow."
    assert "no class has two labels" in outcomes[0].reason
    fallback = decide_without_folds(candidates, "semi")[1]
    assert fallback.weights == {"semi": 1.0}
    assert fallback.params == {"semi": {"w": 0.1}}
    assert (fallback.best_supervised, fallback.best_semi_supervised) == ("sup", "semi")
    assert decide_without_folds(candidates, "other")[1].choice == "sup"
    with pytest.raises(ValueError, match=r"No candidate fits the data\. slow was skipped"):
        decide_without_folds(candidates[1:2])
    # Two that can be used are not combined; three are, with the weights that they came with.
    assert decide_without_folds(candidates, combine=True)[1].choice == "sup"
    more = [*candidates, Candidate("third", None, SUPERVISED, member=Member(5.0, 0.5))]
    combined = decide_without_folds(more, combine=True)[1]
    assert_allclose(list(combined.weights.values()), [2 / 9, 2 / 9, 5 / 9])
    assert combined.pool.temperatures == {"semi": 1.0, "sup": 1.0, "third": 0.5}
    assert combined.params["semi"] == {"w": 0.1}
    assert "no class has two labels" in combined.reason


def test_one_candidate_whatever_the_others_do() -> None:
    candidate = Candidate("em", None, SEMI_SUPERVISED, grid=({"w": 0.1}, {"w": 1.0}))
    assert take_one(candidate).params == {"em": {"w": 0.1}}
    assert take_one(candidate, {"w": 1.0}).params == {"em": {"w": 1.0}}
    assert take_one(candidate).kind == SEMI_SUPERVISED


@pytest.mark.parametrize(
    ("probability", "word"),
    [(0.97, "yes"), (0.9, "yes"), (0.85, "cannot tell"), (0.15, "cannot tell"), (0.05, "no")],
)
def test_the_verdict_is_yes_from_nine_in_ten_on(probability: float, word: str) -> None:
    assert verdict_of(probability) == word
