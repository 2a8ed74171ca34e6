"""The column to fill: which rows carry a label, and which classes there are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven._labels import UNLABELED, encode_labels, labeled_mask
from leaven.tables._errors import TableError
from leaven.tables._frames import own_type
from leaven.tables._kinds import DATE, column_kinds

MAX_CLASSES = 1000
"""More distinct labels than this are not classes but names, texts or numbers."""

MAX_INTEGER_CLASSES = 200
"""More distinct integers than this are a quantity."""

MAX_FRACTION_CLASSES = 10
"""More distinct numbers than this, some of them not whole, are a quantity."""

FEW_INTEGER_CLASSES = 20
"""More distinct integers than this, most of them there once, are a quantity."""

FEW_DISTINCT = 50
"""More labels than this, of which no two are alike, may be names. With fewer, someone has
labeled one row of each class."""

ROWS_PER_CLASS = 5
"""Rows per label from which more labels without a second of their kind are classes too: an id
or a free text has a value in most rows."""

LONG_LABEL = 40
"""Characters of the typical label above which it is a sentence and not the name of a class."""

_MOST_LISTED = 10
"""Class names in a note; the others are counted."""

_MISSING_WORDS = ("NA", "N/A", "NaN", "nan", "null", "NULL", "None", "none", "?", "-", "<NA>")


@dataclass(frozen=True)
class Target:
    """A column of labels, encoded.

    Parameters
    ----------
    values : Series
        The column as it came.
    classes : ndarray
        The sorted class names.
    codes : ndarray of int
        0 .. n_classes - 1, and UNLABELED where there is no label.
    notes : list of str
        What the user should know about how the column was read.
    doubts : list of str
        Those of the notes that are about labels that may be mistakes.
    """

    values: pd.Series
    classes: NDArray[Any]
    codes: NDArray[np.intp]
    notes: list[str]
    doubts: list[str] = field(default_factory=list)

    @property
    def given(self) -> NDArray[np.bool_]:
        """Which rows came with a label."""
        return np.asarray(self.codes != UNLABELED)

    def filled(self, codes: NDArray[np.intp]) -> pd.Series:
        """Return the column with the classes of ``codes`` in the rows that had no label.

        Given labels are the very cells that came, and the dtype is the column's own.
        """
        rows = ~self.given
        filled = self.values.copy()
        labels = pd.Series(self.classes[codes[rows]]).astype(self.values.dtype)
        filled.iloc[np.flatnonzero(rows)] = labels.array
        return filled


def encode_target(
    values: pd.Series,
    *,
    missing: Iterable[str] = (),
    strict: bool = False,
    needs_unlabeled: bool = True,
    fewest_classes: int = 2,
) -> Target:
    """Find the labels in a column.

    Rows with an empty cell (missing, or only white space) are unlabeled; so is -1 in a
    column of integers, as everywhere in leaven, and what ``missing`` names.

    Parameters
    ----------
    values : Series
    missing : iterable of str, default=()
        Further cells that mean "no label", such as ``"NA"``.
    strict : bool, default=False
        Refuse labels that look like mistakes.
    needs_unlabeled : bool, default=True
        Refuse a column in which every row has a label.
    fewest_classes : int, default=2
        Refuse a column with fewer; 0 where labels are still to come.

    Raises
    ------
    TableError
        If no row or every row is labeled, if there are too few classes, if the column does not
        hold classes, or if ``strict`` and labels have stray spaces or differ only in case.

    Returns
    -------
    Target

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.tables import encode_target
    >>> found = encode_target(pd.Series(["spam", "", "ham", "spam"], name="kind"))
    >>> found.classes.tolist(), found.codes.tolist()
    (['ham', 'spam'], [1, -1, 0, 1])
    """
    name = str(values.name)
    notes: list[str] = []
    marks = set(missing)
    labels = own_type(values)
    if _is_textual(labels):
        labels = _without_marks(labels, marks, name, notes)
        _refuse_quantities(labels, name, from_text=True)
    else:
        if marks:
            labels = labels.mask(labels.astype(str).isin(marks))
        _refuse_infinite(labels, name)
        _refuse_quantities(labels, name, from_text=False)
    try:
        labeled = labeled_mask(labels)
    except ValueError as error:
        raise TableError(f"Target {name!r}: {error}") from error
    if not labeled.any():
        if fewest_classes == 0:
            return Target(values, np.empty(0, dtype=object), _no_codes(len(values)), notes)
        raise TableError(
            f"Target {name!r} has no labeled row: all {len(values):,} cells are empty. Fill in "
            "some labels of each class first."
        )
    if needs_unlabeled and labeled.all():
        raise _all_labeled(own_type(values), name)
    n_distinct = int(labels[labeled].nunique())
    if n_distinct > MAX_CLASSES:
        raise TableError(
            f"Target {name!r} holds {n_distinct:,} distinct values in {int(labeled.sum()):,} "
            f"labeled rows: this is not a class column (at most {MAX_CLASSES:,} classes). Is it "
            "an id or a free text?"
        )
    _refuse_names(labels[labeled], n_distinct, len(labels), name)
    try:
        classes, codes = encode_labels(labels)
    except ValueError as error:
        raise TableError(f"Target {name!r}: {error}") from error
    if len(classes) < fewest_classes:
        # The mark of integers is easily taken for a class: binary labels are often -1 and 1.
        marked = values.dtype.kind in "iu" or any("integers" in note for note in notes)
        hint = f" ({UNLABELED} among integers marks an unlabeled row)" if marked else ""
        raise TableError(
            f"Target {name!r} holds one class only, {classes.tolist()[0]!r}{hint}: label rows of "
            "at least two classes."
        )
    doubts = _lookalikes(classes, name) + _stray_spaces(classes, name)
    if doubts and strict:
        raise TableError(f"{' '.join(doubts)} Correct the labels, or do without strict.")
    counts = np.bincount(codes[codes != UNLABELED], minlength=len(classes))
    notes.extend(doubts + _lone_classes(classes[counts == 1], len(classes), name))
    return Target(values, classes, codes, notes, doubts)


def _no_codes(n_rows: int) -> NDArray[np.intp]:
    return np.full(n_rows, UNLABELED, dtype=np.intp)


def _is_textual(values: pd.Series) -> bool:
    if isinstance(values.dtype, pd.StringDtype):
        return True
    return values.dtype == object and pd.api.types.infer_dtype(values, skipna=True) == "string"


def _without_marks(values: pd.Series, marks: set[str], name: str, notes: list[str]) -> pd.Series:
    """Labels of a column of strings, with None where a cell says that there is none.

    Works on the distinct cells, which are few where the column holds classes.
    """
    codes, distinct = pd.factorize(values)
    cells = [str(cell) for cell in distinct]
    none = np.array([not cell.strip() or cell in marks for cell in cells], dtype=bool)
    integers = _as_integers(
        [cell for cell, is_none in zip(cells, none, strict=True) if not is_none]
    )
    if integers is not None:
        marked = np.zeros(len(cells), dtype=bool)
        marked[~none] = ~labeled_mask(integers)
        if marked.any():
            count = int(np.isin(codes, np.flatnonzero(marked)).sum())
            notes.append(
                f"{count:,} cells with {UNLABELED} in {name!r}, a column of integers, were read "
                "as unlabeled."
            )
        none |= marked
    # The last one stands for code -1: missing for pandas already.
    names = np.full(len(cells) + 1, None, dtype=object)
    names[:-1][~none] = [cell for cell, is_none in zip(cells, none, strict=True) if not is_none]
    suspects = [cell for cell in names if cell in _MISSING_WORDS]
    if suspects and len(codes) and (none.any() or (codes < 0).any()):
        notes.append(
            f"{suspects[0]!r} in {name!r} was read as a class. The option 'missing' makes it mean "
            "'no label'."
        )
    return pd.Series(names[codes], index=values.index, name=values.name, dtype=object)


def _as_integers(cells: list[str]) -> NDArray[np.int64] | None:
    """Integers of the cells, or None if one of them is not an integer."""
    try:
        return np.array([int(cell) for cell in cells], dtype=np.int64) if cells else None
    except (ValueError, OverflowError):
        return None


def _refuse_quantities(labels: pd.Series, name: str, *, from_text: bool) -> None:
    """Raise if the labels are numbers that measure something: that is regression."""
    try:
        distinct = pd.Series(labels.dropna().unique())
    except TypeError:  # Lists and the like, which encode_labels refuses.
        return
    if pd.api.types.is_bool_dtype(distinct.dtype):
        return
    if from_text:
        if len(distinct) <= MAX_FRACTION_CLASSES:
            return
        numbers = pd.to_numeric(distinct, errors="coerce").astype("float64")
        if numbers.isna().any():
            return
    elif pd.api.types.is_numeric_dtype(distinct.dtype):
        numbers = distinct.astype("float64")
    else:
        return
    whole = bool((numbers == np.floor(numbers)).all())
    # Typed numbers with a fraction never name classes; cells of text may ("0.5", "1.0").
    limit = MAX_INTEGER_CLASSES if whole else (MAX_FRACTION_CLASSES if from_text else 0)
    if whole and len(numbers) > labels.notna().sum() / 2:
        limit = FEW_INTEGER_CLASSES
    if len(numbers) > limit:
        raise TableError(
            f"Target {name!r} holds {len(numbers):,} distinct numbers from {numbers.min():g} to "
            f"{numbers.max():g}: this is a quantity, which needs regression, and not a class "
            "column. If the numbers name classes, write them as words (such as 'c7')."
        )


def _refuse_names(labels: pd.Series, n_distinct: int, n_rows: int, name: str) -> None:
    """Raise if the labels look like ids, texts or dates, which occur once each, and not classes."""
    few = FEW_DISTINCT if n_distinct == len(labels) else FEW_INTEGER_CLASSES
    if n_distinct <= few or n_distinct <= len(labels) / 2:
        return
    first = str(labels.iloc[0])
    if column_kinds(labels.to_frame(name))[0].kind == DATE:
        raise TableError(
            f"Target {name!r} holds {n_distinct:,} distinct dates such as {first!r} in "
            f"{len(labels):,} labeled rows: this is no column of classes. Label by month or year, "
            "if that is meant."
        )
    if n_distinct < len(labels):
        return
    is_long = labels.astype(str).str.len().median() > LONG_LABEL
    if is_long or n_rows < ROWS_PER_CLASS * n_distinct:
        raise TableError(
            f"Target {name!r} holds {n_distinct:,} labels in {n_rows:,} rows, no two of them "
            f"alike, such as {first!r}: it looks like an id or a free text. If these are classes, "
            "label a second row of one of them."
        )


def _refuse_infinite(labels: pd.Series, name: str) -> None:
    if labels.dtype.kind == "f" and bool(np.isinf(labels.to_numpy(dtype=float)).any()):
        raise TableError(f"Target {name!r} holds infinite values, which name no class.")


def _all_labeled(values: pd.Series, name: str) -> TableError:
    message = f"Every one of the {len(values):,} rows has a label in {name!r}: nothing to infer."
    if _is_textual(values):
        for word in _MISSING_WORDS:
            if bool((values == word).any()):
                words = f"If {word} means 'no label', pass"
                return TableError(message, advice=(words, "missing", word))
    return TableError(f"{message} Leave the cells empty that are to be labeled.")


def _stray_spaces(classes: NDArray[Any], name: str) -> list[str]:
    """Notes on class names with white space around them."""
    strays = [
        label for label in classes.tolist() if isinstance(label, str) and label != label.strip()
    ]
    if not strays:
        return []
    return [f"Classes of {name!r} with spaces around the name: {_listed(strays)}."]


def _lone_classes(lone: NDArray[Any], n_classes: int, name: str) -> list[str]:
    """Notes on classes with one label, of which none can be held out."""
    if not len(lone):
        return []
    if n_classes > FEW_DISTINCT and len(lone) == n_classes:
        return [
            f"Each of the {n_classes:,} classes in {name!r} has one label: none can be held out, "
            "so that the expected accuracy is a guess. Label a second row of some of them."
        ]
    return [
        f"One label only of class {_listed(lone.tolist())} in {name!r}: how well it is found "
        "cannot be estimated."
    ]


def _listed(labels: list[Any]) -> str:
    more = f" and {len(labels) - _MOST_LISTED:,} more" if len(labels) > _MOST_LISTED else ""
    return ", ".join(map(repr, labels[:_MOST_LISTED])) + more


def _lookalikes(classes: NDArray[Any], name: str) -> list[str]:
    """Notes on class names that differ only in case or white space."""
    if classes.dtype != object:
        return []
    groups: dict[str, list[str]] = {}
    for label in classes.tolist():
        groups.setdefault(" ".join(str(label).split()).casefold(), []).append(label)
    return [
        f"Classes of {name!r} that differ only in case or spaces: {', '.join(map(repr, group))}."
        for group in groups.values()
        if len(group) > 1
    ]
