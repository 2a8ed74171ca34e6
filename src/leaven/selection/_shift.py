"""Which classes are more frequent among the unlabeled rows than among the labels.

Labels are often given class by class, ten of each, whatever the classes' sizes. Then every
classifier that learns from them takes the classes for equally frequent. What it says of the
unlabeled rows, taken together, tells more about the sizes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Steps of expectation maximization. Its limit is the most likely proportions if the probabilities
# hold, but those from few labels hold only roughly, and each step moves on in the direction of
# their error: one step gains as much as two on average, and costs less where it is wrong
# (`python benchmarks/members.py shift DIRECTORY`). A correction by the confusions of held-out
# labels divides by the recall of a class, of which five labels say next to nothing.
STEPS = 1

# Power of the probabilities whose mean is taken for the proportions. Those from few labels are
# cautious, and their mean lies between the proportions and equal ones. Counting the most probable
# class, which an infinite power does, gains more on average and loses more at worst (`shift`).
SHARPNESS = 2.0

# Labels of a class with which half of the shift is made: with five, all of it gained nothing.
HALF_AT = 5.0

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
    n_steps: int = STEPS,
    sharpness: float = SHARPNESS,
) -> NDArray[np.float64]:
    r"""Log factors of the classes, from their proportions in labels and unlabeled rows.

    .. math:: b_c = \frac{m}{m + 5} \log \frac{q_c}{p_c},
              \qquad q_c = \frac{1}{n} \sum_i \frac{P_{ic}^2}{\sum_d P_{id}^2},

    with the proportions p in the labels, of which the typical class (the median) has m. Without the
    squares q is the first step from p towards the most likely proportions of the unlabeled rows by
    expectation maximization [1]_. Probabilities from few labels are cautious, and the squares make
    up for it; and few labels make a part of the shift only.
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
    n_steps : int, default=1
        Of expectation maximization.
    sharpness : float, default=2.0
        Power of the probabilities; 1 is expectation maximization as it is.

    Returns
    -------
    ndarray of shape (n_classes,)

    References
    ----------
    .. [1] M. Saerens, P. Latinne and C. Decaestecker, "Adjusting the outputs of a classifier to
       new a priori probabilities", Neural Computation 14, 2002.

    Examples
    --------
    Labels of both classes in equal numbers, all predicted rightly, and three of four unlabeled
    rows in the first:

    >>> import numpy as np
    >>> from leaven.selection import class_shift
    >>> truth, predicted = np.repeat([0, 1], 20), np.repeat([0, 1], [300, 100])
    >>> held_out, answer = np.eye(2)[truth], np.eye(2)[predicted]
    >>> class_shift(held_out[None], truth, np.array([20, 20]), answer).round(2)
    array([ 0.32, -0.55])
    """
    if not (chosen_by_class(counts) and _is_better_than_chance(held_out, truth, len(counts))):
        return np.zeros(len(counts))
    shift = np.zeros(len(counts))
    for _ in range(n_steps):
        moved = (probabilities * np.exp(shift)) ** sharpness
        moved /= moved.sum(axis=1, keepdims=True)
        shift = known_shift(moved.mean(axis=0), counts, 1.0)
    typical = float(np.median(counts))
    return shift * (typical / (typical + HALF_AT))


def chosen_by_class(counts: NDArray[np.intp]) -> bool:
    """Whether labels were given class by class: half of the classes share the largest number.

    Small classes may have fewer rows than were asked for. Numbers that differ otherwise look like
    those of rows drawn at random, and then the labels know the proportions best.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
        Numbers of labels.

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import chosen_by_class
    >>> chosen_by_class(np.array([10, 10, 7])), chosen_by_class(np.array([12, 10, 7]))
    (True, False)
    """
    n_largest = int((counts == counts.max()).sum())
    return n_largest >= max(2.0, len(counts) / 2.0)


def _is_better_than_chance(
    held_out: NDArray[np.float64], truth: NDArray[np.intp], n_classes: int
) -> bool:
    """Whether held-out labels are found more often than by guessing, by a standard error or more.

    Otherwise what is said of the unlabeled rows says nothing about the proportions.
    """
    if not len(truth):
        return False
    right = (held_out.argmax(axis=2) == truth).mean(axis=0)
    given = np.bincount(truth, minlength=n_classes)
    recall = np.bincount(truth, right, minlength=n_classes)[given > 0] / given[given > 0]
    chance = 1.0 / n_classes
    return bool(recall.mean() > chance + np.sqrt(chance * (1.0 - chance) / len(truth)))


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
