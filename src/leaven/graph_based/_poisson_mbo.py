"""Poisson learning with volume constraints and annealing."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import validate_data

from leaven._compat import HasMethods, Interval, StrOptions
from leaven._labels import UNLABELED
from leaven.exceptions import ConvergenceWarning
from leaven.graph import Graph, KNNGraph
from leaven.graph_based._base import GraphClassifier
from leaven.graph_based._class_shift import balancing_shifts
from leaven.graph_based._learned_rows import learned_rows
from leaven.graph_based._mbo import (
    ANNEALED,
    PUBLISHED,
    Labeling,
    annealed_mbo,
    labeled_cut,
    published_mbo,
    released_sizes,
    whole_sizes,
)
from leaven.graph_based._poisson import poisson_sources, solve_poisson
from leaven.graph_based._recut import recut_pairs

# Of the last diffused labels. They tell a row at a boundary from one inside a class, but not a
# class that took the wrong cluster; the scores of the Poisson equation do. Together they tell
# right from wrong rows of digits with an AUC of 0.91 (one label per class), alone 0.72 and 0.90.
_TEMPERATURE = 0.3

# Source weight of the second run for two classes. With it pairs of newsgroups gain two points on
# average and up to five; with more classes MNIST loses one, where leaving out the longest
# diffusion gains and nothing loses (benchmarks/accuracy.py, seeds 100 and 200).
_LIGHT_SOURCES = 0.3


class PoissonMBOClassifier(GraphClassifier):
    r"""Poisson learning with volume constraints: Poisson MBO, with annealing.

    Begins with the labels of :class:`PoissonClassifier`, and repeats [1]_: diffuse the one-hot
    labels by T random-walk steps with the given labels as sources,

    .. math:: u \leftarrow \tfrac12 (I + D^{-1} W)\, u + \mu \sum_{j \in \text{labeled}}
              (y_j - \bar y)\, \delta_j ,

    then give each row a class such that the sum of its ``u`` is largest and the class sizes are
    those expected. The boundaries between the classes become short, and move to where the
    graph is thin. Long diffusion first gets the large structure right, short diffusion then
    the details; in the last stages the sizes are free within ±25%, which corrects expected
    sizes that are somewhat wrong.

    Where the scheme ends depends on how it gets there. So it runs twice: again without the
    longest diffusion, or for two classes again with lighter sources. The labeling with the
    lighter cut is kept, where a label counts besides by the share of its edges that are cut.

    Diffusion may end with a boundary across two clusters, half of each on either side, or with a
    piece of a cluster left with the wrong class. So pairs of classes are cut anew along the
    slowest eigenvectors of their rows, and the last stage is repeated, but only where the new
    cut is one between clusters: a third lighter, by the edges of five rows or more, with heavier
    cuts on both sides of it, and less than 3% of the edges of either side; where the labels tell
    the sides apart, and the sizes stay within the bounds of the last stage.

    Finally the graph is rebuilt from the answer, twice. Kernel least squares are fitted to the
    labels of all rows, their leave-one-out scores are appended to the columns, and the last two
    stages continue on the graph of these. It corrects single rows whose class differs from that of
    similar rows, but not a class that took the wrong cluster.

    Parameters
    ----------
    graph : graph builder, default=None
        None stands for ``KNNGraph()``.
    prior : {"auto", "labeled", "uniform"}, dict or array, default="auto"
        The class proportions among the unlabeled rows. ``"auto"`` estimates them, see
        :func:`estimate_proportions`.
    method : {"annealed", "published"}, default="annealed"
        ``"published"`` is the method of the paper: one stage, steps of the Laplacian, factors
        for the volumes, and labels that are not held fixed meanwhile.
    schedule : sequence of (n_steps, n_rounds, release), default=None
        The stages. None is (200, 6, 0), (60, 6, 0), (20, 6, 0), (20, 6, 0.25), (5, 6, 0.25),
        for the published method (40, 20, 0).
    source_weight : float or "auto", default="auto"
        μ. ``"auto"`` is 1 plus 2 divided by the mean number of labels per class: the fewer
        there are, the more each counts. For the published method it is 1.
    second_run : bool, default=True
        Whether there is a second run; with a ``schedule`` or a ``source_weight`` of your own, and
        for the published method, there is none.
    recut : bool, default=True
        Whether pairs of classes are cut anew; the published method does not.
    refine : int, default=2
        How often the graph is rebuilt from the answer. Only for a
        :class:`~leaven.graph.KNNGraph` with Euclidean or cosine distances: other graphs, and the
        published method, keep the first graph.
    tol : float, default=1e-6
    max_iter : int, default=10,000
        Of the Poisson equation at the start.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    graph_ : Graph
        That of the columns; those that were learned are not kept.
    graph_builder_ : fitted graph builder
    prior_ : ndarray of shape (n_classes,)
        The class proportions that were used.
    scores_ : ndarray of shape (n_samples, n_classes)
        The last ``u``, less the price of each class, in units of 0.3, plus half the balanced
        scores of the Poisson equation; the largest of a row is its class.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        The softmax of the scores.
    transduction_ : ndarray of shape (n_samples,)
    objective_trace_ : ndarray
        The weight of the edges between classes after each round. It may rise where the sizes
        change, and where the graph does.
    n_iter_ : int
        Rounds.
    converged_ : bool
        Whether the last round changed no label; the schedule ends without that, too.
    n_unreached_ : int
        Rows without a path to a label; they get the class proportions of the labeled rows.

    See Also
    --------
    PoissonClassifier : The start, and much faster.

    Notes
    -----
    The method believes in the class sizes, more than any other here: with sizes that are far
    from the truth it divides a large class to fill a small one. Give them by ``prior`` when
    they are known.

    References
    ----------
    .. [1] J. Calder, B. Cook, M. Thorpe and D. Slepčev, "Poisson learning: graph based
       semi-supervised learning at very low label rates", ICML 2020, algorithm 2.

    Examples
    --------
    >>> from leaven.graph_based import PoissonMBOClassifier
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> PoissonMBOClassifier().fit(X, [0, -1, -1, -1, -1, 1]).transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "graph": [HasMethods(["fit"]), None],
        "prior": [StrOptions({"auto", "labeled", "uniform"}), "array-like", dict],
        "method": [StrOptions({"annealed", "published"})],
        "schedule": ["array-like", None],
        "source_weight": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "second_run": ["boolean"],
        "recut": ["boolean"],
        "refine": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        graph: Any = None,
        *,
        prior: Any = "auto",
        method: str = "annealed",
        schedule: Sequence[tuple[int, int, float]] | None = None,
        source_weight: float | str = "auto",
        second_run: bool = True,
        recut: bool = True,
        refine: int = 2,
        tol: float = 1e-6,
        max_iter: int = 10_000,
    ) -> None:
        self.graph = graph
        self.prior = prior
        self.method = method
        self.schedule = schedule
        self.source_weight = source_weight
        self.second_run = second_run
        self.recut = recut
        self.refine = refine
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any) -> PoissonMBOClassifier:
        """Fit on the rows of ``X``, of which some have a label in ``y``."""
        schedule = self._checked_schedule()
        graph, codes = self._fit_graph(X, y)
        k = len(self.classes_)
        reached = graph.reached_from(codes != UNLABELED)
        self._note_unreached(reached)
        sources, mean = poisson_sources(graph, codes, k)
        # A component whose labels are all alike is decided, and takes no part in the volumes.
        decided = (mean == 1.0).any(axis=1)
        part = reached & ~decided
        scores = np.zeros((graph.n_nodes, k), dtype=np.float32)
        scores[decided] = mean[decided]
        self._fill_unreached(scores, codes, reached)
        self.prior_ = self._proportions(self.prior, codes)
        self.n_iter_, self.converged_, trace = 1, True, [0.0]
        if part.any():
            inner = graph if part.all() else graph.subgraph(part)
            rows = self._rows_to_learn(X, part)
            result = self._run(inner, codes[part], sources[part], schedule, rows)
            scores[part] = lift_labels(result.scores, result.labels)
            self.n_iter_, self.converged_ = len(result.trace), result.converged
            trace = result.trace
        self.objective_trace_ = np.array(trace)
        self._store_scores(scores.astype(graph.adjacency.dtype), codes, reached=reached)
        return self

    def _run(
        self,
        graph: Graph,
        codes: NDArray[np.intp],
        sources: NDArray[Any],
        schedule: Sequence[tuple[int, int, float]],
        rows: Any,
    ) -> Labeling:
        given = codes != UNLABELED
        u, solution = solve_poisson(graph, sources, tol=self.tol, max_iter=int(self.max_iter))
        if not solution.converged:
            warnings.warn(
                f"The solver stopped after {solution.n_iter} iterations at a relative residual of "
                f"{solution.residual:.1e}, above tol={self.tol:g}. Raise max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )
        weight = self.source_weight
        shifts, spread = np.zeros(u.shape[1]), float(np.abs(u).mean()) or 1.0
        if not given.all():
            shifts, spread = balancing_shifts(u[~given], self.prior_)
        # A class that nobody expects has an infinite shift: far below all others is enough.
        first = np.maximum((u - shifts) / spread, -1e3)
        if self.method == "published":
            sources = sources * (1.0 if weight == "auto" else float(weight))
            result = published_mbo(graph, sources, u.argmax(axis=1), self.prior_, schedule)
        else:
            if weight == "auto":
                weight = 1.0 + 2.0 * len(self.classes_) / given.sum()
            sizes = whole_sizes(self.prior_, int((~given).sum()), u[~given].sum(axis=0))
            start = np.where(given, codes, first.argmax(axis=1))
            twice = self.second_run and self.schedule is None and self.source_weight == "auto"
            result, kept = lightest_run(
                graph, sources, start, sizes, given, schedule, float(weight), twice
            )
            before = result.labels
            if self.recut:
                bounds = released_sizes(sizes, schedule[-1][2])
                labels, n_moves = recut_pairs(graph, before, given, *bounds)
                if n_moves:
                    # The last stage again, for what the new boundaries mean to the other classes.
                    last = annealed_mbo(graph, kept * sources, labels, sizes, given, schedule[-1:])
                    result = replace(last, trace=result.trace + last.trace)
            if rows is not None and not given.all():
                for _ in range(self.refine):
                    learned = self._learned_graph(rows, result.labels, codes)
                    sources, _ = poisson_sources(learned, codes, u.shape[1])
                    last = annealed_mbo(
                        learned, kept * sources, result.labels, sizes, given, schedule[-2:]
                    )
                    result = replace(last, trace=result.trace + last.trace)
            # The Poisson equation had these rows in another class.
            first[result.labels != before] = 0.0
        return replace(result, scores=result.scores / _TEMPERATURE + first / 2)

    def _rows_to_learn(self, X: Any, part: NDArray[np.bool_]) -> Any:
        """The rows that a graph can be built of again, or None."""
        builder = self._unfrozen_builder()
        if self.method == "published" or not self.refine or type(builder) is not KNNGraph:
            return None
        if builder.metric not in ("euclidean", "cosine"):
            return None
        rows = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
        )
        return rows if part.all() else rows[part]

    def _learned_graph(self, rows: Any, labels: NDArray[np.intp], codes: NDArray[np.intp]) -> Graph:
        builder = clone(self._unfrozen_builder())
        by_angle = builder.metric == "cosine"
        learned: Graph = builder.fit(
            learned_rows(rows, labels, len(self.classes_), cosine=by_angle), codes
        ).graph_
        return learned

    def _unfrozen_builder(self) -> Any:
        """The builder itself, where only its graph of these rows was given."""
        builder = self.graph_builder_
        return builder.estimator if isinstance(builder, FrozenEstimator) else builder

    def _checked_schedule(self) -> Sequence[tuple[int, int, float]]:
        if self.schedule is None:
            return PUBLISHED if self.method == "published" else ANNEALED
        for stage in self.schedule:
            if len(stage) != 3 or stage[0] < 1 or stage[1] < 1 or not 0 <= stage[2] <= 1:
                raise ValueError(
                    "schedule must hold stages (n_steps, n_rounds, release) with at least one step "
                    f"and one round and a release between 0 and 1, got {stage!r}."
                )
        return self.schedule

    def _distributions(self, scores: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(softmax(scores, axis=1), dtype=scores.dtype)

    def _plain(self, scores: NDArray[Any]) -> NDArray[Any]:
        # Rows without a path to a label hold proportions, not scores.
        return scores


def lightest_run(
    graph: Graph,
    sources: NDArray[Any],
    start: NDArray[np.intp],
    sizes: NDArray[np.int64],
    given: NDArray[np.bool_],
    schedule: Sequence[tuple[int, int, float]],
    weight: float,
    twice: bool,
) -> tuple[Labeling, float]:
    """Run the annealed scheme, or run it in two ways and keep the labeling with the lighter cut.

    Parameters
    ----------
    graph, sources, start, sizes, given, schedule
        As in :func:`annealed_mbo`; ``given`` nodes are fixed.
    weight : float
        Of the sources, and of a label that is cut off from its neighbors, see
        :func:`labeled_cut`.
    twice : bool

    Returns
    -------
    labeling : Labeling
    weight : float
        Of the sources, in the run that was kept.
    """
    ways = [(schedule, weight)]
    if twice:
        ways.append((schedule, _LIGHT_SOURCES) if len(sizes) == 2 else (schedule[1:], weight))
    runs = [(annealed_mbo(graph, w * sources, start, sizes, given, s), w) for s, w in ways]
    # The first of equal cuts: a second run has to be lighter.
    return min(runs, key=lambda run: labeled_cut(graph.adjacency, run[0].labels, given, weight))


def lift_labels(scores: NDArray[Any], labels: NDArray[np.intp]) -> NDArray[Any]:
    """Raise the score of the label of each row to the largest of the row, if it is not.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._poisson_mbo import lift_labels
    >>> lift_labels(np.array([[1.0, 2.0], [1.0, 3.0]]), np.array([1, 0])).argmax(axis=1)
    array([1, 0])
    """
    rows = np.arange(len(labels))
    lifted = np.array(scores, copy=True)
    best = scores.max(axis=1)
    lower = scores.argmax(axis=1) != labels
    # A little more than the largest, so that a tie does not go to the first class.
    lifted[rows[lower], labels[lower]] = best[lower] + 1e-3
    return lifted
