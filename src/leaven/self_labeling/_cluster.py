"""Cluster-then-label: cluster all rows, then give every cluster a label."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import HasMethods, StrOptions
from leaven._labels import UNLABELED, one_hot
from leaven.base import TransductionMixin, seeded_clone
from leaven.exceptions import ConvergenceWarning

_NOISE = -1  # the number of rows in no cluster, as DBSCAN has it
_MOST_CLUSTERS = 100  # bounds the k-means runs of the search for a size


def cluster_centers(X: Any, clusters: NDArray[np.intp], n_clusters: int) -> NDArray[np.float64]:
    """Return the mean of the rows of each cluster; rows with a negative number are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._cluster import cluster_centers
    >>> cluster_centers(np.array([[0.0], [2.0], [7.0], [99.0]]), np.array([0, 0, 1, -1]), 2)
    array([[1.],
           [7.]])
    """
    members = np.flatnonzero(clusters >= 0)
    counts = np.bincount(clusters[members], minlength=n_clusters)
    pick = sparse.csr_array(
        (1.0 / counts[clusters[members]], (clusters[members], members)),
        shape=(n_clusters, len(clusters)),
    )
    sums = pick @ X
    return np.asarray(sums.toarray() if sparse.issparse(sums) else sums, dtype=np.float64)


def label_clusters(
    clusters: NDArray[np.intp],
    codes: NDArray[np.intp],
    n_classes: int,
    to_centers: NDArray[Any],
    between: NDArray[Any],
    *,
    rule: str = "majority",
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Give each cluster a distribution over the classes.

    Parameters
    ----------
    clusters : ndarray of shape (n_labeled,)
        The cluster of each labeled row.
    codes : ndarray of shape (n_labeled,)
        Its class.
    n_classes : int
    to_centers : ndarray of shape (n_labeled, n_clusters)
        Its distance from each center.
    between : ndarray of shape (n_clusters, n_clusters)
        Distances between the centers.
    rule : {"majority", "nearest"}, default="majority"
        The shares of the classes among the cluster's labeled rows, or the class of the
        labeled row that is nearest to the center, in the cluster or not.

    Returns
    -------
    distributions : ndarray of shape (n_clusters, n_classes)
        The largest entry is the cluster's class. A tie of the majority goes to the class of
        the tied row nearest to the center, which gets half a vote more. By majority, a
        cluster without a labeled row takes the distribution of the nearest that has one.
    has_label : bool ndarray of shape (n_clusters,)
        Which clusters hold a labeled row.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._cluster import label_clusters
    >>> centers, rows = np.array([0.0, 5.0, 8.0]), np.array([0.2, 1.0, -0.5, 5.1])
    >>> label_clusters(
    ...     np.array([0, 0, 0, 1]), np.array([0, 1, 1, 0]), 2,
    ...     abs(rows[:, None] - centers), abs(centers[:, None] - centers),
    ... )[0].round(2)
    array([[0.33, 0.67],
           [1.  , 0.  ],
           [1.  , 0.  ]])
    """
    n_clusters = len(between)
    votes = np.zeros((n_clusters, n_classes))
    np.add.at(votes, (clusters, codes), 1.0)
    has_label = np.asarray(votes.any(axis=1))
    if rule == "nearest":
        return one_hot(codes[to_centers.argmin(axis=0)], n_classes), has_label
    for cluster in np.flatnonzero(has_label):
        tied = votes[cluster] == votes[cluster].max()
        if tied.sum() > 1:
            rows = np.flatnonzero((clusters == cluster) & tied[codes])
            votes[cluster, codes[rows[to_centers[rows, cluster].argmin()]]] += 0.5
    source = np.arange(n_clusters)
    donors = np.flatnonzero(has_label)
    source[~has_label] = donors[between[~has_label][:, donors].argmin(axis=1)]
    votes = votes[source]
    return np.asarray(votes / votes.sum(axis=1, keepdims=True)), has_label


def held_out_accuracy(clusters: NDArray[np.intp], codes: NDArray[np.intp], n_classes: int) -> float:
    """Return how often the majority of the *other* labeled rows of a cluster is right.

    Where c classes are tied, as all are for a row that is alone in its cluster, 1 / c of it
    counts as right.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._cluster import held_out_accuracy
    >>> held_out_accuracy(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]), 2)
    0.375
    """
    votes = np.zeros((int(clusters.max()) + 1, n_classes))
    np.add.at(votes, (clusters, codes), 1.0)
    others = votes[clusters]
    others[np.arange(len(codes)), codes] -= 1
    best = others.max(axis=1)
    own = others[np.arange(len(codes)), codes]
    tied = np.sum(others == best[:, None], axis=1)
    return float(np.mean(np.where(own == best, 1.0 / tied, 0.0)))


def _writable(X: Any) -> Any:
    """Sparse rows that k-means takes: not those that parallel jobs share and may not write to."""
    return X.copy() if sparse.issparse(X) and not X.data.flags.writeable else X


class ClusterThenLabel(TransductionMixin, BaseEstimator):
    """Cluster the rows without labels, and label the clusters.

    Every row takes the class of its cluster: the most frequent one among the cluster's
    labeled rows [1]_, or that of the labeled row nearest to the center [2]_. Labeled rows
    keep their own.

    The assumption is that rows of one cluster are of one class. Clusters may be many more
    than the classes, but a cluster without a labeled row has to borrow its label. Centers
    and distances are those of ``X`` as given, also around a pipeline that scales.

    Parameters
    ----------
    clusterer : clusterer or mixture, default=None
        Any of scikit-learn's. None is k-means with the
        number of clusters that predicts the labeled rows best, each from the other labeled
        rows of its cluster: tried are one cluster a class, two, four and so on, up to the
        number of labeled rows or 100; of equals the fewest.
    rule : {"majority", "nearest"}, default="majority"
        ``"majority"``: the most frequent label in the cluster; a tie goes to the tied label
        nearest to the center; a cluster without a label takes the label of the nearest
        cluster (by center) that has one. ``"nearest"``: the label of the labeled row
        nearest to the center, in the cluster or not.
    assign : {"member", "center"}, default="member"
        Where a row belongs that the clusterer itself cannot place: new rows, if it has no
        ``predict``, and rows that it marks as noise. To the cluster of the nearest training
        row, or to the nearest center. Centers suit round clusters; members suit all, and
        place training rows where they are, but ``X`` is kept for it.
    random_state : int, RandomState or None, default=None
        Seeds the default clusterer, or a given one whose own ``random_state`` is None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    clusterer_ : fitted clusterer
    clusters_ : ndarray of shape (n_samples,)
        The cluster of each training row, from 0; noise rows are placed by ``assign``.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the rows of each cluster, noise left out.
    cluster_classes_ : ndarray of shape (n_clusters,)
        The class of each cluster.
    n_clusters_ : int
    n_unlabeled_clusters_ : int
        Clusters without a labeled row, whose label comes from elsewhere.
    n_noise_ : int
        Rows that the clusterer left out (-1 in its own numbering, as DBSCAN does).
    transduction_ : ndarray of shape (n_samples,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Shares of the labels in the cluster; one for the label by the nearest rule.

    References
    ----------
    .. [1] "Advanced method for decision: semi-supervised learning", course OS14, Université
       de technologie de Troyes, 2013: method based on clustering.
    .. [2] L. Lefakis, "Transductive learning for document classification and handwritten
       character recognition", Utrecht University, section 3.4.6.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from leaven.self_labeling import ClusterThenLabel
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [7.0], [7.1]]
    >>> y = ["a", None, None, "b", None, None, None]
    >>> model = ClusterThenLabel(KMeans(n_clusters=3, n_init=5, random_state=0)).fit(X, y)
    >>> model.transduction_
    array(['a', 'a', 'a', 'b', 'b', 'b', 'b'], dtype=object)
    >>> model.n_unlabeled_clusters_
    1
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "clusterer": [None, HasMethods(["fit"])],
        "rule": [StrOptions({"majority", "nearest"})],
        "assign": [StrOptions({"member", "center"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        clusterer: Any = None,
        *,
        rule: str = "majority",
        assign: str = "member",
        random_state: Any = None,
    ) -> None:
        self.clusterer = clusterer
        self.rule = rule
        self.assign = assign
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ClusterThenLabel:
        """Cluster the rows ``X`` and label the clusters by those that have one in ``y``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Unlabeled rows are -1 among integers, and None, NaN or pandas.NA elsewhere.

        Returns
        -------
        self
        """
        X, codes = self._validate_fit(X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        # k-means predicts only in the dtype of its fit.
        self._dtype = X.dtype
        X = _writable(X)
        rng = check_random_state(self.random_state)
        labeled = np.flatnonzero(codes != UNLABELED)
        n_classes = len(self.classes_)
        if self.clusterer is None:
            found = self._fit_kmeans(X, codes, labeled, rng)
        else:
            found = self._fit_clusterer(X, rng)
        numbers = np.unique(found[found >= 0])
        if not len(numbers):
            raise ValueError(
                f"{type(self.clusterer_).__name__} marked all {X.shape[0]} rows as noise: there "
                "is no cluster to label. Change its parameters, for example a larger eps."
            )
        self.n_noise_ = int(np.sum(found < 0))
        self.n_clusters_ = len(numbers)
        # A clusterer's own numbers may leave gaps: a mixture component without rows.
        self._numbers = numbers
        clusters = np.where(found < 0, _NOISE, np.searchsorted(numbers, found))
        self.cluster_centers_ = cluster_centers(X, clusters, self.n_clusters_)
        self._members: tuple[Any, NDArray[np.intp]] | None = None
        # Kept only if it will be asked for: by noise rows, or by new rows.
        if self.assign == "member" and (self.n_noise_ or not hasattr(self.clusterer_, "predict")):
            inside = np.flatnonzero(clusters >= 0)
            self._members = X[inside], clusters[inside]
        clusters = self._place_noise(X, clusters)
        self.clusters_ = clusters
        distributions, has_label = label_clusters(
            clusters[labeled],
            codes[labeled],
            n_classes,
            pairwise_distances(X[labeled], self.cluster_centers_),
            pairwise_distances(self.cluster_centers_),
            rule=self.rule,
        )
        self.n_unlabeled_clusters_ = int(np.sum(~has_label))
        self._cluster_distributions = distributions
        self.cluster_classes_ = self.classes_[distributions.argmax(axis=1)]
        self._store_transduction(distributions[clusters], codes)
        return self

    def _fit_kmeans(
        self,
        X: Any,
        codes: NDArray[np.intp],
        labeled: NDArray[np.intp],
        rng: np.random.RandomState,
    ) -> NDArray[np.intp]:
        """Fit k-means with the number of clusters that suits the labels best."""
        n_classes = len(self.classes_)
        most = max(n_classes, min(len(labeled), _MOST_CLUSTERS))
        seed = int(rng.randint(np.iinfo(np.int32).max))
        best = -1.0
        size = n_classes
        while size <= most:
            with warnings.catch_warnings():
                # Fewer distinct rows than clusters: such a candidate is no better, and not used.
                warnings.simplefilter("ignore", ConvergenceWarning)
                candidate = KMeans(n_clusters=size, n_init=2, random_state=seed).fit(X)
            found = candidate.labels_[labeled]
            score = held_out_accuracy(found, codes[labeled], n_classes)
            if score > best:
                best, self.clusterer_ = score, candidate
            size *= 2
        return np.asarray(self.clusterer_.labels_, dtype=np.intp)

    def _fit_clusterer(self, X: Any, rng: np.random.RandomState) -> NDArray[np.intp]:
        clusterer = self.clusterer_ = seeded_clone(self.clusterer, rng)
        if hasattr(clusterer, "fit_predict"):
            found = clusterer.fit_predict(X)
        elif hasattr(clusterer, "predict"):
            found = clusterer.fit(X).predict(X)
        else:
            raise TypeError(
                f"clusterer must have fit_predict or predict; {type(clusterer).__name__} has "
                "neither. Use a clusterer or a mixture of scikit-learn."
            )
        return np.asarray(found, dtype=np.intp)

    def _place_noise(self, X: Any, clusters: NDArray[np.intp]) -> NDArray[np.intp]:
        """Give the rows with a negative cluster number one by the rule ``assign``."""
        homeless = np.flatnonzero(clusters < 0)
        if not len(homeless):
            return clusters
        clusters = clusters.copy()
        if self._members is None:
            clusters[homeless] = pairwise_distances_argmin(X[homeless], self.cluster_centers_)
        else:
            rows, numbers = self._members
            clusters[homeless] = numbers[pairwise_distances_argmin(X[homeless], rows)]
        return clusters

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the class distribution of the cluster of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = _writable(validate_data(self, X, reset=False, accept_sparse="csr", dtype=self._dtype))
        clusters = np.full(X.shape[0], _NOISE, dtype=np.intp)
        if hasattr(self.clusterer_, "predict"):
            found = np.asarray(self.clusterer_.predict(X), dtype=np.intp)
            # A cluster that had no training row has no label: such rows count as noise.
            place = np.minimum(np.searchsorted(self._numbers, found), self.n_clusters_ - 1)
            known = self._numbers[place] == found
            clusters[known] = place[known]
        return self._cluster_distributions[self._place_noise(X, clusters)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        clusterer = KMeans() if self.clusterer is None else self.clusterer
        tags.input_tags.sparse = get_tags(clusterer).input_tags.sparse
        return tags
