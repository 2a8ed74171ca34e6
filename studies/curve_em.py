"""Naive Bayes with unlabeled rows at many numbers of labels at once.

A learning curve fits the same model again and again on the same rows, of which more and more
carry a label. ``log p(x | c)`` of naive Bayes is linear in fixed features of a row (a one in the
slot of each category, or ``x`` and ``x²``), so that the E-steps of all these fits are one matrix
product, and so are their M-steps. A fit that has come to rest leaves the product.

The fits are those of :class:`leaven.generative.SemiSupervisedCategoricalNB` and
:class:`leaven.generative.SemiSupervisedGaussianNB`: same start, same steps, same rule to stop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from studies.curve_kernels import by_classes, by_log_odds, gaussian_model
from studies.curve_ranks import RankSigmoids
from studies.estimators import UNLABELED

LEFT_OUT = UNLABELED - 1
"""Mark of a row that plays no part in a fit."""

BLOCK_ELEMENTS = 1 << 18
"""Largest number of row weights (rows times fits) that are held at a time: 2 MB, the second cache
of a core. Four times as many take half as long again in cross-validation."""

LEAST_FITS = 64
"""Fits that are held at a time however many rows there are: narrower products are slow."""

COEFFICIENTS = 1 << 19
"""Largest number of coefficients (columns times classes times fits) that are held at a time, where
a row has thousands of features: beyond, M-steps of arcene take twice as long."""

FEWEST_FITS = 16
"""Fits that are held at a time however many coefficients they have."""

CHUNK_ELEMENTS = 1 << 17
"""Class probabilities of one pass over some rows: they stay in the cache of a core."""

RANKED_ELEMENTS = 1 << 15
"""Row weights of one pass over some fits, where ranks need all rows: so many stay in the cache, and
a table of 14,000 rows takes half of the time."""

MIN_VARIANCE = 1e-150
"""Least variance of a feature, as in leaven's Gaussian naive Bayes: its square is not 0."""

SINGLE_ROWS = 1_000
"""Rows from which an E-step may be in single precision, which takes half of the time."""

SINGLE_SIZE = 65536.0
"""Largest sum of the terms of a log-probability, by their usual sizes, that is computed in single
precision: its error is then below 1e-2, of no account beside the thousands of rows that are summed
up. Narrow variances, as those of two labeled rows, are above it. Sums over rows are in double
precision."""

DEVIATIONS = 3.0
"""How far from the mean of a class, in its standard deviations, the features of a row are that may
belong to it although there are classes that are not narrow."""

OFTEN = 0.05
"""Share of the rows that have one value of a feature, from which on it is the origin."""

MOST_CANCELED = 1e7
"""How many times a log-likelihood its parts may be: 9 digits are left, and the rule to stop looks
at 6."""

LANES = 8
"""Columns that a product of matrices takes at a time; those that are left over are slow."""

TIE = 1e-9
"""Classes whose log-probabilities differ by less are equally probable."""


@dataclass(frozen=True)
class Linear:
    """Models of T fits: ``log p(x, c) = F @ coef + const``.

    ``coef`` has shape (n_columns, n_classes, T) and ``const`` shape (n_classes, T); ``penalty``
    of shape (T,) is the log prior of the parameters. ``noise`` of shape (n_classes, T) is the
    part of ``const`` that belongs to EM alone and is taken off for prediction.
    """

    coef: NDArray[np.float64]
    const: NDArray[np.float64]
    penalty: NDArray[np.float64]
    noise: NDArray[np.float64]

    def take(self, which: Any) -> Linear:
        """Some of the fits."""
        return Linear(*(values[..., which] for values in vars(self).values()))

    def sharp(self) -> Linear:
        """The models to predict with."""
        return replace(self, const=self.const - self.noise, noise=np.zeros_like(self.noise))


@dataclass(frozen=True)
class CategoricalFeatures:
    """A one in the slot of each category.

    ``F`` has one row for each pattern, and ``pattern`` the pattern of each row of the table:
    rows that are alike are one pattern.
    """

    F: NDArray[np.float64]
    pattern: NDArray[np.intp]
    offsets: NDArray[np.intp]
    alpha: float = 1.0

    @cached_property
    def slots(self) -> NDArray[np.intp]:
        """Columns of ``F`` without the first category of each feature, which the others imply."""
        return np.delete(np.arange(self.offsets[-1]), self.offsets[:-1])

    @cached_property
    def feature_of(self) -> NDArray[np.intp]:
        """Feature of each slot."""
        return np.searchsorted(self.offsets, self.slots, side="right") - 1

    @cached_property
    def design(self) -> NDArray[np.float64]:
        """The columns that products need, half of them for binary features, and one of ones."""
        return np.hstack([self.F[:, self.slots], np.ones((len(self.F), 1))])

    def pack(self, coef: NDArray[np.float64], const: NDArray[np.float64]) -> NDArray[np.float64]:
        """Coefficients of ``design``, of shape (n_design_columns, n_classes, T)."""
        first = coef[self.offsets[:-1]]
        packed = np.empty((len(self.slots) + 1, *const.shape))
        np.subtract(coef[self.slots], first[self.feature_of], out=packed[:-1])
        np.add(const, first.sum(axis=0), out=packed[-1])
        return packed

    def unpack(self, sums: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sums of all columns and counts, from sums of ``design``."""
        _, n_classes, T = sums.shape
        full = np.empty((self.offsets[-1], n_classes, T))
        full[self.slots] = sums[:-1]
        members = np.arange(len(self.offsets) - 1)[:, None] == self.feature_of
        others = members.astype(np.float64) @ sums[:-1].reshape(len(self.slots), -1)
        full[self.offsets[:-1]] = sums[-1] - others.reshape(-1, n_classes, T)
        return full, sums[-1]

    @classmethod
    def make(cls, X: pd.DataFrame, alpha: float = 1.0) -> CategoricalFeatures:
        """Features of a table whose columns are all pandas categories."""
        codes = np.column_stack([X.iloc[:, j].cat.codes for j in range(X.shape[1])]).astype(np.intp)
        if codes.min() < 0:
            raise ValueError("The table has missing values; make them a category.")
        sizes = np.array([len(X.iloc[:, j].cat.categories) for j in range(X.shape[1])])
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        distinct, pattern = np.unique(codes, axis=0, return_inverse=True)
        F = np.zeros((len(distinct), offsets[-1]))
        F[np.arange(len(distinct))[:, None], distinct + offsets[:-1]] = 1.0
        return cls(F, pattern.reshape(-1), offsets.astype(np.intp), alpha)

    def start(self, rows: NDArray[np.intp]) -> CategoricalFeatures:
        """Features of some rows, without the patterns that they lack."""
        used, pattern = np.unique(self.pattern[rows], return_inverse=True)
        return replace(self, F=self.F[used], pattern=pattern.reshape(-1))

    def omitted(self, labels: NDArray[np.intp], n_classes: int) -> None:
        """No category is ever left out: the pseudo-counts see to those without a row."""

    def near_sizes(self, packed: NDArray[np.float64]) -> NDArray[np.float64]:
        """No row is further away than another: the usual sizes tell all there is."""
        return np.full(packed.shape[1:], np.inf)

    def model(self, sums: NDArray[np.float64], counts: NDArray[np.float64], omitted: Any) -> Linear:
        """M-step ``θ_jc(s) = (N_jc(s) + alpha) / (N_c + alpha S_j)``.

        ``sums`` of the features have shape (n_columns, n_classes, T).
        """
        coef = np.log(sums + self.alpha)
        const = np.zeros_like(counts)
        penalty = coef.sum(axis=(0, 1))
        for size, times in enumerate(np.bincount(np.diff(self.offsets))):
            if times:
                log_total = np.log(counts + self.alpha * size)
                const -= times * log_total
                penalty -= times * size * log_total.sum(axis=0)
        return Linear(coef, const, self.alpha * penalty, np.zeros_like(const))


@dataclass(frozen=True)
class GaussianFeatures:
    """``x`` and ``x²`` of features with variance 1 over the rows.

    Their origin is the mean or, where it is frequent, the most frequent value: classes with a
    narrow variance are there, and ``(x - mean)² / var`` from a product loses digits elsewhere.
    ``center`` is the mean over the rows. ``log_scale`` takes densities back to the scale of the
    data: the rule to stop looks at the objective in that scale. ``lost`` is taken off the weights
    that a sum of squares is divided by: 0 is the maximum of the likelihood, 1 the unbiased
    variance.
    """

    F: NDArray[np.float64]
    pattern: NDArray[np.intp]
    epsilon: NDArray[np.float64]
    log_scale: NDArray[np.float64]
    center: NDArray[np.float64]
    omit: bool = True
    lost: float = 0.0

    @cached_property
    def design(self) -> NDArray[np.float64]:
        """``F`` and a column of ones."""
        return np.hstack([self.F, np.ones((len(self.F), 1))])

    def pack(self, coef: NDArray[np.float64], const: NDArray[np.float64]) -> NDArray[np.float64]:
        """Coefficients of ``design``, of shape (n_design_columns, n_classes, T)."""
        return np.concatenate([coef, const[None]])

    def unpack(self, sums: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sums of all columns and counts, from sums of ``design``."""
        return sums[:-1], sums[-1]

    @classmethod
    def make(
        cls, X: NDArray[np.float64], var_smoothing: float = 1e-9, *, omit: bool = True
    ) -> GaussianFeatures:
        """Features of the rows of ``X``; ``omit`` leaves out those constant in some class."""
        variance = X.var(axis=0)
        scale = np.sqrt(np.where(variance > 0, variance, 1.0))
        origin = origins(X)
        Z, center = (X - origin) / scale, (X.mean(axis=0) - origin) / scale
        epsilon = var_smoothing * variance.max() / scale**2
        return cls(np.hstack([Z, Z**2]), np.arange(len(X)), epsilon, np.log(scale), center, omit)

    def start(self, rows: NDArray[np.intp]) -> GaussianFeatures:
        """Features of some rows."""
        return replace(self, F=self.F[self.pattern[rows]], pattern=np.arange(len(rows)))

    def omitted(self, labels: NDArray[np.intp], n_classes: int) -> NDArray[np.bool_]:
        """Which features have one value in all rows, or in the labeled rows of some class."""
        d = len(self.epsilon)
        Z = self.F[:, :d]
        result = np.repeat((Z.min(axis=0) == Z.max(axis=0))[:, None], labels.shape[1], axis=1)
        if not self.omit:
            return result
        for t in range(labels.shape[1]):
            for c in range(n_classes):
                members = Z[labels[:, t] == c]
                if len(members) == 1:
                    raise ValueError(
                        "A class has one labeled row, but a variance needs at least two."
                    )
                if len(members):
                    result[:, t] |= members.min(axis=0) == members.max(axis=0)
        return result

    def near_sizes(self, packed: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of the terms of the log-probability of rows near a class, of shape (n_classes, T)."""
        d = len(self.epsilon)
        linear, precision = packed[:d], -2.0 * packed[d : 2 * d]
        # m² / var of features that are not left out.
        ratio = np.divide(linear**2, precision, out=np.zeros_like(linear), where=precision > 0)
        return np.asarray(0.5 * ((np.sqrt(ratio) + DEVIATIONS) ** 2).sum(axis=0))

    def model(self, sums: NDArray[np.float64], counts: NDArray[np.float64], omitted: Any) -> Linear:
        """M-step: mean and variance of each class; a class without weight has those of all rows."""
        coef, const, noise = gaussian_model(
            sums, counts, omitted, self.epsilon, self.center, MIN_VARIANCE, self.lost
        )
        const -= self.log_scale @ ~omitted
        return Linear(coef, const + noise, np.zeros(counts.shape[1]), noise)


def origins(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """The most frequent value of each feature, or its mean where no value is frequent."""
    result = np.array(X.mean(axis=0))
    for j in range(X.shape[1]):
        values, counts = np.unique(X[:, j], return_counts=True)
        if counts.max() >= OFTEN * len(X):
            result[j] = values[counts.argmax()]
    return result


Features: TypeAlias = CategoricalFeatures | GaussianFeatures


@dataclass(frozen=True)
class Fits:
    """What is to be fitted on the same rows, T times.

    Parameters
    ----------
    labels : int array of shape (n_rows, U)
        Class of each row, UNLABELED, or LEFT_OUT.
    labeled_weight, unlabeled_weight : array of shape (T,)
        Weight of a row with and without a label.
    column : int array of shape (T,), default=None
        Which labels a fit has; None: the fits have one column each. A search fits the same labels
        with one parameter after the other.
    """

    labels: NDArray[np.intp]
    labeled_weight: NDArray[np.float64]
    unlabeled_weight: NDArray[np.float64]
    column: NDArray[np.intp] | None = None

    @property
    def columns(self) -> NDArray[np.intp]:
        """Column of ``labels`` of each fit."""
        if self.column is None:
            return np.arange(len(self.labeled_weight))
        return self.column

    def take(self, which: Any) -> Fits:
        """Some of the fits."""
        used, column = np.unique(self.columns[which], return_inverse=True)
        return Fits(
            self.labels[:, used],
            self.labeled_weight[which],
            self.unlabeled_weight[which],
            column.reshape(-1),
        )


@dataclass(frozen=True)
class Settings:
    """How EM runs: as the parameters of the same names of leaven's classifiers."""

    prior_smoothing: float = 0.0
    max_iter: int = 200
    tol: float = 1e-6


def fit_all(
    features: Features,
    fits: Fits,
    n_classes: int,
    settings: Settings,
    recalibrate: RankSigmoids | None = None,
) -> Linear:
    """Run EM for all fits, from naive Bayes of the labeled rows on.

    Parameters
    ----------
    features : Features
        Of the rows of ``fits.labels``.
    fits : Fits
    n_classes : int
    settings : Settings
    recalibrate : RankSigmoids, default=None
        A map of the class probabilities of unlabeled rows between E-step and M-step, for two
        classes.

    Returns
    -------
    Linear
        The models to predict with.
    """
    T = len(fits.labeled_weight)
    # With more classes than two, blocks of half the size are a tenth faster.
    elements = BLOCK_ELEMENTS if n_classes == 2 else BLOCK_ELEMENTS // 2
    step = max(LEAST_FITS, elements // len(features.F))
    step = min(step, max(FEWEST_FITS, COEFFICIENTS // (n_classes * features.design.shape[1])))
    parts = []
    for low in range(0, T, step):
        block = slice(low, min(low + step, T))
        maps = None if recalibrate is None else recalibrate.take(block)
        parts.append(_Block(features, fits.take(block), n_classes, settings, maps).run())
    return Linear(
        np.concatenate([part.coef for part in parts], axis=2),
        np.concatenate([part.const for part in parts], axis=1),
        np.concatenate([part.penalty for part in parts]),
        np.concatenate([part.noise for part in parts], axis=1),
    ).sharp()


def log_joint(features: Features, model: Linear) -> NDArray[np.float64]:
    """``log p(x, c)`` of each row under each fit, of shape (n_rows, n_classes, T)."""
    n_columns, n_classes, T = model.coef.shape
    joint = (features.F @ model.coef.reshape(n_columns, -1)).reshape(-1, n_classes, T)
    joint += model.const
    return joint[features.pattern]


def predicted(features: Features, model: Linear) -> NDArray[np.intp]:
    """Most probable class of each row under each fit, of shape (n_rows, T).

    With few labels, classes are often equally probable: the first of them is taken, whatever
    rounding makes of the products.
    """
    joint = log_joint(features, model)
    best = joint.max(axis=1, keepdims=True)
    return np.asarray((joint >= best - TIE).argmax(axis=1))


class _Counter:
    """Counts for each pattern the rows that a mask has in each of its columns."""

    def __init__(self, pattern: NDArray[np.intp], n_patterns: int) -> None:
        self.row_of: NDArray[np.intp] | None = None
        if n_patterns == len(pattern):  # each row is its own pattern
            self.row_of = np.empty(n_patterns, dtype=np.intp)
            self.row_of[pattern] = np.arange(n_patterns)
            return
        ones = np.ones(len(pattern))
        self.of_pattern = sparse.csr_array(
            (ones, (pattern, np.arange(len(pattern)))), shape=(n_patterns, len(pattern))
        )

    def __call__(self, mask: NDArray[np.bool_]) -> NDArray[np.float64]:
        if self.row_of is not None:
            return mask[self.row_of].astype(np.float64)
        return np.asarray(self.of_pattern @ mask.astype(np.float64))


class _Block:
    """EM of some fits side by side; those at rest leave."""

    def __init__(
        self,
        features: Features,
        fits: Fits,
        n_classes: int,
        settings: Settings,
        recalibrate: RankSigmoids | None,
    ) -> None:
        self.features, self.C, self.settings = features, n_classes, settings
        F, labels, self.column = features.F, fits.labels, fits.columns
        # How often each pattern has each class, and is without one.
        count = _Counter(features.pattern, len(F))
        sums = np.empty((F.shape[1], n_classes, labels.shape[1]))
        counts = np.empty((n_classes, labels.shape[1]))
        for c in range(n_classes):
            fixed = count(labels == c)
            sums[:, c], counts[c] = F.T @ fixed, fixed.sum(axis=0)
        self.omitted = features.omitted(labels, n_classes)
        self.start = self._model(sums, counts).take(self.column)
        self.omitted = None if self.omitted is None else self.omitted[:, self.column]
        self.fixed_sums = sums[..., self.column] * fits.labeled_weight
        self.fixed_counts = counts[:, self.column] * fits.labeled_weight
        self.weight, self.recalibrate = fits.unlabeled_weight, recalibrate
        # The more labels there are, the fewer rows have a part in the E-steps.
        open_ = count(labels == UNLABELED)
        rows = open_.any(axis=1)
        open_ = open_[rows].T
        self.open = open_.astype(np.float32)[self.column]
        self.design = features.design if rows.all() else features.design[rows]
        self.distinct = bool(self.open.max(initial=0.0) <= 1)
        self.open_sums = (open_ @ self.design)[self.column].T if n_classes == 2 else None
        # Ranks have ties to nine decimals.
        self.may_be_single = recalibrate is None and len(self.design) >= SINGLE_ROWS

    @cached_property
    def single(self) -> Design:
        """The design in single precision."""
        return Design.make(self.design.astype(np.float32))

    @cached_property
    def double(self) -> Design:
        """The design in double precision."""
        return Design.make(self.design)

    @cached_property
    def usual(self) -> NDArray[np.float64]:
        """The usual size of each column of the design."""
        return np.asarray(np.sqrt((self.design**2).sum(axis=0) / max(1, len(self.design))))

    def _designs(self, packed: NDArray[np.float64]) -> Iterator[tuple[NDArray[np.intp], Design]]:
        """The fits whose models need the features in one precision, and the features in it."""
        every = np.arange(packed.shape[2])
        if not self.may_be_single:
            yield every, self.double
            return
        is_small = np.einsum("k,kct->ct", self.usual, np.abs(packed)) <= SINGLE_SIZE
        is_single = is_small.all(axis=0)
        if self.C > 2 and not is_single.all():
            # Rows that are far from a narrow class belong to another one, whatever their terms
            # there: with two classes the same product has both.
            is_near = self.features.near_sizes(packed) <= SINGLE_SIZE
            is_single |= is_small.any(axis=0) & is_near.all(axis=0)
        if is_single.any():
            yield every[is_single], self.single
        if not is_single.all():
            yield every[~is_single], self.double

    def _model(self, sums: NDArray[np.float64], counts: NDArray[np.float64]) -> Linear:
        model = self.features.model(sums, counts, self.omitted)
        smoothed = counts + self.settings.prior_smoothing
        # -1e6 in place of -inf, which the products would turn into NaN.
        log_weights = np.log(np.maximum(smoothed, 1e-300)) - np.log(smoothed.sum(axis=0))
        log_weights = np.where(smoothed > 0, log_weights, -1e6)
        penalty = model.penalty + self.settings.prior_smoothing * log_weights.sum(axis=0)
        return replace(model, const=model.const + log_weights, penalty=penalty)

    def run(self) -> Linear:
        """Models of all fits when the last one has come to rest."""
        model = self.start
        T = model.const.shape[1]
        done = Linear(*(np.empty_like(x) for x in vars(model).values()))
        active = np.arange(T)
        # Without weight on unlabeled rows the start is the answer.
        moving: NDArray[np.bool_] = self.open.any(axis=1) & (self.weight > 0)
        self._put(done, active, model)
        active, model = active[moving], model.take(moving)
        self._keep(moving)
        before: NDArray[Any] = np.full(len(active), np.nan)
        for _ in range(self.settings.max_iter + 1):
            if not len(active):
                break
            sums, counts, objective = self._expectation(model)
            at_rest = np.abs(objective - before) <= self.settings.tol * np.abs(objective)
            at_rest |= ~np.isfinite(objective)
            if at_rest.any():
                self._put(done, active[at_rest], model.take(at_rest))
                stay = ~at_rest
                active, objective, model = active[stay], objective[stay], model.take(stay)
                sums, counts = sums[..., stay], counts[..., stay]
                self._keep(stay)
            before = objective
            last, model = model, self._model(sums, counts)
        # EM that ran out of iterations has made max_iter M-steps, and one more for nothing.
        if len(active):
            self._put(done, active, last)
        return done

    @staticmethod
    def _put(done: Linear, which: NDArray[np.intp], model: Linear) -> None:
        for name, values in vars(model).items():
            getattr(done, name)[..., which] = values

    def _keep(self, stay: NDArray[np.bool_]) -> None:
        if stay.all():
            return
        self.open, self.weight = self.open[stay], self.weight[stay]
        self.fixed_sums, self.fixed_counts = self.fixed_sums[..., stay], self.fixed_counts[:, stay]
        self.omitted = None if self.omitted is None else self.omitted[:, stay]
        self.open_sums = None if self.open_sums is None else self.open_sums[:, stay]
        if self.recalibrate is not None:
            self.recalibrate = self.recalibrate.take(stay)

    def _expectation(
        self, model: Linear
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Expected sums and counts for the M-step, and the objective at ``model``."""
        packed = self.features.pack(model.coef, model.const)
        open_sums, logs = np.empty(packed.shape), np.empty(packed.shape[2])
        for which, design in self._designs(packed):
            open_sums[..., which], logs[which] = self._class_sums(packed, which, design)
        self._keep_alike(open_sums)
        open_sums *= self.weight
        sums, counts = self.features.unpack(open_sums)
        objective = np.einsum("kct,kct->t", self.fixed_sums, model.coef) + model.penalty
        objective += (self.fixed_counts * model.const).sum(axis=0) + self.weight * logs
        return sums + self.fixed_sums, counts + self.fixed_counts, objective

    def _keep_alike(self, sums: NDArray[np.float64]) -> None:
        """Give classes without a label equal shares of their expected sums.

        They start with the same parameters, so EM never tells them apart, but rounding would: in
        single precision within a few steps, and in another way on each processor.
        """
        is_empty = self.fixed_counts == 0.0
        n_empty = is_empty.sum(axis=0)
        fits = np.flatnonzero(n_empty > 1)
        if len(fits):
            part, mask = sums[..., fits], is_empty[:, fits]
            share = np.einsum("kct,ct->kt", part, mask) / n_empty[fits]
            sums[..., fits] = np.where(mask, share[:, None], part)

    def _class_sums(
        self, packed: NDArray[np.float64], which: NDArray[np.intp], design: Design
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Expected sums of the design for some fits, and the log-likelihood of the open rows."""
        rows = _OpenRows(
            design,
            self.open[which],
            self.distinct,
            None if self.recalibrate is None else self.recalibrate.take(which),
        )
        packed = packed[..., which]
        if self.open_sums is None:
            return any_classes(rows, packed)
        sums, logs, is_lost = two_classes(rows, packed, self.open_sums[:, which])
        if is_lost.any():
            again = np.flatnonzero(is_lost)
            sums[..., again], logs[again] = any_classes(rows.take(again), packed[..., again])
        return sums, logs


@dataclass(frozen=True)
class Design:
    """Features of rows, laid out for the two products of an E-step.

    Parameters
    ----------
    across : array of shape (n_columns, n_rows)
        On the right of the product that gives log-probabilities.
    padded : array of shape (n_rows, n_columns or more)
        On the right of the product that sums up; columns of zeros fill up vector registers.
    """

    across: NDArray[Any]
    padded: NDArray[Any]

    @classmethod
    def make(cls, design: NDArray[Any]) -> Design:
        """Lay out features of shape (n_rows, n_columns)."""
        n, K = design.shape
        # One column more than registers hold is cheaper than registers of zeros.
        wide = K if K < 2 * LANES or K % LANES <= 1 else -(-K // LANES) * LANES
        padded = np.zeros((n, wide), dtype=design.dtype)
        padded[:, :K] = design
        return cls(np.ascontiguousarray(design.T), padded)


@dataclass(frozen=True)
class _OpenRows:
    """What E-steps of T fits need of the rows without a label.

    Parameters
    ----------
    design : Design
        In the precision of the products.
    counts : array of shape (T, n_rows)
        How often each row counts.
    distinct : bool
        Whether all counts are 0 or 1.
    recalibrate : RankSigmoids or None
    """

    design: Design
    counts: NDArray[np.float32]
    distinct: bool
    recalibrate: RankSigmoids | None

    def take(self, which: NDArray[np.intp]) -> _OpenRows:
        """Those of some fits."""
        maps = None if self.recalibrate is None else self.recalibrate.take(which)
        return replace(self, counts=self.counts[which], recalibrate=maps)

    def chunks(self, width: int) -> Iterator[tuple[int, Design]]:
        """Features of some rows after others, and before them the place of the first row."""
        across, padded = self.design.across, self.design.padded
        K, n = across.shape
        # Ranks need all rows at once; few rows are not worth the sum over all columns.
        step = n if self.recalibrate is not None else max(4 * K, CHUNK_ELEMENTS // width)
        for low in range(0, n, step):
            some = slice(low, low + step)
            yield low, Design(across[:, some], padded[some])


def any_classes(
    rows: _OpenRows, packed: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Expected sums of the design, and the log-likelihood of the open rows."""
    K, C, T = packed.shape
    # Classes first and rows last: both products are those of whole matrices, and so are sums
    # and maxima over the classes.
    design = rows.design
    coef = packed.transpose(1, 2, 0).reshape(C * T, K).astype(design.across.dtype, copy=False)
    sums, logs = np.zeros((C * T, design.padded.shape[1])), np.zeros(T)
    for first, some in rows.chunks(C * T):
        q = np.matmul(coef, some.across).reshape(C, T, -1)
        odds = None if rows.recalibrate is None else q[1] - q[0]
        logs += by_classes(q, rows.counts, first, rows.distinct)
        if rows.recalibrate is not None and odds is not None:
            np.multiply(rows.counts, rows.recalibrate.transform(odds, rows.counts), out=q[1])
            np.subtract(rows.counts, q[1], out=q[0])
        sums += np.matmul(q.reshape(C * T, -1), some.padded)
    return sums[:, :K].reshape(C, T, K).transpose(2, 0, 1), logs


def two_classes(
    rows: _OpenRows, packed: NDArray[np.float64], open_sums: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """The same for two classes, with one product each way in place of two.

    With h half of the log-odds, the classes have the probabilities ``(1 ± tanh h) / 2``, and
    ``log Σ_c p(x, c)`` is the mean of both logarithms and ``|h| + log(1 + exp(-2 |h|))``.
    The mean is linear in the features, so that its sum is a product of their sums. Lost are fits
    in which that mean and h cancel, as under a variance that is next to 0.
    """
    half = 0.5 * (packed[:, 1] - packed[:, 0])
    found = _by_rows(rows, half) if rows.recalibrate is None else _by_fits(rows, half)
    difference, spread, logs = found
    logs += np.einsum("kt,kct->t", open_sums, packed) * 0.5 + spread
    difference *= 0.5
    of_both = 0.5 * open_sums
    sums = np.stack([of_both - difference, of_both + difference], axis=1)
    return sums, logs, spread > MOST_CANCELED * np.abs(logs)


def _by_rows(
    rows: _OpenRows, half: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Sums over the open rows of ``f tanh h``, ``|h|`` and ``log(1 + exp(-2 |h|))``."""
    K, T = half.shape
    design = rows.design
    difference, spread, logs = np.zeros((T, design.padded.shape[1])), np.zeros(T), np.zeros(T)
    half = half.T.astype(design.across.dtype, copy=False)
    for first, some in rows.chunks(T):
        h = half @ some.across
        more_spread, more_logs = by_log_odds(h, rows.counts, first, rows.distinct)
        spread += more_spread
        logs += more_logs
        difference += h @ some.padded
    return difference[:, :K].T, spread, logs


def _by_fits(
    rows: _OpenRows, half: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The same with recalibrated probabilities in the first sum.

    Ranks need all rows at once, so that some fits follow others here, not some rows.
    """
    assert rows.recalibrate is not None
    K, T = half.shape
    spread, logs = np.empty(T), np.empty(T)
    signed = half.T @ rows.design.across
    step = max(1, RANKED_ELEMENTS // signed.shape[1])
    for low in range(0, T, step):
        which = slice(low, low + step)
        h, counts = signed[which], rows.counts[which]
        q = rows.recalibrate.take(which).transform(2.0 * h, counts)
        spread[which], logs[which] = by_log_odds(h, counts, 0, rows.distinct)
        q *= 2.0
        q -= 1.0
        np.multiply(q, counts, out=h)
    return (signed @ rows.design.padded)[:, :K].T, spread, logs
