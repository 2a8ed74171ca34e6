"""Labeling the nodes of a graph."""

from __future__ import annotations

from leaven.graph_based._class_mass import class_mass_normalization
from leaven.graph_based._harmonic import HarmonicClassifier

__all__ = ["HarmonicClassifier", "class_mass_normalization"]
