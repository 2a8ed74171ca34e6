"""Weighing the columns of a prepared table, as a whole or anew for each set of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from leaven._labels import UNLABELED
from leaven.tables._weights import (
    block_weights,
    class_separation,
    column_weights,
    distance_spread,
    level_weight,
)

_MOST_KEPT = 64


@dataclass(frozen=True, eq=False)
class Layout:
    """Which feature of a prepared table belongs to which column.

    Parameters
    ----------
    names : tuple of str
        The columns in use.
    column_of, block_of : int arrays of shape (n_features,)
        Column and block of each feature. All columns that are not texts are one block, the
        first; each text is one.
    is_flag : bool array of shape (n_features,)
        Features that are levels or say what is missing.
    n_flags : int
        Of how many columns these are.
    has_structured : bool
        Whether there is a column that is not a text.
    """

    names: tuple[str, ...]
    column_of: NDArray[np.intp]
    block_of: NDArray[np.intp]
    is_flag: NDArray[np.bool_]
    n_flags: int
    has_structured: bool

    def __deepcopy__(self, memo: dict[int, Any]) -> Layout:
        # Nothing in it changes: the clones of an estimator may share it.
        return self


def learn_scales(
    Z: Any, layout: Layout, codes: NDArray[np.intp] | None, rng: np.random.RandomState
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Find how much each column counts in the distance of two rows.

    Parameters
    ----------
    Z : dense or CSR matrix of shape (n_samples, n_features)
        Not weighed.
    layout : Layout
    codes : ndarray of shape (n_samples,) or None
        Labels, which let the columns count more in which the classes differ.
    rng : RandomState

    Returns
    -------
    scales : float32 array of shape (n_features,)
        The factor of each feature.
    weights : ndarray of shape (n_columns,)
        Of the squared distance, by column.
    """
    column_of, block_of = layout.column_of, layout.block_of
    n_columns, n_blocks = len(layout.names), int(block_of.max()) + 1
    weights: NDArray[np.float64] = np.ones(n_columns)
    structured = np.unique(column_of[block_of == 0]) if layout.has_structured else column_of[:0]
    if codes is not None and len(structured) > 1:
        separation = class_separation(Z, codes, column_of, n_columns)
        if separation is not None:
            spread = distance_spread(Z, column_of, n_columns, rng)
            weights[structured] = column_weights(
                separation[structured], spread[structured], _labels_per_class(codes)
            )
    scales = np.sqrt(weights[column_of]).astype(np.float32)
    is_flag = layout.is_flag
    is_number = (block_of == 0) & ~is_flag if layout.has_structured else is_flag
    if layout.n_flags and is_number.any():
        numbers = _dense_columns(Z, is_number) * scales[is_number]
        factor = level_weight(numbers, layout.n_flags, rng)
        scales[is_flag] *= np.float32(np.sqrt(factor))
        weights[np.setdiff1d(column_of[is_flag], column_of[is_number])] *= factor
    if n_blocks > 1:
        weighted = scaled(Z, scales)
        separation = (
            None if codes is None else class_separation(weighted, codes, block_of, n_blocks)
        )
        spread = distance_spread(weighted, block_of, n_blocks, rng)
        by_block = block_weights(separation, spread)
        scales *= np.sqrt(by_block[block_of]).astype(np.float32)
        first = np.unique(column_of, return_index=True)[1]
        weights = weights * by_block[block_of[first]]
    return scales, weights


def scaled(Z: Any, scales: NDArray[np.float32], *, copy: bool = True) -> Any:
    """Multiply each feature by its factor.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.tables._weigh import scaled
    >>> scaled(np.ones((2, 2), dtype=np.float32), np.float32([1, 3]))
    array([[1., 3.],
           [1., 3.]], dtype=float32)
    """
    if copy:
        Z = Z.copy()
    if sparse.issparse(Z):
        Z.data *= scales[Z.indices]
    else:
        Z *= scales
    return Z


class FixedScale(TransformerMixin, BaseEstimator):
    """Multiply each feature by a factor that is known.

    Parameters
    ----------
    scales : float32 array of shape (n_features,)
    """

    def __init__(self, scales: NDArray[np.float32]) -> None:
        self.scales = scales

    def fit(self, X: Any, y: Any = None) -> FixedScale:
        """Learn nothing."""
        return self

    def transform(self, X: Any) -> Any:
        """Return the scaled rows."""
        return scaled(X, self.scales)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class GraphCache:
    """Graphs that several candidates share, by the labels that they were built with.

    Clones of an estimator share it; a copy in another process is its own and starts empty.
    """

    def __init__(self) -> None:
        self._kept: dict[bytes, Any] = {}

    def get(self, codes: NDArray[np.intp]) -> Any:
        """Return what was built with these labels, or None."""
        return self._kept.get(codes.tobytes())

    def put(self, codes: NDArray[np.intp], built: Any) -> None:
        """Keep what was built."""
        while len(self._kept) >= _MOST_KEPT:
            self._kept.pop(next(iter(self._kept)))
        self._kept[codes.tobytes()] = built

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphCache:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"_kept": {}}


class WeighedGraph(BaseEstimator):
    """Weigh the columns, by the labels that are there, and build a graph of the rows.

    So the weights of a fold are learned without the labels that it holds back.

    Parameters
    ----------
    graph : graph builder
        Builds the graph of the weighed rows.
    layout : Layout
    use_labels : bool, default=True
        Whether the labels have a say in the weights.
    scales : float32 array of shape (n_features,), optional
        Factors that are known already; then nothing is learned.
    random_state : int, default=0
    cache : GraphCache, optional

    Attributes
    ----------
    graph_ : Graph
    builder_ : graph builder
        Fitted.
    scales_ : float32 array of shape (n_features,)
    """

    uses_features = True
    scales_: NDArray[np.float32]

    def __init__(
        self,
        graph: Any,
        layout: Layout,
        *,
        use_labels: bool = True,
        scales: NDArray[np.float32] | None = None,
        random_state: int = 0,
        cache: GraphCache | None = None,
    ) -> None:
        self.graph = graph
        self.layout = layout
        self.use_labels = use_labels
        self.scales = scales
        self.random_state = random_state
        self.cache = cache

    def _uses_labels(self) -> bool:
        return self.use_labels or bool(getattr(self.graph, "include_labeled", False))

    def fit(self, X: Any, y: Any = None) -> WeighedGraph:
        """Learn the weights and build the graph; ``y`` holds the codes of the classes."""
        codes = None if y is None or not self.use_labels else np.asarray(y, dtype=np.intp)
        found = None if self.cache is None or codes is None else self.cache.get(codes)
        if found is None:
            scales = self.scales
            if scales is None:
                rng = check_random_state(self.random_state)
                scales = learn_scales(X, self.layout, codes, rng)[0]
            found = clone(self.graph).fit(scaled(X, scales), y), scales
            if self.cache is not None and codes is not None:
                self.cache.put(codes, found)
        self.builder_, self.scales_ = found
        self.graph_ = self.builder_.graph_
        return self

    def weights_to(self, X_new: Any) -> Any:
        """Return the weights of the edges from new rows to the rows of ``fit``."""
        check_is_fitted(self, "graph_")
        return self.builder_.weights_to(scaled(X_new, self.scales_))


def _dense_columns(Z: Any, columns: NDArray[np.bool_]) -> NDArray[np.float32]:
    chosen = Z[:, np.flatnonzero(columns)]
    return np.asarray(chosen.toarray() if sparse.issparse(chosen) else chosen)


def _labels_per_class(codes: NDArray[np.intp]) -> float:
    if not (codes != UNLABELED).any():
        return 1.0
    return float((codes != UNLABELED).sum() / (codes.max() + 1))
