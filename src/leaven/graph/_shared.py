"""One neighbor search for several classifiers on one graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from joblib import hash as content_hash
from scipy import sparse

Weights = dict[tuple[int, str], tuple[Any, sparse.csr_array]]

# None outside of share_searches: nothing is kept there, as nobody would end its life.
_FOUND: ContextVar[Weights | None] = ContextVar("leaven_graph_searches", default=None)


@contextmanager
def share_searches() -> Iterator[None]:
    """Search the neighbors of new rows once for all classifiers that share a fitted graph.

    Inside, ``weights_to`` of one builder gives for the same rows the matrix that it has given
    before; rows are the same if their content is. On leaving everything is forgotten.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from leaven.datasets import make_two_moons
    >>> from leaven.graph import KNNGraph, share_searches
    >>> from leaven.graph_based import ConsistencyClassifier, HarmonicClassifier
    >>> X, y = make_two_moons(60, random_state=0)
    >>> y[10:] = -1
    >>> graph = FrozenEstimator(KNNGraph().fit(X))
    >>> models = [HarmonicClassifier(graph).fit(X, y), ConsistencyClassifier(graph).fit(X, y)]
    >>> with share_searches():
    ...     answers = [model.predict_proba(X + 0.01) for model in models]
    """
    token = _FOUND.set({})
    try:
        yield
    finally:
        _FOUND.reset(token)


def shared(builder: Any, X: Any, search: Callable[[Any], sparse.csr_array]) -> sparse.csr_array:
    """Return ``search(X)``, or what it gave for the same rows inside :func:`share_searches`."""
    found = _FOUND.get()
    if found is None:
        return search(X)
    # Each scales the rows by itself, so they are other arrays with the same content.
    key = (id(builder), str(content_hash(X)))
    if key not in found:
        # The builder is kept with its answer: an id may come again once its object is gone.
        found[key] = (builder, search(X))
    # SciPy may sort the entries of a matrix in use; a copy keeps the sums of all users the same.
    return found[key][1].copy()
