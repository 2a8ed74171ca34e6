"""Weights of rows in self-training."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from leaven.self_labeling import SelfTrainingClassifier


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) + np.repeat([[0.0, 0.0], [2.5, 0.5]], 20, axis=0)
    y = np.repeat([3, 8], 20)
    y[np.arange(40) % 20 > 5] = -1
    return X, y, rng.uniform(0.3, 2.5, size=40)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_last_fit_has_the_weights(rows, weighted):
    X, y, weight = rows
    model = SelfTrainingClassifier(GaussianNB(), threshold=0.8, weighted=weighted)
    model.fit(X, y, sample_weight=weight)
    used = weight.copy()
    if weighted:
        for row in model.history_.itertuples():
            used[row.row] *= row.confidence
    joined = model.labeled_iter_ >= 0
    assert joined.sum() > 12
    peer = GaussianNB().fit(X[joined], model.transduction_[joined], sample_weight=used[joined])
    assert_allclose(model.predict_proba(X), peer.predict_proba(X))
    plain = SelfTrainingClassifier(GaussianNB(), threshold=0.8, weighted=weighted).fit(X, y)
    assert np.abs(plain.predict_proba(X) - model.predict_proba(X)).max() > 1e-3


def test_weights_of_one_change_nothing(rows):
    X, y, _ = rows
    one = SelfTrainingClassifier(LogisticRegression(), threshold=0.9).fit(X, y, np.ones(40))
    other = SelfTrainingClassifier(LogisticRegression(), threshold=0.9).fit(X, y)
    assert_allclose(one.predict_proba(X), other.predict_proba(X))


def test_weights_that_do_not_fit_are_refused(rows):
    X, y, weight = rows
    with pytest.raises(ValueError, match=r"must be 40 numbers of 0 or more, got an array of shape"):
        SelfTrainingClassifier(GaussianNB()).fit(X, y, sample_weight=weight[:9])
    with pytest.raises(ValueError, match="must be 40 numbers of 0 or more"):
        SelfTrainingClassifier(GaussianNB()).fit(X, y, sample_weight=-weight)
    with pytest.raises((TypeError, ValueError), match=r"Fit without sample_weight\."):
        SelfTrainingClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=weight)
