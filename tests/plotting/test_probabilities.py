"""Structure of the histograms of probabilities; not pixels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose

from leaven.plotting import plot_probability_histogram

P = np.array([0.0, 0.04, 0.3, 0.62, 0.9, 1.0, 1.0, 0.95])
Y = np.array(["no", "no", "yes", "no", "yes", "yes", "yes", "yes"])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def heights(bars):
    return [bar.get_height() for bar in bars]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_one_histogram_without_labels():
    ax = plot_probability_histogram(P, bins=4)
    assert_allclose(heights(ax.patches), [25.0, 12.5, 12.5, 50.0])  # 1.0 is in the last bin
    assert ax.get_legend() is None
    assert ax.get_xlim() == (0.0, 1.0)
    assert ax.get_xlabel() == "predicted probability of the positive class"
    assert ax.get_ylabel() == "rows, %"


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame])
@pytest.mark.parametrize("two_columns", [False, True])
def test_a_histogram_for_each_true_class(two_columns, make):
    given = make(np.column_stack([1 - P, P])) if two_columns else P
    ax = plot_probability_histogram(given, Y, bins=2)
    no, yes = ax.containers
    assert_allclose(heights(no), [200 / 3, 100 / 3])
    assert_allclose(heights(yes), [20.0, 80.0])
    # Both are seen where they overlap.
    assert max(bar.get_alpha() for bar in [*no, *yes]) < 0.7
    assert legend(ax) == ["no", "yes"]
    assert ax.get_xlabel() == "predicted probability of yes"


def test_positive_class():
    table = np.column_stack([1 - P, P])
    ax = plot_probability_histogram(table, Y, positive="no", bins=2)
    assert ax.get_xlabel() == "predicted probability of no"
    assert legend(ax) == ["yes", "no"]
    assert_allclose(heights(ax.containers[1]), [100 / 3, 200 / 3])
    # A vector with a name is the probability of that class.
    ax = plot_probability_histogram(1 - P, Y, positive="no", bins=2)
    assert_allclose(heights(ax.containers[1]), [100 / 3, 200 / 3])
    assert plot_probability_histogram(P, positive="spam").get_xlabel().endswith(" spam")


def test_three_classes():
    table = np.random.default_rng(0).dirichlet([1, 1, 1], size=12)
    y = np.arange(12) % 3
    ax = plot_probability_histogram(table, y, positive=1, bins=5)
    assert legend(ax) == ["not 1", "1"]
    assert_allclose(sum(heights(ax.containers[0])), 100.0)
    expected = np.histogram(table[y == 1, 1], bins=5, range=(0, 1))[0] * 25.0
    assert_allclose(heights(ax.containers[1]), expected)
    with pytest.raises(ValueError, match=r"There are 3 classes \[0, 1, 2\]. Give positive="):
        plot_probability_histogram(table)


def test_classes_name_the_columns():
    table = np.column_stack([P, 1 - P])
    ax = plot_probability_histogram(table, Y, classes=["yes", "no"], positive="yes", bins=2)
    assert_allclose(heights(ax.containers[1]), [20.0, 80.0])
    one_kind = plot_probability_histogram(table[:2], Y[:2], classes=["yes", "no"], bins=2)
    assert legend(one_kind) == ["no"]


def test_given_axes():
    _, axes = plt.subplots(1, 2)
    assert plot_probability_histogram(P, ax=axes[1]) is axes[1]
    assert len(axes[1].patches) == 20
    assert not axes[0].patches


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((P, Y[:3]), {}, "true has 3 labels, but probabilities has 8 rows"),
        ((P * 2,), {}, "probabilities must hold probabilities between 0 and 1"),
        ((np.array([0.1, np.nan]),), {}, "probabilities must hold probabilities between 0 and 1"),
        ((P,), {"bins": 0}, "bins must be a positive number of bins, got 0"),
        ((P, Y), {"positive": "perhaps"}, r"positive='perhaps' is not among the classes"),
        ((np.ones((8, 3)) / 3, Y), {}, r"one column for each of the 2 classes .* shape \(8, 3\)"),
        ((np.ones((2, 2, 2)),), {"classes": [0, 1]}, r"got shape \(2, 2, 2\)"),
        (([],), {}, r"got shape \(0, 1\)"),
    ],
)
def test_errors(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        plot_probability_histogram(*arguments, **options)
