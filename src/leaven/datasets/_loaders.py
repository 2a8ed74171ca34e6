"""Loading a data set from a file or from scikit-learn."""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets as sklearn_datasets
from sklearn.utils import Bunch

from leaven._optional import import_optional
from leaven.datasets._registry import (
    BUNDLED,
    FETCHED,
    VARIABLE,
    Entry,
    find_entry,
    find_home,
    kind_of,
)

_SUBSETS = ("all", "train", "test")
_TEXT_TARGETS = ("group", "target", "label", "category", "topic", "class")
_ARRAY_NAMES = (("x", "X", "data", "images"), ("y", "target", "labels"))


@dataclass
class _Table:
    """What a reader gives; ``parts`` says for each row whether it is of "train" or "test"."""

    kind: str
    data: Any
    target: Any
    source: str
    feature_names: list[str] | None = None
    parts: NDArray[Any] | None = None
    image_shape: tuple[int, int] | None = None


def load(
    name: str,
    *,
    return_X_y: bool = False,
    subset: str = "all",
    data_home: str | os.PathLike[str] | None = None,
    download: bool = False,
    verify: bool = False,
) -> Any:
    """Load a data set by name.

    Files are looked for in the directory that the environment variable ``LEAVEN_DATA``
    names: tables in ``uci-discrete/`` and ``uci-continuous/`` (``NAME.csv.gz`` or
    ``NAME.csv``, with the class in the column ``target`` and empty cells for missing
    values), texts in ``text/`` (``NAME.parquet`` with the columns ``text`` and ``group``),
    images in ``digits/`` (``NAME.npz``). Any file there is found by its name. A file goes
    before a data set of the same name in scikit-learn; ``source`` says which it was.

    Parameters
    ----------
    name : str
        See :func:`list_available`. ``iris``, ``wine``, ``breast_cancer`` and ``digits``
        need no file.
    return_X_y : bool, default=False
        Return ``(data, target)`` only.
    subset : {"all", "train", "test"}, default="all"
        A part, where the publishers split the data: adult, arcene, madelon, synthetic,
        mnist and 20news-bydate. The validation part of arcene and madelon is "test".
    data_home : path, default=None
        Look here instead.
    download : bool, default=False
        Let scikit-learn download mnist or 20news-bydate if the file is not there.
    verify : bool, default=False
        Compare the SHA-256 of the file with the one that leaven, or ``manifest.csv`` in
        the directory, has for it.

    Returns
    -------
    Bunch
        With the fields

        - ``data``: a DataFrame for tables, in which discrete columns hold strings, numeric
          ones floats, and a missing value is NaN; a Series of strings for texts; an array
          with one row an image for images, as the file has it (uint8 for mnist);
        - ``target``: the class of each row, a Series of strings for tables and texts, an
          array of integers for images. The classes -1 and 1 of some tables are "negative"
          and "positive", since -1 marks an unlabeled row elsewhere;
        - ``feature_names``, ``target_names``, ``name``, ``DESCR``;
        - ``kind``: "discrete", "continuous", "mixed", "text" or "image";
        - ``source``: the file, or the scikit-learn function;
        - ``subset``: "train" or "test" for each row, or None where no split is known;
        - ``image_shape``: (height, width), or None.

    See Also
    --------
    list_available : What there is.
    load_example : Two small tables that come with leaven.

    Examples
    --------
    >>> from leaven.datasets import load
    >>> wine = load("wine")
    >>> wine.data.shape, wine.kind, len(wine.target_names)
    ((178, 13), 'continuous', 3)
    """
    if subset not in _SUBSETS:
        raise ValueError(f"subset must be one of {list(_SUBSETS)}, got {subset!r}.")
    home = find_home(data_home)
    entry = find_entry(name, home)
    if entry.path is not None:
        if verify:
            _check_sum(entry, entry.path)
        table = _read_file(entry, entry.path)
    elif entry.name in BUNDLED:
        table = _from_sklearn(entry.name)
    elif download and entry.name in FETCHED:
        table = _fetch(entry.name)
    else:
        raise FileNotFoundError(_how_to_get(entry, home))
    if subset != "all":
        _keep_part(entry.name, table, subset)
    if return_X_y:
        return table.data, table.target
    return _bunch(entry.name, table)


def _bunch(name: str, table: _Table) -> Bunch:
    target_names = sorted(pd.unique(pd.Series(table.target).dropna()).tolist())
    n_rows = len(table.target)
    shape = f"{n_rows} rows"
    if table.feature_names is not None:
        shape += f", {len(table.feature_names)} features"
    description = f"{name}: {shape}, {len(target_names)} classes; {table.kind}."
    if isinstance(table.data, pd.DataFrame):
        missing = int(table.data.isna().to_numpy().sum())
        description += f" {missing} missing values." if missing else ""
    return Bunch(
        data=table.data,
        target=table.target,
        feature_names=table.feature_names,
        target_names=target_names,
        kind=table.kind,
        name=name,
        DESCR=description,
        source=table.source,
        subset=table.parts,
        image_shape=table.image_shape,
    )


def _keep_part(name: str, table: _Table, subset: str) -> None:
    keep = np.zeros(0, dtype=bool) if table.parts is None else table.parts == subset
    if not keep.any():
        raise ValueError(
            f"{name} has no part {subset!r}: its publishers did not split it, or this file does "
            "not say how. Use subset='all'."
        )
    for field in ("data", "target", "parts"):
        values = getattr(table, field)[keep]
        setattr(table, field, values if _is_array(values) else values.reset_index(drop=True))


def _is_array(values: Any) -> bool:
    return isinstance(values, np.ndarray)


def _how_to_get(entry: Entry, home: Path | None) -> str:
    looked = f"{home} does not hold it" if home else f"{VARIABLE} is not set"
    message = (
        f"The data set {entry.name!r} needs the file {entry.file}, and {looked}. Set the "
        f"environment variable {VARIABLE} (or pass data_home=) to a directory with {entry.file}"
    )
    if entry.name in FETCHED:
        message += ", or pass download=True to fetch it with scikit-learn"
    return message + "."


def _check_sum(entry: Entry, path: Path) -> None:
    if entry.sha256 is None:
        raise ValueError(
            f"There is no checksum of {path} to compare with. Add it to the column sha256 of "
            "manifest.csv in the directory, or pass verify=False."
        )
    with path.open("rb") as stream:
        digest = hashlib.new("sha256")
        while block := stream.read(1 << 20):
            digest.update(block)
    found = digest.hexdigest()
    if found != entry.sha256:
        raise ValueError(
            f"{path} is not the file that is known as {entry.name!r}: its SHA-256 is {found}, "
            f"not {entry.sha256}. Get it anew, or pass verify=False to use it as it is."
        )


def _read_file(entry: Entry, path: Path) -> _Table:
    kind = kind_of(path, entry.kind)
    if kind == "image":
        return _read_images(path)
    if kind == "text":
        return _read_texts(path)
    table = _read_table(path, kind)
    if entry.train_rows is not None and len(table.target) == entry.rows:
        later = np.arange(len(table.target)) >= entry.train_rows
        table.parts = np.where(later, "test", "train").astype(object)
    return table


def _read_table(path: Path, kind: str) -> _Table:
    # Only an empty cell is missing: "NA", "none" and "?" are values of some columns.
    frame = pd.read_csv(
        path,
        dtype=str if kind == "discrete" else {"target": str},
        keep_default_na=False,
        na_values=[""],
        low_memory=False,
    )
    if "target" not in frame.columns:
        raise ValueError(f"{path} has no column 'target', which must hold the class.")
    target = _rename_signs(frame.pop("target"))
    if kind != "discrete":
        words = [
            column
            for column, dtype in zip(frame.columns, frame.dtypes, strict=True)
            if dtype.kind not in "iuf"
        ]
        kind = "mixed" if words else "continuous"
        for column in words:  # the words True and False have become booleans
            frame[column] = frame[column].map(str, na_action="ignore")
        if words:
            frame = frame.astype(dict.fromkeys(frame.columns.difference(words), np.float64))
        else:  # one block of memory; astype would convert thousands of columns one by one
            frame = pd.DataFrame(frame.to_numpy(dtype=np.float64), columns=frame.columns)
    return _Table(kind, frame, target, str(path), [str(c) for c in frame.columns])


def _rename_signs(target: pd.Series[Any]) -> pd.Series[Any]:
    """Give the classes -1 and 1 names, since "-1" is refused among strings as a mark."""
    names = set(target.dropna())
    if "-1" not in names:
        return target
    new = {"-1": "negative"}
    if len(names) == 2:
        new |= {"1": "positive", "+1": "positive"}
    return target.map(lambda name: new.get(name, name), na_action="ignore")


def _read_texts(path: Path) -> _Table:
    import_optional("pyarrow", extra="parquet", needed_by=f"Reading {path.name}")
    frame = pd.read_parquet(path)
    column = next((c for c in _TEXT_TARGETS if c in frame.columns), None)
    if "text" not in frame.columns or column is None:
        raise ValueError(
            f"{path} must have the column 'text' and one with the class, named "
            f"{' or '.join(map(repr, _TEXT_TARGETS))}; it has {list(frame.columns)}."
        )
    parts = None
    if "subset" in frame.columns and frame["subset"].isin(["train", "test"]).any():
        parts = frame["subset"].to_numpy(dtype=object)
    return _Table("text", frame["text"], frame[column].rename("target"), str(path), parts=parts)


def _read_images(path: Path) -> _Table:
    with np.load(path, allow_pickle=False) as arrays:
        if {"x_train", "y_train", "x_test", "y_test"} <= set(arrays):
            sizes = {part: len(arrays[f"y_{part}"]) for part in ("train", "test")}
            images = np.concatenate([arrays["x_train"], arrays["x_test"]])
            target = np.concatenate([arrays["y_train"], arrays["y_test"]])
            parts = np.repeat(np.array(list(sizes), dtype=object), list(sizes.values()))
        else:
            found = [next((n for n in names if n in arrays), None) for names in _ARRAY_NAMES]
            if None in found:
                raise ValueError(
                    f"{path} must hold the arrays x_train, y_train, x_test and y_test, or x and "
                    f"y; it holds {sorted(arrays)}."
                )
            images, target = (arrays[str(name)] for name in found)
            parts = None
    return _images(images, target, str(path), parts)


def _images(
    images: NDArray[Any], target: NDArray[Any], source: str, parts: NDArray[Any] | None
) -> _Table:
    data = images.reshape(len(images), -1)
    side = math.isqrt(data.shape[1])
    shape = (side, side) if side * side == data.shape[1] else None
    if images.ndim == 3:
        shape = (images.shape[1], images.shape[2])
    if target.dtype.kind in "iuf":
        target = target.astype(np.int64)
    names = [f"pixel_{i}" for i in range(data.shape[1])]
    return _Table("image", data, target, source, names, parts, shape)


def _from_sklearn(name: str) -> _Table:
    function = f"load_{name}"
    bunch = getattr(sklearn_datasets, function)()
    source = f"sklearn.datasets.{function}"
    if BUNDLED[name].kind == "image":
        return _images(bunch.images, bunch.target, source, None)
    columns = [str(c) for c in bunch.feature_names]
    frame = pd.DataFrame(bunch.data, columns=columns)
    target = pd.Series(np.asarray(bunch.target_names)[bunch.target].astype(str), name="target")
    return _Table(BUNDLED[name].kind, frame, target.astype(str), source, columns)


def _fetch(name: str) -> _Table:
    try:
        return _fetch_newsgroups() if name == "20news-bydate" else _fetch_mnist()
    except (OSError, ValueError) as error:  # no network, or an answer that makes no sense
        raise FileNotFoundError(
            f"scikit-learn could not download {name}: {error}. Try again with a network, or set "
            f"{VARIABLE} to a directory with the file."
        ) from error


def _fetch_newsgroups() -> _Table:
    texts, groups, parts = [], [], []
    for part in ("train", "test"):
        bunch = sklearn_datasets.fetch_20newsgroups(subset=part, shuffle=False, n_retries=0)
        texts += list(bunch.data)
        groups += [bunch.target_names[code] for code in bunch.target]
        parts += [part] * len(bunch.data)
    return _Table(
        "text",
        pd.Series(texts, name="text", dtype=str),
        pd.Series(groups, name="target", dtype=str),
        "sklearn.datasets.fetch_20newsgroups",
        parts=np.array(parts, dtype=object),
    )


def _fetch_mnist() -> _Table:
    bunch = sklearn_datasets.fetch_openml("mnist_784", version=1, as_frame=False, n_retries=0)
    data = np.asarray(bunch.data).astype(np.uint8)
    later = np.arange(len(data)) >= 60_000
    parts = np.where(later, "test", "train").astype(object)
    source = "sklearn.datasets.fetch_openml('mnist_784')"
    return _images(data, np.asarray(bunch.target).astype(np.int64), source, parts)
