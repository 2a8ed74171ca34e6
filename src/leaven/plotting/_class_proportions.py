"""Predicted against true class proportions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leaven._labels import encode_labels, labeled_mask, one_hot
from leaven.plotting._classes import axes_or_new, class_colors, class_legend
from leaven.plotting._learning_curves import label_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def class_shares(rows: Any, classes: list[Any], name: str) -> NDArray[np.float64]:
    """Share of every class in labels, or mean of every column of probabilities.

    Parameters
    ----------
    rows : array-like of shape (n_samples,) or (n_samples, n_classes)
    classes : list
    name : str
        Of the argument, for messages.

    Returns
    -------
    shares : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from leaven.plotting._class_proportions import class_shares
    >>> class_shares(["a", "b", "a", "a"], ["a", "b"], "predicted")
    array([0.75, 0.25])
    """
    if np.ndim(rows) == 1:
        return np.asarray(one_hot(known_codes(rows, classes, name), len(classes)).mean(axis=0))
    return np.asarray(check_probabilities(rows, classes, name).mean(axis=0))


def known_codes(labels: Any, classes: list[Any], name: str) -> NDArray[np.intp]:
    """Encode ``labels``, all of which must be known, by their place in ``classes``."""
    n_unlabeled = int(np.sum(~labeled_mask(labels)))
    if n_unlabeled:
        raise ValueError(
            f"{name} has {n_unlabeled} unlabeled rows. Give only rows whose class is known."
        )
    found, codes = encode_labels(labels)
    unknown = [label for label in found.tolist() if label not in classes]
    if unknown:
        raise ValueError(f"{name} holds {unknown}, which are not among the classes {classes}.")
    return np.array([classes.index(label) for label in found.tolist()], dtype=np.intp)[codes]


def check_probabilities(rows: Any, classes: list[Any], name: str) -> NDArray[np.float64]:
    """Check probabilities with a column for every class."""
    array = np.asarray(rows, dtype=float)
    if array.ndim != 2 or array.shape[1] != len(classes) or not len(array):
        raise ValueError(
            f"{name} must be probabilities with one column for each of the {len(classes)} classes "
            f"{classes}, got shape {array.shape}. Give classes= if some are not among the labels."
        )
    if not ((array >= 0) & (array <= 1)).all():
        raise ValueError(f"{name} must hold probabilities between 0 and 1.")
    return array


def plot_class_proportions(
    true: Any,
    predicted: Any,
    *,
    n_labeled: Any = None,
    classes: Any = None,
    ax: Axes | None = None,
    cmap: Any = None,
    legend: bool | str = "auto",
) -> Axes:
    """Draw the share of every class as predicted, against the true one.

    A classifier that is sure of itself and wrong calls too many rows one class. Each class of
    each trial is a point, and what is off the diagonal is bias. With ``n_labeled`` the
    predicted shares are drawn against the number of labels, with the true ones as dashed lines,
    as in figure 5.1 of Saeed [1]_.

    Parameters
    ----------
    true : array-like of shape (n_samples,), or list of them
        True labels; a list of arrays has one per trial.
    predicted : array-like of shape (n_samples,) or (n_samples, n_classes), or list of them
        Labels or probabilities of the same rows, such as ``label_distributions_`` of the
        unlabeled ones. A list has one per trial, all of them for the same ``true`` if that is one
        array. Of probabilities the mean is drawn.
    n_labeled : array-like of shape (n_trials,), optional
        Number of labels of each trial. Trials with the same number are averaged.
    classes : array-like of shape (n_classes,), optional
        The classes in the order of the columns of probabilities; default those in ``true``,
        sorted.
    ax : matplotlib Axes, optional
        Where to draw; default a new figure.
    cmap : str or matplotlib colormap, optional
        Colors of the classes; default ``"tab10"`` while it has enough.
    legend : {"auto", True, False}, default="auto"
        ``"auto"`` names the classes if there are at most twenty.

    Returns
    -------
    ax : matplotlib Axes

    See Also
    --------
    plot_probability_histogram : How sure a classifier is.
    leaven.generative.RankSigmoid : Brings the mean probability to a given share.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 5.2.

    Examples
    --------
    >>> from leaven.plotting import plot_class_proportions
    >>> ax = plot_class_proportions(["a", "a", "b", "a"], ["a", "b", "b", "b"])
    >>> [points.get_offsets().tolist() for points in ax.collections]
    [[[0.75, 0.25]], [[0.25, 0.75]]]
    """
    trials = _trials(true, predicted)
    if classes is None:
        labels = [part for trial in trials for part in trial if np.ndim(part) == 1]
        names = sorted({name for part in labels for name in encode_labels(part)[0].tolist()})
    else:
        names = np.asarray(classes).tolist()
        if len(set(names)) != len(names) or not names:
            raise ValueError(f"classes must name each class once, got {names}.")
    truth = np.array([class_shares(labels, names, "true") for labels, _ in trials])
    share = np.array([class_shares(answer, names, "predicted") for _, answer in trials])
    sizes = None if n_labeled is None else np.asarray(n_labeled, dtype=float)
    if sizes is not None and (sizes.shape != (len(trials),) or not (sizes > 0).all()):
        raise ValueError(
            f"n_labeled must be one positive number for each of the {len(trials)} trials, got "
            f"shape {sizes.shape}."
        )
    colors = class_colors(len(names), cmap)
    ax = axes_or_new(ax, "plot_class_proportions")
    if sizes is None:
        _draw_points(ax, truth, share, colors)
    else:
        _draw_curves(ax, truth, share, sizes, colors)
    class_legend(ax, np.array(names, dtype=object), colors, legend=legend, with_unlabeled=False)
    return ax


def _trials(true: Any, predicted: Any) -> list[tuple[Any, Any]]:
    """Pair what is true with what is predicted, for each trial."""
    for name, given in (("true", true), ("predicted", predicted)):
        if not hasattr(given, "__len__") or not len(given):
            raise ValueError(f"{name} must be an array with at least one row, got {given!r}.")
    several = isinstance(true, (list, tuple)) and np.ndim(true[0]) == 1
    if several:
        given_trials = isinstance(predicted, (list, tuple)) and np.ndim(predicted[0]) > 0
        if not given_trials or len(predicted) != len(true):
            raise ValueError(
                f"true is a list of {len(true)} trials, so predicted must be a list of as many."
            )
        pairs = list(zip(true, predicted, strict=True))
    elif np.ndim(next(iter(predicted))) == 2:
        pairs = [(true, answer) for answer in predicted]
    else:
        pairs = [(true, predicted)]
    for number, (labels, answer) in enumerate(pairs):
        if len(labels) != len(answer):
            raise ValueError(
                f"true has {len(labels)} rows and predicted has {len(answer)} in trial {number}; "
                "both must be of the same rows."
            )
    return pairs


def _draw_points(
    ax: Axes, truth: NDArray[np.float64], share: NDArray[np.float64], colors: NDArray[np.float64]
) -> None:
    high = min(1.0, 1.08 * max(truth.max(), share.max()))
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1.0, linestyle="--", zorder=1)
    for number, color in enumerate(colors):
        ax.scatter(
            truth[:, number],
            share[:, number],
            s=36 if len(truth) < 20 else 14,
            color=color,
            alpha=0.85 if len(truth) < 20 else 0.5,
            linewidths=0,
            clip_on=False,
            zorder=3,
        )
    ax.set(xlim=(0, high), ylim=(0, high), aspect="equal")
    ax.set_xlabel("true class proportion")
    ax.set_ylabel("predicted class proportion")


def _draw_curves(
    ax: Axes,
    truth: NDArray[np.float64],
    share: NDArray[np.float64],
    sizes: NDArray[np.float64],
    colors: NDArray[np.float64],
) -> None:
    """Draw the mean share against the number of labels, with one standard error."""
    points, which = np.unique(sizes, return_inverse=True)
    count = np.bincount(which)
    for number, color in enumerate(colors):
        mean = np.bincount(which, share[:, number]) / count
        spread = np.bincount(which, (share[:, number] - mean[which]) ** 2)
        error = np.sqrt(spread / np.maximum(count - 1, 1) / count)
        ax.plot(points, mean, color=color, linewidth=1.6)
        ax.fill_between(points, mean - error, mean + error, color=color, alpha=0.2, linewidth=0)
        ax.axhline(truth[:, number].mean(), color=color, linewidth=1.2, linestyle="--")
    label_axis(ax)
    ax.set_ylabel("predicted class proportion")
