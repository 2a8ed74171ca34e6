"""Term selection: keep the columns whose presence tells the classes apart."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    check_non_negative,
    validate_data,
)

from leaven._compat import Interval, StrOptions, validate_params_of
from leaven._labels import UNLABELED, encode_labels, one_hot

MEASURES = ("chi2", "gss", "information-gain", "mutual-information", "ngl", "odds-ratio")
CRITERIA = ("max", "sum", "weighted-sum")


def term_class_counts(X: Any, codes: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Count the documents of each class that hold each term.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_documents, n_terms)
        A term is present where the entry is positive.
    codes : ndarray of shape (n_documents,)
        The class of each document, all labeled.
    n_classes : int

    Returns
    -------
    counts : ndarray of shape (n_terms, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.text._term_selection import term_class_counts
    >>> term_class_counts(np.array([[2, 0], [1, 1], [0, 3]]), np.array([0, 0, 1]), 2)
    array([[2., 0.],
           [1., 1.]])
    """
    Y = one_hot(codes, n_classes)
    if not sparse.issparse(X):
        return np.asarray((X > 0).T.astype(np.float64) @ Y)
    present = sparse.csr_array(
        ((X.data > 0).astype(np.float64), X.indices, X.indptr), shape=X.shape
    )
    return np.asarray(present.T @ Y)


def term_scores(
    present: NDArray[np.float64],
    class_sizes: NDArray[np.float64],
    measure: str,
    *,
    smoothing: float = 0.0,
) -> NDArray[np.float64]:
    """Score every term for every class from their 2×2 tables.

    Parameters
    ----------
    present : ndarray of shape (n_terms, n_classes)
        Documents of the class that hold the term.
    class_sizes : ndarray of shape (n_classes,)
        Documents of each class; at least two classes have some.
    measure : {"information-gain", "mutual-information", "chi2", "odds-ratio", "gss", "ngl"}
    smoothing : float, default=0.0
        Added to each of the four cells.

    Returns
    -------
    scores : ndarray of shape (n_terms, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.text._term_selection import term_scores
    >>> term_scores(np.array([[3.0, 1.0]]), np.array([4.0, 4.0]), "chi2")
    array([[2., 2.]])
    """
    # The four cells: term and class (a), term without class (b), class without term (c),
    # neither (d). They are whole numbers, so that the sums below are exact: in two classes
    # ad - bc then changes nothing but its sign from one class to the other.
    n = class_sizes.sum()
    total = present.sum(axis=1, keepdims=True)
    a, b = present, total - present
    c, d = class_sizes - a, (n - class_sizes) - b
    a, b, c, d = (cell + smoothing for cell in (a, b, c, d))
    with_term, without_term = a + b, c + d
    in_class, outside = a + c, b + d
    n = n + 4 * smoothing
    with np.errstate(divide="ignore", invalid="ignore"):
        if measure == "information-gain":
            pairs = (
                (a, with_term, in_class),
                (b, with_term, outside),
                (c, without_term, in_class),
                (d, without_term, outside),
            )
            # 0 log 0 is 0, the limit.
            terms = [
                np.where(cell > 0, cell / n * np.log(cell * n / (row * column)), 0.0)
                for cell, row, column in pairs
            ]
            return np.asarray(sum(terms))
        if measure == "mutual-information":
            # log 0 is -inf: a class that the term never meets. A term that no document holds
            # is 0/0, and also -inf, so that it comes last.
            ratio = np.log(a * n / (with_term * in_class))
            return np.where(with_term > 0, ratio, -np.inf)
        if measure == "odds-ratio":
            # P(t|c) (1 - P(t|c̄)) / ((1 - P(t|c)) P(t|c̄)); the class sizes cancel. A positive
            # number over 0 is inf; 0/0 is a term in every document or in none, whose odds do
            # not differ: 1.
            above, below = a * d, b * c
            return np.where((above == 0) & (below == 0), 1.0, above / below)
        if measure == "gss":
            return np.asarray(a / in_class * (d / outside) - b / outside * (c / in_class))
        # χ² and NGL. A term in every document or in none is 0/0, and tells nothing: 0.
        difference = a * d - b * c
        product = (with_term * without_term) * (in_class * outside)
        if measure == "chi2":
            return np.where(product > 0, n * difference**2 / product, 0.0)
        return np.where(product > 0, np.sqrt(n) * difference / np.sqrt(product), 0.0)


def combine_scores(
    scores: NDArray[np.float64], class_sizes: NDArray[np.float64], criterion: str
) -> NDArray[np.float64]:
    """Make one score a term of its scores for the classes.

    Parameters
    ----------
    scores : ndarray of shape (n_terms, n_classes)
    class_sizes : ndarray of shape (n_classes,)
    criterion : {"max", "sum", "weighted-sum"}

    Returns
    -------
    combined : ndarray of shape (n_terms,)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.text._term_selection import combine_scores
    >>> combine_scores(np.array([[2.0, 4.0]]), np.array([3.0, 1.0]), "weighted-sum")
    array([2.5])
    """
    if criterion == "max":
        return np.asarray(scores.max(axis=1))
    if criterion == "sum":
        return np.asarray(scores.sum(axis=1))
    return np.asarray(scores @ (class_sizes / class_sizes.sum()))


def resolve_n_terms(n_terms: float | int, n_features: int) -> int:
    """Turn the parameter ``n_terms``, a number or a share, into a number of columns.

    Examples
    --------
    >>> from leaven.text._term_selection import resolve_n_terms
    >>> resolve_n_terms(0.25, 10), resolve_n_terms(7, 10)
    (2, 7)
    """
    if isinstance(n_terms, Integral):
        if n_terms > n_features:
            raise ValueError(
                f"n_terms={n_terms} is more than there are: X has {n_features} terms. Give a "
                "smaller n_terms, or a share such as n_terms=0.5."
            )
        return int(n_terms)
    return max(1, int(n_terms * n_features))


def best_terms(
    scores: NDArray[np.float64], frequency: NDArray[np.float64], n_terms: int
) -> NDArray[np.bool_]:
    """Mark the ``n_terms`` largest scores; of equals the more frequent, then the first.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.text._term_selection import best_terms
    >>> best_terms(np.array([1.0, 3.0, 1.0, 1.0]), np.array([1.0, 1.0, 2.0, 2.0]), 2)
    array([False,  True,  True, False])
    """
    support = np.zeros(len(scores), dtype=bool)
    support[np.lexsort((-frequency, -scores))[:n_terms]] = True
    return support


class TermSelector(SelectorMixin, BaseEstimator):
    r"""Keep the terms that are distributed most differently across the classes.

    Every term :math:`t` is scored for every class :math:`c` by one of six measures [1]_ of
    their 2×2 table of documents, in which a term is present or not; counts do not matter:

    - ``"information-gain"``: :math:`\sum_{c, \bar c} \sum_{t, \bar t} P(t, c)
      \log \frac{P(t, c)}{P(t) P(c)}`
    - ``"mutual-information"``: :math:`\log \frac{P(t, c)}{P(t) P(c)}`
    - ``"chi2"``: :math:`n\,[P(t, c) P(\bar t, \bar c) - P(t, \bar c) P(\bar t, c)]^2 \,/\,
      [P(t) P(\bar t) P(c) P(\bar c)]`
    - ``"odds-ratio"``: :math:`P(t|c) (1 - P(t|\bar c)) \,/\, [(1 - P(t|c)) P(t|\bar c)]`
    - ``"gss"``: :math:`P(t|c) P(\bar t|\bar c) - P(t|\bar c) P(\bar t|c)`
    - ``"ngl"``: :math:`\sqrt n\,[P(t, c) P(\bar t, \bar c) - P(t, \bar c) P(\bar t, c)] \,/\,
      \sqrt{P(t) P(\bar t) P(c) P(\bar c)}`

    with :math:`n` labeled documents. One score a term is their maximum over the classes,
    their sum, or their sum weighted by :math:`P(c)`. Documents without a label are not
    looked at.

    Parameters
    ----------
    measure : str, default="information-gain"
        One of the six above.
    criterion : {"max", "sum", "weighted-sum"}, default="max"
        With two classes the GSS and NGL coefficients of one class are those of the other with
        the sign changed: their sum is zero for every term, so use the maximum.
    n_terms : int or float, default=0.1
        How many terms to keep: a number, or a share of them in (0, 1]. A number larger than
        that of the terms is an error.
    smoothing : float, default=0.0
        Added to the four cells of every table. Zero is the formula itself, by which a term
        that misses one class has the mutual information -inf for it, and so the sum of all;
        0.5 keeps the sums finite.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    scores_ : ndarray of shape (n_terms,)
        May hold inf (odds ratio) and -inf (mutual information), where the formula does.
    class_scores_ : ndarray of shape (n_terms, n_classes)
    document_frequency_ : ndarray of shape (n_terms,)
        In how many labeled documents each term is. Of equal scores, the term with the larger
        one is kept.
    n_features_in_ : int

    See Also
    --------
    TfidfSumSelector : Needs no labels.
    sklearn.feature_selection.chi2 : Compares counts, not presence.

    References
    ----------
    .. [1] F. Sebastiani, "Machine learning in automated text categorization", ACM Computing
       Surveys 34(1), 2002, table 1; in the form of L. Lefakis, "Transductive learning for
       document classification and handwritten character recognition", Utrecht University,
       section 2.2, whose GSS coefficient has conditional probabilities.

    Examples
    --------
    >>> from leaven.text import TermSelector
    >>> X = [[2, 1, 0], [1, 1, 1], [0, 1, 1], [0, 2, 1], [9, 9, 9]]
    >>> y = ["ham", "ham", "spam", "spam", None]
    >>> selector = TermSelector("chi2", n_terms=1).fit(X, y)
    >>> selector.get_support()
    array([ True, False, False])
    >>> selector.scores_.round(3)
    array([4.   , 0.   , 1.333])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "measure": [StrOptions(set(MEASURES))],
        "criterion": [StrOptions(set(CRITERIA))],
        "n_terms": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
        ],
        "smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        measure: str = "information-gain",
        criterion: str = "max",
        n_terms: float | int = 0.1,
        *,
        smoothing: float = 0.0,
    ) -> None:
        self.measure = measure
        self.criterion = criterion
        self.n_terms = n_terms
        self.smoothing = smoothing

    def fit(self, X: Any, y: Any) -> TermSelector:
        """Score the terms on the labeled documents.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_terms)
            Counts or weights, not negative; a term is present where it is positive.
        y : array-like of shape (n_documents,)
            Unlabeled documents are -1 among integers, and None, NaN or pandas.NA elsewhere.

        Returns
        -------
        self
        """
        validate_params_of(self)
        if y is None:
            raise ValueError(
                "TermSelector requires y to be passed, but the target y is None. Give the class "
                "of each document, or use TfidfSumSelector, which needs no labels."
            )
        X = validate_data(self, X, accept_sparse="csr")
        check_non_negative(X, "TermSelector")
        self.classes_, codes = encode_labels(y, min_classes=2)
        check_consistent_length(X, codes)
        n_kept = resolve_n_terms(self.n_terms, X.shape[1])
        labeled = np.flatnonzero(codes != UNLABELED)
        codes = codes[labeled]
        sizes = np.bincount(codes, minlength=len(self.classes_)).astype(np.float64)
        present = term_class_counts(X[labeled], codes, len(sizes))
        self.class_scores_ = term_scores(present, sizes, self.measure, smoothing=self.smoothing)
        self.scores_ = combine_scores(self.class_scores_, sizes, self.criterion)
        self.document_frequency_ = present.sum(axis=1)
        self._support = best_terms(self.scores_, self.document_frequency_, n_kept)
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self._support

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.target_tags.required = True
        return tags
