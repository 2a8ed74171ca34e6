"""
Self-organizing maps: where they work and where they fail
=========================================================

Left: rows near a curved surface of two dimensions; the map unfolds over it. Right: rows that fill a
cube; a map of two dimensions has to fold, and near rows are far apart on it.
"""

import matplotlib.pyplot as plt
import numpy as np

from leaven.representation import SelfOrganizingMap

rng = np.random.default_rng(0)
u, v = rng.random((2, 800))
surface = np.column_stack([np.cos(3 * u), np.sin(3 * u), 2 * v])
cube = rng.random((800, 3)) * 2

figure = plt.figure(figsize=(8, 3.4), layout="constrained")
for place, (title, X) in enumerate([("works: a surface", surface), ("fails: a cube", cube)]):
    som = SelfOrganizingMap((8, 8), max_iter=100, random_state=0).fit(X)
    units = som.units_.reshape(8, 8, 3)
    # How far apart on the map the nearest rows are.
    nearest = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(nearest, np.inf)
    where = som.transform(X)
    steps = np.abs(where - where[nearest.argmin(axis=1)]).max(axis=1)
    ax = figure.add_subplot(1, 2, place + 1, projection="3d")
    ax.scatter(*X.T, s=3, c="#b9bec5")
    for k in range(8):
        ax.plot(*units[k].T, color="#3b6fb6", lw=1)
        ax.plot(*units[:, k].T, color="#3b6fb6", lw=1)
    ax.set_title(f"{title}\nnearest rows are {steps.mean():.2f} steps apart", fontsize=9)
    ax.set_axis_off()
plt.show()
