"""Factors of the features of a prepared table, by which its columns are weighted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from leaven._labels import UNLABELED
from leaven.tables._column_weights import (
    block_weights,
    category_weight,
    class_separation,
    column_weights,
    distance_spread,
)


@dataclass(frozen=True, eq=False)
class FeatureLayout:
    """Which feature of a prepared table belongs to which column.

    Parameters
    ----------
    names : tuple of str
        The columns in use.
    column_of, block_of : int arrays of shape (n_features,)
        Column and block of each feature. All columns that are not texts are one block, the
        first; each text is one.
    is_flag : bool array of shape (n_features,)
        Features that are categories or say what is missing.
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

    def __deepcopy__(self, memo: dict[int, Any]) -> FeatureLayout:
        # Nothing in it changes: the clones of an estimator may share it.
        return self


def learn_scales(
    Z: Any, layout: FeatureLayout, codes: NDArray[np.intp] | None, rng: np.random.RandomState
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Find how much each column counts in the distance of two rows.

    Parameters
    ----------
    Z : dense or CSR matrix of shape (n_samples, n_features)
        Not weighted.
    layout : FeatureLayout
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
    structured = _structured(layout)
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
        factor = category_weight(numbers, layout.n_flags, rng)
        scales[is_flag] *= np.float32(np.sqrt(factor))
        weights[np.setdiff1d(column_of[is_flag], column_of[is_number])] *= factor
    if n_blocks > 1:
        weighted = apply_scales(Z, scales)
        separation = (
            None if codes is None else class_separation(weighted, codes, block_of, n_blocks)
        )
        spread = distance_spread(weighted, block_of, n_blocks, rng)
        by_block = block_weights(separation, spread)
        scales *= np.sqrt(by_block[block_of]).astype(np.float32)
        first = np.unique(column_of, return_index=True)[1]
        weights = weights * by_block[block_of[first]]
    return scales, weights


def scales_use_labels(layout: FeatureLayout) -> bool:
    """Whether labels can change the factors: a single column counts the same whatever they are.

    Parameters
    ----------
    layout : FeatureLayout

    Returns
    -------
    bool
    """
    return int(layout.block_of.max()) > 0 or len(_structured(layout)) > 1


def _structured(layout: FeatureLayout) -> NDArray[np.intp]:
    """The columns that are neither texts nor vectors."""
    if not layout.has_structured:
        return layout.column_of[:0]
    return np.unique(layout.column_of[layout.block_of == 0])


def column_weights_of(
    layout: FeatureLayout, scales: NDArray[np.floating[Any]] | None
) -> dict[str, float]:
    """How much each column counts in the squared distance, from the factors of the features.

    A column whose missing cells are marked by a further feature counts as its values do.
    Without factors every column counts as one.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.tables._scales import FeatureLayout, column_weights_of
    >>> column_of = np.array([0, 1, 1])
    >>> layout = FeatureLayout(
    ...     ("size", "color"), column_of, np.zeros(3, int), column_of == 1, n_flags=1,
    ...     has_structured=True,
    ... )
    >>> column_weights_of(layout, np.array([2.0, 0.5, 0.5]))
    {'size': 4.0, 'color': 0.25}
    """
    if scales is None:
        return dict.fromkeys(layout.names, 1.0)
    # Sorted by column and then by flag, the first feature of a column is one of its values.
    order = np.lexsort((layout.is_flag, layout.column_of))
    columns, first = np.unique(layout.column_of[order], return_index=True)
    weights = np.asarray(scales, dtype=np.float64)[order[first]] ** 2
    return {
        layout.names[column]: float(weight) for column, weight in zip(columns, weights, strict=True)
    }


def apply_scales(Z: Any, scales: NDArray[np.float32], *, copy: bool = True) -> Any:
    """Multiply each feature by its factor.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.tables._scales import apply_scales
    >>> apply_scales(np.ones((2, 2), dtype=np.float32), np.float32([1, 3]))
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


class FixedScaler(TransformerMixin, BaseEstimator):
    """Multiply each feature by a factor that is known.

    Parameters
    ----------
    scales : float32 array of shape (n_features,)
    """

    def __init__(self, scales: NDArray[np.float32]) -> None:
        self.scales = scales

    def fit(self, X: Any, y: Any = None) -> FixedScaler:
        """Learn nothing."""
        return self

    def transform(self, X: Any) -> Any:
        """Return the scaled rows."""
        return apply_scales(X, self.scales)

    @property
    def scales_(self) -> NDArray[np.float32]:
        """The factors."""
        return self.scales

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _dense_columns(Z: Any, columns: NDArray[np.bool_]) -> NDArray[np.float32]:
    chosen = Z[:, np.flatnonzero(columns)]
    return np.asarray(chosen.toarray() if sparse.issparse(chosen) else chosen)


def _labels_per_class(codes: NDArray[np.intp]) -> float:
    if not (codes != UNLABELED).any():
        return 1.0
    return float((codes != UNLABELED).sum() / (codes.max() + 1))
