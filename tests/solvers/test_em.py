"""The EM loop on models whose answer is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from leaven.solvers import run_em

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
