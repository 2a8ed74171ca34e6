"""Import of optional dependencies, with a message that says what to install."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from leaven.exceptions import MissingExtraError


def import_optional(module: str, *, extra: str, needed_by: str) -> Any:
    """Import ``module`` or say which extra of leaven brings it.

    Parameters
    ----------
    module : str
        Dotted name of the module to import.
    extra : str
        The extra of leaven that installs it, such as ``"plot"``.
    needed_by : str
        What the user called, named first in the message.

    Returns
    -------
    module

    Examples
    --------
    >>> from leaven._optional import import_optional
    >>> import_optional("json", extra="plot", needed_by="plot_graph").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f'{needed_by} needs {package}. Install it with: pip install "leaven[{extra}]"'
        ) from error


def is_installed(module: str) -> bool:
    """Whether ``module`` can be imported, without importing it."""
    return importlib.util.find_spec(module) is not None
