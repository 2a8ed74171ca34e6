"""The methods of Saeed (2018) as whole learning curves, many fits at a time."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator
from threadpoolctl import ThreadpoolController

from leaven.active import entropy, least_confidence, margin
from leaven.exceptions import LeavenWarning
from leaven.model_selection import AdaptiveKFold
from studies.curve_em import (
    LEFT_OUT,
    CategoricalFeatures,
    Features,
    Fits,
    GaussianFeatures,
    Linear,
    Settings,
    fit_all,
    log_joint,
    predicted,
)
from studies.curve_ranks import RankSigmoids
from studies.estimators import UNLABELED

TASK_ELEMENTS = 1 << 22
"""Largest number of labels of fits in cross-validation that are held at a time."""


@lru_cache(maxsize=1)
def _threads() -> ThreadpoolController:
    """The libraries with threads, which take longer to find than small data sets to fit."""
    return ThreadpoolController()


TOGETHER_BYTES = 1 << 21
"""Most predictions of a trial, of all methods of a search, that are kept until they are asked
for. Where there are more, the fits of one method are wide enough."""

FINE_STEPS = np.concatenate([np.arange(-9, 0), np.arange(1, 10)])
"""Hundredths around the best value in the second stage of the search."""


CERTAINTY: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "confidence": lambda shares: 1.0 - least_confidence(shares),
    "margin": margin,
    "entropy": lambda shares: -entropy(shares),
}
"""How certain class probabilities are, by name: the smallest are asked for first."""


def features_of(X: Any, *, unbiased: bool = True) -> Features:
    """Features of a data set: those of the last one again, if it is the same object.

    All trials of a comparison have the same data, which nothing changes on the way. Nothing is
    added to variances: leaven's classifiers add a billionth of the largest one to all, which is
    much where one feature is in millions and another in hundredths.
    """
    if not (_last and _last[0]() is X):
        if isinstance(X, pd.DataFrame):
            categories = CategoricalFeatures.make(X)
            _last[:] = [weakref.ref(X), categories, categories]
        else:
            numbers = GaussianFeatures.make(np.asarray(X, dtype=np.float64), var_smoothing=0.0)
            _last[:] = [weakref.ref(X), numbers, replace(numbers, lost=1.0)]
    features: Features = _last[2 if unbiased else 1]
    return features


_last: list[Any] = []
"""The last data set, and its features with variances divided by n and by n - 1."""


class NaiveBayesCurve(BaseEstimator):
    """Naive Bayes with unlabeled rows, as a method that ``compare`` draws whole curves of.

    Categorical for a table of pandas categories, Gaussian for an array of floats. All classes
    of the data set are known from the start, and class proportions and categories have the
    Laplace correction of equation (2.8); a numeric feature with one value in the labeled rows
    of some class is left out at that number of labels (section 3.1.1).

    Parameters
    ----------
    weight : float in [0, 1) or None, default=0.0
        λ of equation (4.5): 0 is naive Bayes. None is plain EM, in which every row weighs 1.
    slope : float or None, default=None
        α of the rank and sigmoid recalibration (algorithm 6), for two classes; None is without
        it, and with it ``weight`` does not count.
    mean : {"kept", "beta", "true"}, default="kept"
        Mean of the recalibrated probabilities: as it was, or the class proportions of the
        data set, which no one would know (section 5.4.1). With "beta" the mean as it was is
        the position β of the sigmoid (the other reading of section 5.4.2).
    active : bool, default=False
        Ask for the labels of the rows that the model is least certain of (section 6.2).
    certainty : {"confidence", "margin", "entropy"}, default="confidence"
        By the probability of the most probable class, by its lead over the second, or by the
        entropy of all. Chapter 6 has "least confident" patterns; with two classes all are alike.
    chosen : {"weight", "slope"} or None, default=None
        The parameter that is chosen at each number of labels by cross-validation on the
        labeled rows (sections 4.5 and 5.4.4); its own value is then not used.
    values : tuple of float, default=()
        Values to choose from; the first one of equals is taken, and while no class has two
        labels.
    refined : bool, default=False
        Choose once more in steps of 0.01 around the best value (section 4.3); of equals the
        smallest is taken.
    unbiased : bool, default=True
        Divide a weighted sum of squares by the sum of the weights less one, as the numbers of the
        source have it, and not by that sum, as its equations do (run S1-variances).
    max_iter : int, default=200
    tol : float, default=1e-6
    """

    def __init__(
        self,
        *,
        weight: float | None = 0.0,
        slope: float | None = None,
        mean: str = "kept",
        active: bool = False,
        certainty: str = "confidence",
        chosen: str | None = None,
        values: tuple[float, ...] = (),
        refined: bool = False,
        unbiased: bool = True,
        max_iter: int = 200,
        tol: float = 1e-6,
    ) -> None:
        self.weight = weight
        self.slope = slope
        self.mean = mean
        self.active = active
        self.certainty = certainty
        self.chosen = chosen
        self.values = values
        self.refined = refined
        self.unbiased = unbiased
        self.max_iter = max_iter
        self.tol = tol

    asks_with_labeled = False
    """Whether questions are those of naive Bayes of the labeled rows alone."""

    keeps_zero = True
    """Whether the second stage of a search may end with 0, where the first one does."""

    def curve_plan(self, X: Any) -> CurvePlan:
        """What ``compare`` asks for to get all predictions of a trial at once."""
        return CurvePlan(self, features_of(X, unbiased=self.unbiased))


class QueriedCurve(NaiveBayesCurve):
    """EM on the labels that active naive Bayes asks for, which EM has no part in.

    Section 6.4 has it that semi-supervised learning comes "after selecting patterns by queries
    from active learning".

    Parameters
    ----------
    weight : float or None, default=None
    unbiased : bool, default=True
    """

    asks_with_labeled = True

    def __init__(self, *, weight: float | None = None, unbiased: bool = True) -> None:
        super().__init__(weight=weight, active=True, unbiased=unbiased)


_searched: list[tuple[float, ...]] = []
_ahead: dict[Any, tuple[Features, NDArray[np.int16]]] = {}


@contextmanager
def fitted_together(methods: Iterable[NaiveBayesCurve]) -> Iterator[None]:
    """Fit methods that differ in the weight, or in the slope, side by side.

    ``compare`` asks for one method after the other. The first one that is asked for in a trial
    fits them all, and the others find their predictions there.
    """
    methods = list(methods)
    _searched[:] = [_value_of(method) for method in methods]
    try:
        yield
    finally:
        _searched.clear()
        _ahead.clear()


def _value_of(method: NaiveBayesCurve) -> tuple[float, ...]:
    return tuple(np.nan if x is None else float(x) for x in (method.weight, method.slope))


@dataclass(frozen=True)
class Parameters:
    """Weight (NaN: plain EM) and slope of each of T fits."""

    weight: NDArray[np.float64]
    slope: NDArray[np.float64] | None

    def fits(self, labels: NDArray[np.intp]) -> Fits:
        """The fits with these labels, each column of which has the next ``T / n_columns``."""
        plain = np.isnan(self.weight)
        labeled, unlabeled = 1.0 - self.weight, self.weight
        column = np.repeat(np.arange(labels.shape[1]), len(plain) // labels.shape[1])
        return Fits(labels, np.where(plain, 1.0, labeled), np.where(plain, 1.0, unlabeled), column)


@dataclass(frozen=True)
class CurvePlan:
    """Curves of one :class:`NaiveBayesCurve` on one data set."""

    method: NaiveBayesCurve
    features: Features

    def predict(
        self,
        codes: NDArray[np.intp],
        n_classes: int,
        order: NDArray[np.intp],
        sizes: tuple[int, ...],
        test: NDArray[np.intp],
        *,
        known_classes: bool = False,
    ) -> NDArray[np.intp]:
        """Class codes of the test rows, of shape (n_sizes, n_test)."""
        with _threads().limit(limits=1, user_api="blas"):  # trials are what runs side by side
            trial = CurveTrial(self, codes, n_classes, order)
            tested = self.features.start(test)
            if self.method.active:
                return trial.asked(sizes, tested)
            if self._is_searched(len(sizes) * len(test)):
                return self._ahead(trial, sizes, test, tested)
            labels = trial.labels(sizes)
            model = trial.fit(labels, trial.parameters(labels))
            return predicted(tested, model).T

    def _is_searched(self, n_predictions: int) -> bool:
        if self.method.chosen is not None or 2 * n_predictions * len(_searched) > TOGETHER_BYTES:
            return False
        return repr(_value_of(self.method)) in map(repr, _searched)  # NaN is not NaN

    def _ahead(
        self, trial: CurveTrial, sizes: tuple[int, ...], test: NDArray[np.intp], tested: Features
    ) -> NDArray[np.intp]:
        """Predictions of this method, from fits of all methods that are searched."""
        of_trial = (id(self.features), trial.order.tobytes(), test.tobytes(), sizes)
        key = (of_trial, repr(_value_of(self.method)))
        if key not in _ahead:
            labels = trial.labels(sizes)
            weight, slope = np.tile(np.array(_searched), (len(sizes), 1)).T
            slopes = None if self.method.slope is None else slope
            plain = np.full(len(weight), np.nan)
            model = trial.fit(labels, Parameters(weight if slopes is None else plain, slopes))
            found = predicted(tested, model).reshape(len(test), len(sizes), -1)
            for k, value in enumerate(_searched):
                # The features are kept with it: no others get their id before.
                _ahead[of_trial, repr(value)] = self.features, found[:, :, k].T.astype(np.int16)
        return _ahead.pop(key)[1].astype(np.intp)


class CurveTrial:
    """The training rows of one trial."""

    def __init__(
        self, plan: CurvePlan, codes: NDArray[np.intp], n_classes: int, order: NDArray[np.intp]
    ) -> None:
        self.method, self.C, self.order = plan.method, n_classes, order
        self.features = plan.features.start(order)
        self.codes = codes[order]
        self.true_mean = np.bincount(codes, minlength=n_classes) / len(codes)
        self.settings = Settings(1.0, self.method.max_iter, self.method.tol)
        # Rows of the last batch, the most certain at the end.
        self.last_asked: NDArray[np.intp] = np.empty(0, dtype=np.intp)

    def labels(self, sizes: tuple[int, ...]) -> NDArray[np.intp]:
        """Labels at each size, of shape (n_rows, n_sizes)."""
        known = np.arange(len(self.codes))[:, None] < np.array(sizes)
        return np.where(known, self.codes[:, None], UNLABELED)

    def fit(self, labels: NDArray[np.intp], parameters: Parameters) -> Linear:
        """Fit all columns of labels, each with its own parameters or several of them."""
        maps = None
        if parameters.slope is not None:
            if self.C != 2:
                raise ValueError(
                    f"slope={self.method.slope!r} recalibrates two classes, but there are {self.C}."
                )
            share = float(self.true_mean[1]) if self.method.mean == "true" else None
            maps = RankSigmoids(parameters.slope, share, self.method.mean == "beta")
        return fit_all(self.features, parameters.fits(labels), self.C, self.settings, maps)

    def parameters(self, labels: NDArray[np.intp]) -> Parameters:
        """Parameters of each fit, given or chosen by cross-validation."""
        if self.method.chosen is None:
            return self._given(labels.shape[1])
        return self._with(self.best_values(labels))

    def _given(self, n: int) -> Parameters:
        slope = self.method.slope
        plain = slope is not None or self.method.weight is None
        weight = np.full(n, np.nan if plain else self.method.weight)
        return Parameters(weight, None if slope is None else np.full(n, slope))

    def _with(self, values: NDArray[np.float64]) -> Parameters:
        if self.method.chosen == "weight":
            return Parameters(values, None)
        return Parameters(np.full(len(values), np.nan), values)

    def best_values(self, labels: NDArray[np.intp]) -> NDArray[np.float64]:
        """The value with the fewest errors in cross-validation, for each column of labels."""
        T = labels.shape[1]
        folds = [_folds(column) for column in labels.T]
        values = np.tile(np.asarray(self.method.values, dtype=np.float64), (T, 1))
        right = self._right(labels, folds, values)
        best = values[np.arange(T), right.argmax(axis=1)]
        if not self.method.refined:
            return np.asarray(best)
        # Values that cannot be chosen are kept in place of a ragged array.
        fine = (best[:, None] + FINE_STEPS / 100).round(2)
        # Where the best one had no error, only a smaller one without error is taken before it.
        n_folds = np.array([[len(each)] for each in folds])
        perfect = right.max(axis=1, keepdims=True) >= n_folds - 1e-9
        usable = (fine > 0) & (fine < 1) & ((fine < best[:, None]) | ~perfect)
        if not self.method.keeps_zero:
            is_left_out = (best == 0.0) & (n_folds[:, 0] > 0)
            usable |= is_left_out[:, None] & (fine > 0)
            right[is_left_out, 0] = -1.0
        fine_right = self._right(labels, folds, np.where(usable, fine, 0.0))  # 0 costs nothing
        values = np.hstack([values, fine])
        right = np.hstack([right, np.where(usable, fine_right, -1.0)])
        smallest_first = np.argsort(values, axis=1, kind="stable")
        at = np.take_along_axis(right, smallest_first, axis=1).argmax(axis=1)
        return np.asarray(values[np.arange(T), smallest_first[np.arange(T), at]])

    def _right(
        self,
        labels: NDArray[np.intp],
        folds: list[list[NDArray[np.intp]]],
        values: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Sum over the folds of the accuracy of each value, of shape (n_sizes, n_values)."""
        tasks = [(t, rows) for t, of_size in enumerate(folds) for rows in of_size]
        n_values = values.shape[1]
        right = np.zeros(values.shape)
        step = max(1, TASK_ELEMENTS // (len(labels) * n_values))
        for low in range(0, len(tasks), step):
            some = tasks[low : low + step]
            of_some = [t for t, _ in some]
            columns = labels[:, of_some]
            for k, (_, held_out) in enumerate(some):
                columns[held_out, k] = LEFT_OUT
            model = self.fit(columns, self._with(values[of_some].ravel()))
            for k, (t, held_out) in enumerate(some):
                of_task = slice(k * n_values, (k + 1) * n_values)
                found = predicted(self.features.start(held_out), model.take(of_task))
                right[t] += (found == self.codes[held_out][:, None]).mean(axis=0)
        return right

    def asked(self, sizes: tuple[int, ...], tested: Features) -> NDArray[np.intp]:
        """Predictions at each size, where the model asks for the labels between two sizes."""
        labels = self.labels(sizes[:1])
        apart = self.method.asks_with_labeled
        asking = Parameters(np.zeros(1), None) if apart else self._given(1)
        result, columns = [], []
        for size, following in zip(sizes, [*sizes[1:], sizes[-1]], strict=True):
            columns.append(labels[:, 0].copy())
            if apart and following == size:
                break
            model = self.fit(labels, asking)
            if not apart:
                result.append(predicted(tested, model)[:, 0])
            if following > size:
                pool = np.flatnonzero(labels[:, 0] == UNLABELED)
                shares = softmax(log_joint(self.features, model)[pool, :, 0], axis=1)
                # Rows that are alike must not be told apart by rounding: training rows are in
                # a random order, and the first of equals is as good as any.
                certain = CERTAINTY[self.method.certainty](shares)
                uncertain = np.argsort(certain.round(9), kind="stable")
                ask = pool[uncertain[: following - size]]
                self.last_asked = ask
                labels[ask, 0] = self.codes[ask]
        if apart:
            every = np.column_stack(columns)
            return predicted(tested, self.fit(every, self._given(len(columns)))).T
        return np.array(result)


def _folds(labels: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Rows to hold out, fold by fold; none while no class has two labels."""
    counts = np.bincount(labels[labels != UNLABELED])
    if counts.max() < 2:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeavenWarning)  # a class with one label is common here
        splits = AdaptiveKFold(shuffle=False).split(labels, labels)
        return [held_out for _, held_out in splits]
