"""Committees of naive Bayes models whose parameters are drawn from their posterior."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

SAMPLED = (MultinomialNB, BernoulliNB, CategoricalNB, GaussianNB)

_TINY = np.finfo(np.float64).tiny


def log_dirichlet(
    concentration: NDArray[np.float64], rng: np.random.RandomState
) -> NDArray[np.float64]:
    """Draw one probability vector a row from Dirichlet distributions; return logarithms."""
    gamma = np.maximum(rng.standard_gamma(concentration), _TINY)
    return np.asarray(np.log(gamma) - np.log(gamma.sum(axis=-1, keepdims=True)))


def normal_inverse_chi2(
    n: NDArray[np.float64],
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    scale: NDArray[np.float64],
    rng: np.random.RandomState,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw means and variances of normal distributions given n, mean and variance of rows.

    The prior is flat in the mean and worth one observation of variance ``scale``, so that
    ``σ² ~ (scale + n · variance) / χ²_n`` and ``μ ~ N(mean, σ² / n)``.

    Parameters
    ----------
    n : ndarray of shape (n_classes,)
    mean, variance : ndarray of shape (n_classes, n_features)
    scale : ndarray of shape (n_features,)
    rng : RandomState

    Returns
    -------
    mu, sigma2 : ndarray of shape (n_classes, n_features)
    """
    n = n[:, None]
    chi2 = np.maximum(rng.chisquare(np.broadcast_to(n, mean.shape)), _TINY)
    sigma2 = (scale + n * variance) / chi2
    mu = mean + np.sqrt(sigma2 / n) * rng.standard_normal(mean.shape)
    return mu, sigma2


def draw_member(fitted: Any, rng: np.random.RandomState) -> Any:
    """Return a copy of a fitted naive Bayes model with parameters from their posterior.

    The class prior, unless it was given or is not learned, is drawn from a Dirichlet
    distribution about its estimate; so are the feature probabilities of the discrete models,
    with the smoothing ``alpha`` as the prior.
    """
    member = copy.copy(fitted)
    counts = np.asarray(fitted.class_count_, dtype=np.float64)
    log_prior = log_dirichlet(counts, rng)
    if isinstance(fitted, GaussianNB):
        if fitted.priors is None:
            member.class_prior_ = np.exp(log_prior)
        share = counts / counts.sum()
        between = share @ fitted.theta_**2 - (share @ fitted.theta_) ** 2
        total = share @ fitted.var_ + np.maximum(between, 0.0)
        member.theta_, member.var_ = normal_inverse_chi2(
            counts, fitted.theta_, fitted.var_, total, rng
        )
        return member
    if fitted.fit_prior and fitted.class_prior is None:
        member.class_log_prior_ = log_prior
    alpha = np.asarray(fitted.alpha, dtype=np.float64)
    if isinstance(fitted, CategoricalNB):
        member.feature_log_prob_ = [
            log_dirichlet(count + alpha, rng) for count in fitted.category_count_
        ]
    elif isinstance(fitted, BernoulliNB):
        yes = fitted.feature_count_ + alpha
        no = counts[:, None] - fitted.feature_count_ + alpha
        log_both = log_dirichlet(np.stack([yes, no], axis=-1), rng)
        # The model takes log(1 - p) of what it is given: p must not round to one.
        member.feature_log_prob_ = np.minimum(log_both[..., 0], -np.finfo(np.float64).eps)
    else:
        member.feature_log_prob_ = log_dirichlet(fitted.feature_count_ + alpha, rng)
    return member
