"""Columns that a user may ask for beside the four that every labeled table has."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven.selection import Assessment, prediction_sets, rows_above_target
from leaven.tables._options import LabelingOptions
from leaven.tables._review import Review

SET_ALPHA = 0.1
"""The share of rows whose class may be missing in their prediction set: sets are of 90%."""

SEPARATOR = "|"
"""Between the classes of a prediction set."""


def review_for_target(
    probabilities: NDArray[np.float64],
    given: NDArray[np.bool_],
    target_error: float,
    n_tested: int | None,
) -> Review:
    """Flag the rows to check by hand so that the others have the wanted error.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
        Calibrated.
    given : bool array of shape (n_rows,)
    target_error : float
    n_tested : int or None
        Number of held-out labels that the probabilities were calibrated by.

    Returns
    -------
    Review
    """
    rows = np.zeros(len(given), dtype=bool)
    confidence = probabilities.max(axis=1)
    n_classes = probabilities.shape[1]
    rows[~given] = rows_above_target(confidence[~given], target_error, n_tested, n_classes)
    highest = float(confidence[rows].max()) if rows.any() else None
    rule = (
        f"check these {int(rows.sum()):,} by hand, and at most {target_error:.0%} of the others "
        "are expected to be wrong"
    )
    return Review(rows, highest, rule)


def more_columns(
    target: Hashable,
    options: LabelingOptions,
    classes: NDArray[Any],
    probabilities: NDArray[np.float64],
    given: NDArray[np.bool_],
    assessment: Assessment | None,
    suspects: dict[int, float],
    asked: NDArray[np.intp] | None,
) -> dict[str, Any]:
    """Make the columns that the options ask for, by name.

    Parameters
    ----------
    target : column name
    options : LabelingOptions
    classes : ndarray of shape (n_classes,)
    probabilities : ndarray of shape (n_rows, n_classes)
    given : bool array of shape (n_rows,)
    assessment : Assessment or None
        For the scores of held-out labels that prediction sets are made from.
    suspects : dict of int to float
        Rows whose given label is probably wrong, and how probably.
    asked : ndarray of int or None
        Rows most worth labeling next, the first one first.

    Returns
    -------
    columns : dict of str to array
    """
    found: dict[str, Any] = {}
    names = [str(name) for name in classes]
    if suspects:
        marked = np.zeros(len(given), dtype=bool)
        marked[list(suspects)] = True
        found[f"{target}_suspect"] = marked
    if options.sets:
        scores, likely = np.empty(0), None
        if assessment is not None:
            scores, likely = assessment.scores, assessment.likely
        sets = prediction_sets(probabilities, scores, SET_ALPHA, likely)
        sets[given] = probabilities[given] == 1.0
        order = np.argsort(-probabilities, axis=1, kind="stable")
        found[f"{target}_set"] = [
            SEPARATOR.join(names[code] for code in row if member[code])
            for row, member in zip(order, sets, strict=True)
        ]
    if options.probabilities:
        for name, column in zip(names, probabilities.T, strict=True):
            found[f"{target}_p_{name}"] = np.round(column, 6)
    if asked is not None:
        rank = pd.array([pd.NA] * len(given), dtype="Int64")
        rank[np.asarray(asked)] = np.arange(1, len(asked) + 1)
        found[f"{target}_ask"] = rank
    return found


def blank_below(
    predicted: pd.Series, confidence: NDArray[np.float64], least: float, blank: Any
) -> pd.Series:
    """Leave the cells empty whose confidence is below ``least``."""
    return predicted.mask(confidence < least, blank)
