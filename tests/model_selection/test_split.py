from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from leaven._labels import encode_labels
from leaven.exceptions import LeavenWarning
from leaven.model_selection import AdaptiveKFold, LabeledKFold, LabeledLeaveOneOut
from leaven.model_selection._split import hold_out_rows


class Nearest(ClassifierMixin, BaseEstimator):
    """Nearest labeled row; takes every mark of an unlabeled row, and counts what it saw."""

    def __init__(self, power=2.0):
        self.power = power

    def fit(self, X, y):
        self.classes_, codes = encode_labels(y)
        self.n_unlabeled_ = int((codes < 0).sum())
        self.X_, self.codes_ = np.asarray(X)[codes >= 0], codes[codes >= 0]
        return self

    def predict_proba(self, X):
        gaps = np.abs(np.asarray(X)[:, None, :] - self.X_[None]) ** self.power
        nearest = self.codes_[gaps.sum(axis=2).argmin(axis=1)]
        return np.eye(len(self.classes_))[nearest]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def as_lists(splits):
    return [(train.tolist(), test.tolist()) for train, test in splits]


def test_labeled_k_fold_by_hand():
    # a: rows 0, 2, 5, 7; b: rows 1, 4; unlabeled: 3, 6. Two folds, in order.
    y = ["a", "b", "a", None, "b", "a", None, "a"]
    splits = LabeledKFold(2, shuffle=False).split(np.zeros((8, 1)), y)
    assert as_lists(splits) == [
        ([3, 4, 5, 6, 7], [0, 1, 2]),
        ([0, 1, 2, 3, 6], [4, 5, 7]),
    ]


def test_labeled_k_fold_without_strata_by_hand():
    y = np.array([5, -1, 5, 5, 3, -1, 3])  # labeled rows 0, 2, 3 | 4, 6 in order
    splits = LabeledKFold(2, shuffle=False, stratify=False).split(None, y)
    assert as_lists(splits) == [([1, 4, 5, 6], [0, 2, 3]), ([0, 1, 2, 3, 5], [4, 6])]


@pytest.mark.parametrize(
    ("counts", "max_splits", "expected"),
    [
        ((2, 2), 10, 2),
        ((3, 7), 10, 3),
        ((9, 40, 12), 10, 9),
        ((10, 10), 10, 10),
        ((11, 25), 10, 10),
        ((60, 80), 10, 10),
        ((60, 80), 4, 4),
        ((3, 7), 2, 2),
        ((8,), 10, 8),
    ],
)
def test_adaptive_fold_count_by_hand(counts, max_splits, expected):
    y = np.concatenate([np.repeat(np.arange(len(counts)), counts), np.full(17, -1)])
    splitter = AdaptiveKFold(max_splits, random_state=3)
    assert splitter.get_n_splits(y, y) == expected
    splits = list(splitter.split(y, y))
    assert len(splits) == expected
    for train, _ in splits:  # what the source asks for: every class in every training set
        assert set(y[train]) == {-1, *range(len(counts))}


def test_adaptive_keeps_a_single_row_in_training():
    y = ["a", "a", "a", "b", None, "c", "c"]  # one "b": 2 folds, by the two of "c"
    splitter = AdaptiveKFold(shuffle=False)
    assert splitter.get_n_splits(y=y) == 2
    with pytest.warns(LeavenWarning, match=r"One labeled row only of class 'b': it stays in"):
        splits = as_lists(splitter.split(y, y))
    assert splits == [([2, 3, 4, 6], [0, 1, 5]), ([0, 1, 3, 4, 5], [2, 6])]


@pytest.mark.parametrize("splitter", [AdaptiveKFold, LabeledLeaveOneOut])
def test_singletons_error(splitter):
    y = [4, 4, -1, 7]
    with pytest.raises(ValueError, match=r"One labeled row only of class 7: .* Label a second"):
        list(splitter(singletons="error").split(y, y))
    with pytest.raises(ValueError, match=r"singletons must be one of \('train', 'error'\), got 1"):
        splitter(singletons=1)


@pytest.mark.parametrize("splitter", [AdaptiveKFold(), LabeledLeaveOneOut()])
def test_only_single_rows_cannot_be_split(splitter):
    y = [0, 1, -1, 2]
    with pytest.raises(ValueError, match="Every class of y has one labeled row only"):
        list(splitter.split(y, y))
    with pytest.raises(ValueError, match="Every class of y has one labeled row only"):
        splitter.get_n_splits(y, y)


def test_leave_one_out_by_hand():
    y = [None, True, False, True, False, None]
    splitter = LabeledLeaveOneOut()
    assert splitter.get_n_splits(y=y) == 4
    assert as_lists(splitter.split(y, y)) == [
        ([0, 2, 3, 4, 5], [1]),
        ([0, 1, 3, 4, 5], [2]),
        ([0, 1, 2, 4, 5], [3]),
        ([0, 1, 2, 3, 5], [4]),
    ]
    lone = [0, 0, 1, -1]
    with pytest.warns(LeavenWarning, match="class 1"):
        assert [test.tolist() for _, test in splitter.split(lone, lone)] == [[0], [1]]
    assert splitter.get_n_splits(lone, lone) == 2


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_splits", [2, 3, 5])
def test_equals_scikit_learn_when_all_is_labeled(seed, n_splits):
    y = np.random.default_rng(seed).permutation(np.repeat(["x", "y", "z"], [5, 8, 13]))
    peer = StratifiedKFold(n_splits, shuffle=True, random_state=seed)
    ours = LabeledKFold(n_splits, random_state=seed)
    assert as_lists(ours.split(y, y)) == as_lists(peer.split(y, y))
    adaptive = AdaptiveKFold(max_splits=n_splits, random_state=seed)
    assert as_lists(adaptive.split(y, y)) == as_lists(peer.split(y, y))
    plain = LabeledKFold(n_splits, random_state=seed, stratify=False)
    assert as_lists(plain.split(y, y)) == as_lists(
        KFold(n_splits, shuffle=True, random_state=seed).split(y, y)
    )


@pytest.mark.parametrize("shuffle", [False, True])
def test_unlabeled_rows_do_not_move_the_folds(shuffle):
    given = np.array([0, 1, 1, 0, 1, 0, 0, 1])
    at = np.array([1, 2, 5, 6, 9, 11, 12, 14])
    y = np.full(16, -1)
    y[at] = given
    options = {"shuffle": shuffle, "random_state": 4 if shuffle else None}
    peer = StratifiedKFold(3, **options).split(given, given)
    ours = LabeledKFold(3, **options).split(y, y)
    for (_, mine), (_, theirs) in zip(ours, peer, strict=True):
        assert_array_equal(mine, at[theirs])


@st.composite
def partly_labeled(draw):
    """Draw codes with -1, where each of 1 to 4 classes has 2 labeled rows or more."""
    counts = draw(st.lists(st.integers(2, 13), min_size=1, max_size=4))
    codes = np.concatenate(
        [np.repeat(np.arange(len(counts)), counts), np.full(draw(st.integers(0, 15)), -1)]
    )
    return np.array(draw(st.permutations(codes.tolist()))), counts


def with_marks(codes, kind):
    """Write the same labels in one of the ways a user may."""
    names = np.array(["u", "v", "w", "x"], dtype=object)
    strings = np.where(codes < 0, None, names[codes])
    floats = np.where(codes < 0, np.nan, codes * 2.0)
    return {
        "int": codes,
        "int list": codes.tolist(),
        "None": strings,
        "None list": strings.tolist(),
        "int and None": [None if c < 0 else int(c) for c in codes],
        "NaN": floats,
        "Series None": pd.Series(strings, index=np.arange(len(codes)) + 100),
        "string NA": pd.Series(strings, dtype="string"),
        "Int64 NA": pd.Series([pd.NA if c < 0 else int(c) for c in codes], dtype="Int64"),
        "category": pd.Series(strings).astype("category"),
    }[kind]


KINDS = [
    "int",
    "int list",
    "None",
    "None list",
    "int and None",
    "NaN",
    "Series None",
    "string NA",
    "Int64 NA",
    "category",
]


@settings(max_examples=60, deadline=None)
@given(
    partly_labeled(),
    st.sampled_from(KINDS),
    st.sampled_from(["k-fold", "adaptive", "leave-one-out"]),
    st.integers(0, 1000),
)
def test_invariants(problem, kind, splitter, seed):
    codes, counts = problem
    smallest = min(counts)
    cv = {
        "k-fold": LabeledKFold(min(smallest, 4), random_state=seed),
        "adaptive": AdaptiveKFold(random_state=seed),
        "leave-one-out": LabeledLeaveOneOut(),
    }[splitter]
    y = with_marks(codes, kind)
    X = np.zeros((len(codes), 1))
    splits = list(cv.split(X, y))
    assert cv.get_n_splits(X, y) == len(splits)
    unlabeled = np.flatnonzero(codes < 0)
    tested = np.concatenate([test for _, test in splits])
    # The test sets partition the labeled rows.
    assert_array_equal(np.sort(tested), np.flatnonzero(codes >= 0))
    for train, test in splits:
        assert np.isin(unlabeled, train).all()
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(codes)))
        assert set(codes[train]) >= set(range(len(counts)))
        if splitter != "leave-one-out":
            k = len(splits)
            held = np.bincount(codes[test], minlength=len(counts))
            assert (held >= [c // k for c in counts]).all()
            assert (held <= [-(-c // k) for c in counts]).all()
    if splitter == "adaptive":
        assert len(splits) == min(10, smallest)
    # Repeatable, and the same for every way to write the labels.
    assert as_lists(cv.split(X, codes)) == as_lists(splits)


@settings(max_examples=60, deadline=None)
@given(partly_labeled(), st.floats(0.01, 0.99), st.integers(0, 1000))
def test_hold_out_rows_invariants(problem, share, seed):
    codes, counts = problem
    rows = hold_out_rows(codes, share, np.random.RandomState(seed))
    drawn = np.bincount(codes[rows], minlength=len(counts))
    counts = np.array(counts)
    assert len(set(rows)) == len(rows)
    assert (codes[rows] >= 0).all()
    assert (drawn < counts).all()  # every class keeps a row to train on
    room = int((counts - 1).sum())
    assert len(rows) == min(max(1, round(share * counts.sum())), room)
    floors = np.minimum(np.floor(share * counts), counts - 1)
    assert (drawn >= floors).all()


def test_hold_out_rows_by_hand():
    # Quotas at 0.3: 10 -> 3.0, 6 -> 1.8, 4 -> 1.2; 6 wanted: floors 3 + 1 + 1, one to 1.8.
    codes = np.repeat([0, 1, 2, -1], [10, 6, 4, 9])
    rows = hold_out_rows(codes, 0.3, np.random.RandomState(1))
    assert_array_equal(np.bincount(codes[rows]), [3, 2, 1])


@pytest.fixture
def blobs():
    X, truth = make_blobs(60, centers=3, cluster_std=1.5, random_state=7)
    codes = truth.copy()
    codes[np.random.default_rng(0).choice(60, 36, replace=False)] = -1
    return X, codes


@pytest.mark.parametrize(
    "cv", [LabeledKFold(3, random_state=0), AdaptiveKFold(random_state=0), LabeledLeaveOneOut()]
)
@pytest.mark.parametrize(
    "estimator",
    [SelfTrainingClassifier(KNeighborsClassifier(3)), LabelSpreading(gamma=0.5)],
    ids=["self-training", "spreading"],
)
def test_outside_estimators(blobs, cv, estimator):
    X, y = blobs
    splits = list(cv.split(X, y))
    by_hand = [
        np.mean(estimator.fit(X[train], y[train]).predict(X[test]) == y[test])
        for train, test in splits
    ]
    assert_array_equal(cross_val_score(estimator, X, y, cv=cv), by_hand)
    assert np.mean(by_hand) > 0.7


def test_grid_search(blobs):
    X, y = blobs
    cv = AdaptiveKFold(random_state=1)
    model = SelfTrainingClassifier(KNeighborsClassifier())
    grid = {"estimator__n_neighbors": [1, 3, 5]}
    search = GridSearchCV(model, grid, cv=cv).fit(X, y)
    assert search.n_splits_ == np.bincount(y[y >= 0]).min()
    by_hand = [
        np.mean(cross_val_score(model.set_params(estimator__n_neighbors=k), X, y, cv=cv))
        for k in (1, 3, 5)
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], by_hand)


# Plain scorers see the labels as they were given. scikit-learn's metrics do not take integers
# among objects: that case needs labeled_scorer, and is in test_scoring.py.
@pytest.mark.parametrize("kind", [k for k in KINDS if k != "int and None"])
def test_every_mark_in_cross_val_score(blobs, kind):
    X, codes = blobs
    y = with_marks(codes, kind)
    cv = LabeledKFold(3, random_state=2)
    expected = cross_val_score(Nearest(), X, codes, cv=cv)
    assert_array_equal(cross_val_score(Nearest(), X, y, cv=cv), expected)
    result = cross_validate(Nearest(), X, y, cv=cv, return_estimator=True)
    assert {e.n_unlabeled_ for e in result["estimator"]} == {36}
    search = GridSearchCV(Nearest(), {"power": [1.0, 2.0]}, cv=cv).fit(X, y)
    assert search.cv_results_["mean_test_score"][1] == expected.mean()


def test_cross_val_predict_needs_a_partition(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="only works for partitions"):
        cross_val_predict(Nearest(), X, y, cv=AdaptiveKFold())


def test_small_class_message():
    y = ["a"] * 6 + ["b"] * 3 + ["c"] + [None] * 4
    message = (
        "n_splits=5 needs 5 labeled rows of every class, but y has fewer of class 'b' (3 labeled "
        "rows), 'c' (1 labeled row). Use AdaptiveKFold, which takes as many folds as the smallest "
        "class allows, or fewer folds, or label more rows."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        next(LabeledKFold(5).split(y, y))


@pytest.mark.parametrize("cv", [LabeledKFold(2), AdaptiveKFold(), LabeledLeaveOneOut()])
def test_bad_data(cv):
    X = np.zeros((3, 1))
    with pytest.raises(ValueError, match="y holds no labeled row: all 3 entries are -1"):
        next(cv.split(X, [-1, -1, -1]))
    with pytest.raises(ValueError, match="needs y to tell the labeled rows"):
        next(cv.split(X))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        next(cv.split(X, [0, 0, 1, 1]))
    with pytest.raises(ValueError, match="does not support groups"):
        next(cv.split(X, [0, 0, -1], groups=[1, 2, 3]))


def test_too_few_labeled_rows_for_plain_folds():
    y = [0, -1, 0, -1, 1]
    with pytest.raises(ValueError, match="y holds 3 labeled rows, fewer than n_splits=4"):
        next(LabeledKFold(4, stratify=False).split(y, y))


def test_bad_parameters():
    with pytest.raises(ValueError, match="n_splits of LabeledKFold must be at least 2, got 1"):
        LabeledKFold(1)
    with pytest.raises(TypeError, match=r"n_splits of LabeledKFold must be an integer, got 2.5"):
        LabeledKFold(2.5)
    with pytest.raises(ValueError, match="max_splits of AdaptiveKFold must be at least 2, got 0"):
        AdaptiveKFold(0)
    with pytest.raises(ValueError, match="random_state=3 has no effect with shuffle=False"):
        AdaptiveKFold(shuffle=False, random_state=3)
    with pytest.raises(TypeError, match="shuffle must be True or False, got 1"):
        LabeledKFold(shuffle=1)
    with pytest.raises(TypeError, match="stratify must be True or False, got 'yes'"):
        LabeledKFold(stratify="yes")


def test_repr_and_n_splits_without_data():
    assert (
        repr(LabeledKFold(3, random_state=1))
        == "LabeledKFold(n_splits=3, random_state=1, shuffle=True, stratify=True)"
    )
    assert LabeledKFold(3).get_n_splits() == 3
    with pytest.raises(ValueError, match="AdaptiveKFold needs y"):
        AdaptiveKFold().get_n_splits()
