"""All of a file under its name, or nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leaven import _files
from leaven._files import atomic_output, output_problem

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and locks are POSIX's")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(path: Path, content: bytes = b"new") -> None:
    with atomic_output(path) as stream:
        stream.write(content)


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail() -> None:
        with atomic_output(path) as stream:
            stream.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_the_name_appears_at_the_end(tmp_path: Path) -> None:
    with atomic_output(tmp_path / "a") as stream:
        stream.write(b"new")
        assert not (tmp_path / "a").exists()
    assert (tmp_path / "a").read_bytes() == b"new"
    assert names(tmp_path) == ["a"]


@posix
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_of_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        write(tmp_path / "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


@posix
def test_an_old_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@posix
def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "b", tmp_path / "a"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert names(tmp_path / "elsewhere") == ["b"]


@posix
def test_a_device_is_written_to(tmp_path: Path) -> None:
    write(Path(os.devnull))
    assert not Path(os.devnull).is_file()


def test_every_descriptor_is_closed(tmp_path: Path) -> None:
    def are_open() -> list[int]:
        found = []
        for descriptor in range(256):
            with contextlib.suppress(OSError):
                os.fstat(descriptor)
                found.append(descriptor)
        return found

    before = are_open()
    for number in range(3):
        with atomic_output(tmp_path / f"{number}.txt") as stream:
            stream.write(b"all")
    assert are_open() == before


@pytest.mark.skipif(sys.platform == "win32", reason="no locks")
def test_a_part_is_locked_until_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def replace_after_another_run(part: Path, target: Path) -> None:
        _files.remove_stale_parts(tmp_path)
        replace(part, target)

    monkeypatch.setattr(os, "replace", replace_after_another_run)
    with atomic_output(tmp_path / "a.txt") as stream:
        stream.write(b"all")
    assert (tmp_path / "a.txt").read_bytes() == b"all"


def test_windows_has_no_locks_and_goes_by_the_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    for seconds, is_left in ((60.0, True), (_files._STALE_SECONDS + 60.0, False)):
        part = tmp_path / "part"
        part.touch()
        os.utime(part, (time.time() - seconds,) * 2)
        _files._remove_if_stale(str(part))
        assert part.exists() == is_left


@posix
def test_what_a_killed_run_left_is_removed_and_a_running_one_is_not(tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        "from leaven._files import atomic_output\n"
        "with atomic_output(sys.argv[1]) as stream:\n"
        "    stream.write(b'half'); stream.flush()\n"
        "    print('open', flush=True)\n"
        "    sys.stdin.readline()\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "a")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as child:  # type: ignore[call-overload]
        assert child.stdout.readline() == b"open\n"
        (part,) = names(tmp_path)
        write(tmp_path / "b")
        assert names(tmp_path) == sorted([part, "b"]), "a part that is being written stays"
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert part in names(tmp_path)
    write(tmp_path / "b", b"again")
    assert names(tmp_path) == ["b"]
    assert (tmp_path / "b").read_bytes() == b"again"


def test_problems_are_told_before_the_work(tmp_path: Path) -> None:
    assert output_problem(tmp_path / "a") is None
    assert output_problem(tmp_path) == f"{tmp_path} is a directory: the output must be a file."
    missing = tmp_path.resolve() / "no"
    assert output_problem(tmp_path / "no" / "a") == (
        f"The output directory {missing} does not exist. Create it first."
    )


@posix
@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert "cannot be written to" in str(output_problem(tmp_path / "a"))
    finally:
        tmp_path.chmod(0o700)
