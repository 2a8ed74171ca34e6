"""The published data sets: they are loaded as their manifest says. Needs LEAVEN_DATA."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leaven._labels import encode_labels
from leaven.datasets import list_available, load

HOME = os.environ.get("LEAVEN_DATA")
MANIFEST = Path(HOME or ".") / "manifest.csv"
TEXT = MANIFEST.read_text(encoding="utf-8") if HOME and MANIFEST.exists() else ""
ROWS = list(csv.DictReader(TEXT.splitlines()))

pytestmark = pytest.mark.skipif(
    not ROWS, reason="LEAVEN_DATA names no directory with a manifest.csv"
)


def skip_unless_readable(name: str) -> None:
    kinds = {row["name"]: row["kind"] for row in ROWS}
    if name not in kinds:
        pytest.skip(f"{name} is not here")
    if kinds[name] == "text":
        pytest.importorskip("pyarrow", exc_type=ImportError)


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_counts(row: dict[str, str]) -> None:
    skip_unless_readable(row["name"])
    bunch = load(row["name"])
    assert len(bunch.data) == len(bunch.target) == int(row["rows"])
    assert len(bunch.target_names) == int(row["classes"])
    assert pd.notna(pd.Series(bunch.target)).all()
    kind = "mixed" if row["name"] in {"abalone", "adult"} else row["kind"]
    assert bunch.kind == kind
    if kind != "text":
        assert bunch.data.shape[1] == int(row["features"]) == len(bunch.feature_names)
    if kind == "discrete":
        values = bunch.data.to_numpy(dtype=object).ravel()
        assert all(isinstance(v, str) and v for v in values[~pd.isna(values)])
    if kind == "continuous":
        assert (bunch.data.dtypes == np.float64).all()
        assert np.isfinite(bunch.data.to_numpy()).all()
    classes, codes = encode_labels(bunch.target)
    assert len(classes) == int(row["classes"])
    assert codes.min() == 0


def test_checksums() -> None:
    for row in ROWS:
        if row["kind"] == "discrete":
            load(row["name"], verify=True)


def test_leavens_list_agrees_with_the_manifest(tmp_path: Path) -> None:
    known = list_available(data_home=tmp_path).set_index("name")
    for row in ROWS:
        for field in ("rows", "features", "classes"):
            ours = known.loc[row["name"], field]
            assert (str(ours) if pd.notna(ours) else "") == row[field]


@pytest.mark.parametrize(
    ("name", "missing"),
    [("audiology", 317), ("breastw", 16), ("house-votes", 392), ("adult", 6465)],
)
def test_missing_cells(name: str, missing: int) -> None:
    skip_unless_readable(name)
    assert int(load(name).data.isna().to_numpy().sum()) == missing


@pytest.mark.parametrize(
    ("name", "train", "test"),
    [
        ("adult", 32561, 16281),
        ("synthetic", 250, 1000),
        ("madelon", 2000, 600),
        ("20news-bydate", 11314, 7532),
        ("mnist", 60000, 10000),
    ],
)
def test_parts(name: str, train: int, test: int) -> None:
    skip_unless_readable(name)
    assert len(load(name, subset="train").target) == train
    assert len(load(name, subset="test").target) == test
