"""Which classes are more frequent among the unlabeled rows than among the labels.

Labels are often given class by class, ten of each, whatever the classes' sizes. Then every
classifier that learns from them takes the classes for equally frequent. How often each is
predicted for unlabeled rows, together with how often held-out labels are taken for another class,
tells more about the sizes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leaven.graph_based import posterior_proportions

# Chosen on 51 tables with 2 to 20 labels of each class, by benchmarks/members.py shift.
# How many draws of the classes the predictions are worth for each label, and how probable it is
# that all classes have the same size, before anything is known.
DRAWS_PER_LABEL, BALANCED = 4.0, 0.5

# The power of the ratio of the proportions. One would be right if they were known, and if no
# candidate had made use of the unlabeled rows' proportions by itself.
POWER = 0.5

# Added to the number of labels of each class.
_PER_CLASS = 0.5

# A class that is said not to occur gets no more than this.
_TINY = 1e-6


def class_shift(
    held_out: NDArray[np.float64],
    truth: NDArray[np.intp],
    counts: NDArray[np.intp],
    probabilities: NDArray[np.float64],
    *,
    draws_per_label: float = DRAWS_PER_LABEL,
    balanced: float = BALANCED,
    power: float = POWER,
) -> NDArray[np.float64]:
    r"""Log factors of the classes, from their proportions in labels and unlabeled rows.

    .. math:: b_c = \tfrac{1}{2} \log \frac{q_c}{p_c}

    with the proportions p in the labels and the posterior mean q of those in the unlabeled rows
    (:func:`~leaven.graph_based.posterior_proportions`): they are to explain how often each class
    is predicted, given which class held-out labels are taken for (Lipton, Wang and Smola, 2018).
    Nothing is shifted where held-out labels are found hardly more often than by guessing, or where
    the numbers of labels differ as those of a random sample do: then they know the proportions.

    Parameters
    ----------
    held_out : ndarray of shape (n_repeats, n_tested, n_classes)
        Class probabilities of held-out labels.
    truth : ndarray of shape (n_tested,)
        Their classes.
    counts : ndarray of shape (n_classes,)
        Numbers of labels.
    probabilities : ndarray of shape (n_rows, n_classes)
        Of the unlabeled rows.
    draws_per_label, balanced : float
        As in ``posterior_proportions``.
    power : float, default=0.5
        The factor of the logarithm.

    Returns
    -------
    ndarray of shape (n_classes,)

    References
    ----------
    Z. C. Lipton, Y.-X. Wang and A. Smola, "Detecting and correcting for label shift with black
    box predictors", ICML 2018.

    Examples
    --------
    Labels of both classes in equal numbers, all predicted rightly, and three of four unlabeled
    rows in the first:

    >>> import numpy as np
    >>> from leaven.selection import class_shift
    >>> truth, predicted = np.repeat([0, 1], 20), np.repeat([0, 1], [300, 100])
    >>> held_out, answer = np.eye(2)[truth], np.eye(2)[predicted]
    >>> class_shift(held_out[None], truth, np.array([20, 20]), answer).round(2)
    array([ 0.2 , -0.33])
    """
    n_classes = probabilities.shape[1]
    shares = np.bincount(probabilities.argmax(axis=1), minlength=n_classes) / len(probabilities)
    confusions = np.zeros((n_classes, n_classes))
    for repeat in held_out:
        np.add.at(confusions, (truth, repeat.argmax(axis=1)), 1.0 / len(held_out))
    if not (_were_chosen(counts) and _is_better_than_chance(confusions)):
        return np.zeros(n_classes)
    found = posterior_proportions(
        shares, confusions, counts, draws_per_label=draws_per_label, balanced=balanced
    )
    return known_shift(found.proportions, counts, power)


def _were_chosen(counts: NDArray[np.intp]) -> bool:
    """Whether labels were given class by class: half of the classes share the largest number.

    Small classes may have fewer rows than were asked for. Numbers that differ otherwise look like
    those of rows drawn at random, and then the labels know the proportions best.
    """
    n_largest = int((counts == counts.max()).sum())
    return n_largest >= max(2.0, len(counts) / 2.0)


def _is_better_than_chance(confusions: NDArray[np.float64]) -> bool:
    """Whether held-out labels are found more often than by guessing, by a standard error or more.

    Otherwise which class they are taken for says nothing about the proportions, or by chance the
    opposite of them.
    """
    given = confusions.sum(axis=1)
    tested = given > 0
    n, chance = given.sum(), 1.0 / len(given)
    if not n:
        return False
    recall = np.mean(np.diagonal(confusions)[tested] / given[tested])
    return bool(recall > chance + np.sqrt(chance * (1.0 - chance) / n))


def known_shift(
    proportions: NDArray[np.float64], counts: NDArray[np.intp], power: float
) -> NDArray[np.float64]:
    """Log factors of the classes where their proportions among the unlabeled rows are known.

    Parameters
    ----------
    proportions : ndarray of shape (n_classes,)
    counts : ndarray of shape (n_classes,)
        Numbers of labels.
    power : float
        Of the ratio of the proportions: the weight of the candidates that do not make use of
        them by themselves.

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    given = (counts + _PER_CLASS) / (counts + _PER_CLASS).sum()
    return np.asarray(power * np.log(np.maximum(proportions, _TINY) / given))
