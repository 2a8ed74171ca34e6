"""Synthetic data of the literature that is drawn at random, with the labels of its figures.

Every maker returns ``X`` and the true classes ``y``; with ``return_labeled=True`` also
``y_partial``, in which only the labeled rows of the figure keep their class and the others
are -1. The classes are 0, 1, ...: a class -1, as some of the sources have it, would be the
mark of an unlabeled row.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import make_moons
from sklearn.utils import check_random_state

from leaven._labels import mask_labels


def make_two_moons(
    n_samples: int = 200,
    *,
    noise: float = 0.1,
    n_labeled: int = 1,
    return_labeled: bool = False,
    random_state: Any = None,
) -> tuple[NDArray[Any], ...]:
    """Make two interleaving half moons, with one label on each.

    Two labels alone suggest a straight boundary between them; the unlabeled rows show
    that it is curved (figure 1.2 of [1]_, after [2]_).

    Parameters
    ----------
    n_samples : int, default=200
    noise : float, default=0.1
        Standard deviation of the Gaussian noise around the half circles of radius one.
    n_labeled : int, default=1
        Labeled rows a class, drawn at random.
    return_labeled : bool, default=False
        Also return ``y_partial``.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        The true classes, 0 and 1.
    y_partial : ndarray of shape (n_samples,)
        With -1 where a row is unlabeled. Only if ``return_labeled`` is True.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia 2018.
    .. [2] V. Sindhwani, M. Belkin and P. Niyogi, "The geometric basis of semi-supervised
       learning", in Semi-Supervised Learning, MIT Press 2006.

    Examples
    --------
    >>> from leaven.datasets import make_two_moons
    >>> X, y, y_partial = make_two_moons(100, return_labeled=True, random_state=0)
    >>> X.shape, int((y_partial >= 0).sum())
    ((100, 2), 2)
    """
    check_count("n_samples", n_samples, 2)
    check_not_negative("noise", noise)
    rng = check_random_state(random_state)
    X, y = make_moons(n_samples, noise=noise or None, random_state=rng)
    labeled = _draw(y, n_labeled, rng) if return_labeled else np.zeros(len(y), dtype=bool)
    return as_result(X, y, labeled, return_labeled)


def make_three_bands(
    n_samples: int = 181,
    *,
    noise: float = 0.08,
    return_labeled: bool = False,
    random_state: Any = None,
) -> tuple[NDArray[Any], ...]:
    """Make three wavy bands, one above the other, with one label on each.

    The labels sit at alternating ends, so that a nearest-neighbor rule fails. The harmonic
    function on the full graph with ``exp(-d² / 0.22²)`` follows the bands, as in the left
    part of figure 2 of [1]_, which has 3 labeled and 178 unlabeled points.

    Parameters
    ----------
    n_samples : int, default=181
    noise : float, default=0.08
        Standard deviation of the distance from the middle line of a band. The lines are
        one apart.
    return_labeled : bool, default=False
        Also return ``y_partial``.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        The true classes 0, 1 and 2, from the lowest band up.
    y_partial : ndarray of shape (n_samples,)
        With -1 where a row is unlabeled. Only if ``return_labeled`` is True.

    References
    ----------
    .. [1] X. Zhu, Z. Ghahramani and J. Lafferty, "Semi-supervised learning using Gaussian
       fields and harmonic functions", ICML 2003.

    Examples
    --------
    >>> from leaven.datasets import make_three_bands
    >>> X, y, y_partial = make_three_bands(return_labeled=True, random_state=0)
    >>> X.shape, int((y_partial >= 0).sum())
    ((181, 2), 3)
    """
    check_count("n_samples", n_samples, 6)
    check_not_negative("noise", noise)
    rng = check_random_state(random_state)
    y = rng.permutation(np.arange(n_samples) % 3)
    # Evenly spread along the band, with some play: at 60 points a purely uniform draw would
    # leave holes that are wider than the gap between two bands.
    x = np.empty(n_samples)
    for band in range(3):
        rows = np.flatnonzero(y == band)
        x[rows] = 4 * (rng.permutation(len(rows)) + rng.uniform(size=len(rows))) / len(rows)
    height = y + 0.2 * np.sin(np.pi * x / 2) + noise * rng.standard_normal(n_samples)
    at_end = np.where(y % 2, x, -x)
    labeled = np.zeros(n_samples, dtype=bool)
    for band in range(3):
        labeled[np.argmax(np.where(y == band, at_end, -np.inf))] = True
    return as_result(np.column_stack([x, height]), y, labeled, return_labeled)


def make_two_spirals(
    n_samples: int = 186,
    *,
    noise: float = 0.05,
    return_labeled: bool = False,
    random_state: Any = None,
) -> tuple[NDArray[Any], ...]:
    """Make two interleaved spirals, with one label at the outer end of each.

    The harmonic function on the full graph with ``exp(-d² / 0.43²)`` follows the spirals,
    as in the right part of figure 2 of [1]_, which has 2 labeled and 184 unlabeled points.

    Parameters
    ----------
    n_samples : int, default=186
    noise : float, default=0.05
        Standard deviation of the Gaussian noise in each coordinate. Neighboring turns are
        about 1.26 apart.
    return_labeled : bool, default=False
        Also return ``y_partial``.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        The true classes, 0 and 1.
    y_partial : ndarray of shape (n_samples,)
        With -1 where a row is unlabeled. Only if ``return_labeled`` is True.

    References
    ----------
    .. [1] X. Zhu, Z. Ghahramani and J. Lafferty, "Semi-supervised learning using Gaussian
       fields and harmonic functions", ICML 2003.

    Examples
    --------
    >>> from leaven.datasets import make_two_spirals
    >>> X, y, y_partial = make_two_spirals(return_labeled=True, random_state=0)
    >>> X.shape, int((y_partial >= 0).sum())
    ((186, 2), 2)
    """
    check_count("n_samples", n_samples, 4)
    check_not_negative("noise", noise)
    rng = check_random_state(random_state)
    inner, outer = 1.8, 8.5  # angles of the two ends of an arm, in radians
    y = np.arange(n_samples) % 2
    size = np.bincount(y)[y]
    # The length of an Archimedean spiral grows about as the square of the angle: equal
    # steps in the square are equal steps along the arm.
    step = (np.arange(n_samples) // 2) / (size - 1)
    angle = np.sqrt(inner**2 + step * (outer**2 - inner**2))
    turned = angle + np.pi * y
    X = 0.4 * angle[:, None] * np.column_stack([np.cos(turned), np.sin(turned)])
    X += noise * rng.standard_normal(X.shape)
    order = rng.permutation(n_samples)
    return as_result(X[order], y[order], step[order] == 1, return_labeled)


def make_two_gaussians(
    n_samples: int = 150,
    *,
    means: ArrayLike = (0.0, 1.0),
    std: float = 0.6,
    n_features: int = 2,
    n_labeled: int = 7,
    return_labeled: bool = False,
    random_state: Any = None,
) -> tuple[NDArray[Any], ...]:
    """Make two overlapping spherical Gaussian classes of equal size.

    The defaults are those of Nguyen (2019), figure 3.8: 150 rows, 7 of each class labeled,
    in the plane; ``std=0.8`` gives figure 3.9. Saeed (2018) has two more:

    - section 1.2: ``make_two_gaussians(4400, means=[[-1, 1], [1, 3]], std=1, n_labeled=2)``,
      of which 400 rows are for training;
    - section 3.1.2: ``make_two_gaussians(67584, means=(-1, 1), std=1, n_features=1)``, of
      which 2,048 rows are for training.

    Parameters
    ----------
    n_samples : int, default=150
        If odd, class 0 has one row more.
    means : array-like of shape (2,) or (2, n_features), default=(0.0, 1.0)
        The centers. A number stands for a center with this value in every feature: in the
        plane the default is (0, 0) and (1, 1). With this reading 88 % of the rows can be
        classified rightly at ``std=0.6``, as in table 3.1 of Nguyen (2019).
    std : float, default=0.6
        Standard deviation of every feature.
    n_features : int, default=2
    n_labeled : int, default=7
        Labeled rows a class, drawn at random.
    return_labeled : bool, default=False
        Also return ``y_partial``.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        The true classes, 0 and 1.
    y_partial : ndarray of shape (n_samples,)
        With -1 where a row is unlabeled. Only if ``return_labeled`` is True.

    References
    ----------
    .. [1] H. N. Nguyen, "Study on semi-supervised learning with the framework of generative
       model", master's thesis, Nagaoka University of Technology 2019, section 3.4.
    .. [2] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia 2018, sections 1.2 and 3.1.2.

    Examples
    --------
    >>> from leaven.datasets import make_two_gaussians
    >>> X, y, y_partial = make_two_gaussians(return_labeled=True, random_state=0)
    >>> X.shape, int((y_partial >= 0).sum())
    ((150, 2), 14)
    """
    check_count("n_samples", n_samples, 2)
    check_count("n_features", n_features, 1)
    if not (np.isfinite(std) and std > 0):
        raise ValueError(f"std must be a positive number, got {std!r}.")
    centers = np.asarray(means, dtype=np.float64)
    if centers.shape == (2,):
        centers = np.repeat(centers[:, None], n_features, axis=1)
    if centers.shape != (2, n_features):
        raise ValueError(
            f"means has shape {centers.shape}; give two numbers, or two centers of "
            f"n_features={n_features} numbers each."
        )
    rng = check_random_state(random_state)
    y = rng.permutation(np.arange(n_samples) % 2)
    X = centers[y] + std * rng.standard_normal((n_samples, n_features))
    labeled = _draw(y, n_labeled, rng) if return_labeled else np.zeros(len(y), dtype=bool)
    return as_result(X, y, labeled, return_labeled)


def _draw(y: NDArray[Any], n_labeled: int, rng: np.random.RandomState) -> NDArray[np.bool_]:
    """Choose ``n_labeled`` rows of each class."""
    check_count("n_labeled", n_labeled, 1)
    smallest = int(np.bincount(y).min())
    if n_labeled > smallest:
        raise ValueError(
            f"n_labeled={n_labeled} is more than the {smallest} rows of the smallest class."
        )
    labeled = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        labeled[rng.choice(np.flatnonzero(y == label), n_labeled, replace=False)] = True
    return labeled


def as_result(
    X: NDArray[Any], y: NDArray[Any], labeled: NDArray[np.bool_], return_labeled: bool
) -> tuple[NDArray[Any], ...]:
    y = y.astype(np.int64)
    return (X, y, mask_labels(y, ~labeled)) if return_labeled else (X, y)


def check_count(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")


def check_not_negative(name: str, value: Any) -> None:
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a number that is not negative, got {value!r}.")
