"""The selection engine behind the page: candidates by name, and which of them is best."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaven._labels import UNLABELED
from leaven.app._models import spread
from leaven.base import class_probabilities
from leaven.selection import (
    Problem,
    fit_named,
    make_candidates,
    select,
    standard_problem,
)

_SECONDS = 15.0  # after which the engine tries no other candidate: suggestions wait meanwhile
_MOST_ROWS = 20_000  # beyond this one look at the candidates takes longer than that
_SAMPLE = 10_000  # rows of a larger table that candidates learn from: see benchmarks/annotate.py


@dataclass(frozen=True, eq=False)
class Task:
    """What the candidates are fitted on.

    Parameters
    ----------
    problem : Problem
        Its classes are numbered without gaps.
    present : int array of shape (n_present_classes,)
        The code of each of its classes.
    rows : int array or None
        The rows of the table that it holds; None for all.
    """

    problem: Problem
    present: NDArray[np.intp]
    rows: NDArray[np.intp] | None


class Engine:
    """The candidates of :mod:`leaven.selection` on the rows of a table.

    Scaled rows and graphs are kept from label to label. Of a table with more than 20,000 rows
    the candidates see a sample, all labeled rows among it, so that the time of one look does
    not grow with the table.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n_rows, n_features)
    seed : int, default=0
    """

    def __init__(self, rows: Any, seed: int = 0) -> None:
        self.rows = rows
        self._seed = seed
        self._kept: Problem | None = None

    def task(self, codes: NDArray[np.intp]) -> Task:
        """Make the problem of some labels."""
        rows = None if len(codes) <= _MOST_ROWS else sample_rows(codes, _SAMPLE, self._seed)
        seen = codes if rows is None else codes[rows]
        present, compact = np.unique(seen[seen != UNLABELED], return_inverse=True)
        inner = np.full(len(seen), UNLABELED, dtype=np.intp)
        inner[seen != UNLABELED] = compact
        if rows is not None:
            classes = np.arange(len(present))
            problem = standard_problem(self.rows[rows], inner, classes, seed=self._seed)
            return Task(problem, present, rows)
        if self._kept is None or self._kept.n_classes != len(present):
            classes = np.arange(len(present))
            self._kept = standard_problem(self.rows, inner, classes, seed=self._seed)
        else:
            self._kept = self._kept.with_codes(inner)
        return Task(self._kept, present, None)

    def best(self, codes: NDArray[np.intp]) -> str | None:
        """Name the candidate that answers held-out labels best."""
        problem = self.task(codes).problem
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
        """Fit the candidate as ``leaven label --method NAME`` does, and answer for all rows."""
        task = self._engine.task(codes)
        (candidate,) = make_candidates([self.name], task.problem)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a note per refit would reach nobody
            found = fit_named(task.problem, candidate, random_state=0)
            if task.rows is None:
                return spread(found.probabilities, task.present, n_classes)
            others = np.ones(len(codes), dtype=bool)
            others[task.rows] = False
            P = np.empty((len(codes), len(task.present)))
            P[task.rows] = found.probabilities
            P[others] = class_probabilities(
                found.fitted.best_estimator, self._engine.rows[others], classes=task.problem.classes
            )
        return spread(P, task.present, n_classes)


def sample_rows(codes: NDArray[np.intp], size: int, seed: int) -> NDArray[np.intp]:
    """Draw rows of a large table: the labeled ones, and others at random.

    At most half of them are labeled, so that there is something to learn from unlabeled rows.

    Parameters
    ----------
    codes : int array of shape (n_rows,)
    size : int
        How many rows.
    seed : int

    Returns
    -------
    rows : int array of shape (size,)
        In the order of the table.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.app._engine import sample_rows
    >>> codes = np.full(50, -1)
    >>> codes[[3, 20, 41]] = [0, 1, 0]
    >>> rows = sample_rows(codes, 8, seed=0)
    >>> len(rows), set([3, 20, 41]) <= set(rows.tolist())
    (8, True)
    """
    order = np.random.RandomState(seed).permutation(len(codes))
    labeled = codes[order] != UNLABELED
    chosen = order[labeled][: size // 2]
    return np.sort(np.concatenate([chosen, order[~labeled][: size - len(chosen)]]))
