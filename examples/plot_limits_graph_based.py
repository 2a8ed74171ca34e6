"""
Methods on a graph: where they work and where they fail
=======================================================

The same two spirals, drawn with the same two labels per class. Right: thirty columns of noise are
added, which the figure does not show. Neighbors in 32 columns are neighbors by chance.
"""

import matplotlib.pyplot as plt
import numpy as np

from leaven.datasets import make_two_spirals
from leaven.graph_based import (
    BeliefPropagationClassifier,
    ConsistencyClassifier,
    MinCutClassifier,
    PoissonClassifier,
)

COLORS = np.array(["#3b6fb6", "#d9822b"])
rng = np.random.default_rng(0)
X, truth = make_two_spirals(300, random_state=0)
y = np.full(len(truth), -1)
for c in (0, 1):
    y[rng.choice(np.flatnonzero(truth == c), 2, replace=False)] = c
noisy = np.hstack([X, rng.normal(scale=X.std(), size=(len(X), 30))])
methods = [
    ("Poisson", PoissonClassifier()),
    ("consistency", ConsistencyClassifier()),
    ("minimum cut", MinCutClassifier()),
    ("belief propagation", BeliefPropagationClassifier()),
]

_, axes = plt.subplots(2, 4, figsize=(10, 4.6), layout="constrained")
for line, (word, rows) in zip(axes, [("works", X), ("fails", noisy)]):
    for ax, (name, model) in zip(line, methods):
        found = model.fit(rows, y).transduction_
        ax.scatter(*X.T, s=8, c=COLORS[found], linewidths=0)
        given = y >= 0
        ax.scatter(*X[given].T, s=60, c=COLORS[y[given]], edgecolors="black")
        ax.set_title(f"{name} {word}: {np.mean(found == truth):.0%}", fontsize=9)
        ax.set_axis_off()
plt.show()
