from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from leaven.evaluation import aulc, label_schedule
from leaven.evaluation._schedule import colon

# 10 ** (k / 20) for k = 0 .. 20 to one decimal, from a table of logarithms:
# 1 1.1 1.3 1.4 1.6 1.8 2.0 2.2 2.5 2.8 3.2 3.5 4.0 4.5 5.0 5.6 6.3 7.1 7.9 8.9 10
ONE_TO_TEN = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
TEN_TO_HUNDRED = [10, 11, 13, 14, 16, 18, 20, 22, 25, 28, 32, 35, 40, 45, 50, 56, 63, 71, 79, 89]


def test_schedule_by_hand() -> None:
    # 4.47 rounds to 4 and 5.01 to 5, so that no integer up to 10 is passed over.
    assert label_schedule(1, 100) == ONE_TO_TEN[:-1] + TEN_TO_HUNDRED + [100]
    assert label_schedule(1, 1) == [1]
    assert all(isinstance(size, int) for size in label_schedule(3, 40))


def test_schedule_starts_elsewhere() -> None:
    # 6 * 10 ** (k / 20): 6, 6.73, 7.55, 8.48, 9.51, 10.67, 11.97; the next is 13.43.
    assert label_schedule(6, 13) == [6, 7, 8, 10, 11, 12]
    assert label_schedule(6, 13, include_n=True) == [6, 7, 8, 10, 11, 12, 13]


@given(st.integers(1, 300), st.integers(0, 20_000), st.booleans())
@settings(max_examples=50, deadline=None)
def test_schedule_invariants(n0: int, more: int, include_n: bool) -> None:
    n = n0 + more
    sizes = label_schedule(n0, n, include_n=include_n)
    assert sizes[0] == n0
    assert sizes[-1] <= n
    assert (np.diff(sizes) > 0).all()
    if include_n:
        assert sizes[-1] == n
    # Steps are 0.05 in log10, but for rounding to integers; the last may be shorter.
    steps = np.diff(np.log10(sizes))
    assert (steps <= 0.05 + 1.2 * np.log10((np.array(sizes[:-1]) + 1) / sizes[:-1])).all()


@pytest.mark.parametrize(("n0", "n"), [(0, 5), (6, 5), (-1, 3)])
def test_schedule_refuses(n0: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"n0={n0} and n={n}: they must satisfy 1 <= n0 <= n."):
        label_schedule(n0, n)


def test_schedule_wants_integers() -> None:
    with pytest.raises(TypeError, match=r"n must be an integer, got 10\.5"):
        label_schedule(1, 10.5)  # type: ignore[arg-type]


def test_colon_reaches_an_end_that_rounding_misses() -> None:
    # 0.1 + 2 * 0.1 is above 0.3 by one unit in the last place, and is still the end.
    assert colon(0.1, 0.1, 0.3).tolist() == [0.1, 0.2, 0.3]
    assert colon(0.0, 0.05, 0.12).tolist() == [0.0, 0.05, 0.1]


def test_aulc_by_hand() -> None:
    # log2 of the sizes: 0, 1, 3, 4; trapezoids 0.45 * 1 + 0.3 * 2 + 0.15 * 1.
    assert_allclose(aulc([1, 2, 8, 16], [0.5, 0.4, 0.2, 0.1]), 1.2, rtol=1e-14)
    assert aulc([7], [0.3]) == 0.0
    assert_allclose(aulc([1, 4], [[0.5, 0.3], [0.2, 0.1]]), [0.8, 0.3])


curves = st.lists(st.floats(0, 1), min_size=2, max_size=9)


@given(curves, st.floats(-3, 3), st.data())
@settings(max_examples=25, deadline=None)
def test_aulc_is_linear(first: list[float], factor: float, data: st.DataObject) -> None:
    n = len(first)
    second = data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n))
    sizes = np.cumsum(data.draw(st.lists(st.integers(1, 50), min_size=n, max_size=n)))
    a, b = np.array(first), np.array(second)
    left = aulc(sizes, a + factor * b)
    assert_allclose(left, aulc(sizes, a) + factor * aulc(sizes, b), atol=1e-9)
    # A constant curve: error times the width on the log2 axis.
    assert_allclose(aulc(sizes, np.full(n, 0.3)), 0.3 * np.log2(sizes[-1] / sizes[0]), atol=1e-9)


def test_aulc_refuses() -> None:
    with pytest.raises(ValueError, match="each larger than the one before"):
        aulc([1, 3, 3], [0.1, 0.1, 0.1])
    with pytest.raises(ValueError, match=r"errors has shape \(2,\), but there are 3 sizes"):
        aulc([1, 2, 3], [0.1, 0.1])
