"""Agreement of labelings beyond chance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def cohen_kappa(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Cohen's kappa of two labelings, ``(p_o - p_e) / (1 - p_e)`` (Cohen, 1960).

    ``p_o`` is the share of rows with the same label and ``p_e`` the share expected if both drew
    labels at random from their own frequencies.

    Parameters
    ----------
    first, second : ndarray of shape (n_rows,)
        Labels by two people, or predictions by two models. At least one row.

    Returns
    -------
    kappa : float
        1 for full agreement, also where both have one class everywhere and the formula is
        0 / 0.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.statistics import cohen_kappa
    >>> round(cohen_kappa(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])), 3)
    0.5
    """
    names = np.unique(np.concatenate([first, second]))
    one = np.array([np.mean(first == name) for name in names])
    two = np.array([np.mean(second == name) for name in names])
    expected = float(one @ two)
    observed = float(np.mean(first == second))
    # Where all is expected, all is observed: rounding must not turn 0 / 0 into noise.
    return 1.0 if expected >= 1.0 else (observed - expected) / (1.0 - expected)


def fleiss_kappa(counts: NDArray[Any]) -> float:
    """Fleiss' kappa of several people (Fleiss, 1971, equation 7).

    Parameters
    ----------
    counts : array of shape (n_rows, n_classes)
        How many people gave each label to each row; the same number of people, at least two,
        in every row.

    Returns
    -------
    kappa : float

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.statistics import fleiss_kappa
    >>> round(fleiss_kappa(np.array([[3, 0], [2, 1], [0, 3]])), 3)
    0.55
    """
    counts = np.asarray(counts, dtype=np.float64)
    n_people = counts[0].sum()
    # Pairs of people who agree on a row, among all pairs of people.
    within = ((counts**2).sum(axis=1) - n_people) / (n_people * (n_people - 1))
    shares = counts.sum(axis=0) / counts.sum()
    expected = float((shares**2).sum())
    return 1.0 if expected >= 1.0 else float((within.mean() - expected) / (1.0 - expected))
