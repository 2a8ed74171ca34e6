"""What answers while labels come in: quick models on a table that is prepared once."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from leaven._labels import UNLABELED, one_hot
from leaven.base import learns_from_unlabeled, training_probabilities
from leaven.graph_based import class_mass_normalization

AUTO = "auto"
"""The method that leaves the choice to leaven."""

_C = 10.0  # tf-idf rows have length one and need a weak penalty: benchmarks/annotate.py
_TOL = 1e-3  # of the residual: probabilities to three digits are all that the page shows
_MOST_ITERATIONS = 300  # of one solve: bounds its time; the next one starts where it ended


class Model(Protocol):
    """Codes in, class probabilities of every row out."""

    name: str

    def fit(self, codes: NDArray[np.intp], n_classes: int) -> NDArray[Any]:
        """Learn from the rows with a code and return probabilities of all rows.

        Parameters
        ----------
        codes : ndarray of shape (n_rows,)
            UNLABELED where there is no label; at least two classes are there.
        n_classes : int

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
            Zero for a class without a label.
        """
        ...


class Linear:
    """Logistic regression on the labeled rows."""

    name = "logistic-regression"

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def fit(self, codes: NDArray[np.intp], n_classes: int) -> NDArray[Any]:
        """Learn from the labeled rows."""
        known = np.flatnonzero(codes != UNLABELED)
        model = LogisticRegression(C=_C, max_iter=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # 200 iterations suffice for a suggestion
            model.fit(self._rows[known], codes[known])
        return spread(model.predict_proba(self._rows), model.classes_, n_classes)


class Harmonic:
    """The harmonic function on a graph that is built once, solved from where it was.

    ``L_uu f_u = -L_ul f_l`` (Zhu, Ghahramani and Lafferty, 2003, equation 5) by conjugate
    gradients that start at the last solution: ten more labels change little of it. The class
    masses are then brought to the frequencies of the labels (their equation 9).
    """

    name = "harmonic"

    def __init__(self, adjacency: sparse.csr_array) -> None:
        self._weights = adjacency
        self._degree = np.asarray(adjacency.sum(axis=1)).ravel()
        self._component = connected_components(adjacency, directed=False)[1]
        self._last: NDArray[Any] | None = None

    def fit(self, codes: NDArray[np.intp], n_classes: int) -> NDArray[Any]:
        """Solve for every class; rows that no label reaches get the label frequencies."""
        known = codes != UNLABELED
        counts = np.bincount(codes[known], minlength=n_classes)
        frequency = counts / counts.sum()
        f = np.tile(frequency, (len(codes), 1))
        if self._last is not None and self._last.shape[1] <= n_classes:
            f[:, : self._last.shape[1]] = self._last
        f[known] = one_hot(codes[known], n_classes)
        reached = np.isin(self._component, np.unique(self._component[known]))
        inner = np.flatnonzero(reached & ~known)
        if len(inner):
            W = self._weights[inner]
            A = sparse.diags_array(self._degree[inner], format="csr") - W[:, inner]
            scale = sparse.diags_array(1.0 / self._degree[inner])
            edge = W[:, np.flatnonzero(known)] @ f[known]
            for label in np.flatnonzero(counts):
                f[inner, label] = cg(
                    A,
                    edge[:, label],
                    x0=f[inner, label],
                    rtol=_TOL,
                    maxiter=_MOST_ITERATIONS,
                    M=scale,
                )[0]
        f[~reached] = frequency
        f[:, counts == 0] = 0.0
        f = np.clip(f, 1e-6, None) * (counts > 0)
        f /= f.sum(axis=1, keepdims=True)
        self._last = f
        present = np.flatnonzero(counts)
        free = ~known
        answer = f.copy()
        if free.any():
            # One is added to each count: a class with few labels is not driven to nothing.
            prior = (counts[present] + 1.0) / (counts[present] + 1.0).sum()
            answer[np.ix_(free, present)] = class_mass_normalization(
                f[np.ix_(free, present)], prior
            )
        return np.asarray(answer)


class Own:
    """Any scikit-learn or leaven classifier, fitted on the prepared rows.

    Parameters
    ----------
    estimator : classifier
    rows : array or CSR matrix of shape (n_rows, n_features)
    points : array of shape (n_rows, n_dimensions), optional
        The rows in few dimensions, for an estimator that takes no sparse matrix.
    """

    def __init__(self, estimator: Any, rows: Any, points: Any = None) -> None:
        self.name = type(estimator).__name__
        self._estimator = estimator
        self._rows, self._points = rows, points

    def fit(self, codes: NDArray[np.intp], n_classes: int) -> NDArray[Any]:
        """Fit a clone on the labeled rows, or on all rows if it learns from unlabeled ones."""
        model, rows = fit_on_rows_or_points(self._estimator, self._rows, self._points, codes)
        every = slice(None)
        return training_probabilities(model, rows, every, classes=np.arange(n_classes))


def fit_on_rows_or_points(
    estimator: Any, rows: Any, points: Any, codes: NDArray[np.intp]
) -> tuple[Any, Any]:
    """Fit a clone, on the points if it refuses sparse rows; return it with what it saw."""
    try:
        return fit_clone(estimator, rows, codes), rows
    except (TypeError, ValueError) as error:
        # The tags of an estimator say what it was tested with, not what it takes.
        words = str(error).lower()
        if (
            points is None
            or not sparse.issparse(rows)
            or not ("sparse" in words or "dense" in words)
        ):
            raise
    return fit_clone(estimator, points, codes), points


def fit_clone(estimator: Any, rows: Any, codes: NDArray[np.intp]) -> Any:
    """Fit a clone on all rows if it learns from unlabeled ones, otherwise on the labeled ones."""
    model = clone(estimator)
    known = np.flatnonzero(codes != UNLABELED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning per refit would reach nobody
        if learns_from_unlabeled(estimator):
            return model.fit(rows, codes)
        return model.fit(rows[known], codes[known])


class Blend:
    """The mean of the answers of several models."""

    name = "blend"

    def __init__(self, models: list[Any]) -> None:
        self.models = models

    def fit(self, codes: NDArray[np.intp], n_classes: int) -> NDArray[Any]:
        """Average the probabilities."""
        return self.mean([model.fit(codes, n_classes) for model in self.models])

    @staticmethod
    def mean(answers: list[NDArray[Any]]) -> NDArray[Any]:
        """Average answers that the parts have given."""
        return np.asarray(np.mean(answers, axis=0))


def fit_each(
    models: Mapping[str, Model], codes: NDArray[np.intp], n_classes: int
) -> dict[str, NDArray[Any]]:
    """Fit every model once: a blend takes the answers of its parts, where these are there.

    Parameters
    ----------
    models : mapping of str to Model
        A blend after its parts.
    codes : ndarray of shape (n_rows,)
    n_classes : int

    Returns
    -------
    answers : dict of str to ndarray of shape (n_rows, n_classes)
    """
    answers: dict[str, NDArray[Any]] = {}
    given: dict[int, NDArray[Any]] = {}
    for name, model in models.items():
        if isinstance(model, Blend) and all(id(part) in given for part in model.models):
            answers[name] = model.mean([given[id(part)] for part in model.models])
        else:
            answers[name] = model.fit(codes, n_classes)
        given[id(model)] = answers[name]
    return answers


def spread(shares: NDArray[Any], classes: NDArray[Any], n_classes: int) -> NDArray[Any]:
    """Put the columns of the classes that a model knows among those of all classes.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.app._models import spread
    >>> spread(np.array([[0.3, 0.7]]), np.array([0, 2]), 3)
    array([[0.3, 0. , 0.7]])
    """
    full = np.zeros((len(shares), n_classes))
    full[:, np.asarray(classes, dtype=np.intp)] = shares
    return full
