"""The one writer of files: all of a file under its name, or nothing."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sys
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

# Names of files that are being written, in the folder of the file to be.
_PREFIX, _SUFFIX = ".leaven-", ".tmp"

# Where files cannot be locked (Windows), a part this old is of a run that was killed.
_STALE_SECONDS = 3600.0


# What damaged or foreign content can raise on its way through zipfile, json and numpy.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
    RuntimeError,  # of a flipped bit that says "encrypted", and RecursionError
    UnicodeDecodeError,
    EOFError,
    NotImplementedError,
    ValueError,
    OSError,  # an offset before the beginning of the file
)


def output_problem(path: str | os.PathLike[str]) -> str | None:
    """Say why ``path`` cannot become a file, so that no work is done in vain; None if it can.

    Examples
    --------
    >>> import tempfile
    >>> from leaven._files import output_problem
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     output_problem(f"{folder}/a.csv") is None
    True
    >>> output_problem("/no/such/folder/a.csv")
    'The output directory /no/such/folder does not exist. Create it first.'
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        return f"{os.fspath(path)} is a directory: the output must be a file."
    if not target.parent.is_dir():
        return f"The output directory {target.parent} does not exist. Create it first."
    if not os.access(target.parent, os.W_OK):
        return f"The output directory {target.parent} cannot be written to."
    return None


@contextlib.contextmanager
def atomic_output(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that appears under its name only when the block ends without an error.

    Written beside the target and renamed, after the bytes are on the disk. A symbolic link
    stays, and the file it points to is replaced. A new file gets the mode that the umask gives,
    an old one keeps its own. What an earlier run left when it was killed is removed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from leaven._files import atomic_output
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_output(pathlib.Path(folder) / "a.txt") as stream:
    ...         _ = stream.write(b"all")
    ...     [file.name for file in pathlib.Path(folder).iterdir()]
    ['a.txt']
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        # A device or a pipe, such as /dev/null: it cannot and must not be replaced.
        with open(target, "wb") as device:
            yield device
        return
    remove_stale_parts(target.parent)
    part, descriptor = _open_part(target.parent)
    # A second descriptor holds the lock until the part has its name; Windows has no such lock,
    # and cannot rename an open file.
    lock = None if sys.platform == "win32" else os.dup(descriptor)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, part)
        os.replace(part, target)
    except BaseException:  # An interrupt too leaves nothing behind.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise
    finally:
        if lock is not None:
            os.close(lock)
    _sync_directory(target.parent)


def remove_stale_parts(folder: Path) -> None:
    """Remove parts that no process is writing: those of runs that were killed.

    A writer holds a lock on its part, which ends with the process, however it ends.
    """
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX):
                with contextlib.suppress(OSError):
                    _remove_if_stale(entry.path)


def _remove_if_stale(part: str) -> None:
    if sys.platform == "win32":
        if time.time() - os.stat(part).st_mtime > _STALE_SECONDS:
            os.unlink(part)
        return
    descriptor = os.open(part, os.O_RDWR | os.O_NOFOLLOW)
    try:
        # Raises while a writer holds it, and on file systems without locks: both are left.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(part)
    finally:
        os.close(descriptor)


def _open_part(folder: Path) -> tuple[Path, int]:
    """Create a part and lock it."""
    while True:
        part = folder / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"
        # os.open, and not tempfile, whose files only their owner may read.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        descriptor = os.open(part, flags, 0o666)
        if sys.platform == "win32":
            return part, descriptor
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Another process may have taken the part for a stale one before it was locked.
        if part.exists():
            return part, descriptor
        os.close(descriptor)


def _sync_directory(folder: Path) -> None:
    """Bring the renaming to the disk, where directories can be synced (not on Windows)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
