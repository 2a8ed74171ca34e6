"""Structure of the critical difference diagram: places, bars, and labels that do not overlap."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose

from leaven.evaluation import nemenyi_test
from leaven.plotting import plot_critical_difference
from leaven.plotting._critical_difference import _bar_levels


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def scores(n_methods, n_datasets=30, spread=2.0, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_datasets, n_methods)) + np.linspace(0, spread, n_methods)
    return pd.DataFrame(values, columns=[f"method {c}" for c in range(n_methods)])


def texts(ax, gid):
    return [text for text in ax.texts if text.get_gid() == gid]


def bars(ax):
    found = [line for line in ax.lines if line.get_gid() == "group"]
    return [(line.get_xdata(), line.get_ydata()) for line in found]


def boxes(ax):
    ax.figure.canvas.draw()
    return [text.get_window_extent() for text in ax.texts]


def overlaps(one, other):
    return one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1


def assert_readable(ax):
    found = boxes(ax)
    assert not [pair for pair in itertools.combinations(found, 2) if overlaps(*pair)]
    figure = ax.figure.bbox
    for box in found:
        assert box.x0 >= figure.x0
        assert box.x1 <= figure.x1
        assert box.y0 >= figure.y0
        assert box.y1 <= figure.y1


def test_methods_stand_at_their_mean_rank():
    table = scores(5)
    result = nemenyi_test(table)
    ax = plot_critical_difference(table)
    labels = [text.get_text() for text in texts(ax, "method")]
    expected = [f"{name}  {rank:.2f}" for name, rank in result.mean_ranks.sort_values().items()]
    assert labels == expected
    elbows = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 3]
    assert_allclose(elbows, np.sort(result.mean_ranks))
    assert texts(ax, "cd")[0].get_text() == f"CD = {result.critical_difference:.2f}"
    (ruler,) = (line.get_xdata() for line in ax.lines if line.get_gid() == "cd")
    assert_allclose(abs(ruler[0] - ruler[1]), result.critical_difference)
    assert [text.get_text() for text in texts(ax, "rank")] == ["1", "2", "3", "4", "5"]


def test_bars_are_the_groups():
    table = scores(9)
    result = nemenyi_test(table)
    groups = [group for group in result.groups if len(group) > 1]
    assert 1 < len(groups) == len(bars(plot_critical_difference(table)))
    drawn = bars(plot_critical_difference(table))
    for group, (x, y) in zip(groups, drawn, strict=True):
        ranks = result.mean_ranks[list(group)]
        assert_allclose(np.sort(x), [ranks.min(), ranks.max()], atol=0.012 * 8 + 1e-9)
        assert y[0] == y[1] < 0
    for (x, y), (other_x, other_y) in itertools.combinations(drawn, 2):
        apart = min(x) > max(other_x) or min(other_x) > max(x)
        assert y[0] != other_y[0] or apart


def test_no_bar_joins_what_differs():
    table = scores(3, n_datasets=60, spread=30.0)
    assert not bars(plot_critical_difference(table))


def test_the_best_is_at_the_right():
    ax = plot_critical_difference(scores(4))
    left, right = ax.get_xlim()
    assert left > right
    ax.figure.canvas.draw()
    best, *_, worst = texts(ax, "method")
    assert best.get_text().startswith("method 0")
    assert best.get_window_extent().x0 > worst.get_window_extent().x1
    assert [text.get_ha() for text in texts(ax, "method")] == ["left", "left", "right", "right"]


def test_higher_is_better_turns_the_order():
    table = scores(4)
    one = plot_critical_difference(table)
    other = plot_critical_difference(-table, higher_is_better=True)
    assert [t.get_text() for t in one.texts] == [t.get_text() for t in other.texts]
    assert texts(plot_critical_difference(table, None, True), "method")[0].get_text() != (
        texts(one, "method")[0].get_text()
    )


@pytest.mark.parametrize("n_methods", [2, 3, 4, 15, 30])
def test_labels_do_not_overlap(n_methods):
    names = [f"SemiSupervisedMethod-{i} (λ = {i / 10})" for i in range(n_methods)]
    assert_readable(plot_critical_difference(scores(n_methods), names))


@pytest.mark.parametrize("dpi", [50, 72, 300])
def test_labels_do_not_overlap_at_any_resolution(dpi):
    ax = plot_critical_difference(scores(15), [f"wwwwwwwwwwwww {i}" for i in range(15)])
    ax.figure.set_dpi(dpi)
    assert_readable(ax)


def test_labels_do_not_overlap_where_all_ranks_are_equal():
    assert_readable(plot_critical_difference(np.ones((6, 15))))


@pytest.mark.parametrize("size", [(6.4, 4.8), (12, 3), (4, 6)])
def test_labels_do_not_overlap_in_given_axes(size):
    figure, axes = plt.subplots(1, 2, figsize=size)
    assert plot_critical_difference(scores(15), ax=axes[0]) is axes[0]
    assert_readable(axes[0])
    assert not axes[1].lines
    assert len(plt.get_fignums()) == 1
    own = [box.x1 for box in boxes(axes[0])]
    assert max(own) <= axes[0].get_window_extent().x1 + 1  # not over the neighbor
    assert figure is axes[0].figure


def test_many_methods_grow_the_figure():
    heights = [plot_critical_difference(scores(k)).figure.get_figheight() for k in (4, 15)]
    assert heights[1] > heights[0] + 1.0


def test_a_critical_difference_longer_than_the_axis():
    ax = plot_critical_difference(scores(3, n_datasets=2))
    assert texts(ax, "cd")[0].get_text().endswith("(longer than the axis)")
    assert_readable(ax)


def test_labels():
    values = scores(3).to_numpy()
    names = {text.get_text()[:8] for text in texts(plot_critical_difference(values), "method")}
    assert names == {"method 1", "method 2", "method 3"}
    ax = plot_critical_difference(values, labels=["a_b", "$5", "C%"])
    assert {text.get_text()[0] for text in texts(ax, "method")} == {"a", "$", "C"}
    with pytest.raises(ValueError, match="labels has 2 names, but scores has 3 methods"):
        plot_critical_difference(values, labels=["a", "b"])


def test_formulas_in_labels():
    names = [rf"SSNB $\lambda_{{{i}}}$" for i in range(6)]
    assert_readable(plot_critical_difference(scores(6), labels=names))


def test_errors():
    with pytest.raises(ValueError, match=r"at least two of each, got shape \(1, 3\)"):
        plot_critical_difference([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="scores holds nan in row 1, column 0"):
        plot_critical_difference([[1.0, 2.0], [np.nan, 1.0]])
    with pytest.raises(ValueError, match="alpha must be a probability"):
        plot_critical_difference([[1.0, 2.0], [2.0, 1.0]], alpha=2)


def test_bar_levels():
    assert _bar_levels([(0, 3), (2, 5), (4, 6), (6, 8)]) == [0, 1, 0, 1]
    assert _bar_levels([(0, 1), (2, 3)]) == [0, 0]
    assert _bar_levels([]) == []
