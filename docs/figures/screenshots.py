"""Look at the built site as a reader does, after ``make docs``.

``python docs/figures/screenshots.py`` writes docs/images/site/NAME_WIDTH.jpg, 1280 and 400 pixels
wide, opened from the disk without a server, two of them also dark. It fails if any page of the site
is wider than a phone, if the search finds nothing offline, or if dark mode stays bright. Needs
Playwright and a Chromium (``LEAVEN_CHROMIUM``, or ``chromium`` on the path).
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).parents[1]
SITE = DOCS / "_build" / "html"
IMAGES = DOCS / "images" / "site"
PAGES = {
    "landing": "index.html",
    "map": "guide/choose.html",
    "guide": "guide/harmonic.html",
    "reference": "api/generated/index.html",
    "notebook": "notebooks/generated/label_a_table.html",
}
WIDTHS = {1280: 900, 400: 800}


def shoot(page: Page, name: str, path: str, width: int) -> list[str]:
    page.set_viewport_size({"width": width, "height": WIDTHS[width]})
    page.goto((SITE / path).as_uri())
    page.wait_for_timeout(200)
    page.screenshot(path=IMAGES / f"{name}_{width}.jpg", type="jpeg", quality=70)
    wide = page.evaluate("document.documentElement.scrollWidth")
    return [f"{path} is {wide} pixels wide on a screen of {width}"] if wide > width else []


def too_wide(page: Page) -> list[str]:
    """Every page of the site on a phone: what is wide has to scroll by itself."""
    width = min(WIDTHS)
    page.set_viewport_size({"width": width, "height": WIDTHS[width]})
    found = []
    for path in sorted(SITE.rglob("*.html")):
        page.goto(path.as_uri(), wait_until="domcontentloaded")
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            found.append(f"{path.relative_to(SITE)} is {wide} pixels wide on a screen of {width}")
    return found


def main() -> int:
    IMAGES.mkdir(parents=True, exist_ok=True)
    chromium = os.environ.get("LEAVEN_CHROMIUM") or shutil.which("chromium")
    problems = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for name, path in PAGES.items():
            for width in WIDTHS:
                problems += shoot(page, name, path, width)
        problems += too_wide(page)
        page.goto((SITE / "search.html").as_uri() + "?q=harmonic")
        page.wait_for_selector("#search-results li", timeout=20_000)
        print("offline search:", page.locator("#search-results li").count(), "pages found")
        dark = browser.new_page(color_scheme="dark")
        for name in ("landing", "map"):
            for width in WIDTHS:
                problems += shoot(dark, f"{name}_dark", PAGES[name], width)
        ground = dark.evaluate("getComputedStyle(document.body).backgroundColor")
        red = int(ground.split("(")[1].split(",")[0])
        if red > 60:
            problems.append(f"dark mode has the ground {ground}")
        far = sorted({url for url in asked if not url.startswith(("file:", "data:"))})
        problems += [f"loads {url}" for url in far]
        browser.close()
    for problem in problems:
        print(problem)
    print(f"{len(list(IMAGES.glob('*.jpg')))} pictures in {IMAGES}, {len(problems)} problems")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
