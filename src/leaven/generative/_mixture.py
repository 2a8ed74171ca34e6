"""A mixture of any densities on rows of which some carry a label: its E-step and its M-step.

:class:`MixtureEM` sees to row weights, rows with a label, several components a class, the map
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

__all__ = [
    "Density",
    "Mixture",
    "MixtureEM",
    "MixtureStatistics",
    "csr_around",
    "normalize_log_rows",
    "take_rows",
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
        takes_part = self.row_weights > 0
        labeled = codes != UNLABELED
        n_of_class = np.bincount(component_classes, minlength=n_classes)
        clamped = labeled & (n_of_class[codes] == 1) & (not learn_labels)
        self._free = np.flatnonzero(takes_part & ~clamped)
        self._free_labeled = np.flatnonzero(takes_part & labeled & ~clamped)
        self._unlabeled = np.flatnonzero(takes_part & ~labeled)
        self._clamped_rows = np.flatnonzero(takes_part & clamped)
        self._clamped: MixtureStatistics | None = None

    def start(
        self,
        density: Density,
        responsibilities: NDArray[np.float64],
        *,
        rows: NDArray[np.intp] | None = None,
        log_labels: NDArray[np.float64] | None = None,
    ) -> Mixture:
        """First M-step: from given responsibilities of the labeled rows, each of weight 1.

        Parameters
        ----------
        density : Density
            A shell.
        responsibilities : array of shape (n_rows_used, n_components)
        rows : int array of shape (n_rows_used,), default=None
            Which rows they are of; None: the labeled ones, in order.
        log_labels : array of shape (n_classes, n_components), default=None
            Start of the label map; None: 0 for the class of the component, -inf elsewhere.
        """
        if rows is None:
            rows = np.flatnonzero(self.codes != UNLABELED)
        if log_labels is None:
            log_labels = np.full((self.n_classes, self.n_components), -np.inf)
            log_labels[self.component_classes, np.arange(self.n_components)] = 0.0
        statistics = None
        for chunk, where in _chunks(rows, self.chunk_rows):
            # ascontiguousarray: the products in `collect` are slow on anything else.
            part = np.ascontiguousarray(responsibilities[where])
            statistics = self._accumulate(statistics, density, chunk, part)
        if statistics is None:
            raise ValueError("There is no row to start from.")
        return Mixture(
            density.update(statistics.density), self._log_weights(statistics.counts), log_labels
        )

    def expectation(self, mixture: Mixture) -> tuple[MixtureStatistics, float]:
        """Return the expected statistics and the objective at ``mixture``."""
        statistics: MixtureStatistics | None = None
        objective = self._penalty(mixture)
        rows = self._free
        if self.recalibrate is not None:
            rows = self._free_labeled
            statistics, evidence = self._recalibrated(mixture)
            objective += evidence
        weights = np.zeros(len(self.codes))
        weights[rows] = self.row_weights[rows]
        for chunk in self._cover(rows):
            part, evidence = self._posterior(mixture, chunk, weights[chunk])
            objective += evidence
            statistics = self._accumulate(statistics, mixture.density, chunk, part)
        clamped = self._clamped_statistics(mixture.density)
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
                return np.log(smoothed) - np.log(smoothed.sum())
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
        for chunk, _ in _chunks(rows, self.chunk_rows):
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

    def _recalibrated(self, mixture: Mixture) -> tuple[MixtureStatistics | None, float]:
        """The unlabeled rows with a recalibration, which needs all of them at once."""
        assert self.recalibrate is not None
        rows = self._unlabeled
        if not len(rows):
            return None, 0.0
        posterior: NDArray[np.float64] = np.empty((len(rows), self.n_components))
        objective = 0.0
        for chunk, where in _chunks(rows, self.chunk_rows):
            part = mixture.log_joint(take_rows(self.X, chunk))
            best = part.max(axis=1)
            evidence = normalize_log_rows(part)
            objective += float(self.row_weights[chunk] @ (best if self.hard else evidence))
            posterior[where] = part
        belongs = self.component_classes[:, None] == np.arange(self.n_classes)
        of_class = posterior @ belongs
        recalibrated = np.asarray(self.recalibrate(of_class), dtype=np.float64)
        if recalibrated.shape != of_class.shape:
            raise ValueError(
                f"The recalibration returned an array of shape {recalibrated.shape} for class "
                f"probabilities of shape {of_class.shape}; it must keep the shape."
            )
        # Where a class has underflowed to 0, its components share by their weights.
        weights = np.exp(mixture.log_weights)
        weights /= np.maximum(weights @ belongs, np.finfo(float).tiny)[self.component_classes]
        old = of_class[:, self.component_classes]
        gone = old <= 0
        posterior /= np.where(gone, 1.0, old)
        posterior = np.where(gone, weights, posterior) * recalibrated[:, self.component_classes]
        if self.hard:
            _harden(posterior, posterior.argmax(axis=1))
        posterior *= self.row_weights[rows][:, None]
        statistics = None
        for chunk, where in _chunks(rows, self.chunk_rows):
            statistics = self._accumulate(statistics, mixture.density, chunk, posterior[where])
        return statistics, objective

    def _clamped_statistics(self, density: Density) -> MixtureStatistics | None:
        if self._clamped is None and len(self._clamped_rows):
            component_of = np.zeros(self.n_classes, dtype=np.intp)
            component_of[self.component_classes] = np.arange(self.n_components)
            for chunk, _ in _chunks(self._clamped_rows, self.chunk_rows):
                codes = self.codes[chunk]
                part = np.zeros((len(codes), self.n_components))
                part[np.arange(len(codes)), component_of[codes]] = self.row_weights[chunk]
                self._clamped = self._accumulate(self._clamped, density, chunk, part)
        return self._clamped

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


def normalize_log_rows(log_joint: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn each row of ``log p(x, k)`` into ``p(k | x)``, in place.

    Returns ``log p(x)`` of each row. A row that is -inf throughout becomes uniform, with
    evidence -inf.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.generative._mixture import normalize_log_rows
    >>> rows = np.array([[-5000.0, -5000.0], [-np.inf, -3.0]])
    >>> normalize_log_rows(rows).round(2).tolist()
    [-4999.31, -3.0]
    >>> rows
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    top = log_joint.max(axis=1)
    lost = np.isneginf(top)
    any_lost = bool(lost.any())
    if any_lost:
        log_joint[lost] = 0.0
        top[lost] = 0.0
    log_joint -= top[:, None]
    np.exp(log_joint, out=log_joint)
    total = log_joint.sum(axis=1)
    log_joint /= total[:, None]
    top += np.log(total)
    if any_lost:
        top[lost] = -np.inf
    return top


def take_rows(X: Any, rows: slice | NDArray[np.intp]) -> Any:
    """Rows of a dense array, of a CSR matrix, or of each member of a tuple.

    A slice is a view, without a copy of the data, for CSR too.
    """
    if isinstance(X, tuple):
        return tuple(take_rows(part, rows) for part in X)
    if not (sparse.issparse(X) and isinstance(rows, slice)):
        return X[rows]
    start, stop, _ = rows.indices(X.shape[0])
    first, last = X.indptr[start], X.indptr[stop]
    return csr_around(
        X.data[first:last],
        X.indices[first:last],
        X.indptr[start : stop + 1] - first,
        (stop - start, X.shape[1]),
    )


def csr_around(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> Any:
    """CSR matrix around the given memory; SciPy's constructor copies short views."""
    result: Any = sparse.csr_array(shape, dtype=data.dtype)
    result.data, result.indices, result.indptr = data, indices, indptr
    return result


def _chunks(rows: NDArray[np.intp], size: int) -> Iterator[tuple[slice | NDArray[np.intp], slice]]:
    """Cut ``rows`` (ascending) into pieces, as slices where the rows are neighbors.

    Yields the rows, and their place in ``rows``.
    """
    for start in range(0, len(rows), size):
        where = slice(start, min(start + size, len(rows)))
        piece = rows[where]
        if piece[-1] - piece[0] == len(piece) - 1:
            yield slice(int(piece[0]), int(piece[-1]) + 1), where
        else:
            yield piece, where


def _harden(posterior: NDArray[np.float64], best: NDArray[np.intp]) -> None:
    posterior[:] = 0.0
    posterior[np.arange(len(best)), best] = 1.0
