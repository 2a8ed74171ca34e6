"""The layers of the package import downward only; see the diagram in CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "leaven"

# From the bottom up. Packages of one layer do not import each other, but for the first layer,
# whose modules are one small foundation.
LAYERS = [
    {
        "_labels",
        "_files",
        "_html",
        "_suggest",
        "base",
        "_compat",
        "_dask",
        "_distinct",
        "_magnitude",
        "_optional",
        "_progress",
        "_threads",
        "exceptions",
    },
    {"solvers", "partitions", "statistics", "persistence"},
    {"graph", "datasets"},
    {"graph_based", "generative", "low_density", "self_labeling", "representation", "text"},
    {"selection"},
    {"active", "model_selection"},
    {"evaluation", "plotting", "testing"},
    {"tables"},
    {"report", "app"},
    {"cli"},
]
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
ROOT = "leaven itself"  # leaven/__init__.py: offers what is below the command line
HEIGHT[ROOT] = HEIGHT["cli"] - 0.5
ONLY_NUMERICS = sys.stdlib_module_names | {"numpy", "scipy", "leaven"}
COMPILER = {"numba", "llvmlite"}  # of solvers/_compiled.py, which is imported where numba is
LABEL_NAME = re.compile(r"y|codes|labels|target|[yY]_.*|.*_(y|codes|labels|target)")


def imports(tree: ast.AST, package: list[str]) -> Iterator[tuple[int, str]]:
    """Give line and dotted name of all that a module imports, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in {"import_optional", "import_module", "__import__"}:
                yield node.lineno, f"optional:{node.args[0].value}"


def part_of(dotted: str) -> str:
    """Name the part of leaven that a dotted name lies in."""
    part = dotted.split(".")[1]
    return part if part in HEIGHT or (PACKAGE / part).is_dir() else ROOT


def is_minus_one(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and ast.unparse(node) == "-1"


def problems(source: str, path: str) -> list[str]:
    """List what is wrong with a module at ``path``, which is relative to the package."""
    parts = path.removesuffix(".py").split("/")
    own = ROOT if parts == ["__init__"] else parts[0]
    if parts == ["__main__"]:  # `python -m leaven` is the command line
        own = "cli"
    if own not in HEIGHT:
        return [f"{path}: '{own}' has no layer yet; give it one in tests/test_layers.py"]
    tree = ast.parse(source)
    found = []
    for line, name in imports(tree, ["leaven", *parts[:-1]]):
        outside = name.removeprefix("optional:").split(".")[0]
        if outside == "matplotlib" and own != "plotting":
            found.append(f"{path}:{line}: only leaven.plotting imports matplotlib")
        may = ONLY_NUMERICS | (COMPILER if path == "solvers/_compiled.py" else set())
        if own == "solvers" and "optional:" not in name and outside not in may:
            found.append(f"{path}:{line}: leaven.solvers uses NumPy and SciPy only, not {outside}")
        if re.search(r"^sklearn\..*\._\w|^sklearn\._\w", name) and own != "_compat":
            found.append(f"{path}:{line}: private scikit-learn names belong into leaven._compat")
        if outside != "leaven" or name in {"leaven", "leaven.__version__"}:
            continue
        other = part_of(name.removeprefix("optional:"))
        if own == other or (HEIGHT[own] == 0 and HEIGHT.get(other) == 0):
            continue
        if HEIGHT.get(other, 99) >= HEIGHT[own]:
            found.append(f"{path}:{line}: {own} imports {other}, which is not below it")
        private = re.match(r"leaven\.[a-z]\w*\.(\w+\.)*_[a-z]", name.removeprefix("optional:"))
        if private:
            found.append(f"{path}:{line}: {name} is private to leaven.{other}; export it there")
        if own == "solvers" and other not in {"exceptions", "_optional", "_threads"}:
            found.append(f"{path}:{line}: leaven.solvers knows nothing of {other}")
    for node in ast.walk(tree):
        if own != "_labels" and isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            names = [
                re.split(r"[.\[(]", ast.unparse(side).removeprefix("self."))[0] for side in sides
            ]
            if any(map(is_minus_one, sides)) and any(map(LABEL_NAME.fullmatch, names)):
                found.append(f"{path}:{node.lineno}: what is labeled is decided in leaven._labels")
    return found


@pytest.mark.parametrize(
    "path", sorted(p.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*.py"))
)
def test_imports_point_downward(path: str) -> None:
    assert problems((PACKAGE / path).read_text(encoding="utf-8"), path) == []


@pytest.mark.parametrize(
    ("path", "source", "message"),
    [
        ("graph/_a.py", "from leaven.cli import main", "graph imports cli"),
        ("graph/_a.py", "def f():\n    import leaven.graph_based", "graph imports graph_based"),
        ("graph/_a.py", "from ..graph_based._harmonic import x", "graph imports graph_based"),
        ("graph/_a.py", "from leaven import graph_based", "graph imports graph_based"),
        ("graph/_a.py", "from leaven import label", "graph imports leaven itself"),
        ("graph_based/_a.py", "from leaven.text import x", "graph_based imports text"),
        ("_labels.py", "from leaven.solvers import x", "_labels imports solvers"),
        ("__init__.py", "from leaven.cli import main", "imports cli"),
        ("solvers/_a.py", "from sklearn.base import clone", "NumPy and SciPy only"),
        ("solvers/_a.py", "from leaven.base import x", "knows nothing of base"),
        ("evaluation/_a.py", "import_optional('matplotlib.pyplot')", "imports matplotlib"),
        ("graph/_a.py", "from sklearn.utils._param_validation import x", "leaven._compat"),
        ("graph/_a.py", "mask = y == -1", "leaven._labels"),
        ("graph/_a.py", "mask = -1 != self.y_train[rows]", "leaven._labels"),
        ("active/_a.py", "from leaven.graph._weights import Edges", "private to leaven.graph"),
        ("active/_a.py", "import leaven.solvers._em", "private to leaven.solvers"),
        ("active/_a.py", "from leaven.base import _rows", "private to leaven.base"),
        ("base/_a.py", "from leaven.graph._a import x", "which is not below it"),
        ("novel/_a.py", "", "no layer yet"),
    ],
)
def test_a_violation_is_found(path: str, source: str, message: str) -> None:
    found = problems(source, path)
    assert any(message in problem for problem in found)


def test_what_is_allowed_passes() -> None:
    allowed = """
from leaven import __version__
from leaven.graph import KNNGraph
from leaven._labels import UNLABELED
from sklearn.base import clone
from . import _mincut
def f(parent):
    from leaven._optional import import_optional
    import_optional("pyamg", extra="ann", needed_by="f")
    return parent == -1
"""
    assert problems(allowed, "graph_based/_a.py") == []
