"""
Low density: where it works and where it fails
==============================================

The transductive SVM puts its line where few rows are. Left: the gap is the boundary between the
classes. Right: there is a gap too, but the classes are the upper and the lower half.
"""

import matplotlib.pyplot as plt
import numpy as np

from leaven.low_density import TransductiveSVC
from leaven.plotting import plot_decision_regions

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 2)) * [0.5, 1.0] + rng.choice([-1.3, 1.3], size=(200, 1)) * [1.0, 0.0]
places = [[(-0.9, 1.2), (0.9, -1.2)], [(-0.9, 1.5), (0.9, -1.5)]]
truths = [(X[:, 0] > 0).astype(int), (X[:, 1] < 0).astype(int)]

_, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for ax, word, truth, place in zip(axes, ["works", "fails"], truths, places):
    y = np.full(200, -1)
    for c, point in enumerate(place):
        y[np.argmin(((X - point) ** 2).sum(axis=1))] = c
    model = TransductiveSVC(positive_fraction=0.5).fit(X, y)
    plot_decision_regions(model, X, y, ax=ax, resolution=80, legend=False)
    ax.set_title(f"{word}: {np.mean(model.transduction_ == truth):.0%} right")
    ax.set_axis_off()
plt.show()
