"""A slice of ``make fuzz`` with fixed seeds: the generators work, and find nothing."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pandas as pd
import pytest

from tools import fuzz, fuzz_tables


@pytest.mark.parametrize(
    ("suite", "count"),
    [("tables", 500), ("estimators", 120), ("files", 600), ("signals", 8), ("kills", 30)],
)
def test_a_slice(suite: str, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    if suite in ("signals", "kills") and not hasattr(os, "fork"):
        pytest.skip("needs fork")
    n_cases, n_failed = fuzz.run(suite, seed=20_000, count=count, seconds=None)
    assert (n_cases, n_failed) == (count, 0), capsys.readouterr().out


def test_a_failure_is_counted_and_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def odd(rng: object, folder: object) -> str | None:
        return "broken" if rng.random() < 0.5 else None  # type: ignore[attr-defined]

    monkeypatch.setitem(fuzz.SUITES, "odd", odd)
    n_cases, n_failed = fuzz.run("odd", seed=3, count=20, seconds=None)
    printed = capsys.readouterr().out
    assert n_cases == 20
    assert 0 < n_failed < 20
    assert printed.count("broken") == n_failed
    # The seed in a line repeats its case alone.
    seed = int(printed.split("--seed ")[1].split(":")[0])
    assert fuzz.run("odd", seed=seed, count=1, seconds=None) == (1, 1)


def copying(change: object = None):
    """A stand-in for the command: it copies the table, and changes it first."""

    def command(verb: str, file: str, *options: str) -> tuple[int, str]:
        out = options[options.index("--out") + 1]
        if file.endswith(".parquet"):
            table = pd.read_parquet(file)
            if change is not None:
                table.iloc[0, table.columns.get_loc("target")] = "changed"
            table.to_parquet(out)
            return 0, ""
        shutil.copy(file, out)
        if change is not None:
            Path(out).write_bytes(Path(out).read_bytes()[:-40])
        return 0, ""

    return command


def test_a_changed_cell_is_found(tmp_path: Path) -> None:
    def failure(seed: int, command: object) -> str | None:
        try:
            return fuzz_tables.tables(random.Random(seed), tmp_path, command)
        except ValueError as error:  # no JSON, or no text
            return str(error)

    found = [(failure(seed, copying()), failure(seed, copying("cut"))) for seed in range(50)]
    # JSON lines are written in UTF-8, which a mere copy is not always.
    assert sum(honest is None for honest, _ in found) > 0.8 * len(found)
    assert sum(cut is not None for _, cut in found) > 0.8 * len(found)


@pytest.mark.parametrize(
    ("code", "message", "word"),
    [
        (1, "leaven: error: x", "exit code 1"),
        (2, "leaven: error: x\nand more", "exit code 2 with"),
        (2, "Usage: leaven", "exit code 2 with"),
        (2, "leaven: error: Input X contains NaN.", "a message of a library"),
    ],
)
def test_refusals_are_one_line_in_the_words_of_the_table(
    tmp_path: Path, code: int, message: str, word: str
) -> None:
    failure = fuzz_tables.tables(random.Random(3), tmp_path, lambda *args: (code, message))
    assert failure is not None
    assert failure.startswith(word)
    fine = fuzz_tables.tables(
        random.Random(3), tmp_path, lambda *args: (2, "leaven: error: No such column.")
    )
    assert fine is None
