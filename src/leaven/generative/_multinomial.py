"""Multinomial naive Bayes on counts, with unlabeled rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_non_negative

from leaven._compat import Interval
from leaven.generative._base import MixtureClassifier
from leaven.generative._mixture import Mixture

# Smallest pseudo-count, as in scikit-learn: no probability becomes zero.
MIN_ALPHA = 1e-10


def no_parameters() -> NDArray[np.float64]:
    """What a density holds before its first update."""
    return np.empty((0, 0))


@dataclass
class Totals:
    """Weighted sums of the rows, of shape (n_features, n_components)."""

    sums: NDArray[np.float64]

    def __iadd__(self, other: Totals) -> Totals:
        self.sums += other.sums
        return self


@dataclass(frozen=True)
class MultinomialDensity:
    """Words drawn one by one: ``log p(x | k) = sum_t x_t log θ_tk``, without the factorials.

    The M-step with pseudo-counts, ``θ_tk ∝ sum_i r_ik x_it + alpha_t``, is the maximum a
    posteriori estimate for the Dirichlet prior ``prod_t θ_tk^alpha_t``; equation (2.9) of
    Nguyen (2019) and section 2.4.2 of Lefakis have alpha = 1. The factorials of the multinomial
    do not depend on the parameters and are left out of the objective.

    ``log_prob`` has shape (n_features, n_components): in this layout both sparse products run
    along its rows, without a copy.
    """

    alpha: NDArray[np.float64]
    log_prob: NDArray[np.float64] = field(default_factory=no_parameters)

    def log_likelihood(self, X: Any) -> NDArray[np.float64]:
        """``log p(x | k)`` of shape (n_rows, n_components)."""
        return np.asarray(X @ self.log_prob)

    def collect(self, X: Any, responsibilities: NDArray[np.float64]) -> Totals:
        """Counts of each feature in each component."""
        return Totals(np.asarray(X.T @ responsibilities))

    def update(self, statistics: Totals) -> MultinomialDensity:
        """M-step, in the memory of ``statistics``."""
        log_prob = statistics.sums
        log_prob += self.alpha[:, None]
        total = log_prob.sum(axis=0)
        np.log(log_prob, out=log_prob)
        log_prob -= np.log(total)
        return replace(self, log_prob=log_prob)

    def expected(self, statistics: Totals) -> float:
        """Log-likelihood of the rows behind ``statistics``."""
        return float(np.vdot(statistics.sums, self.log_prob))

    def log_prior(self) -> float:
        """Logarithm of the Dirichlet prior, up to a constant."""
        return float(self.alpha @ self.log_prob.sum(axis=1))


def check_alpha(alpha: Any, n_features: int) -> NDArray[np.float64]:
    """Return one pseudo-count per feature, raised to 1e-10 so that no probability is zero."""
    values = np.asarray(alpha, dtype=np.float64)
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n_features):
        raise ValueError(
            f"alpha has shape {values.shape}; give one number, or one for each of the "
            f"{n_features} features."
        )
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("alpha must hold finite numbers, none of them negative.")
    return np.maximum(np.broadcast_to(values, n_features), MIN_ALPHA)


class SemiSupervisedMultinomialNB(MixtureClassifier):
    """Multinomial naive Bayes for counts, fitted by EM on labeled and unlabeled rows.

    Maximizes ::

        sum_labeled   w_i log sum_{k of class y_i} π_k p(x_i | k)
      + sum_unlabeled w_i log sum_k π_k p(x_i | k)  +  sum_k sum_t alpha log θ_tk

    with ``p(x | k) = prod_t θ_tk^x_t``, from the supervised estimate on [1]_ [2]_ [3]_. With
    every row labeled it is scikit-learn's ``MultinomialNB``.

    The parameters from ``unlabeled_weight`` on are those of all EM classifiers; the user guide
    explains them once, see :ref:`em-parameters`.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Pseudo-count of each feature (Dirichlet prior with parameter ``1 + alpha``). Numbers
        below 1e-10 are raised to it.
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
    feature_log_prob_ : ndarray of shape (n_classes * n_components_, n_features)
        ``log θ``, the components of a class one after the other.
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
    SemiSupervisedBernoulliNB : Presence and absence of words.
    leaven.self_labeling.SelfTrainingClassifier : Takes over the surest labels, for any
        classifier.

    References
    ----------
    .. [1] H. N. Nguyen, "Study on semi-supervised learning with the framework of generative
       model", master's thesis, Nagaoka University of Technology, 2019, chapter 2.
    .. [2] K. Nigam, A. K. McCallum, S. Thrun and T. Mitchell, "Text classification from labeled
       and unlabeled documents using EM", Machine Learning 39, 2000.
    .. [3] A. P. Dempster, N. M. Laird and D. B. Rubin, "Maximum likelihood from incomplete data
       via the EM algorithm", JRSS B 39, 1977.
    .. [4] L. Lefakis, "Transductive learning for document classification and handwritten
       character recognition", Utrecht University, section 2.4.2.
    .. [5] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, chapters 4 and 5.
    .. [6] "Advanced method for decision: semi-supervised learning", course OS14, UTT, 2013.
    .. [7] D. J. Miller and H. S. Uyar, "A mixture of experts classifier with learning based on
       both labelled and unlabelled data", NIPS 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.generative import SemiSupervisedMultinomialNB
    >>> X = np.array([[3, 0, 0], [0, 0, 3], [2, 2, 0], [0, 2, 0], [0, 1, 1], [0, 0, 1]])
    >>> model = SemiSupervisedMultinomialNB().fit(X, [0, 1, -1, -1, -1, -1])
    >>> model.transduction_
    array([0, 1, 0, 0, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MixtureClassifier._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
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
        self.alpha = alpha
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        # Counts of real-valued blobs say little; scikit-learn's own class has this tag too.
        tags.classifier_tags.poor_score = True
        return tags

    def _array_checks(self, X: Any) -> dict[str, Any]:
        return {"accept_sparse": "csr"}

    def _check_values(self, X: Any) -> None:
        check_non_negative(X, f"{type(self).__name__} (input X)")

    def _learn(self, summary: Any) -> MultinomialDensity:
        return MultinomialDensity(check_alpha(self.alpha, self.n_features_in_))

    def _encode(self, X: Any) -> Any:
        return X

    def _cluster_features(self, rows: Any) -> Any:
        return rows

    def _store_mixture(self, mixture: Mixture) -> Mixture:
        density: Any = mixture.density
        self.feature_log_prob_ = density.log_prob.T
        return mixture
