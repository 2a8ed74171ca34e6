"""``leaven --help``, ``leaven example`` and ``leaven datasets``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import leaven
from leaven.cli import main
from leaven.cli._example import bundled
from leaven.datasets import list_available, load_example

RUNNER = CliRunner()


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from leaven.cli import main\n"
        "try:\n"
        "    main(sys.argv[1:])\n"
        "except SystemExit as error:\n"
        "    assert error.code == 0, error.code\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'rich', 'pyarrow', 'matplotlib'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    for arguments in (["--help"], ["label", "--help"], ["--version"]):
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert "leaven" in done.stdout


def test_version() -> None:
    result = RUNNER.invoke(main, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"leaven {leaven.__version__}\n")


def test_without_standalone_mode_errors_are_raised() -> None:
    assert main(["--version"], standalone_mode=False) == 0


def test_in_a_thread_signals_are_left_alone() -> None:
    import threading

    codes = []
    thread = threading.Thread(
        target=lambda: codes.append(RUNNER.invoke(main, ["--version"]).exit_code)
    )
    thread.start()
    thread.join()
    assert codes == [0]


def test_datasets() -> None:
    result = RUNNER.invoke(main, ["datasets"])
    assert result.exit_code == 0, result.output
    assert "name" in result.stdout
    assert result.stdout.count("\n") == len(list_available()) + 1
    listed = json.loads(RUNNER.invoke(main, ["datasets", "--json"]).stdout)
    assert {"name", "kind", "rows", "available"} <= set(listed[0])


@pytest.mark.parametrize("name", ["support_tickets", "orchard"])
def test_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    result = RUNNER.invoke(main, ["example", name])
    assert (result.exit_code, result.stdout) == (0, f"Written to {name}.csv\n")
    written = (tmp_path / f"{name}.csv").read_bytes()
    assert written == bundled()[name].read_bytes()
    assert RUNNER.invoke(main, ["example", name, "--out", "-"]).stdout_bytes == written
    again = RUNNER.invoke(main, ["example", name])
    assert again.exit_code == 2
    assert "already there. Pass --force" in again.stderr
    assert RUNNER.invoke(main, ["example", name, "--force"]).exit_code == 0
    assert RUNNER.invoke(main, ["example", name, "--out", "no/x.csv"]).exit_code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{name}.csv"]


def test_unknown_example() -> None:
    result = RUNNER.invoke(main, ["example", "nope"])
    assert result.exit_code == 2
    expected = (
        "leaven: error: There is no example 'nope'. Known examples: orchard, support_tickets.\n"
    )
    assert result.stderr == expected


@pytest.mark.parametrize(
    ("name", "target", "options", "at_least"),
    [("support_tickets", "topic", ["--text", "text"], 0.85), ("orchard", "variety", [], 0.9)],
)
def test_the_examples_are_labeled_well(
    tmp_path: Path, name: str, target: str, options: list[str], at_least: float
) -> None:
    out = tmp_path / "out.csv"
    source = str(bundled()[name])
    arguments = ["label", source, "--target", target, "--out", str(out), "--quiet", *options]
    assert RUNNER.invoke(main, arguments).exit_code == 0
    labeled = pd.read_csv(out, dtype=str)
    truth = load_example(name, with_truth=True)[f"{target}_true"]
    inferred = labeled[f"{target}_source"] == "inferred"
    right = labeled[f"{target}_predicted"].to_numpy() == truth.to_numpy()
    assert right[inferred].mean() >= at_least


def test_datasets_by_name_say_how_to_get_them() -> None:
    result = RUNNER.invoke(main, ["datasets", "zoo", "mnist"])
    assert result.exit_code == 0
    assert "licence    CC BY 4.0 (UCI)" in result.stdout
    assert "file       digits/mnist.npz" in result.stdout
    entries = json.loads(RUNNER.invoke(main, ["datasets", "zoo", "--json"]).stdout)
    assert entries[0]["rows"] == 101
    assert len(entries[0]["sha256"]) == 64
    wrong = RUNNER.invoke(main, ["datasets", "zo"])
    assert wrong.exit_code == 2
    assert "There is no data set 'zo'" in wrong.stderr
