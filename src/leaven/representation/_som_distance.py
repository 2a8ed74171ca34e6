"""The distance of two feature maps, through distances on the lattice of the units."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.utils import gen_batches

LATTICE_METRICS = ("euclidean", "manhattan")
# Entries of a block of pairs × fields, so that the passes over it stay in the cache.
_BLOCK_ENTRIES = 1 << 16


def som_distance(
    A: Any, B: Any = None, *, lattice_metric: str = "euclidean", n_coordinates: int = 2
) -> Any:
    r"""Sum the lattice distances of the winners of each receptive field.

    .. math:: d(I, J) = \sum_{k=1}^{M} d_{SOM}(I(k), J(k))

    where :math:`I(k)` is the unit that field k of image I activates [1]_. Maps are given as
    :class:`SOMFeatureMap` makes them, with the coordinates of each winner side by side, so
    that archetypes, which lie between units, have a distance as well.

    The function is a metric for ``KNNGraph(metric=som_distance)``.

    Parameters
    ----------
    A : array-like of shape (n_a, n_fields * n_coordinates) or (n_fields * n_coordinates,)
    B : array-like of shape (n_b, n_fields * n_coordinates), or one map, default=None
        None stands for ``A``.
    lattice_metric : {"euclidean", "manhattan"}, default="euclidean"
        The distance of two units: straight, or the steps from unit to unit along rows and
        columns. The sum of the latter is the Manhattan distance of the maps.
    n_coordinates : int, default=2
        Coordinates of one field; 1 for a chain of units.

    Returns
    -------
    distance : float if both are one map, else ndarray of shape (n_a, n_b)
        Computed in blocks; no more than the result is held in memory.

    See Also
    --------
    SOMFeatureMap : Makes the maps.

    References
    ----------
    .. [1] L. Lefakis, "Transductive learning for document classification and handwritten
       character recognition", Utrecht University, section 3.4.3.

    Examples
    --------
    Two fields: the winners of the first are 3 rows and 4 columns apart, those of the second
    are the same unit.

    >>> from leaven.representation import som_distance
    >>> som_distance([0, 0, 7, 7], [3, 4, 7, 7])
    5.0
    >>> som_distance([0, 0, 7, 7], [3, 4, 7, 7], lattice_metric="manhattan")
    7.0
    """
    if lattice_metric not in LATTICE_METRICS:
        raise ValueError(
            f"lattice_metric must be one of {LATTICE_METRICS}, got {lattice_metric!r}."
        )
    left = _as_maps(A, n_coordinates, "A")
    right = left if B is None else _as_maps(B, n_coordinates, "B")
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"A has maps of {left.shape[1]} numbers, but B of {right.shape[1]}. Both must come "
            "from the same SOMFeatureMap."
        )
    one_pair = np.ndim(A) == 1 and (B is None or np.ndim(B) == 1)
    # Of one coordinate the two metrics are the same.
    if lattice_metric == "manhattan" or n_coordinates == 1:
        distance = cdist(left, right, "cityblock")
    elif one_pair:
        # scikit-learn's neighbor search asks for one pair after the other: the blocks below
        # would cost more than the sum.
        difference = (left - right).reshape(-1, n_coordinates)
        return float(np.sqrt(np.einsum("ij,ij->i", difference, difference)).sum())
    else:
        distance = _sum_of_norms(left, right, n_coordinates, symmetric=B is None)
    return float(distance[0, 0]) if one_pair else distance


# A graph builder may hand over blocks of rows instead of one pair after the other.
som_distance.accepts_matrices = True  # type: ignore[attr-defined]


def _as_maps(values: Any, n_coordinates: int, name: str) -> NDArray[Any]:
    maps = np.atleast_2d(np.asarray(values))
    if maps.dtype not in (np.float32, np.float64):
        maps = maps.astype(np.float64)
    if maps.ndim != 2 or maps.shape[1] % n_coordinates:
        raise ValueError(
            f"{name} has the shape {np.shape(values)}, but a map must have {n_coordinates} "
            "numbers a field, as SOMFeatureMap.transform gives them; see n_coordinates."
        )
    return maps


def _sum_of_norms(
    A: NDArray[Any], B: NDArray[Any], n_coordinates: int, *, symmetric: bool
) -> NDArray[Any]:
    """Sum the Euclidean norms of the groups of ``n_coordinates`` columns of ``A - B``."""
    dtype = np.result_type(A, B)
    n_fields = A.shape[1] // n_coordinates
    left = np.ascontiguousarray(A.reshape(len(A), n_fields, n_coordinates).transpose(2, 0, 1))
    right = np.ascontiguousarray(B.reshape(len(B), n_fields, n_coordinates).transpose(2, 0, 1))
    distance = np.zeros((len(A), len(B)), dtype=dtype)
    size = max(1, _BLOCK_ENTRIES // max(1, n_fields))
    squares = np.empty((min(size, len(B)), n_fields), dtype=dtype)
    part = np.empty_like(squares)
    ones = np.ones(n_fields, dtype=dtype)
    for columns in gen_batches(len(B), size):
        length = columns.stop - columns.start
        total, one = squares[:length], part[:length]
        # The distances of a set of maps to itself are symmetric: half of them are copied.
        for row in range(min(len(A), columns.stop) if symmetric else len(A)):
            np.subtract(right[0, columns], left[0, row], out=total)
            np.multiply(total, total, out=total)
            for coordinate in range(1, n_coordinates):
                np.subtract(right[coordinate, columns], left[coordinate, row], out=one)
                np.multiply(one, one, out=one)
                np.add(total, one, out=total)
            np.sqrt(total, out=total)
            np.dot(total, ones, out=distance[row, columns])
    if symmetric:
        for row in range(len(A)):
            distance[row, :row] = distance[:row, row]
    return distance
