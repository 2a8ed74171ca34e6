"""What every classifier of leaven shares: checking ``X`` and ``y``, and the transduction."""

from __future__ import annotations

from inspect import isfunction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, validate_data

from leaven._compat import validate_params_of
from leaven._dask import takes_dask
from leaven._labels import UNLABELED, EncodedLabels, encode_labels, labeled_mask, one_hot


class TransductionMixin(ClassifierMixin):
    """Base of a semi-supervised classifier: checks ``X`` and ``y``, stores the transduction.

    A class that uses it defines ``predict_proba`` and a ``fit`` that calls two methods:

    - ``_validate_fit(X, y)`` first: checks the parameters (against ``_parameter_constraints``,
      if there is such a table) and the data, sets ``classes_`` and ``n_features_in_``, and
      returns ``X`` and the class numbers of ``y``, with -1 for an unlabeled row;
    - ``_store_transduction(distributions, codes)`` last: sets ``label_distributions_`` and
      ``transduction_``, with the given labels kept unless ``keep_given=False``.

    It gives ``predict``, and declares ``learns_from_unlabeled``.

    See Also
    --------
    learns_from_unlabeled : How the rest of leaven asks for what is declared here.

    Examples
    --------
    The nearest class center, with the unlabeled rows in a second round:

    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from sklearn.base import BaseEstimator
    >>> from sklearn.utils.validation import check_is_fitted, validate_data
    >>> from leaven.base import TransductionMixin
    >>> class TwoRounds(TransductionMixin, BaseEstimator):
    ...     def fit(self, X, y):
    ...         X, codes = self._validate_fit(X, y)
    ...         guess = codes
    ...         for _ in range(2):
    ...             self.centers_ = np.array(
    ...                 [X[guess == c].mean(axis=0) for c in range(len(self.classes_))]
    ...             )
    ...             P = self._probabilities(X)
    ...             guess = np.where(codes < 0, P.argmax(axis=1), codes)
    ...         self._store_transduction(P, codes)
    ...         return self
    ...     def _probabilities(self, X):
    ...         return softmax(-((X[:, None] - self.centers_) ** 2).sum(axis=2), axis=1)
    ...     def predict_proba(self, X):
    ...         check_is_fitted(self)
    ...         return self._probabilities(validate_data(self, X, reset=False))
    >>> X, y = [[0.0], [4.0], [6.5], [10.0]], ["low", None, None, "high"]
    >>> TwoRounds().fit(X, y).transduction_
    array(['low', 'low', 'high', 'high'], dtype=object)
    """

    learns_from_unlabeled: ClassVar[bool] = True
    classes_: NDArray[Any]
    label_distributions_: NDArray[Any]
    transduction_: NDArray[Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let the predictions of every classifier take Dask collections."""
        super().__init_subclass__(**kwargs)
        for name in ("predict", "predict_proba"):
            if isfunction(cls.__dict__.get(name)):
                setattr(cls, name, takes_dask(cls.__dict__[name]))

    def _validate_fit(
        self, X: Any, y: Any, *, min_classes: int = 2, **check_params: Any
    ) -> tuple[Any, NDArray[np.intp]]:
        """Check parameters and data; set ``classes_`` and ``n_features_in_``.

        ``check_params`` go to :func:`sklearn.utils.validation.check_array`. Returns the
        checked ``X`` and the codes of ``y``, where ``UNLABELED`` marks an unlabeled row.
        """
        if hasattr(self, "_parameter_constraints") and not isinstance(y, EncodedLabels):
            validate_params_of(self)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Give "
                "one entry per row, with a label or a mark for 'unlabeled'."
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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on the labeled rows of ``y``; the others have nothing to compare.

        So cross-validation with unlabeled rows in ``y`` (``GridSearchCV``) scores what can be
        scored. :class:`~leaven.model_selection.LabeledKFold` also keeps all unlabeled rows in
        training.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        accuracy : float
        """
        labeled = labeled_mask(y)
        if not labeled.any():
            raise ValueError("y holds no labeled row: there is nothing to compare with.")
        classes, codes = encode_labels(y)
        right = np.asarray(self.predict(X))[labeled] == classes[codes[labeled]]
        weight = None if sample_weight is None else np.asarray(sample_weight)[labeled]
        return float(np.average(right, weights=weight))

    @takes_dask
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Or a Dask array or DataFrame, for a lazy Dask array of classes.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            In the dtype of the labels given to ``fit``.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])
