"""Serve pages for tests with sockets, browsers and kills."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from leaven.app import AnnotateOptions, open_page


class Client:
    """Requests to a page that is served somewhere."""

    address = ""

    @property
    def port(self) -> int:
        return int(self.address.split(":")[2].partition("/")[0])

    @property
    def token(self) -> str:
        return self.address.partition("token=")[2]

    def ask(self, path: str, body: object = None) -> dict:
        data = None if body is None else json.dumps(body).encode()
        headers = {"X-Leaven-Token": self.token}
        url = f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(url, data=data, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())


class Command(Client):
    """``leaven annotate`` in a process of its own, as a user starts it."""

    def __init__(self, file: Path, *options: str) -> None:
        arguments = [str(file), "--target", "kind", "--no-browser", "--port", "0", *options]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "leaven.cli", "annotate", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise AssertionError(self.process.communicate()[1])

    def end(self) -> tuple[int, str]:
        """End it politely; return its code and what it said."""
        self.process.terminate()
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said


class Forked(Client):
    """A page without a learner in a forked process: it starts at once and can be killed."""

    def __init__(self, table, labels: Path, **options) -> None:
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(table, labels, options, theirs))
        self.process.start()
        theirs.close()
        self.address = ours.recv()
        ours.close()

    def kill(self) -> None:
        """End it as a power cut would."""
        if self.process.is_alive():
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()


def _serve(table, labels, options, connection) -> None:
    room = options.pop("room", None)
    settings = AnnotateOptions(**{"port": 0, **options})
    with open_page(table, "kind", labels, settings, learner=None) as page:
        if room is not None:
            limit_files(labels, room)
        connection.send(page.address)
        with contextlib.suppress(KeyboardInterrupt):
            page.wait()


def limit_files(labels: Path, room: int) -> None:
    """Let this process write so many bytes more, as if the disk were full then."""
    import resource

    size = os.path.getsize(f"{labels}-wal")
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, resource.RLIM_INFINITY))


def wait_for(condition, seconds: float = 60.0):
    """Wait until something is true; slow machines need patience, not a fixed pause."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def until(page, condition):
    """Wait for a condition; not by wait_for_function, whose eval the policy of the page forbids."""
    wait_for(lambda: page.evaluate(condition))


def wait_until_saved(page):
    """Wait until the page says so, with nothing left to send."""
    until(page, "outbox.state === 'saved' && !outbox.waiting.length")


__all__ = ["Client", "Command", "Forked", "until", "urllib", "wait_for", "wait_until_saved"]
