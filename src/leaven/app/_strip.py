"""Numbers for the question "can I stop?"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_PAUSE = 60.0  # seconds without a label after which someone is away, not slow
_FEWEST_POINTS = 4  # of a learning curve, before it is extended

RECENT = 50
"""Labels from which the speed is taken."""

FEWEST_TESTED = 10
"""Random rows before a point goes into the learning curve: of five each one moves it by 20%."""


def labels_per_minute(times: Sequence[float]) -> float | None:
    """How fast labels come, pauses left out; None for fewer than three.

    Parameters
    ----------
    times : sequence of float
        In seconds, in order.

    Examples
    --------
    >>> from leaven.app._strip import labels_per_minute
    >>> labels_per_minute([0.0, 3.0, 6.0, 600.0, 605.0])
    16.4
    """
    gaps = np.diff(np.asarray(times[-RECENT:], dtype=float))
    gaps = gaps[gaps < _PAUSE]
    if len(gaps) < 2:
        return None
    return round(60.0 / max(float(gaps.mean()), 1e-3), 1)


def expected_gain(
    n_labels: Sequence[int], accuracy: Sequence[float], n_more: int = 20
) -> float | None:
    """Gain in accuracy that further labels promise.

    Accuracy is taken to grow by the same amount with every doubling of the labels: a straight
    line over ``log2(n)``, by least squares with the number of labels as weight, as the newer
    points say more of what comes next.

    Parameters
    ----------
    n_labels : sequence of int
        At each point of the learning curve.
    accuracy : sequence of float
    n_more : int, default=20

    Returns
    -------
    gain : float or None
        Not negative, and not beyond an accuracy of one. None while there are fewer than four
        points, or less than a doubling of the labels between them.

    Examples
    --------
    >>> from leaven.app._strip import expected_gain
    >>> round(expected_gain([10, 20, 40, 80], [0.5, 0.6, 0.7, 0.8], n_more=80), 3)
    0.1
    """
    sizes = np.asarray(n_labels, dtype=float)
    if len(np.unique(sizes)) < _FEWEST_POINTS or sizes[-1] < 2 * sizes[0]:
        return None
    slope = np.polyfit(np.log2(sizes), np.asarray(accuracy, dtype=float), 1, w=np.sqrt(sizes))[0]
    gain = float(slope * np.log2((sizes[-1] + n_more) / sizes[-1]))
    return min(max(0.0, gain), 1.0 - accuracy[-1])
