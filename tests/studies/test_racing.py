"""Searches whose losers stop early."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from leaven.evaluation import CurveProtocol, read_store
from studies import racing
from studies.curves import NaiveBayesCurve
from studies.naive_bayes import mean_areas
from studies.racing import CHANCE, areas_of_trials, clearly_behind, race
from studies.registry import Run

CURVE = CurveProtocol("curve")
MANY = np.zeros(racing.LEAST_ROWS)


def results_of(areas: dict[str, list[float]]) -> pd.DataFrame:
    """Tidy results whose curves are flat from one label to two, so that the area is the error."""
    rows = [
        {"dataset": "a", "method": method, "trial": trial, "n_labeled": n, "error": value,
         "status": "ok", "message": ""}
        for method, values in areas.items() for trial, value in enumerate(values) for n in (1, 2)
    ]  # fmt: skip
    return pd.DataFrame(rows)


class RunOfAreas(Run):
    """Notes what is asked for, and answers with areas that come in the place of features."""

    def compare(self, methods: Any, datasets: Any, protocol: Any) -> pd.DataFrame:
        ((_, (areas, _)),) = datasets.items()
        areas["asked"].append((self.n_trials, list(methods)))
        return results_of({m: areas[m][: self.n_trials] for m in methods})


def noise(seed: int, n: int = 100) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, 0.02, n)


def test_losers_leave_and_the_others_have_all_trials() -> None:
    hard = np.random.default_rng(9).normal(2.0, 0.5, 100)  # trials differ more than methods do
    areas = {"near": hard + noise(1) + 0.001, "best": hard + noise(2), "far": hard + 1.0 + noise(3),
             "later": hard + 0.03 + noise(4), "asked": []}  # fmt: skip
    methods = {name: NaiveBayesCurve() for name in ("near", "best", "far", "later")}
    found = race(RunOfAreas(store=Path("s")), methods, {"a": (areas, MANY)}, CURVE)
    asked = dict(areas["asked"])
    assert list(asked) == [5, 10, 20, 40, 100]
    assert asked[5] == list(methods)
    assert "far" not in asked[10]
    assert "later" in asked[10]
    assert asked[100] == ["near", "best"]
    assert found.groupby("method").size().to_dict() == {"near": 200, "best": 200}


def test_a_method_that_is_known_already_ends_the_race() -> None:
    areas = {"b": 1.5 + noise(1), "c": 2.0 + noise(2), "asked": []}
    known = results_of({"a": list(1.0 + noise(3))})
    run = RunOfAreas(store=Path("s"))
    methods = {name: NaiveBayesCurve() for name in "bc"}
    found = race(run, methods, {"a": (areas, MANY)}, CURVE, known)
    assert found.empty
    assert [n for n, _ in areas["asked"]] == [5]
    # Against each other only, the better one stays.
    assert set(race(run, methods, {"a": (areas, MANY)}, CURVE)["method"]) == {"b"}
    # One that is worse than the others ends nothing.
    worse = results_of({"a": list(3.0 + noise(3))})
    assert set(race(run, methods, {"a": (areas, MANY)}, CURVE, worse)["method"]) == {"b"}


@pytest.mark.parametrize("n", [1, 3, 5])
def test_few_trials_are_no_race(n: int) -> None:
    areas = {"b": 1.0 + noise(1), "c": 9.0 + noise(2), "asked": []}
    run = RunOfAreas(store=Path("s"), n_trials=n)
    race(run, {name: NaiveBayesCurve() for name in "bc"}, {"a": (areas, MANY)}, CURVE)
    assert areas["asked"] == [(n, ["b", "c"])]


def test_a_small_data_set_is_no_race() -> None:
    areas = {"b": 1.0 + noise(1), "c": 9.0 + noise(2), "asked": []}
    methods = {name: NaiveBayesCurve() for name in "bc"}
    race(RunOfAreas(store=Path("s")), methods, {"a": (areas, MANY[1:])}, CURVE)
    assert areas["asked"] == [(100, ["b", "c"])]


@given(st.integers(0, 10_000), st.integers(2, 30), st.floats(0.0, 0.2))
def test_who_is_behind_is_what_a_paired_t_test_says(seed: int, n: int, gap: float) -> None:
    rng = np.random.default_rng(seed)
    areas = pd.DataFrame(rng.normal(0.0, 0.05, (n, 4)) + gap * np.arange(4), columns=[*"abcd"])
    best = areas.mean().idxmin()
    expected = {
        name for name in areas.columns if name != best
        and ttest_rel(areas[name], areas[best], alternative="greater").pvalue < CHANCE
    }  # fmt: skip
    assert clearly_behind(areas) == expected


def test_failed_trials_drop_nobody() -> None:
    frame = results_of({"b": [1.0] * 6, "c": [2.0, 2.1, 2.0, 2.2, 2.1, 2.0]})
    failed = frame.assign(status="failed")
    assert clearly_behind(areas_of_trials(failed)) == set()
    one_left = frame.assign(status=np.where(frame["trial"] == 0, "ok", "failed"))
    assert clearly_behind(areas_of_trials(one_left)) == set()
    some = frame.assign(
        status=np.where((frame["method"] == "c") & (frame["trial"] < 3), "failed", "ok")
    )
    assert clearly_behind(areas_of_trials(some)) == set()  # three trials are few


def two_classes(n: int) -> tuple[np.ndarray, np.ndarray]:
    """One feature tells the classes, and four tell two clouds that cut across them."""
    rng = np.random.default_rng(3)
    codes = np.concatenate([[0, 0, 1, 1], rng.integers(0, 2, n - 4)])
    clouds = rng.integers(0, 2, n)
    X = np.column_stack([clouds * 4.0] * 4 + [codes * 2.0]) + rng.normal(size=(n, 5))
    return X, np.array(["no", "yes"])[codes]


def test_a_race_has_the_winner_of_a_search_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(racing, "LEAST_ROWS", 200)
    data = {"clouds": two_classes(240)}
    methods = {f"{w:.1f}": NaiveBayesCurve(weight=w) for w in (0.0, 0.1, 0.5, 0.9)}
    run = Run(n_trials=12, store=tmp_path / "r.sqlite")
    found = race(run, methods, data, CURVE)
    stored = read_store(run.store_of(CURVE, "clouds")).groupby("method")["trial"].nunique()
    assert stored.min() < 12  # somebody left
    monkeypatch.setattr(racing, "LOOKS", ())
    whole = race(replace(run, store=None), methods, data, CURVE)
    assert set(whole["method"]) == set(methods)
    areas, of_all = mean_areas(found), mean_areas(whole)
    assert min(areas, key=lambda key: areas[key]) == min(of_all, key=lambda key: of_all[key])
    for key, area in areas.items():
        assert area == pytest.approx(of_all[key])
