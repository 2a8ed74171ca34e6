"""The parts of the safe classifier by themselves: arithmetic, folds, registry, report."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC

from leaven._labels import UNLABELED
from leaven.graph_based import HarmonicClassifier
from leaven.model_selection._safe_candidates import (
    RECIPES,
    SEMI_SUPERVISED,
    SUPERVISED,
    Facts,
    collect_candidates,
    kind_of_values,
    make_scaler,
    merge_copies,
    uses_unlabeled_rows,
)
from leaven.model_selection._safe_folds import (
    Folds,
    choose_within_folds,
    class_probabilities,
    draw_folds,
)
from leaven.model_selection._safe_report import (
    TRIED,
    Outcome,
    SafeReport,
    candidate_table,
    decide,
    estimate_difference,
    estimate_from_folds,
    estimate_share,
    results_without_luck,
    voters_among,
)
from leaven.model_selection._safe_vote import count_votes


def facts(**changes: Any) -> Facts:
    plain = {
        "n_rows": 100,
        "n_classes": 2,
        "n_unlabeled": 80,
        "is_sparse": False,
        "values": "continuous",
    }
    return Facts(**(plain | changes))


def outcome(name: str, kind: str, right: Any) -> Outcome:
    right = np.asarray(right, dtype=float)
    return Outcome(name, kind, TRIED, "", right, estimate_share(right), {}, 0.5)


def test_the_standard_error_of_matched_pairs() -> None:
    # Agresti and Min (2005): of 20 rows the first alone is right on 7, the second on 2. With
    # half a row in each of four cells n = 22, and the variance of the difference is
    # ((7.5 + 2.5) - (7.5 - 2.5)² / 22) / 22².
    d = np.r_[np.ones(7), -np.ones(2), np.zeros(11)]
    found = estimate_difference(d)
    assert found.value == pytest.approx(0.25)
    assert found.se == pytest.approx(np.sqrt(10 - 25 / 22) / 22)
    center = 5 / 22
    assert_allclose(
        [found.low, found.high], center + 1.96 * found.se * np.array([-1, 1]), rtol=1e-3
    )


def test_the_standard_error_of_a_share() -> None:
    # With one success and one failure added: the binomial error of 8 in 12.
    found = estimate_share(np.r_[np.ones(7), np.zeros(3)])
    assert found.value == pytest.approx(0.7)
    assert found.se == pytest.approx(np.sqrt(8 / 12 * 4 / 12 / 12))


def test_the_corrected_resampled_variance() -> None:
    scores = np.array([0.2, 0.4, 0.9, 0.5, 0.6, 0.4])
    found = estimate_from_folds(scores, n_splits=3)
    # Nadeau and Bengio (2003): a third of the labeled rows is tested, two thirds train.
    expected = np.sqrt((1 / 6 + (1 / 3) / (2 / 3)) * scores.var(ddof=1))
    assert found.se == pytest.approx(expected)
    assert found.high - found.value == pytest.approx(2.5706 * expected, rel=1e-4)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=30))
def test_intervals_hold_the_estimate_and_errors_are_positive(right: list[float]) -> None:
    share = estimate_share(np.array(right))
    assert share.se > 0
    assert 0 <= share.low <= share.value <= share.high <= 1
    difference = estimate_difference(np.array(right) - 1.0)
    assert difference.se > 0
    assert -1 <= difference.low <= difference.high <= 1


def test_the_decision_by_hand() -> None:
    sup = outcome("sup", SUPERVISED, [1, 0, 1, 0, 1, 0, 0, 0, 1, 1])
    weak = outcome("weak", SUPERVISED, [1, 0, 1, 0, 1, 0, 0, 0, 1, 0])
    semi = outcome("semi", SEMI_SUPERVISED, [1, 1, 1, 1, 1, 1, 0, 0, 1, 1])
    # sup leads weak by its last row alone: chance explains that, and the two share the row.
    # Differences 0 1 0 1 0 1 0 0 0 0.5: gain 0.35, s² = (3.25 + 1 - 3.5² / 12) / 144.
    se = np.sqrt(4.25 - 3.5**2 / 12) / 12
    assert 1.9 * se < 0.35 < 2.4 * se
    bold = decide([weak, sup, semi], 5, 1.9, by_row=True)
    assert (bold.choice, bold.unlabeled_helped) == ("semi", "yes")
    assert bold.luck == pytest.approx(0.05)
    assert bold.reason == (
        "The unlabeled rows helped: semi 0.80 against 0.50 of sup (0.45 without the luck of "
        "having been best), a gain of 0.35 ± 0.15."
    )
    alone = decide([sup, semi], 5, 1.9, by_row=True)
    assert alone.reason == (
        "The unlabeled rows helped: semi 0.80 against 0.50 of sup, a gain of 0.30 ± 0.15."
    )
    wary = decide([weak, sup, semi], 5, 2.4, by_row=True)
    assert (wary.choice, wary.unlabeled_helped) == ("sup", "cannot tell")
    assert "within 2.4 standard errors" in wary.reason
    assert (wary.best_supervised, wary.best_semi_supervised) == ("sup", "semi")
    table = wary.differences.set_index("name")
    assert list(table.index) == ["weak", "semi"]
    assert table.loc["semi", "difference"] == pytest.approx(0.35)
    assert table.loc["semi", "se"] == pytest.approx(se)
    assert table.loc["weak", "difference"] == pytest.approx(-0.1)


def test_without_a_vote_the_luck_of_both_sides_is_taken_off() -> None:
    good, poor = [1, 0, 1, 0, 1, 0, 0, 0, 1, 1], [0, 1, 0, 0, 1, 0, 0, 1, 0, 1]
    sups = [outcome("a", SUPERVISED, good), outcome("b", SUPERVISED, poor)]
    semis = [outcome("c", SEMI_SUPERVISED, good), outcome("d", SEMI_SUPERVISED, poor)]
    found = decide([*sups, *semis], 5, 0.0, by_row=True)
    # The same results on both sides: neither luck nor unlabeled rows make a difference.
    assert found.unlabeled_helped == "no"
    table = found.differences.set_index("name")
    assert table.loc["c", "difference"] == pytest.approx(0.0)
    assert found.reason.count("without the luck") == 2


def test_the_share_of_luck_by_hand() -> None:
    results = np.array([[1.0, 1.0, 1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0, 1.0, 0.0]])
    # Half the differences 1 0 1 -1 0 0 are what sets the first apart, and mirrored the second:
    # variance 17/30 / 4 each, over 6 rows; the two means are 1/12 above and below their mean.
    chance = 2 * (17 / 30 / 4) / 6
    assert chance > 2 * (1 / 12) ** 2
    assert_allclose(results_without_luck(results, 0), results.mean(axis=0))
    clear = np.array([[1.0] * 9 + [0.0], [0.0] * 9 + [1.0]])
    # Halves of the differences 1, ..., 1, -1: mean 0.4, variance 0.1 over ten rows.
    share = (2 * 0.1 / 10) / (2 * 0.4**2)
    expected = (1 - share) * clear[0] + share * 0.5
    assert_allclose(results_without_luck(clear, 0), expected)
    # Folds share training rows: with five of them the variance is that of 1/10 + 1/4.
    share *= (1 / 10 + 1 / 4) * 10
    expected = (1 - share) * clear[0] + share * 0.5
    assert_allclose(results_without_luck(clear, 0, n_splits=5), expected)


def test_the_share_of_luck_by_the_analysis_of_variance() -> None:
    better = np.array([[0.4], [0.0], [0.2], [0.0]])
    results = better + np.random.default_rng(0).random((4, 15))
    k, n = results.shape
    # Candidates as treatments, rows as blocks: what neither explains is the error.
    between = n * ((results.mean(axis=1) - results.mean()) ** 2).sum()
    blocks = k * ((results.mean(axis=0) - results.mean()) ** 2).sum()
    error = ((results - results.mean()) ** 2).sum() - between - blocks
    F = (between / (k - 1)) / (error / ((k - 1) * (n - 1)))
    assert F > 2
    expected = (1 - 1 / F) * results[0] + results.mean(axis=0) / F
    assert_allclose(results_without_luck(results, 0), expected)


def test_the_best_of_coins_is_a_coin() -> None:
    rng = np.random.default_rng(0)
    coins = rng.integers(2, size=(500, 3, 20)).astype(float)
    best = coins.mean(axis=2).argmax(axis=1)
    assert coins[np.arange(500), best].mean() > 0.58
    without = [results_without_luck(each, k).mean() for each, k in zip(coins, best, strict=True)]
    assert 0.49 < np.mean(without) < 0.54


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 4), st.integers(1, 12), st.integers(0, 10_000))
def test_luck_lies_between_nothing_and_the_lead(k: int, n: int, seed: int) -> None:
    results = np.random.default_rng(seed).integers(3, size=(k, n)) / 2
    best = int(results.mean(axis=1).argmax())
    found = results_without_luck(results, best).mean()
    assert results.mean() - 1e-12 <= found <= results[best].mean() + 1e-12


def test_a_clear_best_and_equals_owe_nothing_to_luck() -> None:
    clear = np.array([[1.0] * 10, [0.0] * 10])
    assert_allclose(results_without_luck(clear, 0), clear[0])
    assert_allclose(results_without_luck(clear[:1], 0), clear[0])
    # Equal scores from different rows: none of them was lucky.
    equal = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    assert_allclose(results_without_luck(equal, 0), equal[0])


def test_equal_scores_and_worse_ones_are_no_help() -> None:
    sup = outcome("sup", SUPERVISED, [1, 0, 1, 0])
    for right, verdict in (([0, 1, 0, 1], "no"), ([0, 0, 0, 0], "no")):
        found = decide([sup, outcome("semi", SEMI_SUPERVISED, right)], 2, 0.0, by_row=True)
        assert (found.choice, found.unlabeled_helped) == ("sup", verdict)
    twin = [outcome("b", SUPERVISED, [1, 0]), outcome("a", SUPERVISED, [0, 1])]
    assert decide(twin, 2, 1.0, by_row=True).choice == "b"
    alone = decide([outcome("semi", SEMI_SUPERVISED, [1, 0])], 2, 1.0, by_row=True)
    assert (alone.choice, alone.unlabeled_helped) == ("semi", "cannot tell")
    assert "no supervised candidate was tried" in alone.reason


def test_the_report_as_dict_and_text() -> None:
    outcomes = [
        outcome("sup", SUPERVISED, [1, 0, 1, 0]),
        Outcome("slow", SEMI_SUPERVISED, "skipped", "slow was skipped: too slow."),
    ]
    found = decide(outcomes, 2, 1.0, by_row=True)
    report = SafeReport(
        candidates=candidate_table(outcomes),
        differences=found.differences,
        choice=found.choice,
        kind=SUPERVISED,
        unlabeled_helped=found.unlabeled_helped,
        reason=found.reason,
        best_supervised="sup",
        best_semi_supervised=None,
        scoring="accuracy",
        caution=1.0,
        n_labeled=4,
        n_unlabeled=9,
        n_classes=2,
        n_tested=4,
        n_splits=2,
        n_repeats=2,
        seconds=0.5,
        notes=("A note.",),
    )
    back = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert back["candidates"][0]["score"] == 0.5
    assert back["candidates"][1]["score"] is None
    assert back["differences"] == []
    assert back["notes"] == ["A note."]
    text = str(report)
    for part in (report.reason, "0.500", "slow was skipped: too slow.", "- A note."):
        assert part in text
    assert "nan" not in text
    assert repr(report) == (
        "SafeReport(choice='sup', unlabeled_helped='cannot tell', 1 of 2 candidates tried)"
    )


def test_folds_are_distinct_partitions() -> None:
    codes = np.array([0, 0, 1, 1, -1, -1, 2])
    folds = draw_folds(codes, 30, np.random.RandomState(0))
    assert folds is not None
    assert_array_equal(folds.rows, [0, 1, 2, 3])
    # Two classes with two labels have two different pairs of folds, whatever the repeats.
    assert sorted(map(tuple, folds.fold.tolist())) == [(0, 1, 0, 1), (0, 1, 1, 0)]
    assert folds.n_splits == 2
    assert len(list(folds.tests())) == 4
    assert draw_folds(np.array([0, 1, -1]), 3, np.random.RandomState(0)) is None


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-1, 2), min_size=3, max_size=30), st.integers(0, 5))
def test_each_row_is_held_out_once_a_repeat(labels: list[int], seed: int) -> None:
    codes = np.unique([-1, *labels], return_inverse=True)[1] - 1
    counts = np.bincount(codes[codes != UNLABELED]) if (codes >= 0).any() else np.zeros(1)
    if not (codes >= 0).any():
        return
    folds = draw_folds(codes, "auto", np.random.RandomState(seed))
    assert (folds is None) == (counts.max() < 2)
    if folds is None:
        return
    assert (counts[codes[folds.rows]] >= 2).all()
    held = np.zeros((len(folds.fold), len(folds.rows)))
    for repeat, test in folds.tests():
        held[repeat] += test
        # A row of every class stays.
        left = np.delete(codes, folds.rows[test])
        assert set(left) >= set(codes) - {UNLABELED}
    assert (held == 1).all()


def test_a_parameter_is_chosen_on_the_other_folds() -> None:
    # Two parameters, one repeat, two folds of two rows. The first parameter is right in fold 0
    # only, the second in fold 1 only; each fold must be given the one that was right in the
    # other, and so the score of the choice is 0, not 1.
    folds = Folds(np.arange(4), np.array([[0, 0, 1, 1]]))
    scores = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    marks = np.array([0.1, 0.9])
    probabilities = np.broadcast_to(marks[:, None, None, None], (2, 1, 4, 2))
    chosen, best = choose_within_folds(probabilities, scores, folds)
    assert_allclose(chosen[0, :, 0], [0.9, 0.9, 0.1, 0.1])
    assert best == 0  # equal over all folds: the first, the smallest weight


def test_probabilities_from_whatever_there_is() -> None:
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    y = np.array([0, 0, 1, 1])
    machine = LinearSVC(random_state=0).fit(X, y)
    found = class_probabilities(machine, X, 2)
    assert_allclose(found[:, 1], 1 / (1 + np.exp(-machine.decision_function(X))))
    three = LinearSVC(random_state=0).fit(X, [0, 1, 1, 2])
    assert_array_equal(class_probabilities(three, X, 3).argmax(axis=1), three.predict(X))
    with pytest.raises(ValueError, match="knows 2 classes, but there are 3"):
        class_probabilities(machine, X, 3)


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (LogisticRegression(), False),
        (HarmonicClassifier(), True),
        (LabelSpreading(), True),
        (SelfTrainingClassifier(SVC()), True),
        (make_pipeline(StandardScaler(), HarmonicClassifier()), True),
        (make_pipeline(StandardScaler(), SVC()), False),
        (GridSearchCV(HarmonicClassifier(), {}), True),
        (GridSearchCV(make_pipeline(StandardScaler(), HarmonicClassifier()), {}), True),
        (CalibratedClassifierCV(SVC()), False),
    ],
)
def test_which_estimators_use_unlabeled_rows(estimator: Any, expected: bool) -> None:
    assert uses_unlabeled_rows(estimator) is expected


def test_the_registry_skips_by_size_and_kind() -> None:
    names = [c.name for c in collect_candidates(None, facts()) if c.skipped]
    assert names == []
    large = {c.name: c.skipped for c in collect_candidates(None, facts(n_rows=120_000))}
    assert large["transductive-svm"] == (
        "transductive-svm was skipped: 120,000 rows, it takes at most 5,000."
    )
    assert large["harmonic"] is None
    assert large["spectral-transducer"].endswith("120,000 rows, it takes at most 100,000.")
    many = {c.name: c.skipped for c in collect_candidates(None, facts(n_rows=600, n_classes=10))}
    assert many["transductive-svm"].endswith("skipped: 10 classes, it takes at most 3.")
    strange = collect_candidates(None, facts(is_sparse=True))
    assert {c.name for c in strange if c.skipped} == {"naive-bayes", "naive-bayes-em"}
    full = collect_candidates(None, facts(n_unlabeled=0))
    assert {c.name for c in full if not c.skipped} == {
        name for name, recipe in RECIPES.items() if recipe.kind == SUPERVISED
    }


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        ("binary", ("BernoulliNB", "SemiSupervisedBernoulliNB")),
        ("counts", ("MultinomialNB", "SemiSupervisedMultinomialNB")),
        ("nonnegative", ("MultinomialNB", "SemiSupervisedMultinomialNB")),
        ("continuous", ("GaussianNB", "SemiSupervisedGaussianMixture")),
    ],
)
def test_the_kind_of_naive_bayes(values: str, kinds: tuple[str, str]) -> None:
    found = collect_candidates(["naive-bayes", "naive-bayes-em"], facts(values=values))
    assert tuple(type(c.estimator).__name__ for c in found) == kinds


def test_the_kind_of_values_and_the_scaler() -> None:
    binary = np.array([[0.0, 1.0], [1.0, 0.0]])
    counts = np.array([[0.0, 3.0], [2.0, 0.0]])
    cases = [
        (binary, "binary", "NoneType"),
        (counts, "counts", "StandardScaler"),
        (counts + 0.5, "continuous", "StandardScaler"),
        (-counts, "continuous", "StandardScaler"),
        (sparse.csr_matrix(binary), "binary", "Normalizer"),
        (sparse.csr_matrix(counts), "counts", "TfidfTransformer"),
        (sparse.csr_matrix(counts / 7), "nonnegative", "Normalizer"),
        (sparse.csr_matrix(-counts), "continuous", "MaxAbsScaler"),
    ]
    for X, values, scaler in cases:
        assert kind_of_values(X) == values
        assert type(make_scaler(X, values)).__name__ == scaler


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=20),
    st.lists(st.integers(-1, 1), min_size=20, max_size=20),
)
def test_copies_are_merged_unless_labeled(rows: list[tuple[int, int]], labels: list[int]) -> None:
    X = np.array(rows, dtype=float)
    codes = np.array(labels[: len(X)])
    for form in (X, sparse.csr_matrix(X)):
        kept, node = merge_copies(form, codes)
        assert_array_equal(X[kept][node], X)
        labeled = np.flatnonzero(codes != UNLABELED)
        assert_array_equal(kept[node[labeled]], labeled)
        distinct = len(np.unique(X[codes == UNLABELED], axis=0))
        assert len(kept) == len(labeled) + distinct


def test_votes_by_hand() -> None:
    P = [np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([[0.2, 0.8], [0.1, 0.9]])]
    votes = count_votes(P)
    assert_allclose(votes.sum(axis=1), 1)
    # One vote each; the mean probabilities 0.55 and 0.35 of the first class decide.
    assert_allclose(votes[:, 0], (0.5 + 1e-3 * np.array([0.55, 0.35])) / (1 + 1e-3))


def test_who_votes_and_who_leads() -> None:
    right = np.ones(60)
    good, fair, poor = right.copy(), right.copy(), right.copy()
    fair[:3], poor[:40] = 0.0, 0.0
    outcomes = [
        Outcome(name, kind, TRIED, "", results, estimate_share(results))
        for name, kind, results in (
            ("sup", SUPERVISED, poor),
            ("good", SEMI_SUPERVISED, good),
            ("fair", SEMI_SUPERVISED, fair),
        )
    ]
    assert voters_among(outcomes, 5, by_row=True) == {"good", "fair"}
    vote = Outcome("vote", SEMI_SUPERVISED, TRIED, "", fair, estimate_share(fair))
    assert decide([*outcomes, vote], 5, 1.0, by_row=True).choice == "vote"
    vote = Outcome("vote", SEMI_SUPERVISED, TRIED, "", poor, estimate_share(poor))
    assert decide([*outcomes, vote], 5, 1.0, by_row=True).choice == "good"
