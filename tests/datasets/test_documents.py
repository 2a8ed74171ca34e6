"""The document experiments: which newsgroups make which class."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leaven.datasets import load_comp_vs, load_four_newsgroups, load_newsgroup_pair

HOME = os.environ.get("LEAVEN_DATA")
needs_data = pytest.mark.skipif(
    not HOME or not (Path(HOME) / "text" / "20news-18828.parquet").exists(),
    reason="LEAVEN_DATA names no directory with 20 Newsgroups",
)

# One document a group, and two that must not be taken.
GROUPS = [
    "sci.crypt",
    "comp.graphics",
    "misc.forsale",
    "comp.os.ms-windows.misc",
    "sci.electronics",
    "comp.sys.mac.hardware",
    "comp.sys.ibm.pc.hardware",
    "rec.sport.hockey",
    "rec.sport.baseball",
    "talk.politics.misc",
    "soc.religion.christian",
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("pyarrow", exc_type=ImportError)
    monkeypatch.delenv("LEAVEN_DATA", raising=False)
    news = pd.DataFrame({"text": [f"text of {g}" for g in GROUPS], "group": GROUPS})
    (tmp_path / "text").mkdir()
    news.to_parquet(tmp_path / "text" / "20news-18828.parquet")
    parts = ["train", "test"] * 5 + ["train"]
    news.assign(subset=parts).to_parquet(tmp_path / "text" / "20news-bydate.parquet")
    return tmp_path


CASES: list[tuple[Callable[..., Any], tuple[str, ...], dict[str, list[str]]]] = [
    (
        load_four_newsgroups,
        (),
        {
            "comp": ["comp.graphics", "comp.os.ms-windows.misc"],
            "sci": ["sci.crypt", "sci.electronics"],
        },
    ),
    (
        load_comp_vs,
        ("sci",),
        {"comp": [g for g in GROUPS if "comp" in g], "sci": ["sci.crypt", "sci.electronics"]},
    ),
    (
        load_comp_vs,
        ("talk",),
        {"comp": [g for g in GROUPS if "comp" in g], "talk": ["talk.politics.misc"]},
    ),
    (
        load_comp_vs,
        ("rec",),
        {
            "comp": [g for g in GROUPS if "comp" in g],
            "rec": ["rec.sport.hockey", "rec.sport.baseball"],
        },
    ),
    (
        load_newsgroup_pair,
        ("pc-mac",),
        {"pc": ["comp.sys.ibm.pc.hardware"], "mac": ["comp.sys.mac.hardware"]},
    ),
    (
        load_newsgroup_pair,
        ("windows-mac",),
        {"windows": ["comp.os.ms-windows.misc"], "mac": ["comp.sys.mac.hardware"]},
    ),
    (
        load_newsgroup_pair,
        ("baseball-hockey",),
        {"baseball": ["rec.sport.baseball"], "hockey": ["rec.sport.hockey"]},
    ),
]


@pytest.mark.parametrize(("function", "arguments", "expected"), CASES)
def test_classes(function: Any, arguments: Any, expected: Any, home: Path) -> None:
    bunch = function(*arguments, data_home=home)
    found = {
        name: bunch.group[bunch.target == name].tolist() for name in bunch.target.unique().tolist()
    }
    assert found == expected
    assert bunch.data.tolist() == [f"text of {group}" for group in bunch.group]
    assert bunch.target_names == sorted(expected)
    assert bunch.kind == "text"
    assert bunch.data.index.equals(bunch.target.index)
    texts, y = function(*arguments, data_home=home, return_X_y=True)
    pd.testing.assert_series_equal(texts, bunch.data)
    pd.testing.assert_series_equal(y, bunch.target)


def test_the_publishers_split_is_kept(home: Path) -> None:
    bunch = load_comp_vs("talk", data_home=home)
    assert bunch.subset.tolist() == ["test", "test", "test", "train", "test"]
    assert load_four_newsgroups(data_home=home).subset is None


def test_other_version(home: Path) -> None:
    bunch = load_four_newsgroups(data_home=home, version="20news-bydate")
    assert bunch.source.endswith("20news-bydate.parquet")


def test_bad_input(home: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"other must be one of .*'talk'\], got 'misc'"):
        load_comp_vs("misc", data_home=home)
    with pytest.raises(ValueError, match=r"name must be one of .*'pc-mac'.* got 'mac-pc'"):
        load_newsgroup_pair("mac-pc", data_home=home)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(FileNotFoundError, match=r"version='20news-bydate', download=True"):
        load_four_newsgroups(data_home=empty)
    with pytest.raises(FileNotFoundError, match=r"download=True to fetch it with scikit-learn"):
        load_comp_vs("rec", data_home=empty)
    few = pd.DataFrame({"text": ["a"], "group": ["comp.graphics"]})
    few.to_parquet(home / "text" / "20news-18828.parquet")
    with pytest.raises(ValueError, match=r"no document of the newsgroup 'comp.os.ms-windows.misc'"):
        load_four_newsgroups(data_home=home)


@needs_data
def test_counts_of_the_sources() -> None:
    counts = load_four_newsgroups().target.value_counts().to_dict()
    assert counts == {"comp": 1958, "sci": 1972}  # Lefakis, section 2.2
    for other, rows in (("rec", 8870), ("sci", 8843), ("talk", 8144)):  # Nguyen, section 2.4
        assert len(load_comp_vs(other).data) == rows
    counts = load_newsgroup_pair("pc-mac").target.value_counts().to_dict()
    assert counts == {"pc": 982, "mac": 961}  # Zhu et al., section 7
    counts = load_newsgroup_pair("baseball-hockey").target.value_counts().to_dict()
    assert counts == {"baseball": 994, "hockey": 999}
    # The source prints 958 for MS-Windows; the published collection has 985.
    counts = load_newsgroup_pair("windows-mac").target.value_counts().to_dict()
    assert counts == {"windows": 985, "mac": 961}
