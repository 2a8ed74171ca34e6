"""What is known of a candidate before any label of a table is seen.

Tables differ in how much their columns say about the classes. Where they say much, methods that
follow the shape of the data do best, and are right when they are sure. Where they say little, as in
most surveys, a linear method and a forest do best, and every method is far too sure of itself with
few labels. Held-out labels tell which kind of table it is sooner than they tell the weight and the
temperature of fourteen candidates, one by one. Pure functions of arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

# The power of all candidates on tables whose columns say little, relative to the others. It is
# between a tenth and a half for single candidates, and a third serves as well as numbers of their
# own (`python benchmarks/members.py collect DIRECTORY --fresh`, then `compare`).
FAINT_TEMPERATURE = 1 / 3

# Labels per class up to which candidates that learn from unlabeled rows have their full weight.
# With 20 per class weights in inverse proportion gain 0.1 points on the tables of
# benchmarks/safe.py and 0.8 on the first forty of benchmarks/fresh.py, with 10 they lose 0.1 and
# gain 0.1. With two a larger weight gains on the former what it loses on the latter
# (`python benchmarks/members.py fading DIRECTORY`).
FULL_WEIGHT = 5.0

# Values of the faintness, all equally probable before labels are seen: tables with clear classes
# and tables without are both common, and neither is to be had at the cost of the other.
_FAINTNESS = np.linspace(0.0, 1.0, 5)


@dataclass(frozen=True)
class Member:
    """What is known of a candidate before any label of a table is seen.

    Parameters
    ----------
    weight : float, default=2.0
        Its weight in a combination, relative to the others.
    temperature : float, default=1.0
        The power that makes its probabilities right on average over tables: below 1 if it is
        overconfident. Held-out labels may tell another, see :func:`member_temperature`.
    faint_weight : float, default=None
        Its weight on tables whose columns say little about the classes; None is ``weight``.
    """

    weight: float = 2.0
    temperature: float = 1.0
    faint_weight: float | None = None


def fade(member: Member, labels_per_class: float) -> Member:
    r"""A candidate that learns from unlabeled rows, where labels are no longer few.

    .. math:: w(m) = w \min\Big(1, \frac5m\Big)

    with m labels per class: the more labels there are, the less unlabeled rows add to them.

    Parameters
    ----------
    member : Member
    labels_per_class : float

    Returns
    -------
    Member
        With both weights at this number of labels.

    Examples
    --------
    >>> from leaven.selection import Member, fade
    >>> fade(Member(4.0, 0.6, 1.0), 20)
    Member(weight=1.0, temperature=0.6, faint_weight=0.25)
    >>> fade(Member(4.0, 0.6, 1.0), 2) == Member(4.0, 0.6, 1.0)
    True
    """
    left = min(1.0, FULL_WEIGHT / max(labels_per_class, 1.0))
    faint = None if member.faint_weight is None else left * member.faint_weight
    return replace(member, weight=left * member.weight, faint_weight=faint)


def members_at(
    members: Sequence[Member], faintness: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Weights and temperatures of candidates on tables of some faintness.

    .. math:: w_m \propto u_m^{1-s} v_m^s, \qquad T_m = T_m^{(0)}\, 3^{-s},

    with the weights u where the columns say much, and v where they say little.

    Parameters
    ----------
    members : sequence of Member
    faintness : float
        s, from 0 for columns that say much about the classes to 1 for columns that say little.

    Returns
    -------
    weights : ndarray of shape (n_members,)
        They sum to one.
    temperatures : ndarray of shape (n_members,)

    Examples
    --------
    >>> from leaven.selection import Member, members_at
    >>> weights, temperatures = members_at([Member(1.0, 1.5, 9.0), Member(1.0, 1.5, 1.0)], 0.5)
    >>> weights.tolist(), temperatures.round(2).tolist()
    ([0.75, 0.25], [0.87, 0.87])
    """
    clear = np.array([each.weight for each in members])
    faint = np.array(
        [each.weight if each.faint_weight is None else each.faint_weight for each in members]
    )
    powers = np.array([each.temperature for each in members])
    weights = softmax((1.0 - faintness) * np.log(clear) + faintness * np.log(faint))
    return np.asarray(weights), np.asarray(powers * FAINT_TEMPERATURE**faintness)


def estimate_faintness(
    logs: NDArray[np.float64], truth: NDArray[np.intp], members: Sequence[Member]
) -> float:
    r"""How little the columns of a table say about the classes, from its held-out labels.

    The posterior mean of s in :func:`members_at` with a uniform prior on 0, 1/4, ..., 1 and the
    likelihood of the held-out labels under the combination at s.

    Parameters
    ----------
    logs : ndarray of shape (n_members, n_repeats, n_rows, n_classes)
        Logarithms of the held-out class probabilities; a row counts once, however often it was
        held out.
    truth : ndarray of shape (n_rows,)
        Their classes.
    members : sequence of Member
        0 if none of them has a ``faint_weight``, as those for texts.

    Returns
    -------
    float

    Examples
    --------
    Both candidates are sure of themselves, and wrong in every other row:

    >>> import numpy as np
    >>> from leaven.selection import Member, estimate_faintness
    >>> logs = np.log(np.tile([0.9, 0.1], (2, 1, 8, 1)))
    >>> members = [Member(faint_weight=1.0)] * 2
    >>> round(estimate_faintness(logs, np.arange(8) % 2, members), 2)
    0.78
    >>> round(estimate_faintness(logs, np.zeros(8, dtype=int), members), 2)
    0.25
    """
    if all(each.faint_weight is None for each in members):
        return 0.0
    rows = np.arange(len(truth))
    likelihood = []
    for s in _FAINTNESS:
        weights, powers = members_at(members, float(s))
        tempered = log_softmax(powers[:, None, None, None] * logs, axis=-1)
        pooled = log_softmax(np.tensordot(weights, tempered, axes=1), axis=-1)
        likelihood.append(pooled[:, rows, truth].mean(axis=0).sum())
    return float(softmax(likelihood) @ _FAINTNESS)
