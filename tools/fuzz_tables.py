"""Odd tables for ``leaven label``; ``python -m tools.fuzz tables`` runs it.

A case writes a file of odd cells, names, dtypes and bytes, and labels it. Every cell comes back as
it was, or there is one line on standard error, exit code 2 and no file. More than half of the
tables can be labeled: refusals come early, and most of the code is behind them.
"""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import decimal
import importlib.util
import io
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

CELLS: dict[str, Callable[[random.Random], str]] = {
    "number": lambda rng: f"{rng.gauss(0, 1):.4g}",
    "integer": lambda rng: str(rng.randint(-50, 50)),
    "huge": lambda rng: rng.choice(["1e308", "-1e308", "1e-300", "9" * 25, "inf", "-inf", "0"]),
    "date": lambda rng: rng.choice(
        ["2024-02-29", "9999-12-31", "0001-01-01", "1-APR-1987", "2024-13-01", "1677-09-20"]
    ),
    "category": lambda rng: rng.choice(["red", "blue", "green", "", "NA", "null"]),
    "text": lambda rng: " ".join(
        rng.choice(["late", "parcel", "refund", "thanks", "ä", "日本", "😀"]) for _ in range(9)
    ),
    "odd": lambda rng: rng.choice(
        ["=1+1", '"', "a,b", "a\nb", "\t", " x ", "'", "\\", "nan", "True", "0x1f", "1,5", "\u200b"]
    ),
    "empty": lambda rng: "",
    "constant": lambda rng: "same",
}
# Of Parquet columns, where cells have types; a fifth of the cells is missing.
TYPED: dict[str, tuple[str, Callable[[random.Random], Any]]] = {
    "float": ("float64", lambda rng: rng.choice([rng.gauss(0, 1), math.inf, -0.0, 1e308])),
    "single": ("float32", lambda rng: rng.gauss(0, 1)),
    "whole": ("Int64", lambda rng: rng.choice([0, -1, 2**62, -(2**63)])),
    "small": ("UInt8", lambda rng: rng.randint(0, 255)),
    "truth": ("boolean", lambda rng: rng.random() < 0.5),
    "time": (
        "datetime64[us]",
        lambda rng: dt.datetime(rng.choice([1, 1970, 2024, 9999]), 3, rng.randint(1, 28)),
    ),
    "zone": (
        "datetime64[ns, Asia/Kathmandu]",
        lambda rng: pd.Timestamp(2024, 1, rng.randint(1, 28), tz="Asia/Kathmandu"),
    ),
    "span": ("timedelta64[ns]", lambda rng: pd.Timedelta(rng.randint(-9, 9), "h")),
    "day": ("object", lambda rng: dt.date(2024, 1, rng.randint(1, 28))),
    "clock": ("object", lambda rng: dt.time(rng.randint(0, 23), rng.randint(0, 59))),
    "money": ("object", lambda rng: decimal.Decimal(rng.randint(0, 999)) / 100),
    "bytes": ("object", lambda rng: bytes([rng.randrange(256)])),
    "list": ("object", lambda rng: [rng.randint(0, 3)]),
    "group": ("category", lambda rng: rng.choice(["red", "blue", ""])),
    "words": ("str", lambda rng: rng.choice(["late parcel", "", "ä😀", "\x00"])),
}
NAMES = ["a", "b c", "", " ", "x__y", "__", "ünï", "1", "a.b", "class", "index", "target_", "=1"]
CLASSES = ["yes", "no", "1", "2", "ä b", "True", "x|y", "-1"]
METHODS = ["logistic-regression", "naive-bayes", "harmonic"]
ENCODINGS = ["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"]
# A user of a table can do nothing with the words of the libraries below.
INTERNAL = ["Input X", "natively", "Traceback", "dtype", "ndarray", "NoneType", "axis", "broadcast"]

Command = Callable[..., tuple[int, str]]


def random_target(rng: random.Random, n_rows: int) -> list[str]:
    """Cells of two to four classes and some blanks; now and then no labels, or one class."""
    if rng.random() < 0.15:
        classes = rng.sample(CLASSES, rng.randint(1, 2))
        return [rng.choice([*classes, *[""] * rng.randint(0, 9)]) for _ in range(n_rows)]
    classes = rng.sample(CLASSES[:-1], rng.randint(2, 4))
    return [rng.choice([*classes, "", ""]) for _ in range(n_rows)]


def random_table(rng: random.Random) -> list[dict[str, str]]:
    """Make rows of odd cells with a target."""
    n_rows = rng.randint(1, 30) if rng.random() < 0.2 else rng.randint(8, 30)
    names = rng.sample(NAMES, rng.randint(0, 5) if rng.random() < 0.2 else rng.randint(1, 5))
    kinds = [rng.choice(list(CELLS)) for _ in names]
    rows = []
    for target in random_target(rng, n_rows):
        row = {name: CELLS[kind](rng) for name, kind in zip(names, kinds, strict=True)}
        rows.append({**row, "target": target})
    return rows


def random_frame(rng: random.Random) -> pd.DataFrame:
    """Make a table of odd dtypes with a target."""
    n_rows = rng.randint(8, 30)
    frame = pd.DataFrame(index=range(n_rows))
    for name in rng.sample([name for name in NAMES if name], rng.randint(1, 5)):
        dtype, cell = TYPED[rng.choice(list(TYPED))]
        cells = [None if rng.random() < 0.2 else cell(rng) for _ in range(n_rows)]
        frame[name] = pd.Series(cells, dtype=dtype)
    target = pd.Series(random_target(rng, n_rows), dtype="str")
    frame["target"] = target.mask(target == "")
    if rng.random() < 0.3:
        frame.index = pd.Index(rng.sample(range(100), n_rows), name=rng.choice(["id", None]))
    return frame


def typed_cell(rng: random.Random, cell: str) -> Any:
    """The cell of a JSON line: a number or null where the text is one, now and then."""
    if rng.random() < 0.5:
        return cell
    if cell == "":
        return None
    try:
        number = float(cell)
    except ValueError:
        return cell == "True" or cell
    return number if math.isfinite(number) else cell


def as_bytes(rows: list[dict[str, Any]], suffix: str, encoding: str) -> bytes:
    """Write the rows as a file of that kind."""
    if suffix == ".jsonl":
        return "\n".join(json.dumps(row) for row in rows).encode(encoding, "replace")
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter="\t" if suffix == ".tsv" else ",")
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
    return text.getvalue().encode(encoding, "replace")


def cells_of(content: bytes, suffix: str, encoding: str) -> list[list[str]]:
    """Read the cells of a CSV or TSV file as they stand there."""
    text = io.StringIO(content.decode(encoding), newline="")
    return list(csv.reader(text, delimiter="\t" if suffix == ".tsv" else ","))


def tables(rng: random.Random, folder: Path, command: Command) -> str | None:
    """Label a table of odd cells."""
    if rng.random() < 0.15 and importlib.util.find_spec("pyarrow"):
        return parquet(rng, folder, command)
    rows: list[dict[str, Any]] = list(random_table(rng))
    suffix, encoding = rng.choice([".csv", ".csv", ".tsv", ".jsonl"]), rng.choice(ENCODINGS)
    if suffix == ".jsonl":
        typed = [{name: typed_cell(rng, cell) for name, cell in row.items()} for row in rows]
        rows = [{**row, "target": old["target"]} for row, old in zip(typed, rows, strict=True)]
    content = as_bytes(rows, suffix, encoding)
    is_damaged = rng.random() < 0.15
    if is_damaged:
        damaged = bytearray(content)
        for _ in range(rng.randint(1, 8)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        content = bytes(damaged[: rng.randint(1, len(damaged))])
    file, out = folder / f"in{suffix}", folder / f"out{suffix}"
    file.write_bytes(content)
    is_told = rng.random() < 0.8 or not encoding.startswith("utf")
    code, failure = labeled(rng, file, out, command, ["--encoding", encoding] if is_told else [])
    if failure or code == 2:
        return failure
    if suffix == ".jsonl":
        return None if is_damaged else changed_lines(rows, out)
    with contextlib.suppress(UnicodeError):
        before = cells_of(content, suffix, encoding)
        after = cells_of(out.read_bytes(), suffix, encoding)
        width = len(before[0])
        filled = [row for row in before if row]  # readers pass over empty lines
        if [row[:width] for row in after] != filled and all(len(r) == width for r in filled):
            return f"cells changed: {filled[:3]} became {after[:3]}"
    return None


def labeled(
    rng: random.Random, file: Path, out: Path, command: Command, options: list[str]
) -> tuple[int, str | None]:
    """Run ``leaven label``; give its exit code, and what is wrong with it."""
    out.unlink(missing_ok=True)
    options += ["--target", "target", "--out", str(out), "--method", rng.choice(METHODS)]
    code, message = command("label", str(file), *options, "--no-report", "--quiet")
    lines = message.strip().splitlines()
    if code == 2:
        if len(lines) != 1 or not lines[0].startswith("leaven: error:"):
            return code, f"exit code 2 with {message!r}"
        if any(word in message for word in INTERNAL):
            return code, f"a message of a library: {message!r}"
        return code, f"refused, but {out} exists" if out.exists() else None
    return code, f"exit code {code}: {message!r}" if code else None


def changed_lines(rows: list[dict[str, Any]], out: Path) -> str | None:
    """Compare the objects of JSON lines, which are written in UTF-8 whatever was read."""
    text = out.read_text("utf-8")
    after = [json.loads(line) for line in text.split("\n") if line]
    if len(after) != len(rows):
        return f"{len(rows)} lines became {len(after)}"
    for row, found in zip(rows, after, strict=True):
        for name, cell in row.items():
            if found.get(name, "missing") != cell:
                return f"the cell {name!r} changed: {cell!r} became {found.get(name, 'missing')!r}"
    return None


def parquet(rng: random.Random, folder: Path, command: Command) -> str | None:
    """Label a table of odd dtypes."""
    frame = random_frame(rng)
    file, out = folder / "in.parquet", folder / "out.parquet"
    frame.to_parquet(file)
    code, failure = labeled(rng, file, out, command, [])
    if failure or code == 2:
        return failure
    before, after = pd.read_parquet(file), pd.read_parquet(out)
    try:
        pd.testing.assert_frame_equal(before, after[before.columns.tolist()])
    except (AssertionError, KeyError) as error:
        return f"cells changed: {error}"
    return None
