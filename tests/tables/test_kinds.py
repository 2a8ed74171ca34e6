"""What the columns of a table hold."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leaven.tables import TableError
from leaven.tables._kinds import (
    as_cells,
    as_numbers,
    check_text_columns,
    column_kinds,
    suggest,
)

RNG = np.random.default_rng(0)
N = 60
WORDS = ["red", "round", "soft", "late", "sweet", "hard", "green", "early"]


def texts(n: int, words: int) -> list[str]:
    return [" ".join([*RNG.choice(WORDS, words), str(i)]) for i in range(n)]


DATES = pd.date_range("2023-01-31", periods=N, freq="9h")
CASES: list[tuple[str, Any, str]] = [
    ("floats", RNG.normal(size=N), "number"),
    ("integers", RNG.integers(0, 30, N), "number"),
    ("numbers as text", RNG.normal(size=N).astype(str), "number"),
    (
        "numbers with words for missing",
        ["?", "NA", ""] + [f"{i / 7:.2f}" for i in range(57)],
        "number",
    ),
    ("numbers and two typing errors", ["l0", "1O"] + [str(i % 23) for i in range(58)], "number"),
    ("decimals", [decimal.Decimal(i) / 3 for i in range(N)], "number"),
    ("nullable", pd.array([None, *RNG.integers(0, 30, N - 1)], dtype="Int64"), "number"),
    ("with infinity", np.append(RNG.normal(size=N - 1), np.inf), "number"),
    ("duration", pd.to_timedelta(RNG.integers(0, 99, N), unit="h"), "number"),
    ("zero or one", RNG.integers(0, 2, N), "category"),
    ("three codes as text", RNG.choice(["1", "2", "3"], N), "category"),
    ("booleans", RNG.random(N) > 0.5, "category"),
    ("booleans with gaps", [True, None, False] * 20, "category"),
    ("one value and gaps", ["x", None] * 30, "category"),
    ("one number and gaps", [3.0, None] * 30, "category"),
    ("category", RNG.choice(["a", "b c d e"], N), "category"),
    ("category", pd.Categorical(RNG.choice(list("abc"), N)), "category"),
    ("category of integers", pd.Categorical(RNG.integers(0, 9, N)), "category"),
    ("category of numbers as text", pd.Categorical([str(i % 9) for i in range(N)]), "number"),
    ("store_id", RNG.integers(100, 120, N), "category"),
    ("numbers or words", RNG.choice(np.array([1, "x", None], dtype=object), N), "category"),
    ("dates", DATES, "date"),
    ("dates with a zone", DATES.tz_localize("Asia/Tokyo"), "date"),
    ("iso dates as text", DATES.strftime("%Y-%m-%d %H:%M"), "date"),
    ("zulu dates as text", DATES.strftime("%Y-%m-%dT%H:%M:%SZ"), "date"),
    ("german dates as text", DATES.strftime("%d.%m.%Y"), "date"),
    ("american dates as text", DATES.strftime("%m/%d/%Y"), "date"),
    ("date objects", [dt.date(2024, 1, 1 + i % 28) for i in range(N)], "date"),
    ("periods", pd.period_range("2020-01", periods=N, freq="M"), "date"),
    ("category of dates", pd.Categorical(["2024-01-01", "2024-02-03"] * 30), "date"),
    ("texts", texts(N, 5), "text"),
    ("names", texts(N, 1), "text"),
    ("chinese", [f"这是第{chr(0x4E00 + i)}个句子" for i in range(N)], "text"),
    ("row", np.arange(N) + 1000, "dropped"),
    ("rows as text", [str(i) for i in range(N)], "dropped"),
    ("customer_id", RNG.permutation(10 * N)[:N], "dropped"),
    ("", RNG.permutation(10 * N)[:N], "dropped"),
    ("codes", [f"T-{i:05d}" for i in range(N)], "dropped"),
    ("constant", np.ones(N), "dropped"),
    ("constant text", ["1.0"] * N, "dropped"),
    ("constant number in two spellings", ["1", "1.0"] * 30, "dropped"),
    ("empty", [None] * N, "dropped"),
    ("blank", [" "] * N, "dropped"),
    ("infinite", [np.inf, -np.inf] * 30, "dropped"),
    ("lists", [[1], [2]] * 30, "vector"),
    ("lists of words", [["a"], ["b"]] * 30, "dropped"),
    ("bytes", [b"a", b"b"] * 30, "dropped"),
    ("complex", RNG.normal(size=N) * 1j, "dropped"),
]


@pytest.mark.parametrize(("name", "values", "expected"), CASES, ids=[case[0] for case in CASES])
def test_kind(name: str, values: Any, expected: str) -> None:
    table = pd.DataFrame({name: pd.Series(values)})
    (kind,) = column_kinds(table)
    assert (kind.name, kind.kind) == (name, expected)
    assert bool(kind.reason) == (expected == "dropped")
    # Whatever the kind is, the column can be read as it.
    if expected in ("number", "date"):
        assert np.isfinite(as_numbers(table[name], kind)).mean() > 0.9
    if expected in ("category", "text"):
        assert set(as_cells(table[name]).map(type)) == {str}


def test_a_long_column_of_mostly_distinct_words_is_dropped() -> None:
    values = [f"w{i}" for i in range(400)] + ["w0"] * 100
    (kind,) = column_kinds(pd.DataFrame({"c": values}))
    assert kind.reason == "like an id: 80% of its values are distinct"


def test_a_short_column_of_mostly_distinct_words_is_a_category() -> None:
    (kind,) = column_kinds(pd.DataFrame({"c": ["a", "b", "c", "c"]}))
    assert kind.kind == "category"


def test_text_on_request() -> None:
    table = pd.DataFrame({"c": ["a", "b"] * 5, "gone": None})
    assert [kind.kind for kind in column_kinds(table, text=["c", "gone"])] == ["text", "dropped"]


def test_a_column_of_numbers_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    parse = pd.to_numeric

    def noted(values: pd.Series, **options: Any) -> Any:
        sizes.append(len(values))
        return parse(values, **options)

    monkeypatch.setattr(pd, "to_numeric", noted)
    cells = pd.Series([f"{i}.5" for i in range(3000)] + ["NA"], name="x")
    assert column_kinds(cells.to_frame())[0].kind == "number"
    assert sizes == [750, 3000]  # some cells first, which tell most columns of words


def test_numbers_are_read_right() -> None:
    table = pd.DataFrame({"n": ["1", " 2.5 ", "?", "", "1e3", "7", "8", "9", "inf"] * 3})
    (kind,) = column_kinds(table)
    numbers = as_numbers(table["n"], kind)[:9]
    np.testing.assert_array_equal(numbers, [1, 2.5, np.nan, np.nan, 1000, 7, 8, 9, np.nan])


def test_dates_are_seconds() -> None:
    table = pd.DataFrame({"d": ["02.01.1970", "03.01.1970", "", "11.01.1970"] * 9})
    (kind,) = column_kinds(table)
    seconds = as_numbers(table["d"], kind)[:4]
    np.testing.assert_array_equal(seconds / 86400, [1, 2, np.nan, 10])


def test_cells() -> None:
    assert as_cells(pd.Series([1.0, None, 2.5])).tolist() == ["1", "", "2.5"]
    assert as_cells(pd.Series(pd.Categorical(["a", None]))).tolist() == ["a", ""]
    assert as_cells(pd.Series([True, None], dtype="boolean")).tolist() == ["True", ""]
    assert as_cells(pd.Series(["x", None], dtype="str")).tolist() == ["x", ""]
    assert as_cells(pd.Series([1.0, None], dtype="Float64")).tolist() == ["1", ""]


def test_names_are_suggested() -> None:
    assert suggest("TOPIC ", ["id", "topic"]) == " Did you mean 'topic'?"
    assert suggest("zzz", ["id", "topic"]) == " The columns are 'id', 'topic'."
    assert suggest("zzz", range(20)).endswith("'11', ...")
    with pytest.raises(TableError, match=r"no text column .txt.\. Did you mean .text."):
        check_text_columns(["txt"], ["text"])
