"""Labeling a table: the rows with a label teach, the others are filled in."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Hashable
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven._labels import class_prior
from leaven._threads import one_thread_if_small
from leaven.exceptions import LeavenWarning, UnreachedWarning
from leaven.model_selection._safe_candidates import SEMI_SUPERVISED, last_step
from leaven.model_selection._safe_vote import VOTE
from leaven.tables._choose import TableClassifier
from leaven.tables._curve import MOST_ROWS, curve_so_far
from leaven.tables._errors import TableError
from leaven.tables._kinds import TEXT, check_text_columns, suggest
from leaven.tables._map import map_points
from leaven.tables._methods import AUTO, check_methods, method_names
from leaven.tables._prepare import TablePreparer
from leaven.tables._read import refuse_duplicates
from leaven.tables._result import ClassCount, LabelingResult, LabelingSummary
from leaven.tables._review import Review, hard_to_call, rows_to_ask
from leaven.tables._target import Target, encode_target
from leaven.tables._weigh import learn_scales, scaled

GIVEN, INFERRED = "given", "inferred"
SUFFIXES = ("predicted", "confidence", "source", "review")
"""What is added to the name of the target for the new columns."""

_CONFIDENCE_DIGITS = 6


def label_table(
    table: pd.DataFrame,
    target: Hashable,
    *,
    text: Hashable | Collection[Hashable] | None = None,
    method: str = AUTO,
    candidates: Collection[str] | None = None,
    time_limit: float | None = None,
    prior: Any = "labeled",
    missing: Collection[str] = (),
    strict: bool = False,
    ask: int = 0,
    details: bool = True,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool = False,
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
    method : str, default="auto"
        ``"auto"`` tries the candidates on labels that are held back and takes the best, or
        the best of those that learn from the labeled rows only unless the unlabeled rows
        help by more than the error of the estimate. The name of a candidate takes that one.
    candidates : collection of str, optional
        What ``"auto"`` chooses from; None stands for all that fit the size of the table:
        "logistic-regression", "naive-bayes", "linear-svm", "harmonic", "consistency",
        "spectral-transducer", "naive-bayes-em", "self-training", "transductive-svm" and
        "cluster-then-label".
    time_limit : float, optional
        Seconds after which no other candidate is tried. The final fit comes on top.
    prior : {"labeled", "uniform"}, dict, array or None, default="labeled"
        Class proportions that the graph methods aim at: those of the labeled rows, equal
        ones, given ones by class name, or none at all.
    missing : collection of str, default=()
        Cells of the target that mean "no label", such as ``"NA"``.
    strict : bool, default=False
        Refuse labels with stray spaces, and labels that differ only in case or spaces,
        instead of a warning.
    ask : int, default=0
        How many rows to name that are most worth labeling next.
    details : bool, default=True
        Whether to make the learning curve and the map too, which only the report shows.
    random_state : int, RandomState instance or None, default=0
    n_jobs : int, optional
        Folds that are computed at the same time.
    progress : bool, default=False
        Whether to show a progress bar on standard error.

    Returns
    -------
    result : LabelingResult
        ``result.table`` has all rows in order, with the index and the columns that came,
        and ``TARGET_predicted`` (given labels stay), ``TARGET_confidence`` (the probability
        of the predicted class; 1 for given labels), ``TARGET_source`` (``"given"`` or
        ``"inferred"``) and ``TARGET_review`` (whether the row is hard to call).

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
    With one label in every class nothing can be held back, and "auto" is "harmonic".

    Rows hard to call: of n labels held back the method called e wrong, and the share
    (e + 1) / (n + 2) of the inferred rows, those with the lowest confidence, are flagged.
    Where no labels were held back it is a tenth of them.

    Up to 5,000 rows the weights of the columns, which are learned from labels, are learned
    anew in each fold; the estimate knows nothing of the labels held back.

    Of more than 50,000 unlabeled rows "auto" learns from so many, drawn at random, and from all
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
    start = time.perf_counter()
    check_methods(method, candidates)
    _check_numbers(ask, time_limit)
    features, texts = check_columns(table, target, text)
    labels = encode_target(table[target], missing=missing, strict=strict)
    for doubt in labels.doubts:
        warnings.warn(doubt, LeavenWarning, stacklevel=2)
    preparer = TablePreparer(text=texts, weigh=False, random_state=random_state)
    Z = preparer.fit_transform(features)
    estimator = TableClassifier(
        preparer.layout_,
        method=method,
        candidates=None if candidates is None else list(candidates),
        metric=preparer.metric_,
        has_text=any(kind.kind == TEXT for kind in preparer.kinds_),
        time_limit=time_limit,
        prior=check_prior(prior, labels),
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    with one_thread_if_small(len(table)):
        codes, probabilities = _infer(estimator, Z, labels)
    selection = getattr(estimator, "report_", None)
    review = hard_to_call(probabilities, labels.given, selection)
    labeled, confidence = _labeled_table(table, target, labels, codes, probabilities, review)
    rng = np.random.RandomState(random_state if isinstance(random_state, int) else 0)
    rows, known = Z, labels.codes
    if estimator.sample_ is not None:
        rows, known = Z[estimator.sample_], known[estimator.sample_]
    scales, weights = learn_scales(rows, preparer.layout_, known, rng)
    curve = points = asked = None
    if details:
        with one_thread_if_small(len(table)):
            curve = _curve(estimator, Z, labels, time_limit)
    if details or ask:
        Z = scaled(Z, scales, copy=False)
    if details:
        points = map_points(Z, labels.given, random_state)
    if ask:
        asked = rows_to_ask(
            Z,
            probabilities,
            labels.given,
            ask,
            metric=preparer.metric_,
            random_state=random_state,
        )
    summary = LabelingSummary(
        target=str(target),
        n_rows=len(table),
        n_given=int(labels.given.sum()),
        n_inferred=int((~labels.given).sum()),
        classes=_class_counts(labels, codes),
        method=method if selection is None else selection.choice,
        mean_confidence=round(float(confidence[~labels.given].mean()), _CONFIDENCE_DIGITS),
        columns={kind.name: kind.kind for kind in preparer.kinds_ if not kind.reason},
        weights=dict(zip(preparer.layout_.names, weights.tolist(), strict=True)),
        dropped=dict(preparer.dropped_),
        notes=labels.notes,
        n_review=int(review.rows.sum()),
        review_confidence=(
            None if review.highest is None else round(review.highest, _CONFIDENCE_DIGITS)
        ),
        review_rule=review.rule,
        seconds=round(time.perf_counter() - start, 3),
    )
    shares = pd.DataFrame(probabilities, index=table.index, columns=list(labels.classes))
    return LabelingResult(
        labeled, summary, shares, preparer, estimator, selection, curve, points, asked
    )


def label(
    table: pd.DataFrame,
    target: Hashable,
    *,
    text: Hashable | Collection[Hashable] | None = None,
    method: str = AUTO,
    candidates: Collection[str] | None = None,
    time_limit: float | None = None,
    prior: Any = "labeled",
    missing: Collection[str] = (),
    strict: bool = False,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Fill in the labels that are missing in a column of a table.

    The short form of :func:`~leaven.tables.label_table`, which explains the parameters and
    also returns how the method was chosen. It does what the command ``leaven label`` does.

    Parameters
    ----------
    table : DataFrame
    target : column name
    text : column name or collection of them, optional
    method : str, default="auto"
    candidates : collection of str, optional
    time_limit : float, optional
    prior : {"labeled", "uniform"}, dict, array or None, default="labeled"
    missing : collection of str, default=()
    strict : bool, default=False
    random_state : int, RandomState instance or None, default=0
    n_jobs : int, optional
    progress : bool, default=False

    Returns
    -------
    labeled : DataFrame
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
    return label_table(
        table,
        target,
        text=text,
        method=method,
        candidates=candidates,
        time_limit=time_limit,
        prior=prior,
        missing=missing,
        strict=strict,
        details=False,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    ).table


def _check_numbers(ask: Any, time_limit: Any) -> None:
    if isinstance(ask, bool) or not isinstance(ask, (int, np.integer)) or ask < 0:
        raise TableError(f"ask must be a number of rows, 0 or more, got {ask!r}.")
    if time_limit is not None and not time_limit > 0:
        raise TableError(f"time_limit must be a number of seconds above 0, got {time_limit!r}.")


def check_columns(
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


def check_prior(prior: Any, labels: Target) -> Any:
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
    estimator: TableClassifier, Z: Any, labels: Target
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Fit the estimator and return the class and the class probabilities of every row."""
    try:
        estimator.fit(Z, labels.codes)
    except ValueError as error:
        raise TableError(str(error)) from error
    n_unreached = getattr(last_step(estimator.best_estimator_), "n_unreached_", 0)
    if n_unreached:
        sampled = "" if estimator.sample_ is None else " of the sample"
        warnings.warn(
            f"{n_unreached:,} distinct rows{sampled} are near no labeled row, nor near rows that "
            "are, and got the class proportions of the labels. Label some of the rows with the "
            "lowest confidence.",
            UnreachedWarning,
            stacklevel=3,
        )
    codes = np.asarray(estimator.transduction_, dtype=np.intp)
    return codes, np.asarray(estimator.label_distributions_)


def _curve(
    estimator: TableClassifier, Z: Any, labels: Target, time_limit: float | None
) -> pd.DataFrame | None:
    """The learning curve of the chosen method and its best rival of the other kind.

    That of a vote would cost as much as those of all candidates: the best single one that uses
    unlabeled rows takes its place.
    """
    selection = getattr(estimator, "report_", None)
    if selection is None or len(labels.codes) > MOST_ROWS or not selection.n_tested:
        return None
    if time_limit is not None and selection.seconds > time_limit:
        return None
    table = selection.candidates
    single = table[(table["kind"] == SEMI_SUPERVISED) & (table["name"] != VOTE)]
    best = single.sort_values("score", ascending=False, kind="stable")["name"].head(1).tolist()
    methods = dict.fromkeys([selection.choice, *best, selection.best_supervised])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits with fewer labels than there are
        return curve_so_far(
            estimator,
            [name for name in methods if name in method_names()],
            Z,
            labels.codes,
            estimator.random_state,
        )


def _labeled_table(
    table: pd.DataFrame,
    target: Hashable,
    labels: Target,
    codes: NDArray[np.intp],
    probabilities: NDArray[Any],
    review: Review,
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    confidence = probabilities[np.arange(len(codes)), codes].astype(np.float64)
    confidence[labels.given] = 1.0
    confidence = np.round(confidence, _CONFIDENCE_DIGITS)
    source = np.where(labels.given, GIVEN, INFERRED)
    labeled = table.copy(deep=False)
    predicted, sure, origin, doubtful = (f"{target}_{suffix}" for suffix in SUFFIXES)
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
