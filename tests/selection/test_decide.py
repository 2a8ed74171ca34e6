"""Deciding between candidates: by hand, and what must hold for any results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from leaven.selection import (
    SEMI_SUPERVISED,
    SUPERVISED,
    TRIED,
    Candidate,
    Decision,
    Folds,
    Outcome,
    count_votes,
    decide,
    take_one,
)
from leaven.selection._decide import decide_without_folds
from leaven.statistics import estimate_share


def outcome(name: str, kind: str, right: Any) -> Outcome:
    """An outcome on rows of class 0 that got it (1) or class 1 (0), in one repeat."""
    right = np.asarray(right, dtype=float)
    probabilities = np.column_stack([right, 1 - right])[None]
    return Outcome(
        name, kind, TRIED, "", right, estimate_share(right), {"a": name}, 0.5, probabilities
    )


def decided(outcomes: list[Outcome], *, vote: bool = False, caution: float = 1.0) -> Decision:
    n = len(outcomes[0].results)
    folds = Folds(np.arange(n), np.arange(n)[None] % 2)
    codes = np.zeros(n, dtype=np.intp)
    return decide(outcomes, codes, folds, caution=caution, vote=vote)


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


def test_without_a_vote_the_bias_of_both_sides_is_taken_off() -> None:
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


def test_votes_by_hand() -> None:
    P = [np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([[0.2, 0.8], [0.1, 0.9]])]
    votes = count_votes(P)
    assert_allclose(votes.sum(axis=1), 1)
    # One vote each; the mean probabilities 0.55 and 0.35 of the first class decide.
    assert_allclose(votes[:, 0], (0.5 + 1e-3 * np.array([0.55, 0.35])) / (1 + 1e-3))
    # With weights 3 and 1 three quarters of the votes are the first one's.
    uneven = count_votes(P, [3.0, 1.0])
    mean = (3 * P[0][:, 0] + P[1][:, 0]) / 4
    assert_allclose(uneven[:, 0], (0.75 + 1e-3 * mean) / (1 + 1e-3))
    assert_allclose(count_votes(P[:1], [0.7]), P[0])


def test_who_votes_and_who_leads() -> None:
    right = np.ones(60)
    fair, poor = right.copy(), right.copy()
    fair[:3], poor[:40] = 0.0, 0.0
    outcomes = [
        outcome("sup", SUPERVISED, poor),
        outcome("good", SEMI_SUPERVISED, right),
        outcome("fair", SEMI_SUPERVISED, fair),
    ]
    # good and fair vote; where they differ the mean probability is one half, and the first
    # class, which is the right one, is taken: the vote is as good as the best.
    found = decided(outcomes, vote=True)
    assert found.choice == "vote"
    assert found.weights == {"good": 0.5, "fair": 0.5}
    assert found.params == {"good": {"a": "good"}, "fair": {"a": "fair"}}
    assert found.combined is not None
    assert_allclose(found.combined.results, right)
    # Voters that are wrong together on rows on which the best one is right lose to it.
    wrong = right.copy()
    wrong[:8] = 0.0
    many = [*outcomes[:2], *(outcome(f"w{i}", SEMI_SUPERVISED, wrong) for i in range(3))]
    behind = 8 / 60 - 2 * np.sqrt(8 + 1 - 8**2 / 62) / 62
    assert behind > 0  # they are behind by more than two standard errors, and have no vote
    assert decided(many, vote=True).weights == {"good": 1.0}


def test_a_vote_needs_three_and_one_that_uses_unlabeled_rows() -> None:
    two = [outcome("a", SUPERVISED, [1, 1, 0]), outcome("b", SEMI_SUPERVISED, [1, 1, 1])]
    assert decided(two, vote=True).combined is None
    three = [outcome(name, SUPERVISED, [1, 1, 0]) for name in "abc"]
    assert decided(three, vote=True).combined is None


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
    results: list[tuple[str, list[int]]], vote: bool
) -> None:
    outcomes = [outcome(f"c{i}", kind, right) for i, (kind, right) in enumerate(results)]
    found = decided(outcomes, vote=vote)
    assert sum(found.weights.values()) == pytest.approx(1.0)
    assert set(found.weights) == set(found.params) <= {each.name for each in outcomes}
    assert (found.choice == "vote") == (len(found.weights) > 1 or found.choice not in found.weights)
    if found.unlabeled_helped == "yes":
        assert found.kind == SEMI_SUPERVISED


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


def test_one_candidate_whatever_the_others_do() -> None:
    candidate = Candidate("em", None, SEMI_SUPERVISED, grid=({"w": 0.1}, {"w": 1.0}))
    assert take_one(candidate).params == {"em": {"w": 0.1}}
    assert take_one(candidate, {"w": 1.0}).params == {"em": {"w": 1.0}}
    assert take_one(candidate).kind == SEMI_SUPERVISED
