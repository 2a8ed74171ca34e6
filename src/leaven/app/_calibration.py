"""Held-out labels: folds, and the temperature that makes probabilities honest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar


def fold_numbers(codes: NDArray[np.intp], n_folds: int, seed: int) -> NDArray[np.intp]:
    """Deal the labels into folds, each class by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.app._calibration import fold_numbers
    >>> sorted(fold_numbers(np.array([0, 0, 0, 1, 1, 1]), 3, 0)[:3].tolist())
    [0, 1, 2]
    """
    order = np.random.RandomState(seed).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    folds = np.empty(len(codes), dtype=np.intp)
    folds[order] = np.arange(len(codes)) % n_folds
    return folds


def sharpen(shares: NDArray[Any], temperature: float) -> NDArray[Any]:
    """Scale probabilities by a temperature, ``p^(1/T) / Σ p^(1/T)`` (Guo et al., 2017).

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.app._calibration import sharpen
    >>> sharpen(np.array([[0.8, 0.2]]), 0.5).round(3)
    array([[0.941, 0.059]])
    """
    scaled = np.asarray(shares, dtype=np.float64) ** (1.0 / temperature)
    total = scaled.sum(axis=1, keepdims=True)
    return np.asarray(scaled / np.where(total > 0, total, 1.0))


def fit_temperature(shares: NDArray[Any], truth: NDArray[np.intp]) -> float:
    """The temperature at which held-out labels are most probable.

    One label more, half of it of each class where there are two, keeps it finite when all answers
    are right.

    Parameters
    ----------
    shares : array of shape (n_labels, n_classes)
    truth : int array of shape (n_labels,)

    Returns
    -------
    temperature : float
        From 1/4 to 4.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.app._calibration import fit_temperature
    >>> shares = np.array([[0.9, 0.1]] * 10)
    >>> truth = np.array([0] * 7 + [1] * 3)  # 90% were said; (7 + 1/2) / (10 + 1) are right
    >>> round(float(sharpen(shares[:1], fit_temperature(shares, truth))[0, 0]), 2)
    0.68
    """
    safe = np.clip(shares, 1e-6, 1.0)
    rows = np.arange(len(truth))

    def loss(log_t: float) -> float:
        sharp = np.clip(sharpen(safe, float(np.exp(log_t))), 1e-12, 1.0)
        # The extra label: every class of the mean row once, with weight 1 in all.
        return float(-np.log(sharp[rows, truth]).sum() - np.log(sharp).mean())

    found = minimize_scalar(loss, bounds=(-np.log(4), np.log(4)), method="bounded")
    return float(np.exp(found.x))
