"""What Saeed (2018, chapter 3) found: EM helps if the features are independent, else it hurts."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

from leaven.datasets import load, make_independent_twin
from leaven.generative import ClassPrior, SemiSupervisedCategoricalNB


def rows(X, which):
    return X.iloc[which] if isinstance(X, pd.DataFrame) else X[which]


def errors(X, y, *, n_labeled, n_trials, seed=0):
    """Mean error on held-out rows, of the supervised classifier and of plain EM."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n_trials):
        order = rng.permutation(len(y))
        train, test = np.split(order, [3 * len(y) // 4])
        labels = np.full(len(train), -1)
        labels[:n_labeled] = y[train[:n_labeled]]
        found.append(
            [
                np.mean(
                    SemiSupervisedCategoricalNB(
                        unlabeled_weight=weight, prior=ClassPrior(smoothing=1.0)
                    )
                    .fit(rows(X, train), labels)
                    .predict(rows(X, test))
                    != y[test]
                )
                for weight in (0.0, 1.0)
            ]
        )
    return np.mean(found, axis=0)


def test_independent_features_help():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1200)
    X = (rng.random((1200, 20)) < np.where(y[:, None] == 0, 0.35, 0.65)).astype(int)
    supervised, em = errors(X, y, n_labeled=12, n_trials=5)
    assert em < supervised - 0.05


def test_features_that_follow_something_else_hurt():
    rng = np.random.default_rng(1)
    y, other = rng.integers(0, 2, (2, 1200))
    follows = np.where(np.arange(20) < 5, y[:, None], other[:, None])
    X = (rng.random((1200, 20)) < np.where(follows == 0, 0.2, 0.8)).astype(int)
    supervised, em = errors(X, y, n_labeled=100, n_trials=5)
    assert em > supervised + 0.1


@pytest.fixture(scope="module")
def chess():
    """The table of strings; the classes as integers."""
    if not os.environ.get("LEAVEN_DATA"):
        pytest.skip("LEAVEN_DATA does not name the folder of the benchmark data")
    X, y = load("kr-vs-kp", return_X_y=True)
    return X, pd.factorize(y, sort=True)[0]


def test_chess_end_games_lose_badly(chess):
    supervised, em = errors(*chess, n_labeled=64, n_trials=4)
    assert em > supervised + 0.15


def test_the_twin_of_the_chess_end_games_wins(chess):
    twin = make_independent_twin(*chess, random_state=0)
    supervised, em = errors(*twin, n_labeled=32, n_trials=4)
    assert em < supervised - 0.05
