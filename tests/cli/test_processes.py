"""The command as a process: closed streams, interrupts, odd surroundings, kills."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

SOURCE = Path(__file__).parents[2] / "src"
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and closed streams of POSIX")

ROWS = "x,t\n1,a\n2,b\n1.1,\n2.2,\n1.3,a\n2.4,b\n"
OPTIONS = ["--target", "t", "--method", "naive-bayes", "--no-report"]
EXPECTED = ["a", "b", "a", "b", "a", "b"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text(ROWS)
    return path


def leaven(
    *args: object, cwd: Path | None = None, env: dict[str, str] | None = None, **options: object
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    surroundings = {**os.environ, "PYTHONPATH": str(SOURCE), **(env or {})}
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "leaven", *map(str, args)],
        cwd=cwd,
        env=surroundings,
        text=True,
        check=False,
        **{"capture_output": True, **options},
    )


def close(*numbers: int):
    """What runs between fork and exec."""
    return lambda: [os.close(number) for number in numbers]


@posix
@pytest.mark.parametrize("closed", [(1,), (0, 1, 2)], ids=str)
def test_closed_streams(table: Path, closed: tuple[int, ...]) -> None:
    out = table.with_name("out.csv")
    done = leaven("label", table, *OPTIONS, "--out", out, preexec_fn=close(*closed))
    assert done.returncode == 0, done.stderr
    # Without a standard stream its number went to the next file: no line of the summary is in it.
    assert pd.read_csv(out)["t_predicted"].tolist() == EXPECTED


@posix
def test_labels_for_a_closed_standard_output_are_refused(table: Path) -> None:
    done = leaven("label", table, *OPTIONS, "--out", "-", preexec_fn=close(1))
    assert done.returncode == 2
    assert done.stderr == "leaven: error: Standard output is closed. Name a file instead.\n"


@posix
def test_bad_input_with_a_closed_standard_error(table: Path) -> None:
    done = leaven("label", table.with_name("no.csv"), *OPTIONS, preexec_fn=close(2))
    assert (done.returncode, done.stdout) == (2, "")


INTERRUPTED_IMPORT = """
import builtins, os, signal, sys
real = builtins.__import__
def hooked(name, *args, **kwargs):
    if name == {module!r} or name.startswith({module!r} + "."):
        builtins.__import__ = real
        os.kill(os.getpid(), signal.SIGINT)
        if {disguised}:
            try:
                for _ in range(10_000): pass
            except KeyboardInterrupt:
                raise ImportError("numpy.core.multiarray failed to import")
    return real(name, *args, **kwargs)
builtins.__import__ = hooked
from leaven.__main__ import run
sys.argv = ["leaven", *{args!r}]
run()
"""


@posix
@pytest.mark.parametrize(
    ("module", "disguised"),
    [("leaven.cli", False), ("pandas", False), ("pandas", True)],
)
def test_an_interrupt_during_imports_is_one_line(table: Path, module: str, disguised: bool) -> None:
    # Compiled modules make ImportError of an interrupt, which gave a traceback.
    out = table.with_name("out.csv")
    args = ["label", str(table), *OPTIONS, "--out", str(out)]
    script = INTERRUPTED_IMPORT.format(module=module, disguised=disguised, args=args)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.strip() == "leaven: error: interrupted."
    assert done.returncode in (1, 130)
    assert not out.exists()


@posix
@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() == 0, reason="root may write anywhere")
def test_a_read_only_home_and_working_directory(table: Path) -> None:
    locked = table.with_name("locked")
    locked.mkdir()
    locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
    out = table.with_name("out.csv")
    try:
        done = leaven("label", table, *OPTIONS, "--out", out, cwd=locked, env={"HOME": str(locked)})
    finally:
        locked.chmod(stat.S_IRWXU)
    assert done.returncode == 0, done.stderr
    assert pd.read_csv(out)["t_predicted"].tolist() == EXPECTED


KILLED_SAVE = """
import sys
from leaven.active import ActiveLearner
from sklearn.naive_bayes import GaussianNB
learner = ActiveLearner(GaussianNB(), random_state=0).fit([[float(i)] for i in range(60)])
for row in range(60):
    learner.teach([row], ["low" if row < 30 else "high"])
    learner.save(sys.argv[1])
    print(row, flush=True)
"""

KILLED_STORE = """
import sys
from leaven.evaluation import compare
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
data = {"iris": load_iris(return_X_y=True)}
for trials in range(1, 40):
    compare({"bayes": GaussianNB()}, data, n_trials=trials, store=sys.argv[1], random_state=0)
    print(trials, flush=True)
"""


def kill_after(script: str, path: Path, line: int, *, wait: float) -> int:
    """Kill the script some time after a line of it; give the last line it printed."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", script, str(path)]
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(command, env=env, **pipes) as child:  # type: ignore[call-overload]
        seen = -1
        while seen < line:
            printed = child.stdout.readline()
            assert printed, child.stderr.read()
            seen = int(printed)
        try:
            child.wait(wait)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
        rest, _ = child.communicate()
        return int(rest.split()[-1]) if rest.split() else seen


@posix
@pytest.mark.parametrize("line", [0, 21])
def test_a_killed_save_leaves_the_last_session_or_the_one_before(tmp_path: Path, line: int) -> None:
    from leaven.active import ActiveLearner

    path = tmp_path / "session.leaven"
    last = kill_after(KILLED_SAVE, path, line, wait=0.003 * (line + 1))
    learner = ActiveLearner.load(path)
    # What was reported as saved is there; one more may have been saved before it was reported.
    assert learner.n_taught_ in (last + 1, last + 2)
    learner.save(path)
    assert [each.name for each in tmp_path.iterdir()] == ["session.leaven"], "no part is left"


@posix
def test_a_killed_study_keeps_what_was_reported(tmp_path: Path) -> None:
    from leaven.evaluation import read_store

    path = tmp_path / "study.db"
    last = kill_after(KILLED_STORE, path, 3, wait=0.05)
    assert read_store(path)["trial"].nunique() in (last, last + 1)
