"""Learned length scales: gradients by finite differences, findings of the paper."""

import logging

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from leaven.datasets import make_two_grids
from leaven.graph import AnisotropicGaussian, FullGraph
from leaven.graph_based import HarmonicClassifier, class_mass_normalization, learn_length_scales
from leaven.graph_based._length_scales import _DenseField, _SparseField, label_entropy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
SCALES = np.array([0.9, 1.7, 2.6])


def codes(n_classes):
    y = np.full(40, -1)
    y[: 2 * n_classes] = np.arange(2 * n_classes) % n_classes
    return y


def bits(f):
    return float(-(f * np.log2(np.maximum(f, 1e-300))).sum(axis=1).mean())


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("self_loops", [False, True])
def test_entropy_is_that_of_the_dense_smoothed_walk(n_classes, self_loops):
    y = codes(n_classes)
    W = FullGraph(weight=AnisotropicGaussian(SCALES)).build(X).adjacency.toarray()
    W += self_loops * np.eye(40)
    P = 0.05 / 40 + 0.95 * W / W.sum(axis=1, keepdims=True)
    u, given = y < 0, y >= 0
    f = np.linalg.solve(
        np.eye(u.sum()) - P[np.ix_(u, u)], P[np.ix_(u, given)] @ np.eye(n_classes)[y[given]]
    )
    field = _DenseField(X, self_loops=self_loops)
    assert_allclose(label_entropy(field, y, n_classes, SCALES, smoothing=0.05)[0], bits(f))
    q = np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()
    balanced = label_entropy(field, y, n_classes, SCALES, smoothing=0.05, prior=q)[0]
    assert_allclose(balanced, bits(class_mass_normalization(f, q)))


def test_without_smoothing_it_is_the_harmonic_function():
    y = codes(3)
    graph = FullGraph(weight=AnisotropicGaussian(SCALES))
    f = HarmonicClassifier(graph).fit(X, y).scores_[y < 0]
    assert_allclose(label_entropy(_DenseField(X), y, 3, SCALES, smoothing=0.0)[0], bits(f))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(("smoothing", "loops"), [(0.0, False), (0.03, False), (0.03, True)])
def test_gradient_by_finite_differences(n_classes, prior, kind, smoothing, loops):
    y = codes(n_classes)
    field = (
        _DenseField(X, self_loops=loops)
        if kind == "dense"
        else _SparseField(X, SCALES, 8, self_loops=loops)
    )
    q = np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum() if prior else None

    def entropy(scales):
        return label_entropy(field, y, n_classes, scales, smoothing=smoothing, prior=q)[0]

    gradient = label_entropy(field, y, n_classes, SCALES, smoothing=smoothing, prior=q)[1]
    assert_allclose(gradient, approx_fprime(SCALES, entropy, 1e-6), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("loops", [False, True])
def test_all_neighbors_make_the_sparse_field_the_dense_one(loops):
    y = codes(2)
    dense = label_entropy(_DenseField(X, self_loops=loops), y, 2, SCALES)
    full = label_entropy(_SparseField(X, SCALES, 39, self_loops=loops), y, 2, SCALES)
    assert_allclose(full[0], dense[0])
    assert_allclose(full[1], dense[1], atol=1e-8)


def test_self_loops_matter_only_with_smoothing():
    y = codes(3)
    plain, loops = _DenseField(X), _DenseField(X, self_loops=True)
    entropy = [label_entropy(f, y, 3, SCALES, smoothing=0.0)[0] for f in (plain, loops)]
    assert_allclose(entropy[0], entropy[1], rtol=1e-9)
    smoothed = [label_entropy(f, y, 3, SCALES, smoothing=0.1)[0] for f in (plain, loops)]
    assert smoothed[1] > smoothed[0] + 0.001


def relevant_and_noise(seed=0):
    """Six lines of ten points, three of each class: the first feature says nothing."""
    rows = np.array([[x, y] for y in (0, 1, 2, 4, 5, 6) for x in range(10)], dtype=float)
    rows += 0.05 * np.random.default_rng(seed).normal(size=rows.shape)
    y = np.full(60, -1)
    y[[12, 47]] = [0, 1]
    return rows, y


@pytest.mark.parametrize("n_neighbors", [None, 15])
@pytest.mark.parametrize("seed", range(3))
def test_irrelevant_features_get_large_scales(n_neighbors, seed):
    rows, y = relevant_and_noise(seed)
    learned = learn_length_scales(rows, y, n_neighbors=n_neighbors)
    assert learned.length_scales[0] > 3 * learned.length_scales[1]
    assert learned.entropy < 0.8 * learned.entropy_trace[0]
    assert np.diff(learned.entropy_trace).max() <= 1e-12
    assert_allclose(learned.entropy, learned.entropy_trace[-1])
    model = HarmonicClassifier(FullGraph(weight=learned.weight)).fit(rows, y)
    assert (model.transduction_ == np.repeat([0, 1], 30)).all()


def test_tied_scales_are_equal_and_start_where_told(caplog):
    rows, y = relevant_and_noise()
    with caplog.at_level(logging.INFO, logger="leaven"):
        learned = learn_length_scales(rows, y, tied=True, initial=1.5, prior="labeled", verbose=1)
    assert len(set(learned.length_scales)) == 1
    assert len(caplog.records) == learned.n_iter == len(learned.entropy_trace) - 1
    start = learn_length_scales(rows, y, initial=[1.5] * 2, max_iter=1).entropy_trace[0]
    field_entropy = label_entropy(_DenseField(rows), y, 2, np.full(2, 1.5))[0]
    assert_allclose(start, field_entropy)


def test_entropy_vanishes_with_the_scale_only_without_smoothing():
    rows, y = relevant_and_noise()
    field = _DenseField(rows)
    small = np.full(2, 0.12)
    assert label_entropy(field, y, 2, small, smoothing=0.0)[0] < 0.02
    assert label_entropy(field, y, 2, small, smoothing=0.01)[0] > 0.1


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"smoothing": 1.0}, r"smoothing must lie in \[0, 1\)"),
        ({"initial": -1.0}, "initial must hold positive numbers"),
        ({"initial": [1.0, 2.0]}, "broadcast"),
    ],
)
def test_bad_parameters(kwargs, message):
    with pytest.raises(ValueError, match=message):
        learn_length_scales(X, codes(2), **kwargs)
    with pytest.raises(ValueError, match="All rows are labeled"):
        learn_length_scales(X, np.arange(40) % 2)


@pytest.mark.parametrize("initial", [None, 0.5, 1.0])
def test_two_grids_of_the_paper(initial):
    # Figure 5: the tied scale has an inner minimum (0.898 bits at 0.67); with separate scales
    # the horizontal one grows without bound and the other settles (0.65, 0.619 bits).
    rows, truth, y = make_two_grids(return_labeled=True)
    tied = learn_length_scales(rows, y, tied=True, initial=initial)
    assert_allclose(tied.length_scales, 0.67, atol=0.02)
    assert_allclose(tied.entropy, 0.898, atol=0.03)
    free = learn_length_scales(rows, y, initial=initial)
    assert free.length_scales[0] > 100
    assert_allclose(free.length_scales[1], 0.65, atol=0.02)
    assert_allclose(free.entropy, 0.619, atol=0.01)
    model = HarmonicClassifier(FullGraph(weight=free.weight)).fit(rows, y)
    assert (model.transduction_ == truth).all()


def test_entropy_of_the_two_grids_with_and_without_self_loops():
    # Equation (1) of the paper gives w_ii = 1; the walk of P ordinarily has no loops.
    rows, _, y = make_two_grids(return_labeled=True)
    at = np.full(2, 0.67)
    assert_allclose(label_entropy(_DenseField(rows), y, 2, at)[0], 0.884, atol=5e-4)
    loops = _DenseField(rows, self_loops=True)
    assert_allclose(label_entropy(loops, y, 2, at)[0], 0.924, atol=5e-4)


def regular_grids(n_columns, n_lower, n_upper, gap, seed):
    """Two grids that were not fitted to anything: steps of 1 and 0.9, two points between."""
    x = np.arange(n_columns) - (n_columns - 1) / 2
    lower = np.array([[i, -j] for j in range(n_lower) for i in x])
    upper = np.array([[0.9 * i, 3 * gap + 0.9 * j] for j in range(n_upper) for i in x])
    rows = np.vstack([lower, [[0.0, gap], [0.0, 2 * gap]], upper])
    # Without noise many paths have the same longest step, and the limit of σ -> 0 is undecided.
    rows += 0.02 * np.random.default_rng(seed).normal(size=rows.shape)
    truth = np.repeat([0, 1], [len(lower) + 1, len(upper) + 1])
    y = np.full(len(rows), -1)
    y[len(lower) - 1], y[-1] = 0, 1
    return rows, truth, y


@pytest.mark.parametrize("shape", [(9, 3, 3, 1.0), (9, 3, 3, 1.1), (7, 4, 3, 1.2)])
@pytest.mark.parametrize("seed", range(2))
def test_findings_of_the_paper_on_grids_that_were_not_fitted(shape, seed):
    rows, truth, y = regular_grids(*shape, seed)
    loops = _DenseField(rows, self_loops=True)

    def entropy(sigma, smoothing=0.01):
        return label_entropy(loops, y, 2, np.full(2, sigma), smoothing=smoothing)[0]

    # Without smoothing the entropy tends to 0 with σ; with it that minimum has disappeared, and
    # an inner one is left, which tells the grids apart.
    assert entropy(0.12, 0.0) < entropy(0.3, 0.0) < entropy(0.6, 0.0)
    tied = learn_length_scales(rows, y, tied=True, self_loops=True)
    sigma = tied.length_scales[0]
    assert 0.7 < sigma < 1.7
    assert tied.entropy < min(entropy(sigma / 3), entropy(sigma * 3)) - 0.05
    assert entropy(0.1) > 0.95
    model = HarmonicClassifier(FullGraph(weight=tied.weight), prior=None).fit(rows, y)
    assert (model.transduction_ == truth).all()
    # With a scale for each feature the horizontal one grows without bound, the other settles.
    free = learn_length_scales(rows, y, initial=sigma, self_loops=True)
    assert free.length_scales[0] > 100 > 1.5 > free.length_scales[1]
    assert free.entropy < tied.entropy - 0.1
    model = HarmonicClassifier(FullGraph(weight=free.weight), prior=None).fit(rows, y)
    assert (model.transduction_ == truth).all()
