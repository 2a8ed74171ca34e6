"""Running a table of checks, one after the other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any

from sklearn.base import clone

Check = Callable[[Any, Any, Any], None]

# For every random_state that is None, so that two fits can be compared.
SEED = 0


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


def quiet(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function without its warnings.

    Few rounds, or rows that no label reaches, may be worth a warning; no check asks for it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args)


def seeded(subject: Any) -> Any:
    """Clone an estimator or a strategy, and set every ``random_state`` in it that is None."""
    copy = clone(subject)
    free = {
        name: SEED
        for name, value in copy.get_params(deep=True).items()
        if value is None and name.rpartition("__")[2] == "random_state"
    }
    return copy.set_params(**free)
