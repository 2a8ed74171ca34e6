"""Rows to review and to ask for, the map, and the learning curve."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from leaven.tables import LabelingOptions, TablePreparer
from leaven.tables._curve import curve_so_far
from leaven.tables._map import map_points
from leaven.tables._review import hard_to_classify, rows_to_ask
from leaven.tables._select import PreparedRows, table_problem


def selection(expected_accuracy: float) -> SimpleNamespace:
    return SimpleNamespace(expected_accuracy=expected_accuracy)


def test_as_many_are_flagged_as_are_expected_to_be_wrong() -> None:
    confidence = np.linspace(0.5, 0.9, 103)
    P = np.column_stack([confidence, 1 - confidence])
    labeled = np.arange(103) < 3
    review = hard_to_classify(P, labeled, selection(0.725))
    assert review.rows.sum() == round(0.275 * 100)
    assert not review.rows[labeled].any()
    assert P[review.rows, 0].max() == review.highest
    assert P[~review.rows & ~labeled, 0].min() > review.highest
    assert "27.5%" in review.rule
    none = hard_to_classify(P, labeled, None)
    assert none.rows.sum() == 10
    unknown = hard_to_classify(P, labeled, selection(np.nan))
    assert unknown.rows.sum() == 10


def test_equal_rows_are_flagged_alike_and_certain_ones_never() -> None:
    P = np.array([[0.6, 0.4]] * 50 + [[0.9, 0.1]] * 50)
    labeled = np.zeros(100, dtype=bool)
    assert hard_to_classify(P, labeled, None).rows.tolist() == [True] * 50 + [False] * 50
    sure = np.array([[1.0, 0.0]] * 100)
    review = hard_to_classify(sure, labeled, None)
    assert not review.rows.any()
    assert review.highest is None


@pytest.mark.parametrize("as_sparse", [False, True])
def test_asked_rows_are_uncertain_typical_and_different(as_sparse: bool) -> None:
    # Two clusters of uncertain rows, one of certain ones, one uncertain row far away.
    rng = np.random.RandomState(0)
    centers = np.repeat([[4.0, 1.0], [1.0, 4.0], [4.0, 4.0]], 20, axis=0)
    Z = np.vstack([centers + 0.1 * rng.rand(60, 2), [[60.0, 0.0]]]).astype(np.float32)
    P = np.array([[0.5, 0.5]] * 40 + [[0.99, 0.01]] * 20 + [[0.5, 0.5]])
    labeled = np.zeros(61, dtype=bool)
    labeled[[0, 20]] = True
    rows = rows_to_ask(sparse.csr_matrix(Z) if as_sparse else Z, P, labeled, 2)
    assert sorted(rows // 20) == [0, 1]
    assert not labeled[rows].any()


def test_copies_are_asked_for_once() -> None:
    Z = np.repeat(np.arange(5, dtype=np.float32)[:, None], 10, axis=0)
    P = np.full((50, 2), 0.5)
    rows = rows_to_ask(Z, P, np.zeros(50, dtype=bool), 20)
    assert sorted(Z[rows, 0].tolist()) == [0, 1, 2, 3, 4]


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(2, 60),
    n_features=st.integers(1, 4),
    n_labeled=st.integers(0, 20),
    as_sparse=st.booleans(),
)
def test_the_map(n: int, n_features: int, n_labeled: int, as_sparse: bool) -> None:
    rng = np.random.RandomState(n)
    Z = rng.normal(size=(n, n_features)).astype(np.float32)
    labeled = np.arange(n) < n_labeled
    points = map_points(sparse.csr_matrix(Z) if as_sparse else Z, labeled, n_points=25)
    assert len(points) == min(n, max(25, int(labeled.sum())))
    assert set(np.flatnonzero(labeled)) <= set(points["row"])
    assert points["row"].is_monotonic_increasing
    assert np.isfinite(points[["x", "y"]].to_numpy()).all()


def test_the_map_keeps_distances_of_a_plane() -> None:
    rng = np.random.RandomState(0)
    flat = rng.normal(size=(30, 2))
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0][:2]
    points = map_points(flat @ turn, np.zeros(30, dtype=bool))
    xy = points[["x", "y"]].to_numpy()
    between = np.linalg.norm(flat[:, None] - flat, axis=2)
    np.testing.assert_allclose(np.linalg.norm(xy[:, None] - xy, axis=2), between, atol=1e-5)


def test_the_learning_curve() -> None:
    rng = np.random.RandomState(0)
    truth = np.arange(90) % 3
    X = np.array([[0, 0], [5, 0], [0, 5]])[truth] + rng.normal(size=(90, 2))
    preparer = TablePreparer(weigh=False, random_state=0)
    Z = preparer.fit_transform(pd.DataFrame(X, columns=["a", "b"]))
    codes = np.where(np.arange(90) < 30, truth, -1)
    rows = PreparedRows.of(preparer, Z)
    problem, _ = table_problem(rows, codes, 3, LabelingOptions())
    curve = curve_so_far(problem, ["harmonic", "naive-bayes"])
    assert curve is not None
    # Of 24 labels, 8 per class, in training.
    assert curve["n_labeled"].tolist() == [6, 12, 24] * 2
    assert curve["method"].tolist() == ["harmonic"] * 3 + ["naive-bayes"] * 3
    last = curve.set_index(["method", "n_labeled"])["accuracy"]
    assert last["harmonic", 24] > 0.9
    assert curve["standard_error"].between(0.01, 0.2).all()
    few = np.where(np.arange(90) < 9, truth, -1)
    assert curve_so_far(problem.with_codes(few), ["harmonic"]) is None


def test_the_rule_counts_ties() -> None:
    confidence = np.full(50, 0.7)
    confidence[10:] = 0.8
    P = np.column_stack([confidence, 1 - confidence])
    review = hard_to_classify(P, np.zeros(50, dtype=bool), None)
    assert review.rows.sum() == 10
    assert "the 20.0% of the inferred rows with the lowest confidence: the 10.0% and" in review.rule
