"""Each clause of a check, broken by itself; and what the checks leave alone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leaven.active import RandomSampling, SmallestMargin
from leaven.graph_based import ConsistencyClassifier, HarmonicClassifier
from leaven.self_labeling import SelfTrainingClassifier
from leaven.testing import (
    check_query_strategy,
    check_semi_supervised,
    query_strategy_checks,
    semi_supervised_checks,
)
from leaven.testing._run import SEED, quiet, run_check, run_checks, seeded
from leaven.testing._semi_supervised import default_problem


class Changed(HarmonicClassifier):
    """A classifier whose fitted attributes are changed by ``spoil`` after ``fit``."""

    def fit(self, X: Any, y: Any) -> Any:
        super().fit(X, y)
        self.spoil()
        return self

    def spoil(self) -> None:
        raise NotImplementedError


def spoiled(change: Any) -> Any:
    """Make a class whose ``spoil`` is a function of the fitted estimator."""
    return type("Spoiled", (Changed,), {"spoil": change})


def fails(name: str, estimator: Any, message: str) -> None:
    others = set(semi_supervised_checks()) - {name}
    with pytest.raises(AssertionError, match=message):
        check_semi_supervised(estimator, skip=others)


def set_rows(attribute: str, value: Any) -> Any:
    """Change some rows of an attribute in place of the whole."""

    def change(self: Any) -> None:
        array = np.array(getattr(self, attribute))
        array[3:5] = value
        setattr(self, attribute, array)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_rows("label_distributions_", np.nan), "holds NaN or infinity"),
        (set_rows("label_distributions_", [1.5, -0.5]), "holds a negative number"),
        (set_rows("label_distributions_", [0.7, 0.7]), "fails the check 'attributes'"),
        (set_rows("transduction_", 7), "fails the check 'attributes'"),
        (lambda self: setattr(self, "classes_", np.array([1, 0])), "'attributes'"),
        (lambda self: setattr(self, "n_features_in_", 3), "'attributes'"),
        (
            lambda self: setattr(self, "label_distributions_", np.full((60, 3), 1 / 3)),
            r"label_distributions_ has shape \(60, 3\)",
        ),
    ],
)
def test_attributes_clause_by_clause(change: Any, message: str) -> None:
    fails("attributes", spoiled(change)(), message)


def test_labeled_rows_must_be_certain() -> None:
    def doubt(self: Any) -> None:
        P = np.array(self.label_distributions_)
        P[P == 1.0], P[P == 0.0] = 0.9, 0.1
        self.label_distributions_ = P

    fails("keeps_labels", spoiled(doubt)(), "fails the check 'keeps_labels'")


class WrongProbabilities(HarmonicClassifier):
    def predict_proba(self, X: Any) -> Any:
        return 0.5 * super().predict_proba(X)


class BatchDependent(HarmonicClassifier):
    def predict_proba(self, X: Any) -> Any:
        P = super().predict_proba(X)
        return P if len(P) > 1 else P[:, ::-1]


class ThreeColumns(HarmonicClassifier):
    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 3), 1 / 3)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (WrongProbabilities(), "fails the check 'predicts'"),
        (BatchDependent(), "fails the check 'predicts'"),
        (ThreeColumns(), r"predict_proba gave shape \(60, 3\)"),
    ],
)
def test_predictions_clause_by_clause(estimator: Any, message: str) -> None:
    fails("predicts", estimator, message)


class Warns(HarmonicClassifier):
    def fit(self, X: Any, y: Any) -> Any:
        if not (np.asarray(y) == -1).any():
            warnings.warn("nothing to learn from", UserWarning, stacklevel=2)
        return super().fit(X, y)


class WritesToRows(HarmonicClassifier):
    def fit(self, X: Any, y: Any) -> Any:
        X[0, 0] += 1.0
        return super().fit(X, y)


class ChangesOnSecondFit(HarmonicClassifier):
    def fit(self, X: Any, y: Any) -> Any:
        again = hasattr(self, "graph_")
        super().fit(X, y)
        if again:
            self.label_distributions_ = self.label_distributions_ * 0.5
        return self


class ForgetsTransduction(HarmonicClassifier):
    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state["transduction_"] = state["transduction_"][::-1]
        return state


@pytest.mark.parametrize(
    ("name", "estimator", "message"),
    [
        ("no_unlabeled_row", Warns(), "UserWarning: nothing to learn from"),
        ("inputs_untouched", WritesToRows(), "read-only"),
        ("repeatable", ChangesOnSecondFit(), "fails the check 'repeatable'"),
        ("pickles", ForgetsTransduction(), "fails the check 'pickles'"),
    ],
)
def test_other_clauses(name: str, estimator: Any, message: str) -> None:
    fails(name, estimator, message)


def test_the_message_says_what_the_check_asks_for() -> None:
    def check_nothing(subject: Any, X: Any, y: Any) -> None:
        """Nothing may happen. And this is not said."""
        raise KeyError("gone")

    with pytest.raises(AssertionError) as caught:
        run_check("nothing", check_nothing, GaussianNB(), None, None)
    assert str(caught.value) == (
        "GaussianNB fails the check 'nothing' (Nothing may happen. And this is not said): "
        "KeyError: 'gone'"
    )
    assert isinstance(caught.value.__cause__, KeyError)


def test_checks_run_in_order_and_only_those_asked_for() -> None:
    seen: list[str] = []
    checks = {name: (lambda s, X, y, name=name: seen.append(name)) for name in "abc"}
    assert run_checks(checks, None, None, None, ["b"]) == ["a", "c"]
    assert seen == ["a", "c"]
    with pytest.raises(ValueError, match="skip holds 'x'; known checks are a, b, c"):
        run_checks(checks, None, None, None, ["x"])


def test_every_free_seed_is_set_and_others_are_kept() -> None:
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    assert seeded(pipe).get_params()["logisticregression__random_state"] == SEED
    assert pipe.get_params()["logisticregression__random_state"] is None
    assert seeded(RandomSampling(random_state=7)).random_state == 7
    assert seeded(RandomSampling()).random_state == SEED


def test_a_quiet_call_returns_what_is_returned() -> None:
    def loud(a: int, b: int) -> int:
        warnings.warn("look", UserWarning, stacklevel=2)
        return a - b

    assert quiet(loud, 9, 4) == 5
    with pytest.warns(UserWarning, match="look"):
        loud(1, 2)


def test_the_default_problem_is_what_it_says() -> None:
    X, y = default_problem()
    assert X.shape == (60, 5)
    assert (X > 0).all()
    assert (y >= 0).sum() == 8
    assert np.bincount(y[y >= 0]).tolist() == [4, 4]
    distances = np.linalg.norm(X[:, None] - X, axis=2)[np.triu_indices(60, 1)]
    assert len(np.unique(distances)) == len(distances)
    again, _ = default_problem()
    again[0, 0] = -1.0  # a copy: the next caller gets its own
    assert default_problem()[0][0, 0] > 0


def test_lists_of_checks_are_copies() -> None:
    semi_supervised_checks().clear()
    query_strategy_checks().clear()
    assert len(semi_supervised_checks()) > 10
    assert len(query_strategy_checks()) > 5


@pytest.mark.parametrize(
    "estimator",
    [
        SelfTrainingClassifier(GaussianNB(), threshold=0.8),
        make_pipeline(StandardScaler(), ConsistencyClassifier()),
    ],
    ids=["meta", "pipeline"],
)
def test_what_wraps_a_classifier_is_checked_too(estimator: Any) -> None:
    checks = semi_supervised_checks()
    X, y = default_problem()
    names = ["declares", "permutation"] if hasattr(estimator, "threshold") else ["declares"]
    for name in names:
        checks[name](seeded(estimator), X, y)


def test_the_estimator_that_is_checked_is_not_fitted() -> None:
    estimator = ConsistencyClassifier()
    check_semi_supervised(estimator, skip=set(semi_supervised_checks()) - {"attributes"})
    assert not hasattr(estimator, "classes_")
    strategy = SmallestMargin()
    check_query_strategy(strategy, skip=set(query_strategy_checks()) - {"scores"})
    assert vars(strategy) == vars(SmallestMargin())


# Strategies


class Scores(BaseEstimator):
    """Scores made by a function of the number of rows in the pool."""

    def __init__(self, make: Any = None) -> None:
        self.make = make

    def scores(self, estimator: Any, X_pool: Any, X: Any = None, y: Any = None) -> Any:
        return self.make(X_pool.shape[0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda n: np.zeros(n + 1), r"52 rows gave scores of shape \(53,\)"),
        (lambda n: np.zeros((n, 1)), r"gave scores of shape \(52, 1\)"),
        (lambda n: np.zeros(n, dtype=int), "scores have dtype int"),
        (lambda n: np.full(n, np.inf), r"a score is \+inf"),
        (lambda n: np.full(n, -np.inf), "no row was considered"),
        (lambda n: np.zeros(52), "fails the check 'scores'"),  # not one for a pool of one row
    ],
)
def test_scores_clause_by_clause(make: Any, message: str) -> None:
    others = set(query_strategy_checks()) - {"scores"}
    with pytest.raises(AssertionError, match=message):
        check_query_strategy(Scores(make), skip=others)


class AsksTwice(SmallestMargin):
    """Writes to the pool that it is given."""

    def scores(self, estimator: Any, X_pool: Any, X: Any = None, y: Any = None) -> Any:
        found = super().scores(estimator, X_pool, X, y)
        X_pool[0, 0] += 0.0
        return found


class SetsParameters(SmallestMargin):
    def __init__(self, size: int = 1) -> None:
        self.size = size

    def scores(self, estimator: Any, X_pool: Any, X: Any = None, y: Any = None) -> Any:
        self.size += 1
        return super().scores(estimator, X_pool, X, y)


@pytest.mark.parametrize(
    ("strategy", "message"),
    [(AsksTwice(), "read-only"), (SetsParameters(), "scores changed a parameter")],
)
def test_strategies_leave_their_inputs_alone(strategy: Any, message: str) -> None:
    others = set(query_strategy_checks()) - {"inputs_untouched"}
    with pytest.raises(AssertionError, match=message):
        check_query_strategy(strategy, skip=others)
