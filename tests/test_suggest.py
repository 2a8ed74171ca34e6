from __future__ import annotations

import pytest

from leaven._suggest import did_you_mean


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Harmonc", " Did you mean 'Harmonic'?"),
        (" Mixed_NAME ", " Did you mean 'mixed-name'?"),
        ("co-trainin", " Did you mean 'co-training' or 'tri-training' or 'self-training'?"),
        ("xyz", ""),
        (42, ""),
    ],
)
def test_did_you_mean(name: object, expected: str) -> None:
    known = ["Harmonic", "mixed-name", "self-training", "co-training", "tri-training"]
    assert did_you_mean(name, known) == expected


def test_names_need_not_be_strings() -> None:
    assert did_you_mean("2020", [1997, 2021, "other"]) == " Did you mean '2021'?"


def test_three_names_at_most() -> None:
    known = ["column-1", "column-2", "column-3", "column-4", "column-5"]
    assert did_you_mean("column-", known).count("column") == 3
