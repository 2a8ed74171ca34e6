"""The studies use leaven by its public names, as anyone outside could."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

STUDIES = Path(__file__).parents[2] / "studies"


def private_names(source: str) -> list[str]:
    """Dotted names of leaven with a part that begins with an underscore."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return [
        name
        for name in names
        if name.startswith("leaven.") and any(part[0] == "_" for part in name.split("."))
    ]


@pytest.mark.parametrize("path", sorted(STUDIES.rglob("*.py")), ids=lambda path: path.name)
def test_no_private_name_of_leaven_is_imported(path: Path) -> None:
    assert private_names(path.read_text(encoding="utf-8")) == []


def test_a_private_name_is_found() -> None:
    assert private_names("def f():\n    from leaven.graph._knn import KNNGraph") == [
        "leaven.graph._knn.KNNGraph"
    ]
