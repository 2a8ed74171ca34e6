"""Many estimators on many data sets, trial by trial."""

from __future__ import annotations

import contextlib
import logging
import pickle
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from joblib import delayed

import leaven
from leaven._progress import progress_bar
from leaven.datasets import load
from leaven.evaluation._curve import seed_of
from leaven.evaluation._curve_bayes import bayes_plan
from leaven.evaluation._fingerprint import describe_data, describe_estimator
from leaven.evaluation._protocol import (
    Protocol,
    check_count,
    derived_seed,
    get_protocol,
    is_continuous,
    protocol_settings,
)
from leaven.evaluation._scores import macro_scores
from leaven.evaluation._store import FAILED, Key, Store, TrialResult
from leaven.evaluation._tasks import run_unordered
from leaven.evaluation._trial import Active, Data, as_data, predictions
from leaven.exceptions import FailedTrialsWarning

logger = logging.getLogger("leaven")

# Data sets that a worker keeps in memory: trials come data set by data set, so that more are
# hardly asked for again.
CACHED = 4

# Places that the message of a failed trial names: where it arose, and two callers.
TRACEBACK_FRAMES = 3


def compare(
    estimators: Mapping[str, Any],
    datasets: Mapping[str, Any] | Sequence[str],
    *,
    protocol: str | Protocol = "curve",
    n_trials: int | None = None,
    semi_supervised: Mapping[str, bool] | None = None,
    known_classes: bool = False,
    store: Any = None,
    retry_failed: bool = False,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Run estimators on data sets under one protocol, into one tidy table.

    Every method meets the same splits of a data set, whatever else is compared. Trials run
    through joblib: in processes of this machine with ``n_jobs``, or on the cluster that
    :func:`joblib.parallel_config` names. A trial that fails is recorded with its error, and the
    others go on; a :class:`~leaven.exceptions.FailedTrialsWarning` counts them.

    With ``store`` each trial is written to a SQLite file when it ends. A run that was killed
    goes on where it stopped: trials in the file are not run again. More methods, data sets and
    trials may be added to a file later; a method, a data set or a protocol whose settings
    differ from those in the file is refused.

    Parameters
    ----------
    estimators : dict
        Names and classifiers; :class:`Tuned` for parameters to be chosen on validation rows,
        :class:`Active` for labels to be chosen by a strategy.
        A ``random_state`` that is None is set, differently in each trial.
    datasets : dict or list of str
        Names, each with a pair ``(X, y)``, a function without arguments that returns one, or
        the name of a data set of :func:`leaven.datasets.load`; a list holds such names.
        Functions and names are loaded where the trial runs, and once here to tell whether the
        data are those in the store.
    protocol : str or protocol, default="curve"
        A name in ``PROTOCOLS``, or a :class:`CurveProtocol`, :class:`FoldProtocol` or
        :class:`DrawProtocol`.
    n_trials : int, default=None
        The first so many trials; None: as many as the protocol has.
    semi_supervised : dict, default=None
        For methods by name, whether to give them all training rows or the labeled ones only,
        where :func:`leaven.base.learns_from_unlabeled` is wrong. A class of your own that
        declares ``learns_from_unlabeled``, or that has ``transduction_`` after ``fit``, is
        given all of them by itself.
    known_classes : bool, default=False
        Tell the estimators all classes, see :func:`learning_curve`.
    store : path, default=None
        The SQLite file; None keeps the results in memory. Parameters that are functions or
        objects of your own are compared by their code and content; one that cannot be looked
        into needs an attribute ``__fingerprint__``.
    retry_failed : bool, default=False
        Run trials again that failed in an earlier run.
    random_state : int, RandomState or None, default=None
        Seed of the splits; None takes the one of the protocol.
    n_jobs : int, default=None
        Parallel jobs, in the manner of joblib.
    progress : bool, default=False
        Show a bar with the time left.

    Returns
    -------
    results : DataFrame
        One row for each data set, method, trial and number of labels, in this order, with the
        columns ``dataset``, ``method``, ``trial``, ``n_labeled``, ``error``, ``accuracy``;
        ``f1``, ``precision`` and ``recall``, means over the classes; ``seconds`` of fit and
        prediction; ``status`` ("ok" or "failed") and ``message``. A trial that failed has one
        row, with its error as message and no scores.

    See Also
    --------
    learning_curve : One estimator on one data set.
    read_store : All results in a store.

    Examples
    --------
    >>> from sklearn.datasets import load_iris, load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leaven.evaluation import compare
    >>> from leaven.generative import SemiSupervisedGaussianNB
    >>> results = compare(
    ...     {"NB": GaussianNB(), "SSNB": SemiSupervisedGaussianNB()},
    ...     {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)},
    ...     protocol="5-per-class",
    ... )
    >>> results.groupby(["dataset", "method"])["error"].mean().unstack().round(2)
    method     NB  SSNB
    dataset
    iris     0.10  0.06
    wine     0.09  0.04
    """
    protocol = get_protocol(protocol)
    if random_state is not None:
        protocol = replace(protocol, seed=seed_of(random_state))
    if n_trials is None:
        n_trials = protocol.n_trials
    check_count("n_trials", n_trials, 1)
    overrides = dict(semi_supervised or {})
    _check_names(estimators, overrides)
    sources = {name: _Source.make(name, given) for name, given in _named(datasets).items()}
    methods = {
        name: _Method(name, estimator, overrides.get(name), known_classes)
        for name, estimator in estimators.items()
    }
    # Without a file there is nothing to go on from, and nothing that must be told apart.
    settings = {} if store is None else _settings(protocol, methods, sources)
    keys = [
        (dataset, method, trial)
        for dataset in sources
        for method in methods
        for trial in range(n_trials)
    ]
    installed = leaven.__version__
    with Store(store) as results:
        results.settle(settings)
        done = results.done(failed_too=not retry_failed)
        todo = [key for key in keys if key not in done]
        logger.info("compare: %d of %d trials to run", len(todo), len(keys))
        tasks = _tasks(todo, sources, methods, protocol)
        with progress_bar("compare", len(todo), show=progress, keep=True) as advance:
            for result in run_unordered(tasks, n_jobs=n_jobs):
                results.add(result, version=installed)
                advance()
        frame = results.frame(keys)
    _warn_of_failures(frame, len(keys))
    return frame


def _warn_of_failures(frame: pd.DataFrame, n_trials: int) -> None:
    failed = frame[frame["status"] == FAILED]
    if failed.empty:
        return
    by_method = ", ".join(
        f"{count} of {method!r}" for method, count in failed["method"].value_counts().items()
    )
    first = failed.iloc[0]
    reason = str(first["message"]).splitlines()[0]
    warnings.warn(
        f"{len(failed)} of {n_trials} trials failed ({by_method}) and have no scores; the first, "
        f"{first['method']!r} on {first['dataset']!r}: {reason}. The column message has them all.",
        FailedTrialsWarning,
        stacklevel=3,
    )


def _settings(
    protocol: Protocol, methods: dict[str, _Method], sources: dict[str, _Source]
) -> dict[str, dict[str, dict[str, str]]]:
    """What the run is made with, to be compared with what is in the file."""
    described = {}
    for name, method in methods.items():
        with _naming(name):
            described[name] = method.settings()
    return {
        "protocol": {"": _texts(protocol_settings(protocol))},
        "method": described,
        "data set": {name: source.settings for name, source in sources.items()},
    }


@contextlib.contextmanager
def _naming(method: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"The method {method!r}: {error}") from error


@dataclass(frozen=True)
class _Method:
    """An estimator and how it is to be used."""

    name: str
    estimator: Any
    semi_supervised: bool | None
    known_classes: bool

    def settings(self) -> dict[str, str]:
        return {
            **describe_estimator(self.estimator),
            "semi_supervised": str(self.semi_supervised),
            "known_classes": str(self.known_classes),
        }

    @property
    def options(self) -> dict[str, Any]:
        return {"semi_supervised": self.semi_supervised, "known_classes": self.known_classes}


@dataclass(frozen=True)
class _Source:
    """Where a worker gets a data set from, and what the data are.

    Arrays travel as they are, since joblib shares large ones between processes. A table of
    strings would be taken apart and put together for each trial: it travels as bytes, and a
    worker that has the data already does not look at them.
    """

    name: str
    settings: dict[str, str]
    data: Data | None = None
    packed: bytes | None = None
    loader: Callable[[], Any] | str | None = None

    @classmethod
    def make(cls, name: str, given: Any) -> _Source:
        data = _read(name, given)
        settings = describe_data(data.X, data.y)
        source: _Source
        if callable(given) or isinstance(given, str):
            source = cls(name, settings, loader=given)
        elif isinstance(data.X, pd.DataFrame):
            source = cls(name, settings, packed=pickle.dumps(data, pickle.HIGHEST_PROTOCOL))
        else:
            return cls(name, settings, data=data)
        _remember(source, data)
        return source

    def get(self) -> Data:
        if self.data is not None:
            return self.data
        key = tuple(self.settings.values())
        if key in _cache:
            _cache.move_to_end(key)
            return _cache[key]
        data = pickle.loads(self.packed) if self.packed else _read(self.name, self.loader)
        _remember(self, data)
        return data


_cache: OrderedDict[tuple[str, ...], Data] = OrderedDict()


def _remember(source: _Source, data: Data) -> None:
    _cache[tuple(source.settings.values())] = data
    while len(_cache) > CACHED:
        _cache.popitem(last=False)


def _read(name: str, given: Any) -> Data:
    if isinstance(given, str):
        given = load(given, return_X_y=True)
    elif callable(given):
        given = given()
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise TypeError(
            f"The data set {name!r} must be a pair (X, y), a function that returns one, or a name "
            f"that leaven.datasets.load knows; got {type(given).__name__}."
        )
    try:
        return as_data(*given, needed_by="compare")
    except ValueError as error:
        raise ValueError(f"Data set {name!r}: {error}") from error


def _named(datasets: Any) -> dict[str, Any]:
    if isinstance(datasets, str):
        datasets = [datasets]
    if isinstance(datasets, Mapping):
        named = dict(datasets)
    else:
        named = {name: name for name in datasets}
    if not named or not all(isinstance(name, str) for name in named):
        raise TypeError("datasets must be a dict from names to data, or a list of names.")
    return named


def _check_names(estimators: Any, overrides: dict[str, bool]) -> None:
    if not isinstance(estimators, Mapping) or not estimators:
        raise TypeError("estimators must be a dict from names to classifiers, with one at least.")
    unknown = sorted(set(overrides) - set(estimators))
    if unknown:
        raise ValueError(
            f"semi_supervised names {unknown}, which are not in estimators: {sorted(estimators)}."
        )


def _texts(settings: dict[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in settings.items()}


def _tasks(
    todo: list[Key],
    sources: dict[str, _Source],
    methods: dict[str, _Method],
    protocol: Protocol,
) -> Iterator[Any]:
    for dataset, method, trial in todo:
        yield delayed(_run_trial)(sources[dataset], methods[method], protocol, trial)


def _run_trial(source: _Source, method: _Method, protocol: Protocol, trial: int) -> TrialResult:
    """Run one trial; an error of any kind becomes a result that says so."""
    try:
        rows = _rows(source.get(), method, protocol, trial)
    except Exception as error:
        return TrialResult(source.name, method.name, trial, FAILED, short_traceback(error))
    return TrialResult(source.name, method.name, trial, rows=rows)


def _rows(data: Data, method: _Method, protocol: Protocol, trial: int) -> list[dict[str, Any]]:
    split = protocol.split(data.codes, trial, continuous=is_continuous(data.X))
    estimator = method.estimator
    learner = estimator.estimator if isinstance(estimator, Active) else estimator
    plan = bayes_plan(learner, data.X, **method.options)
    seed = derived_seed(protocol.seed, trial)
    found = predictions(estimator, data, split, seed=seed, plan=plan, **method.options)
    return [
        {
            "n_labeled": each.n_labeled,
            **macro_scores(data.codes[each.rows], each.codes),
            "seconds": each.seconds,
        }
        for each in found
    ]


def short_traceback(error: BaseException) -> str:
    """Type and message of an error, and the last places it came through."""
    frames = traceback.extract_tb(error.__traceback__)[-TRACEBACK_FRAMES:]
    places = [f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
    return "\n".join([f"{type(error).__name__}: {error}", *places])
