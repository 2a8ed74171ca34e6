"""The EM loop on models whose answer is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax

from leaven.solvers import normalize_log_rows, run_em

COUNTS = np.array([125.0, 18.0, 20.0, 34.0])


def linkage():
    """The genetic linkage example of Dempster, Laird and Rubin (1977), section 1."""

    def log_likelihood(p):
        cells = np.array([0.5 + p / 4, (1 - p) / 4, (1 - p) / 4, p / 4])
        return float(COUNTS @ np.log(cells))

    def expectation(p):
        return COUNTS[0] * (p / 4) / (0.5 + p / 4), log_likelihood(p)

    def maximization(hidden, p):
        return (hidden + COUNTS[3]) / (hidden + COUNTS[1:].sum())

    return expectation, maximization, log_likelihood


def test_the_published_iterations_of_genetic_linkage():
    expectation, maximization, log_likelihood = linkage()
    seen = []
    result = run_em(
        expectation, maximization, 0.5, tol=1e-15, on_iteration=lambda i, f: seen.append((i, f))
    )
    # Table 1 of the paper: 0.5, 0.608247423, 0.624321051, ..., 0.626821484.
    first = run_em(expectation, maximization, 0.5, max_iter=1)
    second = run_em(expectation, maximization, 0.5, max_iter=2)
    assert_allclose([first.parameters, second.parameters], [0.608247423, 0.624321051], atol=5e-10)
    assert_allclose(result.parameters, 0.6268214980, atol=1e-7)
    best = minimize_scalar(lambda p: -log_likelihood(p), bounds=(0.01, 0.99), method="bounded")
    assert_allclose(result.parameters, best.x, atol=1e-4)
    assert result.converged
    assert np.diff(result.objective_trace).min() >= -1e-12
    assert result.n_iter == len(seen) == len(result.objective_trace) - 1
    assert [number for number, _ in seen] == list(range(1, result.n_iter + 1))
    assert_allclose([value for _, value in seen], result.objective_trace[1:])
    assert_allclose(result.objective_trace[-1], log_likelihood(result.parameters))


def test_why_it_stopped():
    expectation, maximization, _ = linkage()
    short = run_em(expectation, maximization, 0.5, max_iter=3, tol=0.0)
    assert (short.stop_reason, short.n_iter, short.converged) == ("max_iter", 3, False)
    loose = run_em(expectation, maximization, 0.5, tol=0.1)
    assert (loose.stop_reason, loose.n_iter) == ("converged", 1)
    at_rest = run_em(lambda p: (p, 7.0), lambda s, p: p, 3.0, tol=0.0)
    assert (at_rest.stop_reason, at_rest.n_iter) == ("converged", 1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_objective_that_is_not_finite_ends_the_loop(bad):
    at_once = run_em(lambda p: (p, bad), lambda s, p: p, 1.0)
    assert (at_once.stop_reason, at_once.n_iter) == ("not_finite", 0)
    values = iter([4.0, 5.0, bad, 6.0])
    later = run_em(lambda p: (p, next(values)), lambda s, p: p + 1, 1.0)
    assert (later.stop_reason, later.n_iter, later.parameters) == ("not_finite", 2, 3.0)


def test_at_least_one_iteration():
    with pytest.raises(ValueError, match="max_iter=0"):
        run_em(lambda p: (p, 1.0), lambda s, p: p, 1.0, max_iter=0)


@given(
    arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.floats(-900, 900)),
    st.floats(-1e5, 1e5),
)
@settings(max_examples=60)
def test_rows_of_logarithms_become_probabilities(logs, shift):
    given_logs = logs + shift
    rows = given_logs.copy()
    evidence = normalize_log_rows(rows)
    assert_allclose(evidence, logsumexp(given_logs, axis=1), rtol=1e-12, atol=1e-12)
    assert_allclose(rows, softmax(given_logs, axis=1), atol=1e-9)
    assert_allclose(rows.sum(axis=1), 1.0)


def test_rows_that_are_ruled_out_become_uniform():
    rows = np.array([[-np.inf, -np.inf], [-np.inf, 3.0], [0.5, 0.5]])
    evidence = normalize_log_rows(rows)
    assert_allclose(evidence, [-np.inf, 3.0, 0.5 + np.log(2.0)])
    assert_allclose(rows, [[0.5, 0.5], [0.0, 1.0], [0.5, 0.5]])


def test_the_old_parameters_are_given_to_the_m_step_and_left_alone():
    seen = []

    def maximization(statistics, parameters):
        seen.append(parameters)
        return parameters + statistics

    result = run_em(lambda p: (2.0, -1.0 / p), maximization, 1.0, max_iter=3, tol=0.0)
    assert seen == [1.0, 3.0, 5.0]
    assert result.parameters == 7.0
    assert_allclose(result.objective_trace, [-1.0, -1 / 3, -1 / 5, -1 / 7])


@pytest.mark.parametrize(("tol", "n_iter"), [(0.5, 1), (0.3, 3), (0.2, 4), (1e-9, 5)])
def test_the_tolerance_is_relative_to_the_objective(tol, n_iter):
    values = iter([8.0, 16.0, 24.0, 32.0, 40.0, 40.0])  # changes of 1/2, 1/3, 1/4, 1/5 and 0
    result = run_em(lambda p: (p, next(values)), lambda s, p: p, 0.0, tol=tol)
    assert (result.n_iter, result.stop_reason) == (n_iter, "converged")
