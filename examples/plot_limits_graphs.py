"""
Similarity graphs: where they work and where they fail
======================================================

Left: seven neighbors join the rows of each moon and no others. Middle: with a radius that is too
small most rows have no path to a label. Right: with one that is too large the moons are joined.
"""

import matplotlib.pyplot as plt
import numpy as np

from leaven.datasets import make_two_moons
from leaven.graph import EpsilonGraph, KNNGraph
from leaven.plotting import plot_graph

X, truth = make_two_moons(120, noise=0.06, random_state=0)
builders = [
    ("works: 7 neighbors", KNNGraph(7)),
    ("fails: radius 0.1", EpsilonGraph(0.1)),
    ("fails: radius 0.6", EpsilonGraph(0.6)),
]
_, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
for ax, (title, builder) in zip(axes, builders):
    graph = builder.build(X)
    edges = graph.adjacency.tocoo()
    crossing = np.mean(truth[edges.row] != truth[edges.col]) if edges.nnz else 0.0
    parts = graph.components().max() + 1
    plot_graph(graph, X, inferred=truth, ax=ax, legend=False)
    ax.set_title(
        f"{title}\n{parts} components, {crossing:.0%} of edges between classes", fontsize=9
    )
plt.show()
