"""A graph that has learned from an answer, against fits that leave a row out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator

from leaven.graph import GivenGraph, KNNGraph
from leaven.graph_based import PoissonMBOClassifier, _learned_rows
from leaven.graph_based._learned_rows import PENALTY, learned_rows, left_out_scores
from leaven.graph_based._mbo import ANNEALED, annealed_mbo
from leaven.graph_based._poisson import poisson_sources


def problem(n, seed, n_noise=0):
    """Three classes in two columns, and columns that say nothing about them."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    centers = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    X = np.hstack([centers[truth] + rng.normal(size=(n, 2)), rng.normal(size=(n, n_noise))])
    return X, truth


def without(X, labels, n_classes, row, landmarks):
    """Least squares on the kernels of landmarks, fitted without a row."""
    gamma = 1.0 / np.median(pdist(landmarks, "sqeuclidean"))
    K = np.exp(-gamma * cdist(X, landmarks, "sqeuclidean"))
    of_landmarks = np.exp(-gamma * cdist(landmarks, landmarks, "sqeuclidean"))
    others = np.arange(len(X)) != row
    Y = np.eye(n_classes)[labels] - 1 / n_classes
    A = K[others].T @ K[others] + PENALTY * of_landmarks
    return K[row] @ np.linalg.solve(A, K[others].T @ Y[others])


def test_scores_are_those_of_a_fit_without_the_row():
    X, labels = problem(40, 0)
    scores = left_out_scores(X, labels, 3)
    for row in (0, 7, 22):
        assert_allclose(scores[row], without(X, labels, 3, row, X), atol=1e-5)


def test_scores_with_fewer_landmarks_than_rows(monkeypatch):
    monkeypatch.setattr(_learned_rows, "MAX_LANDMARKS", 15)
    monkeypatch.setattr(_learned_rows, "_BLOCK", 11)
    X, labels = problem(40, 1)
    chosen = np.sort(np.random.default_rng(0).choice(40, 15, replace=False))
    scores = left_out_scores(X, labels, 3)
    for row in (0, 7, 22):
        assert_allclose(scores[row], without(X, labels, 3, row, X[chosen]), atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_rows_that_are_nearly_alike_can_be_solved_for(dtype):
    # Two groups far apart: within each all kernels are next to 1, and landmarks nearly equal.
    X = np.random.default_rng(0).normal(size=(20_000, 2)).astype(dtype)
    X[::2] += 1_000.0
    labels = (X[:, 0] + X[:, 1] > 1_000).astype(int)
    scores = left_out_scores(X, labels, 2)
    assert_array_equal(scores.argmax(axis=1), labels)


def test_equal_rows_leave_no_distance_to_scale_by():
    scores = left_out_scores(np.zeros((6, 2)), np.array([0, 0, 0, 0, 1, 1]), 2)
    assert np.isfinite(scores).all()
    assert (scores[:4, 0] > scores[:4, 1]).all()


def test_columns_and_scores_have_their_sizes():
    X, labels = problem(60, 2)
    Z = learned_rows(5.0 * X + 7.0, labels, 3, cosine=False)
    assert Z.shape == (60, 5)
    assert_allclose(Z.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose((Z[:, :2] ** 2).sum(axis=1).mean(), 1.0)
    assert_allclose((Z[:, 2:] ** 2).sum(axis=1).mean(), 0.25)
    assert learned_rows(X.astype(np.float32), labels, 3, cosine=False).dtype == np.float32


def test_sparse_rows_stay_sparse_and_are_those_of_dense_ones():
    X, labels = problem(30, 3)
    X[np.abs(X) < 0.5] = 0.0
    dense = learned_rows(X, labels, 3, cosine=True)
    found = learned_rows(sparse.csr_array(X), labels, 3, cosine=True)
    assert sparse.issparse(found)
    assert_allclose(found.toarray(), dense, atol=1e-12)
    assert_allclose(np.linalg.norm(dense[:, :2], axis=1), 1.0)


def test_sparse_rows_have_the_distances_of_dense_ones():
    X, labels = problem(30, 3)
    X[np.abs(X) < 0.5] = 0.0
    found = learned_rows(sparse.csr_array(X), labels, 3, cosine=False)
    assert_allclose(pdist(found.toarray()), pdist(learned_rows(X, labels, 3, cosine=False)))


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_rows_whose_squares_are_no_numbers(scale):
    X, labels = problem(30, 3)
    expected = learned_rows(X, labels, 3, cosine=False)
    assert_allclose(learned_rows(scale * X, labels, 3, cosine=False), expected, atol=1e-9)


def few_labels(truth, per_class):
    y = np.full(len(truth), -1)
    for c in np.unique(truth):
        y[np.flatnonzero(truth == c)[:per_class]] = c
    return y


def weight_within(graph, classes):
    """Share of the weight of the edges that join rows of one class."""
    edges = graph.adjacency.tocoo()
    same = classes[edges.row] == classes[edges.col]
    return edges.data[same].sum() / edges.data.sum()


@pytest.mark.parametrize("seed", range(3))
def test_a_learned_graph_joins_fewer_rows_of_two_classes_though_the_answer_has_errors(seed):
    rng = np.random.default_rng(seed)
    X, truth = load_digits(return_X_y=True)
    chosen = rng.choice(len(X), 900, replace=False)
    X, truth = X[chosen], truth[chosen]
    answer = np.where(rng.random(900) < 0.1, rng.integers(0, 10, 900), truth)
    plain = KNNGraph().build(X)
    learned = KNNGraph().build(learned_rows(X, answer, 10, cosine=False))
    # Between 0.54 and 0.66 of the weight of these edges was left for four seeds.
    assert 1 - weight_within(learned, truth) < 0.8 * (1 - weight_within(plain, truth))
    # The errors of the answer are joined to their true class: the scores leave them out.
    wrong = answer != truth
    joined = learned.adjacency[wrong] @ np.eye(10)[truth]
    assert (joined.argmax(axis=1) == truth[wrong]).mean() > 0.9


def test_a_graph_that_was_built_before_gives_the_same_answer():
    X, truth = problem(150, 4, n_noise=4)
    y = few_labels(truth, 3)
    built = FrozenEstimator(KNNGraph(5).fit(X))
    expected = PoissonMBOClassifier(KNNGraph(5)).fit(X, y)
    found = PoissonMBOClassifier(built).fit(X, y)
    assert_allclose(found.label_distributions_, expected.label_distributions_)
    assert found.n_iter_ > PoissonMBOClassifier(built, refine=0).fit(X, y).n_iter_


@pytest.mark.parametrize("n_rounds", [1, 2])
def test_the_last_stages_go_on_from_the_answer_on_each_learned_graph(n_rounds):
    X, truth = problem(153, 6, n_noise=4)
    y = few_labels(truth, 1)
    start = PoissonMBOClassifier(prior="uniform", refine=0).fit(X, y)
    labels, sizes, given = start.transduction_, np.full(3, 50), y >= 0
    for _ in range(n_rounds):
        graph = KNNGraph().build(learned_rows(X, labels, 3, cosine=False))
        sources = (1 + 2 * 3 / 3) * poisson_sources(graph, y, 3)[0]
        labels = annealed_mbo(graph, sources, labels, sizes, given, ANNEALED[-2:]).labels
    found = PoissonMBOClassifier(prior="uniform", refine=n_rounds).fit(X, y)
    assert_array_equal(found.transduction_, labels)
    assert (labels != start.transduction_).any()  # else nothing was shown


@pytest.mark.parametrize(
    ("graph", "method"),
    [
        (KNNGraph(metric="manhattan"), "annealed"),
        (KNNGraph(), "published"),
        ("given", "annealed"),
    ],
)
def test_other_graphs_are_not_built_again(graph, method):
    X, truth = problem(90, 5, n_noise=4)
    y = few_labels(truth, 3)
    if graph == "given":
        graph = GivenGraph(KNNGraph().build(X).adjacency)
    one, two = (
        PoissonMBOClassifier(graph, method=method, refine=n).fit(X, y).label_distributions_
        for n in (0, 2)
    )
    assert_array_equal(one, two)
