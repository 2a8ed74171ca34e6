"""
Harmonic functions: where they work and where they fail
=======================================================

Left: a gap between the moons, and one label each. Right: a bridge of rows joins the moons; without
class proportions the label that is nearer to the bridge crosses it.
"""

import matplotlib.pyplot as plt
import numpy as np

from leaven.datasets import make_two_moons
from leaven.graph_based import HarmonicClassifier

COLORS = np.array(["#3b6fb6", "#d9822b"])
rng = np.random.default_rng(0)
X, truth = make_two_moons(300, noise=0.06, random_state=0)
y = np.full(300, -1)
for row in (np.argmin(X[:, 0]), np.argmax(X[:, 0])):
    y[row] = truth[row]

# %%
# The bridge leads from a labeled row to the near end of the other moon.

start, end = X[y == 0][0], X[truth == 1][np.argmin(X[truth == 1, 0])]
bridge = (
    start + np.linspace(0, 1, 25)[:, None] * (end - start) + rng.normal(scale=0.02, size=(25, 2))
)
joined = np.vstack([X, bridge])
joined_truth = np.r_[truth, (np.arange(25) >= 12).astype(int)]
joined_y = np.r_[y, np.full(25, -1)]

_, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
panels = [("works", X, truth, y), ("fails", joined, joined_truth, joined_y)]
for ax, (word, rows, classes, labels) in zip(axes, panels):
    found = HarmonicClassifier(prior=None).fit(rows, labels).transduction_
    ax.scatter(*rows.T, s=8, c=COLORS[found], linewidths=0)
    given = labels >= 0
    ax.scatter(*rows[given].T, s=80, c=COLORS[labels[given]], edgecolors="black")
    ax.set_title(f"{word}: {np.mean(found == classes):.0%} right")
    ax.set_axis_off()
plt.show()
