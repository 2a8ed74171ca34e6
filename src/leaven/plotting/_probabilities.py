"""How sure a classifier is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leaven._labels import encode_labels
from leaven.plotting._class_proportions import check_probabilities, known_codes
from leaven.plotting._classes import axes_or_new, class_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_probability_histogram(
    probabilities: Any,
    true: Any = None,
    *,
    positive: Any = None,
    classes: Any = None,
    bins: int = 20,
    ax: Axes | None = None,
    cmap: Any = None,
) -> Axes:
    """Draw a histogram of the predicted probabilities of one class.

    An overconfident classifier has all its rows at 0 and 1. With the true labels the rows of the
    class and the others have histograms of their own, each adding up to 100 %, as in figure 5.3
    of Saeed [1]_: what lies on the wrong side is wrong and sure of it.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples,) or (n_samples, n_classes)
        Probabilities of the positive class, or of all classes. Trials are put together with
        ``np.concatenate``.
    true : array-like of shape (n_samples,), optional
        True labels of the same rows.
    positive : class name, optional
        The class to look at; default the last one, of two.
    classes : array-like of shape (n_classes,), optional
        Classes in the order of the columns, as ``classes_`` of a classifier; default those
        in ``true``, sorted, or else the column numbers.
    bins : int, default=20
        Number of bins between 0 and 1.
    ax : matplotlib Axes, optional
        Where to draw; default a new figure.
    cmap : str or matplotlib colormap, optional
        Colors of the two groups of rows; default ``"tab10"``.

    Returns
    -------
    ax : matplotlib Axes

    See Also
    --------
    plot_class_proportions : Whether the classes have their true share.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 5.3.

    Examples
    --------
    >>> from leaven.plotting import plot_probability_histogram
    >>> ax = plot_probability_histogram([0.02, 0.01, 0.97, 0.55], bins=2)
    >>> [float(bar.get_height()) for bar in ax.patches]
    [50.0, 50.0]
    """
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
        raise ValueError(f"bins must be a positive number of bins, got {bins!r}.")
    values, names, column = _positive_column(probabilities, true, positive, classes)
    groups: list[tuple[str, NDArray[np.float64]]] = [("all rows", values)]
    name = "the positive class" if names is None else str(names[column])
    if true is not None:
        assert names is not None  # the labels have named them
        if len(true) != len(values):
            raise ValueError(
                f"true has {len(true)} labels, but probabilities has {len(values)} rows."
            )
        is_positive = known_codes(true, names, "true") == column
        others = [str(other) for i, other in enumerate(names) if i != column]
        other = others[0] if len(others) == 1 else f"not {name}"
        groups = [(other, values[~is_positive]), (name, values[is_positive])]
    colors = class_colors(len(groups), cmap)
    ax = axes_or_new(ax, "plot_probability_histogram")
    edges = np.linspace(0.0, 1.0, bins + 1)
    for (label, part), color in zip(groups, colors, strict=True):
        if len(part):
            counts = np.histogram(part, edges)[0]
            ax.bar(
                edges[:-1],
                100.0 * counts / len(part),
                width=1.0 / bins,
                align="edge",
                color=color,
                alpha=0.55 if len(groups) > 1 else 0.9,
                edgecolor=color,
                label=label,
            )
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel(f"predicted probability of {name}")
    ax.set_ylabel("rows, %" if true is None else "rows of the true class, %")
    if true is not None:
        ax.legend(title="true class")
    return ax


def _positive_column(
    probabilities: Any, true: Any, positive: Any, classes: Any
) -> tuple[NDArray[np.float64], list[Any] | None, int]:
    """Give the probabilities of the positive class, the names of all classes, and its place."""
    array = np.asarray(probabilities, dtype=float)
    names: list[Any] | None = None
    if classes is not None:
        names = np.asarray(classes).tolist()
    elif true is not None:
        names = encode_labels(true)[0].tolist()
    if array.ndim == 1:
        n_classes = 2 if names is None else len(names)
    elif names is None:
        names = list(range(array.shape[1])) if array.ndim == 2 else []
        n_classes = len(names)
    else:
        n_classes = len(names)
    if positive is not None and names is not None:
        if positive not in names:
            raise ValueError(f"positive={positive!r} is not among the classes {names}.")
        column = names.index(positive)
    elif positive is not None:
        names, column = [positive], 0  # a name for the one column there is
    elif n_classes > 2:
        raise ValueError(f"There are {n_classes} classes {names}. Give positive= one of them.")
    else:
        column = n_classes - 1
    if array.ndim == 1:
        checked = check_probabilities(array[:, None], ["positive"], "probabilities")
        return checked[:, 0], names, column
    return check_probabilities(array, names or [], "probabilities")[:, column], names, column
