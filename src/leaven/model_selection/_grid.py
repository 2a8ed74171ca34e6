"""Grids of values for one parameter, and how to look between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

SCALES = ("linear", "log")
TIES = ("smallest", "largest")


@dataclass(frozen=True)
class Grid:
    """Values of a first stage, and how to look between them in the next.

    ``ceiling`` is a bound above the largest value that the search may approach but not reach;
    None if it must not go above the largest value.
    """

    values: tuple[Any, ...]
    scale: str = "linear"
    ceiling: float | None = None
    stages: int = 1


PRESETS = {
    # Saeed (2018), section 4.3: [0, 1) in steps of 0.1, then of 0.01.
    "weight": Grid(tuple(k / 10 for k in range(10)), ceiling=1.0, stages=2),
    # Saeed (2018), section 5.4: 2 ** [-10 : 5].
    "slope": Grid(tuple(2.0**k for k in range(-10, 6)), scale="log"),
}


def make_grid(values: Any, stages: int | None, scale: str | None) -> Grid:
    """Check ``values`` and bring them into a :class:`Grid`; None stands for "weight"."""
    if values is None:
        values = "weight"
    if isinstance(values, str):
        if values not in PRESETS:
            raise ValueError(f"values must be an array or one of {tuple(PRESETS)}, got {values!r}.")
        grid = PRESETS[values]
    else:
        items = values.tolist() if isinstance(values, (np.ndarray, pd.Series)) else list(values)
        if not items:
            raise ValueError("values is empty: give at least one value to try.")
        grid = Grid(tuple(items))
    if scale is not None and (stages or grid.stages) == 1:
        raise ValueError(
            f"scale={scale!r} tells how to look between the values, which a single stage does not "
            "do. Leave it None, or use stages=2."
        )
    grid = replace(grid, scale=scale or grid.scale, stages=stages or grid.stages)
    if grid.stages > 1 and not are_numbers(grid.values):
        raise ValueError(
            f"stages={grid.stages} looks between the values, which needs finite numbers; got "
            f"{list(grid.values)}. Use stages=1."
        )
    if grid.stages > 1 and grid.scale == "log" and min(grid.values) <= 0:
        raise ValueError(
            f"scale='log' needs values above 0, got {min(grid.values)!r}. Use scale='linear'."
        )
    return grid


def refine(values: Sequence[float], best: float, grid: Grid) -> list[float]:
    """Split the gaps on both sides of ``best`` into ten parts.

    Between the neighbors of ``best`` among ``values`` lie nine new points on each side. On the
    left of the smallest value there are none, and on the right of the largest only if
    ``grid.ceiling`` is above it. Integers stay integers.

    Examples
    --------
    >>> from leaven.model_selection._grid import Grid, refine
    >>> refine([0.0, 0.5, 1.0], 0.0, Grid((0.0, 0.5, 1.0)))
    [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45]
    >>> refine([1, 4, 7], 4, Grid((1, 4, 7)))
    [2, 3, 5, 6]
    """
    below = max((v for v in values if v < best), default=None)
    above = min((v for v in values if v > best), default=grid.ceiling)
    new: list[float] = []
    for low, high in ((below, best), (best, above)):
        if low is None or high is None:
            continue
        space = np.geomspace if grid.scale == "log" else np.linspace
        inner = space(low, high, 11)[1:-1]
        if all(isinstance(v, Integral) for v in values):
            new += [v for v in np.unique(np.rint(inner).astype(int)).tolist() if low < v < high]
        else:
            # 0.1 + 2 * 0.01 is 0.12000000000000001: twelve digits are enough, and readable.
            new += [float(f"{v:.12g}") for v in inner]
    return new


def pick_best(values: Sequence[Any], scores: NDArray[np.float64], ties: str) -> int:
    """Position of the best score; of equal scores, that of the smallest or largest value.

    Values that are not numbers are ordered as they stand.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.model_selection._grid import pick_best
    >>> pick_best([0.3, 0.1, 0.2], np.array([0.9, 0.9, 0.7]), "smallest")
    1
    """
    # Means of the same fold scores may differ in the last digit by the order of summation.
    tied = np.flatnonzero(np.isclose(scores, np.nanmax(scores), rtol=1e-12, atol=1e-12)).tolist()
    order = [values[i] for i in tied] if are_numbers(values) else tied
    chosen = min(order) if ties == "smallest" else max(order)
    return int(tied[order.index(chosen)])


def are_numbers(values: Sequence[Any]) -> bool:
    """Whether all are finite numbers (True and False are not)."""
    return all(
        isinstance(v, Real) and not isinstance(v, (bool, np.bool_)) and math.isfinite(v)
        for v in values
    )
