"""Max-sum belief propagation on the similarity graph, with an influence index for ties."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import check_array

from leaven._compat import HasMethods, Interval
from leaven._labels import UNLABELED, one_hot
from leaven.base import normalize_rows
from leaven.exceptions import ConvergenceWarning
from leaven.graph import Binary, Edges, EdgeWeight, Gaussian, InverseDistance
from leaven.graph_based._base import GraphClassifier
from leaven.graph_based._cuts import cut_weight, label_distances, neighbors_together
from leaven.graph_based._messages import Chooser, Forest, flood

# Pairs of rows that are compared at once for the influence index.
_PAIRS = 1 << 20

# Beliefs that differ by less than this share of the weight at a node are tied.
_TIE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}


def feature_influence(
    builder: Any, X: Any, rows: NDArray[Any], codes: NDArray[np.intp], n_classes: int
) -> NDArray[np.float64]:
    """Sum the similarities of rows to the labeled rows of each class (equation 3.16).

    Parameters
    ----------
    builder : fitted graph builder
        Its metric and its weight make the similarity. A weight that is the same for all
        pairs says nothing, and ``1 / (1 + distance)`` takes its place.
    X : matrix of shape (n_samples, n_features)
    rows : ndarray of shape (n_rows,)
        Row numbers.
    codes : ndarray of shape (n_samples,)
    n_classes : int

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        Rows that are too far from all labels for the weight to tell the classes apart have
        the sums of ``1 / (1 + distance)`` instead.
    """
    known = np.flatnonzero(codes != UNLABELED)
    Y = one_hot(codes[known], n_classes)
    params = getattr(builder, "metric_params", None) or {}
    weight: EdgeWeight = builder.weight_
    scale = getattr(builder, "_scale", None)
    influence = np.empty((len(rows), n_classes))
    step = max(_PAIRS // len(known), 1)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        D = pairwise_distances(X[part], X[known], metric=builder.metric, **params)
        plain = InverseDistance()(D) @ Y
        edges = Edges(
            distance=D.ravel(),
            row=np.repeat(part, len(known)),
            col=np.tile(known, len(part)),
            X=X,
            Y=X,
            row_scale=scale,
            col_scale=scale,
            metric=builder.metric,
        )
        S = plain if isinstance(weight, Binary) else weight(edges).reshape(D.shape) @ Y
        top, least = S.max(axis=1, keepdims=True), S.min(axis=1, keepdims=True)
        influence[start : start + step] = np.where(top - least > 1e-9 * top, S, plain)
    return influence


def path_influence(
    W: sparse.csr_array, codes: NDArray[np.intp], n_classes: int
) -> NDArray[np.float64]:
    """Similarity ``1 / (1 + length)`` to the nearest label of each class along the edges.

    For graphs that are not built from features. Lengths are those of
    :func:`~leaven.graph_based._cuts.label_distances`.
    """
    return 1.0 / (1.0 + label_distances(W, codes, n_classes))


class BeliefPropagationClassifier(GraphClassifier):
    r"""Label the graph by max-sum messages between neighbors.

    It looks for the labeling of least :math:`\sum_{(i,j) \in E} w_{ij} [x_i \ne x_j]` that
    keeps the given labels, which is the most probable one of the model
    :math:`P(x) \propto \prod_{(i,j) \in E} \exp(-w_{ij} [x_i \ne x_j])` (equations 3.2-3.5
    of [1]_, and the Potts model for more than two classes). On a forest the messages find
    it exactly. On a graph with cycles they are sent again and again until they come to
    rest, which is an approximation.

    Parameters
    ----------
    graph : graph builder, default=None
        Builds the similarity graph; None stands for ``KNNGraph()``. ``KNNTreeGraph`` and
        ``SpanningTreeGraph`` make it exact.
    influence : bool, default=True
        Settle ties by the influence index (3.16-3.18): the class with the larger sum of
        similarities to its labeled rows, by the metric and weight of the graph. Where the
        graph has no features, the class with the label that is nearest along the edges.
        With False ties go to the first class.
    max_iter : int, default=200
        Most sweeps over a graph with cycles.
    damping : float in [0, 1), default=0.0
        Share of the old message kept in the new one, on a graph with cycles. Try 0.3 where
        the messages oscillate.
    tol : float, default=1e-5
        The messages have come to rest when none changes by more than this share of the
        largest weight.
    verbose : int, default=0
        1 logs a line for each sweep to the logger ``leaven``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    graph_ : Graph
    graph_builder_ : fitted graph builder
    is_exact_ : bool
        Whether the graph is a forest.
    cut_value_ : float
        Total weight of the edges whose ends have different labels; if ``is_exact_`` there
        is no smaller one.
    beliefs_ : ndarray of shape (n_samples, n_classes)
        Max-marginals: how much more weight would have to be cut, at the least, if the row
        had that class instead of its best, with a minus sign. 0 for the best class. For
        labeled rows and rows without a path to a label all zero.
    n_ties_ : int
        Rows whose beliefs left more than one class.
    n_iter_ : int
        Sweeps; 2 on a forest, once up and once down.
    residual_ : float
        Largest change of a message in the last sweep, as a share of the largest weight.
    converged_ : bool
    objective_trace_ : ndarray of shape (n_iter_,)
        Largest change of a belief in each sweep, as a share of the largest weight. Loopy
        propagation has no objective that falls in every sweep. Zeros on a forest.
    n_unreached_ : int
        Rows without a path to a label; they get the proportions of the labeled rows.
    scores_, label_distributions_ : ndarray of shape (n_samples, n_classes)
        ``exp(beliefs_ / mean edge weight)``, as shares: a class that cuts one average edge
        more is e times less likely. The class chosen is ahead by a ten-thousandth, also in a
        tie.
    transduction_ : ndarray of shape (n_samples,)

    See Also
    --------
    MinCutClassifier : The exact solution for two classes on any graph.

    Notes
    -----
    Labels are clamped: a labeled row sends its label and forwards nothing, so the messages
    run between the unlabeled rows only. On a forest each row is decided given its parent
    (the first row of each tree is its root), so that the labeling as a whole is optimal
    also where there are ties. Where more than one tie-break is possible the result can
    depend on the root.

    References
    ----------
    .. [1] H. N. Nguyen, "Study on semi-supervised learning with the framework of generative
       model", Nagaoka University of Technology, 2019, section 3.3.
    .. [2] J. Pearl, "Probabilistic reasoning in intelligent systems", Morgan Kaufmann, 1988.

    Examples
    --------
    On a chain of equal weights any edge may be cut; the influence index prefers the middle:

    >>> from leaven.graph import GivenGraph
    >>> from leaven.graph_based import BeliefPropagationClassifier
    >>> chain = GivenGraph(edges=[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])
    >>> X, y = [[0]] * 6, [0, -1, -1, -1, -1, 1]
    >>> model = BeliefPropagationClassifier(chain).fit(X, y)
    >>> model.transduction_, model.is_exact_, model.cut_value_
    (array([0, 0, 0, 1, 1, 1]), True, 1.0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "graph": [HasMethods(["fit"]), None],
        "influence": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "damping": [Interval(Real, 0, 1, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        graph: Any = None,
        *,
        influence: bool = True,
        max_iter: int = 200,
        damping: float = 0.0,
        tol: float = 1e-5,
        verbose: int = 0,
    ) -> None:
        self.graph = graph
        self.influence = influence
        self.max_iter = max_iter
        self.damping = damping
        self.tol = tol
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> BeliefPropagationClassifier:
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
        reached = graph.reached_from(codes != UNLABELED)
        self._note_unreached(reached)
        n_classes, dtype = len(self.classes_), graph.adjacency.dtype
        loops = int(np.count_nonzero(graph.adjacency.diagonal()))
        self.is_exact_ = graph.n_edges - loops == graph.n_nodes - graph.n_components
        free = np.flatnonzero(reached & (codes == UNLABELED))
        if not self.is_exact_:  # the order of the rows decides the root of a tree
            free = neighbors_together(graph.adjacency, np.where(reached, codes, 0))[: len(free)]
        rows = graph.adjacency[free]
        W = sparse.csr_array(rows[:, free])
        W.sort_indices()
        evidence = np.asarray(rows @ one_hot(codes, n_classes, dtype))
        strength = np.asarray(rows.sum(axis=1)).ravel()

        forest = Forest(W, evidence) if self.is_exact_ else None
        beliefs = self._flood(W, evidence) if forest is None else self._pass(forest)
        slack = _TIE[dtype] * strength
        # Twice the slack: a tie given the parent is a tie of the beliefs but for rounding.
        near = beliefs >= beliefs.max(axis=1, keepdims=True) - 2 * slack[:, None]
        tied = near.sum(axis=1) > 1
        self.n_ties_ = int(tied.sum())
        choose = self._chooser(X, codes, free, tied, slack)
        if forest is None:
            labels = choose(beliefs, np.arange(len(free)))
        else:
            labels = forest.decide(choose, tied)

        self.beliefs_ = np.zeros((len(codes), n_classes), dtype=dtype)
        self.beliefs_[free] = beliefs - beliefs.max(axis=1, keepdims=True)
        self._store(codes, reached, free, labels)
        return self

    def _pass(self, forest: Forest) -> NDArray[Any]:
        """Record what a pass up and down a forest is: two sweeps that end at rest."""
        self.n_iter_, self.residual_, self.converged_ = 2, 0.0, True
        self.objective_trace_: NDArray[Any] = np.zeros(2)
        return forest.beliefs

    def _flood(self, W: sparse.csr_array, evidence: NDArray[Any]) -> NDArray[Any]:
        result = flood(
            W,
            evidence,
            max_iter=int(self.max_iter),
            damping=float(self.damping),
            tol=float(self.tol),
            verbose=int(self.verbose),
        )
        self.objective_trace_ = np.array(result.trace)
        self.n_iter_, self.residual_ = len(result.trace), result.residual
        self.converged_ = result.converged
        if not result.converged:
            warnings.warn(
                f"The messages did not come to rest in {self.n_iter_} sweeps: the largest change "
                f"is {result.residual:.1e} of the largest weight, above tol={self.tol:g}. Use "
                "damping (0.3, say), raise max_iter, or make the graph a tree (KNNTreeGraph).",
                ConvergenceWarning,
                stacklevel=3,
            )
        return result.beliefs

    def _chooser(
        self,
        X: Any,
        codes: NDArray[np.intp],
        free: NDArray[Any],
        tied: NDArray[np.bool_],
        slack: NDArray[Any],
    ) -> Chooser:
        """Return the function that picks a class and settles ties."""
        influence = np.zeros((len(free), len(self.classes_)))
        if self.influence and tied.any():
            influence[tied] = self._influence(X, codes, free[tied])

        def choose(values: NDArray[Any], nodes: NDArray[Any]) -> NDArray[np.intp]:
            possible = values >= values.max(axis=1, keepdims=True) - slack[nodes, None]
            index = np.where(possible, influence[nodes], -1.0)
            # Equal but for rounding is equal: the first class then, not a random one.
            return np.asarray(
                np.argmax(index >= index.max(axis=1, keepdims=True) * (1 - 1e-9), axis=1)
            )

        return choose

    def _influence(
        self, X: Any, codes: NDArray[np.intp], rows: NDArray[Any]
    ) -> NDArray[np.float64]:
        builder, n_classes = self.graph_builder_, len(self.classes_)
        weight = getattr(builder, "weight_", None)
        local = isinstance(weight, Gaussian) and weight.bandwidth == "local"
        if (
            not getattr(builder, "uses_features", True)
            or not isinstance(weight, EdgeWeight)
            or not hasattr(builder, "metric")
            or (local and getattr(builder, "_scale", None) is None)
        ):
            return np.asarray(path_influence(self.graph_.adjacency, codes, n_classes)[rows])
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        return feature_influence(builder, X, rows, codes, n_classes)

    def _store(
        self,
        codes: NDArray[np.intp],
        reached: NDArray[np.bool_],
        free: NDArray[Any],
        labels: NDArray[np.intp],
    ) -> None:
        W, n_classes = self.graph_.adjacency, len(self.classes_)
        full = np.where(reached, codes, 0)  # what is not reached has no edge to the rest
        full[free] = labels
        self.cut_value_ = cut_weight(W, full)
        unit = W.data.mean() if W.nnz else 1.0
        scores = one_hot(codes, n_classes, W.dtype)
        scores[free] = np.exp(self.beliefs_[free] / unit)
        scores[free, labels] = np.maximum(scores[free, labels], 1) * W.dtype.type(1 + 1e-4)
        scores[free] = normalize_rows(scores[free])
        self._fill_unreached(scores, codes, reached)
        self._store_scores(scores, codes, reached=reached)
