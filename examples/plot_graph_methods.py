"""
Every graph method side by side
===============================

The same four small problems for all methods that label the nodes of a graph: two moons with
one label each, a chain of ten nodes with labeled ends, a grid of 3 × 9 nodes with labeled
sides, and a circle of 14 nodes. Large marks are the labels.
"""

# %%
# On the chain, the grid and the circle every cut in between weighs the same. A plain minimum
# cut takes the one next to a label; methods that average or break ties by nearness find the
# middle.

import matplotlib.pyplot as plt

from leaven.datasets import make_chain, make_circle, make_grid, make_two_moons
from leaven.graph import EpsilonGraph, KNNGraph
from leaven.graph_based import (
    BeliefPropagationClassifier,
    ConsistencyClassifier,
    HarmonicClassifier,
    LabelPropagationClassifier,
    LaplacianRLSClassifier,
    LaplacianSVC,
    MinCutClassifier,
    PoissonClassifier,
    RandomizedMinCutClassifier,
    SoftLabelPropagationClassifier,
    SpectralTransducer,
)
from leaven.plotting import plot_graph

problems = {
    "two moons": (make_two_moons(noise=0.05, random_state=0, return_labeled=True), KNNGraph(6)),
    "chain": (make_chain(return_labeled=True), KNNGraph(2, symmetrize="mutual", weight="binary")),
    "grid": (make_grid(return_labeled=True), EpsilonGraph(1.01)),
    "circle": (make_circle(return_labeled=True), KNNGraph(2, weight="binary")),
}
methods = {
    "min-cut": MinCutClassifier,
    "min-cut, balanced": lambda graph: MinCutClassifier(graph, side="balanced"),
    "randomized min-cut": lambda graph: RandomizedMinCutClassifier(graph, random_state=0),
    "belief propagation": BeliefPropagationClassifier,
    "belief propagation,\nno influence": lambda g: BeliefPropagationClassifier(g, influence=False),
    "harmonic": HarmonicClassifier,
    "label propagation": LabelPropagationClassifier,
    "soft propagation": SoftLabelPropagationClassifier,
    "consistency": ConsistencyClassifier,
    "Poisson": PoissonClassifier,
    "spectral transducer": lambda graph: SpectralTransducer(graph),
    "Laplacian RLS": lambda graph: LaplacianRLSClassifier(graph=graph, gamma=5.0),
    "Laplacian SVM": lambda graph: LaplacianSVC(graph=graph, gamma=5.0),
}
fig, axes = plt.subplots(
    len(methods), len(problems), figsize=(11, 2.1 * len(methods)), layout="constrained"
)
for ax, title in zip(axes[0], problems):
    ax.set_title(title)
for row, (name, method) in zip(axes, methods.items()):
    for ax, ((X, _truth, y), graph) in zip(row, problems.values()):
        model = method(graph).fit(X, y)
        builder = graph.fit(X)
        plot_graph(
            builder.graph_, X, y, inferred=model.transduction_, ax=ax, legend=False, node_size=25
        )
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    row[0].set_ylabel(name, fontsize=9)
