"""A slice of ``make fuzz`` with fixed seeds: the generators work, and find nothing."""

from __future__ import annotations

import os

import pytest

from tools import fuzz


@pytest.mark.parametrize(
    ("suite", "count"),
    [("tables", 500), ("estimators", 120), ("files", 600), ("signals", 8), ("kills", 30)],
)
def test_a_slice(suite: str, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    if suite in ("signals", "kills") and not hasattr(os, "fork"):
        pytest.skip("needs fork")
    n_cases, n_failed = fuzz.run(suite, seed=20_000, count=count, seconds=None)
    assert (n_cases, n_failed) == (count, 0), capsys.readouterr().out


def test_a_failure_is_counted_and_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def odd(rng: object, folder: object) -> str | None:
        return "broken" if rng.random() < 0.5 else None  # type: ignore[attr-defined]

    monkeypatch.setitem(fuzz.SUITES, "odd", odd)
    n_cases, n_failed = fuzz.run("odd", seed=3, count=20, seconds=None)
    printed = capsys.readouterr().out
    assert n_cases == 20
    assert 0 < n_failed < 20
    assert printed.count("broken") == n_failed
    # The seed in a line repeats its case alone.
    seed = int(printed.split("--seed ")[1].split(":")[0])
    assert fuzz.run("odd", seed=seed, count=1, seconds=None) == (1, 1)
