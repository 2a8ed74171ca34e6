"""Rows that a person should look at: those hard to classify, and those worth a label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from leaven._distinct import distinct_rows
from leaven.active import choose_batch, margin, mean_similarity

if TYPE_CHECKING:
    from leaven.model_selection import SafeReport

_SHARE = 0.1
"""Of the inferred rows, flagged where no held-out label tells how many are wrong."""

_CERTAIN = 1.0 - 1e-6
"""Confidence from which a row is never flagged: what prints as 1.000000."""

_MAX_IN_POOL = 4_000
"""Rows among which those to ask for are chosen: all pairs of them are compared."""


@dataclass(frozen=True)
class Review:
    """Which rows are hard to classify, their highest confidence, and the rule in words."""

    rows: NDArray[np.bool_]
    highest: float | None
    rule: str


def hard_to_classify(
    probabilities: NDArray[Any], given: NDArray[np.bool_], selection: SafeReport | None
) -> Review:
    """Flag the inferred rows that are hard to classify.

    As many rows with the lowest confidence are flagged as are expected to be wrong, and a tenth
    of the rows where no methods were compared and nothing tells how many these are. Rows as
    confident as the last one flagged are flagged too, so that duplicates are treated alike;
    certain ones never are.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
    given : bool array of shape (n_rows,)
        Rows that came with a label; they are never flagged.
    selection : SafeReport or None

    Returns
    -------
    Review
    """
    share, why = _SHARE, "for nothing tells how many are wrong"
    if selection is not None and np.isfinite(selection.expected_accuracy):
        share, why = 1.0 - selection.expected_accuracy, "as many as are expected to be wrong"
    inferred = np.flatnonzero(~given)
    confidence = probabilities[inferred].max(axis=1)
    rows = np.zeros(len(given), dtype=bool)
    n_flagged = round(share * len(inferred))
    if n_flagged:
        last = np.sort(confidence)[n_flagged - 1]
        rows[inferred] = (confidence <= last) & (confidence < _CERTAIN)
    highest = float(probabilities[rows].max()) if rows.any() else None
    rule = f"the {share:.1%} of the inferred rows with the lowest confidence, {why}"
    if rows.sum() > n_flagged:
        flagged = float(rows[inferred].mean())
        rule = (
            f"the {flagged:.1%} of the inferred rows with the lowest confidence: the {share:.1%} "
            f"and those as uncertain as the last of these, {why}"
        )
    return Review(rows, highest, rule)


def rows_to_ask(
    Z: Any,
    probabilities: NDArray[Any],
    given: NDArray[np.bool_],
    n_rows: int,
    *,
    metric: str = "euclidean",
    random_state: Any = 0,
) -> NDArray[np.intp]:
    """Choose the rows whose label would teach most, the first one first.

    The smallest margin between the two best classes, times the density of the rows around
    (Settles and Craven, 2008), in a batch of rows that differ from each other (Zhdanov, 2019);
    see :mod:`leaven.active`. Of rows that are equal one is asked for, and of more than 4,000
    a random sample is looked at.

    Parameters
    ----------
    Z : {array, CSR matrix} of shape (n_samples, n_features)
        Weighted.
    probabilities : ndarray of shape (n_samples, n_classes)
    given : bool array of shape (n_samples,)
    n_rows : int
    metric : {"euclidean", "cosine"}
    random_state : int, RandomState instance or None

    Returns
    -------
    rows : ndarray of shape (at most n_rows,)
    """
    rng = check_random_state(random_state)
    pool = np.flatnonzero(~given)
    pool = pool[distinct_rows(Z[pool])[0]]
    if len(pool) > max(_MAX_IN_POOL, n_rows):
        pool = np.sort(rng.choice(pool, max(_MAX_IN_POOL, n_rows), replace=False))
    points = Z[pool]
    similarity = "cosine" if metric == "cosine" else "gaussian"
    density = np.maximum(mean_similarity(points, similarity), 0.0)
    scores = (1.0 - margin(probabilities[pool])) * density
    chosen = choose_batch(scores, min(n_rows, len(pool)), rng, diversity="kmeans", points=points)
    return np.asarray(pool[chosen], dtype=np.intp)
