"""Minimum cuts of the similarity graph that separate the labeled rows."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from leaven._compat import HasMethods, Interval, StrOptions
from leaven._labels import one_hot
from leaven.graph_based._balanced_cut import balanced_cut, is_balanced
from leaven.graph_based._base import GraphClassifier
from leaven.graph_based._cut_problem import (
    FEWEST_ROWS,
    MULTICLASS,
    CutProblem,
    expanded_labels,
    harmonic_guess,
    store_in_order,
)
from leaven.graph_based._cuts import SIDES, cut_weight


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
    multiclass : {"expansion", "one-versus-rest"}, default="expansion"
        How more than two classes are cut, see Notes: one cut per class alone, or improved by
        expansion moves, which never makes the cut heavier.
    prior : {"auto", "labeled", "uniform"}, dict, array or None, default="auto"
        Class proportions, as in :class:`HarmonicClassifier`, for cuts that cut off little more
        than the labeled rows of a class, see Notes. None takes the minimum cut whatever it is.
    balance : float in [0, 1), default=0.1
        A class is too small if it gets less than this times its proportion of the unlabeled
        rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    graph_ : Graph
    graph_builder_ : fitted graph builder
    cut_value_ : float
        Total weight of the edges that the minimum cut cuts.
    label_cut_value_ : float
        Total weight of the edges whose ends have different labels in ``transduction_``: that of
        the minimum cut, unless it left a class too small.
    pull_strength_ : float
        The strength μ of the pull that gave every class its rows, see Notes; 0 is none, and
        where none was enough it is infinite.
    lower_bound_ : float
        No labeling that keeps the given labels has a smaller ``cut_value_``.
    rounding_error_ : float
        How much a cut may exceed the minimum because the solver's capacities are integers.
        Mostly exactly zero.
    n_undecided_ : int
        Rows that not exactly one class claims, see Notes; 0 for two classes.
    n_moves_ : int
        Expansion moves that made the cut lighter.
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
    More than two classes are cut one versus the rest first. Each of these cuts is minimal, but
    the labeling as a whole need not be: to separate three classes or more at the least
    weight is NP-hard (Dahlhaus et al., 1994). What is known: with ``side="source"`` no row
    is claimed by two classes, and some labeling of the least weight agrees with all claims
    [3]_. Rows that no class claims go to the class of the nearest label, where an edge is
    as long as the inverse of its weight. Half the sum of the cuts bounds the least weight
    from below and is in ``lower_bound_``.

    From there ``multiclass="expansion"`` goes on with the rows that are not claimed (with all,
    for the other sides): in a move one class takes any number of rows from the others, those
    that make the cut lightest, which is a minimum cut itself, until no move of any class helps
    [4]_. The result weighs at most twice the least.

    With very few labels the minimum cut tends to cut off little more than the labeled rows of
    one class (Joachims, 2003). Where it does, and at least 20 rows are unlabeled, labels that
    differ from those of the harmonic function with class mass normalization are made to cost
    something,

    .. math:: \mu\, \bar d \sum_i \big(\max_c g_{ic} - g_{i \ell_i}\big) ,

    with the mean degree and the probabilities g of :class:`HarmonicClassifier`, moved to the
    proportions of the ``prior`` by :func:`proportion_thresholds`. The cut with the least
    strength μ at which every class gets half of its proportion is taken.

    References
    ----------
    .. [1] A. Blum and S. Chawla, "Learning from labeled and unlabeled data using graph
       mincuts", ICML 2001.
    .. [2] H. N. Nguyen, "Study on semi-supervised learning with the framework of generative
       model", Nagaoka University of Technology, 2019, section 3.2.
    .. [3] I. Kovtun, "Partial optimal labeling search for a NP-hard subclass of (max,+)
       problems", DAGM 2003.
    .. [4] Y. Boykov, O. Veksler and R. Zabih, "Fast approximate energy minimization via graph
       cuts", IEEE Transactions on Pattern Analysis and Machine Intelligence 23, 2001.

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
        "multiclass": [StrOptions(set(MULTICLASS))],
        "prior": [StrOptions({"auto", "labeled", "uniform"}), "array-like", dict, None],
        "balance": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        graph: Any = None,
        *,
        side: str = "source",
        multiclass: str = "expansion",
        prior: Any = "auto",
        balance: float = 0.1,
    ) -> None:
        self.graph = graph
        self.side = side
        self.multiclass = multiclass
        self.prior = prior
        self.balance = balance

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
        self.n_moves_ = 0
        if self.multiclass == "expansion" and problem.n_classes > 2:
            labels = scores.argmax(axis=1)
            better, self.n_moves_ = expanded_labels(problem, labels, claims, W.data)
            changed = better != labels  # the other rows keep their scores
            scores[changed] = one_hot(better[changed], problem.n_classes)
        self.cut_value_ = cut_weight(W, scores.argmax(axis=1))
        values = [cut_weight(W, claim) for claim in claims.T]
        exact = sum(values) - len(values) * self.rounding_error_
        # Every edge between two classes is in the cuts of both.
        self.lower_bound_ = max(exact if len(values) == 1 else exact / 2, 0.0)
        self.pull_strength_ = 0.0
        labels = scores.argmax(axis=1)
        if self.prior is not None and problem.free.sum() >= FEWEST_ROWS:
            guess = harmonic_guess(self, graph, codes, reached, problem)
            pulled = labels
            if not is_balanced(labels, problem.free, self.balance * guess.sizes):
                pulled, self.pull_strength_ = balanced_cut(
                    W, guess.labels(problem), problem.free, guess.probabilities, guess.sizes
                )
            changed = pulled != labels
            scores[changed] = one_hot(pulled[changed], problem.n_classes)
        self.label_cut_value_ = cut_weight(W, scores.argmax(axis=1))
        store_in_order(self, scores, problem.order, codes, reached)
        return self
