"""Codes, colors, legends, grids and layouts behind the figures."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB

from leaven.graph import Graph, GridGraph
from leaven.plotting import _graph, plot_graph
from leaven.plotting._classes import (
    GREY,
    class_colors,
    class_legend,
    encode_classes,
    scatter_classes,
)
from leaven.plotting._regions import _class_weights, _extent, _grid


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


@pytest.mark.parametrize(
    ("y", "known", "classes", "codes"),
    [
        (None, None, [], [-1, -1, -1]),
        ([1, -1, 0], None, [0, 1], [1, -1, 0]),
        (["b", None, "a"], None, ["a", "b"], [1, -1, 0]),
        ([-1, -1, -1], None, [], [-1, -1, -1]),
        ([-1, -1, -1], [4, 2], [2, 4], [-1, -1, -1]),
        (["b", None, "d"], ["a", "b"], ["a", "b", "d"], [1, -1, 2]),
        ([3, -1, 7], [5], [3, 5, 7], [0, -1, 2]),
    ],
)
def test_labels_become_codes_of_known_and_own_classes(y, known, classes, codes):
    found, found_codes = encode_classes(y, 3, known)
    assert found.tolist() == classes
    assert_array_equal(found_codes, codes)


def test_labels_of_another_length_are_refused():
    with pytest.raises(ValueError, match="y has 2 entries, but there are 3 rows to draw"):
        encode_classes([0, 1], 3)


@pytest.mark.parametrize("n", [1, 10, 11, 20, 21, 60])
def test_every_class_has_a_color_of_its_own(n):
    colors = class_colors(n)
    assert colors.shape == (n, 4)
    assert len(np.unique(colors.round(6), axis=0)) == n
    assert ((colors >= 0) & (colors <= 1)).all()


def test_a_short_list_of_colors_is_taken_in_turn():
    colors = class_colors(12, "tab10")
    assert_allclose(colors[10:], colors[:2])
    assert class_colors(0).shape == (0, 4)


@pytest.mark.parametrize(
    ("legend", "n_classes", "shown"),
    [
        ("auto", 3, True),
        ("auto", 0, False),
        ("auto", 21, False),
        (True, 21, True),
        (False, 3, False),
    ],
)
def test_when_there_is_a_legend(legend, n_classes, shown, ax):
    names = np.arange(n_classes)
    class_legend(ax, names, class_colors(n_classes), legend=legend, with_unlabeled=True)
    found = ax.get_legend()
    assert (found is not None) is shown
    if shown:
        words = [text.get_text() for text in found.get_texts()]
        assert words == [*map(str, names), "unlabeled"]


def test_a_legend_is_on_off_or_automatic(ax):
    with pytest.raises(ValueError, match="legend must be True, False or 'auto', got 'yes'"):
        class_legend(ax, np.arange(2), class_colors(2), legend="yes", with_unlabeled=False)


def test_labeled_rows_lie_on_top_with_an_edge(ax):
    points = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    colors = class_colors(2)
    scatter_classes(
        ax,
        points,
        np.array([1, -1, -1]),
        colors,
        inferred=np.array([1, 0, -1]),
        size=5,
        labeled_size=50,
    )
    small, large = ax.collections
    assert large.get_zorder() > small.get_zorder()
    assert_array_equal(large.get_offsets(), [[0.0, 0.0]])
    assert_allclose(large.get_facecolors()[0], colors[1])
    assert_allclose(small.get_facecolors(), [colors[0], [float(GREY)] * 3 + [1.0]])
    assert (small.get_sizes()[0], large.get_sizes()[0]) == (5, 50)


# Regions


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=1, max_size=8))
@settings(max_examples=40)
def test_the_extent_holds_all_points_with_room(points):
    P = np.array(points, dtype=float)
    left, right, bottom, top = _extent(P, 0.1)
    assert left < P[:, 0].min() <= P[:, 0].max() < right
    assert bottom < P[:, 1].min() <= P[:, 1].max() < top
    width = np.ptp(P[:, 0])
    assert_allclose(right - left, 1.2 * width if width > 0 else 0.2, rtol=1e-6)


def test_a_grid_has_the_centers_of_its_cells_row_by_row():
    grid = _grid((0.0, 4.0, 10.0, 12.0), 2)
    assert_allclose(grid, [[1.0, 10.5], [3.0, 10.5], [1.0, 11.5], [3.0, 11.5]])


def test_weights_are_probabilities_in_the_columns_of_their_classes():
    X, y = np.array([[0.0, 0.0], [0.2, 0.1], [4.0, 4.0], [4.2, 4.1]]), np.array([2, 2, 7, 7])
    model = GaussianNB().fit(X, y)
    classes = np.array([2, 5, 7])  # the middle one was never learned
    weights = _class_weights(model, X, classes, "auto")
    assert_allclose(weights[:, [0, 2]], model.predict_proba(X))
    assert_array_equal(weights[:, 1], 0.0)
    hard = _class_weights(model, X, classes, "predict")
    assert_array_equal(hard, np.eye(3)[[0, 0, 2, 2]])
    ridge = RidgeClassifier().fit(X, y)
    assert_array_equal(_class_weights(ridge, X, classes, "auto"), np.eye(3)[[0, 0, 2, 2]])
    with pytest.raises(ValueError, match="RidgeClassifier has no predict_proba"):
        _class_weights(ridge, X, classes, "predict_proba")
    with pytest.raises(ValueError, match=r"response must be one of .*, got 'proba'"):
        _class_weights(model, X, classes, "proba")


# Layouts


def test_small_components_have_fixed_places():
    assert_allclose(_graph._unit_square(Graph(np.zeros((1, 1)))), [[0.5, 0.5]])
    pair = Graph.from_edges([(0, 1)])
    assert_allclose(_graph._unit_square(pair), [[0.0, 0.5], [1.0, 0.5]])


def test_a_layout_fills_the_unit_square_and_puts_neighbors_side_by_side():
    graph = GridGraph((4, 5)).build(np.zeros((20, 1)))
    points = _graph._unit_square(graph)
    assert_allclose(points.min(axis=0), 0.0, atol=1e-12)
    assert_allclose(points.max(axis=0), 1.0)
    i, j, _ = graph.edges()
    near = np.linalg.norm(points[i] - points[j], axis=1).mean()
    everybody = np.linalg.norm(points[:, None] - points, axis=2).mean()
    assert near < 0.7 * everybody


@pytest.mark.parametrize("kind", ["grid", "path"])
def test_large_and_small_graphs_are_laid_out_by_the_same_vectors(kind, monkeypatch):
    if kind == "grid":
        graph = GridGraph((9, 14)).build(np.zeros((126, 1)))
    else:
        graph = Graph.from_edges([(i, i + 1) for i in range(125)])
    L = graph.laplacian("symmetric").astype(float)
    dense = _graph._smoothest(L)
    monkeypatch.setattr(_graph, "DENSE_LIMIT", 10)
    iterated = _graph._smoothest(L)
    assert_allclose(np.abs(np.sum(dense * iterated, axis=0)), 1.0, atol=1e-3)


def test_components_do_not_overlap():
    W = sparse.block_diag([sparse.csr_array(np.ones((n, n)) - np.eye(n)) for n in (5, 3, 1, 1, 4)])
    graph = Graph(W)
    points = _graph.spectral_layout(graph)
    boxes = []
    for number in range(graph.n_components):
        part = points[graph.components() == number]
        boxes.append((part.min(axis=0), part.max(axis=0)))
    for a in range(len(boxes)):
        for b in range(a):
            (low_a, high_a), (low_b, high_b) = boxes[a], boxes[b]
            assert (low_a > high_b).any() or (low_b > high_a).any()


def test_loops_are_not_drawn_and_rows_of_one_column_lie_on_a_line(ax):
    graph = Graph(np.array([[3.0, 1.0], [1.0, 0.0]]))
    plot_graph(graph, [[0.0], [2.0]], ax=ax)
    segments = ax.collections[0].get_segments()
    assert len(segments) == 1
    assert_allclose(segments[0], [[0.0, 0.0], [2.0, 0.0]])
