"""Rows that come one at a time: ask or pass, within a budget."""

from __future__ import annotations

from collections import deque
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted, check_random_state

from leaven._compat import HasMethods, Interval, StrOptions, num_samples, validate_params_of
from leaven._dask import takes_dask
from leaven._labels import UNLABELED, encode_labels, labeled_mask
from leaven.active._model import PoolModel
from leaven.active._state import as_python, rows_and_names
from leaven.active._uncertainty import LeastConfident
from leaven.base import seeded_clone, take_rows
from leaven.exceptions import NotFittedError


def adapt_threshold(threshold: float, *, asked: bool, step: float) -> float:
    """Lower the threshold after asking, raise it after passing.

    ``θ (1 - s)`` or ``θ (1 + s)``: algorithm 3 of Žliobaitė et al. (2014).

    Examples
    --------
    >>> from leaven.active._stream import adapt_threshold
    >>> adapt_threshold(0.5, asked=True, step=0.1), adapt_threshold(0.5, asked=False, step=0.1)
    (0.45, 0.55)
    """
    return threshold * (1.0 - step if asked else 1.0 + step)


class StreamSampler(MetaEstimatorMixin, BaseEstimator):
    """Decide for each row of a stream whether its label is worth asking for.

    A row is asked about if the model's confidence in its class is below a threshold and the
    budget allows it [1]_. Of any ``window`` successive rows at most ``budget * window``
    are asked about. While the model knows fewer than two classes every row is wanted.

    Parameters
    ----------
    estimator : classifier
        Cloned. Learns by ``partial_fit`` if it can; otherwise it is fitted again on the last
        ``keep`` labels when it is next needed. A semi-supervised one also sees the last
        ``keep`` rows that were passed.
    strategy : query strategy, default=None
        Confidence is one minus its score; None is :class:`LeastConfident`, which makes it the
        probability of the predicted class. Use a strategy whose scores lie between 0 and 1.
    budget : float in (0, 1], default=0.1
        Share of the rows that may be asked about.
    window : int, default=100
        Rows over which the budget is counted; ``budget * window`` is at least 1.
    threshold : {"fixed", "variable", "randomized"}, default="variable"
        ``"fixed"`` asks below ``level``. ``"variable"`` starts at 1, goes down by the
        factor ``1 - step`` with each row asked and up by ``1 + step`` with each passed, so that
        the budget is used whatever the confidences are. ``"randomized"`` multiplies the
        variable one by a normal random number of mean 1 and deviation ``spread`` for each row,
        so that sure regions are asked about at times, too: a change there is not missed.
    level : float in (0, 1], default=0.9
        The fixed threshold.
    step : float in (0, 1), default=0.01
    spread : float, default=1.0
    keep : int, default=1000
        Labels that are kept for fitting again.
    random_state : int, RandomState or None, default=None
        Decides the random thresholds, and every ``random_state`` of the estimator that is
        None.

    Attributes
    ----------
    estimator_ : classifier
        The model of the labels taught so far.
    classes_ : ndarray of shape (n_classes,)
    n_seen_, n_asked_ : int
        Rows shown to ``ask``, and those of them for which it was True.
    threshold_ : float
        The threshold now, before the random factor.

    See Also
    --------
    ActiveLearner : Chooses among rows that are all there.

    References
    ----------
    .. [1] I. Žliobaitė, A. Bifet, B. Pfahringer and G. Holmes, "Active learning with drifting
       streaming data", IEEE Transactions on Neural Networks and Learning Systems 25, 2014,
       algorithms 2 to 4. There the spending is estimated with a fading factor, here it is
       counted, so that the bound is strict.
    .. [2] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 2.4.2.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leaven.active import StreamSampler
    >>> from leaven.datasets import make_two_gaussians
    >>> X, y = make_two_gaussians(500, random_state=0)
    >>> sampler = StreamSampler(GaussianNB(), budget=0.2, window=50, random_state=0)
    >>> for x, label in zip(X, y):
    ...     if sampler.ask(x):
    ...         _ = sampler.teach(x, label)
    >>> sampler.n_seen_, sampler.n_asked_ <= 100
    (500, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), HasMethods(["partial_fit", "predict"])],
        "strategy": [None, HasMethods(["scores"])],
        "budget": [Interval(Real, 0, 1, closed="right")],
        "window": [Interval(Integral, 1, None, closed="left")],
        "threshold": [StrOptions({"fixed", "variable", "randomized"})],
        "level": [Interval(Real, 0, 1, closed="right")],
        "step": [Interval(Real, 0, 1, closed="neither")],
        "spread": [Interval(Real, 0, None, closed="left")],
        "keep": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        strategy: Any = None,
        *,
        budget: float = 0.1,
        window: int = 100,
        threshold: str = "variable",
        level: float = 0.9,
        step: float = 0.01,
        spread: float = 1.0,
        keep: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.strategy = strategy
        self.budget = budget
        self.window = window
        self.threshold = threshold
        self.level = level
        self.step = step
        self.spread = spread
        self.keep = keep
        self.random_state = random_state

    def fit(self, X: Any = None, y: Any = None) -> StreamSampler:
        """Start anew, with labeled rows if there are any; ``ask`` can also be called at once.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features), default=None
        y : array-like of shape (n_samples,), default=None
            Rows without a label are not used.

        Returns
        -------
        self
        """
        validate_params_of(self)
        # A product such as 0.29 * 100 is a little less than the whole number that is meant.
        self._limit = int(np.floor(self.budget * self.window + 1e-9))
        if self._limit < 1:
            raise ValueError(
                f"budget={self.budget} of window={self.window} rows is less than one row, so that "
                f"nothing could be asked. Use a window of at least {int(np.ceil(1 / self.budget))}."
            )
        self._rng = check_random_state(self.random_state)
        self._model = PoolModel(seeded_clone(self.estimator, self._rng))
        self._sees_pool = self._model.sees_pool
        self._learns_online = hasattr(self.estimator, "partial_fit") and not self._sees_pool
        self._kept: deque[tuple[Any, Any]] = deque(maxlen=self.keep)
        self._passed: deque[Any] = deque(maxlen=self.keep)
        self._asked_at: deque[int] = deque()
        self._stale = True
        self.n_seen_ = 0
        self.n_asked_ = 0
        self.threshold_ = float(self.level) if self.threshold == "fixed" else 1.0
        self._n_features: int | None = None
        if X is not None and y is not None:
            rows, _ = rows_and_names(X, None)
            check_consistent_length(rows, y)
            known = np.flatnonzero(labeled_mask(y))
            if len(known):
                classes, codes = encode_labels(y)
                for row, label in zip(known, as_python(classes[codes[known]]), strict=True):
                    self._kept.append((self._one_row(take_rows(rows, [row])), label))
        elif X is not None:
            raise ValueError("X was given without y. Give the labels of the rows, or no X.")
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_kept")

    def ask(self, x: Any) -> bool:
        """Whether to ask for the label of ``x``; the row counts as seen.

        Parameters
        ----------
        x : array-like of shape (n_features,), or an array, sparse matrix or DataFrame of one row

        Returns
        -------
        bool
            True also uses up the budget, whether or not the label is taught afterwards.
        """
        self._ensure_started()
        row = self._one_row(x)
        self.n_seen_ += 1
        while self._asked_at and self._asked_at[0] <= self.n_seen_ - self.window:
            self._asked_at.popleft()
        wanted = len(self._asked_at) < self._limit and self._is_wanted(row)
        if wanted:
            self._asked_at.append(self.n_seen_)
            self.n_asked_ += 1
        elif self._sees_pool:
            self._passed.append(row)
            self._stale = True
        return wanted

    def _is_wanted(self, row: Any) -> bool:
        model = self._current_model()
        if model is None:
            return True
        strategy = LeastConfident() if self.strategy is None else self.strategy
        confidence = 1.0 - float(np.asarray(strategy.scores(model, row))[0])
        if self.threshold == "fixed":
            return confidence < self.threshold_
        factor = 1.0
        if self.threshold == "randomized":
            factor = float(self._rng.normal(1.0, self.spread))
        wanted = confidence < self.threshold_ * factor
        self.threshold_ = adapt_threshold(self.threshold_, asked=wanted, step=self.step)
        return wanted

    def teach(self, x: Any, label: Any) -> StreamSampler:
        """Learn the label of a row, whether it was asked for or not.

        Parameters
        ----------
        x : array-like of shape (n_features,), or an array, sparse matrix or DataFrame of one row
        label : str, int or bool

        Returns
        -------
        self
        """
        self._ensure_started()
        row = self._one_row(x)
        if not labeled_mask([label])[0]:
            raise ValueError(f"label is {label!r}, the mark of an unlabeled row. Give its class.")
        # The labels together must be of one kind; raises, before anything has changed.
        # As objects, since numpy would make strings of a mixed list.
        together = np.empty(len(self._kept) + 1, dtype=object)
        together[:] = [*(known for _, known in self._kept), label]
        encode_labels(together)
        (label,) = as_python(np.asarray([label]))
        self._kept.append((row, label))
        if self._learns_online and not self._stale and label in self._model.classes:
            self._model.fitted.partial_fit(row, np.asarray([label]))
        else:
            self._stale = True
        return self

    @property
    def estimator_(self) -> Any:
        """The model of the labels taught so far."""
        self._ensure_started()
        model = self._current_model()
        if model is None:
            raise NotFittedError(
                "There is no model yet: at least 2 classes are needed. Teach rows of both."
            )
        return model

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes among the labels that are kept."""
        self._ensure_started()
        labels = [label for _, label in self._kept]
        return encode_labels(labels)[0] if labels else np.empty(0, dtype=object)

    @takes_dask
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row with ``estimator_``.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self.estimator_)
        return self._model.predict(X)

    def _ensure_started(self) -> None:
        if not hasattr(self, "_kept"):
            self.fit()

    def _current_model(self) -> Any:
        """The estimator with all labels so far; None while fewer than two classes are kept."""
        if not self._stale:
            return self._model.fitted
        labels = [label for _, label in self._kept]
        classes, codes = encode_labels(labels) if labels else (np.empty(0), np.empty(0, np.intp))
        if len(classes) < 2:
            return None
        rows = [row for row, _ in self._kept]
        if self._learns_online:
            fitted = clone(self._model.estimator)
            fitted.partial_fit(_stack(rows), classes[codes], classes=classes)
            self._model.fitted, self._model.classes = fitted, classes
        else:
            codes = np.concatenate([codes, np.full(len(self._passed), UNLABELED)])
            self._model.fit(_stack(rows + list(self._passed)), classes, codes)
        self._stale = False
        return self._model.fitted

    def _one_row(self, x: Any) -> Any:
        if isinstance(x, pd.Series):
            x = x.to_frame().T.infer_objects()
        elif sparse.issparse(x):
            x = sparse.csr_array(x if x.ndim == 2 else x.reshape(1, -1))
        elif not isinstance(x, pd.DataFrame):
            x = np.asarray([x], dtype=object) if isinstance(x, str) else np.asarray(x)
            if x.ndim == 1 and x.dtype.kind not in "OU":
                x = x.reshape(1, -1)
        if num_samples(x) != 1:
            raise ValueError(f"x must be one row, got {num_samples(x)}.")
        width = x.shape[1] if x.ndim == 2 else 1
        if self._n_features is None:
            self._n_features = width
        elif width != self._n_features:
            raise ValueError(f"x has {width} features, but the rows before had {self._n_features}.")
        return x


def _stack(rows: list[Any]) -> Any:
    if sparse.issparse(rows[0]):
        return sparse.vstack(rows, format="csr")
    if isinstance(rows[0], pd.DataFrame):
        return pd.concat(rows, ignore_index=True)
    return np.concatenate(rows)
