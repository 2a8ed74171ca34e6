"""The learner in a process of its own: it never makes a key wait."""

from __future__ import annotations

import contextlib
import os
import pickle
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Listener, Pipe
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven.app._answers import Answers, HeldOut, Mind, Request
from leaven.app._evidence import Evidence, Things
from leaven.app._prepared import Prepared, neighbors, prepare, twins

_NICE = 10  # the page comes first when both want the processor
_LABELS_PER_TEST = 5  # new labels after which held-out labels are answered again
_GLANCE = 0.5  # seconds between two looks for a graph that became ready
_PATIENCE = 5.0  # seconds that the process has to end by itself


@dataclass(frozen=True, eq=False)
class Ready:
    """What the server needs to know of the prepared table."""

    cluster: NDArray[np.intp]
    distance: NDArray[np.float32]
    things: Things
    about_clusters: Evidence


@dataclass(frozen=True, eq=False)
class Twins:
    """The groups of near-duplicates, which are known once the graph is there."""

    groups: NDArray[np.int32]


@dataclass(frozen=True)
class Nothing:
    """There is nothing to learn from, or learning failed, for this reason."""

    reason: str


News = Ready | Twins | Answers | HeldOut | Nothing


@dataclass(frozen=True, eq=False)
class Subject:
    """What to learn from, and how.

    Parameters
    ----------
    table : DataFrame
        Without the target.
    texts : tuple of str
    method : str
    estimator, strategy : object, optional
    seed : int
    """

    table: pd.DataFrame
    texts: tuple[str, ...] = ()
    method: str = "auto"
    estimator: Any = None
    strategy: Any = None
    seed: int = 0


class Learner(Protocol):
    """Takes requests, gives news to a listener, whenever they are there."""

    def start(self, listener: Callable[[News], None]) -> None:
        """Begin to prepare the table."""
        ...

    def submit(self, request: Request) -> None:
        """Learn from these labels next; an older request that waits is forgotten."""
        ...

    def close(self) -> None:
        """End."""
        ...


class Work:
    """The steps of the learner, one after the other; it knows nothing of processes."""

    def __init__(self, subject: Subject, tell: Callable[[News], None]) -> None:
        self.subject = subject
        self.tell = tell
        self.mind: Mind | None = None
        self._tested_at = -_LABELS_PER_TEST
        self._new_graph: Any = None

    def prepare(self) -> Prepared | None:
        """Make the table ready and say so."""
        found = prepare(self.subject.table, self.subject.texts, self.subject.seed)
        if found is None:
            self.tell(Nothing("No column of this table can be learned from: no suggestions."))
            return None
        subject = self.subject
        self.mind = Mind(
            found,
            method=subject.method,
            estimator=subject.estimator,
            strategy=subject.strategy,
            seed=subject.seed,
        )
        things = replace(found.things, has=None)
        self.tell(Ready(found.cluster, found.distance, things, found.about_clusters))
        return found

    def find_neighbors(self, prepared: Prepared) -> None:
        """Build the graph; it is taken up by the next :meth:`learn`."""
        graph = neighbors(prepared)
        if graph is not None:
            self._new_graph = graph
            self.tell(Twins(twins(prepared, graph)))

    def learn(self, request: Request, interrupted: Callable[[], bool]) -> None:
        """Answer, and if labels came since the last test or nobody waits, test."""
        if self.mind is None or len(np.unique(request.codes[request.known])) < 2:
            return
        if self._new_graph is not None:
            self.mind.use_graph(self._new_graph)
            self._new_graph = None
        self.tell(self.mind.answer(request))
        n_labels = len(request.known)
        if abs(n_labels - self._tested_at) >= _LABELS_PER_TEST or not interrupted():
            if not interrupted():
                self.mind.consult(request)
            before = self.mind.temperature
            test = self.mind.test(request)
            self._tested_at = n_labels
            if test is not None:
                self.tell(test)
                if self.mind.temperature != before and not interrupted():
                    self.tell(self.mind.answer(request))

    @property
    def has_new_graph(self) -> bool:
        """Whether a graph waits to be taken up."""
        return self._new_graph is not None


class LocalLearner:
    """The learner in this thread: every request is answered before ``submit`` returns."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject

    def start(self, listener: Callable[[News], None]) -> None:
        """Prepare the table and its graph."""
        self._work = Work(self._subject, listener)
        prepared = self._work.prepare()
        if prepared is not None:
            self._work.find_neighbors(prepared)

    def submit(self, request: Request) -> None:
        """Learn and test now."""
        self._work.learn(request, lambda: False)

    def close(self) -> None:
        """Nothing is open."""


class ProcessLearner:
    """The learner in a second process, which gets what is left of the processor.

    A process of its own, and not one of :mod:`multiprocessing`: that would run the script of
    the user again, and does not work from a notebook. An estimator that cannot be sent there,
    such as one that a notebook defines, learns in a thread.
    """

    def __init__(self, subject: Subject) -> None:
        self._waiting: Request | None = None
        self._changed = threading.Condition()
        self._closed = False
        self._process: subprocess.Popen[bytes] | None = None
        self._subject = _as_bytes(subject)
        self._local = subject

    def _connect(self) -> Any:
        """Start the process, or the thread, and return the connection to it."""
        if self._subject is None:
            ours, theirs = Pipe()
            threading.Thread(target=_run, args=(theirs, self._local), daemon=True).start()
            return ours
        key = secrets.token_bytes(32)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        # Threads of BLAS would take the cores that the browser and the server need.
        environment.setdefault("OMP_NUM_THREADS", "1")
        environment.setdefault("OPENBLAS_NUM_THREADS", "1")
        with Listener(authkey=key) as door:
            self._process = subprocess.Popen(
                [sys.executable, "-c", "from leaven.app._learner import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
            assert self._process.stdin is not None
            # Not by an argument, which every user of the computer can read.
            with self._process.stdin as stream:
                stream.write(pickle.dumps((door.address, key)))
            connection = door.accept()
        connection.send_bytes(self._subject)
        return connection

    def start(self, listener: Callable[[News], None]) -> None:
        """Begin to listen to the process."""
        threading.Thread(target=self._listen, args=(listener,), daemon=True).start()

    def _listen(self, listener: Callable[[News], None]) -> None:
        with contextlib.suppress(EOFError, OSError, AuthenticationError):
            self._ours = self._connect()
            threading.Thread(target=self._send, daemon=True).start()
            while True:
                listener(self._ours.recv())
        if not self._closed:
            listener(Nothing("The learner ended: labels are saved, but suggestions grow old."))

    def _send(self) -> None:
        """Send the newest request: a pipe that is full makes this thread wait, and no key."""
        with contextlib.suppress(OSError):
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._waiting is not None or self._closed)
                    if self._closed:
                        self._ours.close()
                        return
                    request, self._waiting = self._waiting, None
                self._ours.send(request)

    def submit(self, request: Request) -> None:
        """Learn from these labels next."""
        with self._changed:
            self._waiting = request
            self._changed.notify()

    def close(self) -> None:
        """End the process."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_PATIENCE)


def _as_bytes(subject: Subject) -> bytes | None:
    """Pickle a subject, or return None if another process could not read it."""
    own = (subject.estimator, subject.strategy)
    if any(type(each).__module__ == "__main__" for each in own):
        return None
    try:
        return pickle.dumps(subject)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None


def main() -> None:
    """Run the second process: prepare, then serve the newest request, again and again."""
    # Ctrl-C goes to both processes; the server ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(_NICE)
    address, key = pickle.loads(sys.stdin.buffer.read())
    with contextlib.suppress(EOFError, OSError), Client(address, authkey=key) as connection:
        _run(connection, pickle.loads(connection.recv_bytes()))


def _run(connection: Any, subject: Subject) -> None:
    sending = threading.Lock()

    def tell(news: News) -> None:
        with sending:
            connection.send(news)

    with contextlib.suppress(EOFError, OSError):  # the server has ended
        try:
            work = Work(subject, tell)
            prepared = work.prepare()
            if prepared is not None:
                threading.Thread(target=work.find_neighbors, args=(prepared,), daemon=True).start()
                _serve(connection, work)
        except (EOFError, OSError):
            return
        except Exception as error:  # whatever an estimator raises: labeling goes on without it
            tell(Nothing(f"The learner stopped: {type(error).__name__}: {error}"))
        # Requests still come, and an end would be told in place of the reason.
        while True:
            connection.recv()


def _serve(connection: Any, work: Work) -> None:
    newest: Request | None = None
    while True:
        if connection.poll(_GLANCE):
            newest = _newest(connection)
            work.learn(newest, connection.poll)
        elif newest is not None and work.has_new_graph:
            # A graph that is ready is worth a fit, even if no label came.
            work.learn(newest, connection.poll)


def _newest(connection: Any) -> Request:
    request: Request = connection.recv()
    while connection.poll():
        request = connection.recv()
    return request
