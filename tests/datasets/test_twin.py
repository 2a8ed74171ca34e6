from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import chi2_contingency

from leaven.datasets import load, make_independent_twin


def dependent_numbers(n: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [n // 4, 3 * n // 4])
    x = rng.standard_normal((n, 1))
    X = np.hstack([x, -2 * x, x + 0.5 * rng.standard_normal((n, 1))])
    return X * [[1.0, 3.0, 1.0]] + y[:, None] * [5, -3, 1], y


def dependent_categories(n: int = 4000) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(1)
    y = pd.Series(rng.choice(["no", "yes"], n, p=[0.3, 0.7]), name="answer")
    a = np.where(y == "yes", rng.choice(list("pqr"), n), rng.choice(list("pq"), n))
    b = np.where(rng.uniform(size=n) < 0.8, a, "q").astype(object)
    b[rng.uniform(size=n) < 0.1] = None
    return pd.DataFrame({"a": a, "b": b}), y


def test_correlations_vanish_and_moments_stay() -> None:
    X, y = dependent_numbers()
    twin, y_twin = make_independent_twin(X, y, random_state=0)
    assert_array_equal(np.bincount(y_twin), np.bincount(y))
    for c in (0, 1):
        before, after = np.corrcoef(X[y == c].T), np.corrcoef(twin[y_twin == c].T)
        others = ~np.eye(3, dtype=bool)
        assert np.abs(before[others]).min() > 0.8
        # Four standard errors of a correlation that is zero.
        assert np.abs(after[others]).max() < 4 / np.sqrt((y == c).sum())
        assert_allclose(twin[y_twin == c].mean(axis=0), X[y == c].mean(axis=0), atol=0.7)
        assert_allclose(twin[y_twin == c].std(axis=0), X[y == c].std(axis=0), rtol=0.1)


def test_categories_become_independent_and_frequencies_stay() -> None:
    X, y = dependent_categories()
    twin, y_twin = make_independent_twin(X, y, random_state=0)
    for name in ("no", "yes"):
        old, new = X[y == name], twin[y_twin == name]
        assert chi2_contingency(pd.crosstab(old["a"], old["b"])).pvalue < 1e-6
        assert chi2_contingency(pd.crosstab(new["a"], new["b"])).pvalue > 1e-3
        for column in ("a", "b"):
            before = old[column].fillna("missing").value_counts(normalize=True)
            after = new[column].fillna("missing").value_counts(normalize=True)
            assert (before - after.reindex(before.index, fill_value=0)).abs().max() < 0.05
    # Without smoothing a value that a class never has does not appear in it.
    assert "r" not in set(twin.loc[y_twin == "no", "a"])


def test_smoothing_follows_the_laplace_correction() -> None:
    X = pd.DataFrame({"a": ["p"] * 6 + ["q"] * 2 + ["r"] * 4})
    y = [0] * 8 + [1] * 4
    twin, y_twin = make_independent_twin(X, y, smoothing=1.0, n_samples=30_000, random_state=0)
    shares = twin.loc[y_twin == 0, "a"].value_counts(normalize=True)
    assert_allclose(shares[["p", "q", "r"]], [7 / 11, 3 / 11, 1 / 11], atol=0.015)


def test_a_mixed_table_keeps_columns_and_dtypes() -> None:
    rng = np.random.default_rng(2)
    n = 300
    X = pd.DataFrame(
        {
            "float": rng.standard_normal(n),
            "short": rng.standard_normal(n).astype(np.float32),
            "small": rng.integers(0, 250, n).astype(np.uint8),
            "nullable": pd.array(rng.integers(0, 9, n), dtype="Int64"),
            "word": rng.choice(["x", "y"], n),
            "level": pd.Categorical(rng.choice(["lo", "hi"], n), ["lo", "hi", "top"], ordered=True),
            "flag": rng.uniform(size=n) < 0.5,
            "day": pd.to_datetime(rng.integers(0, 5, n), unit="D"),
        },
        index=np.arange(n) + 1000,
    )
    X.loc[1000:1060, "float"] = np.nan
    X.loc[1000:1030, "nullable"] = pd.NA
    X.loc[1000:1010, "word"] = None
    y = pd.Series(rng.choice([3, 7], n), index=X.index, name="kind", dtype="int16")
    before = X.copy(deep=True)
    twin, y_twin = make_independent_twin(X, y, random_state=0)
    pd.testing.assert_frame_equal(X, before)
    assert list(twin.columns) == list(X.columns)
    assert (twin.dtypes == X.dtypes).all()
    assert twin.index.tolist() == list(range(n)) == y_twin.index.tolist()
    assert y_twin.dtype == y.dtype
    assert y_twin.name == "kind"
    assert set(twin["day"]) <= set(X["day"])
    for column in ("float", "nullable", "word"):
        share = X[column].isna().mean()
        assert twin[column].isna().mean() == pytest.approx(share, abs=0.06)
        assert twin[column].isna().any()


def test_arrays_in_arrays_out() -> None:
    codes = np.array([[0, 5], [1, 5], [1, 9], [0, 9]] * 20, dtype=np.int16)
    y = np.array(["a", "b", "a", "b"] * 20)
    twin, y_twin = make_independent_twin(codes, y, kind="categorical", random_state=0)
    assert twin.dtype == np.int16
    assert set(twin[:, 1]) == {5, 9}
    assert y_twin.dtype == y.dtype
    objects = np.array([["u", 1.5], ["v", 2.5]] * 30, dtype=object)
    twin, _ = make_independent_twin(objects, [0, 1] * 30, random_state=0)
    assert twin.dtype == object
    assert set(twin[:, 0]) == {"u", "v"}
    assert all(isinstance(value, float) for value in twin[:, 1])
    strings = np.array([["u", "v"], ["v", "w"]] * 30)
    assert make_independent_twin(strings, [0, 1] * 30)[0].dtype == strings.dtype


def test_kind_of_each_column() -> None:
    X = np.array([[0, 0.5], [2, 1.5]] * 50, dtype=float)
    twin, _ = make_independent_twin(X, [0] * 100, kind=["categorical", "gaussian"], random_state=0)
    assert set(twin[:, 0]) == {0, 2}
    assert len(set(twin[:, 1])) == 100


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=30),
    st.one_of(st.none(), st.integers(1, 50)),
    st.integers(0, 1000),
)
def test_class_counts(labels: list[str], n_samples: int | None, seed: int) -> None:
    X = pd.DataFrame({"v": np.arange(len(labels)), "w": labels})
    twin, y_twin = make_independent_twin(X, labels, n_samples=n_samples, random_state=seed)
    n = len(labels) if n_samples is None else n_samples
    assert len(twin) == len(y_twin) == n
    for name in set(labels):
        exact = labels.count(name) * n / len(labels)
        assert abs(list(y_twin).count(name) - exact) < 1
    # w is a function of the class, and stays one.
    assert_array_equal(twin["w"].to_numpy(), y_twin)


def test_same_seed_same_twin() -> None:
    X, y = load("iris", return_X_y=True)
    first, again = (make_independent_twin(X, y, random_state=5)[0] for _ in range(2))
    pd.testing.assert_frame_equal(first, again)


def test_a_constant_and_a_missing_column() -> None:
    X = pd.DataFrame({"same": [4.0] * 6, "none": [np.nan] * 6})
    twin, _ = make_independent_twin(X, [0, 1] * 3, random_state=0)
    assert twin["same"].tolist() == [4.0] * 6
    assert twin["none"].isna().all()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"y": [0, -1, 1]}, ValueError, "1 rows of y have no label"),
        ({"y": [0, 1]}, ValueError, "inconsistent numbers of samples"),
        ({"X": [1, 2, 3]}, ValueError, "X must have two dimensions, got 1"),
        ({"X": sparse.csr_array(np.eye(3))}, TypeError, "X is sparse"),
        ({"kind": "poisson"}, ValueError, "kind must be 'auto', 'categorical' or 'gaussian'"),
        ({"kind": ["auto"]}, ValueError, "kind names 1 columns, but X has 2"),
        ({"X": [["a", "b"]] * 3, "kind": "gaussian"}, ValueError, "which has no mean"),
        ({"n_samples": 0}, ValueError, "n_samples must be a positive integer or None, got 0"),
        ({"smoothing": -1}, ValueError, "smoothing must be a number that is not negative"),
    ],
)
def test_messages(change: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make_independent_twin(**{"X": [[1.0, 2], [3, 4], [5, 6]], "y": [0, 1, 1], **change})
