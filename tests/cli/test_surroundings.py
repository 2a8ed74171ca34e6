"""Every command, in odd surroundings: the files and the exit codes are those of any other place.

One process runs the commands in turn, for starting seven of them would take most of the time.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
LABEL = ["label", "die Zeilen.csv", "--target", "t", "--method", "naive-bayes", "--out", "out.csv"]
COMPARE = ["compare", "die Zeilen.csv", "--target", "t", "--trials", "1", "--out", "compared.md"]
COMMANDS = [
    [*LABEL, "--save", "meine Labels.leaven", "--report", "report.html"],
    ["predict", "meine Labels.leaven", "neu ü.csv", "--out", "predicted.csv"],
    ["show", "meine Labels.leaven"],
    [*COMPARE, "--candidates", "naive-bayes,logistic-regression"],
    ["example", "support_tickets", "--out", "an example.csv"],
    ["datasets"],
]
WRITTEN = ["out.csv", "predicted.csv", "an example.csv"]  # the others hold times or places

# A number of a container without an account, and without HOME: there is no home at all.
NO_ACCOUNT = """
import os, pwd
def getpwuid(number): raise KeyError(f"getpwuid(): uid not found: {number}")
pwd.getpwuid = getpwuid
for name in ("HOME", "USER", "LOGNAME", "LNAME", "USERNAME"): os.environ.pop(name, None)
"""
ALL_COMMANDS = """
import json, os, sys
import leaven, leaven.graph_based, leaven.app, leaven.plotting
from leaven.cli import main
codes = []
for args in json.load(open("commands.json", encoding="utf-8")):
    try:
        main([os.fsdecode(each.encode()) for each in args])  # as the system passes them on
        codes.append(0)
    except SystemExit as stop:
        codes.append(stop.code or 0)
json.dump(codes, open("codes.json", "w"))
"""
ANNOTATE = """
from leaven.cli import main
main(["annotate", "die Zeilen.csv", "--target", "t", "--no-browser", "--port", "0"])
"""

SURROUNDINGS = {
    "ASCII, far away, other hashes": {
        "LC_ALL": "C",
        "LANG": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "TZ": "Pacific/Chatham",
        "PYTHONHASHSEED": "4711",
    },
    # A device is a home that nobody can write to, root included.
    "read-only home": {"HOME": "/dev/null", "USERPROFILE": "/dev/null", "TMPDIR": ""},
    "no such home": {"HOME": "/nonexistent/home", "USERPROFILE": "/nonexistent/home"},
    "no home and no account": {},
}


def filled(folder: Path) -> Path:
    """A folder with spaces and an umlaut that holds a table with labels and one without."""
    folder = folder / "a folder with spaces, ü"
    folder.mkdir(parents=True)
    rows = [
        f"{day:02d}.01.2024 0{day % 10}:30,grün {'früh' if day % 2 else 'spät'} {day},"
        + ("" if day > 12 else ("ja" if day % 2 else "näher"))
        for day in range(1, 25)
    ]
    table = "day,Wörter,t\n" + "\n".join(rows)
    (folder / "die Zeilen.csv").write_text(table, encoding="utf-8")
    (folder / "neu ü.csv").write_text("\n".join(["day,Wörter,t", *rows[12:]]), encoding="utf-8")
    (folder / "commands.json").write_text(json.dumps(COMMANDS), encoding="utf-8")
    return folder


def run(script: str, folder: Path, env: dict[str, str], source: Path = SOURCE) -> str:
    surroundings = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", **env}
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", script],
        cwd=folder,
        env=surroundings,
        capture_output=True,
        check=False,
    )
    said = done.stdout.decode("utf-8", "replace") + done.stderr.decode("utf-8", "replace")
    assert done.returncode == 0, said
    assert "Traceback" not in said, said
    return said


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = filled(tmp_path_factory.mktemp("usual"))
    said = run(ALL_COMMANDS, folder, {})
    assert json.loads((folder / "codes.json").read_text()) == [0] * len(COMMANDS), said
    answers = {name: (folder / name).read_bytes() for name in WRITTEN}
    assert "näher" in answers["predicted.csv"].decode("utf-8")
    return answers


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_every_command(tmp_path: Path, expected: dict[str, bytes], name: str) -> None:
    if name == "no home and no account" and sys.platform == "win32":
        pytest.skip("accounts of POSIX")
    folder = filled(tmp_path)
    script = (NO_ACCOUNT if name == "no home and no account" else "") + ALL_COMMANDS
    said = run(script, folder, SURROUNDINGS[name])
    assert json.loads((folder / "codes.json").read_text()) == [0] * len(COMMANDS), said
    for file, content in expected.items():
        assert (folder / file).read_bytes() == content, file
    assert "naive-bayes" in (folder / "compared.md").read_text(encoding="utf-8")
    assert "näher" in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts of POSIX")
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_annotate(tmp_path: Path, name: str) -> None:
    folder = filled(tmp_path)
    script = (NO_ACCOUNT if name == "no home and no account" else "") + ANNOTATE
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1", **SURROUNDINGS[name]}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", script], cwd=folder, env=env, **pipes) as server:
        assert server.stdout is not None
        try:
            address = server.stdout.readline().decode().strip()
            assert address.startswith("http"), server.communicate()[1].decode(errors="replace")
            with urllib.request.urlopen(address, timeout=60) as answer:
                assert b"<html" in answer.read()
        finally:
            server.send_signal(signal.SIGINT)
            said = server.communicate(timeout=60)[1].decode(errors="replace")
    assert "Traceback" not in said, said
    assert "From other computers" not in said  # it listens on this one only
    assert server.returncode == 0, said


def test_a_checkout_that_cannot_be_written(tmp_path: Path, expected: dict[str, bytes]) -> None:
    # Files in folders that take no new ones. Root may write there all the same, so
    # that the folders are compared, too.
    copy = tmp_path / "source code" / "leaven"
    for file in sorted((SOURCE / "leaven").rglob("*")):
        if "__pycache__" not in file.parts and file.is_file():
            to = copy / file.relative_to(SOURCE / "leaven")
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(file.read_bytes())
            to.chmod(stat.S_IRUSR)
    folders = [copy, *(each for each in copy.rglob("*") if each.is_dir())]
    for each in folders:
        each.chmod(stat.S_IRUSR | stat.S_IXUSR)
    before = sorted(copy.rglob("*"))
    folder = filled(tmp_path)
    try:
        run(ALL_COMMANDS, folder, {"PYTHONDONTWRITEBYTECODE": "1"}, copy.parent)
        assert sorted(copy.rglob("*")) == before
    finally:
        for each in folders:
            each.chmod(stat.S_IRWXU)
    for file, content in expected.items():
        assert (folder / file).read_bytes() == content, file
