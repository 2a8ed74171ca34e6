"""From margins to probabilities, and from class fractions to whole rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from leaven.low_density._problem import S3VMProblem
from leaven.low_density._rows import Array
from leaven.low_density._svm import hinge


def margin_energy(f: Array) -> Array:
    """``hinge(-f) - hinge(f)``: ``2f`` inside the margin, ``f ± 1`` outside; odd, increasing."""
    return hinge(-f) - hinge(f)


def margin_probabilities(F: Array) -> Array:
    """Class probabilities from one-versus-rest scores, one column per class.

    ``P(k) ∝ exp(margin_energy(f_k) / 2)``. With two classes, ``f`` and ``-f``, that is
    ``P(+) = exp(-hinge(f)) / (exp(-hinge(f)) + exp(-hinge(-f)))``: the two losses as energies,
    which is also the form of the probabilities of deterministic annealing.
    """
    return np.asarray(softmax(0.5 * margin_energy(F), axis=1))


def tied_classes(fractions: Array, n_rows: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Whole rows per class by the largest remainders, as far as these decide.

    Gives the classes among which equal remainders leave open who gets one of the last rows (none
    where the numbers sum to ``n_rows``), and the rows that each class has for certain.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.low_density._margins import tied_classes
    >>> tied_classes(np.array([0.4, 0.3, 0.3]), 5)
    (array([1, 2]), array([2, 1, 1]))
    """
    exact = fractions * n_rows
    counts = np.floor(exact + 1e-9).astype(np.intp)
    remainders = np.round(exact - counts, 9)
    left = n_rows - counts.sum()
    if left == 0:
        return np.empty(0, dtype=np.intp), counts
    last = np.sort(remainders)[::-1][left - 1]
    tied = np.flatnonzero(remainders == last)
    counts[remainders > last] += 1
    if counts.sum() + len(tied) == n_rows:
        counts[tied] += 1
        tied = tied[:0]
    return tied, counts


def fair_counts(problems: list[S3VMProblem], fractions: Array, tol: float) -> NDArray[np.intp]:
    """Whole rows per class that sum to the unlabeled ones, by the largest remainders.

    Among equal remainders the rows decide: each class bids the supervised score of the row that it
    would get. By the order of the classes, the answer would depend on their names.
    """
    unlabeled = problems[0].unlabeled
    tied, counts = tied_classes(fractions, len(unlabeled))
    if not len(tied):
        return counts
    if len(problems) == 1:
        f = problems[0].ranking(problems[0].supervised(tol), tol)
        scores = {0: -f, 1: f}
    else:
        scores = {k: problems[k].ranking(problems[k].supervised(tol), tol) for k in tied.tolist()}
    bids = np.array([np.sort(scores[k])[::-1][counts[k]] for k in tied.tolist()])
    best = tied[np.lexsort((-tied, -bids))]
    counts[best[: len(unlabeled) - counts.sum()]] += 1
    return counts


def ratio_probabilities(f: Array, labels: Array) -> Array:
    """``P(+1)`` of rows whose labels hold the class ratio, where the signs of ``f`` may not.

    The scores are measured from the threshold between the two labels: zero where the signs
    agree with the labels.
    """
    threshold = 0.0
    if (labels * f < 0).any():
        lowest = f[labels > 0].min(initial=np.inf)
        highest = f[labels < 0].max(initial=-np.inf)
        ends = [end for end in (lowest, highest) if np.isfinite(end)]
        threshold = float(np.mean(ends))
    p = expit(margin_energy(f - threshold))
    # Rows with equal scores on both sides of the threshold still go with their label.
    return np.asarray(np.where(labels > 0, np.maximum(p, 0.5 + 1e-6), np.minimum(p, 0.5 - 1e-6)))
