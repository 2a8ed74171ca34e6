"""Class mass normalization: scores scaled so that the classes get their expected shares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaven.base import normalize_rows


def class_mass_factors(scores: NDArray[Any], prior: NDArray[Any]) -> NDArray[Any]:
    """Return the factor ``q_c / Σ_i f_ic`` of each class.

    A class without any mass has nothing to scale and keeps the factor 1.
    """
    # In double precision: a million single-precision scores lose three digits in a sum.
    mass = scores.sum(axis=0, dtype=np.float64)
    return np.where(mass > 0, prior / np.where(mass > 0, mass, 1.0), 1.0)


def class_mass_normalization(scores: ArrayLike, prior: ArrayLike) -> NDArray[Any]:
    """Scale the columns of ``scores`` to the class proportions ``prior``.

    Equation (9) of Zhu, Ghahramani and Lafferty (2003) for any number of classes: row i is
    given to the class with the largest ``q_c f_ic / Σ_j f_jc``.

    Parameters
    ----------
    scores : array-like of shape (n_samples, n_classes)
        Non-negative scores of the unlabeled rows.
    prior : array-like of shape (n_classes,)
        The expected proportion q of each class.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        The scaled scores, each row divided by its sum.

    References
    ----------
    X. Zhu, Z. Ghahramani and J. Lafferty, "Semi-supervised learning using Gaussian fields
    and harmonic functions", ICML 2003, section 4.

    Examples
    --------
    >>> from leaven.graph_based import class_mass_normalization
    >>> class_mass_normalization([[0.9, 0.1], [0.7, 0.3]], [0.5, 0.5])
    array([[0.69230769, 0.30769231],
           [0.36842105, 0.63157895]])
    """
    F = np.asarray(scores)
    if F.dtype.kind != "f":
        F = F.astype(float)
    q = np.asarray(prior, dtype=float)
    if F.ndim != 2 or q.shape != (F.shape[1],):
        raise ValueError(f"scores has shape {F.shape}, but prior has shape {q.shape}.")
    if (F < 0).any() or (q < 0).any():
        raise ValueError("scores and prior must not be negative.")
    return normalize_rows(F * class_mass_factors(F, q).astype(F.dtype))
