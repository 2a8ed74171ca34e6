"""
Active learning: where it works and where it fails
==================================================

Error against the number of labels, for rows at random and rows with a small margin. Left: digits;
the doubtful rows lie between classes that can be told apart. Right: two classes that overlap; the
doubtful rows lie where nobody can tell, and their labels are those of chance.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from leaven.active import RandomSampling, SmallestMargin
from leaven.datasets import make_two_gaussians
from leaven.evaluation import learning_curve
from leaven.plotting import plot_learning_curves

digits, digit = load_digits(return_X_y=True)
problems = [
    ("works: digits", digits[:600] / 16, digit[:600], [20, 40, 80, 160]),
    ("fails: overlapping classes", *make_two_gaussians(600, random_state=0), [4, 8, 16, 32, 64]),
]
_, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for ax, (title, X, y, sizes) in zip(axes, problems):
    curves = []
    for name, strategy in (
        ("random", RandomSampling(random_state=0)),
        ("margin", SmallestMargin()),
    ):
        curve = learning_curve(
            LogisticRegression(max_iter=1_000),
            X,
            y,
            strategy=strategy,
            sizes=sizes,
            n_trials=5,
            random_state=0,
        )
        curves.append(curve.assign(method=name))
    plot_learning_curves(pd.concat(curves), ax=ax)
    ax.set_title(title)
plt.show()
