"""The report: everything in it, nothing from outside, and nothing that could run."""

import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from leaven.datasets import load_example
from leaven.report import render_report
from leaven.tables import label_table


class Page(HTMLParser):
    """Collects tags, and fails on one that is not closed in order."""

    void = frozenset({"meta", "rect", "line"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.void:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def result():
    return label_table(load_example("orchard"), "variety")


def test_page_is_well_formed_and_self_contained(result):
    text = render_report(result, title="orchard.csv")
    page = Page(text)
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in page.tags}
    assert not re.search(r"https?://|url\(", text)
    assert "width=device-width" in text


def test_numbers_are_those_of_the_result(result):
    text = render_report(result)
    summary = result.summary
    assert f"{summary.n_inferred:,} of {summary.n_rows:,} rows were labeled" in text
    for count in summary.classes:
        assert f"<td>{count.name}</td><td class=number>{count.given:,}</td>" in text
    bars = [int(n.replace(",", "")) for n in re.findall(r": ([\d,]+) rows</title>", text)]
    assert sum(bars) == summary.n_inferred
    least = result.table.loc[result.table["variety_source"] == "inferred", "variety_confidence"]
    assert f"<td class=number>{least.min():.2f}</td>" in text


def test_what_a_table_says_is_escaped():
    table = pd.DataFrame(
        {
            "x": [0.0, 0.1, 0.2, 5.0, 5.1, 5.2],
            "note": ["<script>alert(1)</script>" + "long " * 50] * 3 + ["b", "c", "d"],
            "y": ["<b>", None, None, "other", None, None],
        }
    )
    text = render_report(label_table(table, "y"), title="<i>")
    assert "<script>" not in text
    assert "&lt;b&gt;" in text
    assert "&lt;i&gt;" in text
    assert " …" in text


def test_many_classes_are_cut_short():
    n = 60
    table = pd.DataFrame({"x": [float(i // 3) for i in range(3 * n)]})
    table["y"] = [f"class {i // 3}" if i % 3 == 0 else None for i in range(3 * n)]
    assert "and 10 more" in render_report(label_table(table, "y"))
