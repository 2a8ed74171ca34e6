"""Gaussian densities with covariances: full, tied, diagonal, spherical, and shrunk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from leaven.generative._multinomial import no_parameters

COVARIANCE_TYPES = ("full", "tied", "diag", "spherical", "tied-spherical")
TIED = ("tied", "tied-spherical")


@dataclass
class Scatter:
    """Weights (K,), means (K, d) and scatter matrices about the means.

    The scatter has shape (K, d, d), (d, d) where it is tied, or (K, d) where only its diagonal
    is wanted. Parts are merged by the formula of Chan, Golub and LeVeque (1983), which does
    not lose the digits of data far from the origin.
    """

    counts: NDArray[np.float64]
    means: NDArray[np.float64]
    scatter: NDArray[np.float64]
    tied: bool = False

    def __iadd__(self, other: Scatter) -> Scatter:
        total = self.counts + other.counts
        # Zero where both parts are empty: their means are placeholders and must not mix.
        share = np.divide(other.counts, total, out=np.zeros(len(total)), where=total > 0)
        apart = other.means - self.means
        weight = share * self.counts
        between: NDArray[np.float64]
        if self.scatter.ndim == 3:
            between = np.einsum("k,ki,kj->kij", weight, apart, apart)
        elif self.tied:
            between = (apart * weight[:, None]).T @ apart
        else:
            between = weight[:, None] * apart**2
        self.scatter = self.scatter + other.scatter + between
        self.means = self.means + apart * share[:, None]
        self.counts = total
        return self


@dataclass(frozen=True)
class CovarianceDensity:
    """Gaussians whose covariance is ``(1 - β) Σ + β I + ε I`` of the estimate Σ.

    That M-step is not the maximum of the Gaussian likelihood, and EM with it may go downhill.
    It is the maximum of
    ``log p(x | k) = log N(x; μ, C) with (1 - β) times the quadratic form, - (β + ε) tr(C⁻¹) / 2``
    since ``log|C| + tr(C⁻¹ [(1 - β) Σ + (β + ε) I])`` is smallest at that C. So this is used in
    the E-step; for prediction :meth:`sharp` drops both changes. With β = ε = 0 it is the
    Gaussian itself.

    Parameters
    ----------
    covariance_type : {"full", "tied", "diag", "spherical", "tied-spherical"}
    shrinkage : float
        β.
    floor : float
        ε.
    start : ndarray, optional
        The scatter of all rows divided by their number, for the first M-step of a tied
        covariance: a handful of labeled rows may have none.
    mean : ndarray of shape (n_components, n_features)
    covariance : ndarray
        (K, d, d), (d, d), (K, d), (K,) or () as the type says.
    """

    covariance_type: str
    shrinkage: float
    floor: float
    start: NDArray[np.float64] | None = None
    mean: NDArray[np.float64] = field(default_factory=no_parameters)
    covariance: NDArray[np.float64] = field(default_factory=no_parameters)

    def sharp(self) -> CovarianceDensity:
        """The same Gaussians, to predict with."""
        return replace(self, shrinkage=0.0, floor=0.0)

    def log_likelihood(self, X: Any) -> NDArray[np.float64]:
        """``log p(x | k)`` of shape (n_rows, n_components)."""
        X = np.asarray(X, dtype=np.float64)
        roots, log_det, trace = self._factors
        result = np.empty((len(X), len(self.mean)))
        for k, (root, mean) in enumerate(zip(roots, self.mean, strict=True)):
            difference = X - mean
            if root.ndim == 2:
                difference = solve_triangular(root, difference.T, lower=True, check_finite=False)
                result[:, k] = np.einsum("ij,ij->j", difference, difference)
            else:
                difference /= root
                result[:, k] = np.einsum("ij,ij->i", difference, difference)
        result *= 1.0 - self.shrinkage
        result += X.shape[1] * np.log(2 * np.pi) + log_det
        result += (self.shrinkage + self.floor) * trace
        # Once for the whole array instead of in every term above.
        result *= -0.5
        return result

    @cached_property
    def _factors(self) -> tuple[Iterable[NDArray[Any]], NDArray[Any], NDArray[Any]]:
        """Root of each component's covariance, the log determinants, the traces of C⁻¹."""
        K, d = self.mean.shape
        if self.covariance_type == "tied":
            root, log_det, trace = _factor(self.covariance, 0)
            return [root] * K, np.full(K, log_det), np.full(K, trace)
        if self.covariance_type == "full":
            roots, log_dets, traces = zip(
                *(_factor(C, k) for k, C in enumerate(self.covariance)), strict=True
            )
            return roots, np.array(log_dets), np.array(traces)
        var = np.broadcast_to(self.covariance.reshape((*self.covariance.shape[:1], -1)), (K, d))
        flat = (var <= 0).any(axis=1)
        if flat.any():
            raise ValueError(
                f"Component {np.argmax(flat)} has a feature without variance. Use shrinkage > 0 "
                "or a larger reg_covar."
            )
        return np.sqrt(var), np.log(var).sum(axis=1), (1.0 / var).sum(axis=1)

    def collect(self, X: Any, responsibilities: NDArray[np.float64]) -> Scatter:
        """Weighted means and scatter."""
        X = np.asarray(X, dtype=np.float64)
        counts = responsibilities.sum(axis=0)
        means = responsibilities.T @ X / np.where(counts > 0, counts, 1.0)[:, None]
        K, d = means.shape
        full, tied = self.covariance_type in ("full", "tied"), self.covariance_type == "tied"
        scatter = np.zeros((d, d) if tied else (K, d, d) if full else (K, d))
        for k, mean in enumerate(means):
            difference = X - mean
            if not full:
                scatter[k] = responsibilities[:, k] @ difference**2
                continue
            weighted = difference * responsibilities[:, k : k + 1]
            if tied:
                scatter += weighted.T @ difference
            else:
                scatter[k] = weighted.T @ difference
        return Scatter(counts, means, scatter, tied)

    def update(self, statistics: Scatter) -> CovarianceDensity:
        """M-step."""
        counts = np.where(statistics.counts > 0, statistics.counts, 1.0)
        lost = statistics.counts <= 0
        mean = statistics.means
        d = mean.shape[1]
        if self.start is not None:
            estimate = self.start
        elif self.covariance_type == "tied":
            estimate = statistics.scatter / statistics.counts.sum()
        elif self.covariance_type == "full":
            estimate = statistics.scatter / counts[:, None, None]
        elif self.covariance_type == "tied-spherical":
            estimate = np.asarray(statistics.scatter.sum() / (statistics.counts.sum() * d))
        else:
            estimate = statistics.scatter / counts[:, None]
            if self.covariance_type == "spherical":
                estimate = estimate.mean(axis=1)
        covariance = (1.0 - self.shrinkage) * estimate
        extra = self.shrinkage + self.floor
        covariance = covariance + (
            extra * np.eye(d) if self.covariance_type in ("full", "tied") else extra
        )
        if lost.any() and len(self.mean):
            mean = np.where(lost[:, None], self.mean, mean)
            if self.covariance_type not in TIED:
                covariance[lost] = self.covariance[lost]
        return replace(self, mean=mean, covariance=covariance, start=None)

    def expected(self, statistics: Scatter) -> float:
        """Log-likelihood of the rows behind ``statistics``."""
        d = self.mean.shape[1]
        total = 0.0
        apart = statistics.means - self.mean
        roots, log_det, trace = self._factors
        for k, (root, count) in enumerate(zip(roots, statistics.counts, strict=True)):
            total += count * (d * np.log(2 * np.pi) + log_det[k])
            total += count * (self.shrinkage + self.floor) * trace[k]
            if root.ndim == 2:
                shift = solve_triangular(root, apart[k], lower=True)
            else:
                shift = apart[k] / root
            quadratic = count * float(shift @ shift)
            if self.covariance_type == "full":
                quadratic += _trace_of_solve(root, statistics.scatter[k])
            elif self.covariance_type == "tied":
                quadratic += _trace_of_solve(root, statistics.scatter) if k == 0 else 0.0
            else:
                quadratic += float((statistics.scatter[k] / root**2).sum())
            total += (1.0 - self.shrinkage) * quadratic
        return -0.5 * total

    def log_prior(self) -> float:
        """No further penalty."""
        return 0.0


def _factor(C: NDArray[np.float64], k: int) -> tuple[NDArray[np.float64], float, float]:
    """Root of the covariance of component k, its log determinant, the trace of C⁻¹."""
    try:
        root = cholesky(C, lower=True)
    except LinAlgError as error:
        raise ValueError(
            f"The covariance of component {k} cannot be inverted: there are too few rows for "
            f"{len(C)} features. Use shrinkage > 0, a larger reg_covar, or covariance_type 'diag', "
            "'spherical' or 'tied'."
        ) from error
    inverse = solve_triangular(root, np.eye(len(C)), lower=True)
    return root, 2.0 * float(np.log(np.diag(root)).sum()), float((inverse**2).sum())


def _trace_of_solve(root: NDArray[np.float64], S: NDArray[np.float64]) -> float:
    """Trace of ``(L Lᵀ)⁻¹ S``."""
    half = solve_triangular(root, S, lower=True)
    return float(np.trace(solve_triangular(root, half.T, lower=True)))
