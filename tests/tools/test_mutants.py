"""The tool that breaks code must break it, in one place only, and ask the tests that reach it."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from tools import reached
from tools.mutants import Trial, draw, grouped, mutated, places
from tools.mutants import tests_of_module as files_for
from tools.reached import Atlas, Reach, atlas, is_recorded, run_tests

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

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


def test_a_mutant_knows_the_lines_of_its_statement():
    source = "def f(x):\n    if (x >\n            3):\n        y = (x,\n             x + 4)\n"
    spans = {mutant.change: (mutant.first, mutant.last) for mutant in places("_a.py", source)}
    # The body of a condition is no part of it; a statement over two lines is one.
    assert spans == {"if -> if not": (2, 3), "Gt -> LtE": (2, 3), "3 -> 4": (2, 3)} | {
        "Add -> Sub": (4, 5),
        "4 -> 5": (4, 5),
    }


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


def test_files_of_tests():
    root = Path(__file__).parents[2]
    found = files_for("graph/_weights.py", root)
    assert found[:2] == ["src/leaven/graph/_weights.py", "tests/graph/test_weights.py"]
    assert {name.rpartition("/")[0] for name in found[1:]} == {"tests/graph"}
    assert len(found) == 1 + len(list((root / "tests" / "graph").glob("test_*.py")))
    assert files_for("_progress.py", root)[1:] == ["tests/test_progress.py"]
    assert "tests/graph/test_weights.py" in files_for("_not_there.py", root)


def test_groups_are_cheap_first_and_count_the_collection(monkeypatch):
    monkeypatch.setattr("tools.mutants.GROUPS", (3.0, 6.0))
    known = Atlas(collecting={"a.py": 1.0, "b.py": 4.0})
    tests = [Reach(f"a.py::{i}", 1.0, {}) for i in range(4)] + [Reach("b.py::0", 0.5, {})]
    names = [[test.name for test in group] for group in grouped(known, tests)]
    # 1 + 1 + 1, then 1 + 1 + 1, and the file b would make that 7.5.
    assert names == [["a.py::0", "a.py::1"], ["a.py::2", "a.py::3"]]


SMALL = """
LIMIT = 5


def twice(x):
    return 2 * x


def idle(x):
    return x + 0


def count(x):
    while x > 0:
        x = x - 2
    return x


def never():
    return 7
"""
TESTS = """
import os, time
from leaven import _small

def test_slow_twice():
    sum(range(3_000_000))
    assert _small.twice(3) == 6

def test_twice():
    assert _small.twice(4) == 8

def test_idle():
    assert _small.idle(3) == 3

def test_count():
    assert _small.count(6) == 0

def test_broken():
    assert _small.twice(1) == 3

def test_shy():
    # Passes when it is recorded, fails ever after.
    assert _small.idle(1) == 1
    if os.path.exists("marked"):
        assert False
    open("marked", "w").close()
"""


@pytest.fixture
def trial(tmp_path):
    """A package with one module and its tests."""
    root = tmp_path / "copy"
    (root / "src" / "leaven").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "src" / "leaven" / "__init__.py").write_text("")
    (root / "src" / "leaven" / "_small.py").write_text(SMALL)
    (root / "tests" / "test_small.py").write_text(TESTS)
    return Trial(root, tmp_path / "cache", is_recording=True)


@needs_fork
def test_what_reaches_a_line_is_recorded_once(trial):
    name = "tests/test_small.py"
    assert not is_recorded(trial.copy, name, trial.cache)
    known = atlas(trial.copy, [name], trial.cache)
    names = [test.name.partition("::")[2] for test in known.reaching("_small.py", 6, 6)]
    assert names == ["test_twice", "test_slow_twice"]  # the cheap one first, none that fails
    assert [test.name for test in known.reaching("_small.py", 20, 21)] == []
    assert len(known.importing("_small.py")) == 5
    assert is_recorded(trial.copy, name, trial.cache)
    assert atlas(trial.copy, [name], trial.cache) == known
    # Lines have moved: whatever reached the file may reach the line.
    module = trial.copy / "src" / "leaven" / "_small.py"
    module.write_text("# new\n" + SMALL)
    assert len(atlas(trial.copy, [name], trial.cache).reaching("_small.py", 7, 7)) == 5
    (trial.copy / name).write_text("# other tests\n")
    assert not is_recorded(trial.copy, name, trial.cache)


@needs_fork
def test_outcomes(trial, monkeypatch):
    monkeypatch.setattr(reached, "LIBRARIES", ("coverage",))
    found = places("_small.py", SMALL)
    module = trial.copy / "src" / "leaven" / "_small.py"

    def outcome(function: str, change: str):
        number = next(
            i for i, each in enumerate(found) if (each.function, each.change) == (function, change)
        )
        result = trial.outcome(found[number], number)
        assert module.read_text() == SMALL
        return result

    killed = outcome("twice", "Mult -> Div")
    assert (killed.state, killed.test) == ("noticed", "tests/test_small.py::test_twice")
    # The test that fails by itself is left out, and the other one sees no difference.
    survivor = outcome("idle", "Add -> Sub")
    assert (survivor.state, survivor.lives) == ("survived", True)
    assert trial.broken == {"tests/test_small.py::test_shy"}
    assert outcome("never", "7 -> 8").state == "not reached"
    assert outcome("module", "5 -> 6").lives


@needs_fork
def test_without_a_record_the_tests_that_mention_the_function_run_first(trial):
    trial.is_recording = False
    tests = trial.copy / "tests" / "test_small.py"
    tests.write_text(TESTS.replace("def test_broken", "def broken"))
    found = places("_small.py", SMALL)
    results = {
        mutant.function: trial.outcome(mutant, number)
        for number, mutant in enumerate(found)
        if mutant.change in ("Mult -> Div", "7 -> 8")
    }
    assert results["twice"].state == "noticed"
    assert results["twice"].test == "tests/test_small.py::test_slow_twice"  # the first that does
    assert results["never"].state == "survived"  # that nothing reaches it is not known here
    assert not trial.cache.exists()


@needs_fork
def test_a_mutant_that_does_not_end_is_counted_apart(trial, monkeypatch):
    monkeypatch.setattr("tools.mutants.PATIENCE", 1.0)
    found = places("_small.py", SMALL)
    number = next(
        i for i, each in enumerate(found) if (each.function, each.change) == ("count", "Sub -> Add")
    )
    result = trial.outcome(found[number], number)
    assert (result.state, result.lives) == ("by time", False)


@needs_fork
def test_tests_run_in_the_copy_and_end_in_time(tmp_path):
    (tmp_path / "src" / "leaven").mkdir(parents=True)
    for name, body in {
        "copied": "import leaven\n\ndef test():\n    assert 'src' in leaven.__path__[0]",
        "broken": "def test():\n    assert False",
        "endless": "def test():\n    while True: pass",
        "waiting": "import time\n\ndef test():\n    time.sleep(600)",
        "two": "def test_a():\n    assert False\n\ndef test_b():\n    pass",
        "empty": "",
    }.items():
        (tmp_path / f"test_{name}.py").write_text(body)
    (tmp_path / "src" / "leaven" / "__init__.py").write_text("")

    def run(name: str, wanted: list[str] | None = None, seconds: float = 60.0):
        return run_tests(tmp_path, [f"test_{name}.py"], wanted, seconds)

    assert run("copied") == (True, "")
    assert run("broken") == (False, "test_broken.py::test")
    assert run("two", ["test_two.py::test_b"]) == (True, "")
    assert run("empty") == (True, "")
    assert run("endless", seconds=1.0)[0] is None
    assert run("waiting", seconds=0.2)[0] is None
