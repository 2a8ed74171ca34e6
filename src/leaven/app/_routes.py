"""Requests in, responses out: every address of the page, without a socket."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from leaven.app._actions import ConflictError
from leaven.app._events import CannotSaveError
from leaven.app._export import as_csv, labeled_table
from leaven.app._images import image_file
from leaven.app._orders import ORDERS
from leaven.app._session import Session
from leaven.tables import TableError

MOST_BYTES = 4_000_000
"""Of one request: the numbers of 500,000 rows to be labeled with one key."""

MOST_QUESTIONS = 50  # rows per request: seconds of typing, after which the order is stale
_MOST_ACTIONS = 100  # of one request; the page sends the others after them
_MOST_QUERY = 1_000  # characters of a search
_FILES = {
    "page.html": "text/html; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "net.js": "text/javascript; charset=utf-8",
    "view.js": "text/javascript; charset=utf-8",
    "strip.js": "text/javascript; charset=utf-8",
    "markdown.js": "text/javascript; charset=utf-8",
    "panels.js": "text/javascript; charset=utf-8",
    "boxes.js": "text/javascript; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "keys.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
HEADERS = {
    # The browser itself refuses scripts, styles and requests of any other origin.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


@dataclass(frozen=True)
class Content:
    """A response that is not JSON."""

    data: bytes
    media_type: str
    file_name: str | None = None


@dataclass(frozen=True)
class Access:
    """Who is let in.

    Parameters
    ----------
    token : str
        Part of the address of the page; every request carries it.
    hosts : frozenset of str
        What the header ``Host`` may say; a page of another name that points to this computer
        (DNS rebinding) is refused.
    any_address : int, optional
        A port at which every address in numbers is answered too, for a server that listens on
        all of them. DNS rebinding needs a name.
    """

    token: str
    hosts: frozenset[str]
    any_address: int | None = None

    def knows(self, host: str) -> bool:
        """Whether a host with its port is this server.

        Examples
        --------
        >>> from leaven.app._routes import Access
        >>> access = Access("token", frozenset({"localhost:80"}), any_address=80)
        >>> [access.knows(host) for host in ("192.0.2.7:80", "[2001:db8::1]:80", "evil.example:80")]
        [True, True, False]
        """
        if host in self.hosts:
            return True
        address, _, port = host.rpartition(":")
        if self.any_address is None or port != str(self.any_address):
            return False
        try:
            ip_address(address.strip("[]"))
        except ValueError:
            return False
        return True


@dataclass
class Site:
    """What the routes serve.

    Parameters
    ----------
    session : Session
    access : Access
    title : str
        The name of the table.
    images : Path, optional
        The folder of the images.
    """

    session: Session
    access: Access
    title: str
    images: Path | None = None
    on_load: Callable[[], None] = lambda: None
    on_seen: Callable[[str, bool], None] = lambda window, open_: None
    on_done: Callable[[], None] = lambda: None


Query = dict[str, str]
Answer = tuple[int, dict[str, Any] | Content]


def handle(method: str, path: str, headers: Mapping[str, str], body: bytes, site: Site) -> Answer:
    """Answer one request.

    Parameters
    ----------
    method : str
    path : str
        With its query.
    headers : mapping of str to str
        Names in lower case.
    body : bytes
    site : Site

    Returns
    -------
    status : int
    payload : dict or Content
        Of an error always ``{"ok": False, "error": "..."}``.
    """
    try:
        parts = urlsplit(path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    except ValueError:
        return 400, _error("The address is not understood.")
    refused = _refused(method, parts.path, headers, query, site.access)
    if refused is not None:
        return 403, _error(refused)
    if len(body) > MOST_BYTES:
        return 413, _error(f"A request may have {MOST_BYTES:,} bytes, this one has {len(body):,}.")
    if parts.path.startswith("/static/"):
        return _static(method, parts.path.removeprefix("/static/"), site)
    view = ROUTES.get((method, parts.path))
    if view is None:
        return 404, _error(f"No page at {method} {parts.path[:100]}.")
    try:
        site.session.sync()
        found = view(site, query, _json(body) if method == "POST" else {})
    except ConflictError as error:
        return 409, _error(str(error))
    except (ValueError, TableError) as error:
        return 400, _error(str(error))
    except CannotSaveError as error:
        return 507, _error(str(error))
    return 200, found if isinstance(found, Content) else {"ok": True, **found}


def _error(message: str) -> dict[str, Any]:
    return {"ok": False, "error": message}


def _refused(
    method: str, path: str, headers: Mapping[str, str], query: Query, access: Access
) -> str | None:
    """Say why a request is not answered, or None."""
    if not access.knows(headers.get("host", "")):
        return "Unknown host."
    token = headers.get("x-leaven-token") or query.get("token", "")
    if not hmac.compare_digest(token.encode(), access.token.encode()):
        return "The address lacks its token: use the one that leaven printed."
    site = headers.get("sec-fetch-site")
    # A link from anywhere may open the page; nothing else may come from another site.
    is_link = method == "GET" and path == "/"
    if site is not None:
        return None if site in ("same-origin", "none") or is_link else "Cross-site request refused."
    origin = headers.get("origin")
    if origin is not None and not access.knows(urlsplit(origin).netloc) and not is_link:
        return "Cross-site request refused."
    return None


def _json(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise ValueError("The body is not JSON.") from None
    if not isinstance(found, dict):
        raise ValueError("The body must be a JSON object.")
    return found


def _static(method: str, name: str, site: Site) -> Answer:
    if method != "GET" or name not in _FILES:
        return 404, _error(f"No file {name[:100]!r}.")
    return 200, _file(name, site)


def _file(name: str, site: Site) -> Content:
    data = (files("leaven.app") / "static" / name).read_bytes()
    if name == "page.html":
        data = data.replace(b"{{token}}", site.access.token.encode())
    return Content(data, _FILES[name])


def _page(site: Site, query: Query, body: dict[str, Any]) -> Content:
    site.on_load()
    return _file("page.html", site)


def _start(site: Site, query: Query, body: dict[str, Any]) -> dict[str, Any]:
    session = site.session
    if query.get("window"):
        site.on_seen(query["window"][:64], True)
    return {
        "title": site.title,
        "table": session.seed,
        "target": str(session.sheet.target),
        "user": session.user,
        "n_rows": len(session.sheet),
        "n_columns": len(session.sheet.columns),
        "texts": list(session.sheet.reading),
        "images": session.sheet.images,
        "orders": ORDERS,
        "guide": session.guide,
        "changes": session.changed_rows(),
        "progress": session.progress(),
    }


def _questions(site: Site, query: Query, body: dict[str, Any]) -> dict[str, Any]:
    n_rows = _number(query.get("n", "20"), "n", 1, MOST_QUESTIONS)
    last = len(site.session.sheet) - 1
    have = [_number(part, "have", 0, last) for part in query.get("have", "").split(",") if part]
    order, words = query.get("order", "useful"), query.get("q", "")[:_MOST_QUERY]
    return {"questions": site.session.questions(order, n_rows, have, words)}


def _actions(site: Site, query: Query, body: dict[str, Any]) -> dict[str, Any]:
    """Write actions one after the other; each has an answer of its own."""
    actions = body.get("actions")
    if not isinstance(actions, list) or not 0 < len(actions) <= _MOST_ACTIONS:
        raise ValueError(f"actions must be a list of 1 to {_MOST_ACTIONS} actions.")
    results: list[dict[str, Any]] = []
    for action in actions:
        if not isinstance(action, dict):
            raise ValueError("An action must be a JSON object.")
        try:
            results.append({"ok": True, **site.session.record(action)})
        except ConflictError as error:
            results.append({"ok": False, "status": 409, "error": str(error)})
        except ValueError as error:
            results.append({"ok": False, "status": 400, "error": str(error)})
    return {"results": results, "progress": site.session.progress()}


def _row(site: Site, query: Query, body: dict[str, Any]) -> dict[str, Any]:
    return {"found": site.session.row(_row_number(site, query), full=True)}


def _row_number(site: Site, query: Query) -> int:
    return _number(query.get("row", ""), "row", 0, len(site.session.sheet) - 1)


def _search(site: Site, query: Query, body: dict[str, Any]) -> dict[str, Any]:
    return site.session.search(query.get("q", "")[:_MOST_QUERY])


def _near(site: Site, query: Query, body: dict[str, Any]) -> dict[str, Any]:
    return site.session.near(_row_number(site, query))


def _cluster(site: Site, query: Query, body: dict[str, Any]) -> dict[str, Any]:
    number = query.get("cluster")
    wanted = None if number is None else _number(number, "cluster", 0, 1_000_000)
    return site.session.cluster(wanted)


def _history(site: Site, query: Query, body: dict[str, Any]) -> dict[str, Any]:
    before = query.get("before")
    last = None if before is None else _number(before, "before", 0, 2**53)
    return {"steps": site.session.history(last)}


def _progress(site: Site, query: Query, body: dict[str, Any]) -> dict[str, Any]:
    site.on_seen(query.get("window", "")[:64], True)
    return {"progress": site.session.progress()}


def _disagreements(site: Site, query: Query, body: dict[str, Any]) -> dict[str, Any]:
    return {"rows": site.session.disagreements()}


def _image(site: Site, query: Query, body: dict[str, Any]) -> Content:
    sheet = site.session.sheet
    if sheet.images is None or site.images is None:
        raise ValueError("This table has no column of images.")
    cell = sheet.column(sheet.images)[_row_number(site, query)]
    path, kind = image_file(cell, site.images)
    return Content(path.read_bytes(), kind)


def _export(site: Site, query: Query, body: dict[str, Any]) -> Content:
    name = Path(site.title).stem or "table"
    data = as_csv(labeled_table(site.session))
    return Content(data, "text/csv; charset=utf-8", f"{name}.labeled.csv")


def _leave(site: Site, query: Query, body: dict[str, Any]) -> dict[str, Any]:
    """A window was closed, or reloaded: then it comes back at once."""
    window = body.get("window")
    site.on_seen(window[:64] if isinstance(window, str) else "", False)
    return {}


def _done(site: Site, query: Query, body: dict[str, Any]) -> dict[str, Any]:
    site.on_done()
    return {}


def _number(text: str, name: str, low: int, high: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = low - 1
    if not low <= number <= high:
        raise ValueError(f"{name} must be a number from {low} to {high}, got {text[:40]!r}.")
    return number


ROUTES: dict[tuple[str, str], Callable[[Site, Query, dict[str, Any]], Any]] = {
    ("GET", "/"): _page,
    ("GET", "/api/start"): _start,
    ("GET", "/api/questions"): _questions,
    ("POST", "/api/actions"): _actions,
    ("GET", "/api/row"): _row,
    ("GET", "/api/search"): _search,
    ("GET", "/api/near"): _near,
    ("GET", "/api/cluster"): _cluster,
    ("GET", "/api/history"): _history,
    ("GET", "/api/progress"): _progress,
    ("GET", "/api/disagreements"): _disagreements,
    ("GET", "/api/image"): _image,
    ("GET", "/api/export"): _export,
    ("POST", "/api/leave"): _leave,
    ("POST", "/api/done"): _done,
}
