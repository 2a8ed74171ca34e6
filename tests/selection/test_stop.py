"""Stopping candidates early: the bound, what may be stopped, and that the answer stays."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from leaven._labels import UNLABELED
from leaven.selection import (
    SKIPPED,
    TRIED,
    Candidate,
    Member,
    Problem,
    bound_log_odds,
    draw_folds,
    estimate,
    likelihood_weights,
    make_candidates,
    select,
    standard_problem,
)
from leaven.selection._estimate import Outcome
from leaven.selection._pool import MIN_WEIGHT
from leaven.selection._select import STOPS_FROM
from leaven.selection._stop import Rival


class Constant(ClassifierMixin, BaseEstimator):
    """Gives every row the same probabilities, and counts its fits."""

    fits: ClassVar[dict[str, int]] = {}

    def __init__(self, name: str = "", first: float = 0.5) -> None:
        self.name = name
        self.first = first

    def fit(self, X: Any, y: Any) -> Constant:
        Constant.fits[self.name] = Constant.fits.get(self.name, 0) + 1
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        return np.tile([self.first, 1 - self.first], (len(X), 1))


def lopsided(n_labeled: int = 1_000) -> Problem:
    """Nine of ten labels are of the first class."""
    codes = np.full(n_labeled + 20, UNLABELED)
    codes[:n_labeled] = np.arange(n_labeled) % 10 == 0
    X = np.random.default_rng(0).normal(size=(len(codes), 2))
    return standard_problem(X, codes, np.array([0, 1]))


def constants(**first: float) -> list[Candidate]:
    Constant.fits = {}
    return [
        Candidate(name, Constant(name, p), "supervised", cost=cost)
        for cost, (name, p) in enumerate(first.items())
    ]


def estimated(problem: Problem, candidates: list[Candidate], **options: Any) -> list[Outcome]:
    folds = draw_folds(problem.codes, 1, random_state=0)
    assert folds is not None
    return estimate(problem, candidates, folds, **options)


def test_with_all_rows_the_bound_is_the_weight_itself() -> None:
    scores = np.log(np.random.default_rng(1).uniform(0.1, 0.9, size=(30, 2)))
    prior = np.array([3.0, 0.7])
    weights = likelihood_weights(scores, prior)
    bound = bound_log_odds(scores[:, 0] - scores[:, 1], 30, float(np.log(prior[0] / prior[1])))
    assert bound == pytest.approx(np.log(weights[0] / weights[1]))


def test_the_bound_holds_for_nearly_all_samples() -> None:
    rng = np.random.default_rng(2)
    differences = -rng.gamma(1.3, size=200)
    exact = bound_log_odds(differences, 200)
    bounds = [bound_log_odds(rng.permutation(differences)[:40], 200) for _ in range(2_000)]
    assert np.mean(np.array(bounds) < exact) < 0.02
    # It is a bound of something: not so loose that it never tells.
    assert np.median(bounds) < exact + np.sqrt(200)


def test_a_hopeless_candidate_is_stopped_after_its_first_fold() -> None:
    candidates = constants(good=0.9, fair=0.8, even=0.5, hopeless=0.02)
    found = {each.name: each for each in estimated(lopsided(), candidates, stop_early=True)}
    assert [each.status for each in found.values()] == [TRIED, TRIED, TRIED, SKIPPED]
    assert Constant.fits == {"good": 5, "fair": 5, "even": 5, "hopeless": 1}
    reason = found["hopeless"].reason
    assert "stopped after 1 of 5 folds" in reason
    assert "200 held-out rows" in reason
    assert "than good" in reason


def test_nothing_is_stopped_that_was_not_asked_for() -> None:
    estimated(lopsided(), constants(good=0.9, fair=0.8, even=0.5, hopeless=0.02))
    assert set(Constant.fits.values()) == {5}


def test_three_candidates_are_left_to_combine() -> None:
    estimated(lopsided(), constants(good=0.9, hopeless=0.02, worse=0.01), stop_early=True)
    assert set(Constant.fits.values()) == {5}


def spread(n_rows: int, truth: NDArray[np.intp], of_truth: float) -> NDArray[np.float64]:
    """Twenty classes: the true one has ``of_truth``, and the next most of the rest."""
    P = np.full((n_rows, 20), 1e-4)
    P[np.arange(n_rows), (truth + 1) % 20] = 1.0 - of_truth
    P[np.arange(n_rows), truth] = of_truth
    return P / P.sum(axis=1, keepdims=True)


def test_few_held_out_rows_stop_nothing() -> None:
    truth = np.arange(60) % 20
    rival = Rival("good", Member(), spread(60, truth, 0.9)[None], truth)
    for n_seen, stopped in ((9, False), (10, True)):
        seen = np.arange(60) < n_seen
        answers = spread(n_seen, truth[seen], 0.0)[None]
        assert rival.is_out_of_reach(Member(), answers, 0, seen) == stopped


def test_a_diffident_candidate_is_not_stopped() -> None:
    """It gives every true class the most, if little: its temperature will make up for that."""
    truth = np.arange(60) % 20
    flat = np.full((60, 20), 0.049)
    flat[np.arange(60), truth] = 0.069
    rival = Rival("often right", Member(), spread(60, truth, 0.9)[None], truth)
    wrong = np.arange(60) % 3 == 0
    rival.probabilities[0, wrong] = spread(int(wrong.sum()), truth[wrong], 0.1)
    seen = np.arange(60) < 24
    assert not rival.is_out_of_reach(Member(), flat[None, seen], 0, seen)


def test_a_better_parameter_of_the_grid_keeps_a_candidate() -> None:
    candidates = constants(good=0.9, fair=0.8, even=0.5)
    for grid, fits in (((0.02, 0.01), 2), ((0.02, 0.9), 10)):
        Constant.fits = {}
        last = Candidate(
            "grid",
            Constant("grid"),
            "supervised",
            cost=9,
            grid=tuple({"first": value} for value in grid),
        )
        estimated(lopsided(), [*candidates, last], stop_early=True)
        assert Constant.fits["grid"] == fits


class Semi(Constant):
    """The same, by its name a candidate that learns from unlabeled rows."""


def test_the_kinds_are_compared_as_they_are_combined() -> None:
    """A supervised one only with its own kind; and the first of a kind is never stopped."""
    candidates = constants(poor=0.2, low=0.25, lowest=0.15)
    semi = Candidate("semi", Semi("semi", 0.9), "semi-supervised", cost=3)
    last = Candidate("last", Constant("last", 0.2), "supervised", cost=4)
    other = Candidate("other", Semi("other", 0.02), "semi-supervised", cost=5)
    found = estimated(lopsided(), [*candidates, semi, last, other], stop_early=True)
    assert [each.status for each in found[3:]] == [TRIED, TRIED, SKIPPED]
    first = Candidate("first", Semi("first", 0.02), "semi-supervised", cost=3)
    good = constants(good=0.9, fair=0.8, even=0.5)
    found = estimated(lopsided(), [*good, first], stop_early=True)
    assert found[3].status == TRIED


def oblique(seed: int = 0) -> Problem:
    """Eight classes, each of which stands out in one of thirty columns: distances tell little."""
    rng = np.random.default_rng(seed)
    truth = np.arange(800) % 8
    X = 2.0 * rng.normal(size=(800, 30))
    X[:, :8] *= 0.4
    X[np.arange(800), truth] += 2.0
    codes = np.where(np.arange(800) < 240, truth, UNLABELED)
    return standard_problem(X, codes, np.arange(8))


NAMES = ["logistic-regression", "naive-bayes", "linear-svm", "harmonic", "cluster-then-label"]


def test_workers_stop_the_same_candidates() -> None:
    problem = oblique()
    candidates = make_candidates(NAMES, problem)
    one = estimated(problem, candidates, stop_early=True)
    with parallel_config(backend="threading"):
        three = estimated(problem, candidates, stop_early=True, n_jobs=3)
    assert [each.status for each in one] == [each.status for each in three]
    assert any("stopped" in each.reason for each in one)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_answer_stays(seed: int) -> None:
    """With and without stopping, but for weights below the least one."""
    problem = oblique(seed)
    candidates = make_candidates(NAMES, problem)
    full = select(problem, candidates, random_state=0, stop_early=False)
    fast = select(problem, candidates, random_state=0, stop_early=True)
    stopped = [each.name for each in fast.outcomes if "stopped" in each.reason]
    assert stopped
    for name in stopped:
        # What was stopped had lost its part by itself.
        assert full.decision.weights.get(name, 0.0) < 2 * MIN_WEIGHT
    assert_allclose(fast.probabilities, full.probabilities, atol=0.02)
    assert fast.held_out is not None
    assert full.held_out is not None
    assert_allclose(fast.held_out, full.held_out, atol=0.02)


def test_small_tables_run_to_the_end_and_large_ones_do_not() -> None:
    hopeless = Candidate("x", Constant("x", 0.02), "supervised", cost=9, member=Member())
    for n_rows, fits in ((STOPS_FROM - 1, 5), (STOPS_FROM, 1)):
        problem = lopsided()
        codes = np.full(n_rows, UNLABELED)
        codes[:1_000] = problem.codes[:1_000]
        large = standard_problem(np.zeros((n_rows, 1)), codes, problem.classes)
        candidates = [*constants(good=0.9, fair=0.8, even=0.5), hopeless]
        select(large, candidates, n_repeats=1, random_state=0)
        assert Constant.fits["x"] == fits
