"""Labeling many files: learn from a sample, label file by file.

Memory holds the labeled rows of all files, a sample of the others, and one file per job.
"""

from __future__ import annotations

import glob
import os
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven._labels import UNLABELED
from leaven.exceptions import LeavenWarning
from leaven.partitions import Block
from leaven.selection import refit
from leaven.tables._errors import TableError
from leaven.tables._format import format_of_path
from leaven.tables._kinds import what_cells_hold
from leaven.tables._label import label_table
from leaven.tables._model import TableModel, without_own_columns
from leaven.tables._more_columns import blank_below
from leaven.tables._options import LabelingOptions, make_options, refuse_options
from leaven.tables._read import read_with_format
from leaven.tables._result import LabelingResult
from leaven.tables._target import encode_target
from leaven.tables._workers import open_workers
from leaven.tables._write import TableOutput

SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl", ".ndjson", ".csv.gz", ".tsv.gz", ".jsonl.gz")
"""Files of a directory that are tables."""

SAMPLE = 50_000
"""Unlabeled rows to learn from, as many as ``label_table`` takes of one table."""

FROM_ALL_ROWS = ("naive-bayes-em", "anchor-graph")
"""Methods that learn from every row of every file: their sums add up over files."""

_AS_TEXT = " as text"
"""Of numbers and dates in CSV: beside those of a Parquet file, they would be another type."""


@dataclass(frozen=True)
class FilesResult:
    """What :func:`label_files` did; made by :func:`label_files`.

    Parameters
    ----------
    result : LabelingResult
        Of the rows that were learned from; its summary tells the choice.
    model : TableModel
        What labeled the files.
    files : tuple of str
        The files that came, in order.
    outputs : tuple of str
        The files that were written or kept, in the same order.
    n_kept : int
        Of these, how many an earlier run had written.
    n_rows, n_labeled : int
        Rows in all files, and how many had a label.
    n_learned : int
        Rows that the method was chosen on.
    n_fitted : int
        Rows that it was fitted on in the end: all, for methods that learn from all rows.
    """

    result: LabelingResult
    model: TableModel
    files: tuple[str, ...]
    outputs: tuple[str, ...]
    n_kept: int
    n_rows: int
    n_labeled: int
    n_learned: int
    n_fitted: int


@dataclass(frozen=True)
class _Reading:
    """How to read a file, in another process too.

    Relative paths begin at ``folder``: a worker was started in a folder of its own.
    """

    target: str
    missing: tuple[str, ...]
    delimiter: str | None
    encoding: str
    folder: str

    def table(self, path: str) -> pd.DataFrame:
        table, _ = self.with_format(path)
        return table

    def with_format(self, path: str) -> tuple[pd.DataFrame, Any]:
        table, found = read_with_format(
            os.path.join(self.folder, path),
            delimiter=self.delimiter,
            encoding=self.encoding,
            file_format=format_of_path(path),
            allow_empty=True,
        )
        if self.target not in table.columns:
            raise TableError(
                f"{path} has no column {self.target!r}. Its columns are "
                f"{', '.join(map(repr, table.columns[:10]))}."
            )
        return without_own_columns(table, self.target), found

    def labeled(self, table: pd.DataFrame) -> NDArray[np.bool_]:
        cells = table[self.target]
        text = cells.astype(str).str.strip()
        given = cells.notna() & (text != "") & ~text.isin(self.missing)
        if pd.api.types.is_integer_dtype(cells.dtype):
            given &= cells != UNLABELED
        return np.asarray(given.fillna(False), dtype=bool)


@dataclass(frozen=True)
class _Look:
    """What is learned of one file: its columns, its labeled rows and a sample of the others."""

    path: str
    columns: tuple[str, ...]
    kinds: dict[str, str | None]
    n_rows: int
    n_labeled: int
    labeled: pd.DataFrame
    sampled: pd.DataFrame
    keys: NDArray[np.float64]


def find_files(pattern: str | os.PathLike[str]) -> list[str]:
    """Return the table files that a pattern or a directory names, in order.

    Parameters
    ----------
    pattern : str or path
        A directory, or a pattern with ``*``, ``?`` or ``[...]``.

    Returns
    -------
    files : list of str

    Examples
    --------
    >>> from leaven.tables import find_files
    >>> find_files("no/such/folder/*.csv")
    Traceback (most recent call last):
        ...
    leaven.tables._errors.TableError: No file matches 'no/such/folder/*.csv'.
    """
    name = os.fspath(pattern)
    if os.path.isdir(name):
        found = [os.path.join(name, each) for each in os.listdir(name)]
        found = [each for each in found if each.lower().endswith(SUFFIXES)]
        empty = f"The directory {name!r} holds no table: no {', '.join(SUFFIXES[:4])} file."
    else:
        found = glob.glob(name)
        empty = f"No file matches {name!r}."
    # Hidden files are parts of files that are being written.
    found = [f for f in found if os.path.isfile(f) and not os.path.basename(f).startswith(".")]
    if not found:
        raise TableError(empty)
    return sorted(found)


def label_files(
    files: str | os.PathLike[str] | Sequence[str],
    target: Hashable,
    out: str | os.PathLike[str],
    options: LabelingOptions | None = None,
    *,
    sample: int = SAMPLE,
    resume: bool = False,
    scheduler: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    **changes: Any,
) -> FilesResult:
    """Label every row of many files, one file at a time.

    Learns from all labeled rows and a sample of the others, as :func:`label_table` does. The
    methods "naive-bayes-em" and "anchor-graph" then learn from all rows, in passes over the
    files. Each file is written whole or not at all, under its name in ``out``.

    Parameters
    ----------
    files : str, path or list of str
        A directory, a pattern such as ``"rows/*.parquet"``, or files.
    target : column name
    out : path
        A directory that is empty or not there; with ``resume`` it may hold files of an earlier
        run, which are kept.
    options : LabelingOptions, optional
        As for :func:`label_table`; ``n_jobs`` files are worked on at a time. ``sets``,
        ``target_error``, ``ask`` and ``details`` are for one table.
    sample : int, default=50000
        Unlabeled rows to learn from.
    resume : bool, default=False
        Keep the files that are in ``out`` already.
    scheduler : str, default=None
        Address of a Dask scheduler, whose workers must see the same files. None: processes of
        this machine.
    delimiter, encoding : str
        Of text files.
    **changes
        Fields of :class:`LabelingOptions` by name.

    Returns
    -------
    result : FilesResult

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from leaven.datasets import load_example
    >>> from leaven.tables import label_files
    >>> orchard = load_example("orchard")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i in range(3):
    ...         orchard[i::3].to_csv(Path(folder) / f"part{i}.csv", index=False)
    ...     out = Path(folder) / "labeled"
    ...     done = label_files(f"{folder}/*.csv", "variety", out, method="naive-bayes")
    ...     names = sorted(path.name for path in out.iterdir())
    >>> names, done.n_rows, done.n_labeled
    (['part0.csv', 'part1.csv', 'part2.csv'], 500, 15)
    """
    options = make_options(options, changes, needed_by="label_files")
    refuse_options(options, ("sets", "target_error", "ask"), needed_by="label_files")
    paths = find_files(files) if isinstance(files, (str, os.PathLike)) else list(files)
    outputs = _outputs(paths, Path(out), resume)
    reading = _Reading(str(target), tuple(options.missing), delimiter, encoding, os.getcwd())
    seed = options.random_state if isinstance(options.random_state, int) else 0
    with open_workers(scheduler, options.n_jobs) as workers:
        tasks = [(path, [seed, number]) for number, path in enumerate(paths)]
        looks = workers.run(
            _look_at,
            tasks,
            reading,
            sample,
            name="Reading",
            show=options.progress,
            keep=partial(_keep_sample, sample=sample),
        )
        _refuse_differences(looks)
        learned = _rows_to_learn_from(looks, sample)
        result = label_table(learned, target, replace(options, details=False))
        n_rows, n_labeled = (
            sum(getattr(each, k) for each in looks) for k in ("n_rows", "n_labeled")
        )
        model = result.model()
        n_fitted = n_rows if options.method in FROM_ALL_ROWS else len(learned)
        if n_fitted > len(learned):
            rows = workers.partitions(paths).prepare(
                _features_of, reading, replace(model, estimator=None)
            )
            share = (len(learned) - n_labeled) / (n_rows - n_labeled)
            estimator = refit(model.estimator, rows, sampled=share)
            model = replace(model, estimator=estimator, about={**model.about, "n_rows": n_rows})
        left = [pair for pair in zip(paths, outputs, strict=True) if not pair[1].exists()]
        Path(out).mkdir(parents=True, exist_ok=True)
        extra = options.probabilities, options.min_confidence
        workers.run(
            _label_file, left, reading, model, *extra, name="Labeling", show=options.progress
        )
    return FilesResult(
        result=result,
        model=model,
        files=tuple(paths),
        outputs=tuple(map(str, outputs)),
        n_kept=len(paths) - len(left),
        n_rows=n_rows,
        n_labeled=n_labeled,
        n_learned=len(learned),
        n_fitted=n_fitted,
    )


def _outputs(paths: list[str], out: Path, resume: bool) -> list[Path]:
    """Where each file goes; refuses names that collide and a directory with other files."""
    names = [os.path.basename(path) for path in paths]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TableError(
            f"Two files are called {twice[0]!r}, and both would be written to {out / twice[0]}. "
            "Label them in two runs."
        )
    if out.exists() and not out.is_dir():
        raise TableError(f"{out} is a file, but many files need a directory to go to.")
    ends = zip(paths, names, strict=True)
    if any(os.path.realpath(path) == os.path.realpath(out / name) for path, name in ends):
        raise TableError(f"{out} holds the input files: name another directory.")
    found = list(out.iterdir()) if out.exists() else []
    there = {path.name for path in found if not path.name.startswith(".")}
    if there and not resume:
        raise TableError(
            f"The directory {out} is not empty. Name another one, or resume to keep the files "
            "in it and write those that are missing.",
        )
    strange = sorted(there - set(names))
    if strange:
        raise TableError(
            f"The directory {out} holds {strange[0]!r}, which is no output of these files. Name "
            "another directory."
        )
    return [out / name for name in names]


def _look_at(path: str, seed: list[int], reading: _Reading, sample: int) -> _Look:
    table = reading.table(path)
    labeled = reading.labeled(table)
    # The rows with the smallest of random keys are a sample; of many files too.
    keys = np.random.default_rng(seed).random(len(table))
    keys[labeled] = np.inf
    take = np.sort(np.argsort(keys, kind="stable")[: min(sample, int((~labeled).sum()))])
    return _Look(
        path=path,
        columns=tuple(map(str, table.columns)),
        kinds=_kinds(table, reading.target, labeled, typed=format_of_path(path).kind != "csv"),
        n_rows=len(table),
        n_labeled=int(labeled.sum()),
        labeled=table[labeled],
        sampled=table.iloc[take],
        keys=keys[take],
    )


def _keep_sample(looks: list[_Look | None], sample: int) -> None:
    """Drop rows that are in no sample of all files, once there are twice as many as needed."""
    keys = [look.keys for look in looks if look is not None]
    if sum(map(len, keys)) <= 2 * sample:
        return
    limit = np.partition(np.concatenate(keys), sample - 1)[sample - 1]
    for number, look in enumerate(looks):
        if look is not None and (look.keys > limit).any():
            kept = look.keys <= limit
            looks[number] = replace(look, sampled=look.sampled[kept], keys=look.keys[kept])


def _kinds(
    table: pd.DataFrame, target: str, labeled: NDArray[np.bool_], *, typed: bool
) -> dict[str, str | None]:
    """What each column holds. Cells of CSV are text, whatever they hold; class names stay text."""
    found: dict[str, str | None] = {}
    for name in table.columns:
        found[str(name)] = kind = _kind(table[name] if name != target else table.loc[labeled, name])
        if kind == "text" and not typed and name != target:
            held = what_cells_hold(table[name])
            found[str(name)] = held if held in (None, "empty", "text") else held + _AS_TEXT
    return found


def _kind(column: pd.Series) -> str:
    if not column.notna().any():
        return "empty"
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return "dates"
    return "numbers" if pd.api.types.is_numeric_dtype(column.dtype) else "text"


def _refuse_differences(looks: list[_Look]) -> None:
    """Raise if files differ in their columns, or a column in what it holds."""
    first = looks[0]
    known: dict[str, tuple[str, str]] = {}
    for look in looks:
        if set(look.columns) != set(first.columns):
            missing = sorted(set(first.columns) - set(look.columns))
            more = sorted(set(look.columns) - set(first.columns))
            what = f"lacks the column {missing[0]!r}" if missing else f"has a column {more[0]!r}"
            raise TableError(
                f"{look.path} {what}, unlike {first.path}. All files must have the same columns."
            )
        for name, kind in look.kinds.items():
            if kind is None or kind == "empty":
                continue
            other, path = known.setdefault(name, (kind, look.path))
            if other != kind:
                if {kind, other} != {"numbers", "numbers" + _AS_TEXT}:
                    kind, other = kind.removesuffix(_AS_TEXT), other.removesuffix(_AS_TEXT)
                raise TableError(
                    f"The column {name!r} holds {kind} in {look.path}, but {other} in {path}. "
                    "Give it one type in all files."
                )


def _rows_to_learn_from(looks: list[_Look], sample: int) -> pd.DataFrame:
    keys = np.concatenate([look.keys for look in looks])
    limit = np.sort(keys)[sample - 1] if len(keys) > sample else np.inf
    columns = list(looks[0].columns)
    parts = [
        part[columns]
        for look in looks
        for part in (look.labeled, look.sampled[look.keys <= limit])
        if len(part)
    ]
    if not parts:
        raise TableError("The files hold no row: nothing to label.")
    return pd.concat(parts, ignore_index=True)


def _features_of(path: str, reading: _Reading, model: TableModel) -> Block:
    """Features and codes of one file, as the model prepares them."""
    table = reading.table(path)
    codes = np.full(len(table), UNLABELED, dtype=np.intp)
    if not len(table):
        return Block(
            np.empty((0, len(model.preparer.get_feature_names_out())), dtype=np.float32), codes
        )
    labeled = reading.labeled(table)
    if labeled.any():
        numbers = {name: code for code, name in enumerate(model.classes.tolist())}
        cells = table.loc[labeled, reading.target]
        part = encode_target(cells, missing=reading.missing, needs_unlabeled=False)
        codes[labeled] = [numbers[name] for name in part.classes[part.codes].tolist()]
    return Block(model.preparer.transform(table.reindex(columns=list(model.columns))), codes)


def _label_file(
    path: str,
    output: Path,
    reading: _Reading,
    model: TableModel,
    probabilities: bool,
    min_confidence: float,
) -> int:
    table, found = reading.with_format(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeavenWarning)  # once per file is too often
        if len(table):
            table = model.label(table, probabilities=probabilities)
        else:  # the columns of the other files, so that all can be read as one
            table = model.empty_answer("label", table, probabilities=probabilities)
    if min_confidence:
        name = f"{model.target}_predicted"
        confidence = table[f"{model.target}_confidence"].to_numpy()
        blank = "" if (table[model.target] == "").any() else None
        table[name] = blank_below(table[name], confidence, min_confidence, blank)
    try:
        place = os.path.join(reading.folder, output)
        TableOutput.at(place).like_input(format_of_path(path), found).write(table)
    except OSError as error:
        # A full disk does not say which of the files it is about.
        raise OSError(error.errno, error.strerror or str(error), str(output)) from error
    return len(table)
