"""The first step of labeling a table: check it, encode its labels, turn columns into features."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven._labels import class_prior
from leaven._progress import phase
from leaven.tables._embed import SUFFIX, Embedding
from leaven.tables._embed_images import ImageVectors
from leaven.tables._empty_rows import rows_without_cells
from leaven.tables._errors import TableError
from leaven.tables._frames import without_arrow
from leaven.tables._images import Pixels, find_pixels, image_column
from leaven.tables._kinds import TEXT, check_text_columns, column_kinds, suggest
from leaven.tables._options import LabelingOptions
from leaven.tables._prepare import TablePreparer
from leaven.tables._read import refuse_duplicates
from leaven.tables._select import PreparedRows
from leaven.tables._target import Target, encode_target
from leaven.tables._vectors import join_vectors

NEW_COLUMNS = ("predicted", "confidence", "source", "review")
"""What is added to the name of the target for the new columns."""


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """A table in the form in which methods take it.

    Parameters
    ----------
    labels : Target
    preparer : TablePreparer
        Fitted, without weights.
    rows : PreparedRows
    prior : {"labeled", "uniform"}, array of shape (n_classes,) or None
    empty : bool array of shape (n_rows,)
        Rows without a cell in the columns that are learned from.
    embedding : Embedding or None
        What made vectors of texts.
    pixels : Pixels, ImageVectors or None
        What made vectors of images.
    """

    labels: Target
    preparer: TablePreparer
    rows: PreparedRows
    prior: Any
    empty: NDArray[np.bool_]
    embedding: Embedding | None = None
    pixels: Pixels | ImageVectors | None = None


def prepare_table(
    table: pd.DataFrame,
    target: Hashable,
    options: LabelingOptions,
    *,
    needs_unlabeled: bool = True,
    vectors: Any = None,
) -> PreparedTable:
    """Check a table, encode its labels, and turn its columns into features."""
    phase("Preparing the columns")
    features, texts = _check_columns(table, target, options, vectors)
    labels = encode_target(
        table[target],
        missing=options.missing,
        strict=options.strict,
        needs_unlabeled=needs_unlabeled,
    )
    prior = _check_prior(options.prior, labels)
    embedding, pixels = _embedding(features, texts, options)
    if embedding is not None:
        features = embedding.join(features, options.embed_cache)
    if isinstance(pixels, ImageVectors) and options.image_folder is not None:
        features = pixels.join(features, options.image_folder, options.embed_cache)
    # Given vectors are those of the images, too.
    elif options.image_folder is not None and vectors is None:
        pixels = find_pixels(features, options.image_folder)
        if pixels is not None:
            features = pixels.join(features, options.image_folder)
    preparer = TablePreparer(
        text=texts,
        ignore=[str(name) for name in options.ignored],
        weigh=False,
        random_state=options.random_state,
    )
    Z = preparer.fit_transform(features)
    rows = PreparedRows.of(preparer, Z)
    used = {kind.name: kind.kind for kind in preparer.kinds_ if not kind.reason}
    empty = rows_without_cells(features, used)
    return PreparedTable(labels, preparer, rows, prior, empty, embedding, pixels)


def _embedding(
    features: pd.DataFrame, texts: list[str], options: LabelingOptions
) -> tuple[Embedding | None, ImageVectors | Pixels | None]:
    """What is to be embedded: texts that are named, those that are detected, or else images."""
    if options.embed is None:
        return None, None
    columns = texts or [kind.name for kind in column_kinds(features) if kind.kind == TEXT]
    pictures = None
    if not columns and options.image_folder is not None:
        pictures = image_column(features)
    if not columns and pictures is None:
        raise TableError(
            "embed is given, but no column looks like a text, and none holds paths of images.",
            advice=("Name it:", "text", "..."),
        )
    for column in columns if pictures is None else [pictures]:
        if f"{column}{SUFFIX}" in features.columns:
            raise TableError(
                f"The vectors of {column!r} get the name {f'{column}{SUFFIX}'!r}, but there is "
                "such a column. Rename it."
            )
    if pictures is not None:
        return None, ImageVectors(options.embed, pictures)
    return Embedding(options.embed, tuple(columns)), None


def _check_columns(
    table: pd.DataFrame, target: Hashable, options: LabelingOptions, vectors: Any
) -> tuple[pd.DataFrame, list[str]]:
    """Return the columns to learn from, named by strings, and the names of the texts."""
    if isinstance(table.columns, pd.MultiIndex):
        raise TableError("The table has column names of several levels. Join them into one.")
    # 1 and "1" would have the same name in a file.
    refuse_duplicates([str(column) for column in table.columns], "The table")
    columns = list(table.columns)
    if target not in columns:
        raise TableError(f"There is no target column {target!r}.{suggest(target, columns)}")
    for suffix in NEW_COLUMNS:
        if f"{target}_{suffix}" in columns:
            raise TableError(
                f"The table already has a column {f'{target}_{suffix}'!r}, and it is not the "
                "output of an earlier run. Rename or remove that column."
            )
    texts = options.texts
    if target in texts:
        raise TableError(f"{target!r} cannot be both the target and a text to learn from.")
    features = table.drop(columns=[target])
    check_text_columns(texts, columns)
    check_text_columns(options.ignored, columns, what="column to ignore,")
    if not len(features.columns) and vectors is None:
        raise TableError(
            f"The table has no column but the target {target!r}: nothing to learn from."
        )
    features.columns = [str(column) for column in features.columns]
    if vectors is not None:
        features = join_vectors(features, vectors)
    return without_arrow(features), [str(name) for name in texts]


def _check_prior(prior: Any, labels: Target) -> Any:
    """Check the class proportions and bring them into the order of the classes."""
    if prior is None:
        return None
    if isinstance(prior, dict):
        # From the command line the names are strings, whatever the classes are.
        by_text = {str(name): name for name in labels.classes.tolist()}
        prior = {by_text.get(str(name), name): share for name, share in prior.items()}
    try:
        proportions = class_prior(prior, labels.codes, labels.classes)
    except (TypeError, ValueError) as error:
        raise TableError(str(error)) from error
    return prior if isinstance(prior, str) else proportions
