"""Poisson learning: labels as sources and sinks, for very few of them."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax

from leaven._compat import HasMethods, Interval, StrOptions
from leaven._labels import UNLABELED, one_hot
from leaven.base import normalize_rows
from leaven.exceptions import ConvergenceWarning
from leaven.graph import Graph
from leaven.graph_based._base import GraphClassifier
from leaven.graph_based._class_shift import balancing_shifts
from leaven.solvers import SingularSystemError, Solution, solve_spd

# Added to the diagonal, as a share of it, where the system is singular to working precision.
_LEAK = 1e-10
# Rounding of a current, as a share of it, with some room.
_LARGEST_ROUNDING = 1e-13


def solve_poisson(
    graph: Graph, sources: NDArray[Any], *, tol: float = 1e-6, max_iter: int = 10_000
) -> tuple[NDArray[Any], Solution]:
    """Solve ``L u = b`` with ``Σ_i d_i u_i = 0`` in every component.

    Parameters
    ----------
    graph : Graph
    sources : ndarray of shape (n_nodes, n_columns)
        ``b``; each column must sum to zero over each component.
    tol, max_iter
        As in :func:`~leaven.solvers.solve_spd`.

    Returns
    -------
    u : ndarray of shape (n_nodes, n_columns)
    solution : Solution

    Examples
    --------
    A current of 1 through weights 2 and 4 drops by 1/2 and 1/4:

    >>> import numpy as np
    >>> from leaven.graph import Graph
    >>> from leaven.graph_based._poisson import solve_poisson
    >>> graph = Graph.from_edges([(0, 1), (1, 2)], [2.0, 4.0])
    >>> u, _ = solve_poisson(graph, np.array([[1.0], [0.0], [-1.0]]))
    >>> np.diff(u.ravel())
    array([-0.5 , -0.25])
    """
    L = graph.laplacian()
    # L is singular: constants on a component. Some weight on one node of each component
    # makes it definite, and because the sources of a component sum to zero that node gets
    # the value zero: the solution is exact, up to the constant that is set below.
    component = graph.components()
    mass = np.bincount(component, weights=graph.degree)
    ground = np.zeros(graph.n_nodes)
    first = np.unique(component, return_index=True)[1]
    ground[first] = graph.degree[first] + (graph.degree[first] == 0)
    A = sparse.csr_array(L + sparse.diags_array(ground, format="csr"))
    try:
        solution = solve_spd(A, sources, tol=tol, max_iter=max_iter)
        lost = solution.method == "direct" and not _is_exact(solution.x, A, sources)
    except SingularSystemError:
        lost = True
    if lost:
        # Parts that hang together by weights which rounding swallows: next to no current flows
        # between them, and a little more on the diagonal takes up what cannot.
        more = sparse.diags_array(_LEAK * A.diagonal(), format="csr")
        solution = solve_spd(sparse.csr_array(A + more), sources, method="direct")
    u = solution.x
    weighted = graph.degree[:, None] * u
    mean = np.zeros((len(mass), u.shape[1]))
    np.add.at(mean, component, weighted)
    mean /= np.where(mass > 0, mass, 1.0)[:, None]
    return u - mean[component], solution


def _is_exact(u: NDArray[Any], A: sparse.csr_array, sources: NDArray[Any]) -> bool:
    """Whether the currents at a node are small enough that their sum is not rounding alone."""
    currents = A.diagonal().max() * np.abs(u).max(initial=0.0)
    return bool(
        currents * _LARGEST_ROUNDING < np.abs(sources).max(initial=0.0) or not sources.any()
    )


class PoissonClassifier(GraphClassifier):
    r"""Poisson learning (Calder, Cook, Thorpe and Slepčev, 2020).

    With very few labels the harmonic function is nearly constant, with a spike at every
    label. Poisson learning puts the labels in as sources and sinks instead,

    .. math:: L u = \sum_{j \in \text{labeled}} (y_j - \bar y)\, \delta_j ,
              \qquad \sum_i d_i u_i = 0 ,

    and gives row i the class of the largest ``u_ic``. The equation determines ``u`` up to a
    constant for each class only, and a few nodes that hang by a thread move the mean, which
    the second equation sets to zero, far away; so with a ``prior`` constants ``b`` are chosen
    such that

    .. math:: p_{ic} \propto \exp((u_{ic} - b_c) / m) ,
              \qquad \frac1n \sum_i p_{ic} = q_c ,

    for the class proportions ``q`` and the spread ``m`` of ``u`` over the unlabeled rows, and
    the class of the largest ``p_ic`` is given. Given labels are kept.

    Parameters
    ----------
    graph : graph builder, default=None
        None stands for ``KNNGraph()``.
    prior : {"auto", "labeled", "uniform"}, dict, array or None, default="auto"
        The class proportions ``q``; ``"auto"`` estimates them, see
        :func:`estimate_proportions`. None leaves ``u`` as the equations above have it.
    tol : float, default=1e-6
    max_iter : int, default=10,000

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples, n_classes)
        The solution u. Its rows sum to zero.
    class_shifts_ : ndarray of shape (n_classes,)
        The constants b; zeros without a prior.
    score_scale_ : float
        The spread m: the mean distance from the median of each class, in which the largest 5%
        count as the largest of the others.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        The probabilities p; without a prior the positive parts of ``u``, each row divided by
        its sum.
    transduction_ : ndarray of shape (n_samples,)
    n_iter_, converged_, n_unreached_
        As in :class:`HarmonicClassifier`.

    Notes
    -----
    The mean label is taken over each component of the graph, since sources must cancel
    there. A component in which all labels are of one class gets that class.

    The paper multiplies ``u_ic`` by factors for the class proportions. With two classes, where
    ``u_i1 = -u_i2``, no factor changes which is larger; a constant does.

    References
    ----------
    J. Calder, B. Cook, M. Thorpe and D. Slepčev, "Poisson learning: graph based
    semi-supervised learning at very low label rates", ICML 2020.

    Examples
    --------
    >>> from leaven.graph_based import PoissonClassifier
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> PoissonClassifier().fit(X, [0, -1, -1, -1, -1, 1]).transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "graph": [HasMethods(["fit"]), None],
        "prior": [StrOptions({"auto", "labeled", "uniform"}), "array-like", dict, None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        graph: Any = None,
        *,
        prior: Any = "auto",
        tol: float = 1e-6,
        max_iter: int = 10_000,
    ) -> None:
        self.graph = graph
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any) -> PoissonClassifier:
        """Fit on the rows of ``X``, of which some have a label in ``y``."""
        graph, codes = self._fit_graph(X, y)
        given = codes != UNLABELED
        reached = graph.reached_from(given)
        self._note_unreached(reached)
        sources, mean = poisson_sources(graph, codes, len(self.classes_))
        u, solution = solve_poisson(graph, sources, tol=self.tol, max_iter=int(self.max_iter))
        # Where the labels of a component are all alike there is no source, but its class is
        # known: a value that no shift within the range of u can turn.
        decided = (mean == 1.0).any(axis=1)
        u[decided] = 4.0 * (np.abs(u).max() or 1.0) * (mean[decided] - 1.0 / len(self.classes_))
        self._fill_unreached(u, codes, reached)
        self.n_iter_, self.converged_ = max(solution.n_iter, 1), solution.converged
        if not solution.converged:
            warnings.warn(
                f"The solver stopped after {solution.n_iter} iterations at a relative residual of "
                f"{solution.residual:.1e}, above tol={self.tol:g}. Raise max_iter.",
                ConvergenceWarning,
                stacklevel=2,
            )
        u = u.astype(graph.adjacency.dtype, copy=False)
        self._balance(u, codes, reached & ~decided & ~given)
        self._store_scores(u, codes, reached=reached)
        return self

    def _balance(
        self, u: NDArray[Any], codes: NDArray[np.intp], counted: NDArray[np.bool_]
    ) -> None:
        """Set the shifts; rows that are given or decided say nothing about the constants."""
        self.class_shifts_: NDArray[np.float64] = np.zeros(u.shape[1])
        self.score_scale_ = 1.0
        if self.prior is None or not counted.any():
            return
        proportions = self._proportions(self.prior, codes)
        self.class_shifts_, self.score_scale_ = balancing_shifts(u[counted], proportions)

    def _distributions(self, scores: NDArray[Any]) -> NDArray[Any]:
        if self.prior is None:
            return super()._distributions(scores)
        z = (scores - self.class_shifts_) / self.score_scale_
        return np.asarray(softmax(z, axis=1).astype(scores.dtype, copy=False))

    def _nonnegative(self, scores: NDArray[Any]) -> NDArray[Any]:
        # Rows of u sum to zero, so the largest entry is positive and survives.
        return np.asarray(np.maximum(scores, 0.0))


def poisson_sources(
    graph: Graph, codes: NDArray[np.intp], n_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sources ``y_j - ȳ`` at the labeled nodes, with the mean label ȳ of each component.

    Returns
    -------
    sources, mean : ndarray of shape (n_nodes, n_classes)
        A component whose labels are all of one class has no source and that class as its
        mean; one without a label has mean zero.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph import Graph
    >>> from leaven.graph_based._poisson import poisson_sources
    >>> graph = Graph.from_edges([(0, 1), (1, 2), (3, 4)])
    >>> sources, mean = poisson_sources(graph, np.array([0, -1, 1, 1, -1]), 2)
    >>> sources[[0, 2, 3]], mean[[1, 4]]
    (array([[ 0.5, -0.5],
           [-0.5,  0.5],
           [ 0. ,  0. ]]), array([[0.5, 0.5],
           [0. , 1. ]]))
    """
    given = codes != UNLABELED
    Y = one_hot(codes, n_classes)
    mean = _component_means(Y, given, graph.components())
    return np.where(given[:, None], Y - mean, 0.0), mean


def _component_means(
    Y: NDArray[Any], given: NDArray[np.bool_], component: NDArray[Any]
) -> NDArray[Any]:
    """Mean label over the labeled nodes of the component of each node."""
    totals = np.zeros((component.max() + 1, Y.shape[1]))
    np.add.at(totals, component[given], Y[given])
    return np.asarray(
        np.where(totals.any(axis=1, keepdims=True), normalize_rows(totals), 0.0)[component]
    )
