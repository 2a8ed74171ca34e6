"""Votes of the minimum cuts of many noisy copies of a graph."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from leaven._compat import HasMethods, Interval, StrOptions
from leaven._labels import class_prior, one_hot
from leaven.exceptions import LeavenWarning
from leaven.graph_based._balanced_cut import balanced_cut, is_balanced, pulled_cut
from leaven.graph_based._base import GraphClassifier
from leaven.graph_based._cut_problem import (
    FEWEST_ROWS,
    MULTICLASS,
    CutProblem,
    Guess,
    expanded_labels,
    harmonic_guess,
    store_in_order,
)
from leaven.graph_based._cuts import SIDES, cut_weight

logger = logging.getLogger("leaven")


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
    multiclass : {"expansion", "one-versus-rest"}, default="expansion"
        As in :class:`MinCutClassifier`.
    prior : {"auto", "labeled", "uniform"}, dict, array or None, default="auto"
        Class proportions for when all cuts are unbalanced: the cuts are then pulled towards
        balanced labels, as in :class:`MinCutClassifier`. None lets them vote as they are.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        1 logs a line for each cut to the logger ``leaven``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    graph_ : Graph
    graph_builder_ : fitted graph builder
    n_kept_, n_dropped_ : int
        Cuts that vote, and cuts that were dropped as unbalanced. If all are unbalanced even
        after a pull, a warning says so and all of them vote.
    pull_strength_ : float
        As in :class:`MinCutClassifier`.
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
        "multiclass": [StrOptions(set(MULTICLASS))],
        "prior": [StrOptions({"auto", "labeled", "uniform"}), "array-like", dict, None],
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
        multiclass: str = "expansion",
        prior: Any = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.graph = graph
        self.n_cuts = n_cuts
        self.noise = noise
        self.balance = balance
        self.side = side
        self.multiclass = multiclass
        self.prior = prior
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
        guess = None
        if self.prior is not None and problem.free.sum() >= FEWEST_ROWS:
            guess = harmonic_guess(self, graph, codes, reached, problem)
        votes = self._vote(problem, rng, guess)
        self.cut_value_ = cut_weight(problem.W, votes.argmax(axis=1))
        store_in_order(self, votes, problem.order, codes, reached)
        return self

    def _vote(
        self, problem: CutProblem, rng: np.random.RandomState, guess: Guess | None
    ) -> NDArray[np.float64]:
        """Shares of the votes; of pulled cuts, if all others are unbalanced."""
        W, n_classes = problem.W, problem.n_classes
        networks = list(problem.networks(float(self.noise)))
        edge = _edge_numbers(W)
        n_edges = int(edge.max(initial=-1)) + 1
        state = rng.get_state()
        self.pull_strength_ = 0.0

        def noisy_weights() -> NDArray[Any]:
            factor = 1.0 + self.noise * rng.uniform(-1.0, 1.0, size=n_edges)
            return np.asarray(W.data * factor[edge])

        def cut() -> NDArray[np.intp]:
            weights = noisy_weights()
            claims, _ = problem.claims(networks, weights, max_rounds=1 if self.noise else 8)
            labels = problem.labels(claims)
            if self.multiclass == "expansion" and n_classes > 2:
                labels, _ = expanded_labels(problem, labels, claims, weights)
            return labels

        proportions = class_prior("labeled", problem.codes, self.classes_, smoothing=0.0)
        fewest = self.balance * proportions * len(problem.codes)
        everywhere = np.ones(len(problem.codes), dtype=bool)
        votes, self.n_kept_ = self._count(cut, everywhere, fewest, n_classes)
        if self.n_kept_ == 0 and guess is not None:
            start = guess.labels(problem)
            _, self.pull_strength_ = balanced_cut(
                W, start, problem.free, guess.probabilities, guess.sizes
            )
            if not np.isfinite(self.pull_strength_):
                self.n_dropped_ = int(self.n_cuts)
                return one_hot(start, n_classes)
            rng.set_state(state)

            def pulled() -> NDArray[np.intp]:
                noisy = sparse.csr_array((noisy_weights(), W.indices, W.indptr), shape=W.shape)
                return pulled_cut(
                    noisy, start, problem.free, guess.probabilities, self.pull_strength_
                )

            votes, self.n_kept_ = self._count(
                pulled, problem.free, self.balance * guess.sizes, n_classes
            )
        self.n_dropped_ = int(self.n_cuts) - self.n_kept_
        if self.n_kept_ == 0:
            warnings.warn(
                f"All {self.n_cuts} cuts are unbalanced: each leaves a class with less than "
                f"balance={self.balance:g} times its share. They vote all the same. Label more "
                "rows, use more neighbors, or lower balance.",
                LeavenWarning,
                stacklevel=3,
            )
        return votes

    def _count(
        self,
        cut: Callable[[], NDArray[np.intp]],
        counted: NDArray[np.bool_],
        fewest: NDArray[np.float64],
        n_classes: int,
    ) -> tuple[NDArray[np.float64], int]:
        """Votes of the balanced cuts, or of all if none is; and how many are balanced."""
        rows = np.arange(len(counted))
        kept, dropped = np.zeros((len(rows), n_classes)), np.zeros((len(rows), n_classes))
        n_kept = 0
        for number in range(1, self.n_cuts + 1):
            labels = cut()
            is_kept = is_balanced(labels, counted, fewest)
            (kept if is_kept else dropped)[rows, labels] += 1
            n_kept += is_kept
            if self.verbose:
                logger.info("cut %d of %d: %s", number, self.n_cuts, "kept" if is_kept else "drop")
        return (kept / n_kept, n_kept) if n_kept else (dropped / self.n_cuts, 0)


def _edge_numbers(W: sparse.csr_array) -> NDArray[Any]:
    """Number the edges, with the same number for both directions of an edge."""
    upper = np.flatnonzero(np.repeat(np.arange(W.shape[0]), np.diff(W.indptr)) <= W.indices)
    number = np.zeros(W.nnz, dtype=np.int64)
    number[upper] = np.arange(len(upper))
    # The transpose holds, at the place of an entry, what stands at the mirrored place.
    mirrored = sparse.csr_array((number, W.indices, W.indptr), shape=W.shape).T.tocsr().data
    return np.asarray(np.maximum(number, mirrored))
