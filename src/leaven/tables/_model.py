"""The model of a labeled table: kept in a file, and used on rows that were not there."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven._dask import is_dask
from leaven._labels import labeled_mask
from leaven._optional import import_optional
from leaven.exceptions import LeavenWarning
from leaven.persistence import save_object
from leaven.tables._embed import Embedding
from leaven.tables._embed_images import ImageVectors
from leaven.tables._empty_rows import rows_without_cells
from leaven.tables._errors import TableError
from leaven.tables._frames import as_pandas, like_input, translated, without_arrow
from leaven.tables._images import IMAGE, Pixels, image_table
from leaven.tables._prepare import TablePreparer
from leaven.tables._read import refuse_duplicates
from leaven.tables._vectors import VECTORS, join_vectors

KIND = "table model"
"""What the header of a file says of it."""

GIVEN, INFERRED = "given", "inferred"
SUFFIXES = ("predicted", "confidence", "source", "review", "set", "suspect", "ask")
"""What is added to the name of the target for columns of leaven's own."""

_CHUNK = 50_000
"""Rows that are prepared and labeled at a time: memory stays flat however long the table is."""

_MOST_NAMED = 5
"""Columns that a warning names before it says how many more there are."""


def without_own_columns(table: pd.DataFrame, target: str) -> pd.DataFrame:
    """Drop the columns that an earlier run added, so that its output can be the next input.

    A column ``TARGET_source`` is ours only where it holds nothing but our two words; without
    one, a column that happens to be called ``TARGET_review`` is the user's.

    Parameters
    ----------
    table : DataFrame
    target : str

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.tables._model import without_own_columns
    >>> once = pd.DataFrame({"a": [1], "t": ["x"], "t_source": ["given"], "t_review": [False]})
    >>> without_own_columns(once, "t").columns.tolist()
    ['a', 't']
    """
    source = f"{target}_source"
    if source not in table.columns or not table[source].isin([GIVEN, INFERRED]).all():
        return table
    own = [f"{target}_{suffix}" for suffix in SUFFIXES]
    own += [name for name in map(str, table.columns) if name.startswith(f"{target}_p_")]
    return table.drop(columns=[name for name in own if name in table.columns])


@dataclass(frozen=True, eq=False)
class TableModel:
    """What was learned from a table, ready for new rows.

    Made by :meth:`LabelingResult.model <leaven.tables.LabelingResult.model>` and read from a file
    by :func:`leaven.load`.

    Parameters
    ----------
    target : str
    classes : ndarray of shape (n_classes,)
        As they stand in the target column.
    columns : tuple of str
        The columns that the table had, without the target.
    preparer : TablePreparer
        Turns a table into features.
    estimator : classifier
        Gives class probabilities of these.
    about : dict
        Rows, labels, method, estimated accuracy and the kinds of the columns: what
        ``leaven show`` prints.
    embedding : Embedding, optional
        What makes vectors of texts.
    pixels : Pixels or ImageVectors, optional
        What makes vectors of images.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.tables import label_table
    >>> fruit = pd.DataFrame({
    ...     "weight": [4.1, 4.3, 3.9, 4.0, 90.0, 95.0, 92.5, 88.0],
    ...     "kind": ["cherry", None, None, None, "apple", None, None, None],
    ... })
    >>> model = label_table(fruit, "kind").model()
    >>> model.predict(pd.DataFrame({"weight": [5.0, 80.0]})).tolist()
    ['cherry', 'apple']
    """

    target: str
    classes: NDArray[Any]
    columns: tuple[str, ...]
    preparer: TablePreparer
    estimator: Any
    about: dict[str, Any] = field(default_factory=dict)
    embedding: Embedding | None = None
    pixels: Pixels | ImageVectors | None = None

    def predict_proba(
        self, table: Any, *, vectors: Any = None, image_folder: str | Path = "."
    ) -> Any:
        """Class probabilities of the rows of a table.

        Parameters
        ----------
        table : DataFrame of pandas or polars, Table of pyarrow, or path of a folder of images
            Columns that the model knows may be missing, and there may be others; a warning
            names both. Categories that were not there count as unknown. A Dask DataFrame is
            answered by a lazy one, here and below.
        vectors : array-like of shape (n_rows, n_dimensions) or path, optional
            Of the rows, if the model learned from vectors that were given beside a table.
        image_folder : str or Path, default="."
            Where the paths of images start, if the model learned from images.

        Returns
        -------
        probabilities : as ``table``
            With the index of the table and a column for each class.
        """
        if is_dask(table):
            return self._lazily("predict_proba", table, vectors)
        table, image_folder = self._rows_of(table, image_folder)
        frame = as_pandas(table)
        found = pd.DataFrame(
            self._proba(frame, vectors, image_folder), index=frame.index, columns=list(self.classes)
        )
        return found if frame is table else translated(found.rename(columns=str), table)

    def _rows_of(self, table: Any, image_folder: str | Path) -> tuple[Any, str | Path]:
        """Take a path for a folder of images: their table, and where its paths start."""
        if not isinstance(table, (str, Path)):
            return table, image_folder
        if not Path(table).is_dir():
            raise TableError(f"{table} is no folder. A table is to be read by read_table before.")
        column = IMAGE if self.pixels is None else self.pixels.column
        if column not in self.columns:
            raise TableError(
                "The model did not learn from images, and takes no folder of them. It learned "
                f"from the columns {_listed(list(self._used))}."
            )
        return image_table(table).rename(columns={IMAGE: column}), table

    def _proba(
        self, table: pd.DataFrame, vectors: Any, image_folder: str | Path
    ) -> NDArray[np.float64]:
        features = self._features(table, vectors, image_folder)
        empty = np.zeros(len(table), dtype=bool)
        found = np.empty((len(table), len(self.classes)))
        for rows in _chunks(len(table)):
            part = features.iloc[rows]
            empty[rows] = rows_without_cells(part, self._used)
            found[rows] = self.estimator.predict_proba(self.preparer.transform(part))
        if empty.any():
            found[empty] = self._proportions
            warnings.warn(
                f"{_count_rows(int(empty.sum()))} no cell that the model knows, and got the class "
                "proportions of the rows it learned from.",
                LeavenWarning,
                stacklevel=3,
            )
        return found

    def predict(self, table: Any, *, vectors: Any = None, image_folder: str | Path = ".") -> Any:
        """Most probable class of each row.

        Parameters
        ----------
        table : DataFrame of pandas or polars, Table of pyarrow, or path of a folder of images
        vectors : array-like of shape (n_rows, n_dimensions) or path, optional
        image_folder : str or Path, default="."

        Returns
        -------
        labels : Series, or a column of the library that ``table`` is of
            With the index of the table and the name of the target.
        """
        if is_dask(table):
            return self._lazily("predict", table, vectors)
        table, image_folder = self._rows_of(table, image_folder)
        frame = as_pandas(table)
        codes = self._proba(frame, vectors, image_folder).argmax(axis=1)
        labels = pd.Series(self.classes[codes], index=frame.index, name=self.target)
        return labels if frame is table else translated(labels.to_frame(), table)[self.target]

    def label(
        self,
        table: Any,
        *,
        probabilities: bool = False,
        vectors: Any = None,
        image_folder: str | Path = ".",
    ) -> Any:
        """Add predicted classes to a table.

        Parameters
        ----------
        table : DataFrame of pandas or polars, Table of pyarrow, or path of a folder of images
            Where it has the target column, the labels in it stay.
        probabilities : bool, default=False
            Whether to add ``TARGET_p_CLASS`` for each class.
        vectors : array-like of shape (n_rows, n_dimensions) or path, optional
        image_folder : str or Path, default="."

        Returns
        -------
        labeled : as ``table``
            With ``TARGET_predicted``, ``TARGET_confidence`` and ``TARGET_source``.
        """
        if is_dask(table):
            return self._lazily("label", table, vectors, probabilities=probabilities)
        table, image_folder = self._rows_of(table, image_folder)
        return like_input(
            self._labeled(as_pandas(table), probabilities, vectors, image_folder), table
        )

    def _labeled(
        self, table: pd.DataFrame, probabilities: bool, vectors: Any, image_folder: str | Path
    ) -> pd.DataFrame:
        table = without_own_columns(table, self.target)
        found = self._proba(table, vectors, image_folder)
        codes = found.argmax(axis=1)
        predicted = pd.Series(self.classes[codes], index=table.index)
        confidence = np.round(found.max(axis=1), 6)
        given = np.zeros(len(table), dtype=bool)
        if self.target in table.columns:
            cells = table[self.target]
            given = np.asarray(cells.notna() & (cells.astype(str).str.strip() != ""))
            if pd.api.types.is_integer_dtype(cells.dtype):
                given = given & labeled_mask(cells)  # Arrow's memory is read-only
            predicted = predicted.astype(object).where(~given, cells)
            confidence[given] = 1.0
        labeled = table.copy(deep=False)
        labeled[f"{self.target}_predicted"] = predicted.infer_objects()
        labeled[f"{self.target}_confidence"] = confidence
        labeled[f"{self.target}_source"] = np.where(given, GIVEN, INFERRED)
        if probabilities:
            for name, column in zip(self.classes, found.T, strict=True):
                labeled[f"{self.target}_p_{name}"] = np.round(column, 6)
        return labeled

    def empty_answer(self, method: str, table: pd.DataFrame, *, probabilities: bool = False) -> Any:
        """What a method gives for a table without rows: its columns and their dtypes.

        Parameters
        ----------
        method : {"predict", "predict_proba", "label"}
        table : DataFrame
            Of which the columns count.
        probabilities : bool, default=False
            As for :meth:`label`.

        Returns
        -------
        DataFrame or Series
        """
        labels = pd.Series(self.classes).infer_objects()[:0]
        if method == "predict":
            return labels.rename(self.target)
        numbers = pd.Series(dtype=np.float64)
        if method == "predict_proba":
            return pd.DataFrame(dict.fromkeys(self.classes.tolist(), numbers))
        found = without_own_columns(table[:0], self.target).copy()
        found[f"{self.target}_predicted"] = labels
        found[f"{self.target}_confidence"] = numbers
        found[f"{self.target}_source"] = pd.Series([GIVEN])[:0]
        if probabilities:
            for name in self.classes:
                found[f"{self.target}_p_{name}"] = numbers
        return found

    def _lazily(self, method: str, table: Any, vectors: Any, **options: Any) -> Any:
        """Apply a method to each partition of a Dask DataFrame."""
        dask = import_optional("dask", extra="dask", needed_by="A Dask DataFrame")
        if not hasattr(table, "columns"):
            raise TypeError(f"table must be a DataFrame of pandas or Dask, got {type(table)}.")
        if vectors is not None:
            raise TableError("vectors beside a Dask DataFrame are not supported: make a column.")
        # Here it warns once, and not in each partition.
        self._check_columns([str(name) for name in table.columns], depth=4)
        meta = self.empty_answer(method, table._meta, **options)
        held = dask.delayed(self, pure=False, traverse=False)
        more = {"model": held, "method": method, "like": meta, "options": options}
        return table.map_partitions(_on_partition, **more, meta=meta)

    def save(self, path: str | Path) -> None:
        """Write the model to a file that :func:`leaven.load` reads without running code of it.

        Parameters
        ----------
        path : str or path
            A file of this name is replaced, at once or not at all.
        """
        kept = self
        if self.uses_embedder:
            kept = self.with_embedder(cache=None)  # a place on this machine
        save_object(path, kept, kind=KIND, about=self.about)

    def with_embedder(
        self, model: str | None = None, *, cache: str | Path | None = None
    ) -> TableModel:
        """Return the model with another place of its embedding model or of the vectors it made.

        Parameters
        ----------
        model : str, optional
            The name or folder of the embedding model; it must be the same model. None leaves it
            as it is.
        cache : str or Path, optional
            A file that keeps the vectors, so that a text or image is embedded once. It is not
            saved with the model.

        Returns
        -------
        TableModel
        """
        if not self.uses_embedder:
            raise TableError(
                "The model learned from no vectors that an embedding model made: it takes no "
                "other one."
            )
        place: dict[str, Any] = {"cache": None if cache is None else str(cache)}
        if model is not None:
            place["model"] = model
        if self.embedding is not None:
            return replace(self, embedding=replace(self.embedding, **place))
        return replace(self, pixels=replace(self.pixels, **place))  # type: ignore[type-var]

    @property
    def uses_embedder(self) -> bool:
        """Whether an embedding model makes vectors of the texts or images."""
        return self.embedding is not None or isinstance(self.pixels, ImageVectors)

    @property
    def _used(self) -> dict[str, str]:
        """The kinds of the columns in use, by name."""
        return {kind.name: kind.kind for kind in self.preparer.kinds_ if not kind.reason}

    @property
    def _proportions(self) -> NDArray[np.float64]:
        counts = np.asarray(self.about["class_counts"], dtype=np.float64)
        return np.asarray(counts / counts.sum())

    def _features(
        self, table: pd.DataFrame, vectors: Any, image_folder: str | Path
    ) -> pd.DataFrame:
        """Bring the columns of a table into those of the fit; say what differs."""
        if not len(table):
            raise TableError("The table has no rows: nothing to label.")
        names = [str(name) for name in table.columns]
        self._check_columns([*names, *([] if vectors is None else [VECTORS])], depth=5)
        features = table.set_axis(names, axis=1)
        if vectors is not None:
            features = join_vectors(features, vectors)
        if self.embedding is not None:
            features = self.embedding.join(features)
        if self.pixels is not None:
            features = self.pixels.join(features, image_folder)
        return without_arrow(features.reindex(columns=list(self.columns)))

    def _check_columns(self, names: list[str], depth: int) -> None:
        """Say what differs from the columns of the fit, ``depth`` calls below the user."""
        refuse_duplicates(names, "The table")
        if VECTORS in self._used and VECTORS not in names:
            raise TableError(
                "The model learned from vectors beside the table: those of these rows are needed.",
                advice=("Pass", "vectors", "vectors.npy"),
            )
        if self.embedding is not None:
            names = [*names, *self.embedding.names_of(names)]
        if self.pixels is not None:
            names = [*names, *self.pixels.names_of(names)]
        missing = [name for name in self._used if name not in names]
        if len(missing) == len(self._used):
            raise TableError(
                f"The table has none of the columns that the model learned from: "
                f"{_listed(missing)}. Is it another table?"
            )
        if missing:
            warnings.warn(
                f"The table has no column {_listed(missing)}, which the model learned from: the "
                "cells count as missing.",
                LeavenWarning,
                stacklevel=depth,
            )
        more = [name for name in names if name not in (*self.columns, self.target)]
        if more:
            warnings.warn(
                f"The model does not know the column {_listed(more)}: not used.",
                LeavenWarning,
                stacklevel=depth,
            )


def _on_partition(
    rows: pd.DataFrame, model: TableModel, method: str, like: Any, options: dict[str, Any]
) -> Any:
    """Apply a method to one partition; the answer has the dtypes of ``like``."""
    if not len(rows):
        return like
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeavenWarning)  # once per partition is too often
        found = getattr(model, method)(rows, **options)
    return found.astype(like.dtype if method == "predict" else dict(like.dtypes))


def _chunks(n: int) -> Iterator[slice]:
    for start in range(0, n, _CHUNK):
        yield slice(start, min(start + _CHUNK, n))


def _count_rows(number: int) -> str:
    return "1 row has" if number == 1 else f"{number:,} rows have"


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return shown + (f" and {more:,} more" if more > 0 else "")
