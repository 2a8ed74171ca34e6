"""Labeling a table: the rows with a label teach, the others are filled in."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Hashable
from dataclasses import asdict, dataclass, field
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven._labels import class_prior
from leaven.exceptions import UnreachedWarning
from leaven.tables._distinct import distinct_rows
from leaven.tables._errors import TableError
from leaven.tables._kinds import TEXT, check_text_columns, suggest
from leaven.tables._methods import AUTO, Task, find_method
from leaven.tables._prepare import TablePreparer
from leaven.tables._read import refuse_duplicates
from leaven.tables._target import Target, encode_target

GIVEN, INFERRED = "given", "inferred"
SUFFIXES = ("predicted", "confidence", "source")
"""What is added to the name of the target for the new columns."""

_CONFIDENCE_DIGITS = 6


@dataclass(frozen=True)
class ClassCount:
    """How many rows of one class came with the label and how many were inferred.

    Parameters
    ----------
    name : object
        The class, as it stands in the target column.
    given, inferred : int
    """

    name: Any
    given: int
    inferred: int


@dataclass(frozen=True)
class LabelingSummary:
    """What was done to a table.

    Parameters
    ----------
    target : str
    n_rows, n_given, n_inferred : int
        All rows, those that came with a label, those that were labeled.
    classes : list of ClassCount
    method : str
        Its name in ``METHODS``.
    mean_confidence : float
        Over the inferred rows.
    columns : dict of str to str
        The kind of each column that was used.
    weights : dict of str to float
        How much each column in use counted in the distance of two rows.
    dropped : dict of str to str
        Why a column was not used.
    notes : list of str
        What the user should know.
    seconds : float
    """

    target: str
    n_rows: int
    n_given: int
    n_inferred: int
    classes: list[ClassCount]
    method: str
    mean_confidence: float
    columns: dict[str, str]
    weights: dict[str, float]
    dropped: dict[str, str]
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class LabelingResult:
    """A labeled table and what is known of how it came about.

    Parameters
    ----------
    table : DataFrame
        The columns that came, and the three new ones.
    summary : LabelingSummary
    probabilities : DataFrame of shape (n_rows, n_classes)
        With the index of the table and a column for each class.
    preparer : TablePreparer
        Fitted.
    estimator : classifier
        Fitted on the prepared table and the codes of the classes.
    selection : SafeReport or None
        How the candidates did on labels that were held back, and why one was chosen; None
        where a method was named.
    curve : DataFrame or None
        The learning curve so far: ``method``, ``n_labeled``, ``accuracy``, ``standard_error``.
    points : DataFrame or None
        A map of (a sample of) the rows: ``row`` (position), ``x``, ``y``.
    ask : ndarray of int or None
        Positions of the rows most worth labeling next, the first one first.
    """

    table: pd.DataFrame
    summary: LabelingSummary
    probabilities: pd.DataFrame
    preparer: TablePreparer
    estimator: Any
    selection: Any = None
    curve: pd.DataFrame | None = None
    points: pd.DataFrame | None = None
    ask: NDArray[np.intp] | None = None


def label_table(
    table: pd.DataFrame,
    target: Hashable,
    *,
    text: Hashable | Collection[Hashable] | None = None,
    method: str = AUTO,
    prior: Any = "labeled",
    missing: Collection[str] = (),
    random_state: Any = 0,
) -> LabelingResult:
    """Fill in the labels that are missing in a column of a table.

    Parameters
    ----------
    table : DataFrame
        It is not changed. Strings that hold numbers or dates are understood as such.
    target : column name
        The column with the labels. Rows where it is missing or empty are labeled; so are
        rows with -1 in a column of integers, and with a cell that ``missing`` names.
    text : column name or collection of them, optional
        Columns that are texts whatever they look like; others are found out.
    method : {"auto", "harmonic"}, default="auto"
        ``"auto"`` is harmonic functions on the graph of nearest neighbors, with class mass
        normalization.
    prior : {"labeled", "uniform"}, dict, array or None, default="labeled"
        Class proportions that the method aims at: those of the labeled rows, equal ones,
        given ones by class name, or none at all.
    missing : collection of str, default=()
        Cells of the target that mean "no label", such as ``"NA"``.
    random_state : int, RandomState instance or None, default=0

    Returns
    -------
    result : LabelingResult
        ``result.table`` has all rows in order, with the index and the columns that came,
        and ``TARGET_predicted`` (given labels stay), ``TARGET_confidence`` (the probability
        of the predicted class; 1 for given labels) and ``TARGET_source`` (``"given"`` or
        ``"inferred"``).

    Raises
    ------
    TableError
        If there is nothing to learn from or nothing to label, or the target is not a column
        of classes.

    See Also
    --------
    leaven.graph_based.HarmonicClassifier : The method.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.tables import label_table
    >>> fruit = pd.DataFrame({
    ...     "weight": [4.1, 4.3, 3.9, 4.0, 90.0, 95.0, 92.5, 88.0],
    ...     "color": ["red", "red", "red", "black", "green", "green", "red", "green"],
    ...     "kind": ["cherry", None, None, None, "apple", None, None, None],
    ... })
    >>> label_table(fruit, "kind").table["kind_predicted"].tolist()
    ['cherry', 'cherry', 'cherry', 'cherry', 'apple', 'apple', 'apple', 'apple']
    """
    start = time.perf_counter()
    features, texts = _check_columns(table, target, text)
    labels = encode_target(table[target], missing=missing)
    task_prior = _prior(prior, labels)
    name, recipe = find_method(method)
    preparer = TablePreparer(text=texts, random_state=random_state)
    Z = preparer.fit_transform(features, labels.codes)
    task = Task(
        metric=preparer.metric_,
        has_text=any(kind.kind == TEXT for kind in preparer.kinds_),
        prior=task_prior,
        random_state=random_state,
    )
    estimator = recipe.make(task)
    codes, probabilities = _infer(estimator, Z, labels, merge_copies=recipe.merges_copies)
    labeled, confidence = _labeled_table(table, target, labels, codes, probabilities)
    summary = LabelingSummary(
        target=str(target),
        n_rows=len(table),
        n_given=int(labels.given.sum()),
        n_inferred=int((~labels.given).sum()),
        classes=_class_counts(labels, codes),
        method=name,
        mean_confidence=round(float(confidence[~labels.given].mean()), _CONFIDENCE_DIGITS),
        columns={kind.name: kind.kind for kind in preparer.kinds_ if not kind.reason},
        weights=preparer.weights_,
        dropped=dict(preparer.dropped_),
        notes=labels.notes,
        seconds=round(time.perf_counter() - start, 3),
    )
    shares = pd.DataFrame(probabilities, index=table.index, columns=list(labels.classes))
    return LabelingResult(labeled, summary, shares, preparer, estimator)


def label(
    table: pd.DataFrame,
    target: Hashable,
    *,
    text: Hashable | Collection[Hashable] | None = None,
    method: str = AUTO,
    prior: Any = "labeled",
    missing: Collection[str] = (),
    random_state: Any = 0,
) -> pd.DataFrame:
    """Fill in the labels that are missing in a column of a table.

    The short form of :func:`~leaven.tables.label_table`, which explains the parameters and
    also returns a summary.

    Parameters
    ----------
    table : DataFrame
    target : column name
    text : column name or collection of them, optional
    method : {"auto", "harmonic"}, default="auto"
    prior : {"labeled", "uniform"}, dict, array or None, default="labeled"
    missing : collection of str, default=()
    random_state : int, RandomState instance or None, default=0

    Returns
    -------
    labeled : DataFrame
        The table with ``TARGET_predicted``, ``TARGET_confidence`` and ``TARGET_source``.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.tables import label
    >>> table = pd.DataFrame({"x": [0.0, 0.1, 0.2, 5.0, 5.1, 5.2], "y": [0, -1, -1, 1, -1, -1]})
    >>> label(table, target="y")[["y_predicted", "y_source"]].to_numpy().tolist()
    [[0, 'given'], [0, 'inferred'], [0, 'inferred'], [1, 'given'], [1, 'inferred'], [1, 'inferred']]
    """
    return label_table(
        table,
        target,
        text=text,
        method=method,
        prior=prior,
        missing=missing,
        random_state=random_state,
    ).table


def _check_columns(
    table: pd.DataFrame, target: Hashable, text: Hashable | Collection[Hashable] | None
) -> tuple[pd.DataFrame, list[str]]:
    """Return the columns to learn from, named by strings, and the names of the texts."""
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"table must be a pandas DataFrame, got {type(table).__name__}.")
    if isinstance(table.columns, pd.MultiIndex):
        raise TableError("The table has column names of several levels. Join them into one.")
    # 1 and "1" would have the same name in a file.
    refuse_duplicates([str(column) for column in table.columns], "The table")
    columns = list(table.columns)
    if target not in columns:
        raise TableError(f"There is no target column {target!r}.{suggest(target, columns)}")
    for suffix in SUFFIXES:
        if f"{target}_{suffix}" in columns:
            raise TableError(
                f"The table already has a column {f'{target}_{suffix}'!r}. Is it the output of "
                "an earlier run? Rename or remove that column."
            )
    if text is None:
        texts: list[Hashable] = []
    elif isinstance(text, (list, tuple, set, frozenset)):
        texts = list(text)
    else:
        texts = [cast(Hashable, text)]
    if target in texts:
        raise TableError(f"{target!r} cannot be both the target and a text to learn from.")
    features = table.drop(columns=[target])
    check_text_columns(texts, columns)
    if not len(features.columns):
        raise TableError(
            f"The table has no column but the target {target!r}: nothing to learn from."
        )
    features.columns = [str(column) for column in features.columns]
    return features, [str(name) for name in texts]


def _prior(prior: Any, labels: Target) -> Any:
    """Check the class proportions and bring them into the order of the classes."""
    if prior is None:
        return None
    if isinstance(prior, dict):
        # From the command line the names are strings, whatever the classes are.
        by_text = {str(name): name for name in labels.classes.tolist()}
        prior = {by_text.get(str(name), name): share for name, share in prior.items()}
    try:
        proportions = class_prior(prior, labels.codes, labels.classes)
    except (TypeError, ValueError) as error:
        raise TableError(str(error)) from error
    return prior if isinstance(prior, str) else proportions


def _infer(
    estimator: Any, Z: Any, labels: Target, *, merge_copies: bool
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Fit the estimator and return the class and the class probabilities of every row."""
    rows = inverse = np.arange(Z.shape[0])
    if merge_copies:
        # Labeled rows stay as they are: copies may carry different labels.
        given, others = np.flatnonzero(labels.given), np.flatnonzero(~labels.given)
        first, copies = distinct_rows(Z[others])
        rows = np.concatenate([given, others[first]])
        inverse = np.empty(Z.shape[0], dtype=np.intp)
        inverse[given], inverse[others] = np.arange(len(given)), len(given) + copies
    with warnings.catch_warnings():
        # Its advice is on graphs, which the user of a table did not choose.
        warnings.simplefilter("ignore", UnreachedWarning)
        estimator.fit(Z[rows], labels.codes[rows])
    n_unreached = getattr(estimator, "n_unreached_", 0)
    if n_unreached:
        warnings.warn(
            f"{n_unreached:,} distinct rows are near no labeled row, nor near rows that are, and "
            "got the class proportions of the labels. Label some of the rows with the lowest "
            "confidence.",
            UnreachedWarning,
            stacklevel=3,
        )
    codes = np.asarray(estimator.transduction_, dtype=np.intp)
    return codes[inverse], np.asarray(estimator.label_distributions_)[inverse]


def _labeled_table(
    table: pd.DataFrame,
    target: Hashable,
    labels: Target,
    codes: NDArray[np.intp],
    probabilities: NDArray[Any],
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    confidence = probabilities[np.arange(len(codes)), codes].astype(np.float64)
    confidence[labels.given] = 1.0
    confidence = np.round(confidence, _CONFIDENCE_DIGITS)
    source = np.where(labels.given, GIVEN, INFERRED)
    labeled = table.copy(deep=False)
    predicted, sure, origin = (f"{target}_{suffix}" for suffix in SUFFIXES)
    labeled[predicted] = labels.filled(codes)
    labeled[sure] = confidence
    labeled[origin] = pd.Series(source, index=table.index, dtype="str")
    return labeled, confidence


def _class_counts(labels: Target, codes: NDArray[np.intp]) -> list[ClassCount]:
    n_classes = len(labels.classes)
    given = np.bincount(codes[labels.given], minlength=n_classes)
    inferred = np.bincount(codes[~labels.given], minlength=n_classes)
    return [
        ClassCount(name, int(n_given), int(n_inferred))
        for name, n_given, n_inferred in zip(labels.classes.tolist(), given, inferred, strict=True)
    ]
