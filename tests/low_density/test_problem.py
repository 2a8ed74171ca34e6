"""The semi-supervised SVM problem: costs, objectives, counts, margins and the local search."""

import itertools
import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.svm import SVC

from leaven.low_density._annealing import solve_annealing
from leaven.low_density._branch_and_bound import solve_branch_and_bound
from leaven.low_density._margins import (
    margin_energy,
    margin_probabilities,
    ratio_probabilities,
    tied_classes,
)
from leaven.low_density._problem import S3VMProblem, stage_tolerance, top_labels
from leaven.low_density._refine import _exchanged, _in_order, refine
from leaven.low_density._rows import FeatureRows, GramRows
from leaven.low_density._svm import hinge, optimal_bias, solve_svm
from leaven.low_density._switching import descend, exchange_pairs, solve_switching


def small(seed=0, n_unlabeled=6, C=1.3, C_unlabeled=0.7, kernel=False):
    """Two clusters on a line and a second column of noise; four labeled rows."""
    rng = np.random.default_rng(seed)
    n = 4 + n_unlabeled
    side = np.tile([1.0, -1.0], n)[:n]
    X = np.column_stack([1.2 * side, np.zeros(n)]) + rng.normal(size=(n, 2))
    signs = np.zeros(n)
    signs[:4] = side[:4]
    rows = GramRows(X @ X.T) if kernel else FeatureRows(X)
    return S3VMProblem(rows, signs, C, C_unlabeled, 0.5, n_unlabeled // 2), X


def best_of_all_labelings(problem):
    """Train on every labeling with the right number of positives."""
    n = len(problem.unlabeled)
    values = []
    for positive in itertools.combinations(range(n), problem.n_positive):
        labels = np.full(n, -1.0)
        labels[list(positive)] = 1.0
        values.append(problem.solve(labels, tol=1e-9).primal)
    return min(values)


def test_costs_by_hand():
    problem, _ = small(n_unlabeled=2)
    positive, negative = problem.costs(np.array([0.25, 1.0]), 0.8)
    assert_allclose(positive, [1.3, 0.0, 1.3, 0.0, 0.2, 0.8])
    assert_allclose(negative, [0.0, 1.3, 0.0, 1.3, 0.6, 0.0])
    assert_array_equal(problem.unlabeled, [4, 5])


@pytest.mark.parametrize("kernel", [False, True])
def test_a_label_of_zero_leaves_a_row_out(kernel):
    problem, X = small(kernel=kernel)
    labels = np.array([1.0, 0.0, -1.0, 0.0, 1.0, 0.0])
    found = problem.solve(labels, tol=1e-10)
    used = np.r_[np.arange(4), 4 + np.flatnonzero(labels)]
    y = np.r_[problem.signs[:4], labels[labels != 0]]
    machine = SVC(kernel="linear", C=1.0, tol=1e-8)
    machine.fit(X[used], y, sample_weight=np.r_[[1.3] * 4, [0.7] * 3])
    assert_allclose(found.scores, machine.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("kernel", [False, True])
def test_the_supervised_machine_is_svc_on_the_labeled_rows(kernel):
    problem, X = small(kernel=kernel)
    machine = SVC(kernel="linear", C=1.3, tol=1e-8).fit(X[:4], problem.signs[:4])
    found = problem.supervised(1e-10)
    assert_allclose(found.scores, machine.decision_function(X), atol=1e-3)
    assert_array_equal(found.duals[0][4:], 0.0)
    assert_allclose(found.duals[0].sum(), found.duals[1].sum(), atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_objectives_are_their_formulas(seed):
    problem, X = small(seed)
    solution = problem.supervised(1e-9)
    f = solution.scores
    labeled = 1.3 * hinge(problem.signs[:4] * f[:4]).sum() + 0.5 * solution.norm2
    assert_allclose(problem.sign_objective(solution), labeled + 0.7 * hinge(abs(f[4:])).sum())
    losses = [
        hinge(np.where(np.isin(np.arange(6), chosen), 1, -1) * f[4:]).sum()
        for chosen in itertools.combinations(range(6), 3)
    ]
    assert_allclose(problem.objective(solution), labeled + 0.7 * min(losses))
    assert problem.objective(solution) >= problem.sign_objective(solution) - 1e-12
    w = X.T @ (solution.duals[0] - solution.duals[1])
    assert_allclose(solution.norm2, w @ w, rtol=1e-4)


def test_rescaling_a_start_touches_the_unlabeled_rows_only():
    problem, _ = small()
    start = problem.solve(top_labels(np.arange(6.0), 3), tol=1e-6)
    scaled = problem.rescaled(start, 2.5)
    for before, after in zip(start.duals, scaled.duals, strict=True):
        assert_allclose(after[:4], before[:4])
        assert_allclose(after[4:], 2.5 * before[4:])
    assert scaled.vector is start.vector


@pytest.mark.parametrize(
    ("n_positive", "expected"),
    [(0, [-1, -1, -1]), (1, [-1, 1, -1]), (2, [1, 1, -1]), (3, [1, 1, 1]), (9, [1, 1, 1])],
)
def test_the_largest_scores_are_positive(n_positive, expected):
    assert_array_equal(top_labels(np.array([0.3, 2.0, -1.0]), n_positive), expected)


def test_stages_are_solved_to_the_root_of_the_tolerance():
    assert stage_tolerance(1e-8) == pytest.approx(1e-4)


def test_progress_goes_to_the_logger_at_the_level_of_the_problem(caplog):
    problem, _ = small()
    loud = S3VMProblem(problem.rows, problem.signs, 1.0, 1.0, 0.5, 3, log_level=logging.INFO)
    with caplog.at_level(logging.INFO, logger="leaven"):
        problem.log("not %s", "seen")
        loud.log("seen %d", 7)
    assert caplog.messages == ["seen 7"]


# The SVM


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_the_best_bias_by_golden_numbers(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    scores = rng.normal(size=n) * 2
    positive, negative = rng.random((2, n)) * (rng.random((2, n)) < 0.7)
    if not (positive.any() and negative.any()):
        return
    low, high = optimal_bias(scores, positive, negative)

    def loss(b):
        return positive @ hinge(scores + b) + negative @ hinge(-scores - b)

    grid = np.linspace(-8, 8, 2_001)
    least = min(loss(b) for b in grid)
    assert loss(low) <= least + 1e-9
    assert_allclose(loss(high), loss(low), atol=1e-7)
    assert low <= high + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_rows_with_both_labels_equal_a_general_minimizer(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 2))
    positive, negative = rng.random((2, 12))
    found = solve_svm(FeatureRows(X), positive, negative, tol=1e-10)

    def objective(theta):
        f = X @ theta[:2] + theta[2]
        return 0.5 * theta[:2] @ theta[:2] + positive @ hinge(f) + negative @ hinge(-f)

    peer = min(
        minimize(
            objective, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11}
        ).fun
        for start in (np.zeros(3), np.append(found.vector[0], found.bias) + 0.05)
    )
    assert found.converged
    assert found.primal <= peer + 1e-7
    assert found.dual <= found.primal + 1e-9
    assert_allclose(objective(np.append(found.vector[0], found.bias)), found.primal)


def test_a_search_ends_early_when_the_dual_passes_the_cutoff():
    problem, _ = small()
    labels = top_labels(np.arange(6.0), 3)
    full = problem.solve(labels, tol=1e-10)
    cut = problem.solve(labels, tol=1e-10, cutoff=0.5 * full.primal)
    assert cut.converged
    assert 0.5 * full.primal <= cut.dual <= full.primal + 1e-9
    assert cut.n_iter <= full.n_iter


def test_costs_next_to_nothing_are_nothing():
    problem, _ = small()
    labels = top_labels(np.arange(6.0), 3)
    tiny = problem.solve(labels, C_unlabeled=1e-16, tol=1e-10)
    assert_allclose(tiny.scores, problem.supervised(1e-10).scores, atol=1e-4)


# Exchanges


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=9), st.integers(0, 1_000))
@settings(max_examples=60)
def test_after_a_batch_no_pair_is_left_and_the_loss_has_fallen(scores, seed):
    f = np.array(scores)
    labels = np.random.default_rng(seed).choice([-1.0, 1.0], size=len(f))
    before = labels.copy()
    new, n_pairs = exchange_pairs(labels, f)
    assert_array_equal(labels, before)
    assert (new > 0).sum() == (labels > 0).sum()
    assert (new != labels).sum() == 2 * n_pairs
    gain = hinge(labels * f).sum() - hinge(new * f).sum()
    assert gain >= -1e-9
    assert exchange_pairs(new, f)[1] == 0


def test_equal_scores_are_never_exchanged():
    labels = np.array([1.0, -1.0, 1.0])
    assert exchange_pairs(labels, np.full(3, 0.4))[1] == 0
    assert exchange_pairs(np.array([1.0, 1.0]), np.array([0.0, 5.0]))[1] == 0


def test_exchanging_a_pair_and_giving_probabilities_in_order():
    labels = np.array([1.0, -1.0, -1.0])
    assert_array_equal(_exchanged(labels, [0, 2]), [-1.0, -1.0, 1.0])
    assert_array_equal(labels, [1.0, -1.0, -1.0])
    assert_array_equal(
        _in_order(np.array([0.9, 0.1, 0.4]), np.array([-1.0, 5.0, 2.0])), [0.1, 0.9, 0.4]
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("solve", [solve_switching, solve_annealing])
def test_refinement_never_raises_the_objective_and_ends_near_the_optimum(solve, seed):
    problem, _ = small(seed)
    result = solve(problem, tol=1e-8, max_iter=100)
    better = refine(problem, result, tol=1e-8)
    value = problem.objective(better.solution)
    assert value <= problem.objective(result.solution) + 1e-9
    assert value >= best_of_all_labelings(problem) - 1e-5
    assert (better.labels > 0).sum() == problem.n_positive


def test_refinement_leaves_many_rows_alone(monkeypatch):
    problem, _ = small()
    result = solve_switching(problem, tol=1e-6, max_iter=100)
    monkeypatch.setattr("leaven.low_density._refine.MAX_ROWS", 5)
    assert refine(problem, result, tol=1e-6) is result


@pytest.mark.parametrize("seed", range(3))
def test_branch_and_bound_finds_the_best_of_all_labelings(seed):
    problem, _ = small(seed, n_unlabeled=7)
    result = solve_branch_and_bound(problem, tol=1e-8, max_iter=100, max_nodes=1_000)
    assert result.proven
    assert_allclose(problem.objective(result.solution), best_of_all_labelings(problem), rtol=1e-5)
    assert np.diff(result.trace).max(initial=-1.0) <= 0


@pytest.mark.parametrize("n_positive", [0, 6])
def test_one_class_for_all_unlabeled_rows(n_positive):
    base, _ = small()
    problem = S3VMProblem(base.rows, base.signs, 1.3, 0.7, n_positive / 6, n_positive)
    for solver in (solve_switching,):
        result = solver(problem, tol=1e-8, max_iter=100)
        assert_array_equal(result.labels, 1.0 if n_positive else -1.0)
        assert result.converged


def test_descending_with_few_rounds_says_that_it_did_not_end():
    problem, _ = small(3)
    labels = -top_labels(problem.supervised(1e-6).scores[4:], 3)  # as wrong as can be
    _, after, rounds, converged = descend(problem, labels, None, tol=1e-8, max_iter=1)
    assert (rounds, converged) == (1, False)
    assert (after > 0).sum() == 3


# Margins


@pytest.mark.parametrize(
    ("f", "energy"), [(0.0, 0.0), (0.4, 0.8), (-0.4, -0.8), (1.0, 2.0), (3.0, 4.0), (-3.0, -4.0)]
)
def test_the_energy_is_steeper_inside_the_margin(f, energy):
    assert margin_energy(np.array([f]))[0] == pytest.approx(energy)


def test_two_classes_have_the_probabilities_of_their_losses():
    f = np.linspace(-3, 3, 13)
    P = margin_probabilities(np.column_stack([-f, f]))
    expected = np.exp(-hinge(f)) / (np.exp(-hinge(f)) + np.exp(-hinge(-f)))
    assert_allclose(P[:, 1], expected)
    assert_allclose(P.sum(axis=1), 1.0)


@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6), st.integers(0, 50))
@settings(max_examples=60)
def test_counts_are_within_one_of_the_fractions_and_sum_up(weights, n_rows):
    fractions = np.array(weights) / np.sum(weights)
    tied, counts = tied_classes(fractions, n_rows)
    left = n_rows - counts.sum()
    assert 0 < left < len(tied) or (left == 0 and not len(tied))
    assert (np.abs(counts - fractions * n_rows) < 1.0 + 1e-6).all()


def test_probabilities_agree_with_labels_that_overrule_signs():
    f = np.array([0.9, 0.5, 0.2, -1.0])
    labels = np.array([1.0, 1.0, -1.0, -1.0])  # the third has a positive score
    p = ratio_probabilities(f, labels)
    threshold = (0.5 + 0.2) / 2
    assert_allclose(p, expit(margin_energy(f - threshold)))
    assert ((p > 0.5) == (labels > 0)).all()
    agreed = ratio_probabilities(f[[0, 3]], labels[[0, 3]])
    assert_allclose(agreed, expit(margin_energy(f[[0, 3]])))
    tied = ratio_probabilities(np.zeros(2), np.array([1.0, -1.0]))
    assert tied[0] > 0.5 > tied[1]
    one_sided = ratio_probabilities(np.array([-0.3, -0.1]), np.array([1.0, 1.0]))
    assert (one_sided > 0.5).all()
