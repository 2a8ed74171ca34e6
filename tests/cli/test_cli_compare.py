"""``leaven compare`` from end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from leaven.cli import main

QUICK = ["--candidates", "logistic-regression, harmonic", "--trials", "3"]


def run(*arguments: Any) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 2
    frame = pd.DataFrame({"a": rng.normal(4.0 * kind), "b": rng.normal(size=60)})
    frame["kind"] = np.where(np.arange(60) < 20, np.array(["x", "y"])[kind], "")
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    return path


def test_compare(table: Path) -> None:
    out = table.parent / "table.md"
    result = run(table, "--target", "kind", *QUICK, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    assert "logistic-regression" in result.stdout
    assert "Accuracy on the hidden ones of 20 labels" in result.stdout
    assert "Critical difference of the mean ranks (Nemenyi, 0.05" in result.stdout
    assert f"Written to {out}" in result.stdout.replace("\n", "")
    assert out.read_text(encoding="utf-8").startswith("| method | kind | accuracy |")
    again = run(table, "--target", "kind", *QUICK)
    assert again.stdout.splitlines()[:5] == result.stdout.splitlines()[:5]


def test_json(table: Path) -> None:
    result = run(table, "--target", "kind", *QUICK, "--hide", "0.2", "--json", "--seed", 3)
    found = json.loads(result.stdout)
    assert {row["method"] for row in found["table"]} == {"logistic-regression", "harmonic"}
    assert (found["n_trials"], found["n_kept"]) == (3, 16)
    assert len(found["results"]) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "kid"], "Did you mean 'kind'"),
        (["--target", "kind", "--candidates", "magic"], "Known candidates: logistic-regression"),
        (["--target", "kind", "--trials", "0"], "--trials"),
        (["--target", "kind", "--hide", "1"], "--hide"),
        (["--target", "kind", "--prior", "x"], "--prior 'x' is not understood"),
        (["--target", "kind", "--out", "no/such/folder.md"], "does not exist"),
        ([], "Missing option '--target'"),
    ],
)
def test_bad_input(table: Path, options: list[str], message: str) -> None:
    result = run(table, *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("leaven: error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert list(table.parent.iterdir()) == [table]
