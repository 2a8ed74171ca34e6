"""Data sets side by side: each process runs all tables of one data set after the other.

The fits of a search run side by side in one process, which parallel trials would take apart. Here
a process has a data set for itself, with all tables that are asked for, and no two write into
the same store. What the tables need is then in the stores.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor

from studies.costs import WORK, spent_on
from studies.registry import TABLES, Run, Table


@dataclass(frozen=True)
class Chain:
    """The tables of one data set.

    Parameters
    ----------
    dataset : str
    parts : tuple of (str, tuple of str)
        Id of a table, and the data sets there that are made of this one.
    seconds : float
        What it takes, as far as that is known.
    """

    dataset: str
    parts: tuple[tuple[str, tuple[str, ...]], ...]
    seconds: float


def chains_of(tables: Sequence[Table], run: Run) -> list[Chain]:
    """All data sets of the tables that have their own numbers of trials, the longest first."""
    found: dict[str, dict[str, list[str]]] = {}
    seconds: dict[str, float] = {}
    for table in tables:
        if table.together or not table.trials:
            continue
        here = {*table.here()}
        names = [name for name in run.select(table) if name in here]
        for n, some in run.groups(table, names).items():
            for name in some:
                key = table.needs(name)
                found.setdefault(key, {}).setdefault(table.id, []).append(name)
                cost = spent_on(table.number, name) if table.number in WORK else 0.0
                seconds[key] = seconds.get(key, 0.0) + (n or 0) * cost
    chains = [
        Chain(key, tuple((each, tuple(names)) for each, names in parts.items()), seconds[key])
        for key, parts in found.items()
    ]
    return sorted(chains, key=lambda chain: -chain.seconds)


def run_chain(chain: Chain, run: Run) -> str:
    """Fill the stores of a data set; return its name."""
    for table_id, names in chain.parts:
        table, start = TABLES[table_id], processor_seconds()
        for n, some in run.groups(table, names).items():
            table.run(table, replace(run, n_trials=n), some)
        add_seconds(run.store, table_id, processor_seconds() - start)
    return chain.dataset


def fill_stores(tables: Sequence[Table], run: Run) -> None:
    """Run the data sets of tables in parallel jobs, as far as each has trials of its own."""
    chains = chains_of(tables, run)
    if run.store is None or len(chains) < 2:
        return
    alone = replace(run, n_jobs=1, progress=False)
    jobs = Parallel(run.n_jobs, batch_size=1, return_as="generator_unordered")
    for i, name in enumerate(jobs(delayed(run_chain)(each, alone) for each in chains), start=1):
        if run.progress:
            click.echo(f"{i} of {len(chains)} data sets: {name}", err=True)
    end_workers()


def end_workers() -> None:
    """End parallel jobs: their time counts when they have ended."""
    get_reusable_executor().shutdown(wait=True)


def processor_seconds() -> float:
    """Processor time of this process, and of those that it started and that have ended."""
    return sum(os.times()[:4])


def add_seconds(store: Path | None, table: str, seconds: float) -> float:
    """Note processor time beside the store; return all that a table has taken with it.

    A run that is stopped and resumed takes its time in parts, and the page is to state the sum.
    """
    if store is None:
        return seconds
    path = store.with_name(f"{store.stem}-seconds.txt")
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{table} {seconds:.2f}\n")
    noted = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return sum(float(spent) for each, spent in noted if each == table)
