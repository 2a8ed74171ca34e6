"""The anchor graph classifier: a graph method whose cost is a sum over the rows."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval, StrOptions, validate_params_of
from leaven._labels import class_prior, one_hot
from leaven._magnitude import check_magnitude
from leaven.base import TransductionMixin
from leaven.exceptions import UnreachedWarning
from leaven.graph_based import _anchor_passes as passes
from leaven.graph_based._anchors import (
    FORMS,
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
    labels_to_leave_out,
    left_out_scores,
    posterior_proportions,
    shared_votes,
)
from leaven.partitions import (
    LocalPartitions,
    Partitions,
    answers,
    as_partitions,
    is_partitioned,
    survey,
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
    form : {"regularized", "harmonic", "consistency", "poisson"}, default="regularized"
        Which method: the reduced Laplacian ``ZᵀZ - ZᵀZ Λ⁻¹ ZᵀZ`` of the paper as the
        regularizer of a least squares fit, the harmonic function of W, local and global
        consistency, or Poisson learning. The harmonic function is the best of them while a
        label stands for some hundred rows, and almost constant where it stands for thousands:
        of 120,000 rows with 100 labels it had 53% right and the others 98%.
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
        form: str = "regularized",
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
            Or partitions of such rows: a Dask array or DataFrame, or an iterable of tables. The
            answer is the same as on all rows at once, but for rounding, after four passes over
            the rows (five of the Poisson form, which collects the scores of the unlabeled
            rows). ``transduction_`` and ``label_distributions_`` are then lazy Dask arrays, or
            lists with one array per partition; for an iterable that is not a list, iterables
            that compute them.
        y : array-like of shape (n_samples,)
            Unlabeled rows are -1 in integers, None, NaN or pandas.NA elsewhere. One array per
            partition where X comes in partitions.

        Returns
        -------
        self
        """
        partitioned = is_partitioned(X)
        if partitioned:
            rows, sizes, dtype = self._open_partitions(as_partitions(X, y))
        else:
            X, codes = self._validate_fit(X, y, dtype=list(passes.DTYPES))
            check_magnitude(self, X)
            rows = LocalPartitions([passes.Rows(X, codes)], named=False)
            sizes, dtype = [len(X)], X.dtype
        rng = check_random_state(self.random_state)
        n = sum(sizes)
        chosen = rows_to_cluster(n, self.n_anchors, rng)
        some = rows.map(passes.take_some, each=_by_partition(chosen, sizes))
        self.anchors_ = _centers(np.concatenate(some), n, self.n_anchors, rng)
        del some
        ties = rows.prepare(
            passes.tie_rows, self.anchors_, int(self.n_neighbors), self.weight, _BLOCK
        )
        self.statistics_ = ties.reduce(passes.statistics_of, merge_anchor_statistics)
        self._reached = reached_anchors(self.statistics_)
        self.anchor_values_ = self._solve(len(self.classes_))
        # Every row has the weight one, all of it on anchors that are reached or all on others.
        self.n_unreached_ = round(float(self.statistics_.mass[~self._reached].sum()))
        if self.n_unreached_:
            warnings.warn(
                f"{self.n_unreached_} of {n} rows have no path to a labeled row and get the "
                "class proportions of the labeled rows. Use fewer anchors, more neighbors, or "
                "label more rows.",
                UnreachedWarning,
                stacklevel=2,
            )
        self._balance(ties)
        distributions = ties.prepare(passes.distributions_of, self._answers, dtype)
        found = answers(distributions, self.classes_, sizes, dtype)
        if not partitioned:
            found = found[0][0], found[1][0]
        self.label_distributions_, self.transduction_ = found
        return self

    def _open_partitions(self, source: Partitions) -> tuple[Partitions, list[int], Any]:
        """Look at all partitions, learn classes and columns; rows are checked in each pass."""
        validate_params_of(self)
        found = survey(source, type(self).__name__, passes.dtype_of)
        # One table would have one dtype for all rows.
        dtype = np.result_type(*found.notes)
        validate_data(self, found.head, dtype=dtype)
        self.classes_ = found.classes
        reader = passes.Reader()
        for name in ("n_features_in_", "feature_names_in_"):
            if name in self.__dict__:
                setattr(reader, name, getattr(self, name))
        rows = source.prepare(passes.check_block, reader, dtype, self.classes_)
        return rows, found.sizes, dtype

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
        check_magnitude(self, X)
        parts = [
            self._answers.of(
                anchor_weights(
                    X[rows], self.anchors_, n_neighbors=int(self.n_neighbors), weight=self.weight
                )
            )
            for rows in gen_batches(len(X), _BLOCK)
        ]
        return np.vstack(parts).astype(X.dtype, copy=False)

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

    def _balance(self, ties: Partitions) -> None:
        """Set the factors, or for Poisson learning the shifts, that meet the proportions."""
        k = len(self.classes_)
        values, reached = self.anchor_values_, self._reached
        codes = self.statistics_.codes
        self.prior_: NDArray[np.float64] | None = None
        self._answers = passes.AnchorAnswers(values, reached, np.ones(k))
        n_counted = self.statistics_.n_unlabeled - self.n_unreached_
        if self.prior is None or not n_counted:
            return
        estimated = isinstance(self.prior, str) and self.prior == "auto"
        balanced, confusions = self._leave_labels_out(k) if estimated else (values, None)
        sums = ties.reduce(passes.tally, passes.add_tallies, values, reached, balanced)
        if confusions is not None:
            counts = np.bincount(codes, minlength=k)
            shares = sums.answers / n_counted
            self.class_proportions_ = posterior_proportions(shares, confusions, counts)
            self.prior_ = self.class_proportions_.chosen
        else:
            self.prior_ = class_prior(self.prior, codes, self.classes_)
        if self.form == "poisson":
            scores = np.concatenate(ties.map(passes.scores_of, values, reached))
            shifts, spread = balancing_shifts(scores, self.prior_)
            self._answers = replace(self._answers, shifts=shifts, spread=spread)
        else:
            factors = class_mass_factors(sums.mass[None, :], self.prior_)
            self._answers = replace(self._answers, factors=factors)

    def _leave_labels_out(self, n_classes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Balanced harmonic values of the anchors, and confusions of labels that are left out."""
        part = restrict_anchors(self.statistics_, self._reached)
        tested = labels_to_leave_out(part.codes, n_classes)
        column = len(tested) + part.codes
        column[tested] = np.arange(len(tested))
        boundary = np.eye(len(tested) + n_classes)[column]
        a = solve_anchors(part, boundary, form="harmonic", tol=1e-4)
        Y = np.eye(n_classes)[np.concatenate([part.codes[tested], np.arange(n_classes)])]
        inner = a @ Y
        # The sum of Z a over the unlabeled rows is that of their weights times a.
        mass = part.mass @ inner
        balanced = np.zeros((len(self._reached), n_classes))
        equal = np.full(n_classes, 1.0 / n_classes)
        balanced[self._reached] = inner * class_mass_factors(mass[None, :], equal)
        confusions = np.zeros((n_classes, n_classes))
        if len(tested):
            # Degrees are one: the mean over the neighbors is z a.
            means = np.asarray(part.labeled[tested] @ a)
            answer = shared_votes(left_out_scores(means, part.mass @ a, Y))
            np.add.at(confusions, part.codes[tested], answer)
        return balanced, confusions


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
    rng = check_random_state(random_state)
    chosen = rows_to_cluster(len(X), n_anchors, rng)
    return _centers(X if chosen is None else X[chosen], len(X), n_anchors, rng)


def rows_to_cluster(
    n_rows: int, n_anchors: int | str, rng: np.random.RandomState
) -> NDArray[np.intp] | None:
    """Draw the rows that place the anchors, in order; None for all."""
    if n_rows <= _CLUSTERED_ROWS or _number(n_anchors, n_rows) >= n_rows:
        return None
    # Unlike a permutation, this takes no memory for the rows that are not drawn.
    drawn = sample_without_replacement(n_rows, _CLUSTERED_ROWS, random_state=rng)
    return np.sort(drawn).astype(np.intp)


def _number(n_anchors: int | str, n_rows: int) -> int:
    if n_anchors == "auto":
        return max(min(n_rows // _ROWS_PER_ANCHOR, _MOST_ANCHORS), _FEWEST_ANCHORS)
    return int(n_anchors)


def _centers(
    X: NDArray[Any], n_rows: int, n_anchors: int | str, rng: np.random.RandomState
) -> NDArray[Any]:
    """Centers of the rows that were drawn from ``n_rows``."""
    k = _number(n_anchors, n_rows)
    if k >= n_rows:
        return np.array(X)
    means = KMeans(min(k, len(X)), init="random", n_init=1, max_iter=_ROUNDS, random_state=rng)
    with warnings.catch_warnings():
        # Duplicate rows leave some centers equal, which does no harm.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(means.fit(X).cluster_centers_)


def _by_partition(
    chosen: NDArray[np.intp] | None, sizes: list[int]
) -> list[NDArray[np.intp] | None]:
    """Numbers of rows in each partition, from ascending numbers of rows in all."""
    if chosen is None:
        return [None] * len(sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    cuts = np.searchsorted(chosen, starts)
    return [
        chosen[cuts[i] : cuts[i + 1]] - starts[i]  # numbers count from the start of the partition
        for i in range(len(sizes))
    ]
