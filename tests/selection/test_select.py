"""From a problem to fitted candidates."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from leaven._labels import UNLABELED
from leaven.datasets import make_two_moons
from leaven.graph import KNNGraph
from leaven.graph_based import HarmonicClassifier
from leaven.selection import (
    GraphPool,
    Problem,
    Selection,
    Step,
    draw_folds,
    estimate,
    fit,
    fit_named,
    make_candidates,
    select,
    standard_problem,
    take_one,
)


def moons(per_class: int = 8, n: int = 120) -> tuple[Problem, Any]:
    X, truth = make_two_moons(n, random_state=0)
    codes = np.full(n, UNLABELED)
    for code in (0, 1):
        codes[np.flatnonzero(truth == code)[:per_class]] = code
    return standard_problem(X, codes, np.array(["left", "right"])), truth


def run(problem: Problem, names: Any, **options: Any) -> Selection:
    return select(problem, make_candidates(names, problem), random_state=0, **options)


class Scaled:
    """A fitted scaler with factors, as tables have."""

    scales_ = np.array([2.0, 3.0])

    def transform(self, X: Any) -> Any:
        return X * self.scales_


class CountingGraph(KNNGraph):
    built = 0

    def _fit_graph(self, X: Any, labeled: Any) -> None:
        CountingGraph.built += 1
        super()._fit_graph(X, labeled)


class Failing(ClassifierMixin, BaseEstimator):
    def fit(self, X: Any, y: Any) -> Failing:
        raise RuntimeError("the cable is out")


def test_held_out_probabilities_are_those_of_fits_without_the_labels() -> None:
    problem, _ = moons()
    candidates = make_candidates({"bayes": GaussianNB()}, problem)
    folds = draw_folds(problem.codes, 2, random_state=0)
    assert folds is not None
    (outcome,) = estimate(problem, candidates, folds)
    expected = np.empty((2, len(folds.rows), 2))
    for repeat, test in folds.tests():
        train = np.setdiff1d(np.flatnonzero(problem.labeled), folds.rows[test])
        bayes = GaussianNB().fit(problem.X[train], problem.codes[train])
        expected[repeat, test] = bayes.predict_proba(problem.X[folds.rows[test]])
    assert_allclose(outcome.probabilities, expected)
    right = (expected.argmax(axis=2) == problem.codes[folds.rows]).mean(axis=0)
    assert_allclose(outcome.results, right)
    assert outcome.estimate.value == pytest.approx(right.mean())


def test_the_last_fit_is_that_of_the_estimator_alone() -> None:
    problem, _ = moons()
    found = run(problem, ["logistic-regression", "harmonic"])
    assert found.decision.choice == "harmonic"
    (fitted,) = found.fitted.candidates
    graph = KNNGraph(10, recall=0.9).fit(problem.scaled)
    labels = np.where(problem.labeled, problem.classes[problem.codes], None)
    alone = HarmonicClassifier(graph, prior="labeled").fit(problem.scaled, labels)
    assert_allclose(found.probabilities, alone.label_distributions_, atol=1e-12)
    assert_allclose(
        fitted.estimator.predict_proba(problem.X[:9]), alone.predict_proba(problem.scaled[:9])
    )
    assert_array_equal(found.fitted.estimator.predict(problem.X), alone.predict(problem.scaled))
    assert found.held_out is not None
    assert found.held_out.shape == (2, 16, 2)


def test_a_combination_carries_several_fitted_candidates() -> None:
    problem, truth = moons()
    names = ["logistic-regression", "harmonic", "consistency", "spectral-transducer"]
    found = run(problem, names)
    assert found.decision.choice == "combination"
    assert set(found.decision.weights) == {each.name for each in found.fitted.candidates}
    assert [each.name for each in found.outcomes] == [*names, "combination"]
    # A row on which all fitted candidates agree gets that class.
    classes = np.stack([each.probabilities.argmax(axis=1) for each in found.fitted.candidates])
    agreed = (classes == classes[0]).all(axis=0) & ~problem.labeled
    assert agreed.sum() > 20
    assert_array_equal(found.probabilities.argmax(axis=1)[agreed], classes[0][agreed])
    assert_array_equal(
        found.probabilities[problem.labeled].argmax(axis=1), problem.codes[problem.labeled]
    )
    assert (found.probabilities.argmax(axis=1) == truth).mean() > 0.9
    assert found.fitted.best_estimator is found.fitted.estimator
    # New rows that are like rows of the problem get what those got, but for graph methods,
    # which average over neighbors.
    new = found.fitted.estimator.predict(problem.X)
    assert (new == problem.classes[truth]).mean() > 0.85


def test_a_single_candidate_without_predict_proba_still_has_probabilities() -> None:
    problem, _ = moons()
    found = run(problem, {"svm": LinearSVC(random_state=0)})
    together = found.fitted.estimator
    margins = found.fitted.best_estimator.decision_function(problem.X)
    assert_allclose(together.predict_proba(problem.X)[:, 1], 1 / (1 + np.exp(-margins)))
    assert_array_equal(together.predict(problem.X), problem.classes[(margins > 0).astype(int)])


def test_the_scales_are_those_of_the_fitted_candidate() -> None:
    problem, _ = moons()
    own = Problem(problem.X, problem.codes, problem.classes, "continuous", Scaled())
    found = run(own, ["logistic-regression"])
    assert_allclose(found.fitted.scales, [2.0, 3.0])
    assert run(problem, ["logistic-regression"]).fitted.scales is None


def test_rows_that_no_label_reaches_are_counted_with_a_vote_too() -> None:
    rng = np.random.RandomState(0)
    problem, _ = moons()
    X = np.vstack([problem.X, rng.normal(100.0, 0.1, size=(30, 2))])
    codes = np.concatenate([problem.codes, np.full(30, UNLABELED)])
    far = Problem(X, codes, problem.classes, "continuous")
    names = ["logistic-regression", "harmonic", "consistency", "spectral-transducer"]
    with pytest.warns(UserWarning, match="no path to a labeled row"):
        found = run(far, names)
    assert len(found.decision.weights) > 1
    assert found.fitted.n_unreached == 30


def test_progress_names_the_candidate_that_runs_now() -> None:
    problem, _ = moons()
    steps: list[Step] = []
    names = ["logistic-regression", "naive-bayes", "harmonic"]
    found = run(problem, names, combine=False, progress=steps.append)
    # The cheap ones first, and the choice in the end.
    assert [step.name for step in steps] == [
        "naive-bayes",
        "logistic-regression",
        "harmonic",
        found.decision.choice,
    ]
    assert [(step.done, step.total) for step in steps] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert steps[0].last is None
    assert [step.last.name for step in steps[1:3] if step.last] == [
        "naive-bayes",
        "logistic-regression",
    ]


def test_a_failure_is_recorded_and_the_others_go_on() -> None:
    problem, _ = moons()
    own = {"bad": Failing(), "logistic": LogisticRegression()}
    found = run(problem, own)
    bad = found.outcomes[0]
    assert (bad.status, bad.reason) == ("failed", "bad failed: RuntimeError: the cable is out")
    assert found.decision.weights == {"logistic": 1.0}


def test_graphs_are_built_once_for_all_candidates_and_runs() -> None:
    problem, _ = moons()
    own = Problem(problem.X, problem.codes, problem.classes, "continuous", graph=CountingGraph(6))
    CountingGraph.built = 0
    first = run(own, ["harmonic", "consistency"])
    assert CountingGraph.built == 1
    # One more label: the graph, which does not look at labels, is still the same.
    codes = own.codes.copy()
    codes[np.flatnonzero(codes == UNLABELED)[0]] = 1
    run(own.with_codes(codes), ["harmonic", "consistency"])
    assert CountingGraph.built == 1
    assert len(own.graphs) == 1
    # What is fitted has its own parameter again, and a clone would build its own graph.
    assert type(first.fitted.best_estimator.graph) is CountingGraph


def test_a_graph_that_looks_at_labels_is_built_once_per_fold() -> None:
    problem, _ = moons()
    builder = CountingGraph(6, include_labeled=True)
    own = Problem(problem.X, problem.codes, problem.classes, "continuous", graph=builder)
    CountingGraph.built = 0
    found = run(own, ["harmonic", "consistency"])
    assert found.folds is not None
    distinct = {own.codes.tobytes()}
    for _, test in found.folds.tests():
        codes = own.codes.copy()
        codes[found.folds.rows[test]] = UNLABELED
        distinct.add(codes.tobytes())
    assert CountingGraph.built == len(distinct)


def test_the_graph_of_the_last_fit_may_be_another() -> None:
    problem, _ = moons()
    own = Problem(
        problem.X,
        problem.codes,
        problem.classes,
        "continuous",
        graph=KNNGraph(4),
        last_graph=KNNGraph(9),
    )
    fitted = run(own, ["harmonic"]).fitted.best_estimator
    assert fitted.graph_builder_.n_neighbors == 9


def test_a_pool_is_bounded_and_travels_empty() -> None:
    pool = GraphPool()
    X = np.arange(6.0)[:, None]
    for number in range(100):
        pool.fitted(number, KNNGraph(1), X, np.zeros(6, dtype=np.intp))
    assert len(pool) == 64
    kept = pool.fitted(99, KNNGraph(1), X, np.zeros(6, dtype=np.intp))
    assert pool.fitted(99, KNNGraph(1), X, np.zeros(6, dtype=np.intp)) is kept
    assert len(pickle.loads(pickle.dumps(pool))) == 0


def test_a_named_candidate_chooses_its_parameters_on_folds() -> None:
    problem, _ = moons()
    (em,) = make_candidates(["naive-bayes-em"], problem)
    found = fit_named(problem, em, random_state=0)
    (outcome,) = found.outcomes
    assert outcome.params in em.grid
    assert found.decision.params == {"naive-bayes-em": outcome.params}
    weight = found.fitted.best_estimator[-1].unlabeled_weight
    assert {"unlabeled_weight": weight} == outcome.params
    # Without a class of two labels the first of the grid is taken.
    codes = np.full(problem.n_rows, UNLABELED)
    codes[[0, 1]] = problem.codes[np.flatnonzero(problem.labeled)[[0, -1]]]
    few = problem.with_codes(codes)
    assert fit_named(few, em).decision.params == {"naive-bayes-em": em.grid[0]}


def test_a_named_candidate_that_does_not_fit_or_fails_is_an_error() -> None:
    problem, _ = moons()
    many = Problem(problem.X, problem.codes, np.arange(9), "continuous")
    (svm,) = make_candidates(["transductive-svm"], many)
    with pytest.raises(ValueError, match=r"9 classes, it takes at most 3. Name another method"):
        fit_named(many, svm)
    (bad,) = make_candidates({"bad": Failing()}, problem)
    with pytest.raises(RuntimeError, match="the cable is out"):
        fit_named(problem, bad)


def test_a_decision_can_be_fitted_again_with_more_labels() -> None:
    problem, truth = moons(per_class=3)
    first = run(problem, ["logistic-regression", "harmonic"])
    codes = np.where(np.arange(problem.n_rows) < 60, truth, problem.codes)
    more = problem.with_codes(codes)
    again = fit(more, make_candidates(list(first.decision.weights), more), first.decision)
    assert (again.probabilities.argmax(axis=1)[:60] == truth[:60]).all()
    assert {each.name for each in again.candidates} == set(first.decision.weights)


def test_labels_that_need_integers_are_given_as_codes() -> None:
    from sklearn.semi_supervised import LabelSpreading

    problem, truth = moons()
    (candidate,) = make_candidates({"spread": LabelSpreading(kernel="knn")}, problem)
    fitted = fit(problem, [candidate], take_one(candidate))
    assert set(fitted.best_estimator.classes_) == {0, 1}
    assert set(fitted.estimator.predict(problem.X)) == {"left", "right"}
    assert (fitted.probabilities.argmax(axis=1) == truth).mean() > 0.9


def test_one_label_for_each_of_many_classes_is_no_regression() -> None:
    """scikit-learn warns of it in every fit; here warnings are errors."""
    rng = np.random.default_rng(0)
    truth = np.arange(90) % 30
    X = rng.normal(scale=9.0, size=(30, 4))[truth] + rng.normal(size=(90, 4))
    codes = np.where(np.arange(90) < 30, truth, -1)
    problem = standard_problem(X, codes, np.arange(30))
    names = ["logistic-regression", "linear-svm", "extra-trees", "self-trained-trees"]
    found = select(problem, make_candidates(names, problem))
    assert np.mean(found.probabilities.argmax(axis=1) == truth) > 0.9
