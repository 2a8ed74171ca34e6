"""What the meta-estimators of this family share: rows, labels and probabilities."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import MetaEstimatorMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from leaven import base
from leaven._compat import validate_params_of
from leaven._progress import progress_bar

LOGGER = logging.getLogger("leaven")

# Rows to be predicted are gathered in blocks of about this size (4 MB).
_BLOCK_BYTES = 2**22

HISTORY_COLUMNS = ("iteration", "row", "label", "confidence")


class MetaClassifierMixin(base.TransductionMixin, MetaEstimatorMixin):
    """A classifier around another one: checks ``X`` and hands data frames through.

    A data frame is not turned into an array, so that the wrapped estimator sees the column
    names and the dtypes (a pipeline with a ``ColumnTransformer`` needs both). What the
    wrapped estimator accepts, such as NaN or sparse rows, is accepted here.
    """

    estimator: Any
    verbose: int
    progress: bool
    feature_names_in_: NDArray[Any]
    _fitted_on_frame: bool

    def _validate_rows_fit(self, X: Any, y: Any) -> tuple[Any, NDArray[np.intp]]:
        """Check parameters, ``X`` and ``y`` for ``fit``; give ``X`` and the codes of ``y``."""
        # Before the estimator is asked what it accepts: it may not be an estimator.
        validate_params_of(self)
        self._fitted_on_frame = isinstance(X, pd.DataFrame)
        if self._fitted_on_frame:
            return self._validate_fit(X, y, skip_check_array=True)
        return self._validate_fit(X, y, **self._row_checks())

    def _validate_rows(self, X: Any) -> Any:
        """Check ``X`` for prediction, in the form in which the wrapped estimator was fitted."""
        check_is_fitted(self)
        if self._fitted_on_frame and isinstance(X, pd.DataFrame):
            return validate_data(self, X, reset=False, skip_check_array=True)
        X = validate_data(self, X, reset=False, **self._row_checks())
        if self._fitted_on_frame and isinstance(X, np.ndarray):
            # Missing names have been warned of above; once is enough.
            return pd.DataFrame(X, columns=getattr(self, "feature_names_in_", None))
        return X

    def _row_checks(self) -> dict[str, Any]:
        inputs = [get_tags(estimator).input_tags for estimator in self._wrapped()]
        textual = all(tags.categorical or tags.string for tags in inputs)
        return {
            "accept_sparse": "csr",
            "dtype": None if textual else "numeric",
            "ensure_all_finite": "allow-nan" if all(t.allow_nan for t in inputs) else True,
        }

    @contextmanager
    def _reporter(self, total: int | None) -> Iterator[Callable[..., None]]:
        """Give a function to be called after each round: a line in the log, a step of the bar.

        It takes how much of ``total`` is done, and the line as :mod:`logging` does.
        """
        name = type(self).__name__
        with progress_bar(name, total, show=self.progress) as move:

            def report(done: int, line: str, *values: Any) -> None:
                if self.verbose:
                    LOGGER.info(f"%s: {line}", name, *values)
                move(done)

            yield report

    def _wrapped(self) -> list[Any]:
        """The estimators given by the user whose abilities decide what X may be."""
        return [self.estimator]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inputs = [get_tags(estimator).input_tags for estimator in self._wrapped()]
        tags.input_tags.sparse = all(each.sparse for each in inputs)
        tags.input_tags.allow_nan = all(each.allow_nan for each in inputs)
        return tags


class RowStore:
    """Gathers rows of ``X``, round after round, without allocating in every round.

    A dense array is gathered into one buffer that is reused, and grown when the labeled set
    has outgrown it, so that all rounds together hold at most one copy of ``X``. The rows
    keep the order of ``X``: the estimator sees what it would see without the buffer. What
    was returned is overwritten by the next call, so one store serves one estimator. The
    rows of sparse and pandas data are gathered anew, and released with the round.
    """

    def __init__(self, X: Any) -> None:
        self.X = X
        self._buffer: NDArray[Any] | None = None

    def take(self, rows: NDArray[np.intp]) -> Any:
        """Return the ``rows`` of ``X``, in this order."""
        X = self.X
        if not isinstance(X, np.ndarray):
            return base.take_rows(X, rows)
        capacity = 0 if self._buffer is None else len(self._buffer)
        if capacity < len(rows):
            self._buffer = None  # released before the larger one is allocated
            self._buffer = np.empty(
                (min(len(X), max(len(rows), 2 * capacity)), X.shape[1]), dtype=X.dtype
            )
        assert self._buffer is not None
        # mode="raise" would make numpy gather into a temporary array first.
        return np.take(X, rows, axis=0, out=self._buffer[: len(rows)], mode="clip")


def predict_in_blocks(
    predict: Callable[[Any], NDArray[Any]], X: Any, rows: NDArray[np.intp]
) -> NDArray[Any]:
    """Apply ``predict`` to some rows of ``X``, never copying all of them at once."""
    if sparse.issparse(X):
        row_bytes = 16 * X.nnz // max(X.shape[0], 1) + 16
    else:
        row_bytes = X.shape[1] * (X.dtype.itemsize if isinstance(X, np.ndarray) else 8)
    size = max(256, _BLOCK_BYTES // max(row_bytes, 1))
    parts = [predict(base.take_rows(X, rows[i : i + size])) for i in range(0, len(rows), size)]
    return np.concatenate(parts) if parts else predict(base.take_rows(X, np.arange(1)))[:0]


def class_probabilities(estimator: Any, classes: NDArray[Any], X: Any) -> NDArray[Any]:
    """Return P(c|x) with a column for each of ``classes``, all of which ``estimator`` has seen.

    An estimator without ``predict_proba`` gives probability one to the class it predicts: the
    rounds compare confidences, and those of an uncalibrated decision function mean nothing.
    """
    return base.class_probabilities(
        estimator, X, classes=classes, sources=("predict_proba", "predict")
    )


def require_predict_proba(caller: Any, estimator: Any, instead: str) -> None:
    """Refuse a fitted estimator without probabilities, and say what works ``instead``."""
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"{type(caller).__name__} needs an estimator with predict_proba, but "
            f"{type(estimator).__name__} has none. {instead}"
        )


def fit_classifier(
    estimator: Any, X: Any, y: NDArray[Any], sample_weight: NDArray[Any] | None = None
) -> Any:
    """Fit ``estimator`` in place, with weights (for a pipeline, on its last step)."""
    if sample_weight is None:
        return estimator.fit(X, y)
    if isinstance(estimator, Pipeline):
        return estimator.fit(X, y, **{f"{estimator.steps[-1][0]}__sample_weight": sample_weight})
    return estimator.fit(X, y, sample_weight=sample_weight)


def require_sample_weight(caller: Any, estimator: Any, instead: str) -> None:
    """Refuse an estimator whose ``fit`` takes no weights, and say what works ``instead``."""
    last = base.final_step(estimator)
    if not has_fit_parameter(last, "sample_weight"):
        raise ValueError(
            f"{type(caller).__name__} passes weights to the estimator, but the fit of "
            f"{type(last).__name__} takes no sample_weight. {instead}"
        )


def history_frame(
    parts: list[dict[str, Any]], columns: tuple[str, ...] = HISTORY_COLUMNS
) -> pd.DataFrame:
    """Put the rounds' additions below each other; without any, a frame of no rows."""
    # pandas would let an empty part decide on the dtypes of the whole.
    frames = [pd.DataFrame(part, columns=list(columns)) for part in parts if len(part["row"])]
    if frames:
        return pd.concat(frames, ignore_index=True)
    return pd.DataFrame({name: pd.Series(dtype=np.intp) for name in columns})
