"""Anchor graphs against dense algebra, the graph methods themselves and merged blocks."""

import itertools
from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.exceptions import UnreachedWarning
from leaven.graph import GivenGraph, Graph
from leaven.graph_based import (
    AnchorGraphClassifier,
    ConsistencyClassifier,
    HarmonicClassifier,
    anchor_statistics,
    anchor_weights,
    merge_anchor_statistics,
    place_anchors,
    solve_anchors,
)
from leaven.graph_based._anchors import embedding_weights, kernel_weights
from leaven.graph_based._poisson import poisson_sources, solve_poisson

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(100, 3)), RNG.normal(size=(100, 3)) + 1.5])
CODES = np.full(200, -1)
CODES[[3, 40, 77, 110, 150, 199]] = [0, 0, 2, 1, 1, 2]
ONE_HOT = np.eye(3)[CODES[CODES >= 0]]


def dense_graph(Z):
    """W = Z Λ⁻¹ Zᵀ, as it is written."""
    Z = Z.toarray()
    return Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T


@pytest.fixture(scope="module", params=[200, 30], ids=["every row an anchor", "30 anchors"])
def weights(request):
    anchors = place_anchors(X, request.param, 0)
    return anchor_weights(X, anchors, n_neighbors=4)


def test_harmonic_form_is_the_harmonic_function_of_the_anchor_graph(weights):
    a = solve_anchors(anchor_statistics(weights, CODES), ONE_HOT, form="harmonic")
    graph = GivenGraph(dense_graph(weights))
    f = HarmonicClassifier(graph, prior=None, tol=1e-10).fit(X, CODES).scores_
    assert_allclose((weights @ a)[CODES < 0], f[CODES < 0], atol=1e-6)


def test_consistency_form_is_local_and_global_consistency(weights):
    a = solve_anchors(anchor_statistics(weights, CODES), ONE_HOT, form="consistency", alpha=0.9)
    W = dense_graph(weights)
    Y = np.zeros((200, 3))
    Y[CODES >= 0] = ONE_HOT
    # Degrees are one: W is its own normalized form, with the self-loops of the anchor graph.
    expected = np.linalg.solve(np.eye(200) - 0.9 * W, Y)
    assert_allclose(0.9 * (weights @ a) + Y, expected, atol=1e-6)
    assert ConsistencyClassifier(GivenGraph(W)).fit(X, CODES).n_unreached_ == 0


def test_poisson_form_solves_the_poisson_equation_up_to_a_constant(weights):
    graph = Graph(dense_graph(weights))
    sources, _ = poisson_sources(graph, CODES, 3)
    u, _ = solve_poisson(graph, sources, tol=1e-10)
    statistics = anchor_statistics(weights, CODES)
    a = solve_anchors(statistics, sources[CODES >= 0], form="poisson")
    gap = (weights @ a + sources) - u
    assert_allclose(gap, np.broadcast_to(gap.mean(axis=0), gap.shape), atol=1e-5)


def test_regularized_form_is_the_formula_of_the_paper(weights):
    a = solve_anchors(anchor_statistics(weights, CODES), ONE_HOT, form="regularized", gamma=0.03)
    Z = weights.toarray()
    reduced = Z.T @ Z - Z.T @ Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T @ Z
    assert_allclose(reduced, Z.T @ (np.eye(200) - dense_graph(weights)) @ Z, atol=1e-10)
    Z_l = Z[CODES >= 0]
    fitted = (Z_l.T @ Z_l + 0.03 * reduced) @ a
    assert_allclose(fitted, Z_l.T @ ONE_HOT, atol=1e-6)


@pytest.mark.parametrize("cuts", [[], [50], [10, 11, 80, 80, 150]])
def test_blocks_add_up(cuts):
    Z = anchor_weights(X, place_anchors(X, 30, 0))
    whole = anchor_statistics(Z, CODES)
    edges = [0, *cuts, 200]
    blocks = [anchor_statistics(Z[a:b], CODES[a:b]) for a, b in itertools.pairwise(edges)]
    merged = reduce(merge_anchor_statistics, blocks)
    assert_allclose(merged.gram.toarray(), whole.gram.toarray(), atol=1e-12)
    assert_allclose(merged.mass, whole.mass)
    assert merged.n_unlabeled == whole.n_unlabeled == 194
    assert_array_equal(merged.codes, whole.codes)
    assert_allclose(solve_anchors(merged, ONE_HOT), solve_anchors(whole, ONE_HOT), atol=1e-9)


def test_weights_by_hand_and_by_another_optimizer():
    assert_allclose(
        kernel_weights(np.array([[1.0, 2.0]])), [np.array([np.e**3, 1.0]) / (np.e**3 + 1)]
    )
    anchors = RNG.normal(size=(6, 3))
    index = np.array([[0, 2, 3, 5], [1, 2, 4, 5]])
    rows = RNG.normal(size=(2, 3))
    for z, x, near in zip(embedding_weights(rows, anchors, index), rows, index, strict=True):
        best = minimize(
            lambda w, x=x, near=near: ((x - w @ anchors[near]) ** 2).sum(),
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        )
        assert ((x - z @ anchors[near]) ** 2).sum() == pytest.approx(best.fun, abs=1e-4)
        assert z.sum() == pytest.approx(1.0)
        assert z.min() >= 0


@pytest.mark.parametrize("form", ["harmonic", "consistency", "poisson", "regularized"])
@pytest.mark.parametrize("weight", ["kernel", "embedding"])
def test_digits_and_new_rows(form, weight):
    images, truth = load_digits(return_X_y=True)
    y = np.full(1500, -1)
    for c in range(10):
        y[np.flatnonzero(truth[:1500] == c)[:5]] = c
    model = AnchorGraphClassifier(300, form=form, weight=weight, random_state=0)
    model.fit(images[:1500], y)
    assert (model.transduction_ == truth[:1500]).mean() > 0.75  # 0.87 to 0.93
    assert (model.predict(images[1500:]) == truth[1500:]).mean() > 0.7
    free = y < 0
    assert_allclose(
        model.predict_proba(images[:1500])[free], model.label_distributions_[free], atol=1e-9
    )


def test_prior_is_estimated_used_or_left_out():
    shares = {"auto": None, "uniform": [1 / 3] * 3, "labeled": [1 / 3] * 3}
    for prior, expected in shares.items():
        # Harmonic scores are not negative, so that the mass is their plain sum.
        model = AnchorGraphClassifier(30, form="harmonic", prior=prior, random_state=0)
        model.fit(X, CODES)
        mass = (anchor_weights(X, model.anchors_) @ model.anchor_values_)[CODES < 0].sum(axis=0)
        assert_allclose(model._answers.factors * mass, model.prior_)
        if expected is None:
            assert (model.class_proportions_.standard_errors > 0).all()
        else:
            assert_allclose(model.prior_, expected)
    plain = AnchorGraphClassifier(30, prior=None, random_state=0).fit(X, CODES)
    assert plain.prior_ is None
    assert_allclose(plain._answers.factors, 1.0)


@pytest.mark.parametrize("form", ["harmonic", "poisson", "regularized"])
def test_anchors_without_a_path_to_a_label(form):
    far = np.vstack([X[:60], X[:60] + 500])
    y = np.full(120, -1)
    y[[0, 1, 2]] = [0, 1, 1]
    with pytest.warns(UnreachedWarning, match="60 of 120 rows"):
        model = AnchorGraphClassifier(60, form=form, random_state=0).fit(far, y)
    assert_allclose(model.label_distributions_[60:], [[1 / 3, 2 / 3]] * 60)
    assert_allclose(model.predict_proba(far[70:72]), [[1 / 3, 2 / 3]] * 2)


KNOWN = {"check_classifiers_classes": "-1 marks an unlabeled row, not a class"}


@parametrize_with_checks(
    [
        AnchorGraphClassifier(random_state=0),
        AnchorGraphClassifier(60, form="consistency", weight="embedding", random_state=0),
    ],
    expected_failed_checks=lambda estimator: KNOWN,
)
def test_sklearn_contract(estimator, check):
    check(estimator)


def test_default_does_not_collapse_with_thousands_of_rows_per_label():
    # The harmonic function of such a graph is almost constant: 0.3 to 0.5 are right by it.
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(5, 16)) * 1.6
    truth = rng.choice(5, 60_000, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    rows = (centers[truth] + 1.3 * rng.normal(size=(len(truth), 16))).astype(np.float32)
    y = np.full(len(truth), -1)
    known = rng.choice(len(truth), 40, replace=False)
    y[known] = truth[known]
    model = AnchorGraphClassifier(1_000, random_state=0).fit(rows, y)
    assert (model.transduction_ == truth).mean() > 0.85


def test_one_unlabeled_row_does_not_depend_on_the_order_of_the_others():
    # Normalized to equal masses it belongs to all classes alike: no class may get its vote alone.
    X = np.random.RandomState(4).normal(size=(9, 4))
    y = np.array([0, 1, 2, 2, 2, 0, 2, 0, -1])
    P = AnchorGraphClassifier(random_state=0).fit(X, y).label_distributions_[-1]
    for seed in range(4):
        order = np.random.RandomState(seed).permutation(8)
        rows = np.append(order, 8)
        Q = AnchorGraphClassifier(random_state=0).fit(X[rows], y[rows]).label_distributions_[-1]
        assert_allclose(Q, P, atol=1e-3)
