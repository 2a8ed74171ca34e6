import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from leaven.low_density._problem import S3VMProblem, top_labels
from leaven.low_density._refine import refine
from leaven.low_density._rows import FeatureRows, GramRows
from leaven.low_density._svm import hinge
from leaven.low_density._switching import exchange_pairs, solve_switching

scores = st.lists(st.floats(-3, 3, width=16), min_size=1, max_size=15)


@given(scores, st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_exchange_in_one_batch(f, random):
    f = np.array(f)
    labels = np.array([random.choice([-1.0, 1.0]) for _ in f])
    new, n_pairs = exchange_pairs(labels, f)
    assert (new > 0).sum() == (labels > 0).sum()
    assert (new != labels).sum() == 2 * n_pairs
    # The definition of an interchangeable pair: none is left.
    for i in np.flatnonzero(new > 0):
        for j in np.flatnonzero(new < 0):
            before = hinge(f[i]) + hinge(-f[j])
            after = hinge(-f[i]) + hinge(f[j])
            assert before <= after + 1e-6
    loss = hinge(labels * f).sum()
    assert hinge(new * f).sum() <= loss
    if n_pairs:
        assert hinge(new * f).sum() < loss


@given(scores, st.data())
@settings(max_examples=25, deadline=None)
def test_top_labels_are_the_cheapest(f, data):
    f = np.array(f)
    k = data.draw(st.integers(0, len(f)))
    labels = top_labels(f, k)
    assert (labels > 0).sum() == k
    other = np.full(len(f), -1.0)
    other[data.draw(st.permutations(range(len(f))))[:k]] = 1.0
    assert hinge(labels * f).sum() <= hinge(other * f).sum() + 1e-9


def overlapping_problem(seed=0, C_unlabeled=1.0):
    X, y = make_moons(60, noise=0.3, random_state=seed)
    signs = np.where(np.arange(60) < 8, 2.0 * y - 1.0, 0.0)
    return S3VMProblem(FeatureRows(X), signs, 1.0, C_unlabeled, 0.5, 26)


def test_objective_falls_within_each_cost(monkeypatch):
    rounds = []
    solve = S3VMProblem.solve

    def record(self, labels, *, C_unlabeled=None, **options):
        solution = solve(self, labels, C_unlabeled=C_unlabeled, **options)
        rounds.append((C_unlabeled, labels.copy(), solution.primal))
        return solution

    monkeypatch.setattr(S3VMProblem, "solve", record)
    solve_switching(overlapping_problem(), tol=1e-8, max_iter=100)
    costs = [cost for cost, _, _ in rounds]
    assert_allclose(costs[0], 1e-5)
    assert costs[-1] == 1.0
    falls = [
        later[2] - earlier[2]
        for earlier, later in itertools.pairwise(rounds)
        if earlier[0] == later[0]
    ]
    assert len(falls) > 1
    assert max(falls) <= 0.0
    steps = np.unique(np.round([b / a for a, b in itertools.pairwise(costs)], 6))
    assert_allclose(steps[[0, -1]], [1.0, 1.5])
    assert len(steps) == 3  # the last step to C* is shorter


def test_no_pair_is_left_at_the_end():
    problem = overlapping_problem()
    result = solve_switching(problem, tol=1e-9, max_iter=100)
    assert result.converged
    assert (result.labels > 0).sum() == problem.n_positive
    _, n_pairs = exchange_pairs(result.labels, result.solution.scores[problem.unlabeled])
    assert n_pairs == 0


def test_too_few_rounds_are_reported():
    result = solve_switching(overlapping_problem(seed=1), tol=1e-6, max_iter=1)
    assert not result.converged


def test_refinement_lowers_the_objective(moons):
    lower = 0
    for seed in (0, 1, 2, 4):
        X, _, partial = moons(24, 2, seed)
        signs = np.array([-1.0, 1.0, 0.0])[partial]
        rows = GramRows(rbf_kernel(X, gamma=0.5 / X.var()))
        problem = S3VMProblem(rows, signs, 1.0, 1.0, 0.5, 10)
        result = solve_switching(problem, tol=1e-8, max_iter=100)
        refined = refine(problem, result, tol=1e-8)
        before, after = (problem.objective(r.solution) for r in (result, refined))
        assert after <= before
        assert (refined.labels > 0).sum() == problem.n_positive
        assert_allclose(problem.solve(refined.labels, tol=1e-9).primal, after, rtol=1e-6)
        lower += after < 0.999 * before
    assert lower >= 2
