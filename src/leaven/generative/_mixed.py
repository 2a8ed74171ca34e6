"""Naive Bayes on tables with categorical and numeric columns, with unlabeled rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array

from leaven._compat import Interval, StrOptions
from leaven._magnitude import check_magnitude
from leaven.generative._base import MixtureClassifier
from leaven.generative._categorical import (
    CHUNK_ENTRIES,
    CategoricalDensity,
    categories_of,
    indicators,
    table_checks,
    table_of_probabilities,
)
from leaven.generative._encoding import column_of, distinct_values, holds_numbers, learn_table
from leaven.generative._gaussian import (
    CACHE_ELEMENTS,
    START_SOFTNESS,
    GaussianDensity,
    check_rows_for_variance,
    full_width,
    standardized,
    summarize_numbers,
    warn_if_all_constant,
)
from leaven.generative._mixture import Density, Mixture, Parts
from leaven.generative._multinomial import MIN_ALPHA
from leaven.generative._partitioned import LabelCounts


@dataclass(frozen=True)
class ProductDensity:
    """Independent groups of columns; X is a tuple with one member per group."""

    parts: tuple[Density, ...]

    def log_likelihood(self, X: Any) -> NDArray[np.float64]:
        """``log p(x | k)`` of shape (n_rows, n_components)."""
        total = self.parts[0].log_likelihood(X[0])
        for part, columns in zip(self.parts[1:], X[1:], strict=True):
            total += part.log_likelihood(columns)
        return total

    def collect(self, X: Any, responsibilities: NDArray[np.float64]) -> Parts:
        """Statistics of each group."""
        return Parts(
            [
                part.collect(columns, responsibilities)
                for part, columns in zip(self.parts, X, strict=True)
            ]
        )

    def update(self, statistics: Parts) -> ProductDensity:
        """M-step of each group."""
        return ProductDensity(
            tuple(part.update(own) for part, own in zip(self.parts, statistics.parts, strict=True))
        )

    def expected(self, statistics: Parts) -> float:
        """Log-likelihood of the rows behind ``statistics``."""
        return sum(
            part.expected(own) for part, own in zip(self.parts, statistics.parts, strict=True)
        )

    def log_prior(self) -> float:
        """Sum of the penalties."""
        return sum(part.log_prior() for part in self.parts)


def find_categorical(X: Any, categorical_features: Any, names: Any) -> NDArray[np.bool_]:
    """Tell which columns of a table are categorical.

    Parameters
    ----------
    X : DataFrame or array of shape (n_rows, n_columns)
    categorical_features : "from_dtype", None or array-like
        By dtype; none; or a mask, numbers or names of columns.
    names : sequence or None
        Names of the columns.
    """
    n_columns = X.shape[1]
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        columns = [column_of(X, j) for j in range(n_columns)]
        return np.array(
            [
                not holds_numbers(column) or pd.api.types.is_bool_dtype(column.dtype)
                for column in columns
            ],
            dtype=bool,
        )
    mask = np.zeros(n_columns, dtype=bool)
    if categorical_features is None:
        return mask
    given = np.asarray(categorical_features)
    if given.dtype.kind == "b":
        if given.shape != (n_columns,):
            raise ValueError(
                f"categorical_features is a mask of shape {given.shape}, but X has {n_columns} "
                "features."
            )
        return given
    known = None if names is None else {name: j for j, name in enumerate(names)}
    for feature in given.ravel().tolist():
        if isinstance(feature, Integral) and -n_columns <= feature < n_columns:
            mask[int(feature)] = True
        elif known is not None and feature in known:
            mask[known[feature]] = True
        else:
            raise ValueError(
                f"categorical_features holds {feature!r}, which is not a feature of X. Give "
                f"numbers below {n_columns}"
                + ("." if known is None else f" or names out of {list(known)}.")
            )
    return mask


class SemiSupervisedMixedNB(MixtureClassifier):
    """Naive Bayes for tables with categorical and numeric columns, fitted by EM on all rows.

    Categorical columns are those of :class:`SemiSupervisedCategoricalNB`, numeric ones those
    of :class:`SemiSupervisedGaussianNB`; given the component all are independent, so the
    log-densities add up. The objective is the sum of the two, with one class prior.

    The parameters from ``unlabeled_weight`` on are those of all EM classifiers; the user guide
    explains them once, see :ref:`em-parameters`.

    Parameters
    ----------
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        Which columns are categorical. ``"from_dtype"``: those of a DataFrame that are strings,
        objects, pandas categories or booleans, and the columns of an object array that do not
        hold numbers. None: no column. Or a mask, or numbers or names of columns.
    alpha : float, default=1.0
        Pseudo-count of each category.
    min_categories : int or array-like of shape (n_categorical,), default=None
        Least number of categories of each categorical column.
    missing : {"category", "ignore"}, default="category"
        What a missing value of a categorical column means. A missing number is an error.
    var_smoothing : float, default=1e-9
        Fraction of the largest variance of a numeric column that is added to all variances.
    constant_features : {"omit", "keep"}, default="omit"
        Whether numeric columns with one value in the labeled rows of a class are left out.
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
    categorical_features_ : bool ndarray of shape (n_features,)
    feature_log_prob_ : list of ndarray of shape (n_classes * n_components_, n_categories)
        ``log θ`` of each categorical column.
    categories_ : list
        Values of each categorical column, None for integer codes.
    theta_, var_ : ndarray of shape (n_classes * n_components_, n_numeric)
        Means and variances of the numeric columns.
    epsilon_ : float
    omitted_features_ : bool ndarray of shape (n_features,)
        True where a numeric column was left out.
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
    SemiSupervisedCategoricalNB : Categorical columns only.
    SemiSupervisedGaussianNB : Numeric columns only.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 2.2.3.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.generative import SemiSupervisedMixedNB
    >>> X = pd.DataFrame(
    ...     {"fur": ["yes", "yes", "no", "no", "yes", "no"], "kg": [4, 5, 1, 2, 4.5, 1.5]}
    ... )
    >>> model = SemiSupervisedMixedNB().fit(X, ["cat", "cat", "hen", "hen", None, None])
    >>> model.transduction_
    array(['cat', 'cat', 'hen', 'hen', 'cat', 'hen'], dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MixtureClassifier._parameter_constraints,
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "min_categories": [None, Interval(Integral, 1, None, closed="left"), "array-like"],
        "missing": [StrOptions({"category", "ignore"})],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
        "constant_features": [StrOptions({"omit", "keep"})],
    }
    _start_softness = START_SOFTNESS
    _encoding_attributes = ("categorical_features_", "_table", "omitted_features_")

    def __init__(
        self,
        *,
        categorical_features: Any = "from_dtype",
        alpha: float = 1.0,
        min_categories: Any = None,
        missing: str = "category",
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
        self.categorical_features = categorical_features
        self.alpha = alpha
        self.min_categories = min_categories
        self.missing = missing
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags

    def _chunk_rows(self, rows: Any, n_components: int) -> int:
        slots, numbers = rows
        return int(
            max(
                1,
                min(
                    CHUNK_ENTRIES // max(1, slots.shape[1], n_components),
                    CACHE_ELEMENTS // max(1, numbers.shape[1]),
                ),
            )
        )

    def _array_checks(self, X: Any) -> dict[str, Any]:
        return table_checks(X)

    def _column_kinds(self, X: Any) -> NDArray[np.bool_]:
        return find_categorical(X, self.categorical_features, getattr(X, "columns", None))

    def _set_kinds(self, kinds: Any) -> None:
        self.categorical_features_ = kinds

    def _check_counts(self, counts: LabelCounts) -> None:
        if not self.categorical_features_.all():
            check_rows_for_variance(counts.repeated(), self.classes_)

    def _summarize(
        self, X: Any, codes: NDArray[np.intp], weights: NDArray[np.float64], n_classes: int
    ) -> Parts:
        return Parts(
            [
                distinct_values(_columns(X, self.categorical_features_), weights > 0),
                summarize_numbers(self._numbers(X), codes, weights, n_classes),
            ]
        )

    def _learn(self, summary: Parts) -> ProductDensity:
        values, numbers = summary.parts
        categorical = self.categorical_features_
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        self._table = learn_table(
            values,
            missing=self.missing,
            min_categories=self.min_categories,
            names=names[categorical],
        )
        self.categories_ = categories_of(self._table)
        self._overall = numbers.overall
        self.epsilon_ = float(self.var_smoothing * numbers.largest_variance())
        self.omitted_features_ = np.zeros(self.n_features_in_, dtype=bool)
        if self.constant_features == "omit":
            constant = numbers.constant()
            warn_if_all_constant(constant)
            self.omitted_features_[np.flatnonzero(~categorical)[constant]] = True
        return ProductDensity(
            (
                CategoricalDensity(max(self.alpha, MIN_ALPHA), self._table.offsets),
                GaussianDensity(self.epsilon_),
            )
        )

    def _encode(self, X: Any) -> tuple[Any, Any]:
        slots = self._table.encode(_columns(X, self.categorical_features_))
        numbers = self._numbers(X)
        kept = ~self.omitted_features_[~self.categorical_features_]
        return slots, numbers if kept.all() else numbers[:, kept]

    def _numbers(self, X: Any) -> NDArray[Any]:
        """The numeric columns as a matrix of floats."""
        columns = _columns(X, ~self.categorical_features_)
        if not columns.shape[1]:
            return np.empty((len(X), 0))
        numbers = np.asarray(
            check_array(
                columns,
                dtype=[np.float64, np.float32],
                estimator=self,
                input_name="numeric part of X",
            )
        )
        check_magnitude(self, numbers)
        return numbers

    def _cluster_features(self, rows: Any) -> Any:
        slots, numbers = rows
        kept = ~self.omitted_features_[~self.categorical_features_]
        scaled = standardized(numbers, self._overall, kept)
        return sparse.csr_matrix(
            sparse.hstack([indicators(slots, int(self._table.offsets[-1])), scaled])
        )

    def _store_mixture(self, mixture: Mixture) -> Mixture:
        product: Any = mixture.density
        categorical, gaussian = product.parts
        self.feature_log_prob_ = table_of_probabilities(categorical, self._table.n_categories)
        self.theta_, self.var_ = full_width(
            gaussian,
            self.omitted_features_[~self.categorical_features_],
            self._overall,
            self.epsilon_,
        )
        return replace(mixture, density=ProductDensity((categorical, gaussian.sharp())))


def _columns(X: Any, mask: NDArray[np.bool_]) -> Any:
    return X.loc[:, mask] if isinstance(X, pd.DataFrame) else X[:, mask]
