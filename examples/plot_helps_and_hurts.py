"""
Where unlabeled rows help, and where they hurt
==============================================

The same two methods on two problems: logistic regression sees the labels alone, the harmonic
function also sees where the other rows are.
"""

# %%
# Two moons, one label each. The classes follow the shape of the data.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from leaven.datasets import make_two_moons
from leaven.graph_based import HarmonicClassifier

COLORS = np.array(["#3b6fb6", "#d9822b"])


def draw(X, truth, y):
    given = y >= 0
    alone = LogisticRegression().fit(X[given], y[given]).predict(X)
    model = HarmonicClassifier().fit(X, y)
    _, axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
    panels = [
        ("the truth", truth),
        (f"labels alone: {np.mean(alone == truth):.0%} right", alone),
        (
            f"with the unlabeled rows: {np.mean(model.transduction_ == truth):.0%}",
            model.transduction_,
        ),
    ]
    for ax, (title, answer) in zip(axes, panels):
        ax.scatter(*X.T, s=8, c=COLORS[answer], linewidths=0)
        ax.scatter(*X[given].T, s=80, c=COLORS[y[given]], edgecolors="black")
        ax.set_title(title, fontsize=10)
        ax.set_axis_off()


X, truth = make_two_moons(300, noise=0.06, random_state=0)
y = np.full(300, -1)
for row in (np.argmin(X[:, 0]), np.argmax(X[:, 0])):
    y[row] = truth[row]
draw(X, truth, y)

# %%
# Two clusters, each of which holds both classes: the upper half and the lower half. The clusters
# are real, but they are not the classes.

rng = np.random.default_rng(0)
side = rng.choice([-1.0, 1.0], size=400)
X = np.column_stack([side + rng.normal(scale=0.2, size=400), rng.normal(scale=0.9, size=400)])
truth = (X[:, 1] > 0).astype(int)
y = np.full(400, -1)
for c, place in enumerate([(-0.6, -1.8), (0.6, 1.8)]):
    y[np.argmin(((X - place) ** 2).sum(axis=1))] = c
draw(X, truth, y)
plt.show()
