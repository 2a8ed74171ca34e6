"""The token in the address of the page: random, and the same after a restart.

A page that is open while the server is started again goes on, and sends what it kept. The
tokens are in a file of the user's own that nobody else can read, not in the event file, which
others may share.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from pathlib import Path

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
    file = (state_folder() if folder is None else folder) / "annotate-tokens.json"
    kept: dict[str, str] = {}
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(file.read_text(encoding="utf-8"))
        kept = {str(name): str(token) for name, token in found.items()}
    if table not in kept:
        kept[table] = secrets.token_urlsafe(_BYTES)
        # Without a place to keep it the token lasts as long as the server.
        with contextlib.suppress(OSError):
            _write(file, dict(list(kept.items())[-_MOST_KEPT:]))
    return kept[table]


def state_folder() -> Path:
    """The folder of this user for such things."""
    for variable in ("XDG_STATE_HOME", "LOCALAPPDATA"):
        if os.environ.get(variable):
            return Path(os.environ[variable]) / "leaven"
    return Path.home() / ".local" / "state" / "leaven"


def _write(file: Path, kept: dict[str, str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = file.with_suffix(f".{secrets.token_hex(4)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(kept, stream)
    os.replace(temporary, file)
