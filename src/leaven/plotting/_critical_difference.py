"""Mean ranks of methods over data sets, and which of them do not differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven._optional import import_optional
from leaven.statistics import check_alpha, critical_difference, groups_within, rank_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT_SIZE = 10.0  # points, of a new figure; in given axes it shrinks until it fits
ROW_HEIGHT = 1.7  # of the font size
SCALE_WIDTH = 320.0  # points, of the axis of ranks in a new figure
BAR_STEP = 0.55  # rows, between two bars of groups
GAP = 6.0  # points, between a label and its line
HINTING = 1.12  # room for text that is drawn wider than it was measured
POINTS = 72.0  # an inch


def plot_critical_difference(
    scores: Any,
    labels: Any = None,
    higher_is_better: bool = False,
    *,
    alpha: float = 0.05,
    ax: Axes | None = None,
) -> Axes:
    """Draw the critical difference diagram of Demšar.

    Methods stand at their mean rank, the best at the right. A thick bar joins methods that the
    test of Nemenyi does not tell apart at the level ``alpha``; the critical difference is drawn
    above the axis [1]_. Every label has a row of its own, so that many methods stay readable: a
    new figure grows with them, and in given axes the type shrinks until they fit.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One score for each data set and method; at least two of each.
    labels : list of str, optional
        Names of the methods; default the columns of a DataFrame, or "method 1" and so on.
    higher_is_better : bool, default=False
        False for errors, True for accuracies.
    alpha : float, default=0.05
        Level of the test.
    ax : matplotlib Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    ax : matplotlib Axes

    See Also
    --------
    leaven.evaluation.nemenyi_test : The numbers.
    plot_learning_curves : One data set in detail.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7,
       2006, figure 1.

    Examples
    --------
    >>> from leaven.plotting import plot_critical_difference
    >>> errors = [[0.3, 0.2, 0.1], [0.25, 0.15, 0.2], [0.4, 0.5, 0.2], [0.1, 0.05, 0.02]]
    >>> ax = plot_critical_difference(errors, labels=["NB", "EM", "SVM"])
    >>> [text.get_text() for text in ax.texts if text.get_gid() == "method"]
    ['SVM  1.25', 'EM  2.00', 'NB  2.75']
    """
    values, names = _check(scores, labels, alpha)
    n, k = values.shape
    ranks = rank_rows(values, higher_is_better).mean(axis=0)
    difference = critical_difference(n, k, alpha)
    order = np.argsort(ranks, kind="stable")
    position = {int(method): i for i, method in enumerate(order)}
    groups = [group for group in groups_within(ranks, difference) if len(group) > 1]
    bars = [(ranks[group[0]], ranks[group[-1]]) for group in groups]
    levels = _bar_levels([(position[group[0]], position[group[-1]]) for group in groups])
    texts = [f"{names[method]}  {ranks[method]:.2f}" for method in order]
    n_right = (k + 1) // 2
    n_bar_rows = BAR_STEP * (max(levels, default=-1) + 1)
    depth = 0.9 + n_bar_rows + n_right  # rows below the axis
    ax, size, margins = _prepare(ax, texts, n_right, depth + 2.6)

    left, right = float(k), 1.0
    ax.set_axis_off()
    _set_limits(ax, k, margins, depth)
    _draw_scale(ax, k, size, 1.0 / margins[2])
    reach = min(difference, left - right)
    ax.plot([left, left - reach], [1.35, 1.35], color="0.1", linewidth=1.4, gid="cd")
    for end in (left, left - reach):
        ax.plot([end, end], [1.2, 1.5], color="0.1", linewidth=1.4)
    more = " (longer than the axis)" if difference > k - 1 else ""
    ax.text(
        left - reach / 2,
        1.5,
        f"CD = {difference:.2f}{more}",
        ha="center",
        va="bottom",
        fontsize=size,
        gid="cd",
    )
    stub = 0.012 * (k - 1)
    for (best, worst), level in zip(bars, levels, strict=True):
        y = -0.45 - BAR_STEP * level
        ax.plot(
            [worst + stub, best - stub],
            [y, y],
            color="tab:red",
            linewidth=0.32 * size,
            solid_capstyle="butt",
            zorder=3,
            gid="group",
        )
    pad = GAP * size / FONT_SIZE * margins[2] * (k - 1)
    for i, method in enumerate(order):
        on_right = i < n_right
        row = i if on_right else k - 1 - i
        y = -(0.9 + n_bar_rows + row)
        edge = right - 2 * pad if on_right else left + 2 * pad
        ax.plot(
            [ranks[method], ranks[method], edge], [0, y, y], color="0.35", linewidth=0.9, zorder=2
        )
        ax.text(
            edge - pad if on_right else edge + pad,
            y,
            texts[i],
            ha="left" if on_right else "right",
            va="center",
            fontsize=size,
            gid="method",
        )
    return ax


def _check(scores: Any, labels: Any, alpha: float) -> tuple[NDArray[np.float64], list[str]]:
    values = np.asarray(scores, dtype=float)
    if values.ndim != 2 or min(values.shape) < 2:
        raise ValueError(
            "scores must have shape (n_datasets, n_methods) with at least two of each, got shape "
            f"{values.shape}."
        )
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(
            f"scores holds {values[row, column]} in row {row}, column {column}. Leave data sets "
            "out that a method did not finish, or leave the method out."
        )
    check_alpha(alpha)
    n_methods = values.shape[1]
    if labels is None:
        named = isinstance(scores, pd.DataFrame)
        labels = scores.columns if named else [f"method {i + 1}" for i in range(n_methods)]
    names = [str(label) for label in labels]
    if len(names) != n_methods:
        raise ValueError(f"labels has {len(names)} names, but scores has {n_methods} methods.")
    return values, names


def _bar_levels(spans: list[tuple[int, int]]) -> list[int]:
    """Put each bar on the highest level where it meets no other; spans begin in order."""
    ends: list[int] = []
    levels = []
    for start, stop in spans:
        free = [level for level, end in enumerate(ends) if end < start]
        level = free[0] if free else len(ends)
        if not free:
            ends.append(stop)
        ends[level] = stop
        levels.append(level)
    return levels


def _prepare(
    ax: Axes | None, texts: list[str], n_right: int, n_rows: float
) -> tuple[Axes, float, tuple[float, float, float]]:
    """Make or measure the axes; return them, the font size and the margins for the labels.

    The margins are the room left and right of the scale, and one point, all as fractions of
    the length of the scale.
    """
    pyplot = import_optional(
        "matplotlib.pyplot", extra="plot", needed_by="plot_critical_difference"
    )
    textpath = import_optional(
        "matplotlib.textpath", extra="plot", needed_by="plot_critical_difference"
    )

    def width(text: str) -> float:  # hinting on a coarse canvas makes letters wider
        return HINTING * float(textpath.TextPath((0, 0), text, size=FONT_SIZE).get_extents().width)

    right = max(width(text) for text in texts[:n_right]) + 3.5 * GAP
    left = max(width(text) for text in texts[n_right:]) + 3.5 * GAP
    height = n_rows * ROW_HEIGHT * FONT_SIZE
    size = 1.0
    if ax is None:
        total = left + right + SCALE_WIDTH
        figure = pyplot.figure(figsize=(total / POINTS, height / POINTS))
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    else:
        box = ax.get_window_extent()
        to_points = POINTS / ax.figure.dpi
        total = box.width * to_points
        # At least a third of the width is for the scale.
        size = min(1.0, box.height * to_points / height, total * 2 / 3 / (left + right))
    scale = total - size * (left + right)
    return ax, FONT_SIZE * size, (size * left / scale, size * right / scale, 1.0 / scale)


def _set_limits(
    ax: Axes, n_methods: int, margins: tuple[float, float, float], depth: float
) -> None:
    length = n_methods - 1
    ax.set_xlim(n_methods + margins[0] * length, 1 - margins[1] * length)
    ax.set_ylim(-depth, 2.6)


def _draw_scale(ax: Axes, n_methods: int, size: float, length: float) -> None:
    """Draw the axis of ranks, ``length`` points long, with as many numbers as have room."""
    ax.plot([1, n_methods], [0, 0], color="0.1", linewidth=1.2)
    room = length / (n_methods - 1)
    step = max(1, int(np.ceil(1.8 * size / room)))
    for rank in range(1, n_methods + 1):
        ax.plot([rank, rank], [0, 0.18], color="0.1", linewidth=1.2)
        if (rank - 1) % step == 0:
            ax.text(
                rank, 0.28, str(rank), ha="center", va="bottom", fontsize=0.9 * size, gid="rank"
            )
