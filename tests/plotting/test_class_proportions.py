"""Structure of the pictures of class proportions; not pixels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose

from leaven.plotting import plot_class_proportions

TRUE = ["a", "a", "b", "c", "a", "b", "c", "c", "c", "c"]  # 0.3, 0.2, 0.5


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def points(ax):
    return [np.asarray(part.get_offsets()) for part in ax.collections]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def probabilities(seed=0, n=10):
    return np.random.default_rng(seed).dirichlet([1.0, 2.0, 3.0], size=n)


@pytest.mark.parametrize("make", [list, np.array, pd.Series])
def test_labels_against_labels(make):
    ax = plot_class_proportions(make(TRUE), make(["a"] * 6 + ["b"] * 4))
    assert_allclose(np.vstack(points(ax)), [[0.3, 0.6], [0.2, 0.4], [0.5, 0.0]])
    assert legend(ax) == ["a", "b", "c"]
    (diagonal,) = ax.lines
    assert_allclose(diagonal.get_xdata(), diagonal.get_ydata())
    assert ax.get_xlabel() == "true class proportion"
    assert ax.get_ylabel() == "predicted class proportion"


def test_a_class_that_is_only_predicted():
    ax = plot_class_proportions([0, 0, 1, 1], [0, 2, 2, 2])
    assert_allclose(np.vstack(points(ax)), [[0.5, 0.25], [0.5, 0.0], [0.0, 0.75]])
    assert legend(ax) == ["0", "1", "2"]


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame])
def test_probabilities_are_averaged(make):
    table = probabilities()
    ax = plot_class_proportions(TRUE, make(table))
    assert_allclose(np.vstack(points(ax))[:, 1], table.mean(axis=0))


def test_classes_name_the_columns():
    table = probabilities()
    ax = plot_class_proportions(TRUE, table, classes=["c", "a", "b"])
    assert legend(ax) == ["c", "a", "b"]
    assert_allclose(np.vstack(points(ax))[:, 0], [0.5, 0.3, 0.2])
    assert_allclose(np.vstack(points(ax))[:, 1], table.mean(axis=0))


def test_trials():
    tables = [probabilities(seed) for seed in range(4)]
    ax = plot_class_proportions(TRUE, tables)
    shares = np.array([table.mean(axis=0) for table in tables])
    assert_allclose(np.array(points(ax))[:, :, 1].T, shares)
    # Every trial with rows of its own, and labels in one of them.
    truths = [TRUE, ["a", "b"], ["c", "c", "c", "b"]]
    answers = [tables[0], tables[1][:2], ["c", "b", "b", "b"]]
    ax = plot_class_proportions(truths, answers)
    assert_allclose(
        np.array(points(ax))[2], [[0.5, shares[0, 2]], [0, tables[1][:2, 2].mean()], [0.75, 0.25]]
    )


def test_against_the_number_of_labels():
    sizes = [1, 1, 4, 4, 16]
    tables = [probabilities(seed) for seed in range(5)]
    ax = plot_class_proportions(TRUE, tables, n_labeled=sizes)
    assert ax.get_xscale() == "log"
    curves, levels = ax.lines[0::2], ax.lines[1::2]
    shares = np.array([table.mean(axis=0) for table in tables])
    for i, (curve, level) in enumerate(zip(curves, levels, strict=True)):
        assert_allclose(curve.get_xdata(), [1, 4, 16])
        expected = [shares[:2, i].mean(), shares[2:4, i].mean(), shares[4, i]]
        assert_allclose(curve.get_ydata(), expected)
        assert_allclose(level.get_ydata(), [0.3, 0.2, 0.5][i])
        assert_allclose(curve.get_color(), level.get_color())
        corners = ax.collections[i].get_paths()[0].vertices
        heights = corners[np.isclose(corners[:, 0], 4), 1]
        half = abs(shares[2, i] - shares[3, i]) / 2  # the standard error of two numbers
        assert_allclose(heights.max() - heights.min(), 2 * half)


def test_given_axes():
    _, axes = plt.subplots(1, 2)
    assert plot_class_proportions(TRUE, TRUE, ax=axes[0], legend=False) is axes[0]
    assert axes[0].get_legend() is None
    assert not axes[1].collections
    assert_allclose(np.diff(np.vstack(points(axes[0])), axis=1), 0.0)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((["a", None], ["a", "b"]), {}, "true has 1 unlabeled rows"),
        (([0, 1], [0, -1]), {}, "predicted has 1 unlabeled rows"),
        (([0, 1], [0, 1, 1]), {}, "true has 2 rows and predicted has 3 in trial 0"),
        (([0, 1], np.ones((2, 3)) / 3), {}, r"predicted must be probabilities .* shape \(2, 3\)"),
        (([0, 1], [[0.5, 1.5], [0.5, 0.5]]), {}, "predicted must hold probabilities between"),
        (([0, 1], [0, 5]), {"classes": [0, 1]}, r"predicted holds \[5\], which are not among"),
        (([0, 1], [0, 1]), {"classes": [0, 0]}, r"classes must name each class once, got \[0, 0\]"),
        (([0, 1], [0, 1]), {"n_labeled": [1, 2]}, "n_labeled must be one positive number for each"),
        (([[0, 1], [1, 1]], [0, 1]), {}, "true is a list of 2 trials, so predicted must be a list"),
        (([], []), {}, "true must be an array with at least one row"),
    ],
)
def test_errors(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        plot_class_proportions(*arguments, **options)
