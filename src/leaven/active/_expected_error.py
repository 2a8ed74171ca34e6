"""Expected error reduction: ask about the row whose label promises the best classifier."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from leaven._compat import Interval, StrOptions, num_samples, validate_params_of
from leaven._labels import UNLABELED
from leaven.active import _expected_error_bayes as bayes
from leaven.active import _expected_error_harmonic as harmonic
from leaven.active._batch import as_points, choose_batch
from leaven.active._rows import (
    add_row,
    check_pool,
    check_training,
    labels_of,
    locate,
    query_rng,
    require_same_kind,
)
from leaven.active._uncertainty import entropy, least_confidence, probabilities
from leaven.base import learns_from_unlabeled, take_rows
from leaven.exceptions import UnreachedWarning

LOSSES = {"zero-one": least_confidence, "log": entropy}

# Rows that are scored at most by default: by fits, 100 rows of two classes are 200 fits a query;
# by updates, 1,000 rows of ten classes take seconds. Learning curves with a fifth of the rows are
# not worse than with all of them (`benchmarks/active.py candidates`).
_MOST_BY_FITS, _MOST_BY_UPDATES = 100, 1_000


def pool_probabilities(
    estimator: Any, X_pool: Any, rows: NDArray[np.intp] | None, n_samples: int
) -> NDArray[np.float64]:
    """Class probabilities of the pool by a fitted classifier.

    Of rows that took part in the fit (``rows`` are their places) a semi-supervised classifier
    has ``label_distributions_``, which exist on any graph; others are predicted.
    """
    known = getattr(estimator, "label_distributions_", None)
    if rows is not None and isinstance(known, np.ndarray) and len(known) == n_samples:
        return np.asarray(known[rows], dtype=np.float64)
    return probabilities(estimator, X_pool)


def expected_loss_by_refits(
    estimator: Any,
    X: Any,
    classes: NDArray[Any],
    codes: NDArray[np.intp],
    X_pool: Any,
    rows: NDArray[np.intp] | None,
    candidate: int,
    weights: NDArray[np.float64],
    loss: str,
) -> float:
    """Return the expected mean loss over the other rows of the pool, by one fit per class.

    Parameters
    ----------
    estimator : classifier
    X, classes, codes : the training rows, the class names, and the codes of their labels
    X_pool : the rows of the pool
    rows : ndarray of shape (n_pool,) or None
        The places of the pool in ``X``. With None the candidate is put below ``X``.
    candidate : int
        Place in the pool.
    weights : ndarray of shape (n_classes,)
        The present class probabilities of the candidate.
    loss : {"zero-one", "log"}

    Returns
    -------
    float
    """
    if num_samples(X_pool) == 1:
        return 0.0
    if rows is None:
        X = add_row(X, take_rows(X_pool, [candidate]))
        codes, own = np.append(codes, UNLABELED), len(codes)
    else:
        codes, own = codes.copy(), int(rows[candidate])
    expected = 0.0
    with warnings.catch_warnings():
        # The estimator was fitted by the caller and has warned of this already.
        warnings.simplefilter("ignore", UnreachedWarning)
        for c in np.flatnonzero(weights):
            codes[own] = c
            refitted = clone(estimator).fit(X, labels_of(classes, codes))
            losses = LOSSES[loss](pool_probabilities(refitted, X_pool, rows, len(codes)))
            expected += weights[c] * float(np.delete(losses, candidate).mean())
    return expected


class ExpectedErrorReduction(BaseEstimator):
    r"""Ask about the row after whose label the expected error on the pool is least.

    .. math::

        \arg\min_x \sum_c P(c \mid x) \sum_{u \neq x}
        \big(1 - P^{+(x, c)}(\hat y \mid x^{(u)})\big)

    where :math:`P^{+(x, c)}` is the classifier fitted with one more row, x of class c [1]_. The
    inner sum goes over the *other* rows of the pool: x itself would have a label. The log loss
    has the entropy of :math:`P^{+(x, c)}` in the place of the brackets.

    Parameters
    ----------
    loss : {"zero-one", "log"}, default="zero-one"
    max_candidates : int, "auto" or None, default="auto"
        Score at most this many rows of the pool; the others get the score -∞. The loss is still
        that on the whole pool. The rows are diverse and uncertain: of the ten times as many
        with the highest entropy those nearest to the centers of a k-means that is weighted by
        the entropy. ``"auto"`` is 100 where the estimator is fitted for every row, and 1,000
        where it is updated; None scores all.
    n_candidates : int, default=None
        Score this many rows chosen at random instead.
    n_jobs : int, default=None
        Processes for the fits of the generic path (``joblib``).
    random_state : int, RandomState or None, default=None
        Chooses the candidates. With an integer the choice depends on it and on the pool.
    method : {"auto", "generic"}, default="auto"
        ``"generic"`` fits the estimator once for each candidate and class. ``"auto"`` does so
        only where there is no update that leads to the same numbers:

        - scikit-learn's ``MultinomialNB``, ``BernoulliNB``, ``CategoricalNB`` and
          ``GaussianNB`` by their sufficient statistics;
        - :class:`~leaven.graph_based.HarmonicClassifier` without ``prior``, ``external`` and
          ``label_noise`` by a rank-one update of the inverse Laplacian [2]_.

    Attributes
    ----------
    path_ : {"naive-bayes", "harmonic", "generic"}
        How the last scores were computed.

    Notes
    -----
    The score is minus the expected loss, averaged over the rows.

    With u rows in the pool, k classes and d features, naive Bayes takes O(u² k d) steps and
    memory linear in the pool. Harmonic functions take one factorization of the Laplacian of the
    u unlabeled nodes, and O(u² k) steps: dense up to 2,000 nodes (32 MB), sparse up to 20,000,
    conjugate gradients beyond. The generic path fits k times for each row that is scored.

    A semi-supervised estimator is fitted on all rows of ``X``, among which those of the pool
    are looked up; a row of the pool that is not there joins as a labeled row. Other estimators
    are fitted on the labeled rows of ``X``. No ``sample_weight`` is needed.

    See Also
    --------
    LeastConfident : Looks at the row alone, and costs one prediction.

    References
    ----------
    .. [1] N. Roy and A. McCallum, "Toward optimal active learning through sampling estimation
       of error reduction", ICML 2001.
    .. [2] X. Zhu, J. Lafferty and Z. Ghahramani, "Combining active learning and
       semi-supervised learning using Gaussian fields and harmonic functions", ICML 2003
       workshop.
    .. [3] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, equation 2.71.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leaven.active import ExpectedErrorReduction
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]
    >>> model = GaussianNB().fit(X, y)
    >>> strategy = ExpectedErrorReduction(loss="log")
    >>> int(strategy.scores(model, [[0.5], [2.4], [2.6]], X, y).argmax())
    1
    >>> strategy.path_
    'naive-bayes'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(LOSSES))],
        "max_candidates": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
            None,
        ],
        "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "method": [StrOptions({"auto", "generic"})],
    }

    def __init__(
        self,
        loss: str = "zero-one",
        *,
        max_candidates: int | str | None = "auto",
        n_candidates: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        method: str = "auto",
    ) -> None:
        self.loss = loss
        self.max_candidates = max_candidates
        self.n_candidates = n_candidates
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.method = method

    def scores(self, estimator: Any, X_pool: Any, X: Any = None, y: Any = None) -> NDArray[Any]:
        """Score the rows of the pool; the largest score is asked first.

        Parameters
        ----------
        estimator : classifier
            Fitted on ``X`` and ``y``.
        X_pool : {array-like, sparse matrix, data frame} of shape (n_pool, n_features)
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The training rows; of a semi-supervised estimator the unlabeled ones too.
        y : array-like of shape (n_samples,)
            Their labels, or marks of unlabeled rows.

        Returns
        -------
        scores : ndarray of shape (n_pool,)
            Minus the expected loss; -inf for rows that were not considered.
        """
        validate_params_of(self)
        X_pool = check_pool(X_pool)
        X, classes, codes = check_training(self, X, y)
        require_same_kind(X, X_pool)
        check_is_fitted(estimator)
        codes = _codes_of(estimator, classes, codes)
        rows = None
        if learns_from_unlabeled(estimator):
            rows = locate(X, codes, X_pool)
        elif (codes == UNLABELED).any():
            labeled = np.flatnonzero(codes != UNLABELED)
            X, codes = take_rows(X, labeled), codes[labeled]
        updates = self._choose_path(estimator, X, codes, X_pool, rows)
        P = pool_probabilities(estimator, X_pool, rows, len(codes))
        candidates = self._candidates(P, X_pool, y)
        scores = np.full(num_samples(X_pool), -np.inf)
        scores[candidates] = -self._expected(
            estimator, X, codes, X_pool, rows, candidates, P[candidates], updates
        )
        return scores

    def _candidates(self, P: NDArray[np.float64], X_pool: Any, y: Any) -> NDArray[np.intp]:
        """Places of the rows to be scored, ascending."""
        n_pool = len(P)
        if self.n_candidates is not None:
            if self.n_candidates >= n_pool:
                return np.arange(n_pool)
            rng = query_rng(self.random_state, X_pool, y)
            return np.sort(rng.choice(n_pool, self.n_candidates, replace=False))
        most = self.max_candidates
        if most == "auto":
            most = _MOST_BY_FITS if self.path_ == "generic" else _MOST_BY_UPDATES
        if most is None or int(most) >= n_pool:
            return np.arange(n_pool)
        rng = query_rng(self.random_state, X_pool, y)
        points = as_points(X_pool)
        return np.sort(choose_batch(entropy(P), int(most), rng, diversity="kmeans", points=points))

    def _choose_path(
        self,
        estimator: Any,
        X: Any,
        codes: NDArray[np.intp],
        X_pool: Any,
        rows: NDArray[np.intp] | None,
    ) -> bayes.Updates | None:
        """Set ``path_``; give the updates of naive Bayes where there are some."""
        self.path_ = "generic"
        if self.method == "generic":
            return None
        if harmonic.uses_rank_one(estimator, codes, rows):
            self.path_ = "harmonic"
            return None
        names = labels_of(np.asarray(estimator.classes_), codes)
        updates = bayes.naive_bayes_updates(estimator, X, names, X_pool)
        if updates is not None:
            self.path_ = "naive-bayes"
        return updates

    def _expected(
        self,
        estimator: Any,
        X: Any,
        codes: NDArray[np.intp],
        X_pool: Any,
        rows: NDArray[np.intp] | None,
        candidates: NDArray[np.intp],
        P: NDArray[np.float64],
        updates: bayes.Updates | None,
    ) -> NDArray[np.float64]:
        classes = np.asarray(estimator.classes_)
        if self.path_ == "harmonic":
            assert rows is not None
            f = np.asarray(estimator.scores_, dtype=np.float64)
            return harmonic.expected_losses(
                estimator.graph_, f, codes, P, rows, candidates, self.loss
            )
        if updates is not None:
            n_pool = num_samples(X_pool)
            return bayes.expected_losses(updates, P, candidates, n_pool, self.loss)
        return np.array(
            Parallel(n_jobs=self.n_jobs)(
                delayed(expected_loss_by_refits)(
                    estimator, X, classes, codes, X_pool, rows, int(i), weights, self.loss
                )
                for i, weights in zip(candidates, P, strict=True)
            )
        )


def _codes_of(estimator: Any, classes: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Number the labels by the classes of the estimator."""
    known = {name: place for place, name in enumerate(np.asarray(estimator.classes_).tolist())}
    unknown = [name for name in classes.tolist() if name not in known]
    if unknown:
        raise ValueError(
            f"y holds the classes {unknown}, which the estimator has not seen: it knows "
            f"{list(known)}. Fit it on X and y first."
        )
    places = np.array([known[name] for name in classes.tolist()], dtype=np.intp)
    return np.where(codes == UNLABELED, UNLABELED, places[np.where(codes == UNLABELED, 0, codes)])
