"""Membership query synthesis: rows that are made on the decision boundary."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, check_is_fitted, check_random_state

from leaven._compat import HasMethods, Interval, StrOptions, validate_params_of
from leaven._labels import encode_labels, labeled_mask, mask_labels
from leaven.active._model import PoolModel
from leaven.active._uncertainty import margin, probabilities
from leaven.base import seeded_clone

Predict = Callable[[NDArray[Any]], NDArray[Any]]

# Random points of the box among which a search, or a missing class, is looked for.
_DRAWS = 50


def bisect_pairs(
    predict: Predict, start: NDArray[Any], end: NDArray[Any], *, tol: float, max_iter: int
) -> NDArray[Any]:
    """Halve the segments between rows of different classes until the boundary is met.

    Parameters
    ----------
    predict : callable
        Gives the class of each row.
    start, end : ndarray of shape (n_pairs, n_features)
        Rows of a pair have different classes.
    tol : float
        Stop when no segment is longer than this share of its first length.
    max_iter : int

    Returns
    -------
    rows : ndarray of shape (n_pairs, n_features)
        Midpoints of the last segments, whose ends have different classes.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.active._synthesis import bisect_pairs
    >>> ends = np.array([[0.0]]), np.array([[8.0]])
    >>> bisect_pairs(lambda X: X[:, 0] > 3, *ends, tol=1e-9, max_iter=60).round(6)
    array([[3.]])
    """
    side = predict(start)
    low, high = start.copy(), end.copy()
    n_steps = min(max_iter, int(np.ceil(np.log2(1.0 / tol))))
    for _ in range(n_steps):
        middle = (low + high) / 2
        same = predict(middle) == side
        low[same] = middle[same]
        high[~same] = middle[~same]
    return np.asarray((low + high) / 2)


def search_box(
    objective: Callable[[NDArray[Any]], NDArray[Any]],
    start: NDArray[Any],
    low: NDArray[Any],
    high: NDArray[Any],
    *,
    tol: float,
    max_iter: int,
) -> NDArray[Any]:
    """Bring a function down within a box by compass search, which needs no gradient.

    From the current point each coordinate is tried one step up and down; the best of these is
    the next point, or, if none is better, the step is halved.

    Parameters
    ----------
    objective : callable
        Gives a number for each row, not below 0.
    start, low, high : ndarray of shape (n_features,)
    tol : float
        Stop when the objective is at most this, or the step at most this share of the box.
    max_iter : int

    Returns
    -------
    row : ndarray of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.active._synthesis import search_box
    >>> low, high = np.zeros(2), np.full(2, 4.0)
    >>> bowl = lambda X: ((X - [1.0, 5.0]) ** 2).sum(axis=1)
    >>> search_box(bowl, np.full(2, 2.5), low, high, tol=1e-6, max_iter=500).round(3)
    array([1., 4.])
    """
    n_features = len(start)
    directions = np.vstack([np.eye(n_features), -np.eye(n_features)])
    here, step = start.copy(), 0.25
    value = float(objective(here[None])[0])
    for _ in range(max_iter):
        if value <= tol or step <= tol:
            break
        around = np.clip(here + step * directions * (high - low), low, high)
        values = objective(around)
        best = int(np.argmin(values))
        if values[best] < value:
            here, value = around[best], float(values[best])
        else:
            step /= 2
    return here


class QuerySynthesizer(MetaEstimatorMixin, BaseEstimator):
    """Make rows on the decision boundary, and ask for their labels.

    For continuous features only: a row between two others must mean something. Even so a
    person may not recognize it, as with images of digits between two digits [1]_; where
    labels come from an experiment or a simulation that is no matter.

    Parameters
    ----------
    estimator : classifier
        Cloned. A semi-supervised one sees the unlabeled rows given to ``fit`` too.
    method : {"bisection", "search"}, default="bisection"
        ``"bisection"`` halves the segment between two rows that the model puts into different
        classes until it meets the boundary [2]_. ``"search"`` brings the margin, the lead
        of the most probable class over the second, down by compass search within the box of
        the data: rows of all the box, not only between the data.
    tol : float, default=1e-9
        Where the halving of segments or steps ends; a margin this small ends a search.
    max_iter : int, default=200
    random_state : int, RandomState or None, default=None
        Decides the pairs and the starts of the search.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on the labels known now.
    classes_ : ndarray of shape (n_classes,)
    box_ : ndarray of shape (2, n_features)
        Least and largest value of each column given to ``fit``.
    X_, y_ : ndarray
        All rows and labels, those taught at the end.

    See Also
    --------
    ActiveLearner : Chooses among rows that exist.

    References
    ----------
    .. [1] K. J. Lang and E. B. Baum, "Query learning can work poorly when a human oracle is
       used", IJCNN 1992.
    .. [2] L. Wang, X. Hu, B. Yuan and J. Lu, "Active learning via query synthesis and nearest
       neighbour search", Neurocomputing 147, 2015.
    .. [3] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 2.4.1.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leaven.active import QuerySynthesizer
    >>> X, y = [[0.1], [1.1], [4.1], [5.1]], [0, 0, 1, 1]
    >>> maker = QuerySynthesizer(GaussianNB(), random_state=0).fit(X, y)
    >>> maker.query().round(6)
    array([[2.6]])
    >>> bool(maker.teach([[2.6]], [1]).query()[0, 0] < 2.6)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "method": [StrOptions({"bisection", "search"})],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "bisection",
        tol: float = 1e-9,
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> QuerySynthesizer:
        """Fit the estimator and take the box of the data.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Continuous columns.
        y : array-like of shape (n_samples,)
            Unlabeled rows are -1 among integers, and None, NaN or pandas.NA elsewhere.

        Returns
        -------
        self
        """
        validate_params_of(self)
        self._columns = X.columns if isinstance(X, pd.DataFrame) else None
        rows = _continuous(X)
        check_consistent_length(rows, y)
        encode_labels(y, min_classes=2)
        self._rng = check_random_state(self.random_state)
        self._model = PoolModel(seeded_clone(self.estimator, self._rng))
        self.box_ = np.vstack([rows.min(axis=0), rows.max(axis=0)])
        self.X_, self.y_ = rows, mask_labels(y, np.zeros(len(rows), dtype=bool))
        self._fit_estimator()
        return self

    def query(self, n: int = 1) -> Any:
        """Make rows whose labels are wanted.

        Parameters
        ----------
        n : int, default=1

        Returns
        -------
        rows : ndarray of shape (n, n_features), or DataFrame
            Inside the box of the data. A DataFrame if ``fit`` was given one.
        """
        check_is_fitted(self)
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
            raise ValueError(f"n must be an integer of at least 1. Got {n!r} instead.")
        rows = self._by_bisection(int(n)) if self.method == "bisection" else self._by_search(int(n))
        rows = np.clip(rows, *self.box_)
        return rows if self._columns is None else pd.DataFrame(rows, columns=self._columns)

    def teach(self, rows: Any, labels: Any) -> QuerySynthesizer:
        """Add rows with their labels, made or not, and fit again.

        Parameters
        ----------
        rows : array-like or DataFrame of shape (n_rows, n_features)
        labels : array-like of shape (n_rows,)

        Returns
        -------
        self
        """
        check_is_fitted(self)
        new = check_array(rows, dtype=np.float64)
        if new.shape[1] != self.X_.shape[1]:
            raise ValueError(f"rows has {new.shape[1]} columns, but X had {self.X_.shape[1]}.")
        check_consistent_length(new, labels)
        if not labeled_mask(labels).all():
            raise ValueError("labels holds the mark of an unlabeled row. Leave such rows out.")
        classes, codes = encode_labels(labels)
        y = np.concatenate([self.y_.astype(object), classes[codes].astype(object)])
        # Integers carry their own mark, and None marks the others: both survive as objects.
        y = mask_labels(y, np.zeros(len(y), dtype=bool))
        self.X_, self.y_ = np.vstack([self.X_, new]), y
        self._fit_estimator()
        return self

    def _fit_estimator(self) -> None:
        self.classes_, codes = encode_labels(self.y_, min_classes=2)
        self._model.fit(self._frame(self.X_), self.classes_, codes)
        self.estimator_ = self._model.fitted

    def _by_bisection(self, n: int) -> NDArray[Any]:
        rows = self.X_
        predicted = self._predict(rows)
        if len(np.unique(predicted)) < 2:
            # The data are all on one side; the rest of the box may not be.
            rows = np.vstack([rows, self._rng.uniform(*self.box_, (_DRAWS, rows.shape[1]))])
            predicted = self._predict(rows)
            if len(np.unique(predicted)) < 2:
                raise ValueError(
                    f"The model predicts {predicted[0]!r} everywhere in the box of the data, so "
                    "there is no boundary to find. Teach more rows of the other classes."
                )
        first = self._rng.randint(len(rows), size=n)
        second = [self._rng.choice(np.flatnonzero(predicted != predicted[row])) for row in first]
        return bisect_pairs(
            self._predict, rows[first], rows[second], tol=self.tol, max_iter=self.max_iter
        )

    def _by_search(self, n: int) -> NDArray[Any]:
        def objective(rows: NDArray[Any]) -> NDArray[Any]:
            return margin(probabilities(self.estimator_, self._frame(rows)))

        low, high = self.box_
        found = []
        for _ in range(n):
            # Far from the boundary the margin is flat: start at the best of some points.
            draws = self._rng.uniform(low, high, (_DRAWS, len(low)))
            start = draws[np.argmin(objective(draws))]
            found.append(
                search_box(objective, start, low, high, tol=self.tol, max_iter=self.max_iter)
            )
        return np.vstack(found)

    def _predict(self, rows: NDArray[Any]) -> NDArray[Any]:
        return self._model.predict(self._frame(rows))

    def _frame(self, rows: NDArray[Any]) -> Any:
        return rows if self._columns is None else pd.DataFrame(rows, columns=self._columns)


def _continuous(X: Any) -> NDArray[np.float64]:
    """Check that all columns are continuous, and give them as one array."""
    if sparse.issparse(X):
        raise ValueError(
            "QuerySynthesizer makes rows of continuous features, but X is sparse, as counts are. "
            "Use ActiveLearner, which chooses among the rows of X."
        )
    names = list(X.columns) if isinstance(X, pd.DataFrame) else None
    frame = X if names is not None else pd.DataFrame(check_array(X, dtype=None))
    names = names or [f"column {j}" for j in range(frame.shape[1])]
    discrete = []
    for j, name in enumerate(names):
        values = frame.iloc[:, j]
        if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
            discrete.append(name)
            continue
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        # A constant is kept as it is by every row that is made.
        if (numbers == np.round(numbers)).all() and len(np.unique(numbers)) > 1:
            discrete.append(name)
    if discrete:
        raise ValueError(
            f"QuerySynthesizer makes rows of continuous features, but {discrete[:5]} hold "
            "categories or whole numbers only, between which nothing lies. Use ActiveLearner, or, "
            "if these are rounded measurements, scale them first."
        )
    return np.asarray(check_array(frame, dtype=np.float64))
