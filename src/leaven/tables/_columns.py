"""Transformers of the columns of one kind, for :class:`~leaven.tables.TablePreparer`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from leaven.tables._kinds import (
    UNSPACED,
    ColumnKind,
    as_cells,
    as_numbers,
    category_cells,
    rarest_category,
)
from leaven.tables._vectors import stack_vectors, vector_length

_CLIP = 3.0
"""Robust standard deviations from the median beyond which a number is an outlier."""

_IQR_OF_NORMAL = 1.349
"""Interquartile range of a normal distribution, in standard deviations."""

_LARGEST = 1e150
"""Numbers beyond count as this: the square of a difference of larger ones is infinite."""

_MISSING_SHARE = 0.01
"""Share of missing cells from which a feature marks them: a mark on fewer rows tells nothing."""

_OTHER = -1
"""What pandas gives for a value that is not in an index."""


class NumberColumns(TransformerMixin, BaseEstimator):
    """Numbers and dates: filled with the median, clipped, brought to variance one.

    Values beyond three robust deviations from the median are moved there before the
    scaling. Plain standardizing lets one outlier squeeze all other rows together, scaling
    by the quartiles lets it lie far away from everything; both cost accuracy on tables
    with heavy tails. A column with missing cells gets a second feature that says so.

    Parameters
    ----------
    kinds : list of ColumnKind
        Of the columns, in their order.
    """

    def __init__(self, kinds: list[ColumnKind]) -> None:
        self.kinds = kinds

    def fit(self, X: pd.DataFrame, y: Any = None) -> NumberColumns:
        """Learn medians, limits and scales."""
        self._start()
        for j, kind in enumerate(self.kinds):
            self._learn(j, as_numbers(X.iloc[:, j], kind))
        return self._end()

    def fit_transform(self, X: pd.DataFrame, y: Any = None, **params: Any) -> NDArray[np.float32]:
        """Learn from and transform the same cells, which are parsed once."""
        self._start()
        Z = np.zeros((len(X), len(self.kinds)), dtype=np.float32)
        marks = []
        for j, kind in enumerate(self.kinds):
            numbers = as_numbers(X.iloc[:, j], kind)
            self._learn(j, numbers)
            missing = self._scale(j, numbers, Z)
            if self.with_indicator_[j]:
                marks.append(missing)
        self._end()
        return np.column_stack([Z, *marks]) if marks else Z

    def transform(self, X: pd.DataFrame) -> NDArray[np.float32]:
        """Return the scaled numbers, then the indicators of missing cells."""
        n = len(self.kinds)
        Z = np.zeros((len(X), len(self.source_)), dtype=np.float32)
        indicators = iter(range(n, len(self.source_)))
        for j, kind in enumerate(self.kinds):
            missing = self._scale(j, as_numbers(X.iloc[:, j], kind), Z)
            if self.with_indicator_[j]:
                Z[:, next(indicators)] = missing
        return Z

    def _start(self) -> None:
        n = len(self.kinds)
        self.median_ = np.zeros(n)
        self.low_, self.high_ = np.zeros(n), np.zeros(n)
        self.mean_, self.scale_ = np.zeros(n), np.ones(n)
        self.with_indicator_ = np.zeros(n, dtype=bool)

    def _end(self) -> NumberColumns:
        marked = np.flatnonzero(self.with_indicator_)
        self.source_ = np.concatenate([np.arange(len(self.kinds)), marked])
        return self

    def _learn(self, j: int, numbers: NDArray[np.float64]) -> None:
        numbers = np.clip(numbers, -_LARGEST, _LARGEST)
        missing = np.isnan(numbers)
        n_missing = int(missing.sum())
        self.with_indicator_[j] = n_missing > max(1, _MISSING_SHARE * len(numbers))
        present = numbers[~missing] if n_missing else numbers
        lower, median, upper = np.percentile(present, [25, 50, 75])
        # More than half of the cells may be equal, often zero: then the quartiles
        # tell nothing of the spread.
        deviation = (upper - lower) / _IQR_OF_NORMAL or float(present.std()) or 1.0
        self.median_[j] = median
        self.low_[j], self.high_[j] = median - _CLIP * deviation, median + _CLIP * deviation
        present = np.clip(present, self.low_[j], self.high_[j])
        if n_missing:
            present = np.append(present, np.full(n_missing, median))
        self.mean_[j] = present.mean()
        self.scale_[j] = present.std() or 1.0

    def _scale(
        self, j: int, numbers: NDArray[np.float64], Z: NDArray[np.float32]
    ) -> NDArray[np.bool_]:
        """Write the scaled numbers, which are changed, to a column; tell which are missing."""
        missing = np.isnan(numbers)
        numbers[missing] = self.median_[j]
        np.clip(numbers, self.low_[j], self.high_[j], out=numbers)
        Z[:, j] = (numbers - self.mean_[j]) / self.scale_[j]
        return np.asarray(missing, dtype=bool)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Column names, with "_missing" for the indicators."""
        names = [kind.name for kind in self.kinds]
        names += [f"{self.kinds[j].name}_missing" for j in np.flatnonzero(self.with_indicator_)]
        return np.asarray(names, dtype=object)


class CategoryColumns(TransformerMixin, BaseEstimator):
    """Categories: one indicator each, with rare ones together.

    The indicators are divided by √2, so that two rows of different categories have the squared
    distance one; a standardized number has two on average. Giving rare categories more weight, as
    standardizing the indicators would, cost five points of accuracy on discrete tables.

    Parameters
    ----------
    kinds : list of ColumnKind
        Of the columns, in their order.
    max_categories : int
        Of one column; those beyond, the rarest, are together.
    """

    def __init__(self, kinds: list[ColumnKind], max_categories: int = 50) -> None:
        self.kinds = kinds
        self.max_categories = max_categories

    def fit(self, X: pd.DataFrame, y: Any = None) -> CategoryColumns:
        """Learn which categories are frequent."""
        rarest = rarest_category(len(X))
        self.categories_: list[pd.Index] = []
        self.with_other_: list[bool] = []
        for j in range(len(self.kinds)):
            counts = category_cells(X.iloc[:, j]).value_counts()
            kept = counts[counts >= rarest].iloc[: self.max_categories]
            # Sorted by name, so that the order of the rows changes nothing.
            self.categories_.append(pd.Index(sorted(kept.index), dtype=object))
            self.with_other_.append(len(kept) < len(counts))
        widths = [
            len(categories) + other
            for categories, other in zip(self.categories_, self.with_other_, strict=True)
        ]
        # Two groups of rows need one indicator; one group alone tells nothing.
        self.widths_ = np.array([width if width > 2 else width - 1 for width in widths], dtype=int)
        self.source_ = np.repeat(np.arange(len(self.kinds)), self.widths_)
        return self

    def transform(self, X: pd.DataFrame) -> sparse.csr_matrix:
        """Return the indicators as a sparse matrix."""
        n = len(X)
        rows: list[NDArray[np.int32]] = []
        columns: list[NDArray[np.int32]] = []
        data: list[NDArray[np.float32]] = []
        start = 0
        for j, width in enumerate(self.widths_):
            codes: NDArray[np.intp] = self.categories_[j].get_indexer(
                pd.Index(category_cells(X.iloc[:, j]), dtype=object)
            )
            if self.with_other_[j]:
                codes = np.where(codes == _OTHER, len(self.categories_[j]), codes)
            # A category that was not there in fit, in a column without rare ones, is none.
            present = codes >= (1 if width == 1 else 0)
            rows.append(np.flatnonzero(present).astype(np.int32))
            columns.append((codes[present] - (1 if width == 1 else 0) + start).astype(np.int32))
            data.append(np.full(len(rows[-1]), 1.0 if width == 1 else np.sqrt(0.5), np.float32))
            if width == 0:
                rows[-1], columns[-1], data[-1] = rows[-1][:0], columns[-1][:0], data[-1][:0]
            start += int(width)
        entries = np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))
        return sparse.csr_matrix(entries, shape=(n, start), dtype=np.float32)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """``column_category`` for each indicator."""
        names: list[str] = []
        for kind, categories, other, width in zip(
            self.kinds, self.categories_, self.with_other_, self.widths_, strict=True
        ):
            own = [f"{kind.name}_{category or '(missing)'}" for category in categories]
            own += [f"{kind.name}_(other)"] * other
            names += own[1:] if width == 1 else own[:width]
        return np.asarray(names, dtype=object)


class TextColumn(TransformerMixin, BaseEstimator):
    """A text: TF-IDF of its words, on request in a few hundred dense dimensions.

    Logarithmic term counts gave several points of accuracy on 20 Newsgroups, pairs of words
    took some away, and leaving out the most frequent words made no difference. Stems instead
    of words (:class:`leaven.text.StemmedCountVectorizer`) cost 0.5 points on the support
    tickets and 1.8 on two newsgroups on hardware, at 5 labels per class; and what is installed
    should not change a result. No list of stop words is used, as the language is not known.

    Parameters
    ----------
    n_components : int, optional
        Dimensions of the truncated singular value decomposition; None keeps the words.
    max_words : int
        The most frequent words that are kept.
    random_state : int, RandomState instance or None
    """

    def __init__(
        self,
        n_components: int | None = None,
        max_words: int = 50_000,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.max_words = max_words
        self.random_state = random_state

    def fit(self, X: pd.Series, y: Any = None) -> TextColumn:
        """Learn the words and the decomposition."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: pd.Series, y: Any = None, **params: Any) -> Any:
        """Learn from and transform the same texts."""
        texts = as_cells(X)
        self.vectorizer_, Z = self._fit_words(texts)
        self.decomposition_ = None
        if self.n_components is not None and min(Z.shape) > 2:
            n_components = min(self.n_components, min(Z.shape) - 1)
            self.decomposition_ = TruncatedSVD(n_components, random_state=self.random_state)
            Z = self.decomposition_.fit_transform(Z)
        return self._finished(Z)

    def _fit_words(self, texts: pd.Series) -> tuple[TfidfVectorizer, Any]:
        settings: dict[str, Any] = {
            "sublinear_tf": True,
            "strip_accents": "unicode",
            "max_features": self.max_words,
            "dtype": np.float32,
        }
        if texts.str.contains(UNSPACED, regex=True).mean() > 0.5:
            settings.update(analyzer="char", ngram_range=(1, 2), strip_accents=None)
        for min_df in (2, 1):  # In a small table every word may be there once.
            vectorizer = TfidfVectorizer(**settings, min_df=min_df)
            try:
                return vectorizer, vectorizer.fit_transform(texts)
            except ValueError:
                continue
        # Texts without a single word of two letters: signs are all there is.
        vectorizer = TfidfVectorizer(
            **{**settings, "analyzer": "char", "ngram_range": (1, 2), "strip_accents": None}
        )
        return vectorizer, vectorizer.fit_transform(texts)

    def transform(self, X: pd.Series) -> Any:
        """Return unit vectors, sparse or dense; a text without known words is zero."""
        Z = self.vectorizer_.transform(as_cells(X))
        if self.decomposition_ is not None:
            Z = self.decomposition_.transform(Z)
        return self._finished(Z)

    def _finished(self, Z: Any) -> Any:
        if self.n_components is not None and sparse.issparse(Z):
            # Too few words or texts to decompose.
            Z = Z.toarray()
        return normalize(Z, copy=False).astype(np.float32, copy=False)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The words, or the numbers of the dimensions."""
        if self.decomposition_ is not None:
            n_components = self.decomposition_.n_components
            return np.asarray([f"svd{i}" for i in range(n_components)], dtype=object)
        return np.asarray(self.vectorizer_.get_feature_names_out(), dtype=object)


class VectorColumn(TransformerMixin, BaseEstimator):
    """Vectors, such as embeddings, brought to length one.

    The squared distance of two is then twice one minus their cosine, so that the cosine is what
    counts next to other columns too. A missing vector is zero.
    """

    def fit(self, X: pd.Series, y: Any = None) -> VectorColumn:
        """Learn the number of dimensions."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: pd.Series, y: Any = None, **params: Any) -> NDArray[np.float32]:
        """Learn from and transform the same vectors."""
        length = vector_length(X)
        self.length_ = 0 if length is None else length
        return self.transform(X)

    def transform(self, X: pd.Series) -> NDArray[np.float32]:
        """Return unit vectors."""
        found: NDArray[np.float32] = normalize(stack_vectors(X, self.length_), copy=False)
        return found

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The numbers of the dimensions."""
        return np.asarray([str(i) for i in range(self.length_)], dtype=object)
