"""The selection engine behind the page: candidates by name, and which of them is best."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaven._labels import UNLABELED
from leaven.app._models import spread
from leaven.selection import (
    Problem,
    fit_named,
    make_candidates,
    select,
    standard_problem,
)

_SECONDS = 15.0  # after which the engine tries no other candidate: suggestions wait meanwhile
_MOST_ROWS = 20_000  # beyond this one look at the candidates takes longer than that


class Engine:
    """The candidates of :mod:`leaven.selection` on the rows of a table.

    Scaled rows and graphs are kept from label to label.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n_rows, n_features)
    seed : int, default=0
    """

    def __init__(self, rows: Any, seed: int = 0) -> None:
        self._rows = rows
        self._seed = seed
        self._kept: Problem | None = None

    def problem(self, codes: NDArray[np.intp]) -> tuple[Problem, NDArray[np.intp]]:
        """Return the problem of some labels, and the classes that have one."""
        present, compact = np.unique(codes[codes != UNLABELED], return_inverse=True)
        inner = np.full(len(codes), UNLABELED, dtype=np.intp)
        inner[codes != UNLABELED] = compact
        if self._kept is None or self._kept.n_classes != len(present):
            classes = np.arange(len(present))
            self._kept = standard_problem(self._rows, inner, classes, seed=self._seed)
        else:
            self._kept = self._kept.with_codes(inner)
        return self._kept, present

    def best(self, codes: NDArray[np.intp]) -> str | None:
        """Name the candidate that answers held-out labels best; None for large tables."""
        if len(codes) > _MOST_ROWS:
            return None
        problem, _ = self.problem(codes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a note per refit would reach nobody
            found = select(
                problem,
                make_candidates(None, problem),
                combine=False,
                time_limit=_SECONDS,
                random_state=self._seed,
            )
        return found.decision.choice


class Named:
    """One candidate by its name."""

    def __init__(self, name: str, engine: Engine) -> None:
        self.name = name
        self._engine = engine

    def fit(self, codes: NDArray[np.intp], n_classes: int) -> NDArray[Any]:
        """Fit the candidate as ``leaven label --method NAME`` does."""
        problem, present = self._engine.problem(codes)
        (candidate,) = make_candidates([self.name], problem)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a note per refit would reach nobody
            found = fit_named(problem, candidate, random_state=0)
        return spread(found.probabilities, present, n_classes)
