"""Error against the number of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from leaven._optional import import_optional
from leaven.plotting._classes import LEGEND_LIMIT, axes_or_new, class_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BANDS = ("se", "sd", None)
MARKERS = "os^Dv<>P*X"
WIDTH = 3.6  # inches, of the axes of one data set
HEIGHT = 3.0  # five to six, so that slopes of curves are neither flattened nor exaggerated


def plot_learning_curves(
    frame: pd.DataFrame,
    *,
    value: str = "error",
    band: str | None = "se",
    log: bool = True,
    ax: Any = None,
    cmap: Any = None,
    legend: bool | str = "auto",
) -> Any:
    """Draw the mean of every method against the number of labels, with bands of error.

    The axis of the number of labels is logarithmic to the base 2: the area under a curve, as
    it is seen, is what :func:`leaven.evaluation.aulc` measures.

    Parameters
    ----------
    frame : DataFrame
        Tidy results, as :func:`leaven.evaluation.learning_curve` and
        :func:`leaven.evaluation.compare` give: the columns ``n_labeled`` and ``value``, one row
        a trial; ``method`` and ``dataset`` if there are several. Rows without a value, of
        trials that failed, are left out.
    value : str, default="error"
        The column to draw.
    band : {"se", "sd", None}, default="se"
        Width of the band on each side of the mean: one standard error of the mean, one
        standard deviation of the trials, or no band. A size with one trial has no width.
    log : bool, default=True
        False draws the number of labels on a linear axis.
    ax : matplotlib Axes or array of Axes, optional
        Where to draw; default a new figure. Several data sets need as many Axes.
    cmap : str or matplotlib colormap, optional
        Colors of the methods; default ``"tab10"`` while it has enough.
    legend : {"auto", True, False}, default="auto"
        ``"auto"`` names the methods if there are two to twenty. With several data sets
        the legend is in the first picture.

    Returns
    -------
    ax : matplotlib Axes or ndarray of Axes
        An array, one Axes a data set, if there are several data sets.

    See Also
    --------
    plot_critical_difference : Methods over many data sets in one picture.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.plotting import plot_learning_curves
    >>> frame = pd.DataFrame({"method": ["NB"] * 4 + ["EM"] * 4, "trial": [0, 0, 1, 1] * 2,
    ...                       "n_labeled": [2, 8] * 4,
    ...                       "error": [0.4, 0.2, 0.5, 0.3, 0.3, 0.2, 0.4, 0.2]})
    >>> ax = plot_learning_curves(frame)
    >>> [line.get_label() for line in ax.lines]
    ['NB', 'EM']
    """
    if band not in BANDS:
        raise ValueError(f"band must be one of {BANDS}, got {band!r}.")
    if legend not in (True, False, "auto"):
        raise ValueError(f"legend must be True, False or 'auto', got {legend!r}.")
    table = _check_frame(frame, value, log)
    datasets = [None] if "dataset" not in table else list(pd.unique(table["dataset"]))
    methods = [None] if "method" not in table else list(pd.unique(table["method"]))
    axes = _axes(ax, len(datasets))
    colors = class_colors(len(methods), cmap)
    for axis, dataset in zip(axes, datasets, strict=True):
        part = table if dataset is None else table[table["dataset"] == dataset]
        for number, method in enumerate(methods):
            rows = part if method is None else part[part["method"] == method]
            if len(rows):
                _draw_curve(axis, rows, value, band, method, colors[number], number)
        label_axis(axis, log)
        axis.set_ylabel(value)
        if dataset is not None:
            axis.set_title(str(dataset))
    for axis in axes[1:]:
        if _same_row(axis, axes[0]):
            axis.set_ylabel("")
    if legend is True or (legend == "auto" and 2 <= len(methods) <= LEGEND_LIMIT):
        _legend(axes[0], methods, colors, len(table))
    return axes[0] if len(datasets) == 1 else axes


def _check_frame(frame: Any, value: str, log: bool) -> pd.DataFrame:
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"frame must be a pandas DataFrame, got {type(frame).__name__}.")
    for name in ("n_labeled", value):
        if name not in frame.columns:
            raise ValueError(
                f"frame has no column {name!r}; its columns are {list(frame.columns)}. It needs "
                "n_labeled and the column that value names."
            )
    table = frame.dropna(subset=["n_labeled", value])
    if table.empty:
        raise ValueError(f"frame has no row with both n_labeled and {value}: nothing to draw.")
    if log and (table["n_labeled"] <= 0).any():
        raise ValueError("n_labeled must be positive on a logarithmic axis. Use log=False.")
    return table


def _axes(ax: Any, n_datasets: int) -> Any:
    if ax is None and n_datasets > 1:
        pyplot = import_optional(
            "matplotlib.pyplot", extra="plot", needed_by="plot_learning_curves"
        )
        columns = min(n_datasets, 3 if n_datasets < 10 else 4)
        rows = -(-n_datasets // columns)
        _, grid = pyplot.subplots(
            rows,
            columns,
            figsize=(WIDTH * columns, HEIGHT * rows),
            layout="constrained",
            squeeze=False,
        )
        for spare in grid.flat[n_datasets:]:
            spare.remove()
        return grid.ravel()[:n_datasets]
    if ax is None:
        ax = axes_or_new(None, "plot_learning_curves")
    axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(axes) != n_datasets:
        raise ValueError(
            f"ax has {len(axes)} Axes, but frame has {n_datasets} data sets. Give one Axes a data "
            "set, or choose one data set of the frame."
        )
    return axes


def _draw_curve(
    ax: Axes, rows: pd.DataFrame, value: str, band: str | None, method: Any, color: Any, number: int
) -> None:
    groups = rows.groupby("n_labeled", sort=True)[value]
    mean = groups.mean()
    sizes = mean.index.to_numpy(dtype=float)
    name = "_mean" if method is None else str(method)
    # Many sizes would make the markers a thick line: draw about ten.
    ax.plot(
        sizes,
        mean.to_numpy(),
        color=color,
        label=name,
        marker=MARKERS[number % len(MARKERS)],
        markevery=max(1, len(sizes) // 10),
        markersize=4.5,
        linewidth=1.6,
    )
    if band is not None:
        width = (groups.sem() if band == "se" else groups.std()).fillna(0.0).to_numpy()
        ax.fill_between(
            sizes, mean - width, mean + width, color=color, alpha=0.2, linewidth=0, zorder=1
        )


def label_axis(ax: Axes, log: bool = True) -> None:
    """Make the x axis one of numbers of labels, with plain numbers at powers of two."""
    ticker = import_optional("matplotlib.ticker", extra="plot", needed_by="label_axis")
    if log:
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:g}"))
        ax.xaxis.set_minor_locator(ticker.NullLocator())
    ax.set_xlabel("labeled rows")
    ax.grid(True, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)


def _same_row(ax: Axes, first: Axes) -> bool:
    """Whether the value axis of ``ax`` needs no name: another one to its left has it."""
    spec = ax.get_subplotspec()
    return spec is not None and first.get_figure() is ax.get_figure() and spec.colspan.start > 0


def _legend(ax: Axes, methods: list[Any], colors: Any, n_rows: int) -> None:
    """Name all methods, also those without a curve in this picture."""
    lines = import_optional("matplotlib.lines", extra="plot", needed_by="plot_learning_curves")
    handles = [
        lines.Line2D(
            [], [], color=colors[i], marker=MARKERS[i % len(MARKERS)], markersize=4.5, label=str(m)
        )
        for i, m in enumerate(methods)
    ]
    # Searching the best place looks at every point of every curve.
    ax.legend(handles=handles, loc="best" if n_rows < 100_000 else "upper right", fontsize="small")
