"""Harmonic functions with a pull, against dense algebra, circuits and minimization."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from leaven.graph import Graph
from leaven.solvers import solve_dirichlet

METHODS = ["direct", "cg", "propagation", "auto"]


def random_problem(seed, n=14, n_columns=2, share=0.3):
    """Draw a connected graph, a boundary with values, pulls and their targets."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < share), 1)
    W += np.diag(rng.random(n - 1) + 0.2, 1)
    boundary = np.zeros(n, dtype=bool)
    boundary[rng.choice(n, 4, replace=False)] = True
    values = rng.normal(size=(4, n_columns))
    pull = rng.random(n) * (rng.random(n) < 0.6)
    return Graph(W + W.T), boundary, values, pull, rng.normal(size=(n, n_columns))


def dense_answer(graph, boundary, values, pull, target):
    """Solve the equation of the docstring with dense matrices."""
    L = graph.laplacian().toarray() + np.diag(pull)
    u, b = np.flatnonzero(~boundary), np.flatnonzero(boundary)
    right = -graph.laplacian().toarray()[np.ix_(u, b)] @ values + pull[u, None] * target[u]
    f = np.empty((len(boundary), values.shape[1]))
    f[b] = values
    f[u] = np.linalg.solve(L[np.ix_(u, u)], right)
    return f


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_a_pull_towards_targets_equals_dense_algebra(method, seed):
    graph, boundary, values, pull, target = random_problem(seed)
    f, solution = solve_dirichlet(
        graph.laplacian(), boundary, values, pull=pull, target=target, method=method, tol=1e-12
    )
    assert_allclose(f, dense_answer(graph, boundary, values, pull, target), atol=1e-9)
    assert solution.converged
    assert_array_equal(f[boundary], values)


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_the_answer_minimizes_the_energy(seed):
    # E(f) = 1/2 Σ w_ij (f_i - f_j)² + Σ c_i (f_i - h_i)² over f that agree with the boundary.
    graph, boundary, values, pull, target = random_problem(seed, n=9)
    L = graph.laplacian()

    def energy(f):
        return float(np.sum(f * (L @ f)) + np.sum(pull[:, None] * (f - target) ** 2))

    f, _ = solve_dirichlet(L, boundary, values, pull=pull, target=target)
    rng = np.random.default_rng(seed)
    for size in (1e-3, 0.1, 2.0):
        other = f + size * rng.normal(size=f.shape) * ~boundary[:, None]
        assert energy(other) >= energy(f) - 1e-9


def test_a_dongle_is_an_edge_to_a_node_of_its_own():
    # Section 5 of the source: a pull of c towards h is an edge of weight c to a labeled node.
    graph, boundary, values, pull, target = random_problem(7, n=6, n_columns=3)
    n = graph.n_nodes
    W = np.zeros((2 * n, 2 * n))
    W[:n, :n] = graph.adjacency.toarray()
    inner = ~boundary
    for i in np.flatnonzero(inner):
        W[i, n + i] = W[n + i, i] = pull[i]
    wider = np.concatenate([boundary, np.ones(n, dtype=bool)])
    expected, _ = solve_dirichlet(Graph(W).laplacian(), wider, np.vstack([values, target]))
    f, _ = solve_dirichlet(graph.laplacian(), boundary, values, pull=pull, target=target)
    assert_allclose(f, expected[:n], atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_the_drop_at_unit_current_is_the_resistance(seed):
    # With ends at 1 and 0 the current Σ_j w_sj (1 - f_j) is one over the effective resistance.
    graph, *_ = random_problem(seed)
    n = graph.n_nodes
    ends = np.zeros(n, dtype=bool)
    ends[[0, n - 1]] = True
    f, _ = solve_dirichlet(graph.laplacian(), ends, np.array([[1.0], [0.0]]))
    current = float((graph.laplacian() @ f)[0, 0])
    peer = nx.resistance_distance(
        graph.to_networkx(), 0, n - 1, weight="weight", invert_weight=False
    )
    assert_allclose(1.0 / current, peer, rtol=1e-9)


def test_the_values_are_probabilities_of_a_random_walk():
    # Gambler's ruin with p = 2/5: from i of n the walk ends at n with (1 - r^i) / (1 - r^n),
    # where r = q / p = 3/2. Weights that grow by 1/r give steps to the right with p.
    n, r = 6, 1.5
    graph = Graph.from_edges([(i, i + 1) for i in range(n)], [r**-i for i in range(n)])
    ends = np.zeros(n + 1, dtype=bool)
    ends[[0, n]] = True
    f, _ = solve_dirichlet(graph.laplacian(), ends, np.array([[0.0], [1.0]]))
    expected = (1 - r ** np.arange(n + 1)) / (1 - r**n)
    assert_allclose(f.ravel(), expected)


@given(st.integers(0, 10_000), st.floats(-3, 3), st.floats(0.1, 50))
@settings(max_examples=25)
def test_linear_in_the_values_and_blind_to_the_unit_of_weights(seed, factor, unit):
    graph, boundary, values, *_ = random_problem(seed)
    L = graph.laplacian()
    f, _ = solve_dirichlet(L, boundary, values)
    more, _ = solve_dirichlet(L, boundary, factor * values + 1.7)
    assert_allclose(more, factor * f + 1.7, atol=1e-8)
    scaled, _ = solve_dirichlet(sparse.csr_array(L * unit), boundary, values)
    assert_allclose(scaled, f, atol=1e-8)


def test_no_boundary_at_all_with_pulls_everywhere():
    # Only the pull is left: the smoothing (L + C)^{-1} C h of one column per target.
    graph, _, _, _, target = random_problem(3)
    pull = np.linspace(0.2, 1.5, graph.n_nodes)
    nowhere = np.zeros(graph.n_nodes, dtype=bool)
    f, _ = solve_dirichlet(
        graph.laplacian(), nowhere, np.zeros((0, 2)), pull=pull, target=target, method="direct"
    )
    L = graph.laplacian().toarray()
    assert_allclose(f, np.linalg.solve(L + np.diag(pull), pull[:, None] * target), atol=1e-10)
    # The pull conserves the weighted mean, since the Laplacian sums to nothing.
    assert_allclose(pull @ f, pull @ target)


def test_a_boundary_everywhere_is_returned_as_it_came():
    graph, *_ = random_problem(4)
    values = np.random.default_rng(0).normal(size=(graph.n_nodes, 3))
    everywhere = np.ones(graph.n_nodes, dtype=bool)
    f, solution = solve_dirichlet(graph.laplacian(), everywhere, values)
    assert_array_equal(f, values)
    assert (solution.n_iter, solution.converged) == (0, True)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_values_of_other_types_give_float64(dtype):
    graph, boundary, *_ = random_problem(5)
    values = np.array([[0, 3], [2, 1], [1, 0], [0, 2]]).astype(dtype)
    f, _ = solve_dirichlet(graph.laplacian(), boundary, values)
    expected, _ = solve_dirichlet(graph.laplacian(), boundary, values.astype(float))
    assert f.dtype == np.float64
    assert_allclose(f, expected)


def test_columns_in_fortran_order_and_strided_values():
    graph, boundary, values, pull, target = random_problem(6, n_columns=4)
    expected, _ = solve_dirichlet(graph.laplacian(), boundary, values, pull=pull, target=target)
    wide = np.repeat(values, 2, axis=1)[:, ::2]
    f, _ = solve_dirichlet(
        graph.laplacian(), boundary, wide, pull=pull, target=np.asfortranarray(target)
    )
    assert_allclose(f, expected)


def test_a_pull_of_zero_is_no_pull():
    graph, boundary, values, _, target = random_problem(8)
    f, _ = solve_dirichlet(graph.laplacian(), boundary, values)
    same, _ = solve_dirichlet(
        graph.laplacian(), boundary, values, pull=np.zeros(graph.n_nodes), target=target
    )
    assert_allclose(same, f, atol=1e-12)


def test_a_strong_pull_fixes_the_node():
    graph, boundary, values, _, target = random_problem(9)
    pull = np.zeros(graph.n_nodes)
    node = int(np.flatnonzero(~boundary)[2])
    pull[node] = 1e9
    f, _ = solve_dirichlet(graph.laplacian(), boundary, values, pull=pull, target=target)
    assert_allclose(f[node], target[node], atol=1e-7)
    fixed = boundary.copy()
    fixed[node] = True
    together = np.empty((graph.n_nodes, 2))
    together[boundary], together[node] = values, target[node]
    expected, _ = solve_dirichlet(graph.laplacian(), fixed, together[fixed])
    assert_allclose(f, expected, atol=1e-6)


def test_a_pull_ties_a_component_without_a_boundary():
    # Nodes 2 and 3 see no boundary; a pull on 3 alone makes both take its target.
    graph = Graph.from_edges([(0, 1), (2, 3)], [2.0, 4.0])
    boundary = np.array([True, False, False, False])
    pull, target = np.array([0.0, 0.0, 0.0, 0.7]), np.full((4, 1), 3.5)
    f, _ = solve_dirichlet(graph.laplacian(), boundary, np.array([[5.0]]), pull=pull, target=target)
    assert_allclose(f.ravel(), [5.0, 5.0, 3.5, 3.5])


@pytest.mark.parametrize("method", ["cg", "propagation"])
def test_a_start_on_the_boundary_is_not_looked_at(method):
    graph, boundary, values, *_ = random_problem(10)
    f, cold = solve_dirichlet(graph.laplacian(), boundary, values, method=method, tol=1e-10)
    start = f.copy()
    start[boundary] = 1e6
    again, warm = solve_dirichlet(
        graph.laplacian(), boundary, values, method=method, tol=1e-9, start=start
    )
    assert warm.n_iter == 0 < cold.n_iter
    assert_allclose(again, f, atol=1e-8)


def test_nodes_that_hang_by_threads_take_the_mean_of_what_these_hold():
    # Nodes 3 and 4 are tied to each other by 1, and to the given values by 3e-18 and 1e-18.
    edges = [(0, 1), (1, 2), (3, 4), (3, 0), (4, 2)]
    graph = Graph.from_edges(edges, [1.0, 1.0, 1.0, 3e-18, 1e-18])
    given = np.array([True, False, True, False, False])
    f, solution = solve_dirichlet(graph.laplacian(), given, np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert solution.converged
    assert_allclose(f[1], [0.5, 0.5])
    assert_allclose(f[3:], [[0.75, 0.25], [0.75, 0.25]], rtol=1e-6)


def test_what_is_tied_to_nothing_but_a_pull_takes_its_target():
    graph = Graph.from_edges([(0, 1), (2, 3)], [1.0, 1.0])
    given = np.array([True, False, False, False])
    f, _ = solve_dirichlet(
        graph.laplacian(),
        given,
        np.array([[2.0]]),
        pull=np.array([0.0, 0.0, 1e-20, 1e-20]),
        target=np.array([[0.0], [0.0], [5.0], [7.0]]),
    )
    assert_allclose(f.ravel(), [2.0, 2.0, 6.0, 6.0], rtol=1e-6)
