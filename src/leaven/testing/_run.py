"""Running a table of checks, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

Check = Callable[[Any, Any, Any], None]


def run_checks(
    checks: Mapping[str, Check], subject: Any, X: Any, y: Any, skip: Collection[str]
) -> list[str]:
    """Run all checks but those in ``skip``; name the one that fails. Return what was run."""
    unknown = sorted(set(skip) - set(checks))
    if unknown:
        raise ValueError(f"skip holds {unknown[0]!r}; known checks are {', '.join(checks)}.")
    done = [name for name in checks if name not in skip]
    for name in done:
        run_check(name, checks[name], subject, X, y)
    return done


def run_check(name: str, check: Check, subject: Any, X: Any, y: Any) -> None:
    """Run one check; whatever goes wrong becomes an AssertionError that names it."""
    try:
        check(subject, X, y)
    except Exception as error:
        raise AssertionError(
            f"{type(subject).__name__} fails the check {name!r} "
            f"({(check.__doc__ or '').strip().splitlines()[0].rstrip('.')}): "
            f"{type(error).__name__}: {error}"
        ) from error


def first_sentence(check: Check) -> str:
    """What a check asks for, in one line."""
    return (check.__doc__ or "").strip().splitlines()[0]
