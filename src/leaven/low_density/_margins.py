"""From margins to probabilities, and from class fractions to whole rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

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


def class_counts(fractions: Array, n_rows: int) -> NDArray[np.intp]:
    """Whole rows for each class that sum to ``n_rows``, by the largest remainders.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.low_density._margins import class_counts
    >>> class_counts(np.array([0.5, 0.3, 0.2]), 9)
    array([4, 3, 2])
    """
    exact = fractions * n_rows
    counts = np.floor(exact + 1e-9).astype(np.intp)
    left = n_rows - counts.sum()
    # Ties go to the later class, so that half a row of two classes is rounded up to +1.
    order = np.argsort(-(exact - counts)[::-1], kind="stable")
    counts[(len(counts) - 1 - order)[:left]] += 1
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
