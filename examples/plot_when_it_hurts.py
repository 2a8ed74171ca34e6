"""
When unlabeled rows hurt
========================

Naive Bayes takes features as independent given the class. Where they are, unlabeled rows help
it; where they are not, EM finds other clusters than the classes, and more unlabeled rows make
it worse than the labels alone. The same table can be had both ways: a *twin*, drawn from a naive
Bayes model of the table, has the same features without their dependence (Saeed, 2018).
"""

# %%
# The table is "kr-vs-kp", chess endgames, if the data directory has it, or else a made-up one
# whose features come in groups that say more of themselves than of the class.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.preprocessing import OrdinalEncoder

from leaven.datasets import load, make_independent_twin
from leaven.evaluation import learning_curve
from leaven.generative import SemiSupervisedCategoricalNB
from leaven.model_selection import SafeClassifier


def made_up(n_rows=1_500, seed=0):
    rng = np.random.default_rng(seed)
    target = rng.integers(0, 2, n_rows)
    groups = []
    for group in range(4):
        # The first two groups have nothing to do with the class, and seven features each.
        hidden = rng.integers(0, 2, n_rows) if group < 2 else target ^ (rng.random(n_rows) < 0.3)
        size = 7 if group < 2 else 2
        noise = rng.random((n_rows, size)) < 0.1
        groups.append(hidden[:, None] ^ noise)
    return pd.DataFrame(np.hstack(groups).astype(int)).astype(str), target


try:
    bunch = load("kr-vs-kp")
    name, X, y = "chess endgames", bunch.data, np.asarray(bunch.target)
except FileNotFoundError:
    name, (X, y) = "made-up table", made_up()
twin, twin_y = make_independent_twin(X, y, kind="categorical", random_state=0)
print(name, X.shape)

# %%
# Error on held-out rows, with labels of 4 to 256 rows and all others unlabeled, over ten random
# splits. The weight of unlabeled rows is 0 (supervised) or 1.

sizes = [4, 8, 16, 32, 64, 128, 256]
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, title, table, target in ((axes[0], name, X, y), (axes[1], "its twin", twin, twin_y)):
    codes = OrdinalEncoder().fit_transform(pd.DataFrame(table).astype(str)).astype(int)
    for weight, label in ((0.0, "labels alone"), (1.0, "with unlabeled rows")):
        model = SemiSupervisedCategoricalNB(unlabeled_weight=weight)
        curve = learning_curve(
            model, codes, np.asarray(target), sizes=sizes, n_trials=10, random_state=0
        )
        found = curve.groupby("n_labeled")["error"].agg(["mean", "sem"])
        print(f"{title}, {label}:", found["mean"].round(2).to_dict())
        ax.plot(found.index, found["mean"], "o-", label=label)
        ax.fill_between(
            found.index, found["mean"] - found["sem"], found["mean"] + found["sem"], alpha=0.2
        )
    ax.set_xscale("log", base=2)
    ax.set_title(title)
    ax.set_xlabel("labels")
axes[0].set_ylabel("error")
axes[0].legend()

# %%
# Your own table has no twin, but it has labels. Held out in turn, they show that the unlabeled rows
# do not help here, and ``SafeClassifier`` does without them.

codes = OrdinalEncoder().fit_transform(pd.DataFrame(X).astype(str))
rng = np.random.default_rng(1)
few = np.full(len(y), None, dtype=object)
for label in np.unique(y):
    few[rng.choice(np.flatnonzero(y == label), 20, replace=False)] = label
binary = pd.get_dummies(pd.DataFrame(X).astype(str)).to_numpy(dtype=float)
safe = SafeClassifier(["naive-bayes", "naive-bayes-em"], random_state=0).fit(binary, few)
print(safe.report_)
plt.show()
