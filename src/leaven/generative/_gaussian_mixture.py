"""Gaussian mixtures with correlations, fitted to labeled and unlabeled rows."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leaven._compat import Interval, StrOptions
from leaven._magnitude import check_magnitude
from leaven.generative._base import MixtureClassifier
from leaven.generative._covariance import COVARIANCE_TYPES, TIED, CovarianceDensity
from leaven.generative._gaussian import (
    START_SOFTNESS,
    Moments,
    check_rows_for_variance,
    overall_moments,
    standardized,
)
from leaven.generative._mixture import Mixture, Parts
from leaven.generative._partitioned import LabelCounts


class SemiSupervisedGaussianMixture(MixtureClassifier):
    r"""A mixture of Gaussians, one or more per class, fitted by EM on all rows.

    .. math:: p(x) = \sum_k \pi_k\, N(x; \mu_k, \Sigma_k)

    With every row labeled and one Gaussian per class this is quadratic discriminant analysis
    (``"full"``), linear discriminant analysis (``"tied"``), or the nearest mean
    (``"tied-spherical"`` and equal priors), with maximum likelihood covariances.

    The parameters from ``unlabeled_weight`` on are those of all EM classifiers; the user guide
    explains them once, see :ref:`em-parameters`.

    Parameters
    ----------
    covariance_type : {"full", "tied", "diag", "spherical", "tied-spherical"}, default="full"
        One matrix per component, one for all, variances only, one variance per component, or one
        variance for all, which is what [1]_ calls spherical.
    shrinkage : float in [0, 1), default=0.0
        β: the covariance is ``(1 - β) Σ + β I`` [1]_. Scale the features to unit variance
        first; [1]_ takes 0.8 for pixels.
    reg_covar : float, default=1e-6
        Added to the diagonal of every covariance, as in scikit-learn.
    unlabeled_weight : float in [0, 1], default=1.0
        Weight λ of the unlabeled rows; 0 is the supervised classifier.
    weighting : {"unlabeled", "convex", "normalized"}, default="unlabeled"
        What λ means.
    n_components : int or list of int, default=1
        Components per class; a list is searched by cross-validation on the labeled rows.
    init : {"random", "tree", "kmeans"}, default="random"
        How labeled rows are spread over the components of their class at the start.
    component_classes : {"fixed", "learned"}, default="fixed"
        Whether each component has one class, or learned class probabilities.
    recalibration : LogOdds, RankSigmoid or None, default=None
        Map of the class probabilities between E-step and M-step.
    hard : bool, default=False
        Classification EM.
    prior : ClassPrior, {"labeled", "uniform"}, dict, array-like or None, default=None
        Class proportions; None learns them.
    max_iter : int, default=200
        Largest number of EM iterations.
    tol : float, default=1e-6
        Relative change of the objective at which EM stops.
    random_state : int, RandomState or None, default=None
        Seed of random starts and of the folds of the search.
    verbose : int, default=0
        1 logs one line per iteration to the logger ``leaven``.
    progress : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_classes * n_components_, n_features)
    covariances_ : ndarray
        As in :class:`sklearn.mixture.GaussianMixture`; a single number for
        ``"tied-spherical"``.
    class_log_prior_ : ndarray of shape (n_classes,)
    component_log_weights_ : ndarray of shape (n_classes * n_components_,)
    component_class_proba_ : ndarray of shape (n_classes * n_components_, n_classes)
    n_components_ : int
    component_scores_ : dict
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    transduction_ : ndarray of shape (n_samples,)
    objective_trace_ : ndarray of shape (n_iter_ + 1,)
    n_iter_ : int
    converged_ : bool
    stop_reason_ : {"converged", "max_iter", "not_finite"}

    See Also
    --------
    SemiSupervisedGaussianNB : Diagonal covariances for many rows.

    Notes
    -----
    Shrinkage and ``reg_covar`` change the M-step. EM then climbs a matching objective, in
    which the quadratic form of a Gaussian is multiplied by ``1 - β`` and
    ``(β + reg_covar) tr(Σ⁻¹) / 2`` is taken off; with both zero that is the likelihood.
    Predictions use the Gaussians themselves.

    References
    ----------
    .. [1] L. Lefakis, "Transductive learning for document classification and handwritten
       character recognition", Utrecht University, section 3.4.1.

    Examples
    --------
    >>> from leaven.generative import SemiSupervisedGaussianMixture
    >>> X = [[0.0], [0.4], [4.0], [4.5], [0.9], [1.2], [5.0], [3.6]]
    >>> y = [0, 0, 1, 1, -1, -1, -1, -1]
    >>> SemiSupervisedGaussianMixture().fit(X, y).transduction_
    array([0, 0, 1, 1, 0, 0, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MixtureClassifier._parameter_constraints,
        "covariance_type": [StrOptions(set(COVARIANCE_TYPES))],
        "shrinkage": [Interval(Real, 0, 1, closed="left")],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
    }
    _start_softness = START_SOFTNESS

    def __init__(
        self,
        *,
        covariance_type: str = "full",
        shrinkage: float = 0.0,
        reg_covar: float = 1e-6,
        unlabeled_weight: float = 1.0,
        weighting: str = "unlabeled",
        n_components: Any = 1,
        init: str = "random",
        component_classes: str = "fixed",
        recalibration: Any = None,
        hard: bool = False,
        prior: Any = None,
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: Any = None,
        verbose: int = 0,
        progress: bool = False,
    ) -> None:
        self.covariance_type = covariance_type
        self.shrinkage = shrinkage
        self.reg_covar = reg_covar
        self.unlabeled_weight = unlabeled_weight
        self.weighting = weighting
        self.n_components = n_components
        self.init = init
        self.component_classes = component_classes
        self.recalibration = recalibration
        self.hard = hard
        self.prior = prior
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.progress = progress

    def _array_checks(self, X: Any) -> dict[str, Any]:
        return {"dtype": [np.float64, np.float32]}

    def _check_values(self, X: Any) -> None:
        check_magnitude(self, X)

    def _check_counts(self, counts: LabelCounts) -> None:
        if self.shrinkage == 0 and self.covariance_type not in TIED:
            check_rows_for_variance(counts.repeated(), self.classes_)

    def _shell(self) -> CovarianceDensity:
        return CovarianceDensity(self.covariance_type, self.shrinkage, self.reg_covar)

    def _summarize(
        self, X: Any, codes: NDArray[np.intp], weights: NDArray[np.float64], n_classes: int
    ) -> Parts:
        summary = Parts([overall_moments(X, weights)])
        if self.covariance_type == "tied":
            used = np.flatnonzero(weights > 0)
            summary.parts.append(self._shell().collect(X[used], weights[used][:, None]))
        return summary

    def _learn(self, summary: Parts) -> CovarianceDensity:
        self._overall: Moments = summary.parts[0]
        shell = self._shell()
        if self.covariance_type in TIED:
            # One covariance for all: at the start it is that of all rows, since a few
            # labeled ones may have none (Lefakis, section 3.4.1).
            start = np.asarray(self._overall.squares[0].mean() / self._overall.counts[0])
            if self.covariance_type == "tied":
                everything = summary.parts[1]
                start = everything.scatter / everything.counts.sum()
            shell = replace(shell, start=start)
        return shell

    def _encode(self, X: Any) -> Any:
        return X

    def _cluster_features(self, rows: Any) -> Any:
        return standardized(rows, self._overall, np.ones(rows.shape[1], dtype=bool))

    def _store_mixture(self, mixture: Mixture) -> Mixture:
        density: Any = mixture.density
        self.means_, self.covariances_ = density.mean, density.covariance
        return replace(mixture, density=density.sharp())
