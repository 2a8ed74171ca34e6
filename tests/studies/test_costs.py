"""Numbers of trials by what they cost, and tables whose data sets have different ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import studies
from studies import TABLES, Run, reproduce
from studies.costs import BUDGET, FITS, SECONDS, expected_seconds, trials_of
from studies.registry import Outcome


@pytest.mark.parametrize("number", ["3.3", "4.2", "4.6", "5.4"])
def test_no_data_set_exceeds_its_budget(number: str) -> None:
    for name, n in trials_of(number, [*SECONDS, "iris"]).items():
        cost = SECONDS.get(name, 0.05) * FITS.get(number, 1)
        assert n * cost <= BUDGET
        if n == 0:  # two trials would have been too much
            assert 2 * cost > BUDGET


def test_by_hand() -> None:
    # 60 s: two fit into 150 s; 28 * 0.8 s = 22.4 s: six; 74 s * 28: none.
    assert trials_of("3.4", ["letter", "iris"]) == {"letter": 2, "iris": 100}
    assert trials_of("4.1", ["magic04", "sleep"]) == {"magic04": 6, "sleep": 0}
    assert trials_of("3.6", ["letter-twin"]) == {"letter-twin": 2}
    assert expected_seconds("3.4", ["letter"]) == 120.0


def test_all_sets_of_the_transfer_have_the_same_trials() -> None:
    found = trials_of("5.5", ["blogger", "arcene", "mushroom"])
    assert set(found.values()) <= {0, 25}
    assert found["blogger"] == 25
    assert found["arcene"] == 0


def test_groups_of_a_run() -> None:
    table = replace(TABLES["S1-3.4"], trials={"iris": 100, "letter": 2, "sleep": 0})
    names = ["iris", "letter", "sleep", "wine"]
    assert Run().groups(table, names) == {100: ["iris"], 2: ["letter"], None: ["wine"]}
    # Who asks for a number of trials gets it everywhere.
    assert Run(n_trials=7).groups(table, names) == {7: names}
    assert Run(quick=True).groups(table, names) == {3: names}


def test_parts_of_a_table_are_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def run(table: object, run: Run, names: list[str]) -> Outcome:
        asked.append((run.n_trials, names))
        rows = [
            {"dataset": name, "method": m, "trial": t, "n_labeled": n, "error": 0.1 * t + 0.2,
             "seconds": 0.0, "status": "ok", "message": ""}
            for name in names for m in ("NB", "SSNB") for t in range(run.n_trials or 4)
            for n in (1, 2)
        ]  # fmt: skip
        return Outcome(pd.DataFrame(rows), {(names[0], "SSNB"): names[0]})

    table = replace(TABLES["S1-3.4"], trials={"iris": 2, "diabetes": 5}, run=run)
    monkeypatch.setitem(TABLES, table.id, table)
    monkeypatch.setattr(type(table), "here", lambda self: ["iris", "wine", "diabetes"])
    (report,) = reproduce(["S1-3.4"], Run(datasets=("iris", "wine", "diabetes")))
    assert sorted(asked, key=str) == [(2, ["iris"]), (5, ["diabetes"]), (None, ["wine"])]
    assert list(dict.fromkeys(report.cells["dataset"])) == ["iris", "wine", "diabetes"]
    assert report.trials() == "5 (4 on wine; 2 on iris)"
    assert set(report.cells["choice"]) == {"", "iris", "wine", "diabetes"}


def test_seconds_add_up(tmp_path: Path) -> None:
    store = tmp_path / "r.sqlite"
    assert studies.add_seconds(store, "S1-3.3", 2.5) == 2.5
    assert studies.add_seconds(store, "S1-3.4", 10.0) == 10.0
    assert studies.add_seconds(store, "S1-3.3", 1.25) == 3.75
    assert studies.add_seconds(None, "S1-3.3", 1.0) == 1.0
