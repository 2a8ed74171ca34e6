from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from leaven.active import (
    HighestEntropy,
    LeastConfident,
    RandomSampling,
    SmallestMargin,
    entropy,
    least_confidence,
    margin,
    probabilities,
)

UNCERTAINTY = [LeastConfident(), SmallestMargin(), HighestEntropy()]


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are the rows themselves."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.asarray(X)


class OnlyPredicts(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X))


ROWS = np.array([[0.5, 0.3, 0.2], [0.45, 0.45, 0.1], [0.1, 0.1, 0.8]])


def test_three_rows_by_hand():
    model = Given().fit(ROWS, [0, 1, 2])
    assert_allclose(LeastConfident().scores(model, ROWS), [0.5, 0.55, 0.2])
    assert_allclose(SmallestMargin().scores(model, ROWS), [0.8, 1.0, 0.3])
    by_hand = [
        0.5 * np.log(2) + 0.3 * np.log(10 / 3) + 0.2 * np.log(5),
        0.9 * np.log(20 / 9) + 0.1 * np.log(10),
        0.2 * np.log(10) + 0.8 * np.log(5 / 4),
    ]
    assert_allclose(HighestEntropy().scores(model, ROWS), by_hand)
    assert_allclose(margin(ROWS), [0.2, 0.0, 0.7])
    # They differ with three classes: the entropy sees the third.
    assert [int(s.scores(model, ROWS).argmax()) for s in UNCERTAINTY] == [1, 1, 0]


@settings(max_examples=25, deadline=None)
@given(arrays(float, st.integers(1, 20), elements=st.integers(0, 1000).map(lambda k: k / 1000)))
def test_two_classes_are_ordered_alike(p):
    P = np.column_stack([p, 1 - p])
    nearest_half = -np.abs(p - 0.5)
    for measure in (least_confidence(P), 1 - margin(P), entropy(P)):
        assert_array_equal(
            np.sign(np.subtract.outer(measure, measure).round(9)),
            np.sign(np.subtract.outer(nearest_half, nearest_half).round(9)),
        )


def test_certain_rows_and_one_class():
    assert_array_equal(entropy([[1.0, 0.0]]), [0.0])
    for measure, value in ((least_confidence, 0.0), (margin, 1.0), (entropy, 0.0)):
        assert_array_equal(measure([[1.0]]), [value])


def test_float32_and_integers():
    assert entropy(np.array([[0.5, 0.5]], dtype=np.float32)).dtype == np.float64
    assert_array_equal(least_confidence([[1, 0]]), [0.0])


@pytest.mark.parametrize("strategy", UNCERTAINTY)
def test_decisions_become_probabilities(strategy):
    X, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), [0, 0, 1, 1]
    pool = np.array([[-3.0], [0.0], [0.5], [4.0]])
    for model in (LinearSVC(), SVC(kernel="linear")):
        model.fit(X, y)
        d = model.decision_function(pool)
        expected = 1 / (1 + np.exp(-d))
        assert_allclose(probabilities(model, pool), np.column_stack([1 - expected, expected]))
        assert strategy.scores(model, pool).argmax() == np.abs(d).argmin()


def test_decisions_of_many_classes():
    X, y = np.eye(4), [0, 1, 2, 3]
    model = SVC(kernel="linear").fit(X, y)
    d = np.exp(model.decision_function(X))
    assert_allclose(probabilities(model, X), d / d.sum(axis=1, keepdims=True))
    with pytest.raises(ValueError, match="6 columns for 4 classes"):
        probabilities(SVC(kernel="linear", decision_function_shape="ovo").fit(X, y), X)


@pytest.mark.parametrize("strategy", UNCERTAINTY)
def test_sparse_frames_and_texts(strategy):
    X, y = np.array([[3.0, 0.0], [2.0, 1.0], [0.0, 2.0]]), ["a", "a", "b"]
    pool = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 5.0]])
    expected = strategy.scores(MultinomialNB().fit(X, y), pool)
    for make in (sparse.csr_matrix, sparse.csr_array, sparse.coo_matrix):
        assert_allclose(strategy.scores(MultinomialNB().fit(X, y), make(pool)), expected)
    frame = pd.DataFrame(X, columns=["u", "v"])
    pool_frame = pd.DataFrame(pool, columns=["u", "v"], index=[7, 7, 9])
    assert_allclose(strategy.scores(MultinomialNB().fit(frame, y), pool_frame), expected)
    assert_allclose(strategy.scores(MultinomialNB().fit(X, y), pool.tolist()), expected)
    texts = make_pipeline(CountVectorizer(), MultinomialNB())
    texts.fit(["uno uno uno", "uno uno dos", "dos dos"], y)
    for rows in (["uno", "uno dos", "dos dos dos dos dos"],):
        assert_allclose(strategy.scores(texts, rows), expected)
        assert_allclose(strategy.scores(texts, pd.Series(rows)), expected)


def test_errors():
    model = GaussianNB().fit([[0.0], [1.0]], [0, 1])
    for strategy in UNCERTAINTY:
        with pytest.raises(NotFittedError):
            strategy.scores(GaussianNB(), [[0.0]])
        with pytest.raises(ValueError, match="X_pool is empty"):
            strategy.scores(model, np.empty((0, 1)))
        with pytest.raises(ValueError, match="2 features"):
            strategy.scores(model, [[0.0, 1.0]])
        with pytest.raises(ValueError, match="X_pool is None"):
            strategy.scores(model, None)
        with pytest.raises(TypeError, match="OnlyPredicts has neither predict_proba nor decision"):
            strategy.scores(OnlyPredicts().fit([[0.0], [1.0]], [0, 1]), [[0.0]])
    for measure in (least_confidence, margin, entropy):
        with pytest.raises(ValueError, match=r"array of shape \(2,\)"):
            measure([0.5, 0.5])
    with pytest.raises(ValueError, match=r"gave NaN or infinity .* of 1 of 2 rows"):
        probabilities(Given().fit(ROWS, [0, 1, 1]), [[np.nan, 1.0], [0.5, 0.5]])


@pytest.mark.parametrize("strategy", [*UNCERTAINTY, RandomSampling(3)])
def test_strategies_clone_and_print(strategy):
    assert repr(clone(strategy)) == repr(strategy)
    assert type(strategy).__name__ in repr(strategy)


def test_random_scores():
    pool = np.arange(50.0)[:, None]
    strategy = RandomSampling(random_state=0)
    first = strategy.scores(None, pool)
    assert_array_equal(first, strategy.scores(KNeighborsClassifier(), pool))
    assert (first != RandomSampling(random_state=1).scores(None, pool)).all()
    # The same seed must not go through the pool in its order.
    order = []
    left = np.arange(50)
    while len(left):
        asked = strategy.scores(None, pool[left]).argmax()
        order.append(int(left[asked]))
        left = np.delete(left, asked)
    assert sorted(order) == list(range(50))
    assert np.mean(np.diff(order) == 1) < 0.2
    shared = RandomSampling(random_state=np.random.RandomState(0))
    assert (shared.scores(None, pool) != shared.scores(None, pool)).all()
    with pytest.raises(ValueError, match="X_pool is empty"):
        strategy.scores(None, pool[:0])


def test_random_scores_are_uniform():
    counts = np.zeros(4)
    for seed in range(400):
        counts[RandomSampling(seed).scores(None, np.eye(4)).argmax()] += 1
    assert counts.min() > 70  # 100 expected, standard deviation 9
