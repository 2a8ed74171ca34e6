"""``leaven.annotate``: open the labeling page on a table."""

from __future__ import annotations

import contextlib
import getpass
import os
import socket
import webbrowser
from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from leaven.app._events import EventStore
from leaven.app._export import labeled_table
from leaven.app._learner import ProcessLearner, Subject
from leaven.app._models import AUTO
from leaven.app._routes import Access, Site
from leaven.app._server import Server, Windows, free_socket, own_address
from leaven.app._session import Session
from leaven.app._sheet import Sheet
from leaven.app._token import keep_port, port_of, token_of
from leaven.selection import candidate_names
from leaven.tables import TableError, as_pandas

LOCAL = "127.0.0.1"
EVERYWHERE = ("0.0.0.0", "::")  # listens to every network
PORT = 8710  # registered for nothing (IANA, 2024)
_GLANCE = 0.25  # seconds between two looks whether the page was closed


@dataclass(frozen=True)
class AnnotateOptions:
    """How the page is opened: the arguments of :func:`annotate`, checked and made simple.

    Parameters
    ----------
    text, first, classes : tuple of str, default=()
        Columns of texts, columns to show first, and classes to offer from the start.
    images, image_folder : str, optional
        The column with paths of images, and where these start.
    guide : str, default=""
    user : str, optional
    method : str or classifier, default="auto"
    strategy : query strategy, optional
    host : str, default="127.0.0.1"
    port : int, default=8710
    seed : int, default=0
    title : str, default="table"
        Shown at the top of the page.
    """

    text: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    images: str | None = None
    image_folder: str | None = None
    guide: str = ""
    user: str | None = None
    method: Any = "auto"
    strategy: Any = None
    host: str = LOCAL
    port: int = PORT
    seed: int = 0
    title: str = "table"


def annotate(
    table: pd.DataFrame,
    target: Hashable,
    *,
    text: Hashable | Collection[Hashable] | None = None,
    columns: Collection[str] = (),
    classes: Collection[str] = (),
    images: str | None = None,
    image_folder: str | Path | None = None,
    labels: str | Path | None = None,
    guide: str = "",
    user: str | None = None,
    method: Any = "auto",
    strategy: Any = None,
    host: str = LOCAL,
    port: int = PORT,
    browser: bool = True,
    random_state: int = 0,
) -> pd.DataFrame:
    """Label rows of a table on a page in the browser.

    Returns when the page is closed, or its button "Done" is pressed; also from a notebook. Every
    label is on the disk before the page says so: call it again with the same table and event
    file to go on.

    Parameters
    ----------
    table : DataFrame
        It is not changed. Rows with a label in the target keep it unless you change it.
    target : column name
        Where the labels go; a column that is missing is added.
    text : column name or collection of them, optional
        Columns that are texts whatever they look like, shown first.
    columns : collection of str, default=()
        Columns to show before the others.
    classes : collection of str, default=()
        Classes to offer from the start; others can be added on the page.
    images : str, optional
        A column with paths of images, which are shown.
    image_folder : str or Path, optional
        Where these paths start, by default the current directory. No file outside is read.
    labels : str or Path, optional
        The event file, by default ``TARGET.labels.db`` in the current directory.
    guide : str, default=""
        Guidelines, shown beside the rows.
    user : str, optional
        Who is labeling, by default the name of the account.
    method : str or classifier, default="auto"
        What makes the suggestions: ``"auto"``, which tests several on labels that they do not
        know, a candidate of :func:`leaven.label` by name, or any classifier of scikit-learn or
        leaven.
    strategy : query strategy, optional
        Of :mod:`leaven.active`; chooses the questions of the order "most useful next".
    host : str, default="127.0.0.1"
        Any other address lets others in who know the token.
    port : int, default=8710
        The next one that is free is taken.
    browser : bool, default=True
        Whether to open the browser; the address is printed in any case.
    random_state : int, default=0

    Returns
    -------
    labeled : DataFrame
        The table with its labels, and ``TARGET_predicted``, ``TARGET_confidence``,
        ``TARGET_source`` (``"given"``, ``"hand"``, ``"bulk"`` or ``"inferred"``),
        ``TARGET_review``, ``TARGET_by`` and ``TARGET_at``.

    See Also
    --------
    leaven.label : Label the other rows without a page.

    Examples
    --------
    >>> import leaven
    >>> from leaven.datasets import load_example
    >>> tickets = load_example("support_tickets")
    >>> labeled = leaven.annotate(tickets, target="topic", text="text")  # doctest: +SKIP
    """
    table = as_pandas(table)
    if text is None:
        texts: list[Any] = []
    elif isinstance(text, (list, tuple, set, frozenset)):
        texts = list(text)
    else:
        texts = [text]
    options = AnnotateOptions(
        text=tuple(map(str, texts)),
        first=tuple(columns),
        classes=tuple(classes),
        images=images,
        image_folder=None if image_folder is None else str(image_folder),
        guide=guide,
        user=user,
        method=method,
        strategy=strategy,
        host=host,
        port=port,
        seed=random_state,
        title=str(target),
    )
    path = Path(f"{target}.labels.db") if labels is None else Path(labels)
    with open_page(table, target, path, options) as page:
        # A notebook shows it as a link; nothing is printed by a library otherwise.
        print(f"Label at {page.address}", flush=True)  # noqa: T201
        if page.elsewhere is not None:
            print(f"From other computers {page.elsewhere}", flush=True)  # noqa: T201
        if browser:
            webbrowser.open(page.address)
        page.wait_until_closed()
        return page.result()


@dataclass(frozen=True)
class LabelingPage:
    """A labeling page that is being served; made by :func:`open_page`.

    Parameters
    ----------
    address : str
        With the token.
    session : Session
    windows : Windows
    elsewhere : str, optional
        The address for other computers, where the page listens to every network.
    """

    address: str
    session: Session
    windows: Windows
    elsewhere: str | None = None

    def result(self) -> pd.DataFrame:
        """Return the table as labeled so far."""
        self.session.sync()
        return labeled_table(self.session)

    def wait_until_closed(self) -> None:
        """Wait until every window is closed or "Done" was pressed."""
        while not self.windows.done.wait(_GLANCE):
            if self.windows.all_closed():
                return

    def wait(self) -> None:
        """Wait until "Done" is pressed, whatever becomes of the windows."""
        while not self.windows.done.wait(_GLANCE):
            pass


@contextlib.contextmanager
def open_page(
    table: pd.DataFrame,
    target: Hashable,
    labels: Path,
    options: AnnotateOptions,
    *,
    learner: Callable[[Subject], Any] | None = ProcessLearner,
) -> Iterator[LabelingPage]:
    """Serve the page of a table while the block runs.

    Parameters
    ----------
    table : DataFrame
    target : column name
    labels : Path
        The event file.
    options : Options
    learner : callable or None
        Makes the learner; None does without suggestions.

    Yields
    ------
    LabelingPage

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from leaven.app import AnnotateOptions, open_page
    >>> table = pd.DataFrame({"text": ["ripe", "green"], "kind": ""})
    >>> options = AnnotateOptions(classes=("good", "bad"), port=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "labels.db"
    ...     with open_page(table, "kind", file, options, learner=None) as page:
    ...         page.address.startswith("http://127.0.0.1:")
    True
    """
    check_method(options.method)
    user = options.user or account()
    store = EventStore(labels)
    try:
        store.claim(str(target))
        sheet = Sheet(
            table,
            target,
            text=options.text,
            first=options.first,
            images=options.images,
            content=store.fact("columns"),
        )
        sock = free_socket(options.host, _wanted_port(store, user, options.port))
    except BaseException:
        store.discard()
        raise
    with contextlib.ExitStack() as stack:
        stack.callback(store.close)
        stack.callback(sock.close)
        made = None if learner is None else learner(subject_of(sheet, options))
        session = Session(
            sheet,
            store,
            user,
            learner=made,
            classes=options.classes,
            guide=options.guide,
        )
        stack.callback(session.close)
        port = sock.getsockname()[1]
        windows = Windows()
        token = token_of(session.seed)
        if options.port:
            keep_port(_served(session.seed, user), port)
        open_to_all = options.host in EVERYWHERE
        names = {LOCAL, "localhost", socket.gethostname() if open_to_all else options.host}
        hosts = frozenset(f"{_in_address(name)}:{port}" for name in names)
        site = Site(
            session,
            Access(token, hosts, any_address=port if open_to_all else None),
            options.title,
            images=Path(options.image_folder or os.curdir),
            on_load=windows.loads,
            on_seen=windows.saw,
            on_done=windows.done.set,
        )
        server = Server(site, sock)
        stack.enter_context(server.in_thread())

        def address(host: str) -> str:
            return f"http://{_in_address(host)}:{port}/?token={token}"

        yield LabelingPage(
            address(LOCAL if open_to_all else options.host),
            session,
            windows,
            address(own_address()) if open_to_all else None,
        )


def _wanted_port(store: EventStore, user: str, port: int) -> int:
    """The port at which this user was served this table before, where any would do."""
    seed = store.fact("seed")
    before = port_of(_served(seed, user)) if port == PORT and seed is not None else None
    return port if before is None else before


def _served(seed: str, user: str) -> str:
    """What a port is remembered for: two users of one table have two servers."""
    return f"{seed} {user}"


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def subject_of(sheet: Sheet, options: AnnotateOptions) -> Subject:
    """Say what the learner is to learn from, and how."""
    method, estimator = options.method, None
    if not isinstance(method, str):
        method, estimator = "own", method
    return Subject(
        sheet.features,
        texts=sheet.texts,
        method=method,
        estimator=estimator,
        strategy=options.strategy,
        seed=options.seed,
    )


def check_method(method: Any) -> None:
    """Raise if a method is neither a known name nor a classifier."""
    if isinstance(method, str):
        known = (AUTO, *candidate_names())
        if method not in known:
            raise TableError(
                f"The method {method!r} is not known. Known methods: {', '.join(known)}."
            )
    elif not hasattr(method, "fit") or not hasattr(method, "predict"):
        raise TypeError(
            f"method must be a name or a classifier with fit and predict, got {method!r}."
        )


def account() -> str:
    """The name of the account, or "me" where there is none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "me"
