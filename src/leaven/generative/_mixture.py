"""A mixture of any densities on rows of which some carry a label: its E-step and its M-step.

:class:`MixtureEM` sees to row weights, rows with a label, several components per class, the map
from components to classes, the recalibration hook, hard assignments and chunks. What it needs
from a model is a :class:`Density`; the loop is :func:`leaven.solvers.run_em`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaven._labels import UNLABELED
from leaven.generative._chunks import chunks, take_rows
from leaven.solvers import normalize_log_rows

__all__ = [
    "Density",
    "Mixture",
    "MixtureEM",
    "MixtureStatistics",
    "Parts",
    "merge_statistics",
]


class Density(Protocol):
    """What :class:`MixtureEM` asks of a class-conditional model with K components.

    A density is an immutable object; :meth:`update` returns a new one. Before the first update
    it is a shell, which holds its settings (smoothing and the like) and no parameters: then
    only ``collect`` and ``update`` may be called.

    ``X`` is whatever :func:`take_rows` can cut: a dense array, a CSR matrix, or a tuple of
    those. The M-step is split into ``collect`` and ``update``, so that rows may come in chunks
    and rows that never change are collected once. The statistics between the two are an object
    of the density's own choice with ``+=``; ``statistics += other`` must leave ``other`` as it
    was.

    Methods
    -------
    log_likelihood(X)
        ``log p(x | k)`` as a fresh C-contiguous array of shape (n_rows, K), which the caller
        overwrites. Component weights are *not* included. A density whose M-step adds something
        to its parameters (a variance floor ``+ epsilon``) puts the matching term here, see
        ``leaven.generative._gaussian``.
    collect(X, responsibilities)
        Sufficient statistics of rows with weights ``responsibilities`` of shape (n_rows, K),
        which are non-negative and need not sum to one.
    update(statistics)
        The density that maximizes ``expected(statistics) + log_prior()``. May reuse the memory
        of ``statistics``. A component without any weight keeps its parameters.
    expected(statistics)
        ``sum_ik r_ik log p(x_i | k)`` of the rows behind ``statistics``, from the statistics
        alone: this is what makes rows with a fixed component free after the first pass.
    log_prior()
        The penalty, zero for maximum likelihood.
    """

    def log_likelihood(self, X: Any) -> NDArray[np.float64]: ...

    def collect(self, X: Any, responsibilities: NDArray[np.float64]) -> Any: ...

    def update(self, statistics: Any) -> Density: ...

    def expected(self, statistics: Any) -> float: ...

    def log_prior(self) -> float: ...


@dataclass(frozen=True)
class Mixture:
    """Parameters of a mixture whose components belong to classes.

    ``p(x, y) = sum_k weights[k] p(x | k) p(y | k)``, equation (2.2) of Nguyen (2019).

    Attributes
    ----------
    density : Density
    log_weights : ndarray of shape (n_components,)
    log_labels : ndarray of shape (n_classes, n_components)
        ``log p(y | k)``: 0 and -inf where every component has one class.
    """

    density: Density
    log_weights: NDArray[np.float64]
    log_labels: NDArray[np.float64]

    def log_joint(self, X: Any) -> NDArray[np.float64]:
        """``log p(x, k)`` of shape (n_rows, n_components)."""
        log_joint = self.density.log_likelihood(X)
        log_joint += self.log_weights
        return log_joint

    def class_posterior(self, X: Any) -> NDArray[np.float64]:
        """``p(y | x)`` of shape (n_rows, n_classes)."""
        posterior = self.log_joint(X)
        normalize_log_rows(posterior)
        # Mostly the identity, one component per class; then the product would only copy.
        labels = np.exp(self.log_labels)
        if np.array_equal(labels, np.eye(len(labels))):
            return posterior
        return posterior @ labels.T


@dataclass
class MixtureStatistics:
    """Statistics of a mixture: the density's own, and the weight of each component.

    ``label_counts`` of shape (n_classes, n_components) counts the rows with a label only.
    """

    density: Any
    counts: NDArray[np.float64]
    label_counts: NDArray[np.float64]

    def __iadd__(self, other: MixtureStatistics) -> MixtureStatistics:
        self.density += other.density
        self.counts += other.counts
        self.label_counts += other.label_counts
        return self


@dataclass
class Parts:
    """Statistics of several densities side by side."""

    parts: list[Any]

    def __iadd__(self, other: Parts) -> Parts:
        for j, part in enumerate(other.parts):
            self.parts[j] += part
        return self


class MixtureEM:
    """E-step and M-step of a mixture on rows of which some carry a label.

    The objective is ::

        sum_labeled   w_i log sum_k weights[k] p(x_i | k) p(y_i | k)
      + sum_unlabeled w_i log sum_k weights[k] p(x_i | k)
      + density.log_prior() + smoothing * (sum_k log weights[k] + sum_yk log p(y | k))

    (the last sum only if the labels of the components are learned). A labeled row whose class
    has one component is *clamped*: its statistics are collected once, here. With ``hard`` the
    sums over k become maxima, which is the classification likelihood (Celeux and Govaert, 1992).

    Use it as ``run_em(steps.expectation, steps.maximization, steps.start(...))``.

    Parameters
    ----------
    X : dense array, CSR matrix, or tuple of those
        Rows; see :func:`take_rows`.
    codes : int array of shape (n_rows,)
        Class of each row, -1 without a label.
    component_classes : int array of shape (n_components,)
        The class that each component belongs to (at the start, if labels are learned).
    n_classes : int
    row_weights : array of shape (n_rows,), default=None
        ``w_i``; None means 1. Rows of weight 0 play no part at all.
    class_prior : array of shape (n_classes,), default=None
        Fixed proportions of the classes; the share of each component within its class is still
        learned. None: the weights of the components are learned freely.
    smoothing : float, default=0.0
        Pseudo-count of each component in the M-step of the weights (and of the label map).
    learn_labels : bool, default=False
        Learn ``p(y | k)`` from the labeled rows (Miller and Uyar, 1997) in place of 0 and 1.
    hard : bool, default=False
        Give each row wholly to its most probable component.
    recalibrate : callable, default=None
        ``recalibrate(q) -> q`` for the class probabilities q of all unlabeled rows that take
        part, between E-step and M-step. The share of each component within its class is kept.
        The objective may then fall.
    chunk_rows : int, default=None
        Rows worked on at a time; None: all.
    start_weights : array of shape (n_rows,), default=None
        Weights in the first M-step; None means 1.
    """

    def __init__(
        self,
        X: Any,
        codes: NDArray[np.intp],
        component_classes: NDArray[np.intp],
        n_classes: int,
        *,
        row_weights: NDArray[np.float64] | None = None,
        class_prior: NDArray[np.float64] | None = None,
        smoothing: float = 0.0,
        learn_labels: bool = False,
        hard: bool = False,
        recalibrate: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None,
        chunk_rows: int | None = None,
        start_weights: NDArray[np.float64] | None = None,
    ) -> None:
        if learn_labels and (class_prior is not None or recalibrate is not None):
            raise ValueError(
                "A fixed class prior and a recalibration need components that belong to one "
                "class each; the map from components to classes cannot be learned with them."
            )
        self.X = X
        self.codes = codes
        self.component_classes = component_classes
        self.n_classes = n_classes
        self.n_components = len(component_classes)
        self.row_weights = np.ones(len(codes)) if row_weights is None else row_weights
        self.class_prior = class_prior
        self.smoothing = smoothing
        self.learn_labels = learn_labels
        self.hard = hard
        self.recalibrate = recalibrate
        self.chunk_rows = len(codes) if chunk_rows is None else chunk_rows
        self.start_weights = np.ones(len(codes)) if start_weights is None else start_weights
        takes_part = self.row_weights > 0
        labeled = codes != UNLABELED
        n_of_class = np.bincount(component_classes, minlength=n_classes)
        clamped = labeled & (n_of_class[codes] == 1) & (not learn_labels)
        self._free = np.flatnonzero(takes_part & ~clamped)
        self._free_labeled = np.flatnonzero(takes_part & labeled & ~clamped)
        self.unlabeled_rows = np.flatnonzero(takes_part & ~labeled)
        self._clamped_rows = np.flatnonzero(takes_part & clamped)
        self._clamped: MixtureStatistics | None = None
        self._latest: tuple[Mixture, NDArray[np.float64], float] | None = None

    def start(
        self,
        density: Density,
        responsibilities: NDArray[np.float64],
        *,
        log_labels: NDArray[np.float64] | None = None,
    ) -> Mixture:
        """First M-step: from given responsibilities of the labeled rows.

        Parameters
        ----------
        density : Density
            A shell.
        responsibilities : array of shape (n_labeled, n_components)
            Of the labeled rows in order, each counted with its ``start_weights``.
        log_labels : array of shape (n_classes, n_components), default=None
            Start of the label map; None: 0 for the class of the component, -inf elsewhere.
        """
        statistics = self.start_statistics(density, responsibilities)
        if statistics is None:
            raise ValueError("There is no row to start from.")
        return self.first_mixture(density, statistics, log_labels)

    def start_statistics(
        self, density: Density, responsibilities: NDArray[np.float64]
    ) -> MixtureStatistics | None:
        """Statistics of the labeled rows; None if there are none."""
        rows = np.flatnonzero(self.codes != UNLABELED)
        statistics = None
        for chunk, where in chunks(rows, self.chunk_rows):
            part = responsibilities[where] * self.start_weights[rows[where]][:, None]
            statistics = self._accumulate(statistics, density, chunk, part)
        return statistics

    def first_mixture(
        self,
        density: Density,
        statistics: MixtureStatistics,
        log_labels: NDArray[np.float64] | None = None,
    ) -> Mixture:
        """The mixture to start from, given the statistics of the labeled rows."""
        if log_labels is None:
            log_labels = np.full((self.n_classes, self.n_components), -np.inf)
            log_labels[self.component_classes, np.arange(self.n_components)] = 0.0
        return Mixture(
            density.update(statistics.density), self._log_weights(statistics.counts), log_labels
        )

    def expectation(self, mixture: Mixture) -> tuple[MixtureStatistics, float]:
        """Return the expected statistics and the objective at ``mixture``."""
        statistics, evidence = self.partial(mixture)
        return self.complete(mixture, statistics, evidence, self.clamped(mixture.density))

    def partial(
        self, mixture: Mixture, recalibrated: NDArray[np.float64] | None = None
    ) -> tuple[MixtureStatistics | None, float]:
        """Statistics and evidence of the rows whose responsibilities change.

        They add up over partitions of the rows; there are none where no row is free.
        ``recalibrated`` are class probabilities of the unlabeled rows to take instead of those
        of ``recalibrate``, which has seen the rows of other partitions too.
        """
        if recalibrated is None and self.recalibrate is None:
            return self._free_statistics(mixture, self._free)
        posterior, evidence = self.unlabeled_posterior(mixture)
        self._latest = None  # about to be overwritten
        statistics = None
        if len(posterior):
            if recalibrated is None:
                assert self.recalibrate is not None
                recalibrated = self.recalibrate(self.of_classes(posterior))
            statistics = self._with_classes(mixture, posterior, recalibrated)
        labeled, labeled_evidence = self._free_statistics(mixture, self._free_labeled)
        return merge_statistics(statistics, labeled), evidence + labeled_evidence

    def _free_statistics(
        self, mixture: Mixture, rows: NDArray[np.intp]
    ) -> tuple[MixtureStatistics | None, float]:
        statistics, total = None, 0.0
        weights = np.zeros(len(self.codes))
        weights[rows] = self.row_weights[rows]
        for chunk in self._cover(rows):
            part, evidence = self._posterior(mixture, chunk, weights[chunk])
            total += evidence
            statistics = self._accumulate(statistics, mixture.density, chunk, part)
        return statistics, total

    def complete(
        self,
        mixture: Mixture,
        statistics: MixtureStatistics | None,
        evidence: float,
        clamped: MixtureStatistics | None,
    ) -> tuple[MixtureStatistics, float]:
        """Add the clamped rows and the penalty to what :meth:`partial` gave for all rows."""
        objective = self._penalty(mixture) + evidence
        if clamped is not None:
            objective += mixture.density.expected(clamped.density)
            alive = clamped.counts > 0
            objective += float(clamped.counts[alive] @ mixture.log_weights[alive])
            if statistics is None:
                # The M-step may overwrite what it gets, but these are kept for every iteration.
                statistics = copy.deepcopy(clamped)
            else:
                statistics += clamped
        if statistics is None:
            raise ValueError("No row takes part: every row weight is zero.")
        return statistics, objective

    def maximization(self, statistics: MixtureStatistics, mixture: Mixture) -> Mixture:
        """Return the mixture that maximizes the expected objective of ``statistics``."""
        log_labels = mixture.log_labels
        if self.learn_labels:
            counts = statistics.label_counts + self.smoothing
            total = counts.sum(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                learned = np.log(counts) - np.log(total)
            # A component without a labeled row: any map is a maximum, the old one stays.
            log_labels = np.where(total > 0, learned, log_labels)
        log_weights = self._log_weights(statistics.counts)
        return Mixture(mixture.density.update(statistics.density), log_weights, log_labels)

    def _log_weights(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        smoothed = counts + self.smoothing
        with np.errstate(divide="ignore"):
            if self.class_prior is None:
                return np.asarray(np.log(smoothed) - np.log(smoothed.sum()))
            of_class = np.bincount(self.component_classes, smoothed, minlength=self.n_classes)
            # A class without any weight: its components share the prior evenly.
            smoothed = np.where(of_class[self.component_classes] > 0, smoothed, 1.0)
            of_class = np.bincount(self.component_classes, smoothed, minlength=self.n_classes)
            share = np.log(smoothed) - np.log(of_class[self.component_classes])
            return share + np.log(self.class_prior)[self.component_classes]

    def _penalty(self, mixture: Mixture) -> float:
        penalty = mixture.density.log_prior()
        if self.smoothing > 0:
            penalty += self.smoothing * float(mixture.log_weights.sum())
            if self.learn_labels:
                penalty += self.smoothing * float(mixture.log_labels.sum())
        return penalty

    def _cover(self, rows: NDArray[np.intp]) -> Iterator[slice | NDArray[np.intp]]:
        """Chunks that hold ``rows``, and perhaps rows between them, which must weigh 0.

        Scattered rows are a copy: of most of a CSR matrix, which is slow, and of a dense one,
        which is a fifth of the work. Where few rows are left out, a run of all rows is a view
        and costs little more.
        """
        if len(rows):
            whole = np.arange(rows[0], rows[-1] + 1)
            if len(rows) > (0.5 if sparse.issparse(self.X) else 0.9) * len(whole):
                rows = whole
        for chunk, _ in chunks(rows, self.chunk_rows):
            yield chunk

    def _posterior(
        self, mixture: Mixture, rows: slice | NDArray[np.intp], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float]:
        """Weighted responsibilities of ``rows``, and their part of the objective."""
        posterior = mixture.log_joint(take_rows(self.X, rows))
        codes = self.codes[rows]
        labeled = codes != UNLABELED
        if labeled.any():
            posterior[labeled] += mixture.log_labels[codes[labeled]]
        if self.hard:
            best = posterior.argmax(axis=1)
            evidence = np.take_along_axis(posterior, best[:, None], axis=1)[:, 0]
            _harden(posterior, best)
        else:
            evidence = normalize_log_rows(posterior)
        posterior *= weights[:, None]
        # A row of weight 0 says nothing even where its evidence is -inf.
        return posterior, float(weights @ np.where(weights > 0, evidence, 0.0))

    def unlabeled_posterior(self, mixture: Mixture) -> tuple[NDArray[np.float64], float]:
        """Component probabilities of the unlabeled rows that take part, and their evidence.

        All of them at once, as a recalibration needs them; those of the latest mixture are
        kept, for :meth:`partial`.
        """
        if self._latest is not None and self._latest[0] is mixture:
            return self._latest[1:]
        rows = self.unlabeled_rows
        posterior: NDArray[np.float64] = np.empty((len(rows), self.n_components))
        total = 0.0
        for chunk, where in chunks(rows, self.chunk_rows):
            part = mixture.log_joint(take_rows(self.X, chunk))
            best = part.max(axis=1)
            evidence = normalize_log_rows(part)
            total += float(self.row_weights[chunk] @ (best if self.hard else evidence))
            posterior[where] = part
        self._latest = mixture, posterior, total
        return posterior, total

    def of_classes(self, posterior: NDArray[np.float64]) -> NDArray[np.float64]:
        """Class probabilities from those of components that have one class each."""
        return np.asarray(
            posterior @ (self.component_classes[:, None] == np.arange(self.n_classes))
        )

    def _with_classes(
        self, mixture: Mixture, posterior: NDArray[np.float64], recalibrated: Any
    ) -> MixtureStatistics | None:
        """Statistics of the unlabeled rows with new class probabilities."""
        old = self.of_classes(posterior)
        recalibrated = np.asarray(recalibrated, dtype=np.float64)
        if recalibrated.shape != old.shape:
            raise ValueError(
                f"The recalibration returned an array of shape {recalibrated.shape} for class "
                f"probabilities of shape {old.shape}; it must keep the shape."
            )
        # Where a class has underflowed to 0, its components share by their weights.
        weights = np.exp(mixture.log_weights)
        weights /= np.maximum(self.of_classes(weights), np.finfo(float).tiny)[
            self.component_classes
        ]
        old = old[:, self.component_classes]
        gone = old <= 0
        posterior /= np.where(gone, 1.0, old)
        posterior = np.where(gone, weights, posterior) * recalibrated[:, self.component_classes]
        if self.hard:
            _harden(posterior, posterior.argmax(axis=1))
        posterior *= self.row_weights[self.unlabeled_rows][:, None]
        statistics = None
        for chunk, where in chunks(self.unlabeled_rows, self.chunk_rows):
            statistics = self._accumulate(statistics, mixture.density, chunk, posterior[where])
        return statistics

    def clamped(self, density: Density) -> MixtureStatistics | None:
        """Statistics of the rows that never change, collected once."""
        if self._clamped is None:
            self._clamped = self.collect_clamped(density)
        return self._clamped

    def collect_clamped(self, density: Density) -> MixtureStatistics | None:
        """Statistics of the rows that never change; None if there are none."""
        total = None
        if len(self._clamped_rows):
            component_of = np.zeros(self.n_classes, dtype=np.intp)
            component_of[self.component_classes] = np.arange(self.n_components)
        for chunk, _ in chunks(self._clamped_rows, self.chunk_rows):
            codes = self.codes[chunk]
            part = np.zeros((len(codes), self.n_components))
            part[np.arange(len(codes)), component_of[codes]] = self.row_weights[chunk]
            total = self._accumulate(total, density, chunk, part)
        return total

    def _accumulate(
        self,
        total: MixtureStatistics | None,
        density: Density,
        rows: slice | NDArray[np.intp],
        responsibilities: NDArray[np.float64],
    ) -> MixtureStatistics:
        label_counts = np.zeros((self.n_classes, self.n_components))
        if self.learn_labels:
            codes = self.codes[rows]
            for code in np.unique(codes[codes != UNLABELED]):
                label_counts[code] = responsibilities[codes == code].sum(axis=0)
        part = MixtureStatistics(
            density.collect(take_rows(self.X, rows), responsibilities),
            responsibilities.sum(axis=0),
            label_counts,
        )
        if total is None:
            return part
        total += part
        return total


def merge_statistics(
    one: MixtureStatistics | None, other: MixtureStatistics | None
) -> MixtureStatistics | None:
    """Add statistics, of which either may be missing; ``one`` is changed."""
    if one is None or other is None:
        return other if one is None else one
    one += other
    return one


def _harden(posterior: NDArray[np.float64], best: NDArray[np.intp]) -> None:
    posterior[:] = 0.0
    posterior[np.arange(len(best)), best] = 1.0
