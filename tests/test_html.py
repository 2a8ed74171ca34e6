"""What notebooks show: a short table and the verdict, everything escaped."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier

from leaven._html import Bold, Italic, html_box, html_lines, html_table
from leaven.evaluation import summary_table
from leaven.graph import Graph
from leaven.model_selection import SafeClassifier, tune
from leaven.tables import label_table


class Reader(HTMLParser):
    """Collects cells row by row, and checks that every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.bold: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data
        if "b" in self.open:
            self.bold.append(data)


def test_cells_are_escaped_and_styled():
    text = html_table([("<script>", Bold("7 & 8"), Italic("9"))], header=("a", "b", "c"))
    read = Reader(text)
    assert read.rows == [["a", "b", "c"], ["<script>", "7 & 8", "9"]]
    assert read.bold == ["7 & 8"]
    assert "<i>9</i>" in text
    assert "<script>" not in text
    assert html_lines("", "<b>") == '<p style="margin:0.3em 0">&lt;b&gt;</p>'
    assert Reader(html_box(html_lines("x", strong=True))).bold == ["x"]


def test_names_are_on_the_left_and_numbers_on_the_right():
    text = html_table([("name", 7, 8)], header=("a", "b", "c"))
    sides = [part.partition('"')[0] for part in text.split("text-align:")[1:]]
    assert sides == ["left", "right", "right"] * 2


def test_graph():
    W = np.zeros((5, 5))
    W[0, 1] = W[1, 0] = 2.5
    W[1, 2] = W[2, 1] = 4.0
    read = Reader(Graph(sparse.csr_array(W))._repr_html_())
    assert dict(read.rows) == {
        "nodes": "5",
        "edges": "2",
        "components": "3",
        "isolated nodes": "2",
        "degree, median (range)": "2.5 (0 to 6.5)",
    }
    empty = Reader(Graph(sparse.csr_array((0, 0)))._repr_html_())
    assert ["nodes", "0"] in empty.rows


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 2)), rng.normal(7, size=(20, 2))])
    y = np.repeat([3, 8], 20)
    y[np.arange(40) % 20 > 4] = -1
    return X, y


def test_safe_report(rows):
    report = SafeClassifier(["logistic-regression", "harmonic"], random_state=0).fit(*rows).report_
    read = Reader(report._repr_html_())
    assert report.verdict in read.text
    assert read.rows[0][0] == "method"
    shown = {row[0]: row[2] for row in read.rows[1:]}
    for row in report.candidates.to_dict("records"):
        assert shown[row["name"]] == f"{row['score']:.2f}"


def test_tune_result(rows):
    found = tune(KNeighborsClassifier(), *rows, "n_neighbors", [1, 3, 4], cv=2, stages=1)
    read = Reader(found._repr_html_())
    assert str(found.best_value) in read.bold
    assert sorted(int(row[0]) for row in read.rows[1:]) == [1, 3, 4]
    assert f"n_neighbors = {found.best_value}: {found.best_score:.3f} over 2 folds" in read.text


def test_summary_table():
    frame = pd.DataFrame(
        [
            (dataset, method, trial, score + trial / 100)
            for dataset, scores in {"iris": (0.9, 0.6), "wine": (0.7, 0.8)}.items()
            for method, score in zip(("<harmonic>", "other"), scores, strict=True)
            for trial in range(6)
        ],
        columns=["dataset", "method", "trial", "accuracy"],
    )
    table = summary_table(frame, value="accuracy", higher_is_better=True)
    read = Reader(table._repr_html_())
    assert read.rows[0] == ["dataset", "<harmonic>", "other"]
    assert [row[0] for row in read.rows[1:3]] == ["iris", "wine"]
    assert read.rows[1][1:] == table.frame.loc["iris"].tolist()
    assert read.rows[1][1] in read.bold
    assert read.rows[2][2] in read.bold


def test_labeling_result():
    size = np.arange(26) + np.repeat([0, 40], 13)
    kinds = [f"<kind {i}>" for i in range(13)] * 2
    table = pd.DataFrame({"size": size + 0.5, "kind": kinds})
    table.loc[20:, "kind"] = None
    result = label_table(table, "kind", method="naive-bayes", details=False)
    read = Reader(result._repr_html_())
    assert read.rows[0] == ["kind", "given", "inferred"]
    assert len(read.rows) == 11
    assert "and 3 more classes" in read.text
    assert "6 of 26 rows labeled by naive-bayes from 20 labels." in read.text
    assert repr(result) == "LabelingResult(6 of 26 rows labeled by naive-bayes from 20 labels)"
