"""The command line: ``leaven label``, ``example`` and ``datasets``.

A command parses, calls one function of the library, and prints. What is heavy to import is
imported inside the commands, so that ``leaven --help`` is instant.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NoReturn

import click

from leaven.cli._annotate import annotate
from leaven.cli._compare import compare
from leaven.cli._datasets import datasets
from leaven.cli._example import example
from leaven.cli._label import label
from leaven.cli._predict import predict
from leaven.cli._show import show

FAILED, BAD_INPUT = 1, 2  # exit codes, as in POSIX tools and click: 2 is wrong usage


class _Commands(click.Group):
    """A group whose errors are one line, without usage or traceback."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and exit with its code: 0 fine, 1 failed, 2 bad input."""
        prog_name = prog_name or "leaven"
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, **extra)
        if any("\0" in argument for argument in args or ()):  # no shell passes one, but programs do
            self._fail("an argument holds a NUL, which cannot be the name of a file.", BAD_INPUT)
        restore = _clean_up_on_termination()
        try:
            code = super().main(args, prog_name, complete_var, False, **extra)
        except click.ClickException as error:
            self._fail(error.format_message(), error.exit_code)
        except click.Abort:
            self._fail("interrupted.", FAILED)
        except MemoryError as error:
            self._fail(f"not enough memory. {error}", FAILED)
        finally:
            restore()
        sys.exit(code if isinstance(code, int) else 0)

    @staticmethod
    def _fail(message: str, code: int) -> NoReturn:
        click.echo(f"leaven: error: {' '.join(message.split())}", err=True)
        sys.exit(code)


def _clean_up_on_termination() -> Callable[[], None]:
    """Let a polite kill unwind the stack, which removes half-written files."""
    if threading.current_thread() is not threading.main_thread():
        return lambda: None

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    return lambda: None if before is None else _restore(before)


def _restore(before: Any) -> None:
    signal.signal(signal.SIGTERM, before)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(None, "--version", package_name="leaven", message="leaven %(version)s")
def main() -> None:
    """Label data from few labels.

    Exit codes: 0 fine, 1 failed, 2 bad input or wrong usage.
    """


main.add_command(label)
main.add_command(predict)
main.add_command(show)
main.add_command(annotate)
main.add_command(compare)
main.add_command(example)
main.add_command(datasets)
