"""One trial of active learning with known labels in place of a person."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, check_random_state

from leaven._compat import num_samples
from leaven._labels import UNLABELED, encode_labels
from leaven.active._batch import top_rows
from leaven.active._model import PoolModel
from leaven.active._state import rows_and_names
from leaven.base import seeded_clone, take_rows


@dataclass(frozen=True, eq=False)
class Simulation:
    """What :func:`simulate` found.

    Parameters
    ----------
    sizes : ndarray of shape (n_sizes,)
        Numbers of labeled rows.
    errors : ndarray of shape (n_sizes,) or None
        Share of wrong predictions on the test set at each size; None without a test set.
    order : ndarray of shape (sizes[-1],)
        Positions of the rows in the order of asking, those labeled at the start first.
    """

    sizes: NDArray[np.intp]
    errors: NDArray[np.float64] | None
    order: NDArray[np.intp]


def simulate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    labeled: Any,
    sizes: Iterable[int],
    strategy: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    random_state: Any = None,
) -> Simulation:
    """Run one trial of the loop, on a schedule of label counts.

    At each size but the last the estimator is fitted, scores the rows that have no label yet,
    and the best of them are labeled until the next size is reached ([1]_, section 6.2). A
    semi-supervised estimator sees all rows in every fit. While only one class is labeled it is
    predicted for all rows, and rows are asked at random.

    Parameters
    ----------
    estimator : classifier
    X : array-like, sparse matrix, DataFrame or texts, of shape (n_samples, ...)
    y : array-like of shape (n_samples,)
        The true labels of all rows.
    labeled : array-like of int
        Positions of the rows that are labeled at the start.
    sizes : iterable of int
        Growing numbers of labeled rows at which the error is measured. The first is at least
        the number of rows in ``labeled``; if it is more, the difference is asked first.
    strategy : query strategy, default=None
        None is passive learning: rows in random order.
    X_test, y_test : array-like, default=None
        Where the error is measured.
    random_state : int, RandomState or None, default=None
        Decides ties, the passive order, and every ``random_state`` of the estimator and the
        strategy that is None.

    Returns
    -------
    Simulation

    See Also
    --------
    ActiveLearner : The loop with a person.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 6.2.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leaven.active import SmallestMargin, simulate
    >>> from leaven.datasets import make_two_gaussians
    >>> X, y = make_two_gaussians(300, std=0.4, random_state=0)
    >>> trial = simulate(
    ...     GaussianNB(), X[:200], y[:200], labeled=[0, 1, 2, 3], sizes=[4, 8, 16, 32],
    ...     strategy=SmallestMargin(), X_test=X[200:], y_test=y[200:], random_state=0,
    ... )
    >>> trial.order[:4], trial.errors.shape
    (array([0, 1, 2, 3]), (4,))
    """
    X, _ = rows_and_names(X, None)
    classes, codes = encode_labels(y)
    check_consistent_length(X, codes)
    if (codes == UNLABELED).any():
        raise ValueError(
            f"y must hold the true label of every row, but {int((codes == UNLABELED).sum())} rows "
            "have none. Simulate on the rows with a label."
        )
    if (X_test is None) != (y_test is None):
        raise ValueError("Give both X_test and y_test, or neither.")
    schedule = _check_sizes(sizes, num_samples(X))
    start = _check_start(labeled, num_samples(X), schedule[0])
    rng = check_random_state(random_state)
    trial = _Trial(seeded_clone(estimator, rng), X, classes, codes, strategy, rng)
    passive = rng.permutation(num_samples(X)) if strategy is None else None
    order = list(start)
    errors = []
    for size in schedule:
        while len(order) < size:
            known = np.zeros(len(codes), dtype=bool)
            known[order] = True
            if passive is not None:
                new = passive[~known[passive]][: size - len(order)]
            else:
                new = trial.ask(known, size - len(order))
            order.extend(new.tolist())
        if X_test is not None:
            known = np.zeros(len(codes), dtype=bool)
            known[order] = True
            wrong = trial.predict(known, X_test) != np.asarray(y_test)
            errors.append(float(np.mean(wrong)))
    return Simulation(
        sizes=np.asarray(schedule, dtype=np.intp),
        errors=None if X_test is None else np.asarray(errors),
        order=np.asarray(order, dtype=np.intp),
    )


def doubling_sizes(start: int, stop: int) -> list[int]:
    """Sizes for a logarithmic axis: ``start``, twice that, and so on, and ``stop`` at the end.

    Examples
    --------
    >>> from leaven.active._simulate import doubling_sizes
    >>> doubling_sizes(4, 50)
    [4, 8, 16, 32, 50]
    """
    sizes = []
    while start < stop:
        sizes.append(start)
        start *= 2
    return [*sizes, stop]


class _Trial:
    """The model of the labels known so far, and what it asks for."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        classes: NDArray[Any],
        codes: NDArray[np.intp],
        strategy: Any,
        rng: np.random.RandomState,
    ) -> None:
        self.model, self.X, self.strategy, self.rng = PoolModel(estimator), X, strategy, rng
        self.classes, self.codes = classes, codes
        self._n_fitted = 0

    def _fit(self, known: NDArray[np.bool_]) -> None:
        n_known = int(known.sum())
        if self._n_fitted != n_known:  # rows only ever join
            self.model.fit(self.X, *self._seen(known))
            self._n_fitted = n_known

    def _seen(self, known: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """The classes among the known labels, and codes for these."""
        seen = np.unique(self.codes[known])
        codes = np.where(known, np.searchsorted(seen, self.codes), UNLABELED)
        return self.classes[seen], codes

    def ask(self, known: NDArray[np.bool_], n_rows: int) -> NDArray[np.intp]:
        pool = np.flatnonzero(~known)
        if len(np.unique(self.codes[known])) < 2:
            return self.rng.permutation(pool)[:n_rows]
        self._fit(known)
        strategy = self.strategy
        if hasattr(strategy, "get_params"):
            strategy = seeded_clone(strategy, self.rng)
        training = self.model.training_set(self.X, *self._seen(known))
        scores = strategy.scores(self.model.fitted, take_rows(self.X, pool), *training)
        return pool[top_rows(scores, n_rows, self.rng)]

    def predict(self, known: NDArray[np.bool_], X_test: Any) -> NDArray[Any]:
        seen = np.unique(self.codes[known])
        if len(seen) < 2:
            return np.repeat(self.classes[seen], num_samples(X_test))
        self._fit(known)
        return self.model.predict(X_test)


def _check_sizes(sizes: Iterable[int], n_samples: int) -> list[int]:
    schedule = [int(size) for size in sizes]
    if not schedule:
        raise ValueError("sizes is empty. Give at least one number of labeled rows.")
    if any(b <= a for a, b in pairwise(schedule)):
        raise ValueError(f"sizes must grow, got {schedule}.")
    if schedule[0] < 1 or schedule[-1] > n_samples:
        raise ValueError(
            f"sizes must lie between 1 and the number of rows, {n_samples}, got {schedule}."
        )
    return schedule


def _check_start(labeled: Any, n_samples: int, first: int) -> list[int]:
    start = np.asarray(labeled)
    if start.ndim != 1 or (len(start) and start.dtype.kind not in "iu"):
        raise ValueError(
            "labeled must be a one-dimensional array of row positions, got "
            f"{start.dtype} of shape {start.shape}."
        )
    if len(np.unique(start)) != len(start):
        raise ValueError("labeled holds a row twice.")
    if len(start) and (start.min() < 0 or start.max() >= n_samples):
        raise ValueError(f"labeled must hold positions from 0 to {n_samples - 1}.")
    if len(start) > first:
        raise ValueError(
            f"labeled has {len(start)} rows, more than the first of sizes, {first}. Start the "
            "sizes at the number of labeled rows."
        )
    return [int(row) for row in start]
