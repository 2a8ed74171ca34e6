"""tf-idf weights of relative frequencies, and the terms with the largest of them."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from leaven._compat import HasMethods, Interval, StrOptions, validate_params_of
from leaven.text._term_selection import best_terms, resolve_n_terms


def document_frequency(X: Any) -> NDArray[np.float64]:
    """Count the rows in which each column is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.text._tfidf import document_frequency
    >>> document_frequency(np.array([[2, 0], [1, 3]]))
    array([2., 1.])
    """
    if not sparse.issparse(X):
        return np.asarray((X > 0).sum(axis=0), dtype=np.float64)
    held = np.bincount(X.indices[X.data > 0], minlength=X.shape[1])
    return np.asarray(held, dtype=np.float64)


def inverse_document_frequency(frequency: NDArray[np.float64], n_documents: int) -> NDArray[Any]:
    """Return ``log(|D| / df)``; 0 for a term that no document holds.

    Such a term has no estimate; nothing can be learned from a column that is empty, so that
    in new documents it does not count.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.text._tfidf import inverse_document_frequency
    >>> inverse_document_frequency(np.array([4.0, 1.0, 0.0]), 4).round(3)
    array([0.   , 1.386, 0.   ])
    """
    held = frequency > 0
    return np.where(held, np.log(n_documents / np.where(held, frequency, 1.0)), 0.0)


class RelativeTfidf(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Weigh counts by relative frequency times inverse document frequency.

    .. math:: w_{ik} = \frac{n_{ik}}{\sum_j n_{ij}} \cdot \log \frac{|D|}{df_k}

    where :math:`n_{ik}` is how often term k is in document i and :math:`df_k` the number of
    the :math:`|D|` documents that hold it, as in Lefakis [1]_. A term that is in every
    document weighs nothing, and rows are not normalized further; that is where it differs
    from scikit-learn's, which adds one to the idf, smooths it and scales rows to length one.

    Attributes
    ----------
    idf_ : ndarray of shape (n_terms,)
        0 for terms that no document of ``fit`` holds.
    n_features_in_ : int

    See Also
    --------
    sklearn.feature_extraction.text.TfidfTransformer : The usual variant.
    TfidfSumSelector : Keeps the terms with the largest weights.

    References
    ----------
    .. [1] L. Lefakis, "Transductive learning for document classification and handwritten
       character recognition", Utrecht University, section 2.2.

    Examples
    --------
    >>> from leaven.text import RelativeTfidf
    >>> RelativeTfidf().fit_transform([[3, 1], [2, 0]]).round(3)
    array([[0.   , 0.173],
           [0.   , 0.   ]])
    """

    def fit(self, X: Any, y: Any = None) -> RelativeTfidf:
        """Learn the inverse document frequencies.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_terms)
            Counts.
        y : None
            Not used.

        Returns
        -------
        self
        """
        X = validate_data(self, X, accept_sparse="csr", dtype="numeric")
        check_non_negative(X, "RelativeTfidf")
        self.idf_ = inverse_document_frequency(document_frequency(X), X.shape[0])
        return self

    def transform(self, X: Any) -> Any:
        """Weigh counts.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_terms)

        Returns
        -------
        array or sparse matrix of shape (n_documents, n_terms)
            A document without terms is a row of zeros.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        check_non_negative(X, "RelativeTfidf")
        length = np.asarray(X.sum(axis=1), dtype=X.dtype).ravel()
        share = 1 / np.where(length > 0, length, 1)
        idf = self.idf_.astype(X.dtype)
        if not sparse.issparse(X):
            return np.asarray(X * share[:, None] * idf)
        weights = X.copy()
        weights.data = X.data * np.repeat(share, np.diff(X.indptr)) * idf[X.indices]
        return weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class TfidfSumSelector(SelectorMixin, BaseEstimator):
    """Keep the terms whose tf-idf weights have the largest sum over the documents.

    The vocabulary cut of Nguyen [1]_, who keeps 600 words. It needs no labels.

    Parameters
    ----------
    n_terms : int or float, default=0.1
        How many terms to keep: a number, or a share of them in (0, 1]. A number larger than
        that of the terms is an error.
    weighting : transformer, "passthrough" or None, default=None
        What makes weights of the counts that are given to ``fit``: None is
        :class:`RelativeTfidf`; scikit-learn's ``TfidfTransformer()`` will do as well.
        ``"passthrough"`` sums the columns as they are, for weights that are tf-idf already.
        The columns that are kept come out as they came in.

    Attributes
    ----------
    scores_ : ndarray of shape (n_terms,)
        The sums.
    document_frequency_ : ndarray of shape (n_terms,)
        Of equal sums, the term in more documents is kept.
    weighting_ : fitted transformer or None
    n_features_in_ : int

    See Also
    --------
    TermSelector : Looks at labels.

    References
    ----------
    .. [1] H. N. Nguyen, "Study on semi-supervised learning with the framework of generative
       model", Nagaoka University of Technology, 2019, section 2.4.

    Examples
    --------
    >>> from leaven.text import TfidfSumSelector
    >>> counts = [[3, 1, 0], [3, 0, 2], [3, 0, 2]]
    >>> TfidfSumSelector(n_terms=1).fit(counts).get_support()
    array([False, False,  True])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_terms": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
        ],
        "weighting": [None, StrOptions({"passthrough"}), HasMethods(["fit", "transform"])],
    }

    def __init__(self, n_terms: float | int = 0.1, *, weighting: Any = None) -> None:
        self.n_terms = n_terms
        self.weighting = weighting

    def fit(self, X: Any, y: Any = None) -> TfidfSumSelector:
        """Sum the weights of each term.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_terms)
        y : None
            Not used.

        Returns
        -------
        self
        """
        validate_params_of(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_non_negative(X, "TfidfSumSelector")
        n_kept = resolve_n_terms(self.n_terms, X.shape[1])
        self.weighting_, weights = None, X
        if self.weighting != "passthrough":
            given = RelativeTfidf() if self.weighting is None else clone(self.weighting)
            self.weighting_ = given.fit(X)
            weights = self.weighting_.transform(X)
        self.scores_ = np.asarray(weights.sum(axis=0), dtype=np.float64).ravel()
        self.document_frequency_ = document_frequency(X)
        self._support = best_terms(self.scores_, self.document_frequency_, n_kept)
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self._support

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
