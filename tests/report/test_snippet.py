"""The lines of Python on the page run as they are, and do the same."""

import dataclasses
from html import unescape

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from leaven.report import render_report
from leaven.tables import label_table, read_table


def code_of(page):
    return unescape(page[page.index("<code>") + 6 : page.index("</code>")])


def run(page):
    names = {}
    exec(code_of(page), names)
    return names["labeled"]


@pytest.fixture
def table():
    values = [0.0, 0.1, 0.2, 0.3, 5.0, 5.1, 5.2, 5.3, 2.5, 2.6]
    kinds = ["it's", "", "", "", 'a "b"', "", "", "", "", ""]
    return pd.DataFrame(
        {
            "code": ["007", "NA", "007", "8", "NA", "8", "007", "8", "NA", "8"],
            "size": values,
            "note": ["red fruit", "green fruit"] * 5,
            "kind of 'it'": kinds,
        }
    )


@pytest.mark.parametrize(
    ("file", "sep"), [("a b.csv", ","), ("t.tsv", "\t"), ("t.csv.gz", ","), ("it's.csv", ",")]
)
def test_delimited_text(table, tmp_path, monkeypatch, file, sep):
    monkeypatch.chdir(tmp_path)
    table.to_csv(file, sep=sep, index=False)
    # One method, for the choice among all of them takes a second, and is made in other tests.
    options = {"text": "note", "random_state": 7, "method": "naive-bayes"}
    result = label_table(read_table(file), "kind of 'it'", **options)
    page = render_report(result, title=file)
    assert "dtype=str, keep_default_na=False" in code_of(page)
    assert_frame_equal(run(page), result.table)


def test_options_are_those_of_the_call(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table["kind of 'it'"] = table["kind of 'it'"].replace("", "?")
    table.to_csv("t.csv", sep=";", index=False)
    prior = {"it's": 0.3, 'a "b"': 0.7}
    result = label_table(
        read_table("t.csv", delimiter=";"),
        "kind of 'it'",
        text=["note"],
        prior=prior,
        missing=["?"],
        random_state=3,
    )
    page = render_report(result, title="t.csv", reading={"sep": ";"})
    code = code_of(page)
    for words in ("missing=['?']", "random_state=3", "text=['note']", "0.7", "sep=';'"):
        assert words in code
    assert_frame_equal(run(page), result.table)


def test_a_table_with_types(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table.to_csv("t.csv", index=False)
    result = label_table(pd.read_csv("t.csv"), "kind of 'it'", prior=None)
    page = render_report(result, title="t.csv")
    assert "dtype" not in code_of(page)
    assert "prior=None" in code_of(page)
    assert_frame_equal(run(page), result.table)


def test_json_lines_and_parquet(table, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    table["kind of 'it'"] = table["kind of 'it'"].replace("", None)
    table.to_json("t.jsonl", orient="records", lines=True)
    table.to_parquet("t.parquet")
    for file in ("t.jsonl", "t.parquet"):
        result = label_table(read_table(file), "kind of 'it'", method="naive-bayes")
        labels = run(render_report(result, title=file))["kind of 'it'_predicted"]
        assert labels.tolist() == result.table["kind of 'it'_predicted"].tolist()


def test_method_is_named_unless_it_was_chosen_here(rich_result):
    code = code_of(render_report(rich_result, title="orchard.csv"))
    assert "method=" not in code
    alone = dataclasses.replace(rich_result, selection=None)
    assert "method='harmonic'" in code_of(render_report(alone, title="orchard.csv"))


def test_without_a_file_a_name_stands_in(plain_result):
    code = code_of(render_report(plain_result))
    assert "pd.read_csv('table.csv')  # the name of your file" in code
