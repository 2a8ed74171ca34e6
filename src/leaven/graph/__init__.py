"""Similarity graphs: builders, edge weights, and the graph itself.

A builder is an estimator: ``KNNGraph().fit(X).graph_`` is a :class:`Graph`, and
``KNNGraph().build(X)`` is the shorthand. ``weights_to(X_new)`` joins new rows to a fitted
graph. To share one graph between several classifiers, fit the builder once and pass it as
``sklearn.frozen.FrozenEstimator(builder)``, or give it a ``memory`` directory.
"""

from __future__ import annotations

from leaven.graph._base import GraphBuilder
from leaven.graph._epsilon import EpsilonGraph, FullGraph
from leaven.graph._given import GivenGraph, GridGraph, SumGraph
from leaven.graph._graph import Graph
from leaven.graph._knn import KNNGraph
from leaven.graph._neighbors import NeighborIndex
from leaven.graph._shared import share_searches
from leaven.graph._tree import KNNTreeGraph, SpanningTreeGraph
from leaven.graph._weights import (
    AnisotropicGaussian,
    Arctan,
    Binary,
    Cosine,
    Edges,
    EdgeWeight,
    ExponentialCosine,
    Gaussian,
    InverseDistance,
    NormalizedCosine,
)

__all__ = [
    "AnisotropicGaussian",
    "Arctan",
    "Binary",
    "Cosine",
    "EdgeWeight",
    "Edges",
    "EpsilonGraph",
    "ExponentialCosine",
    "FullGraph",
    "Gaussian",
    "GivenGraph",
    "Graph",
    "GraphBuilder",
    "GridGraph",
    "InverseDistance",
    "KNNGraph",
    "KNNTreeGraph",
    "NeighborIndex",
    "NormalizedCosine",
    "SpanningTreeGraph",
    "SumGraph",
    "share_searches",
]
