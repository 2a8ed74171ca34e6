"""Error learning curves over random partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from joblib import delayed
from sklearn.utils import check_random_state

from leaven._progress import progress_bar
from leaven.active import RandomSampling
from leaven.evaluation._curve_bayes import BayesPlan, bayes_plan
from leaven.evaluation._protocol import CurveProtocol, Split, derived_seed, is_continuous
from leaven.evaluation._tasks import run_unordered
from leaven.evaluation._trial import Active, Data, as_data, predictions


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    strategy: Any = None,
    sizes: Any = None,
    n_trials: int = 10,
    test_size: float = 0.25,
    start: int | str = "auto",
    semi_supervised: bool | None = None,
    known_classes: bool = False,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Error on test rows by the number of labels, over random partitions of the rows.

    Each trial divides the rows at random into training and test rows. Labels of training rows
    become known one after the other, and the error on the test rows is taken at each size:
    algorithm 4 of [1]_. The partitions, and the order of the labels without a strategy, depend
    on ``random_state``, the trial and ``y`` only, so that curves of different estimators may be
    compared trial by trial.

    While only one class has labels, that class is predicted. Curves of naive Bayes
    (scikit-learn's, and leaven's with ``unlabeled_weight=0``) are computed from growing sums,
    with the same result as fits at each size and many times faster.

    Parameters
    ----------
    estimator : classifier
        A parameter ``random_state`` that is None is set, differently in each trial.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        The class of every row.
    strategy : query strategy, default=None
        How to choose the rows to label, see :mod:`leaven.active`; None and ``RandomSampling``
        take them in a random order.
    sizes : list of int, default=None
        Numbers of labels; None stands for :func:`label_schedule` from the start to all training
        rows.
    n_trials : int, default=10
    test_size : float, default=0.25
        Share of the rows to test on.
    start : int or "auto", default="auto"
        Number of rows of each class that are labeled first, as far as the class has them; 0 starts
        with one row, whatever its class. "auto" is 2 if X has columns of floats, since a
        variance needs two rows, and 0 otherwise [1]_. Where ``sizes`` begin with fewer rows,
        all rows are in a random order.
    semi_supervised : bool, default=None
        Whether the estimator is given all training rows, those without a label marked as such,
        or the labeled rows only. None: all rows for leaven's classifiers and those of
        :mod:`sklearn.semi_supervised`, alone or as the last step of a pipeline.
    known_classes : bool, default=False
        Tell the estimator all classes of ``y`` by its parameter ``classes``, so that a class
        without a label may be predicted too, as with the Laplace correction of [1]_, equation
        (2.8).
    random_state : int, RandomState or None, default=None
    n_jobs : int, default=None
        Trials at the same time, in the manner of joblib.
    progress : bool, default=False
        Show a bar with the time left.

    Returns
    -------
    curve : DataFrame
        With the columns ``trial``, ``n_labeled`` and ``error``, in this order of rows.

    See Also
    --------
    aulc : The area under a curve.
    compare : Many estimators and data sets, with a file to resume from.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, sections 2.6 and 3.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leaven.evaluation import learning_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = learning_curve(GaussianNB(), X, y, sizes=[6, 12, 48], random_state=0)
    >>> curve.groupby("n_labeled")["error"].mean().round(2).tolist()
    [0.35, 0.19, 0.03]
    """
    data = as_data(X, y, needed_by="learning_curve")
    protocol = CurveProtocol(
        "learning_curve",
        seed=seed_of(random_state),
        n_trials=n_trials,
        test_size=test_size,
        start=start,
        sizes=None if sizes is None else tuple(int(size) for size in sizes),
    )
    splits = [
        protocol.split(data.codes, trial, continuous=is_continuous(data.X))
        for trial in range(n_trials)
    ]
    options: dict[str, Any] = {"semi_supervised": semi_supervised, "known_classes": known_classes}
    plan = bayes_plan(estimator, data.X, **options)
    if strategy is not None and not isinstance(strategy, RandomSampling):
        estimator = Active(estimator, strategy)
    tasks = (
        delayed(_errors)(
            trial, estimator, data, split, derived_seed(protocol.seed, trial), options, plan
        )
        for trial, split in enumerate(splits)
    )
    errors: dict[int, list[float]] = {}
    with progress_bar("learning curve", n_trials, show=progress, keep=True) as advance:
        for trial, curve in run_unordered(tasks, n_jobs=n_jobs):
            errors[trial] = curve
            advance()
    n_sizes = [len(split.sizes) for split in splits]
    return pd.DataFrame(
        {
            "trial": np.repeat(np.arange(n_trials), n_sizes),
            "n_labeled": np.concatenate([split.sizes for split in splits]),
            "error": np.concatenate([errors[trial] for trial in range(n_trials)]),
        }
    )


def seed_of(random_state: Any) -> int:
    """A number to make splits from: an integer as it is, otherwise one that is drawn."""
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _errors(
    trial: int,
    estimator: Any,
    data: Data,
    split: Split,
    seed: int,
    options: dict[str, Any],
    plan: BayesPlan | None,
) -> tuple[int, list[float]]:
    found = predictions(estimator, data, split, seed=seed, plan=plan, **options)
    return trial, [float(np.mean(each.codes != data.codes[each.rows])) for each in found]
