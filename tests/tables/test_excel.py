"""Excel workbooks in and out."""

from __future__ import annotations

import datetime as dt
import io

import numpy as np
import pandas as pd
import pytest

from leaven.tables import TableError, read_table, write_table
from leaven.tables import _excel as module

openpyxl = pytest.importorskip("openpyxl")


def workbook(path, *sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for rows in sheets:
        sheet = book.create_sheet()
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_cells_keep_their_types(tmp_path):
    rows = [
        ["code", "n", "size", "seen", "ok", "kind"],
        ["007", 2**40, 1.5, dt.datetime(2024, 5, 17), True, "a"],
        ["NA", None, 2, dt.datetime(2024, 5, 18), False, None],
    ]
    table = read_table(workbook(tmp_path / "t.xlsx", rows, [["other sheet"], [3]]))
    assert table["code"].tolist() == ["007", "NA"]
    assert table["n"].dtype == pd.Int64Dtype()
    assert table["n"].iloc[0] == 2**40
    assert table["size"].tolist() == [1.5, 2.0]
    assert table["seen"].tolist()[0] == pd.Timestamp("2024-05-17")
    assert table["ok"].tolist() == [True, False]
    assert table["kind"].isna().tolist() == [False, True]


def test_what_pandas_reads_is_what_was_written(tmp_path):
    # pandas with the same engine reads it another way round, by its own code.
    table = pd.DataFrame(
        {
            "text": ["=1+1", "plain", None],
            "x": [0.25, np.nan, 7.5],
            "n": [3, 4, 5],
            "when": pd.to_datetime(["2024-05-17", None, "2024-05-19"]),
            "flag": [True, False, True],
        }
    )
    path = tmp_path / "t.xlsx"
    write_table(table, path)
    found = pd.read_excel(path)
    assert found["text"].tolist()[:2] == ["=1+1", "plain"]
    assert openpyxl.load_workbook(path).active["A2"].data_type != "f"
    np.testing.assert_array_equal(found["x"], table["x"])
    assert found["n"].tolist() == [3, 4, 5]
    assert found["when"].tolist()[0] == pd.Timestamp("2024-05-17")
    assert found["flag"].tolist() == [True, False, True]
    again = read_table(path)
    assert again["text"].tolist()[:2] == ["=1+1", "plain"]


def test_odd_values_become_text(tmp_path):
    table = pd.DataFrame(
        {
            "zone": [pd.Timestamp("2024-05-17", tz="Europe/Berlin")],
            "inf": [np.inf],
            "list": [[1, 2]],
        }
    )
    path = tmp_path / "t.xlsx"
    write_table(table, path)
    assert read_table(path).iloc[0].tolist() == ["2024-05-17T00:00:00+02:00", "inf", "[1, 2]"]


def test_rows_and_columns_that_were_only_formatted_are_none(tmp_path):
    rows = [["a", None, None], [1, None, None], [None, None, None]]
    path = workbook(tmp_path / "t.xlsx", rows)
    book = openpyxl.load_workbook(path)
    book.active["D9"].font = openpyxl.styles.Font(bold=True)
    book.save(path)
    table = read_table(path)
    assert table.shape == (1, 1)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[]], "is empty"),
        ([["a", "b"]], "has a header but no rows"),
        ([["a", "a"], [1, 2]], "duplicate column names: 'a'"),
    ],
)
def test_sheets_without_a_table_are_refused(tmp_path, rows, message):
    with pytest.raises(TableError, match=message):
        read_table(workbook(tmp_path / "t.xlsx", rows))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"a,b\n1,2\n"])
def test_a_file_that_is_no_workbook_is_refused(tmp_path, content):
    path = tmp_path / "t.xlsx"
    path.write_bytes(content)
    with pytest.raises(TableError, match="is not a readable Excel workbook"):
        read_table(path)


def test_a_truncated_workbook_is_refused(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [["a"], [1]])
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(TableError, match="is not a readable Excel workbook"):
        read_table(path)


def test_what_a_sheet_cannot_hold_is_refused(monkeypatch):
    with pytest.raises(TableError, match=r"control characters of a cell. Write CSV"):
        module.write_excel(pd.DataFrame({"a": ["\x01"]}), io.BytesIO(), "t.xlsx")
    with pytest.raises(TableError, match=r"holds 32,767 letters, and a text has 32,768"):
        module.write_excel(pd.DataFrame({"a": ["x" * 32_768]}), io.BytesIO(), "t.xlsx")
    monkeypatch.setattr(module, "MOST_ROWS", 3)
    with pytest.raises(TableError, match=r"holds 2 rows and 16,384 columns, the table has 3 and"):
        module.write_excel(pd.DataFrame({"a": [1, 2, 3]}), io.BytesIO(), "t.xlsx")
