"""Warnings and errors that a user may want to catch by name."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning, NotFittedError

__all__ = [
    "ConvergenceWarning",
    "FailedTrialsWarning",
    "LeavenWarning",
    "MemoryBoundError",
    "MissingExtraError",
    "NotFittedError",
    "UnreachedWarning",
]


class LeavenWarning(UserWarning):
    """Base class of the warnings that are leaven's own."""


class FailedTrialsWarning(LeavenWarning):
    """Some trials of a comparison raised an error and have no scores."""


class UnreachedWarning(LeavenWarning):
    """Some rows have no path to a labeled row and were given the class prior."""


class MemoryBoundError(MemoryError, ValueError):
    """The request needs more memory than the stated bound; the message gives the estimate."""


class MissingExtraError(ImportError):
    """An optional dependency is missing; the message says how to install it."""
