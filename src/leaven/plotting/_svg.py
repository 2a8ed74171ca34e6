"""Figures as text, for pages that hold their figures themselves."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from leaven._optional import import_optional


def as_svg(axes: Any) -> str:
    """The figure of some Axes as an SVG element; the figure is closed.

    The same figure gives the same text: there is no date in it and no random id.

    Parameters
    ----------
    axes : Axes, or array of Axes
        As the functions of :mod:`leaven.plotting` return them.

    Returns
    -------
    str

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from leaven.plotting import as_svg
    >>> as_svg(plt.subplots()[1])[:4]
    '<svg'
    """
    pyplot = import_optional("matplotlib.pyplot", extra="plot", needed_by="as_svg")
    figure = np.ravel(axes)[0].figure
    buffer = io.StringIO()
    with pyplot.rc_context({"svg.hashsalt": "leaven", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, bbox_inches="tight")
    pyplot.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]
