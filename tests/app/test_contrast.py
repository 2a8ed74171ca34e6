"""The colors of the page, by the formula of WCAG 2.2 (relative luminance, section 1.4.3)."""

import re
from importlib.resources import files

import pytest

CSS = (files("leaven.app") / "static" / "style.css").read_text(encoding="utf-8")
WORDS, GROUNDS = ("ink", "soft", "accent", "good", "bad"), ("page", "card", "panel")
CLASSES = tuple(f"k{i}" for i in range(8))
PAIRS = [
    *((word, ground) for word in (*WORDS, *CLASSES) for ground in GROUNDS if word not in CLASSES),
    *((own, ground) for own in CLASSES for ground in ("card", "panel")),
    *(("on-accent", "accent"), ("card", "bad"), ("ink", "mark")),
]


def palette(scheme):
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})\b", block))
        for block in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    )
    return light if scheme == "light" else {**light, **dark}


def luminance(color):
    digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, two):
    dark, light = sorted([luminance(one), luminance(two)])
    return (light + 0.05) / (dark + 0.05)


def test_the_formula_on_known_pairs():
    assert contrast("#000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#fff") == pytest.approx(4.48, abs=0.005)  # the classic near miss


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_and_fields_can_be_seen(scheme):
    colors = palette(scheme)
    assert len(PAIRS) == 34
    weak = {pair: contrast(colors[pair[0]], colors[pair[1]]) for pair in PAIRS}
    assert {pair: found for pair, found in weak.items() if found < 4.5} == {}
    for ground in ("card", "page"):  # the edge of a field, the ring around what has the focus
        assert contrast(colors["edge"], colors[ground]) >= 3
        assert contrast(colors["accent"], colors[ground]) >= 3
