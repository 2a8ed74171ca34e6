"""
EM: where it works and where it fails
=====================================

A Gaussian per class. Left: that is what the classes are, and the unlabeled rows show their true
centers. Right: the classes are an inner disk and a ring, and two Gaussians fit two halves better.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from leaven.generative import SemiSupervisedGaussianMixture

COLORS = np.array(["#3b6fb6", "#d9822b"])
rng = np.random.default_rng(0)
truth = rng.integers(2, size=300)
stretched = rng.normal(size=(300, 2)) @ np.array([[2.0, 1.2], [0.0, 0.5]])
X = stretched + np.array([[0.0, 2.0], [0.0, -2.0]])[truth]
ring, ring_truth = make_circles(300, factor=0.45, noise=0.08, random_state=0)

_, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for ax, (word, rows, classes) in zip(axes, [("works", X, truth), ("fails", ring, ring_truth)]):
    y = np.full(300, -1)
    for c in (0, 1):
        y[rng.choice(np.flatnonzero(classes == c), 3, replace=False)] = c
    found = SemiSupervisedGaussianMixture(covariance_type="tied").fit(rows, y).transduction_
    ax.scatter(*rows.T, s=8, c=COLORS[found], linewidths=0)
    given = y >= 0
    ax.scatter(*rows[given].T, s=60, c=COLORS[y[given]], edgecolors="black")
    ax.set_title(f"{word}: {np.mean(found == classes):.0%} right")
    ax.set_axis_off()
plt.show()
