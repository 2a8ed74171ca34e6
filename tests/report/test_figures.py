"""The pictures: marks stand where the numbers say."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaven.report._figures import (
    _short,
    curves,
    histogram,
    marker,
    share_bars,
    ticks,
    whiskers,
)
from leaven.report._map import MOST_POINTS, draw_map, marks_of, thin
from leaven.report._rows import Rows
from leaven.report._style import DARK, LIGHT


@settings(max_examples=50, deadline=None)
@given(st.floats(-2, 2), st.floats(0.0005, 3))
def test_ticks_cover_the_range_in_few_even_steps(low, span):
    found = ticks(low, low + span)
    assert found[0] <= low + 1e-6
    assert found[-1] >= low + span - 1e-6
    assert 2 <= len(found) <= 7
    assert np.allclose(np.diff(found), found[1] - found[0])


def test_whiskers_stand_at_the_scores(make_selection):
    # The lowest end is 0.51 and the highest 0.91: the axis goes from 0.5 to 1.0.
    text = whiskers(make_selection())
    groups = re.findall(r'<g class="(with|without)"><title>(\S+): .*?</g>', text)
    assert groups == [
        *(("with", "harmonic"), ("without", "bayes")),
        *(("with", "self-training"), ("without", "ridge")),
    ]
    assert 'circle cx="62.00%"' in text  # harmonic: (0.81 - 0.5) / 0.5
    assert 'x1="44.00%" x2="82.00%"' in text  # its interval, 0.72 to 0.91
    assert 'rect x="24.00%"' in text  # ridge: (0.62 - 0.5) / 0.5
    assert 'class="reference" x1="36.00%"' in text  # the best supervised one, 0.68
    assert text.count("(chosen)") == 1
    assert "★ harmonic (chosen)" in text
    # The name of a method and its score stand on one line, above the interval.
    names = [float(y) for y in re.findall(r'<text x="0" y="([\d.-]+)" class="name', text)]
    scores = [float(y) for y in re.findall(r'<text x="100%" y="([\d.-]+)" text-anchor="end"', text)]
    places = [float(y) for y in re.findall(r'y1="([\d.-]+)" y2="\1" class="whisker"', text)]
    assert len(names) == len(places) == 4
    assert names == scores[:4]
    assert all(0 < at - name < 30 for name, at in zip(names, places, strict=True))


def test_whiskers_of_methods_that_were_all_right(make_selection):
    # One tick, for there is no range.
    candidates = make_selection().candidates.copy()
    candidates[["score", "low", "high"]] = candidates[["score", "low", "high"]] * 0.0 + 1.0
    text = whiskers(make_selection(candidates=candidates))
    assert len(re.findall(r'<(?:circle c|rect )x="0\.00%"', text)) == 4
    assert "nan" not in text


def test_whiskers_of_another_score(make_selection):
    selection = make_selection(scoring="neg_log_loss")
    candidates = selection.candidates.assign(
        **{key: selection.candidates[key] - 1.0 for key in ("score", "low", "high")}
    )
    text = whiskers(dataclasses.replace(selection, candidates=candidates))
    assert "-0.190" in text
    assert "%</text>" not in text


def test_histogram_heights_are_in_proportion():
    text = histogram(np.array([0.05, 0.55, 0.55, 0.55, 0.55, 1.0, 1.0]))
    heights = [float(h) for h in re.findall(r'height="([\d.]+)"/>', text)]
    assert heights == pytest.approx([32.5, 0, 0, 0, 0, 130, 0, 0, 0, 65])
    assert "0.9 to 1.0: 2 rows." in text
    # With the same gap on both sides of each.
    bars = [tuple(map(float, b)) for b in re.findall(r'x="([\d.]+)%" width="([\d.]+)%"', text)]
    assert bars == [(10.0 * number + 0.4, 9.2) for number in range(10)]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (7, "7"),
        (999, "999"),
        (4231, "4.2k"),
        (12_600, "13k"),
        (999_700, "1.0M"),
        (25_000_000, "25M"),
    ],
)
def test_large_counts_are_short(number, text):
    assert _short(number) == text


def test_markers_are_centered_on_their_point():
    circle, square, diamond = (marker(number, "30%", 12.0, 5.0, "c") for number in range(3))
    assert 'cx="30%" cy="12.0" r="5.0"' in circle
    # A square of nine, moved back by half of it: the point is in its middle.
    assert 'x="30%" y="12.0" width="9.0" height="9.0" transform="translate(-4.5 -4.5)"' in square
    assert 'd="M0 -6.5L6.5 0L0 6.5L-6.5 0Z"' in diamond
    assert marker(3, "30%", 12.0, 5.0, "c") == circle


def test_share_bars_are_in_proportion():
    assert re.findall(r'width="([\d.]+)%"', share_bars(0.2, 0.3, 0.6)) == ["32.7", "49.0"]


def test_curves_pass_through_the_numbers():
    frame = pd.DataFrame(
        {
            "method": ["a"] * 3 + ["b"] * 2,
            "n_labeled": [20, 5, 10, 5, 20],
            "accuracy": [0.9, 0.5, 0.65, 0.55, 0.7],
            "standard_error": [0.1, 0.1, 0.05, np.nan, 0.02],
        }
    )
    text = curves(frame, ["a", "b"])
    # From 0.4 to 1.0, upward; 10 labels lie halfway between 5 and 20.
    assert 'points="0.00,83.33 50.00,58.33 100.00,16.67"' in text
    band = "0.00,66.67 50.00,50.00 100.00,0.00 100.00,33.33 50.00,66.67 0.00,100.00"
    assert f'points="{band}"' in text
    assert text.count("<title>") == 5
    # The numbers of the axis stand on its lines: half of their height below the middle.
    lines = re.findall(r'<line class="grid"[^>]*y1="([\d.]+)"[^>]*/><text[^>]* y="([\d.]+)"', text)
    assert len(lines) >= 3
    assert all(float(y) - float(line) == pytest.approx(4.5, abs=0.11) for line, y in lines)
    assert curves(frame.iloc[:1], ["a"]).count("<title>") == 1


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 5000), st.integers(0, 5000))
def test_thinning_keeps_labeled_rows_and_draws_them_last(n_large, n_small):
    given_rows = np.arange(n_large + n_small) < n_large
    kept = thin(given_rows)
    assert len(kept) == len(set(kept.tolist())) == min(len(given_rows), MOST_POINTS)
    n_kept = int(given_rows[kept].sum())
    assert n_kept >= min(n_large, MOST_POINTS // 2)
    assert not given_rows[kept[: len(kept) - n_kept]].any()


def test_map_places_points_and_tells_the_row(rich_result):
    rows = Rows(rich_result)
    marks = marks_of([(each.name, each.inferred) for each in rich_result.summary.classes])
    given_row = int(np.flatnonzero(rows.given)[0])
    other = int(rows.inferred[11])
    points = pd.DataFrame({"row": [given_row, other, 3], "x": [1.0, 5.0, 2.0], "y": [7.0, 3, 4]})
    text, n_drawn = draw_map(points, rows, marks)
    assert n_drawn == 3
    uses = re.findall(r'class="(\w+) (\w+)" x="([\d.]+)%" y="([\d.]+)%"><title>([^<]*)', text)
    assert [use[0] for use in uses] == ["small", "small", "large"]
    assert [use[2:4] for use in uses] == [("97.00", "97.00"), ("26.50", "73.50"), ("3.00", "3.00")]
    assert uses[2][1] == f"k{marks.number(rows.label(given_row))}"
    confidence = rich_result.table["variety_confidence"].iloc[other]
    label = rich_result.table["variety_predicted"].iloc[other]
    site = rich_result.table["site"].iloc[other]
    assert uses[0][4].startswith(
        f"Row {other + 1}: {label} (inferred, confidence {confidence:.2f})"
    )
    assert f"site: {site}" in uses[0][4]
    assert "(label given)" in uses[2][4]


def test_rare_classes_share_one_look():
    marks = marks_of([(i, i) for i in range(20)])
    assert marks.place["19"] == 0
    assert marks.number(12) == 7
    assert marks.number(11) == marks.number(3) == 8
    assert marks.n_rest == 12


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first, second):
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colors", [LIGHT, DARK])
def test_contrast_is_as_wcag_asks(colors):
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for name in ("ink", "soft", "accent"):
        for ground in ("page", "panel"):
            assert contrast(colors[name], colors[ground]) >= 4.5, (name, ground)
    for name in [f"k{number}" for number in range(8)] + ["rest"]:
        assert contrast(colors[name], colors["page"]) >= 3.0, name
