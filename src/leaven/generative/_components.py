"""Several components per class: how they start, and how many there should be."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.model_selection import StratifiedKFold

from leaven._labels import UNLABELED
from leaven.exceptions import MemoryBoundError

INITS = ("random", "tree", "kmeans")
# Bounds the Gram matrix of a class at 0.8 GB, and twice that with its working copy.
MAX_TREE_ROWS = 10_000

# Folds of the search for the number of components, scikit-learn's default.
MAX_FOLDS = 5


def start_responsibilities(
    features: Any,
    codes: NDArray[np.intp],
    classes: NDArray[Any],
    n_components: int,
    init: str,
    random_state: np.random.RandomState,
    sample_weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Spread the labeled rows of each class over the components of that class.

    Parameters
    ----------
    features : dense array or CSR matrix of shape (n_labeled, n_features)
        The labeled rows, for the clustering.
    codes : int array of shape (n_labeled,)
    classes : array of shape (n_classes,)
        Names, for messages.
    n_components : int
        Components per class; component j of class c is column ``c * n_components + j``.
    init : {"random", "tree", "kmeans"}
        Random shares; clusters by :func:`agglomerate`; clusters by k-means: section 2.3 of
        Nguyen (2019).
    random_state : RandomState
    sample_weight : array of shape (n_labeled,), default=None
        Of the rows in the clusterings.

    Returns
    -------
    responsibilities : ndarray of shape (n_labeled, n_classes * n_components)
    """
    result = np.zeros((len(codes), len(classes) * n_components))
    if n_components == 1:
        result[np.arange(len(codes)), codes] = 1.0
        return result
    for code, name in enumerate(classes.tolist()):
        rows = np.flatnonzero(codes == code)
        columns = code * n_components + np.arange(n_components)
        if init == "random":
            shares = random_state.dirichlet(np.ones(n_components), size=len(rows))
            result[np.ix_(rows, columns)] = shares
            continue
        if len(rows) < n_components:
            raise ValueError(
                f"n_components={n_components} with init={init!r} splits the labeled rows of each "
                f"class into {n_components} clusters, but class {name!r} has only {len(rows)} "
                "labeled rows. Use fewer components, more labels, or init='random'."
            )
        own = features[rows]
        weights = None if sample_weight is None else sample_weight[rows]
        if init == "tree":
            if weights is not None:
                # The tree looks at sums of rows: w equal rows sum up to w times the row.
                own = sparse.diags_array(weights) @ own
            clusters = agglomerate(own, n_components)
        else:
            seed = random_state.randint(np.iinfo(np.int32).max)
            model = KMeans(n_clusters=n_components, n_init=10, random_state=seed)
            clusters = model.fit_predict(own, sample_weight=weights)
        result[rows, columns[clusters]] = 1.0
    return result


def agglomerate(X: Any, n_clusters: int) -> NDArray[np.intp]:
    """Merge the two most similar groups of rows until ``n_clusters`` are left.

    The similarity of two groups is the cosine between their mean rows, equation (2.11) of
    Nguyen (2019). The mean and the sum of a group point the same way, and inner products of
    sums add up: merging two groups adds two rows of the Gram matrix, so that no mean is ever
    formed. Cuts are nested: the cut into k + 1 groups splits one group of the cut into k.

    Parameters
    ----------
    X : dense array or CSR matrix of shape (n_rows, n_features)
    n_clusters : int
        Between 1 and n_rows.

    Returns
    -------
    labels : int array of shape (n_rows,)
        Groups in the order of their first row.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.generative._components import agglomerate
    >>> agglomerate(np.array([[1.0, 0.0], [0.0, 2.0], [5.0, 0.1], [0.1, 1.0]]), 2)
    array([0, 1, 0, 1])
    """
    n = X.shape[0]
    if n > MAX_TREE_ROWS:
        raise MemoryBoundError(
            f"init='tree' on {n} labeled rows of one class needs a matrix of {n} by {n} numbers "
            f"({16 * n * n / 1e9:.1f} GB with its working copy), and the bound is "
            f"{MAX_TREE_ROWS} rows. Use init='kmeans'."
        )
    key = _content(X)
    if key not in _trees:
        while len(_trees) >= MAX_TREES:
            _trees.pop(next(iter(_trees)))
        _trees[key] = _merges(X)
    labels = np.arange(n)
    for i, j in _trees[key][: n - n_clusters]:
        labels[labels == j] = i
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


_trees: dict[bytes, NDArray[np.intp]] = {}
# Trees that are kept: the search cuts that of a class in a fold at each number of components, and
# the tree takes 30 times as long as the cut of 750 rows.
MAX_TREES = 32


def _content(X: Any) -> bytes:
    """What tells a matrix from others, by its numbers."""
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    digest = hashlib.blake2b(f"{type(X)} {X.shape}".encode())
    for part in parts:
        array = np.ascontiguousarray(part)
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.digest()


def _merges(X: Any) -> NDArray[np.intp]:
    """All merges in their order: the group of the second row becomes part of that of the first."""
    n = X.shape[0]
    gram = X @ X.T
    gram = np.asarray(gram.toarray() if sparse.issparse(gram) else gram, dtype=np.float64)
    norms = np.diag(gram).copy()
    similarity = _cosines(gram, np.sqrt(np.outer(norms, norms)))
    np.fill_diagonal(similarity, -np.inf)
    best = similarity.argmax(axis=1)
    value = similarity[np.arange(n), best]
    merges = np.empty((max(n - 1, 0), 2), dtype=np.intp)
    for step in range(n - 1):
        i = int(value.argmax())
        j = int(best[i])
        i, j = min(i, j), max(i, j)
        merges[step] = i, j
        norms[i] += norms[j] + 2 * gram[i, j]
        gram[i] += gram[j]
        gram[:, i] = gram[i]
        # Group j has become part of i and is never looked at again.
        similarity[j] = similarity[:, j] = -np.inf
        gone = np.isneginf(similarity[i])
        similarity[i] = np.where(gone, -np.inf, _cosines(gram[i], np.sqrt(norms[i] * norms)))
        similarity[i, i] = -np.inf
        similarity[:, i] = similarity[i]
        # Whose best was merged looks again. The new group may be the best of others too, but
        # then the pair is found from its side.
        again = np.union1d(np.flatnonzero((best == i) | (best == j)), [i])
        best[again] = similarity[again].argmax(axis=1)
        value = similarity[np.arange(n), best]
    return merges


def _cosines(inner: NDArray[np.float64], length: NDArray[np.float64]) -> NDArray[np.float64]:
    # A row of zeros has no direction: it is similar to nothing.
    return np.divide(inner, length, out=np.zeros(inner.shape), where=length > 0)


def check_candidates(n_components: Any) -> list[int]:
    """Return the component counts to try, of which one is simply used."""
    candidates = np.atleast_1d(np.asarray(n_components))
    if (
        candidates.ndim != 1
        or not len(candidates)
        or candidates.dtype.kind not in "iu"
        or (candidates < 1).any()
    ):
        raise ValueError(
            f"n_components={n_components!r} must be a positive integer, or a list of positive "
            "integers to search."
        )
    return [int(count) for count in candidates]


def search_n_components(
    candidates: Sequence[int],
    codes: NDArray[np.intp],
    classes: NDArray[Any],
    transduce: Callable[[NDArray[np.intp], int], NDArray[np.intp]],
    seed: int,
) -> tuple[int, dict[int, float]]:
    """Choose the number of components by cross-validation on the labeled rows.

    The labels of one fold are hidden, the model is fitted on all rows, and the hidden labels
    are compared with the classes it gives. The likelihood is not used: it grows with the number
    of components whether or not they follow the classes.

    Parameters
    ----------
    candidates : sequence of int
    codes : int array of shape (n_samples,)
    classes : array of shape (n_classes,)
    transduce : callable
        ``transduce(codes, n_components) -> codes`` of all rows.
    seed : int
        Of the folds.

    Returns
    -------
    best : int
        The smallest count with the highest accuracy.
    accuracy : dict
        Of each count; NaN where a class has too few rows for it.
    """
    labeled = np.flatnonzero(codes != UNLABELED)
    counts = np.bincount(codes[labeled], minlength=len(classes))
    smallest = int(counts.argmin())
    if counts[smallest] < 2:
        raise ValueError(
            f"n_components={list(candidates)} is searched by cross-validation, which needs two "
            f"labeled rows per class, but class {classes.tolist()[smallest]!r} has "
            f"{counts[smallest]}. Give a single number, or more labels."
        )
    folds = StratifiedKFold(
        n_splits=min(MAX_FOLDS, int(counts[smallest])), shuffle=True, random_state=seed
    )
    splits = [labeled[test] for _, test in folds.split(labeled, codes[labeled])]
    accuracy: dict[int, float] = {}
    failure: ValueError | None = None
    for count in candidates:
        correct = 0
        try:
            for hidden in splits:
                partly = codes.copy()
                partly[hidden] = UNLABELED
                correct += int((transduce(partly, count)[hidden] == codes[hidden]).sum())
            accuracy[count] = correct / len(labeled)
        except ValueError as error:
            # Too few rows of a class are left for so many components.
            accuracy[count], failure = np.nan, error
    if np.isnan(list(accuracy.values())).all():
        assert failure is not None
        raise failure
    best = min(accuracy, key=lambda count: (-np.nan_to_num(accuracy[count], nan=-1.0), count))
    return best, accuracy
