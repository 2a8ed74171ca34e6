from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from leaven.active import HighestEntropy, InformationDensity, LeastConfident
from leaven.active._density import SIMILARITIES, mean_similarity


class Fixed(BaseEstimator):
    """A strategy whose scores are given."""

    def __init__(self, values=()):
        self.values = values

    def scores(self, estimator, X_pool, X=None, y=None):
        return np.array(self.values, dtype=float)


ROWS = np.array([[3.0, 4.0], [0.0, 2.0], [6.0, 0.0]])


@pytest.mark.parametrize(
    ("similarity", "options", "expected"),
    [
        # Angles: cos = 4/5, 3/5 and 0 between the rows.
        ("cosine", {}, [(1 + 0.8 + 0.6) / 3, (0.8 + 1 + 0) / 3, (0.6 + 0 + 1) / 3]),
        # Squared distances: 13, 25 and 40.
        (
            "gaussian",
            {"bandwidth": 5.0},
            [
                (1 + np.exp(-13 / 50) + np.exp(-25 / 50)) / 3,
                (np.exp(-13 / 50) + 1 + np.exp(-40 / 50)) / 3,
                (np.exp(-25 / 50) + np.exp(-40 / 50) + 1) / 3,
            ],
        ),
        (
            "euclidean",
            {},
            [
                (1 + 1 / (1 + 13**0.5) + 1 / 6) / 3,
                (1 / (1 + 13**0.5) + 1 + 1 / (1 + 40**0.5)) / 3,
                (1 / 6 + 1 / (1 + 40**0.5) + 1) / 3,
            ],
        ),
    ],
)
@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0, 2.0])
def test_three_rows_by_hand(similarity, options, expected, beta):
    strategy = InformationDensity(
        Fixed([0.7, 0.5, 0.2]), beta=beta, similarity=similarity, **options
    )
    found = strategy.scores(None, ROWS)
    assert_allclose(found, np.array([0.7, 0.5, 0.2]) * np.array(expected) ** beta)


def test_the_default_bandwidth():
    # Half the mean squared distance of two rows, a row and itself included: (13 + 25 + 40) / 9.
    h2 = 78 / 9
    d2 = euclidean_distances(ROWS, squared=True)
    expected = np.exp(-d2 / (2 * h2)).mean(axis=1)
    assert_allclose(mean_similarity(ROWS, "gaussian"), expected)
    assert_allclose(mean_similarity(sparse.csr_array(ROWS), "gaussian"), expected)
    assert_array_equal(mean_similarity(np.ones((3, 2)), "gaussian"), [1.0, 1.0, 1.0])


@settings(max_examples=25, deadline=None)
@given(
    arrays(float, st.tuples(st.integers(1, 12), st.just(3)), elements=st.integers(-4, 4)),
    st.sampled_from(["cosine", "gaussian", "euclidean"]),
    st.integers(1, 13),
)
def test_chunks_do_not_matter(X, similarity, chunk_size):
    whole = mean_similarity(X, similarity, bandwidth=2.0)
    parts = mean_similarity(X, similarity, bandwidth=2.0, chunk_size=chunk_size)
    rows = mean_similarity(sparse.csr_matrix(X), similarity, bandwidth=2.0, chunk_size=chunk_size)
    assert_allclose(parts, whole, atol=1e-12)
    assert_allclose(rows, whole, atol=1e-12)
    d = euclidean_distances(X)
    full = {
        "cosine": cosine_similarity(X),
        "gaussian": np.exp(-(d**2) / 8),
        "euclidean": 1 / (1 + d),
    }[similarity]
    assert_allclose(whole, full.mean(axis=1), atol=1e-7)


def test_no_square_array_is_made():
    # 200,000 rows: all similarities at once would be 320 GB.
    # One word per row.
    words = np.random.RandomState(0).randint(0, 50, 200_000)
    X = sparse.csr_array((np.ones(200_000), (np.arange(200_000), words)), shape=(200_000, 50))
    assert mean_similarity(X, "cosine").shape == (200_000,)


def test_the_default_base_is_the_entropy():
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0]]), [0, 0, 1]
    model = LogisticRegression().fit(X, y)
    assert_allclose(
        InformationDensity().scores(model, ROWS),
        HighestEntropy().scores(model, ROWS) * mean_similarity(ROWS, "cosine"),
    )


def test_negative_cosines_count_as_none():
    rows = np.array([[1.0, 0.0], [1.0, 0.1], [-1.0, 0.0]])
    scores = InformationDensity(Fixed([1.0, 1.0, 1.0]), beta=0.5).scores(None, rows)
    assert np.isfinite(scores).all()
    assert scores[2] == 0


def test_rows_not_considered_stay_last():
    base = Fixed([-np.inf, 0.4, -np.inf])
    found = InformationDensity(base).scores(None, np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]))
    assert_array_equal(np.isneginf(found), [True, False, True])


def test_the_rows_of_a_pipeline_are_those_of_its_last_step():
    frame = pd.DataFrame({"color": ["red", "blue", "red", "blue"], "size": [1.0, 2.0, 3.0, 9.0]})
    columns = make_column_transformer((OneHotEncoder(), ["color"]), (StandardScaler(), ["size"]))
    model = make_pipeline(columns, LogisticRegression()).fit(frame, [0, 0, 1, 1])
    found = InformationDensity(similarity="euclidean").scores(model, frame)
    seen = columns.fit_transform(frame)
    expected = HighestEntropy().scores(model, frame) * mean_similarity(seen, "euclidean")
    assert_allclose(found, expected)


def test_float32_rows():
    X = np.random.default_rng(0).normal(size=(20, 3))
    for similarity in SIMILARITIES:
        X = np.abs(X) if similarity == "kl" else X  # counts
        assert_allclose(
            mean_similarity(X.astype(np.float32), similarity),
            mean_similarity(X, similarity),
            rtol=1e-3,
            atol=1e-5,
        )


def test_errors():
    model = GaussianNB().fit(ROWS, [0, 0, 1])
    for options in ({"beta": -1.0}, {"similarity": "dot"}, {"bandwidth": 0.0}, {"chunk_size": 0}):
        (name,) = options
        with pytest.raises(ValueError, match=f"'{name}' parameter of InformationDensity"):
            InformationDensity(**options).scores(model, ROWS)
    with pytest.raises(ValueError, match="'base' parameter of InformationDensity"):
        InformationDensity(base="entropy").scores(model, ROWS)
    with pytest.raises(ValueError, match="X_pool is empty"):
        InformationDensity().scores(model, ROWS[:0])
    with pytest.raises(ValueError, match="gives negative scores, which a density cannot weight"):
        InformationDensity(Fixed([0.1, -0.2, 0.3])).scores(model, ROWS)
    frame = pd.DataFrame({"a": ["x", "y"]})
    with pytest.raises(ValueError, match="needs numbers in every column of X_pool"):
        InformationDensity(Fixed([1.0, 2.0])).scores(None, frame)


def test_clones_and_prints():
    strategy = InformationDensity(LeastConfident(), beta=2.0)
    assert repr(clone(strategy)) == "InformationDensity(base=LeastConfident(), beta=2.0)"
