"""Small tables and sessions for the labeling page."""

from __future__ import annotations

import itertools
import os
import shutil
from contextlib import ExitStack

import numpy as np
import pandas as pd
import pytest

from leaven.app import AnnotateOptions, open_page
from leaven.app._events import EventStore
from leaven.app._learner import LocalLearner, Subject
from leaven.app._routes import Access, Site, handle
from leaven.app._session import Session
from leaven.app._sheet import Sheet

HOST = "127.0.0.1:8710"
TOKEN = "the-token-of-the-tests"
CLASSES = ("apple", "cherry")
CHROMIUM = os.environ.get("LEAVEN_CHROMIUM") or shutil.which("chromium")
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
]
PATIENCE = 60_000  # milliseconds: a busy machine is slow, and not wrong


@pytest.fixture(autouse=True)
def own_state(monkeypatch, tmp_path):
    """Keep tokens of tests out of the home of whoever runs them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def fruit():
    """Forty short texts of two kinds, and a number that goes with them."""
    rng = np.random.default_rng(7)
    words = {
        "apple": ["orchard", "crisp", "pips", "cider", "green"],
        "cherry": ["stone", "sour", "blossom", "red", "kirsch"],
    }
    rows = []
    for i in range(40):
        kind = "apple" if i % 2 else "cherry"
        chosen = rng.choice(words[kind], 3, replace=False)
        weight = (150 if kind == "apple" else 5) + round(float(rng.normal()), 2)
        rows.append({"text": f"note {i}: {' '.join(chosen)}", "grams": weight, "kind": ""})
    return pd.DataFrame(rows)


@pytest.fixture(autouse=True)
def _closed_event_files(monkeypatch):
    """Close what a test opened: since Python 3.13 a forgotten connection is a warning."""
    opened, begin = [], EventStore.__init__

    def remember(self, path):
        begin(self, path)
        opened.append(self)

    monkeypatch.setattr(EventStore, "__init__", remember)
    yield
    for store in opened:
        store.close()


@pytest.fixture
def open_session(tmp_path):
    """Open sessions on one event file; they are closed at the end."""
    opened = []

    def open_(table, target="kind", *, name="t.labels.db", user="ann", learner=False, **options):
        store = EventStore(tmp_path / name)
        content = store.fact("columns")
        sheet = Sheet(table, target, text=["text"] if "text" in table else [], content=content)
        made = LocalLearner(Subject(sheet.features, texts=sheet.texts)) if learner else None
        session = Session(sheet, store, user, learner=made, **options)
        opened.append(session)
        return session

    yield open_
    for session in opened:
        session.close()


_keys = itertools.count()


def press(session, kind, row=None, label=None, **more):
    """Record one action as the page would."""
    action = {"key": f"key-{next(_keys):08d}", "kind": kind, **more}
    if row is not None:
        action["rows"] = row if isinstance(row, list) else [row]
    if label is not None:
        action["label"] = label
    return session.record(action)


@pytest.fixture
def ask():
    """Send a request to the routes without a socket."""

    def ask_(session, method, path, body=b"", headers=None, **site):
        if isinstance(session, Site):
            served = session
        else:
            served = Site(session, Access(TOKEN, frozenset({HOST})), "t.csv", **site)
        sent = {"host": HOST, "x-leaven-token": TOKEN, **(headers or {})}
        return handle(method, path, {k: v for k, v in sent.items() if v is not None}, body, served)

    return ask_


@pytest.fixture(scope="module")
def browser():
    """A real browser; tests that need one are skipped where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if not CHROMIUM:
        pytest.skip("needs Chromium: install it, or name it in LEAVEN_CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Open pages in windows of their own; what they say on the console is kept."""
    contexts = []

    def visit_(address, **options):
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.said = []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto(address)
        page.wait_for_selector("#number:not(:empty)")
        return page

    yield visit_
    for context in contexts:
        context.close()


@pytest.fixture
def serve(tmp_path):
    """Serve a table in this process; the session can be looked into."""
    with ExitStack() as stack:

        def serve_(table, *, learner=None, **options):
            text = ("text",) if "text" in table else ()
            settings = AnnotateOptions(**{"classes": CLASSES, "port": 0, "text": text, **options})
            file = tmp_path / "l.db"
            return stack.enter_context(open_page(table, "kind", file, settings, learner=learner))

        yield serve_


@pytest.fixture
def many():
    """Four hundred rows that differ by a number."""
    return pd.DataFrame({"text": [f"row number {i}" for i in range(400)], "kind": ""})
