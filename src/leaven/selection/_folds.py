"""Repeated folds of the labeled rows, the same for all candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from leaven._labels import UNLABELED

# A score of the class probabilities of some rows, given with these rows; larger is better.
Score = Callable[[NDArray[Any], NDArray[np.intp]], float]

# Labeled rows up to which "auto" fits twice as often. A repeat averages over the way rows are
# dealt, which matters most with few labels, and costs as much as the first.
_MAX_ROWS_REPEATED = 50

# More folds would train on a few more labels, but repeats tell more for the same time. It is
# also the number of fits that "auto" asks for, however few folds the labels allow.
_MAX_SPLITS = 5

# Draws in search of folds that differ from the earlier ones, per repeat that is wanted.
_DRAWS_PER_REPEAT = 4

# Means of the same numbers may differ in the last digits; scores this close are equal.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Folds:
    """Repeated folds of the labeled rows.

    Parameters
    ----------
    rows : ndarray of shape (n_tested,)
        The labeled rows that are held out once per repeat.
    fold : ndarray of shape (n_repeats, n_tested)
        In which fold of a repeat each of them is held out.
    """

    rows: NDArray[np.intp]
    fold: NDArray[np.intp]

    @property
    def n_splits(self) -> int:
        """Number of folds of a repeat."""
        return int(self.fold.max()) + 1

    @property
    def n_repeats(self) -> int:
        """Number of repeats."""
        return len(self.fold)

    def tests(self) -> Iterator[tuple[int, NDArray[np.bool_]]]:
        """Yield the repeat, and which of ``rows`` are held out, one fold after another."""
        for repeat, fold in enumerate(self.fold):
            for number in range(self.n_splits):
                yield repeat, fold == number


def adaptive_n_splits(codes: NDArray[np.intp], max_splits: int) -> int:
    """Number of folds that the smallest class with two labeled rows or more allows.

    Zero when no class has two labeled rows, for then no row can be both held out and known
    in training.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
    max_splits : int

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import adaptive_n_splits
    >>> adaptive_n_splits(np.array([0, 0, 0, 1, 1, 1, 1, -1]), max_splits=10)
    3
    """
    counts = np.bincount(codes[codes != UNLABELED])
    divisible = counts[counts >= 2]
    return int(min(max_splits, divisible.min())) if len(divisible) else 0


def draw_folds(
    codes: NDArray[np.intp], n_repeats: int | str = "auto", random_state: Any = None
) -> Folds | None:
    """Draw stratified folds of the labeled rows; None if no class has two labels.

    The rows are dealt class by class, in random order, to five folds, or to as many as the
    typical class (the median) has labels: two labels per class give two folds, each with one
    label of every class. With more folds than that a fold would take a label from some classes
    and none from the others; what is left favors exactly the wrong classes, so that with two
    labels per class most methods seemed worse than chance (Kohavi, 1995, on leaving one out). A
    class with one label stays in training. A repeat with the folds of an earlier one says
    nothing new: it is drawn again, and left out if there seem to be no others. Two classes with
    two labels each have two ways only.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Class of each row, or -1.
    n_repeats : int or "auto", default="auto"
        "auto" draws them until there are ten fits for at most 50 labeled rows, and five for
        more.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    Folds or None

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import draw_folds
    >>> folds = draw_folds(np.array([0, 0, 1, 1, -1]), random_state=0)
    >>> folds.n_splits, folds.n_repeats
    (2, 2)
    """
    rng = check_random_state(random_state)
    counts = np.bincount(codes[codes != UNLABELED], minlength=1)  # one entry even if no label
    rows = np.flatnonzero((codes != UNLABELED) & (counts[codes] >= 2))
    if not len(rows):
        return None
    n_splits = min(_MAX_SPLITS, int(np.median(counts[counts >= 2])))
    if isinstance(n_repeats, str):
        n_fits = _MAX_SPLITS * (2 if len(rows) <= _MAX_ROWS_REPEATED else 1)
        wanted = -(-n_fits // n_splits)
    else:
        wanted = int(n_repeats)
    known: dict[bytes, NDArray[np.intp]] = {}
    for _ in range(_DRAWS_PER_REPEAT * wanted):
        if len(known) == wanted:
            break
        fold = _deal(codes[rows], n_splits, rng)
        # Numbered by first appearance, equal folds are equal arrays.
        _, first, inverse = np.unique(fold, return_index=True, return_inverse=True)
        fold = np.argsort(np.argsort(first))[inverse]
        known.setdefault(fold.tobytes(), fold)
    return Folds(rows, np.array(list(known.values())))


def _deal(codes: NDArray[np.intp], n_splits: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Deal rows to folds, one class after another in random order."""
    order = rng.permutation(len(codes))
    # Class after class, dealt on where the last one ended: folds differ by one row at most, and
    # each class is spread over as many folds as it has rows.
    order = order[np.argsort(rng.permutation(codes.max() + 1)[codes[order]], kind="stable")]
    fold = np.empty(len(codes), dtype=np.intp)
    fold[order] = np.arange(len(codes)) % n_splits
    return fold


def row_correctness(
    probabilities: NDArray[Any], codes: NDArray[np.intp], folds: Folds
) -> NDArray[np.float64]:
    """Share of the repeats in which each tested row got its class."""
    right = probabilities.argmax(axis=2) == codes[folds.rows]
    return np.asarray(right.mean(axis=0), dtype=np.float64)


def score_folds(
    probabilities: NDArray[Any], codes: NDArray[np.intp], folds: Folds, score: Score | None
) -> NDArray[np.float64]:
    """Score each fold of each repeat, by the accuracy if ``score`` is None.

    Returns
    -------
    ndarray of shape (n_repeats, n_splits)
    """
    scores = []
    for repeat, test in folds.tests():
        rows, found = folds.rows[test], probabilities[repeat, test]
        if score is None:
            scores.append(float((found.argmax(axis=1) == codes[rows]).mean()))
        else:
            scores.append(score(found, rows))
    return np.array(scores, dtype=np.float64).reshape(folds.n_repeats, -1)


def choose_within_folds(
    probabilities: NDArray[Any], scores: NDArray[np.float64], folds: Folds
) -> tuple[NDArray[Any], int]:
    """Choose among the parameters of a candidate without a look at the rows to be tested.

    For each fold that parameter is taken which scores best on the other folds of the same
    repeat; so the score of the candidate is free of the selection bias of the best parameter.
    The final parameter is the best over all folds. Of equal ones the first is taken.

    Parameters
    ----------
    probabilities : ndarray of shape (n_parameters, n_repeats, n_tested, n_classes)
    scores : ndarray of shape (n_parameters, n_repeats, n_splits)
    folds : Folds

    Returns
    -------
    probabilities : ndarray of shape (n_repeats, n_tested, n_classes)
    best : int
    """
    if len(probabilities) == 1:
        return probabilities[0], 0
    chosen = np.empty_like(probabilities[0])
    others = scores.sum(axis=2, keepdims=True) - scores
    best = _first_best(others)
    for repeat, fold in enumerate(folds.fold):
        chosen[repeat] = probabilities[best[repeat, fold], repeat, np.arange(len(fold))]
    return chosen, int(_first_best(scores.mean(axis=(1, 2))))


def _first_best(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """Index of the largest along the first axis; sums that differ by rounding are equal."""
    return np.asarray(np.argmax(scores >= scores.max(axis=0) - ROUNDING, axis=0))
