"""EM of a mixture whose rows come in partitions: partial statistics, merged, one M-step.

The functions of one partition stand alone, since they may run in another process; a partition
without rows is None. What they share with the client is the ``reader``: an estimator without
anything but what is needed to check and encode rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, validate_data

from leaven._compat import num_samples
from leaven._labels import UNLABELED, one_hot
from leaven.generative._chunks import take_rows
from leaven.generative._mixture import (
    Density,
    Mixture,
    MixtureEM,
    MixtureStatistics,
    merge_statistics,
)
from leaven.partitions import Block, Partitions, codes_of

# Weights of a labeled and of an unlabeled row.
WeightPair = tuple[float, float]


class Rows(NamedTuple):
    """Rows of a partition, checked or encoded, with codes and sample weights.

    ``codes`` are those that EM sees: a row of weight 0 has none. ``given`` are all.
    """

    X: Any
    codes: NDArray[np.intp]
    sample_weight: NDArray[np.float64]
    given: NDArray[np.intp]


@dataclass
class LabelCounts:
    """Labeled rows and their weight per class, and the weight of the unlabeled ones."""

    rows: NDArray[np.intp]
    weights: NDArray[np.float64]
    unlabeled: float

    def __iadd__(self, other: LabelCounts) -> LabelCounts:
        self.rows = self.rows + other.rows
        self.weights = self.weights + other.weights
        self.unlabeled += other.unlabeled
        return self

    def repeated(self) -> NDArray[np.float64]:
        """Rows per class, where a row of weight 2 counts as two equal ones."""
        return np.maximum(self.rows, self.weights)


def check_block(block: Block, reader: Any, classes: NDArray[Any]) -> Rows | None:
    """Check the rows of a partition against the first one's columns; encode its labels."""
    if not num_samples(block.X):
        return None
    X = validate_data(reader, block.X, reset=False, **reader._array_checks(block.X))
    reader._check_values(X)
    return with_weights(X, codes_of(block.y, classes), block.sample_weight)


def with_weights(X: Any, codes: NDArray[np.intp], sample_weight: Any) -> Rows:
    """Check sample weights, and put them beside the rows."""
    check_consistent_length(X, codes, sample_weight)
    if sample_weight is None:
        return Rows(X, codes, np.ones(len(codes)), codes)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(len(codes), float(weights))
    if weights.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar, got {weights.ndim}D array. Give one "
            "weight per row."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must hold finite numbers, none of them negative.")
    return Rows(X, np.where(weights > 0, codes, UNLABELED), weights, codes)


def count_labels(rows: Rows | None, n_classes: int) -> LabelCounts:
    """Count what is labeled in a partition."""
    if rows is None:
        return LabelCounts(np.zeros(n_classes, dtype=np.intp), np.zeros(n_classes), 0.0)
    labeled = rows.codes != UNLABELED
    codes, weights = rows.codes[labeled], rows.sample_weight
    return LabelCounts(
        np.bincount(codes, minlength=n_classes),
        np.bincount(codes, weights[labeled], minlength=n_classes).astype(np.float64),
        float(weights[~labeled].sum()),
    )


def weights_of(rows: Rows, pair: WeightPair) -> NDArray[np.float64]:
    """Weight of each row in the likelihood."""
    return np.where(rows.codes == UNLABELED, pair[1], pair[0]) * rows.sample_weight


def summarize(rows: Rows | None, reader: Any, pair: WeightPair, n_classes: int) -> Any:
    """What the encoding must know of a partition; rows of weight 0 have no say."""
    if rows is None:
        return None
    used = np.where(weights_of(rows, pair) > 0, rows.sample_weight, 0.0)
    return reader._summarize(rows.X, rows.codes, used, n_classes)


def add(one: Any, other: Any) -> Any:
    """Add two partial results, of which either may be missing."""
    if one is None or other is None:
        return other if one is None else one
    one += other
    return one


def encode(rows: Rows | None, reader: Any) -> Rows | None:
    """Encode the rows of a partition."""
    return None if rows is None else rows._replace(X=reader._encode(rows.X))


def labeled_codes(rows: Rows | None) -> NDArray[np.intp]:
    """Codes of the labeled rows of a partition."""
    return np.empty(0, dtype=np.intp) if rows is None else rows.codes[rows.codes != UNLABELED]


def relabel(rows: Rows | None, codes: NDArray[np.intp]) -> Rows | None:
    """Give the labeled rows of a partition other codes."""
    if rows is None:
        return None
    changed = rows.codes.copy()
    changed[rows.codes != UNLABELED] = codes
    return rows._replace(codes=changed)


def labeled_rows(rows: Rows | None) -> Rows | None:
    """The labeled rows of a partition; None if there are none."""
    if rows is None or not (rows.codes != UNLABELED).any():
        return None
    labeled = np.flatnonzero(rows.codes != UNLABELED)
    return Rows(
        take_rows(rows.X, labeled),
        rows.codes[labeled],
        rows.sample_weight[labeled],
        rows.given[labeled],
    )


def make_steps(
    rows: Rows | None, make: Callable[..., MixtureEM], reader: Any, pair: WeightPair
) -> MixtureEM | None:
    """The E-step on a partition."""
    if rows is None:
        return None
    steps = make(
        rows.X, rows.codes, row_weights=weights_of(rows, pair), start_weights=rows.sample_weight
    )
    steps.chunk_rows = reader._chunk_rows(rows.X, steps.n_components)
    return steps


def first_statistics(
    steps: MixtureEM | None, density: Density
) -> tuple[MixtureStatistics | None, MixtureStatistics | None]:
    """Statistics of the labeled rows at the start (one component per class), and clamped ones."""
    if steps is None:
        return None, None
    codes = steps.codes[steps.codes != UNLABELED]
    start = steps.start_statistics(density, one_hot(codes, steps.n_components))
    return start, steps.collect_clamped(density)


def clamped_statistics(steps: MixtureEM | None, density: Density) -> MixtureStatistics | None:
    """Statistics of the clamped rows of a partition."""
    return None if steps is None else steps.collect_clamped(density)


def partial_statistics(
    steps: MixtureEM | None, mixture: Mixture
) -> tuple[MixtureStatistics | None, float]:
    """E-step on a partition."""
    return (None, 0.0) if steps is None else steps.partial(mixture)


def class_probabilities(
    steps: MixtureEM | None, mixture: Mixture
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Class probabilities and sample weights of the unlabeled rows that take part."""
    if steps is None:
        return np.empty((0, mixture.log_labels.shape[0])), np.empty(0)
    posterior, _ = steps.unlabeled_posterior(mixture)
    return steps.of_classes(posterior), steps.start_weights[steps.unlabeled_rows]


def recalibrated_statistics(
    steps: MixtureEM | None, mixture: Mixture, recalibrated: NDArray[np.float64]
) -> tuple[MixtureStatistics | None, float]:
    """E-step on a partition with class probabilities from a recalibration of all."""
    return (None, 0.0) if steps is None else steps.partial(mixture, recalibrated)


def labeled_posterior(rows: Rows | None, reader: Any, mixture: Mixture) -> NDArray[np.float64]:
    """Class probabilities of the labeled rows of a partition, as if they had no label."""
    labeled = labeled_rows(rows)
    if labeled is None:
        return np.empty((0, len(mixture.log_labels)))
    posterior: NDArray[np.float64] = reader._posterior(mixture, labeled.X, len(labeled.codes))
    return posterior


def class_posterior(rows: Rows | None, reader: Any, mixture: Mixture) -> NDArray[np.float64]:
    """Class probabilities of the rows of a partition, one for the class that is given."""
    n_classes = len(mixture.log_labels)
    if rows is None:
        return np.empty((0, n_classes))
    posterior: NDArray[np.float64] = reader._posterior(mixture, rows.X, len(rows.codes))
    labeled = rows.given != UNLABELED
    posterior[labeled] = one_hot(rows.given[labeled], n_classes)
    return posterior


def _add_pairs(one: tuple[Any, float], other: tuple[Any, float]) -> tuple[Any, float]:
    return merge_statistics(one[0], other[0]), one[1] + other[1]


def _add_both(one: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
    return merge_statistics(one[0], other[0]), merge_statistics(one[1], other[1])


class PartitionedEM:
    """E-step over partitions and M-step on the client.

    Parameters
    ----------
    steps : Partitions
        Of :class:`~leaven.generative._mixture.MixtureEM`, or None where there are no rows.
    head : MixtureEM
        With the same settings and no rows: it knows the penalty and the M-step.
    recalibrate : callable, default=None
        ``recalibrate(q, sample_weight) -> q`` for the unlabeled rows of all partitions, which
        come to the client: rows × classes numbers, and one more pass over the rows.
    """

    def __init__(
        self,
        steps: Partitions,
        head: MixtureEM,
        recalibrate: Callable[..., NDArray[np.float64]] | None = None,
    ) -> None:
        self.steps, self.head, self.recalibrate = steps, head, recalibrate
        self._clamped: MixtureStatistics | None = None
        self.maximization = head.maximization

    def start(self, density: Density, log_labels: NDArray[np.float64] | None) -> Mixture:
        """First M-step with one component per class, from the labeled rows of all partitions."""
        start, self._clamped = self.steps.reduce(first_statistics, _add_both, density)
        assert start is not None  # every class has a labeled row
        return self.head.first_mixture(density, start, log_labels)

    def collect_clamped(self, density: Density) -> None:
        """Collect the rows that never change; :meth:`start` does it in passing."""
        self._clamped = self.steps.reduce(clamped_statistics, merge_statistics, density)

    def expectation(self, mixture: Mixture) -> tuple[MixtureStatistics, float]:
        """Return the expected statistics and the objective at ``mixture``."""
        if self.recalibrate is None:
            statistics, evidence = self.steps.reduce(partial_statistics, _add_pairs, mixture)
        else:
            statistics, evidence = self._recalibrated(mixture)
        return self.head.complete(mixture, statistics, evidence, self._clamped)

    def _recalibrated(self, mixture: Mixture) -> tuple[MixtureStatistics | None, float]:
        assert self.recalibrate is not None
        parts = self.steps.map(class_probabilities, mixture)
        q = np.concatenate([part for part, _ in parts])
        if len(q):
            q = self.recalibrate(q, np.concatenate([weights for _, weights in parts]))
        pieces = np.split(q, np.cumsum([len(part) for part, _ in parts])[:-1])
        total: tuple[MixtureStatistics | None, float] = (None, 0.0)
        for part in self.steps.map(recalibrated_statistics, mixture, each=pieces):
            total = _add_pairs(total, part)
        return total
