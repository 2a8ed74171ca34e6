import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from leaven.exceptions import ConvergenceWarning
from leaven.low_density import TransductiveSVC
from leaven.low_density._branch_and_bound import child_bounds, solve_branch_and_bound
from leaven.low_density._problem import S3VMProblem
from leaven.low_density._rows import FeatureRows, GramRows


def svm_value(K, signs, costs):
    """The least of the SVM objective, by LIBSVM."""
    machine = SVC(kernel="precomputed", C=1.0, tol=1e-5, max_iter=100_000)
    machine.fit(K, signs, sample_weight=costs)
    beta = np.zeros(len(K))
    beta[machine.support_] = machine.dual_coef_[0]
    losses = np.maximum(0.0, 1.0 - signs * machine.decision_function(K))
    return 0.5 * beta @ K @ beta + costs @ losses


@pytest.mark.parametrize("seed", range(20))
def test_equals_brute_force_over_all_labelings(seed):
    rng = np.random.default_rng(seed)
    n_positive, linear = 2 + seed % 5 // 4, seed % 2 == 0
    X = rng.normal(size=(16, 2))  # nothing but noise: many local minima
    given = np.array([1.0, -1.0, 1.0, -1.0])
    K = X @ X.T if linear else rbf_kernel(X, gamma=0.5)
    C, C_unlabeled = (1.0, 1.0) if seed % 3 else (2.0, 0.5)
    costs = np.where(np.arange(16) < 4, C, C_unlabeled)
    values = []
    for chosen in itertools.combinations(range(4, 16), n_positive):
        signs = np.concatenate([given, np.full(12, -1.0)])
        signs[list(chosen)] = 1.0
        values.append(svm_value(K, signs, costs))
    rows = FeatureRows(X) if linear else GramRows(K)
    signs = np.concatenate([given, np.zeros(12)])
    problem = S3VMProblem(rows, signs, C, C_unlabeled, n_positive / 12, n_positive)
    result = solve_branch_and_bound(problem, tol=1e-9, max_iter=200, max_nodes=10_000)
    assert result.proven
    assert (result.labels > 0).sum() == n_positive
    assert_allclose(problem.objective(result.solution), min(values), rtol=1e-4)


def test_bounds_of_children_are_bounds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    K = rbf_kernel(X, gamma=0.5)
    signs = np.zeros(20)
    signs[:10] = np.where(np.arange(10) % 2, 1.0, -1.0)
    problem = S3VMProblem(GramRows(K), signs, 1.0, 0.6, 0.5, 5)
    solution = problem.supervised(1e-6)
    costs = np.where(signs != 0, 1.0, 0.0)
    bounds = child_bounds(K, solution, costs, problem.unlabeled, 0.6)
    some_rise = False
    for i, row in enumerate(problem.unlabeled):
        for which, label in enumerate((1.0, -1.0)):
            kept = np.append(np.arange(10), row)
            child = np.append(signs[:10], label)
            exact = svm_value(K[np.ix_(kept, kept)], child, np.append(np.ones(10), 0.6))
            assert bounds[which, i] <= exact + 1e-6
            some_rise |= bounds[which, i] > solution.primal + 1e-3
    assert some_rise


def test_thirty_unlabeled_rows(moons):
    X, y, partial = moons(36, 3)
    machine = TransductiveSVC(kernel="rbf", C=10.0, solver="branch-and-bound").fit(X, partial)
    assert machine.is_proven_optimal_
    assert (machine.transduction_ == y).mean() > 0.8


def test_not_proven_beyond_max_nodes(moons):
    X, _, partial = moons(36, 3)
    machine = TransductiveSVC(kernel="rbf", solver="branch-and-bound", max_nodes=3)
    with pytest.warns(ConvergenceWarning, match=r"max_nodes=3 nodes.*not proven"):
        machine.fit(X, partial)
    assert not machine.is_proven_optimal_
    assert machine.n_iter_ == 3
