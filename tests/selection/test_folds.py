"""Repeated folds of the labeled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from leaven._labels import UNLABELED
from leaven.selection import Folds, draw_folds
from leaven.selection._folds import choose_within_folds, row_correctness, score_folds


def test_folds_are_distinct_partitions() -> None:
    codes = np.array([0, 0, 1, 1, -1, -1, 2])
    folds = draw_folds(codes, 30, np.random.RandomState(0))
    assert folds is not None
    assert_array_equal(folds.rows, [0, 1, 2, 3])
    # Each fold has a row of both classes, which gives two ways, whatever the repeats.
    assert sorted(folds.fold.tolist()) == [[0, 1, 0, 1], [0, 1, 1, 0]]
    assert draw_folds(np.array([0, 1, -1]), 3, np.random.RandomState(0)) is None


def test_folds_are_balanced_and_spread_every_class() -> None:
    # 3 classes of 4 labels: 4 folds with a row of each class, and three repeats for ten fits.
    codes = np.repeat([0, 1, 2], 4)
    folds = draw_folds(codes, "auto", 0)
    assert folds is not None
    assert (folds.n_splits, folds.n_repeats) == (4, 3)
    for _, test in folds.tests():
        assert sorted(codes[test]) == [0, 1, 2]
    many = draw_folds(np.repeat([0, 1, 2], 20), "auto", 0)
    assert many is not None
    assert (many.n_splits, many.n_repeats) == (5, 1)
    for _, test in many.tests():
        assert np.bincount(np.repeat([0, 1, 2], 20)[test]).tolist() == [4, 4, 4]


@pytest.mark.parametrize(
    ("counts", "n_splits"), [([2, 2, 30], 2), ([2, 9, 30], 5), ([1, 1, 3], 3), ([2, 3, 3, 4], 3)]
)
def test_the_typical_class_gives_the_number_of_folds(counts: list[int], n_splits: int) -> None:
    folds = draw_folds(np.repeat(np.arange(len(counts)), counts), 1, 0)
    assert folds is not None
    assert folds.n_splits == n_splits


def test_a_method_that_knows_nothing_is_at_chance_with_two_labels_per_class() -> None:
    # Rows of noise: a fold that takes a label from some classes only would let the frequencies
    # of the others predict what was not held out, and the score would be far below chance.
    rng = np.random.default_rng(0)
    right = []
    for seed in range(40):
        X, y = rng.normal(size=(8, 3)), np.repeat([0, 1, 2, 3], 2)
        folds = draw_folds(y, "auto", seed)
        assert folds is not None
        for repeat, test in folds.tests():
            train = folds.fold[repeat] >= 0
            train[test] = False
            model = LogisticRegression().fit(X[train], y[train])
            right.extend(model.predict(X[test]) == y[test])
    assert abs(np.mean(right) - 0.25) < 0.08


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-1, 2), min_size=3, max_size=30), st.integers(0, 5))
def test_each_row_is_held_out_once_per_repeat(labels: list[int], seed: int) -> None:
    codes = np.unique([-1, *labels], return_inverse=True)[1] - 1
    counts = np.bincount(codes[codes != UNLABELED]) if (codes >= 0).any() else np.zeros(1)
    if not (codes >= 0).any():
        return
    folds = draw_folds(codes, "auto", np.random.RandomState(seed))
    assert (folds is None) == (counts.max() < 2)
    if folds is None:
        return
    assert (counts[codes[folds.rows]] >= 2).all()
    held = np.zeros((len(folds.fold), len(folds.rows)))
    for repeat, test in folds.tests():
        held[repeat] += test
        # A row of every class stays.
        left = np.delete(codes, folds.rows[test])
        assert set(left) >= set(codes) - {UNLABELED}
    assert (held == 1).all()


def test_a_parameter_is_chosen_on_the_other_folds() -> None:
    # Two parameters, one repeat, two folds of two rows. The first parameter is right in fold 0
    # only, the second in fold 1 only; each fold must be given the one that was right in the
    # other, and so the score of the choice is 0, not 1.
    folds = Folds(np.arange(4), np.array([[0, 0, 1, 1]]))
    scores = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    marks = np.array([0.1, 0.9])
    probabilities = np.broadcast_to(marks[:, None, None, None], (2, 1, 4, 2))
    chosen, best = choose_within_folds(probabilities, scores, folds)
    assert_allclose(chosen[0, :, 0], [0.9, 0.9, 0.1, 0.1])
    assert best == 0  # equal over all folds: the first, the smallest weight


def test_scores_of_folds_and_rows_by_hand() -> None:
    # Two repeats of two folds over rows 1, 2, 4 and 5 of six.
    codes = np.array([-1, 0, 1, -1, 1, 0])
    folds = Folds(np.array([1, 2, 4, 5]), np.array([[0, 0, 1, 1], [0, 1, 1, 0]]))
    predicted = np.array([[0, 1, 0, 1], [0, 0, 1, 0]])
    probabilities = np.eye(2)[predicted]
    assert_allclose(row_correctness(probabilities, codes, folds), [1.0, 0.5, 0.5, 0.5])
    assert_allclose(score_folds(probabilities, codes, folds, None), [[1.0, 0.0], [1.0, 0.5]])

    def score(found: NDArray[Any], rows: NDArray[np.intp]) -> float:
        return float(found[:, 1].mean() + rows[0])

    # Row 1 opens the first fold of both repeats, 4 and 2 the second ones.
    assert_allclose(score_folds(probabilities, codes, folds, score), [[1.5, 4.5], [1.0, 2.5]])
