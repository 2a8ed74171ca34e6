"""What the anchor graph classifier does with one partition of rows.

These functions stand alone, since they may run in another process. A partition may have no rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, validate_data

from leaven._compat import num_samples
from leaven._labels import UNLABELED, one_hot
from leaven._magnitude import check_magnitude
from leaven.base import normalize_rows
from leaven.graph_based._anchors import AnchorStatistics, anchor_statistics, anchor_weights
from leaven.graph_based._shares import shared_votes
from leaven.partitions import Block, codes_of

DTYPES = (np.float64, np.float32)
"""What rows may be; others become the first of them."""


class Rows(NamedTuple):
    """Rows of a partition and their codes."""

    X: NDArray[Any]
    codes: NDArray[np.intp]


class Ties(NamedTuple):
    """The weights Z that tie the rows of a partition to the anchors, and the codes of the rows."""

    Z: sparse.csr_array
    codes: NDArray[np.intp]


class Reader(BaseEstimator):
    """Nothing but the number and the names of the columns, to check partitions against."""


@dataclass(frozen=True)
class AnchorAnswers:
    """How the scores of the anchors become class probabilities of rows.

    Parameters
    ----------
    values : ndarray of shape (n_anchors, n_classes)
    reached : ndarray of shape (n_anchors,)
        Anchors with a path to a label.
    factors : ndarray of shape (n_classes,)
        Of class mass normalization.
    shifts : ndarray of shape (n_classes,) or None
        Of the Poisson form, whose scores are no masses; None for all others.
    spread : float
        Unit of the shifted scores.
    """

    values: NDArray[np.float64]
    reached: NDArray[np.bool_]
    factors: NDArray[np.float64]
    shifts: NDArray[np.float64] | None = None
    spread: float = 1.0

    def of(self, Z: sparse.csr_array) -> NDArray[np.float64]:
        """Class probabilities of the rows with weights ``Z``."""
        scores = np.asarray(Z @ self.values)
        if self.shifts is not None:
            p = np.asarray(softmax((scores - self.shifts) / self.spread, axis=1))
        else:
            p = normalize_rows(np.maximum(scores, 0.0) * self.factors)
        apart = is_apart(Z, self.reached)
        p[apart] = scores[apart]
        return p


@dataclass
class Tally:
    """Sums over the unlabeled rows that labels reach.

    Parameters
    ----------
    mass : ndarray of shape (n_classes,)
        Sum of the scores, negative ones left out.
    answers : ndarray of shape (n_classes,)
        How often each class has the largest balanced score; classes that are level share.
    """

    mass: NDArray[np.float64]
    answers: NDArray[np.float64]


def dtype_of(X: Any) -> np.dtype[Any]:
    """The dtype that the rows of a partition have once they are checked."""
    head = X.iloc[:1] if hasattr(X, "iloc") else X[:1]
    # Whether all values are finite is asked where all of them are checked.
    checked = check_array(head, dtype=list(DTYPES), ensure_all_finite=False)
    found: np.dtype[Any] = np.dtype(checked.dtype)
    return found


def check_block(block: Block, reader: Reader, dtype: Any, classes: NDArray[Any]) -> Rows:
    """Check the rows of a partition against the columns of the first; encode its labels."""
    if block.sample_weight is not None:
        raise ValueError("AnchorGraphClassifier takes no sample weights: give X and y alone.")
    if not num_samples(block.X):
        empty = np.empty((0, reader.n_features_in_), dtype=dtype)
        return Rows(empty, np.empty(0, dtype=np.intp))
    X = validate_data(reader, block.X, dtype=dtype, reset=False)
    check_magnitude("AnchorGraphClassifier", X)
    codes = codes_of(block.y, classes)
    check_consistent_length(X, codes)
    return Rows(X, codes)


def take_some(rows: Rows, chosen: NDArray[np.intp] | None) -> NDArray[Any]:
    """Some rows of a partition, or all of them."""
    return rows.X if chosen is None else rows.X[chosen]


def tie_rows(rows: Rows, anchors: NDArray[Any], n_neighbors: int, weight: str, batch: int) -> Ties:
    """Tie the rows of a partition to their nearest anchors, ``batch`` rows at a time."""
    if not len(rows.X):
        return Ties(sparse.csr_array((0, len(anchors))), rows.codes)
    parts = [
        anchor_weights(
            rows.X[start : start + batch], anchors, n_neighbors=n_neighbors, weight=weight
        )
        for start in range(0, len(rows.X), batch)
    ]
    Z = parts[0] if len(parts) == 1 else sparse.csr_array(sparse.vstack(parts))
    return Ties(Z, rows.codes)


def statistics_of(ties: Ties) -> AnchorStatistics:
    """Statistics of a partition."""
    return anchor_statistics(ties.Z, ties.codes)


def is_apart(Z: sparse.csr_array, reached: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which rows hang on anchors without a path to a label only."""
    return np.asarray(Z @ reached.astype(float) == 0.0, dtype=np.bool_)


def scores_of(
    ties: Ties, values: NDArray[np.float64], reached: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Scores of the unlabeled rows of a partition that labels reach."""
    return np.asarray(_counted(ties, reached) @ values)


def tally(
    ties: Ties,
    values: NDArray[np.float64],
    reached: NDArray[np.bool_],
    balanced: NDArray[np.float64],
) -> Tally:
    """Sums over a partition; ``balanced`` are the values of the anchors that answers go by."""
    Z = _counted(ties, reached)
    mass = np.maximum(np.asarray(Z @ values), 0.0).sum(axis=0, dtype=np.float64)
    return Tally(mass, shared_votes(np.asarray(Z @ balanced)).sum(axis=0))


def add_tallies(one: Tally, other: Tally) -> Tally:
    """Sums over two partitions."""
    return Tally(one.mass + other.mass, one.answers + other.answers)


def distributions_of(ties: Ties, answers: AnchorAnswers, dtype: Any) -> NDArray[Any]:
    """Class probabilities of the rows of a partition, one for the class that is given."""
    p = answers.of(ties.Z)
    given = ties.codes != UNLABELED
    p[given] = one_hot(ties.codes[given], p.shape[1])
    return p.astype(dtype, copy=False)


def _counted(ties: Ties, reached: NDArray[np.bool_]) -> sparse.csr_array:
    return ties.Z[(ties.codes == UNLABELED) & ~is_apart(ties.Z, reached)]
