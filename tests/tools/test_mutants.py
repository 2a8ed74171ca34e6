"""The tool that breaks code must break it, and in one place only."""

from __future__ import annotations

import ast
import os

import pytest

from tools.mutants import draw, mutated, places, run_tests, survives
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
    assert folders_of("graph/_knn.py") == [["src/leaven/graph/_knn.py"], ["tests/graph"]]
    own = ["src/leaven/graph/_weights.py", "tests/graph/test_weights.py"]
    assert folders_of("graph/_weights.py") == [own, ["tests/graph"]]
    assert folders_of("_progress.py")[1] == ["tests/test_progress.py"]
    assert folders_of("_not_there.py")[1] == ["tests"]
    assert folders_of("_labels.py")[1] == ["tests/test_labels.py"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_tests_run_in_the_copy_and_end_in_time(tmp_path):
    (tmp_path / "src" / "leaven").mkdir(parents=True)
    for name, body in {
        "copied": "import leaven\n\ndef test():\n    assert 'src' in leaven.__path__[0]",
        "broken": "def test():\n    assert False",
        "endless": "import time\n\ndef test():\n    time.sleep(600)",
        "empty": "",
    }.items():
        (tmp_path / f"test_{name}.py").write_text(body)
    (tmp_path / "src" / "leaven" / "__init__.py").write_text("")
    assert run_tests(tmp_path, ["test_copied.py"], 300.0) == (True, [])
    assert run_tests(tmp_path, ["test_broken.py"], 300.0) == (False, ["test_broken.py::test"])
    assert run_tests(tmp_path, ["test_empty.py"], 300.0) == (True, [])
    assert run_tests(tmp_path, ["test_endless.py"], 3.0) == (None, [])


SMALL = """
def twice(x):
    return 2 * x  # TEST


def idle(x):
    return x + 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_what_fails_without_the_mutant_is_an_error(tmp_path):
    module = tmp_path / "src" / "leaven" / "_small.py"
    module.parent.mkdir(parents=True)
    (module.parent / "__init__.py").write_text("")
    module.write_text(SMALL)
    tests = tmp_path / "tests"
    tests.mkdir()
    check = tests / "test_small.py"
    check.write_text("from leaven import _small\n\ndef test():\n    assert _small.twice(3) == 6\n")
    found = places("_small.py", SMALL)

    def outcome(change: str) -> bool | None:
        number = next(i for i, mutant in enumerate(found) if mutant.change == change)
        return survives(tmp_path, found[number], number, 300.0)

    assert outcome("Mult -> Div") is False
    assert outcome("Add -> Sub") is True
    assert module.read_text() == SMALL
    check.write_text("def test():\n    assert False\n")
    with pytest.raises(RuntimeError, match=r"test_small\.py::test.* fails without"):
        outcome("Add -> Sub")
