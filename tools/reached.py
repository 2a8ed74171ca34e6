"""Which test reaches which line, recorded once: ``tools.mutants`` runs only those tests.

A file of tests runs in a fork that has the libraries below leaven already, with a tracer that
notes the lines of ``src/leaven`` for each test. What was found is kept in a folder until the file
of tests changes. A source file that changed since then has moved lines: any test that reached the
file counts as one that reaches the line.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import inspect
import json
import math
import os
import re
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

LIBRARIES = (
    "coverage",
    "hypothesis.extra.numpy",
    "networkx",
    "pandas",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "scipy.stats",
    "sklearn.ensemble",
    "sklearn.semi_supervised",
    "sklearn.svm",
    "sklearn.utils.estimator_checks",
)
# A test that takes longer, of processor time or on the clock, is recorded as far as it came, and
# runs last. Of a file that takes longer, or waits four times as long, the last tests are left out.
SECONDS_PER_TEST = 2.0
WAITING_PER_TEST = 15.0
SECONDS_PER_FILE = 25.0


@dataclass(frozen=True)
class Reach:
    """A test: its name, its processor time, and the lines of each source file that it runs."""

    name: str
    seconds: float
    lines: dict[str, frozenset[int]]

    @property
    def file(self) -> str:
        """The file that pytest must collect for it."""
        return self.name.partition("::")[0]


@dataclass
class Atlas:
    """What is known about the tests of some files."""

    tests: list[Reach] = field(default_factory=list)
    collecting: dict[str, float] = field(default_factory=dict)
    """Processor time until the first test of a file begins."""
    moved: set[tuple[str, str]] = field(default_factory=set)
    """Files of tests, with source files that changed since they were recorded."""

    def reaching(self, path: str, first: int, last: int) -> list[Reach]:
        """List the tests that run one of these lines, the cheapest first."""
        return [
            test
            for test in self.importing(path)
            if (test.file, path) in self.moved
            or any(first <= line <= last for line in test.lines[path])
        ]

    def importing(self, path: str) -> list[Reach]:
        """List the tests that run anything of a module: they can see its constants."""
        found = [test for test in self.tests if path in test.lines]
        return sorted(found, key=lambda test: test.seconds + self.collecting.get(test.file, 0.0))


def digest(file: Path) -> str:
    """Name the content of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def _kept(root: Path, name: str, cache: Path) -> Path:
    """Where the record of a file of tests is: its name holds the content that was recorded."""
    return cache / f"{name.replace('/', '.')}.{digest(root / name)}.json"


def is_recorded(root: Path, name: str, cache: Path) -> bool:
    """Tell whether a file of tests is known as it is."""
    return _kept(root, name, cache).exists()


def atlas(root: Path, files: list[str], cache: Path) -> Atlas:
    """Read what is known about files of tests, and record what is not."""
    found = Atlas()
    for name in files:
        kept = _kept(root, name, cache)
        if not kept.exists():
            cache.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(_record(root, name)), encoding="utf-8")
        known = json.loads(kept.read_text(encoding="utf-8"))
        found.collecting[name] = known["collecting"]
        for path, before in known["sources"].items():
            source = root / "src" / "leaven" / path
            if not source.exists() or digest(source) != before:
                found.moved.add((name, path))
        lines: list[dict[str, set[int]]] = [{} for _ in known["tests"]]
        for path, by_line in known["lines"].items():
            for line, numbers in by_line.items():
                for number in numbers:
                    lines[number].setdefault(path, set()).add(int(line))
        for (test, seconds), reached in zip(known["tests"], lines, strict=True):
            fixed = {path: frozenset(each) for path, each in reached.items()}
            found.tests.append(Reach(test, seconds, fixed))
    return found


def _record(root: Path, name: str) -> dict[str, Any]:
    """Run a file of tests, and write down what each of them reaches."""
    note = root / "reached.json"
    note.unlink(missing_ok=True)
    in_fork(lambda: _trace(root, name, note), seconds=None)
    empty: dict[str, Any] = {"tests": [], "collecting": 0.0, "sources": {}, "lines": {}}
    return dict(json.loads(note.read_text(encoding="utf-8"))) if note.exists() else empty


def _trace(root: Path, name: str, note: Path) -> int:
    import coverage

    source = root / "src" / "leaven"
    tracer = coverage.Coverage(
        data_file=None, source=[str(source)], config_file=False, messages=False
    )
    recorder = _Recorder(tracer)
    tracer.start()
    run_pytest(root, [name], recorder)
    tracer.stop()
    data = tracer.get_data()
    numbers = {test: i for i, (test, _) in enumerate(recorder.tests)}
    lines, sources = {}, {}
    for file in data.measured_files():
        path = Path(file).relative_to(source).as_posix()
        by_line = {
            line: [numbers[each] for each in contexts if each in numbers]
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        lines[path] = {line: found for line, found in by_line.items() if found}
        sources[path] = digest(Path(file))
    known = {"tests": recorder.tests, "collecting": recorder.collecting}
    note.write_text(json.dumps({**known, "sources": sources, "lines": lines}), encoding="utf-8")
    return 0


class _Recorder:
    """A plugin of pytest: a context of the tracer for each test, and a limit of its time."""

    def __init__(self, tracer: Any) -> None:
        self.tracer = tracer
        self.started = processor_time()
        self.waiting = time.monotonic() + 4 * SECONDS_PER_FILE
        self.collecting = 0.0
        self.tests: list[tuple[str, float]] = []
        self._failed: set[str] = set()

    def pytest_collection_finish(self) -> None:
        self.collecting = processor_time() - self.started

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        spent = processor_time() - self.started
        if spent > SECONDS_PER_FILE or time.monotonic() > self.waiting:
            item.session.shouldstop = "the file takes long"
        self.tracer.switch_context(item.nodeid)
        started = processor_time()
        try:
            return (yield)
        finally:
            took = processor_time() - started
            self.tracer.switch_context("")
            if item.nodeid not in self._failed:
                self.tests.append((item.nodeid, round(took, 4)))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        def stop(number: int, frame: Any) -> None:
            pytest.skip("takes long")  # an outcome that hypothesis passes on

        before = [signal.signal(number, stop) for number in (signal.SIGPROF, signal.SIGALRM)]
        signal.setitimer(signal.ITIMER_PROF, SECONDS_PER_TEST)
        signal.setitimer(signal.ITIMER_REAL, WAITING_PER_TEST)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            for number, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
                signal.signal(number, handler)

    def pytest_runtest_logreport(self, report: Any) -> None:
        # What fails without a mutant cannot notice one.
        if report.failed:
            self._failed.add(report.nodeid)


def processor_time() -> float:
    """Seconds of this process and of those that it waited for."""
    return sum(os.times()[:4])


def run_pytest(root: Path, arguments: list[str], plugin: Any) -> int:
    """Run pytest on files of this root, whatever comes; give its exit code."""
    paths = [str(root / "src"), str(root)]
    here = str(Path(__file__).parents[1])
    os.environ.update(PYTHONPATH=os.pathsep.join(paths), CI="1")
    sys.path[:] = [*paths, *(path for path in sys.path if path not in ("", here))]
    for name in [name for name in sys.modules if name.split(".")[0] in ("tools", "leaven")]:
        del sys.modules[name]
    os.chdir(root)
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    try:
        # Plugins that are imported already cannot have their assertions rewritten, and need not.
        ignored = "ignore::pytest.PytestAssertRewriteWarning"
        options = ["-q", "-p", "no:cacheprovider", "-W", ignored]
        return int(pytest.main([*options, *arguments], plugins=[plugin]))
    except BaseException:
        return 1


class _Selected:
    """A plugin of pytest that runs the wanted tests in their order, and notes what failed.

    Without names it runs all, those first that mention one of the words, until the processor time
    is used up.
    """

    def __init__(
        self, wanted: list[str] | None, note: Path, words: frozenset[str], seconds: float
    ) -> None:
        self.order = None if wanted is None else {name: i for i, name in enumerate(wanted)}
        self.note = note
        self.words = words
        # Counted from the fork, whose clock begins at zero.
        self.end = seconds

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.order is None:
            items.sort(key=lambda item: self.words.isdisjoint(_words_of(item)))
        else:
            order = self.order
            kept = [item for item in items if item.nodeid in order]
            items[:] = sorted(kept, key=lambda item: order[item.nodeid])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> None:
        if self.order is None and processor_time() > self.end:
            item.session.shouldstop = "the time is used up"

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.note.exists():
            self.note.write_text(report.nodeid, encoding="utf-8")

    pytest_collectreport = pytest_runtest_logreport


def _words_of(item: Any) -> set[str]:
    """The words of a test, or of an example."""
    function = getattr(item, "function", None)
    try:
        text = inspect.getsource(function) if function is not None else item.dtest.docstring
    except (OSError, TypeError, AttributeError):
        text = ""
    return set(re.findall(r"\w+", f"{item.name} {text}"))


def run_tests(
    root: Path,
    files: list[str],
    wanted: list[str] | None,
    seconds: float,
    *,
    words: frozenset[str] = frozenset(),
    enough: float = math.inf,
) -> tuple[bool | None, str]:
    """Run some tests until the first failure; tell whether all passed, and name what failed.

    None is for tests that used up the processor time, or that wait for something. Where no tests
    are named, none begins after ``enough`` seconds of it.
    """
    note = root / "failed.txt"
    note.unlink(missing_ok=True)
    plugin = _Selected(wanted, note, words, enough)
    code = in_fork(lambda: run_pytest(root, ["-x", *files], plugin), seconds=seconds)
    failed = note.read_text(encoding="utf-8") if note.exists() else ""
    # 2: stopped, as above or by the first failure. 5: nothing was collected, as in a module
    # without doctests.
    return (None if code is None else code in (0, 5) or (code == 2 and not failed)), failed


def in_fork(work: Callable[[], int], seconds: float | None) -> int | None:
    """Do some work in a fork; give its exit code, or None where the time was up.

    The limit is on processor time, which does not depend on what else the machine does. Work that
    waits is ended after three times as long.
    """
    for library in LIBRARIES:
        importlib.import_module(library)
    child = os.fork()
    if child == 0:
        os.setsid()  # programs that the tests start end with them
        code = 1
        try:
            if seconds is not None:
                whole = int(seconds) + 1
                resource.setrlimit(resource.RLIMIT_CPU, (whole, whole))
            code = work()
        finally:
            os._exit(code)
    deadline = None if seconds is None else time.monotonic() + 3 * seconds + 10
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)  # workers that outlive the tests
            code = os.waitstatus_to_exitcode(status)
            return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
        if deadline is not None and time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.02)
