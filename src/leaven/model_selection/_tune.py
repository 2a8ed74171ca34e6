"""Choosing one parameter from few labels."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.utils.validation import check_consistent_length, check_random_state

from leaven._html import Bold, html_box, html_lines, html_table
from leaven._labels import encode_labels, labeled_mask
from leaven.model_selection._grid import SCALES, TIES, are_numbers, make_grid, pick_best, refine
from leaven.model_selection._scoring import LabeledScorer, Scorer, labeled_scorer
from leaven.model_selection._split import (
    AdaptiveKFold,
    LabeledKFold,
    LabeledLeaveOneOut,
    LabeledSplitter,
    Split,
    hold_out_rows,
    rows_to_test,
)

_logger = logging.getLogger("leaven")

_CV_NAMES = ("adaptive", "leave-one-out", "validation")
# 20 % of the rows next to 60 % for training and 20 % for testing: Saeed (2018), section 4.4.
_VALIDATION_SIZE = 0.25
_MOST_SHOWN = 10  # values in the table of a notebook, the best ones


@dataclass(frozen=True, eq=False)
class TuneResult:
    """What :func:`tune` found.

    Parameters
    ----------
    param : str
        Name of the parameter.
    best_value : object
        The value with the best mean score.
    best_score : float
        Its mean score over the folds.
    best_estimator_ : estimator
        The estimator with that value, fitted on all rows.
    table : DataFrame
        One row for each value, in the order of the search: ``value``, ``stage``,
        ``mean_score``, ``std_score`` and ``split0_score``, ``split1_score``, ...
    n_splits : int
        Number of folds.
    """

    param: str
    best_value: Any
    best_score: float
    best_estimator_: Any
    table: pd.DataFrame
    n_splits: int

    def _repr_html_(self) -> str:
        best = self.table.sort_values("mean_score", ascending=False, kind="stable")
        rows = [
            (
                Bold(row["value"]) if row["value"] == self.best_value else row["value"],
                f"{row['mean_score']:.3f}",
                f"{row['std_score']:.3f}",
            )
            for row in best.head(_MOST_SHOWN).to_dict("records")
        ]
        more = len(best) - len(rows)
        return html_box(
            html_lines(
                f"{self.param} = {self.best_value}: {self.best_score:.3f} over {self.n_splits} "
                "folds",
                strong=True,
            ),
            html_table(rows, header=(self.param, "mean score", "deviation")),
            html_lines(f"and {more} more values" if more > 0 else ""),
        )


def tune(
    estimator: Any,
    X: Any,
    y: Any,
    param: str,
    values: str | Iterable[Any] | None = None,
    *,
    cv: Any = "adaptive",
    scoring: str | Scorer = "accuracy",
    stages: int | None = None,
    scale: str | None = None,
    ties: str = "smallest",
    validation_size: float | None = None,
    validation_data: tuple[Any, Any] | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> TuneResult:
    """Choose the value of one parameter from the few labeled rows.

    The ways to do it are those of sections 4.3 to 4.5 and 5.4.4 of [1]_, which chose the
    weight λ of unlabeled rows and the slope α of a recalibration. Unlabeled rows are trained
    on in every fold and never scored.

    Parameters
    ----------
    estimator : estimator
        Any classifier with the interface of scikit-learn that takes partly labeled ``y``. It
        is cloned, not changed.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        With unlabeled rows.
    param : str
        Name of the parameter, such as "unlabeled_weight", or "recalibration__alpha" for one of
        a nested object.
    values : {"weight", "slope"} or array-like, default=None
        The values of the first stage. "weight", which None stands for, is [0, 1) in steps of
        0.1 and then of 0.01; weight 1 is not among them, for in the source it means that labels
        do not count (for a model in which 1 is plain EM, give ``np.linspace(0, 1, 11)`` and
        ``stages=2``). "slope" is the powers of two from 2⁻¹⁰ to 2⁵.
    cv : str, int, splitter or iterable, default="adaptive"
        How to score a value: "adaptive" is :class:`AdaptiveKFold`; "leave-one-out" is
        :class:`LabeledLeaveOneOut`; "validation" holds out ``validation_size`` of the labeled
        rows once, or scores on ``validation_data``; an int is :class:`LabeledKFold` with so
        many folds; None is "adaptive". Any splitter of scikit-learn, or a list of splits, will
        do too. All values see the same folds.
    scoring : str or callable, default="accuracy"
        As in :func:`labeled_scorer`; larger is better.
    stages : int, default=None
        Number of searches. Each after the first splits the two gaps around the best value so
        far into ten parts. None is 2 for "weight" and 1 otherwise. More than 1 needs numbers.
    scale : {"linear", "log"}, default=None
        Whether gaps are split evenly or in equal ratios. None is "log" for "slope" and
        "linear" otherwise. For more than one stage only.
    ties : {"smallest", "largest"}, default="smallest"
        Which of several values with the best score to take; the source leaves it open. With
        few labels ties are common, and the smallest weight trusts unlabeled rows least.
        Values that are not numbers are ordered as given.
    validation_size : float, default=None
        Share of the labeled rows to hold out, in the proportions of the classes, each of which
        keeps a row for training. None is 0.25, as in section 4.4 of the source (20 % of the
        rows next to 60 % for training). For ``cv="validation"`` only.
    validation_data : tuple (X, y), default=None
        Rows to score on instead, when training is on all of ``X`` and ``y``. For
        ``cv="validation"`` only.
    n_jobs : int, default=None
        Number of parallel jobs, over values and folds.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, or of the rows held out. It is not handed to the estimator.
    verbose : int, default=0
        1 logs a line per stage to the logger ``leaven``.

    Returns
    -------
    result : TuneResult
        With ``best_value``, ``best_score``, ``best_estimator_`` (fitted on all of ``X`` and
        ``y``), ``table`` and ``n_splits``.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : Several parameters at once; takes ``AdaptiveKFold``.
    transfer_parameter : Chooses a value from other data sets.

    Notes
    -----
    ``best_score`` is the maximum over many values of an estimate from few rows: it is too
    good. The source found that tuning λ or α this way seldom beats the supervised model; hold
    out test data before you trust the choice.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.semi_supervised import SelfTrainingClassifier
    >>> from leaven.model_selection import tune
    >>> X = [[0.0], [1.0], [2.0], [3.0], [7.0], [8.0], [9.0], [10.0], [11.0]]
    >>> y = [0, 0, -1, 0, -1, 1, 1, 1, -1]
    >>> model = SelfTrainingClassifier(KNeighborsClassifier())
    >>> found = tune(model, X, y, "estimator__n_neighbors", [1, 4], random_state=0)
    >>> found.best_value, found.best_score, found.n_splits
    (1, 1.0, 3)
    """
    _check_options(estimator, param, ties, stages, scale)
    check_consistent_length(X, y)
    grid = make_grid(values, stages, scale)
    splits = _make_splits(X, y, cv, validation_size, validation_data, random_state)
    scorer: Scorer = labeled_scorer(scoring)
    if validation_data is not None:
        scorer = _HeldOutScorer(labeled_scorer(scoring), *validation_data)

    seen: list[Any] = []
    tables: list[pd.DataFrame] = []
    new = list(grid.values)
    for stage in range(1, grid.stages + 1):
        if stage > 1:
            scores = pd.concat(tables)["mean_score"].to_numpy()
            new = refine(seen, seen[pick_best(seen, scores, ties)], grid)
            if not new:
                break
        seen += new
        tables.append(_score_values(estimator, X, y, param, new, stage, splits, scorer, n_jobs))
        if tables[-1]["mean_score"].isna().all():
            raise ValueError(f"scoring={scoring!r} gave NaN for every value of {param!r}.")
        if verbose:
            top = tables[-1]["mean_score"].max()
            _logger.info("tune %s: stage %d, %d values, best %.6g", param, stage, len(new), top)
    table = pd.concat(tables, ignore_index=True)
    scores = table["mean_score"].to_numpy()
    best = pick_best(seen, scores, ties)
    best_estimator = clone(estimator).set_params(**{param: clone(seen[best], safe=False)})
    best_estimator.fit(X, y)
    return TuneResult(
        param=param,
        best_value=seen[best],
        best_score=float(scores[best]),
        best_estimator_=best_estimator,
        table=table,
        n_splits=len(splits),
    )


class _HeldOutScorer:
    """Scores on validation data that were given, whatever rows come with the fold."""

    def __init__(self, scorer: LabeledScorer, X: Any, y: Any) -> None:
        self.scorer = scorer
        self.X = X
        self.y = y

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        return self.scorer(estimator, self.X, self.y)


def _score_values(
    estimator: Any,
    X: Any,
    y: Any,
    param: str,
    values: list[Any],
    stage: int,
    splits: list[Split],
    scorer: Scorer,
    n_jobs: int | None,
) -> pd.DataFrame:
    """Mean score of each value; scikit-learn's search does the work on all cores."""
    search = GridSearchCV(
        estimator,
        {param: values},
        cv=splits,
        scoring=scorer,
        refit=False,
        n_jobs=n_jobs,
        error_score="raise",
    )
    results = search.fit(X, y).cv_results_
    folds = np.column_stack([results[f"split{i}_test_score"] for i in range(len(splits))])
    column = pd.Series(values, dtype=None if are_numbers(values) else object)
    frame = {"value": column, "stage": stage, "mean_score": folds.mean(axis=1)}
    frame["std_score"] = folds.std(axis=1)
    return pd.DataFrame(frame | {f"split{i}_score": s for i, s in enumerate(folds.T)})


def _check_options(estimator: Any, param: Any, ties: Any, stages: Any, scale: Any) -> None:
    if ties not in TIES:
        raise ValueError(f"ties must be one of {TIES}, got {ties!r}.")
    if scale is not None and scale not in SCALES:
        raise ValueError(f"scale must be one of {SCALES}, or None, got {scale!r}.")
    if stages is not None and (
        isinstance(stages, bool) or not isinstance(stages, Integral) or stages < 1
    ):
        raise ValueError(f"stages must be an integer of at least 1, or None, got {stages!r}.")
    valid = estimator.get_params(deep=True)
    if param in valid:
        return
    message = (
        f"{type(estimator).__name__} has no parameter {param!r}. Its parameters are "
        f"{sorted(valid)}."
    )
    owner = param.rpartition("__")[0] if isinstance(param, str) else ""
    if owner in valid:
        message += (
            f" {owner} is {valid[owner]!r}: give it an object that has the parameter "
            f"{param.rpartition('__')[2]!r}."
        )
    raise ValueError(message)


def _make_splits(
    X: Any,
    y: Any,
    cv: Any,
    validation_size: float | None,
    validation_data: tuple[Any, Any] | None,
    random_state: Any,
) -> list[Split]:
    """Bring ``cv`` into a list of splits, so that every value and stage sees the same."""
    classes, codes = encode_labels(y)
    cv = "adaptive" if cv is None else cv
    if isinstance(cv, str) and cv == "validation":
        if validation_data is None:
            return [_hold_out(classes, codes, validation_size, random_state)]
        _check_validation_data(validation_data, validation_size)
        everything = np.arange(len(codes))
        return [(everything, everything[:1])]
    for name, given in (("validation_size", validation_size), ("validation_data", validation_data)):
        if given is not None:
            raise ValueError(f"{name} is for cv='validation', but cv={cv!r}.")
    if isinstance(cv, str):
        if cv not in _CV_NAMES:
            raise ValueError(
                f"cv must be one of {_CV_NAMES}, an integer, a splitter or an iterable of "
                f"splits, got {cv!r}."
            )
        if cv == "adaptive":
            cv = AdaptiveKFold(random_state=random_state)
        else:
            cv = LabeledLeaveOneOut()
    elif isinstance(cv, Integral) and not isinstance(cv, bool):
        cv = LabeledKFold(int(cv), random_state=random_state)
    cv = check_cv(cv)
    # Other splitters know no unlabeled rows and could not sort None; as a code they can.
    target = y if isinstance(cv, LabeledSplitter) else codes
    splits = [(np.asarray(train), np.asarray(test)) for train, test in cv.split(X, target)]
    if not splits:
        raise ValueError(f"cv={cv!r} gave no split.")
    return splits


def _hold_out(
    classes: NDArray[Any], codes: NDArray[np.intp], share: float | None, random_state: Any
) -> Split:
    share = _VALIDATION_SIZE if share is None else share
    if not isinstance(share, Real) or not 0 < share < 1:
        raise ValueError(
            f"validation_size must be a share of the labeled rows between 0 and 1, got {share!r}."
        )
    rows_to_test(classes, codes, "train")  # says which classes stay out of the score
    test = hold_out_rows(codes, float(share), check_random_state(random_state))
    return np.setdiff1d(np.arange(len(codes)), test), test


def _check_validation_data(data: Any, validation_size: float | None) -> None:
    if validation_size is not None:
        raise ValueError(
            "validation_size and validation_data exclude each other: a share of the labeled rows "
            "is held out only if no validation data are given."
        )
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        raise ValueError("validation_data must be a pair (X, y).")
    check_consistent_length(*data)
    if not labeled_mask(data[1]).any():
        raise ValueError("validation_data holds no labeled row, so there is nothing to score.")
