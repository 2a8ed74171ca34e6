"""A plugin of pytest that keeps the tests in which rounding can decide: ``-p tools.thresholds``.

These are tests that compare a number with a threshold or within a stated tolerance, and examples of
the documentation whose output has a decimal fraction or a percentage. The others compare names,
shapes, or numbers to the default tolerance, and take most of the time.
"""

from __future__ import annotations

import ast
import doctest
import functools
import re
from pathlib import Path
from typing import Any

NUMBER = re.compile(r"\d\.\d|\d%")
TOLERANCES = {"atol", "rtol", "abs", "rel", "decimal"}


def has_threshold(function: ast.AST) -> bool:
    """Tell whether a function compares with a fraction or a stated tolerance."""
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and any(map(_is_fraction, ast.walk(node))):
            return True
        if isinstance(node, ast.Call) and any(each.arg in TOLERANCES for each in node.keywords):
            return True
    return False


def _is_fraction(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is float and node.value % 1 != 0


@functools.cache
def functions_with_thresholds(file: Path) -> frozenset[str]:
    """Name the tests of a file that have a threshold, by themselves or through a helper."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    found = {node.name for node in functions if has_threshold(node)}
    while True:
        more = {
            node.name
            for node in functions
            if any(isinstance(each, ast.Name) and each.id in found for each in ast.walk(node))
        }
        if more <= found:
            return frozenset(found)
        found |= more


def is_kept(item: Any) -> bool:
    """Tell whether rounding can decide a test."""
    examples = getattr(item, "dtest", None)
    if isinstance(examples, doctest.DocTest):
        return any(NUMBER.search(example.want) for example in examples.examples)
    return getattr(item, "originalname", item.name) in functions_with_thresholds(item.path)


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    left_out = [item for item in items if not is_kept(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if is_kept(item)]
