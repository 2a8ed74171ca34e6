"""Which rows are asked last, and what becomes of the learning curve without them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_consistent_length, check_random_state

from leaven._compat import num_samples
from leaven._labels import encode_labels
from leaven.active._simulate import Simulation, doubling_sizes, simulate
from leaven.active._state import rows_and_names
from leaven.active._uncertainty import SmallestMargin
from leaven.base import take_rows


@dataclass(frozen=True, eq=False)
class QueriedLast:
    """What :func:`queried_last` found.

    Parameters
    ----------
    mean_rank : ndarray of shape (n_samples,)
        When a row is asked on average, from 0 (first) to 1 (last), over the trials in which it
        was asked; NaN if it never was.
    rows : ndarray or Index
        The rows asked last, the very last first: positions, or labels of the data frame's
        index.
    with_rows : DataFrame
        The learning curves of all rows: ``trial``, ``n_labeled``, ``error``.
    without_rows : DataFrame
        The same trials, without ``rows`` in the pool.
    """

    mean_rank: NDArray[np.float64]
    rows: Any
    with_rows: pd.DataFrame
    without_rows: pd.DataFrame


def queried_last(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    strategy: Any = None,
    n_trials: int = 100,
    fraction: float = 0.05,
    sizes: Iterable[int] | None = None,
    test_size: float = 0.25,
    remove_from_test: bool = False,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> QueriedLast:
    """Find the rows that active learning asks last, and learn without them.

    Uncertainty sampling leaves to the end what it holds for certain. Where the error rises
    again at the end of the curve, the last rows may be outliers: far from the boundary, and on
    the wrong side ([1]_, section 6.3). Each trial splits the rows into a pool and a test set,
    labels one row of each class, and asks for all others. The ``fraction`` of the rows with
    the largest mean rank is then removed and the same trials are run again.

    Parameters
    ----------
    estimator : classifier
    X : array-like, sparse matrix, DataFrame or texts, of shape (n_samples, ...)
    y : array-like of shape (n_samples,)
        The true labels of all rows.
    strategy : query strategy, default=None
        None is :class:`SmallestMargin`.
    n_trials : int, default=100
    fraction : float in (0, 1), default=0.05
        Share of the rows to remove, at least one row.
    sizes : iterable of int, default=None
        Numbers of labeled rows; a size that the pool does not reach is left out, and the last
        one is always the whole pool. None doubles from the number of classes on.
    test_size : float in (0, 1), default=0.25
    remove_from_test : bool, default=False
        Whether the rows leave the test sets too, as in [1]_. That lowers the error even if the
        model is the same, since rows that are easy to get wrong are no longer counted.
    random_state : int, RandomState or None, default=None
    n_jobs : int, default=None
        Trials that run at the same time.

    Returns
    -------
    QueriedLast

    See Also
    --------
    simulate : One trial.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 6.3.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leaven.active import queried_last
    >>> from leaven.datasets import make_two_gaussians
    >>> X, y = make_two_gaussians(80, std=0.4, random_state=0)
    >>> found = queried_last(GaussianNB(), X, y, n_trials=5, random_state=0)
    >>> found.mean_rank.shape, len(found.rows)
    ((80,), 4)
    >>> found.without_rows.columns.tolist()
    ['trial', 'n_labeled', 'error']
    """
    rows, names = rows_and_names(X, None)
    classes, codes = encode_labels(y, min_classes=2)
    check_consistent_length(rows, codes)
    if not isinstance(n_trials, Integral) or n_trials < 1:
        raise ValueError(f"n_trials must be an integer of at least 1, got {n_trials!r}.")
    for name, share in (("fraction", fraction), ("test_size", test_size)):
        if not isinstance(share, Real) or not 0 < share < 1:
            raise ValueError(f"{name} must be a number between 0 and 1, got {share!r}.")
    n_samples = num_samples(rows)
    schedule = None if sizes is None else [int(size) for size in sizes]
    seeds = check_random_state(random_state).randint(2**31 - 1, size=n_trials)
    labels = classes[codes]
    chosen = SmallestMargin() if strategy is None else strategy
    run = _Trials(estimator, rows, labels, codes, chosen, schedule, test_size)
    keep = np.ones(n_samples, dtype=bool)
    jobs = Parallel(n_jobs=n_jobs)
    first = jobs(delayed(run)(int(seed), keep, keep) for seed in seeds)
    mean_rank = _mean_rank([trial.order[len(classes) :] for trial in first], n_samples)
    n_removed = max(1, round(fraction * n_samples))
    last = np.argsort(-np.nan_to_num(mean_rank, nan=-1.0), kind="stable")[:n_removed]
    keep = keep.copy()
    keep[last] = False
    gone = np.unique(codes[keep])
    if len(gone) < len(classes):
        raise ValueError(
            f"fraction={fraction} removes all rows of a class "
            f"({np.setdiff1d(classes, classes[gone]).tolist()}). Give a smaller one."
        )
    tested = keep if remove_from_test else np.ones(n_samples, dtype=bool)
    second = jobs(delayed(run)(int(seed), keep, tested) for seed in seeds)
    return QueriedLast(
        mean_rank=mean_rank,
        rows=last if names is None else names[last],
        with_rows=_curves(first),
        without_rows=_curves(second),
    )


class _Trials:
    """One trial for a seed, the split being that of the seed whatever is removed."""

    def __init__(self, *settings: Any) -> None:
        self.settings = settings

    def __call__(self, seed: int, keep: NDArray[np.bool_], tested: NDArray[np.bool_]) -> Simulation:
        estimator, X, labels, codes, strategy, sizes, test_size = self.settings
        train, test = train_test_split(
            np.arange(len(codes)), test_size=test_size, stratify=codes, random_state=seed
        )
        train, test = train[keep[train]], test[tested[test]]
        # The pool is in random order, so the first row of each class is a random one.
        start = np.unique(codes[train], return_index=True)[1]
        if sizes is None:
            schedule = doubling_sizes(len(start), len(train))
        else:
            schedule = [size for size in sizes if len(start) <= size < len(train)] + [len(train)]
        trial = simulate(
            estimator,
            take_rows(X, train),
            labels[train],
            labeled=start,
            sizes=schedule,
            strategy=strategy,
            X_test=take_rows(X, test),
            y_test=labels[test],
            random_state=seed,
        )
        return Simulation(trial.sizes, trial.errors, train[trial.order])


def _mean_rank(orders: list[NDArray[np.intp]], n_samples: int) -> NDArray[np.float64]:
    total, count = np.zeros(n_samples), np.zeros(n_samples)
    for order in orders:
        total[order] += np.linspace(0.0, 1.0, len(order))
        count[order] += 1
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _curves(trials: list[Simulation]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "trial": np.repeat(np.arange(len(trials)), [len(trial.sizes) for trial in trials]),
            "n_labeled": np.concatenate([trial.sizes for trial in trials]),
            "error": np.concatenate([np.asarray(trial.errors) for trial in trials]),
        }
    )
