"""Gaussian features: constant ones, large numbers, few rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.naive_bayes import GaussianNB

from leaven.exceptions import LeavenWarning
from leaven.generative import SemiSupervisedGaussianNB

from .problems import hide, numbers


def test_a_constant_feature_is_left_out_and_reported():
    rng = np.random.default_rng(0)
    X, y = numbers(rng)
    labels = hide(rng, y)
    wide = np.insert(X, 2, 0.1, axis=1)
    model = SemiSupervisedGaussianNB().fit(wide, labels)
    assert_array_equal(np.flatnonzero(model.omitted_features_), [2])
    without = SemiSupervisedGaussianNB().fit(X, labels)
    assert_allclose(model.predict_proba(wide), without.predict_proba(X), atol=1e-12)
    # Labeled throughout it is still scikit-learn's, which keeps the feature.
    peer = GaussianNB().fit(wide, y)
    full = SemiSupervisedGaussianNB().fit(wide, y)
    assert_allclose(full.predict_proba(wide), peer.predict_proba(wide), atol=1e-9)
    assert_allclose(full.theta_, peer.theta_)
    assert_allclose(full.var_, peer.var_, rtol=1e-9)


def test_a_feature_constant_in_the_labeled_rows_of_one_class_is_left_out():
    rng = np.random.default_rng(1)
    X, y = numbers(rng, n_classes=2)
    labels = hide(rng, y, per_class=2)
    steps = rng.integers(0, 3, size=len(y)).astype(float)
    steps[labels == 0] = 1.0  # two labeled rows of class 0 happen to agree
    steps[np.flatnonzero(labels == 1)] = [0.0, 2.0]
    wide = np.column_stack([X, steps])
    model = SemiSupervisedGaussianNB().fit(wide, labels)
    assert_array_equal(np.flatnonzero(model.omitted_features_), [X.shape[1]])
    without = SemiSupervisedGaussianNB().fit(X, labels)
    assert_allclose(model.predict_proba(wide), without.predict_proba(X), atol=1e-9)
    kept = SemiSupervisedGaussianNB(constant_features="keep").fit(wide, labels)
    assert not kept.omitted_features_.any()
    # With weight 0 there is no unlabeled row to be repelled, and it is scikit-learn's.
    known = labels >= 0
    supervised = SemiSupervisedGaussianNB(unlabeled_weight=0.0).fit(wide, labels)
    peer = GaussianNB().fit(wide[known], labels[known])
    assert_allclose(supervised.predict_proba(wide), peer.predict_proba(wide), atol=1e-9)


def test_nothing_but_constant_features():
    X = np.array([[1.0], [1.0], [2.0], [2.0], [1.0], [3.0]])
    with pytest.warns(LeavenWarning, match="All 1 numeric features"):
        model = SemiSupervisedGaussianNB().fit(X, [0, 0, 1, 1, -1, -1])
    assert_allclose(model.predict_proba(X), 0.5)


def test_a_class_needs_two_rows():
    X = np.arange(6.0)[:, None]
    with pytest.raises(ValueError, match="Class 'lonely' has 1 labeled row"):
        SemiSupervisedGaussianNB().fit(X, ["a", "a", "lonely", None, None, None])


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_far_from_the_origin(offset):
    rng = np.random.default_rng(2)
    X, y = numbers(rng)
    X += offset
    peer = GaussianNB(var_smoothing=0.0).fit(X, y)
    ours = SemiSupervisedGaussianNB(var_smoothing=0.0).fit(X, y)
    assert_allclose(ours.var_, peer.var_, rtol=1e-7)
    assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    labels = hide(rng, y)
    trace = SemiSupervisedGaussianNB(tol=1e-12, max_iter=1000).fit(X, labels).objective_trace_
    assert (np.diff(trace) >= -1e-9 * np.abs(trace[1:])).all()


def test_float32_is_read_in_place():
    rng = np.random.default_rng(3)
    X, y = numbers(rng)
    labels = hide(rng, y)
    single = SemiSupervisedGaussianNB().fit(X.astype(np.float32), labels)
    double = SemiSupervisedGaussianNB().fit(X.astype(np.float32).astype(float), labels)
    assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=1e-12)
