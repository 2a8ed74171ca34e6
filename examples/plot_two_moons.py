"""
Two moons with one label each
=============================

Two labels alone say little about the plane. With the unlabeled rows they say much more: each
moon is a chain of near rows, and the harmonic function changes where no edges are.
"""

# %%
# One label on each moon; the other 298 rows are unlabeled, which -1 says.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from leaven.datasets import make_two_moons
from leaven.graph import KNNGraph
from leaven.graph_based import HarmonicClassifier
from leaven.plotting import plot_decision_regions, plot_graph

X, truth = make_two_moons(300, noise=0.05, random_state=0)
y = np.full(len(X), -1)
y[[np.argmin(X[:, 0]), np.argmax(X[:, 0])]] = [0, 1]
labeled = y >= 0

# %%
# A supervised classifier sees the two labels only. The harmonic function sees all rows.

supervised = SVC().fit(X[labeled], y[labeled])
harmonic = HarmonicClassifier(KNNGraph(n_neighbors=8)).fit(X, y)

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, model, name in zip(axes, [supervised, harmonic], ["two labels", "and all rows"]):
    plot_decision_regions(model, X, y, ax=ax, response="predict")
    ax.set_title(f"{name}: {np.mean(model.predict(X) == truth):.1%} right")

# %%
# Every row is the weighted mean of its neighbors in this graph.

ax = plot_graph(harmonic.graph_, X, y, inferred=harmonic.transduction_)
ax.set_title("8 nearest neighbors")

# %%
# When it fails
# -------------
#
# With more noise the moons touch. Edges lead from one to the other, probability leaks across
# them, and far from its own label a moon takes the class of the other. The titles compare with
# the supervised classifier.

fig, axes = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
for ax, noise in zip(axes, [0.05, 0.15, 0.25]):
    X, truth = make_two_moons(300, noise=noise, random_state=0)
    y = np.full(len(X), -1)
    y[[np.argmin(X[:, 0]), np.argmax(X[:, 0])]] = [0, 1]
    model = HarmonicClassifier(KNNGraph(n_neighbors=8)).fit(X, y)
    plot_graph(model.graph_, X, y, inferred=model.transduction_, ax=ax, legend=False)
    alone = SVC().fit(X[y >= 0], y[y >= 0]).score(X, truth)
    right = np.mean(model.transduction_ == truth)
    ax.set_title(f"noise {noise}: {right:.1%} right, labels alone {alone:.1%}")

plt.show()
