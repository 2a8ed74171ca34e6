"""A classifier and the rows it learns from: those with a label, or the whole pool."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from leaven._labels import UNLABELED, mask_labels
from leaven.base import learns_from_unlabeled, needs_integer_labels, take_rows


class PoolModel:
    """Fits clones of an estimator as labels come in, and predicts in the user's classes.

    Parameters
    ----------
    estimator : classifier
        Never fitted itself.
    sees_pool : bool or "auto", default="auto"
        Whether ``fit`` of the estimator is given the unlabeled rows too; ``"auto"`` asks
        :func:`leaven.base.learns_from_unlabeled`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.semi_supervised import LabelPropagation
    >>> from leaven.active._model import PoolModel
    >>> model = PoolModel(LabelPropagation())
    >>> X, names = np.array([[0.0], [0.1], [5.0]]), np.array(["a", "b"], dtype=object)
    >>> model.fit(X, names, np.array([0, -1, 1])).predict(X)
    array(['a', 'a', 'b'], dtype=object)
    """

    def __init__(self, estimator: Any, *, sees_pool: bool | str = "auto") -> None:
        self.estimator = estimator
        self.sees_pool = (
            learns_from_unlabeled(estimator) if sees_pool == "auto" else bool(sees_pool)
        )
        self.warm = getattr(estimator, "warm_start", False) is True
        self.fitted: Any = None
        self.classes: NDArray[Any] = np.empty(0, dtype=object)
        self._encoded = False

    def training_set(
        self, X: Any, classes: NDArray[Any], codes: NDArray[np.intp]
    ) -> tuple[Any, NDArray[Any]]:
        """Give what the estimator is fitted on, unlabeled rows marked as it knows them."""
        known = codes != UNLABELED
        if not self.sees_pool:
            rows = np.flatnonzero(known)
            return take_rows(X, rows), classes[codes[rows]]
        if self._is_encoded(classes):
            return X, codes
        # The class of an unlabeled row is a stand-in that is hidden at once.
        return X, mask_labels(classes[codes], ~known)

    def fit(self, X: Any, classes: NDArray[Any], codes: NDArray[np.intp]) -> PoolModel:
        """Fit a new clone, or go on with the last one if the estimator has a warm start."""
        rows, y = self.training_set(X, classes, codes)
        if self.warm and self.fitted is not None and np.array_equal(self.classes, classes):
            self.fitted.fit(rows, y)
        else:
            self.fitted = clone(self.estimator).fit(rows, y)
        self.classes, self._encoded = classes, self._is_encoded(classes)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict, in the dtype of the classes."""
        predicted = np.asarray(self.fitted.predict(X))
        if self._encoded:
            return np.asarray(self.classes[predicted])
        # scikit-learn turns strings of dtype object into strings of a fixed length.
        return predicted.astype(self.classes.dtype, copy=False)

    def _is_encoded(self, classes: NDArray[Any]) -> bool:
        by_number = self.sees_pool and classes.dtype.kind not in "iu"
        return by_number and needs_integer_labels(self.estimator)
