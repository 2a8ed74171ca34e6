"""The checks find what they are for: a classifier that is right, spoiled in one way at a time."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven.base import TransductionMixin
from leaven.testing import (
    check_query_strategy,
    check_semi_supervised,
    query_strategy_checks,
    semi_supervised_checks,
)


class Centers(TransductionMixin, BaseEstimator):
    """Nearest class center, once more with the unlabeled rows."""

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Any:
        X, codes = self._validate_fit(X, y)
        guess = codes
        for _ in range(2):
            self.centers_ = np.array(
                [X[guess == c].mean(axis=0) for c in range(len(self.classes_))]
            )
            P = self._probabilities(X)
            guess = np.where(codes < 0, P.argmax(axis=1), codes)
        self._store_transduction(P, codes)
        return self

    def _probabilities(self, X: Any) -> Any:
        return softmax(-0.01 * ((X[:, None] - self.centers_) ** 2).sum(axis=2), axis=1)

    def predict_proba(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._probabilities(validate_data(self, X, reset=False))


class Undeclared(Centers):
    learns_from_unlabeled: ClassVar[bool] = False


class NotNormal(Centers):
    def fit(self, X: Any, y: Any) -> Any:
        super().fit(X, y)
        self.label_distributions_ = 2 * self.label_distributions_
        return self


class Overrules(Centers):
    def _store_transduction(self, P: Any, codes: Any, **options: Any) -> None:
        super()._store_transduction(P, codes, keep_given=False)


class PredictsTheFirst(Centers):
    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])


class ByPosition(Centers):
    def fit(self, X: Any, y: Any) -> Any:
        super().fit(X, y)
        self.label_distributions_[-1] = self.label_distributions_[-1, ::-1].copy()
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]
        return self


class OnlyIntegers(Centers):
    def fit(self, X: Any, y: Any) -> Any:
        return super().fit(X, np.asarray(y, dtype=int))


class FavorsTheFirst(Centers):
    def _probabilities(self, X: Any) -> Any:
        P = super()._probabilities(X) * np.array([0.6, 0.4])
        return P / P.sum(axis=1, keepdims=True)


class NeedsUnlabeled(Centers):
    def fit(self, X: Any, y: Any) -> Any:
        if not (np.asarray(y) == -1).any():
            raise ValueError("there is no unlabeled row")
        return super().fit(X, y)


class ChangesParameters(Centers):
    def fit(self, X: Any, y: Any) -> Any:
        self.random_state = 5
        return super().fit(X, y)


class Draws(Centers):
    def _probabilities(self, X: Any) -> Any:
        P = super()._probabilities(X) + 1e-3 * np.random.default_rng().random((len(X), 2))
        return P / P.sum(axis=1, keepdims=True)


class HoldsAFunction(Centers):
    def fit(self, X: Any, y: Any) -> Any:
        self.function_ = lambda x: x
        return super().fit(X, y)


class ForgetsNames(Centers):
    def fit(self, X: Any, y: Any) -> Any:
        return super().fit(np.asarray(X), np.asarray(y))


class SaysSparse(Centers):
    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class SortsInPlace(SaysSparse):
    def fit(self, X: Any, y: Any) -> Any:
        return super().fit(self._dense(X), y)

    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(self._dense(X))

    @staticmethod
    def _dense(X: Any) -> Any:
        if not sparse.issparse(X):
            return X
        X.sum_duplicates()
        return X.toarray()


class TakesAnything(Centers):
    def fit(self, X: Any, y: Any) -> Any:
        labels = np.asarray(y)
        if labels.dtype.kind == "i" and (labels == -1).all():
            labels = np.arange(len(labels)) % 2
        return super().fit(X, labels)


SPOILED = {
    "declares": Undeclared,
    "attributes": NotNormal,
    "keeps_labels": Overrules,
    "predicts": PredictsTheFirst,
    "permutation": ByPosition,
    "renaming": OnlyIntegers,
    "exchange": FavorsTheFirst,
    "marks": OnlyIntegers,
    "no_unlabeled_row": NeedsUnlabeled,
    "inputs_untouched": ChangesParameters,
    "repeatable": Draws,
    "pickles": HoldsAFunction,
    "data_frame": ForgetsNames,
    "sparse": SaysSparse,
    "sparse_untouched": SortsInPlace,
    "refuses_no_label": TakesAnything,
}


def test_a_classifier_that_keeps_its_promises_passes() -> None:
    assert check_semi_supervised(Centers()) == list(semi_supervised_checks())


def test_every_check_has_a_classifier_that_fails_it() -> None:
    assert list(SPOILED) == list(semi_supervised_checks())


@pytest.mark.parametrize("name", SPOILED)
def test_a_broken_promise_is_found_by_its_check(name: str) -> None:
    others = set(semi_supervised_checks()) - {name}
    with pytest.raises(AssertionError, match=f"{SPOILED[name].__name__} fails the check '{name}'"):
        check_semi_supervised(SPOILED[name](), skip=others)


def test_rows_of_your_own() -> None:
    X = np.linspace(-3, 3, 20)[:, None]
    y = np.full(20, -1)
    y[[0, 4, 15, 19]] = [0, 0, 1, 1]
    check_semi_supervised(Centers(), X=X, y=y, skip=["permutation"])
    with pytest.raises(ValueError, match="Give both X and y, or neither"):
        check_semi_supervised(Centers(), X=X)
    with pytest.raises(ValueError, match="skip holds 'sparze'; known checks are declares, "):
        check_semi_supervised(Centers(), skip=["sparze"])


class Plain(BaseEstimator):
    """The second column, which is a score like any other."""

    def scores(self, estimator: Any, X_pool: Any, X: Any = None, y: Any = None) -> Any:
        if X_pool.shape[0] == 0:
            raise ValueError("X_pool is empty")
        column = X_pool.iloc[:, 1] if hasattr(X_pool, "iloc") else X_pool[:, [1]]
        column = column.toarray() if hasattr(column, "toarray") else column
        return np.asarray(column, dtype=float).ravel()


class GivesNaN(Plain):
    def scores(self, *args: Any, **options: Any) -> Any:
        return np.full_like(super().scores(*args, **options), np.nan)


class Positional(Plain):
    def scores(self, *args: Any, **options: Any) -> Any:
        return np.arange(len(super().scores(*args, **options)), dtype=float)


class Restless(Plain):
    def scores(self, *args: Any, **options: Any) -> Any:
        return super().scores(*args, **options) + np.random.default_rng().random()


class Shuffles(Plain):
    def scores(self, *args: Any, **options: Any) -> Any:
        return np.random.default_rng().random(len(super().scores(*args, **options)))


class Local(Plain):
    def __init__(self) -> None:
        self.function = lambda x: x

    def get_params(self, deep: bool = True) -> Any:
        return {}


class Refits(Plain):
    def scores(self, estimator: Any, X_pool: Any, X: Any = None, y: Any = None) -> Any:
        estimator.fit(X, np.arange(len(y)) % 2)
        return super().scores(estimator, X_pool)


class OnlyArrays(Plain):
    def scores(self, estimator: Any, X_pool: Any, X: Any = None, y: Any = None) -> Any:
        return X_pool[:, 1]


class TakesNothing(Plain):
    def scores(self, estimator: Any, X_pool: Any, X: Any = None, y: Any = None) -> Any:
        return np.zeros(0) if X_pool.shape[0] == 0 else super().scores(estimator, X_pool)


class BadScores(Plain):
    def scores(self, estimator: Any, X_pool: Any, X: Any = None, y: Any = None) -> Any:
        found = super().scores(estimator, X_pool)
        return found if isinstance(estimator, GaussianNB) and y is not None and len(y) == 60 else 1


SPOILED_STRATEGIES = {
    "scores": GivesNaN,
    "permutation": Positional,
    "repeatable": Restless,
    "pickles": Local,
    "inputs_untouched": Refits,
    "data_frame": OnlyArrays,
    "sparse": BadScores,
    "empty_pool": TakesNothing,
    "learner": Shuffles,
}


def test_a_strategy_that_keeps_its_promises_passes() -> None:
    assert list(SPOILED_STRATEGIES) == list(query_strategy_checks())
    assert check_query_strategy(Plain()) == list(query_strategy_checks())


@pytest.mark.parametrize("name", SPOILED_STRATEGIES)
def test_a_broken_promise_of_a_strategy_is_found(name: str) -> None:
    spoiled = SPOILED_STRATEGIES[name]
    others = set(query_strategy_checks()) - {name}
    with pytest.raises(AssertionError, match=f"{spoiled.__name__} fails the check '{name}'"):
        check_query_strategy(spoiled(), skip=others)
