"""Put a built documentation beside those of other versions: ``publish.py HTML SITE VERSION``.

SITE gets a folder per version (``dev`` for the main branch, ``0.2.0`` for a tag), ``versions.js``
with their names for the selector, and an ``index.html`` that leads to the newest release, or to
``dev`` before there is one.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

DEV = "dev"


def release_number(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", name))


def publish(html: Path, site: Path, version: str) -> list[str]:
    """Copy ``html`` into the site; return the versions there, newest first and ``dev`` last."""
    if not re.fullmatch(rf"{DEV}|\d+(\.\d+)*", version):
        raise ValueError(f"version must be {DEV!r} or numbers such as '0.2.0'. Got {version!r}.")
    site.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(site / version, ignore_errors=True)
    shutil.copytree(html, site / version, ignore=shutil.ignore_patterns(".doctrees", ".buildinfo"))
    folders = [path.name for path in site.iterdir() if (path / "index.html").is_file()]
    releases = sorted((name for name in folders if name != DEV), key=release_number, reverse=True)
    versions = releases + ([DEV] if DEV in folders else [])
    (site / "versions.js").write_text(
        f"window.LEAVEN_VERSIONS = {json.dumps(versions)};\n", encoding="utf-8"
    )
    (site / "index.html").write_text(
        f'<!doctype html><meta http-equiv="refresh" content="0; url={versions[0]}/index.html">\n'
        f'<a href="{versions[0]}/index.html">Documentation of leaven</a>\n',
        encoding="utf-8",
    )
    (site / ".nojekyll").touch()  # or folders that begin with an underscore are left out
    return versions


if __name__ == "__main__":
    print(*publish(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
