"""From a table of mixed columns to a matrix in which near rows are alike.

Built on scikit-learn's ``ColumnTransformer`` with a transformer for each kind of column.
skrub's ``TableVectorizer`` was the alternative. It would be a heavy dependency (its own
data operations, a report server, and with every release another choice of encoders, which
changes results) for detecting kinds of columns, which is what remains to be done here; and
what a neighbor search needs most, columns on comparable scales, it leaves to the user.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval, StrOptions, validate_params_of
from leaven._labels import UNLABELED, encode_labels, labeled_mask
from leaven.tables._columns import CategoryColumns, NumberColumns, TextColumn, VectorColumn
from leaven.tables._errors import TableError
from leaven.tables._frames import as_pandas, without_arrow
from leaven.tables._kinds import (
    CATEGORY,
    DATE,
    DROPPED,
    IMAGE_PATHS,
    NUMBER,
    TEXT,
    VECTOR,
    ColumnKind,
    check_text_columns,
    column_kinds,
)
from leaven.tables._scales import FeatureLayout, apply_scales, learn_scales

_DENSE_TEXT_FROM = 50_000
"""Rows from which texts alone become dense too: sparse rows cannot be searched approximately."""

_MAX_DENSE_ENTRIES = 1 << 28
"""Of a dense matrix: 1 GB of float32."""

_DEPRECATED = "deprecated"

_MIN_CATEGORIES = 5
"""Indicators that a column keeps however large the table is."""


class TablePreparer(TransformerMixin, BaseEstimator):
    """Turn a table of mixed columns into features for neighbor graphs.

    Kinds of columns are detected, also in columns of strings as they come from a CSV file:

    - numbers and dates: missing cells filled with the median (and marked by a further
      feature), outliers clipped, variance one;
    - categories (few distinct values): one indicator each, rare ones together;
    - texts: TF-IDF of the words. In a table of texts alone they stay sparse, which was as
      good as dense for long texts and better for short ones. Next to other columns, and from
      50,000 rows up, they become ``text_components`` dense dimensions by a truncated
      singular value decomposition: dense rows can be searched approximately, and mixing a
      few dense columns into a wide sparse matrix makes every row dense anyway;
    - vectors (cells that hold lists or arrays of numbers): brought to length one;
    - ids, constant and empty columns are dropped.

    Then the columns are weighted so that none swamps the others; with labels in ``y``,
    columns in which the classes differ count more.

    Parameters
    ----------
    text : collection of str, default=()
        Columns that are texts whatever they look like.
    ignore : collection of str, default=()
        Columns that are not to be used.
    max_categories : int, default=50
        Most indicators for one column; fewer where the matrix would exceed 1 GB.
    text_components : int, default=200
    max_words : int, default=50_000
        Most words for one text.
    weigh : bool, default=True
        Whether to weight the columns. Without, each has the scale that its kind gives it, and
        ``y`` is not looked at.
    random_state : int, RandomState instance or None, default=None
        For the decomposition of texts and the pairs of rows that measure spreads.
    max_levels : int, default="deprecated"
        Former name of ``max_categories``.

    Attributes
    ----------
    kinds_ : list of ColumnKind
        Name, kind and, if dropped, the reason, of every column.
    dropped_ : dict of str to str
        Reasons by column.
    metric_ : {"cosine", "euclidean"}
        For the neighbor search: cosine if there is nothing but texts and vectors.
    weights_ : dict of str to float
        How much each column counts in the squared distance; 1 on average over the columns
        that are not texts, times the weight of their block.
    layout_ : FeatureLayout
        Which feature belongs to which column.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    ``fit_transform(X, y)`` looks at ``y``. For an honest estimate of accuracy by
    cross-validation put the preparer into a pipeline with the classifier.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.tables import TablePreparer
    >>> table = pd.DataFrame({
    ...     "id": ["a1", "b2", "c3", "d4"],
    ...     "size": [1.0, 2.0, None, 4.5],
    ...     "color": ["red", "red", "blue", "blue"],
    ... })
    >>> preparer = TablePreparer(random_state=0)
    >>> preparer.fit_transform(table).shape
    (4, 2)
    >>> preparer.dropped_
    {'id': 'an id: every value is distinct'}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "text": [list, tuple, set, frozenset],
        "ignore": [list, tuple, set, frozenset],
        "max_categories": [Interval(Integral, 2, None, closed="left")],
        "max_levels": [Interval(Integral, 2, None, closed="left"), StrOptions({_DEPRECATED})],
        "text_components": [Interval(Integral, 2, None, closed="left")],
        "max_words": [Interval(Integral, 1, None, closed="left")],
        "weigh": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        text: Collection[str] = (),
        ignore: Collection[str] = (),
        max_categories: int = 50,
        text_components: int = 200,
        max_words: int = 50_000,
        weigh: bool = True,
        random_state: Any = None,
        max_levels: int | str = _DEPRECATED,
    ) -> None:
        self.text = text
        self.ignore = ignore
        self.max_categories = max_categories
        self.text_components = text_components
        self.max_words = max_words
        self.weigh = weigh
        self.random_state = random_state
        self.max_levels = max_levels

    def fit(self, X: Any, y: Any = None) -> TablePreparer:
        """Learn kinds, scales and weights.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
        y : array-like of shape (n_samples,), optional
            Labels, with the usual marks where unknown; used for the weights only.

        Returns
        -------
        self
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Learn from a table and return its features.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
        y : array-like of shape (n_samples,), optional
        **params : dict
            Not used.

        Returns
        -------
        Z : float32 array or CSR matrix of shape (n_samples, n_features)
        """
        validate_params_of(self)
        table = self._as_table(X, reset=True)
        check_text_columns(self.text, list(table.columns))
        check_text_columns(self.ignore, list(table.columns), what="column to ignore,")
        self.kinds_ = column_kinds(table, text=self.text, ignore=self.ignore)
        self.dropped_ = {kind.name: kind.reason for kind in self.kinds_ if kind.kind == DROPPED}
        if len(self.dropped_) == len(self.kinds_):
            reasons = [f"{name!r} ({reason})" for name, reason in self.dropped_.items()]
            pictures = [name for name, reason in self.dropped_.items() if reason == IMAGE_PATHS]
            if pictures:
                raise TableError(
                    f"There is no column to learn from: {pictures[0]!r} holds paths of images. "
                    "Extract features first (such as the outputs of a pretrained network, a column "
                    "each) and label the table of these."
                )
            raise TableError(
                "There is no column to learn from; dropped: "
                f"{', '.join(reasons[:5])}{', ...' if len(reasons) > 5 else ''}.",
                advice=("If one of them is a text, pass", "text", next(iter(self.dropped_))),
            )
        only_text = all(kind.kind in (TEXT, DROPPED) for kind in self.kinds_)
        only_cosine = all(kind.kind in (TEXT, VECTOR, DROPPED) for kind in self.kinds_)
        self.metric_ = "cosine" if only_cosine else "euclidean"
        rng = check_random_state(self.random_state)
        self._transformer = self._make_transformer(len(table), only_text, rng)
        Z = self._finished(self._transformer.fit_transform(table))
        self.layout_ = self._make_layout(Z.shape[1])
        self._scales = np.ones(Z.shape[1], dtype=np.float32)
        weights: NDArray[np.float64] = np.ones(len(self.layout_.names))
        if self.weigh:
            codes = None if y is None else _codes(y, len(table))
            self._scales, weights = learn_scales(Z, self.layout_, codes, rng)
        self.weights_ = dict(zip(self.layout_.names, weights.tolist(), strict=True))
        return apply_scales(Z, self._scales, copy=False)

    def transform(self, X: Any) -> Any:
        """Return the features of a table with the same columns.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)

        Returns
        -------
        Z : float32 array or CSR matrix of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        table = self._as_table(X, reset=False)
        Z = self._finished(self._transformer.transform(table))
        return apply_scales(Z, self._scales, copy=False)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features: the column, and the category or word.

        Parameters
        ----------
        input_features : None
            Only the names seen in ``fit`` are used.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        names = []
        for block, transformer, columns in self._transformer.transformers_:
            if block in ("numbers", "categories"):
                names.append(transformer.get_feature_names_out())
            elif block != "remainder":
                own = transformer.get_feature_names_out()
                column = self.kinds_[columns].name
                names.append(np.asarray([f"{column}_{word}" for word in own], dtype=object))
        return np.concatenate(names)

    def _as_table(self, X: Any, *, reset: bool) -> pd.DataFrame:
        """Check ``X`` and make it a table whose column names are strings."""
        fewest = 2 if reset else 1
        if hasattr(X, "to_arrow") or hasattr(X, "__arrow_c_stream__"):
            X = as_pandas(X)
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if X.shape[1] == 0 or len(X) < fewest:
                raise ValueError(
                    f"Found a table with {len(X)} sample(s) and {X.shape[1]} feature(s) while a "
                    f"minimum of {fewest} and 1 is required."
                )
            return without_arrow(X)
        values = validate_data(
            self,
            X,
            reset=reset,
            dtype=None,
            ensure_all_finite="allow-nan",
            ensure_min_samples=fewest,
        )
        return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])

    def _make_transformer(
        self, n_rows: int, only_text: bool, rng: np.random.RandomState
    ) -> ColumnTransformer:
        by_kind: dict[str, list[ColumnKind]] = {}
        for kind in self.kinds_:
            by_kind.setdefault(NUMBER if kind.kind == DATE else kind.kind, []).append(kind)
        numbers, categories = by_kind.get(NUMBER, []), by_kind.get(CATEGORY, [])
        parts: list[tuple[str, Any, Any]] = []
        if numbers:
            parts.append(("numbers", NumberColumns(numbers), [kind.name for kind in numbers]))
        if categories:
            room = _MAX_DENSE_ENTRIES // max(n_rows, 1) - 2 * len(numbers)
            most = min(self._max_categories(), max(_MIN_CATEGORIES, room // len(categories)))
            names = [kind.name for kind in categories]
            parts.append(("categories", CategoryColumns(categories, max_categories=most), names))
        dense = not only_text or n_rows >= _DENSE_TEXT_FROM
        places = {kind.name: place for place, kind in enumerate(self.kinds_)}
        for number, kind in enumerate(by_kind.get(TEXT, [])):
            text = TextColumn(
                n_components=self.text_components if dense else None,
                max_words=self.max_words,
                random_state=rng.randint(np.iinfo(np.int32).max),
            )
            # By number and place: scikit-learn gives "__" in a name and an empty name for a
            # column a meaning of their own.
            parts.append((f"text{number}", text, places[kind.name]))
        for number, kind in enumerate(by_kind.get(VECTOR, [])):
            parts.append((f"vector{number}", VectorColumn(), places[kind.name]))
        # Sparse in between, so that indicators and texts never take more than they must.
        return ColumnTransformer(parts, sparse_threshold=1.0, verbose_feature_names_out=False)

    def _max_categories(self) -> int:
        if isinstance(self.max_levels, str):
            return self.max_categories
        warnings.warn(
            "max_levels of TablePreparer is deprecated since 0.1 and will be removed in 0.2: use "
            "max_categories.",
            FutureWarning,
            stacklevel=4,
        )
        return self.max_levels

    def _finished(self, Z: Any) -> Any:
        """Dense if that fits, or else CSR; texts alone stay sparse."""
        entries = Z.shape[0] * Z.shape[1]
        if sparse.issparse(Z) and self.metric_ == "euclidean" and entries <= _MAX_DENSE_ENTRIES:
            return Z.toarray().astype(np.float32, copy=False)
        if sparse.issparse(Z):
            return sparse.csr_matrix(Z, dtype=np.float32)
        return np.ascontiguousarray(Z, dtype=np.float32)

    def _make_layout(self, n_features: int) -> FeatureLayout:
        """Tell which feature belongs to which column and block, and which are flags."""
        names: list[str] = []
        column_of = np.empty(n_features, dtype=np.intp)
        block_of = np.zeros(n_features, dtype=np.intp)
        is_flag = np.zeros(n_features, dtype=bool)
        has_structured = any(kind.kind in (NUMBER, DATE, CATEGORY) for kind in self.kinds_)
        n_blocks = 1 if has_structured else 0
        n_flags = 0
        for block, transformer, columns in self._transformer.transformers_:
            where = self._transformer.output_indices_.get(block, slice(0, 0))
            if block in ("numbers", "categories"):
                sources, position = np.unique(transformer.source_, return_inverse=True)
                column_of[where] = position + len(names)
                names += [columns[source] for source in sources]
            elif block != "remainder":
                column_of[where] = len(names)
                names.append(self.kinds_[columns].name)
                block_of[where] = n_blocks
                n_blocks += 1
            if block == "numbers":
                n_flags += int(transformer.with_indicator_.sum())
                is_flag[where.start + len(transformer.kinds) : where.stop] = True
            elif block == "categories":
                n_flags += len(transformer.kinds)
                is_flag[where] = True
        return FeatureLayout(tuple(names), column_of, block_of, is_flag, n_flags, has_structured)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = False
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _codes(y: Any, n_rows: int) -> NDArray[np.intp]:
    labeled = labeled_mask(y)
    if len(labeled) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {len(labeled)}.")
    if not labeled.any():
        return np.full(n_rows, UNLABELED, dtype=np.intp)
    return encode_labels(y)[1]
