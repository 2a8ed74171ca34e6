"""Expected error of naive Bayes after one more label, by updates of its sufficient statistics.

A row that joins class c changes the counts, or the mean and variance, of that class alone. So
the log-likelihoods of the other classes are kept, and those of c follow from the row by products
of matrices: nothing is fitted again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.preprocessing import OneHotEncoder, binarize
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array

Array = NDArray[np.float64]

# Numbers in one array of a block (2 MB), of which there are about ten at a time.
_BLOCK = 2**18

# Rows of the pool in a block, at most.
_ROWS = 1024

# Up to so many categories in all, products of dense indicators are faster than of sparse.
_DENSE_CATEGORIES = 1024

_SMALLEST_ALPHA = 1e-10  # scikit-learn raises smaller ones to this, with a warning


class Updates(Protocol):
    """The log-likelihoods of a naive Bayes model before and after a row joins a class."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""

    def block(self, rows: slice) -> Callable[[NDArray[np.intp]], tuple[Array, Array]]:
        """Prepare some rows of the pool; the function takes candidates and returns two arrays.

        The first, of shape (n_classes, n_candidates or 1, n_rows), holds the logits of the
        classes that the candidate does not join, the second, of shape (n_classes,
        n_candidates, n_rows), that of the class which it does.
        """


def losses_after(before: Array, after: Array, loss: str) -> Array:
    """Return the loss of each row when the logit of one class is replaced.

    The logits of hypothesis c are those of ``before`` with ``after[c]`` in the place of
    ``before[c]``. With the largest logit m of the *other* classes, ``t = Σ e^{b_k - m}`` and
    ``d = after_c - m``, the largest probability is ``max(1, e^d) / (t + e^d)``; the sums without
    class c come from the sum of all by subtracting one term, unless c is the largest.

    Parameters
    ----------
    before : ndarray of shape (n_classes, n_candidates or 1, n_rows)
    after : ndarray of shape (n_classes, n_candidates, n_rows)
    loss : {"zero-one", "log"}

    Returns
    -------
    ndarray of shape (n_classes, n_candidates, n_rows)
    """
    first = before.argmax(axis=0)
    m1 = before.max(axis=0)
    E1 = np.exp(before - m1)
    t1 = E1.sum(axis=0)
    others = before.copy()
    np.put_along_axis(others, first[None], -np.inf, axis=0)
    m2 = others.max(axis=0)
    E2 = np.exp(others - m2)
    t2 = E2.sum(axis=0)
    if loss == "log":
        F1 = E1 * (m1 - before)
        a1 = F1.sum(axis=0)
        np.put_along_axis(others, first[None], m2[None], axis=0)  # weight 0 times 0, not infinity
        a2 = (E2 * (m2 - others)).sum(axis=0)
    losses = np.empty_like(after)
    for c in range(len(before)):
        is_first = first == c
        t = np.where(is_first, t2, t1 - E1[c])
        d = after[c] - np.where(is_first, m2, m1)
        e = np.exp(-np.abs(d))
        ahead = d > 0
        total = np.where(ahead, 1.0 + t * e, t + e)
        if loss == "zero-one":
            losses[c] = 1.0 - 1.0 / total
        else:
            a = np.where(is_first, a2, a1 - F1[c])
            # log Σ e^l - Σ p l, each l less the larger of m and after_c.
            mass = np.where(ahead, e * (a + d * t), a - d * e)
            losses[c] = np.log(total) + mass / total
    return losses


def expected_losses(
    updates: Updates, P: Array, candidates: NDArray[np.intp], n_pool: int, loss: str
) -> Array:
    """Return the expected mean loss over the other rows of the pool, for each candidate.

    Memory is linear in the pool: blocks of candidates meet blocks of rows.

    Parameters
    ----------
    updates : Updates
    P : ndarray of shape (n_candidates, n_classes)
        The present class probabilities of the candidates.
    candidates : ndarray of shape (n_candidates,)
        Their places in the pool.
    n_pool : int
    loss : {"zero-one", "log"}

    Returns
    -------
    ndarray of shape (n_candidates,)
    """
    total = np.zeros(P.shape)
    for rows in gen_batches(n_pool, min(_ROWS, n_pool)):
        logits = updates.block(rows)
        size = max(1, _BLOCK // (updates.n_classes * (rows.stop - rows.start)))
        for part in gen_batches(len(candidates), size):
            own = candidates[part]
            losses = losses_after(*logits(own), loss)
            inside = np.flatnonzero((own >= rows.start) & (own < rows.stop))
            losses[:, inside, own[inside] - rows.start] = 0.0
            total[part] += losses.sum(axis=2).T
    return np.asarray((P * total).sum(axis=1) / max(n_pool - 1, 1))


@dataclass(frozen=True)
class DiscreteUpdates:
    """Counts of features: multinomial, Bernoulli and categorical models.

    The logit of row u after candidate i joined class c is ``after[c, u] + rows[u] ·
    gain(rows[i], c) + size[u] scale[c, i] + shift[c, i]``; what a row gains by a feature that
    both have is zero where candidate i has a zero, so sparse rows stay sparse.
    """

    rows: Any
    before: Array
    after: Array
    gain: Callable[[Any, Any], Any]
    coefficients: Array
    size: Array
    scale: Array
    shift: Array

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.before)

    def block(self, rows: slice) -> Callable[[NDArray[np.intp]], tuple[Array, Array]]:
        """Prepare some rows of the pool."""
        X = self.rows[rows]
        before = self.before[:, None, rows]

        def logits(own: NDArray[np.intp]) -> tuple[Array, Array]:
            after = self.scale[:, own, None] * self.size[rows] + self.shift[:, own, None]
            after += self.after[:, None, rows]
            joining = self.rows[own]
            for c, coefficients in enumerate(self.coefficients):
                if sparse.issparse(joining):
                    gained = joining.copy()
                    gained.data = self.gain(joining.data, coefficients[joining.indices])
                    after[c] += (gained @ X.T).toarray()
                else:
                    after[c] += self.gain(joining, coefficients) @ X.T
            return before, after

        return logits


def _product(values: Any, coefficients: Any) -> Any:
    return values * coefficients


def _log_growth(values: Any, coefficients: Any) -> Any:
    return np.log1p(values / coefficients)


def multinomial_updates(nb: Any, rows: Any) -> DiscreteUpdates:
    """Follow ``MultinomialNB``, of which ``nb`` is fitted on the training rows."""
    F = nb.feature_count_ + np.asarray(nb.alpha)
    size = np.asarray(rows.sum(axis=1), dtype=np.float64).ravel()
    inner = np.asarray(rows @ np.log(F).T).T
    total = F.sum(axis=1)[:, None]
    prior_before, prior_after = _log_priors(nb)
    return DiscreteUpdates(
        rows=rows,
        before=inner - size * np.log(total) + prior_before[:, None],
        after=inner + prior_after[:, None],
        gain=_log_growth,
        coefficients=F,
        size=size,
        scale=-np.log(total + size),
        shift=np.zeros((len(F), len(size))),
    )


def bernoulli_updates(nb: Any, rows: Any) -> DiscreteUpdates:
    """Follow ``BernoulliNB``; ``rows`` hold zeros and ones."""
    n = nb.class_count_[:, None]
    yes = nb.feature_count_ + nb.alpha
    no = n - nb.feature_count_ + nb.alpha
    d = yes.shape[1]
    # One row more in the class: where the row has a 0, "no" has grown, and where a 1, "yes".
    odds0, odds1 = np.log(yes) - np.log(no + 1), np.log(yes + 1) - np.log(no)
    prior_before, prior_after = _log_priors(nb)
    before = np.asarray(rows @ (np.log(yes) - np.log(no)).T).T
    before += (np.log(no).sum(axis=1) - d * np.log(n[:, 0] + 2 * nb.alpha) + prior_before)[:, None]
    shift = np.asarray(rows @ (np.log(no) - np.log(no + 1)).T).T
    shift += (np.log(no + 1).sum(axis=1) - d * np.log(n[:, 0] + 1 + 2 * nb.alpha))[:, None]
    return DiscreteUpdates(
        rows=rows,
        before=before,
        after=np.asarray(rows @ odds0.T).T + prior_after[:, None],
        gain=_product,
        coefficients=odds1 - odds0,
        size=np.zeros(rows.shape[0]),
        scale=np.zeros(shift.shape),
        shift=shift,
    )


def categorical_updates(nb: Any, rows: Any) -> DiscreteUpdates:
    """Follow ``CategoricalNB``; ``rows`` are indicators of all categories of all features."""
    F = np.hstack(nb.category_count_) + nb.alpha
    smoothing = nb.alpha * np.array([count.shape[1] for count in nb.category_count_])
    n = nb.class_count_[:, None]
    inner = np.asarray(rows @ np.log(F).T).T
    prior_before, prior_after = _log_priors(nb)
    shift = prior_after - np.log(n + 1 + smoothing).sum(axis=1)
    return DiscreteUpdates(
        rows=rows,
        before=inner + (prior_before - np.log(n + smoothing).sum(axis=1))[:, None],
        after=inner + shift[:, None],
        gain=_product,
        coefficients=np.log1p(1.0 / F),
        size=np.zeros(rows.shape[0]),
        scale=np.zeros(inner.shape),
        shift=np.zeros(inner.shape),
    )


def _log_priors(nb: Any) -> tuple[Array, Array]:
    """Class priors up to a constant, before a row joins and, for its class, after."""
    given = nb.class_prior if nb.class_prior is not None else None
    if given is None and nb.fit_prior:
        return np.log(nb.class_count_), np.log(nb.class_count_ + 1)
    same = np.zeros(len(nb.class_count_)) if given is None else np.log(given)
    return same, same


@dataclass(frozen=True)
class GaussianUpdates:
    """Means and variances: ``GaussianNB``, with its smoothing of the variances.

    All variances get ``var_smoothing`` times the largest variance of a feature over *all*
    training rows, so a candidate moves the logits of every class a little.
    """

    rows: Array
    n: Array
    mean: Array
    variance: Array
    smoothing: Array
    prior_before: Array
    prior_after: Array

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.mean)

    def block(self, rows: slice) -> Callable[[NDArray[np.intp]], tuple[Array, Array]]:
        """Prepare some rows of the pool."""
        # Deviations from the mean before the update keep the expansion of the square, a product
        # of matrices, as exact as the square itself.
        Z = self.rows[rows] - self.mean[:, None]
        d = Z.shape[2]
        ZZ = np.concatenate([Z**2, Z], axis=2)

        def logits(own: NDArray[np.intp]) -> tuple[Array, Array]:
            epsilon = self.smoothing[own, None]
            before = np.empty((self.n_classes, len(own), Z.shape[1]))
            after = np.empty_like(before)
            for c, n in enumerate(self.n):
                v = self.variance[c] + epsilon
                np.matmul(1.0 / v, ZZ[c, :, :d].T, out=before[c])
                before[c] += np.log(v).sum(axis=1)[:, None]
                away = self.rows[own] - self.mean[c]
                v = (n * self.variance[c] + n / (n + 1) * away**2) / (n + 1) + epsilon
                step = away / (n + 1)
                weights = np.concatenate([1.0 / v, -2.0 * step / v], axis=1)
                np.matmul(weights, ZZ[c].T, out=after[c])
                after[c] += (np.log(v) + step**2 / v).sum(axis=1)[:, None]
            before *= -0.5
            after *= -0.5
            before += self.prior_before[:, None, None]
            after += self.prior_after[:, None, None]
            return before, after

        return logits


def gaussian_updates(nb: Any, X: Array, y: NDArray[Any], rows: Array) -> GaussianUpdates | None:
    """Follow ``GaussianNB`` fitted on ``X`` and ``y``; None where a variance would be zero."""
    groups = [X[y == name] for name in nb.classes_]
    n = np.array([len(group) for group in groups], dtype=np.float64)
    variance = np.stack([group.var(axis=0) for group in groups])
    total = len(X)
    spread = (total * X.var(axis=0) + total / (total + 1) * (rows - X.mean(axis=0)) ** 2) / (
        total + 1
    )
    smoothing = nb.var_smoothing * spread.max(axis=1)
    if smoothing.min() <= 0 and variance.min() <= 0:
        return None
    given = nb.priors is not None
    return GaussianUpdates(
        rows=rows,
        n=n,
        mean=np.stack([group.mean(axis=0) for group in groups]),
        variance=variance,
        smoothing=smoothing,
        prior_before=np.log(nb.priors) if given else np.log(n),
        prior_after=np.log(nb.priors) if given else np.log(n + 1),
    )


def naive_bayes_updates(estimator: Any, X: Any, y: NDArray[Any], X_pool: Any) -> Updates | None:
    """Return the updates of scikit-learn's naive Bayes, or None where they do not apply.

    They apply to the four classes themselves and not to subclasses, with smoothing and class
    priors that are positive.

    Parameters
    ----------
    estimator : classifier
    X, y : the labeled rows
    X_pool : the rows of the pool
    """
    kind = type(estimator)
    if kind not in (MultinomialNB, BernoulliNB, CategoricalNB, GaussianNB):
        return None
    priors = estimator.priors if kind is GaussianNB else estimator.class_prior
    if priors is not None and np.min(priors) <= 0:
        return None
    if kind is not GaussianNB and np.min(estimator.alpha) < _SMALLEST_ALPHA:
        return None
    nb = clone(estimator).fit(X, y)
    if len(nb.classes_) < 2 or not np.array_equal(nb.classes_, estimator.classes_):
        return None
    if kind is CategoricalNB:
        return _categorical(nb, X_pool)
    rows = check_array(X_pool, accept_sparse="csr", dtype=np.float64)
    if kind is GaussianNB:
        return gaussian_updates(nb, check_array(X, dtype=np.float64), y, rows)
    if kind is MultinomialNB:
        return multinomial_updates(nb, rows)
    if nb.binarize is not None:
        rows = binarize(rows, threshold=nb.binarize)
    elif not _is_binary(rows) or not _is_binary(check_array(X, accept_sparse="csr")):
        return None
    return bernoulli_updates(nb, rows) if np.ndim(nb.alpha) == 0 else None


def _categorical(nb: Any, X_pool: Any) -> DiscreteUpdates | None:
    codes = check_array(X_pool, dtype="int")
    # A category beyond those known would change the smoothing (and cannot be predicted).
    if np.ndim(nb.alpha) > 0 or codes.min() < 0 or (codes >= nb.n_categories_).any():
        return None
    indicators = OneHotEncoder(categories=[np.arange(k) for k in nb.n_categories_])
    rows = indicators.fit_transform(codes)
    return categorical_updates(
        nb, rows.toarray() if rows.shape[1] <= _DENSE_CATEGORIES else rows.tocsr()
    )


def _is_binary(rows: Any) -> bool:
    values = rows.data if sparse.issparse(rows) else rows
    return bool(np.isin(values, (0, 1)).all())
