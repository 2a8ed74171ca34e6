"""The command line: ``leaven label``, ``example`` and ``datasets``.

A command parses, calls one function of the library, and prints. What is heavy to import is
imported inside the commands, so that ``leaven --help`` is instant.
"""

from __future__ import annotations

import os
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
        _fill_closed_streams()
        interrupts: list[int] = []
        restore = _unwind_on_signals(interrupts)
        try:
            code = super().main(args, prog_name, complete_var, False, **extra)
        except click.ClickException as error:
            self._fail(error.format_message(), error.exit_code)
        except click.Abort:
            self._fail("interrupted.", FAILED)
        except MemoryError as error:
            self._fail(f"not enough memory. {error}", FAILED)
        except Exception:
            # Compiled modules that are interrupted while they load raise ImportError and others.
            if not interrupts:
                raise
            self._fail("interrupted.", FAILED)
        finally:
            restore()
        sys.exit(code if isinstance(code, int) else 0)

    @staticmethod
    def _fail(message: str, code: int) -> NoReturn:
        click.echo(f"leaven: error: {' '.join(message.split())}", err=True)
        sys.exit(code)


def _fill_closed_streams() -> None:
    """Put the null device where a standard stream is closed.

    Otherwise the next file that is opened gets its number, and what is meant for the screen,
    also by compiled code, goes into that file. ``sys.stdout`` stays None, as Python sets it then:
    labels that were to be written there are not to be lost without a word.
    """
    for number in range(3):
        if not _is_open(number):
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _unwind_on_signals(interrupts: list[int]) -> Callable[[], None]:
    """Let SIGTERM unwind the stack, which removes half-written files; note each SIGINT.

    Returns the function that brings the former handlers back.
    """
    if threading.current_thread() is not threading.main_thread():
        return lambda: None

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        interrupts.append(number)
        raise KeyboardInterrupt

    before = [(signal.SIGTERM, signal.signal(signal.SIGTERM, leave))]
    # A program that runs this one may have its own way with interrupts, or ignore them (nohup).
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        before.append((signal.SIGINT, signal.signal(signal.SIGINT, interrupt)))

    def restore() -> None:
        for number, handler in before:
            if handler is not None:
                signal.signal(number, handler)

    return restore


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(None, "--version", package_name="leaven", message="leaven %(version)s")
def main() -> None:
    """Label data from few labels.

    Exit codes: 0 success, 1 failure, 2 bad input or wrong usage.
    """


main.add_command(label)
main.add_command(predict)
main.add_command(show)
main.add_command(annotate)
main.add_command(compare)
main.add_command(example)
main.add_command(datasets)
