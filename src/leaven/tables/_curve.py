"""The learning curve so far: accuracy with fewer of the labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from leaven._labels import UNLABELED
from leaven.selection import Problem, draw_folds
from leaven.statistics import estimate_share
from leaven.tables._select import fit_method

MAX_ROWS = 5_000
"""Beyond this a curve takes longer than it is worth: it is one more fit per fold, share and
method."""

_SHARES = (0.25, 0.5, 1.0)
"""Of the labels: each doubling is one step of the curve, whose axis is logarithmic."""

_MIN_LABELS = 12
"""With fewer, the standard error of a point is above 0.14 and hides any slope."""


def curve_so_far(
    problem: Problem, methods: Sequence[str], random_state: Any = 0
) -> pd.DataFrame | None:
    """Estimate the accuracy of methods with a quarter, half and all of the labels.

    In each fold of the labeled rows the others keep a share of their labels, of each class at
    least one. All shares and methods are tested on the same rows.

    Parameters
    ----------
    problem : Problem
        Of all rows, as for a method that is named.
    methods : sequence of str
    random_state : int, RandomState instance or None, default=0

    Returns
    -------
    curve : DataFrame or None
        ``method``, ``n_labeled``, ``accuracy``, ``standard_error``; None with fewer than 12
        labels, or where no two shares differ.
    """
    codes = problem.codes
    rng = check_random_state(random_state)
    folds = draw_folds(codes, 1, rng)
    if folds is None or len(folds.rows) < _MIN_LABELS:
        return None
    thinned = []
    for _, test in folds.tests():
        known = codes.copy()
        known[folds.rows[test]] = UNLABELED
        order = rng.permutation(len(codes))
        thinned.append([_thinned(known, share, order) for share in _SHARES])
    sizes = [
        round(float(np.mean([(fold[i] != UNLABELED).sum() for fold in thinned])))
        for i in range(len(_SHARES))
    ]
    if len(set(sizes)) < 2:
        return None
    rows = []
    for method in methods:
        for i, size in enumerate(sizes):
            if i and size == sizes[i - 1]:
                continue
            right = np.zeros(len(folds.rows))
            for kept, (_, test) in zip(thinned, folds.tests(), strict=True):
                found = _predicted(problem, method, kept[i], random_state)
                tested = folds.rows[test]
                right[test] = found[tested] == codes[tested]
            mean = estimate_share(right)
            rows.append((method, size, mean.value, mean.se))
    return pd.DataFrame(rows, columns=["method", "n_labeled", "accuracy", "standard_error"])


def _predicted(
    problem: Problem, method: str, codes: NDArray[np.intp], random_state: Any
) -> NDArray[np.intp]:
    """Classes of all rows by a method that learned from these labels."""
    rng = check_random_state(random_state)
    rng.randint(np.iinfo(np.int32).max)  # the seed of the problem, drawn already
    found = fit_method(problem.with_codes(codes), method, rng).probabilities
    return np.asarray(found.argmax(axis=1), dtype=np.intp)


def _thinned(codes: NDArray[np.intp], share: float, order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Keep the labels of a share of each class, the first ones in ``order``."""
    kept = np.full_like(codes, UNLABELED)
    in_order = codes[order]
    for code in range(int(codes.max()) + 1):
        rows = order[in_order == code]
        rows = rows[: max(1, round(share * len(rows)))]
        kept[rows] = code
    return kept
