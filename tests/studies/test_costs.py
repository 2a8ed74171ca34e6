"""Numbers of trials by what they cost, and tables whose data sets have different ones."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from studies import TABLES, Run, costs, measure, naive_bayes, reproduce
from studies.costs import BUDGET, cost_of, expected_seconds, seconds, trials_of
from studies.parallel import add_seconds
from studies.registry import Outcome


@pytest.mark.parametrize("number", ["3.4", "4.2", "4.6", "5.4"])
def test_a_data_set_has_25_trials_where_100_exceed_the_budget(number: str) -> None:
    found = trials_of(number, seconds().index)
    for name, n in found.items():
        assert n == (100 if 100 * cost_of(number, name) <= BUDGET else 25)
    assert set(found.values()) == ({100} if number == "3.4" else {25, 100})


def test_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"fits": 2.0, "questions": 5.0, "weights": 20.0, "weight folds": 90.0}
    frame = pd.DataFrame([row, dict.fromkeys(row, 0.5)], index=["large", "small"])
    monkeypatch.setattr(costs, "seconds", lambda: frame)
    monkeypatch.setattr(costs, "BUDGET", 600.0)
    assert cost_of("3.4", "large") == cost_of("3.6", "large-twin") == 2.0
    assert cost_of("6.1", "large") == 5.0
    assert cost_of("6.3", "large") == 7.0  # NB asks, and EM is fitted
    assert cost_of("4.1", "large") == 22.0
    assert trials_of("4.1", ["large", "small"]) == {"large": 25, "small": 100}  # 550 s, 100 s
    assert trials_of("6.3", ["large", "small", "far"]) == {"large": 25, "small": 100, "far": 100}
    assert trials_of("6.1", ["large"]) == {"large": 100}  # 500 s
    assert cost_of("4.1", "far") == 0.0  # not at hand, never measured
    assert expected_seconds("4.1", ["large", "small"]) == 25 * 22.0 + 100 * 1.0
    assert expected_seconds("4.5", ["large"]) == 25 * (2.0 + 45.0)  # one stage of the two measured
    monkeypatch.setattr(costs, "RACED", {"large": 0.1})
    assert expected_seconds("4.1", ["large", "small"]) == 25 * 4.0 + 100 * 1.0
    assert expected_seconds("5.5", ["large"]) == 0.0  # table 5.4 has run its fits


def test_every_data_set_at_hand_has_its_seconds() -> None:
    kinds = seconds()
    assert list(kinds.columns) == list(costs.COLUMNS)
    for number in ("3.3", "3.4"):
        assert {*TABLES[f"S1-{number}"].here()} <= {*kinds.index}
    assert (kinds[["fits", "questions", "weights", "weight folds"]] > 0).all(axis=None)
    with_slopes = {*kinds.index[(kinds[["slopes", "slope folds"]] > 0).all(axis=1)]}
    assert with_slopes == {*TABLES["S1-5.4"].datasets} & {*kinds.index}


def test_the_seconds_are_those_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    measure.main(["wine"])  # comes with scikit-learn
    header, row = capsys.readouterr().out.splitlines()
    assert header == ",".join(["dataset", *costs.COLUMNS])
    name, *cells = row.split(",")
    assert name == "wine"
    assert all(float(cell) > 0 for cell in cells[:4])
    assert cells[4:] == ["", ""]  # three classes


def test_readings_beside_each_other_have_few_trials() -> None:
    for number, most in (("orders", 25), ("queries", 25), ("certainty", 25), ("soybean", 50)):
        table = TABLES[f"S1-{number}"]
        assert {*table.trials} == {*table.datasets}
        assert max(table.trials.values()) == most
    # EM that asks is fitted once at each size, which takes minutes a trial here.
    assert TABLES["S1-queries"].trials["letter"] == TABLES["S1-queries"].trials["sleep"] == 0


def test_groups_of_a_run() -> None:
    table = replace(TABLES["S1-3.4"], trials={"iris": 100, "letter": 2, "sleep": 0})
    names = ["iris", "letter", "sleep", "wine"]
    assert Run().groups(table, names) == {100: ["iris"], 2: ["letter"], None: ["wine"]}
    # Who asks for a number of trials gets it everywhere.
    assert Run(n_trials=7).groups(table, names) == {7: names}
    assert Run(quick=True).groups(table, names) == {3: names}


def test_a_table_whose_data_sets_need_each_other_gets_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def search(run: Run, names: list[str], mean: str) -> tuple[dict[str, float], pd.DataFrame]:
        asked.append((run.n_trials, list(names), mean))
        return {name: {"a": 1.0, "b": 4.0, "c": 16.0}[name] for name in names}, pd.DataFrame()

    def compare(run: Run, methods: dict, data: dict, protocol: object) -> pd.DataFrame:
        (name,), n = data, run.n_trials
        rows = [{"dataset": name, "method": m, "trial": t} for m in methods for t in range(n)]
        return pd.DataFrame(rows)

    monkeypatch.setattr(naive_bayes, "search_slopes", search)
    monkeypatch.setattr(Run, "compare", compare)
    table = replace(TABLES["S1-5.5"], trials={"a": 3, "b": 2, "c": 3})
    assert table.together
    outcome = table.run(table, Run(), ["a", "b", "c"])
    assert asked == [(3, ["a", "c"], "beta"), (2, ["b"], "beta")]
    # The median of the others, whatever their number of trials.
    method = table.methods[-1]
    assert outcome.choices["b", method] == "α = 4"  # of 1 and 16, in the middle of their logarithms
    assert outcome.choices["a", method] == "α = 8"
    counts = outcome.results[outcome.results["method"] == method].groupby("dataset").size()
    assert counts.to_dict() == {"a": 3, "b": 2, "c": 3}


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
    assert add_seconds(store, "S1-3.3", 2.5) == 2.5
    assert add_seconds(store, "S1-3.4", 10.0) == 10.0
    assert add_seconds(store, "S1-3.3", 1.25) == 3.75
    assert add_seconds(None, "S1-3.3", 1.0) == 1.0
