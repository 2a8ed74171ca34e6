"""Structure of the pictures of decision regions; not pixels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from leaven.plotting import plot_decision_regions

X = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 4.0], [10.0, 4.0]])
Y = np.array(["left", "right", "left", "right"])
TAB10 = plt.get_cmap("tab10")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def image(ax):
    (found,) = ax.images
    return np.asarray(found.get_array())


def test_each_side_has_the_color_of_its_class():
    nearest = KNeighborsClassifier(1).fit(X, Y)
    ax = plot_decision_regions(nearest, X, Y, resolution=40, margin=0.1)
    pixels = image(ax)
    assert pixels.shape == (40, 40, 4)
    assert_allclose(pixels[:, :20], np.broadcast_to(TAB10(0), (40, 20, 4)))
    assert_allclose(pixels[:, 20:], np.broadcast_to(TAB10(1), (40, 20, 4)))
    assert_allclose(ax.images[0].get_extent(), [-1, 11, -0.4, 4.4])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["left", "right"]


def test_up_is_up():
    y = np.array([1, 1, 2, 2])
    pixels = image(plot_decision_regions(KNeighborsClassifier(1).fit(X, y), X, resolution=10))
    assert_allclose(pixels[0, 0], TAB10(0))  # origin="lower": the first row is the bottom
    assert_allclose(pixels[-1, 0], TAB10(1))


def test_probabilities_mix_the_colors():
    ax = plot_decision_regions(KNeighborsClassifier(4).fit(X, Y), X, resolution=5)
    assert_allclose(image(ax)[2, 3], (np.array(TAB10(0)) + TAB10(1)) / 2)
    hard = plot_decision_regions(
        KNeighborsClassifier(4).fit(X, Y), X, resolution=5, response="predict"
    )
    assert_allclose(image(hard)[2, 3], TAB10(0))


def test_a_classifier_without_probabilities():
    machine = LinearSVC().fit(X, Y)
    pixels = image(plot_decision_regions(machine, X, resolution=6))
    assert len(np.unique(pixels.reshape(-1, 4), axis=0)) == 2
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba"):
        plot_decision_regions(machine, X, response="predict_proba")


def test_unlabeled_rows_are_small_and_grey():
    y = np.array([4, 9, -1, -1])
    ax = plot_decision_regions(KNeighborsClassifier(1).fit(X[:2], y[:2]), X, y, resolution=4)
    small, large = ax.collections
    assert_allclose(small.get_offsets(), X[2:])
    assert_allclose(large.get_offsets(), X[:2])
    assert_allclose(large.get_facecolors(), [TAB10(0), TAB10(1)])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["4", "9", "unlabeled"]


def test_labels_that_the_classifier_never_saw_shift_no_color():
    nearest = KNeighborsClassifier(1).fit(X, ["a", "c", "a", "c"])
    ax = plot_decision_regions(nearest, X, ["a", "b", "a", "c"], resolution=4)
    assert_allclose(image(ax)[0, 0], TAB10(0))
    assert_allclose(image(ax)[0, -1], TAB10(2))
    assert_allclose(ax.collections[1].get_facecolors(), [TAB10(k) for k in (0, 1, 0, 2)])


def test_a_data_frame_names_the_axes_and_reaches_the_classifier():
    frame = pd.DataFrame(X, columns=["width", "height"])
    ax = plot_decision_regions(KNeighborsClassifier(1).fit(frame, Y), frame, Y, resolution=4)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "height")


def test_draws_into_the_given_axes():
    _, ax = plt.subplots()
    assert plot_decision_regions(KNeighborsClassifier(1).fit(X, Y), X, ax=ax) is ax


def test_what_is_wrong_is_said():
    nearest = KNeighborsClassifier(1).fit(X, Y)
    with pytest.raises(ValueError, match="draws two features, but X has 3"):
        plot_decision_regions(nearest, np.ones((2, 3)))
    with pytest.raises(ValueError, match="resolution must be at least 2, got 1"):
        plot_decision_regions(nearest, X, resolution=1)
    with pytest.raises(ValueError, match="response must be one of"):
        plot_decision_regions(nearest, X, response="decision")
    with pytest.raises(NotFittedError):
        plot_decision_regions(KNeighborsClassifier(), X)
