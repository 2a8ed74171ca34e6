"""Words, tables and pictures of the report, piece by piece."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaven.report import _figures, _map, _selection, _text
from leaven.report._map import Marks, draw_map, map_legend, marks_of
from leaven.report._rows import Rows, row_table
from leaven.report._shares import share_table
from leaven.report._style import N_COLORS
from leaven.tables import LabelingSummary


class Outline(HTMLParser):
    """Collects tags and text, and fails where tags do not close in order."""

    def __init__(self, html):
        super().__init__()
        self.opened, self.tags, self.text = [], [], []
        self.feed(html)
        self.close()
        assert self.opened == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.opened.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


# Text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        (np.nan, ""),
        (pd.NA, ""),
        (pd.NaT, ""),
        (0, "0"),
        (False, "False"),
        (2.5, "2.5"),
        (pd.Timestamp("2026-03-04"), "2026-03-04"),
        (pd.Timestamp("2026-03-04 05:06"), "2026-03-04 05:06:00"),
        (np.datetime64("2026-03-04"), "2026-03-04"),
        ([1, 2], "[1, 2]"),
        ("a\x00b\x1fc", "a\ufffdb\ufffdc"),
        ("line\nand\ttab", "line\nand\ttab"),
        ("half \ud83d of a pair", "half \ufffd of a pair"),
        ("\U0001f600", "\U0001f600"),
    ],
)
def test_any_value_as_text(value, expected):
    assert _text.plain(value) == expected


@given(st.text(), st.integers(1, 30))
@settings(max_examples=100)
def test_text_is_cut_can_be_written_and_comes_back_from_html(text, limit):
    cut = _text.plain(text, limit)
    assert len(cut) <= limit + 2
    cut.encode("utf-8")
    outline = Outline(f"<p>{_text.safe(text, limit)}</p>")
    # A page reads a carriage return as a replacement, never as markup.
    assert "".join(outline.text) == cut
    assert [tag for tag, _ in outline.tags] == ["p"]
    again = Outline(f'<p title="{_text.safe(text, limit)}"></p>')
    assert again.all("p")[0]["title"] == cut


def test_names_are_kept_apart_from_the_direction_around_them():
    assert _text.name("<שלום>") == "<bdi>&lt;שלום&gt;</bdi>"
    assert len(_text.name("x" * 200)) < 110


@pytest.mark.parametrize(
    ("number", "words", "expected"),
    [
        (0, ("row",), "0 rows"),
        (1, ("row",), "1 row"),
        (1_234_567, ("row",), "1,234,567 rows"),
        (1, ("class", "classes"), "1 class"),
        (2, ("class", "classes"), "2 classes"),
    ],
)
def test_numbers_with_their_noun(number, words, expected):
    assert _text.count(number, *words) == expected


def test_shares_and_differences():
    assert _text.percent(0.12345) == "12.3\u00a0%"
    assert _text.percent(0.996, 0) == "100\u00a0%"
    assert _text.percent(np.nan) == _text.percent(np.inf) == "–"
    assert _text.points(-0.0321) == "−3.2"
    assert _text.points(0.0) == "+0.0"


def test_attributes_are_escaped_renamed_and_left_out():
    html = _text.element("td", "<b>7</b>", class_="x", data_label='a"<', title=None)
    assert html == '<td class="x" data-label="a&quot;&lt;"><b>7</b></td>'


def test_a_table_has_headers_cells_and_a_line_for_the_rest():
    html = _text.table(
        "A <caption>",
        [("name", False), ("<bdi>size</bdi>", True)],
        [["a", "1"], ["b" * 50, "2"], ["", "3"]],
        more=1_200,
        cards=True,
    )
    outline = Outline(html)
    assert [attrs.get("scope") for attrs in outline.all("th")] == [
        "col",
        "col",
        "row",
        "row",
        "row",
    ]
    cells = outline.all("td")
    assert [cell.get("class") for cell in cells[:3]] == ["number"] * 3
    assert cells[0]["data-label"] == "size"
    assert outline.all("th")[3]["class"] == "long"
    assert "dir" not in outline.all("th")[4]  # an empty cell has no direction
    assert cells[-1] == {"colspan": "2"}
    assert "and 1,200 more" in outline.text
    region = outline.all("div")[0]
    assert (region["role"], region["tabindex"], region["aria-label"]) == (
        "region",
        "0",
        "A <caption>",
    )


def test_a_table_refuses_rows_of_another_length():
    with pytest.raises(ValueError, match="zip"):
        _text.table("c", [("a", False)], [["1", "2"]])


# Figures


@given(st.floats(-5, 5), st.floats(0, 5), st.integers(3, 8))
@settings(max_examples=80)
def test_ticks_are_even_and_cover_the_range(low, span, n_most):
    found = _figures.ticks(low, low + span, n_most)
    assert len(found) <= max(n_most, 2) + 1
    assert found[0] <= low + 1e-6
    assert found[-1] >= low + span - 1e-6
    steps = np.diff(found)
    if len(steps) > 1:
        np.testing.assert_allclose(steps, steps[0], rtol=1e-6, atol=1e-8)


def test_ticks_of_shares_stay_between_nothing_and_all():
    assert _figures.accuracy_range(-0.2, 1.4)[0] == 0.0
    assert _figures.accuracy_range(-0.2, 1.4)[-1] == 1.0


@pytest.mark.parametrize("number", range(6))
def test_markers_have_three_shapes(number):
    html = _figures.marker(number, "12%", 8.0, 5.0, "ink")
    tag = ("circle", "rect", "svg")[number % 3]
    assert html.startswith(f"<{tag} ")
    assert 'class="ink"' in html
    assert "12%" in html


@pytest.mark.parametrize("n", [0, 1, 17])
def test_a_histogram_counts_every_value_once(n):
    values = np.random.default_rng(n).random(n)
    outline = Outline(_figures.histogram(values))
    counts = [int(re.search(r": ([\d,]+) rows", t).group(1)) for t in outline.text if " rows" in t]
    expected, _ = np.histogram(values, bins=10, range=(0, 1))
    assert counts[:10] == expected.tolist()
    heights = [float(rect["height"]) for rect in outline.all("rect")]
    assert max(heights) == (130.0 if n else 0.0)


def test_one_belongs_to_the_last_bin():
    outline = Outline(_figures.histogram(np.array([1.0, 0.95, 0.0])))
    heights = [float(rect["height"]) for rect in outline.all("rect")]
    assert heights == [65.0] + [0.0] * 8 + [130.0]


def curve_frame():
    return pd.DataFrame(
        {
            "method": ["a"] * 3 + ["b"] * 3,
            "n_labeled": [20, 5, 10] * 2,
            "accuracy": [0.9, 0.6, 0.75, 0.7, 0.5, 0.55],
            "standard_error": [0.01, np.nan, 0.02, 0.03, 0.04, 0.05],
        }
    )


def test_doublings_have_equal_widths_and_curves_go_from_left_to_right():
    outline = Outline(_figures.curves(curve_frame(), ["a", "b"]))
    first = outline.all("polyline")[0]["points"].split()
    xs = [float(point.split(",")[0]) for point in first]
    assert xs == [0.0, 50.0, 100.0]
    ys = [float(point.split(",")[1]) for point in first]
    assert ys == sorted(ys, reverse=True)  # better is higher on the page
    assert len(outline.all("polygon")) == 2
    dashes = [line["stroke-dasharray"] for line in outline.all("polyline")]
    assert len(set(dashes)) == 2


def test_one_size_and_sizes_from_zero_have_a_place():
    one = curve_frame().query("n_labeled == 10")
    points = Outline(_figures.curves(one, ["a"])).all("polyline")[0]["points"]
    assert points.split(",")[0] == "50.00"
    zero = curve_frame().assign(n_labeled=[20, 0, 5] * 2)
    points = Outline(_figures.curves(zero, ["a"])).all("polyline")[0]["points"].split()
    assert [float(point.split(",")[0]) for point in points] == [0.0, 25.0, 100.0]


def test_the_label_of_a_curve_says_its_ends_and_the_legend_names_it():
    outline = Outline(_figures.curves(curve_frame(), ["b"]))
    said = outline.all("svg")[0]["aria-label"]
    assert "b: 50.0\u00a0% with 5 labels, 70.0\u00a0% with 20." in said
    legend = Outline(_figures.curve_legend(["b & c"]))
    assert "b & c" in legend.text


def test_methods_without_a_share_are_written_with_three_digits(make_selection):
    report = make_selection(scoring="f1_macro")
    assert _selection.score_format(report)(0.51234) == "0.512"
    assert _selection.difference_format(report)(-0.0123) == "-0.012"
    assert not _selection.is_share(report)
    outline = Outline(_figures.whiskers(report))
    assert "0.810" in outline.text
    assert "F1_macro of the methods" in outline.all("svg")[0]["aria-label"]


# Selection


def test_candidates_come_best_first_with_their_differences(make_selection):
    found = _selection.tried(make_selection())
    assert [trial.name for trial in found] == ["harmonic", "bayes", "self-training", "ridge"]
    assert [trial.uses_unlabeled for trial in found] == [True, False, True, False]
    assert found[0].difference == 0.13
    assert np.isnan(found[1].difference)  # the best supervised one has none to itself
    assert _selection.not_tried(make_selection()) == [
        ("tsvm", "tsvm was skipped: the time limit of 9 s was over."),
        ("em", "negative <counts>"),
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"unlabeled_helped": "no"}, "The unlabeled rows did not help: the best method"),
        ({"unlabeled_helped": "unknown"}, "It cannot be told whether"),
        ({"verdict": "Said \x00 elsewhere."}, "Said \ufffd elsewhere."),
        ({"best_supervised": None}, "The unlabeled rows helped."),
        ({"selection_bias": 0.05}, r"68.0\u00a0% (63.0\u00a0% without selection bias)"),
        ({"scoring": "f1_macro"}, "got 0.810 in f1_macro"),
    ],
)
def test_one_sentence_on_the_unlabeled_rows(changes, words, make_selection):
    said = _selection.verdict(make_selection(**changes), "harmonic")
    assert words.encode().decode("unicode_escape") in said if "\\u" in words else words in said


def test_without_a_comparison_nothing_is_claimed():
    assert "was not checked: the method ridge" in _selection.verdict(None, "ridge")


# Map


def test_frequent_classes_have_looks_of_their_own():
    counts = [(f"c{i}", 100 - i) for i in range(N_COLORS + 3)]
    marks = marks_of(counts)
    assert marks.n_rest == 3
    assert marks.number("c0") == 0
    assert marks.number(f"c{N_COLORS}") == N_COLORS
    assert marks_of([]) == Marks({}, 0)
    assert marks_of([(3, 1), (2, 5)]).number(2) == 0  # by the text of the name
    legend = Outline(map_legend(marks))
    assert "3 other classes" in legend.text
    assert len(legend.all("li")) == N_COLORS + 1


@given(st.integers(0, 4_000), st.integers(0, 4_000))
@settings(max_examples=30)
def test_thinning_bounds_the_marks_and_spares_labeled_rows(n_given, n_other):
    given_rows = np.zeros(n_given + n_other, dtype=bool)
    given_rows[:n_given] = True
    kept = _map.thin(given_rows)
    assert len(kept) == len(set(kept.tolist())) == min(n_given + n_other, _map.MOST_POINTS)
    n_kept = int(given_rows[kept].sum())
    assert n_kept == min(n_given, max(_map._MOST_LARGE, _map.MOST_POINTS - n_other))
    assert given_rows[kept[len(kept) - n_kept :]].all()  # drawn last, on top


def test_coordinates_become_percentages_with_y_upward():
    spread = _map._spread(np.array([[0.0, 5.0], [10.0, 5.0], [5.0, 5.0]]))
    np.testing.assert_allclose(spread, [[3.0, 50.0], [97.0, 50.0], [50.0, 50.0]])
    np.testing.assert_allclose(
        _map._spread(np.array([[1.0, 0.0], [1.0, 2.0]])), [[50.0, 97.0], [50.0, 3.0]]
    )


@pytest.mark.parametrize(("n", "size"), [(10, 5.0), (301, 4.0), (5_000, 3.2)])
def test_more_marks_are_smaller(n, size):
    assert _map._radius(n, (300, 800), (5.0, 4.0, 3.2)) == size


def test_points_without_a_place_are_left_out(rich_result):
    rows = Rows(rich_result)
    nowhere = pd.DataFrame({"row": [0, 1], "x": [np.nan, 0.0], "y": [0.0, np.inf]})
    assert draw_map(nowhere, rows, marks_of([])) == ("", 0)
    some = pd.concat([nowhere, pd.DataFrame({"row": [5, 6], "x": [0.0, 1.0], "y": [0.0, 1.0]})])
    html, n_drawn = draw_map(some, rows, marks_of([(rows.label(5), 3)]))
    assert n_drawn == 2
    titles = [text for text in Outline(html).text if text.startswith("Row ")]
    assert {title.split(":")[0] for title in titles} == {"Row 6", "Row 7"}


def test_a_spent_budget_leaves_label_and_number(rich_result, monkeypatch):
    monkeypatch.setattr(_map, "_TITLE_BUDGET", 1)
    rows = Rows(rich_result)
    html, _ = draw_map(rich_result.points, rows, marks_of([]))
    titles = [text for text in Outline(html).text if text.startswith("Row ")]
    assert titles[0].count("\n") == 3
    assert all("\n" not in title for title in titles[1:])


# Rows and shares


def test_rows_show_what_was_learned_from_first(rich_result):
    rows = Rows(rich_result)
    assert 0 < len(rows.column_names) <= 4
    assert not any(name.startswith("variety") for name in rows.column_names)
    used = [name for name in rows.column_names if name in rich_result.summary.columns]
    assert rows.column_names[: len(used)] == used
    hardest, counts = rows.hardest(5)
    assert len(counts) == len(hardest) == 5
    assert (np.diff(rows.confidence[hardest]) >= 0).all()
    assert not rows.given[hardest].any()
    assert rows.confidence[hardest[-1]] <= np.delete(rows.confidence[rows.inferred], 0).max()
    # Duplicates are shown once, and counted.
    assert sum(rows.hardest(10**6)[1]) == len(rows.inferred)


def test_a_table_of_rows_counts_from_one(rich_result):
    rows = Rows(rich_result)
    outline = Outline(row_table(rows, [0, 41], "Some rows", more=3))
    body = [attrs for attrs in outline.all("th") if attrs.get("scope") == "row"]
    assert len(body) == 2
    assert {"1", "42", "and 3 more"} <= set(outline.text)


def test_shares_are_of_the_given_and_of_the_inferred(plain_result):
    summary = plain_result.summary
    assert isinstance(summary, LabelingSummary)
    outline = Outline(share_table(summary))
    text = " ".join(outline.text)
    for each in summary.classes:
        assert f"{each.inferred:,}" in text
        assert _text.percent(each.given / summary.n_given) in text
    widths = [float(rect["width"].rstrip("%")) for rect in outline.all("rect")]
    assert max(widths) == pytest.approx(98.0, abs=0.1)
