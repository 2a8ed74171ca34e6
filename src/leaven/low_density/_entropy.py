"""Entropy-regularized logistic regression."""

from __future__ import annotations

import logging
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval, StrOptions
from leaven._labels import UNLABELED
from leaven.base import TransductionMixin
from leaven.exceptions import LeavenWarning
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

AUTO_WEIGHT = 0.3  # of the entropy: below the likelihood, so that labels are not overruled
# Fewer unlabeled rows than this may well be of one class.
MANY_ROWS = 20


def total_entropy(Z: Array, row_weight: Array | None = None) -> tuple[float, Array]:
    """``-Σ_i s_i Σ_k p_ik log p_ik`` of the softmax of logits, and its gradient in the logits.

    ``∂H_i/∂z_ik = -p_ik (log p_ik + H_i)``; ``s`` is one if not given.
    """
    log_p = log_softmax(Z, axis=1)
    p = np.exp(log_p)
    # p log p is zero at p = 0; a logit of -inf does not occur, but p may underflow.
    rows = -(p * log_p).sum(axis=1, keepdims=True)
    if row_weight is None:
        return float(rows.sum()), -p * (log_p + rows)
    s = row_weight[:, None]
    return float((s * rows).sum()), -s * p * (log_p + rows)


class EntropyRegularizedLogisticRegression(TransductionMixin, BaseEstimator):
    r"""Logistic regression that is to be sure of the unlabeled rows.

    Maximizes (equation 2.55 of [1]_; the method is of [2]_)

    .. math::

        \sum_{i \le l} \log p(y_i | x_i) - \lambda_1 |w|^2
        + \lambda_2 \sum_{i > l} \sum_k p(k | x_i) \log p(k | x_i)

    The last sum is minus the entropy of the predictions for the unlabeled rows, which is low
    when no such row lies near the boundary. The function is not concave: :math:`\lambda_2`
    rises from the supervised solution in steps, each starting where the last one ended
    (deterministic annealing).

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the ridge, :math:`\lambda_1 = 1 / (2C)`, as in
        :class:`sklearn.linear_model.LogisticRegression`.
    entropy_weight : float or "auto", default="auto"
        The weight :math:`\lambda_2` of an unlabeled row beside a labeled one; with 0 this is
        logistic regression on the labeled rows. "auto" is ``0.3 n_labeled / n_unlabeled``: all
        unlabeled rows together weigh 0.3 of the labeled ones.
    n_annealing_steps : int, default=10
        Number of doublings by which the weight reaches ``entropy_weight``. With 0 it is there
        at once, from the supervised solution.
    fit_intercept : bool, default=True
        Intercepts are not penalized.
    tol : float, default=1e-5
        Stop when the largest entry of the gradient, a labeled row, is below this.
    max_iter : int, default=1000
        Largest number of L-BFGS iterations in each step.
    verbose : int, default=0
        With 1, a line per step goes to the logger ``leaven``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    objective_ : float
        The function above at the solution.
    objective_trace_ : list of float
        The same after each step.
    n_iter_ : int
    converged_ : bool

    See Also
    --------
    ExpectationRegularizedLogisticRegression : Class proportions in place of certainty.
    TransductiveSVC : The same assumption with a margin.

    Notes
    -----
    With few labels and a large weight it can pay to put all unlabeled rows in one class, which
    this method has no means to prevent [1]_; it warns when that has happened. The default
    weight is a careful one; well separated classes bear ten times as much.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical Evaluation of Semi-Supervised Naïve Bayes for Active
       Learning", PhD thesis, University of East Anglia, 2018, section 2.2.5.
    .. [2] Y. Grandvalet and Y. Bengio, "Semi-supervised learning by entropy minimization",
       NIPS 2004.

    Examples
    --------
    >>> from leaven.low_density import EntropyRegularizedLogisticRegression
    >>> X = [[0.0], [0.3], [0.6], [2.2], [2.6], [3.0]]
    >>> y = [0, -1, -1, -1, -1, 1]
    >>> model = EntropyRegularizedLogisticRegression().fit(X, y)
    >>> model.transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **COMMON_CONSTRAINTS,
        "entropy_weight": [StrOptions({"auto"}), Interval(Real, 0.0, None, closed="left")],
        "n_annealing_steps": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        entropy_weight: Any = "auto",
        n_annealing_steps: int = 10,
        fit_intercept: bool = True,
        tol: float = 1e-5,
        max_iter: int = 1000,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.entropy_weight = entropy_weight
        self.n_annealing_steps = n_annealing_steps
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
    ) -> EntropyRegularizedLogisticRegression:
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
        self : EntropyRegularizedLogisticRegression
        """
        X, codes = self._validate_fit(X, y, **CHECKS)
        row_weight = check_row_weight(sample_weight, codes)
        n_unlabeled = int((codes == UNLABELED).sum())
        weight = self.entropy_weight
        if isinstance(weight, str):
            weight = self._auto_weight(codes, row_weight)
        weights = [0.0]
        if weight > 0 and n_unlabeled:
            doublings = np.arange(-self.n_annealing_steps, 1)
            weights += [float(w) for w in weight * 2.0**doublings]
        unlabeled = None if row_weight is None else row_weight[codes == UNLABELED]
        level = logging.INFO if self.verbose else logging.DEBUG
        fitted = fit_logistic(
            X,
            codes,
            len(self.classes_),
            weights,
            lambda Z: total_entropy(Z, unlabeled),
            C=self.C,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            row_weight=row_weight,
            log=lambda weight, value: logger.log(
                level, "entropy: weight %.3g, objective %.6g", weight, value
            ),
        )
        self._store(fitted, codes)
        self._warn_of_collapse(codes, weight)
        return self

    @staticmethod
    def _auto_weight(codes: NDArray[np.intp], row_weight: Array | None) -> float:
        """All unlabeled rows together weigh a part of the labeled ones."""
        mass = np.ones(len(codes)) if row_weight is None else row_weight
        labeled = codes != UNLABELED
        free = float(mass[~labeled].sum())
        return AUTO_WEIGHT * float(mass[labeled].sum()) / (free or 1.0)

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

    def _warn_of_collapse(self, codes: NDArray[np.intp], weight: float) -> None:
        found = np.unique(self.transduction_[codes == UNLABELED])
        if weight > 0 and len(found) == 1 and (codes == UNLABELED).sum() >= MANY_ROWS:
            warnings.warn(
                f"All unlabeled rows were given class {found[0]!r}: with entropy_weight="
                f"{weight:.3g} certainty outweighs the labels. Lower entropy_weight, or use "
                "ExpectationRegularizedLogisticRegression, which holds the class proportions.",
                LeavenWarning,
                stacklevel=3,
            )

    def _store(self, fitted: LogisticFit, codes: NDArray[np.intp]) -> None:
        self.coef_, self.intercept_ = fitted.coef, fitted.intercept
        self.n_iter_, self.converged_ = fitted.n_iter, fitted.converged
        self.objective_, self.objective_trace_ = fitted.trace[-1], fitted.trace
        self._store_transduction(fitted.distributions, codes)
