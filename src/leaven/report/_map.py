"""The map of the rows: one mark per row or spot, labeled ones larger and on top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven.report._rows import Rows
from leaven.report._style import N_COLORS
from leaven.report._text import element, plain, safe

# More marks than this hide each other and make the page slow.
MOST_POINTS = 2000

_MOST_LARGE = 1000  # of the given labels, which are drawn large: half of all marks
_TITLE_CELLS = 3  # cells of a row in the title that the pointer shows
_TITLE_CELL = 48  # characters of each, so that a title stays on one line of a small screen
# Bytes of all titles; beyond, a title names the row and its label only.
_TITLE_BUDGET = 700_000

# From how many rows on a spot the mark is how much larger; the area grows by the logarithm.
_BUBBLES = {100: ("xl", 3.0), 10: ("l", 2.2), 2: ("m", 1.5), 1: ("", 1.0)}
_SPOT = 1  # decimals of the percentages that make a spot: less than a pixel
_MARGIN = 3.0  # percent of the plot at each side: room for the largest mark
_CLOSED_SHAPES = [
    "M-{r} 0a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0Z",
    "M-{s} -{s}H{s}V{s}H-{s}Z",
    "M0 -{t}L{t} {s}H-{t}Z",
    "M0 -{t}L{t} 0L0 {t}L-{t} 0Z",
    "M0 {t}L{t} -{s}H-{t}Z",
    "M-{w} -{t}H{w}V-{w}H{t}V{w}H{w}V{t}H-{w}V{w}H-{t}V-{w}H-{w}Z",
    "M-{t} -{s}L0 -{w}L{t} -{s}V{s}L0 {w}L-{t} {s}Z",
    "M-{s} -{t}L-{w} 0L-{s} {t}H{s}L{w} 0L{s} -{t}Z",
]


@dataclass(frozen=True)
class Marks:
    """The look of the classes: a color and a shape for the frequent ones, grey for the rest.

    Parameters
    ----------
    place : dict of str to int
        By the name of the class, from the most frequent one.
    n_rest : int
        Classes that share the last, grey look.
    """

    place: dict[str, int]
    n_rest: int

    def number(self, label: Any) -> int:
        """Return the look of a class: its number, or ``N_COLORS`` for the rest."""
        return self.place.get(str(label), N_COLORS)


def marks_of(counts: list[tuple[Any, int]]) -> Marks:
    """Give looks to classes, the most frequent ones first.

    Examples
    --------
    >>> from leaven.report._map import marks_of
    >>> marks_of([("a", 3), ("b", 7)]).place
    {'b': 0, 'a': 1}
    """
    ordered = [str(label) for label, _ in sorted(counts, key=lambda pair: -pair[1])]
    own = {label: place for place, label in enumerate(ordered[:N_COLORS])}
    return Marks(own, len(ordered) - len(own))


def thin(given: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Choose at most ``MOST_POINTS`` places, evenly, sparing the labeled ones.

    Parameters
    ----------
    given : bool array
        Whether the row at each place came with a label.

    Returns
    -------
    kept : ndarray of int
        Inferred ones first, so that the labeled ones are drawn on top.
    """
    large, small = np.flatnonzero(given), np.flatnonzero(~given)
    large = _evenly(large, max(_MOST_LARGE, MOST_POINTS - len(small)))
    return np.concatenate([_evenly(small, MOST_POINTS - len(large)), large])


def spots(
    xy: NDArray[np.float64], classes: NDArray[np.intp], given: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Put rows of one class on one spot together.

    Parameters
    ----------
    xy : ndarray of shape (n, 2)
        In percent of the picture.
    classes : ndarray of shape (n,)
    given : bool array of shape (n,)

    Returns
    -------
    first : ndarray of int
        The first row of each group, ascending.
    counts : ndarray of int
        The rows in each.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.report._map import spots
    >>> xy = np.array([[5.0, 7.0], [5.0, 7.0], [5.0, 9.0], [5.0, 7.0]])
    >>> spots(xy, np.array([0, 0, 0, 1]), np.zeros(4, dtype=bool))
    (array([0, 2, 3]), array([2, 1, 1]))
    """
    keys = np.column_stack([np.round(xy, _SPOT), classes, given])
    _, first, counts = np.unique(keys, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    return first[order], counts[order]


def _bubble(n_rows: int) -> str:
    """Return the suffix of the symbol that stands for so many rows."""
    return next(suffix for least, (suffix, _) in _BUBBLES.items() if n_rows >= least)


def _evenly(places: NDArray[np.intp], n_most: int) -> NDArray[np.intp]:
    if len(places) <= n_most:
        return places
    return places[np.linspace(0, len(places) - 1, n_most).round().astype(np.intp)]


def draw_map(points: pd.DataFrame, rows: Rows, marks: Marks) -> tuple[str, int]:
    """Draw the map and tell how many rows are on it.

    Parameters
    ----------
    points : DataFrame
        With ``row``, ``x`` and ``y``.
    rows : Rows
    marks : Marks

    Returns
    -------
    html : str
    n_drawn : int
        0 if no point has a place.
    """
    xy: NDArray[Any] = points[["x", "y"]].to_numpy(dtype=float)
    finite = np.isfinite(xy).all(axis=1)
    positions, xy = points["row"].to_numpy(dtype=np.intp)[finite], xy[finite]
    if not len(positions):
        return "", 0
    xy = _spread(xy)
    numbers = np.array([marks.number(rows.label(row)) for row in positions], dtype=np.intp)
    heads, counts = spots(xy, numbers, rows.given[positions])
    kept = thin(rows.given[positions[heads]])
    # Large bubbles first, so that a small one on the same spot is drawn on top.
    kept = kept[np.lexsort((-counts[kept], rows.given[positions[heads[kept]]]))]
    heads, counts = heads[kept], counts[kept]
    positions, xy = positions[heads], xy[heads]
    small = _radius(len(positions), (300, 800), (5.0, 4.0, 3.2))
    large = _radius(int(rows.given[positions].sum()), (100, 300), (7.5, 6.0, 4.5))
    large = max(large, small + 1.0)
    symbols = "".join(
        _symbol(f"s{number}{suffix}", number, factor * small)
        + _symbol(f"b{number}{suffix}", number, factor * large)
        for suffix, factor in _BUBBLES.values()
        for number in [*marks.place.values(), *([N_COLORS] if marks.n_rest else [])]
    )
    budget, parts = _TITLE_BUDGET, []
    for row, (x, y), n_here in zip(positions, xy, counts, strict=True):
        number = marks.number(rows.label(row))
        title = safe(_title(rows, row, _TITLE_CELLS if budget > 0 else 0, int(n_here)), 1000)
        budget -= len(title.encode())
        look = "rest" if number == N_COLORS else f"k{number}"
        size, prefix = ("large", "b") if rows.given[row] else ("small", "s")
        symbol = f"{prefix}{number}{_bubble(int(n_here))}"
        parts.append(
            f'<use href="#{symbol}" class="{size} {look}" x="{x:.2f}%" y="{y:.2f}%">'
            f"<title>{title}</title></use>"
        )
    n_rows, n_labeled = int(counts.sum()), int(counts[rows.given[positions]].sum())
    label = f"Map of {n_rows:,} rows, {n_labeled:,} of them labeled"
    picture = element(
        "svg",
        f'<defs>{symbols}</defs>{"".join(parts)}<circle id="ring" r="11"/>',
        role="img",
        aria_label=label,
        id="map-svg",
    )
    html = element(
        "div",
        picture + '<div id="tip" aria-hidden="true"></div>',
        id="map",
        class_="map",
        tabindex="0",
        role="application",
        aria_roledescription="map",
        aria_label=f"{label}. Arrow keys go from row to row.",
    )
    return f'{html}<p id="said" class="unseen" aria-live="polite"></p>', n_rows


def _radius(n_marks: int, steps: tuple[int, int], sizes: tuple[float, float, float]) -> float:
    """Return the size of a mark: the more there are, the smaller."""
    return sizes[sum(n_marks > step for step in steps)]


def _spread(xy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring coordinates to percentages of the picture, y upward."""
    low, span = xy.min(axis=0), np.ptp(xy, axis=0)
    unit = np.where(span > 0, (xy - low) / np.where(span > 0, span, 1.0), 0.5)
    unit[:, 1] = 1.0 - unit[:, 1]
    return _MARGIN + (100.0 - 2.0 * _MARGIN) * unit


def _symbol(id_: str, number: int, radius: float) -> str:
    shape = _CLOSED_SHAPES[number % N_COLORS]
    sizes = {"r": 1.0, "d": 2.0, "s": 0.88, "t": 1.2, "w": 0.42}
    path = shape.format(**{key: f"{factor * radius:.1f}" for key, factor in sizes.items()})
    return f'<path id="{id_}" d="{path}"/>'


def _title(rows: Rows, row: int, n_cells: int, n_here: int) -> str:
    """Say what is known of a row, a line each, and how many others are on its spot."""
    label = plain(rows.label(row), 60)
    how = "label given" if rows.given[row] else f"inferred, confidence {rows.confidence[row]:.2f}"
    lines = [f"Row {row + 1:,}: {label} ({how})"]
    for column, cell in rows.cells(row)[:n_cells]:
        lines.append(f"{plain(column, 30)}: {plain(cell, _TITLE_CELL)}")
    if n_here > 1:
        others = "1 row" if n_here == 2 else f"{n_here - 1:,} rows"
        lines.append(f"and {others} more of this class here")
    return "\n".join(lines)


def map_legend(marks: Marks) -> str:
    """Name the classes by color and shape, and the two sizes."""
    items = [
        f"<li>{_swatch(f'b{place}', f'k{place}')}<bdi>{safe(label, 60)}</bdi></li>"
        for label, place in marks.place.items()
    ]
    if marks.n_rest:
        items.append(f"<li>{_swatch(f'b{N_COLORS}', 'rest')}{marks.n_rest:,} other classes</li>")
    return f'<ul class="legend" aria-label="Classes">{"".join(items)}</ul>'


def _swatch(symbol: str, look: str) -> str:
    return (
        f'<svg aria-hidden="true" class="{look}">'
        f'<use href="#{symbol}" class="key {look}" x="12" y="9"/></svg>'
    )
