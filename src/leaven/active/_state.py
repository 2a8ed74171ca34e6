"""The labels of a session of labeling, step by step, and the names of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from leaven._labels import UNLABELED, encode_labels, labeled_mask, mask_labels


@dataclass(frozen=True)
class Step:
    """One call of ``teach``: rows, their labels, the labels before, and which were asked."""

    rows: list[int]
    labels: list[Any]
    previous: list[Any]
    asked: list[bool]


class LabelState:
    """Labels of all rows, with the steps that led there.

    ``labels`` holds Python values, and None where a row has no label; ``known`` tells these
    apart. ``asked`` are the rows that were ever handed out.
    """

    def __init__(self, n_rows: int, y: Any = None) -> None:
        self.labels: NDArray[Any] = np.full(n_rows, None, dtype=object)
        self.known: NDArray[np.bool_] = np.zeros(n_rows, dtype=bool)
        self.steps: list[Step] = []
        self.asked: set[int] = set()
        self.dtype: np.dtype[Any] | None = None
        if y is None:
            return
        self.known = labeled_mask(y)
        if self.known.any():
            classes, codes = encode_labels(y)
            self.labels[self.known] = as_python(classes[codes[self.known]])
            self.dtype = classes.dtype
        elif isinstance(y, np.ndarray) and y.dtype.kind == "i":
            self.dtype = y.dtype

    def values(self) -> NDArray[Any]:
        """Give the labels as a ``y`` of the user's dtype, unlabeled rows marked."""
        if not self.known.any():
            if self.dtype is not None and self.dtype.kind in "iu":
                return np.full(len(self.labels), UNLABELED, dtype=self.dtype)
            return self.labels.copy()
        values = mask_labels(self.labels, np.zeros(len(self.labels), dtype=bool))
        return self._in_dtype(values)

    def coded(self) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Give the distinct labels, sorted, and the codes of all rows."""
        if not self.known.any():
            return np.empty(0, dtype=object), np.full(len(self.labels), UNLABELED, dtype=np.intp)
        classes, codes = encode_labels(self.labels)
        return self._in_dtype(classes), codes

    def _in_dtype(self, values: NDArray[Any]) -> NDArray[Any]:
        # Labels taught later may not fit into the dtype of the first ones.
        if (
            self.dtype is not None
            and values.dtype.kind in "iu"
            and self.dtype.kind == "i"
            and np.can_cast(np.min_scalar_type(int(np.abs(values).max())), self.dtype)
        ):
            return values.astype(self.dtype)
        return values

    def teach(self, rows: Sequence[int], labels: Any) -> Step:
        """Set the labels of ``rows``; nothing is changed if one of them is refused."""
        labels = list(labels)
        if len(rows) != len(labels):
            raise ValueError(
                f"teach got {len(rows)} indices and {len(labels)} labels. Give one label a row."
            )
        if not labels:
            raise ValueError("teach got no row. Give at least one index with its label.")
        if len(set(rows)) != len(rows):
            raise ValueError("indices holds a row twice. Give each row once, with one label.")
        given = np.empty(len(labels), dtype=object)
        given[:] = labels
        missing = ~labeled_mask(given)
        if missing.any():
            raise ValueError(
                f"labels holds the mark of an unlabeled row ({labels[int(np.argmax(missing))]!r}). "
                "Leave out rows without a label; undo() takes labels back."
            )
        # The labels together must be of one kind: raises, before anything has changed.
        encode_labels(np.concatenate([self.labels[self.known], given]))
        classes, codes = encode_labels(given)
        new = as_python(classes[codes])
        step = Step(
            rows=[int(row) for row in rows],
            labels=new,
            previous=[self.labels[row] for row in rows],
            asked=[int(row) in self.asked for row in rows],
        )
        self._set(step.rows, step.labels)
        self.steps.append(step)
        return step

    def undo(self) -> Step:
        """Take back the last step."""
        if not self.steps:
            raise ValueError("There is nothing to undo: no label was taught since fit.")
        step = self.steps.pop()
        self._set(step.rows, step.previous)
        return step

    def _set(self, rows: list[int], labels: list[Any]) -> None:
        for row, label in zip(rows, labels, strict=True):
            self.labels[row] = label
            self.known[row] = label is not None

    @property
    def n_taught(self) -> int:
        """Rows that have a label from ``teach``, each counted once."""
        return len({row for step in self.steps for row in step.rows})

    def history(self, index: Any) -> pd.DataFrame:
        """List what was taught: one line per label, in order."""
        start = self.labels.copy()
        for step in reversed(self.steps):
            for row, label in zip(step.rows, step.previous, strict=True):
                start[row] = label
        seen = {label for label in start if label is not None}
        lines = []
        for number, step in enumerate(self.steps, 1):
            for row, label, before, asked in zip(
                step.rows, step.labels, step.previous, step.asked, strict=True
            ):
                lines.append((number, row, label, asked, before, label not in seen))
                seen.add(label)
        columns = ["step", "row", "label", "asked", "replaced", "new_class"]
        frame = pd.DataFrame(lines, columns=columns)
        frame["label"] = frame["label"].astype(object)
        replaced: Any = frame["replaced"].astype(
            object
        )  # the stubs of pandas 2 know no fill of None
        frame["replaced"] = replaced.where(replaced.notna(), None)
        frame["asked"] = frame["asked"].astype(bool)
        frame["new_class"] = frame["new_class"].astype(bool)
        frame.insert(1, "index", index[frame["row"].to_numpy(dtype=np.intp)])
        return frame.drop(columns="row")

    def to_json(self) -> dict[str, Any]:
        """Give all of it as lists and dicts."""
        return {
            "labels": self.labels.tolist(),
            "asked": sorted(self.asked),
            "dtype": None if self.dtype is None else self.dtype.str,
            "steps": [vars(step) for step in self.steps],
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> LabelState:
        """Make it again from what :meth:`to_json` gave."""
        state = cls(len(stored["labels"]))
        state.labels[:] = stored["labels"]
        state.known = np.array([label is not None for label in stored["labels"]], dtype=bool)
        state.asked = set(stored["asked"])
        state.dtype = None if stored["dtype"] is None else np.dtype(stored["dtype"])
        state.steps = [Step(**step) for step in stored["steps"]]
        return state


def as_python(values: NDArray[Any]) -> list[Any]:
    """Labels as plain Python values, which JSON can hold."""
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def rows_and_names(X: Any, index: Any) -> tuple[Any, pd.Index | None]:
    """Bring ``X`` into a form of which rows can be taken, and find the names of the rows."""
    names: pd.Index | None = None
    if isinstance(X, (pd.DataFrame, pd.Series)):
        names = X.index
    if isinstance(X, pd.Series):
        X = X.to_numpy(dtype=object)
    elif not isinstance(X, pd.DataFrame):
        if not sparse.issparse(X):
            X = np.asarray(X)
        if X.ndim == 1 and X.dtype.kind in "OU":
            X = X.astype(object)  # texts
        else:
            X = check_array(X, accept_sparse="csr", dtype=None, ensure_all_finite=False)
    if index is not None:
        if names is not None:
            raise ValueError("index is for an X without one, but X has its own index.")
        check_consistent_length(X, index)
        names = pd.Index(index)
        if not all(isinstance(name, (str, Integral)) for name in names):
            raise ValueError(f"index must hold strings or integers, got {names[0]!r}.")
    if names is not None and not names.is_unique:
        twice = names[names.duplicated()][:3].tolist()
        raise ValueError(
            f"The index of X is not unique ({twice} come more than once), so that it cannot name "
            "rows. Give X.reset_index(drop=True), or a column of ids by X.set_index."
        )
    return X, names


def positions_of(indices: Any, names: pd.Index | None, n_samples: int) -> list[int]:
    """Find the positions of rows by their names, or check them if rows have none."""
    if names is not None:
        wanted = indices if isinstance(indices, pd.Index) else pd.Index(list(indices))
        found = names.get_indexer(wanted)
        if (found < 0).any():
            unknown = wanted[found < 0].tolist()
            raise ValueError(f"indices holds {unknown[:5]}, which are not in the index of X.")
        return [int(row) for row in found]
    positions = np.asarray(list(indices))
    if positions.size and positions.dtype.kind not in "iu":
        raise ValueError(f"indices must be row positions, integers. Got {positions[0]!r}.")
    outside = (positions < 0) | (positions >= n_samples)
    if outside.any():
        raise ValueError(
            f"indices holds {positions[outside][:5].tolist()}, but X has {n_samples} rows: "
            f"positions are 0 to {n_samples - 1}."
        )
    return [int(row) for row in positions]
