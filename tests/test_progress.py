"""The line that says what is happening."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from leaven._progress import _line, phase, progress_bar


def shown() -> tuple[str, float | None, float]:
    """What the line says now: its name, the steps in all, and those that are done."""
    line = _line.get()
    assert line is not None
    task = line.bar.tasks[0]
    return task.description, task.total, task.completed


def test_without_a_bar_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("work", 3, show=False) as move:
        move()
        move(2, name="other")
        phase("Reading")
        assert _line.get() is None
    assert capsys.readouterr() == ("", "")


def test_steps_and_names_of_a_bar() -> None:
    with progress_bar("work", 4, show=True) as move:
        assert shown() == ("work", 4, 0)
        move()
        move(name="second")
        assert shown() == ("second", 4, 2)
        move(3, name="third")
        assert shown() == ("third", 4, 3)
    assert _line.get() is None


def test_a_loop_inside_a_phase_draws_on_the_same_line() -> None:
    with progress_bar("Starting", None, show=True):
        bar = _line.get()
        phase("Reading the table")
        assert shown() == ("Reading the table", None, 0)
        with progress_bar("Trying", 5, show=True) as move:
            move(2)
            assert _line.get() is bar
            assert shown() == ("Trying", 5, 2)
        # Its end leaves no full bar behind.
        assert shown() == ("Trying", None, 0)
        phase("Writing")
        assert shown()[0] == "Writing"


def test_the_line_is_free_again_after_an_error() -> None:
    with pytest.raises(RuntimeError, match="stop"), progress_bar("work", 1, show=True):
        raise RuntimeError("stop")
    assert _line.get() is None


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminal")
def test_leaven_label_names_its_phases_on_a_terminal(tmp_path: Path) -> None:
    rows = [f"{i % 2 * 5 + i / 100},{'ab'[i % 2] if i < 8 else ''}" for i in range(40)]
    table = tmp_path / "rows.csv"
    table.write_text("x,t\n" + "\n".join(rows), encoding="utf-8")
    master, slave = os.openpty()
    command = [sys.executable, "-m", "leaven.cli", "label", str(table), "--target", "t"]
    command += ["--candidates", "naive-bayes,linear-svm,harmonic", "--no-report"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env=environment
    ) as process:
        os.close(slave)
        seen = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
    os.close(master)
    assert process.returncode == 0, seen.decode(errors="replace")
    # Phases shorter than a redraw may be missed; the first and the result are always there.
    assert b"Starting" in seen
    assert b"Expect about" in seen


def test_the_first_line_is_there_before_the_imports() -> None:
    # Scikit-learn and pandas take a second or two, in which nothing was on the screen.
    script = """
import sys
import leaven._progress
import leaven.cli._common, leaven.cli._label

def stop(keep):
    print(*sorted(sys.modules.keys() & {"numpy", "scipy", "sklearn", "pandas"}), "|")
    raise SystemExit(0)

leaven._progress._new_bar = stop
leaven.cli._label.is_terminal = lambda: True
leaven.cli.main(["label", "rows.csv", "--target", "t"])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["|"], done.stderr
