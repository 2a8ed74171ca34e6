"""Each heuristic solver of the transductive SVM by itself, without the local search after it."""

from __future__ import annotations

import numpy as np
import pytest

from leaven.low_density import TransductiveSVC
from leaven.low_density._switching import exchange_pairs

HEURISTICS = ["switching", "annealing", "gradient", "continuation"]
N_PROBLEMS = 14


def problem(seed):
    rng = np.random.default_rng(100 + seed)
    truth = np.arange(14) % 2
    X = rng.normal(size=(14, 2)) + 1.2 * truth[:, None]
    return X, np.where(np.arange(14) < 4, truth, -1)


def fitted(solver, seed, **params):
    return TransductiveSVC(solver=solver, C_unlabeled=0.5, **params).fit(*problem(seed))


@pytest.fixture(scope="module")
def optima():
    return np.array([fitted("branch-and-bound", seed).objective_ for seed in range(N_PROBLEMS)])


@pytest.mark.parametrize("solver", HEURISTICS)
def test_share_of_optima(solver, optima):
    alone = np.array([fitted(solver, s, refine=False).objective_ for s in range(N_PROBLEMS)])
    after = np.array([fitted(solver, s).objective_ for s in range(N_PROBLEMS)])
    assert (alone >= optima * (1 - 1e-6)).all()
    assert (after <= alone * (1 + 1e-6)).all()  # the search never makes it worse
    found_alone, found_after = (np.sum(v <= optima * (1 + 1e-4)) for v in (alone, after))
    # Each finds some optima by itself, and the search loses none of them.
    assert found_after >= found_alone >= 3


@pytest.mark.parametrize("seed", range(5))
def test_objective_is_not_above_that_of_the_supervised_machine(seed):
    model = fitted("switching", seed, refine=False)
    assert model.objective_ <= model.objective_trace_[0] * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_switching_ends_where_no_pair_of_labels_is_interchangeable(seed):
    X, y = problem(seed)
    model = fitted("switching", seed, refine=False)
    f = model.decision_function(X)[y < 0]
    labels = np.where(model.transduction_[y < 0] == 1, 1.0, -1.0)
    assert exchange_pairs(labels, f)[1] == 0
    # By hand: exchanging a positive i and a negative j gains iff the hinges fall.
    for i in np.flatnonzero(labels > 0):
        for j in np.flatnonzero(labels < 0):
            kept = max(0, 1 - f[i]) + max(0, 1 + f[j])
            exchanged = max(0, 1 + f[i]) + max(0, 1 - f[j])
            assert exchanged >= kept - 1e-6
