"""Implicitly constrained least squares (Krijthe and Loog, 2015)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval
from leaven._labels import UNLABELED, one_hot
from leaven.base import TransductionMixin, normalize_rows

Array = NDArray[np.float64]


def least_squares_map(X: Array, alpha: float) -> Array:
    """Return the matrix ``G = (X'X + αI)^+``, so that ``w = G X' t`` fits targets ``t``.

    The last column of ``X``, the constant, is not penalized.
    """
    gram = X.T @ X
    ridge = np.full(len(gram), alpha)
    ridge[-1] = 0.0
    return np.asarray(linalg.pinvh(gram + np.diag(ridge)), dtype=np.float64)


class ConstrainedFit(NamedTuple):
    """Targets of the unlabeled rows, the weights of the fit, and how they were found."""

    targets: Array
    weights: Array
    losses: tuple[float, float]
    """On the labeled rows: at the start, and at the solution."""
    n_iter: int
    converged: bool


def constrained_targets(
    X_labeled: Array,
    targets: Array,
    X_unlabeled: Array,
    alpha: float,
    *,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> ConstrainedFit:
    """Choose targets of the unlabeled rows such that the fit to all rows suits the labels best.

    Solves equation (6) of the source,

    ``min_{q in [0, 1]^u} |X_l w(q) - t|²`` with ``w(q) = (X'X + αI)^{-1} (X_l' t + X_u' q)``,

    which is convex in ``q`` (a quadratic function on a box).

    Parameters
    ----------
    X_labeled, X_unlabeled : arrays with the constant as last column
    targets : array of shape (n_labeled,)
        0 or 1.
    alpha : float
    tol : float
        Relative fall of the objective at which L-BFGS-B stops.
    max_iter : int

    Returns
    -------
    ConstrainedFit

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.low_density._implicit import constrained_targets
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
    >>> fitted = constrained_targets(X[[0, 3]], np.array([0.0, 1.0]), X[[1, 2]], 0.0)
    >>> np.round(X @ fitted.weights, 2)
    array([0.  , 0.33, 0.67, 1.  ])
    """
    G = least_squares_map(np.vstack([X_labeled, X_unlabeled]), alpha)
    start = G @ (X_labeled.T @ targets)
    to_scores = X_labeled @ G  # the fitted labeled rows move by to_scores @ X_u' dq

    def loss(q: Array) -> tuple[float, Array]:
        residual = X_labeled @ start + to_scores @ (X_unlabeled.T @ q) - targets
        return float(residual @ residual), 2.0 * X_unlabeled @ (to_scores.T @ residual)

    if not len(X_unlabeled):
        value = loss(np.empty(0))[0]
        return ConstrainedFit(np.empty(0), start, (value, value), 0, True)
    # From the middle of the box: no class is favored where the labels say nothing.
    middle = np.full(len(X_unlabeled), 0.5)
    found = optimize.minimize(
        loss,
        middle,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * len(X_unlabeled),
        options={"maxiter": max_iter, "ftol": tol, "gtol": 1e-9},
    )
    return ConstrainedFit(
        targets=found.x,
        weights=start + G @ (X_unlabeled.T @ found.x),
        losses=(loss(middle)[0], float(found.fun)),
        n_iter=int(found.nit),
        converged=bool(found.success),
    )


class ImplicitlyConstrainedLeastSquares(TransductionMixin, BaseEstimator):
    r"""Least squares classifier that unlabeled rows cannot lead far astray.

    Every labeling :math:`q \in [0, 1]^u` of the unlabeled rows gives a least squares fit

    .. math::

        w(q) = (X^\top X + \alpha I)^{-1} (X_l^\top y + X_u^\top q)

    of all rows. Of these fits, the one with the smallest squared loss on the *labeled* rows is
    taken [1]_. No assumption ties the classes to the shape of the data: the unlabeled rows only
    rule out fits that no labeling of them could give. With one column and no constant, the
    squared loss on all rows, whatever their true labels, is never larger than that of the
    supervised fit.

    Parameters
    ----------
    alpha : float, default=1e-3
        Ridge on the weights, not on the constant. It matters where there are more columns than
        rows.
    tol : float, default=1e-10
        Relative fall of the objective at which the optimization stops.
    max_iter : int, default=1000

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features)
        For two classes the second row is the negative of the first.
    intercept_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    n_iter_ : int
        The most of all classes.
    converged_ : bool
    objective_trace_ : ndarray of shape (2,)
        Squared loss on the labeled rows, summed over the classes: of the fit in which every
        unlabeled row counts half for each class, and of the solution.

    See Also
    --------
    leaven.low_density.S4VM : Safe by another argument, for large margins.
    leaven.model_selection.SafeClassifier : Safe by estimating the gain from labels.

    Notes
    -----
    Memory and time grow linearly with the rows and with the square of the columns. More than
    two classes are fitted one against the rest. Class probabilities are the fitted values, cut
    to [0, 1] and scaled to sum to one; they are not calibrated.

    References
    ----------
    .. [1] J. H. Krijthe and M. Loog, "Implicitly constrained semi-supervised least squares
       classification", Advances in Intelligent Data Analysis XIV, 2015.

    Examples
    --------
    >>> from leaven.low_density import ImplicitlyConstrainedLeastSquares
    >>> X = [[0.0], [0.5], [1.0], [4.0], [4.5], [5.0]]
    >>> y = ["low", None, None, None, None, "high"]
    >>> ImplicitlyConstrainedLeastSquares().fit(X, y).transduction_.tolist()
    ['low', 'low', 'low', 'high', 'high', 'high']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0.0, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, *, alpha: float = 1e-3, tol: float = 1e-10, max_iter: int = 1000) -> None:
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any) -> ImplicitlyConstrainedLeastSquares:
        """Fit on rows of which some are labeled.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            -1 in integers, or None, NaN or pandas.NA, where a row is unlabeled.

        Returns
        -------
        self
        """
        X, codes = self._validate_fit(X, y, dtype=np.float64)
        # Centered and of unit size inside: the squares of 1e200 are not finite.
        self._center = X.mean(axis=0)
        self._size = np.abs(X - self._center).max(axis=0)
        self._size[self._size == 0] = 1.0
        rows = self._rows(X)
        labeled = codes != UNLABELED
        n_classes = len(self.classes_)
        targets = one_hot(codes[labeled], n_classes)
        # Two classes are one problem: their fitted values sum to one.
        fits = [
            constrained_targets(
                rows[labeled],
                targets[:, code],
                rows[~labeled],
                self.alpha,
                tol=self.tol,
                max_iter=self.max_iter,
            )
            for code in range(1 if n_classes == 2 else 0, n_classes)
        ]
        W = np.vstack([fit.weights for fit in fits])
        if n_classes == 2:
            W = np.vstack([-W, W])
            W[0, -1] += 1.0
        self._weights = W
        self.coef_ = W[:, :-1] / self._size
        self.intercept_ = W[:, -1] - self.coef_ @ self._center
        self.n_iter_ = max(1, *(fit.n_iter for fit in fits))
        self.converged_ = all(fit.converged for fit in fits)
        self.objective_trace_ = np.sum([fit.losses for fit in fits], axis=0)
        self._store_transduction(self._probabilities(X), codes)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return the fitted values, cut to [0, 1] and scaled to sum to one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self._probabilities(validate_data(self, X, reset=False, dtype=np.float64))

    def _rows(self, X: Array) -> Array:
        return np.column_stack([(X - self._center) / self._size, np.ones(len(X))])

    def _probabilities(self, X: Array) -> Array:
        return normalize_rows(np.clip(self._rows(X) @ self._weights.T, 0.0, 1.0))
