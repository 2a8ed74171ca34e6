"""Break the code at random places and see whether the tests notice.

``python -m tools.mutants 200 --seed 0`` draws 200 places in ``src/leaven``: a comparison or an
operator is exchanged for its opposite, a constant is moved by one, a condition is negated. Each
mutant lives in a copy of the repository, and the tests of its package run on it until the first
failure. The survivors are listed; each deserves a test, or a word why nobody can tell it from
the original.

The places that are known to be equivalent stand in ``tools/equivalent_mutants.txt``, one
``path:function:change`` on a line, with the reason behind a ``#``.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "leaven"
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")

LIBRARIES = (
    "networkx",
    "pandas",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "scipy.stats",
    "sklearn.ensemble",
    "sklearn.semi_supervised",
    "sklearn.utils.estimator_checks",
)
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
    "_dask.py": ["tests/partitions", "tests/generative"],
    "_distinct.py": ["tests/tables/test_prepare.py", "tests/tables/test_many_files.py"],
    "_optional.py": ["tests/representation", "tests/test_init.py"],
    "_threads.py": ["tests/solvers", "tests/graph"],
}


@dataclass(frozen=True)
class Mutant:
    """One change at one place."""

    path: str
    line: int
    column: int
    function: str
    change: str

    @property
    def key(self) -> str:
        """The name under which an equivalent mutant is listed; it survives moved lines."""
        return f"{self.path}:{self.function}:{self.change}"


class _Places(ast.NodeVisitor):
    """Collects the places of a module that can be changed, and applies one of them."""

    def __init__(self, path: str, wanted: int | None = None) -> None:
        self.path = path
        self.wanted = wanted
        self.found: list[Mutant] = []
        self._functions: list[str] = []

    def _offer(self, node: ast.AST, line: int, column: int, change: str) -> bool:
        function = ".".join(self._functions) or "module"
        self.found.append(Mutant(self.path, line, column, function, change))
        return self.wanted == len(self.found) - 1

    def _scope(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        self._functions.append(node.name)
        self.generic_visit(node)
        self._functions.pop()

    visit_FunctionDef = _scope
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


def tests_of_module(path: str) -> list[list[str]]:
    """Name the tests that are to notice a change in a module, the quickest first.

    Its doctests and the file of its name come before those of the package, so that most mutants
    take some seconds.
    """
    package, name = path.split("/")[0], path.split("/")[-1].removeprefix("_")
    named = TESTS_OF.get(path, [f"tests/test_{name}" if package == path else f"tests/{package}"])
    wide = [name for name in named if (ROOT / name).exists()] or ["tests"]
    own = f"tests/{path.rpartition('/')[0]}/test_{name}".replace("//", "/")
    first = [f"src/leaven/{path}", *([own] if (ROOT / own).exists() else [])]
    return [first, wide]


def draw(n: int, seed: int) -> list[tuple[Mutant, int]]:
    """Draw mutants: a package first, so that small ones are not forgotten, then a place."""
    by_package: dict[str, list[tuple[Mutant, int]]] = {}
    known = equivalent()
    for file in sorted(SOURCE.rglob("*.py")):
        path = file.relative_to(SOURCE).as_posix()
        for number, mutant in enumerate(places(path, file.read_text(encoding="utf-8"))):
            if mutant.key not in known:
                by_package.setdefault(path.split("/")[0], []).append((mutant, number))
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


def survives(copy: Path, mutant: Mutant, number: int, seconds: float) -> bool | None:
    """Run the tests on a mutant; None if they did not end, which counts as noticed."""
    file = copy / "src" / "leaven" / mutant.path
    original = file.read_text(encoding="utf-8")
    for tests in tests_of_module(mutant.path):
        file.write_text(mutated(mutant.path, original, number), encoding="utf-8")
        try:
            outcome, failed = run_tests(copy, tests, seconds)
        finally:
            file.write_text(original, encoding="utf-8")
        if outcome is None:
            return None
        # A test that fails without the mutant as well has noticed nothing.
        if not outcome and run_tests(copy, failed or tests, seconds)[0]:
            return False
        if not outcome:
            raise RuntimeError(f"{failed or tests} fails without {mutant} too")
    return True


def run_tests(copy: Path, tests: list[str], seconds: float) -> tuple[bool | None, list[str]]:
    """Run some tests until the first failure; tell whether all passed, and name what failed.

    In a fork, which has the libraries below leaven already: importing them takes longer than
    most of the tests. None is for tests that did not end.
    """
    for library in LIBRARIES:
        importlib.import_module(library)
    note = copy / "failed.txt"
    note.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.setsid()  # programs that the tests start end with them
        os._exit(_run_pytest(copy, tests, note))
    deadline = time.monotonic() + seconds
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            # 5: nothing was collected, as in a module without doctests.
            passed = os.waitstatus_to_exitcode(status) in (0, 5)
            return passed, note.read_text(encoding="utf-8").splitlines() if note.exists() else []
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None, []
        time.sleep(0.05)


class _FirstFailure:
    """A plugin of pytest that writes down the test that failed, or the file that did not load."""

    def __init__(self, note: Path) -> None:
        self.note = note

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.note.exists():
            self.note.write_text(report.nodeid, encoding="utf-8")

    pytest_collectreport = pytest_runtest_logreport


def _run_pytest(copy: Path, tests: list[str], note: Path) -> int:
    """Run pytest in the copy, whatever comes; give its exit code."""
    paths = [str(copy / "src"), str(copy)]
    os.environ.update(PYTHONPATH=os.pathsep.join(paths), CI="1")
    sys.path[:] = [*paths, *(path for path in sys.path if path not in ("", str(ROOT)))]
    for name in [name for name in sys.modules if name.split(".")[0] in ("tools", "leaven")]:
        del sys.modules[name]
    os.chdir(copy)
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    try:
        options = ["-q", "-x", "-p", "no:cacheprovider"]
        return int(pytest.main([*options, *tests], plugins=[_FirstFailure(note)]))
    except BaseException:
        return 1


def run(n: int, seed: int, seconds: float, skip: int = 0) -> Iterator[tuple[Mutant, bool | None]]:
    """Try mutants in a copy of the repository, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "leaven"
        shutil.copytree(
            ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "docs/_build", ".*_cache")
        )
        for mutant, number in draw(n, seed)[skip:]:
            try:
                survived = survives(copy, mutant, number, seconds)
            except RuntimeError as error:
                print(f"not counted: {error}", flush=True)
                continue
            yield mutant, survived


def main() -> int:
    """Print the survivors and the share of mutants that were noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("n", type=int, nargs="?", default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=600.0, help="limit for each mutant")
    parser.add_argument("--skip", type=int, default=0, help="the first ones, of a run that ended")
    parser.add_argument("--goal", type=float, default=0.95, help="share that must be noticed")
    args = parser.parse_args()
    started, survivors, n_tried, n_slow = time.time(), [], 0, 0
    for mutant, survived in run(args.n, args.seed, args.seconds, args.skip):
        n_tried += 1
        n_slow += survived is None
        if survived:
            survivors.append(mutant)
        state = "survived" if survived else "ended by time" if survived is None else "noticed"
        print(f"{n_tried:4d} {state:13s} {mutant.path}:{mutant.line} {mutant.change}", flush=True)
    share = 1 - len(survivors) / max(n_tried, 1)
    took = time.time() - started
    print(
        f"\n{n_tried} mutants (seed {args.seed}), {share:.1%} noticed, {n_slow} of them by the "
        f"limit of {args.seconds:.0f} s (on a busy machine that tells nothing), {took:.0f} s"
    )
    for mutant in survivors:
        print(f"survivor: {mutant.key}  ({mutant.path}:{mutant.line}:{mutant.column})")
    return int(share < args.goal)


if __name__ == "__main__":
    sys.exit(main())
