"""Numbers of labels on a logarithmic scale, and the area under a curve over them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

LOG10_STEP = 0.05  # of Saeed (2018): twenty numbers of labels per power of ten


def label_schedule(n0: int, n: int, *, include_n: bool = False) -> list[int]:
    """Numbers of labels from ``n0`` to at most ``n``, about equally far apart in logarithms.

    ``unique(round(10 ** (log10(n0) : 0.05 : log10(n))))`` of algorithm 4 of [1]_, with the
    colon and the rounding (halves away from zero) of Matlab.

    Parameters
    ----------
    n0 : int
        Labels at the start, at least 1.
    n : int
        Labels that there are, at least ``n0``.
    include_n : bool, default=False
        End with ``n`` itself even if it is not on the grid, as step 2 of the algorithm has it.

    Returns
    -------
    sizes : list of int
        Strictly increasing.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 2.6.

    Examples
    --------
    >>> from leaven.evaluation import label_schedule
    >>> label_schedule(1, 10)
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    >>> label_schedule(4, 30)
    [4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 16, 18, 20, 22, 25, 28]
    >>> label_schedule(4, 30, include_n=True)[-2:]
    [28, 30]
    """
    for name, value in (("n0", n0), ("n", n)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{name} must be an integer, got {value!r}.")
    if not 1 <= n0 <= n:
        raise ValueError(f"n0={n0} and n={n}: they must satisfy 1 <= n0 <= n.")
    exponents = colon(math.log10(n0), LOG10_STEP, math.log10(n))
    sizes = {math.floor(10.0**exponent + 0.5) for exponent in exponents}
    # A power that should be n0 or n may be a hair off, but never by half a unit.
    sizes |= {int(n)} if include_n else set()
    return sorted(sizes)


def colon(start: float, step: float, stop: float) -> NDArray[np.float64]:
    """``start : step : stop`` as Matlab has it, for a positive step.

    The last point may pass ``stop`` by rounding errors and is then ``stop``; points of the
    second half are counted back from the last one, so that the grid is symmetric.
    """
    # Matlab's own: an end that is missed by rounding still belongs to the grid.
    tolerance = 2.0 * np.finfo(float).eps * max(abs(start), abs(stop))
    n = round((stop - start) / step)
    if start + n * step - stop > tolerance:
        n -= 1
    last = start + n * step
    if last - stop > -tolerance:
        last = stop
    forward = np.arange(n + 1, dtype=np.float64)
    points = start + forward * step
    second_half = forward > n // 2
    points[second_half] = last - (n - forward[second_half]) * step
    if n % 2 == 0:
        points[n // 2] = (start + last) / 2
    return points


def aulc(sizes: Any, errors: Any) -> Any:
    """Area under an error learning curve, over the base-2 logarithm of the number of labels.

    The trapezoids of equation (2.74) of [1]_,
    ``sum_t (e_t + e_{t+1}) / 2 * (log2 l_{t+1} - log2 l_t)``. Halving the error at all sizes
    halves it; a curve of one point has area 0.

    Parameters
    ----------
    sizes : array-like of shape (n_sizes,)
        Numbers of labels, positive and strictly increasing.
    errors : array-like of shape (..., n_sizes)
        Error rates, one curve a row.

    Returns
    -------
    area : float or ndarray
        One for each curve.

    See Also
    --------
    learning_curve : Makes the curves.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 2.6.

    Examples
    --------
    >>> from leaven.evaluation import aulc
    >>> aulc([1, 2, 8], [0.5, 0.3, 0.1])  # 0.4 * 1 + 0.2 * 2
    0.8
    """
    sizes = np.asarray(sizes, dtype=np.float64)
    errors = np.asarray(errors, dtype=np.float64)
    if sizes.ndim != 1 or not len(sizes) or (sizes <= 0).any() or (np.diff(sizes) <= 0).any():
        raise ValueError(
            "sizes must be a list of positive numbers, each larger than the one before; got "
            f"{sizes.tolist()}."
        )
    if errors.ndim == 0 or errors.shape[-1] != len(sizes):
        raise ValueError(
            f"errors has shape {errors.shape}, but there are {len(sizes)} sizes: give one error "
            "for each size in the last dimension."
        )
    widths = np.diff(np.log2(sizes))
    area = (errors[..., 1:] + errors[..., :-1]) / 2 @ widths
    return float(area) if np.ndim(area) == 0 else area
