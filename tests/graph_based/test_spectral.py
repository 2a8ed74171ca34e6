"""The spectral graph transducer against random points, the secular equation and itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import brentq
from sklearn.datasets import make_moons
from sklearn.frozen import FrozenEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.exceptions import UnreachedWarning
from leaven.graph import GivenGraph, Graph, KNNGraph
from leaven.graph_based import SpectralTransducer, _basis
from leaven.graph_based._basis import spectral_basis
from leaven.graph_based._simplex import project_to_simplex
from leaven.graph_based._spectral import minimize_on_sphere, replaced_spectrum, transduce

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.full(60, -1)
Y[:9] = [0, 1, 2] * 3


@given(seed=st.integers(0, 10_000), d=st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_sphere_minimum_by_the_secular_equation(seed, d):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    G, b, radius = A + A.T, rng.normal(size=d), rng.uniform(0.5, 9)
    w, multiplier = minimize_on_sphere(G, b, radius)
    assert_allclose(w @ w, radius, rtol=1e-8)
    values, Q = np.linalg.eigh(G)
    beta = Q.T @ b

    def excess(x):
        return np.sum((beta / (values - x)) ** 2) - radius

    root = brentq(excess, values[0] - 1e6, values[0] - 1e-12, xtol=1e-13)
    assert_allclose(multiplier, root, atol=1e-6)
    points = rng.normal(size=(10_000, d))
    points *= np.sqrt(radius) / np.linalg.norm(points, axis=1, keepdims=True)
    objective = np.einsum("ij,ij->i", points @ G, points) - 2 * points @ b
    assert w @ G @ w - 2 * b @ w <= objective.min() + 1e-9


def test_sphere_minimum_by_the_eigenvalue_of_gander_golub_and_von_matt():
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(20, 20)), rng.normal(size=20)
    G = A + A.T
    block = np.block([[G, -np.eye(20)], [-np.outer(b, b) / 5.0, G]])
    _, multiplier = minimize_on_sphere(G, b, 5.0)
    assert_allclose(multiplier, np.linalg.eigvals(block).real.min(), rtol=1e-9)


@pytest.mark.parametrize("exponent", [-6.0, 0.0, 6.0])
def test_sphere_minimum_over_many_orders_of_magnitude(exponent):
    rng = np.random.default_rng(4)
    for _ in range(20):
        G = np.diag(np.sort(10.0 ** rng.uniform(-12, 4, 50)))
        b = rng.normal(size=50) * 10.0 ** rng.uniform(-8, 3, 50)
        w, multiplier = minimize_on_sphere(G, b, 10.0**exponent)
        assert_allclose(w @ w, 10.0**exponent, rtol=1e-8)
        assert multiplier <= G[0, 0]


def test_sphere_minimum_when_b_misses_the_lowest_eigenvector():
    w, multiplier = minimize_on_sphere(np.diag([1.0, 3.0]), np.array([0.0, 2.0]), 4.0)
    assert_allclose(np.abs(w), [np.sqrt(3), 1.0])
    assert multiplier == 1.0


@pytest.mark.parametrize("laplacian", ["random-walk", "combinatorial"])
def test_constraints_and_objective_of_the_paper(laplacian):
    rng = np.random.default_rng(1)
    graph = KNNGraph(8).build(X)
    basis = spectral_basis(graph, 10, laplacian=laplacian)
    V = basis.vectors
    B = graph.degree / graph.degree.mean() if laplacian == "random-walk" else np.ones(60)
    assert_allclose(V.T @ (B[:, None] * V), np.eye(10), atol=1e-6)
    assert_allclose(B @ V, 0, atol=1e-6)
    labeled, positive = np.arange(9), Y[:9] == 0
    D = np.arange(1, 11.0) ** 2
    w, upper, lower = transduce(V, D, labeled, positive, c=3200.0)
    assert_allclose(w @ w, 60, rtol=1e-8)
    assert_allclose([upper, lower], [np.sqrt(2), -np.sqrt(0.5)])
    gamma, C = np.where(positive, upper, lower), np.where(positive, 9 / 6, 9 / 12)

    def objective(w):
        error = V[labeled] @ w - gamma
        return w @ (D * w) + 3200.0 * error @ (C * error)

    best = objective(w)
    for _ in range(2_000):
        point = rng.normal(size=10) + (w if rng.random() < 0.5 else 0)
        assert objective(point * np.sqrt(60 / (point @ point))) >= best - 1e-6


def test_fit_follows_the_paper_for_two_classes():
    y = np.where(Y == 2, 1, Y)
    graph = KNNGraph(8)
    model = SpectralTransducer(graph, n_eigenvectors=10).fit(X, y)
    basis = spectral_basis(graph.build(X), 10)
    w, upper, lower = transduce(
        basis.vectors, np.arange(1, 11.0) ** 2, np.arange(9), y[:9] == 1, c=3200.0
    )
    z = basis.vectors @ w
    assert_allclose(model.scores_[:, 1], (z - lower) / (upper - lower), atol=1e-8)
    assert_array_equal(model.transduction_[9:], (z > (upper + lower) / 2)[9:].astype(int))
    assert_allclose(model.label_distributions_.sum(axis=1), 1.0)


def test_one_decomposition_serves_all_labels(monkeypatch):
    calls = []
    compute = _basis._compute

    def counted(*args):
        calls.append(1)
        return compute(*args)

    monkeypatch.setattr(_basis, "_compute", counted)
    builder = KNNGraph(7).fit(X + 0.123)
    frozen = FrozenEstimator(builder)
    first = SpectralTransducer(frozen, n_eigenvectors=12).fit(X + 0.123, Y)
    second = SpectralTransducer(frozen, n_eigenvectors=12).fit(X + 0.123, (Y + 1) % 3 - (Y < 0))
    assert first.basis_ is second.basis_
    assert len(calls) == 1


@given(seed=st.integers(0, 1_000))
@settings(max_examples=8, deadline=None)
def test_permuting_rows_or_classes_permutes_the_answer(seed):
    rng = np.random.default_rng(seed)
    rows, names = rng.permutation(60), rng.permutation(3)
    make = lambda: SpectralTransducer(KNNGraph(6), n_eigenvectors=15)  # noqa: E731
    base = make().fit(X, Y)
    moved = make().fit(X[rows], Y[rows])
    assert_allclose(moved.scores_, base.scores_[rows], atol=1e-6)
    renamed = make().fit(X, np.where(Y < 0, -1, names[Y]))
    assert_allclose(renamed.scores_[:, names], base.scores_, atol=1e-8)


def test_scaling_all_weights_changes_nothing():
    W = KNNGraph(6).build(X).adjacency
    base = SpectralTransducer(GivenGraph(W), n_eigenvectors=15).fit(X, Y)
    scaled = SpectralTransducer(GivenGraph(37.0 * W), n_eigenvectors=15).fit(X, Y)
    assert_allclose(base.scores_, scaled.scores_, atol=1e-6)


def test_moons_spectra_and_priors():
    rows, truth = make_moons(300, noise=0.06, random_state=0)
    y = np.full(300, -1)
    y[[np.argmin(rows[:, 0]), np.argmax(rows[:, 0])]] = [0, 1]
    for params in ({}, {"spectrum": "eigenvalues", "c": 1.0}, {"laplacian": "combinatorial"}):
        model = SpectralTransducer(**params).fit(rows, y)
        assert (model.transduction_ == truth).mean() > 0.97
    few = SpectralTransducer(KNNGraph(6), prior=[0.1, 0.45, 0.45]).fit(X, Y)
    assert_allclose(few.label_distributions_.sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="proportion 0"):
        SpectralTransducer(prior=[0.0, 0.5, 0.5]).fit(X, Y)


def test_components_new_rows_and_too_many_eigenvectors():
    far = np.vstack([X, X + 100.0])
    with pytest.warns(UnreachedWarning):
        model = SpectralTransducer(KNNGraph(6)).fit(far, np.concatenate([Y, np.full(60, -1)]))
    assert model.n_unreached_ == 60
    assert_allclose(model.label_distributions_[60:], 1 / 3)
    both = np.concatenate([Y, Y])
    model = SpectralTransducer(KNNGraph(6)).fit(far, both)
    assert_allclose(model.predict_proba(far)[both < 0], model.label_distributions_[both < 0])
    with pytest.raises(ValueError, match="n_eigenvectors=60, but the graph has 60 nodes"):
        SpectralTransducer(n_eigenvectors=60).fit(X, Y)


def test_equal_eigenvalues_share_their_place():
    # On a circle all eigenvalues come in pairs, whose vectors are any basis of a plane: the
    # answer must not depend on it, and turning the circle must turn the answer.
    assert_allclose(replaced_spectrum(np.array([0.1, 0.1, 0.3, 0.3, 0.4]), 2.0), [1, 1, 9, 9, 25])
    ring = np.arange(24)
    W = Graph.from_edges(np.column_stack([ring, (ring + 1) % 24])).adjacency
    y = np.full(24, -1)
    # No mirror turns these labels into each other: with one there would be two minima.
    y[[0, 9, 13]] = [0, 1, 1]
    base = SpectralTransducer(GivenGraph(W), n_eigenvectors=10).fit(ring[:, None], y)
    rng = np.random.default_rng(0)
    for _ in range(10):
        order = rng.permutation(24)
        moved = SpectralTransducer(GivenGraph(W[order][:, order]), n_eigenvectors=10)
        moved.fit(ring[:, None], y[order])
        assert_allclose(moved.scores_, base.scores_[order], atol=1e-8)


@pytest.mark.parametrize("laplacian", ["random-walk", "combinatorial"])
def test_basis_against_the_dense_eigenproblem(laplacian):
    W = np.kron(np.eye(3), KNNGraph(8).build(X).adjacency.toarray())
    graph = Graph(W)
    basis = spectral_basis(graph, 9, laplacian=laplacian)
    B = graph.degree / graph.degree.mean() if laplacian == "random-walk" else np.ones(180)
    L = graph.laplacian(laplacian).toarray()
    values = np.sort(np.linalg.eigvals(L).real)[1:10]
    assert_allclose(basis.values, values, atol=1e-10)
    assert_allclose(L @ basis.vectors, basis.vectors * basis.values, atol=1e-8)
    assert_allclose(basis.vectors.T @ (B[:, None] * basis.vectors), np.eye(9), atol=1e-9)
    assert_allclose(B @ basis.vectors, 0, atol=1e-9)


def test_a_basis_is_forgotten_with_its_graph():
    graph = KNNGraph(5).build(X + 0.456)
    known = len(_basis._known)
    basis = spectral_basis(graph, 7)
    assert spectral_basis(Graph(graph.adjacency), 7) is basis
    del basis, graph
    assert len(_basis._known) == known


@pytest.mark.parametrize("seed", range(3))
def test_a_known_class_share_helps(seed):
    rows = np.random.default_rng(seed).normal(size=(180, 2))
    rows[150:, 0] += 4
    truth = np.repeat([0, 1], [150, 30])
    y = np.full(180, -1)
    y[[0, 1, 2, 150, 151, 152]] = truth[[0, 1, 2, 150, 151, 152]]
    plain = SpectralTransducer().fit(rows, y).transduction_
    told = SpectralTransducer(prior={0: 150 / 180, 1: 30 / 180}).fit(rows, y).transduction_
    assert (told == truth).mean() > max((plain == truth).mean(), 0.93)
    assert abs((told == 1).sum() - 30) <= abs((plain == 1).sum() - 30)


def test_projection_on_the_simplex():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(50, 4))
    nearest = project_to_simplex(rows)
    assert_allclose(nearest.sum(axis=1), 1.0)
    assert (nearest >= 0).all()
    others = rng.dirichlet(np.ones(4), size=2_000)
    for row, point in zip(rows, nearest, strict=True):
        assert ((others - row) ** 2).sum(axis=1).min() >= ((point - row) ** 2).sum() - 1e-12


@parametrize_with_checks(
    [SpectralTransducer()],
    expected_failed_checks=lambda estimator: {
        "check_classifiers_classes": "-1 marks an unlabeled row, not a class"
    },
)
def test_sklearn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("weight", [1e-40, 1e-200, 1e-311])
def test_a_row_that_hangs_by_a_thread(weight):
    clique = np.ones((5, 5)) - np.eye(5)
    W = np.zeros((11, 11))
    W[:5, :5] = W[5:10, 5:10] = clique
    W[4, 5] = W[5, 4] = 0.01
    W[0, 10] = W[10, 0] = weight
    codes = np.array([-1, 0, -1, -1, -1, -1, 1, -1, -1, -1, 0])
    model = SpectralTransducer(GivenGraph(Graph(sparse.csr_array(W)))).fit(
        np.arange(11.0)[:, None], codes
    )
    assert np.isfinite(model.label_distributions_).all()
    assert_array_equal(model.transduction_[:10], [0] * 5 + [1] * 5)
