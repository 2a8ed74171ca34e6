"""The tool that breaks code must break it, and in one place only."""

from __future__ import annotations

import ast

import pytest

from tools.mutants import draw, mutated, places
from tools.mutants import tests_of_module as folders_of

SOURCE = '''
def share(values: list[int] | None, total=1):
    """Return a share."""
    if total > 0 and values:
        return sum(values) / total
    raise ValueError("total must be above 0, got " + str(total))
'''


def test_each_place_is_changed_once():
    found = places("graph/_a.py", SOURCE)
    assert [(mutant.line, mutant.change) for mutant in found] == [
        (4, "if -> if not"),
        (4, "And -> Or"),
        (4, "Gt -> LtE"),
        (4, "0 -> 1"),
        (5, "Div -> Mult"),
    ]
    assert {mutant.function for mutant in found} == {"share"}
    original = ast.unparse(ast.parse(SOURCE)).splitlines()
    for number, mutant in enumerate(found):
        changed = mutated("graph/_a.py", SOURCE, number).splitlines()
        lines = [
            i for i, pair in enumerate(zip(original, changed, strict=True)) if len(set(pair)) > 1
        ]
        assert len(lines) == 1, mutant


@pytest.mark.parametrize(("number", "expected"), [(0, None), (2, None), (4, 12.0)])
def test_a_mutant_gives_other_answers(number, expected):
    scope: dict[str, object] = {}
    exec(mutated("graph/_a.py", SOURCE, number), scope)
    if expected is None:
        with pytest.raises(ValueError):
            scope["share"]([2, 4], 2)
    else:
        assert scope["share"]([2, 4], 2) == expected


def test_draws_repeat_and_reach_every_package():
    drawn = draw(60, seed=3)
    assert drawn == draw(60, seed=3)
    assert drawn != draw(60, seed=4)
    assert len({mutant.path.split("/")[0] for mutant, _ in drawn}) > 8


def test_tests_of_a_package():
    assert folders_of("graph/_knn.py") == ["src/leaven/graph/_knn.py", "tests/graph"]
    assert folders_of("_labels.py")[1:] == ["tests/test_labels.py"]
    assert folders_of("_progress.py")[1:] == ["tests"]
