"""
What the graph looks like
=========================

The graph decides what a graph-based method can do. Here are the same rows in four graphs.
"""

# %%
# Three groups of unequal density, with a bridge of rows between two of them.

import matplotlib.pyplot as plt
import numpy as np

from leaven.graph import EpsilonGraph, KNNGraph, SpanningTreeGraph
from leaven.plotting import plot_graph

rng = np.random.default_rng(3)
X = np.vstack(
    [
        rng.normal([0.0, 0.0], 0.25, size=(60, 2)),
        rng.normal([3.0, 0.4], 0.60, size=(60, 2)),
        rng.normal([1.2, 2.6], 0.25, size=(30, 2)),
        np.column_stack([np.linspace(0.6, 1.8, 5), np.zeros(5)]),
    ]
)

# %%
# In the *kNN* graph every row has neighbors, however sparse its surroundings. The *mutual*
# one keeps an edge that both ends want: no hubs, more components. The ε-ball joins all that
# is near, so dense groups are crowded and outliers are alone. The *spanning tree* has one
# edge less than rows and joins everything, by the heaviest edges.

builders = {
    "kNN, k = 5": KNNGraph(n_neighbors=5),
    "mutual kNN, k = 5": KNNGraph(n_neighbors=5, symmetrize="mutual"),
    "ε-ball, radius 0.3": EpsilonGraph(radius=0.3),
    "maximum spanning tree": SpanningTreeGraph(),
}
fig, axes = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
for ax, (name, builder) in zip(axes.flat, builders.items()):
    graph = builder.build(X)
    plot_graph(graph, X, ax=ax)
    ax.set_title(f"{name}: {graph.n_edges} edges, {graph.n_components} components")

# %%
# Without the positions, the layout shows what the graph itself knows: each component has its
# own place, and near nodes are near by edges.

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, name in zip(axes, ["kNN, k = 5", "mutual kNN, k = 5"]):
    plot_graph(builders[name].build(X), ax=ax)
    ax.set_title(f"{name}, spectral layout")

plt.show()
