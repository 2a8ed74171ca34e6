"""Bernoulli naive Bayes on presence and absence, with unlabeled rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import binarize

from leaven._compat import Interval
from leaven.generative._base import MixtureClassifier
from leaven.generative._mixture import Mixture
from leaven.generative._multinomial import check_alpha, no_parameters


@dataclass
class Presences:
    """Weighted sums of the rows, (n_features, n_components), and of ones, (n_components,)."""

    sums: NDArray[np.float64]
    counts: NDArray[np.float64]

    def __iadd__(self, other: Presences) -> Presences:
        self.sums += other.sums
        self.counts += other.counts
        return self


@dataclass(frozen=True)
class BernoulliDensity:
    """Independent yes-no features: ``log p(x|k) = sum_t x_t log p_tk + (1-x_t) log(1-p_tk)``.

    The M-step ``p_tk = (sum_i r_ik x_it + alpha_t) / (sum_i r_ik + 2 alpha_t)`` is the maximum
    a posteriori estimate for the prior ``prod_t (p_tk (1 - p_tk))^alpha_t``. Both logarithms
    are kept, of shape (n_features, n_components).
    """

    alpha: NDArray[np.float64]
    log_yes: NDArray[np.float64] = field(default_factory=no_parameters)
    log_no: NDArray[np.float64] = field(default_factory=no_parameters)

    def log_likelihood(self, X: Any) -> NDArray[np.float64]:
        """``log p(x | k)`` of shape (n_rows, n_components)."""
        # Only the entries that are there are visited; what absence says is a constant.
        result = np.asarray(X @ (self.log_yes - self.log_no))
        result += self.log_no.sum(axis=0)
        return result

    def collect(self, X: Any, responsibilities: NDArray[np.float64]) -> Presences:
        """Weight of each component, and of each feature in it."""
        return Presences(np.asarray(X.T @ responsibilities), responsibilities.sum(axis=0))

    def update(self, statistics: Presences) -> BernoulliDensity:
        """M-step."""
        alpha = self.alpha[:, None]
        total = np.log(statistics.counts + 2 * alpha)
        # Rounding may take a sum of ones a little above the weight of the component.
        no = np.maximum(statistics.counts - statistics.sums, 0.0)
        return replace(
            self,
            log_yes=np.log(statistics.sums + alpha) - total,
            log_no=np.log(no + alpha) - total,
        )

    def expected(self, statistics: Presences) -> float:
        """Log-likelihood of the rows behind ``statistics``."""
        yes = np.sum(statistics.sums * (self.log_yes - self.log_no))
        return float(yes + statistics.counts @ self.log_no.sum(axis=0))

    def log_prior(self) -> float:
        """Logarithm of the Beta prior, up to a constant."""
        return float(self.alpha @ (self.log_yes + self.log_no).sum(axis=1))


class SemiSupervisedBernoulliNB(MixtureClassifier):
    """Bernoulli naive Bayes for presence and absence, fitted by EM on all rows.

    The event model of McCallum and Nigam in which a word is there or not [1]_ [2]_. Maximizes
    the weighted log-likelihood of :class:`SemiSupervisedMultinomialNB` with
    ``p(x | k) = prod_t p_tk^x_t (1 - p_tk)^(1 - x_t)`` and the penalty
    ``alpha sum_tk log p_tk (1 - p_tk)``. With every row labeled it is scikit-learn's
    ``BernoulliNB``.

    The parameters from ``unlabeled_weight`` on are those of all EM classifiers; the user guide
    explains them once, see :ref:`em-parameters`.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Pseudo-count of presence and of absence. Numbers below 1e-10 are raised to it.
    binarize : float or None, default=0.0
        Features above it are present. None: X already holds numbers from 0 to 1.
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
        ``log p``, the components of a class one after the other.
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
    SemiSupervisedMultinomialNB : Counts of words, usually better on text.

    References
    ----------
    .. [1] A. McCallum and K. Nigam, "A comparison of event models for naive Bayes text
       classification", AAAI workshop on learning for text categorization, 1998.
    .. [2] H. N. Nguyen, "Study on semi-supervised learning with the framework of generative
       model", master's thesis, Nagaoka University of Technology, 2019, section 2.2.

    Examples
    --------
    >>> from leaven.generative import SemiSupervisedBernoulliNB
    >>> X = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    >>> SemiSupervisedBernoulliNB().fit(X, ["a", "b", None, None, None]).transduction_
    array(['a', 'b', 'a', 'a', 'b'], dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MixtureClassifier._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "binarize": [None, Interval(Real, None, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        binarize: float | None = 0.0,
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
        self.binarize = binarize
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
        # Signs of real-valued blobs say little; scikit-learn's own class has this tag too.
        tags.classifier_tags.poor_score = True
        return tags

    def _array_checks(self, X: Any) -> dict[str, Any]:
        return {"accept_sparse": "csr"}

    def _check_values(self, X: Any) -> None:
        if self.binarize is None and (X.min() < 0 or X.max() > 1):
            raise ValueError(
                f"X holds numbers from {X.min()} to {X.max()}, but with binarize=None they must "
                "be between 0 and 1. Give a threshold, such as binarize=0.0."
            )

    def _learn(self, summary: Any) -> BernoulliDensity:
        return BernoulliDensity(check_alpha(self.alpha, self.n_features_in_))

    def _encode(self, X: Any) -> Any:
        return X if self.binarize is None else binarize(X, threshold=self.binarize)

    def _cluster_features(self, rows: Any) -> Any:
        return rows

    def _store_mixture(self, mixture: Mixture) -> Mixture:
        density: Any = mixture.density
        self.feature_log_prob_ = density.log_yes.T
        return mixture
