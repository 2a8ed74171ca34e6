"""Harmonic functions of Zhu et al. (2003): pieces on small data, one figure end to end."""

from __future__ import annotations

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import KNeighborsClassifier

from leaven.graph import AnisotropicGaussian, FullGraph, GivenGraph
from leaven.graph_based import HarmonicClassifier, learn_length_scales
from studies import TABLES, Run, reproduce
from studies.digit_shapes import SHAPES, shaped_digits, stretched, without_slant
from studies.harmonic_fields import (
    HarmonicOnRows,
    LearnedScales,
    RandomProtocol,
    VotedPerceptron,
    digits,
    reduce_images,
    scaled_graph,
)
from studies.prepared import KernelVote, OnRows, row_numbers

needs_data = pytest.mark.skipif(
    not os.environ.get("LEAVEN_DATA"), reason="LEAVEN_DATA is not set: no files of data sets"
)


def test_every_figure_is_registered():
    ids = [known for known in TABLES if known.startswith("S2-")]
    figures = [f"S2-figure-{i}" for i in range(2, 7)]  # 1 is a drawing without results
    assert sorted(ids) == ["S2-1", "S2-1-entropy", "S2-bandwidth", *figures, "S2-shapes"]
    for known in ids:
        table = TABLES[known]
        assert table.quick
        assert set(table.quick) <= set(table.datasets)
    published = TABLES["S2-1"].published["mean"]
    assert_allclose(published["start", "CMN"], 0.9725)
    assert_allclose(published["end", "thresh"], 0.9802)


def test_labels_are_drawn_again_while_a_class_has_none():
    codes = np.array([0] * 30 + [1] * 2)  # most draws of three rows have no 1
    protocol = RandomProtocol("random", n_labeled=3)
    orders = [protocol.split(codes, trial).order for trial in range(20)]
    for order in orders:
        assert set(codes[order[:3]]) == {0, 1}
        assert_array_equal(np.sort(order), np.arange(32))
    assert len({tuple(order) for order in orders}) == 20
    with pytest.raises(ValueError, match="n_labeled=1 must be at least the number of classes, 2"):
        RandomProtocol("random", n_labeled=1).split(codes, 0)


def test_images_are_reduced_by_area():
    image = np.arange(9.0).reshape(1, 3, 3)
    assert_allclose(reduce_images(image, 1), [[[4.0]]])
    # Each of the four parts has 1 whole pixel, halves of two and a quarter of one.
    corner = (0 + 1 / 2 + 3 / 2 + 4 / 4) / 2.25
    assert_allclose(reduce_images(image, 2)[0, 0, 0], corner)
    assert_allclose(reduce_images(image, 3), image)


def test_voted_perceptron_by_hand():
    # Rows 2 (+) and -1 (-), kernel xy: [[4, -2], [-2, 1]]. The zero vector errs on the first row,
    # whichever it is, with no vote; the next one gets the other row right (-1 · -2 = 2, or
    # 1 · 2) and all rows of the second pass: 3 votes and the one it begins with.
    model = VotedPerceptron(epochs=2).fit(np.array([[2.0], [-1.0]]), ["b", "a"])
    assert_array_equal(np.abs(model.alphas_), [[0, 0], [1, 0]])
    assert_array_equal(model.votes_, [0, 4])
    assert_array_equal(model.predict(np.array([[3.0], [-3.0]])), ["b", "a"])
    with pytest.raises(ValueError, match="two classes, y has 3"):
        VotedPerceptron().fit(np.eye(3), [0, 1, 2])


def test_voted_perceptron_with_a_linear_kernel_knows_no_scale():
    # With a constant in the kernel, small rows in the order of their classes taught it nothing.
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.normal(np.where(y == 1, 1.0, -1.0)[:, None], 2.0, size=(200, 5))
    large, small = (VotedPerceptron().fit(scale * X, y).predict(scale * X) for scale in (1, 1e-3))
    assert_array_equal(large, small)
    assert (small == y).mean() > 0.75


def test_voted_perceptron_with_a_square_kernel_learns_the_exclusive_or():
    X = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    assert_array_equal(VotedPerceptron(2).fit(X, [0, 0, 1, 1]).predict(X), [0, 0, 1, 1])


def test_distances_of_scaled_rows_are_those_of_the_anisotropic_weight():
    X = np.random.default_rng(0).normal(size=(12, 3))
    scales = np.array([0.7, 2.0, 1.3])
    expected = FullGraph(weight=AnisotropicGaussian(scales)).build(X).adjacency.toarray()
    assert_allclose(scaled_graph(X, scales).adjacency.toarray(), expected, rtol=1e-10)


def weights() -> np.ndarray:
    return np.array([[0.0, 2.0, 1.0, 0.0], [2.0, 0.0, 0.5, 1.0], [1.0, 0.5, 0.0, 3.0],
                     [0.0, 1.0, 3.0, 0.0]])  # fmt: skip


def test_kernel_vote_sums_weights():
    model = KernelVote(weights).fit(row_numbers(4), ["a", None, None, "b"])
    assert_array_equal(model.transduction_, ["a", "a", "b", "b"])
    assert_allclose(model.label_distributions_[1], [2 / 3, 1 / 3])
    # Other orders of the rows give the same answer.
    turned = KernelVote(weights).fit(row_numbers(4)[::-1], ["b", None, None, "a"])
    assert_array_equal(turned.transduction_, model.transduction_[::-1])


def places() -> np.ndarray:
    """Three clouds, and a pair of rows that are near to each other and far from all others."""
    rng = np.random.default_rng(0)
    clouds = rng.normal(size=(38, 2)) + np.repeat([[0, 0], [4, 0], [0, 4]], [20, 10, 8], axis=0)
    return np.vstack([clouds, [[6.0, 6.0], [6.1, 6.0]]])


def place_weights() -> np.ndarray:
    return scaled_graph(places(), 1.0).adjacency.toarray()


@pytest.mark.parametrize("prior", [None, "labeled"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("has_external", [False, True])
def test_one_inverse_serves_all_labels(prior, n_classes, has_external):
    W = place_weights()
    names = np.repeat(["a", "b", "a" if n_classes == 2 else "c", "b"], [20, 10, 8, 2])
    rng = np.random.default_rng(n_classes)
    for n_labeled in (6, 15):
        order = np.concatenate(
            [[0, 20, 30], rng.permutation(np.setdiff1d(np.arange(40), [0, 20, 30]))]
        )
        y = names[order].astype(object)
        y[n_labeled:] = None
        nearest = OnRows(KNeighborsClassifier(1), places, supervised=True) if has_external else None
        model = HarmonicOnRows(place_weights, (), prior, nearest).fit(row_numbers(40)[order], y)
        # Straight from the equations (5), (9) and (10).
        classes, codes = np.unique(y[:n_labeled].astype(str), return_inverse=True)
        P = (W / W.sum(axis=1, keepdims=True))[np.ix_(order, order)]
        F = np.eye(n_classes)[codes]
        to_labels = P[n_labeled:, :n_labeled] @ F
        inside = P[n_labeled:, n_labeled:]
        if has_external:
            X = places()[order]
            h = KNeighborsClassifier(1).fit(X[:n_labeled], codes).predict(X[n_labeled:])
            to_labels, inside = 0.9 * to_labels + 0.1 * np.eye(n_classes)[h], 0.9 * inside
        f = np.linalg.solve(np.eye(len(inside)) - inside, to_labels)
        if prior:
            f = f * (np.bincount(codes) + 1) / (n_labeled + n_classes) / f.sum(axis=0)
            f = f / f.sum(axis=1, keepdims=True)
        assert_allclose(model.label_distributions_[n_labeled:], f, rtol=1e-8, atol=1e-12)
        assert_array_equal(model.label_distributions_[:n_labeled], F)
        assert_array_equal(model.transduction_[n_labeled:], classes[f.argmax(axis=1)])
    with pytest.raises(ValueError, match="all 40 rows once"):
        model.fit(row_numbers(40)[order][:30], y[:30])


@pytest.mark.parametrize("prior", [None, "labeled"])
def test_learned_scales_decide_as_the_classifier_does(prior):
    X = places()
    y = np.full(40, -1)
    y[[0, 1, 20, 21, 38]] = [0, 0, 1, 1, 1]
    scales = learn_length_scales(
        X, y, prior="labeled", smoothing=0.01, initial=380.0, max_iter=2
    ).length_scales
    graph = GivenGraph(scaled_graph(X, scales))
    expected = HarmonicClassifier(graph, prior=prior).fit(X, y)
    for _ in range(2):  # anew, and from what is remembered
        model = LearnedScales(prior, 2).fit(X, y)
        assert_allclose(model.label_distributions_, expected.label_distributions_, rtol=1e-10)
        assert_array_equal(model.transduction_, expected.transduction_)


def test_figure_5_end_to_end():
    report = reproduce(["S2-figure-5"], Run(quick=True))[0]
    means = report.cells.set_index("method")["mean"]
    assert_allclose(means["one length scale"], 0.884, atol=2e-3)
    assert_allclose(means["two length scales"], 0.620, atol=2e-3)
    assert report.cells["choice"].str.startswith("σ").all()


@needs_data
def test_digits_have_the_class_sizes_of_the_source():
    X, y = digits("ten digits", 1)
    assert X.shape == (4000, 256)
    assert_array_equal(np.unique(y, return_counts=True)[1],
                       [455, 213, 129, 100, 754, 970, 275, 585, 166, 353])  # fmt: skip
    assert 0 <= X.min() <= X.max() <= 255


def bar(slant: float) -> np.ndarray:
    """An image with a bar through its middle that leans by ``slant`` pixels a row."""
    rows, columns = np.indices((28, 28)) - 13.5
    return 200.0 * np.clip(2.5 - np.abs(columns - slant * rows), 0, 1) * (np.abs(rows) < 9)


@pytest.mark.parametrize("slant", [-0.4, 0.25, 0.5])
def test_a_slanted_bar_is_set_upright(slant):
    upright = without_slant(bar(slant)[None])[0]
    rows, columns = np.indices((28, 28)) - 13.5
    total = upright.sum()
    assert (
        abs((upright * rows * columns).sum() / total) < 0.3
    )  # (slant * variance of the rows) was 7 or more
    assert_allclose(
        [(upright * rows).sum() / total, (upright * columns).sum() / total], 0, atol=0.1
    )
    assert_allclose(upright, bar(0.0), atol=60)  # an edge is spread over two pixels
    assert np.abs(bar(slant) - bar(0.0)).max() > 150


def test_a_box_is_stretched_to_the_frame():
    image = np.zeros((28, 28))
    image[3:7, 10:12] = [[100, 200], [100, 200], [40, 80], [40, 80]]
    assert_allclose(stretched(image[None], 2), [[[100, 200], [40, 80]]])
    assert_allclose(stretched(image[None], 4)[0, :, 0], [100, 100, 40, 40])


@needs_data
def test_shapes_are_those_of_the_same_digits():
    plain, y = shaped_digits(SHAPES[0], 5)
    X, classes = digits("1 against 2", 5)
    assert_array_equal(plain, X)
    for shape in SHAPES[1:]:
        other, same = shaped_digits(shape, 5)
        assert_array_equal(same, classes)
        assert other.shape == plain.shape
        # Ones lean more differently than twos: upright ones are more alike.
        spread = [each[y == "1"].var(axis=0).sum() for each in (plain, other)]
        assert spread[1] < 0.8 * spread[0] if shape == SHAPES[1] else spread[1] > spread[0]
