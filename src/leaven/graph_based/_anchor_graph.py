"""The anchor graph classifier: a graph method whose cost is a sum over the rows."""

from __future__ import annotations

import warnings
from functools import reduce
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval, StrOptions
from leaven._labels import UNLABELED, class_prior, one_hot
from leaven.base import TransductionMixin, normalize_rows
from leaven.exceptions import UnreachedWarning
from leaven.graph_based._anchors import (
    FORMS,
    anchor_statistics,
    anchor_weights,
    merge_anchor_statistics,
    poisson_targets,
    reached_anchors,
    restrict_anchors,
    solve_anchors,
)
from leaven.graph_based._class_mass import class_mass_factors
from leaven.graph_based._class_shift import balancing_shifts
from leaven.graph_based._shares import (
    ClassProportions,
    labels_to_leave_out,
    left_out_scores,
    posterior_proportions,
)

_MOST_ANCHORS, _FEWEST_ANCHORS, _ROWS_PER_ANCHOR = 4_000, 100, 5  # of n_anchors="auto"
_ROUNDS = 5  # of k-means: anchors must cover the rows, further rounds did not add accuracy
_CLUSTERED_ROWS = 50_000  # a sample of this size places the anchors of any number of rows
_BLOCK = 50_000  # rows whose distances to the anchors are looked at together


class AnchorGraphClassifier(TransductionMixin, BaseEstimator):
    r"""Classify through a few anchors that stand for the graph of all rows.

    Anchors are the centers of k-means. Each row is tied to the nearest of them by weights that
    sum to one, the rows of Z, and rows are joined through the anchors that they share:
    ``W = Z Λ⁻¹ Zᵀ`` with the column sums Λ of Z [1]_. Graph methods on W reduce to a linear
    system for the anchors, whose matrix is a sum over the rows, and the scores of rows, new
    ones among them, are ``Z a``.

    Parameters
    ----------
    n_anchors : int or "auto", default="auto"
        At most the number of rows, in which case every row is an anchor. ``"auto"`` is a fifth
        of the rows, but between 100 and 4,000.
    n_neighbors : int, default=5
        Anchors that a row is tied to.
    form : {"harmonic", "consistency", "poisson", "regularized"}, default="harmonic"
        Which method: the harmonic function of W, local and global consistency, Poisson
        learning, or the reduced Laplacian
        ``ZᵀZ - ZᵀZ Λ⁻¹ ZᵀZ`` of the paper as the regularizer of a least squares fit.
    weight : {"kernel", "embedding"}, default="kernel"
        Gaussian weights with the distance of the farthest of the anchors as bandwidth, or
        local anchor embedding.
    alpha : float in [0, 1), default=0.99
        Of consistency.
    gamma : float, default=0.01
        Of the regularized form.
    prior : {"auto", "labeled", "uniform"}, dict, array or None, default="auto"
        Class proportions for class mass normalization; ``"auto"`` estimates them as
        :func:`estimate_proportions` does. None switches it off.
    random_state : int, RandomState instance or None, default=None
        Of k-means.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    anchors_ : ndarray of shape (n_anchors, n_features)
    anchor_values_ : ndarray of shape (n_anchors, n_classes)
        The scores a of the anchors.
    statistics_ : AnchorStatistics
    prior_ : ndarray of shape (n_classes,) or None
        The class proportions that were used.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    transduction_ : ndarray of shape (n_samples,)
    n_unreached_ : int
        Rows whose anchors have no path to a label.

    See Also
    --------
    HarmonicClassifier : On the graph of all rows: more accurate, and slower.

    References
    ----------
    .. [1] W. Liu, J. He and S.-F. Chang, "Large graph construction for scalable
       semi-supervised learning", ICML 2010.

    Examples
    --------
    >>> from leaven.graph_based import AnchorGraphClassifier
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> model = AnchorGraphClassifier(n_neighbors=3).fit(X, [0, -1, -1, -1, -1, 1])
    >>> model.predict([[1.5], [8.5]])
    array([0, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_anchors": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "form": [StrOptions(set(FORMS))],
        "weight": [StrOptions({"kernel", "embedding"})],
        "alpha": [Interval(Real, 0, 1, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "prior": [StrOptions({"auto", "labeled", "uniform"}), "array-like", dict, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_anchors: int | str = "auto",
        *,
        n_neighbors: int = 5,
        form: str = "harmonic",
        weight: str = "kernel",
        alpha: float = 0.99,
        gamma: float = 0.01,
        prior: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.form = form
        self.weight = weight
        self.alpha = alpha
        self.gamma = gamma
        self.prior = prior
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> AnchorGraphClassifier:
        """Fit on the rows of ``X``, of which some have a label in ``y``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Unlabeled rows are -1 in integers, None, NaN or pandas.NA elsewhere.

        Returns
        -------
        self
        """
        X, codes = self._validate_fit(X, y, dtype=[np.float64, np.float32])
        k = len(self.classes_)
        self.anchors_ = place_anchors(X, self.n_anchors, self.random_state)
        blocks = list(gen_batches(len(X), _BLOCK))
        Z = sparse.csr_array(sparse.vstack([self._weights(X[rows]) for rows in blocks]))
        self.statistics_ = reduce(
            merge_anchor_statistics, (anchor_statistics(Z[b], codes[b]) for b in blocks)
        )
        self._reached = reached_anchors(self.statistics_)
        self.anchor_values_ = self._solve(k)
        apart = self._apart(Z)
        self.n_unreached_ = int(apart.sum())
        if self.n_unreached_:
            warnings.warn(
                f"{self.n_unreached_} of {len(X)} rows have no path to a labeled row and get the "
                "class proportions of the labeled rows. Use fewer anchors, more neighbors, or "
                "label more rows.",
                UnreachedWarning,
                stacklevel=2,
            )
        scores = np.asarray(Z @ self.anchor_values_)
        self._balance(Z, scores, codes, ~apart & (codes == UNLABELED))
        self._store_transduction(self._distributions(scores, apart).astype(X.dtype), codes)
        return self

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Class probabilities of new rows, from their nearest anchors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        parts = []
        for rows in gen_batches(len(X), _BLOCK):
            Z = self._weights(X[rows])
            parts.append(self._distributions(np.asarray(Z @ self.anchor_values_), self._apart(Z)))
        return np.vstack(parts).astype(X.dtype, copy=False)

    def _weights(self, X: NDArray[Any]) -> sparse.csr_array:
        return anchor_weights(
            X, self.anchors_, n_neighbors=int(self.n_neighbors), weight=self.weight
        )

    def _apart(self, Z: sparse.csr_array) -> NDArray[np.bool_]:
        """Tell which rows hang on anchors without a path to a label only."""
        return np.asarray(Z @ self._reached.astype(float) == 0.0, dtype=np.bool_)

    def _solve(self, n_classes: int) -> NDArray[np.float64]:
        part = restrict_anchors(self.statistics_, self._reached)
        values = np.tile(
            class_prior("labeled", part.codes, self.classes_, smoothing=0.0),
            (len(self._reached), 1),
        )
        options: dict[str, Any] = {"form": self.form, "alpha": self.alpha, "gamma": self.gamma}
        if self.form == "poisson":
            targets, mean = poisson_targets(part, n_classes)
            inner = solve_anchors(part, targets, **options)
            # A component with labels of one class has no source, but its class is known.
            decided = (mean == 1.0).any(axis=1)
            far = 4.0 * (np.abs(inner).max(initial=0.0) or 1.0)
            inner[decided] = far * (mean[decided] - 1.0 / n_classes)
        else:
            inner = solve_anchors(part, one_hot(part.codes, n_classes), **options)
        values[self._reached] = inner
        return values

    def _balance(
        self,
        Z: sparse.csr_array,
        scores: NDArray[Any],
        codes: NDArray[np.intp],
        counted: NDArray[np.bool_],
    ) -> None:
        """Set the factors, or for Poisson learning the shifts, that meet the proportions."""
        k = len(self.classes_)
        self.prior_: NDArray[np.float64] | None = None
        self._factors, self._shifts, self._spread = np.ones(k), np.zeros(k), 1.0
        if self.prior is None or not counted.any():
            return
        if isinstance(self.prior, str) and self.prior == "auto":
            self.class_proportions_ = self._estimate(Z[counted], k)
            self.prior_ = self.class_proportions_.proportions
        else:
            self.prior_ = class_prior(self.prior, codes, self.classes_)
        if self.form == "poisson":
            self._shifts, self._spread = balancing_shifts(scores[counted], self.prior_)
        else:
            self._factors = class_mass_factors(np.maximum(scores[counted], 0.0), self.prior_)

    def _estimate(self, Z: sparse.csr_array, n_classes: int) -> ClassProportions:
        """Estimate the proportions from the harmonic function of the anchor graph."""
        part = restrict_anchors(self.statistics_, self._reached)
        tested = labels_to_leave_out(part.codes, n_classes)
        column = len(tested) + part.codes
        column[tested] = np.arange(len(tested))
        boundary = np.eye(len(tested) + n_classes)[column]
        a = solve_anchors(part, boundary, form="harmonic", tol=1e-4)
        Y = np.eye(n_classes)[np.concatenate([part.codes[tested], np.arange(n_classes)])]
        f = np.asarray(Z[:, self._reached] @ (a @ Y))
        answer = (f * class_mass_factors(f, np.full(n_classes, 1.0 / n_classes))).argmax(axis=1)
        confusions = np.zeros((n_classes, n_classes))
        if len(tested):
            # Degrees are one: the mean over the neighbors is z a.
            means = np.asarray(part.labeled[tested] @ a)
            answers = left_out_scores(means, part.mass @ a, Y).argmax(axis=1)
            np.add.at(confusions, (part.codes[tested], answers), 1.0)
        counts = np.bincount(part.codes, minlength=n_classes)
        shares = np.bincount(answer, minlength=n_classes) / len(answer)
        return posterior_proportions(shares, confusions, counts)

    def _distributions(self, scores: NDArray[Any], apart: NDArray[np.bool_]) -> NDArray[Any]:
        if self.form == "poisson" and self.prior_ is not None:
            p = np.asarray(softmax((scores - self._shifts) / self._spread, axis=1))
        else:
            p = normalize_rows(np.maximum(scores, 0.0) * self._factors)
        p[apart] = scores[apart]
        return p


def place_anchors(
    X: NDArray[Any], n_anchors: int | str = "auto", random_state: Any = None
) -> NDArray[Any]:
    """Centers of k-means, or all rows where as many anchors are asked for.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    n_anchors : int or "auto", default="auto"
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    ndarray of shape (n_anchors, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based import place_anchors
    >>> X = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> np.sort(place_anchors(X, 2, random_state=0).ravel())
    array([0.5, 8.5])
    """
    n = len(X)
    if n_anchors == "auto":
        n_anchors = max(min(n // _ROWS_PER_ANCHOR, _MOST_ANCHORS), _FEWEST_ANCHORS)
    if int(n_anchors) >= n:
        return np.array(X)
    rng = check_random_state(random_state)
    if n > _CLUSTERED_ROWS:
        X = X[rng.choice(n, _CLUSTERED_ROWS, replace=False)]
    means = KMeans(
        min(int(n_anchors), len(X)), init="random", n_init=1, max_iter=_ROUNDS, random_state=rng
    )
    with warnings.catch_warnings():
        # Duplicate rows leave some centers equal, which does no harm.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(means.fit(X).cluster_centers_)
