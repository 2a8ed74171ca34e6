"""Minimum cuts of the similarity graph that separate the labeled rows."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from leaven._compat import HasMethods, Interval, StrOptions
from leaven._labels import UNLABELED, class_prior, one_hot
from leaven.base import normalize_rows
from leaven.exceptions import LeavenWarning
from leaven.graph_based._base import GraphClassifier
from leaven.graph_based._cuts import (
    SIDES,
    cut_weight,
    label_distances,
    minimum_cuts,
    neighbors_together,
    steady_groups,
)
from leaven.graph_based._network import Network

logger = logging.getLogger("leaven")


class CutProblem:
    """The cuts that label a graph: one for two classes, else one of each class and the rest.

    Parameters
    ----------
    W : csr_array of shape (n_nodes, n_nodes)
        Every component holds a labeled node.
    codes : ndarray of shape (n_nodes,)
    n_classes : int
    side : {"source", "sink", "balanced"}

    Attributes
    ----------
    W, codes
        With the nodes in another order, that of ``order``.
    """

    def __init__(
        self, W: sparse.csr_array, codes: NDArray[np.intp], n_classes: int, side: str
    ) -> None:
        self.order = neighbors_together(W, codes)
        self.W = sparse.csr_array(W[self.order][:, self.order])
        self.W.sort_indices()
        self.codes, self.n_classes, self.side = codes[self.order], n_classes, side
        self.free = self.codes == UNLABELED
        # Of two classes the second is the positive one, the source.
        self.sources = [1] if n_classes == 2 else list(range(n_classes))

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """Path lengths from each node to the labels of each class."""
        return label_distances(self.W, self.codes, self.n_classes)

    def networks(self, noise: float | None = None) -> Iterator[Network]:
        """Yield the network of each cut; with ``noise``, reduced to what noise can change."""
        for c in self.sources:
            source = self.codes == c
            network = Network.of_labels(self.W, source, ~source & ~self.free)
            if noise is not None:
                capacities = network.capacities(self.W.data)
                group = steady_groups(capacities, network.source, network.sink, noise)
                network = network.merged(*group)
            yield network

    def claims(
        self, networks: Iterable[Network], weights: NDArray[Any], *, max_rounds: int = 8
    ) -> tuple[NDArray[np.bool_], float]:
        """Cut every network.

        Parameters
        ----------
        networks : iterable of Network
        weights : ndarray of shape (n_entries,)
            In place of ``W.data``.
        max_rounds : int, default=8
            1 is precise enough where the weights are noisy.

        Returns
        -------
        claims : bool ndarray of shape (n_nodes, n_cuts)
            The source side of each cut.
        gap : float
            How much a cut may exceed the minimum because of rounding.
        """
        claims = np.zeros((len(self.codes), len(self.sources)), dtype=bool)
        gap = 0.0
        for column, (c, network) in enumerate(zip(self.sources, networks, strict=True)):
            cuts = minimum_cuts(
                network.capacities(weights), network.source, network.sink, max_rounds=max_rounds
            )
            if self.side == "source":
                side = cuts.smallest()
            elif self.side == "sink":
                side = cuts.largest()
            else:
                side = cuts.balanced(*self._balance(c, network))
            claims[:, column] = side[network.group]
            gap = max(gap, cuts.gap)
        return claims, gap

    def _balance(self, c: int, network: Network) -> tuple[NDArray[Any], NDArray[Any], float]:
        """Nearness of the groups to class ``c``, their sizes, and the size it should get."""
        own = self.distances[:, c]
        other = np.delete(self.distances, c, axis=1).min(axis=1)
        with np.errstate(invalid="ignore"):
            share = own / (own + other)
        # Without a path to one of the two sides a node is as near to the other as can be.
        share = np.where(np.isinf(own), 1.0, np.where(np.isinf(other), 0.0, share))
        free = self.free
        members = np.bincount(network.group[free], minlength=network.n_groups)
        total = np.bincount(network.group[free], weights=share[free], minlength=network.n_groups)
        given = self.codes[~free]
        return total / np.maximum(members, 1), members, float((given == c).mean() * free.sum())

    def scores(self, claims: NDArray[np.bool_]) -> tuple[NDArray[np.float64], int]:
        """Turn the sides of the cuts into class scores.

        Returns
        -------
        scores : ndarray of shape (n_nodes, n_classes)
            Rows sum to one.
        n_undecided : int
            Nodes that not exactly one class claims; the nearest label decides these.
        """
        if self.n_classes == 2:
            return one_hot(claims[:, 0].astype(np.intp), 2), 0
        open_ = np.flatnonzero(claims.sum(axis=1) != 1)
        scores = claims.astype(np.float64)
        if len(open_):
            scores[open_] = self._settle(claims[open_], open_)
        return scores, len(open_)

    def labels(self, claims: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the class with the best of the scores, for many cuts of one problem."""
        if self.n_classes == 2:
            return claims[:, 0].astype(np.intp)
        n_claims = claims.sum(axis=1)
        several = np.flatnonzero(n_claims > 1)
        labels = np.where(n_claims == 0, self._nearest, claims.argmax(axis=1))
        labels[several] = self._settle(claims[several], several).argmax(axis=1)
        return labels

    @cached_property
    def _nearest(self) -> NDArray[np.intp]:
        """The class of each unlabeled node that no class claims; 0 for labeled nodes."""
        nearest = np.zeros(len(self.codes), dtype=np.intp)
        free = np.flatnonzero(self.free)
        nothing = np.zeros((len(free), self.n_classes), dtype=bool)
        nearest[free] = self._settle(nothing, free).argmax(axis=1)
        return nearest

    def _settle(self, claims: NDArray[np.bool_], nodes: NDArray[Any]) -> NDArray[np.float64]:
        """Score nodes that not exactly one class claims, by the nearest label."""
        # Claimed by several: these compete. Claimed by none: all classes do.
        rivals = np.where(claims.any(axis=1, keepdims=True), claims, True)
        # These nodes have no label, so that all distances are positive.
        return normalize_rows(np.where(rivals, 1.0 / self.distances[nodes], 0.0))


class MinCutClassifier(GraphClassifier):
    r"""Label the graph so that the edges between different classes weigh least.

    For two classes it finds, among all labelings that keep the given labels, one that
    minimizes

    .. math:: \tfrac12 \sum_{(i,j) \in E} w_{ij} |f_i - f_j|, \qquad f_i \in \{-1, +1\}

    which is a minimum cut between the labeled rows of the two classes [1]_ (equation 3.1
    of [2]_). It is exact for floating-point weights: rounding to the integers of the
    maximum-flow solver is undone in further rounds.

    Parameters
    ----------
    graph : graph builder, default=None
        Builds the similarity graph; None stands for ``KNNGraph()``.
    side : {"source", "sink", "balanced"}, default="source"
        Which cut to take when several are minimal. The source is the second class (the
        positive one).

        - ``"source"``: the one nearest to the source, with the fewest positive rows;
        - ``"sink"``: the one nearest to the sink, with the most;
        - ``"balanced"``: one in between, so that the unlabeled rows come close to the
          class proportions of the labeled ones. Rows join the side whose labels are
          nearer along the edges first.

        With more than two classes each class in turn is the source.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    graph_ : Graph
    graph_builder_ : fitted graph builder
    cut_value_ : float
        Total weight of the edges whose ends have different labels.
    lower_bound_ : float
        No labeling that keeps the given labels has a smaller ``cut_value_``.
    rounding_error_ : float
        How much a cut may exceed the minimum because the solver's capacities are integers.
        Mostly exactly zero.
    n_undecided_ : int
        Rows that not exactly one class claims, see Notes; 0 for two classes.
    n_unreached_ : int
        Rows without a path to a label; they get the proportions of the labeled rows.
    scores_, label_distributions_ : ndarray of shape (n_samples, n_classes)
        0 and 1, but for rows that no cut decides: those have the inverse path lengths to the
        nearest label of each class, as shares.
    transduction_ : ndarray of shape (n_samples,)

    See Also
    --------
    RandomizedMinCutClassifier : Votes over many cuts, for confidences.
    BeliefPropagationClassifier : The same objective, with a rule for ties.
    HarmonicClassifier : The relaxation to real-valued labels.

    Notes
    -----
    More than two classes are cut one versus the rest. Each of these cuts is minimal, but
    the labeling as a whole need not be: to separate three classes or more at the least
    weight is NP-hard (Dahlhaus et al., 1994). What is known: with ``side="source"`` no row
    is claimed by two classes, and some labeling of the least weight agrees with all claims
    [3]_. Rows that no class claims go to the class of the nearest label, where an edge is
    as long as the inverse of its weight. Half the sum of the cuts bounds the least weight
    from below and is in ``lower_bound_``.

    With very few labels the minimum cut tends to cut off little more than the labeled rows
    of one class (Joachims, 2003). With two classes nearly everything then gets the same
    label; ``SpectralTransducer`` and ``HarmonicClassifier`` with a prior do not do that.

    References
    ----------
    .. [1] A. Blum and S. Chawla, "Learning from labeled and unlabeled data using graph
       mincuts", ICML 2001.
    .. [2] H. N. Nguyen, "Study on semi-supervised learning with the framework of generative
       model", Nagaoka University of Technology, 2019, section 3.2.
    .. [3] I. Kovtun, "Partial optimal labeling search for a NP-hard subclass of (max,+)
       problems", DAGM 2003.

    Examples
    --------
    On a chain with equal weights any edge is a minimum cut:

    >>> from leaven.graph import GivenGraph
    >>> from leaven.graph_based import MinCutClassifier
    >>> chain = GivenGraph(edges=[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])
    >>> X, y = [[0]] * 6, [0, -1, -1, -1, -1, 1]
    >>> MinCutClassifier(chain).fit(X, y).transduction_
    array([0, 0, 0, 0, 0, 1])
    >>> MinCutClassifier(chain, side="balanced").fit(X, y).transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "graph": [HasMethods(["fit"]), None],
        "side": [StrOptions(set(SIDES))],
    }

    def __init__(self, graph: Any = None, *, side: str = "source") -> None:
        self.graph = graph
        self.side = side

    def fit(self, X: Any, y: Any) -> MinCutClassifier:
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
        reached, part = self._reached(graph, codes)
        problem = CutProblem(part.adjacency, codes[reached], len(self.classes_), self.side)
        W = problem.W
        claims, self.rounding_error_ = problem.claims(problem.networks(), W.data)
        scores, self.n_undecided_ = problem.scores(claims)
        self.cut_value_ = cut_weight(W, scores.argmax(axis=1))
        values = [cut_weight(W, claim) for claim in claims.T]
        exact = sum(values) - len(values) * self.rounding_error_
        # Every edge between two classes is in the cuts of both.
        self.lower_bound_ = max(exact if len(values) == 1 else exact / 2, 0.0)
        _store_in_order(self, scores, problem.order, codes, reached)
        return self


class RandomizedMinCutClassifier(GraphClassifier):
    """Vote over the minimum cuts of many noisy copies of the graph.

    Each copy has the weights ``w_ij (1 + noise · u_ij)`` with ``u_ij`` uniform in [-1, 1].
    Its minimum cut is one of many that are nearly minimal; cuts that leave a class with too
    few rows are dropped, and the share of the others that vote for a class is the
    confidence in it (Blum et al., 2004 [1]_; section 3.2 of [2]_).

    Parameters
    ----------
    graph : graph builder, default=None
        Builds the similarity graph; None stands for ``KNNGraph()``.
    n_cuts : int, default=15
        Odd, so that two classes never have the same number of votes.
    noise : float in [0, 1], default=0.01
        Relative size of the noise. With 0 all cuts are that of ``MinCutClassifier``. Little
        noise is fast: what it cannot change is merged before the first cut.
    balance : float in [0, 1), default=0.1
        A cut is dropped if a class gets less than this times its share of the labeled
        rows. 0.1 is 5 % of all rows for two classes with as many labels.
    side : {"source", "sink", "balanced"}, default="source"
        As in :class:`MinCutClassifier`; with noise there is hardly ever a choice.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        1 logs a line for each cut to the logger ``leaven``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    graph_ : Graph
    graph_builder_ : fitted graph builder
    n_kept_, n_dropped_ : int
        Cuts that vote, and cuts that were dropped as unbalanced. If all are unbalanced, a
        warning says so and all of them vote.
    cut_value_ : float
        Total weight, without noise, of the edges whose ends have different labels.
    n_unreached_ : int
        Rows without a path to a label; they get the proportions of the labeled rows.
    scores_, label_distributions_ : ndarray of shape (n_samples, n_classes)
        Shares of the votes.
    transduction_ : ndarray of shape (n_samples,)

    See Also
    --------
    MinCutClassifier : A single cut of the graph as it is; more than two classes are treated
        in the same way there.

    References
    ----------
    .. [1] A. Blum, J. Lafferty, M. R. Rwebangira and R. Reddy, "Semi-supervised learning
       using randomized mincuts", ICML 2004.
    .. [2] H. N. Nguyen, "Study on semi-supervised learning with the framework of generative
       model", Nagaoka University of Technology, 2019.

    Examples
    --------
    >>> from leaven.graph import GivenGraph
    >>> from leaven.graph_based import RandomizedMinCutClassifier
    >>> chain = GivenGraph(edges=[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])
    >>> X, y = [[0]] * 6, [0, -1, -1, -1, -1, 1]
    >>> model = RandomizedMinCutClassifier(chain, n_cuts=400, random_state=0).fit(X, y)
    >>> model.transduction_
    array([0, 0, 0, 1, 1, 1])
    >>> model.label_distributions_[:, 1].round(1)
    array([0. , 0.2, 0.4, 0.6, 0.8, 1. ])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "graph": [HasMethods(["fit"]), None],
        "n_cuts": [Interval(Integral, 1, None, closed="left")],
        "noise": [Interval(Real, 0, 1, closed="both")],
        "balance": [Interval(Real, 0, 1, closed="left")],
        "side": [StrOptions(set(SIDES))],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        graph: Any = None,
        *,
        n_cuts: int = 15,
        noise: float = 0.01,
        balance: float = 0.1,
        side: str = "source",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.graph = graph
        self.n_cuts = n_cuts
        self.noise = noise
        self.balance = balance
        self.side = side
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> RandomizedMinCutClassifier:
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
        rng = check_random_state(self.random_state)
        reached, part = self._reached(graph, codes)
        problem = CutProblem(part.adjacency, codes[reached], len(self.classes_), self.side)
        votes = self._vote(problem, rng)
        self.cut_value_ = cut_weight(problem.W, votes.argmax(axis=1))
        _store_in_order(self, votes, problem.order, codes, reached)
        return self

    def _vote(self, problem: CutProblem, rng: np.random.RandomState) -> NDArray[np.float64]:
        W, n_classes = problem.W, problem.n_classes
        networks = list(problem.networks(float(self.noise)))
        edge = _edge_numbers(W)
        n_edges = int(edge.max(initial=-1)) + 1
        proportions = class_prior("labeled", problem.codes, self.classes_, smoothing=0.0)
        fewest = self.balance * proportions * len(problem.codes)
        rows = np.arange(len(problem.codes))
        kept = np.zeros((len(rows), n_classes))
        dropped = np.zeros_like(kept)
        self.n_kept_ = 0
        for number in range(1, self.n_cuts + 1):
            factor = 1.0 + self.noise * rng.uniform(-1.0, 1.0, size=n_edges)
            claims, _ = problem.claims(
                networks, W.data * factor[edge], max_rounds=1 if self.noise else 8
            )
            labels = problem.labels(claims)
            is_kept = bool((np.bincount(labels, minlength=n_classes) >= fewest).all())
            (kept if is_kept else dropped)[rows, labels] += 1
            self.n_kept_ += is_kept
            if self.verbose:
                logger.info("cut %d of %d: %s", number, self.n_cuts, "kept" if is_kept else "drop")
        self.n_dropped_ = int(self.n_cuts) - self.n_kept_
        if self.n_kept_:
            return kept / self.n_kept_
        warnings.warn(
            f"All {self.n_cuts} cuts are unbalanced: each leaves a class with less than "
            f"balance={self.balance:g} times its share of the labeled rows. They vote all the "
            "same. Label more rows, use more neighbors, or lower balance.",
            LeavenWarning,
            stacklevel=3,
        )
        return dropped / self.n_cuts


def _edge_numbers(W: sparse.csr_array) -> NDArray[Any]:
    """Number the edges, with the same number for both directions of an edge."""
    upper = np.flatnonzero(np.repeat(np.arange(W.shape[0]), np.diff(W.indptr)) <= W.indices)
    number = np.zeros(W.nnz, dtype=np.int64)
    number[upper] = np.arange(len(upper))
    # The transpose holds, at the place of an entry, what stands at the mirrored place.
    mirrored = sparse.csr_array((number, W.indices, W.indptr), shape=W.shape).T.tocsr().data
    return np.asarray(np.maximum(number, mirrored))


def _store_in_order(
    model: GraphClassifier,
    scores: NDArray[Any],
    order: NDArray[Any],
    codes: NDArray[np.intp],
    reached: NDArray[np.bool_],
) -> None:
    """Store scores that are in the order of the problem.

    Rows that are not reached get the labeled proportions.
    """
    full = np.empty((len(codes), len(model.classes_)), dtype=model.graph_.adjacency.dtype)
    full[np.flatnonzero(reached)[order]] = scores
    model._fill_unreached(full, codes, reached)
    model._store_scores(full, codes, reached=reached)
