"""Selection bias: the analysis of variance, and a simulation of methods that guess."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from leaven.statistics import shrink_best, shrinkage_share


def anova_f(results: np.ndarray) -> float:
    """F of the two-way analysis of variance, methods by rows, from its table of squares."""
    k, n = results.shape
    total = ((results - results.mean()) ** 2).sum()
    methods = n * ((results.mean(axis=1) - results.mean()) ** 2).sum()
    rows = k * ((results.mean(axis=0) - results.mean()) ** 2).sum()
    return (methods / (k - 1)) / ((total - methods - rows) / ((k - 1) * (n - 1)))


@pytest.mark.parametrize("seed", range(4))
def test_the_share_is_one_over_f(seed: int) -> None:
    rng = np.random.default_rng(seed)
    results = rng.random((4, 15)) + np.array([0.0, 0.4, 0.7, 0.2])[:, None]
    assert anova_f(results) > 1.5
    assert_allclose(shrinkage_share(results), 1 / anova_f(results))


def test_at_most_all_is_chance() -> None:
    results = np.array([[1, 0, 1, 0.0], [0, 1, 0, 1.0], [1, 1, 0, 0.25]])
    assert anova_f(results) < 1
    assert shrinkage_share(results) == 1.0
    assert_allclose(shrink_best(results, 2), results.mean(axis=0))


def test_folds_that_share_rows_leave_more_to_chance() -> None:
    rng = np.random.default_rng(1)
    results = rng.random((3, 10)) * 0.1 + np.array([0.0, 0.2, 0.5])[:, None]
    plain, folds = shrinkage_share(results), shrinkage_share(results, n_splits=5)
    # 1/10 becomes 1/10 + 1/4.
    assert_allclose(folds, 3.5 * plain)


@settings(max_examples=50)
@given(arrays(float, (3, 8), elements=st.sampled_from([0.0, 0.5, 1.0])), st.floats(0.1, 3))
def test_the_best_ends_between_the_mean_and_itself(results: np.ndarray, scale: float) -> None:
    best = int(results.mean(axis=1).argmax())
    shrunk = shrink_best(results, best).mean()
    assert results.mean() - 1e-12 <= shrunk <= results[best].mean() + 1e-12
    assert_allclose(
        shrinkage_share(results * scale), shrinkage_share(results), rtol=1e-9, atol=1e-12
    )
    assert_allclose(shrinkage_share(results + 2.0), shrinkage_share(results), rtol=1e-9, atol=1e-12)


def test_nothing_to_take_off() -> None:
    alone = np.array([[0.2, 0.9, 0.4]])
    assert_array_equal(shrink_best(alone, 0), alone[0])
    equal = np.array([[1.0, 0.0, 0.3], [0.0, 1.0, 0.3]])
    assert_array_equal(shrink_best(equal, 1), equal[1])
    single_row = np.array([[0.4], [0.8]])
    assert_array_equal(shrink_best(single_row, 1), single_row[1])


def test_it_removes_the_bias_of_the_best_of_many_guesses() -> None:
    # Ten methods that are right with probability 0.6, the best of them chosen: without
    # shrinkage it looks far better than it is.
    rng = np.random.default_rng(0)
    raw, shrunk = [], []
    for _ in range(300):
        results = (rng.random((10, 30)) < 0.6).astype(float)
        best = int(results.mean(axis=1).argmax())
        raw.append(results[best].mean())
        shrunk.append(shrink_best(results, best).mean())
    assert np.mean(raw) - 0.6 > 0.1
    assert abs(np.mean(shrunk) - 0.6) < 0.05
