"""Pictures of the report as SVG.

The pictures have no view box: positions along x are percentages, so that a picture is as wide
as the screen while letters, markers and lines keep their size. Only the bands and lines of a
curve are stretched, in a picture inside the picture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven.report._selection import Trial, is_share, score_format, tried
from leaven.report._text import element, percent, plain, points, safe

if TYPE_CHECKING:
    from leaven.model_selection import SafeReport

N_BINS = 10  # of the confidences: tenths, which readers know how to name
MOST_CURVES = 6  # as many as there are dashes below; more lines cannot be told apart

_DASHES = ["none", "7 4", "2 4", "9 3 2 3", "12 4", "4 2"]


def ticks(low: float, high: float, n_most: int = 6) -> list[float]:
    """Round numbers from at most ``low`` to at least ``high``.

    Examples
    --------
    >>> from leaven.report._figures import ticks
    >>> ticks(0.61, 0.93)
    [0.6, 0.7, 0.8, 0.9, 1.0]
    """
    span = max(high - low, 1e-3)
    power = 10.0 ** np.floor(np.log10(span / n_most))
    for factor in (1, 2, 5, 10, 20):
        step = factor * power
        first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
        if last - first < n_most:
            break
    return [round(float(step * number), 10) for number in range(int(first), int(last) + 1)]


def accuracy_range(low: float, high: float) -> list[float]:
    """Ticks for shares, never outside 0 and 1."""
    return [tick for tick in ticks(max(low, 0.0), min(high, 1.0)) if 0.0 <= tick <= 1.0]


def marker(number: int, x: str, y: float, size: float, class_: str) -> str:
    """One of the shapes that tell curves apart without color, around ``x`` and ``y``."""
    if number % 3 == 0:
        return f'<circle cx="{x}" cy="{y:.1f}" r="{size}" class="{class_}"/>'
    if number % 3 == 1:
        side = 1.8 * size
        shift = f"translate({-side / 2:.1f} {-side / 2:.1f})"
        return (
            f'<rect x="{x}" y="{y:.1f}" width="{side:.1f}" height="{side:.1f}" '
            f'transform="{shift}" class="{class_}"/>'
        )
    r = 1.3 * size
    path = f"M0 {-r:.1f}L{r:.1f} 0L0 {r:.1f}L{-r:.1f} 0Z"
    # A path takes no percentages; a picture inside the picture does.
    return (
        f'<svg x="{x}" y="{y:.1f}" width="1" height="1" overflow="visible">'
        f'<path d="{path}" class="{class_}"/></svg>'
    )


def whiskers(selection: SafeReport) -> str:
    """Draw the score of every candidate with its interval, the best one on top."""
    found = tried(selection)
    show = score_format(selection)
    low = min(min(trial.low, trial.score) for trial in found)
    high = max(max(trial.high, trial.score) for trial in found)
    axis = accuracy_range(low, high) if is_share(selection) else ticks(low, high)
    left, right = axis[0], max(axis[-1], axis[0] + 1e-9)

    def place(value: float) -> str:
        return f"{100 * (min(max(value, left), right) - left) / (right - left):.2f}%"

    step, top = 46, 8
    bottom = top + step * len(found)
    write = (lambda tick: percent(tick, 0)) if is_share(selection) else "{:g}".format
    parts = [_tick(place(tick), write(tick), top, bottom) for tick in axis]
    parts.append(f'<line class="axis" x1="0" x2="100%" y1="{bottom}" y2="{bottom}"/>')
    base = [trial.score for trial in found if trial.name == selection.best_supervised]
    if base:
        x = place(base[0])
        parts.append(f'<line class="reference" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>')
    for number, trial in enumerate(found):
        chosen = trial.name == selection.choice
        parts.append(_whisker(trial, chosen, top + step * number, place, show))
    label = f"{selection.scoring.capitalize()} of the methods on labels held out, best first: "
    label += ", ".join(f"{trial.name} {show(trial.score)}" for trial in found)
    return _picture("methods-svg", label, bottom + 24, "".join(parts))


def _whisker(
    trial: Trial,
    chosen: bool,
    y: float,
    place: Callable[[float], str],
    show: Callable[[float], str],
) -> str:
    kind = "with" if trial.uses_unlabeled else "without"
    x, at = place(trial.score), y + 30
    title = (
        f"{trial.name}: {show(trial.score)} ({show(trial.low)} to {show(trial.high)}), "
        f"{kind} unlabeled rows"
    )
    shape = marker(0, x, at, 6, "ink") if trial.uses_unlabeled else marker(1, x, at, 6, "hollow")
    ends = "".join(
        f'<line x1="{place(end)}" x2="{place(end)}" y1="{at - 5}" y2="{at + 5}" class="whisker"/>'
        for end in (trial.low, trial.high)
    )
    return (
        f'<g class="{kind}"><title>{safe(title)}</title>'
        f'<text x="0" y="{y + 15}" class="{"name chosen" if chosen else "name"}">'
        f"{'★ ' if chosen else ''}{safe(trial.name, 30)}{' (chosen)' if chosen else ''}</text>"
        f'<text x="100%" y="{y + 15}" text-anchor="end">{show(trial.score)}</text>'
        f'<line x1="{place(trial.low)}" x2="{place(trial.high)}" y1="{at}" y2="{at}" '
        f'class="whisker"/>{ends}{shape}</g>'
    )


def method_legend() -> str:
    """Tell the two kinds of methods apart, and what the dashed line is."""
    return (
        '<ul class="legend">'
        f'<li><svg class="with" aria-hidden="true"><line class="whisker" x1="0" x2="30" y1="8" '
        f'y2="8"/>{marker(0, "15", 8, 6, "ink")}</svg>learns from the unlabeled rows too</li>'
        f'<li><svg class="without" aria-hidden="true"><line class="whisker" x1="0" x2="30" y1="8" '
        f'y2="8"/>{marker(1, "15", 8, 6, "hollow")}</svg>learns from the labeled rows only</li>'
        '<li><svg aria-hidden="true"><line class="reference" x1="15" x2="15" y1="-1" y2="17"/>'
        "</svg>the best of the latter</li></ul>"
    )


def _picture(id_: str, label: str, height: float, content: str) -> str:
    return element(
        "svg", content, id=id_, role="img", aria_label=plain(label, 2000), height=f"{height:.0f}"
    )


def _tick(x: str, text: str, top: float, bottom: float) -> str:
    anchor = {"0.00%": "start", "100.00%": "end"}.get(x, "middle")
    written = f'<text x="{x}" y="{bottom + 17}" text-anchor="{anchor}">{text}</text>'
    if anchor != "middle":  # Names and numbers stand there.
        return written
    return f'<line class="grid" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>{written}'


def histogram(values: NDArray[np.float64]) -> str:
    """Draw how many values lie in each tenth from 0 to 1."""
    counts, _ = np.histogram(values, bins=N_BINS, range=(0.0, 1.0))
    most = max(int(counts.max(initial=0)), 1)
    top, height = 22, 130
    bottom = top + height
    parts = [f'<line class="axis" x1="0" x2="100%" y1="{bottom}" y2="{bottom}"/>']
    for number, n in enumerate(counts.tolist()):
        tall = height * n / most
        low, high = number / N_BINS, (number + 1) / N_BINS
        middle = f"{100 * (low + high) / 2:.1f}%"
        parts.append(
            f"<g><title>{low:.1f} to {high:.1f}: {n:,} rows</title>"
            f'<rect class="bar" x="{100 * low + 0.4:.1f}%" width="{100 / N_BINS - 0.8:.1f}%" '
            f'y="{bottom - tall:.1f}" height="{tall:.1f}"/>'
            f'<text x="{middle}" y="{bottom - tall - 5:.1f}" text-anchor="middle">'
            f"{_short(n) if n else ''}</text></g>"
        )
    for tick in range(0, N_BINS + 1, 2):
        anchor = "start" if tick == 0 else "end" if tick == N_BINS else "middle"
        parts.append(
            f'<text x="{100 * tick / N_BINS:.0f}%" y="{bottom + 17}" text-anchor="{anchor}">'
            f"{tick / N_BINS:.1f}</text>"
        )
    label = "Histogram of the confidence of the inferred labels. " + " ".join(
        f"{number / N_BINS:.1f} to {(number + 1) / N_BINS:.1f}: {n:,} rows."
        for number, n in enumerate(counts.tolist())
        if n
    )
    return _picture("confidence-svg", label, bottom + 24, "".join(parts))


def _short(number: int) -> str:
    """Return a number in few characters, for a narrow bar."""
    if number < 1000:
        return str(number)
    thousands, unit = (number / 1e3, "k") if number < 999_500 else (number / 1e6, "M")
    return f"{thousands:.1f}{unit}" if thousands < 9.95 else f"{thousands:.0f}{unit}"


def share_bars(given: float, inferred: float, most: float) -> str:
    """Draw two bars: the share among the given labels above that among the inferred ones."""
    scale = 98 / max(most, 1e-9)
    return (
        '<svg aria-hidden="true">'
        f'<rect class="given" x="1" y="2" width="{scale * given:.1f}%" height="8"/>'
        f'<rect class="bar" x="1" y="14" width="{scale * inferred:.1f}%" height="9"/></svg>'
    )


def curves(frame: pd.DataFrame, methods: Sequence[str]) -> str:
    """Draw accuracy against the number of labels, with a band of one standard error."""
    frame = frame[frame["method"].isin(list(methods))]
    accuracy = frame["accuracy"].to_numpy(dtype=float)
    error = np.nan_to_num(frame["standard_error"].to_numpy(dtype=float))
    axis = accuracy_range(float(np.min(accuracy - error)), float(np.max(accuracy + error)))
    sizes = np.unique(frame["n_labeled"].to_numpy(dtype=float))
    top, height = 10, 230
    bottom = top + height

    def across(size: float) -> float:
        # Labels are worth the less the more there are: doublings have equal widths.
        if sizes[0] == sizes[-1]:
            return 50.0
        if sizes[0] <= 0:
            return float(100 * (size - sizes[0]) / (sizes[-1] - sizes[0]))
        return float(100 * np.log(size / sizes[0]) / np.log(sizes[-1] / sizes[0]))

    def down(value: float) -> float:
        span = max(axis[-1] - axis[0], 1e-9)
        return 100 * (1 - (min(max(value, axis[0]), axis[-1]) - axis[0]) / span)

    parts = []
    for tick in axis:
        y = top + height * down(tick) / 100
        parts.append(
            f'<line class="grid" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="-8" y="{y + 4.5:.1f}" text-anchor="end">{percent(tick, 0)}</text>'
        )
    last = -np.inf
    for size in sizes:
        # Far enough apart that the numbers do not touch on a phone.
        if across(size) - last >= 9:
            last = across(size)
            parts.append(
                f'<text x="{last:.2f}%" y="{bottom + 18}" text-anchor="middle">{size:,.0f}</text>'
            )
    stretched, dots = [], []
    for number, method in enumerate(methods):
        own = frame[frame["method"] == method].sort_values("n_labeled")
        xs = [across(size) for size in own["n_labeled"]]
        mean = own["accuracy"].to_numpy(dtype=float)
        spread = np.nan_to_num(own["standard_error"].to_numpy(dtype=float))
        upper = [f"{x:.2f},{down(v):.2f}" for x, v in zip(xs, mean + spread, strict=True)]
        lower = [f"{x:.2f},{down(v):.2f}" for x, v in zip(xs, mean - spread, strict=True)]
        line = [f"{x:.2f},{down(v):.2f}" for x, v in zip(xs, mean, strict=True)]
        stretched.append(
            f'<g class="k{number}"><polygon class="band" points="{" ".join(upper + lower[::-1])}"/>'
            f'<polyline class="curve" stroke-dasharray="{_DASHES[number]}" '
            f'points="{" ".join(line)}"/></g>'
        )
        for x, size, value, se in zip(xs, own["n_labeled"], mean, spread, strict=True):
            title = f"{method}, {size:,.0f} labels: {percent(value)} ± {points(se, signed=False)}"
            y = top + height * down(value) / 100
            dots.append(
                f'<g class="k{number}"><title>{safe(title)}</title>'
                f"{marker(number, f'{x:.2f}%', y, 4.5, 'ink')}</g>"
            )
    inner = (
        f'<svg x="0" y="{top}" width="100%" height="{height}" viewBox="0 0 100 100" '
        f'preserveAspectRatio="none">{"".join(stretched)}</svg>'
    )
    label = "Learning curve: accuracy against the number of labels. " + " ".join(
        _in_words(frame[frame["method"] == method], method) for method in methods
    )
    return _picture("curve-svg", label, bottom + 24, "".join([*parts, inner, *dots]))


def _in_words(own: pd.DataFrame, method: str) -> str:
    own = own.sort_values("n_labeled")
    first, last = own.iloc[0], own.iloc[-1]
    return (
        f"{method}: {percent(first['accuracy'])} with {first['n_labeled']:,.0f} labels, "
        f"{percent(last['accuracy'])} with {last['n_labeled']:,.0f}."
    )


def curve_legend(methods: Sequence[str]) -> str:
    """Name the curves: line, marker and text."""
    items = [
        f'<li><svg class="k{number}" aria-hidden="true"><line class="curve" x1="0" x2="30" y1="8" '
        f'y2="8" stroke-dasharray="{_DASHES[number]}"/>{marker(number, "15", 8, 4.5, "ink")}</svg>'
        f"{safe(method, 60)}</li>"
        for number, method in enumerate(methods)
    ]
    return f'<ul class="legend">{"".join(items)}</ul>'
