"""The cuts that label a graph, from the labels of a classifier to its scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaven._labels import UNLABELED, one_hot
from leaven.base import normalize_rows
from leaven.graph import Graph
from leaven.graph_based._base import GraphClassifier
from leaven.graph_based._class_mass import class_mass_factors
from leaven.graph_based._cuts import (
    label_distances,
    minimum_cuts,
    neighbors_together,
    steady_groups,
)
from leaven.graph_based._expansion import alpha_expansion
from leaven.graph_based._harmonic import harmonic_function
from leaven.graph_based._network import Network
from leaven.graph_based._simplex import project_to_simplex
from leaven.graph_based._threshold import proportion_thresholds

MULTICLASS = ("expansion", "one-versus-rest")

FEWEST_ROWS = 20
"""Below this many unlabeled rows nothing is known of the proportions, and the exact cut of a
small graph is what is asked for."""


class CutProblem:
    """The cuts that label a graph: one for two classes, else one of each class and the rest.

    Parameters
    ----------
    W : csr_array of shape (n_nodes, n_nodes)
        Every component holds a labeled node.
    codes : ndarray of shape (n_nodes,)
    n_classes : int
    side : {"source", "sink", "balanced"}

    Attributes
    ----------
    W, codes
        With the nodes in another order, that of ``order``.
    """

    def __init__(
        self, W: sparse.csr_array, codes: NDArray[np.intp], n_classes: int, side: str
    ) -> None:
        self.order = neighbors_together(W, codes)
        self.W = sparse.csr_array(W[self.order][:, self.order])
        self.W.sort_indices()
        self.codes, self.n_classes, self.side = codes[self.order], n_classes, side
        self.free = self.codes == UNLABELED
        # Of two classes the second is the positive one, the source.
        self.sources = [1] if n_classes == 2 else list(range(n_classes))

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """Path lengths from each node to the labels of each class."""
        return label_distances(self.W, self.codes, self.n_classes)

    def networks(self, noise: float | None = None) -> Iterator[Network]:
        """Yield the network of each cut; with ``noise``, reduced to what noise can change."""
        for c in self.sources:
            source = self.codes == c
            network = Network.of_labels(self.W, source, ~source & ~self.free)
            if noise is not None:
                capacities = network.capacities(self.W.data)
                group = steady_groups(capacities, network.source, network.sink, noise)
                network = network.merged(*group)
            yield network

    def claims(
        self, networks: Iterable[Network], weights: NDArray[Any], *, max_rounds: int = 8
    ) -> tuple[NDArray[np.bool_], float]:
        """Cut every network.

        Parameters
        ----------
        networks : iterable of Network
        weights : ndarray of shape (n_entries,)
            In place of ``W.data``.
        max_rounds : int, default=8
            1 is precise enough where the weights are noisy.

        Returns
        -------
        claims : bool ndarray of shape (n_nodes, n_cuts)
            The source side of each cut.
        gap : float
            How much a cut may exceed the minimum because of rounding.
        """
        claims = np.zeros((len(self.codes), len(self.sources)), dtype=bool)
        gap = 0.0
        for column, (c, network) in enumerate(zip(self.sources, networks, strict=True)):
            cuts = minimum_cuts(
                network.capacities(weights), network.source, network.sink, max_rounds=max_rounds
            )
            if self.side == "source":
                side = cuts.smallest()
            elif self.side == "sink":
                side = cuts.largest()
            else:
                side = cuts.balanced(*self._balance(c, network))
            claims[:, column] = side[network.group]
            gap = max(gap, cuts.gap)
        return claims, gap

    def _balance(self, c: int, network: Network) -> tuple[NDArray[Any], NDArray[Any], float]:
        """Nearness of the groups to class ``c``, their sizes, and the size it should get."""
        own = self.distances[:, c]
        other = np.delete(self.distances, c, axis=1).min(axis=1)
        with np.errstate(invalid="ignore"):
            share = own / (own + other)
        # Without a path to one of the two sides a node is as near to the other as can be.
        share = np.where(np.isinf(own), 1.0, np.where(np.isinf(other), 0.0, share))
        free = self.free
        members = np.bincount(network.group[free], minlength=network.n_groups)
        total = np.bincount(network.group[free], weights=share[free], minlength=network.n_groups)
        given = self.codes[~free]
        return total / np.maximum(members, 1), members, float((given == c).mean() * free.sum())

    def scores(self, claims: NDArray[np.bool_]) -> tuple[NDArray[np.float64], int]:
        """Turn the sides of the cuts into class scores.

        Returns
        -------
        scores : ndarray of shape (n_nodes, n_classes)
            Rows sum to one.
        n_undecided : int
            Nodes that not exactly one class claims; the nearest label decides these.
        """
        if self.n_classes == 2:
            return one_hot(claims[:, 0].astype(np.intp), 2), 0
        open_ = np.flatnonzero(claims.sum(axis=1) != 1)
        scores = claims.astype(np.float64)
        if len(open_):
            scores[open_] = self._settle(claims[open_], open_)
        return scores, len(open_)

    def labels(self, claims: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the class with the best of the scores, for many cuts of one problem."""
        if self.n_classes == 2:
            return claims[:, 0].astype(np.intp)
        n_claims = claims.sum(axis=1)
        several = np.flatnonzero(n_claims > 1)
        labels = np.where(n_claims == 0, self._nearest, claims.argmax(axis=1))
        labels[several] = self._settle(claims[several], several).argmax(axis=1)
        return labels

    @cached_property
    def _nearest(self) -> NDArray[np.intp]:
        """The class of each unlabeled node that no class claims; 0 for labeled nodes."""
        nearest = np.zeros(len(self.codes), dtype=np.intp)
        free = np.flatnonzero(self.free)
        nothing = np.zeros((len(free), self.n_classes), dtype=bool)
        nearest[free] = self._settle(nothing, free).argmax(axis=1)
        return nearest

    def _settle(self, claims: NDArray[np.bool_], nodes: NDArray[Any]) -> NDArray[np.float64]:
        """Score nodes that not exactly one class claims, by the nearest label."""
        # Claimed by several: these compete. Claimed by none: all classes do.
        rivals = np.where(claims.any(axis=1, keepdims=True), claims, True)
        # These nodes have no label, so that all distances are positive.
        return normalize_rows(np.where(rivals, 1.0 / self.distances[nodes], 0.0))


def expanded_labels(
    problem: CutProblem,
    labels: NDArray[np.intp],
    claims: NDArray[np.bool_],
    weights: NDArray[Any],
) -> tuple[NDArray[np.intp], int]:
    """Improve the labels of one-versus-rest cuts by expansion moves."""
    # Some best labeling agrees with all claims of the source side.
    free = problem.free & (claims.sum(axis=1) != 1) if problem.side == "source" else problem.free
    W = sparse.csr_array((weights, problem.W.indices, problem.W.indptr), shape=problem.W.shape)
    return alpha_expansion(W, labels, free, problem.n_classes)


@dataclass(frozen=True)
class Guess:
    """Balanced labels to pull a cut towards, in the order of a :class:`CutProblem`.

    Parameters
    ----------
    probabilities : ndarray of shape (n_nodes, n_classes)
    sizes : ndarray of shape (n_classes,)
        Unlabeled nodes that each class should have.
    """

    probabilities: NDArray[np.float64]
    sizes: NDArray[np.float64]

    def labels(self, problem: CutProblem) -> NDArray[np.intp]:
        """Return the given labels, and the most probable ones elsewhere."""
        best = self.probabilities.argmax(axis=1)
        return np.asarray(np.where(problem.free, best, problem.codes))


def harmonic_guess(
    model: GraphClassifier,
    graph: Graph,
    codes: NDArray[np.intp],
    reached: NDArray[np.bool_],
    problem: CutProblem,
) -> Guess:
    """Guess by the harmonic function with class masses, then sizes, of the model's prior.

    Class mass normalization alone does not promise the sizes: a few spikes may be the mass.
    """
    f, _, _ = harmonic_function(graph, codes, problem.n_classes)
    part = f[reached][problem.order]
    proportions = model._proportions(model.get_params(deep=False)["prior"], codes)
    g = normalize_rows(part * class_mass_factors(part[problem.free], proportions))
    g = project_to_simplex(g - proportion_thresholds(g[problem.free], proportions))
    return Guess(g, proportions * problem.free.sum())


def store_in_order(
    model: GraphClassifier,
    scores: NDArray[Any],
    order: NDArray[Any],
    codes: NDArray[np.intp],
    reached: NDArray[np.bool_],
) -> None:
    """Store scores that are in the order of the problem.

    Rows that are not reached get the labeled proportions.
    """
    full = np.empty((len(codes), len(model.classes_)), dtype=model.graph_.adjacency.dtype)
    full[np.flatnonzero(reached)[order]] = scores
    model._fill_unreached(full, codes, reached)
    model._store_scores(full, codes, reached=reached)
