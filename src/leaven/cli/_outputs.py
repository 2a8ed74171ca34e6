"""Outputs: their default names, and that they must not be the input, or each other."""

from __future__ import annotations

import os
from collections.abc import Mapping

from leaven.cli._common import BadInput

STANDARD_STREAM = "-"


def default_report(out: str) -> str | None:
    """Name the report after the output, or return None if that is no file.

    Examples
    --------
    >>> from leaven.cli._outputs import default_report
    >>> default_report("data/fruit.labeled.csv.gz"), default_report("x.parquet")
    ('data/fruit.report.html', 'x.report.html')
    >>> default_report("-") is None
    True
    """
    if out == STANDARD_STREAM or (os.path.exists(out) and not os.path.isfile(out)):
        return None
    folder, name = os.path.split(out)
    name, suffix = os.path.splitext(name)
    if suffix.lower() == ".gz":
        name = os.path.splitext(name)[0]
    return os.path.join(folder, f"{name.removesuffix('.labeled')}.report.html")


def embedding_cache(out: str) -> str | None:
    """Name the file of the vectors after the output, or return None if that is no file.

    Examples
    --------
    >>> from leaven.cli._outputs import embedding_cache
    >>> embedding_cache("data/tickets.labeled.csv.gz")
    'data/tickets.vectors.npz'
    """
    report = default_report(out)
    return None if report is None else f"{report.removesuffix('.report.html')}.vectors.npz"


def is_same_file(one: str, other: str) -> bool:
    """Whether two paths lead to one file, through links or another case of letters too.

    Examples
    --------
    >>> from leaven.cli._outputs import is_same_file
    >>> is_same_file("a/../b.csv", "b.csv"), is_same_file("a.csv", "b.csv")
    (True, False)
    """
    if STANDARD_STREAM in (one, other):
        return False
    try:
        if os.path.samefile(one, other):  # device and inode: hard links are one file
            return True
    except (OSError, ValueError):
        pass  # one of them does not exist yet, or cannot be a path
    first, second = (os.path.realpath(path) for path in (one, other))
    if first == second:
        return True
    # Two names that differ in case are one file on some systems. Asked of the folder itself,
    # since the files need not be there.
    folder = os.path.dirname(first)
    return (
        folder == os.path.dirname(second)
        and first.casefold() == second.casefold()
        and _ignores_case(folder)
    )


def _ignores_case(folder: str) -> bool:
    other = os.path.join(os.path.dirname(folder), os.path.basename(folder).swapcase())
    try:
        return other != folder and os.path.samefile(folder, other)
    except OSError:
        return False


def refuse_same_file(
    outputs: Mapping[str, str | None], inputs: Mapping[str, str | None], *, force: bool | None
) -> None:
    """Raise if an output is an input, or two outputs are one file.

    Parameters
    ----------
    outputs, inputs : mapping of str to path or None
        By what the message calls them.
    force : bool or None
        Allow an output to replace an input; None if the command has no such option. Two
        outputs in one file are never allowed.
    """
    written = {name: path for name, path in outputs.items() if path is not None}
    for name, path in written.items():
        for other, there in inputs.items():
            if there is not None and not force and is_same_file(path, there):
                advice = "" if force is None else ", or pass --force to replace it"
                raise BadInput(f"{_capital(name)} {path} is {other}. Name another file{advice}.")
    names = list(written)
    for i, name in enumerate(names):
        for other in names[i + 1 :]:
            if is_same_file(written[name], written[other]):
                raise BadInput(
                    f"{_capital(name)} and {other} are the same file, {written[name]}: one would "
                    "replace the other. Name two files."
                )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
