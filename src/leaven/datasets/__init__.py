"""Data sets: files by name, synthetic data of the literature, and two example tables."""

from __future__ import annotations

from leaven.datasets._documents import (
    load_comp_vs,
    load_four_newsgroups,
    load_newsgroup_pair,
)
from leaven.datasets._examples import load_example
from leaven.datasets._lattices import make_chain, make_circle, make_grid, make_two_grids
from leaven.datasets._loaders import load
from leaven.datasets._registry import describe, list_available
from leaven.datasets._synthetic import (
    make_three_bands,
    make_two_gaussians,
    make_two_moons,
    make_two_spirals,
)
from leaven.datasets._twin import make_independent_twin

__all__ = [
    "describe",
    "list_available",
    "load",
    "load_comp_vs",
    "load_example",
    "load_four_newsgroups",
    "load_newsgroup_pair",
    "make_chain",
    "make_circle",
    "make_grid",
    "make_independent_twin",
    "make_three_bands",
    "make_two_gaussians",
    "make_two_grids",
    "make_two_moons",
    "make_two_spirals",
]
