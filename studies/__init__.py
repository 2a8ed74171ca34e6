"""Published tables, made again: ``python -m studies`` at the root of the repository.

The studies use leaven as anyone could, by its public names, and are not part of its wheel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from studies import (  # each registers its tables
    demonstrations,  # noqa: F401
    digit_shapes,  # noqa: F401
    generative_framework,  # noqa: F401
    harmonic_fields,  # noqa: F401
    naive_bayes,  # noqa: F401
    naive_bayes_checks,  # noqa: F401
    naive_bayes_figures,  # noqa: F401
    naive_bayes_readings,  # noqa: F401
    naive_bayes_twins,  # noqa: F401
    transduction_digits,  # noqa: F401
    transduction_documents,  # noqa: F401
)
from studies.agreement import RANKS_HEAD, join_numbers, rank_lines, read_numbers, write_numbers
from studies.figures import can_draw, draw_cells
from studies.parallel import add_seconds, end_workers, fill_stores, processor_seconds
from studies.registry import (
    SOURCES,
    TABLES,
    Outcome,
    Run,
    check_datasets,
    find_tables,
)
from studies.report import (
    RANKS,
    Draw,
    Report,
    html_section,
    listing,
    make_report,
    markdown_section,
    report_of_numbers,
    update_page,
)

__all__ = [
    "SOURCES",
    "TABLES",
    "Report",
    "Run",
    "join_pages",
    "listing",
    "reproduce",
    "rewrite_pages",
    "write_pages",
]


def reproduce(ids: Sequence[str], run: Run | None = None) -> list[Report]:
    """Run tables of the sources and put our numbers beside the published ones.

    Parameters
    ----------
    ids : list of str
        Such as ``"S1-3.3"``; ``TABLES`` has all.
    run : Run, default=None
        Number of trials, jobs, data sets and store.

    Returns
    -------
    reports : list of Report
        One for each table of which a data set is there.

    Examples
    --------
    >>> from studies import Run, reproduce
    >>> run = Run(n_trials=2, datasets=("iris",))  # iris comes with scikit-learn
    >>> report = reproduce(["S1-3.4"], run)[0]
    >>> report.cells["method"].tolist(), report.n_trials
    (['NB', 'SSNB'], 2)
    """
    run = run or Run()
    tables = find_tables(ids)
    if run.datasets is not None:
        check_datasets(run.datasets, tables)
    if run.store is not None:
        run.store.parent.mkdir(parents=True, exist_ok=True)
        if run.n_jobs != 1:
            fill_stores(tables, run)
    reports = []
    for table in tables:
        here = table.here()
        names = [name for name in run.select(table) if name in here]
        if names:
            start = processor_seconds()
            if table.together:
                parts = [table.run(table, run, names)]
            else:
                parts = [
                    table.run(table, replace(run, n_trials=n), some)
                    for n, some in run.groups(table, names).items()
                ]
            if not parts:
                continue
            outcome = join_outcomes(parts, names)
            if run.n_jobs != 1:
                end_workers()
            seconds = add_seconds(run.store, table.id, processor_seconds() - start)
            missing = [name for name in table.datasets if name not in here]
            reports.append(make_report(table, outcome, missing, seconds))
    return reports


def join_outcomes(parts: Sequence[Outcome], names: Sequence[str]) -> Outcome:
    """What parts of a table gave, its data sets in the order of ``names``."""
    if len(parts) == 1:
        return parts[0]
    results = pd.concat([part.results for part in parts], ignore_index=True)
    place = {name: i for i, name in enumerate(names)}
    order = results["dataset"].map(place).argsort(kind="stable")
    choices = {key: value for part in parts for key, value in part.choices.items()}
    errors = {key: value for part in parts for key, value in part.errors.items()}
    return Outcome(results.iloc[order].reset_index(drop=True), choices, errors=errors)


def rewrite_pages(folder: Path) -> list[Path]:
    """Write the Markdown sections of all tables again that have their numbers beside the pages.

    For a change of how they look: nothing is run, figures stay as they are, and sections without
    numbers too. Mean ranks and their diagrams are those of the numbers.
    """
    paths = []
    for source in SOURCES:
        path = folder / f"{source.lower()}.md"
        sections = {}
        for table in (each for each in TABLES.values() if each.source == source):
            numbers = read_numbers(folder, table.id)
            if numbers is not None and not numbers.empty:
                report = report_of_numbers(table, numbers)
                image = folder / "images" / f"{table.id}.png"
                sections[table.id] = markdown_section(report, has_image=image.is_file())
        if sections and path.is_file():
            sections |= _ranks_section(source, folder)
            old = path.read_text(encoding="utf-8")
            new = update_page(old, sections, source=source, as_html=False)
            path.write_text(new, encoding="utf-8")
            paths.append(path)
    return paths


def join_pages(part: Path, folder: Path) -> list[Path]:
    """Put the numbers of another run into the pages of ``folder``, with figures of all of them.

    The figure of a run that has all data sets of a table is taken as it is, and drawn from the
    numbers otherwise.
    """
    for table_id in join_numbers(part, folder):
        new, joined = read_numbers(part, table_id), read_numbers(folder, table_id)
        assert new is not None
        assert joined is not None
        source, image = (each / "images" / f"{table_id}.png" for each in (part, folder))
        if source.is_file() and {*joined["dataset"]} == {*new["dataset"]}:
            image.parent.mkdir(parents=True, exist_ok=True)
            image.write_bytes(source.read_bytes())
        elif can_draw(joined):
            draw_cells(joined, image, TABLES[table_id].score)
    return rewrite_pages(folder)


def _ranks_section(source: str, folder: Path) -> dict[str, str]:
    """The section of mean ranks, drawn anew; empty for other sources than S1."""
    ranks = rank_lines(folder) if source == "S1" else []
    return {RANKS: "\n".join([RANKS_HEAD, "", *ranks])} if ranks else {}


def write_pages(
    reports: Sequence[Report], folder: Path, *, as_html: bool = True, draw: Draw | None = None
) -> list[Path]:
    """Write a page per source, such as ``s1.md`` and ``s1.html``, or put new tables into it.

    Parameters
    ----------
    reports : list of Report
    folder : Path
        Made if it is not there.
    as_html : bool, default=True
        Write HTML pages too.
    draw : callable, default=None
        Draws learning curves as SVG, for the HTML pages.

    Returns
    -------
    paths : list of Path
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for source in dict.fromkeys(report.table.source for report in reports):
        of_source = [report for report in reports if report.table.source == source]
        for report in of_source:
            write_numbers(report, folder)
            image = folder / "images" / f"{report.table.id}.png"
            if report.draw is not None:
                image.parent.mkdir(parents=True, exist_ok=True)
                report.draw(image)
            elif can_draw(report.cells):
                draw_cells(report.cells, image, report.table.score)
        pages = {f"{source.lower()}.md": {r.table.id: markdown_section(r) for r in of_source}}
        pages[f"{source.lower()}.md"] |= _ranks_section(source, folder)
        if as_html:
            pages[f"{source.lower()}.html"] = {r.table.id: html_section(r, draw) for r in of_source}
        for name, sections in pages.items():
            path = folder / name
            old = path.read_text(encoding="utf-8") if path.is_file() else ""
            text = update_page(old, sections, source=source, as_html=name.endswith(".html"))
            part = path.with_name(f"{name}.part")
            part.write_text(text, encoding="utf-8")
            part.replace(path)
            paths.append(path)
    return paths
