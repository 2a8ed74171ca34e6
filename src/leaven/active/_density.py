"""Information density: uncertain rows that resemble many others come first."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import normalize
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_array

from leaven._compat import HasMethods, Interval, StrOptions, validate_params_of
from leaven.active._rows import check_pool
from leaven.active._uncertainty import HighestEntropy
from leaven.base import rows_of_final_step

SIMILARITIES = ("cosine", "gaussian", "euclidean", "kl")

_OWN_SHARE = 0.5  # of a document against all documents in its smoothed model, as in the paper


def mean_similarity(
    X: Any,
    similarity: str,
    *,
    bandwidth: float | None = None,
    chunk_size: int = 1024,  # 8 MB of distances per 1,000 rows of X
) -> NDArray[np.float64]:
    """Return the mean similarity of each row to all rows, itself included.

    Parameters
    ----------
    X : {ndarray, csr matrix} of shape (n_samples, n_features)
    similarity : {"cosine", "gaussian", "euclidean", "kl"}
        ``"kl"`` is the geometric mean, see :func:`kl_density`.
    bandwidth : float, optional
    chunk_size : int
        Rows whose distances to all others are held at a time; for the cosine none are.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.active import mean_similarity
    >>> mean_similarity(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), "cosine").round(3)
    array([0.667, 0.333, 0.667])
    """
    n = X.shape[0]
    if similarity == "kl":
        return kl_density(X)
    if similarity == "cosine":
        # The mean of the products with all unit vectors is the product with their mean.
        U = normalize(X)
        return np.asarray(U @ np.asarray(U.mean(axis=0)).ravel(), dtype=np.float64).ravel()
    h = _default_bandwidth(X) if bandwidth is None else bandwidth
    squares = None if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)[:, None]
    density = np.empty(n)
    for part in gen_batches(n, chunk_size):
        d2 = euclidean_distances(
            X[part],
            X,
            squared=True,
            X_norm_squared=None if squares is None else squares[part],
            Y_norm_squared=None if squares is None else squares.T,
        )
        # Rounding leaves about 1e-8 for the distance of a row to itself.
        d2[np.arange(d2.shape[0]), np.arange(part.start, part.stop)] = 0.0
        near = np.exp(-d2 / (2.0 * h**2)) if similarity == "gaussian" else 1.0 / (1.0 + np.sqrt(d2))
        density[part] = near.mean(axis=1, dtype=np.float64)
    return density


def kl_density(X: Any) -> NDArray[np.float64]:
    r"""Return the density of documents of McCallum and Nigam (1998).

    .. math:: Z_i = \exp\Big(-\frac1n \sum_h D\big(P_h \,\big\|\,
              \lambda P_i + (1 - \lambda) P\big)\Big)

    with the shares of words :math:`P_h` of each document, those P of all documents, and λ =
    1/2: how well document i encodes the others. The mean of the logarithms needs the mean of
    the :math:`P_h` only, so that time is linear in the words.

    Parameters
    ----------
    X : {ndarray, csr matrix} of shape (n_documents, n_words)
        Counts, not negative. Documents without words say nothing about the others.

    Returns
    -------
    ndarray of shape (n_documents,)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.active._density import kl_density
    >>> kl_density(np.array([[3, 1], [2, 2], [0, 4]])).round(3)
    array([0.728, 0.768, 0.69 ])
    """
    counts = sparse.csr_array(X, dtype=np.float64, copy=True)
    counts.sum_duplicates()
    # A stored zero is a word that is not there, and its logarithm would be -inf.
    counts.eliminate_zeros()
    if (counts.data < 0).any():
        raise ValueError(
            "similarity='kl' compares shares of words and needs counts, but X_pool holds negative "
            "values. Use similarity='cosine'."
        )
    length = np.asarray(counts.sum(axis=1)).ravel()
    all_words = np.asarray(counts.sum(axis=0)).ravel()
    if not length.any():
        return np.ones(len(length))
    row = np.repeat(np.arange(len(length)), np.diff(counts.indptr))
    share, word = counts.data / length[row], counts.indices
    n_full = int((length > 0).sum())
    mean_share = np.bincount(word, weights=share, minlength=len(all_words)) / n_full
    rest = (1.0 - _OWN_SHARE) * all_words / all_words.sum()
    used = rest > 0
    # What all documents have in common; a document adds its own words to it, and these alone are
    # computed for each.
    floor = float(mean_share[used] @ np.log(rest[used]))
    own = mean_share[word] * (np.log(_OWN_SHARE * share + rest[word]) - np.log(rest[word]))
    entropy = float((share * np.log(share)).sum()) / n_full
    return np.asarray(
        np.exp(floor + np.bincount(row, weights=own, minlength=len(length)) - entropy)
    )


def _default_bandwidth(X: Any) -> float:
    """Root of half the mean squared distance of two rows, which is the sum of the variances."""
    variances = mean_variance_axis(X, axis=0)[1] if sparse.issparse(X) else X.var(axis=0)
    total = float(np.sum(variances, dtype=np.float64))
    return float(np.sqrt(total)) if total > 0 else 1.0


class InformationDensity(BaseEstimator):
    r"""Weight the score of another strategy by how typical the row is of the pool.

    .. math:: \arg\max_x \; \phi(x) \Big(\frac1U \sum_{u=1}^{U}
        \mathrm{sim}(x, x^{(u)})\Big)^{\beta}

    where φ is the score of ``base``. Uncertainty alone likes outliers; the density keeps them
    back [1]_.

    Parameters
    ----------
    base : strategy, default=None
        Gives φ, which must not be negative. None stands for ``HighestEntropy()``.
    beta : float, default=1.0
        β ≥ 0; 0 leaves the scores of ``base`` as they are.
    similarity : {"cosine", "gaussian", "euclidean", "kl"}, default="cosine"
        - ``"cosine"``: of the angle between two rows; a negative mean counts as 0;
        - ``"gaussian"``: ``exp(-d² / 2h²)`` of the Euclidean distance d;
        - ``"euclidean"``: ``1 / (1 + d)``;
        - ``"kl"``: ``exp(-D)`` of the divergence between the word shares of two documents, and
          its geometric mean, as in [3]_, who use β = 3; for counts.
    bandwidth : float, default=None
        h of the Gaussian. None takes the root of half the mean squared distance of two rows.
    chunk_size : int, default=1024
        Distances are computed for this many rows at a time, so that memory grows linearly with
        the pool; the cosine needs none. The result does not depend on it.

    Notes
    -----
    The similarity is that of the rows as the classifier sees them: of a pipeline, after all
    steps but the last. Sparse rows stay sparse. Time is linear in the pool for ``"cosine"`` and
    ``"kl"``, and quadratic for the others.

    The equation in [2]_ has arg min in the place of arg max.

    See Also
    --------
    HighestEntropy : The default ``base``.

    References
    ----------
    .. [1] B. Settles and M. Craven, "An analysis of active learning strategies for sequence
       labeling tasks", EMNLP 2008.
    .. [2] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, equation 2.72.
    .. [3] A. McCallum and K. Nigam, "Employing EM and pool-based active learning for text
       classification", ICML 1998.

    Examples
    --------
    Two rows are equally uncertain, and the second is far from all others:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from leaven.active import HighestEntropy, InformationDensity
    >>> model = LogisticRegression().fit([[-1.0, 0.0], [1.0, 0.0]], [0, 1])
    >>> pool = [[0.0, 0.1], [0.0, 9.0], [0.5, 0.2], [-0.5, 0.1]]
    >>> HighestEntropy().scores(model, pool).round(2)
    array([0.69, 0.69, 0.68, 0.68])
    >>> InformationDensity(similarity="euclidean").scores(model, pool).round(2)
    array([0.42, 0.23, 0.38, 0.38])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "base": [HasMethods(["scores"]), None],
        "beta": [Interval(Real, 0, None, closed="left")],
        "similarity": [StrOptions(set(SIMILARITIES))],
        "bandwidth": [Interval(Real, 0, None, closed="neither"), None],
        "chunk_size": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        base: Any = None,
        *,
        beta: float = 1.0,
        similarity: str = "cosine",
        bandwidth: float | None = None,
        chunk_size: int = 1024,
    ) -> None:
        self.base = base
        self.beta = beta
        self.similarity = similarity
        self.bandwidth = bandwidth
        self.chunk_size = chunk_size

    def scores(self, estimator: Any, X_pool: Any, X: Any = None, y: Any = None) -> NDArray[Any]:
        """Score the rows of the pool; the largest score is asked first.

        Parameters
        ----------
        estimator : fitted classifier
        X_pool : {array-like, sparse matrix, data frame} of shape (n_pool, n_features)
        X, y : array-like, optional
            The training rows, handed on to ``base``.

        Returns
        -------
        scores : ndarray of shape (n_pool,)
        """
        validate_params_of(self)
        X_pool = check_pool(X_pool)
        base = HighestEntropy() if self.base is None else self.base
        informative = np.asarray(base.scores(estimator, X_pool, X, y), dtype=np.float64)
        asked = np.isfinite(informative)
        if (informative[asked] < 0).any():
            raise ValueError(
                f"base={base!r} gives negative scores, which a density cannot weight: a typical "
                "row would fall behind. Use a strategy whose scores start at 0, such as "
                "HighestEntropy() or QueryByCommittee()."
            )
        if self.beta == 0:
            return informative
        try:
            rows = check_array(
                rows_of_final_step(estimator, X_pool),
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
            )
        except (TypeError, ValueError) as error:
            raise ValueError(
                "InformationDensity compares rows and needs numbers in every column of X_pool, or "
                f"a pipeline as estimator that makes numbers of them: {error}"
            ) from error
        density = mean_similarity(
            rows,
            self.similarity,
            bandwidth=self.bandwidth,
            chunk_size=int(self.chunk_size),
        )
        # A mean cosine may be negative, and a power of a negative number is none.
        weight = np.maximum(density, 0.0) ** self.beta
        return np.where(asked, np.where(asked, informative, 0.0) * weight, informative)
