"""Edge weights: how alike two joined rows are.

A weight turns the distance of two rows into a similarity. Some need more than the
distance (the rows themselves, or how densely the data lie around each end), and some learn
a bandwidth from the data; a builder gives them that through :class:`Edges`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone

# Edges weighed at once: 30 columns of both ends take 30 MB, about what a cache holds.
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Edges:
    """The directed edges that a builder wants weighed, and what is known of their ends.

    Parameters
    ----------
    distance : ndarray of shape (n_edges,)
        In the builder's metric.
    row, col : ndarray of shape (n_edges,)
        The edge goes from row ``row`` of ``X`` to row ``col`` of ``Y``.
    X, Y : dense or sparse matrix, optional
    row_scale, col_scale : ndarray, optional
        The distance of each row of ``X`` (``Y``) to its farthest chosen neighbor.
    metric : str or callable
    """

    distance: NDArray[Any]
    row: NDArray[Any]
    col: NDArray[Any]
    X: Any = None
    Y: Any = None
    row_scale: NDArray[Any] | None = None
    col_scale: NDArray[Any] | None = None
    metric: Any = "euclidean"

    def take(self, kept: NDArray[np.bool_]) -> Edges:
        """Return some of the edges."""
        return replace(self, distance=self.distance[kept], row=self.row[kept], col=self.col[kept])

    def chunks(self) -> Iterator[tuple[slice, Any, Any]]:
        """Yield ``(where, X rows, Y rows)`` in pieces that fit into the cache."""
        for start in range(0, len(self.row), _CHUNK):
            where = slice(start, min(start + _CHUNK, len(self.row)))
            yield where, self.X[self.row[where]], self.Y[self.col[where]]

    def cosine(self) -> NDArray[Any]:
        """Cosine similarity of the two ends of each edge."""
        if isinstance(self.metric, str) and self.metric == "cosine":
            return 1.0 - self.distance
        if self.X is None:
            raise ValueError("Cosine weights need the rows, or metric='cosine'.")
        cosine = np.empty(len(self.row), dtype=self.distance.dtype)
        for where, A, B in self.chunks():
            dot, a, b = _row_dot(A, B), _row_dot(A, A), _row_dot(B, B)
            norm = np.sqrt(a * b)
            cosine[where] = dot / np.where(norm == 0, 1.0, norm)
        return cosine


def _row_dot(A: Any, B: Any) -> NDArray[Any]:
    if sparse.issparse(A):
        return np.asarray(A.multiply(B).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", A, B))


class EdgeWeight(BaseEstimator):
    """Base of the weights: ``fit`` learns a bandwidth where there is one.

    ``weight(distances)`` weighs plain distances; ``weight(edges)`` with :class:`Edges` is
    what builders call. A weight of your own defines ``weigh(edges)``.

    Examples
    --------
    >>> from leaven.graph import EdgeWeight, KNNGraph
    >>> class Reciprocal(EdgeWeight):
    ...     def weigh(self, edges):
    ...         return 1.0 / edges.distance
    >>> KNNGraph(1, weight=Reciprocal()).build([[0.0], [4.0]]).adjacency.toarray()
    array([[0.  , 0.25],
           [0.25, 0.  ]])
    """

    zero_means_far = True
    """Whether a weight of zero is an underflow: the rows are far apart, but how far they are
    still says which is the nearest. False where zero means that rows have nothing in common."""

    def fit(self, edges: Edges) -> EdgeWeight:
        """Learn what the weight takes from the data (for most of them: nothing)."""
        return self

    def __call__(self, edges: Edges | ArrayLike) -> NDArray[Any]:
        """Weigh distances, or :class:`Edges`."""
        return self.weigh(edges if isinstance(edges, Edges) else _plain(edges))

    def weigh(self, edges: Edges) -> NDArray[Any]:
        """Weigh edges; each weight has its own."""
        raise AssertionError(f"{type(self).__name__} must define weigh")


def _plain(distances: ArrayLike) -> Edges:
    distance = np.asarray(distances)
    if distance.dtype.kind != "f":
        distance = distance.astype(float)
    index = np.arange(distance.size)
    return Edges(distance=distance, row=index, col=index)


class Binary(EdgeWeight):
    """Every edge weighs 1.

    Examples
    --------
    >>> from leaven.graph import Binary
    >>> Binary()([0.5, 3.0])
    array([1., 1.])
    """

    def weigh(self, edges: Edges) -> NDArray[Any]:
        """Return ones."""
        return np.ones_like(edges.distance)


BANDWIDTH_RULES = ("local", "median", "n_features")


class Gaussian(EdgeWeight):
    """Gaussian weight ``w_ij = exp(-d_ij² / (2 σ_i σ_j))``.

    Parameters
    ----------
    bandwidth : float or {"local", "median", "n_features"}, default="local"
        The bandwidth σ, or a rule that finds it in ``fit``:

        - ``"local"``: local scaling (Zelnik-Manor and Perona, 2004). Each row has its own
          σ_i, in proportion to its distance to the farthest of its neighbors;
        - ``"median"``: the median distance over the edges;
        - ``"n_features"``: the number of features (Nguyen, 2019, section 3.5).
    factor : float, default=None
        The bandwidth is multiplied by this; smaller is sharper. None is ``1 / √8`` for the
        local rule, which makes the weight ``exp(-4 d_ij² / (r_i r_j))`` with r the distance
        to the farthest neighbor, and 1 for the others. Of the factors from 0.35 to 1 and of
        binary weights this was the best on digits at every number of labels.

    Attributes
    ----------
    bandwidth_ : float or None
        The bandwidth in use; None for the local rule, which has one a row.

    Examples
    --------
    >>> from leaven.graph import Gaussian
    >>> Gaussian(bandwidth=2.0)([0.0, 2.0]).round(4)
    array([1.    , 0.6065])
    """

    bandwidth_: float | None

    def __init__(self, bandwidth: float | str = "local", *, factor: float | None = None) -> None:
        self.bandwidth = bandwidth
        self.factor = factor

    def fit(self, edges: Edges) -> Gaussian:
        """Find the bandwidth by the rule, if it is not given as a number."""
        if self.factor is not None and not self.factor > 0:
            raise ValueError(f"factor must be positive, got {self.factor!r}.")
        if isinstance(self.bandwidth, str):
            self.bandwidth_ = self._by_rule(edges)
        else:
            if not self.bandwidth > 0:
                raise ValueError(
                    f"bandwidth must be a positive number or one of {BANDWIDTH_RULES}, "
                    f"got {self.bandwidth!r}."
                )
            self.bandwidth_ = float(self.bandwidth) * self._factor()
        return self

    def _factor(self) -> float:
        if self.factor is not None:
            return self.factor
        return 1.0 / np.sqrt(8.0) if self.bandwidth == "local" else 1.0

    def _by_rule(self, edges: Edges) -> float | None:
        if self.bandwidth == "local":
            if edges.row_scale is None or edges.col_scale is None:
                raise ValueError("bandwidth='local' needs a graph builder; give a number here.")
            positive = edges.row_scale[edges.row_scale > 0]
            # Rows with more copies than neighbors have scale zero. Without a floor their
            # edges to everything else would vanish, and the copies be cut off.
            # A tenth keeps them an order of magnitude narrower than the typical row.
            self._floor = 0.1 * float(np.median(positive)) if len(positive) else 1.0
            return None
        if self.bandwidth == "median":
            distance = edges.distance[edges.distance > 0]
            return self._factor() * (float(np.median(distance)) if len(distance) else 1.0)
        if self.bandwidth == "n_features":
            if edges.X is None:
                raise ValueError("bandwidth='n_features' needs a graph builder.")
            return self._factor() * float(edges.X.shape[1])
        raise ValueError(
            f"bandwidth must be a positive number or one of {BANDWIDTH_RULES}, "
            f"got {self.bandwidth!r}."
        )

    def weigh(self, edges: Edges) -> NDArray[Any]:
        """Return ``exp(-d² / (2 σ_i σ_j))``."""
        if not hasattr(self, "bandwidth_"):
            return np.asarray(clone(self).fit(edges).weigh(edges))
        d = edges.distance
        if self.bandwidth_ is not None:
            return _gaussian(d, d.dtype.type(np.sqrt(2.0) * self.bandwidth_))
        assert edges.row_scale is not None
        assert edges.col_scale is not None
        # The root of each scale, so that no product overflows where distances are huge.
        left = np.sqrt(np.maximum(edges.row_scale, self._floor) * (np.sqrt(2.0) * self._factor()))
        right = np.sqrt(np.maximum(edges.col_scale, self._floor) * (np.sqrt(2.0) * self._factor()))
        width = (left[edges.row] * right[edges.col]).astype(d.dtype, copy=False)
        return _gaussian(d, width)


def _gaussian(distance: NDArray[Any], width: Any) -> NDArray[Any]:
    """Return ``exp(-(distance / width)²)``; far rows underflow to zero without a warning."""
    with np.errstate(over="ignore", under="ignore"):
        # Divided before it is squared: the squares of huge distances would overflow.
        ratio = distance / width
        return np.asarray(np.exp(-(ratio * ratio)))


class AnisotropicGaussian(EdgeWeight):
    """Gaussian weight with a length scale for each feature.

    ``w_ij = exp(-Σ_d (x_id - x_jd)² / σ_d²)``, equation (1) of Zhu, Ghahramani and
    Lafferty (2003). Note that there is no factor 2 in this form.

    Parameters
    ----------
    length_scales : float or array-like of shape (n_features,), default=1.0
        A single number serves all features. Infinity leaves a feature out.

    Examples
    --------
    >>> from leaven.graph import AnisotropicGaussian, FullGraph
    >>> weight = AnisotropicGaussian(length_scales=[1.0, float("inf")])
    >>> FullGraph(weight=weight).build([[0.0, 5.0], [1.0, 7.0]]).adjacency[0, 1].round(4).item()
    0.3679
    """

    def __init__(self, length_scales: float | ArrayLike = 1.0) -> None:
        self.length_scales = length_scales

    def fit(self, edges: Edges) -> AnisotropicGaussian:
        """Check the length scales against the number of features."""
        scales = np.asarray(self.length_scales, dtype=float)
        if np.isnan(scales).any() or (scales <= 0).any():
            raise ValueError("length_scales must be positive.")
        if scales.ndim and edges.X is not None and scales.shape != (edges.X.shape[1],):
            raise ValueError(
                f"length_scales has shape {scales.shape}, but X has {edges.X.shape[1]} features."
            )
        return self

    def weigh(self, edges: Edges) -> NDArray[Any]:
        """Return the weight of each pair of rows."""
        self.fit(edges)
        if edges.X is None:
            scales = np.asarray(self.length_scales, dtype=float)
            if scales.ndim:
                raise ValueError("Weights with a length scale a feature need a graph builder.")
            return _gaussian(edges.distance, scales)
        inverse = 1.0 / np.broadcast_to(
            np.asarray(self.length_scales, dtype=float), (edges.X.shape[1],)
        )
        exponent = np.empty(len(edges.row), dtype=edges.distance.dtype)
        for where, A, B in edges.chunks():
            D = A - B
            D = D.multiply(inverse).tocsr() if sparse.issparse(D) else D * inverse
            with np.errstate(over="ignore"):
                exponent[where] = _row_dot(D, D)
        return np.exp(-exponent)


class Arctan(EdgeWeight):
    """Soft cut-off at a distance, ``w = 1/2 - arctan(α₁ (d - α₂)) / π``.

    It falls from near 1 to near 0 around the distance α₂, the faster the larger α₁.

    Parameters
    ----------
    slope : float, default=1.0
        α₁.
    position : float or "median", default="median"
        α₂, or the median distance over the edges.

    Notes
    -----
    The course that lists this weight prints ``2 arctan(α₁ (d - α₂) - 1) / π + 1``, which
    grows with the distance and exceeds 1: a misprint, since a weight is a similarity. The
    form here is the one its text describes (slope α₁, cut at α₂), scaled to (0, 1).

    Examples
    --------
    >>> from leaven.graph import Arctan
    >>> Arctan(slope=1.0, position=2.0)([1.0, 2.0, 3.0])
    array([0.75, 0.5 , 0.25])
    """

    position_: float

    def __init__(self, slope: float = 1.0, position: float | str = "median") -> None:
        self.slope = slope
        self.position = position

    def fit(self, edges: Edges) -> Arctan:
        """Find the position of the cut."""
        if not self.slope > 0:
            raise ValueError(f"slope must be positive, got {self.slope!r}.")
        if isinstance(self.position, str):
            if self.position != "median":
                raise ValueError(f"position must be a number or 'median', got {self.position!r}.")
            self.position_ = float(np.median(edges.distance)) if len(edges.distance) else 0.0
        else:
            self.position_ = float(self.position)
        return self

    def weigh(self, edges: Edges) -> NDArray[Any]:
        """Return the soft step."""
        if not hasattr(self, "position_"):
            return np.asarray(clone(self).fit(edges).weigh(edges))
        d = edges.distance
        return (0.5 - np.arctan(self.slope * (d - self.position_)) / np.pi).astype(d.dtype)


class Cosine(EdgeWeight):
    """Cosine similarity of the two rows; a negative one is no edge.

    Plain distances are taken as cosine distances, ``1 - cos``.

    Examples
    --------
    >>> from leaven.graph import Cosine, KNNGraph
    >>> KNNGraph(1, metric="cosine", weight=Cosine()).build([[1.0, 0.0], [3.0, 4.0]]).degree
    array([0.6, 0.6])
    """

    zero_means_far = False

    def weigh(self, edges: Edges) -> NDArray[Any]:
        """Return ``max(0, cos)``."""
        return np.asarray(np.maximum(_cosine_of(edges), 0.0))


class ExponentialCosine(EdgeWeight):
    """``w = exp(-(1 - cos) / τ)``, equation (16) of Zhu, Ghahramani and Lafferty (2003).

    Parameters
    ----------
    temperature : float, default=0.03
        τ, the value of the paper for tf-idf documents.

    Examples
    --------
    >>> from leaven.graph import ExponentialCosine
    >>> ExponentialCosine()([0.0, 0.03]).round(4)
    array([1.    , 0.3679])
    """

    def __init__(self, temperature: float = 0.03) -> None:
        self.temperature = temperature

    def weigh(self, edges: Edges) -> NDArray[Any]:
        """Return ``exp(-(1 - cos) / τ)``."""
        if not self.temperature > 0:
            raise ValueError(f"temperature must be positive, got {self.temperature!r}.")
        return np.exp((_cosine_of(edges) - 1.0) / self.temperature)


class NormalizedCosine(EdgeWeight):
    """Cosine similarity divided by its sum over the neighbors of the row.

    ``w_ij = cos(i, j) / Σ_{m in kNN(i)} cos(i, m)`` (Lefakis, section 2.4.3; Joachims,
    2003). It differs at the two ends of an edge; the builder's ``symmetrize`` settles it.

    Examples
    --------
    >>> from leaven.graph import KNNGraph, NormalizedCosine
    >>> X = [[1.0, 0.0], [3.0, 4.0], [0.0, 1.0]]
    >>> graph = KNNGraph(2, metric="cosine", weight=NormalizedCosine(), symmetrize="mean")
    >>> graph.build(X).adjacency[0, 1].round(4).item()
    0.7143
    """

    zero_means_far = False

    def weigh(self, edges: Edges) -> NDArray[Any]:
        """Return the share of each neighbor in the similarity of its row."""
        # A share of a negative similarity has no meaning; such a neighbor has none.
        cosine = np.maximum(_cosine_of(edges), 0.0)
        total = np.bincount(edges.row, weights=cosine)[edges.row].astype(cosine.dtype)
        return np.asarray(cosine / np.where(total == 0, 1.0, total))


class InverseDistance(EdgeWeight):
    """Euclidean similarity ``w = 1 / (1 + d)``.

    Examples
    --------
    >>> from leaven.graph import InverseDistance
    >>> InverseDistance()([0.0, 3.0])
    array([1.  , 0.25])
    """

    def weigh(self, edges: Edges) -> NDArray[Any]:
        """Return ``1 / (1 + d)``."""
        return 1.0 / (1.0 + edges.distance)


def _cosine_of(edges: Edges) -> NDArray[Any]:
    return 1.0 - edges.distance if edges.X is None else edges.cosine()


_BY_NAME: dict[str, type[EdgeWeight]] = {
    "binary": Binary,
    "gaussian": Gaussian,
    "cosine": Cosine,
    "exponential-cosine": ExponentialCosine,
    "normalized-cosine": NormalizedCosine,
    "inverse-distance": InverseDistance,
    "arctan": Arctan,
}


def as_weight(weight: Any) -> EdgeWeight:
    """Return a fresh weight for a builder: a clone of an object, or one made by its name."""
    if isinstance(weight, str):
        if weight not in _BY_NAME:
            raise ValueError(f"weight must be one of {sorted(_BY_NAME)}, got {weight!r}.")
        return _BY_NAME[weight]()
    if not isinstance(weight, EdgeWeight):
        raise TypeError(
            f"weight must be a name or a weight such as leaven.graph.Gaussian(), got {weight!r}."
        )
    copy: EdgeWeight = clone(weight)
    return copy
