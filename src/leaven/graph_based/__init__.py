"""Labeling the nodes of a graph."""

from __future__ import annotations

from leaven.graph_based._anchor_graph import AnchorGraphClassifier, place_anchors
from leaven.graph_based._anchors import (
    AnchorStatistics,
    anchor_statistics,
    anchor_weights,
    merge_anchor_statistics,
    solve_anchors,
)
from leaven.graph_based._base import GraphClassifier as GraphClassifier
from leaven.graph_based._belief import BeliefPropagationClassifier
from leaven.graph_based._class_mass import class_mass_normalization
from leaven.graph_based._eigenvectors import LaplacianEigenvectorClassifier
from leaven.graph_based._harmonic import HarmonicClassifier
from leaven.graph_based._heat import HeatKernelClassifier
from leaven.graph_based._length_scales import LengthScales, learn_length_scales
from leaven.graph_based._manifold import LaplacianRLSClassifier, LaplacianSVC
from leaven.graph_based._mincut import MinCutClassifier
from leaven.graph_based._poisson import PoissonClassifier
from leaven.graph_based._poisson_mbo import PoissonMBOClassifier
from leaven.graph_based._propagation import (
    ConsistencyClassifier,
    LabelPropagationClassifier,
    SoftLabelPropagationClassifier,
)
from leaven.graph_based._randomized_mincut import RandomizedMinCutClassifier
from leaven.graph_based._shares import (
    ClassProportions,
    estimate_proportions,
    posterior_proportions,
)
from leaven.graph_based._spectral import SpectralTransducer
from leaven.graph_based._threshold import proportion_thresholds

__all__ = [
    "AnchorGraphClassifier",
    "AnchorStatistics",
    "BeliefPropagationClassifier",
    "ClassProportions",
    "ConsistencyClassifier",
    "HarmonicClassifier",
    "HeatKernelClassifier",
    "LabelPropagationClassifier",
    "LaplacianEigenvectorClassifier",
    "LaplacianRLSClassifier",
    "LaplacianSVC",
    "LengthScales",
    "MinCutClassifier",
    "PoissonClassifier",
    "PoissonMBOClassifier",
    "RandomizedMinCutClassifier",
    "SoftLabelPropagationClassifier",
    "SpectralTransducer",
    "anchor_statistics",
    "anchor_weights",
    "class_mass_normalization",
    "estimate_proportions",
    "learn_length_scales",
    "merge_anchor_statistics",
    "place_anchors",
    "posterior_proportions",
    "proportion_thresholds",
    "solve_anchors",
]
