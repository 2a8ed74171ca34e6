"""The loop of pool-based active learning: query, teach, undo, save and load."""

from __future__ import annotations

import logging
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, check_random_state

from leaven._compat import (
    HasMethods,
    Interval,
    StrOptions,
    check_feature_names,
    num_samples,
    validate_params_of,
)
from leaven._dask import takes_dask
from leaven.active._batch import DIVERSITIES, as_points, choose_batch
from leaven.active._model import PoolModel
from leaven.active._saving import SavingMixin
from leaven.active._start import start_rows
from leaven.active._state import LabelState, as_python, positions_of, rows_and_names
from leaven.active._stopping import BudgetSpent, Progress
from leaven.active._uncertainty import SmallestMargin, probabilities
from leaven.base import seeded_clone, take_rows
from leaven.exceptions import NotFittedError

LOGGER = logging.getLogger("leaven")

# Rows on which successive models are compared, at most (Bloodgood and Vijay-Shanker 2009).
_STOP_SET = 2000


class ActiveLearner(SavingMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Ask for the labels that help most, and learn from them.

    ``fit`` is given all rows; those without a label are the pool. ``query`` names rows of the
    pool, ``teach`` takes their labels, ``undo`` takes the last ones back, and ``save`` keeps
    the session in a file. After ``teach`` the estimator is fitted again when it is next
    needed, so that many labels can be taught one by one at no cost.

    A semi-supervised estimator sees the whole pool in every fit, any other the labeled rows.
    Until two classes are known there is no model: then typical rows of different clusters are
    asked [1]_.

    Parameters
    ----------
    estimator : classifier
        Cloned. With ``warm_start=True`` of its own it goes on from the last fit, as long as no
        class is new and nothing was undone.
    strategy : query strategy, default=None
        An object with ``scores(estimator, X_pool, X, y)``; None is
        :class:`SmallestMargin`. Ties are broken at random.
    batch_size : int, default=1
        Rows that a query names.
    diversity : {None, "kmeans", "core-set"}, default=None
        How the rows of a batch are kept apart, among the ``10 * n`` best scorers: the rows
        nearest to the centers of k-means weighted by score [2]_, or each time the row farthest
        from all that are known or taken [3]_. Distances are those of
        columns scaled to variance one, of sparse rows scaled to length one.
    budget : int, default=None
        Labels to be taught at most; those given to ``fit`` do not count.
    stopping : stopping rule or list of them, default=None
        Such as :class:`StablePredictions`; see ``should_stop``.
    sees_pool : bool or "auto", default="auto"
        Whether the estimator is fitted on the unlabeled rows too. ``"auto"`` is True for the
        classifiers of leaven and of :mod:`sklearn.semi_supervised`, also as the last step of a
        pipeline.
    random_state : int, RandomState or None, default=None
        Decides ties, the start and every ``random_state`` of the estimator and the strategy
        that is None. The same query on the same labels names the same rows.
    verbose : int, default=0
        1 logs a line for each query and fit to the logger ``leaven``.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on the labels that are known now.
    classes_ : ndarray of shape (n_classes,)
        The labels seen so far.
    labels_ : ndarray of shape (n_samples,)
        All labels, in the dtype in which they were given, unlabeled rows marked.
    pool_ : ndarray or Index
        The rows that have no label.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If ``X`` has names of columns that are strings.
    history_ : DataFrame
        What was taught, one line per label: ``step``, ``index``, ``label``, ``asked`` (whether a
        query had named the row), ``replaced`` (the label before, if any), ``new_class``.
    n_taught_ : int
        Rows that got their label from ``teach``.
    stopped_ : str or None
        The reason that ``should_stop`` gave last.

    See Also
    --------
    StreamSampler : Rows that come one at a time.
    QuerySynthesizer : Makes rows instead of choosing them.
    simulate : The same loop with known labels in place of a person.

    Notes
    -----
    Rows are named by position, or by the index of a data frame, which must be unique; arrays
    and sparse matrices can be given an ``index`` in ``fit``. ``X`` is not copied, so do not
    change it between the calls.

    References
    ----------
    .. [1] G. Hacohen, A. Dekel and D. Weinshall, "Active learning on a budget: opposite
       strategies suit high and low budgets", ICML 2022.
    .. [2] F. Zhdanov, "Diverse mini-batch active learning", arXiv:1901.05954, 2019.
    .. [3] O. Sener and S. Savarese, "Active learning for convolutional neural networks: a
       core-set approach", ICLR 2018.
    .. [4] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, sections 2.4.3, 6.2 and 6.4.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leaven.active import ActiveLearner
    >>> X = np.array([[0.0], [1.0], [2.0], [3.1], [4.0], [5.0]])
    >>> learner = ActiveLearner(GaussianNB(var_smoothing=0.1), random_state=0)
    >>> learner.fit(X, ["low", None, None, None, None, "high"]).query()
    array([2])
    >>> learner.teach([2], ["low"]).predict([[1.0], [4.0]])
    array(['low', 'high'], dtype=object)
    >>> learner.undo()
    array([2])
    >>> learner.labels_
    array(['low', None, None, None, None, 'high'], dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "strategy": [None, HasMethods(["scores"])],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "diversity": [None, StrOptions(set(DIVERSITIES))],
        "budget": [None, Interval(Integral, 0, None, closed="left")],
        "stopping": [None, list, HasMethods(["reason"])],
        "sees_pool": ["boolean", StrOptions({"auto"})],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any,
        strategy: Any = None,
        *,
        batch_size: int = 1,
        diversity: str | None = None,
        budget: int | None = None,
        stopping: Any = None,
        sees_pool: bool | str = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.strategy = strategy
        self.batch_size = batch_size
        self.diversity = diversity
        self.budget = budget
        self.stopping = stopping
        self.sees_pool = sees_pool
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, index: Any = None) -> ActiveLearner:
        """Start a session of labeling.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or texts, of shape (n_samples, ...)
            All rows. Texts are a list or Series of strings, for a pipeline that makes
            features of them.
        y : array-like of shape (n_samples,), default=None
            Unlabeled rows are -1 among integers, and None, NaN or pandas.NA elsewhere. None,
            or no label at all, starts from nothing.
        index : array-like of shape (n_samples,), default=None
            Names of the rows, unique strings or integers, for an ``X`` that has none: such as
            the index of the table from which a sparse matrix was made.

        Returns
        -------
        self
        """
        rows, names = rows_and_names(X, index)
        if y is not None:
            if isinstance(y, pd.Series) and names is not None and not y.index.equals(names):
                raise ValueError(
                    "The index of y is not the index of X, so that labels would go to other "
                    "rows. Give y.reindex(X.index), or y.to_numpy() if the order is right."
                )
            check_consistent_length(rows, y)
        state = LabelState(num_samples(rows), y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._begin(rows, names, state, seed)
        self._own_index = index is not None
        self._current_model()  # what the estimator refuses is refused now
        return self

    def _begin(self, X: Any, names: pd.Index | None, state: LabelState, seed: int) -> None:
        validate_params_of(self)
        for rule in self._rules():
            if not hasattr(rule, "reason"):
                raise ValueError(f"stopping holds {rule!r}, which is no stopping rule.")
        self._X, self._names, self._state, self._seed = X, names, state, seed
        if X.ndim == 2:
            self.n_features_in_ = int(X.shape[1])
            check_feature_names(self, X, reset=True)
        self._points: Any = None
        template = seeded_clone(self.estimator, np.random.RandomState([seed, 1]))
        self._model = PoolModel(template, sees_pool=self.sees_pool)
        self._fitted_step: int | None = None
        n_samples = num_samples(X)
        sample = np.random.RandomState([seed, 2]).permutation(n_samples)[:_STOP_SET]
        self._stop_set = np.sort(sample)
        self._trace: dict[int, NDArray[np.intp]] = {}
        self._trace_names: list[Any] = []
        self.stopped_: str | None = None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags

    def query(self, n: int | None = None) -> Any:
        """Name the rows whose labels are wanted next, the most wanted first.

        Asked twice with nothing taught in between, it names the same rows.

        Parameters
        ----------
        n : int, default=None
            How many; None is ``batch_size``, or what is left of the pool and the budget.

        Returns
        -------
        indices : ndarray of int, or Index
            Positions in ``X``; for a data frame, labels of its index.
        """
        check_is_fitted(self)
        pool = np.flatnonzero(~self._state.known)
        n_rows = self._how_many(n, len(pool))
        rng = np.random.RandomState([self._seed, 3, len(self._state.steps)])
        model = self._current_model()
        if model is None:
            chosen = start_rows(self._all_points(), self._state.known, n_rows, rng)
            how = "of a start without a model"
        else:
            chosen = self._by_strategy(model, pool, n_rows, rng)
            how = f"of {len(pool)} by {type(self._strategy()).__name__}"
        self._state.asked.update(chosen.tolist())
        self._log("query of %d rows %s", n_rows, how)
        return self._named(chosen)

    def _by_strategy(
        self, model: Any, pool: NDArray[np.intp], n_rows: int, rng: np.random.RandomState
    ) -> NDArray[np.intp]:
        strategy = self._strategy()
        if hasattr(strategy, "get_params"):
            strategy = seeded_clone(strategy, rng)
        X_train, y_train = self._model.training_set(self._X, *self._state.coded())
        scores = np.asarray(strategy.scores(model, take_rows(self._X, pool), X_train, y_train))
        if scores.shape != pool.shape:
            raise ValueError(
                f"{type(strategy).__name__}.scores gave an array of shape {scores.shape} for "
                f"{len(pool)} rows. Give one score a row."
            )
        points = known = None
        if self.diversity is not None and n_rows > 1:
            points = self._all_points()
            points, known = points[pool], points[np.flatnonzero(self._state.known)]
        return pool[
            choose_batch(scores, n_rows, rng, diversity=self.diversity, points=points, known=known)
        ]

    def _how_many(self, n: int | None, n_pool: int) -> int:
        if n is not None and (not isinstance(n, Integral) or isinstance(n, bool) or n < 1):
            raise ValueError(f"n must be an integer of at least 1, or None. Got {n!r} instead.")
        if not n_pool:
            raise ValueError(
                f"The pool is empty: all {len(self._state.labels)} rows have a label, so there "
                "is nothing to ask."
            )
        left = n_pool if self.budget is None else self.budget - self._state.n_taught
        if left < 1:
            raise ValueError(
                f"The budget of {self.budget} labels is spent. Set a larger one with "
                "set_params(budget=...) to go on."
            )
        if n is None:
            return min(self.batch_size, n_pool, left)
        if n > min(n_pool, left):
            where = "in the pool" if n_pool <= left else f"of the budget of {self.budget}"
            raise ValueError(
                f"n={n} rows were asked for, but {min(n_pool, left)} are left {where}. Ask for "
                "fewer; query() without n takes what is left."
            )
        return int(n)

    def teach(self, indices: Any, labels: Any) -> ActiveLearner:
        """Give labels of rows, by the names that ``query`` uses.

        Rows that were not asked are welcome, so are new classes and other labels for rows that
        had one; ``history_`` notes all three.

        Parameters
        ----------
        indices : array-like, or a single index
        labels : array-like, or a single label

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if _is_single(indices):
            indices, labels = [indices], [labels] if _is_single(labels) else labels
        rows = positions_of(indices, self._names, len(self._state.labels))
        if isinstance(labels, pd.Series):
            if self._names is not None and not labels.index.equals(self._names[rows]):
                raise ValueError(
                    "The index of labels is not that of indices, so that labels would go to "
                    "other rows. Give labels.loc[indices], or labels.to_numpy()."
                )
            labels = labels.array
        step = self._state.teach(rows, labels)
        unasked = len(step.asked) - sum(step.asked)
        replaced = sum(label is not None for label in step.previous)
        self._log("taught %d labels, %d not asked, %d known", len(rows), unasked, replaced)
        self.stopped_ = None
        return self

    def undo(self) -> Any:
        """Take back the last ``teach``; call it again for the one before.

        Returns
        -------
        indices : ndarray of int, or Index
            The rows whose labels were taken back.
        """
        check_is_fitted(self)
        step = self._state.undo()
        self._model.fitted, self._fitted_step = None, None
        self._trace = {n: kept for n, kept in self._trace.items() if n <= len(self._state.steps)}
        self.stopped_ = None
        return self._named(np.asarray(step.rows, dtype=np.intp))

    def should_stop(self) -> str | None:
        """Say why no more labels are needed, or None to go on.

        The pool may be empty, the budget spent, or a rule of ``stopping`` met. Rules that
        compare predictions do so between the successive fits.

        Returns
        -------
        reason : str or None
        """
        check_is_fitted(self)
        self.stopped_ = self._reason_to_stop()
        return self.stopped_

    def _reason_to_stop(self) -> str | None:
        n_taught = self._state.n_taught
        pool = np.flatnonzero(~self._state.known)
        if not len(pool):
            return "the pool is empty: every row has a label"
        rules = self._rules()
        if self.budget is not None:
            rules.insert(0, BudgetSpent(self.budget))
        needs = set().union(*(_needs(rule) for rule in rules)) if rules else set()
        P = None
        if needs:
            model = self._current_model()
            if model is not None and "pool_probabilities" in needs:
                P = probabilities(model, take_rows(self._X, pool))
        seen = [self._trace[step] for step in sorted(self._trace)]
        progress = Progress(n_taught, len(pool), seen, P)
        reasons = (rule.reason(progress) for rule in rules)
        return next((reason for reason in reasons if reason is not None), None)

    @property
    def estimator_(self) -> Any:
        """The estimator, fitted on the labels that are known now."""
        check_is_fitted(self)
        model = self._current_model()
        if model is None:
            n_classes = len(self.classes_)
            raise NotFittedError(
                f"There is no model yet: {n_classes} class{'' if n_classes == 1 else 'es'} known, "
                "at least 2 are needed. Teach what query() asks for until a second class turns "
                "up."
            )
        return model

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels seen so far, sorted."""
        check_is_fitted(self)
        return self._state.coded()[0]

    @property
    def labels_(self) -> NDArray[Any]:
        """All labels, unlabeled rows marked."""
        check_is_fitted(self)
        return self._state.values()

    @property
    def pool_(self) -> Any:
        """The rows that have no label, by the names that ``query`` uses."""
        check_is_fitted(self)
        return self._named(np.flatnonzero(~self._state.known))

    @property
    def history_(self) -> pd.DataFrame:
        """What was taught, one line per label."""
        check_is_fitted(self)
        names = np.arange(len(self._state.labels)) if self._names is None else self._names
        return self._state.history(names)

    @property
    def n_taught_(self) -> int:
        """Rows that got their label from ``teach``."""
        check_is_fitted(self)
        return self._state.n_taught

    @takes_dask
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row with ``estimator_``.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or texts

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self.estimator_)
        return self._model.predict(X)

    @takes_dask
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Predict class probabilities with ``estimator_``.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or texts

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
            From the decision function where the estimator has no probabilities.
        """
        return probabilities(self.estimator_, X)

    def _strategy(self) -> Any:
        return SmallestMargin() if self.strategy is None else self.strategy

    def _rules(self) -> list[Any]:
        if self.stopping is None:
            return []
        return list(self.stopping) if isinstance(self.stopping, list) else [self.stopping]

    def _current_model(self) -> Any:
        """The estimator fitted on what is known now; None while there is one class only."""
        step = len(self._state.steps)
        if self._fitted_step == step:
            return self._model.fitted
        classes, codes = self._state.coded()
        if len(classes) < 2:
            return None
        self._model.fit(self._X, classes, codes)
        self._fitted_step = step
        self._log("fit with %d labels of %d classes", self._state.known.sum(), len(classes))
        if any("predictions" in _needs(rule) for rule in self._rules()):
            predicted = as_python(self._model.predict(take_rows(self._X, self._stop_set)))
            self._trace_names += [
                name for name in as_python(classes) if name not in self._trace_names
            ]
            places = {name: place for place, name in enumerate(self._trace_names)}
            self._trace[step] = np.array([places[name] for name in predicted], dtype=np.intp)
        return self._model.fitted

    def _all_points(self) -> Any:
        if self._points is None:
            self._points = as_points(self._X)
        return self._points

    def _named(self, rows: NDArray[np.intp]) -> Any:
        return rows if self._names is None else self._names[rows]

    def _log(self, line: str, *values: Any) -> None:
        if self.verbose:
            LOGGER.info(f"ActiveLearner: {line}", *values)


def _needs(rule: Any) -> frozenset[str]:
    """What a rule looks at; one that does not say is shown everything."""
    return frozenset(getattr(rule, "needs", {"predictions", "pool_probabilities"}))


def _is_single(value: Any) -> bool:
    """Whether one index or label came, instead of several (a tuple names one row)."""
    return pd.api.types.is_scalar(value) or isinstance(value, tuple)
