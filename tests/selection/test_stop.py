"""Stopping candidates early: the bound, what may be stopped, and that the answer stays."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits

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


def lopsided(n_labeled: int = 100) -> Problem:
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
    assert "20 held-out rows" in reason
    assert "than good" in reason


def test_nothing_is_stopped_that_was_not_asked_for() -> None:
    estimated(lopsided(), constants(good=0.9, fair=0.8, even=0.5, hopeless=0.02))
    assert set(Constant.fits.values()) == {5}


def test_three_candidates_are_left_to_combine() -> None:
    estimated(lopsided(), constants(good=0.9, hopeless=0.02, worse=0.01), stop_early=True)
    assert set(Constant.fits.values()) == {5}


def test_few_held_out_rows_stop_nothing() -> None:
    """Folds of four rows are too few after both checks, folds of six after the first."""
    for n_labeled, fits in ((20, 5), (30, 2)):
        candidates = constants(good=0.9, fair=0.8, even=0.5, hopeless=0.02)
        estimated(lopsided(n_labeled), candidates, stop_early=True)
        assert Constant.fits["hopeless"] == fits


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


def test_workers_stop_the_same_candidates() -> None:
    problem = digits(8)
    names = ["logistic-regression", "naive-bayes", "harmonic", "consistency", "naive-bayes-em"]
    candidates = make_candidates(names, problem)
    one = estimated(problem, candidates, stop_early=True)
    with parallel_config(backend="threading"):
        three = estimated(problem, candidates, stop_early=True, n_jobs=3)
    assert [each.status for each in one] == [each.status for each in three]
    assert any("stopped" in each.reason for each in one)


def digits(n_labels: int, seed: int = 0) -> Problem:
    """500 small images, some of each digit with a label."""
    X, truth = load_digits(return_X_y=True)
    rows = slice(400 * seed, 400 * seed + 500)
    X, truth = X[rows], truth[rows]
    codes = np.full(len(truth), UNLABELED)
    for code in range(10):
        codes[np.flatnonzero(truth == code)[:n_labels]] = code
    return standard_problem(X, codes, np.arange(10))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_answer_stays(seed: int) -> None:
    """With and without stopping, but for weights below the least one."""
    problem = digits(8, seed)
    candidates = make_candidates(None, problem)
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
        codes[:100] = problem.codes[:100]
        large = standard_problem(np.zeros((n_rows, 1)), codes, problem.classes)
        candidates = [*constants(good=0.9, fair=0.8, even=0.5), hopeless]
        select(large, candidates, n_repeats=1, random_state=0)
        assert Constant.fits["x"] == fits
