import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from leaven.low_density._annealing import annealed_probabilities, entropy, solve_annealing
from leaven.low_density._problem import S3VMProblem
from leaven.low_density._rows import FeatureRows


@given(
    st.lists(st.floats(-20, 20, width=16), min_size=1, max_size=20),
    st.floats(0.02, 0.98),
    st.sampled_from([1e-6, 1e-2, 1.0, 100.0]),
)
@settings(max_examples=100, deadline=None)
def test_ratio_is_held(costs, fraction, temperature):
    p = annealed_probabilities(np.array(costs), fraction, temperature)
    assert_allclose(p.mean(), fraction, atol=1e-6)
    order = np.argsort(costs, kind="stable")
    assert (np.diff(p[order]) <= 1e-12).all()  # what costs more is less probable


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # of SciPy 1.15
def test_probabilities_minimize_the_free_energy():
    costs = np.array([1.3, -0.4, 0.2, -2.1, 0.9])
    fraction, T = 0.37, 0.8

    def energy(p):
        return p @ costs - T * entropy(p)

    constraint = {"type": "eq", "fun": lambda p: p.mean() - fraction}
    found = minimize(
        energy, np.full(5, fraction), bounds=[(1e-9, 1 - 1e-9)] * 5, constraints=constraint
    )
    p = annealed_probabilities(costs, fraction, T)
    assert energy(p) <= found.fun + 1e-9
    assert_allclose(p, found.x, atol=1e-3)


def test_entropy_of_a_coin():
    assert_allclose(entropy(np.array([0.5, 0.25, 1.0])), np.log(2) + 0.5623351446188083)


def test_a_split_row_does_not_keep_it_from_ending():
    # 0.3 of 7 rows is 2.1: one row stays at 0.1 however cold it gets.
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(-2, 0.6, (6, 2)), rng.normal(2, 0.6, (5, 2))])
    signs = np.zeros(11)
    signs[[0, 1, 9, 10]] = [-1, -1, 1, 1]
    problem = S3VMProblem(FeatureRows(X), signs, 1.0, 1.0, 0.3, 2)
    result = solve_annealing(problem, tol=1e-8, max_iter=200)
    assert_allclose(result.probabilities.mean(), 0.3, atol=1e-9)
    assert_allclose(np.sort(result.probabilities)[[-3, -2, -1]], [0.1, 1.0, 1.0], atol=1e-4)
    assert result.converged
