"""Data sets in processes of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from studies import TABLES, Run, parallel, reproduce
from studies.costs import cost_of
from studies.registry import Table


def tables(*numbers: str) -> list[Table]:
    return [TABLES[f"S1-{number}"] for number in numbers]


def test_a_chain_has_all_tables_of_a_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Table, "here", lambda table: list(table.datasets))
    run = Run(datasets=("iris", "iris-twin", "letter", "zoo"))
    # 5.5 takes from a data set what it needs for another; S1-positions has no trials of its own.
    found = parallel.chains_of(tables("3.3", "3.4", "3.6", "4.1", "5.5", "positions"), run)
    assert [(chain.dataset, chain.parts) for chain in found] == [
        ("letter", (("S1-3.4", ("letter",)), ("S1-4.1", ("letter",)))),
        ("iris", (("S1-3.4", ("iris",)), ("S1-3.6", ("iris-twin",)), ("S1-4.1", ("iris",)))),
        ("zoo", (("S1-3.3", ("zoo",)),)),
    ]
    assert found[2].seconds == pytest.approx(100 * cost_of("3.3", "zoo"))
    few = parallel.chains_of(tables("3.3"), replace(run, n_trials=7))
    assert few[0].seconds == pytest.approx(7 * cost_of("3.3", "zoo"))


def test_what_is_left_out_is_in_no_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Table, "here", lambda table: list(table.datasets))
    assert not parallel.chains_of(tables("twins"), Run(datasets=("sleep",)))


def test_parallel_data_sets_have_the_numbers_of_one_job(tmp_path: Path) -> None:
    ids, run = ["S1-3.4", "S1-4.1"], Run(n_trials=2, datasets=("iris", "wine"))
    alone = reproduce(ids, run)
    side_by_side = replace(run, n_jobs=2, store=tmp_path / "r.sqlite")
    for one, other in zip(alone, reproduce(ids, side_by_side), strict=True):
        assert_frame_equal(one.cells, other.cells)
        assert other.seconds > 0
    # The workers noted their time, and then the tables that read what they had stored.
    noted = (tmp_path / "r-seconds.txt").read_text(encoding="utf-8").split()[::2]
    assert sorted(noted) == ["S1-3.4"] * 3 + ["S1-4.1"] * 3
    spent = [float(each) for each in (tmp_path / "r-seconds.txt").read_text().split()[1::2]]
    in_workers = {"S1-3.4": 0.0, "S1-4.1": 0.0}
    for table, seconds in zip(noted[:4], spent[:4], strict=True):
        in_workers[table] += seconds
    assert min(in_workers.values()) > 0


def test_the_tables_after_the_workers_fit_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(n_trials=2, n_jobs=2, datasets=("iris", "wine"), store=tmp_path / "r.sqlite")
    parallel.fill_stores(tables("3.4"), run)

    def fail(*_: object, **__: object) -> pd.DataFrame:
        raise AssertionError("A fit that the stores have already.")

    monkeypatch.setattr("studies.curves.fit_all", fail)
    (report,) = reproduce(["S1-3.4"], replace(run, n_jobs=1))
    assert not report.failed
    assert set(report.cells["dataset"]) == {"iris", "wine"}
