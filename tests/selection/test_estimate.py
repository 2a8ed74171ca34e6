"""Estimating candidates on held-out labels: folds, scores, limits and workers."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from leaven._labels import UNLABELED
from leaven.graph import KNNGraph
from leaven.graph_based import HarmonicClassifier
from leaven.selection import (
    FAILED,
    SKIPPED,
    TRIED,
    Candidate,
    Folds,
    Problem,
    _estimate,
    draw_folds,
    estimate,
    make_candidates,
    standard_problem,
)
from leaven.selection._estimate import _FoldWork, cross_validate, judge
from leaven.statistics import estimate_from_folds, estimate_share


def blobs(n: int = 60, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    X = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5]])[truth] + rng.normal(size=(n, 2))
    codes = np.where(np.arange(n) < 18, truth, UNLABELED)
    return standard_problem(X, codes, np.array(["a", "b", "c"]))


def folds_of(problem: Problem, n_repeats: int = 2) -> Folds:
    folds = draw_folds(problem.codes, n_repeats, random_state=3)
    assert folds is not None
    return folds


class Sleeper(ClassifierMixin, BaseEstimator):
    """Says the first class, and moves a clock by one at each fit."""

    clock = 0.0

    def fit(self, X: Any, y: Any) -> Sleeper:
        Sleeper.clock += 1.0
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        return np.full(len(X), self.classes_[0])


def test_a_semi_supervised_candidate_sees_held_out_rows_without_their_labels() -> None:
    problem = blobs()
    folds = folds_of(problem)
    own = {"harmonic": HarmonicClassifier(KNNGraph(5))}
    (found,) = estimate(problem, make_candidates(own, problem), folds)
    assert found.probabilities is not None
    for repeat, test in folds.tests():
        codes = problem.codes.copy()
        codes[folds.rows[test]] = UNLABELED
        alone = HarmonicClassifier(KNNGraph(5)).fit(problem.X, codes)
        expected = alone.label_distributions_[folds.rows[test]]
        assert_allclose(found.probabilities[repeat, test], expected)


def test_duplicates_of_a_row_are_one_node_with_one_answer() -> None:
    problem = blobs()
    twice = Problem(
        np.vstack([problem.X, problem.X]),
        np.concatenate([problem.codes, np.full(60, UNLABELED)]),
        problem.classes,
        "continuous",
    )
    rows = twice.rows(scaled=False, merged=True)
    # Unlabeled duplicates are merged; a labeled row and its unlabeled duplicate are not.
    assert len(rows.codes) == 60 + 18
    assert_allclose(rows.X[rows.node], twice.X)
    plain = twice.rows(scaled=False, merged=False)
    assert_array_equal(plain.node, np.arange(120))
    assert plain.form != rows.form


def test_a_grid_is_searched_within_the_folds() -> None:
    problem = blobs()
    folds = folds_of(problem)
    grid = ({"C": 1e-6}, {"C": 10.0})
    candidate = Candidate("lr", LogisticRegression(), "supervised", grid=grid)
    by_parameter = cross_validate(candidate, problem, folds)
    assert by_parameter.shape == (2, 2, 18, 3)
    for number, params in enumerate(grid):
        single = Candidate("lr", LogisticRegression(**params), "supervised")
        assert_allclose(by_parameter[number], cross_validate(single, problem, folds)[0])
    (found,) = estimate(problem, [candidate], folds)
    assert found.params == {"C": 10.0}


def test_workers_give_what_one_gives() -> None:
    problem = blobs()
    folds = folds_of(problem)
    names = ["logistic-regression", "harmonic", "naive-bayes-em"]
    candidates = make_candidates(names, problem)
    one = estimate(problem, candidates, folds)
    with parallel_config(backend="threading"):  # starting processes takes seconds
        three = estimate(problem, candidates, folds, n_jobs=3)
    for first, second in zip(one, three, strict=True):
        assert_allclose(first.probabilities, second.probabilities, atol=1e-12)
        assert first.params == second.params


def test_outcomes_come_in_the_order_given_whatever_they_cost() -> None:
    problem = blobs()
    names = ["harmonic", "linear-svm", "naive-bayes"]
    found = estimate(problem, make_candidates(names, problem), folds_of(problem))
    assert [each.name for each in found] == names


def test_another_score_is_one_number_per_fold() -> None:
    problem = blobs()
    folds = folds_of(problem, n_repeats=3)

    def log_score(found: NDArray[Any], rows: NDArray[np.intp]) -> float:
        return float(np.log(found[np.arange(len(rows)), problem.codes[rows]]).mean())

    candidates = make_candidates({"bayes": GaussianNB()}, problem)
    (found,) = estimate(problem, candidates, folds, score=log_score)
    assert len(found.results) == 3 * folds.n_splits
    assert found.probabilities is not None
    expected = [
        log_score(found.probabilities[repeat, test], folds.rows[test])
        for repeat, test in folds.tests()
    ]
    assert_allclose(found.results, expected)
    assert found.estimate == estimate_from_folds(found.results, folds.n_splits)


def test_the_accuracy_is_one_number_per_row() -> None:
    # Three rows of class 1 in two repeats: always right, once right, never right.
    folds = Folds(np.array([0, 2, 3]), np.array([[0, 1, 0], [0, 1, 1]]))
    codes = np.array([1, UNLABELED, 1, 1])
    right = np.array([[0.2, 0.8], [0.4, 0.6], [0.9, 0.1]])
    wrong = np.array([[0.3, 0.7], [0.7, 0.3], [0.8, 0.2]])
    results, found = judge(np.stack([right, wrong]), codes, folds, None)
    assert_allclose(results, [1.0, 0.5, 0.0])
    assert found == estimate_share(np.array([1.0, 0.5, 0.0]))


def test_the_first_is_always_tried_and_later_ones_within_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = blobs()
    folds = folds_of(problem)
    n_fits = folds.n_splits * folds.n_repeats
    Sleeper.clock = 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: Sleeper.clock)
    own = {name: Sleeper() for name in ("first", "second", "third")}
    candidates = make_candidates(own, problem)
    # Time for the first and for one fold of the second, by which the rest is expected.
    found = estimate(problem, candidates, folds, time_limit=n_fits + 3.0)
    assert [each.status for each in found] == [TRIED, SKIPPED, SKIPPED]
    assert found[0].seconds == n_fits
    assert found[1].reason == (
        f"second was skipped: its {n_fits} fits would take about {n_fits} seconds, with 3 left of "
        "the time limit."
    )
    assert found[1].seconds == 1.0
    # The third has two seconds left, and is given up after a fold too.
    assert "third was skipped: its" in found[2].reason
    Sleeper.clock = 0.0
    over = estimate(problem, candidates, folds, time_limit=1.0)
    assert over[1].reason == "second was skipped: the time limit of 1 s was over."
    Sleeper.clock = 0.0
    ample = estimate(problem, candidates, folds, time_limit=4.0 * n_fits)
    assert [each.status for each in ample] == [TRIED] * 3


def test_a_candidate_that_is_skipped_is_not_fitted() -> None:
    problem = blobs()
    Sleeper.clock = 0.0
    candidate = Candidate("no", Sleeper(), "supervised", skipped="no was skipped: no reason.")
    (found,) = estimate(problem, [candidate], folds_of(problem))
    assert (found.status, found.reason) == (SKIPPED, "no was skipped: no reason.")
    assert Sleeper.clock == 0.0
    assert np.isnan(found.estimate.value)
    assert found.probabilities is None


def test_probabilities_that_are_not_finite_are_a_failure() -> None:
    class Broken(GaussianNB):
        def predict_proba(self, X: Any) -> NDArray[Any]:
            return np.full((len(X), 3), np.nan)

    problem = blobs()
    (found,) = estimate(problem, make_candidates({"x": Broken()}, problem), folds_of(problem))
    assert found.status == FAILED
    assert found.reason.startswith("x failed: ValueError: Broken.predict_proba gave NaN")


@pytest.mark.parametrize(("n_jobs", "n_workers", "started"), [(1, 4, 1), (5, 1, 1), (5, 3, 3)])
def test_no_more_workers_are_started_than_have_work(
    n_jobs: int, n_workers: int, started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts: list[Any] = []

    class Doubling(_FoldWork):
        def fit(self, jobs: Any) -> Any:
            parts.append(jobs)
            return [2 * job for job in jobs]

    monkeypatch.setattr(_estimate, "Parallel", lambda n_jobs: lambda calls: _called(calls, n_jobs))

    def _called(calls: Any, n_jobs: int) -> list[Any]:
        assert n_jobs == started > 1  # one worker is this process
        return [function(*args) for function, args, _ in calls]

    work = Doubling(None, None, "", 2, None)  # type: ignore[arg-type]
    assert work.share(list(range(n_jobs)), n_workers) == [2 * job for job in range(n_jobs)]
    assert len(parts) == started
