"""Small semi-supervised problems for the tests of low-density separation."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons


def hide(y, n_labeled, seed=0):
    """Keep ``n_labeled`` labels of each class, drawn at random; -1 elsewhere."""
    rng = np.random.default_rng(seed)
    partial = np.full(len(y), -1)
    for k in np.unique(y):
        kept = rng.choice(np.flatnonzero(y == k), n_labeled, replace=False)
        partial[kept] = k
    return partial


@pytest.fixture
def moons():
    """Two moons of ``n`` rows with ``n_labeled`` labels a class: X, y, partial y."""

    def make(n, n_labeled, seed=0, noise=0.05):
        X, y = make_moons(n, noise=noise, random_state=seed)
        return X, y, hide(y, n_labeled, seed)

    return make


@pytest.fixture
def clusters():
    """Two clusters of ``n`` rows with ``n_labeled`` labels a class: X, y, partial y."""

    def make(n, n_labeled, seed=0, std=0.8):
        X, y = make_blobs(n, centers=[[-2, -2], [2, 2]], cluster_std=std, random_state=seed)
        return X, y, hide(y, n_labeled, seed)

    return make
