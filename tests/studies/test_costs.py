"""Numbers of trials by what they cost, and tables whose data sets have different ones."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import studies
from studies import TABLES, Run, reproduce
from studies.costs import (
    BUDGET,
    FEWER_BUDGET,
    SEARCH_BUDGET,
    SECONDS,
    cost_of,
    expected_seconds,
    trials_of,
)
from studies.registry import Outcome


@pytest.mark.parametrize("number", ["4.2", "4.6", "5.4"])
def test_no_data_set_exceeds_the_budget_of_a_search(number: str) -> None:
    for name, n in trials_of(number, [*SECONDS, "iris"]).items():
        budget = {100: SEARCH_BUDGET, 25: FEWER_BUDGET, 0: 0.0}[n]
        assert n * cost_of(number, name) <= budget
        if n == 0:  # 25 trials would have been too much
            assert 25 * cost_of(number, name) > FEWER_BUDGET


def test_a_table_of_single_fits_has_25_trials_where_100_take_more_than_ten_minutes() -> None:
    for name, n in trials_of("3.4", [*SECONDS, "iris"]).items():
        assert n == (100 if 100 * cost_of("3.4", name) <= BUDGET else 25)


def test_by_hand() -> None:
    # 6.6 s: 100 take 660 s; 10 * 0.8 s = 8 s: 25 in 950 s; 6.6 s * 10 = 66 s: not 25.
    assert trials_of("3.4", ["sleep", "letter"]) == {"sleep": 25, "letter": 100}
    assert trials_of("4.1", ["pendigits", "sleep"]) == {"pendigits": 25, "sleep": 0}
    assert cost_of("6.3", "dna") == 2 * cost_of("3.3", "dna")  # NB asks, and EM is fitted
    assert trials_of("3.6", ["sleep-twin"]) == {"sleep-twin": 25}
    assert cost_of("4.6", "marketing") == cost_of("4.5", "marketing") == 56.0  # measured
    assert expected_seconds("3.4", ["sleep"]) == 165.0
    assert expected_seconds("6.1", ["dna"]) < 100 * cost_of("6.1", "dna")  # what long runs took
    assert expected_seconds("5.5", ["blogger"]) == 0.0  # table 5.4 has run its fits


def test_all_sets_of_the_transfer_have_the_same_trials() -> None:
    found = trials_of("5.5", ["blogger", "arcene", "madelon"])
    assert found == {"blogger": 100, "arcene": 0, "madelon": 100}  # arcene: 100 take 500 s


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


def test_the_time_of_parallel_jobs_counts() -> None:
    before = os.times()
    (report,) = reproduce(["S1-3.4"], Run(n_trials=2, n_jobs=2, datasets=("iris",)))
    after = os.times()
    workers = after.children_user + after.children_system
    workers -= before.children_user + before.children_system
    assert workers > 0
    assert report.seconds >= workers


def test_seconds_add_up(tmp_path: Path) -> None:
    store = tmp_path / "r.sqlite"
    assert studies.add_seconds(store, "S1-3.3", 2.5) == 2.5
    assert studies.add_seconds(store, "S1-3.4", 10.0) == 10.0
    assert studies.add_seconds(store, "S1-3.3", 1.25) == 3.75
    assert studies.add_seconds(None, "S1-3.3", 1.0) == 1.0
