"""Length scales of pixels as an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leaven.plotting._classes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_length_scales(
    scales: Any,
    image_shape: tuple[int, int] | None = None,
    *,
    ax: Axes | None = None,
    cmap: Any = "gray",
    colorbar: bool = True,
) -> Axes:
    """Draw learned length scales of pixels as an image: small ones dark, large ones light.

    A dark pixel matters: rows that differ there are far apart. Figure 6 of Zhu, Ghahramani and
    Lafferty (2003) shows such an image for handwritten digits.

    Parameters
    ----------
    scales : LengthScales or array-like of shape (n_pixels,)
        The result of :func:`leaven.graph_based.learn_length_scales`, or its ``length_scales``.
    image_shape : tuple of int, default=None
        Rows and columns; None takes a square.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    cmap : str or Colormap, default="gray"
    colorbar : bool, default=True

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.plotting import plot_length_scales
    >>> ax = plot_length_scales(np.arange(1.0, 10.0))
    >>> ax.images[0].get_array().shape
    (3, 3)
    """
    values = np.asarray(getattr(scales, "length_scales", scales), dtype=float)
    if image_shape is None:
        side = round(np.sqrt(values.size))
        image_shape = (side, side)
    if values.ndim != 1 or image_shape[0] * image_shape[1] != values.size:
        raise ValueError(
            f"{values.size} length scales do not make an image of shape {image_shape}. Give "
            "image_shape=(rows, columns)."
        )
    ax = axes_or_new(ax, "plot_length_scales")
    image = ax.imshow(values.reshape(image_shape), cmap=cmap)
    ax.set(xticks=[], yticks=[])
    if colorbar:
        ax.figure.colorbar(image, ax=ax, label="length scale")
    return ax
