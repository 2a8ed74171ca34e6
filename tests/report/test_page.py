"""The page: everything in it, in order, nothing from outside, and nothing that could run."""

import dataclasses
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from leaven.report import render_report
from leaven.report._rows import Rows
from leaven.report._style import POLICY, SCRIPT
from leaven.tables import ClassCount, label_table

VOID = frozenset({"meta", "rect", "line", "circle", "path", "polygon", "polyline"})
BLOCKS = frozenset({"td", "th", "li", "p", "dt", "dd", "h1", "h2", "small", "caption", "text"})


class Page(HTMLParser):
    """Tags with their attributes and text; fails on one that is not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert len({key for key, _ in attrs}) == len(attrs), f"an attribute twice in {tag}"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in BLOCKS:
            self.words.append(" ")

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag):
        return [attrs for found, attrs in self.tags if found == tag]

    @property
    def text(self):
        return " ".join("".join(self.words).split())


def sections(page):
    return [
        attrs["id"] for tag, attrs in page.tags if tag in ("header", "section") and "id" in attrs
    ]


def test_sections_come_in_order(rich_result):
    page = Page(render_report(rich_result, title="orchard.csv"))
    assert sections(page) == [
        *("headline", "methods", "curve", "confidence", "shares", "map-section"),
        *("ask", "hardest", "columns", "notes", "python"),
    ]
    assert len(page.all("h1")) == 1


def test_what_is_not_known_is_left_out_or_said(plain_result):
    page = Page(render_report(plain_result))
    assert sections(page) == [
        *("headline", "methods", "confidence", "shares", "hardest", "columns", "python")
    ]
    assert "Whether the unlabeled rows helped was not checked" in page.text
    assert "It was not checked against labels that were held out." in page.text


def test_page_is_self_contained(rich_result):
    text = render_report(rich_result, title="orchard.csv")
    page = Page(text)
    assert not {"link", "img", "iframe", "object", "base", "form"} & {tag for tag, _ in page.tags}
    assert [dict(attrs) for attrs in page.all("script")] == [{}]
    assert not re.search(r"https?:|url\(|@import|fetch\(|XMLHttp", text)
    for attrs in [attrs for _, attrs in page.tags]:
        assert all(not key.startswith("on") for key in attrs)
        for link in (attrs.get("href"), attrs.get("src")):
            assert link is None or link.startswith("#")
    policy = next(m["content"] for m in page.all("meta") if "http-equiv" in m)
    assert policy == POLICY
    assert policy.startswith("default-src 'none'")
    assert "</" not in SCRIPT


def test_ids_are_unique_and_references_have_a_target(rich_result):
    page = Page(render_report(rich_result))
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {attrs["href"][1:] for attrs in page.all("use")} <= set(ids)


def test_it_speaks_to_those_who_do_not_see(rich_result):
    page = Page(render_report(rich_result))
    assert page.all("html")[0]["lang"] == "en"
    pictures = [attrs for attrs in page.all("svg") if attrs.get("role") == "img"]
    assert {attrs["id"] for attrs in pictures} == {
        *("methods-svg", "curve-svg", "confidence-svg", "map-svg")
    }
    assert all(len(attrs["aria-label"]) > 20 for attrs in pictures)
    assert len(page.all("caption")) == len(page.all("table"))
    for attrs in page.all("th"):
        assert attrs["scope"] in ("col", "row")


def test_headline_has_the_numbers(rich_result):
    text = Page(render_report(rich_result)).text.replace("\u00a0", " ")
    assert "485 of 500 rows were labeled in variety from 15 given labels of 3 classes" in text
    assert (
        "The unlabeled rows helped: the best method that learns from them (harmonic) got 81.0 % of "
        "the labels held out right, the best that does not (bayes) 68.0 %, a difference of +13.0 "
        "points (plausibly between +3.4 and +22.6)."
    ) in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"unlabeled_helped": "no"}, "The unlabeled rows did not help: the best"),
        (
            {"unlabeled_helped": "cannot tell", "choice": "bayes"},
            "It cannot be told whether the unlabeled rows helped: the best",
        ),
        ({"choice": "bayes"}, "harmonic did best, but not by enough to rule out chance; so bayes"),
        ({"best_semi_supervised": None, "reason": "Only <one> kind."}, "Only <one> kind."),
        (
            {"selection_bias": 0.021},
            "(bayes) 68.0 % (65.9 % without selection bias), a difference of +13.0",
        ),
        ({"scoring": "f1_macro"}, "got 0.810 in f1_macro, the best that does not (bayes) 0.680"),
    ],
)
def test_verdicts(rich_result, make_selection, changes, words):
    result = dataclasses.replace(rich_result, selection=make_selection(**changes))
    assert words in Page(render_report(result)).text


def test_a_comparison_without_scores(rich_result, make_selection):
    nothing = make_selection()
    nothing = dataclasses.replace(
        nothing,
        candidates=nothing.candidates.iloc[4:],
        differences=nothing.differences.iloc[:0],
        best_supervised=None,
        best_semi_supervised=None,
        reason="No class has two labels.",
    )
    page = Page(render_report(dataclasses.replace(rich_result, selection=nothing)))
    assert page.text.count("No class has two labels.") == 2
    assert "methods-svg" not in {attrs.get("id") for attrs in page.all("svg")}


def test_methods_are_listed_with_the_skipped_ones(rich_result):
    page = Page(render_report(rich_result))
    text = page.text.replace("\u00a0", " ")
    assert "harmonic ★ all rows 81.0 % 72.0 % to 91.0 % +13.0 +3.4 to +22.6 1.2" in text
    assert "bayes labeled rows only 68.0 % 57.0 % to 77.0 % – – 0.1" in text
    assert "2 methods left out" in text
    assert "tsvm was skipped: the time limit of 9 s was over." in text
    assert "em: negative <counts>" in text
    assert text.count("a note of the comparison") == 1


def test_numbers_are_those_of_the_result(plain_result):
    text = render_report(plain_result)
    words = Page(text).text.replace("\u00a0", " ")
    summary = plain_result.summary
    for count in summary.classes:
        given, inferred = 100 * count.given / 15, 100 * count.inferred / 485
        line = f"{count.name} {count.given} {given:.1f} % {count.inferred} {inferred:.1f} %"
        assert line in words
    bars = [int(n.replace(",", "")) for n in re.findall(r": ([\d,]+) rows</title>", text)]
    assert sum(bars) == summary.n_inferred
    least = plain_result.table.query("variety_source == 'inferred'")["variety_confidence"].min()
    assert f'data-label="confidence">{least:.2f}</td>' in text


def test_asked_rows_keep_their_order(rich_result):
    text = render_report(rich_result)
    part = text[text.index('<section id="ask">') : text.index('<section id="hardest">')]
    shown = re.findall(r'data-label="row">([\d,]+)</th>', part)
    assert shown == [f"{row + 1:,}" for row in rich_result.ask]


@pytest.mark.parametrize("nothing", [np.array([], dtype=int), []])
def test_empty_parts_are_said(rich_result, nothing):
    result = dataclasses.replace(
        rich_result,
        ask=nothing,
        curve=rich_result.curve.iloc[:0],
        points=rich_result.points.assign(x=np.nan),
    )
    text = Page(render_report(result)).text
    assert "There is no row left to ask for." in text
    assert "There are too few labels for a learning curve." in text
    assert "No row could be placed." in text


EVIL = [
    "<script>alert(1)</script>",
    "\"' onload='alert(2)' x=\"",
    "]]></style></title><!--",
    "😀 \u202eevil\u202c مرحبا",
    "a\x00b\x1b\ud800",
    "&lt;b&gt; &amp;",
]


def evil_result(rich_result):
    n_rows = 24
    table = pd.DataFrame({f"{EVIL[0]} {EVIL[1]}": np.arange(n_rows, dtype=float)})
    cells = [words.replace("\ud800", "") for words in EVIL]  # which pandas refuses in a column
    table["</caption>"] = [cells[i % 6] + " long words" * (i % 3) * 9 for i in range(n_rows)]
    table[f"y{EVIL[1]}"] = [cells[i] if i < 6 else None for i in range(n_rows)]
    result = label_table(table, f"y{EVIL[1]}", text="</caption>")
    selection = rich_result.selection
    candidates = selection.candidates.assign(reason=EVIL[0])
    curve = rich_result.curve.assign(method=rich_result.curve["method"] + EVIL[1])
    return dataclasses.replace(
        result,
        selection=dataclasses.replace(selection, candidates=candidates, notes=(EVIL[2],)),
        curve=curve,
        points=rich_result.points.iloc[:n_rows],
        ask=np.arange(6, 9),
        summary=dataclasses.replace(result.summary, notes=EVIL, dropped={EVIL[0]: EVIL[1]}),
    )


def test_what_a_user_wrote_is_escaped(rich_result):
    text = render_report(evil_result(rich_result), title=EVIL[0] + EVIL[1])
    text.encode("utf-8")
    page = Page(text)
    allowed = Page(render_report(rich_result))
    assert {tag for tag, _ in page.tags} <= {tag for tag, _ in allowed.tags}
    assert len(page.all("script")) == len(page.all("style")) == len(page.all("title")[:1]) == 1
    attributes = {key for _, attrs in page.tags for key in attrs}
    assert attributes <= {key for _, attrs in allowed.tags for key in attrs}
    assert "\x00" not in text
    assert "<!--" not in text
    for words in EVIL[:4] + EVIL[5:]:
        assert " ".join(words.split()) in page.text


def test_many_classes_and_columns_are_cut_short(plain_result):
    counts = [ClassCount(f"class {i}", 1, i) for i in range(60)]
    summary = dataclasses.replace(
        plain_result.summary,
        classes=counts,
        columns={f"c{i}": "number" for i in range(130)},
        weights={},
        dropped={f"d{i}": "constant" for i in range(120)},
        notes=[f"note {i}" for i in range(70)],
    )
    text = Page(render_report(dataclasses.replace(plain_result, summary=summary))).text
    for cut in ("and 10 more", "and 30 more", "and 20 more"):
        assert cut in text
    assert text.count("and 20 more") == 2


@pytest.mark.parametrize("cell", ["<&\"'>" * 60, "😀" * 200])
def test_size_is_bounded(rich_result, cell):
    n_rows = 100_000
    table = rich_result.table.iloc[np.arange(n_rows) % 500].reset_index(drop=True)
    table = table.assign(id=cell, site=cell, diameter_mm=cell, height_mm=cell)
    summary = dataclasses.replace(
        rich_result.summary, n_rows=n_rows, n_given=3000, n_inferred=97_000
    )
    rng = np.random.default_rng(3)
    points = pd.DataFrame(rng.normal(size=(n_rows, 2)), columns=["x", "y"]).assign(
        row=np.arange(n_rows)
    )
    ask = np.flatnonzero(table["variety_source"] == "inferred")
    result = dataclasses.replace(rich_result, table=table, summary=summary, points=points, ask=ask)
    text = render_report(result)
    assert len(text.encode()) < 1_500_000
    page = Page(text)
    marks = [attrs for attrs in page.all("use") if attrs["class"].split()[0] in ("small", "large")]
    assert len(marks) == 2000


def test_a_combination_is_said_to_be_one(rich_result):
    selection = dataclasses.replace(rich_result.selection, choice="combination")
    page = render_report(dataclasses.replace(rich_result, selection=selection))
    assert "the methods decide each row together" in page
    assert "the best that learns from the labeled rows only, labeled" not in page


def test_columns_that_leaven_added_are_not_shown_as_cells_of_a_row():
    table = pd.DataFrame(
        {"x": [0.5, 0.7, 9.5, 9.9, 0.6, 9.7], "kind": ["a", "a", "b", "b", "", ""]}
    )
    result = label_table(table, "kind", method="harmonic", ask=1, probabilities=True, sets=True)
    assert {"kind_ask", "kind_p_a", "kind_set"} <= set(result.table.columns)
    assert Rows(result).column_names == ["x"]
