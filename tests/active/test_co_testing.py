"""Co-testing and Co-EMT: contention points by hand, and the loop with Co-EM."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leaven.active import ActiveLearner, CoTesting
from leaven.active._co_testing import contention_scores
from leaven.self_labeling import CoEMClassifier, CoTrainingClassifier

VIEWS = (slice(0, 3), slice(3, 6))


def two_views(seed=0, n=200):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    X = 1.6 * truth[:, None] + rng.normal(size=(n, 6))
    return X, truth


@given(st.integers(0, 10_000), st.sampled_from(["least-confident", "most-confident", "random"]))
def test_contention_points_come_first(seed, select):
    rng = np.random.RandomState(seed)
    first, second = rng.dirichlet(np.ones(3), 20), rng.dirichlet(np.ones(3), 20)
    scores = contention_scores(first, second, select, rng)
    against = first.argmax(axis=1) != second.argmax(axis=1)
    assert_array_equal(scores >= 1, against)
    assert (scores >= 0).all()
    assert (scores < 2).all()
    if select == "least-confident":
        joint = first * second / (first * second).sum(axis=1, keepdims=True)
        assert_allclose(scores, against + 1 - joint.max(axis=1), atol=1e-12)


def test_views_without_a_common_class():
    first, second = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    assert_allclose(contention_scores(first, second, "least-confident"), 1.5)
    assert contention_scores(first, second, "most-confident")[0] == pytest.approx(2.0)


def test_plain_classifier_is_fitted_once_per_view():
    X, truth = two_views()
    y = np.where(np.arange(200) < 12, truth, -1)
    given = y >= 0
    found = CoTesting(views=VIEWS).scores(GaussianNB().fit(X[given], y[given]), X[~given], X, y)
    P = [GaussianNB().fit(X[given][:, v], y[given]).predict_proba(X[~given][:, v]) for v in VIEWS]
    assert_allclose(found, contention_scores(P[0], P[1], "least-confident"))
    assert 5 < (found >= 1).sum() < 100


@pytest.mark.parametrize("cls", [CoEMClassifier, CoTrainingClassifier])
def test_fitted_views_are_used_as_they_are(cls):
    X, truth = two_views()
    y = np.where(np.arange(200) < 12, truth, -1)
    model = cls(GaussianNB(), views=VIEWS, random_state=0).fit(X, y)
    P = [fitted.predict_proba(X[:, v]) for fitted, v in zip(model.estimators_, VIEWS, strict=True)]
    by_view = model.predict_proba_by_view(X)
    assert_allclose(by_view[0], P[0])
    assert_allclose(by_view[1], P[1])
    product = P[0] * P[1]
    assert_allclose(model.predict_proba(X), product / product.sum(axis=1, keepdims=True))
    found = CoTesting("most-confident").scores(model, X)
    assert_allclose(found, contention_scores(P[0], P[1], "most-confident"))
    nothing = StandardScaler(with_mean=False, with_std=False)
    pipeline = make_pipeline(nothing, clone(model)).fit(X, y)
    assert_allclose(CoTesting("most-confident").scores(pipeline, X), found)


def test_co_emt_asks_about_contention_points():
    X, truth = two_views(3)
    y = np.where(np.arange(200) < 8, truth, -1)
    learner = ActiveLearner(
        CoEMClassifier(GaussianNB(), views=VIEWS, collapse="ignore"), CoTesting()
    ).fit(X, y)
    for _ in range(5):
        (row,) = learner.query(1)
        first, second = learner.estimator_.predict_proba_by_view(X)
        open_rows = np.flatnonzero(y < 0)
        against = first.argmax(axis=1) != second.argmax(axis=1)
        assert against[row] or not against[open_rows].any()
        y[row] = truth[row]
        learner.teach([row], [truth[row]])
    assert (y >= 0).sum() == 13
