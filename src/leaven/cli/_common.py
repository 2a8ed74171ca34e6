"""What several commands share; it imports nothing heavy."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO, TypeVar

import click


class BadInput(click.ClickException):
    """Something about the input is wrong; the message is one line."""

    exit_code = 2


class Failed(click.ClickException):
    """The system refused something, such as writing to a full disk."""

    exit_code = 1


class Interrupted(click.ClickException):
    """The user pressed Ctrl-C; the exit code is the one of a process that the signal ended."""

    exit_code = 130


_Function = TypeVar("_Function", bound=Callable[..., Any])


def reading_options(command: _Function) -> _Function:
    """Add the options of the commands that learn from a table."""
    options = [
        click.option("--target", metavar="COLUMN", help="The column of labels."),
        click.option(
            "--text",
            multiple=True,
            metavar="COLUMN",
            help="A text column. Others are detected. May be given several times.",
        ),
        click.option(
            "--ignore",
            multiple=True,
            metavar="COLUMN",
            help="A column not to learn from; may be given several times.",
        ),
        click.option(
            "--vectors",
            type=click.Path(dir_okay=False),
            metavar="FILE.npy",
            help="Vectors to learn from in addition, one per row; also .npz or .parquet.",
        ),
        click.option(
            "--missing",
            multiple=True,
            metavar="CELL",
            help="A cell of the target that means 'no label', such as NA. Empty ones always do.",
        ),
        click.option(
            "--delimiter",
            metavar="CHARACTER",
            help="The field delimiter, if not that of the suffix.",
        ),
        click.option(
            "--encoding", default="utf-8", show_default=True, help="The encoding of a text file."
        ),
        click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True),
        click.option(
            "--jobs",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            metavar="N",
            help="Number of parallel jobs.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def needed_target(target: str | None) -> str:
    """Return the target, or raise as click does for an option that is required."""
    if target is None:
        raise click.UsageError("Missing option '--target'.")
    return target


def parse_delimiter(delimiter: str | None) -> str | None:
    r"""Understand the name of a tab.

    Examples
    --------
    >>> from leaven.cli._common import parse_delimiter
    >>> parse_delimiter("tab"), parse_delimiter(";"), parse_delimiter(None)
    ('\t', ';', None)
    """
    return {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)


def parse_names(text: str | None) -> list[str] | None:
    """Split names at commas.

    Examples
    --------
    >>> from leaven.cli._common import parse_names
    >>> parse_names("harmonic, naive-bayes")
    ['harmonic', 'naive-bayes']
    """
    if text is None:
        return None
    return [name.strip() for name in text.split(",") if name.strip()]


def is_terminal() -> bool:
    """Whether someone may be watching standard error."""
    return bool(sys.stderr.isatty())


@contextlib.contextmanager
def errors_as_one_line() -> Iterator[None]:
    """Turn the errors that a user can fix into the two above."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("interrupted.") from None
    except (BrokenPipeError, click.ClickException):
        raise  # click leaves quietly if the reader has seen enough, and prints its own errors.
    except Exception as error:
        # Here and not above: these imports take a second, before anything is on the screen.
        from leaven.exceptions import MissingExtraError
        from leaven.persistence import ModelFileError
        from leaven.tables import TableError

        if isinstance(error, TableError):
            raise BadInput(error.for_command_line()) from error
        if isinstance(error, (MissingExtraError, ModelFileError)):
            raise BadInput(str(error)) from error
        if isinstance(error, OSError):
            message = f"{error.filename or 'the output'}: {error.strerror or error}."
            raise Failed(message) from error
        raise


def console(*, err: bool) -> Any:
    """Return a rich console that prints what it gets, without markup of its own."""
    from rich.console import Console

    stream: TextIO = sys.stderr if err else sys.stdout
    # A class name that the terminal cannot show must not fail a run that is done.
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return Console(file=stream, markup=False, emoji=False, highlight=False)
