"""The table of agreement and the mean ranks, from numbers in files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from studies import TABLES, Run, join_pages, reproduce, rewrite_pages, write_pages
from studies.__main__ import main
from studies.agreement import (
    Agreement,
    agreement_lines,
    areas_of,
    count_agreement,
    published_ranks,
    rank_lines,
    read_numbers,
    update_agreement,
)
from studies.report import report_of_numbers


def cells(**columns: list[object]) -> pd.DataFrame:
    frame = pd.DataFrame(columns)
    n = len(frame)
    defaults = {
        "dataset": [f"set {i}" for i in range(n)], "method": ["NB"] * n, "mean": [1.0] * n,
        "published": [1.0] * n, "published_se": [0.1] * n, "z": [0.0] * n,
        "published_sign": [float("nan")] * n, "same_direction": [False] * n, "trials": [7] * n,
        "seconds": [12.3] * n,
    }  # fmt: skip
    return pd.DataFrame({**defaults, **columns})


def save(frame: pd.DataFrame, folder: Path, table: str) -> None:
    (folder / "numbers").mkdir(exist_ok=True)
    frame.to_csv(folder / "numbers" / f"{table}.csv", index=False)


def test_counts_by_hand() -> None:
    frame = cells(
        z=[0.5, -2.0, 2.5, -3.1, 9.0, float("nan")],
        published_se=[0.1, 0.1, 0.1, 0.1, float("nan"), 0.1],
        published_sign=[1.0, -1.0, 0.0, 1.0, 1.0, float("nan")],
        same_direction=[True, False, True, True, True, False],
    )
    # The fifth has no published standard error and the sixth no number.
    assert count_agreement(frame) == Agreement(4, 2, 3, 3, 2)


def test_the_table_adds_up(tmp_path: Path) -> None:
    save(cells(z=[0.0, 2.5, 4.0], trials=[25, 100, 100]), tmp_path, "S1-3.3")
    save(cells(z=[1.0, 1.0]), tmp_path, "S1-3.4")
    save(cells(z=[1.0] * 5), tmp_path, "S1-orders")
    lines = agreement_lines(tmp_path)
    row = next(line for line in lines if line.startswith("| S1-3.3 |"))
    assert row.startswith("| S1-3.3 | 25 to 100 | 3 | 3 | 1 | 2 (67%) |  | 12 | order of the cl")
    # Readings beside each other count neither numbers nor signs; their seconds do.
    total = next(line for line in lines if line.startswith("| **S1"))
    assert total == "| **S1, tables of the source** |  |  | 5 | 3 | 4 (80%) |  | 37 |  |"
    assert lines[-1].startswith("Not run with the present studies: ")
    assert "S1-3.5" in lines[-1]
    assert "S1-3.4" not in lines[-1]


def test_data_that_are_drawn_anew_are_counted_apart(tmp_path: Path) -> None:
    save(cells(z=[0.0, 2.5, 4.0]), tmp_path, "S1-3.3")
    save(cells(z=[5.0, 1.0]), tmp_path, "S1-3.6")
    total, own = (line for line in agreement_lines(tmp_path) if line.startswith("| **S1"))
    assert total.startswith("| **S1, tables of the source** |  |  | 5 | 2 | 3 (60%) |")
    assert own.startswith("| **S1, on data of the source** |  |  | 3 | 1 | 2 (67%) |")


def test_data_sets_in_another_form_are_left_out_of_the_last_line(tmp_path: Path) -> None:
    names = ["breast-cancer", "zoo", "soybean-large"]
    save(cells(dataset=names, z=[7.0, 1.0, 2.5]), tmp_path, "S1-3.3")
    save(cells(dataset=names[:1], z=[9.0]), tmp_path, "S1-3.5")  # drawn anew: in neither line
    lines = [line for line in agreement_lines(tmp_path) if line.startswith("| **S1")]
    assert lines[1].startswith("| **S1, on data of the source** |  |  | 3 | 1 | 2 (67%) |")
    assert lines[2].startswith("| **S1, of which not in another form** |  |  | 1 | 1 | 1 (100%) |")
    # Nothing is left of these.
    save(cells(dataset=names[:1], z=[7.0]), tmp_path, "S1-3.3")
    lines = [line for line in agreement_lines(tmp_path) if line.startswith("| **S1")]
    assert len(lines) == 2


def test_numbers_without_standard_errors(tmp_path: Path) -> None:
    frame = cells(
        mean=[0.81, 0.83, 0.5], published=[0.87, 0.81, float("nan")], published_se=[None] * 3,
        published_difference=[0.0, 0.06, float("nan")], same_direction=[False, True, False],
    )  # fmt: skip
    save(frame, tmp_path, "S0-3.1")
    save(cells(published=[float("nan")], published_se=[None]), tmp_path, "S4-figure-14")
    lines = agreement_lines(tmp_path)
    row = next(line for line in lines if line.startswith("| S0-3.1 |"))
    assert row.startswith("| S0-3.1 | 7 | 3 | 2, without errors | 0.04 apart |  | 1 of 1 | 12 |")
    row = next(line for line in lines if line.startswith("| S4-figure-14 |"))
    assert row.startswith("| S4-figure-14 | 7 | 1 | none printed |  |  |  | 12 |")


@pytest.mark.parametrize("n_trials", [2, 6])
def test_a_page_from_its_numbers_is_the_page_of_the_run(
    n_trials: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEAVEN_DATA", raising=False)
    run = Run(n_trials=n_trials, datasets=("iris", "wine"))
    write_pages(reproduce(["S1-3.4"], run), tmp_path, as_html=False)
    page = tmp_path / "s1.md"
    as_run = page.read_text(encoding="utf-8")
    assert ("SSNB: ours" in as_run) == (n_trials == 6)
    page.write_text(as_run.replace("| iris | ", "| iris | old "), encoding="utf-8")
    result = CliRunner().invoke(main, ["pages", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert page.read_text(encoding="utf-8") == as_run


def test_runs_of_some_data_sets_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEAVEN_DATA", raising=False)
    whole, part = tmp_path / "whole", tmp_path / "part"
    for folder, names, n_trials in ((whole, ("iris", "wine"), 3), (part, ("iris",), 7)):
        run = Run(n_trials=n_trials, datasets=names)
        write_pages(reproduce(["S1-3.4"], run), folder, as_html=False)
    old, new = read_numbers(whole, "S1-3.4"), read_numbers(part, "S1-3.4")
    result = CliRunner().invoke(main, ["join", str(part), "--out", str(whole)])
    assert result.exit_code == 0, result.output
    found = read_numbers(whole, "S1-3.4")
    assert old is not None
    assert new is not None
    assert found is not None
    assert found["dataset"].tolist() == ["iris", "iris", "wine", "wine"]  # the order of the table
    assert found["trials"].tolist() == [7, 7, 3, 3]
    assert found["mean"].tolist() == [*new["mean"], *old["mean"][old["dataset"] == "wine"]]
    assert found["seconds"][0] == pytest.approx(old["seconds"][0] + new["seconds"][0], rel=1e-5)
    page = (whole / "s1.md").read_text(encoding="utf-8")
    assert "Trials: 7 (3 on wine)." in page
    # What took the place of everything has its own time alone.
    numbers = [folder / "numbers" / "S1-3.4.csv" for folder in (part, whole)]
    frame = pd.read_csv(numbers[0]).assign(seconds=2.0)
    pd.concat([frame, frame.assign(dataset="wine")]).to_csv(numbers[0], index=False)
    result = CliRunner().invoke(main, ["join", str(part), "--out", str(whole)])
    assert result.exit_code == 0, result.output
    assert set(pd.read_csv(numbers[1])["seconds"]) == {2.0}


def test_the_figure_of_a_whole_run_is_kept_and_another_drawn_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.delenv("LEAVEN_DATA", raising=False)
    whole, part = tmp_path / "whole", tmp_path / "part"
    write_pages(reproduce(["S1-3.4"], Run(n_trials=2, datasets=("iris",))), part, as_html=False)
    (part / "images" / "S1-3.4.png").write_bytes(b"drawn by the run")
    (whole / "numbers").mkdir(parents=True)
    join_pages(part, whole)
    image = whole / "images" / "S1-3.4.png"
    assert image.read_bytes() == b"drawn by the run"
    write_pages(reproduce(["S1-3.4"], Run(n_trials=2, datasets=("wine",))), part, as_html=False)
    join_pages(part, whole)
    assert image.read_bytes().startswith(b"\x89PNG")


def test_a_folder_without_numbers_is_not_joined(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["join", str(tmp_path), "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "Give one folder that a run wrote" in result.output


def test_the_page_keeps_the_rest(tmp_path: Path) -> None:
    save(cells(z=[0.0]), tmp_path, "S1-3.4")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- agreement -->\nold\n<!-- end of agreement -->\nafter\n")
    result = CliRunner().invoke(main, ["agreement", "--out", str(tmp_path), "--page", str(page)])
    assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- agreement -->\n| table |")
    assert text.endswith(".\n<!-- end of agreement -->\nafter\n")
    assert "old" not in text
    page.write_text("no place\n")
    with pytest.raises(ValueError, match=r"has no place for the table: add the lines"):
        update_agreement(page, tmp_path)


def areas(**methods: list[float]) -> pd.DataFrame:
    wide = pd.DataFrame(methods, index=["a", "b", "c", "d", "e"])
    long = wide.rename_axis("dataset").reset_index().melt("dataset", var_name="method")
    return cells(
        dataset=long["dataset"].tolist(),
        method=long["method"].tolist(),
        mean=long["value"].tolist(),
        published=(10 - long["value"]).tolist(),
    )


def test_ranks_of_several_tables(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    save(areas(NB=[1, 2, 3, 4, 5], SSNB=[2, 3, 4, 5, 4]), tmp_path, "S1-3.3")
    save(areas(NB=[1, 2, 3, 4, 5], ALNB=[0.5, 0.5, 0.5, 0.5, 0.5]), tmp_path, "S1-6.1")
    save(areas(NB=[1, 2, 3, 4, 5], ALSSNB=[9, 9, 9, 9, 9]), tmp_path, "S1-6.3")
    found = areas_of(tmp_path, ("3.3", "6.1", "6.3"))
    assert found is not None
    assert list(found[0].columns) == ["NB", "SSNB", "ALNB", "ALSSNB"]
    lines = rank_lines(tmp_path)
    row = next(line for line in lines if line.startswith("| 6.14 |"))
    # By hand: NB is second four times and third once, SSNB the other way round; the published
    # areas are ours turned upside down.
    assert "| ALNB 1.00, NB 2.20, SSNB 2.80, ALSSNB 4.00 |" in row
    assert "| ALSSNB 1.00, SSNB 2.20, NB 2.80, ALNB 4.00 |" in row
    # q of the studentized range for 4 methods is 2.569 (Demšar 2006): 2.569 sqrt(4 * 5 / 30).
    assert row.endswith("| 2.10 |")
    assert (tmp_path / "images" / "S1-figure-6.14.png").is_file()


def test_no_ranks_without_tables(tmp_path: Path) -> None:
    assert rank_lines(tmp_path) == []


def test_pages_are_written_again_with_the_ranks_of_their_numbers(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    kept = Path(__file__).parents[2] / "docs" / "reproduction"
    (tmp_path / "numbers").mkdir()
    for path in kept.glob("numbers/S1-*.csv"):
        (tmp_path / "numbers" / path.name).write_bytes(path.read_bytes())
    page = (kept / "s1.md").read_text(encoding="utf-8")
    stale = page.replace("| 6.14 | 3.3, 6.1, 6.3 |", "| 6.14 | stale |")
    assert stale != page
    (tmp_path / "s1.md").write_text(stale, encoding="utf-8")
    assert rewrite_pages(tmp_path) == [tmp_path / "s1.md"]
    assert (tmp_path / "images" / "S1-figure-6.14.png").is_file()
    ranks = [line for line in rank_lines(tmp_path) if line.startswith("|")]
    written = (tmp_path / "s1.md").read_text(encoding="utf-8")
    # The page in the repository too: its ranks are those of the numbers beside it.
    assert all(line in written and line in page for line in ranks)


def test_a_data_set_with_numbers_was_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEAVEN_DATA", raising=False)
    numbers = read_numbers(Path(__file__).parents[2] / "docs" / "reproduction", "S1-3.3")
    assert numbers is not None
    report = report_of_numbers(TABLES["S1-3.3"], numbers)
    assert "titanic" in report.missing
    assert not {*report.missing} & {*numbers["dataset"]}


def test_published_ranks_of_figure_4_1() -> None:
    # Counted by hand in table 4.1: of 28 data sets SSNB-lambda is never last.
    ranks = published_ranks(("4.1",))
    assert ranks.sum() == pytest.approx(6.0)
    assert ranks.idxmin() == "SSNB-lambda"
    assert ranks.idxmax() == "SSNB"
