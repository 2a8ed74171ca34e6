from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from leaven.active import QuerySynthesizer, margin
from leaven.active._synthesis import bisect_pairs, search_box
from leaven.datasets import make_two_gaussians
from leaven.generative import SemiSupervisedGaussianNB


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 50),
    method=st.sampled_from(["bisection", "search"]),
    semi=st.booleans(),
)
def test_rows_lie_on_the_boundary_and_in_the_box(seed, method, semi):
    X, y = make_two_gaussians(40, random_state=seed)
    y[10:] = np.where(np.random.RandomState(seed).rand(30) < 0.5, -1, y[10:])
    estimator = SemiSupervisedGaussianNB(tol=1e-3) if semi else LogisticRegression()
    maker = QuerySynthesizer(estimator, method=method, random_state=seed).fit(X, y)
    rows = maker.query(4)
    assert rows.shape == (4, 2)
    assert (rows >= X.min(axis=0)).all()
    assert (rows <= X.max(axis=0)).all()
    assert margin(maker.estimator_.predict_proba(rows)).max() < 1e-4


def test_bisection_meets_a_known_plane():
    # The boundary of x + 2 y = 1 on the segment from (0, 0) to (3, 1) is at t = 1 / 5.
    ends = np.zeros((1, 2)), np.array([[3.0, 1.0]])
    found = bisect_pairs(lambda X: X @ [1.0, 2.0] > 1, *ends, tol=1e-12, max_iter=100)
    assert_allclose(found, [[0.6, 0.2]], atol=1e-9)


def test_search_stays_in_the_box():
    low, high = np.array([0.0, -1.0]), np.array([2.0, 1.0])
    found = search_box(
        lambda X: ((X - [5.0, 0.25]) ** 2).sum(axis=1),
        np.array([0.3, -0.7]),
        low,
        high,
        tol=1e-8,
        max_iter=500,
    )
    assert_allclose(found, [2.0, 0.25], atol=1e-6)


def test_three_classes_and_estimators_without_probabilities():
    rng = np.random.RandomState(0)
    X = rng.randn(60, 2) + np.repeat([[0, 0], [6, 0], [0, 6]], 20, axis=0)
    y = np.repeat(["a", "b", "c"], 20)
    maker = QuerySynthesizer(LinearSVC(), random_state=0).fit(X, y)
    rows = maker.query(6)
    near = rows + 1e-6 * rng.randn(50, 6, 2)
    predicted = maker.estimator_.predict(near.reshape(-1, 2)).reshape(50, 6)
    assert all(len(set(column)) > 1 for column in predicted.T)


def test_teaching_moves_the_boundary():
    X = np.array([[0.1], [1.2], [4.1], [5.3]])
    maker = QuerySynthesizer(LogisticRegression(C=100), random_state=0).fit(X, [0, 0, 1, 1])
    places = []
    for _ in range(6):  # the truth is a step at 1.7
        row = maker.query()
        places.append(row[0, 0])
        maker.teach(row, (row[:, 0] > 1.7).astype(int))
    assert abs(places[-1] - 1.7) < 0.25 < abs(places[0] - 1.7)
    assert maker.X_.shape == (10, 1)
    assert_array_equal(maker.y_[:4], [0, 0, 1, 1])


def test_data_frames_keep_their_columns_and_strings_their_names():
    X, y = make_two_gaussians(30, random_state=0)
    frame = pd.DataFrame(X, columns=["width", "height"])
    names = np.where(y == 1, "yes", "no").astype(object)
    names[:3] = None
    maker = QuerySynthesizer(make_pipeline(StandardScaler(), GaussianNB()), random_state=0)
    row = maker.fit(frame, names).query()
    assert row.columns.tolist() == ["width", "height"]
    maker.teach(row, ["perhaps"])
    assert maker.classes_.tolist() == ["no", "perhaps", "yes"]
    assert [name is None for name in maker.y_].count(True) == 3


def test_the_same_seed_makes_the_same_rows():
    X, y = make_two_gaussians(30, random_state=0)
    one, two = (QuerySynthesizer(GaussianNB(), random_state=5).fit(X, y) for _ in range(2))
    assert_array_equal(one.query(3), two.query(3))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[0, 1], [1, 0], [2, 1]]), "continuous features, but .'column 0'"),
        (np.array([[0.5, 1.0], [0.7, 2.0], [0.1, 1.0]]), "'column 1'"),
        (pd.DataFrame({"a": [0.1, 0.2, 0.3], "color": ["red", "red", "blue"]}), "'color'"),
        (pd.DataFrame({"a": [0.1, 0.2, 0.3], "flag": [True, False, True]}), "'flag'"),
        (sparse.csr_array(np.eye(3)), "X is sparse"),
    ],
)
def test_discrete_data_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        QuerySynthesizer(GaussianNB()).fit(X, [0, 1, 0])


def test_bad_input():
    X, y = make_two_gaussians(30, random_state=0)
    maker = QuerySynthesizer(GaussianNB(), random_state=0)
    with pytest.raises(ValueError, match="1 class only"):
        maker.fit(X, np.zeros(30, dtype=int))
    maker.fit(X, y)
    with pytest.raises(ValueError, match="n must be an integer"):
        maker.query(0)
    with pytest.raises(ValueError, match="3 columns, but X had 2"):
        maker.teach([[0.1, 0.2, 0.3]], [0])
    with pytest.raises(ValueError, match="mark of an unlabeled row"):
        maker.teach([[0.1, 0.2]], [-1])
    with pytest.raises(ValueError, match="'method' parameter"):
        QuerySynthesizer(GaussianNB(), method="guess").fit(X, y)


def test_a_model_of_one_class_has_no_boundary():
    X = np.linspace(0.1, 1.3, 21)[:, None]
    y = np.repeat([0, 1], [20, 1])
    maker = QuerySynthesizer(LogisticRegression(C=1e-6), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"predicts .*0.* everywhere"):
        maker.query()
