"""Structure of the pictures of learning curves; not pixels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose

from leaven.plotting import plot_learning_curves

SIZES = [1, 2, 5, 40]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        [
            (dataset, method, trial, n, 0.1 * rng.random() + 1 / n)
            for dataset in ("wine", "iris")
            for method in ("NB", "EM", "SVM")
            for trial in range(4)
            for n in SIZES
        ],
        columns=["dataset", "method", "trial", "n_labeled", "error"],
    )


def wine(frame):
    return frame[frame["dataset"] == "wine"].drop(columns="dataset")


def test_lines_are_means_on_a_log2_axis(frame):
    part = wine(frame).sample(frac=1.0, random_state=1).sort_values("method", ascending=False)
    ax = plot_learning_curves(part)
    assert [line.get_label() for line in ax.lines] == ["SVM", "NB", "EM"]  # as they appear
    for line in ax.lines:
        rows = part[part["method"] == line.get_label()]
        x, y = line.get_data()
        assert_allclose(x, SIZES)
        assert_allclose(y, [rows.loc[rows["n_labeled"] == n, "error"].mean() for n in SIZES])
    assert ax.get_xscale() == "log"
    assert ax.xaxis.get_transform().base == 2
    assert ax.get_xlabel() == "labeled rows"
    assert ax.get_ylabel() == "error"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["SVM", "NB", "EM"]
    assert len({tuple(line.get_color()) for line in ax.lines}) == 3
    ax.figure.canvas.draw()
    assert "4" in [text.get_text() for text in ax.get_xticklabels()]  # no powers such as 2^2


@pytest.mark.parametrize(("band", "factor"), [("se", 0.5), ("sd", 1.0)])
def test_bands(frame, band, factor):
    part = wine(frame)[wine(frame)["method"] == "NB"]
    ax = plot_learning_curves(part, band=band)
    (area,) = ax.collections
    corners = area.get_paths()[0].vertices
    for n in SIZES:
        errors = part.loc[part["n_labeled"] == n, "error"]
        heights = corners[np.isclose(corners[:, 0], n), 1]
        spread = factor * errors.std(ddof=1)  # four trials: the root is two
        assert_allclose([heights.min(), heights.max()], errors.mean() + spread * np.array([-1, 1]))
    assert ax.get_legend() is None  # one method needs none


def test_no_band_and_a_linear_axis(frame):
    ax = plot_learning_curves(wine(frame), band=None, log=False)
    assert not ax.collections
    assert ax.get_xscale() == "linear"


def test_one_small_picture_for_each_data_set(frame):
    axes = plot_learning_curves(frame, legend=True)
    assert isinstance(axes, np.ndarray)
    assert [ax.get_title() for ax in axes] == ["wine", "iris"]
    assert [ax.get_ylabel() for ax in axes] == ["error", ""]
    assert [ax.get_legend() is None for ax in axes] == [False, True]
    assert all(len(ax.lines) == 3 for ax in axes)
    first, second = (ax.lines[0].get_color() for ax in axes)
    assert_allclose(first, second)


def test_a_method_keeps_its_color_where_another_is_missing(frame):
    part = frame[~((frame["dataset"] == "iris") & (frame["method"] == "NB"))]
    wine_axes, iris_axes = plot_learning_curves(part)
    assert [line.get_label() for line in iris_axes.lines] == ["EM", "SVM"]
    assert_allclose(iris_axes.lines[0].get_color(), wine_axes.lines[1].get_color())


def test_many_data_sets_fill_a_grid(frame):
    part = pd.concat([wine(frame).assign(dataset=f"set {i}") for i in range(5)])
    axes = plot_learning_curves(part)
    assert len(axes) == 5
    assert len(axes[0].figure.axes) == 5  # the sixth place is empty
    assert [bool(ax.get_ylabel()) for ax in axes] == [True, False, False, True, False]


def test_given_axes(frame):
    _, axes = plt.subplots(1, 2)
    assert plot_learning_curves(wine(frame), ax=axes[1]) is axes[1]
    assert not axes[0].lines
    plot_learning_curves(frame, ax=axes)
    assert len(axes[0].lines) == 3
    assert len(plt.get_fignums()) == 1
    with pytest.raises(ValueError, match="ax has 1 Axes, but frame has 2 data sets"):
        plot_learning_curves(frame, ax=axes[0])


def test_a_frame_of_one_curve_and_failed_trials(frame):
    part = wine(frame).query("method == 'NB'").drop(columns="method")
    failed = pd.DataFrame({"trial": [9], "n_labeled": [np.nan], "error": [np.nan]})
    ax = plot_learning_curves(pd.concat([part, failed]))
    (line,) = ax.lines
    assert len(line.get_xdata()) == len(SIZES)
    one = plot_learning_curves(part[part["trial"] == 0])
    assert np.isfinite(one.collections[0].get_paths()[0].vertices).all()  # a band without width


def test_other_value(frame):
    ax = plot_learning_curves(wine(frame).assign(f1=0.5), value="f1")
    assert ax.get_ylabel() == "f1"
    assert_allclose(ax.lines[0].get_ydata(), 0.5)


def test_errors(frame):
    with pytest.raises(ValueError, match="frame has no column 'n_labeled'; its columns are"):
        plot_learning_curves(frame.drop(columns="n_labeled"))
    with pytest.raises(ValueError, match="frame has no column 'f1'"):
        plot_learning_curves(frame, value="f1")
    with pytest.raises(ValueError, match="frame has no row with both n_labeled and error"):
        plot_learning_curves(frame.assign(error=np.nan))
    with pytest.raises(ValueError, match=r"n_labeled must be positive .* Use log=False"):
        plot_learning_curves(frame.assign(n_labeled=0))
    with pytest.raises(ValueError, match=r"band must be one of \('se', 'sd', None\), got 'ci'"):
        plot_learning_curves(frame, band="ci")
    with pytest.raises(ValueError, match="legend must be True, False or 'auto', got 'no'"):
        plot_learning_curves(frame, legend="no")
    with pytest.raises(TypeError, match="frame must be a pandas DataFrame, got list"):
        plot_learning_curves([0.1, 0.2])
