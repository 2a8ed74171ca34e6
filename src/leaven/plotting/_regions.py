"""What a classifier says of every point of the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from leaven._labels import UNLABELED, one_hot
from leaven.plotting._classes import (
    axes_or_new,
    class_colors,
    class_legend,
    encode_classes,
    scatter_classes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RESPONSES = ("auto", "predict", "predict_proba")


def plot_decision_regions(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    ax: Axes | None = None,
    resolution: int = 200,
    response: str = "auto",
    margin: float = 0.05,
    alpha: float = 0.35,
    node_size: float = 18.0,
    labeled_size: float = 90.0,
    cmap: Any = None,
    legend: bool | str = "auto",
) -> Axes:
    """Color the plane by the class that a fitted classifier predicts there.

    With probabilities the colors of the classes are mixed in that proportion, so that
    doubt is seen as a blend; without them every point has the color of its class.

    Parameters
    ----------
    estimator : fitted classifier
        Any scikit-learn classifier of two features, with or without unlabeled rows.
    X : array-like of shape (n_samples, 2)
        The rows to draw over the regions; they also give the limits of the picture. A
        data frame names the axes.
    y : array-like of shape (n_samples,), optional
        Labels, with the marks of an unlabeled row that the classifiers know. Without it
        all rows are grey.
    ax : matplotlib Axes, optional
        Where to draw; default a new figure.
    resolution : int, default=200
        Points along each axis at which the classifier is asked.
    response : {"auto", "predict", "predict_proba"}, default="auto"
        What to ask for; ``"auto"`` takes probabilities where the classifier has them.
    margin : float, default=0.05
        Space around the rows, as a share of their range.
    alpha : float, default=0.35
        How strong the regions are, from 0 to 1.
    node_size, labeled_size : float, default=18.0 and 90.0
        Area of an unlabeled and a labeled row, in points squared.
    cmap : str or matplotlib colormap, optional
        Colors of the classes; default ``"tab10"`` while it has enough.
    legend : {"auto", True, False}, default="auto"
        ``"auto"`` names the classes if there are at most twenty.

    Returns
    -------
    ax : matplotlib Axes

    See Also
    --------
    plot_graph : The graph that a graph-based classifier works on.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from leaven.plotting import plot_decision_regions
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> y = ["low", "low", "high"]
    >>> nearest = KNeighborsClassifier(n_neighbors=1).fit(X, y)
    >>> ax = plot_decision_regions(nearest, X, y, resolution=50)
    >>> ax.images[0].get_array().shape
    (50, 50, 4)
    """
    check_is_fitted(estimator)
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    points = check_array(X, dtype=np.float64)
    if points.shape[1] != 2:
        raise ValueError(
            f"plot_decision_regions draws two features, but X has {points.shape[1]}. Fit the "
            "classifier on two columns, or bring the data to two with PCA first."
        )
    if resolution < 2:
        raise ValueError(f"resolution must be at least 2, got {resolution!r}.")
    classes, codes = encode_classes(y, len(points), estimator.classes_)
    colors = class_colors(len(classes), cmap)
    extent = _extent(points, margin)
    grid: Any = _grid(extent, resolution)
    if names is not None:
        grid = type(X)(grid, columns=X.columns)  # so that the names which fit saw are there
    weights = _class_weights(estimator, grid, classes, response)
    ax = axes_or_new(ax, "plot_decision_regions")
    image = np.clip(weights @ colors, 0.0, 1.0).reshape(resolution, resolution, 4)
    ax.imshow(
        image,
        extent=extent,
        origin="lower",
        alpha=alpha,
        aspect="auto",
        interpolation="nearest",
        zorder=0,
    )
    scatter_classes(ax, points, codes, colors, size=node_size, labeled_size=labeled_size)
    unlabeled = bool((codes == UNLABELED).any())
    class_legend(ax, classes, colors, legend=legend, with_unlabeled=unlabeled)
    if names is not None:
        ax.set_xlabel(names[0])
        ax.set_ylabel(names[1])
    return ax


def _extent(points: NDArray[np.float64], margin: float) -> tuple[float, float, float, float]:
    low, high = points.min(axis=0), points.max(axis=0)
    space = margin * np.where(high > low, high - low, 1.0) + 1e-12
    (left, bottom), (right, top) = low - space, high + space
    return float(left), float(right), float(bottom), float(top)


def _grid(extent: tuple[float, float, float, float], resolution: int) -> NDArray[np.float64]:
    """List the centers of the pixels, row by row from the bottom."""
    left, right, bottom, top = extent
    share = (np.arange(resolution) + 0.5) / resolution
    across, up = np.meshgrid(left + share * (right - left), bottom + share * (top - bottom))
    return np.column_stack([across.ravel(), up.ravel()])


def _class_weights(
    estimator: Any, grid: Any, classes: NDArray[Any], response: str
) -> NDArray[np.float64]:
    """Return the share of each class at each point: probabilities, or one and zeros."""
    if response not in RESPONSES:
        raise ValueError(f"response must be one of {RESPONSES}, got {response!r}.")
    has_probabilities = hasattr(estimator, "predict_proba")
    if response == "predict_proba" and not has_probabilities:
        raise ValueError(
            f"{type(estimator).__name__} has no predict_proba. Use response='predict'."
        )
    if response == "predict" or not has_probabilities:
        codes = np.searchsorted(classes, np.asarray(estimator.predict(grid)))
        return one_hot(codes, len(classes))
    probabilities = np.asarray(estimator.predict_proba(grid))
    weights = np.zeros((len(probabilities), len(classes)))
    weights[:, np.searchsorted(classes, estimator.classes_)] = probabilities
    return weights
