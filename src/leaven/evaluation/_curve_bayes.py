"""Passive learning curves of naive Bayes from sums that grow with the labels.

A plain loop fits naive Bayes anew at each number of labels. But what it learns is sums over the
labeled rows: here the sums of each step between two sizes are taken once and added up. The
additions and logarithms are made in the order in which the estimators make them, so that even
ties between classes, which are frequent with few labels, fall out as in the plain loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from leaven.generative import ClassPrior, SemiSupervisedCategoricalNB, SemiSupervisedGaussianNB
from leaven.solvers import normalize_log_rows

# Largest number of joint log-likelihoods that are held at a time.
BLOCK_ELEMENTS = 1 << 22

# Below it scikit-learn and leaven replace or warn about alpha; the plain loop does that.
MIN_ALPHA = 1e-10

# Settings with which leaven's naive Bayes is the supervised one.
_PLAIN = {
    "unlabeled_weight": 0.0,
    "n_components": 1,
    "component_classes": "fixed",
    "hard": False,
}


@dataclass(frozen=True)
class BayesPlan:
    """A naive Bayes estimator whose curves can be had from growing sums.

    ``prior_smoothing`` is added to the count of each class. ``normalize`` is True where the
    estimator compares probabilities, and False where it compares their logarithms: rounding
    makes more ties among the former.
    """

    prior_smoothing: float
    normalize: bool

    def predict(
        self,
        codes: NDArray[np.intp],
        n_classes: int,
        order: NDArray[np.intp],
        sizes: tuple[int, ...],
        test: NDArray[np.intp],
        *,
        known_classes: bool = False,
    ) -> NDArray[np.intp] | None:
        """Class codes of the test rows, of shape (n_sizes, n_test).

        None where the sums do not decide, and the estimator itself must be asked. With
        ``known_classes`` a class without a label takes part, with no counts but the smoothing;
        otherwise it is never predicted, and a single class always is.
        """
        counts = grown_counts(codes[order], n_classes, sizes)
        seen = np.ones(counts.shape, dtype=bool) if known_classes else counts > 0
        several = seen.sum(axis=1) > 1
        statistics = self.collect(codes[order], n_classes, order, sizes)
        if not self.decides(statistics, counts, several):
            return None
        log_prior = self.log_prior(counts, seen)
        result = np.empty((len(sizes), len(test)), dtype=np.intp)
        # One class only: it is predicted, as the estimator does, without a look at the likelihood.
        result[~several] = seen[~several].argmax(axis=1)[:, None]
        todo = np.flatnonzero(several)
        step = max(1, BLOCK_ELEMENTS // (n_classes * len(test)))
        for low in range(0, len(todo), step):
            at = todo[low : low + step]
            joint = self.log_likelihood(statistics, at, test)
            joint += log_prior[at, None]
            if self.normalize:
                normalize_log_rows(joint.reshape(-1, n_classes))
            result[at] = joint.argmax(axis=2)
        return result

    def log_prior(
        self, counts: NDArray[np.float64], seen: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Logarithms of the class proportions at each size; -inf for a class not seen."""
        smoothed = np.where(seen, counts + self.prior_smoothing, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(smoothed) - np.log(smoothed.sum(axis=1))[:, None])

    def collect(
        self,
        codes: NDArray[np.intp],
        n_classes: int,
        order: NDArray[np.intp],
        sizes: tuple[int, ...],
    ) -> Any:
        """Sums over the labeled rows at each size; ``codes`` are in the given order."""
        raise AssertionError(f"{type(self).__name__} must define collect")

    def decides(
        self, statistics: Any, counts: NDArray[np.float64], several: NDArray[np.bool_]
    ) -> bool:
        """Whether the sums suffice where there are several classes."""
        return True

    def log_likelihood(
        self, statistics: Any, at: NDArray[np.intp], test: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """``log p(x | c)`` at some of the sizes, of shape (n_sizes, n_test, n_classes)."""
        raise AssertionError(f"{type(self).__name__} must define log_likelihood")


@dataclass(frozen=True)
class CategoricalPlan(BayesPlan):
    """Categorical features: counts of the category slots of each class.

    ``slots`` has the slot of each entry of X; ``offsets`` the first slot of each column and
    the number of slots at the end.
    """

    alpha: float
    slots: NDArray[np.int32]
    offsets: NDArray[np.intp]

    def collect(
        self,
        codes: NDArray[np.intp],
        n_classes: int,
        order: NDArray[np.intp],
        sizes: tuple[int, ...],
    ) -> NDArray[np.float64]:
        """How often each class has each slot, of shape (n_sizes, n_classes, n_slots)."""
        n_slots, used = int(self.offsets[-1]), sizes[-1]
        # The step at which each row becomes known: one count over all steps, added up afterwards.
        steps = np.searchsorted(sizes, np.arange(used), side="right")
        cells = (steps * n_classes + codes[:used])[:, None] * n_slots + self.slots[order[:used]]
        new = np.bincount(cells.ravel(), minlength=len(sizes) * n_classes * n_slots)
        return new.reshape(len(sizes), n_classes, n_slots).cumsum(axis=0).astype(np.float64)

    def log_likelihood(
        self, statistics: NDArray[np.float64], at: NDArray[np.intp], test: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """``log p(x | c)`` at some of the sizes, of shape (n_sizes, n_test, n_classes)."""
        smoothed = statistics[at] + self.alpha
        n_sizes, n_classes, n_slots = smoothed.shape
        totals = np.add.reduceat(smoothed, self.offsets[:-1], axis=2)
        log_prob = np.log(smoothed)
        log_prob -= np.repeat(np.log(totals), np.diff(self.offsets), axis=2)
        table = np.ascontiguousarray(log_prob.reshape(n_sizes * n_classes, n_slots).T)
        rows = self.slots[test]
        indptr = np.arange(len(rows) + 1, dtype=np.int32) * rows.shape[1]
        # A row of this product adds the rows of the table up in the order of the features.
        pick = sparse.csr_matrix(
            (np.ones(rows.size), rows.ravel(), indptr), shape=(len(rows), n_slots)
        )
        joint = (pick @ table).reshape(len(rows), n_sizes, n_classes)
        return np.ascontiguousarray(joint.transpose(1, 0, 2))


@dataclass(frozen=True)
class GaussianPlan(BayesPlan):
    """Numeric features: means and squared deviations of each class, merged step by step.

    Sums of squares would lose the digits of a small variance; the merge is that of Chan, Golub
    and LeVeque (1983).
    """

    var_smoothing: float
    X: NDArray[np.float64]

    def collect(
        self,
        codes: NDArray[np.intp],
        n_classes: int,
        order: NDArray[np.intp],
        sizes: tuple[int, ...],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and variances of each class, of shape (n_sizes, n_classes, n_features)."""
        X = self.X[order[: sizes[-1]]]
        # The last row of the tables is that of all classes, from which the smoothing comes.
        shape = (len(sizes), n_classes + 1, X.shape[1])
        counts, means, squares = np.zeros(n_classes + 1), np.zeros(shape), np.zeros(shape)
        variances = np.zeros(shape)
        low = 0
        for s, high in enumerate(sizes):
            if s:
                means[s], squares[s] = means[s - 1], squares[s - 1]
            rows, of_rows = X[low:high], codes[low:high]
            for c in [*np.unique(of_rows), n_classes]:
                part = rows if c == n_classes else rows[of_rows == c]
                mean = part.mean(axis=0)
                total = counts[c] + len(part)
                # The difference of the means and not their squares: nothing cancels far from the
                # origin.
                apart, share = mean - means[s, c], len(part) / total
                squares[s, c] += ((part - mean) ** 2).sum(axis=0)
                squares[s, c] += apart**2 * share * counts[c]
                means[s, c] += apart * share
                counts[c] = total
            variances[s] = squares[s] / np.maximum(counts, 1.0)[:, None]
            variances[s] += self.var_smoothing * variances[s, n_classes].max()
            low = high
        return means[:, :n_classes], variances[:, :n_classes]

    def decides(
        self, statistics: Any, counts: NDArray[np.float64], several: NDArray[np.bool_]
    ) -> bool:
        """Not if a variance is 0, nor, for leaven's classifier, if a class has one row."""
        one_row = self.normalize and bool((counts[several] == 1).any())
        return not one_row and bool((statistics[1][several][counts[several] > 0] > 0).all())

    def log_likelihood(
        self, statistics: Any, at: NDArray[np.intp], test: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """``log p(x | c)`` at some of the sizes, of shape (n_sizes, n_test, n_classes)."""
        means, variances = statistics
        rows = self.X[test]
        joint = np.zeros((len(at), len(rows), means.shape[1]))
        buffer = np.empty_like(rows)
        for s, c in np.ndindex(len(at), means.shape[1]):
            mean, variance = means[at[s], c], variances[at[s], c]
            np.subtract(rows, mean, out=buffer)
            np.square(buffer, out=buffer)
            joint[s, :, c] = np.log(2.0 * np.pi * variance).sum() + buffer @ (1.0 / variance)
        joint *= -0.5
        return joint


def grown_counts(
    codes: NDArray[np.intp], n_classes: int, sizes: tuple[int, ...]
) -> NDArray[np.float64]:
    """Labeled rows of each class at each size, of shape (n_sizes, n_classes)."""
    steps = np.searchsorted(sizes, np.arange(sizes[-1]), side="right")
    new = np.bincount(steps * n_classes + codes[: sizes[-1]], minlength=len(sizes) * n_classes)
    return new.reshape(len(sizes), n_classes).cumsum(axis=0).astype(np.float64)


def bayes_plan(
    estimator: Any,
    X: Any,
    *,
    semi_supervised: bool | None = None,
    known_classes: bool = False,
) -> BayesPlan | None:
    """The plan for an estimator and its data, or None where a plain loop must do.

    There is one for scikit-learn's ``CategoricalNB`` and ``GaussianNB``, and for leaven's with
    ``unlabeled_weight=0``, if the class proportions are learned, and if no test row can hold a
    category that the labeled rows do not know of: ``min_categories`` covers all codes, or the
    columns are pandas categories. A method that computes whole curves itself has a method
    ``curve_plan(X)``, which gives its plan.
    """
    own_plan = getattr(estimator, "curve_plan", None)
    if own_plan is not None:
        plan: BayesPlan = own_plan(X)
        return plan
    kind = type(estimator)
    if semi_supervised and kind in (CategoricalNB, GaussianNB):
        return None
    if known_classes and kind is not SemiSupervisedCategoricalNB:
        return None
    if kind is CategoricalNB or kind is SemiSupervisedCategoricalNB:
        return _categorical_plan(estimator, X, ours=kind is SemiSupervisedCategoricalNB)
    if kind is GaussianNB or kind is SemiSupervisedGaussianNB:
        return _gaussian_plan(estimator, X, ours=kind is SemiSupervisedGaussianNB)
    return None


def _prior_of(estimator: Any) -> ClassPrior:
    prior = estimator.prior
    return prior if isinstance(prior, ClassPrior) else ClassPrior(prior)


def _is_plain(estimator: Any) -> bool:
    if estimator.recalibration is not None or _prior_of(estimator).proportions is not None:
        return False
    if getattr(estimator, "classes", None) is not None:
        return False
    return all(getattr(estimator, name) == value for name, value in _PLAIN.items())


def _categorical_plan(estimator: Any, X: Any, *, ours: bool) -> BayesPlan | None:
    if not isinstance(estimator.alpha, (int, float)) or estimator.alpha < MIN_ALPHA:
        return None
    if ours and not _is_plain(estimator):
        return None
    if not ours and not (estimator.fit_prior and estimator.class_prior is None):
        return None
    categories = _categories(X, estimator.min_categories, declared=ours)
    if categories is None:
        return None
    codes, n_categories = categories
    offsets = np.concatenate([[0], np.cumsum(n_categories)])
    return CategoricalPlan(
        prior_smoothing=float(_prior_of(estimator).smoothing) if ours else 0.0,
        normalize=ours,
        alpha=float(estimator.alpha),
        slots=(codes + offsets[:-1]).astype(np.int32),
        offsets=offsets.astype(np.intp),
    )


def _categories(
    X: Any, min_categories: Any, *, declared: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Codes of all entries and the number of categories of each column, if these are fixed."""
    if isinstance(X, pd.DataFrame):
        if declared and all(isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes):
            columns = [X.iloc[:, j].cat for j in range(X.shape[1])]
            codes = np.column_stack([column.codes for column in columns]).astype(np.intp)
            n_categories = np.array([len(column.categories) for column in columns])
            fixed = min_categories is None and codes.size and codes.min() >= 0
            return (codes, n_categories) if fixed else None
        if not all(getattr(dtype, "kind", "O") in "iu" for dtype in X.dtypes):
            return None
        X = X.to_numpy()
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "iuf":
        return None
    if min_categories is None or not X.size or not np.isfinite(X).all():
        return None
    least = np.asarray(min_categories)
    if least.dtype.kind not in "iu" or least.shape not in ((), (X.shape[1],)):
        return None
    if X.min() < 0 or (X.max(axis=0) >= least).any() or (np.floor(X) != X).any():
        return None
    return X.astype(np.intp), np.broadcast_to(least, X.shape[1]).astype(np.intp)


def _gaussian_plan(estimator: Any, X: Any, *, ours: bool) -> BayesPlan | None:
    if ours and not _is_plain(estimator):
        return None
    if not ours and estimator.priors is not None:
        return None
    if isinstance(X, pd.DataFrame) and all(
        getattr(dtype, "kind", "O") in "iuf" for dtype in X.dtypes
    ):
        X = X.to_numpy(dtype=np.float64)
    # Single precision is kept by the estimators; constant data end in divisions by zero.
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype != np.float64:
        return None
    if not np.isfinite(X).all() or estimator.var_smoothing <= 0:
        return None
    return GaussianPlan(
        prior_smoothing=float(_prior_of(estimator).smoothing) if ours else 0.0,
        normalize=ours,
        var_smoothing=float(estimator.var_smoothing),
        X=X,
    )
