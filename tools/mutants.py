"""Break the code at random places and see whether the tests notice.

``python -m tools.mutants 200 --seed 0`` draws 200 places in ``src/leaven``: a comparison or an
operator is exchanged for its opposite, a constant is moved by one, a condition is negated. Each
mutant lives in a copy of the repository. The tests of its package that reach the line run on it,
the cheapest first, until one fails. Which test reaches which line can be recorded once per file of
tests (``--record``, ``tools/reached.py``); the records are kept under ``build/mutants``, and pay
off from the second mutant of a package on. Without a record the files of tests that mention the
module run, each for some seconds, with the tests that mention the function first. The survivors are
listed; each deserves a test, or a word why nobody can tell it from the original.

The places that are known to be equivalent stand in ``tools/equivalent_mutants.txt``, one
``path:function:change:which`` on a line, with the reason behind a ``#``. They are drawn like the
others, so that a seed means the same mutants before and after, and not counted.
"""

from __future__ import annotations

import argparse
import ast
import functools
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.reached import Atlas, Reach, atlas, is_recorded, run_tests

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "leaven"
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")
CACHE = ROOT / "build" / "mutants"

# Recorded seconds of the tests that run together: most mutants are noticed by the first group,
# and the tests of the last one run for survivors only.
GROUPS = (4.0, 30.0, 120.0)
# Seconds that tests may take on top of a multiple of what they took without the mutant.
PATIENCE = 20.0
# Seconds after which no further test of a file begins, where nothing is known about its tests.
ENOUGH = 15.0
# What a line is exchanged for: the nearest operator that still gives a value of the same kind.
EXCHANGES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
SKIPPED_CALLS = {"warn", "info", "debug", "log", "ValueError", "TypeError", "TableError"}
# Modules whose tests live under another name, or in several folders.
TESTS_OF = {
    "__init__.py": ["tests/test_init.py"],
    "__main__.py": ["tests/cli/test_processes.py"],
    "_compat.py": ["tests/selection", "tests/test_contract.py"],
    "_dask.py": ["tests/test_dask.py", "tests/partitions"],
    "_distinct.py": ["tests/tables/test_prepare.py", "tests/tables/test_many_files.py"],
    "_labels.py": ["tests/test_labels.py", "tests/tables/test_hostile.py"],
    "_optional.py": ["tests/test_optional.py", "tests/test_init.py"],
    "cli/_annotate.py": ["tests/cli", "tests/app"],
    "cli/_label.py": ["tests/cli", "tests/tables/test_many_files.py"],
}


@dataclass(frozen=True)
class Mutant:
    """One change at one place."""

    path: str
    line: int
    column: int
    function: str
    change: str
    first: int = 0
    last: int = 0
    """The lines of the statement, without the body of a compound one."""
    which: int = 1
    """The first, second, ... of the same change in the function."""

    @property
    def key(self) -> str:
        """The name under which an equivalent mutant is listed; it survives moved lines."""
        return f"{self.path}:{self.function}:{self.change}:{self.which}"


class _Places(ast.NodeVisitor):
    """Collects the places of a module that can be changed, and applies one of them."""

    def __init__(self, path: str, wanted: int | None = None) -> None:
        self.path = path
        self.wanted = wanted
        self.found: list[Mutant] = []
        self._functions: list[str] = []
        self._span = (0, 0)

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            outer, self._span = self._span, (node.lineno, max(node.lineno, last))
            super().visit(node)
            self._span = outer
        else:
            super().visit(node)

    def _offer(self, node: ast.AST, line: int, column: int, change: str) -> bool:
        function = ".".join(self._functions) or "module"
        which = 1 + sum((each.function, each.change) == (function, change) for each in self.found)
        self.found.append(Mutant(self.path, line, column, function, change, *self._span, which))
        return self.wanted == len(self.found) - 1

    def _scope(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._functions.append(node.name)
        self.generic_visit(node)
        self._functions.pop()

    visit_FunctionDef = _scope
    visit_AsyncFunctionDef = _scope
    visit_ClassDef = _scope

    def visit_arguments(self, node: ast.arguments) -> None:
        """Leave annotations and defaults alone: the types of ``X | None`` are no arithmetic."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave messages alone."""

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name not in SKIPPED_CALLS:
            self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for i, operator in enumerate(node.ops):
            other = EXCHANGES.get(type(operator))
            if other is not None:
                change = f"{type(operator).__name__} -> {other.__name__}"
                if self._offer(node, node.lineno, node.col_offset, change):
                    node.ops[i] = other()
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        other = EXCHANGES.get(type(node.op))
        is_text = any(
            isinstance(side, (ast.JoinedStr, ast.List))
            or (isinstance(side, ast.Constant) and isinstance(side.value, str))
            for side in (node.left, node.right)
        )
        if other is not None and not is_text:
            change = f"{type(node.op).__name__} -> {other.__name__}"
            if self._offer(node, node.lineno, node.col_offset, change):
                node.op = other()
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = EXCHANGES[type(node.op)]
        change = f"{type(node.op).__name__} -> {other.__name__}"
        if self._offer(node, node.lineno, node.col_offset, change):
            node.op = other()
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        # Checks that end in an error are left to the tests of bad input.
        if not isinstance(node.body[0], ast.Raise) and self._offer(
            node, node.lineno, node.col_offset, "if -> if not"
        ):
            node.test = ast.UnaryOp(ast.Not(), node.test)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if type(node.value) is int and self._offer(
            node, node.lineno, node.col_offset, f"{node.value} -> {node.value + 1}"
        ):
            node.value += 1


def places(path: str, source: str) -> list[Mutant]:
    """List what can be changed in a module."""
    visitor = _Places(path)
    visitor.visit(ast.parse(source))
    return visitor.found


def mutated(path: str, source: str, number: int) -> str:
    """Return the source with the change at one of its places."""
    tree = ast.parse(source)
    _Places(path, number).visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree))


def tests_of_module(path: str, root: Path, function: str = "module") -> list[str]:  # noqa: PT028
    """Name the files of tests that are to notice a change in a module, the likeliest first.

    These are its doctests and the file of its name, then the files of the package that mention the
    function, those that mention another name of the module, and the rest; small ones first, for
    large ones hold the checks of whole families.
    """
    package, name = path.split("/")[0], path.split("/")[-1].removeprefix("_")
    named = TESTS_OF.get(path, [f"tests/test_{name}" if package == path else f"tests/{package}"])
    places = [root / each for each in named if (root / each).exists()] or [root / "tests"]
    source = root / "src" / "leaven" / path
    tree = ast.parse(source.read_text(encoding="utf-8") if source.exists() else "")
    defined = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}

    def rank(file: Path) -> tuple[bool, bool, bool, bool, int]:
        words = set(re.findall(r"\w+", file.read_text(encoding="utf-8")))
        return (
            file.name != f"test_{name}",
            not f"test_{name}".startswith(file.stem),  # test_edges.py, of _edges_of_blocks.py
            words.isdisjoint(function.split(".")),
            words.isdisjoint(defined),
            file.stat().st_size,
        )

    files = [
        file
        for place in places
        for file in (place.glob("**/test_*.py") if place.is_dir() else [place])
    ]
    files.sort(key=rank)
    return [f"src/leaven/{path}", *(file.relative_to(root).as_posix() for file in files)]


@functools.cache
def places_by_package(source: Path) -> dict[str, list[tuple[Mutant, int]]]:
    """List what can be changed in each package, with its number in the module."""
    by_package: dict[str, list[tuple[Mutant, int]]] = {}
    for file in sorted(source.rglob("*.py")):
        path = file.relative_to(source).as_posix()
        for number, mutant in enumerate(places(path, file.read_text(encoding="utf-8"))):
            by_package.setdefault(path.split("/")[0], []).append((mutant, number))
    return by_package


def draw(n: int, seed: int) -> list[tuple[Mutant, int]]:
    """Draw mutants: a package first, so that small ones are not forgotten, then a place."""
    by_package = places_by_package(SOURCE)
    rng = random.Random(seed)
    packages = sorted(by_package)
    drawn: dict[tuple[str, int], tuple[Mutant, int]] = {}
    while len(drawn) < min(n, sum(map(len, by_package.values()))):
        mutant, number = rng.choice(by_package[rng.choice(packages)])
        drawn[mutant.path, number] = mutant, number
    return list(drawn.values())


def equivalent() -> set[str]:
    """Read the mutants that nobody can tell from the original."""
    if not EQUIVALENT.exists():
        return set()
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines()
    return {line.partition("#")[0].strip() for line in lines} - {""}


@dataclass(frozen=True)
class Outcome:
    """What the tests said about a mutant."""

    state: str
    """noticed, by time, survived, or not reached, where no test runs the line."""
    test: str = ""
    n_run: int = 0
    n_reaching: int = 0

    @property
    def lives(self) -> bool:
        """Whether nothing noticed the mutant."""
        return self.state in ("survived", "not reached")


@dataclass
class Trial:
    """A copy of the repository in which mutants live, one at a time."""

    copy: Path
    cache: Path
    is_recording: bool = False
    """Record files of tests before they run; else those without a record run as they are."""
    max_files: int = 1_000
    """How many of the latter run for one mutant."""
    sound: set[str] = field(default_factory=set)
    """Tests that pass without a mutant."""
    broken: set[str] = field(default_factory=set)
    n_written: int = 0

    def outcome(self, mutant: Mutant, number: int) -> Outcome:
        """Run tests on a mutant: those known to reach it first, then the likeliest files."""
        files = tests_of_module(mutant.path, self.copy, mutant.function)
        known = [
            name for name in files if self.is_recording or is_recorded(self.copy, name, self.cache)
        ]
        recorded = atlas(self.copy, known, self.cache)
        tests = [test for test in reaching(recorded, mutant) if test.name not in self.broken]
        n_run = 0
        for group in grouped(recorded, tests):
            state, test = self._try(recorded, group, mutant, number)
            if state:
                return Outcome(state, test, n_run, len(tests))
            n_run += len(group)
        others = [name for name in files if name not in known][: self.max_files]
        for name in others:
            state, test = self._try_file(name, mutant, number)
            if state:
                return Outcome(state, test, n_run, len(tests))
        return Outcome("survived" if n_run or others else "not reached", "", n_run, len(tests))

    def _try_file(self, name: str, mutant: Mutant, number: int) -> tuple[str, str]:
        """Run a file of tests of which nothing is known, until one fails or it takes long."""
        words = frozenset(mutant.function.split("."))
        limits = {"seconds": ENOUGH + 2 * PATIENCE, "words": words, "enough": ENOUGH}
        if name in self.broken:
            return "", ""
        passed, failed = self._run(mutant, number, [name], None, **limits)
        if passed is None:
            return "by time", name
        if passed:
            return "", ""
        wanted = [failed] if "::" in failed else None
        if failed not in self.sound:
            if not run_tests(self.copy, [name], wanted, ENOUGH + 2 * PATIENCE)[0]:
                self.broken.update([name, failed])
                print(f"left out, fails without a mutant too: {failed or name}", flush=True)
                return "", ""
            self.sound.add(failed)
        return "noticed", failed or name

    def _try(
        self, recorded: Atlas, group: list[Reach], mutant: Mutant, number: int
    ) -> tuple[str, str]:
        """Run a group of tests; tell whether they noticed, and which."""
        # Tests that take so much longer than they did are caught in a loop.
        seconds = PATIENCE + sum(60.0 if t.seconds > 1.5 else 6 * t.seconds for t in group)
        seconds += 2 * sum(recorded.collecting[name] for name in {test.file for test in group})
        names = [test.name for test in group]
        while names:
            passed, failed = self._run(mutant, number, files_of(names), names, seconds=seconds)
            if passed is None:
                return "by time", names[0]
            if passed:
                break
            if self._is_sound(failed, names, seconds):
                return "noticed", failed
            names = [name for name in names if name not in self.broken]
        return "", ""

    def _run(
        self, mutant: Mutant, number: int, files: list[str], names: list[str] | None, **limits: Any
    ) -> tuple[bool | None, str]:
        """Write the mutant, run tests, and put the original back."""
        file = self.copy / "src" / "leaven" / mutant.path
        original, stamp = file.read_text(encoding="utf-8"), file.stat().st_mtime
        self.n_written += 1
        try:
            file.write_text(mutated(mutant.path, original, number), encoding="utf-8")
            # Compiled files are told apart by seconds and sizes, which mutants can share.
            os.utime(file, (self.n_written, self.n_written))
            return run_tests(self.copy, files, names, **limits)
        finally:
            file.write_text(original, encoding="utf-8")
            os.utime(file, (stamp, stamp))

    def _is_sound(self, failed: str, names: list[str], seconds: float) -> bool:
        """Tell whether what failed passes without the mutant, or else leave it out from now on."""
        if failed not in self.sound:
            wanted = [failed] if failed in names else names
            passed, culprit = run_tests(self.copy, files_of(wanted), wanted, seconds)
            if not passed:
                self.broken.update([culprit] if culprit in names else wanted)
                print(f"left out, fails without a mutant too: {culprit or wanted}", flush=True)
                return False
            self.sound.add(failed)
        return True


def files_of(names: list[str]) -> list[str]:
    """The files that hold these tests, in their order."""
    return list(dict.fromkeys(name.partition("::")[0] for name in names))


def reaching(known: Atlas, mutant: Mutant) -> list[Reach]:
    """List the tests that can see a mutant, the cheapest first."""
    if mutant.function == "module":
        return known.importing(mutant.path)
    return known.reaching(mutant.path, mutant.first, mutant.last)


def grouped(known: Atlas, tests: list[Reach]) -> list[list[Reach]]:
    """Split tests into groups of growing cost; what is beyond the last limit is left out."""
    groups: list[list[Reach]] = [[] for _ in GROUPS]
    number, spent = 0, 0.0
    for test in tests:
        is_new = all(each.file != test.file for each in groups[number])
        cost = test.seconds + known.collecting[test.file] * is_new
        while spent + cost > GROUPS[number] and groups[number] and number < len(GROUPS) - 1:
            number, spent = number + 1, 0.0
            cost = test.seconds + known.collecting[test.file]
        if spent + cost > GROUPS[number] and groups[number]:
            break
        groups[number].append(test)
        spent += cost
    return [group for group in groups if group]


def run(args: argparse.Namespace) -> Iterator[tuple[int, Mutant, Outcome]]:
    """Try mutants in a copy of the repository, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "leaven"
        ignored = shutil.ignore_patterns(".git", ".venv*", "build", "docs/_build", ".*_cache")
        shutil.copytree(ROOT, copy, ignore=ignored)
        trial, known = Trial(copy, args.cache, args.record, args.files), equivalent()
        drawn = list(enumerate(draw(args.n, args.seed)))[args.skip :]
        for place, (mutant, number) in drawn:
            if args.only and place not in args.only:
                continue
            if mutant.key in known:
                yield place, mutant, Outcome("equivalent")
            else:
                yield place, mutant, trial.outcome(mutant, number)


def main() -> int:
    """Print the survivors and the share of mutants that were noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("n", type=int, nargs="?", default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip", type=int, default=0, help="the first ones, of a run that ended")
    parser.add_argument("--only", type=int, nargs="*", help="some of them, such as the survivors")
    parser.add_argument("--goal", type=float, default=0.95, help="share that must be noticed")
    parser.add_argument("--cache", type=Path, default=CACHE, help="what is known about the tests")
    parser.add_argument(
        "--files", type=int, default=1_000, help="files without a record for one mutant, at most"
    )
    parser.add_argument("--record", action="store_true", help="record what reaches which line")
    args = parser.parse_args()
    started, survivors = time.time(), []
    states: Counter[str] = Counter()
    for drawn, mutant, found in run(args):
        states[found.state] += 1
        if found.lives:
            survivors.append((mutant, found))
        place = f"{mutant.path}:{mutant.line} {mutant.change}"
        print(f"{drawn:4d} {found.state:11s} {place}  {found.test}", flush=True)
    n_counted = states.total() - states["equivalent"]
    share = 1 - len(survivors) / max(n_counted, 1)
    print(
        f"\n{states.total()} mutants (seed {args.seed}), {states['equivalent']} of them known as "
        f"equivalent; {share:.1%} of the others noticed, {states['by time']} of these by the limit "
        f"of processor time; {time.time() - started:.0f} s"
    )
    for mutant, found in survivors:
        print(
            f"survivor: {mutant.key}  ({mutant.path}:{mutant.line}:{mutant.column}), "
            f"{found.n_run} of {found.n_reaching} tests that reach it were run"
        )
    return int(share < args.goal)


if __name__ == "__main__":
    sys.exit(main())
