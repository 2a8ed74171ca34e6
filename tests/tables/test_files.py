"""Reading and writing tables: every cell and every type comes back."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import stat
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaven._files import atomic_output
from leaven.tables import TableError, read_table, write_table
from leaven.tables._format import TableFormat, format_of_path, labeled_path
from leaven.tables._read import read_with_format


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


TRICKY = [
    ["id", "when", "flag", "note", ""],
    ["007", "2024-01-02", "True", "NA", "1"],
    ["18446744073709551616", "1/2/24", "FALSE", " spaced ", "2"],
    ["1e3", "", "yes", 'say "hi"', "3"],
    ["0.10", "nan", "", "a,b;c\td|e", "4"],
    ["-0", "None", "0", "two\nlines", "5"],
    ["+5", "NULL", "1", "two\r\nlines", "6"],
    ["∞", "naïve", "東京", "one\rline", "7"],
]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "T.CSV", "t.tsv.gz"])
def test_cells_of_text_come_back_byte_for_byte(tmp_path: Path, name: str) -> None:
    delimiter = "\t" if "tsv" in name else ","
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(TRICKY)
    data = text.getvalue().encode()
    source = put(tmp_path / name, gzip.compress(data) if name.endswith("gz") else data)
    table, found = read_with_format(source)
    assert table.to_numpy().tolist() == TRICKY[1:]
    assert list(table.columns) == TRICKY[0]
    out = tmp_path / f"out.{name}"
    write_table(table, out, file_format=found)
    written = out.read_bytes()
    written = gzip.decompress(written) if name.endswith("gz") else written
    # Python's own reader is the judge.
    back = list(csv.reader(io.StringIO(written.decode(), newline=""), delimiter=delimiter))
    assert back == TRICKY


CELLS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\0"), max_size=8
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8))
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, rows: list) -> None:
    path = tmp_path_factory.mktemp("any") / "t.csv"
    frame = pd.DataFrame(rows, columns=["a", "b"], dtype="str")
    write_table(frame, path)
    assert read_table(path, delimiter=",").to_numpy().tolist() == [list(row) for row in rows]


def test_dialect_is_kept(tmp_path: Path) -> None:
    source = put(tmp_path / "t.csv", "\ufeffa;b\r\n1;x\r\n2;y\r\n".encode())
    with pytest.raises(TableError, match="separated by semicolons"):
        read_table(source)
    table, found = read_with_format(source, delimiter=";")
    assert found == TableFormat("csv", ";", "utf-8-sig", "\r\n", False)
    write_table(table, tmp_path / "u.csv", file_format=found)
    assert (tmp_path / "u.csv").read_bytes() == source.read_bytes()


def test_another_encoding_is_kept(tmp_path: Path) -> None:
    source = put(tmp_path / "t.csv", "a,b\n1,é\n2,ü\n".encode("cp1252"))
    table, found = read_with_format(source, encoding="cp1252")
    assert table["b"].tolist() == ["é", "ü"]
    write_table(table, tmp_path / "u.csv", file_format=found)
    assert (tmp_path / "u.csv").read_bytes() == source.read_bytes()


def test_old_mac_line_ends(tmp_path: Path) -> None:
    table, found = read_with_format(put(tmp_path / "t.csv", "a,b\r1,2\r3,4\r"))
    assert table.to_numpy().tolist() == [["1", "2"], ["3", "4"]]
    assert found.newline == "\r"


def test_a_header_longer_than_the_first_sample(tmp_path: Path) -> None:
    names = [f"column_with_a_long_name_{i}" for i in range(3_000)]
    row = ",".join(["1"] * len(names))
    table = read_table(put(tmp_path / "t.csv", ",".join(names) + f"\n{row}\n{row}\n"))
    assert table.shape == (2, 3_000)


def test_a_cell_longer_than_the_csv_module_allows(tmp_path: Path) -> None:
    long = "x" * 200_000
    table = read_table(put(tmp_path / "t.csv", f"a,b\n1,{long}\n2,y\n3,z\n"))
    assert table["b"].tolist() == [long, "y", "z"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "", "is empty"),
        ("t.csv", " \n\n", "is empty"),
        ("t.csv", "a,b\n", "header but no rows"),
        ("t.csv", "a,a,b\n1,2,3\n", "duplicate column names: 'a'"),
        ("t.csv", "a;b\n1;2\n3;4\n", "semicolons .* delimiter=';'"),
        ("t.csv", "a\tb\n1\t2\n", "tabs"),
        ("t.tsv", "a,b\n1,2\n", "separated by commas"),
        ("t.csv", "a|b|c, d\n1|2|3\n4|5|6\n", "vertical bars"),
        ("t.csv", "a,b\n1;2\n3;4\n", "header has 2 columns but record 2 has 1"),
        ("t.csv", "a,b\n1,2\n3,4,5\n", "Expected 2 fields in line 3, saw 3"),
        ("t.csv", "a,b\n1,2,3\n3,4,5\n", "more cells than the header"),
        ("t.csv", 'a,b\n1,"x\n', "cannot be read as a table"),
        ("t.csv", b"a,b\n1,caf\xe9\n", "not utf-8 text: byte 0xe9 in line 2; .* cp1252"),
        ("t.csv", b"a,b\n1,\x81\xe9\n", "latin-1"),
        ("t.csv", "a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        ("t.csv", b"PK\x03\x04\xff\xff", "Excel"),
        ("t.csv", b"\xff\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f", "not look like"),
        ("t.csv", b"a,b\n1,2\xc3", "not utf-8 text"),
        ("t.csv.gz", b"\x1f\x8bnonsense", "damaged"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-12], "damaged"),
        ("t.parquet", b"PAR1nonsense", "not a readable Parquet file"),
        ("t.parquet", b"", "not a readable Parquet file"),
        ("t.jsonl", "", "is empty"),
        ("t.jsonl", '{"a": 1}\n{"a": \n', "line 2 is not JSON"),
        ("t.jsonl", "[1, 2]\n", "line 1 is not a JSON object"),
        ("t.jsonl", b'{"a": "\xe9"}\n', "not utf-8"),
        ("t.jsonl", "{}\n", "no columns"),
        ("t.ods", "", "suffix '.ods' are not supported"),
        ("t", "", r"suffix '\(none\)'"),
        ("t.parquet.gz", "", "takes no .gz"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(TableError, match=message) as caught:
        read_table(put(tmp_path / name, content))
    assert "\n" not in str(caught.value)


def test_an_error_beyond_the_first_sample(tmp_path: Path) -> None:
    rows = b"a,b\n" + b"1,2\n" * 300_000
    with pytest.raises(TableError, match="byte 0xe9 in line 300002"):
        read_table(put(tmp_path / "t.csv", rows + b"1,\xe9\n"))


def test_bad_paths(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="No such file"):
        read_table(tmp_path / "absent.csv")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(TableError, match="is a directory"):
        read_table(tmp_path / "d.csv")
    with pytest.raises(TableError, match="is a directory"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "d.csv")
    with pytest.raises(TableError, match="does not exist"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "absent" / "t.csv")
    source = put(tmp_path / "t.csv", "a,b\n1,2\n")
    with pytest.raises(TableError, match="encoding 'utf-9' is not known"):
        read_table(source, encoding="utf-9")
    with pytest.raises(TableError, match="one character"):
        read_table(source, delimiter="::")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    source = put(tmp_path / "t.csv", "a,b\n1,2\n")
    source.chmod(0)
    with pytest.raises(TableError, match="cannot be read"):
        read_table(source)


def test_json_lines_keep_their_values(tmp_path: Path) -> None:
    records = [
        {"n": 9007199254740993, "x": 0.1, "s": "007", "b": True, "l": [1, {"k": 2}]},
        {"n": None, "x": 1e300, "s": None, "b": None, "l": None},
        {"n": -1, "x": 1 / 3, "s": "é", "b": False, "l": []},
    ]
    source = put(tmp_path / "t.jsonl", "\n\n".join(map(json.dumps, records)))
    table = read_table(source)
    assert [str(table[c].dtype) for c in "nxb"] == ["Int64", "float64", "boolean"]
    write_table(table, tmp_path / "u.ndjson.gz")
    lines = gzip.decompress((tmp_path / "u.ndjson.gz").read_bytes()).decode().splitlines()
    assert [json.loads(line) for line in lines] == records


def test_json_lines_with_changing_keys(tmp_path: Path) -> None:
    table = read_table(put(tmp_path / "t.jsonl", '{"a": 1}\n{"b": "x", "a": 2}\n{"b": "y"}\n'))
    assert table["a"].tolist()[:2] == [1, 2]
    assert table["a"].isna().tolist() == [False, False, True]
    assert table["b"].isna().tolist() == [True, False, False]


def test_json_lines_write_any_type(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {
            "when": pd.to_datetime(["2024-01-02", None]),
            "array": [np.arange(2), None],
            "number": [np.float32(0.5), None],
            "other": [complex(1, 2), None],
        }
    )
    write_table(table, tmp_path / "t.jsonl")
    first, second = map(json.loads, (tmp_path / "t.jsonl").read_text().splitlines())
    assert first == {
        "when": "2024-01-02T00:00:00",
        "array": [0, 1],
        "number": 0.5,
        "other": "(1+2j)",
    }
    assert set(second.values()) == {None}


def rich_types() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "int8": np.array([1, -1, 3], dtype=np.int8),
            "Int64": pd.array([2**62 + 1, None, 3], dtype="Int64"),
            "UInt16": pd.array([1, None, 3], dtype="UInt16"),
            "boolean": pd.array([True, None, False], dtype="boolean"),
            "float32": np.array([0.1, np.nan, 3], dtype=np.float32),
            "category": pd.Categorical(["b", None, "a"], ["c", "b", "a"], ordered=True),
            "when": pd.to_datetime(["2024-01-02T03:04:05.678901", None, "1999-01-01T00:00:00.0"]),
            "zoned": pd.to_datetime(["2024-01-02", None, "1999-01-01"]).tz_localize("Asia/Tokyo"),
            "delta": pd.to_timedelta(["1 day", None, "2 s"]),
            "string": pd.array(["007", None, "x"], dtype="str"),
        },
        index=pd.Index([10, 10, 30], name="row"),
    )


def test_parquet_keeps_types_and_index(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = rich_types()
    write_table(frame, tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet"), frame)


def test_parquet_of_other_programs_keeps_integers_with_gaps(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    values = {"n": [2**62 + 1, None], "b": [True, None], "s": ["x", None], "full": [1, 2]}
    pq.write_table(pa.table(values), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert [str(table[c].dtype) for c in values] == ["Int64", "boolean", "str", "int64"] or (
        pd.__version__ < "3"
    )
    assert table["n"].iloc[0] == 2**62 + 1
    write_table(table, tmp_path / "u.parquet")
    back = pq.read_table(tmp_path / "u.parquet")
    assert back.column("n").to_pylist() == values["n"]
    assert back.schema.field("n").type == pa.int64()
    assert back.schema.field("b").type == pa.bool_()


def test_parquet_with_duplicate_names(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(TableError, match="duplicate column names"):
        read_table(tmp_path / "t.parquet")


def test_parquet_cannot_hold_everything(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(TableError, match="cannot hold"):
        write_table(pd.DataFrame({"a": [1, "x", [2]]}, dtype=object), tmp_path / "t.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_of_a_write_that_fails(tmp_path: Path, error: type) -> None:
    target = put(tmp_path / "t.csv", "old")

    def write() -> None:
        with atomic_output(target) as stream:
            stream.write(b"new")
            raise error

    with pytest.raises(error):
        write()
    assert [file.name for file in tmp_path.iterdir()] == ["t.csv"]
    assert target.read_text() == "old"


def test_a_failing_rename_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="No space"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links of POSIX")
def test_modes_links_and_devices(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1]})
    before = os.umask(0o022)
    try:
        write_table(frame, tmp_path / "new.csv")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == 0o644
    kept = put(tmp_path / "kept.csv", "old")
    kept.chmod(0o600)
    (tmp_path / "link.csv").symlink_to(kept)
    write_table(frame, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert kept.read_text() == "a\n1\n"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    (tmp_path / "null.csv").symlink_to("/dev/null")
    write_table(frame, tmp_path / "null.csv")
    assert not Path("/dev/null").is_file()


def test_the_same_table_gives_the_same_zipped_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": range(50)})
    write_table(frame, tmp_path / "a.csv.gz")
    write_table(frame, tmp_path / "b.csv.gz")
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_standard_output_takes_csv_only(capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.DataFrame({"a": ["x,y", "z"]})
    write_table(frame, "-")
    assert capsys.readouterr().out == 'a\n"x,y"\nz\n'
    with pytest.raises(TableError, match="Only CSV"):
        write_table(frame, "-", file_format=TableFormat("jsonl"))


def test_a_category_with_a_stray_line_end_is_quoted(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": pd.Categorical(["x\ry", "z"]), "b": [1, 2], "c": [{}, 1]})
    write_table(frame, tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv")["a"].tolist() == ["x\ry", "z"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/b.csv", "a/b.labeled.csv"),
        ("B.CSV.GZ", "B.labeled.CSV.GZ"),
        ("x.y.parquet", "x.y.labeled.parquet"),
        (".hidden.tsv", ".hidden.labeled.tsv"),
    ],
)
def test_default_output(path: str, expected: str) -> None:
    assert labeled_path(path) == expected
    assert format_of_path(expected) == format_of_path(path)
