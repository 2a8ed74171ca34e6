"""Choosing a method for a prepared table, by the engine of :mod:`leaven.selection`.

Which columns count is learned from labels, and labels that are held out to estimate a candidate
must not take part. At most ``MAX_ROWS_PER_FOLD_GRAPH`` rows: weights and graph are made anew in
each fold. Beyond, one graph serves all folds: with ten labels or more for each column its
weights are learned from all labels (few numbers learned from many labels reveal nothing of a single
one), and with fewer labels they are learned without labels; then only the last fit has weights
from labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from leaven._labels import UNLABELED, one_hot
from leaven._progress import progress_bar
from leaven.base import class_probabilities
from leaven.exceptions import UnreachedWarning
from leaven.graph import KNNGraph
from leaven.model_selection import SafeReport
from leaven.selection import (
    Candidate,
    Problem,
    Selection,
    Step,
    fit_named,
    make_candidates,
    select,
)
from leaven.tables._kinds import TEXT, VECTOR
from leaven.tables._options import LabelingOptions
from leaven.tables._prepare import TablePreparer
from leaven.tables._scales import FeatureLayout, FixedScaler, learn_scales
from leaven.tables._weighted_graph import ColumnWeightedGraph

MAX_ROWS_PER_FOLD_GRAPH = 5_000
"""Beyond this one graph serves all folds: one per fold would take most of the time of a run."""

MAX_ROWS_REPEATED = 2_000
"""Beyond this the cross-validation is not repeated, which bounds the time of a run."""

MAX_ROWS = {
    "transductive-svm": 2_000,
    "cluster-then-label": 2_000,
    "self-training": 20_000,
    "spectral-transducer": 20_000,
    "naive-bayes-em": 20_000,
    "consistency": 20_000,
}
"""Beyond this a candidate is tried only if it is named: it takes its time, and the others are as
good on most tables."""

MAX_UNLABELED = 50_000
"""Unlabeled rows to learn from at most, drawn at random, unless a method is named.

The cost is then bounded, and little is lost: as the rows become many and the labels stay few,
harmonic functions come near to one constant with a spike at each label (Nadler, Srebro and
Zhou, 2009): ``benchmarks/tables.py`` with and without ``--method harmonic`` shows it. With fewer
rows more of them do help.
"""

N_NEIGHBORS = 10
"""Neighbors of a row in the graph, as in :mod:`leaven.selection`."""

RECALL = 0.9
"""Share of true neighbors that is enough: on 100,000 rows accuracy was the same as with 0.99, in
little more than half the time."""

_CHUNK = 100_000
"""New rows that are labeled at a time, which bounds the memory for their distances."""

_LABELS_PER_COLUMN = 10
"""Labels for each column from which weights learned once hold nothing of a single label."""

_IN_FOLDS, _ONCE, _LAST = "in folds", "once", "last"

FALLBACK = "harmonic"
"""With one label per class nothing can be held out; on average over tables this one is then
better than the supervised candidates."""


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """The features of a table, and what is known of them.

    Parameters
    ----------
    Z : {float32 array, CSR matrix} of shape (n_rows, n_features)
        Not weighted.
    layout : FeatureLayout
        Which feature belongs to which column.
    metric : {"euclidean", "cosine"}
    has_text : bool
        Whether a column in use is a text or a vector.
    """

    Z: Any
    layout: FeatureLayout
    metric: str = "euclidean"
    has_text: bool = False

    @classmethod
    def of(cls, preparer: TablePreparer, Z: Any) -> PreparedRows:
        """Rows that a fitted preparer made."""
        has_text = any(kind.kind in (TEXT, VECTOR) for kind in preparer.kinds_)
        return cls(Z, preparer.layout_, preparer.metric_, has_text)


@dataclass(frozen=True, eq=False)
class TableSelection:
    """What was chosen for a table, and what it says of every row.

    Parameters
    ----------
    selection : Selection
        Of the rows that were learned from.
    problem : Problem
        Of these rows.
    sample : ndarray of int or None
        The rows that were learned from, ascending; None if all were.
    probabilities : ndarray of shape (n_rows, n_classes)
        Of all rows; labeled rows keep their label.
    report : SafeReport or None
        None where a method was named.
    """

    selection: Selection
    problem: Problem
    sample: NDArray[np.intp] | None
    probabilities: NDArray[np.float64]
    report: SafeReport | None

    @property
    def codes(self) -> NDArray[np.intp]:
        """The class of each row."""
        return np.asarray(self.probabilities.argmax(axis=1), dtype=np.intp)


def select_for_table(
    rows: PreparedRows,
    codes: NDArray[np.intp],
    n_classes: int,
    options: LabelingOptions,
    prior: Any = "labeled",
) -> TableSelection:
    """Choose a method, or take the one that is named, and say the class of every row.

    Parameters
    ----------
    rows : PreparedRows
    codes : ndarray of shape (n_rows,)
    n_classes : int
    options : LabelingOptions
        Of these ``method``, ``candidates``, ``time_limit``, ``random_state``, ``n_jobs`` and
        ``progress``.
    prior : {"labeled", "uniform"}, array of shape (n_classes,) or None, default="labeled"

    Returns
    -------
    TableSelection
    """
    with warnings.catch_warnings():
        # Its advice is on graphs, which the user of a table did not choose.
        warnings.simplefilter("ignore", UnreachedWarning)
        if not options.is_auto:
            return _use_named(rows, codes, n_classes, options, prior)
        return _choose(rows, codes, n_classes, options, prior)


def _use_named(
    rows: PreparedRows,
    codes: NDArray[np.intp],
    n_classes: int,
    options: LabelingOptions,
    prior: Any,
) -> TableSelection:
    problem, rng = table_problem(rows, codes, n_classes, options, prior)
    selection = fit_method(problem, options.method, rng, options.n_jobs)
    return TableSelection(selection, problem, None, selection.probabilities, None)


def fit_method(
    problem: Problem, method: str, rng: np.random.RandomState, n_jobs: int | None = None
) -> Selection:
    """Fit the method of a name."""
    (candidate,) = make_candidates([method], problem)
    return fit_named(
        problem, candidate, n_repeats=_n_repeats(problem), random_state=rng, n_jobs=n_jobs
    )


def _choose(
    rows: PreparedRows,
    codes: NDArray[np.intp],
    n_classes: int,
    options: LabelingOptions,
    prior: Any,
) -> TableSelection:
    sample = draw_sample(codes, options.random_state)
    part, known = rows, codes
    if sample is not None:
        part, known = replace(rows, Z=rows.Z[sample]), codes[sample]
    problem, rng = table_problem(part, known, n_classes, options, prior, sampled=sample is not None)
    candidates = table_candidates(problem, options.candidates)
    with progress_bar("Choosing a method", len(candidates), show=options.progress) as move:

        def follow(step: Step) -> None:
            move(step.done, name=step_name(step))

        selection = select(
            problem,
            candidates,
            n_repeats=_n_repeats(problem),
            time_limit=options.time_limit,
            fallback=FALLBACK,
            random_state=rng,
            n_jobs=options.n_jobs,
            progress=follow,
        )
    report = SafeReport.from_selection(selection, problem)
    probabilities = selection.probabilities
    if sample is not None:
        note = _sample_note(problem, int((codes == UNLABELED).sum()))
        report = replace(report, notes=(*report.notes, note))
        probabilities = _label_others(rows.Z, codes, sample, selection)
    return TableSelection(selection, problem, sample, probabilities, report)


def step_name(step: Step) -> str:
    """What the progress line says: what runs now, and how long the one before took."""
    running = step.done < step.total
    now = f"Trying {step.name}" if running else "Fitting on all labels"
    # What was skipped took no time, and is no news.
    if step.last is None or not step.last.seconds or not running:
        return now
    return f"{now} ({step.last.name}: {step.last.seconds:.1f} s)"


def draw_sample(codes: NDArray[np.intp], random_state: Any) -> NDArray[np.intp] | None:
    """All labeled rows and as many others as may take part; None if all may."""
    free = np.flatnonzero(codes == UNLABELED)
    if len(free) <= MAX_UNLABELED:
        return None
    drawn = check_random_state(random_state).choice(free, MAX_UNLABELED, replace=False)
    return np.sort(np.concatenate([np.flatnonzero(codes != UNLABELED), drawn]))


def _sample_note(problem: Problem, n_unlabeled: int) -> str:
    n_labeled = problem.n_rows - problem.n_unlabeled
    return (
        f"Learned from a sample: all {n_labeled:,} labeled rows and {problem.n_unlabeled:,} of "
        f"the {n_unlabeled:,} unlabeled ones, drawn at random. What was chosen on these labeled "
        "the other rows as new ones. A method that is named learns from all rows."
    )


def _label_others(
    Z: Any, codes: NDArray[np.intp], sample: NDArray[np.intp], selection: Selection
) -> NDArray[np.float64]:
    """Class probabilities of all rows; those that were not learned from are new ones."""
    n_classes = selection.probabilities.shape[1]
    found = np.empty((len(codes), n_classes))
    found[sample] = selection.probabilities
    others = np.setdiff1d(np.arange(len(codes)), sample, assume_unique=True)
    for start in range(0, len(others), _CHUNK):
        rows = others[start : start + _CHUNK]
        found[rows] = class_probabilities(selection.fitted.estimator, Z[rows])
    labeled = codes != UNLABELED
    found[labeled] = one_hot(codes[labeled], n_classes)
    return found


def table_problem(
    rows: PreparedRows,
    codes: NDArray[np.intp],
    n_classes: int,
    options: LabelingOptions,
    prior: Any = "labeled",
    *,
    sampled: bool = False,
) -> tuple[Problem, np.random.RandomState]:
    """Make the problem of a table, whose graph weights the columns by the labels of a fold.

    Parameters
    ----------
    rows, codes, n_classes, options, prior
        As in :func:`select_for_table`.
    sampled : bool, default=False
        Whether the rows are a sample, which is small enough for another graph at the end.

    Returns
    -------
    problem : Problem
        Its classes are 0 .. n_classes - 1.
    rng : RandomState
        For the folds.
    """
    rng = check_random_state(options.random_state)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    when = _when_to_learn_weights(rows.layout, codes, options.is_auto)
    scales_once = None
    if when == _ONCE:
        scales_once = learn_scales(rows.Z, rows.layout, codes, check_random_state(seed))[0]
    unlabeled_scales = learn_scales(rows.Z, rows.layout, None, check_random_state(seed))[0]
    by_labels = _graph(rows, seed, options.n_jobs)
    again = when == _LAST or (when == _ONCE and sampled)
    problem = Problem(
        rows.Z,
        codes,
        np.arange(n_classes),
        _kind_of_values(rows),
        FixedScaler(unlabeled_scales) if (unlabeled_scales != 1).any() else None,
        graph=(
            by_labels
            if when == _IN_FOLDS
            else _graph(rows, seed, options.n_jobs, use_labels=False, scales=scales_once)
        ),
        last_graph=by_labels if again else None,
        graph_scales=True,
        prior=prior,
        seed=seed,
    )
    return problem, rng


def table_candidates(problem: Problem, names: Collection[str] | None = None) -> list[Candidate]:
    """Make the candidates of a table; without names, those that are slow on it are skipped."""
    found = make_candidates(None if names is None else list(names), problem)
    if names is not None:
        return found
    return [_skipped_if_slow(candidate, problem.n_rows) for candidate in found]


def _skipped_if_slow(candidate: Candidate, n_rows: int) -> Candidate:
    most = MAX_ROWS.get(candidate.name, n_rows)
    if n_rows <= most or candidate.skipped is not None:
        return candidate
    return replace(
        candidate,
        skipped=(
            f"{candidate.name} was skipped: {n_rows:,} rows; beyond {most:,} it is tried only if "
            "it is named."
        ),
    )


def _when_to_learn_weights(layout: FeatureLayout, codes: NDArray[np.intp], is_auto: bool) -> str:
    """When the weights of the columns are learned from labels."""
    if len(codes) <= MAX_ROWS_PER_FOLD_GRAPH or not is_auto:
        return _IN_FOLDS
    n_labeled = int((codes != UNLABELED).sum())
    return _ONCE if n_labeled >= _LABELS_PER_COLUMN * len(layout.names) else _LAST


def _graph(
    rows: PreparedRows,
    seed: int,
    n_jobs: int | None,
    *,
    use_labels: bool = True,
    scales: NDArray[np.float32] | None = None,
) -> ColumnWeightedGraph:
    """Make the builder of the graph.

    Edges to the nearest labeled row leave no part of the table without a label, and gave one
    point of accuracy at 5 labels per class on tables of the UCI repository. Texts have no near
    labeled row as long as labels are few: there, these edges cost 3 to 8 points, and parts
    without a label are joined to the nearest part instead.
    """
    graph = KNNGraph(
        N_NEIGHBORS,
        metric=rows.metric,
        include_labeled=use_labels and not rows.has_text,
        connect=rows.has_text,
        recall=RECALL,
        n_jobs=n_jobs,
    )
    return ColumnWeightedGraph(
        graph, rows.layout, use_labels=use_labels, scales=scales, random_state=seed
    )


def _kind_of_values(rows: PreparedRows) -> str:
    if rows.layout.has_structured and rows.layout.is_flag.all():
        return "binary"  # categories alone; naive Bayes takes every number above zero as one
    if sparse.issparse(rows.Z) and not (rows.Z.data < 0).any():
        return "nonnegative"
    return "continuous"


def _n_repeats(problem: Problem) -> int | str:
    return 1 if problem.n_rows > MAX_ROWS_REPEATED else "auto"
