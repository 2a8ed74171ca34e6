"""Propagation, consistency and Poisson learning against dense algebra and scikit-learn."""

import logging

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.datasets import load_digits
from sklearn.semi_supervised import LabelSpreading

from leaven.exceptions import ConvergenceWarning, UnreachedWarning
from leaven.graph import FullGraph, Gaussian, GivenGraph, KNNGraph
from leaven.graph_based import (
    ConsistencyClassifier,
    HarmonicClassifier,
    LabelPropagationClassifier,
    PoissonClassifier,
    SoftLabelPropagationClassifier,
    class_mass_normalization,
)
from leaven.graph_based._class_shift import balancing_shifts, class_shifts

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
W = FullGraph(weight=Gaussian(0.8)).build(X).adjacency.toarray()
Y = np.full(60, -1)
Y[:9] = [0, 1, 2] * 3
ONE_HOT = np.vstack([np.eye(3)[Y[:9]], np.zeros((51, 3))])
D = np.diag(W.sum(axis=1))
ALL = [
    LabelPropagationClassifier,
    SoftLabelPropagationClassifier,
    ConsistencyClassifier,
    PoissonClassifier,
]


def test_propagation_tends_to_the_harmonic_function():
    harmonic = HarmonicClassifier(GivenGraph(W)).fit(X, Y)
    for method in ("auto", "closed", "iterate"):
        model = LabelPropagationClassifier(GivenGraph(W), method=method, tol=1e-10).fit(X, Y)
        assert_allclose(model.scores_, harmonic.scores_, atol=1e-8)
        assert model.converged_
    assert len(model.objective_trace_) == model.n_iter_ > 5


@pytest.mark.parametrize(("alpha", "epsilon"), [(0.5, 0.0), (0.9, 1e-6), (0.99, 0.1)])
def test_jacobi_iteration_and_criterion_two(alpha, epsilon):
    mu = alpha / (1 - alpha)
    S = np.diag((Y >= 0).astype(float))
    expected = np.linalg.solve(S + mu * (D - W) + mu * epsilon * np.eye(60), S @ ONE_HOT)
    for method in ("closed", "iterate"):
        model = SoftLabelPropagationClassifier(
            GivenGraph(W), alpha=alpha, epsilon=epsilon, method=method, tol=1e-10
        ).fit(X, Y)
        assert_allclose(model.scores_, expected, atol=1e-8)


@pytest.mark.parametrize("alpha", [0.2, 0.9, 0.99])
def test_consistency_equals_dense_solve_and_label_spreading(alpha):
    S = W / np.sqrt(np.outer(D.diagonal(), D.diagonal()))
    expected = (1 - alpha) * np.linalg.solve(np.eye(60) - alpha * S, ONE_HOT)
    peer = LabelSpreading(kernel=lambda A, B: W.copy(), alpha=alpha, max_iter=20_000, tol=1e-12)
    peer.fit(X, Y)
    for method in ("closed", "iterate"):
        model = ConsistencyClassifier(
            GivenGraph(W), alpha=alpha, method=method, tol=1e-11, keep_labels=False
        ).fit(X, Y)
        assert_allclose(model.scores_, expected, atol=1e-8)
        assert_allclose(model.label_distributions_, peer.label_distributions_, atol=1e-7)


def test_self_loops_do_not_count_in_consistency():
    rng = np.random.default_rng(1)
    loops = W + np.diag(rng.random(60))
    base = ConsistencyClassifier(GivenGraph(W)).fit(X, Y)
    for method in ("closed", "iterate"):
        model = ConsistencyClassifier(GivenGraph(loops), method=method, tol=1e-9).fit(X, Y)
        assert_allclose(model.scores_, base.scores_, atol=1e-6)


def test_alpha_zero_leaves_only_the_labels():
    for model in (
        ConsistencyClassifier(GivenGraph(W), alpha=0.0),
        SoftLabelPropagationClassifier(GivenGraph(W), alpha=0.0),
    ):
        assert_allclose(model.fit(X, Y).scores_, ONE_HOT)
        assert_allclose(model.label_distributions_[9:], 1 / 3)


def test_soft_labels_may_be_corrected_on_request():
    y = np.where(np.arange(60) < 30, 0, 1)
    rows = np.concatenate([np.linspace(0, 1, 30), np.linspace(5, 6, 30)])[:, None]
    y[10] = 1  # a mistake
    for cls in (SoftLabelPropagationClassifier, ConsistencyClassifier):
        assert cls().fit(rows, y).transduction_[10] == 1
        assert cls(keep_labels=False).fit(rows, y).transduction_[10] == 0


def test_poisson_equals_the_dense_pseudo_inverse():
    sources = np.where(Y[:, None] >= 0, ONE_HOT - ONE_HOT[:9].mean(axis=0), 0)
    u = np.linalg.pinv(D - W) @ sources
    u -= (D @ u).sum(axis=0) / D.sum()
    model = PoissonClassifier(GivenGraph(W), prior=None).fit(X, Y)
    assert_allclose(model.scores_, u, atol=1e-8)
    assert_array_equal(model.transduction_[9:], u[9:].argmax(axis=1))


def test_poisson_meets_the_class_proportions_by_constants_alone():
    wanted = [0.2, 0.3, 0.5]
    model = PoissonClassifier(GivenGraph(W), prior=wanted).fit(X, Y)
    found = model.label_distributions_[9:]
    assert_allclose(found.mean(axis=0), wanted, atol=1e-7)
    logits = np.log(found) * model.score_scale_ - model.scores_[9:]
    between = logits - logits[:, :1]  # the constant of a row cancels
    assert_allclose(between, np.broadcast_to(between[0], between.shape), atol=1e-9)


@given(seed=st.integers(0, 10_000), spread=st.sampled_from([0.01, 1.0, 30.0]))
@example(seed=647, spread=30.0)  # steps by the gradient alone went round in circles
@settings(max_examples=30, deadline=None)
def test_shifts_meet_every_prior(seed, spread):
    rng = np.random.default_rng(seed)
    k = rng.integers(2, 6)
    scores = spread * rng.normal(size=(50, k)) + 10 * rng.normal(size=k)
    prior = rng.dirichlet(np.ones(k)) + 1e-3
    prior /= prior.sum()
    found = softmax(scores - class_shifts(scores, prior), axis=1).mean(axis=0)
    assert_allclose(found, prior, atol=1e-8)


def test_shifts_against_a_general_optimizer():
    rng = np.random.default_rng(2)
    scores, prior = 3 * rng.normal(size=(40, 3)), np.array([0.2, 0.3, 0.5])

    def objective(b):
        return logsumexp(scores - b, axis=1).mean() + prior @ b

    best = minimize(objective, np.zeros(3), method="Nelder-Mead", tol=1e-12).fun
    found = objective(class_shifts(scores, prior))
    assert best - 1e-6 < found <= best + 1e-12


def test_two_tight_clusters_are_not_split_to_meet_a_prior():
    rng = np.random.default_rng(1)
    u = np.where(np.arange(100) < 10, 3.0, -1.0) + 1e-3 * rng.normal(size=100)
    scores = np.column_stack([-u, u])
    b, _ = balancing_shifts(scores, np.array([0.5, 0.5]))
    assert_array_equal((scores - b).argmax(axis=1), np.arange(100) < 10)


def test_a_share_of_zero_keeps_a_class_for_its_labels():
    model = PoissonClassifier(GivenGraph(W), prior=[0.5, 0.5, 0.0]).fit(X, Y)
    assert_array_equal(model.label_distributions_[9:, 2], 0.0)
    assert_array_equal(model.transduction_[:9], Y[:9])


def test_a_cluster_by_a_thread_does_not_move_the_border_of_the_others():
    # The pair at the end is joined by 1e-9: its potential, and with it the mean, is huge.
    rows = np.concatenate([np.linspace(0, 1, 40), np.linspace(2, 3, 40)])[:, None]
    inner = KNNGraph(4).build(rows).adjacency.toarray()
    joined = np.zeros((82, 82))
    joined[:80, :80] = inner
    joined[39, 40] = joined[40, 39] = 1e-3
    joined[80, 81] = joined[81, 80] = 1.0
    joined[0, 80] = joined[80, 0] = 1e-9
    y = np.full(82, -1)
    y[[5, 45, 80]] = 0, 1, 1
    answers = {}
    for prior in (None, "uniform"):
        model = PoissonClassifier(GivenGraph(joined), prior=prior).fit(np.zeros((82, 1)), y)
        answers[prior] = model.transduction_[:80]
    assert_array_equal(answers["uniform"], np.arange(80) >= 40)
    assert (answers[None] == answers[None][0]).mean() > 0.9


def test_poisson_with_several_components():
    rows = np.vstack([X, X + 100, X - 100])
    y = np.concatenate([Y, np.where(np.arange(60) == 4, 2, -1), np.full(60, -1)])
    with pytest.warns(UnreachedWarning, match="60 of 180 rows"):
        model = PoissonClassifier(KNNGraph(5), prior=None).fit(rows, y)
    alone = PoissonClassifier(KNNGraph(5), prior=None).fit(X, Y)
    assert_allclose(model.scores_[:60], alone.scores_, atol=1e-8)
    assert_array_equal(model.transduction_[60:120], 2)
    assert_allclose(model.label_distributions_[120:], [[0.3, 0.3, 0.4]] * 60)


def test_poisson_beats_the_raw_harmonic_function_at_one_label_a_class():
    # The claim of the paper: at very low label rates the harmonic function degenerates.
    digits, truth = load_digits(return_X_y=True)
    graph = GivenGraph(KNNGraph(10).build(digits))
    accuracy = {PoissonClassifier: [], HarmonicClassifier: []}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = np.full(len(truth), -1)
        for c in range(10):
            y[rng.choice(np.flatnonzero(truth == c))] = c
        for cls, found in accuracy.items():
            prior = None if cls is HarmonicClassifier else "auto"
            found.append((cls(graph, prior=prior).fit(digits, y).transduction_ == truth).mean())
    assert np.mean(accuracy[PoissonClassifier]) > np.mean(accuracy[HarmonicClassifier]) + 0.01


@pytest.mark.parametrize("cls", ALL)
def test_prior_components_and_new_rows(cls):
    model = cls(KNNGraph(6), prior=[0.2, 0.3, 0.5]).fit(X, Y)
    assert_array_equal(model.predict(X), np.where(Y >= 0, model.predict(X), model.transduction_))
    assert_allclose(model.predict_proba(X)[9:], model.label_distributions_[9:], atol=1e-9)
    if cls is not PoissonClassifier:  # it adds where the others multiply
        assert_allclose(
            model.label_distributions_[9:],
            class_mass_normalization(model.scores_[9:], [0.2, 0.3, 0.5]),
            atol=1e-9,
        )
    far = np.vstack([X, X + 100.0])
    with pytest.warns(UnreachedWarning):
        split = cls(KNNGraph(6)).fit(far, np.concatenate([Y, np.full(60, -1)]))
    assert split.n_unreached_ == 60
    assert_allclose(split.label_distributions_[60:], 1 / 3)
    # A prior is for rows that labels reach, also among new ones.
    with pytest.warns(UnreachedWarning):
        split = cls(KNNGraph(6), prior=[0.2, 0.3, 0.5]).fit(far, np.append(Y, np.full(60, -1)))
    assert_allclose(split.predict_proba(far + 1e-9)[60:], 1 / 3, atol=1e-9)


@pytest.mark.parametrize("cls", ALL)
@given(seed=st.integers(0, 1_000))
@settings(max_examples=8, deadline=None)
def test_permuting_rows_or_classes_permutes_the_answer(cls, seed):
    rng = np.random.default_rng(seed)
    rows, names = rng.permutation(60), rng.permutation(3)
    base = cls(KNNGraph(5)).fit(X, Y)
    moved = cls(KNNGraph(5)).fit(X[rows], Y[rows])
    assert_allclose(moved.label_distributions_, base.label_distributions_[rows], atol=1e-8)
    renamed = cls(KNNGraph(5)).fit(X, np.where(Y < 0, -1, names[Y]))
    assert_allclose(renamed.label_distributions_[:, names], base.label_distributions_, atol=1e-8)


@pytest.mark.parametrize(
    "cls", [LabelPropagationClassifier, ConsistencyClassifier, PoissonClassifier]
)
def test_scaling_all_weights_changes_nothing(cls):
    base, scaled = (cls(GivenGraph(c * W)).fit(X, Y) for c in (1.0, 37.0))
    assert_allclose(base.label_distributions_, scaled.label_distributions_, atol=1e-8)


def test_a_lonely_labeled_row_keeps_its_label():
    lonely = np.zeros((4, 4))
    lonely[0, 1] = lonely[1, 0] = 1.0
    for cls in ALL:
        for method in ({},) if cls is PoissonClassifier else ({}, {"method": "iterate"}):
            with pytest.warns(UnreachedWarning):
                model = cls(GivenGraph(lonely), **method).fit(np.zeros((4, 1)), [0, -1, 1, -1])
            assert_array_equal(model.transduction_[:3], [0, 0, 1])


def test_iteration_reports_what_it_did(caplog):
    rng = np.random.default_rng(1)
    with pytest.warns(ConvergenceWarning, match="did not converge in 3 steps"):
        model = LabelPropagationClassifier(method="iterate", max_iter=3).fit(X, Y)
    assert not model.converged_
    with caplog.at_level(logging.INFO, logger="leaven"):
        model = ConsistencyClassifier(alpha=0.5, method="iterate", verbose=1).fit(X, Y)
    assert len(caplog.records) == model.n_iter_
    rows = rng.normal(size=(4_000, 3))
    y = np.where(np.arange(4_000) < 9, np.arange(4_000) % 3, -1)
    with pytest.warns(ConvergenceWarning, match="residual"):
        PoissonClassifier(KNNGraph(15), max_iter=1).fit(rows, y)


@pytest.mark.parametrize("cls", [SoftLabelPropagationClassifier, ConsistencyClassifier])
@pytest.mark.parametrize("alpha", [-0.1, 1.0])
def test_alpha_outside_its_range(cls, alpha):
    with pytest.raises(ValueError, match="The 'alpha' parameter"):
        cls(alpha=alpha).fit(X, Y)
