"""The numbers of the strip, by hand and by least squares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaven.app._strip import RECENT, expected_gain, labels_per_minute


def test_speed_leaves_pauses_out():
    # Gaps 2, 4, 3 and a break of an hour: three seconds on average.
    assert labels_per_minute([10.0, 12.0, 16.0, 3616.0, 3619.0]) == 20.0
    assert labels_per_minute([10.0, 12.0]) is None
    assert labels_per_minute([]) is None


def test_speed_is_that_of_the_last_labels():
    slow = [30.0 * i for i in range(100)]
    fast = [slow[-1] + 2.0 * (i + 1) for i in range(RECENT)]
    assert labels_per_minute(slow + fast) == 30.0


def test_simultaneous_labels_are_no_division_by_zero():
    assert labels_per_minute([5.0, 5.0, 5.0, 5.0]) == 60_000.0


def weighted_line(x, y, weights):
    """Slope of weighted least squares, from its closed form."""
    mean_x = (weights * x).sum() / weights.sum()
    mean_y = (weights * y).sum() / weights.sum()
    return (weights * (x - mean_x) * (y - mean_y)).sum() / (weights * (x - mean_x) ** 2).sum()


def test_gain_is_that_of_a_weighted_line_over_doublings():
    sizes, accuracy = [12, 30, 50, 90, 140], [0.52, 0.66, 0.64, 0.71, 0.76]
    slope = weighted_line(np.log2(sizes), np.array(accuracy), np.array(sizes, dtype=float))
    expected = slope * np.log2((140 + 20) / 140)
    assert expected_gain(sizes, accuracy) == pytest.approx(expected)
    more = slope * np.log2((140 + 55) / 140)
    assert expected_gain(sizes, accuracy, n_more=55) == pytest.approx(more)


def test_a_gain_ends_at_an_accuracy_of_one():
    assert expected_gain([10, 20, 40, 80], [0.4, 0.6, 0.8, 0.98], 80) == pytest.approx(0.02)


def test_too_short_a_curve_promises_nothing():
    assert expected_gain([80, 82, 84, 86], [0.8, 0.83, 0.85, 0.9]) is None  # no doubling
    assert expected_gain([10, 20, 30], [0.5, 0.6, 0.7]) is None
    assert expected_gain([10, 10, 20, 30], [0.5, 0.5, 0.6, 0.7]) is None
    assert expected_gain([], []) is None


@given(st.lists(st.floats(0, 1), min_size=4, max_size=12), st.integers(1, 100))
def test_a_gain_is_never_negative_and_grows_with_the_labels(accuracy, n_more):
    sizes = [10 * (i + 1) for i in range(len(accuracy))]
    gain = expected_gain(sizes, accuracy, n_more)
    assert gain >= 0
    assert expected_gain(sizes, accuracy, n_more + 10) >= gain
