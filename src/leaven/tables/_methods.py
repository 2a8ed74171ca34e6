"""The methods that can label a table, by name."""

from __future__ import annotations

from collections.abc import Collection

from leaven._suggest import did_you_mean
from leaven.tables._errors import TableError

AUTO = "auto"
"""The name that leaves the choice to leaven."""


def method_names() -> list[str]:
    """Return the names that ``method`` and ``candidates`` take, ``"auto"`` aside.

    Examples
    --------
    >>> from leaven.tables._methods import method_names
    >>> "harmonic" in method_names()
    True
    """
    from leaven.model_selection._safe_candidates import RECIPES

    return list(RECIPES)


def check_methods(method: str, candidates: Collection[str] | None) -> None:
    """Raise if a name is not known, or if both a method and candidates are named."""
    known = method_names()
    if method not in (AUTO, *known):
        raise TableError(
            f"The method {method!r} is not known.{did_you_mean(method, known)} Known methods: "
            f"{', '.join([AUTO, *known])}."
        )
    if candidates is None:
        return
    if isinstance(candidates, str):
        raise TableError(f"candidates must be a list of names, got {candidates!r}.")
    if method != AUTO:
        raise TableError(
            f"The method {method!r} and candidates are both named: candidates are for the method "
            f"{AUTO!r}, which chooses one of them."
        )
    if not candidates:
        raise TableError("candidates is empty: name at least one.")
    for name in candidates:
        if name not in known:
            raise TableError(
                f"The candidate {name!r} is not known.{did_you_mean(name, known)} "
                f"Known candidates: {', '.join(known)}."
            )
    if len(set(candidates)) < len(candidates):
        raise TableError("A candidate is named more than once.")
