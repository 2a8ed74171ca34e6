"""Structure of the pictures of graphs: segments, colors, sizes, legend; not pixels."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection
from numpy.testing import assert_allclose
from scipy import sparse

from leaven.graph import Graph, KNNGraph
from leaven.plotting import plot_graph
from leaven.plotting._graph import spectral_layout


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def square() -> Graph:
    """Four corners of a square with unequal sides, and a loop on the first."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 0)]
    return Graph.from_edges(edges, [4.0, 2.0, 1.0, 3.0, 9.0])


CORNERS = np.array([[0.0, 0.0], [5.0, 0.0], [5.0, 7.0], [0.0, 7.0]])


def parts(ax):
    lines, small, large = ax.collections
    assert isinstance(lines, LineCollection)
    return lines, small, large


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_edges_join_the_right_points(square):
    lines, _, _ = parts(plot_graph(square, CORNERS))
    drawn = {tuple(map(tuple, segment)) for segment in lines.get_segments()}
    expected = [(0, 1), (1, 2), (2, 3), (0, 3)]  # the loop is not drawn
    assert drawn == {(tuple(CORNERS[i]), tuple(CORNERS[j])) for i, j in expected}


def test_a_heavier_edge_is_wider_and_darker(square):
    lines, _, _ = parts(plot_graph(square, CORNERS, edge_width=2.0))
    i, j, weights = square.edges()
    order = np.argsort(weights[i != j])
    assert_allclose(weights[i != j][order], [1, 2, 3, 4])
    assert (np.diff(np.asarray(lines.get_linewidths())[order]) > 0.05).all()
    assert (np.diff(lines.get_colors()[order, 3]) > 0.05).all()
    assert max(lines.get_linewidths()) == pytest.approx(2.0)


def test_labeled_large_and_colored_unlabeled_small_and_grey(square):
    _, small, large = parts(plot_graph(square, CORNERS, ["b", None, "a", "b"]))
    assert_allclose(small.get_offsets(), CORNERS[[1]])
    assert_allclose(large.get_offsets(), CORNERS[[0, 2, 3]])
    b, a, other_b = large.get_facecolors()
    assert_allclose(a, plt.get_cmap("tab10")(0))
    assert_allclose(b, plt.get_cmap("tab10")(1))
    assert_allclose(other_b, b)
    red, green, blue, _ = small.get_facecolors()[0]
    assert red == green == blue
    assert small.get_sizes()[0] < large.get_sizes()[0]


def test_inferred_classes_color_the_small_points(square):
    y = np.array([3, -1, -1, 7])
    ax = plot_graph(square, CORNERS, y, inferred=np.array([3, 5, 7, 7]))
    _, small, large = parts(ax)
    colors = plt.get_cmap("tab10")([0, 1, 2])  # of 3, 5 and 7
    assert_allclose(small.get_facecolors(), colors[[1, 2]])
    assert_allclose(large.get_facecolors(), colors[[0, 2]])
    assert legend_texts(ax) == ["3", "5", "7"]


def test_legend(square):
    assert legend_texts(plot_graph(square, y=[0, -1, 1, -1])) == ["0", "1", "unlabeled"]
    assert plot_graph(square, y=[0, -1, 1, -1], legend=False).get_legend() is None
    assert plot_graph(square).get_legend() is None
    assert plot_graph(square, y=[-1, -1, -1, -1]).get_legend() is None
    with pytest.raises(ValueError, match="legend must be True, False or 'auto', got 'no'"):
        plot_graph(square, legend="no")


@pytest.mark.parametrize(("n_classes", "shown"), [(10, True), (20, True), (21, False)])
def test_many_classes_have_different_colors(n_classes, shown):
    n = 2 * n_classes
    ring = Graph.from_edges([(i, (i + 1) % n) for i in range(n)])
    ax = plot_graph(ring, y=np.arange(n) // 2)
    assert len(np.unique(parts(ax)[2].get_facecolors(), axis=0)) == n_classes
    assert (ax.get_legend() is not None) == shown


def test_draws_into_the_given_axes(square):
    _, axes = plt.subplots(1, 2)
    assert plot_graph(square, ax=axes[1]) is axes[1]
    assert not axes[0].collections
    assert len(plt.get_fignums()) == 1


def test_takes_a_fitted_builder():
    X = np.random.default_rng(0).random((20, 2))
    builder = KNNGraph(n_neighbors=3).fit(X)
    lines, small, _ = parts(plot_graph(builder, X))
    assert len(lines.get_segments()) == builder.graph_.n_edges
    assert_allclose(small.get_offsets(), X)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_more_columns_are_projected_on_principal_components(make):
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(40, 2)) * [9.0, 3.0]
    rotation = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    X = np.hstack([plane, np.zeros((40, 3))]) @ rotation
    ax = plot_graph(KNNGraph(n_neighbors=2).build(X), make(X))
    points = np.asarray(parts(ax)[1].get_offsets())
    distances = np.linalg.norm(plane[:, None] - plane, axis=2)
    assert_allclose(np.linalg.norm(points[:, None] - points, axis=2), distances, atol=1e-6)


def test_two_sparse_columns_are_drawn_as_they_are(square):
    _, small, _ = parts(plot_graph(square, sparse.csr_array(CORNERS)))
    assert_allclose(small.get_offsets(), CORNERS)


def test_colors_are_taken_from_the_given_map(square):
    large = parts(plot_graph(square, y=["a", "b", "c", "a"], cmap="Set2"))[2]
    assert_allclose(large.get_facecolors(), plt.get_cmap("Set2")([0, 1, 2, 0]))


def test_one_column_lies_on_a_line():
    graph = Graph.from_edges([(0, 1), (1, 2)])
    points = parts(plot_graph(graph, [[3.0], [1.0], [2.0]]))[1].get_offsets()
    assert_allclose(points, [[3, 0], [1, 0], [2, 0]])


def test_a_graph_without_edges_or_a_single_node():
    assert len(parts(plot_graph(Graph(np.zeros((3, 3)))))[0].get_segments()) == 0
    assert len(parts(plot_graph(Graph([[0.0]]), y=[1]))[2].get_offsets()) == 1


@pytest.mark.parametrize("n", [50, 400, 3000])  # dense, Lanczos, shift and invert
def test_layout_of_a_path_keeps_its_order(n):
    # Eigenvectors of the random walk on a path are cosines (reflecting ends):
    # cos(pi k i / (n - 1)) for eigenvalue 1 - cos(pi k / (n - 1)).
    path = Graph.from_edges(np.column_stack([np.arange(n - 1), np.arange(1, n)]))
    points = spectral_layout(path) / np.sqrt(n)
    angle = np.pi * np.arange(n) / (n - 1)
    for column, k in [(0, 1), (1, 2)]:
        expected = (np.cos(k * angle) + 1) / 2
        up = points[:, column] - points[:, column].min()
        assert min(abs(up - expected).max(), abs(up - 1 + expected).max()) < 0.02


def test_layout_keeps_components_apart():
    ring = [(i, (i + 1) % 8) for i in range(8)]
    other = [(8 + i, 8 + (i + 1) % 5) for i in range(5)]
    graph = Graph.from_edges([*ring, *other, (13, 14)], n_nodes=16)
    points = spectral_layout(graph)
    assert len(np.unique(points.round(6), axis=0)) == 16
    boxes = [points[graph.components() == c] for c in range(4)]
    for a in range(4):
        for b in range(a):
            A, B = boxes[a], boxes[b]
            apart = (A.min(axis=0) > B.max(axis=0)) | (B.min(axis=0) > A.max(axis=0))
            assert apart.any()


def test_what_is_wrong_is_said(square):
    with pytest.raises(TypeError, match="graph must be a Graph or a fitted graph builder, got KNN"):
        plot_graph(KNNGraph())
    with pytest.raises(ValueError, match="X has 3 rows, but the graph has 4 nodes"):
        plot_graph(square, CORNERS[:3])
    with pytest.raises(ValueError, match="y has 2 entries, but there are 4 rows to draw"):
        plot_graph(square, CORNERS, [0, 1])


def test_importing_leaven_does_not_import_matplotlib():
    code = "import sys, leaven.plotting; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_missing_matplotlib_names_the_extra(monkeypatch, square):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'needs matplotlib.*pip install "leaven\[plot\]"'):
        plot_graph(square)
