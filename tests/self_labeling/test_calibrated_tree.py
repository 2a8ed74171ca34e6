"""Trees with corrected leaves: counts by hand, the plain tree, and self-training with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_blobs
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.self_labeling import CalibratedTreeClassifier, SelfTrainingClassifier
from leaven.self_labeling._calibrated_tree import corrected_shares


@pytest.mark.parametrize("prior", ["uniform", "labeled"])
def test_leaves_by_counting(prior):
    X, y = load_iris(return_X_y=True)
    X, y = X[::2, :2], y[::2]
    weight = 1.0 + np.arange(75) % 3
    model = CalibratedTreeClassifier(
        smoothing=0.7, prior=prior, min_samples_leaf=6, random_state=0
    ).fit(X, y, weight)
    leaf = model.estimator_.apply(X)
    p = np.full(3, 1 / 3)
    if prior == "labeled":
        p = np.array([weight[y == c].sum() for c in range(3)]) / weight.sum()
    for name in np.unique(leaf):
        inside = leaf == name
        n = np.array([weight[inside & (y == c)].sum() for c in range(3)])
        expected = (n + 0.7 * 3 * p) / (n.sum() + 0.7 * 3)
        assert_allclose(model.predict_proba(X[inside])[0], expected)


def test_without_smoothing_it_is_the_tree():
    X, y = load_iris(return_X_y=True)
    model = CalibratedTreeClassifier(smoothing=0.0, random_state=0).fit(X[::2], y[::2])
    peer = DecisionTreeClassifier(random_state=0).fit(X[::2], y[::2])
    assert_allclose(model.predict_proba(X), peer.predict_proba(X))
    laplace = CalibratedTreeClassifier(random_state=0).fit(X[::2], y[::2])
    assert_array_equal(laplace.predict(X), peer.predict(X))
    assert laplace.predict_proba(X).max() < 1


@given(st.integers(0, 10_000), st.floats(0.01, 5.0))
def test_correction_shrinks_towards_the_prior_and_keeps_the_order(seed, smoothing):
    rng = np.random.default_rng(seed)
    counts, p = rng.integers(0, 20, (6, 3)).astype(float), np.full(3, 1 / 3)
    counts[:, 0] += 1
    shares = corrected_shares(counts, smoothing, p)
    assert_allclose(shares.sum(axis=1), 1.0)
    plain = counts / counts.sum(axis=1, keepdims=True)
    assert (np.abs(shares - p) <= np.abs(plain - p) + 1e-12).all()
    assert_array_equal(shares.argmax(axis=1), counts.argmax(axis=1))
    double = corrected_shares(2 * counts, smoothing, p)
    assert (double.max(axis=1) >= shares.max(axis=1) - 1e-12).all()


def test_self_training_takes_large_leaves_first():
    X, truth = make_blobs(300, centers=2, cluster_std=3.0, random_state=0)
    y = np.where(np.arange(300) < 60, truth, -1)
    plain = SelfTrainingClassifier(DecisionTreeClassifier(random_state=0), threshold=0.9)
    # All rows at once: a full tree is certain of everything.
    assert plain.fit(X, y).n_iter_ == 1
    model = SelfTrainingClassifier(CalibratedTreeClassifier(random_state=0), threshold=0.9)
    model.fit(X, y)
    first = model.history_[model.history_["iteration"] == 1]
    assert 0 < len(first) < 240
    # (n + 1) / (n + 2) > 0.9 in leaves of more than eight rows, all of one class.
    tree = DecisionTreeClassifier(random_state=0).fit(X[:60], truth[:60])
    size = np.bincount(tree.apply(X[:60]))[tree.apply(X[60:])]
    assert_array_equal(np.sort(first["row"]), 60 + np.flatnonzero(size > 8))


@parametrize_with_checks([CalibratedTreeClassifier()])
def test_sklearn_contract(estimator, check):
    check(estimator)
