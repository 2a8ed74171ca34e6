"""Labeling a table: the rows with a label teach, the others are filled in."""

from __future__ import annotations

import time
import warnings
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven._progress import phase
from leaven._threads import one_thread_if_small
from leaven.exceptions import LeavenWarning, UnreachedWarning
from leaven.selection import (
    COMBINATION,
    SEMI_SUPERVISED,
    assess,
    candidate_names,
    chosen_by_class,
)
from leaven.tables._curve import MAX_ROWS, curve_so_far
from leaven.tables._empty_rows import guess_empty_rows
from leaven.tables._errors import TableError
from leaven.tables._frames import like_input, split_target
from leaven.tables._map import map_points
from leaven.tables._model import GIVEN, INFERRED, TableModel, without_own_columns
from leaven.tables._more_columns import blank_below, more_columns, review_for_target
from leaven.tables._options import LabelingOptions, make_options
from leaven.tables._prepared_table import NEW_COLUMNS, PreparedTable, prepare_table
from leaven.tables._result import ClassCount, LabelingResult, LabelingSummary
from leaven.tables._review import Review, hard_to_classify, rows_to_ask
from leaven.tables._scales import apply_scales, column_weights_of
from leaven.tables._select import TableSelection, select_for_table, table_problem
from leaven.tables._start import about_start, reuse, since_start
from leaven.tables._target import Target

_CONFIDENCE_DIGITS = 6
"""Of the confidence in the table: more would be rounding of the solvers."""

_PROPORTIONS_MATTER = 0.9
"""Mean confidence from which class proportions change few labels, and are not asked for."""


def label_table(
    table: Any,
    target: Any,
    options: LabelingOptions | None = None,
    *,
    vectors: Any = None,
    start: str | Path | TableModel | None = None,
    **changes: Any,
) -> LabelingResult:
    """Fill in the labels that are missing in a column of a table.

    Parameters
    ----------
    table : DataFrame of pandas or polars, Table of pyarrow, or any with the Arrow interface
        It is not changed. Strings that hold numbers or dates are understood as such.
    target : column name, or array-like of shape (n_rows,)
        The column with the labels. Rows where it is missing or empty are labeled; so are
        rows with -1 in a column of integers, and with a cell that ``missing`` names. Labels
        that are not in the table join it as its last column, under their own name or
        ``"label"``.
    options : LabelingOptions, optional
        How to label it.
    vectors : array-like of shape (n_rows, n_dimensions) or path, optional
        A vector for each row, such as the embedding of its text, to learn from beside the
        columns; a path is read by :func:`read_vectors`. A column of the table whose cells are
        lists or arrays of numbers is taken for vectors without a word.
    start : TableModel or path, optional
        The model of an earlier run, with fewer labels or rows, to go on from: its texts, its
        embedding model and, under a time limit, its methods come first, and
        ``result.summary.since`` compares the two runs.
    **changes
        Any of the fields of :class:`LabelingOptions` by name, such as ``method="harmonic"``.

    Returns
    -------
    result : LabelingResult
        ``result.table``, a DataFrame of pandas, has all rows in order, with the index and
        the columns that came,
        and ``TARGET_predicted`` (given labels stay), ``TARGET_confidence`` (the probability
        of the predicted class; 1 for given labels), ``TARGET_source`` (``"given"`` or
        ``"inferred"``) and ``TARGET_review`` (whether the row is hard to classify).

    Raises
    ------
    TableError
        If there is nothing to learn from or nothing to label, or the target is not a column
        of classes.

    See Also
    --------
    leaven.model_selection.SafeClassifier : The same choice for a matrix.
    leaven.graph_based.HarmonicClassifier : One of the candidates.

    Notes
    -----
    With one label in every class nothing can be held out, and "auto" combines the methods with the
    weights that they have before any labels are seen.

    Rows hard to classify: as many as are expected to be wrong, those with the lowest confidence.
    Where a method is named, and none are compared, it is a tenth of the inferred rows.

    With at most 5,000 rows the weights of the columns, which are learned from labels, are
    learned anew in each fold; the estimate knows nothing of the labels held out.

    Of more than 50,000 unlabeled rows "auto" learns from as many, drawn at random, and from all
    labeled rows; what it chose on these labels the other rows as new ones, and a note says so.
    The method of a name learns from all rows.

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
    started = time.perf_counter()
    options = make_options(options, changes, needed_by="label_table")
    table, target = split_target(table, target)
    table = without_own_columns(table, str(target))
    about = None if start is None else about_start(start, target)
    if about is not None:
        options = reuse(options, about, list(table.columns))
    prepared = prepare_table(table, target, options, vectors=vectors)
    for doubt in prepared.labels.doubts:
        warnings.warn(doubt, LeavenWarning, stacklevel=2)
    with one_thread_if_small(len(table)):
        phase("Fitting the method")
        chosen = _select(prepared, options)
    phase("Summarizing")
    _warn_of_unreached(chosen)
    given = prepared.labels.given
    chosen = guess_empty_rows(chosen, prepared.empty, given)
    if options.target_error is None:
        review = hard_to_classify(chosen.probabilities, given, chosen.report)
    else:
        n_tested = None if chosen.report is None else chosen.report.n_tested
        review = review_for_target(chosen.probabilities, given, options.target_error, n_tested)
    result = _summarize(table, target, options, prepared, chosen, review)
    result = _with_details(result, prepared, options)
    result = _with_more_columns(result, target, prepared, options)
    since = ""
    if about is not None:
        classes = prepared.labels.classes.tolist()
        since = since_start(about, result.summary.n_given, result.estimated_accuracy, classes)
    took = round(time.perf_counter() - started, 3)
    return replace(result, summary=replace(result.summary, seconds=took, since=since))


def label(table: Any, target: Any, *, vectors: Any = None, **changes: Any) -> Any:
    """Fill in the labels that are missing in a column of a table.

    The short form of :func:`~leaven.tables.label_table`, which also returns how the method was
    chosen. It does what the command ``leaven label`` does.

    Parameters
    ----------
    table : DataFrame of pandas or polars, Table of pyarrow, or any with the Arrow interface
    target : column name, or array-like of shape (n_rows,)
        The column with the labels, or the labels themselves: missing or empty ones, and -1
        among integers, are to be filled in.
    vectors : array-like of shape (n_rows, n_dimensions) or path, optional
        A vector for each row, to learn from beside the columns.
    **changes
        Any of the fields of :class:`~leaven.tables.LabelingOptions` by name, such as
        ``method="harmonic"``, but for ``ask`` and ``details``, which only
        :func:`~leaven.tables.label_table` answers.

    Returns
    -------
    labeled : as ``table``
        The table with ``TARGET_predicted``, ``TARGET_confidence``, ``TARGET_source`` and
        ``TARGET_review``.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.tables import label
    >>> table = pd.DataFrame({"x": [0.0, 0.1, 0.2, 5.0, 5.1, 5.2], "y": [0, -1, -1, 1, -1, -1]})
    >>> label(table, target="y")[["y_predicted", "y_source"]].to_numpy().tolist()
    [[0, 'given'], [0, 'inferred'], [0, 'inferred'], [1, 'given'], [1, 'inferred'], [1, 'inferred']]
    """
    for name in ("ask", "details"):
        if name in changes:
            raise TypeError(f"label returns the table alone, without {name}: use label_table.")
    options = make_options(None, changes, needed_by="label")
    options = replace(options, details=False)
    found = label_table(table, target, options, vectors=vectors).table
    return like_input(found, table)


def _select(prepared: PreparedTable, options: LabelingOptions) -> TableSelection:
    labels = prepared.labels
    try:
        return select_for_table(
            prepared.rows, labels.codes, len(labels.classes), options, prepared.prior
        )
    except ValueError as error:
        raise TableError(str(error)) from error


def _warn_of_unreached(chosen: TableSelection) -> None:
    """Warn of rows that no label reaches, be the graph of one method or of one in a combination."""
    n_unreached = chosen.selection.fitted.n_unreached
    if not n_unreached:
        return
    sampled = "" if chosen.sample is None else " of the sample"
    one = n_unreached == 1
    what = f"{'it' if one else 'they'} got the class proportions of the labels"
    if len(chosen.selection.fitted.candidates) > 1:
        them = "it" if one else "them"
        what = f"the methods that go by neighbors gave {them} the class proportions of the labels"
    rows = f"One row{sampled} is" if one else f"{n_unreached:,} distinct rows{sampled} are"
    warnings.warn(
        f"{rows} near no labeled row, nor near rows that are: {what}. Label some of the "
        "rows with the lowest confidence.",
        UnreachedWarning,
        stacklevel=3,
    )


def _summarize(
    table: pd.DataFrame,
    target: Hashable,
    options: LabelingOptions,
    prepared: PreparedTable,
    chosen: TableSelection,
    review: Review,
) -> LabelingResult:
    """Fill in the table, and say what was done."""
    labels, preparer = prepared.labels, prepared.preparer
    labeled, confidence = _labeled_table(table, target, labels, chosen, review)
    mean_confidence = round(float(confidence[~labels.given].mean()), _CONFIDENCE_DIGITS)
    summary = LabelingSummary(
        target=str(target),
        n_rows=len(table),
        n_given=int(labels.given.sum()),
        n_inferred=int((~labels.given).sum()),
        classes=_class_counts(labels, chosen.codes),
        method=chosen.selection.decision.choice,
        mean_confidence=mean_confidence,
        columns={kind.name: kind.kind for kind in preparer.kinds_ if not kind.reason},
        weights=column_weights_of(preparer.layout_, chosen.selection.fitted.scales),
        dropped={**preparer.dropped_, **_images_used(prepared)},
        notes=[*labels.notes, *_ask_for_proportions(options, labels, chosen, mean_confidence)],
        n_review=int(review.rows.sum()),
        review_confidence=(
            None if review.highest is None else round(review.highest, _CONFIDENCE_DIGITS)
        ),
        review_rule=review.rule,
    )
    return LabelingResult(
        table=labeled,
        summary=summary,
        probabilities=pd.DataFrame(
            chosen.probabilities, index=table.index, columns=list(labels.classes)
        ),
        preparer=preparer,
        estimator=chosen.selection.fitted.estimator,
        options=options,
        chosen=chosen,
        embedding=prepared.embedding,
        pixels=prepared.pixels,
        selection=chosen.report,
    )


def _ask_for_proportions(
    options: LabelingOptions, labels: Target, chosen: TableSelection, mean_confidence: float
) -> list[str]:
    """Ask for the class proportions where the labels do not tell them, and they would matter."""
    counts = np.bincount(labels.codes[labels.given], minlength=len(labels.classes))
    told = not (isinstance(options.prior, str) and options.prior == "labeled")
    # A method that was named need not make use of them.
    if (
        chosen.report is None
        or told
        or mean_confidence >= _PROPORTIONS_MATTER
        or not chosen_by_class(counts)
    ):
        return []
    return [
        "The classes have equal numbers of labels, which do not tell how frequent they are. If you "
        "know, even roughly, say so: --prior A=0.7,B=0.3 (prior= in Python). On tables that we "
        "tried it was worth about as much as twice the labels, and more on surveys."
    ]


def _images_used(prepared: PreparedTable) -> dict[str, str]:
    """Why the paths of images are not used where the images themselves are."""
    pixels = prepared.pixels
    return {} if pixels is None else {pixels.column: pixels.reason}


def _labeled_table(
    table: pd.DataFrame,
    target: Hashable,
    labels: Target,
    chosen: TableSelection,
    review: Review,
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    codes = chosen.codes
    confidence = chosen.probabilities[np.arange(len(codes)), codes].astype(np.float64)
    confidence[labels.given] = 1.0
    confidence = np.round(confidence, _CONFIDENCE_DIGITS)
    source = np.where(labels.given, GIVEN, INFERRED)
    labeled = table.copy(deep=False)
    predicted, sure, origin, doubtful = (f"{target}_{suffix}" for suffix in NEW_COLUMNS)
    labeled[predicted] = labels.filled(codes)
    labeled[sure] = confidence
    labeled[origin] = pd.Series(source, index=table.index, dtype="str")
    labeled[doubtful] = review.rows
    return labeled, confidence


def _class_counts(labels: Target, codes: NDArray[np.intp]) -> list[ClassCount]:
    n_classes = len(labels.classes)
    given = np.bincount(codes[labels.given], minlength=n_classes)
    inferred = np.bincount(codes[~labels.given], minlength=n_classes)
    return [
        ClassCount(name, int(n_given), int(n_inferred))
        for name, n_given, n_inferred in zip(labels.classes.tolist(), given, inferred, strict=True)
    ]


def _with_details(
    result: LabelingResult, prepared: PreparedTable, options: LabelingOptions
) -> LabelingResult:
    """Add what was asked for beyond the labels: learning curve, map, rows to label next."""
    if not (options.details or options.ask):
        return result
    labels, rows = prepared.labels, prepared.rows
    curve = points = asked = None
    if options.details:
        with one_thread_if_small(len(labels.codes)):
            curve = _curve(result.chosen, prepared, options)
    scales = result.chosen.selection.fitted.scales
    Z = rows.Z if scales is None else apply_scales(rows.Z, scales)
    if options.details:
        points = map_points(Z, labels.given, options.random_state)
    if options.ask:
        asked = rows_to_ask(
            Z,
            result.chosen.probabilities,
            labels.given,
            options.ask,
            metric=rows.metric,
            random_state=options.random_state,
        )
    return replace(result, curve=curve, points=points, ask=asked)


def _with_more_columns(
    result: LabelingResult, target: Hashable, prepared: PreparedTable, options: LabelingOptions
) -> LabelingResult:
    """Add the columns that were asked for, and mark given labels that look wrong."""
    chosen, labels = result.chosen, prepared.labels
    assessment = None
    suspects: dict[int, float] = {}
    if chosen.report is not None:
        assessment = assess(chosen.selection, chosen.problem)
        for each in assessment.suspects:
            row = each.row if chosen.sample is None else int(chosen.sample[each.row])
            suspects[row] = each.probability
    table = result.table.assign(
        **more_columns(
            target,
            options,
            labels.classes,
            chosen.probabilities,
            labels.given,
            assessment,
            suspects,
            result.ask,
        )
    )
    if options.min_confidence:
        column = table[target]
        blank = "" if (column == "").any() else None
        confidence = np.where(labels.given, 1.0, chosen.probabilities.max(axis=1))
        name = f"{target}_predicted"
        table[name] = blank_below(table[name], confidence, options.min_confidence, blank)
    return replace(result, table=table)


def _curve(
    chosen: TableSelection, prepared: PreparedTable, options: LabelingOptions
) -> pd.DataFrame | None:
    """The learning curve of the chosen method and its best rival of the other kind.

    That of a combination would cost as much as those of all candidates: the best single one
    that uses unlabeled rows takes its place.
    """
    report, labels = chosen.report, prepared.labels
    if report is None or len(labels.codes) > MAX_ROWS or not report.n_tested:
        return None
    if options.time_limit is not None and report.seconds > options.time_limit:
        return None
    table = report.candidates
    single = table[(table["kind"] == SEMI_SUPERVISED) & (table["name"] != COMBINATION)]
    best = single.sort_values("score", ascending=False, kind="stable")["name"].head(1).tolist()
    methods = dict.fromkeys([report.choice, *best, report.best_supervised])
    problem, _ = table_problem(
        prepared.rows, labels.codes, len(labels.classes), options, prepared.prior
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits with fewer labels than there are
        return curve_so_far(
            problem, [name for name in methods if name in candidate_names()], options.random_state
        )
