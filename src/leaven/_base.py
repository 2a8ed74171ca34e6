"""What every classifier of leaven shares: checking ``X`` and ``y``, and the transduction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, validate_data

from leaven._compat import validate_params_of
from leaven._labels import UNLABELED, encode_labels, one_hot


class TransductionMixin(ClassifierMixin):
    """Gives a classifier ``transduction_``, ``label_distributions_`` and ``predict``.

    A class that uses it calls :meth:`_validate_fit` first in ``fit`` and
    :meth:`_store_transduction` last, and defines ``predict_proba``.
    """

    classes_: NDArray[Any]
    label_distributions_: NDArray[Any]
    transduction_: NDArray[Any]

    def _validate_fit(
        self, X: Any, y: Any, *, min_classes: int = 2, **check_params: Any
    ) -> tuple[Any, NDArray[np.intp]]:
        """Check parameters and data; set ``classes_`` and ``n_features_in_``.

        ``check_params`` go to :func:`sklearn.utils.validation.check_array`. Returns the
        checked ``X`` and the codes of ``y``, where ``UNLABELED`` marks an unlabeled row.
        """
        if hasattr(self, "_parameter_constraints"):
            validate_params_of(self)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Give "
                "one entry a row, with a label or a mark for 'unlabeled'."
            )
        X = validate_data(self, X, **check_params)
        self.classes_, codes = encode_labels(y, min_classes=min_classes)
        check_consistent_length(X, codes)
        return X, codes

    def _store_transduction(
        self, distributions: NDArray[Any], codes: NDArray[np.intp], *, keep_given: bool = True
    ) -> None:
        """Set ``label_distributions_`` and ``transduction_`` from class probabilities.

        With ``keep_given`` the labeled rows get probability one for the given class.
        """
        distributions = np.array(distributions, copy=True)
        if keep_given:
            given = codes != UNLABELED
            distributions[given] = one_hot(codes[given], len(self.classes_), distributions.dtype)
        self.label_distributions_ = distributions
        self.transduction_ = self.classes_[distributions.argmax(axis=1)]

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Class probabilities; each classifier has its own."""
        raise AssertionError(f"{type(self).__name__} must define predict_proba")

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
            In the dtype of the labels given to ``fit``.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


def normalize_rows(scores: NDArray[Any]) -> NDArray[Any]:
    """Scale each row of non-negative ``scores`` to sum to one; an all-zero row is uniform.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven._base import normalize_rows
    >>> normalize_rows(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    total = scores.sum(axis=1, keepdims=True)
    empty = total == 0
    return np.where(empty, 1.0 / scores.shape[1], scores / np.where(empty, 1.0, total))
