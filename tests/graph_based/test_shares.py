"""Estimated class proportions against refits, numerical integration and known proportions."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler

from leaven.exceptions import UnreachedWarning
from leaven.graph import GivenGraph, Graph, KNNGraph
from leaven.graph_based import (
    HarmonicClassifier,
    PoissonClassifier,
    PoissonMBOClassifier,
    estimate_proportions,
)
from leaven.graph_based import _shares as shares
from leaven.graph_based._shares import (
    graph_evidence,
    labels_to_leave_out,
    left_out_scores,
    posterior_proportions,
)

RNG = np.random.default_rng(0)


def random_graph(n):
    W = np.triu(RNG.random((n, n)) * (RNG.random((n, n)) < 0.3), 1)
    W += np.diag(np.full(n - 1, 0.2), 1)  # connected
    return Graph(W + W.T)


def test_left_out_scores_are_those_of_a_refit():
    graph = random_graph(30)
    codes = np.full(30, -1)
    codes[[0, 4, 9, 13, 17, 22]] = [0, 1, 2, 0, 1, 2]
    X = np.zeros((30, 1))

    def harmonic(y):
        return HarmonicClassifier(GivenGraph(graph.adjacency), prior=None).fit(X, y).scores_

    labeled = np.flatnonzero(codes >= 0)
    columns = np.empty((30, len(labeled)))
    for j, row in enumerate(labeled):
        alone = np.where(codes >= 0, 0, -1)
        alone[row] = 1
        columns[:, j] = harmonic(alone)[:, 1]
    means = (graph.adjacency @ columns)[labeled] / graph.degree[labeled, None]
    masses = columns[codes < 0].sum(axis=0)
    found = left_out_scores(means, masses, np.eye(3)[codes[labeled]])
    for j, row in enumerate(labeled):
        without = np.where(np.arange(30) == row, -1, codes)
        f = harmonic(without)
        assert_allclose(found[j], f[row] / f[without < 0].sum(axis=0), rtol=1e-6)


def test_evidence_counts_what_refits_answer():
    X = np.vstack([RNG.normal(size=(60, 2)), RNG.normal(size=(60, 2)) + 1.2])
    codes = np.full(120, -1)
    codes[:6], codes[60:66] = 0, 1
    graph = KNNGraph(5).build(X)
    answer_shares, confusions = graph_evidence(graph, codes, 2)
    expected = np.zeros((2, 2))
    for row in np.flatnonzero(codes >= 0):
        without = np.where(np.arange(120) == row, -1, codes)
        model = HarmonicClassifier(GivenGraph(graph.adjacency), prior="uniform")
        model.fit(np.zeros((120, 1)), without)
        expected[codes[row], model.transduction_[row]] += 1
    # The estimate solves to three digits only: a tie may fall the other way.
    assert np.abs(confusions - expected).sum() <= 2
    assert confusions.sum() == 12
    assert confusions.trace() < 12
    assert answer_shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("counts", [[6, 6], [3, 9]])
def test_posterior_against_integration_over_two_classes(counts):
    answer, confusions = np.array([0.7, 0.3]), np.array([[5.0, 1.0], [2.0, 4.0]])
    found = posterior_proportions(answer, confusions, np.array(counts))

    right = (9 + shares._RIGHT) / (12 + shares._RIGHT_OF)
    C = confusions + np.array([[right, 1 - right], [1 - right, right]])
    C /= C.sum(axis=1, keepdims=True)
    n = shares.draws_worth(C * 7)
    assert n < shares._DRAWS_PER_LABEL * 12
    m = np.array(counts if counts[0] != counts[1] else [0, 0])
    equal = 0.9 if counts[0] == counts[1] else 0.5
    q = np.linspace(0, 1, 20_001)[1:-1]
    both = np.column_stack([q, 1 - q])
    likelihood = n * np.log(both @ C) @ answer + np.log(both) @ m
    likelihood -= likelihood.max()
    parts = []
    for alpha in shares._CONCENTRATIONS:
        log_density = gammaln(2 * alpha) - 2 * gammaln(alpha) + (alpha - 1) * np.log(both).sum(1)
        parts.append(np.exp(likelihood + log_density) * (q[1] - q[0]) * (1 - equal))
    density = np.sum(parts, axis=0) / len(parts)
    middle = np.exp(likelihood[len(q) // 2]) * equal
    mean = (density @ q + middle / 2) / (density.sum() + middle)
    square = (density @ q**2 + middle / 4) / (density.sum() + middle)
    # Laplace's method is good to a few percent here, in the spread to some more.
    assert found.proportions[0] == pytest.approx(mean, abs=0.01)
    assert found.standard_errors[0] == pytest.approx(np.sqrt(square - mean**2), rel=0.2)
    assert found.probability_balanced == pytest.approx(middle / (density.sum() + middle), rel=0.1)


@pytest.mark.parametrize("counts", [[[3.0, 4.0], [0.5, 6.0]], [[5, 1, 2], [0.3, 9, 1], [2, 2, 3]]])
def test_draws_are_worth_as_much_as_the_confusions_are_known(counts):
    counts = np.array(counts, dtype=float)
    rng = np.random.default_rng(0)
    C = np.stack([rng.dirichlet(row, 200_000) for row in counts], axis=1)
    known = C.mean(axis=1).var(axis=0).sum()
    expected = (counts / counts.sum(axis=1, keepdims=True)).mean(axis=0)
    n = 1_000
    drawn = (rng.multinomial(n, expected, 200_000) / n).var(axis=0).sum() * n
    assert shares.draws_worth(counts) == pytest.approx(drawn / known, rel=0.02)


def test_confusions_that_are_hardly_known_do_not_empty_a_class():
    # Two votes in five of the first class go to the second, by three labels of five: were that
    # known, there would be no row of the second class at all.
    answer, confusions = np.array([0.58, 0.42]), np.array([[2.0, 3.0], [0.0, 5.0]])
    found = posterior_proportions(answer, confusions, np.array([5, 5]))
    assert found.proportions[1] > 0.15  # 0.03 with 80 draws
    assert found.standard_errors[1] > 0.1
    known = posterior_proportions(answer, 40 * confusions, np.array([200, 200]))
    assert known.proportions[1] < 0.05


def test_equal_counts_say_nothing_and_others_do():
    answer, confusions = np.array([0.4, 0.6]), np.array([[3.0, 2.0], [1.0, 4.0]])
    for few, many in [(5, 5), (9, 9)]:
        # With an even answer and even counts there is nothing to learn.
        even = posterior_proportions(np.full(2, 0.5), np.eye(2), np.array([few, many]))
        assert_allclose(even.proportions, 0.5)
    equal = posterior_proportions(answer, confusions, np.array([9, 9])).proportions
    skew = posterior_proportions(answer, confusions, np.array([1, 17])).proportions
    assert skew[0] < equal[0] - 0.05


def test_unbalanced_digits_are_recognized_and_balanced_ones_left_alone():
    X, truth = load_digits(return_X_y=True)
    few = np.concatenate([np.flatnonzero(truth == c)[: 30 if c % 2 else None] for c in range(10)])
    for rows in (np.arange(len(truth)), few):
        y = truth[rows]
        codes = np.full(len(y), -1)
        for c in range(10):
            codes[np.flatnonzero(y == c)[:6]] = c
        found = estimate_proportions(KNNGraph().build(X[rows]), codes, 10)
        true = np.bincount(y) / len(y)
        assert np.abs(found.proportions - true).sum() / 2 < 0.15  # 0.01 and 0.06
        assert (found.probability_balanced > 0.5) == (len(rows) == len(truth))


def test_labels_to_leave_out_are_bounded_and_have_others_of_their_class():
    codes = np.array([0, 0, 1, -1, 2, 2, 2])
    assert labels_to_leave_out(codes, 3).tolist() == [0, 1, 4, 5, 6]
    many = np.tile([0, 1, -1], 200)
    chosen = labels_to_leave_out(many, 2)
    assert len(chosen) == len(set(chosen)) == 40
    assert (many[chosen] >= 0).all()


def test_one_label_in_a_part_without_edges():
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3)], n_nodes=6)
    found = estimate_proportions(graph, np.array([0, -1, -1, 1, 1, -1]), 2)
    assert_allclose(found.proportions.sum(), 1.0)
    assert (found.proportions > 0.2).all()


@pytest.mark.parametrize("codes", [[0, 1, -1, 1, 0, 0, 1], [0, 1, -1, 2, 0, 1, 2]])
def test_one_unlabeled_row_is_level_and_follows_the_names(codes):
    # Normalized to equal masses, a single row belongs to all classes alike.
    codes = np.array(codes)
    k = codes.max() + 1
    X = np.random.RandomState(5).normal(size=(7, 3))
    found, _ = graph_evidence(KNNGraph(3).build(X), codes, k)
    assert_allclose(found, np.full(k, 1 / k))
    exchanged = np.where(codes < 0, -1, k - 1 - codes)
    P = HarmonicClassifier().fit(X, codes).label_distributions_
    Q = HarmonicClassifier().fit(X, exchanged).label_distributions_
    assert_allclose(Q[:, ::-1], P, atol=1e-6)


def test_left_out_scores_where_other_labels_are_beyond_rounding():
    # The others have 3 and 7 parts of 1e-20, of which 1 - m_i would leave nothing.
    means = np.array([[1.0, 3e-20, 7e-20], [3e-20, 1.0, 7e-20], [0.0, 0.0, 1.0]])
    masses = np.array([2.0, 5.0, 4.0])
    found = left_out_scores(means, masses, np.eye(3))
    value = np.array([[0.0, 0.3, 0.7], [0.3, 0.0, 0.7], [1 / 3, 1 / 3, 1 / 3]])
    mass = masses + value + masses[:, None] * (value - np.eye(3))
    assert_allclose(found, value / np.maximum(mass, 1e-300), rtol=1e-12)


SEGMENTS = [119, 18, 93, 91, 58, 107, 111, 82, 127, 123]
"""Of the ten digits of a display, as bits."""


@pytest.mark.parametrize("seed", [3, 6, 7])
def test_groups_of_duplicates_are_next_to_disconnected(seed):
    # Digits of a display with faults: rows are duplicates in groups, joined by edges of 1e-20.
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 10, 300)
    lit = (np.array(SEGMENTS)[:, None] >> np.arange(6, -1, -1)) & 1
    X = StandardScaler().fit_transform(lit[truth] ^ (rng.random((300, 7)) < 0.1))
    y = np.full(300, -1)
    for c in range(10):
        y[rng.choice(np.flatnonzero(truth == c), 2, replace=False)] = c
    # Of distances alone the builder cannot tell which rows are duplicates.
    graph = KNNGraph(metric="precomputed").build(euclidean_distances(X))
    assert graph.adjacency.data.min() < 1e-15 * graph.adjacency.data.max()
    for cls in (HarmonicClassifier, PoissonClassifier, PoissonMBOClassifier):
        model = cls(GivenGraph(graph), prior="auto")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnreachedWarning)
            model.fit(X, y)
        assert_allclose(model.class_proportions_.proportions.sum(), 1.0)
        assert_allclose(model.label_distributions_.sum(axis=1), 1.0)
        assert (model.transduction_ == truth)[y < 0].mean() > 0.15  # one class has a tenth


def test_classes_that_are_probably_equal_are_taken_for_equal():
    # One label per class and an answer of 34 and 66%, as on a pair of newsgroups.
    found = posterior_proportions(np.array([0.34, 0.66]), np.zeros((2, 2)), np.array([1, 1]))
    assert 0.48 < found.proportions[0] < 0.499
    assert_allclose(found.chosen, [0.5, 0.5])
    sure = posterior_proportions(np.array([0.1, 0.9]), np.diag([30.0, 30.0]), np.array([30, 30]))
    assert sure.probability_balanced < 0.01
    assert_allclose(sure.chosen, sure.proportions)


def test_a_sample_of_labels_counts_for_more_than_chosen_ones():
    # The graph knows nothing; the labels of magic04 with one class cut, drawn as they come.
    nothing, blind = np.array([0.5, 0.5]), np.full((2, 2), 20.0)
    drawn = posterior_proportions(nothing, blind, np.array([1, 9]))
    assert drawn.chosen[0] < 0.35
    assert_allclose(posterior_proportions(nothing, blind, np.array([5, 5])).chosen, 0.5)
    assert_allclose(posterior_proportions(nothing, blind, np.array([4, 6])).chosen, 0.5)
