"""What there is to learn from: rows, class codes, and how rows and graphs are made from them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from joblib import hash as content_hash
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

from leaven._distinct import distinct_rows
from leaven._labels import UNLABELED, EncodedLabels
from leaven.graph import KNNGraph
from leaven.graph_based import GraphClassifier

# Neighbors of a row in the default graph: some more than the default of KNNGraph, so that fewer
# rows are left without a path to a label.
N_NEIGHBORS = 10

# Share of true neighbors that is enough: on 100,000 rows accuracy was the same as with 0.99, in
# little more than half the time.
RECALL = 0.9

# Graphs in the pool: more than the folds of a run, so that all candidates of a fold share one.
_MAX_KEPT_GRAPHS = 64


class GraphPool:
    """Graphs that are built already, shared by candidates, folds and runs on the same rows.

    A copy in another process starts empty: what was sent along would cost more than it saves.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph import KNNGraph
    >>> from leaven.selection import GraphPool
    >>> pool, X, codes = GraphPool(), np.array([[0.0], [1.0], [3.0]]), np.array([0, -1, 1])
    >>> first = pool.fitted("rows", KNNGraph(1), X, codes)
    >>> pool.fitted("rows", KNNGraph(1), X, codes) is first
    True
    """

    def __init__(self) -> None:
        self._kept: dict[Any, Any] = {}

    def fitted(self, key: Any, builder: Any, X: Any, codes: NDArray[np.intp]) -> Any:
        """Return the builder fitted on these rows and labels, from the pool if it is there."""
        found = self._kept.get(key)
        if found is None:
            found = clone(builder).fit(X, _encoded(codes))
            while len(self._kept) >= _MAX_KEPT_GRAPHS:
                # The oldest: folds come one after the other, and do not come back.
                self._kept.pop(next(iter(self._kept)), None)
            self._kept[key] = found
        return found

    def __len__(self) -> int:
        return len(self._kept)

    def __getstate__(self) -> dict[str, Any]:
        return {"_kept": {}}


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows in the form in which a candidate takes them.

    Parameters
    ----------
    X : {array, CSR matrix} of shape (n_nodes, n_features)
    codes : ndarray of shape (n_nodes,)
    node : ndarray of shape (n_samples,)
        Which of these rows stands for each row of the problem.
    form : tuple
        Names the form, so that graphs on the same rows can be shared.
    """

    X: Any
    codes: NDArray[np.intp]
    node: NDArray[np.intp]
    form: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Problem:
    """Partly labeled rows, checked and encoded, and how candidates get their rows and graphs.

    Nothing here is checked again: :class:`~leaven.model_selection.SafeClassifier` and
    :func:`~leaven.tables.label_table` check what users give them and build one of these.

    Parameters
    ----------
    X : {float array, CSR matrix} of shape (n_samples, n_features)
        As naive Bayes takes them: not scaled.
    codes : ndarray of shape (n_samples,)
        Class of each row, 0 .. n_classes - 1, or -1 where there is no label.
    classes : ndarray of shape (n_classes,)
        The names that the fitted candidates learn.
    values : {"binary", "counts", "nonnegative", "continuous"}
        What the numbers are (:func:`kind_of_values`), which decides the kind of naive Bayes.
    scaler : fitted transformer, default=None
        Makes the columns comparable, for all candidates but naive Bayes on counts; None if they
        are comparable as they are.
    graph : graph builder, default=None
        Builds the graph of the graph methods, from rows and codes: one that weighs columns by
        the labels learns the weights of a fold without the labels that it holds out. None is
        ten neighbors, by cosines where the rows are sparse.
    last_graph : graph builder, default=None
        For the last fit, on all labels; None is ``graph``.
    graph_scales : bool, default=False
        Whether the builder scales the rows itself, and takes them as they are.
    prior : {"labeled", "uniform"}, array of shape (n_classes,) or None, default="labeled"
        Class proportions that the graph methods aim at.
    seed : int, default=0
        Of the default candidates.
    graphs : GraphPool
        Graphs that are built already.
    """

    X: Any
    codes: NDArray[np.intp]
    classes: NDArray[Any]
    values: str
    scaler: Any = None
    graph: Any = None
    last_graph: Any = None
    graph_scales: bool = False
    prior: Any = "labeled"
    seed: int = 0
    graphs: GraphPool = field(default_factory=GraphPool, repr=False)

    @property
    def n_rows(self) -> int:
        """Number of rows, labeled or not."""
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def labeled(self) -> NDArray[np.bool_]:
        """Which rows carry a label."""
        return np.asarray(self.codes != UNLABELED)

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label."""
        return int((~self.labeled).sum())

    @property
    def labels_per_class(self) -> float:
        """Number of labels of the typical class, the median."""
        return float(np.median(np.bincount(self.codes[self.labeled], minlength=self.n_classes)))

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are a sparse matrix."""
        return bool(sparse.issparse(self.X))

    @cached_property
    def scaled(self) -> Any:
        """The scaled rows; all rows take part in scaling, for every candidate alike."""
        return self.X if self.scaler is None else self.scaler.transform(self.X)

    @cached_property
    def _merged(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return merge_duplicates(self.X, self.codes)

    def graph_builder(self) -> Any:
        """Return the builder of the graphs, not fitted."""
        if self.graph is not None:
            return clone(self.graph)
        # Not include_labeled: that graph depends on the labels, and could not be shared by folds.
        # Sparse rows are texts as a rule, whose clusters need not all hold a label.
        metric = "cosine" if self.is_sparse else "euclidean"
        return KNNGraph(N_NEIGHBORS, metric=metric, connect=self.is_sparse, recall=RECALL)

    def rows(self, *, scaled: bool, merged: bool) -> TrainingRows:
        """Return the rows in a form: scaled or not, with or without unlabeled duplicates."""
        X = self.scaled if scaled else self.X
        if not merged:
            return TrainingRows(X, self.codes, np.arange(self.n_rows), (scaled,))
        kept, node = self._merged
        if len(kept) == len(node):
            return TrainingRows(X, self.codes, node, (scaled,))
        return TrainingRows(X[kept], self.codes[kept], node, (scaled, kept.tobytes()))

    def with_codes(self, codes: NDArray[np.intp]) -> Problem:
        """Return the problem with other labels of the same rows.

        Scaled rows, and graphs that were built without a look at the labels, are shared: after
        one more label nothing of this is computed again.
        """
        other = replace(self, codes=codes)
        if "scaled" in self.__dict__:
            other.__dict__["scaled"] = self.scaled
        return other


def standard_problem(
    X: Any,
    codes: NDArray[np.intp],
    classes: NDArray[Any],
    *,
    prior: Any = "labeled",
    seed: int = 0,
) -> Problem:
    """Make the problem of a matrix: scaled by its kind of values, with a graph of neighbors.

    Parameters
    ----------
    X : {float array, CSR matrix} of shape (n_samples, n_features)
    codes : ndarray of shape (n_samples,)
        Class of each row, or -1.
    classes : ndarray of shape (n_classes,)
    prior : {"labeled", "uniform"}, array of shape (n_classes,) or None, default="labeled"
    seed : int, default=0

    Returns
    -------
    Problem

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import standard_problem
    >>> X = np.array([[1.5, 20.0], [2.5, 60.0], [3.5, 40.0]])
    >>> problem = standard_problem(X, np.array([0, 1, -1]), np.array(["a", "b"]))
    >>> problem.values, problem.n_unlabeled, problem.scaled.std(axis=0).round(6).tolist()
    ('continuous', 1, [1.0, 1.0])
    """
    values = kind_of_values(X)
    scaler = make_scaler(X, values)
    if scaler is not None:
        scaler = scaler.fit(X)
    return Problem(X, codes, classes, values, scaler, prior=prior, seed=seed)


def give_graph(
    estimator: Any,
    rows: TrainingRows,
    codes: NDArray[np.intp],
    pool: GraphPool,
    *,
    only_without_labels: bool = False,
) -> None:
    """Set the parameter ``graph`` of an estimator to a graph of the rows that is built already.

    Builders with the same parameters on the same rows, and with the same labels if they look at
    these, are fitted once, whichever candidate asks. An estimator without such a parameter
    stays as it is, and with ``only_without_labels`` also one whose builder looks at labels.
    """
    builder = graph_parameter(estimator)
    if builder is None or (only_without_labels and builder.uses_labels()):
        return
    key = (
        rows.form,
        type(builder).__qualname__,
        content_hash(builder.get_params()),
        codes.tobytes() if builder.uses_labels() else b"",
    )
    estimator.set_params(graph=FrozenEstimator(pool.fitted(key, builder, rows.X, codes)))


def graph_parameter(estimator: Any) -> Any:
    """Return the graph builder of an estimator that has one as its parameter, or None."""
    builder = estimator.get_params(deep=False).get("graph")
    if isinstance(builder, FrozenEstimator):
        return None  # built already
    if builder is None and isinstance(estimator, GraphClassifier):
        builder = KNNGraph()
    return builder if hasattr(builder, "uses_labels") else None


def _encoded(codes: NDArray[np.intp]) -> EncodedLabels:
    return EncodedLabels(np.arange(codes.max(initial=UNLABELED) + 1), codes)


def kind_of_values(X: Any) -> str:
    """Tell what the numbers of ``X`` are, which decides the kind of naive Bayes.

    "binary" if all are 0 or 1; "counts" if all are nonnegative integers and half of them or
    more are zero, as in tables of words (integers that are seldom zero, such as an age, are
    measurements); "nonnegative" for other sparse rows without a negative number, such as
    tf-idf; "continuous" for the rest.

    Parameters
    ----------
    X : {float array, CSR matrix} of shape (n_samples, n_features)

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import kind_of_values
    >>> kind_of_values(np.array([[0.0, 1.0]])), kind_of_values(np.array([[0.0, 3.0]]))
    ('binary', 'counts')
    >>> kind_of_values(np.array([[5.0, 3.0]]))
    'continuous'
    """
    is_sparse = sparse.issparse(X)
    values = X.data if is_sparse else X
    if values.size and values.min() < 0:
        return "continuous"
    if ((values == 0) | (values == 1)).all():
        return "binary"
    n_cells = X.shape[0] * X.shape[1]
    if np.count_nonzero(values) <= n_cells / 2 and (values == np.floor(values)).all():
        return "counts"
    return "nonnegative" if is_sparse else "continuous"


def make_scaler(X: Any, values: str) -> Any:
    """Return the transformer that makes the columns comparable, or None if they are.

    Texts (sparse counts) get tf-idf weights, other nonnegative sparse rows unit length, as
    their graph is one of cosines; binary columns and counts of dense rows are alike already;
    everything else gets unit variance, without moving the zeros of sparse rows.
    """
    if sparse.issparse(X):
        if values == "counts":
            return TfidfTransformer(sublinear_tf=True)
        return MaxAbsScaler() if values == "continuous" else Normalizer()
    return None if values == "binary" else StandardScaler()


def merge_duplicates(X: Any, codes: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Choose one row for all unlabeled duplicates; labeled rows stay by themselves.

    In a graph of nearest neighbors a row with ten duplicates has no other neighbor, and no
    label of another row comes through. Labeled rows are not merged, not even when their label
    is held out, so that the graph is the same for all folds.

    Returns
    -------
    kept : ndarray of shape (n_nodes,)
        Rows of ``X``, ascending.
    node : ndarray of shape (n_samples,)
        ``kept[node]`` is a row equal to each row.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection._problem import merge_duplicates
    >>> X = np.array([[1.0], [2.0], [1.0], [2.0]])
    >>> merge_duplicates(X, np.array([-1, -1, -1, 0]))
    (array([0, 1, 3]), array([0, 1, 0, 2]))
    """
    own = np.arange(len(codes))
    free = np.flatnonzero(codes == UNLABELED)
    first, duplicate_of = distinct_rows(X[free])
    own[free] = free[first][duplicate_of]
    kept, node = np.unique(own, return_inverse=True)
    return kept, node
