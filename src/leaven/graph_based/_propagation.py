"""Label propagation in three forms: clamped, soft, and by local and global consistency.

Each has an iteration and a closed form with the same limit. The closed form is a sparse
positive definite system; the iteration multiplies by a sparse matrix until nothing changes.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaven._compat import HasMethods, Interval, StrOptions
from leaven._labels import one_hot
from leaven.exceptions import ConvergenceWarning
from leaven.graph import Graph
from leaven.graph_based._base import GraphClassifier
from leaven.solvers import solve_dirichlet, solve_spd

METHODS = ("auto", "closed", "iterate")

logger = logging.getLogger("leaven")


@dataclass(frozen=True)
class Propagation:
    """Where an iteration came to: the scores, the change of each step, and whether it ended.

    Parameters
    ----------
    scores : ndarray of shape (n_nodes, n_classes)
    trace : list of float
        The largest change of a score in each step (closed form: the relative residual).
    converged : bool
    """

    scores: NDArray[Any]
    trace: list[float]
    converged: bool


def iterate_linear(
    step: Callable[[NDArray[Any]], NDArray[Any]],
    start: NDArray[Any],
    *,
    tol: float,
    max_iter: int,
    verbose: int = 0,
) -> Propagation:
    """Repeat a contracting linear step until its limit is within ``tol``.

    The change of one step says little about the distance to the limit when the iteration
    contracts slowly. That distance is estimated as ``change · ρ / (1 - ρ)``, with the
    contraction ρ from the last two changes.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._propagation import iterate_linear
    >>> halves = iterate_linear(lambda F: F / 2 + 1, np.zeros((1, 1)), tol=1e-3, max_iter=99)
    >>> halves.scores.round(2), len(halves.trace)
    (array([[2.]]), 11)
    """
    F, trace = start, [np.inf]
    for iteration in range(1, max_iter + 1):
        new = step(F)
        change = float(np.abs(new - F).max(initial=0.0))
        F = new
        if verbose:
            logger.info("propagation step %d: largest change %.3g", iteration, change)
        # A geometric series from here on: what is left is change · c / (1 - c). Small changes alone
        # would end a slow iteration far from its limit.
        contraction = min(change / trace[-1], 1.0) if trace[-1] > 0 else 0.0
        trace.append(change)
        # The first step has no contraction to judge by yet.
        close = iteration > 1 and change * contraction <= tol * (1.0 - contraction)
        if change == 0 or close:
            return Propagation(F, trace[1:], True)
    return Propagation(F, trace[1:], False)


class _PropagationClassifier(GraphClassifier):
    """What the three have in common: choosing the form, and the record of the iteration."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "graph": [HasMethods(["fit"]), None],
        "prior": [StrOptions({"auto", "labeled", "uniform"}), "array-like", dict, None],
        "method": [StrOptions(set(METHODS))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
    }

    graph: Any
    prior: Any
    method: str
    tol: float
    max_iter: int
    verbose: int

    def _propagate(self, graph: Graph, codes: NDArray[np.intp], keep_given: bool) -> None:
        """Solve on the part that labels reach; the rest gets the labeled proportions."""
        reached, part = self._reached(graph, codes)
        Y = one_hot(codes[reached], len(self.classes_))
        # One solve was faster than the iteration at every size measured (see benchmarks).
        if self.method == "iterate":
            result = self._iterate(part, Y)
        else:
            result = self._solve(part, Y)
        self.objective_trace_ = np.array(result.trace)
        self.n_iter_ = max(len(result.trace), 1)
        self.converged_ = result.converged
        if not result.converged:
            warnings.warn(
                f"The iteration did not converge in {self.n_iter_} steps (last change "
                f"{result.trace[-1]:.1e}). Raise max_iter, or use method='closed'.",
                ConvergenceWarning,
                stacklevel=3,
            )
        scores = np.empty((graph.n_nodes, len(self.classes_)), dtype=graph.adjacency.dtype)
        # An iterative solver may leave -1e-9 where the exact answer is zero.
        scores[reached] = np.maximum(result.scores, 0.0)
        self._fill_unreached(scores, codes, reached)
        self._store_scores(scores, codes, self.prior, reached=reached, keep_given=keep_given)

    def _iterate(self, graph: Graph, Y: NDArray[Any]) -> Propagation:
        raise AssertionError(f"{type(self).__name__} must define _iterate")

    def _solve(self, graph: Graph, Y: NDArray[Any]) -> Propagation:
        raise AssertionError(f"{type(self).__name__} must define _solve")

    def _run(self, step: Callable[[NDArray[Any]], NDArray[Any]], Y: NDArray[Any]) -> Propagation:
        return iterate_linear(
            step, Y, tol=self.tol, max_iter=int(self.max_iter), verbose=int(self.verbose)
        )


class LabelPropagationClassifier(_PropagationClassifier):
    """Pass labels to the neighbors, again and again, with the given labels clamped.

    Each step is ``F ← D^{-1} W F`` followed by ``F_l ← Y_l`` (Zhu and Ghahramani, 2002).
    The limit is the harmonic function, which the closed form solves for directly.

    Parameters
    ----------
    graph : graph builder, default=None
        None stands for ``KNNGraph()``.
    prior : {"auto", "labeled", "uniform"}, dict or array, default=None
        Class proportions for class mass normalization; ``"auto"`` estimates them, see
        :func:`estimate_proportions`, None switches it off.
    method : {"auto", "closed", "iterate"}, default="auto"
        The closed form is faster at all sizes, and ``"auto"`` takes it.
    tol : float, default=1e-6
        How close to the limit the scores must be (iteration), or the relative residual
        (closed form).
    max_iter : int, default=10,000
    verbose : int, default=0

    Attributes
    ----------
    scores_, label_distributions_ : ndarray of shape (n_samples, n_classes)
    transduction_ : ndarray of shape (n_samples,)
    n_iter_ : int
    converged_ : bool
    objective_trace_ : ndarray
        Largest change of a score in each step.
    n_unreached_ : int

    See Also
    --------
    HarmonicClassifier : The limit, with external classifiers and noisy labels.

    References
    ----------
    X. Zhu and Z. Ghahramani, "Learning from labeled and unlabeled data with label
    propagation", CMU-CALD-02-107, 2002.

    Examples
    --------
    >>> from leaven.graph_based import LabelPropagationClassifier
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> LabelPropagationClassifier().fit(X, [0, -1, -1, -1, -1, 1]).transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    def __init__(
        self,
        graph: Any = None,
        *,
        prior: Any = None,
        method: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 10_000,
        verbose: int = 0,
    ) -> None:
        self.graph = graph
        self.prior = prior
        self.method = method
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> LabelPropagationClassifier:
        """Fit on the rows of ``X``, of which some have a label in ``y``."""
        graph, codes = self._fit_graph(X, y)
        self._propagate(graph, codes, keep_given=True)
        return self

    def _iterate(self, graph: Graph, Y: NDArray[Any]) -> Propagation:
        given = Y.any(axis=1)
        inverse = 1.0 / np.where(graph.degree > 0, graph.degree, 1.0)

        def step(F: NDArray[Any]) -> NDArray[Any]:
            new = inverse[:, None] * (graph.adjacency @ F)
            new[given] = Y[given]
            return np.asarray(new)

        return self._run(step, Y)

    def _solve(self, graph: Graph, Y: NDArray[Any]) -> Propagation:
        given = np.asarray(Y.any(axis=1))
        F, solution = solve_dirichlet(graph.laplacian(), given, Y[given], tol=self.tol)
        return Propagation(F, [solution.residual], solution.converged)


class SoftLabelPropagationClassifier(_PropagationClassifier):
    r"""Label propagation in which the given labels are a wish, not a law.

    With ``μ = α / (1 - α)``, ``S`` the diagonal 0/1 matrix of labeled rows and ``W'`` the
    weights without self-loops it minimizes

    .. math:: \|S (F - Y)\|^2 + \mu\, F^\top L F + \mu \epsilon \|F\|^2

    by the Jacobi iteration ``F ← A^{-1} (μ W' F + S Y)`` with
    ``A = S + μ D' + μ ε I``, or in closed form ``F = (S + μ L + μ ε I)^{-1} S Y`` (Bengio,
    Delalleau and Le Roux, 2006; Belkin, Matveeva and Niyogi, 2004).

    Parameters
    ----------
    graph : graph builder, default=None
    alpha : float in [0, 1), default=0.9
        How much smoothness counts against the given labels.
    epsilon : float, default=0.01
        Pulls all scores to zero; to be seen beside the summed weights of a node, which are about
        one half in the default graph. Without it, or with next to none, the scores of few
        labels are nearly constant over the graph and one class may take all rows.
    prior : {"auto", "labeled", "uniform"}, dict or array, default=None
    method : {"auto", "closed", "iterate"}, default="auto"
    keep_labels : bool, default=True
        Whether ``transduction_`` keeps the given labels, or may correct them.
    tol, max_iter, verbose
        As in :class:`LabelPropagationClassifier`.

    Attributes
    ----------
    scores_, label_distributions_ : ndarray of shape (n_samples, n_classes)
    transduction_ : ndarray of shape (n_samples,)
    n_iter_, converged_, objective_trace_, n_unreached_
        As in :class:`LabelPropagationClassifier`.

    References
    ----------
    Y. Bengio, O. Delalleau and N. Le Roux, "Label propagation and quadratic criterion", in
    Semi-Supervised Learning, MIT Press, 2006, algorithm 11.2.

    Examples
    --------
    >>> from leaven.graph_based import SoftLabelPropagationClassifier
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> SoftLabelPropagationClassifier().fit(X, [0, -1, -1, -1, -1, 1]).transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_PropagationClassifier._parameter_constraints,
        "alpha": [Interval(Real, 0, 1, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "keep_labels": ["boolean"],
    }

    def __init__(
        self,
        graph: Any = None,
        *,
        alpha: float = 0.9,
        epsilon: float = 0.01,
        prior: Any = None,
        method: str = "auto",
        keep_labels: bool = True,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        verbose: int = 0,
    ) -> None:
        self.graph = graph
        self.alpha = alpha
        self.epsilon = epsilon
        self.prior = prior
        self.method = method
        self.keep_labels = keep_labels
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> SoftLabelPropagationClassifier:
        """Fit on the rows of ``X``, of which some have a label in ``y``."""
        graph, codes = self._fit_graph(X, y)
        self._propagate(graph, codes, keep_given=self.keep_labels)
        return self

    def _iterate(self, graph: Graph, Y: NDArray[Any]) -> Propagation:
        mu = self.alpha / (1.0 - self.alpha)
        L = graph.laplacian()
        degree = L.diagonal()
        W = sparse.csr_array(sparse.diags_array(degree, format="csr") - L)
        diagonal = Y.any(axis=1) + mu * degree + mu * self.epsilon
        inverse = 1.0 / np.where(diagonal > 0, diagonal, 1.0)[:, None]
        return self._run(lambda F: inverse * (mu * (W @ F) + Y), Y)

    def _solve(self, graph: Graph, Y: NDArray[Any]) -> Propagation:
        mu = self.alpha / (1.0 - self.alpha)
        # Nothing is passed on, and rows without a label would leave the system singular.
        if mu == 0:
            return Propagation(Y, [0.0], True)
        diagonal = Y.any(axis=1) + mu * self.epsilon
        A = sparse.csr_array(mu * graph.laplacian() + sparse.diags_array(diagonal, format="csr"))
        solution = solve_spd(A, Y, tol=self.tol)
        return Propagation(solution.x, [solution.residual], solution.converged)


class ConsistencyClassifier(_PropagationClassifier):
    r"""Learning with local and global consistency (Zhou et al., 2004).

    With ``S = D'^{-1/2} W' D'^{-1/2}``, where ``W'`` has no self-loops, the iteration
    ``F ← α S F + (1 - α) Y`` tends to

    .. math:: F = (1 - \alpha) (I - \alpha S)^{-1} Y
              = \left(I + \tfrac{\alpha}{1 - \alpha} \mathcal{L}'\right)^{-1} Y .

    Parameters
    ----------
    graph : graph builder, default=None
    alpha : float in [0, 1), default=0.99
        The share of information that comes from the neighbors.
    prior : {"auto", "labeled", "uniform"}, dict or array, default=None
    method : {"auto", "closed", "iterate"}, default="auto"
    keep_labels : bool, default=True
        Whether ``transduction_`` keeps the given labels, or may correct them.
    tol, max_iter, verbose
        As in :class:`LabelPropagationClassifier`.

    Attributes
    ----------
    scores_, label_distributions_ : ndarray of shape (n_samples, n_classes)
    transduction_ : ndarray of shape (n_samples,)
    n_iter_, converged_, objective_trace_, n_unreached_
        As in :class:`LabelPropagationClassifier`.

    See Also
    --------
    sklearn.semi_supervised.LabelSpreading : The same iteration.

    References
    ----------
    D. Zhou, O. Bousquet, T. N. Lal, J. Weston and B. Schölkopf, "Learning with local and
    global consistency", NIPS 2003.

    Examples
    --------
    >>> from leaven.graph_based import ConsistencyClassifier
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> ConsistencyClassifier().fit(X, [0, -1, -1, -1, -1, 1]).transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_PropagationClassifier._parameter_constraints,
        "alpha": [Interval(Real, 0, 1, closed="left")],
        "keep_labels": ["boolean"],
    }

    def __init__(
        self,
        graph: Any = None,
        *,
        alpha: float = 0.99,
        prior: Any = None,
        method: str = "auto",
        keep_labels: bool = True,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        verbose: int = 0,
    ) -> None:
        self.graph = graph
        self.alpha = alpha
        self.prior = prior
        self.method = method
        self.keep_labels = keep_labels
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> ConsistencyClassifier:
        """Fit on the rows of ``X``, of which some have a label in ``y``."""
        graph, codes = self._fit_graph(X, y)
        self._propagate(graph, codes, keep_given=self.keep_labels)
        return self

    def _iterate(self, graph: Graph, Y: NDArray[Any]) -> Propagation:
        L = graph.laplacian("symmetric", drop_loops=True)
        # S = I - L, but for nodes without an edge, whose row of L is zero.
        edge = sparse.diags_array((L.diagonal() > 0).astype(float), format="csr")
        S = sparse.csr_array(edge - L)
        return self._run(lambda F: self.alpha * (S @ F) + (1.0 - self.alpha) * Y, Y)

    def _solve(self, graph: Graph, Y: NDArray[Any]) -> Propagation:
        mu = self.alpha / (1.0 - self.alpha)
        L = graph.laplacian("symmetric", drop_loops=True)
        # A node without an edge has a zero row in L, where the iteration has 1 - α.
        alone = L.diagonal() == 0
        diagonal = np.where(alone, 1.0 + mu, 1.0)
        A = sparse.csr_array(mu * L + sparse.diags_array(diagonal, format="csr"))
        solution = solve_spd(A, Y, tol=self.tol)
        return Propagation(solution.x, [solution.residual], solution.converged)
