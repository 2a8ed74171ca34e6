"""
Self-training: where it works and where it fails
================================================

Nearest-neighbor self-training labels the row closest to any labeled one. Left: labels travel along
the moons. Right: the moons touch, the first wrong label is never taken back, and one class floods
the other.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from leaven.datasets import make_two_moons
from leaven.self_labeling import SelfTrainingClassifier

COLORS = np.array(["#3b6fb6", "#d9822b"])
_, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for ax, (word, noise) in zip(axes, [("works", 0.06), ("fails", 0.2)]):
    X, truth = make_two_moons(250, noise=noise, random_state=1)
    y = np.full(250, -1)
    for row in (np.argmin(X[:, 0]), np.argmax(X[:, 0])):
        y[row] = truth[row]
    model = SelfTrainingClassifier(KNeighborsClassifier(1), confidence="distance").fit(X, y)
    found = model.transduction_
    ax.scatter(*X.T, s=8, c=COLORS[found], linewidths=0)
    given = y >= 0
    ax.scatter(*X[given].T, s=60, c=COLORS[y[given]], edgecolors="black")
    ax.set_title(f"{word}: {np.mean(found == truth):.0%} right")
    ax.set_axis_off()
plt.show()
