"""The address of the page, with a random token: the same after a restart.

A page that is open while the server is started again goes on, and sends what it kept: it needs
the token and the port that it knows. Both are in files of the user's own that nobody else can
read, not in the event file, which others may share.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

_TOKENS, _PORTS = "annotate-tokens.json", "annotate-ports.json"
_BYTES = 24  # 192 bits
_MOST_KEPT = 200  # tables whose token is remembered


def token_of(table: str, folder: Path | None = None) -> str:
    """Return the token of a table, a new one if none was kept.

    Parameters
    ----------
    table : str
        The name of the event file's own, which never changes.
    folder : Path, optional
        Where tokens are kept.

    Returns
    -------
    token : str
    """
    kept = _read(_TOKENS, folder).get(table)
    token = kept if isinstance(kept, str) else secrets.token_urlsafe(_BYTES)
    if token != kept:
        _keep(_TOKENS, table, token, folder)
    return token


def port_of(served: str, folder: Path | None = None) -> int | None:
    """Return the port at which a table was served to a user last, or None."""
    port = _read(_PORTS, folder).get(served)
    return port if isinstance(port, int) and 0 < port < 65536 else None


def keep_port(served: str, port: int, folder: Path | None = None) -> None:
    """Remember the port of a table and its user."""
    if port_of(served, folder) != port:
        _keep(_PORTS, served, port, folder)


def state_folder() -> Path:
    """The folder of this user for such things."""
    for variable in ("XDG_STATE_HOME", "LOCALAPPDATA"):
        if os.environ.get(variable):
            return Path(os.environ[variable]) / "leaven"
    return Path.home() / ".local" / "state" / "leaven"


def _read(name: str, folder: Path | None) -> dict[str, Any]:
    # RuntimeError: in a container, a user without an account has no home either.
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        found = json.loads(((folder or state_folder()) / name).read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return found
    return {}


def _keep(name: str, table: str, value: Any, folder: Path | None) -> None:
    kept = {**_read(name, folder), table: value}
    # Without a place to keep it the value lasts as long as the server.
    with contextlib.suppress(OSError, RuntimeError):
        _write((folder or state_folder()) / name, dict(list(kept.items())[-_MOST_KEPT:]))


def _write(file: Path, kept: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = file.with_suffix(f".{secrets.token_hex(4)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(kept, stream)
    os.replace(temporary, file)
