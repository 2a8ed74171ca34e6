"""Passes over the class probabilities of many fits: by numba if it is there, else by NumPy.

Both agree but for rounding.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.registry import is_installed

LEAST_LOG = {np.dtype(np.float64): -600.0, np.dtype(np.float32): -80.0}
"""Least logarithm of which an exponential is taken. It is as good as 0 beside 1, and NumPy takes
up to thirty times as long where the result would underflow."""

PRODUCT_ROWS = {np.dtype(np.float64): 64, np.dtype(np.float32): 16}
"""Sums of class probabilities that are multiplied before a logarithm is taken of them: each is
between 1 and the number of classes, so that the product of so many is far from overflow."""


@lru_cache(maxsize=1)
def compiled() -> Any:
    """The module of compiled passes, or None without numba."""
    if not is_installed("numba"):
        return None
    try:
        from studies import curve_compiled
    except (ImportError, RuntimeError):
        # numba refuses versions of NumPy that it does not know, and functions to be kept where
        # nothing can be written.
        return None
    return curve_compiled


def by_log_odds(
    h: NDArray[Any], counts: NDArray[np.float32], first: int, distinct: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums of two classes whose log-odds are 2h.

    Parameters
    ----------
    h : array of shape (T, n_rows)
        Overwritten by ``n tanh h``, where n are the counts.
    counts : array of shape (T, n)
        How often each row counts in each fit.
    first : int
        The column of ``counts`` of the first row.
    distinct : bool
        Whether all counts are 0 or 1.

    Returns
    -------
    spread, logs : ndarray of shape (T,)
        ``Σ n |h|`` and ``Σ n log(1 + exp(-2 |h|))``.
    """
    spread, logs = np.zeros(len(h)), np.zeros(len(h))
    fast = compiled()
    if fast is not None:
        fast.by_log_odds(h, counts, first, distinct, spread, logs)
        return spread, logs
    n = counts[:, first : first + h.shape[1]]
    size = np.abs(h)
    spread += np.einsum("ij,ij->i", n, size)
    np.tanh(h, out=h)
    h *= n
    size *= -2.0
    total = 1.0 + np.exp(np.maximum(size, LEAST_LOG[h.dtype], out=size), out=size)
    return spread, _weighted_logs(total, n, distinct)


def by_classes(
    q: NDArray[Any], counts: NDArray[np.float32], first: int, distinct: bool
) -> NDArray[np.float64]:
    """Turn log-probabilities of any number of classes into weighted posteriors.

    Parameters
    ----------
    q : array of shape (n_classes, T, n_rows)
        ``log p(x, c)``, overwritten by ``n p(c | x)``.
    counts, first, distinct
        As of :func:`by_log_odds`.

    Returns
    -------
    logs : ndarray of shape (T,)
        ``Σ n log p(x)``.
    """
    logs = np.zeros(q.shape[1])
    fast = compiled()
    if fast is not None:
        fast.by_classes(q, counts, first, distinct, logs)
        return logs
    n = counts[:, first : first + q.shape[2]]
    top = q.max(axis=0)
    q -= top
    np.exp(np.maximum(q, LEAST_LOG[q.dtype], out=q), out=q)
    total = q.sum(axis=0)
    logs += np.einsum("ij,ij->i", n, top) + _weighted_logs(total, n, distinct)
    np.divide(n, total, out=total)
    q *= total
    return logs


def gaussian_model(
    sums: NDArray[np.float64],
    counts: NDArray[np.float64],
    omitted: NDArray[np.bool_],
    epsilon: NDArray[np.float64],
    center: NDArray[np.float64],
    least: float,
    lost: float = 0.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """M-step of Gaussian naive Bayes.

    Parameters
    ----------
    sums : array of shape (2 n_features, n_classes, T)
        Of the features and of their squares.
    counts : array of shape (n_classes, T)
        A class without weight has the mean ``center`` and variance 1, those of all rows.
    omitted : bool array of shape (n_features, T)
        Features that are left out.
    epsilon : array of shape (n_features,)
        What is added to variances.
    center : array of shape (n_features,)
    least : float
        The least variance.
    lost : float, default=0.0
        Degrees of freedom: a sum of squares is divided by what the weights exceed it, or by the
        weights where they do not.

    Returns
    -------
    coef, const : ndarray of shapes (2 n_features, n_classes, T) and (n_classes, T)
        ``log p(x | c) = coef @ (x, x²) + const``.
    noise : ndarray of shape (n_classes, T)
        ``-epsilon / (2 var)``, summed over the features.
    """
    d, fast = len(epsilon), compiled()
    if fast is not None:
        coef = np.empty(sums.shape)
        const, noise = np.zeros(counts.shape), np.zeros(counts.shape)
        fast.gaussian_model(
            sums, counts, omitted, epsilon, center, least, lost, (coef, const, noise)
        )
        return coef, const, noise
    alive = counts > 0
    weight = np.where(alive, counts, 1.0)
    mean = np.where(alive, sums[:d] / weight, center[:, None, None])
    added = epsilon[:, None, None]
    widened = weight / np.where(weight > lost, weight - lost, weight)
    var = np.maximum(sums[d:] / weight - mean**2, 0.0) * widened + added
    var = np.where(alive, np.maximum(var, least), 1.0)
    kept = ~omitted[:, None, :]
    precision = kept / var
    coef = np.concatenate([mean * precision, -0.5 * precision])
    const = -0.5 * (kept * np.log(2 * np.pi * var) + mean**2 * precision).sum(axis=0)
    return coef, const, -0.5 * (added * precision).sum(axis=0)


def _weighted_logs(
    values: NDArray[Any], counts: NDArray[np.float32], distinct: bool
) -> NDArray[np.float64]:
    """``Σ n log x``: logarithms of products, of which there are fewer, where n is 0 or 1."""
    if not distinct:
        return np.asarray(np.einsum("ij,ij->i", counts, np.log(values), dtype=np.float64))
    values = np.where(counts > 0, values, values.dtype.type(1))
    starts = np.arange(0, values.shape[1], PRODUCT_ROWS[values.dtype])
    products = np.multiply.reduceat(values, starts, axis=1)
    return np.asarray(np.log(products, out=products).sum(axis=1, dtype=np.float64))
