"""A graph of the rows of a prepared table whose columns are weighted by the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from leaven.tables._scales import FeatureLayout, apply_scales, learn_scales, scales_use_labels


class ColumnWeightedGraph(BaseEstimator):
    """Weight the columns, by the labels that are there, and build a graph of the rows.

    So the weights of a fold are learned without the labels that it holds out.

    Parameters
    ----------
    graph : graph builder
        Builds the graph of the weighted rows.
    layout : FeatureLayout
    use_labels : bool, default=True
        Whether the weights are learned from the labels.
    scales : float32 array of shape (n_features,), optional
        Factors that are known already; then nothing is learned.
    random_state : int, default=0

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
        layout: FeatureLayout,
        *,
        use_labels: bool = True,
        scales: NDArray[np.float32] | None = None,
        random_state: int = 0,
    ) -> None:
        self.graph = graph
        self.layout = layout
        self.use_labels = use_labels
        self.scales = scales
        self.random_state = random_state

    def uses_labels(self) -> bool:
        """Whether the weights or the edges depend on the labels.

        Returns
        -------
        bool
        """
        # Of a single column, such as a text, one graph then serves all folds.
        learned = self.use_labels and self.scales is None and scales_use_labels(self.layout)
        return learned or self.graph.uses_labels()

    def fit(self, X: Any, y: Any = None) -> ColumnWeightedGraph:
        """Learn the weights and build the graph; ``y`` holds the codes of the classes."""
        codes = None if y is None or not self.use_labels else np.asarray(y, dtype=np.intp)
        scales = self.scales
        if scales is None:
            rng = check_random_state(self.random_state)
            scales = learn_scales(X, self.layout, codes, rng)[0]
        self.scales_ = scales
        self.builder_ = clone(self.graph).fit(apply_scales(X, scales), y)
        self.graph_ = self.builder_.graph_
        return self

    def weights_to(self, X_new: Any) -> Any:
        """Return the weights of the edges from new rows to the rows of ``fit``."""
        check_is_fitted(self, "graph_")
        return self.builder_.weights_to(apply_scales(X_new, self.scales_))
