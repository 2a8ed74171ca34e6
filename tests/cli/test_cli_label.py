"""``leaven label`` from end to end."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from leaven import tables
from leaven.cli import main
from leaven.tables import _read as read_module
from leaven.tables import _write as write_module

ROWS = 40
# Before click 8.2 the two streams are mixed unless told otherwise; since then they never are.


def example_rows() -> list[list[str]]:
    rng = np.random.default_rng(0)
    rows = [["id", "size", "color", "when", "empty", "kind"]]
    for i in range(ROWS):
        big = i % 2
        size = f"{rng.normal(5 * big, 1):.2f}" if i % 10 != 4 else "NA"
        label = ["cherry", "apple"][big] if i < 8 else ""
        rows.append(
            [f"{i:04d}", size, ["red", "green"][big], f"2024-01-{i % 28 + 1:02d}", "", label]
        )
    return rows


def as_text(rows: list[list[str]], delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "fruit.csv"
    path.write_text(as_text(example_rows()), encoding="utf-8")
    return path


def rows_of(path: Path, delimiter: str = ",") -> list[list[str]]:
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    return list(csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter))


def run(*arguments: Any, data: bytes | None = None) -> Result:
    """Run a command; one that labels with a named method and no report, unless it says so."""
    words = [str(argument) for argument in arguments]
    if words[0] == "label" and not {"--method", "--candidates"} & set(words):
        words += ["--method", "harmonic"]
    if words[0] == "label" and not {"--report", "--explain"} & set(words):
        words += ["--no-report"]
    return CliRunner().invoke(main, words, input=data)


def check_output(rows: list[list[str]], original: list[list[str]]) -> None:
    new = ["kind_predicted", "kind_confidence", "kind_source", "kind_review"]
    assert rows[0] == [*original[0], *new]
    assert [row[:-4] for row in rows] == original
    for i, row in enumerate(rows[1:]):
        *_, given, predicted, confidence, source, review = row
        assert review in (("False",) if given else ("False", "True"))
        assert source == ("given" if given else "inferred")
        assert predicted == (given or predicted)
        assert predicted == ["cherry", "apple"][i % 2]
        assert 0.5 < float(confidence) <= 1


def test_label(table: Path) -> None:
    result = run("label", table, "--target", "kind")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    out = table.parent / "fruit.labeled.csv"
    assert sorted(table.parent.iterdir()) == [table, out]
    check_output(rows_of(out), example_rows())
    assert "32 of 40 rows labeled by harmonic from 8 labels" in result.stdout
    assert "Learned from: size (number), color (category), when (date)" in result.stdout
    assert "id (an id: every value is distinct)" in result.stdout
    assert "empty (all cells are missing)" in result.stdout
    assert f"Written to {out}" in result.stdout


def test_data_on_standard_output_stays_data(table: Path) -> None:
    result = run("label", table, "--target", "kind", "--out", "-")
    check_output(list(csv.reader(io.StringIO(result.stdout))), example_rows())
    assert "32 of 40 rows" in result.stderr
    assert "Written" not in result.stderr
    assert list(table.parent.iterdir()) == [table]


@pytest.mark.parametrize("zipped", [False, True])
def test_standard_input(table: Path, zipped: bool) -> None:
    data = table.read_bytes()
    result = run("label", "-", "--target", "kind", data=gzip.compress(data) if zipped else data)
    assert result.exit_code == 0, result.stderr
    check_output(list(csv.reader(io.StringIO(result.stdout))), example_rows())


def test_report(table: Path) -> None:
    page = table.with_name("report.html")
    result = run("label", table, "--target", "kind", "--report", page)
    assert result.exit_code == 0, result.stderr
    assert f"Report in {page}" in result.output.replace("\n", "")
    text = page.read_text(encoding="utf-8")
    assert "fruit.csv" in text
    assert "cherry" in text
    missing = table.parent / "no" / "report.html"
    result = run("label", table, "--target", "kind", "--force", "--report", missing)
    assert result.exit_code == 2
    assert "does not exist" in result.stderr


def test_a_report_is_written_next_to_the_output(table: Path) -> None:
    page = table.parent / "fruit.report.html"
    result = run("label", table, "--target", "kind", "--explain")
    assert result.exit_code == 0, result.stderr
    assert f"Report in {page}" in result.output.replace("\n", "")
    assert "fruit.csv" in page.read_text(encoding="utf-8")
    assert "No other method was tried: this one was named." in result.stdout
    contradiction = run("label", table, "--target", "kind", "--report", page, "--no-report")
    assert contradiction.exit_code == 2
    assert "contradict each other" in contradiction.stderr


def test_the_choice_is_explained(table: Path) -> None:
    names = "logistic-regression,harmonic,transductive-svm"
    arguments = ["label", table, "--target", "kind", "--candidates", names]
    arguments += ["--time-limit", "0.01", "--ask", "3"]
    short = run(*arguments)
    assert short.exit_code == 0, short.stderr
    assert "against" in short.stdout or "cannot be told" in short.stdout
    assert "Not tried: " in short.stdout
    assert "transductive-svm" in short.stdout
    assert "To review: " in short.stdout
    assert "Label these rows next" in short.stdout
    whole = run(*arguments, "--explain", "--no-report")
    assert "logistic-regression" in whole.stdout
    assert "transductive-svm was skipped: " in whole.stdout
    told = json.loads(run(*arguments, "--json").stdout)
    assert told["selection"]["choice"] == told["method"]
    assert len(told["ask"]) == 3
    rows = rows_of(table.parent / "fruit.labeled.csv")
    assert all(rows[row][-3] == "inferred" for row in told["ask"])
    assert sorted(rows[row][-1] for row in told["ask"]) == ["1", "2", "3"]  # kind_ask


def test_strange_labels(table: Path) -> None:
    rows = example_rows()
    rows[1][-1] = "Cherry "
    table.write_text(as_text(rows))
    result = run("label", table, "--target", "kind")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("that differ only in case or spaces: 'Cherry ', 'cherry'") == 1
    assert result.stdout.count("spaces around the name: 'Cherry '") == 1
    assert "One label only of class 'Cherry '" in result.stdout


def test_quiet(table: Path) -> None:
    result = run("label", table, "--target", "kind", "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert (table.parent / "fruit.labeled.csv").exists()


@pytest.mark.parametrize("out", ["x.csv", "-"])
def test_json(table: Path, out: str) -> None:
    path = "-" if out == "-" else table.parent / out
    result = run("label", table, "--target", "kind", "--json", "--out", path)
    summary = json.loads(result.stderr if out == "-" else result.stdout)
    assert summary["n_rows"] == ROWS
    assert summary["classes"][0] == {"name": "apple", "given": 4, "inferred": 16}
    assert summary["dropped"]["empty"] == "all cells are missing"
    assert summary["output"] == str(path)


def test_seed_and_method_and_prior(table: Path) -> None:
    arguments = ["label", table, "--target", "kind", "--out", "-", "--quiet"]
    plain = run(*arguments).stdout
    assert run(*arguments, "--method", "harmonic", "--seed", 0).stdout == plain
    other = run(*arguments, "--method", "linear-svm")
    assert other.exit_code == 0
    assert other.stdout != plain
    same = run(*arguments, "--prior", "apple=0.5,cherry=0.5")
    assert same.exit_code == 0
    assert run(*arguments, "--prior", '{"apple": 0.5, "cherry": 0.5}').stdout == same.stdout
    assert run(*arguments, "--prior", "none").exit_code == 0


def test_text_and_notes(tmp_path: Path) -> None:
    rows = [["note", "n", "t"]]
    words = [["bill", "card", "bank"], ["crash", "log", "bug"]]
    rows += [[" ".join(words[i % 2]) + f" {i}", str(i), ""] for i in range(30)]
    for i, label in enumerate(["Pay", "fix", "pay", "fix", "-", "fix"]):
        rows[i + 1][2] = label
    path = tmp_path / "t.csv"
    path.write_text(as_text(rows))
    result = run("label", path, "--target", "t", "--text", "note", "--text", "n", "--json")
    summary = json.loads(result.stdout)
    assert summary["columns"] == {"note": "text", "n": "text"}
    assert any("differ only in case" in note for note in summary["notes"])
    assert any("'-' in 't' was read as a class" in note for note in summary["notes"])
    told = run("label", path, "--target", "t", "--missing", "-")
    assert "Note: Classes of 't' that differ only in case or spaces: 'Pay', 'pay'." in told.stdout


def test_warnings_become_notes(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import warnings

    whole = tables.label_table

    def warn(*args: Any, **kwargs: Any) -> Any:
        warnings.warn("Mind the gap.", UserWarning, stacklevel=1)
        warnings.warn("Not for users.", DeprecationWarning, stacklevel=1)
        return whole(*args, **kwargs)

    monkeypatch.setattr(tables, "label_table", warn)
    result = run("label", table, "--target", "kind")
    assert "Note: Mind the gap." in result.stdout
    assert "Not for users" not in result.output


def test_many_classes_and_columns_are_shortened(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 20)), columns=[f"column{i}" for i in range(20)])
    frame["[b]t[/b] :smile:"] = [f"c{i % 30}" if i < 60 else "" for i in range(120)]
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = run("label", tmp_path / "t.csv", "--target", "[b]t[/b] :smile:")
    assert result.exit_code == 0, result.output
    assert "... 10 more" in result.stdout
    assert "and 8 more" in result.stdout
    assert "[b]t[/b] :smile:" in result.stdout


def test_other_formats_and_dialects(table: Path) -> None:
    folder = table.parent
    rows = example_rows()
    (folder / "a.tsv").write_text(as_text(rows, "\t"))
    (folder / "b.csv").write_bytes(
        b"\xef\xbb\xbf" + as_text(rows, ";").replace("\n", "\r\n").encode()
    )
    (folder / "c.csv.gz").write_bytes(gzip.compress(as_text(rows).encode()))
    assert run("label", folder / "a.tsv", "--target", "kind").exit_code == 0
    check_output(rows_of(folder / "a.labeled.tsv", "\t"), rows)
    assert run("label", folder / "b.csv", "--target", "kind", "--delimiter", ";").exit_code == 0
    written = (folder / "b.labeled.csv").read_bytes()
    assert written.startswith(b"\xef\xbb\xbfid;size;")
    assert written.count(b"\r\n") == ROWS + 1
    assert run("label", folder / "c.csv.gz", "--target", "kind").exit_code == 0
    check_output(rows_of(folder / "c.labeled.csv.gz"), rows)
    crossed = run("label", folder / "a.tsv", "--target", "kind", "--out", folder / "x.csv")
    assert crossed.exit_code == 0
    check_output(rows_of(folder / "x.csv"), rows)
    piped = run("label", folder / "a.tsv", "--target", "kind", "--out", "-", "--quiet")
    check_output(list(csv.reader(io.StringIO(piped.stdout))), rows)
    (folder / "d.csv").write_text(as_text(rows, "\t"))
    tabs = run("label", folder / "d.csv", "--target", "kind", "--delimiter", "tab", "--quiet")
    assert tabs.exit_code == 0, tabs.stderr


def test_parquet_and_json_lines_keep_types(table: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.read_csv(table, dtype={"id": "str"}).drop(columns="empty")
    frame["count"] = pd.array(np.arange(ROWS) % 7, dtype="Int16")
    frame.loc[3, "count"] = pd.NA
    frame["when"] = pd.to_datetime(frame["when"])
    frame["color"] = frame["color"].astype("category")
    frame.index = pd.Index(range(100, 100 + ROWS), name="row")
    path = table.parent / "t.parquet"
    frame.to_parquet(path)
    assert run("label", path, "--target", "kind").exit_code == 0
    labeled = pd.read_parquet(table.parent / "t.labeled.parquet")
    pd.testing.assert_frame_equal(labeled[frame.columns], pd.read_parquet(path))
    assert labeled["kind_predicted"].dtype == pd.read_parquet(path)["kind"].dtype
    data = run("label", "-", "--target", "kind", "--quiet", data=path.read_bytes())
    assert data.exit_code == 0, data.stderr
    lines = table.parent / "t.jsonl"
    records = json.loads(frame.drop(columns="when").to_json(orient="records"))
    lines.write_text("\n".join(map(json.dumps, records)))
    assert run("label", lines, "--target", "kind").exit_code == 0
    written = (table.parent / "t.labeled.jsonl").read_text().splitlines()
    back = [json.loads(line) for line in written]
    assert [{k: row[k] for k in records[0]} for row in back] == records
    assert run("label", "-", "--target", "kind", data=lines.read_bytes()).exit_code == 0


def test_replacing_the_input_needs_force(table: Path) -> None:
    before = table.read_bytes()
    os.link(table, table.parent / "same.csv")
    for out in (table, table.parent / "." / "fruit.csv", table.parent / "same.csv"):
        result = run("label", table, "--target", "kind", "--out", out)
        check_failure(
            result,
            "is the input. Name another file, or pass --force",
            {table, table.parent / "same.csv"},
        )
        assert table.read_bytes() == before
    assert run("label", table, "--target", "kind", "--out", table, "--force").exit_code == 0
    check_output(rows_of(table), example_rows())
    # The columns of an earlier run are replaced.
    again = run("label", table, "--target", "kind", "--out", table.parent / "b.csv")
    assert again.exit_code == 0
    check_output(rows_of(table.parent / "b.csv"), example_rows())


def check_failure(result: Result, message: str, files: set[Path], code: int = 2) -> None:
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("leaven: error: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("\n")
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    (folder,) = {path.parent for path in files}
    assert set(folder.iterdir()) == files


LABELS = "\n".join(f"{i},{i % 3},x{i % 2}" for i in range(20))
BAD: list[tuple[str, str | bytes, list[str], str]] = [
    ("empty file", "", [], "is empty"),
    ("header only", "a,b,t\n", [], "has a header but no rows"),
    ("semicolons", "a;b;t\n1;2;x\n3;4;y\n5;6;\n", [], "Pass --delimiter ';'".lower()),
    ("tabs", "a\tb\tt\n1\t2\tx\n3\t4\ty\n5\t6\t\n", [], "--delimiter tab"),
    ("duplicates", "a,a,t\n1,2,x\n3,4,\n", [], "duplicate column names: 'a'"),
    ("all labeled", f"a,b,t\n{LABELS}\n", [], "Every one of the 20 rows has a label in 't'"),
    ("none labeled", "a,b,t\n1,2,\n3,4,\n", [], "'t' has no labeled row"),
    ("one class", "a,b,t\n1,2,x\n3,4,\n5,6,x\n", [], "one class only, 'x'"),
    ("no features", "t\nx\ny\n\n", [], "has no column but the target 't'"),
    ("no useful features", "a,t\n1,x\n1,y\n1,\n", [], "no column to learn from"),
    (
        "10,000 classes",
        "a,t\n" + "".join(f"{i % 7},name{i}\n" for i in range(10_000)) + "3,\n",
        [],
        "10,000 distinct values in 10,000 labeled rows: this is not a class column",
    ),
    (
        "regression",
        "a,t\n" + "".join(f"{i % 7},{i / 3:.3f}\n" for i in range(50)) + "3,\n",
        [],
        "needs regression",
    ),
    ("too many cells", "a,t\n1,x\n2,y,z\n3,\n", [], "Expected 2 fields in line 3, saw 3"),
    ("not UTF-8", b"a,b,t\n1,caf\xe9,x\n2,b,y\n3,c,\n", [], "If so, pass --encoding 'cp1252'"),
    ("missing text", "a,b,t\n1,2,x\n3,4,y\n5,6,\n", ["--text", "note"], "no text column 'note'"),
    ("text is target", "a,b,t\n1,2,x\n3,4,y\n5,6,\n", ["--text", "t"], "both the target"),
    ("method", "a,b,t\n1,2,x\n3,4,y\n5,6,\n", ["--method", "magic"], "methods: auto, logistic"),
    ("prior", "a,b,t\n1,2,x\n3,4,y\n5,6,\n", ["--prior", "x"], "--prior 'x' is not understood"),
    ("prior value", "a,b,t\n1,2,x\n3,4,y\n5,6,\n", ["--prior", "x=a"], "not understood"),
    ("prior JSON", "a,b,t\n1,2,x\n3,4,y\n5,6,\n", ["--prior", "{"], "not understood"),
    ("prior sum", "a,b,t\n1,2,x\n3,4,y\n5,6,\n", ["--prior", "x=0.5,y=0.1"], "sums to 0.6"),
    ("prior class", "a,b,t\n1,2,x\n3,4,y\n5,6,\n", ["--prior", "x=0.5,z=0.5"], "unknown: ['z']"),
    ("NA", "a,b,t\n1,2,x\n3,4,y\n5,6,NA\n", [], "If NA means 'no label', pass --missing 'NA'"),
    ("encoding", "a,b,t\n1,2,x\n3,4,y\n5,6,\n", ["--encoding", "utf-9"], "'utf-9' is not known"),
    ("delimiter", "a,b,t\n1,2,x\n3,4,y\n5,6,\n", ["--delimiter", "::"], "one character"),
    ("candidate", "a,b,t\n1,2,x\n3,4,y\n5,6,\n", ["--candidates", "harmonic,x"], "'x' is not k"),
    ("time", "a,b,t\n1,2,x\n3,4,y\n5,6,\n", ["--time-limit", "0"], "--time-limit"),
    ("error", "a,b,t\n1,2,x\n3,4,y\n5,6,\n", ["--target-error", "1.5"], "--target-error"),
    ("ask", "a,b,t\n1,2,x\n3,4,y\n5,6,\n", ["--ask", "-1"], "--ask"),
    ("jobs", "a,b,t\n1,2,x\n3,4,y\n5,6,\n", ["--jobs", "0"], "--jobs"),
    ("strict", "a,b,t\n1,2,x\n3,4,X\n5,6,\n", ["--strict"], "'X', 'x'. Correct the labels"),
    ("images", "a,t\n1.png,x\n2.png,y\n3.png,\n", [], "No image of 'a' can be read from"),
    ("ages", "a,t\n" + "".join(f"{i % 7},{i}\n" for i in range(30)) + "3,\n", [], "regression"),
    ("seed", "a,b,t\n1,2,x\n3,4,y\n5,6,\n", ["--seed", "-5"], "--seed"),
]


@pytest.mark.parametrize(
    ("content", "options", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD]
)
def test_bad_input(tmp_path: Path, content: str | bytes, options: list[str], message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    check_failure(run("label", path, "--target", "t", *options), message, {path})


def test_bad_paths(table: Path) -> None:
    files = {table}
    folder = table.parent
    check_failure(run("label", folder / "no.csv", "--target", "kind"), "No such file", files)
    check_failure(run("label", table, "--target", "kid"), "Did you mean 'kind'", files)
    check_failure(run("label", table), "Missing option '--target'", files)
    check_failure(run("label", folder / "t.ods", "--target", "t"), "'.ods' are not supp", files)
    out = run("label", table, "--target", "kind", "--out", folder / "x.ods")
    check_failure(out, "'.ods' are not supported", files)
    out = run("label", table, "--target", "kind", "--out", folder / "absent" / "x.csv")
    check_failure(out, "does not exist", files)
    check_failure(run("lable", table), "No such command 'lable'", files)
    bad = folder / "bad.parquet"
    bad.write_bytes(b"PAR1 this is not")
    check_failure(run("label", bad, "--target", "t"), "not a readable Parquet", {table, bad})
    check_failure(
        run("label", "-", "--target", "t", data=b""), "standard input is empty", {table, bad}
    )


def test_parquet_without_pyarrow(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from leaven.exceptions import MissingExtraError

    def absent(module: str, *, extra: str, needed_by: str) -> None:
        raise MissingExtraError(f'{needed_by} needs {module}. pip install "leaven[{extra}]"')

    monkeypatch.setattr(read_module, "import_optional", absent)
    monkeypatch.setattr(write_module, "import_optional", absent)
    path = table.parent / "t.parquet"
    path.write_bytes(b"PAR1")
    result = run("label", path, "--target", "t")
    check_failure(result, 'needs pyarrow. pip install "leaven[parquet]"', {table, path})
    result = run("label", table, "--target", "kind", "--out", table.parent / "x.parquet")
    check_failure(result, "leaven[parquet]", {table, path})


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (OSError(28, "No space left on device"), "No space left on device", 1),
        (MemoryError("Too large."), "not enough memory. Too large.", 1),
        (KeyboardInterrupt(), "interrupted", 130),
    ],
)
def test_failures_leave_nothing(
    table: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, message: str, code: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    result = run("label", table, "--target", "kind")
    assert result.exit_code == code
    assert result.stderr.strip().splitlines()[-1].startswith("leaven: error: ")
    assert message in result.stderr
    assert list(table.parent.iterdir()) == [table]


def test_bugs_are_not_hidden(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    result = run("label", table, "--target", "kind")
    assert result.exit_code == 1
    assert isinstance(result.exception, ZeroDivisionError)
    assert list(table.parent.iterdir()) == [table]


def test_in_a_process_of_its_own(table: Path) -> None:
    command = [sys.executable, "-m", "leaven.cli", "label", str(table)]
    command += ["--method", "harmonic", "--target"]
    done = subprocess.run([*command, "kind", "--out", "-"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    check_output(list(csv.reader(io.StringIO(done.stdout))), example_rows())
    failed = subprocess.run([*command, "kid"], capture_output=True, text=True)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.startswith("leaven: error: There is no target column 'kid'.")
    assert list(table.parent.iterdir()) == [table]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_killed_run_leaves_nothing(table: Path, number: int) -> None:
    # The write hangs in the middle; then the process is told to end.
    script = (
        "import sys, time, pandas as pd\n"
        "def hang(self, stream, **_):\n"
        "    stream.write('half a'); stream.flush(); print('hanging', flush=True); time.sleep(60)\n"
        "pd.DataFrame.to_csv = hang\n"
        "from leaven.cli import main\n"
        f"main(['label', {str(table)!r}, '--target', 'kind', '--method', 'harmonic'])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "hanging\n"
        assert len(list(table.parent.iterdir())) == 2
        time.sleep(0.1)
        process.send_signal(number)
        process.wait(timeout=30)
        assert process.returncode == 128 + number
    assert list(table.parent.iterdir()) == [table]


def test_one_run_does_each_thing_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A run with two candidates used to encode the labels 52 times, to check parameters 68 times,
    # to ask for the format 6 times, and to check where to write 3 times.
    from collections import Counter

    from leaven import _compat, _files, _labels
    from leaven.tables import _format, _read, _write

    counts: Counter[str] = Counter()

    def count(name: str, function: Any) -> Any:
        def counted(*args: Any, **kwargs: Any) -> Any:
            counts[name] += 1
            return function(*args, **kwargs)

        return counted

    encode = count("encodings", _labels._values_and_missing)
    monkeypatch.setattr(_labels, "_values_and_missing", encode)
    check = count("parameters", _compat.validate_parameter_constraints)
    monkeypatch.setattr(_compat, "validate_parameter_constraints", check)
    format_of_path = count("formats", _format.format_of_path)
    for module in (tables, _read, _write):
        monkeypatch.setattr(module, "format_of_path", format_of_path)
    output_problem = count("outputs", _files.output_problem)
    for module in (_files, _write):
        monkeypatch.setattr(module, "output_problem", output_problem)
    run("example", "orchard", "--out", tmp_path / "orchard.csv")
    counts.clear()
    names = "logistic-regression,harmonic"
    result = run("label", tmp_path / "orchard.csv", "--target", "variety", "--candidates", names)
    assert result.exit_code == 0
    assert counts["encodings"] <= 5
    assert counts["parameters"] <= 5  # of the preparer, and of the harmonic classifier twice
    assert counts["formats"] == 2  # of the input and of the output
    assert counts["outputs"] == 1
