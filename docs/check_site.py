"""Follow every internal link of the built pages, and weigh the landing page.

``python docs/check_site.py docs/_build/html`` is the last step of ``make docs``. It fails on a link
to a file or an anchor that does not exist, on a script or style sheet from another server, and on a
landing page of more than 500 kB with all that it loads.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

MOST_BYTES = 500_000
"""Of the landing page and what it loads: a second on a slow connection of 4 Mbit/s."""


class Page(HTMLParser):
    """Links, anchors and what the browser loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and "stylesheet" in given.get("rel", ""):
            self.loaded.append(given.get("href", ""))
        if tag in {"script", "img", "source", "iframe", "object"}:
            self.loaded += [given[key] for key in ("src", "data") if given.get(key)]


@cache
def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def is_external(address: str) -> bool:
    return bool(urlsplit(address).scheme or urlsplit(address).netloc)


def target_of(page: Path, address: str) -> Path:
    place = (page.parent / unquote(urlsplit(address).path)).resolve()
    if not urlsplit(address).path:
        return page
    return place / "index.html" if place.is_dir() else place


def problems(site: Path) -> Iterator[str]:
    """Yield a line for every internal link that leads nowhere, and for what is loaded from afar."""
    for path in sorted(site.resolve().rglob("*.html")):
        name = path.relative_to(site.resolve())
        page = read(path)
        for address in page.links + page.loaded:
            if is_external(address):
                if address in page.loaded and not address.startswith("data:"):
                    yield f"{name} loads {address} from another server"
                continue
            target, anchor = target_of(path, address), unquote(urlsplit(address).fragment)
            if not target.exists():
                yield f"{name}: no file for {address}"
            elif anchor and target.suffix == ".html" and anchor not in read(target).anchors:
                yield f"{name}: no anchor for {address}"


def weight(path: Path) -> int:
    """Bytes of a page, of what it loads, and of what its style sheets load; not compressed."""
    seen = {path.resolve()}
    for address in read(path.resolve()).loaded:
        if not is_external(address):
            seen.add(target_of(path.resolve(), address))
    for sheet in [each for each in seen if each.suffix == ".css"]:
        for address in re.findall(r"url\(['\"]?([^'\")]+)", sheet.read_text(encoding="utf-8")):
            if not is_external(address) and (sheet.parent / address).is_file():
                seen.add((sheet.parent / address).resolve())
    return sum(each.stat().st_size for each in seen)


def main(site: Path) -> int:
    found = sorted(set(problems(site)))
    for line in found:
        print(line)
    pages = sum(1 for _ in site.rglob("*.html"))
    size = weight(site / "index.html")
    print(f"{pages} pages, {len(found)} problems, landing page {size / 1000:.0f} kB")
    return int(bool(found) or size > MOST_BYTES)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
