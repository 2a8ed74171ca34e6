"""Gaussian naive Bayes, with unlabeled rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leaven._compat import Interval, StrOptions
from leaven._labels import UNLABELED
from leaven._magnitude import check_magnitude
from leaven.exceptions import LeavenWarning
from leaven.generative._base import MixtureClassifier
from leaven.generative._chunks import chunks, take_rows
from leaven.generative._mixture import Mixture
from leaven.generative._multinomial import no_parameters
from leaven.generative._partitioned import LabelCounts

# Numbers in a chunk of a dense matrix: half a megabyte, which a core keeps near.
CACHE_ELEMENTS = 1 << 16

# Share of a labeled row that all Gaussians of its class get at the start: none then has a single
# row and no variance, and the clusters are still the start.
START_SOFTNESS = 0.1

# Keeps squared distances finite where var_smoothing is 0.
MIN_VARIANCE = 1e-150


@dataclass
class Moments:
    """Weight (n_components,), mean and sum of squared deviations (n_components, n_features).

    Sums of squares would lose all digits where the mean is large against the spread; these
    are merged by the formula of Chan, Golub and LeVeque (1983).
    """

    counts: NDArray[np.float64]
    means: NDArray[np.float64]
    squares: NDArray[np.float64]

    def __iadd__(self, other: Moments) -> Moments:
        total = self.counts + other.counts
        share = np.divide(other.counts, total, out=np.zeros(len(total)), where=total > 0)[:, None]
        apart = other.means - self.means
        self.squares += other.squares + apart**2 * share * self.counts[:, None]
        self.means += apart * share
        self.counts = total
        return self


@dataclass(frozen=True)
class GaussianDensity:
    """Independent Gaussian features, with ``epsilon`` added to every variance.

    The M-step ``σ² = S / N + epsilon`` (S the weighted sum of squared deviations, N the weight)
    is not that of the Gaussian likelihood, and EM with it may go downhill. It is exactly that
    of ``log p(x | k) = sum_j log N(x_j; μ_jk, σ²_jk) - epsilon / (2 σ²_jk)``, since then
    ``N/2 log σ² + (S + N epsilon) / (2 σ²)`` is what is minimized: the mean log-density of a
    row blurred by noise of variance ``epsilon``. So this is used in the E-step too; for
    prediction, as in scikit-learn, the last term is dropped by :meth:`sharp`.
    """

    epsilon: float
    mean: NDArray[np.float64] = field(default_factory=no_parameters)
    var: NDArray[np.float64] = field(default_factory=no_parameters)

    def sharp(self) -> GaussianDensity:
        """The same Gaussians without the noise term."""
        return replace(self, epsilon=0.0)

    def log_likelihood(self, X: Any) -> NDArray[np.float64]:
        """``log p(x | k)`` of shape (n_rows, n_components)."""
        X = np.asarray(X, dtype=np.float64)
        result = np.empty((len(X), len(self.mean)))
        buffer = np.empty_like(X)
        precision = 1.0 / self.var
        for k, mean in enumerate(self.mean):
            np.subtract(X, mean, out=buffer)
            np.square(buffer, out=buffer)
            result[:, k] = buffer @ precision[k]
        result += (np.log(2 * np.pi * self.var) + self.epsilon * precision).sum(axis=1)
        result *= -0.5
        return result

    def collect(self, X: Any, responsibilities: NDArray[np.float64]) -> Moments:
        """Weighted moments of each component."""
        X = np.asarray(X, dtype=np.float64)
        counts = responsibilities.sum(axis=0)
        means = responsibilities.T @ X
        means /= np.where(counts > 0, counts, 1.0)[:, None]
        squares = np.empty_like(means)
        buffer = np.empty_like(X)
        for k, mean in enumerate(means):
            np.subtract(X, mean, out=buffer)
            np.square(buffer, out=buffer)
            squares[k] = responsibilities[:, k] @ buffer
        return Moments(counts, means, squares)

    def update(self, statistics: Moments) -> GaussianDensity:
        """M-step."""
        counts = statistics.counts[:, None]
        var = np.divide(statistics.squares, counts, where=counts > 0, out=statistics.squares)
        var += self.epsilon
        np.maximum(var, MIN_VARIANCE, out=var)
        mean = statistics.means
        lost = statistics.counts <= 0
        if lost.any() and len(self.mean):
            mean[lost], var[lost] = self.mean[lost], self.var[lost]
        return replace(self, mean=mean, var=var)

    def expected(self, statistics: Moments) -> float:
        """Log-likelihood of the rows behind ``statistics``."""
        counts = statistics.counts[:, None]
        squares = statistics.squares + counts * ((statistics.means - self.mean) ** 2 + self.epsilon)
        return -0.5 * float(np.sum(counts * np.log(2 * np.pi * self.var) + squares / self.var))

    def log_prior(self) -> float:
        """No further penalty."""
        return 0.0


@dataclass
class NumericSummary:
    """Moments of all rows, and the range of each feature in all rows and in each class.

    The rows of a class are the labeled ones; where it has none, its range is empty.
    """

    overall: Moments
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    class_low: NDArray[np.float64]
    class_high: NDArray[np.float64]
    any_unlabeled: bool

    def __iadd__(self, other: NumericSummary) -> NumericSummary:
        self.overall += other.overall
        self.low, self.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        self.class_low = np.minimum(self.class_low, other.class_low)
        self.class_high = np.maximum(self.class_high, other.class_high)
        self.any_unlabeled |= other.any_unlabeled
        return self

    def constant(self) -> NDArray[np.bool_]:
        """Tell which features to leave out.

        Those that have one value in all rows that take part, which say nothing; and, where
        unlabeled rows take part, those that have one value in the labeled rows of some class
        (Saeed, 2018, section 3.1.1): the Gaussian of that class would be a needle which no
        unlabeled row can meet.
        """
        constant = self.low == self.high
        if self.any_unlabeled:
            constant |= (self.class_low == self.class_high).any(axis=0)
        return np.asarray(constant)

    def largest_variance(self) -> float:
        """Of a feature over all rows."""
        return float((self.overall.squares[0] / self.overall.counts[0]).max(initial=0.0))


def summarize_numbers(
    X: NDArray[Any], codes: NDArray[np.intp], weights: NDArray[np.float64], n_classes: int
) -> NumericSummary:
    """Summarize the rows of positive weight, and the labeled rows of each class."""
    used = weights > 0
    whole = X if used.all() else X[used]
    empty = np.full((n_classes, X.shape[1]), np.inf)
    class_low, class_high = empty, -empty
    for code in np.unique(codes[codes != UNLABELED]):
        members = X[codes == code]
        class_low[code], class_high[code] = members.min(axis=0), members.max(axis=0)
    return NumericSummary(
        overall_moments(X, weights),
        whole.min(axis=0, initial=np.inf),
        whole.max(axis=0, initial=-np.inf),
        class_low,
        class_high,
        bool((used & (codes == UNLABELED)).any()),
    )


def overall_moments(X: NDArray[Any], weights: NDArray[np.float64]) -> Moments:
    """Moments of the rows of X of positive weight as one component, without a copy of X."""
    density = GaussianDensity(0.0)
    size = max(1, CACHE_ELEMENTS // max(1, X.shape[1]))
    rows = np.flatnonzero(weights > 0)
    zero = np.zeros((1, X.shape[1]))
    total = Moments(np.zeros(1), zero, zero.copy())
    for chunk, where in chunks(rows, size):
        total += density.collect(take_rows(X, chunk), weights[rows[where]][:, None])
    return total


def standardized(
    X: NDArray[Any], overall: Moments, columns: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """X, which holds ``columns`` only, with mean 0 and variance 1 over all rows."""
    scale = np.sqrt(overall.squares[0, columns] / overall.counts[0])
    return np.asarray((X - overall.means[0, columns]) / np.where(scale > 0, scale, 1.0))


def check_rows_for_variance(counts: NDArray[Any], classes: NDArray[Any]) -> None:
    """Refuse a class with a single labeled row, which has no variance."""
    for name, count in zip(classes.tolist(), counts, strict=True):
        if count < 2:
            raise ValueError(
                f"Class {name!r} has {count:g} labeled row, but a variance needs at least 2. Label "
                "one more row of this class."
            )


def warn_if_all_constant(omitted: NDArray[np.bool_]) -> None:
    """Say that only the class proportions are left to decide."""
    if len(omitted) and omitted.all():
        warnings.warn(
            f"All {len(omitted)} numeric features have one value in the labeled rows of some "
            "class and are left out. Label more rows, or use constant_features='keep'.",
            LeavenWarning,
            stacklevel=4,
        )


def full_width(
    density: GaussianDensity, omitted: NDArray[np.bool_], overall: Moments, epsilon: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and variances of all features; a feature left out has those of all rows."""
    shape = (len(density.mean), len(omitted))
    theta, var = np.empty(shape), np.empty(shape)
    theta[:, ~omitted], var[:, ~omitted] = density.mean, density.var
    theta[:, omitted] = overall.means[0, omitted]
    var[:, omitted] = overall.squares[0, omitted] / overall.counts[0] + epsilon
    return theta, var


class SemiSupervisedGaussianNB(MixtureClassifier):
    """Gaussian naive Bayes for numeric features, fitted by EM on labeled and unlabeled rows.

    Maximizes the weighted log-likelihood of :class:`SemiSupervisedMultinomialNB` with
    ``p(x | k) = prod_j N(x_j; μ_jk, σ²_jk)``, equations (2.21)-(2.22) and (4.6)-(4.7) of [1]_.
    With every row labeled it is scikit-learn's ``GaussianNB``.

    Variances get ``epsilon_ = var_smoothing * largest variance of a feature`` added, as in
    scikit-learn. The objective that EM climbs has the matching term
    ``- epsilon_ / (2 σ²_jk)`` in ``log p(x | k)``, as if each row were blurred by noise of this
    variance; without it the added ``epsilon_`` could take EM downhill.

    The parameters from ``unlabeled_weight`` on are those of all EM classifiers; the user guide
    explains them once, see :ref:`em-parameters`.

    Parameters
    ----------
    var_smoothing : float, default=1e-9
        Fraction of the largest variance of a feature that is added to all variances.
    constant_features : {"omit", "keep"}, default="omit"
        ``"omit"`` leaves out a feature that has one value in all rows, or, if unlabeled rows
        take part, in the labeled rows of some class [1]_. The others decide.
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
    theta_ : ndarray of shape (n_classes * n_components_, n_features)
        Means; for a feature left out, the mean of all rows.
    var_ : ndarray of shape (n_classes * n_components_, n_features)
        Variances, ``epsilon_`` included; for a feature left out, that of all rows.
    epsilon_ : float
    omitted_features_ : bool ndarray of shape (n_features,)
        True where a feature was left out.
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
    SemiSupervisedMixedNB : Numeric and categorical features.
    SemiSupervisedGaussianMixture : Gaussians with correlations.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, sections 2.2.3, 3.1.1 and 4.2.

    Examples
    --------
    >>> from leaven.generative import SemiSupervisedGaussianNB
    >>> X = [[0.0], [0.4], [4.0], [4.5], [0.9], [1.2], [5.0], [3.6]]
    >>> y = [0, 0, 1, 1, -1, -1, -1, -1]
    >>> SemiSupervisedGaussianNB().fit(X, y).transduction_
    array([0, 0, 1, 1, 0, 0, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MixtureClassifier._parameter_constraints,
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
        "constant_features": [StrOptions({"omit", "keep"})],
    }
    _start_softness = START_SOFTNESS
    _encoding_attributes = ("omitted_features_",)

    def __init__(
        self,
        *,
        var_smoothing: float = 1e-9,
        constant_features: str = "omit",
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
        self.var_smoothing = var_smoothing
        self.constant_features = constant_features
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

    def _chunk_rows(self, rows: Any, n_components: int) -> int:
        return int(max(1, CACHE_ELEMENTS // max(1, rows.shape[1], n_components)))

    def _array_checks(self, X: Any) -> dict[str, Any]:
        return {"dtype": [np.float64, np.float32]}

    def _check_values(self, X: Any) -> None:
        check_magnitude(self, X)

    def _check_counts(self, counts: LabelCounts) -> None:
        check_rows_for_variance(counts.repeated(), self.classes_)

    def _summarize(
        self, X: Any, codes: NDArray[np.intp], weights: NDArray[np.float64], n_classes: int
    ) -> NumericSummary:
        return summarize_numbers(X, codes, weights, n_classes)

    def _learn(self, summary: NumericSummary) -> GaussianDensity:
        self._overall = summary.overall
        self.epsilon_ = float(self.var_smoothing * summary.largest_variance())
        self.omitted_features_ = np.zeros(self.n_features_in_, dtype=bool)
        if self.constant_features == "omit":
            self.omitted_features_ = summary.constant()
            warn_if_all_constant(self.omitted_features_)
        return GaussianDensity(self.epsilon_)

    def _encode(self, X: Any) -> Any:
        return X[:, ~self.omitted_features_] if self.omitted_features_.any() else X

    def _cluster_features(self, rows: Any) -> Any:
        return standardized(rows, self._overall, ~self.omitted_features_)

    def _store_mixture(self, mixture: Mixture) -> Mixture:
        density: Any = mixture.density
        self.theta_, self.var_ = full_width(
            density, self.omitted_features_, self._overall, self.epsilon_
        )
        return replace(mixture, density=density.sharp())
