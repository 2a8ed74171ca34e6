"""A graph with merged nodes, to be filled with many different weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


@dataclass(frozen=True)
class Network:
    """A graph whose nodes are merged into groups, two of which are the terminals.

    Arcs are kept by their position among the weights of the graph, so that the same network
    can be filled with other weights.

    Parameters
    ----------
    group : ndarray of shape (n_nodes,)
        The group of each node of the graph.
    source, sink : int
        The groups that are the terminals.
    indptr, indices : ndarray
        The arcs between groups, in CSR form.
    position : ndarray
        Where the weights of the arcs stand in ``W.data``, arc by arc.
    start : ndarray
        Where in ``position`` each arc begins.
    """

    group: NDArray[Any]
    source: int
    sink: int
    indptr: NDArray[Any]
    indices: NDArray[Any]
    position: NDArray[Any]
    start: NDArray[Any]

    @property
    def n_groups(self) -> int:
        """Number of groups, the terminals among them."""
        return len(self.indptr) - 1

    @classmethod
    def of_labels(
        cls, W: sparse.csr_array, source: NDArray[np.bool_], sink: NDArray[np.bool_]
    ) -> Network:
        """Merge the labeled nodes into two terminals, in place of edges of infinite weight.

        Edges between labeled nodes are left out: no choice of labels changes them. Labeled
        nodes should come last in ``W``; other orders only take longer.
        """
        n_free = len(source) - int(source.sum()) - int(sink.sum())
        group = np.empty(len(source), dtype=np.int64)
        group[~source & ~sink] = np.arange(n_free)
        group[source], group[sink] = n_free, n_free + 1
        tail, head = np.repeat(group, np.diff(W.indptr)), group[W.indices]
        keep = np.flatnonzero((tail != head) & ((tail < n_free) | (head < n_free)))
        return cls._of_arcs(group, n_free + 2, n_free, n_free + 1, tail[keep], head[keep], keep)

    @classmethod
    def _of_arcs(
        cls,
        group: NDArray[Any],
        n_groups: int,
        source: int,
        sink: int,
        tail: NDArray[Any],
        head: NDArray[Any],
        position: NDArray[Any],
    ) -> Network:
        key = tail * n_groups + head
        order = np.argsort(key, kind="stable")  # quick if nearly sorted
        key = key[order]
        start = np.flatnonzero(np.diff(key, prepend=-1))
        row, col = np.divmod(key[start], n_groups)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n_groups))])
        return cls(
            group,
            source,
            sink,
            indptr.astype(np.int32),
            col.astype(np.int32),
            position[order],
            start,
        )

    def capacities(self, weights: NDArray[Any]) -> sparse.csr_array:
        """Return the matrix of capacities between the groups."""
        sums = np.asarray(weights, dtype=np.float64)[self.position]
        if len(self.start) < len(sums):
            sums = np.add.reduceat(sums, self.start)
        return sparse.csr_array(
            (sums, self.indices, self.indptr), shape=(self.n_groups, self.n_groups)
        )

    def merged(self, group: NDArray[Any], n_groups: int) -> Network:
        """Merge the groups further: ``group`` gives the new group of each old one."""
        group = group.astype(np.int64)
        count = np.diff(self.start, append=len(self.position))
        tail = np.repeat(np.repeat(group, np.diff(self.indptr)), count)
        head = np.repeat(group[self.indices], count)
        apart = np.flatnonzero(tail != head)
        return self._of_arcs(
            group[self.group],
            n_groups,
            int(group[self.source]),
            int(group[self.sink]),
            tail[apart],
            head[apart],
            self.position[apart],
        )
