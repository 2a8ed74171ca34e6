"""The server: it moves bytes between sockets and :func:`~leaven.app._routes.handle`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from leaven._optional import import_optional
from leaven.app._routes import HEADERS, MOST_BYTES, Content, Site, handle
from leaven.tables import TableError

_PORTS = 100  # ports that are tried, from the wanted one upward
_GRACE = 3.0  # seconds in which a closed window may come back: then it was reloaded
_UNDER_WAY = 0.5  # seconds in which a poll that was sent before may follow the word of closing
_LOADING = 60.0  # seconds in which a page that was asked for may begin to speak
_SILENCE = 1800.0  # seconds without a word of any window: a crash; hidden ones speak each minute
_HINT = "leaven annotate"


def free_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens at a port, or at the next one that is free.

    Parameters
    ----------
    host : str
    port : int
        0 takes any.

    Raises
    ------
    TableError
        If none of 100 ports is free, or the host is none of this computer.
    """
    for number in range(port, min(port + _PORTS, 65536)) if port else [0]:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # With the protocol named asyncio switches off Nagle's algorithm: without it an answer
        # in two packets waits 40 ms for an acknowledgment.
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        # A server that ended a moment ago leaves its port in TIME_WAIT; it is free for us.
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, number))
            found.listen()
            return found
        except OSError as error:
            found.close()
            if isinstance(error, socket.gaierror) or error.errno == 99:
                raise TableError(f"This computer has no address {host!r}: {error}.") from error
    raise TableError(f"The ports {port} to {port + _PORTS - 1} are all in use.")


def own_address() -> str:
    """The address of this computer in its network, or that of this computer alone."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Sends nothing: the system only chooses the address that it would send from.
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def application(site: Site) -> Any:
    """Return the ASGI application of a site."""
    applications = import_optional("starlette.applications", extra="app", needed_by=_HINT)
    responses = import_optional("starlette.responses", extra="app", needed_by=_HINT)
    routing = import_optional("starlette.routing", extra="app", needed_by=_HINT)
    concurrency = import_optional("starlette.concurrency", extra="app", needed_by=_HINT)

    async def answer(request: Any) -> Any:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                break  # handle refuses it; the rest is not read
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        headers = {name.lower(): value for name, value in request.headers.items()}
        # In a thread: a search or an fsync must not hold up other requests.
        status, payload = await concurrency.run_in_threadpool(
            handle, request.method, path, headers, bytes(body), site
        )
        extra = dict(HEADERS)
        if isinstance(payload, Content):
            if payload.file_name is not None:
                name = quote(payload.file_name)
                extra["content-disposition"] = f"attachment; filename*=UTF-8''{name}"
            return responses.Response(
                payload.data, status, headers=extra, media_type=payload.media_type
            )
        data = json.dumps(payload, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        return responses.Response(data, status, headers=extra, media_type="application/json")

    methods = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"]
    return applications.Starlette(routes=[routing.Route("/{path:path}", answer, methods=methods)])


class Windows:
    """Which windows of the page are open: told by their polls, and by a word when they close."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, float] = {}
        self._left: dict[str, float] = {}
        self._loading: float | None = None
        self.done = threading.Event()

    def loads(self) -> None:
        """Note that the page was asked for: a window opens, or one that left is reloaded."""
        with self._lock:
            self._loading = time.monotonic()

    def saw(self, window: str, is_open: bool) -> None:
        """Note that a window spoke, or closed."""
        with self._lock:
            now = time.monotonic()
            if is_open:
                closed = now - self._left.get(window, -math.inf)
                if closed < _UNDER_WAY and self._loading is None:
                    return  # the window did not come back: on a busy machine they overtake
                self._loading = None
                self._seen[window] = now
                self._left.pop(window, None)
            elif window in self._seen:
                self._left[window] = now

    def all_closed(self) -> bool:
        """Whether there was a window and none is left."""
        with self._lock:
            now = time.monotonic()
            if not self._seen:
                return False
            if self._loading is not None and now - self._loading < _LOADING:
                return False
            return all(
                now - self._left.get(window, now) > _GRACE or now - seen > _SILENCE
                for window, seen in self._seen.items()
            )


class Server:
    """A running server.

    Parameters
    ----------
    site : Site
    sock : socket
        From :func:`free_socket`.
    """

    def __init__(self, site: Site, sock: socket.socket) -> None:
        uvicorn = import_optional("uvicorn", extra="app", needed_by=_HINT)
        self._sock = sock
        config = uvicorn.Config(
            application(site),
            log_level="critical",
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Serve until :meth:`stop`; outside the main thread, signals are left alone."""
        asyncio.run(self._server.serve(sockets=[self._sock]))

    @contextlib.contextmanager
    def in_thread(self) -> Iterator[None]:
        """Serve in a thread while the block runs."""
        thread = threading.Thread(target=self.run, daemon=True)
        thread.start()
        while not self._server.started and thread.is_alive():
            time.sleep(0.005)
        try:
            yield
        finally:
            self.stop()
            thread.join(10.0)

    def stop(self) -> None:
        """End the server: what it is answering is answered first."""
        self._server.should_exit = True
