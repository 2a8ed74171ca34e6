"""The Dirichlet problem on a graph: functions that are harmonic off a boundary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaven.solvers._linear import SingularSystemError, Solution, solve_spd

# Added to a diagonal of one: well above its rounding, and the quotient takes it out again.
_RIDGE = 1e-10


def solve_dirichlet(
    laplacian: sparse.csr_array,
    boundary: NDArray[np.bool_],
    values: NDArray[Any],
    *,
    pull: NDArray[Any] | None = None,
    target: NDArray[Any] | None = None,
    method: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 10_000,
    start: NDArray[Any] | None = None,
) -> tuple[NDArray[Any], Solution]:
    """Extend ``values`` from the boundary nodes to a harmonic function on the graph.

    With ``L = D - W`` split into inner nodes u and boundary nodes l it solves

    .. math:: (L_{uu} + C_u) f_u = -L_{ul} f_l + C_u h_u

    where ``C = diag(pull)``. Without a pull this is equation (5) of Zhu, Ghahramani and
    Lafferty (2003); a pull ties each node to a target value of its own, which gives the
    "dongle" nodes of their section 5. Every component must hold a boundary node or a
    positive pull.

    Parameters
    ----------
    laplacian : csr_array of shape (n_nodes, n_nodes)
        Combinatorial.
    boundary : bool array of shape (n_nodes,)
    values : array of shape (n_boundary, n_columns)
    pull : array of shape (n_nodes,), optional
        Non-negative.
    target : array of shape (n_nodes, n_columns), optional
        The values ``h`` that the pull is towards.
    method, tol, max_iter
        As in :func:`~leaven.solvers.solve_spd`.
    start : array of shape (n_nodes, n_columns), optional
        A guess for ``f``, such as the solution before some labels were added: the iterative
        methods then need fewer steps.

    Returns
    -------
    f : ndarray of shape (n_nodes, n_columns)
        ``values`` on the boundary.
    solution : Solution
        How the system was solved.

    Examples
    --------
    Weights 6, 3 and 2 in a row are resistances of 1/6, 1/3 and 1/2, and a drop of 6 splits
    into 1, 2 and 3:

    >>> import numpy as np
    >>> from leaven.graph import Graph
    >>> from leaven.solvers import solve_dirichlet
    >>> graph = Graph.from_edges([(0, 1), (1, 2), (2, 3)], [6.0, 3.0, 2.0])
    >>> ends = np.array([True, False, False, True])
    >>> solve_dirichlet(graph.laplacian(), ends, np.array([[9.0], [3.0]]))[0].ravel()
    array([9., 8., 6., 3.])
    """
    inner = np.flatnonzero(~boundary)
    f = np.empty((len(boundary), values.shape[1]))
    # Copied, not solved for: labels come back to the last bit.
    f[boundary] = values
    # Rows first, then columns: slicing rows of CSR is a copy of runs, slicing columns is a search.
    rows = laplacian[inner]
    A = sparse.csr_array(rows[:, inner])
    B = -(rows[:, np.flatnonzero(boundary)] @ values)
    if pull is not None:
        assert target is not None
        C = pull[inner]
        A = sparse.csr_array(A + sparse.diags_array(C, format="csr"))
        B = B + C[:, None] * target[inner]
    x0 = None if start is None else np.asarray(start)[inner]
    try:
        solution = solve_spd(A, B, method=method, tol=tol, max_iter=max_iter, x0=x0)
        lost = solution.method == "direct" and not np.isfinite(solution.x).all()
    except SingularSystemError:
        lost = True
    if lost:
        total = -rows[:, np.flatnonzero(boundary)].sum(axis=1)
        solution = _by_threads(A, B, total if pull is None else total + pull[inner])
    f[inner] = solution.x
    return f, solution


def _by_threads(A: sparse.csr_array, B: NDArray[Any], total: NDArray[Any]) -> Solution:
    """Solve where nodes are tied to the given values by weights that rounding swallows.

    With a little more on the diagonal the system is regular, and all its solutions are too small
    by the same factor at a node. The function whose given values are all one is one everywhere,
    which tells the factor.
    """
    more = sparse.diags_array(_RIDGE * A.diagonal(), format="csr")
    found = solve_spd(sparse.csr_array(A + more), np.column_stack([B, total]), method="direct")
    x, one = found.x[:, :-1], found.x[:, -1:]
    if not (one > 0).all():
        raise SingularSystemError(
            "Some part of the graph is tied to no given value: leave it out, or give one of its "
            "nodes a value."
        )
    return replace(found, x=x / one)
