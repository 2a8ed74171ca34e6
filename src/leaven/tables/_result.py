"""What labeling a table gives."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven._html import html_box, html_lines, html_table
from leaven.model_selection import SafeReport
from leaven.tables._embed import Embedding
from leaven.tables._embed_images import ImageVectors
from leaven.tables._images import Pixels
from leaven.tables._kinds import IMAGE_PATHS, TEXT, as_cells
from leaven.tables._labeler import TableLabeler, fitted_classifier
from leaven.tables._model import TableModel
from leaven.tables._options import LabelingOptions
from leaven.tables._passage import MAX_TEXTS, telling_passage, word_weights
from leaven.tables._prepare import TablePreparer
from leaven.tables._select import TableSelection

_MOST_SHOWN = 10  # classes in the table of a notebook, the largest ones


@dataclass(frozen=True)
class ClassCount:
    """How many rows of one class came with the label and how many were inferred.

    Parameters
    ----------
    name : object
        The class, as it stands in the target column.
    given, inferred : int
    """

    name: Any
    given: int
    inferred: int


@dataclass(frozen=True)
class LabelingSummary:
    """What was done to a table.

    Parameters
    ----------
    target : str
    n_rows, n_given, n_inferred : int
        All rows, those that came with a label, those that were labeled.
    classes : list of ClassCount
    method : str
        The name of the one that was used.
    mean_confidence : float
        Over the inferred rows.
    columns : dict of str to str
        The kind of each column that was used.
    weights : dict of str to float
        How much each column in use counted in the distance of two rows, in the model that
        labeled the table.
    dropped : dict of str to str
        Why a column was not used.
    notes : list of str
        What the user should know.
    n_review : int
        Inferred rows that are hard to classify.
    review_confidence : float or None
        The highest confidence of these rows; None if there is none.
    review_rule : str
        The rule, in words.
    seconds : float
    since : str
        How this run compares with the one it started from, in a sentence; else empty.
    """

    target: str
    n_rows: int
    n_given: int
    n_inferred: int
    classes: list[ClassCount]
    method: str
    mean_confidence: float
    columns: dict[str, str]
    weights: dict[str, float]
    dropped: dict[str, str]
    notes: list[str] = field(default_factory=list)
    n_review: int = 0
    review_confidence: float | None = None
    review_rule: str = ""
    seconds: float = 0.0
    since: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, repr=False)
class LabelingResult:
    """A labeled table and what is known of how it came about.

    Parameters
    ----------
    table : DataFrame
        The columns that came, and the four new ones.
    summary : LabelingSummary
    probabilities : DataFrame of shape (n_rows, n_classes)
        With the index of the table and a column for each class.
    preparer : TablePreparer
        Fitted, and without weights: methods that need them learn them.
    estimator : classifier
        Fitted on the prepared table and the codes of the classes:
        ``estimator.predict_proba(preparer.transform(new_rows))``.
    options : LabelingOptions
        How it was to be labeled.
    chosen : TableSelection
        What the choice of a method gave, with the fitted candidates.
    embedding : Embedding or None
        What made vectors of texts.
    pixels : Pixels, ImageVectors or None
        What made vectors of images.
    selection : SafeReport or None
        How the candidates did on labels that were held out, and why one was chosen; None
        where a method was named.
    curve : DataFrame or None
        The learning curve so far: ``method``, ``n_labeled``, ``accuracy``, ``standard_error``.
    points : DataFrame or None
        A map of (a sample of) the rows: ``row`` (position), ``x``, ``y``.
    ask : ndarray of int or None
        Positions of the rows most worth labeling next, the first one first.
    """

    table: pd.DataFrame
    summary: LabelingSummary
    probabilities: pd.DataFrame
    preparer: TablePreparer
    estimator: Any
    options: LabelingOptions
    chosen: TableSelection
    embedding: Embedding | None = None
    pixels: Pixels | ImageVectors | None = None
    selection: SafeReport | None = None
    curve: pd.DataFrame | None = None
    points: pd.DataFrame | None = None
    ask: NDArray[np.intp] | None = None

    def model(self) -> TableModel:
        """Return what was learned, for rows that were not in the table.

        Returns
        -------
        TableModel
        """
        classes = self.probabilities.columns.to_numpy()
        counts = self.probabilities.to_numpy().sum(axis=0)
        summary = self.summary
        return TableModel(
            target=summary.target,
            classes=classes,
            columns=tuple(str(name) for name in self.preparer.feature_names_in_),
            embedding=self.embedding,
            pixels=self.pixels,
            preparer=self.preparer,
            estimator=self.estimator,
            about={
                "target": summary.target,
                "n_rows": summary.n_rows,
                "n_labeled": summary.n_given,
                "classes": [str(name) for name in classes],
                "class_counts": [round(float(count), 3) for count in counts],
                "labels_per_class": [each.given for each in summary.classes],
                "method": summary.method,
                "candidates": list(self.chosen.selection.decision.weights),
                "estimated_accuracy": self.estimated_accuracy,
                "embed": self._embed,
                "columns": dict(summary.columns),
                "dropped": dict(summary.dropped),
            },
        )

    @property
    def _embed(self) -> str | None:
        """The embedding model, of texts or of images."""
        if self.embedding is not None:
            return self.embedding.model
        return self.pixels.model if isinstance(self.pixels, ImageVectors) else None

    @property
    def image_column(self) -> str | None:
        """The column of paths of images, where it is known in which folder these are."""
        if self.options.image_folder is None:
            return None
        reasons = self.preparer.dropped_
        return next((name for name, why in reasons.items() if why == IMAGE_PATHS), None)

    def passage(self, row: int, column: str, width: int = 80) -> str:
        """Return a cell as one line; of a long text the passage that tells its class.

        Parameters
        ----------
        row : int
            Its position.
        column : str
            Of the table.
        width : int, default=80
            Characters at most, where the column is one of texts.

        Returns
        -------
        str
        """
        place = [str(name) for name in self.table.columns].index(column)
        cell: Any = self.table.iloc[row, place]
        if column not in self._text_columns or (pd.api.types.is_scalar(cell) and pd.isna(cell)):
            return " ".join(str(cell).split())
        return telling_passage(str(cell), self._word_weights(column, place), width)

    @property
    def _text_columns(self) -> set[str]:
        used = {name for name, kind in self.summary.columns.items() if kind == TEXT}
        return used if self.embedding is None else used | set(self.embedding.columns)

    def _word_weights(self, column: str, place: int) -> dict[str, float]:
        """The words of a column by how much they tell of the class; computed once."""
        kept = self.__dict__.setdefault("_kept_word_weights", {})
        if column not in kept:
            n_rows = len(self.table)
            rows = np.unique(np.linspace(0, n_rows - 1, min(n_rows, MAX_TEXTS)).astype(np.intp))
            texts = as_cells(self.table.iloc[rows, place]).astype(str).tolist()
            kept[column] = word_weights(texts, self.probabilities.to_numpy(dtype=float)[rows])
        found: dict[str, float] = kept[column]
        return found

    def __repr__(self) -> str:
        summary = self.summary
        return (
            f"LabelingResult({summary.n_inferred:,} of {summary.n_rows:,} rows labeled by "
            f"{summary.method} from {summary.n_given:,} labels)"
        )

    def _repr_html_(self) -> str:
        summary = self.summary
        counts = sorted(summary.classes, key=lambda count: -(count.given + count.inferred))
        rows = [
            (count.name, f"{count.given:,}", f"{count.inferred:,}")
            for count in counts[:_MOST_SHOWN]
        ]
        more = len(counts) - len(rows)
        return html_box(
            html_lines(
                f"{summary.n_inferred:,} of {summary.n_rows:,} rows labeled by {summary.method} "
                f"from {summary.n_given:,} labels.",
                strong=True,
            ),
            html_lines("" if self.selection is None else self.selection.verdict),
            html_table(rows, header=(summary.target, "given", "inferred")),
            html_lines(
                f"and {more} more classes" if more > 0 else "",
                f"To review: {summary.n_review:,} rows that are hard to classify.",
            ),
        )

    @property
    def pipeline_(self) -> TableLabeler:
        """The preparation and the method that labeled the table, as a scikit-learn classifier.

        It is fitted, and predicts from tables with the columns of this one but for the target;
        ``sklearn.base.clone(result.pipeline_).fit(X, y)`` learns anew with the same choices.
        """
        return fitted_classifier(self)

    def save(self, path: str | Path) -> None:
        """Keep the model in a file, for :func:`leaven.load` and ``leaven predict``.

        Parameters
        ----------
        path : str or path
            A file of this name is replaced, at once or not at all.
        """
        self.model().save(path)

    @property
    def estimated_accuracy(self) -> list[float] | None:
        """Low end, estimate and high end, from held-out labels; None if there were none."""
        if self.selection is None or not self.selection.n_tested:
            return None
        found = self.selection
        ends = (
            found.expected_accuracy_low,
            found.expected_accuracy,
            found.expected_accuracy_high,
        )
        return [round(float(value), 4) for value in ends] if np.isfinite(ends).all() else None
