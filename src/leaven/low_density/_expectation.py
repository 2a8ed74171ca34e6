"""Expectation-regularized logistic regression."""

from __future__ import annotations

import logging
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval, StrOptions
from leaven._labels import UNLABELED, class_prior
from leaven.base import TransductionMixin
from leaven.low_density._logistic import (
    CHECKS,
    COMMON_CONSTRAINTS,
    Array,
    LogisticFit,
    check_row_weight,
    fit_logistic,
    linear_scores,
    probabilities,
)

logger = logging.getLogger("leaven")


def proportion_divergence(
    Z: Array, proportions: Array, temperature: float = 1.0, row_weight: Array | None = None
) -> tuple[float, Array]:
    """``KL(proportions || mean of softmax(Z / T))`` and its gradient in the logits.

    With ``q_k`` the mean of ``p_ik`` over the rows, each of the share ``s_i`` (1 / m if not
    given), and ``a_k = proportions_k / q_k``, the gradient is
    ``s_i p_ik (Σ_j a_j p_ij - a_k) / T``.
    """
    p = softmax(Z / temperature, axis=1)
    mass = np.ones(len(Z)) if row_weight is None else row_weight
    share = mass / (mass.sum() or 1.0)
    predicted = np.maximum(share @ p, np.finfo(float).tiny)
    value = float((proportions * np.log(proportions / predicted)).sum())
    ratio = proportions / predicted
    gradient = share[:, None] * p * ((p @ ratio)[:, None] - ratio) / temperature
    return value, gradient


class ExpectationRegularizedLogisticRegression(TransductionMixin, BaseEstimator):
    r"""Logistic regression whose predictions hold known class proportions on average.

    Maximizes [1]_

    .. math::

        \sum_{i \le l} \log p(y_i | x_i) - \frac{|w|^2}{2C} - \lambda \,
        \mathrm{KL}\Big(\tilde p \,\Big\|\, \tfrac1m \sum_{i > l} p(\cdot | x_i)\Big)

    where :math:`\tilde p` are the class proportions of the unlabeled rows, given or taken
    from the labeled ones.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the ridge, as in :class:`sklearn.linear_model.LogisticRegression`.
    expectation_weight : float or "auto", default="auto"
        The weight :math:`\lambda`; "auto" is ten times the number of labeled rows. With 0 this
        is logistic regression on the labeled rows.
    prior : {"labeled", "uniform"}, dict or array-like of shape (n_classes,), default="labeled"
        The proportions :math:`\tilde p`: the frequencies of the labeled rows, equal, by name,
        or in the order of ``classes_``.
    temperature : float, default=1.0
        The predicted proportions are means of ``softmax(logits / temperature)``. Below 1 they
        count rows more as if they were labeled, and the way out of predicting the proportions
        themselves for every row is closed.
    fit_intercept : bool, default=True
        Intercepts are not penalized.
    tol : float, default=1e-5
        Stop when the largest entry of the gradient, a labeled row, is below this.
    max_iter : int, default=1000
        Largest number of L-BFGS iterations, before and after the regularization enters.
    verbose : int, default=0
        With 1, a line per step goes to the logger ``leaven``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    prior_ : ndarray of shape (n_classes,)
        The proportions asked for.
    transduction_ : ndarray of shape (n_samples,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    objective_ : float
        The function above at the solution.
    objective_trace_ : list of float
        The same at the supervised solution, where it starts, and at the end.
    n_iter_ : int
    converged_ : bool

    See Also
    --------
    EntropyRegularizedLogisticRegression : Certainty in place of class proportions.

    References
    ----------
    .. [1] G. S. Mann and A. McCallum, "Simple, robust, scalable semi-supervised learning via
       expectation regularization", ICML 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.low_density import ExpectationRegularizedLogisticRegression
    >>> X = [[0.0], [0.3], [0.6], [0.9], [2.6], [3.0]]
    >>> y = [0, -1, -1, -1, -1, 1]
    >>> model = ExpectationRegularizedLogisticRegression(
    ...     prior=[0.75, 0.25], expectation_weight=1e4
    ... ).fit(X, y)
    >>> np.round(model.predict_proba(X[1:5]).mean(axis=0), 3)
    array([0.75, 0.25])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **COMMON_CONSTRAINTS,
        "expectation_weight": [StrOptions({"auto"}), Interval(Real, 0.0, None, closed="left")],
        "prior": [StrOptions({"labeled", "uniform"}), dict, "array-like"],
        "temperature": [Interval(Real, 0.0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        expectation_weight: Any = "auto",
        prior: Any = "labeled",
        temperature: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-5,
        max_iter: int = 1000,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.expectation_weight = expectation_weight
        self.prior = prior
        self.temperature = temperature
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> ExpectationRegularizedLogisticRegression:
        """Fit on rows of which some are labeled.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            -1 in integers, or None, NaN or pandas.NA, where a row is unlabeled.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight two counts as two equal rows, labeled or not.

        Returns
        -------
        self : ExpectationRegularizedLogisticRegression
        """
        X, codes = self._validate_fit(X, y, **CHECKS)
        row_weight = check_row_weight(sample_weight, codes)
        self.prior_ = class_prior(self.prior, codes, self.classes_, smoothing=0.0)
        if row_weight is not None and isinstance(self.prior, str) and self.prior == "labeled":
            known = codes != UNLABELED
            mass = np.bincount(codes[known], row_weight[known], minlength=len(self.classes_))
            self.prior_ = np.asarray(mass / mass.sum())
        if (self.prior_ <= 0).any():
            raise ValueError(
                "prior must be above 0 for every class, but it is "
                f"{self.prior_.tolist()} for {self.classes_.tolist()}. Leave a class that has no "
                "unlabeled rows out of y."
            )
        labeled = codes != UNLABELED
        weight = self.expectation_weight
        if isinstance(weight, str):
            weight = 10.0 * float(
                labeled.sum() if row_weight is None else row_weight[labeled].sum()
            )
        weights = [0.0] if weight == 0 or labeled.all() else [0.0, float(weight)]
        unlabeled = None if row_weight is None else row_weight[~labeled]
        level = logging.INFO if self.verbose else logging.DEBUG
        fitted = fit_logistic(
            X,
            codes,
            len(self.classes_),
            weights,
            lambda Z: proportion_divergence(Z, self.prior_, self.temperature, unlabeled),
            C=self.C,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            row_weight=row_weight,
            log=lambda weight, value: logger.log(
                level, "expectation: weight %.3g, objective %.6g", weight, value
            ),
        )
        self._store(fitted, codes)
        return self

    def decision_function(self, X: Any) -> Array:
        """Logits.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The log-odds of ``classes_[1]`` for two classes; else a logit for each class.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **CHECKS)
        scores = linear_scores(X, self.coef_, self.intercept_)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities: logistic or softmax of the logits.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return probabilities(self.decision_function(X))

    def _store(self, fitted: LogisticFit, codes: NDArray[np.intp]) -> None:
        self.coef_, self.intercept_ = fitted.coef, fitted.intercept
        self.n_iter_, self.converged_ = fitted.n_iter, fitted.converged
        self.objective_, self.objective_trace_ = fitted.trace[-1], fitted.trace
        self._store_transduction(fitted.distributions, codes)
