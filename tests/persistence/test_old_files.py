"""Files that older versions wrote are read, and answer as they did."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator

import leaven
from leaven.persistence import ModelFileError, _decode, pack_object, read_header, unpack_object
from leaven.tables import TableModel
from tests.persistence.keep_file import FILES, rows

OLD = sorted(FILES.glob("*.leaven"))
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.InconsistentVersionWarning"  # what an old file is about
)


def release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def test_a_file_is_kept() -> None:
    assert "table-0.1.0.leaven" in [path.name for path in OLD]
    assert sum(path.stat().st_size for path in OLD) < 1_000_000


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_an_old_file_answers_as_it_did(path: Path) -> None:
    wrote = read_header(path).versions["scikit-learn"]
    if release(sklearn.__version__) < release(wrote):
        pytest.skip(f"scikit-learn {sklearn.__version__} need not read files of {wrote}")
    model = leaven.load(path)
    table = rows()
    expected = pd.read_csv(path.with_suffix(".csv"))
    found = model.predict_proba(table.drop(columns="topic"))
    assert found.columns.tolist() == expected.columns.tolist()
    assert_allclose(found.to_numpy(), expected.to_numpy(), atol=1e-3)
    labels = model.predict(table)
    assert (labels == expected.columns.to_numpy()[expected.to_numpy().argmax(axis=1)]).all()


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_an_old_file_describes_itself(path: Path) -> None:
    about = read_header(path).about
    assert about["target"] == "topic"
    assert about["n_labeled"] == 30
    assert about["columns"] == {
        "size": "number", "color": "category", "seen": "date", "note": "text", "way": "vector"
    }  # fmt: skip


def without(objects: bytes, class_name: str, *fields: str) -> bytes:
    """Take fields from the states of the objects of a class, as if an older version wrote them."""
    content = json.loads(objects)

    def walk(node: object) -> None:
        if isinstance(node, dict):
            if str(node.get("class", "")).endswith(f".{class_name}"):
                node["state"] = [each for each in node["state"] if each[0] not in fields]
            for each in node.values():
                walk(each)
        elif isinstance(node, list):
            for each in node:
                walk(each)

    walk(content["root"])
    return json.dumps(content).encode()


def pieces() -> tuple[bytes, bytes]:
    with zipfile.ZipFile(FILES / "table-0.1.0.leaven") as archive:
        return archive.read("objects.json"), archive.read("arrays.bin")


def test_a_field_that_is_newer_than_the_file_has_its_default() -> None:
    objects, arrays = pieces()
    model = unpack_object(without(objects, "TableModel", "embedding"), arrays)
    assert isinstance(model, TableModel)
    assert model.embedding is None
    assert len(model.predict(rows().head(4))) == 4


def test_a_parameter_that_is_newer_than_the_file_has_its_default() -> None:
    objects, arrays = pieces()
    model = unpack_object(without(objects, "TablePreparer", "ignore", "max_words"), arrays)
    assert model.preparer.get_params()["ignore"] == ()
    assert model.preparer.get_params()["max_words"] == 50_000
    assert len(model.predict(rows().head(4))) == 4


def test_a_field_without_a_default_is_missed() -> None:
    objects, arrays = pieces()
    with pytest.raises(ModelFileError, match=r"TableModel and this version's differ in classes"):
        unpack_object(without(objects, "TableModel", "classes"), arrays)


@dataclass
class Plain:
    kept: int
    made: list[int] = field(default_factory=lambda: [7, 8])
    plain: str = "word"


class Grown(BaseEstimator):
    def __init__(self, old: float, new: tuple[int, ...] = (3, 5)) -> None:
        self.old = old
        self.new = new


def test_defaults_are_filled_in() -> None:
    value = object.__new__(Plain)
    _decode._restore_dataclass(value, {"kept": 4})
    assert value == Plain(4, [7, 8], "word")
    with pytest.raises(ModelFileError, match="differ in gone"):
        _decode._restore_dataclass(object.__new__(Plain), {"kept": 4, "gone": 5})
    grown = object.__new__(Grown)
    grown.__dict__["old"] = 2.5
    _decode._fill_parameters(grown)
    assert grown.get_params() == {"old": 2.5, "new": (3, 5)}


def test_the_content_of_a_file_is_what_is_packed() -> None:
    value = {"numbers": np.array([2.5, 4.0]), "word": "x"}
    again = unpack_object(*pack_object(value, "value"))
    assert_allclose(again["numbers"], value["numbers"])
    assert again["word"] == "x"
