"""What the trials of a table share: features and graphs that are made once for all of them.

A data set of such a table has row numbers for X. :class:`OnRows` looks features up by them, and
:class:`RowGraph` a graph, so that a feature map or a graph is made once in each process, however
many trials and methods need it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.cluster import KMeans

from leaven.exceptions import ConvergenceWarning, LeavenWarning
from leaven.graph import Graph
from studies.estimators import UNLABELED, Transducer, one_hot

Make = Callable[..., Any]
"""A function at the top of a module: what it returns for the same arguments is made once."""


@lru_cache(maxsize=32)
def prepared(make: Make, *arguments: Any) -> Any:
    """What ``make(*arguments)`` returns, made once in each process."""
    return make(*arguments)


def row_numbers(n: int) -> NDArray[np.intp]:
    """X of a data set of row numbers."""
    return np.arange(n, dtype=np.intp)[:, None]


def rows_of(X: Any) -> NDArray[np.intp]:
    """The row numbers in X."""
    return np.asarray(X, dtype=np.intp)[:, 0]


class RowGraph(BaseEstimator):
    """A part of a graph that is made once.

    Parameters
    ----------
    make : function
        ``make(*arguments)`` is a :class:`~leaven.graph.Graph` of all rows.
    arguments : tuple, default=()
    """

    uses_features = False

    def __init__(self, make: Make, arguments: tuple[Any, ...] = ()) -> None:
        self.make = make
        self.arguments = arguments

    def fit(self, X: Any, y: Any = None) -> RowGraph:
        """Look the graph of the rows of ``X`` up."""
        graph: Graph = prepared(self.make, *self.arguments)
        rows = rows_of(X)
        if not np.array_equal(rows, np.arange(graph.n_nodes)):
            graph = graph.subgraph(rows)
        self.graph_ = graph
        return self


class OnRows(Transducer):
    """A classifier on features that are looked up by row number.

    The classifier sees the rows in ascending order, whatever the order they come in. It meets
    the same matrix in every trial that way, and what it keeps of one is of use for the next.

    Parameters
    ----------
    estimator : classifier
    make : function or None, default=None
        ``make(*arguments)`` is the matrix of all rows; None hands the row numbers on, for a
        classifier on a :class:`RowGraph`.
    arguments : tuple, default=()
    supervised : bool, default=False
        Show the classifier the labeled rows only.
    """

    def __init__(
        self,
        estimator: Any,
        make: Make | None = None,
        arguments: tuple[Any, ...] = (),
        supervised: bool = False,
    ) -> None:
        self.estimator = estimator
        self.make = make
        self.arguments = arguments
        self.supervised = supervised

    def _features(self, rows: NDArray[np.intp]) -> Any:
        if self.make is None:
            return rows[:, None]
        features = prepared(self.make, *self.arguments)
        return features if np.array_equal(rows, np.arange(features.shape[0])) else features[rows]

    def fit(self, X: Any, y: Any) -> OnRows:
        """Fit on rows whose numbers are in X."""
        codes = self._begin(X, y)
        rows = rows_of(X)
        order = np.argsort(rows, kind="stable")
        sorted_rows, sorted_codes = rows[order], codes[order]
        given = sorted_codes != UNLABELED
        model = clone(self.estimator)
        with warnings.catch_warnings():
            # Few rounds of EM, few labels of a class: both belong to the protocols.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", LeavenWarning)
            if self.supervised:
                model.fit(self._features(sorted_rows[given]), sorted_codes[given])
                found = np.array(sorted_codes)
                if not given.all():
                    found[~given] = model.predict(self._features(sorted_rows[~given]))
            else:
                model.fit(self._features(sorted_rows), sorted_codes)
                found = model.transduction_
        self.estimator_ = model
        codes_found = np.empty(len(rows), dtype=np.intp)
        codes_found[order] = found
        self._finish(one_hot(codes_found, len(self.classes_)), codes)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """One for the class that the classifier predicts."""
        codes = np.asarray(self.estimator_.predict(self._features(rows_of(X))), dtype=np.intp)
        return one_hot(codes, len(self.classes_))


class RememberedKMeans(KMeans):
    """K-means that gives the clusters of the last matrices again without a search."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> RememberedKMeans:
        """Cluster X, or remember."""
        key = (joblib.hash(X), self.n_clusters, self.n_init, self.random_state)
        if key not in _clusters:
            while len(_clusters) >= _REMEMBERED:
                _clusters.pop(next(iter(_clusters)))
            fitted = super().fit(X, y, sample_weight)
            _clusters[key] = {k: v for k, v in vars(fitted).items() if k.endswith("_")} | {
                "_n_threads": fitted._n_threads
            }
        self.__dict__.update(_clusters[key])
        return self


_REMEMBERED = 8
_clusters: dict[Any, dict[str, Any]] = {}


class RememberedAnswers(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted only if it is asked something new.

    Self-training in one, three or five rounds has the same first rounds: the classifier meets
    the same labeled rows there, and is asked for the same others.

    Parameters
    ----------
    estimator : classifier
        With a number as ``random_state``, if it has one.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> RememberedAnswers:
        """Keep the rows for a fit that may come."""
        self.classes_ = np.unique(y)
        self.given_ = np.array(X), np.array(y)  # the caller may use its own arrays again
        self.key_ = joblib.hash((self.estimator, *self.given_))
        self.fitted_: Any = None
        return self

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """What the classifier says of these rows, or has said."""
        key = (self.key_, joblib.hash(X))
        if key not in _answers:
            while len(_answers) >= MOST_ANSWERS:
                _answers.pop(next(iter(_answers)))
            if self.fitted_ is None:
                self.fitted_ = clone(self.estimator).fit(*self.given_)
            _answers[key] = self.fitted_.predict_proba(X)
        return _answers[key].copy()

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable classes."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


MOST_ANSWERS = 1000
"""A table of self-training has 900 in blocks of 4 MB of images, which take 100 MB."""

_answers: dict[Any, NDArray[Any]] = {}


class KernelVote(Transducer):
    """The class whose labeled rows have the largest sum of weights (the RBF of Zhu et al.).

    Parameters
    ----------
    make : function
        ``make(*arguments)`` is the symmetric matrix of weights of all rows; X holds row numbers.
    arguments : tuple, default=()
    """

    def __init__(self, make: Make, arguments: tuple[Any, ...] = ()) -> None:
        self.make = make
        self.arguments = arguments

    def fit(self, X: Any, y: Any) -> KernelVote:
        """Sum the weights to the labeled rows of each class."""
        codes = self._begin(X, y)
        rows, given = rows_of(X), codes != UNLABELED
        W = prepared(self.make, *self.arguments)
        part = W[rows[given]][:, rows].T  # of many rows few are labeled
        votes = part @ one_hot(codes[given], len(self.classes_))
        votes = votes.toarray() if sparse.issparse(votes) else np.asarray(votes)
        total = votes.sum(axis=1, keepdims=True)
        even = np.full_like(votes, 1.0 / votes.shape[1])  # far from every label
        self._finish(np.divide(votes, total, out=even, where=total > 0), codes)
        return self
