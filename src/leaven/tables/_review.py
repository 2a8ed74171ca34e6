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

    Where labels were held out, of n of them the method got e wrong (more by its selection bias,
    if it was chosen as the best): about the share ``(e + 1) / (n + 2)`` (the rule of succession)
    of the inferred labels is wrong too, and as many rows with the lowest confidence are flagged.
    Confidences of different methods do not mean the same, and this rule needs their order only.
    Without such an estimate it is a tenth of the rows. Rows as confident as the last one flagged
    are flagged too, so that duplicates are treated alike; certain ones never are.

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
    share = None if selection is None else _expected_error(selection)
    why = "as many as are expected to be wrong from the labels that were held out"
    if share is None:
        share, why = _SHARE, "no labels were held out to tell how many are wrong"
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


def _expected_error(selection: SafeReport) -> float | None:
    found = selection.candidates
    score = found.loc[found["name"] == selection.choice, "score"].to_numpy(dtype=float)
    if not selection.n_tested or not np.isfinite(score).all():
        return None
    n = selection.n_tested
    is_best = selection.choice == selection.best_supervised
    bias = selection.selection_bias if is_best else 0.0
    return float(((1.0 - score[0] + bias) * n + 1.0) / (n + 2.0))


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
