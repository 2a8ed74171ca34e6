"""What committees share: classifiers that teach each other in rounds, and vote in the end."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval
from leaven.base import TransductionMixin

# Parameters that every committee has, checked alike.
COMMON_CONSTRAINTS: dict[str, list[Any]] = {
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    "random_state": ["random_state"],
}


class CommitteeMixin(TransductionMixin):
    """A committee of classifiers in ``estimators_``.

    A class defines ``_teach(X, codes, rng)``, which fits them, counts the rounds in ``n_iter_``,
    sets ``converged_`` and returns the objective after each round, and ``_votes(X)``, the class
    probabilities by their votes.
    """

    random_state: Any
    estimators_: list[Any]
    n_iter_: int
    converged_: bool

    def fit(self, X: Any, y: Any) -> Any:
        """Fit on rows ``X``, of which some have a label in ``y``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Unlabeled rows are -1 among integers, and None, NaN or pandas.NA elsewhere.

        Returns
        -------
        self
        """
        X, codes = self._validate_fit(X, y)
        trace = self._teach(X, codes, check_random_state(self.random_state))
        # The first fit counts where no round followed: scikit-learn expects at least one.
        self.n_iter_ = max(self.n_iter_, 1)
        self.objective_trace_ = np.asarray(trace)
        self._store_transduction(self._votes(X), codes)
        return self

    def _teach(
        self, X: Any, codes: NDArray[np.intp], rng: np.random.RandomState
    ) -> Sequence[float]:
        raise AssertionError(f"{type(self).__name__} must define _teach")

    def _votes(self, X: Any) -> NDArray[np.float64]:
        raise AssertionError(f"{type(self).__name__} must define _votes")

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the class probabilities of new rows, by the votes of the committee.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self._votes(validate_data(self, X, reset=False))
