"""``python -m studies``."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from studies import TABLES
from studies import __main__ as command
from studies.__main__ import main, split_names

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def _no_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LEAVEN_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("arguments", [[], ["list"]])
def test_list(arguments: list[str]) -> None:
    result = RUNNER.invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "S1: Awat Abdulla Saeed" in result.stdout
    assert "S1-3.4   NB and SSNB on continuous data sets (2 of 28 data sets here)" in result.stdout


def test_a_table(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    arguments = ["S1-3.4", "--data-sets", "iris, glass", "--trials", "2"]
    result = RUNNER.invoke(main, [*arguments, "--out", "pages"])
    assert result.exit_code == 0, result.output
    assert "Not at hand, and left out: " in result.stdout
    assert ", glass, " in result.stdout
    markdown = (tmp_path / "pages" / "s1.md").read_text(encoding="utf-8")
    assert "| iris | " in markdown
    assert "PhD thesis, University of East Anglia, 2018" in markdown
    page = (tmp_path / "pages" / "s1.html").read_text(encoding="utf-8")
    assert page.count("<svg") == page.count("</svg>") == 1
    assert (tmp_path / "pages" / "results-curve-iris.sqlite").is_file()
    # Once more, from the store: the pages are the same to the last byte.
    result = RUNNER.invoke(main, [*arguments, "--out", "pages"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "pages" / "s1.md").read_text(encoding="utf-8") == markdown
    assert (tmp_path / "pages" / "s1.html").read_text(encoding="utf-8") == page


def test_names_with_commas_in_them() -> None:
    known = {"iris", "iris, later", "iris, later, still", "wine", "1,000 terms"}
    for text, expected in (
        ("wine,iris", ("wine", "iris")),
        ("iris, later,wine", ("iris, later", "wine")),
        ("iris,later, still, iris, ", ("iris, later, still", "iris")),
        ("rose, iris", ("rose", "iris")),  # refused by its name later on
        ("1,000 terms", ("1,000 terms",)),
        (",", ()),
    ):
        assert split_names(text, known) == expected
    every = {name for table in TABLES.values() for name in table.datasets}
    for table in TABLES.values():
        assert split_names(",".join(table.datasets), every) == table.datasets


def test_tables_without_learning_curves_have_their_figure_in_html(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    result = RUNNER.invoke(main, ["S2-figure-5", "S0-figures-3.6-3.7", "--out", "pages"])
    assert result.exit_code == 0, result.output
    for source, table in (("s2", "S2-figure-5"), ("s0", "S0-figures-3.6-3.7")):
        page = (tmp_path / "pages" / f"{source}.html").read_text(encoding="utf-8")
        assert f"<img src='images/{table}.png'" in page
        assert (tmp_path / "pages" / "images" / f"{table}.png").is_file()
        assert "<svg" not in page


def test_the_pages_of_a_source_are_there_when_the_next_one_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no such thing")

    broken = replace(TABLES["S0-figures-3.6-3.7"], run=fail)
    monkeypatch.setitem(TABLES, broken.id, broken)
    result = RUNNER.invoke(main, ["S2-figure-2", broken.id, "--out", "pages"])
    assert result.exit_code == 2
    assert "no such thing" in result.stderr
    assert (tmp_path / "pages" / "s2.md").is_file()


def test_data_sets_of_one_source_leave_the_others_out(tmp_path: Path) -> None:
    arguments = ["S1-3.4", "S2-figure-5", "--data-sets", "iris", "--trials", "1", "--out", "pages"]
    result = RUNNER.invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (tmp_path / "pages").glob("*.md")) == ["s1.md"]


def test_without_html_and_with_a_store(tmp_path: Path) -> None:
    result = RUNNER.invoke(
        main,
        ["s1-3.4", "--quick", "--trials", "1", "--no-html", "--store", "kept/r.db"],
    )
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (tmp_path / "reproduction").glob("*.*")) == ["s1.md"]
    assert (tmp_path / "kept" / "r-curve-iris.db").is_file()


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "is_installed", lambda module: False)
    assert "leaven[plot]" in command.draw_curves(pd.DataFrame())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["S1-9.9"], "There is no table 'S1-9.9'. Did you mean"),
        (["S1-3.4", "--data-sets", "iriss"], "The data set 'iriss' is in none of these tables."),
        (["S1-3.4", "--jobs", "0"], "--jobs must not be 0."),
        (["S1-3.4", "--trials", "0"], "Invalid value for '--trials'"),
    ],
)
def test_bad_input(arguments: list[str], message: str) -> None:
    result = RUNNER.invoke(main, arguments)
    assert result.exit_code == 2
    assert f"Error: {message}" in result.stderr


def test_a_store_of_other_settings_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from studies import naive_bayes as tables

    arguments = ["S1-3.4", "--data-sets", "iris", "--trials", "1", "--no-html"]
    assert RUNNER.invoke(main, arguments).exit_code == 0
    monkeypatch.setattr(tables.SSNB, "tol", 0.1)
    result = RUNNER.invoke(main, arguments)
    assert result.exit_code == 2
    assert "tol of method 'SSNB' was 1e-06 and is 0.1" in result.stderr


def test_no_data() -> None:
    result = RUNNER.invoke(main, ["S1-3.3", "--quick"])
    assert result.exit_code == 1
    assert "set LEAVEN_DATA" in result.stderr


def test_it_runs_as_a_module() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "studies", "list"], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "S4-digits" in done.stdout
