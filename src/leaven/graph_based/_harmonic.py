"""Harmonic functions on a similarity graph."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_array

from leaven._compat import HasMethods, Interval, StrOptions
from leaven._labels import UNLABELED, one_hot
from leaven.exceptions import ConvergenceWarning
from leaven.graph import Graph
from leaven.graph_based._base import GraphClassifier
from leaven.graph_based._simplex import project_to_simplex
from leaven.graph_based._threshold import proportion_thresholds
from leaven.solvers import Solution, solve_dirichlet

SOLVERS = ("auto", "direct", "cg", "amg", "propagation")


def harmonic_function(
    graph: Graph,
    codes: NDArray[np.intp],
    n_classes: int,
    *,
    external: NDArray[Any] | None = None,
    external_weight: float = 0.1,
    label_noise: float = 0.0,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> tuple[NDArray[Any], NDArray[np.bool_], Solution]:
    """Solve for the harmonic function of every class.

    Parameters
    ----------
    graph : Graph
    codes : ndarray of shape (n_nodes,)
        Class of each node, ``UNLABELED`` where unknown.
    n_classes : int
    external : ndarray of shape (n_nodes, n_classes), optional
        Class probabilities ``h`` by another classifier.
    external_weight : float
        η: the probability of stepping from an unlabeled node to its ``h``.
    label_noise : float
        ρ: the probability that a labeled node does *not* keep its given label but goes on
        to its neighbors. 0 clamps the labels.
    solver, tol, max_iter
        As in :func:`~leaven.solvers.solve_spd`.

    Returns
    -------
    f : ndarray of shape (n_nodes, n_classes)
        Zero in the rows that are not reached.
    reached : bool ndarray of shape (n_nodes,)
    solution : Solution

    Notes
    -----
    In the random walk with a "dongle" at node i, ``f_i = η_i h_i + (1 - η_i) Σ_j p_ij f_j``
    (equation 10). Multiplied by ``d_i / (1 - η_i)`` this is the symmetric system
    ``(L + C) f = C h`` with ``c_i = d_i η_i / (1 - η_i)``.
    """
    given = codes != UNLABELED
    Y = one_hot(codes, n_classes)
    pull = np.zeros(graph.n_nodes)
    target = Y
    boundary = given
    if label_noise > 0:
        pull[given] = graph.degree[given] * (1.0 - label_noise) / label_noise
        # A labeled node without neighbors has nothing but its label.
        boundary = given & (graph.degree == 0)
    if external is not None:
        free = ~given
        pull[free] = graph.degree[free] * external_weight / (1.0 - external_weight)
        target = np.where(given[:, None], Y, external)
        boundary = boundary | (graph.degree == 0)
    reached = graph.reached_from(boundary | (pull > 0))
    # The classes sum to one in every reached row, so two classes are one problem.
    columns = slice(0, 1) if n_classes == 2 else slice(None)
    part = graph if reached.all() else graph.subgraph(reached)
    inside, solution = solve_dirichlet(
        part.laplacian(),
        boundary[reached],
        target[reached & boundary, columns],
        pull=pull[reached] if pull.any() else None,
        target=target[reached, columns],
        method=solver,
        tol=tol,
        max_iter=max_iter,
    )
    if n_classes == 2:
        inside = np.hstack([inside, 1.0 - inside])
    f = np.zeros((graph.n_nodes, n_classes))
    # Rounding can leave values of -1e-17; the maximum principle says they are not negative.
    f[reached] = np.clip(inside, 0.0, 1.0)
    return f, reached, solution


class HarmonicClassifier(GraphClassifier):
    r"""Classify by the harmonic function that agrees with the known labels.

    Every unlabeled row takes the weighted mean of its neighbors' class probabilities;
    labeled rows keep their label. That minimizes ``Σ w_ij (f_i - f_j)²`` and is

    .. math:: f_u = (D_{uu} - W_{uu})^{-1} W_{ul} f_l

    the probability that a random walk from the row meets a label of the class first [1]_.

    Parameters
    ----------
    graph : graph builder, default=None
        Builds the similarity graph; None stands for ``KNNGraph()``.
    prior : {"auto", "labeled", "uniform"}, dict, array or None, default="auto"
        Class proportions for class mass normalization (equation 9), which corrects for
        classes that the graph favors. ``"auto"`` estimates them from the labels and the graph,
        see :func:`estimate_proportions`; ``"labeled"`` takes those of the labels with one
        added to each count. None switches it off: the equation above and nothing else.
    decision : {"mass", "threshold"}, default="mass"
        What the ``prior`` does: class mass normalization, or the threshold moved until the
        classes among the unlabeled rows have exactly these proportions (section 7 of [1]_, see
        :func:`proportion_thresholds`), which is for proportions that are known.
    external : classifier or array of shape (n_samples, n_classes), default=None
        Another classifier that is fitted on the labeled rows, or its probabilities for
        the rows of ``X``; a classifier without ``predict_proba`` counts with probability one
        for the class that it predicts; each unlabeled row is tied to its prediction (equation 10).
    external_weight : float in (0, 1), default=0.1
        The transition probability η to the external prediction.
    label_noise : float in [0, 1), default=0.0
        How likely a given label is to be overruled by the neighbors: a labeled row keeps
        its label with probability ``1 - label_noise`` at each step of the walk. 0 keeps
        the labels as given.
    solver : {"auto", "direct", "cg", "amg", "propagation"}, default="auto"
        See :func:`leaven.solvers.solve_spd`.
    tol : float, default=1e-6
        Relative residual at which an iterative solver stops.
    max_iter : int, default=10,000

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    graph_ : Graph
    graph_builder_ : fitted graph builder
    scores_ : ndarray of shape (n_samples, n_classes)
        The raw harmonic function. Rows without a path to a label hold the class
        proportions of the labeled rows.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    transduction_ : ndarray of shape (n_samples,)
    class_thresholds_ : ndarray of shape (n_classes,)
        What is subtracted from the scores for ``decision="threshold"``; zeros otherwise.
    n_unreached_ : int
        Rows without a path to a label.
    solver_ : str
        The solver that did the work.
    n_iter_ : int
    converged_ : bool

    See Also
    --------
    sklearn.semi_supervised.LabelPropagation : Iterates towards the same function.

    References
    ----------
    .. [1] X. Zhu, Z. Ghahramani and J. Lafferty, "Semi-supervised learning using Gaussian
       fields and harmonic functions", ICML 2003.

    Examples
    --------
    >>> from leaven.graph import KNNGraph
    >>> from leaven.graph_based import HarmonicClassifier
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> y = ["low", None, None, None, None, "high"]
    >>> HarmonicClassifier(KNNGraph(n_neighbors=3)).fit(X, y).transduction_
    array(['low', 'low', 'low', 'high', 'high', 'high'], dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "graph": [HasMethods(["fit"]), None],
        "prior": [StrOptions({"auto", "labeled", "uniform"}), "array-like", dict, None],
        "decision": [StrOptions({"mass", "threshold"})],
        "external": [HasMethods(["fit", "predict"]), "array-like", None],
        "external_weight": [Interval(Real, 0, 1, closed="neither")],
        "label_noise": [Interval(Real, 0, 1, closed="left")],
        "solver": [StrOptions(set(SOLVERS))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Real, 1, None, closed="left")],
    }

    def __init__(
        self,
        graph: Any = None,
        *,
        prior: Any = "auto",
        decision: str = "mass",
        external: Any = None,
        external_weight: float = 0.1,
        label_noise: float = 0.0,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 10_000,
    ) -> None:
        self.graph = graph
        self.prior = prior
        self.decision = decision
        self.external = external
        self.external_weight = external_weight
        self.label_noise = label_noise
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any) -> HarmonicClassifier:
        """Fit on the rows of ``X``, of which some have a label in ``y``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Unlabeled rows are -1 in integers, None, NaN or pandas.NA elsewhere.

        Returns
        -------
        self
        """
        graph, codes = self._fit_graph(X, y)
        f, reached, solution = harmonic_function(
            graph,
            codes,
            len(self.classes_),
            external=self._external_probabilities(X, codes),
            external_weight=self.external_weight,
            label_noise=self.label_noise,
            solver=self.solver,
            tol=self.tol,
            max_iter=int(self.max_iter),
        )
        self._note_unreached(reached)
        self._fill_unreached(f, codes, reached)
        self.solver_, self.n_iter_ = solution.method, max(solution.n_iter, 1)
        self.converged_ = solution.converged
        if not solution.converged:
            warnings.warn(
                f"The solver {solution.method!r} stopped after {solution.n_iter} iterations at a "
                f"relative residual of {solution.residual:.1e}, above tol={self.tol:g}. Raise "
                "max_iter, or use solver='auto'.",
                ConvergenceWarning,
                stacklevel=2,
            )
        f = f.astype(graph.adjacency.dtype, copy=False)
        self.class_thresholds_: NDArray[np.float64] = np.zeros(len(self.classes_))
        counted = reached & (codes == UNLABELED)
        by_threshold = self.decision == "threshold" and self.prior is not None
        if by_threshold and counted.any():
            proportions = self._proportions(self.prior, codes)
            self.class_thresholds_ = proportion_thresholds(f[counted], proportions)
        self._store_scores(
            f,
            codes,
            None if by_threshold else self.prior,
            reached=reached,
            keep_given=self.label_noise == 0,
        )
        return self

    def _distributions(self, scores: NDArray[Any]) -> NDArray[Any]:
        if not self.class_thresholds_.any():
            return super()._distributions(scores)
        return project_to_simplex(scores - self.class_thresholds_.astype(scores.dtype))

    def _external_probabilities(self, X: Any, codes: NDArray[np.intp]) -> NDArray[Any] | None:
        if self.external is None:
            return None
        if not hasattr(self.external, "fit"):
            h = check_array(self.external, dtype=np.float64)
            if h.shape != (len(codes), len(self.classes_)):
                raise ValueError(
                    f"external has shape {h.shape}, but there are {len(codes)} rows and "
                    f"{len(self.classes_)} classes."
                )
            if (h < 0).any() or not np.allclose(h.sum(axis=1), 1.0, atol=1e-6):
                raise ValueError("external must hold class probabilities: rows that sum to 1.")
            return np.asarray(h)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        given = codes != UNLABELED
        self.external_ = clone(self.external).fit(X[given], codes[given])
        if not hasattr(self.external_, "predict_proba"):
            return one_hot(np.asarray(self.external_.predict(X)), len(self.classes_))
        return np.asarray(self.external_.predict_proba(X), dtype=np.float64)
