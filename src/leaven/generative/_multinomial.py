"""Multinomial naive Bayes on counts, with unlabeled rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_non_negative, validate_data

from leaven._compat import Interval
from leaven.generative._base import MixtureClassifier
from leaven.generative._mixture import Mixture

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
    """Return one pseudo-count a feature, raised to 1e-10 so that no probability is zero."""
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

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Pseudo-count of each feature (Dirichlet prior with parameter ``1 + alpha``). Numbers
        below 1e-10 are raised to it.
    unlabeled_weight : float in [0, 1], default=1.0
        λ, the weight of the unlabeled rows; 0 is the supervised classifier. See ``weighting``.
    weighting : {"unlabeled", "convex", "normalized"}, default="unlabeled"
        What λ means. ``"unlabeled"``: an unlabeled row weighs λ, a labeled one 1 [2]_ [4]_;
        λ = 1 is plain EM. ``"convex"``: λ and 1 - λ, equation (4.5) of [5]_; λ = 1
        ignores the labels after the start. ``"normalized"``: λ/m and (1 - λ)/l for m unlabeled
        and l labeled rows [6]_, with the larger weight scaled to 1; λ = m/(l + m) is plain EM.
    n_components : int or list of int, default=1
        Components a class. A list is searched by cross-validation on the labeled rows (their
        accuracy decides, not the likelihood).
    init : {"random", "tree", "kmeans"}, default="random"
        How the labeled rows of a class are spread over its components at the start: at random,
        by an agglomerative tree on cosines, or by k-means [1]_.
    component_classes : {"fixed", "learned"}, default="fixed"
        ``"fixed"``: a component belongs to one class. ``"learned"``: it has a probability for
        each class, learned from the labeled rows [7]_.
    recalibration : LogOdds, RankSigmoid or None, default=None
        Applied to the class probabilities of the unlabeled rows between E-step and M-step [5]_.
        Any object with ``transform(q)`` will do. The objective may then fall.
    hard : bool, default=False
        Classification EM: each row is given wholly to its most probable component, until the
        partition repeats, whatever ``tol``.
    fit_prior : bool, default=True
        Whether to learn the class proportions; otherwise they are equal.
    class_prior : array-like of shape (n_classes,), default=None
        Fixed class proportions, in the order of ``classes_``.
    prior_smoothing : float, default=0.0
        Pseudo-count of each component in the class proportions. scikit-learn has 0, the
        Laplace estimates of [1]_, [4]_ and [5]_ have 1.
    max_iter : int, default=200
    tol : float, default=1e-6
        EM stops when the objective changes by at most this fraction of itself.
    random_state : int, RandomState or None, default=None
        For ``init="random"`` and ``"kmeans"``, and for the folds of the search.
    verbose : int, default=0
        1 logs one line an iteration to the logger ``leaven``.
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
        Class probabilities of each component.
    n_components_ : int
        Components a class.
    component_scores_ : dict
        Accuracy of each number of components, if a list was searched.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    transduction_ : ndarray of shape (n_samples,)
    objective_trace_ : ndarray of shape (n_iter_ + 1,)
        The objective above, from the start on. It never falls, unless a recalibration is used.
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
        fit_prior: bool = True,
        class_prior: Any = None,
        prior_smoothing: float = 0.0,
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
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.prior_smoothing = prior_smoothing
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

    def _validate_training(self, X: Any, y: Any) -> tuple[Any, NDArray[np.intp]]:
        X, codes = self._validate_fit(X, y, accept_sparse="csr")
        check_non_negative(X, f"{type(self).__name__} (input X)")
        return X, codes

    def _learn_encoding(
        self, X: Any, codes: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> tuple[Any, MultinomialDensity]:
        return X, MultinomialDensity(check_alpha(self.alpha, X.shape[1]))

    def _validate_rows(self, X: Any) -> Any:
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        check_non_negative(X, f"{type(self).__name__} (input X)")
        return X

    def _cluster_features(self, rows: Any) -> Any:
        return rows

    def _store_mixture(self, mixture: Mixture) -> Mixture:
        self.feature_log_prob_ = mixture.density.log_prob.T  # type: ignore[attr-defined]
        return mixture
