"""Categorical naive Bayes on tables of categories, with unlabeled rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from leaven._compat import Interval, StrOptions
from leaven.generative._base import MixtureClassifier
from leaven.generative._chunks import csr_around
from leaven.generative._encoding import (
    IGNORED,
    CategoryTable,
    DistinctValues,
    distinct_values,
    learn_table,
)
from leaven.generative._mixture import Mixture
from leaven.generative._multinomial import MIN_ALPHA, Totals, no_parameters

# Entries in a chunk of slots: its indicator matrix takes 3 MB, which a core keeps near.
CHUNK_ENTRIES = 1 << 18


@dataclass(frozen=True)
class CategoricalDensity:
    """Independent categorical features: ``log p(x | k) = sum_j log θ_jk(x_j)``.

    The M-step ``θ_jk(s) = (N_jk(s) + alpha) / (sum_s N_jk(s) + alpha S_j)``, equation (2.20) of
    Saeed (2018), is the maximum a posteriori estimate for the prior ``prod_s θ_jk(s)^alpha``.

    Rows are arrays of slots, see :class:`~leaven.generative._encoding.CategoryTable`. As a
    sparse matrix with a one in each slot, a row turns both steps into sparse products. The slot
    of an unknown category has no count and so the probability ``alpha / (N_jk + alpha S_j)``;
    that of ignored values has probability 1. ``log_prob`` has shape (n_slots, n_components).
    """

    alpha: float
    offsets: NDArray[np.intp]
    log_prob: NDArray[np.float64] = field(default_factory=no_parameters)

    def log_likelihood(self, X: Any) -> NDArray[np.float64]:
        """``log p(x | k)`` of shape (n_rows, n_components)."""
        return np.asarray(indicators(X, int(self.offsets[-1])) @ self.log_prob)

    def collect(self, X: Any, responsibilities: NDArray[np.float64]) -> Totals:
        """Counts of each slot in each component."""
        return Totals(np.asarray(indicators(X, int(self.offsets[-1])).T @ responsibilities))

    def update(self, statistics: Totals) -> CategoricalDensity:
        """M-step, in the memory of ``statistics``."""
        log_prob = statistics.sums
        starts, sizes = self.offsets[:-1], np.diff(self.offsets)
        total = np.add.reduceat(log_prob, starts, axis=0)
        total += self.alpha * (sizes - 1)[:, None]
        log_prob += self.alpha
        np.log(log_prob, out=log_prob)
        log_prob[1:] -= np.repeat(np.log(total), sizes, axis=0)
        log_prob[IGNORED] = 0.0
        return replace(self, log_prob=log_prob)

    def expected(self, statistics: Totals) -> float:
        """Log-likelihood of the rows behind ``statistics``."""
        return float(np.sum(statistics.sums * self.log_prob))

    def log_prior(self) -> float:
        """Logarithm of the Dirichlet prior, up to a constant."""
        unknown = self.offsets[1:] - 1
        return self.alpha * float(self.log_prob.sum() - self.log_prob[unknown].sum())


def indicators(slots: NDArray[np.int32], n_slots: int) -> Any:
    """Sparse matrix with a one in each slot of each row, around the memory of ``slots``."""
    n_rows, n_columns = slots.shape
    indptr = np.arange(n_rows + 1, dtype=np.int32) * n_columns
    return csr_around(np.ones(slots.size), slots.ravel(), indptr, (n_rows, n_slots))


def table_of_probabilities(
    density: CategoricalDensity, n_categories: NDArray[np.intp]
) -> list[NDArray[np.float64]]:
    """``log θ`` of each feature, of shape (n_components, n_categories)."""
    return [
        density.log_prob[start : start + size].T
        for start, size in zip(density.offsets[:-1], n_categories, strict=True)
    ]


class SemiSupervisedCategoricalNB(MixtureClassifier):
    """Categorical naive Bayes for tables of categories, fitted by EM on all rows.

    Maximizes the weighted log-likelihood of :class:`SemiSupervisedMultinomialNB` with
    ``p(x | k) = prod_j θ_jk(x_j)`` and the penalty ``alpha sum_jk sum_s log θ_jk(s)``:
    equations (2.18)-(2.20) and (4.3)-(4.5) of [1]_. With every row labeled it is scikit-learn's
    ``CategoricalNB``.

    A column of integers (or of whole floats, or booleans) holds codes from 0 on: its
    categories are 0 to the largest code, as in scikit-learn. Any other column (strings,
    objects) has the values that occur as its categories, and a pandas categorical column has
    those it declares. A category that was not seen in ``fit`` gets the smoothed probability of
    one that was never counted, ``alpha / (N_jk + alpha S_j)``.

    The parameters from ``unlabeled_weight`` on are those of all EM classifiers; the user guide
    explains them once, see :ref:`em-parameters`.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of each category; 1 is the Laplace correction. A number below 1e-10 is
        raised to it.
    min_categories : int or array-like of shape (n_features,), default=None
        Least number of categories of each feature.
    missing : {"category", "ignore"}, default="category"
        Whether None, NaN and pandas.NA are a category of their own, or the feature is passed
        over in the rows where it is missing.
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
    feature_log_prob_ : list of ndarray of shape (n_classes * n_components_, n_categories)
        ``log θ`` of each feature.
    n_categories_ : ndarray of shape (n_features,)
    categories_ : list
        Values of each feature in the order of ``feature_log_prob_``, None for integer codes.
        Where missing is a category, it comes last and is not listed.
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

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, sections 2.2.3 and 4.2.

    Examples
    --------
    >>> from leaven.generative import SemiSupervisedCategoricalNB
    >>> X = [["red", "round"], ["green", "long"], ["red", "flat"], ["green", "flat"]]
    >>> model = SemiSupervisedCategoricalNB().fit(X, ["apple", "bean", None, None])
    >>> model.transduction_
    array(['apple', 'bean', 'apple', 'bean'], dtype=object)
    >>> model.predict([["red", "square"]])
    array(['apple'], dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MixtureClassifier._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "min_categories": [None, Interval(Integral, 1, None, closed="left"), "array-like"],
        "missing": [StrOptions({"category", "ignore"})],
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        min_categories: Any = None,
        missing: str = "category",
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
        self.min_categories = min_categories
        self.missing = missing
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

    _encoding_attributes = ("_table",)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = True
        return tags

    def _chunk_rows(self, rows: Any, n_components: int) -> int:
        return int(max(1, CHUNK_ENTRIES // max(rows.shape[1], n_components)))

    def _array_checks(self, X: Any) -> dict[str, Any]:
        return table_checks(X)

    def _summarize(
        self, X: Any, codes: NDArray[np.intp], weights: NDArray[np.float64], n_classes: int
    ) -> DistinctValues:
        return distinct_values(X, weights > 0)

    def _learn(self, summary: DistinctValues) -> CategoricalDensity:
        self._table = learn_table(
            summary,
            missing=self.missing,
            min_categories=self.min_categories,
            names=getattr(self, "feature_names_in_", None),
        )
        self.n_categories_ = self._table.n_categories
        self.categories_ = categories_of(self._table)
        return CategoricalDensity(max(self.alpha, MIN_ALPHA), self._table.offsets)

    def _encode(self, X: Any) -> Any:
        return self._table.encode(X)

    def _cluster_features(self, rows: Any) -> Any:
        return sparse.csr_matrix(indicators(rows, int(self._table.offsets[-1])))

    def _store_mixture(self, mixture: Mixture) -> Mixture:
        density: Any = mixture.density
        self.feature_log_prob_ = table_of_probabilities(density, self.n_categories_)
        return mixture


def table_checks(X: Any) -> dict[str, Any]:
    """What to check of a table: a DataFrame keeps its columns, an array its dtype."""
    if isinstance(X, pd.DataFrame) and X.shape[0] and X.shape[1]:
        return {"skip_check_array": True}
    return {"dtype": None, "ensure_all_finite": False}


def categories_of(table: CategoryTable) -> list[Any]:
    """Values of each column, None for integer codes."""
    return [None if column.index is None else column.index.to_numpy() for column in table.columns]
