"""Which data sets exist, and where their files are."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from importlib.resources import files
from io import StringIO
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from leaven._suggest import did_you_mean

VARIABLE = "LEAVEN_DATA"
FOLDERS = ("uci-discrete", "uci-continuous", "text", "digits")
SUFFIXES = (".csv.gz", ".csv", ".parquet", ".npz")
# What scikit-learn can download.
FETCHED = ("20news-bydate", "mnist")


@dataclass(frozen=True)
class Entry:
    """What is known of a data set; None stands for what is not known."""

    name: str
    kind: str
    file: str | None = None
    rows: int | None = None
    features: int | None = None
    classes: int | None = None
    train_rows: int | None = None
    sha256: str | None = None
    path: Path | None = None
    source: str | None = None
    licence: str | None = None


# What comes with scikit-learn; a file of the same name goes first.
BUNDLED = {
    name: Entry(
        name,
        kind,
        rows=rows,
        features=features,
        classes=classes,
        source="UCI Machine Learning Repository, as it comes with scikit-learn",
        licence="CC BY 4.0 (UCI)",
    )
    for name, kind, rows, features, classes in (
        ("iris", "continuous", 150, 4, 3),
        ("wine", "continuous", 178, 13, 3),
        ("breast_cancer", "continuous", 569, 30, 2),
        ("digits", "image", 1797, 64, 10),
    )
}

FORMATS = {
    "text": "Parquet with the columns text and group",
    "image": "NumPy's npz with x_train, y_train, x_test and y_test, or x and y",
}
TABLE_FORMAT = "CSV with a header row, the class in the column target, empty cells for missing"


def list_available(data_home: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """List the data sets that :func:`load` knows, and whether they are here.

    Parameters
    ----------
    data_home : path, default=None
        The directory with the files; None takes the one that the environment variable
        ``LEAVEN_DATA`` names, if it is set.

    Returns
    -------
    DataFrame
        One row for each data set: ``name``, ``kind`` (discrete, continuous, mixed, text or
        image), ``rows``, ``features``, ``classes`` (missing where they are not known
        beforehand), ``available`` and ``where``: the file, or "scikit-learn" for what comes
        with that library; for a set that is not available the file that is missing,
        relative to the directory. Then ``source``, ``licence`` ("not stated" where its
        publishers say nothing), ``file`` and ``sha256``: where it comes from, and which file
        is expected in the directory. The files were converted from the source, and the
        checksum is that of the converted file; ``load(verify=True)`` compares it.

    See Also
    --------
    load : Load one of them.

    Examples
    --------
    >>> from leaven.datasets import list_available
    >>> table = list_available().set_index("name")
    >>> int(table.loc["zoo", "rows"]), bool(table.loc["digits", "available"])
    (101, True)
    """
    known = known_entries(find_home(data_home))
    table = pd.DataFrame(
        [
            {
                "name": entry.name,
                "kind": kind_of(entry.path, entry.kind) if entry.path else entry.kind,
                "rows": entry.rows,
                "features": entry.features,
                "classes": entry.classes,
                "available": entry.path is not None or entry.name in BUNDLED,
                "where": _where(entry),
                "source": entry.source,
                "licence": entry.licence,
                "file": entry.file,
                "sha256": entry.sha256,
            }
            for entry in known.values()
        ]
    )
    counts = ["rows", "features", "classes"]
    return table.astype(dict.fromkeys(counts, "Int64"))


def how_to_get(entry: Entry) -> str:
    """Say in one sentence how the file of a data set gets to where it is looked for."""
    if entry.file is None:
        return "Comes with scikit-learn."
    form = FORMATS.get(entry.kind, TABLE_FORMAT)
    text = f"Get it from its source and write it to ${VARIABLE}/{entry.file}: {form}."
    if entry.name in BUNDLED:
        text = f"Comes with scikit-learn; a file goes first. {text}"
    if entry.name in FETCHED:
        text = f"load({entry.name!r}, download=True) fetches it with scikit-learn. Or: {text}"
    return text


def describe(name: str, data_home: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Say where a data set comes from, and how to get it.

    Parameters
    ----------
    name : str
        See :func:`list_available`.
    data_home : path, default=None
        As in :func:`list_available`.

    Returns
    -------
    dict
        With the columns of :func:`list_available` (None where not known) and ``how``, a sentence.

    Examples
    --------
    >>> from leaven.datasets import describe
    >>> zoo = describe("zoo")
    >>> zoo["licence"], zoo["file"]
    ('CC BY 4.0 (UCI)', 'uci-discrete/zoo.csv.gz')
    """
    entry = find_entry(name, find_home(data_home))
    table = list_available(data_home).set_index("name", drop=False)
    row = table.loc[entry.name]
    found = {str(k): None if pd.isna(v) else v for k, v in row.items()}
    return {**found, "how": how_to_get(entry)}


def _where(entry: Entry) -> str:
    if entry.path is not None:
        return str(entry.path)
    return "scikit-learn" if entry.name in BUNDLED else str(entry.file)


def find_home(data_home: str | os.PathLike[str] | None) -> Path | None:
    """Return the directory with the files, or None where none is named."""
    said = "data_home"
    if data_home is None:
        data_home, said = os.environ.get(VARIABLE) or None, VARIABLE
    if data_home is None:
        return None
    home = Path(data_home).expanduser()
    if not home.is_dir():
        raise NotADirectoryError(
            f"{said} is {str(data_home)!r}, which is not a directory. It must be one that holds "
            f"the folders {', '.join(FOLDERS)}, or some of them."
        )
    return home


def known_entries(home: Path | None) -> dict[str, Entry]:
    """All data sets by name: leaven's list, the directory's own manifest, and its files."""
    packaged = (files("leaven.datasets") / "_registry.csv").read_text(encoding="utf-8")
    known = {row["name"]: _entry(row) for row in _read_rows(packaged)}
    for name, entry in BUNDLED.items():
        known.setdefault(name, entry)
    if home is None:
        return known
    for row in _manifest_rows(home / "manifest.csv"):
        entry = _entry(row)
        if entry.name in known:
            # leaven's list knows more of the kind (mixed tables) and of the train part.
            before = known[entry.name]
            entry = replace(
                entry,
                kind=before.kind,
                train_rows=before.train_rows,
                source=before.source or entry.source,
                licence=before.licence,
            )
        known[entry.name] = entry
    for name, entry in known.items():
        if entry.file is not None and (home / entry.file).is_file():
            known[name] = replace(entry, path=home / entry.file)
    for folder in FOLDERS:
        for path in sorted((home / folder).glob("*")):
            stem = _stem(path.name)
            if stem is None or not path.is_file():
                continue
            entry = known.get(stem) or Entry(stem, kind_of(path, "continuous"))
            if entry.path is None:
                # The checksum and the counts are those of the file that the list names.
                moved = entry.file != f"{folder}/{path.name}" and entry.sha256 is not None
                known[stem] = replace(entry, path=path, sha256=None if moved else entry.sha256)
    return known


def find_entry(name: str, home: Path | None) -> Entry:
    """Look a data set up by name, whose case does not matter."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {name!r}.")
    known = known_entries(home)
    if name in known:
        return known[name]
    folded = {key.casefold(): entry for key, entry in known.items()}
    if name.casefold() in folded:
        return folded[name.casefold()]
    guess = did_you_mean(name, [entry.name for entry in known.values()])
    raise ValueError(
        f"There is no data set {name!r}.{guess} list_available() lists the {len(known)} known "
        f"names; a file of another name is found in the folders {', '.join(FOLDERS)} of the "
        f"directory that {VARIABLE} or data_home names."
    )


def kind_of(path: Path, said: str) -> str:
    """The kind of the data in a file, which its format and its folder decide first."""
    if path.suffix == ".npz":
        return "image"
    if path.suffix == ".parquet":
        return "text"
    if path.parent.name == "uci-discrete":
        return "discrete"
    return said if said in {"discrete", "mixed"} else "continuous"


def _stem(filename: str) -> str | None:
    for suffix in SUFFIXES:
        if filename.endswith(suffix) and not filename.startswith("."):
            return filename.removesuffix(suffix)
    return None


def _read_rows(source: Any) -> list[dict[str, str]]:
    if isinstance(source, str):
        source = StringIO(source)
    table = pd.read_csv(source, dtype=str, keep_default_na=False)
    return [{str(k): str(v) for k, v in row.items()} for row in table.to_dict(orient="records")]


def _manifest_rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    rows = _read_rows(path)
    for row in rows:
        if not row.get("name") or not row.get("file"):
            raise ValueError(f"{path} must have the columns name and file, filled in every row.")
        inside = PurePosixPath(row["file"])
        if inside.is_absolute() or ".." in inside.parts:
            raise ValueError(f"{path}: the file of {row['name']!r} lies outside the directory.")
    return rows


def _entry(row: dict[str, str]) -> Entry:
    def count(key: str) -> int | None:
        text = row.get(key, "")
        return int(text) if text.isdecimal() else None

    return Entry(
        name=row["name"],
        kind=row.get("kind") or "continuous",
        file=row["file"],
        rows=count("rows"),
        features=count("features"),
        classes=count("classes"),
        train_rows=count("train_rows"),
        sha256=row.get("sha256") or None,
        source=row.get("source") or None,
        licence=row.get("licence") or None,
    )
