"""Colors, points and the legend of classes: what every picture of labeled rows needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leaven._labels import UNLABELED, encode_labels, labeled_mask
from leaven._optional import import_optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREY = "0.65"
# With more classes than this an automatic legend is left out: nobody could read it.
LEGEND_LIMIT = 20


def axes_or_new(ax: Axes | None, needed_by: str) -> Axes:
    """Return ``ax``, or the axes of a new figure when it is None."""
    pyplot = import_optional("matplotlib.pyplot", extra="plot", needed_by=needed_by)
    return pyplot.subplots()[1] if ax is None else ax


def encode_classes(
    y: Any, n_samples: int, known: Any = None
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Encode ``y``, which may also be None or without any label.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or None
    n_samples : int
    known : array-like, optional
        Classes that must be among the result, such as ``classes_`` of a classifier.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
    codes : ndarray of shape (n_samples,)
    """
    classes = np.array([], dtype=object) if known is None else np.unique(np.asarray(known))
    codes = np.full(n_samples, UNLABELED, dtype=np.intp)
    if y is None:
        return classes, codes
    labeled = labeled_mask(y)
    if len(labeled) != n_samples:
        raise ValueError(f"y has {len(labeled)} entries, but there are {n_samples} rows to draw.")
    if labeled.any():
        own, own_codes = encode_labels(y)
        classes = own if known is None else np.union1d(classes, own)
        codes[labeled] = np.searchsorted(classes, own)[own_codes[labeled]]
    return classes, codes


def class_colors(n_classes: int, cmap: Any = None) -> NDArray[np.float64]:
    """Return one RGBA color a class.

    Parameters
    ----------
    n_classes : int
    cmap : str or matplotlib colormap, optional
        None takes ``"tab10"`` for up to ten classes, ``"tab20"`` for up to twenty and
        ``"turbo"`` beyond.

    Returns
    -------
    colors : ndarray of shape (n_classes, 4)
    """
    pyplot = import_optional("matplotlib.pyplot", extra="plot", needed_by="class_colors")
    if cmap is None:
        cmap = "tab10" if n_classes <= 10 else "tab20" if n_classes <= 20 else "turbo"
    colormap = pyplot.get_cmap(cmap)
    if colormap.N <= 20:  # a list of separate colors: take them in turn
        return np.asarray(colormap(np.arange(n_classes) % colormap.N))
    return np.asarray(colormap(np.linspace(0.05, 0.95, n_classes)))


def scatter_classes(
    ax: Axes,
    points: NDArray[Any],
    codes: NDArray[np.intp],
    colors: NDArray[np.float64],
    *,
    inferred: NDArray[np.intp] | None = None,
    size: float,
    labeled_size: float,
) -> None:
    """Draw unlabeled rows small and labeled rows large with a dark rim.

    An unlabeled row has the color of its class in ``inferred``, or is grey without one.
    """
    unlabeled = codes == UNLABELED
    small: Any = GREY
    if inferred is not None:
        small = _colors_of(inferred[unlabeled], colors)
    x, y = points.T
    ax.scatter(x[unlabeled], y[unlabeled], s=size, c=small, linewidths=0, zorder=2)
    ax.scatter(
        x[~unlabeled],
        y[~unlabeled],
        s=labeled_size,
        c=colors[codes[~unlabeled]],
        edgecolors="0.1",
        linewidths=1.0,
        zorder=3,
    )


def _colors_of(codes: NDArray[np.intp], colors: NDArray[np.float64]) -> NDArray[np.float64]:
    grey = float(GREY)
    return np.vstack([colors, [grey, grey, grey, 1.0]])[codes]  # UNLABELED is the last row


def class_legend(
    ax: Axes,
    classes: NDArray[Any],
    colors: NDArray[np.float64],
    *,
    legend: bool | str,
    with_unlabeled: bool,
) -> None:
    """Name the classes in a legend; ``"auto"`` leaves it out for very many or no classes."""
    if legend not in (True, False, "auto"):
        raise ValueError(f"legend must be True, False or 'auto', got {legend!r}.")
    if legend is False or (legend == "auto" and not 0 < len(classes) <= LEGEND_LIMIT):
        return
    lines = import_optional("matplotlib.lines", extra="plot", needed_by="class_legend")
    named = [(str(name), color) for name, color in zip(classes, colors, strict=True)]
    if with_unlabeled:
        named.append(("unlabeled", GREY))
    handles = [
        lines.Line2D([], [], marker="o", linestyle="", color=color, label=name)
        for name, color in named
    ]
    ax.legend(handles=handles, loc="best", frameon=True)
