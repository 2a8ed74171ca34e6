"""Draw the map: ``python docs/figures/method_map.py`` writes docs/images/method_map*.svg.

The map is data: what you have on the left, what it is like in the middle, and the method on the
right. Every box is a link to a page. Three columns are too wide for a phone, which gets the narrow
form: each method below its condition.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

IMAGES = Path(__file__).parents[1] / "images"

# What you have, then (condition, method, page) in the order in which to think of them.
MAP: list[tuple[str, list[tuple[str, str, str]]]] = [
    (
        "a table (CSV, Parquet, data frame)",
        [
            ("just label it", "leaven label", "tables.html"),
            ("someone can label rows", "leaven annotate", "annotate.html"),
            ("more rows than fit in memory", "leaven label 'rows/*.parquet'", "large.html"),
        ],
    ),
    (
        "a matrix of numbers",
        [
            ("not sure what helps", "SafeClassifier", "safe.html"),
            ("clusters of any shape", "HarmonicClassifier, PoissonMBO", "harmonic.html"),
            ("round clusters, probabilities", "SemiSupervisedGaussianMixture", "generative.html"),
            ("a gap between two classes", "TransductiveSVC", "low_density.html"),
            ("one or two labels per class", "PoissonClassifier", "graph_based.html"),
            ("a million rows", "AnchorGraphClassifier", "graph_based.html"),
        ],
    ),
    (
        "texts",
        [
            ("few labels per class", "harmonic on cosine neighbors", "graph_based.html"),
            ("word counts, probabilities", "SemiSupervisedMultinomialNB", "generative.html"),
            ("two views of each text", "CoTrainingClassifier", "self_labeling.html"),
        ],
    ),
    (
        "your own classifier",
        [
            ("train it on its own labels", "SelfTrainingClassifier", "self_labeling.html"),
            ("trees", "CoForestClassifier", "self_labeling.html"),
        ],
    ),
    (
        "images",
        [
            (
                "vectors from a network",
                "PoissonClassifier, cosine",
                "../tutorials/label_images.html",
            ),
            ("pixels only", "RBMPretrainedClassifier", "deep.html"),
        ],
    ),
    ("a graph", [("edges are given", "GivenGraph + any graph method", "graphs.html")]),
    ("sequences", [("a label for each element", "SemiSupervisedHMM", "generative.html")]),
    ("a stream of rows", [("label it now or never", "StreamSampler", "active.html")]),
]

# Variables of the site's theme, in light and dark; a viewer without them has the others.
STYLE = """
.map text { fill: var(--color-foreground-primary, #1b1f24); }
.map path { stroke: var(--color-foreground-muted, #9aa4b0); fill: none; }
.map rect { stroke: var(--color-foreground-muted, #9aa4b0); }
.map .paper { fill: var(--color-background-primary, #ffffff); stroke: none; }
.map .is { fill: var(--color-background-primary, #ffffff); }
.map .have { fill: var(--color-background-secondary, #fdf1e3); }
.map .try { fill: var(--color-background-hover, #eaf2fb); }
.map a:hover .try { stroke: var(--color-brand-primary, #3b6fb6); stroke-width: 2; }
"""

ROW, LEFT, MIDDLE, RIGHT, WIDTH = 30, 12, 262, 498, 800  # pixels
PHONE = 360  # pixels that a page leaves on a screen of 400


def box(x: int, y: int, width: int, text: str, link: str, kind: str) -> str:
    """Draw a box with a line of text, which is a link."""
    return (
        f'<a href="{escape(link)}" target="_top">'
        f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="22" rx="5"/>'
        f'<text x="{x + 9}" y="{y + 15}">{escape(text)}</text></a>'
    )


def frame(kind: str, width: int, height: int, content: str) -> str:
    """Put what was drawn on a ground, with the style of the map."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'class="map {kind}" font-family="sans-serif" font-size="12.5"><title>Which method</title>'
        f'<style>{STYLE}</style><rect class="paper" width="{width}" height="{height}"/>'
        f"{content}</svg>\n"
    )


def draw_wide() -> str:
    """Return the map in three columns as SVG."""
    parts, y = [], 34
    for have, answers in MAP:
        top = y
        for condition, method, page in answers:
            parts.append(f'<path d="M{LEFT + 228} {top + 11} H{MIDDLE - 14} V{y + 11} H{MIDDLE}"/>')
            parts.append(f'<path d="M{MIDDLE + 216} {y + 11} H{RIGHT}"/>')
            parts.append(box(MIDDLE, y, 216, condition, page, "is"))
            parts.append(box(RIGHT, y, 290, method, page, "try"))
            y += ROW
        parts.append(box(LEFT, top, 228, have, answers[0][2], "have"))
        y += 8
    heads = [(LEFT, "What do you have?"), (MIDDLE, "What is it like?"), (RIGHT, "Try")]
    titles = "".join(f'<text x="{x}" y="20" font-weight="bold">{text}</text>' for x, text in heads)
    lines = "".join(part for part in parts if part.startswith("<path"))
    boxes = "".join(part for part in parts if not part.startswith("<path"))
    return frame("wide", WIDTH, y, f"{titles}<g>{lines}</g><g>{boxes}</g>")


def draw_narrow() -> str:
    """Return the map for a phone as SVG: a heading, then each condition above its method."""
    parts, y = [], 8
    for have, answers in MAP:
        parts.append(box(4, y, PHONE - 8, have, answers[0][2], "have"))
        y += ROW + 4
        for condition, method, page in answers:
            parts.append(f'<text x="24" y="{y + 8}">{escape(condition)}:</text>')
            parts.append(box(24, y + 14, PHONE - 28, method, page, "try"))
            y += ROW + 16
        y += 8
    return frame("narrow", PHONE, y, "".join(parts))


DRAWN = {"method_map.svg": draw_wide, "method_map_narrow.svg": draw_narrow}

if __name__ == "__main__":
    for name, draw in DRAWN.items():
        (IMAGES / name).write_text(draw(), encoding="utf-8")
