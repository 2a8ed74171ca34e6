"""A scikit-learn classifier of the rows of a table, whatever its columns hold."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from leaven._labels import class_prior, encode_labels
from leaven.base import TransductionMixin, class_probabilities
from leaven.tables._embed import SUFFIX, Embedding
from leaven.tables._errors import TableError
from leaven.tables._frames import as_pandas
from leaven.tables._kinds import TEXT, column_kinds
from leaven.tables._options import AUTO, LabelingOptions
from leaven.tables._prepare import TablePreparer
from leaven.tables._select import PreparedRows, select_for_table

if TYPE_CHECKING:
    from leaven.tables._result import LabelingResult

_CHUNK = 50_000  # rows at a time, which bounds the memory of their features


class TableLabeler(TransductionMixin, BaseEstimator):
    """Classify the rows of a table of numbers, categories, dates, texts and vectors.

    What :func:`label_table` does, as an estimator for code that is built on scikit-learn: the
    columns are prepared (:class:`TablePreparer`), a method is chosen on labels that are held out
    or taken by its name, and fitted on all rows, with and without a label.

    Parameters
    ----------
    method : str, default="auto"
    candidates : collection of str, default=None
    text, ignore : collection of str, default=()
    embed : str, optional
    prior : {"labeled", "uniform"}, dict, array or None, default="labeled"
    random_state : int, RandomState instance or None, default=0
    n_jobs : int, default=None
        All as in :class:`LabelingOptions`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    preparer_ : TablePreparer
        Fitted.
    estimator_ : classifier
        Fitted on the prepared rows and the codes of the classes.
    report_ : SafeReport or None
        How the candidates did; None where a method was named.
    embedding_ : Embedding or None
    transduction_ : ndarray of shape (n_samples,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    LabelingResult.pipeline_ : One that is fitted already.
    leaven.model_selection.SafeClassifier : The same choice for a matrix.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.tables import TableLabeler
    >>> X = pd.DataFrame({
    ...     "weight": [4.1, 4.3, 3.9, 90.0, 95.0, 92.5],
    ...     "color": ["red", "red", "black", "green", "green", "red"],
    ... })
    >>> y = ["cherry", None, None, "apple", None, None]
    >>> TableLabeler(method="harmonic").fit(X, y).predict(X).tolist()
    ['cherry', 'cherry', 'cherry', 'apple', 'apple', 'apple']
    """

    def __init__(
        self,
        *,
        method: str = AUTO,
        candidates: Collection[str] | None = None,
        text: Collection[str] = (),
        ignore: Collection[str] = (),
        embed: str | None = None,
        prior: Any = "labeled",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.method = method
        self.candidates = candidates
        self.text = text
        self.ignore = ignore
        self.embed = embed
        self.prior = prior
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> TableLabeler:
        """Prepare the columns, choose a method and fit it.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Table of pyarrow, or array of shape (n_samples, n)
        y : array-like of shape (n_samples,)
            With -1 among integers, or None, NaN or pandas.NA, where a row is unlabeled.

        Returns
        -------
        self
        """
        options = LabelingOptions(
            **{name: getattr(self, name) for name in self.get_params(deep=False)}
        )
        if y is None:
            raise ValueError(
                "TableLabeler requires y to be passed, but the target y is None. Give one entry "
                "per row, with a label or a mark for 'unlabeled'."
            )
        table = self._as_table(X, reset=True)
        check_consistent_length(table, y)
        self.classes_, codes = encode_labels(y, min_classes=2)
        prior = self.prior
        if prior is not None and not isinstance(prior, str):
            prior = class_prior(prior, codes, self.classes_)
        self.embedding_ = None
        if options.embed is not None:
            texts = list(options.texts) or [
                kind.name for kind in column_kinds(table) if kind.kind == TEXT
            ]
            self.embedding_ = Embedding(options.embed, tuple(map(str, texts)))
            table = self.embedding_.join(table)
        self.preparer_ = TablePreparer(
            text=[str(name) for name in options.texts],
            ignore=[str(name) for name in options.ignored],
            weigh=False,
            random_state=self.random_state,
        )
        rows = PreparedRows.of(self.preparer_, self.preparer_.fit_transform(table))
        chosen = select_for_table(rows, codes, len(self.classes_), options, prior)
        self.estimator_ = chosen.selection.fitted.estimator
        self.report_ = chosen.report
        self._store_transduction(chosen.probabilities, codes)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities of the rows of a table with the same columns.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Table of pyarrow, or array of shape (n_samples, n)

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self, "estimator_")
        table = self._as_table(X, reset=False)
        if self.embedding_ is not None:
            table = self.embedding_.join(table)
        found = np.empty((len(table), len(self.classes_)))
        for start in range(0, len(table), _CHUNK):
            rows = slice(start, start + _CHUNK)
            Z = self.preparer_.transform(table.iloc[rows])
            found[rows] = class_probabilities(self.estimator_, Z)
        return found

    def _as_table(self, X: Any, *, reset: bool) -> pd.DataFrame:
        """Check ``X`` and make it a DataFrame whose column names are strings."""
        if hasattr(X, "to_arrow") or hasattr(X, "__arrow_c_stream__"):
            X = as_pandas(X)
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X.set_axis([str(name) for name in X.columns], axis=1)
        values = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def fitted_classifier(result: LabelingResult) -> TableLabeler:
    """Make a classifier of the model that labeled a table; nothing is fitted again."""
    if result.pixels is not None:
        raise TableError(
            "pipeline_ does not read images: use result.model(), or a column of their pixels."
        )
    options, used = result.options, list(result.chosen.selection.decision.weights)
    single = len(used) == 1
    made = TableLabeler(
        method=used[0] if single else AUTO,
        candidates=None if single else used,
        text=[str(name) for name in options.texts],
        ignore=[str(name) for name in options.ignored],
        embed=options.embed,
        prior=options.prior,
        random_state=options.random_state,
        n_jobs=options.n_jobs,
    )
    made.classes_ = result.probabilities.columns.to_numpy()
    made.preparer_, made.estimator_ = result.preparer, result.estimator
    made.report_, made.embedding_ = result.selection, result.embedding
    names = result.preparer.feature_names_in_
    if result.embedding is not None:
        # The vectors are made of other columns in every call.
        own = {f"{column}{SUFFIX}" for column in result.embedding.columns}
        names = np.asarray([name for name in names if name not in own], dtype=object)
    made.feature_names_in_, made.n_features_in_ = names, len(names)
    made.label_distributions_ = result.probabilities.to_numpy(copy=True)
    made.transduction_ = made.classes_[made.label_distributions_.argmax(axis=1)]
    return made
