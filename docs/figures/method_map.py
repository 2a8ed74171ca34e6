"""Draw the map of methods: ``python docs/figures/method_map.py`` writes docs/images/method_map.svg.

The map is data: questions on the left, answers with a link to the page of the method on the
right. Every box is a link.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

IMAGE = Path(__file__).parents[1] / "images" / "method_map.svg"

# What you have, then (condition, method, page) in the order in which to think of them.
MAP: list[tuple[str, list[tuple[str, str, str]]]] = [
    (
        "a table (CSV, Parquet, data frame)",
        [
            ("just label it", "leaven label", "tables.html"),
            ("a person can answer questions", "leaven annotate", "annotate.html"),
            ("more rows than fit", "leaven label 'rows/*.parquet'", "large.html"),
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
        "a classifier that you like",
        [
            ("let it label for itself", "SelfTrainingClassifier", "self_labeling.html"),
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
    ("sequences", [("labels along them", "SemiSupervisedHMM", "generative.html")]),
    ("a stream of rows", [("ask now or never", "StreamSampler", "active.html")]),
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

ROW, LEFT, MIDDLE, RIGHT, WIDTH = 30, 12, 262, 498, 800  # pixels; it is shown at half this width


def box(x: int, y: int, width: int, text: str, link: str | None, kind: str) -> str:
    """Draw a box with a line of text."""
    drawn = (
        f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="22" rx="5"/>'
        f'<text x="{x + 9}" y="{y + 15}">{escape(text)}</text>'
    )
    return drawn if link is None else f'<a href="{escape(link)}" target="_top">{drawn}</a>'


def draw() -> str:
    """Return the map as SVG."""
    parts, y = [], 34
    for have, answers in MAP:
        top = y
        for condition, method, page in answers:
            parts.append(f'<path d="M{LEFT + 228} {top + 11} H{MIDDLE - 14} V{y + 11} H{MIDDLE}"/>')
            parts.append(f'<path d="M{MIDDLE + 216} {y + 11} H{RIGHT}"/>')
            parts.append(box(MIDDLE, y, 216, condition, None, "is"))
            parts.append(box(RIGHT, y, 290, method, page, "try"))
            y += ROW
        parts.append(box(LEFT, top, 228, have, answers[0][2], "have"))
        y += 8
    heads = [(LEFT, "What do you have?"), (MIDDLE, "What is it like?"), (RIGHT, "Try")]
    titles = "".join(f'<text x="{x}" y="20" font-weight="bold">{text}</text>' for x, text in heads)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" role="img" '
        'class="map" font-family="sans-serif" font-size="12.5"><title>Which method</title>'
        f'<style>{STYLE}</style><rect class="paper" width="{WIDTH}" height="{y}"/>'
        f"{titles}<g>"
        + "".join(part for part in parts if part.startswith("<path"))
        + "</g><g>"
        + "".join(part for part in parts if not part.startswith("<path"))
        + "</g></svg>\n"
    )


if __name__ == "__main__":
    IMAGE.write_text(draw(), encoding="utf-8")
