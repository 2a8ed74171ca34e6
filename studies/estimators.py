"""What the studies' own estimators and protocols share, with public names of leaven only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

UNLABELED = -1
"""The mark of a row without a label in arrays of integers, everywhere in leaven."""

NO_ROWS = np.empty(0, dtype=np.intp)


def random_order(n: int, *key: int) -> NDArray[np.intp]:
    """The numbers below ``n`` in an order that is the same everywhere for the same key.

    The raw 64-bit numbers of ``PCG64`` are sorted: NumPy promises never to change that stream.
    """
    raw = np.random.PCG64(np.random.SeedSequence(list(key))).random_raw(n)
    return np.argsort(raw, kind="stable")


def first_of_each(
    order: NDArray[np.intp], codes: NDArray[np.intp], k: int
) -> tuple[NDArray[np.intp], int]:
    """Move the first ``k`` rows of each class to the front; return how many they are."""
    of_order = codes[order]
    first = np.zeros(len(order), dtype=bool)
    for code in np.unique(of_order):
        first[np.flatnonzero(of_order == code)[:k]] = True
    return np.concatenate([order[first], order[~first]]), int(first.sum())


def encode(y: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Classes and codes of labels, ``UNLABELED`` where ``y`` is -1 or missing."""
    values = np.asarray(y)
    missing = pd.isna(values) if values.dtype == object else values == UNLABELED
    codes = np.full(len(values), UNLABELED, dtype=np.intp)
    classes, codes[~missing] = np.unique(values[~missing], return_inverse=True)
    return classes, codes


def one_hot(codes: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Indicator matrix of class codes; a row without a label is all zero."""
    return np.asarray(codes[:, None] == np.arange(n_classes), dtype=np.float64)


class Transducer(ClassifierMixin, BaseEstimator):
    """Base of the studies' estimators, which all learn from the unlabeled rows too."""

    classes_: NDArray[Any]
    transduction_: NDArray[Any]
    label_distributions_: NDArray[np.float64]
    n_features_in_: int

    def _begin(self, X: Any, y: Any) -> NDArray[np.intp]:
        """Set the classes and return the codes of the labels."""
        self.classes_, codes = encode(y)
        self.n_features_in_ = X.shape[1]
        return codes

    def _finish(self, distributions: NDArray[Any], codes: NDArray[np.intp]) -> None:
        """Store class probabilities; labeled rows keep their label."""
        given = codes != UNLABELED
        stored = np.array(distributions, dtype=np.float64)
        stored[given] = one_hot(codes[given], len(self.classes_))
        self.label_distributions_ = stored
        self.transduction_ = self.classes_[stored.argmax(axis=1)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities of new rows, where there are any."""
        raise NotImplementedError(f"{type(self).__name__} answers for the rows of fit only.")

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row of ``X``."""
        check_is_fitted(self, "classes_")
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
