"""What `import leaven` offers, and what it costs."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import leaven


def test_dir_names_what_there_is_and_nothing_else() -> None:
    names = [name for name in dir(leaven) if not name.startswith("__")]
    assert names == [name for name in leaven.__all__ if not name.startswith("__")]
    for name in names:
        assert getattr(leaven, name) is not None


def test_every_public_package_is_offered() -> None:
    found = {
        module.name
        for module in pkgutil.iter_modules(leaven.__path__)
        if not module.name.startswith("_") and module.name != "cli"  # the command is no library
    }
    assert found <= set(leaven.__all__)


def test_types_see_the_same_names() -> None:
    source = Path(leaven.__file__).read_text(encoding="utf-8")
    imported = {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("leaven")
        for alias in node.names
    }
    assert imported | {"__version__"} == set(leaven.__all__)


def test_the_functions_are_those_of_their_packages() -> None:
    assert leaven.label is leaven.tables.label
    assert leaven.text is importlib.import_module("leaven.text")
    with pytest.raises(AttributeError, match="module 'leaven' has no attribute 'lable'"):
        _ = leaven.lable


def test_the_version_is_that_of_the_installed_package() -> None:
    assert leaven.__version__ == metadata.version("leaven")


def test_import_is_light() -> None:
    script = (
        "import sys; before = set(sys.modules); import leaven; dir(leaven)\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    new = done.stdout.decode().split()
    assert "leaven" in new
    assert not {"importlib.metadata", "email", "zipfile", "numpy", "sklearn"} & set(new)
