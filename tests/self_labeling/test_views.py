from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from leaven.exceptions import LeavenWarning
from leaven.self_labeling import CoEMClassifier, CoTrainingClassifier
from leaven.self_labeling._views import column_indices, fit_views, multiply_views, take_view

NAMES = np.array(["a", "b", "c", "d"], dtype=object)
FRAME = pd.DataFrame(np.arange(12.0).reshape(3, 4), columns=NAMES)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["d", "b"], [3, 1]),
        ("c", [2]),
        (2, [2]),
        ([0, -1], [0, 3]),
        (np.array([1, 3]), [1, 3]),
        (range(1, 3), [1, 2]),
        (slice(2), [0, 1]),
        (slice(None, None, 2), [0, 2]),
        (slice("b", "c"), [1, 2]),
        (slice("c", None), [2, 3]),
        (slice(None, "b"), [0, 1]),
        ([False, True, False, True], [1, 3]),
        (pd.Index(["a", "c"]), [0, 2]),
        (lambda X: ["a"], [0]),
        (make_column_selector(pattern="[ad]"), [0, 3]),
        ([], []),
        (np.zeros(4, dtype=bool), []),
    ],
)
def test_column_indices(columns, expected):
    assert column_indices(columns, 4, NAMES, FRAME).tolist() == expected


@pytest.mark.parametrize(
    ("columns", "names", "message"),
    [
        ([0, 4], NAMES, r"columns \[4\], but X has 4 features, numbered from 0 to 3"),
        (["a", "z"], NAMES, r"columns that X does not have: \['z'\]"),
        (["a"], None, "X has no column names. Pass a DataFrame"),
        (slice("a", "b"), None, "X has no column names"),
        ([True, False], NAMES, "mask of 2 columns, but X has 4"),
        ([[0, 1], [2, 3]], NAMES, "one dimension"),
    ],
)
def test_bad_columns(columns, names, message):
    with pytest.raises(ValueError, match=message):
        column_indices(columns, 4, names)


@given(st.integers(2, 30), st.integers(0, 100))
@settings(max_examples=25, deadline=None)
def test_a_random_split_is_a_partition(n_features, seed):
    X = np.zeros((2, n_features))
    first, second = fit_views(None, X, None, np.random.RandomState(seed))
    assert sorted([*first, *second]) == list(range(n_features))
    assert 0 <= len(first) - len(second) <= 1


@pytest.mark.parametrize("each", [CoTrainingClassifier, CoEMClassifier])
class TestInTheClassifiers:
    X = np.random.default_rng(0).normal(size=(40, 4)) + 2 * np.repeat([[0], [1]], 20, axis=0)
    y = np.where(np.arange(40) % 5 == 0, np.repeat([0, 1], 20), -1)

    def fit(self, each, views, X=None):
        return each(GaussianNB(), views=views, random_state=0).fit(
            self.X if X is None else X, self.y
        )

    def test_all_ways_to_name_columns_agree(self, each):
        expected = self.fit(each, ([0, 1], [2, 3]))
        frame = pd.DataFrame(self.X, columns=NAMES)
        ways = [
            (slice(0, 2), slice(2, 4)),
            ([True, True, False, False], [False, False, True, True]),
            (["a", "b"], ["c", "d"]),
            (
                make_column_transformer(("passthrough", [0, 1])),
                make_column_transformer(("passthrough", [2, 3])),
            ),
            ([0, 1], make_column_transformer(("passthrough", [2, 3]))),
        ]
        for views in ways:
            X = frame if views[0] == ["a", "b"] else self.X
            model = self.fit(each, views, X)
            assert_allclose(model.label_distributions_, expected.label_distributions_)
            assert_allclose(model.predict_proba(X), expected.predict_proba(self.X))

    def test_frames_keep_the_names_of_a_view(self, each):
        model = self.fit(each, (["d", "a"], ["b", "c"]), pd.DataFrame(self.X, columns=NAMES))
        assert list(model.estimators_[0].feature_names_in_) == ["d", "a"]

    def test_transformers_see_all_rows_and_are_cloned(self, each):
        scaler = StandardScaler()
        model = self.fit(each, (scaler, [0, 1]))
        assert_allclose(model.views_[0].mean_, self.X.mean(axis=0))
        assert not hasattr(scaler, "mean_")

    def test_overlap_is_warned_of(self, each):
        with pytest.warns(LeavenWarning, match="share 1 columns: 1") as caught:
            self.fit(each, ([0, 1], [1, 2, 3]))
        assert caught[0].filename == __file__
        frame = pd.DataFrame(self.X, columns=NAMES)
        with pytest.warns(LeavenWarning, match="share 2 columns: b, c"):
            self.fit(each, (["a", "b", "c"], ["b", "c", "d"]), frame)

    @pytest.mark.parametrize(
        ("views", "message"),
        [
            (([0, 1], []), r"views\[1\] has no columns"),
            ((slice(4, 9), [0]), r"views\[0\] has no columns"),
            (([0], [1], [2]), "must be a pair"),
            (7, "must be a pair"),
        ],
    )
    def test_bad_views(self, each, views, message):
        with pytest.raises(ValueError, match=message):
            self.fit(each, views)

    def test_one_column_cannot_be_split(self, each):
        with pytest.raises(ValueError, match=r"1 feature\(s\).*SelfTrainingClassifier"):
            self.fit(each, None, self.X[:, :1])

    def test_a_pair_of_estimators(self, each):
        model = each((GaussianNB(var_smoothing=0.5), GaussianNB()), views=([0, 1], [2, 3]))
        model.fit(self.X, self.y)
        assert [e.var_smoothing for e in model.estimators_] == [0.5, 1e-9]
        with pytest.raises(ValueError, match="one classifier or a pair of them"):
            each((GaussianNB(),) * 3).fit(self.X, self.y)
        with pytest.raises(TypeError, match="has no fit and predict"):
            each(("nb", GaussianNB())).fit(self.X, self.y)


def test_views_are_multiplied():
    first = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    second = np.array([[0.6, 0.3, 0.1], [0.0, 0.5, 0.5]])
    expected = [np.array([12, 9, 5]) / 26, [0.5, 0.25, 0.25]]
    assert_allclose(multiply_views(first, second), expected)
    assert_array_equal(first[1], [1, 0, 0])


def test_take_view_of_a_frame_is_a_frame():
    part = take_view(FRAME, np.array([3, 0]))
    assert list(part.columns) == ["d", "a"]
