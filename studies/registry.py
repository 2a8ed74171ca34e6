"""Sources, tables and runs: what can be reproduced, and with which settings.

To add a table, write a function ``run(table, run, datasets) -> Outcome`` and pass a
:class:`Table` with it to :func:`register`; ``studies/__init__.py`` imports the module.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from leaven.datasets import list_available
from leaven.evaluation import CurveProtocol, DrawProtocol, FoldProtocol, compare
from studies.estimators import Transducer

QUICK_TRIALS = 3

Protocol: TypeAlias = CurveProtocol | FoldProtocol | DrawProtocol


def is_installed(module: str) -> bool:
    """Whether a module can be imported, without importing it."""
    return find_spec(module) is not None


@dataclass(frozen=True)
class Source:
    """A publication whose tables can be reproduced."""

    id: str
    author: str
    year: str
    title: str
    kind: str

    def cite(self) -> str:
        """One line with everything."""
        return f"{self.author}, “{self.title}”, {self.kind}, {self.year}"


SOURCES = {
    source.id: source
    for source in (
        Source(
            "S0",
            "Nguyen Hoang Nghia",
            "2019",
            "Study on Semi-Supervised Learning with the Framework of Generative Model",
            "master's thesis, Nagaoka University of Technology",
        ),
        Source(
            "S1",
            "Awat Abdulla Saeed",
            "2018",
            "Empirical Evaluation of Semi-Supervised Naïve Bayes for Active Learning",
            "PhD thesis, University of East Anglia",
        ),
        Source(
            "S2",
            "Xiaojin Zhu, Zoubin Ghahramani and John Lafferty",
            "2003",
            "Semi-Supervised Learning Using Gaussian Fields and Harmonic Functions",
            "International Conference on Machine Learning",
        ),
        Source(
            "S3",
            "PB, EG, PH and RL (the slides give initials)",
            "2013",
            "Advanced method for decision: Semi-supervised learning",
            "slides of the course OS14, Université de technologie de Troyes",
        ),
        Source(
            "S4",
            "Leonidas Lefakis",
            "no year given",
            "Transductive Learning for Document Classification and Handwritten Character "
            "Recognition",
            "master's thesis, Utrecht University",
        ),
    )
}


@dataclass(frozen=True, eq=False)
class Outcome:
    """What running a table gave.

    Parameters
    ----------
    results : DataFrame
        Tidy results as :func:`compare` gives them, with the methods of the table.
    choices : dict
        For a data set and a method, what was chosen, such as ``"λ = 0.2"``.
    draw : callable, default=None
        ``draw(path)`` draws a figure of its own; None is the figure of any other table.
    errors : dict
        For a data set and a method, a standard error in place of that of the mean of the trials.
    """

    results: pd.DataFrame
    choices: Mapping[tuple[str, str], str] = field(default_factory=dict)
    draw: Callable[[Path], Any] | None = None
    errors: Mapping[tuple[str, str], float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Table:
    """A table of a source.

    Parameters
    ----------
    source, number, title : str
    datasets, methods : tuple of str
        Rows and columns; the first method is the one the others are compared with.
    protocol : str
        How the experiment is done, in a sentence or two.
    published : DataFrame
        Index ``dataset`` and ``method``; columns ``mean`` and ``se`` (NaN if not printed).
    run : callable
        ``run(table, run, datasets) -> Outcome``.
    score : str, default="area under the error curve"
        What the numbers are.
    value : str, default="error"
        The column of the results that the score comes from.
    higher_is_better : bool, default=False
    quick : tuple of str
        Small data sets, for ``--quick``.
    printed_figure : str, default=""
        What the source draws, for those who do not have it at hand.
    reading : str, default=""
        What was chosen by looking at the published numbers: agreement is then by construction.
    redrawn : bool, default=False
        Whether the data are drawn at random, so that they are not those of the source.
    trials : dict
        Number of trials of a data set, where it is not that of the protocol; 0 leaves it out
        unless a number of trials is asked for.
    together : bool, default=False
        Whether a data set needs the others: ``run`` then gets all of them, and asks
        :meth:`Run.groups` for their numbers of trials.
    needs : callable
        The name in :func:`leaven.datasets.list_available` of a data set.
    """

    source: str
    number: str
    title: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    protocol: str
    published: pd.DataFrame
    run: Callable[[Table, Run, list[str]], Outcome]
    score: str = "area under the error curve"
    value: str = "error"
    higher_is_better: bool = False
    quick: tuple[str, ...] = ()
    needs: Callable[[str], str] = str
    printed_figure: str = ""
    reading: str = ""
    redrawn: bool = False
    trials: Mapping[str, int] = field(default_factory=dict)
    together: bool = False

    @property
    def id(self) -> str:
        """Name on the command line."""
        return f"{self.source}-{self.number}"

    def here(self) -> list[str]:
        """Data sets whose file is there."""
        known = list_available()
        names = set(known.loc[known["available"].astype(bool), "name"])
        return [name for name in self.datasets if self.needs(name) in names]


@dataclass(frozen=True)
class Run:
    """Settings of a run.

    Parameters
    ----------
    n_trials : int or None, default=None
        None: as many as the protocol has, or 3 with ``quick``.
    n_jobs : int, default=1
    quick : bool, default=False
        The small data sets of each table only.
    datasets : tuple of str or None, default=None
        Only these.
    store : path or None, default=None
        Results are kept in SQLite files of this name, with the names of the protocol and of the
        data set put in before the suffix, and a later run goes on from there.
    progress : bool, default=False
    """

    n_trials: int | None = None
    n_jobs: int = 1
    quick: bool = False
    datasets: tuple[str, ...] | None = None
    store: Path | None = None
    progress: bool = False

    @property
    def trials(self) -> int | None:
        """How many trials; None stands for those of the protocol."""
        return QUICK_TRIALS if self.quick and self.n_trials is None else self.n_trials

    def select(self, table: Table) -> list[str]:
        """Data sets that are asked for, there or not."""
        names = table.quick if self.quick and self.datasets is None else table.datasets
        if self.datasets is not None:
            names = tuple(name for name in table.datasets if name in self.datasets)
        return list(names)

    def groups(self, table: Table, names: Sequence[str]) -> dict[int | None, list[str]]:
        """Data sets by their number of trials, without those that are left out."""
        if self.trials is not None:
            return {self.trials: list(names)}
        found: dict[int | None, list[str]] = {}
        for name in names:
            n = table.trials.get(name)
            if n != 0:
                found.setdefault(n, []).append(name)
        return found

    def compare(
        self, methods: Mapping[str, Any], datasets: Mapping[str, Any], protocol: Protocol
    ) -> pd.DataFrame:
        """Run methods on data sets, with the stores and the jobs of this run.

        A store is read and checked as a whole by each comparison, so that there is one for each
        protocol and data set: the thousands of trials of other data sets cost nothing.
        """
        options: dict[str, Any] = {
            "protocol": protocol,
            "n_trials": self.trials,
            "semi_supervised": {
                name: True for name, each in methods.items() if isinstance(each, Transducer)
            },
            "n_jobs": self.n_jobs,
            "progress": self.progress,
        }
        if self.store is None:
            return compare(methods, datasets, **options)
        frames = [
            compare(methods, {name: data}, store=self.store_of(protocol, name), **options)
            for name, data in datasets.items()
        ]
        return pd.concat(frames, ignore_index=True)

    def store_of(self, protocol: Protocol, dataset: str) -> Path:
        """File of the trials of a data set under a protocol."""
        if self.store is None:
            raise ValueError("This run has no store.")
        slug = re.sub(r"[^A-Za-z0-9.-]+", "-", dataset).strip("-")
        name = f"{self.store.stem}-{protocol.name}-{slug}{self.store.suffix or '.sqlite'}"
        return self.store.with_name(name)


TABLES: dict[str, Table] = {}
"""All tables by their id, in the order of the sources."""


def register(table: Table) -> Table:
    """Add a table to those that can be reproduced."""
    if table.source not in SOURCES:
        raise ValueError(f"source={table.source!r} is not known. Known are {sorted(SOURCES)}.")
    TABLES[table.id] = table
    return table


def no_numbers() -> pd.DataFrame:
    """Published numbers of a figure that prints none."""
    index = pd.MultiIndex.from_arrays([[], []], names=["dataset", "method"])
    return pd.DataFrame({"mean": [], "se": []}, index=index, dtype=float)


def find_tables(ids: Sequence[str]) -> list[Table]:
    """Tables by their ids, in any case of letters; an unknown one is an error that lists all.

    A source stands for its tables, and "all" for the tables of all sources.
    """
    by_lower = {known.lower(): table for known, table in TABLES.items()}
    found: dict[str, Table] = {}
    for each in ids:
        group = {
            known: t for known, t in TABLES.items() if each.lower() in (t.source.lower(), "all")
        }
        found |= group
        if group:
            continue
        if each.lower() not in by_lower:
            close = difflib.get_close_matches(each.upper(), TABLES, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise ValueError(f"There is no table {each!r}.{hint} Known are {', '.join(TABLES)}.")
        table = by_lower[each.lower()]
        found[table.id] = table
    return list(found.values())


def check_datasets(names: Sequence[str], tables: Sequence[Table]) -> None:
    """Refuse a data set that none of the tables has."""
    known = list(dict.fromkeys(name for table in tables for name in table.datasets))
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ValueError(
                f"The data set {name!r} is in none of these tables.{hint} Known are "
                f"{', '.join(known)}."
            )
