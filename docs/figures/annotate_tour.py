"""Make the screenshots of the labeling page for docs/guide/annotate.md.

    python docs/figures/annotate_tour.py

Needs the extras ``app`` and ``dev`` and Chromium (``LEAVEN_CHROMIUM``, or ``chromium`` on the
path). A person who is always right labels some support tickets, then pictures are taken.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from leaven.app import AnnotateOptions, LabelingPage, open_page
from leaven.app._learner import LocalLearner
from leaven.datasets import load_example

IMAGES = Path(__file__).parent.parent / "images"
N_RANDOM, N_USEFUL = 80, 6  # the first without a learner, which would refit after each of them
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
GUIDE = """# Topics

One topic per ticket: what the customer **wants us to do**.

- **billing**: money, invoices, refunds
- **bug**: something does not work as it should
- **feature**: a wish
- **login**: accounts and passwords
- **shipping**: where a parcel is, or what came with it

In doubt press `x`.
"""
STEPS: list[tuple[str, Sequence[str], int, int, str]] = [
    ("annotate_row", [], 1280, 800, "light"),
    ("annotate_cluster", ["c"], 1280, 800, "light"),
    ("annotate_search", ["/", "type:refund", "Enter"], 1280, 800, "dark"),
    ("annotate_guide", ["g"], 1280, 800, "light"),
    ("annotate_phone", [], 400, 800, "light"),
]
"""Name, keys, width, height and colors of each picture."""


def label_some(page: LabelingPage, truth: Sequence[str], order: str, n_labels: int) -> None:
    """Answer questions as the page asks them."""
    session = page.session
    for number in range(n_labels):
        question = session.questions(order, 1)[0]
        row = question["row"]
        action = {
            "key": f"{order}-{number:06d}",
            "kind": "label",
            "rows": [row],
            "label": truth[row],
        }
        session.record({**action, "why": question["why"]})


def take(
    browser: Browser, address: str, keys: Sequence[str], width: int, height: int, colors: str
) -> bytes:
    """Open the page, press keys, and take a picture."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if colors == "dark" else "light",
        has_touch=width < 500,
    )
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#suggestion b")
    for key in keys:
        if key.startswith("type:"):
            page.keyboard.type(key.removeprefix("type:"))
            page.wait_for_selector("#bulk-count")
        else:
            page.keyboard.press(key)
            page.wait_for_selector("#panel:not([hidden])")
    page.wait_for_timeout(400)  # bars grow for 150 milliseconds
    picture = page.screenshot()
    context.close()
    return picture


def main() -> None:
    """Write all pictures."""
    tickets = load_example("support_tickets", with_truth=True)
    truth = tickets["topic_true"].tolist()
    table = tickets.drop(columns="topic_true")
    chromium = os.environ.get("LEAVEN_CHROMIUM") or shutil.which("chromium")
    options = AnnotateOptions(
        text=("text",), guide=GUIDE, user="ann", port=0, title="support_tickets.csv"
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "l.db"
        with open_page(table, "topic", file, options, learner=None) as page:
            label_some(page, truth, "random", N_RANDOM)
        with open_page(table, "topic", file, options, learner=LocalLearner) as page:
            label_some(page, truth, "useful", N_USEFUL)
            browser = playwright.chromium.launch(executable_path=chromium, args=QUIET)
            for name, keys, width, height, colors in STEPS:
                picture = take(browser, page.address, keys, width, height, colors)
                (IMAGES / f"{name}.png").write_bytes(picture)
            browser.close()


if __name__ == "__main__":
    main()
