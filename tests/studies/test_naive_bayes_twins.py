"""Several draws of the synthetic data of Saeed (2018)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from studies import TABLES, Run, join_outcomes, reproduce
from studies import naive_bayes_twins as twins
from studies.registry import Outcome


def test_the_error_of_another_draw_by_hand() -> None:
    # Means 1 and 3 have variance 2, of which 4 / 8 is that of eight trials: √(1.5 + 2 / 2).
    means, variances = np.array([1.0, 3.0]), np.array([3.0, 5.0])
    assert_allclose(twins.draw_error(means, variances, 8), np.sqrt(2.5))
    # Trials that explain more than all leave the error of our mean.
    assert_allclose(twins.draw_error(means, 10 * variances, 8), 1.0)


def test_the_error_of_another_draw_covers_it() -> None:
    """Normal draws, one of them the source's: |z| is seldom above 2, if more often than 1 in 20."""
    rng = np.random.default_rng(0)
    n_draws, n, spread, noise = 10, 10, 0.5, 1.0
    z = []
    for _ in range(2000):
        centers = spread * rng.standard_normal(n_draws + 1)
        trials = centers[:-1, None] + noise * rng.standard_normal((n_draws, n))
        other = centers[-1] + noise / 10 * rng.standard_normal()
        error = twins.draw_error(trials.mean(axis=1), trials.var(axis=1, ddof=1), n)
        z.append((trials.mean() - other) / np.hypot(error, noise / 10))
    # The spread of ten draws is itself uncertain.
    assert 0.85 < np.mean(np.abs(z) <= 2) < 0.96
    assert np.mean(np.abs(z) <= 3) > 0.95


def test_a_draw_of_a_twin_is_a_trial() -> None:
    outcome = twins.twins_run(TABLES["S1-twins"], Run(n_trials=2), ["iris"])
    results = outcome.results.set_index(["method", "trial"])["area"]
    assert len(results) == len(twins.SPREADS) * twins.N_DRAWS
    assert results["NB, variance"].std() > 0  # draws differ
    assert results["NB, variance"].mean() < results["NB, deviation"].mean()


def test_the_report_has_the_error_of_another_draw() -> None:
    table = TABLES["S1-draws"]
    run = Run(n_trials=2, datasets=("iris-twin",))
    cells = reproduce([table.id], run)[0].cells.set_index("method")
    outcome = twins.draws_run(table, run, ["iris-twin"])
    for method in table.methods:
        assert cells.loc[method, "se"] == outcome.errors["iris-twin", method]
    assert cells.loc["NB", "published"] == 0.067
    assert cells.loc["ALSSNB", "published_se"] > 0


def test_the_parts_of_a_table_keep_their_errors() -> None:
    frame = pd.DataFrame({"dataset": ["a"], "method": ["NB"]})
    parts = [Outcome(frame.assign(dataset=name), errors={(name, "NB"): 0.5}) for name in "ab"]
    assert join_outcomes(parts, ["b", "a"]).errors == {("a", "NB"): 0.5, ("b", "NB"): 0.5}


def test_discrete_data_are_drawn_anew_with_each_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    X = pd.DataFrame({"a": list("xyxy") * 20, "b": list("uuvv") * 20}).astype("category")
    y = pd.Series(list("pq") * 40)
    monkeypatch.setattr(twins, "prepare", lambda name: (X, y))
    first, again, other = (twins.drawn("any", twins.SPREADS[0], seed)[0] for seed in (0, 0, 1))
    assert first.equals(again)
    assert not first.equals(other)


def test_digits_hide_a_variance_that_is_tiny_beside_the_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([1.518 + 0.003 * rng.standard_normal(4000), rng.standard_normal(4000)])
    monkeypatch.setattr(twins, "prepare", lambda name: (X, pd.Series(["a"] * 4000)))
    six, _ = twins.drawn("glass", "variance, six digits", 0)
    every, _ = twins.drawn("glass", "variance", 0)
    assert_allclose(six[:, 0], every[:, 0].round(5), rtol=1e-15)
    assert len(np.unique(six[:, 0])) < 20 < len(np.unique(every[:, 0]))
    assert_allclose(six, every, rtol=5e-6)


def test_a_reading_stands_behind_the_name_of_a_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def run_draws(run: Run, name: str, reading: str, methods: object) -> dict[str, object]:
        asked.append((name, reading))
        return {}

    monkeypatch.setattr(twins, "run_draws", run_draws)
    table = TABLES["S1-digits"]
    table.run(table, Run(), [*table.datasets[:2], "wine-twin"])
    assert asked == [
        ("glass", "variance, five digits"), ("glass", "variance, six digits"), ("wine", "variance")
    ]  # fmt: skip
    assert table.published.loc[(table.datasets[2], "ALSSNB"), "mean"] == 0.172


def test_large_data_sets_are_left_out() -> None:
    assert TABLES["S1-draws"].trials["pendigits-twin"] == 0
    assert set(TABLES["S1-twins"].trials) == {"letter", "sleep"}
