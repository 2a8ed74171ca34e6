"""What several commands share; it imports nothing heavy."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import click


class BadInput(click.ClickException):
    """Something about the input is wrong; the message is one line."""

    exit_code = 2


class Failed(click.ClickException):
    """The system refused something, such as writing to a full disk."""

    exit_code = 1


@contextlib.contextmanager
def errors_as_one_line() -> Iterator[None]:
    """Turn the errors that a user can mend into the two above."""
    from leaven.exceptions import MissingExtraError
    from leaven.tables import TableError

    try:
        yield
    except TableError as error:
        raise BadInput(error.for_command_line()) from error
    except MissingExtraError as error:
        raise BadInput(str(error)) from error
    except BrokenPipeError:
        raise  # click leaves quietly: the reader has seen enough.
    except OSError as error:
        raise Failed(f"{error.filename or 'the output'}: {error.strerror or error}.") from error


def console(*, err: bool) -> Any:
    """Return a rich console that prints what it gets, without markup of its own."""
    from rich.console import Console

    stream: TextIO = sys.stderr if err else sys.stdout
    # A class name that the terminal cannot show must not fail a run that is done.
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return Console(file=stream, markup=False, emoji=False, highlight=False)
