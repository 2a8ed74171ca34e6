"""Edge weights against their formulas, written out pair by pair."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.spatial.distance import cdist

from leaven.graph import (
    AnisotropicGaussian,
    Arctan,
    Binary,
    Cosine,
    ExponentialCosine,
    FullGraph,
    Gaussian,
    InverseDistance,
    KNNGraph,
    NormalizedCosine,
)

X = np.random.default_rng(3).normal(size=(20, 4)) + 0.5
D = cdist(X, X)
COS = 1 - cdist(X, X, "cosine")


def full(weight, **kwargs):
    return FullGraph(weight=weight, **kwargs).build(X).adjacency.toarray()


def off_diagonal(W):
    return np.where(np.eye(len(W), dtype=bool), 0.0, W)


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        (Binary(), np.ones_like(D)),
        (Gaussian(bandwidth=0.7), np.exp(-(D**2) / (2 * 0.7**2))),
        (Gaussian(bandwidth=0.7, factor=2.0), np.exp(-(D**2) / (2 * 1.4**2))),
        (Gaussian(bandwidth="n_features"), np.exp(-(D**2) / (2 * 4**2))),
        (Gaussian(bandwidth="median"), np.exp(-(D**2) / (2 * np.median(D[D > 0]) ** 2))),
        (AnisotropicGaussian(1.3), np.exp(-(D**2) / 1.3**2)),
        (Arctan(slope=3.0, position=2.0), 0.5 - np.arctan(3.0 * (D - 2.0)) / np.pi),
        (Cosine(), np.maximum(COS, 0)),
        (ExponentialCosine(), np.exp(-(1 - COS) / 0.03)),
        (InverseDistance(), 1 / (1 + D)),
    ],
)
def test_formula_on_the_full_graph(weight, expected):
    assert_allclose(full(weight), off_diagonal(expected), atol=1e-12)


def test_median_position_of_arctan():
    cut = np.median(D[~np.eye(20, dtype=bool)])
    expected = off_diagonal(0.5 - np.arctan(2.0 * (D - cut)) / np.pi)
    assert_allclose(full(Arctan(slope=2.0)), expected, atol=1e-12)


def test_a_length_scale_for_each_feature():
    scales = np.array([0.5, 1.0, 2.0, np.inf])
    expected = np.empty_like(D)
    for i in range(20):
        for j in range(20):
            expected[i, j] = np.exp(-(((X[i] - X[j]) / scales) ** 2).sum())
    assert_allclose(full(AnisotropicGaussian(scales)), off_diagonal(expected), atol=1e-12)
    S = sparse.csr_array(X)
    W = FullGraph(weight=AnisotropicGaussian(scales)).build(S).adjacency.toarray()
    assert_allclose(W, off_diagonal(expected), atol=1e-12)


def test_local_scaling():
    k = 5
    radius = np.sort(D, axis=1)[:, k]  # column 0 is the row itself
    W = KNNGraph(k).build(X).adjacency.toarray()
    expected = np.exp(-4 * D**2 / (radius[:, None] * radius))
    assert_allclose(W[W > 0], expected[W > 0], rtol=1e-10)
    W = KNNGraph(k, weight=Gaussian(factor=1.0)).build(X).adjacency.toarray()
    expected = np.exp(-(D**2) / (2 * radius[:, None] * radius))
    assert_allclose(W[W > 0], expected[W > 0], rtol=1e-10)


def test_local_scaling_does_not_cut_off_copies():
    copies = np.zeros((6, 1))
    rows = np.vstack([copies, [[1.0], [2.0], [3.0]]])
    W = KNNGraph(4).build(rows).adjacency
    assert np.isfinite(W.data).all()
    assert W[5, 4] == 1.0


def test_cosine_normalized_over_the_neighbors_of_the_row():
    k = 4
    C = np.maximum(off_diagonal(COS), 0)
    order = np.argsort(-off_diagonal(COS) + 9 * np.eye(20), axis=1)[:, :k]
    P = np.zeros_like(C)
    for i in range(20):
        P[i, order[i]] = C[i, order[i]] / C[i, order[i]].sum()
    build = KNNGraph(k, metric="cosine", weight=NormalizedCosine(), symmetrize="mean").build
    assert_allclose(build(X).adjacency.toarray(), (P + P.T) / 2, atol=1e-12)


def test_cosine_weights_on_an_euclidean_graph():
    W = KNNGraph(5, weight=Cosine()).build(X).adjacency.toarray()
    assert_allclose(W[W > 0], COS[W > 0], rtol=1e-10)
    S = KNNGraph(5, weight=Cosine()).build(sparse.csr_array(X)).adjacency.toarray()
    assert_allclose(W, S, atol=1e-12)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (Gaussian(bandwidth=-1.0), "bandwidth must be a positive number"),
        (Gaussian(bandwidth="other"), "bandwidth must be a positive number or one of"),
        (Gaussian(factor=0.0), "factor must be positive"),
        (AnisotropicGaussian([1.0, 2.0]), "X has 4 features"),
        (AnisotropicGaussian(0.0), "length_scales must be positive"),
        (Arctan(slope=-1.0), "slope must be positive"),
        (Arctan(position="other"), "position must be a number or 'median'"),
        (ExponentialCosine(0.0), "temperature must be positive"),
        ("other", "weight must be one of"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        KNNGraph(3, weight=weight).build(X)
    with pytest.raises(TypeError, match="weight must be a name or a weight"):
        KNNGraph(3, weight=3.0).build(X)


def test_plain_distances_without_a_builder():
    assert_allclose(Gaussian(2.0)([2.0]), np.exp(-0.5))
    assert_allclose(AnisotropicGaussian(2.0)([2.0]), np.exp(-1.0))
    assert_allclose(Cosine()([0.25, 1.5]), [0.75, 0.0])
    for weight in (Gaussian(), Gaussian("n_features"), AnisotropicGaussian([1.0, 2.0])):
        with pytest.raises(ValueError, match="graph builder"):
            weight([1.0])
