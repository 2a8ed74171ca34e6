"""Seeded and constrained k-means (Basu, Banerjee and Mooney, 2002), with links between rows."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval
from leaven._labels import UNLABELED
from leaven._magnitude import check_magnitude
from leaven.base import TransductionMixin
from leaven.exceptions import ConvergenceWarning


def link_groups(
    n_rows: int, must_link: NDArray[np.intp], cannot_link: NDArray[np.intp]
) -> tuple[NDArray[np.intp], dict[int, set[int]]]:
    """Join rows that must be together, and list the groups that must be apart.

    Parameters
    ----------
    n_rows : int
    must_link, cannot_link : ndarray of shape (n_pairs, 2)

    Returns
    -------
    group : ndarray of shape (n_rows,)
        The transitive closure of ``must_link``.
    apart : dict of int to set of int
        For each group the groups that ``cannot_link`` keeps from it.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.self_labeling._seeded_kmeans import link_groups
    >>> link_groups(4, np.array([[0, 2]]), np.array([[2, 3]]))
    (array([0, 1, 0, 2], dtype=int32), {0: {2}, 2: {0}})
    """
    ones = np.ones(len(must_link))
    joined = sparse.coo_array((ones, (must_link[:, 0], must_link[:, 1])), shape=(n_rows, n_rows))
    _, group = connected_components(sparse.csr_array(joined), directed=False)
    apart: dict[int, set[int]] = {}
    for i, j in cannot_link:
        first, second = int(group[i]), int(group[j])
        if first == second:
            raise ValueError(
                f"Rows {i} and {j} stand in cannot_link, but must_link joins them, directly or "
                "through other rows. Remove one of the two."
            )
        apart.setdefault(first, set()).add(second)
        apart.setdefault(second, set()).add(first)
    return group, apart


def assign_groups(
    costs: NDArray[np.float64], fixed: NDArray[np.intp], apart: dict[int, set[int]]
) -> NDArray[np.intp]:
    """Give every group its cheapest cluster that no group apart from it has.

    Fixed groups come first, then those without such groups, then the others, the clearest ones
    first: the assignment of COP-k-means (Wagstaff et al., 2001) in an order that leaves fewer
    groups without a cluster. Where one is left without, the groups with the fewest clusters to
    choose from come first instead, as in the coloring of graphs (Brélaz, 1979).

    Parameters
    ----------
    costs : ndarray of shape (n_groups, n_clusters)
    fixed : ndarray of shape (n_groups,)
        The cluster, or -1.
    apart : dict of int to set of int

    Raises
    ------
    ValueError
        If a group has no cluster left.
    """
    two = np.partition(costs, 1, axis=1)
    clearness = two[:, 0] - two[:, 1]
    cluster = np.where(fixed >= 0, fixed, costs.argmin(axis=1))
    for narrow_first in (False, True):
        chosen = _assign_apart(costs, fixed, apart, clearness, narrow_first)
        if chosen is not None:
            cluster[list(chosen)] = list(chosen.values())
            return cluster
    raise ValueError(
        "cannot_link leaves a row without a cluster: rows that must be apart from it have "
        f"all {costs.shape[1]} of them. Remove a link."
    )


def _assign_apart(
    costs: NDArray[np.float64],
    fixed: NDArray[np.intp],
    apart: dict[int, set[int]],
    clearness: NDArray[np.float64],
    narrow_first: bool,
) -> dict[int, int] | None:
    """Clusters of the groups in ``apart``, one after the other; None if one has no choice left."""
    taken = {each: int(fixed[each]) for each in apart if fixed[each] >= 0}
    waiting = sorted((each for each in apart if fixed[each] < 0), key=lambda each: clearness[each])

    def free(each: int) -> list[int]:
        barred = {taken[other] for other in apart[each] if other in taken}
        return [k for k in range(costs.shape[1]) if k not in barred]

    while waiting:
        # min takes the first of equals, which is the clearest.
        each = min(waiting, key=lambda each: len(free(each))) if narrow_first else waiting[0]
        waiting.remove(each)
        choice = free(each)
        if not choice:
            return None
        taken[each] = min(choice, key=lambda k: costs[each, k])
    return taken


class SeededKMeansClassifier(TransductionMixin, BaseEstimator):
    r"""K-means that starts from the labeled rows, with one cluster per class.

    The labeled rows are seeds: their class means are the first centers. Then rows go to the
    nearest center and centers to the mean of their rows in turn, which minimizes

    .. math:: \sum_i \lVert x_i - \mu_{c_i} \rVert^2 .

    With ``constrained=True`` the seeds keep their class (constrained k-means); otherwise they
    may change it, which tolerates wrong labels (seeded k-means) [1]_. Pairs of rows that must or
    cannot be in one cluster may be given to ``fit`` [2]_.

    Parameters
    ----------
    constrained : bool, default=True
        Whether labeled rows stay in the cluster of their class.
    max_iter : int, default=300

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    cluster_centers_ : ndarray of shape (n_classes, n_features)
    transduction_ : ndarray of shape (n_samples,)
        With ``constrained=False`` a labeled row may have another class than the one given.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    objective_trace_ : ndarray of shape (n_iter_,)
        The sum of squares after each round. Without ``cannot_link`` it never rises.
    n_iter_ : int
    converged_ : bool

    See Also
    --------
    ClusterThenLabel : Clusters first, and labels them afterwards.
    leaven.generative.SemiSupervisedGaussianMixture : Clusters of different shapes.

    Notes
    -----
    The class probabilities are those of equally wide round clusters of equal size, with the
    variance of the fit. A round costs O(n d c).

    References
    ----------
    .. [1] S. Basu, A. Banerjee and R. Mooney, "Semi-supervised clustering by seeding", ICML
       2002.
    .. [2] K. Wagstaff, C. Cardie, S. Rogers and S. Schrödl, "Constrained k-means clustering
       with background knowledge", ICML 2001.

    Examples
    --------
    >>> from leaven.self_labeling import SeededKMeansClassifier
    >>> X = [[0.0], [0.5], [2.6], [5.0], [5.5]]
    >>> y = ["a", None, None, "b", None]
    >>> SeededKMeansClassifier().fit(X, y).transduction_.tolist()
    ['a', 'a', 'b', 'b', 'b']
    >>> SeededKMeansClassifier().fit(X, y, must_link=[(1, 2)]).transduction_.tolist()
    ['a', 'a', 'a', 'b', 'b']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "constrained": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, *, constrained: bool = True, max_iter: int = 300) -> None:
        self.constrained = constrained
        self.max_iter = max_iter

    def fit(
        self, X: Any, y: Any, *, must_link: Any = (), cannot_link: Any = ()
    ) -> SeededKMeansClassifier:
        """Fit on rows ``X``, of which some have a label in ``y``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Unlabeled rows are -1 among integers, and None, NaN or pandas.NA elsewhere.
        must_link, cannot_link : sequence of pairs of int, default=()
            Numbers of rows that must, or cannot, be of one class.

        Returns
        -------
        self
        """
        X, codes = self._validate_fit(X, y, dtype=np.float64)
        check_magnitude(self, X)
        n_classes = len(self.classes_)
        together = _checked_pairs("must_link", must_link, len(X))
        group, apart = link_groups(
            len(X), together, _checked_pairs("cannot_link", cannot_link, len(X))
        )
        fixed = self._fixed_groups(group, codes)
        centers = np.array([X[codes == code].mean(axis=0) for code in range(n_classes)])
        members = sparse.csr_array(
            (np.ones(len(X)), (group, np.arange(len(X)))), shape=(group.max() + 1, len(X))
        )
        found = np.full(len(X), UNLABELED)
        trace: list[float] = []
        self.converged_ = False
        for _ in range(self.max_iter):
            costs = np.asarray(members @ euclidean_distances(X, centers, squared=True))
            cluster = assign_groups(costs, fixed, apart)[group]
            self.converged_ = bool((cluster == found).all())
            found = cluster
            for code in range(n_classes):
                if (found == code).any():  # a cluster that has lost all rows keeps its center
                    centers[code] = X[found == code].mean(axis=0)
            trace.append(float(((X - centers[found]) ** 2).sum()))
            if self.converged_:
                break
        else:
            warnings.warn(
                f"Clusters still changed after max_iter={self.max_iter} rounds. Raise max_iter.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.cluster_centers_ = centers
        self.n_iter_ = len(trace)
        self.objective_trace_ = np.asarray(trace)
        # The variance of each coordinate; tiny where every row is a center.
        self._variance = max(trace[-1] / X.size, np.finfo(float).tiny)
        distributions = self._probabilities(X)
        moved = distributions.argmax(axis=1) != found
        distributions[moved] = np.eye(n_classes)[found[moved]]  # by a link or a given label
        self._store_transduction(distributions, codes, keep_given=self.constrained)
        return self

    def _fixed_groups(self, group: NDArray[np.intp], codes: NDArray[np.intp]) -> NDArray[np.intp]:
        """The class of each group that holds a labeled row, if labels are constraints."""
        fixed: NDArray[np.intp] = np.full(group.max() + 1, UNLABELED)
        for row in np.flatnonzero(codes != UNLABELED) if self.constrained else ():
            known = fixed[group[row]]
            if known not in (UNLABELED, codes[row]):
                raise ValueError(
                    f"must_link joins row {row}, labeled {self.classes_[codes[row]]!r}, with one "
                    f"labeled {self.classes_[known]!r}. Remove the link, or set constrained=False."
                )
            fixed[group[row]] = codes[row]
        return fixed

    def _probabilities(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        check_magnitude(self, X)
        squared = euclidean_distances(X, self.cluster_centers_, squared=True)
        # Only differences count, and a quotient of one alone may overflow: where all rows are
        # centers, the variance is next to nothing.
        farther = squared - squared.min(axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            return np.asarray(softmax(-farther / (2.0 * self._variance), axis=1))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities by the distances to the centers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self._probabilities(validate_data(self, X, reset=False, dtype=np.float64))


def _checked_pairs(name: str, pairs: Any, n_rows: int) -> NDArray[np.intp]:
    found = np.asarray(list(pairs), dtype=np.intp).reshape(-1, 2)
    if len(found) and (found.min() < 0 or found.max() >= n_rows):
        bad = found[(found < 0).any(axis=1) | (found >= n_rows).any(axis=1)][0]
        raise ValueError(
            f"{name} holds the pair {tuple(bad.tolist())}, but rows go from 0 to {n_rows - 1}."
        )
    return found
