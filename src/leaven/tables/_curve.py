"""The learning curve so far: accuracy with fewer of the labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from leaven._labels import UNLABELED
from leaven.model_selection._safe_folds import draw_folds
from leaven.model_selection._safe_report import estimate_share

MOST_ROWS = 5_000
"""Beyond so many rows a curve takes longer than it is worth."""

_SHARES = (0.25, 0.5, 1.0)
_FEWEST_LABELS = 12


def curve_so_far(
    estimator: Any,
    methods: Sequence[str],
    Z: Any,
    codes: NDArray[np.intp],
    random_state: Any = 0,
) -> pd.DataFrame | None:
    """Estimate the accuracy of methods with a quarter, half and all of the labels.

    In each fold of the labeled rows the others keep a share of their labels, of each class at
    least one. All shares and methods are tested on the same rows.

    Parameters
    ----------
    estimator : TableClassifier
        Not fitted here; it is cloned for each method.
    methods : sequence of str
    Z : {array, CSR matrix} of shape (n_samples, n_features)
        Prepared and not weighed.
    codes : ndarray of shape (n_samples,)
    random_state : int, RandomState instance or None, default=0

    Returns
    -------
    curve : DataFrame or None
        ``method``, ``n_labeled``, ``accuracy``, ``standard_error``; None with fewer than 12
        labels, or where no two shares differ.
    """
    rng = check_random_state(random_state)
    folds = draw_folds(codes, 1, rng)
    if folds is None or len(folds.rows) < _FEWEST_LABELS:
        return None
    n_folds = folds.n_splits
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
        model = clone(estimator).set_params(method=method, candidates=None, progress=False)
        for i, size in enumerate(sizes):
            if i and size == sizes[i - 1]:
                continue
            right = np.zeros(len(folds.rows))
            for number, (_, test) in zip(range(n_folds), folds.tests(), strict=True):
                tested = folds.rows[test]
                fitted = clone(model).fit(Z, thinned[number][i])
                right[test] = fitted.transduction_[tested] == codes[tested]
            found = estimate_share(right)
            rows.append((method, size, found.value, found.se))
    return pd.DataFrame(rows, columns=["method", "n_labeled", "accuracy", "standard_error"])


def _thinned(codes: NDArray[np.intp], share: float, order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Keep the labels of a share of each class, the first ones in ``order``."""
    kept = np.full_like(codes, UNLABELED)
    in_order = codes[order]
    for code in range(int(codes.max()) + 1):
        rows = order[in_order == code]
        rows = rows[: max(1, round(share * len(rows)))]
        kept[rows] = code
    return kept
