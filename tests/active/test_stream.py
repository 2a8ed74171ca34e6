from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.semi_supervised import LabelSpreading

from leaven.active import SmallestMargin, StreamSampler
from leaven.active._stream import adapt_threshold
from leaven.datasets import make_two_gaussians
from leaven.exceptions import NotFittedError
from leaven.generative import SemiSupervisedGaussianNB


class Told(BaseEstimator):
    """A strategy whose score is the first feature."""

    def scores(self, estimator, X_pool, X=None, y=None):
        return np.asarray(X_pool, dtype=float)[:, 0]


def started(**options):
    sampler = StreamSampler(GaussianNB(), Told(), **options)
    return sampler.fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1])


@settings(max_examples=25, deadline=None)
@given(
    scores=st.lists(st.floats(0, 1), min_size=1, max_size=120),
    budget=st.floats(0.05, 1.0),
    window=st.integers(1, 40),
    threshold=st.sampled_from(["fixed", "variable", "randomized"]),
    seed=st.integers(0, 100),
)
def test_no_window_is_over_the_budget(scores, budget, window, threshold, seed):
    if np.floor(budget * window + 1e-9) < 1:
        return
    sampler = started(budget=budget, window=window, threshold=threshold, random_state=seed)
    asked = np.array([sampler.ask([score]) for score in scores])
    assert sampler.n_asked_ == asked.sum()
    assert sampler.n_seen_ == len(scores)
    counts = np.convolve(asked, np.ones(window))
    assert counts.max() <= budget * window + 1e-9


def test_fixed_threshold_by_hand():
    sampler = started(budget=1.0, window=10, threshold="fixed", level=0.8)
    # Confidence is one minus the score.
    assert [sampler.ask([score]) for score in (0.1, 0.19, 0.21, 0.5)] == [False, False, True, True]


def test_variable_threshold_by_hand():
    sampler = started(budget=1.0, window=10, threshold="variable", step=0.5)
    assert sampler.threshold_ == 1.0
    # 0.7 < 1: asked, 0.5. 0.7: passed, 0.75. 0.7 < 0.75: asked, 0.375. 0.4: passed.
    assert [sampler.ask([score]) for score in (0.3, 0.3, 0.3, 0.6)] == [True, False, True, False]
    assert_allclose(sampler.threshold_, 0.375 * 1.5)
    assert_allclose(adapt_threshold(0.4, asked=False, step=0.25), 0.5)


def test_a_full_window_leaves_the_threshold():
    sampler = started(budget=0.5, window=2, step=0.5)
    assert [sampler.ask([0.9]) for _ in range(4)] == [True, False, True, False]
    assert_allclose(sampler.threshold_, 0.25)


def test_randomized_threshold_follows_the_random_numbers():
    sampler = started(budget=1.0, window=10, threshold="randomized", step=0.1, random_state=3)
    rng, threshold, expected = np.random.RandomState(3), 1.0, []
    scores = np.linspace(0.1, 0.9, 12)
    for score in scores:
        wanted = 1 - score < threshold * rng.normal(1.0, 1.0)
        threshold *= 0.9 if wanted else 1.1
        expected.append(wanted)
    assert [sampler.ask([score]) for score in scores] == expected


def test_the_budget_is_used_by_the_variable_threshold_only():
    # A model that is always sure: the fixed threshold never asks, the variable one does.
    fixed = started(budget=0.2, window=50, threshold="fixed", level=0.9)
    variable = started(budget=0.2, window=50, threshold="variable")
    for _ in range(500):
        fixed.ask([0.05])
        variable.ask([0.05])
    assert fixed.n_asked_ == 0
    assert variable.n_asked_ == 100


def test_without_two_classes_every_row_is_wanted():
    sampler = StreamSampler(GaussianNB(), budget=0.5, window=4)
    assert [sampler.ask([0.0, 1.0]) for _ in range(4)] == [True, True, False, False]
    sampler.teach([0.0, 1.0], "a")
    with pytest.raises(NotFittedError, match="at least 2 classes"):
        sampler.predict([[0.0, 1.0]])


@pytest.mark.parametrize("estimator", [GaussianNB(), LogisticRegression()])
def test_learns_what_a_batch_learns(estimator):
    X, y = make_two_gaussians(60, random_state=0)
    names = np.where(y == 1, "yes", "no")
    sampler = StreamSampler(estimator)
    for place, (x, name) in enumerate(zip(X, names, strict=True)):
        sampler.teach(x, name)
        if place > 30:
            sampler.ask(x)  # makes it fit in between
    expected = estimator.fit(X, names)
    assert_array_equal(sampler.predict(X), expected.predict(X))
    assert_allclose(sampler.estimator_.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    assert sampler.classes_.tolist() == ["no", "yes"]


def test_a_new_class_is_learned_from_the_labels_kept():
    rng = np.random.RandomState(0)
    X, y = rng.randn(90, 2) + np.repeat([0, 6, 12], 30)[:, None], np.repeat([4, 7, 9], 30)
    sampler = StreamSampler(GaussianNB())
    for x, label in zip(X, y, strict=True):
        sampler.teach(x, label)
        sampler.ask(x)
    assert_array_equal(sampler.classes_, [4, 7, 9])
    assert (sampler.predict(X) == y).mean() > 0.95


def test_only_so_many_labels_are_kept():
    sampler = StreamSampler(LogisticRegression(), keep=4)
    for place in range(20):
        sampler.teach([float(place)], place // 2)
    assert_array_equal(sampler.classes_, [8, 9])


def test_semi_supervised_estimators_see_the_rows_that_were_passed():
    X, y = make_two_gaussians(40, random_state=1)
    names = np.where(y == 1, "yes", "no").astype(object)
    for estimator in (SemiSupervisedGaussianNB(), LabelSpreading()):
        sampler = StreamSampler(estimator, threshold="fixed", level=1e-9)
        sampler.fit(X[:10], names[:10])
        assert not any(sampler.ask(x) for x in X[10:])
        marked = np.where(np.arange(40) < 10, y, -1)
        expected = estimator.fit(X, marked).predict_proba(X)
        assert_allclose(sampler.estimator_.predict_proba(X), expected, atol=1e-9)
        assert set(sampler.predict(X)) == {"yes", "no"}


def test_rows_of_every_kind():
    X, y = make_two_gaussians(30, random_state=2)
    frame = pd.DataFrame(X, columns=["a", "b"])
    dense, series = StreamSampler(GaussianNB()), StreamSampler(GaussianNB())
    counts, table = StreamSampler(MultinomialNB()), StreamSampler(GaussianNB())
    for place in range(30):
        dense.teach(X[place], y[place])
        series.teach(frame.iloc[place], y[place])
        table.teach(frame.iloc[[place]], y[place])
        counts.teach(sparse.csr_array(np.abs(X[[place]])), y[place])
        assert (
            dense.ask(X[place]) == series.ask(frame.iloc[place]) == table.ask(frame.iloc[[place]])
        )
        counts.ask(sparse.csr_array(np.abs(X[[place]])))
    assert_array_equal(dense.predict(X), table.predict(frame))
    assert_array_equal(series.predict(frame), table.predict(frame))
    words = StreamSampler(make_pipeline(CountVectorizer(), MultinomialNB()))
    for text, label in (("good fun", 1), ("bad luck", 0), ("fun", 1)):
        words.ask(text)
        words.teach(text, label)
    assert words.predict(["so much fun"]).tolist() == [1]


def test_a_strategy_of_the_pool_serves_the_stream():
    X, y = make_two_gaussians(50, random_state=3)
    sampler = StreamSampler(GaussianNB(), SmallestMargin(), budget=0.3, window=10).fit(X, y)
    assert sum(sampler.ask(x) for x in X) <= 15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0.01, "window": 50}, "less than one row.*at least 100"),
        ({"budget": 0.0}, "'budget' parameter of StreamSampler"),
        ({"threshold": "free"}, "'threshold' parameter of StreamSampler"),
        ({"keep": 1}, "'keep' parameter of StreamSampler"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        StreamSampler(GaussianNB(), **options).ask([0.0])


def test_bad_rows_and_labels():
    sampler = StreamSampler(GaussianNB())
    sampler.teach([0.0, 1.0], "a")
    with pytest.raises(ValueError, match="x has 3 features, but the rows before had 2"):
        sampler.ask([0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="one row, got 2"):
        sampler.ask([[0.0, 1.0], [2.0, 3.0]])
    with pytest.raises(ValueError, match="mark of an unlabeled row"):
        sampler.teach([0.0, 1.0], None)
    with pytest.raises(ValueError, match="different types"):
        sampler.teach([0.0, 1.0], 5)
    with pytest.raises(ValueError, match="without y"):
        sampler.fit([[0.0]])
