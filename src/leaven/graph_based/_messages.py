"""Max-sum messages on a graph: exact on forests, flooding on the rest.

The graph holds unlabeled nodes only. Labeled neighbors appear as *evidence*: the total weight
of the edges to labels of each class. Two classes need one column, the difference of the second
and the first; more classes have a column each. A message along an edge of weight w is

    m(x) = max(h(x), max_y h(y) - w) - max_y h(y),    h = evidence + other messages,

the Potts form of equation (3.13) of Nguyen (2019), in O(classes) a message. With one column it
is ``h`` clipped to ``[-w, w]``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import get_blas_funcs
from scipy.sparse import csgraph

logger = logging.getLogger("leaven")

# Numbers of one buffer of the flooding loop: a few of these fit into a core's cache.
_IN_CACHE = 1 << 15

# choose(values, nodes) gives the class of each node, where values has all classes.
Chooser = Callable[[NDArray[Any], NDArray[Any]], NDArray[np.intp]]


def to_columns(evidence: NDArray[Any]) -> NDArray[Any]:
    """Reduce two classes to their difference; more classes stay as they are."""
    return evidence[:, 1:] - evidence[:, :1] if evidence.shape[1] == 2 else evidence


def to_classes(columns: NDArray[Any]) -> NDArray[Any]:
    """Return one column a class again; only differences between classes mean something."""
    if columns.shape[1] > 1:
        return columns
    return np.hstack([np.zeros_like(columns), columns])


def _message(h: NDArray[Any], w: NDArray[Any]) -> NDArray[Any]:
    w = w[:, None]
    if h.shape[1] == 1:
        return np.asarray(np.clip(h, -w, w))
    return np.asarray(np.maximum(h - h.max(axis=1, keepdims=True), -w))


class Forest:
    """Exact max-sum on a graph without cycles.

    Messages go from the leaves to the root of each tree and back. A whole level of the trees
    is one array operation.

    Parameters
    ----------
    W : csr_array of shape (n_nodes, n_nodes)
        A forest. The first node of each tree becomes its root.
    evidence : ndarray of shape (n_nodes, n_classes)

    Attributes
    ----------
    beliefs : ndarray of shape (n_nodes, n_classes)
        Max-marginals: up to a constant a node, the best score of a labeling in which the
        node has the class.
    """

    def __init__(self, W: sparse.csr_array, evidence: NDArray[Any]) -> None:
        self._grow(W)
        # By position: root first, level by level. ``_below`` lacks the message of the parent.
        self._below = to_columns(evidence)[self._node].astype(np.float64)
        up = self._collect()
        beliefs = self._below.copy()
        for level in self._levels[1:]:
            rest = beliefs[self._parent[level]] - up[level]
            # A parent's belief includes what the child told it; the child must not hear that again.
            beliefs[level] += _message(rest, self._weight[level])
        self.beliefs = np.empty((len(beliefs), evidence.shape[1]))
        self.beliefs[self._node] = to_classes(beliefs)

    def _grow(self, W: sparse.csr_array) -> None:
        """Order the nodes by a breadth-first search from all roots at once."""
        n = W.shape[0]
        _, tree = csgraph.connected_components(W, directed=False)
        roots = np.unique(tree, return_index=True)[1]
        indices = np.concatenate([W.indices, roots])
        hub = sparse.csr_array(
            (np.ones(len(indices)), indices, np.append(W.indptr, len(indices))),
            shape=(n + 1, n + 1),
        )
        order, parent = csgraph.breadth_first_order(hub, n)
        self._node = order[1:]
        position = np.empty(n + 1, dtype=np.intp)
        position[order] = np.arange(-1, n)  # the hub is in front of all
        # Children of one parent lie side by side, and parents come in order.
        self._parent = position[parent[self._node]]
        tail = np.repeat(np.arange(n), np.diff(W.indptr))
        upward = parent[tail] == W.indices
        self._weight = np.zeros(n)
        self._weight[position[tail[upward]]] = W.data[upward]
        ends = [0, len(roots)]
        while ends[-1] < n:
            ends.append(int(np.searchsorted(self._parent, ends[-1])))
        self._levels = [slice(a, b) for a, b in pairwise(ends)]

    def _collect(self) -> NDArray[Any]:
        """Send the messages towards the roots and add them up on the way."""
        up = np.zeros_like(self._below)
        first = np.flatnonzero(np.diff(self._parent, prepend=-2))
        family = np.searchsorted(first, [level.stop for level in self._levels])
        for depth in range(len(self._levels) - 1, 0, -1):
            level = self._levels[depth]
            up[level] = _message(self._below[level], self._weight[level])
            start = first[family[depth - 1] : family[depth]]
            children = np.add.reduceat(up[level], start - level.start, axis=0)
            self._below[self._parent[start]] += children
        return np.asarray(up)

    def decide(self, choose: Chooser, tied: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return a best labeling.

        Where the beliefs leave a choice, a node is decided given its parent, from the roots
        to the leaves, so that ties cannot be settled in ways that do not go together.

        Parameters
        ----------
        choose : callable
            ``choose(values, nodes)``, see ``Chooser``.
        tied : bool ndarray of shape (n_nodes,)
            The nodes whose beliefs leave a choice.

        Returns
        -------
        ndarray of shape (n_nodes,)
        """
        label = self.beliefs.argmax(axis=1)[self._node]
        open_ = np.flatnonzero(tied[self._node])
        ends = np.searchsorted(open_, [level.stop for level in self._levels])
        values = to_classes(self._below[open_])
        rows, parents = np.arange(len(open_)), self._parent[open_]
        # Levels without a tie are passed over.
        for start, stop in pairwise(np.unique(np.append(ends, 0))):
            level = slice(start, stop)
            part = open_[level]
            if parents[start] >= 0:
                values[rows[level], label[parents[level]]] += self._weight[part]
            label[part] = choose(values[level], self._node[part])
        result = np.empty_like(label)
        result[self._node] = label
        return np.asarray(result)


@dataclass(frozen=True)
class Flooded:
    """The outcome of flooding.

    Parameters
    ----------
    beliefs : ndarray of shape (n_nodes, n_classes)
    trace : list of float
        Largest change of a belief in each sweep, as a share of the largest weight.
    residual : float
        Largest change of a message in the last sweep, before damping, as the same share.
    converged : bool
    """

    beliefs: NDArray[Any]
    trace: list[float]
    residual: float
    converged: bool


def flood(
    W: sparse.csr_array,
    evidence: NDArray[Any],
    *,
    max_iter: int,
    damping: float,
    tol: float,
    verbose: int = 0,
) -> Flooded:
    """Run loopy max-sum: in every sweep all messages are sent at once, in both directions.

    Parameters
    ----------
    W : csr_array of shape (n_nodes, n_nodes)
        Symmetric, without a diagonal. Its dtype is that of the messages.
    evidence : ndarray of shape (n_nodes, n_classes)
    max_iter : int
    damping : float in [0, 1)
        Share of the old message that is kept in the new one.
    tol : float
        It has converged when no message changes by more than this share of the largest
        weight.
    verbose : int

    Returns
    -------
    Flooded
    """
    wave = _Flood(W, to_columns(evidence).astype(W.dtype, copy=False), damping)
    largest = float(W.data.max(initial=np.finfo(W.dtype).tiny))
    trace: list[float] = []
    residual = np.inf
    settled = False
    for sweep in range(1, max_iter + 1):
        # The change of the messages costs a pass over them. It is taken when the beliefs,
        # which are fewer, have come to rest; they can rest while messages still change.
        measure = settled or sweep == max_iter
        change, residual = wave.sweep(measure)
        trace.append(change / largest)
        settled = trace[-1] <= tol
        if verbose:
            logger.info("sweep %d: largest change of a belief %.3g", sweep, trace[-1])
        if measure and residual <= tol * largest:
            break
    return Flooded(
        to_classes(wave.beliefs), trace, residual / largest, bool(residual <= tol * largest)
    )


class _Flood:
    """The messages on all edges, and the beliefs that they add up to.

    An edge stands once, with its two messages at the same place of two arrays: what is to be
    subtracted from the belief for one is the other, and no search for the opposite edge is
    needed. The edges are worked off in pieces that stay in the cache.
    """

    def __init__(self, W: sparse.csr_array, evidence: NDArray[Any], damping: float) -> None:
        n, n_columns = evidence.shape
        upper = sparse.csr_array(sparse.triu(W, k=1))
        n_edges, dtype = upper.nnz, W.dtype
        tail = np.repeat(np.arange(n), np.diff(upper.indptr))
        self.ends = tail, upper.indices.astype(np.intp)
        self.weight = upper.data
        self.damping = dtype.type(damping)
        self.evidence = evidence
        # messages[0] go from the tail of an edge to its head, messages[1] back.
        self.messages = np.zeros((2, n_edges, n_columns), dtype=dtype)
        # Edges are in the order of their tails. For the heads by columns: the messages are read
        # in order, and only the few beliefs at random.
        ones, number = np.ones(n_edges, dtype=dtype), np.arange(n_edges + 1)
        self._receives = (
            sparse.csc_array((ones, upper.indices, number), shape=(n, n_edges)),
            sparse.csr_array((ones, number[:-1], upper.indptr), shape=(n, n_edges)),
        )
        self.beliefs = evidence.copy()
        step = max(_IN_CACHE // n_columns, 1)
        self._pieces = [slice(a, min(a + step, n_edges)) for a in range(0, n_edges, step)]
        size = min(step, n_edges)
        self._new = np.empty((2, size, n_columns), dtype=dtype)
        self._least = np.empty((size, n_columns), dtype=dtype)
        self._across = np.empty((n_columns, size), dtype=dtype)
        self._top = np.empty(size, dtype=dtype)
        self._ones = np.ones((n_columns, 1), dtype=dtype)
        self._gemm = get_blas_funcs("gemm", dtype=dtype)

    def sweep(self, measure: bool) -> tuple[float, float]:
        """Send all messages once.

        Returns the largest change of a belief, and that of a message if it is to be
        measured (else infinity).
        """
        residual = 0.0 if measure else np.inf
        plain = not (measure or self.damping)
        for piece in self._pieces:
            new = self._new[:, : piece.stop - piece.start]
            old = self.messages[:, piece]
            for direction in (0, 1):
                h = new[direction]
                np.take(self.beliefs, self.ends[direction][piece], axis=0, out=h, mode="clip")
                h -= old[1 - direction]
            self._limit(new, self.weight[piece], old if plain else new)
            if measure:
                residual = max(residual, float(np.abs(new - old).max()))
            if not plain:
                old *= self.damping
                new *= 1 - self.damping
                old += new
        beliefs = self._receives[0] @ self.messages[0]
        beliefs += self._receives[1] @ self.messages[1]
        beliefs += self.evidence
        change = np.subtract(beliefs, self.beliefs, out=self.beliefs)
        self.beliefs = beliefs
        return float(np.abs(change, out=change).max(initial=0.0)), residual

    def _limit(self, h: NDArray[Any], w: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the messages of both ``h`` into ``out``: ``_message`` without new arrays."""
        if h.shape[2] == 1:
            np.clip(h, -w[:, None], w[:, None], out=out)
            return
        least = self._minus(w, self._least[: len(w)], keep=False)
        # The maximum over few classes is slow along the rows and fast across them.
        across, top = self._across[:, : len(w)], self._top[: len(w)]
        for direction in (0, 1):
            np.copyto(across, h[direction].T)
            np.maximum.reduce(across, axis=0, out=top)
            np.maximum(self._minus(top, h[direction], keep=True), least, out=out[direction])

    def _minus(self, value: NDArray[Any], rows: NDArray[Any], *, keep: bool) -> NDArray[Any]:
        """Return ``rows - value[:, None]``, or ``-value[:, None]``, in the place of ``rows``.

        With rows as short as these a product takes half the time of numpy's subtraction. The
        other factor is one, so that nothing is rounded otherwise.
        """
        return np.asarray(
            self._gemm(
                -1.0, self._ones, value[None, :], 1.0 if keep else 0.0, rows.T, overwrite_c=True
            ).T
        )
